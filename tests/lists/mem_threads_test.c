/* List memory between threads: blocks freed by others, threads that end, deletion under threads
 * that live on, and a stress of everything with settings that make rare things frequent. */
#include <check.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lists/mem/mem_int.h"

static ls_mem *open_mem(uint64_t decay_ms, uint64_t outbox, uint64_t inbox) {
  ls_mem_options o = ls_mem_options_default;
  o.runs = 1; /* under AddressSanitizer too */
  o.decay_ms = decay_ms;
  o.outbox = outbox;
  o.inbox = inbox;
  ls_mem *m = ls_mem_new_with(&o);
  ck_assert_ptr_nonnull(m);
  return m;
}

static void close_mem(ls_mem *m) {
  ls_mem_stats stats;
  ls_mem_counters c;
  char why[200];
  ls_mem_park(m);
  ck_assert_msg(ls_mem_check(m, why, sizeof why), "%s", why);
  ls_mem_read_stats(m, &stats);
  ck_assert_uint_eq(stats.live_bytes, 0);
  ck_assert_uint_eq(stats.allocs, stats.frees);
  ls_mem_read_counters(m, &c);
  ck_assert_msg(c.bugs == 0, "%s", ls_mem_bug_name(c.last_bug));
  ls_mem_delete(m);
}

enum { MANY = 200 };
static const size_t some_sizes[] = {100, 2000, 30000, 100000, 700000, 2500000};

typedef struct {
  ls_mem *m;
  void *block[MANY];
  size_t bytes[MANY];
} lot;

static void *make_lot(void *argument) {
  lot *l = argument;
  for (unsigned i = 0; i < MANY; i++) {
    l->bytes[i] = some_sizes[i % 5];
    l->block[i] = ls_mem_alloc(l->m, l->bytes[i]);
    memset(l->block[i], (int)(i & 0x7f), 100);
  }
  return NULL;
}

static void *free_lot(void *argument) {
  lot *l = argument;
  for (unsigned i = 0; i < MANY; i++) {
    ck_assert_int_eq(((char *)l->block[i])[99], (char)(i & 0x7f));
    ls_mem_free(l->m, l->block[i], l->bytes[i]);
  }
  return NULL;
}

static void in_a_thread(void *(*f)(void *), lot *l) {
  pthread_t t;
  ck_assert_int_eq(pthread_create(&t, NULL, f, l), 0);
  ck_assert_int_eq(pthread_join(t, NULL), 0);
}

/* Again and again: memory that came home is used again, whatever the size of the inbox. */
static void make_here_free_there(uint64_t outbox, uint64_t inbox) {
  lot l = {.m = open_mem(1000, outbox, inbox)};
  ls_mem_counters c;
  for (unsigned round = 0; round < 20; round++) {
    make_lot(&l);
    in_a_thread(free_lot, &l);
  }
  ls_mem_read_counters(l.m, &c);
  ck_assert_uint_eq(c.n[LS_MEM_COUNT_remote], 20 * MANY);
  ck_assert_uint_lt(c.n[LS_MEM_COUNT_chunks_mapped], 40);
  ck_assert((c.n[LS_MEM_COUNT_overflows] != 0) == (inbox < 64 || MANY > 64));
  close_mem(l.m);
}

START_TEST(blocks_come_home) {
  make_here_free_there(7, 64);
  make_here_free_there(1, 1);
  make_here_free_there(3, 2);
}
END_TEST

START_TEST(ended_threads_leave_nothing_lost) {
  lot l = {.m = open_mem(1000, 7, 64)};
  ls_mem_counters c;
  for (unsigned round = 0; round < 10; round++) {
    in_a_thread(make_lot, &l);
    free_lot(&l); /* the owner has ended */
  }
  /* Some of a thread's blocks outlive it, and its chunks are adopted with them. */
  in_a_thread(make_lot, &l);
  ls_mem_park(l.m);
  ls_mem_read_counters(l.m, &c);
  ck_assert_uint_gt(c.n[LS_MEM_COUNT_adopted], 0);
  ck_assert_uint_lt(c.n[LS_MEM_COUNT_chunks_mapped], 40);
  free_lot(&l);
  ls_mem_park(l.m);
  ls_mem_read_counters(l.m, &c);
  close_mem(l.m);
}
END_TEST

typedef struct {
  ls_mem *m;
  pthread_barrier_t gate;
} survivor;

static void *outlive(void *argument) {
  survivor *s = argument;
  ls_mem_free(s->m, ls_mem_alloc(s->m, 5000), 5000);
  pthread_barrier_wait(&s->gate);
  pthread_barrier_wait(&s->gate); /* s->m is deleted meanwhile */
  ls_mem *m = ls_mem_new(NULL);
  ls_mem_free(m, ls_mem_alloc(m, 5000), 5000);
  ls_mem_delete(m);
  return NULL;
}

START_TEST(threads_outlive_what_they_used) {
  survivor s = {.m = open_mem(100, 7, 64)};
  pthread_t t;
  pthread_barrier_init(&s.gate, NULL, 2);
  ck_assert_int_eq(pthread_create(&t, NULL, outlive, &s), 0);
  pthread_barrier_wait(&s.gate);
  close_mem(s.m);
  pthread_barrier_wait(&s.gate);
  pthread_join(t, NULL);
  pthread_barrier_destroy(&s.gate);
}
END_TEST

