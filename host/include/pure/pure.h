/* pure.h - the public C API of Pure, an embeddable query VM.
 *
 *   engine    memory, limits, policy           pure_engine_*
 *   program   compiled lists, queries, events  pure_program_*     made by an engine
 *   store     the data of a program's lists    pure_store_*       made from a program
 *   fill      rows on their way into a list    pure_fill_*        from columns in memory
 *   import    likewise, from CSV, TSV or edges pure_import_*      from pieces of text
 *   snapshot  a store at one moment, read-only pure_snapshot_*    made from a store
 *   session   one thread's calls               pure_session_*     on a store or on a snapshot
 *   result    what a call answered             pure_result_*
 *   binding   a C function for an extern fn    pure_bind, pure_call_*
 *
 * A whole host program, without its error checks:
 *
 *   pure_engine_new(NULL, &engine, &error);
 *   pure_program_compile(engine, "bfs.pure", text, length, NULL, NULL, &program, &error);
 *   pure_store_new(program, &store, &error);
 *   pure_fill_new(store, "edges", &fill, &error);
 *   pure_fill_ints(fill, 0, from, n, &error);
 *   pure_fill_ints(fill, 1, to, n, &error);
 *   pure_fill_finish(fill, PURE_DUPLICATE_ERROR, &error);
 *   pure_session_new(store, &session, &error);
 *   pure_value start = pure_int(1);
 *   pure_session_call(session, "bfs", &start, 1, &result, &error);
 *   while (pure_result_next(result))
 *     printf("%lld %lld\n", (long long)pure_result_get(result, 0).as.i,
 *            (long long)pure_result_get(result, 1).as.i);
 *
 * Ownership.  A handle that a function hands out through an `out` parameter belongs to the caller,
 * who gives it back with the release function of its kind.  Handles hold what they were made from:
 * releases are right in any order.  Releasing NULL does nothing.  Pointers passed in are borrowed
 * for the call only, unless said otherwise.
 *
 * Errors.  A function that can fail returns a pure_status.  Its last parameter is a pure_error of
 * the caller's, or NULL; it is written when the status is not PURE_OK, and left alone otherwise.
 * On failure every out parameter is set to NULL or 0 and nothing has changed.  A NULL handle, a
 * number out of range and the like are PURE_MISUSE, in every build; so is a handle that was
 * released, until 64 more of its engine were, or the last one was.  Nothing here prints, exits,
 * aborts, throws, installs signal handlers or keeps global state, and every failed allocation comes
 * back as PURE_NO_MEMORY.
 *
 * Threads.  Engines, programs and snapshots may be used by any number of threads at once.  A store
 * may be used from any thread, by one at a time: a call that finds another one at work on the store
 * returns PURE_BUSY and does nothing.  So does a session.  A result belongs with its session: they
 * are used by one thread at a time.  Fills and imports belong to one thread at a time each; several
 * of one store may be filled at once.
 *
 * Units.  Sizes are bytes, positions in a text count from 1 (lines, and characters in a line), rows
 * and columns count from 0, columns go by the order of their declaration.  Work is counted in
 * units of the instruction table and is the same on every machine.
 *
 * Names of lists, functions and columns are 0-terminated; other texts come with their length.
 * All texts are UTF-8.
 */
#ifndef PURE_PURE_H
#define PURE_PURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PURE_VERSION_MAJOR 0
#define PURE_VERSION_MINOR 2
#define PURE_VERSION_PATCH 0
#define PURE_VERSION "0.2.0"

#if defined(__GNUC__)
#define PURE_API __attribute__((visibility("default")))
#define PURE_NODISCARD __attribute__((warn_unused_result))
#else
#define PURE_API
#define PURE_NODISCARD
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Of the library that runs, "major.minor.patch"; PURE_VERSION is that of this header. */
PURE_API const char *pure_version(void);

/* Errors */

typedef enum {
  PURE_OK,
  PURE_FAULT,        /* the program faulted; pure_error.fault says how */
  PURE_BAD_PROGRAM,  /* source text or module with errors */
  PURE_BAD_DATA,     /* a value, row or file that does not fit the list */
  PURE_BAD_ARGUMENT, /* arguments of a call: number, type or spelling */
  PURE_NOT_FOUND,    /* no list, function or column of that name */
  PURE_TOO_LARGE,    /* more rows than a list can hold, or the like */
  PURE_NO_MEMORY,
  PURE_IO,          /* a file could not be read or written */
  PURE_MISUSE,      /* the host called this function wrongly */
  PURE_BUSY,        /* the store or session is in use by another call */
  PURE_STALE,       /* the result of a session that was called again since */
  PURE_UNSUPPORTED, /* not in this build */
  PURE_NSTATUS
} pure_status;

/* How a program faulted. */
typedef enum {
  PURE_FAULT_NONE,
  PURE_FAULT_OVERFLOW,
  PURE_FAULT_DIV_ZERO,
  PURE_FAULT_MISSING,
  PURE_FAULT_DUPLICATE,
  PURE_FAULT_CONVERSION,
  PURE_FAULT_DELETED,
  PURE_FAULT_WORK,
  PURE_FAULT_MEMORY,
  PURE_FAULT_DEPTH,
  PURE_FAULT_HOST,
  PURE_FAULT_RAISED,
  PURE_FAULT_CANCELLED,
  PURE_NFAULTS
} pure_fault;

