/* Stores: events and their undoing, snapshots on other threads, lack of memory. */
#include <check.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lists/lists_int.h"
#include "tests/lists/support/tables.h"

static ls_mem *mem;
static ls_policy policy;

static void setup(void) {
  mem = ls_mem_new(NULL);
  policy = ls_policy_default;
  policy.dense_min_span = 300;
}

static void teardown(void) {
  ls_mem_stats stats;
  ls_mem_read_stats(mem, &stats);
  ck_assert_uint_eq(stats.live_bytes, 0);
  ls_mem_delete(mem);
}

static ls_store *store_new(void) {
  ls_store *s = ls_store_new(table_schemas, TABLE_KINDS, mem, &policy);
  if (s != NULL)
    table_pool_intern(ls_store_texts(s));
  return s;
}

/* One write, of any kind, to any list. */
static ls_status one_write(ls_store *s, chance *c, uint64_t span) {
  table_kind kind = (table_kind)chance_below(c, TABLE_KINDS);
  ls_list *l = ls_store_list(s, kind);
  ls_val row[LS_MAX_COLS];
  ls_row h;
  ls_status st = LS_OK;
  table_row(kind, c, span, row);
  switch (chance_below(c, kind == TABLE_LOG ? 4 : 8)) {
  case 0:
  case 1:
    st = ls_list_insert(l, NULL, row, &h);
    break;
  case 2:
    if (kind == TABLE_LOG && l->count > 0) {
      h = chance_below(c, l->count);
      st = ls_list_set(l, NULL, &h, 0, row[0]);
    } else if (l->schema->ncols > l->schema->nkeys && kind != TABLE_LOG) {
      st = ls_list_find(l, NULL, row, &h);
      unsigned last = l->schema->ncols - 1u;
      if (st == LS_OK)
        st = ls_list_set(l, NULL, &h, last, row[last]);
    }
    break;
  case 3:
    if (chance_one_in(c, 40))
      st = ls_list_clear(l);
    else if (chance_one_in(c, 10) && kind == TABLE_LOG)
      st = ls_list_sort(l, NULL, (uint16_t[]){1, 2}, 2);
    else if (chance_one_in(c, 10))
      st = ls_list_relayout(l, (ls_layout)chance_below(c, LS_NLAYOUTS));
    break;
  case 4:
  case 5:
    st = ls_list_put(l, NULL, row, &h);
    break;
  default:
    st = ls_list_erase(l, NULL, row);
  }
  return st == LS_DUPLICATE || st == LS_MISSING || st == LS_UNSUITABLE ? LS_OK : st;
}

static void ck_store(ls_store *s) {
  char why[100];
  for (unsigned i = 0; i < ls_store_count(s); i++)
    ck_assert_msg(ls_list_check(ls_store_list(s, i), why, sizeof why), "list %u: %s", i, why);
}

static void settle(ls_store *s) {
  for (unsigned i = 0; i < ls_store_count(s); i++)
    ck_assert_int_eq(ls_list_settle(ls_store_list(s, i)), LS_OK);
}

/* Events, about half of them rolled back; snapshots come and go. */
static void events(uint64_t seed, uint64_t span, unsigned n, unsigned most) {
  chance c = chance_make(seed, span);
  ls_store *s = store_new();
  ls_snapshot *kept[4] = {NULL};
  uint64_t digest[4] = {0};
  for (unsigned i = 0; i < n; i++) {
    uint64_t before = ls_store_digest(s);
    uint32_t texts = ls_texts_count(ls_store_texts(s));
    ck_assert_int_eq(ls_store_begin(s, NULL), LS_OK);
    for (uint64_t w = chance_below(&c, most); w > 0; w--)
      ck_assert_int_eq(one_write(s, &c, span), LS_OK);
    ck_store(s);
    if (chance_one_in(&c, 2)) {
      ls_store_rollback(s);
      ck_assert_uint_eq(ls_store_digest(s), before);
      ck_assert_uint_eq(ls_texts_count(ls_store_texts(s)), texts);
    } else {
      uint64_t written = ls_store_digest(s);
      ls_store_commit(s);
      ck_assert_uint_eq(ls_store_digest(s), written);
    }
    ck_store(s);
    if (chance_one_in(&c, 3))
      settle(s);
    uint64_t k = chance_below(&c, 4);
    if (kept[k] != NULL)
      ck_assert_uint_eq(ls_snapshot_digest(kept[k]), digest[k]);
    ls_snapshot_release(kept[k]);
    kept[k] = chance_one_in(&c, 2) ? ls_snapshot_take(s) : NULL;
    digest[k] = ls_store_digest(s);
  }
  ls_store_delete(s);
  for (unsigned k = 0; k < 4; k++) { /* they outlive it */
    if (kept[k] != NULL)
      ck_assert_uint_eq(ls_snapshot_digest(kept[k]), digest[k]);
    ls_snapshot_release(kept[k]);
  }
}

