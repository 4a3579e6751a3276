/* vm/lang/lang_check_stmt.c - statements: types, names, and whether control goes past them. */
#include "vm/lang/lang_check_int.h"

#include <stdio.h>

static void declare_value(lang_checker *c, lang_stmt *s, lang_sym_kind kind, const lang_expr *e) {
  s->sym = lang_declare(c, kind, s->name, s->name_at);
  if (!s->sym)
    return;
  s->sym->type = e ? e->type : LS_INT;
  if (s->sym->type >= LS_NTYPES)
    s->sym->kind = SYM_BAD;
  if (!e || kind == SYM_VAR || s->sym->kind == SYM_BAD)
    return;
  s->sym->konst = e->konst;
  s->sym->value = e->value;
  s->sym->text = e->text;
  s->sym->text_len = e->text_len;
}

static lang_sym *declare_row(lang_checker *c, lang_name *name, lang_span at, lang_list *list) {
  lang_sym *sym = lang_declare(c, list ? SYM_ROW : SYM_BAD, name, at);
  if (sym)
    sym->list = list;
  return sym;
}

static void check_else(lang_checker *c, lang_stmt *s) {
  if (!s->has_else || !lang_check_block(c, &s->block))
    return;
  lang_error *e = lang_complain(c->cx, s->block.end, "the `else` block of a `let` must leave");
  lang_hint(e, "end it with return, break, continue or fault");
}

/* let g = L[k] or (v, ..): target and args take the parts. */
static bool is_ensure(const lang_expr *e) {
  return e->kind == EXPR_OR && !e->paren && e->left->kind == EXPR_INDEX && !e->left->paren &&
         (e->right->kind == EXPR_TUPLE || e->right->paren);
}

static void check_ensure(lang_checker *c, lang_stmt *s) {
  lang_expr *e = s->expr;
  bool tuple = e->right->kind == EXPR_TUPLE;
  s->ensure = true;
  s->target = e->left;
  s->args = tuple ? e->right->args : e->right;
  s->nargs = tuple ? e->right->nargs : 1;
  lang_list *list = lang_check_row(c, s->target);
  if (list && !list->nkeys) {
    lang_complain(c->cx, s->target->at, "`%s` has no key: `or` cannot add a missing row to it",
                  list->name->text);
  } else if (list) {
    lang_check_write(c, list, s->target->at);
    lang_check_row_values(c, list, s->args, s->nargs, true, e->right->at);
  }
  if (s->has_else)
    lang_complain(c->cx, s->block.end, "with `or` the row is always there: `else` has no meaning");
  s->list = list;
  s->expr = NULL;
  s->sym = declare_row(c, s->name, s->name_at, list);
}

static void check_let(lang_checker *c, lang_stmt *s) {
  if (is_ensure(s->expr)) {
    check_ensure(c, s);
    return;
  }
  if (lang_is_row_expr(s->expr)) {
    s->list = lang_check_row(c, s->expr);
    if (s->expr->kind == EXPR_NAME && s->list) {
      lang_error *e = lang_complain(c->cx, s->expr->at, "a row cannot be given a second name");
      lang_hint(e, "use `%s` itself", s->expr->name->text);
    }
    check_else(c, s);
    s->sym = declare_row(c, s->name, s->name_at, s->list);
    return;
  }
  lang_check_value(c, s->expr);
  if (s->has_else) {
    lang_error *e =
        lang_complain(c->cx, s->expr->at, "only a row that may be missing can have `else`");
    lang_hint(e, "let r = list[key] else { .. }");
  }
  declare_value(c, s, SYM_LET, s->expr);
}

static void check_var(lang_checker *c, lang_stmt *s) {
  if (lang_is_row_expr(s->expr)) {
    if (lang_check_row(c, s->expr))
      lang_complain(c->cx, s->at, "a row is named with `let`, not with `var`");
    s->sym = declare_row(c, s->name, s->name_at, NULL);
    return;
  }
  lang_check_value(c, s->expr);
  declare_value(c, s, SYM_VAR, s->expr);
}