/* message is one line, or several for a program's errors; file is "" where there is none. */
typedef struct pure_error {
  pure_status status;
  pure_fault fault;
  uint32_t line;   /* 0: unknown */
  uint32_t column; /* 0: unknown */
  char file[256];
  char message[768];
} pure_error;

/* "bad data": a static text. */
PURE_API const char *pure_status_name(pure_status status);
PURE_API const char *pure_fault_name(pure_fault fault);
/* "file:line:column: message", as much of it as is known.  Writes at most n bytes with the final 0,
 * returns the full length. */
PURE_API size_t pure_error_format(const pure_error *error, char *out, size_t n);

/* Values */

typedef enum {
  PURE_NOTHING,
  PURE_INT,  /* as.i */
  PURE_REAL, /* as.r */
  PURE_BOOL, /* as.i: 0 or 1 */
  PURE_TEXT, /* as.t, length; not 0-terminated */
  PURE_DATE, /* as.i: days since 0001-01-01, 0 .. PURE_DATE_MAX */
  PURE_NTYPES
} pure_type;

#define PURE_DATE_MAX 3652058 /* 9999-12-31 */
#define PURE_DATE_UNIX 719162 /* 1970-01-01 */
#define PURE_VALUE_CHARS 32   /* enough for any value but a text, with the final 0 */

typedef struct pure_value {
  pure_type type;
  size_t length; /* of a text */
  union {
    int64_t i;
    double r;
    const char *t;
  } as;
} pure_value;

PURE_API pure_value pure_int(int64_t i);
PURE_API pure_value pure_real(double r);
PURE_API pure_value pure_bool(bool b);
/* Borrows the bytes. */
PURE_API pure_value pure_text(const char *bytes, size_t length);
PURE_API pure_value pure_date(int64_t days);

/* "int" and so on: a static text. */
PURE_API const char *pure_type_name(pure_type type);
/* The value that a text spells in full: int -12, real 1.5e3, bool true false 1 0, date 1998-09-02,
 * text anything that is UTF-8 (borrows it).  PURE_BAD_ARGUMENT says what was expected. */
PURE_API PURE_NODISCARD pure_status pure_value_parse(pure_type type, const char *bytes,
                                                     size_t length, pure_value *out,
                                                     pure_error *error);
/* Spells a value as pure_value_parse reads it; reals with the fewest digits that read back as the
 * same real.  Writes at most n bytes with the final 0, returns the full length. */
PURE_API size_t pure_value_format(const pure_value *value, char *out, size_t n);

/* Engine */

typedef struct pure_engine pure_engine;

/* Memory of the host.  alloc: `bytes` aligned to 64 bytes, or NULL; called by any thread. */
typedef struct pure_memory_hooks {
  void *(*alloc)(void *user, size_t bytes);
  void (*free)(void *user, void *block, size_t bytes);
  void *user;
} pure_memory_hooks;

/* How lists get their memory where the host gives no hooks; docs/memory.md.  Set size to
 * sizeof(pure_memory_options); 0 is the default of every other field. */
typedef struct pure_memory_options {
  size_t size;
  void *buffer; /* everything comes from here and from nowhere else; NULL: from the system.
                 * Borrowed until the engine and all that was made from it are released.  Needs
                 * jit = PURE_JIT_0.  A call that finds it full faults: memory exhausted */
  size_t buffer_bytes;
  bool no_runs;         /* malloc instead of runs of pages */
  bool no_huge_pages;   /* do not ask the system for them */
  uint32_t decay_ms;    /* unused pages go back after about so long; default 100 */
  uint64_t lifo_bytes;  /* freed blocks that a thread keeps whole; default 16 MB */
  uint32_t outbox;      /* frees for another thread sent together: 1 .. 7; default 7 */
  uint32_t inbox;       /* slots for frees by other threads: 1 .. 64; default 64 */
  uint64_t cache_bytes; /* mapped blocks kept for reuse; default 32 MB */
  uint64_t sample;      /* time one in so many allocations; default none */
} pure_memory_options;

/* Of one call; 0: the default.  Exhausting one is a fault, the same on every machine. */
typedef struct pure_limits {
  uint64_t work; /* units; default unlimited */
  uint64_t
      memory; /* logical bytes of lists, texts and calls inside one another; default unlimited */
  uint32_t depth;        /* calls inside one another; default 1000 */
  uint32_t milliseconds; /* of time; default unlimited.  This one alone falls anywhere: the fault is
                            PURE_FAULT_CANCELLED, some milliseconds late */
} pure_limits;

typedef enum {
  PURE_JIT_AUTO,
  PURE_JIT_0, /* interpreter only */
  PURE_JIT_1,
  PURE_JIT_2,
  PURE_JIT_3
} pure_jit;

/* What a compile looks like, in texts for people. */
enum { PURE_DUMP_IR = 1, PURE_DUMP_LLVM = 2, PURE_DUMP_ASM = 4 };

