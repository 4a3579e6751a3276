/* vm/lang/lang_check_int.h - what the parts of the checker share. */
#ifndef PURE_VM_LANG_CHECK_INT_H
#define PURE_VM_LANG_CHECK_INT_H

#include "vm/lang/lang_int.h"

typedef struct lang_check_loop {
  struct lang_check_loop *outer;
  bool broken; /* has a break */
} lang_check_loop;

typedef struct {
  lang_cx *cx;
  lang_fn *fn;
  lang_sym *locals; /* declared in the function so far, innermost first */
  lang_sym *bad;    /* unknown names complained of in this function */
  lang_check_loop *loop;
} lang_checker;

/* lang_check.c */
/* "int", "nothing", .. for messages. */
const char *lang_type_text(unsigned type);
/* Declares a name, complaining where it has a meaning already; NULL: no memory. */
lang_sym *lang_declare(lang_checker *c, lang_sym_kind kind, lang_name *name, lang_span at);
void lang_undeclare(lang_checker *c, lang_sym *until);
/* What the name stands for; complains of unknown ones, once a function, and returns NULL. */
lang_sym *lang_look_up(lang_checker *c, lang_name *name, lang_span at, const char *what,
                       bool (*fits)(const lang_sym *sym));
lang_column *lang_find_column(const lang_list *list, const lang_name *name);
/* The column, or a complaint and NULL. */
lang_column *lang_want_column(lang_checker *c, const lang_list *list, lang_name *name,
                              lang_span at);
/* Complains of a change of a stored list in a query, and notes it otherwise. */
void lang_check_write(lang_checker *c, lang_list *list, lang_span at);
void lang_note_call(lang_checker *c, lang_fn *callee, lang_span at);

/* lang_check_expr.c: set type and konst. */
unsigned lang_check_expr(lang_checker *c, lang_expr *e);
/* A value of that type; what: "the condition". */
void lang_want(lang_checker *c, lang_expr *e, unsigned type, const char *what);
/* Any value: not nothing. */
unsigned lang_check_value(lang_checker *c, lang_expr *e);
/* Result type of an operator, or LANG_BAD without a complaint. */
unsigned lang_binary_type(lang_binary op, unsigned left, unsigned right);
void lang_complain_of_operands(lang_checker *c, const lang_expr *e, unsigned left, unsigned right);
/* The result type of the call; also for LANG_NONE. */
unsigned lang_check_call(lang_checker *c, lang_expr *e);

/* lang_check_row.c */
bool lang_is_row_expr(const lang_expr *e); /* L[..], first(..), last(..), a row's name */
/* A row: its list, or NULL after a complaint. */
lang_list *lang_check_row(lang_checker *c, lang_expr *e);
/* A list or a slice of it; doing: "walk over", "count". */
lang_list *lang_check_slice(lang_checker *c, lang_expr *e);
/* The list of that name, or NULL after a complaint. */
lang_list *lang_want_list(lang_checker *c, lang_name *name, lang_span at);
unsigned lang_check_in(lang_checker *c, lang_expr *e);
/* Values for the columns of a list: all, or those after the key. */
void lang_check_row_values(lang_checker *c, const lang_list *list, lang_expr *args, unsigned nargs,
                           bool rest, lang_span at);

/* lang_check_stmt.c: whether control can reach its end. */
bool lang_check_block(lang_checker *c, const lang_block *b);

#endif
