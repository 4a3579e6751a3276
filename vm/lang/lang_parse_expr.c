/* vm/lang/lang_parse_expr.c - expressions, by precedence. */
#include "vm/lang/lang_parse_int.h"
#include "vm/vm_text.h"

enum { PREC_NONE, PREC_OR, PREC_AND, PREC_NOT, PREC_COMPARE, PREC_SUM, PREC_PRODUCT, PREC_POSTFIX };

static lang_expr *parse_binary(lang_parser *p, int least);

static lang_expr *new_expr(lang_parser *p, lang_expr_kind kind, lang_span from) {
  lang_expr *e = lang_alloc(p->cx, sizeof *e);
  if (!e) {
    p->stop = true;
    return NULL;
  }
  e->kind = (uint8_t)kind;
  e->type = LANG_BAD;
  e->at = from;
  e->op_at = (vm_pos){from.line, from.column};
  return e;
}

static uint16_t height(const lang_expr *e) { return e ? e->height : 0; }

/* Closes e: its extent and its height. */
static lang_expr *finish(lang_parser *p, lang_expr *e) {
  unsigned most = height(e->left);
  if (height(e->right) > most)
    most = height(e->right);
  if (height(e->third) > most)
    most = height(e->third);
  for (lang_expr *a = e->args; a; a = a->next) {
    if (a->height > most)
      most = a->height;
  }
  e->at = lang_span_from(p, e->at);
  e->height = (uint16_t)(most + 1);
  if (e->height <= LANG_MAX_HEIGHT)
    return e;
  if (!p->stop)
    lang_complain(p->cx, e->at, "too long: at most %d operations inside one another",
                  LANG_MAX_HEIGHT);
  p->stop = true;
  return NULL;
}

/* Items up to the closing sign, which is consumed. */
static bool parse_items(lang_parser *p, lang_token_kind close, bool ranges, lang_expr **args,
                        uint16_t *n) {
  lang_expr **last = args;
  uint32_t line = p->end_line; /* of the opening sign */
  *n = 0;
  p->inside++;
  while (!lang_sees(p, close)) {
    lang_expr *e = ranges ? lang_parse_item(p) : lang_parse_expr(p);
    if (!e)
      return false;
    *last = e;
    last = &e->next;
    if (++*n > LS_MAX_COLS) {
      lang_complain(p->cx, e->at, "too many values: at most %d", LS_MAX_COLS);
      return false;
    }
    if (!lang_accept(p, TOK_COMMA))
      break;
  }
  if (!lang_sees(p, close)) {
    bool round = close == TOK_CLOSE;
    lang_error *e = lang_unexpected(p, round ? "`,` or `)`" : "`,` or `]`");
    if (p->tok.at.line != line)
      lang_hint(e, "the `%c` is in line %u", round ? '(' : '[', line);
    return false;
  }
  p->inside--;
  lang_advance(p);
  return true;
}

bool lang_parse_values(lang_parser *p, lang_expr **args, uint16_t *n) {
  return lang_expect(p, TOK_OPEN, NULL) && parse_items(p, TOK_CLOSE, false, args, n);
}

static lang_expr *parse_literal(lang_parser *p) {
  lang_expr *e = new_expr(p, EXPR_CONST, p->tok.at);
  if (!e)
    return NULL;
  e->konst = true;
  e->type = lang_sees(p, TOK_LIT_INT)    ? LS_INT
            : lang_sees(p, TOK_LIT_REAL) ? LS_REAL
            : lang_sees(p, TOK_LIT_TEXT) ? LS_TEXT
                                         : LS_BOOL;
  e->huge = p->tok.huge;
  e->value = p->tok.value;
  e->text = p->tok.text;
  e->text_len = p->tok.text_len;
  if (e->type == LS_BOOL)
    e->value.i = lang_sees(p, TOK_TRUE);
  lang_advance(p);
  return finish(p, e);
}

