/* lists/mem/mem_check.c - full check of what the caller's thread owns. */
#include "lists/mem/mem_int.h"

#include <stdio.h>

#include "lists/mem/mem_bits.h"

static bool broken(char *why, size_t n, const mem_chunk *c, unsigned unit, const char *what) {
  snprintf(why, n, "chunk %p, unit %u: %s", (void *)c->base, unit, what);
  return false;
}

static bool check_run(const mem_chunk *c, unsigned unit, unsigned *nheld, char *why, size_t n) {
  const mem_run *r = &c->run[unit];
  unsigned nfree = 0;
  for (unsigned w = 0; w < MEM_WORDS; w++) {
    uint64_t free = r->bits[w].free, held = r->bits[w].held;
    nfree += (unsigned)__builtin_popcountll(free);
    *nheld += (unsigned)__builtin_popcountll(held);
    if ((free != 0) != ((r->summary >> w & 1) != 0))
      return broken(why, n, c, unit, "summary and words of a run differ");
    if ((free & held) != 0)
      return broken(why, n, c, unit, "a block is both free and held");
  }
  if (nfree != r->nfree || nfree > r->cap || r->base != mem_unit_at(c, unit))
    return broken(why, n, c, unit, "a run miscounts its free blocks");
  if (r->listed != (nfree != 0))
    return broken(why, n, c, unit, "a run is listed without a free block, or not with one");
  for (unsigned i = 0; i < r->units; i++)
    if (c->kind[unit + i] != (MEM_RUN | i))
      return broken(why, n, c, unit, "a run's units do not say so");
  return true;
}

static bool check_chunk(mem_heap *h, mem_chunk *c, unsigned *nheld, char *why, size_t n) {
  if (atomic_load(&c->owner) != h || mem_chunk_of(h->m, c->base) != c)
    return broken(why, n, c, 0, "owner or table");
  if (c->bin != mem_bits_longest(c->free))
    return broken(why, n, c, 0, "in the wrong bin");
  for (unsigned unit = 0; unit < MEM_UNITS;) {
    unsigned kind = c->kind[unit], length = 1;
    if (kind == 0 ? (c->free >> unit & 1) == 0 : (c->free >> unit & 1) != 0)
      return broken(why, n, c, unit, "kind and free bit differ");
    if (kind == MEM_RUN) {
      if (!check_run(c, unit, nheld, why, n))
        return false;
      length = c->run[unit].units;
    } else if (kind != 0) {
      length = kind & ~MEM_HELD;
      if ((kind & MEM_RUN) != 0 || length < 2 - (MEM_SMALL_MAX < MEM_UNIT) ||
          length > MEM_MAX_UNITS || unit + length > MEM_UNITS)
        return broken(why, n, c, unit, "no kind there is");
    }
    if (kind != 0 && (c->free & mem_mask(unit, length)) != 0)
      return broken(why, n, c, unit, "a block's unit is free");
    unit += length;
  }
  return true;
}

bool ls_mem_check(ls_mem *m, char *why, size_t n) {
  mem_heap *h = m->source == MEM_FROM_RUNS ? mem_heap_mine(m) : NULL;
  if (h == NULL)
    return true;
  unsigned empty = 0, chunks = 0, nheld = 0;
  for (mem_chunk *c = h->chunks; c != NULL; c = c->older) {
    if (!check_chunk(h, c, &nheld, why, n))
      return false;
    empty += c->bin == MEM_UNITS;
    chunks++;
  }
  size_t kept = 0;
  for (unsigned k = 0; k <= MEM_MAX_UNITS; k++)
    kept += k * h->nlifo[k] * MEM_UNIT;
  for (unsigned k = 0; k < MEM_CLASSES; k++)
    nheld -= h->stack[k].n;
  if (empty != h->nempty || chunks != h->nchunks || kept != h->lifo_bytes || nheld != 0) {
    snprintf(why, n, "empty chunks, chunks, held blocks or bytes miscounted");
    return false;
  }
  return true;
}
