/* What ir_verify finds. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "ir/ir.h"

#define HEAD                                                                                       \
  "region r fn 0 pc 0 regs 4\n"                                                                    \
  "list 0 a keys 1 cols int,real guarded 0x301\n"                                                  \
  "b0:\n"                                                                                          \
  "  v1 = work\n"                                                                                  \
  "  v2 = reg:f64 1\n"                                                                             \
  "  v3 = reg:b1 2\n"
#define TAIL "exit 0: pc 0 fault work v1+0\nexit 1: pc 1 raised\n"

static const struct {
  const char *body, *why;
} bad[] = {
    {"  v4 = add v1 v2\n  leave exit 0\n", "argument 1 of add has the wrong type"},
    {"  v4 = add v1\n  leave exit 0\n", "add needs 2 arguments"},
    {"  v4 = select:i64 v3 v1 v2\n  leave exit 0\n", "argument 2 of select has the wrong type"},
    {"  v4 = add.x v1 v1\n  leave exit 0\n", "add.x needs an exit"},
    {"  v4 = add v1 v1 exit 0\n  leave exit 0\n", "add needs an exit, or must have none"},
    {"  v4 = count L3\n  leave exit 0\n", "count of no list"},
    {"  v4 = col L0.2\n  leave exit 0\n", "col of no column"},
    {"  v4 = reg:i64 4\n  leave exit 0\n", "there is no r4"},
    {"  v4 = find L0 1 2\n  leave exit 0\n", "find without its key"},
    {"  v4 = step pc 1 r0=v1 exit 1\n  leave exit 0\n", "must be raised when it calls"},
    {"  v4 = step pc 1 calls r0=v1 exit 0\n  leave exit 0\n", "must be raised when it calls"},
    {"  v4 = step pc 1 r9=v1 exit 0\n  leave exit 0\n", "a step stores to r9"},
    {"  guard v3 exit 1\n  leave exit 0\n", "guard has a raised exit"},
    {"  v4 = add v1 1\n", "its last node"},
    {"  leave exit 0\n  v4 = add v1 1\n", "its last node"},
    {"  jump b1\nb1: b0\n  v4 = add v1 1\n  v5 = phi:i64 v4\n  leave exit 0\n",
     "a phi after other nodes"},
    {"  jump b1\nb1: b0\n  v5 = phi:i64 1 2\n  leave exit 0\n", "a phi of 2 arguments"},
    {"  jump b1\nb1: b0 b0\n  leave exit 0\n", "does not know"},
    {"  jump b1\nb1:\n  leave exit 0\n", "does not know"},
    {"  leave exit 0\nb1: b0\n  leave exit 0\n", "does not lead to it"},
    {"  leave exit 0\nb1: b1\n  jump b1\n", "cannot be reached"},
    {"  jump b0\n", "not there"},
    {"  v4 = add v5 1\n  v5 = add v1 1\n  leave exit 0\n", "not there yet"},
    {"  branch v3 b1 b2\nb1: b0\n  v4 = add v1 1\n  jump b3\nb2: b0\n  jump b3\nb3: b1 b2\n"
     "  v5 = add v4 1\n  leave exit 0\n",
     "not there yet"},
    {"  branch v3 b1 b2\nb1: b0\n  v4 = add v1 1\n  jump b3\nb2: b0\n  jump b3\nb3: b1 b2\n"
     "  v5 = phi:i64 v1 v4\n  leave exit 0\n",
     "not there yet"},
    {"  guard v3 exit 2\n  v4 = add v1 1\n  leave exit 0\nexit 2: pc 1 fault work v1 r0=v4\n",
     "r0 of the exit to pc 1 is not there"},
    {"  guard v3 exit 2\n  v4 = add v1 1\n  leave exit 0\nexit 2: pc 1 fault work v4\n",
     "the work of the exit to pc 1"},
    {"  leave exit 2\nexit 2: pc 1 fault work v2\n", "the work of the exit to pc 1"},
    {"  leave exit 2\nexit 2: pc 1 fault work v1 r1=v1 r0=v1\n", "out of order"},
    {"  leave exit 2\nexit 2: pc 1 fault work v1 r7=v1\n", "out of order"},
    {"  v4 = col L0.0\n  leave exit 2\nexit 2: pc 1 fault work v1 r1=v4\n",
     "no type of a register"},
    {"  jump b1\nb1: b0 landing 1\n  leave exit 0\n", "its landing is no exit"},
};

static bool check(const char *body, char *why, size_t n) {
  char text[2000];
  ls_mem *mem = ls_mem_new(NULL);
  ir_region *r;
  uint32_t line;
  snprintf(text, sizeof text, "%s%s%s", HEAD, body, TAIL);
  ck_assert_msg(ir_parse(mem, text, strlen(text), &r, &line, why, n) == IR_OK, "line %u: %s\n%s",
                line, why, text);
  bool fine = ir_verify(r, why, n);
  ir_region_delete(r);
  ls_mem_delete(mem);
  return fine;
}

START_TEST(broken) {
  char why[200];
  ck_assert_msg(!check(bad[_i].body, why, sizeof why), "fine: %s", bad[_i].body);
  ck_assert_msg(strstr(why, bad[_i].why) != NULL, "%s: %s", bad[_i].body, why);
}
END_TEST

START_TEST(fine) {
  char why[200];
  ck_assert_msg(check("  v4 = step pc 1 metered calls kills L0 work=v1 r0=v2 exit 1\n"
                      "  branch v4 b1 b1\n"
                      "b1: b0 b0\n"
                      "  v5 = phi:i64 1 1\n"
                      "  leave exit 0\n",
                      why, sizeof why),
                "%s", why);
}
END_TEST

int main(void) {
  Suite *s = suite_create("verify");
  TCase *t = tcase_create("verify");
  tcase_add_loop_test(t, broken, 0, (int)(sizeof bad / sizeof bad[0]));
  tcase_add_test(t, fine);
  suite_add_tcase(s, t);
  SRunner *r = srunner_create(s);
  srunner_run_all(r, CK_ENV);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed != 0;
}
