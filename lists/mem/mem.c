/* lists/mem/mem.c - memory for list blocks over the system's allocator.
 *
 * Two kinds of block, told apart by size alone, because blocks carry no header:
 *
 *   small   malloc, shifted to the alignment (aligned_alloc splits and joins chunks each time:
 *           several times as slow, and slower the longer it is used)
 *   mapped  (from MAP_MIN bytes, where the system is Linux) pages of their own, aligned to
 *           MAP_STEP and offered as huge pages: zeroed lazily, and grown by moving page
 *           tables instead of bytes
 *
 * With host hooks every block goes through them.  Under AddressSanitizer every block comes from
 * aligned_alloc, so that it sees overruns on both sides.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "lists/mem/mem.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define MEM_UNDER_ASAN 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#define MEM_UNDER_ASAN 1
#endif
#ifndef MEM_UNDER_ASAN
#define MEM_UNDER_ASAN 0
#endif

#if defined(__linux__) && !MEM_UNDER_ASAN
#define MEM_MAPS 1
#include <sys/mman.h>
#else
#define MEM_MAPS 0
#endif

#define MAP_STEP ((size_t)2 << 20) /* a huge page */
#define MAP_MIN (2 * MAP_STEP)

struct ls_mem {
  ls_mem_hooks hooks; /* alloc NULL: the system's */
  _Atomic uint64_t live, peak, allocs, frees;
  _Atomic uint64_t most;    /* 0: no limit on live */
  _Atomic uint64_t fail_in; /* 0: off */
  atomic_int fail_sticky;
};

ls_mem *ls_mem_new(const ls_mem_hooks *hooks) {
  ls_mem *m = calloc(1, sizeof *m);
  if (m != NULL && hooks != NULL)
    m->hooks = *hooks;
  return m;
}

void ls_mem_delete(ls_mem *m) { free(m); }

/* What to ask for, padding included; 0: too much. */
static size_t small_size(size_t bytes) {
  if (bytes > SIZE_MAX / 2)
    return 0;
  return (bytes + LS_MEM_PAD + LS_MEM_ALIGN - 1) & ~(size_t)(LS_MEM_ALIGN - 1);
}

static size_t map_size(size_t bytes) {
  if (bytes > SIZE_MAX / 2)
    return 0;
  return (bytes + LS_MEM_PAD + MAP_STEP - 1) & ~(MAP_STEP - 1);
}

static bool is_mapped(const ls_mem *m, size_t bytes) {
  return MEM_MAPS && m->hooks.alloc == NULL && bytes >= MAP_MIN;
}

/* Whether the injected failure is due. */
static bool must_fail(ls_mem *m) {
  uint64_t n = atomic_load_explicit(&m->fail_in, memory_order_relaxed);
  while (n != 0) {
    bool stays = n == 1 && atomic_load_explicit(&m->fail_sticky, memory_order_relaxed);
    if (stays)
      return true;
    if (atomic_compare_exchange_weak_explicit(&m->fail_in, &n, n - 1, memory_order_relaxed,
                                              memory_order_relaxed))
      return n == 1;
  }
  return false;
}

/* Whether so many bytes more are too many. */
static bool is_over(ls_mem *m, size_t bytes) {
  uint64_t most = atomic_load_explicit(&m->most, memory_order_relaxed);
  if (most == 0)
    return false;
  uint64_t live = atomic_load_explicit(&m->live, memory_order_relaxed);
  return live > most || bytes > most - live;
}

static void count_alloc(ls_mem *m, size_t bytes) {
  uint64_t live = atomic_fetch_add_explicit(&m->live, bytes, memory_order_relaxed) + bytes;
  uint64_t peak = atomic_load_explicit(&m->peak, memory_order_relaxed);
  while (live > peak && !atomic_compare_exchange_weak_explicit(
                            &m->peak, &peak, live, memory_order_relaxed, memory_order_relaxed)) {
  }
  atomic_fetch_add_explicit(&m->allocs, 1, memory_order_relaxed);
}

static void count_free(ls_mem *m, size_t bytes) {
  atomic_fetch_sub_explicit(&m->live, bytes, memory_order_relaxed);
  atomic_fetch_add_explicit(&m->frees, 1, memory_order_relaxed);
}

#if MEM_MAPS
/* Address space of `size` bytes aligned to MAP_STEP; NULL: none. */
static void *map_reserve(size_t size) {
  char *p = mmap(NULL, size + MAP_STEP, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED)
    return NULL;
  size_t head = (MAP_STEP - ((uintptr_t)p & (MAP_STEP - 1))) & (MAP_STEP - 1);
  if (head != 0)
    munmap(p, head);
  if (head != MAP_STEP)
    munmap(p + head + size, MAP_STEP - head);
  return p + head;
}

static void *map_new(size_t size) {
  void *p = map_reserve(size);
  if (p != NULL)
    (void)madvise(p, size, MADV_HUGEPAGE); /* only advice: may be refused */
  return p;
}

