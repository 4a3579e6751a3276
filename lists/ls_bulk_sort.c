/* lists/ls_bulk_sort.c - sorting a builder's columns by key.
 *
 * Keys are packed into words (ls_lanes.c), and words are sorted:
 *
 *   keys    all columns are keys and one word holds them: words are sorted and unpacked;
 *           nothing else moves
 *   places  one word holds the key and the row's number: sorted words say which row goes where
 *   pairs   words and row numbers side by side, sorted once for each word of the key
 *
 * Besides the columns there are never more than two words (pairs: three) a row at a time.
 */
#include <string.h>

#include "lists/ls_builder.h"
#include "lists/ls_radix.h"

static void duplicate_note(ls_bulk *k, uint64_t first, uint64_t later) {
  if (later >= k->dup_row)
    return;
  k->dup_row = later;
  k->first_row = first;
}

/* Fewer cells in a column. */
static ls_status column_cut(ls_bcol *col, uint64_t kept) {
  if (kept < col->cap) {
    void *cells = ls_block_grow(col->cells, (size_t)kept << col->width);
    if (cells == NULL)
      return LS_NOMEM;
    col->cells = cells;
  }
  col->n = col->cap = kept;
  return LS_OK;
}

LS_INLINE void gather(void *to, const void *from, unsigned width, const uint32_t *order,
                      uint64_t n) {
  for (uint64_t i = 0; i < n; i++)
    ls_cell_store(to, width, i, ls_cell_load(from, width, order[i]));
}

/* Replaces the columns by rows order[0 .. kept) of them.  A column that was gathered leaves
 * its cells to the next one as wide. */
static ls_status columns_gather(ls_bulk *k, const uint32_t *order, uint64_t kept) {
  void *spare[4] = {NULL};
  ls_status st = LS_OK;
  for (unsigned c = 0; c < k->b->schema->ncols && st == LS_OK; c++) {
    ls_bcol *col = &k->b->col[c];
    unsigned w = col->width;
    ls_bcol to = {spare[w], k->n, k->n, w};
    if (to.cells == NULL)
      to.cells = ls_block_new(k->b->mem, (size_t)k->n << w, false);
    if (to.cells == NULL) {
      st = LS_NOMEM;
      break;
    }
    switch (w) {
    case 0:
      gather(to.cells, col->cells, 0, order, kept);
      break;
    case 1:
      gather(to.cells, col->cells, 1, order, kept);
      break;
    case 2:
      gather(to.cells, col->cells, 2, order, kept);
      break;
    default:
      gather(to.cells, col->cells, 3, order, kept);
      break;
    }
    spare[w] = col->cells;
    *col = to;
    st = column_cut(col, kept);
  }
  for (unsigned w = 0; w < 4; w++)
    ls_block_drop(spare[w]);
  k->n = kept;
  return st;
}

/* Which row of a run of equal keys, in order of their numbers, stays. */
static uint64_t kept_of(const ls_bulk *k, uint64_t lo, uint64_t hi) {
  return k->dup == LS_DUP_LAST ? hi - 1 : lo;
}

static uint64_t find_word(const void *words, unsigned width, uint64_t n, uint64_t word) {
  uint64_t lo = 0;
  while (n > 1) {
    uint64_t half = n / 2;
    if (ls_cell_load(words, width, lo + half) <= word)
      lo += half;
    n -= half;
  }
  return lo;
}

/* Keeps one of each word; `again` gets one of those that occur more than once. */
static uint64_t words_unique(void *words, unsigned width, uint64_t n, void *again,
                             uint64_t *n_again) {
  uint64_t kept = 0;
  *n_again = 0;
  for (uint64_t i = 0; i < n; i++) {
    uint64_t word = ls_cell_load(words, width, i);
    if (kept == 0 || ls_cell_load(words, width, kept - 1) != word) {
      ls_cell_store(words, width, kept++, word);
    } else if (*n_again == 0 || ls_cell_load(again, width, *n_again - 1) != word) {
      ls_cell_store(again, width, (*n_again)++, word);
    }
  }
  return kept;
}

