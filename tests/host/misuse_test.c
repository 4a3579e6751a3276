/* Every function that fails by misuse says which function it was and which parameter is wrong.
 * misuse_names_test.sh looks that no function of the headers is left out. */
#include "support/host_support.h"

#include <pure/arrow.h>
#include <stdio.h>
#include <string.h>

static host_world w;
static pure_engine *engine;
static pure_program *program;
static pure_store *store;
static pure_session *session, *closed, *reader;
static pure_snapshot *snapshot;
static pure_fill *fill, *over;
static pure_import *import;
static pure_result *rows, *value;
static pure_error e;

static void open_all(void) {
  pure_import_options o = {.size = sizeof o};
  pure_value n = pure_int(1);
  host_open(&w, NULL);
  engine = w.engine;
  program = w.program;
  store = w.store;
  session = w.session;
  host_call(&w, "connect", "1", "2", NULL);
  host_fine(pure_session_new(store, &closed, &e), &e);
  pure_session_release(closed);
  host_fine(pure_snapshot_take(store, &snapshot, &e), &e);
  host_fine(pure_session_on(snapshot, &reader, &e), &e);
  host_fine(pure_fill_new(store, "log", &fill, &e), &e);
  host_fine(pure_fill_new(store, "log", &over, &e), &e);
  host_fine(pure_fill_finish(over, PURE_DUPLICATE_ERROR, &e), &e);
  host_fine(pure_import_new(store, "log", &o, &import, &e), &e);
  host_fine(pure_session_call(session, "all_edges", NULL, 0, &rows, &e), &e);
  host_fine(pure_session_call(reader, "echo_int", &n, 1, &value, &e), &e);
}

static void close_all(void) {
  pure_result_release(rows);
  pure_result_release(value);
  pure_import_release(import);
  pure_fill_release(fill);
  pure_fill_release(over);
  pure_session_release(reader);
  pure_snapshot_release(snapshot);
  host_close(&w);
}

static bool put(void *user, const void *bytes, size_t n) {
  (void)user, (void)bytes, (void)n;
  return true;
}

static void nothing(void) {}

/* call: its spelling, which begins with the function's name. */
static void misused(pure_status status, const char *call, const char *wrong) {
  char want[200];
  snprintf(want, sizeof want, "%.*s: %s", (int)strcspn(call, "("), call, wrong);
  ck_assert_msg(status == PURE_MISUSE, "%s: %s", call, pure_status_name(status));
  ck_assert_msg(strncmp(e.message, want, strlen(want)) == 0, "%s\nsays  %s\nnot   %s", call,
                e.message, want);
  memset(&e, 0, sizeof e);
}
#define MISUSED(call, wrong) misused(call, #call, wrong)

START_TEST(handles) {
  pure_store *s;
  pure_session *q;
  pure_fill *f;
  open_all();
  MISUSED(pure_store_new(NULL, &s, &e), "program is NULL");
  MISUSED(pure_store_new((pure_program *)engine, &s, &e),
          "program is a pure_engine, not a pure_program");
  MISUSED(pure_fill_new((pure_store *)session, "log", &f, &e),
          "store is a pure_session, not a pure_store");
  MISUSED(pure_session_on((pure_snapshot *)store, &q, &e),
          "snapshot is a pure_store, not a pure_snapshot");
  MISUSED(pure_session_call(closed, "size", NULL, 0, NULL, &e), "session has been released");
  pure_value not_a_handle[8] = {{0}};
  MISUSED(pure_session_call((pure_session *)(void *)not_a_handle, "size", NULL, 0, NULL, &e),
          "session is no pure_session");
  close_all();
}
END_TEST

