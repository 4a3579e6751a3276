/* Links, contexts and calls: snapshots, threads, results that outlive calls, failing memory. */
#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/vm/support/assemble.h"
#include "tests/vm/support/run.h"

static const char program[] =
    "list kept (k: int, name: text) key (k)\n"
    "list log (name: text, k: int)\n"
    "local part (k: int, name: text) key (k)\n"
    "const word text \"word\"\n"
    "event put(k: int, name: text) {\n"
    "  regs 4 lists kept, log\n"
    "  put r0, kept @1:1\n"
    "  mov r2, r1\n"
    "  mov r3, r0\n"
    "  add r2, log\n"
    "  ret\n"
    "}\n"
    "query all(): (k: int, name: text) { regs 0 lists kept retl kept @2:1 }\n"
    "query entries(): (name: text, k: int) { regs 0 lists log retl log @2:1 }\n"
    /* a local copy of the rows with an even key, names doubled */
    "query some(): (k: int, name: text) {\n"
    "  regs 20 loops 1 lists kept, part\n"
    "  new part @3:1\n"
    "  ldi r1, 2\n"
    "  ldi r2, 0\n"
    "  seek r10, kept[0]\n"
    "top:\n"
    "  loop 0\n"
    "  next r10, kept[0], out\n"
    "  get r3, r10, kept.k\n"
    "  imod r4, r3, r1\n"
    "  ieq r5, r4, r2\n"
    "  jf r5, top\n"
    "  get r6, r10, kept.name\n"
    "  mov r7, r6\n"
    "  bif r4, concat, r6\n"
    "  add r3, part\n"
    "  jmp top\n"
    "out:\n"
    "  retl part\n"
    "}\n"
    "query sum(): int {\n"
    "  regs 20 loops 1 lists kept\n"
    "  ldi r1, 0 @4:1\n"
    "  seek r10, kept[0]\n"
    "top:\n"
    "  loop 0\n"
    "  next r10, kept[0], out\n"
    "  get r3, r10, kept.k\n"
    "  iadd r1, r1, r3\n"
    "  get r3, r10, kept.name\n"
    "  bif r3, bytes, r3\n"
    "  iadd r1, r1, r3\n"
    "  jmp top\n"
    "out:\n"
    "  retv r1\n"
    "}\n"
    "query word(): text { regs 1 ldk r0, word retv r0 }\n"
    "fn helper(): int { regs 1 ldi r0, 3 retv r0 }\n";

enum { PUT, ALL, ENTRIES, SOME, SUM, WORD, HELPER };

static run r;

static void put(int64_t k, const char *name) {
  for (int i = 0; i < 2; i++)
    vm_context_reset_texts(r.cx[i]);
  ls_val text = run_text(&r, name);
  run_do(&r, "put", ARGS(INT(k), text));
}

START_TEST(stored_results) {
  run_open(&r, program);
  put(2, "two");
  put(1, "one");
  put(4, "four");
  run_is_rows(&r, "all", NO_ARGS, "1 one; 2 two; 4 four");
  run_is_rows(&r, "entries", NO_ARGS, "two 2; one 1; four 4");
  run_is_rows(&r, "some", NO_ARGS, "2 twotwo; 4 fourfour");
  /* a result stays what it was while the store goes on */
  vm_result rows, other;
  ck_assert_int_eq(vm_call(r.cx[0], ALL, NULL, &rows), VM_OK);
  ck_assert_int_eq(vm_call(r.cx[1], ALL, NULL, &other), VM_OK);
  vm_result_release(&other);
  put(2, "deux");
  run_is_rows(&r, "all", NO_ARGS, "1 one; 2 deux; 4 four");
  ls_val key = INT(2);
  ls_row h;
  size_t len;
  ck_assert_int_eq(ls_list_find(rows.rows, NULL, &key, &h), LS_OK);
  uint32_t id = (uint32_t)ls_list_get(rows.rows, h, 1).u;
  ck_assert_mem_eq(ls_texts_get(vm_context_texts(r.cx[0]), id, &len), "two", 3);
  vm_result_release(&rows);
  /* and after the context is gone */
  ck_assert_int_eq(vm_call(r.cx[0], SOME, NULL, &rows), VM_OK);
  vm_context_delete(r.cx[0]);
  ck_assert_uint_eq(rows.rows->count, 2);
  vm_result_release(&rows);
  r.cx[0] = vm_context_new(r.link[0]);
  run_close(&r);
}
END_TEST

