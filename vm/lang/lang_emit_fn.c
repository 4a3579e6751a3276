/* vm/lang/lang_emit_fn.c - functions, from header to the last late block. */
#include "vm/lang/lang_emit.h"

#include <string.h>

/* The local list that emitted rows go to. */
static lang_list *make_result(lang_emitter *f) {
  lang_fn *fn = f->fn;
  lang_list *list = lang_alloc(f->cx, sizeof *list);
  lang_column **last = list ? &list->cols : NULL;
  if (!list)
    return NULL;
  list->name = lang_intern(f->cx, "result", 6);
  list->at = fn->at;
  list->ncols = fn->nresult;
  for (const lang_param *q = fn->result_cols; q; q = q->next) {
    lang_column *col = lang_alloc(f->cx, sizeof *col);
    if (!col)
      return NULL;
    col->name = q->name;
    col->at = q->at;
    col->type = q->type;
    *last = col;
    last = &col->next;
  }
  lang_check_list(f->cx, list);
  return list->name && list->schema && list->places ? list : NULL;
}

static void emit_start(lang_emitter *f) {
  lang_fn *fn = f->fn;
  f->top = f->nregs = fn->nparams;
  for (unsigned i = 0; i < fn->nparams; i++)
    fn->param_syms[i]->reg = (uint16_t)i;
  if (fn->result != VM_RESULT_ROWS || fn->return_at.line)
    return;
  f->result = make_result(f);
  if (f->result)
    lang_ins(f, VM_OP_NEW, lang_slot_of(f, f->result), 0, 0, lang_pos(fn->at));
  else
    f->failed = true;
}

static void emit_end(lang_emitter *f) {
  vm_pos pos = lang_pos(f->fn->body.end);
  if (f->result)
    lang_ins(f, VM_OP_RETL, lang_slot_of(f, f->result), 0, 0, pos);
  else if (f->fn->result == VM_RESULT_NONE)
    lang_ins(f, VM_OP_RET, 0, 0, 0, pos);
}

/* The other way out of a look-up: nothing is known of rows there. */
static void emit_late(lang_emitter *f) {
  for (; f->late && !f->failed; f->late = f->late->next) {
    lang_late *late = f->late;
    lang_bind(f, &late->from);
    if (!late->block) {
      lang_ins(f, VM_OP_RAISE, VM_FAULT_MISSING, 0, 0, late->pos);
      continue;
    }
    for (unsigned i = 0; i < f->nslots; i++)
      lang_moved(f, i);
    f->top = late->top;
    lang_emit_block(f, late->block);
  }
}

static const vm_param *copy_params(vm_module *m, const lang_param *first, unsigned n) {
  vm_param *out = vm_module_alloc(m, (n + 1u) * sizeof *out);
  for (unsigned i = 0; out && i < n; i++, first = first->next) {
    out[i].name = vm_module_text(m, first->name->text, first->name->len);
    out[i].type = (ls_type)first->type;
    if (!out[i].name)
      return NULL;
  }
  return out;
}

static bool copy_code(lang_emitter *f, vm_fn *out) {
  vm_ins *code = vm_module_alloc(f->b->m, (f->ncode + 1u) * sizeof *code);
  vm_pos *pos = vm_module_alloc(f->b->m, (f->ncode + 1u) * sizeof *pos);
  if (!code || !pos)
    return false;
  if (f->ncode) {
    memcpy(code, f->code, f->ncode * sizeof *code);
    memcpy(pos, f->pos, f->ncode * sizeof *pos);
  }
  out->ncode = f->ncode;
  out->code = code;
  out->pos = pos;
  return true;
}

static bool add_local(lang_builder *b, lang_list *list) {
  if (b->nlocals == b->local_cap) {
    uint32_t cap = b->local_cap ? b->local_cap * 2 : 16;
    lang_list **locals = lang_alloc(b->cx, cap * sizeof *locals);
    if (!locals)
      return false;
    if (b->nlocals)
      memcpy(locals, b->locals, b->nlocals * sizeof *locals);
    b->locals = locals;
    b->local_cap = cap;
  }
  list->number = b->cx->nlists + b->nlocals;
  b->locals[b->nlocals++] = list;
  return true;
}

static bool copy_lists(lang_emitter *f, vm_fn *out) {
  uint16_t *lists = vm_module_alloc(f->b->m, (f->nslots + 1u) * sizeof *lists);
  if (!lists)
    return false;
  for (unsigned i = 0; i < f->nslots; i++) {
    lang_list *list = f->slots[i].list;
    if (!list->stored && !add_local(f->b, list))
      return false;
    if (list->number >= UINT16_MAX) {
      lang_too_large(f, "lists in a program", UINT16_MAX);
      return false;
    }
    lists[i] = (uint16_t)list->number;
  }
  out->nlists = (uint16_t)f->nslots;
  out->lists = lists;
  return true;
}

bool lang_copy_header(lang_builder *b, const lang_fn *fn, vm_fn *out) {
  out->name = vm_module_text(b->m, fn->name->text, fn->name->len);
  out->kind = (vm_fn_kind)fn->kind;
  out->nparams = fn->nparams;
  out->params = copy_params(b->m, fn->params, fn->nparams);
  out->result = (vm_result_kind)fn->result;
  out->result_type = (ls_type)fn->result_type;
  out->nresult = fn->nresult;
  out->result_cols = copy_params(b->m, fn->result_cols, fn->nresult);
  return out->name && out->params && out->result_cols;
}

bool lang_emit_fn(lang_builder *b, lang_fn *fn, vm_fn *out) {
  lang_emitter *f = lang_alloc(b->cx, sizeof *f);
  if (!f)
    return false;
  f->b = b;
  f->cx = b->cx;
  f->fn = fn;
  f->code = b->code;
  f->pos = b->pos;
  f->reachable = true;
  f->last_late = &f->late;
  emit_start(f);
  lang_emit_block(f, &fn->body);
  emit_end(f);
  emit_late(f);
  lang_tidy(f);
  out->nregs = (uint16_t)f->nregs;
  out->nloops = (uint16_t)f->nloops;
  return !f->failed && lang_copy_header(b, fn, out) && copy_lists(f, out) && copy_code(f, out);
}
