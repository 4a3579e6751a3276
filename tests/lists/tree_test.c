/* Counted B+ trees: random edits against a model, sharing, sizes, lack of memory. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "lists/lists_int.h"
#include "tests/lists/support/tables.h"

static ls_mem *mem;
static ls_texts *texts;
static ls_policy policy;

static void setup(void) {
  mem = ls_mem_new(NULL);
  texts = ls_texts_new(mem);
  table_pool_intern(texts);
  policy = ls_policy_default;
  policy.dense_min_span = 0;
  policy.dense_max_sparsity = 0;
}

static void teardown(void) {
  ls_mem_stats stats;
  ls_texts_delete(texts);
  ls_mem_read_stats(mem, &stats);
  ck_assert_uint_eq(stats.live_bytes, 0);
  ls_mem_delete(mem);
}

static ls_list *tree_new(const ls_schema *s) {
  ls_list *l = ls_list_new(s, mem, texts, &policy, NULL);
  ck_assert_int_eq(ls_list_relayout(l, LS_TREE), LS_OK);
  l->stored = true;
  return l;
}

static void ck_same(ls_list *l, const model *m, chance *c, uint64_t span, unsigned looks) {
  const char *differs = table_differs(l, m, c, span, looks);
  ck_assert_msg(differs == NULL, "%s", differs);
  ck_assert_int_eq(ls_shape_layout(l->shape), LS_TREE);
}

/* Frozen earlier states of a list, with what they must hold. */
#define KEPT 6u
typedef struct {
  ls_list *list[KEPT];
  model was[KEPT];
  const ls_schema *schema;
} kept;

static void kept_drop(kept *k, unsigned i) {
  ls_list_delete(k->list[i]);
  model_free(&k->was[i]);
  k->list[i] = NULL;
}

static void kept_swap(kept *k, unsigned i, ls_list *l, const model *m) {
  if (k->list[i] != NULL) {
    kept_drop(k, i);
    return;
  }
  k->list[i] = ls_list_freeze(l);
  ck_assert_ptr_nonnull(k->list[i]);
  model_init(&k->was[i], k->schema, m->pool);
  model_copy(&k->was[i], m);
}

static void one_edit(table_kind kind, ls_list *l, model *m, chance *c, uint64_t span, bool grow) {
  ls_val row[LS_MAX_COLS];
  const ls_schema *s = table_schemas[kind];
  size_t at;
  table_row(kind, c, span, row);
  if (grow || m->count == 0) {
    ls_row h;
    ck_assert_int_eq(ls_list_put(l, NULL, row, &h), LS_OK);
    model_normalise(m, row);
    for (unsigned i = 0; i < s->ncols; i++)
      ck_assert_uint_eq(ls_list_get(l, h, i).u, row[i].u);
    model_put(m, row);
    return;
  }
  if (chance_one_in(c, 2))
    memcpy(row, model_row(m, chance_below(c, m->count)), s->nkeys * sizeof *row);
  model_normalise(m, row);
  bool there = model_find(m, row, &at);
  ck_assert_int_eq(ls_list_erase(l, NULL, row), there ? LS_OK : LS_MISSING);
  if (there)
    model_erase(m, at);
}

/* Grows and shrinks a tree a few times, with shares of it taken and dropped meanwhile. */
static void edits(table_kind kind, uint64_t span, unsigned steps, uint64_t seed) {
  chance c = chance_make(seed, kind);
  const ls_schema *s = table_schemas[kind];
  ls_list *l = tree_new(s);
  model m;
  kept k = {.schema = s};
  model_init(&m, s, table_pool());
  for (unsigned i = 0; i < steps; i++) {
    bool growing = i / (steps / 4) % 2 == 0;
    one_edit(kind, l, &m, &c, span, chance_one_in(&c, 5) ? !growing : growing);
    if (chance_one_in(&c, 200))
      kept_swap(&k, (unsigned)chance_below(&c, KEPT), l, &m);
    if (i % 251 == 0)
      ck_same(l, &m, &c, span, 20);
  }
  ck_same(l, &m, &c, span, 200);
  for (unsigned i = 0; i < KEPT; i++) {
    if (k.list[i] == NULL)
      continue;
    ck_same(k.list[i], &k.was[i], &c, span, 50);
    kept_drop(&k, i);
  }
  ls_list_delete(l);
  model_free(&m);
}

