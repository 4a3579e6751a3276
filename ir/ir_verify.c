/* ir/ir_verify.c - whether a region keeps the invariants of ir.h and ir_ops.def. */
#include "ir/ir_cfg.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct {
  ir_region *r;
  ir_cfg cfg;
  uint32_t *place; /* of each node within its block, from 1; 0: in no block */
  char *why;
  size_t n;
} verifier;

__attribute__((format(printf, 2, 3))) static bool bad(verifier *v, const char *format, ...) {
  va_list args;
  va_start(args, format);
  if (v->n)
    vsnprintf(v->why, v->n, format, args);
  va_end(args);
  return false;
}

/* ---- links between nodes and between blocks */

static bool check_chain(verifier *v, uint32_t block) {
  const ir_region *r = v->r;
  const ir_block *b = &r->blocks[block];
  uint32_t place = 0;
  ir_id prev = 0;
  bool phis = true;
  for (ir_id id = b->first; id; prev = id, id = ir_at(r, id)->next) {
    const ir_node *n = ir_at(r, id);
    if (n->gone || n->block != block || n->prev != prev || v->place[id])
      return bad(v, "b%u: the chain of nodes is broken at node %u", block, id);
    v->place[id] = ++place;
    if (n->op != IR_OP_PHI && !ir_is_const(n))
      phis = false;
    else if (n->op == IR_OP_PHI && !phis)
      return bad(v, "b%u: a phi after other nodes", block);
    if (n->op == IR_OP_PHI && n->nargs != b->npreds)
      return bad(v, "b%u: a phi of %u arguments for %u predecessors", block, n->nargs, b->npreds);
    if (ir_has_effect(n, IR_ENDS) != (n->next == 0))
      return bad(v, "b%u: its last node, and no other, must end it", block);
  }
  if (b->last != prev)
    return bad(v, "b%u: the last node is another", block);
  return place > 0 || bad(v, "b%u is empty", block);
}

static unsigned count_edges(const ir_region *r, uint32_t from, uint32_t to) {
  unsigned n = 0;
  for (unsigned s = 0; s < ir_block_nsucc(r, &r->blocks[from]); s++)
    n += r->blocks[from].succ[s] == to;
  return n;
}

static unsigned count_preds(const ir_block *b, uint32_t pred) {
  unsigned n = 0;
  for (uint32_t p = 0; p < b->npreds; p++)
    n += b->preds[p] == pred;
  return n;
}

static bool check_edges(verifier *v, uint32_t block) {
  const ir_region *r = v->r;
  const ir_block *b = &r->blocks[block];
  for (unsigned s = 0; s < ir_block_nsucc(r, b); s++) {
    uint32_t to = b->succ[s];
    if (to >= r->nblocks || r->blocks[to].gone || to == 0)
      return bad(v, "b%u leads to a block that is not there", block);
    if (count_preds(&r->blocks[to], block) != count_edges(r, block, to))
      return bad(v, "b%u does not know that b%u leads to it", to, block);
  }
  for (uint32_t p = 0; p < b->npreds; p++)
    if (b->preds[p] >= r->nblocks || r->blocks[b->preds[p]].gone ||
        count_edges(r, b->preds[p], block) == 0)
      return bad(v, "b%u has a predecessor that does not lead to it", block);
  return true;
}

/* ---- a node by the table */

static bool type_fits(char letter, const ir_node *n, ir_type type) {
  switch (letter) {
  case 'i':
    return type == IR_I64;
  case 'f':
    return type == IR_F64;
  case 'b':
    return type == IR_B1;
  case 'p':
    return type == IR_PTR;
  case 's':
    return type == (ir_type)n->type;
  default: /* v * */
    return type != IR_NONE;
  }
}

