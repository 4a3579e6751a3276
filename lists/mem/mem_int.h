/* lists/mem/mem_int.h - what the files of lists/mem share.  Not for other folders.
 *
 *   region   chunks side by side, then their descriptors; never unmapped before the ls_mem
 *   chunk    4 MB, aligned, in 64 units of 64 KB; owned by one heap, or by a shard when empty
 *   run      1 to 8 units cut into blocks of one class, up to 64 KB
 *   block    one of a run, or 2 to 32 whole units, or (big) a mapping of its own
 *   heap     what one thread owns: chunks, bins, runs, outboxes, inbox
 *
 * Blocks have no headers: a chunk's descriptor lies outside it, is found by the block's address,
 * and says what each unit is part of.
 *
 * Who writes what
 *   heap->inbox, heap->pending, chunk->remote*, run->remote   any thread, atomically
 *   chunk->owner   the owner, or who holds m->lock and adopts an ended thread's heap
 *   the rest of a heap, chunk or run   the owner alone
 * Locks: registry (mem_thread.c) before m->lock before a shard's or the big blocks' lock.
 *
 * Invariants of a chunk at rest
 *   bin of the chunk == longest run of bits in free; free == all ones => it is empty
 *   aged is part of what was free at the last tick; a unit that is not dirty reads as zero
 */
#ifndef PURE_LISTS_MEM_INT_H
#define PURE_LISTS_MEM_INT_H

#include <pthread.h>
#include <stdatomic.h>

#include "lists/mem/mem.h"

#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define MEM_UNDER_ASAN 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#define MEM_UNDER_ASAN 1
#endif
#ifndef MEM_UNDER_ASAN
#define MEM_UNDER_ASAN 0
#endif

#ifdef __linux__
#define MEM_MAPS 1
#else
#define MEM_MAPS 0
#endif

#define MEM_LIKELY(x) __builtin_expect(!!(x), 1)

#define MEM_UNIT ((size_t)1 << 16)
#define MEM_CHUNK ((size_t)1 << 22)
#define MEM_UNITS 64u              /* of a chunk: one bit each */
#define MEM_HUGE ((size_t)1 << 21) /* a huge page: half a chunk */
#define MEM_GROUP 4u               /* units purged at least together */
#define MEM_CLASSES 64u            /* of run blocks */
#define MEM_SMALL_MAX MEM_UNIT     /* largest block of a run */
#define MEM_MAX_UNITS 32u          /* largest block in a chunk */
#define MEM_UNITS_MAX (MEM_MAX_UNITS * MEM_UNIT)
#define MEM_WORDS 16u /* of a run's bitmap: 1024 blocks of 64 bytes */
#define MEM_STACK 16u /* freed blocks of a class that are kept at hand */
#define MEM_LIFO 4u   /* freed blocks of a length that are kept whole */
#define MEM_SHARDS 8u
#define MEM_OUTBOXES 16u
#define MEM_OUTBOX 7u
#define MEM_INBOX 64u
#define MEM_POLL_OPS 16u               /* allocations from runs between looks into the inbox */
#define MEM_TICK_OPS 64u               /* allocations or frees between looks at the clock */
#define MEM_PUBLISH (INT64_C(4) << 20) /* a heap keeps so many bytes to itself in the counts */
/* Neighbours are readable, but AddressSanitizer says no to that: room of their own there. */
#define MEM_OWN_PAD (MEM_UNDER_ASAN ? (size_t)LS_MEM_PAD : 0)

typedef struct mem_heap mem_heap;
typedef struct mem_chunk mem_chunk;
typedef struct mem_run mem_run;

typedef struct {
  uint64_t free, held; /* held: freed, and on the heap's stack of the class */
} mem_run_bits;

struct mem_run {
  mem_run *next, *prev; /* runs of the class that have a free block */
  char *base;
  uint64_t inverse; /* of size: offset * inverse >> 40 is the block's number */
  uint32_t size;
  uint16_t slack;   /* a block may be smaller by less than that */
  uint16_t summary; /* bits[] with a free one */
  uint16_t cap, nfree;
  uint8_t class, units, first;
  bool listed;
  mem_run_bits bits[MEM_WORDS]; /* the first ones share a line with the above */
  _Alignas(64) _Atomic uint64_t remote[MEM_WORDS];
};
_Static_assert(offsetof(mem_run, bits) + sizeof(mem_run_bits) == 64, "one line for most classes");

/* Blocks of a class that were freed last: run | number << 48. */
typedef struct {
  uint32_t n, most;
  uint64_t block[MEM_STACK];
} mem_stack;

