/* Arrow arrays in and out: every type, offsets, dictionaries, streams, malformed ones. */
#include "support/host_support.h"

#include <pure/arrow.h>
#include <stdlib.h>
#include <string.h>

static const char program[] =
    "list all (i: int, r: real, b: bool, d: date, t: text)\n"
    "list keyed (b: int, a: text) key (a)\n"
    "query back: (i: int, r: real, b: bool, d: date, t: text) { return all }\n"
    "query turned: (b: int, a: text) { return keyed }\n"
    "query none: (i: int, t: text) { for x in all { if x.i > 1000000 { emit (x.i, x.t) } } }\n"
    "query one: int { return 1 }\n";

/* A producer whose structs lie in one place; released counts. */
enum { MAX_COLUMNS = 6 };
typedef struct {
  struct ArrowSchema schema, column_schema[MAX_COLUMNS], dictionary_schema;
  struct ArrowArray array, column[MAX_COLUMNS], dictionary;
  struct ArrowSchema *schemas[MAX_COLUMNS];
  struct ArrowArray *columns[MAX_COLUMNS];
  const void *buffers[MAX_COLUMNS][3], *none[1], *dictionary_buffers[3];
  int64_t n;
} table;

static void release_schema(struct ArrowSchema *s) { s->release = NULL; }
static void release_array(struct ArrowArray *a) { a->release = NULL; }

static void begin(table *t, int64_t rows) {
  memset(t, 0, sizeof *t);
  t->schema =
      (struct ArrowSchema){.format = "+s", .children = t->schemas, .release = release_schema};
  t->array = (struct ArrowArray){.length = rows,
                                 .n_buffers = 1,
                                 .buffers = t->none,
                                 .children = t->columns,
                                 .release = release_array};
}

static struct ArrowArray *put(table *t, const char *name, const char *format, const void *values,
                              const void *bytes) {
  int64_t i = t->n++;
  t->column_schema[i] =
      (struct ArrowSchema){.name = name, .format = format, .release = release_schema};
  t->column[i] = (struct ArrowArray){.length = t->array.length,
                                     .n_buffers = format[0] == 'u' || format[0] == 'U' ? 3 : 2,
                                     .buffers = t->buffers[i],
                                     .release = release_array};
  t->buffers[i][1] = values;
  t->buffers[i][2] = bytes;
  t->schemas[i] = &t->column_schema[i];
  t->columns[i] = &t->column[i];
  t->schema.n_children = t->array.n_children = t->n;
  return &t->column[i];
}

static const int64_t ints[] = {1, -2, INT64_MAX};
static const double reals[] = {0.5, -1.5, 1e300};
static const uint8_t bools[] = {5}; /* 1 0 1 */
static const int32_t days[] = {0, -719162, 2932896};
static const int32_t offsets[] = {0, 2, 2, 5};
static const char letters[] = "hiyou";

static void standard(table *t) {
  begin(t, 3);
  put(t, "t", "u", offsets, letters);
  put(t, "i", "l", ints, NULL);
  put(t, "unwanted", "tsu:", ints, NULL);
  put(t, "r", "g", reals, NULL);
  put(t, "b", "b", bools, NULL);
  put(t, "d", "tdD", days, NULL);
}

static pure_status take(host_world *w, const char *list, table *t, pure_error *e) {
  pure_fill *fill;
  host_fine(pure_fill_new(w->store, list, &fill, e), e);
  pure_status status = pure_fill_arrow(fill, &t->schema, &t->array, e);
  if (status == PURE_OK)
    status = pure_fill_finish(fill, PURE_DUPLICATE_ERROR, e);
  else if (status == PURE_BAD_DATA)
    ck_assert_int_ne(pure_fill_finish(fill, PURE_DUPLICATE_ERROR, NULL), PURE_OK);
  pure_fill_release(fill);
  return status;
}

static pure_result *call(host_world *w, const char *name) {
  pure_result *r;
  pure_error e = {0};
  host_fine(pure_session_call(w->session, name, NULL, 0, &r, &e), &e);
  return r;
}

