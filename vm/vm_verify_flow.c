/* vm/vm_verify_flow.c - types of registers along every path.
 *
 * Abstract interpretation.  A state is a word a register.  States are kept at jump targets only;
 * code between them is followed once per visit, with one working state.  The lowest target whose
 * state changed is followed next, so that an inner loop settles before what comes after it.  A
 * register's word can change at most four times at one target (value, key of a block, not yet
 * written, nothing), hence it ends; a budget of cells bounds the time of odd modules.
 */
#include "vm/vm_verify_int.h"

#include <string.h>

/* States of one function may take this many cells, and so many more an instruction. */
#define STATE_CELLS ((uint64_t)1 << 21)
#define STATE_CELLS_PER_INS 128u

static bool is_value(vm_abs x) {
  return vm_abs_kind(x) == ABS_VALUE || vm_abs_kind(x) == ABS_UNSET;
}

/* What is known where it is x or y. */
static vm_abs meet(vm_abs x, vm_abs y) {
  if (x == y)
    return x;
  if (is_value(x) && is_value(y)) {
    if (vm_abs_detail(x) != vm_abs_detail(y))
      return ABS_NOTHING;
    if (vm_abs_kind(x) == ABS_VALUE && vm_abs_kind(y) == ABS_VALUE)
      return vm_abs_disown(x);
    if (vm_abs_owner(x) != vm_abs_owner(y))
      return ABS_NOTHING;
    return vm_abs_kind(x) == ABS_UNSET ? x : y;
  }
  if (vm_abs_with_detail(x, 0) == vm_abs_with_detail(y, 0) && vm_abs_kind(x) >= ABS_HANDLE)
    return vm_abs_detail(x) > vm_abs_detail(y) ? x : y;
  return ABS_NOTHING;
}

bool vm_flow_spend(vm_flow *f, uint64_t cells) {
  if (f->v->budget < cells)
    return vm_check_fail(f->v, "the function is too complex to verify: make it smaller");
  f->v->budget -= cells;
  return true;
}

static void flow_mark(vm_flow *f, uint32_t target) {
  f->dirty[target] = 1;
  if (target < f->lowest)
    f->lowest = target;
}

bool vm_flow_join(vm_flow *f, uint32_t target) {
  size_t bytes = f->ncells * sizeof(vm_abs);
  if (!vm_flow_spend(f, f->ncells))
    return false;
  if (!f->in[target]) {
    f->stored += f->ncells;
    if (f->stored > STATE_CELLS + (uint64_t)f->fn->ncode * STATE_CELLS_PER_INS)
      return vm_check_fail(f->v, "the function is too complex to verify: make it smaller");
    f->in[target] = ls_mem_alloc(f->v->m->mem, bytes);
    if (!f->in[target])
      return vm_check_memory(f->v);
    memcpy(f->in[target], f->now, bytes);
    flow_mark(f, target);
    return true;
  }
  vm_abs *in = f->in[target];
  bool changed = false;
  for (unsigned r = 0; r < f->ncells; r++) {
    if (in[r] == f->now[r])
      continue;
    vm_abs both = meet(in[r], f->now[r]);
    if (both != in[r]) {
      in[r] = both;
      changed = true;
    }
  }
  if (changed)
    flow_mark(f, target);
  return true;
}

/* Follows the code from a jump target to the end of its path. */
static bool follow(vm_flow *f, uint32_t pc) {
  memcpy(f->now, f->in[pc], f->ncells * sizeof(vm_abs));
  f->dirty[pc] = 0;
  for (;;) {
    const vm_ins *i = &f->fn->code[pc];
    f->v->pc = pc;
    if (!vm_flow_spend(f, 1) || !vm_flow_step(f, i))
      return false;
    if (vm_effects(vm_op_read((vm_op)i->op)->effects) & VM_EFFECT_END)
      return true;
    if (f->target[++pc])
      return vm_flow_join(f, pc);
  }
}

static bool run(vm_flow *f) {
  while (f->lowest < f->fn->ncode) {
    uint32_t pc = f->lowest++;
    if (f->dirty[pc] && !follow(f, pc))
      return false;
    if (f->lowest <= pc && !vm_flow_spend(f, (pc - f->lowest) / 8))
      return false;
  }
  f->v->pc = -1;
  return true;
}

static void watch(vm_flow *f, uint8_t *seen, unsigned r) {
  if (!seen[r]) {
    seen[r] = 1;
    f->watch[f->nwatch++] = (uint16_t)r;
  }
}

/* Jump targets, and registers that may ever hold handles or cursors. */
static void survey(vm_flow *f, uint8_t *seen) {
  f->target[0] = 1;
  for (uint32_t pc = 0; pc < f->fn->ncode; pc++) {
    const vm_ins *i = &f->fn->code[pc];
    const vm_op_facts *facts = vm_op_read((vm_op)i->op);
    int64_t target = vm_ins_target(i, pc);
    if (target >= 0)
      f->target[target] = 1;
    vm_operand a = facts->operand[0];
    if (a == VM_OPD_WH || a == VM_OPD_BK || a == VM_OPD_CB)
      watch(f, seen, i->a);
    if (a == VM_OPD_CB)
      watch(f, seen, i->a + 2u + vm_fn_schema(f->v->m, f->fn, i->b >> 8)->nkeys);
  }
}

static bool begin(vm_flow *f) {
  for (unsigned p = 0; p < f->fn->nparams; p++)
    f->now[p] = vm_abs_value(f->fn->params[p].type);
  for (unsigned l = 0; l < f->fn->nlists; l++)
    if (f->v->m->lists[f->fn->lists[l]].stored)
      f->now[f->fn->nregs + l] = vm_abs_make(ABS_LIST, 0, 0, 0, 0);
  return vm_flow_join(f, 0) && run(f);
}

bool vm_check_flow(vm_check *v) {
  const vm_fn *fn = vm_check_fn(v);
  ls_mem *mem = v->m->mem;
  vm_flow f = {.v = v, .fn = fn, .ncells = fn->nregs + fn->nlists + 1u};
  size_t states = fn->ncode * sizeof *f.in, cells = f.ncells * sizeof *f.now;
  size_t marks = (size_t)fn->ncode * 2, regs = ((size_t)fn->nregs + 1) * 3;
  f.in = ls_mem_zalloc(mem, states);
  f.now = ls_mem_zalloc(mem, cells);
  f.target = ls_mem_zalloc(mem, marks);
  f.watch = ls_mem_zalloc(mem, regs);
  bool fine = f.in && f.now && f.target && f.watch;
  if (fine) {
    f.dirty = f.target + fn->ncode;
    survey(&f, (uint8_t *)(f.watch + fn->nregs + 1));
    fine = begin(&f);
    for (uint32_t pc = 0; pc < fn->ncode; pc++)
      ls_mem_free(mem, f.in[pc], cells);
  } else {
    vm_check_memory(v);
  }
  ls_mem_free(mem, f.in, states);
  ls_mem_free(mem, f.now, cells);
  ls_mem_free(mem, f.target, marks);
  ls_mem_free(mem, f.watch, regs);
  return fine;
}
