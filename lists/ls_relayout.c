/* lists/ls_relayout.c - from any layout to any other.
 *
 * The new list is built beside the old one (a twin) and its blocks are taken over at the end,
 * so that running out of memory leaves everything as it was.
 */
#include "lists/ls_cols.h"

#include <string.h>

/* By hand a list may be made dense that the policy would not make dense, within reason. */
#define DENSE_SPAN_MOST(count) ((UINT64_C(1) << 16) + 64 * (count))

static uint64_t key_span(ls_list *l, int64_t *lo, int64_t *hi) {
  ls_policy_key_range(l, lo, hi);
  return (uint64_t)*hi - (uint64_t)*lo; /* less one */
}

static bool is_suitable(ls_list *l, ls_layout to) {
  int64_t lo, hi;
  if (l->schema->nkeys == 0)
    return to == LS_FLAT;
  switch (to) {
  case LS_FLAT:
    return l->count == 0;
  case LS_DENSE:
    return ls_policy_can_dense(l->schema) && key_span(l, &lo, &hi) < DENSE_SPAN_MOST(l->count);
  case LS_HASH:
    return !l->stored;
  case LS_TREE:
  case LS_ARRAY:
    return true;
  }
  return false;
}

/* The shape after the change: widths stay, but the key column of a dense list has none. */
static uint64_t shape_for(ls_list *l, ls_layout to) {
  uint64_t shape = ls_shape_with_layout(l->shape, to, LS_BASE_ZERO);
  if (ls_shape_layout(l->shape) == LS_DENSE && to != LS_DENSE) {
    int64_t lo, hi;
    key_span(l, &lo, &hi);
    unsigned w = lo < 0 || l->policy->wide ? 3 : ls_width_of(LS_INT, (ls_val){.i = hi});
    shape = ls_shape_with_width(shape, 0, w);
  }
  return shape;
}

static void load_row(const ls_list *l, ls_row h, ls_val *row) {
  for (unsigned c = 0; c < l->schema->ncols; c++)
    row[c] = ls_list_get(l, h, c);
}

/* Asked after every row. */
static bool is_stopped(const ls_list *l, uint64_t at) {
  return at % LS_STRIDE == LS_STRIDE - 1 && ls_is_stopped(l->budget);
}

/* All rows; in order, except those of a hash list, which come as they lie. */
static ls_status all_rows(ls_list *l, ls_cursor *c) {
  if (ls_shape_layout(l->shape) == LS_HASH) {
    *c = (ls_cursor){0, l->count};
    return LS_OK;
  }
  ls_status st = ls_ops(l)->bound(l, l->texts, NULL, 0, false, &c->next);
  return st == LS_OK ? ls_ops(l)->bound(l, l->texts, NULL, 0, true, &c->end) : st;
}

/* To dense or hash: one row after the other. */
static ls_status fill_by_row(ls_list *l, ls_list *t) {
  ls_hint hint = {.count = l->count, .cap = l->count};
  if (ls_shape_layout(t->shape) == LS_DENSE && l->count != 0) {
    int64_t lo, hi;
    uint64_t span = key_span(l, &lo, &hi);
    hint.base = lo >= 0 && (uint64_t)lo <= span ? 0 : lo & ~INT64_C(63);
    hint.cap = (((uint64_t)hi - (uint64_t)hint.base) | 63) + 1;
  }
  ls_status st = ls_ops(t)->start(t, &hint);
  ls_cursor c;
  if (st == LS_OK)
    st = all_rows(l, &c);
  ls_row h, to;
  ls_val row[LS_MAX_COLS];
  for (uint64_t at = 0; st == LS_OK && ls_ops(l)->next(l, &c, &h); at++) {
    load_row(l, h, row);
    st = ls_ops(t)->insert(t, l->texts, row, &to);
    if (is_stopped(l, at))
      st = LS_STOPPED;
  }
  return st;
}

/* Columns of the rows in order, at the widths of shape: blocks of their own in t->col. */
static ls_status gather(ls_list *l, ls_list *t) {
  ls_cursor c;
  ls_row h;
  ls_status st = ls_cols_new(t, 0, l->count);
  if (st == LS_OK)
    st = all_rows(l, &c);
  if (st != LS_OK)
    return st;
  for (uint64_t at = 0; ls_ops(l)->next(l, &c, &h); at++) {
    for (unsigned k = 0; k < l->schema->ncols; k++)
      ls_cell_store(t->col[k], ls_shape_width(t->shape, k), at, ls_list_get(l, h, k).u);
    if (is_stopped(l, at)) {
      ls_cols_drop(t);
      return LS_STOPPED;
    }
  }
  return LS_OK;
}

/* Columns of the rows in order, in t->col: held or gathered. */
static ls_status sorted_columns(ls_list *l, ls_list *t) {
  ls_layout from = ls_shape_layout(l->shape);
  if (from == LS_HASH) {
    ls_status st = ls_hash_sort(l, l->texts);
    if (st != LS_OK)
      return st;
  } else if (from != LS_ARRAY) {
    return gather(l, t);
  }
  memcpy(t->col, l->col, l->schema->ncols * sizeof l->col[0]);
  ls_cols_hold(t);
  return LS_OK;
}

