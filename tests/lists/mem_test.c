/* List memory: blocks of every size, wrong frees, pages that go back, the check itself. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lists/mem/mem_bits.h"
#include "lists/mem/mem_int.h"

static ls_mem *mem;

static void open_mem(uint64_t decay_ms) {
  ls_mem_options o = ls_mem_options_default;
  o.runs = 1; /* under AddressSanitizer too */
  o.decay_ms = decay_ms;
  mem = ls_mem_new_with(&o);
  ck_assert_ptr_nonnull(mem);
}

static void setup(void) { open_mem(100); }

static void teardown(void) {
  ls_mem_stats stats;
  char why[200];
  ck_assert_msg(ls_mem_check(mem, why, sizeof why), "%s", why);
  ls_mem_read_stats(mem, &stats);
  ck_assert_uint_eq(stats.live_bytes, 0);
  ck_assert_uint_eq(stats.allocs, stats.frees);
  ls_mem_delete(mem);
}

static uint64_t counted(ls_mem_counter c) {
  ls_mem_counters all;
  ls_mem_read_counters(mem, &all);
  return all.n[c];
}

static uint64_t state = 88172645463325252u;
static uint64_t next_random(void) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state >> 9;
}

START_TEST(bits_agree_with_counting) {
  for (unsigned i = 0; i < 20000; i++) {
    uint64_t m = next_random() * UINT64_C(0x9e3779b97f4a7c15);
    m = i % 3 == 0 ? m & (m >> 1) : i % 3 == 1 ? m | (m << 1) | (m << 2) | (m << 5) : m;
    m = i == 0 ? 0 : i == 1 ? ~UINT64_C(0) : m;
    unsigned longest = 0, run = 0;
    uint64_t starts[33] = {0};
    for (unsigned b = 64; b-- > 0;) {
      run = (m >> b & 1) != 0 ? run + 1 : 0;
      longest = run > longest ? run : longest;
      for (unsigned n = 1; n <= 32; n++)
        starts[n] |= (uint64_t)(run >= n) << b;
    }
    bool same = mem_bits_longest(m) == longest;
    for (unsigned n = 1; n <= 32; n++)
      same = same && mem_bits_runs(m, n) == starts[n];
    if (!same)
      ck_abort_msg("%#llx", (unsigned long long)m);
  }
}
END_TEST

START_TEST(classes_are_the_tightest) {
  for (size_t bytes = 1; bytes <= MEM_SMALL_MAX; bytes++) {
    unsigned class = mem_class_of(bytes);
    if (class >= MEM_CLASSES || mem_class_size(class) < bytes ||
        mem_class_size(class) % LS_MEM_ALIGN != 0 ||
        (class > 0 && mem_class_size(class - 1) >= bytes))
      ck_abort_msg("%zu bytes: class %u", bytes, class);
  }
}
END_TEST

static size_t size_at(unsigned i) {
  static const size_t edges[] = {1,       63,      64,      65,      1024,   1025,    4096,
                                 4097,    65535,   65536,   65537,   131072, 1048576, 1048577,
                                 2097088, 2097152, 2097153, 3000000, 5000000};
  enum { EDGES = sizeof edges / sizeof edges[0] };
  return i < EDGES ? edges[i] : (size_t)(next_random() % ((size_t)64 << next_random() % 15)) + 1;
}

/* Everything at once, so that blocks would overlap if they could. */
START_TEST(blocks_of_every_size) {
  enum { N = 600 };
  static unsigned char *block[N];
  static size_t bytes[N];
  for (unsigned i = 0; i < N; i++) {
    bytes[i] = size_at(i);
    block[i] = i % 2 ? ls_mem_alloc(mem, bytes[i]) : ls_mem_zalloc(mem, bytes[i]);
    ck_assert_ptr_nonnull(block[i]);
    ck_assert_uint_eq((uintptr_t)block[i] % LS_MEM_ALIGN, 0);
    for (size_t k = 0; i % 2 == 0 && k < bytes[i]; k++)
      if (block[i][k] != 0)
        ck_abort_msg("block %u of %zu bytes, byte %zu", i, bytes[i], k);
    memset(block[i], (int)(i & 0xff), bytes[i]);
  }
  for (unsigned i = 0; i < N; i++) {
    volatile unsigned char *p = block[i];
    for (size_t k = 0; k < bytes[i]; k++)
      if (p[k] != (i & 0xff))
        ck_abort_msg("block %u of %zu bytes, byte %zu", i, bytes[i], k);
    (void)p[bytes[i] + LS_MEM_PAD - 1]; /* readable */
    ls_mem_free(mem, block[i], bytes[i]);
  }
  ck_assert_uint_eq(counted(LS_MEM_COUNT_big) >= 3, true);
}
END_TEST

