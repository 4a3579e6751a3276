/* Long operations that are told to stop, at every place where they ask: the list has the rows it
 * had, holds together, and can be used. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "lists/lists_int.h"

#define ROWS 100000 /* a few strides */

static const ls_column flat_cols[] = {{"a", LS_INT, 0}, {"r", LS_REAL, 1}, {"t", LS_TEXT, 2}};
static const ls_schema flat = {"flat", 3, 0, flat_cols};
static const ls_column keyed_cols[] = {{"k", LS_INT, 0}, {"v", LS_INT, 1}};
static const ls_schema keyed = {"keyed", 2, 1, keyed_cols};

/* Says stop when asked for the n-th time. */
typedef struct {
  unsigned asked, stop_at;
} asker;

static bool asked(void *user) {
  asker *a = user;
  return ++a->asked == a->stop_at;
}

static ls_mem *mem;
static ls_texts *texts;
static asker who;
static ls_budget budget;

static void setup(void) {
  mem = ls_mem_new(NULL);
  texts = ls_texts_new(mem);
  who = (asker){0};
  budget = (ls_budget){.left = INT64_MAX, .stop = asked, .user = &who};
}

static void teardown(void) {
  ls_mem_stats stats;
  ls_texts_delete(texts);
  ls_mem_read_stats(mem, &stats);
  ck_assert_uint_eq(stats.live_bytes, 0);
  ls_mem_delete(mem);
}

/* Another number for each, all over the range. */
static int64_t scatter(int64_t i) { return (int64_t)((uint64_t)i * UINT64_C(0x9e3779b97f4a7c15)); }

static void add_flat(ls_list *l, int64_t i) {
  char bytes[24];
  uint32_t id;
  int n = snprintf(bytes, sizeof bytes, "text %03d", (int)(i * 7919 % 500));
  ck_assert_int_eq(ls_texts_intern(texts, bytes, (size_t)n, &id), LS_OK);
  ls_val row[3] = {{.i = scatter(i)}, {.r = (double)(i * 31 % 1000)}, {.i = id}};
  ck_assert_int_eq(ls_list_insert(l, NULL, row, NULL), LS_OK);
}

static void add_keyed(ls_list *l, int64_t i, int64_t key) {
  ls_val row[2] = {{.i = key}, {.i = i}};
  ck_assert_int_eq(ls_list_put(l, NULL, row, NULL), LS_OK);
}

static void holds(const ls_list *l) {
  char why[100] = "";
  ck_assert_msg(ls_list_check(l, why, sizeof why), "%s", why);
}

/* Of the rows as they lie, for a digest would put a hash list in order. */
static uint64_t rows_hash(const ls_list *l) {
  uint64_t h = l->count;
  for (uint64_t row = 0; row < l->count; row++)
    for (unsigned c = 0; c < l->schema->ncols; c++)
      h = ls_hash_mix(h, ls_list_get(l, row, c).u);
  return h;
}

typedef ls_status (*operation)(ls_list *l, unsigned how);

/* Stopped at the first question, the second, ...: how often it had to be asked. */
static unsigned stop_everywhere(ls_list *l, operation op, unsigned how,
                                uint64_t (*hash)(const ls_list *)) {
  uint64_t before = hash(l), shape = l->shape, count = l->count;
  for (unsigned at = 1;; at++) {
    who = (asker){.stop_at = at};
    ls_status st = op(l, how);
    who.stop_at = 0;
    if (st == LS_OK)
      return at - 1;
    ck_assert_int_eq(st, LS_STOPPED);
    ck_assert_uint_eq(who.asked, at);
    ck_assert_uint_eq(l->shape, shape);
    ck_assert_uint_eq(l->count, count);
    ck_assert_uint_eq(hash(l), before);
    if (at % 8 == 1)
      holds(l);
  }
}

static ls_status sort_by(ls_list *l, unsigned how) {
  static const uint16_t keys[][2] = {{0, 0}, {1 << 1 | 1, 0}, {2 << 1, 1}};
  return ls_list_sort(l, NULL, keys[how], 2);
}

START_TEST(a_sort_stops) {
  ls_list *l = ls_list_new(&flat, mem, texts, NULL, &budget);
  for (int64_t i = 0; i < ROWS; i++)
    add_flat(l, i);
  for (unsigned how = 0; how < 3; how++) {
    /* images, one pass at least, three columns */
    ck_assert_uint_ge(stop_everywhere(l, sort_by, how, rows_hash), 3 * 5);
    holds(l);
    for (uint64_t row = 1; row < l->count && how == 0; row++)
      ck_assert_int_le(ls_list_get(l, row - 1, 0).i, ls_list_get(l, row, 0).i);
  }
  add_flat(l, ROWS);
  ls_list_delete(l);
}
END_TEST

