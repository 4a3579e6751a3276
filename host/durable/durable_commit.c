/* The committer: takes all records that have gathered, writes them in one transaction, and hands
 * their tokens back.  Meanwhile the next ones gather.
 *
 * A log that cannot be written ends the store: what is in memory is then ahead of what is kept, and
 * only a start from the disk makes them one again.  So that a full disk does not come to that, room
 * is made in the file before it is needed, and the owner asks for it before it does anything. */
#define _GNU_SOURCE /* pthread_setname_np */
#define _GNU_SOURCE
#include "durable_int.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PRUNE = 4096, STEP = 16 << 20, SLACK = 4 << 20, ASK_NS = 500000000 };

bool durable_head_write(const durable *d, uint64_t position) {
  uint8_t bytes[16];
  durable_encode(position, bytes);
  durable_encode(durable_checksum(bytes, 8, 0), bytes + 8);
  return pwrite(d->head, bytes, sizeof bytes, 0) == sizeof bytes;
}

static void measure(durable *d) {
  MDB_envinfo info;
  MDB_stat stat;
  struct stat about;
  if (mdb_env_info(d->env.env, &info) == 0 && mdb_env_stat(d->env.env, &stat) == 0)
    atomic_store(&d->used, (uint64_t)(info.me_last_pgno + 1) * stat.ms_psize);
  if (fstat(d->data, &about) == 0)
    atomic_store(&d->reserved, (uint64_t)about.st_size);
}

/* Makes the file longer, where it is nearly full; a file system that cannot has to do without. */
void durable_reserve(durable *d) {
  measure(d);
  uint64_t used = atomic_load(&d->used), reserved = atomic_load(&d->reserved);
  if (reserved >= used + STEP)
    return;
  uint64_t wanted = (used / STEP + 2) * STEP;
  if (fallocate(d->data, 0, 0, (off_t)wanted) == 0 || errno == EOPNOTSUPP)
    atomic_store(&d->reserved, wanted);
}

/* A transaction copies what it changes: the tree's pages besides the records. */
bool durable_room(durable *d) {
  pthread_mutex_lock(&d->lock);
  uint64_t needed = 2 * (uint64_t)d->pending_bytes + SLACK;
  pthread_mutex_unlock(&d->lock);
  if (atomic_load(&d->reserved) >= atomic_load(&d->used) + needed)
    return true;
  uint64_t now = durable_clock();
  if (now - d->room_asked_ns < ASK_NS)
    return false;
  d->room_asked_ns = now;
  durable_reserve(d);
  return atomic_load(&d->reserved) >= atomic_load(&d->used) + needed;
}

static void free_pending(durable_pending *p) {
  while (p) {
    durable_pending *next = p->next;
    free(p);
    p = next;
  }
}

bool durable_append(durable *d, const durable_record *record, void *token) {
  size_t n = durable_record_size(record);
  durable_pending *p = malloc(sizeof *p + n);
  if (p) {
    p->next = NULL;
    p->token = token;
    p->length = n;
    durable_record_write(record, d->position + 1, p->bytes);
  }
  pthread_mutex_lock(&d->lock);
  bool fine = p && !atomic_load(&d->failed);
  d->position++; /* it was done, kept or not */
  if (fine) {
    *d->last = p;
    d->last = &p->next;
    d->pending_bytes += n;
  } else {
    atomic_store(&d->failed, true);
  }
  pthread_cond_signal(&d->filled);
  pthread_mutex_unlock(&d->lock);
  d->since_events++;
  d->since_bytes += n;
  if (!fine)
    free(p);
  return fine;
}

static int put_records(durable *d, MDB_txn *txn, const durable_pending *p, uint64_t *position) {
  uint8_t bytes[8];
  for (; p; p = p->next) {
    durable_key(++*position, bytes);
    MDB_val key = {sizeof bytes, bytes}, value = {p->length, (void *)p->bytes};
    int rc = mdb_put(txn, d->env.log, &key, &value, MDB_APPEND);
    if (rc)
      return rc;
  }
  durable_encode(*position, bytes);
  return durable_meta_put(&d->env, txn, "last", bytes, sizeof bytes);
}

/* Some of the records that no checkpoint needs any more. */
static int prune(durable *d, MDB_txn *txn, uint64_t to, bool *more) {
  MDB_cursor *cursor;
  MDB_val key, value;
  int rc = mdb_cursor_open(txn, d->env.log, &cursor);
  *more = false;
  for (int i = 0; rc == 0; i++) {
    rc = mdb_cursor_get(cursor, &key, &value, MDB_FIRST);
    if (rc || key.mv_size != 8 || durable_unkey(key.mv_data) > to)
      break;
    *more = i == PRUNE;
    if (*more)
      break;
    rc = mdb_cursor_del(cursor, 0);
  }
  mdb_cursor_close(cursor);
  return rc == MDB_NOTFOUND ? 0 : rc;
}

