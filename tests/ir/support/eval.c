#include "tests/ir/support/eval.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vm/vm_sem.h"

typedef union {
  int64_t i;
  uint64_t u;
  double f;
  bool b;
  char *p;
} value;

typedef struct {
  const ir_region *r;
  eval_state *e;
  value *v;
  uint8_t *known;
  uint32_t block, pred; /* pred: the one it was entered from */
  bool left;
  uint32_t exit;
} eval;

static void require(bool cond, const ir_node *n, const char *why) {
  if (cond)
    return;
  fprintf(stderr, "eval: %s in b%u (pc %u): %s\n", ir_op_read((ir_op)n->op)->name, n->block, n->pc,
          why);
  abort();
}

static value arg(const eval *s, const ir_node *n, unsigned k) {
  require(k < n->nargs && s->known[n->arg[k]], n, "an argument is not there yet");
  return s->v[n->arg[k]];
}

static ls_list *list_of(const eval *s, const ir_node *n) { return s->e->lists[n->list]; }

/* ---- ints, reals, bools */

static value of_i(int64_t i) { return (value){.i = i}; }
static value of_f(double f) { return (value){.f = f}; }
static value of_b(bool b) { return (value){.u = b}; }

static void leave_if(eval *s, const ir_node *n, bool cond) {
  if (!cond)
    return;
  s->left = true;
  s->exit = n->exit;
}

static value checked(eval *s, const ir_node *n, int fault, int64_t result) {
  leave_if(s, n, fault != VM_FINE);
  return of_i(result);
}

static value eval_exact(const ir_node *n, int fault, int64_t result) {
  require(fault == VM_FINE, n, "an operation that is known not to overflow did");
  return of_i(result);
}

static value eval_int(eval *s, const ir_node *n) {
  int64_t x = arg(s, n, 0).i, y = arg(s, n, 1).i, a = 0;
  uint64_t ux = (uint64_t)x, uy = (uint64_t)y;
  int fault;
  switch ((int)n->op) {
  case IR_OP_ADD:
    return of_i((int64_t)(ux + uy));
  case IR_OP_SUB:
    return of_i((int64_t)(ux - uy));
  case IR_OP_MUL:
    return of_i((int64_t)(ux * uy));
  case IR_OP_ADDN:
    fault = vm_sem_iadd(x, y, &a);
    return eval_exact(n, fault, a);
  case IR_OP_SUBN:
    fault = vm_sem_isub(x, y, &a);
    return eval_exact(n, fault, a);
  case IR_OP_MULN:
    fault = vm_sem_imul(x, y, &a);
    return eval_exact(n, fault, a);
  case IR_OP_ADDX:
    fault = vm_sem_iadd(x, y, &a);
    return checked(s, n, fault, a);
  case IR_OP_SUBX:
    fault = vm_sem_isub(x, y, &a);
    return checked(s, n, fault, a);
  case IR_OP_MULX:
    fault = vm_sem_imul(x, y, &a);
    return checked(s, n, fault, a);
  case IR_OP_DIVX:
    fault = vm_sem_idiv(x, y, &a);
    return checked(s, n, fault, a);
  case IR_OP_REMX:
    fault = vm_sem_imod(x, y, &a);
    return checked(s, n, fault, a);
  case IR_OP_DADDX:
    fault = vm_sem_dadd(x, y, &a);
    return checked(s, n, fault, a);
  case IR_OP_DIV:
  case IR_OP_REM:
    require(y != 0 && y != -1, n, "a divisor that is known not to be 0 or -1 is");
    return of_i(n->op == IR_OP_DIV ? x / y : x % y);
  case IR_OP_MIN:
    return of_i(x < y ? x : y);
  case IR_OP_MAX:
    return of_i(x > y ? x : y);
  case IR_OP_UMIN:
    return of_i(ux < uy ? x : y);
  case IR_OP_BAND:
    return of_i(x & y);
  case IR_OP_BOR:
    return of_i(x | y);
  case IR_OP_SHL:
    return of_i((int64_t)(ux << uy));
  default:
    return of_i((int64_t)(ux >> uy)); /* shr */
  }
}

