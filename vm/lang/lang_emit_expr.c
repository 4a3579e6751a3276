/* vm/lang/lang_emit_expr.c - values and conditions. */
#include "vm/lang/lang_emit.h"

/* The register of a name's value, or of a key column that lies in its row's block. */
static uint16_t resident_reg(lang_emitter *f, const lang_expr *e) {
  if (e->kind == EXPR_NAME)
    return e->sym->reg;
  if (e->kind != EXPR_FIELD || e->left->kind != EXPR_NAME)
    return LANG_NO_REG;
  lang_row *row = e->left->sym->row;
  bool key = row && row->keys && e->column < row->list->nkeys;
  if (!key || (e->type == LS_REAL && !row->exact))
    return LANG_NO_REG;
  lang_emit_refind(f, row, e->op_at);
  return (uint16_t)(row->base + 2 + e->column);
}

uint16_t lang_lasting_reg(lang_emitter *f, const lang_expr *e) {
  if (e->kind == EXPR_NAME && e->sym->kind == SYM_VAR)
    return LANG_NO_REG;
  return e->konst && e->kind != EXPR_NAME ? LANG_NO_REG : resident_reg(f, e);
}

uint16_t lang_emit_any(lang_emitter *f, const lang_expr *e, uint16_t hint) {
  while (e->kind == EXPR_IF && e->third->konst && !e->konst)
    e = e->third->value.i ? e->left : e->right;
  uint16_t reg = e->konst && e->kind != EXPR_NAME ? lang_kept_reg(f, e) : resident_reg(f, e);
  if (reg != LANG_NO_REG)
    return reg;
  if (hint == LANG_NO_REG)
    return lang_emit_next(f, e);
  lang_emit_to(f, e, hint, true);
  return hint;
}

uint16_t lang_emit_next(lang_emitter *f, const lang_expr *e) {
  uint16_t reg = lang_reg(f);
  lang_emit_to(f, e, reg, true);
  return reg;
}

/* ---- operators */

static vm_op compare_op(lang_binary op, unsigned type) {
  static const uint8_t ops[3][3] = {{VM_OP_IEQ, VM_OP_ILT, VM_OP_ILE},
                                    {VM_OP_REQ, VM_OP_RLT, VM_OP_RLE},
                                    {VM_OP_TEQ, VM_OP_TLT, VM_OP_TLE}};
  unsigned row = type == LS_REAL ? 1 : type == LS_TEXT ? 2 : 0;
  if (op == BIN_NE)
    return row == 1 ? VM_OP_RNE : row == 2 ? VM_OP_TNE : VM_OP_INE;
  return (vm_op)ops[row][op == BIN_EQ ? 0 : op == BIN_LT || op == BIN_GT ? 1 : 2];
}

static vm_op sum_op(lang_binary op, unsigned type) {
  switch (op) {
  case BIN_ADD:
    return type == LS_REAL ? VM_OP_RADD : VM_OP_IADD;
  case BIN_SUB:
    return type == LS_REAL ? VM_OP_RSUB : VM_OP_ISUB;
  case BIN_MUL:
    return type == LS_REAL ? VM_OP_RMUL : VM_OP_IMUL;
  case BIN_DIV:
    return type == LS_REAL ? VM_OP_RDIV : VM_OP_IDIV;
  case BIN_MOD:
  case BIN_EQ:
  case BIN_NE:
  case BIN_LT:
  case BIN_LE:
  case BIN_GT:
  case BIN_GE:
    break;
  }
  return VM_OP_IMOD;
}

void lang_emit_operator(lang_emitter *f, lang_binary op, unsigned type, uint16_t dst, uint16_t l,
                        uint16_t r, vm_pos pos) {
  if (op == BIN_GT || op == BIN_GE)
    lang_ins(f, compare_op(op, type), dst, r, l, pos);
  else if (op >= BIN_EQ)
    lang_ins(f, compare_op(op, type), dst, l, r, pos);
  else
    lang_ins(f, sum_op(op, type), dst, l, r, pos);
}

static void emit_date(lang_emitter *f, const lang_expr *e, uint16_t dst) {
  uint16_t l = lang_emit_any(f, e->left, LANG_NO_REG);
  uint16_t r;
  if (e->right->type == LS_DATE) {
    r = lang_emit_any(f, e->right, LANG_NO_REG);
    lang_ins(f, VM_OP_DDIFF, dst, l, r, e->op_at);
    return;
  }
  if (e->op == BIN_ADD) {
    r = lang_emit_any(f, e->right, LANG_NO_REG);
  } else if (e->right->konst && e->right->value.i != INT64_MIN) {
    lang_expr negative = {.type = LS_INT, .konst = true, .at = e->right->at};
    negative.value.i = -e->right->value.i;
    lang_load(f, &negative, r = lang_reg(f));
  } else {
    r = lang_emit_any(f, e->right, LANG_NO_REG);
    uint16_t t = lang_reg(f);
    lang_ins(f, VM_OP_INEG, t, r, 0, e->op_at);
    r = t;
  }
  lang_ins(f, VM_OP_DADD, dst, l, r, e->op_at);
}

