/* lists/mem/mem_heap.c - heaps as a whole: counting, ticks, parking, the end of a thread. */
#include "lists/mem/mem_int.h"

static void raise_peak(ls_mem *m, int64_t to) {
  int64_t peak = atomic_load_explicit(&m->peak, memory_order_relaxed);
  while (to > peak && !atomic_compare_exchange_weak_explicit(
                          &m->peak, &peak, to, memory_order_relaxed, memory_order_relaxed)) {
  }
}

/* Before delta changes: what it was at its highest counts from m->live as it is now. */
void mem_heap_publish(mem_heap *h) {
  int64_t delta = atomic_load_explicit(&h->delta, memory_order_relaxed);
  int64_t high = atomic_load_explicit(&h->delta_peak, memory_order_relaxed);
  atomic_store_explicit(&h->delta, 0, memory_order_relaxed);
  atomic_store_explicit(&h->delta_peak, 0, memory_order_relaxed);
  int64_t live = atomic_fetch_add_explicit(&h->m->live, delta, memory_order_relaxed);
  raise_peak(h->m, live + high);
}

void mem_heap_settle(mem_heap *h) {
  mem_outbox_flush(h);
  while (mem_inbox_waiting(h)) {
    uint32_t head = atomic_load_explicit(&h->inbox.head, memory_order_relaxed);
    mem_inbox_drain(h, h);
    if (head == atomic_load_explicit(&h->inbox.head, memory_order_relaxed))
      break; /* someone is still filling the next slot */
  }
  mem_remote_collect(h);
}

/* Whether so little is unused that its pages had better stay: they would soon be wanted again, and
 * a thread that gets little processor time would only lose and fault in pages. */
static bool is_lean(const mem_heap *h) {
  unsigned used = 0, unused = 0;
  for (const mem_chunk *c = h->chunks; c != NULL; c = c->older) {
    used += (unsigned)__builtin_popcountll(~c->free);
    unused += (unsigned)__builtin_popcountll(c->free & c->dirty);
  }
  return unused <= used / 2;
}

static void age_chunks(mem_heap *h, bool all) {
  if (!all && is_lean(h))
    return;
  for (mem_chunk *c = h->chunks; c != NULL; c = c->older)
    mem_chunk_age(h, c, all);
}

void mem_heap_tick(mem_heap *h) {
  uint64_t now = mem_now_ms();
  if (now - h->ticked < h->m->o.decay_ms)
    return;
  h->ticked = now;
  mem_heap_settle(h);
  mem_heap_adopt_all(h);
  mem_lifo_flush(h);
  mem_stacks_flush(h);
  mem_runs_retire(h);
  age_chunks(h, false);
  mem_central_age(h, false);
  mem_big_age(h, false);
}

static void retire_empty(mem_heap *h) {
  for (mem_chunk *c = h->chunks, *older; c != NULL; c = older) {
    older = c->older;
    if (c->bin == MEM_UNITS)
      mem_chunk_retire(h, c);
  }
}

void mem_heap_park(mem_heap *h) {
  mem_heap_settle(h);
  mem_heap_adopt_all(h);
  mem_heap_settle(h);
  mem_lifo_flush(h);
  mem_stacks_flush(h);
  mem_runs_retire(h);
  retire_empty(h);
  age_chunks(h, true);
  mem_central_age(h, true);
  mem_big_age(h, true);
}

/* What is still in use stays with the heap until someone adopts it. */
void mem_heap_abandon(mem_heap *h) {
  ls_mem *m = h->m;
  mem_heap_settle(h);
  mem_outbox_flush(h);
  mem_lifo_flush(h);
  mem_stacks_flush(h);
  mem_runs_retire(h);
  retire_empty(h);
  mem_heap_publish(h);
  pthread_mutex_lock(&m->lock);
  atomic_fetch_add(h->chunks != NULL ? &m->orphans : &m->spares, 1);
  atomic_store(&h->thread, 0);
  pthread_mutex_unlock(&m->lock);
}

/* Under m->lock.  First the owner, then the bits: see mem_remote.c:mark. */
static void adopt(mem_heap *h, mem_heap *from) {
  mem_runs_adopt(h, from);
  while (from->chunks != NULL) {
    mem_chunk *c = from->chunks;
    from->chunks = c->older;
    c->bin = 0;
    mem_chunk_attach(h, c);
    mem_count(h, LS_MEM_COUNT_adopted, 1);
  }
  for (unsigned b = 0; b <= MEM_UNITS; b++)
    from->bins[b] = NULL;
  from->binmap = 0;
  from->nempty = 0;
  from->nchunks = 0;
  atomic_store(&h->pending, 1);
}

/* Also blocks that someone freed to an ended thread's heap after that. */
void mem_heap_adopt_all(mem_heap *h) {
  ls_mem *m = h->m;
  if (atomic_load_explicit(&m->orphans, memory_order_relaxed) == 0 &&
      atomic_load_explicit(&m->spares, memory_order_relaxed) == 0)
    return;
  pthread_mutex_lock(&m->lock);
  for (mem_heap *from = atomic_load(&m->heaps); from != NULL; from = from->next) {
    if (atomic_load_explicit(&from->thread, memory_order_relaxed) != 0)
      continue;
    if (from->chunks != NULL) {
      adopt(h, from);
      atomic_fetch_sub(&m->orphans, 1);
      atomic_fetch_add(&m->spares, 1);
    }
    mem_inbox_drain(h, from);
  }
  pthread_mutex_unlock(&m->lock);
  mem_remote_collect(h);
}