/* kind of a unit: 0 (free, or not the first of its block), the length of the block of units that
 * begins here, or MEM_RUN | how far behind the run's first unit is. */
#define MEM_RUN 0x80u
#define MEM_HELD 0x40u /* with a length: freed, kept whole in the LIFO */

struct mem_chunk {
  char *base;
  _Atomic(mem_heap *) owner;               /* NULL: nobody's, empty */
  _Alignas(64) _Atomic uint64_t remote;    /* blocks of units freed by others, by first unit */
  _Atomic uint64_t remote_runs;            /* runs with such blocks, by first unit */
  _Alignas(64) uint64_t free, dirty, aged; /* in one line with all that taking units looks at */
  mem_chunk *next, *prev;                  /* of the heap's bin, or of the shard */
  uint8_t bin;                             /* 0: in none */
  uint8_t cold[2];                         /* ticks that this half has been little used */
  uint8_t huge;                            /* halves that may have huge pages */
  uint8_t advised;                         /* halves that the system was asked about */
  mem_chunk *older, *newer;                /* of the heap */
  uint64_t retired_ms;                     /* when it came into a shard */
  _Alignas(64) uint8_t kind[MEM_UNITS];
  mem_run run[MEM_UNITS];
  uint8_t odd_line[64];
};
_Static_assert(sizeof(mem_chunk) / 64 % 2 == 1, "neighbours begin in different sets of the caches");

typedef struct mem_region {
  struct mem_region *next;
  char *base;
  size_t bytes, chunks;
  mem_chunk *chunk;
} mem_region;

/* Chunks by address, open addressing; grown by replacing it, the old ones stay until the end. */
typedef struct mem_table {
  struct mem_table *older;
  size_t mask, used;
  _Atomic(mem_chunk *) slot[];
} mem_table;

/* A block on its way home: address | size in lines << 48. */
typedef uint64_t mem_parcel;
static inline void *mem_parcel_block(mem_parcel x) {
  return (void *)(uintptr_t)(x & ((UINT64_C(1) << 48) - 1));
}
static inline size_t mem_parcel_bytes(mem_parcel x) { return (size_t)(x >> 48) * 64; }
static inline mem_parcel mem_parcel_of(const void *p, size_t bytes) {
  return (uint64_t)(uintptr_t)p | (uint64_t)((bytes + 63) / 64) << 48;
}
_Static_assert(MEM_UNITS_MAX / 64 < 1u << 16, "room for the size beside the address");

typedef struct {
  mem_heap *owner;
  mem_parcel parcel[MEM_OUTBOX];
} mem_outbox;
_Static_assert(sizeof(mem_outbox) == 64, "one line");

typedef struct {
  _Alignas(64) _Atomic uint32_t tail;
  _Alignas(64) _Atomic uint32_t head;
  _Alignas(64) _Atomic mem_parcel slot[MEM_INBOX]; /* 0: empty */
} mem_inbox;

typedef struct {
  mem_chunk *chunk;
  unsigned unit;
} mem_place;

/* Where a thread finds its heap at once. */
typedef struct {
  uint64_t id; /* of the ls_mem; 0: none */
  mem_heap *heap;
} mem_seat;
#define MEM_SEATS 4u  /* of a thread, in each copy of this code */
#define MEM_SEATED 4u /* of a heap, in all copies */

typedef struct mem_registry mem_registry; /* mem_thread.c */

struct mem_heap {
  ls_mem *m;
  mem_heap *next;          /* of m, never removed */
  _Atomic uint64_t thread; /* 0: nobody's; written under m->lock */
  uint32_t index;
  bool young;      /* has had no chunk yet */
  uint64_t binmap; /* bit b - 1: bin b is not empty */
  _Atomic uint64_t allocs, frees;
  _Atomic int64_t delta, delta_peak; /* bytes not yet in m->live */
  size_t lifo_bytes, lifo_most;
  uint8_t nlifo[MEM_MAX_UNITS + 1];
  uint64_t lifo[MEM_MAX_UNITS + 1][MEM_LIFO]; /* chunk | unit */
  mem_stack stack[MEM_CLASSES];
  mem_run *runs[MEM_CLASSES];
  mem_chunk *bins[MEM_UNITS + 1];
  mem_chunk *chunks;
  unsigned nchunks, nempty;
  uint64_t ticked;
  mem_seat *seat[MEM_SEATED];
  bool walking; /* over chunks: none may leave the heap */
  uint8_t outbox_n[MEM_OUTBOXES];
  uint32_t outbox_head[MEM_OUTBOXES]; /* of the owner's inbox, when last looked at */
  _Alignas(64) mem_outbox outbox[MEM_OUTBOXES];
  _Alignas(64) _Atomic uint32_t pending; /* some chunk has remote bits */
  mem_inbox inbox;
  _Alignas(64) _Atomic uint64_t count[LS_MEM_NCOUNTERS];
};

