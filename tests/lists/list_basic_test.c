/* Local lists one property at a time: fast paths, growth, order, budget, hints, sorting. */
#include <check.h>
#include <math.h>
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
  ls_mem_delete(mem);
}

static const ls_column int2[] = {{"a", LS_INT, 0}, {"b", LS_INT, 1}, {"c", LS_INT, 2}};
static const ls_schema flat2 = {"flat2", 2, 0, int2};
static const ls_schema map2 = {"map2", 2, 1, int2};
static const ls_schema pairs = {"pairs", 3, 2, int2};

static void holds(const ls_list *l) {
  char why[128] = "";
  if (!ls_list_check(l, why, sizeof why))
    ck_abort_msg("%s", why);
}

static ls_list *make(const ls_schema *s) {
  ls_list *l = ls_list_new(s, mem, NULL, NULL, NULL);
  ck_assert_ptr_nonnull(l);
  return l;
}

static void put2(ls_list *l, int64_t a, int64_t b) {
  ls_val row[2] = {{.i = a}, {.i = b}};
  ck_assert_int_eq(ls_list_put(l, NULL, row, NULL), LS_OK);
}

static bool find1(ls_list *l, int64_t key, int64_t *value) {
  ls_val k = {.i = key};
  ls_row h;
  ls_status st = ls_list_find(l, NULL, &k, &h);
  if (st != LS_OK)
    return false;
  ck_assert_int_eq(ls_list_get(l, h, 0).i, key);
  *value = ls_list_get(l, h, 1).i;
  return true;
}

/* ---- flat ---- */

START_TEST(append_fast_and_slow) {
  ls_list *l = make(&flat2);
  uint64_t fast = 0;
  for (int64_t i = 0; i < 5000; i++) {
    ls_val row[2] = {{.i = i % 250}, {.i = i * i}};
    ls_row h = 0;
    if (ls_flat_append_fast(l, row, &h))
      fast++;
    else
      ck_assert_int_eq(ls_list_insert(l, NULL, row, &h), LS_OK);
    ck_assert_uint_eq(h, (uint64_t)i);
  }
  ck_assert_uint_gt(fast, 4900);
  holds(l);
  for (ls_row h = 0; h < 5000; h++) {
    ck_assert_int_eq(ls_list_get(l, h, 0).i, (int64_t)h % 250);
    ck_assert_int_eq(ls_list_get(l, h, 1).i, (int64_t)(h * h));
  }
  ck_assert_int_eq(ls_list_clear(l), LS_OK);
  ck_assert_uint_eq(l->count, 0);
  ck_assert_uint_gt(l->room, 4000); /* a local list keeps its cells */
  ls_list_delete(l);
}
END_TEST

static int by_b_desc_then_a(const void *x, const void *y) {
  const int64_t *p = x, *q = y;
  if (p[1] != q[1])
    return p[1] < q[1] ? 1 : -1;
  if (p[0] != q[0])
    return p[0] < q[0] ? -1 : 1;
  return p[2] < q[2] ? -1 : 1; /* stable */
}

static void sort_case(unsigned n, int64_t range_a, int64_t range_b, int64_t shift) {
  static const ls_schema s = {"sorted", 3, 0, int2};
  static const uint16_t keys[2] = {1 << 1 | 1, 0 << 1};
  ls_list *l = make(&s);
  int64_t *rows = malloc((n + 1) * 3 * sizeof *rows);
  ck_assert_ptr_nonnull(rows);
  uint64_t x = n + 1;
  for (unsigned i = 0; i < n; i++) {
    x = x * UINT64_C(6364136223846793005) + 1;
    int64_t *r = rows + i * 3;
    r[0] = (int64_t)(x >> 33) % range_a - shift;
    r[1] = (int64_t)(x >> 20 & 0xfffffff) % range_b - shift;
    r[2] = i;
    ls_val row[3] = {{.i = r[0]}, {.i = r[1]}, {.i = r[2]}};
    ck_assert_int_eq(ls_list_insert(l, NULL, row, NULL), LS_OK);
  }
  qsort(rows, n, 3 * sizeof *rows, by_b_desc_then_a);
  ck_assert_int_eq(ls_list_sort(l, NULL, keys, 2), LS_OK);
  for (unsigned i = 0; i < n; i++)
    for (unsigned c = 0; c < 3; c++)
      ck_assert_int_eq(ls_list_get(l, i, c).i, rows[i * 3 + c]);
  holds(l);
  free(rows);
  ls_list_delete(l);
}

