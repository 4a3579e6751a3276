/* A store compared with itself: the oldest checkpoint and the log since must lead to the next one.
 */
#include "durable_int.h"

#include <string.h>

typedef struct {
  const char *dir;
  durable_env env;
  MDB_txn *txn;
  pure_program *program;
  pure_store *store;
  durable_points points;
  uint64_t last;
} verification;

static bool load_program(verification *v, pure_engine *engine, durable_error *e) {
  const uint8_t *bytes;
  size_t n;
  bool found;
  pure_error why;
  if (!durable_meta_get(&v->env, v->txn, "program", &found, &bytes, &n, e))
    return false;
  if (!found)
    return durable_fail(e, "%s: there is no store in it", v->dir);
  if (pure_program_load(engine, "the store's program", bytes, n, &v->program, &why) == PURE_OK &&
      pure_store_new(v->program, &v->store, &why) == PURE_OK)
    return true;
  return durable_fail(e, "%s: its program: %s", v->dir, why.message);
}

static bool digest(const verification *v, uint64_t *out, durable_error *e) {
  pure_error why;
  return pure_store_digest(v->store, out, &why) == PURE_OK || durable_fail(e, "%s", why.message);
}

static bool replay_all(verification *v, durable_say say, void *user, durable_verified *out,
                       durable_error *e) {
  const durable_points *p = &v->points;
  durable_replayer r = {&v->env, v->txn, v->store, say, user};
  uint64_t from = 0;
  if (p->count == 2) {
    from = p->before_position;
    if (!durable_point_load(v->dir, v->store, from, &p->before_digest, e))
      return false;
  } else if (p->count == 1 && p->position == 0) {
    if (!durable_point_load(v->dir, v->store, 0, &p->digest, e))
      return false;
  }
  out->replayed = v->last - from;
  if (p->count && p->position > from) {
    uint64_t found;
    if (!durable_replay(&r, from, p->position, e) || !digest(v, &found, e))
      return false;
    if (found != p->digest)
      return durable_fail(e,
                          "%s: replaying up to %llu does not lead to the checkpoint there: digest "
                          "%016llx, not %016llx",
                          v->dir, (unsigned long long)p->position, (unsigned long long)found,
                          (unsigned long long)p->digest);
    out->checkpoints = 1;
    from = p->position;
    if (!durable_point_load(v->dir, v->store, from, &p->digest, e))
      return false;
  }
  out->position = v->last;
  return durable_replay(&r, from, v->last, e) && digest(v, &out->digest, e);
}

static bool verify(verification *v, pure_engine *engine, durable_say say, void *user,
                   durable_verified *out, durable_error *e) {
  if (!load_program(v, engine, e) || !durable_last_get(&v->env, v->txn, &v->last, e) ||
      !durable_points_get(&v->env, v->txn, &v->points, e))
    return false;
  return replay_all(v, say, user, out, e);
}

bool durable_verify(const char *dir, pure_engine *engine, durable_say say, void *user,
                    durable_verified *out, durable_error *e) {
  verification v = {.dir = dir};
  uint64_t head;
  memset(out, 0, sizeof *out);
  if (!durable_scan(dir, e) || !durable_head_read(dir, &head, e) ||
      !durable_env_open(&v.env, dir, false, e))
    return false;
  int rc = mdb_txn_begin(v.env.env, NULL, MDB_RDONLY, &v.txn);
  bool fine = rc == 0 || durable_fail(e, "%s: the log cannot be read: %s", dir, mdb_strerror(rc));
  if (fine) {
    fine = verify(&v, engine, say, user, out, e);
    if (fine && out->position < head)
      fine =
          durable_fail(e,
                       "%s: the log ends with record %llu, but %llu were on the disk once: it is "
                       "damaged, or an older copy",
                       dir, (unsigned long long)out->position, (unsigned long long)head);
    mdb_txn_abort(v.txn);
  }
  pure_store_release(v.store);
  pure_program_release(v.program);
  durable_env_close(&v.env);
  return fine;
}