/* Both are called on whatever thread compiles, one at a time; texts are borrowed. */
typedef struct pure_jit_watch {
  void *user;
  /* A line about each decision; may be NULL. */
  void (*log)(void *user, const char *line);
  /* kind: "ir", "llvm", "asm"; may be NULL. */
  void (*dump)(void *user, const char *region, const char *kind, const char *text, size_t length);
  uint32_t dump_kinds;       /* PURE_DUMP_ bits */
  const char *dump_function; /* of that function alone; NULL: all */
} pure_jit_watch;

/* What the compiled tiers do; as the variables PURE_JIT_* of docs/environment.md, which win where
 * the engine reads the environment.  Nothing here changes an answer, a fault or the work charged.
 */
typedef struct pure_jit_options {
  size_t size;            /* sizeof(pure_jit_options) */
  uint64_t threshold;     /* work a loop or function does before it is compiled; 0: default */
  uint32_t prefetch;      /* rows ahead that compiled loops prefetch; 0: by machine */
  const char *plugin_dir; /* the only folder where the plug-in is looked for; NULL: beside
                           * the library or program, in ../lib/pure, and where it is installed */
  const char *cache_dir;  /* folder where compiled code is kept between processes; NULL: none */
  bool verify;            /* check the code of a region after every pass */
  bool check;             /* replay on the interpreter what compiled code did, and compare */
  bool perf_map, perf_dump, gdb; /* tell perf and gdb of compiled loops */
  uint64_t stress; /* for tests: leave compiled code at random, by this seed; 0: do not */
} pure_jit_options;

/* Set size to sizeof(pure_engine_options) and the rest to 0 for the defaults. */
typedef struct pure_engine_options {
  size_t size;
  const pure_memory_hooks *memory; /* NULL: the system's; copied */
  pure_limits limits;              /* of every new session */
  pure_jit jit;                    /* highest tier wanted; pure_engine_jit: the one there is */
  uint32_t threads;                /* that compile in the background; 0: default */
  bool environment;            /* read PURE_LIST_*, PURE_MEM_*, PURE_JIT_* (docs/environment.md) */
  bool jit_sync;               /* compile at once, in the thread that calls: it waits */
  const pure_jit_watch *watch; /* NULL: nobody; copied */
  const pure_jit_options *tiers; /* NULL: the defaults; copied */
  uint64_t max_memory; /* real bytes of everything that the engine's handles hold; 0: unlimited.
                          What would need more fails with PURE_NO_MEMORY or PURE_FAULT_MEMORY, at
                          no fixed place; limits.memory is what faults alike everywhere */
  const pure_memory_options *list_memory; /* NULL: the defaults; copied */
} pure_engine_options;

/* options may be NULL: the defaults. */
PURE_API PURE_NODISCARD pure_status pure_engine_new(const pure_engine_options *options,
                                                    pure_engine **out, pure_error *error);
PURE_API void pure_engine_release(pure_engine *engine);
/* "auto", "interpreter", "level 1" .. "level 3": a static text. */
PURE_API const char *pure_jit_name(pure_jit jit);
/* The highest tier that programs can reach here, after options and what is installed. */
PURE_API pure_jit pure_engine_jit(const pure_engine *engine);

typedef struct pure_jit_stats {
  size_t size;        /* sizeof(pure_jit_stats), set by the caller */
  const char *plugin; /* the file that was loaded; NULL: none, or none yet.  Lives as long as the
                         engine */
  const char *llvm;   /* its version of LLVM, or NULL; likewise */
  const char *reason; /* why nothing can be compiled; NULL: it can.  Likewise */
  uint64_t waiting;   /* compiles under way */
  uint64_t compiled, refused, dropped;
  uint64_t cached;     /* regions that came from the cache instead */
  uint64_t code_bytes; /* held now */
  uint64_t compile_ns; /* processor time of all compiles */
  uint64_t heap_bytes; /* of LLVM, about: what the heap grew by beside Pure since LLVM was there */
  uint64_t debug_objects, debug_bytes; /* registered for gdb */
} pure_jit_stats;
PURE_API void pure_engine_jit_stats(const pure_engine *engine, pure_jit_stats *out);

typedef struct pure_memory_stats {
  uint64_t live_bytes; /* held now by everything of the engine */
  uint64_t peak_bytes;
  uint64_t allocations;
  uint64_t frees;
} pure_memory_stats;
PURE_API void pure_engine_memory(const pure_engine *engine, pure_memory_stats *out);

/* One thing that is counted; past the last: PURE_NOT_FOUND (the numbers 0, 1, 2 ... are a loop). */
typedef struct pure_memory_counter {
  const char *meaning; /* a static text */
  uint64_t value;
} pure_memory_counter;
PURE_API PURE_NODISCARD pure_status pure_engine_memory_counter(const pure_engine *engine,
                                                               uint32_t counter,
                                                               pure_memory_counter *out);

/* Gives the system back what no list needs now: of the thread that calls, of ended threads, and
 * what no thread has.  For a host that will be idle; busy threads do the like now and then. */
PURE_API void pure_engine_park(pure_engine *engine);

/* For tests: the n-th allocation from now fails (1: the next), and all after it when `sticky`.
 * 0 turns it off. */
PURE_API void pure_engine_fail_after(pure_engine *engine, uint64_t n, bool sticky);

/* Counters */

