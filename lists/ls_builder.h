/* lists/ls_builder.h - the builder's columns and its keys as numbers.  For ls_builder.c,
 * ls_bulk*.c and ls_lanes.c alone. */
#ifndef PURE_LISTS_BUILDER_H
#define PURE_LISTS_BUILDER_H

#include "lists/ls_cells.h"

typedef struct {
  void *cells; /* a block, or NULL: no cell yet */
  uint64_t n, cap;
  unsigned width;
} ls_bcol;

struct ls_builder {
  const ls_schema *schema;
  ls_mem *mem;
  ls_texts *texts;
  ls_bcol col[]; /* ncols */
};

/* A key column as numbers from 0 that order as its values do. */
typedef struct {
  const void *cells;
  unsigned width;
  ls_type type;
  uint64_t lo;   /* what is taken off: the least number */
  unsigned bits; /* of the largest one left */
} ls_lane;

/* Order of the text ids that occur in the key columns; both NULL without text keys. */
typedef struct {
  uint32_t base_ids; /* ids of the base that may occur: [0, base_ids) */
  uint64_t slots, distinct;
  uint32_t *rank; /* slots entries, by id; ids of an overlay behind the base's */
  uint32_t *id;   /* distinct entries, by rank */
} ls_ranks;

typedef struct {
  const ls_builder *b;
  uint64_t n; /* rows */
  ls_ranks ranks;
  ls_lane lane[LS_MAX_KEYS];
} ls_lanes;

/* Whether the first n rows are in key order, each key once. */
bool ls_lanes_sorted(const ls_builder *b, uint64_t n);
ls_status ls_lanes_make(ls_lanes *k, const ls_builder *b, uint64_t n);
void ls_lanes_free(ls_lanes *k);
/* Lanes [first, last) of every row packed into one word of `width` 2 or 3, the last lane at
 * bit `low`. */
void ls_lanes_pack(const ls_lanes *k, unsigned first, unsigned last, unsigned low, void *words,
                   unsigned width);
/* The same of rows order[0 .. n), 8 byte words, low 0. */
void ls_lanes_pack_order(const ls_lanes *k, unsigned first, unsigned last, const uint32_t *order,
                         uint64_t *words);
uint64_t ls_lanes_word(const ls_lanes *k, unsigned first, unsigned last, uint64_t row);
/* Values of lane i back from words that hold every lane at bit 0 and up. */
void ls_lanes_unpack(const ls_lanes *k, unsigned i, const void *words, unsigned width, uint64_t n,
                     void *cells);
unsigned ls_lanes_bits(const ls_lanes *k, unsigned first, unsigned last);
bool ls_lanes_equal(const ls_lanes *k, uint64_t row, uint64_t other);

/* A column's cells, wider. */
ls_status ls_builder_widen(ls_builder *b, ls_bcol *col, unsigned width);

/* A builder on its way to a list. */
typedef struct {
  ls_builder *b;
  uint64_t n;      /* rows, those that the list had included */
  uint64_t before; /* rows that the list had: the first ones */
  ls_dup dup;
  uint64_t dup_row, first_row; /* the first row of all n that is a duplicate; UINT64_MAX: none */
} ls_bulk;

/* Replaces the columns by sorted ones without duplicates.  LS_DUPLICATE with dup_row and
 * first_row, where dup says so.  After an error the columns may be in any state. */
ls_status ls_bulk_sort(ls_bulk *k);

#endif
