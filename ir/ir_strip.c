/* ir/ir_strip.c - long loops without polls, cut into strips.
 *
 * ir_bulk.c proves for a counted loop that its work stays below the limit, and takes the poll out
 * of its header.  What is left to see to is a cancel or a time limit.  The loop
 *
 *     before:  jump header
 *     header:  i = phi(from, i + 1);  if i < to: body, back to header;  else: after
 *
 * becomes
 *
 *     before:  jump strip
 *     strip:   i' = phi(from, i);  end = phi(near(from), near(i));  jump header
 *     header:  i = phi(i', i + 1);  if i < end: body, back to header;  else: more
 *     more:    if i < to: poll, jump strip;  else: after
 *
 * where near(i) is `to` or, where that is further away than a strip is long, i + a strip.  The poll
 * leaves with the state at the header.  That is the state of the round that has begun, where the
 * test comes before the body: what lies before the test is done again on the next strip, so there
 * must be no store among it.  Where the test comes last, it is the state of the next round, for
 * which what leads back to the header is computed behind the poll's branch as well.  A header with
 * neither kind of test gets its poll back.
 *
 * It comes after the passes that want to see a loop's true bound.
 */
#include "ir/ir_count.h"

typedef struct {
  ir_region *r;
  ir_cfg cfg;
  uint32_t header, before, test; /* blocks; test: leaves the loop unless below `to` */
  unsigned out;                  /* the successor of test that does */
  ir_count count;
  ir_id value; /* tested: the counting phi, or what was found from it on */
  uint32_t strip, more, again;
  uint32_t latch; /* test last: the block between it and the header; or IR_NO_BLOCK */
  uint32_t exit;  /* of the poll */
  ir_id *to;      /* test last: of each node of the latch and phi of the header, the next round's */
} strip;

static ir_id put(const strip *s, uint32_t block, ir_op op, ir_type type, unsigned n,
                 const ir_id *args) {
  ir_id id = ir_node_new(s->r, op, type, n, args);
  ir_at(s->r, id)->pc = s->r->blocks[s->header].pc;
  ir_node_append(s->r, block, id);
  return id;
}

static ir_id put2(const strip *s, uint32_t block, ir_op op, ir_id x, ir_id y) {
  return put(s, block, op, IR_NONE, 2, (ir_id[]){x, y});
}

static ir_id put_select(const strip *s, uint32_t block, ir_id cond, ir_id yes, ir_id no) {
  return put(s, block, IR_OP_SELECT, IR_I64, 3, (ir_id[]){cond, yes, no});
}

/* A prefetch stores nothing. */
static bool is_write(const ir_node *n) {
  return ir_has_effect(n, IR_CALLS) ||
         (ir_has_effect(n, IR_STORE) && ir_facts_of(n)->writes != IR_MEM_NONE);
}

/* Nothing up to the test stores or calls. */
static bool may_do_twice(const strip *s, uint32_t loop) {
  const ir_region *r = s->r;
  for (uint32_t i = s->cfg.place[s->header]; i <= s->cfg.place[s->test]; i++) {
    uint32_t block = s->cfg.order[i];
    if (!ir_in_loop(&s->cfg, block, loop))
      continue;
    for (ir_id id = r->blocks[block].first; id; id = ir_at(r, id)->next)
      if (is_write(ir_at(r, id)))
        return false;
  }
  return true;
}

/* ---- the test comes last: the state of the next round */

static ir_id next_of(const strip *s, ir_id id) { return s->to && s->to[id] ? s->to[id] : id; }

static bool is_header_phi(const strip *s, ir_id id) {
  return ir_at(s->r, id)->op == IR_OP_PHI && ir_at(s->r, id)->block == s->header;
}

/* Phis of the header and what does not change: what the next round's state can be made of. */
static bool is_known_next(const strip *s, uint32_t loop, ir_id id) {
  return is_header_phi(s, id) || !ir_in_loop(&s->cfg, ir_at(s->r, id)->block, loop);
}

/* Whether the test leads to the header by no more than a block of pure nodes. */
static bool is_test_last(strip *s, uint32_t loop) {
  const ir_region *r = s->r;
  uint32_t latch = r->blocks[s->test].succ[1 - s->out];
  const ir_block *b = &r->blocks[latch];
  const ir_exit *x = &r->exits[r->blocks[s->header].poll];
  if (latch == s->header || b->npreds != 1 || ir_at(r, b->last)->op != IR_OP_JUMP ||
      b->succ[0] != s->header)
    return false;
  for (ir_id id = b->first; id != b->last; id = ir_at(r, id)->next)
    if (ir_facts_of(ir_at(r, id))->effects != IR_PURE)
      return false;
  bool known = is_known_next(s, loop, x->work);
  for (uint32_t k = 0; k < x->nslots && known; k++)
    known = is_known_next(s, loop, x->slots[k].value);
  s->latch = known ? latch : IR_NO_BLOCK;
  return known;
}

