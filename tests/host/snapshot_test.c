/* Snapshots in memory, read by threads, and snapshot files. */
#include "support/host_support.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

START_TEST(snapshots_stay) {
  host_world w;
  pure_error e = {0};
  pure_snapshot *snapshot;
  pure_session *reader;
  pure_result *r;
  uint64_t digest;
  host_open(&w, NULL);
  host_call(&w, "note_many", "5", NULL);
  uint64_t before = host_digest(w.store);
  host_fine(pure_snapshot_take(w.store, &snapshot, &e), &e);
  host_fine(pure_session_on(snapshot, &reader, &e), &e);
  host_call(&w, "note_many", "7", NULL);
  ck_assert_uint_ne(host_digest(w.store), before);
  host_fine(pure_snapshot_digest(snapshot, &digest, &e), &e);
  ck_assert_uint_eq(digest, before);
  host_fine(pure_session_call(reader, "all_log", NULL, 0, &r, &e), &e);
  ck_assert_uint_eq(pure_result_rows(r), 5);
  pure_value n = pure_int(1);
  host_refused(pure_session_call(reader, "note_many", &n, 1, NULL, &e), &e, PURE_MISUSE,
               "is an event");
  ck_assert_uint_eq(pure_result_rows(r), 0); /* stale, also after a call that was refused */
  pure_snapshot_release(snapshot);
  host_close(&w);
  pure_result_release(r);
  host_fine(pure_session_call(reader, "all_log", NULL, 0, &r, &e), &e);
  ck_assert_uint_eq(pure_result_rows(r), 5);
  pure_session_release(reader);
  pure_result_release(r);
  pure_snapshot_release(NULL);
}
END_TEST

/* One writer adds pairs (k, k) and (k, k + 1) in one event; every snapshot has whole pairs. */
static const char pairs_program[] = "list p (a: int, b: int) key (a, b)\n"
                                    "list words (k: int, w: text) key (k)\n"
                                    "query odd(): int { return count(p) % 2 }\n"
                                    "query size(): int { return count(p) }\n"
                                    "query last_word(): text { return last(words).w }\n"
                                    "event pair(k: int) {\n"
                                    "  add p (k, k)\n"
                                    "  add p (k, k + 1)\n"
                                    "  put words (k, \"word \" + text(k))\n"
                                    "}\n";

enum { READERS = 4, EVENTS = 3000, READS = 200 };

typedef struct {
  _Atomic(pure_snapshot *) offered; /* taken by exchange, with its reference */
  _Atomic int done;
  _Atomic long reads, torn;
} exchange;

static void read_once(exchange *x, pure_snapshot *snapshot) {
  pure_session *session;
  pure_result *r = NULL;
  pure_error e = {0};
  if (pure_session_on(snapshot, &session, &e) != PURE_OK) {
    atomic_fetch_add(&x->torn, 1);
    return;
  }
  for (int i = 0; i < 3; i++) {
    if (pure_session_call(session, "odd", NULL, 0, &r, &e) != PURE_OK ||
        pure_result_value(r).as.i != 0)
      atomic_fetch_add(&x->torn, 1);
    pure_result_release(r);
  }
  char want[40];
  int64_t pairs = 0;
  if (pure_session_call(session, "size", NULL, 0, &r, &e) == PURE_OK)
    pairs = pure_result_value(r).as.i / 2;
  pure_result_release(r);
  int n = snprintf(want, sizeof want, "word %lld", (long long)pairs - 1);
  if (pure_session_call(session, "last_word", NULL, 0, &r, &e) == PURE_OK) {
    pure_value v = pure_result_value(r);
    if (v.length != (size_t)n || memcmp(v.as.t, want, v.length) != 0)
      atomic_fetch_add(&x->torn, 1);
  } else if (pairs > 0) {
    atomic_fetch_add(&x->torn, 1);
  }
  pure_result_release(r);
  pure_session_release(session);
  atomic_fetch_add(&x->reads, 1);
}

static void *reader(void *user) {
  exchange *x = user;
  while (!atomic_load(&x->done)) {
    pure_snapshot *snapshot = atomic_exchange(&x->offered, NULL);
    if (snapshot)
      read_once(x, snapshot);
    else
      sched_yield();
    pure_snapshot_release(snapshot);
  }
  return NULL;
}

