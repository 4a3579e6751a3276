/* ir/ir_range.c - bounds of ints: from constants, widths of cells, counts, comparisons on the way,
 * and counting in loops.
 *
 * Values get intervals in rounds over the blocks in order, from nothing upwards; a loop's phi that
 * keeps growing is given more than it asks for, so that the rounds end.  Then two rounds downwards
 * take back what was given too much.  Comparisons are applied where a value is used.
 */
#include "ir/ir_range.h"

#define FULL ((ir_bounds){INT64_MIN, INT64_MAX})
#define NOTHING ((ir_bounds){INT64_MAX, INT64_MIN})
#define MAX_FACTS 16 /* looked at for one use */

static bool is_nothing(ir_bounds b) { return b.lo > b.hi; }
static int64_t least(int64_t x, int64_t y) { return x < y ? x : y; }
static int64_t most(int64_t x, int64_t y) { return x > y ? x : y; }

static ir_bounds either(ir_bounds a, ir_bounds b) {
  return (ir_bounds){least(a.lo, b.lo), most(a.hi, b.hi)};
}

static ir_bounds both(ir_bounds a, ir_bounds b) {
  return (ir_bounds){most(a.lo, b.lo), least(a.hi, b.hi)};
}

/* ---- what a comparison says */

/* x when x < y (or x <= y) holds. */
static ir_bounds below(ir_bounds x, ir_bounds y, bool or_equal) {
  if (is_nothing(y))
    return x;
  if (!or_equal && y.hi == INT64_MIN)
    return NOTHING;
  return both(x, (ir_bounds){INT64_MIN, or_equal ? y.hi : y.hi - 1});
}

static ir_bounds above(ir_bounds x, ir_bounds y, bool or_equal) {
  if (is_nothing(y))
    return x;
  if (!or_equal && y.lo == INT64_MAX)
    return NOTHING;
  return both(x, (ir_bounds){or_equal ? y.lo : y.lo + 1, INT64_MAX});
}

/* Unsigned: where y is not negative, x below it is not either. */
static ir_bounds below_unsigned(ir_bounds x, ir_bounds y, bool or_equal) {
  if (y.lo < 0)
    return x;
  return both(below(x, y, or_equal), (ir_bounds){0, INT64_MAX});
}

static ir_bounds above_unsigned(ir_bounds x, ir_bounds y, bool or_equal) {
  return x.lo >= 0 && y.lo >= 0 ? above(x, y, or_equal) : x;
}

static ir_bounds not_equal(ir_bounds x, ir_bounds y) {
  if (y.lo != y.hi || is_nothing(x))
    return x;
  if (x.lo == y.lo && x.lo != INT64_MAX)
    x.lo++;
  if (x.hi == y.lo && x.hi != INT64_MIN)
    x.hi--;
  return x;
}

/* first: the value is the comparison's first argument, y the other. */
static ir_bounds compared(ir_op op, bool truth, bool first, ir_bounds x, ir_bounds y) {
  bool less = first == truth; /* what is left is x below y */
  switch (op) {
  case IR_OP_EQ:
  case IR_OP_NE:
    return (op == IR_OP_EQ) == truth ? both(x, y) : not_equal(x, y);
  case IR_OP_LT:
  case IR_OP_LE: {
    bool or_equal = (op == IR_OP_LE) == truth;
    return less ? below(x, y, or_equal) : above(x, y, or_equal);
  }
  case IR_OP_ULT:
  case IR_OP_ULE: {
    bool or_equal = (op == IR_OP_ULE) == truth;
    return less ? below_unsigned(x, y, or_equal) : above_unsigned(x, y, or_equal);
  }
  default:
    return x;
  }
}

static ir_bounds apply(const ir_ranges *g, ir_id value, ir_id cond, bool truth, ir_bounds x) {
  const ir_node *n = ir_at(g->r, cond);
  while (n->op == IR_OP_NOT) {
    truth = !truth;
    n = ir_at(g->r, n->arg[0]);
  }
  if (n->op < IR_OP_EQ || n->op > IR_OP_ULE)
    return x;
  bool first = n->arg[0] == value;
  return compared((ir_op)n->op, truth, first, x, g->of[n->arg[first ? 1 : 0]]);
}

