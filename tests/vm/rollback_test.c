/* A fault of any kind leaves the store as it was, wherever in an event it falls. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/vm/support/run.h"

static run r;

/* `spoil` changes every list in every way; then the event faults as its argument says. */
static const char program[] =
    "const first text \"first\"\n"
    "const second text \"second\"\n"
    "const why text \"overdrawn\"\n"
    "list accounts (id: int, owner: text, balance: int) key (id)\n"
    "list pairs (a: int, b: int, x: real) key (a, b)\n"
    "list log (what: text, n: int)\n"
    "list sparse (k: int, d: date) key (k)\n"
    "extern tell(a: int)\n"
    "event fill() {\n"
    "  regs 8 loops 1 lists accounts, pairs, log, sparse\n"
    "  ldi r0, 0 @1:1\n"
    "  ldi r4, 50\n"
    "  ldk r1, first\n"
    "  ldi r2, 100\n"
    "top:\n"
    "  loop 0\n"
    "  ilt r5, r0, r4\n"
    "  jf r5, out\n"
    "  put r0, accounts\n"
    "  mov r6, r1\n"
    "  mov r7, r0\n"
    "  add r6, log\n"
    "  call r0, more\n"
    "  iaddk r0, r0, 1\n"
    "  jmp top\n"
    "out:\n"
    "  ret\n"
    "}\n"
    "const zero date \"0001-01-01\"\n"
    "fn more(n: int): int {\n"
    "  regs 8 lists pairs, sparse\n"
    "  ldi r4, 1000003 @1:1\n"
    "  imul r1, r0, r4\n"
    "  ldk r2, zero\n"
    "  dadd r2, r2, r0\n"
    "  put r1, sparse\n"
    "  ldi r4, 7\n"
    "  imod r5, r0, r4\n"
    "  mov r6, r0\n"
    "  bif r7, real_i, r0\n"
    "  put r5, pairs\n"
    "  retv r0\n"
    "}\n"
    "fn spoil(n: int): int {\n"
    "  regs 30 lists accounts, pairs, log, sparse\n"
    /* set and erase accounts, wide values */
    "  ldi r3, 3 @1:1\n"
    "  find r1, accounts\n"
    "  ldi r4, 2000000000\n"
    "  imul r4, r4, r4\n"
    "  set r1, r4, accounts.balance\n"
    "  ldk r5, second\n"
    "  mov r6, r5\n"
    "  bif r7, concat, r5\n"
    "  refind r1, accounts\n"
    "  set r1, r7, accounts.owner\n"
    "  ldi r8, 7\n"
    "  erase r8, accounts\n"
    "  ldi r8, -1000000\n"
    "  mov r9, r7\n"
    "  ldi r10, 1\n"
    "  add r8, accounts\n"
    /* ensure, put over, clear, sort, new keys far away */
    "  ldi r14, 99\n"
    "  ldi r15, 98\n"
    "  bif r16, real_i, r15\n"
    "  ensure r12, r16, pairs\n"
    "  bif r17, real_i, r14\n"
    "  set r12, r17, pairs.x\n"
    "  mov r20, r7\n"
    "  ldi r21, -5\n"
    "  add r20, log\n"
    "  sort log, by\n"
    "  ldi r22, 0\n"
    "  row r23, r22, log\n"
    "  set r23, r10, log.n\n"
    "  clear sparse\n"
    "  ldi r24, 12345\n"
    "  ldk r25, zero\n"
    "  add r24, sparse\n"
    "  retv r0\n"
    "}\n"
    "const by int 0xffffffffffffff02\n"
    "event ok(n: int): int { regs 1 call r0, spoil @2:1 retv r0 }\n"
    "event overflow(n: int): int { regs 2 call r0, spoil @3:1 ldi r1, 1 imul r0, r0, r0 retv r0 }\n"
    "event div_zero(n: int): int { regs 2 call r0, spoil @4:1 ldi r1, 0 idiv r0, r0, r1 retv r0 }\n"
    "event missing(n: int): int {\n"
    "  regs 5 lists accounts call r0, spoil @5:1 ldi r3, 7 find r1, accounts retv r0 }\n"
    "event duplicate(n: int): int {\n"
    "  regs 5 lists accounts call r0, spoil @6:1 ldi r1, 1 ldk r2, first ldi r3, 1 "
    "  add r1, accounts retv r0 }\n"
    "event conversion(n: int): int {\n"
    "  regs 5 call r0, spoil @7:1 ldk r1, first bif r0, int_t, r1 retv r0 }\n"
    "event deleted(n: int): int {\n"
    "  regs 5 lists log call r0, spoil @8:1 ldi r1, 0 row r2, r1, log clear log "
    "  get r0, r2, log.n retv r0 }\n"
    "event work(n: int): int {\n"
    "  regs 5 loops 1 call r0, spoil @9:1 a: loop 0 jmp a }\n"
    "event memory(n: int): int {\n"
    "  regs 5 loops 1 lists log call r0, spoil @10:1 ldk r1, first ldi r2, 0 "
    "  a: loop 0 add r1, log jmp a }\n"
    "event depth(n: int): int { regs 1 call r0, spoil @11:1 call r0, deeper retv r0 }\n"
    "fn deeper(n: int): int { regs 1 call r0, deeper @11:1 retv r0 }\n"
    "event host(n: int): int { regs 2 call r0, spoil @12:1 mov r1, r0 callx r1, tell retv r0 }\n"
    "event raised(n: int): int { regs 2 call r0, spoil @13:1 ldk r1, why fail r1 }\n"
    "event cancelled(n: int): int {\n"
    "  regs 2 loops 1 call r0, spoil @14:1 mov r1, r0 callx r1, tell a: loop 0 jmp a }\n"
    "event raise_any(n: int): int { regs 2 call r0, spoil @15:1 raise host }\n"
    "query all_accounts(): (id: int, owner: text, balance: int) {\n"
    "  regs 0 lists accounts retl accounts }\n";

