/* vm/lang/lang_check.c - declarations: names, lists, functions; and who may call whom. */
#include "vm/lang/lang_check_int.h"

#include "vm/lang/lang_effects.h"

const char *lang_type_text(unsigned type) {
  static const char *const names[] = {"int", "real", "bool", "text", "date", "nothing", "wrong"};
  return names[type];
}

static const char *kind_text(const lang_sym *sym) {
  switch ((lang_sym_kind)sym->kind) {
  case SYM_LIST:
    return "a list";
  case SYM_FN:
    return sym->fn->kind == VM_FN ? "a fn" : sym->fn->kind == VM_QUERY ? "a query" : "an event";
  case SYM_EXTERN:
    return "an extern fn";
  case SYM_ROW:
    return "a row";
  case SYM_LET:
  case SYM_VAR:
  case SYM_BAD:
    break;
  }
  return "a value";
}

/* ---- names */

/* Inside functions the names of queries and events mean nothing, and are free. */
static bool is_free(const lang_checker *c, const lang_sym *sym) {
  if (!sym || sym->kind == SYM_BAD)
    return true;
  return c->fn && sym->kind == SYM_FN && sym->fn->kind != VM_FN;
}

lang_sym *lang_declare(lang_checker *c, lang_sym_kind kind, lang_name *name, lang_span at) {
  lang_sym *sym = lang_alloc(c->cx, sizeof *sym);
  if (!sym)
    return NULL;
  lang_sym *before = name->sym;
  if (!is_free(c, before)) {
    lang_error *e = lang_complain(c->cx, at, "`%s` is already %s, declared in line %u", name->text,
                                  kind_text(before), before->at.line);
    lang_hint(e, "choose another name: nothing can be hidden by a second declaration");
  }
  sym->kind = (uint8_t)kind;
  sym->type = LANG_BAD;
  sym->name = name;
  sym->at = at;
  sym->hidden = before;
  sym->outer = c->locals;
  c->locals = sym;
  name->sym = sym;
  return sym;
}

void lang_undeclare(lang_checker *c, lang_sym *until) {
  while (c->locals != until) {
    c->locals->name->sym = c->locals->hidden;
    c->locals = c->locals->outer;
  }
}

static void forget_bad(lang_checker *c) {
  for (; c->bad; c->bad = c->bad->outer) {
    if (c->bad->name->sym == c->bad)
      c->bad->name->sym = NULL;
  }
}

lang_sym *lang_look_up(lang_checker *c, lang_name *name, lang_span at, const char *what,
                       bool (*fits)(const lang_sym *sym)) {
  lang_sym *sym = name->sym;
  if (sym)
    return sym->kind == SYM_BAD ? NULL : sym;
  lang_error *e = lang_complain(c->cx, at, "there is no %s `%s`", what, name->text);
  lang_hint_name(c->cx, e, name, fits);
  sym = lang_alloc(c->cx, sizeof *sym);
  if (!sym)
    return NULL;
  sym->kind = SYM_BAD;
  sym->name = name;
  sym->outer = c->bad;
  c->bad = sym;
  name->sym = sym;
  return NULL;
}

/* ---- lists */

lang_column *lang_find_column(const lang_list *list, const lang_name *name) {
  for (lang_column *col = list->cols; col; col = col->next) {
    if (col->name == name)
      return col;
  }
  return NULL;
}

static void hint_column(lang_error *e, const lang_list *list, const lang_name *name) {
  const char *names[LS_MAX_COLS];
  unsigned n = 0;
  for (lang_column *col = list->cols; col; col = col->next)
    names[n++] = col->name->text;
  lang_hint_word(e, name->text, names, n);
}

lang_column *lang_want_column(lang_checker *c, const lang_list *list, lang_name *name,
                              lang_span at) {
  lang_column *col = lang_find_column(list, name);
  if (col)
    return col;
  hint_column(
      lang_complain(c->cx, at, "the list `%s` has no column `%s`", list->name->text, name->text),
      list, name);
  return NULL;
}

static void check_columns(lang_cx *cx, const lang_list *list) {
  for (lang_column *col = list->cols; col; col = col->next) {
    for (lang_column *other = list->cols; other != col; other = other->next) {
      if (other->name != col->name)
        continue;
      lang_complain(cx, col->at, "there are two columns `%s`", col->name->text);
      break;
    }
  }
}

/* Key columns first, in key order; then the others as declared. */
void lang_check_list(lang_cx *cx, lang_list *list) {
  check_columns(cx, list);
  list->schema = lang_alloc(cx, list->ncols * sizeof *list->schema);
  list->places = lang_alloc(cx, list->ncols * sizeof *list->places);
  if (!list->schema || !list->places)
    return;
  for (lang_column *col = list->cols; col; col = col->next)
    col->place = UINT16_MAX;
  uint16_t n = 0;
  for (lang_key *k = list->keys; k; k = k->next) {
    lang_column *col = lang_find_column(list, k->name);
    if (!col)
      hint_column(lang_complain(cx, k->at, "the list has no column `%s`", k->name->text), list,
                  k->name);
    else if (col->place != UINT16_MAX)
      lang_complain(cx, k->at, "`%s` is in the key twice", k->name->text);
    else
      list->schema[col->place = n++] = col;
  }
  unsigned declared = 0;
  for (lang_column *col = list->cols; col; col = col->next) {
    if (col->place == UINT16_MAX)
      list->schema[col->place = n++] = col;
    list->places[declared++] = col->place;
  }
}

/* ---- writes and calls */

