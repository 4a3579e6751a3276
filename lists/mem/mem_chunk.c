/* lists/mem/mem_chunk.c - chunks: regions of the system's pages, units, bins, purging.
 *
 * A heap keeps its chunks in bins by their longest run of free units and takes from the tightest
 * that fits; within a chunk the first run that fits, of units that still have their pages if
 * possible.  Freed units join their neighbours by themselves: they are bits side by side.
 */
#include "lists/mem/mem_int.h"

#include <string.h>

#include "lists/mem/mem_bits.h"

#include <stdlib.h>

#define HALF (MEM_UNITS / 2)
#define FIRST_TABLE 64u
#define LONG_UNUSED 8u /* ticks that half a huge page is unused before the page is broken up */

/* Chunks of the next region: few for those who need little. */
static size_t region_chunks(const ls_mem *m) {
  return m->nchunks < 2 ? 1 : m->nchunks < 8 ? 2 : m->nchunks < 32 ? 4 : 8;
}

static void table_put(mem_table *t, mem_chunk *c) {
  size_t i = mem_chunk_hash((uintptr_t)c->base);
  while (atomic_load_explicit(&t->slot[i & t->mask], memory_order_relaxed) != NULL)
    i++;
  atomic_store_explicit(&t->slot[i & t->mask], c, memory_order_release);
  t->used++;
}

/* Room for n more chunks; false: no memory. */
static bool table_reserve(ls_mem *m, size_t n) {
  mem_table *t = atomic_load_explicit(&m->table, memory_order_relaxed);
  size_t slots = t != NULL ? t->mask + 1 : FIRST_TABLE;
  size_t used = t != NULL ? t->used : 0;
  if (t != NULL && (used + n) * 2 <= slots)
    return true;
  while ((used + n) * 2 > slots)
    slots *= 2;
  mem_table *to = calloc(1, sizeof *to + slots * sizeof to->slot[0]);
  if (to == NULL)
    return false;
  to->mask = slots - 1;
  to->older = t;
  for (size_t i = 0; t != NULL && i <= t->mask; i++) {
    mem_chunk *c = atomic_load_explicit(&t->slot[i], memory_order_relaxed);
    if (c != NULL)
      table_put(to, c);
  }
  atomic_store_explicit(&m->table, to, memory_order_release);
  return true;
}

/* [n chunks][region, descriptors], the first at a multiple of MEM_CHUNK.  The descriptors begin at
 * a colour, or those of all regions would share their sets in the caches. */
static mem_region *region_map(size_t n, size_t region) {
  size_t skip = sizeof(mem_region) / 64 * 64 + 64 + region % 8 * 448;
  size_t tail = skip + n * sizeof(mem_chunk);
  size_t bytes = (n * MEM_CHUNK + tail + 4095) & ~(size_t)4095;
  char *base = mem_map_reserve(bytes, MEM_CHUNK);
  if (base == NULL)
    return NULL;
  mem_region *r = (mem_region *)(void *)(base + n * MEM_CHUNK);
  r->base = base;
  r->bytes = bytes;
  r->chunks = n;
  r->chunk = (mem_chunk *)(void *)((char *)r + skip);
  for (size_t i = 0; i < n; i++) {
    r->chunk[i].base = base + i * MEM_CHUNK;
    r->chunk[i].free = ~UINT64_C(0);
  }
  mem_map_rooted(base, bytes, true);
  mem_map_poison(base, n * MEM_CHUNK);
  return r;
}

mem_chunk *mem_chunk_map(mem_heap *h) {
  ls_mem *m = h->m;
  pthread_mutex_lock(&m->lock);
  size_t n = region_chunks(m);
  mem_region *r = NULL;
  if (table_reserve(m, n)) {
    r = region_map(n, m->nchunks);
    if (r == NULL && n > 1)
      r = region_map(n = 1, m->nchunks);
  }
  if (r != NULL) {
    r->next = m->regions;
    m->regions = r;
    m->nchunks += n;
    for (size_t i = 0; i < n; i++)
      table_put(atomic_load_explicit(&m->table, memory_order_relaxed), &r->chunk[i]);
  }
  pthread_mutex_unlock(&m->lock);
  if (r == NULL)
    return NULL;
  mem_count(h, LS_MEM_COUNT_chunks_mapped, n);
  for (size_t i = 1; i < n; i++)
    mem_central_give(h, &r->chunk[i]);
  return &r->chunk[0];
}

