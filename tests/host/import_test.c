/* CSV, TSV, edge lists, in pieces of every size. */
#include "support/host_support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char people[] = "\xef\xbb\xbfid,name,born,member,score\r\n"
                             "1,\"a, \"\"b\"\"\nc\",1998-09-02,true,1.5\r\n"
                             "\r\n"
                             "2,,2000-02-29,0,-2e-3\n"
                             "-3,plain \"q\" é,0001-01-01,1,123456789012345678\n"
                             "\"4\",\"\",\"9999-12-31\",\"false\",\"0.1\"";

static const char edges[] = "# comment\n 1 2 \n\n1\t3\r\n% more\n9223372036854775807 "
                            "-9223372036854775808\n 5 6";

/* The store's digest after an import in pieces. */
static uint64_t after_import(const char *list, pure_format format, const char *text, size_t piece) {
  host_world w;
  pure_error e = {0};
  host_open(&w, NULL);
  host_fine(host_import(w.store, list, format, text, strlen(text), piece, &e), &e);
  uint64_t digest = host_digest(w.store);
  host_close(&w);
  return digest;
}

START_TEST(pieces_of_every_size) {
  uint64_t csv = after_import("people", PURE_FORMAT_CSV, people, 0);
  uint64_t list = after_import("edges", PURE_FORMAT_EDGES, edges, 0);
  for (size_t piece = 1; piece < sizeof people; piece++)
    ck_assert_uint_eq(after_import("people", PURE_FORMAT_CSV, people, piece), csv);
  for (size_t piece = 1; piece < sizeof edges; piece++)
    ck_assert_uint_eq(after_import("edges", PURE_FORMAT_EDGES, edges, piece), list);
}
END_TEST

START_TEST(formats_mean_the_same) {
  uint64_t want = after_import("edges", PURE_FORMAT_CSV, "from,to\n1,2\n1,3\n4,5\n", 0);
  ck_assert_uint_eq(after_import("edges", PURE_FORMAT_CSV, "to,from\n2,1\n3,1\n5,4\n", 0), want);
  ck_assert_uint_eq(after_import("edges", PURE_FORMAT_TSV, "4\t5\n1\t3\n1\t2", 0), want);
  ck_assert_uint_eq(after_import("edges", PURE_FORMAT_EDGES, "4 5\n1 3\n1 2", 0), want);
  ck_assert_uint_eq(after_import("edges", PURE_FORMAT_ADJACENCY, "4 5\n7\n1 3 2\n", 0), want);
}
END_TEST

/* Where and what; the store is as it was. */
static void refused(const char *list, pure_format format, const char *text, size_t length,
                    uint32_t line, uint32_t column, const char *part) {
  for (size_t piece = 0; piece < 4; piece++) {
    host_world w;
    pure_error e = {0};
    host_open(&w, NULL);
    uint64_t before = host_digest(w.store);
    pure_status status = host_import(w.store, list, format, text, length, piece, &e);
    host_refused(status, &e, PURE_BAD_DATA, part);
    ck_assert_str_eq(e.file, "data");
    ck_assert_uint_eq(e.line, line);
    ck_assert_uint_eq(e.column, column);
    ck_assert_uint_eq(host_digest(w.store), before);
    host_close(&w);
  }
}

#define REFUSED(list, format, text, line, column, part)                                            \
  refused(list, format, text, sizeof(text) - 1, line, column, part)

START_TEST(errors_say_where) {
  REFUSED("edges", PURE_FORMAT_CSV, "from,to\n1,2\n3,abc\n", 3, 3, "column to: expected int");
  REFUSED("edges", PURE_FORMAT_CSV, "from,to\n1,2\n3,abc", 3, 3, "found \"abc\"");
  REFUSED("edges", PURE_FORMAT_CSV, "from,to\n1\n", 2, 2, "expected 2 fields, found 1");
  REFUSED("edges", PURE_FORMAT_CSV, "from,to\n1,2,3\n", 2, 5, "one more");
  REFUSED("edges", PURE_FORMAT_CSV, "from,too\n1,2\n", 1, 6, "did you mean to?");
  REFUSED("edges", PURE_FORMAT_CSV, "from\n1\n", 1, 1, "column to of list edges is missing");
  REFUSED("edges", PURE_FORMAT_CSV, "from,to,from\n", 1, 9, "twice");
  REFUSED("edges", PURE_FORMAT_CSV, "", 0, 0, "empty");
  REFUSED("edges", PURE_FORMAT_CSV, "\xef\xbb\xbf", 0, 0, "empty");
  REFUSED("edges", PURE_FORMAT_CSV, "1,2\n3,4\n1,2\n", 3, 0, "line 1");
  REFUSED("edges", PURE_FORMAT_CSV, "1,99999999999999999999\n", 1, 3, "64 bits");
  REFUSED("edges", PURE_FORMAT_EDGES, "#\n1 2\n3\n", 3, 2, "expected 2 values, found 1");
  REFUSED("edges", PURE_FORMAT_EDGES, "1 2 3\n", 1, 5, "one more");
  REFUSED("edges", PURE_FORMAT_EDGES, "1 2\n3 4\n\n3 4", 4, 0, "line 2");
  REFUSED("edges", PURE_FORMAT_ADJACENCY, "1 2 3\n4 x\n", 2, 3, "found \"x\"");
  REFUSED("edges", PURE_FORMAT_ADJACENCY, "1 2 3\n4 5 4 5\n", 2, 0, "line 2");
  REFUSED("log", PURE_FORMAT_CSV, "a\0b,1\n", 1, 1, "NUL");
  REFUSED("log", PURE_FORMAT_CSV, "line,n\nok,1\n\xc3(,2\n", 3, 1, "byte offset 12");
  REFUSED("log", PURE_FORMAT_CSV, "line,n\n\"a\n\n\xff\",2\n", 2, 1, "byte offset 11");
  REFUSED("log", PURE_FORMAT_CSV, "line,n\nx,1\n\"open,2\n", 3, 1, "never closed");
  REFUSED("log", PURE_FORMAT_CSV, "line,n\n\"a\nb\" ,2\n", 3, 3, "after the closing quote");
  REFUSED("log", PURE_FORMAT_CSV, "line,n\n\"two\nlines\",x\n", 3, 8, "expected int");
}
END_TEST