START_TEST(in_and_out) {
  host_world w;
  table t;
  pure_error e = {0};
  struct ArrowSchema schema;
  struct ArrowArray array;
  host_open(&w, program);
  standard(&t);
  host_fine(take(&w, "all", &t, &e), &e);
  pure_result *r = call(&w, "back");
  ck_assert(pure_result_next(r) && pure_result_next(r));
  ck_assert_int_eq(pure_result_get(r, 0).as.i, -2);
  ck_assert_int_eq(pure_result_get(r, 2).as.i, 0);
  ck_assert_int_eq(pure_result_get(r, 3).as.i, 0);
  ck_assert_uint_eq(pure_result_get(r, 4).length, 0);
  host_fine(pure_result_arrow(r, &schema, &array, &e), &e);
  pure_result_release(r);
  host_close(&w); /* the array stands on its own */
  ck_assert_str_eq(schema.format, "+s");
  ck_assert_int_eq(schema.n_children, 5);
  ck_assert_int_eq(array.length, 3);
  static const char *const names[] = {"i", "r", "b", "d", "t"}, *const formats[] = {"l", "g", "b",
                                                                                    "tdD", "U"};
  for (int i = 0; i < 5; i++) {
    ck_assert_str_eq(schema.children[i]->name, names[i]);
    ck_assert_str_eq(schema.children[i]->format, formats[i]);
    ck_assert_int_eq(array.children[i]->length, 3);
    ck_assert_int_eq(array.children[i]->null_count, 0);
  }
  ck_assert_int_eq(memcmp(array.children[0]->buffers[1], ints, sizeof ints), 0);
  ck_assert_int_eq(memcmp(array.children[1]->buffers[1], reals, sizeof reals), 0);
  ck_assert_int_eq(*(const uint8_t *)array.children[2]->buffers[1], 5);
  ck_assert_int_eq(memcmp(array.children[3]->buffers[1], days, sizeof days), 0);
  const int64_t *ends = array.children[4]->buffers[1];
  ck_assert(ends[0] == 0 && ends[1] == 2 && ends[2] == 2 && ends[3] == 5);
  ck_assert_int_eq(memcmp(array.children[4]->buffers[2], letters, 5), 0);
  /* A child that was moved out lives on. */
  struct ArrowArray moved = *array.children[4];
  array.children[4]->release = NULL;
  array.release(&array);
  schema.release(&schema);
  ck_assert(array.release == NULL && schema.release == NULL);
  ck_assert_int_eq(memcmp(moved.buffers[2], letters, 5), 0);
  moved.release(&moved);
}
END_TEST

START_TEST(narrow_types_and_offsets) {
  static const int8_t c[] = {9, -1, 2, 3, 9};
  static const uint16_t s[] = {9, 65535, 0, 7, 9};
  static const uint64_t l[] = {9, 1, 2, INT64_MAX, UINT64_MAX};
  static const float f[] = {9, 0.25f, -2, 3, 9};
  static const int64_t ms[] = {9, 0, 86400000, -86400000, 9};
  static const uint8_t bits[] = {0xf2}; /* x 1 0 0 x */
  static const int64_t ends[] = {0, 1, 2, 4, 7, 8};
  const void *const ints_of[] = {c, s, l};
  static const char *const formats[] = {"c", "S", "L"};
  static const int64_t want[][3] = {{-1, 2, 3}, {65535, 0, 7}, {1, 2, INT64_MAX}};
  for (int k = 0; k < 3; k++) {
    host_world w;
    table t;
    pure_error e = {0};
    host_open(&w, program);
    begin(&t, 2);
    t.array.offset = 1; /* rows 1, 2 of the children, which begin at 1 */
    put(&t, "i", formats[k], ints_of[k], NULL);
    put(&t, "r", "f", f, NULL);
    put(&t, "b", "b", bits, NULL);
    put(&t, "d", "tdm", ms, NULL);
    put(&t, "t", "U", ends, "xabbcccx");
    for (int i = 0; i < 5; i++)
      t.column[i].length = 3, t.column[i].offset = 1;
    host_fine(take(&w, "all", &t, &e), &e);
    pure_result *r = call(&w, "back");
    ck_assert_uint_eq(pure_result_rows(r), 2);
    ck_assert(pure_result_next(r));
    ck_assert_int_eq(pure_result_get(r, 0).as.i, want[k][1]);
    ck_assert_double_eq(pure_result_get(r, 1).as.r, -2);
    ck_assert_int_eq(pure_result_get(r, 2).as.i, 0);
    ck_assert_int_eq(pure_result_get(r, 3).as.i, PURE_DATE_UNIX + 1);
    ck_assert_int_eq(memcmp(pure_result_get(r, 4).as.t, "bb", 2), 0);
    ck_assert(pure_result_next(r));
    ck_assert_int_eq(pure_result_get(r, 0).as.i, want[k][2]);
    ck_assert_int_eq(pure_result_get(r, 3).as.i, PURE_DATE_UNIX - 1);
    ck_assert_uint_eq(pure_result_get(r, 4).length, 3);
    pure_result_release(r);
    host_close(&w);
  }
}
END_TEST

