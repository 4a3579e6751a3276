/* lists/ls_cells.c - searching sorted cells. */
#include "lists/ls_cells.h"

#define GUESS_LEAST 64u /* cells; in fewer a search is as fast as a guess */
#define GUESS_NEAR 16u  /* how far off a guess is thought to be, where it is not right */

/* ls_cells_lower by a guess: keys are often numbers without gaps, or as many of each, so that the
 * place follows from the value. */
LS_INLINE uint64_t cells_guess(const void *cells, unsigned width, uint64_t lo, uint64_t hi,
                               int64_t key) {
  int64_t first = ls_cell_int(cells, width, lo), last = ls_cell_int(cells, width, hi - 1);
  if (key <= first)
    return lo;
  if (key > last)
    return hi;
  uint64_t span = (uint64_t)last - (uint64_t)first, off = (uint64_t)key - (uint64_t)first;
  if (span >> 31)
    return ls_cells_lower(cells, width, lo, hi, key);
  uint64_t at = lo + off * (hi - lo) / (span + 1);
  at += at == lo; /* the first is below */
  if (ls_cell_int(cells, width, at) < key) {
    lo = at + 1;
    if (hi - lo > GUESS_NEAR && ls_cell_int(cells, width, lo + GUESS_NEAR) >= key)
      hi = lo + GUESS_NEAR;
  } else if (ls_cell_int(cells, width, at - 1) < key) {
    return at;
  } else {
    hi = at - 1;
    if (hi - lo > GUESS_NEAR && ls_cell_int(cells, width, hi - GUESS_NEAR) < key)
      lo = hi - GUESS_NEAR;
  }
  return ls_cells_lower(cells, width, lo, hi, key);
}

LS_INLINE uint64_t cells_search(const void *cells, unsigned width, uint64_t lo, uint64_t hi,
                                int64_t key) {
  return hi - lo < GUESS_LEAST ? ls_cells_lower(cells, width, lo, hi, key)
                               : cells_guess(cells, width, lo, hi, key);
}

uint64_t ls_cells_bound(const void *cells, unsigned width, uint64_t lo, uint64_t hi, int64_t key,
                        bool after) {
  if (after && key == INT64_MAX)
    return hi;
  key += after;
  switch (width) {
  case 0:
    return cells_search(cells, 0, lo, hi, key);
  case 1:
    return cells_search(cells, 1, lo, hi, key);
  case 2:
    return cells_search(cells, 2, lo, hi, key);
  default:
    return cells_search(cells, 3, lo, hi, key);
  }
}

/* The end of the cells from lo on that are key: gallops first, as runs are mostly short. */
static uint64_t cells_run(const void *cells, unsigned width, uint64_t lo, uint64_t hi,
                          int64_t key) {
  if (lo == hi || ls_cell_int(cells, width, lo) != key)
    return lo;
  for (uint64_t step = 1; step <= GUESS_NEAR; step *= 2) {
    if (hi - lo <= step)
      break;
    if (ls_cell_int(cells, width, lo + step) != key)
      return ls_cells_bound(cells, width, lo, lo + step, key, true);
  }
  return ls_cells_bound(cells, width, lo, hi, key, true);
}

void ls_cells_narrow(const void *cells, unsigned width, uint64_t *lo, uint64_t *hi, int64_t key) {
  if (*lo == *hi ||
      (ls_cell_int(cells, width, *lo) == key && ls_cell_int(cells, width, *hi - 1) == key))
    return;
  *lo = ls_cells_bound(cells, width, *lo, *hi, key, false);
  *hi = cells_run(cells, width, *lo, *hi, key);
}

uint64_t ls_pairs_bound(const void *a, unsigned wa, const void *b, unsigned wb, uint64_t hi,
                        const ls_val *key, bool after) {
  uint64_t lo = 0;
  ls_cells_narrow(a, wa, &lo, &hi, key[0].i);
  return lo == hi ? lo : ls_cells_bound(b, wb, lo, hi, key[1].i, after);
}

static bool value_below(const ls_keycols *k, unsigned c, uint64_t at, ls_val key, bool after) {
  ls_val v = {.u = ls_cell_load(k->cells[c], k->width[c], at)};
  int order = ls_val_compare(k->schema->cols[c].type, k->tx, v, key);
  return after ? order <= 0 : order < 0;
}

static uint64_t column_bound(const ls_keycols *k, unsigned c, uint64_t lo, uint64_t hi, ls_val key,
                             bool after) {
  if (ls_type_is_int(k->schema->cols[c].type))
    return ls_cells_bound(k->cells[c], k->width[c], lo, hi, key.i, after);
  while (lo < hi) {
    uint64_t mid = lo + (hi - lo) / 2;
    if (value_below(k, c, mid, key, after))
      lo = mid + 1;
    else
      hi = mid;
  }
  return lo;
}

/* The end of the rows from lo whose column equals key: gallops, as runs are mostly short. */
static uint64_t run_end(const ls_keycols *k, unsigned c, uint64_t lo, uint64_t hi, ls_val key) {
  uint64_t step = 1;
  while (hi - lo > step) {
    if (!value_below(k, c, lo + step, key, true)) {
      hi = lo + step;
      break;
    }
    lo += step;
    step *= 2;
  }
  return column_bound(k, c, lo, hi, key, true);
}

uint64_t ls_keycols_bound(const ls_keycols *k, uint64_t lo, uint64_t hi, unsigned from,
                          const ls_val *key, unsigned n, bool after) {
  for (unsigned c = from; c < n; c++) {
    if (c + 1 == n)
      return column_bound(k, c, lo, hi, key[c], after);
    if (ls_type_is_int(k->schema->cols[c].type)) {
      ls_cells_narrow(k->cells[c], k->width[c], &lo, &hi, key[c].i);
    } else {
      lo = column_bound(k, c, lo, hi, key[c], false);
      hi = run_end(k, c, lo, hi, key[c]);
    }
    if (lo == hi)
      return lo;
  }
  return after ? hi : lo;
}
