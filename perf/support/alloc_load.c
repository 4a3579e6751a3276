/* A load for allocators.  Each thread keeps a number of live blocks; an operation frees one of
 * them, chosen at random, and allocates another in its place, of a random size, and touches it. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "perf/support/alloc_load.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "perf/support/sample.h"

enum { SIZES = 4096, SLOTS = 64, WARM_MS = 1000, SETTLE_MS = 2000, KEEP_ONE_IN = 16 };

/* A block and its size (a multiple of 64, below 4 MB) in one word, so that it can be exchanged. */
typedef uint64_t parcel;
#define ADDRESS_BITS 48

typedef struct {
  _Alignas(64) _Atomic parcel slot[SLOTS];
} mailbox;

typedef struct {
  const alloc_load *load;
  const alloc_api *api;
  unsigned threads;
  bool settle;
  uint32_t *size; /* SIZES of them */
  mailbox *mail;  /* one a thread */
  pthread_barrier_t gate;
  atomic_int stop;
} bench;

typedef struct {
  _Alignas(128) bench *b; /* workers share no line, nor a pair of lines */
  unsigned number;
  uint64_t random;
  parcel *live;
  _Atomic uint64_t ops;
  _Atomic int64_t held; /* bytes allocated less bytes freed, by this thread */
  bool failed;
} worker;

static uint64_t next_random(worker *w) {
  w->random ^= w->random << 13;
  w->random ^= w->random >> 7;
  w->random ^= w->random << 17;
  return w->random >> 11;
}

static void touch(const alloc_load *load, char *p, size_t bytes) {
  switch (load->touch) {
  case TOUCH_FIRST:
    *(volatile char *)p = 1;
    break;
  case TOUCH_PAGES:
    for (size_t i = 0; i < bytes; i += 4096)
      ((volatile char *)p)[i] = 1;
    break;
  case TOUCH_ALL:
    memset(p, 1, bytes);
    break;
  }
}

static parcel take(worker *w) {
  bench *b = w->b;
  size_t bytes = b->size[next_random(w) % SIZES];
  char *p = b->api->alloc(b->api->user, bytes);
  if (p == NULL) {
    w->failed = true;
    return 0;
  }
  touch(b->load, p, bytes);
  atomic_store_explicit(&w->held, w->held + (int64_t)bytes, memory_order_relaxed);
  return (uint64_t)(uintptr_t)p | (uint64_t)(bytes / 64) << ADDRESS_BITS;
}

static void give(worker *w, parcel x) {
  if (x == 0)
    return;
  size_t bytes = (size_t)(x >> ADDRESS_BITS) * 64;
  atomic_store_explicit(&w->held, w->held - (int64_t)bytes, memory_order_relaxed);
  w->b->api->free(w->b->api->user, (void *)(uintptr_t)(x << 16 >> 16), bytes);
}

static void post(worker *w, parcel x) {
  bench *b = w->b;
  unsigned to = b->threads > 1 ? (unsigned)(next_random(w) % (b->threads - 1)) : 0;
  to = b->threads > 1 && to >= w->number ? to + 1 : to;
  give(w, atomic_exchange(&b->mail[to].slot[next_random(w) % SLOTS], x));
}

static void one_op(worker *w) {
  bench *b = w->b;
  parcel *at = &w->live[next_random(w) % b->load->live];
  if (b->load->remote) {
    _Atomic parcel *mine = &b->mail[w->number].slot[w->ops % SLOTS];
    if (atomic_load_explicit(mine, memory_order_relaxed) != 0)
      give(w, atomic_exchange(mine, 0));
    if ((next_random(w) & 1) != 0)
      post(w, *at);
    else
      give(w, *at);
  } else {
    give(w, *at);
  }
  *at = take(w);
  atomic_store_explicit(&w->ops, w->ops + 1, memory_order_relaxed);
}

static void empty_mailbox(worker *w) {
  for (unsigned i = 0; i < SLOTS; i++)
    give(w, atomic_exchange(&w->b->mail[w->number].slot[i], 0));
}

/* Live memory falls to a sixteenth; the rest goes on at its leisure. */
static void settle(worker *w) {
  unsigned live = w->b->load->live, kept = live / KEEP_ONE_IN;
  empty_mailbox(w);
  for (unsigned i = kept; i < live; i++) {
    give(w, w->live[i]);
    w->live[i] = 0;
  }
  double until = sample_now_ms(SAMPLE_WALL) + SETTLE_MS;
  while (sample_now_ms(SAMPLE_WALL) < until) {
    parcel *at = &w->live[next_random(w) % kept];
    give(w, *at);
    *at = take(w);
    nanosleep(&(struct timespec){0, 1000000}, NULL);
  }
}

