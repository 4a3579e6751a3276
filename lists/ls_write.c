/* lists/ls_write.c - the public operations that write.
 *
 * All of them go the same way: look, ask the budget, make the values such as the list stores
 * them, make the list writable (blocks its own, columns wide enough), note the inverse for
 * undo, and then let the layout write.  What may fail comes before what changes something that
 * can be seen.
 */
#include "lists/lists_int.h"

#include <string.h>

static bool fits(const ls_list *l, unsigned c, ls_val v) {
  unsigned w = ls_shape_width(l->shape, c);
  return w == 3 || v.u >> (8u << w) == 0;
}

static ls_texts *order_of(const ls_list *l, ls_texts *tx) { return tx != NULL ? tx : l->texts; }

/* One value as the list stores it. */
static ls_status import_value(ls_list *l, ls_texts *tx, unsigned c, ls_val *v) {
  ls_type type = l->schema->cols[c].type;
  *v = ls_normal(type, c < l->schema->nkeys, *v);
  if (type != LS_TEXT)
    return LS_OK;
  uint32_t id = (uint32_t)v->u;
  ls_status st = LS_OK;
  if (l->stored) {
    st = ls_texts_publish(tx, id, &id);
  } else if (c < l->schema->nkeys) {
    st = ls_texts_adopt(tx, id, &id); /* in a local key a text has one id */
  }
  v->u = id;
  return st;
}

static bool is_plain(const ls_list *l) {
  return !l->reals && !(l->texty && (l->stored || l->schema->nkeys != 0));
}

/* Whether a stored list takes the values as they are: texts of its own dictionary, no reals. */
static bool is_stored_so(const ls_list *l, const ls_val *v, unsigned from, unsigned to) {
  if (!l->stored || l->reals)
    return false;
  for (unsigned c = from; c < to; c++)
    if (l->schema->cols[c].type == LS_TEXT && v[c - from].u >= LS_TEXT_OVERLAY)
      return false;
  return true;
}

/* Values of columns from .. to-1; in itself where nothing is to be done, else buf. */
static ls_status import_values(ls_list *l, ls_texts *tx, const ls_val **in, unsigned from,
                               unsigned to, ls_val *buf) {
  if (is_plain(l) || is_stored_so(l, *in, from, to))
    return LS_OK;
  for (unsigned c = from; c < to; c++) {
    buf[c - from] = (*in)[c - from];
    ls_status st = import_value(l, tx, c, &buf[c - from]);
    if (st != LS_OK)
      return st;
  }
  *in = buf;
  return LS_OK;
}

/* Logical bytes that one more row costs; LS_LIMIT where they are not to be had. */
static ls_status ask_budget(const ls_list *l, uint64_t *cost) {
  *cost = 0;
  if (l->count >= LS_MAX_ROWS)
    return LS_LIMIT;
  if (l->budget == NULL)
    return LS_OK;
  uint64_t bytes = ls_list_logical_bytes(l, l->count + 1);
  if (bytes > l->charged)
    *cost = bytes - l->charged;
  return *cost == 0 || (int64_t)*cost <= l->budget->left ? LS_OK : LS_LIMIT;
}

static void charge(ls_list *l, uint64_t cost) {
  if (cost == 0)
    return;
  l->budget->left -= (int64_t)cost;
  l->charged += cost;
}

static ls_status widen_for(ls_list *l, const ls_val *row, unsigned from) {
  for (unsigned c = from; c < l->schema->ncols; c++) {
    if (fits(l, c, row[c - from]))
      continue;
    unsigned w = ls_width_of(l->schema->cols[c].type, row[c - from]);
    ls_status st = ls_ops(l)->widen(l, c, w);
    if (st != LS_OK)
      return st;
  }
  return LS_OK;
}

/* A fresh keyed list gets the layout that suits its first row. */
static ls_status start_layout(ls_list *l, ls_layout layout) {
  uint64_t flat = l->shape;
  l->shape = ls_policy_shape(l->policy, l->schema, layout);
  ls_status st = ls_ops(l)->start(l, NULL);
  if (st != LS_OK)
    l->shape = flat;
  if (st == LS_OK)
    l->fresh = false; /* even if the row then finds no memory */
  return st;
}