START_TEST(sort_two_columns) {
  const unsigned sizes[] = {0, 1, 2, 3, 50, 95, 96, 97, 1000, 30000};
  for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    sort_case(sizes[i], 7, 5, 0); /* narrow: one image for both */
    sort_case(sizes[i], 1000000, 3, 0);
    sort_case(sizes[i], 1000, 70000, 500); /* negative: 8 bytes each */
    sort_case(sizes[i], 1, 1, 0);          /* nothing to do but to stay stable */
  }
}
END_TEST

START_TEST(sort_reals_and_texts) {
  static const ls_column cols[] = {{"t", LS_TEXT, 0}, {"r", LS_REAL, 1}};
  static const ls_schema s = {"rt", 2, 0, cols};
  static const char *const words[] = {"prefix-long-b", "", "prefix-long-a", "zz", "prefix-l"};
  static const double reals[] = {NAN, -0.0, 0.0, -INFINITY, 3.5, -3.5, INFINITY};
  static const uint16_t up[2] = {0, 1 << 1}, down[2] = {1, 1 << 1 | 1};
  ls_texts *t = ls_texts_new(mem);
  ls_list *l = ls_list_new(&s, mem, t, NULL, NULL);
  for (unsigned i = 0; i < 35; i++) {
    uint32_t id;
    ck_assert_int_eq(ls_texts_intern(t, words[i % 5], strlen(words[i % 5]), &id), LS_OK);
    ls_val row[2] = {{.u = id}, {.r = reals[i % 7]}};
    ck_assert_int_eq(ls_list_insert(l, NULL, row, NULL), LS_OK);
  }
  for (unsigned round = 0; round < 2; round++) {
    ck_assert_int_eq(ls_list_sort(l, NULL, round ? down : up, 2), LS_OK);
    for (ls_row h = 1; h < 35; h++) {
      int d = ls_texts_compare(t, (uint32_t)ls_list_get(l, h - 1, 0).u,
                               (uint32_t)ls_list_get(l, h, 0).u);
      double a = ls_list_get(l, h - 1, 1).r, b = ls_list_get(l, h, 1).r;
      ck_assert(round ? d >= 0 : d <= 0);
      if (d == 0)
        ck_assert(round ? isnan(a) || a >= b : isnan(b) || a <= b);
    }
  }
  ls_list_delete(l);
  ls_texts_delete(t);
}
END_TEST

/* ---- dense ---- */

START_TEST(dense_grows_both_ways) {
  ls_list *l = make(&map2);
  for (int64_t i = 0; i < 3000; i++) {
    put2(l, 100000 + i, i);
    put2(l, 100000 - i, i);
    ck_assert_int_eq(ls_shape_layout(l->shape), LS_DENSE);
  }
  holds(l);
  ck_assert_uint_eq(l->count, 5999);
  int64_t v;
  for (int64_t i = -3000; i <= 3000; i++) {
    ck_assert(find1(l, 100000 + i, &v) == (i > -3000 && i < 3000));
    if (i > -3000 && i < 3000)
      ck_assert_int_eq(v, i < 0 ? -i : i);
  }
  ck_assert_uint_le(ls_list_bytes(l), 5999 * 2 * 5);
  ls_list_delete(l);
}
END_TEST

START_TEST(dense_at_the_ends_of_int) {
  const int64_t ends[2] = {INT64_MIN, INT64_MAX};
  for (int e = 0; e < 2; e++) {
    ls_list *l = make(&map2);
    int64_t v;
    for (int64_t i = 0; i < 200; i++)
      put2(l, e ? ends[e] - i : ends[e] + i, i);
    holds(l);
    ck_assert_int_eq(ls_shape_layout(l->shape), LS_DENSE);
    for (int64_t i = 0; i < 200; i++)
      ck_assert(find1(l, e ? ends[e] - i : ends[e] + i, &v) && v == i);
    ck_assert(!find1(l, ends[!e], &v) && !find1(l, 0, &v));
    put2(l, ends[!e], 5);
    ck_assert_int_eq(ls_shape_layout(l->shape), LS_HASH);
    ck_assert(find1(l, ends[!e], &v) && v == 5);
    ck_assert(find1(l, ends[e], &v) && v == 0);
    holds(l);
    ls_list_delete(l);
  }
}
END_TEST

/* Keys as a breadth-first search meets them: far apart first, all of them in the end. */
START_TEST(sparse_then_dense) {
  enum { N = 200000 };
  ls_list *l = make(&map2);
  uint64_t key = 1;
  bool hashed = false;
  for (int64_t i = 0; i < N; i++) {
    key = (key * 5 + 1) % 262144;
    put2(l, (int64_t)key, i);
    hashed = hashed || ls_shape_layout(l->shape) == LS_HASH;
  }
  ck_assert(hashed);
  ck_assert_int_eq(ls_shape_layout(l->shape), LS_DENSE);
  ck_assert_uint_eq(ls_shape_base(l->shape), LS_BASE_ZERO);
  ck_assert_uint_eq(l->count, N);
  holds(l);
  ls_list_delete(l);
}
END_TEST

