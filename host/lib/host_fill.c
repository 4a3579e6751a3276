/* Fills: columns in memory on their way into a list. */
#include "host/lib/host_int.h"

#include <string.h>

enum { BLOCK = 2048 };

/* texts_before and epoch: when it began, to forget its texts if it fails.  over: it failed or was
 * finished, and can only be released.  length[c]: cells of schema column c; place follows it. */
struct pure_fill {
  host_handle head;
  pure_store *store;
  uint32_t list;
  bool over;
  ls_builder *builder;
  uint32_t texts_before;
  uint64_t epoch;
  uint8_t *place; /* declared column -> schema column */
  uint64_t length[];
};

static ls_texts *texts_of(const pure_fill *fill) {
  return ls_store_texts(vm_link_store(fill->store->link));
}

const ls_schema *host_fill_schema(const pure_fill *fill) {
  return host_store_schema(fill->store, fill->list);
}

ls_builder *host_fill_builder(pure_fill *fill) { return fill->builder; }

pure_engine *host_fill_engine(const pure_fill *fill) { return fill->store->program->engine; }

void host_fill_fail(pure_fill *fill) { fill->over = true; }

pure_status host_fill_usable(const pure_fill *fill, const char *function, pure_error *e) {
  return fill->over ? host_fail(e, PURE_MISUSE, "%s: the fill is over", function) : PURE_OK;
}

/* The store is entered. */
static bool fill_begin(pure_fill *fill) {
  fill->texts_before = ls_texts_count(texts_of(fill));
  fill->epoch = fill->store->epoch;
  fill->builder =
      ls_builder_new(host_fill_schema(fill), host_store_mem(fill->store), texts_of(fill));
  return fill->builder != NULL;
}

pure_status pure_fill_new(pure_store *store, const char *list, pure_fill **out, pure_error *error) {
  if (out)
    *out = NULL;
  if (!host_is(store, HOST_STORE) || !list || !out)
    return HOST_MISUSE(error, __func__, {"store", store, HOST_STORE}, {"list", list, HOST_POINTER},
                       {"out", out, HOST_POINTER});
  uint32_t number;
  pure_status status = host_store_find(store, list, &number, error);
  if (status != PURE_OK)
    return status;
  pure_engine *engine = store->program->engine;
  size_t ncols = host_store_schema(store, number)->ncols;
  size_t bytes = sizeof(pure_fill) + ncols * (sizeof(uint64_t) + sizeof(uint8_t));
  pure_fill *fill = host_handle_new(engine, HOST_FILL, bytes);
  if (!host_is(fill, HOST_FILL))
    return host_no_memory(error);
  if (!host_store_enter(store)) {
    host_free(engine, fill, bytes);
    return host_busy(error, __func__, "store");
  }
  fill->store = store;
  fill->list = number;
  fill->place = (uint8_t *)(fill->length + ncols);
  host_schema_places(host_fill_schema(fill), fill->place);
  bool begun = fill_begin(fill);
  if (begun)
    atomic_fetch_add(&store->fills, 1);
  host_store_leave(store);
  if (!begun) {
    host_free(engine, fill, bytes);
    return host_no_memory(error);
  }
  host_hold(store);
  *out = fill;
  return PURE_OK;
}

/* Texts of rows that never came to be are forgotten where nobody can have seen them. */
static void forget_texts(pure_fill *fill) {
  pure_store *store = fill->store;
  if (!host_store_enter(store))
    return;
  if (atomic_load(&store->fills) == 1 && atomic_load(&store->snapshots) == 0 &&
      store->epoch == fill->epoch)
    ls_texts_truncate(texts_of(fill), fill->texts_before);
  host_store_leave(store);
}

void pure_fill_release(pure_fill *fill) {
  if (!host_close(fill, HOST_FILL))
    return;
  pure_store *store = fill->store;
  ls_builder_delete(fill->builder);
  forget_texts(fill);
  atomic_fetch_sub(&store->fills, 1);
  host_bury(store->program->engine, fill);
  host_store_drop(store);
}

typedef struct {
  const char *function, *values; /* its name, and that of its parameter */
  ls_type type;
} filler;

