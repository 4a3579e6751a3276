/* vm/vm_verify_code.c - each instruction by itself: operands in range, jumps, loops.
 *
 * Everything here holds for unreachable code too, so that whoever walks the code (predecoder,
 * disassembler, IR builder) need not ask what can be reached.
 */
#include "vm/vm_verify_int.h"

#include <string.h>

/* n registers from `first` on. */
static bool check_regs(vm_check *v, unsigned first, unsigned n) {
  unsigned nregs = vm_check_fn(v)->nregs;
  if (first + n <= nregs)
    return true;
  if (n == 1)
    return vm_check_fail(v, "r%u; the function has %u registers", first, nregs);
  return vm_check_fail(v, "%u registers from r%u on; the function has %u", n, first, nregs);
}

static bool check_jump(vm_check *v, const vm_ins *i) {
  const vm_fn *fn = vm_check_fn(v);
  int64_t target = vm_ins_target(i, (uint32_t)v->pc);
  if (target >= fn->ncode)
    return vm_check_fail(v, "jumps out of the code, which has %u instructions", fn->ncode);
  if (target <= v->pc && fn->code[target].op != VM_OP_LOOP)
    return vm_check_fail(v, "jumps back to instruction %d, which is no loop", (int)target);
  return true;
}

static bool check_list(vm_check *v, const vm_ins *i, unsigned list) {
  const vm_fn *fn = vm_check_fn(v);
  if (list >= fn->nlists)
    return vm_check_fail(v, "list %u; the function has %u", list, fn->nlists);
  const vm_listdef *def = &v->m->lists[fn->lists[list]];
  vm_list_rule rule = vm_op_list_rule((vm_op)i->op);
  if (rule == VM_KEYED_LIST && def->schema.nkeys == 0)
    return vm_check_fail(v, "%s has no key; a keyed list is needed", def->schema.name);
  if (rule == VM_POSITIONAL_LIST && def->schema.nkeys > 0)
    return vm_check_fail(v, "%s has a key; a positional list is needed", def->schema.name);
  if (i->op == VM_OP_NEW && def->stored)
    return vm_check_fail(v, "%s is stored; a local list is needed", def->schema.name);
  return true;
}

static bool check_column(vm_check *v, const vm_ins *i, uint16_t lc) {
  if (!check_list(v, i, lc >> 8))
    return false;
  const ls_schema *s = vm_fn_schema(v->m, vm_check_fn(v), lc >> 8);
  unsigned col = lc & 255u;
  if (col >= s->ncols)
    return vm_check_fail(v, "column %u; %s has %u", col, s->name, s->ncols);
  if (i->op == VM_OP_SET && col < s->nkeys)
    return vm_check_fail(v, "%s is a key column of %.60s, and those are never set",
                         s->cols[col].name, s->name);
  return true;
}

static bool check_slice(vm_check *v, const vm_ins *i, uint16_t sl) {
  if (!check_list(v, i, sl >> 8))
    return false;
  const ls_schema *s = vm_fn_schema(v->m, vm_check_fn(v), sl >> 8);
  vm_spec spec = vm_spec_read(sl);
  unsigned most = spec.lo || spec.hi ? spec.np + 1 : spec.np;
  if (most > s->nkeys)
    return vm_check_fail(v, "a slice by %u key columns; %s has %u", most, s->name, s->nkeys);
  if (i->op == VM_OP_SCOUNT && spec.tracked)
    return vm_check_fail(v, "a count cannot be tracked");
  return true;
}

static bool check_sort(vm_check *v, const vm_ins *i) {
  const vm_const *k = &v->m->consts[i->b];
  const ls_schema *s = vm_fn_schema(v->m, vm_check_fn(v), i->a);
  if (k->type != LS_INT)
    return vm_check_fail(v, "sorts by constant %u, a %s; an int is needed", i->b,
                         vm_type_name(k->type));
  unsigned n = 0;
  for (; n < 8; n++) {
    unsigned key = (unsigned)(k->value.u >> (8 * n)) & 255u;
    if (key == 255)
      break;
    if (key >> 1 >= s->ncols)
      return vm_check_fail(v, "sorts by column %u; %s has %u", key >> 1, s->name, s->ncols);
  }
  return n > 0 || vm_check_fail(v, "sorts by no column");
}

/* How many registers the operand is the first of; the list, if any, is in range. */
static unsigned extent(const vm_check *v, const vm_ins *i, vm_operand kind) {
  const vm_module *m = v->m;
  const vm_fn *fn = vm_check_fn(v);
  int list = vm_ins_list(i);
  const ls_schema *s = list >= 0 ? vm_fn_schema(m, fn, (unsigned)list) : NULL;
  switch (kind) {
  case VM_OPD_PV:
    return s->ncols;
  case VM_OPD_RV:
    return s->ncols - s->nkeys;
  case VM_OPD_KV:
    return s->nkeys;
  case VM_OPD_BK:
    return 2u + s->nkeys;
  case VM_OPD_CB:
    return 4u + s->nkeys + vm_spec_bounds(vm_spec_read(i->op == VM_OP_SCOUNT ? i->c : i->b));
  case VM_OPD_AV:
    break;
  default:
    return 1;
  }
  switch (i->op) {
  case VM_OP_BIF:
    return (unsigned)strlen(vm_builtin_read((vm_builtin)i->b)->args);
  case VM_OP_SCOUNT:
    return vm_spec_bounds(vm_spec_read(i->c));
  case VM_OP_CALL: {
    const vm_fn *g = &m->fns[i->b];
    return g->nparams == 0 && g->result == VM_RESULT_SCALAR ? 1 : g->nparams;
  }
  default: {
    const vm_extern *x = &m->externs[i->b];
    return x->nparams == 0 && x->result == VM_RESULT_SCALAR ? 1 : x->nparams;
  }
  }
}