typedef struct {
  _Alignas(64) pthread_mutex_t lock;
  mem_chunk *chunks;
} mem_shard;

typedef struct {
  char *block;
  size_t size;
  uint64_t freed_ms; /* of a cached one */
} mem_mapping;

/* Blocks with mappings of their own: those in use, and those kept for reuse. */
typedef struct {
  pthread_mutex_t lock;
  mem_mapping *live;
  size_t nlive, live_cap;
  mem_mapping cached[16];
  size_t ncached, cached_bytes;
} mem_bigs;

typedef struct mem_gap mem_gap; /* mem_fixed.c */

typedef enum { MEM_FROM_RUNS, MEM_FROM_SYSTEM, MEM_FROM_HOOKS, MEM_FROM_BUFFER } mem_source;

struct ls_mem {
  uint64_t id; /* never used again in the process */
  mem_source source;
  _Atomic uint32_t guarded; /* allocations may have to fail: a limit, an injected failure */
  ls_mem_options o;
  ls_mem_hooks hooks;
  _Atomic(mem_table *) table;
  _Alignas(64) _Atomic uint64_t fail_in; /* 0: off */
  _Atomic uint64_t most;                 /* 0: no limit on live bytes */
  atomic_int fail_sticky;
  _Alignas(64) _Atomic int64_t live;
  _Atomic int64_t peak;
  _Atomic uint64_t allocs, frees; /* of sources other than runs */
  _Atomic uint64_t bugs;
  _Atomic uint32_t last_bug;
  pthread_mutex_t lock; /* heaps, regions, table */
  _Atomic(mem_heap *) heaps;
  uint32_t nheaps;
  _Atomic uint32_t orphans; /* heaps of ended threads that still have chunks */
  _Atomic uint32_t spares;  /* heaps of ended threads that have none */
  mem_region *regions;
  size_t nchunks;
  mem_registry *home;
  ls_mem *next, *prev; /* of the registry */
  mem_shard shard[MEM_SHARDS];
  mem_bigs bigs;
  mem_gap *gaps; /* buffer */
  char *buffer;
  size_t buffer_bytes;
};

static inline void mem_count(mem_heap *h, ls_mem_counter c, uint64_t n) {
  uint64_t v = atomic_load_explicit(&h->count[c], memory_order_relaxed);
  atomic_store_explicit(&h->count[c], v + n, memory_order_relaxed);
}

static inline char *mem_unit_at(const mem_chunk *c, unsigned unit) {
  return c->base + unit * MEM_UNIT;
}

/* n bits from `unit` on; 1 <= n <= 64. */
static inline uint64_t mem_mask(unsigned unit, unsigned n) {
  return (~UINT64_C(0) >> (64 - n)) << unit;
}

static inline size_t mem_chunk_hash(uintptr_t base) {
  return (size_t)(((uint64_t)base >> 22) * UINT64_C(0x9e3779b97f4a7c15) >> 32);
}

/* The chunk that p points into; NULL: none. */
static inline mem_chunk *mem_chunk_of(ls_mem *m, const void *p) {
  uintptr_t base = (uintptr_t)p & ~(uintptr_t)(MEM_CHUNK - 1);
  const mem_table *t = atomic_load_explicit(&m->table, memory_order_acquire);
  if (t == NULL)
    return NULL;
  for (size_t i = mem_chunk_hash(base);; i++) {
    mem_chunk *c = atomic_load_explicit(&t->slot[i & t->mask], memory_order_acquire);
    if (c == NULL || (uintptr_t)c->base == base)
      return c;
  }
}

_Static_assert(_Alignof(mem_chunk) >= MEM_UNITS, "room for the unit in a chunk's address");
static inline mem_place mem_place_of(uint64_t chunk_and_unit) {
  uint64_t unit = chunk_and_unit % MEM_UNITS;
  return (mem_place){(mem_chunk *)(uintptr_t)(chunk_and_unit - unit), (unsigned)unit};
}

