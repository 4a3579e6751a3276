#include "lists/ls_cols.h"

#include <stdio.h>
#include <string.h>

static size_t cells_bytes(const ls_list *l, unsigned c, uint64_t cap) {
  return (size_t)cap << ls_shape_width(l->shape, c);
}

ls_status ls_cols_new(ls_list *l, unsigned first, uint64_t cap) {
  if (cap == 0)
    return LS_OK;
  for (unsigned c = first; c < l->schema->ncols; c++) {
    l->col[c] = ls_block_new(l->mem, cells_bytes(l, c, cap), false);
    if (l->col[c] == NULL) {
      ls_cols_drop(l);
      return LS_NOMEM;
    }
  }
  return LS_OK;
}

static void *cells_grow(ls_list *l, void *cells, size_t used, size_t bytes) {
  if (cells != NULL && !ls_block_shared(cells))
    return ls_block_grow(cells, bytes);
  void *to = ls_block_new(l->mem, bytes, false);
  if (to != NULL && cells != NULL) {
    memcpy(to, cells, used);
    ls_block_drop(cells);
  }
  return to;
}

ls_status ls_cols_grow(ls_list *l, unsigned first, uint64_t used, uint64_t cap) {
  for (unsigned c = first; c < l->schema->ncols; c++) {
    size_t bytes = cells_bytes(l, c, cap);
    if (ls_block_bytes(l->col[c]) >= bytes && !ls_block_shared(l->col[c]))
      continue;
    void *to = cells_grow(l, l->col[c], cells_bytes(l, c, used), bytes);
    if (to == NULL)
      return LS_NOMEM; /* columns grown already are merely larger */
    l->col[c] = to;
  }
  return LS_OK;
}

#define WIDEN(from_type, to_type)                                                                  \
  for (uint64_t i = 0; i < n; i++)                                                                 \
  ((to_type *)to_cells)[i] = ((const from_type *)cells)[i]

void ls_cells_widen(void *to_cells, unsigned to, const void *cells, unsigned from, uint64_t n) {
  if (from == to) {
    if (n != 0)
      memcpy(to_cells, cells, (size_t)n << to);
  } else if (from == 0) {
    if (to == 1)
      WIDEN(uint8_t, uint16_t);
    else if (to == 2)
      WIDEN(uint8_t, uint32_t);
    else
      WIDEN(uint8_t, uint64_t);
  } else if (from == 1) {
    if (to == 2)
      WIDEN(uint16_t, uint32_t);
    else
      WIDEN(uint16_t, uint64_t);
  } else {
    WIDEN(uint32_t, uint64_t);
  }
}

ls_status ls_cols_widen(ls_list *l, unsigned col, unsigned width, uint64_t used, uint64_t cap) {
  if (cap != 0) {
    void *to = ls_block_new(l->mem, (size_t)cap << width, false);
    if (to == NULL)
      return LS_NOMEM;
    ls_cells_widen(to, width, l->col[col], ls_shape_width(l->shape, col), used);
    ls_block_drop(l->col[col]);
    l->col[col] = to;
  }
  l->shape = ls_shape_with_width(l->shape, col, width);
  return LS_OK;
}

void ls_cols_drop(ls_list *l) {
  for (unsigned c = 0; c < l->schema->ncols; c++) {
    ls_block_drop(l->col[c]);
    l->col[c] = NULL;
  }
}

void ls_cols_hold(const ls_list *l) {
  for (unsigned c = 0; c < l->schema->ncols; c++)
    ls_block_hold(l->col[c]);
}

ls_status ls_cols_unshare(ls_list *l) {
  for (unsigned c = 0; c < l->schema->ncols; c++) {
    if (!ls_block_shared(l->col[c]))
      continue;
    void *copy = ls_block_copy(l->col[c]);
    if (copy == NULL)
      return LS_NOMEM;
    ls_block_drop(l->col[c]);
    l->col[c] = copy;
  }
  return LS_OK;
}

uint64_t ls_cols_bytes(const ls_list *l) {
  uint64_t sum = 0;
  for (unsigned c = 0; c < l->schema->ncols; c++)
    sum += ls_block_bytes(l->col[c]);
  return sum;
}

bool ls_check_says(char *why, size_t n, const char *text) {
  if (n != 0)
    snprintf(why, n, "%s", text);
  return false;
}

bool ls_cols_check(const ls_list *l, unsigned first, uint64_t cap, char *why, size_t n) {
  for (unsigned c = 0; c < l->schema->ncols; c++) {
    if (c < first ? l->col[c] != NULL : cap != 0 && l->col[c] == NULL)
      return ls_check_says(why, n, "a column is missing or too many");
    if (c >= first && ls_block_bytes(l->col[c]) < cells_bytes(l, c, cap))
      return ls_check_says(why, n, "a column is shorter than the capacity");
    if (l->schema->cols[c].type == LS_REAL && ls_shape_width(l->shape, c) != 3)
      return ls_check_says(why, n, "a real column is narrow");
  }
  return true;
}

void ls_cols_move(ls_list *l, uint64_t to, uint64_t from) {
  for (unsigned c = 0; c < l->schema->ncols; c++) {
    unsigned w = ls_shape_width(l->shape, c);
    ls_cell_store(l->col[c], w, to, ls_cell_load(l->col[c], w, from));
  }
}

#define GATHER(type)                                                                               \
  for (uint64_t i = lo; i < hi; i++)                                                               \
  ((type *)to)[i] = ((const type *)cells)[order[i]]

static void gather_rows(void *to, const void *cells, unsigned w, const uint32_t *order, uint64_t lo,
                        uint64_t hi) {
  if (w == 0)
    GATHER(uint8_t);
  else if (w == 1)
    GATHER(uint16_t);
  else if (w == 2)
    GATHER(uint32_t);
  else
    GATHER(uint64_t);
}

static ls_status gather(const ls_list *l, unsigned c, const uint32_t *order, void *to) {
  unsigned w = ls_shape_width(l->shape, c);
  for (uint64_t lo = 0, hi; lo < l->count; lo = hi) {
    if (lo != 0 && ls_is_stopped(l->budget))
      return LS_STOPPED;
    hi = ls_stride_end(lo, l->count);
    gather_rows(to, l->col[c], w, order, lo, hi);
  }
  return LS_OK;
}

ls_status ls_cols_gather(const ls_list *l, const uint32_t *order, uint64_t cap, void **to) {
  ls_status st = LS_OK;
  unsigned n = 0;
  while (n < l->schema->ncols && st == LS_OK) {
    to[n] = ls_block_new(l->mem, cells_bytes(l, n, cap), false);
    st = to[n] != NULL ? gather(l, n, order, to[n]) : LS_NOMEM;
    n++;
  }
  for (unsigned c = 0; c < n && st != LS_OK; c++)
    ls_block_drop(to[c]);
  return st;
}

void ls_cols_swap(ls_list *l, void **cols) {
  for (unsigned c = 0; c < l->schema->ncols; c++) {
    void *was = l->col[c];
    l->col[c] = cols[c];
    cols[c] = was;
  }
}