/* ---- assignment */

static bool is_parameter(const lang_checker *c, const lang_sym *sym) {
  for (unsigned i = 0; i < c->fn->nparams; i++) {
    if (c->fn->param_syms[i] == sym)
      return true;
  }
  return false;
}

static void complain_of_constant(lang_checker *c, const lang_expr *e) {
  const char *name = e->name->text;
  bool parameter = is_parameter(c, e->sym);
  if (!parameter && !e->sym->steps) {
    lang_error *error = lang_complain(c->cx, e->at, "`%s` is constant", name);
    lang_hint(error, "declare it with `var` instead of `let` to change it");
    return;
  }
  lang_error *error = lang_complain(c->cx, e->at, "`%s` is %s, which cannot be assigned", name,
                                    parameter ? "a parameter" : "the variable of a `for`");
  lang_hint(error, "copy it: `var x = %s`", name);
}

static unsigned check_assigned_name(lang_checker *c, lang_expr *e) {
  unsigned before = c->cx->nerrors;
  bool unknown = !e->name->sym;
  unsigned type = lang_check_expr(c, e);
  if (unknown && c->cx->nerrors > before && !c->cx->errors[before].hint[0])
    lang_hint(&c->cx->errors[before], "declare it first: var %s = ..", e->name->text);
  if (type >= LS_NTYPES || e->sym->kind == SYM_VAR)
    return type;
  complain_of_constant(c, e);
  return LANG_BAD;
}

static unsigned check_assigned_field(lang_checker *c, lang_expr *e) {
  unsigned type = lang_check_expr(c, e);
  if (type >= LS_NTYPES)
    return type;
  if (e->column < e->list->nkeys) {
    lang_error *error =
        lang_complain(c->cx, e->at, "`%s` is a key column, which cannot change", e->name->text);
    lang_hint(error, "delete the row and add another");
    return LANG_BAD;
  }
  lang_check_write(c, e->list, e->at);
  return type;
}

static lang_binary set_operator(const lang_stmt *s) {
  return s->set == SET_ADD ? BIN_ADD : s->set == SET_SUB ? BIN_SUB : BIN_MUL;
}

/* x += e: the operator must fit and yield the type of x. */
static void check_update(lang_checker *c, lang_stmt *s, unsigned type) {
  unsigned right = lang_check_value(c, s->expr);
  if (type >= LS_NTYPES || right >= LS_NTYPES)
    return;
  lang_binary op = set_operator(s);
  if (lang_binary_type(op, type, right) == type)
    return;
  lang_expr e = {.op = (uint8_t)op, .op_at = s->expr->op_at};
  e.op_at = (vm_pos){s->expr->at.line, s->expr->at.column};
  lang_complain_of_operands(c, &e, type, right);
}

static void check_assign(lang_checker *c, lang_stmt *s) {
  lang_expr *t = s->target;
  unsigned type = LANG_BAD;
  if (t->kind == EXPR_NAME)
    type = check_assigned_name(c, t);
  else if (t->kind == EXPR_FIELD)
    type = check_assigned_field(c, t);
  else {
    lang_error *e =
        lang_complain(c->cx, t->at, "only a variable or a column of a row can be assigned");
    if (t->kind == EXPR_INDEX)
      lang_hint(e, "replace a row with `put`, or name a column of it");
  }
  if (s->set != SET_PLAIN)
    check_update(c, s, type);
  else
    lang_want(c, s->expr, type, "the value assigned");
}

/* ---- changing lists */

static bool check_target_list(lang_checker *c, lang_stmt *s) {
  s->list = lang_want_list(c, s->name, s->name_at);
  lang_check_write(c, s->list, s->name_at);
  return s->list && s->list->schema;
}

