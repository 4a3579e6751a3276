/* vm/vm_tier_run.c - into compiled code and out again.
 *
 * The interpreter asks at loop headers and at the start of functions; what it keeps in locals is
 * in the frame and the context by then.  After each exit the frame's pc says where to go on; where
 * that is another loop with code, it goes on in that code at once.
 */
#include "vm/vm_tables.h"
#include "vm/vm_tier_int.h"

#define RUN_WORK (UINT64_C(1) << 20) /* between looks at the cancel flag and for better code */
#define MAX_NATIVE 100u              /* activations of compiled code on the stack of C */

static uint64_t earlier(uint64_t at, uint64_t limit) { return at < limit ? at : limit; }

/* A context that is in no compiled code lets go of what was retired. */
static void rest(vm_context *cx) {
  uint64_t epoch = atomic_load_explicit(&cx->entries->epoch, memory_order_relaxed);
  if (cx->native == 0 && epoch != atomic_load_explicit(&cx->seen, memory_order_relaxed))
    atomic_store(&cx->seen, atomic_load(&cx->entries->epoch));
}

void vm_tier_begin(vm_context *cx) {
  if (cx->entries == NULL)
    return;
  atomic_store(&cx->seen, atomic_load(&cx->entries->epoch));
  cx->heat_from = 0;
  cx->clock_ns = 0;
  cx->went_native = false;
  cx->call_ns = cx->entries->tier->o.level == VM_TIER_AUTO ? vm_clock_ns() : 0;
}

/* The call of a function with code at its start is compared with those before it had any. */
static void clock_call(vm_context *cx, unsigned fn) {
  vm_fn_profile *p = &cx->profile.fns[fn];
  vm_entry *y = vm_entry_of(cx->entries, fn, cx->link->module->fns[fn].nloops);
  bool has_code = atomic_load(&y->region) != NULL;
  if (has_code != cx->went_native)
    return; /* of neither kind */
  vm_rate_add(has_code ? &p->fast : &p->slow, vm_clock_ns() - cx->call_ns, cx->work);
  if (has_code && vm_rate_loses(&p->fast, &p->slow))
    vm_tier_close(cx, y, &p->fast, &p->slow);
}

void vm_tier_end(vm_context *cx, unsigned fn) {
  if (cx->entries == NULL)
    return;
  if (cx->call_ns)
    clock_call(cx, fn);
  atomic_store(&cx->seen, UINT64_MAX);
}

/* Other threads count too; a number may get lost, which does no harm. */
static void count(_Atomic uint64_t *n) {
  uint64_t was = atomic_load_explicit(n, memory_order_relaxed);
  atomic_store_explicit(n, was + 1, memory_order_relaxed);
}

static void end_check(vm_context *cx, const vm_entry *y, vm_check *check, const vm_jit_exit *x) {
  vm_tier *t = cx->entries->tier;
  char name[140], said[VM_CHECK_SAID];
  uint64_t work = cx->work;
  vm_check_end(cx, check, x, said);
  atomic_fetch_add(&t->checked, 1);
  if (said[0] == 0)
    return;
  atomic_fetch_add(&t->wrong, 1);
  vm_tier_say(t, "%s: CHECK: %s at pc %u, work %llu, reason %u",
              vm_entry_name(cx->entries, y, name, sizeof name), said, x->pc,
              (unsigned long long)work, x->reason);
}

/* One run of the region: why it left. */
static vm_jit_exit_reason run(vm_context *cx, vm_entry *y, const vm_region *g) {
  uint64_t from = cx->work;
  vm_fn_profile *p = cx->top->profile;
  const vm_region *outer = cx->in;
  cx->poll_at = earlier(from + RUN_WORK, cx->work_limit);
  cx->in = g;
  cx->native++;
  vm_tier *t = cx->entries->tier;
  vm_check *check = t->o.check ? vm_check_begin(cx) : NULL;
  if (t->o.check && check == NULL)
    atomic_fetch_add(&t->unchecked, 1);
  uint32_t exit = g->code->enter(cx->top, cx);
  if (check)
    end_check(cx, y, check, &g->code->exits[exit]);
  cx->native--;
  cx->in = outer;
  cx->poll_at = earlier(cx->work + cx->poll_work, cx->work_limit);
  cx->heat_from = cx->work;
  count(&y->runs);
  count(&y->exits[g->code->exits[exit].reason]);
  if (y->loop < cx->link->module->fns[y->fn].nloops)
    p->loops[y->loop].heat += cx->work - from;
  else
    p->heat += cx->work - from;
  return (vm_jit_exit_reason)g->code->exits[exit].reason;
}

static int stop(vm_context *cx, int fault) {
  cx->raised = fault;
  return VM_STOPPED;
}