START_TEST(dense_put_fast_is_put) {
  ls_list *a = make(&map2), *b = make(&map2);
  uint64_t x = 1, fast = 0;
  for (int i = 0; i < 20000; i++) {
    x = x * UINT64_C(6364136223846793005) + 1;
    ls_val row[2] = {{.i = (int64_t)(x >> 50)}, {.i = (int64_t)(x >> 40 & 0xff)}};
    ls_row h;
    if (ls_dense_put_fast(a, row, false, &h))
      fast++;
    else
      ck_assert_int_eq(ls_list_put(a, NULL, row, &h), LS_OK);
    ck_assert_int_eq(ls_list_get(a, h, 0).i, row[0].i);
    ck_assert_int_eq(ls_list_put(b, NULL, row, NULL), LS_OK);
  }
  ls_row h;
  ls_val there[2] = {{.i = (int64_t)(x >> 50)}, {.i = 1}};
  ck_assert(!ls_dense_put_fast(a, there, true, &h));
  ck_assert_int_eq(ls_list_insert(a, NULL, there, &h), LS_DUPLICATE);
  ck_assert_uint_gt(fast, 15000);
  ck_assert_uint_eq(a->count, b->count);
  ck_assert_uint_eq(ls_list_digest(a, 1), ls_list_digest(b, 1));
  holds(a);
  ls_list_delete(a);
  ls_list_delete(b);
}
END_TEST

/* ---- hash ---- */

static int64_t pair_key(int64_t i) { return i * INT64_C(1000003) % 5003; }

START_TEST(hash_insert_erase_find) {
  ls_list *l = make(&pairs);
  for (int64_t i = 0; i < 5003; i++) {
    ls_val row[3] = {{.i = pair_key(i)}, {.i = -i}, {.i = i}};
    ck_assert_int_eq(ls_list_insert(l, NULL, row, NULL), LS_OK);
    ck_assert_int_eq(ls_list_insert(l, NULL, row, NULL), LS_DUPLICATE);
  }
  ck_assert_int_eq(ls_shape_layout(l->shape), LS_HASH);
  for (int64_t i = 0; i < 5003; i += 3) {
    ls_val key[2] = {{.i = pair_key(i)}, {.i = -i}};
    ck_assert_int_eq(ls_list_erase(l, NULL, key), LS_OK);
    ck_assert_int_eq(ls_list_erase(l, NULL, key), LS_MISSING);
  }
  holds(l);
  for (int64_t i = 0; i < 5003; i++) {
    ls_val key[2] = {{.i = pair_key(i)}, {.i = -i}};
    ls_row h;
    ck_assert_int_eq(ls_list_find(l, NULL, key, &h), i % 3 == 0 ? LS_MISSING : LS_OK);
    if (i % 3 != 0)
      ck_assert_int_eq(ls_list_get(l, h, 2).i, i);
  }
  ls_list_delete(l);
}
END_TEST

START_TEST(hash_in_order) {
  ls_list *l = make(&pairs);
  ls_cursor c;
  ls_row h;
  uint64_t n = 0;
  for (int64_t round = 0; round < 5; round++) {
    for (int64_t i = round * 1000; i < (round + 1) * 1000; i++) {
      ls_val row[3] = {{.i = i * 7919 % 1000}, {.i = i}, {.i = 1}};
      ck_assert_int_eq(ls_list_insert(l, NULL, row, NULL), LS_OK);
    }
    n = 0;
    int64_t a = -1, b = -1;
    ck_assert_int_eq(ls_list_seek(l, NULL, &LS_WHOLE, &c), LS_OK);
    while (ls_list_next(l, &c, &h)) {
      int64_t x = ls_list_get(l, h, 0).i, y = ls_list_get(l, h, 1).i;
      ck_assert(x > a || (x == a && y > b));
      a = x, b = y, n++;
    }
    ck_assert_uint_eq(n, l->count);
    holds(l);
  }
  ls_val prefix = {.i = 37};
  ls_slice s = {.prefix = &prefix, .np = 1};
  ck_assert_int_eq(ls_list_slice_count(l, NULL, &s, &n), LS_OK);
  ck_assert_uint_eq(n, 5);
  ls_list_delete(l);
}
END_TEST

