/* vm/lang/lang_effects.c - see lang_effects.h. */
#include "vm/lang/lang_effects.h"

static size_t words(const lang_cx *cx) { return cx->nlists / 64 + 1; }

size_t lang_effects_bytes(const lang_cx *cx) { return words(cx) * sizeof(uint64_t); }

void lang_effects_note(lang_cx *cx, lang_fn *fn, lang_list *list, lang_span at) {
  if (!fn->writes || list->number >= cx->nlists)
    return;
  fn->writes[list->number / 64] |= UINT64_C(1) << (list->number % 64);
  if (fn->write_list)
    return;
  fn->write_list = list;
  fn->write_at = at;
}

bool lang_effects_writes(const lang_fn *fn, const lang_list *stored) {
  return fn->writes[stored->number / 64] >> (stored->number % 64) & 1;
}

const lang_list *lang_effects_list(const lang_cx *cx, const lang_fn *fn) {
  if (fn->write_list)
    return fn->write_list;
  for (const lang_list *l = cx->lists; l; l = l->next) {
    if (lang_effects_writes(fn, l))
      return l;
  }
  return NULL;
}

/* Adds the callee's effects to the caller's; true when that was news. */
static bool spread_one(lang_fn *caller, const lang_fn *callee, size_t n) {
  bool news = false;
  for (size_t i = 0; i < n; i++) {
    uint64_t sum = caller->writes[i] | callee->writes[i];
    news = news || sum != caller->writes[i];
    caller->writes[i] = sum;
  }
  const lang_fn *impure = callee->is_extern && !callee->pure ? callee : callee->impure;
  if (!impure || caller->impure)
    return news;
  caller->impure = (lang_fn *)impure;
  return true;
}

typedef struct {
  lang_fn **at;
  size_t n;
} fn_stack;

static void push_all(fn_stack *stack, lang_fn *first) {
  for (lang_fn *fn = first; fn; fn = fn->next) {
    fn->queued = true;
    stack->at[stack->n++] = fn;
  }
}

void lang_effects_spread(lang_cx *cx) {
  fn_stack stack = {lang_alloc(cx, ((size_t)cx->nfns + cx->nexterns + 1) * sizeof *stack.at), 0};
  if (cx->nomem)
    return;
  push_all(&stack, cx->fns);
  push_all(&stack, cx->externs);
  while (stack.n > 0) {
    lang_fn *callee = stack.at[--stack.n];
    callee->queued = false;
    for (lang_call *call = callee->callers; call; call = call->next_caller) {
      lang_fn *caller = call->caller;
      if (!spread_one(caller, callee, words(cx)) || caller->queued)
        continue;
      caller->queued = true;
      stack.at[stack.n++] = caller;
    }
  }
}

/* ---- walking the tree */

void lang_visit_expr(const lang_visitor *v, const lang_expr *e) {
  if (!e)
    return;
  if (v->expr)
    v->expr(v->user, e);
  lang_visit_expr(v, e->third);
  lang_visit_expr(v, e->left);
  lang_visit_expr(v, e->right);
  for (const lang_expr *a = e->args; a; a = a->next)
    lang_visit_expr(v, a);
}

static void visit_stmt(const lang_visitor *v, const lang_stmt *s) {
  if (v->stmt)
    v->stmt(v->user, s);
  lang_visit_expr(v, s->target);
  lang_visit_expr(v, s->expr);
  for (const lang_expr *a = s->args; a; a = a->next)
    lang_visit_expr(v, a);
  for (const lang_arm *arm = s->arms; arm; arm = arm->next) {
    lang_visit_expr(v, arm->cond);
    lang_visit_block(v, &arm->block);
  }
  lang_visit_block(v, &s->block);
}

void lang_visit_block(const lang_visitor *v, const lang_block *b) {
  for (const lang_stmt *s = b->first; s; s = s->next)
    visit_stmt(v, s);
}

/* ---- what makes rows move */

/* Asking a local keyed list for its order may sort it. */
static bool sorts(const lang_list *list) { return list && !list->stored && list->nkeys > 0; }

static void moves_of_expr(void *user, const lang_expr *e) {
  const lang_moves *m = user;
  bool slice = e->kind == EXPR_COUNT && e->left->kind == EXPR_INDEX;
  if ((slice || e->kind == EXPR_FIRST || e->kind == EXPR_LAST) && sorts(e->list))
    m->list(m->user, e->list);
  if (e->kind == EXPR_CALL && e->sym && e->sym->kind == SYM_FN)
    m->call(m->user, e->sym->fn);
}

static void moves_of_stmt(void *user, const lang_stmt *s) {
  const lang_moves *m = user;
  switch ((lang_stmt_kind)s->kind) {
  case STMT_LOCAL:
  case STMT_PUT:
  case STMT_ADD:
  case STMT_CLEAR:
  case STMT_SORT:
    m->list(m->user, s->list);
    break;
  case STMT_LET:
    if (s->ensure)
      m->list(m->user, s->list);
    break;
  case STMT_ASSIGN:
    if (s->target->kind == EXPR_FIELD)
      m->list(m->user, s->target->list);
    break;
  case STMT_DELETE:
    m->list(m->user, s->list);
    break;
  case STMT_FOR:
    if (sorts(s->list))
      m->list(m->user, s->list);
    break;
  case STMT_VAR:
  case STMT_IF:
  case STMT_WHILE:
  case STMT_BREAK:
  case STMT_CONTINUE:
  case STMT_RETURN:
  case STMT_EMIT:
  case STMT_FAULT:
  case STMT_CALL:
    break;
  }
}

void lang_find_moves(const lang_moves *m, const lang_stmt *loop) {
  lang_visitor v = {moves_of_expr, moves_of_stmt, (void *)m};
  if (loop->kind == STMT_WHILE)
    lang_visit_expr(&v, loop->expr);
  lang_visit_block(&v, &loop->block);
}
