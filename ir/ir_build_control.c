/* ir/ir_build_control.c - loop headers, jumps, and what ends a region. */
#include "ir/ir_build.h"

static void leave(ir_builder *b, ir_reason reason) {
  ir_end_leave(b->r, b->cur, ir_b_exit_at(b, b->pc, reason, 0));
  b->cur = IR_NO_BLOCK;
}

/* The work up to and including the LOOP is tested. */
static void build_loop(ir_builder *b) {
  uint32_t exit = ir_b_exit_at(b, b->pc, IR_EXIT_WORK, 0);
  ir_id work = ir_var_read(&b->vars, b->cur, ir_var_work(&b->vars));
  int64_t rest = b->owed - ir_ins_cost(b->ins);
  if (rest)
    work = ir_b2(b, IR_OP_ADD, work, ir_int(b->r, -rest));
  ir_at(b->r, ir_b1(b, IR_OP_POLL, work))->exit = exit;
}

static void build_branch(ir_builder *b) {
  bool when = b->ins->op == VM_OP_JT;
  ir_id cond = ir_b_as(b, ir_b_reg(b, b->ins->a), IR_B1);
  uint32_t jumps = ir_b_block(b, false), falls = ir_b_block(b, false);
  ir_end_branch(b->r, b->cur, cond, when ? jumps : falls, when ? falls : jumps);
  b->cur = jumps;
  ir_b_go(b, ir_b_jump_pc(b));
  b->cur = falls;
  ir_b_go(b, ir_b_next_pc(b));
}

void ir_build_control(ir_builder *b) {
  switch ((int)b->ins->op) {
  case VM_OP_LOOP:
    build_loop(b);
    break;
  case VM_OP_JMP:
    ir_b_go(b, ir_b_jump_pc(b));
    break;
  case VM_OP_JT:
  case VM_OP_JF:
    build_branch(b);
    break;
  case VM_OP_RAISE:
  case VM_OP_FAIL:
    leave(b, IR_EXIT_FAULT);
    break;
  default: /* ret retv retl */
    leave(b, IR_EXIT_RETURN);
  }
}
