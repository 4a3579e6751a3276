/* vm/lang/lang_emit_stmt.c - statements. */
#include "vm/lang/lang_emit.h"

/* ---- let */

/* The statement that a block consists of, if it is one alone. */
static const lang_stmt *only_stmt(const lang_block *b) {
  return b->first && !b->first->next ? b->first : NULL;
}

/* Whether a break or continue of the block belongs to a loop around it. */
static bool jumps_out(const lang_block *b) {
  for (const lang_stmt *s = b->first; s; s = s->next) {
    if (s->kind == STMT_BREAK || s->kind == STMT_CONTINUE)
      return true;
    if (s->kind == STMT_FOR || s->kind == STMT_WHILE)
      continue;
    if (jumps_out(&s->block))
      return true;
    for (const lang_arm *arm = s->arms; arm; arm = arm->next) {
      if (jumps_out(&arm->block))
        return true;
    }
  }
  return false;
}

static void bind_row(lang_sym *sym, lang_row *row) { sym->row = row; }

/* Leaves the else block for after the function's end, out of the way. */
static void put_off(lang_emitter *f, const lang_stmt *s, const lang_label *from, uint32_t top) {
  lang_late *late = lang_alloc(f->cx, sizeof *late);
  if (!late) {
    f->failed = true;
    return;
  }
  late->from = *from;
  late->block = &s->block;
  late->top = (uint16_t)top;
  *f->last_late = late;
  f->last_late = &late->next;
}

static void emit_else_here(lang_emitter *f, const lang_stmt *s, lang_label *missing, uint32_t top) {
  lang_label past = LANG_LABEL;
  lang_region region;
  lang_slots moved = {{0}};
  uint32_t keep = f->top;
  lang_jump(f, VM_OP_JMP, 0, 0, &past, lang_pos(s->at));
  lang_region_begin(f, &region);
  lang_bind(f, missing);
  f->top = top;
  lang_emit_block(f, &s->block);
  lang_region_end(f, &region, &moved);
  f->top = keep;
  lang_bind(f, &past);
}

static void emit_row_else(lang_emitter *f, const lang_stmt *s) {
  const lang_stmt *only = only_stmt(&s->block);
  uint32_t top = f->top;
  if (only && (only->kind == STMT_BREAK || only->kind == STMT_CONTINUE)) {
    lang_label *to = only->kind == STMT_BREAK ? f->loop->out : f->loop->again;
    bind_row(s->sym, lang_emit_row_or(f, s->expr, to));
    return;
  }
  lang_label missing = LANG_LABEL;
  lang_row *row = lang_emit_row_or(f, s->expr, &missing);
  if (!jumps_out(&s->block))
    put_off(f, s, &missing, top);
  else
    emit_else_here(f, s, &missing, top);
  bind_row(s->sym, row);
}

static void emit_ensure(lang_emitter *f, const lang_stmt *s) {
  lang_list *list = s->list;
  lang_row *row = lang_new_row(f, list, lang_regs(f, 2));
  for (const lang_expr *a = s->target->args; a; a = a->next)
    lang_emit_next(f, a);
  if (!row)
    return;
  uint32_t top = f->top;
  uint16_t rest = row->base;
  if (list->ncols > list->nkeys)
    rest = lang_emit_values(f, list, s->args, true);
  lang_ins(f, VM_OP_ENSURE, row->base, rest, row->slot, lang_pos(s->target->at));
  f->top = top;
  row->keys = true;
  lang_moved(f, row->slot);
  lang_found(f, row);
  bind_row(s->sym, row);
}

static void emit_let(lang_emitter *f, const lang_stmt *s) {
  if (s->ensure) {
    emit_ensure(f, s);
  } else if (s->has_else) {
    emit_row_else(f, s);
  } else if (s->list) {
    bind_row(s->sym, lang_emit_row(f, s->expr));
  } else {
    uint16_t there = lang_lasting_reg(f, s->expr);
    s->sym->reg = there != LANG_NO_REG ? there : lang_emit_next(f, s->expr);
  }
}

/* ---- assignment */

static lang_binary set_operator(const lang_stmt *s) {
  return s->set == SET_ADD ? BIN_ADD : s->set == SET_SUB ? BIN_SUB : BIN_MUL;
}

static void emit_set_name(lang_emitter *f, const lang_stmt *s) {
  if (s->set == SET_PLAIN) {
    lang_emit_to(f, s->expr, s->target->sym->reg, false);
    return;
  }
  lang_expr update = {.kind = EXPR_BINARY,
                      .op = (uint8_t)set_operator(s),
                      .type = s->target->type,
                      .at = s->at,
                      .op_at = lang_pos(s->target->at),
                      .left = s->target,
                      .right = s->expr};
  lang_emit_to(f, &update, s->target->sym->reg, false);
}

