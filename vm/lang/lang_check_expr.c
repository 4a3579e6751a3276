/* vm/lang/lang_check_expr.c - types of expressions. */
#include "vm/lang/lang_check_int.h"

#include <stdio.h>
#include <string.h>

static bool is_value_type(unsigned type) { return type < LS_NTYPES; }

static bool fits_value(const lang_sym *sym) {
  return sym->kind == SYM_LET || sym->kind == SYM_VAR || sym->kind == SYM_ROW;
}

static bool fits_call(const lang_sym *sym) {
  return sym->kind == SYM_EXTERN || (sym->kind == SYM_FN && sym->fn->kind == VM_FN);
}

static unsigned complain_of_row(lang_checker *c, const lang_expr *e) {
  lang_error *error = lang_complain(c->cx, e->at, "this is a row, not a value");
  if (e->kind == EXPR_NAME)
    lang_hint(error, "name a column: `%s.column`", e->name->text);
  else
    lang_hint(error, "name a column of it: `.column`");
  return LANG_BAD;
}

/* What other languages call the value that is none. */
static bool is_null(const lang_name *name) {
  static const char *const words[] = {"null", "NULL", "nil", "None"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    if (lang_name_is(name, words[i]))
      return true;
  }
  return false;
}

static lang_sym *look_up_value(lang_checker *c, const lang_expr *e) {
  unsigned before = c->cx->nerrors;
  lang_sym *sym = lang_look_up(c, e->name, e->at, "value", fits_value);
  if (!sym && c->cx->nerrors > before && is_null(e->name))
    lang_hint(&c->cx->errors[before],
              "values are never missing; a row may be: if let r = list[key] { .. }");
  return sym;
}

static unsigned check_name(lang_checker *c, lang_expr *e) {
  lang_sym *sym = look_up_value(c, e);
  if (!sym)
    return LANG_BAD;
  e->sym = sym;
  switch ((lang_sym_kind)sym->kind) {
  case SYM_LET:
  case SYM_VAR:
    e->konst = sym->konst;
    e->value = sym->value;
    e->text = sym->text;
    e->text_len = sym->text_len;
    return sym->type;
  case SYM_ROW:
    return complain_of_row(c, e);
  case SYM_LIST:
    lang_complain(c->cx, e->at, "`%s` is a list, not a value", e->name->text);
    return LANG_BAD;
  case SYM_FN:
  case SYM_EXTERN: {
    lang_error *error =
        lang_complain(c->cx, e->at, "`%s` is a function, not a value", e->name->text);
    lang_hint(error, "call it: `%s(..)`", e->name->text);
    return LANG_BAD;
  }
  case SYM_BAD:
    break;
  }
  return LANG_BAD;
}

static unsigned check_field(lang_checker *c, lang_expr *e) {
  lang_list *list = lang_check_row(c, e->left);
  if (!list)
    return LANG_BAD;
  lang_column *col = lang_want_column(c, list, e->name, e->name_at);
  if (!col)
    return LANG_BAD;
  e->list = list;
  e->column = col->place;
  return col->type;
}

/* ---- calls */

static const struct builtin {
  const char *name, *result, *args;
} builtins[] = {
#define BUILTIN(id, name, result, args, cost, effects, meaning) {name, result, args},
#include "vm/vm_builtins.def"
#undef BUILTIN
};

static unsigned letter_type(char letter) {
  return letter == 'I'   ? LS_INT
         : letter == 'R' ? LS_REAL
         : letter == 'B' ? LS_BOOL
         : letter == 'T' ? LS_TEXT
                         : LS_DATE;
}

static void append(char *out, size_t n, const char *text) {
  size_t len = strlen(out);
  snprintf(out + len, n - len, "%s", text);
}

static void append_args(char *out, size_t n, const char *args) {
  append(out, n, "(");
  for (size_t i = 0; args[i]; i++) {
    if (i > 0)
      append(out, n, ", ");
    append(out, n, lang_type_text(letter_type(args[i])));
  }
  append(out, n, ")");
}

