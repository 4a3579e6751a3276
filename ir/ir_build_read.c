/* ir/ir_build_read.c - get, row, count. */
#include "ir/ir_build.h"

/* The cell of a column of the row at a handle, in the layout assumed. */
ir_id ir_b_column(ir_builder *b, unsigned list, ir_id handle, unsigned col) {
  ls_layout layout = ir_b_layout(b, list);
  if (layout == LS_DENSE && col == 0) {
    ir_id key = ir_b2(b, IR_OP_ADD, ir_b_field(b, list, IR_F_BASE), handle);
    return ir_b_as(b, key, ir_type_of((ls_type)b->r->lists[list].types[0]));
  }
  if (layout != LS_TREE)
    return ir_b_cell(b, list, col, ir_b_field(b, list, IR_F_COL + col), handle);
  ir_id leaf = ir_b1(b, IR_OP_LEAF, handle);
  ir_id base = ir_b2(b, IR_OP_PADD, leaf, ir_b_field(b, list, IR_F_OFFSET + col));
  ir_id slot = ir_b2(b, IR_OP_BAND, handle, ir_int(b->r, LS_LEAF_ROWS - 1));
  return ir_b_cell(b, list, col, base, slot);
}

/* A position of a positional list must be below its count. */
static void need_row(ir_builder *b, unsigned list, ir_id handle) {
  if (b->r->lists[list].nkeys)
    return;
  ir_id count = ir_b_field(b, list, IR_F_COUNT);
  ir_b_guard(b, ir_b2(b, IR_OP_ULT, handle, count), ir_b_exit_here(b));
}

static bool build_get(ir_builder *b) {
  unsigned list = b->ins->c >> 8, col = b->ins->c & 255u;
  bool keyed = b->r->lists[list].nkeys != 0;
  ir_fast f;
  unsigned layouts =
      keyed ? IR_L(LS_DENSE) | IR_L(LS_HASH) | IR_L(LS_TREE) | IR_L(LS_ARRAY) : IR_L(LS_FLAT);
  if (!ir_fast_begin(b, &f, list, layouts))
    return false;
  ir_id handle = ir_b_as(b, ir_b_reg(b, b->ins->b), IR_I64);
  need_row(b, list, handle);
  ir_b_set(b, b->ins->a, ir_b_column(b, list, handle, col));
  ir_fast_end(b, &f);
  return true;
}

static bool build_row(ir_builder *b) {
  ir_id number = ir_b_as(b, ir_b_reg(b, b->ins->b), IR_I64);
  need_row(b, b->ins->c, number);
  ir_b_set(b, b->ins->a, number);
  return true;
}

bool ir_build_read(ir_builder *b) {
  switch ((int)b->ins->op) {
  case VM_OP_GET:
    return build_get(b);
  case VM_OP_ROW:
    return build_row(b);
  default: /* count */
    ir_b_set(b, b->ins->a, ir_b_field(b, b->ins->b, IR_F_COUNT));
    return true;
  }
}
