/* vm/vm_tier_policy.c - what is compiled, when, at which level, and on which facts.
 *
 * Heat is work: what a loop did, as the polls of the interpreter and the runs of its code see it.
 * Of a nest the outermost loop is compiled that goes round often enough for its code to be
 * entered soon; its region has the inner loops too.
 *
 * Facts are the lists' shapes at that moment.  Where one turns out wrong the region is compiled
 * anew on what there is then; a list that keeps changing is no longer assumed to be anything (its
 * shape is tested at each operation); a region that keeps failing ends at level 1, where every
 * list is treated so.
 */
#include <stdio.h>
#include <string.h>

#include "vm/vm_tables.h"
#include "vm/vm_tier_int.h"

#define HEAT_FIRST UINT64_C(300000) /* work before the first compile */
#define HEAT_LOAD                                                                                  \
  UINT64_C(16000000) /* where the plug-in, and LLVM with it, is yet to be loaded                   \
                      */
#define HEAT_CACHED                                                                                \
  UINT64_C(150000) /* before the cache is looked into: 0.1 ms for what is not there */
#define HEAT_BEST UINT64_C(3000000) /* before the best, where the first was quick */
#define CALLS_PER_HEAT 300u         /* a call counts as so much work */
#define MAX_ROUNDS 8u               /* compiled anew at a level; then level 1 */
#define MAX_CHANGES 12u             /* of a list; then it is tested at each use */
#define CHANGE 4u                   /* a change of layout counts as so many widenings */
#define LARGE_CODE 1000u            /* instructions of a function */
#define MISSES 32u                  /* exits that should be rare, before something is done */
#define INNER_TRIPS                                                                                \
  4096u /* a loop that goes round so often an entry is entered at its own header */

static uint64_t heat_first(const vm_tier *t) {
  if (t->o.has_threshold)
    return t->o.threshold;
  bool loaded = atomic_load_explicit(&t->loaded, memory_order_relaxed) != 0;
  return loaded || t->o.sync ? HEAT_FIRST : HEAT_LOAD;
}

static uint64_t heat_cached(const vm_tier *t) {
  return t->o.has_threshold && t->o.threshold < HEAT_CACHED ? t->o.threshold : HEAT_CACHED;
}

static uint64_t heat_best(const vm_tier *t) {
  return t->o.has_threshold ? t->o.threshold * 4 : HEAT_BEST;
}

/* Optimised code takes several times as long to make as quick code, but quick code is little
 * faster than the interpreter: only of large functions it is worth having first. */
static unsigned first_level(const vm_tier *t, const vm_frame *f) {
  if (t->o.level != VM_TIER_AUTO)
    return t->o.level;
  return f->code->fn->ncode > LARGE_CODE ? 1 : 3;
}

static unsigned best_level(const vm_tier *t) { return t->o.level == VM_TIER_AUTO ? 3 : t->o.level; }

/* ---- facts */

static bool fn_writes(const vm_fn *fn, unsigned list) {
  for (uint32_t pc = 0; pc < fn->ncode; pc++)
    if (vm_ins_list(&fn->code[pc]) == (int)list &&
        (vm_effects(vm_op_read((vm_op)fn->code[pc].op)->effects) & VM_EFFECT_WRITE))
      return true;
  return false;
}

/* Whether writes are done in place. */
static bool is_free(const ls_list *l) { return !l->frozen && !l->shared && l->undo == NULL; }

static vm_jit_list fact_of(const vm_frame *f, unsigned i, const vm_entry *y) {
  const vm_fn *fn = f->code->fn;
  const ls_list *l = f->lists->list[i];
  const ls_hint *ended = &f->profile->ended[i];
  vm_jit_list fact = {.trust = VM_JIT_GUARDED, .shape = l->shape, .rows = l->count};
  /* A local list that is yet to be filled will look as it did last time. */
  if (!l->stored && ls_list_is_idle(l) && (ended->count || ended->cap)) {
    fact.shape = ended->shape;
    fact.rows = ended->count;
  }
  fact.direct = ls_shape_layout(l->shape) == LS_ARRAY && l->u.array.dir && l->u.array.shift == 0;
  bool moves = y->changes && y->changes[i] >= MAX_CHANGES;
  if (moves || (!is_free(l) && fn_writes(fn, i)))
    fact.trust = VM_JIT_CHECKED;
  return fact;
}