static bool check_number(vm_check *v, unsigned n, unsigned count, const char *what) {
  return n < count || vm_check_fail(v, "%s %u; there are %u", what, n, count);
}

/* Operands that are numbers of something. */
static bool check_plain(vm_check *v, const vm_ins *i, vm_operand kind, uint16_t x) {
  const vm_module *m = v->m;
  switch (kind) {
  case VM_OPD__:
    return x == 0 || vm_check_fail(v, "an unused operand is %u; it must be 0", x);
  case VM_OPD_U1:
    return x <= 1 || vm_check_fail(v, "the number is %u; it must be 0 or 1", x);
  case VM_OPD_K:
    return check_number(v, x, m->nconsts, "constant");
  case VM_OPD_FK:
    return check_number(v, x, VM_NFAULTS, "fault");
  case VM_OPD_BF:
    return check_number(v, x, VM_NBUILTINS, "builtin");
  case VM_OPD_XF:
    return check_number(v, x, m->nexterns, "host function");
  case VM_OPD_LP:
    return check_number(v, x, vm_check_fn(v)->nloops, "loop");
  case VM_OPD_FN:
    if (!check_number(v, x, m->nfns, "function"))
      return false;
    return m->fns[x].kind == VM_FN || vm_check_fail(v, "calls %s, which is no fn", m->fns[x].name);
  case VM_OPD_OFF:
    return check_jump(v, i);
  case VM_OPD_L:
    return check_list(v, i, x);
  case VM_OPD_LC:
    return check_column(v, i, x);
  case VM_OPD_SL:
    return check_slice(v, i, x);
  default:
    return true;
  }
}

static bool is_register(vm_operand kind) {
  return (kind >= VM_OPD_WI && kind <= VM_OPD_RN) || kind >= VM_OPD_AV;
}

static bool check_ins(vm_check *v, const vm_ins *i) {
  if (i->op >= VM_NOPS)
    return vm_check_fail(v, "instruction number %u, which there is not", i->op);
  const vm_op_facts *facts = vm_op_read((vm_op)i->op);
  unsigned fields = facts->operand[1] == VM_OPD_S32 ? 2 : 3;
  for (unsigned n = 0; n < fields; n++)
    if (!is_register(facts->operand[n]) &&
        !check_plain(v, i, facts->operand[n], vm_ins_field(i, n)))
      return false;
  /* What the registers are may depend on the other operands: only now. */
  for (unsigned n = 0; n < fields; n++)
    if (is_register(facts->operand[n]) &&
        !check_regs(v, vm_ins_field(i, n), extent(v, i, facts->operand[n])))
      return false;
  return i->op != VM_OP_SORT || check_sort(v, i);
}

/* Each loop number is some LOOP's, and no two's. */
static bool check_loops(vm_check *v, uint8_t *seen) {
  const vm_fn *fn = vm_check_fn(v);
  unsigned found = 0;
  for (v->pc = 0; v->pc < fn->ncode; v->pc++) {
    const vm_ins *i = &fn->code[v->pc];
    if (i->op != VM_OP_LOOP)
      continue;
    if (seen[i->a])
      return vm_check_fail(v, "loop %u a second time", i->a);
    seen[i->a] = 1;
    found++;
  }
  v->pc = -1;
  return found == fn->nloops ||
         vm_check_fail(v, "%u loops declared, %u in the code", fn->nloops, found);
}

bool vm_check_code(vm_check *v) {
  const vm_fn *fn = vm_check_fn(v);
  for (v->pc = 0; v->pc < fn->ncode; v->pc++)
    if (!check_ins(v, &fn->code[v->pc]))
      return false;
  v->pc = fn->ncode - 1;
  if (!(vm_effects(vm_op_read((vm_op)fn->code[v->pc].op)->effects) & VM_EFFECT_END))
    return vm_check_fail(v, "control falls off the end of the code");
  v->pc = -1;
  if (fn->nloops > fn->ncode)
    return vm_check_fail(v, "%u loops declared; the code has %u instructions", fn->nloops,
                         fn->ncode);
  size_t bytes = (size_t)fn->nloops + 1;
  uint8_t *seen = ls_mem_zalloc(v->m->mem, bytes);
  bool fine = seen ? check_loops(v, seen) : vm_check_memory(v);
  ls_mem_free(v->m->mem, seen, bytes);
  return fine;
}
