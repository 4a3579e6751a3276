/* The text form: what is refused, with its line; that printing and parsing are each other's
 * opposite is shown with every pass and every build. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/ir/support/text.h"

#define HEAD                                                                                       \
  "region r fn 0 pc 0 regs 4\nlist 0 a keys 1 cols int,real guarded 0x301 direct rows 7\n"
#define TAIL "exit 0: pc 0 fault work v1-3 r1=v1\n"

static const struct {
  const char *text;
  uint32_t line;
  const char *why;
} bad[] = {
    {"region r fn 0 pc 0\n", 1, "`regs` is expected"},
    {"region r fn 0 pc 99999 regs 1\n", 1, "too large"},
    {"region r fn 0 pc 0 regs 4 more\n", 1, "`more` is too much"},
    {HEAD "list 2 b keys 0 cols int any\n", 3, "list 1 is expected"},
    {HEAD "list 1 b keys 0 cols int,word any\n", 3, "bad columns"},
    {HEAD "list 1 b keys 0 cols int perhaps\n", 3, "`any` is expected"},
    {HEAD "b0:\n  v1 = nothing\n", 4, "there is no operation `nothing`"},
    {HEAD "b0:\n  v1 = phi\n", 4, "bad type"},
    {HEAD "b0:\n  v1 = add:i64 1 2\n", 4, "bad type"},
    {HEAD "b0:\n  v1 = work\n  v1 = work\n", 5, "v1 has a value already"},
    {HEAD "b0:\n  v1 = add 1 x\n", 4, "a value is expected, not `x`"},
    {HEAD "b0:\n  v1 = add 1 99999999999999999999\n", 4, "a value is expected"},
    {HEAD "b0:\n  v1 = col L0\n", 4, "L and a list.column"},
    {HEAD "b0:\n  v1 = count L0.1\n", 4, "L and a list are expected"},
    {HEAD "b0:\n  v1 = cell L0.0 u7 1 2\n", 4, "a width is expected"},
    {HEAD "b0:\n  v1 = bif:i64 NONE 1\n", 4, "there is no builtin"},
    {HEAD "b0:\n  v1 = step pc 1 metered r0=1 exit 0\n", 4, "work= is expected"},
    {HEAD "b0:\n  v1 = step pc 1 r0 exit 0\n", 4, "rN=value is expected"},
    {HEAD "b0:\n  jump x\n", 4, "a value is expected, not `x`"},
    {HEAD "b0:\nb1: b0\nb1: b0\n", 5, "b1 is there already"},
    {HEAD "b0:\n  v1 = work\n  leave exit 0\n", 0, "exit 0 is not described"},
    {HEAD "b0:\n  v1 = work\n  leave exit 0\nexit 0: pc 1 whim work v1\n", 6, "there is no reason"},
    {HEAD "b0:\n  v1 = work\n  leave exit 0\nexit 0: pc 1 leave\n", 6, "`work` is expected"},
    {HEAD "b0:\n  v1 = work\n  leave exit 0\nexit x: pc 1 leave\n", 6, "exit N: is expected"},
    {HEAD "b0:\n  v1 = work\n  leave exit 0\nexit 0: pc 1 leave work v1*2\n", 6, "expected"},
    {HEAD "b0:\n  v1 = add v2 1\n  leave exit 0\n" TAIL, 0, "v2 has no value"},
};

START_TEST(refused) {
  ls_mem *mem = ls_mem_new(NULL);
  ir_region *r;
  uint32_t line;
  char why[200];
  const char *text = bad[_i].text;
  ck_assert_int_eq(ir_parse(mem, text, strlen(text), &r, &line, why, sizeof why), IR_REFUSED);
  ck_assert_ptr_null(r);
  ck_assert_msg(strstr(why, bad[_i].why) != NULL, "%s: %s", text, why);
  if (bad[_i].line)
    ck_assert_uint_eq(line, bad[_i].line);
  ls_mem_delete(mem);
}
END_TEST

/* Blanks, comments, numbers and the order of blocks are the writer's; printing makes them one. */
START_TEST(printed) {
  static const char given[] = "; nothing yet\n"
                              "region  sample fn 2 pc 7 regs 9 l2 4096 distance 3 strip 50 ; here\n"
                              "list 0 a keys 0 cols int,real,bool,text,date checked 0x0\n\n"
                              "b0: landing 5 pc 7\n"
                              "  v10 = work\n"
                              "  v30 = reg:f64 3\n"
                              "\t@9\n"
                              "  v20 = fadd v30 f#7ff8000000000000\n"
                              "  jump b4\n"
                              "b9: b4 cold\n"
                              "  leave exit 7\n"
                              "b4: b0 b4\n"
                              "  v1 = phi:i64 -9223372036854775808 0x10\n"
                              "  v2 = step pc 8 metered calls kills L0 work=v10 r3=v30 exit 6\n"
                              "  branch true b4 b9\n"
                              "exit 6: pc 8 raised\n"
                              "exit 7: pc 8 leave work v10 r0=false r3=v20\n"
                              "exit 5: pc 7 bulk work 0+12\n";
  static const char wanted[] = "region sample fn 2 pc 7 regs 9 l2 4096 distance 3 strip 50\n"
                               "list 0 a keys 0 cols int,real,bool,text,date checked 0x0\n"
                               "b0: landing 0 pc 7\n"
                               "  v1 = work\n"
                               "  v2 = reg:f64 3\n"
                               "  @9\n"
                               "  v3 = fadd v2 f#7ff8000000000000\n"
                               "  jump b4\n"
                               "b4: b0 b4\n"
                               "  v4 = phi:i64 -9223372036854775808 16\n"
                               "  v5 = step pc 8 metered calls kills L0 work=v1 r3=v2 exit 1\n"
                               "  branch true b4 b9\n"
                               "b9: b4 cold\n"
                               "  leave exit 2\n"
                               "exit 0: pc 7 bulk work 0+12\n"
                               "exit 1: pc 8 raised\n"
                               "exit 2: pc 8 leave work v1+0 r0=false r3=v3\n";
  ls_mem *mem = ls_mem_new(NULL);
  ir_region *r = text_region(mem, "printed", given, strlen(given));
  char *got = text_of(r);
  ck_assert_str_eq(got, wanted);
  free(got);
  ir_region_delete(r);
  ls_mem_delete(mem);
}
END_TEST

