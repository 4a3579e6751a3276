/* lists/mem/mem.c - the door: which source a block comes from, injected failures, counts. */
#include "lists/mem/mem_int.h"

#include <stdlib.h>
#include <string.h>

static void locks_init(ls_mem *m) {
  pthread_mutex_init(&m->lock, NULL);
  pthread_mutex_init(&m->bigs.lock, NULL);
  for (unsigned i = 0; i < MEM_SHARDS; i++)
    pthread_mutex_init(&m->shard[i].lock, NULL);
}

static void locks_destroy(ls_mem *m) {
  pthread_mutex_destroy(&m->lock);
  pthread_mutex_destroy(&m->bigs.lock);
  for (unsigned i = 0; i < MEM_SHARDS; i++)
    pthread_mutex_destroy(&m->shard[i].lock);
}

ls_mem *ls_mem_new_with(const ls_mem_options *o) {
  if (o == NULL)
    o = &ls_mem_options_default;
  bool fixed = o->hooks == NULL && o->buffer != NULL;
  ls_mem *m = fixed ? mem_fixed_new(o) : aligned_alloc(64, (sizeof *m + 63) & ~(size_t)63);
  if (m == NULL)
    return NULL;
  if (!fixed) {
    memset(m, 0, sizeof *m);
    m->source = o->hooks != NULL           ? MEM_FROM_HOOKS
                : o->runs != 0 && MEM_MAPS ? MEM_FROM_RUNS
                                           : MEM_FROM_SYSTEM;
  }
  m->o = *o;
  m->o.hooks = NULL;
  if (o->hooks != NULL)
    m->hooks = *o->hooks;
  locks_init(m);
  if (m->source == MEM_FROM_RUNS && !mem_registry_join(m)) {
    locks_destroy(m);
    free(m);
    return NULL;
  }
  return m;
}

ls_mem *ls_mem_new(const ls_mem_hooks *hooks) {
  ls_mem_options o = ls_mem_options_default;
  o.hooks = hooks;
  return ls_mem_new_with(&o);
}

void ls_mem_delete(ls_mem *m) {
  if (m == NULL)
    return;
  if (m->source == MEM_FROM_RUNS) {
    mem_registry_leave(m);
    mem_big_delete(m);
    mem_chunks_delete(m);
    for (mem_heap *h = atomic_load(&m->heaps), *next; h != NULL; h = next) {
      next = h->next;
      free(h);
    }
  }
  locks_destroy(m);
  if (m->source != MEM_FROM_BUFFER)
    free(m);
}

/* Whether the injected failure is due. */
static bool must_fail(ls_mem *m) {
  uint64_t n = atomic_load_explicit(&m->fail_in, memory_order_relaxed);
  while (n != 0) {
    bool stays = n == 1 && atomic_load_explicit(&m->fail_sticky, memory_order_relaxed);
    if (stays)
      return true;
    if (atomic_compare_exchange_weak_explicit(&m->fail_in, &n, n - 1, memory_order_relaxed,
                                              memory_order_relaxed))
      return n == 1;
  }
  return false;
}

static int64_t live_now(ls_mem *m) {
  int64_t live = atomic_load_explicit(&m->live, memory_order_relaxed);
  for (mem_heap *h = atomic_load(&m->heaps); h != NULL; h = h->next)
    live += atomic_load_explicit(&h->delta, memory_order_relaxed);
  return live;
}

/* Whether so many bytes more are too many. */
static bool is_over(ls_mem *m, size_t bytes) {
  uint64_t most = atomic_load_explicit(&m->most, memory_order_relaxed);
  if (most == 0 || bytes == 0)
    return false;
  int64_t now = live_now(m);
  uint64_t live = now > 0 ? (uint64_t)now : 0;
  return live > most || bytes > most - live;
}