START_TEST(random_events) {
  events(1, 20, 300, 60);
  events(2, 1000, 120, 600);
  events(3, 100001, 40, 4000);
}
END_TEST

/* Fills list `kind` with rows 0 .. n-1 by its first column, committed. */
static void fill(ls_store *s, table_kind kind, int64_t n, int64_t step) {
  ck_assert_int_eq(ls_store_begin(s, NULL), LS_OK);
  for (int64_t i = 0; i < n; i++) {
    ls_val row[3] = {{.i = i * step}, {.i = i % 7}, {.i = 0}};
    if (kind == TABLE_INT)
      row[2].r = (double)i;
    ck_assert_int_eq(ls_list_put(ls_store_list(s, kind), NULL, row, NULL), LS_OK);
  }
  ls_store_commit(s);
}

/* Erasing most of a tree and rolling back needs no memory and brings everything back. */
START_TEST(undoing_needs_no_memory) {
  ls_store *s = store_new();
  ls_list *l = ls_store_list(s, TABLE_INT);
  fill(s, TABLE_INT, 20000, 1000);
  ck_assert_int_eq(ls_shape_layout(l->shape), LS_TREE);
  ls_snapshot *snapshot = _i ? ls_snapshot_take(s) : NULL;
  uint64_t digest = ls_store_digest(s);
  ck_assert_int_eq(ls_store_begin(s, NULL), LS_OK);
  for (int64_t i = 0; i < 20000; i++) {
    ls_val row[3] = {{.i = i * 1000 + 1}, {.i = 1}, {.r = 0}};
    if (i % 10 != 3)
      ck_assert_int_eq(ls_list_erase(l, NULL, &(ls_val){.i = i * 1000}), LS_OK);
    if (i % 3 == 0)
      ck_assert_int_eq(ls_list_insert(l, NULL, row, NULL), LS_OK);
  }
  ls_mem_fail_after(mem, 1, 1);
  ls_store_rollback(s);
  ls_mem_fail_after(mem, 0, 0);
  ck_assert_uint_eq(ls_store_digest(s), digest);
  ck_store(s);
  ls_snapshot_release(snapshot);
  ls_store_delete(s);
}
END_TEST

START_TEST(commit_gives_empty_nodes_back) {
  ls_store *s = store_new();
  ls_list *l = ls_store_list(s, TABLE_INT);
  fill(s, TABLE_INT, 20000, 1000);
  uint64_t full = ls_list_bytes(l);
  ck_assert_int_eq(ls_store_begin(s, NULL), LS_OK);
  for (int64_t i = 0; i < 20000; i++)
    if (i % 100 != 0)
      ck_assert_int_eq(ls_list_erase(l, NULL, &(ls_val){.i = i * 1000}), LS_OK);
  ck_assert_uint_gt(ls_list_bytes(l), full / 2); /* an event may yet be undone */
  ls_store_commit(s);
  ck_assert_uint_lt(ls_list_bytes(l), full / 10);
  ck_store(s);
  /* and so does rolling back many inserts */
  full = ls_list_bytes(l);
  ck_assert_int_eq(ls_store_begin(s, NULL), LS_OK);
  for (int64_t i = 0; i < 20000; i++) {
    ls_val row[3] = {{.i = i * 1000 + 5}, {.i = 1}, {.r = 0}};
    ck_assert_int_eq(ls_list_insert(l, NULL, row, NULL), LS_OK);
  }
  ls_store_rollback(s);
  ck_assert_uint_lt(ls_list_bytes(l), full * 4);
  ck_store(s);
  ls_store_delete(s);
}
END_TEST

