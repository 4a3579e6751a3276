/* Sorted columns with a directory: look-ups of every kind of key, shapes of the directory,
 * writing in place, sharing. */
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

static ls_list *array_of(const model *m) {
  const ls_schema *s = m->schema;
  uint64_t shape = ls_shape_make(s, LS_ARRAY, 0);
  for (unsigned c = 0; c < s->ncols; c++)
    for (size_t i = 0; i < m->count; i++) {
      unsigned w = ls_width_of(s->cols[c].type, model_row(m, i)[c]);
      if (w > ls_shape_width(shape, c))
        shape = ls_shape_with_width(shape, c, w);
    }
  void *cols[LS_MAX_COLS];
  for (unsigned c = 0; c < s->ncols; c++) {
    unsigned w = ls_shape_width(shape, c);
    cols[c] = ls_block_new(mem, m->count << w, false);
    for (size_t i = 0; i < m->count; i++)
      ls_cell_store(cols[c], w, i, model_row(m, i)[c].u);
  }
  ls_list *l = ls_list_new(s, mem, texts, &policy, NULL);
  l->stored = true;
  ck_assert_int_eq(ls_array_adopt(l, shape, cols, m->count, m->count), LS_OK);
  ls_list_update_room(l);
  return l;
}

static void ck_same(ls_list *l, const model *m, chance *c, uint64_t span, unsigned looks) {
  const char *differs = table_differs(l, m, c, span, looks);
  ck_assert_msg(differs == NULL, "%s", differs);
}

static void model_random(model *m, table_kind kind, chance *c, uint64_t span, unsigned rows) {
  ls_val row[LS_MAX_COLS];
  model_init(m, table_schemas[kind], table_pool());
  for (unsigned i = 0; i < rows; i++) {
    table_row(kind, c, span, row);
    model_normalise(m, row);
    model_put(m, row);
  }
}

START_TEST(random_rows) {
  static const uint64_t spans[] = {1, 50, 3001, 100000, UINT64_C(1) << 40, INT64_MAX};
  for (unsigned i = 0; i < sizeof spans / sizeof spans[0]; i++)
    for (unsigned rows = 1; rows <= 2000; rows = rows * 5 + 1) {
      chance c = chance_make(spans[i], rows);
      model m;
      model_random(&m, (table_kind)_i, &c, spans[i], rows);
      ls_list *l = array_of(&m);
      ck_same(l, &m, &c, spans[i], 200);
      ls_list_delete(l);
      model_free(&m);
    }
}
END_TEST

/* Keys of the whole range of int64, and buckets at its edges. */
START_TEST(keys_at_the_edges) {
  static const int64_t edges[] = {INT64_MIN, INT64_MIN + 1, -1, 0, 1, INT64_MAX - 1, INT64_MAX};
  for (unsigned mask = 1; mask < 1u << 7; mask++) {
    chance c = chance_make(7, mask);
    model m;
    model_init(&m, table_schemas[TABLE_PAIR], table_pool());
    for (unsigned i = 0; i < 7; i++)
      for (unsigned j = 0; j < 7; j++)
        if (mask >> i & 1 && (mask + i + j) % 3 != 0)
          model_put(&m, (ls_val[]){{.i = edges[i]}, {.i = edges[j]}, {.i = 1}});
    if (m.count == 0)
      continue;
    ls_list *l = array_of(&m);
    ck_same(l, &m, &c, 4, 40);
    for (unsigned i = 0; i < 49; i++) {
      ls_val key[2] = {{.i = edges[i / 7]}, {.i = edges[i % 7]}};
      size_t at;
      ls_row h;
      ck_assert_int_eq(ls_list_find(l, NULL, key, &h),
                       model_find(&m, key, &at) ? LS_OK : LS_MISSING);
    }
    ls_list_delete(l);
    model_free(&m);
  }
}
END_TEST

static void model_stride(model *m, unsigned rows, int64_t from, int64_t stride) {
  model_init(m, table_schemas[TABLE_INT], table_pool());
  for (unsigned i = 0; i < rows; i++)
    model_insert(m, i, (ls_val[]){{.i = from + i * stride}, {.i = i}, {.r = 1}});
}