/* A layout that can take a row with this first key (any, where key is NULL). */
static ls_status change_layout(ls_list *l, const ls_val *key) {
  int64_t lo = 0, hi = 0;
  if (ls_policy_can_dense(l->schema)) {
    if (l->count != 0)
      ls_policy_key_range(l, &lo, &hi);
    if (key != NULL) {
      if (l->count == 0 || key->i < lo)
        lo = key->i;
      if (l->count == 0 || key->i > hi)
        hi = key->i;
    }
  }
  ls_layout to = ls_policy_keyed(l, l->count + 1, lo, hi);
  return l->fresh ? start_layout(l, to) : ls_relayout(l, to);
}

static bool adds_in_place(const ls_list *l) {
  if (!l->shared || ls_shape_layout(l->shape) != LS_FLAT)
    return false;
  for (unsigned c = 0; c < l->schema->ncols; c++)
    if (l->count < ls_block_pinned(l->col[c]))
      return false;
  return true;
}

/* The layout can take the row, the blocks are ours, the columns are wide enough. */
static ls_status before_insert(ls_list *l, const ls_val *row) {
  ls_status st = LS_OK;
  bool keyed = l->schema->nkeys != 0;
  if (keyed)
    ls_relayout_stress(l);
  if (keyed && (l->fresh || ls_shape_layout(l->shape) == LS_ARRAY))
    st = change_layout(l, row);
  if (st == LS_OK && l->shared && !adds_in_place(l))
    st = ls_list_unshare(l);
  return st == LS_OK ? widen_for(l, row, 0) : st;
}

static ls_status write_row(ls_list *l, ls_texts *tx, const ls_val *row, ls_row *h) {
  ls_status st = before_insert(l, row);
  if (st == LS_OK && l->undo != NULL)
    st = ls_undo_note_insert(l, row);
  if (st == LS_OK)
    st = ls_ops(l)->insert(l, tx, row, h);
  if (st != LS_UNSUITABLE)
    return st;
  st = change_layout(l, row);
  if (st == LS_OK)
    st = widen_for(l, row, 0);
  if (st == LS_OK && l->undo != NULL)
    st = ls_undo_note_insert(l, row);
  return st == LS_OK ? ls_ops(l)->insert(l, tx, row, h) : st;
}

/* A row whose key is known to be absent. */
static ls_status add_row(ls_list *l, ls_texts *tx, const ls_val *row, ls_row *h) {
  ls_val buf[LS_MAX_COLS];
  uint64_t cost = 0;
  bool slow = l->count >= l->room;
  ls_status st = slow ? ask_budget(l, &cost) : LS_OK;
  if (st == LS_OK)
    st = import_values(l, tx, &row, 0, l->schema->ncols, buf);
  if (st == LS_OK)
    st = write_row(l, tx, row, h);
  if (st == LS_OK) {
    charge(l, cost);
    l->fresh = false;
    l->lookups = 0;
  }
  if (slow || st != LS_OK || l->count > l->room)
    ls_list_update_room(l);
  return st;
}

ls_status ls_list_insert(ls_list *l, ls_texts *tx, const ls_val *row, ls_row *h) {
  ls_val key[LS_MAX_KEYS];
  ls_row at;
  if (h == NULL)
    h = &at;
  if (ls_flat_append_fast(l, row, h) || ls_dense_put_fast(l, row, true, h))
    return LS_OK;
  if (l->frozen)
    return LS_FROZEN;
  tx = order_of(l, tx);
  if (l->schema->nkeys != 0) {
    ls_status st = ls_ops(l)->find(l, tx, ls_key_import(l, tx, row, l->schema->nkeys, key), h);
    if (st != LS_MISSING)
      return st == LS_OK ? LS_DUPLICATE : st;
  }
  return add_row(l, tx, row, h);
}