START_TEST(engines_and_programs) {
  pure_engine *x;
  pure_program *p;
  pure_counters *c;
  pure_value v;
  pure_engine_options no_size = {0}, no_jit = {.size = sizeof no_jit, .jit = (pure_jit)99};
  pure_jit_options tiers = {0};
  pure_engine_options no_tiers = {.size = sizeof no_tiers, .tiers = &tiers};
  pure_binding half = {"fn f(int): int", NULL, NULL}, whole = {"fn f(int): int", nothing, NULL};
  open_all();
  MISUSED(pure_value_parse(PURE_NOTHING, "1", 1, &v, &e), "type is no pure_type");
  MISUSED(pure_value_parse(PURE_INT, NULL, 1, &v, &e), "bytes is NULL");
  MISUSED(pure_value_parse(PURE_INT, "1", 1, NULL, &e), "out is NULL");
  MISUSED(pure_engine_new(NULL, NULL, &e), "out is NULL");
  MISUSED(pure_engine_new(&no_size, &x, &e), "options.size is not sizeof");
  MISUSED(pure_engine_new(&no_jit, &x, &e), "options.jit is no pure_jit");
  MISUSED(pure_engine_new(&no_tiers, &x, &e), "options.tiers->size is not sizeof");
  MISUSED(pure_counters_new(NULL, &c, &e), "engine is NULL");
  MISUSED(pure_counters_new(engine, NULL, &e), "out is NULL");
  MISUSED(pure_program_compile(NULL, "x", "", 0, NULL, NULL, &p, &e), "engine is NULL");
  MISUSED(pure_program_compile(engine, NULL, "", 0, NULL, NULL, &p, &e), "name is NULL");
  MISUSED(pure_program_compile(engine, "x", NULL, 5, NULL, NULL, &p, &e), "text is NULL");
  MISUSED(pure_program_compile(engine, "x", NULL, 0, NULL, NULL, NULL, &e), "out is NULL");
  MISUSED(pure_program_load(NULL, "x", "", 0, &p, &e), "engine is NULL");
  MISUSED(pure_program_load(engine, NULL, "", 0, &p, &e), "name is NULL");
  MISUSED(pure_program_load(engine, "x", NULL, 5, &p, &e), "bytes is NULL");
  MISUSED(pure_program_load(engine, "x", NULL, 0, NULL, &e), "out is NULL");
  MISUSED(pure_program_write(NULL, put, NULL, &e), "program is NULL");
  MISUSED(pure_program_write(program, NULL, NULL, &e), "write is NULL");
  MISUSED(pure_program_save(NULL, "x", &e), "program is NULL");
  MISUSED(pure_program_save(program, NULL, &e), "path is NULL");
  MISUSED(pure_program_disasm(NULL, NULL, put, NULL, &e), "program is NULL");
  MISUSED(pure_program_disasm(program, NULL, NULL, NULL, &e), "write is NULL");
  MISUSED(pure_bind(NULL, NULL, 0, &e), "program is NULL");
  MISUSED(pure_bind(program, NULL, 1, &e), "bindings is NULL");
  MISUSED(pure_bind(program, &whole, 1, &e), "functions are bound before");
  pure_program *fresh;
  host_fine(pure_program_compile(engine, "x", "", 0, NULL, NULL, &fresh, &e), &e);
  MISUSED(pure_bind(fresh, &half, 1, &e), "a binding needs a declaration and a function");
  pure_program_release(fresh);
  MISUSED(pure_bind_library(NULL, "x.so", &e), "program is NULL");
  MISUSED(pure_bind_library(program, NULL, &e), "path is NULL");
  close_all();
}
END_TEST

START_TEST(stores_and_sessions) {
  uint64_t digest;
  pure_snapshot *sn;
  pure_session *q;
  pure_result *r;
  const char *gap[] = {"1", NULL};
  open_all();
  MISUSED(pure_store_new(program, NULL, &e), "out is NULL");
  MISUSED(pure_store_digest(NULL, &digest, &e), "store is NULL");
  MISUSED(pure_store_digest(store, NULL, &e), "out is NULL");
  MISUSED(pure_store_save(NULL, "x", &e), "store is NULL");
  MISUSED(pure_store_save(store, NULL, &e), "path is NULL");
  MISUSED(pure_store_load(NULL, "x", &e), "store is NULL");
  MISUSED(pure_store_load(store, NULL, &e), "path is NULL");
  MISUSED(pure_store_load_bytes(NULL, "x", "", 0, &e), "store is NULL");
  MISUSED(pure_store_load_bytes(store, NULL, "", 0, &e), "name is NULL");
  MISUSED(pure_store_load_bytes(store, "x", NULL, 4, &e), "bytes is NULL");
  MISUSED(pure_snapshot_take(NULL, &sn, &e), "store is NULL");
  MISUSED(pure_snapshot_take(store, NULL, &e), "out is NULL");
  MISUSED(pure_snapshot_digest(NULL, &digest, &e), "snapshot is NULL");
  MISUSED(pure_snapshot_digest(snapshot, NULL, &e), "out is NULL");
  MISUSED(pure_snapshot_save(NULL, "x", &e), "snapshot is NULL");
  MISUSED(pure_snapshot_save(snapshot, NULL, &e), "path is NULL");
  MISUSED(pure_session_new(NULL, &q, &e), "store is NULL");
  MISUSED(pure_session_new(store, NULL, &e), "out is NULL");
  MISUSED(pure_session_on(NULL, &q, &e), "snapshot is NULL");
  MISUSED(pure_session_on(snapshot, NULL, &e), "out is NULL");
  MISUSED(pure_session_limit(NULL, &(pure_limits){0}, &e), "session is NULL");
  MISUSED(pure_session_limit(session, NULL, &e), "limits is NULL");
  MISUSED(pure_session_progress(NULL, 0, NULL, NULL, &e), "session is NULL");
  MISUSED(pure_session_call(session, NULL, NULL, 0, NULL, &e), "function is NULL");
  MISUSED(pure_session_call(session, "size", NULL, 1, NULL, &e), "arguments is NULL");
  MISUSED(pure_session_call(reader, "connect", NULL, 0, NULL, &e),
          "function: `connect` is an event");
  MISUSED(pure_session_call_texts(NULL, "size", NULL, 0, NULL, &e), "session is NULL");
  MISUSED(pure_session_call_texts(session, NULL, NULL, 0, NULL, &e), "function is NULL");
  MISUSED(pure_session_call_texts(session, "size", NULL, 1, NULL, &e), "arguments is NULL");
  MISUSED(pure_session_call_texts(session, "connect", gap, 2, NULL, &e), "arguments[1] is NULL");
  MISUSED(pure_session_list(NULL, "log", &r, &e), "session is NULL");
  MISUSED(pure_session_list(session, NULL, &r, &e), "list is NULL");
  MISUSED(pure_session_list(session, "log", NULL, &e), "out is NULL");
  close_all();
}
END_TEST

