/* Contexts in several threads while code comes and goes behind them: answers stay what they are,
 * and nothing is left over. */
#include <check.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vm/vm.h"
#include "vm/vm_tier.h"

static const char source[] = "list edges (from: int, to: int) key (from, to)\n"
                             "event fill(n: int) {\n"
                             "  for i in 0 .. n {\n"
                             "    for k in 1 .. 3 {\n"
                             "      put edges (i, (i * 7 + k * 131) % n)\n"
                             "    }\n"
                             "  }\n"
                             "}\n"
                             "query reach(start: int): int {\n"
                             "  local seen (node: int) key (node)\n"
                             "  local queue (node: int)\n"
                             "  put seen (start)\n"
                             "  add queue (start)\n"
                             "  for q in queue {\n"
                             "    for e in edges[q.node] {\n"
                             "      if e.to not in seen {\n"
                             "        put seen (e.to)\n"
                             "        add queue (e.to)\n"
                             "      }\n"
                             "    }\n"
                             "  }\n"
                             "  return count(queue)\n"
                             "}\n"
                             "query sum(n: int): int {\n"
                             "  var s = 0\n"
                             "  for i in 1 .. n {\n"
                             "    s += i * i % 13\n"
                             "  }\n"
                             "  return s\n"
                             "}\n";

enum { STARTS = 12, SUM_TO = 3000 };

typedef struct {
  vm_module *m;
  vm_link *link;
  ls_snapshot *snap;
  int reach, sum;
  int64_t reached[STARTS], summed; /* by the interpreter */
} world;

static int64_t call(vm_context *cx, int fn, int64_t arg) {
  vm_result r;
  ls_val v = {.i = arg};
  ck_assert_int_eq(vm_call(cx, (unsigned)fn, &v, &r), VM_OK);
  int64_t n = r.value.i;
  vm_result_release(&r);
  return n;
}

static void *reader(void *user) {
  world *w = user;
  for (unsigned round = 0; round < 4; round++) {
    vm_context *cx = vm_context_on(w->link, w->snap);
    for (unsigned i = 0; i < STARTS; i++) {
      ck_assert_int_eq(call(cx, w->reach, i), w->reached[i]);
      ck_assert_int_eq(call(cx, w->sum, SUM_TO), w->summed);
    }
    vm_context_delete(cx);
  }
  return NULL;
}

static void fill(vm_context *cx, const vm_module *m) {
  ls_val n = {.i = 700};
  vm_result r;
  int fn = vm_module_find(m, "fill", false);
  ck_assert_int_eq(vm_call(cx, (unsigned)fn, &n, &r), VM_OK);
}

static void find_answers(world *w, ls_mem *mem) {
  vm_link *plain = vm_link_new(w->m, mem, NULL);
  vm_context *cx = vm_context_new(plain);
  fill(cx, w->m);
  for (unsigned i = 0; i < STARTS; i++)
    w->reached[i] = call(cx, w->reach, i);
  w->summed = call(cx, w->sum, SUM_TO);
  vm_context_delete(cx);
  vm_link_delete(plain);
}

static void open_world(world *w, ls_mem *mem, vm_tier *t) {
  ck_assert_int_eq(lang_compile(mem, "threads", source, sizeof source - 1, &w->m, NULL, NULL),
                   LS_OK);
  w->reach = vm_module_find(w->m, "reach", false);
  w->sum = vm_module_find(w->m, "sum", false);
  find_answers(w, mem);
  w->link = vm_link_new(w->m, mem, NULL);
  ck_assert(vm_link_use_tier(w->link, t));
  vm_context *cx = vm_context_new(w->link);
  fill(cx, w->m);
  ck_assert_int_eq(call(cx, w->reach, 0), w->reached[0]);
  w->snap = ls_snapshot_take(vm_link_store(w->link));
  vm_context_delete(cx);
}

/* Compiled at once, or behind their backs; on one thread or three. */
static const vm_tier_options options[] = {
    {.level = 2, .threads = 1, .has_threshold = true, .threshold = 2000},
    {.level = VM_TIER_AUTO, .threads = 3, .has_threshold = true, .threshold = 500},
    {.level = 3, .sync = true, .has_threshold = true, .threshold = 5000},
    {.level = 2, .threads = 2, .has_threshold = true, .threshold = 0, .stress = 3},
};

/* No page is ever writable and executable at once, whatever is being compiled meanwhile. */
static void *watcher(void *user) {
  const atomic_bool *end = user;
  char line[400];
  uintptr_t looks = 0;
  do {
    FILE *maps = fopen("/proc/self/maps", "r");
    ck_assert_ptr_nonnull(maps);
    while (fgets(line, sizeof line, maps))
      ck_assert_msg(strstr(line, " rwx") == NULL && strstr(line, " -wx") == NULL, "%s", line);
    fclose(maps);
    looks++;
  } while (!atomic_load(end));
  return (void *)looks;
}

START_TEST(readers) {
  enum { N = 3 };
  pthread_t thread[N], watch;
  atomic_bool end = false;
  void *looks;
  world w;
  ls_mem *mem = ls_mem_new(NULL);
  vm_tier *t = vm_tier_new(mem, &options[_i]);
  ck_assert(vm_tier_load(t));
  ck_assert_int_eq(pthread_create(&watch, NULL, watcher, &end), 0);
  open_world(&w, mem, t);
  for (unsigned i = 0; i < N; i++)
    ck_assert_int_eq(pthread_create(&thread[i], NULL, reader, &w), 0);
  for (unsigned i = 0; i < N; i++)
    pthread_join(thread[i], NULL);
  atomic_store(&end, true);
  pthread_join(watch, &looks);
  ck_assert_ptr_nonnull(looks);
  vm_tier_stats s;
  ls_snapshot_release(w.snap);
  vm_link_delete(w.link);
  vm_module_release(w.m);
  vm_tier_read(t, &s);
  ck_assert_uint_gt(s.compiled, 0);
  ck_assert_uint_eq(s.code_bytes, 0);
  vm_tier_delete(t);
  ls_mem_delete(mem);
}
END_TEST

/* A link goes while its code is being made. */
START_TEST(gone) {
  ls_mem *mem = ls_mem_new(NULL);
  vm_tier *t = vm_tier_new(mem, &options[0]);
  ck_assert(vm_tier_load(t));
  for (unsigned i = 0; i < 6; i++) {
    world w;
    open_world(&w, mem, t);
    ls_snapshot_release(w.snap);
    vm_link_delete(w.link);
    vm_module_release(w.m);
  }
  vm_tier_delete(t);
  ls_mem_delete(mem);
}
END_TEST

int main(void) {
  Suite *s = suite_create("threads");
  TCase *t = tcase_create("threads");
  tcase_set_timeout(t, 600);
  tcase_add_loop_test(t, readers, 0, sizeof options / sizeof *options);
  tcase_add_test(t, gone);
  suite_add_tcase(s, t);
  SRunner *r = srunner_create(s);
  srunner_run_all(r, CK_ENV);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed != 0;
}