static ir_bounds refine(const ir_ranges *g, ir_id value, uint32_t block, uint32_t place) {
  ir_bounds x = g->of[value];
  unsigned n = 0;
  for (uint32_t at = g->head[value]; at && n < MAX_FACTS; at = g->facts[at - 1].next) {
    const ir_range_fact *f = &g->facts[at - 1];
    bool holds = f->block == block ? f->place < place : ir_dominates(g->cfg, f->block, block);
    if (!holds)
      continue;
    x = apply(g, value, f->cond, f->truth, x);
    n++;
  }
  return x;
}

ir_bounds ir_bounds_at(const ir_ranges *g, ir_id value, ir_id node) {
  return refine(g, value, ir_at(g->r, node)->block, g->place[node]);
}

ir_bounds ir_bounds_after(const ir_ranges *g, ir_id value, uint32_t block) {
  return refine(g, value, block, UINT32_MAX);
}

static void learn_about(ir_ranges *g, ir_id value, ir_range_fact f) {
  if (g->nfacts == g->cap || ir_is_const(ir_at(g->r, value)))
    return;
  f.next = g->head[value];
  g->facts[g->nfacts] = f;
  g->head[value] = ++g->nfacts;
}

static void learn(ir_ranges *g, ir_id cond, bool truth, uint32_t block, uint32_t place) {
  const ir_node *n = ir_at(g->r, cond);
  while (n->op == IR_OP_NOT)
    n = ir_at(g->r, n->arg[0]);
  if (n->op < IR_OP_EQ || n->op > IR_OP_ULE)
    return;
  for (unsigned k = 0; k < 2; k++)
    learn_about(g, n->arg[k], (ir_range_fact){cond, truth, block, place, 0});
}

static void find_facts(ir_ranges *g) {
  const ir_region *r = g->r;
  for (uint32_t i = 0; i < g->cfg->n; i++) {
    uint32_t block = g->cfg->order[i], place = 0;
    const ir_block *b = &r->blocks[block];
    if (b->npreds == 1) {
      const ir_block *up = &r->blocks[b->preds[0]];
      const ir_node *last = ir_at(r, up->last);
      if (last->op == IR_OP_BRANCH && up->succ[0] != up->succ[1])
        learn(g, last->arg[0], up->succ[0] == block, block, 0);
    }
    for (ir_id id = b->first; id; id = ir_at(r, id)->next) {
      g->place[id] = ++place;
      if (ir_at(r, id)->op == IR_OP_GUARD)
        learn(g, ir_at(r, id)->arg[0], true, block, place);
    }
  }
}

/* ---- what an operation gives */

typedef __int128 wide;

static ir_bounds clamp(wide lo, wide hi) {
  ir_bounds b = {lo < INT64_MIN ? INT64_MIN : (int64_t)lo,
                 hi > INT64_MAX ? INT64_MAX : (int64_t)hi};
  return b;
}

static bool fits(wide lo, wide hi) { return lo >= INT64_MIN && hi <= INT64_MAX; }

static void product(ir_bounds x, ir_bounds y, wide *lo, wide *hi) {
  wide p[4] = {(wide)x.lo * y.lo, (wide)x.lo * y.hi, (wide)x.hi * y.lo, (wide)x.hi * y.hi};
  *lo = *hi = p[0];
  for (unsigned k = 1; k < 4; k++) {
    if (p[k] < *lo)
      *lo = p[k];
    if (p[k] > *hi)
      *hi = p[k];
  }
}