static value eval_real(eval *s, const ir_node *n) {
  double x = arg(s, n, 0).f, y = n->nargs > 1 ? arg(s, n, 1).f : 0;
  switch ((int)n->op) {
  case IR_OP_FADD:
    return of_f(vm_sem_radd(x, y));
  case IR_OP_FSUB:
    return of_f(vm_sem_rsub(x, y));
  case IR_OP_FMUL:
    return of_f(vm_sem_rmul(x, y));
  case IR_OP_FDIV:
    return of_f(vm_sem_rdiv(x, y));
  case IR_OP_FNEG:
    return of_f(vm_sem_rneg(x));
  case IR_OP_FABS:
    return of_f(vm_sem_rabs(x));
  case IR_OP_FMIN:
    return of_f(vm_sem_rmin(x, y));
  case IR_OP_FMAX:
    return of_f(vm_sem_rmax(x, y));
  case IR_OP_FSQRT:
    return of_f(vm_sem_sqrt(x));
  case IR_OP_FFLOOR:
    return of_f(vm_sem_floor(x));
  case IR_OP_FCEIL:
    return of_f(vm_sem_ceil(x));
  case IR_OP_FROUND:
    return of_f(vm_sem_round(x));
  case IR_OP_FTRUNC:
    return of_f(vm_sem_trunc(x));
  case IR_OP_CANON:
    return of_f(vm_sem_canonical(x));
  case IR_OP_FEQ:
    return of_b(x == y);
  case IR_OP_FNE:
    return of_b(x != y);
  case IR_OP_FLT:
    return of_b(x < y);
  default:
    return of_b(x <= y); /* fle */
  }
}

static value eval_test(eval *s, const ir_node *n) {
  value x = arg(s, n, 0), y = n->nargs > 1 ? arg(s, n, 1) : of_i(0);
  switch ((int)n->op) {
  case IR_OP_EQ:
    return of_b(x.i == y.i);
  case IR_OP_NE:
    return of_b(x.i != y.i);
  case IR_OP_LT:
    return of_b(x.i < y.i);
  case IR_OP_LE:
    return of_b(x.i <= y.i);
  case IR_OP_ULT:
    return of_b(x.u < y.u);
  case IR_OP_ULE:
    return of_b(x.u <= y.u);
  case IR_OP_TEXTEQ:
    return of_b(ls_texts_equal(s->e->texts, (uint32_t)x.u, (uint32_t)y.u));
  case IR_OP_NOT:
    return of_b(!x.b);
  case IR_OP_AND:
    return of_b(x.b && y.b);
  default:
    return of_b(x.b || y.b); /* or */
  }
}

static value eval_builtin(eval *s, const ir_node *n) {
  ls_val args[8], out = {0};
  for (unsigned k = 0; k < n->nargs; k++)
    args[k].u = arg(s, n, k).u;
  int fault = vm_sem_builtin((vm_builtin)n->imm, args, &out);
  if (n->op == IR_OP_BIFX)
    leave_if(s, n, fault != VM_FINE);
  else
    require(fault == VM_FINE, n, "a builtin that cannot fault did");
  return (value){.u = out.u};
}

static value eval_convert(eval *s, const ir_node *n) {
  value x = arg(s, n, 0);
  int64_t a = 0;
  switch ((int)n->op) {
  case IR_OP_ITOF:
    return of_f(vm_sem_real_int(x.i));
  case IR_OP_FTOIX: {
    int fault = vm_sem_int_real(x.f, &a);
    return checked(s, n, fault, a);
  }
  case IR_OP_ITOB:
    return of_b(x.u != 0);
  default:
    return x; /* btoi ftobits bitstof */
  }
}

/* ---- list headers */