/* Take the first, add some: asked for order after each change, the list becomes a tree. */
START_TEST(priority_queue_becomes_a_tree) {
  ls_list *l = make(&pairs);
  uint64_t x = 1, taken = 0;
  int64_t last = -1;
  for (int64_t i = 0; i < 400; i++) {
    ls_val row[3] = {{.i = (int64_t)((x = x * 69069 + 1) >> 20 & 0xfff)}, {.i = i}, {.i = 0}};
    ck_assert_int_eq(ls_list_insert(l, NULL, row, NULL), LS_OK);
  }
  while (l->count != 0) {
    ls_row h;
    ck_assert_int_eq(ls_list_first(l, NULL, &LS_WHOLE, &h), LS_OK);
    ls_val key[2] = {ls_list_get(l, h, 0), ls_list_get(l, h, 1)};
    ck_assert_int_ge(key[0].i, last);
    last = key[0].i;
    ck_assert_int_eq(ls_list_erase(l, NULL, key), LS_OK);
    if (++taken % 2 && taken < 800) {
      ls_val row[3] = {{.i = last + (int64_t)(taken % 50)}, {.i = 1000 + (int64_t)taken}, {.i = 0}};
      ck_assert_int_eq(ls_list_insert(l, NULL, row, NULL), LS_OK);
    }
    if (taken == 20)
      ck_assert_int_eq(ls_shape_layout(l->shape), LS_TREE);
  }
  ck_assert_uint_eq(taken, 800);
  ls_hint hint;
  ls_list_take_hint(l, &hint);
  ck_assert_int_eq(ls_list_restart(l, &hint), LS_OK);
  ls_list_delete(l);
}
END_TEST

START_TEST(real_and_text_keys) {
  static const ls_column cols[] = {{"r", LS_REAL, 0}, {"t", LS_TEXT, 1}, {"n", LS_INT, 2}};
  static const ls_schema s = {"rt", 3, 2, cols};
  ls_texts *base = ls_texts_new(mem), *tx = ls_texts_overlay(base);
  ls_list *l = ls_list_new(&s, mem, tx, NULL, NULL);
  uint32_t own, young;
  ck_assert_int_eq(ls_texts_intern(tx, "word", 4, &own), LS_OK);
  ck_assert_int_eq(ls_texts_publish(tx, own, &young), LS_OK);
  ls_val row[3] = {{.r = -0.0}, {.u = own}, {.i = 1}};
  ck_assert_int_eq(ls_list_insert(l, tx, row, NULL), LS_OK);
  row[0].r = 0.0;
  row[1].u = young; /* the same text, as a stored list would show it */
  ck_assert_int_eq(ls_list_insert(l, tx, row, NULL), LS_DUPLICATE);
  ck_assert(ls_list_has(l, tx, row));
  row[0].r = NAN;
  ck_assert(!ls_list_has(l, tx, row));
  ck_assert_int_eq(ls_list_put(l, tx, row, NULL), LS_OK);
  row[0].r = -NAN;
  row[1].u = own;
  row[2].i = 77;
  ck_assert_int_eq(ls_list_put(l, tx, row, NULL), LS_OK);
  ck_assert_uint_eq(l->count, 2);
  ls_row h;
  ck_assert_int_eq(ls_list_last(l, tx, &LS_WHOLE, &h), LS_OK);
  ck_assert(isnan(ls_list_get(l, h, 0).r));
  ck_assert_int_eq(ls_list_get(l, h, 2).i, 77);
  holds(l);
  ls_list_delete(l);
  ls_texts_delete(tx);
  ls_texts_delete(base);
}
END_TEST

/* ---- slices, in every layout ---- */

static void slice_is(ls_list *l, const ls_slice *s, int64_t first, int64_t last, uint64_t want) {
  ls_row h;
  uint64_t n;
  ck_assert_int_eq(ls_list_slice_count(l, NULL, s, &n), LS_OK);
  ck_assert_uint_eq(n, want);
  ck_assert_int_eq(ls_list_first(l, NULL, s, &h), want ? LS_OK : LS_MISSING);
  if (want)
    ck_assert_int_eq(ls_list_get(l, h, 0).i, first);
  ck_assert_int_eq(ls_list_last(l, NULL, s, &h), want ? LS_OK : LS_MISSING);
  if (want)
    ck_assert_int_eq(ls_list_get(l, h, 0).i, last);
}

START_TEST(slices_of_every_layout) {
  const ls_layout layouts[] = {LS_DENSE, LS_HASH, LS_TREE, LS_ARRAY};
  for (unsigned k = 0; k < 4; k++) {
    ls_list *l = make(&map2);
    for (int64_t i = -300; i < 300; i += 3)
      put2(l, i, i * i);
    ck_assert_int_eq(ls_list_relayout(l, layouts[k]), LS_OK);
    ck_assert_int_eq(ls_shape_layout(l->shape), layouts[k]);
    ls_slice s = {.has_lo = true, .has_hi = true, .lo = {.i = -4}, .hi = {.i = 7}};
    slice_is(l, &s, -3, 6, 4);
    s.lo.i = 7, s.hi.i = 8;
    slice_is(l, &s, 0, 0, 0);
    s.lo.i = 8, s.hi.i = 7;
    slice_is(l, &s, 0, 0, 0);
    s.lo.i = INT64_MIN, s.hi.i = INT64_MAX;
    slice_is(l, &s, -300, 297, 200);
    s.has_hi = false, s.lo.i = 1;
    slice_is(l, &s, 3, 297, 99);
    s.has_lo = false, s.has_hi = true, s.hi.i = -301;
    slice_is(l, &s, 0, 0, 0);
    holds(l);
    ls_list_delete(l);
  }
}
END_TEST