static void emit_concat(lang_emitter *f, const lang_expr *e, uint16_t dst, bool in_place) {
  uint16_t base = in_place ? dst : lang_reg(f);
  lang_emit_to(f, e->left, base, true);
  lang_emit_next(f, e->right);
  lang_ins(f, VM_OP_BIF, dst, VM_BIF_CONCAT, base, e->op_at);
}

static void emit_binary(lang_emitter *f, const lang_expr *e, uint16_t dst, bool scratch) {
  const lang_expr *other;
  int64_t k;
  uint16_t hint = scratch ? dst : LANG_NO_REG;
  if (lang_adds_small(e, &other, &k)) {
    uint16_t r = lang_emit_any(f, other, hint);
    lang_ins(f, VM_OP_IADDK, dst, r, (uint16_t)(int16_t)k, e->op_at);
    return;
  }
  bool sum = e->op == BIN_ADD || e->op == BIN_SUB;
  if (sum && e->left->type == LS_DATE) {
    emit_date(f, e, dst);
    return;
  }
  if (sum && e->left->type == LS_TEXT) {
    emit_concat(f, e, dst, scratch && dst + 1u == f->top);
    return;
  }
  uint16_t l = lang_emit_any(f, e->left, hint);
  uint16_t r = lang_emit_any(f, e->right, l == hint ? LANG_NO_REG : hint);
  lang_emit_operator(f, (lang_binary)e->op, e->left->type, dst, l, r, e->op_at);
}

/* ---- and, or, not, if */

static void emit_logic(lang_emitter *f, const lang_expr *e, uint16_t dst, bool scratch) {
  uint16_t t = scratch ? dst : lang_reg(f);
  lang_label end = LANG_LABEL;
  lang_region region;
  lang_slots moved = {{0}};
  lang_emit_to(f, e->left, t, true);
  lang_jump(f, e->kind == EXPR_AND ? VM_OP_JF : VM_OP_JT, t, 0, &end, e->op_at);
  lang_region_begin(f, &region);
  lang_emit_to(f, e->right, t, true);
  lang_region_end(f, &region, &moved);
  lang_bind(f, &end);
  lang_all_moved(f, &moved);
  if (t != dst)
    lang_ins(f, VM_OP_MOV, dst, t, 0, e->op_at);
}

static void emit_if(lang_emitter *f, const lang_expr *e, uint16_t dst, bool scratch) {
  if (e->third->konst) {
    lang_emit_to(f, e->third->value.i ? e->left : e->right, dst, scratch);
    return;
  }
  lang_label other = LANG_LABEL, end = LANG_LABEL;
  lang_region region;
  lang_slots moved = {{0}};
  uint32_t top = f->top;
  lang_emit_branch(f, e->third, false, &other);
  f->top = top;
  lang_region_begin(f, &region);
  lang_emit_to(f, e->left, dst, scratch);
  lang_region_end(f, &region, &moved);
  lang_jump(f, VM_OP_JMP, 0, 0, &end, e->op_at);
  lang_bind(f, &other);
  lang_region_begin(f, &region);
  lang_emit_to(f, e->right, dst, scratch);
  lang_region_end(f, &region, &moved);
  lang_bind(f, &end);
  lang_all_moved(f, &moved);
}

/* Both sides decide: `when` or not is where to jump. */
static void branch_logic(lang_emitter *f, const lang_expr *e, bool when, lang_label *to) {
  bool left_decides = (e->kind == EXPR_OR) == when;
  lang_label past = LANG_LABEL;
  lang_region region;
  lang_slots moved = {{0}};
  if (left_decides)
    lang_emit_branch(f, e->left, when, to);
  else
    lang_emit_branch(f, e->left, !when, &past);
  lang_region_begin(f, &region);
  lang_emit_branch(f, e->right, when, to);
  moved = f->moved; /* on the way to `to` as well */
  lang_region_end(f, &region, &moved);
  lang_bind(f, &past);
  lang_all_moved(f, &moved);
}

void lang_emit_branch(lang_emitter *f, const lang_expr *e, bool when, lang_label *to) {
  uint32_t top = f->top;
  if (e->konst) {
    if ((e->value.i != 0) == when)
      lang_jump(f, VM_OP_JMP, 0, 0, to, lang_pos(e->at));
  } else if (e->kind == EXPR_NOT) {
    lang_emit_branch(f, e->left, !when, to);
  } else if (e->kind == EXPR_AND || e->kind == EXPR_OR) {
    branch_logic(f, e, when, to);
  } else if (e->kind == EXPR_IN) {
    uint16_t t = lang_reg(f);
    lang_emit_has(f, e, t);
    lang_jump(f, when != e->negated ? VM_OP_JT : VM_OP_JF, t, 0, to, e->op_at);
  } else {
    uint16_t t = lang_emit_any(f, e, LANG_NO_REG);
    lang_jump(f, when ? VM_OP_JT : VM_OP_JF, t, 0, to, e->op_at);
  }
  f->top = top;
}