/* As 0000-00-00. */
static bool is_date_spelling(const char *text, size_t len) {
  for (size_t i = 0; i < len && len == 10; i++)
    if (i == 4 || i == 7 ? text[i] != '-' : text[i] < '0' || text[i] > '9')
      return false;
  return len == 10;
}

static void complain_date(lang_parser *p) {
  const lang_token *t = &p->tok;
  if (is_date_spelling(t->text, t->text_len)) {
    lang_error *e = lang_complain(p->cx, t->at, "no such day: %.10s", t->text);
    lang_hint(e, "the calendar goes from 0001-01-01 to 9999-12-31");
    return;
  }
  lang_error *e = lang_complain(p->cx, t->at, "this is not how a date is spelled");
  lang_hint(e, "dates are written date \"YYYY-MM-DD\", with zeros: \"2020-01-09\"");
}

static lang_expr *parse_date(lang_parser *p, lang_span from) {
  lang_expr *e = new_expr(p, EXPR_CONST, from);
  if (!e)
    return NULL;
  e->konst = true;
  e->type = LS_DATE;
  if (!vm_text_to_date(p->tok.text, p->tok.text_len, &e->value.i))
    complain_date(p);
  lang_advance(p);
  return finish(p, e);
}

static lang_expr *parse_call(lang_parser *p, lang_name *name, lang_span from) {
  lang_expr *e = new_expr(p, EXPR_CALL, from);
  if (!e)
    return NULL;
  e->name = name;
  return lang_parse_values(p, &e->args, &e->nargs) ? finish(p, e) : NULL;
}

/* int(..), real(..), text(..), date(..), date ".." */
static lang_expr *parse_type_call(lang_parser *p) {
  lang_span from = p->tok.at;
  lang_token type = p->tok;
  lang_advance(p);
  if (type.kind == TOK_DATE && lang_sees(p, TOK_LIT_TEXT))
    return parse_date(p, from);
  if (lang_sees(p, TOK_OPEN))
    return parse_call(p, type.name, from);
  if (p->tok.kind != TOK_BAD && !p->stop)
    lang_complain(p->cx, from, "expected an expression, found the type `%s`", type.name->text);
  return NULL;
}

/* count(..), first(..), last(..) */
static lang_expr *parse_list_call(lang_parser *p) {
  lang_expr_kind kind = lang_sees(p, TOK_COUNT)   ? EXPR_COUNT
                        : lang_sees(p, TOK_FIRST) ? EXPR_FIRST
                                                  : EXPR_LAST;
  lang_expr *e = new_expr(p, kind, p->tok.at);
  lang_advance(p);
  if (!e || !lang_expect(p, TOK_OPEN, NULL))
    return NULL;
  p->inside++;
  e->left = lang_parse_expr(p);
  if (!e->left || !lang_sees(p, TOK_CLOSE)) {
    if (e->left)
      lang_unexpected(p, "`)`");
    return NULL;
  }
  p->inside--;
  lang_advance(p);
  return finish(p, e);
}

static lang_expr *parse_if(lang_parser *p) {
  lang_expr *e = new_expr(p, EXPR_IF, p->tok.at);
  lang_advance(p);
  if (!e)
    return NULL;
  e->third = lang_parse_expr(p);
  if (!e->third || !lang_expect(p, TOK_THEN, NULL))
    return NULL;
  e->left = lang_parse_expr(p);
  if (!e->left || !lang_expect(p, TOK_ELSE, NULL))
    return NULL;
  e->right = lang_parse_expr(p);
  return e->right ? finish(p, e) : NULL;
}

/* ( e ) or ( e, .. ) */
static lang_expr *parse_parens(lang_parser *p) {
  lang_expr *e = new_expr(p, EXPR_TUPLE, p->tok.at);
  if (!e || !lang_parse_values(p, &e->args, &e->nargs))
    return NULL;
  if (e->nargs != 1)
    return finish(p, e);
  lang_expr *inner = e->args;
  inner->paren = true;
  inner->at = lang_span_from(p, e->at);
  return inner;
}

