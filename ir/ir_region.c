/* ir/ir_region.c - making and unmaking what a region consists of. */
#include "ir/ir_int.h"

#include <string.h>

#define PIECE_BYTES (16u * 1024u)
#define ROUND(bytes) (((bytes) + 15u) & ~(size_t)15u)

typedef struct piece {
  struct piece *next;
  size_t bytes, used; /* with this header */
} piece;

struct ir_arena {
  ls_mem *mem;
  piece *pieces;
  uint32_t nodes_cap, chunks_cap, blocks_cap, exits_cap, steps_cap;
  uint32_t consts_cap, nconsts; /* open addressing, by value */
  ir_id *consts;
};

/* ---- memory */

static void *piece_alloc(ls_mem *mem, piece **pieces, size_t bytes) {
  piece *p = *pieces;
  bytes = ROUND(bytes);
  if (p == NULL || p->bytes - p->used < bytes) {
    size_t want = bytes + ROUND(sizeof(piece));
    if (want < PIECE_BYTES)
      want = PIECE_BYTES;
    p = ls_mem_alloc(mem, want);
    if (p == NULL)
      return NULL;
    *p = (piece){.next = *pieces, .bytes = want, .used = ROUND(sizeof(piece))};
    *pieces = p;
  }
  void *out = (char *)p + p->used;
  p->used += bytes;
  return memset(out, 0, bytes);
}

void *ir_alloc(ir_region *r, size_t count, size_t size) {
  void *out = NULL;
  if (count == 0)
    count = 1;
  if (count <= SIZE_MAX / 4 / size)
    out = piece_alloc(r->arena->mem, &r->arena->pieces, count * size);
  if (out == NULL)
    r->failed = true;
  return out;
}

void ir_region_delete(ir_region *r) {
  if (r == NULL)
    return;
  ls_mem *mem = r->arena->mem;
  for (piece *p = r->arena->pieces; p;) {
    piece *next = p->next;
    ls_mem_free(mem, p, p->bytes);
    p = next;
  }
}

const char *ir_copy_name(ir_region *r, const char *name, size_t len) {
  char *copy = ir_alloc(r, len + 1, 1);
  return copy ? memcpy(copy, name, len) : "";
}

/* Room for one more of n things; *cap grows.  False: no memory, nothing has changed. */
static bool reserve(ir_region *r, void *array, uint32_t *cap, uint32_t n, size_t size) {
  if (n < *cap)
    return true;
  void *old, *grown = ir_alloc(r, (size_t)n * 2 + 8, size);
  if (grown == NULL)
    return false;
  memcpy(&old, array, sizeof old);
  if (n)
    memcpy(grown, old, n * size);
  memcpy(array, &grown, sizeof grown);
  *cap = n * 2 + 8;
  return true;
}

static bool add_chunk(ir_region *r) {
  ir_arena *a = r->arena;
  uint32_t n = a->nodes_cap / IR_CHUNK;
  if (!reserve(r, &r->chunk, &a->chunks_cap, n, sizeof *r->chunk))
    return false;
  r->chunk[n] = ir_alloc(r, IR_CHUNK, sizeof(ir_node));
  if (r->chunk[n] == NULL)
    return false;
  a->nodes_cap += IR_CHUNK;
  return true;
}

ir_region *ir_region_new(ls_mem *mem) {
  piece *pieces = NULL;
  ir_arena *a = piece_alloc(mem, &pieces, sizeof *a);
  if (a == NULL)
    return NULL;
  ir_region *r = piece_alloc(mem, &pieces, sizeof *r);
  *a = (ir_arena){.mem = mem, .pieces = pieces};
  *r = (ir_region){.arena = a, .name = "", .nnodes = 1}; /* node 0: see ir_int.h */
  if (!add_chunk(r)) {
    ir_region_delete(r);
    return NULL;
  }
  ir_at(r, 0)->block = ir_block_new(r);
  uint32_t exit = ir_exit_new(r), step = ir_step_new(r); /* numbers 0 exist as well */
  r->nexits = r->nsteps = 0;
  if (r->failed || exit || step) {
    ir_region_delete(r);
    return NULL;
  }
  return r;
}

