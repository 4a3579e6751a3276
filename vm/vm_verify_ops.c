/* vm/vm_verify_ops.c - what one instruction needs of the registers and leaves in them.
 *
 * First everything that is read is checked, then what goes stale, then what is written: an
 * operand may be read and written in the same register.
 */
#include "vm/vm_verify_int.h"

#include <string.h>

static bool need_params(vm_flow *f, unsigned r, const vm_param *p, unsigned n) {
  for (unsigned k = 0; k < n; k++)
    if (!vm_reg_need_value(f, r + k, p[k].type))
      return false;
  return true;
}

static bool jump(vm_flow *f, const vm_ins *i) {
  return vm_flow_join(f, (uint32_t)vm_ins_target(i, (uint32_t)f->v->pc));
}

static bool step_find(vm_flow *f, const vm_ins *i) {
  unsigned list = i->b, base = i->a;
  const ls_schema *s = vm_reg_schema_of(f, list);
  if (!vm_reg_need_columns(f, base + 2, s->cols, s->nkeys))
    return false;
  vm_reg_end_block(f, base, list);
  if (i->op == VM_OP_FINDJ && !jump(f, i))
    return false;
  vm_reg_write_block(f, base, list, ABS_FRESH);
  vm_reg_claim_keys(f, base, list, ABS_VALUE);
  return true;
}

static bool step_ensure(vm_flow *f, const vm_ins *i) {
  unsigned list = i->c, base = i->a;
  const ls_schema *s = vm_reg_schema_of(f, list);
  if (!vm_reg_need_columns(f, base + 2, s->cols, s->nkeys) ||
      !vm_reg_need_columns(f, i->b, s->cols + s->nkeys, s->ncols - s->nkeys) ||
      !vm_reg_make_stale(f, list))
    return false;
  vm_reg_end_cursor(f, base, list);
  vm_reg_write_block(f, base, list, ABS_FRESH);
  vm_reg_claim_keys(f, base, list, ABS_VALUE);
  return true;
}

static bool step_refind(vm_flow *f, const vm_ins *i) {
  if (!vm_reg_need_block(f, i->a, i->b, ABS_STALE) || !vm_reg_need_own_keys(f, i->a, i->b, false))
    return false;
  vm_reg_write_block(f, i->a, i->b, ABS_FRESH);
  return true;
}

static bool step_seek(vm_flow *f, const vm_ins *i) {
  unsigned list = i->b >> 8, base = i->a, owner = base + 1;
  vm_spec spec = vm_spec_read(i->b);
  unsigned at = base + 2 + vm_reg_schema_of(f, list)->nkeys;
  if (!vm_reg_need_bounds(f, at + 2, list, spec, 0) || !vm_reg_make_stale_by_order(f, list))
    return false;
  vm_reg_write_block(f, base, list, ABS_AT_SEEK);
  vm_reg_claim_keys(f, base, list, spec.tracked ? ABS_UNSET : ABS_NOTHING);
  f->now[at] = vm_abs_make(ABS_NEXT, ABS_FRESH, list, i->b & 255u, owner);
  f->now[at + 1] = vm_abs_make(ABS_END, 0, list, i->b & 255u, owner);
  for (unsigned k = 0; spec.tracked && k < vm_spec_bounds(spec); k++)
    f->now[at + 2 + k] = vm_abs_disown(f->now[at + 2 + k]) | (vm_abs)owner << 32;
  return true;
}

static bool step_next(vm_flow *f, const vm_ins *i) {
  unsigned list = i->b >> 8, base = i->a;
  unsigned at = base + 2 + vm_reg_schema_of(f, list)->nkeys;
  bool tracked = vm_spec_read(i->b).tracked;
  if (!vm_reg_need_cursor(f, base, i->b) || (tracked && !vm_reg_make_stale_by_order(f, list)))
    return false;
  vm_abs next = vm_abs_with_detail(f->now[at], ABS_FRESH), end = f->now[at + 1];
  vm_reg_end_block(f, base, list);
  if (tracked)
    vm_reg_drop_keys(f, base, list);
  if (!jump(f, i))
    return false;
  vm_reg_write_block(f, base, list, ABS_FRESH);
  vm_reg_claim_keys(f, base, list, tracked ? ABS_VALUE : ABS_NOTHING);
  f->now[at] = next;
  f->now[at + 1] = end;
  return true;
}

