/* Why a loop is not compiled: each reason that docs/tiers.md lists, provoked. */
#define _GNU_SOURCE /* pthread_setattr_default_np */
#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/jit/support/planted.h"

typedef struct {
  ls_mem *mem;
  vm_tier *tier;
  vm_module *m;
  vm_link *link;
  vm_context *cx;
} world;

static char heard[400];

static void hear(void *user, const char *line) {
  if (strstr(line, user))
    snprintf(heard, sizeof heard, "%s", line);
}

/* words: of the line of the log that is kept. */
static void world_tier(world *w, vm_tier_options o, const char *words) {
  *w = (world){.mem = ls_mem_new(NULL)};
  o.log = hear;
  o.user = (void *)(uintptr_t)words;
  heard[0] = 0;
  w->tier = vm_tier_new(w->mem, &o);
  ck_assert_ptr_nonnull(w->tier);
}

static void world_program(world *w, const char *source) {
  ck_assert_int_eq(lang_compile(w->mem, "why", source, strlen(source), &w->m, NULL, NULL), LS_OK);
  w->link = vm_link_new(w->m, w->mem, NULL);
  ck_assert(vm_link_use_tier(w->link, w->tier));
  w->cx = vm_context_new(w->link);
}

static int64_t call(world *w, int64_t n) {
  vm_result r;
  ls_val arg = {.i = n};
  ck_assert_int_eq(vm_call(w->cx, 0, &arg, &r), VM_OK);
  vm_result_release(&r);
  return r.value.i;
}

/* Of the first function; loop UINT32_MAX: of its start. */
static vm_entry_stats entry(world *w, unsigned loop) {
  vm_entry_stats s;
  unsigned start = w->m->fns[0].nloops;
  ck_assert(vm_link_read_entry(w->link, 0, loop < start ? loop : start, &s));
  return s;
}

static void world_close(world *w) {
  vm_context_delete(w->cx);
  vm_link_delete(w->link);
  vm_module_release(w->m);
  vm_tier_delete(w->tier);
  ls_mem_delete(w->mem);
}

static const char sum[] = "query sum(n: int): int {\n"
                          "  var s = 0\n"
                          "  for i in 1 .. n {\n"
                          "    for k in 1 .. 10 { s += i * k % 7 }\n"
                          "  }\n"
                          "  return s\n"
                          "}\n";
static const vm_tier_options eager = {
    .level = 2, .sync = true, .has_threshold = true, .threshold = 100};

/* Calls come to nothing beside loops. */
static const vm_tier_options loops_first = {
    .level = 2, .sync = true, .has_threshold = true, .threshold = 5000};

static void expect(world *w, unsigned loop, unsigned level, const char *why) {
  vm_entry_stats s = entry(w, loop);
  ck_assert_msg(strstr(s.why, why) != NULL, "expected '%s', not '%s'", why, s.why);
  ck_assert_uint_eq(s.level, level);
}

START_TEST(cold) {
  world w;
  world_tier(&w, (vm_tier_options){.level = 2, .sync = true}, "sum");
  world_program(&w, sum);
  call(&w, 3);
  expect(&w, 0, 0, "not enough work");
  world_close(&w);
}
END_TEST

/* The inner loop is in the code of the outer one, or of the function. */
START_TEST(within) {
  world w;
  world_tier(&w, eager, "sum");
  world_program(&w, sum);
  call(&w, 2000);
  ck_assert_uint_eq(entry(&w, 0).level, 2);
  expect(&w, 1, 2, "in the code of sum:");
  world_close(&w);
}
END_TEST

/* A job that has not come to its turn yet. */
START_TEST(queued) {
  world w;
  vm_tier_options o = eager;
  o.sync = false;
  world_tier(&w, o, "sum");
  world_program(&w, sum);
  pthread_mutex_lock(&w.tier->loading); /* whoever would compile waits for that */
  call(&w, 2000);
  char why[400];
  snprintf(why, sizeof why, "%s%s", entry(&w, 0).why, entry(&w, UINT32_MAX).why);
  pthread_mutex_unlock(&w.tier->loading);
  ck_assert_msg(strstr(why, "it is being compiled") != NULL, "%s", why);
  world_close(&w);
}
END_TEST

static char *large_source(void) {
  enum { LINES = 1500 };
  char *text = malloc(LINES * 40 + 200), *at = text;
  ck_assert_ptr_nonnull(text);
  at += sprintf(at, "query sum(n: int): int {\n  var s = 0\n  for i in 1 .. n {\n");
  for (unsigned i = 0; i < LINES; i++)
    at += sprintf(at, "    s += i * %u %% 7\n", i + 3);
  sprintf(at, "  }\n  return s\n}\n");
  return text;
}

START_TEST(large) {
  world w;
  char *text = large_source();
  world_tier(&w, eager, "refused");
  world_program(&w, text);
  call(&w, 20);
  expect(&w, 0, 0, "too much code");
  ck_assert_msg(strstr(heard, "refused: too much code") != NULL, "%s", heard);
  world_close(&w);
  free(text);
}
END_TEST

/* The work is done by the sort, and seen at the header of the loop behind it. */
START_TEST(empty) {
  world w;
  world_tier(&w, loops_first, "refused");
  world_program(&w, "query least(n: int): int {\n"
                    "  local l (x: int)\n"
                    "  for i in 1 .. n { add l (n - i) }\n"
                    "  sort l by x\n"
                    "  for r in l { return r.x }\n"
                    "  return -1\n"
                    "}\n");
  ck_assert_int_eq(call(&w, 3000), 0);
  expect(&w, 1, 0, "the loop never goes round");
  ck_assert_msg(strstr(heard, "the loop never goes round") != NULL, "%s", heard);
  world_close(&w);
}
END_TEST

