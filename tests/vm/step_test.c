/* Changing over between `step` and the interpreter at every instruction of a program, in every
 * frame, as a tier does that gives up in the middle: nothing that can be seen may change. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/vm/support/run.h"

static run r;

static const char program[] =
    "list edges (from: int, to: int) key (from, to)\n"
    "local seen (node: int, depth: int) key (node)\n"
    "local queue (node: int)\n"
    "const by int 0xffffffffffffff00\n"
    "event link(n: int, step: int) {\n"
    "  regs 6 loops 1 lists edges\n"
    "  ldi r2, 0 @1:1\n"
    "top:\n"
    "  loop 0 @2:1\n"
    "  ilt r3, r2, r0\n"
    "  jf r3, out\n"
    "  mov r4, r2\n"
    "  iadd r5, r2, r1\n"
    "  imod r5, r5, r0\n"
    "  put r4, edges\n"
    "  iaddk r2, r2, 1\n"
    "  jmp top\n"
    "out:\n"
    "  ret\n"
    "}\n"
    "query reach(start: int, unused: int): (node: int, depth: int) {\n"
    "  regs 40 loops 2 lists edges, seen, queue\n"
    "  new seen @3:1\n"
    "  new queue @4:1\n"
    "  mov r1, r0\n"
    "  ldi r2, 0\n"
    "  add r1, seen\n"
    "  add r0, queue @5:9\n"
    "  seek r3, queue[0]\n"
    "outer:\n"
    "  loop 0\n"
    "  next r3, queue[0], done\n"
    "  get r7, r3, queue.node\n"
    "  mov r10, r7\n"
    "  find r8, seen\n"
    "  get r2, r8, seen.depth\n"
    "  mov r11, r2\n"
    "  call r11, plus_one\n"
    "  mov r2, r11\n"
    "  mov r20, r7\n"
    "  seek r14, edges[1]\n"
    "inner:\n"
    "  loop 1\n"
    "  next r14, edges[1], outer\n"
    "  get r1, r14, edges.to\n"
    "  has r30, r1, seen\n"
    "  jt r30, inner\n"
    "  add r1, seen\n"
    "  add r1, queue\n"
    "  jmp inner\n"
    "done:\n"
    "  sort queue, by\n"
    "  retl seen\n"
    "}\n"
    "fn plus_one(n: int): int {\n"
    "  regs 2 ldi r1, 1 @7:1 iadd r0, r0, r1 retv r0 }\n"
    "query fib(n: int, unused: int): int { regs 2 call r0, fibs @8:1 retv r0 }\n"
    "fn fibs(n: int): int {\n"
    "  regs 6\n"
    "  ldi r1, 2 @9:1\n"
    "  ilt r2, r0, r1\n"
    "  jf r2, more\n"
    "  retv r0\n"
    "more:\n"
    "  iaddk r3, r0, -1\n"
    "  call r3, fibs\n"
    "  iaddk r4, r0, -2\n"
    "  call r4, fibs\n"
    "  imul r5, r3, r4\n"
    "  iadd r3, r3, r4\n"
    "  retv r3\n"
    "}\n"
    "query squares(n: int, m: int): int {\n"
    "  regs 6 loops 1\n"
    "  ldi r3, 0 @10:1\n"
    "  ldi r4, 1\n"
    "top:\n"
    "  loop 0 @11:1\n"
    "  ile r5, r4, r0\n"
    "  jf r5, out\n"
    "  imul r5, r4, r4\n"
    "  imod r5, r5, r1\n"
    "  iadd r3, r3, r5\n"
    "  iaddk r4, r4, 1\n"
    "  jmp top\n"
    "out:\n"
    "  retv r3 @12:1\n"
    "}\n";

static uint64_t steps; /* to make before the other takes over */

static int step_first(vm_context *cx) {
  for (uint64_t n = 0; n < steps && cx->top; n++) {
    int fault = vm_step(cx);
    if (fault != VM_FINE)
      return fault;
  }
  return cx->top ? vm_interp(cx) : VM_FINE;
}

/* As many calls as there are instructions, each changing over one later than the one before. */
static void change_over(const char *fn, int64_t a, int64_t b, vm_status expected) {
  r.cx[0]->execute = vm_interp;
  ck_assert_int_eq(run_call(&r, fn, ARGS(INT(a), INT(b))), expected);
  uint64_t work = run_work(&r);
  for (steps = 0; steps < work; steps++) {
    r.cx[0]->execute = step_first;
    ck_assert_int_eq(run_call(&r, fn, ARGS(INT(a), INT(b))), expected);
    ck_assert_uint_eq(run_work(&r), work);
  }
}

START_TEST(change_over_anywhere) {
  run_open(&r, program);
  change_over("link", 12, 5, VM_OK);
  change_over("link", 12, 1, VM_OK);
  change_over("reach", 0, 0, VM_OK);
  ck_assert_uint_eq(r.out[0].rows->count, 12);
  change_over("fib", 9, 0, VM_OK);
  ck_assert_int_eq(r.out[0].value.i, 34);
  change_over("squares", 20, 7, VM_OK);
  run_close(&r);
}
END_TEST

START_TEST(change_over_before_faults) {
  run_open(&r, program);
  change_over("squares", 20, 0, VM_FAULTED);
  ck_assert_int_eq(vm_context_fault(r.cx[0])->kind, VM_FAULT_DIV_ZERO);
  change_over("link", 5, INT64_MAX, VM_FAULTED);
  ck_assert_int_eq(vm_context_fault(r.cx[0])->kind, VM_FAULT_OVERFLOW);
  run_limit(&r, 100, 0, 0);
  change_over("squares", 20, 7, VM_FAULTED);
  ck_assert_int_eq(vm_context_fault(r.cx[0])->kind, VM_FAULT_WORK);
  run_limit(&r, 0, 0, 7);
  change_over("fib", 9, 0, VM_FAULTED);
  ck_assert_int_eq(vm_context_fault(r.cx[0])->kind, VM_FAULT_DEPTH);
  run_close(&r);
}
END_TEST

/* step is one instruction: as many steps as instructions, each adding its own cost. */
START_TEST(one_at_a_time) {
  run_open(&r, program);
  vm_context *cx = r.cx[1];
  int fn = vm_module_find(r.m, "squares", true);
  cx->budget.left = INT64_MAX;
  cx->work = 0;
  ck_assert_int_eq(vm_frame_enter(cx, (unsigned)fn, ARGS(INT(2), INT(5))), VM_FINE);
  static const uint32_t path[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 2,
                                  3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 10};
  uint64_t work = 0;
  for (size_t i = 0; i < sizeof path / sizeof *path; i++) {
    ck_assert_uint_eq(cx->top->pc, path[i]);
    work += vm_ins_cost(&cx->top->code->fn->code[path[i]]);
    ck_assert_int_eq(vm_step(cx), VM_FINE);
    ck_assert_uint_eq(cx->work, work);
  }
  ck_assert_ptr_null(cx->top);
  ck_assert_int_eq(cx->value.i, 1 + 4);
  run_close(&r);
}
END_TEST

int main(void) {
  Suite *s = suite_create("step");
  TCase *t = tcase_create("step");
  tcase_add_test(t, change_over_anywhere);
  tcase_add_test(t, change_over_before_faults);
  tcase_add_test(t, one_at_a_time);
  suite_add_tcase(s, t);
  SRunner *sr = srunner_create(s);
  srunner_run_all(sr, CK_ENV);
  int failed = srunner_ntests_failed(sr);
  srunner_free(sr);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
