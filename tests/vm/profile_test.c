/* What the profile counts, and that local lists start where they ended. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/vm/support/run.h"

static run r;

static const char program[] = "list edges (from: int, to: int) key (from, to)\n"
                              "local a (k: int, v: int) key (k)\n"
                              "local b (v: int)\n"
                              "local unused (v: int)\n"
                              /* outer loop n times, inner loop i times */
                              "query triangle(n: int, step: int): int {\n"
                              "  regs 10 loops 2 lists edges, a, b, unused\n"
                              "  new a @1:1\n"
                              "  new b\n"
                              "  new unused\n"
                              "  ldi r2, 0\n"
                              "  ldi r6, 0\n"
                              "outer:\n"
                              "  loop 0\n"
                              "  ilt r3, r2, r0\n"
                              "  jf r3, out\n"
                              "  imul r4, r2, r1\n"
                              "  mov r5, r2\n"
                              "  put r4, a\n"
                              "  ldi r7, 0\n"
                              "inner:\n"
                              "  loop 1\n"
                              "  ilt r3, r7, r2\n"
                              "  jf r3, next\n"
                              "  add r7, b\n"
                              "  has r8, r2, a\n"
                              "  iaddk r7, r7, 1\n"
                              "  jmp inner\n"
                              "next:\n"
                              "  iaddk r2, r2, 1\n"
                              "  jmp outer\n"
                              "out:\n"
                              "  count r6, b\n"
                              "  retv r6\n"
                              "}\n"
                              "fn leaf() { regs 0 ret }\n"
                              "fn never() { regs 0 loops 1 x: loop 0 @1:1 jmp x }\n"
                              "query calls(n: int, x: int): int {\n"
                              "  regs 4 loops 1\n"
                              "  ldi r2, 0\n"
                              "a:\n"
                              "  loop 0\n"
                              "  call r3, leaf\n"
                              "  iaddk r2, r2, 1\n"
                              "  ilt r3, r2, r0\n"
                              "  jt r3, a\n"
                              "  retv r2\n"
                              "}\n";

static const vm_fn_profile *profile_of(const char *fn) {
  return &vm_context_profile(r.cx[0])->fns[vm_module_find(r.m, fn, true)];
}

static void check_loop(const vm_loop_profile *p, uint64_t headers, uint64_t entries,
                       uint64_t longest) {
  ck_assert_uint_eq(p->headers, headers);
  ck_assert_uint_eq(p->entries, entries);
  ck_assert_uint_eq(p->longest, longest);
}

START_TEST(loops_are_counted) {
  run_open(&r, program);
  ck_assert_ptr_null(profile_of("triangle")->loops);
  ck_assert_int_eq(run_int(&r, "triangle", ARGS(INT(5), INT(1))), 10);
  const vm_fn_profile *p = profile_of("triangle");
  ck_assert_uint_eq(p->calls, 1);
  check_loop(&p->loops[0], 6, 1, 6);
  check_loop(&p->loops[1], 10 + 5, 5, 5);
  ck_assert_int_eq(run_int(&r, "triangle", ARGS(INT(3), INT(1))), 3);
  ck_assert_uint_eq(profile_of("triangle")->calls, 2);
  check_loop(&p->loops[0], 6 + 4, 2, 6);
  check_loop(&p->loops[1], 15 + 6, 8, 5);
  run_close(&r);
}
END_TEST

START_TEST(calls_are_counted) {
  run_open(&r, program);
  ck_assert_int_eq(run_int(&r, "calls", ARGS(INT(7), INT(0))), 7);
  ck_assert_uint_eq(profile_of("leaf")->calls, 7);
  ck_assert_uint_eq(profile_of("calls")->calls, 1);
  ck_assert_uint_eq(profile_of("never")->calls, 0);
  check_loop(&profile_of("calls")->loops[0], 7, 1, 7);
  run_close(&r);
}
END_TEST

static bool saw(const vm_list_profile *p, ls_layout layout) {
  for (unsigned i = 0; i < p->nshapes; i++)
    if (ls_shape_layout(p->shapes[i]) == layout)
      return true;
  return false;
}

/* A loop's lists are those that its instructions name. */
START_TEST(shapes_are_seen) {
  run_open(&r, program);
  ck_assert_int_eq(run_int(&r, "triangle", ARGS(INT(100), INT(1))), 4950);
  const vm_loop_profile *loops = profile_of("triangle")->loops;
  ck_assert_ptr_nonnull(loops[1].lists);
  ck_assert(saw(&loops[1].lists[1], LS_DENSE));
  ck_assert(saw(&loops[1].lists[2], LS_FLAT));
  ck_assert_uint_eq(loops[1].lists[0].nshapes, 0);
  ck_assert_uint_eq(loops[1].lists[3].nshapes, 0);
  ck_assert(!saw(&loops[1].lists[1], LS_HASH));
  ck_assert_int_eq(run_int(&r, "triangle", ARGS(INT(100), INT(1000000007))), 4950);
  ck_assert_int_eq(run_int(&r, "triangle", ARGS(INT(100), INT(1000000007))), 4950);
  ck_assert(saw(&loops[1].lists[1], LS_HASH));
  ck_assert_uint_le(loops[1].lists[1].nshapes, VM_PROFILE_SHAPES);
  run_close(&r);
}
END_TEST

/* The second call finds its lists in the shape and with the room that they ended with. */
START_TEST(lists_start_as_they_ended) {
  run_open(&r, program);
  ck_assert_int_eq(run_int(&r, "triangle", ARGS(INT(400), INT(1))), 79800);
  const ls_hint *ended = profile_of("triangle")->ended;
  ck_assert_int_eq(ls_shape_layout(ended[1].shape), LS_DENSE);
  ck_assert_uint_eq(ls_shape_width(ended[1].shape, 1), 1);
  ck_assert_uint_eq(ended[1].count, 400);
  ck_assert_int_eq(ls_shape_layout(ended[2].shape), LS_FLAT);
  ck_assert_uint_eq(ended[2].count, 79800);
  ck_assert_uint_eq(ended[3].count, 0);
  uint64_t shape = ended[1].shape;
  ls_mem_stats before, between, after;
  ls_mem_read_stats(r.mem, &before);
  ck_assert_int_eq(run_int(&r, "triangle", ARGS(INT(400), INT(1))), 79800);
  ls_mem_read_stats(r.mem, &between);
  ck_assert_int_eq(run_int(&r, "triangle", ARGS(INT(400), INT(1))), 79800);
  ls_mem_read_stats(r.mem, &after);
  ck_assert_uint_eq(ended[1].shape, shape);
  /* every block at once, none grown: keys have no cells, so presence bits and two columns */
  ck_assert_uint_eq(after.allocs - between.allocs, between.allocs - before.allocs);
  ck_assert_uint_le(after.allocs - between.allocs, 2 * 3);
  run_close(&r);
}
END_TEST

int main(void) {
  Suite *s = suite_create("profile");
  TCase *t = tcase_create("profile");
  tcase_add_test(t, loops_are_counted);
  tcase_add_test(t, calls_are_counted);
  tcase_add_test(t, shapes_are_seen);
  tcase_add_test(t, lists_start_as_they_ended);
  suite_add_tcase(s, t);
  SRunner *sr = srunner_create(s);
  srunner_run_all(sr, CK_ENV);
  int failed = srunner_ntests_failed(sr);
  srunner_free(sr);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
