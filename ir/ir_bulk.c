/* ir/ir_bulk.c - checks for a whole loop at once, before it.
 *
 * Of an innermost loop that is counted, the most rounds it can take is known before it.  Then
 *   - one poll of the work that all rounds together can cost replaces the poll in each; ir_strip.c
 *     sees to it that a cancel is noticed nevertheless;
 *   - sums that the loop makes of bounded values cannot overflow if the largest and the smallest
 *     possible sum do not, which is tested once;
 *   - what is computed from the counting value and from what does not change cannot overflow in
 *     between if it does not at the first and the last count.
 * Where such a test fails, the landing leaves: the interpreter runs that loop, and does it right.
 */
#include "ir/ir_count.h"

#define MAX_ROUNDS (INT64_C(1) << 40)
#define MAX_CHAIN 64
#define STRIP_WORK (INT64_C(1) << 22) /* between two polls: a few milliseconds */

typedef struct {
  ir_region *r;
  ir_cfg cfg;
  ir_ranges ranges;
  uint32_t loop;
  ir_count count;
  uint32_t before, landing;
  ir_id rounds; /* most headers: made when first needed */
} bulk;

static ir_id make(bulk *b, ir_op op, unsigned n, const ir_id *args) {
  ir_type type = op == IR_OP_SELECT ? (ir_type)ir_at(b->r, args[1])->type : IR_NONE;
  ir_id id = ir_node_new(b->r, op, type, n, args);
  ir_node *node = ir_at(b->r, id);
  if (ir_facts_of(node)->attributes & IR_HAS_EXIT)
    node->exit = b->landing;
  node->pc = b->r->blocks[b->cfg.loops[b->loop].header].pc;
  ir_node_put_before(b->r, b->r->blocks[b->before].last, id);
  return id;
}

static ir_id make2(bulk *b, ir_op op, ir_id x, ir_id y) { return make(b, op, 2, (ir_id[]){x, y}); }

/* to - from where from is below to, else 0; and one or two more, for the last header. */
static ir_id rounds_of(bulk *b) {
  if (b->rounds)
    return b->rounds;
  const ir_count *c = &b->count;
  ir_bounds from = ir_bounds_after(&b->ranges, c->from, b->before);
  ir_bounds to = ir_bounds_after(&b->ranges, c->to, b->before);
  ir_id below = make2(b, c->is_signed ? IR_OP_LT : IR_OP_ULT, c->from, c->to);
  ir_id diff = make2(b, IR_OP_SUB, c->to, c->from);
  ir_id most = make(b, IR_OP_SELECT, 3, (ir_id[]){below, diff, ir_int(b->r, 0)});
  bool small = to.lo >= 0 && to.hi <= MAX_ROUNDS && (!c->is_signed || from.lo >= 0);
  if (!small) {
    ir_id fine = make2(b, IR_OP_ULE, most, ir_int(b->r, MAX_ROUNDS));
    make(b, IR_OP_GUARD, 1, &fine);
  }
  b->rounds = make2(b, IR_OP_ADDN, most, ir_int(b->r, 1 + c->or_equal));
  return b->rounds;
}

/* ---- work */

/* Most that can be added to the phi on the way to `id`; -1: not known. */
static int64_t most_added(const bulk *b, ir_id id, ir_id phi, unsigned depth) {
  const ir_node *n = ir_at(b->r, id);
  if (id == phi)
    return 0;
  if (depth == MAX_CHAIN || !ir_in_loop(&b->cfg, n->block, b->loop))
    return -1;
  if (n->op == IR_OP_ADD && ir_at(b->r, n->arg[1])->op == IR_OP_INT) {
    int64_t c = ir_at(b->r, n->arg[1])->imm, up = most_added(b, n->arg[0], phi, depth + 1);
    return up < 0 || c < 0 || c > INT32_MAX ? -1 : up + c;
  }
  if (n->op != IR_OP_PHI || n->block == ir_at(b->r, phi)->block)
    return -1;
  int64_t most = 0;
  for (unsigned k = 0; k < n->nargs; k++) {
    int64_t up = most_added(b, n->arg[k], phi, depth + 1);
    if (up < 0)
      return -1;
    if (up > most)
      most = up;
  }
  return most;
}

static int64_t most_a_round(const bulk *b, ir_id phi, ir_id *from) {
  const ir_node *n = ir_at(b->r, phi);
  const ir_block *h = &b->r->blocks[n->block];
  int64_t most = 0;
  for (unsigned k = 0; k < n->nargs; k++) {
    if (!ir_in_loop(&b->cfg, h->preds[k], b->loop)) {
      *from = n->arg[k];
      continue;
    }
    int64_t added = most_added(b, n->arg[k], phi, 0);
    if (added < 0)
      return -1;
    if (added > most)
      most = added;
  }
  return most;
}