START_TEST(numbers_are_exact) {
  static const char *const reals[] = {
      "0.1",    "123456789.123456",          "0.000001", "9007199254740993",
      "1e-320", "179769313486231570000e288", "5",        "-7.25"};
  static const char program[] = "list r (id: int, x: real) key (id)\n"
                                "query all(): (id: int, x: real) { return r }\n";
  char text[1024] = "";
  host_world w;
  pure_error e = {0};
  host_open(&w, program);
  for (int i = 0; i < 8; i++)
    snprintf(text + strlen(text), sizeof text - strlen(text), "%d,%s\n", i, reals[i]);
  host_fine(host_import(w.store, "r", PURE_FORMAT_CSV, text, strlen(text), 0, &e), &e);
  pure_result *r;
  host_fine(pure_session_call(w.session, "all", NULL, 0, &r, &e), &e);
  for (int i = 0; i < 8; i++) {
    ck_assert(pure_result_next(r));
    ck_assert(pure_result_get(r, 1).as.r == strtod(reals[i], NULL));
  }
  pure_result_release(r);
  host_close(&w);
}
END_TEST

START_TEST(options) {
  host_world w;
  pure_error e = {0};
  pure_import *import;
  host_open(&w, NULL);
  pure_import_options o = {.size = 1};
  host_refused(pure_import_new(w.store, "edges", &o, &import, &e), &e, PURE_MISUSE, "size");
  o = (pure_import_options){.size = sizeof o, .format = PURE_FORMAT_JSON};
  host_refused(pure_import_new(w.store, "edges", &o, &import, &e), &e, PURE_MISUSE, "unknown");
  o = (pure_import_options){
      .size = sizeof o, .format = PURE_FORMAT_EDGES, .header = PURE_HEADER_YES};
  host_refused(pure_import_new(w.store, "edges", &o, &import, &e), &e, PURE_BAD_ARGUMENT, "header");
  o = (pure_import_options){.size = sizeof o, .format = PURE_FORMAT_ADJACENCY};
  host_refused(pure_import_new(w.store, "people", &o, &import, &e), &e, PURE_BAD_ARGUMENT,
               "two columns");
  host_refused(pure_import_new(w.store, "edge", &o, &import, &e), &e, PURE_NOT_FOUND, "edges");
  ck_assert_ptr_null(import);
  o = (pure_import_options){.size = sizeof o, .duplicates = PURE_DUPLICATE_LAST};
  host_fine(pure_import_new(w.store, "edges", &o, &import, &e), &e);
  host_fine(pure_import_feed(import, "1,2\n1,2\n", 8, &e), &e);
  ck_assert_uint_eq(pure_import_rows(import), 2);
  host_fine(pure_import_finish(import, &e), &e);
  host_refused(pure_import_feed(import, "3,4\n", 4, &e), &e, PURE_MISUSE, "over");
  host_refused(pure_import_finish(import, &e), &e, PURE_MISUSE, "over");
  pure_import_release(import);
  pure_import_release(NULL);
  ck_assert_int_eq(host_call(&w, "size", NULL), 1);
  /* The defaults: CSV, with a header where there is one, no duplicates. */
  host_fine(pure_import_new(w.store, "edges", NULL, &import, &e), &e);
  host_fine(pure_import_feed(import, "to,from\n7,6\n", 12, &e), &e);
  host_fine(pure_import_finish(import, &e), &e);
  pure_import_release(import);
  ck_assert_int_eq(host_call(&w, "size", NULL), 2);
  host_close(&w);
}
END_TEST

/* Several files into one list, one after the other and at once. */
START_TEST(many_imports) {
  host_world w;
  pure_error e = {0};
  pure_import *one, *two;
  pure_import_options o = {.size = sizeof o, .format = PURE_FORMAT_EDGES};
  host_open(&w, NULL);
  host_fine(host_import(w.store, "edges", PURE_FORMAT_EDGES, "1 1\n", 4, 0, &e), &e);
  host_fine(pure_import_new(w.store, "edges", &o, &one, &e), &e);
  host_fine(pure_import_new(w.store, "edges", &o, &two, &e), &e);
  for (int i = 2; i < 20000; i++) {
    char line[32];
    int n = snprintf(line, sizeof line, "%d %d\n", i, i);
    host_fine(pure_import_feed(i % 2 ? one : two, line, (size_t)n, &e), &e);
  }
  host_fine(pure_import_finish(two, &e), &e);
  host_fine(pure_import_finish(one, &e), &e);
  pure_import_release(one);
  pure_import_release(two);
  ck_assert_int_eq(host_call(&w, "size", NULL), 19999);
  host_refused(host_import(w.store, "edges", PURE_FORMAT_EDGES, "0 0\n7 7", 7, 0, &e), &e,
               PURE_BAD_DATA, "already");
  ck_assert_int_eq(host_call(&w, "size", NULL), 19999);
  host_close(&w);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {
      pieces_of_every_size, formats_mean_the_same, errors_say_where, numbers_are_exact, options,
      many_imports};
  return HOST_RUN("import", tests);
}