/* firstj, lastj */
static bool step_edge(vm_flow *f, const vm_ins *i) {
  unsigned list = i->b >> 8, base = i->a;
  vm_spec spec = vm_spec_read(i->b);
  if (!vm_reg_need_bounds(f, base + 4 + vm_reg_schema_of(f, list)->nkeys, list, spec, 0) ||
      !vm_reg_make_stale_by_order(f, list))
    return false;
  vm_reg_end_block(f, base, list);
  if (spec.tracked)
    vm_reg_drop_keys(f, base, list);
  if (!jump(f, i))
    return false;
  vm_reg_write_block(f, base, list, ABS_FRESH);
  vm_reg_claim_keys(f, base, list, spec.tracked ? ABS_VALUE : ABS_NOTHING);
  return true;
}

static bool step_scount(vm_flow *f, const vm_ins *i) {
  unsigned list = i->c >> 8;
  if (!vm_reg_need_bounds(f, i->b, list, vm_spec_read(i->c), 0) ||
      !vm_reg_make_stale_by_order(f, list))
    return false;
  vm_reg_write_value(f, i->a, LS_INT);
  return true;
}

static bool step_call(vm_flow *f, const vm_ins *i) {
  const vm_fn *g = &f->v->m->fns[i->b];
  if (!need_params(f, i->a, g->params, g->nparams))
    return false;
  for (unsigned l = 0; l < f->fn->nlists; l++) {
    unsigned list = f->fn->lists[l];
    bool writes = !vm_reg_is_local(f, l) &&
                  (f->v->writes[(size_t)i->b * f->v->words + list / 64] >> (list % 64) & 1);
    if (writes && !vm_reg_make_stale(f, l))
      return false;
  }
  if (g->result == VM_RESULT_SCALAR)
    vm_reg_write_value(f, i->a, g->result_type);
  return true;
}

static bool step_callx(vm_flow *f, const vm_ins *i) {
  const vm_extern *x = &f->v->m->externs[i->b];
  if (!need_params(f, i->a, x->params, x->nparams))
    return false;
  if (x->result == VM_RESULT_SCALAR)
    vm_reg_write_value(f, i->a, x->result_type);
  return true;
}

static bool step_builtin(vm_flow *f, const vm_ins *i) {
  const vm_builtin_facts *b = vm_builtin_read((vm_builtin)i->b);
  for (unsigned k = 0; b->args[k]; k++)
    if (!vm_reg_need_value(f, i->c + k, vm_type_of_letter(b->args[k])))
      return false;
  vm_reg_write_value(f, i->a, vm_type_of_letter(b->result[0]));
  return true;
}

static bool step_set(vm_flow *f, const vm_ins *i) {
  unsigned list = i->c >> 8;
  if (!vm_reg_need_handle(f, i->a, list) ||
      !vm_reg_need_value(f, i->b, vm_reg_schema_of(f, list)->cols[i->c & 255u].type) ||
      !vm_reg_make_stale(f, list))
    return false;
  f->now[i->a] = vm_abs_make(ABS_HANDLE, ABS_FRESH, list, 0, 0);
  return true;
}

static bool step_move(vm_flow *f, const vm_ins *i) {
  if (vm_abs_kind(f->now[i->b]) != ABS_VALUE)
    return vm_reg_refuse(f, i->b, "a value");
  vm_reg_write_value(f, i->a, (ls_type)vm_abs_detail(f->now[i->b]));
  return true;
}

static bool step_return(vm_flow *f, const vm_ins *i) {
  static const char *const results[] = {"nothing", "a value", "rows"};
  const vm_fn *fn = f->fn;
  vm_result_kind gives = i->op == VM_OP_RET    ? VM_RESULT_NONE
                         : i->op == VM_OP_RETV ? VM_RESULT_SCALAR
                                               : VM_RESULT_ROWS;
  if (fn->result != gives)
    return vm_check_fail(f->v, "returns %s; the result is %s", results[gives], results[fn->result]);
  if (gives == VM_RESULT_SCALAR)
    return vm_reg_need_value(f, i->a, fn->result_type);
  if (gives == VM_RESULT_NONE)
    return true;
  const ls_schema *s = vm_reg_schema_of(f, i->a);
  if (s->ncols != fn->nresult)
    return vm_check_fail(f->v, "returns %s, which has %u columns; the result has %u", s->name,
                         s->ncols, fn->nresult);
  for (unsigned c = 0; c < s->ncols; c++) {
    ls_type type = fn->result_cols[s->cols[c].declared].type;
    if (type != s->cols[c].type)
      return vm_check_fail(f->v, "returns %.60s, whose column %.60s is %s; %s is needed", s->name,
                           s->cols[c].name, vm_type_name(s->cols[c].type), vm_type_name(type));
  }
  return true;
}