void mem_chunks_delete(ls_mem *m) {
  for (mem_region *r = m->regions, *next; r != NULL; r = next) {
    next = r->next;
    mem_map_rooted(r->base, r->bytes, false);
    mem_map_free(r->base, r->bytes);
  }
  for (mem_table *t = atomic_load(&m->table), *older; t != NULL; t = older) {
    older = t->older;
    free(t);
  }
}

static void bin_leave(mem_heap *h, mem_chunk *c) {
  if (c->bin == 0)
    return;
  if (c->prev != NULL)
    c->prev->next = c->next;
  else
    h->bins[c->bin] = c->next;
  if (c->next != NULL)
    c->next->prev = c->prev;
  if (h->bins[c->bin] == NULL)
    h->binmap &= ~(UINT64_C(1) << (c->bin - 1));
  c->bin = 0;
}

static void bin_join(mem_heap *h, mem_chunk *c, unsigned longest) {
  c->bin = (uint8_t)longest;
  if (longest == 0)
    return;
  c->prev = NULL;
  c->next = h->bins[longest];
  if (c->next != NULL)
    c->next->prev = c;
  h->bins[longest] = c;
  h->binmap |= UINT64_C(1) << (longest - 1);
}

static void rebin(mem_heap *h, mem_chunk *c, unsigned longest) {
  if (longest == c->bin)
    return;
  h->nempty += (unsigned)(longest == MEM_UNITS) - (unsigned)(c->bin == MEM_UNITS);
  bin_leave(h, c);
  bin_join(h, c, longest);
}

/* Free units side by side that take in unit `at`, which is free. */
static unsigned run_around(uint64_t free, unsigned at) {
  uint64_t below = ~free << (63 - at), above = ~free >> at;
  unsigned down = below != 0 ? (unsigned)__builtin_clzll(below) : at + 1;
  unsigned up = above != 0 ? (unsigned)__builtin_ctzll(above) : 64 - at;
  return down + up - 1;
}

/* Takes units that are free.  Only a run as long as the longest can have been that. */
static void take_bits(mem_heap *h, mem_chunk *c, unsigned unit, uint64_t mask) {
  unsigned run = run_around(c->free, unit);
  c->free &= ~mask;
  c->aged &= ~mask;
  c->dirty |= mask;
  if (run == c->bin)
    rebin(h, c, mem_bits_longest(c->free));
}

/* Asks for huge pages where a heap can be expected to fill them: its very first half chunk gets
 * small pages, so that who needs little holds little. */
static void advise(mem_heap *h, mem_chunk *c) {
  bool huge = h->m->o.huge_pages != 0;
  if (c->advised != 0 && !h->young)
    return;
  if (c->advised == 0) {
    c->advised = 1;
    c->huge = huge ? (h->young ? 2 : 3) : 0;
    mem_map_advise(c->base, MEM_HUGE, (c->huge & 1) != 0);
    mem_map_advise(c->base + MEM_HUGE, MEM_HUGE, (c->huge & 2) != 0);
  }
  h->young = false;
}

/* What is kept whole may be one part in 32 of what the heap has, or 1 MB. */
static void count_chunk(mem_heap *h, unsigned more) {
  h->nchunks += more;
  size_t share = h->nchunks * (MEM_CHUNK / 32);
  share = share > (1u << 20) ? share : 1u << 20;
  h->lifo_most = share < h->m->o.lifo_bytes ? share : (size_t)h->m->o.lifo_bytes;
}

void mem_chunk_attach(mem_heap *h, mem_chunk *c) {
  advise(h, c);
  c->older = h->chunks;
  c->newer = NULL;
  if (c->older != NULL)
    c->older->newer = c;
  h->chunks = c;
  count_chunk(h, 1);
  atomic_store(&c->owner, h);
  c->bin = 0;
  rebin(h, c, mem_bits_longest(c->free));
}

void mem_chunk_detach(mem_heap *h, mem_chunk *c) {
  h->nempty -= c->bin == MEM_UNITS;
  count_chunk(h, -1u);
  bin_leave(h, c);
  if (c->newer != NULL)
    c->newer->older = c->older;
  else
    h->chunks = c->older;
  if (c->older != NULL)
    c->older->newer = c->newer;
  atomic_store(&c->owner, NULL);
}

/* A chunk with n free units side by side; NULL: no memory.  What others freed and what ended
 * threads left comes before a chunk more. */
