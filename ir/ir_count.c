/* ir/ir_count.c - loops whose number of rounds is known before them.
 *
 * A phi of the header that each round makes larger by one or more, and a test made in every round
 * that leaves the loop unless it is below something that the loop does not change.  The value
 * tested may be the phi, or what `next.bit` found from the phi on.
 */
#include "ir/ir_count.h"

static bool outside(const ir_region *r, const ir_cfg *c, ir_id id, uint32_t loop) {
  return !ir_in_loop(c, ir_at(r, id)->block, loop);
}

/* id is base + a constant > 0 that cannot wrap: one of .x, .n; or + 1, wrapping, below a bound. */
static bool is_larger(const ir_region *r, ir_id id, ir_id base) {
  const ir_node *n = ir_at(r, id);
  if (n->op != IR_OP_ADD && n->op != IR_OP_ADDN && n->op != IR_OP_ADDX)
    return false;
  if (n->arg[0] != base || ir_at(r, n->arg[1])->op != IR_OP_INT)
    return false;
  int64_t c = ir_at(r, n->arg[1])->imm;
  return n->op == IR_OP_ADD ? c == 1 : c > 0;
}

/* The phi, or a next.bit from it on. */
static ir_id counted_phi(const ir_region *r, uint32_t header, ir_id value) {
  const ir_node *n = ir_at(r, value);
  if (n->op == IR_OP_NEXTBIT)
    value = n->arg[1];
  n = ir_at(r, value);
  return n->op == IR_OP_PHI && n->type == IR_I64 && n->block == header ? value : 0;
}

static bool counts_up(const ir_region *r, const ir_cfg *c, uint32_t loop, ir_id tested,
                      ir_count *out) {
  const ir_node *n = ir_at(r, out->phi);
  const ir_block *h = &r->blocks[n->block];
  out->from = 0;
  out->by_one = tested == out->phi;
  for (unsigned k = 0; k < n->nargs; k++) {
    if (!ir_in_loop(c, h->preds[k], loop))
      out->from = n->arg[k];
    else if (!is_larger(r, n->arg[k], tested))
      return false;
    else if (ir_at(r, ir_at(r, n->arg[k])->arg[1])->imm != 1)
      out->by_one = false;
  }
  return out->from != 0 && outside(r, c, out->from, loop);
}

/* A branch that leaves the loop unless value < to. */
static bool read_test(const ir_region *r, const ir_cfg *c, uint32_t loop, uint32_t block,
                      ir_count *out, ir_id *tested) {
  const ir_block *b = &r->blocks[block];
  const ir_node *last = ir_at(r, b->last);
  if (last->op != IR_OP_BRANCH)
    return false;
  bool stays[2] = {ir_in_loop(c, b->succ[0], loop), ir_in_loop(c, b->succ[1], loop)};
  const ir_node *n = ir_at(r, last->arg[0]);
  if (stays[0] == stays[1] || n->op < IR_OP_LT || n->op > IR_OP_ULE)
    return false;
  out->is_signed = n->op == IR_OP_LT || n->op == IR_OP_LE;
  out->or_equal = n->op == IR_OP_LE || n->op == IR_OP_ULE;
  *tested = n->arg[stays[0] ? 0 : 1];
  out->to = n->arg[stays[0] ? 1 : 0];
  if (!stays[0])
    out->or_equal = !out->or_equal; /* stays where to < tested does not hold */
  return outside(r, c, out->to, loop);
}

static bool every_round(const ir_region *r, const ir_cfg *c, uint32_t loop, uint32_t block) {
  const ir_block *h = &r->blocks[c->loops[loop].header];
  for (uint32_t p = 0; p < h->npreds; p++)
    if (ir_in_loop(c, h->preds[p], loop) && !ir_dominates(c, block, h->preds[p]))
      return false;
  return true;
}

bool ir_find_count(const ir_region *r, const ir_cfg *c, uint32_t loop, ir_count *out) {
  uint32_t header = c->loops[loop].header;
  for (uint32_t i = c->place[header]; i < c->n; i++) {
    uint32_t b = c->order[i];
    ir_id tested;
    if (!ir_in_loop(c, b, loop) || !every_round(r, c, loop, b))
      continue;
    if (!read_test(r, c, loop, b, out, &tested))
      continue;
    out->phi = counted_phi(r, header, tested);
    out->tested = tested;
    out->test = b;
    if (out->phi && counts_up(r, c, loop, tested, out))
      return true;
  }
  return false;
}
