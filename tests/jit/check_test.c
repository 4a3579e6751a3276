/* PURE_JIT_CHECK finds compiled code that is wrong: in a register, the work, the way, or a list. */
#include <check.h>
#include <string.h>

#include "tests/jit/support/planted.h"

static const char source[] = "query squares(n: int): int {\n"
                             "  local l (x: int)\n"
                             "  var s = 0\n"
                             "  for i in 1 .. n {\n"
                             "    add l (i)\n"
                             "    s += twice(i) * i % 7\n"
                             "  }\n"
                             "  return s + count(l)\n"
                             "}\n"
                             "fn twice(n: int): int { return n + n }\n";

static enum { NOTHING, REGISTER, WORK, WAY, LIST } lie;

/* Does what the code does, and one thing more. */
static uint32_t wrong(vm_frame *f, vm_context *cx) {
  const vm_jit_code *inner = planted_now()->inner;
  uint32_t exit = inner->enter(f, cx);
  const vm_jit_exit *x = &inner->exits[exit];
  ls_val row = {.i = 4711};
  ls_row made;
  switch (lie) {
  case NOTHING:
    break;
  case REGISTER:
    ck_assert_uint_gt(x->nslots, 0);
    f->regs[x->slots[x->nslots - 1]].i ^= 1;
    break;
  case WORK:
    cx->work += 1;
    break;
  case WAY:
    cx->work -= 1;
    break;
  case LIST:
    ck_assert_int_eq(ls_list_insert(f->lists->list[0], NULL, &row, &made), LS_OK);
    break;
  }
  return exit;
}

static char heard[300];

static void hear(void *user, const char *line) {
  (void)user;
  if (strstr(line, "CHECK"))
    strncpy(heard, line, sizeof heard - 1);
}

static vm_tier_stats run(void) {
  ls_mem *mem = ls_mem_new(NULL);
  vm_module *m;
  vm_tier_options o = {.level = 2,
                       .sync = true,
                       .has_threshold = true,
                       .threshold = 3000,
                       .check = true,
                       .log = hear};
  vm_tier *t = vm_tier_new(mem, &o);
  planted_set(t, wrong);
  planted_now()->most = 1;
  memset(heard, 0, sizeof heard);
  ck_assert_int_eq(lang_compile(mem, "check", source, sizeof source - 1, &m, NULL, NULL), LS_OK);
  vm_link *k = vm_link_new(m, mem, NULL);
  ck_assert(vm_link_use_tier(k, t));
  vm_context *cx = vm_context_new(k);
  vm_result r;
  ls_val n = {.i = 2000};
  ck_assert_int_eq(vm_call(cx, (unsigned)vm_module_find(m, "squares", false), &n, &r), VM_OK);
  vm_tier_stats s;
  vm_tier_read(t, &s);
  vm_context_delete(cx);
  vm_link_delete(k);
  vm_module_release(m);
  vm_tier_delete(t);
  ls_mem_delete(mem);
  ck_assert_uint_ge(s.checked, 1);
  return s;
}

START_TEST(right) {
  lie = NOTHING;
  ck_assert_uint_eq(run().wrong, 0);
  ck_assert_str_eq(heard, "");
}
END_TEST

static const struct {
  int lie;
  const char *says;
} lies[] = {{REGISTER, ": register "},
            {WORK, "another way"},
            {WAY, "another way"},
            {LIST, "a list differs"}};

START_TEST(found) {
  lie = lies[_i].lie;
  ck_assert_uint_ge(run().wrong, 1);
  ck_assert_msg(strstr(heard, lies[_i].says) != NULL, "%s", heard);
}
END_TEST

int main(void) {
  Suite *s = suite_create("check");
  TCase *t = tcase_create("check");
  tcase_set_timeout(t, 600);
  tcase_add_test(t, right);
  tcase_add_loop_test(t, found, 0, sizeof lies / sizeof *lies);
  suite_add_tcase(s, t);
  SRunner *r = srunner_create(s);
  srunner_run_all(r, CK_ENV);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed != 0;
}
