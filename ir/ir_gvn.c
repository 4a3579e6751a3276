/* ir/ir_gvn.c - one node for equal values.
 *
 * Blocks are taken with dominators first; a node equal to one that dominates it is replaced by it.
 * That holds for pure nodes and also for those that exit on their arguments alone: where the first
 * did not exit, the second would not.  Loads are ir_mem.c's, guards of shapes ir_guard.c's.
 */
#include "ir/ir_cfg.h"

typedef struct {
  ir_region *r;
  ir_cfg cfg;
  ir_rewrite w;
  ir_id *table; /* chains by hash */
  ir_id *chain;
  uint32_t mask;
} numbering;

static bool takes_part(const ir_node *n) {
  if (ir_is_const(n))
    return false;
  unsigned effects = ir_facts_of(n)->effects;
  if (n->op == IR_OP_PHI)
    return true;
  if (effects == IR_PURE)
    return true;
  return effects == IR_EXITS && n->op != IR_OP_POLL && n->op != IR_OP_GSHAPE;
}

/* An equal node that dominates it, or 0. */
static ir_id find_equal(const numbering *g, ir_id id) {
  const ir_node *n = ir_at(g->r, id);
  for (ir_id at = g->table[ir_hash(n) & g->mask]; at; at = g->chain[at]) {
    const ir_node *m = ir_at(g->r, at);
    if (!ir_same(n, m))
      continue;
    if (n->op == IR_OP_PHI ? n->block == m->block : ir_dominates(&g->cfg, m->block, n->block))
      return at;
  }
  return 0;
}

static void number_block(numbering *g, uint32_t block) {
  for (ir_id id = g->r->blocks[block].first; id;) {
    ir_node *n = ir_at(g->r, id);
    ir_id next = n->next;
    ir_rewrite_args(&g->w, n);
    if (takes_part(n)) {
      ir_id equal = find_equal(g, id);
      if (equal) {
        ir_rewrite_set(&g->w, id, equal);
        ir_node_remove(g->r, id);
      } else {
        ir_id *head = &g->table[ir_hash(n) & g->mask];
        g->chain[id] = *head;
        *head = id;
      }
    }
    id = next;
  }
}

void ir_opt_gvn(ir_region *r) {
  numbering g = {.r = r, .mask = 63};
  while (g.mask < r->nnodes)
    g.mask = g.mask * 2 + 1;
  g.table = ir_alloc(r, (size_t)g.mask + 1, sizeof *g.table);
  g.chain = ir_alloc(r, r->nnodes, sizeof *g.chain);
  if (r->failed || !ir_find_cfg(r, &g.cfg) || !ir_rewrite_begin(&g.w, r))
    return;
  for (uint32_t i = 0; i < g.cfg.n; i++)
    number_block(&g, g.cfg.order[i]);
  ir_rewrite_end(&g.w);
}