START_TEST(random_edits) {
  edits((table_kind)_i, 100, 3000, 1);
  edits((table_kind)_i, 100001, 20000, 2);
}
END_TEST

static void fill(ls_list *l, int64_t n, int64_t step) {
  for (int64_t i = 0; i < n; i++) {
    ls_val row[3] = {{.i = (step > 0 ? i : n - 1 - i)}, {.i = i % 200}, {.r = 0.5}};
    ck_assert_int_eq(ls_list_insert(l, NULL, row, NULL), LS_OK);
  }
}

START_TEST(rows_in_order_fill_their_leaves) {
  ls_list *l = tree_new(table_schemas[TABLE_INT]);
  fill(l, 100000, 1);
  /* 4 + 1 + 8 bytes a row, 64 bytes a leaf, an inner node for 64 leaves */
  ck_assert_uint_lt(ls_list_bytes(l), 100000u * 15);
  ls_list_delete(l);
}
END_TEST

START_TEST(ranks_of_a_high_tree) {
  ls_list *l = tree_new(table_schemas[TABLE_INT]);
  fill(l, 300000, -1);
  ck_assert_uint_ge(l->u.tree.height, 2);
  for (int64_t lo = 0; lo < 300000; lo += 7919) {
    ls_slice s = {.has_lo = true, .lo = {.i = lo}, .has_hi = true, .hi = {.i = 299000}};
    uint64_t n;
    ck_assert_int_eq(ls_list_slice_count(l, NULL, &s, &n), LS_OK);
    ck_assert_int_eq((int64_t)n, lo > 299000 ? 0 : 299001 - lo);
  }
  char why[80];
  ck_assert_msg(ls_list_check(l, why, sizeof why), "%s", why);
  ls_list_delete(l);
}
END_TEST

START_TEST(erasing_gives_nodes_back) {
  ls_list *l = tree_new(table_schemas[TABLE_INT]);
  fill(l, 50000, 1);
  uint64_t full = ls_list_bytes(l);
  for (int64_t i = 0; i < 50000; i++)
    if (i % 50 != 0)
      ck_assert_int_eq(ls_list_erase(l, NULL, &(ls_val){.i = i}), LS_OK);
  ck_assert_uint_eq(l->count, 1000);
  ck_assert_uint_lt(ls_list_bytes(l), full / 10);
  for (int64_t i = 0; i < 50000; i += 50)
    ck_assert_int_eq(ls_list_erase(l, NULL, &(ls_val){.i = i}), LS_OK);
  ck_assert_uint_eq(l->count, 0);
  ck_assert_uint_eq(l->u.tree.height, 0);
  fill(l, 100, 1);
  ck_assert_uint_eq(l->count, 100);
  ls_list_delete(l);
}
END_TEST

/* The same key range taken from the front again and again, as a priority queue does. */
START_TEST(taking_from_the_front) {
  ls_list *l = tree_new(table_schemas[TABLE_PAIR]);
  chance c = chance_make(5, 5);
  int64_t last = -1;
  for (int64_t i = 0; i < 30000; i++) {
    ls_val row[3] = {{.i = last + 1 + (int64_t)chance_below(&c, 1000)}, {.i = i}, {.i = i}};
    ck_assert_int_eq(ls_list_insert(l, NULL, row, NULL), LS_OK);
    if (i % 3 == 0)
      continue;
    ls_row h;
    ck_assert_int_eq(ls_list_first(l, NULL, &LS_WHOLE, &h), LS_OK);
    ls_val key[2] = {ls_list_get(l, h, 0), ls_list_get(l, h, 1)};
    ck_assert_int_ge(key[0].i, last);
    last = key[0].i;
    ck_assert_int_eq(ls_list_erase(l, NULL, key), LS_OK);
  }
  char why[80];
  ck_assert_msg(ls_list_check(l, why, sizeof why), "%s", why);
  ls_list_delete(l);
}
END_TEST

