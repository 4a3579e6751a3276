/* vm/vm_tier_int.h - what the files of the tiers share.  Not for other folders.
 *
 *   vm_tier.c         options, life of a tier, its numbers
 *   vm_tier_plugin.c  finding and loading the plug-in
 *   vm_tier_queue.c   threads that compile, and the jobs they take
 *   vm_tier_entry.c   places where code may be entered: what is known of each, its code
 *   vm_tier_policy.c  what is compiled, when, at which level, on which facts
 *   vm_tier_cache.c   compiled objects kept between processes
 *   vm_tier_load.c    such an object into executable memory, without LLVM
 *   vm_tier_check.c   what a region did, done again by `step`
 *   vm_tier_rate.c    how fast the interpreter is, how fast the code
 *   vm_tier_run.c     into compiled code and out again
 *   vm_jit_core.c     what compiled code calls
 *
 * Locks: vm_tier.lock guards the queue and all that is in entries and not atomic.  It is never
 * held during a compile.
 *
 * Life of code.  A context runs code that it read from an entry; another thread may have put
 * newer code there since.  Code that was replaced is *retired*: it is freed when every context
 * of the link has been seen at rest since, outside of all compiled code.  `epoch` counts
 * retirements; cx->seen is its value when the context last was at rest, UINT64_MAX between calls.
 */
#ifndef PURE_VM_TIER_INT_H
#define PURE_VM_TIER_INT_H

#include <pthread.h>
#include <stdatomic.h>

#include "vm/vm_int.h"
#include "vm/vm_jit.h"
#include "vm/vm_tier.h"

typedef enum {
  ENTRY_COLD,
  ENTRY_QUEUED, /* a job is waiting or at work */
  ENTRY_READY,  /* has code */
  ENTRY_CLOSED  /* stays with the interpreter: why says why */
} vm_entry_state;

/* What a cached object depends on, as a hash; 0 0: not known yet. */
typedef struct {
  uint64_t low, high;
} vm_cache_key;

/* Code and what it was compiled for. */
typedef struct vm_region {
  const vm_jit_code *code;
  struct vm_region *next; /* retired ones, under the lock */
  uint64_t epoch;
  uint8_t level;
  bool checked; /* some list is tested at each operation: code works, slowly, when it changes */
  uint32_t nlists;
  vm_jit_list facts[]; /* of the function's lists */
} vm_region;

typedef struct vm_entry {
  _Atomic(vm_region *) region;
  uint32_t fn, pc, loop;   /* loop: nloops for the function's start */
  _Atomic uint8_t state;   /* vm_entry_state */
  _Atomic uint8_t level;   /* of the code */
  _Atomic uint8_t rounds;  /* given up because assumptions failed */
  _Atomic uint64_t wait;   /* heat before it is compiled again */
  _Atomic uint64_t try_at; /* heat at which the cache is looked into next */
  bool careful;            /* no checks for loops as a whole */
  uint8_t *changes;        /* by list: how much its shape has changed */
  _Atomic uint64_t exits[VM_JIT_EXIT_RAISED + 1];
  _Atomic uint64_t runs;
  uint64_t past_exits[VM_JIT_EXIT_RAISED + 1]; /* of before the last decision on them */
  vm_entry_stats stats;
} vm_entry;

/* Of a link. */
typedef struct vm_entries {
  vm_tier *tier;
  vm_link *link;
  uint32_t n;
  uint32_t *first; /* by function */
  vm_entry *entry;
  _Atomic uint64_t news; /* grows when code comes */
  _Atomic uint64_t epoch;
  vm_region *retired;
  vm_cache_key module_key;
  _Atomic bool keyed;   /* that and the tier's `place` are known, and stay */
  vm_context *contexts; /* by cx->next */
} vm_entries;

typedef struct vm_job {
  struct vm_job *next;
  bool cacheable; /* key is set */
  vm_cache_key key;
  vm_entries *entries;
  vm_entry *entry;
  vm_jit_request request;
  vm_jit_list *lists; /* copies, with the job */
  uint8_t *careful;
} vm_job;

struct vm_tier {
  ls_mem *mem;
  vm_tier_options o;
  char *plugin_dir, *dump_fn, *cache_dir; /* cache_dir NULL: no cache */
  vm_jit_core core;
  uint64_t cache_bytes; /* prefetches are for what does not fit */
  pthread_mutex_t lock;
  pthread_cond_t work, idle;
  pthread_t *thread;
  uint32_t nthreads;
  bool started, ending;
  vm_job *first, **last; /* waiting */
  vm_job **at_work;      /* by thread; NULL: idle */
  /* the plug-in; set once, under `loading` */
  pthread_mutex_t loading;
  _Atomic int loaded; /* 0 not tried, 1 there, -1 not to be had */
  void *handle;
  const vm_jit_plugin *plugin;
  vm_jit_engine *engine;
  char plugin_path[512];
  vm_cache_key place; /* hash of what all cached objects of the tier depend on */
  _Atomic uint64_t stored;
  char why[VM_JIT_WHY];
  char absent[VM_JIT_WHY]; /* where the plug-in was not found; under `loading`, written once */
  uint64_t compiled, cached, refused, dropped, code_bytes, compile_ns;
  _Atomic uint64_t checked, wrong, unchecked; /* runs of regions, with `check` */
};