/* The first row whose key was there before.  again: the keys that occur more than once. */
static ls_status find_first_duplicate(ls_bulk *k, const ls_lanes *lanes, const void *again,
                                      unsigned width, uint64_t n_again) {
  uint64_t *seen = ls_mem_alloc(k->b->mem, n_again * sizeof *seen);
  if (seen == NULL)
    return LS_NOMEM;
  for (uint64_t i = 0; i < n_again; i++)
    seen[i] = UINT64_MAX;
  for (uint64_t row = 0; row < k->n; row++) {
    uint64_t word = ls_lanes_word(lanes, 0, k->b->schema->nkeys, row);
    uint64_t at = find_word(again, width, n_again, word);
    if (ls_cell_load(again, width, at) != word)
      continue;
    if (seen[at] != UINT64_MAX) {
      duplicate_note(k, seen[at], row);
      break;
    }
    seen[at] = row;
  }
  ls_mem_free(k->b->mem, seen, n_again * sizeof *seen);
  return LS_DUPLICATE;
}

/* The words have all that the columns had: their cells are written over. */
static ls_status columns_unpack(ls_bulk *k, const ls_lanes *lanes, const void *words,
                                unsigned width, uint64_t kept) {
  for (unsigned c = 0; c < k->b->schema->ncols; c++) {
    ls_bcol *col = &k->b->col[c];
    ls_lanes_unpack(lanes, c, words, width, kept, col->cells);
    if (column_cut(col, kept) != LS_OK)
      return LS_NOMEM;
  }
  k->n = kept;
  return LS_OK;
}

static ls_status sort_keys(ls_bulk *k, const ls_lanes *lanes) {
  unsigned nkeys = k->b->schema->nkeys, bits = ls_lanes_bits(lanes, 0, nkeys);
  unsigned width = bits <= 32 ? 2 : 3;
  size_t bytes = (size_t)k->n << width;
  void *words = ls_mem_alloc(k->b->mem, bytes), *tmp = ls_mem_alloc(k->b->mem, bytes);
  ls_status st = words != NULL && tmp != NULL ? LS_OK : LS_NOMEM;
  if (st == LS_OK) {
    ls_lanes_pack(lanes, 0, nkeys, 0, words, width);
    if (ls_radix_cells(width, words, tmp, k->n, 0, bits) == tmp) {
      void *sorted = tmp;
      tmp = words;
      words = sorted;
    }
    uint64_t n_again, kept = words_unique(words, width, k->n, tmp, &n_again);
    if (n_again > 0 && k->dup == LS_DUP_ERROR)
      st = find_first_duplicate(k, lanes, tmp, width, n_again);
    ls_mem_free(k->b->mem, tmp, bytes);
    tmp = NULL;
    if (st == LS_OK)
      st = columns_unpack(k, lanes, words, width, kept);
  }
  ls_mem_free(k->b->mem, tmp, bytes);
  ls_mem_free(k->b->mem, words, bytes);
  return st;
}

/* Sorted words to the numbers of the rows that stay, in the same memory. */
static uint64_t places_unique(ls_bulk *k, uint64_t *words, unsigned place_bits) {
  uint64_t kept = 0, mask = (UINT64_C(1) << place_bits) - 1, hi;
  for (uint64_t lo = 0; lo < k->n; lo = hi) {
    uint64_t key = words[lo] >> place_bits;
    for (hi = lo + 1; hi < k->n && words[hi] >> place_bits == key;)
      hi++;
    if (hi - lo > 1)
      duplicate_note(k, words[lo] & mask, words[lo + 1] & mask);
    uint32_t stays = (uint32_t)(words[kept_of(k, lo, hi)] & mask);
    memcpy((char *)words + kept++ * sizeof stays, &stays, sizeof stays);
  }
  return kept;
}

static bool is_error(const ls_bulk *k) {
  return k->dup == LS_DUP_ERROR && k->dup_row != UINT64_MAX;
}