static void check_values(lang_checker *c, lang_stmt *s) {
  if (!check_target_list(c, s)) {
    for (lang_expr *a = s->args; a; a = a->next)
      lang_check_expr(c, a);
    return;
  }
  if (s->kind == STMT_PUT && !s->list->nkeys) {
    lang_error *e =
        lang_complain(c->cx, s->at, "`put` needs a key, and `%s` has none", s->list->name->text);
    lang_hint(e, "use `add` to append a row");
  }
  lang_check_row_values(c, s->list, s->args, s->nargs, false, s->name_at);
}

static void check_delete(lang_checker *c, lang_stmt *s) {
  lang_expr *t = s->target;
  if (t->kind == EXPR_NAME && t->name->sym && t->name->sym->kind == SYM_LIST) {
    lang_error *e = lang_complain(c->cx, t->at, "`delete` takes one row, not a list");
    lang_hint(e, "use `clear %s` to delete all rows", t->name->text);
    return;
  }
  s->list = lang_check_row(c, t);
  if (!s->list)
    return;
  lang_check_write(c, s->list, t->at);
  if (!s->list->nkeys)
    lang_complain(c->cx, t->at, "rows of a list without a key cannot be deleted");
}

static void check_sort(lang_checker *c, lang_stmt *s) {
  unsigned n = 0;
  if (!check_target_list(c, s))
    return;
  if (s->list->nkeys) {
    lang_complain(c->cx, s->name_at, "`%s` has a key and is always in its order",
                  s->list->name->text);
    return;
  }
  for (lang_key *k = s->keys; k; k = k->next) {
    lang_column *col = lang_want_column(c, s->list, k->name, k->at);
    if (!col)
      continue;
    k->place = col->place;
    if (++n > 7)
      lang_complain(c->cx, k->at, "too many columns to sort by: 7 are possible");
    else if (k->place > 126)
      lang_complain(c->cx, k->at, "only the first 127 columns can be sorted by");
  }
}

/* ---- control */

static bool check_arm(lang_checker *c, lang_arm *arm) {
  lang_sym *mark = c->locals;
  if (!arm->let) {
    if (lang_is_row_expr(arm->cond)) {
      if (lang_check_row(c, arm->cond)) {
        lang_error *e = lang_complain(c->cx, arm->cond->at, "a condition must be bool, not a row");
        lang_hint(e, "if let r = .. { }, or ask with `in`");
      }
    } else {
      lang_want(c, arm->cond, LS_BOOL, "the condition");
    }
  } else if (lang_is_row_expr(arm->cond) && arm->cond->kind != EXPR_NAME) {
    lang_list *list = lang_check_row(c, arm->cond);
    arm->sym = declare_row(c, arm->let, arm->let_at, list);
  } else {
    lang_check_expr(c, arm->cond);
    lang_error *e = lang_complain(c->cx, arm->cond->at, "`if let` needs a row that may be missing");
    lang_hint(e, "if let r = list[key] { .. }");
    arm->sym = declare_row(c, arm->let, arm->let_at, NULL);
  }
  bool goes_on = lang_check_block(c, &arm->block);
  lang_undeclare(c, mark);
  return goes_on;
}

static bool check_if(lang_checker *c, lang_stmt *s) {
  bool goes_on = !s->has_else;
  for (lang_arm *arm = s->arms; arm; arm = arm->next)
    goes_on = check_arm(c, arm) || goes_on;
  if (s->has_else)
    goes_on = lang_check_block(c, &s->block) || goes_on;
  return goes_on;
}

/* The block of a loop.  Returns whether something breaks out of it. */
static bool check_loop(lang_checker *c, lang_stmt *s) {
  lang_check_loop loop = {c->loop, false};
  c->loop = &loop;
  lang_check_block(c, &s->block);
  c->loop = loop.outer;
  return loop.broken;
}