static void emit_set(lang_emitter *f, lang_row *row, const lang_stmt *s, uint16_t value) {
  vm_pos pos = lang_pos(s->target->at);
  lang_ins(f, VM_OP_SET, row->base, value, (unsigned)row->slot << 8 | s->target->column, pos);
  lang_moved(f, row->slot);
  lang_found(f, row);
}

/* r.col = e: first e, then the row. */
static void emit_set_field(lang_emitter *f, const lang_stmt *s) {
  uint16_t value = lang_emit_any(f, s->expr, LANG_NO_REG);
  lang_row *row = lang_emit_row(f, s->target->left);
  if (row)
    emit_set(f, row, s, value);
}

/* r.col += e: the row and its value, then e, then the row again if it may have moved. */
static void emit_update_field(lang_emitter *f, const lang_stmt *s) {
  const lang_expr *t = s->target;
  lang_row *row = lang_emit_row(f, t->left);
  if (!row)
    return;
  uint16_t value = lang_reg(f);
  lang_sym holder = {.kind = SYM_VAR, .type = t->type, .reg = value};
  lang_expr left = {.kind = EXPR_NAME, .type = t->type, .at = t->at, .sym = &holder};
  lang_expr update = {.kind = EXPR_BINARY,
                      .op = (uint8_t)set_operator(s),
                      .type = t->type,
                      .at = s->at,
                      .op_at = lang_pos(t->at),
                      .left = &left,
                      .right = s->expr};
  lang_ins(f, VM_OP_GET, value, row->base, (unsigned)row->slot << 8 | t->column, lang_pos(t->at));
  lang_emit_to(f, &update, value, false);
  lang_emit_refind(f, row, lang_pos(t->at));
  emit_set(f, row, s, value);
}

static void emit_assign(lang_emitter *f, const lang_stmt *s) {
  if (s->target->kind == EXPR_NAME)
    emit_set_name(f, s);
  else if (s->set == SET_PLAIN)
    emit_set_field(f, s);
  else
    emit_update_field(f, s);
}

/* ---- changing lists */

static void emit_put(lang_emitter *f, const lang_stmt *s) {
  uint16_t slot = lang_slot_of(f, s->list);
  uint16_t base = lang_emit_values(f, s->list, s->args, false);
  lang_ins(f, s->kind == STMT_PUT ? VM_OP_PUT : VM_OP_ADD, base, slot, 0, lang_pos(s->at));
  lang_moved(f, slot);
}

static void emit_delete(lang_emitter *f, const lang_stmt *s) {
  uint16_t slot = lang_slot_of(f, s->list), key;
  if (s->target->kind == EXPR_INDEX) {
    key = lang_emit_key(f, s->target->args, s->list->nkeys);
  } else {
    lang_row *row = lang_emit_row(f, s->target);
    if (!row)
      return;
    key = (uint16_t)(row->base + 2);
  }
  lang_ins(f, VM_OP_ERASE, key, slot, 0, lang_pos(s->at));
  lang_moved(f, slot);
}

static void emit_sort(lang_emitter *f, const lang_stmt *s) {
  uint16_t slot = lang_slot_of(f, s->list);
  uint64_t keys = 0;
  unsigned n = 0;
  for (const lang_key *k = s->keys; k; k = k->next, n++)
    keys |= (uint64_t)((unsigned)k->place << 1 | k->descending) << (8 * n);
  keys |= UINT64_C(0xff) << (8 * n);
  lang_ins(f, VM_OP_SORT, slot, lang_const_int(f, (int64_t)keys), 0, lang_pos(s->at));
  lang_moved(f, slot);
}

static void emit_whole(lang_emitter *f, vm_op op, lang_list *list, vm_pos pos) {
  uint16_t slot = lang_slot_of(f, list);
  lang_ins(f, op, slot, 0, 0, pos);
  lang_moved(f, slot);
}

/* ---- control */

/* Jumps to `other` unless the arm is for now. */
static void emit_arm_test(lang_emitter *f, const lang_arm *arm, lang_label *other) {
  if (arm->let)
    bind_row(arm->sym, lang_emit_row_or(f, arm->cond, other));
  else
    lang_emit_branch(f, arm->cond, false, other);
}

static void emit_arm_block(lang_emitter *f, const lang_block *b, lang_slots *moved) {
  lang_region region;
  lang_region_begin(f, &region);
  lang_emit_block(f, b);
  lang_region_end(f, &region, moved);
}

