/* vm/lang/lang_parse.c - declarations, and the tools of the parser. */
#include "vm/lang/lang_parse_int.h"

void lang_advance(lang_parser *p) {
  p->end_line = p->tok.at.line;
  p->end_column = p->tok.at.column + p->tok.at.width;
  p->end_at = p->lexer.at;
  lang_lex(&p->lexer, &p->tok);
  if (p->cx->nomem)
    p->stop = true;
  if (p->stop)
    p->tok.kind = TOK_END;
}

bool lang_accept(lang_parser *p, lang_token_kind kind) {
  if (p->tok.kind != kind)
    return false;
  lang_advance(p);
  return true;
}

lang_error *lang_unexpected(lang_parser *p, const char *expected) {
  char buf[128];
  if (p->stop || p->tok.kind == TOK_BAD)
    return NULL;
  return lang_complain(p->cx, p->tok.at, "expected %s, found %s", expected,
                       lang_token_text(&p->tok, buf, sizeof buf));
}

bool lang_expect(lang_parser *p, lang_token_kind kind, const char *what) {
  char buf[32] = "`";
  if (lang_accept(p, kind))
    return true;
  if (!what) {
    lang_token wanted = {.kind = kind};
    what = lang_token_text(&wanted, buf, sizeof buf);
  }
  lang_unexpected(p, what);
  return false;
}

lang_name *lang_expect_name(lang_parser *p, const char *what, lang_span *at) {
  lang_name *name = p->tok.name;
  if (at)
    *at = p->tok.at;
  if (p->tok.kind == TOK_NAME) {
    lang_advance(p);
    return name;
  }
  lang_error *e = lang_unexpected(p, what);
  if (name && p->tok.kind != TOK_BAD)
    lang_hint(e, "`%s` is a reserved word", name->text);
  return NULL;
}

lang_name *lang_expect_column(lang_parser *p, lang_span *at) {
  lang_name *name = p->tok.kind == TOK_BAD ? NULL : p->tok.name;
  if (at)
    *at = p->tok.at;
  if (name)
    lang_advance(p);
  else
    lang_unexpected(p, "a column name");
  return name;
}

bool lang_enter(lang_parser *p) {
  if (p->depth < LANG_MAX_NEST) {
    p->depth++;
    return true;
  }
  if (!p->stop)
    lang_complain(p->cx, p->tok.at, "too deep: at most %d constructs inside one another",
                  LANG_MAX_NEST);
  p->stop = true;
  return false;
}

lang_span lang_span_from(const lang_parser *p, lang_span from) {
  if (from.line == p->end_line && p->end_column > from.column)
    from.width = p->end_column - from.column;
  return from;
}

/* ---- pieces of declarations */

static const char *const type_names[] = {"int", "real", "bool", "text", "date"};

static bool parse_type(lang_parser *p, uint8_t *out) {
  for (unsigned t = 0; t < LS_NTYPES; t++) {
    if (!p->tok.name || !lang_name_is(p->tok.name, type_names[t]))
      continue;
    *out = (uint8_t)t;
    lang_advance(p);
    return true;
  }
  lang_error *e = lang_unexpected(p, "a type");
  if (p->tok.name) {
    lang_hint(e, "the types are int, real, bool, text and date");
    lang_hint_word(e, p->tok.name->text, type_names, LS_NTYPES);
  }
  return false;
}

/* `name: type, ..` up to the closing parenthesis; a comma may stand before it. */
static bool parse_params(lang_parser *p, lang_param **out, uint16_t *n, bool columns,
                         unsigned most) {
  lang_param **last = out;
  *n = 0;
  if (!lang_expect(p, TOK_OPEN, NULL))
    return false;
  while (!lang_sees(p, TOK_CLOSE) || (columns && *n == 0)) {
    lang_param *q = lang_alloc(p->cx, sizeof *q);
    if (!q)
      return false;
    q->name = columns ? lang_expect_column(p, &q->at) : lang_expect_name(p, "a parameter", &q->at);
    if (!q->name || !lang_expect(p, TOK_COLON, "`:` and a type") || !parse_type(p, &q->type))
      return false;
    if (++*n > most) {
      lang_complain(p->cx, q->at, "too many %s: %u are possible",
                    columns ? "columns" : "parameters", most);
      return false;
    }
    *last = q;
    last = &q->next;
    if (!lang_accept(p, TOK_COMMA))
      break;
  }
  return lang_expect(p, TOK_CLOSE, "`,` or `)`");
}

