/* Limits on work, memory and depth, and cancelling: where exactly, and that all is well after. */
#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/vm/support/run.h"

static run r;

static const char work[] =
    "fn spin(n: int): int {\n"
    "  regs 3 loops 1\n"
    "  ldi r1, 0 @1:1\n"
    "top:\n"
    "  loop 0 @2:1\n"
    "  ilt r2, r1, r0 @3:1\n"
    "  jf r2, out\n"
    "  iaddk r1, r1, 1\n"
    "  jmp top\n"
    "out:\n"
    "  retv r1 @4:1\n"
    "}\n"
    "fn straight(): int { regs 1 ldi r0, 1 @1:1 iadd r0, r0, r0 iadd r0, r0, r0 retv r0 }\n"
    "fn call_straight(): int { regs 2 call r1, straight @5:1 ldi r0, 0 retv r0 }\n"
    "fn forever() { regs 0 loops 1 a: loop 0 @6:1 jmp a }\n";

/* Headers are reached with 2, 7, 12, ... units done. */
START_TEST(work_limit) {
  run_open(&r, work);
  for (uint64_t limit = 1; limit < 40; limit++) {
    run_limit(&r, limit, 0, 0);
    uint64_t at = 2;
    while (at <= limit)
      at += 5;
    if (at < 2 + 5 * 6) {
      run_faults(&r, "spin", ARGS(INT(5)), VM_FAULT_WORK, 2, at);
    } else {
      ck_assert_int_eq(run_int(&r, "spin", ARGS(INT(5))), 5);
      ck_assert_uint_eq(run_work(&r), 1 + 5 * 5 + 3 + 2);
    }
  }
  /* limits may be far away, and used up to the unit */
  run_limit(&r, 2 + 5 * 100000, 0, 0);
  ck_assert_int_eq(run_int(&r, "spin", ARGS(INT(100000))), 100000);
  run_limit(&r, 2 + 5 * 100000 - 1, 0, 0);
  run_faults(&r, "spin", ARGS(INT(100000)), VM_FAULT_WORK, 2, 2 + 5 * 100000);
  run_close(&r);
}
END_TEST

/* Nothing is tested in a straight run; a call is. */
START_TEST(work_limit_at_calls) {
  run_open(&r, work);
  run_limit(&r, 1, 0, 0);
  ck_assert_int_eq(run_int(&r, "straight", NO_ARGS), 4);
  ck_assert_uint_eq(run_work(&r), 5);
  run_faults(&r, "call_straight", NO_ARGS, VM_FAULT_WORK, 5, 8);
  run_limit(&r, 8, 0, 0);
  ck_assert_int_eq(run_int(&r, "call_straight", NO_ARGS), 0);
  run_close(&r);
}
END_TEST

static const char depth[] = "fn down(n: int): int {\n"
                            "  regs 3\n"
                            "  ldi r1, 0 @1:1\n"
                            "  ieq r2, r0, r1\n"
                            "  jf r2, more\n"
                            "  retv r0\n"
                            "more:\n"
                            "  iaddk r1, r0, -1\n"
                            "  call r1, down @2:2\n"
                            "  iaddk r1, r1, 1\n"
                            "  retv r1\n"
                            "}\n";

START_TEST(depth_limit) {
  run_open(&r, depth);
  for (uint32_t limit = 1; limit < 6; limit++) {
    run_limit(&r, 0, 0, limit);
    ck_assert_int_eq(run_int(&r, "down", ARGS(INT(limit - 1))), limit - 1);
    run_faults(&r, "down", ARGS(INT(limit)), VM_FAULT_DEPTH, 2, 12 * limit);
  }
  run_limit(&r, 0, 0, 0);
  ck_assert_int_eq(run_int(&r, "down", ARGS(INT(VM_DEFAULT_DEPTH - 1))), VM_DEFAULT_DEPTH - 1);
  run_faults(&r, "down", ARGS(INT(VM_DEFAULT_DEPTH)), VM_FAULT_DEPTH, 2, UINT64_MAX);
  run_limit(&r, 0, 0, 100000);
  ck_assert_int_eq(run_int(&r, "down", ARGS(INT(99999))), 99999);
  run_close(&r);
}
END_TEST

/* A level of `down` costs its frame and 3 registers; the outermost one costs nothing. */
START_TEST(memory_limit_of_frames) {
  const uint64_t frame = VM_FRAME_CHARGE + 3 * 8;
  run_open(&r, depth);
  for (uint64_t levels = 1; levels < 1000000; levels *= 10) {
    int64_t n = (int64_t)levels;
    run_limit(&r, 0, levels * frame, UINT32_MAX);
    ck_assert_int_eq(run_int(&r, "down", ARGS(INT(n))), n);
    run_faults(&r, "down", ARGS(INT(n + 1)), VM_FAULT_MEMORY, 2, 12 * (levels + 1));
    run_limit(&r, 0, levels * frame - 1, UINT32_MAX);
    run_faults(&r, "down", ARGS(INT(n)), VM_FAULT_MEMORY, 2, 12 * levels);
  }
  run_close(&r);
}
END_TEST

