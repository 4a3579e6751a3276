/* Lists read as results, results cut short, and results written piece by piece. */
#include "support/host_support.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
  char bytes[1 << 16];
  size_t length;
} text;

static bool add(void *user, const void *bytes, size_t n) {
  text *t = user;
  ck_assert_uint_lt(t->length + n, sizeof t->bytes);
  memcpy(t->bytes + t->length, bytes, n);
  t->length += n;
  t->bytes[t->length] = 0;
  return true;
}

static bool refuse(void *user, const void *bytes, size_t n) {
  (void)user;
  (void)bytes;
  (void)n;
  return false;
}

static text *whole(pure_result *r, pure_format format) {
  pure_error e;
  text *t = calloc(1, sizeof *t);
  ck_assert_ptr_nonnull(t);
  host_fine(pure_result_write(r, format, add, t, &e), &e);
  return t;
}

START_TEST(a_list_is_a_result) {
  host_world w;
  pure_error e = {0};
  pure_snapshot *snapshot;
  pure_session *reader;
  pure_result *r, *other;
  pure_column_info c;
  host_open(&w, NULL);
  host_call(&w, "note_many", "5", NULL);
  host_fine(pure_session_list(w.session, "log", &r, &e), &e);
  ck_assert_uint_eq(pure_result_rows(r), 5);
  ck_assert_uint_eq(pure_result_columns(r), 2);
  ck_assert_int_eq(pure_result_column_info(r, 0, &c), PURE_OK);
  ck_assert_str_eq(c.name, "line");
  ck_assert(pure_result_next(r));
  pure_value line = pure_result_get(r, 0);
  ck_assert_uint_eq(line.length, 6);
  ck_assert_int_eq(memcmp(line.as.t, "line 1", 6), 0);
  host_fine(pure_snapshot_take(w.store, &snapshot, &e), &e);
  host_fine(pure_session_on(snapshot, &reader, &e), &e);
  host_call(&w, "note_many", "3", NULL);
  ck_assert_uint_eq(pure_result_rows(r), 0); /* stale */
  host_fine(pure_session_list(reader, "log", &other, &e), &e);
  ck_assert_uint_eq(pure_result_rows(other), 5);
  host_refused(pure_session_list(reader, "lug", NULL, &e), &e, PURE_MISUSE, "");
  pure_result_release(r);
  host_refused(pure_session_list(reader, "lug", &r, &e), &e, PURE_NOT_FOUND, "did you mean `log`");
  ck_assert_uint_eq(pure_result_rows(other), 0); /* stale, also after a refusal */
  pure_session_release(reader);
  pure_snapshot_release(snapshot);
  host_close(&w);
  pure_result_release(other);
}
END_TEST

START_TEST(columns_come_as_declared) {
  host_world w;
  pure_error e = {0};
  pure_result *list, *query;
  host_open(&w, NULL);
  host_call(&w, "connect", "3", "4", NULL);
  host_call(&w, "connect", "1", "2", NULL);
  host_fine(pure_session_list(w.session, "edges", &list, &e), &e);
  text *ours = whole(list, PURE_FORMAT_CSV);
  host_fine(pure_session_call(w.session, "all_edges", NULL, 0, &query, &e), &e);
  text *theirs = whole(query, PURE_FORMAT_CSV);
  ck_assert_str_eq(ours->bytes, theirs->bytes);
  ck_assert_str_eq(ours->bytes, "from,to\n1,2\n3,4\n");
  free(ours);
  free(theirs);
  pure_result_release(list);
  pure_result_release(query);
  host_close(&w);
}
END_TEST

START_TEST(fewer_rows) {
  host_world w;
  pure_error e = {0};
  pure_result *r;
  host_open(&w, NULL);
  host_call(&w, "note_many", "9", NULL);
  host_fine(pure_session_list(w.session, "log", &r, &e), &e);
  pure_result_limit(r, 2);
  text *t = whole(r, PURE_FORMAT_CSV);
  ck_assert_str_eq(t->bytes, "line,n\nline 1,1\nline 2,2\n");
  free(t);
  pure_result_limit(r, 0);
  t = whole(r, PURE_FORMAT_JSON);
  ck_assert_str_eq(t->bytes, "[]\n");
  free(t);
  ck_assert(!pure_result_next(r));
  pure_result_limit(r, UINT64_MAX);
  pure_result_rewind(r);
  for (int i = 0; i < 9; i++)
    ck_assert(pure_result_next(r));
  ck_assert(!pure_result_next(r));
  pure_result_release(r);
  host_close(&w);
}
END_TEST

/* The pieces together are the whole, whatever their size; each goes past it by less than a row. */
START_TEST(piece_by_piece) {
  static const pure_format formats[] = {PURE_FORMAT_CSV, PURE_FORMAT_TSV, PURE_FORMAT_JSON};
  static const size_t sizes[] = {1, 7, 64, 1000, 1 << 20};
  host_world w;
  pure_error e = {0};
  pure_result *r;
  host_open(&w, NULL);
  host_call(&w, "note_many", "200", NULL);
  host_fine(pure_session_list(w.session, "log", &r, &e), &e);
  for (size_t f = 0; f < 3; f++) {
    text *want = whole(r, formats[f]);
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
      text *got = calloc(1, sizeof *got);
      ck_assert_ptr_nonnull(got);
      bool more = true;
      pure_result_rewind(r);
      while (more) {
        size_t before = got->length;
        host_fine(pure_result_write_part(r, formats[f], sizes[s], add, got, &more, &e), &e);
        ck_assert_uint_le(got->length - before, sizes[s] + 64);
      }
      ck_assert_str_eq(got->bytes, want->bytes);
      free(got);
    }
    free(want);
  }
  bool more;
  host_refused(pure_result_write_part(r, PURE_FORMAT_CSV, 0, add, NULL, &more, &e), &e, PURE_MISUSE,
               "");
  pure_result_rewind(r);
  host_refused(pure_result_write_part(r, PURE_FORMAT_CSV, 9, refuse, NULL, &more, &e), &e, PURE_IO,
               "could not be written");
  ck_assert(!more);
  pure_result_release(r);
  host_close(&w);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {a_list_is_a_result, columns_come_as_declared, fewer_rows,
                                piece_by_piece};
  return HOST_RUN("list", tests);
}