/* To tree or array: columns at once. */
static ls_status fill_by_column(ls_list *l, ls_list *t) {
  ls_layout to = ls_shape_layout(t->shape);
  void *cols[LS_MAX_COLS];
  uint64_t shape = t->shape;
  size_t bytes = l->schema->ncols * sizeof cols[0];
  ls_status st = sorted_columns(l, t);
  if (st != LS_OK)
    return st;
  memcpy(cols, t->col, bytes);
  memset(t->col, 0, bytes);
  t->shape = ls_shape_make(l->schema, LS_FLAT, 0);
  if (to == LS_TREE)
    st = ls_tree_adopt(t, shape, (const void *const *)cols, l->count);
  else
    st = ls_array_adopt(t, shape, cols, l->count, l->count);
  for (unsigned c = 0; c < l->schema->ncols && (st != LS_OK || to == LS_TREE); c++)
    ls_block_drop(cols[c]);
  return st;
}

static ls_status build(ls_list *l, ls_list *t, ls_layout to) {
  t->shape = shape_for(l, to);
  if (l->count == 0)
    return ls_ops(t)->start(t, NULL);
  return to == LS_DENSE || to == LS_HASH ? fill_by_row(l, t) : fill_by_column(l, t);
}

ls_status ls_relayout(ls_list *l, ls_layout to) {
  ls_status st = l->undo != NULL ? ls_undo_note_clear(l) : LS_OK;
  if (st != LS_OK)
    return st;
  if (to == LS_FLAT) {
    ls_list_empty(l);
    return LS_OK;
  }
  ls_list *t = ls_list_twin(l);
  if (t == NULL)
    return LS_NOMEM;
  t->budget = l->budget; /* to be stopped by: a twin is not charged */
  st = build(l, t, to);
  if (st == LS_OK) {
    t->fresh = false;
    ls_list_take_blocks(l, t);
  }
  ls_list_delete(t);
  return st;
}

ls_status ls_list_relayout(ls_list *l, ls_layout to) {
  if (l->frozen)
    return LS_FROZEN;
  if (!is_suitable(l, to))
    return LS_UNSUITABLE;
  return ls_shape_layout(l->shape) == to ? LS_OK : ls_relayout(l, to);
}

/* Bytes that unsharing would have to copy. */
static uint64_t shared_bytes(const ls_list *l) {
  uint64_t sum = 0;
  for (unsigned c = 0; c < l->schema->ncols; c++)
    if (ls_block_shared(l->col[c]))
      sum += ls_block_bytes(l->col[c]);
  return sum;
}

ls_status ls_list_unshare(ls_list *l) {
  ls_layout layout = ls_shape_layout(l->shape);
  if (!l->shared || layout == LS_TREE)
    return LS_OK;
  if ((layout == LS_DENSE || layout == LS_ARRAY) && l->stored && l->count != 0 &&
      shared_bytes(l) > l->policy->share_copy_bytes)
    return ls_relayout(l, LS_TREE);
  ls_status st = ls_ops(l)->unshare(l);
  if (st == LS_OK)
    l->shared = false;
  ls_list_update_room(l);
  return st;
}

/* The more rows the seldomer, for an event keeps what it may have to go back to. */
void ls_relayout_stress(ls_list *l) {
  if (l->policy->stress_seed == 0 || l->frozen || l->fresh)
    return;
  l->stress ^= l->stress << 13;
  l->stress ^= l->stress >> 7;
  l->stress ^= l->stress << 17;
  if (l->stress % (8 + l->count / 64) != 0)
    return;
  ls_layout to = (ls_layout)(LS_DENSE + (l->stress >> 32) % (LS_NLAYOUTS - LS_DENSE));
  if (to != ls_shape_layout(l->shape) && is_suitable(l, to))
    (void)ls_relayout(l, to); /* without memory it stays what it is */
}

/* A dense list that is so no longer leaves late: on the threshold it must not go to and fro. */
static bool is_thin(ls_list *l) {
  int64_t lo, hi;
  uint64_t span = key_span(l, &lo, &hi) / 4;
  return span >= l->policy->dense_min_span &&
         span / (l->count + 1) >= l->policy->dense_max_sparsity;
}

/* What a keyed list with rows had better be, if anything else.  Trees change when look-ups
 * since the last write have paid for the copy. */
static ls_layout better_layout(ls_list *l) {
  ls_layout now = ls_shape_layout(l->shape);
  uint64_t paid = l->policy->array_after_lookups;
  int64_t lo, hi;
  if (now == LS_DENSE && is_thin(l))
    return l->stored ? LS_TREE : LS_HASH;
  if (now == LS_DENSE || paid == 0)
    return now;
  if (now == LS_TREE && (!l->stored || l->lookups < (l->count + paid - 1) / paid))
    return now;
  if (ls_policy_can_dense(l->schema)) {
    key_span(l, &lo, &hi);
    if (ls_policy_keyed(l, l->count, lo, hi) == LS_DENSE)
      return LS_DENSE;
  }
  return now == LS_TREE && l->count >= l->policy->array_min_rows ? LS_ARRAY : now;
}

ls_status ls_list_settle(ls_list *l) {
  if (l->frozen || l->schema->nkeys == 0 || l->fresh)
    return LS_OK;
  if (l->count == 0) {
    if (l->stored)
      return ls_relayout(l, LS_FLAT);
    return LS_OK;
  }
  ls_relayout_stress(l);
  ls_layout to = better_layout(l);
  return to != ls_shape_layout(l->shape) ? ls_relayout(l, to) : LS_OK;
}
