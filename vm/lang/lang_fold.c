/* vm/lang/lang_fold.c - constant expressions.
 *
 * Uses the functions that the interpreter uses.  What would fault stays code, so that it faults
 * when it runs and where it runs; so does what yields NaN, whose bits the machine chooses.
 */
#include "vm/lang/lang_int.h"
#include "vm/vm_sem.h"

static int fold_int(lang_binary op, int64_t b, int64_t c, int64_t *a) {
  switch (op) {
  case BIN_ADD:
    return vm_sem_iadd(b, c, a);
  case BIN_SUB:
    return vm_sem_isub(b, c, a);
  case BIN_MUL:
    return vm_sem_imul(b, c, a);
  case BIN_DIV:
    return vm_sem_idiv(b, c, a);
  case BIN_MOD:
    return vm_sem_imod(b, c, a);
  case BIN_EQ:
    *a = b == c;
    return VM_FINE;
  case BIN_NE:
    *a = b != c;
    return VM_FINE;
  case BIN_LT:
    *a = b < c;
    return VM_FINE;
  case BIN_LE:
    *a = b <= c;
    return VM_FINE;
  case BIN_GT:
    *a = b > c;
    return VM_FINE;
  case BIN_GE:
    *a = b >= c;
    return VM_FINE;
  }
  return VM_FAULT_OVERFLOW;
}

/* Comparisons leave an int in *a, the others a real. */
static int fold_real(lang_binary op, double b, double c, ls_val *a) {
  switch (op) {
  case BIN_ADD:
    a->r = vm_sem_radd(b, c);
    break;
  case BIN_SUB:
    a->r = vm_sem_rsub(b, c);
    break;
  case BIN_MUL:
    a->r = vm_sem_rmul(b, c);
    break;
  case BIN_DIV:
    a->r = vm_sem_rdiv(b, c);
    break;
  case BIN_EQ:
    a->i = b == c;
    return VM_FINE;
  case BIN_NE:
    a->i = b != c;
    return VM_FINE;
  case BIN_LT:
    a->i = b < c;
    return VM_FINE;
  case BIN_LE:
    a->i = b <= c;
    return VM_FINE;
  case BIN_GT:
    a->i = b > c;
    return VM_FINE;
  case BIN_GE:
    a->i = b >= c;
    return VM_FINE;
  case BIN_MOD:
    return VM_FAULT_OVERFLOW;
  }
  return a->r != a->r ? VM_FAULT_CONVERSION : VM_FINE;
}

static int compare_texts(const lang_expr *b, const lang_expr *c) {
  uint32_t n = b->text_len < c->text_len ? b->text_len : c->text_len;
  int d = n ? memcmp(b->text, c->text, n) : 0;
  return d ? d : (b->text_len > c->text_len) - (b->text_len < c->text_len);
}

static int fold_date(lang_binary op, const lang_expr *l, const lang_expr *r, int64_t *a) {
  int64_t n = r->value.i;
  if (r->type == LS_DATE && op == BIN_SUB) {
    *a = vm_sem_ddiff(l->value.i, n);
    return VM_FINE;
  }
  if (r->type == LS_DATE)
    return fold_int(op, l->value.i, n, a);
  if (op == BIN_SUB && vm_sem_ineg(n, &n) != VM_FINE)
    return VM_FAULT_OVERFLOW;
  return vm_sem_dadd(l->value.i, n, a);
}

static bool fold_binary(lang_expr *e) {
  const lang_expr *l = e->left, *r = e->right;
  lang_binary op = (lang_binary)e->op;
  if (!l->konst || !r->konst)
    return false;
  if (l->type == LS_REAL)
    return fold_real(op, l->value.r, r->value.r, &e->value) == VM_FINE;
  if (l->type == LS_DATE)
    return fold_date(op, l, r, &e->value.i) == VM_FINE;
  if (l->type != LS_TEXT)
    return fold_int(op, l->value.i, r->value.i, &e->value.i) == VM_FINE;
  return op != BIN_ADD && fold_int(op, compare_texts(l, r), 0, &e->value.i) == VM_FINE;
}

static bool fold_neg(lang_expr *e) {
  if (!e->left->konst)
    return false;
  if (e->type == LS_INT)
    return vm_sem_ineg(e->left->value.i, &e->value.i) == VM_FINE;
  e->value.r = vm_sem_rneg(e->left->value.r);
  return true;
}

/* The side that decides alone settles it, if nothing is evaluated before it. */
static bool fold_logic(lang_expr *e) {
  int64_t decides = e->kind == EXPR_OR;
  if (!e->left->konst)
    return false;
  if (e->left->value.i == decides) {
    e->value.i = decides;
    return true;
  }
  e->value = e->right->value;
  return e->right->konst;
}

static bool fold_if(lang_expr *e) {
  if (!e->third->konst)
    return false;
  const lang_expr *chosen = e->third->value.i ? e->left : e->right;
  e->value = chosen->value;
  e->text = chosen->text;
  e->text_len = chosen->text_len;
  return chosen->konst;
}

static bool fold_call(lang_expr *e) {
  ls_val args[3], out;
  unsigned n = 0;
  if (!e->bif || !vm_sem_builtin_scalar((vm_builtin)(e->bif - 1)) || e->nargs > 3)
    return false;
  for (const lang_expr *a = e->args; a; a = a->next) {
    if (!a->konst)
      return false;
    args[n++] = a->value;
  }
  if (vm_sem_builtin((vm_builtin)(e->bif - 1), args, &out) != VM_FINE)
    return false;
  if (e->type == LS_REAL && out.r != out.r)
    return false;
  e->value = out;
  return true;
}

static bool fold_not(lang_expr *e) {
  e->value.i = !e->left->value.i;
  return e->left->konst;
}

void lang_fold(lang_expr *e) {
  switch ((lang_expr_kind)e->kind) {
  case EXPR_NOT:
    e->konst = fold_not(e);
    break;
  case EXPR_NEG:
    e->konst = fold_neg(e);
    break;
  case EXPR_BINARY:
    e->konst = fold_binary(e);
    break;
  case EXPR_AND:
  case EXPR_OR:
    e->konst = fold_logic(e);
    break;
  case EXPR_IF:
    e->konst = fold_if(e);
    break;
  case EXPR_CALL:
    e->konst = fold_call(e);
    break;
  case EXPR_CONST:
  case EXPR_NAME:
  case EXPR_FIELD:
  case EXPR_INDEX:
  case EXPR_COUNT:
  case EXPR_FIRST:
  case EXPR_LAST:
  case EXPR_IN:
  case EXPR_TUPLE:
  case EXPR_RANGE:
    break;
  }
}