static bool check_args(verifier *v, ir_id id) {
  const ir_region *r = v->r;
  const ir_node *n = ir_at(r, id);
  const ir_facts_of_op *facts = ir_facts_of(n);
  bool any = facts->args[0] == '*';
  if (!any && strlen(facts->args) != n->nargs)
    return bad(v, "b%u: %s needs %zu arguments", n->block, facts->name, strlen(facts->args));
  for (unsigned k = 0; k < n->nargs; k++) {
    if (n->arg[k] == 0 || n->arg[k] >= r->nnodes || v->place[n->arg[k]] == 0)
      return bad(v, "b%u: argument %u of %s is no value", n->block, k, facts->name);
    char letter = n->op == IR_OP_PHI ? 's' : facts->args[any ? 0 : k];
    if (!type_fits(letter, n, (ir_type)ir_at(r, n->arg[k])->type))
      return bad(v, "b%u: argument %u of %s has the wrong type", n->block, k, facts->name);
  }
  return true;
}

static bool check_step(verifier *v, const ir_node *n) {
  if ((uint64_t)n->imm >= v->r->nsteps)
    return bad(v, "b%u: a step without record", n->block);
  const ir_step *s = &v->r->steps[n->imm];
  if (s->nregs + s->metered != n->nargs)
    return bad(v, "b%u: a step with %u arguments too few or too many", n->block, n->nargs);
  for (uint32_t k = 0; k < s->nregs; k++)
    if (s->reg[k] >= v->r->nregs)
      return bad(v, "b%u: a step stores to r%u", n->block, s->reg[k]);
  if (s->metered && ir_at(v->r, n->arg[0])->type != IR_I64)
    return bad(v, "b%u: the work of a step is no int", n->block);
  return s->calls == v->r->exits[n->exit].raised ||
         bad(v, "b%u: the exit of a step must be raised when it calls, else not", n->block);
}

static bool check_node(verifier *v, ir_id id) {
  const ir_region *r = v->r;
  const ir_node *n = ir_at(r, id);
  const ir_facts_of_op *facts = ir_facts_of(n);
  if (n->op >= IR_NOPS || (facts->same ? n->type == IR_NONE : n->type != facts->type))
    return bad(v, "b%u: %s has the wrong type", n->block, facts->name);
  if (((facts->attributes & IR_HAS_EXIT) != 0) != (n->exit != IR_NO_EXIT) ||
      (n->exit != IR_NO_EXIT && n->exit >= r->nexits))
    return bad(v, "b%u: %s needs an exit, or must have none", n->block, facts->name);
  if (facts->attributes & IR_HAS_LIST) {
    if (n->list >= r->nlists)
      return bad(v, "b%u: %s of no list", n->block, facts->name);
    if ((facts->attributes & IR_HAS_COL) && n->col >= r->lists[n->list].ncols)
      return bad(v, "b%u: %s of no column", n->block, facts->name);
  }
  if (n->width > 3)
    return bad(v, "b%u: %s of a bad width", n->block, facts->name);
  if (n->op == IR_OP_REG && (uint64_t)n->imm >= r->nregs)
    return bad(v, "b%u: there is no r%lld", n->block, (long long)n->imm);
  if (n->op == IR_OP_FIND && n->nargs != r->lists[n->list].nkeys)
    return bad(v, "b%u: find without its key", n->block);
  if (!check_args(v, id))
    return false;
  if (n->exit != IR_NO_EXIT && r->exits[n->exit].raised && n->op != IR_OP_STEP)
    return bad(v, "b%u: %s has a raised exit", n->block, facts->name);
  return n->op != IR_OP_STEP || check_step(v, n);
}

/* ---- values dominate their uses */

/* Whether the value is there at the place (0: at the end) of a block. */
static bool is_there(const verifier *v, ir_id value, uint32_t block, uint32_t place) {
  const ir_node *n = ir_at(v->r, value);
  if (n->block != block)
    return ir_dominates(&v->cfg, n->block, block);
  return place == 0 || v->place[value] < place;
}

