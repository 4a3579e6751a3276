/* ir/ir_dce.c - drops what is not used: from the nodes that do something backwards.
 *
 * A node that may exit stays, whether its value is used or not: the exit is what it does.  The
 * landings of loops count as uses until ir_opt_exit drops those that nothing refers to.
 */
#include "ir/ir_int.h"

typedef struct {
  ir_region *r;
  uint8_t *live, *live_exit;
  ir_id *stack;
  uint32_t n;
} marks;

static void mark(marks *m, ir_id id) {
  if (id == 0 || m->live[id])
    return;
  m->live[id] = 1;
  m->stack[m->n++] = id;
}

static void mark_exit(marks *m, uint32_t exit) {
  if (exit == IR_NO_EXIT || m->live_exit[exit])
    return;
  const ir_exit *x = &m->r->exits[exit];
  m->live_exit[exit] = 1;
  mark(m, x->work);
  for (uint32_t s = 0; s < x->nslots; s++)
    mark(m, x->slots[s].value);
}

static void mark_all(marks *m) {
  const ir_region *r = m->r;
  for (uint32_t b = 0; b < r->nblocks; b++) {
    mark_exit(m, r->blocks[b].landing);
    mark_exit(m, r->blocks[b].poll);
    for (ir_id id = r->blocks[b].first; id; id = ir_at(r, id)->next)
      if (ir_has_effect(ir_at(r, id), IR_STORE | IR_EXITS | IR_CALLS | IR_ENDS))
        mark(m, id);
  }
  while (m->n) {
    const ir_node *n = ir_at(r, m->stack[--m->n]);
    for (unsigned k = 0; k < n->nargs; k++)
      mark(m, n->arg[k]);
    mark_exit(m, n->exit);
  }
}

void ir_opt_dce(ir_region *r) {
  marks m = {.r = r};
  m.live = ir_alloc(r, r->nnodes, 1);
  m.live_exit = ir_alloc(r, r->nexits, 1);
  m.stack = ir_alloc(r, r->nnodes, sizeof *m.stack);
  if (r->failed)
    return;
  mark_all(&m);
  for (uint32_t b = 0; b < r->nblocks; b++)
    for (ir_id id = r->blocks[b].first; id;) {
      ir_id next = ir_at(r, id)->next;
      if (!m.live[id] && !ir_is_const(ir_at(r, id)))
        ir_node_remove(r, id);
      id = next;
    }
}