/* The loop of the language: to the smallest key above the present one, come what may. */
START_TEST(looping_over_a_changing_list) {
  const ls_layout layouts[] = {LS_DENSE, LS_HASH, LS_TREE, LS_ARRAY};
  for (unsigned k = 0; k < 4; k++) {
    ls_list *l = make(&map2);
    for (int64_t i = 0; i < 100; i += 2)
      put2(l, i, 0);
    ck_assert_int_eq(ls_list_relayout(l, layouts[k]), LS_OK);
    ls_val at = {.i = -1};
    int64_t visits = 0;
    for (;;) {
      ls_cursor c;
      ls_row h;
      ck_assert_int_eq(ls_list_seek_after(l, NULL, &LS_WHOLE, &at, &c), LS_OK);
      if (!ls_list_next(l, &c, &h))
        break;
      at = ls_list_get(l, h, 0);
      visits++;
      if (at.i % 4 == 0)
        put2(l, at.i + 1, 1); /* ahead: seen */
      if (at.i > 0)
        put2(l, at.i - 3, 1); /* behind: not */
      if (at.i % 4 == 2)
        ck_assert_int_eq(ls_list_erase(l, NULL, &at), LS_OK); /* itself */
    }
    ck_assert_int_eq(visits, 75);
    holds(l);
    ls_list_delete(l);
  }
}
END_TEST

/* ---- budget ---- */

/* Rows that go in before the budget is used up. */
static uint64_t rows_for(int64_t bytes, ls_layout layout, ls_hint *hint) {
  ls_budget budget = {.left = bytes};
  ls_list *l = ls_list_new(&map2, mem, NULL, NULL, &budget);
  ck_assert_int_eq(ls_list_restart(l, hint), LS_OK);
  for (int64_t i = 0;; i++) {
    ls_val row[2] = {{.i = i * 3}, {.i = i}};
    ls_row h;
    if (ls_dense_put_fast(l, row, true, &h))
      continue;
    ls_status st = ls_list_insert(l, NULL, row, NULL);
    if (st == LS_LIMIT)
      break;
    ck_assert_int_eq(st, LS_OK);
    if (layout != LS_FLAT)
      ls_list_relayout(l, layout);
  }
  holds(l);
  uint64_t n = l->count;
  if (hint != NULL)
    ls_list_take_hint(l, hint);
  ck_assert_int_eq(ls_list_restart(l, NULL), LS_OK);
  ck_assert_int_eq(budget.left, bytes);
  ls_list_delete(l);
  return n;
}

START_TEST(budget_is_the_same_in_every_layout) {
  ls_hint hint = {0};
  for (int64_t bytes = 0; bytes < 9000; bytes += 500) {
    uint64_t want = rows_for(bytes, LS_FLAT, NULL); /* left to the policy */
    ck_assert_uint_eq(rows_for(bytes, LS_DENSE, NULL), want);
    ck_assert_uint_eq(rows_for(bytes, LS_HASH, NULL), want);
    ck_assert_uint_eq(rows_for(bytes, LS_TREE, NULL), want);
    ck_assert_uint_eq(rows_for(bytes, LS_ARRAY, NULL), want);
    ck_assert_uint_eq(rows_for(bytes, LS_FLAT, &hint), want);
    ck_assert_uint_eq(rows_for(bytes, LS_FLAT, &hint), want);
    ck_assert_uint_eq(want, bytes < 64 * 32    ? 0
                            : bytes < 128 * 32 ? 64
                            : bytes < 256 * 32 ? 128
                                               : 256);
  }
}
END_TEST

/* ---- hints ---- */