static ir_id value_from(const strip *s, const ir_node *phi, uint32_t pred) {
  const ir_block *b = &s->r->blocks[s->header];
  for (uint32_t k = 0; k < b->npreds; k++)
    if (b->preds[k] == pred)
      return phi->arg[k];
  return 0;
}

static uint32_t next_exit(const strip *s) {
  ir_region *r = s->r;
  uint32_t old = r->blocks[s->header].poll, copy = ir_exit_new(r), n = r->exits[old].nslots;
  ir_slot *slots = ir_alloc(r, n, sizeof *slots);
  if (slots == NULL)
    return old;
  for (uint32_t k = 0; k < n; k++)
    slots[k] = (ir_slot){r->exits[old].slots[k].reg, next_of(s, r->exits[old].slots[k].value)};
  r->exits[copy] = r->exits[old];
  r->exits[copy].slots = slots;
  r->exits[copy].work = next_of(s, r->exits[old].work);
  return copy;
}

/* Computes in `again` what the latch does. */
static void put_next(strip *s) {
  ir_region *r = s->r;
  s->to = ir_alloc(r, r->nnodes, sizeof *s->to);
  if (s->to == NULL)
    return;
  for (ir_id id = r->blocks[s->latch].first; id != r->blocks[s->latch].last;
       id = ir_at(r, id)->next) {
    ir_id copy = ir_node_copy(r, id);
    for (unsigned k = 0; k < ir_at(r, copy)->nargs; k++)
      ir_at(r, copy)->arg[k] = next_of(s, ir_at(r, copy)->arg[k]);
    ir_node_append(r, s->again, copy);
    s->to[id] = copy;
  }
  for (ir_id id = r->blocks[s->header].first; is_header_phi(s, id); id = ir_at(r, id)->next)
    s->to[id] = next_of(s, value_from(s, ir_at(r, id), s->latch));
  s->exit = next_exit(s);
}

/* ---- the test comes first, or somewhere in between */

static bool is_in_exit(const ir_exit *x, ir_id id) {
  bool found = x->work == id;
  for (uint32_t k = 0; k < x->nslots && !found; k++)
    found = x->slots[k].value == id;
  return found;
}

/* Where the poll was taken out: behind the phis and what its exit needs. */
static ir_id place_of_poll(const strip *s, const ir_exit *x) {
  const ir_region *r = s->r;
  ir_id place = 0;
  for (ir_id id = r->blocks[s->header].first; id; id = ir_at(r, id)->next)
    if (ir_at(r, id)->op == IR_OP_PHI || is_in_exit(x, id))
      place = ir_at(r, id)->next;
  return place;
}

static void poll_each_round(const strip *s) {
  ir_region *r = s->r;
  const ir_exit *x = &r->exits[r->blocks[s->header].poll];
  ir_id at = place_of_poll(s, x);
  ir_id work = ir_node_new(r, IR_OP_ADD, IR_NONE, 2, (ir_id[]){x->work, ir_int(r, x->more)});
  ir_id poll = ir_node_new(r, IR_OP_POLL, IR_NONE, 1, &work);
  ir_at(r, work)->pc = ir_at(r, poll)->pc = r->blocks[s->header].pc;
  ir_at(r, poll)->exit = r->blocks[s->header].poll;
  ir_node_put_before(r, at, work);
  ir_node_put_before(r, at, poll);
}

/* `to` or a strip further on; `from` is known to be below `to`, or `below` says so. */
static ir_id put_near(const strip *s, uint32_t block, ir_id from, ir_id below) {
  ir_region *r = s->r;
  ir_id length = ir_int(r, r->blocks[s->header].every);
  ir_id left = put2(s, block, IR_OP_SUB, s->count.to, from);
  ir_id far = put2(s, block, IR_OP_ULT, length, left);
  if (below)
    far = put2(s, block, IR_OP_AND, below, far);
  ir_id end = put2(s, block, IR_OP_ADD, from, length);
  return put_select(s, block, far, end, s->count.to);
}

/* In `before`, ahead of its jump, which is put back by the caller. */
static ir_id first_end(const strip *s) {
  ir_op less = s->count.is_signed ? IR_OP_LT : IR_OP_ULT;
  ir_id below = put2(s, s->before, less, s->count.from, s->count.to);
  return put_near(s, s->before, s->count.from, below);
}

static void replace_pred(ir_region *r, uint32_t block, uint32_t from, uint32_t to) {
  for (uint32_t k = 0; k < r->blocks[block].npreds; k++)
    if (r->blocks[block].preds[k] == from)
      r->blocks[block].preds[k] = to;
}

static void set_value_from(const strip *s, ir_node *phi, uint32_t pred, ir_id value) {
  const ir_block *b = &s->r->blocks[s->header];
  for (uint32_t k = 0; k < b->npreds; k++)
    if (b->preds[k] == pred)
      phi->arg[k] = value;
}

/* The phis of the strip: as those of the header, from before and from the strip before. */
static void put_phis(const strip *s) {
  ir_region *r = s->r;
  for (ir_id id = r->blocks[s->header].first; id && ir_at(r, id)->op == IR_OP_PHI;
       id = ir_at(r, id)->next) {
    ir_node *n = ir_at(r, id);
    ir_id args[2] = {value_from(s, n, s->before), next_of(s, id)};
    set_value_from(s, n, s->before, put(s, s->strip, IR_OP_PHI, (ir_type)n->type, 2, args));
  }
}