/* In an event, beside a snapshot that holds the blocks: rolled back it is what it was. */
START_TEST(a_stopped_sort_is_rolled_back) {
  const ls_schema *schemas[] = {&flat};
  ls_store *s = ls_store_new(schemas, 1, mem, NULL);
  ls_list *l = ls_store_list(s, 0);
  for (int64_t i = 0; i < ROWS; i++) {
    ls_val row[3] = {{.i = scatter(i)}, {.r = 1}, {.i = 0}};
    ck_assert_int_eq(ls_list_insert(l, NULL, row, NULL), LS_OK);
  }
  ls_snapshot *snap = ls_snapshot_take(s);
  uint64_t before = ls_store_digest(s);
  for (unsigned at = 1; at < 40; at += 3) {
    who = (asker){.stop_at = at};
    ck_assert_int_eq(ls_store_begin(s, &budget), LS_OK);
    ls_status st = sort_by(l, 0);
    ck_assert_int_eq(st, who.asked == at ? LS_STOPPED : LS_OK);
    ls_store_rollback(s);
    holds(l);
    ck_assert_uint_eq(ls_store_digest(s), before);
  }
  ck_assert_int_eq(ls_store_begin(s, &budget), LS_OK);
  who = (asker){0};
  ck_assert_int_eq(sort_by(l, 0), LS_OK);
  ls_store_commit(s);
  holds(l);
  ck_assert_uint_ne(ls_store_digest(s), before);
  ck_assert_uint_eq(ls_snapshot_digest(snap), before);
  ls_snapshot_release(snap);
  ls_store_delete(s);
}
END_TEST

static ls_status seek(ls_list *l, unsigned how) {
  (void)how;
  ls_cursor c;
  return ls_list_seek(l, NULL, &LS_WHOLE, &c);
}

/* All rows out of order, then a sorted part and a tail. */
START_TEST(putting_a_hash_list_in_order_stops) {
  ls_list *l = ls_list_new(&keyed, mem, NULL, NULL, &budget);
  for (int64_t i = 0; i < ROWS; i++)
    add_keyed(l, i, scatter(i));
  ck_assert_int_eq(ls_shape_layout(l->shape), LS_HASH);
  ck_assert_uint_ge(stop_everywhere(l, seek, 0, rows_hash), 3 * 4);
  holds(l);
  for (int64_t i = ROWS; i < 2 * ROWS; i++)
    add_keyed(l, i, scatter(i));
  ck_assert_uint_ge(stop_everywhere(l, seek, 0, rows_hash), 3 * 5);
  holds(l);
  for (int64_t i = 0; i < 2 * ROWS; i++)
    ck_assert(ls_list_has(l, NULL, &(ls_val){.i = scatter(i)}));
  ls_list_delete(l);
}
END_TEST

/* A table that grows under a put: the row is put later, and once. */
START_TEST(growing_a_hash_list_stops) {
  ls_list *l = ls_list_new(&keyed, mem, NULL, NULL, &budget);
  unsigned stopped = 0;
  for (int64_t i = 0; i < 3 * ROWS; i++) {
    ls_val row[2] = {{.i = scatter(i)}, {.i = i}};
    who = (asker){.stop_at = 1};
    ls_status st = ls_list_put(l, NULL, row, NULL);
    who.stop_at = 0;
    if (st != LS_OK) {
      ck_assert_int_eq(st, LS_STOPPED);
      ck_assert_uint_eq(l->count, (uint64_t)i);
      holds(l);
      stopped++;
      add_keyed(l, i, row[0].i);
    }
  }
  ck_assert_uint_ge(stopped, 2);
  ck_assert_uint_eq(l->count, 3 * ROWS);
  holds(l);
  ls_list_delete(l);
}
END_TEST

static uint64_t digest(const ls_list *l) { return ls_list_digest(l, 1); }

static ls_status relayout(ls_list *l, unsigned how) { return ls_list_relayout(l, (ls_layout)how); }

START_TEST(changing_the_layout_stops) {
  static const ls_layout all[] = {LS_DENSE, LS_HASH, LS_TREE, LS_ARRAY};
  for (unsigned from = 0; from < 4; from++) {
    for (unsigned to = 0; to < 4; to++) {
      if (from == to)
        continue;
      ls_list *l = ls_list_new(&keyed, mem, NULL, NULL, &budget);
      for (int64_t i = 0; i < ROWS; i++)
        add_keyed(l, i, i * 77773 % ROWS);
      ck_assert_int_eq(ls_list_relayout(l, all[from]), LS_OK);
      unsigned asks = stop_everywhere(l, relayout, all[to], digest);
      /* The digest has put a hash list in order: its columns become an array's as they are. */
      bool held = all[from] == LS_HASH && all[to] == LS_ARRAY;
      ck_assert_msg(held || asks >= 3, "%u to %u: asked %u times", all[from], all[to], asks);
      ck_assert_int_eq(ls_shape_layout(l->shape), all[to]);
      holds(l);
      ls_list_delete(l);
    }
  }
}
END_TEST

int main(void) {
  const TTest *const tests[] = {a_sort_stops, a_stopped_sort_is_rolled_back,
                                putting_a_hash_list_in_order_stops, growing_a_hash_list_stops,
                                changing_the_layout_stops};
  Suite *s = suite_create("stop");
  TCase *t = tcase_create("all");
  tcase_add_checked_fixture(t, setup, teardown);
  tcase_set_timeout(t, 120);
  for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
    tcase_add_test(t, tests[i]);
  suite_add_tcase(s, t);
  SRunner *r = srunner_create(s);
  srunner_run_all(r, CK_NORMAL);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed != 0;
}
