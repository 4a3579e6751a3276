/* lists/ls_block.c - counted blocks of cells.
 *
 * [ls_block, one cache line][cells ...]: lists and everyone else keep the address of the cells.
 * A list owns one hold of each of its blocks, a snapshot another.  Only the owner's list
 * writes, and only to blocks with one holder or to cells past the pinned ones.
 */
#include "lists/lists_int.h"

#include <stdatomic.h>
#include <string.h>

typedef struct {
  ls_mem *mem;
  size_t bytes;    /* of cells */
  uint64_t pinned; /* cells that a snapshot may see */
  atomic_uint holders;
} ls_block;

#define HEAD LS_MEM_ALIGN
_Static_assert(sizeof(ls_block) <= HEAD, "the head of a block is one cache line");

static ls_block *block_of(const void *cells) {
  return (ls_block *)(void *)((char *)(uintptr_t)cells - HEAD);
}

void *ls_block_new(ls_mem *m, size_t bytes, bool zero) {
  if (bytes > SIZE_MAX / 2)
    return NULL;
  ls_block *b = zero ? ls_mem_zalloc(m, HEAD + bytes) : ls_mem_alloc(m, HEAD + bytes);
  if (b == NULL)
    return NULL;
  b->mem = m;
  b->bytes = bytes;
  b->pinned = 0;
  atomic_init(&b->holders, 1);
  return (char *)b + HEAD;
}

void *ls_block_grow(void *cells, size_t bytes) {
  ls_block *b = block_of(cells);
  if (bytes > SIZE_MAX / 2)
    return NULL;
  b = ls_mem_resize(b->mem, b, HEAD + b->bytes, HEAD + bytes);
  if (b == NULL)
    return NULL;
  b->bytes = bytes;
  return (char *)b + HEAD;
}

void *ls_block_copy(const void *cells) {
  const ls_block *b = block_of(cells);
  void *copy = ls_block_new(b->mem, b->bytes, false);
  if (copy != NULL)
    memcpy(copy, cells, b->bytes);
  return copy;
}

void ls_block_hold(void *cells) {
  if (cells != NULL)
    atomic_fetch_add_explicit(&block_of(cells)->holders, 1, memory_order_relaxed);
}

void ls_block_drop(void *cells) {
  if (cells == NULL)
    return;
  ls_block *b = block_of(cells);
  if (atomic_fetch_sub_explicit(&b->holders, 1, memory_order_acq_rel) == 1)
    ls_mem_free(b->mem, b, HEAD + b->bytes);
}

/* Acquire: what the last other holder read, it read before we write. */
bool ls_block_shared(const void *cells) {
  return cells != NULL && atomic_load_explicit(&block_of(cells)->holders, memory_order_acquire) > 1;
}

size_t ls_block_bytes(const void *cells) { return cells != NULL ? block_of(cells)->bytes : 0; }

void ls_block_pin(void *cells, uint64_t n) {
  if (cells != NULL && n > block_of(cells)->pinned)
    block_of(cells)->pinned = n;
}

uint64_t ls_block_pinned(const void *cells) { return cells != NULL ? block_of(cells)->pinned : 0; }
