/* tests/lists/support/model.h - what a list means, said as simply as possible.
 *
 * Rows lie in one array, kept in order by moving them.  Nothing here knows of layouts,
 * widths or dictionaries: the value of a text column is a number in a pool of texts, and
 * texts are compared by their bytes.  Written from the contract in lists/lists.h alone. */
#ifndef PURE_TESTS_MODEL_H
#define PURE_TESTS_MODEL_H

#include "lists/lists.h"

typedef struct {
  const char *bytes;
  size_t len;
} model_text;

typedef struct {
  model_text *at; /* at[0] is "" */
  uint32_t count;
} model_pool;

typedef struct {
  const ls_schema *schema;
  const model_pool *pool;
  ls_val *cells; /* count * ncols */
  size_t count, cap;
} model;

#define MODEL_NAN UINT64_C(0x7ff8000000000000)

/* Which rows: as ls_slice, but with its own copy of the prefix. */
typedef struct {
  unsigned np;
  ls_val prefix[LS_MAX_KEYS];
  bool has_lo, has_hi;
  ls_val lo, hi;
} model_slice;

void model_init(model *m, const ls_schema *schema, const model_pool *pool);
void model_free(model *m);
void model_copy(model *to, const model *from); /* to: initialised, for the same schema */
ls_val *model_row(const model *m, size_t at);

ls_val model_normal(ls_type type, bool is_key, ls_val v);
/* All of row as it will be stored. */
void model_normalise(const model *m, ls_val *row);
int model_compare(const model *m, ls_type type, ls_val x, ls_val y);
int model_compare_keys(const model *m, const ls_val *x, const ls_val *y, unsigned n);

/* Number of rows whose first n key columns are below key (or at it: `after`). */
size_t model_bound(const model *m, const ls_val *key, unsigned n, bool after);
bool model_find(const model *m, const ls_val *key, size_t *at);
/* Rows [*from, *to) are the slice. */
void model_select(const model *m, const model_slice *s, size_t *from, size_t *to);

void model_insert(model *m, size_t at, const ls_val *row); /* at: where it belongs */
void model_put(model *m, const ls_val *row); /* keyed: insert or replace; else append */
void model_erase(model *m, size_t at);
void model_sort(model *m, const uint16_t *keys, unsigned nkeys);
/* Equal contents give equal numbers, and different ones (nearly surely) different ones. */
uint64_t model_hash(const model *m);

#endif
