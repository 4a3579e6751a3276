/* Lists from columns in memory. */
#include "support/host_support.h"

#include <math.h>
#include <string.h>

static pure_fill *fill_of(host_world *w, const char *list) {
  pure_fill *fill;
  pure_error e = {0};
  host_fine(pure_fill_new(w->store, list, &fill, &e), &e);
  return fill;
}

START_TEST(every_type) {
  static const char names[] = "annbobé";
  static const uint64_t offsets[] = {0, 3, 6, 8, 8};
  static const int64_t ids[] = {4, 3, INT64_MIN, INT64_MAX};
  static const int32_t born[] = {0, PURE_DATE_UNIX, PURE_DATE_MAX, 1};
  static const uint8_t member[] = {1, 0, 0, 1};
  static const double score[] = {1.5, -0.0, INFINITY, 1e-300};
  host_world w;
  pure_error e = {0};
  host_open(&w, NULL);
  pure_fill *fill = fill_of(&w, "people");
  host_fine(pure_fill_texts(fill, 0, names, offsets, 4, &e), &e);
  host_fine(pure_fill_ints(fill, 1, ids, 4, &e), &e);
  host_fine(pure_fill_dates(fill, 2, born, 4, &e), &e);
  host_fine(pure_fill_bools(fill, 3, member, 4, &e), &e);
  ck_assert_uint_eq(pure_fill_rows(fill), 0);
  host_fine(pure_fill_reals(fill, 4, score, 4, &e), &e);
  ck_assert_uint_eq(pure_fill_rows(fill), 4);
  host_fine(pure_fill_finish(fill, PURE_DUPLICATE_ERROR, &e), &e);
  pure_fill_release(fill);
  pure_result *r;
  host_fine(pure_session_call(w.session, "all_people", NULL, 0, &r, &e), &e);
  static const int order[] = {2, 1, 0, 3};
  for (int i = 0; i < 4; i++) {
    int k = order[i];
    ck_assert(pure_result_next(r));
    pure_value name = pure_result_get(r, 0);
    ck_assert_int_eq(name.type, PURE_TEXT);
    ck_assert_uint_eq(name.length, offsets[k + 1] - offsets[k]);
    ck_assert_int_eq(memcmp(name.as.t, names + offsets[k], name.length), 0);
    ck_assert_int_eq(pure_result_get(r, 1).as.i, ids[k]);
    ck_assert_int_eq(pure_result_get(r, 2).as.i, born[k]);
    ck_assert_int_eq(pure_result_get(r, 2).type, PURE_DATE);
    ck_assert_int_eq(pure_result_get(r, 3).as.i, member[k]);
    double got = pure_result_get(r, 4).as.r;
    ck_assert_int_eq(memcmp(&got, &score[k], sizeof got), 0);
  }
  ck_assert(!pure_result_next(r));
  pure_result_release(r);
  host_close(&w);
}
END_TEST

START_TEST(rows_one_by_one) {
  host_world w;
  pure_error e = {0};
  host_open(&w, NULL);
  pure_fill *fill = fill_of(&w, "log");
  for (int i = 0; i < 100; i++) {
    pure_value row[] = {pure_text("abc", (size_t)(i % 4)), pure_int(i)};
    host_fine(pure_fill_row(fill, row, 2, &e), &e);
  }
  pure_value wrong[] = {pure_text("abc", 3), pure_real(1)};
  host_refused(pure_fill_row(fill, wrong, 2, &e), &e, PURE_MISUSE, "of type int, not real");
  host_refused(pure_fill_row(fill, wrong, 1, &e), &e, PURE_MISUSE, "2 columns");
  host_fine(pure_fill_finish(fill, PURE_DUPLICATE_ERROR, &e), &e);
  pure_fill_release(fill);
  pure_result *r;
  host_fine(pure_session_call(w.session, "all_log", NULL, 0, &r, &e), &e);
  ck_assert_uint_eq(pure_result_rows(r), 100);
  for (int i = 0; pure_result_next(r); i++) {
    ck_assert_uint_eq(pure_result_get(r, 0).length, (size_t)(i % 4));
    ck_assert_int_eq(pure_result_get(r, 1).as.i, i);
  }
  pure_result_release(r);
  host_close(&w);
}
END_TEST