/* mem_map.c: pages of the system. */
uint64_t mem_now_ms(void);
void *mem_map_reserve(size_t size, size_t align); /* NULL: none */
void mem_map_free(void *at, size_t size);
void mem_map_advise(void *at, size_t size, bool huge);
void mem_map_purge(void *at, size_t size);
void *mem_map_resize(void *at, size_t old, size_t size); /* NULL: unchanged */
/* For AddressSanitizer and its search for leaks; nothing without it. */
#if MEM_UNDER_ASAN
void mem_map_poison(const void *at, size_t size);
void mem_map_unpoison(const void *at, size_t size);
void mem_map_rooted(const void *at, size_t size, bool rooted);
#else
static inline void mem_map_poison(const void *at, size_t size) { (void)at, (void)size; }
static inline void mem_map_unpoison(const void *at, size_t size) { (void)at, (void)size; }
static inline void mem_map_rooted(const void *at, size_t size, bool rooted) {
  (void)at, (void)size, (void)rooted;
}
#endif

/* mem_sys.c: malloc and hooks. */
void *mem_sys_alloc(ls_mem *m, size_t bytes, bool *zero);
void mem_sys_free(ls_mem *m, void *block, size_t bytes);
bool mem_sys_same(const ls_mem *m, size_t old, size_t bytes);          /* the block fits both */
void *mem_sys_remap(ls_mem *m, void *block, size_t old, size_t bytes); /* NULL: unchanged */

/* mem_fixed.c: one buffer. */
ls_mem *mem_fixed_new(const ls_mem_options *o);
void *mem_fixed_alloc(ls_mem *m, size_t bytes);
ls_mem_bug mem_fixed_free(ls_mem *m, void *block, size_t bytes);
bool mem_fixed_resize(ls_mem *m, void *block, size_t old, size_t bytes); /* in place */

/* mem_thread.c: which heap is whose. */
extern _Thread_local mem_seat mem_seats[MEM_SEATS] __attribute__((tls_model("initial-exec")));
bool mem_registry_join(ls_mem *m);
void mem_registry_leave(ls_mem *m);
mem_heap *mem_heap_claim(ls_mem *m); /* the thread's heap, made if need be; NULL: no memory */
static inline mem_heap *mem_heap_mine(ls_mem *m) {
  const mem_seat *s = &mem_seats[m->id & (MEM_SEATS - 1)];
  return MEM_LIKELY(s->id == m->id) ? s->heap : mem_heap_claim(m);
}

/* mem_chunk.c: chunks and their units. */
bool mem_chunk_advise(mem_heap *h, mem_chunk *c);
mem_chunk *mem_chunk_map(mem_heap *h); /* a new one; further ones of its region go to a shard */
void mem_chunk_attach(mem_heap *h, mem_chunk *c);
void mem_chunk_detach(mem_heap *h, mem_chunk *c);
void mem_chunk_retire(mem_heap *h, mem_chunk *c); /* an empty one, to a shard */
/* A place for n units; false: no memory.  *clean: they read as zero. */
bool mem_units_take(mem_heap *h, unsigned n, mem_place *at, bool *clean);
void mem_units_give(mem_heap *h, mem_chunk *c, unsigned unit, unsigned n);
/* Makes the taken [unit, unit + n) into [unit, unit + to); false: not possible, unchanged. */
bool mem_units_resize(mem_heap *h, mem_chunk *c, unsigned unit, unsigned n, unsigned to);
/* Gives back what has not been used since the last call; everything unused when `all`. */
void mem_chunk_age(mem_heap *h, mem_chunk *c, bool all);
void mem_chunks_delete(ls_mem *m);

/* mem_run.c: blocks up to MEM_SMALL_MAX. */
#define MEM_FINE 16u /* classes 64 bytes apart: up to 1 KB, then eight to each doubling */
static inline unsigned mem_class_of(size_t bytes) {
  if (bytes <= MEM_FINE * 64)
    return (unsigned)((bytes - 1) / 64);
  unsigned e = 63u - (unsigned)__builtin_clzll(bytes - 1);
  return MEM_FINE + (e - 10) * 8 + ((unsigned)((bytes - 1) >> (e - 3)) & 7u);
}
size_t mem_class_size(unsigned class);
void mem_stacks_init(mem_heap *h);
void mem_stacks_flush(mem_heap *h);
void *mem_run_alloc(mem_heap *h, unsigned class);
/* bytes 0: not known. */
ls_mem_bug mem_run_free(mem_heap *h, mem_run *r, const void *p, size_t bytes);
static inline mem_run *mem_run_at(mem_chunk *c, const void *p) {
  unsigned unit = (unsigned)((size_t)((const char *)p - c->base) / MEM_UNIT);
  return &c->run[unit - (c->kind[unit] & ~MEM_RUN)];
}
void mem_runs_retire(mem_heap *h); /* gives the units of runs without a block back */
void mem_runs_adopt(mem_heap *h, mem_heap *from);
/* Whether p is a block of that size, as far as another thread can see. */
ls_mem_bug mem_run_verify(mem_chunk *c, const void *p, size_t bytes);
/* Bit of the block in run->remote. */
void mem_run_mark(mem_chunk *c, const void *p);
void mem_run_collect(mem_heap *h, mem_chunk *c, unsigned unit);

