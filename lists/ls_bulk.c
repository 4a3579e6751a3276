/* lists/ls_bulk.c - turning a builder's columns into a list. */
#include <string.h>

#include "lists/ls_builder.h"

static void rows_take(ls_list *l, ls_cursor at, void *const *cells, const unsigned *width) {
  ls_row h;
  for (uint64_t i = 0; ls_list_next(l, &at, &h); i++)
    for (unsigned c = 0; c < l->schema->ncols; c++)
      ls_cell_store(cells[c], width[c], i, ls_list_get(l, h, c).u);
}

/* Column c of the builder behind cells for the rows that l has. */
static ls_status column_prepend(ls_builder *b, const ls_list *l, unsigned c, uint64_t rows) {
  ls_bcol *col = &b->col[c];
  unsigned width = ls_shape_width(l->shape, c);
  bool no_cells = ls_shape_layout(l->shape) == LS_DENSE && c == 0;
  if (no_cells) { /* keys lie between the first and the last of the presence bits */
    ls_val first = {.i = l->u.dense.base}, last = {.u = first.u + l->u.dense.cap - 1};
    width = ls_width_of(LS_INT, (ls_val){.u = first.u | last.u});
  }
  if (width < col->width)
    width = col->width;
  uint64_t n = l->count + rows;
  void *cells = ls_block_new(b->mem, (size_t)n << width, false);
  if (cells == NULL)
    return LS_NOMEM;
  ls_cells_widen((char *)cells + ((size_t)l->count << width), width, col->cells, col->width, rows);
  ls_block_drop(col->cells);
  *col = (ls_bcol){cells, n, n, width};
  return LS_OK;
}

static ls_status rows_prepend(ls_bulk *k, ls_list *l) {
  ls_cursor at;
  ls_status st = ls_list_seek(l, NULL, &LS_WHOLE, &at); /* may sort: layout and widths stay */
  void *cells[LS_MAX_COLS];
  unsigned width[LS_MAX_COLS];
  for (unsigned c = 0; st == LS_OK && c < l->schema->ncols; c++) {
    st = column_prepend(k->b, l, c, k->n - k->before);
    cells[c] = k->b->col[c].cells;
    width[c] = k->b->col[c].width;
  }
  if (st == LS_OK)
    rows_take(l, at, cells, width);
  return st;
}

/* Cells that growing has reserved in vain go back. */
static ls_status columns_trim(const ls_bulk *k) {
  for (unsigned c = 0; c < k->b->schema->ncols; c++) {
    ls_bcol *col = &k->b->col[c];
    col->n = k->n;
    if (col->cap == k->n)
      continue;
    void *cells = ls_block_grow(col->cells, (size_t)k->n << col->width);
    if (cells == NULL)
      return LS_NOMEM;
    col->cells = cells;
    col->cap = k->n;
  }
  return LS_OK;
}

static ls_status columns_widen(ls_builder *b) {
  ls_status st = LS_OK;
  for (unsigned c = 0; st == LS_OK && c < b->schema->ncols; c++)
    if (b->col[c].width < 3)
      st = ls_builder_widen(b, &b->col[c], 3);
  return st;
}

static uint64_t shape_of(const ls_builder *b, ls_layout layout) {
  uint64_t shape = ls_shape_make(b->schema, layout, LS_BASE_ZERO);
  for (unsigned c = 0; c < b->schema->ncols && c < LS_SHAPE_COLS; c++)
    shape = ls_shape_with_width(shape, c, b->col[c].width);
  return shape;
}

