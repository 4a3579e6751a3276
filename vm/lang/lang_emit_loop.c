/* vm/lang/lang_emit_loop.c - loops.
 *
 *   while       L: loop; jump out unless c; block; jmp L; out:
 *   for r in L  seek; L: loop; next, out at the end; block; jmp L; out:
 *   for i       i := lo; out if hi < i; L: loop; block; out unless i < hi; i := i + 1; jmp L; out:
 *
 * The last one tests before it counts, so that the largest int can be the last number.
 */
#include "vm/lang/lang_emit.h"

static void emit_header(lang_emitter *f, lang_label *again, vm_pos pos) {
  lang_bind(f, again);
  lang_ins(f, VM_OP_LOOP, f->nloops++, 0, 0, pos);
}

static void emit_body(lang_emitter *f, const lang_stmt *s, lang_label *again, lang_label *out) {
  lang_loop loop = {f->loop, again, out};
  f->loop = &loop;
  lang_emit_block(f, &s->block);
  f->loop = loop.outer;
}

static void emit_while(lang_emitter *f, const lang_stmt *s, lang_label *out) {
  lang_label again = LANG_LABEL;
  emit_header(f, &again, lang_pos(s->at));
  lang_emit_branch(f, s->expr, false, out);
  emit_body(f, s, &again, out);
  lang_jump(f, VM_OP_JMP, 0, 0, &again, lang_pos(s->at));
}

/* Untracked unless rows may move in the block; then the block's registers hold the last key. */
static void emit_rows(lang_emitter *f, const lang_stmt *s, lang_row *row, unsigned slice,
                      lang_label *out) {
  lang_label again = LANG_LABEL;
  bool tracked = (slice & LANG_TRACKED) != 0;
  emit_header(f, &again, lang_pos(s->at));
  lang_jump(f, VM_OP_NEXT, row->base, slice, out, lang_pos(s->expr->at));
  if (tracked && !s->list->stored)
    lang_moved(f, row->slot);
  lang_found(f, row);
  row->keys = row->exact = tracked;
  s->sym->row = row;
  emit_body(f, s, &again, out);
  lang_jump(f, VM_OP_JMP, 0, 0, &again, lang_pos(s->at));
}

typedef struct {
  uint16_t i, last, test;
  bool nonempty; /* known now */
} counter;

/* The last number, evaluated once, where nothing changes it. */
static uint16_t emit_last(lang_emitter *f, const lang_expr *e) {
  uint16_t there = lang_lasting_reg(f, e);
  return there != LANG_NO_REG ? there : lang_emit_next(f, e);
}

static counter emit_counter(lang_emitter *f, const lang_stmt *s) {
  const lang_expr *lo = s->expr->left, *hi = s->expr->right;
  counter c = {.nonempty = lo->konst && hi->konst && lo->value.i <= hi->value.i};
  c.i = lang_emit_next(f, lo);
  c.last = emit_last(f, hi);
  c.test = lang_reg(f);
  return c;
}

static void emit_count(lang_emitter *f, const lang_stmt *s, const counter *c, lang_label *out) {
  lang_label head = LANG_LABEL, again = LANG_LABEL;
  vm_pos pos = lang_pos(s->at);
  emit_header(f, &head, pos);
  s->sym->reg = c->i;
  emit_body(f, s, &again, out);
  lang_bind(f, &again);
  lang_ins(f, VM_OP_ILT, c->test, c->i, c->last, pos);
  lang_jump(f, VM_OP_JF, c->test, 0, out, pos);
  lang_ins(f, VM_OP_IADDK, c->i, c->i, 1, pos);
  lang_jump(f, VM_OP_JMP, 0, 0, &head, pos);
}

static void emit_numbers(lang_emitter *f, const lang_stmt *s, const lang_slots *moves,
                         lang_label *out) {
  lang_region region;
  lang_slots none = {{0}};
  vm_pos pos = lang_pos(s->at);
  counter c = emit_counter(f, s);
  if (!c.nonempty) {
    lang_ins(f, VM_OP_ILE, c.test, c.i, c.last, pos);
    lang_jump(f, VM_OP_JF, c.test, 0, out, pos);
  }
  lang_region_begin(f, &region);
  lang_all_moved(f, moves);
  emit_count(f, s, &c, out);
  lang_region_end(f, &region, &none);
}

static void emit_slice(lang_emitter *f, const lang_stmt *s, const lang_slots *moves,
                       lang_label *out) {
  lang_region region;
  lang_slots none = {{0}};
  lang_row *row = lang_new_row(f, s->list, lang_regs(f, 2u + s->list->nkeys));
  if (!row)
    return;
  lang_regs(f, 2);
  unsigned slice = lang_emit_bounds(f, s->expr, row->slot);
  if (s->list->nkeys && lang_has_slot(moves, row->slot))
    slice |= LANG_TRACKED;
  lang_ins(f, VM_OP_SEEK, row->base, slice, 0, lang_pos(s->expr->at));
  if (!s->list->stored && s->list->nkeys)
    lang_moved(f, row->slot);
  lang_region_begin(f, &region);
  lang_all_moved(f, moves);
  emit_rows(f, s, row, slice, out);
  lang_region_end(f, &region, &none);
}

static void emit_while_loop(lang_emitter *f, const lang_stmt *s, const lang_slots *moves,
                            lang_label *out) {
  lang_region region;
  lang_slots none = {{0}};
  lang_region_begin(f, &region);
  lang_all_moved(f, moves);
  emit_while(f, s, out);
  lang_region_end(f, &region, &none);
}

static bool is_never(const lang_stmt *s) {
  const lang_expr *e = s->expr;
  if (s->kind == STMT_WHILE)
    return e->konst && !e->value.i;
  return e->kind == EXPR_RANGE && e->left->konst && e->right->konst &&
         e->left->value.i > e->right->value.i;
}

/* What moves anywhere in the loop counts as moved at its header and after it; so the regions of
 * the loops themselves need not say what moved. */
void lang_emit_loop(lang_emitter *f, const lang_stmt *s) {
  lang_label out = LANG_LABEL;
  uint32_t top = f->top;
  if (is_never(s))
    return;
  if (s->list)
    lang_slot_of(f, s->list);
  if (f->loop_depth++ == 0)
    lang_keep_consts(f, s);
  lang_slots moves = lang_loop_moves(f, s);
  if (s->kind == STMT_WHILE)
    emit_while_loop(f, s, &moves, &out);
  else if (s->expr->kind == EXPR_RANGE)
    emit_numbers(f, s, &moves, &out);
  else
    emit_slice(f, s, &moves, &out);
  lang_bind(f, &out);
  lang_all_moved(f, &moves);
  if (--f->loop_depth == 0)
    f->nkept = 0;
  f->top = top;
}
