/* vm/lang/lang_check_row.c - rows, slices and membership. */
#include "vm/lang/lang_check_int.h"

#include <stdio.h>

static bool fits_list(const lang_sym *sym) { return sym->kind == SYM_LIST; }

lang_list *lang_want_list(lang_checker *c, lang_name *name, lang_span at) {
  lang_sym *sym = lang_look_up(c, name, at, "list", fits_list);
  if (!sym)
    return NULL;
  if (sym->kind == SYM_LIST)
    return sym->list;
  lang_complain(c->cx, at, "`%s` is not a list", name->text);
  return NULL;
}

static lang_list *check_list_expr(lang_checker *c, lang_expr *e) {
  if (e->kind == EXPR_NAME)
    return e->list = lang_want_list(c, e->name, e->at);
  lang_complain(c->cx, e->at, "expected the name of a list");
  return NULL;
}

static bool has_range(const lang_expr *e) {
  const lang_expr *last = e->args;
  while (last && last->next)
    last = last->next;
  return last && last->kind == EXPR_RANGE;
}

/* L[i] of a positional list. */
static bool check_position(lang_checker *c, const lang_list *list, lang_expr *e) {
  if (e->nargs == 1 && e->args->kind != EXPR_RANGE) {
    lang_want(c, e->args, LS_INT, "a position");
    return true;
  }
  lang_error *error = lang_complain(
      c->cx, e->at, "`%s` has no key: it takes one position from 0 on", list->name->text);
  lang_hint(error, "slices are for keyed lists: list %s (..) key (..)", list->name->text);
  return false;
}

static void check_range(lang_checker *c, lang_expr *e, const lang_column *col, const char *what) {
  if (e->left)
    lang_want(c, e->left, col->type, what);
  if (e->right)
    lang_want(c, e->right, col->type, what);
  if (!e->left && !e->right)
    lang_complain(c->cx, e->at, "`..` needs a bound on at least one side");
}

/* The items between [ and ] against the key of a keyed list. */
static bool check_key_items(lang_checker *c, const lang_list *list, lang_expr *e) {
  unsigned n = 0;
  char what[160];
  if (e->nargs > list->nkeys) {
    lang_complain(c->cx, e->at, "the key of `%s` has %u column%s, not %u", list->name->text,
                  list->nkeys, list->nkeys == 1 ? "" : "s", e->nargs);
    return false;
  }
  for (lang_expr *a = e->args; a; a = a->next) {
    const lang_column *col = list->schema[n++];
    snprintf(what, sizeof what, "the key column `%s`", col->name->text);
    if (a->kind != EXPR_RANGE) {
      lang_want(c, a, col->type, what);
    } else if (a->next) {
      lang_complain(c->cx, a->at, "a range must come last: nothing can follow it in the key");
      return false;
    } else {
      check_range(c, a, col, what);
    }
  }
  return true;
}

/* Settles L[..]: its list, the types of its items.  NULL after a complaint. */
static lang_list *check_index(lang_checker *c, lang_expr *e) {
  lang_list *list = check_list_expr(c, e->left);
  if (!list || !list->schema)
    return NULL;
  e->list = list;
  bool fine = list->nkeys ? check_key_items(c, list, e) : check_position(c, list, e);
  return fine ? list : NULL;
}

static lang_list *complain_of_slice(lang_checker *c, const lang_list *list, const lang_expr *e) {
  lang_error *error =
      lang_complain(c->cx, e->at, "this is a slice of `%s`, not a row", list->name->text);
  if (has_range(e))
    lang_hint(error, "walk over it with `for`, or take first(..) or last(..) of it");
  else
    lang_hint(error, "the key has %u columns; or walk over it with `for`", list->nkeys);
  return NULL;
}

static lang_list *check_row_name(lang_checker *c, lang_expr *e) {
  lang_sym *sym = e->name->sym;
  if (sym && sym->kind == SYM_ROW) {
    e->sym = sym;
    return e->list = sym->list;
  }
  if (sym && sym->kind == SYM_LIST) {
    lang_error *error = lang_complain(c->cx, e->at, "`%s` is a list, not a row", e->name->text);
    lang_hint(error, "take a row of it: `%s[..]`", e->name->text);
    return NULL;
  }
  unsigned type = lang_check_expr(c, e);
  if (type < LS_NTYPES)
    lang_complain(c->cx, e->at, "`%s` is a value of type %s, not a row", e->name->text,
                  lang_type_text(type));
  return NULL;
}

