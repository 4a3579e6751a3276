/* What lang_compile promises of errors and of what it refuses: order, number, places, limits,
 * memory. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "tests/lang/support/compile.h"

static ls_mem *mem;

static void setup(void) {
  mem = ls_mem_new(NULL);
  ck_assert_ptr_nonnull(mem);
}

static void teardown(void) {
  ls_mem_stats stats;
  ls_mem_read_stats(mem, &stats);
  ck_assert_uint_eq(stats.live_bytes, 0);
  ls_mem_delete(mem);
}

/* The program has one error, at this place, and its message contains this. */
static void expect_one(const char *text, uint32_t line, uint32_t column, const char *part) {
  compiled c = compile(mem, text);
  ck_assert_uint_eq(c.nerrors, 1);
  ck_assert_msg(strstr(c.errors[0].message, part) != NULL, "%s", c.errors[0].message);
  ck_assert_uint_eq(c.errors[0].line, line);
  ck_assert_uint_eq(c.errors[0].column, column);
}

START_TEST(nothing_is_a_program) {
  vm_module *m = compile_fine(mem, "");
  ck_assert_uint_eq(m->nfns, 0);
  vm_module_release(m);
  m = compile_fine(mem, "\xef\xbb\xbf-- only a comment");
  vm_module_release(m);
}
END_TEST

START_TEST(nobody_need_listen) {
  vm_module *m;
  ck_assert_int_eq(lang_compile(mem, "test", "query", 5, &m, NULL, NULL), LS_UNSUITABLE);
  ck_assert_ptr_null(m);
}
END_TEST

START_TEST(columns_count_characters) {
  expect_one("query f: text {\n  return \"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\" + 1\n}\n", 2, 16,
             "`+`");
  expect_one("query f: int { return x }", 1, 23, "no value `x`");
  expect_one("query f: text {\n  return \"\xff\"\n}\n", 2, 11, "not UTF-8");
}
END_TEST

START_TEST(errors_come_in_the_order_of_the_text) {
  compiled c = compile(mem, "query f: int { return g() }\n"
                            "fn g(): int { return x }\n"
                            "list l (a: int, a: int)\n"
                            "query h: int { return k() + \"x\" }\n"
                            "event k { }\n");
  ck_assert_uint_ge(c.nerrors, 3);
  for (unsigned i = 1; i < c.nerrors; i++)
    ck_assert(
        c.errors[i].line > c.errors[i - 1].line ||
        (c.errors[i].line == c.errors[i - 1].line && c.errors[i].column > c.errors[i - 1].column));
}
END_TEST

START_TEST(there_are_at_most_twenty) {
  text_buffer t = {0};
  for (int i = 0; i < 100; i++)
    text_add(&t, "query q%d: int { return \"x\" }\n", i);
  compiled c = compile(mem, t.at);
  ck_assert_uint_eq(c.nerrors, LANG_MAX_ERRORS);
  ck_assert_uint_eq(c.errors[0].line, 1);
  ck_assert_uint_eq(c.errors[19].line, 20);
  text_free(&t);
}
END_TEST

START_TEST(a_message_may_have_too_little_room) {
  static const char text[] = "query f: int {\n\treturn yy\n}\n";
  lang_error e = {2, 9, 2, "there is no value `yy`", "did you mean `y`?"};
  char full[256], part[256];
  size_t n = lang_format_error("a.pure", text, strlen(text), &e, full, sizeof full);
  ck_assert_str_eq(full, "a.pure:2:9: there is no value `yy`\n"
                         "   return yy\n"
                         "          ^~\n"
                         "  did you mean `y`?\n");
  ck_assert_uint_eq(n, strlen(full));
  ck_assert_uint_eq(lang_format_error("a.pure", text, strlen(text), &e, NULL, 0), n);
  for (size_t room = 1; room <= n + 1; room++) {
    memset(part, 'x', sizeof part);
    ck_assert_uint_eq(lang_format_error("a.pure", text, strlen(text), &e, part, room), n);
    ck_assert_uint_eq(strlen(part), room - 1);
    ck_assert_int_eq(strncmp(part, full, room - 1), 0);
    ck_assert_int_eq(part[room], 'x');
  }
}
END_TEST

START_TEST(a_place_outside_of_the_text_is_shown_as_well_as_can_be) {
  lang_error e = {99, 500, 3, "far away", ""};
  char out[512];
  size_t n = lang_format_error("a.pure", "one line", 8, &e, out, sizeof out);
  ck_assert_uint_eq(n, strlen(out));
  ck_assert_ptr_nonnull(strstr(out, "a.pure:99:500: far away\n"));
}
END_TEST

/* ---- limits */

