/* lists/mem/mem_run.c - blocks up to 64 KB: runs of units cut into blocks of one class.
 *
 * Which blocks are free is a bitmap beside the run, not a list through the blocks: nothing is read
 * or written in memory that nobody uses, and a second free is seen at once.
 *
 * In front of the runs each heap has a stack of freed blocks for each class.  Blocks go between
 * stacks and runs several at a time: a run that has its first free block, or its last no more,
 * joins or leaves a list, and with blocks of a full run freed here and there that would be every
 * other time.
 */
#include "lists/mem/mem_int.h"

#include <string.h>

size_t mem_class_size(unsigned class) {
  if (class < MEM_FINE)
    return (class + 1) * (size_t)64;
  return ((class - MEM_FINE) % 8 + 9) << ((class - MEM_FINE) / 8 + 7);
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
  r->slack = (uint16_t)(size - (class > 0 ? mem_class_size(class - 1) : 0));
  r->inverse = ((UINT64_C(1) << 40) + size - 1) / size;
  r->cap = r->nfree = (uint16_t)(units * MEM_UNIT / size);
  r->class = (uint8_t) class;
  r->units = (uint8_t)units;
  r->first = (uint8_t)at.unit;
  memset(r->bits, 0, sizeof r->bits);
  for (unsigned i = 0; i < r->cap; i += 64)
    r->bits[i / 64].free = ~UINT64_C(0) >> (r->cap - i < 64 ? 64 - (r->cap - i) : 0);
  r->summary = (uint16_t)mem_mask(0, (r->cap + 63u) / 64);
  for (unsigned i = 0; i < units; i++)
    at.chunk->kind[at.unit + i] = (uint8_t)(MEM_RUN | i);
  list(h, r);
  mem_count(h, LS_MEM_COUNT_small_runs, 1);
  return h->runs[class];
}

static void run_end(mem_heap *h, mem_run *r) {
  mem_chunk *c = mem_chunk_of(h->m, r->base);
  unlist(h, r);
  memset(&c->kind[r->first], 0, r->units);
  mem_units_give(h, c, r->first, r->units);
}

/* A free block of the first run of a class, which has one. */
static unsigned run_take(mem_heap *h, mem_run *r) {
  unsigned w = (unsigned)__builtin_ctz(r->summary);
  uint64_t word = r->bits[w].free;
  unsigned b = (unsigned)__builtin_ctzll(word);
  r->bits[w].free = word &= word - 1;
  if (word == 0)
    r->summary &= (uint16_t)(r->summary - 1);
  if (--r->nfree == 0)
    unlist(h, r);
  return w * 64 + b;
}

static void run_put(mem_heap *h, mem_run *r, unsigned i) {
  mem_run_bits *bits = &r->bits[i / 64];
  bits->free |= UINT64_C(1) << (i & 63);
  r->summary |= (uint16_t)(1u << (i / 64));
  r->nfree++;
  if (!r->listed)
    list(h, r);
  if (r->nfree == r->cap && (r->prev != NULL || r->next != NULL))
    run_end(h, r); /* another one of the class has free blocks */
}

static mem_run *held_run(uint64_t held) {
  return (mem_run *)(uintptr_t)(held & ((UINT64_C(1) << 48) - 1));
}

static unsigned held_number(uint64_t held) { return (unsigned)(held >> 48); }

static void push(mem_stack *s, mem_run *r, unsigned i) {
  r->bits[i / 64].held |= UINT64_C(1) << (i & 63);
  s->block[s->n++] = (uint64_t)(uintptr_t)r | (uint64_t)i << 48;
}

static void *pop(mem_stack *s) {
  uint64_t held = s->block[--s->n];
  mem_run *r = held_run(held);
  unsigned i = held_number(held);
  r->bits[i / 64].held &= ~(UINT64_C(1) << (i & 63));
  return r->base + (size_t)i * r->size;
}

/* Those that have been there longest go to their runs. */
static void spill(mem_heap *h, mem_stack *s, unsigned n) {
  for (unsigned k = 0; k < n; k++) {
    mem_run *r = held_run(s->block[k]);
    unsigned i = held_number(s->block[k]);
    r->bits[i / 64].held &= ~(UINT64_C(1) << (i & 63));
    run_put(h, r, i);
  }
  s->n -= n;
  memmove(s->block, s->block + n, s->n * sizeof s->block[0]);
}

/* A stack holds 32 KB at most where blocks may be kept as usual. */
void mem_stacks_init(mem_heap *h) {
  for (unsigned k = 0; k < MEM_CLASSES; k++) {
    uint64_t most = h->m->o.lifo_bytes / 512 / mem_class_size(k);
    h->stack[k].most = most < MEM_STACK ? (uint32_t)most : MEM_STACK;
  }
}

void mem_stacks_flush(mem_heap *h) {
  for (unsigned k = 0; k < MEM_CLASSES; k++)
    spill(h, &h->stack[k], h->stack[k].n);
}

/* The stack is empty: some blocks of one run, half a stack at most. */
static void *refill(mem_heap *h, unsigned class) {
  mem_stack *s = &h->stack[class];
  mem_run *r = h->runs[class];
  if (r == NULL && (r = run_begin(h, class)) == NULL)
    return NULL;
  unsigned first = run_take(h, r);
  unsigned n = r->nfree < s->most / 2 ? r->nfree : s->most / 2;
  while (n-- > 0)
    push(s, r, run_take(h, r));
  return r->base + (size_t)first * r->size;
}

void *mem_run_alloc(mem_heap *h, unsigned class) {
  mem_stack *s = &h->stack[class];
  return MEM_LIKELY(s->n != 0) ? pop(s) : refill(h, class);
}

/* Number of the block at p; cap: p is not the start of one. */
static unsigned block_number(const mem_run *r, const void *p) {
  uint64_t offset = (uint64_t)((const char *)p - r->base);
  uint64_t i = offset * r->inverse >> 40;
  return i < r->cap && i * r->size == offset ? (unsigned)i : r->cap;
}

static bool is_of_class(const mem_run *r, size_t bytes) { return r->size - bytes < r->slack; }

ls_mem_bug mem_run_free(mem_heap *h, mem_run *r, const void *p, size_t bytes) {
  unsigned i = block_number(r, p);
  if (i == r->cap)
    return LS_MEM_BUG_MISALIGNED;
  if (bytes != 0 && !is_of_class(r, bytes))
    return LS_MEM_BUG_SIZE;
  const mem_run_bits *bits = &r->bits[i / 64];
  if (((bits->free | bits->held) >> (i & 63) & 1) != 0)
    return LS_MEM_BUG_DOUBLE;
  mem_stack *s = &h->stack[r->class];
  if (s->n >= s->most)
    spill(h, s, (s->n + 1) / 2);
  if (s->most != 0)
    push(s, r, i);
  else
    run_put(h, r, i);
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
      mem_bug_report(h->m, mem_run_free(h, r, r->base + i * r->size, 0));
    }
}

void mem_runs_retire(mem_heap *h) {
  for (unsigned k = 0; k < MEM_CLASSES; k++)
    for (mem_run *r = h->runs[k], *next; r != NULL; r = next) {
      next = r->next;
      if (r->nfree == r->cap)
        run_end(h, r);
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
