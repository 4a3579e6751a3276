/* Results: rows one by one, columns in place or copied.
 *
 * A session's next call takes the rows away (host_result_expire): their texts die with it, and
 * rows that share a stored list's blocks would make the next write copy them. */
#include "host/lib/host_int.h"

#include <string.h>

static bool readable(const pure_result *r) { return host_is(r, HOST_RESULT) && !r->stale; }

static const ls_list *rows_of(const pure_result *r) {
  return readable(r) && r->value.kind == VM_RESULT_ROWS ? r->value.rows : NULL;
}

static ls_texts *texts_of(const pure_result *r) { return vm_context_texts(r->session->cx); }

void host_result_expire(pure_result *r) {
  if (r->stale)
    return;
  r->stale = true;
  const pure_session *session = r->session;
  unsigned fn = (unsigned)(r->fn - session->store->program->module->fns);
  vm_result_recycle(session->cx, fn, &r->value);
}

void pure_result_release(pure_result *r) {
  if (!host_close(r, HOST_RESULT))
    return;
  pure_session *session = r->session;
  pure_engine *engine = session->store->program->engine;
  host_result_expire(r);
  if (session->live == r)
    session->live = NULL;
  host_bury(engine, r);
  host_session_drop(session);
}

pure_result_kind pure_result_get_kind(const pure_result *r) {
  return host_is(r, HOST_RESULT) ? (pure_result_kind)r->fn->result : PURE_RESULT_NOTHING;
}

static pure_value text_value(const pure_result *r, uint64_t id) {
  pure_value v = {.type = PURE_NOTHING};
  ls_texts *texts = texts_of(r);
  if (id > UINT32_MAX || !ls_texts_valid(texts, (uint32_t)id))
    return v;
  v.type = PURE_TEXT;
  v.as.t = ls_texts_get(texts, (uint32_t)id, &v.length);
  return v;
}

static pure_value public_value(const pure_result *r, ls_type type, ls_val value) {
  pure_value v = {.type = host_type(type)};
  if (type == LS_TEXT)
    return text_value(r, value.u);
  if (type == LS_REAL)
    v.as.r = value.r;
  else
    v.as.i = value.i;
  return v;
}

pure_value pure_result_value(const pure_result *r) {
  if (readable(r) && r->value.kind == VM_RESULT_SCALAR)
    return public_value(r, r->value.type, r->value.value);
  return (pure_value){.type = PURE_NOTHING};
}

pure_value pure_result_text(const pure_result *r, uint64_t id) {
  return readable(r) ? text_value(r, id) : (pure_value){.type = PURE_NOTHING};
}

uint64_t pure_result_rows(const pure_result *r) {
  const ls_list *rows = rows_of(r);
  return rows ? rows->count : 0;
}

uint32_t pure_result_columns(const pure_result *r) {
  return host_is(r, HOST_RESULT) && r->fn->result == VM_RESULT_ROWS ? r->fn->nresult : 0;
}

pure_status pure_result_column_info(const pure_result *r, uint32_t column, pure_column_info *out) {
  if (!host_is(r, HOST_RESULT) || !out)
    return PURE_MISUSE;
  if (column >= pure_result_columns(r))
    return PURE_NOT_FOUND;
  const vm_param *p = &r->fn->result_cols[column];
  *out = (pure_column_info){p->name, host_type(p->type)};
  return PURE_OK;
}

/* Frozen rows are never sorted or moved by a seek, and sorting a local list's rows is no change
 * that anyone can see. */
static bool begin(pure_result *r) {
  ls_list *rows = r->value.rows;
  host_schema_places(rows->schema, r->place);
  r->begun = ls_list_seek(rows, texts_of(r), &LS_WHOLE, &r->cursor) == LS_OK;
  return r->begun;
}

bool pure_result_next(pure_result *r) {
  if (!rows_of(r))
    return false;
  if (!r->begun && !begin(r))
    return false;
  r->on_row = false;
  if (r->given == r->limit)
    return false;
  r->given++;
  r->on_row = ls_list_next(r->value.rows, &r->cursor, &r->row);
  return r->on_row;
}

void pure_result_rewind(pure_result *r) {
  if (!host_is(r, HOST_RESULT))
    return;
  r->begun = r->on_row = r->headed = r->separated = false;
  r->given = 0;
}

void pure_result_limit(pure_result *r, uint64_t rows) {
  if (host_is(r, HOST_RESULT))
    r->limit = rows;
}

pure_value pure_result_get(const pure_result *r, uint32_t column) {
  const ls_list *rows = rows_of(r);
  if (!rows || !r->on_row || column >= r->fn->nresult)
    return (pure_value){.type = PURE_NOTHING};
  unsigned c = r->place[column];
  ls_type type = rows->schema->cols[c].type;
  ls_val v = ls_list_get(rows, r->row, c);
  if (type == LS_INT)
    return (pure_value){.type = PURE_INT, .as.i = v.i};
  return public_value(r, type, v);
}

/* Cells lie in row order. */
static bool in_order(const ls_list *l) {
  ls_layout layout = ls_shape_layout(l->shape);
  return layout == LS_FLAT || layout == LS_ARRAY;
}

enum { BLOCK = 1024 };

static ls_status copy_block(ls_builder *to, const ls_list *rows, const ls_row *at, size_t n) {
  int64_t cells[BLOCK];
  for (unsigned c = 0; c < rows->schema->ncols; c++) {
    for (size_t i = 0; i < n; i++)
      cells[i] = ls_list_get(rows, at[i], c).i;
    ls_status status = ls_builder_append(to, c, cells, n);
    if (status != LS_OK)
      return status;
  }
  return LS_OK;
}

