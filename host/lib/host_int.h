/* host/lib/host_int.h - what the files of host/lib share.  Not for other folders.
 *
 *   host_error.c     statuses, messages
 *   host_value.c     values to and from text
 *   host_engine.c host_program.c host_store.c host_session.c host_result.c   the handles
 *   host_fill.c      rows from columns
 *   host_import*.c   rows from CSV, TSV, edge lists
 *   host_snap*.c     snapshot files
 *   host_file.c      files replaced as a whole
 *   host_write.c     results as CSV, TSV, JSON
 *
 * Every handle is counted.  Holds go one way, so they cannot form a ring:
 *   result -> session -> snapshot -> store -> program -> engine;  fill, import -> store
 */
#ifndef PURE_HOST_INT_H
#define PURE_HOST_INT_H

#include <pure/pure.h>

#include <stdatomic.h>

#include "vm/vm.h"
#include "vm/vm_tier.h"

struct pure_engine {
  _Atomic long refs;
  ls_mem *mem;
  ls_policy policy;
  pure_limits limits;
  pure_jit jit;
  vm_tier *tier; /* NULL: interpreter only */
};

struct pure_program {
  _Atomic long refs;
  pure_engine *engine;
  vm_module *module;
};

/* busy: a call is at work on it.  epoch grows with each call that may have made texts known to
 * someone, so that a failed fill knows whether it may forget its own. */
struct pure_store {
  _Atomic long refs;
  _Atomic int busy;
  _Atomic long snapshots;
  _Atomic long fills;
  uint64_t epoch;
  pure_program *program;
  vm_link *link;
};

struct pure_snapshot {
  _Atomic long refs;
  pure_store *store;
  ls_snapshot *lists;
};

struct pure_session {
  _Atomic long refs;
  _Atomic int busy;
  _Atomic int cancel;
  pure_store *store;
  pure_snapshot *snapshot; /* or NULL: on the store itself */
  vm_context *cx;
  pure_result *live; /* the last call's, not held; NULL once stale or released */
};

/* rows may be replaced by a copy that lies in order (host_result.c). */
struct pure_result {
  pure_session *session;
  bool stale;
  const vm_fn *fn;
  vm_result value;
  ls_cursor cursor;
  ls_row row;
  bool begun, on_row;
  uint8_t *place; /* declared column -> schema column */
};

/* host_error.c.  Fills e (may be NULL) and returns status. */
pure_status host_fail(pure_error *e, pure_status status, const char *form, ...)
    __attribute__((format(printf, 3, 4)));
/* Likewise at a place in a file. */
pure_status host_fail_at(pure_error *e, pure_status status, const char *file, uint32_t line,
                         uint32_t column, const char *form, ...)
    __attribute__((format(printf, 6, 7)));
pure_status host_no_memory(pure_error *e);
/* For ls_status other than LS_OK. */
pure_status host_fail_list(pure_error *e, ls_status status);
/* bytes as a quoted text for messages: control and broken bytes escaped, long ones cut short. */
void host_quote(const char *bytes, size_t length, char *out, size_t n);
#define HOST_QUOTE_CHARS 80
/* The name most like `name`, or NULL; names: count of them. */
const char *host_suggest(const char *name, size_t length, const char *const *names, size_t count);

/* Whether a struct that begins with its size is of this header, or the shorter one of an older. */
static inline bool host_sized(size_t size, size_t now) {
  return size >= sizeof size && size <= now;
}

static inline pure_type host_type(ls_type type) { return (pure_type)(type + 1); }

/* host_value.c */
/* Byte offset of the first byte that is not UTF-8, or length. */
size_t host_utf8_check(const char *bytes, size_t length);
typedef enum { HOST_PARSED, HOST_MALFORMED, HOST_OUT_OF_RANGE } host_parsed;
/* Any type but text. */
host_parsed host_value_scan(ls_type type, const char *bytes, size_t length, ls_val *out);
/* Any type but text; at most PURE_VALUE_CHARS - 1 characters, no final 0. Returns how many. */
size_t host_value_spell(ls_type type, ls_val value, char *out);

/* Counts; memory of handles comes from the engine. */
void *host_alloc(pure_engine *engine, size_t bytes); /* zeroed */
void host_free(pure_engine *engine, void *block, size_t bytes);
pure_engine *host_engine_hold(pure_engine *engine);
pure_program *host_program_hold(pure_program *program);
pure_store *host_store_hold(pure_store *store);
pure_snapshot *host_snapshot_hold(pure_snapshot *snapshot);
pure_session *host_session_hold(pure_session *session);

/* host_store.c.  False: someone else is at work. */
bool host_store_enter(pure_store *store);
void host_store_leave(pure_store *store);
pure_status host_busy(pure_error *e);
ls_mem *host_store_mem(const pure_store *store);
pure_status host_store_find(pure_store *store, const char *list, uint32_t *number, pure_error *e);
const ls_schema *host_store_schema(const pure_store *store, uint32_t list);
/* place[i]: the schema column of declared column i. */
void host_schema_places(const ls_schema *schema, uint8_t *place);
/* Drops the rows of a session's last result; inside the session's enter. */
void host_result_expire(pure_result *result);

/* host_fill.c: with raw cells, for imports and snapshot files.  column: of the schema. */
ls_builder *host_fill_builder(pure_fill *fill);
ls_status host_fill_intern(pure_fill *fill, const char *bytes, size_t length, int64_t *id);
/* As pure_fill_finish, but says which rows are alike instead of a message: PURE_BAD_DATA with
 * *first UINT64_MAX where that row was in the list before. */
pure_status host_fill_finish(pure_fill *fill, pure_duplicates duplicates, uint64_t *later,
                             uint64_t *first, pure_error *e);
const ls_schema *host_fill_schema(const pure_fill *fill);

/* host_file.c.  A file being written beside the one it will replace.  name: as the caller gave it,
 * borrowed until the end. */
typedef struct {
  int fd;
  bool direct; /* a device or a pipe: written in place */
  const char *name;
  char *path, *temporary;
  size_t path_bytes, temporary_bytes;
  pure_engine *engine;
  int error; /* errno of the first failure */
} host_file;
pure_status host_file_open(host_file *f, pure_engine *engine, const char *path, pure_error *e);
bool host_file_write(host_file *f, const void *bytes, size_t n);
/* Makes it the file at path, or fails and removes it. */
pure_status host_file_commit(host_file *f, pure_error *e);
void host_file_abandon(host_file *f);
/* The whole file; *bytes from host_alloc of *capacity bytes. */
pure_status host_file_read(pure_engine *engine, const char *path, uint8_t **bytes, size_t *length,
                           size_t *capacity, pure_error *e);

/* host_snap_write.c */
pure_status host_snap_write(pure_store *store, ls_snapshot *lists, const char *path, pure_error *e);

#endif
