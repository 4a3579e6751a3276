/* vm/lang/lang_emit_row.c - rows, slices, keys. */
#include "vm/lang/lang_emit.h"

static unsigned place(const lang_row *row, unsigned column) {
  return (unsigned)row->slot << 8 | column;
}

void lang_emit_refind(lang_emitter *f, lang_row *row, vm_pos pos) {
  if (lang_is_fresh(f, row))
    return;
  lang_ins(f, VM_OP_REFIND, row->base, row->slot, 0, pos);
  lang_found(f, row);
}

uint16_t lang_emit_key(lang_emitter *f, const lang_expr *args, unsigned n) {
  if (n == 1)
    return lang_emit_any(f, args, LANG_NO_REG);
  uint16_t base = (uint16_t)f->top;
  unsigned i = 0;
  for (const lang_expr *a = args; a && i < n; a = a->next, i++)
    lang_emit_next(f, a);
  return base;
}

/* A block of handle, version and key, the key evaluated. */
static lang_row *emit_key_block(lang_emitter *f, const lang_expr *e) {
  lang_row *row = lang_new_row(f, e->list, lang_regs(f, 2));
  for (const lang_expr *a = e->args; a; a = a->next)
    lang_emit_next(f, a);
  if (row)
    row->keys = true;
  return row;
}

/* L[i] of a positional list, where 0 <= i < count or else. */
static void emit_position_test(lang_emitter *f, uint16_t at, unsigned slot, lang_label *missing,
                               vm_pos pos) {
  uint32_t top = f->top;
  uint16_t t = lang_reg(f), bound = lang_reg(f);
  lang_ins(f, VM_OP_LDI, bound, 0, 0, pos);
  lang_ins(f, VM_OP_ILE, t, bound, at, pos);
  lang_jump(f, VM_OP_JF, t, 0, missing, pos);
  lang_ins(f, VM_OP_COUNT, bound, slot, 0, pos);
  lang_ins(f, VM_OP_ILT, t, at, bound, pos);
  lang_jump(f, VM_OP_JF, t, 0, missing, pos);
  f->top = top;
}

static lang_row *emit_position(lang_emitter *f, const lang_expr *e, lang_label *missing) {
  vm_pos pos = lang_pos(e->at);
  lang_row *row = lang_new_row(f, e->list, lang_reg(f));
  if (!row)
    return NULL;
  uint32_t top = f->top;
  uint16_t at = lang_emit_any(f, e->args, row->base);
  if (missing)
    emit_position_test(f, at, row->slot, missing, pos);
  lang_ins(f, VM_OP_ROW, row->base, at, row->slot, pos);
  f->top = top;
  return row;
}

static lang_row *emit_find(lang_emitter *f, const lang_expr *e, lang_label *missing) {
  lang_row *row = emit_key_block(f, e);
  if (!row)
    return NULL;
  if (missing)
    lang_jump(f, VM_OP_FINDJ, row->base, row->slot, missing, lang_pos(e->at));
  else
    lang_ins(f, VM_OP_FIND, row->base, row->slot, 0, lang_pos(e->at));
  lang_found(f, row);
  return row;
}

uint16_t lang_emit_bounds(lang_emitter *f, const lang_expr *slice, uint16_t slot) {
  unsigned np = 0, spec = 0;
  const lang_expr *a = slice->kind == EXPR_INDEX ? slice->args : NULL;
  for (; a; a = a->next) {
    if (a->kind != EXPR_RANGE) {
      lang_emit_next(f, a);
      np++;
      continue;
    }
    if (a->left)
      lang_emit_next(f, a->left);
    if (a->right)
      lang_emit_next(f, a->right);
    spec = (a->left ? 0x20u : 0) | (a->right ? 0x40u : 0);
  }
  return (uint16_t)((unsigned)slot << 8 | spec | np);
}

static void emit_missing(lang_emitter *f, lang_label *from, vm_pos pos) {
  lang_late *late = lang_alloc(f->cx, sizeof *late);
  if (!late) {
    f->failed = true;
    return;
  }
  late->from = *from;
  late->pos = pos;
  *f->last_late = late;
  f->last_late = &late->next;
}