/* The stress: slots that every thread takes blocks from and puts blocks into, each block filled
 * with its own pattern, threads that end and are replaced. */
enum { SLOTS = 96, THREADS = 4, OPS_OF_A_THREAD = 4000 };

typedef struct {
  unsigned char *block;
  size_t bytes;
  unsigned char stamp;
} held;

typedef struct {
  ls_mem *m;
  pthread_mutex_t lock[SLOTS];
  held slot[SLOTS];
  double until;
  _Atomic uint64_t seed, ended;
} arena;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static uint64_t draw(uint64_t *random) {
  *random ^= *random << 13;
  *random ^= *random >> 7;
  *random ^= *random << 17;
  return *random >> 11;
}

/* First, last and some bytes between. */
static void stamp(const held *h) {
  for (size_t i = 0; i < h->bytes; i += 509)
    h->block[i] = h->stamp;
  h->block[h->bytes - 1] = h->stamp;
}

static void verify(const held *h) {
  bool ok = h->block[h->bytes - 1] == h->stamp;
  for (size_t i = 0; i < h->bytes; i += 509)
    ok = ok && h->block[i] == h->stamp;
  if (!ok)
    abort();
}

static void stress_op(arena *a, uint64_t *random) {
  held h = {.bytes = (size_t)(draw(random) % ((size_t)100 << draw(random) % 14)) + 1,
            .stamp = (unsigned char)draw(random)};
  if (draw(random) % 512 == 0)
    h.bytes += MEM_UNITS_MAX;
  h.block = draw(random) % 2 ? ls_mem_alloc(a->m, h.bytes) : ls_mem_zalloc(a->m, h.bytes);
  if (h.block == NULL)
    abort();
  stamp(&h);
  if (draw(random) % 8 == 0) {
    size_t to = h.bytes + (size_t)draw(random) % (h.bytes + 1);
    h.block = ls_mem_resize(a->m, h.block, h.bytes, to);
    if (h.block == NULL)
      abort();
    if (h.block[0] != h.stamp)
      abort();
    h.bytes = to;
    stamp(&h);
  }
  unsigned i = (unsigned)(draw(random) % SLOTS);
  pthread_mutex_lock(&a->lock[i]);
  held old = a->slot[i];
  a->slot[i] = h;
  pthread_mutex_unlock(&a->lock[i]);
  if (old.block != NULL) {
    verify(&old);
    ls_mem_free(a->m, old.block, old.bytes);
  }
}

static void *stress(void *argument) {
  arena *a = argument;
  char why[200];
  uint64_t random = (atomic_fetch_add(&a->seed, 1) + 1) * UINT64_C(0x2545f4914f6cdd1d);
  for (unsigned i = 0; i < OPS_OF_A_THREAD && now() < a->until; i++) {
    stress_op(a, &random);
    if (draw(&random) % 1024 == 0)
      ls_mem_park(a->m);
    if (i % 512 == 0 && !ls_mem_check(a->m, why, sizeof why))
      abort();
  }
  atomic_fetch_add(&a->ended, 1);
  return NULL;
}

/* One thread after the other, until time is up. */
static void *lineage(void *argument) {
  arena *a = argument;
  while (now() < a->until) {
    pthread_t t;
    if (pthread_create(&t, NULL, stress, a) != 0)
      abort();
    pthread_join(t, NULL);
  }
  return NULL;
}

START_TEST(stress_of_everything) {
  const char *seconds = getenv("MEM_STRESS_SECONDS");
  static arena a;
  pthread_t t[THREADS];
  a.m = open_mem(1, 2, 2);
  a.until = now() + (seconds != NULL ? atof(seconds) : 2);
  for (unsigned i = 0; i < SLOTS; i++)
    pthread_mutex_init(&a.lock[i], NULL);
  for (unsigned i = 0; i < THREADS; i++)
    ck_assert_int_eq(pthread_create(&t[i], NULL, lineage, &a), 0);
  for (unsigned i = 0; i < THREADS; i++)
    pthread_join(t[i], NULL);
  for (unsigned i = 0; i < SLOTS; i++) {
    if (a.slot[i].block != NULL) {
      verify(&a.slot[i]);
      ls_mem_free(a.m, a.slot[i].block, a.slot[i].bytes);
    }
    pthread_mutex_destroy(&a.lock[i]);
  }
  ck_assert_uint_ge(atomic_load(&a.ended), THREADS);
  ls_mem_counters c;
  ls_mem_read_counters(a.m, &c);
  ck_assert_uint_gt(c.n[LS_MEM_COUNT_remote], 0);
  ck_assert_uint_gt(c.n[LS_MEM_COUNT_overflows], 0);
  ck_assert_uint_gt(c.n[LS_MEM_COUNT_purges], 0);
  close_mem(a.m);
}
END_TEST

int main(void) {
  Suite *s = suite_create("mem_threads");
  TCase *t = tcase_create("threads");
  tcase_add_test(t, blocks_come_home);
  tcase_add_test(t, ended_threads_leave_nothing_lost);
  tcase_add_test(t, threads_outlive_what_they_used);
  suite_add_tcase(s, t);
  t = tcase_create("stress");
  tcase_set_timeout(t, 3600);
  tcase_add_test(t, stress_of_everything);
  suite_add_tcase(s, t);
  SRunner *r = srunner_create(s);
  srunner_run_all(r, CK_ENV);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed != 0;
}