static lang_expr *parse_name(lang_parser *p) {
  lang_span from = p->tok.at;
  lang_name *name = p->tok.name;
  lang_advance(p);
  if (lang_sees(p, TOK_OPEN) && lang_goes_on(p))
    return parse_call(p, name, from);
  lang_expr *e = new_expr(p, EXPR_NAME, from);
  if (!e)
    return NULL;
  e->name = name;
  return finish(p, e);
}

static lang_expr *parse_primary(lang_parser *p) {
  switch (p->tok.kind) {
  case TOK_NAME:
    return parse_name(p);
  case TOK_LIT_INT:
  case TOK_LIT_REAL:
  case TOK_LIT_TEXT:
  case TOK_TRUE:
  case TOK_FALSE:
    return parse_literal(p);
  case TOK_OPEN:
    return parse_parens(p);
  case TOK_IF:
    return parse_if(p);
  case TOK_COUNT:
  case TOK_FIRST:
  case TOK_LAST:
    return parse_list_call(p);
  case TOK_INT:
  case TOK_REAL:
  case TOK_BOOL:
  case TOK_TEXT:
  case TOK_DATE:
    return parse_type_call(p);
  default:
    break;
  }
  lang_error *e = lang_unexpected(p, "an expression");
  if (lang_sees(p, TOK_NOT))
    lang_hint(e, "put parentheses around `not ..`");
  else if (p->tok.first && !p->inside)
    lang_hint(e, "line %u is not finished", p->end_line);
  return NULL;
}

static lang_expr *parse_field(lang_parser *p, lang_expr *left) {
  lang_expr *e = new_expr(p, EXPR_FIELD, left->at);
  lang_advance(p);
  if (!e)
    return NULL;
  e->left = left;
  e->name = lang_expect_column(p, &e->name_at);
  return e->name ? finish(p, e) : NULL;
}

static lang_expr *parse_index(lang_parser *p, lang_expr *left) {
  lang_expr *e = new_expr(p, EXPR_INDEX, left->at);
  lang_span open = p->tok.at;
  lang_advance(p);
  if (!e || !parse_items(p, TOK_CLOSE_INDEX, true, &e->args, &e->nargs))
    return NULL;
  e->left = left;
  if (e->nargs > 0)
    return finish(p, e);
  lang_complain(p->cx, open, "expected a key between `[` and `]`");
  return NULL;
}

lang_expr *lang_parse_postfix(lang_parser *p) {
  lang_expr *e = parse_primary(p);
  while (e && lang_goes_on(p)) {
    if (lang_sees(p, TOK_DOT))
      e = parse_field(p, e);
    else if (lang_sees(p, TOK_OPEN_INDEX))
      e = parse_index(p, e);
    else
      break;
  }
  return e;
}

static lang_expr *parse_unary(lang_parser *p, lang_expr_kind kind, int least) {
  lang_expr *e = new_expr(p, kind, p->tok.at);
  lang_advance(p);
  if (e)
    e->left = parse_binary(p, least);
  if (!e || !e->left)
    return NULL;
  if (kind != EXPR_NEG || !e->left->huge || e->left->paren)
    return finish(p, e);
  e->left->huge = false; /* its value is the smallest int already */
  e->left->at = lang_span_from(p, e->at);
  return e->left;
}

/* ---- operators between two operands */

typedef struct {
  uint8_t token, prec, kind, op;
} infix;

