/* Which handler each slot of predecoded code gets: what is fused, and what must not be. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "tests/vm/support/assemble.h"
#include "vm/vm_int.h"

static ls_mem *mem;
static vm_module *m;

static void open_code(const char *text) {
  mem = ls_mem_new(NULL);
  m = assemble(mem, text);
}

static void close_code(void) {
  vm_module_release(m);
  ls_mem_delete(mem);
}

/* The handler of an instruction of function 0. */
static void is_at(uint32_t pc, vm_xop expected) {
  const vm_xins *x = &vm_code_of(m, 0)->ins[pc];
  const void *const *handlers = vm_interp_handlers();
  bool same = handlers ? x->go == handlers[expected] : x->op == (uintptr_t)expected;
  ck_assert_msg(same, "at %u", pc);
}

START_TEST(compare_and_jump) {
  open_code("fn f(a: int, b: int): int {\n"
            "  regs 5 loops 1\n"
            "  ilt r2, r0, r1\n" /* 0 */
            "  jf r2, out\n"     /* 1 */
            "  ldb r3, 1\n"      /* 2 */
            "  ieq r2, r0, r1\n" /* 3: tested is another register */
            "  jt r3, out\n"     /* 4 */
            "top:\n"
            "  loop 0\n"          /* 5 */
            "  iaddk r0, r0, 1\n" /* 6 */
            "  ile r2, r0, r1\n"  /* 7: leads back */
            "  jt r2, top\n"      /* 8 */
            "out:\n"
            "  retv r0\n" /* 9 */
            "}\n");
  is_at(0, VM_X_ILT_JF);
  is_at(1, VM_X_JF); /* whoever jumps here finds it */
  is_at(2, VM_X_LDI);
  is_at(3, VM_X_IEQ);
  is_at(4, VM_X_JT);
  is_at(5, VM_X_LOOP);
  is_at(7, VM_X_ILE_JT);
  close_code();
}
END_TEST

START_TEST(counted_loop) {
  open_code("fn f(n: int): int {\n"
            "  regs 6 loops 1\n"
            "  ldi r1, 0\n" /* 0 */
            "  ldi r3, 1\n" /* 1 */
            "top:\n"
            "  loop 0\n"          /* 2 */
            "  imul r5, r3, r3\n" /* 3 */
            "  imod r5, r5, r3\n" /* 4 */
            "  iadd r1, r1, r5\n" /* 5 */
            "  ilt r4, r3, r0\n"  /* 6 */
            "  jf r4, out\n"      /* 7 */
            "  iaddk r3, r3, 1\n" /* 8 */
            "  jmp top\n"         /* 9 */
            "out:\n"
            "  retv r1\n"
            "}\n");
  is_at(3, VM_X_IMUL_IMOD_IADD);
  is_at(4, VM_X_IMOD_IADD);
  is_at(6, VM_X_ILT_JF_IADDK_JMP_BACK);
  is_at(8, VM_X_IADDK_JMP_BACK);
  is_at(9, VM_X_JMP_BACK);
  close_code();
}
END_TEST

START_TEST(slices_and_rows) {
  open_code("query f(n: int): int {\n"
            "  regs 30 loops 1 lists edges, seen\n"
            "  new seen\n"          /* 0 */
            "  mov r6, r0\n"        /* 1 */
            "  seek r0, edges[1]\n" /* 2 */
            "top:\n"
            "  loop 0\n"                   /* 3 */
            "  next r0, edges[1], out\n"   /* 4 */
            "  get r10, r0, edges.to\n"    /* 5 */
            "  has r11, r10, seen\n"       /* 6 */
            "  jt r11, top\n"              /* 7 */
            "  get r12, r0, edges.to\n"    /* 8 */
            "  ldi r13, 0\n"               /* 9 */
            "  put r12, seen\n"            /* 10 */
            "  get r22, r0, edges.to\n"    /* 11 */
            "  find r20, seen\n"           /* 12 */
            "  get r14, r20, seen.depth\n" /* 13 */
            "  iaddk r14, r14, 1\n"        /* 14 */
            "  set r20, r14, seen.depth\n" /* 15 */
            "  get r14, r20, seen.node\n"  /* 16 */
            "  iaddk r14, r14, 1\n"        /* 17 */
            "  set r20, r14, seen.depth\n" /* 18: of another column than was got */
            "  jmp top\n"                  /* 19 */
            "out:\n"
            "  count r0, seen\n"
            "  retv r0\n"
            "}\n"
            "list edges (from: int, to: int) key (from, to)\n"
            "local seen (node: int, depth: int) key (node)\n");
  is_at(2, VM_X_SEEK_PREFIX);
  is_at(4, VM_X_NEXT_GET_HAS_1_JT);
  is_at(5, VM_X_GET_HAS_1_JT);
  is_at(6, VM_X_HAS_1_JT);
  is_at(10, VM_X_PUT_1);
  is_at(11, VM_X_GET_FIND_1_GET);
  is_at(12, VM_X_FIND_1_GET);
  is_at(13, VM_X_GET_IADDK_SET);
  is_at(16, VM_X_GET);
  is_at(18, VM_X_SET_INT);
  is_at(19, VM_X_JMP_BACK_NEXT_GET_HAS_1_JT);
  close_code();
}
END_TEST

/* Costs in front of each instruction add up, the builtin's in its place. */
START_TEST(costs_in_front) {
  open_code("fn f(a: real): real { regs 4 mov r1, r0 bif r2, sqrt, r1 rdiv r2, r2, r0 retv r2 }\n");
  const uint32_t *before = vm_code_of(m, 0)->before;
  static const uint32_t expected[] = {0, 1, 5, 7, 9};
  ck_assert_mem_eq(before, expected, sizeof expected);
  close_code();
}
END_TEST

/* What a loop names, for the profile: between its header and its last jump back. */
START_TEST(lists_of_loops) {
  open_code("local a (k: int)\n"
            "local b (k: int)\n"
            "local c (k: int)\n"
            "query f(n: int): int {\n"
            "  regs 4 loops 2 lists a, b, c\n"
            "  new a\n"
            "  new b\n"
            "  new c\n"
            "outer:\n"
            "  loop 1\n"
            "  add r0, b\n"
            "inner:\n"
            "  loop 0\n"
            "  add r0, c\n"
            "  add r0, c\n"
            "  ilt r1, r0, r0\n"
            "  jt r1, inner\n"
            "  jt r1, outer\n"
            "  count r0, a\n"
            "  retv r0\n"
            "}\n");
  const vm_code *code = vm_code_of(m, 0);
  ck_assert_uint_eq(code->loops[1].pc, 3);
  ck_assert_uint_eq(code->loops[1].nlists, 2);
  ck_assert_uint_eq(code->loops[1].lists[0], 1);
  ck_assert_uint_eq(code->loops[1].lists[1], 2);
  ck_assert_uint_eq(code->loops[0].pc, 5);
  ck_assert_uint_eq(code->loops[0].nlists, 1);
  ck_assert_uint_eq(code->loops[0].lists[0], 2);
  ck_assert_uint_eq(code->nlocals, 3);
  close_code();
}
END_TEST

int main(void) {
  Suite *s = suite_create("fuse");
  TCase *t = tcase_create("fuse");
  tcase_add_test(t, compare_and_jump);
  tcase_add_test(t, counted_loop);
  tcase_add_test(t, slices_and_rows);
  tcase_add_test(t, costs_in_front);
  tcase_add_test(t, lists_of_loops);
  suite_add_tcase(s, t);
  SRunner *r = srunner_create(s);
  srunner_run_all(r, CK_ENV);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
