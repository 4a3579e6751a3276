/* Faults of the list layer that the property test found once, each as small as it gets. */
#include <check.h>
#include <stdlib.h>

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

static const ls_column columns[] = {
    {"a", LS_INT, 0}, {"b", LS_INT, 1}, {"c", LS_REAL, 2}, {"d", LS_INT, 3}};
static const ls_schema keyed = {"keyed", 2, 1, columns};
static const ls_schema by_two = {"by_two", 4, 2, columns};
static const ls_schema rows = {"rows", 4, 0, columns};

static void holds(const ls_list *l) {
  char why[128] = "";
  ck_assert_msg(ls_list_check(l, why, sizeof why), "%s", why);
  ck_assert_uint_le(l->count, l->room);
}

static ls_status put(ls_list *l, int64_t key) {
  ls_val row[4] = {{.i = key}, {.i = 1}, {.r = 2.5}, {.i = 3}};
  return ls_list_put(l, NULL, row, NULL);
}

static ls_status erase(ls_list *l, int64_t key) {
  ls_val k[2] = {{.i = key}, {.i = 1}};
  return ls_list_erase(l, NULL, k);
}

static bool has(ls_list *l, int64_t key) {
  ls_val k[2] = {{.i = key}, {.i = 1}};
  return ls_list_has(l, NULL, k);
}

/* The n-th allocation of the first insert fails, for every n: the list stays whole. */
static void first_row_without_memory(const ls_schema *schema, ls_layout layout) {
  for (uint64_t n = 1;; n++) {
    ls_list *l = ls_list_new(schema, mem, NULL, NULL, NULL);
    ck_assert_ptr_nonnull(l);
    if (layout != LS_FLAT)
      ck_assert_int_eq(ls_list_relayout(l, layout), LS_OK);
    ls_mem_fail_after(mem, n, 0);
    ls_status st = put(l, 1000000000000);
    ls_mem_fail_after(mem, 0, 0);
    holds(l);
    ck_assert_uint_eq(l->count, st == LS_OK);
    ck_assert_int_eq(put(l, 5), LS_OK);
    holds(l);
    ls_list_delete(l);
    if (st == LS_OK)
      break;
    ck_assert_int_eq(st, LS_NOMEM);
  }
}

START_TEST(first_insert_finds_no_memory) {
  first_row_without_memory(&keyed, LS_FLAT);
  first_row_without_memory(&keyed, LS_TREE);
  first_row_without_memory(&by_two, LS_FLAT);
  first_row_without_memory(&rows, LS_FLAT);
}
END_TEST

/* Some columns have got cells, then memory ran out: a snapshot taken now must not see what is
 * written into those cells later. */
START_TEST(half_grown_flat_list_in_an_event) {
  const ls_schema *schemas[] = {&rows};
  for (uint64_t n = 1; n < 12; n++) {
    ls_store *s = ls_store_new(schemas, 1, mem, NULL);
    ck_assert_ptr_nonnull(s);
    ls_list *l = ls_store_list(s, 0);
    ck_assert_int_eq(ls_store_begin(s, NULL), LS_OK);
    ls_mem_fail_after(mem, n, 0);
    (void)put(l, 300);
    ls_mem_fail_after(mem, 0, 0);
    holds(l);
    ls_store_rollback(s);
    ls_snapshot *p = ls_snapshot_take(s);
    ck_assert_ptr_nonnull(p);
    ck_assert_int_eq(put(l, 301), LS_OK);
    holds(l);
    holds(ls_snapshot_list(p, 0));
    ck_assert_uint_eq(ls_snapshot_list(p, 0)->count, 0);
    ls_snapshot_release(p);
    ls_store_delete(s);
  }
}
END_TEST

START_TEST(dense_list_becomes_a_hash_and_has_no_room) {
  ls_list *l = ls_list_new(&keyed, mem, NULL, NULL, NULL);
  ck_assert_int_eq(put(l, 2640780090936489047), LS_OK);
  ck_assert_int_eq(put(l, -8487079844826518554), LS_OK);
  ck_assert_int_eq(ls_shape_layout(l->shape), LS_HASH);
  holds(l);
  ls_list_delete(l);
}
END_TEST

/* Inside an event a dense list keeps its cells, but only the keys in use say whether it is
 * still dense. */
START_TEST(dense_growth_inside_an_event) {
  static const int64_t keys[] = {-376, -377, -389, -392, -472, -489, -492, -514, -600, -700};
  const ls_schema *schemas[] = {&keyed};
  ls_policy policy = ls_policy_default;
  policy.dense_min_span = 0;
  for (uint64_t sparsity = 1; sparsity <= 16; sparsity++) {
    policy.dense_max_sparsity = sparsity;
    ls_store *s = ls_store_new(schemas, 1, mem, &policy);
    ls_list *l = ls_store_list(s, 0);
    ck_assert_int_eq(put(l, keys[0]), LS_OK);
    uint64_t before = ls_store_digest(s);
    ck_assert_int_eq(ls_store_begin(s, NULL), LS_OK);
    for (size_t i = 1; i < sizeof keys / sizeof *keys; i++) {
      ck_assert_int_eq(put(l, keys[i]), LS_OK);
      holds(l);
    }
    ls_store_rollback(s);
    holds(l);
    ck_assert_uint_eq(ls_store_digest(s), before);
    ls_store_delete(s);
  }
}
END_TEST

