/* ir/ir_copy.c - a second copy of a region's code, behind the same entry.
 *
 * Nothing comes after a region but its exits, so two copies never meet again
 * and no value needs to be joined: what is made in block 0 serves both,
 * everything else is there twice.
 */
#include "ir/ir_int.h"

typedef struct {
  ir_region *r;
  uint32_t nnodes, nblocks, nexits; /* before copying */
  ir_id *node;
  uint32_t *block, *exit; /* + 1 */
} copier;

static ir_id value_of(const copier *c, ir_id id) { return c->node[id] ? c->node[id] : id; }

static void copy_nodes(copier *c) {
  ir_region *r = c->r;
  for (uint32_t b = 1; b < c->nblocks; b++) {
    if (r->blocks[b].gone)
      continue;
    uint32_t copy = ir_block_new(r);
    c->block[b] = copy;
    r->blocks[copy].cold = r->blocks[b].cold;
    r->blocks[copy].pc = r->blocks[b].pc;
    r->blocks[copy].every = r->blocks[b].every;
    for (ir_id id = r->blocks[b].first; id && !r->failed; id = ir_at(r, id)->next) {
      c->node[id] = ir_node_copy(r, id);
      ir_node_append(r, copy, c->node[id]);
    }
  }
}

static void copy_edges(const copier *c) {
  ir_region *r = c->r;
  for (uint32_t b = 1; b < c->nblocks && !r->failed; b++) {
    if (r->blocks[b].gone)
      continue;
    for (unsigned s = 0; s < 2; s++) {
      uint32_t to = r->blocks[b].succ[s];
      r->blocks[c->block[b]].succ[s] = to == IR_NO_BLOCK ? to : c->block[to];
    }
    for (uint32_t p = 0; p < r->blocks[b].npreds; p++) {
      uint32_t pred = r->blocks[b].preds[p];
      ir_block_add_pred(r, c->block[b], pred == 0 ? 0 : c->block[pred]);
    }
  }
}

/* The exit as the copy has it; those that only block 0 uses stay as they are.
 */
static uint32_t copy_exit(copier *c, uint32_t exit) {
  ir_region *r = c->r;
  if (exit == IR_NO_EXIT || r->exits[exit].raised)
    return exit;
  if (c->exit[exit])
    return c->exit[exit] - 1;
  uint32_t copy = ir_exit_new(r), n = r->exits[exit].nslots;
  ir_slot *slots = ir_alloc(r, n, sizeof *slots);
  if (slots == NULL)
    return exit;
  for (uint32_t s = 0; s < n; s++)
    slots[s] = (ir_slot){r->exits[exit].slots[s].reg, value_of(c, r->exits[exit].slots[s].value)};
  r->exits[copy] = r->exits[exit];
  r->exits[copy].slots = slots;
  r->exits[copy].work = value_of(c, r->exits[exit].work);
  c->exit[exit] = copy + 1;
  return copy;
}

static void map_uses(copier *c) {
  ir_region *r = c->r;
  for (uint32_t b = 1; b < c->nblocks && !r->failed; b++) {
    if (r->blocks[b].gone)
      continue;
    uint32_t copy = c->block[b], landing = copy_exit(c, r->blocks[b].landing);
    r->blocks[copy].landing = landing;
    r->blocks[copy].poll = copy_exit(c, r->blocks[b].poll);
    for (ir_id id = r->blocks[copy].first; id; id = ir_at(r, id)->next) {
      ir_node *n = ir_at(r, id);
      for (unsigned k = 0; k < n->nargs; k++)
        n->arg[k] = value_of(c, n->arg[k]);
      n->exit = copy_exit(c, n->exit);
    }
  }
}

uint32_t ir_copy_blocks(ir_region *r, uint32_t first) {
  copier c = {.r = r, .nnodes = r->nnodes, .nblocks = r->nblocks, .nexits = r->nexits};
  c.node = ir_alloc(r, c.nnodes, sizeof *c.node);
  c.block = ir_alloc(r, c.nblocks, sizeof *c.block);
  c.exit = ir_alloc(r, c.nexits, sizeof *c.exit);
  if (r->failed)
    return 0;
  copy_nodes(&c);
  copy_edges(&c);
  map_uses(&c);
  return r->failed ? 0 : c.block[first];
}