START_TEST(fills_and_imports) {
  pure_fill *f;
  pure_import *m;
  pure_import_options o = {.size = sizeof o}, no_size = {0};
  pure_import_options no_format = {.size = sizeof o, .format = (pure_format)99};
  const int64_t ints[] = {1};
  const pure_value row[] = {pure_int(1), pure_int(2)};
  struct ArrowSchema schema = {0};
  struct ArrowArray array = {0};
  struct ArrowArrayStream stream = {0};
  open_all();
  MISUSED(pure_fill_new(NULL, "log", &f, &e), "store is NULL");
  MISUSED(pure_fill_new(store, NULL, &f, &e), "list is NULL");
  MISUSED(pure_fill_new(store, "log", NULL, &e), "out is NULL");
  MISUSED(pure_fill_ints(NULL, 1, ints, 1, &e), "fill is NULL");
  MISUSED(pure_fill_ints(fill, 1, NULL, 1, &e), "values is NULL");
  MISUSED(pure_fill_ints(fill, 5, ints, 1, &e), "column: list `log` has no column 5");
  MISUSED(pure_fill_ints(fill, 0, ints, 1, &e), "column: `line` of list `log` is of type text");
  MISUSED(pure_fill_ints(over, 1, ints, 1, &e), "the fill is over");
  MISUSED(pure_fill_ints32(fill, 1, NULL, 1, &e), "values is NULL");
  MISUSED(pure_fill_reals(fill, 1, NULL, 1, &e), "values is NULL");
  MISUSED(pure_fill_bools(fill, 1, NULL, 1, &e), "values is NULL");
  MISUSED(pure_fill_dates(fill, 1, NULL, 1, &e), "values is NULL");
  MISUSED(pure_fill_texts(fill, 0, "", NULL, 1, &e), "offsets is NULL");
  MISUSED(pure_fill_row(NULL, row, 2, &e), "fill is NULL");
  MISUSED(pure_fill_row(fill, NULL, 2, &e), "values is NULL");
  MISUSED(pure_fill_row(fill, row, 1, &e), "n: list `log` has 2 columns, not 1");
  MISUSED(pure_fill_row(fill, row, 2, &e),
          "values[0]: column `line` of list `log` is of type text");
  MISUSED(pure_fill_arrow(NULL, &schema, &array, &e), "fill is NULL");
  MISUSED(pure_fill_arrow(fill, NULL, &array, &e), "schema is NULL");
  MISUSED(pure_fill_arrow(fill, &schema, NULL, &e), "array is NULL");
  MISUSED(pure_fill_arrow(fill, &schema, &array, &e), "schema or array was released");
  MISUSED(pure_fill_arrow_stream(NULL, &stream, &e), "fill is NULL");
  MISUSED(pure_fill_arrow_stream(fill, NULL, &e), "stream is NULL");
  MISUSED(pure_fill_arrow_stream(fill, &stream, &e), "stream was released");
  MISUSED(pure_fill_finish(NULL, PURE_DUPLICATE_ERROR, &e), "fill is NULL");
  MISUSED(pure_fill_finish(fill, (pure_duplicates)77, &e), "duplicates is no pure_duplicates");
  MISUSED(pure_fill_finish(over, PURE_DUPLICATE_ERROR, &e), "the fill is over");
  host_fine(pure_fill_ints(fill, 1, ints, 1, &e), &e);
  MISUSED(pure_fill_finish(fill, PURE_DUPLICATE_ERROR, &e), "fill: list `log` has 0 values");
  MISUSED(pure_import_new(NULL, "log", &o, &m, &e), "store is NULL");
  MISUSED(pure_import_new(store, NULL, &o, &m, &e), "list is NULL");
  MISUSED(pure_import_new(store, "log", &o, NULL, &e), "out is NULL");
  MISUSED(pure_import_new(store, "log", &no_size, &m, &e), "options->size is not sizeof");
  MISUSED(pure_import_new(store, "log", &no_format, &m, &e), "options: an unknown format");
  MISUSED(pure_import_feed(NULL, "", 0, &e), "import is NULL");
  MISUSED(pure_import_feed(import, NULL, 1, &e), "bytes is NULL");
  ck_assert_int_eq(pure_import_finish(import, &e), PURE_BAD_DATA); /* no header */
  MISUSED(pure_import_feed(import, "", 0, &e), "the import is over");
  MISUSED(pure_import_finish(import, &e), "the import is over");
  MISUSED(pure_import_finish(NULL, &e), "import is NULL");
  close_all();
}
END_TEST