START_TEST(snapshots) {
  run_open(&r, program);
  put(1, "one");
  ls_snapshot *snap = ls_snapshot_take(vm_link_store(r.link[0]));
  vm_context *cx = vm_context_on(r.link[0], snap);
  ls_snapshot_release(snap); /* the context holds it */
  put(2, "two");
  vm_result out;
  ck_assert_int_eq(vm_call(cx, SUM, NULL, &out), VM_OK);
  ck_assert_int_eq(out.value.i, 1 + 3);
  ck_assert_int_eq(run_int(&r, "sum", NO_ARGS), 1 + 3 + 2 + 3);
  ck_assert_int_eq(vm_call(cx, ALL, NULL, &out), VM_OK);
  ck_assert_uint_eq(out.rows->count, 1);
  vm_result_release(&out);
  ck_assert_int_eq(vm_call(cx, WORD, NULL, &out), VM_OK);
  ck_assert_mem_eq(ls_texts_get(vm_context_texts(cx), (uint32_t)out.value.u, &(size_t){0}), "word",
                   4);
  /* no writing on a snapshot, not even perhaps */
  ck_assert_int_eq(vm_call(cx, PUT, ARGS(INT(1), INT(0)), &out), VM_MISUSE);
  ck_assert_int_eq(vm_call(cx, HELPER, NULL, &out), VM_MISUSE);
  ck_assert_int_eq(run_int(&r, "helper", NO_ARGS), 3);
  vm_context_delete(cx);
  run_close(&r);
}
END_TEST

#define THREADS 4
#define ROUNDS 200

typedef struct {
  vm_link *link;
  ls_snapshot *snap;
  int64_t expected;
  int wrong;
} reader;

static void *read_snapshot(void *arg) {
  reader *t = arg;
  for (int i = 0; i < ROUNDS; i++) {
    vm_context *cx = vm_context_on(t->link, t->snap);
    vm_result sum, some;
    t->wrong += cx == NULL || vm_call(cx, SUM, NULL, &sum) != VM_OK || sum.value.i != t->expected ||
                vm_call(cx, SOME, NULL, &some) != VM_OK;
    if (cx)
      vm_result_release(&some);
    vm_context_delete(cx);
  }
  return NULL;
}

/* Readers share a module and its code with each other and with the owner, who writes. */
START_TEST(many_threads) {
  run_open(&r, program);
  int64_t expected = 0;
  for (int k = 0; k < 100; k++) {
    put(k, k % 2 ? "odd" : "even");
    expected += k + (k % 2 ? 3 : 4);
  }
  reader t[THREADS];
  pthread_t thread[THREADS];
  ls_snapshot *snap = ls_snapshot_take(vm_link_store(r.link[0]));
  for (int i = 0; i < THREADS; i++) {
    t[i] = (reader){r.link[0], ls_snapshot_hold(snap), expected, 0};
    ck_assert_int_eq(pthread_create(&thread[i], NULL, read_snapshot, &t[i]), 0);
  }
  for (int k = 0; k < ROUNDS; k++)
    put(k * 7, "again");
  for (int i = 0; i < THREADS; i++) {
    pthread_join(thread[i], NULL);
    ck_assert_int_eq(t[i].wrong, 0);
    ls_snapshot_release(t[i].snap);
  }
  ck_assert_uint_ne(ls_snapshot_digest(snap), run_digest(&r));
  ls_snapshot_release(snap);
  run_close(&r);
}
END_TEST

static bool whole_life(ls_mem *mem, vm_module *m) {
  vm_link *link = vm_link_new(m, mem, NULL);
  vm_context *cx = link ? vm_context_new(link) : NULL;
  vm_result out = {0};
  uint32_t id;
  bool done = cx && ls_texts_intern(vm_context_texts(cx), "named", 5, &id) == LS_OK &&
              vm_call(cx, PUT, ARGS(INT(2), INT(id)), &out) == VM_OK &&
              vm_call(cx, SOME, NULL, &out) == VM_OK;
  if (done)
    ck_assert_uint_eq(out.rows->count, 1);
  vm_result_release(&out);
  vm_context_delete(cx);
  vm_link_delete(link);
  return done;
}

/* Every allocation of a life may be the one that fails: an error comes back, nothing leaks. */
START_TEST(memory_fails) {
  ls_mem *mem = ls_mem_new(NULL);
  vm_module *m = assemble(mem, program);
  ls_mem_stats before, after;
  ls_mem_read_stats(mem, &before);
  uint64_t n = 1;
  for (bool done = false; !done; n++) {
    ck_assert_uint_lt(n, 10000);
    ls_mem_fail_after(mem, n, 0);
    done = whole_life(mem, m);
    ls_mem_fail_after(mem, 0, 0);
    ls_mem_read_stats(mem, &after);
    ck_assert_uint_eq(after.live_bytes, before.live_bytes);
  }
  ck_assert_uint_gt(n, 10);
  vm_module_release(m);
  ls_mem_delete(mem);
}
END_TEST

/* A module that nobody verified does not run. */
START_TEST(unverified) {
  ls_mem *mem = ls_mem_new(NULL);
  vm_module *m = vm_module_new(mem, "empty");
  ck_assert_ptr_null(vm_link_new(m, mem, NULL));
  vm_module_release(m);
  ls_mem_delete(mem);
}
END_TEST

int main(void) {
  Suite *s = suite_create("link");
  TCase *t = tcase_create("link");
  tcase_add_test(t, stored_results);
  tcase_add_test(t, snapshots);
  tcase_add_test(t, many_threads);
  tcase_add_test(t, memory_fails);
  tcase_add_test(t, unverified);
  suite_add_tcase(s, t);
  SRunner *sr = srunner_create(s);
  srunner_run_all(sr, CK_ENV);
  int failed = srunner_ntests_failed(sr);
  srunner_free(sr);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
