/* Bulk building: widths, order, duplicates and their row numbers, rows already there, memory. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "lists/lists.h"
#include "tests/lists/support/tables.h"

static ls_mem *mem;
static ls_texts *texts;
static ls_policy policy;

static void setup(void) {
  mem = ls_mem_new(NULL);
  texts = ls_texts_new(mem);
  table_pool_intern(texts);
  policy = ls_policy_default;
}

static void teardown(void) {
  ls_mem_stats stats;
  ls_texts_delete(texts);
  ls_mem_read_stats(mem, &stats);
  ck_assert_uint_eq(stats.live_bytes, 0);
  ls_mem_delete(mem);
}

/* Rows lying one behind the other. */
typedef struct {
  const ls_schema *schema;
  ls_val *cells;
  size_t n;
} rows;

static rows rows_random(table_kind kind, chance *c, uint64_t span, size_t n) {
  rows r = {table_schemas[kind], NULL, n};
  r.cells = calloc(n * r.schema->ncols + 1, sizeof *r.cells);
  for (size_t i = 0; i < n; i++)
    table_row(kind, c, span, r.cells + i * r.schema->ncols);
  return r;
}

static void append_all(ls_builder *b, const rows *r, chance *c) {
  int64_t run[1000];
  for (unsigned col = 0; col < r->schema->ncols; col++)
    for (size_t i = 0; i < r->n;) {
      size_t n = 1 + chance_below(c, 1000);
      if (n > r->n - i)
        n = r->n - i;
      for (size_t j = 0; j < n; j++)
        run[j] = r->cells[(i + j) * r->schema->ncols + col].i;
      ck_assert_int_eq(ls_builder_append(b, col, run, n), LS_OK);
      i += n;
    }
}

/* Adds the rows to the model as dup says.  True: a duplicate, that of row *dup_row; *first_row
 * is the row that has its key, UINT64_MAX for one of the first `old` rows of the model. */
static bool model_add(model *m, const rows *r, ls_dup dup, uint64_t *dup_row, uint64_t *first_row) {
  model was;
  unsigned n = r->schema->ncols;
  bool found = false;
  ls_val row[LS_MAX_COLS];
  size_t at;
  model_init(&was, m->schema, m->pool);
  model_copy(&was, m);
  for (size_t i = 0; i < r->n; i++) {
    memcpy(row, r->cells + i * n, n * sizeof *row);
    model_normalise(m, row);
    if (r->schema->nkeys == 0 || !model_find(m, row, &at)) {
      model_put(m, row);
      continue;
    }
    if (!found) {
      found = true;
      *dup_row = i;
      *first_row = UINT64_MAX;
      for (size_t j = 0; j < i && *first_row == UINT64_MAX; j++) {
        ls_val other[LS_MAX_COLS];
        memcpy(other, r->cells + j * n, n * sizeof *row);
        model_normalise(m, other);
        if (model_compare_keys(m, other, row, r->schema->nkeys) == 0)
          *first_row = j;
      }
      if (model_find(&was, row, &at))
        *first_row = UINT64_MAX;
    }
    if (dup == LS_DUP_LAST)
      model_put(m, row);
  }
  if (found && dup == LS_DUP_ERROR)
    model_copy(m, &was);
  model_free(&was);
  return found && dup == LS_DUP_ERROR;
}

static void ck_same(ls_list *l, const model *m, chance *c, uint64_t span) {
  const char *differs = table_differs(l, m, c, span, 20);
  ck_assert_msg(differs == NULL, "%s", differs);
}