typedef enum {
  /* Of the processor, in user space alone; the first four are on together, and so are the others.
   */
  PURE_COUNTER_CYCLES,
  PURE_COUNTER_INSTRUCTIONS,
  PURE_COUNTER_BRANCHES,
  PURE_COUNTER_BRANCH_MISSES,
  PURE_COUNTER_L1D_LOADS,
  PURE_COUNTER_L1D_MISSES,
  PURE_COUNTER_LLC_LOADS,
  PURE_COUNTER_LLC_MISSES,
  /* Of the system; there on every machine. */
  PURE_COUNTER_TASK_CLOCK, /* nanoseconds of processor time */
  PURE_COUNTER_PAGE_FAULTS,
  PURE_COUNTER_CONTEXT_SWITCHES,
  PURE_NCOUNTERS
} pure_counter;

typedef struct pure_counters pure_counters;

typedef struct pure_count {
  size_t size;      /* sizeof(pure_count), set by the caller */
  const char *name; /* "cycles" and so on: a static text */
  bool counted;     /* false: reason says why not, and value says nothing */
  uint64_t value;   /* since they were made; scaled up where share is below 1 */
  double share;     /* of the time counted in which it had a place on the processor; 1: all */
  char reason[160];
} pure_count;

/* Counters of the calling thread, which alone may start, stop and read them; off.  What the machine
 * does not count is no error: pure_counters_read tells. */
PURE_API PURE_NODISCARD pure_status pure_counters_new(pure_engine *engine, pure_counters **out,
                                                      pure_error *error);
PURE_API void pure_counters_release(pure_counters *counters);
/* What happens between a start and a stop is counted, and added to what was counted before. */
PURE_API void pure_counters_start(pure_counters *counters);
PURE_API void pure_counters_stop(pure_counters *counters);
/* While they are off.  Past the last counter: PURE_NOT_FOUND, without an error text. */
PURE_API PURE_NODISCARD pure_status pure_counters_read(const pure_counters *counters,
                                                       pure_counter which, pure_count *out);

/* Program */

typedef struct pure_program pure_program;

/* One error of a source text.  Everything is borrowed for the call. */
typedef struct pure_diagnostic {
  uint32_t line, column;
  uint32_t width;        /* characters the error spans */
  const char *message;   /* what is wrong and what was expected */
  const char *hint;      /* a suggestion, or "" */
  const char *formatted; /* several lines: position, message, the line with a caret, hint */
} pure_diagnostic;
typedef void (*pure_report)(void *user, const pure_diagnostic *diagnostic);

/* Compiles a source text.  name: for messages; copied.  report (may be NULL) gets each error in
 * the order of the text; the pure_error has the first. */
PURE_API PURE_NODISCARD pure_status pure_program_compile(pure_engine *engine, const char *name,
                                                         const char *text, size_t length,
                                                         pure_report report, void *user,
                                                         pure_program **out, pure_error *error);
/* Whether bytes begin like a module, and not like a source text. */
PURE_API bool pure_program_is_module(const void *bytes, size_t length);
/* Loads and verifies a module; no bytes, however wrong, do harm. */
PURE_API PURE_NODISCARD pure_status pure_program_load(pure_engine *engine, const char *name,
                                                      const void *bytes, size_t length,
                                                      pure_program **out, pure_error *error);
PURE_API void pure_program_release(pure_program *program);

/* Gets text or bytes piece by piece; returns false to stop (PURE_IO). */
typedef bool (*pure_write)(void *user, const void *bytes, size_t n);
/* The module's bytes. */
PURE_API PURE_NODISCARD pure_status pure_program_write(const pure_program *program,
                                                       pure_write write, void *user,
                                                       pure_error *error);
/* Likewise into a file, as pure_store_save does. */
PURE_API PURE_NODISCARD pure_status pure_program_save(const pure_program *program, const char *path,
                                                      pure_error *error);
/* Bytecode as text; function NULL: of all. */
PURE_API PURE_NODISCARD pure_status pure_program_disasm(const pure_program *program,
                                                        const char *function, pure_write write,
                                                        void *user, pure_error *error);

/* Host functions.
 *
 * A program calls C functions that it declares as `extern fn`, once they were bound:
 *
 *   static double half(pure_call *call, double x) { return x / 2; }
 *   pure_binding b = {"pure extern fn half(real): real", (pure_function)half, NULL};
 *   pure_bind(program, &b, 1, &error);
 *
 * The first parameter is the call; then one for each of the declaration, int and date as int64_t,
 * real as double, bool as bool, text as pure_string; the result likewise.  A text that is passed is
 * valid until the function returns; one that is returned is copied at once.
 *
 * A function that is bound as `pure` answers from its arguments alone and may be called by several
 * threads at once.  The others are called by events only, on the thread of the event; a fault later
 * in the event does not undo what they did.  Host functions may use other stores and sessions; on
 * those of the call they get PURE_BUSY.  They must return: no longjmp, no exception. */

typedef struct pure_call pure_call;
typedef void (*pure_function)(void);

typedef struct pure_string {
  const char *bytes; /* UTF-8, not 0-terminated */
  size_t length;
} pure_string;

typedef struct pure_binding {
  const char *declaration; /* "pure extern fn half(real): real"; parameters may have names */
  pure_function function;  /* cast to it; its type must be what the declaration says */
  void *user;              /* see pure_call_user; must live as long as the program */
} pure_binding;

