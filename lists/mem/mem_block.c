/* lists/mem/mem_block.c - the ways in and out over all kinds of block, and blocks of whole units.
 *
 * In front of the bins each heap keeps the last freed blocks of each length as they are, up to a
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
  uint64_t lines = slack / 64 < 63 ? slack / 64 : 63;
  uint64_t c = ((uintptr_t)unit >> 16) * UINT64_C(0x9e3779b97f4a7c15) >> 58;
  return (size_t)(c * (lines + 1) / 64) * 64;
}

/* Where in its units a block of so many bytes lies. */
static char *unit_block(const mem_chunk *c, unsigned unit, size_t bytes) {
  char *at = mem_unit_at(c, unit);
  return at + colour(at, units_of(bytes) * MEM_UNIT - bytes);
}

static void *units_alloc(mem_heap *h, size_t bytes, bool *zero) {
  unsigned n = units_of(bytes);
  mem_place at;
  mem_count(h, LS_MEM_COUNT_units, 1);
  if (h->nlifo[n] != 0) {
    at = mem_place_of(h->lifo[n][--h->nlifo[n]]);
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
  if (n == 0 || (n & MEM_HELD) != 0)
    return LS_MEM_BUG_DOUBLE;
  if (h->nlifo[n] < MEM_LIFO && h->lifo_bytes + n * MEM_UNIT <= h->lifo_most) {
    h->lifo_bytes += n * MEM_UNIT;
    h->lifo[n][h->nlifo[n]++] = (uintptr_t)c | unit;
    c->kind[unit] = (uint8_t)(n | MEM_HELD);
    return LS_MEM_BUG_NONE;
  }
  c->kind[unit] = 0;
  mem_units_give(h, c, unit, n);
  return LS_MEM_BUG_NONE;
}

void mem_lifo_flush(mem_heap *h) {
  for (unsigned n = 1; h->lifo_bytes != 0 && n <= MEM_MAX_UNITS; n++)
    while (h->nlifo[n] != 0) {
      mem_place at = mem_place_of(h->lifo[n][--h->nlifo[n]]);
      h->lifo_bytes -= n * MEM_UNIT;
      at.chunk->kind[at.unit] = 0;
      mem_units_give(h, at.chunk, at.unit, n);
    }
}

static unsigned unit_of(const mem_chunk *c, const void *p) {
  return (unsigned)((size_t)((const char *)p - c->base) / MEM_UNIT);
}

static ls_mem_bug units_verify(const mem_chunk *c, unsigned unit, const void *p, size_t bytes) {
  unsigned kind = c->kind[unit];
  if (kind == 0 || (kind & MEM_HELD) != 0)
    return LS_MEM_BUG_DOUBLE;
  if (bytes <= MEM_SMALL_MAX || units_of(bytes) != kind)
    return LS_MEM_BUG_SIZE;
  return p == unit_block(c, unit, bytes) ? LS_MEM_BUG_NONE : LS_MEM_BUG_MISALIGNED;
}

ls_mem_bug mem_block_verify(mem_chunk *c, const void *p, size_t bytes) {
  unsigned unit = unit_of(c, p);
  return (c->kind[unit] & MEM_RUN) != 0 ? mem_run_verify(c, p, bytes)
                                        : units_verify(c, unit, p, bytes);
}

ls_mem_bug mem_block_home(mem_heap *h, mem_chunk *c, void *p, size_t bytes) {
  unsigned unit = unit_of(c, p);
  if ((c->kind[unit] & MEM_RUN) != 0)
    return mem_run_free(h, mem_run_at(c, p), p, bytes);
  ls_mem_bug bug = bytes != 0 ? units_verify(c, unit, p, bytes) : LS_MEM_BUG_NONE;
  return bug == LS_MEM_BUG_NONE ? units_home(h, c, unit) : bug;
}

static void *alloc_any(mem_heap *h, size_t need, bool *zero) {
  if (need <= MEM_SMALL_MAX) {
    *zero = false;
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

/* A look into the inbox takes the line away from those who put something there: not for each of the
 * many small blocks. */
static bool must_poll(const mem_heap *h, size_t need) {
  return need > MEM_SMALL_MAX ||
         atomic_load_explicit(&h->allocs, memory_order_relaxed) % MEM_POLL_OPS == 0;
}

void *mem_heap_alloc(ls_mem *m, size_t bytes, bool *zero) {
  mem_heap *h = mem_heap_mine(m);
  if (h == NULL || bytes > SIZE_MAX / 4)
    return NULL;
  size_t need = bytes + MEM_OWN_PAD;
  if (must_poll(h, need) && mem_inbox_waiting(h))
    mem_inbox_drain(h, h);
  uint64_t sample = m->o.sample;
  bool timed = sample != 0 && atomic_load_explicit(&h->allocs, memory_order_relaxed) % sample == 0;
  void *p = timed ? alloc_timed(h, need, zero) : alloc_any(h, need, zero);
  if (p == NULL)
    return NULL;
  mem_map_unpoison(p, need);
  mem_heap_count_alloc(h, bytes);
  return p;
}

/* What the owner writes to all the time nobody else reads: it is the owner who checks the block. */
static ls_mem_bug send_home(mem_heap *h, mem_chunk *c, void *block, size_t need) {
  mem_heap *owner = atomic_load_explicit(&c->owner, memory_order_relaxed);
  if (owner == NULL)
    return LS_MEM_BUG_DOUBLE;
  if (MEM_UNDER_ASAN) { /* poisoned before anyone can have it again, but not before it is checked */
    ls_mem_bug bug = mem_block_verify(c, block, need);
    if (bug != LS_MEM_BUG_NONE)
      return bug;
    mem_map_poison(block, need);
  }
  if (MEM_LIKELY(owner == h))
    return mem_block_home(h, c, block, need);
  mem_count(h, LS_MEM_COUNT_remote, 1);
  mem_remote_free(h, owner, mem_parcel_of(block, need));
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
  if (c == NULL || to > MEM_UNITS_MAX)
    return NULL;
  if (mem_block_verify(c, block, from) != LS_MEM_BUG_NONE)
    return NULL;
  if (from <= MEM_SMALL_MAX || to <= MEM_SMALL_MAX) {
    if (from > MEM_SMALL_MAX || to > MEM_SMALL_MAX || mem_class_of(from) != mem_class_of(to))
      return NULL;
  } else {
    unsigned unit = unit_of(c, block);
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