static _Atomic int flag;
static bool snapshots; /* some are held */

static const char *host(void *user, vm_context *cx, unsigned number, const ls_val *args,
                        ls_val *result) {
  (void)cx, (void)number, (void)args, (void)result;
  bool cancels = *(bool *)user;
  flag = cancels;
  return cancels ? NULL : "no answer";
}

static void open_program(int n) {
  ls_policy p = ls_policy_default;
  if (n == 1)
    p.dense_min_span = p.dense_max_sparsity = 0;
  if (n >= 2)
    p.stress_seed = 900u + (unsigned)n;
  run_open_policy(&r, program, &p);
  run_do(&r, "fill", NO_ARGS);
}

static void check_lists(void) {
  char why[128];
  for (int i = 0; i < 2; i++)
    for (unsigned l = 0; l < 4; l++)
      ck_assert_msg(ls_list_check(ls_store_list(vm_link_store(r.link[i]), l), why, sizeof why),
                    "%s", why);
}

static uint32_t texts_of_store(void) {
  return ls_texts_count(ls_store_texts(vm_link_store(r.link[0])));
}

/* Faults twice, with the same digest, texts and lists before and after. */
static void faults(const char *fn, int64_t arg, vm_fault_kind kind) {
  uint64_t digest = run_digest(&r);
  uint32_t texts = texts_of_store();
  for (int i = 0; i < 2; i++) {
    run_faults(&r, fn, ARGS(INT(arg)), kind, 0, UINT64_MAX);
    ck_assert_uint_eq(run_digest(&r), digest);
    if (!snapshots) /* who reads a snapshot may know the texts */
      ck_assert_uint_eq(texts_of_store(), texts);
    check_lists();
    flag = 0;
  }
}

static void faults_of_every_kind(void) {
  bool cancels = false;
  for (int i = 0; i < 2; i++) {
    vm_context_host(r.cx[i], host, &cancels);
    vm_context_cancel_flag(r.cx[i], &flag);
  }
  faults("overflow", INT64_MAX, VM_FAULT_OVERFLOW);
  faults("div_zero", 1, VM_FAULT_DIV_ZERO);
  faults("missing", 1, VM_FAULT_MISSING);
  faults("duplicate", 1, VM_FAULT_DUPLICATE);
  faults("conversion", 1, VM_FAULT_CONVERSION);
  faults("deleted", 1, VM_FAULT_DELETED);
  run_limit(&r, 5000, 0, 0);
  faults("work", 1, VM_FAULT_WORK);
  run_limit(&r, 0, 100000, 0);
  faults("memory", 1, VM_FAULT_MEMORY);
  run_limit(&r, 0, 0, 0);
  faults("depth", 1, VM_FAULT_DEPTH);
  faults("host", 1, VM_FAULT_HOST);
  faults("raised", 1, VM_FAULT_RAISED);
  ck_assert_str_eq(vm_context_fault(r.cx[0])->message, "overdrawn");
  faults("raise_any", 1, VM_FAULT_HOST);
  cancels = true;
  /* `spoil` done, the flag is set from inside, and one loop header sees it: for the interpreter
   * later than for `step` */
  for (int i = 0; i < 2; i++) {
    uint64_t digest = ls_store_digest(vm_link_store(r.link[i]));
    vm_result out;
    int fn = vm_module_find(r.m, "cancelled", true);
    ck_assert_int_eq(vm_call(r.cx[i], (unsigned)fn, ARGS(INT(1)), &out), VM_FAULTED);
    ck_assert_int_eq(vm_context_fault(r.cx[i])->kind, VM_FAULT_CANCELLED);
    ck_assert_uint_eq(ls_store_digest(vm_link_store(r.link[i])), digest);
    flag = 0;
  }
}