static void add_edges(host_world *w, const int32_t *from, const int32_t *to, size_t n,
                      pure_duplicates duplicates, pure_status want, const char *part) {
  pure_error e = {0};
  pure_fill *fill = fill_of(w, "edges");
  host_fine(pure_fill_ints32(fill, 1, to, n, &e), &e);
  host_fine(pure_fill_ints32(fill, 0, from, n, &e), &e);
  pure_status status = pure_fill_finish(fill, duplicates, &e);
  if (want == PURE_OK)
    host_fine(status, &e);
  else
    host_refused(status, &e, want, part);
  pure_fill_release(fill);
}

START_TEST(duplicates) {
  static const int32_t from[] = {1, -2, 1}, to[] = {2, 3, 2};
  host_world w;
  host_open(&w, NULL);
  uint64_t empty = host_digest(w.store);
  add_edges(&w, from, to, 3, PURE_DUPLICATE_ERROR, PURE_BAD_DATA, "rows 0 and 2");
  ck_assert_uint_eq(host_digest(w.store), empty);
  add_edges(&w, from, to, 2, PURE_DUPLICATE_ERROR, PURE_OK, "");
  uint64_t two = host_digest(w.store);
  add_edges(&w, from + 1, to + 1, 2, PURE_DUPLICATE_ERROR, PURE_BAD_DATA, "already in the list");
  ck_assert_uint_eq(host_digest(w.store), two);
  add_edges(&w, from, to, 3, PURE_DUPLICATE_FIRST, PURE_OK, "");
  add_edges(&w, from, to, 3, PURE_DUPLICATE_LAST, PURE_OK, "");
  ck_assert_uint_eq(host_digest(w.store), two);
  ck_assert_int_eq(host_call(&w, "size", NULL), 2);
  host_close(&w);
}
END_TEST

START_TEST(bad_cells) {
  static const uint8_t bits[] = {0, 1, 2};
  static const int32_t days[] = {5, -1};
  static const uint64_t down[] = {3, 2}, whole[] = {0, 2};
  host_world w;
  pure_error e = {0};
  host_open(&w, NULL);
  uint64_t empty = host_digest(w.store);
  pure_fill *fill = fill_of(&w, "people");
  host_refused(pure_fill_bools(fill, 3, bits, 3, &e), &e, PURE_BAD_DATA, "value 2");
  host_refused(pure_fill_bools(fill, 3, bits, 1, &e), &e, PURE_MISUSE, "over");
  host_refused(pure_fill_finish(fill, PURE_DUPLICATE_ERROR, &e), &e, PURE_MISUSE, "over");
  pure_fill_release(fill);
  fill = fill_of(&w, "people");
  host_refused(pure_fill_dates(fill, 2, days, 2, &e), &e, PURE_BAD_DATA,
               "value 1 of the block: -1 is not a day of the calendar");
  pure_fill_release(fill);
  fill = fill_of(&w, "people");
  host_refused(pure_fill_texts(fill, 0, "abc", down, 1, &e), &e, PURE_BAD_DATA, "offsets");
  pure_fill_release(fill);
  fill = fill_of(&w, "people");
  host_refused(pure_fill_texts(fill, 0, "a\xff", whole, 1, &e), &e, PURE_BAD_DATA, "UTF-8");
  pure_fill_release(fill);
  fill = fill_of(&w, "people");
  host_refused(pure_fill_texts(fill, 0, "a\0", whole, 1, &e), &e, PURE_BAD_DATA, "NUL");
  pure_fill_release(fill);
  ck_assert_uint_eq(host_digest(w.store), empty);
  host_close(&w);
}
END_TEST