static void *work(void *argument) {
  worker *w = argument;
  bench *b = w->b;
  for (unsigned i = 0; i < b->load->live; i++)
    w->live[i] = take(w);
  pthread_barrier_wait(&b->gate); /* filled */
  pthread_barrier_wait(&b->gate); /* off */
  while (atomic_load_explicit(&b->stop, memory_order_relaxed) == 0 && !w->failed)
    one_op(w);
  pthread_barrier_wait(&b->gate); /* stopped */
  pthread_barrier_wait(&b->gate); /* measured */
  if (b->settle) {
    settle(w);
    pthread_barrier_wait(&b->gate);
    pthread_barrier_wait(&b->gate);
  }
  empty_mailbox(w);
  for (unsigned i = 0; i < b->load->live; i++)
    give(w, w->live[i]);
  pthread_barrier_wait(&b->gate); /* all is freed, and on its way home */
  b->api->park(b->api->user);
  pthread_barrier_wait(&b->gate); /* home */
  b->api->park(b->api->user);
  pthread_barrier_wait(&b->gate);
  pthread_barrier_wait(&b->gate);
  return NULL;
}

static double resident_mb(const char *field) {
  char line[128];
  double kb = 0;
  FILE *f = fopen("/proc/self/status", "r");
  while (f != NULL && fgets(line, sizeof line, f) != NULL)
    if (strncmp(line, field, strlen(field)) == 0)
      kb = atof(line + strlen(field) + 1);
  if (f != NULL)
    fclose(f);
  return kb / 1024;
}

static double live_mb(worker *w, unsigned threads) {
  double bytes = 0;
  for (unsigned t = 0; t < threads; t++)
    bytes += (double)atomic_load_explicit(&w[t].held, memory_order_relaxed);
  return bytes / 1048576;
}

static double all_ops(worker *w, unsigned threads) {
  double ops = 0;
  for (unsigned t = 0; t < threads; t++)
    ops += (double)atomic_load_explicit(&w[t].ops, memory_order_relaxed);
  return ops;
}

static void watch(bench *b, worker *w, double seconds, alloc_outcome *out) {
  pthread_barrier_wait(&b->gate);
  pthread_barrier_wait(&b->gate);
  nanosleep(&(struct timespec){WARM_MS / 1000, 0}, NULL); /* memory grows to what it will be */
  double from = sample_now_ms(SAMPLE_WALL), before = all_ops(w, b->threads);
  double live = 0;
  while (sample_now_ms(SAMPLE_WALL) < from + seconds * 1e3) {
    nanosleep(&(struct timespec){0, 1000000}, NULL);
    live = fmax(live, live_mb(w, b->threads));
  }
  double ms = sample_now_ms(SAMPLE_WALL) - from, ops = all_ops(w, b->threads) - before;
  atomic_store(&b->stop, 1);
  pthread_barrier_wait(&b->gate);
  *out = (alloc_outcome){ops / ms * 1e3, live, resident_mb("VmHWM"), 0, 0};
  pthread_barrier_wait(&b->gate);
  if (b->settle) {
    pthread_barrier_wait(&b->gate);
    out->settled = resident_mb("VmRSS");
    pthread_barrier_wait(&b->gate);
  }
  pthread_barrier_wait(&b->gate);
  pthread_barrier_wait(&b->gate);
  pthread_barrier_wait(&b->gate);
  out->parked = resident_mb("VmRSS");
  pthread_barrier_wait(&b->gate);
}

static void choose_sizes(bench *b) {
  worker w = {.random = UINT64_C(0x9e3779b97f4a7c15)};
  double low = log((double)b->load->least), span = log((double)b->load->most) - low;
  for (unsigned i = 0; i < SIZES; i++) {
    double x = exp(low + span * (double)(next_random(&w) % 1000003) / 1000003.0);
    b->size[i] = ((uint32_t)x + 63) & ~UINT32_C(63);
  }
}

static bool run_threads(bench *b, worker *w, double seconds, alloc_outcome *out) {
  pthread_t thread[ALLOC_MAX_THREADS];
  for (unsigned t = 0; t < b->threads; t++) {
    w[t] = (worker){.b = b, .number = t, .random = (t + 1) * UINT64_C(0x2545f4914f6cdd1d)};
    w[t].live = calloc(b->load->live, sizeof *w[t].live);
    if (w[t].live == NULL || pthread_create(&thread[t], NULL, work, &w[t]) != 0)
      exit(3); /* the others wait at the gate for ever */
  }
  watch(b, w, seconds, out);
  bool ok = true;
  for (unsigned t = 0; t < b->threads; t++) {
    pthread_join(thread[t], NULL);
    ok = ok && !w[t].failed;
    free(w[t].live);
  }
  return ok;
}

bool alloc_load_run(const alloc_load *load, const alloc_api *api, unsigned threads, double seconds,
                    bool settle, alloc_outcome *out) {
  bench b = {.load = load, .api = api, .threads = threads, .settle = settle};
  worker *w = aligned_alloc(_Alignof(worker), threads * sizeof *w);
  b.size = calloc(SIZES, sizeof *b.size);
  b.mail = aligned_alloc(64, threads * sizeof *b.mail);
  bool ok = w != NULL && b.size != NULL && b.mail != NULL && threads <= ALLOC_MAX_THREADS;
  if (ok) {
    memset(b.mail, 0, threads * sizeof *b.mail);
    choose_sizes(&b);
    pthread_barrier_init(&b.gate, NULL, threads + 1);
    ok = run_threads(&b, w, seconds, out);
    pthread_barrier_destroy(&b.gate);
  }
  free(w);
  free(b.size);
  free(b.mail);
  return ok;
}