START_TEST(a_share_keeps_its_widths) {
  ls_list *l = tree_new(table_schemas[TABLE_INT]);
  fill(l, 1000, 1);
  ls_list *before = ls_list_freeze(l);
  uint64_t digest = ls_list_digest(l, 0);
  ls_row h;
  ck_assert_int_eq(ls_list_find(l, NULL, &(ls_val){.i = 500}, &h), LS_OK);
  ck_assert_int_eq(ls_list_set(l, NULL, &h, 1, (ls_val){.i = -7}), LS_OK);
  ck_assert_int_eq(ls_list_get(l, h, 1).i, -7);
  ck_assert_uint_ne(ls_shape_width(l->shape, 1), ls_shape_width(before->shape, 1));
  ck_assert_uint_eq(ls_list_digest(before, 0), digest);
  ls_list_delete(l);
  ck_assert_uint_eq(ls_list_digest(before, 0), digest);
  ls_list_delete(before);
}
END_TEST

/* Writing to one row of a shared tree copies the way to it and no more. */
START_TEST(a_write_copies_one_path) {
  ls_mem_stats before, after;
  ls_list *l = tree_new(table_schemas[TABLE_INT]);
  fill(l, 100000, 1);
  ls_list *share = ls_list_freeze(l);
  ls_row h;
  ls_mem_read_stats(mem, &before);
  for (unsigned i = 0; i < 10; i++) {
    ck_assert_int_eq(ls_list_find(l, NULL, &(ls_val){.i = 70000 + i}, &h), LS_OK);
    ck_assert_int_eq(ls_list_set(l, NULL, &h, 1, (ls_val){.i = 9}), LS_OK);
  }
  ls_mem_read_stats(mem, &after);
  ck_assert_uint_le(after.allocs - before.allocs, 2 * (l->u.tree.height + 1));
  ls_list_delete(share);
  /* alone again, it copies nothing */
  ls_mem_read_stats(mem, &before);
  for (unsigned i = 0; i < 100000; i += 50) {
    ck_assert_int_eq(ls_list_find(l, NULL, &(ls_val){.i = i}, &h), LS_OK);
    ck_assert_int_eq(ls_list_set(l, NULL, &h, 1, (ls_val){.i = 9}), LS_OK);
  }
  ls_mem_read_stats(mem, &after);
  ck_assert_uint_eq(after.allocs, before.allocs);
  ls_list_delete(l);
}
END_TEST

static void ck_broken(const ls_list *l) {
  char why[80] = "";
  ck_assert(!ls_list_check(l, why, sizeof why));
  ck_assert_str_ne(why, "");
}

START_TEST(check_finds_what_is_broken) {
  ls_list *l = tree_new(table_schemas[TABLE_INT]);
  fill(l, 1000, 1);
  ls_row h;
  ck_assert_int_eq(ls_list_find(l, NULL, &(ls_val){.i = 500}, &h), LS_OK);
  char *leaf = (char *)(uintptr_t)(h & ~(uint64_t)(LS_LEAF_ROWS - 1));
  uint16_t *cells = (uint16_t *)(void *)(leaf + l->u.tree.col_offset[0]);
  uint64_t slot = h & (LS_LEAF_ROWS - 1);
  static const uint16_t wrong[] = {0, 499, 501, 999};
  for (unsigned i = 0; i < 4; i++) {
    cells[slot] = wrong[i];
    ck_broken(l);
    cells[slot] = 500;
  }
  l->count--;
  ck_broken(l);
  l->count++;
  uint32_t *offset = l->u.tree.col_offset;
  l->u.tree.col_offset = NULL;
  ck_broken(l);
  l->u.tree.col_offset = offset;
  char why[80];
  ck_assert_msg(ls_list_check(l, why, sizeof why), "%s", why);
  ls_list_delete(l);
}
END_TEST

/* Whatever allocation fails, the tree and its share are as they were. */
START_TEST(every_allocation_fails) {
  ls_list *l = tree_new(table_schemas[TABLE_PAIR]);
  for (int64_t i = 0; i < 64 * 64; i++) {
    ls_val row[3] = {{.i = i * 10}, {.i = 1}, {.i = 2}};
    ck_assert_int_eq(ls_list_insert(l, NULL, row, NULL), LS_OK);
  }
  unsigned failures = 0;
  for (int64_t at = 5; at < 64 * 64 * 10; at += 997) {
    ls_list *share = ls_list_freeze(l);
    uint64_t digest = ls_list_digest(l, 0);
    ls_val row[3] = {{.i = at}, {.i = at}, {.i = at}};
    ls_status st = LS_NOMEM;
    for (unsigned n = 1; st == LS_NOMEM; n++) {
      ls_mem_fail_after(mem, n, 1);
      st = ls_list_put(l, NULL, row, NULL);
      ls_mem_fail_after(mem, 0, 0);
      failures += st == LS_NOMEM;
      char why[80];
      ck_assert_msg(ls_list_check(l, why, sizeof why), "%s", why);
      if (st == LS_NOMEM)
        ck_assert_uint_eq(ls_list_digest(l, 0), digest);
    }
    ck_assert_int_eq(st, LS_OK);
    ck_assert_uint_eq(ls_list_digest(share, 0), digest);
    ls_list_delete(share);
  }
  ck_assert_uint_gt(failures, 50);
  ls_list_delete(l);
}
END_TEST