START_TEST(misuse) {
  static const int64_t one[] = {1};
  host_world w;
  pure_error e = {0};
  pure_fill *fill = (pure_fill *)1;
  host_open(&w, NULL);
  host_refused(pure_fill_new(w.store, "edgse", &fill, &e), &e, PURE_NOT_FOUND, "`edges`");
  ck_assert_ptr_null(fill);
  host_refused(pure_fill_new(NULL, "edges", &fill, &e), &e, PURE_MISUSE, "NULL");
  fill = fill_of(&w, "edges");
  host_refused(pure_fill_ints(fill, 2, one, 1, &e), &e, PURE_MISUSE, "no column 2");
  host_refused(pure_fill_reals(fill, 0, (const double *)one, 1, &e), &e, PURE_MISUSE, "int");
  host_refused(pure_fill_ints(fill, 0, NULL, 1, &e), &e, PURE_MISUSE, "NULL");
  host_fine(pure_fill_ints(fill, 0, NULL, 0, &e), &e);
  host_fine(pure_fill_ints(fill, 0, one, 1, &e), &e);
  host_refused(pure_fill_finish(fill, PURE_DUPLICATE_ERROR, &e), &e, PURE_MISUSE,
               "1 values for column `from`, 0 for `to`");
  host_fine(pure_fill_ints(fill, 1, one, 1, &e), &e);
  host_refused(pure_fill_finish(fill, (pure_duplicates)5, &e), &e, PURE_MISUSE, "duplicates");
  host_fine(pure_fill_finish(fill, PURE_DUPLICATE_ERROR, &e), &e);
  host_refused(pure_fill_finish(fill, PURE_DUPLICATE_ERROR, &e), &e, PURE_MISUSE, "over");
  ck_assert_int_eq(pure_fill_ints(NULL, 0, one, 1, NULL), PURE_MISUSE);
  pure_fill_release(fill);
  pure_fill_release(NULL);
  host_close(&w);
}
END_TEST

/* A fill keeps its store, and may go after everyone else. */
START_TEST(any_order_of_release) {
  host_world w;
  host_open(&w, NULL);
  pure_fill *fill = fill_of(&w, "log");
  pure_value row[] = {pure_text("never seen", 10), pure_int(1)};
  pure_error e = {0};
  host_fine(pure_fill_row(fill, row, 2, &e), &e);
  pure_engine_release(w.engine);
  pure_program_release(w.program);
  pure_store_release(w.store);
  pure_session_release(w.session);
  pure_fill_release(fill);
}
END_TEST

/* Texts of fills that came to nothing do not stay. */
START_TEST(dropped_texts_are_forgotten) {
  host_world w;
  pure_memory_stats before, after;
  pure_error e = {0};
  host_open(&w, NULL);
  for (int round = 0; round < 40; round++) {
    pure_fill *fill = fill_of(&w, "log");
    for (int i = 0; i < 1000; i++) {
      char text[32] = {0};
      memset(text, 'a' + round % 26, 20);
      memcpy(text + 20, &(int){i * 97 + round + 0x20202020}, 4);
      for (int k = 20; k < 24; k++)
        text[k] = (char)((unsigned char)text[k] % 90 + 33);
      pure_value row[] = {pure_text(text, 24), pure_int(i)};
      host_fine(pure_fill_row(fill, row, 2, &e), &e);
    }
    pure_fill_release(fill);
    pure_engine_memory(w.engine, round == 0 ? &before : &after);
  }
  /* A round's texts are 24000 bytes; released handles keep a little for a while. */
  ck_assert_uint_le(after.live_bytes, before.live_bytes + 16384);
  host_close(&w);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {every_type,
                                rows_one_by_one,
                                duplicates,
                                bad_cells,
                                misuse,
                                any_order_of_release,
                                dropped_texts_are_forgotten};
  return HOST_RUN("fill", tests);
}
