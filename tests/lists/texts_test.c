/* Dictionaries: bases, overlays, publishing, truncation, readers beside a writer, no memory. */
#include <check.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lists/lists.h"

static ls_mem *mem;

static void setup(void) {
  mem = ls_mem_new(NULL);
  ck_assert_ptr_nonnull(mem);
}

static void teardown(void) {
  ls_mem_stats stats;
  ls_mem_read_stats(mem, &stats);
  ck_assert_uint_eq(stats.live_bytes, 0);
  ck_assert_uint_eq(stats.allocs, stats.frees);
  ls_mem_delete(mem);
}

static uint32_t intern(ls_texts *t, const char *s) {
  uint32_t id = 12345;
  ck_assert_int_eq(ls_texts_intern(t, s, strlen(s), &id), LS_OK);
  return id;
}

static void is_text(const ls_texts *t, uint32_t id, const char *s) {
  size_t len;
  ck_assert(ls_texts_valid(t, id));
  const char *bytes = ls_texts_get(t, id, &len);
  ck_assert_uint_eq(len, strlen(s));
  ck_assert(memcmp(bytes, s, len) == 0);
}

/* The number n written out, with a tail that makes lengths vary. */
static const char *name_of(unsigned n, char *out, size_t size) {
  snprintf(out, size, "text-%u%.*s", n, (int)(n % 23), "abcdefghijklmnopqrstuvwxyz");
  return out;
}

START_TEST(empty_text_is_zero) {
  ls_texts *t = ls_texts_new(mem);
  ck_assert_uint_eq(ls_texts_count(t), 1);
  ck_assert_uint_eq(intern(t, ""), 0);
  is_text(t, 0, "");
  ls_texts *o = ls_texts_overlay(t);
  ck_assert_uint_eq(intern(o, ""), 0);
  ls_texts_delete(o);
  ls_texts_delete(t);
}
END_TEST

START_TEST(each_text_once) {
  ls_texts *t = ls_texts_new(mem);
  char s[64];
  for (unsigned n = 0; n < 20000; n++)
    ck_assert_uint_eq(intern(t, name_of(n, s, 64)), n + 1);
  for (unsigned n = 0; n < 20000; n++) {
    ck_assert_uint_eq(intern(t, name_of(n, s, 64)), n + 1);
    is_text(t, n + 1, s);
  }
  ck_assert_uint_eq(ls_texts_count(t), 20001);
  ck_assert(!ls_texts_valid(t, 20001));
  ck_assert(!ls_texts_valid(t, LS_TEXT_OVERLAY));
  ls_texts_delete(t);
}
END_TEST

START_TEST(bytes_of_any_kind) {
  ls_texts *t = ls_texts_new(mem);
  uint32_t a, b, c;
  char *big = malloc(3000000);
  ck_assert_ptr_nonnull(big);
  memset(big, 'x', 3000000);
  ck_assert_int_eq(ls_texts_intern(t, "a\0b", 3, &a), LS_OK);
  ck_assert_int_eq(ls_texts_intern(t, "a\0c", 3, &b), LS_OK);
  ck_assert_int_eq(ls_texts_intern(t, big, 3000000, &c), LS_OK);
  ck_assert_uint_ne(a, b);
  size_t len;
  ck_assert(memcmp(ls_texts_get(t, c, &len), big, 3000000) == 0);
  ck_assert_uint_eq(len, 3000000);
  ck_assert_int_lt(ls_texts_compare(t, a, b), 0);
  free(big);
  ls_texts_delete(t);
}
END_TEST

START_TEST(order_is_bytewise) {
  const char *const in_order[] = {"", "A", "B", "a", "a ", "aa", "ab", "b", "\xc3\xa4", "\xff"};
  ls_texts *t = ls_texts_new(mem);
  ls_texts *o = ls_texts_overlay(t);
  uint32_t id[10];
  for (int i = 9; i >= 0; i--)
    id[i] = intern(i % 2 ? t : o, in_order[i]);
  for (int i = 0; i < 10; i++)
    for (int k = 0; k < 10; k++) {
      int c = ls_texts_compare(o, id[i], id[k]);
      ck_assert_int_eq((c > 0) - (c < 0), (i > k) - (i < k));
      ck_assert(ls_texts_equal(o, id[i], id[k]) == (i == k));
    }
  ls_texts_delete(o);
  ls_texts_delete(t);
}
END_TEST

START_TEST(lookup_adds_nothing) {
  ls_texts *t = ls_texts_new(mem);
  uint32_t id = 7;
  ck_assert_int_eq(ls_texts_lookup(t, "no", 2, &id), LS_MISSING);
  ck_assert_uint_eq(id, 7);
  ck_assert_uint_eq(ls_texts_count(t), 1);
  uint32_t yes = intern(t, "yes");
  ls_texts *o = ls_texts_overlay(t);
  ck_assert_int_eq(ls_texts_lookup(o, "yes", 3, &id), LS_OK);
  ck_assert_uint_eq(id, yes);
  ck_assert_int_eq(ls_texts_lookup(o, "no", 2, &id), LS_MISSING);
  ls_texts_delete(o);
  ls_texts_delete(t);
}
END_TEST