/* Leaves without a row, as there are inside an event, are passed over in every direction. */
START_TEST(reading_between_erased_rows) {
  ls_store *s = store_new();
  ls_list *l = ls_store_list(s, TABLE_INT);
  fill(s, TABLE_INT, 20000, 1000);
  ls_snapshot *snapshot = ls_snapshot_take(s);
  uint64_t before = ls_store_digest(s);
  for (unsigned round = 0; round < 2; round++) {
    chance c = chance_make(4, round);
    model m;
    model_init(&m, table_schemas[TABLE_INT], table_pool());
    ck_assert_int_eq(ls_store_begin(s, NULL), LS_OK);
    for (int64_t i = 0; i < 20000; i++) {
      ls_val row[3] = {{.i = i * 1000}, {.i = i % 7}, {.r = (double)i}};
      bool stays = i >= 300 && i < 19700 && (i < 4000 || i >= 16000) && i / 500 % 3 != 0;
      if (stays || i == 10000)
        model_insert(&m, m.count, row);
      else
        ck_assert_int_eq(ls_list_erase(l, NULL, row), LS_OK);
    }
    const char *differs = table_differs(l, &m, &c, 20000000, 3000);
    ck_assert_msg(differs == NULL, "%s", differs);
    if (round == 0) {
      ls_store_rollback(s);
      ck_assert_uint_eq(ls_store_digest(s), before);
    } else { /* what cannot be joined for lack of memory stays apart */
      ls_mem_fail_after(mem, 5, 1);
      ls_store_commit(s);
      ls_mem_fail_after(mem, 0, 0);
      differs = table_differs(l, &m, &c, 20000000, 300);
      ck_assert_msg(differs == NULL, "%s", differs);
    }
    model_free(&m);
  }
  ck_assert_uint_eq(ls_snapshot_digest(snapshot), before);
  ls_snapshot_release(snapshot);
  ls_store_delete(s);
}
END_TEST

static uint32_t intern(ls_store *s, const char *text) {
  uint32_t id = 0;
  ck_assert_int_eq(ls_texts_intern(ls_store_texts(s), text, strlen(text), &id), LS_OK);
  return id;
}

START_TEST(texts_of_a_rolled_back_event) {
  ls_store *s = store_new();
  uint32_t texts = ls_texts_count(ls_store_texts(s));
  ls_list *log = ls_store_list(s, TABLE_LOG);
  ls_val row[3] = {{.i = 1}, {.r = 1}, {.i = 0}};
  ck_assert_int_eq(ls_store_begin(s, NULL), LS_OK);
  row[2].i = intern(s, "new in this event");
  ck_assert_int_eq(ls_list_insert(log, NULL, row, NULL), LS_OK);
  ls_store_rollback(s);
  ck_assert_uint_eq(ls_texts_count(ls_store_texts(s)), texts);
  /* a snapshot's readers may know the text: it stays */
  ls_snapshot *snapshot = ls_snapshot_take(s);
  ck_assert_int_eq(ls_store_begin(s, NULL), LS_OK);
  row[2].i = intern(s, "new again");
  ls_store_rollback(s);
  ck_assert_uint_eq(ls_texts_count(ls_store_texts(s)), texts + 1);
  ls_snapshot_release(snapshot);
  ls_store_delete(s);
}
END_TEST

/* Keys of an event that was rolled back may have stayed as separators of a tree. */
START_TEST(texts_in_separators) {
  ls_store *s = store_new();
  ls_list *l = ls_store_list(s, TABLE_TEXT);
  char name[40];
  for (unsigned i = 0; i < 4000; i++) {
    if (i == 1000)
      ck_assert_int_eq(ls_store_begin(s, NULL), LS_OK);
    snprintf(name, sizeof name, "key %u", i < 1000 ? i * 10 : i * 7919 % 9973);
    ls_val key[3] = {{.i = intern(s, name)}, {.i = i}, {.i = 2}};
    ck_assert_int_eq(ls_list_insert(l, NULL, key, NULL), LS_OK);
  }
  ls_store_rollback(s);
  ck_assert_uint_eq(l->count, 1000);
  for (unsigned i = 0; i < 4000; i++) { /* ids that were given up would mean these */
    snprintf(name, sizeof name, "%c other %u", 'a' + i % 26, i);
    ls_val key[3] = {{.i = intern(s, name)}, {.i = 1}, {.i = 2}};
    if (i % 10 == 0)
      ck_assert_int_eq(ls_list_insert(l, NULL, key, NULL), LS_OK);
  }
  ck_store(s);
  ls_store_delete(s);
}
END_TEST