static value eval_header(eval *s, const ir_node *n) {
  const ls_list *l = list_of(s, n);
  switch ((int)n->op) {
  case IR_OP_SHAPE:
    return of_i((int64_t)l->shape);
  case IR_OP_COUNT:
    return of_i((int64_t)l->count);
  case IR_OP_ROOM:
    return of_i((int64_t)l->room);
  case IR_OP_VERSION:
    return of_i((int64_t)l->version);
  case IR_OP_WRITABLE:
    return of_b(!l->frozen && !l->shared && l->undo == NULL);
  case IR_OP_DIRECT:
    return of_b(ls_shape_layout(l->shape) == LS_ARRAY && l->u.array.dir && !l->u.array.shift);
  case IR_OP_COL:
    return (value){.p = l->col[n->col]};
  case IR_OP_BASE:
    return of_i(l->u.dense.base);
  case IR_OP_CAP:
    return of_i((int64_t)l->u.dense.cap);
  case IR_OP_PRESENT:
    return (value){.p = (char *)l->u.dense.present};
  case IR_OP_DIR:
    return (value){.p = (char *)l->u.array.dir};
  case IR_OP_ORIGIN:
    return of_i(l->u.array.origin);
  case IR_OP_BUCKETS:
    return of_i((int64_t)l->u.array.nbuckets);
  default: /* offset */
    require(ls_shape_layout(l->shape) == LS_TREE, n, "the list is no tree");
    return of_i(l->u.tree.col_offset[n->col]);
  }
}

/* ---- cells */

static uint64_t cells_of(const ls_list *l) {
  switch (ls_shape_layout(l->shape)) {
  case LS_FLAT:
    return l->u.flat.cap;
  case LS_DENSE:
    return l->u.dense.cap;
  case LS_HASH:
    return l->u.hash.cap;
  case LS_TREE:
    return LS_LEAF_ROWS;
  default:
    return l->u.array.cap;
  }
}

static void check_cell(eval *s, const ir_node *n, unsigned width) {
  const ls_list *l = list_of(s, n);
  require(ls_shape_width(l->shape, n->col) == width, n, "a cell of another width");
  require(arg(s, n, 1).u < cells_of(l), n, "a cell outside the list");
  if (ls_shape_layout(l->shape) != LS_TREE)
    require(arg(s, n, 0).p == l->col[n->col], n, "a cell of a block that the list has no more");
}

static void check_bits(eval *s, const ir_node *n, bool one) {
  const ls_list *l = list_of(s, n);
  require(ls_shape_layout(l->shape) == LS_DENSE, n, "the list is not dense");
  require(arg(s, n, 0).p == (char *)l->u.dense.present, n, "bits that the list has no more");
  if (one)
    require(arg(s, n, 1).u < l->u.dense.cap, n, "a bit outside the list");
  else
    require(arg(s, n, 2).u <= l->u.dense.cap, n, "bits outside the list");
}

static value eval_next_bit(eval *s, const ir_node *n) {
  const uint64_t *words = (const uint64_t *)arg(s, n, 0).p;
  uint64_t at = arg(s, n, 1).u, end = arg(s, n, 2).u;
  check_bits(s, n, false);
  while (at < end && !(words[at / 64] >> (at % 64) & 1))
    at++;
  return of_i((int64_t)(at < end ? at : end));
}

static value eval_bound(eval *s, const ir_node *n) {
  const ls_list *l = list_of(s, n);
  uint64_t at = arg(s, n, 1).u, end = arg(s, n, 2).u;
  int64_t key = arg(s, n, 3).i;
  require(end <= l->count && arg(s, n, 0).p == l->col[n->col], n, "a search outside the list");
  for (; at < end; at++) {
    int64_t cell = (int64_t)ls_cell_load(arg(s, n, 0).p, n->width, at);
    if (n->op == IR_OP_LOWER ? cell >= key : cell > key)
      break;
  }
  return of_i((int64_t)(at < end ? at : end));
}

static value eval_find(eval *s, const ir_node *n) {
  ls_val key[LS_MAX_KEYS];
  ls_row h;
  for (unsigned k = 0; k < n->nargs; k++)
    key[k].u = arg(s, n, k).u;
  if (ls_list_find(list_of(s, n), s->e->texts, key, &h) != LS_OK)
    h = LS_NO_ROW;
  return of_i((int64_t)h);
}

