/* lists/mem/mem_remote.c - blocks freed on another thread than their owner's.
 *
 * They wait in an outbox per owner until it is full, and go from there into the owner's inbox
 * together.  A full inbox never makes anyone wait: what does not fit is marked in the chunk's
 * remote bits, and the owner is told that there are some.  Freed blocks are not written to: the
 * line may be in another cache, or the page not there at all.
 */
#include "lists/mem/mem_int.h"

/* How many of the n blocks found room. */
static unsigned inbox_push(mem_heap *to, void *const *block, unsigned n) {
  mem_inbox *in = &to->inbox;
  uint32_t size = (uint32_t)to->m->o.inbox;
  uint32_t tail = atomic_load_explicit(&in->tail, memory_order_relaxed), k;
  do {
    uint32_t room = size - (tail - atomic_load_explicit(&in->head, memory_order_acquire));
    k = room > size ? 0 : room < n ? room : n;
    if (k == 0)
      return 0;
  } while (!atomic_compare_exchange_weak_explicit(&in->tail, &tail, tail + k, memory_order_relaxed,
                                                  memory_order_relaxed));
  for (uint32_t i = 0; i < k; i++)
    atomic_store_explicit(&in->slot[(tail + i) % MEM_INBOX], block[i], memory_order_release);
  return k;
}

/* The owner is read after the bit is there: who adopts a chunk becomes its owner first and
 * collects the bits then, so that one of the two sees the other. */
static void mark(mem_heap *h, void *p) {
  mem_chunk *c = mem_chunk_of(h->m, p);
  unsigned unit = (unsigned)((size_t)((char *)p - c->base) / MEM_UNIT);
  if ((c->kind[unit] & MEM_RUN) != 0)
    mem_run_mark(c, p);
  else if ((atomic_fetch_or(&c->remote, mem_mask(unit, 1)) & mem_mask(unit, 1)) != 0)
    mem_bug_report(h->m, LS_MEM_BUG_DOUBLE);
  mem_heap *owner = atomic_load(&c->owner);
  if (owner != NULL)
    atomic_store(&owner->pending, 1);
  mem_count(h, LS_MEM_COUNT_overflows, 1);
}

static void outbox_send(mem_heap *h, unsigned i) {
  mem_outbox *o = &h->outbox[i];
  unsigned n = h->outbox_n[i];
  if (n == 0)
    return;
  h->outbox_n[i] = 0;
  mem_count(h, LS_MEM_COUNT_flushes, 1);
  for (unsigned k = inbox_push(o->owner, o->block, n); k < n; k++)
    mark(h, o->block[k]);
}

void mem_outbox_flush(mem_heap *h) {
  for (unsigned i = 0; i < MEM_OUTBOXES; i++)
    outbox_send(h, i);
}

void mem_remote_free(mem_heap *h, mem_heap *owner, void *p) {
  unsigned i = owner->index % MEM_OUTBOXES;
  mem_outbox *o = &h->outbox[i];
  if (o->owner != owner) {
    outbox_send(h, i);
    o->owner = owner;
  }
  o->block[h->outbox_n[i]++] = p;
  if (h->outbox_n[i] >= h->m->o.outbox)
    outbox_send(h, i);
}

/* A block of a chunk that has changed hands meanwhile goes on to its new owner. */
static void take_in(mem_heap *h, void *p) {
  mem_chunk *c = mem_chunk_of(h->m, p);
  mem_heap *owner = atomic_load_explicit(&c->owner, memory_order_acquire);
  if (owner == h)
    mem_bug_report(h->m, mem_block_home(h, c, p));
  else if (owner != NULL)
    mem_remote_free(h, owner, p);
  else
    mem_bug_report(h->m, LS_MEM_BUG_DOUBLE);
}

/* Block by block, the slot given back first: what take_in sends on may come back here. */
void mem_inbox_drain(mem_heap *h, mem_heap *from) {
  mem_inbox *in = &from->inbox;
  uint32_t head = atomic_load_explicit(&in->head, memory_order_relaxed);
  for (unsigned i = 0; i < MEM_INBOX; i++) {
    void *p = atomic_load_explicit(&in->slot[head % MEM_INBOX], memory_order_acquire);
    if (p == NULL)
      break;
    atomic_store_explicit(&in->slot[head % MEM_INBOX], NULL, memory_order_relaxed);
    atomic_store_explicit(&in->head, ++head, memory_order_release);
    take_in(h, p);
  }
  if (from == h && atomic_load_explicit(&h->pending, memory_order_relaxed) != 0)
    mem_remote_collect(h);
}

static void collect_chunk(mem_heap *h, mem_chunk *c) {
  uint64_t units = 0, runs = 0;
  if (atomic_load_explicit(&c->remote_runs, memory_order_relaxed) != 0)
    runs = atomic_exchange(&c->remote_runs, 0);
  if (atomic_load_explicit(&c->remote, memory_order_relaxed) != 0)
    units = atomic_exchange(&c->remote, 0);
  for (; runs != 0; runs &= runs - 1)
    mem_run_collect(h, c, (unsigned)__builtin_ctzll(runs));
  for (; units != 0; units &= units - 1)
    mem_bug_report(h->m, mem_block_home(h, c, mem_unit_at(c, (unsigned)__builtin_ctzll(units))));
}

void mem_remote_collect(mem_heap *h) {
  if (atomic_exchange(&h->pending, 0) == 0)
    return;
  /* Chunks that become empty meanwhile, and not only the one that is looked at, stay until the
   * end: they would take the rest of the walk into another heap. */
  h->walking = true;
  for (mem_chunk *c = h->chunks; c != NULL; c = c->older)
    collect_chunk(h, c);
  h->walking = false;
  while (h->nempty > 1)
    mem_chunk_retire(h, h->bins[MEM_UNITS]);
}