/* Binds functions to the extern fns of those names, before the program's first store is made.  What
 * the program does not declare is passed over; what it declares with other types, or as pure where
 * the binding is not, is PURE_BAD_ARGUMENT and nothing is bound.  An extern fn that stays unbound
 * faults when it is called.  The texts are borrowed for the call. */
PURE_API PURE_NODISCARD pure_status pure_bind(pure_program *program, const pure_binding *bindings,
                                              size_t n, pure_error *error);

/* Likewise with the bindings of a shared object, which stays loaded as long as the program.  It has
 * a function `const pure_binding *pure_bindings(size_t *n)`.  path: as dlopen takes it; the code in
 * it can do anything that the process can. */
#define PURE_BINDINGS_SYMBOL "pure_bindings"
PURE_API PURE_NODISCARD pure_status pure_bind_library(pure_program *program, const char *path,
                                                      pure_error *error);

/* Inside a host function: its binding's `user`. */
PURE_API void *pure_call_user(const pure_call *call);
/* The call of the program faults with this message (PURE_FAULT_HOST) at the place where it called
 * the function, once it has returned; what it returns does not count.  Copied. */
PURE_API void pure_call_fault(pure_call *call, const char *message);
/* Adds to the work of the call, for what the function did.  Must depend on its arguments alone.  No
 * more than 2^40 units count for one call of a function. */
PURE_API void pure_call_charge(pure_call *call, uint64_t work);

/* What a program declares.  Texts live as long as the program. */
typedef struct pure_column_info {
  const char *name;
  pure_type type;
} pure_column_info;

typedef struct pure_list_info {
  const char *name;
  uint32_t ncolumns; /* see pure_program_list_column */
  uint32_t nkeys;    /* see pure_program_list_key */
} pure_list_info;

typedef enum { PURE_QUERY, PURE_EVENT } pure_function_kind;
typedef enum { PURE_RESULT_NOTHING, PURE_RESULT_VALUE, PURE_RESULT_ROWS } pure_result_kind;

typedef struct pure_function_info {
  const char *name;
  pure_function_kind kind;
  uint32_t nparameters; /* see pure_program_parameter */
  pure_result_kind result;
  pure_type value;   /* PURE_RESULT_VALUE: its type */
  uint32_t ncolumns; /* PURE_RESULT_ROWS: see pure_program_result_column */
} pure_function_info;

/* Stored lists, and queries and events, in the order of their declaration.  Past the end:
 * PURE_NOT_FOUND (the numbers 0, 1, 2 ... are a loop). */
PURE_API PURE_NODISCARD pure_status pure_program_list(const pure_program *program, uint32_t list,
                                                      pure_list_info *out);
PURE_API PURE_NODISCARD pure_status pure_program_list_column(const pure_program *program,
                                                             uint32_t list, uint32_t column,
                                                             pure_column_info *out);
/* The column number of key part `key`. */
PURE_API PURE_NODISCARD pure_status pure_program_list_key(const pure_program *program,
                                                          uint32_t list, uint32_t key,
                                                          uint32_t *column);
PURE_API PURE_NODISCARD pure_status pure_program_function(const pure_program *program,
                                                          uint32_t function,
                                                          pure_function_info *out);
PURE_API PURE_NODISCARD pure_status pure_program_parameter(const pure_program *program,
                                                           uint32_t function, uint32_t parameter,
                                                           pure_column_info *out);
PURE_API PURE_NODISCARD pure_status pure_program_result_column(const pure_program *program,
                                                               uint32_t function, uint32_t column,
                                                               pure_column_info *out);
PURE_API PURE_NODISCARD pure_status pure_program_find_list(const pure_program *program,
                                                           const char *name, uint32_t *list);
PURE_API PURE_NODISCARD pure_status pure_program_find_function(const pure_program *program,
                                                               const char *name,
                                                               uint32_t *function);

typedef struct pure_extern_info {
  const char *name;
  bool pure, bound;
  uint32_t nparameters; /* see pure_program_extern_parameter */
  pure_type result;     /* PURE_NOTHING: none */
} pure_extern_info;

/* The extern fns, likewise. */
PURE_API PURE_NODISCARD pure_status pure_program_extern(const pure_program *program,
                                                        uint32_t number, pure_extern_info *out);
PURE_API PURE_NODISCARD pure_status pure_program_extern_parameter(const pure_program *program,
                                                                  uint32_t number,
                                                                  uint32_t parameter,
                                                                  pure_column_info *out);

/* Store */

typedef struct pure_store pure_store;

/* In memory, every list empty. */
PURE_API PURE_NODISCARD pure_status pure_store_new(pure_program *program, pure_store **out,
                                                   pure_error *error);
PURE_API void pure_store_release(pure_store *store);

/* A hash of every list's rows: equal contents, equal digest, whatever the history. */
PURE_API PURE_NODISCARD pure_status pure_store_digest(pure_store *store, uint64_t *out,
                                                      pure_error *error);

/* Writes all lists into a snapshot file (docs/snapshot-format.md).  The file is replaced as a
 * whole: after any failure, a full disk included, the old one is as it was. */
PURE_API PURE_NODISCARD pure_status pure_store_save(pure_store *store, const char *path,
                                                    pure_error *error);
/* Replaces the contents of every list by those of a snapshot file.  The lists in the file must be
 * lists of the program, with the same columns and keys; the program's other lists become empty. */