START_TEST(steady_state_allocates_nothing) {
  ls_list *map = make(&map2), *queue = make(&flat2), *hash = make(&pairs);
  ls_list *all[3] = {map, queue, hash};
  ls_mem_stats before = {0}, after;
  for (int call = 0; call < 3; call++) {
    for (int k = 0; k < 3; k++) {
      ls_hint hint;
      ls_list_take_hint(all[k], &hint);
      ck_assert_int_eq(ls_list_restart(all[k], &hint), LS_OK);
    }
    if (call == 2)
      ls_mem_read_stats(mem, &before);
    for (int64_t i = 0; i < 3000; i++) {
      ls_val row[3] = {{.i = i * 17 % 3000}, {.i = i * 1000}, {.i = -1}};
      ck_assert_int_eq(ls_list_put(map, NULL, row, NULL), LS_OK);
      ck_assert_int_eq(ls_list_put(queue, NULL, row, NULL), LS_OK);
      ck_assert_int_eq(ls_list_put(hash, NULL, row, NULL), LS_OK);
    }
  }
  ls_mem_read_stats(mem, &after);
  ck_assert_uint_eq(after.allocs, before.allocs);
  for (int k = 0; k < 3; k++) {
    ck_assert_uint_eq(all[k]->count, 3000);
    holds(all[k]);
    ls_list_delete(all[k]);
  }
}
END_TEST

/* A hint is advice: keys quite elsewhere, fewer rows, wider values. */
START_TEST(wrong_hints_do_no_harm) {
  ls_list *l = make(&map2);
  ls_hint hint = {0};
  int64_t v;
  for (int64_t start = 0; start < 6; start++) {
    int64_t from = start % 2 ? start * INT64_C(1000000000000) : -5 * start;
    for (int64_t i = 0; i < 500; i++)
      put2(l, from + i, start * i * 1000);
    for (int64_t i = 0; i < 500; i++)
      ck_assert(find1(l, from + i, &v) && v == start * i * 1000);
    holds(l);
    if (start % 3 == 0)
      ls_list_take_hint(l, &hint);
    ck_assert_int_eq(ls_list_restart(l, &hint), LS_OK);
    ck_assert_uint_eq(l->count, 0);
    holds(l);
  }
  ls_list_delete(l);
}
END_TEST

/* ---- memory ---- */

static bool steps(ls_list *map, ls_list *hash, ls_list *flat, int64_t from, int64_t to) {
  static const uint16_t keys[1] = {1 << 1 | 1};
  ls_status st = LS_OK;
  for (int64_t i = from; i < to && st == LS_OK; i++) {
    ls_val row[3] = {{.i = i * 37 % 911}, {.i = i * i}, {.i = -i}};
    uint64_t count[3] = {map->count, hash->count, flat->count};
    st = ls_list_put(map, NULL, row, NULL);
    if (st != LS_OK)
      ck_assert_uint_eq(map->count, count[0]);
    if (st == LS_OK && (st = ls_list_put(hash, NULL, row, NULL)) != LS_OK)
      ck_assert_uint_eq(hash->count, count[1]);
    if (st == LS_OK && (st = ls_list_insert(flat, NULL, row, NULL)) != LS_OK)
      ck_assert_uint_eq(flat->count, count[2]);
  }
  uint64_t before = st == LS_OK ? ls_list_digest(hash, 0) : 0;
  if (st == LS_OK)
    st = ls_list_relayout(hash, from % 2 ? LS_TREE : LS_HASH);
  if (st == LS_OK)
    ck_assert_uint_eq(ls_list_digest(hash, 0), before);
  if (st == LS_OK)
    st = ls_list_sort(flat, NULL, keys, 1);
  ls_cursor c;
  if (st == LS_OK)
    st = ls_list_seek(hash, NULL, &LS_WHOLE, &c);
  holds(map);
  holds(hash);
  holds(flat);
  if (st != LS_OK)
    ck_assert_int_eq(st, LS_NOMEM);
  return st == LS_OK;
}

static bool script(void) {
  ls_list *l[3] = {ls_list_new(&map2, mem, NULL, NULL, NULL), NULL, NULL};
  l[1] = ls_list_new(&pairs, mem, NULL, NULL, NULL);
  l[2] = ls_list_new(&flat2, mem, NULL, NULL, NULL);
  bool ok = l[0] && l[1] && l[2];
  for (int64_t i = 0; i < 5 && ok; i++)
    ok = steps(l[0], l[1], l[2], i * 100, i * 100 + 100);
  for (int k = 0; k < 3; k++) {
    ls_hint hint;
    if (ok)
      ls_list_take_hint(l[k], &hint);
    ok = ok && ls_list_restart(l[k], NULL) == LS_OK && ls_list_restart(l[k], &hint) == LS_OK;
  }
  ok = ok && steps(l[0], l[1], l[2], 0, 100);
  for (int k = 0; k < 3; k++)
    ls_list_delete(l[k]);
  return ok;
}

START_TEST(every_allocation_fails) {
  unsigned n = 1;
  for (; n < 5000; n++) {
    ls_mem_fail_after(mem, n, n % 2);
    bool ok = script();
    ls_mem_fail_after(mem, 0, 0);
    ls_mem_stats stats;
    ls_mem_read_stats(mem, &stats);
    ck_assert_uint_eq(stats.live_bytes, 0);
    if (ok)
      break;
  }
  ck_assert_uint_gt(n, 30);
  ck_assert_uint_lt(n, 5000);
}
END_TEST

