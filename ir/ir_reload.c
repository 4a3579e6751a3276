/* ir/ir_reload.c - header fields are loaded where they are used, instead of carried around.
 *
 * The builder keeps fields in values, and most of them turn out not to change in a loop.  Those
 * that a slow path may change are left as phis, a dozen in a loop that adds rows to two lists: more
 * than there are registers, so that what the loop needs in each round goes to the stack as well.
 * The header itself lies in the nearest cache and is a better place.  (Measured: a breadth-first
 * search takes 10 % less time at level 3, and at level 1, where every phi is copied through memory
 * at every jump, 40 %.)
 *
 * A phi of nothing but loads of one field has the value that the field has there: fields that
 * registers can hold as well (version, count) are left alone.
 */
#include "ir/ir_int.h"

typedef struct {
  ir_region *r;
  ir_id *field; /* by phi: a load of the field that it carries; 0: none; itself a load */
} reloader;

static bool is_field(ir_op op) {
  switch (op) {
  case IR_OP_ROOM:
  case IR_OP_WRITABLE:
  case IR_OP_COL:
  case IR_OP_BASE:
  case IR_OP_CAP:
  case IR_OP_PRESENT:
  case IR_OP_DIR:
  case IR_OP_ORIGIN:
  case IR_OP_BUCKETS:
  case IR_OP_OFFSET:
    return true;
  default:
    return false;
  }
}

static ir_id field_of(const reloader *f, ir_id id) {
  return is_field((ir_op)ir_at(f->r, id)->op) ? id : f->field[id];
}

static bool same_field(const reloader *f, ir_id x, ir_id y) {
  return x && y && ir_same(ir_at(f->r, x), ir_at(f->r, y));
}

static void each_phi(reloader *f, bool (*visit)(reloader *f, ir_id phi), bool *changed) {
  for (uint32_t b = 0; b < f->r->nblocks; b++)
    for (ir_id id = f->r->blocks[b].first; id && ir_at(f->r, id)->op == IR_OP_PHI;
         id = ir_at(f->r, id)->next)
      if (visit(f, id))
        *changed = true;
}

/* Hopefully it carries what one of its arguments is. */
static bool hope(reloader *f, ir_id phi) {
  const ir_node *n = ir_at(f->r, phi);
  for (unsigned k = 0; k < n->nargs && f->field[phi] == 0; k++)
    f->field[phi] = field_of(f, n->arg[k]);
  return false;
}

static bool doubt(reloader *f, ir_id phi) {
  const ir_node *n = ir_at(f->r, phi);
  if (f->field[phi] == 0)
    return false;
  for (unsigned k = 0; k < n->nargs; k++)
    if (!same_field(f, field_of(f, n->arg[k]), f->field[phi])) {
      f->field[phi] = 0;
      return true;
    }
  return false;
}

/* Another phi that is none of these needs the value itself. */
static bool spare(reloader *f, ir_id phi) {
  const ir_node *n = ir_at(f->r, phi);
  bool any = false;
  for (unsigned k = 0; k < n->nargs && f->field[phi] == 0; k++)
    if (ir_at(f->r, n->arg[k])->op == IR_OP_PHI && f->field[n->arg[k]]) {
      f->field[n->arg[k]] = 0;
      any = true;
    }
  return any;
}

static void find_fields(reloader *f) {
  bool changed = true, ignored;
  for (unsigned k = 0; k < 4; k++)
    each_phi(f, hope, &ignored);
  while (changed) {
    changed = false;
    each_phi(f, doubt, &changed);
    each_phi(f, spare, &changed);
  }
}

/* A load of the field before a node; one made since `from` in the block serves again. */
static ir_id load_before(const reloader *f, ir_id field, ir_id node, ir_id from) {
  for (ir_id at = ir_at(f->r, node)->prev; at && at != from; at = ir_at(f->r, at)->prev)
    if (ir_same(ir_at(f->r, at), ir_at(f->r, field)))
      return at;
  ir_id id = ir_node_copy(f->r, field);
  ir_at(f->r, id)->pc = ir_at(f->r, node)->pc;
  ir_node_put_before(f->r, node, id);
  return id;
}

static void reload_block(const reloader *f, uint32_t block) {
  ir_id from = 0; /* the last step */
  for (ir_id id = f->r->blocks[block].first; id; id = ir_at(f->r, id)->next) {
    ir_node *n = ir_at(f->r, id);
    if (n->op == IR_OP_PHI)
      continue;
    for (unsigned k = 0; k < n->nargs; k++)
      if (ir_at(f->r, n->arg[k])->op == IR_OP_PHI && f->field[n->arg[k]])
        n->arg[k] = load_before(f, f->field[n->arg[k]], id, from);
    if (ir_has_effect(n, IR_CALLS))
      from = id;
  }
}

void ir_opt_reload(ir_region *r) {
  reloader f = {.r = r};
  f.field = ir_alloc(r, r->nnodes, sizeof *f.field);
  if (f.field == NULL)
    return;
  find_fields(&f);
  for (uint32_t b = 0; b < r->nblocks && !r->failed; b++)
    reload_block(&f, b);
}