/* Under the lock. */
static bool job_facts(vm_tier *t, vm_job *job, const vm_frame *f, vm_entry *y) {
  const vm_fn *fn = f->code->fn;
  if (fn->nlists) {
    job->lists = ls_mem_zalloc(t->mem, sizeof *job->lists * fn->nlists);
    if (job->lists == NULL)
      return false;
  }
  for (unsigned i = 0; i < fn->nlists; i++) {
    job->lists[i] = fact_of(f, i, y);
    if (y->rounds > MAX_ROUNDS)
      job->lists[i].trust = VM_JIT_CHECKED;
  }
  if (fn->nloops) {
    job->careful = ls_mem_zalloc(t->mem, fn->nloops);
    if (job->careful == NULL)
      return false;
    memset(job->careful, y->careful, fn->nloops);
  }
  job->request.lists = job->lists;
  job->request.careful = job->careful;
  return true;
}

static bool dumps(const vm_tier *t, const vm_fn *fn) {
  return t->o.dump && (t->dump_fn == NULL || strcmp(t->dump_fn, fn->name) == 0);
}

static vm_job *job_new(vm_context *cx, vm_entry *y, unsigned level) {
  vm_entries *e = cx->entries;
  vm_tier *t = e->tier;
  const vm_frame *f = cx->top;
  vm_job *job = ls_mem_zalloc(t->mem, sizeof *job);
  if (job == NULL)
    return NULL;
  *job = (vm_job){.entries = e, .entry = y};
  job->request = (vm_jit_request){
      .module = e->link->module,
      .fn = y->fn,
      .pc = y->pc,
      .level = (uint8_t)level,
      .stress = t->o.stress != 0,
      .verify = t->o.verify,
      .cache_bytes = t->cache_bytes,
      .distance = t->o.distance,
      .dump = dumps(t, f->code->fn) ? t->o.dump : NULL,
      .dump_user = t->o.user,
      .dump_kinds = (uint8_t)t->o.dump_kinds,
  };
  pthread_mutex_lock(&t->lock);
  bool fine = job_facts(t, job, f, y);
  pthread_mutex_unlock(&t->lock);
  if (fine)
    return job;
  vm_job_free(t, job);
  return NULL;
}

/* ---- asking for code */

/* The frame of the entry's function is on top. */
static void request(vm_context *cx, vm_entry *y, unsigned level) {
  uint8_t state = atomic_load(&y->state);
  if (state == ENTRY_QUEUED || state == ENTRY_CLOSED)
    return;
  if (!atomic_compare_exchange_strong(&y->state, &state, ENTRY_QUEUED))
    return;
  vm_job *job = job_new(cx, y, level);
  if (job && !vm_job_run_cached(cx->entries->tier, job))
    vm_tier_submit(cx->entries->tier, job);
  if (job == NULL)
    atomic_store(&y->state, state); /* no memory: another time */
  vm_tier_take_news(cx);
}

/* Looks into the cache, which costs little, long before compiling would be worth while. */
static void try_cached(vm_context *cx, vm_entry *y, uint64_t heat) {
  vm_tier *t = cx->entries->tier;
  uint8_t cold = ENTRY_COLD;
  y->try_at = heat * 4;
  if (!atomic_compare_exchange_strong(&y->state, &cold, ENTRY_QUEUED))
    return;
  vm_job *job = job_new(cx, y, best_level(t));
  if (job && vm_job_run_cached(t, job)) {
    vm_tier_take_news(cx);
    return;
  }
  if (job)
    vm_job_free(t, job);
  atomic_store(&y->state, ENTRY_COLD);
}

static void upgrade(vm_context *cx, vm_entry *y, uint64_t heat) {
  vm_tier *t = cx->entries->tier;
  uint8_t state = atomic_load(&y->state);
  if (state == ENTRY_COLD && t->cache_dir && heat >= heat_cached(t) && heat >= y->try_at &&
      heat >= y->wait) {
    try_cached(cx, y, heat);
    state = atomic_load(&y->state);
  }
  if (state == ENTRY_COLD && heat >= heat_first(t) && heat >= y->wait)
    request(cx, y, y->rounds > MAX_ROUNDS ? 1 : first_level(t, cx->top));
  else if (state == ENTRY_READY && y->rounds <= MAX_ROUNDS && y->level < best_level(t) &&
           heat >= heat_best(t))
    request(cx, y, best_level(t));
}

