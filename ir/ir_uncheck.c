/* ir/ir_uncheck.c - drops checks that bounds disprove: of overflow, of divisors, of widths. */
#include "ir/ir_range.h"

typedef struct {
  ir_region *r;
  ir_cfg cfg;
  ir_ranges ranges;
  ir_rewrite w;
} unchecker;

static ir_bounds at(const unchecker *u, ir_id node, unsigned k) {
  return ir_bounds_at(&u->ranges, ir_at(u->r, node)->arg[k], node);
}

static void become(ir_node *n, ir_op op) {
  n->op = (uint8_t)op;
  n->exit = IR_NO_EXIT;
}

static bool overflows(ir_op op, ir_bounds x, ir_bounds y) {
  int64_t t;
  switch (op) {
  case IR_OP_ADD:
  case IR_OP_ADDX:
    return __builtin_add_overflow(x.lo, y.lo, &t) || __builtin_add_overflow(x.hi, y.hi, &t);
  case IR_OP_SUB:
  case IR_OP_SUBX:
    return __builtin_sub_overflow(x.lo, y.hi, &t) || __builtin_sub_overflow(x.hi, y.lo, &t);
  default:
    return __builtin_mul_overflow(x.lo, y.lo, &t) || __builtin_mul_overflow(x.lo, y.hi, &t) ||
           __builtin_mul_overflow(x.hi, y.lo, &t) || __builtin_mul_overflow(x.hi, y.hi, &t);
  }
}

static void uncheck_sum(ir_node *n, ir_bounds x, ir_bounds y) {
  if (overflows((ir_op)n->op, x, y))
    return;
  switch ((int)n->op) {
  case IR_OP_ADD:
  case IR_OP_ADDX:
    become(n, IR_OP_ADDN);
    break;
  case IR_OP_SUB:
  case IR_OP_SUBX:
    become(n, IR_OP_SUBN);
    break;
  default:
    become(n, IR_OP_MULN);
  }
}

static void uncheck_date(ir_node *n, ir_bounds x, ir_bounds y) {
  int64_t lo, hi;
  if (__builtin_add_overflow(x.lo, y.lo, &lo) || __builtin_add_overflow(x.hi, y.hi, &hi))
    return;
  if (lo >= 0 && hi <= LS_DATE_MAX)
    become(n, IR_OP_ADDN);
}

/* 1: always, 0: never, -1: either. */
static int decide(ir_op op, ir_bounds x, ir_bounds y) {
  bool apart = x.hi < y.lo || y.hi < x.lo;
  switch (op) {
  case IR_OP_EQ:
  case IR_OP_NE:
    if (apart)
      return op == IR_OP_NE;
    return x.lo == x.hi && y.lo == y.hi && x.lo == y.lo ? op == IR_OP_EQ : -1;
  case IR_OP_ULT:
  case IR_OP_ULE:
    if (x.lo < 0 || y.lo < 0) {
      if (x.hi < 0 && y.lo >= 0)
        return 0; /* huge */
      return x.lo >= 0 && y.hi < 0 ? 1 : -1;
    }
    break;
  default:
    break;
  }
  bool or_equal = op == IR_OP_LE || op == IR_OP_ULE;
  if (or_equal ? x.hi <= y.lo : x.hi < y.lo)
    return 1;
  return (or_equal ? x.lo > y.hi : x.lo >= y.hi) ? 0 : -1;
}

/* min, max, umin, band with a mask: one argument, or 0. */
static ir_id simpler(const ir_node *n, ir_bounds x, ir_bounds y) {
  switch ((int)n->op) {
  case IR_OP_MIN:
    return x.hi <= y.lo ? n->arg[0] : y.hi <= x.lo ? n->arg[1] : 0;
  case IR_OP_MAX:
    return x.lo >= y.hi ? n->arg[0] : y.lo >= x.hi ? n->arg[1] : 0;
  case IR_OP_UMIN:
    if (x.lo < 0 || y.lo < 0)
      return 0;
    return x.hi <= y.lo ? n->arg[0] : y.hi <= x.lo ? n->arg[1] : 0;
  case IR_OP_BAND:
    if (y.lo != y.hi || y.lo < 0 || ((uint64_t)y.lo & ((uint64_t)y.lo + 1)) != 0)
      return 0;
    return x.lo >= 0 && x.hi <= y.lo ? n->arg[0] : 0;
  default:
    return 0;
  }
}

static void uncheck_two(unchecker *u, ir_id id) {
  ir_node *n = ir_at(u->r, id);
  ir_bounds x = at(u, id, 0), y = at(u, id, 1);
  if (x.lo > x.hi || y.lo > y.hi)
    return; /* no way leads here */
  bool safe = !ir_bounds_have(y, 0) && !ir_bounds_have(y, -1);
  switch ((int)n->op) {
  case IR_OP_ADD:
  case IR_OP_SUB:
  case IR_OP_MUL:
  case IR_OP_ADDX:
  case IR_OP_SUBX:
  case IR_OP_MULX:
    uncheck_sum(n, x, y);
    return;
  case IR_OP_DIVX:
    if (safe)
      become(n, IR_OP_DIV);
    return;
  case IR_OP_REMX:
    if (safe)
      become(n, IR_OP_REM);
    return;
  case IR_OP_DADDX:
    uncheck_date(n, x, y);
    return;
  default:
    break;
  }
  if (n->op >= IR_OP_EQ && n->op <= IR_OP_ULE) {
    int truth = decide((ir_op)n->op, x, y);
    if (truth >= 0)
      ir_rewrite_set(&u->w, id, ir_bool(u->r, truth != 0));
    return;
  }
  ir_id to = simpler(n, x, y);
  if (to)
    ir_rewrite_set(&u->w, id, to);
}

void ir_opt_uncheck(ir_region *r) {
  unchecker u = {.r = r};
  if (!ir_find_cfg(r, &u.cfg) || !ir_find_ranges(r, &u.cfg, &u.ranges))
    return;
  if (!ir_rewrite_begin(&u.w, r))
    return;
  for (uint32_t i = 0; i < u.cfg.n; i++)
    for (ir_id id = r->blocks[u.cfg.order[i]].first; id; id = ir_at(r, id)->next) {
      const ir_node *n = ir_at(r, id);
      bool ints = n->nargs == 2 && ir_at(r, n->arg[0])->type == IR_I64 &&
                  ir_at(r, n->arg[1])->type == IR_I64;
      if (ints && ir_has_effect(n, IR_PURE | IR_EXITS))
        uncheck_two(&u, id);
    }
  ir_rewrite_end(&u.w);
}