/* The example in docs/ir.md is a region, and printed as it stands there. */
START_TEST(documented) {
  const char *src = getenv("SRC");
  char path[4096];
  snprintf(path, sizeof path, "%s/docs/ir.md", src ? src : ".");
  ls_mem *mem = ls_mem_new(NULL);
  char *page = text_file(path), *from = strstr(page, "```\nregion "), *to;
  ck_assert_ptr_nonnull(from);
  from += 4;
  to = strstr(from, "```");
  ck_assert_ptr_nonnull(to);
  ir_region *r = text_region(mem, path, from, (size_t)(to - from));
  char *got = text_of(r);
  *to = 0;
  ck_assert_str_eq(got, from);
  free(got);
  free(page);
  ir_region_delete(r);
  ls_mem_delete(mem);
}
END_TEST

static bool stop(void *user, const char *bytes, size_t len) {
  (void)bytes;
  return (*(size_t *)user += len) < 40;
}

START_TEST(stopped) {
  static const char text[] = HEAD "b0:\n  v1 = work\n  leave exit 0\n" TAIL;
  ls_mem *mem = ls_mem_new(NULL);
  ir_region *r = text_region(mem, "stopped", text, strlen(text));
  size_t written = 0;
  ck_assert(!ir_print(r, stop, &written));
  ck_assert_uint_lt(written, 80);
  ir_region_delete(r);
  ls_mem_delete(mem);
}
END_TEST

int main(void) {
  Suite *s = suite_create("text");
  TCase *t = tcase_create("text");
  tcase_add_loop_test(t, refused, 0, (int)(sizeof bad / sizeof bad[0]));
  tcase_add_test(t, printed);
  tcase_add_test(t, documented);
  tcase_add_test(t, stopped);
  suite_add_tcase(s, t);
  SRunner *r = srunner_create(s);
  srunner_run_all(r, CK_ENV);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed != 0;
}