START_TEST(full) {
  world w;
  vm_tier_options o = loops_first;
  o.most_code = 1;
  world_tier(&w, o, "refused");
  world_program(&w, "query sum(n: int): int {\n"
                    "  var s = 0\n"
                    "  for i in 1 .. n { s += i }\n"
                    "  for i in 1 .. n { s += i % 5 }\n"
                    "  return s\n"
                    "}\n");
  call(&w, 2000);
  ck_assert_uint_eq(entry(&w, 0).level, 2);
  expect(&w, 1, 0, "all the memory that compiled code may take");
  ck_assert_msg(strstr(heard, "all the memory") != NULL, "%s", heard);
  world_close(&w);
}
END_TEST

START_TEST(no_memory) {
  world w;
  world_tier(&w, eager, "refused");
  ck_assert(vm_tier_load(w.tier));
  world_program(&w, sum);
  bool seen = false;
  for (unsigned n = 1; n < 400 && !seen; n += 7) {
    ls_mem_fail_after(w.mem, n, 0);
    vm_result r;
    ls_val arg = {.i = 300};
    if (vm_call(w.cx, 0, &arg, &r) == VM_OK)
      vm_result_release(&r);
    seen = strstr(entry(&w, 0).why, "no memory") || strstr(entry(&w, UINT32_MAX).why, "no memory");
  }
  ls_mem_fail_after(w.mem, 0, 0);
  ck_assert(seen);
  world_close(&w);
}
END_TEST

/* Threads that want more room than there is. */
START_TEST(no_thread) {
  world w;
  pthread_attr_t before, huge;
  vm_tier_options o = eager;
  o.sync = false;
  ck_assert_int_eq(pthread_getattr_default_np(&before), 0);
  pthread_attr_init(&huge);
  ck_assert_int_eq(pthread_attr_setstacksize(&huge, (size_t)1 << 46), 0);
  ck_assert_int_eq(pthread_setattr_default_np(&huge), 0);
  world_tier(&w, o, "refused");
  world_program(&w, sum);
  call(&w, 2000);
  ck_assert_int_eq(pthread_setattr_default_np(&before), 0);
  ck_assert_msg(strstr(heard, "no thread that compiles could be started") != NULL, "%s", heard);
  world_close(&w);
  pthread_attr_destroy(&huge);
  pthread_attr_destroy(&before);
}
END_TEST

static uint32_t slow(vm_frame *f, vm_context *cx) {
  uint64_t from = vm_clock_ns(), work = cx->work;
  uint32_t exit = planted_now()->inner->enter(f, cx);
  while (vm_clock_ns() - from < (cx->work - work) * 100)
    continue;
  return exit;
}

START_TEST(slower) {
  world w;
  vm_tier_options o = {
      .level = VM_TIER_AUTO, .sync = true, .has_threshold = true, .threshold = 200000};
  world_tier(&w, o, "slower");
  planted_set(w.tier, slow);
  world_program(&w, sum);
  for (unsigned i = 0; i < 200 && heard[0] == 0; i++)
    call(&w, 400);
  ck_assert_msg(strstr(heard, "its code is slower than the interpreter") != NULL, "%s", heard);
  world_close(&w);
}
END_TEST

/* Leaves at once, as if a list were not as assumed. */
static uint32_t never_fits(vm_frame *f, vm_context *cx) {
  const vm_jit_code *inner = planted_now()->inner;
  (void)f;
  (void)cx;
  for (uint32_t i = 0; i < inner->nexits; i++)
    if (inner->exits[i].reason == VM_JIT_EXIT_FAULT)
      return i;
  ck_abort_msg("no exit for a fault");
}

START_TEST(unfit) {
  world w;
  world_tier(&w, loops_first, "");
  planted_set(w.tier, never_fits);
  world_program(&w, sum);
  bool seen = false;
  for (unsigned i = 0; i < 2000 && !seen; i++) {
    call(&w, 2000);
    seen = strstr(entry(&w, 0).why, "its code never fitted for long") != NULL;
  }
  ck_assert_msg(seen, "%s / %s", entry(&w, 0).why, entry(&w, UINT32_MAX).why);
  world_close(&w);
}
END_TEST

/* The plug-in says that nothing can be compiled any more: said once, and not asked again. */
START_TEST(denied) {
  world w;
  world_tier(&w, eager, "");
  planted_set(w.tier, slow);
  planted_now()->says = VM_JIT_DENIED;
  world_program(&w, sum);
  int64_t answer = call(&w, 2000);
  vm_tier_stats s;
  vm_tier_read(w.tier, &s);
  ck_assert_str_eq(s.why, "planted");
  ck_assert_uint_eq(s.compiled, 0);
  ck_assert_int_eq(call(&w, 2000), answer);
  planted_now()->says = VM_JIT_OK;
  call(&w, 2000);
  ck_assert_uint_eq(planted_now()->compiles, 0);
  world_close(&w);
}
END_TEST

int main(void) {
  Suite *s = suite_create("reasons");
  TCase *t = tcase_create("reasons");
  tcase_set_timeout(t, 600);
  tcase_add_test(t, cold);
  tcase_add_test(t, within);
  tcase_add_test(t, queued);
  tcase_add_test(t, large);
  tcase_add_test(t, empty);
  tcase_add_test(t, full);
  tcase_add_test(t, no_memory);
  tcase_add_test(t, no_thread);
  tcase_add_test(t, slower);
  tcase_add_test(t, unfit);
  tcase_add_test(t, denied);
  suite_add_tcase(s, t);
  SRunner *r = srunner_create(s);
  srunner_run_all(r, CK_ENV);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed != 0;
}
