/* lists/ls_read.c - the public operations that read. */
#include "lists/lists_int.h"

const ls_val *ls_key_import(const ls_list *l, const ls_texts *tx, const ls_val *key, unsigned n,
                            ls_val *buf) {
  if (l->plain)
    return key;
  for (unsigned c = 0; c < n; c++) {
    ls_type type = l->schema->cols[c].type;
    buf[c] = ls_normal(type, true, key[c]);
    if (type == LS_TEXT && ls_shape_layout(l->shape) == LS_HASH)
      buf[c].u = ls_texts_canonical(tx, (uint32_t)key[c].u);
  }
  return buf;
}

static ls_texts *order_of(const ls_list *l, ls_texts *tx) { return tx != NULL ? tx : l->texts; }

/* Frozen lists are read by many threads and count nothing. */
static void count_lookup(ls_list *l) {
  if (l->stored && !l->frozen)
    l->lookups++;
}

ls_status ls_list_find(ls_list *l, ls_texts *tx, const ls_val *key, ls_row *h) {
  ls_val buf[LS_MAX_KEYS];
  tx = order_of(l, tx);
  count_lookup(l);
  return ls_ops(l)->find(l, tx, ls_key_import(l, tx, key, l->schema->nkeys, buf), h);
}

bool ls_list_has(ls_list *l, ls_texts *tx, const ls_val *key) {
  ls_row h;
  return ls_list_find(l, tx, key, &h) == LS_OK;
}

bool ls_list_next_slow(const ls_list *l, ls_cursor *c, ls_row *h) {
  return ls_ops(l)->next(l, c, h);
}

/* A slice with its values normal: np prefix values, then perhaps a bound. */
typedef struct {
  const ls_list *list;
  ls_texts *tx;
  ls_val lo[LS_MAX_KEYS], hi[LS_MAX_KEYS]; /* prefix, then the bound */
  unsigned np, nlo, nhi;                   /* how much of them counts */
  bool empty;                              /* lo is above hi */
} slice;

static bool is_whole(const ls_list *l, const ls_slice *s) {
  return l->schema->nkeys == 0 || (s->np == 0 && !s->has_lo && !s->has_hi);
}

static void slice_open(const ls_list *l, ls_texts *tx, const ls_slice *s, slice *out) {
  out->list = l;
  out->tx = tx;
  out->empty = false;
  out->np = is_whole(l, s) ? 0 : s->np;
  out->nlo = out->nhi = out->np;
  for (unsigned c = 0; c < out->np; c++)
    out->lo[c] = out->hi[c] = ls_normal(l->schema->cols[c].type, true, s->prefix[c]);
  if (is_whole(l, s) || (!s->has_lo && !s->has_hi))
    return;
  ls_type type = l->schema->cols[out->np].type;
  if (s->has_lo)
    out->lo[out->nlo++] = ls_normal(type, true, s->lo);
  if (s->has_hi)
    out->hi[out->nhi++] = ls_normal(type, true, s->hi);
  if (s->has_lo && s->has_hi)
    out->empty = ls_val_compare(type, tx, out->lo[out->np], out->hi[out->np]) > 0;
}

/* A hash list that is put in order again and again for the sake of a few changes each time
 * (a priority queue) becomes a tree. */
static ls_status order_hash(ls_list *l, ls_texts *tx) {
  if (ls_shape_layout(l->shape) != LS_HASH || l->frozen)
    return LS_OK;
  if (l->u.hash.sorted == l->count)
    return LS_OK;
  if (l->u.hash.changes < l->count / 4 && ++l->reorders > l->policy->tree_after_sorts) {
    ls_status st = ls_hash_sort(l, tx);
    return st == LS_OK ? ls_relayout(l, LS_TREE) : st;
  }
  return ls_hash_sort(l, tx);
}

static ls_status before_order(ls_list *l, ls_texts *tx) {
  count_lookup(l);
  if (!l->stored && l->schema->nkeys != 0)
    ls_relayout_stress(l);
  return order_hash(l, tx);
}

static ls_status slice_bounds(ls_list *l, const slice *s, ls_cursor *c) {
  const ls_layout_ops *ops = ls_ops(l);
  ls_status st = ops->bound(l, s->tx, s->hi, s->nhi, true, &c->end);
  if (st != LS_OK)
    return st;
  if (s->empty) {
    c->next = c->end;
    return LS_OK;
  }
  return ops->bound(l, s->tx, s->lo, s->nlo, false, &c->next);
}

ls_status ls_list_seek(ls_list *l, ls_texts *tx, const ls_slice *s, ls_cursor *c) {
  slice in;
  tx = order_of(l, tx);
  ls_status st = before_order(l, tx);
  if (st != LS_OK)
    return st;
  slice_open(l, tx, s, &in);
  return slice_bounds(l, &in, c);
}

/* Where a key lies: -1 before the slice, 0 in it, 1 after it. */
static int slice_side(const slice *s, const ls_val *key) {
  const ls_schema *schema = s->list->schema;
  if (s->empty)
    return 1;
  if (ls_key_compare(schema, s->tx, key, s->lo, s->nlo) < 0)
    return -1;
  return ls_key_compare(schema, s->tx, key, s->hi, s->nhi) > 0;
}

ls_status ls_list_seek_after(ls_list *l, ls_texts *tx, const ls_slice *s, const ls_val *key,
                             ls_cursor *c) {
  slice in;
  ls_val at[LS_MAX_KEYS];
  unsigned n = l->schema->nkeys;
  tx = order_of(l, tx);
  ls_status st = before_order(l, tx);
  if (st != LS_OK)
    return st;
  slice_open(l, tx, s, &in);
  for (unsigned k = 0; k < n; k++)
    at[k] = ls_normal(l->schema->cols[k].type, true, key[k]);
  int side = slice_side(&in, at);
  st = slice_bounds(l, &in, c);
  if (st != LS_OK || side < 0)
    return st;
  if (side > 0) {
    c->next = c->end;
    return LS_OK;
  }
  return ls_ops(l)->bound(l, tx, at, n, true, &c->next);
}

ls_status ls_list_slice_count(ls_list *l, ls_texts *tx, const ls_slice *s, uint64_t *n) {
  if (is_whole(l, s)) {
    *n = l->count;
    return LS_OK;
  }
  ls_cursor c;
  ls_status st = ls_list_seek(l, tx, s, &c);
  if (st != LS_OK)
    return st;
  *n = c.next == c.end ? 0 : ls_ops(l)->rank(l, c.end) - ls_ops(l)->rank(l, c.next);
  return LS_OK;
}

ls_status ls_list_first(ls_list *l, ls_texts *tx, const ls_slice *s, ls_row *h) {
  ls_cursor c;
  ls_status st = ls_list_seek(l, tx, s, &c);
  if (st != LS_OK)
    return st;
  return ls_list_next(l, &c, h) ? LS_OK : LS_MISSING;
}

ls_status ls_list_last(ls_list *l, ls_texts *tx, const ls_slice *s, ls_row *h) {
  ls_cursor c;
  ls_status st = ls_list_seek(l, tx, s, &c);
  if (st != LS_OK)
    return st;
  if (c.next == c.end || !ls_ops(l)->prev(l, c.end, h))
    return LS_MISSING;
  /* Positions of a dense list are cells, and there may be none present in between. */
  return ls_shape_layout(l->shape) == LS_DENSE && *h < c.next ? LS_MISSING : LS_OK;
}
