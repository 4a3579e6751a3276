/* Calls: arguments, results, faults, limits, cancel. */
#include "support/host_support.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static pure_result *call(host_world *w, const char *name, const pure_value *values, uint32_t n) {
  pure_result *result;
  pure_error e = {0};
  host_fine(pure_session_call(w->session, name, values, n, &result, &e), &e);
  return result;
}

static pure_value echo(host_world *w, const char *name, pure_value v, pure_result **result) {
  *result = call(w, name, &v, 1);
  ck_assert_int_eq(pure_result_get_kind(*result), PURE_RESULT_VALUE);
  return pure_result_value(*result);
}

START_TEST(every_type_in_and_out) {
  host_world w;
  pure_result *r;
  host_open(&w, NULL);
  ck_assert_int_eq(echo(&w, "echo_int", pure_int(INT64_MIN), &r).as.i, INT64_MIN);
  pure_result_release(r);
  ck_assert(isnan(echo(&w, "echo_real", pure_real(NAN), &r).as.r));
  pure_result_release(r);
  ck_assert_int_eq(echo(&w, "echo_bool", pure_bool(true), &r).as.i, 1);
  pure_result_release(r);
  ck_assert_int_eq(echo(&w, "echo_date", pure_date(PURE_DATE_MAX), &r).as.i, PURE_DATE_MAX);
  pure_result_release(r);
  pure_value text = echo(&w, "twice", pure_text("añb", 4), &r);
  ck_assert_int_eq(text.type, PURE_TEXT);
  ck_assert_uint_eq(text.length, 8);
  ck_assert_int_eq(memcmp(text.as.t, "añbañb", 8), 0);
  pure_result_release(r);
  text = echo(&w, "echo_text", pure_text(NULL, 0), &r);
  ck_assert_uint_eq(text.length, 0);
  pure_result_release(r);
  host_close(&w);
}
END_TEST

START_TEST(arguments_as_texts) {
  host_world w;
  host_open(&w, NULL);
  ck_assert_int_eq(host_call(&w, "divide", "-84", "2", NULL), -42);
  ck_assert_int_eq(host_call(&w, "echo_date", "1970-01-01", NULL), PURE_DATE_UNIX);
  ck_assert_int_eq(host_call(&w, "echo_bool", "false", NULL), 0);
  host_close(&w);
}
END_TEST

START_TEST(wrong_arguments) {
  static const char *const words[] = {"1", "two"}, *const none[] = {"1", NULL};
  host_world w;
  pure_error e = {0};
  pure_result *r = (pure_result *)1;
  pure_value v[2] = {pure_int(1), pure_real(2)};
  host_open(&w, NULL);
  host_refused(pure_session_call(w.session, "divide", v, 2, &r, &e), &e, PURE_BAD_ARGUMENT,
               "argument 2 of query `divide`, b: expected int, got real");
  ck_assert_ptr_null(r);
  host_refused(pure_session_call(w.session, "divide", v, 1, &r, &e), &e, PURE_BAD_ARGUMENT,
               "takes 2 arguments, not 1");
  host_refused(pure_session_call_texts(w.session, "divide", words, 2, &r, &e), &e,
               PURE_BAD_ARGUMENT, "argument 2 of query `divide`, b: expected int, found \"two\"");
  host_refused(pure_session_call_texts(w.session, "divide", none, 2, &r, &e), &e, PURE_MISUSE,
               "NULL");
  host_refused(pure_session_call(w.session, "divied", v, 2, &r, &e), &e, PURE_NOT_FOUND,
               "`divide`");
  host_refused(pure_session_call(w.session, "down", v, 1, &r, &e), &e, PURE_NOT_FOUND, "down");
  v[0] = pure_text("\xc3", 1);
  host_refused(pure_session_call(w.session, "echo_text", v, 1, &r, &e), &e, PURE_BAD_ARGUMENT,
               "UTF-8");
  v[0] = pure_text("a\0b", 3);
  host_refused(pure_session_call(w.session, "echo_text", v, 1, &r, &e), &e, PURE_BAD_ARGUMENT,
               "NUL");
  host_refused(pure_value_parse(PURE_TEXT, "a\0b", 3, &v[0], &e), &e, PURE_BAD_ARGUMENT, "NUL");
  v[0] = pure_date(-1);
  host_refused(pure_session_call(w.session, "echo_date", v, 1, &r, &e), &e, PURE_BAD_ARGUMENT,
               "calendar");
  v[0] = (pure_value){.type = PURE_NOTHING};
  host_refused(pure_session_call(w.session, "echo_int", v, 1, &r, &e), &e, PURE_BAD_ARGUMENT,
               "nothing");
  host_refused(pure_session_call(NULL, "echo_int", v, 1, &r, &e), &e, PURE_MISUSE, "NULL");
  ck_assert_int_eq(pure_session_call(w.session, "echo_int", v, 1, NULL, NULL), PURE_BAD_ARGUMENT);
  host_close(&w);
}
END_TEST

