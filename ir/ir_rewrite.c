/* ir/ir_rewrite.c - replacing values by others.
 *
 * A pass notes "this value is that one" as it goes and has every use changed in one sweep at its
 * end, so that no lists of users need be kept.  What was replaced is left for ir_opt_dce, unless
 * the pass removes it itself.
 */
#include "ir/ir_int.h"

bool ir_rewrite_begin(ir_rewrite *w, ir_region *r) {
  w->r = r;
  w->n = r->nnodes;
  w->to = ir_alloc(r, w->n, sizeof *w->to);
  return w->to != NULL;
}

ir_id ir_rewrite_find(ir_rewrite *w, ir_id id) {
  ir_id end = id;
  while (end < w->n && w->to[end])
    end = w->to[end];
  while (id < w->n && w->to[id]) {
    ir_id next = w->to[id];
    w->to[id] = end;
    id = next;
  }
  return end;
}

void ir_rewrite_set(ir_rewrite *w, ir_id from, ir_id to) {
  to = ir_rewrite_find(w, to);
  if (from != to && from < w->n)
    w->to[from] = to;
}

void ir_rewrite_args(ir_rewrite *w, ir_node *n) {
  for (unsigned i = 0; i < n->nargs; i++)
    n->arg[i] = ir_rewrite_find(w, n->arg[i]);
}

void ir_rewrite_end(ir_rewrite *w) {
  ir_region *r = w->r;
  for (uint32_t b = 0; b < r->nblocks; b++)
    for (ir_id id = r->blocks[b].first; id; id = ir_at(r, id)->next)
      ir_rewrite_args(w, ir_at(r, id));
  for (uint32_t e = 0; e < r->nexits; e++) {
    ir_exit *x = &r->exits[e];
    x->work = ir_rewrite_find(w, x->work);
    for (uint32_t s = 0; s < x->nslots; s++)
      x->slots[s].value = ir_rewrite_find(w, x->slots[s].value);
  }
}
