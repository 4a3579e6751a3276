/* ir/ir_fold.c - constants and identities.
 *
 * What an operation does to constants is asked of vm_sem.h, so that folding cannot mean anything
 * else than running.  An operation that would exit is left as it is.  Chains of wrapping additions
 * of constants become one, above all those of the work, also through exits.
 */
#include "ir/ir_int.h"
#include "ir/ir_cfg.h"
#include "vm/vm_sem.h"

#include <string.h>

typedef struct {
  ir_region *r;
  ir_rewrite w;
} folder;

static const ir_node *arg(const folder *f, const ir_node *n, unsigned k) {
  return ir_at(f->r, n->arg[k]);
}
static bool is_konst(const folder *f, const ir_node *n, unsigned k) {
  return k < n->nargs && ir_is_const(arg(f, n, k));
}
static int64_t konst(const folder *f, const ir_node *n, unsigned k) { return arg(f, n, k)->imm; }
static double real(const folder *f, const ir_node *n, unsigned k) {
  double d;
  int64_t bits = konst(f, n, k);
  memcpy(&d, &bits, sizeof d);
  return d;
}

static ir_id of_real(folder *f, double d) {
  uint64_t bits;
  memcpy(&bits, &d, sizeof bits);
  return ir_real(f->r, bits);
}

/* A new node in front of the one being folded. */
static ir_id make(folder *f, ir_id before, ir_op op, ir_id x, ir_id y) {
  ir_id args[2] = {x, y};
  ir_id id = ir_node_new(f->r, op, IR_NONE, y ? 2 : 1, args);
  ir_at(f->r, id)->pc = ir_at(f->r, before)->pc;
  ir_node_put_before(f->r, before, id);
  return id;
}

/* ---- all arguments constant; 0: it would exit, or is none of these */

typedef int (*int_meaning)(int64_t b, int64_t c, int64_t *a);

static ir_id checked(folder *f, int_meaning meaning, int64_t x, int64_t y) {
  int64_t a;
  return meaning(x, y, &a) == VM_FINE ? ir_int(f->r, a) : 0;
}

static ir_id whole_part(folder *f, double x) {
  int64_t a;
  return vm_sem_int_real(x, &a) == VM_FINE ? ir_int(f->r, a) : 0;
}

static ir_id fold_ints(folder *f, const ir_node *n) {
  int64_t x = konst(f, n, 0), y = konst(f, n, 1);
  uint64_t ux = (uint64_t)x, uy = (uint64_t)y;
  switch ((int)n->op) {
  case IR_OP_ADD:
    return ir_int(f->r, (int64_t)(ux + uy));
  case IR_OP_SUB:
    return ir_int(f->r, (int64_t)(ux - uy));
  case IR_OP_MUL:
    return ir_int(f->r, (int64_t)(ux * uy));
  case IR_OP_ADDN:
  case IR_OP_ADDX:
    return checked(f, vm_sem_iadd, x, y);
  case IR_OP_SUBN:
  case IR_OP_SUBX:
    return checked(f, vm_sem_isub, x, y);
  case IR_OP_MULN:
  case IR_OP_MULX:
    return checked(f, vm_sem_imul, x, y);
  case IR_OP_DIV:
  case IR_OP_DIVX:
    return checked(f, vm_sem_idiv, x, y);
  case IR_OP_REM:
  case IR_OP_REMX:
    return checked(f, vm_sem_imod, x, y);
  case IR_OP_DADDX:
    return checked(f, vm_sem_dadd, x, y);
  case IR_OP_MIN:
    return ir_int(f->r, x < y ? x : y);
  case IR_OP_MAX:
    return ir_int(f->r, x > y ? x : y);
  case IR_OP_UMIN:
    return ir_int(f->r, ux < uy ? x : y);
  case IR_OP_BAND:
    return ir_int(f->r, x & y);
  case IR_OP_BOR:
    return ir_int(f->r, x | y);
  case IR_OP_SHL:
    return ir_int(f->r, (int64_t)(ux << (uy & 63)));
  case IR_OP_SHR:
    return ir_int(f->r, (int64_t)(ux >> (uy & 63)));
  default:
    return 0;
  }
}