PURE_API PURE_NODISCARD pure_status pure_store_load(pure_store *store, const char *path,
                                                    pure_error *error);
/* Likewise from memory; name: for messages. */
PURE_API PURE_NODISCARD pure_status pure_store_load_bytes(pure_store *store, const char *name,
                                                          const void *bytes, size_t length,
                                                          pure_error *error);
/* Whether bytes begin like a snapshot file. */
PURE_API bool pure_store_is_snapshot(const void *bytes, size_t length);

typedef struct pure_list_stats {
  size_t size; /* sizeof(pure_list_stats), set by the caller */
  const char *name;
  const char *layout; /* "array" and so on: a static text */
  uint64_t rows;
  uint64_t bytes;        /* held */
  uint64_t narrow_bytes; /* rows times the widths of the columns: what a perfect array would need */
  char widths[64];       /* bytes a column, "4,4,1"; 0: it takes none; ends with ".." if too long */
} pure_list_stats;
/* Past the last list: PURE_NOT_FOUND, without an error text. */
PURE_API PURE_NODISCARD pure_status pure_store_list_stats(pure_store *store, uint32_t list,
                                                          pure_list_stats *out);

/* Filling lists */

typedef struct pure_fill pure_fill;

typedef enum {
  PURE_DUPLICATE_ERROR, /* PURE_BAD_DATA, nothing is added */
  PURE_DUPLICATE_FIRST, /* the row that was there first stays */
  PURE_DUPLICATE_LAST   /* the last row counts */
} pure_duplicates;

/* Rows for the list of that name.  Columns are appended to in any order, in pieces of any size;
 * nothing is seen of them before pure_fill_finish. */
PURE_API PURE_NODISCARD pure_status pure_fill_new(pure_store *store, const char *list,
                                                  pure_fill **out, pure_error *error);
/* What was not finished is dropped. */
PURE_API void pure_fill_release(pure_fill *fill);

/* n values for the end of a column of that type; copied.  After an error the fill is of no more
 * use: other calls of it are PURE_MISUSE, and it still has to be released. */
PURE_API PURE_NODISCARD pure_status pure_fill_ints(pure_fill *fill, uint32_t column,
                                                   const int64_t *values, size_t n,
                                                   pure_error *error);
PURE_API PURE_NODISCARD pure_status pure_fill_ints32(pure_fill *fill, uint32_t column,
                                                     const int32_t *values, size_t n,
                                                     pure_error *error);
PURE_API PURE_NODISCARD pure_status pure_fill_reals(pure_fill *fill, uint32_t column,
                                                    const double *values, size_t n,
                                                    pure_error *error);
/* One byte a value, 0 or 1. */
PURE_API PURE_NODISCARD pure_status pure_fill_bools(pure_fill *fill, uint32_t column,
                                                    const uint8_t *values, size_t n,
                                                    pure_error *error);
/* Days since 0001-01-01. */
PURE_API PURE_NODISCARD pure_status pure_fill_dates(pure_fill *fill, uint32_t column,
                                                    const int32_t *values, size_t n,
                                                    pure_error *error);
/* Text i is the bytes offsets[i] .. offsets[i + 1] - 1; there are n + 1 offsets. */
PURE_API PURE_NODISCARD pure_status pure_fill_texts(pure_fill *fill, uint32_t column,
                                                    const char *bytes, const uint64_t *offsets,
                                                    size_t n, pure_error *error);
/* One row: a value for each column. */
PURE_API PURE_NODISCARD pure_status pure_fill_row(pure_fill *fill, const pure_value *values,
                                                  uint32_t n, pure_error *error);
/* Rows of an Arrow array (<pure/arrow.h> has the structs): a struct with a child for each column of
 * the list, by name; other children are passed over.  ints: any signed or unsigned ints; real:
 * float64, float32; bool; date: date32, date64; text: utf8, large utf8, or a dictionary of them.
 * Nulls are refused.  Both are borrowed: the caller releases them.  Sizes of buffers are not part
 * of the interface: they are trusted to be what the counts and offsets say. */
struct ArrowSchema;
struct ArrowArray;
struct ArrowArrayStream;
PURE_API PURE_NODISCARD pure_status pure_fill_arrow(pure_fill *fill,
                                                    const struct ArrowSchema *schema,
                                                    const struct ArrowArray *array,
                                                    pure_error *error);
/* All that is left of a stream; the caller releases it. */
PURE_API PURE_NODISCARD pure_status pure_fill_arrow_stream(pure_fill *fill,
                                                           struct ArrowArrayStream *stream,
                                                           pure_error *error);
PURE_API uint64_t pure_fill_rows(const pure_fill *fill);
/* Adds the rows to the list, all or none.  Columns must be of one length.  Afterwards the fill
 * only waits to be released (after PURE_BUSY or unequal lengths it can be finished again). */
PURE_API PURE_NODISCARD pure_status pure_fill_finish(pure_fill *fill, pure_duplicates duplicates,
                                                     pure_error *error);

typedef struct pure_import pure_import;

