/* ir/ir_fuse.c - comparison and branch become one way through the code.
 *
 * A test whose outcome was put into a bool, joined with constants and branched on again leads
 * straight to where it ends: `has` and `jt` become the two edges of the presence test.  Then what
 * is left over is tidied: branches on constants, empty blocks, blocks in a straight line.
 */
#include "ir/ir_cfg.h"

/* ---- branches on constants, and on not */

static bool fold_branch(ir_region *r, uint32_t block) {
  ir_block *b = &r->blocks[block];
  if (b->last == 0 || ir_at(r, b->last)->op != IR_OP_BRANCH)
    return false;
  ir_node *last = ir_at(r, b->last);
  const ir_node *cond = ir_at(r, last->arg[0]);
  if (cond->op == IR_OP_NOT) {
    uint32_t yes = b->succ[0];
    last->arg[0] = cond->arg[0];
    b->succ[0] = b->succ[1];
    b->succ[1] = yes;
    return true;
  }
  if (cond->op != IR_OP_BOOL && b->succ[0] != b->succ[1])
    return false;
  uint32_t to = b->succ[cond->op == IR_OP_BOOL && cond->imm == 0];
  uint32_t other = b->succ[to == b->succ[0]];
  ir_block_drop_pred(r, other, block);
  last->op = IR_OP_JUMP;
  last->nargs = 0;
  b->succ[0] = to;
  b->succ[1] = IR_NO_BLOCK;
  return true;
}

/* A guard that always fails ends its block. */
static bool fold_guard(ir_region *r, uint32_t block) {
  for (ir_id id = r->blocks[block].first; id; id = ir_at(r, id)->next) {
    ir_node *n = ir_at(r, id);
    if (n->op != IR_OP_GUARD)
      continue;
    const ir_node *cond = ir_at(r, n->arg[0]);
    if (cond->op != IR_OP_BOOL || cond->imm)
      continue;
    uint32_t exit = n->exit;
    ir_block_open(r, block);
    r->blocks[block].landing = IR_NO_EXIT;
    while (r->blocks[block].last != id)
      ir_node_remove(r, r->blocks[block].last);
    ir_node_remove(r, id);
    ir_end_leave(r, block, exit);
    return true;
  }
  return false;
}

/* ---- threading */

/* Whether the block does nothing but branch on one of its phis; *phi: that one. */
static bool only_branches(const ir_region *r, uint32_t block, ir_id *phi) {
  const ir_block *b = &r->blocks[block];
  const ir_node *last = b->last ? ir_at(r, b->last) : NULL;
  if (last == NULL || last->op != IR_OP_BRANCH || b->succ[0] == b->succ[1])
    return false;
  *phi = last->arg[0];
  if (ir_at(r, *phi)->op != IR_OP_PHI || ir_at(r, *phi)->block != block)
    return false;
  for (ir_id id = b->first; id != b->last; id = ir_at(r, id)->next)
    if (ir_at(r, id)->op != IR_OP_PHI)
      return false;
  return true;
}

static bool is_phi_of(const ir_region *r, ir_id id, uint32_t block) {
  return ir_at(r, id)->op == IR_OP_PHI && ir_at(r, id)->block == block;
}

/* Notes the phis that are used elsewhere than by the branch of their own block and on its edges. */
static void find_escapes(const ir_region *r, uint8_t *escapes) {
  for (uint32_t e = 0; e < r->nexits; e++) {
    const ir_exit *x = &r->exits[e];
    escapes[x->work] = 1;
    for (uint32_t s = 0; s < x->nslots; s++)
      escapes[x->slots[s].value] = 1;
  }
  for (uint32_t b = 0; b < r->nblocks; b++)
    for (ir_id id = r->blocks[b].first; id; id = ir_at(r, id)->next) {
      const ir_node *n = ir_at(r, id);
      for (unsigned k = 0; k < n->nargs; k++) {
        uint32_t from = n->op == IR_OP_PHI ? r->blocks[b].preds[k] : b;
        bool stays = n->op == IR_OP_PHI || n->op == IR_OP_BRANCH;
        if (!stays || !is_phi_of(r, n->arg[k], from))
          escapes[n->arg[k]] = 1;
      }
    }
}

static bool phis_stay(const ir_region *r, uint32_t block, const uint8_t *escapes) {
  for (ir_id id = r->blocks[block].first; ir_at(r, id)->op == IR_OP_PHI; id = ir_at(r, id)->next)
    if (escapes[id])
      return false;
  return true;
}

static bool has_edge(const ir_region *r, uint32_t from, uint32_t to) {
  for (unsigned s = 0; s < ir_block_nsucc(r, &r->blocks[from]); s++)
    if (r->blocks[from].succ[s] == to)
      return true;
  return false;
}

static uint32_t pred_index(const ir_block *b, uint32_t pred) {
  uint32_t k = 0;
  while (b->preds[k] != pred)
    k++;
  return k;
}

/* Leads the edge pred -> block on to `to`, one of the block's successors (or its only one).  Values
 * that come along are used on an edge that is new to them. */
