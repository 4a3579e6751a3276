/* ir/ir_build_write.c - add, put, set: lists.h's fast paths, condition by condition. */
#include "ir/ir_build.h"

ir_id ir_b_ready(ir_builder *b, unsigned list, unsigned col, uint32_t reg) {
  ls_type type = (ls_type)b->r->lists[list].types[col];
  if (type == LS_REAL)
    return ir_b1(b, IR_OP_CANON, ir_b_as(b, ir_b_reg(b, reg), IR_F64));
  return ir_b_as(b, ir_b_reg(b, reg), IR_I64);
}

void ir_b_need_fit(ir_builder *b, ir_fast *f, unsigned list, unsigned col, ir_id value) {
  unsigned w = ir_b_width(b, list, col);
  ls_type type = (ls_type)b->r->lists[list].types[col];
  if (w == 3 || type == LS_REAL || type == LS_BOOL)
    return;
  ir_fast_need(b, f, ir_b2(b, IR_OP_ULT, value, ir_int(b->r, INT64_C(1) << (8u << w))));
}

void ir_b_store(ir_builder *b, unsigned list, unsigned col, ir_id at, ir_id value) {
  bool real = b->r->lists[list].types[col] == LS_REAL;
  ir_id base = ir_b_field(b, list, IR_F_COL + col);
  ir_id id = ir_b3(b, real ? IR_OP_CELLFSET : IR_OP_CELLSET, base, at, value);
  ir_node *n = ir_at(b->r, id);
  n->list = (uint8_t)list;
  n->col = (uint8_t)col;
  n->width = (uint8_t)(real ? 0 : ir_b_width(b, list, col));
}

/* Texts of a stored list are published first, which is not done inline. */
bool ir_b_storable(const ir_builder *b, unsigned list) {
  const ir_list *l = &b->r->lists[list];
  if (l->ncols > LS_SHAPE_COLS)
    return false;
  for (unsigned c = 0; c < l->ncols; c++)
    if (l->stored && l->types[c] == LS_TEXT)
      return false;
  return true;
}

void ir_b_need_room(ir_builder *b, ir_fast *f, unsigned list) {
  ir_id count = ir_b_field(b, list, IR_F_COUNT), room = ir_b_field(b, list, IR_F_ROOM);
  ir_fast_need(b, f, ir_b2(b, IR_OP_ULT, count, room));
}

void ir_b_set_count(ir_builder *b, unsigned list, ir_id count) {
  ir_at(b->r, ir_b1(b, IR_OP_COUNTSET, count))->list = (uint8_t)list;
  ir_var_write(&b->vars, b->cur, ir_var_field(&b->vars, list, IR_F_COUNT), count);
}

void ir_b_set_bit(ir_builder *b, unsigned list, ir_id at) {
  ir_id present = ir_b_field(b, list, IR_F_PRESENT);
  ir_at(b->r, ir_b2(b, IR_OP_BITSET, present, at))->list = (uint8_t)list;
}

/* Columns from..ncols-1, from registers that begin with column 0's. */
static void ready_row(ir_builder *b, ir_fast *f, unsigned list, unsigned from, uint32_t reg,
                      ir_id *value) {
  for (unsigned c = from; c < b->r->lists[list].ncols; c++) {
    value[c] = ir_b_ready(b, list, c, reg + c);
    ir_b_need_fit(b, f, list, c, value[c]);
  }
}

static void store_row(ir_builder *b, unsigned list, unsigned from, ir_id at, const ir_id *value) {
  for (unsigned c = from; c < b->r->lists[list].ncols; c++)
    ir_b_store(b, list, c, at, value[c]);
}

static bool build_append(ir_builder *b) {
  unsigned list = b->ins->b;
  ir_id value[LS_MAX_COLS];
  ir_fast f;
  if (!ir_b_storable(b, list) || !ir_fast_begin(b, &f, list, IR_L(LS_FLAT)))
    return false;
  ir_b_need_room(b, &f, list);
  ready_row(b, &f, list, 0, b->ins->a, value);
  ir_id count = ir_b_field(b, list, IR_F_COUNT);
  store_row(b, list, 0, count, value);
  ir_b_set_count(b, list, ir_b2(b, IR_OP_ADD, count, ir_int(b->r, 1)));
  ir_fast_end(b, &f);
  return true;
}

/* put, and add where the row is new. */
static bool build_put(ir_builder *b, bool only_new) {
  unsigned list = b->ins->b;
  ir_id value[LS_MAX_COLS];
  ir_fast f;
  if (!ir_b_storable(b, list) || !ir_fast_begin(b, &f, list, IR_L(LS_DENSE)))
    return false;
  ir_b_need_room(b, &f, list);
  ir_place p = ir_place_dense(b, list, ir_b_as(b, ir_b_reg(b, b->ins->a), IR_I64));
  ir_fast_need(b, &f, p.inside);
  ready_row(b, &f, list, 1, b->ins->a, value);
  ir_id had = ir_b_bit(b, list, p.at), count = ir_b_field(b, list, IR_F_COUNT), more;
  if (only_new) {
    ir_fast_need(b, &f, ir_b1(b, IR_OP_NOT, had));
    more = ir_int(b->r, 1);
  } else {
    more = ir_b1(b, IR_OP_BTOI, ir_b1(b, IR_OP_NOT, had));
  }
  ir_b_set_bit(b, list, p.at);
  store_row(b, list, 1, p.at, value);
  ir_b_set_count(b, list, ir_b2(b, IR_OP_ADD, count, more));
  ir_fast_end(b, &f);
  return true;
}

/* Only of local lists: events note what they change of the store. */
static bool build_set(ir_builder *b) {
  unsigned list = b->ins->c >> 8, col = b->ins->c & 255u;
  bool keyed = b->r->lists[list].nkeys != 0;
  ir_fast f;
  unsigned layouts = keyed ? IR_L(LS_DENSE) | IR_L(LS_HASH) : IR_L(LS_FLAT);
  if (b->r->lists[list].stored || !ir_fast_begin(b, &f, list, layouts))
    return false;
  if (b->r->lists[list].facts.trust == IR_CHECKED)
    ir_fast_need(b, &f, ir_b_field(b, list, IR_F_WRITABLE));
  ir_id handle = ir_b_as(b, ir_b_reg(b, b->ins->a), IR_I64);
  if (!keyed) {
    ir_id count = ir_b_field(b, list, IR_F_COUNT);
    ir_b_guard(b, ir_b2(b, IR_OP_ULT, handle, count), ir_b_exit_here(b));
  }
  ir_id value = ir_b_ready(b, list, col, b->ins->b);
  ir_b_need_fit(b, &f, list, col, value);
  ir_b_store(b, list, col, handle, value);
  ir_fast_end(b, &f);
  return true;
}

bool ir_build_write(ir_builder *b) {
  bool keyed;
  switch ((int)b->ins->op) {
  case VM_OP_ADD:
    keyed = b->r->lists[b->ins->b].nkeys != 0;
    return keyed ? build_put(b, true) : build_append(b);
  case VM_OP_PUT:
    return build_put(b, false);
  default:
    return build_set(b);
  }
}