START_TEST(overlay_has_its_own) {
  ls_texts *t = ls_texts_new(mem);
  uint32_t old = intern(t, "old");
  ls_texts *o = ls_texts_overlay(t);
  ck_assert_uint_eq(intern(o, "old"), old);
  uint32_t own = intern(o, "own");
  ck_assert_uint_ge(own, LS_TEXT_OVERLAY);
  ck_assert_uint_eq(intern(o, "own"), own);
  ck_assert_uint_eq(ls_texts_count(t), 2);
  uint32_t young = intern(t, "young"); /* after the overlay was made: not in its view */
  ck_assert_uint_ge(intern(o, "young"), LS_TEXT_OVERLAY);
  is_text(o, young, "young");
  ls_texts_reset(o);
  ck_assert(!ls_texts_valid(o, own));
  ck_assert_uint_eq(intern(o, "young"), young);
  ck_assert_uint_eq(intern(o, "other"), LS_TEXT_OVERLAY);
  ls_texts_delete(o);
  ls_texts_delete(t);
}
END_TEST

START_TEST(overlay_resets_again_and_again) {
  ls_texts *t = ls_texts_new(mem);
  ls_texts *o = ls_texts_overlay(t);
  char s[64];
  for (unsigned round = 0; round < 20; round++) {
    for (unsigned n = 0; n < 100 * (round % 7); n++) {
      uint32_t id = intern(o, name_of(round * 1000 + n, s, 64));
      ck_assert_uint_eq(id, LS_TEXT_OVERLAY + n);
      is_text(o, id, s);
    }
    ls_texts_reset(o);
  }
  ls_texts_delete(o);
  ls_texts_delete(t);
}
END_TEST

START_TEST(publishing) {
  ls_texts *t = ls_texts_new(mem);
  ls_texts *o = ls_texts_overlay(t);
  uint32_t own = intern(o, "new"), base, again;
  ck_assert_int_eq(ls_texts_publish(o, own, &base), LS_OK);
  ck_assert_uint_lt(base, LS_TEXT_OVERLAY);
  is_text(t, base, "new");
  ck_assert_int_eq(ls_texts_publish(o, own, &again), LS_OK);
  ck_assert_uint_eq(again, base);
  ck_assert_int_eq(ls_texts_publish(o, base, &again), LS_OK);
  ck_assert_uint_eq(again, base);
  ck_assert_uint_eq(intern(o, "new"), own); /* one id within the overlay */
  ck_assert(ls_texts_equal(o, own, base) && ls_texts_equal(o, base, own));
  ck_assert_int_eq(ls_texts_compare(o, own, base), 0);
  ck_assert(!ls_texts_equal(o, own, 0));
  ls_texts_delete(o);
  ls_texts_delete(t);
}
END_TEST

START_TEST(truncating) {
  ls_texts *t = ls_texts_new(mem);
  char s[64];
  for (unsigned n = 0; n < 3000; n++)
    intern(t, name_of(n, s, 64));
  for (unsigned round = 0; round < 30; round++) {
    uint32_t count = ls_texts_count(t), keep = count - 4 * round;
    for (unsigned n = 0; n < 200; n++)
      intern(t, name_of(100000 * (round + 1) + n, s, 64));
    ls_texts_truncate(t, keep);
    ck_assert_uint_eq(ls_texts_count(t), keep);
    ck_assert(!ls_texts_valid(t, keep));
    for (unsigned n = 0; n + 1 < keep; n++) {
      uint32_t id;
      name_of(n, s, 64);
      ck_assert_int_eq(ls_texts_lookup(t, s, strlen(s), &id), LS_OK);
      ck_assert_uint_eq(id, n + 1);
    }
  }
  ls_texts_truncate(t, 1);
  uint32_t id;
  ck_assert_int_eq(ls_texts_lookup(t, "text-0", 6, &id), LS_MISSING);
  ck_assert_uint_eq(intern(t, "text-0"), 1);
  ls_texts_delete(t);
}
END_TEST

START_TEST(truncating_frees) {
  ls_texts *t = ls_texts_new(mem);
  ls_mem_stats before, after;
  ls_mem_read_stats(mem, &before);
  char *big = calloc(1, 100000);
  ck_assert_ptr_nonnull(big);
  for (unsigned round = 0; round < 50; round++) {
    uint32_t id;
    big[0] = (char)round;
    ck_assert_int_eq(ls_texts_intern(t, big, 100000, &id), LS_OK);
    ls_texts_truncate(t, 1);
  }
  ls_mem_read_stats(mem, &after);
  ck_assert_uint_le(after.live_bytes, before.live_bytes + 110000);
  free(big);
  ls_texts_delete(t);
}
END_TEST

