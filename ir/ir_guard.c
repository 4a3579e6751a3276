/* ir/ir_guard.c - tests whose outcome is known.
 *
 * A condition is known behind a guard on it and at the end of a branch edge that only it leads to.
 * A comparison and its opposite are one condition: both are brought into the form x < y or x = y,
 * with a sign.  Guards of shapes fall to an equal one that saw the same header.
 */
#include "ir/ir_alias.h"

/* A condition in its one form. */
typedef struct {
  uint8_t op; /* LT ULT EQ, or BOOL: the node x itself */
  bool negated;
  ir_id x, y;
} condition;

typedef struct {
  condition c; /* known to be true, or (negated) false */
  uint32_t block;
  uint32_t next; /* in its chain, + 1 */
} fact;

typedef struct {
  ir_region *r;
  ir_cfg cfg;
  ir_memory mem;
  fact *facts;
  uint32_t nfacts, cap, mask;
  uint32_t *head;    /* of the facts' chains; + 1 */
  ir_id *shape;      /* by list: the last guard of its shape */
  ir_id *shape_next; /* by node: the one before */
} guards;

static condition condition_of(const ir_region *r, ir_id id) {
  const ir_node *n = ir_at(r, id);
  condition c = {IR_OP_BOOL, false, id, 0};
  while (n->op == IR_OP_NOT) {
    c.negated = !c.negated;
    c.x = n->arg[0];
    n = ir_at(r, c.x);
  }
  switch ((int)n->op) {
  case IR_OP_EQ:
  case IR_OP_NE:
    c.negated ^= n->op == IR_OP_NE;
    return (condition){IR_OP_EQ, c.negated, n->arg[0], n->arg[1]};
  case IR_OP_LT:
  case IR_OP_ULT:
    return (condition){n->op, c.negated, n->arg[0], n->arg[1]};
  case IR_OP_LE:
    return (condition){IR_OP_LT, !c.negated, n->arg[1], n->arg[0]};
  case IR_OP_ULE:
    return (condition){IR_OP_ULT, !c.negated, n->arg[1], n->arg[0]};
  default:
    return c;
  }
}

static uint32_t chain_of(const guards *g, const condition *c) {
  uint32_t low = c->x < c->y ? c->x : c->y, high = c->x < c->y ? c->y : c->x;
  return ((low * 31 + high * 7 + c->op) * UINT32_C(2654435761)) >> 7 & g->mask;
}

static bool same_condition(const condition *a, const condition *b) {
  if (a->op != b->op)
    return false;
  if (a->x == b->x && a->y == b->y)
    return true;
  return a->op == IR_OP_EQ && a->x == b->y && a->y == b->x;
}

static void learn(guards *g, ir_id cond, bool truth, uint32_t block) {
  if (g->nfacts == g->cap || ir_is_const(ir_at(g->r, cond)))
    return;
  condition c = condition_of(g->r, cond);
  uint32_t *head = &g->head[chain_of(g, &c)];
  c.negated ^= !truth;
  g->facts[g->nfacts] = (fact){c, block, *head};
  *head = ++g->nfacts;
}

/* 1: true at the present point of the block, 0: false, -1: not known. */
static int known(const guards *g, ir_id cond, uint32_t block) {
  condition c = condition_of(g->r, cond);
  for (uint32_t at = g->head[chain_of(g, &c)]; at; at = g->facts[at - 1].next) {
    const fact *f = &g->facts[at - 1];
    if (same_condition(&f->c, &c) && ir_dominates(&g->cfg, f->block, block))
      return f->c.negated == c.negated;
  }
  return -1;
}

/* Bools among the arguments become constants where they are known. */
static void settle_args(guards *g, ir_node *n) {
  for (unsigned k = 0; k < n->nargs; k++) {
    const ir_node *x = ir_at(g->r, n->arg[k]);
    if (x->type != IR_B1 || ir_is_const(x))
      continue;
    uint32_t block = n->op == IR_OP_PHI ? g->r->blocks[n->block].preds[k] : n->block;
    int truth = known(g, n->arg[k], block);
    if (truth >= 0)
      n->arg[k] = ir_bool(g->r, truth != 0);
  }
}

/* Whether an equal guard before it saw the same header; else it is noted itself. */
static bool is_shape_known(guards *g, ir_id id) {
  const ir_node *n = ir_at(g->r, id);
  for (ir_id at = g->shape[n->list]; at; at = g->shape_next[at])
    if (ir_same(ir_at(g->r, at), n) && g->mem.version[at] == g->mem.version[id] &&
        ir_dominates(&g->cfg, ir_at(g->r, at)->block, n->block))
      return true;
  g->shape_next[id] = g->shape[n->list];
  g->shape[n->list] = id;
  return false;
}

static void walk_block(guards *g, uint32_t block) {
  const ir_block *b = &g->r->blocks[block];
  if (b->npreds == 1) {
    const ir_block *up = &g->r->blocks[b->preds[0]];
    const ir_node *last = ir_at(g->r, up->last);
    if (last->op == IR_OP_BRANCH && up->succ[0] != up->succ[1])
      learn(g, last->arg[0], up->succ[0] == block, block);
  }
  for (ir_id id = g->r->blocks[block].first; id && !g->r->failed;) {
    ir_node *n = ir_at(g->r, id);
    ir_id next = n->next;
    if (n->op != IR_OP_PHI)
      settle_args(g, n);
    if (n->op == IR_OP_GUARD) {
      const ir_node *c = ir_at(g->r, n->arg[0]);
      if (ir_is_const(c) && c->imm)
        ir_node_remove(g->r, id);
      else
        learn(g, n->arg[0], true, block);
    } else if (n->op == IR_OP_GSHAPE && is_shape_known(g, id)) {
      ir_node_remove(g->r, id);
    }
    id = next;
  }
}

/* After all: what is known at the end of each predecessor. */
static void settle_phis(guards *g) {
  for (uint32_t i = 0; i < g->cfg.n; i++)
    for (ir_id id = g->r->blocks[g->cfg.order[i]].first; id; id = ir_at(g->r, id)->next)
      if (ir_at(g->r, id)->op == IR_OP_PHI)
        settle_args(g, ir_at(g->r, id));
}

void ir_opt_guard(ir_region *r) {
  guards g = {.r = r, .cap = r->nnodes + r->nblocks, .mask = 63};
  while (g.mask < r->nblocks)
    g.mask = g.mask * 2 + 1;
  g.facts = ir_alloc(r, g.cap, sizeof *g.facts);
  g.head = ir_alloc(r, (size_t)g.mask + 1, sizeof *g.head);
  g.shape = ir_alloc(r, r->nlists, sizeof *g.shape);
  g.shape_next = ir_alloc(r, r->nnodes, sizeof *g.shape_next);
  if (r->failed || !ir_find_cfg(r, &g.cfg) || !ir_find_memory(r, &g.cfg, &g.mem))
    return;
  for (uint32_t i = 0; i < g.cfg.n; i++)
    walk_block(&g, g.cfg.order[i]);
  settle_phis(&g);
}