/* ---- calls */

/* in_place: dst is the last register in use and the arguments may begin there. */
void lang_emit_call(lang_emitter *f, const lang_expr *e, uint16_t dst, bool in_place) {
  uint16_t base = dst;
  const lang_expr *a = e->args;
  if (in_place && a) {
    lang_emit_to(f, a, base, true);
    a = a->next;
  } else if (!in_place) {
    base = a ? (uint16_t)f->top : lang_reg(f);
  }
  for (; a; a = a->next)
    lang_emit_next(f, a);
  vm_pos pos = lang_pos(e->at);
  if (e->bif) {
    lang_ins(f, VM_OP_BIF, dst, e->bif - 1u, base, pos);
    return;
  }
  const lang_fn *callee = e->sym->fn;
  lang_ins(f, callee->is_extern ? VM_OP_CALLX : VM_OP_CALL, base, callee->number, 0, pos);
  lang_called(f, callee);
  if (base != dst && e->type < LS_NTYPES)
    lang_ins(f, VM_OP_MOV, dst, base, 0, pos);
}

static void emit_builtin(lang_emitter *f, const lang_expr *e, uint16_t dst, bool scratch) {
  if (e->nargs != 1) {
    lang_emit_call(f, e, dst, scratch && dst + 1u == f->top);
    return;
  }
  uint16_t a = lang_emit_any(f, e->args, scratch ? dst : LANG_NO_REG);
  lang_ins(f, VM_OP_BIF, dst, e->bif - 1u, a, lang_pos(e->at));
}

/* ---- all */

static void emit_unary(lang_emitter *f, const lang_expr *e, uint16_t dst, bool scratch) {
  uint16_t a = lang_emit_any(f, e->left, scratch ? dst : LANG_NO_REG);
  vm_op op = e->kind == EXPR_NOT ? VM_OP_NOT : e->type == LS_REAL ? VM_OP_RNEG : VM_OP_INEG;
  lang_ins(f, op, dst, a, 0, e->op_at);
}

static void emit_in(lang_emitter *f, const lang_expr *e, uint16_t dst) {
  lang_emit_has(f, e, dst);
  if (e->negated)
    lang_ins(f, VM_OP_NOT, dst, dst, 0, e->op_at);
}

static void emit_move(lang_emitter *f, uint16_t dst, uint16_t src, vm_pos pos) {
  if (dst != src)
    lang_ins(f, VM_OP_MOV, dst, src, 0, pos);
}

static void emit_value(lang_emitter *f, const lang_expr *e, uint16_t dst, bool scratch) {
  switch ((lang_expr_kind)e->kind) {
  case EXPR_NAME:
    emit_move(f, dst, e->sym->reg, lang_pos(e->at));
    return;
  case EXPR_FIELD:
    lang_emit_field(f, e, dst);
    return;
  case EXPR_CALL:
    if (e->bif)
      emit_builtin(f, e, dst, scratch);
    else
      lang_emit_call(f, e, dst, scratch && dst + 1u == f->top);
    return;
  case EXPR_COUNT:
    lang_emit_count(f, e, dst);
    return;
  case EXPR_NOT:
  case EXPR_NEG:
    emit_unary(f, e, dst, scratch);
    return;
  case EXPR_BINARY:
    emit_binary(f, e, dst, scratch);
    return;
  case EXPR_AND:
  case EXPR_OR:
    emit_logic(f, e, dst, scratch);
    return;
  case EXPR_IN:
    emit_in(f, e, dst);
    return;
  case EXPR_IF:
    emit_if(f, e, dst, scratch);
    return;
  case EXPR_CONST:
  case EXPR_INDEX:
  case EXPR_FIRST:
  case EXPR_LAST:
  case EXPR_TUPLE:
  case EXPR_RANGE:
    return; /* constants are loaded, the others are no values */
  }
}

void lang_emit_to(lang_emitter *f, const lang_expr *e, uint16_t dst, bool scratch) {
  uint32_t top = f->top;
  if (e->konst && e->kind != EXPR_NAME) {
    uint16_t kept = lang_kept_reg(f, e);
    if (kept != LANG_NO_REG)
      emit_move(f, dst, kept, lang_pos(e->at));
    else
      lang_load(f, e, dst);
    return;
  }
  uint16_t reg = resident_reg(f, e);
  if (reg != LANG_NO_REG)
    emit_move(f, dst, reg, lang_pos(e->at));
  else
    emit_value(f, e, dst, scratch);
  f->top = top;
}
