/* Results as Arrow arrays, which stand on their own: cells are copied, and what an array needs is
 * held until its consumer releases it, on whatever thread.
 *
 * Columns may be moved out of their table by the consumer, so that each has its own release.  Types
 * do not depend on how a list is stored: int l, real g, bool b, date tdD, text U. */
#include "host/lib/host_int.h"

#include <pure/arrow.h>

#include <errno.h>
#include <string.h>

static const char *const formats[LS_NTYPES] = {"l", "g", "b", "U", "tdD"};

/* Schemas */

typedef struct {
  pure_program *program; /* held; names are its texts */
  size_t bytes;
  struct ArrowSchema *children[];
} table_schema;

static void release_column_schema(struct ArrowSchema *s) {
  s->release = NULL;
  host_program_drop(s->private_data);
}

static void release_table_schema(struct ArrowSchema *s) {
  table_schema *t = s->private_data;
  pure_program *program = t->program;
  s->release = NULL;
  for (int64_t i = 0; i < s->n_children; i++)
    if (t->children[i]->release)
      t->children[i]->release(t->children[i]);
  host_free(program->engine, t, t->bytes);
  host_program_drop(program);
}

static bool make_schema(pure_program *program, const vm_fn *fn, struct ArrowSchema *out) {
  size_t n = fn->nresult;
  size_t bytes = sizeof(table_schema) + n * (sizeof(void *) + sizeof(struct ArrowSchema));
  table_schema *t = host_alloc(program->engine, bytes);
  if (!t)
    return false;
  struct ArrowSchema *child = (struct ArrowSchema *)(void *)(t->children + n);
  t->program = host_hold(program);
  t->bytes = bytes;
  for (size_t i = 0; i < n; i++) {
    t->children[i] = &child[i];
    child[i] = (struct ArrowSchema){.format = formats[fn->result_cols[i].type],
                                    .name = fn->result_cols[i].name,
                                    .release = release_column_schema,
                                    .private_data = host_hold(program)};
  }
  *out = (struct ArrowSchema){.format = "+s",
                              .name = "",
                              .n_children = (int64_t)n,
                              .children = t->children,
                              .release = release_table_schema,
                              .private_data = t};
  return true;
}

/* Arrays */

typedef struct {
  pure_engine *engine; /* held */
  const void *buffers[3];
  size_t bytes[3];
} column_array;

typedef struct {
  pure_engine *engine; /* held */
  size_t bytes;
  const void *buffers[1];
  struct ArrowArray *children[];
} table_array;

static void release_column(struct ArrowArray *a) {
  column_array *c = a->private_data;
  pure_engine *engine = c->engine;
  a->release = NULL;
  for (size_t i = 0; i < 3; i++)
    host_free(engine, (void *)(uintptr_t)c->buffers[i], c->bytes[i]);
  host_free(engine, c, sizeof *c);
  host_engine_drop(engine);
}

static void release_table(struct ArrowArray *a) {
  table_array *t = a->private_data;
  pure_engine *engine = t->engine;
  a->release = NULL;
  for (int64_t i = 0; i < a->n_children; i++)
    if (t->children[i]->release)
      t->children[i]->release(t->children[i]);
  host_free(engine, t, t->bytes);
  host_engine_drop(engine);
}

/* Zeroed, and never of no bytes: consumers want a pointer. */
static void *make_buffer(column_array *c, unsigned number, uint64_t bytes) {
  if (bytes >= SIZE_MAX / 2)
    return NULL;
  void *buffer = host_alloc(c->engine, (size_t)bytes + 8);
  if (!buffer)
    return NULL;
  c->buffers[number] = buffer;
  c->bytes[number] = (size_t)bytes + 8;
  return buffer;
}

static bool copy_bools(column_array *c, const pure_column *from) {
  uint8_t *to = make_buffer(c, 1, from->rows / 8);
  for (uint64_t i = 0; to && i < from->rows; i++)
    to[i / 8] |= (uint8_t)((ls_cell_load(from->cells, host_width(from), i) & 1) << (i % 8));
  return to != NULL;
}

static bool copy_dates(column_array *c, const pure_column *from) {
  int32_t *to = make_buffer(c, 1, from->rows * sizeof *to);
  for (uint64_t i = 0; to && i < from->rows; i++)
    to[i] = (int32_t)ls_cell_load(from->cells, host_width(from), i) - PURE_DATE_UNIX;
  return to != NULL;
}

static bool copy_texts(column_array *c, const pure_result *r, const pure_column *from) {
  int64_t *offsets = make_buffer(c, 1, (from->rows + 1) * sizeof *offsets);
  uint64_t total = 0;
  if (!offsets)
    return false;
  for (uint64_t i = 0; i < from->rows; i++) {
    total += pure_result_text(r, ls_cell_load(from->cells, host_width(from), i)).length;
    offsets[i + 1] = (int64_t)total;
  }
  char *to = make_buffer(c, 2, total);
  if (!to)
    return false;
  for (uint64_t i = 0; i < from->rows; i++) {
    pure_value text = pure_result_text(r, ls_cell_load(from->cells, host_width(from), i));
    if (text.length)
      memcpy(to + offsets[i], text.as.t, text.length);
  }
  return true;
}

