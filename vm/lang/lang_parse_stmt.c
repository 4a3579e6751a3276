/* vm/lang/lang_parse_stmt.c - statements and blocks. */
#include "vm/lang/lang_parse_int.h"

#include <string.h>

static lang_stmt *new_stmt(lang_parser *p, lang_stmt_kind kind) {
  lang_stmt *s = lang_alloc(p->cx, sizeof *s);
  if (!s) {
    p->stop = true;
    return NULL;
  }
  s->kind = (uint8_t)kind;
  s->at = p->tok.at;
  return s;
}

/* let and var: name = expr */
static bool parse_binding(lang_parser *p, lang_stmt *s) {
  lang_advance(p);
  s->name = lang_expect_name(p, "a name", &s->name_at);
  if (!s->name)
    return false;
  if (!lang_sees(p, TOK_EQUAL)) {
    lang_error *e = lang_unexpected(p, "`=`");
    if (lang_sees(p, TOK_COLON))
      lang_hint(e, "the type is that of the value; leave it out");
    return false;
  }
  lang_advance(p);
  s->expr = lang_parse_expr(p);
  if (!s->expr || s->kind == STMT_VAR || !lang_sees(p, TOK_ELSE))
    return s->expr != NULL;
  lang_advance(p);
  s->has_else = true;
  return lang_parse_block(p, &s->block);
}

static bool parse_local(lang_parser *p, lang_stmt *s) {
  lang_advance(p);
  s->list = lang_alloc(p->cx, sizeof *s->list);
  if (!s->list)
    return false;
  s->list->name = lang_expect_name(p, "a name for the list", &s->list->at);
  s->name = s->list->name;
  s->name_at = s->list->at;
  return s->name && lang_parse_columns(p, s->list);
}

/* The list of put, add, clear and sort. */
static bool parse_list_name(lang_parser *p, lang_stmt *s) {
  lang_advance(p);
  s->name = lang_expect_name(p, "a list", &s->name_at);
  return s->name != NULL;
}

static bool parse_sort(lang_parser *p, lang_stmt *s) {
  lang_key **last = &s->keys;
  if (!parse_list_name(p, s) || !lang_expect(p, TOK_BY, NULL))
    return false;
  do {
    lang_key *k = lang_alloc(p->cx, sizeof *k);
    if (!k)
      return false;
    k->name = lang_expect_column(p, &k->at);
    if (!k->name)
      return false;
    k->descending = !p->tok.first && lang_accept(p, TOK_DESC);
    *last = k;
    last = &k->next;
  } while (lang_accept(p, TOK_COMMA));
  return true;
}

/* From `if` on: condition or `let name = row`, and the block. */
static bool parse_arm(lang_parser *p, lang_arm *arm) {
  lang_advance(p);
  if (lang_accept(p, TOK_LET)) {
    arm->let = lang_expect_name(p, "a name", &arm->let_at);
    if (!arm->let || !lang_expect(p, TOK_EQUAL, NULL))
      return false;
  }
  arm->cond = lang_parse_expr(p);
  if (arm->cond && lang_sees(p, TOK_THEN)) {
    lang_error *e = lang_unexpected(p, "`{`");
    lang_hint(e, "an if statement has blocks: if c { .. } else { .. }");
    return false;
  }
  return arm->cond && lang_parse_block(p, &arm->block);
}

static bool parse_if(lang_parser *p, lang_stmt *s) {
  lang_arm **last = &s->arms;
  do {
    lang_arm *arm = lang_alloc(p->cx, sizeof *arm);
    if (!arm || !parse_arm(p, arm))
      return false;
    *last = arm;
    last = &arm->next;
    if (!lang_accept(p, TOK_ELSE))
      return true;
  } while (lang_sees(p, TOK_IF));
  s->has_else = true;
  return lang_parse_block(p, &s->block);
}

static bool parse_while(lang_parser *p, lang_stmt *s) {
  lang_advance(p);
  s->expr = lang_parse_expr(p);
  return s->expr && lang_parse_block(p, &s->block);
}