START_TEST(close_keys_have_offsets) {
  model m;
  model_stride(&m, 1000, -300, (int64_t)policy.bucket_max_span);
  ls_list *l = array_of(&m);
  ck_assert_uint_eq(l->u.array.shift, 0);
  ck_assert_int_eq(l->u.array.origin, -300);
  ls_cursor c;
  ck_assert(ls_array_seek_fast(l, -300, &c) && c.next == 0 && c.end == 1);
  ck_assert(ls_array_seek_fast(l, -299, &c) && c.next == c.end);
  ck_assert(ls_array_seek_fast(l, INT64_MAX, &c) && c.next == c.end);
  ls_list_delete(l);
  model_free(&m);
}
END_TEST

START_TEST(distant_keys_share_buckets) {
  model m;
  model_stride(&m, 10000, 12345, 100000);
  ls_list *l = array_of(&m);
  ck_assert_uint_gt(l->u.array.shift, 0);
  ck_assert_uint_le(l->u.array.nbuckets, 10000 / policy.bucket_rows + 2);
  ck_assert_uint_ge(l->u.array.nbuckets, 10000 / policy.bucket_rows / 2 - 1);
  chance c = chance_make(3, 3);
  ck_same(l, &m, &c, 100001, 500);
  ls_list_delete(l);
  model_free(&m);
}
END_TEST

START_TEST(fields_are_written_in_place) {
  chance c = chance_make(4, 4);
  model m;
  model_stride(&m, 500, 0, 3);
  ls_list *l = array_of(&m);
  void *cells = l->col[1];
  for (unsigned i = 0; i < 300; i++) {
    size_t at = chance_below(&c, m.count);
    ls_row h;
    ls_val v = {.i = (int64_t)chance_below(&c, 400)};
    ck_assert_int_eq(ls_list_find(l, NULL, model_row(&m, at), &h), LS_OK);
    ck_assert_int_eq(ls_list_set(l, NULL, &h, 1, v), LS_OK);
    model_row(&m, at)[1] = v;
  }
  ck_assert_ptr_eq(l->col[1], cells);
  ck_assert_int_eq(ls_shape_layout(l->shape), LS_ARRAY);
  ls_row h = 7;
  ck_assert_int_eq(ls_list_set(l, NULL, &h, 1, (ls_val){.i = -1}), LS_OK);
  model_row(&m, 7)[1].i = -1;
  ck_assert_uint_eq(ls_shape_width(l->shape, 1), 3);
  ck_same(l, &m, &c, 1500, 50);
  ls_list_delete(l);
  model_free(&m);
}
END_TEST

/* A small shared array is copied on write, a big one becomes a tree; the share stays. */
START_TEST(a_share_stays) {
  unsigned rows = _i == 0 ? 100 : 20000;
  chance c = chance_make(5, rows);
  model m;
  model_stride(&m, rows, 0, 3);
  ls_list *l = array_of(&m);
  ls_list *share = ls_list_freeze(l);
  ck_assert_ptr_eq(share->col[1], l->col[1]);
  ls_row h;
  ck_assert_int_eq(ls_list_find(l, NULL, model_row(&m, 50), &h), LS_OK);
  ck_assert_int_eq(ls_list_set(l, NULL, &h, 1, (ls_val){.i = 99}), LS_OK);
  ck_assert_int_eq(ls_list_get(l, h, 1).i, 99);
  ck_assert_int_eq(ls_shape_layout(l->shape), _i == 0 ? LS_ARRAY : LS_TREE);
  ck_same(share, &m, &c, 300, 50);
  ls_list_delete(share);
  model_row(&m, 50)[1].i = 99;
  ck_same(l, &m, &c, 300, 50);
  ls_list_delete(l);
  model_free(&m);
}
END_TEST