/* The loop around that is worth compiling instead, or the loop itself. */
static unsigned choose(const vm_frame *f, unsigned loop) {
  const vm_loop_profile *p = f->profile->loops;
  unsigned best = loop;
  for (unsigned at = loop; at != VM_NO_LOOP; at = f->code->loops[at].parent) {
    bool often = p[at].headers >= 2 && p[loop].headers / p[at].headers < INNER_TRIPS;
    if (at == loop || often)
      best = at;
  }
  return best;
}

void vm_tier_close(vm_context *cx, vm_entry *y, const vm_rate *fast, const vm_rate *slow) {
  vm_tier *t = cx->entries->tier;
  char name[140];
  pthread_mutex_lock(&t->lock);
  vm_entry_retire(cx->entries, y);
  atomic_store(&y->state, ENTRY_CLOSED);
  snprintf(y->stats.why, sizeof y->stats.why,
           "its code is slower than the interpreter: %.2f ns a unit of work, not %.2f", fast->best,
           slow->best);
  pthread_mutex_unlock(&t->lock);
  atomic_fetch_add(&cx->entries->news, 1);
  vm_tier_say(t, "%s: %s", vm_entry_name(cx->entries, y, name, sizeof name), y->stats.why);
}

/* The interpreter was at work since it was seen last. */
static void clock_interpreter(vm_context *cx, unsigned loop) {
  const vm_frame *f = cx->top;
  uint64_t now = vm_clock_ns();
  for (unsigned at = loop; cx->clock_ns && at != VM_NO_LOOP; at = f->code->loops[at].parent)
    vm_rate_add(&f->profile->loops[at].slow, now - cx->clock_ns, cx->work - cx->clock_work);
  cx->clock_ns = now;
  cx->clock_work = cx->work;
}

void vm_tier_consider(vm_context *cx, unsigned loop) {
  const vm_frame *f = cx->top;
  vm_loop_profile *p = f->profile->loops;
  uint64_t spent = cx->work - cx->heat_from;
  if (cx->entries->tier->o.level == VM_TIER_AUTO)
    clock_interpreter(cx, loop);
  cx->heat_from = cx->work;
  for (unsigned at = loop; at != VM_NO_LOOP; at = f->code->loops[at].parent)
    p[at].heat += spent;
  unsigned best = choose(f, loop);
  vm_entry *y = vm_entry_of(cx->entries, f->fn, best);
  upgrade(cx, y, p[best].heat);
  if (best == loop)
    return;
  /* Its code is there, but this loop is where the time goes: it gets its own. */
  uint8_t state = atomic_load(&y->state);
  bool stuck = state == ENTRY_READY || state == ENTRY_CLOSED;
  if (stuck)
    p[loop].stuck += spent;
  y = vm_entry_of(cx->entries, f->fn, loop);
  if (stuck && p[loop].stuck > heat_first(cx->entries->tier) * 4)
    upgrade(cx, y, p[loop].heat);
}

void vm_tier_consider_fn(vm_context *cx) {
  const vm_frame *f = cx->top;
  vm_fn_profile *p = f->profile;
  vm_tier *t = cx->entries->tier;
  vm_entry *y = vm_entry_of(cx->entries, f->fn, f->code->fn->nloops);
  uint64_t earliest = heat_first(t) < HEAT_FIRST ? heat_first(t) : HEAT_FIRST; /* LLVM may come */
  upgrade(cx, y, p->calls * CALLS_PER_HEAT + p->heat);
  if (atomic_load(&y->region))
    p->hot_calls = 0;
  else if (atomic_load(&y->state) == ENTRY_CLOSED)
    p->hot_calls = UINT64_MAX;
  else
    p->hot_calls = p->calls + 1 + earliest / CALLS_PER_HEAT / 8;
}

/* ---- what code there is */

void vm_tier_take_news(vm_context *cx) {
  vm_entries *e = cx->entries;
  uint64_t news = atomic_load(&e->news);
  if (news == cx->news)
    return;
  cx->news = news;
  for (uint32_t i = 0; i < e->n; i++) {
    const vm_entry *y = &e->entry[i];
    vm_fn_profile *p = &cx->profile.fns[y->fn];
    uint64_t hot = atomic_load(&y->region) ? 0 : UINT64_MAX;
    if (p->calls == 0)
      continue;
    if (y->loop < e->link->module->fns[y->fn].nloops)
      p->loops[y->loop].hot_headers = hot;
    else if (hot == 0)
      p->hot_calls = 0;
  }
  cx->eager = VM_EAGER_POLLS;
}