/* The header's test, against another bound. */
static ir_id put_test(const strip *s, uint32_t block, ir_id bound) {
  const ir_node *n = ir_at(s->r, ir_at(s->r, s->r->blocks[s->test].last)->arg[0]);
  ir_id x = n->arg[0] == s->value ? n->arg[0] : bound,
        y = n->arg[0] == s->value ? bound : n->arg[1];
  return put2(s, block, (ir_op)n->op, x, y);
}

static void make_blocks(strip *s) {
  ir_region *r = s->r;
  uint32_t *all[] = {&s->strip, &s->more, &s->again};
  bool cold = r->blocks[s->header].cold;
  for (unsigned k = 0; k < 3; k++) {
    *all[k] = ir_block_new(r);
    r->blocks[*all[k]].pc = r->blocks[s->header].pc;
    r->blocks[*all[k]].cold = cold;
  }
}

/* test -> more -> again -> strip -> header; more -> where test led. */
static void put_flow(const strip *s, ir_id end) {
  ir_region *r = s->r;
  uint32_t after = r->blocks[s->test].succ[s->out];
  ir_id bounded = put_test(s, s->more, s->count.to);
  ir_id branch = r->blocks[s->test].last, test = put_test(s, s->more, end);
  ir_node_take(r, test);
  ir_node_put_before(r, branch, test);
  ir_at(r, branch)->arg[0] = test;
  r->blocks[s->test].succ[s->out] = s->more;
  ir_block_add_pred(r, s->more, s->test);
  put(s, s->more, IR_OP_BRANCH, IR_NONE, 1, &bounded);
  r->blocks[s->more].succ[s->out] = after;
  r->blocks[s->more].succ[1 - s->out] = s->again;
  replace_pred(r, after, s->test, s->more);
  ir_block_add_pred(r, s->again, s->more);
}

static void put_poll(const strip *s) {
  ir_region *r = s->r;
  const ir_exit *x = &r->exits[s->exit];
  ir_id work = put2(s, s->again, IR_OP_ADD, x->work, ir_int(r, x->more));
  ir_id poll = put(s, s->again, IR_OP_POLL, IR_NONE, 1, &work);
  ir_at(r, poll)->exit = s->exit;
}

static void cut(strip *s) {
  ir_region *r = s->r;
  make_blocks(s);
  if (r->failed)
    return;
  ir_node_remove(r, r->blocks[s->before].last);
  ir_id first = first_end(s);
  s->exit = r->blocks[s->header].poll;
  if (s->latch != IR_NO_BLOCK)
    put_next(s);
  put_poll(s);
  ir_id next = put_near(s, s->again, s->value, 0);
  ir_block_add_pred(r, s->strip, s->before);
  ir_block_add_pred(r, s->strip, s->again);
  put_phis(s);
  ir_id end = put(s, s->strip, IR_OP_PHI, IR_I64, 2, (ir_id[]){first, next});
  replace_pred(r, s->header, s->before, s->strip);
  put(s, s->strip, IR_OP_JUMP, IR_NONE, 0, NULL);
  r->blocks[s->strip].succ[0] = s->header;
  put(s, s->before, IR_OP_JUMP, IR_NONE, 0, NULL);
  r->blocks[s->before].succ[0] = s->strip;
  put_flow(s, end);
  put(s, s->again, IR_OP_JUMP, IR_NONE, 0, NULL);
  r->blocks[s->again].succ[0] = s->strip;
}

static bool find_test(strip *s, uint32_t loop) {
  const ir_region *r = s->r;
  if (s->cfg.loops[loop].before == IR_NO_BLOCK || !ir_find_count(r, &s->cfg, loop, &s->count))
    return false;
  s->before = s->cfg.loops[loop].before;
  s->test = s->count.test;
  s->value = s->count.tested;
  s->out = ir_in_loop(&s->cfg, r->blocks[s->test].succ[0], loop) ? 1 : 0;
  return is_test_last(s, loop) || may_do_twice(s, loop);
}

static void do_loop(ir_region *r, uint32_t header) {
  strip s = {.r = r, .header = header, .latch = IR_NO_BLOCK};
  uint32_t loop = 0;
  if (!ir_find_cfg(r, &s.cfg))
    return;
  while (loop < s.cfg.nloops && s.cfg.loops[loop].header != header)
    loop++;
  if (loop == s.cfg.nloops)
    return;
  if (find_test(&s, loop))
    cut(&s);
  else
    poll_each_round(&s);
}

void ir_opt_strip(ir_region *r) {
  for (uint32_t b = 0; b < r->nblocks && !r->failed; b++) {
    if (r->blocks[b].gone || r->blocks[b].poll == IR_NO_EXIT)
      continue;
    do_loop(r, b);
    r->blocks[b].poll = IR_NO_EXIT;
  }
}