/* mem_block.c: blocks of units, and the paths over all kinds. */
void *mem_heap_alloc(ls_mem *m, size_t bytes, bool *zero);
void mem_heap_free(ls_mem *m, void *block, size_t bytes);
void *mem_heap_resize(ls_mem *m, void *block, size_t old, size_t bytes);
/* A block freed by anyone, of a chunk that h owns.  bytes 0: it is one, for sure. */
ls_mem_bug mem_block_home(mem_heap *h, mem_chunk *c, void *p, size_t bytes);
/* Whether p is a block of so many bytes, as far as any thread can tell. */
ls_mem_bug mem_block_verify(mem_chunk *c, const void *p, size_t bytes);
void mem_lifo_flush(mem_heap *h);
void mem_bug_report(ls_mem *m, ls_mem_bug bug); /* none is fine */

/* mem_remote.c: frees between threads. */
void mem_remote_free(mem_heap *h, mem_heap *owner, mem_parcel x);
void mem_outbox_flush(mem_heap *h);
void mem_inbox_drain(mem_heap *h, mem_heap *from); /* from: h itself, or nobody's */
void mem_remote_collect(mem_heap *h);
static inline bool mem_inbox_waiting(mem_heap *h) {
  return atomic_load_explicit(&h->inbox.tail, memory_order_relaxed) !=
         atomic_load_explicit(&h->inbox.head, memory_order_relaxed);
}

/* mem_heap.c: heaps as a whole. */
void mem_heap_publish(mem_heap *h); /* adds what was counted to m->live and m->peak */
void mem_heap_settle(mem_heap *h);  /* outboxes sent, inbox and remote bits taken in */
void mem_heap_tick(mem_heap *h);    /* now and then */
void mem_heap_park(mem_heap *h);
void mem_heap_abandon(mem_heap *h);   /* its thread ends */
void mem_heap_adopt_all(mem_heap *h); /* what ended threads left */

static inline void mem_heap_count_bytes(mem_heap *h, int64_t bytes) {
  int64_t delta = atomic_load_explicit(&h->delta, memory_order_relaxed) + bytes;
  atomic_store_explicit(&h->delta, delta, memory_order_relaxed);
  if (delta > atomic_load_explicit(&h->delta_peak, memory_order_relaxed))
    atomic_store_explicit(&h->delta_peak, delta, memory_order_relaxed);
  if (delta > MEM_PUBLISH || delta < -MEM_PUBLISH)
    mem_heap_publish(h);
}
static inline void mem_heap_count(mem_heap *h, _Atomic uint64_t *ops, int64_t bytes) {
  uint64_t n = atomic_load_explicit(ops, memory_order_relaxed) + 1;
  atomic_store_explicit(ops, n, memory_order_relaxed);
  mem_heap_count_bytes(h, bytes);
  if (n % MEM_TICK_OPS == 0)
    mem_heap_tick(h);
}
static inline void mem_heap_count_alloc(mem_heap *h, size_t bytes) {
  mem_heap_count(h, &h->allocs, (int64_t)bytes);
}
static inline void mem_heap_count_free(mem_heap *h, size_t bytes) {
  mem_heap_count(h, &h->frees, -(int64_t)bytes);
}

/* mem_central.c: empty chunks between heaps. */
mem_chunk *mem_central_take(mem_heap *h);
void mem_central_give(mem_heap *h, mem_chunk *c);
void mem_central_age(mem_heap *h, bool all);

/* mem_big.c: blocks with mappings of their own. */
void *mem_big_alloc(mem_heap *h, size_t bytes, bool *zero);
ls_mem_bug mem_big_free(mem_heap *h, void *p, size_t bytes);
void *mem_big_resize(mem_heap *h, void *p, size_t old, size_t bytes); /* NULL: unchanged */
void mem_big_age(mem_heap *h, bool all);
void mem_big_delete(ls_mem *m);

#endif
