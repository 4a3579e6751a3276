/* A time limit that falls into one long instruction: the call ends soon after it, the store is as
 * it was, and the next call does the work. */
#include "support/host_support.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ROWS 1500000

static const char program[] = "list log (a: int, x: real)\n"
                              "event reorder(n: int, back: bool): int {\n"
                              "  var s = 0\n"
                              "  for i in 1..n {\n"
                              "    s += i % 7\n"
                              "    if i = n {\n"
                              "      if back { sort log by x desc, a } else { sort log by x, a }\n"
                              "    }\n"
                              "  }\n"
                              "  return s\n"
                              "}\n";

/* Of this thread: others may be at work on the same machine. */
static double used(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void fill(pure_store *store) {
  pure_error e = {0};
  pure_fill *f;
  int64_t *a = malloc(ROWS * sizeof *a);
  double *x = malloc(ROWS * sizeof *x);
  for (int64_t i = 0; i < ROWS; i++) {
    a[i] = i;
    x[i] = (double)(int64_t)((uint64_t)i * UINT64_C(0x9e3779b97f4a7c15) >> 3);
  }
  host_fine(pure_fill_new(store, "log", &f, &e), &e);
  host_fine(pure_fill_ints(f, 0, a, ROWS, &e), &e);
  host_fine(pure_fill_reals(f, 1, x, ROWS, &e), &e);
  host_fine(pure_fill_finish(f, PURE_DUPLICATE_ERROR, &e), &e);
  pure_fill_release(f);
  free(a);
  free(x);
}

static pure_status reorder(pure_session *session, bool back, double *seconds, pure_error *e) {
  pure_value args[2] = {pure_int(200000), pure_bool(back)};
  double from = used();
  pure_status status = pure_session_call(session, "reorder", args, 2, NULL, e);
  *seconds = used() - from;
  return status;
}

static uint64_t limited_at(pure_jit jit) {
  host_world w = {0};
  pure_error e = {0};
  pure_jit_options tiers = {.size = sizeof tiers, .threshold = 1};
  pure_engine_options options = {
      .size = sizeof options, .jit = jit, .jit_sync = true, .tiers = &tiers};
  host_fine(pure_engine_new(&options, &w.engine, &e), &e);
  host_fine(pure_program_compile(w.engine, "s.pure", program, strlen(program), NULL, NULL,
                                 &w.program, &e),
            &e);
  host_fine(pure_store_new(w.program, &w.store, &e), &e);
  host_fine(pure_session_new(w.store, &w.session, &e), &e);
  fill(w.store);
  double whole, cut;
  host_fine(reorder(w.session, false, &whole, &e), &e);
  host_fine(reorder(w.session, false, &whole, &e), &e); /* with what there is to compile compiled */
  uint64_t before = host_digest(w.store);
  pure_limits limits = {.milliseconds = 20};
  host_fine(pure_session_limit(w.session, &limits, &e), &e);
  host_refused(reorder(w.session, true, &cut, &e), &e, PURE_FAULT, "time limit");
  ck_assert_int_eq(e.fault, PURE_FAULT_CANCELLED);
  ck_assert_uint_eq(host_digest(w.store), before);
  ck_assert_msg(cut < 0.02 + 0.5 * whole, "level %d: %.3f s of %.3f s under a limit of 20 ms",
                (int)jit - (int)PURE_JIT_0, cut, whole);
  host_fine(pure_session_limit(w.session, &(pure_limits){0}, &e), &e);
  host_fine(reorder(w.session, true, &whole, &e), &e);
  uint64_t after = host_digest(w.store);
  ck_assert_uint_ne(after, before);
  host_close(&w);
  return after;
}

START_TEST(a_sort_ends_soon_after_the_limit) {
  uint64_t first = limited_at(PURE_JIT_0);
  for (pure_jit jit = PURE_JIT_1; jit <= PURE_JIT_3; jit++)
    ck_assert_uint_eq(limited_at(jit), first);
}
END_TEST

static bool told(void *user, uint64_t work) {
  uint64_t *last = user;
  ck_assert_uint_ge(work, *last); /* what is told never goes back */
  *last = work;
  return true;
}

/* Progress that is told within a sort does not go back. */
START_TEST(progress_goes_forward) {
  host_world w = {0};
  pure_error e = {0};
  uint64_t last = 0;
  double seconds;
  host_open(&w, program);
  fill(w.store);
  host_fine(pure_session_progress(w.session, 0, told, &last, &e), &e);
  host_fine(reorder(w.session, false, &seconds, &e), &e);
  ck_assert_uint_gt(last, 200000);
  host_close(&w);
}
END_TEST

static const char slow_program[] = "pure extern fn nap(i: int): int\n"
                                   "query naps(n: int): int {\n"
                                   "  var s = 0\n"
                                   "  for i in 1..n { s += nap(i) }\n"
                                   "  return s\n"
                                   "}\n";

static int64_t nap(pure_call *call, int64_t i) {
  (void)call;
  nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
  return i;
}

static bool third(void *user, uint64_t work) {
  (void)work;
  return ++*(int *)user < 3;
}

/* Functions of the host take long and charge little: progress is told all the same. */
START_TEST(progress_beside_slow_functions) {
  for (pure_jit jit = PURE_JIT_0; jit <= PURE_JIT_3; jit += PURE_JIT_3 - PURE_JIT_0) {
    host_world w = {0};
    pure_error e = {0};
    int told = 0;
    const pure_binding b = {"pure nap(int): int", (pure_function)nap, NULL};
    pure_jit_options tiers = {.size = sizeof tiers, .threshold = 1};
    pure_engine_options options = {
        .size = sizeof options, .jit = jit, .jit_sync = true, .tiers = &tiers};
    host_fine(pure_engine_new(&options, &w.engine, &e), &e);
    host_fine(pure_program_compile(w.engine, "n.pure", slow_program, strlen(slow_program), NULL,
                                   NULL, &w.program, &e),
              &e);
    host_fine(pure_bind(w.program, &b, 1, &e), &e);
    host_fine(pure_store_new(w.program, &w.store, &e), &e);
    host_fine(pure_session_new(w.store, &w.session, &e), &e);
    host_fine(pure_session_progress(w.session, 20000000, third, &told, &e), &e);
    pure_value n = pure_int(1000);
    host_refused(pure_session_call(w.session, "naps", &n, 1, NULL, &e), &e, PURE_FAULT, "");
    ck_assert_int_eq(e.fault, PURE_FAULT_CANCELLED);
    ck_assert_int_eq(told, 3);
    host_close(&w);
  }
}
END_TEST

int main(void) {
  const TTest *const tests[] = {a_sort_ends_soon_after_the_limit, progress_goes_forward,
                                progress_beside_slow_functions};
  return HOST_RUN("stop", tests);
}