static bool parse_for(lang_parser *p, lang_stmt *s) {
  lang_advance(p);
  s->name = lang_expect_name(p, "a name", &s->name_at);
  if (!s->name || !lang_expect(p, TOK_IN, NULL))
    return false;
  s->expr = lang_parse_item(p);
  return s->expr && lang_parse_block(p, &s->block);
}

static bool parse_return(lang_parser *p, lang_stmt *s) {
  lang_advance(p);
  if (p->tok.first || lang_sees(p, TOK_CLOSE_BLOCK) || lang_sees(p, TOK_END))
    return true;
  s->expr = lang_parse_expr(p);
  return s->expr != NULL;
}

static bool parse_with_values(lang_parser *p, lang_stmt *s) {
  return parse_list_name(p, s) && lang_parse_values(p, &s->args, &s->nargs);
}

static bool find_set(const lang_parser *p, uint8_t *out) {
  switch (p->tok.kind) {
  case TOK_EQUAL:
    *out = SET_PLAIN;
    return true;
  case TOK_PLUS_SET:
    *out = SET_ADD;
    return true;
  case TOK_MINUS_SET:
    *out = SET_SUB;
    return true;
  case TOK_TIMES_SET:
    *out = SET_MUL;
    return true;
  default:
    return false;
  }
}

static const char *const starts[] = {"let",   "var",    "local",    "put",   "add", "delete",
                                     "clear", "sort",   "if",       "while", "for", "break",
                                     "emit",  "return", "continue", "fault"};

static bool complain_of_statement(lang_parser *p, const lang_stmt *s, const lang_expr *e) {
  char buf[128];
  if (p->stop || p->tok.kind == TOK_BAD)
    return false;
  if (e->kind == EXPR_NAME && !lang_sees(p, TOK_EQUAL_EQUAL)) {
    lang_error *error =
        lang_complain(p->cx, s->at, "expected a statement, found `%s`", e->name->text);
    lang_hint_word(error, e->name->text, starts, sizeof starts / sizeof *starts);
    return false;
  }
  lang_error *error = lang_complain(p->cx, p->tok.at, "expected `=`, `+=`, `-=` or `*=`, found %s",
                                    lang_token_text(&p->tok, buf, sizeof buf));
  if (lang_sees(p, TOK_EQUAL_EQUAL))
    lang_hint(error, "use `=`");
  return false;
}

/* Whether the token and the byte after it are an operator of other languages: its second sign. */
static char find_foreign_set(const lang_parser *p) {
  const lang_cx *cx = p->cx;
  char next = p->lexer.at < cx->len ? cx->text[p->lexer.at] : 0;
  if (!lang_goes_on(p))
    return 0;
  if ((lang_sees(p, TOK_DIVIDE) || lang_sees(p, TOK_REMAINDER)) && next == '=')
    return next;
  return lang_sees(p, TOK_PLUS) && next == '+' ? next : 0;
}

/* The text from an offset to the end of the token before, if it is short and on one line. */
static int short_text(const lang_parser *p, size_t from, const char **out) {
  size_t len = p->end_at - from;
  *out = p->cx->text + from;
  if (len <= 40 && !memchr(*out, '\n', len))
    return (int)len;
  *out = "..";
  return 2;
}

