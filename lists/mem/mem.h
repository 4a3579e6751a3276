/* lists/mem/mem.h - memory for list blocks.
 *
 * Every block that lists/ owns comes from here: columns, tree nodes, directories,
 * hash tables, presence bits, text bytes.  The allocator behind it can change
 * without anything outside this folder noticing.  docs/memory.md tells how it works.
 *
 * Blocks are aligned to LS_MEM_ALIGN bytes and followed by at least LS_MEM_PAD
 * readable bytes, so that vector code may read past the last element.  Those bytes may
 * belong to another block: what they hold means nothing.
 *
 * Sizes are given back on free: blocks carry no header.  The caller owns a block
 * from alloc to free.  Functions are thread-safe: a block may be freed on another
 * thread than the one that made it.
 *
 * Where blocks come from, chosen when an ls_mem is made:
 *   hooks    the host's functions, where it gives some
 *   buffer   one buffer of the host's, and nothing else
 *   runs     runs of pages of its own (the default)
 *   system   malloc (the default under AddressSanitizer, which sees more of it)
 */
#ifndef PURE_LISTS_MEM_H
#define PURE_LISTS_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LS_MEM_ALIGN 64u
#define LS_MEM_PAD 64u

typedef struct ls_mem ls_mem;

/* Host supplied memory.  alloc returns a block aligned to LS_MEM_ALIGN or NULL. */
typedef struct {
  void *(*alloc)(void *user, size_t bytes);
  void (*free)(void *user, void *block, size_t bytes);
  void *user;
} ls_mem_hooks;

/* Start from ls_mem_options_default. */
typedef struct {
  const ls_mem_hooks *hooks; /* NULL: none; copied */
  void *buffer;              /* NULL: none; borrowed until ls_mem_delete */
  size_t buffer_bytes;
  uint64_t runs;        /* PURE_MEM_RUNS: 0: malloc instead */
  uint64_t huge_pages;  /* PURE_MEM_HUGEPAGES: ask the system for huge pages */
  uint64_t decay_ms;    /* PURE_MEM_DECAY_MS: unused pages go back after about so long */
  uint64_t lifo_bytes;  /* PURE_MEM_LIFO_BYTES: freed blocks that a thread keeps whole */
  uint64_t outbox;      /* PURE_MEM_OUTBOX: frees for another thread sent together, 1 .. 7 */
  uint64_t inbox;       /* PURE_MEM_INBOX: slots for frees by other threads, 1 .. 64 */
  uint64_t cache_bytes; /* PURE_MEM_CACHE_BYTES: mapped blocks kept for reuse */
  uint64_t sample;      /* PURE_MEM_SAMPLE: time one in so many allocations; 0: none */
} ls_mem_options;
extern const ls_mem_options ls_mem_options_default;
/* Reads the environment; a value that is no number or out of range is left as it is and named
 * in `bad` (a static string), else *bad = NULL. */
void ls_mem_options_from_env(ls_mem_options *o, const char **bad);

typedef struct {
  uint64_t live_bytes; /* asked for and not yet freed */
  uint64_t peak_bytes; /* exact while one thread allocates; else within 4 MB a thread */
  uint64_t allocs;
  uint64_t frees;
} ls_mem_stats;

/* What happened since the beginning, summed over threads.  X(name, what is counted) */
#define LS_MEM_COUNTERS(X)                                                                         \
  X(small, "blocks from runs of their class")                                                      \
  X(small_runs, "runs begun")                                                                      \
  X(units, "blocks of whole units")                                                                \
  X(lifo, "of them kept whole since their last use")                                               \
  X(big, "blocks with a mapping of their own")                                                     \
  X(big_cached, "of them reused")                                                                  \
  X(remote, "blocks freed for another thread")                                                     \
  X(flushes, "times that such frees were sent")                                                    \
  X(overflows, "such frees that found the inbox full")                                             \
  X(zero_skipped, "bytes that were zero already")                                                  \
  X(chunks_mapped, "chunks of 4 MB asked of the system")                                           \
  X(chunks_reused, "chunks reused between threads")                                                \
  X(adopted, "chunks of ended threads taken over")                                                 \
  X(purges, "times that pages were given back")                                                    \
  X(purged_bytes, "bytes given back")                                                              \
  X(timed, "allocations timed")                                                                    \
  X(timed_ns, "nanoseconds of them")                                                               \
  X(timed_slow, "of them longer than a microsecond")

#define LS_MEM_COUNTER(name, meaning) LS_MEM_COUNT_##name,
typedef enum { LS_MEM_COUNTERS(LS_MEM_COUNTER) LS_MEM_NCOUNTERS } ls_mem_counter;
#undef LS_MEM_COUNTER

/* Wrong frees are not carried out: the block stays as it is. */
typedef enum {
  LS_MEM_BUG_NONE,
  LS_MEM_BUG_FOREIGN,    /* not a block of this ls_mem */
  LS_MEM_BUG_MISALIGNED, /* points into a block */
  LS_MEM_BUG_DOUBLE,     /* that block is free already */
  LS_MEM_BUG_SIZE,       /* that block has another size */
  LS_MEM_NBUGS
} ls_mem_bug;

typedef struct {
  uint64_t n[LS_MEM_NCOUNTERS];
  uint64_t bugs; /* wrong frees */
  ls_mem_bug last_bug;
} ls_mem_counters;

/* hooks may be NULL: the default options.  Returns NULL when out of memory. */
ls_mem *ls_mem_new(const ls_mem_hooks *hooks);
/* o may be NULL.  A buffer holds the ls_mem itself too: NULL when it is too small for that. */
ls_mem *ls_mem_new_with(const ls_mem_options *o);
/* m may be NULL.  Every block must have been freed. */
void ls_mem_delete(ls_mem *m);

/* NULL when out of memory (or when the injected failure is due).  bytes > 0. */
void *ls_mem_alloc(ls_mem *m, size_t bytes);
/* As ls_mem_alloc, all zero.  Large blocks are zeroed lazily by the system. */
void *ls_mem_zalloc(ls_mem *m, size_t bytes);
/* Keeps the first min(old, bytes) bytes.  NULL: block is untouched and still owned.
 * block may be NULL when old is 0. */
void *ls_mem_resize(ls_mem *m, void *block, size_t old, size_t bytes);
/* block may be NULL. */
void ls_mem_free(ls_mem *m, void *block, size_t bytes);

/* Gives every page that holds no block back to the system: for the caller's thread, for ended
 * threads, and for what no thread has.  For a host that will be idle; other threads that used m
 * keep what they have until they park too or end. */
void ls_mem_park(ls_mem *m);

void ls_mem_read_stats(ls_mem *m, ls_mem_stats *out);
void ls_mem_read_counters(ls_mem *m, ls_mem_counters *out);
const char *ls_mem_bug_name(ls_mem_bug bug);
/* What the counter counts: a static text. */
const char *ls_mem_counter_meaning(ls_mem_counter counter);

/* Full check of what the caller's thread owns; false: why says what is broken. */
bool ls_mem_check(ls_mem *m, char *why, size_t n);

/* Allocations fail that would bring live_bytes past this; 0: no limit.  Threads that allocate at
 * the same moment may pass it by what each of them asks for. */
void ls_mem_limit(ls_mem *m, uint64_t bytes);

/* For tests: the n-th allocation from now fails (n = 1: the next), and every one
 * after it when `sticky`.  0 turns it off. */
void ls_mem_fail_after(ls_mem *m, uint64_t n, int sticky);

#endif