static void load_key(const ls_list *l, ls_row h, ls_val *key) {
  for (unsigned c = 0; c < l->schema->nkeys; c++)
    key[c] = ls_list_get(l, h, c);
}

/* Makes the list writable at h, with room for the values of columns from ..; finds the row
 * again where that moved it. */
static ls_status before_set(ls_list *l, ls_row *h, unsigned from, const ls_val *v, unsigned n) {
  bool tree = ls_shape_layout(l->shape) == LS_TREE;
  bool ready = (!l->shared || tree) && l->policy->stress_seed == 0;
  for (unsigned i = 0; i < n && ready; i++)
    ready = fits(l, from + i, v[i]);
  if (ready)
    return LS_OK;
  ls_val key[LS_MAX_KEYS];
  load_key(l, *h, key);
  uint64_t version = l->version;
  if (l->schema->nkeys != 0)
    ls_relayout_stress(l);
  ls_status st = ls_list_unshare(l);
  for (unsigned i = 0; i < n && st == LS_OK; i++)
    if (!fits(l, from + i, v[i]))
      st = ls_ops(l)->widen(l, from + i, ls_width_of(l->schema->cols[from + i].type, v[i]));
  if (l->schema->nkeys == 0 || l->version == version)
    return st;
  ls_status found = ls_ops(l)->find(l, l->texts, key, h);
  return st == LS_OK ? found : st;
}

/* Columns from .. from+n-1 of the row at *h; all or none. */
static ls_status set_values(ls_list *l, ls_row *h, unsigned from, const ls_val *v, unsigned n) {
  ls_status st = before_set(l, h, from, v, n);
  for (unsigned i = 0; i < n && st == LS_OK; i++)
    if (l->undo != NULL)
      st = ls_undo_note_set(l, *h, from + i);
  for (unsigned i = 0; i < n && st == LS_OK; i++)
    st = ls_ops(l)->set(l, h, from + i, v[i]);
  ls_list_update_room(l);
  return st;
}

/* Inside an event, into a leaf that is ours and wide enough. */
static bool set_in_leaf(ls_list *l, ls_row *h, unsigned col, ls_val v) {
  return ls_shape_layout(l->shape) == LS_TREE && l->undo != NULL && !l->frozen &&
         l->policy->stress_seed == 0 && fits(l, col, v) && ls_tree_is_own(l, *h) &&
         ls_undo_note_set(l, *h, col) == LS_OK && ls_ops(l)->set(l, h, col, v) == LS_OK;
}

ls_status ls_list_set(ls_list *l, ls_texts *tx, ls_row *h, unsigned col, ls_val v) {
  ls_type type = l->schema->cols[col].type;
  v = ls_normal(type, false, v);
  if ((type != LS_TEXT || !l->stored) && ls_list_set_fast(l, *h, col, v))
    return LS_OK;
  if ((type != LS_TEXT || v.u < LS_TEXT_OVERLAY) &&
      (ls_set_noted_fast(l, *h, col, v) || set_in_leaf(l, h, col, v)))
    return LS_OK;
  if (l->frozen)
    return LS_FROZEN;
  ls_status st = import_value(l, order_of(l, tx), col, &v);
  return st == LS_OK ? set_values(l, h, col, &v, 1) : st;
}

/* rest: the columns that are no key columns. */
static ls_status replace_row(ls_list *l, ls_texts *tx, const ls_val *rest, ls_row *h) {
  ls_val buf[LS_MAX_COLS];
  unsigned n = l->schema->ncols, keys = l->schema->nkeys;
  ls_status st = import_values(l, tx, &rest, keys, n, buf);
  return st == LS_OK ? set_values(l, h, keys, rest, n - keys) : st;
}

