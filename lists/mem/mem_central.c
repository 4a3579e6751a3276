/* lists/mem/mem_central.c - empty chunks on their way from one heap to another.
 *
 * Every heap has a shard of its own choice, by a hash of its number, and looks at the others when
 * that one has nothing.  A chunk that stays here for the decay time loses its pages.
 */
#include "lists/mem/mem_int.h"

/* splitmix64: spreads small numbers over all bits. */
static unsigned shard_of(const mem_heap *h) {
  uint64_t x = ((uint64_t)h->index + 1) * UINT64_C(0x9e3779b97f4a7c15);
  x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
  return (unsigned)((x ^ (x >> 31)) % MEM_SHARDS);
}

/* One that still has its pages, if there is one near the top. */
static mem_chunk *shard_pop(mem_shard *s) {
  mem_chunk **at = &s->chunks;
  unsigned steps = 0;
  while (*at != NULL && (*at)->dirty == 0 && (*at)->next != NULL && steps++ < 8)
    at = &(*at)->next;
  mem_chunk *c = *at;
  if (c != NULL)
    *at = c->next;
  return c;
}

mem_chunk *mem_central_take(mem_heap *h) {
  unsigned first = shard_of(h);
  for (unsigned i = 0; i < MEM_SHARDS; i++) {
    mem_shard *s = &h->m->shard[(first + i) % MEM_SHARDS];
    pthread_mutex_lock(&s->lock);
    mem_chunk *c = shard_pop(s);
    pthread_mutex_unlock(&s->lock);
    if (c != NULL) {
      mem_count(h, LS_MEM_COUNT_chunks_reused, 1);
      return c;
    }
  }
  return NULL;
}

void mem_central_give(mem_heap *h, mem_chunk *c) {
  mem_shard *s = &h->m->shard[shard_of(h)];
  c->retired_ms = mem_now_ms();
  pthread_mutex_lock(&s->lock);
  c->next = s->chunks;
  s->chunks = c;
  pthread_mutex_unlock(&s->lock);
}

static void shard_age(mem_heap *h, mem_shard *s, uint64_t now, bool all) {
  for (mem_chunk *c = s->chunks; c != NULL; c = c->next) {
    if (c->dirty == 0 || (!all && now - c->retired_ms < h->m->o.decay_ms))
      continue;
    mem_map_purge(c->base, MEM_CHUNK);
    mem_count(h, LS_MEM_COUNT_purges, 1);
    mem_count(h, LS_MEM_COUNT_purged_bytes, (uint64_t)__builtin_popcountll(c->dirty) * MEM_UNIT);
    c->dirty = 0;
  }
}

/* A shard that someone else is at is left for the next time. */
void mem_central_age(mem_heap *h, bool all) {
  uint64_t now = mem_now_ms();
  for (unsigned i = 0; i < MEM_SHARDS; i++) {
    mem_shard *s = &h->m->shard[i];
    if (all)
      pthread_mutex_lock(&s->lock);
    else if (pthread_mutex_trylock(&s->lock) != 0)
      continue;
    shard_age(h, s, now, all);
    pthread_mutex_unlock(&s->lock);
  }
}
