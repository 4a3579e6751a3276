/* Programs that want too much: depth of a text, rows, time, calls; and being told of progress. */
#include "support/host_support.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char program[] = "list kept (i: int) key (i)\n"
                              "query hoard: int {\n"
                              "  local l (i: int, j: int)\n"
                              "  for i in 1..2147483648 { add l (i * 5000000000, i) }\n"
                              "  return count(l)\n"
                              "}\n"
                              "event keep: int {\n"
                              "  for i in 1..2147483648 { put kept (i * 1000) }\n"
                              "  return count(kept)\n"
                              "}\n"
                              "query spin: int {\n"
                              "  var i = 0\n"
                              "  while true { i = (i + 1) % 10 }\n"
                              "  return i\n"
                              "}\n"
                              "fn down(n: int): int { return 1 + down(n + 1) }\n"
                              "query deep: int { return down(1) }\n"
                              "query some(n: int): int {\n"
                              "  var s = 0\n"
                              "  for i in 1..n { s += i }\n"
                              "  return s\n"
                              "}\n";

static void open_limited(host_world *w, const pure_engine_options *options) {
  pure_error e = {0};
  memset(w, 0, sizeof *w);
  host_fine(pure_engine_new(options, &w->engine, &e), &e);
  host_fine(pure_program_compile(w->engine, "l.pure", program, strlen(program), NULL, NULL,
                                 &w->program, &e),
            &e);
  host_fine(pure_store_new(w->program, &w->store, &e), &e);
  host_fine(pure_session_new(w->store, &w->session, &e), &e);
}

static void faults(host_world *w, const char *name, pure_fault fault, const char *part) {
  pure_error e = {0};
  host_refused(pure_session_call(w->session, name, NULL, 0, NULL, &e), &e, PURE_FAULT, part);
  ck_assert_msg(e.fault == fault, "%s: %s", name, pure_fault_name(e.fault));
  ck_assert_uint_gt(e.line, 0);
}

/* Text that is nested too deep is refused, and not by running out of the stack of C. */
START_TEST(nested_parentheses) {
  enum { DEPTH = 100000 };
  static const char *const opens[] = {"(", "-(", "not (", "if true { "};
  for (int k = 0; k < 4; k++) {
    pure_error e = {0};
    host_world w;
    pure_program *p;
    size_t each = strlen(opens[k]);
    char *text = malloc(DEPTH * (each + 1) + 64), *at = text;
    at += sprintf(at, "query f: int { return ");
    for (int i = 0; i < DEPTH; i++, at += each)
      memcpy(at, opens[k], each);
    *at++ = '1';
    memset(at, k == 3 ? '}' : ')', DEPTH);
    at += DEPTH;
    at += sprintf(at, " }\n");
    host_open(&w, NULL);
    host_refused(pure_program_compile(w.engine, "n", text, (size_t)(at - text), NULL, NULL, &p, &e),
                 &e, PURE_BAD_PROGRAM, "");
    ck_assert_uint_gt(e.line, 0);
    free(text);
    host_close(&w);
  }
}
END_TEST

static void hoard_on(pure_jit jit) {
  host_world w;
  pure_error e = {0};
  pure_memory_stats m;
  pure_engine_options options = {.size = sizeof options, .jit = jit, .max_memory = 64u << 20};
  open_limited(&w, &options);
  uint64_t before = host_digest(w.store);
  faults(&w, "hoard", PURE_FAULT_MEMORY, "max_memory of the engine (67108864 bytes)");
  faults(&w, "keep", PURE_FAULT_MEMORY, "max_memory of the engine (67108864 bytes)");
  ck_assert_uint_eq(host_digest(w.store), before);
  pure_engine_memory(w.engine, &m);
  ck_assert_uint_le(m.peak_bytes, 64u << 20);
  ck_assert_int_eq(host_call(&w, "some", "10", NULL), 55);
  /* Columns from outside count too. */
  enum { N = 3000000 };
  pure_fill *fill;
  int64_t *values = calloc(N, sizeof *values);
  for (int i = 0; i < N; i++)
    values[i] = (int64_t)i << 33;
  host_fine(pure_fill_new(w.store, "kept", &fill, &e), &e);
  pure_status status = PURE_OK;
  for (int i = 0; i < 4 && status == PURE_OK; i++)
    status = pure_fill_ints(fill, 0, values, N, &e);
  host_refused(status, &e, PURE_NO_MEMORY, "max_memory of the engine: 67108864 bytes");
  pure_fill_release(fill);
  free(values);
  ck_assert_uint_eq(host_digest(w.store), before);
  host_close(&w);
}

