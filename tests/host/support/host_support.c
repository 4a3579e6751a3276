#include "host_support.h"

#include <stdarg.h>
#include <string.h>

const char host_program[] =
    "list edges (from: int, to: int) key (from, to)\n"
    "list people (name: text, id: int, born: date, member: bool, score: real) key (id)\n"
    "list log (line: text, n: int)\n"
    "\n"
    "query size(): int { return count(edges) }\n"
    "query all_edges(): (from: int, to: int) { return edges }\n"
    "query swapped(): (to: int, from: int) { for e in edges { emit (e.to, e.from) } }\n"
    "query all_people(): (name: text, id: int, born: date, member: bool, score: real) {\n"
    "  return people\n"
    "}\n"
    "query all_log(): (line: text, n: int) { return log }\n"
    "query seen(n: int): (x: int, twice: int) {\n"
    "  local s (x: int, twice: int) key (x)\n"
    "  for i in 1..n { put s ((i * 7919) % 1000003, i * 2) }\n"
    "  return s\n"
    "}\n"
    "query echo_int(x: int): int { return x }\n"
    "query echo_real(x: real): real { return x }\n"
    "query echo_bool(x: bool): bool { return x }\n"
    "query echo_text(x: text): text { return x }\n"
    "query echo_date(x: date): date { return x }\n"
    "query twice(x: text): text { return x + x }\n"
    "query divide(a: int, b: int): int { return a / b }\n"
    "query spin(): int {\n"
    "  var i = 0\n"
    "  while true {\n"
    "    i += 1\n"
    "    if i > 1000000 { i = 0 }\n"
    "  }\n"
    "  return i\n"
    "}\n"
    "query deep(n: int): int { return down(n) }\n"
    "fn down(n: int): int {\n"
    "  if n = 0 { return 0 }\n"
    "  return down(n - 1) + 1\n"
    "}\n"
    "event connect(a: int, b: int) { add edges (a, b) }\n"
    "event note(line: text, n: int) { add log (line, n) }\n"
    "event note_many(n: int) { for i in 1..n { add log (\"line \" + text(i), i) } }\n"
    "event half(n: int) {\n"
    "  for i in 1..n {\n"
    "    put edges (i, i)\n"
    "    add log (text(i), i)\n"
    "  }\n"
    "  fault \"half way\"\n"
    "}\n";

void host_fine(pure_status status, const pure_error *error) {
  ck_assert_msg(status == PURE_OK, "%s: %s", pure_status_name(status),
                error && status != PURE_OK ? error->message : "");
}

void host_refused(pure_status got, const pure_error *error, pure_status want, const char *part) {
  ck_assert_msg(got == want, "%s, not %s: %s", pure_status_name(got), pure_status_name(want),
                got == PURE_OK ? "" : error->message);
  ck_assert_int_eq(error->status, want);
  ck_assert_msg(strstr(error->message, part) != NULL, "\"%s\" is not in \"%s\"", part,
                error->message);
}

void host_open(host_world *w, const char *text) {
  pure_error e = {0};
  memset(w, 0, sizeof *w);
  if (!text)
    text = host_program;
  host_fine(pure_engine_new(NULL, &w->engine, &e), &e);
  host_fine(
      pure_program_compile(w->engine, "test.pure", text, strlen(text), NULL, NULL, &w->program, &e),
      &e);
  host_fine(pure_store_new(w->program, &w->store, &e), &e);
  host_fine(pure_session_new(w->store, &w->session, &e), &e);
}

void host_close(host_world *w) {
  pure_session_release(w->session);
  pure_store_release(w->store);
  pure_program_release(w->program);
  pure_engine_release(w->engine);
}

int64_t host_call(host_world *w, const char *name, ...) {
  const char *arguments[16];
  uint32_t n = 0;
  pure_error e = {0};
  pure_result *result;
  va_list list;
  va_start(list, name);
  while (n < 16 && (arguments[n] = va_arg(list, const char *)))
    n++;
  va_end(list);
  host_fine(pure_session_call_texts(w->session, name, arguments, n, &result, &e), &e);
  int64_t value = pure_result_value(result).as.i;
  bool is_value = pure_result_get_kind(result) == PURE_RESULT_VALUE;
  pure_result_release(result);
  return is_value ? value : 0;
}

uint64_t host_digest(pure_store *store) {
  uint64_t digest;
  pure_error e = {0};
  host_fine(pure_store_digest(store, &digest, &e), &e);
  return digest;
}

pure_status host_import(pure_store *store, const char *list, pure_format format, const char *text,
                        size_t length, size_t piece, pure_error *error) {
  pure_import_options options = {.size = sizeof options, .name = "data", .format = format};
  pure_import *import;
  pure_status status = pure_import_new(store, list, &options, &import, error);
  if (piece == 0)
    piece = length ? length : 1;
  for (size_t at = 0; at < length && status == PURE_OK; at += piece)
    status = pure_import_feed(import, text + at, length - at < piece ? length - at : piece, error);
  if (status == PURE_OK)
    status = pure_import_finish(import, error);
  pure_import_release(import);
  return status;
}

int host_run(const char *name, const TTest *const *tests, size_t n) {
  Suite *suite = suite_create(name);
  for (size_t i = 0; i < n; i++) {
    TCase *one = tcase_create(tests[i]->name);
    tcase_set_timeout(one, 300);
    tcase_add_test(one, tests[i]);
    suite_add_tcase(suite, one);
  }
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed != 0;
}