static ir_bounds sum_or_product(ir_op op, ir_bounds x, ir_bounds y) {
  wide lo, hi;
  bool wraps = op == IR_OP_ADD || op == IR_OP_SUB || op == IR_OP_MUL;
  if (op == IR_OP_ADD || op == IR_OP_ADDN || op == IR_OP_ADDX) {
    lo = (wide)x.lo + y.lo;
    hi = (wide)x.hi + y.hi;
  } else if (op == IR_OP_SUB || op == IR_OP_SUBN || op == IR_OP_SUBX) {
    lo = (wide)x.lo - y.hi;
    hi = (wide)x.hi - y.lo;
  } else {
    product(x, y, &lo, &hi);
  }
  return wraps && !fits(lo, hi) ? FULL : clamp(lo, hi);
}

static ir_bounds quotient(ir_bounds x, ir_bounds y) {
  if (y.lo < 1)
    return FULL;
  int64_t lo = x.lo < 0 ? x.lo / y.lo : x.lo / y.hi, hi = x.hi < 0 ? x.hi / y.hi : x.hi / y.lo;
  return (ir_bounds){lo, hi};
}

static ir_bounds remainder_of(ir_bounds x, ir_bounds y) {
  if (y.lo == INT64_MIN)
    return FULL;
  int64_t far = most(y.lo < 0 ? -y.lo : y.lo, y.hi < 0 ? -y.hi : y.hi) - 1;
  if (far < 0)
    far = 0;
  ir_bounds b = {x.lo >= 0 ? 0 : most(-far, x.lo), x.hi <= 0 ? 0 : least(far, x.hi)};
  return b;
}

/* All ones up to the highest bit of v, v >= 0. */
static int64_t ones(int64_t v) {
  return v == 0 ? 0 : (int64_t)(UINT64_MAX >> __builtin_clzll((uint64_t)v));
}

static ir_bounds bits(ir_op op, ir_bounds x, ir_bounds y) {
  if (op == IR_OP_BAND) {
    if (x.lo < 0 && y.lo < 0)
      return FULL;
    return (ir_bounds){0, x.lo < 0 ? y.hi : y.lo < 0 ? x.hi : least(x.hi, y.hi)};
  }
  if (op == IR_OP_BOR)
    return x.lo >= 0 && y.lo >= 0 ? (ir_bounds){most(x.lo, y.lo), ones(x.hi | y.hi)} : FULL;
  if (y.lo != y.hi || y.lo < 0 || y.lo > 63)
    return FULL;
  if (op == IR_OP_SHR) {
    if (x.lo >= 0)
      return (ir_bounds){x.lo >> y.lo, x.hi >> y.lo};
    return y.lo ? (ir_bounds){0, (int64_t)(UINT64_MAX >> y.lo)} : x;
  }
  wide lo = (wide)x.lo * ((wide)1 << y.lo), hi = (wide)x.hi * ((wide)1 << y.lo);
  return fits(lo, hi) ? clamp(lo, hi) : FULL;
}

static ir_bounds of_cell(const ir_region *r, const ir_node *n) {
  ls_type type = (ls_type)r->lists[n->list].types[n->col];
  if (n->width < 3)
    return (ir_bounds){0, (INT64_C(1) << (8u << n->width)) - 1};
  if (type == LS_DATE)
    return (ir_bounds){0, LS_DATE_MAX};
  if (type == LS_TEXT)
    return (ir_bounds){0, UINT32_MAX};
  return type == LS_BOOL ? (ir_bounds){0, 1} : FULL;
}

static ir_bounds of_builtin(const ir_node *n) {
  switch ((int)n->imm) {
  case VM_BIF_YEAR:
    return (ir_bounds){1, 9999};
  case VM_BIF_MONTH:
    return (ir_bounds){1, 12};
  case VM_BIF_DAY:
    return (ir_bounds){1, 31};
  case VM_BIF_WEEKDAY:
    return (ir_bounds){1, 7};
  case VM_BIF_DATE_YMD:
    return (ir_bounds){0, LS_DATE_MAX};
  default:
    return FULL;
  }
}