START_TEST(more_rows_than_memory) {
  hoard_on(PURE_JIT_0);
  hoard_on(PURE_JIT_AUTO);
}
END_TEST

/* The limit of the call, which falls on the same row everywhere. */
START_TEST(logical_memory) {
  uint64_t work = 0;
  for (pure_jit jit = PURE_JIT_0; jit <= PURE_JIT_3; jit++) {
    host_world w;
    pure_engine_options options = {
        .size = sizeof options, .jit = jit, .limits = {.memory = 64u << 20}};
    open_limited(&w, &options);
    faults(&w, "hoard", PURE_FAULT_MEMORY, "memory limit of the call (67108864 bytes)");
    if (jit == PURE_JIT_0)
      work = pure_session_work(w.session);
    ck_assert_uint_eq(pure_session_work(w.session), work);
    host_close(&w);
  }
}
END_TEST

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

START_TEST(endless_loops) {
  for (pure_jit jit = PURE_JIT_AUTO; jit <= PURE_JIT_3; jit++) {
    host_world w;
    pure_error e = {0};
    pure_engine_options options = {
        .size = sizeof options, .jit = jit, .limits = {.work = 5000000, .milliseconds = 60000}};
    open_limited(&w, &options);
    faults(&w, "spin", PURE_FAULT_WORK, "work limit");
    pure_limits time = {.milliseconds = 100};
    host_fine(pure_session_limit(w.session, &time, &e), &e);
    double start = now();
    faults(&w, "spin", PURE_FAULT_CANCELLED, "time limit");
    double took = now() - start;
    ck_assert_msg(took > 0.09 && took < 10, "%f s", took);
    /* The next call has the time anew, and a call that is quick enough is not touched. */
    ck_assert_int_eq(host_call(&w, "some", "1000", NULL), 500500);
    pure_session_cancel(w.session);
    faults(&w, "spin", PURE_FAULT_CANCELLED, "cancelled");
    host_close(&w);
  }
}
END_TEST

START_TEST(endless_recursion) {
  host_world w;
  pure_engine_options options = {.size = sizeof options, .limits = {.depth = 100000}};
  open_limited(&w, NULL);
  faults(&w, "deep", PURE_FAULT_DEPTH, "calls");
  host_close(&w);
  open_limited(&w, &options);
  faults(&w, "deep", PURE_FAULT_DEPTH, "calls");
  host_close(&w);
}
END_TEST

typedef struct {
  int calls;
  uint64_t last, stop_at;
} watcher;

static bool watch(void *user, uint64_t work) {
  watcher *w = user;
  ck_assert_uint_ge(work, w->last);
  w->calls++;
  w->last = work;
  return work < w->stop_at;
}

START_TEST(progress) {
  for (pure_jit jit = PURE_JIT_AUTO; jit <= PURE_JIT_3; jit++) {
    host_world w;
    pure_error e = {0};
    pure_engine_options options = {.size = sizeof options, .jit = jit};
    watcher seen = {.stop_at = 50000000};
    open_limited(&w, &options);
    host_fine(pure_session_progress(w.session, 5000000, watch, &seen, &e), &e);
    faults(&w, "spin", PURE_FAULT_CANCELLED, "cancelled");
    ck_assert_msg(seen.calls >= 8 && seen.calls <= 11, "%d calls", seen.calls);
    seen = (watcher){.stop_at = UINT64_MAX};
    ck_assert_int_eq(host_call(&w, "some", "100", NULL), 5050);
    ck_assert_int_eq(seen.calls, 0);
    host_fine(pure_session_progress(w.session, 0, NULL, NULL, &e), &e);
    host_close(&w);
  }
  ck_assert_int_eq(pure_session_progress(NULL, 0, NULL, NULL, NULL), PURE_MISUSE);
}
END_TEST

static const char naps[] = "pure extern fn nap(us: int): int\n"
                           "query warm(n: int): int {\n"
                           "  var s = 0\n"
                           "  for i in 1..n { s += nap(0) }\n"
                           "  return s\n"
                           "}\n"
                           "query wait(us: int): int {\n"
                           "  var s = 0\n"
                           "  for i in 1..30 { s += nap(us) }\n"
                           "  return s\n"
                           "}\n";

static _Atomic int napped;

static int64_t nap(pure_call *call, int64_t us) {
  (void)call;
  napped += us > 0;
  struct timespec t = {.tv_nsec = (long)us * 1000};
  if (us)
    nanosleep(&t, NULL);
  return 1;
}