/* vm_tier_plugin.c.  false: t->why or t->absent. */
bool vm_tier_find_plugin(vm_tier *t); /* under `loading`; sets plugin_path, or absent */
/* Why there is none to load; NULL: there is, or somebody is just looking. */
const char *vm_tier_absent(vm_tier *t);
const char *vm_tier_why(vm_tier *t); /* why nothing can be compiled; NULL: it can */
bool vm_tier_plugin(vm_tier *t);
void vm_tier_unload(vm_tier *t);

/* vm_tier_queue.c */
/* Takes the job. */
void vm_tier_submit(vm_tier *t, vm_job *job);
/* Jobs of the link are gone when it returns. */
void vm_tier_forget(vm_tier *t, const vm_entries *e);
void vm_tier_stop(vm_tier *t);
void vm_tier_say(vm_tier *t, const char *form, ...) __attribute__((format(printf, 2, 3)));

/* vm_tier_entry.c */
void vm_job_run(vm_tier *t, vm_job *job); /* takes it */
/* The entry stays as it is, for that reason; takes the job. */
void vm_job_refuse(vm_tier *t, vm_job *job, const char *why);
/* Code from the cache becomes the entry's; takes the job.  false: there is none, nothing taken. */
bool vm_job_run_cached(vm_tier *t, vm_job *job);
void vm_job_free(vm_tier *t, vm_job *job);
static inline vm_entry *vm_entry_of(const vm_entries *e, unsigned fn, unsigned loop) {
  return &e->entry[e->first[fn] + loop];
}
const char *vm_entry_name(const vm_entries *e, const vm_entry *y, char *out, size_t n);
/* The entry's code is no longer entered.  Under the lock. */
void vm_entry_retire(vm_entries *e, vm_entry *y);
/* Frees what nobody can be in any more. */
void vm_entries_sweep(vm_entries *e);
void vm_entries_delete(vm_entries *e);
void vm_entries_enter(vm_context *cx); /* a context joins, leaves, begins and ends a call */
void vm_entries_leave(vm_context *cx);

void vm_jit_core_fill(vm_jit_core *core); /* vm_jit_core.c */

/* vm_tier_cache.c */
bool vm_cache_find_key(vm_entries *e, const vm_jit_request *q, vm_cache_key *out);
/* NULL: it is not there. */
const vm_jit_code *vm_cache_load(vm_tier *t, const vm_jit_request *q, const vm_cache_key *key);
void vm_cache_unload(vm_tier *t, const vm_jit_code *code); /* of vm_cache_load */
void vm_cache_store(vm_tier *t, const vm_cache_key *key, const vm_jit_code *code);

/* vm_tier_load.c */
typedef struct {
  void *pages;
  size_t bytes;
  void *entry;
  uint64_t code_bytes;
} vm_loaded;
/* false: it cannot be used. */
bool vm_object_load(const vm_jit_core *core, const uint8_t *object, size_t bytes, vm_loaded *out);
void vm_object_unload(const vm_loaded *loaded);

/* vm_tier_check.c.  Of the run of a region that is about to begin; NULL: it is not checked. */
typedef struct vm_check vm_check;
vm_check *vm_check_begin(vm_context *cx);
/* Takes the check.  said: VM_CHECK_SAID bytes, what was not as `step` does it, or "". */
#define VM_CHECK_SAID 100u
void vm_check_end(vm_context *cx, vm_check *k, const vm_jit_exit *x, char *said);

/* vm_tier_rate.c */
uint64_t vm_clock_ns(void);
void vm_rate_add(vm_rate *r, uint64_t ns, uint64_t work);
/* Whether code is known to be slower than the interpreter. */
bool vm_rate_loses(const vm_rate *fast, const vm_rate *slow);

/* vm_tier_policy.c */
/* Its code is not worth having: the interpreter keeps the entry. */
void vm_tier_close(vm_context *cx, vm_entry *y, const vm_rate *fast, const vm_rate *slow);
/* The top frame is at that loop's header, hot or not. */
void vm_tier_consider(vm_context *cx, unsigned loop);
void vm_tier_consider_fn(vm_context *cx);
/* Whether the lists are as the region assumes. */
bool vm_region_fits(const vm_region *g, const vm_frame *f);
/* The region has left for that reason, which says that it does not fit what there is. */
void vm_tier_missed(vm_context *cx, vm_entry *y, const vm_region *g, vm_jit_exit_reason reason);
/* What code there is now, into the context's profile. */
void vm_tier_take_news(vm_context *cx);

#endif