/* Positions and cells: what memory can hold stays far below 2^62. */
static ir_bounds of_list(const ir_region *r, const ir_node *n) {
  switch ((int)n->op) {
  case IR_OP_COUNT:
  case IR_OP_ROOM:
    return (ir_bounds){0, LS_MAX_ROWS};
  case IR_OP_VERSION:
    return (ir_bounds){0, INT64_MAX};
  case IR_OP_CAP:
  case IR_OP_BUCKETS:
    return (ir_bounds){0, INT64_C(1) << 62};
  case IR_OP_OFFSET:
  case IR_OP_DIRAT:
    return (ir_bounds){0, UINT32_MAX};
  case IR_OP_CELL:
    return of_cell(r, n);
  default:
    return FULL;
  }
}

static ir_bounds of_phi(const ir_ranges *g, const ir_node *n) {
  const ir_block *b = &g->r->blocks[n->block];
  ir_bounds x = NOTHING;
  for (unsigned k = 0; k < n->nargs; k++) {
    uint32_t pred = b->preds[k];
    ir_bounds y = ir_bounds_after(g, n->arg[k], pred);
    const ir_block *up = &g->r->blocks[pred];
    const ir_node *last = ir_at(g->r, up->last);
    if (last->op == IR_OP_BRANCH && up->succ[0] != up->succ[1]) {
      const ir_node *c = ir_at(g->r, last->arg[0]);
      if (c->nargs == 2 && (c->arg[0] == n->arg[k] || c->arg[1] == n->arg[k]))
        y = apply(g, n->arg[k], last->arg[0], up->succ[0] == n->block, y);
    }
    if (!is_nothing(y))
      x = either(x, y);
  }
  return x;
}

static ir_bounds of_two(ir_op op, ir_bounds x, ir_bounds y) {
  if (is_nothing(x) || is_nothing(y))
    return NOTHING;
  switch (op) {
  case IR_OP_DIV:
  case IR_OP_DIVX:
    return quotient(x, y);
  case IR_OP_REM:
  case IR_OP_REMX:
    return remainder_of(x, y);
  case IR_OP_MIN:
    return (ir_bounds){least(x.lo, y.lo), least(x.hi, y.hi)};
  case IR_OP_MAX:
    return (ir_bounds){most(x.lo, y.lo), most(x.hi, y.hi)};
  case IR_OP_UMIN:
    if (x.lo >= 0 && y.lo >= 0)
      return (ir_bounds){least(x.lo, y.lo), least(x.hi, y.hi)};
    return x.lo >= 0 || y.lo >= 0 ? (ir_bounds){0, x.lo >= 0 ? x.hi : y.hi} : FULL;
  case IR_OP_DADDX:
    return (ir_bounds){0, LS_DATE_MAX};
  case IR_OP_BAND:
  case IR_OP_BOR:
  case IR_OP_SHL:
  case IR_OP_SHR:
    return bits(op, x, y);
  default:
    return sum_or_product(op, x, y);
  }
}

static ir_bounds of_two_at(const ir_ranges *g, ir_id id, const ir_node *n) {
  ir_bounds x = ir_bounds_at(g, n->arg[0], id), y = ir_bounds_at(g, n->arg[1], id);
  ir_bounds b = of_two((ir_op)n->op, x, y);
  bool square = n->arg[0] == n->arg[1] && (n->op == IR_OP_MULN || n->op == IR_OP_MULX);
  return square ? both(b, (ir_bounds){0, INT64_MAX}) : b;
}

/* Both searches give a position between two others, or the second. */
static ir_bounds of_search(const ir_ranges *g, ir_id id, const ir_node *n) {
  ir_bounds from = ir_bounds_at(g, n->arg[1], id), to = ir_bounds_at(g, n->arg[2], id);
  return from.lo >= 0 && to.lo >= 0 ? (ir_bounds){least(from.lo, to.lo), to.hi} : FULL;
}

