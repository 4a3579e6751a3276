/* ir/ir_build_make.c - what every build file does: nodes, registers, exits, ways on. */
#include "ir/ir_build.h"

ir_id ir_b(ir_builder *b, ir_op op, unsigned nargs, const ir_id *args) {
  ir_type type = op == IR_OP_SELECT ? (ir_type)ir_at(b->r, args[1])->type : IR_NONE;
  ir_id id = ir_node_new(b->r, op, type, nargs, args);
  ir_at(b->r, id)->pc = b->pc;
  ir_node_append(b->r, b->cur, id);
  return id;
}

ir_id ir_b1(ir_builder *b, ir_op op, ir_id x) { return ir_b(b, op, 1, &x); }
ir_id ir_b2(ir_builder *b, ir_op op, ir_id x, ir_id y) { return ir_b(b, op, 2, (ir_id[]){x, y}); }
ir_id ir_b3(ir_builder *b, ir_op op, ir_id x, ir_id y, ir_id z) {
  return ir_b(b, op, 3, (ir_id[]){x, y, z});
}
ir_id ir_b_select(ir_builder *b, ir_id cond, ir_id yes, ir_id no) {
  return ir_b3(b, IR_OP_SELECT, cond, yes, no);
}

ir_id ir_b_exit(ir_builder *b, ir_id id) {
  uint32_t exit = ir_b_exit_here(b);
  ir_at(b->r, id)->exit = exit;
  return id;
}

uint32_t ir_b_block(ir_builder *b, bool cold) {
  uint32_t block = ir_block_new(b->r);
  b->r->blocks[block].cold = cold;
  b->r->blocks[block].pc = b->pc;
  return block;
}

/* ---- lists */

ls_layout ir_b_layout(const ir_builder *b, unsigned list) {
  return ls_shape_layout(b->r->lists[list].facts.shape);
}

unsigned ir_b_width(const ir_builder *b, unsigned list, unsigned col) {
  return ls_shape_width(b->r->lists[list].facts.shape, col);
}

ir_id ir_b_field(ir_builder *b, unsigned list, unsigned field) {
  uint64_t shape = b->r->lists[list].facts.shape;
  if (field == IR_F_BASE && ls_shape_base(shape) == LS_BASE_ZERO)
    return ir_int(b->r, 0);
  /* An offset may be read only where the layout is known to be a tree. */
  if (field >= IR_F_OFFSET && b->r->lists[list].facts.trust == IR_CHECKED) {
    ir_id id = ir_b(b, IR_OP_OFFSET, 0, NULL);
    ir_at(b->r, id)->list = (uint8_t)list;
    ir_at(b->r, id)->col = (uint8_t)(field - IR_F_OFFSET);
    return id;
  }
  return ir_var_read(&b->vars, b->cur, ir_var_field(&b->vars, list, field));
}

ir_id ir_b_cell(ir_builder *b, unsigned list, unsigned col, ir_id base, ir_id at) {
  ls_type type = (ls_type)b->r->lists[list].types[col];
  ir_id id = ir_b2(b, type == LS_REAL ? IR_OP_CELLF : IR_OP_CELL, base, at);
  ir_node *n = ir_at(b->r, id);
  n->list = (uint8_t)list;
  n->col = (uint8_t)col;
  if (type == LS_REAL)
    return id;
  n->width = (uint8_t)ir_b_width(b, list, col);
  return ir_b_as(b, id, ir_type_of(type));
}

/* ---- registers */

ir_id ir_b_as(ir_builder *b, ir_id value, ir_type type) {
  ir_type from = (ir_type)ir_at(b->r, value)->type;
  if (from == type || b->r->failed)
    return value;
  if (from == IR_B1)
    return ir_b_as(b, ir_b1(b, IR_OP_BTOI, value), type);
  if (from == IR_F64)
    return ir_b_as(b, ir_b1(b, IR_OP_FTOBITS, value), type);
  return ir_b1(b, type == IR_B1 ? IR_OP_ITOB : IR_OP_BITSTOF, value);
}

ir_id ir_b_reg(ir_builder *b, uint32_t reg) { return ir_var_read(&b->vars, b->cur, reg); }
void ir_b_set(ir_builder *b, uint32_t reg, ir_id value) {
  ir_var_write(&b->vars, b->cur, reg, value);
}

/* ---- exits */

/* Where pc lies in the present block, after the instruction being built, the block's own sets;
 * elsewhere those at the start of a block. */
