/* Shape words: widths of every column as values come, names, and columns without bits. */
#include <check.h>
#include <stdio.h>
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

static const ls_column mixed_cols[] = {
    {"k", LS_INT, 0}, {"r", LS_REAL, 1}, {"b", LS_BOOL, 2}, {"n", LS_INT, 3}, {"d", LS_DATE, 4}};
static const ls_schema positional = {"positional", 5, 0, mixed_cols};
static const ls_schema keyed = {"keyed", 5, 1, mixed_cols};

static void is_shape(const ls_list *l, const char *text) {
  char out[256];
  ls_shape_format(l->shape, l->schema, out, sizeof out);
  ck_assert_str_eq(out, text);
}

static void insert(ls_list *l, int64_t k, double r, int64_t n) {
  ls_val row[5] = {{.i = k}, {.r = r}, {.i = 1}, {.i = n}, {.i = 700000}};
  ck_assert_int_eq(ls_list_insert(l, NULL, row, NULL), LS_OK);
}

START_TEST(names) {
  const char *const name[LS_NLAYOUTS] = {"flat", "dense", "hash", "tree", "array"};
  for (unsigned k = 0; k < LS_NLAYOUTS; k++)
    ck_assert_str_eq(ls_layout_name((ls_layout)k), name[k]);
}
END_TEST

START_TEST(flat_widths) {
  ls_list *l = ls_list_new(&positional, mem, NULL, NULL, NULL);
  is_shape(l, "flat u8,real,u8,u8,u8");
  insert(l, 255, 1.5, 256);
  is_shape(l, "flat u8,real,u8,u16,u32");
  insert(l, 65536, 1.5, 65535);
  is_shape(l, "flat u32,real,u8,u16,u32");
  insert(l, UINT32_MAX, 1.5, -1);
  is_shape(l, "flat u32,real,u8,i64,u32");
  insert(l, (int64_t)UINT32_MAX + 1, 1.5, 0);
  is_shape(l, "flat i64,real,u8,i64,u32");
  const int64_t k[4] = {255, 65536, UINT32_MAX, (int64_t)UINT32_MAX + 1};
  const int64_t n[4] = {256, 65535, -1, 0};
  for (ls_row h = 0; h < 4; h++) {
    ck_assert_int_eq(ls_list_get(l, h, 0).i, k[h]);
    ck_assert(ls_list_get(l, h, 1).r == 1.5);
    ck_assert_int_eq(ls_list_get(l, h, 2).i, 1);
    ck_assert_int_eq(ls_list_get(l, h, 3).i, n[h]);
    ck_assert_int_eq(ls_list_get(l, h, 4).i, 700000);
  }
  ls_list_delete(l);
}
END_TEST

START_TEST(dense_key_has_no_cells) {
  ls_list *l = ls_list_new(&keyed, mem, NULL, NULL, NULL);
  is_shape(l, "flat u8,real,u8,u8,u8");
  insert(l, 40, 0.0, 7);
  is_shape(l, "dense index,real,u8,u8,u32");
  ck_assert_uint_eq(ls_shape_base(l->shape), LS_BASE_ZERO);
  ck_assert_ptr_null(l->col[0]);
  insert(l, -1, 0.0, 7);
  ck_assert_uint_eq(ls_shape_base(l->shape), LS_BASE_ANY);
  ck_assert_int_eq(ls_list_relayout(l, LS_TREE), LS_OK);
  is_shape(l, "tree i64,real,u8,u8,u32");
  ls_val key = {.i = -1};
  ck_assert_int_eq(ls_list_erase(l, NULL, &key), LS_OK);
  ck_assert_int_eq(ls_list_relayout(l, LS_DENSE), LS_OK);
  ck_assert_int_eq(ls_list_relayout(l, LS_ARRAY), LS_OK);
  is_shape(l, "array u8,real,u8,u8,u32");
  ls_list_delete(l);
}
END_TEST

/* Columns past the bits of the shape word are always 8 bytes wide. */
START_TEST(many_columns) {
  ls_column cols[40];
  for (unsigned c = 0; c < 40; c++)
    cols[c] = (ls_column){"c", LS_INT, (uint16_t)c};
  ls_schema s = {"wide", 40, 0, cols};
  ls_list *l = ls_list_new(&s, mem, NULL, NULL, NULL);
  ls_val row[40];
  for (int64_t r = 0; r < 300; r++) {
    for (unsigned c = 0; c < 40; c++)
      row[c].i = r * (c + 1) - (c == 30 ? 5000 : 0);
    ck_assert_int_eq(ls_list_insert(l, NULL, row, NULL), LS_OK);
  }
  ck_assert_uint_eq(ls_shape_width(l->shape, 0), 1);
  ck_assert_uint_eq(ls_shape_width(l->shape, 27), 1);
  ck_assert_uint_eq(ls_shape_width(l->shape, 28), 3);
  ck_assert_uint_eq(ls_shape_width(l->shape, 39), 3);
  for (ls_row h = 0; h < 300; h++)
    for (unsigned c = 0; c < 40; c++)
      ck_assert_int_eq(ls_list_get(l, h, c).i, (int64_t)h * (c + 1) - (c == 30 ? 5000 : 0));
  ls_list_delete(l);
}
END_TEST

START_TEST(format_fits_its_buffer) {
  char out[16];
  for (size_t n = 1; n <= sizeof out; n++) {
    memset(out, '#', sizeof out);
    ls_list *l = ls_list_new(&positional, mem, NULL, NULL, NULL);
    ls_shape_format(l->shape, l->schema, out, n);
    ck_assert_uint_lt(strlen(out), n);
    ck_assert(strncmp(out, "flat u8,real,u8,u8,u8", strlen(out)) == 0);
    for (size_t i = n; i < sizeof out; i++)
      ck_assert_int_eq(out[i], '#');
    ls_list_delete(l);
  }
}
END_TEST

int main(void) {
  Suite *suite = suite_create("shape");
  TCase *all = tcase_create("all");
  tcase_add_checked_fixture(all, setup, teardown);
  tcase_add_test(all, names);
  tcase_add_test(all, flat_widths);
  tcase_add_test(all, dense_key_has_no_cells);
  tcase_add_test(all, many_columns);
  tcase_add_test(all, format_fits_its_buffer);
  suite_add_tcase(suite, all);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_ENV);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed != 0;
}