/* ---- nodes */

static ir_id node_make(ir_region *r) {
  if (r->nnodes == r->arena->nodes_cap && !add_chunk(r))
    return 0;
  return r->nnodes++;
}

ir_id ir_node_new(ir_region *r, ir_op op, ir_type type, unsigned nargs, const ir_id *args) {
  const ir_facts_of_op *facts = ir_op_read(op);
  ir_id *arg = nargs ? ir_alloc(r, nargs, sizeof *arg) : NULL;
  ir_id id = nargs && arg == NULL ? 0 : node_make(r);
  ir_node *n = ir_at(r, id);
  *n = (ir_node){.op = (uint8_t)op,
                 .type = (uint8_t)(facts->same ? type : facts->type),
                 .nargs = arg ? (uint16_t)nargs : 0,
                 .arg = arg,
                 .exit = IR_NO_EXIT,
                 .pc = IR_NO_PC};
  if (arg && args)
    memcpy(arg, args, nargs * sizeof *arg);
  return id;
}

ir_id ir_node_copy(ir_region *r, ir_id id) {
  ir_node *from = ir_at(r, id);
  ir_id copy = ir_node_new(r, (ir_op)from->op, (ir_type)from->type, from->nargs, from->arg);
  ir_node *n = ir_at(r, copy);
  n->list = from->list;
  n->col = from->col;
  n->width = from->width;
  n->imm = from->imm;
  n->exit = from->exit;
  n->pc = from->pc;
  return copy;
}

void ir_node_append(ir_region *r, uint32_t block, ir_id id) {
  ir_block *b = &r->blocks[block];
  ir_node *n = ir_at(r, id);
  if (id == 0)
    return;
  n->block = block;
  n->prev = b->last;
  n->next = 0;
  if (b->last)
    ir_at(r, b->last)->next = id;
  else
    b->first = id;
  b->last = id;
}

void ir_node_put_before(ir_region *r, ir_id place, ir_id id) {
  ir_node *n = ir_at(r, id), *at = ir_at(r, place);
  if (id == 0 || place == 0)
    return;
  n->block = at->block;
  n->prev = at->prev;
  n->next = place;
  if (at->prev)
    ir_at(r, at->prev)->next = id;
  else
    r->blocks[at->block].first = id;
  at->prev = id;
}

void ir_node_put_after(ir_region *r, ir_id place, ir_id id) {
  ir_id next = ir_at(r, place)->next;
  if (place == 0)
    return;
  if (next)
    ir_node_put_before(r, next, id);
  else
    ir_node_append(r, ir_at(r, place)->block, id);
}

void ir_node_prepend(ir_region *r, uint32_t block, ir_id id) {
  ir_id first = r->blocks[block].first;
  if (first)
    ir_node_put_before(r, first, id);
  else
    ir_node_append(r, block, id);
}

void ir_node_take(ir_region *r, ir_id id) {
  ir_node *n = ir_at(r, id);
  ir_block *b = &r->blocks[n->block];
  if (id == 0)
    return;
  if (n->prev)
    ir_at(r, n->prev)->next = n->next;
  else
    b->first = n->next;
  if (n->next)
    ir_at(r, n->next)->prev = n->prev;
  else
    b->last = n->prev;
  n->prev = n->next = 0;
}

void ir_node_remove(ir_region *r, ir_id id) {
  if (id == 0)
    return;
  ir_node_take(r, id);
  ir_at(r, id)->gone = 1;
}

/* ---- constants: in block 0, before everything else */

static uint64_t const_hash(ir_op op, int64_t imm) {
  return ((uint64_t)imm ^ (uint64_t)op << 56) * UINT64_C(0x9e3779b97f4a7c15);
}