START_TEST(values_as_texts) {
  static const struct {
    pure_type type;
    const char *in, *out; /* out NULL: refused */
  } cases[] = {{PURE_INT, "-0", "0"},
               {PURE_INT, "9223372036854775807", "9223372036854775807"},
               {PURE_INT, "9223372036854775808", NULL},
               {PURE_INT, "+1", NULL},
               {PURE_INT, "", NULL},
               {PURE_INT, "1 ", NULL},
               {PURE_REAL, "0.1", "0.1"},
               {PURE_REAL, "1e3", "1000.0"},
               {PURE_REAL, "-inf", "-inf"},
               {PURE_REAL, ".5", NULL},
               {PURE_REAL, "1e999", NULL},
               {PURE_BOOL, "1", "true"},
               {PURE_BOOL, "True", NULL},
               {PURE_DATE, "2024-02-29", "2024-02-29"},
               {PURE_DATE, "2023-02-29", NULL},
               {PURE_TEXT, "é", "é"},
               {PURE_TEXT, "\xff", NULL}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    pure_value v;
    pure_error e = {0};
    char out[PURE_VALUE_CHARS];
    pure_status status = pure_value_parse(cases[i].type, cases[i].in, strlen(cases[i].in), &v, &e);
    ck_assert_msg((status == PURE_OK) == (cases[i].out != NULL), "%s", cases[i].in);
    if (status != PURE_OK) {
      host_refused(status, &e, PURE_BAD_ARGUMENT, pure_type_name(cases[i].type));
      continue;
    }
    ck_assert_uint_eq(pure_value_format(&v, out, sizeof out), strlen(cases[i].out));
    ck_assert_str_eq(out, cases[i].out);
  }
  pure_value text = pure_text("abcdef", 6);
  char small[4];
  ck_assert_uint_eq(pure_value_format(&text, small, sizeof small), 6);
  ck_assert_str_eq(small, "abc");
}
END_TEST

START_TEST(rows_in_key_order) {
  host_world w;
  pure_error e = {0};
  host_open(&w, NULL);
  pure_value n = pure_int(20000);
  pure_result *r = call(&w, "seen", &n, 1);
  ck_assert_uint_eq(pure_result_rows(r), 20000);
  ck_assert_uint_eq(pure_result_columns(r), 2);
  int64_t last = -1, sum = 0;
  uint64_t rows = 0;
  while (pure_result_next(r)) {
    ck_assert_int_gt(pure_result_get(r, 0).as.i, last);
    last = pure_result_get(r, 0).as.i;
    sum += pure_result_get(r, 1).as.i;
    rows++;
  }
  ck_assert_uint_eq(rows, 20000);
  ck_assert_int_eq(sum, INT64_C(20000) * 20001);
  ck_assert_int_eq(pure_result_get(r, 0).type, PURE_NOTHING); /* past the end */
  /* The same as columns, in place and copied. */
  pure_column c;
  host_fine(pure_result_column(r, 0, &c, &e), &e);
  ck_assert_uint_eq(c.rows, 20000);
  int64_t *copy = malloc(20000 * sizeof *copy);
  host_fine(pure_result_copy_ints(r, 0, 0, 20000, copy, &e), &e);
  pure_result_rewind(r);
  for (uint64_t i = 0; pure_result_next(r); i++) {
    int64_t want = pure_result_get(r, 0).as.i, got = 0;
    memcpy(&got, (const char *)c.cells + i * c.width, c.width); /* little-endian machines */
    ck_assert_int_eq(copy[i], want);
    ck_assert_int_eq(got, want);
  }
  host_refused(pure_result_copy_ints(r, 0, 19999, 2, copy, &e), &e, PURE_MISUSE, "20000 rows");
  host_refused(pure_result_copy_reals(r, 0, 0, 1, (double *)copy, &e), &e, PURE_MISUSE, "int");
  host_refused(pure_result_column(r, 2, &c, &e), &e, PURE_MISUSE, "no column 2");
  free(copy);
  pure_result_release(r);
  host_close(&w);
}
END_TEST