static void *cancel_at_third(void *session) {
  while (napped < 3)
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  pure_session_cancel(session);
  return NULL;
}

/* Thirty calls of 50 ms, with next to no work: both are seen between two of them. */
START_TEST(slow_host_functions) {
  const pure_binding binding = {"pure extern fn nap(int): int", (pure_function)nap, NULL};
  for (pure_jit jit = PURE_JIT_0; jit <= PURE_JIT_3; jit++) {
    host_world w = {0};
    pure_error e = {0};
    pthread_t thread;
    const char *us[] = {"50000"};
    pure_jit_options tiers = {.size = sizeof tiers, .threshold = 1};
    pure_engine_options options = {
        .size = sizeof options, .jit = jit, .jit_sync = true, .tiers = &tiers};
    host_fine(pure_engine_new(&options, &w.engine, &e), &e);
    host_fine(pure_program_compile(w.engine, "n", naps, strlen(naps), NULL, NULL, &w.program, &e),
              &e);
    host_fine(pure_bind(w.program, &binding, 1, &e), &e);
    host_fine(pure_store_new(w.program, &w.store, &e), &e);
    host_fine(pure_session_new(w.store, &w.session, &e), &e);
    ck_assert_int_eq(host_call(&w, "warm", "100000", NULL), 100000);
    for (int i = 0; i < 4; i++)
      ck_assert_int_eq(host_call(&w, "wait", "0", NULL), 30);
    napped = 0;
    ck_assert_int_eq(pthread_create(&thread, NULL, cancel_at_third, w.session), 0);
    host_refused(pure_session_call_texts(w.session, "wait", us, 1, NULL, &e), &e, PURE_FAULT,
                 "cancelled");
    pthread_join(thread, NULL);
    ck_assert_int_le(napped, 20);
    napped = 0;
    pure_limits limits = {.milliseconds = 120};
    host_fine(pure_session_limit(w.session, &limits, &e), &e);
    host_refused(pure_session_call_texts(w.session, "wait", us, 1, NULL, &e), &e, PURE_FAULT,
                 "time limit");
    ck_assert_int_le(napped, 6);
    host_close(&w);
  }
}
END_TEST

typedef struct {
  size_t live, peak;
} counted;

static void *count_alloc(void *user, size_t bytes) {
  counted *c = user;
  c->live += bytes;
  c->peak = c->live > c->peak ? c->live : c->peak;
  return aligned_alloc(64, bytes);
}

static void count_free(void *user, void *block, size_t bytes) {
  counted *c = user;
  c->live -= bytes;
  free(block);
}

static const char growing[] = "query rows: (i: int) {\n"
                              "  var i = 0\n"
                              "  while true {\n"
                              "    emit (i)\n"
                              "    i += 1\n"
                              "  }\n"
                              "}\n"
                              "query long: int {\n"
                              "  var t = \"abc\"\n"
                              "  while true { t = t + t }\n"
                              "  return 1\n"
                              "}\n";

/* Blocks that grow by a copy count twice while both are there; only paddings are not counted. */
START_TEST(memory_of_a_host) {
  for (unsigned mb = 20; mb <= 80; mb += 10) {
    host_world w = {0};
    pure_error e = {0};
    counted c = {0};
    pure_memory_stats before, after;
    pure_memory_hooks hooks = {count_alloc, count_free, &c};
    pure_engine_options options = {
        .size = sizeof options, .jit = PURE_JIT_0, .max_memory = mb << 20, .memory = &hooks};
    host_fine(pure_engine_new(&options, &w.engine, &e), &e);
    host_fine(
        pure_program_compile(w.engine, "g", growing, strlen(growing), NULL, NULL, &w.program, &e),
        &e);
    host_fine(pure_store_new(w.program, &w.store, &e), &e);
    host_fine(pure_session_new(w.store, &w.session, &e), &e);
    pure_engine_memory(w.engine, &before);
    faults(&w, "rows", PURE_FAULT_MEMORY, "memory");
    faults(&w, "long", PURE_FAULT_MEMORY, "memory");
    ck_assert_uint_le(c.peak, (mb << 20) + (1u << 16));
    /* And what failed keeps little. */
    pure_engine_memory(w.engine, &after);
    ck_assert_uint_le(after.live_bytes, before.live_bytes + (4u << 20));
    host_close(&w);
  }
}
END_TEST

int main(void) {
  const TTest *const tests[] = {nested_parentheses,  more_rows_than_memory, logical_memory,
                                endless_loops,       endless_recursion,     progress,
                                slow_host_functions, memory_of_a_host};
  return HOST_RUN("limits", tests);
}