static value eval_load(eval *s, const ir_node *n) {
  switch ((int)n->op) {
  case IR_OP_CELL:
    check_cell(s, n, n->width);
    return of_i((int64_t)ls_cell_load(arg(s, n, 0).p, n->width, arg(s, n, 1).u));
  case IR_OP_CELLF:
    check_cell(s, n, 3);
    return of_i((int64_t)ls_cell_load(arg(s, n, 0).p, 3, arg(s, n, 1).u));
  case IR_OP_BIT: {
    uint64_t at = arg(s, n, 1).u;
    check_bits(s, n, true);
    return of_b(((const uint64_t *)arg(s, n, 0).p)[at / 64] >> (at % 64) & 1);
  }
  case IR_OP_DIRAT: {
    const ls_list *l = list_of(s, n);
    require(ls_shape_layout(l->shape) == LS_ARRAY && arg(s, n, 0).p == (char *)l->u.array.dir, n,
            "a directory that the list has not");
    require(arg(s, n, 1).u <= l->u.array.nbuckets, n, "a word outside the directory");
    return of_i(((const uint32_t *)arg(s, n, 0).p)[arg(s, n, 1).u]);
  }
  case IR_OP_NEXTBIT:
    return eval_next_bit(s, n);
  case IR_OP_LOWER:
  case IR_OP_UPPER:
    return eval_bound(s, n);
  case IR_OP_LEAF:
    return (value){.u = arg(s, n, 0).u & ~(uint64_t)(LS_LEAF_ROWS - 1)};
  case IR_OP_PADD:
    return (value){.u = arg(s, n, 0).u + arg(s, n, 1).u};
  default:
    return eval_find(s, n);
  }
}

static void eval_store(eval *s, const ir_node *n) {
  ls_list *l = list_of(s, n);
  switch ((int)n->op) {
  case IR_OP_CELLSET:
    check_cell(s, n, n->width);
    ls_cell_store(arg(s, n, 0).p, n->width, arg(s, n, 1).u, arg(s, n, 2).u);
    require(ls_cell_load(arg(s, n, 0).p, n->width, arg(s, n, 1).u) == arg(s, n, 2).u, n,
            "a value too wide for its cell");
    break;
  case IR_OP_CELLFSET:
    check_cell(s, n, 3);
    ls_cell_store(arg(s, n, 0).p, 3, arg(s, n, 1).u, arg(s, n, 2).u);
    break;
  case IR_OP_BITSET: {
    uint64_t at = arg(s, n, 1).u;
    check_bits(s, n, true);
    ((uint64_t *)arg(s, n, 0).p)[at / 64] |= UINT64_C(1) << (at % 64);
    break;
  }
  case IR_OP_COUNTSET:
    require(arg(s, n, 0).u == l->count || (arg(s, n, 0).u == l->count + 1 && l->count < l->room), n,
            "a count that no row was added for");
    l->count = arg(s, n, 0).u;
    break;
  default:
    break; /* prefetches */
  }
}

/* ---- bytecode, control */

static value eval_step(eval *s, const ir_node *n) {
  const ir_step *step = &s->r->steps[n->imm];
  if (step->metered)
    s->e->work = arg(s, n, 0).u;
  for (uint32_t k = 0; k < step->nregs; k++)
    s->e->regs[step->reg[k]].u = arg(s, n, k + step->metered).u;
  s->e->steps++;
  eval_end end = s->e->step(s->e, step);
  require((end == EVAL_RAISED) == (end >= EVAL_STOPPED && step->calls), n,
          "calls, and nothing else, fault for good");
  leave_if(s, n, end >= EVAL_STOPPED);
  return of_b(end == EVAL_JUMPED);
}

static void eval_poll(eval *s, const ir_node *n) {
  bool cancelled = s->e->cancel && *s->e->cancel;
  leave_if(s, n, arg(s, n, 0).u > s->e->limit || cancelled);
}

static value eval_reg(eval *s, const ir_node *n) {
  ls_val v = s->e->regs[n->imm];
  return n->type == IR_B1 ? of_b(v.u != 0) : (value){.u = v.u};
}