static void lead_on(ir_region *r, uint32_t pred, uint32_t block, uint32_t to, uint8_t *escapes) {
  uint32_t here = pred_index(&r->blocks[block], pred), there = pred_index(&r->blocks[to], block);
  for (ir_id id = r->blocks[to].first; id && ir_at(r, id)->op == IR_OP_PHI;
       id = ir_at(r, id)->next) {
    ir_node *n = ir_at(r, id);
    ir_id value = n->arg[there];
    if (is_phi_of(r, value, block))
      value = ir_at(r, value)->arg[here];
    ir_id *arg = ir_alloc(r, n->nargs + 1u, sizeof *arg);
    if (arg == NULL)
      return;
    for (unsigned k = 0; k < n->nargs; k++)
      arg[k] = n->arg[k];
    arg[n->nargs++] = value;
    n->arg = arg;
    if (escapes && !is_phi_of(r, value, pred))
      escapes[value] = 1;
  }
  for (unsigned s = 0; s < 2; s++)
    if (r->blocks[pred].succ[s] == block)
      r->blocks[pred].succ[s] = to;
  ir_block_add_pred(r, to, pred);
  ir_block_drop_pred(r, block, pred);
}

static bool thread_block(ir_region *r, const ir_cfg *c, uint32_t block, uint8_t *escapes) {
  ir_id phi;
  uint32_t l = c->loop[block];
  if (l != IR_NO_LOOP && c->loops[l].header == block)
    return false;
  if (!only_branches(r, block, &phi) || !phis_stay(r, block, escapes))
    return false;
  bool changed = false;
  for (uint32_t p = r->blocks[block].npreds; p-- > 0;) {
    const ir_node *value = ir_at(r, ir_at(r, phi)->arg[p]);
    uint32_t pred = r->blocks[block].preds[p];
    if (value->op != IR_OP_BOOL)
      continue;
    uint32_t to = r->blocks[block].succ[value->imm == 0];
    if (has_edge(r, pred, to) || to == block)
      continue;
    lead_on(r, pred, block, to, escapes);
    changed = true;
  }
  return changed;
}

static bool thread_all(ir_region *r) {
  ir_cfg c;
  bool changed = false;
  uint8_t *escapes = ir_alloc(r, r->nnodes, 1);
  if (escapes == NULL || !ir_find_cfg(r, &c))
    return false;
  find_escapes(r, escapes);
  for (uint32_t i = 0; i < c.n; i++)
    if (thread_block(r, &c, c.order[i], escapes))
      changed = true;
  return changed;
}

/* ---- tidying */

/* A block that only jumps: its predecessors go on themselves. */
static bool skip_block(ir_region *r, uint32_t block) {
  ir_block *b = &r->blocks[block];
  uint32_t to = b->succ[0];
  if (block == 0 || b->first == 0 || b->first != b->last || b->landing != IR_NO_EXIT)
    return false;
  if (ir_at(r, b->last)->op != IR_OP_JUMP || to == block)
    return false;
  bool changed = false;
  for (uint32_t p = b->npreds; p-- > 0;) {
    uint32_t pred = r->blocks[block].preds[p];
    if (has_edge(r, pred, to) || r->blocks[pred].succ[0] == r->blocks[pred].succ[1])
      continue;
    lead_on(r, pred, block, to, NULL);
    changed = true;
  }
  return changed;
}

/* A block and its only successor, which has no other predecessor, become one. */
static bool join_line(ir_region *r, uint32_t block) {
  ir_block *b = &r->blocks[block];
  uint32_t to = b->succ[0];
  if (b->last == 0 || ir_at(r, b->last)->op != IR_OP_JUMP || r->blocks[to].npreds != 1)
    return false;
  ir_block *next = &r->blocks[to];
  if (to == block || (next->first && ir_at(r, next->first)->op == IR_OP_PHI))
    return false;
  ir_node_remove(r, b->last);
  for (ir_id id = next->first; id;) {
    ir_id after = ir_at(r, id)->next;
    ir_at(r, id)->prev = ir_at(r, id)->next = 0;
    ir_node_append(r, block, id);
    id = after;
  }
  for (unsigned s = 0; s < 2; s++) {
    b->succ[s] = next->succ[s];
    if (b->succ[s] == IR_NO_BLOCK)
      continue;
    ir_block *after = &r->blocks[b->succ[s]];
    for (uint32_t p = 0; p < after->npreds; p++)
      if (after->preds[p] == to)
        after->preds[p] = block;
  }
  if (next->landing != IR_NO_EXIT)
    b->landing = next->landing;
  b->cold &= next->cold;
  next->first = next->last = 0;
  next->npreds = 0;
  next->landing = next->poll = IR_NO_EXIT;
  next->succ[0] = next->succ[1] = IR_NO_BLOCK;
  next->gone = true;
  return true;
}

static bool tidy(ir_region *r) {
  bool changed = false;
  for (uint32_t b = 0; b < r->nblocks; b++) {
    if (r->blocks[b].gone)
      continue;
    if (fold_branch(r, b))
      changed = true;
    if (fold_guard(r, b))
      changed = true;
  }
  ir_blocks_sweep(r);
  ir_opt_phi(r);
  for (uint32_t b = 0; b < r->nblocks; b++) {
    if (r->blocks[b].gone)
      continue;
    while (join_line(r, b))
      changed = true;
    changed |= skip_block(r, b);
  }
  ir_blocks_sweep(r);
  return changed;
}

void ir_opt_fuse(ir_region *r) {
  bool changed = true;
  while (changed && !r->failed) {
    changed = tidy(r);
    if (thread_all(r)) {
      ir_blocks_sweep(r);
      changed = true;
    }
  }
  ir_opt_phi(r);
}