static ls_status sort_places(ls_bulk *k, const ls_lanes *lanes, unsigned place_bits) {
  unsigned nkeys = k->b->schema->nkeys, bits = ls_lanes_bits(lanes, 0, nkeys);
  size_t bytes = k->n * sizeof(uint64_t);
  uint64_t *words = ls_mem_alloc(k->b->mem, bytes), *tmp = ls_mem_alloc(k->b->mem, bytes);
  ls_status st = words != NULL && tmp != NULL ? LS_OK : LS_NOMEM;
  if (st == LS_OK) {
    ls_lanes_pack(lanes, 0, nkeys, place_bits, words, 3);
    for (uint64_t i = 0; i < k->n; i++)
      words[i] |= i;
    if (ls_radix_cells(3, words, tmp, k->n, place_bits, bits) == tmp) {
      uint64_t *sorted = tmp;
      tmp = words;
      words = sorted;
    }
    ls_mem_free(k->b->mem, tmp, bytes);
    tmp = NULL;
    uint64_t kept = places_unique(k, words, place_bits);
    st = is_error(k) ? LS_DUPLICATE : columns_gather(k, (const uint32_t *)words, kept);
  }
  ls_mem_free(k->b->mem, tmp, bytes);
  ls_mem_free(k->b->mem, words, bytes);
  return st;
}

/* Row numbers in p.mate to those of sorted rows, by one word of the key after the other, the
 * last one first.  Returns where they are. */
static ls_pairs pairs_order(const ls_lanes *lanes, unsigned nkeys, uint64_t n, ls_pairs p,
                            ls_pairs tmp) {
  for (uint64_t i = 0; i < n; i++)
    p.mate[i] = (uint32_t)i;
  for (unsigned last = nkeys, first; last > 0; last = first) {
    first = last - 1;
    while (first > 0 && ls_lanes_bits(lanes, first - 1, last) <= 64)
      first--;
    unsigned bits = ls_lanes_bits(lanes, first, last);
    if (bits == 0)
      continue;
    ls_lanes_pack_order(lanes, first, last, p.mate, p.word);
    ls_pairs sorted = ls_radix_pairs(p, tmp, n, bits);
    if (sorted.word == tmp.word) {
      tmp = p;
      p = sorted;
    }
  }
  return p;
}

static uint64_t order_unique(ls_bulk *k, const ls_lanes *lanes, uint32_t *order) {
  uint64_t kept = 0, hi;
  for (uint64_t lo = 0; lo < k->n; lo = hi) {
    uint32_t row = order[lo];
    for (hi = lo + 1; hi < k->n && ls_lanes_equal(lanes, row, order[hi]);)
      hi++;
    if (hi - lo > 1)
      duplicate_note(k, row, order[lo + 1]);
    order[kept++] = order[kept_of(k, lo, hi)];
  }
  return kept;
}

static ls_status sort_pairs(ls_bulk *k, const ls_lanes *lanes) {
  ls_mem *m = k->b->mem;
  size_t words = k->n * sizeof(uint64_t), mates = k->n * sizeof(uint32_t);
  ls_pairs p = {ls_mem_alloc(m, words), ls_mem_alloc(m, mates)};
  ls_pairs tmp = {ls_mem_alloc(m, words), ls_mem_alloc(m, mates)};
  bool ok = p.word != NULL && p.mate != NULL && tmp.word != NULL && tmp.mate != NULL;
  uint32_t *order = NULL, *spare = NULL;
  if (ok) {
    order = pairs_order(lanes, k->b->schema->nkeys, k->n, p, tmp).mate;
    spare = order == p.mate ? tmp.mate : p.mate;
  }
  ls_mem_free(m, p.word, words);
  ls_mem_free(m, tmp.word, words);
  if (!ok) {
    ls_mem_free(m, p.mate, mates);
    ls_mem_free(m, tmp.mate, mates);
    return LS_NOMEM;
  }
  ls_mem_free(m, spare, mates);
  uint64_t kept = order_unique(k, lanes, order);
  ls_status st = is_error(k) ? LS_DUPLICATE : columns_gather(k, order, kept);
  ls_mem_free(m, order, mates);
  return st;
}

ls_status ls_bulk_sort(ls_bulk *k) {
  const ls_schema *s = k->b->schema;
  ls_lanes lanes;
  ls_status st = ls_lanes_make(&lanes, k->b, k->n);
  if (st != LS_OK)
    return st;
  unsigned bits = ls_lanes_bits(&lanes, 0, s->nkeys), place_bits = 1;
  while ((k->n - 1) >> place_bits != 0)
    place_bits++;
  if (s->ncols == s->nkeys && bits <= 64)
    st = sort_keys(k, &lanes);
  else if (bits + place_bits <= 64)
    st = sort_places(k, &lanes, place_bits);
  else
    st = sort_pairs(k, &lanes);
  ls_lanes_free(&lanes);
  return st;
}
