/* lists/ls_cells.h - searching sorted cells of any width.
 *
 * Cells hold ints, dates, bools and text ids zero-extended or as whole int64, so that every
 * one of them compares as an int64.  A search is branch-free: its steps depend on loads
 * alone, never on a mispredicted comparison.
 */
#ifndef PURE_LISTS_CELLS_H
#define PURE_LISTS_CELLS_H

#include "lists/lists_int.h"

#define LS_INLINE static inline __attribute__((always_inline))

LS_INLINE int64_t ls_cell_int(const void *cells, unsigned width, uint64_t at) {
  return (int64_t)ls_cell_load(cells, width, at);
}

/* First position in [lo, hi) whose cell is not below key. */
LS_INLINE uint64_t ls_cells_lower(const void *cells, unsigned width, uint64_t lo, uint64_t hi,
                                  int64_t key) {
  uint64_t len = hi - lo;
  if (len == 0)
    return lo;
  while (len > 1) {
    uint64_t half = len / 2;
    lo += half & -(uint64_t)(ls_cell_int(cells, width, lo + half - 1) < key);
    len -= half;
  }
  return lo + (ls_cell_int(cells, width, lo) < key);
}

/* First position in [lo, hi) whose cell is >= key (after: > key). */
uint64_t ls_cells_bound(const void *cells, unsigned width, uint64_t lo, uint64_t hi, int64_t key,
                        bool after);
/* Narrows [lo, hi) to the cells that are key; where there is none both become the place it would
 * have.  The first columns of a key are often the same all over a part. */
void ls_cells_narrow(const void *cells, unsigned width, uint64_t *lo, uint64_t *hi, int64_t key);
/* The same over two columns, ordered by the first and then the second. */
uint64_t ls_pairs_bound(const void *a, unsigned wa, const void *b, unsigned wb, uint64_t hi,
                        const ls_val *key, bool after);

/* Sorted key columns of any type. */
typedef struct {
  const ls_schema *schema;
  const ls_texts *tx;
  const void *cells[LS_MAX_KEYS];
  uint8_t width[LS_MAX_KEYS];
} ls_keycols;

/* First position in [lo, hi), all of whose rows agree in the key columns before `from`, whose
 * key columns from .. n-1 are >= those of key (after: >). */
uint64_t ls_keycols_bound(const ls_keycols *k, uint64_t lo, uint64_t hi, unsigned from,
                          const ls_val *key, unsigned n, bool after);

#endif
