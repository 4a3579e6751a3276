/* lists/ls_flat.c - positional lists, and keyed lists without rows.
 *
 * Appending to a shared list writes past the cells that a snapshot can see (the pinned ones),
 * so a log that is appended to between snapshots is never copied but for growth.
 */
#include "lists/ls_cols.h"

#include <string.h>

#define FLAT_MIN 64u

static ls_status flat_find(ls_list *l, const ls_texts *tx, const ls_val *key, ls_row *h) {
  (void)l, (void)tx, (void)key, (void)h;
  return LS_MISSING;
}

static ls_status flat_grow(ls_list *l) {
  uint64_t cap = l->u.flat.cap * 2;
  if (cap < FLAT_MIN)
    cap = FLAT_MIN;
  l->fresh = false; /* some columns may get cells even where memory runs out */
  ls_status st = ls_cols_grow(l, 0, l->count, cap);
  if (st != LS_OK)
    return st;
  l->u.flat.cap = cap;
  l->shared = false;
  return LS_OK;
}

static ls_status flat_insert(ls_list *l, const ls_texts *tx, const ls_val *row, ls_row *h) {
  (void)tx;
  if (l->schema->nkeys != 0)
    return LS_UNSUITABLE;
  if (l->count == l->u.flat.cap) {
    ls_status st = flat_grow(l);
    if (st != LS_OK)
      return st;
  }
  ls_cols_store(l, 0, l->count, row);
  *h = l->count++;
  return LS_OK;
}

static ls_status flat_set(ls_list *l, ls_row *h, unsigned col, ls_val v) {
  ls_cell_store(l->col[col], ls_shape_width(l->shape, col), *h, v.u);
  return LS_OK;
}

/* Only the last row: what undoing an append needs. */
static ls_status flat_erase(ls_list *l, ls_row h) {
  if (h + 1 != l->count)
    return LS_UNSUITABLE;
  l->count--;
  l->version++;
  return LS_OK;
}

static ls_status flat_widen(ls_list *l, unsigned col, unsigned width) {
  return ls_cols_widen(l, col, width, l->count, l->u.flat.cap);
}

static ls_status flat_bound(ls_list *l, const ls_texts *tx, const ls_val *key, unsigned n,
                            bool after, uint64_t *pos) {
  (void)tx, (void)key, (void)n;
  *pos = after ? l->count : 0;
  return LS_OK;
}

static bool flat_next(const ls_list *l, ls_cursor *c, ls_row *h) {
  (void)l;
  if (c->next >= c->end)
    return false;
  *h = c->next++;
  return true;
}

static bool flat_prev(const ls_list *l, uint64_t pos, ls_row *h) {
  (void)l;
  if (pos == 0)
    return false;
  *h = pos - 1;
  return true;
}

static uint64_t flat_rank(const ls_list *l, uint64_t pos) { return (void)l, pos; }

static ls_status flat_start(ls_list *l, const ls_hint *hint) {
  uint64_t cap = hint != NULL ? hint->cap : 0;
  if (cap > LS_MAX_ROWS)
    cap = LS_MAX_ROWS;
  ls_status st = ls_cols_new(l, 0, cap);
  if (st == LS_OK)
    l->u.flat.cap = cap;
  return st;
}

static void flat_drop(ls_list *l) {
  ls_cols_drop(l);
  memset(&l->u, 0, sizeof l->u);
}

static void flat_share(const ls_list *l, ls_list *copy) {
  (void)copy;
  ls_cols_hold(l);
  if (l->frozen)
    return; /* pinned when it was frozen, and perhaps not on this thread */
  for (unsigned c = 0; c < l->schema->ncols; c++)
    ls_block_pin(l->col[c], l->count);
}

static bool flat_check(const ls_list *l, char *why, size_t n) {
  if (l->schema->nkeys != 0 && (l->count != 0 || l->u.flat.cap != 0))
    return ls_check_says(why, n, "a keyed list is flat and not fresh");
  if (l->count > l->u.flat.cap)
    return ls_check_says(why, n, "more rows than cells");
  return ls_cols_check(l, 0, l->u.flat.cap, why, n);
}

const ls_layout_ops ls_flat_ops = {
    .find = flat_find,
    .insert = flat_insert,
    .set = flat_set,
    .erase = flat_erase,
    .widen = flat_widen,
    .bound = flat_bound,
    .next = flat_next,
    .prev = flat_prev,
    .rank = flat_rank,
    .start = flat_start,
    .drop = flat_drop,
    .share = flat_share,
    .unshare = ls_cols_unshare,
    .bytes = ls_cols_bytes,
    .check = flat_check,
};