static void add_dictionary(table *t, struct ArrowArray *column, int64_t n) {
  int64_t at = column - t->column;
  t->dictionary_schema = (struct ArrowSchema){.format = "u", .release = release_schema};
  t->dictionary = (struct ArrowArray){
      .length = n, .n_buffers = 3, .buffers = t->dictionary_buffers, .release = release_array};
  t->dictionary_buffers[1] = offsets;
  t->dictionary_buffers[2] = letters;
  t->column_schema[at].dictionary = &t->dictionary_schema;
  column->dictionary = &t->dictionary;
}

START_TEST(dictionaries_and_keys) {
  static const int8_t indices[] = {2, 0, 1}, beyond[] = {2, 0, 3}, before[] = {-1, 0, 1};
  host_world w;
  table t;
  pure_error e = {0};
  host_open(&w, program);
  begin(&t, 3);
  put(&t, "b", "l", ints, NULL);
  add_dictionary(&t, put(&t, "a", "c", indices, NULL), 3);
  host_fine(take(&w, "keyed", &t, &e), &e);
  pure_result *r = call(&w, "turned"); /* in key order: "", hi, you */
  static const int64_t want[] = {INT64_MAX, -2, 1};
  for (int i = 0; i < 3; i++) {
    ck_assert(pure_result_next(r));
    ck_assert_int_eq(pure_result_get(r, 0).as.i, want[i]);
  }
  pure_result_release(r);
  host_refused(take(&w, "keyed", &t, &e), &e, PURE_BAD_DATA, "already");
  t.buffers[1][1] = beyond;
  host_refused(take(&w, "keyed", &t, &e), &e, PURE_BAD_DATA, "row 2 of the array: no such entry");
  t.buffers[1][1] = before;
  host_refused(take(&w, "keyed", &t, &e), &e, PURE_BAD_DATA, "row 0 of the array: no such entry");
  t.column[1].dictionary = NULL;
  host_refused(take(&w, "keyed", &t, &e), &e, PURE_BAD_DATA, "dictionary is missing");
  host_close(&w);
}
END_TEST

/* Each spoils one thing of the standard table: first of a column, then of the whole. */
static void spoil_column(table *t, int how) {
  static const int32_t down[] = {0, 2, 1, 5}, wild_days[] = {0, 0, 2932897};
  static const uint64_t large[] = {0, UINT64_MAX, 0};
  static const uint8_t some[] = {3};
  static const int64_t half_days[] = {0, 1, 0};
  enum { T, I, U, R, B, D };
  switch (how) {
  case 0:
    t->column_schema[I].format = "L", t->buffers[I][1] = large;
    break;
  case 1:
    t->column_schema[I].format = "g";
    break;
  case 2:
    t->column_schema[I].format = "vu";
    break;
  case 3:
    t->column_schema[I].format = NULL;
    break;
  case 4:
    t->column_schema[I].name = "x";
    break;
  case 5:
    t->column_schema[U].name = "i";
    break;
  case 6:
    t->buffers[I][1] = NULL;
    break;
  case 7:
    t->column[I].length = 2;
    break;
  case 8:
    t->column[I].length = -1;
    break;
  case 9:
    t->column[I].offset = -1;
    break;
  case 10:
    t->column[I].offset = INT64_MAX;
    break;
  case 11:
    t->column[I].n_buffers = 1;
    break;
  case 12:
    t->column[I].null_count = 1;
    break;
  case 13:
    t->column[I].null_count = -1, t->buffers[I][0] = some;
    break;
  case 14:
    t->buffers[T][1] = down;
    break;
  case 15:
    t->buffers[T][2] = NULL;
    break;
  case 16:
    t->buffers[T][2] = "h\xff"
                       "you";
    break;
  case 17:
    t->buffers[D][1] = wild_days;
    break;
  case 18:
    t->column_schema[D].format = "tdm", t->buffers[D][1] = half_days;
    break;
  default:
    break;
  }
}

static void spoil(table *t, int how) {
  static const uint8_t some[] = {3};
  enum { T, I };
  spoil_column(t, how);
  switch (how) {
  case 19:
    t->columns[I] = NULL;
    break;
  case 20:
    t->schemas[I] = NULL;
    break;
  case 21:
    t->column[I].release = NULL;
    break;
  case 22:
    t->schema.n_children = 5;
    break;
  case 23:
    t->schema.n_children = t->array.n_children = -1;
    break;
  case 24:
    t->array.children = NULL;
    break;
  case 25:
    t->schema.format = "l";
    break;
  case 26:
    t->schema.format = NULL;
    break;
  case 27:
    t->array.length = 4;
    break;
  case 28:
    t->array.length = INT64_MAX;
    break;
  case 29:
    t->array.null_count = 2, t->none[0] = some;
    break;
  case 30:
    t->column[T].buffers = NULL;
    break;
  case 31:
    t->array.null_count = -2;
    break;
  default:
    break;
  }
}
enum { SPOILT = 32 };