/* column becomes the schema's. */
static pure_status check(pure_fill *fill, uint32_t *column, const filler *by, const void *values,
                         size_t n, pure_error *e) {
  if (!host_is(fill, HOST_FILL) || (!values && n))
    return HOST_MISUSE(e, by->function, {"fill", fill, HOST_FILL},
                       {by->values, values, HOST_POINTER});
  pure_status status = host_fill_usable(fill, by->function, e);
  if (status != PURE_OK)
    return status;
  const ls_schema *schema = host_fill_schema(fill);
  if (*column >= schema->ncols)
    return host_fail(e, PURE_MISUSE, "%s: column: list `%s` has no column %u", by->function,
                     schema->name, *column);
  *column = fill->place[*column];
  const ls_column *c = &schema->cols[*column];
  if (c->type != by->type)
    return host_fail(e, PURE_MISUSE, "%s: column: `%s` of list `%s` is of type %s, not %s",
                     by->function, c->name, schema->name, vm_type_name(c->type),
                     vm_type_name(by->type));
  return PURE_OK;
}

/* It may be the engine's limit that the rows go over. */
static pure_status fail_list(const pure_fill *fill, ls_status status, pure_error *e) {
  if (status == LS_NOMEM)
    return host_no_memory_of(fill->store->program->engine, e);
  return host_fail_list(e, status);
}

static pure_status done(pure_fill *fill, ls_status status, pure_error *e) {
  if (status == LS_OK)
    return PURE_OK;
  fill->over = true;
  return fail_list(fill, status, e);
}

static pure_status bad_cell(pure_fill *fill, uint32_t column, size_t row, const char *what,
                            pure_error *e) {
  const ls_schema *schema = host_fill_schema(fill);
  fill->over = true;
  return host_fail(e, PURE_BAD_DATA, "list `%s`, column `%s`, value %zu of the block: %s",
                   schema->name, schema->cols[column].name, row, what);
}

ls_status host_fill_append(pure_fill *fill, uint32_t column, const int64_t *cells, size_t n) {
  ls_status status = ls_builder_append(fill->builder, column, cells, n);
  if (status == LS_OK)
    fill->length[column] += n;
  return status;
}

pure_status pure_fill_ints(pure_fill *fill, uint32_t column, const int64_t *values, size_t n,
                           pure_error *error) {
  static const filler by = {"pure_fill_ints", "values", LS_INT};
  pure_status status = check(fill, &column, &by, values, n, error);
  if (status != PURE_OK)
    return status;
  return done(fill, host_fill_append(fill, column, values, n), error);
}

/* n values of 32 bits, signed, by blocks. */
static ls_status append32(pure_fill *fill, uint32_t column, const int32_t *values, size_t n) {
  int64_t block[BLOCK];
  ls_status status = LS_OK;
  for (size_t at = 0; at < n && status == LS_OK; at += BLOCK) {
    size_t count = n - at < BLOCK ? n - at : BLOCK;
    for (size_t i = 0; i < count; i++)
      block[i] = values[at + i];
    status = host_fill_append(fill, column, block, count);
  }
  return status;
}

pure_status pure_fill_ints32(pure_fill *fill, uint32_t column, const int32_t *values, size_t n,
                             pure_error *error) {
  static const filler by = {"pure_fill_ints32", "values", LS_INT};
  pure_status status = check(fill, &column, &by, values, n, error);
  if (status != PURE_OK)
    return status;
  return done(fill, append32(fill, column, values, n), error);
}

pure_status pure_fill_dates(pure_fill *fill, uint32_t column, const int32_t *values, size_t n,
                            pure_error *error) {
  static const filler by = {"pure_fill_dates", "values", LS_DATE};
  pure_status status = check(fill, &column, &by, values, n, error);
  if (status != PURE_OK)
    return status;
  char why[HOST_NO_DAY_CHARS];
  for (size_t i = 0; i < n; i++)
    if (values[i] < 0 || values[i] > LS_DATE_MAX)
      return bad_cell(fill, column, i, host_value_no_day(values[i], why), error);
  return done(fill, append32(fill, column, values, n), error);
}

