/* ir/ir_exit.c - the last word on exits: landings that no node leaves through go, and with them
 * what only they kept alive; equal exits become one. */
#include "ir/ir_int.h"

static bool same_exit(const ir_exit *a, const ir_exit *b) {
  if (a->pc != b->pc || a->reason != b->reason || a->raised != b->raised || a->work != b->work ||
      a->more != b->more || a->nslots != b->nslots)
    return false;
  for (uint32_t s = 0; s < a->nslots; s++)
    if (a->slots[s].reg != b->slots[s].reg || a->slots[s].value != b->slots[s].value)
      return false;
  return true;
}

static uint32_t hash_exit(const ir_exit *x) {
  return (x->pc * 31 + x->reason * 7 + x->work + x->nslots) & 255;
}

/* The first exit equal to each. */
static void find_first(ir_region *r, uint32_t *first) {
  uint32_t head[256] = {0}; /* + 1 */
  uint32_t *chain = ir_alloc(r, r->nexits, sizeof *chain);
  if (chain == NULL)
    return;
  for (uint32_t e = 0; e < r->nexits; e++) {
    uint32_t slot = hash_exit(&r->exits[e]), at = head[slot];
    while (at && !same_exit(&r->exits[at - 1], &r->exits[e]))
      at = chain[at - 1];
    first[e] = at ? at - 1 : e;
    if (at)
      continue;
    chain[e] = head[slot];
    head[slot] = e + 1;
  }
}

void ir_opt_exit(ir_region *r) {
  uint32_t *first = ir_alloc(r, r->nexits, sizeof *first);
  if (first == NULL)
    return;
  find_first(r, first);
  if (r->failed)
    return;
  for (uint32_t b = 0; b < r->nblocks; b++) {
    r->blocks[b].landing = IR_NO_EXIT;
    for (ir_id id = r->blocks[b].first; id; id = ir_at(r, id)->next) {
      ir_node *n = ir_at(r, id);
      if (n->exit != IR_NO_EXIT)
        n->exit = first[n->exit];
    }
  }
  ir_opt_dce(r);
}