static void complain_of_builtin(lang_checker *c, const lang_expr *e) {
  char takes[128] = "", has[128] = "(";
  for (size_t i = 0; i < VM_NBUILTINS; i++) {
    if (!lang_name_is(e->name, builtins[i].name))
      continue;
    if (takes[0])
      append(takes, sizeof takes, " or ");
    append_args(takes, sizeof takes, builtins[i].args);
  }
  for (lang_expr *a = e->args; a; a = a->next) {
    append(has, sizeof has, lang_type_text(a->type));
    if (a->next)
      append(has, sizeof has, ", ");
  }
  append(has, sizeof has, ")");
  lang_complain(c->cx, e->at, "`%s` takes %s, not %s", e->name->text, takes, has);
}

static bool args_fit(const lang_expr *e, const char *args) {
  if (strlen(args) != e->nargs)
    return false;
  for (lang_expr *a = e->args; a; a = a->next) {
    if (a->type != letter_type(*args++))
      return false;
  }
  return true;
}

static unsigned check_builtin(lang_checker *c, lang_expr *e) {
  bool bad = false;
  for (lang_expr *a = e->args; a; a = a->next)
    bad = lang_check_value(c, a) == LANG_BAD || bad;
  if (bad)
    return LANG_BAD;
  for (unsigned i = 0; i < VM_NBUILTINS; i++) {
    if (!lang_name_is(e->name, builtins[i].name) || !args_fit(e, builtins[i].args))
      continue;
    e->bif = (uint8_t)(i + 1);
    return letter_type(builtins[i].result[0]);
  }
  complain_of_builtin(c, e);
  return LANG_BAD;
}

static bool is_builtin(const lang_name *name) {
  for (size_t i = 0; i < VM_NBUILTINS; i++) {
    if (lang_name_is(name, builtins[i].name))
      return true;
  }
  return false;
}

static void complain_of_call(lang_checker *c, const lang_expr *e, const lang_sym *sym) {
  lang_span at = e->at;
  at.width = e->name->len;
  if (sym->kind == SYM_FN) {
    lang_error *error =
        lang_complain(c->cx, at, "`%s` is %s, which only the host can call", e->name->text,
                      sym->fn->kind == VM_QUERY ? "a query" : "an event");
    lang_hint(error, "put what they share into a `fn`");
  } else if (sym->kind == SYM_LIST) {
    lang_error *error = lang_complain(c->cx, at, "`%s` is a list, not a function", e->name->text);
    lang_hint(error, "take a row of it: `%s[..]`", e->name->text);
  } else {
    lang_complain(c->cx, at, "`%s` is not a function", e->name->text);
  }
  for (lang_expr *a = e->args; a; a = a->next)
    lang_check_expr(c, a);
}

static lang_sym *find_callee(lang_checker *c, lang_expr *e) {
  lang_span at = e->at;
  at.width = e->name->len;
  unsigned before = c->cx->nerrors;
  lang_sym *sym = lang_look_up(c, e->name, at, "function", fits_call);
  if (sym || c->cx->nerrors == before)
    return sym;
  lang_error *error = &c->cx->errors[c->cx->nerrors - 1];
  const char *names[VM_NBUILTINS];
  for (size_t i = 0; i < VM_NBUILTINS; i++)
    names[i] = builtins[i].name;
  if (!error->hint[0])
    lang_hint_word(error, e->name->text, names, VM_NBUILTINS);
  return NULL;
}

unsigned lang_check_call(lang_checker *c, lang_expr *e) {
  lang_sym *known = e->name->sym;
  if (is_builtin(e->name) && !(known && (known->kind == SYM_FN || known->kind == SYM_EXTERN)))
    return e->type = (uint8_t)check_builtin(c, e);
  lang_sym *sym = find_callee(c, e);
  if (sym && !fits_call(sym)) {
    complain_of_call(c, e, sym);
    return LANG_BAD;
  }
  char what[160];
  lang_param *q = sym ? sym->fn->params : NULL;
  for (lang_expr *a = e->args; a; a = a->next) {
    snprintf(what, sizeof what, "the argument `%s`", q ? q->name->text : "");
    if (q)
      lang_want(c, a, q->type, what);
    else
      lang_check_expr(c, a);
    q = q ? q->next : NULL;
  }
  if (!sym)
    return LANG_BAD;
  if (e->nargs != sym->fn->nparams)
    lang_complain(c->cx, e->at, "`%s` takes %u argument%s, not %u", e->name->text, sym->fn->nparams,
                  sym->fn->nparams == 1 ? "" : "s", e->nargs);
  e->sym = sym;
  lang_note_call(c, sym->fn, e->at);
  return e->type = sym->fn->result == VM_RESULT_NONE ? LANG_NONE : sym->fn->result_type;
}