/* poll of phi + constant in the header. */
static void poll_once(bulk *b, ir_id poll) {
  const ir_node *n = ir_at(b->r, ir_at(b->r, poll)->arg[0]);
  ir_id phi = ir_at(b->r, poll)->arg[0], from = 0;
  int64_t more = 0;
  if (n->op == IR_OP_ADD && ir_at(b->r, n->arg[1])->op == IR_OP_INT) {
    more = ir_at(b->r, n->arg[1])->imm;
    phi = n->arg[0];
  }
  const ir_node *p = ir_at(b->r, phi);
  if (p->op != IR_OP_PHI || p->block != b->cfg.loops[b->loop].header)
    return;
  int64_t most = most_a_round(b, phi, &from);
  if (most < 0 || from == 0)
    return;
  ir_id cost = make2(b, IR_OP_MULN, rounds_of(b), ir_int(b->r, most));
  ir_id sum = make2(b, IR_OP_ADD, make2(b, IR_OP_ADD, from, cost), ir_int(b->r, more));
  make(b, IR_OP_POLL, 1, &sum);
  ir_block *header = &b->r->blocks[p->block];
  header->poll = ir_at(b->r, poll)->exit;
  int64_t strip = b->r->strip ? b->r->strip : STRIP_WORK;
  header->every = (uint32_t)(most < strip ? strip / (most ? most : 1) : 1);
  ir_node_remove(b->r, poll);
}

static void poll_all(bulk *b) {
  uint32_t header = b->cfg.loops[b->loop].header;
  for (ir_id id = b->r->blocks[header].first; id;) {
    ir_id next = ir_at(b->r, id)->next;
    if (ir_at(b->r, id)->op == IR_OP_POLL)
      poll_once(b, id);
    id = next;
  }
}

/* ---- sums */

typedef struct {
  ir_id phi;
  ir_id node[MAX_CHAIN]; /* additions on the way, checked ones among them */
  unsigned n;
  bool checked;
} chain;

typedef struct {
  bool fine;
  int64_t lo, hi; /* what is added on the way */
} sum;

static sum combine(const bulk *b, chain *c, ir_id id, unsigned depth);

/* node = sum so far + value (or - value). */
static sum add_term(const bulk *b, chain *c, ir_id id, unsigned depth) {
  const ir_node *n = ir_at(b->r, id);
  bool minus = n->op == IR_OP_SUBX || n->op == IR_OP_SUBN;
  sum none = {false, 0, 0};
  for (unsigned k = 0; k < (minus ? 1u : 2u); k++) {
    sum up = combine(b, c, n->arg[k], depth + 1);
    if (!up.fine)
      continue;
    ir_bounds x = ir_bounds_at(&b->ranges, n->arg[1 - k], id);
    if (x.lo > x.hi || x.lo < -(INT64_C(1) << 52) || x.hi > INT64_C(1) << 52)
      return none;
    if (up.lo < -(INT64_C(1) << 60) || up.hi > INT64_C(1) << 60 || c->n == MAX_CHAIN)
      return none;
    c->node[c->n++] = id;
    c->checked |= n->op == IR_OP_ADDX || n->op == IR_OP_SUBX;
    /* What lies in between must not overflow either: each term counts in its direction only. */
    int64_t lo = minus ? -x.hi : x.lo, hi = minus ? -x.lo : x.hi;
    return (sum){true, up.lo + (lo < 0 ? lo : 0), up.hi + (hi > 0 ? hi : 0)};
  }
  return none;
}

static sum combine(const bulk *b, chain *c, ir_id id, unsigned depth) {
  const ir_node *n = ir_at(b->r, id);
  sum all = {true, 0, 0};
  if (id == c->phi)
    return all;
  if (depth == 16 || !ir_in_loop(&b->cfg, n->block, b->loop))
    return (sum){false, 0, 0};
  switch ((int)n->op) {
  case IR_OP_ADDX:
  case IR_OP_SUBX:
  case IR_OP_ADDN:
  case IR_OP_SUBN:
    return add_term(b, c, id, depth);
  case IR_OP_PHI:
    if (n->block == ir_at(b->r, c->phi)->block)
      return (sum){false, 0, 0};
    for (unsigned k = 0; k < n->nargs; k++) {
      sum up = combine(b, c, n->arg[k], depth + 1);
      if (!up.fine)
        return up;
      if (up.lo < all.lo)
        all.lo = up.lo;
      if (up.hi > all.hi)
        all.hi = up.hi;
    }
    return all;
  default:
    return (sum){false, 0, 0};
  }
}

