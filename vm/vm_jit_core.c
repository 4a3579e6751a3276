/* vm/vm_jit_core.c - what compiled code is given of the core: offsets, and functions to call. */
#include <stddef.h>

#include "vm/vm_tables.h"
#include "vm/vm_tier_int.h"

/* What handlers of events do most, without the ways that any instruction takes: true where it was
 * done.  Both charge nothing by size, and the code that calls keeps the work itself. */
static bool step_write(vm_frame *f, vm_context *cx, const vm_ins *i) {
  ls_list *l;
  ls_type type;
  switch ((int)i->op) {
  case VM_OP_SET:
    l = f->lists->list[i->c >> 8];
    type = l->schema->cols[i->c & 255u].type;
    if (l->schema->nkeys == 0 || type == LS_REAL ||
        (type == LS_TEXT && f->regs[i->b].u >= LS_TEXT_OVERLAY))
      return false;
    return ls_set_noted_fast(l, f->regs[i->a].u, i->c & 255u, f->regs[i->b]);
  case VM_OP_ADD:
    return ls_list_insert(f->lists->list[i->b], cx->texts, &f->regs[i->a], NULL) == LS_OK;
  default:
    return false;
  }
}

static int core_step(vm_frame *f, vm_context *cx, uint32_t pc) {
  f->pc = pc;
  if (step_write(f, cx, &f->code->fn->code[pc]))
    return VM_JIT_FELL;
  int fault = vm_step(cx);
  f->back = false;
  if (fault != VM_FINE)
    return VM_JIT_STOPPED;
  return f->pc == pc + 1 ? VM_JIT_FELL : VM_JIT_JUMPED;
}

/* The callee runs on the interpreter, or in its own code, until it is back. */
static int run_callee(vm_frame *f, vm_context *cx) {
  vm_frame *base = cx->base;
  unsigned fn = f->code->fn->code[f->pc].b;
  cx->base = f;
  int fault = cx->execute(cx);
  cx->base = base;
  if (fault != VM_FINE)
    return fault;
  const vm_fn *callee = &cx->link->module->fns[fn];
  if (callee->result == VM_RESULT_SCALAR)
    f->regs[f->code->fn->code[f->pc].a] = cx->value;
  return VM_FINE;
}

static int core_call(vm_frame *f, vm_context *cx, uint32_t pc) {
  uint64_t poll_ahead = cx->poll_at - cx->work;
  const vm_ins *i = &f->code->fn->code[pc];
  f->pc = pc;
  int fault = vm_step(cx);
  f->back = false;
  if (fault == VM_FINE && i->op == VM_OP_CALL)
    fault = run_callee(f, cx);
  if (fault != VM_FINE) {
    cx->raised = fault;
    return VM_JIT_STOPPED;
  }
  f->pc = pc + 1;
  (void)poll_ahead;
  return VM_JIT_FELL;
}

static int core_settle(vm_frame *f, vm_context *cx, uint32_t pc) {
  f->pc = pc;
  cx->raised = vm_do_settle(cx, f->code->fn->code[pc].b);
  cx->work += cx->extra;
  return cx->raised == VM_FINE ? VM_JIT_FELL : VM_JIT_STOPPED;
}

static int core_poll(vm_context *cx, uint64_t work) { return vm_tier_poll(cx, work); }

static bool is_keyed_by_int(const ls_list *l) {
  ls_type type = l->schema->cols[0].type;
  return l->schema->nkeys == 1 && type != LS_TEXT && type != LS_REAL;
}

static uint64_t core_find(vm_context *cx, ls_list *l, const ls_val *key) {
  ls_row h;
  if (ls_shape_layout(l->shape) == LS_DENSE && is_keyed_by_int(l))
    return ls_dense_has(l, key->i) ? key->u - (uint64_t)l->u.dense.base : LS_NO_ROW;
  return ls_list_find(l, cx->texts, key, &h) == LS_OK ? h : LS_NO_ROW;
}

static int core_builtin(uint32_t f, const ls_val *args, ls_val *out) {
  return vm_sem_builtin((vm_builtin)f, args, out);
}

static int core_text_same(vm_context *cx, uint64_t x, uint64_t y) {
  return vm_text_same(cx, (ls_val){.u = x}, (ls_val){.u = y});
}

/* One time in 32, by the seed. */
static int core_stress(vm_context *cx) {
  uint64_t s = cx->stress ? cx->stress : 1;
  s ^= s << 13;
  s ^= s >> 7;
  s ^= s << 17;
  cx->stress = s;
  return s % 32 == 0;
}

void vm_jit_core_fill(vm_jit_core *core) {
  *core = (vm_jit_core){
      .frame_pc = offsetof(vm_frame, pc),
      .frame_lists = offsetof(vm_frame, lists),
      .frame_regs = offsetof(vm_frame, regs),
      .lists_list = offsetof(vm_lists, list),
      .context_work = offsetof(vm_context, work),
      .context_work_limit = offsetof(vm_context, work_limit),
      .context_poll_at = offsetof(vm_context, poll_at),
      .context_consts = offsetof(vm_context, consts),
      .context_direct = offsetof(vm_context, direct),
#define HELPER(id, name, result, parameters, r, p, meaning) .name = core_##name,
#include "vm/vm_jit_helpers.def"
#undef HELPER
  };
}