START_TEST(zeroed_blocks_are_zero_when_reused) {
  for (unsigned round = 0; round < 30; round++)
    for (size_t bytes = 100; bytes < 6000000; bytes = bytes * 5 / 2) {
      unsigned char *p = ls_mem_zalloc(mem, bytes);
      ck_assert_ptr_nonnull(p);
      for (size_t k = 0; k < bytes; k++)
        if (p[k] != 0)
          ck_abort_msg("%zu bytes: byte %zu", bytes, k);
      memset(p, 0xee, bytes);
      ls_mem_free(mem, p, bytes);
      if (round % 10 == 9)
        ls_mem_park(mem);
    }
  ck_assert_uint_gt(counted(LS_MEM_COUNT_zero_skipped), 0);
}
END_TEST

START_TEST(resizing_keeps_what_is_there) {
  static const size_t steps[] = {10,     60,     1000,    5000,    60000,   65536,   70000,  140000,
                                 300000, 290000, 2000000, 2500000, 9000000, 8000000, 100000, 100};
  for (unsigned from = 0; from < 6; from++) {
    size_t old = steps[from];
    unsigned char *p = ls_mem_alloc(mem, old);
    memset(p, 7, old);
    for (unsigned i = from; i < sizeof steps / sizeof steps[0]; i++) {
      p = ls_mem_resize(mem, p, old, steps[i]);
      ck_assert_ptr_nonnull(p);
      for (size_t k = 0; k < old && k < steps[i]; k += 7)
        if (p[k] != 7)
          ck_abort_msg("%zu to %zu bytes: byte %zu", old, steps[i], k);
      memset(p, 7, steps[i]);
      old = steps[i];
    }
    ls_mem_free(mem, p, old);
  }
}
END_TEST

START_TEST(units_grow_in_place) {
  char *p = ls_mem_alloc(mem, 2 * MEM_UNIT - 8192);
  char *q = ls_mem_resize(mem, p, 2 * MEM_UNIT - 8192, 5 * MEM_UNIT - 8192);
  ck_assert_ptr_eq(p, q);
  char *after = ls_mem_alloc(mem, 2 * MEM_UNIT - 8192);
  ck_assert(after >= q + 5 * MEM_UNIT - 8192 || after + 2 * MEM_UNIT <= q);
  ls_mem_free(mem, q, 5 * MEM_UNIT - 8192);
  ls_mem_free(mem, after, 2 * MEM_UNIT - 8192);
}
END_TEST

static void refused(void *p, size_t bytes, ls_mem_bug bug) {
  ls_mem_counters before, after;
  ls_mem_read_counters(mem, &before);
  ls_mem_free(mem, p, bytes);
  ls_mem_read_counters(mem, &after);
  ck_assert_uint_eq(after.bugs, before.bugs + 1);
  ck_assert_str_eq(ls_mem_bug_name(after.last_bug), ls_mem_bug_name(bug));
}

START_TEST(wrong_frees_are_reported_and_not_done) {
  static const size_t sizes[] = {64, 3000, 40000, 100000, 900000, 1500000, 4000000};
  char outside[256];
  for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    size_t n = sizes[i];
    char *p = ls_mem_alloc(mem, n), *other = ls_mem_alloc(mem, n);
    memset(p, 1, n);
    if (n > 64)
      refused(p + 64, n, n < MEM_UNITS_MAX ? LS_MEM_BUG_MISALIGNED : LS_MEM_BUG_FOREIGN);
    refused(p, n < MEM_UNITS_MAX ? n + 70000 : n * 2, LS_MEM_BUG_SIZE);
    refused(outside, n, LS_MEM_BUG_FOREIGN);
    for (size_t k = 0; k < n; k++)
      if (p[k] != 1)
        ck_abort_msg("%zu bytes: byte %zu", n, k);
    ls_mem_free(mem, p, n);
    refused(p, n, LS_MEM_BUG_DOUBLE);
    ls_mem_free(mem, other, n);
    refused(other, n, LS_MEM_BUG_DOUBLE);
  }
  char *late = ls_mem_alloc(mem, 900000);
  ls_mem_free(mem, late, 900000);
  ls_mem_park(mem);
  refused(late, 900000, LS_MEM_BUG_DOUBLE);
}
END_TEST

