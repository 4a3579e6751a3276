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
  if (cx->entries) atomic_store(&cx->seen, atomic_load(&cx->entries->epoch));
  cx->heat_from = 0;
}

void vm_tier_end(vm_context *cx) {
  if (cx->entries) atomic_store(&cx->seen, UINT64_MAX);
}

/* One run of the entry's code: where it left. */
static const vm_jit_exit *run(vm_context *cx, vm_entry *y, const vm_jit_code *code) {
  uint64_t from = cx->work;
  vm_fn_profile *p = cx->top->profile;
  cx->poll_at = earlier(from + RUN_WORK, cx->work_limit);
  cx->native++;
  uint32_t exit = code->enter(cx->top, cx);
  cx->native--;
  cx->poll_at = earlier(cx->work + cx->poll_work, cx->work_limit);
  cx->heat_from = cx->work;
  uint64_t runs = atomic_load_explicit(&y->runs, memory_order_relaxed);
  atomic_store_explicit(&y->runs, runs + 1, memory_order_relaxed);
  if (y->loop < cx->link->module->fns[y->fn].nloops) p->loops[y->loop].heat += cx->work - from;
  else p->heat += cx->work - from;
  return &code->exits[exit];
}

static int stop(vm_context *cx, int fault) {
  cx->raised = fault;
  return VM_STOPPED;
}

static bool is_miss(const vm_jit_exit *x) {
  return x->reason == VM_JIT_EXIT_SHAPE || x->reason == VM_JIT_EXIT_FAULT ||
         x->reason == VM_JIT_EXIT_COLD || x->reason == VM_JIT_EXIT_BULK;
}

/* Code for the loop at the frame's pc, asked for where there is none. */
static const vm_jit_code *code_for(vm_context *cx, unsigned loop, vm_entry **y) {
  if (atomic_load_explicit(&cx->entries->news, memory_order_relaxed) != cx->news)
    vm_tier_take_news(cx);
  *y = vm_entry_of(cx->entries, cx->top->fn, loop);
  vm_tier_consider(cx, loop);
  return atomic_load(&(*y)->code);
}

/* Enters the code, and whatever code comes next. */
static int go(vm_context *cx, vm_entry *y, const vm_jit_code *code) {
  vm_frame *f = cx->top;
  while (code) {
    const vm_jit_exit *x = run(cx, y, code);
    if (x->reason == VM_JIT_EXIT_RAISED) return VM_STOPPED;
    bool miss = is_miss(x), same = f->pc == y->pc;
    if (miss) vm_tier_missed(cx, y, x);
    const vm_ins *i = &f->code->fn->code[f->pc];
    rest(cx);
    if (i->op != VM_OP_LOOP) break;
    uint64_t total = cx->work + vm_ins_cost(i);
    f->profile->loops[i->a].headers++;
    int fault = vm_check_limits(cx, total);
    code = code_for(cx, i->a, &y);
    if (fault == VM_FINE && code && !(miss && same)) continue;
    cx->work = total;
    if (fault != VM_FINE) return stop(cx, fault);
    f->pc++;
    break;
  }
  return VM_RESUME;
}

int vm_tier_at_loop(vm_context *cx, unsigned loop) {
  vm_entry *y;
  rest(cx);
  const vm_jit_code *code = code_for(cx, loop, &y);
  return code && cx->native < MAX_NATIVE ? go(cx, y, code) : VM_FINE;
}

int vm_tier_at_start(vm_context *cx) {
  rest(cx);
  vm_tier_consider_fn(cx);
  vm_entry *y = vm_entry_of(cx->entries, cx->top->fn, cx->top->code->fn->nloops);
  const vm_jit_code *code = atomic_load(&y->code);
  return code && cx->native < MAX_NATIVE ? go(cx, y, code) : VM_FINE;
}

int vm_tier_poll(vm_context *cx, uint64_t work) {
  cx->poll_at = earlier(work + RUN_WORK, cx->work_limit);
  if (vm_check_limits(cx, work) != VM_FINE) return 1;
  return atomic_load_explicit(&cx->entries->news, memory_order_relaxed) != cx->news;
}