START_TEST(a_hundred_thousand_parentheses) {
  text_buffer t = {0};
  text_add(&t, "query f: int { return ");
  for (int i = 0; i < 100000; i++)
    text_add(&t, "(");
  compiled c = compile(mem, t.at);
  ck_assert_uint_eq(c.nerrors, 1);
  ck_assert_ptr_nonnull(strstr(c.errors[0].message, "too deep"));
  for (int i = 0; i < 100000; i++)
    text_add(&t, ")");
  text_add(&t, "}\n");
  c = compile(mem, t.at);
  ck_assert_uint_eq(c.nerrors, 1);
  text_free(&t);
}
END_TEST

START_TEST(depth_is_counted_for_every_construct) {
  static const char *const openings[] = {"not ", "- ",      "if true then 1 else ", "f(", "l[",
                                         "(1, ", "count(l["};
  for (size_t k = 0; k < sizeof openings / sizeof *openings; k++) {
    text_buffer t = {0};
    text_add(&t, "query f: int { return ");
    for (int i = 0; i < 5000; i++)
      text_add(&t, "%s", openings[k]);
    compiled c = compile(mem, t.at);
    ck_assert_uint_eq(c.nerrors, 1);
    ck_assert_msg(strstr(c.errors[0].message, "too deep") != NULL, "%s", openings[k]);
    text_free(&t);
  }
}
END_TEST

START_TEST(chains_have_a_height) {
  static const char *const links[] = {" + 1", " and true", "[1]", ".x"};
  for (size_t k = 0; k < sizeof links / sizeof *links; k++) {
    text_buffer t = {0};
    text_add(&t, "query f: int { return x");
    for (int i = 0; i < 100000; i++)
      text_add(&t, "%s", links[k]);
    compiled c = compile(mem, t.at);
    ck_assert_uint_eq(c.nerrors, 1);
    ck_assert_msg(strstr(c.errors[0].message, "too long") != NULL, "%s", links[k]);
    text_free(&t);
  }
}
END_TEST

START_TEST(what_is_not_too_deep_compiles) {
  text_buffer t = {0};
  text_add(&t, "query f(x: int): int {\n  var y = x");
  for (int i = 0; i < 900; i++)
    text_add(&t, " + x");
  text_add(&t, "\n");
  for (int i = 0; i < 90; i++)
    text_add(&t, "if x > %d {\nfor i%d in 1..x {\n", i, i);
  text_add(&t, "y += 1\n");
  for (int i = 0; i < 90; i++)
    text_add(&t, "}\n}\n");
  text_add(&t, "  if x = 0 { y = 1 }");
  for (int i = 1; i < 3000; i++)
    text_add(&t, " else if x = %d { y = %d }", i, i);
  text_add(&t, "\n  return y\n}\n");
  vm_module_release(compile_fine(mem, t.at));
  text_free(&t);
}
END_TEST

static void expect_too_large(text_buffer *t, const char *part) {
  compiled c = compile(mem, t->at);
  ck_assert_uint_eq(c.nerrors, 1);
  ck_assert_msg(strstr(c.errors[0].message, part) != NULL, "%s", c.errors[0].message);
  ck_assert_uint_eq(c.errors[0].line, 1);
  text_free(t);
}

START_TEST(functions_have_limits) {
  text_buffer t = {0};
  text_add(&t, "query f(n: int): int {\n  var a = n\n");
  for (int i = 0; i < 33000; i++)
    text_add(&t, "  a = a * n\n");
  text_add(&t, "  return a\n}\n");
  expect_too_large(&t, "32000 instructions");
  text_add(&t, "query f: int {\n  if 1 > 0 {\n");
  for (int i = 0; i < 4100; i++)
    text_add(&t, "  var a%d = %d\n", i, i);
  text_add(&t, "  }\n  return 0\n}\n");
  expect_too_large(&t, "4096 registers");
  text_add(&t, "query f: int {\n");
  for (int i = 0; i < 256; i++)
    text_add(&t, "  local l%d (a: int)\n", i);
  text_add(&t, "  return 0\n}\n");
  expect_too_large(&t, "255 lists");
  text_add(&t, "query f(p: int): int {\n");
  for (int i = 0; i < 3900; i++)
    text_add(&t, "  var a%d = p\n", i);
  for (int i = 0; i < 3900; i++)
    text_add(&t, "  if a%d > p { a%d = 1 }\n", i, i);
  text_add(&t, "  return a1\n}\n");
  expect_too_large(&t, "too many names over too many branches");
}
END_TEST

START_TEST(jumps_reach_over_a_large_function) {
  text_buffer t = {0};
  text_add(&t, "query f(n: int): int {\n  var a = n\n  while a < 10 {\n    if n > 5 {\n");
  for (int i = 0; i < 31000; i++)
    text_add(&t, "  a = a * n\n");
  text_add(&t, "    }\n    a += 1\n  }\n  return a\n}\n");
  vm_module_release(compile_fine(mem, t.at));
  text_free(&t);
}
END_TEST