/* Blocks that the system maps, and growth by moving pages. */
START_TEST(large_blocks) {
  const size_t sizes[] = {1,        4095,    1 << 20, (4 << 20) - 1, 4 << 20, 5 << 20,
                          32 << 20, 6 << 20, 100};
  unsigned char *p = NULL;
  size_t old = 0;
  for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    unsigned char *z = ls_mem_zalloc(mem, sizes[i]);
    ck_assert_ptr_nonnull(z);
    ck_assert_uint_eq((uintptr_t)z % LS_MEM_ALIGN, 0);
    for (size_t k = 0; k < sizes[i]; k += 509)
      ck_assert_uint_eq(z[k], 0);
    ls_mem_free(mem, z, sizes[i]);
    p = ls_mem_resize(mem, p, old, sizes[i]);
    ck_assert_ptr_nonnull(p);
    for (size_t k = 0; k < old && k < sizes[i]; k += 509)
      ck_assert_uint_eq(p[k], k % 251);
    for (size_t k = 0; k < sizes[i]; k += 509)
      p[k] = (unsigned char)(k % 251);
    ck_assert_uint_eq((uintptr_t)p % LS_MEM_ALIGN, 0);
    old = sizes[i];
  }
  ck_assert_ptr_null(ls_mem_alloc(mem, SIZE_MAX - 10));
  ls_mem_free(mem, p, old);
}
END_TEST

/* A stored log is appended to between snapshots without being copied. */
START_TEST(shared_log_is_not_copied) {
  const ls_schema *schemas[1] = {&flat2};
  ls_store *s = ls_store_new(schemas, 1, mem, NULL);
  ls_list *l = ls_store_list(s, 0);
  ls_snapshot *snap[50];
  for (int64_t i = 0; i < 900; i++)
    put2(l, i % 200, i);
  const void *cells = l->col[0];
  for (int64_t k = 0; k < 50; k++) {
    snap[k] = ls_snapshot_take(s);
    ck_assert_ptr_nonnull(snap[k]);
    put2(l, k, 7);
    ck_assert_ptr_eq(l->col[0], cells);
    ck_assert_uint_eq(ls_snapshot_list(snap[k], 0)->count, 900 + (uint64_t)k);
  }
  ls_row h = 905; /* a row that snapshots see: now it is copied */
  ck_assert_int_eq(ls_list_set(l, NULL, &h, 0, (ls_val){.i = 99}), LS_OK);
  ck_assert_ptr_ne(l->col[0], cells);
  ck_assert_int_eq(ls_list_get(l, h, 0).i, 99);
  for (int64_t k = 0; k < 50; k++) {
    ls_list *old = ls_snapshot_list(snap[k], 0);
    if (k > 5)
      ck_assert_int_eq(ls_list_get(old, h, 0).i, 5);
    ck_assert_int_eq(ls_list_insert(old, NULL, (ls_val[2]){{.i = 1}, {.i = 1}}, NULL), LS_FROZEN);
    holds(old);
    ls_snapshot_release(snap[k]);
  }
  holds(l);
  ls_store_delete(s);
}
END_TEST

/* A write to a dense list that a snapshot holds: small ones are copied, big ones become trees,
 * and dense again once look-ups have paid for it. */
START_TEST(shared_dense) {
  const ls_schema *schemas[1] = {&map2};
  for (int64_t n = 100; n <= 100000; n *= 1000) {
    ls_store *s = ls_store_new(schemas, 1, mem, NULL);
    ls_list *l = ls_store_list(s, 0);
    for (int64_t i = 0; i < n; i++)
      put2(l, i, i);
    ls_snapshot *snap = ls_snapshot_take(s);
    uint64_t digest = ls_snapshot_digest(snap);
    put2(l, 5, 77);
    ck_assert_int_eq(ls_shape_layout(l->shape), n == 100 ? LS_DENSE : LS_TREE);
    ck_assert_uint_eq(ls_snapshot_digest(snap), digest);
    ck_assert_uint_ne(ls_store_digest(s), digest);
    int64_t v = 0;
    ck_assert(find1(l, 5, &v) && v == 77);
    ck_assert_int_eq(ls_list_settle(l), LS_OK);
    ck_assert_int_eq(ls_shape_layout(l->shape), n == 100 ? LS_DENSE : LS_TREE);
    for (int64_t i = 0; i < n; i++)
      find1(l, i, &v);
    ck_assert_int_eq(ls_list_settle(l), LS_OK);
    ck_assert_int_eq(ls_shape_layout(l->shape), LS_DENSE);
    ls_snapshot_release(snap);
    holds(l);
    ls_store_delete(s);
  }
}
END_TEST