START_TEST(freezing_inside_an_event_copies) {
  for (table_kind kind = 0; kind < TABLE_KINDS; kind++)
    for (ls_layout layout = LS_FLAT; layout < LS_NLAYOUTS; layout++) {
      chance c = chance_make(3, kind);
      ls_store *s = store_new();
      ls_list *l = ls_store_list(s, kind);
      ls_val row[LS_MAX_COLS];
      for (unsigned i = 0; i < 500; i++) {
        table_row(kind, &c, 400, row);
        (void)ls_list_put(l, NULL, row, NULL);
      }
      if (ls_list_relayout(l, layout) == LS_OK) {
        uint64_t before = ls_store_digest(s), digest;
        ck_assert_int_eq(ls_store_begin(s, NULL), LS_OK);
        table_row(kind, &c, 400, row);
        ck_assert_int_eq(ls_list_put(l, NULL, row, NULL), LS_OK);
        digest = ls_list_digest(l, 0);
        ls_list *frozen = ls_list_freeze(l);
        ck_assert_int_eq(ls_list_put(frozen, NULL, row, NULL), LS_FROZEN);
        ls_mem_fail_after(mem, 1, 1);
        ls_store_rollback(s);
        ls_mem_fail_after(mem, 0, 0);
        ck_assert_uint_eq(ls_store_digest(s), before);
        ck_assert_uint_eq(ls_list_digest(frozen, 0), digest);
        ls_list *again = ls_list_freeze(frozen);
        ls_list_delete(frozen);
        ck_assert_uint_eq(ls_list_digest(again, 0), digest);
        ls_list_delete(again);
      }
      ck_store(s);
      ls_store_delete(s);
    }
}
END_TEST

START_TEST(swapping_contents) {
  ls_store *s = store_new();
  fill(s, TABLE_PAIR, 100, 1000);
  ls_snapshot *before = ls_snapshot_take(s);
  uint64_t digest = ls_store_digest(s);
  for (ls_layout layout = LS_HASH; layout <= LS_ARRAY; layout++) {
    ls_list *l = ls_list_new(table_schemas[TABLE_PAIR], mem, ls_store_texts(s), &policy, NULL);
    for (int64_t i = 0; i < 300; i++) {
      ls_val row[3] = {{.i = i * 5000 % 77777}, {.i = i}, {.i = 3}};
      ck_assert_int_eq(ls_list_put(l, NULL, row, NULL), LS_OK);
    }
    ck_assert_int_eq(ls_list_relayout(l, layout), LS_OK);
    uint64_t contents = ls_list_digest(l, 0);
    ck_assert_int_eq(ls_store_swap(s, TABLE_PAIR, l), LS_OK);
    ck_assert_uint_eq(l->count, 0);
    ck_assert_uint_eq(ls_list_digest(ls_store_list(s, TABLE_PAIR), 0), contents);
    ck_assert_int_ne(ls_shape_layout(ls_store_list(s, TABLE_PAIR)->shape), LS_HASH);
    ck_store(s);
    ls_list_delete(l);
  }
  ck_assert_uint_eq(ls_snapshot_digest(before), digest);
  ls_snapshot_release(before);
  ls_store_delete(s);
}
END_TEST

START_TEST(events_do_not_nest) {
  ls_store *s = store_new();
  ck_assert_int_eq(ls_store_begin(s, NULL), LS_OK);
  ck_assert_int_ne(ls_store_begin(s, NULL), LS_OK);
  ck_assert_ptr_null(ls_snapshot_take(s));
  ls_list *l = ls_list_new(table_schemas[TABLE_INT], mem, ls_store_texts(s), &policy, NULL);
  ck_assert_int_eq(ls_store_swap(s, TABLE_INT, l), LS_UNSUITABLE);
  ls_list_delete(l);
  ls_store_delete(s); /* an open event ends with it */
}
END_TEST

