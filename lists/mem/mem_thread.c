/* lists/mem/mem_thread.c - which heap is whose, and what happens when a thread ends.
 *
 * A thread finds its heap in a few seats of its own (by the id of the ls_mem, which is never used
 * again), else by its number among the heaps of the ls_mem.  The system calls thread_ended with
 * the thread's number, not with a pointer: an ls_mem may have been deleted meanwhile, even at this
 * very moment, and then it is simply not in the registry any more.
 *
 * The registry is the one thing in lists/ that belongs to the process.  It is empty, and its key
 * given back, whenever there is no ls_mem.
 */
#include "lists/mem/mem_int.h"

#include <stdlib.h>
#include <string.h>

_Thread_local mem_seat mem_seats[MEM_SEATS];
static _Thread_local uint64_t my_number;

static struct {
  pthread_mutex_t lock;
  pthread_key_t key;
  ls_mem *all;
} registry = {.lock = PTHREAD_MUTEX_INITIALIZER};
static _Atomic uint64_t last_id, last_number;

static void thread_ended(void *number) {
  memset(mem_seats, 0, sizeof mem_seats); /* frees still to come find their way anew */
  pthread_mutex_lock(&registry.lock);
  for (ls_mem *m = registry.all; m != NULL; m = m->next)
    for (mem_heap *h = atomic_load(&m->heaps); h != NULL; h = h->next)
      if (atomic_load_explicit(&h->thread, memory_order_relaxed) == (uintptr_t)number)
        mem_heap_abandon(h);
  pthread_mutex_unlock(&registry.lock);
}

bool mem_registry_join(ls_mem *m) {
  pthread_mutex_lock(&registry.lock);
  bool ok = registry.all != NULL || pthread_key_create(&registry.key, thread_ended) == 0;
  if (ok) {
    m->id = atomic_fetch_add(&last_id, 1) + 1;
    m->next = registry.all;
    if (m->next != NULL)
      m->next->prev = m;
    registry.all = m;
  }
  pthread_mutex_unlock(&registry.lock);
  return ok;
}

void mem_registry_leave(ls_mem *m) {
  pthread_mutex_lock(&registry.lock);
  if (m->prev != NULL)
    m->prev->next = m->next;
  else
    registry.all = m->next;
  if (m->next != NULL)
    m->next->prev = m->prev;
  if (registry.all == NULL)
    pthread_key_delete(registry.key);
  pthread_mutex_unlock(&registry.lock);
}

static mem_heap *heap_new(ls_mem *m) {
  mem_heap *h = aligned_alloc(64, (sizeof *h + 63) & ~(size_t)63);
  if (h == NULL)
    return NULL;
  memset(h, 0, sizeof *h);
  h->m = m;
  h->young = true;
  h->ticked = mem_now_ms();
  h->index = m->nheaps++;
  h->next = atomic_load(&m->heaps);
  return h;
}

/* One of an ended thread (with its chunks, if it still has any), else a new one. */
static mem_heap *heap_find(ls_mem *m) {
  mem_heap *mine = NULL, *free = NULL;
  for (mem_heap *h = atomic_load(&m->heaps); h != NULL && mine == NULL; h = h->next) {
    uint64_t thread = atomic_load_explicit(&h->thread, memory_order_relaxed);
    if (thread == my_number)
      mine = h;
    else if (thread == 0)
      free = h;
  }
  if (mine != NULL)
    return mine;
  if (free != NULL)
    atomic_fetch_sub(free->chunks != NULL ? &m->orphans : &m->spares, 1);
  mem_heap *h = free != NULL ? free : heap_new(m);
  if (h == NULL)
    return NULL;
  atomic_store(&h->thread, my_number);
  if (free == NULL)
    atomic_store(&m->heaps, h);
  return h;
}

mem_heap *mem_heap_claim(ls_mem *m) {
  if (my_number == 0)
    my_number = atomic_fetch_add(&last_number, 1) + 1;
  if (pthread_setspecific(registry.key, (void *)(uintptr_t)my_number) != 0)
    return NULL;
  pthread_mutex_lock(&m->lock);
  mem_heap *h = heap_find(m);
  pthread_mutex_unlock(&m->lock);
  if (h != NULL)
    mem_seats[m->id & (MEM_SEATS - 1)] = (mem_seat){m->id, h};
  return h;
}