/* x++, x /= e, x %= e: from the operator on. */
static bool complain_of_set(lang_parser *p, char second, size_t from) {
  const char *target, *operand;
  int width = short_text(p, from, &target);
  const char *sign = lang_token_spelling((lang_token_kind)p->tok.kind);
  lang_span at = p->tok.at;
  at.width = 2;
  lang_error *error = lang_complain(p->cx, at, "`%s%c` means nothing here", sign, second);
  if (second == '+') {
    lang_hint(error, "write `%.*s += 1`", width, target);
    return false;
  }
  lang_hint(error, "write `%.*s = %.*s %s ..`", width, target, width, target, sign);
  lang_advance(p);
  lang_advance(p);
  size_t start = p->lexer.at - p->tok.at.width;
  if (p->tok.kind != TOK_NAME && p->tok.kind != TOK_LIT_INT)
    return false;
  lang_expr *e = lang_parse_expr(p);
  if (!e || (e->kind != EXPR_NAME && e->kind != EXPR_CONST))
    return false;
  int bytes = short_text(p, start, &operand);
  lang_hint(error, "write `%.*s = %.*s %s %.*s`", width, target, width, target, sign, bytes,
            operand);
  return false;
}

/* x--: the rest of the line is a comment. */
static bool complain_of_comment(lang_parser *p, size_t from) {
  const char *target;
  int width = short_text(p, from, &target);
  lang_span at = {p->end_line, p->end_column, 2};
  lang_error *error = lang_complain(p->cx, at, "`--` means nothing here: it begins a comment");
  lang_hint(error, "write `%.*s -= 1`", width, target);
  return false;
}

static bool sees_glued_comment(const lang_parser *p) {
  return p->cx->len - p->end_at >= 2 && memcmp(p->cx->text + p->end_at, "--", 2) == 0;
}

/* x = e, r.col += e, f(..) */
static bool parse_other(lang_parser *p, lang_stmt *s) {
  size_t from = p->lexer.at - p->tok.at.width;
  lang_expr *e = lang_parse_postfix(p);
  if (!e)
    return false;
  bool variable = e->kind == EXPR_NAME || e->kind == EXPR_FIELD;
  char second = variable ? find_foreign_set(p) : 0;
  if (second)
    return complain_of_set(p, second, from);
  if (lang_goes_on(p) && find_set(p, &s->set)) {
    s->kind = STMT_ASSIGN;
    s->target = e;
    lang_advance(p);
    s->expr = lang_parse_expr(p);
    return s->expr != NULL;
  }
  if (variable && sees_glued_comment(p) && !p->stop)
    return complain_of_comment(p, from);
  s->kind = STMT_CALL;
  s->expr = e;
  return e->kind == EXPR_CALL || complain_of_statement(p, s, e);
}

static bool parse_emit(lang_parser *p, lang_stmt *s) {
  lang_advance(p);
  if (!lang_sees(p, TOK_OPEN)) {
    lang_hint(lang_unexpected(p, "`(`"), "the values stand in parentheses: `emit (..)`");
    return false;
  }
  return lang_parse_values(p, &s->args, &s->nargs);
}

static bool parse_operand(lang_parser *p, lang_stmt *s, lang_expr **out) {
  lang_advance(p);
  *out = s->kind == STMT_DELETE ? lang_parse_postfix(p) : lang_parse_expr(p);
  return *out != NULL;
}

static bool parse_word(lang_parser *p) {
  lang_advance(p);
  return true;
}

/* What kind of statement the token begins. */
static bool find_kind(lang_parser *p, uint8_t *out) {
  static const struct {
    uint8_t token, kind;
  } kinds[] = {{TOK_LET, STMT_LET},       {TOK_VAR, STMT_VAR},          {TOK_LOCAL, STMT_LOCAL},
               {TOK_PUT, STMT_PUT},       {TOK_ADD, STMT_ADD},          {TOK_DELETE, STMT_DELETE},
               {TOK_CLEAR, STMT_CLEAR},   {TOK_SORT, STMT_SORT},        {TOK_IF, STMT_IF},
               {TOK_WHILE, STMT_WHILE},   {TOK_FOR, STMT_FOR},          {TOK_BREAK, STMT_BREAK},
               {TOK_RETURN, STMT_RETURN}, {TOK_EMIT, STMT_EMIT},        {TOK_FAULT, STMT_FAULT},
               {TOK_NAME, STMT_CALL},     {TOK_CONTINUE, STMT_CONTINUE}};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    if (kinds[i].token != p->tok.kind)
      continue;
    *out = kinds[i].kind;
    return true;
  }
  lang_error *e = lang_unexpected(p, "a statement");
  if (p->tok.name)
    lang_hint_word(e, p->tok.name->text, starts, sizeof starts / sizeof *starts);
  return false;
}