typedef enum {
  PURE_FORMAT_CSV,       /* commas, "quotes", a header line */
  PURE_FORMAT_TSV,       /* tabs, no quotes, a header line */
  PURE_FORMAT_EDGES,     /* values between blanks, # and % comments, no header */
  PURE_FORMAT_ADJACENCY, /* likewise; a b c d: the rows (a, b), (a, c), (a, d) */
  PURE_FORMAT_JSON       /* of results only */
} pure_format;

typedef enum { PURE_HEADER_AUTO, PURE_HEADER_YES, PURE_HEADER_NO } pure_header;

typedef struct pure_import_options {
  size_t size;      /* sizeof(pure_import_options) */
  const char *name; /* of the file, for messages; copied; NULL: the list's name */
  pure_format format;
  pure_header header; /* CSV and TSV; auto: when the first line has the name of a column */
  pure_duplicates duplicates;
} pure_import_options;

/* Rows for a list out of a text in one of the formats (docs/formats.md).  options may be NULL: the
 * defaults, CSV with a header where there is one. */
PURE_API PURE_NODISCARD pure_status pure_import_new(pure_store *store, const char *list,
                                                    const pure_import_options *options,
                                                    pure_import **out, pure_error *error);
/* The next piece of the text, cut anywhere; copied.  PURE_BAD_DATA: file, line, column, what was
 * expected and what was found.  After an error the import can only be released. */
PURE_API PURE_NODISCARD pure_status pure_import_feed(pure_import *import, const void *bytes,
                                                     size_t n, pure_error *error);
/* The text ends here: adds the rows to the list, all or none. */
PURE_API PURE_NODISCARD pure_status pure_import_finish(pure_import *import, pure_error *error);
PURE_API uint64_t pure_import_rows(const pure_import *import);
PURE_API void pure_import_release(pure_import *import);

/* Snapshots */

typedef struct pure_snapshot pure_snapshot;

/* The store as it is now.  Costs little: data is shared until the store changes it. */
PURE_API PURE_NODISCARD pure_status pure_snapshot_take(pure_store *store, pure_snapshot **out,
                                                       pure_error *error);
PURE_API void pure_snapshot_release(pure_snapshot *snapshot);
PURE_API PURE_NODISCARD pure_status pure_snapshot_digest(const pure_snapshot *snapshot,
                                                         uint64_t *out, pure_error *error);
/* As pure_store_save. */
PURE_API PURE_NODISCARD pure_status pure_snapshot_save(const pure_snapshot *snapshot,
                                                       const char *path, pure_error *error);

/* Calls */

typedef struct pure_session pure_session;
typedef struct pure_result pure_result;

/* Calls of queries and events on the store. */
PURE_API PURE_NODISCARD pure_status pure_session_new(pure_store *store, pure_session **out,
                                                     pure_error *error);
/* Calls of queries on the snapshot. */
PURE_API PURE_NODISCARD pure_status pure_session_on(pure_snapshot *snapshot, pure_session **out,
                                                    pure_error *error);
PURE_API void pure_session_release(pure_session *session);
/* For the calls from now on; replaces the engine's limits.  limits may not be NULL; a 0 in it is
 * the default. */
PURE_API PURE_NODISCARD pure_status pure_session_limit(pure_session *session,
                                                       const pure_limits *limits,
                                                       pure_error *error);

/* Called while calls of the session run, on their thread, each time they have done about so much
 * more work, and every tenth of a second where functions of the host or sorts take long beside it;
 * not within such a function, but as soon as it returns.  Returns false to stop the call:
 * PURE_FAULT_CANCELLED.  It must use nothing of the session. */
typedef bool (*pure_progress)(void *user, uint64_t work);
/* For the calls from now on.  every: units of work, 0: as often as possible (a few thousand units
 * in the interpreter, a million in compiled code).  progress NULL: nobody. */
PURE_API PURE_NODISCARD pure_status pure_session_progress(pure_session *session, uint64_t every,
                                                          pure_progress progress, void *user,
                                                          pure_error *error);

/* Calls a query or an event by name and waits for its end.  PURE_FAULT: the program's fault with
 * its position; an event that faults leaves the store as it was.  The session's earlier result
 * becomes stale.  out may be NULL when the result is not wanted. */
PURE_API PURE_NODISCARD pure_status pure_session_call(pure_session *session, const char *function,
                                                      const pure_value *arguments, uint32_t n,
                                                      pure_result **out, pure_error *error);
/* Likewise with arguments spelled as texts (pure_value_parse), 0-terminated. */
PURE_API PURE_NODISCARD pure_status pure_session_call_texts(pure_session *session,
                                                            const char *function,
                                                            const char *const *arguments,
                                                            uint32_t n, pure_result **out,
                                                            pure_error *error);
/* The rows of a list of the session's store or snapshot, as a query that returns it would give
 * them. The session's earlier result becomes stale. */
PURE_API PURE_NODISCARD pure_status pure_session_list(pure_session *session, const char *list,
                                                      pure_result **out, pure_error *error);
/* Work of the last call, also when it faulted. */
PURE_API uint64_t pure_session_work(const pure_session *session);

/* From any thread, also from a signal handler: the call that runs, or else the next one, stops
 * soon with PURE_FAULT_CANCELLED.  The call that is stopped uses the request up. */
PURE_API void pure_session_cancel(pure_session *session);
/* Takes back a request that no call has used up. */
PURE_API void pure_session_resume(pure_session *session);