static bool parse_key_name(lang_parser *p, lang_list *list, lang_key ***last) {
  lang_key *k = lang_alloc(p->cx, sizeof *k);
  if (!k)
    return false;
  k->name = lang_expect_column(p, &k->at);
  if (!k->name)
    return false;
  if (++list->nkeys > LS_MAX_KEYS) {
    lang_complain(p->cx, k->at, "too many key columns: %u are possible", LS_MAX_KEYS);
    return false;
  }
  **last = k;
  *last = &k->next;
  return true;
}

static bool parse_key(lang_parser *p, lang_list *list) {
  lang_key **last = &list->keys;
  if (!lang_accept(p, TOK_OPEN))
    return parse_key_name(p, list, &last);
  do
    if (!parse_key_name(p, list, &last))
      return false;
  while (lang_accept(p, TOK_COMMA) && !lang_sees(p, TOK_CLOSE));
  return lang_expect(p, TOK_CLOSE, "`,` or `)`");
}

bool lang_parse_columns(lang_parser *p, lang_list *list) {
  lang_param *columns = NULL;
  lang_column **last = &list->cols;
  if (!parse_params(p, &columns, &list->ncols, true, LS_MAX_COLS))
    return false;
  for (lang_param *q = columns; q; q = q->next) {
    lang_column *c = lang_alloc(p->cx, sizeof *c);
    if (!c)
      return false;
    c->name = q->name;
    c->at = q->at;
    c->type = q->type;
    *last = c;
    last = &c->next;
  }
  return !lang_accept(p, TOK_KEY) || parse_key(p, list);
}

/* ---- declarations */

typedef struct {
  lang_parser p;
  lang_list **last_list;
  lang_fn **last_fn, **last_extern;
} parse_top;

static bool parse_list(parse_top *t) {
  lang_parser *p = &t->p;
  lang_list *list = lang_alloc(p->cx, sizeof *list);
  if (!list)
    return false;
  list->stored = true;
  list->name = lang_expect_name(p, "a name for the list", &list->at);
  if (!list->name || !lang_parse_columns(p, list))
    return false;
  list->number = p->cx->nlists++;
  *t->last_list = list;
  t->last_list = &list->next;
  return true;
}

static bool parse_result(lang_parser *p, lang_fn *fn, bool rows) {
  if (!lang_accept(p, TOK_COLON))
    return true;
  if (rows && lang_sees(p, TOK_OPEN)) {
    fn->result = VM_RESULT_ROWS;
    return parse_params(p, &fn->result_cols, &fn->nresult, true, LS_MAX_COLS);
  }
  fn->result = VM_RESULT_SCALAR;
  if (!lang_sees(p, TOK_OPEN))
    return parse_type(p, &fn->result_type);
  lang_error *e = lang_unexpected(p, "a type");
  lang_hint(e, "only queries and events have rows as their result");
  return false;
}

/* A query or an event without parameters may do without `()`. */
static lang_fn *parse_header(lang_parser *p, vm_fn_kind kind, bool is_extern) {
  static const char *const what[] = {"a name for the function", "a name for the query",
                                     "a name for the event"};
  lang_fn *fn = lang_alloc(p->cx, sizeof *fn);
  if (!fn)
    return NULL;
  fn->kind = (uint8_t)kind;
  fn->is_extern = is_extern;
  fn->name = lang_expect_name(p, what[kind], &fn->at);
  if (!fn->name)
    return NULL;
  bool bare = kind != VM_FN && (lang_sees(p, TOK_COLON) || lang_sees(p, TOK_OPEN_BLOCK));
  if (!bare && !parse_params(p, &fn->params, &fn->nparams, false, VM_MAX_PARAMS))
    return NULL;
  return parse_result(p, fn, kind != VM_FN) ? fn : NULL;
}