static bool parse_kind(lang_parser *p, lang_stmt *s) {
  switch ((lang_stmt_kind)s->kind) {
  case STMT_LET:
  case STMT_VAR:
    return parse_binding(p, s);
  case STMT_LOCAL:
    return parse_local(p, s);
  case STMT_PUT:
  case STMT_ADD:
    return parse_with_values(p, s);
  case STMT_DELETE:
    return parse_operand(p, s, &s->target);
  case STMT_CLEAR:
    return parse_list_name(p, s);
  case STMT_SORT:
    return parse_sort(p, s);
  case STMT_IF:
    return parse_if(p, s);
  case STMT_WHILE:
    return parse_while(p, s);
  case STMT_FOR:
    return parse_for(p, s);
  case STMT_BREAK:
  case STMT_CONTINUE:
    return parse_word(p);
  case STMT_RETURN:
    return parse_return(p, s);
  case STMT_EMIT:
    return parse_emit(p, s);
  case STMT_FAULT:
    return parse_operand(p, s, &s->expr);
  case STMT_ASSIGN:
  case STMT_CALL:
    return parse_other(p, s);
  }
  return false;
}

static lang_stmt *parse_statement(lang_parser *p) {
  lang_stmt *s = new_stmt(p, STMT_CALL);
  return s && find_kind(p, &s->kind) && parse_kind(p, s) ? s : NULL;
}

static bool ends_statement(const lang_parser *p) {
  return p->tok.first || lang_sees(p, TOK_CLOSE_BLOCK) || lang_sees(p, TOK_END);
}

/* A word that only a declaration begins with, at the start of a line: the block was not closed. */
static bool sees_declaration(const lang_parser *p) {
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

/* After an error: to the next line of this block, over blocks that the statement opened. */
static void skip_statement(lang_parser *p, lang_span start) {
  unsigned open = 0;
  p->inside = 0;
  if (p->tok.first && p->tok.at.line != start.line)
    return;
  while (!lang_sees(p, TOK_END) && !sees_declaration(p)) {
    if (open == 0 && lang_sees(p, TOK_CLOSE_BLOCK))
      return;
    if (lang_sees(p, TOK_OPEN_BLOCK))
      open++;
    if (lang_sees(p, TOK_CLOSE_BLOCK))
      open--;
    lang_advance(p);
    if (open == 0 && p->tok.first)
      return;
  }
}

static bool parse_statements(lang_parser *p, lang_block *out) {
  lang_stmt **last = &out->first;
  bool fine = true;
  while (!p->stop && !lang_sees(p, TOK_CLOSE_BLOCK) && !lang_sees(p, TOK_END) &&
         !sees_declaration(p)) {
    unsigned depth = p->depth;
    lang_span start = p->tok.at;
    lang_stmt *s = parse_statement(p);
    if (s && !ends_statement(p)) {
      lang_unexpected(p, "the end of the line");
      s = NULL;
    }
    p->depth = depth;
    if (s) {
      *last = s;
      last = &s->next;
    } else {
      fine = false;
      skip_statement(p, start);
    }
  }
  return fine;
}

bool lang_parse_block(lang_parser *p, lang_block *out) {
  lang_span open = p->tok.at;
  if (!lang_expect(p, TOK_OPEN_BLOCK, NULL) || !lang_enter(p))
    return false;
  bool fine = parse_statements(p, out);
  p->depth--;
  out->end = p->tok.at;
  if (lang_accept(p, TOK_CLOSE_BLOCK))
    return true;
  if (fine && !p->stop) {
    lang_error *e = lang_unexpected(p, "`}`");
    lang_hint(e, "the block was opened in line %u", open.line);
  }
  return false;
}