typedef struct pure_loop_stats {
  size_t size;          /* sizeof(pure_loop_stats), set by the caller */
  const char *function; /* lives as long as the program */
  uint32_t line;        /* 0: unknown */
  const char *tier;     /* "interpreter", "level 1" .. "level 3": a static text */
  uint64_t entries;     /* times the interpreter entered the loop */
  uint64_t headers;     /* times its header ran in the interpreter */
  uint64_t longest;     /* most header runs in one entry */
  uint64_t compiles;    /* times code was made for an entry at this loop */
  uint64_t deopts;      /* times it was thrown away, as what it assumed had changed */
  uint64_t compile_ns;  /* processor time of the last compile */
  uint64_t code_bytes;  /* of the code there is now */
  char reason[160];     /* why there is none, or none of a higher level: the engine's reason where
                           nothing can be compiled; may be empty */
} pure_loop_stats;
/* Loop number `loop` of those that ran in the calls of the session.  Past the end: PURE_NOT_FOUND,
 * without an error text. */
PURE_API PURE_NODISCARD pure_status pure_session_loop_stats(pure_session *session, uint32_t loop,
                                                            pure_loop_stats *out);
/* Likewise function number `function` of those that were called: its calls as entries, no headers,
 * and the tier of the code that calls of it enter. */
PURE_API PURE_NODISCARD pure_status pure_session_function_stats(pure_session *session,
                                                                uint32_t function,
                                                                pure_loop_stats *out);

/* Results.  A result can be read until its session's next call; then it is stale and its readers
 * return PURE_STALE, false, 0 or a value of type PURE_NOTHING. */

PURE_API void pure_result_release(pure_result *result);
PURE_API pure_result_kind pure_result_get_kind(const pure_result *result);
/* PURE_RESULT_VALUE.  A text lives as long as the result can be read. */
PURE_API pure_value pure_result_value(const pure_result *result);
PURE_API uint64_t pure_result_rows(const pure_result *result);
PURE_API uint32_t pure_result_columns(const pure_result *result);
PURE_API PURE_NODISCARD pure_status pure_result_column_info(const pure_result *result,
                                                            uint32_t column, pure_column_info *out);

/* Rows one by one: to the next, false at the end.  Rows of a keyed list come in key order. */
PURE_API bool pure_result_next(pure_result *result);
/* A column of the row that pure_result_next went to. */
PURE_API pure_value pure_result_get(const pure_result *result, uint32_t column);
/* Back to before the first row. */
PURE_API void pure_result_rewind(pure_result *result);
/* pure_result_next and the writers below give the first `rows` rows alone, from the next rewind on;
 * UINT64_MAX: all. */
PURE_API void pure_result_limit(pure_result *result, uint64_t rows);

/* A whole column without copying, where the rows lie in order (else it is made once). */
typedef struct pure_column {
  pure_type type;
  uint32_t width; /* bytes a cell: 1, 2, 4 unsigned; 8: int64_t, or double for PURE_REAL */
  uint64_t rows;
  const void *cells; /* borrowed for as long as the result can be read; texts: ids, see below */
} pure_column;
PURE_API PURE_NODISCARD pure_status pure_result_column(pure_result *result, uint32_t column,
                                                       pure_column *out, pure_error *error);
/* The text of an id in the cells of a text column. */
PURE_API pure_value pure_result_text(const pure_result *result, uint64_t id);
/* Copies rows first .. first + n - 1 of a column, widened: ints, bools, dates, text ids.  Reals go
 * into doubles. */
PURE_API PURE_NODISCARD pure_status pure_result_copy_ints(pure_result *result, uint32_t column,
                                                          uint64_t first, size_t n, int64_t *out,
                                                          pure_error *error);
PURE_API PURE_NODISCARD pure_status pure_result_copy_reals(pure_result *result, uint32_t column,
                                                           uint64_t first, size_t n, double *out,
                                                           pure_error *error);
/* All rows as an Arrow array: int as int64, real as float64, bool, date as date32, text as large
 * utf8.  The cells are copied; what is in *schema and *array is the caller's to release, before or
 * after any other handle, on any thread. */
PURE_API PURE_NODISCARD pure_status pure_result_arrow(pure_result *result,
                                                      struct ArrowSchema *schema,
                                                      struct ArrowArray *array, pure_error *error);
/* Likewise as a stream of one array, for consumers that want one. */
PURE_API PURE_NODISCARD pure_status pure_result_arrow_stream(pure_result *result,
                                                             struct ArrowArrayStream *out,
                                                             pure_error *error);
/* The whole result as CSV (with a header line), TSV, or JSON (an array of objects; a value alone is
 * the value). */
PURE_API PURE_NODISCARD pure_status pure_result_write(pure_result *result, pure_format format,
                                                      pure_write write, void *user,
                                                      pure_error *error);
/* The same text piece by piece, for a consumer who comes back for more: writes the next rows, whole
 * ones, until about n bytes are written, and says whether there is more.  Between the pieces the
 * rows must not be read otherwise; pure_result_rewind begins anew. */
PURE_API PURE_NODISCARD pure_status pure_result_write_part(pure_result *result, pure_format format,
                                                           size_t n, pure_write write, void *user,
                                                           bool *more, pure_error *error);

#ifdef __cplusplus
}
#endif

#endif