/* Loads three times into the same list. */
static void load(table_kind kind, chance *c, uint64_t span, size_t n, ls_dup dup) {
  const ls_schema *s = table_schemas[kind];
  ls_list *l = ls_list_new(s, mem, texts, &policy, NULL);
  model m;
  model_init(&m, s, table_pool());
  for (unsigned round = 0; round < 3; round++) {
    rows r = rows_random(kind, c, span, n);
    ls_builder *b = ls_builder_new(s, mem, texts);
    uint64_t dup_row = 0, first_row = 0, want_dup = 0, want_first = 0;
    append_all(b, &r, c);
    ck_assert_uint_eq(ls_builder_rows(b), n);
    ls_status st = ls_builder_finish(b, l, dup, &dup_row, &first_row);
    bool fails = model_add(&m, &r, dup, &want_dup, &want_first);
    ck_assert_int_eq(st, fails ? LS_DUPLICATE : LS_OK);
    if (fails) {
      ck_assert_uint_eq(dup_row, want_dup);
      ck_assert_uint_eq(first_row, want_first);
    } else {
      ck_assert_uint_eq(ls_builder_rows(b), 0);
    }
    ck_same(l, &m, c, span);
    ls_builder_delete(b);
    free(r.cells);
    if (round == 0 && kind != TABLE_LOG && m.count > 0)
      (void)ls_list_relayout(l, LS_TREE);
  }
  ls_list_delete(l);
  model_free(&m);
}

START_TEST(random_loads) {
  static const uint64_t spans[] = {3, 1000, 30001, UINT64_C(1) << 20, UINT64_C(1) << 31, INT64_MAX};
  static const size_t sizes[] = {0, 1, 2, 64, 65, 500, 1500};
  for (unsigned i = 0; i < sizeof spans / sizeof spans[0]; i++)
    for (unsigned j = 0; j < sizeof sizes / sizeof sizes[0]; j++)
      for (ls_dup dup = LS_DUP_ERROR; dup <= LS_DUP_LAST; dup++) {
        chance c = chance_make(spans[i] + sizes[j], dup);
        load((table_kind)_i, &c, spans[i], sizes[j], dup);
      }
}
END_TEST

static ls_builder *edges_random(chance *c, uint64_t span, size_t n) {
  ls_builder *b = ls_builder_new(table_schemas[TABLE_EDGE], mem, texts);
  int64_t run[4096];
  for (unsigned col = 0; col < 2; col++)
    for (size_t i = 0; i < n; i += 4096) {
      size_t here = n - i < 4096 ? n - i : 4096;
      for (size_t j = 0; j < here; j++)
        run[j] = (int64_t)chance_below(c, span);
      ck_assert_int_eq(ls_builder_append(b, col, run, here), LS_OK);
    }
  return b;
}

START_TEST(memory_of_a_load) {
  size_t n = 600000;
  chance c = chance_make(1, 1);
  ls_list *l = ls_list_new(table_schemas[TABLE_EDGE], mem, texts, &policy, NULL);
  ls_mem_stats before, after;
  ls_mem_read_stats(mem, &before);
  ls_builder *b = edges_random(&c, 200000, n);
  uint64_t dup_row, first_row;
  ck_assert_int_eq(ls_builder_finish(b, l, LS_DUP_FIRST, &dup_row, &first_row), LS_OK);
  ls_mem_read_stats(mem, &after);
  ck_assert_uint_le(after.peak_bytes - before.live_bytes, 3 * n * 8 + (1 << 16));
  ck_assert_int_eq(ls_shape_layout(l->shape), LS_ARRAY);
  ck_assert_uint_eq(ls_shape_width(l->shape, 0), 2);
  char why[80];
  ck_assert_msg(ls_list_check(l, why, sizeof why), "%s", why);
  ls_builder_delete(b);
  ls_list_delete(l);
}
END_TEST