static ir_id fold_tests(folder *f, const ir_node *n) {
  int64_t x = konst(f, n, 0), y = n->nargs > 1 ? konst(f, n, 1) : 0;
  switch ((int)n->op) {
  case IR_OP_EQ:
    return ir_bool(f->r, x == y);
  case IR_OP_NE:
    return ir_bool(f->r, x != y);
  case IR_OP_LT:
    return ir_bool(f->r, x < y);
  case IR_OP_LE:
    return ir_bool(f->r, x <= y);
  case IR_OP_ULT:
    return ir_bool(f->r, (uint64_t)x < (uint64_t)y);
  case IR_OP_ULE:
    return ir_bool(f->r, (uint64_t)x <= (uint64_t)y);
  case IR_OP_NOT:
    return ir_bool(f->r, !x);
  case IR_OP_AND:
    return ir_bool(f->r, x && y);
  case IR_OP_OR:
    return ir_bool(f->r, x || y);
  case IR_OP_BTOI:
    return ir_int(f->r, x);
  case IR_OP_ITOB:
    return ir_bool(f->r, x != 0);
  case IR_OP_ITOF:
    return of_real(f, vm_sem_real_int(x));
  case IR_OP_BITSTOF:
    return ir_real(f->r, (uint64_t)x);
  case IR_OP_FTOBITS:
    return ir_int(f->r, x);
  default:
    return 0;
  }
}

static ir_id fold_reals(folder *f, const ir_node *n) {
  double x = real(f, n, 0), y = n->nargs > 1 ? real(f, n, 1) : 0;
  switch ((int)n->op) {
  case IR_OP_FADD:
    return of_real(f, vm_sem_radd(x, y));
  case IR_OP_FSUB:
    return of_real(f, vm_sem_rsub(x, y));
  case IR_OP_FMUL:
    return of_real(f, vm_sem_rmul(x, y));
  case IR_OP_FDIV:
    return of_real(f, vm_sem_rdiv(x, y));
  case IR_OP_FNEG:
    return of_real(f, vm_sem_rneg(x));
  case IR_OP_FABS:
    return of_real(f, vm_sem_rabs(x));
  case IR_OP_FMIN:
    return of_real(f, vm_sem_rmin(x, y));
  case IR_OP_FMAX:
    return of_real(f, vm_sem_rmax(x, y));
  case IR_OP_FSQRT:
    return of_real(f, vm_sem_sqrt(x));
  case IR_OP_FFLOOR:
    return of_real(f, vm_sem_floor(x));
  case IR_OP_FCEIL:
    return of_real(f, vm_sem_ceil(x));
  case IR_OP_FROUND:
    return of_real(f, vm_sem_round(x));
  case IR_OP_FTRUNC:
    return of_real(f, vm_sem_trunc(x));
  case IR_OP_CANON:
    return of_real(f, vm_sem_canonical(x));
  case IR_OP_FEQ:
    return ir_bool(f->r, x == y);
  case IR_OP_FNE:
    return ir_bool(f->r, x != y);
  case IR_OP_FLT:
    return ir_bool(f->r, x < y);
  case IR_OP_FLE:
    return ir_bool(f->r, x <= y);
  case IR_OP_FTOIX:
    return whole_part(f, x);
  default:
    return 0;
  }
}

static ir_id fold_builtin(folder *f, const ir_node *n) {
  ls_val args[VM_MAX_BUILTIN_ARGS], out = {0};
  for (unsigned k = 0; k < n->nargs; k++)
    args[k].i = konst(f, n, k);
  if (vm_sem_builtin((vm_builtin)n->imm, args, &out) != VM_FINE)
    return 0;
  if (n->type == IR_F64)
    return ir_real(f->r, out.u);
  return n->type == IR_B1 ? ir_bool(f->r, out.i != 0) : ir_int(f->r, out.i);
}

static ir_id fold_constants(folder *f, const ir_node *n) {
  if (n->nargs == 0 || n->op == IR_OP_PHI || n->op == IR_OP_SELECT)
    return 0;
  for (unsigned k = 0; k < n->nargs; k++)
    if (!is_konst(f, n, k))
      return 0;
  if (n->op == IR_OP_BIF || n->op == IR_OP_BIFX)
    return fold_builtin(f, n);
  if (arg(f, n, 0)->op == IR_OP_REAL && n->op != IR_OP_FTOBITS)
    return fold_reals(f, n);
  ir_id folded = n->nargs == 2 && arg(f, n, 0)->op == IR_OP_INT ? fold_ints(f, n) : 0;
  return folded ? folded : fold_tests(f, n);
}

/* ---- identities; 0: none */

static bool is(const folder *f, const ir_node *n, unsigned k, int64_t value) {
  return ir_is_int(f->r, n->arg[k], value);
}