START_TEST(every_kind) {
  open_program(_i);
  faults_of_every_kind();
  run_close(&r);
}
END_TEST

/* And when the event before has changed everything. */
START_TEST(every_kind_after_changes) {
  open_program(_i);
  uint64_t digest = run_digest(&r);
  ck_assert_int_eq(run_int(&r, "ok", ARGS(INT(5))), 5);
  ck_assert_uint_ne(run_digest(&r), digest);
  check_lists();
  run_do(&r, "fill", NO_ARGS); /* what `spoil` needs is there again */
  for (int i = 0; i < 2; i++) {
    ls_list *accounts = ls_store_list(vm_link_store(r.link[i]), 0);
    ck_assert_int_eq(ls_list_erase(accounts, NULL, ARGS(INT(-1000000))), LS_OK);
  }
  faults_of_every_kind();
  run_close(&r);
}
END_TEST

/* While a snapshot holds the lists: they stay as they were in it, too. */
START_TEST(with_a_snapshot) {
  open_program(_i);
  ls_snapshot *snap[2];
  uint64_t digest = run_digest(&r);
  for (int i = 0; i < 2; i++) {
    snap[i] = ls_snapshot_take(vm_link_store(r.link[i]));
    ck_assert_ptr_nonnull(snap[i]);
  }
  snapshots = true;
  faults("raised", 1, VM_FAULT_RAISED);
  snapshots = false;
  ck_assert_uint_eq(ls_snapshot_digest(snap[0]), digest);
  ck_assert_int_eq(run_int(&r, "ok", ARGS(INT(5))), 5);
  ck_assert_uint_ne(run_digest(&r), digest);
  for (int i = 0; i < 2; i++) {
    ck_assert_uint_eq(ls_snapshot_digest(snap[i]), digest);
    ls_snapshot_release(snap[i]);
  }
  run_close(&r);
}
END_TEST

/* At whatever allocation memory of the system ends, the store stays as it was, and a call with
 * enough memory then succeeds. */
START_TEST(without_memory) {
  open_program(0);
  vm_context *cx = r.cx[0];
  ls_store *store = vm_link_store(r.link[0]);
  uint64_t digest = ls_store_digest(store);
  int fn = vm_module_find(r.m, "ok", true), failed = 0;
  vm_status status = VM_FAULTED;
  vm_result out;
  for (uint64_t n = 1; status != VM_OK && n < 10000; n++) {
    ls_mem_fail_after(r.mem, n, 0);
    status = vm_call(cx, (unsigned)fn, ARGS(INT(5)), &out);
    ls_mem_fail_after(r.mem, 0, 0);
    if (status == VM_OK)
      break;
    failed++;
    ck_assert(status == VM_NO_MEMORY || status == VM_FAULTED);
    if (status == VM_FAULTED)
      ck_assert_int_eq(vm_context_fault(cx)->kind, VM_FAULT_MEMORY);
    ck_assert_uint_eq(ls_store_digest(store), digest);
  }
  ck_assert_int_eq(status, VM_OK);
  ck_assert_int_gt(failed, 5);
  ck_assert_uint_ne(ls_store_digest(store), digest);
  run_close(&r);
}
END_TEST

int main(void) {
  Suite *s = suite_create("rollback");
  TCase *t = tcase_create("rollback");
  tcase_add_loop_test(t, every_kind, 0, 4);
  tcase_add_loop_test(t, every_kind_after_changes, 0, 4);
  tcase_add_loop_test(t, with_a_snapshot, 0, 4);
  tcase_add_test(t, without_memory);
  suite_add_tcase(s, t);
  SRunner *sr = srunner_create(s);
  srunner_run_all(sr, CK_ENV);
  int failed = srunner_ntests_failed(sr);
  srunner_free(sr);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