/* ---- operators */

static unsigned sum_type(lang_binary op, unsigned left, unsigned right) {
  if (left == right && (left == LS_INT || left == LS_REAL))
    return left;
  if (left == LS_TEXT && right == LS_TEXT && op == BIN_ADD)
    return LS_TEXT;
  if (left == LS_DATE && right == LS_INT)
    return LS_DATE;
  if (left == LS_DATE && right == LS_DATE && op == BIN_SUB)
    return LS_INT;
  return LANG_BAD;
}

unsigned lang_binary_type(lang_binary op, unsigned left, unsigned right) {
  switch (op) {
  case BIN_ADD:
  case BIN_SUB:
    return sum_type(op, left, right);
  case BIN_MUL:
  case BIN_DIV:
    return left == right && (left == LS_INT || left == LS_REAL) ? left : LANG_BAD;
  case BIN_MOD:
    return left == LS_INT && right == LS_INT ? LS_INT : LANG_BAD;
  case BIN_EQ:
  case BIN_NE:
    return left == right ? LS_BOOL : LANG_BAD;
  case BIN_LT:
  case BIN_LE:
  case BIN_GT:
  case BIN_GE:
    return left == right && left != LS_BOOL ? LS_BOOL : LANG_BAD;
  }
  return LANG_BAD;
}

static const char *const operators[] = {"+", "-", "*", "/", "%", "=", "!=", "<", "<=", ">", ">="};

static const char *needs(lang_binary op) {
  switch (op) {
  case BIN_ADD:
    return "two ints, reals or texts, or a date and an int";
  case BIN_SUB:
    return "two ints, reals or dates, or a date and an int";
  case BIN_MUL:
  case BIN_DIV:
    return "two ints or two reals";
  case BIN_MOD:
    return "two ints";
  case BIN_EQ:
  case BIN_NE:
    return "two values of the same type";
  case BIN_LT:
  case BIN_LE:
  case BIN_GT:
  case BIN_GE:
    break;
  }
  return "two ints, reals, texts or dates";
}

void lang_complain_of_operands(lang_checker *c, const lang_expr *e, unsigned left, unsigned right) {
  uint32_t width = (uint32_t)strlen(operators[e->op]);
  lang_span at = {e->op_at.line, e->op_at.column, width};
  lang_error *error =
      lang_complain(c->cx, at, "`%s` needs %s, not %s and %s", operators[e->op],
                    needs((lang_binary)e->op), lang_type_text(left), lang_type_text(right));
  if ((left == LS_INT && right == LS_REAL) || (left == LS_REAL && right == LS_INT))
    lang_hint(error, "convert the int with `real(..)`");
  else if ((left == LS_TEXT || right == LS_TEXT) && e->op == BIN_ADD)
    lang_hint(error, "convert the other one with `text(..)`");
}

static unsigned check_binary(lang_checker *c, lang_expr *e) {
  unsigned left = lang_check_value(c, e->left);
  unsigned right = lang_check_value(c, e->right);
  if (left == LANG_BAD || right == LANG_BAD)
    return LANG_BAD;
  unsigned type = lang_binary_type((lang_binary)e->op, left, right);
  if (type == LANG_BAD)
    lang_complain_of_operands(c, e, left, right);
  return type;
}

static unsigned check_logic(lang_checker *c, lang_expr *e) {
  const char *what = e->kind == EXPR_NOT   ? "what `not` negates"
                     : e->kind == EXPR_AND ? "an operand of `and`"
                                           : "an operand of `or`";
  lang_want(c, e->left, LS_BOOL, what);
  if (e->right)
    lang_want(c, e->right, LS_BOOL, what);
  return LS_BOOL;
}

