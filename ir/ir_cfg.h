/* ir/ir_cfg.h - what ir_cfg.c finds out about a region's flow.  Valid until edges change. */
#ifndef PURE_IR_CFG_H
#define PURE_IR_CFG_H

#include "ir/ir_int.h"

#define IR_NO_LOOP UINT32_MAX

/* A natural loop: the blocks that reach one of the latches without passing the header. */
typedef struct {
  uint32_t header;
  uint32_t before; /* the one block outside that leads to the header, and to nothing else;
                      IR_NO_BLOCK: there is none */
  uint32_t parent; /* loop around it, or IR_NO_LOOP */
  uint32_t nblocks;
  bool innermost;
} ir_loop;

typedef struct {
  uint32_t n;         /* reachable blocks */
  uint32_t *order;    /* in reverse postorder: dominators before what they dominate */
  uint32_t *place;    /* of each block in it; IR_NO_BLOCK: not reachable */
  uint32_t *idom;     /* of each block; of block 0: itself */
  uint32_t *in, *out; /* times of a walk through the dominator tree: ir_dominates */
  uint32_t nloops;    /* outer ones before inner ones */
  ir_loop *loops;
  uint32_t *loop; /* of each block, the innermost; or IR_NO_LOOP */
  bool reducible; /* every back edge leads to a dominator */
} ir_cfg;

bool ir_find_cfg(ir_region *r, ir_cfg *c); /* false: no memory */

static inline bool ir_dominates(const ir_cfg *c, uint32_t a, uint32_t b) {
  return c->in[a] <= c->in[b] && c->out[b] <= c->out[a];
}

/* Whether block b lies in loop l (or in a loop within it). */
static inline bool ir_in_loop(const ir_cfg *c, uint32_t b, uint32_t l) {
  uint32_t at = c->loop[b];
  while (at != IR_NO_LOOP && at != l)
    at = c->loops[at].parent;
  return at == l && l != IR_NO_LOOP;
}

#endif