/* ---- code that does not fit */

static bool list_fits(const ls_list *l, const vm_jit_list *fact) {
  if (fact->trust == VM_JIT_ANY)
    return true;
  if (fact->direct && (l->u.array.dir == NULL || l->u.array.shift != 0))
    return false;
  return fact->shape == l->shape;
}

bool vm_region_fits(const vm_region *g, const vm_frame *f) {
  for (uint32_t i = 0; i < g->nlists; i++)
    if (!list_fits(f->lists->list[i], &g->facts[i]))
      return false;
  return true;
}

/* Columns became wider, and nothing else: that ends by itself. */
static bool only_widened(uint64_t from, uint64_t to, const ls_schema *schema) {
  if ((from ^ to) & 0xff)
    return false;
  for (unsigned c = 0; c < schema->ncols; c++)
    if (ls_shape_width(to, c) < ls_shape_width(from, c))
      return false;
  return true;
}

/* Notes which lists are not as assumed; whether there was one. */
static bool note_changes(vm_tier *t, vm_entry *y, const vm_region *g, const vm_frame *f) {
  bool any = false;
  if (y->changes == NULL && g->nlists)
    y->changes = ls_mem_zalloc(t->mem, g->nlists);
  if (y->changes == NULL)
    return false;
  for (uint32_t i = 0; i < g->nlists; i++) {
    const ls_list *l = f->lists->list[i];
    if (list_fits(l, &g->facts[i]))
      continue;
    y->changes[i] += only_widened(g->facts[i].shape, l->shape, l->schema) ? 1 : CHANGE;
    if (y->changes[i] > MAX_CHANGES)
      y->changes[i] = MAX_CHANGES;
    any = true;
  }
  return any;
}

static uint64_t entry_heat(const vm_context *cx, const vm_entry *y) {
  const vm_fn_profile *p = &cx->profile.fns[y->fn];
  bool start = y->loop == cx->link->module->fns[y->fn].nloops;
  return start ? p->calls * CALLS_PER_HEAT + p->heat : p->loops[y->loop].heat;
}

/* The region is given up.  It is compiled anew when some more work has been done, more each time:
 * what has just changed may change again soon. */
static void again(vm_context *cx, vm_entry *y) {
  vm_tier *t = cx->entries->tier;
  vm_entry_retire(cx->entries, y);
  uint8_t rounds = y->rounds < UINT8_MAX ? y->rounds + 1 : UINT8_MAX;
  unsigned shift = rounds < 8 ? rounds : 8;
  y->rounds = rounds;
  y->wait = entry_heat(cx, y) + (heat_first(t) << shift) / 16;
  y->stats.deopts++;
  if (rounds > 2 * MAX_ROUNDS)
    snprintf(y->stats.why, sizeof y->stats.why, "its code never fitted for long");
  atomic_store(&y->state, rounds > 2 * MAX_ROUNDS ? ENTRY_CLOSED : ENTRY_COLD);
}

/* Exits that should be rare: whether so many came that something must be done. */
static bool too_many(const vm_entry *y, vm_jit_exit_reason reason) {
  uint64_t exits = atomic_load(&y->exits[reason]);
  return exits >= MISSES && exits > atomic_load(&y->runs) / 4;
}

static bool should_change(vm_context *cx, vm_entry *y, const vm_region *g,
                          vm_jit_exit_reason reason) {
  if (reason == VM_JIT_EXIT_SHAPE && note_changes(cx->entries->tier, y, g, cx->top))
    return true;
  if (reason == VM_JIT_EXIT_BULK && !y->careful) {
    y->careful = true;
    return true;
  }
  if (!too_many(y, reason))
    return false;
  y->past_exits[reason] += atomic_exchange(&y->exits[reason], 0);
  y->stats.runs += atomic_exchange(&y->runs, 0);
  return true;
}

void vm_tier_missed(vm_context *cx, vm_entry *y, const vm_region *g, vm_jit_exit_reason reason) {
  vm_tier *t = cx->entries->tier;
  if (t->o.stress)
    return; /* it left for no reason */
  pthread_mutex_lock(&t->lock);
  if (atomic_load(&y->region) == g && atomic_load(&y->state) == ENTRY_READY &&
      should_change(cx, y, g, reason))
    again(cx, y);
  pthread_mutex_unlock(&t->lock);
}
