/* lists/mem/mem.h - memory for list blocks.
 *
 * Every block that lists/ owns comes from here: columns, tree nodes, directories,
 * hash tables, presence bits, text bytes.  The allocator behind it can change
 * without anything outside this folder noticing.
 *
 * Blocks are aligned to LS_MEM_ALIGN bytes and followed by at least LS_MEM_PAD
 * readable bytes, so that vector code may read past the last element.
 *
 * Sizes are given back on free: blocks carry no header.  The caller owns a block
 * from alloc to free.  Functions are thread-safe: a block may be freed on another
 * thread than the one that made it.
 */
#ifndef PURE_LISTS_MEM_H
#define PURE_LISTS_MEM_H

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

typedef struct {
  uint64_t live_bytes; /* asked for and not yet freed */
  uint64_t peak_bytes;
  uint64_t allocs;
  uint64_t frees;
} ls_mem_stats;

/* hooks may be NULL: the system's allocator.  Returns NULL when out of memory. */
ls_mem *ls_mem_new(const ls_mem_hooks *hooks);
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

void ls_mem_read_stats(ls_mem *m, ls_mem_stats *out);

/* Allocations fail that would bring live_bytes past this; 0: no limit.  Threads that allocate at
 * the same moment may pass it by what each of them asks for. */
void ls_mem_limit(ls_mem *m, uint64_t bytes);

/* For tests: the n-th allocation from now fails (n = 1: the next), and every one
 * after it when `sticky`.  0 turns it off. */
void ls_mem_fail_after(ls_mem *m, uint64_t n, int sticky);

#endif