void lang_check_write(lang_checker *c, lang_list *list, lang_span at) {
  if (!list || !list->stored)
    return;
  if (c->fn->kind == VM_QUERY) {
    lang_error *e =
        lang_complain(c->cx, at, "a query cannot change the stored list `%s`", list->name->text);
    lang_hint(e, "make `%s` an event, or use a local list", c->fn->name->text);
    return;
  }
  lang_effects_note(c->cx, c->fn, list, at);
}

void lang_note_call(lang_checker *c, lang_fn *callee, lang_span at) {
  lang_call *call = lang_alloc(c->cx, sizeof *call);
  if (!call)
    return;
  call->caller = c->fn;
  call->callee = callee;
  call->at = at;
  call->next = c->fn->calls;
  c->fn->calls = call;
  call->next_caller = callee->callers;
  callee->callers = call;
}

static void check_query_call(lang_cx *cx, const lang_call *call) {
  const lang_fn *callee = call->callee;
  const lang_list *list = lang_effects_list(cx, callee);
  if (callee->is_extern && !callee->pure) {
    lang_error *e = lang_complain(cx, call->at, "a query cannot call `%s`, which is not pure",
                                  callee->name->text);
    lang_hint(e, "declare it `pure extern fn` if it only computes from its arguments");
  } else if (list) {
    lang_error *e =
        lang_complain(cx, call->at, "a query cannot call `%s`, which changes the list `%s`",
                      callee->name->text, list->name->text);
    if (callee->write_list == list)
      lang_hint(e, "it does so in line %u", callee->write_at.line);
    else
      lang_hint(e, "it does so through a function that it calls");
  } else if (callee->impure) {
    lang_complain(cx, call->at, "a query cannot call `%s`, which calls `%s`, which is not pure",
                  callee->name->text, callee->impure->name->text);
  }
}

/* ---- functions */

static void check_result_columns(lang_cx *cx, const lang_fn *fn) {
  for (lang_param *q = fn->result_cols; q; q = q->next) {
    for (lang_param *other = fn->result_cols; other != q; other = other->next) {
      if (other->name != q->name)
        continue;
      lang_complain(cx, q->at, "there are two columns `%s`", q->name->text);
      break;
    }
  }
}

static void declare_params(lang_checker *c, lang_fn *fn) {
  fn->param_syms = lang_alloc(c->cx, (fn->nparams + 1u) * sizeof *fn->param_syms);
  unsigned n = 0;
  for (lang_param *q = fn->params; q && fn->param_syms; q = q->next) {
    lang_sym *sym = lang_declare(c, SYM_LET, q->name, q->at);
    if (!sym)
      return;
    sym->type = q->type;
    fn->param_syms[n++] = sym;
  }
}

/* What the body must do with the result. */
static void check_result(lang_checker *c, lang_fn *fn, bool reaches_end) {
  if (fn->result == VM_RESULT_ROWS && fn->return_at.line) {
    if (fn->emit_at.line)
      lang_complain(c->cx, fn->emit_at, "`emit` and `return` of a list cannot be mixed");
    if (fn->bare_at.line)
      lang_complain(c->cx, fn->bare_at, "`return` needs the list to return");
  }
  bool must = fn->result == VM_RESULT_SCALAR || fn->return_at.line;
  if (!must || !reaches_end)
    return;
  lang_error *e =
      lang_complain(c->cx, fn->body.end, "not every path through `%s` returns", fn->name->text);
  if (fn->result == VM_RESULT_SCALAR)
    lang_hint(e, "it must return a value of type %s", lang_type_text(fn->result_type));
  else
    lang_hint(e, "where there is no more to return, return an empty list");
}

static void check_fn(lang_cx *cx, lang_fn *fn) {
  lang_checker c = {.cx = cx, .fn = fn};
  check_result_columns(cx, fn);
  declare_params(&c, fn);
  if (cx->nomem)
    return;
  bool reaches_end = lang_check_block(&c, &fn->body);
  lang_undeclare(&c, NULL);
  forget_bad(&c);
  check_result(&c, fn, reaches_end);
}

static bool is_builtin(const lang_name *name) {
  static const char *const names[] = {
#define BUILTIN(id, name, result, args, cost, effects, meaning) name,
#include "vm/vm_builtins.def"
#undef BUILTIN
  };
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (lang_name_is(name, names[i]))
      return true;
  }
  return false;
}

static void declare_fns(lang_checker *c, lang_fn *first) {
  for (lang_fn *fn = first; fn; fn = fn->next) {
    if (is_builtin(fn->name))
      lang_complain(c->cx, fn->at, "`%s` is a builtin function", fn->name->text);
    lang_sym *sym = lang_declare(c, fn->is_extern ? SYM_EXTERN : SYM_FN, fn->name, fn->at);
    if (!sym)
      return;
    sym->fn = fn;
    fn->writes = lang_alloc(c->cx, lang_effects_bytes(c->cx));
  }
}

static void declare_all(lang_checker *c) {
  for (lang_list *list = c->cx->lists; list; list = list->next) {
    lang_sym *sym = lang_declare(c, SYM_LIST, list->name, list->at);
    lang_check_list(c->cx, list);
    if (!sym)
      return;
    sym->list = list;
  }
  declare_fns(c, c->cx->externs);
  declare_fns(c, c->cx->fns);
}

void lang_check(lang_cx *cx) {
  lang_checker c = {.cx = cx};
  declare_all(&c);
  for (lang_fn *fn = cx->fns; fn && !cx->nomem; fn = fn->next)
    check_fn(cx, fn);
  lang_effects_spread(cx);
  for (lang_fn *fn = cx->fns; fn && !cx->nomem; fn = fn->next) {
    for (lang_call *call = fn->calls; call && fn->kind == VM_QUERY; call = call->next)
      check_query_call(cx, call);
  }
}