/* first(L[..]) and last(L[..]): always tracked, so that the key is at hand. */
static lang_row *emit_end(lang_emitter *f, const lang_expr *e, lang_label *missing) {
  lang_list *list = e->list;
  lang_label none = LANG_LABEL;
  vm_pos pos = lang_pos(e->at);
  lang_row *row = lang_new_row(f, list, lang_regs(f, 2 + list->nkeys));
  if (!row)
    return NULL;
  uint32_t top = f->top;
  lang_regs(f, 2);
  unsigned spec = lang_emit_bounds(f, e->left, row->slot) | (list->nkeys ? LANG_TRACKED : 0);
  lang_jump(f, e->kind == EXPR_FIRST ? VM_OP_FIRSTJ : VM_OP_LASTJ, row->base, spec,
            missing ? missing : &none, pos);
  if (!missing)
    emit_missing(f, &none, pos);
  f->top = top;
  row->keys = row->exact = true;
  if (!list->stored && list->nkeys)
    lang_moved(f, row->slot);
  lang_found(f, row);
  return row;
}

lang_row *lang_emit_row_or(lang_emitter *f, const lang_expr *e, lang_label *missing) {
  if (e->kind != EXPR_INDEX)
    return emit_end(f, e, missing);
  return e->list->nkeys ? emit_find(f, e, missing) : emit_position(f, e, missing);
}

lang_row *lang_emit_row(lang_emitter *f, const lang_expr *e) {
  if (e->kind != EXPR_NAME)
    return lang_emit_row_or(f, e, NULL);
  if (e->sym->row)
    lang_emit_refind(f, e->sym->row, lang_pos(e->at));
  return e->sym->row;
}

void lang_emit_field(lang_emitter *f, const lang_expr *e, uint16_t dst) {
  lang_row *row = lang_emit_row(f, e->left);
  if (row)
    lang_ins(f, VM_OP_GET, dst, row->base, place(row, e->column), e->op_at);
}

void lang_emit_count(lang_emitter *f, const lang_expr *e, uint16_t dst) {
  uint16_t slot = lang_slot_of(f, e->list);
  if (e->left->kind == EXPR_NAME) {
    lang_ins(f, VM_OP_COUNT, dst, slot, 0, lang_pos(e->at));
    return;
  }
  uint16_t base = (uint16_t)f->top;
  uint16_t slice = lang_emit_bounds(f, e->left, slot);
  lang_ins(f, VM_OP_SCOUNT, dst, base, slice, lang_pos(e->at));
  if (!e->list->stored)
    lang_moved(f, slot);
}

void lang_emit_has(lang_emitter *f, const lang_expr *e, uint16_t dst) {
  const lang_expr *key = e->left->kind == EXPR_TUPLE ? e->left->args : e->left;
  uint16_t slot = lang_slot_of(f, e->list);
  uint16_t base = lang_emit_key(f, key, e->list->nkeys);
  lang_ins(f, VM_OP_HAS, dst, base, slot, e->op_at);
}

static bool in_order(const lang_list *list) {
  for (unsigned i = 0; i < list->ncols; i++) {
    if (list->places[i] != i)
      return false;
  }
  return true;
}

uint16_t lang_emit_values(lang_emitter *f, const lang_list *list, const lang_expr *args,
                          bool rest) {
  unsigned skip = rest ? list->nkeys : 0, n = list->ncols - skip;
  uint16_t base = (uint16_t)f->top;
  if (n == 1)
    return lang_emit_any(f, args, LANG_NO_REG);
  if (in_order(list)) {
    for (const lang_expr *a = args; a; a = a->next)
      lang_emit_next(f, a);
    return base;
  }
  unsigned declared = 0;
  lang_regs(f, n);
  for (const lang_expr *a = args; a; a = a->next, declared++) {
    while (declared < list->ncols && list->places[declared] < skip)
      declared++;
    if (declared < list->ncols)
      lang_emit_to(f, a, (uint16_t)(base + list->places[declared] - skip), true);
  }
  return base;
}