/* Whether an allocation of so many bytes more has to fail. */
static bool is_refused(ls_mem *m, size_t bytes) {
  return !MEM_LIKELY(atomic_load_explicit(&m->guarded, memory_order_relaxed) == 0) &&
         (must_fail(m) || is_over(m, bytes));
}

static void count_alloc(ls_mem *m, size_t bytes) {
  int64_t live =
      atomic_fetch_add_explicit(&m->live, (int64_t)bytes, memory_order_relaxed) + (int64_t)bytes;
  int64_t peak = atomic_load_explicit(&m->peak, memory_order_relaxed);
  while (live > peak && !atomic_compare_exchange_weak_explicit(
                            &m->peak, &peak, live, memory_order_relaxed, memory_order_relaxed)) {
  }
  atomic_fetch_add_explicit(&m->allocs, 1, memory_order_relaxed);
}

static void count_free(ls_mem *m, size_t bytes) {
  atomic_fetch_sub_explicit(&m->live, (int64_t)bytes, memory_order_relaxed);
  atomic_fetch_add_explicit(&m->frees, 1, memory_order_relaxed);
}

/* *zero: the block reads as zero. */
static void *block_new(ls_mem *m, size_t bytes, bool *zero) {
  *zero = false;
  if (MEM_LIKELY(m->source == MEM_FROM_RUNS))
    return mem_heap_alloc(m, bytes, zero);
  void *p =
      m->source == MEM_FROM_BUFFER ? mem_fixed_alloc(m, bytes) : mem_sys_alloc(m, bytes, zero);
  if (p != NULL)
    count_alloc(m, bytes);
  return p;
}

void *ls_mem_alloc(ls_mem *m, size_t bytes) {
  bool zero;
  return is_refused(m, bytes) ? NULL : block_new(m, bytes, &zero);
}

void *ls_mem_zalloc(ls_mem *m, size_t bytes) {
  bool zero;
  void *p = is_refused(m, bytes) ? NULL : block_new(m, bytes, &zero);
  if (p == NULL)
    return NULL;
  if (!zero)
    memset(p, 0, bytes);
  else if (m->source == MEM_FROM_RUNS)
    mem_count(mem_heap_mine(m), LS_MEM_COUNT_zero_skipped, bytes);
  return p;
}

void ls_mem_free(ls_mem *m, void *block, size_t bytes) {
  if (block == NULL)
    return;
  if (MEM_LIKELY(m->source == MEM_FROM_RUNS)) {
    mem_heap_free(m, block, bytes);
    return;
  }
  ls_mem_bug bug = LS_MEM_BUG_NONE;
  if (m->source == MEM_FROM_BUFFER)
    bug = mem_fixed_free(m, block, bytes);
  else
    mem_sys_free(m, block, bytes);
  if (bug == LS_MEM_BUG_NONE)
    count_free(m, bytes);
  else
    mem_bug_report(m, bug);
}

/* Without moving bytes; NULL: not possible, unchanged. */
static void *resize_cheaply(ls_mem *m, void *block, size_t old, size_t bytes) {
  if (m->source == MEM_FROM_RUNS)
    return mem_heap_resize(m, block, old, bytes);
  if (m->source == MEM_FROM_BUFFER)
    return mem_fixed_resize(m, block, old, bytes) ? block : NULL;
  return mem_sys_same(m, old, bytes) ? block : mem_sys_remap(m, block, old, bytes);
}

static void count_resize(ls_mem *m, size_t old, size_t bytes) {
  if (m->source == MEM_FROM_RUNS) {
    mem_heap_count_bytes(mem_heap_mine(m), (int64_t)bytes - (int64_t)old);
  } else {
    count_alloc(m, bytes);
    count_free(m, old);
  }
}