START_TEST(malformed) {
  host_world w;
  pure_error e = {0};
  host_open(&w, program);
  uint64_t before = host_digest(w.store);
  for (int i = 0; i < SPOILT; i++) {
    table t;
    standard(&t);
    spoil(&t, i);
    pure_status status = take(&w, "all", &t, &e);
    ck_assert_msg(status == PURE_BAD_DATA, "%d: %s", i, pure_status_name(status));
    ck_assert_uint_eq(host_digest(w.store), before);
  }
  table t;
  standard(&t);
  t.array.release = NULL;
  host_refused(take(&w, "all", &t, &e), &e, PURE_MISUSE, "released");
  pure_fill *fill;
  host_fine(pure_fill_new(w.store, "all", &fill, &e), &e);
  host_refused(pure_fill_arrow(fill, NULL, &t.array, &e), &e, PURE_MISUSE, "NULL");
  pure_fill_release(fill);
  host_refused(pure_fill_arrow(fill, &t.schema, &t.array, &e), &e, PURE_MISUSE,
               "fill has been released");
  host_close(&w);
}
END_TEST

/* A stream of the standard table, a number of times. */
typedef struct {
  table t;
  int left, fail_at;
} source;

static int source_schema(struct ArrowArrayStream *s, struct ArrowSchema *out) {
  source *from = s->private_data;
  *out = from->t.schema;
  return from->fail_at == 1 ? 5 : 0;
}

static int source_next(struct ArrowArrayStream *s, struct ArrowArray *out) {
  source *from = s->private_data;
  *out = from->t.array;
  if (from->left == 0)
    out->release = NULL;
  else if (--from->left == 0 && from->fail_at == 2)
    return 5;
  return 0;
}

static const char *source_error(struct ArrowArrayStream *s) {
  (void)s;
  return "the disk fell off";
}

static void source_release(struct ArrowArrayStream *s) { s->release = NULL; }

START_TEST(streams) {
  host_world w;
  pure_error e = {0};
  host_open(&w, program);
  for (int fail_at = 2; fail_at >= 0; fail_at--) {
    source from = {.left = 3, .fail_at = fail_at};
    standard(&from.t);
    struct ArrowArrayStream in = {source_schema, source_next, source_error, source_release, &from};
    pure_fill *fill;
    host_fine(pure_fill_new(w.store, "all", &fill, &e), &e);
    pure_status status = pure_fill_arrow_stream(fill, &in, &e);
    if (fail_at) {
      host_refused(status, &e, PURE_IO, "the disk fell off");
    } else {
      host_fine(status, &e);
      ck_assert_uint_eq(pure_fill_rows(fill), 9);
      host_fine(pure_fill_finish(fill, PURE_DUPLICATE_ERROR, &e), &e);
    }
    pure_fill_release(fill);
  }
  /* Out of one store, into another. */
  struct ArrowArrayStream out;
  pure_result *r = call(&w, "back");
  host_fine(pure_result_arrow_stream(r, &out, &e), &e);
  pure_result_release(r);
  uint64_t digest = host_digest(w.store);
  host_close(&w);
  host_open(&w, program);
  pure_fill *fill;
  host_fine(pure_fill_new(w.store, "all", &fill, &e), &e);
  host_fine(pure_fill_arrow_stream(fill, &out, &e), &e);
  host_fine(pure_fill_finish(fill, PURE_DUPLICATE_ERROR, &e), &e);
  pure_fill_release(fill);
  out.release(&out);
  ck_assert_uint_eq(host_digest(w.store), digest);
  host_close(&w);
}
END_TEST

START_TEST(results_that_are_no_table) {
  host_world w;
  pure_error e = {0};
  struct ArrowSchema schema;
  struct ArrowArray array;
  host_open(&w, program);
  pure_result *r = call(&w, "one");
  host_refused(pure_result_arrow(r, &schema, &array, &e), &e, PURE_MISUSE, "rows");
  pure_result_release(r);
  host_refused(pure_result_arrow(r, &schema, &array, &e), &e, PURE_MISUSE,
               "result has been released");
  r = call(&w, "none");
  host_fine(pure_result_arrow(r, &schema, &array, &e), &e);
  ck_assert_int_eq(array.length, 0);
  ck_assert_ptr_nonnull(array.children[0]->buffers[1]);
  array.release(&array);
  schema.release(&schema);
  pure_result *later = call(&w, "none");
  host_refused(pure_result_arrow(r, &schema, &array, &e), &e, PURE_STALE, "called again");
  pure_result_release(r);
  pure_result_release(later);
  host_close(&w);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {
      in_and_out, narrow_types_and_offsets, dictionaries_and_keys, malformed,
      streams,    results_that_are_no_table};
  return HOST_RUN("arrow", tests);
}