/* ThreadSanitizer keeps its shadow in this process too. */
#ifdef __SANITIZE_THREAD__
static double resident_mb(void) { return 0; }
#define MEASURED 0
#else
#define MEASURED 1
static double resident_mb(void) {
  long pages = 0, resident = 0;
  FILE *f = fopen("/proc/self/statm", "r");
  ck_assert_ptr_nonnull(f);
  ck_assert_int_eq(fscanf(f, "%ld %ld", &pages, &resident), 2);
  fclose(f);
  return (double)resident * (double)sysconf(_SC_PAGESIZE) / 1048576;
}
#endif

/* Live memory falls to a sixteenth, and time goes by with a little work. */
START_TEST(unused_pages_go_back) {
  enum { N = 256, BYTES = 300000 };
  static char *block[N];
  double before = resident_mb();
  for (unsigned i = 0; i < N; i++) {
    block[i] = ls_mem_alloc(mem, BYTES);
    memset(block[i], 1, BYTES);
  }
  double full = resident_mb();
  ck_assert(!MEASURED || full - before > 60);
  for (unsigned i = 0; i < N; i++)
    if (i % 16 != 5)
      ls_mem_free(mem, block[i], BYTES);
  for (unsigned t = 0; t < 120; t++) {
    for (unsigned i = 0; i < 64; i++)
      ls_mem_free(mem, ls_mem_alloc(mem, 1000), 1000);
    usleep(1000);
  }
  ck_assert(!MEASURED || resident_mb() - before < (full - before) / 4);
  ck_assert_uint_gt(counted(LS_MEM_COUNT_purged_bytes), 40u << 20);
  for (unsigned i = 5; i < N; i += 16)
    ls_mem_free(mem, block[i], BYTES);
  ls_mem_park(mem);
  ck_assert(resident_mb() - before < 8);
  ck_assert_uint_gt(counted(LS_MEM_COUNT_purged_bytes), 60u << 20);
}
END_TEST

START_TEST(random_use_passes_the_check) {
  enum { N = 300 };
  static void *block[N];
  static size_t bytes[N];
  char why[200];
  for (unsigned op = 0; op < 30000; op++) {
    unsigned i = (unsigned)(next_random() % N);
    ls_mem_free(mem, block[i], bytes[i]);
    bytes[i] = size_at(100);
    block[i] = ls_mem_alloc(mem, bytes[i]);
    if (block[i] == NULL)
      ck_abort_msg("no memory");
    if (op % 1000 == 0) {
      ck_assert_msg(ls_mem_check(mem, why, sizeof why), "%s", why);
      if (op % 5000 == 0)
        ls_mem_park(mem);
    }
  }
  for (unsigned i = 0; i < N; i++) {
    ls_mem_free(mem, block[i], bytes[i]);
    block[i] = NULL;
  }
  ls_mem_counters c;
  ls_mem_read_counters(mem, &c);
  ck_assert_uint_eq(c.bugs, 0);
  ck_assert_uint_gt(c.n[LS_MEM_COUNT_lifo], 0);
}
END_TEST

START_TEST(check_finds_damage) {
  char why[200];
  char *p = ls_mem_alloc(mem, 3 * MEM_UNIT);
  mem_chunk *c = mem_chunk_of(mem, p);
  c->free |= mem_mask(1, 1);
  ck_assert(!ls_mem_check(mem, why, sizeof why));
  c->free &= ~mem_mask(1, 1);
  ck_assert(ls_mem_check(mem, why, sizeof why));
  c->kind[0]--;
  ck_assert(!ls_mem_check(mem, why, sizeof why));
  c->kind[0]++;
  ls_mem_free(mem, p, 3 * MEM_UNIT);
}
END_TEST

START_TEST(limits_and_counts) {
  ls_mem_limit(mem, 1000000);
  char *p = ls_mem_alloc(mem, 900000);
  ck_assert_ptr_nonnull(p);
  ck_assert_ptr_null(ls_mem_alloc(mem, 200000));
  ck_assert_ptr_null(ls_mem_resize(mem, p, 900000, 1100000));
  char *q = ls_mem_alloc(mem, 100000);
  ck_assert_ptr_nonnull(q);
  ls_mem_stats stats;
  ls_mem_read_stats(mem, &stats);
  ck_assert_uint_eq(stats.live_bytes, 1000000);
  ls_mem_free(mem, p, 900000);
  ls_mem_free(mem, q, 100000);
  ls_mem_read_stats(mem, &stats);
  ck_assert_uint_eq(stats.peak_bytes, 1000000);
  ls_mem_limit(mem, 0);
  ck_assert_ptr_null(ls_mem_alloc(mem, SIZE_MAX / 2));
  ck_assert_ptr_null(ls_mem_alloc(mem, SIZE_MAX - 10));
}
END_TEST