typedef struct {
  uint64_t live, blocks;
} counted;

static void *count_alloc(void *user, size_t bytes) {
  counted *c = user;
  c->live += bytes;
  c->blocks++;
  return aligned_alloc(LS_MEM_ALIGN, bytes);
}

static void count_free(void *user, void *block, size_t bytes) {
  counted *c = user;
  c->live -= bytes;
  free(block);
}

START_TEST(memory_of_the_host) {
  counted c = {0, 0};
  ls_mem *own = ls_mem_new(&(ls_mem_hooks){count_alloc, count_free, &c});
  ls_list *l = ls_list_new(&flat2, own, NULL, NULL, NULL);
  for (int64_t i = 0; i < 700000; i++) {
    ls_val row[2] = {{.i = i}, {.i = -i}};
    ck_assert_int_eq(ls_list_insert(l, NULL, row, NULL), LS_OK);
  }
  ck_assert_uint_gt(c.live, 700000 * 12);
  ck_assert_uint_gt(c.blocks, 10);
  ck_assert_int_eq(ls_list_get(l, 699999, 1).i, -699999);
  ls_list_delete(l);
  ck_assert_uint_eq(c.live, 0);
  ls_mem_delete(own);
}
END_TEST

START_TEST(policy_from_environment) {
  ls_policy p;
  const char *bad;
  setenv("PURE_LIST_DENSE_SPARSITY", "123", 1);
  setenv("PURE_LIST_BUCKET_ROWS", "12x", 1);
  setenv("PURE_JIT_STRESS", "deopt,layout:9", 1);
  ls_policy_from_env(&p, &bad);
  ck_assert_uint_eq(p.dense_max_sparsity, 123);
  ck_assert_uint_eq(p.bucket_rows, ls_policy_default.bucket_rows);
  ck_assert_str_eq(bad, "PURE_LIST_BUCKET_ROWS");
  ck_assert_uint_eq(p.stress_seed, 9);
  unsetenv("PURE_LIST_BUCKET_ROWS");
  setenv("PURE_JIT_STRESS", "deopt", 1);
  setenv("PURE_LIST_SHARE_COPY", "18446744073709551615", 1);
  ls_policy_from_env(&p, &bad);
  ck_assert_ptr_null(bad);
  ck_assert_uint_eq(p.stress_seed, 0);
  ck_assert_uint_eq(p.share_copy_bytes, UINT64_MAX);
  setenv("PURE_LIST_SHARE_COPY", "18446744073709551616", 1);
  ls_policy_from_env(&p, &bad);
  ck_assert_str_eq(bad, "PURE_LIST_SHARE_COPY");
  unsetenv("PURE_LIST_SHARE_COPY");
  unsetenv("PURE_LIST_DENSE_SPARSITY");
  unsetenv("PURE_JIT_STRESS");
}
END_TEST

static TCase *rows_case(void) {
  TCase *t = tcase_create("rows");
  tcase_add_checked_fixture(t, setup, teardown);
  tcase_add_test(t, append_fast_and_slow);
  tcase_add_test(t, sort_two_columns);
  tcase_add_test(t, sort_reals_and_texts);
  tcase_add_test(t, dense_grows_both_ways);
  tcase_add_test(t, dense_at_the_ends_of_int);
  tcase_add_test(t, sparse_then_dense);
  tcase_add_test(t, dense_put_fast_is_put);
  tcase_add_test(t, hash_insert_erase_find);
  tcase_add_test(t, hash_in_order);
  tcase_add_test(t, priority_queue_becomes_a_tree);
  tcase_add_test(t, real_and_text_keys);
  tcase_add_test(t, slices_of_every_layout);
  tcase_add_test(t, looping_over_a_changing_list);
  return t;
}

static TCase *memory_case(void) {
  TCase *t = tcase_create("memory");
  tcase_add_checked_fixture(t, setup, teardown);
  tcase_add_test(t, budget_is_the_same_in_every_layout);
  tcase_add_test(t, steady_state_allocates_nothing);
  tcase_add_test(t, wrong_hints_do_no_harm);
  tcase_add_test(t, every_allocation_fails);
  tcase_add_test(t, large_blocks);
  tcase_add_test(t, shared_log_is_not_copied);
  tcase_add_test(t, shared_dense);
  tcase_add_test(t, memory_of_the_host);
  tcase_add_test(t, policy_from_environment);
  return t;
}

int main(void) {
  Suite *suite = suite_create("list_basic");
  suite_add_tcase(suite, rows_case());
  suite_add_tcase(suite, memory_case());
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_ENV);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed != 0;
}