static const char lists_in_frames[] = "local mine (a: int, b: int) key (a)\n"
                                      "fn down(n: int): int {\n"
                                      "  regs 3 lists mine\n"
                                      "  new mine @1:1\n"
                                      "  ldi r1, 0\n"
                                      "  ieq r2, r0, r1\n"
                                      "  jf r2, more\n"
                                      "  retv r0\n"
                                      "more:\n"
                                      "  iaddk r1, r0, -1\n"
                                      "  call r1, down @2:2\n"
                                      "  retv r1\n"
                                      "}\n";

START_TEST(memory_limit_of_local_lists) {
  const uint64_t frame = VM_FRAME_CHARGE + 3 * 8 + 8 + VM_LIST_CHARGE + 2 * 8;
  run_open(&r, lists_in_frames);
  run_limit(&r, 0, 500 * frame, UINT32_MAX);
  ck_assert_int_eq(run_int(&r, "down", ARGS(INT(500))), 0);
  run_faults(&r, "down", ARGS(INT(501)), VM_FAULT_MEMORY, 2, UINT64_MAX);
  run_close(&r);
}
END_TEST

static uint64_t held(void) {
  ls_mem_stats stats;
  ls_mem_read_stats(r.mem, &stats);
  return stats.live_bytes;
}

/* What deep recursion needed is not kept, whether it ended well or not. */
START_TEST(frames_are_freed) {
  static const char *const programs[] = {depth, lists_in_frames};
  run_open(&r, programs[_i]);
  run_limit(&r, 0, 0, 100000);
  run_call(&r, "down", ARGS(INT(900)));
  uint64_t usual = held();
  run_call(&r, "down", ARGS(INT(99999)));
  ck_assert_uint_lt(held(), usual + (2u << 20));
  run_faults(&r, "down", ARGS(INT(100001)), VM_FAULT_DEPTH, 2, UINT64_MAX);
  ck_assert_uint_lt(held(), usual + (2u << 20));
  run_call(&r, "down", ARGS(INT(5000)));
  run_close(&r);
}
END_TEST

static const char memory[] = "list kept (k: int, v: int) key (k)\n"
                             "local q (k: int, v: int)\n"
                             "local s (k: int, v: int) key (k)\n"
                             "local part (k: int, v: int) key (k)\n"
                             "query fill_q(n: int, step: int): int {\n"
                             "  regs 6 loops 1 lists q\n"
                             "  new q\n"
                             "  ldi r2, 0\n"
                             "  ldi r3, 0\n"
                             "  ldi r4, 0\n"
                             "top:\n"
                             "  loop 0\n"
                             "  ilt r5, r4, r0\n"
                             "  jf r5, out\n"
                             "  add r2, q\n"
                             "  iadd r2, r2, r1\n"
                             "  iaddk r4, r4, 1\n"
                             "  jmp top\n"
                             "out:\n"
                             "  retv r4\n"
                             "}\n"
                             "query fill_s(n: int, step: int): int {\n"
                             "  regs 6 loops 1 lists s\n"
                             "  new s\n"
                             "  ldi r2, 0\n"
                             "  ldi r3, 0\n"
                             "  ldi r4, 0\n"
                             "top:\n"
                             "  loop 0\n"
                             "  ilt r5, r4, r0\n"
                             "  jf r5, out\n"
                             "  put r2, s\n"
                             "  iadd r2, r2, r1\n"
                             "  iaddk r4, r4, 1\n"
                             "  jmp top\n"
                             "out:\n"
                             "  retv r4\n"
                             "}\n"
                             "event fill_kept(n: int, step: int): int {\n"
                             "  regs 6 loops 1 lists kept\n"
                             "  ldi r2, 0\n"
                             "  ldi r3, 0\n"
                             "  ldi r4, 0\n"
                             "top:\n"
                             "  loop 0\n"
                             "  ilt r5, r4, r0\n"
                             "  jf r5, out\n"
                             "  put r2, kept\n"
                             "  iadd r2, r2, r1\n"
                             "  iaddk r4, r4, 1\n"
                             "  jmp top\n"
                             "out:\n"
                             "  count r4, kept\n"
                             "  retv r4\n"
                             "}\n"
                             /* a local list that ends with its function gives its memory back */
                             "fn some(n: int): int {\n"
                             "  regs 6 loops 1 lists part\n"
                             "  new part\n"
                             "  ldi r2, 0\n"
                             "  ldi r3, 0\n"
                             "top:\n"
                             "  loop 0\n"
                             "  ilt r5, r2, r0\n"
                             "  jf r5, out\n"
                             "  add r2, part\n"
                             "  iaddk r2, r2, 1\n"
                             "  jmp top\n"
                             "out:\n"
                             "  count r2, part\n"
                             "  retv r2\n"
                             "}\n"
                             "query often(times: int, n: int): int {\n"
                             "  regs 6 loops 1\n"
                             "  ldi r2, 0\n"
                             "  ldi r3, 0\n"
                             "top:\n"
                             "  loop 0\n"
                             "  ilt r4, r2, r0\n"
                             "  jf r4, out\n"
                             "  mov r5, r1\n"
                             "  call r5, some\n"
                             "  iadd r3, r3, r5\n"
                             "  iaddk r2, r2, 1\n"
                             "  jmp top\n"
                             "out:\n"
                             "  retv r3\n"
                             "}\n"
                             "const x text \"x\"\n"
                             /* x, xx, xxxx, ... */
                             "query double(n: int): int {\n"
                             "  regs 6 loops 1\n"
                             "  ldi r1, 0\n"
                             "  ldk r2, x\n"
                             "top:\n"
                             "  loop 0\n"
                             "  ilt r4, r1, r0\n"
                             "  jf r4, out\n"
                             "  mov r3, r2\n"
                             "  bif r2, concat, r2\n"
                             "  iaddk r1, r1, 1\n"
                             "  jmp top\n"
                             "out:\n"
                             "  bif r2, bytes, r2\n"
                             "  retv r2\n"
                             "}\n"
                             /* the same text again and again */
                             "query same(n: int): int {\n"
                             "  regs 6 loops 1\n"
                             "  ldi r1, 0\n"
                             "  ldi r2, 1234567\n"
                             "top:\n"
                             "  loop 0\n"
                             "  ilt r4, r1, r0\n"
                             "  jf r4, out\n"
                             "  bif r3, text_i, r2\n"
                             "  iaddk r1, r1, 1\n"
                             "  jmp top\n"
                             "out:\n"
                             "  retv r1\n"
                             "}\n";

