/* Passes on texts: tests/ir/passes/NAME.ir has `; run: PASS...`, a region, =====, and what becomes
 * of it. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/ir/support/text.h"

static void run_passes(const char *path, ir_region *r, const char *given) {
  const char *line = strstr(given, "; run:");
  char names[200], why[200];
  ck_assert_msg(line != NULL, "%s: there is no ; run:", path);
  snprintf(names, sizeof names, "%.*s", (int)strcspn(line + 6, "\n"), line + 6);
  for (char *name = strtok(names, " "); name; name = strtok(NULL, " ")) {
    ck_assert_msg(ir_run_pass(r, name) == IR_OK, "%s: %s", path, name);
    ck_assert_msg(ir_verify(r, why, sizeof why), "%s: broken by %s: %s", path, name, why);
  }
}

static void check_file(const char *path) {
  ls_mem *mem = ls_mem_new(NULL);
  text_case c = text_case_read(path);
  ir_region *r = text_region(mem, path, c.given, strlen(c.given));
  run_passes(path, r, c.given);
  char *got = text_of(r);
  text_case_check(path, got, c.wanted);
  ir_region *again = text_region(mem, path, got, strlen(got));
  char *twice = text_of(again);
  ck_assert_str_eq(got, twice);
  free(twice);
  free(got);
  ir_region_delete(again);
  ir_region_delete(r);
  text_case_free(&c);
  ls_mem_delete(mem);
}

START_TEST(texts) { ck_assert_uint_gt(text_each_file("tests/ir/passes/*.ir", check_file), 20); }
END_TEST

START_TEST(unknown_pass) {
  ls_mem *mem = ls_mem_new(NULL);
  static const char text[] = "region r fn 0 pc 0 regs 1\nb0:\n  v1 = work\n  leave exit 0\n"
                             "exit 0: pc 0 leave work v1\n";
  ir_region *r = text_region(mem, "unknown_pass", text, strlen(text));
  ck_assert_int_eq(ir_run_pass(r, "no such pass"), IR_REFUSED);
  ir_region_delete(r);
  ls_mem_delete(mem);
}
END_TEST

int main(void) {
  Suite *s = suite_create("passes");
  TCase *t = tcase_create("passes");
  tcase_add_test(t, texts);
  tcase_add_test(t, unknown_pass);
  suite_add_tcase(s, t);
  SRunner *r = srunner_create(s);
  srunner_run_all(r, CK_ENV);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed != 0;
}