START_TEST(layouts_and_widths) {
  ls_builder *b = ls_builder_new(table_schemas[TABLE_INT], mem, texts);
  ls_list *l = ls_list_new(table_schemas[TABLE_INT], mem, texts, &policy, NULL);
  int64_t key[5] = {9, 3, 7, 5, 1}, v[5] = {255, 65536, 3, 2, 1}, r[5] = {0};
  uint64_t dup_row, first_row;
  ls_builder_append(b, 0, key, 5);
  ls_builder_append(b, 1, v, 5);
  ls_builder_append(b, 2, r, 5);
  ck_assert_int_eq(ls_builder_finish(b, l, LS_DUP_ERROR, &dup_row, &first_row), LS_OK);
  ck_assert_int_eq(ls_shape_layout(l->shape), LS_DENSE);
  ck_assert_uint_eq(ls_shape_width(l->shape, 1), 2);
  /* the builder is as new: its widths too */
  v[1] = 1;
  for (unsigned i = 0; i < 5; i++)
    key[i] = (key[i] << 40) + 1000000;
  ls_list *other = ls_list_new(table_schemas[TABLE_INT], mem, texts, &policy, NULL);
  ls_builder_append(b, 0, key, 5);
  ls_builder_append(b, 1, v, 5);
  ls_builder_append(b, 2, r, 5);
  ck_assert_int_eq(ls_builder_finish(b, other, LS_DUP_ERROR, &dup_row, &first_row), LS_OK);
  ck_assert_int_eq(ls_shape_layout(other->shape), LS_ARRAY);
  ck_assert_uint_eq(ls_shape_width(other->shape, 0), 3);
  ck_assert_uint_eq(ls_shape_width(other->shape, 1), 0);
  ls_builder_delete(b);
  ls_list_delete(l);
  ls_list_delete(other);
}
END_TEST

/* A text of an overlay orders with those of its base. */
START_TEST(texts_of_an_overlay) {
  ls_texts *over = ls_texts_overlay(texts);
  const ls_schema *s = table_schemas[TABLE_TEXT];
  ls_list *l = ls_list_new(s, mem, over, &policy, NULL);
  ls_builder *b = ls_builder_new(s, mem, over);
  static const char *const words[] = {"prefix-long-and", "pref", "zebra", "a", "prefix-lonh"};
  int64_t ids[5], nought[5] = {0};
  for (unsigned i = 0; i < 5; i++) {
    uint32_t id;
    ls_texts_intern(over, words[i], strlen(words[i]), &id);
    ids[i] = id;
  }
  ids[4] = 17;
  ls_builder_append(b, 0, ids, 5);
  ls_builder_append(b, 1, nought, 5);
  ls_builder_append(b, 2, nought, 5);
  uint64_t dup_row, first_row;
  ck_assert_int_eq(ls_builder_finish(b, l, LS_DUP_ERROR, &dup_row, &first_row), LS_OK);
  ck_assert_uint_eq(l->count, 5);
  char why[80];
  ck_assert_msg(ls_list_check(l, why, sizeof why), "%s", why);
  ls_builder_delete(b);
  ls_list_delete(l);
  ls_texts_delete(over);
}
END_TEST

START_TEST(a_budget_is_asked) {
  ls_budget budget = {.left = 100000};
  chance c = chance_make(2, 2);
  ls_list *l = ls_list_new(table_schemas[TABLE_EDGE], mem, texts, &policy, &budget);
  uint64_t dup_row, first_row;
  ls_builder *b = edges_random(&c, 1 << 30, 1000);
  ck_assert_int_eq(ls_builder_finish(b, l, LS_DUP_FIRST, &dup_row, &first_row), LS_OK);
  ck_assert_int_lt(budget.left, 100000);
  ls_builder_delete(b);
  b = edges_random(&c, 1 << 30, 100000);
  ck_assert_int_eq(ls_builder_finish(b, l, LS_DUP_FIRST, &dup_row, &first_row), LS_LIMIT);
  ck_assert_uint_eq(l->count, 1000);
  ls_builder_delete(b);
  ls_list_delete(l);
  ck_assert_int_eq(budget.left, 100000);
}
END_TEST

START_TEST(a_frozen_list_stays) {
  chance c = chance_make(2, 3);
  ls_list *l = ls_list_new(table_schemas[TABLE_EDGE], mem, texts, &policy, NULL);
  ls_list *frozen = ls_list_freeze(l);
  uint64_t dup_row, first_row;
  ls_builder *b = edges_random(&c, 1 << 30, 1000);
  ck_assert_int_eq(ls_builder_append(b, 0, NULL, 0), LS_OK);
  ck_assert_int_eq(ls_builder_finish(b, frozen, LS_DUP_FIRST, &dup_row, &first_row), LS_FROZEN);
  ck_assert_uint_eq(frozen->count, 0);
  ls_builder_delete(b);
  ls_list_delete(frozen);
  ls_list_delete(l);
}
END_TEST