static mem_chunk *find_chunk(mem_heap *h, unsigned n) {
  uint64_t fit = h->binmap & (~UINT64_C(0) << (n - 1));
  if (MEM_LIKELY(fit != 0))
    return h->bins[__builtin_ctzll(fit) + 1];
  mem_heap_settle(h);
  mem_heap_adopt_all(h);
  fit = h->binmap & (~UINT64_C(0) << (n - 1));
  if (fit != 0)
    return h->bins[__builtin_ctzll(fit) + 1];
  mem_chunk *c = mem_central_take(h);
  if (c == NULL)
    c = mem_chunk_map(h);
  if (c != NULL)
    mem_chunk_attach(h, c);
  return c;
}

bool mem_units_take(mem_heap *h, unsigned n, mem_place *at, bool *clean) {
  mem_chunk *c = find_chunk(h, n);
  if (c == NULL)
    return false;
  uint64_t starts = mem_bits_runs(c->free & c->dirty, n);
  if (starts == 0)
    starts = mem_bits_runs(c->free, n);
  unsigned unit = (unsigned)__builtin_ctzll(starts);
  uint64_t mask = mem_mask(unit, n);
  *clean = (c->dirty & mask) == 0;
  take_bits(h, c, unit, mask);
  *at = (mem_place){c, unit};
  return true;
}

void mem_units_give(mem_heap *h, mem_chunk *c, unsigned unit, unsigned n) {
  mem_map_poison(mem_unit_at(c, unit), n * MEM_UNIT);
  c->free |= mem_mask(unit, n);
  unsigned run = run_around(c->free, unit);
  if (run > c->bin)
    rebin(h, c, run);
  if (h->nempty > 1 && c->bin == MEM_UNITS && !h->walking)
    mem_chunk_retire(h, c);
}

void mem_chunk_retire(mem_heap *h, mem_chunk *c) {
  mem_chunk_detach(h, c);
  mem_central_give(h, c);
}

bool mem_units_resize(mem_heap *h, mem_chunk *c, unsigned unit, unsigned n, unsigned to) {
  if (to > n) {
    if (unit + to > MEM_UNITS)
      return false;
    uint64_t mask = mem_mask(unit + n, to - n);
    if ((c->free & mask) != mask)
      return false;
    take_bits(h, c, unit + n, mask);
  } else if (to < n) {
    mem_units_give(h, c, unit + to, n - to);
  }
  return true;
}

static void purge(mem_heap *h, mem_chunk *c, unsigned unit, unsigned n) {
  mem_map_purge(mem_unit_at(c, unit), n * MEM_UNIT);
  mem_count(h, LS_MEM_COUNT_purges, 1);
  mem_count(h, LS_MEM_COUNT_purged_bytes,
            (uint64_t)__builtin_popcountll(c->dirty & mem_mask(unit, n)) * MEM_UNIT);
  c->dirty &= ~mem_mask(unit, n);
}

/* Whole groups of `idle`, neighbours together. */
static void purge_groups(mem_heap *h, mem_chunk *c, uint64_t idle, unsigned group) {
  for (unsigned from = 0; from < MEM_UNITS;) {
    unsigned to = from;
    while (to < MEM_UNITS && (idle & mem_mask(to, group)) == mem_mask(to, group))
      to += group;
    if (to > from && (c->dirty & mem_mask(from, to - from)) != 0)
      purge(h, c, from, to - from);
    from = to + group;
  }
}

/* A huge page goes as a whole; it is broken up only where it has long been of little use. */
static void age_half(mem_heap *h, mem_chunk *c, unsigned half, uint64_t idle) {
  uint64_t mask = mem_mask(half * HALF, HALF);
  uint64_t unused = idle & mask;
  if (unused == mask && (c->dirty & mask) != 0) {
    purge(h, c, half * HALF, HALF);
    c->cold[half] = 0;
  } else if ((unused & c->dirty) == 0 || __builtin_popcountll(unused) < (int)HALF / 2) {
    c->cold[half] = 0;
  } else if (++c->cold[half] >= LONG_UNUSED) {
    purge_groups(h, c, unused, MEM_GROUP);
    c->cold[half] = 0;
  }
}

void mem_chunk_age(mem_heap *h, mem_chunk *c, bool all) {
  uint64_t idle = all ? c->free : c->free & c->aged;
  c->aged = c->free;
  if ((idle & c->dirty) == 0)
    return;
  if (all) {
    purge_groups(h, c, idle, 1);
    return;
  }
  uint64_t small = 0; /* halves without huge pages */
  for (unsigned half = 0; half < 2; half++) {
    if ((c->huge >> half & 1) != 0)
      age_half(h, c, half, idle);
    else
      small |= mem_mask(half * HALF, HALF);
  }
  purge_groups(h, c, idle & small, MEM_GROUP);
}
