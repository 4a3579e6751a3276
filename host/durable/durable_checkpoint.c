/* Checkpoints: a snapshot goes into a file of its own, which other threads' commits need not wait
 * for; then the log is told, and forgets what lies before the checkpoint in front of it.  Two
 * checkpoints are kept, and the log since the first: so --verify can compare. */
#define _POSIX_C_SOURCE 200809L
#include "durable_int.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static bool trouble(durable *d, const char *why) {
  durable_tell(d->o.say, d->o.user, "no checkpoint was made: %s", why);
  return false;
}

static bool record_point(durable *d, uint64_t position, uint64_t digest, durable_points *next) {
  MDB_txn *txn;
  *next = (durable_points){.count = 1, .position = position, .digest = digest};
  if (d->points.count) {
    next->count = 2;
    next->before_position = d->points.position;
    next->before_digest = d->points.digest;
  }
  int rc = mdb_txn_begin(d->env.env, NULL, 0, &txn);
  if (rc)
    return trouble(d, mdb_strerror(rc));
  rc = durable_points_put(&d->env, txn, next);
  if (rc)
    mdb_txn_abort(txn);
  else
    rc = mdb_txn_commit(txn);
  return rc == 0 || trouble(d, mdb_strerror(rc));
}

/* The new points count from now on; what only the old ones needed goes. */
static void adopt_points(durable *d, const durable_points *next) {
  char path[DURABLE_PATH];
  pthread_mutex_lock(&d->lock);
  durable_points old = d->points;
  d->points = *next;
  if (next->count == 2)
    d->prune_to = next->before_position;
  pthread_cond_signal(&d->filled);
  pthread_mutex_unlock(&d->lock);
  if (old.count < 2 || old.before_position == next->before_position)
    return;
  durable_point_path(path, d->dir, old.before_position);
  (void)unlink(path); /* one that stays does no harm */
}

static bool make_point(durable *d, const pure_snapshot *snapshot, uint64_t position) {
  char path[DURABLE_PATH];
  pure_error why;
  uint64_t digest, start = durable_clock();
  durable_points next;
  if (!durable_wait(d, position))
    return trouble(d, "the log cannot be written");
  if (d->points.count && d->points.position == position)
    return true;
  durable_point_path(path, d->dir, position);
  if (pure_snapshot_digest(snapshot, &digest, &why) != PURE_OK ||
      pure_snapshot_save(snapshot, path, &why) != PURE_OK)
    return trouble(d, why.message);
  if (!record_point(d, position, digest, &next)) {
    (void)unlink(path);
    return false;
  }
  adopt_points(d, &next);
  durable_tell(d->o.say, d->o.user, "checkpoint at %llu in %.3f s", (unsigned long long)position,
               (double)(durable_clock() - start) / 1e9);
  return true;
}

bool durable_checkpoint_due(const durable *d) {
  const durable_options *o = &d->o;
  return ((o->checkpoint_events && d->since_events >= o->checkpoint_events) ||
          (o->checkpoint_bytes && d->since_bytes >= o->checkpoint_bytes)) &&
         !atomic_load(&d->checkpointing) && !atomic_load(&d->failed);
}

static void *checkpointer_main(void *user) {
  durable *d = user;
  (void)make_point(d, d->snapshot, d->snapshot_position);
  pure_snapshot_release(d->snapshot);
  d->snapshot = NULL;
  atomic_store(&d->checkpointing, false);
  return NULL;
}

void durable_checkpointer_join(durable *d) {
  if (d->checkpointer_runs)
    pthread_join(d->checkpointer, NULL);
  d->checkpointer_runs = false;
}

static bool take(durable *d) {
  pure_error why;
  durable_checkpointer_join(d);
  d->since_events = d->since_bytes = 0;
  if (pure_snapshot_take(d->o.store, &d->snapshot, &why) != PURE_OK)
    return trouble(d, why.message);
  d->snapshot_position = durable_position(d);
  return true;
}

void durable_checkpoint_begin(durable *d) {
  if (!take(d))
    return;
  atomic_store(&d->checkpointing, true);
  d->checkpointer_runs = pthread_create(&d->checkpointer, NULL, checkpointer_main, d) == 0;
  if (d->checkpointer_runs)
    return;
  atomic_store(&d->checkpointing, false);
  pure_snapshot_release(d->snapshot);
  d->snapshot = NULL;
  trouble(d, "no thread can be made");
}

bool durable_checkpoint_now(durable *d) {
  if (!take(d))
    return false;
  bool fine = make_point(d, d->snapshot, d->snapshot_position);
  pure_snapshot_release(d->snapshot);
  d->snapshot = NULL;
  return fine;
}
