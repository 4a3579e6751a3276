/* lists/mem/mem_block.c - the ways in and out over all kinds of block, and blocks of whole units.
 *
 * In front of the bins each heap keeps the last freed block of each length as it is, up to a
 * small sum: what is freed and allocated again at once, as columns are, touches no bin.
 *
 * A block of units begins at a colour: some cache lines into its first unit, fixed for the unit,
 * so that the first lines of many blocks do not fall into the same sets of the caches.  (A colour
 * that changes from use to use would miss the lines that are still cached.)
 */
#include "lists/mem/mem_int.h"

#include <time.h>

static unsigned units_of(size_t bytes) { return (unsigned)((bytes + MEM_UNIT - 1) / MEM_UNIT); }

static size_t colour(const char *unit, size_t slack) {
  uint64_t lines = slack / 64;
  uint64_t c = ((uintptr_t)unit >> 16) * UINT64_C(0x9e3779b97f4a7c15) >> 58;
  return (size_t)(c <= lines ? c : c % (lines + 1)) * 64;
}

/* Where in its units a block of so many bytes lies. */
static char *unit_block(const mem_chunk *c, unsigned unit, size_t bytes) {
  char *at = mem_unit_at(c, unit);
  return at + colour(at, units_of(bytes) * MEM_UNIT - bytes);
}

static void *units_alloc(mem_heap *h, size_t bytes, bool *zero) {
  unsigned n = units_of(bytes);
  mem_place at = h->lifo[n];
  mem_count(h, LS_MEM_COUNT_units, 1);
  if (at.chunk != NULL) {
    h->lifo[n].chunk = NULL;
    h->lifo_bytes -= n * MEM_UNIT;
    *zero = false;
    mem_count(h, LS_MEM_COUNT_lifo, 1);
  } else if (!mem_units_take(h, n, &at, zero)) {
    return NULL;
  }
  at.chunk->kind[at.unit] = (uint8_t)n;
  return unit_block(at.chunk, at.unit, bytes);
}

static ls_mem_bug units_home(mem_heap *h, mem_chunk *c, unsigned unit) {
  unsigned n = c->kind[unit];
  if (n == 0 || (n & MEM_HELD) != 0) {
    return LS_MEM_BUG_DOUBLE;
  }
  mem_place old = h->lifo[n];
  size_t more = old.chunk == NULL ? n * MEM_UNIT : 0;
  if (h->lifo_bytes + more <= h->m->o.lifo_bytes) {
    h->lifo_bytes += more;
    h->lifo[n] = (mem_place){c, unit};
    c->kind[unit] = (uint8_t)(n | MEM_HELD);
    if (old.chunk == NULL)
      return LS_MEM_BUG_NONE;
    c = old.chunk;
    unit = old.unit;
  }
  c->kind[unit] = 0;
  mem_units_give(h, c, unit, n);
  return LS_MEM_BUG_NONE;
}

void mem_lifo_flush(mem_heap *h) {
  for (unsigned n = 1; h->lifo_bytes != 0 && n <= MEM_MAX_UNITS; n++) {
    mem_place at = h->lifo[n];
    if (at.chunk == NULL)
      continue;
    h->lifo[n].chunk = NULL;
    h->lifo_bytes -= n * MEM_UNIT;
    at.chunk->kind[at.unit] = 0;
    mem_units_give(h, at.chunk, at.unit, n);
  }
}

ls_mem_bug mem_block_home(mem_heap *h, mem_chunk *c, void *p) {
  unsigned unit = (unsigned)((size_t)((char *)p - c->base) / MEM_UNIT);
  return (c->kind[unit] & MEM_RUN) != 0 ? mem_run_free(h, c, p, 0) : units_home(h, c, unit);
}

/* Whether p is a block of so many bytes, as far as any thread can tell. */
static ls_mem_bug verify(mem_chunk *c, const void *p, size_t bytes) {
  unsigned unit = (unsigned)((size_t)((const char *)p - c->base) / MEM_UNIT);
  unsigned kind = c->kind[unit];
  if ((kind & MEM_RUN) != 0)
    return mem_run_verify(c, p, bytes);
  if (kind == 0 || (kind & MEM_HELD) != 0)
    return LS_MEM_BUG_DOUBLE;
  if (bytes <= MEM_SMALL_MAX || units_of(bytes) != kind)
    return LS_MEM_BUG_SIZE;
  return p == unit_block(c, unit, bytes) ? LS_MEM_BUG_NONE : LS_MEM_BUG_MISALIGNED;
}

static void *alloc_any(mem_heap *h, size_t need, bool *zero) {
  if (need <= MEM_SMALL_MAX) {
    *zero = false;
    mem_count(h, LS_MEM_COUNT_small, 1);
    return mem_run_alloc(h, mem_class_of(need));
  }
  if (need <= MEM_UNITS_MAX)
    return units_alloc(h, need, zero);
  return mem_big_alloc(h, need, zero);
}