static const uint64_t *live_at(const ir_builder *b, uint32_t pc) {
  const ir_code_block *k = &b->code.blocks[b->code.block_of[pc]];
  if (k->first == pc)
    return &b->code.live[(size_t)b->code.block_of[pc] * b->code.words];
  return &b->live[(size_t)(pc - b->live_first) * b->code.words];
}

uint32_t ir_b_exit_at(ir_builder *b, uint32_t pc, ir_reason reason, int64_t done) {
  const uint64_t *live = live_at(b, pc);
  uint32_t n = 0, nregs = b->code.fn->nregs;
  for (uint32_t reg = 0; reg < nregs; reg++)
    n += ir_set_has(live, reg);
  ir_exit x = {.pc = pc, .reason = (uint8_t)reason, .more = done - b->owed};
  x.slots = ir_alloc(b->r, n, sizeof *x.slots);
  if (x.slots == NULL)
    return 0;
  for (uint32_t reg = 0; reg < nregs; reg++)
    if (ir_set_has(live, reg))
      x.slots[x.nslots++] = (ir_slot){reg, ir_b_reg(b, reg)};
  x.work = ir_var_read(&b->vars, b->cur, ir_var_work(&b->vars));
  uint32_t exit = ir_exit_new(b->r);
  b->r->exits[exit] = x;
  return exit;
}

uint32_t ir_b_exit_here(ir_builder *b) {
  if (b->exit == IR_NO_EXIT)
    b->exit = ir_b_exit_at(b, b->pc, IR_EXIT_FAULT, 0);
  return b->exit;
}

void ir_b_guard(ir_builder *b, ir_id cond, uint32_t exit) {
  ir_id id = ir_b1(b, IR_OP_GUARD, cond);
  ir_at(b->r, id)->exit = exit;
}

/* ---- ways on */

uint32_t ir_b_next_pc(const ir_builder *b) { return b->pc + 1; }
uint32_t ir_b_jump_pc(const ir_builder *b) { return (uint32_t)vm_ins_target(b->ins, b->pc); }

void ir_b_go(ir_builder *b, uint32_t pc) {
  uint32_t to = b->code.block_of[pc];
  if (b->cur == IR_NO_BLOCK)
    return;
  if (!b->code.blocks[to].in) {
    bool cold = b->facts && b->facts->cold && b->facts->cold[pc];
    ir_reason reason = cold ? IR_EXIT_COLD : IR_EXIT_LEAVE;
    ir_end_leave(b->r, b->cur, ir_b_exit_at(b, pc, reason, b->owed));
  } else {
    bool first = pc > b->pc && b->before[to] != IR_NO_BLOCK;
    ir_end_jump(b->r, b->cur, first ? b->before[to] : b->start[to]);
  }
  b->cur = IR_NO_BLOCK;
}

/* ---- work */

int64_t ir_ins_cost(const vm_ins *i) {
  return i->op == VM_OP_BIF ? vm_builtin_read((vm_builtin)i->b)->cost : vm_op_cost((vm_op)i->op);
}

void ir_b_owe(ir_builder *b, uint32_t pc, int64_t already) {
  uint32_t end = b->code.blocks[b->code.block_of[b->pc]].end, var = ir_var_work(&b->vars);
  int64_t sum = 0;
  for (; pc < end && !ir_is_metered(&b->code.fn->code[pc]); pc++)
    sum += ir_ins_cost(&b->code.fn->code[pc]);
  b->owed = already + sum;
  if (sum == 0)
    return;
  ir_id work = ir_var_read(&b->vars, b->cur, var);
  ir_var_write(&b->vars, b->cur, var, ir_b2(b, IR_OP_ADD, work, ir_int(b->r, sum)));
}

/* ---- what is assumed of a list */

void ir_b_assume(ir_builder *b, unsigned list, uint32_t exit) {
  const ir_list_facts *facts = &b->r->lists[list].facts;
  ir_id id = ir_b(b, IR_OP_GSHAPE, 0, NULL);
  ir_node *n = ir_at(b->r, id);
  n->list = (uint8_t)list;
  n->imm = (int64_t)facts->shape;
  n->exit = exit;
  ir_var_kill_list(&b->vars, b->cur, list, id);
  if (facts->direct)
    ir_b_guard(b, ir_b_field(b, list, IR_F_DIRECT), exit);
  if (b->writes[list])
    ir_b_guard(b, ir_b_field(b, list, IR_F_WRITABLE), exit);
  ir_var_load_after(&b->vars, b->cur, list, b->r->blocks[b->cur].last);
}