static bool consts_grow(ir_region *r) {
  ir_arena *a = r->arena;
  uint32_t cap = a->consts_cap ? a->consts_cap * 2 : 64;
  ir_id *grown = ir_alloc(r, cap, sizeof *grown);
  if (grown == NULL)
    return false;
  for (uint32_t i = 0; i < a->consts_cap; i++) {
    if (a->consts[i] == 0)
      continue;
    const ir_node *n = ir_at(r, a->consts[i]);
    uint64_t at = const_hash((ir_op)n->op, n->imm) >> 32 & (cap - 1);
    while (grown[at])
      at = (at + 1) & (cap - 1);
    grown[at] = a->consts[i];
  }
  a->consts = grown;
  a->consts_cap = cap;
  return true;
}

static ir_id const_node(ir_region *r, ir_op op, int64_t imm) {
  ir_arena *a = r->arena;
  if (a->nconsts * 2 >= a->consts_cap && !consts_grow(r))
    return 0;
  uint64_t at = const_hash(op, imm) >> 32 & (a->consts_cap - 1);
  for (; a->consts[at]; at = (at + 1) & (a->consts_cap - 1)) {
    const ir_node *n = ir_at(r, a->consts[at]);
    if (n->op == op && n->imm == imm)
      return a->consts[at];
  }
  ir_id id = ir_node_new(r, op, IR_NONE, 0, NULL);
  if (id == 0)
    return 0;
  ir_at(r, id)->imm = imm;
  ir_node_prepend(r, 0, id);
  a->consts[at] = id;
  a->nconsts++;
  return id;
}

ir_id ir_int(ir_region *r, int64_t value) { return const_node(r, IR_OP_INT, value); }
ir_id ir_real(ir_region *r, uint64_t bits) { return const_node(r, IR_OP_REAL, (int64_t)bits); }
ir_id ir_bool(ir_region *r, bool value) { return const_node(r, IR_OP_BOOL, value); }

/* ---- blocks and edges */

uint32_t ir_block_new(ir_region *r) {
  if (!reserve(r, &r->blocks, &r->arena->blocks_cap, r->nblocks, sizeof *r->blocks))
    return 0;
  r->blocks[r->nblocks] = (ir_block){.succ = {IR_NO_BLOCK, IR_NO_BLOCK},
                                     .landing = IR_NO_EXIT,
                                     .poll = IR_NO_EXIT,
                                     .pc = IR_NO_PC};
  return r->nblocks++;
}

void ir_block_add_pred(ir_region *r, uint32_t block, uint32_t pred) {
  ir_block *b = &r->blocks[block];
  if (reserve(r, &b->preds, &b->preds_cap, b->npreds, sizeof *b->preds))
    b->preds[b->npreds++] = pred;
}

void ir_block_drop_pred(ir_region *r, uint32_t block, uint32_t pred) {
  ir_block *b = &r->blocks[block];
  uint32_t at = 0;
  while (at < b->npreds && b->preds[at] != pred)
    at++;
  if (at == b->npreds)
    return;
  b->npreds--;
  for (uint32_t i = at; i < b->npreds; i++)
    b->preds[i] = b->preds[i + 1];
  for (ir_id id = b->first; id; id = ir_at(r, id)->next) {
    ir_node *n = ir_at(r, id);
    if (n->op != IR_OP_PHI)
      break;
    for (uint32_t i = at; i + 1 < n->nargs; i++)
      n->arg[i] = n->arg[i + 1];
    n->nargs--;
  }
}

static void end(ir_region *r, uint32_t block, ir_id id, uint32_t yes, uint32_t no) {
  ir_node_append(r, block, id);
  r->blocks[block].succ[0] = yes;
  r->blocks[block].succ[1] = no;
  if (yes != IR_NO_BLOCK)
    ir_block_add_pred(r, yes, block);
  if (no != IR_NO_BLOCK)
    ir_block_add_pred(r, no, block);
}

void ir_end_jump(ir_region *r, uint32_t block, uint32_t to) {
  end(r, block, ir_node_new(r, IR_OP_JUMP, IR_NONE, 0, NULL), to, IR_NO_BLOCK);
}

