/* Loops whose rounds are counted, and whose work is checked before them as a whole: a time limit
 * and a cancel are seen all the same, in compiled code too. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "support/host_support.h"

/* Without a look at the limits each would take minutes. */
static const char source[] = "query test_last(n: int): int {\n"
                             "  var s = 0\n"
                             "  for i in 1..n { s += i % 7 }\n"
                             "  return s\n"
                             "}\n"
                             "query test_first(n: int): int {\n"
                             "  var s = 0\n"
                             "  var i = 0\n"
                             "  while i < n {\n"
                             "    s += i % 7\n"
                             "    i += 1\n"
                             "  }\n"
                             "  return s\n"
                             "}\n"
                             "query stores(n: int): int {\n"
                             "  local t (x: int)\n"
                             "  add t (0)\n"
                             "  for i in 1..n {\n"
                             "    for r in t { r.x = i }\n"
                             "  }\n"
                             "  return n\n"
                             "}\n";

static const char *const queries[] = {"test_last", "test_first", "stores"};

static void open_level(host_world *w, pure_jit jit) {
  pure_error e = {0};
  pure_jit_options tiers = {.size = sizeof tiers, .threshold = 1};
  pure_engine_options options = {
      .size = sizeof options, .jit = jit, .jit_sync = true, .tiers = &tiers};
  memset(w, 0, sizeof *w);
  host_fine(pure_engine_new(&options, &w->engine, &e), &e);
  host_fine(
      pure_program_compile(w->engine, "long", source, strlen(source), NULL, NULL, &w->program, &e),
      &e);
  host_fine(pure_store_new(w->program, &w->store, &e), &e);
  host_fine(pure_session_new(w->store, &w->session, &e), &e);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void ends_soon(host_world *w, const char *query, const char *words) {
  pure_error e = {0};
  const char *rounds[] = {"900000000000"};
  double start = now();
  host_refused(pure_session_call_texts(w->session, query, rounds, 1, NULL, &e), &e, PURE_FAULT,
               words);
  double took = now() - start;
  ck_assert_msg(took < 10, "%s: %f s", query, took);
}

START_TEST(time_limit) {
  for (pure_jit jit = PURE_JIT_0; jit <= PURE_JIT_3; jit++) {
    host_world w;
    pure_error e = {0};
    pure_limits limits = {.milliseconds = 100};
    open_level(&w, jit);
    for (unsigned q = 0; q < 3; q++)
      for (int i = 0; i < 3; i++)
        host_call(&w, queries[q], "100000", NULL);
    host_fine(pure_session_limit(w.session, &limits, &e), &e);
    for (unsigned q = 0; q < 3; q++)
      ends_soon(&w, queries[q], "time limit");
    host_close(&w);
  }
}
END_TEST

static void *cancel_soon(void *session) {
  nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
  pure_session_cancel(session);
  return NULL;
}

START_TEST(cancel) {
  for (pure_jit jit = PURE_JIT_1; jit <= PURE_JIT_3; jit++) {
    host_world w;
    pthread_t thread;
    open_level(&w, jit);
    for (unsigned q = 0; q < 3; q++) {
      for (int i = 0; i < 3; i++)
        host_call(&w, queries[q], "100000", NULL);
      ck_assert_int_eq(pthread_create(&thread, NULL, cancel_soon, w.session), 0);
      ends_soon(&w, queries[q], "cancelled");
      pthread_join(thread, NULL);
    }
    host_close(&w);
  }
}
END_TEST

/* Longer than some strips: what comes out, and the work, is as without compiling. */
START_TEST(answers) {
  for (unsigned q = 0; q < 3; q++) {
    int64_t wanted = 0;
    uint64_t work = 0;
    for (pure_jit jit = PURE_JIT_0; jit <= PURE_JIT_3; jit++) {
      host_world w;
      open_level(&w, jit);
      host_call(&w, queries[q], "100000", NULL);
      int64_t answer = host_call(&w, queries[q], "3000000", NULL);
      if (jit == PURE_JIT_0) {
        wanted = answer;
        work = pure_session_work(w.session);
      }
      ck_assert_int_eq(answer, wanted);
      ck_assert_uint_eq(pure_session_work(w.session), work);
      host_close(&w);
    }
  }
}
END_TEST

int main(void) {
  const TTest *const tests[] = {time_limit, cancel, answers};
  return HOST_RUN("long_loops", tests);
}