START_TEST(many_declarations_take_little_time) {
  text_buffer t = {0};
  for (int i = 0; i < 3000; i++)
    text_add(&t, "list l%d (a: int, b: text) key a\nfn f%d(x: int): int { return %s%d(x) + %d }\n",
             i, i, i % 2 ? "g" : "f", i ? i - 1 : 2999, i);
  for (int i = 0; i < 3000; i++)
    text_add(&t, "fn g%d(x: int): int { return x + count(l%d) }\n", i, i);
  vm_module *m = compile_fine(mem, t.at);
  ck_assert_uint_eq(m->nfns, 6000);
  ck_assert_uint_eq(m->nstored, 3000);
  vm_module_release(m);
  text_free(&t);
}
END_TEST

/* ---- memory */

static const char everything[] =
    "list edges (from: int, to: int) key (from, to)\n"
    "list acc (n: int, id: text) key id\n"
    "pure extern fn host(x: real): real\n"
    "fn add_up(a: int, b: int): int { return a + b * 2 }\n"
    "query f(start: int): (node: int, depth: int) {\n"
    "  local seen (node: int, depth: int) key (node)\n"
    "  local queue (node: int)\n"
    "  put seen (start, 0)\n  add queue (start)\n"
    "  for q in queue {\n"
    "    let d = seen[q.node].depth + 1\n"
    "    for e in edges[q.node] {\n"
    "      if not (e.to in seen) {\n        put seen (e.to, d)\n        add queue (e.to)\n      }\n"
    "    }\n"
    "  }\n"
    "  sort queue by node desc\n"
    "  return seen\n"
    "}\n"
    "event g(k: text): (a: int, b: text) {\n"
    "  let r = acc[k] or (1)\n  r.n += add_up(1, r.n)\n"
    "  let s = acc[k + \"x\"] else { return }\n"
    "  while s.n > 10 and host(0.5) < 1.0 { s.n -= 7 }\n"
    "  if let t = first(acc) { delete t } else { fault \"none\" }\n"
    "  emit (s.n, \"a\" + k)\n"
    "}\n";

/* Compiles while the n-th allocation fails, and says so or never notices. */
static bool survives(const char *text, uint64_t n, int sticky) {
  vm_module *m = NULL;
  ls_mem_fail_after(mem, n, sticky);
  ls_status s = lang_compile(mem, "test", text, strlen(text), &m, NULL, NULL);
  ls_mem_fail_after(mem, 0, 0);
  if (s == LS_OK)
    vm_module_release(m);
  else
    ck_assert_ptr_null(m);
  ls_mem_stats stats;
  ls_mem_read_stats(mem, &stats);
  ck_assert_uint_eq(stats.live_bytes, 0);
  ck_assert(s == LS_OK || s == LS_NOMEM || s == LS_UNSUITABLE);
  return s != LS_NOMEM;
}

START_TEST(memory_may_run_out) {
  for (int sticky = 0; sticky < 2; sticky++) {
    uint64_t n = 1;
    while (!survives(everything, n, sticky))
      ck_assert_uint_lt(++n, 10000);
    ck_assert_uint_gt(n, 3);
  }
}
END_TEST

/* Many chunks of the arena, so that many different places run dry. */
START_TEST(memory_may_run_out_in_large_programs) {
  text_buffer t = {0};
  for (int i = 0; i < 15; i++) {
    text_add(&t, "list l%d (a: int, b: text) key a\n", i);
    text_add(&t, "event e%d(n: int): (a: int, b: text) {\n", i);
    for (int k = 0; k < 10; k++)
      text_add(&t,
               "  let r%d = l%d[n * %d] or (\"text %d\")\n  if n > %d { emit (r%d.a, r%d.b) }\n", k,
               i, k + 2, k * i, k + 40000, k, k);
    text_add(&t, "  for x in l%d { for y in 1..n { delete x } }\n}\n", i);
  }
  uint64_t n = 1;
  while (!survives(t.at, n, 0))
    ck_assert_uint_lt(++n, 10000);
  ck_assert_uint_gt(n, 20);
  text_free(&t);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {nothing_is_a_program,
                                nobody_need_listen,
                                columns_count_characters,
                                errors_come_in_the_order_of_the_text,
                                there_are_at_most_twenty,
                                a_message_may_have_too_little_room,
                                a_place_outside_of_the_text_is_shown_as_well_as_can_be,
                                a_hundred_thousand_parentheses,
                                depth_is_counted_for_every_construct,
                                chains_have_a_height,
                                what_is_not_too_deep_compiles,
                                functions_have_limits,
                                jumps_reach_over_a_large_function,
                                many_declarations_take_little_time,
                                memory_may_run_out,
                                memory_may_run_out_in_large_programs};
  Suite *suite = suite_create("errors");
  TCase *tcase = tcase_create("errors");
  tcase_add_checked_fixture(tcase, setup, teardown);
  tcase_set_timeout(tcase, 120);
  for (size_t k = 0; k < sizeof tests / sizeof tests[0]; k++)
    tcase_add_test(tcase, tests[k]);
  suite_add_tcase(suite, tcase);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_ENV);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed != 0;
}
