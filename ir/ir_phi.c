/* ir/ir_phi.c - drops phis that join one value: what is left over from building loops. */
#include "ir/ir_int.h"

/* The one value that the phi can have besides itself; 0: several. */
static ir_id only_value(ir_rewrite *w, ir_id phi) {
  const ir_node *n = ir_at(w->r, phi);
  ir_id only = 0;
  for (unsigned k = 0; k < n->nargs; k++) {
    ir_id value = ir_rewrite_find(w, n->arg[k]);
    if (value == phi || value == only)
      continue;
    if (only)
      return 0;
    only = value;
  }
  return only;
}

static bool drop_phis(ir_rewrite *w) {
  ir_region *r = w->r;
  bool changed = false;
  for (uint32_t b = 0; b < r->nblocks; b++)
    for (ir_id id = r->blocks[b].first; id;) {
      const ir_node *n = ir_at(r, id);
      ir_id next = n->next, only = n->op == IR_OP_PHI ? only_value(w, id) : 0;
      if (only) {
        ir_rewrite_set(w, id, only);
        ir_node_remove(r, id);
        changed = true;
      }
      id = next;
    }
  return changed;
}

void ir_opt_phi(ir_region *r) {
  ir_rewrite w;
  if (!ir_rewrite_begin(&w, r))
    return;
  while (drop_phis(&w)) {
  }
  ir_rewrite_end(&w);
}