/* ---- readers beside a writer ---- */

enum { SHARED_TEXTS = 30000 };
typedef struct {
  ls_texts *base;
  atomic_uint done;
} shared;

static void *writer(void *arg) {
  shared *s = arg;
  char name[64];
  for (unsigned n = 0; n < SHARED_TEXTS; n++) {
    uint32_t id;
    name_of(n, name, 64);
    if (ls_texts_intern(s->base, name, strlen(name), &id) != LS_OK)
      abort();
  }
  atomic_fetch_add(&s->done, 1);
  return NULL;
}

/* Everything that an overlay sees must be found under the id it has, and read right. */
static void *reader(void *arg) {
  shared *s = arg;
  uintptr_t wrong = 0;
  bool last = false;
  do {
    last = atomic_load(&s->done) == 2;
    ls_texts *o = ls_texts_overlay(s->base);
    if (o == NULL)
      abort();
    uint32_t count = ls_texts_count(s->base);
    for (uint32_t id = 1 + (uint32_t)(wrong % 7); id < count; id += 211) {
      size_t len;
      uint32_t found;
      const char *bytes = ls_texts_get(o, id, &len);
      if (ls_texts_lookup(s->base, bytes, len, &found) != LS_OK || found != id)
        wrong++;
      if (len < 6 || memcmp(bytes, "text-", 5) != 0)
        wrong++;
    }
    ls_texts_delete(o);
  } while (!last);
  return (void *)wrong;
}

START_TEST(threads) {
  shared s = {.base = ls_texts_new(mem)};
  pthread_t w[2], r[3];
  atomic_init(&s.done, 0);
  for (int i = 0; i < 2; i++)
    ck_assert_int_eq(pthread_create(&w[i], NULL, writer, &s), 0);
  for (int i = 0; i < 3; i++)
    ck_assert_int_eq(pthread_create(&r[i], NULL, reader, &s), 0);
  for (int i = 0; i < 2; i++)
    pthread_join(w[i], NULL);
  for (int i = 0; i < 3; i++) {
    void *wrong;
    pthread_join(r[i], &wrong);
    ck_assert_ptr_null(wrong);
  }
  ck_assert_uint_eq(ls_texts_count(s.base), SHARED_TEXTS + 1);
  ls_texts_delete(s.base);
}
END_TEST

/* ---- no memory ---- */

/* False as soon as something could not be had. */
static bool fill(ls_texts *t, unsigned from, unsigned to) {
  char s[64];
  for (unsigned n = from; n < to; n++) {
    uint32_t id, count = ls_texts_count(t);
    name_of(n, s, 64);
    ls_status st = ls_texts_intern(t, s, strlen(s), &id);
    if (st == LS_OK)
      continue;
    ck_assert_int_eq(st, LS_NOMEM);
    ck_assert_uint_eq(ls_texts_count(t), count);
    ck_assert_int_eq(ls_texts_lookup(t, s, strlen(s), &id), LS_MISSING);
    return false;
  }
  return true;
}

static bool script(void) {
  ls_texts *t = ls_texts_new(mem);
  if (t == NULL)
    return false;
  bool ok = fill(t, 0, 700);
  ls_texts *o = ok ? ls_texts_overlay(t) : NULL;
  ok = o != NULL && fill(o, 500, 1500);
  uint32_t id;
  for (uint32_t n = 0; ok && n < 800; n++)
    ok = ls_texts_publish(o, LS_TEXT_OVERLAY + n, &id) == LS_OK;
  if (ok)
    ck_assert_uint_eq(ls_texts_count(t), 1501);
  ls_texts_delete(o);
  ls_texts_delete(t);
  return ok;
}

START_TEST(every_allocation_fails) {
  unsigned n = 1;
  for (; n < 1000; n++) {
    ls_mem_fail_after(mem, n, n % 2);
    bool ok = script();
    ls_mem_fail_after(mem, 0, 0);
    ls_mem_stats stats;
    ls_mem_read_stats(mem, &stats);
    ck_assert_uint_eq(stats.live_bytes, 0);
    if (ok)
      break;
  }
  ck_assert_uint_gt(n, 15);
  ck_assert_uint_lt(n, 1000);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("texts");
  TCase *all = tcase_create("all");
  tcase_add_checked_fixture(all, setup, teardown);
  tcase_add_test(all, empty_text_is_zero);
  tcase_add_test(all, each_text_once);
  tcase_add_test(all, bytes_of_any_kind);
  tcase_add_test(all, order_is_bytewise);
  tcase_add_test(all, lookup_adds_nothing);
  tcase_add_test(all, overlay_has_its_own);
  tcase_add_test(all, overlay_resets_again_and_again);
  tcase_add_test(all, publishing);
  tcase_add_test(all, truncating);
  tcase_add_test(all, truncating_frees);
  tcase_add_test(all, threads);
  tcase_add_test(all, every_allocation_fails);
  suite_add_tcase(suite, all);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_ENV);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed != 0;
}
