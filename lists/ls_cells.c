/* lists/ls_cells.c - searching sorted cells. */
#include "lists/ls_cells.h"

uint64_t ls_cells_bound(const void *cells, unsigned width, uint64_t lo, uint64_t hi, int64_t key,
                        bool after) {
  if (after && key == INT64_MAX)
    return hi;
  key += after;
  switch (width) {
  case 0:
    return ls_cells_lower(cells, 0, lo, hi, key);
  case 1:
    return ls_cells_lower(cells, 1, lo, hi, key);
  case 2:
    return ls_cells_lower(cells, 2, lo, hi, key);
  default:
    return ls_cells_lower(cells, 3, lo, hi, key);
  }
}

/* The first column decides nearly always: the second is looked at for its equals only. */
uint64_t ls_pairs_bound(const void *a, unsigned wa, const void *b, unsigned wb, uint64_t hi,
                        const ls_val *key, bool after) {
  int64_t x = key[0].i;
  uint64_t lo = ls_cells_bound(a, wa, 0, hi, x, false), end = lo;
  for (uint64_t step = 1; end < hi && ls_cell_int(a, wa, end) == x; step *= 2)
    end = end + step < hi ? end + step : hi;
  if (end == lo)
    return lo;
  end = ls_cells_bound(a, wa, lo, end, x, true);
  return ls_cells_bound(b, wb, lo, end, key[1].i, after);
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
    lo = column_bound(k, c, lo, hi, key[c], false);
    hi = run_end(k, c, lo, hi, key[c]);
    if (lo == hi)
      return lo;
  }
  return after ? hi : lo;
}