/* The digest does not know the layout, but knows every value. */
START_TEST(digests) {
  chance c = chance_make(8, 8);
  for (table_kind kind = 0; kind < TABLE_KINDS; kind++) {
    ls_store *s = store_new();
    ls_list *l = ls_list_new(table_schemas[kind], mem, ls_store_texts(s), &policy, NULL);
    ls_val row[LS_MAX_COLS];
    for (unsigned i = 0; i < 1000; i++) {
      table_row(kind, &c, 700, row);
      (void)ls_list_put(l, NULL, row, NULL);
    }
    uint64_t digest = ls_list_digest(l, 7);
    ck_assert_uint_ne(digest, ls_list_digest(l, 8));
    for (ls_layout layout = LS_DENSE; layout < LS_NLAYOUTS; layout++) {
      if (ls_list_relayout(l, layout) != LS_OK)
        continue;
      ck_assert_uint_eq(ls_list_digest(l, 7), digest);
      ls_mem_fail_after(mem, 1, 1);
      ck_assert_uint_eq(ls_list_digest(l, 7), digest);
      ls_mem_fail_after(mem, 0, 0);
    }
    ls_row h;
    ck_assert_int_eq(ls_list_last(l, NULL, &LS_WHOLE, &h), LS_OK);
    unsigned col = table_schemas[kind]->ncols - 1u;
    if (l->schema->ncols > l->schema->nkeys) {
      ls_val v = ls_list_get(l, h, col);
      ck_assert_int_eq(ls_list_set(l, NULL, &h, col, (ls_val){.u = v.u ^ 1}), LS_OK);
      ck_assert_uint_ne(ls_list_digest(l, 7), digest);
      ck_assert_int_eq(ls_list_set(l, NULL, &h, col, v), LS_OK);
      ck_assert_uint_eq(ls_list_digest(l, 7), digest);
    }
    ls_list_delete(l);
    ls_store_delete(s);
  }
}
END_TEST

/* The same bytes, but the text now in one row and now in the other. */
START_TEST(digest_knows_where_texts_end) {
  uint64_t digest[2];
  const char *bytes = "ABCDEFGHIJKLMNOP";
  ls_val row[3];
  memcpy(&row[0], bytes, 8);
  memcpy(&row[1], bytes + 8, 8);
  for (unsigned i = 0; i < 2; i++) {
    ls_store *s = store_new();
    for (unsigned j = 0; j < 2; j++) {
      row[2].i = i == j ? intern(s, bytes) : 0;
      ck_assert_int_eq(ls_list_insert(ls_store_list(s, TABLE_LOG), NULL, row, NULL), LS_OK);
    }
    digest[i] = ls_store_digest(s);
    ls_store_delete(s);
  }
  ck_assert_uint_ne(digest[0], digest[1]);
}
END_TEST

START_TEST(digest_of_long_texts) {
  ls_store *s = store_new(), *other = store_new();
  char *text = malloc(20000);
  uint64_t last = 0;
  memset(text, 'x', 20000);
  for (size_t len = 4080; len <= 20000; len += len < 4100 ? 1 : 1000) {
    ls_store *both[2] = {s, other};
    for (unsigned i = 0; i < 2; i++) {
      uint32_t id = 0;
      for (size_t n = i == 0 ? len : len - 3; n <= len; n++) /* ids differ, texts do not */
        ck_assert_int_eq(ls_texts_intern(ls_store_texts(both[i]), text, n, &id), LS_OK);
      ls_val row[3] = {{.i = 1}, {.r = 1}, {.i = id}};
      ck_assert_int_eq(ls_list_insert(ls_store_list(both[i], TABLE_LOG), NULL, row, NULL), LS_OK);
    }
    ck_assert_uint_eq(ls_store_digest(s), ls_store_digest(other));
    ck_assert_uint_ne(ls_store_digest(s), last);
    last = ls_store_digest(s);
  }
  free(text);
  ls_store_delete(s);
  ls_store_delete(other);
}
END_TEST

