/* ir/ir_build_fast.c - the two ways through an instruction: inline, and as a step. */
#include "ir/ir_build.h"

bool ir_fast_begin(ir_builder *b, ir_fast *f, unsigned list, unsigned layouts) {
  const ir_list_facts *facts = &b->r->lists[list].facts;
  f->slow = IR_NO_BLOCK;
  if (facts->trust == IR_ANY || !(layouts >> ls_shape_layout(facts->shape) & 1))
    return false;
  if (facts->trust == IR_CHECKED) {
    ir_id shape = ir_b_field(b, list, IR_F_SHAPE);
    ir_fast_need(b, f, ir_b2(b, IR_OP_EQ, shape, ir_int(b->r, (int64_t)facts->shape)));
  }
  return true;
}

void ir_fast_need(ir_builder *b, ir_fast *f, ir_id cond) {
  const ir_node *n = ir_at(b->r, cond);
  if (n->op == IR_OP_BOOL && n->imm)
    return;
  if (f->slow == IR_NO_BLOCK)
    f->slow = ir_b_block(b, true);
  uint32_t fine = ir_b_block(b, false);
  ir_end_branch(b->r, b->cur, cond, fine, f->slow);
  b->cur = fine;
}

void ir_fast_end(ir_builder *b, ir_fast *f) {
  if (f->slow == IR_NO_BLOCK)
    return;
  uint32_t both = ir_b_block(b, false);
  ir_end_jump(b->r, b->cur, both);
  b->cur = f->slow;
  ir_step_run(b);
  ir_step_guards(b, ir_b_next_pc(b));
  ir_end_jump(b->r, b->cur, both);
  b->cur = both;
}

/* Goes on from a block to a pc, together with the other way there, if there is one. */
static void end_together(ir_builder *b, uint32_t fast, uint32_t slow, uint32_t pc) {
  if (fast != IR_NO_BLOCK && slow != IR_NO_BLOCK) {
    uint32_t both = ir_b_block(b, false);
    ir_end_jump(b->r, fast, both);
    ir_end_jump(b->r, slow, both);
    b->cur = both;
  } else {
    b->cur = fast != IR_NO_BLOCK ? fast : slow;
  }
  ir_b_go(b, pc);
}

void ir_fast_end_jump(ir_builder *b, ir_fast *f, uint32_t falls, uint32_t jumps) {
  uint32_t slow_falls = IR_NO_BLOCK, slow_jumps = IR_NO_BLOCK;
  if (f->slow != IR_NO_BLOCK) {
    bool cold = b->r->blocks[f->slow].cold;
    b->cur = f->slow;
    ir_id step = ir_step_run(b);
    slow_falls = ir_b_block(b, cold);
    slow_jumps = ir_b_block(b, cold);
    ir_end_branch(b->r, b->cur, step, slow_jumps, slow_falls);
    b->cur = slow_falls;
    ir_step_guards(b, ir_b_next_pc(b));
    b->cur = slow_jumps;
    ir_step_guards(b, ir_b_jump_pc(b));
  }
  end_together(b, jumps, slow_jumps, ir_b_jump_pc(b));
  end_together(b, falls, slow_falls, ir_b_next_pc(b));
}
