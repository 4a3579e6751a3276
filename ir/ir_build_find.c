/* ir/ir_build_find.c - find, findj, has, refind.
 *
 * dense    the key's presence bit
 * array    with a bucket a value and one int key: whether the bucket is empty; with two int
 *          keys: a search in the bucket
 * others   a look-up out of line, which reads the list and nothing else (the operation find)
 */
#include "ir/ir_build.h"

ir_place ir_place_dense(ir_builder *b, unsigned list, ir_id key) {
  ir_id at = ir_b2(b, IR_OP_SUB, key, ir_b_field(b, list, IR_F_BASE));
  return (ir_place){at, ir_b2(b, IR_OP_ULT, at, ir_b_field(b, list, IR_F_CAP))};
}

ir_place ir_place_bucket(ir_builder *b, unsigned list, ir_id key) {
  ir_id at = ir_b2(b, IR_OP_SUB, key, ir_b_field(b, list, IR_F_ORIGIN));
  return (ir_place){at, ir_b2(b, IR_OP_ULT, at, ir_b_field(b, list, IR_F_BUCKETS))};
}

ir_id ir_b_bit(ir_builder *b, unsigned list, ir_id at) {
  ir_id id = ir_b2(b, IR_OP_BIT, ir_b_field(b, list, IR_F_PRESENT), at);
  ir_at(b->r, id)->list = (uint8_t)list;
  return id;
}

ir_id ir_b_dir(ir_builder *b, unsigned list, ir_id at) {
  ir_id id = ir_b2(b, IR_OP_DIRAT, ir_b_field(b, list, IR_F_DIR), at);
  ir_at(b->r, id)->list = (uint8_t)list;
  return id;
}

ir_id ir_b_bound(ir_builder *b, unsigned list, unsigned col, bool after, ir_id lo, ir_id hi,
                 ir_id key) {
  ir_id base = ir_b_field(b, list, IR_F_COL + col);
  ir_id id = ir_b(b, after ? IR_OP_UPPER : IR_OP_LOWER, 4, (ir_id[]){base, lo, hi, key});
  ir_node *n = ir_at(b->r, id);
  n->list = (uint8_t)list;
  n->col = (uint8_t)col;
  n->width = (uint8_t)ir_b_width(b, list, col);
  return id;
}

bool ir_b_int_key(const ir_builder *b, unsigned list, unsigned k) {
  ls_type t = (ls_type)b->r->lists[list].types[k];
  return t != LS_REAL && t != LS_TEXT;
}

/* Looking a key up ends in one of two open blocks; in `found` there is a handle. */
typedef struct {
  uint32_t found, missing;
  ir_id handle;
} look_up;

static ir_id key_of(ir_builder *b, uint32_t first, unsigned k) {
  return ir_b_as(b, ir_b_reg(b, first + k), IR_I64);
}

/* Goes on where cond holds; else to l->missing. */
static void look_need(ir_builder *b, look_up *l, ir_id cond) {
  if (l->missing == IR_NO_BLOCK)
    l->missing = ir_b_block(b, false);
  uint32_t next = ir_b_block(b, false);
  ir_end_branch(b->r, b->cur, cond, next, l->missing);
  b->cur = l->found = next;
}

static void look_dense(ir_builder *b, unsigned list, uint32_t first, look_up *l) {
  ir_place p = ir_place_dense(b, list, key_of(b, first, 0));
  look_need(b, l, p.inside);
  look_need(b, l, ir_b_bit(b, list, p.at));
  l->handle = p.at;
}

static void look_array(ir_builder *b, unsigned list, uint32_t first, look_up *l) {
  ir_place p = ir_place_bucket(b, list, key_of(b, first, 0));
  look_need(b, l, p.inside);
  ir_id lo = ir_b_dir(b, list, p.at);
  ir_id hi = ir_b_dir(b, list, ir_b2(b, IR_OP_ADD, p.at, ir_int(b->r, 1)));
  l->handle = lo;
  if (b->r->lists[list].nkeys == 1) {
    look_need(b, l, ir_b2(b, IR_OP_LT, lo, hi));
    return;
  }
  ir_id key = key_of(b, first, 1), at = ir_b_bound(b, list, 1, false, lo, hi, key);
  look_need(b, l, ir_b2(b, IR_OP_LT, at, hi));
  ir_id cell = ir_b_cell(b, list, 1, ir_b_field(b, list, IR_F_COL + 1), at);
  look_need(b, l, ir_b2(b, IR_OP_EQ, ir_b_as(b, cell, IR_I64), key));
  l->handle = at;
}

