/* ir/ir_build_ensure.c - ensure: get or insert, what groups are made with.
 *
 * dense    the row is there: its cell.  Else it is added as by put, or out of line.
 * others   a look-up; a row that is not there is added out of line.
 */
#include "ir/ir_build.h"

static void write_block(ir_builder *b, unsigned list, ir_id handle) {
  ir_b_set(b, b->ins->a, handle);
  ir_b_set(b, b->ins->a + 1u, ir_b_field(b, list, IR_F_VERSION));
}

static void add_row(ir_builder *b, ir_fast *f, unsigned list, ir_id at) {
  ir_id value[LS_MAX_COLS];
  unsigned n = b->r->lists[list].ncols;
  ir_b_need_room(b, f, list);
  for (unsigned c = 1; c < n; c++) {
    value[c] = ir_b_ready(b, list, c, b->ins->b + c - 1u);
    ir_b_need_fit(b, f, list, c, value[c]);
  }
  ir_b_set_bit(b, list, at);
  for (unsigned c = 1; c < n; c++)
    ir_b_store(b, list, c, at, value[c]);
  ir_id count = ir_b_field(b, list, IR_F_COUNT);
  ir_b_set_count(b, list, ir_b2(b, IR_OP_ADD, count, ir_int(b->r, 1)));
}

static bool ensure_dense(ir_builder *b) {
  unsigned list = b->ins->c;
  ir_fast f;
  if (!ir_b_storable(b, list) || !ir_fast_begin(b, &f, list, IR_L(LS_DENSE)))
    return false;
  ir_place p = ir_place_dense(b, list, ir_b_as(b, ir_b_reg(b, b->ins->a + 2u), IR_I64));
  ir_fast_need(b, &f, p.inside);
  uint32_t add = ir_b_block(b, false), both = ir_b_block(b, false);
  ir_end_branch(b->r, b->cur, ir_b_bit(b, list, p.at), both, add);
  b->cur = add;
  add_row(b, &f, list, p.at);
  ir_end_jump(b->r, b->cur, both);
  b->cur = both;
  write_block(b, list, p.at);
  ir_fast_end(b, &f);
  return true;
}

static bool ensure_found(ir_builder *b) {
  unsigned list = b->ins->c, n = b->r->lists[list].nkeys;
  ir_id args[LS_MAX_KEYS];
  ir_fast f = {.slow = IR_NO_BLOCK};
  for (unsigned k = 0; k < n; k++)
    args[k] = ir_b_as(b, ir_b_reg(b, b->ins->a + 2u + k),
                      ir_type_of((ls_type)b->r->lists[list].types[k]));
  ir_id handle = ir_b(b, IR_OP_FIND, n, args);
  ir_at(b->r, handle)->list = (uint8_t)list;
  ir_fast_need(b, &f, ir_b2(b, IR_OP_NE, handle, ir_int(b->r, (int64_t)LS_NO_ROW)));
  write_block(b, list, handle);
  ir_fast_end(b, &f);
  return true;
}

bool ir_build_ensure(ir_builder *b) { return ensure_dense(b) || ensure_found(b); }