void *ls_mem_resize(ls_mem *m, void *block, size_t old, size_t bytes) {
  if (block == NULL)
    return ls_mem_alloc(m, bytes);
  if (is_refused(m, bytes > old ? bytes - old : 0))
    return NULL;
  void *p = resize_cheaply(m, block, old, bytes);
  if (p != NULL) {
    count_resize(m, old, bytes);
    return p;
  }
  if (is_over(m, bytes)) /* old and new live side by side for a moment */
    return NULL;
  bool zero;
  p = block_new(m, bytes, &zero);
  if (p == NULL)
    return NULL;
  memcpy(p, block, old < bytes ? old : bytes);
  ls_mem_free(m, block, old);
  return p;
}

void ls_mem_park(ls_mem *m) {
  mem_heap *h = m->source == MEM_FROM_RUNS ? mem_heap_mine(m) : NULL;
  if (h != NULL)
    mem_heap_park(h);
}

void mem_bug_report(ls_mem *m, ls_mem_bug bug) {
  if (MEM_LIKELY(bug == LS_MEM_BUG_NONE))
    return;
  atomic_store(&m->last_bug, (uint32_t)bug);
  atomic_fetch_add(&m->bugs, 1);
}

void ls_mem_read_stats(ls_mem *m, ls_mem_stats *out) {
  int64_t live = atomic_load_explicit(&m->live, memory_order_relaxed);
  int64_t high = 0; /* above live */
  out->allocs = atomic_load_explicit(&m->allocs, memory_order_relaxed);
  out->frees = atomic_load_explicit(&m->frees, memory_order_relaxed);
  for (mem_heap *h = atomic_load(&m->heaps); h != NULL; h = h->next) {
    int64_t delta = atomic_load_explicit(&h->delta, memory_order_relaxed);
    high += atomic_load_explicit(&h->delta_peak, memory_order_relaxed) - delta;
    live += delta;
    out->allocs += atomic_load_explicit(&h->allocs, memory_order_relaxed);
    out->frees += atomic_load_explicit(&h->frees, memory_order_relaxed);
  }
  int64_t peak = atomic_load_explicit(&m->peak, memory_order_relaxed);
  out->live_bytes = live > 0 ? (uint64_t)live : 0;
  out->peak_bytes = (uint64_t)(peak > live + high ? peak : live + high);
}

/* Not counted one by one: all but those of units or a mapping. */
static uint64_t small_blocks(ls_mem *m) {
  uint64_t n = 0;
  for (mem_heap *h = atomic_load(&m->heaps); h != NULL; h = h->next) {
    uint64_t others = atomic_load_explicit(&h->count[LS_MEM_COUNT_units], memory_order_relaxed) +
                      atomic_load_explicit(&h->count[LS_MEM_COUNT_big], memory_order_relaxed);
    uint64_t all = atomic_load_explicit(&h->allocs, memory_order_relaxed);
    n += all > others ? all - others : 0;
  }
  return n;
}

void ls_mem_read_counters(ls_mem *m, ls_mem_counters *out) {
  memset(out, 0, sizeof *out);
  for (mem_heap *h = atomic_load(&m->heaps); h != NULL; h = h->next)
    for (unsigned i = 0; i < LS_MEM_NCOUNTERS; i++)
      out->n[i] += atomic_load_explicit(&h->count[i], memory_order_relaxed);
  out->n[LS_MEM_COUNT_small] += small_blocks(m);
  out->bugs = atomic_load(&m->bugs);
  out->last_bug = (ls_mem_bug)atomic_load(&m->last_bug);
}

void ls_mem_limit(ls_mem *m, uint64_t bytes) {
  atomic_store_explicit(&m->most, bytes, memory_order_relaxed);
  if (bytes != 0)
    atomic_store_explicit(&m->guarded, 1, memory_order_relaxed);
}

void ls_mem_fail_after(ls_mem *m, uint64_t n, int sticky) {
  atomic_store_explicit(&m->fail_sticky, sticky, memory_order_relaxed);
  atomic_store_explicit(&m->fail_in, n, memory_order_relaxed);
  if (n != 0)
    atomic_store_explicit(&m->guarded, 1, memory_order_relaxed);
}