static void look_out_of_line(ir_builder *b, unsigned list, uint32_t first, look_up *l) {
  ir_id args[LS_MAX_KEYS];
  unsigned n = b->r->lists[list].nkeys;
  for (unsigned k = 0; k < n; k++)
    args[k] = ir_b_as(b, ir_b_reg(b, first + k), ir_type_of((ls_type)b->r->lists[list].types[k]));
  l->handle = ir_b(b, IR_OP_FIND, n, args);
  ir_at(b->r, l->handle)->list = (uint8_t)list;
  look_need(b, l, ir_b2(b, IR_OP_NE, l->handle, ir_int(b->r, (int64_t)LS_NO_ROW)));
}

static bool is_searched(const ir_builder *b, unsigned list) {
  const ir_list *l = &b->r->lists[list];
  if (l->facts.trust != IR_GUARDED || !ir_b_int_key(b, list, 0))
    return false;
  if (ir_b_layout(b, list) == LS_DENSE)
    return true;
  return ir_b_layout(b, list) == LS_ARRAY && l->facts.direct &&
         (l->nkeys == 1 || (l->nkeys == 2 && ir_b_int_key(b, list, 1)));
}

static look_up look(ir_builder *b, unsigned list, uint32_t first) {
  look_up l = {IR_NO_BLOCK, IR_NO_BLOCK, 0};
  if (!is_searched(b, list))
    look_out_of_line(b, list, first, &l);
  else if (ir_b_layout(b, list) == LS_DENSE)
    look_dense(b, list, first, &l);
  else
    look_array(b, list, first, &l);
  return l;
}

static void write_block(ir_builder *b, unsigned list, ir_id handle) {
  ir_b_set(b, b->ins->a, handle);
  ir_b_set(b, b->ins->a + 1u, ir_b_field(b, list, IR_F_VERSION));
}

static void build_find(ir_builder *b) {
  unsigned list = b->ins->b;
  uint32_t exit = ir_b_exit_here(b);
  look_up l = look(b, list, b->ins->a + 2u);
  b->cur = l.missing;
  ir_end_leave(b->r, b->cur, exit);
  b->cur = l.found;
  write_block(b, list, l.handle);
}

static void build_findj(ir_builder *b) {
  look_up l = look(b, b->ins->b, b->ins->a + 2u);
  b->cur = l.missing;
  ir_b_go(b, ir_b_jump_pc(b));
  b->cur = l.found;
  write_block(b, b->ins->b, l.handle);
  ir_b_go(b, ir_b_next_pc(b));
}

static void build_has(ir_builder *b) {
  look_up l = look(b, b->ins->c, b->ins->b);
  uint32_t both = ir_b_block(b, false);
  ir_b_set(b, b->ins->a, ir_bool(b->r, true));
  ir_end_jump(b->r, b->cur, both);
  ir_var_write(&b->vars, l.missing, b->ins->a, ir_bool(b->r, false));
  ir_end_jump(b->r, l.missing, both);
  b->cur = both;
}

/* The version of the block, but for the mark that an earlier refind may have left in its top bit,
 * is the list's: the handle is fresh. */
static void build_refind(ir_builder *b) {
  ir_fast f = {.slow = IR_NO_BLOCK};
  ir_id version = ir_b_as(b, ir_b_reg(b, b->ins->a + 1u), IR_I64);
  version = ir_b2(b, IR_OP_BAND, version, ir_int(b->r, INT64_MAX));
  ir_fast_need(b, &f, ir_b2(b, IR_OP_EQ, version, ir_b_field(b, b->ins->b, IR_F_VERSION)));
  ir_fast_end(b, &f);
}

bool ir_build_find(ir_builder *b) {
  switch ((int)b->ins->op) {
  case VM_OP_FIND:
    build_find(b);
    return true;
  case VM_OP_FINDJ:
    build_findj(b);
    return true;
  case VM_OP_HAS:
    build_has(b);
    return true;
  default:
    build_refind(b);
    return true;
  }
}