#define POLICIES 4
static void open_memory(int n) {
  ls_policy p = ls_policy_default;
  if (n == 1)
    p.dense_min_span = p.dense_max_sparsity = 0;
  if (n >= 2)
    p.stress_seed = 5u + (unsigned)n;
  run_open_policy(&r, memory, &p);
}

/* The same row is one too many whatever the keys and the layouts. */
static uint64_t faults_at(const char *fn, int64_t step) {
  run_faults(&r, fn, ARGS(INT(1000000), INT(step)), VM_FAULT_MEMORY, 0, UINT64_MAX);
  return run_work(&r);
}

START_TEST(memory_limit_of_lists) {
  static const char *const fns[] = {"fill_q", "fill_s", "fill_kept"};
  open_memory(_i);
  uint64_t before = run_digest(&r);
  run_limit(&r, 0, 20000, 0);
  for (int f = 0; f < 3; f++) {
    uint64_t at = faults_at(fns[f], 1);
    ck_assert_uint_gt(at, 1000);
    ck_assert_uint_lt(at, 20000);
    ck_assert_uint_eq(faults_at(fns[f], -1), at);
    ck_assert_uint_eq(faults_at(fns[f], 1000003), at);
    ck_assert_uint_eq(faults_at(fns[f], INT64_C(1) << 40), at);
    ck_assert_uint_eq(run_digest(&r), before);
  }
  /* twice the memory, twice the rows (11 units a row, some around them) */
  uint64_t once = faults_at("fill_s", 1);
  run_limit(&r, 0, 40000, 0);
  uint64_t twice = faults_at("fill_s", 1);
  ck_assert_uint_ge(twice, 2 * once - 33);
  ck_assert_uint_le(twice, 2 * once + 33);
  run_limit(&r, 0, 0, 0);
  ck_assert_int_eq(run_int(&r, "fill_s", ARGS(INT(5000), INT(3))), 5000);
  ck_assert_int_eq(run_int(&r, "fill_kept", ARGS(INT(5000), INT(3))), 5000);
  run_close(&r);
}
END_TEST

/* Keys spread or close, layouts changing or not: all of the policies agree on the row. */
START_TEST(memory_limit_and_layouts) {
  static const char *const fns[] = {"fill_q", "fill_s", "fill_kept"};
  for (int f = 0; f < 3; f++) {
    uint64_t first = 0;
    for (int policy = 0; policy < POLICIES; policy++) {
      open_memory(policy);
      run_limit(&r, 0, 30000, 0);
      uint64_t at = faults_at(fns[f], 7);
      if (policy == 0)
        first = at;
      ck_assert_uint_eq(at, first);
      run_close(&r);
    }
  }
}
END_TEST

