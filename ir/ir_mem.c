/* ir/ir_mem.c - loads that are known already.
 *
 * A load is replaced by an equal one that dominates it and saw the same version of its memory, or
 * by the value that the store which made that version has put there.
 */
#include "ir/ir_alias.h"

typedef struct {
  ir_region *r;
  ir_cfg cfg;
  ir_memory mem;
  ir_rewrite w;
  ir_id *table, *chain;
  uint32_t mask;
} forwarder;

static uint32_t slot_of(const forwarder *f, uint32_t version) {
  return (version * UINT32_C(2654435761)) >> 8 & f->mask;
}

/* What a load of the same place would find after the store; 0: something else. */
static ir_id stored_value(const forwarder *f, const ir_node *load, const ir_node *store) {
  switch ((int)store->op) {
  case IR_OP_CELLSET:
    if (load->op != IR_OP_CELL || load->width != store->width)
      return 0;
    break;
  case IR_OP_CELLFSET:
    if (load->op != IR_OP_CELLF)
      return 0;
    break;
  case IR_OP_BITSET:
    if (load->op != IR_OP_BIT)
      return 0;
    break;
  case IR_OP_COUNTSET:
    return load->op == IR_OP_COUNT ? store->arg[0] : 0;
  default:
    return 0;
  }
  if (load->arg[0] != store->arg[0] || load->arg[1] != store->arg[1])
    return 0;
  return store->op == IR_OP_BITSET ? ir_bool(f->r, true) : store->arg[2];
}

static ir_id find_known(const forwarder *f, ir_id id) {
  const ir_node *n = ir_at(f->r, id);
  uint32_t version = f->mem.version[id];
  for (ir_id at = f->table[slot_of(f, version)]; at; at = f->chain[at]) {
    const ir_node *m = ir_at(f->r, at);
    if (f->mem.version[at] != version || !ir_dominates(&f->cfg, m->block, n->block))
      continue;
    if (ir_same(n, m))
      return at;
    ir_id value = stored_value(f, n, m);
    if (value)
      return value;
  }
  return 0;
}

static void forward_block(forwarder *f, uint32_t block) {
  for (ir_id id = f->r->blocks[block].first; id && !f->r->failed;) {
    ir_node *n = ir_at(f->r, id);
    ir_id next = n->next, known = 0;
    ir_rewrite_args(&f->w, n);
    if (id < f->w.n && f->mem.version[id]) {
      bool load = ir_has_effect(n, IR_HEADER | IR_LOAD);
      if (load)
        known = find_known(f, id);
      if (known) {
        ir_rewrite_set(&f->w, id, known);
        ir_node_remove(f->r, id);
      } else if (load || ir_has_effect(n, IR_STORE)) {
        uint32_t slot = slot_of(f, f->mem.version[id]);
        f->chain[id] = f->table[slot];
        f->table[slot] = id;
      }
    }
    id = next;
  }
}

void ir_opt_mem(ir_region *r) {
  forwarder f = {.r = r, .mask = 63};
  while (f.mask < r->nnodes)
    f.mask = f.mask * 2 + 1;
  f.table = ir_alloc(r, (size_t)f.mask + 1, sizeof *f.table);
  f.chain = ir_alloc(r, r->nnodes, sizeof *f.chain);
  if (r->failed || !ir_find_cfg(r, &f.cfg) || !ir_find_memory(r, &f.cfg, &f.mem))
    return;
  if (!ir_rewrite_begin(&f.w, r))
    return;
  for (uint32_t i = 0; i < f.cfg.n; i++)
    forward_block(&f, f.cfg.order[i]);
  ir_rewrite_end(&f.w);
}