void ir_end_branch(ir_region *r, uint32_t block, ir_id cond, uint32_t yes, uint32_t no) {
  end(r, block, ir_node_new(r, IR_OP_BRANCH, IR_NONE, 1, &cond), yes, no);
}

void ir_end_leave(ir_region *r, uint32_t block, uint32_t exit) {
  ir_id id = ir_node_new(r, IR_OP_LEAVE, IR_NONE, 0, NULL);
  ir_at(r, id)->exit = exit;
  end(r, block, id, IR_NO_BLOCK, IR_NO_BLOCK);
}

void ir_block_open(ir_region *r, uint32_t block) {
  ir_block *b = &r->blocks[block];
  unsigned n = ir_block_nsucc(r, b);
  if (b->last == 0 || !ir_has_effect(ir_at(r, b->last), IR_ENDS))
    return;
  for (unsigned s = 0; s < n; s++)
    ir_block_drop_pred(r, b->succ[s], block);
  ir_node_remove(r, b->last);
  b->succ[0] = b->succ[1] = IR_NO_BLOCK;
}

uint32_t ir_block_split(ir_region *r, ir_id after) {
  uint32_t block = ir_at(r, after)->block, rest = ir_block_new(r);
  if (rest == 0)
    return 0;
  ir_block *b = &r->blocks[block], *to = &r->blocks[rest];
  to->cold = b->cold;
  to->landing = b->landing;
  to->pc = ir_at(r, after)->pc;
  b->landing = IR_NO_EXIT;
  for (ir_id id = ir_at(r, after)->next; id;) {
    ir_id next = ir_at(r, id)->next;
    ir_node_take(r, id);
    ir_node_append(r, rest, id);
    id = next;
  }
  for (unsigned s = 0; s < 2; s++) {
    to->succ[s] = b->succ[s];
    b->succ[s] = IR_NO_BLOCK;
    if (to->succ[s] == IR_NO_BLOCK)
      continue;
    ir_block *next = &r->blocks[to->succ[s]];
    for (uint32_t p = 0; p < next->npreds; p++)
      if (next->preds[p] == block)
        next->preds[p] = rest;
  }
  return rest;
}

static void reach(const ir_region *r, uint8_t *seen, uint32_t *stack) {
  uint32_t n = 0;
  stack[n++] = 0;
  seen[0] = 1;
  while (n) {
    const ir_block *b = &r->blocks[stack[--n]];
    for (unsigned s = 0; s < ir_block_nsucc(r, b); s++) {
      if (seen[b->succ[s]])
        continue;
      seen[b->succ[s]] = 1;
      stack[n++] = b->succ[s];
    }
  }
}

void ir_blocks_sweep(ir_region *r) {
  uint8_t *seen = ir_alloc(r, r->nblocks, 1);
  uint32_t *stack = ir_alloc(r, r->nblocks, sizeof *stack);
  if (r->failed)
    return;
  reach(r, seen, stack);
  for (uint32_t i = 0; i < r->nblocks; i++) {
    ir_block *b = &r->blocks[i];
    if (seen[i] || b->gone)
      continue;
    ir_block_open(r, i);
    for (ir_id id = b->first; id;) {
      ir_id next = ir_at(r, id)->next;
      ir_at(r, id)->gone = 1;
      id = next;
    }
    b->first = b->last = 0;
    b->npreds = 0;
    b->landing = b->poll = IR_NO_EXIT;
    b->gone = true;
  }
}

/* ---- exits and steps */

uint32_t ir_exit_new(ir_region *r) {
  if (!reserve(r, &r->exits, &r->arena->exits_cap, r->nexits, sizeof *r->exits))
    return 0;
  r->exits[r->nexits] = (ir_exit){.pc = 0};
  return r->nexits++;
}

uint32_t ir_step_new(ir_region *r) {
  if (!reserve(r, &r->steps, &r->arena->steps_cap, r->nsteps, sizeof *r->steps))
    return 0;
  r->steps[r->nsteps] = (ir_step){.pc = 0};
  return r->nsteps++;
}
