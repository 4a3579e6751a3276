/* host/lib/host_int.h - what the files of host/lib share.  Not for other folders.
 *
 *   host_error.c     statuses, messages
 *   host_handle.c    what every handle begins with
 *   host_value.c     values to and from text
 *   host_engine.c host_program.c host_store.c host_session.c host_result.c   the handles
 *   host_extern*.c   host functions
 *   host_watch.c     progress and time of a call
 *   host_fill.c      rows from columns
 *   host_arrow*.c    columns from and to the Arrow C data interface
 *   host_import*.c   rows from CSV, TSV, edge lists
 *   host_snap*.c     snapshot files
 *   host_file.c      files replaced as a whole
 *   host_unnamed.c   files without a name
 *   host_environment.c  variables of the environment
 *   host_write.c     results as CSV, TSV, JSON
 *   host_counters*.c what the processor counts
 *
 * Every handle is counted.  Holds go one way, so they cannot form a ring:
 *   result -> session -> snapshot -> store -> program -> engine;  fill, import -> store;
 *   counters -> engine
 */
#ifndef PURE_HOST_INT_H
#define PURE_HOST_INT_H

#include <pure/pure.h>

#include <pthread.h>
#include <stdatomic.h>

#include "vm/vm.h"
#include "vm/vm_tier.h"

#define HOST_CALL_CHARS 256 /* of a host function's fault */

typedef enum {
  HOST_ENGINE = 1,
  HOST_PROGRAM,
  HOST_STORE,
  HOST_SNAPSHOT,
  HOST_SESSION,
  HOST_RESULT,
  HOST_FILL,
  HOST_IMPORT,
  HOST_COUNTERS
} host_kind;

/* First in every handle.  refs: the caller's while state says open, and those of other handles. */
typedef struct host_handle {
  _Atomic uint32_t state;
  _Atomic long refs;
  struct host_handle *next; /* buried after it */
  size_t bytes;             /* of the whole handle */
} host_handle;

struct pure_engine {
  host_handle head;
  pthread_mutex_t graves; /* over the next three */
  host_handle *first_grave, *last_grave;
  unsigned buried;
  ls_mem *mem;
  ls_policy policy;
  pure_limits limits;
  pure_jit jit;
  vm_tier *tier;       /* NULL: interpreter only */
  uint64_t max_memory; /* 0: unlimited */
};

typedef struct host_extern host_extern;
typedef struct host_library host_library;

/* externs: as many as the module has, or NULL.  binding: who may change them. */
struct pure_program {
  host_handle head;
  pure_engine *engine;
  vm_module *module;
  _Atomic int binding;
  host_extern *externs;
  host_library *libraries;
};

/* What a call is told and stopped by: host_watch.c. */
typedef struct {
  pure_progress progress; /* or NULL */
  void *user;
  uint64_t every, next; /* work */
  uint64_t deadline_ns; /* 0: none */
  uint64_t next_ns;     /* progress is told then at the latest */
  uint64_t told;        /* work, at the last look */
  uint64_t tick_ns;     /* of the coarse clock, at the last look after a host function */
  bool late;
} host_watch;

/* busy: a call is at work on it.  epoch grows with each call that may have made texts known to
 * someone, so that a failed fill knows whether it may forget its own. */
struct pure_store {
  host_handle head;
  _Atomic int busy;
  _Atomic long snapshots;
  _Atomic long fills;
  uint64_t epoch;
  pure_program *program;
  vm_link *link;
};

struct pure_snapshot {
  host_handle head;
  pure_store *store;
  ls_snapshot *lists;
};

struct pure_session {
  host_handle head;
  _Atomic int busy;
  _Atomic int cancel;
  pure_store *store;
  pure_snapshot *snapshot; /* or NULL: on the store itself */
  vm_context *cx;
  pure_result *live; /* the last call's, not held; NULL once stale or released */
  pure_limits limits;
  host_watch watch;
  vm_direct *direct;          /* and a pure_call for each behind it; or NULL */
  char said[HOST_CALL_CHARS]; /* by a host function that failed */
};