static value eval_other(eval *s, const ir_node *n) {
  switch ((int)n->op) {
  case IR_OP_INT:
  case IR_OP_REAL:
  case IR_OP_BOOL:
    return of_i(n->imm);
  case IR_OP_KONST:
    return (value){.u = s->e->consts[n->imm].u};
  case IR_OP_REG:
    return eval_reg(s, n);
  case IR_OP_SELECT:
    return arg(s, n, 0).b ? arg(s, n, 1) : arg(s, n, 2);
  case IR_OP_GUARD:
    leave_if(s, n, !arg(s, n, 0).b);
    break;
  case IR_OP_GSHAPE:
    leave_if(s, n, list_of(s, n)->shape != (uint64_t)n->imm);
    break;
  case IR_OP_POLL:
    eval_poll(s, n);
    break;
  case IR_OP_LEAVE:
    leave_if(s, n, true);
    break;
  case IR_OP_STEP:
    return eval_step(s, n);
  case IR_OP_WORK:
    return (value){.u = s->e->work};
  default:
    break; /* jump branch */
  }
  return of_i(0);
}

static value eval_node(eval *s, const ir_node *n) {
  ir_op op = (ir_op)n->op;
  if (op >= IR_OP_ADD && op <= IR_OP_DADDX)
    return eval_int(s, n);
  if ((op >= IR_OP_FADD && op <= IR_OP_CANON) || (op >= IR_OP_FEQ && op <= IR_OP_FLE))
    return eval_real(s, n);
  if (op >= IR_OP_EQ && op <= IR_OP_OR)
    return eval_test(s, n);
  if (op == IR_OP_BIF || op == IR_OP_BIFX)
    return eval_builtin(s, n);
  if (op >= IR_OP_ITOF && op <= IR_OP_BITSTOF)
    return eval_convert(s, n);
  if (op == IR_OP_SHAPE || (op >= IR_OP_COUNT && op <= IR_OP_OFFSET))
    return eval_header(s, n);
  if (op == IR_OP_FIND || (op >= IR_OP_CELL && op <= IR_OP_PADD))
    return eval_load(s, n);
  if ((op >= IR_OP_CELLSET && op <= IR_OP_COUNTSET) || op >= IR_OP_PFCELL)
    return eval_store(s, n), of_i(0);
  return eval_other(s, n);
}

/* Phis take their values together. */
static ir_id eval_phis(eval *s, ir_id id) {
  const ir_block *b = &s->r->blocks[s->block];
  value taken[4096];
  unsigned n = 0, k = 0;
  while (k < b->npreds && b->preds[k] != s->pred)
    k++;
  ir_id at = id;
  for (; at && ir_at(s->r, at)->op == IR_OP_PHI; at = ir_at(s->r, at)->next)
    if (n < 4096)
      taken[n++] = arg(s, ir_at(s->r, at), k);
  n = 0;
  for (; id != at; id = ir_at(s->r, id)->next) {
    s->v[id] = taken[n++];
    s->known[id] = 1;
  }
  return at;
}

static void eval_block(eval *s) {
  const ir_region *r = s->r;
  ir_id id = r->blocks[s->block].first;
  for (id = eval_phis(s, id); id && !s->left; id = ir_at(r, id)->next) {
    const ir_node *n = ir_at(r, id);
    s->v[id] = eval_node(s, n);
    s->known[id] = 1;
    s->e->nodes++;
  }
  if (s->left)
    return;
  const ir_node *last = ir_at(r, r->blocks[s->block].last);
  unsigned way = last->op == IR_OP_BRANCH && !arg(s, last, 0).b;
  s->pred = s->block;
  s->block = r->blocks[s->block].succ[way];
}

uint32_t eval_region(const ir_region *r, eval_state *e) {
  eval s = {.r = r, .e = e};
  s.v = calloc(r->nnodes, sizeof *s.v);
  s.known = calloc(r->nnodes, 1);
  while (!s.left)
    eval_block(&s);
  const ir_exit *x = &r->exits[s.exit];
  for (uint32_t k = 0; !x->raised && k < x->nslots; k++)
    e->regs[x->slots[k].reg].u = s.v[x->slots[k].value].u;
  if (!x->raised)
    e->work = s.v[x->work].u + (uint64_t)x->more;
  free(s.v);
  free(s.known);
  return s.exit;
}
