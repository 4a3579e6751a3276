/* host/durable/durable_int.h - what the files of host/durable share. */
#ifndef PURE_DURABLE_INT_H
#define PURE_DURABLE_INT_H

#include <lmdb.h>
#include <pthread.h>
#include <stdatomic.h>

#include "host/durable/durable.h"

#define DURABLE_FORMAT 1u
#define DURABLE_PATH 4096

/* The databases of one LMDB environment. */
typedef struct {
  MDB_env *env;
  MDB_dbi meta, log;
} durable_env;

/* The two newest checkpoints; count says how many there are. */
typedef struct {
  uint64_t count;
  uint64_t position, digest;
  uint64_t before_position, before_digest;
} durable_points;

typedef struct durable_pending {
  struct durable_pending *next;
  void *token;
  size_t length;
  uint8_t bytes[];
} durable_pending;

struct durable {
  durable_options o;
  char dir[DURABLE_PATH / 2];
  durable_env env;
  int head; /* file: how far the log was known to be on the disk; locked */
  int data; /* LMDB's file, to make room in it */
  bool is_new, adopting;
  pthread_mutex_t lock;
  pthread_cond_t filled, moved;
  durable_pending *first, **last;
  size_t pending_bytes;
  uint64_t position, committed, commits;
  bool closing;
  _Atomic bool failed;
  _Atomic uint64_t used, reserved; /* bytes of the data file */
  uint64_t room_asked_ns;
  durable_points points;
  uint64_t since_events, since_bytes; /* a checkpoint began; the owner's */
  uint64_t prune_to;                  /* records up to it can go */
  pure_snapshot *snapshot;            /* for the checkpoint being made */
  uint64_t snapshot_position;
  _Atomic bool checkpointing;
  pthread_t committer, checkpointer;
  bool committer_runs, checkpointer_runs;
};

bool durable_fail(durable_error *e, const char *form, ...)
    __attribute__((format(printf, 2, 3))); /* returns false */
void durable_tell(durable_say say, void *user, const char *form, ...)
    __attribute__((format(printf, 3, 4)));
uint64_t durable_clock(void);

/* durable_env.c */
bool durable_env_open(durable_env *out, const char *dir, bool write, durable_error *e);
void durable_env_close(durable_env *env);
/* Values with their checksums.  get: borrowed until the transaction ends; *found false where there
 * is none; false: damaged. */
int durable_meta_put(const durable_env *env, MDB_txn *txn, const char *key, const void *bytes,
                     size_t n);
bool durable_meta_get(const durable_env *env, MDB_txn *txn, const char *key, bool *found,
                      const uint8_t **bytes, size_t *n, durable_error *e);
void durable_encode(uint64_t v, uint8_t out[8]);
uint64_t durable_decode(const uint8_t in[8]);
/* Keys of the log sort as the positions do. */
void durable_key(uint64_t position, uint8_t out[8]);
uint64_t durable_unkey(const uint8_t in[8]);
uint64_t durable_checksum(const void *bytes, size_t n, uint64_t seed);
bool durable_last_get(const durable_env *env, MDB_txn *txn, uint64_t *last, durable_error *e);
bool durable_points_get(const durable_env *env, MDB_txn *txn, durable_points *out,
                        durable_error *e);
int durable_points_put(const durable_env *env, MDB_txn *txn, const durable_points *points);
/* The head file: *position 0 where there is none. */
bool durable_head_read(const char *dir, uint64_t *position, durable_error *e);
void durable_path(char out[DURABLE_PATH], const char *dir, const char *name);
void durable_point_path(char out[DURABLE_PATH], const char *dir, uint64_t position);

/* durable_scan.c.  In a child process, for a damaged file may kill who reads it. */
bool durable_scan(const char *dir, durable_error *e);

/* durable_record.c */
size_t durable_record_size(const durable_record *record);
/* With its checksum in front. */
void durable_record_write(const durable_record *record, uint64_t position, uint8_t *out);
/* Borrows the bytes; arguments has room for UINT8_MAX. */
bool durable_record_read(const uint8_t *bytes, size_t n, uint64_t position, durable_record *out,
                         char name[256], durable_error *e);

/* durable_replay.c.  Records from + 1 .. to. */
typedef struct {
  const durable_env *env;
  MDB_txn *txn;
  pure_store *store;
  durable_say say;
  void *user;
} durable_replayer;
bool durable_replay(const durable_replayer *r, uint64_t from, uint64_t to, durable_error *e);
/* The checkpoint of that position; its digest is compared, where one is given. */
bool durable_point_load(const char *dir, pure_store *store, uint64_t position,
                        const uint64_t *digest, durable_error *e);

/* durable_commit.c */
bool durable_committer_start(durable *d);
void durable_committer_stop(durable *d);
bool durable_head_write(const durable *d, uint64_t position);
void durable_reserve(durable *d);

/* durable_checkpoint.c */
void durable_checkpointer_join(durable *d);

#endif
