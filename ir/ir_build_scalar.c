/* ir/ir_build_scalar.c - moves, arithmetic and comparisons. */
#include "ir/ir_build.h"

static ir_id in_b(ir_builder *b, ir_type type) { return ir_b_as(b, ir_b_reg(b, b->ins->b), type); }
static ir_id in_c(ir_builder *b, ir_type type) { return ir_b_as(b, ir_b_reg(b, b->ins->c), type); }

static ir_id two(ir_builder *b, ir_op op, ir_type type) {
  ir_id x = in_b(b, type), y = in_c(b, type);
  return ir_b2(b, op, x, y);
}

/* With the exit before it. */
static ir_id two_or_exit(ir_builder *b, ir_op op) { return ir_b_exit(b, two(b, op, IR_I64)); }

ir_id ir_b_constant(ir_builder *b, const vm_ins *i) {
  if (i->op == VM_OP_LDI)
    return ir_int(b->r, vm_ins_s32(i));
  if (i->op == VM_OP_LDB)
    return ir_bool(b->r, i->b != 0);
  const vm_const *k = &b->code.m->consts[i->b];
  if (k->type == LS_REAL)
    return ir_real(b->r, k->value.u);
  if (k->type == LS_BOOL)
    return ir_bool(b->r, k->value.i != 0);
  if (k->type != LS_TEXT)
    return ir_int(b->r, k->value.i);
  ir_id id = ir_b(b, IR_OP_KONST, 0, NULL);
  ir_at(b->r, id)->imm = i->b;
  return id;
}

static ir_id arithmetic(ir_builder *b) {
  switch ((int)b->ins->op) {
  case VM_OP_IADD:
    return two_or_exit(b, IR_OP_ADDX);
  case VM_OP_ISUB:
    return two_or_exit(b, IR_OP_SUBX);
  case VM_OP_IMUL:
    return two_or_exit(b, IR_OP_MULX);
  case VM_OP_IDIV:
    return two_or_exit(b, IR_OP_DIVX);
  case VM_OP_IMOD:
    return two_or_exit(b, IR_OP_REMX);
  case VM_OP_INEG:
    return ir_b_exit(b, ir_b2(b, IR_OP_SUBX, ir_int(b->r, 0), in_b(b, IR_I64)));
  case VM_OP_IADDK:
    return ir_b_exit(b, ir_b2(b, IR_OP_ADDX, in_b(b, IR_I64), ir_int(b->r, (int16_t)b->ins->c)));
  case VM_OP_DADD:
    return two_or_exit(b, IR_OP_DADDX);
  case VM_OP_DDIFF:
    return two(b, IR_OP_SUB, IR_I64);
  case VM_OP_RADD:
    return two(b, IR_OP_FADD, IR_F64);
  case VM_OP_RSUB:
    return two(b, IR_OP_FSUB, IR_F64);
  case VM_OP_RMUL:
    return two(b, IR_OP_FMUL, IR_F64);
  case VM_OP_RDIV:
    return two(b, IR_OP_FDIV, IR_F64);
  default: /* rneg */
    return ir_b1(b, IR_OP_FNEG, in_b(b, IR_F64));
  }
}

static ir_id comparison(ir_builder *b) {
  switch ((int)b->ins->op) {
  case VM_OP_IEQ:
    return two(b, IR_OP_EQ, IR_I64);
  case VM_OP_INE:
    return two(b, IR_OP_NE, IR_I64);
  case VM_OP_ILT:
    return two(b, IR_OP_LT, IR_I64);
  case VM_OP_ILE:
    return two(b, IR_OP_LE, IR_I64);
  case VM_OP_REQ:
    return two(b, IR_OP_FEQ, IR_F64);
  case VM_OP_RNE:
    return two(b, IR_OP_FNE, IR_F64);
  case VM_OP_RLT:
    return two(b, IR_OP_FLT, IR_F64);
  case VM_OP_RLE:
    return two(b, IR_OP_FLE, IR_F64);
  case VM_OP_TEQ:
    return two(b, IR_OP_TEXTEQ, IR_I64);
  case VM_OP_TNE:
    return ir_b1(b, IR_OP_NOT, two(b, IR_OP_TEXTEQ, IR_I64));
  default: /* not */
    return ir_b1(b, IR_OP_NOT, in_b(b, IR_B1));
  }
}

void ir_build_scalar(ir_builder *b) {
  ir_id value;
  switch ((int)b->ins->op) {
  case VM_OP_MOV:
    value = ir_b_reg(b, b->ins->b);
    break;
  case VM_OP_LDI:
  case VM_OP_LDB:
  case VM_OP_LDK:
    value = ir_b_constant(b, b->ins);
    break;
  case VM_OP_IADD:
  case VM_OP_ISUB:
  case VM_OP_IMUL:
  case VM_OP_IDIV:
  case VM_OP_IMOD:
  case VM_OP_INEG:
  case VM_OP_IADDK:
  case VM_OP_DADD:
  case VM_OP_DDIFF:
  case VM_OP_RADD:
  case VM_OP_RSUB:
  case VM_OP_RMUL:
  case VM_OP_RDIV:
  case VM_OP_RNEG:
    value = arithmetic(b);
    break;
  default:
    value = comparison(b);
  }
  ir_b_set(b, b->ins->a, value);
}