static int transact(durable *d, const durable_pending *p, uint64_t *position, uint64_t prune_to,
                    bool *more) {
  MDB_txn *txn;
  int rc = mdb_txn_begin(d->env.env, NULL, 0, &txn);
  if (rc)
    return rc;
  if (p)
    rc = put_records(d, txn, p, position);
  if (!rc && prune_to)
    rc = prune(d, txn, prune_to, more);
  if (!rc)
    return mdb_txn_commit(txn);
  mdb_txn_abort(txn);
  return rc;
}

/* More address space where the file has come near its end. */
static int grow_map(durable *d, size_t coming) {
  MDB_envinfo info;
  int rc = mdb_env_info(d->env.env, &info);
  size_t wanted = (size_t)atomic_load(&d->reserved) + 2 * coming + STEP;
  if (rc || info.me_mapsize > wanted)
    return rc;
  return mdb_env_set_mapsize(d->env.env, 2 * wanted);
}

static void report(durable *d, durable_pending *all, bool fine) {
  for (durable_pending *p = all; p; p = p->next)
    d->o.done(d->o.user, p->token, fine);
  free_pending(all);
}

/* Without the lock. */
static void commit(durable *d, durable_pending *all, size_t bytes, uint64_t prune_to) {
  uint64_t position = d->committed;
  bool more = false;
  int rc = all ? grow_map(d, bytes) : 0;
  if (!rc)
    rc = transact(d, all, &position, prune_to, &more);
  if (rc && !all)
    rc = 0; /* old records stay a while */
  bool fine = !rc && (!all || durable_head_write(d, position));
  if (!fine)
    durable_tell(d->o.say, d->o.user, "the log cannot be written: %s",
                 rc ? mdb_strerror(rc) : strerror(errno));
  durable_reserve(d);
  pthread_mutex_lock(&d->lock);
  if (fine) {
    d->committed = position;
    d->commits += all != NULL;
    if (!more && d->prune_to == prune_to)
      d->prune_to = 0;
  } else {
    atomic_store(&d->failed, true);
  }
  pthread_cond_broadcast(&d->moved);
  pthread_mutex_unlock(&d->lock);
  report(d, all, fine);
}

static void *committer_main(void *user) {
  durable *d = user;
  pthread_setname_np(pthread_self(), "committer");
  pthread_mutex_lock(&d->lock);
  for (;;) {
    while (!d->first && !d->closing && (!d->prune_to || atomic_load(&d->failed)))
      pthread_cond_wait(&d->filled, &d->lock);
    if (!d->first && d->closing)
      break;
    durable_pending *all = d->first;
    size_t bytes = d->pending_bytes;
    uint64_t prune_to = d->prune_to;
    d->first = NULL;
    d->last = &d->first;
    d->pending_bytes = 0;
    bool failed = atomic_load(&d->failed);
    pthread_mutex_unlock(&d->lock);
    if (failed)
      report(d, all, false);
    else
      commit(d, all, bytes, prune_to);
    pthread_mutex_lock(&d->lock);
  }
  pthread_mutex_unlock(&d->lock);
  return NULL;
}

bool durable_committer_start(durable *d) {
  d->committer_runs = pthread_create(&d->committer, NULL, committer_main, d) == 0;
  return d->committer_runs;
}

void durable_committer_stop(durable *d) {
  if (!d->committer_runs)
    return;
  pthread_mutex_lock(&d->lock);
  d->closing = true;
  pthread_cond_broadcast(&d->filled);
  pthread_mutex_unlock(&d->lock);
  pthread_join(d->committer, NULL);
  d->committer_runs = false;
}

bool durable_wait(durable *d, uint64_t position) {
  pthread_mutex_lock(&d->lock);
  while (d->committed < position && !atomic_load(&d->failed))
    pthread_cond_wait(&d->moved, &d->lock);
  bool fine = d->committed >= position;
  pthread_mutex_unlock(&d->lock);
  return fine;
}

uint64_t durable_position(durable *d) {
  pthread_mutex_lock(&d->lock);
  uint64_t position = d->position;
  pthread_mutex_unlock(&d->lock);
  return position;
}

bool durable_flush(durable *d) { return durable_wait(d, durable_position(d)); }
bool durable_failed(const durable *d) { return atomic_load(&d->failed); }

void durable_stats_read(durable *d, durable_stats *out) {
  pthread_mutex_lock(&d->lock);
  out->position = d->position;
  out->committed = d->committed;
  out->commits = d->commits;
  out->checkpoint = d->points.count ? d->points.position : 0;
  pthread_mutex_unlock(&d->lock);
  out->log_bytes = atomic_load(&d->used);
  out->checkpointing = atomic_load(&d->checkpointing);
}
