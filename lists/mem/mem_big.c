/* lists/mem/mem_big.c - blocks above 2 MB: mappings of their own, aligned to huge pages.
 *
 * Sizes go in eight steps to each doubling, so that a freed mapping fits the next block like it;
 * a few are kept for that.  They grow by moving page tables instead of bytes.  Such blocks are few
 * and cost microseconds anyway: one lock, and a plain list of those in use.
 */
#include "lists/mem/mem_int.h"

#include <stdlib.h>
#include <string.h>

#define CACHED (sizeof((mem_bigs *)0)->cached / sizeof((mem_bigs *)0)->cached[0])

static size_t big_size(size_t bytes) {
  size_t step = (size_t)1 << (60 - __builtin_clzll(bytes - 1));
  return (bytes + LS_MEM_PAD + step - 1) & ~(step - 1);
}

static bool live_reserve(mem_bigs *b) {
  if (b->nlive < b->live_cap)
    return true;
  size_t cap = b->live_cap != 0 ? b->live_cap * 2 : 16;
  mem_mapping *to = realloc(b->live, cap * sizeof *to);
  if (to == NULL)
    return false;
  b->live = to;
  b->live_cap = cap;
  return true;
}

static mem_mapping *live_find(mem_bigs *b, const void *p) {
  for (size_t i = b->nlive; i-- > 0;)
    if (b->live[i].block == p)
      return &b->live[i];
  return NULL;
}

static char *cache_take(mem_bigs *b, size_t size) {
  for (size_t i = b->ncached; i-- > 0;)
    if (b->cached[i].size == size) {
      char *p = b->cached[i].block;
      b->cached[i] = b->cached[--b->ncached];
      b->cached_bytes -= size;
      return p;
    }
  return NULL;
}

static char *map_new(ls_mem *m, size_t size) {
  char *p = mem_map_reserve(size, MEM_HUGE);
  if (p != NULL) {
    mem_map_advise(p, size, m->o.huge_pages != 0);
    mem_map_rooted(p, size, true);
  }
  return p;
}

static void unmap(char *p, size_t size) {
  mem_map_rooted(p, size, false);
  mem_map_free(p, size);
}

void *mem_big_alloc(mem_heap *h, size_t bytes, bool *zero) {
  mem_bigs *b = &h->m->bigs;
  size_t size = big_size(bytes);
  char *p = NULL;
  pthread_mutex_lock(&b->lock);
  if (live_reserve(b)) {
    p = cache_take(b, size);
    *zero = p == NULL;
    if (p != NULL)
      mem_count(h, LS_MEM_COUNT_big_cached, 1);
    else
      p = map_new(h->m, size);
    if (p != NULL)
      b->live[b->nlive++] = (mem_mapping){p, size, 0};
  }
  pthread_mutex_unlock(&b->lock);
  mem_count(h, LS_MEM_COUNT_big, 1);
  return p;
}

/* What has to make room, and at last p itself, is unmapped; under the lock, which few ever want. */
static void keep(ls_mem *m, char *p, size_t size) {
  mem_bigs *b = &m->bigs;
  if (size > m->o.cache_bytes / 2) {
    unmap(p, size);
    return;
  }
  while (b->ncached == CACHED || b->cached_bytes + size > m->o.cache_bytes) {
    mem_mapping oldest = b->cached[0];
    memmove(&b->cached[0], &b->cached[1], --b->ncached * sizeof b->cached[0]);
    b->cached_bytes -= oldest.size;
    unmap(oldest.block, oldest.size);
  }
  mem_map_poison(p, size);
  b->cached[b->ncached++] = (mem_mapping){p, size, mem_now_ms()};
  b->cached_bytes += size;
}

ls_mem_bug mem_big_free(mem_heap *h, void *p, size_t bytes) {
  mem_bigs *b = &h->m->bigs;
  ls_mem_bug bug = LS_MEM_BUG_NONE;
  pthread_mutex_lock(&b->lock);
  mem_mapping *at = live_find(b, p);
  if (at == NULL) {
    bug = LS_MEM_BUG_FOREIGN;
    for (size_t i = 0; i < b->ncached; i++)
      if (b->cached[i].block == p)
        bug = LS_MEM_BUG_DOUBLE;
  } else if (at->size != big_size(bytes)) {
    bug = LS_MEM_BUG_SIZE;
  } else {
    size_t size = at->size;
    *at = b->live[--b->nlive];
    keep(h->m, p, size);
  }
  pthread_mutex_unlock(&b->lock);
  return bug;
}

void *mem_big_resize(mem_heap *h, void *p, size_t old, size_t bytes) {
  mem_bigs *b = &h->m->bigs;
  size_t size = big_size(bytes);
  void *to = NULL;
  pthread_mutex_lock(&b->lock);
  mem_mapping *at = live_find(b, p);
  if (at != NULL && at->size == big_size(old)) {
    mem_map_unpoison(p, at->size); /* it may move away */
    to = size == at->size ? p : mem_map_resize(p, at->size, size);
    if (to != NULL)
      mem_map_unpoison(to, size);
    if (to != NULL && size != at->size) {
      mem_map_rooted(p, at->size, false);
      mem_map_rooted(to, size, true);
      *at = (mem_mapping){to, size, 0};
    }
  }
  pthread_mutex_unlock(&b->lock);
  return to;
}

/* The oldest are at the front, except after a reuse, which does not matter. */
void mem_big_age(mem_heap *h, bool all) {
  mem_bigs *b = &h->m->bigs;
  uint64_t now = mem_now_ms();
  pthread_mutex_lock(&b->lock);
  for (size_t i = b->ncached; i-- > 0;) {
    mem_mapping c = b->cached[i];
    if (!all && now - c.freed_ms < h->m->o.decay_ms)
      continue;
    memmove(&b->cached[i], &b->cached[i + 1], (--b->ncached - i) * sizeof c);
    b->cached_bytes -= c.size;
    unmap(c.block, c.size);
    mem_count(h, LS_MEM_COUNT_purges, 1);
    mem_count(h, LS_MEM_COUNT_purged_bytes, c.size);
  }
  pthread_mutex_unlock(&b->lock);
}

void mem_big_delete(ls_mem *m) {
  mem_bigs *b = &m->bigs;
  for (size_t i = 0; i < b->ncached; i++)
    unmap(b->cached[i].block, b->cached[i].size);
  for (size_t i = 0; i < b->nlive; i++)
    unmap(b->live[i].block, b->live[i].size);
  free(b->live);
}