static bool check_while(lang_checker *c, lang_stmt *s) {
  lang_want(c, s->expr, LS_BOOL, "the condition");
  bool forever = s->expr->type == LS_BOOL && s->expr->konst && s->expr->value.i;
  return check_loop(c, s) || !forever;
}

static void check_for_range(lang_checker *c, lang_expr *e) {
  if (e->left)
    lang_want(c, e->left, LS_INT, "the first number");
  if (e->right)
    lang_want(c, e->right, LS_INT, "the last number");
  if (!e->left || !e->right)
    lang_complain(c->cx, e->at, "`for` over numbers needs both ends");
}

static void complain_of_range(lang_checker *c, const lang_expr *e) {
  lang_error *error = lang_complain(c->cx, e->at, "`for` walks over a list or a range, not over %s",
                                    lang_type_text(e->type));
  if (e->type == LS_INT)
    lang_hint(error, "for i in 0..n { .. }");
}

static void check_for(lang_checker *c, lang_stmt *s) {
  lang_sym *mark = c->locals;
  lang_expr *e = s->expr;
  if (e->kind == EXPR_RANGE) {
    check_for_range(c, e);
    declare_value(c, s, SYM_LET, NULL);
    if (s->sym)
      s->sym->steps = true;
  } else {
    bool value = e->kind != EXPR_INDEX && e->kind != EXPR_NAME;
    if (value && lang_check_value(c, e) < LS_NTYPES)
      complain_of_range(c, e);
    else if (!value)
      s->list = lang_check_slice(c, e);
    s->sym = declare_row(c, s->name, s->name_at, s->list);
  }
  check_loop(c, s);
  lang_undeclare(c, mark);
}

static void check_jump(lang_checker *c, const lang_stmt *s) {
  const char *word = s->kind == STMT_BREAK ? "break" : "continue";
  if (!c->loop)
    lang_complain(c->cx, s->at, "`%s` stands outside of any loop", word);
  else if (s->kind == STMT_BREAK)
    c->loop->broken = true;
}

/* ---- results */

static void note(lang_span *first, lang_span at) {
  if (!first->line)
    *first = at;
}

static void check_returned_list(lang_checker *c, lang_stmt *s) {
  lang_list *list = s->list = lang_want_list(c, s->expr->name, s->expr->at);
  note(&c->fn->return_at, s->at);
  if (!list)
    return;
  const lang_column *col = list->cols;
  for (const lang_param *q = c->fn->result_cols; q && list->ncols == c->fn->nresult; q = q->next) {
    if (col->type != q->type) {
      lang_complain(c->cx, s->expr->at, "column `%s` of the result is %s, but `%s` of `%s` is %s",
                    q->name->text, lang_type_text(q->type), col->name->text, list->name->text,
                    lang_type_text(col->type));
      return;
    }
    col = col->next;
  }
  if (list->ncols != c->fn->nresult)
    lang_complain(c->cx, s->expr->at, "the result has %u column%s, but `%s` has %u", c->fn->nresult,
                  c->fn->nresult == 1 ? "" : "s", list->name->text, list->ncols);
}

static void check_returned_rows(lang_checker *c, lang_stmt *s) {
  if (!s->expr) {
    note(&c->fn->bare_at, s->at);
  } else if (s->expr->kind == EXPR_NAME) {
    check_returned_list(c, s);
  } else {
    lang_error *e =
        lang_complain(c->cx, s->expr->at, "`%s` returns rows: expected a list", c->fn->name->text);
    lang_hint(e, "return a list, or stream rows with `emit (..)`");
    note(&c->fn->return_at, s->at);
  }
}