/* The tests after the first run on some paths only: all that follows it is one region. */
static void emit_if(lang_emitter *f, const lang_stmt *s) {
  lang_label end = LANG_LABEL;
  lang_region rest;
  lang_slots moved = {{0}};
  bool settled = false;
  uint32_t top = f->top;
  unsigned n = 0;
  for (const lang_arm *arm = s->arms; arm && !settled; arm = arm->next) {
    bool konst = !arm->let && arm->cond->konst;
    lang_label other = LANG_LABEL;
    if (konst && !arm->cond->value.i)
      continue;
    settled = konst;
    if (!konst)
      emit_arm_test(f, arm, &other);
    if (n++ == 0)
      lang_region_begin(f, &rest);
    emit_arm_block(f, &arm->block, &moved);
    f->top = top;
    if (!settled && (arm->next || s->has_else))
      lang_jump(f, VM_OP_JMP, 0, 0, &end, lang_pos(s->at));
    lang_bind(f, &other);
    if (settled)
      break;
  }
  if (n == 0) {
    if (s->has_else)
      lang_emit_block(f, &s->block);
    return;
  }
  if (s->has_else && !settled)
    emit_arm_block(f, &s->block, &moved);
  for (unsigned i = 0; i < 4; i++)
    moved.bits[i] |= f->moved.bits[i];
  lang_region_end(f, &rest, &moved);
  lang_bind(f, &end);
  lang_all_moved(f, &moved);
}

static void emit_return(lang_emitter *f, const lang_stmt *s) {
  vm_pos pos = lang_pos(s->at);
  if (f->fn->result == VM_RESULT_NONE)
    lang_ins(f, VM_OP_RET, 0, 0, 0, pos);
  else if (f->fn->result == VM_RESULT_SCALAR)
    lang_ins(f, VM_OP_RETV, lang_emit_any(f, s->expr, LANG_NO_REG), 0, 0, pos);
  else
    lang_ins(f, VM_OP_RETL, lang_slot_of(f, s->list ? s->list : f->result), 0, 0, pos);
}

static void emit_row_out(lang_emitter *f, const lang_stmt *s) {
  uint16_t slot = lang_slot_of(f, f->result);
  uint16_t base = lang_emit_values(f, f->result, s->args, false);
  lang_ins(f, VM_OP_ADD, base, slot, 0, lang_pos(s->at));
}

static void emit_call(lang_emitter *f, const lang_stmt *s) {
  uint16_t dst = lang_reg(f);
  lang_emit_call(f, s->expr, dst, true);
}

static void emit_stmt(lang_emitter *f, const lang_stmt *s) {
  vm_pos pos = lang_pos(s->at);
  switch ((lang_stmt_kind)s->kind) {
  case STMT_LET:
    emit_let(f, s);
    return;
  case STMT_VAR:
    s->sym->reg = lang_emit_next(f, s->expr);
    return;
  case STMT_ASSIGN:
    emit_assign(f, s);
    return;
  case STMT_LOCAL:
    emit_whole(f, VM_OP_NEW, s->list, pos);
    return;
  case STMT_PUT:
  case STMT_ADD:
    emit_put(f, s);
    return;
  case STMT_DELETE:
    emit_delete(f, s);
    return;
  case STMT_CLEAR:
    emit_whole(f, VM_OP_CLEAR, s->list, pos);
    return;
  case STMT_SORT:
    emit_sort(f, s);
    return;
  case STMT_IF:
    emit_if(f, s);
    return;
  case STMT_WHILE:
  case STMT_FOR:
    lang_emit_loop(f, s);
    return;
  case STMT_BREAK:
    lang_jump(f, VM_OP_JMP, 0, 0, f->loop->out, pos);
    return;
  case STMT_CONTINUE:
    lang_jump(f, VM_OP_JMP, 0, 0, f->loop->again, pos);
    return;
  case STMT_RETURN:
    emit_return(f, s);
    return;
  case STMT_EMIT:
    emit_row_out(f, s);
    return;
  case STMT_FAULT:
    lang_ins(f, VM_OP_FAIL, lang_emit_any(f, s->expr, LANG_NO_REG), 0, 0, pos);
    return;
  case STMT_CALL:
    emit_call(f, s);
    return;
  }
}

/* Names keep their registers to the end of the block, temporaries to that of the statement. */
static bool declares(const lang_stmt *s) { return s->kind == STMT_LET || s->kind == STMT_VAR; }

void lang_emit_block(lang_emitter *f, const lang_block *b) {
  uint32_t top = f->top;
  for (const lang_stmt *s = b->first; s && f->reachable && !f->failed; s = s->next) {
    uint32_t before = f->top;
    emit_stmt(f, s);
    if (!declares(s))
      f->top = before;
  }
  f->top = top;
}