static bool check_exit_at(verifier *v, uint32_t exit, uint32_t block, uint32_t place) {
  const ir_region *r = v->r;
  const ir_exit *x = &r->exits[exit];
  if (x->raised)
    return true;
  if (x->work == 0 || x->work >= r->nnodes || v->place[x->work] == 0 ||
      ir_at(r, x->work)->type != IR_I64 || !is_there(v, x->work, block, place))
    return bad(v, "b%u: the work of the exit to pc %u is not there", block, x->pc);
  for (uint32_t s = 0; s < x->nslots; s++) {
    ir_id value = x->slots[s].value;
    if (x->slots[s].reg >= r->nregs || (s && x->slots[s].reg <= x->slots[s - 1].reg))
      return bad(v, "registers of the exit to pc %u are out of order", x->pc);
    if (value == 0 || value >= r->nnodes || v->place[value] == 0 ||
        !is_there(v, value, block, place))
      return bad(v, "b%u: r%u of the exit to pc %u is not there", block, x->slots[s].reg, x->pc);
    if (ir_at(r, value)->type == IR_PTR || ir_at(r, value)->type == IR_NONE)
      return bad(v, "b%u: r%u of the exit to pc %u has no type of a register", block,
                 x->slots[s].reg, x->pc);
  }
  return true;
}

static bool check_uses(verifier *v, uint32_t block) {
  const ir_region *r = v->r;
  const ir_block *b = &r->blocks[block];
  for (ir_id id = b->first; id; id = ir_at(r, id)->next) {
    const ir_node *n = ir_at(r, id);
    for (unsigned k = 0; k < n->nargs; k++) {
      bool phi = n->op == IR_OP_PHI;
      if (!is_there(v, n->arg[k], phi ? b->preds[k] : block, phi ? 0 : v->place[id]))
        return bad(v, "b%u: argument %u of %s is not there yet", block, k, ir_facts_of(n)->name);
    }
    if (n->exit != IR_NO_EXIT && !check_exit_at(v, n->exit, block, v->place[id]))
      return false;
  }
  return true;
}

/* Exits that a block has without a node: of the whole loop that it leads to, of the poll that its
 * loop is without. */
static bool check_own_exits(verifier *v, uint32_t block) {
  const ir_region *r = v->r;
  const ir_block *b = &r->blocks[block];
  if (b->landing != IR_NO_EXIT) {
    if (b->landing >= r->nexits || r->exits[b->landing].raised)
      return bad(v, "b%u: its landing is no exit", block);
    if (!check_exit_at(v, b->landing, block, 0))
      return false;
  }
  if (b->poll == IR_NO_EXIT)
    return true;
  if (b->poll >= r->nexits || r->exits[b->poll].raised || b->every == 0)
    return bad(v, "b%u: its poll is none", block);
  return check_exit_at(v, b->poll, block, v->place[b->last]);
}

static bool check_all(verifier *v) {
  ir_region *r = v->r;
  for (uint32_t b = 0; b < r->nblocks; b++)
    if (!r->blocks[b].gone && !check_chain(v, b))
      return false;
  for (uint32_t b = 0; b < r->nblocks; b++)
    if (!r->blocks[b].gone && !check_edges(v, b))
      return false;
  if (r->blocks[0].npreds || r->blocks[0].gone)
    return bad(v, "b0 is not the entry");
  for (uint32_t b = 0; b < r->nblocks; b++)
    for (ir_id id = r->blocks[b].first; id; id = ir_at(r, id)->next)
      if (!check_node(v, id))
        return false;
  if (!ir_find_cfg(r, &v->cfg))
    return bad(v, "no memory");
  for (uint32_t b = 0; b < r->nblocks; b++) {
    if (r->blocks[b].gone)
      continue;
    if (v->cfg.place[b] == IR_NO_BLOCK)
      return bad(v, "b%u cannot be reached", b);
    if (!check_uses(v, b) || !check_own_exits(v, b))
      return false;
  }
  return true;
}

bool ir_verify(ir_region *r, char *why, size_t n) {
  verifier v = {.r = r, .why = why, .n = n};
  if (n)
    why[0] = 0;
  v.place = ir_alloc(r, r->nnodes, sizeof *v.place);
  if (r->failed)
    return bad(&v, "no memory");
  return check_all(&v);
}