/* The columns, sorted and unique by now, become the contents of an empty list. */
static ls_status columns_adopt(const ls_bulk *k, ls_list *to) {
  void *cells[LS_MAX_COLS];
  ls_builder *b = k->b;
  unsigned ncols = b->schema->ncols;
  for (unsigned c = 0; c < ncols; c++)
    cells[c] = b->col[c].cells;
  if (b->schema->nkeys > 0) {
    ls_status st = ls_array_adopt(to, shape_of(b, LS_ARRAY), cells, k->n, k->n);
    if (st != LS_OK)
      return st;
  } else {
    to->shape = shape_of(b, LS_FLAT);
    memcpy(to->col, cells, ncols * sizeof *cells);
    to->u.flat.cap = k->n;
    to->count = k->n;
    to->fresh = false;
    to->version++;
  }
  for (unsigned c = 0; c < ncols; c++)
    b->col[c].cells = NULL;
  return LS_OK;
}

/* An array whose keys lie close together is a dense list. */
static ls_status policy_apply(ls_list *to) {
  if (to->schema->nkeys != 1 || to->count == 0)
    return LS_OK;
  int64_t lo = ls_list_get(to, 0, 0).i, hi = ls_list_get(to, to->count - 1, 0).i;
  if (ls_policy_keyed(to, to->count, lo, hi) != LS_DENSE)
    return LS_OK;
  ls_status st = ls_list_relayout(to, LS_DENSE);
  return st == LS_UNSUITABLE ? LS_OK : st;
}

static ls_status columns_finish(ls_bulk *k, ls_list *l, ls_list *to) {
  ls_builder *b = k->b;
  ls_status st = k->before > 0 ? rows_prepend(k, l) : columns_trim(k);
  bool sorted = b->schema->nkeys == 0;
  if (st == LS_OK && !sorted && !ls_lanes_sorted(b, k->n))
    st = ls_bulk_sort(k);
  if (st == LS_OK && to->policy->wide)
    st = columns_widen(b);
  if (st == LS_OK)
    st = columns_adopt(k, to);
  if (st == LS_OK)
    st = policy_apply(to);
  return st;
}

/* What the rows cost more than has been paid already. */
static ls_status budget_take(ls_list *l, uint64_t count) {
  if (l->budget == NULL)
    return LS_OK;
  uint64_t bytes = ls_list_logical_bytes(l, count);
  if (bytes <= l->charged)
    return LS_OK;
  int64_t cost = (int64_t)(bytes - l->charged);
  if (cost > l->budget->left)
    return LS_LIMIT;
  l->budget->left -= cost;
  l->charged = bytes;
  return LS_OK;
}

static void builder_empty(ls_builder *b) {
  for (unsigned c = 0; c < b->schema->ncols; c++) {
    ls_bcol *col = &b->col[c];
    ls_block_drop(col->cells);
    bool wide = b->schema->cols[c].type == LS_REAL || c >= LS_SHAPE_COLS;
    *col = (ls_bcol){NULL, 0, 0, wide ? 3 : 0};
  }
}

static ls_status finish_into(ls_bulk *k, ls_list *l) {
  ls_list *to = ls_list_twin(l);
  if (to == NULL)
    return LS_NOMEM;
  ls_status st = columns_finish(k, l, to);
  if (st == LS_OK)
    st = ls_undo_note_clear(l);
  if (st == LS_OK)
    st = budget_take(l, to->count);
  if (st == LS_OK) {
    ls_list_take_blocks(l, to);
    ls_list_update_room(l);
  }
  ls_list_delete(to);
  return st;
}

ls_status ls_builder_finish(ls_builder *b, ls_list *l, ls_dup dup, uint64_t *dup_row,
                            uint64_t *first_row) {
  if (l->frozen)
    return LS_FROZEN;
  uint64_t rows = ls_builder_rows(b);
  if (rows > LS_MAX_ROWS - l->count)
    return LS_LIMIT;
  if (rows > 0) {
    ls_bulk k = {b, l->count + rows, l->count, dup, UINT64_MAX, UINT64_MAX};
    ls_status st = finish_into(&k, l);
    if (st == LS_DUPLICATE) {
      *dup_row = k.dup_row - k.before;
      *first_row = k.first_row < k.before ? UINT64_MAX : k.first_row - k.before;
    }
    if (st != LS_OK)
      return st;
  }
  builder_empty(b);
  return LS_OK;
}