pure_status pure_fill_reals(pure_fill *fill, uint32_t column, const double *values, size_t n,
                            pure_error *error) {
  static const filler by = {"pure_fill_reals", "values", LS_REAL};
  pure_status status = check(fill, &column, &by, values, n, error);
  if (status != PURE_OK)
    return status;
  int64_t block[BLOCK];
  ls_status appended = LS_OK;
  for (size_t at = 0; at < n && appended == LS_OK; at += BLOCK) {
    size_t count = n - at < BLOCK ? n - at : BLOCK;
    memcpy(block, values + at, count * sizeof *block);
    appended = host_fill_append(fill, column, block, count);
  }
  return done(fill, appended, error);
}

pure_status pure_fill_bools(pure_fill *fill, uint32_t column, const uint8_t *values, size_t n,
                            pure_error *error) {
  static const filler by = {"pure_fill_bools", "values", LS_BOOL};
  pure_status status = check(fill, &column, &by, values, n, error);
  if (status != PURE_OK)
    return status;
  int64_t block[BLOCK];
  ls_status appended = LS_OK;
  for (size_t at = 0; at < n && appended == LS_OK; at += BLOCK) {
    size_t count = n - at < BLOCK ? n - at : BLOCK;
    for (size_t i = 0; i < count; i++) {
      block[i] = values[at + i];
      if (block[i] > 1)
        return bad_cell(fill, column, at + i, "a bool is 0 or 1", error);
    }
    appended = host_fill_append(fill, column, block, count);
  }
  return done(fill, appended, error);
}

ls_status host_fill_intern(pure_fill *fill, const char *bytes, size_t length, int64_t *id) {
  uint32_t number = 0;
  ls_status status = ls_texts_intern(texts_of(fill), bytes, length, &number);
  *id = number;
  return status;
}

pure_status pure_fill_texts(pure_fill *fill, uint32_t column, const char *bytes,
                            const uint64_t *offsets, size_t n, pure_error *error) {
  static const filler by = {"pure_fill_texts", "offsets", LS_TEXT};
  pure_status status = check(fill, &column, &by, offsets, n, error);
  if (status != PURE_OK)
    return status;
  int64_t block[BLOCK];
  ls_status appended = LS_OK;
  for (size_t at = 0; at < n && appended == LS_OK;) {
    size_t count = 0;
    for (; count < BLOCK && at < n && appended == LS_OK; at++, count++) {
      if (offsets[at] > offsets[at + 1])
        return bad_cell(fill, column, at, "the offsets go down", error);
      size_t length = (size_t)(offsets[at + 1] - offsets[at]);
      if (length && !bytes)
        return bad_cell(fill, column, at, "no bytes", error);
      const char *text = length ? bytes + offsets[at] : "";
      if (host_utf8_check(text, length) != length)
        return bad_cell(fill, column, at, "not UTF-8 without NUL bytes", error);
      appended = host_fill_intern(fill, text, length, &block[count]);
    }
    if (appended == LS_OK)
      appended = host_fill_append(fill, column, block, count);
  }
  return done(fill, appended, error);
}

static pure_status fill_value(pure_fill *fill, uint32_t column, const pure_value *v,
                              pure_error *e) {
  uint8_t bit = v->as.i != 0;
  int32_t day = (int32_t)v->as.i;
  char why[HOST_NO_DAY_CHARS];
  uint64_t offsets[2] = {0, v->length};
  switch (v->type) {
  case PURE_INT:
    return pure_fill_ints(fill, column, &v->as.i, 1, e);
  case PURE_REAL:
    return pure_fill_reals(fill, column, &v->as.r, 1, e);
  case PURE_BOOL:
    return pure_fill_bools(fill, column, &bit, 1, e);
  case PURE_DATE:
    if (day != v->as.i)
      return bad_cell(fill, fill->place[column], 0, host_value_no_day(v->as.i, why), e);
    return pure_fill_dates(fill, column, &day, 1, e);
  case PURE_TEXT:
    return pure_fill_texts(fill, column, v->as.t, offsets, 1, e);
  case PURE_NOTHING:
  case PURE_NTYPES:
    break;
  }
  return host_fail(e, PURE_MISUSE, "pure_fill_row: values: a value of no type");
}