static bool parse_fn(parse_top *t, vm_fn_kind kind) {
  lang_parser *p = &t->p;
  lang_fn *fn = parse_header(p, kind, false);
  if (!fn || !lang_parse_block(p, &fn->body))
    return false;
  fn->number = p->cx->nfns++;
  *t->last_fn = fn;
  t->last_fn = &fn->next;
  return true;
}

static bool parse_extern(parse_top *t, bool pure) {
  lang_parser *p = &t->p;
  if (!lang_expect(p, TOK_FN, "`fn` after `extern`"))
    return false;
  lang_fn *fn = parse_header(p, VM_FN, true);
  if (!fn)
    return false;
  fn->pure = pure;
  fn->number = p->cx->nexterns++;
  *t->last_extern = fn;
  t->last_extern = &fn->next;
  if (!lang_sees(p, TOK_OPEN_BLOCK))
    return true;
  lang_error *e = lang_unexpected(p, "the end of the line");
  lang_hint(e, "an extern fn is written by the host; it has no body");
  return false;
}

static bool complain_of_start(lang_parser *p) {
  static const char *const starts[] = {"list", "fn", "query", "event", "extern", "pure"};
  lang_error *e = lang_unexpected(p, "`list`, `fn`, `query`, `event` or `extern`");
  if (p->tok.kind == TOK_NAME)
    lang_hint_word(e, p->tok.name->text, starts, 6);
  if (p->tok.kind == TOK_LOCAL)
    lang_hint(e, "local lists are declared inside functions");
  if (p->tok.kind == TOK_LET || p->tok.kind == TOK_VAR)
    lang_hint(e, "there are no global variables; use a list, or a fn for a constant");
  return false;
}

static bool parse_declaration(parse_top *t) {
  lang_parser *p = &t->p;
  lang_token_kind kind = (lang_token_kind)p->tok.kind;
  if (kind == TOK_PURE) {
    lang_advance(p);
    return lang_expect(p, TOK_EXTERN, "`extern` after `pure`") && parse_extern(t, true);
  }
  if (kind != TOK_LIST && kind != TOK_FN && kind != TOK_QUERY && kind != TOK_EVENT &&
      kind != TOK_EXTERN)
    return complain_of_start(p);
  lang_advance(p);
  if (kind == TOK_LIST)
    return parse_list(t);
  if (kind == TOK_EXTERN)
    return parse_extern(t, false);
  return parse_fn(t, kind == TOK_FN ? VM_FN : kind == TOK_QUERY ? VM_QUERY : VM_EVENT);
}

static bool starts_declaration(const lang_parser *p) {
  switch (p->tok.kind) {
  case TOK_LIST:
  case TOK_FN:
  case TOK_QUERY:
  case TOK_EVENT:
  case TOK_EXTERN:
  case TOK_PURE:
    return p->tok.first;
  default:
    return false;
  }
}

void lang_parse(lang_cx *cx) {
  parse_top t = {.p = {.cx = cx}};
  lang_parser *p = &t.p;
  t.last_list = &cx->lists;
  t.last_fn = &cx->fns;
  t.last_extern = &cx->externs;
  lang_lex_start(&p->lexer, cx);
  lang_advance(p);
  while (p->tok.kind != TOK_END) {
    uint32_t line = p->tok.at.line, column = p->tok.at.column;
    bool fine = parse_declaration(&t);
    if (fine && p->tok.kind != TOK_END && !p->tok.first) {
      lang_unexpected(p, "the end of the line");
      fine = false;
    }
    p->depth = p->inside = 0;
    if (fine)
      continue;
    if (p->tok.at.line == line && p->tok.at.column == column)
      lang_advance(p);
    while (p->tok.kind != TOK_END && !starts_declaration(p))
      lang_advance(p);
  }
}