/* rows may be replaced by a copy that lies in order (host_result.c). */
struct pure_result {
  host_handle head;
  pure_session *session;
  bool stale;
  const vm_fn *fn;
  vm_result value;
  ls_cursor cursor;
  ls_row row;
  bool begun, on_row;
  bool headed, separated; /* host_write.c: what begins the text was written; and a row */
  uint64_t limit, given;  /* rows */
  uint8_t *place;         /* declared column -> schema column */
};

/* host_error.c.  Fills e (may be NULL) and returns status. */
pure_status host_fail(pure_error *e, pure_status status, const char *form, ...)
    __attribute__((format(printf, 3, 4)));
/* Likewise at a place in a file. */
pure_status host_fail_at(pure_error *e, pure_status status, const char *file, uint32_t line,
                         uint32_t column, const char *form, ...)
    __attribute__((format(printf, 6, 7)));
pure_status host_no_memory(pure_error *e);
/* Likewise where the engine's own limit may be what stands in the way. */
pure_status host_no_memory_of(const pure_engine *engine, pure_error *e);
/* For ls_status other than LS_OK. */
pure_status host_environment_read(ls_policy *policy, vm_tier_options *tier, pure_error *e);
pure_status host_environment_read_memory(ls_mem_options *memory, pure_error *e);
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