START_TEST(many_at_once_in_one_thread) {
  enum { N = 11 };
  ls_mem *all[N];
  void *block[N];
  ls_mem_options o = ls_mem_options_default;
  o.runs = 1;
  o.sample = 1;
  for (unsigned i = 0; i < N; i++) {
    all[i] = ls_mem_new_with(&o);
    block[i] = ls_mem_alloc(all[i], 1000);
  }
  for (unsigned round = 0; round < 50; round++)
    for (unsigned i = 0; i < N; i++) {
      ls_mem_free(all[i], block[i], 1000);
      block[i] = ls_mem_alloc(all[i], 1000);
      memset(block[i], (int)i, 1000);
    }
  for (unsigned i = 0; i < N; i++) {
    ls_mem_counters c;
    ls_mem_read_counters(all[i], &c);
    ck_assert_uint_eq(c.n[LS_MEM_COUNT_timed], 51);
    ls_mem_free(all[i], block[i], 1000);
    ls_mem_delete(all[i]);
  }
}
END_TEST

/* The child has what its thread had, and goes on with it. */
START_TEST(a_forked_child_goes_on) {
  char *p = ls_mem_alloc(mem, 300000), *q = ls_mem_alloc(mem, 500);
  strcpy(q, "before");
  pid_t child = fork();
  ck_assert_int_ge(child, 0);
  if (child == 0) {
    bool ok = strcmp(q, "before") == 0;
    strcpy(q, "child");
    ls_mem_free(mem, p, 300000);
    ls_mem_free(mem, q, 500);
    for (unsigned i = 0; i < 1000; i++)
      ls_mem_free(mem, ls_mem_zalloc(mem, i * 100 + 1), i * 100 + 1);
    char why[200];
    ok = ok && ls_mem_check(mem, why, sizeof why);
    ls_mem_delete(mem);
    _exit(ok ? 0 : 1);
  }
  int status = 0;
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  ck_assert_int_eq(status, 0);
  ck_assert_str_eq(q, "before");
  ls_mem_free(mem, p, 300000);
  ls_mem_free(mem, q, 500);
}
END_TEST

START_TEST(options_from_the_environment) {
  ls_mem_options o = ls_mem_options_default;
  const char *bad;
  setenv("PURE_MEM_DECAY_MS", "7", 1);
  setenv("PURE_MEM_OUTBOX", "3", 1);
  ls_mem_options_from_env(&o, &bad);
  ck_assert_ptr_null(bad);
  ck_assert_uint_eq(o.decay_ms, 7);
  ck_assert_uint_eq(o.outbox, 3);
  static const char *const wrong[] = {"0", "8", "x", "", "-1", "99999999999999999999999"};
  for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    setenv("PURE_MEM_OUTBOX", wrong[i], 1);
    ls_mem_options_from_env(&o, &bad);
    ck_assert_str_eq(bad, "PURE_MEM_OUTBOX");
    ck_assert_uint_eq(o.outbox, 3);
  }
  unsetenv("PURE_MEM_DECAY_MS");
  unsetenv("PURE_MEM_OUTBOX");
}
END_TEST

static void setup_quick(void) { open_mem(2); }

int main(void) {
  Suite *s = suite_create("mem");
  TCase *t = tcase_create("blocks");
  tcase_add_checked_fixture(t, setup, teardown);
  tcase_add_test(t, bits_agree_with_counting);
  tcase_add_test(t, classes_are_the_tightest);
  tcase_add_test(t, blocks_of_every_size);
  tcase_add_test(t, zeroed_blocks_are_zero_when_reused);
  tcase_add_test(t, resizing_keeps_what_is_there);
  tcase_add_test(t, units_grow_in_place);
  tcase_add_test(t, wrong_frees_are_reported_and_not_done);
  tcase_add_test(t, random_use_passes_the_check);
  tcase_add_test(t, check_finds_damage);
  tcase_add_test(t, limits_and_counts);
  tcase_add_test(t, many_at_once_in_one_thread);
  tcase_add_test(t, a_forked_child_goes_on);
  tcase_add_test(t, options_from_the_environment);
  suite_add_tcase(s, t);
  t = tcase_create("pages");
  tcase_add_checked_fixture(t, setup_quick, teardown);
  tcase_add_test(t, unused_pages_go_back);
  suite_add_tcase(s, t);
  SRunner *r = srunner_create(s);
  srunner_run_all(r, CK_ENV);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed != 0;
}