START_TEST(columns_by_declaration) {
  host_world w;
  pure_column_info info;
  host_open(&w, NULL);
  host_call(&w, "connect", "1", "7", NULL);
  pure_result *r = call(&w, "swapped", NULL, 0);
  ck_assert_int_eq(pure_result_column_info(r, 0, &info), PURE_OK);
  ck_assert_str_eq(info.name, "to");
  ck_assert(pure_result_next(r));
  ck_assert_int_eq(pure_result_get(r, 0).as.i, 7);
  ck_assert_int_eq(pure_result_get(r, 1).as.i, 1);
  ck_assert_int_eq(pure_result_get(r, 2).type, PURE_NOTHING);
  pure_result_release(r);
  host_close(&w);
}
END_TEST

/* A result that shares a stored list's rows is as it was, whatever happens to the list by another
 * session; the next call of its own session ends it. */
START_TEST(results_of_stored_lists) {
  host_world w;
  pure_error e = {0};
  pure_column c;
  pure_session *other;
  host_open(&w, NULL);
  host_fine(pure_session_new(w.store, &other, &e), &e);
  host_call(&w, "note_many", "300", NULL);
  host_call(&w, "connect", "1", "2", NULL);
  pure_result *log = call(&w, "all_log", NULL, 0);
  pure_value arguments[] = {pure_text("later", 5), pure_int(301)};
  host_fine(pure_session_call(other, "note", arguments, 2, NULL, &e), &e);
  ck_assert_uint_eq(pure_result_rows(log), 300);
  host_fine(pure_result_column(log, 0, &c, &e), &e);
  uint64_t id = 0;
  memcpy(&id, (const char *)c.cells + 299 * c.width, c.width);
  pure_value text = pure_result_text(log, id);
  ck_assert_uint_eq(text.length, 8);
  ck_assert_int_eq(memcmp(text.as.t, "line 300", 8), 0);
  ck_assert_int_eq(pure_result_text(log, UINT64_MAX).type, PURE_NOTHING);
  ck_assert_int_eq(host_call(&w, "size", NULL), 1);
  ck_assert(!pure_result_next(log));
  ck_assert_uint_eq(pure_result_rows(log), 0);
  host_refused(pure_result_column(log, 0, &c, &e), &e, PURE_STALE, "called again");
  pure_result_release(log);
  pure_session_release(other);
  host_close(&w);
}
END_TEST

START_TEST(results_outlive_handles) {
  host_world w;
  host_open(&w, NULL);
  host_call(&w, "note_many", "3", NULL);
  pure_result *r = call(&w, "all_log", NULL, 0);
  host_close(&w);
  ck_assert(pure_result_next(r));
  ck_assert_uint_eq(pure_result_get(r, 0).length, 6);
  pure_result_release(r);
  pure_result_release(NULL);
}
END_TEST

static void refused_fault(host_world *w, const char *name, const char *argument, const char *second,
                          pure_fault fault) {
  const char *words[] = {argument, second};
  pure_error e = {0};
  pure_result *r;
  uint32_t n = second ? 2 : argument ? 1 : 0;
  uint64_t before = host_digest(w->store);
  ck_assert_int_eq(pure_session_call_texts(w->session, name, words, n, &r, &e), PURE_FAULT);
  ck_assert_int_eq(e.fault, fault);
  ck_assert_str_eq(e.file, "test.pure");
  ck_assert_uint_gt(e.line, 0);
  ck_assert_ptr_null(r);
  ck_assert_uint_eq(host_digest(w->store), before);
}