START_TEST(readers_on_threads) {
  host_world w;
  pure_error e = {0};
  exchange x = {NULL, 0, 0, 0};
  pthread_t threads[READERS];
  host_open(&w, pairs_program);
  for (int i = 0; i < READERS; i++)
    ck_assert_int_eq(pthread_create(&threads[i], NULL, reader, &x), 0);
  for (int64_t k = 0; k < EVENTS || atomic_load(&x.reads) < READS; k++) {
    pure_value key = pure_int(k);
    pure_snapshot *snapshot;
    host_fine(pure_session_call(w.session, "pair", &key, 1, NULL, &e), &e);
    host_fine(pure_snapshot_take(w.store, &snapshot, &e), &e);
    pure_snapshot_release(atomic_exchange(&x.offered, snapshot));
  }
  atomic_store(&x.done, 1);
  for (int i = 0; i < READERS; i++)
    pthread_join(threads[i], NULL);
  pure_snapshot_release(atomic_load(&x.offered));
  ck_assert_int_eq(x.torn, 0);
  host_close(&w);
}
END_TEST

/* Files */

typedef struct {
  char folder[64], path[96];
  uint8_t *bytes;
  size_t length;
} host_saved;

static void read_back(host_saved *s) {
  FILE *f = fopen(s->path, "rb");
  ck_assert_ptr_nonnull(f);
  free(s->bytes);
  s->bytes = malloc(1 << 22);
  s->length = fread(s->bytes, 1, 1 << 22, f);
  fclose(f);
}

static void save(host_world *w, host_saved *s) {
  pure_error e = {0};
  if (!s->folder[0]) {
    const char *base = getenv("TMPDIR");
    snprintf(s->folder, sizeof s->folder, "%s/pure-test-XXXXXX",
             base && strlen(base) < 40 ? base : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(s->folder));
    snprintf(s->path, sizeof s->path, "%s/s.snap", s->folder);
  }
  host_fine(pure_store_save(w->store, s->path, &e), &e);
  read_back(s);
}

static void tidy(host_saved *s) {
  unlink(s->path);
  ck_assert_int_eq(rmdir(s->folder), 0); /* nothing else was left there */
  free(s->bytes);
}

static void fill_world(host_world *w) {
  static const char people[] = "id,name,born,member,score\n"
                               "1,ann,1998-09-02,true,1.5\n-2,,2000-02-29,0,nan\n"
                               "3,ünï,0001-01-01,1,-inf\n9223372036854775807,x,9999-12-31,0,-0.0\n";
  pure_error e = {0};
  host_open(w, NULL);
  host_fine(host_import(w->store, "people", PURE_FORMAT_CSV, people, strlen(people), 0, &e), &e);
  host_call(w, "note_many", "70", NULL);
  host_call(w, "connect", "1", "2", NULL);
  host_call(w, "connect", "-1", "4000000000", NULL);
}

START_TEST(files_go_out_and_in) {
  host_world w, other;
  host_saved s = {0};
  pure_error e = {0};
  fill_world(&w);
  save(&w, &s);
  ck_assert(pure_store_is_snapshot(s.bytes, s.length));
  ck_assert(!pure_store_is_snapshot("PURE", 4));
  host_open(&other, NULL);
  host_call(&other, "note_many", "3", NULL); /* goes away */
  host_fine(pure_store_load(other.store, s.path, &e), &e);
  ck_assert_uint_eq(host_digest(other.store), host_digest(w.store));
  host_call(&other, "connect", "5", "6", NULL);
  host_fine(pure_store_load_bytes(other.store, "memory", s.bytes, s.length, &e), &e);
  ck_assert_uint_eq(host_digest(other.store), host_digest(w.store));
  host_close(&other);
  /* The same bytes, whatever the layouts were. */
  uint8_t *first = s.bytes;
  size_t length = s.length;
  s.bytes = NULL;
  host_open(&other, NULL);
  host_fine(pure_store_load_bytes(other.store, "memory", first, length, &e), &e);
  save(&other, &s);
  ck_assert_uint_eq(s.length, length);
  ck_assert_int_eq(memcmp(s.bytes, first, length), 0);
  free(first);
  host_close(&other);
  host_close(&w);
  tidy(&s);
}
END_TEST

START_TEST(large_lists) {
  host_world w, other;
  host_saved s = {0};
  pure_error e = {0};
  host_open(&w, NULL);
  host_call(&w, "note_many", "200000", NULL); /* several chunks, several groups of texts */
  save(&w, &s);
  host_open(&other, NULL);
  host_fine(pure_store_load(other.store, s.path, &e), &e);
  ck_assert_uint_eq(host_digest(other.store), host_digest(w.store));
  host_close(&other);
  host_close(&w);
  tidy(&s);
}
END_TEST