static const infix infixes[] = {
    {TOK_OR, PREC_OR, EXPR_OR, 0},
    {TOK_AND, PREC_AND, EXPR_AND, 0},
    {TOK_EQUAL, PREC_COMPARE, EXPR_BINARY, BIN_EQ},
    {TOK_NOT_EQUAL, PREC_COMPARE, EXPR_BINARY, BIN_NE},
    {TOK_LESS, PREC_COMPARE, EXPR_BINARY, BIN_LT},
    {TOK_LESS_EQUAL, PREC_COMPARE, EXPR_BINARY, BIN_LE},
    {TOK_MORE, PREC_COMPARE, EXPR_BINARY, BIN_GT},
    {TOK_MORE_EQUAL, PREC_COMPARE, EXPR_BINARY, BIN_GE},
    {TOK_EQUAL_EQUAL, PREC_COMPARE, EXPR_BINARY, BIN_EQ},
    {TOK_IN, PREC_COMPARE, EXPR_IN, 0},
    {TOK_NOT, PREC_COMPARE, EXPR_IN, 1},
    {TOK_PLUS, PREC_SUM, EXPR_BINARY, BIN_ADD},
    {TOK_MINUS, PREC_SUM, EXPR_BINARY, BIN_SUB},
    {TOK_TIMES, PREC_PRODUCT, EXPR_BINARY, BIN_MUL},
    {TOK_DIVIDE, PREC_PRODUCT, EXPR_BINARY, BIN_DIV},
    {TOK_REMAINDER, PREC_PRODUCT, EXPR_BINARY, BIN_MOD},
};

static const infix *find_infix(const lang_parser *p, int least) {
  if (!lang_goes_on(p))
    return NULL;
  for (size_t i = 0; i < sizeof infixes / sizeof *infixes; i++) {
    if (infixes[i].token == p->tok.kind)
      return infixes[i].prec >= least ? &infixes[i] : NULL;
  }
  return NULL;
}

static lang_expr *parse_operator(lang_parser *p, const infix *op, lang_expr *left) {
  lang_expr *e = new_expr(p, (lang_expr_kind)op->kind, left->at);
  if (!e)
    return NULL;
  e->op = op->op;
  e->op_at = (vm_pos){p->tok.at.line, p->tok.at.column};
  e->left = left;
  if (op->token == TOK_EQUAL_EQUAL)
    lang_hint(lang_complain(p->cx, p->tok.at, "`==` means nothing here"), "use `=`");
  lang_advance(p);
  if (op->token == TOK_NOT) {
    e->negated = true;
    if (!lang_expect(p, TOK_IN, "`in` after `not`"))
      return NULL;
  }
  e->right = parse_binary(p, op->prec + 1);
  return e->right ? finish(p, e) : NULL;
}

static bool complain_of_chain(lang_parser *p) {
  lang_error *e = lang_complain(p->cx, p->tok.at, "comparisons cannot be chained");
  lang_hint(e, "write `a < b and b < c`, or use parentheses");
  return false;
}

static lang_expr *parse_binary(lang_parser *p, int least) {
  if (!lang_enter(p))
    return NULL;
  lang_expr *e;
  if (lang_sees(p, TOK_NOT) && least <= PREC_NOT)
    e = parse_unary(p, EXPR_NOT, PREC_NOT);
  else if (lang_sees(p, TOK_MINUS))
    e = parse_unary(p, EXPR_NEG, PREC_POSTFIX);
  else
    e = lang_parse_postfix(p);
  const infix *op;
  while (e && (op = find_infix(p, least))) {
    e = parse_operator(p, op, e);
    if (e && op->prec == PREC_COMPARE && (op = find_infix(p, PREC_COMPARE)) &&
        op->prec == PREC_COMPARE)
      e = complain_of_chain(p) ? e : NULL;
  }
  p->depth--;
  return e;
}

lang_expr *lang_parse_expr(lang_parser *p) { return parse_binary(p, PREC_OR); }

lang_expr *lang_parse_item(lang_parser *p) {
  lang_span from = p->tok.at;
  lang_expr *lo = NULL;
  if (!lang_sees(p, TOK_RANGE)) {
    lo = lang_parse_expr(p);
    if (!lo || !lang_sees(p, TOK_RANGE) || !lang_goes_on(p))
      return lo;
  }
  lang_expr *e = new_expr(p, EXPR_RANGE, from);
  if (!e)
    return NULL;
  e->left = lo;
  lang_advance(p);
  if (!lang_sees(p, TOK_COMMA) && !lang_sees(p, TOK_CLOSE_INDEX) && !lang_sees(p, TOK_OPEN_BLOCK)) {
    e->right = lang_parse_expr(p);
    if (!e->right)
      return NULL;
  }
  return finish(p, e);
}