START_TEST(faults_roll_back) {
  host_world w;
  host_open(&w, NULL);
  host_call(&w, "connect", "1", "2", NULL);
  host_call(&w, "note_many", "10", NULL);
  refused_fault(&w, "connect", "1", "2", PURE_FAULT_DUPLICATE);
  refused_fault(&w, "half", "500", NULL, PURE_FAULT_RAISED);
  refused_fault(&w, "divide", "1", "0", PURE_FAULT_DIV_ZERO);
  refused_fault(&w, "divide", "-9223372036854775808", "-1", PURE_FAULT_OVERFLOW);
  ck_assert_uint_gt(pure_session_work(w.session), 0);
  host_close(&w);
}
END_TEST

START_TEST(limits) {
  host_world w;
  pure_error e = {0};
  host_open(&w, NULL);
  pure_limits work = {.work = 10000}, memory = {.memory = 5000}, depth = {.depth = 20};
  host_fine(pure_session_limit(w.session, &work, &e), &e);
  refused_fault(&w, "spin", NULL, NULL, PURE_FAULT_WORK);
  uint64_t spent = pure_session_work(w.session);
  refused_fault(&w, "spin", NULL, NULL, PURE_FAULT_WORK);
  ck_assert_uint_eq(pure_session_work(w.session), spent);
  host_fine(pure_session_limit(w.session, &memory, &e), &e);
  refused_fault(&w, "note_many", "1000", NULL, PURE_FAULT_MEMORY);
  refused_fault(&w, "seen", "1000", NULL, PURE_FAULT_MEMORY);
  host_fine(pure_session_limit(w.session, &depth, &e), &e);
  refused_fault(&w, "deep", "30", NULL, PURE_FAULT_DEPTH);
  host_fine(pure_session_limit(w.session, &(pure_limits){0}, &e), &e);
  ck_assert_int_eq(host_call(&w, "deep", "30", NULL), 30);
  host_close(&w);
}
END_TEST

/* A local list that is cleared is as new, but what it was charged must not be lent to the next
 * call, whether that has a limit or none. */
START_TEST(cleared_lists_lend_nothing) {
  host_world w;
  pure_error e = {0};
  host_open(&w, "query fill(n: int): int {\n"
                "  local l (a: int) key (a)\n"
                "  for i in 1..n { put l (i) }\n"
                "  let rows = count(l)\n"
                "  clear l\n"
                "  clear l\n"
                "  return rows\n"
                "}\n");
  pure_limits limit = {.memory = 100000}; /* 4096 rows of 24 bytes, not 8192 */
  for (int i = 0; i < 3; i++)
    ck_assert_int_eq(host_call(&w, "fill", "3000", NULL), 3000);
  host_fine(pure_session_limit(w.session, &limit, &e), &e);
  for (int i = 0; i < 3; i++) {
    ck_assert_int_eq(host_call(&w, "fill", "4000", NULL), 4000);
    refused_fault(&w, "fill", "5000", NULL, PURE_FAULT_MEMORY);
  }
  host_close(&w);
}
END_TEST

static void *cancel_soon(void *session) {
  struct timespec pause = {0, 50000000};
  nanosleep(&pause, NULL);
  pure_session_cancel(session);
  return NULL;
}

START_TEST(cancel) {
  host_world w;
  pthread_t thread;
  host_open(&w, NULL);
  ck_assert_int_eq(pthread_create(&thread, NULL, cancel_soon, w.session), 0);
  refused_fault(&w, "spin", NULL, NULL, PURE_FAULT_CANCELLED);
  pthread_join(thread, NULL);
  ck_assert_int_eq(host_call(&w, "size", NULL), 0); /* used up */
  pure_session_cancel(w.session);
  refused_fault(&w, "half", "5", NULL, PURE_FAULT_CANCELLED); /* the next one */
  pure_session_cancel(w.session);
  pure_session_resume(w.session);
  ck_assert_int_eq(host_call(&w, "deep", "3", NULL), 3);
  host_close(&w);
}
END_TEST

