/* A store from what is kept of it: whose it is, the newest checkpoint, the log since. */
#define _GNU_SOURCE
#include "durable_int.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* Bytes of the program's module. */
typedef struct {
  uint8_t *bytes;
  size_t n;
} module_bytes;

static bool add_bytes(void *user, const void *bytes, size_t n) {
  module_bytes *m = user;
  uint8_t *grown = realloc(m->bytes, m->n + n + 1);
  if (!grown)
    return false;
  memcpy(grown + m->n, bytes, n);
  m->bytes = grown;
  m->n += n;
  return true;
}

static bool read_module(const pure_program *program, module_bytes *out, durable_error *e) {
  pure_error why;
  memset(out, 0, sizeof *out);
  if (pure_program_write(program, add_bytes, out, &why) == PURE_OK)
    return true;
  free(out->bytes);
  return durable_fail(e, "%s", why.message);
}

static int put_program(const durable_env *env, MDB_txn *txn, const module_bytes *m) {
  int rc = durable_meta_put(env, txn, "program", m->bytes, m->n);
  const char *version = pure_version();
  return rc ? rc : durable_meta_put(env, txn, "version", version, strlen(version));
}

static bool make_new(const durable_env *env, MDB_txn *txn, const module_bytes *m,
                     durable_error *e) {
  uint8_t format[8], last[8];
  durable_encode(DURABLE_FORMAT, format);
  durable_encode(0, last);
  int rc = durable_meta_put(env, txn, "format", format, sizeof format);
  if (!rc)
    rc = durable_meta_put(env, txn, "last", last, sizeof last);
  if (!rc)
    rc = put_program(env, txn, m);
  return rc == 0 || durable_fail(e, "the log cannot be begun: %s", mdb_strerror(rc));
}

static bool check_format(const durable_env *env, MDB_txn *txn, bool *found, durable_error *e) {
  const uint8_t *bytes;
  size_t n;
  if (!durable_meta_get(env, txn, "format", found, &bytes, &n, e))
    return false;
  if (!*found || (n == 8 && durable_decode(bytes) == DURABLE_FORMAT))
    return true;
  return durable_fail(e, "the store is of a newer format than this version knows");
}

static bool same_program(const durable_env *env, MDB_txn *txn, const module_bytes *m, bool *same,
                         durable_error *e) {
  const uint8_t *bytes;
  size_t n;
  bool found;
  if (!durable_meta_get(env, txn, "program", &found, &bytes, &n, e))
    return false;
  if (!found)
    return durable_fail(e, "the log is damaged: it does not say whose it is");
  *same = n == m->n && memcmp(bytes, m->bytes, n) == 0;
  return true;
}

static bool refuse_other(const char *dir, uint64_t tail, durable_error *e) {
  if (tail)
    return durable_fail(
        e,
        "%s: the store was written by another program, or another version of it, and %llu events "
        "since its last checkpoint can be replayed by that one alone.  Start that program on it "
        "once "
        "and stop it with SIGTERM, which leaves a checkpoint; then start this one with --adopt",
        dir, (unsigned long long)tail);
  return durable_fail(e,
                      "%s: the store was written by another program, or another version of it.  "
                      "Start that one, or let this one take over its lists with --adopt",
                      dir);
}

/* Inside a transaction that can write. */
static bool identify(durable *d, MDB_txn *txn, const module_bytes *m, durable_error *e) {
  bool found, same;
  uint64_t last;
  if (!check_format(&d->env, txn, &found, e))
    return false;
  d->is_new = !found;
  if (!found)
    return make_new(&d->env, txn, m, e);
  if (!durable_last_get(&d->env, txn, &last, e) ||
      !durable_points_get(&d->env, txn, &d->points, e) || !same_program(&d->env, txn, m, &same, e))
    return false;
  if (same)
    return true;
  uint64_t tail = last - (d->points.count ? d->points.position : 0);
  d->adopting = d->o.adopt && !tail;
  return d->adopting || refuse_other(d->dir, tail, e);
}

static bool open_identity(durable *d, durable_error *e) {
  MDB_txn *txn;
  module_bytes m;
  if (!read_module(d->o.program, &m, e))
    return false;
  int rc = mdb_txn_begin(d->env.env, NULL, 0, &txn);
  if (rc) {
    free(m.bytes);
    return durable_fail(e, "%s: the log cannot be written: %s", d->dir, mdb_strerror(rc));
  }
  bool fine = identify(d, txn, &m, e);
  free(m.bytes);
  if (!fine) {
    mdb_txn_abort(txn);
    return false;
  }
  rc = mdb_txn_commit(txn);
  return rc == 0 || durable_fail(e, "%s: the log cannot be written: %s", d->dir, mdb_strerror(rc));
}

/* Everything up to what the log has; *last says how far that is.  adopting: the digest of the
 * checkpoint is that of another program's lists. */
static bool restore(const char *dir, const durable_env *env, pure_store *store, durable_say say,
                    void *user, uint64_t head, bool adopting, uint64_t *last, durable_error *e) {
  MDB_txn *txn;
  durable_points points;
  int rc = mdb_txn_begin(env->env, NULL, MDB_RDONLY, &txn);
  if (rc)
    return durable_fail(e, "%s: the log cannot be read: %s", dir, mdb_strerror(rc));
  bool fine = durable_last_get(env, txn, last, e) && durable_points_get(env, txn, &points, e);
  if (fine && *last < head)
    fine = durable_fail(e,
                        "%s: the log ends with record %llu, but %llu were on the disk once: it is "
                        "damaged, or an older copy",
                        dir, (unsigned long long)*last, (unsigned long long)head);
  uint64_t from = fine && points.count ? points.position : 0;
  if (fine && points.count)
    fine = durable_point_load(dir, store, points.position, adopting ? NULL : &points.digest, e);
  uint64_t start = durable_clock();
  durable_replayer r = {env, txn, store, say, user};
  fine = fine && durable_replay(&r, from, *last, e);
  mdb_txn_abort(txn);
  if (fine && *last > from)
    durable_tell(say, user, "replayed %llu records in %.3f s", (unsigned long long)(*last - from),
                 (double)(durable_clock() - start) / 1e9);
  return fine;
}