bool lang_is_row_expr(const lang_expr *e) {
  return e->kind == EXPR_INDEX || e->kind == EXPR_FIRST || e->kind == EXPR_LAST ||
         (e->kind == EXPR_NAME && e->name->sym && e->name->sym->kind == SYM_ROW);
}

lang_list *lang_check_row(lang_checker *c, lang_expr *e) {
  if (e->kind == EXPR_NAME)
    return check_row_name(c, e);
  if (e->kind == EXPR_FIRST || e->kind == EXPR_LAST)
    return e->list = lang_check_slice(c, e->left);
  if (e->kind == EXPR_INDEX) {
    lang_list *list = check_index(c, e);
    if (list && list->nkeys && (has_range(e) || e->nargs < list->nkeys))
      return complain_of_slice(c, list, e);
    return list;
  }
  if (lang_check_value(c, e) < LS_NTYPES)
    lang_complain(c->cx, e->at, "this is a value of type %s, not a row", lang_type_text(e->type));
  return NULL;
}

lang_list *lang_check_slice(lang_checker *c, lang_expr *e) {
  if (e->kind == EXPR_NAME && e->name->sym && e->name->sym->kind != SYM_LIST &&
      e->name->sym->kind != SYM_BAD) {
    lang_complain(c->cx, e->at, "`%s` is not a list", e->name->text);
    return NULL;
  }
  if (e->kind != EXPR_INDEX)
    return check_list_expr(c, e);
  lang_list *list = check_index(c, e);
  if (!list || (list->nkeys && (has_range(e) || e->nargs < list->nkeys)))
    return list;
  lang_error *error =
      lang_complain(c->cx, e->at, "this is one row of `%s`, not a slice", list->name->text);
  if (list->nkeys)
    lang_hint(error, "ask whether it is there with `in`, or take it with `if let`");
  return NULL;
}

static bool is_slice_of(const lang_expr *e) { return e->kind == EXPR_INDEX; }

unsigned lang_check_in(lang_checker *c, lang_expr *e) {
  if (is_slice_of(e->right)) {
    lang_error *error =
        lang_complain(c->cx, e->right->at, "after `in` stands a list, not a part of it");
    lang_hint(error, "put the whole key before it: `(a, b) in list`");
    return LS_BOOL;
  }
  lang_list *list = check_list_expr(c, e->right);
  bool tuple = e->left->kind == EXPR_TUPLE;
  lang_expr *first = tuple ? e->left->args : e->left;
  unsigned n = tuple ? e->left->nargs : 1;
  e->list = list;
  if (list && !list->nkeys) {
    lang_error *error =
        lang_complain(c->cx, e->right->at, "`%s` has no key to look for", list->name->text);
    lang_hint(error, "declare it with a key: list %s (..) key (..)", list->name->text);
  } else if (list && n != list->nkeys) {
    lang_complain(c->cx, e->left->at, "the key of `%s` has %u column%s, not %u", list->name->text,
                  list->nkeys, list->nkeys == 1 ? "" : "s", n);
  }
  char what[160];
  unsigned i = 0;
  for (lang_expr *a = first; a && i < n; a = a->next, i++) {
    if (!list || i >= list->nkeys || !list->schema) {
      lang_check_expr(c, a);
      continue;
    }
    snprintf(what, sizeof what, "the key column `%s`", list->schema[i]->name->text);
    lang_want(c, a, list->schema[i]->type, what);
  }
  return LS_BOOL;
}

void lang_check_row_values(lang_checker *c, const lang_list *list, lang_expr *args, unsigned nargs,
                           bool rest, lang_span at) {
  unsigned want = list->ncols - (rest ? list->nkeys : 0);
  char what[160];
  lang_expr *a = args;
  for (const lang_column *col = list->cols; col && a; col = col->next) {
    if (rest && col->place < list->nkeys)
      continue;
    snprintf(what, sizeof what, "the column `%s`", col->name->text);
    lang_want(c, a, col->type, what);
    a = a->next;
  }
  for (; a; a = a->next)
    lang_check_expr(c, a);
  if (nargs != want)
    lang_complain(c->cx, at, "`%s` has %u %scolumn%s, but here %s %u value%s", list->name->text,
                  want, rest ? "more " : "", want == 1 ? "" : "s", nargs == 1 ? "is" : "are", nargs,
                  nargs == 1 ? "" : "s");
}
