/* lists/ls_cols.h - columns of a list as blocks of `cap` cells: what flat, dense and hash have
 * in common.  Functions that may fail leave the list as usable as it was. */
#ifndef PURE_LS_COLS_H
#define PURE_LS_COLS_H

#include "lists/lists_int.h"

/* Columns first .. ncols-1 of an empty list, at the widths of its shape. */
ls_status ls_cols_new(ls_list *l, unsigned first, uint64_t cap);
/* More cells, the first `used` kept; shared blocks are left to their other holders. */
ls_status ls_cols_grow(ls_list *l, unsigned first, uint64_t used, uint64_t cap);
/* Column col to `width`, the first `used` of cap cells kept; sets the shape. */
ls_status ls_cols_widen(ls_list *l, unsigned col, unsigned width, uint64_t used, uint64_t cap);
void ls_cols_drop(ls_list *l);
void ls_cols_hold(const ls_list *l);
ls_status ls_cols_unshare(ls_list *l);
uint64_t ls_cols_bytes(const ls_list *l);
/* Whether every column has room for cap cells; writes the reason where not. */
bool ls_cols_check(const ls_list *l, unsigned first, uint64_t cap, char *why, size_t n);
/* Row `from` over row `to`. */
void ls_cols_move(ls_list *l, uint64_t to, uint64_t from);
/* Writes a whole row at `at`, columns from `first`. */
static inline void ls_cols_store(ls_list *l, unsigned first, uint64_t at, const ls_val *row) {
  unsigned n = l->schema->ncols;
  for (unsigned c = first; c < n; c++)
    ls_cell_store(l->col[c], ls_shape_width(l->shape, c), at, row[c].u);
}
/* New columns of cap cells, made of rows order[0 .. count).  LS_NOMEM, LS_STOPPED: none. */
ls_status ls_cols_gather(const ls_list *l, const uint32_t *order, uint64_t cap, void **to);
/* The list's columns become those of `cols`, which get what there was. */
void ls_cols_swap(ls_list *l, void **cols);

/* The writer's reason why a check failed; false, so that it can be returned. */
bool ls_check_says(char *why, size_t n, const char *text);

#endif