START_TEST(results) {
  pure_column c;
  int64_t ints[2];
  double reals[2];
  bool more;
  struct ArrowSchema schema;
  struct ArrowArray array;
  struct ArrowArrayStream stream;
  open_all();
  MISUSED(pure_result_column(NULL, 0, &c, &e), "result is NULL");
  MISUSED(pure_result_column(rows, 2, &c, &e), "column: the result has no column 2");
  MISUSED(pure_result_column(rows, 0, NULL, &e), "out is NULL");
  MISUSED(pure_result_copy_ints(NULL, 0, 0, 1, ints, &e), "result is NULL");
  MISUSED(pure_result_copy_ints(rows, 9, 0, 1, ints, &e), "column: the result has no column 9");
  MISUSED(pure_result_copy_ints(rows, 0, 0, 2, ints, &e), "first or n: the result has 1 rows");
  MISUSED(pure_result_copy_ints(rows, 0, 0, 1, NULL, &e), "out is NULL");
  MISUSED(pure_result_copy_reals(NULL, 0, 0, 1, reals, &e), "result is NULL");
  MISUSED(pure_result_copy_reals(rows, 0, 0, 1, reals, &e), "column: 0 is of type int");
  MISUSED(pure_result_arrow(NULL, &schema, &array, &e), "result is NULL");
  MISUSED(pure_result_arrow(rows, NULL, &array, &e), "schema is NULL");
  MISUSED(pure_result_arrow(rows, &schema, NULL, &e), "array is NULL");
  MISUSED(pure_result_arrow(value, &schema, &array, &e), "result: only rows");
  MISUSED(pure_result_arrow_stream(NULL, &stream, &e), "result is NULL");
  MISUSED(pure_result_arrow_stream(rows, NULL, &e), "out is NULL");
  MISUSED(pure_result_write(NULL, PURE_FORMAT_CSV, put, NULL, &e), "result is NULL");
  MISUSED(pure_result_write(rows, PURE_FORMAT_CSV, NULL, NULL, &e), "write is NULL");
  MISUSED(pure_result_write(rows, PURE_FORMAT_EDGES, put, NULL, &e), "format: results are");
  MISUSED(pure_result_write_part(NULL, PURE_FORMAT_CSV, 1, put, NULL, &more, &e), "result is NULL");
  MISUSED(pure_result_write_part(rows, PURE_FORMAT_CSV, 0, put, NULL, &more, &e), "n is 0");
  MISUSED(pure_result_write_part(rows, PURE_FORMAT_CSV, 1, put, NULL, NULL, &e), "more is NULL");
  MISUSED(pure_result_write_part(rows, PURE_FORMAT_CSV, 1, NULL, NULL, &more, &e), "write is NULL");
  close_all();
}
END_TEST

int main(void) {
  const TTest *const tests[] = {handles, engines_and_programs, stores_and_sessions,
                                fills_and_imports, results};
  return HOST_RUN("misuse", tests);
}