/* x + (y + c), wrapping: one constant. */
static ir_id add_chain(folder *f, ir_id id, const ir_node *n) {
  const ir_node *x = arg(f, n, 0);
  int64_t c = konst(f, n, 1);
  if (c == 0)
    return n->arg[0];
  if (x->op != IR_OP_ADD || arg(f, x, 1)->op != IR_OP_INT)
    return 0;
  int64_t sum = (int64_t)((uint64_t)konst(f, x, 1) + (uint64_t)c);
  return sum == 0 ? x->arg[0] : make(f, id, IR_OP_ADD, x->arg[0], ir_int(f->r, sum));
}

static ir_id simple_int(folder *f, ir_id id, const ir_node *n) {
  bool same = n->arg[0] == n->arg[1];
  switch ((int)n->op) {
  case IR_OP_ADD:
    return is_konst(f, n, 1) ? add_chain(f, id, n) : 0;
  case IR_OP_SUB:
    if (same)
      return ir_int(f->r, 0);
    if (is(f, n, 1, 0))
      return n->arg[0];
    if (!is_konst(f, n, 1))
      return 0;
    return make(f, id, IR_OP_ADD, n->arg[0], ir_int(f->r, (int64_t)(0 - (uint64_t)konst(f, n, 1))));
  case IR_OP_ADDN:
  case IR_OP_ADDX:
  case IR_OP_BOR:
  case IR_OP_SHL:
  case IR_OP_SHR:
    return is(f, n, 1, 0) ? n->arg[0] : 0;
  case IR_OP_SUBN:
  case IR_OP_SUBX:
    return same ? ir_int(f->r, 0) : is(f, n, 1, 0) ? n->arg[0] : 0;
  case IR_OP_MUL:
  case IR_OP_MULN:
  case IR_OP_MULX:
    return is(f, n, 1, 0) ? n->arg[1] : is(f, n, 1, 1) ? n->arg[0] : 0;
  case IR_OP_DIV:
  case IR_OP_DIVX:
    return is(f, n, 1, 1) ? n->arg[0] : 0;
  case IR_OP_REM:
  case IR_OP_REMX:
    return is(f, n, 1, 1) ? ir_int(f->r, 0) : 0;
  case IR_OP_MIN:
  case IR_OP_MAX:
  case IR_OP_UMIN:
    return same ? n->arg[0] : 0;
  case IR_OP_BAND:
    return same || is(f, n, 1, -1) ? n->arg[0] : is(f, n, 1, 0) ? n->arg[1] : 0;
  default:
    return 0;
  }
}

/* A comparison with a bool made int: of the bool. */
static ir_id compare_bool(folder *f, ir_id id, const ir_node *n) {
  const ir_node *x = arg(f, n, 0);
  if (x->op != IR_OP_BTOI || !is_konst(f, n, 1))
    return 0;
  int64_t c = konst(f, n, 1);
  if (c != 0 && c != 1)
    return ir_bool(f->r, n->op == IR_OP_NE);
  bool plain = (n->op == IR_OP_EQ) == (c == 1);
  return plain ? x->arg[0] : make(f, id, IR_OP_NOT, x->arg[0], 0);
}

static ir_id simple_test(folder *f, ir_id id, const ir_node *n) {
  bool same = n->arg[0] == n->arg[1];
  switch ((int)n->op) {
  case IR_OP_EQ:
  case IR_OP_NE:
    return same ? ir_bool(f->r, n->op == IR_OP_EQ) : compare_bool(f, id, n);
  case IR_OP_LE:
  case IR_OP_ULE:
  case IR_OP_TEXTEQ:
    return same ? ir_bool(f->r, true) : 0;
  case IR_OP_LT:
    return same ? ir_bool(f->r, false) : 0;
  case IR_OP_ULT:
    return same || is(f, n, 1, 0) ? ir_bool(f->r, false) : 0;
  case IR_OP_AND:
  case IR_OP_OR:
    if (same)
      return n->arg[0];
    if (!is_konst(f, n, 1))
      return 0;
    return (konst(f, n, 1) != 0) == (n->op == IR_OP_AND) ? n->arg[0] : n->arg[1];
  default:
    return 0;
  }
}