static unsigned check_neg(lang_checker *c, lang_expr *e) {
  unsigned type = lang_check_value(c, e->left);
  if (type == LS_INT || type == LS_REAL || type == LANG_BAD)
    return type;
  lang_complain(c->cx, e->at, "`-` needs an int or a real, not %s", lang_type_text(type));
  return LANG_BAD;
}

static unsigned check_if(lang_checker *c, lang_expr *e) {
  lang_want(c, e->third, LS_BOOL, "the condition");
  unsigned left = lang_check_value(c, e->left);
  unsigned right = lang_check_value(c, e->right);
  if (left == LANG_BAD || right == LANG_BAD)
    return LANG_BAD;
  if (left == right)
    return left;
  lang_complain(c->cx, e->right->at, "both values must have one type, but they are %s and %s",
                lang_type_text(left), lang_type_text(right));
  return LANG_BAD;
}

static unsigned check_count(lang_checker *c, lang_expr *e) {
  e->list = lang_check_slice(c, e->left);
  return LS_INT;
}

static unsigned check_const(lang_checker *c, lang_expr *e) {
  if (e->huge)
    lang_complain(c->cx, e->at, "this number does not fit in an int");
  return e->type;
}

static unsigned complain_of_shape(lang_checker *c, const lang_expr *e) {
  if (e->kind == EXPR_RANGE)
    lang_complain(c->cx, e->at, "`..` stands only in `for i in lo..hi` and in slices");
  else if (e->nargs == 0)
    lang_complain(c->cx, e->at, "expected an expression between `(` and `)`");
  else
    lang_complain(c->cx, e->at, "several values in parentheses stand only before `in`");
  return LANG_BAD;
}

static unsigned find_type(lang_checker *c, lang_expr *e) {
  switch ((lang_expr_kind)e->kind) {
  case EXPR_CONST:
    return check_const(c, e);
  case EXPR_NAME:
    return check_name(c, e);
  case EXPR_FIELD:
    return check_field(c, e);
  case EXPR_INDEX:
  case EXPR_FIRST:
  case EXPR_LAST:
    return lang_check_row(c, e) ? complain_of_row(c, e) : LANG_BAD;
  case EXPR_CALL:
    return lang_check_call(c, e);
  case EXPR_COUNT:
    return check_count(c, e);
  case EXPR_NOT:
  case EXPR_AND:
  case EXPR_OR:
    return check_logic(c, e);
  case EXPR_NEG:
    return check_neg(c, e);
  case EXPR_BINARY:
    return check_binary(c, e);
  case EXPR_IN:
    return lang_check_in(c, e);
  case EXPR_IF:
    return check_if(c, e);
  case EXPR_TUPLE:
  case EXPR_RANGE:
    return complain_of_shape(c, e);
  }
  return LANG_BAD;
}

unsigned lang_check_expr(lang_checker *c, lang_expr *e) {
  e->type = (uint8_t)find_type(c, e);
  if (is_value_type(e->type))
    lang_fold(e);
  return e->type;
}

unsigned lang_check_value(lang_checker *c, lang_expr *e) {
  if (lang_check_expr(c, e) != LANG_NONE)
    return e->type;
  lang_complain(c->cx, e->at, "`%s` returns nothing", e->name->text);
  return e->type = LANG_BAD;
}

void lang_want(lang_checker *c, lang_expr *e, unsigned type, const char *what) {
  unsigned found = lang_check_value(c, e);
  if (found == LANG_BAD || type == LANG_BAD || found == type)
    return;
  lang_error *error = lang_complain(c->cx, e->at, "%s must be %s, but this is %s", what,
                                    lang_type_text(type), lang_type_text(found));
  bool converts = type != LS_BOOL && type != LS_DATE && found != LS_DATE && found != LS_BOOL;
  if (converts || (type == LS_TEXT && found < LS_NTYPES))
    lang_hint(error, "convert it: `%s(..)`", lang_type_text(type));
}