static void *map_resize(void *block, size_t old, size_t size) {
  if (old == size)
    return block;
  if (size < old) {
    munmap((char *)block + size, old - size);
    return block;
  }
  if (mremap(block, old, size, 0) != MAP_FAILED)
    return block;
  void *to = map_reserve(size);
  if (to == NULL)
    return NULL;
  if (mremap(block, old, size, MREMAP_MAYMOVE | MREMAP_FIXED, to) != MAP_FAILED)
    return to;
  munmap(to, size);
  return NULL;
}

static void map_free(void *block, size_t size) { munmap(block, size); }
#else
static void *map_new(size_t size) { return (void)size, NULL; }
static void *map_resize(void *block, size_t old, size_t size) {
  return (void)block, (void)old, (void)size, NULL;
}
static void map_free(void *block, size_t size) { (void)block, (void)size; }
#endif

#if MEM_UNDER_ASAN
static void *heap_new(size_t size) { return aligned_alloc(LS_MEM_ALIGN, size); }
static void heap_free(void *block) { free(block); }
#else
_Static_assert(_Alignof(max_align_t) >= sizeof(void *), "room for a pointer before each block");

/* malloc's own address is kept in the word before the block. */
static void *heap_new(size_t size) {
  char *p = malloc(size + LS_MEM_ALIGN);
  if (p == NULL)
    return NULL;
  char *block = p + (LS_MEM_ALIGN - ((uintptr_t)p & (LS_MEM_ALIGN - 1)));
  ((void **)(void *)block)[-1] = p;
  return block;
}
static void heap_free(void *block) { free(((void **)block)[-1]); }
#endif

static void *block_new(ls_mem *m, size_t bytes) {
  if (is_mapped(m, bytes)) {
    size_t size = map_size(bytes);
    return size != 0 ? map_new(size) : NULL;
  }
  size_t size = small_size(bytes);
  if (size == 0)
    return NULL;
  if (m->hooks.alloc != NULL)
    return m->hooks.alloc(m->hooks.user, size);
  return heap_new(size);
}

static void block_free(ls_mem *m, void *block, size_t bytes) {
  if (is_mapped(m, bytes))
    map_free(block, map_size(bytes));
  else if (m->hooks.alloc != NULL)
    m->hooks.free(m->hooks.user, block, small_size(bytes));
  else
    heap_free(block);
}

void *ls_mem_alloc(ls_mem *m, size_t bytes) {
  if (must_fail(m) || is_over(m, bytes))
    return NULL;
  void *p = block_new(m, bytes);
  if (p != NULL)
    count_alloc(m, bytes);
  return p;
}

void *ls_mem_zalloc(ls_mem *m, size_t bytes) {
  void *p = ls_mem_alloc(m, bytes);
  if (p != NULL && !is_mapped(m, bytes))
    memset(p, 0, bytes);
  return p;
}

void *ls_mem_resize(ls_mem *m, void *block, size_t old, size_t bytes) {
  if (block == NULL)
    return ls_mem_alloc(m, bytes);
  if (must_fail(m) || (bytes > old && is_over(m, bytes - old)))
    return NULL;
  void *p;
  if (is_mapped(m, old) && is_mapped(m, bytes)) {
    size_t size = map_size(bytes);
    p = size != 0 ? map_resize(block, map_size(old), size) : NULL;
    if (p == NULL)
      return NULL;
  } else if (!is_mapped(m, old) && !is_mapped(m, bytes) && small_size(old) == small_size(bytes)) {
    p = block;
  } else {
    p = block_new(m, bytes);
    if (p == NULL)
      return NULL;
    memcpy(p, block, old < bytes ? old : bytes);
    block_free(m, block, old);
  }
  count_alloc(m, bytes);
  count_free(m, old);
  return p;
}

void ls_mem_free(ls_mem *m, void *block, size_t bytes) {
  if (block == NULL)
    return;
  block_free(m, block, bytes);
  count_free(m, bytes);
}

void ls_mem_read_stats(ls_mem *m, ls_mem_stats *out) {
  out->live_bytes = atomic_load_explicit(&m->live, memory_order_relaxed);
  out->peak_bytes = atomic_load_explicit(&m->peak, memory_order_relaxed);
  out->allocs = atomic_load_explicit(&m->allocs, memory_order_relaxed);
  out->frees = atomic_load_explicit(&m->frees, memory_order_relaxed);
}

void ls_mem_limit(ls_mem *m, uint64_t bytes) {
  atomic_store_explicit(&m->most, bytes, memory_order_relaxed);
}

void ls_mem_fail_after(ls_mem *m, uint64_t n, int sticky) {
  atomic_store_explicit(&m->fail_sticky, sticky, memory_order_relaxed);
  atomic_store_explicit(&m->fail_in, n, memory_order_relaxed);
}
