/* ir/ir_cfg.c - order of blocks, dominators, loops.
 *
 * Dominators by the simple iteration of Cooper, Harvey and Kennedy: regions are small and nearly
 * always reducible, so that two rounds are all it takes.
 */
#include "ir/ir_cfg.h"

/* Postorder by a stack of (block, next successor). */
static void order_blocks(const ir_region *r, ir_cfg *c, uint32_t *stack, uint8_t *state) {
  uint32_t depth = 0, n = 0;
  stack[depth++] = 0;
  state[0] = 1;
  while (depth) {
    uint32_t b = stack[depth - 1];
    unsigned s = state[b] - 1u;
    if (s < ir_block_nsucc(r, &r->blocks[b])) {
      /* The last successor first, so that the first one comes right after its block. */
      unsigned nsucc = ir_block_nsucc(r, &r->blocks[b]);
      uint32_t to = r->blocks[b].succ[nsucc - 1 - s];
      state[b]++;
      if (state[to])
        continue;
      state[to] = 1;
      stack[depth++] = to;
    } else {
      c->order[n++] = b;
      depth--;
    }
  }
  c->n = n;
  for (uint32_t i = 0; i < n / 2; i++) {
    uint32_t t = c->order[i];
    c->order[i] = c->order[n - 1 - i];
    c->order[n - 1 - i] = t;
  }
}

static uint32_t meet(const ir_cfg *c, uint32_t a, uint32_t b) {
  while (a != b) {
    while (c->place[a] > c->place[b])
      a = c->idom[a];
    while (c->place[b] > c->place[a])
      b = c->idom[b];
  }
  return a;
}

static void find_dominators(const ir_region *r, ir_cfg *c) {
  bool changed = true;
  c->idom[0] = 0;
  while (changed) {
    changed = false;
    for (uint32_t i = 1; i < c->n; i++) {
      const ir_block *b = &r->blocks[c->order[i]];
      uint32_t idom = IR_NO_BLOCK;
      for (uint32_t p = 0; p < b->npreds; p++) {
        uint32_t pred = b->preds[p];
        if (c->idom[pred] == IR_NO_BLOCK)
          continue;
        idom = idom == IR_NO_BLOCK ? pred : meet(c, idom, pred);
      }
      if (c->idom[c->order[i]] == idom)
        continue;
      c->idom[c->order[i]] = idom;
      changed = true;
    }
  }
}

/* Numbers blocks so that ir_dominates is two comparisons: sizes of subtrees, then places. */
static void number_tree(ir_cfg *c, uint32_t *size) {
  for (uint32_t i = c->n; i-- > 1;)
    size[c->idom[c->order[i]]] += size[c->order[i]] + 1;
  c->in[0] = 0;
  c->out[0] = size[0];
  uint32_t *used = size; /* a block's size is known in out - in from here on */
  for (uint32_t i = 0; i < c->n; i++) {
    uint32_t b = c->order[i];
    if (i > 0) {
      uint32_t up = c->idom[b], mine = size[b];
      c->in[b] = c->in[up] + 1 + used[up];
      c->out[b] = c->in[b] + mine;
      used[up] += mine + 1;
    }
    used[b] = 0;
  }
}

static bool is_back_edge(const ir_cfg *c, uint32_t from, uint32_t to) {
  return ir_dominates(c, to, from);
}

/* Blocks of the loop of `header`, marked with its number where they have none yet: inner loops
 * are done first. */
static void collect(const ir_region *r, ir_cfg *c, uint32_t l, uint32_t *stack) {
  uint32_t header = c->loops[l].header, n = 0;
  for (uint32_t p = 0; p < r->blocks[header].npreds; p++)
    if (is_back_edge(c, r->blocks[header].preds[p], header))
      stack[n++] = r->blocks[header].preds[p];
  while (n) {
    uint32_t b = stack[--n];
    if (c->loop[b] == IR_NO_LOOP) {
      c->loop[b] = l;
      if (b == header)
        continue;
      for (uint32_t p = 0; p < r->blocks[b].npreds; p++)
        stack[n++] = r->blocks[b].preds[p];
      continue;
    }
    uint32_t inner = c->loop[b]; /* the outermost loop around b so far */
    while (inner != l && c->loops[inner].parent != IR_NO_LOOP)
      inner = c->loops[inner].parent;
    if (inner == l)
      continue;
    c->loops[inner].parent = l;
    c->loops[l].innermost = false;
    const ir_block *h = &r->blocks[c->loops[inner].header];
    for (uint32_t p = 0; p < h->npreds; p++)
      if (!is_back_edge(c, h->preds[p], c->loops[inner].header))
        stack[n++] = h->preds[p];
  }
  if (c->loop[header] == IR_NO_LOOP)
    c->loop[header] = l;
}