ls_status ls_list_put(ls_list *l, ls_texts *tx, const ls_val *row, ls_row *h) {
  ls_val key[LS_MAX_KEYS];
  ls_row at;
  unsigned keys = l->schema->nkeys;
  if (h == NULL)
    h = &at;
  if (ls_dense_put_fast(l, row, false, h))
    return LS_OK;
  if (l->frozen)
    return LS_FROZEN;
  tx = order_of(l, tx);
  if (keys == 0)
    return add_row(l, tx, row, h);
  ls_status st = ls_ops(l)->find(l, tx, ls_key_import(l, tx, row, keys, key), h);
  if (st == LS_OK)
    return replace_row(l, tx, row + keys, h);
  return st == LS_MISSING ? add_row(l, tx, row, h) : st;
}

ls_status ls_list_ensure(ls_list *l, ls_texts *tx, const ls_val *key, const ls_val *rest,
                         ls_row *h) {
  ls_val row[LS_MAX_COLS], buf[LS_MAX_KEYS];
  ls_row at;
  unsigned n = l->schema->ncols, keys = l->schema->nkeys;
  if (h == NULL)
    h = &at;
  tx = order_of(l, tx);
  ls_status st = ls_ops(l)->find(l, tx, ls_key_import(l, tx, key, keys, buf), h);
  if (st != LS_MISSING)
    return st;
  if (l->frozen)
    return LS_FROZEN;
  memcpy(row, key, keys * sizeof *row);
  if (n > keys)
    memcpy(row + keys, rest, (n - keys) * sizeof *row);
  return add_row(l, tx, row, h);
}

/* Makes the list one that can lose the row at *h. */
static ls_status before_erase(ls_list *l, ls_row *h) {
  uint64_t version = l->version;
  ls_val key[LS_MAX_KEYS];
  load_key(l, *h, key);
  ls_relayout_stress(l);
  ls_status st = LS_OK;
  if (ls_shape_layout(l->shape) == LS_ARRAY)
    st = change_layout(l, NULL);
  if (st == LS_OK)
    st = ls_list_unshare(l);
  if (st == LS_OK && l->version != version)
    st = ls_ops(l)->find(l, l->texts, key, h);
  return st;
}

ls_status ls_list_erase(ls_list *l, ls_texts *tx, const ls_val *key) {
  ls_val buf[LS_MAX_KEYS];
  ls_row h;
  if (l->frozen)
    return LS_FROZEN;
  tx = order_of(l, tx);
  ls_status st = ls_ops(l)->find(l, tx, ls_key_import(l, tx, key, l->schema->nkeys, buf), &h);
  if (st == LS_OK)
    st = before_erase(l, &h);
  if (st == LS_OK && l->undo != NULL)
    st = ls_undo_note_erase(l, h);
  if (st == LS_OK)
    st = ls_ops(l)->erase(l, h);
  if (st == LS_OK)
    l->lookups = 0;
  ls_list_update_room(l);
  return st;
}

/* A local list that is cleared will be filled again: it keeps its cells, unless they are far
 * more than it had rows. */
static bool clear_in_place(ls_list *l) {
  if (l->stored || l->shared || l->undo != NULL)
    return false;
  switch (ls_shape_layout(l->shape)) {
  case LS_FLAT:
    break;
  case LS_DENSE:
    if (l->u.dense.cap / 1024 > l->count)
      return false;
    if (l->u.dense.cap != 0)
      memset(l->u.dense.present, 0, l->u.dense.cap / 8);
    break;
  case LS_HASH:
    if (l->u.hash.mask / 64 > l->count)
      return false;
    if (l->u.hash.table != NULL)
      memset(l->u.hash.table, 0, (l->u.hash.mask + 1) * sizeof l->u.hash.table[0]);
    l->u.hash.sorted = l->u.hash.changes = 0;
    break;
  case LS_TREE:
  case LS_ARRAY:
    return false;
  }
  l->count = 0;
  l->reorders = 0;
  l->version++;
  return true;
}

ls_status ls_list_clear(ls_list *l) {
  if (l->frozen)
    return LS_FROZEN;
  if (l->fresh)
    return LS_OK;
  ls_status st = l->undo != NULL ? ls_undo_note_clear(l) : LS_OK;
  if (st != LS_OK)
    return st;
  if (!clear_in_place(l))
    ls_list_empty(l);
  ls_list_update_room(l);
  return LS_OK;
}
