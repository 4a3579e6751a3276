/* lists/mem/mem_remote.c - blocks freed on another thread than their owner's.
 *
 * They wait in an outbox per owner until it is full, and go from there into the owner's inbox
 * together.  A full inbox never makes anyone wait: what does not fit is marked in the chunk's
 * remote bits, and the owner is told that there are some.  Freed blocks are not written to: the
 * line may be in another cache, or the page not there at all.
 */
#include "lists/mem/mem_int.h"

/* How many of the n blocks found room.  *seen: where the inbox began when last looked at, which is
 * looked at again only when there seems to be too little room: the owner writes there. */
static unsigned inbox_push(mem_heap *to, const mem_parcel *parcel, unsigned n, uint32_t *seen) {
  mem_inbox *in = &to->inbox;
  uint32_t size = (uint32_t)to->m->o.inbox;
  uint32_t tail = atomic_load_explicit(&in->tail, memory_order_relaxed), k;
  do {
    if (tail - *seen + n > size)
      *seen = atomic_load_explicit(&in->head, memory_order_acquire);
    uint32_t room = size - (tail - *seen);
    k = room > size ? 0 : room < n ? room : n;
    if (k == 0)
      return 0;
  } while (!atomic_compare_exchange_weak_explicit(&in->tail, &tail, tail + k, memory_order_relaxed,
                                                  memory_order_relaxed));
  for (uint32_t i = 0; i < k; i++)
    atomic_store_explicit(&in->slot[(tail + i) % MEM_INBOX], parcel[i], memory_order_release);
  return k;
}

/* The owner is read after the bit is there: who adopts a chunk becomes its owner first and
 * collects the bits then, so that one of the two sees the other. */
static void mark(mem_heap *h, mem_parcel x) {
  void *p = mem_parcel_block(x);
  mem_chunk *c = mem_chunk_of(h->m, p);
  ls_mem_bug bug = mem_block_verify(c, p, mem_parcel_bytes(x));
  if (bug != LS_MEM_BUG_NONE) {
    mem_bug_report(h->m, bug);
    return;
  }
  unsigned unit = (unsigned)((size_t)((char *)p - c->base) / MEM_UNIT);
  if ((c->kind[unit] & MEM_RUN) != 0)
    mem_run_mark(c, p);
  else if ((atomic_fetch_or(&c->remote, mem_mask(unit, 1)) & mem_mask(unit, 1)) != 0)
    mem_bug_report(h->m, LS_MEM_BUG_DOUBLE);
  mem_heap *owner = atomic_load(&c->owner);
  if (owner != NULL && atomic_load(&owner->pending) == 0)
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
  for (unsigned k = inbox_push(o->owner, o->parcel, n, &h->outbox_head[i]); k < n; k++)
    mark(h, o->parcel[k]);
}

void mem_outbox_flush(mem_heap *h) {
  for (unsigned i = 0; i < MEM_OUTBOXES; i++)
    outbox_send(h, i);
}

void mem_remote_free(mem_heap *h, mem_heap *owner, mem_parcel x) {
  unsigned i = owner->index % MEM_OUTBOXES;
  mem_outbox *o = &h->outbox[i];
  if (o->owner != owner) {
    outbox_send(h, i);
    o->owner = owner;
    h->outbox_head[i] = atomic_load_explicit(&owner->inbox.head, memory_order_acquire);
  }
  o->parcel[h->outbox_n[i]++] = x;
  if (h->outbox_n[i] >= h->m->o.outbox)
    outbox_send(h, i);
}

/* A block of a chunk that has changed hands meanwhile goes on to its new owner. */
static void take_in(mem_heap *h, mem_parcel x) {
  void *p = mem_parcel_block(x);
  mem_chunk *c = mem_chunk_of(h->m, p);
  mem_heap *owner = atomic_load_explicit(&c->owner, memory_order_acquire);
  if (owner == h)
    mem_bug_report(h->m, mem_block_home(h, c, p, mem_parcel_bytes(x)));
  else if (owner != NULL)
    mem_remote_free(h, owner, x);
  else
    mem_bug_report(h->m, LS_MEM_BUG_DOUBLE);
}

/* The slots are given back first: what take_in sends on may come back here. */
void mem_inbox_drain(mem_heap *h, mem_heap *from) {
  mem_inbox *in = &from->inbox;
  mem_parcel parcel[MEM_INBOX];
  uint32_t head = atomic_load_explicit(&in->head, memory_order_relaxed);
  unsigned n = 0;
  while (n < MEM_INBOX) {
    _Atomic mem_parcel *slot = &in->slot[(head + n) % MEM_INBOX];
    parcel[n] = atomic_load_explicit(slot, memory_order_acquire);
    if (parcel[n] == 0)
      break;
    atomic_store_explicit(slot, 0, memory_order_relaxed);
    n++;
  }
  if (n != 0)
    atomic_store_explicit(&in->head, head + n, memory_order_release);
  for (unsigned i = 0; i < n; i++)
    take_in(h, parcel[i]);
  if (from == h && atomic_load_explicit(&h->pending, memory_order_relaxed) != 0)
    mem_remote_collect(h);
}

static void collect_chunk(mem_heap *h, mem_chunk *c) {
  uint64_t units = 0, runs = 0;
  if (atomic_load(&c->remote_runs) != 0)
    runs = atomic_exchange(&c->remote_runs, 0);
  if (atomic_load(&c->remote) != 0)
    units = atomic_exchange(&c->remote, 0);
  for (; runs != 0; runs &= runs - 1)
    mem_run_collect(h, c, (unsigned)__builtin_ctzll(runs));
  for (; units != 0; units &= units - 1)
    mem_bug_report(h->m, mem_block_home(h, c, mem_unit_at(c, (unsigned)__builtin_ctzll(units)), 0));
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