/* Rows of a hash list in order although there is no memory to put them in order. */
START_TEST(digest_of_an_unsorted_list) {
  ls_store *s = store_new();
  ls_list *a = ls_list_new(table_schemas[TABLE_PAIR], mem, ls_store_texts(s), &policy, NULL);
  ls_list *b = ls_list_new(table_schemas[TABLE_PAIR], mem, ls_store_texts(s), &policy, NULL);
  for (int64_t i = 0; i < 500; i++) {
    ls_val row[3] = {{.i = i * 7919 % 500 * 100000}, {.i = 1}, {.i = i * 7919 % 500}};
    ck_assert_int_eq(ls_list_put(a, NULL, row, NULL), LS_OK);
    ls_val up[3] = {{.i = i * 100000}, {.i = 1}, {.i = i}};
    ck_assert_int_eq(ls_list_put(b, NULL, up, NULL), LS_OK);
  }
  ck_assert_int_eq(ls_shape_layout(a->shape), LS_HASH);
  ls_mem_fail_after(mem, 1, 1);
  uint64_t digest = ls_list_digest(a, 0);
  ls_mem_fail_after(mem, 0, 0);
  ck_assert_uint_eq(digest, ls_list_digest(b, 0));
  ls_list_delete(a);
  ls_list_delete(b);
  ls_store_delete(s);
}
END_TEST

/* Threads: one writes, the others read snapshots that it hands out */

typedef struct {
  ls_snapshot *snapshot; /* a hold of its own */
  uint64_t digest;
} parcel;

typedef struct {
  pthread_mutex_t lock;
  pthread_cond_t change;
  parcel parcel[8];
  unsigned n;
  bool done;
  unsigned read;
} post;

static bool reader_check(const parcel *p) {
  ls_list *l = ls_snapshot_list(p->snapshot, TABLE_PAIR);
  ls_texts *over = ls_texts_overlay(ls_snapshot_texts(p->snapshot));
  ls_cursor c;
  ls_row h;
  bool ok = ls_snapshot_digest(p->snapshot) == p->digest;
  uint64_t n = 0;
  ok = ok && ls_list_seek(l, over, &LS_WHOLE, &c) == LS_OK;
  while (ok && ls_list_next(l, &c, &h)) {
    ls_val key[2] = {ls_list_get(l, h, 0), ls_list_get(l, h, 1)};
    ls_row again;
    ok = ls_list_find(l, over, key, &again) == LS_OK && again == h;
    n++;
  }
  ls_texts_delete(over);
  return ok && n == l->count;
}

static void *reader(void *arg) {
  post *p = arg;
  bool ok = true;
  pthread_mutex_lock(&p->lock);
  for (;;) {
    while (p->n == 0 && !p->done)
      pthread_cond_wait(&p->change, &p->lock);
    if (p->n == 0)
      break;
    parcel one = p->parcel[--p->n];
    p->read++;
    pthread_cond_broadcast(&p->change);
    pthread_mutex_unlock(&p->lock);
    ok = reader_check(&one) && ok;
    ls_snapshot_release(one.snapshot);
    pthread_mutex_lock(&p->lock);
  }
  pthread_mutex_unlock(&p->lock);
  return ok ? p : NULL;
}

static void post_send(post *p, ls_snapshot *snapshot, uint64_t digest) {
  pthread_mutex_lock(&p->lock);
  while (p->n == 8)
    pthread_cond_wait(&p->change, &p->lock);
  p->parcel[p->n++] = (parcel){snapshot, digest};
  pthread_cond_broadcast(&p->change);
  pthread_mutex_unlock(&p->lock);
}