START_TEST(rows_come_and_go_in_a_tree) {
  chance c = chance_make(6, 6);
  model m;
  model_stride(&m, 500, 0, 3);
  ls_list *l = array_of(&m);
  ls_val row[3] = {{.i = 1}, {.i = 1}, {.r = 1}};
  ck_assert_int_eq(ls_list_insert(l, NULL, model_row(&m, 9), NULL), LS_DUPLICATE);
  ck_assert_int_eq(ls_shape_layout(l->shape), LS_ARRAY);
  ck_assert_int_eq(ls_list_insert(l, NULL, row, NULL), LS_OK);
  ck_assert_int_eq(ls_shape_layout(l->shape), LS_TREE);
  model_put(&m, row);
  ck_same(l, &m, &c, 1500, 50);
  ck_assert_int_eq(ls_list_relayout(l, LS_ARRAY), LS_OK);
  ck_same(l, &m, &c, 1500, 50);
  ck_assert_int_eq(ls_list_erase(l, NULL, row), LS_OK);
  model_erase(&m, 1);
  ck_assert_int_eq(ls_shape_layout(l->shape), LS_TREE);
  ck_same(l, &m, &c, 1500, 50);
  ls_list_delete(l);
  model_free(&m);
}
END_TEST

static void ck_broken(const ls_list *l) {
  char why[80] = "";
  ck_assert(!ls_list_check(l, why, sizeof why));
  ck_assert_str_ne(why, "");
}

START_TEST(check_finds_what_is_broken) {
  model m;
  model_stride(&m, 100, 40, 2);
  ls_list *l = array_of(&m);
  ck_assert_uint_ge(ls_list_bytes(l), 100 * (1 + 1 + 8) + 4 * l->u.array.nbuckets);
  uint8_t *key = l->col[0];
  uint32_t *dir = l->u.array.dir;
  key[50] ^= 1;
  ck_broken(l);
  key[50] = key[49];
  ck_broken(l);
  key[50] = 140;
  dir[50]++;
  ck_broken(l);
  dir[50] -= 2;
  ck_broken(l);
  dir[50]++;
  dir[0] = 1;
  ck_broken(l);
  dir[0] = 0;
  l->u.array.cap--;
  ck_broken(l);
  l->u.array.cap++;
  l->u.array.dir = NULL;
  ck_broken(l);
  l->u.array.dir = dir;
  char why[80];
  ck_assert_msg(ls_list_check(l, why, sizeof why), "%s", why);
  ls_list_delete(l);
  model_free(&m);
}
END_TEST

START_TEST(every_allocation_fails) {
  model m;
  model_stride(&m, 300, 0, 3);
  for (unsigned n = 1, failed = 1; failed; n++) {
    ls_list *l = array_of(&m);
    ls_list *share = ls_list_freeze(l);
    uint64_t digest = ls_list_digest(l, 0);
    ls_row h = 3;
    ls_mem_fail_after(mem, n, 1);
    ls_status st = ls_list_set(l, NULL, &h, 1, (ls_val){.i = 100000});
    ls_mem_fail_after(mem, 0, 0);
    failed = st == LS_NOMEM;
    if (failed)
      ck_assert_uint_eq(ls_list_digest(l, 0), digest);
    else
      ck_assert_int_eq(st, LS_OK);
    ck_assert_uint_eq(ls_list_digest(share, 0), digest);
    ck_assert(failed || n > 2);
    ls_list_delete(l);
    ls_list_delete(share);
  }
  model_free(&m);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("array");
  TCase *all = tcase_create("all");
  tcase_add_checked_fixture(all, setup, teardown);
  tcase_add_loop_test(all, random_rows, 0, TABLE_LOG);
  tcase_add_test(all, keys_at_the_edges);
  tcase_add_test(all, close_keys_have_offsets);
  tcase_add_test(all, distant_keys_share_buckets);
  tcase_add_test(all, fields_are_written_in_place);
  tcase_add_loop_test(all, a_share_stays, 0, 2);
  tcase_add_test(all, rows_come_and_go_in_a_tree);
  tcase_add_test(all, check_finds_what_is_broken);
  tcase_add_test(all, every_allocation_fails);
  suite_add_tcase(suite, all);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_ENV);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed != 0;
}