static void *spin(void *session) {
  pure_error *e = calloc(1, sizeof *e);
  while (pure_session_call(session, "spin", NULL, 0, NULL, e) == PURE_BUSY)
    ;
  return e;
}

/* Whoever comes second is told so, on the session and on the store. */
START_TEST(busy) {
  host_world w;
  pure_error e = {0};
  pure_session *other;
  pthread_t thread;
  void *end;
  uint64_t digest;
  host_open(&w, NULL);
  host_fine(pure_session_new(w.store, &other, &e), &e);
  ck_assert_int_eq(pthread_create(&thread, NULL, spin, w.session), 0);
  while (pure_session_call(w.session, "size", NULL, 0, NULL, &e) == PURE_OK)
    ;
  host_refused(e.status, &e, PURE_BUSY, "pure_session_call: the session is in use");
  host_refused(pure_session_call(other, "size", NULL, 0, NULL, &e), &e, PURE_BUSY,
               "pure_session_call: the store is in use");
  host_refused(pure_store_digest(w.store, &digest, &e), &e, PURE_BUSY,
               "pure_store_digest: the store is in use");
  pure_session_cancel(w.session);
  pthread_join(thread, &end);
  ck_assert_int_eq(((pure_error *)end)->fault, PURE_FAULT_CANCELLED);
  free(end);
  host_fine(pure_session_call(other, "size", NULL, 0, NULL, &e), &e);
  pure_session_release(other);
  host_close(&w);
}
END_TEST

START_TEST(statistics) {
  host_world w;
  host_open(&w, NULL);
  host_call(&w, "note_many", "300", NULL);
  pure_loop_stats loop = {.size = sizeof loop};
  ck_assert_int_eq(pure_session_loop_stats(w.session, 0, &loop), PURE_OK);
  ck_assert_str_eq(loop.function, "note_many");
  ck_assert_str_eq(loop.tier, "interpreter");
  ck_assert_uint_eq(loop.entries, 1);
  ck_assert_uint_ge(loop.headers, 300);
  ck_assert_int_eq(pure_session_loop_stats(w.session, 1, &loop), PURE_NOT_FOUND);
  loop.size = offsetof(pure_loop_stats, entries); /* of an older header: the rest is left alone */
  loop.entries = 77;
  loop.line = 0;
  ck_assert_int_eq(pure_session_loop_stats(w.session, 0, &loop), PURE_OK);
  ck_assert_uint_gt(loop.line, 0);
  ck_assert_uint_eq(loop.entries, 77);
  ck_assert_uint_eq(loop.size, offsetof(pure_loop_stats, entries));
  loop.size = 1;
  ck_assert_int_eq(pure_session_loop_stats(w.session, 0, &loop), PURE_MISUSE);
  pure_list_stats list = {.size = sizeof list};
  ck_assert_int_eq(pure_store_list_stats(w.store, 2, &list), PURE_OK);
  ck_assert_str_eq(list.name, "log");
  ck_assert_str_eq(list.layout, "flat");
  ck_assert_uint_eq(list.rows, 300);
  ck_assert_str_eq(list.widths, "2,2");
  ck_assert_uint_eq(list.narrow_bytes, 1200);
  ck_assert_uint_ge(list.bytes, 1200);
  ck_assert_int_eq(pure_store_list_stats(w.store, 3, &list), PURE_NOT_FOUND);
  host_close(&w);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {every_type_in_and_out,
                                arguments_as_texts,
                                wrong_arguments,
                                values_as_texts,
                                rows_in_key_order,
                                columns_by_declaration,
                                results_of_stored_lists,
                                results_outlive_handles,
                                faults_roll_back,
                                limits,
                                cleared_lists_lend_nothing,
                                cancel,
                                busy,
                                statistics};
  return HOST_RUN("call", tests);
}