/* log2 of the bytes of a cell. */
static inline unsigned host_width(const pure_column *c) {
  return c->width == 1 ? 0 : c->width == 2 ? 1 : c->width == 4 ? 2 : 3;
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

/* The type, with the form that is wanted where its name alone does not tell. */
const char *host_value_form(ls_type type);
#define HOST_NO_DAY_CHARS 120
/* Why a number is no date. */
const char *host_value_no_day(int64_t days, char *out);

/* Counts; memory of handles comes from the engine. */
void *host_alloc(pure_engine *engine, size_t bytes); /* zeroed */
void host_free(pure_engine *engine, void *block, size_t bytes);

/* host_handle.c */
/* A zeroed handle, open, with the caller's reference; NULL: no memory. */
void *host_handle_new(pure_engine *engine, host_kind kind, size_t bytes);
void host_handle_init(host_handle *h, host_kind kind, size_t bytes);
/* Whether it is an open handle of that kind; NULL is none. */
#define HOST_OPEN UINT32_C(0x50720000) /* in `state`, with the kind */
static inline bool host_is(const void *handle, host_kind kind) {
  const host_handle *h = handle;
  return h && atomic_load_explicit(&h->state, memory_order_acquire) == (HOST_OPEN | (uint32_t)kind);
}
/* Closes it: true for the one call that did, which must let go of the caller's reference. */
bool host_close(void *handle, host_kind kind);
void *host_hold(void *handle);
/* True where that was the last reference.  NULL is fine. */
bool host_let_go(void *handle);
/* Frees the handle's own memory, some time. */
void host_bury(pure_engine *engine, void *handle);
void host_clear_graves(pure_engine *engine);

/* A parameter of a public function: a handle, or what may not be NULL. */
#define HOST_POINTER ((host_kind)0)
typedef struct {
  const char *name;
  const void *value;
  host_kind kind;
} host_param;
/* Says what is wrong with the first of them that is not as it has to be. */
pure_status host_misuse(pure_error *e, const char *function, const host_param *params, size_t n);
/* A function as what is looked at for NULL alone. */
static inline const void *host_pointer(void (*function)(void)) {
  return (const void *)(uintptr_t)function;
}
#define HOST_MISUSE(e, function, ...)                                                              \
  host_misuse(e, function, (const host_param[]){__VA_ARGS__},                                      \
              sizeof((const host_param[]){__VA_ARGS__}) / sizeof(host_param))

/* Give one reference back, whatever the state.  NULL is fine. */
void host_engine_drop(pure_engine *engine);
void host_program_drop(pure_program *program);
void host_store_drop(pure_store *store);
void host_snapshot_drop(pure_snapshot *snapshot);
void host_session_drop(pure_session *session);

/* host_store.c.  False: someone else is at work. */
bool host_store_enter(pure_store *store);
void host_store_leave(pure_store *store);
pure_status host_busy(pure_error *e, const char *function, const char *what);
ls_mem *host_store_mem(const pure_store *store);
pure_status host_store_find(pure_store *store, const char *list, uint32_t *number, pure_error *e);
const ls_schema *host_store_schema(const pure_store *store, uint32_t list);
/* place[i]: the schema column of declared column i. */
void host_schema_places(const ls_schema *schema, uint8_t *place);
/* Drops the rows of a session's last result; inside the session's enter. */
void host_result_expire(pure_result *result);

/* host_extern.c, host_extern_call.c.  seal: no more bindings; false: one is being made. */
bool host_externs_seal(pure_program *program);
void host_externs_free(pure_program *program);
/* The session's context calls the functions that are bound.  False: no memory. */
bool host_externs_join(pure_session *session);
void host_externs_leave(pure_session *session);
/* Whether what compiled code calls is looked at after each return; any thread may ask for it. */
void host_externs_note(pure_session *session, bool watched);

/* host_watch.c.  A call of the session begins; its context is told to look, where need be. */
void host_watch_begin(pure_session *session);
bool host_watch_is_on(const pure_session *session);
/* A host function has returned, which may have taken any time. */
void host_watch_returned(pure_session *session);

/* host_fill.c: with raw cells, for imports and snapshot files.  column: of the schema. */
ls_builder *host_fill_builder(pure_fill *fill);
pure_engine *host_fill_engine(const pure_fill *fill);
/* n cells of the schema's column. */
ls_status host_fill_append(pure_fill *fill, uint32_t column, const int64_t *cells, size_t n);
/* The fill can only be released from now on. */
void host_fill_fail(pure_fill *fill);
pure_status host_fill_usable(const pure_fill *fill, const char *function, pure_error *e);
ls_status host_fill_intern(pure_fill *fill, const char *bytes, size_t length, int64_t *id);
/* As pure_fill_finish, but says which rows are alike instead of a message: PURE_BAD_DATA with
 * *first UINT64_MAX where that row was in the list before. */
pure_status host_fill_finish(pure_fill *fill, const char *function, pure_duplicates duplicates,
                             uint64_t *later, uint64_t *first, pure_error *e);
const ls_schema *host_fill_schema(const pure_fill *fill);

/* host_file.c.  A file being written beside the one it will replace.  name: as the caller gave it,
 * borrowed until the end. */
typedef struct {
  int fd;
  bool direct;  /* a device or a pipe: written in place */
  bool unnamed; /* gets its name at the end */
  const char *name;
  char *path, *temporary; /* temporary NULL: none, or it has no name yet */
  size_t path_bytes, temporary_bytes;
  pure_engine *engine;
  int error; /* errno of the first failure */
} host_file;
pure_status host_file_open(host_file *f, pure_engine *engine, const char *path, pure_error *e);
bool host_file_write(host_file *f, const void *bytes, size_t n);
/* Makes it the file at path, or fails and removes it. */
pure_status host_file_commit(host_file *f, pure_error *e);
void host_file_abandon(host_file *f);
/* host_unnamed.c.  -1: cannot be had here. */
int host_unnamed_open(const char *folder, unsigned mode);
bool host_unnamed_link(int fd, const char *path); /* false: errno says why */
/* The whole file; *bytes from host_alloc of *capacity bytes. */
pure_status host_file_read(pure_engine *engine, const char *path, uint8_t **bytes, size_t *length,
                           size_t *capacity, pure_error *e);

/* host_snap_write.c */
pure_status host_snap_write(pure_store *store, ls_snapshot *lists, const char *path, pure_error *e);

#endif