/* not of a comparison of ints: the other comparison. */
static ir_id invert(folder *f, ir_id id, const ir_node *n) {
  const ir_node *x = arg(f, n, 0);
  switch ((int)x->op) {
  case IR_OP_NOT:
    return x->arg[0];
  case IR_OP_EQ:
    return make(f, id, IR_OP_NE, x->arg[0], x->arg[1]);
  case IR_OP_NE:
    return make(f, id, IR_OP_EQ, x->arg[0], x->arg[1]);
  case IR_OP_LT:
    return make(f, id, IR_OP_LE, x->arg[1], x->arg[0]);
  case IR_OP_LE:
    return make(f, id, IR_OP_LT, x->arg[1], x->arg[0]);
  case IR_OP_ULT:
    return make(f, id, IR_OP_ULE, x->arg[1], x->arg[0]);
  case IR_OP_ULE:
    return make(f, id, IR_OP_ULT, x->arg[1], x->arg[0]);
  default:
    return 0;
  }
}

static ir_id simple_other(folder *f, ir_id id, const ir_node *n) {
  const ir_node *x = n->nargs ? arg(f, n, 0) : NULL;
  switch ((int)n->op) {
  case IR_OP_SELECT:
    if (ir_is_const(x))
      return x->imm ? n->arg[1] : n->arg[2];
    return n->arg[1] == n->arg[2] ? n->arg[1] : 0;
  case IR_OP_NOT:
    return invert(f, id, n);
  case IR_OP_ITOB:
    return x->op == IR_OP_BTOI ? x->arg[0] : 0;
  case IR_OP_FTOBITS:
    return x->op == IR_OP_BITSTOF ? x->arg[0] : 0;
  case IR_OP_BITSTOF:
    return x->op == IR_OP_FTOBITS ? x->arg[0] : 0;
  case IR_OP_CANON:
    return x->op == IR_OP_CANON || x->op == IR_OP_ITOF ? n->arg[0] : 0;
  default:
    return 0;
  }
}

static bool commutes(ir_op op) {
  switch (op) {
  case IR_OP_ADD:
  case IR_OP_MUL:
  case IR_OP_ADDN:
  case IR_OP_MULN:
  case IR_OP_ADDX:
  case IR_OP_MULX:
  case IR_OP_MIN:
  case IR_OP_MAX:
  case IR_OP_UMIN:
  case IR_OP_BAND:
  case IR_OP_BOR:
  case IR_OP_EQ:
  case IR_OP_NE:
  case IR_OP_AND:
  case IR_OP_OR:
  case IR_OP_TEXTEQ:
    return true;
  default:
    return false;
  }
}

static ir_id fold_node(folder *f, ir_id id) {
  ir_node *n = ir_at(f->r, id);
  if (commutes((ir_op)n->op) && is_konst(f, n, 0) && !is_konst(f, n, 1)) {
    ir_id x = n->arg[0];
    n->arg[0] = n->arg[1];
    n->arg[1] = x;
  }
  ir_id to = fold_constants(f, n);
  if (to == 0 && n->nargs == 2)
    to = simple_int(f, id, n);
  if (to == 0 && n->nargs == 2)
    to = simple_test(f, id, n);
  return to ? to : simple_other(f, id, n);
}

/* An exit's work + constant, where the work is itself a sum with one. */
static void fold_exits(folder *f) {
  for (uint32_t e = 0; e < f->r->nexits; e++) {
    ir_exit *x = &f->r->exits[e];
    for (const ir_node *n = ir_at(f->r, x->work);
         x->work && n->op == IR_OP_ADD && is_konst(f, n, 1); n = ir_at(f->r, x->work)) {
      x->more = (int64_t)((uint64_t)x->more + (uint64_t)konst(f, n, 1));
      x->work = n->arg[0];
    }
  }
}

static void fold_block(folder *f, uint32_t block) {
  for (ir_id id = f->r->blocks[block].first; id && !f->r->failed;) {
    ir_node *n = ir_at(f->r, id);
    ir_id next = n->next;
    ir_rewrite_args(&f->w, n);
    if (n->op == IR_OP_GUARD && is_konst(f, n, 0) && konst(f, n, 0)) {
      ir_node_remove(f->r, id);
    } else if (n->type != IR_NONE && !ir_is_const(n)) {
      ir_id to = fold_node(f, id);
      if (to) {
        ir_rewrite_set(&f->w, id, to);
        ir_node_remove(f->r, id);
      }
    }
    id = next;
  }
}

void ir_opt_fold(ir_region *r) {
  folder f = {.r = r};
  ir_cfg cfg;
  if (!ir_find_cfg(r, &cfg) || !ir_rewrite_begin(&f.w, r))
    return;
  for (uint32_t i = 0; i < cfg.n; i++)
    fold_block(&f, cfg.order[i]);
  ir_rewrite_end(&f.w);
  fold_exits(&f);
}
