/* ir/ir_build_builtin.c - builtins of numbers, bools and dates; those of texts are steps. */
#include "ir/ir_build.h"
#include "vm/vm_sem.h"

#include <string.h>

/* The operation that does the same, or IR_NOPS. */
static ir_op same_op(vm_builtin f) {
  switch (f) {
  case VM_BIF_ABS_R:
    return IR_OP_FABS;
  case VM_BIF_MIN_I:
  case VM_BIF_MIN_D:
    return IR_OP_MIN;
  case VM_BIF_MAX_I:
  case VM_BIF_MAX_D:
    return IR_OP_MAX;
  case VM_BIF_MIN_R:
    return IR_OP_FMIN;
  case VM_BIF_MAX_R:
    return IR_OP_FMAX;
  case VM_BIF_SQRT:
    return IR_OP_FSQRT;
  case VM_BIF_FLOOR:
    return IR_OP_FFLOOR;
  case VM_BIF_CEIL:
    return IR_OP_FCEIL;
  case VM_BIF_ROUND:
    return IR_OP_FROUND;
  case VM_BIF_TRUNC:
    return IR_OP_FTRUNC;
  case VM_BIF_REAL_I:
    return IR_OP_ITOF;
  case VM_BIF_INT_R:
    return IR_OP_FTOIX;
  case VM_BIF_INT_B:
    return IR_OP_BTOI;
  default:
    return IR_NOPS;
  }
}

/* The smallest int has no absolute value; subtracting it overflows. */
static ir_id absolute(ir_builder *b, ir_id x) {
  ir_id zero = ir_int(b->r, 0), minus = ir_b_exit(b, ir_b2(b, IR_OP_SUBX, zero, x));
  return ir_b_select(b, ir_b2(b, IR_OP_LT, x, zero), minus, x);
}

static ir_id call(ir_builder *b, vm_builtin f, unsigned n, const ir_id *args) {
  const vm_builtin_facts *facts = vm_builtin_read(f);
  bool exits = (vm_effects(facts->effects) & VM_EFFECT_FAULT) != 0;
  ir_type type = ir_type_of(vm_type_of_letter(facts->result[0]));
  ir_id id = ir_node_new(b->r, exits ? IR_OP_BIFX : IR_OP_BIF, type, n, args);
  ir_at(b->r, id)->imm = f;
  ir_at(b->r, id)->pc = b->pc;
  if (exits)
    ir_b_exit(b, id);
  ir_node_append(b->r, b->cur, id);
  return id;
}

bool ir_build_builtin(ir_builder *b) {
  vm_builtin f = (vm_builtin)b->ins->b;
  ir_id args[VM_MAX_BUILTIN_ARGS], value;
  if (!vm_sem_builtin_scalar(f))
    return false;
  const char *letters = vm_builtin_read(f)->args;
  unsigned n = (unsigned)strlen(letters);
  for (unsigned k = 0; k < n; k++)
    args[k] = ir_b_as(b, ir_b_reg(b, b->ins->c + k), ir_type_of(vm_type_of_letter(letters[k])));
  ir_op op = same_op(f);
  if (f == VM_BIF_ABS_I)
    value = absolute(b, args[0]);
  else if (op == IR_OP_FTOIX)
    value = ir_b_exit(b, ir_b1(b, op, args[0]));
  else if (op != IR_NOPS)
    value = ir_b(b, op, n, args);
  else
    value = call(b, f, n, args);
  ir_b_set(b, b->ins->a, value);
  return true;
}