/* The code for the loop at the frame's pc, asked for where there is none. */
static const vm_region *region_at(vm_context *cx, unsigned loop, vm_entry **y) {
  if (atomic_load_explicit(&cx->entries->news, memory_order_relaxed) != cx->news)
    vm_tier_take_news(cx);
  *y = vm_entry_of(cx->entries, cx->top->fn, loop);
  vm_tier_consider(cx, loop);
  return atomic_load(&(*y)->region);
}

/* Whether the region left because it does not fit, which has been seen to. */
static bool missed(vm_context *cx, vm_entry *y, const vm_region *g, vm_jit_exit_reason reason) {
  switch (reason) {
  case VM_JIT_EXIT_SHAPE:
  case VM_JIT_EXIT_FAULT:
  case VM_JIT_EXIT_COLD:
  case VM_JIT_EXIT_BULK:
    vm_tier_missed(cx, y, g, reason);
    return true;
  case VM_JIT_EXIT_WORK:
  case VM_JIT_EXIT_LEAVE:
  case VM_JIT_EXIT_RETURN:
    /* Code that tests as it goes does not leave by itself. */
    if (g->checked && !vm_region_fits(g, cx->top))
      vm_tier_missed(cx, y, g, VM_JIT_EXIT_SHAPE);
    return false;
  case VM_JIT_EXIT_RAISED:
    break;
  }
  return false;
}

/* The code of the entry ran since then. */
static void clock_code(vm_context *cx, vm_entry *y, uint64_t from_ns, uint64_t from_work) {
  const vm_fn *fn = &cx->link->module->fns[y->fn];
  vm_fn_profile *p = &cx->profile.fns[y->fn];
  cx->clock_ns = 0;
  if (y->loop == fn->nloops)
    return; /* whole calls are timed */
  vm_loop_profile *l = &p->loops[y->loop];
  vm_rate_add(&l->fast, vm_clock_ns() - from_ns, cx->work - from_work);
  if (vm_rate_loses(&l->fast, &l->slow))
    vm_tier_close(cx, y, &l->fast, &l->slow);
}

/* Runs worth timing: often at first, then now and then. */
static bool is_timed(const vm_context *cx, const vm_entry *y) {
  uint64_t runs = atomic_load_explicit(&y->runs, memory_order_relaxed);
  return cx->entries->tier->o.level == VM_TIER_AUTO && (runs < 256 || runs % 64 == 0);
}

/* Enters the code, and whatever code comes next. */
static int go(vm_context *cx, vm_entry *y, const vm_region *g) {
  vm_frame *f = cx->top;
  cx->went_native = true;
  while (g) {
    uint32_t from = y->pc;
    bool timed = is_timed(cx, y);
    uint64_t from_ns = timed ? vm_clock_ns() : 0, from_work = cx->work;
    vm_jit_exit_reason reason = run(cx, y, g);
    if (timed)
      clock_code(cx, y, from_ns, from_work);
    cx->clock_ns = 0;
    if (reason == VM_JIT_EXIT_RAISED)
      return VM_STOPPED;
    bool stuck = missed(cx, y, g, reason) && f->pc == from;
    const vm_ins *i = &f->code->fn->code[f->pc];
    rest(cx);
    if (i->op != VM_OP_LOOP)
      break;
    uint64_t total = cx->work + vm_ins_cost(i);
    f->profile->loops[i->a].headers++;
    int fault = vm_check_limits(cx, total);
    g = region_at(cx, i->a, &y);
    if (fault == VM_FINE && g && !stuck)
      continue;
    cx->work = total;
    if (fault != VM_FINE)
      return stop(cx, fault);
    f->pc++;
    break;
  }
  return VM_RESUME;
}

int vm_tier_at_loop(vm_context *cx, unsigned loop) {
  vm_entry *y;
  rest(cx);
  const vm_region *g = region_at(cx, loop, &y);
  return g && cx->native < MAX_NATIVE ? go(cx, y, g) : VM_FINE;
}

int vm_tier_at_start(vm_context *cx) {
  rest(cx);
  vm_tier_consider_fn(cx);
  vm_entry *y = vm_entry_of(cx->entries, cx->top->fn, cx->top->code->fn->nloops);
  const vm_region *g = atomic_load(&y->region);
  return g && cx->native < MAX_NATIVE ? go(cx, y, g) : VM_FINE;
}

int vm_tier_poll(vm_context *cx, uint64_t work) {
  cx->poll_at = earlier(work + RUN_WORK, cx->work_limit);
  if (vm_check_limits(cx, work) != VM_FINE)
    return 1;
  if (cx->in->checked && !vm_region_fits(cx->in, cx->top))
    return 1;
  return atomic_load_explicit(&cx->entries->news, memory_order_relaxed) != cx->news;
}