/* Every changed byte and every length is noticed, and the store stays as it was. */
START_TEST(damage_is_noticed) {
  host_world w, other;
  host_saved s = {0};
  pure_error e = {0};
  fill_world(&w);
  save(&w, &s);
  host_open(&other, NULL);
  host_call(&other, "note_many", "3", NULL);
  uint64_t before = host_digest(other.store);
  for (size_t i = 0; i < s.length; i++) {
    s.bytes[i] ^= 0x41;
    pure_status status = pure_store_load_bytes(other.store, "bent", s.bytes, s.length, &e);
    s.bytes[i] ^= 0x41;
    ck_assert_msg(status != PURE_OK, "byte %zu", i);
    host_refused(status, &e, PURE_BAD_DATA, "");
    ck_assert_uint_eq(host_digest(other.store), before);
  }
  for (size_t n = 0; n < s.length; n++) {
    host_refused(pure_store_load_bytes(other.store, "cut", s.bytes, n, &e), &e, PURE_BAD_DATA,
                 "snapshot");
    ck_assert_uint_eq(host_digest(other.store), before);
  }
  host_close(&other);
  host_close(&w);
  tidy(&s);
}
END_TEST

START_TEST(other_programs) {
  host_world w, other;
  host_saved s = {0};
  pure_error e = {0};
  fill_world(&w);
  save(&w, &s);
  host_open(&other, "list edges (from: int, to: int) key (from, to)\n");
  host_refused(pure_store_load(other.store, s.path, &e), &e, PURE_BAD_DATA, "another program");
  host_close(&other);
  host_open(&other, "list edges (from: int, to: text) key (from, to)\nlist people (a: int)\n"
                    "list log (line: text, n: int)\nlist more (x: int)\n");
  host_refused(pure_store_load(other.store, s.path, &e), &e, PURE_BAD_DATA, "to: text");
  host_close(&other);
  char wider[8192];
  snprintf(wider, sizeof wider, "list more (x: int)\nevent grow() { add more (1) }\n%s",
           host_program);
  host_open(&other, wider);
  host_call(&other, "grow", NULL);
  host_fine(pure_store_load(other.store, s.path, &e), &e);
  pure_list_stats more = {.size = sizeof more};
  ck_assert_int_eq(pure_store_list_stats(other.store, 0, &more), PURE_OK);
  ck_assert_str_eq(more.name, "more");
  ck_assert_uint_eq(more.rows, 0);
  ck_assert_int_eq(host_call(&other, "size", NULL), 2);
  host_close(&other);
  host_close(&w);
  tidy(&s);
}
END_TEST

START_TEST(files_that_cannot_be) {
  host_world w;
  pure_error e = {0};
  pure_snapshot *snapshot;
  host_open(&w, NULL);
  host_call(&w, "note_many", "3", NULL);
  host_refused(pure_store_save(w.store, "/dev/full", &e), &e, PURE_IO, "No space");
  ck_assert_str_eq(e.file, "/dev/full");
  host_refused(pure_store_save(w.store, "/", &e), &e, PURE_IO, "directory");
  host_refused(pure_store_save(w.store, "/nowhere/at/all", &e), &e, PURE_IO, "No such file");
  host_refused(pure_store_load(w.store, "/nowhere", &e), &e, PURE_IO, "No such file");
  host_refused(pure_store_load(w.store, "/", &e), &e, PURE_IO, "directory");
  host_refused(pure_store_load(w.store, "/dev/null", &e), &e, PURE_BAD_DATA, "snapshot");
  host_refused(pure_program_save(w.program, "/dev/full", &e), &e, PURE_IO, "No space");
  host_fine(pure_snapshot_take(w.store, &snapshot, &e), &e);
  host_refused(pure_snapshot_save(snapshot, "/dev/full", &e), &e, PURE_IO, "No space");
  host_fine(pure_snapshot_save(snapshot, "/dev/null", &e), &e);
  pure_snapshot_release(snapshot);
  host_close(&w);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {snapshots_stay,      readers_on_threads, files_go_out_and_in,
                                large_lists,         damage_is_noticed,  other_programs,
                                files_that_cannot_be};
  return HOST_RUN("snapshot", tests);
}