/* from + rounds * change must not overflow. */
static void test_end(bulk *b, ir_id from, int64_t change) {
  if (change == 0)
    return;
  ir_id all = make2(b, IR_OP_MULX, rounds_of(b), ir_int(b->r, change));
  make2(b, IR_OP_ADDX, from, all);
}

static void sum_once(bulk *b, ir_id phi) {
  const ir_node *n = ir_at(b->r, phi);
  const ir_block *h = &b->r->blocks[n->block];
  chain c = {.phi = phi};
  sum all = {true, 0, 0};
  ir_id from = 0;
  for (unsigned k = 0; k < n->nargs && all.fine; k++) {
    if (!ir_in_loop(&b->cfg, h->preds[k], b->loop)) {
      from = n->arg[k];
      continue;
    }
    sum up = combine(b, &c, n->arg[k], 0);
    all.fine = up.fine;
    if (up.lo < all.lo)
      all.lo = up.lo;
    if (up.hi > all.hi)
      all.hi = up.hi;
  }
  if (!all.fine || !c.checked || from == 0)
    return;
  test_end(b, from, all.lo);
  test_end(b, from, all.hi);
  for (unsigned k = 0; k < c.n; k++) {
    ir_node *add = ir_at(b->r, c.node[k]);
    if (add->op == IR_OP_ADDX)
      add->op = IR_OP_ADDN;
    if (add->op == IR_OP_SUBX)
      add->op = IR_OP_SUBN;
    add->exit = IR_NO_EXIT;
  }
}

/* ---- the counting value's ends */

static bool is_end(const bulk *b, ir_id id) {
  return id == b->count.phi || !ir_in_loop(&b->cfg, ir_at(b->r, id)->block, b->loop);
}

/* The operation with the count at one end. */
static void test_at(bulk *b, const ir_node *n, ir_id count) {
  ir_id x = n->arg[0] == b->count.phi ? count : n->arg[0];
  ir_id y = n->arg[1] == b->count.phi ? count : n->arg[1];
  make2(b, (ir_op)n->op, x, y);
}

/* phi * phi is largest at the ends too; phi - phi is 0 and needs no test. */
static void ends_once(bulk *b, ir_id id) {
  ir_node *n = ir_at(b->r, id);
  ir_op plain = n->op == IR_OP_ADDX   ? IR_OP_ADDN
                : n->op == IR_OP_SUBX ? IR_OP_SUBN
                : n->op == IR_OP_MULX ? IR_OP_MULN
                                      : IR_NOPS;
  if (plain == IR_NOPS || b->r->blocks[n->block].cold)
    return;
  if (!is_end(b, n->arg[0]) || !is_end(b, n->arg[1]))
    return;
  if (n->arg[0] != b->count.phi && n->arg[1] != b->count.phi)
    return;
  test_at(b, n, b->count.from);
  test_at(b, n, b->count.to);
  n->op = (uint8_t)plain;
  n->exit = IR_NO_EXIT;
}

static void ends_all(bulk *b) {
  if (!b->count.by_one || !b->count.is_signed)
    return;
  for (uint32_t i = 0; i < b->cfg.n; i++) {
    uint32_t block = b->cfg.order[i];
    if (!ir_in_loop(&b->cfg, block, b->loop))
      continue;
    for (ir_id id = b->r->blocks[block].first; id;) {
      ir_id next = ir_at(b->r, id)->next;
      ends_once(b, id);
      id = next;
    }
  }
}

static void do_loop(bulk *b) {
  const ir_loop *l = &b->cfg.loops[b->loop];
  if (!l->innermost || l->before == IR_NO_BLOCK)
    return;
  b->before = l->before;
  b->landing = b->r->blocks[l->before].landing;
  b->rounds = 0;
  if (b->landing == IR_NO_EXIT || !ir_find_count(b->r, &b->cfg, b->loop, &b->count))
    return;
  poll_all(b);
  ends_all(b);
  for (ir_id id = b->r->blocks[l->header].first; id && ir_at(b->r, id)->op == IR_OP_PHI;
       id = ir_at(b->r, id)->next)
    if (id != b->count.phi && ir_at(b->r, id)->type == IR_I64)
      sum_once(b, id);
}

void ir_opt_bulk(ir_region *r) {
  bulk b = {.r = r};
  if (!ir_find_cfg(r, &b.cfg) || !ir_find_ranges(r, &b.cfg, &b.ranges))
    return;
  for (b.loop = 0; b.loop < b.cfg.nloops && !r->failed; b.loop++)
    do_loop(&b);
}