/* The cells that the event keeps are at one end of the range, the only key at the other. */
START_TEST(dense_list_moves_far_inside_an_event) {
  const ls_schema *schemas[] = {&keyed};
  ls_store *s = ls_store_new(schemas, 1, mem, NULL);
  ls_list *l = ls_store_list(s, 0);
  ck_assert_int_eq(ls_store_begin(s, NULL), LS_OK);
  ck_assert_int_eq(put(l, 5720967167486163359), LS_OK);
  ck_assert_int_eq(erase(l, 5720967167486163359), LS_OK);
  ck_assert_int_eq(put(l, -7985792363841185534), LS_OK);
  holds(l);
  ck_assert(has(l, -7985792363841185534));
  ls_store_rollback(s);
  holds(l);
  ck_assert_uint_eq(l->count, 0);
  ls_store_delete(s);
}
END_TEST

/* Rows that were erased stay paid for; a builder must not charge for them again. */
START_TEST(builder_charges_what_is_not_yet_paid) {
  ls_budget budget = {.left = INT64_MAX};
  ls_list *l = ls_list_new(&by_two, mem, NULL, NULL, &budget);
  ls_builder *b = ls_builder_new(&by_two, mem, NULL);
  for (int64_t key = 0; key < 200; key++)
    ck_assert_int_eq(put(l, key), LS_OK);
  uint64_t charged = l->charged;
  for (int64_t key = 0; key < 190; key++)
    ck_assert_int_eq(erase(l, key), LS_OK);
  for (int64_t key = 0; key < 150; key++) {
    int64_t two = 2;
    for (unsigned c = 0; c < 4; c++)
      ck_assert_int_eq(ls_builder_append(b, c, c == 0 ? &key : &two, 1), LS_OK);
  }
  uint64_t later, first;
  ck_assert_int_eq(ls_builder_finish(b, l, LS_DUP_ERROR, &later, &first), LS_OK);
  ck_assert_uint_eq(l->count, 160);
  ck_assert_uint_eq(l->charged, charged);
  ck_assert_int_eq(budget.left, INT64_MAX - (int64_t)charged);
  ls_builder_delete(b);
  ls_list_delete(l);
  ck_assert_int_eq(budget.left, INT64_MAX);
}
END_TEST

/* As many columns as there may be, in every layout. */
START_TEST(widest_list) {
  static ls_column wide[LS_MAX_COLS];
  for (unsigned c = 0; c < LS_MAX_COLS; c++)
    wide[c] = (ls_column){"w", c % 3 == 2 ? LS_REAL : LS_INT, (uint16_t)c};
  const ls_schema schema = {"wide", LS_MAX_COLS, 1, wide};
  uint64_t digest = 0;
  for (ls_layout to = LS_DENSE; to < LS_NLAYOUTS; to++) {
    ls_list *l = ls_list_new(&schema, mem, NULL, NULL, NULL);
    for (int64_t i = 0; i < 200; i++) {
      ls_val row[LS_MAX_COLS];
      for (int64_t c = 0; c < (int64_t)LS_MAX_COLS; c++) {
        if (wide[c].type == LS_REAL)
          row[c].r = (double)(i * c) / 4;
        else
          row[c].u = c == 0 ? (uint64_t)i * 7 % 200 : (uint64_t)i << (c % 60);
      }
      ck_assert_int_eq(ls_list_insert(l, NULL, row, NULL), LS_OK);
    }
    ck_assert_int_eq(ls_list_relayout(l, to), LS_OK);
    ck_assert_int_eq(ls_shape_layout(l->shape), to);
    holds(l);
    if (digest == 0)
      digest = ls_list_digest(l, 1);
    ck_assert_uint_eq(ls_list_digest(l, 1), digest);
    ls_list_delete(l);
  }
}
END_TEST

int main(void) {
  Suite *suite = suite_create("regressions");
  TCase *t = tcase_create("lists");
  tcase_add_checked_fixture(t, setup, teardown);
  tcase_add_test(t, first_insert_finds_no_memory);
  tcase_add_test(t, half_grown_flat_list_in_an_event);
  tcase_add_test(t, dense_list_becomes_a_hash_and_has_no_room);
  tcase_add_test(t, dense_growth_inside_an_event);
  tcase_add_test(t, dense_list_moves_far_inside_an_event);
  tcase_add_test(t, builder_charges_what_is_not_yet_paid);
  tcase_add_test(t, widest_list);
  suite_add_tcase(suite, t);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_ENV);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
