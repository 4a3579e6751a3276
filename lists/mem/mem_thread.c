/* lists/mem/mem_thread.c - which heap is whose, and what happens when a thread ends.
 *
 * A thread finds its heap in a few seats of its own (by the id of the ls_mem, which is never used
 * again), else by its number among the heaps of the ls_mem.  The system calls thread_ended with
 * the thread's number, not with a pointer: an ls_mem may have been deleted meanwhile, even at this
 * very moment, and then it is simply not in the registry any more.
 *
 * There may be several copies of this code in a process: the plug-in that compiles has one, and
 * works on lists that the core has made.  Each copy has seats; all else that belongs to a thread
 * or to the process is found through the ls_mem, so that a thread has one heap, not one a copy.
 *
 * The registry is the one thing in lists/ that belongs to the process.  It is empty, and its key
 * given back, whenever there is no ls_mem.
 */
#include "lists/mem/mem_int.h"

#include <stdlib.h>
#include <string.h>

_Thread_local mem_seat mem_seats[MEM_SEATS];

struct mem_registry {
  pthread_mutex_t lock;
  pthread_key_t key; /* of the number of the thread; 0: it has none yet */
  ls_mem *all;
  uint64_t last_id;
  _Atomic uint64_t last_number;
};
static mem_registry registry = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Frees still to come on this thread find their way anew, in every copy. */
static void seats_clear(mem_heap *h) {
  for (unsigned i = 0; i < MEM_SEATED; i++) {
    if (h->seat[i] != NULL && h->seat[i]->heap == h)
      *h->seat[i] = (mem_seat){0, NULL};
    h->seat[i] = NULL;
  }
}

static void thread_ended(void *number) {
  pthread_mutex_lock(&registry.lock);
  for (ls_mem *m = registry.all; m != NULL; m = m->next)
    for (mem_heap *h = atomic_load(&m->heaps); h != NULL; h = h->next)
      if (atomic_load_explicit(&h->thread, memory_order_relaxed) == (uintptr_t)number) {
        seats_clear(h);
        mem_heap_abandon(h);
      }
  pthread_mutex_unlock(&registry.lock);
}

bool mem_registry_join(ls_mem *m) {
  pthread_mutex_lock(&registry.lock);
  bool ok = registry.all != NULL || pthread_key_create(&registry.key, thread_ended) == 0;
  if (ok) {
    m->id = ((uint64_t)(uintptr_t)&registry << 16) + ++registry.last_id; /* no other copy has it */
    m->home = &registry;
    m->next = registry.all;
    if (m->next != NULL)
      m->next->prev = m;
    registry.all = m;
  }
  pthread_mutex_unlock(&registry.lock);
  return ok;
}

void mem_registry_leave(ls_mem *m) {
  mem_registry *r = m->home;
  pthread_mutex_lock(&r->lock);
  if (m->prev != NULL)
    m->prev->next = m->next;
  else
    r->all = m->next;
  if (m->next != NULL)
    m->next->prev = m->prev;
  if (r->all == NULL)
    pthread_key_delete(r->key);
  pthread_mutex_unlock(&r->lock);
}

static mem_heap *heap_new(ls_mem *m) {
  mem_heap *h = aligned_alloc(64, (sizeof *h + 63) & ~(size_t)63);
  if (h == NULL)
    return NULL;
  memset(h, 0, sizeof *h);
  h->m = m;
  h->young = true;
  mem_stacks_init(h);
  h->ticked = mem_now_ms();
  h->index = m->nheaps++;
  h->next = atomic_load(&m->heaps);
  return h;
}

/* One of an ended thread (with its chunks, if it still has any), else a new one. */
static mem_heap *heap_find(ls_mem *m, uint64_t number) {
  mem_heap *mine = NULL, *free = NULL;
  for (mem_heap *h = atomic_load(&m->heaps); h != NULL && mine == NULL; h = h->next) {
    uint64_t thread = atomic_load_explicit(&h->thread, memory_order_relaxed);
    if (thread == number)
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
  atomic_store(&h->thread, number);
  if (free == NULL)
    atomic_store(&m->heaps, h);
  return h;
}

/* The heap knows where it sits: no room for that, no seat. */
static void sit_down(mem_heap *h) {
  mem_seat *seat = &mem_seats[h->m->id & (MEM_SEATS - 1)];
  for (unsigned i = 0; i < MEM_SEATED; i++)
    if (h->seat[i] == NULL || h->seat[i] == seat) {
      h->seat[i] = seat;
      *seat = (mem_seat){h->m->id, h};
      return;
    }
}

mem_heap *mem_heap_claim(ls_mem *m) {
  uint64_t number = (uintptr_t)pthread_getspecific(m->home->key);
  if (number == 0) {
    number = atomic_fetch_add(&m->home->last_number, 1) + 1;
    if (pthread_setspecific(m->home->key, (void *)(uintptr_t)number) != 0)
      return NULL;
  }
  pthread_mutex_lock(&m->lock);
  mem_heap *h = heap_find(m, number);
  pthread_mutex_unlock(&m->lock);
  if (h != NULL)
    sit_down(h);
  return h;
}