START_TEST(memory_comes_back) {
  open_memory(_i);
  run_limit(&r, 0, 20000, 0);
  ck_assert_int_eq(run_int(&r, "often", ARGS(INT(200), INT(100))), 20000);
  run_faults(&r, "often", ARGS(INT(200), INT(5000)), VM_FAULT_MEMORY, 0, UINT64_MAX);
  ck_assert_int_eq(run_int(&r, "often", ARGS(INT(2), INT(100))), 200);
  run_close(&r);
}
END_TEST

START_TEST(memory_limit_of_texts) {
  open_memory(0);
  /* 2 + 16, 4 + 16, 8 + 16 */
  run_limit(&r, 0, 2 + 4 + 8 + 3 * 16, 0);
  ck_assert_int_eq(run_int(&r, "double", ARGS(INT(3))), 8);
  run_faults(&r, "double", ARGS(INT(4)), VM_FAULT_MEMORY, 0, 2 + 3 * 14 + 1 + 12 + 2);
  run_limit(&r, 0, 2 + 4 + 8 + 3 * 16 - 1, 0);
  run_faults(&r, "double", ARGS(INT(3)), VM_FAULT_MEMORY, 0, UINT64_MAX);
  /* a text is paid for once */
  run_limit(&r, 0, 7 + 16, 0);
  ck_assert_int_eq(run_int(&r, "same", ARGS(INT(1000))), 1000);
  run_limit(&r, 0, 7 + 15, 0);
  run_faults(&r, "same", ARGS(INT(1000)), VM_FAULT_MEMORY, 0, UINT64_MAX);
  /* no text is longer than 2 GiB, whatever the limit; and each call starts anew */
  run_limit(&r, 0, 1 << 26, 0);
  run_faults(&r, "double", ARGS(INT(64)), VM_FAULT_MEMORY, 0, UINT64_MAX);
  ck_assert_int_eq(run_int(&r, "double", ARGS(INT(10))), 1024);
  run_close(&r);
}
END_TEST

typedef struct {
  _Atomic int *flag;
  const _Atomic int *started;
} canceller;

static void *cancel_soon(void *arg) {
  canceller *c = arg;
  struct timespec pause = {0, 20 * 1000 * 1000};
  while (*c->started == 0)
    nanosleep(&pause, NULL);
  nanosleep(&pause, NULL);
  *c->flag = 1;
  return NULL;
}

START_TEST(cancelled_by_another_thread) {
  run_open(&r, work);
  for (int i = 0; i < 2; i++) {
    _Atomic int flag = 0, started = 0;
    canceller c = {&flag, &started};
    pthread_t thread;
    vm_result out;
    vm_context_cancel_flag(r.cx[i], &flag);
    ck_assert_int_eq(pthread_create(&thread, NULL, cancel_soon, &c), 0);
    started = 1;
    int fn = vm_module_find(r.m, "forever", true);
    ck_assert_int_eq(vm_call(r.cx[i], (unsigned)fn, NULL, &out), VM_FAULTED);
    pthread_join(thread, NULL);
    const vm_fault *f = vm_context_fault(r.cx[i]);
    ck_assert_int_eq(f->kind, VM_FAULT_CANCELLED);
    ck_assert_uint_eq(f->pos.line, 6);
    ck_assert_uint_gt(vm_context_work(r.cx[i]), 0);
    /* still set: the next call stops at its entry */
    ck_assert_int_eq(vm_call(r.cx[i], (unsigned)fn, NULL, &out), VM_FAULTED);
    ck_assert_uint_eq(vm_context_work(r.cx[i]), 0);
    vm_context_cancel_flag(r.cx[i], NULL);
  }
  run_close(&r); /* the two have not done the same */
  run_open(&r, work);
  run_limit(&r, 1000, 0, 0);
  run_faults(&r, "forever", NO_ARGS, VM_FAULT_WORK, 6, 1001);
  run_close(&r);
}
END_TEST

int main(void) {
  Suite *s = suite_create("limits");
  TCase *t = tcase_create("limits");
  tcase_add_test(t, work_limit);
  tcase_add_test(t, work_limit_at_calls);
  tcase_add_test(t, depth_limit);
  tcase_add_test(t, memory_limit_of_frames);
  tcase_add_test(t, memory_limit_of_local_lists);
  tcase_add_loop_test(t, frames_are_freed, 0, 2);
  tcase_add_loop_test(t, memory_limit_of_lists, 0, POLICIES);
  tcase_add_test(t, memory_limit_and_layouts);
  tcase_add_loop_test(t, memory_comes_back, 0, POLICIES);
  tcase_add_test(t, memory_limit_of_texts);
  tcase_add_test(t, cancelled_by_another_thread);
  suite_add_tcase(s, t);
  SRunner *sr = srunner_create(s);
  srunner_run_all(sr, CK_ENV);
  int failed = srunner_ntests_failed(sr);
  srunner_free(sr);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