/* Columns of n rows, sorted by a then b. */
static void columns_make(unsigned n, void **cols, uint64_t shape) {
  for (unsigned c = 0; c < 3; c++) {
    cols[c] = ls_block_new(mem, (size_t)n << ls_shape_width(shape, c), false);
    for (unsigned i = 0; i < n; i++)
      ls_cell_store(cols[c], ls_shape_width(shape, c), i, c == 0 ? i / 3 : c == 1 ? i % 3 : i);
  }
}

START_TEST(from_sorted_columns) {
  static const unsigned sizes[] = {0, 1, 55, 56, 57, 64, 65, 3136, 3137, 200000};
  unsigned n = sizes[_i];
  const ls_schema *s = table_schemas[TABLE_PAIR];
  uint64_t shape = ls_shape_make(s, LS_TREE, 0);
  shape = ls_shape_with_width(ls_shape_with_width(shape, 0, 2), 2, 3);
  void *cols[3];
  columns_make(n, cols, shape);
  ls_list *l = ls_list_new(s, mem, texts, &policy, NULL);
  ck_assert_int_eq(ls_tree_adopt(l, shape, (const void *const *)cols, n), LS_OK);
  for (unsigned c = 0; c < 3; c++)
    ls_block_drop(cols[c]);
  chance c = chance_make(9, n);
  model m;
  model_init(&m, s, table_pool());
  for (unsigned i = 0; i < n; i++)
    model_insert(&m, i, (ls_val[]){{.i = i / 3}, {.i = i % 3}, {.i = i}});
  ck_same(l, &m, &c, n + 2, 30);
  ls_list_delete(l);
  model_free(&m);
}
END_TEST

START_TEST(building_fails_cleanly) {
  const ls_schema *s = table_schemas[TABLE_PAIR];
  uint64_t shape = ls_shape_with_width(ls_shape_make(s, LS_TREE, 0), 0, 2);
  shape = ls_shape_with_width(shape, 2, 2);
  void *cols[3];
  columns_make(8000, cols, shape);
  ls_list *l = ls_list_new(s, mem, texts, &policy, NULL);
  ls_status st = LS_NOMEM;
  unsigned n = 0;
  while (st == LS_NOMEM) {
    ls_mem_fail_after(mem, ++n, 1);
    st = ls_tree_adopt(l, shape, (const void *const *)cols, 8000);
    ls_mem_fail_after(mem, 0, 0);
    if (st == LS_NOMEM)
      ck_assert(l->fresh && l->count == 0);
  }
  ck_assert_int_eq(st, LS_OK);
  ck_assert_uint_gt(n, 8000 / 56);
  for (unsigned c = 0; c < 3; c++)
    ls_block_drop(cols[c]);
  ls_list_delete(l);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("tree");
  TCase *all = tcase_create("all");
  tcase_add_checked_fixture(all, setup, teardown);
  tcase_add_loop_test(all, random_edits, 0, TABLE_LOG);
  tcase_add_test(all, rows_in_order_fill_their_leaves);
  tcase_add_test(all, ranks_of_a_high_tree);
  tcase_add_test(all, erasing_gives_nodes_back);
  tcase_add_test(all, taking_from_the_front);
  tcase_add_test(all, a_share_keeps_its_widths);
  tcase_add_test(all, a_write_copies_one_path);
  tcase_add_test(all, check_finds_what_is_broken);
  tcase_add_test(all, every_allocation_fails);
  tcase_add_loop_test(all, from_sorted_columns, 0, 10);
  tcase_add_test(all, building_fails_cleanly);
  suite_add_tcase(suite, all);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_ENV);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed != 0;
}
