/* vm/lang/lang_int.h - what the parts of the compiler share.
 *
 *   lang_lex    text -> tokens                 lang_check*  names, types, rules
 *   lang_parse* tokens -> tree                 lang_effects who changes which lists
 *   lang_fold   constants                      lang_emit*   tree -> instructions
 *   lang_error  messages                       lang_compile all of it, and the module
 *
 * Memory: one arena, freed at the end.  When it runs dry `nomem` is set, the allocating function
 * returns NULL and everybody winds up as after an error.
 */
#ifndef PURE_VM_LANG_INT_H
#define PURE_VM_LANG_INT_H

#include "vm/lang/lang.h"
#include "vm/lang/lang_ast.h"

#define LANG_MAX_NEST 200    /* blocks, parentheses and such inside one another */
#define LANG_MAX_HEIGHT 1000 /* of an expression's tree: a + b + c + .. */
#define LANG_MAX_TEXT (UINT32_C(1) << 28)

typedef enum {
  TOK_END,
  TOK_BAD, /* already complained of */
  TOK_NAME,
  TOK_LIT_INT,
  TOK_LIT_REAL,
  TOK_LIT_TEXT,
#define MARK(id, spelling) TOK_##id,
#define WORD(id, spelling) TOK_##id,
#include "vm/lang/lang_tokens.def"
#undef MARK
#undef WORD
  LANG_NTOKENS
} lang_token_kind;

typedef struct {
  uint8_t kind;
  bool first; /* on its line */
  bool huge;  /* TOK_LIT_INT: 2^63 */
  lang_span at;
  lang_name *name; /* TOK_NAME, and of reserved words too */
  ls_val value;
  const char *text; /* TOK_LIT_TEXT, in the arena */
  uint32_t text_len;
} lang_token;

typedef struct lang_chunk lang_chunk;

typedef struct {
  ls_mem *mem;
  const char *text;
  size_t len;
  bool nomem;
  lang_chunk *chunks;
  unsigned nerrors;
  lang_error errors[LANG_MAX_ERRORS];
  lang_name **names;
  uint32_t nbuckets, nnames;
  /* declared at the top, in the order of the text */
  lang_list *lists;
  lang_fn *fns, *externs;
  uint32_t nlists, nfns, nexterns;
} lang_cx;

/* lang_arena.c */
void *lang_alloc(lang_cx *cx, size_t bytes); /* zeroed; NULL: nomem is set */
void lang_free_all(lang_cx *cx);
lang_name *lang_intern(lang_cx *cx, const char *bytes, uint32_t len);
bool lang_name_is(const lang_name *name, const char *text);

/* lang_error.c */
lang_error *lang_complain(lang_cx *cx, lang_span at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* For e, which may be NULL. */
void lang_hint(lang_error *e, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* "did you mean `x`?": the name most like the misspelt one among those `fits` likes. */
void lang_hint_name(lang_cx *cx, lang_error *e, const lang_name *name,
                    bool (*fits)(const lang_sym *sym));
/* The same among n given spellings. */
void lang_hint_word(lang_error *e, const char *word, const char *const *words, unsigned n);
void lang_sort_errors(lang_cx *cx);

/* lang_lex.c */
typedef struct {
  lang_cx *cx;
  size_t at; /* of the next byte */
  uint32_t line, column;
} lang_lexer;
void lang_lex_start(lang_lexer *x, lang_cx *cx);
void lang_lex(lang_lexer *x, lang_token *out);
/* "`edges`", "the number 12", "the end of the text": for messages; borrowed or written to buf. */
const char *lang_token_text(const lang_token *t, char *buf, size_t n);
const char *lang_token_spelling(lang_token_kind kind);

/* lang_parse.c: fills cx->lists, fns, externs. */
void lang_parse(lang_cx *cx);

/* lang_check.c */
void lang_check(lang_cx *cx);

/* lang_fold.c: sets konst and value where the operands are constant and nothing faults. */
void lang_fold(lang_expr *e);

/* Settles a list's schema; complains of its columns and keys. */
void lang_check_list(lang_cx *cx, lang_list *list);

#endif
