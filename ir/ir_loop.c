/* ir/ir_loop.c - moves what does not change in a loop before it.
 *
 * pure nodes     anywhere; "known not to overflow" may not be known there, so they wrap again
 * header loads   where no step in the loop kills the list
 * cell loads     only from the header, before anything could have protected them
 * checks         where every round makes them; they leave through the landing then
 *
 * Inner loops first: what leaves one may leave the next as well.
 */
#include "ir/ir_alias.h"

typedef struct {
  ir_region *r;
  ir_cfg cfg;
  ir_memory mem;
  uint32_t loop;
  uint8_t *written; /* classes written in the loop */
  bool protected;   /* in the header: something that may exit has come before */
} mover;

static bool args_outside(const mover *m, const ir_node *n) {
  for (unsigned k = 0; k < n->nargs; k++)
    if (ir_in_loop(&m->cfg, ir_at(m->r, n->arg[k])->block, m->loop))
      return false;
  return true;
}

static bool every_round(const mover *m, uint32_t block) {
  const ir_block *h = &m->r->blocks[m->cfg.loops[m->loop].header];
  for (uint32_t p = 0; p < h->npreds; p++)
    if (ir_in_loop(&m->cfg, h->preds[p], m->loop) && !ir_dominates(&m->cfg, block, h->preds[p]))
      return false;
  return true;
}

static bool is_written(const mover *m, const ir_node *n) {
  uint32_t class = ir_class_of(m->r, &m->mem, n);
  return class != IR_NO_CLASS && m->written[class];
}

/* Divisions trap where a check in the loop keeps them from it. */
static bool may_run_early(const ir_region *r, const ir_node *n) {
  if (n->op != IR_OP_DIV && n->op != IR_OP_REM)
    return true;
  return ir_at(r, n->arg[1])->op == IR_OP_INT;
}

static bool may_move(const mover *m, const ir_node *n) {
  unsigned effects = ir_facts_of(n)->effects;
  const ir_loop *l = &m->cfg.loops[m->loop];
  if (ir_is_const(n) || !args_outside(m, n))
    return false;
  if (effects == IR_PURE)
    return may_run_early(m->r, n) && !m->r->blocks[n->block].cold;
  if (effects == IR_HEADER)
    return !is_written(m, n) && (n->op != IR_OP_FIND || every_round(m, n->block));
  if (effects == IR_LOAD)
    return !is_written(m, n) && n->block == l->header && !m->protected;
  if (effects != IR_EXITS || n->op == IR_OP_POLL)
    return false;
  return m->r->blocks[l->before].landing != IR_NO_EXIT && !is_written(m, n) &&
         every_round(m, n->block);
}

static void move(mover *m, ir_id id) {
  ir_node *n = ir_at(m->r, id);
  ir_block *before = &m->r->blocks[m->cfg.loops[m->loop].before];
  ir_node_take(m->r, id);
  ir_node_put_before(m->r, before->last, id);
  if (n->exit != IR_NO_EXIT)
    n->exit = before->landing;
  if (n->op == IR_OP_ADDN)
    n->op = IR_OP_ADD;
  if (n->op == IR_OP_SUBN)
    n->op = IR_OP_SUB;
  if (n->op == IR_OP_MULN)
    n->op = IR_OP_MUL;
}

static void find_written(mover *m) {
  for (uint32_t k = 0; k < m->mem.nclasses; k++)
    m->written[k] = 0;
  for (uint32_t i = 0; i < m->cfg.n; i++) {
    uint32_t b = m->cfg.order[i];
    if (!ir_in_loop(&m->cfg, b, m->loop))
      continue;
    for (ir_id id = m->r->blocks[b].first; id; id = ir_at(m->r, id)->next) {
      const ir_node *n = ir_at(m->r, id);
      if (!ir_has_effect(n, IR_STORE | IR_CALLS))
        continue;
      for (uint32_t k = 0; k < m->mem.nclasses; k++)
        if (!m->written[k])
          m->written[k] = ir_may_write(m->r, &m->mem, n, k);
    }
  }
}

static void move_out(mover *m) {
  const ir_loop *l = &m->cfg.loops[m->loop];
  if (l->before == IR_NO_BLOCK)
    return;
  find_written(m);
  for (uint32_t i = m->cfg.place[l->header]; i < m->cfg.n; i++) {
    uint32_t b = m->cfg.order[i];
    if (!ir_in_loop(&m->cfg, b, m->loop))
      continue;
    m->protected = false;
    for (ir_id id = m->r->blocks[b].first; id;) {
      const ir_node *n = ir_at(m->r, id);
      ir_id next = n->next;
      if (may_move(m, n))
        move(m, id);
      else if (ir_has_effect(n, IR_EXITS) && n->op != IR_OP_POLL)
        m->protected = true;
      id = next;
    }
  }
}

void ir_opt_loop(ir_region *r) {
  mover m = {.r = r};
  if (!ir_find_cfg(r, &m.cfg) || !ir_find_memory(r, &m.cfg, &m.mem))
    return;
  m.written = ir_alloc(r, m.mem.nclasses, 1);
  if (r->failed)
    return;
  for (m.loop = m.cfg.nloops; m.loop-- > 0;)
    move_out(&m);
}