static void *alloc_timed(mem_heap *h, size_t need, bool *zero) {
  struct timespec from, to;
  clock_gettime(CLOCK_MONOTONIC, &from);
  void *p = alloc_any(h, need, zero);
  clock_gettime(CLOCK_MONOTONIC, &to);
  uint64_t ns = (uint64_t)(to.tv_sec - from.tv_sec) * 1000000000u + (uint64_t)to.tv_nsec -
                (uint64_t)from.tv_nsec;
  mem_count(h, LS_MEM_COUNT_timed, 1);
  mem_count(h, LS_MEM_COUNT_timed_ns, ns);
  mem_count(h, LS_MEM_COUNT_timed_slow, ns > 1000);
  return p;
}

void *mem_heap_alloc(ls_mem *m, size_t bytes, bool *zero) {
  mem_heap *h = mem_heap_mine(m);
  if (h == NULL || bytes > SIZE_MAX / 4)
    return NULL;
  if (mem_inbox_waiting(h))
    mem_inbox_drain(h, h);
  size_t need = bytes + MEM_OWN_PAD;
  uint64_t sample = m->o.sample;
  bool timed = sample != 0 && atomic_load_explicit(&h->allocs, memory_order_relaxed) % sample == 0;
  void *p = timed ? alloc_timed(h, need, zero) : alloc_any(h, need, zero);
  if (p == NULL)
    return NULL;
  mem_map_unpoison(p, need);
  mem_heap_count_alloc(h, bytes);
  return p;
}

static ls_mem_bug send_home(mem_heap *h, mem_chunk *c, void *block, size_t need) {
  mem_heap *owner = atomic_load_explicit(&c->owner, memory_order_relaxed);
  unsigned unit = (unsigned)((size_t)((char *)block - c->base) / MEM_UNIT);
  bool own_run = owner == h && (c->kind[unit] & MEM_RUN) != 0; /* checks all by itself */
  ls_mem_bug bug = own_run ? mem_run_free(h, c, block, need) : verify(c, block, need);
  if (bug != LS_MEM_BUG_NONE)
    return bug;
  if (owner == NULL)
    return LS_MEM_BUG_DOUBLE;
  mem_map_poison(block, need);
  if (owner == h)
    return own_run ? LS_MEM_BUG_NONE : units_home(h, c, unit);
  mem_count(h, LS_MEM_COUNT_remote, 1);
  mem_remote_free(h, owner, block);
  return LS_MEM_BUG_NONE;
}

void mem_heap_free(ls_mem *m, void *block, size_t bytes) {
  mem_heap *h = mem_heap_mine(m);
  if (h == NULL)
    return; /* no memory for a heap: the block is lost, nothing else */
  size_t need = bytes + MEM_OWN_PAD;
  ls_mem_bug bug = LS_MEM_BUG_NONE;
  if (need > MEM_UNITS_MAX) {
    bug = mem_big_free(h, block, need);
  } else {
    mem_chunk *c = mem_chunk_of(m, block);
    bug = c != NULL ? send_home(h, c, block, need) : LS_MEM_BUG_FOREIGN;
  }
  if (MEM_LIKELY(bug == LS_MEM_BUG_NONE))
    mem_heap_count_free(h, bytes);
  else
    mem_bug_report(m, bug);
}

/* In place; NULL: not possible, unchanged. */
void *mem_heap_resize(ls_mem *m, void *block, size_t old, size_t bytes) {
  mem_heap *h = mem_heap_mine(m);
  size_t from = old + MEM_OWN_PAD, to = bytes + MEM_OWN_PAD;
  if (h == NULL || bytes > SIZE_MAX / 4)
    return NULL;
  if (from > MEM_UNITS_MAX && to > MEM_UNITS_MAX)
    return mem_big_resize(h, block, from, to);
  mem_chunk *c = from <= MEM_UNITS_MAX ? mem_chunk_of(m, block) : NULL;
  if (c == NULL || verify(c, block, from) != LS_MEM_BUG_NONE || to > MEM_UNITS_MAX)
    return NULL;
  if (from <= MEM_SMALL_MAX || to <= MEM_SMALL_MAX) {
    if (from > MEM_SMALL_MAX || to > MEM_SMALL_MAX || mem_class_of(from) != mem_class_of(to))
      return NULL;
  } else {
    unsigned unit = (unsigned)((size_t)((char *)block - c->base) / MEM_UNIT);
    if (atomic_load_explicit(&c->owner, memory_order_relaxed) != h ||
        unit_block(c, unit, to) != block ||
        !mem_units_resize(h, c, unit, units_of(from), units_of(to)))
      return NULL;
    c->kind[unit] = (uint8_t)units_of(to);
  }
  if (to < from)
    mem_map_poison((char *)block + to, from - to);
  mem_map_unpoison(block, to);
  return block;
}
