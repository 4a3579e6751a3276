/* lists/ls_radix.h - sorting for bulk building.  All sorts are stable. */
#ifndef PURE_LISTS_RADIX_H
#define PURE_LISTS_RADIX_H

#include "lists/lists_int.h"

/* n cells of `width` 2 or 3 (4 or 8 bytes), by their bits low .. low + bits - 1.  tmp is as
 * large as cells.  Returns where the sorted cells are: cells or tmp. */
void *ls_radix_cells(unsigned width, void *cells, void *tmp, uint64_t n, unsigned low,
                     unsigned bits);

/* Words with a companion each. */
typedef struct {
  uint64_t *word;
  uint32_t *mate;
} ls_pairs;
/* By bits 0 .. bits - 1 of the words.  Returns the sorted ones: pairs or tmp. */
ls_pairs ls_radix_pairs(ls_pairs pairs, ls_pairs tmp, uint64_t n, unsigned bits);

/* Text ids in bytewise order of their texts. */
ls_status ls_radix_texts(ls_mem *m, const ls_texts *tx, uint32_t *ids, uint64_t n);

#endif