pure_status pure_fill_row(pure_fill *fill, const pure_value *values, uint32_t n,
                          pure_error *error) {
  if (!host_is(fill, HOST_FILL) || !values)
    return HOST_MISUSE(error, __func__, {"fill", fill, HOST_FILL},
                       {"values", values, HOST_POINTER});
  const ls_schema *schema = host_fill_schema(fill);
  if (n != schema->ncols)
    return host_fail(error, PURE_MISUSE, "pure_fill_row: n: list `%s` has %u columns, not %u",
                     schema->name, schema->ncols, n);
  /* All of them before the first: a row is added whole or not at all. */
  for (uint32_t i = 0; i < n; i++) {
    const ls_column *c = &schema->cols[fill->place[i]];
    if (values[i].type != host_type(c->type))
      return host_fail(error, PURE_MISUSE,
                       "pure_fill_row: values[%u]: column `%s` of list `%s` is of type %s, not %s",
                       i, c->name, schema->name, vm_type_name(c->type),
                       pure_type_name(values[i].type));
  }
  pure_status status = PURE_OK;
  for (uint32_t i = 0; i < n && status == PURE_OK; i++)
    status = fill_value(fill, i, &values[i], error);
  return status;
}

uint64_t pure_fill_rows(const pure_fill *fill) {
  return host_is(fill, HOST_FILL) && fill->builder ? ls_builder_rows(fill->builder) : 0;
}

pure_status host_fill_finish(pure_fill *fill, const char *function, pure_duplicates duplicates,
                             uint64_t *later, uint64_t *first, pure_error *e) {
  static const ls_dup dups[] = {LS_DUP_ERROR, LS_DUP_FIRST, LS_DUP_LAST};
  pure_store *store = fill->store;
  if (!host_store_enter(store))
    return host_busy(e, function, "store");
  ls_list *l = ls_store_list(vm_link_store(store->link), fill->list);
  ls_status status = ls_builder_finish(fill->builder, l, dups[duplicates], later, first);
  ls_builder_delete(fill->builder);
  fill->builder = NULL;
  fill->over = true;
  if (status == LS_OK)
    store->epoch++;
  host_store_leave(store);
  return status == LS_OK ? PURE_OK : fail_list(fill, status, e);
}

static pure_status same_lengths(const pure_fill *fill, pure_error *e) {
  const ls_schema *schema = host_fill_schema(fill);
  for (unsigned c = 1; c < schema->ncols; c++)
    if (fill->length[c] != fill->length[0])
      return host_fail(
          e, PURE_MISUSE,
          "pure_fill_finish: fill: list `%s` has %llu values for column `%s`, %llu for `%s`",
          schema->name, (unsigned long long)fill->length[0], schema->cols[0].name,
          (unsigned long long)fill->length[c], schema->cols[c].name);
  return PURE_OK;
}

pure_status pure_fill_finish(pure_fill *fill, pure_duplicates duplicates, pure_error *error) {
  if (!host_is(fill, HOST_FILL))
    return HOST_MISUSE(error, __func__, {"fill", fill, HOST_FILL});
  if ((unsigned)duplicates > PURE_DUPLICATE_LAST)
    return host_fail(error, PURE_MISUSE, "pure_fill_finish: duplicates is no pure_duplicates");
  if (fill->over)
    return host_fail(error, PURE_MISUSE, "%s: the fill is over", __func__);
  pure_status status = same_lengths(fill, error);
  if (status != PURE_OK)
    return status;
  uint64_t later = 0, first = UINT64_MAX;
  status = host_fill_finish(fill, __func__, duplicates, &later, &first, error);
  if (status != PURE_BAD_DATA)
    return status;
  const char *list = host_fill_schema(fill)->name;
  if (first == UINT64_MAX)
    return host_fail(error, status,
                     "list `%s`, row %llu of the fill: a row with this key is already in the list",
                     list, (unsigned long long)later);
  return host_fail(error, status, "list `%s`: rows %llu and %llu of the fill have the same key",
                   list, (unsigned long long)first, (unsigned long long)later);
}
