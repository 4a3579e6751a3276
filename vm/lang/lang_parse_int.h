/* vm/lang/lang_parse_int.h - what the parts of the parser share.
 *
 * Recursive descent.  A function that meets an error complains and returns NULL or false; its
 * callers do the same without a word, up to a statement or a declaration, which skips to where
 * the next one may begin.
 */
#ifndef PURE_VM_LANG_PARSE_INT_H
#define PURE_VM_LANG_PARSE_INT_H

#include "vm/lang/lang_int.h"

typedef struct {
  lang_cx *cx;
  lang_lexer lexer;
  lang_token tok;
  uint32_t end_line, end_column; /* just after the token before */
  size_t end_at;                 /* the same place as an offset in the text */
  unsigned depth;                /* constructs inside one another */
  unsigned inside;               /* open ( and [: line ends mean nothing there */
  bool stop;                     /* no use going on */
} lang_parser;

/* lang_parse.c */
void lang_advance(lang_parser *p);
bool lang_accept(lang_parser *p, lang_token_kind kind);
/* "expected X, found Y" unless the token is of that kind; what: NULL, or instead of the spelling.
 */
bool lang_expect(lang_parser *p, lang_token_kind kind, const char *what);
lang_error *lang_unexpected(lang_parser *p, const char *expected);
/* A name that is no reserved word; what: "a list name". */
lang_name *lang_expect_name(lang_parser *p, const char *what, lang_span *at);
/* Also reserved words. */
lang_name *lang_expect_column(lang_parser *p, lang_span *at);
bool lang_enter(lang_parser *p); /* false: too deep; else leave with p->depth-- */
/* From `from` to the end of the token before. */
lang_span lang_span_from(const lang_parser *p, lang_span from);
/* `(col: type, ..) [key ..]`, after the name. */
bool lang_parse_columns(lang_parser *p, lang_list *list);

/* lang_parse_expr.c */
lang_expr *lang_parse_expr(lang_parser *p);
/* An expression or lo..hi. */
lang_expr *lang_parse_item(lang_parser *p);
/* A name with what may follow it: .col [..] (..). */
lang_expr *lang_parse_postfix(lang_parser *p);
/* `( e, .. )`; *n: how many. */
bool lang_parse_values(lang_parser *p, lang_expr **args, uint16_t *n);

/* lang_parse_stmt.c */
bool lang_parse_block(lang_parser *p, lang_block *out);

static inline bool lang_sees(const lang_parser *p, lang_token_kind kind) {
  return p->tok.kind == kind;
}
/* Whether the token may go on with what was begun before it. */
static inline bool lang_goes_on(const lang_parser *p) { return !p->tok.first || p->inside; }

#endif