static bool read_operand(vm_flow *f, const vm_ins *i, vm_operand kind, unsigned r) {
  int list = vm_ins_list(i);
  const ls_schema *s = list >= 0 ? vm_reg_schema_of(f, (unsigned)list) : NULL;
  switch (kind) {
  case VM_OPD_RI:
    return vm_reg_need_value(f, r, LS_INT);
  case VM_OPD_RR:
    return vm_reg_need_value(f, r, LS_REAL);
  case VM_OPD_RB:
    return vm_reg_need_value(f, r, LS_BOOL);
  case VM_OPD_RT:
    return vm_reg_need_value(f, r, LS_TEXT);
  case VM_OPD_RD:
    return vm_reg_need_value(f, r, LS_DATE);
  case VM_OPD_RN:
    return vm_reg_need_alike(f, i->b, i->c);
  case VM_OPD_RH:
    return vm_reg_need_handle(f, r, (unsigned)list);
  case VM_OPD_PV:
    return vm_reg_need_columns(f, r, s->cols, s->ncols);
  case VM_OPD_KV:
    return vm_reg_need_columns(f, r, s->cols, s->nkeys);
  default:
    return true;
  }
}

static void write_operand(vm_flow *f, const vm_ins *i, vm_operand kind) {
  switch (kind) {
  case VM_OPD_WI:
    vm_reg_write_value(f, i->a, LS_INT);
    break;
  case VM_OPD_WR:
    vm_reg_write_value(f, i->a, LS_REAL);
    break;
  case VM_OPD_WB:
    vm_reg_write_value(f, i->a, LS_BOOL);
    break;
  case VM_OPD_WT:
    vm_reg_write_value(f, i->a, LS_TEXT);
    break;
  case VM_OPD_WD:
    vm_reg_write_value(f, i->a, LS_DATE);
    break;
  case VM_OPD_WA: /* mov and bif have steps of their own */
    vm_reg_write_value(f, i->a,
                       i->op == VM_OP_LDK ? f->v->m->consts[i->b].type
                                          : vm_reg_schema_of(f, i->c >> 8)->cols[i->c & 255u].type);
    break;
  case VM_OPD_WH:
    f->now[i->a] = vm_abs_make(ABS_HANDLE, ABS_FRESH, i->c, 0, 0);
    break;
  default:
    break;
  }
}

static bool step_plain(vm_flow *f, const vm_ins *i) {
  const vm_op_facts *facts = vm_op_read((vm_op)i->op);
  unsigned effects = vm_effects(facts->effects);
  int list = vm_ins_list(i);
  for (unsigned n = 0; n < 3; n++)
    if (!read_operand(f, i, facts->operand[n], vm_ins_field(i, n)))
      return false;
  if (list >= 0 && (effects & VM_EFFECT_WRITE) && !vm_reg_make_stale(f, (unsigned)list))
    return false;
  write_operand(f, i, facts->operand[0]);
  if (i->op == VM_OP_NEW)
    f->now[f->fn->nregs + i->a] = vm_abs_make(ABS_LIST, 0, 0, 0, 0);
  return vm_op_field(facts, VM_OPD_OFF) < 0 || jump(f, i);
}

bool vm_flow_step(vm_flow *f, const vm_ins *i) {
  int list = vm_ins_list(i);
  if (list >= 0 && i->op != VM_OP_NEW && !vm_reg_need_list(f, (unsigned)list))
    return false;
  switch ((vm_op)i->op) {
  case VM_OP_MOV:
    return step_move(f, i);
  case VM_OP_CALL:
    return step_call(f, i);
  case VM_OP_CALLX:
    return step_callx(f, i);
  case VM_OP_BIF:
    return step_builtin(f, i);
  case VM_OP_RET:
  case VM_OP_RETV:
  case VM_OP_RETL:
    return step_return(f, i);
  case VM_OP_SET:
    return step_set(f, i);
  case VM_OP_FIND:
  case VM_OP_FINDJ:
    return step_find(f, i);
  case VM_OP_REFIND:
    return step_refind(f, i);
  case VM_OP_ENSURE:
    return step_ensure(f, i);
  case VM_OP_SEEK:
    return step_seek(f, i);
  case VM_OP_NEXT:
    return step_next(f, i);
  case VM_OP_FIRSTJ:
  case VM_OP_LASTJ:
    return step_edge(f, i);
  case VM_OP_SCOUNT:
    return step_scount(f, i);
  default:
    return step_plain(f, i);
  }
}
