/* lists/mem/mem_run.c - blocks up to 64 KB: runs of units cut into blocks of one class.
 *
 * Classes: 64 bytes apart up to 1 KB, then eight to each doubling.  Which blocks are free is a
 * bitmap beside the run, not a list through the blocks: nothing is read or written in memory that
 * nobody uses, and a second free is seen at once.
 */
#include "lists/mem/mem_int.h"

#include <string.h>

#define FINE 16u /* classes 64 bytes apart */

unsigned mem_class_of(size_t bytes) {
  if (bytes <= FINE * 64)
    return (unsigned)((bytes - 1) / 64);
  unsigned e = 63u - (unsigned)__builtin_clzll(bytes - 1);
  return FINE + (e - 10) * 8 + ((unsigned)((bytes - 1) >> (e - 3)) & 7u);
}

size_t mem_class_size(unsigned class) {
  if (class < FINE)
    return (class + 1) * (size_t)64;
  return ((class - FINE) % 8 + 9) << ((class - FINE) / 8 + 7);
}

/* Enough units that little is left over at the end. */
static unsigned class_units(size_t size) {
  return size <= 4096 ? 1 : size <= 16384 ? 2 : size <= 32768 ? 4 : 8;
}

static void list(mem_heap *h, mem_run *r) {
  mem_run *first = h->runs[r->class];
  r->prev = first;
  r->next = first != NULL ? first->next : NULL;
  if (first == NULL)
    h->runs[r->class] = r;
  else
    first->next = r;
  if (r->next != NULL)
    r->next->prev = r;
  r->listed = true;
}

static void unlist(mem_heap *h, mem_run *r) {
  if (r->prev != NULL)
    r->prev->next = r->next;
  else
    h->runs[r->class] = r->next;
  if (r->next != NULL)
    r->next->prev = r->prev;
  r->listed = false;
}

static mem_run *run_begin(mem_heap *h, unsigned class) {
  size_t size = mem_class_size(class);
  unsigned units = class_units(size);
  mem_place at;
  bool clean;
  if (!mem_units_take(h, units, &at, &clean))
    return NULL;
  /* Making room may have brought a run of the class home. */
  mem_run *r = &at.chunk->run[at.unit];
  r->base = mem_unit_at(at.chunk, at.unit);
  r->size = (uint32_t)size;
  r->inverse = ((UINT64_C(1) << 40) + size - 1) / size;
  r->cap = r->nfree = (uint16_t)(units * MEM_UNIT / size);
  r->class = (uint8_t) class;
  r->units = (uint8_t)units;
  r->first = (uint8_t)at.unit;
  memset(r->word, 0, sizeof r->word);
  for (unsigned i = 0; i < r->cap; i += 64)
    r->word[i / 64] = ~UINT64_C(0) >> (r->cap - i < 64 ? 64 - (r->cap - i) : 0);
  r->summary = (uint32_t)mem_mask(0, (r->cap + 63u) / 64);
  for (unsigned i = 0; i < units; i++)
    at.chunk->kind[at.unit + i] = (uint8_t)(MEM_RUN | i);
  list(h, r);
  mem_count(h, LS_MEM_COUNT_small_runs, 1);
  return h->runs[class];
}

void *mem_run_alloc(mem_heap *h, unsigned class) {
  mem_run *r = h->runs[class];
  if (r == NULL) {
    r = run_begin(h, class);
    if (r == NULL)
      return NULL;
  }
  unsigned w = (unsigned)__builtin_ctz(r->summary);
  uint64_t word = r->word[w];
  unsigned b = (unsigned)__builtin_ctzll(word);
  r->word[w] = word &= word - 1;
  if (word == 0)
    r->summary &= r->summary - 1;
  if (--r->nfree == 0)
    unlist(h, r);
  return r->base + (size_t)(w * 64 + b) * r->size;
}