/* Inside an event a load is undone like any other write. */
START_TEST(a_load_is_undone) {
  chance c = chance_make(2, 4);
  ls_store *s = ls_store_new(table_schemas, TABLE_KINDS, mem, &policy);
  ls_list *l = ls_store_list(s, TABLE_EDGE);
  uint64_t dup_row, first_row, digest = 0;
  for (unsigned i = 0; i < 3; i++) {
    ls_builder *b = edges_random(&c, 1 << 30, 1000);
    digest = ls_store_digest(s);
    ck_assert_int_eq(ls_store_begin(s, NULL), LS_OK);
    ck_assert_int_eq(ls_list_insert(l, NULL, (ls_val[]){{.i = -1}, {.i = i}}, NULL), LS_OK);
    ck_assert_int_eq(ls_builder_finish(b, l, LS_DUP_FIRST, &dup_row, &first_row), LS_OK);
    ck_assert_int_eq(ls_list_insert(l, NULL, (ls_val[]){{.i = -2}, {.i = i}}, NULL), LS_OK);
    if (i == 1)
      ls_store_commit(s);
    else
      ls_store_rollback(s);
    if (i != 1)
      ck_assert_uint_eq(ls_store_digest(s), digest);
    ls_builder_delete(b);
  }
  ck_assert_uint_ge(l->count, 1000);
  ls_store_delete(s);
}
END_TEST

static ls_status try_load(const rows *r, ls_list *l) {
  uint64_t dup_row, first_row;
  int64_t v;
  ls_builder *b = ls_builder_new(r->schema, mem, texts);
  if (b == NULL)
    return LS_NOMEM;
  ls_status st = LS_OK;
  for (size_t i = 0; i < r->n && st == LS_OK; i++)
    for (unsigned c = 0; c < r->schema->ncols && st == LS_OK; c++) {
      v = r->cells[i * r->schema->ncols + c].i;
      st = ls_builder_append(b, c, &v, 1);
    }
  if (st == LS_OK)
    st = ls_builder_finish(b, l, LS_DUP_LAST, &dup_row, &first_row);
  ls_builder_delete(b);
  return st;
}

START_TEST(every_allocation_fails) {
  chance c = chance_make(3, _i);
  uint64_t span = _i % 2 ? 5000 : UINT64_C(1) << 50;
  rows r = rows_random((table_kind)(_i / 2), &c, span, 400);
  ls_list *l = ls_list_new(r.schema, mem, texts, &policy, NULL);
  ls_status st = LS_NOMEM;
  unsigned n = 0;
  for (unsigned loads = 0; loads < 2;) { /* into an empty list and one with rows */
    uint64_t digest = ls_list_digest(l, 0);
    n++;
    ls_mem_fail_after(mem, n, n % 2);
    st = try_load(&r, l);
    ls_mem_fail_after(mem, 0, 0);
    ck_assert(st == LS_OK || st == LS_NOMEM);
    if (st == LS_NOMEM) {
      ck_assert_uint_eq(ls_list_digest(l, 0), digest);
    } else {
      ck_assert_uint_gt(n, 5);
      loads++;
      n = 0;
    }
  }
  ls_list_delete(l);
  free(r.cells);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("builder");
  TCase *all = tcase_create("all");
  tcase_add_checked_fixture(all, setup, teardown);
  tcase_add_loop_test(all, random_loads, 0, TABLE_KINDS);
  tcase_add_test(all, memory_of_a_load);
  tcase_add_test(all, layouts_and_widths);
  tcase_add_test(all, texts_of_an_overlay);
  tcase_add_test(all, a_budget_is_asked);
  tcase_add_test(all, a_frozen_list_stays);
  tcase_add_test(all, a_load_is_undone);
  tcase_add_loop_test(all, every_allocation_fails, 0, 2 * TABLE_KINDS);
  suite_add_tcase(suite, all);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_ENV);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed != 0;
}