/* y - x where x is below y (unsigned, y not negative), else 0: at most y. */
static ir_bounds of_select(const ir_ranges *g, ir_id id, const ir_node *n) {
  const ir_node *c = ir_at(g->r, n->arg[0]), *d = ir_at(g->r, n->arg[1]);
  ir_bounds x = ir_bounds_at(g, n->arg[1], id);
  if (c->op == IR_OP_ULT && (d->op == IR_OP_SUB || d->op == IR_OP_SUBN) && d->arg[0] == c->arg[1] &&
      d->arg[1] == c->arg[0]) {
    ir_bounds y = ir_bounds_at(g, c->arg[1], id);
    if (y.lo >= 0)
      x = both(x, (ir_bounds){0, y.hi});
  }
  return either(x, ir_bounds_at(g, n->arg[2], id));
}

static ir_bounds of_node(const ir_ranges *g, ir_id id) {
  const ir_node *n = ir_at(g->r, id);
  if (n->op >= IR_OP_ADD && n->op <= IR_OP_DADDX)
    return of_two_at(g, id, n);
  switch ((int)n->op) {
  case IR_OP_INT:
    return (ir_bounds){n->imm, n->imm};
  case IR_OP_BTOI:
    return (ir_bounds){0, 1};
  case IR_OP_KONST:
    return (ir_bounds){0, UINT32_MAX};
  case IR_OP_PHI:
    return of_phi(g, n);
  case IR_OP_SELECT:
    return of_select(g, id, n);
  case IR_OP_BIF:
  case IR_OP_BIFX:
    return of_builtin(n);
  case IR_OP_NEXTBIT:
  case IR_OP_LOWER:
  case IR_OP_UPPER:
    return of_search(g, id, n);
  default:
    return of_list(g->r, n);
  }
}

/* ---- rounds */

static ir_bounds widen(ir_bounds old, ir_bounds now, unsigned round) {
  if (round < 3 || is_nothing(old))
    return now;
  bool far = round > 5;
  if (now.lo < old.lo)
    now.lo = !far && now.lo >= 0 ? 0 : INT64_MIN;
  if (now.hi > old.hi)
    now.hi = !far && now.hi <= UINT32_MAX ? UINT32_MAX : INT64_MAX;
  return now;
}

static bool upwards(ir_ranges *g, unsigned round) {
  bool changed = false;
  for (uint32_t i = 0; i < g->cfg->n; i++)
    for (ir_id id = g->r->blocks[g->cfg->order[i]].first; id; id = ir_at(g->r, id)->next) {
      const ir_node *n = ir_at(g->r, id);
      if (n->type != IR_I64)
        continue;
      ir_bounds old = g->of[id], now = either(old, of_node(g, id));
      if (n->op == IR_OP_PHI)
        now = widen(old, now, round);
      if (old.lo == now.lo && old.hi == now.hi)
        continue;
      g->of[id] = now;
      changed = true;
    }
  return changed;
}

static void downwards(ir_ranges *g) {
  for (uint32_t i = 0; i < g->cfg->n; i++)
    for (ir_id id = g->r->blocks[g->cfg->order[i]].first; id; id = ir_at(g->r, id)->next)
      if (ir_at(g->r, id)->type == IR_I64)
        g->of[id] = both(g->of[id], of_node(g, id));
}

bool ir_find_ranges(ir_region *r, const ir_cfg *c, ir_ranges *g) {
  *g = (ir_ranges){.r = r, .cfg = c, .cap = 2 * (r->nnodes + r->nblocks)};
  g->of = ir_alloc(r, r->nnodes, sizeof *g->of);
  g->place = ir_alloc(r, r->nnodes, sizeof *g->place);
  g->head = ir_alloc(r, r->nnodes, sizeof *g->head);
  g->facts = ir_alloc(r, g->cap, sizeof *g->facts);
  if (r->failed)
    return false;
  for (uint32_t i = 0; i < r->nnodes; i++)
    g->of[i] = ir_at(r, i)->type == IR_I64 ? NOTHING : FULL;
  find_facts(g);
  for (unsigned round = 0; upwards(g, round); round++) {
  }
  downwards(g);
  downwards(g);
  return true;
}
