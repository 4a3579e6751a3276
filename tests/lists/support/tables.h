/* tests/lists/support/tables.h - small schemas of every kind of key, random rows for them, and
 * whether a list holds what a model holds.  Numbers of texts are the same on both sides: the
 * pool's texts are interned in order into an empty dictionary. */
#ifndef PURE_TESTS_TABLES_H
#define PURE_TESTS_TABLES_H

#include "lists/lists.h"
#include "tests/lists/support/chance.h"
#include "tests/lists/support/model.h"

typedef enum {
  TABLE_INT,    /* (a: int; v: int, r: real) */
  TABLE_PAIR,   /* (a: int, b: int; v: int) */
  TABLE_EDGE,   /* (a: int, b: int;) */
  TABLE_TRIPLE, /* (a: int, d: date, f: bool; v: int) */
  TABLE_REAL,   /* (r: real; v: int) */
  TABLE_TEXT,   /* (t: text, a: int; v: text) */
  TABLE_REALS,  /* (r: real;) */
  TABLE_WORDS,  /* (f: bool, t: text;) */
  TABLE_LOG,    /* positional (a: int, r: real, t: text) */
  TABLE_KINDS
} table_kind;

extern const ls_schema *const table_schemas[TABLE_KINDS];

#define TABLE_TEXTS 500u
/* The pool that text values are numbers of. */
const model_pool *table_pool(void);
void table_pool_intern(ls_texts *base);

/* Keys from 0 .. span - 1 (negative ones too where span is odd), values of any width. */
void table_row(table_kind kind, chance *c, uint64_t span, ls_val *row);

/* NULL where l holds what m holds: rows in order, look-ups, slices, counts, structure; else
 * what differs.  `looks`: how many random slices and keys to try. */
const char *table_differs(ls_list *l, const model *m, chance *c, uint64_t span, unsigned looks);

#endif