static bool open_files(durable *d, durable_error *e) {
  char path[DURABLE_PATH];
  if (mkdir(d->dir, 0750) != 0 && errno != EEXIST)
    return durable_fail(e, "%s: cannot be made: %s", d->dir, strerror(errno));
  durable_path(path, d->dir, "head");
  d->head = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0640);
  if (d->head < 0)
    return durable_fail(e, "%s: cannot be opened: %s", path, strerror(errno));
  if (flock(d->head, LOCK_EX | LOCK_NB) != 0)
    return durable_fail(e, "%s: another process has the store open", d->dir);
  durable_path(path, d->dir, "data.mdb");
  if (access(path, F_OK) == 0 && !durable_scan(d->dir, e))
    return false;
  if (!durable_env_open(&d->env, d->dir, true, e))
    return false;
  d->data = open(path, O_RDWR | O_CLOEXEC);
  return d->data >= 0 || durable_fail(e, "%s: cannot be opened: %s", path, strerror(errno));
}

/* The lists are this program's from now on; what led to them is nobody's. */
static bool adopt(durable *d, uint64_t last, durable_error *e) {
  MDB_txn *txn;
  module_bytes m;
  pure_error why;
  durable_points *p = &d->points;
  if (pure_store_digest(d->o.store, &p->digest, &why) != PURE_OK)
    return durable_fail(e, "%s", why.message);
  if (!read_module(d->o.program, &m, e))
    return false;
  p->count = p->count ? 2 : 0;
  p->before_position = p->position;
  p->before_digest = p->digest;
  d->prune_to = last;
  int rc = mdb_txn_begin(d->env.env, NULL, 0, &txn);
  if (!rc) {
    rc = put_program(&d->env, txn, &m);
    if (!rc)
      rc = durable_points_put(&d->env, txn, p);
    if (rc)
      mdb_txn_abort(txn);
    else
      rc = mdb_txn_commit(txn);
  }
  free(m.bytes);
  return rc == 0 || durable_fail(e, "%s: the log cannot be written: %s", d->dir, mdb_strerror(rc));
}

static bool open_all(durable *d, durable_error *e) {
  uint64_t head, last;
  if (pthread_mutex_init(&d->lock, NULL) || pthread_cond_init(&d->filled, NULL) ||
      pthread_cond_init(&d->moved, NULL))
    return durable_fail(e, "not enough memory");
  if (!open_files(d, e) || !durable_head_read(d->dir, &head, e) || !open_identity(d, e) ||
      !restore(d->dir, &d->env, d->o.store, d->o.say, d->o.user, head, d->adopting, &last, e) ||
      (d->adopting && !adopt(d, last, e)))
    return false;
  d->position = d->committed = last;
  d->since_events = last - (d->points.count ? d->points.position : 0);
  if (!durable_head_write(d, last))
    return durable_fail(e, "%s: head cannot be written: %s", d->dir, strerror(errno));
  durable_reserve(d);
  return durable_committer_start(d) || durable_fail(e, "no thread for the log can be made");
}

static void close_all(durable *d) {
  durable_env_close(&d->env);
  if (d->data >= 0)
    close(d->data);
  if (d->head >= 0)
    close(d->head);
  free(d);
}

durable *durable_open(const durable_options *options, durable_error *e) {
  durable *d = calloc(1, sizeof *d);
  if (!d) {
    durable_fail(e, "not enough memory");
    return NULL;
  }
  d->o = *options;
  d->head = d->data = -1;
  d->last = &d->first;
  if (strlen(options->dir) < sizeof d->dir) {
    strcpy(d->dir, options->dir);
    if (open_all(d, e))
      return d;
  } else {
    durable_fail(e, "the name of the store's folder is too long");
  }
  close_all(d);
  return NULL;
}

void durable_close(durable *d) {
  durable_flush(d);
  durable_checkpointer_join(d);
  bool behind = d->position > (d->points.count ? d->points.position : 0);
  if (behind && !durable_failed(d))
    (void)durable_checkpoint_now(d);
  durable_committer_stop(d);
  close_all(d);
}

bool durable_is_new(const durable *d) { return d->is_new; }

bool durable_read(const char *dir, pure_program *program, pure_store *store, durable_say say,
                  void *user, durable_error *e) {
  durable_env env;
  module_bytes m;
  uint64_t head, last;
  MDB_txn *txn;
  bool same = false, found;
  if (!durable_scan(dir, e) || !durable_head_read(dir, &head, e) || !read_module(program, &m, e))
    return false;
  bool fine = durable_env_open(&env, dir, false, e);
  if (fine && mdb_txn_begin(env.env, NULL, MDB_RDONLY, &txn) == 0) {
    fine = check_format(&env, txn, &found, e) && same_program(&env, txn, &m, &same, e);
    mdb_txn_abort(txn);
    if (fine && !same)
      fine =
          durable_fail(e, "%s: the store was written by another program, or another version", dir);
    fine = fine && restore(dir, &env, store, say, user, head, false, &last, e);
  } else if (fine) {
    fine = durable_fail(e, "%s: the log cannot be read", dir);
  }
  free(m.bytes);
  durable_env_close(&env);
  return fine;
}