static ls_status copy_rows(ls_builder *to, ls_list *rows, ls_texts *texts) {
  ls_cursor cursor;
  ls_row at[BLOCK];
  size_t n = 0;
  ls_status status = ls_list_seek(rows, texts, &LS_WHOLE, &cursor);
  while (status == LS_OK && ls_list_next(rows, &cursor, &at[n])) {
    if (++n < BLOCK)
      continue;
    status = copy_block(to, rows, at, n);
    n = 0;
  }
  return status == LS_OK ? copy_block(to, rows, at, n) : status;
}

/* Makes the cells lie in row order; frozen rows are copied. */
static ls_status arrange(pure_result *r) {
  ls_list *rows = r->value.rows;
  if (in_order(rows))
    return LS_OK;
  if (!rows->frozen && ls_list_relayout(rows, LS_ARRAY) == LS_OK) {
    pure_result_rewind(r);
    return LS_OK;
  }
  ls_list *copy = ls_list_new(rows->schema, rows->mem, texts_of(r), rows->policy, NULL);
  ls_builder *builder = copy ? ls_builder_new(rows->schema, rows->mem, texts_of(r)) : NULL;
  ls_status status = builder ? copy_rows(builder, rows, texts_of(r)) : LS_NOMEM;
  uint64_t later, first;
  if (status == LS_OK)
    status = ls_builder_finish(builder, copy, LS_DUP_ERROR, &later, &first);
  if (status == LS_OK && !in_order(copy))
    status = ls_list_relayout(copy, LS_ARRAY);
  ls_builder_delete(builder);
  if (status != LS_OK) {
    ls_list_delete(copy);
    return status;
  }
  ls_list_delete(rows);
  r->value.rows = copy;
  pure_result_rewind(r);
  return LS_OK;
}

static pure_status check_column(const pure_result *r, uint32_t column, const char *function,
                                pure_error *e) {
  if (!host_is(r, HOST_RESULT))
    return HOST_MISUSE(e, function, {"result", r, HOST_RESULT});
  if (r->stale)
    return host_fail(e, PURE_STALE, "the session was called again since");
  if (column >= pure_result_columns(r))
    return host_fail(e, PURE_MISUSE, "%s: column: the result has no column %u", function, column);
  return PURE_OK;
}

static pure_status read_column(pure_result *r, uint32_t column, pure_column *out,
                               const char *function, pure_error *error) {
  pure_status status = check_column(r, column, function, error);
  if (status != PURE_OK)
    return status;
  if (!out)
    return HOST_MISUSE(error, function, {"out", out, HOST_POINTER});
  ls_status arranged = arrange(r);
  if (arranged != LS_OK)
    return host_fail_list(error, arranged);
  const ls_list *rows = r->value.rows;
  host_schema_places(rows->schema, r->place);
  unsigned c = r->place[column];
  out->type = host_type(rows->schema->cols[c].type);
  out->width = 1u << ls_shape_width(rows->shape, c);
  out->rows = rows->count;
  out->cells = rows->count ? rows->col[c] : NULL;
  return PURE_OK;
}

pure_status pure_result_column(pure_result *r, uint32_t column, pure_column *out,
                               pure_error *error) {
  if (out)
    memset(out, 0, sizeof *out);
  return read_column(r, column, out, __func__, error);
}

/* Also checks the range and that the column is real or not. */
static pure_status copy_start(pure_result *r, uint32_t column, uint64_t first, size_t n, bool real,
                              pure_column *out, const char *function, pure_error *error) {
  pure_status status = read_column(r, column, out, function, error);
  if (status != PURE_OK)
    return status;
  if (first > out->rows || n > out->rows - first)
    return host_fail(error, PURE_MISUSE, "%s: first or n: the result has %llu rows", function,
                     (unsigned long long)out->rows);
  if (real != (out->type == PURE_REAL))
    return host_fail(error, PURE_MISUSE, "%s: column: %u is of type %s", function, column,
                     pure_type_name(out->type));
  return PURE_OK;
}

pure_status pure_result_copy_ints(pure_result *r, uint32_t column, uint64_t first, size_t n,
                                  int64_t *out, pure_error *error) {
  pure_column c;
  pure_status status = copy_start(r, column, first, n, false, &c, __func__, error);
  if (status != PURE_OK || n == 0)
    return status;
  if (!out)
    return HOST_MISUSE(error, __func__, {"out", out, HOST_POINTER});
  switch (c.width) {
  case 1:
    for (size_t i = 0; i < n; i++)
      out[i] = ((const uint8_t *)c.cells)[first + i];
    break;
  case 2:
    for (size_t i = 0; i < n; i++)
      out[i] = ((const uint16_t *)c.cells)[first + i];
    break;
  case 4:
    for (size_t i = 0; i < n; i++)
      out[i] = ((const uint32_t *)c.cells)[first + i];
    break;
  default:
    memcpy(out, (const int64_t *)c.cells + first, n * sizeof *out);
  }
  return PURE_OK;
}

pure_status pure_result_copy_reals(pure_result *r, uint32_t column, uint64_t first, size_t n,
                                   double *out, pure_error *error) {
  pure_column c;
  pure_status status = copy_start(r, column, first, n, true, &c, __func__, error);
  if (status != PURE_OK || n == 0)
    return status;
  if (!out)
    return HOST_MISUSE(error, __func__, {"out", out, HOST_POINTER});
  memcpy(out, (const double *)c.cells + first, n * sizeof *out);
  return PURE_OK;
}