static void check_return(lang_checker *c, lang_stmt *s) {
  if (c->fn->result == VM_RESULT_ROWS) {
    check_returned_rows(c, s);
  } else if (c->fn->result == VM_RESULT_SCALAR && s->expr) {
    lang_want(c, s->expr, c->fn->result_type, "the value returned");
  } else if (c->fn->result == VM_RESULT_SCALAR) {
    lang_complain(c->cx, s->at, "`return` needs a value of type %s",
                  lang_type_text(c->fn->result_type));
  } else if (s->expr) {
    lang_error *e = lang_complain(c->cx, s->expr->at, "`%s` returns nothing", c->fn->name->text);
    lang_hint(e, "declare what it returns: `%s(..): int`", c->fn->name->text);
  }
}

static void check_emit(lang_checker *c, lang_stmt *s) {
  char what[160];
  lang_fn *fn = c->fn;
  lang_expr *a = s->args;
  bool rows = fn->result == VM_RESULT_ROWS;
  for (lang_param *q = fn->result_cols; q && a; q = q->next, a = a->next) {
    snprintf(what, sizeof what, "the column `%s`", q->name->text);
    lang_want(c, a, q->type, what);
  }
  for (; a; a = a->next)
    lang_check_expr(c, a);
  note(&fn->emit_at, s->at);
  if (!rows) {
    lang_error *e = lang_complain(c->cx, s->at, "`%s` has no rows to emit", fn->name->text);
    if (fn->kind == VM_FN)
      lang_hint(e, "only queries and events emit rows");
    else
      lang_hint(e, "declare them: `%s(..): (column: type, ..)`", fn->name->text);
  } else if (s->nargs != fn->nresult) {
    lang_complain(c->cx, s->at, "the result has %u column%s, but here %s %u value%s", fn->nresult,
                  fn->nresult == 1 ? "" : "s", s->nargs == 1 ? "is" : "are", s->nargs,
                  s->nargs == 1 ? "" : "s");
  }
}

static void check_call_stmt(lang_checker *c, lang_stmt *s) {
  unsigned type = lang_check_call(c, s->expr);
  if (type < LS_NTYPES && s->expr->bif)
    lang_complain(c->cx, s->expr->at, "the value of `%s` is not used", s->expr->name->text);
}

static void check_local(lang_checker *c, lang_stmt *s) {
  lang_check_list(c->cx, s->list);
  s->sym = lang_declare(c, SYM_LIST, s->name, s->name_at);
  if (s->sym)
    s->sym->list = s->list;
}

static bool check_stmt(lang_checker *c, lang_stmt *s) {
  switch ((lang_stmt_kind)s->kind) {
  case STMT_LET:
    check_let(c, s);
    return true;
  case STMT_VAR:
    check_var(c, s);
    return true;
  case STMT_ASSIGN:
    check_assign(c, s);
    return true;
  case STMT_LOCAL:
    check_local(c, s);
    return true;
  case STMT_PUT:
  case STMT_ADD:
    check_values(c, s);
    return true;
  case STMT_DELETE:
    check_delete(c, s);
    return true;
  case STMT_CLEAR:
    check_target_list(c, s);
    return true;
  case STMT_SORT:
    check_sort(c, s);
    return true;
  case STMT_IF:
    return check_if(c, s);
  case STMT_WHILE:
    return check_while(c, s);
  case STMT_FOR:
    check_for(c, s);
    return true;
  case STMT_BREAK:
  case STMT_CONTINUE:
    check_jump(c, s);
    return false;
  case STMT_RETURN:
    check_return(c, s);
    return false;
  case STMT_EMIT:
    check_emit(c, s);
    return true;
  case STMT_FAULT:
    lang_want(c, s->expr, LS_TEXT, "the message");
    return false;
  case STMT_CALL:
    check_call_stmt(c, s);
    return true;
  }
  return true;
}

bool lang_check_block(lang_checker *c, const lang_block *b) {
  lang_sym *mark = c->locals;
  bool goes_on = true;
  for (lang_stmt *s = b->first; s && !c->cx->nomem; s = s->next)
    goes_on = check_stmt(c, s) && goes_on;
  lang_undeclare(c, mark);
  return goes_on;
}
