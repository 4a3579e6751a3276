/* LMDB: one environment, two databases, and a checksum on every value. */
#define _POSIX_C_SOURCE 200809L
#include "durable_int.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <xxhash.h>

bool durable_fail(durable_error *e, const char *form, ...) {
  va_list values;
  va_start(values, form);
  vsnprintf(e->message, sizeof e->message, form, values);
  va_end(values);
  return false;
}

void durable_tell(durable_say say, void *user, const char *form, ...) {
  char line[400];
  va_list values;
  va_start(values, form);
  vsnprintf(line, sizeof line, form, values);
  va_end(values);
  if (say)
    say(user, line);
}

uint64_t durable_clock(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void durable_encode(uint64_t v, uint8_t out[8]) {
  for (unsigned i = 0; i < 8; i++)
    out[i] = (uint8_t)(v >> (8 * i));
}

uint64_t durable_decode(const uint8_t in[8]) {
  uint64_t v = 0;
  for (unsigned i = 0; i < 8; i++)
    v |= (uint64_t)in[i] << (8 * i);
  return v;
}

void durable_key(uint64_t position, uint8_t out[8]) {
  for (unsigned i = 0; i < 8; i++)
    out[i] = (uint8_t)(position >> (8 * (7 - i)));
}

uint64_t durable_unkey(const uint8_t in[8]) {
  uint64_t v = 0;
  for (unsigned i = 0; i < 8; i++)
    v = v << 8 | in[i];
  return v;
}

uint64_t durable_checksum(const void *bytes, size_t n, uint64_t seed) {
  return XXH3_64bits_withSeed(bytes, n, seed);
}

void durable_path(char out[DURABLE_PATH], const char *dir, const char *name) {
  snprintf(out, DURABLE_PATH, "%s/%s", dir, name);
}

void durable_point_path(char out[DURABLE_PATH], const char *dir, uint64_t position) {
  snprintf(out, DURABLE_PATH, "%s/checkpoint-%020llu.snapshot", dir, (unsigned long long)position);
}

static int open_databases(durable_env *out, bool write) {
  MDB_txn *txn;
  int rc = mdb_txn_begin(out->env, NULL, write ? 0 : MDB_RDONLY, &txn);
  if (rc)
    return rc;
  unsigned create = write ? MDB_CREATE : 0;
  rc = mdb_dbi_open(txn, "meta", create, &out->meta);
  if (!rc)
    rc = mdb_dbi_open(txn, "log", create, &out->log);
  if (rc) {
    mdb_txn_abort(txn);
    return rc;
  }
  return mdb_txn_commit(txn);
}

/* Address space for twice what there is; the committer asks for more when it comes near. */
static size_t map_size(const char *dir) {
  struct stat about;
  char path[DURABLE_PATH];
  size_t least = (size_t)1 << 30;
  durable_path(path, dir, "data.mdb");
  size_t wanted = stat(path, &about) == 0 ? (size_t)about.st_size * 2 : 0;
  return wanted > least ? (wanted + least - 1) / least * least : least;
}

bool durable_env_open(durable_env *out, const char *dir, bool write, durable_error *e) {
  memset(out, 0, sizeof *out);
  int rc = mdb_env_create(&out->env);
  if (!rc)
    rc = mdb_env_set_maxdbs(out->env, 2);
  if (!rc)
    rc = mdb_env_set_mapsize(out->env, map_size(dir));
  if (!rc)
    rc = mdb_env_open(out->env, dir, MDB_NOTLS | (write ? 0 : MDB_RDONLY), 0640);
  if (!rc)
    rc = open_databases(out, write);
  if (!rc)
    return true;
  durable_env_close(out);
  if (rc == MDB_NOTFOUND || rc == ENOENT)
    return durable_fail(e, "%s: there is no store in it", dir);
  if (rc == MDB_INVALID || rc == MDB_CORRUPTED || rc == MDB_VERSION_MISMATCH)
    return durable_fail(e, "%s: data.mdb is damaged, or no log of a store: %s", dir,
                        mdb_strerror(rc));
  return durable_fail(e, "%s: data.mdb cannot be opened: %s", dir, mdb_strerror(rc));
}

void durable_env_close(durable_env *env) {
  if (env->env)
    mdb_env_close(env->env);
  env->env = NULL;
}

int durable_meta_put(const durable_env *env, MDB_txn *txn, const char *key, const void *bytes,
                     size_t n) {
  MDB_val k = {strlen(key), (void *)key}, v = {n + 8, NULL};
  int rc = mdb_put(txn, env->meta, &k, &v, MDB_RESERVE);
  if (rc)
    return rc;
  durable_encode(durable_checksum(bytes, n, durable_checksum(key, strlen(key), 0)), v.mv_data);
  memcpy((uint8_t *)v.mv_data + 8, bytes, n);
  return 0;
}

bool durable_meta_get(const durable_env *env, MDB_txn *txn, const char *key, bool *found,
                      const uint8_t **bytes, size_t *n, durable_error *e) {
  MDB_val k = {strlen(key), (void *)key}, v;
  int rc = mdb_get(txn, env->meta, &k, &v);
  *found = rc == 0;
  if (rc == MDB_NOTFOUND)
    return true;
  if (rc)
    return durable_fail(e, "the log is damaged: %s: %s", key, mdb_strerror(rc));
  const uint8_t *at = v.mv_data;
  if (v.mv_size < 8 ||
      durable_checksum(at + 8, v.mv_size - 8, durable_checksum(key, strlen(key), 0)) !=
          durable_decode(at))
    return durable_fail(e, "the log is damaged: the checksum of `%s` is wrong", key);
  *bytes = at + 8;
  *n = v.mv_size - 8;
  return true;
}

bool durable_last_get(const durable_env *env, MDB_txn *txn, uint64_t *last, durable_error *e) {
  bool found;
  const uint8_t *bytes;
  size_t n;
  *last = 0;
  if (!durable_meta_get(env, txn, "last", &found, &bytes, &n, e))
    return false;
  if (found && n != 8)
    return durable_fail(e, "the log is damaged: `last` has %zu bytes", n);
  if (found)
    *last = durable_decode(bytes);
  return true;
}

bool durable_points_get(const durable_env *env, MDB_txn *txn, durable_points *out,
                        durable_error *e) {
  bool found;
  const uint8_t *bytes;
  size_t n;
  memset(out, 0, sizeof *out);
  if (!durable_meta_get(env, txn, "checkpoints", &found, &bytes, &n, e) || !found)
    return !found;
  if (n != 40)
    return durable_fail(e, "the log is damaged: `checkpoints` has %zu bytes", n);
  out->count = durable_decode(bytes);
  out->position = durable_decode(bytes + 8);
  out->digest = durable_decode(bytes + 16);
  out->before_position = durable_decode(bytes + 24);
  out->before_digest = durable_decode(bytes + 32);
  return true;
}

int durable_points_put(const durable_env *env, MDB_txn *txn, const durable_points *p) {
  uint8_t bytes[40];
  durable_encode(p->count, bytes);
  durable_encode(p->position, bytes + 8);
  durable_encode(p->digest, bytes + 16);
  durable_encode(p->before_position, bytes + 24);
  durable_encode(p->before_digest, bytes + 32);
  return durable_meta_put(env, txn, "checkpoints", bytes, sizeof bytes);
}

bool durable_head_read(const char *dir, uint64_t *position, durable_error *e) {
  char path[DURABLE_PATH];
  uint8_t bytes[16];
  durable_path(path, dir, "head");
  *position = 0;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0 && errno == ENOENT)
    return true;
  ssize_t n = fd < 0 ? -1 : pread(fd, bytes, sizeof bytes, 0);
  if (fd >= 0)
    close(fd);
  if (n == 0)
    return true;
  if (n != sizeof bytes || durable_checksum(bytes, 8, 0) != durable_decode(bytes + 8))
    return durable_fail(e, "%s: it is damaged: its checksum is wrong", path);
  *position = durable_decode(bytes);
  return true;
}
