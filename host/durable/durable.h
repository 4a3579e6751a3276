/* host/durable/durable.h - a store that outlives its process: a log of what was done, and
 * checkpoints.  docs/serving.md says what is promised; docs/store-format.md what the files are.
 *
 *   durable_open.c        a store from its newest checkpoint and the log
 *   durable_replay.c      the log done again
 *   durable_record.c      one event or load as bytes
 *   durable_commit.c      the committer: many records, one transaction
 *   durable_checkpoint.c  snapshots into files, in the background
 *   durable_env.c         LMDB
 *   durable_scan.c        every byte looked at, in a process that may die of it
 *   durable_verify.c      all of it, compared
 *
 * Events are deterministic: the log has their names and arguments, not what they changed.  The
 * owner of the store runs an event and appends it; the committer writes all that has gathered in
 * one transaction, and only then are they `done`.
 *
 * Threads: durable_append, durable_room and durable_checkpoint_* belong to the owner of the store;
 * done is called by the committer; the rest may be called by anyone.
 */
#ifndef PURE_DURABLE_H
#define PURE_DURABLE_H

#include <pure/pure.h>

typedef struct durable durable;

typedef struct {
  char message[1100];
} durable_error;

typedef enum { DURABLE_EVENT = 1, DURABLE_LOAD = 2 } durable_kind;

/* Borrowed throughout. */
typedef struct {
  durable_kind kind;
  const char *name; /* of the event or the list */
  pure_value *arguments;
  uint32_t narguments;
  const char *bytes; /* of a load: CSV */
  size_t length;
  pure_duplicates duplicates;
  uint64_t work; /* that the event was charged */
} durable_record;

/* The record is on the disk, or never will be. */
typedef void (*durable_done)(void *user, void *token, bool fine);
typedef void (*durable_say)(void *user, const char *line);

typedef struct {
  const char *dir;
  pure_program *program;
  pure_store *store; /* new and empty; becomes what is kept */
  bool adopt;        /* take over what another program left, where a checkpoint has all of it */
  uint64_t checkpoint_events, checkpoint_bytes; /* of log between two checkpoints; 0: never */
  durable_done done;
  durable_say say;
  void *user;
} durable_options;

/* NULL: e says why. */
durable *durable_open(const durable_options *options, durable_error *e);
bool durable_is_new(const durable *d); /* nothing was ever kept in it */
/* After the last append: a checkpoint, then all is closed. */
void durable_close(durable *d);

/* The record was done to the store.  False: it is not kept, and the store has failed. */
bool durable_append(durable *d, const durable_record *record, void *token);
/* Whether the disk has room for what comes.  Asked before something is done. */
bool durable_room(durable *d);
/* Waits until everything up to the position is on the disk; false: the store has failed. */
bool durable_wait(durable *d, uint64_t position);
bool durable_flush(durable *d);
bool durable_failed(const durable *d);
uint64_t durable_position(durable *d); /* records ever appended */

bool durable_checkpoint_due(const durable *d);
void durable_checkpoint_begin(durable *d); /* goes on in the background */
bool durable_checkpoint_now(durable *d);

typedef struct {
  uint64_t position, committed, commits, checkpoint, log_bytes;
  bool checkpointing;
} durable_stats;
void durable_stats_read(durable *d, durable_stats *out);

/* Adds CSV to a list, as a load does. */
pure_status durable_load(pure_store *store, const char *list, const char *bytes, size_t length,
                         pure_duplicates duplicates, uint64_t *rows, pure_error *e);

/* Fills a new and empty store with what is kept, and leaves the folder as it is; also while a
 * server is at work in it. */
bool durable_read(const char *dir, pure_program *program, pure_store *store, durable_say say,
                  void *user, durable_error *e);

typedef struct {
  uint64_t position, digest, replayed;
  unsigned checkpoints; /* whose digests the replay came to */
} durable_verified;
/* Reads everything and replays from the oldest checkpoint there is. */
bool durable_verify(const char *dir, pure_engine *engine, durable_say say, void *user,
                    durable_verified *out, durable_error *e);

#endif