static bool copy_cells(column_array *c, pure_result *r, uint32_t column) {
  pure_column from;
  if (pure_result_column(r, column, &from, NULL) != PURE_OK)
    return false;
  switch (from.type) {
  case PURE_BOOL:
    return copy_bools(c, &from);
  case PURE_DATE:
    return copy_dates(c, &from);
  case PURE_TEXT:
    return copy_texts(c, r, &from);
  default:
    break;
  }
  void *to = make_buffer(c, 1, from.rows * 8);
  if (!to)
    return false;
  pure_status status = from.type == PURE_REAL
                           ? pure_result_copy_reals(r, column, 0, from.rows, to, NULL)
                           : pure_result_copy_ints(r, column, 0, from.rows, to, NULL);
  return status == PURE_OK;
}

static bool make_column(pure_engine *engine, pure_result *r, uint32_t column,
                        struct ArrowArray *out) {
  column_array *c = host_alloc(engine, sizeof *c);
  if (!c)
    return false;
  c->engine = host_hold(engine);
  *out = (struct ArrowArray){.length = (int64_t)pure_result_rows(r),
                             .n_buffers = r->fn->result_cols[column].type == LS_TEXT ? 3 : 2,
                             .buffers = c->buffers,
                             .release = release_column,
                             .private_data = c};
  return copy_cells(c, r, column);
}

static bool make_table(pure_engine *engine, pure_result *r, struct ArrowArray *out) {
  size_t n = r->fn->nresult;
  size_t bytes = sizeof(table_array) + n * (sizeof(void *) + sizeof(struct ArrowArray));
  table_array *t = host_alloc(engine, bytes);
  if (!t)
    return false;
  struct ArrowArray *child = (struct ArrowArray *)(void *)(t->children + n);
  t->engine = host_hold(engine);
  t->bytes = bytes;
  for (size_t i = 0; i < n; i++)
    t->children[i] = &child[i];
  *out = (struct ArrowArray){.length = (int64_t)pure_result_rows(r),
                             .n_buffers = 1,
                             .n_children = (int64_t)n,
                             .buffers = t->buffers,
                             .children = t->children,
                             .release = release_table,
                             .private_data = t};
  bool fine = true;
  for (size_t i = 0; i < n && fine; i++)
    fine = make_column(engine, r, (uint32_t)i, &child[i]);
  if (!fine)
    release_table(out);
  return fine;
}

static pure_status check(const pure_result *r, const char *function, pure_error *e) {
  if (r->stale)
    return host_fail(e, PURE_STALE, "the session was called again since");
  if (r->value.kind != VM_RESULT_ROWS)
    return host_fail(e, PURE_MISUSE, "%s: result: only rows can be exported as Arrow", function);
  return PURE_OK;
}

pure_status pure_result_arrow(pure_result *result, struct ArrowSchema *schema,
                              struct ArrowArray *array, pure_error *error) {
  if (schema)
    memset(schema, 0, sizeof *schema);
  if (array)
    memset(array, 0, sizeof *array);
  if (!host_is(result, HOST_RESULT) || !schema || !array)
    return HOST_MISUSE(error, __func__, {"result", result, HOST_RESULT},
                       {"schema", schema, HOST_POINTER}, {"array", array, HOST_POINTER});
  pure_status status = check(result, __func__, error);
  if (status != PURE_OK)
    return status;
  pure_program *program = result->session->store->program;
  if (!make_table(program->engine, result, array))
    return host_no_memory(error);
  if (make_schema(program, result->fn, schema))
    return PURE_OK;
  array->release(array);
  return host_no_memory(error);
}

/* A stream of one array */

typedef struct {
  pure_program *program; /* held */
  const vm_fn *fn;
  struct ArrowArray array; /* released once it was handed over */
} stream;

static int stream_schema(struct ArrowArrayStream *s, struct ArrowSchema *out) {
  stream *t = s->private_data;
  return make_schema(t->program, t->fn, out) ? 0 : ENOMEM;
}

static int stream_next(struct ArrowArrayStream *s, struct ArrowArray *out) {
  stream *t = s->private_data;
  *out = t->array;
  t->array.release = NULL;
  return 0;
}

static const char *stream_error(struct ArrowArrayStream *s) {
  (void)s;
  return "out of memory";
}

static void stream_release(struct ArrowArrayStream *s) {
  stream *t = s->private_data;
  pure_program *program = t->program;
  s->release = NULL;
  if (t->array.release)
    t->array.release(&t->array);
  host_free(program->engine, t, sizeof *t);
  host_program_drop(program);
}

pure_status pure_result_arrow_stream(pure_result *result, struct ArrowArrayStream *out,
                                     pure_error *error) {
  if (out)
    memset(out, 0, sizeof *out);
  if (!host_is(result, HOST_RESULT) || !out)
    return HOST_MISUSE(error, __func__, {"result", result, HOST_RESULT},
                       {"out", out, HOST_POINTER});
  pure_status status = check(result, __func__, error);
  if (status != PURE_OK)
    return status;
  pure_program *program = result->session->store->program;
  stream *t = host_alloc(program->engine, sizeof *t);
  if (!t)
    return host_no_memory(error);
  if (!make_table(program->engine, result, &t->array)) {
    host_free(program->engine, t, sizeof *t);
    return host_no_memory(error);
  }
  t->program = host_hold(program);
  t->fn = result->fn;
  *out = (struct ArrowArrayStream){.get_schema = stream_schema,
                                   .get_next = stream_next,
                                   .get_last_error = stream_error,
                                   .release = stream_release,
                                   .private_data = t};
  return PURE_OK;
}
