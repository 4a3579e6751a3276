/* ir/ir_regs.c - registers that a bytecode instruction reads and writes, and their types.
 *
 * What vm_ops.def says of operands and blocks, as runs of registers.
 */
#include "ir/ir_code.h"

ir_type ir_type_of(ls_type type) {
  return type == LS_REAL ? IR_F64 : type == LS_BOOL ? IR_B1 : IR_I64;
}

const ls_schema *ir_schema_of(const vm_module *m, const vm_fn *fn, unsigned list) {
  return &m->lists[fn->lists[list]].schema;
}

static void reads(ir_regs *out, uint32_t first, uint32_t n) {
  if (n)
    out->read[out->nreads++] = (ir_span){first, n};
}

static void writes(ir_regs *out, uint32_t first, uint32_t n) {
  if (n)
    out->write[out->nwrites++] = (ir_span){first, n};
}

/* Operands that are the same for every instruction; true: done. */
static bool plain_operand(const ls_schema *s, vm_operand kind, uint32_t v, ir_regs *out) {
  switch (kind) {
  case VM_OPD_WI:
  case VM_OPD_WR:
  case VM_OPD_WB:
  case VM_OPD_WT:
  case VM_OPD_WD:
  case VM_OPD_WA:
  case VM_OPD_WH:
    writes(out, v, 1);
    return true;
  case VM_OPD_RI:
  case VM_OPD_RR:
  case VM_OPD_RB:
  case VM_OPD_RT:
  case VM_OPD_RD:
  case VM_OPD_RA:
  case VM_OPD_RN:
  case VM_OPD_RH:
    reads(out, v, 1);
    return true;
  case VM_OPD_XH:
    reads(out, v, 1);
    writes(out, v, 1);
    return true;
  case VM_OPD_PV:
    reads(out, v, s->ncols);
    return true;
  case VM_OPD_RV:
    reads(out, v, (uint32_t)s->ncols - s->nkeys);
    return true;
  case VM_OPD_KV:
    reads(out, v, s->nkeys);
    return true;
  default:
    return false;
  }
}

static void row_block(const ls_schema *s, const vm_ins *i, ir_regs *out) {
  if (i->op == VM_OP_REFIND)
    reads(out, i->a, 2u + s->nkeys);
  else
    reads(out, i->a + 2u, s->nkeys);
  writes(out, i->a, 2);
}

/* seek next firstj lastj */
static void cursor_block(const ls_schema *s, const vm_ins *i, ir_regs *out) {
  vm_spec spec = vm_spec_read(i->b);
  uint32_t cursor = i->a + 2u + s->nkeys, bounds = vm_spec_bounds(spec);
  bool tracked = spec.tracked && s->nkeys;
  switch ((int)i->op) {
  case VM_OP_SEEK:
    reads(out, cursor + 2, bounds);
    writes(out, i->a, 2);
    writes(out, cursor, 2);
    return;
  case VM_OP_NEXT:
    if (tracked)
      reads(out, i->a, 4u + s->nkeys + bounds);
    else
      reads(out, cursor, s->nkeys ? 2 : 1);
    writes(out, i->a, tracked ? 2u + s->nkeys : 2u);
    writes(out, cursor, s->nkeys ? 2 : 1);
    return;
  default: /* firstj lastj */
    reads(out, cursor + 2, bounds);
    writes(out, i->a, tracked ? 2u + s->nkeys : 2u);
  }
}

/* call callx bif scount */
static void argument_vector(const vm_module *m, const vm_ins *i, uint32_t v, ir_regs *out) {
  const char *args;
  uint32_t n = 0;
  switch ((int)i->op) {
  case VM_OP_CALL:
    reads(out, v, m->fns[i->b].nparams);
    writes(out, v, m->fns[i->b].result == VM_RESULT_SCALAR);
    return;
  case VM_OP_CALLX:
    reads(out, v, m->externs[i->b].nparams);
    writes(out, v, m->externs[i->b].result == VM_RESULT_SCALAR);
    return;
  case VM_OP_BIF:
    for (args = vm_builtin_read((vm_builtin)i->b)->args; *args; args++)
      n++;
    reads(out, v, n);
    return;
  default: /* scount */
    reads(out, v, vm_spec_bounds(vm_spec_read(i->c)));
  }
}

void ir_ins_regs(const vm_module *m, const vm_fn *fn, uint32_t pc, ir_regs *out) {
  const vm_ins *i = &fn->code[pc];
  const vm_op_facts *facts = vm_op_read((vm_op)i->op);
  int list = vm_ins_list(i);
  const ls_schema *s = list >= 0 ? ir_schema_of(m, fn, (unsigned)list) : NULL;
  out->nreads = out->nwrites = 0;
  for (unsigned n = 0; n < 3; n++) {
    uint32_t v = vm_ins_field(i, n);
    vm_operand kind = facts->operand[n];
    if (plain_operand(s, kind, v, out))
      continue;
    if (kind == VM_OPD_BK)
      row_block(s, i, out);
    else if (kind == VM_OPD_CB)
      cursor_block(s, i, out);
    else if (kind == VM_OPD_AV)
      argument_vector(m, i, v, out);
  }
}

/* Keys of a block; all else in it is I64. */
static ir_type block_type(const ls_schema *s, const vm_ins *i, uint32_t reg) {
  uint32_t k = reg - i->a - 2u;
  return reg >= i->a + 2u && k < s->nkeys ? ir_type_of(s->cols[k].type) : IR_I64;
}

ir_type ir_ins_type(const vm_module *m, const vm_fn *fn, uint32_t pc, uint32_t reg) {
  const vm_ins *i = &fn->code[pc];
  const vm_op_facts *facts = vm_op_read((vm_op)i->op);
  int list = vm_ins_list(i);
  switch (facts->operand[0]) {
  case VM_OPD_WR:
    return IR_F64;
  case VM_OPD_WB:
    return IR_B1;
  case VM_OPD_WA:
    if (i->op == VM_OP_MOV)
      return IR_NONE;
    if (i->op == VM_OP_LDK)
      return ir_type_of(m->consts[i->b].type);
    if (i->op == VM_OP_BIF)
      return ir_type_of(vm_type_of_letter(vm_builtin_read((vm_builtin)i->b)->result[0]));
    return ir_type_of(ir_schema_of(m, fn, i->c >> 8)->cols[i->c & 255u].type);
  case VM_OPD_AV:
    return ir_type_of(i->op == VM_OP_CALL ? m->fns[i->b].result_type
                                          : m->externs[i->b].result_type);
  case VM_OPD_BK:
  case VM_OPD_CB:
    return block_type(ir_schema_of(m, fn, (unsigned)list), i, reg);
  default:
    return IR_I64;
  }
}

bool ir_ins_kills(const vm_module *m, const vm_fn *fn, const vm_ins *i) {
  int list = vm_ins_list(i);
  if (list < 0)
    return false;
  if (vm_effects(vm_op_read((vm_op)i->op)->effects) & VM_EFFECT_WRITE)
    return true;
  if (m->lists[fn->lists[list]].stored || ir_schema_of(m, fn, (unsigned)list)->nkeys == 0)
    return false;
  switch ((int)i->op) { /* may sort */
  case VM_OP_SEEK:
  case VM_OP_SCOUNT:
  case VM_OP_FIRSTJ:
  case VM_OP_LASTJ:
    return true;
  case VM_OP_NEXT:
    return vm_spec_read(i->b).tracked;
  default:
    return false;
  }
}
