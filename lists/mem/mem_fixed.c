/* lists/mem/mem_fixed.c - blocks from one buffer of the host's.
 *
 * [ls_mem][blocks and gaps ...][LS_MEM_PAD bytes]: sizes in steps of 64 bytes, no headers.  Gaps
 * are a list in the order of addresses, kept in the gaps themselves; a block comes from the
 * smallest that fits, and a freed one joins its neighbours.  Walking the list is slow where there
 * are many gaps; buffers are for small programs.
 */
#include "lists/mem/mem_int.h"

#include <string.h>

struct mem_gap {
  mem_gap *next;
  size_t size;
};

static size_t rounded(size_t bytes) {
  return (bytes + MEM_OWN_PAD + LS_MEM_ALIGN - 1) & ~(size_t)(LS_MEM_ALIGN - 1);
}

ls_mem *mem_fixed_new(const ls_mem_options *o) {
  size_t skip = (64 - ((uintptr_t)o->buffer & 63)) & 63;
  size_t head = (sizeof(ls_mem) + 63) & ~(size_t)63;
  if (o->buffer_bytes < skip + head + 64 + LS_MEM_PAD)
    return NULL;
  ls_mem *m = (ls_mem *)(void *)((char *)o->buffer + skip);
  memset(m, 0, sizeof *m);
  m->source = MEM_FROM_BUFFER;
  m->buffer = (char *)m + head;
  m->buffer_bytes = (o->buffer_bytes - skip - head - LS_MEM_PAD) & ~(size_t)63;
  m->gaps = (mem_gap *)(void *)m->buffer;
  *m->gaps = (mem_gap){NULL, m->buffer_bytes};
  return m;
}

static void *take(mem_gap **at, size_t size) {
  mem_gap *g = *at;
  if (g->size == size) {
    *at = g->next;
  } else {
    mem_gap *rest = (mem_gap *)(void *)((char *)g + size);
    *rest = (mem_gap){g->next, g->size - size};
    *at = rest;
  }
  return g;
}

void *mem_fixed_alloc(ls_mem *m, size_t bytes) {
  if (bytes > m->buffer_bytes)
    return NULL;
  size_t size = rounded(bytes);
  mem_gap **best = NULL;
  void *p = NULL;
  pthread_mutex_lock(&m->lock);
  for (mem_gap **at = &m->gaps; *at != NULL; at = &(*at)->next)
    if ((*at)->size >= size && (best == NULL || (*at)->size < (*best)->size))
      best = at;
  if (best != NULL)
    p = take(best, size);
  pthread_mutex_unlock(&m->lock);
  return p;
}

/* prev: the gap before, or NULL. */
static void put(ls_mem *m, mem_gap *prev, mem_gap *g, size_t size) {
  g->next = prev != NULL ? prev->next : m->gaps;
  g->size = size;
  if (g->next != NULL && (char *)g + size == (char *)g->next) {
    g->size += g->next->size;
    g->next = g->next->next;
  }
  if (prev != NULL && (char *)prev + prev->size == (char *)g) {
    prev->size += g->size;
    prev->next = g->next;
  } else if (prev != NULL) {
    prev->next = g;
  } else {
    m->gaps = g;
  }
}

ls_mem_bug mem_fixed_free(ls_mem *m, void *block, size_t bytes) {
  char *p = block;
  size_t size = rounded(bytes), at = (size_t)((uintptr_t)p - (uintptr_t)m->buffer);
  if (at >= m->buffer_bytes || size > m->buffer_bytes - at)
    return LS_MEM_BUG_FOREIGN;
  if ((at & 63) != 0)
    return LS_MEM_BUG_MISALIGNED;
  pthread_mutex_lock(&m->lock);
  mem_gap *prev = NULL, *next = m->gaps;
  while (next != NULL && (char *)next < p) {
    prev = next;
    next = next->next;
  }
  bool free_already =
      (prev != NULL && (char *)prev + prev->size > p) || (next != NULL && p + size > (char *)next);
  if (!free_already)
    put(m, prev, (mem_gap *)block, size);
  pthread_mutex_unlock(&m->lock);
  return free_already ? LS_MEM_BUG_DOUBLE : LS_MEM_BUG_NONE;
}

/* The gap that begins at p, taken out of the list as far as `size`; false: there is none so large.
 */
static bool take_behind(ls_mem *m, char *p, size_t size) {
  for (mem_gap **at = &m->gaps; *at != NULL && (char *)*at <= p; at = &(*at)->next)
    if ((char *)*at == p && (*at)->size >= size) {
      (void)take(at, size);
      return true;
    }
  return false;
}

/* A block that shrinks leaves a gap behind it, one that grows takes from the gap behind it. */
bool mem_fixed_resize(ls_mem *m, void *block, size_t old, size_t bytes) {
  if (bytes > m->buffer_bytes)
    return false;
  size_t from = rounded(old), to = rounded(bytes);
  if (to < from) {
    return mem_fixed_free(m, (char *)block + to, from - to - MEM_OWN_PAD) == LS_MEM_BUG_NONE;
  }
  pthread_mutex_lock(&m->lock);
  bool ok = to == from || take_behind(m, (char *)block + from, to - from);
  pthread_mutex_unlock(&m->lock);
  return ok;
}
