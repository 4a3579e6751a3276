/* ir/ir_build_next.c - next.
 *
 * positional   while the position is below the count
 * dense        the next presence bit
 * tree         out of line
 * others       while the position is below the cursor's end
 *
 * A tracked cursor goes on inline while the list's version is what it was.
 */
#include "ir/ir_build.h"

typedef struct {
  unsigned list, nkeys;
  uint32_t block, cursor; /* registers */
} walk;

/* What the fast form leaves: two open blocks, registers written. */
typedef struct {
  uint32_t falls, jumps;
} ways;

static ways split(ir_builder *b, ir_id more) {
  ways w = {ir_b_block(b, false), ir_b_block(b, false)};
  ir_end_branch(b->r, b->cur, more, w.falls, w.jumps);
  b->cur = w.falls;
  return w;
}

static void write_row(ir_builder *b, const walk *k, ir_id handle) {
  ir_b_set(b, k->block, handle);
  ir_b_set(b, k->block + 1, ir_b_field(b, k->list, IR_F_VERSION));
  ir_b_set(b, k->cursor, ir_b2(b, IR_OP_ADD, handle, ir_int(b->r, 1)));
}

static ir_id reg(ir_builder *b, uint32_t r) { return ir_b_as(b, ir_b_reg(b, r), IR_I64); }

static ways walk_positions(ir_builder *b, const walk *k, ir_id end) {
  ir_id at = reg(b, k->cursor);
  ways w = split(b, ir_b2(b, IR_OP_ULT, at, end));
  write_row(b, k, at);
  return w;
}

static ways walk_bits(ir_builder *b, const walk *k) {
  ir_id present = ir_b_field(b, k->list, IR_F_PRESENT), cap = ir_b_field(b, k->list, IR_F_CAP);
  ir_id end = ir_b2(b, IR_OP_UMIN, reg(b, k->cursor + 1), cap), at = reg(b, k->cursor);
  ir_id found = ir_b3(b, IR_OP_NEXTBIT, present, at, end);
  ir_at(b->r, found)->list = (uint8_t)k->list;
  ways w = split(b, ir_b2(b, IR_OP_ULT, found, end));
  write_row(b, k, found);
  return w;
}

static ways walk_keyed(ir_builder *b, const walk *k, bool tracked) {
  ways w = ir_b_layout(b, k->list) == LS_DENSE ? walk_bits(b, k)
                                               : walk_positions(b, k, reg(b, k->cursor + 1));
  ir_id handle = ir_b_reg(b, k->block);
  for (unsigned c = 0; tracked && c < k->nkeys; c++)
    ir_b_set(b, k->block + 2 + c, ir_b_column(b, k->list, handle, c));
  w.falls = b->cur;
  return w;
}

bool ir_build_next(ir_builder *b) {
  walk k = {.list = b->ins->b >> 8, .block = b->ins->a};
  k.nkeys = b->r->lists[k.list].nkeys;
  k.cursor = k.block + 2 + k.nkeys;
  ir_fast f = {.slow = IR_NO_BLOCK};
  ways w;
  if (k.nkeys == 0) {
    w = walk_positions(b, &k, ir_b_field(b, k.list, IR_F_COUNT));
  } else {
    bool tracked = vm_spec_read(b->ins->b).tracked;
    if (!ir_fast_begin(b, &f, k.list, IR_L(LS_DENSE) | IR_L(LS_HASH) | IR_L(LS_ARRAY)))
      return false;
    if (tracked) {
      ir_id version = reg(b, k.block + 1);
      ir_fast_need(b, &f, ir_b2(b, IR_OP_EQ, version, ir_b_field(b, k.list, IR_F_VERSION)));
    }
    w = walk_keyed(b, &k, tracked);
  }
  ir_fast_end_jump(b, &f, w.falls, w.jumps);
  return true;
}
