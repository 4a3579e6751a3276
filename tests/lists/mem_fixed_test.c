/* List memory from one buffer: full, empty again, wrong frees, buffers too small. */
#include <check.h>
#include <string.h>

#include "lists/mem/mem.h"

static _Alignas(64) char buffer[64 << 10];

static ls_mem *open_buffer(size_t skip, size_t bytes) {
  ls_mem_options o = ls_mem_options_default;
  o.buffer = buffer + skip;
  o.buffer_bytes = bytes;
  return ls_mem_new_with(&o);
}

static unsigned fill(ls_mem *m, void **block, unsigned most, size_t bytes) {
  unsigned n = 0;
  while (n < most && (block[n] = ls_mem_alloc(m, bytes)) != NULL)
    memset(block[n++], 0x5a, bytes);
  return n;
}

START_TEST(full_and_empty_again) {
  enum { MOST = 1024 };
  void *block[MOST];
  ls_mem *m = open_buffer(0, sizeof buffer);
  ck_assert_ptr_nonnull(m);
  unsigned n = fill(m, block, MOST, 1000);
  ck_assert_uint_gt(n, 45);
  ck_assert_ptr_null(ls_mem_zalloc(m, 1000));
  for (unsigned i = 0; i < n; i++) {
    ck_assert_uint_eq((uintptr_t)block[i] % LS_MEM_ALIGN, 0);
    ck_assert((char *)block[i] >= buffer &&
              (char *)block[i] + 1000 + LS_MEM_PAD <= buffer + sizeof buffer);
  }
  for (unsigned i = 0; i < n; i += 2) /* gaps first, then what lies between */
    ls_mem_free(m, block[i], 1000);
  ck_assert_ptr_null(ls_mem_alloc(m, 2100));
  for (unsigned i = 1; i < n; i += 2)
    ls_mem_free(m, block[i], 1000);
  void *whole = ls_mem_alloc(m, n * 1000u);
  ck_assert_ptr_nonnull(whole);
  ck_assert_ptr_eq(ls_mem_resize(m, whole, n * 1000u, n * 500u), whole);
  void *rest = ls_mem_alloc(m, n * 400u);
  ck_assert_ptr_nonnull(rest);
  ck_assert_ptr_null(ls_mem_resize(m, whole, n * 500u, n * 1000u));
  ls_mem_free(m, rest, n * 400u);
  ck_assert_ptr_eq(ls_mem_resize(m, whole, n * 500u, n * 1000u), whole);
  ls_mem_free(m, whole, n * 1000u);
  ls_mem_stats stats;
  ls_mem_read_stats(m, &stats);
  ck_assert_uint_eq(stats.live_bytes, 0);
  ls_mem_delete(m);
}
END_TEST

START_TEST(wrong_frees) {
  char outside[200];
  ls_mem_counters c;
  ls_mem *m = open_buffer(3, 30000); /* not aligned itself */
  char *p = ls_mem_alloc(m, 500), *q = ls_mem_alloc(m, 500);
  static const ls_mem_bug expected[] = {LS_MEM_BUG_FOREIGN, LS_MEM_BUG_MISALIGNED,
                                        LS_MEM_BUG_DOUBLE, LS_MEM_BUG_DOUBLE};
  ls_mem_free(m, p, 500);
  void *wrong[] = {outside, q + 8, p, p + 64};
  for (unsigned i = 0; i < 4; i++) {
    ls_mem_free(m, wrong[i], 100);
    ls_mem_read_counters(m, &c);
    ck_assert_uint_eq(c.bugs, i + 1);
    ck_assert_int_eq(c.last_bug, expected[i]);
  }
  ls_mem_free(m, q, 500);
  ck_assert_ptr_nonnull(ls_mem_alloc(m, 20000));
  ls_mem_delete(m);
}
END_TEST

START_TEST(too_small) {
  size_t bytes = 0;
  while (open_buffer(0, bytes) == NULL)
    bytes += 64;
  ck_assert_uint_lt(bytes, 4096); /* what an ls_mem itself needs */
}
END_TEST

int main(void) {
  Suite *s = suite_create("mem_fixed");
  TCase *t = tcase_create("buffer");
  tcase_add_test(t, full_and_empty_again);
  tcase_add_test(t, wrong_frees);
  tcase_add_test(t, too_small);
  suite_add_tcase(s, t);
  SRunner *r = srunner_create(s);
  srunner_run_all(r, CK_ENV);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed != 0;
}