mem_run *mem_run_at(mem_chunk *c, const void *p) {
  unsigned unit = (unsigned)((size_t)((const char *)p - c->base) / MEM_UNIT);
  return &c->run[unit - (c->kind[unit] & ~MEM_RUN)];
}

/* Number of the block at p; cap: p is not the start of one. */
static unsigned block_number(const mem_run *r, const void *p) {
  uint64_t offset = (uint64_t)((const char *)p - r->base);
  uint64_t i = offset * r->inverse >> 40;
  return i < r->cap && i * r->size == offset ? (unsigned)i : r->cap;
}

static void run_end(mem_heap *h, mem_chunk *c, mem_run *r) {
  unlist(h, r);
  memset(&c->kind[r->first], 0, r->units);
  mem_units_give(h, c, r->first, r->units);
}

static bool is_of_class(const mem_run *r, size_t bytes) {
  return bytes <= MEM_SMALL_MAX && r->class == mem_class_of(bytes);
}

ls_mem_bug mem_run_free(mem_heap *h, mem_chunk *c, const void *p, size_t bytes) {
  mem_run *r = mem_run_at(c, p);
  unsigned i = block_number(r, p);
  if (i == r->cap)
    return LS_MEM_BUG_MISALIGNED;
  if (bytes != 0 && !is_of_class(r, bytes))
    return LS_MEM_BUG_SIZE;
  uint64_t bit = UINT64_C(1) << (i & 63);
  if ((r->word[i / 64] & bit) != 0)
    return LS_MEM_BUG_DOUBLE;
  r->word[i / 64] |= bit;
  r->summary |= 1u << (i / 64);
  r->nfree++;
  if (!r->listed)
    list(h, r);
  if (r->nfree == r->cap && (r->prev != NULL || r->next != NULL))
    run_end(h, c, r); /* another one of the class has free blocks */
  return LS_MEM_BUG_NONE;
}

ls_mem_bug mem_run_verify(mem_chunk *c, const void *p, size_t bytes) {
  const mem_run *r = mem_run_at(c, p);
  if (block_number(r, p) == r->cap)
    return LS_MEM_BUG_MISALIGNED;
  return is_of_class(r, bytes) ? LS_MEM_BUG_NONE : LS_MEM_BUG_SIZE;
}

void mem_run_mark(mem_chunk *c, const void *p) {
  mem_run *r = mem_run_at(c, p);
  unsigned i = block_number(r, p);
  atomic_fetch_or(&r->remote[i / 64], UINT64_C(1) << (i & 63));
  atomic_fetch_or(&c->remote_runs, mem_mask(r->first, 1));
}

/* The run may end with its last block, but not before: the others are still in use. */
void mem_run_collect(mem_heap *h, mem_chunk *c, unsigned unit) {
  mem_run *r = &c->run[unit];
  uint64_t freed[MEM_WORDS];
  for (unsigned w = 0; w < MEM_WORDS; w++)
    freed[w] = atomic_load_explicit(&r->remote[w], memory_order_relaxed) != 0
                   ? atomic_exchange(&r->remote[w], 0)
                   : 0;
  for (unsigned w = 0; w < MEM_WORDS; w++)
    for (uint64_t m = freed[w]; m != 0; m &= m - 1) {
      size_t i = w * 64 + (unsigned)__builtin_ctzll(m);
      mem_bug_report(h->m, mem_run_free(h, c, r->base + i * r->size, 0));
    }
}

void mem_runs_retire(mem_heap *h) {
  for (unsigned k = 0; k < MEM_CLASSES; k++)
    for (mem_run *r = h->runs[k], *next; r != NULL; r = next) {
      next = r->next;
      if (r->nfree == r->cap)
        run_end(h, mem_chunk_of(h->m, r->base), r);
    }
}

void mem_runs_adopt(mem_heap *h, mem_heap *from) {
  for (unsigned k = 0; k < MEM_CLASSES; k++)
    while (from->runs[k] != NULL) {
      mem_run *r = from->runs[k];
      unlist(from, r);
      list(h, r);
    }
}