START_TEST(readers_beside_a_writer) {
  enum { READERS = 3 };
  pthread_t threads[READERS];
  post p = {.n = 0};
  pthread_mutex_init(&p.lock, NULL);
  pthread_cond_init(&p.change, NULL);
  for (unsigned i = 0; i < READERS; i++)
    ck_assert_int_eq(pthread_create(&threads[i], NULL, reader, &p), 0);
  ls_store *s = store_new();
  chance c = chance_make(12, 1);
  for (unsigned i = 0; i < 150; i++) {
    ck_assert_int_eq(ls_store_begin(s, NULL), LS_OK);
    for (unsigned w = 0; w < 100; w++)
      ck_assert_int_eq(one_write(s, &c, 2000), LS_OK);
    if (i % 4 == 3)
      ls_store_rollback(s);
    else
      ls_store_commit(s);
    if (i % 5 == 0)
      settle(s);
    ls_snapshot *snapshot = ls_snapshot_take(s);
    uint64_t digest = ls_store_digest(s);
    post_send(&p, ls_snapshot_hold(snapshot), digest);
    post_send(&p, snapshot, digest);
  }
  ls_store_delete(s);
  pthread_mutex_lock(&p.lock);
  p.done = true;
  pthread_cond_broadcast(&p.change);
  pthread_mutex_unlock(&p.lock);
  for (unsigned i = 0; i < READERS; i++) {
    void *ok;
    pthread_join(threads[i], &ok);
    ck_assert_ptr_nonnull(ok);
  }
  ck_assert_uint_eq(p.read, 300);
  pthread_mutex_destroy(&p.lock);
  pthread_cond_destroy(&p.change);
}
END_TEST

/* A script of events.  LS_NOMEM: an event that could not go on was rolled back. */
static ls_status script(ls_store *s, uint64_t seed, bool *broken) {
  chance c = chance_make(seed, 1);
  ls_status st = LS_OK;
  for (unsigned i = 0; i < 12 && st == LS_OK; i++) {
    ls_snapshot *snapshot = i % 2 ? ls_snapshot_take(s) : NULL;
    uint64_t before = ls_store_digest(s), kept = before;
    st = ls_store_begin(s, NULL);
    for (unsigned w = 0; w < 70 && st == LS_OK; w++) {
      uint64_t digest = ls_store_digest(s);
      st = one_write(s, &c, 301);
      if (st != LS_OK && ls_store_digest(s) != digest)
        *broken = true;
    }
    ck_store(s);
    if (st == LS_OK && i % 3 != 2) {
      ls_store_commit(s);
    } else {
      ls_store_rollback(s);
      if (ls_store_digest(s) != before)
        *broken = true;
    }
    if (snapshot != NULL && ls_snapshot_digest(snapshot) != kept)
      *broken = true;
    ls_snapshot_release(snapshot);
    ck_store(s);
  }
  return st;
}

START_TEST(every_allocation_fails) {
  unsigned n = 0;
  ls_status st = LS_NOMEM;
  while (st == LS_NOMEM) {
    bool broken = false;
    n++;
    ls_mem_fail_after(mem, n, 1);
    ls_store *s = ls_store_new(table_schemas, TABLE_KINDS, mem, &policy);
    if (s == NULL)
      continue;
    table_pool_intern(ls_store_texts(s));
    if (ls_texts_count(ls_store_texts(s)) == TABLE_TEXTS)
      st = script(s, 5, &broken);
    ls_mem_fail_after(mem, 0, 0);
    ck_assert_msg(!broken, "allocation %u", n);
    ck_assert(st == LS_OK || st == LS_NOMEM);
    ls_store_delete(s);
    ls_mem_stats stats;
    ls_mem_read_stats(mem, &stats);
    ck_assert_uint_eq(stats.live_bytes, 0);
  }
  ck_assert_int_eq(st, LS_OK);
  ck_assert_uint_gt(n, 200);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("store");
  TCase *all = tcase_create("all");
  tcase_add_checked_fixture(all, setup, teardown);
  tcase_add_test(all, random_events);
  tcase_add_loop_test(all, undoing_needs_no_memory, 0, 2);
  tcase_add_test(all, commit_gives_empty_nodes_back);
  tcase_add_test(all, reading_between_erased_rows);
  tcase_add_test(all, texts_of_a_rolled_back_event);
  tcase_add_test(all, texts_in_separators);
  tcase_add_test(all, freezing_inside_an_event_copies);
  tcase_add_test(all, swapping_contents);
  tcase_add_test(all, events_do_not_nest);
  tcase_add_test(all, digests);
  tcase_add_test(all, digest_knows_where_texts_end);
  tcase_add_test(all, digest_of_long_texts);
  tcase_add_test(all, digest_of_an_unsorted_list);
  tcase_add_test(all, readers_beside_a_writer);
  tcase_add_test(all, every_allocation_fails);
  suite_add_tcase(suite, all);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_ENV);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed != 0;
}