static void find_before(const ir_region *r, const ir_cfg *c, ir_loop *l) {
  const ir_block *h = &r->blocks[l->header];
  uint32_t outside = 0;
  for (uint32_t p = 0; p < h->npreds; p++) {
    if (is_back_edge(c, h->preds[p], l->header))
      continue;
    outside++;
    l->before = h->preds[p];
  }
  if (outside != 1 || ir_block_nsucc(r, &r->blocks[l->before]) != 1)
    l->before = IR_NO_BLOCK;
}

/* Outer loops first: their headers come first in the order. */
static void sort_loops(ir_region *r, ir_cfg *c) {
  uint32_t n = c->nloops, *to = ir_alloc(r, n, sizeof *to);
  ir_loop *sorted = ir_alloc(r, n, sizeof *sorted);
  if (r->failed)
    return;
  for (uint32_t l = 0; l < n; l++)
    to[l] = n - 1 - l;
  for (uint32_t l = 0; l < n; l++) {
    sorted[to[l]] = c->loops[l];
    if (c->loops[l].parent != IR_NO_LOOP)
      sorted[to[l]].parent = to[c->loops[l].parent];
  }
  c->loops = sorted;
  for (uint32_t i = 0; i < c->n; i++) {
    uint32_t b = c->order[i];
    if (c->loop[b] == IR_NO_LOOP)
      continue;
    c->loop[b] = to[c->loop[b]];
    for (uint32_t l = c->loop[b]; l != IR_NO_LOOP; l = c->loops[l].parent)
      c->loops[l].nblocks++;
  }
}

static void find_loops(ir_region *r, ir_cfg *c, uint32_t *stack) {
  c->reducible = true;
  for (uint32_t i = c->n; i-- > 0;) {
    uint32_t header = c->order[i];
    bool is = false;
    for (uint32_t p = 0; p < r->blocks[header].npreds; p++) {
      uint32_t pred = r->blocks[header].preds[p];
      is |= is_back_edge(c, pred, header);
      if (c->place[pred] >= i && !is_back_edge(c, pred, header))
        c->reducible = false;
    }
    if (!is)
      continue;
    c->loops[c->nloops] =
        (ir_loop){.header = header, .before = IR_NO_BLOCK, .parent = IR_NO_LOOP, .innermost = true};
    collect(r, c, c->nloops++, stack);
  }
  sort_loops(r, c);
  for (uint32_t l = 0; l < c->nloops; l++)
    find_before(r, c, &c->loops[l]);
}

bool ir_find_cfg(ir_region *r, ir_cfg *c) {
  uint32_t n = r->nblocks, edges = 0;
  for (uint32_t b = 0; b < n; b++)
    edges += r->blocks[b].npreds + 1;
  *c = (ir_cfg){.order = ir_alloc(r, n, sizeof *c->order)};
  c->place = ir_alloc(r, n, sizeof *c->place);
  c->idom = ir_alloc(r, n, sizeof *c->idom);
  c->in = ir_alloc(r, n, sizeof *c->in);
  c->out = ir_alloc(r, n, sizeof *c->out);
  c->loop = ir_alloc(r, n, sizeof *c->loop);
  c->loops = ir_alloc(r, n, sizeof *c->loops);
  uint32_t *stack = ir_alloc(r, (size_t)edges * 2 + n, sizeof *stack);
  uint8_t *state = ir_alloc(r, n, 1);
  uint32_t *size = ir_alloc(r, n, sizeof *size);
  if (r->failed)
    return false;
  for (uint32_t b = 0; b < n; b++)
    c->place[b] = c->idom[b] = c->loop[b] = IR_NO_BLOCK;
  order_blocks(r, c, stack, state);
  for (uint32_t i = 0; i < c->n; i++)
    c->place[c->order[i]] = i;
  find_dominators(r, c);
  number_tree(c, size);
  find_loops(r, c, stack);
  return !r->failed;
}
