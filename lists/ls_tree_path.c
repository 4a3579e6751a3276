/* lists/ls_tree_path.c - descending the tree, and from a way to positions. */
#include "lists/ls_tree.h"

ls_probe ls_probe_make(const ls_list *l, const ls_texts *tx, const ls_val *key, unsigned n,
                       bool after) {
  ls_probe p = {tx, key, n, after, LS_PROBE_ANY};
  const ls_column *cols = l->schema->cols;
  if (n == 1 && ls_type_is_int(cols[0].type))
    p.kind = LS_PROBE_ONE;
  else if (n == 2 && ls_type_is_int(cols[0].type) && ls_type_is_int(cols[1].type))
    p.kind = LS_PROBE_TWO;
  return p;
}

/* A descent waits for memory again and again: what it may read of a node is asked for at
 * once. */
LS_INLINE void prefetch(const void *from, size_t bytes) {
  for (size_t i = 0; i < bytes; i += 64)
    __builtin_prefetch((const char *)from + i);
}

LS_INLINE void inner_prefetch(const ls_node *node) {
  const ls_inner *in = (const ls_inner *)node;
  __builtin_prefetch(node);
  prefetch(in->sep, LS_FAN * sizeof in->sep[0]); /* the first key column nearly always decides */
  prefetch(in->child, sizeof in->child);
}

LS_INLINE void leaf_prefetch(const ls_list *l, const ls_node *leaf) {
  size_t bytes = (size_t)LS_LEAF_ROWS << ls_shape_width(l->shape, 0);
  __builtin_prefetch(leaf);
  prefetch(ls_leaf_cells(l, leaf, 0), l->schema->nkeys > 1 ? 2 * bytes : bytes);
}

/* The child that the first row looked for is in, or else the row before it.  A separator is
 * not above the rows to its right: with a whole key, equality leads right. */
static unsigned child_of(const ls_list *l, const ls_probe *p, const ls_inner *in) {
  bool after = p->after || p->n == l->schema->nkeys;
  unsigned seps = in->head.n - 1;
  const ls_val *sep = in->sep;
  if (p->kind == LS_PROBE_ONE) {
    if (after && p->key[0].i == INT64_MAX)
      return seps;
    return (unsigned)ls_cells_lower(sep, 3, 0, seps, p->key[0].i + after);
  }
  if (p->kind == LS_PROBE_TWO)
    return (unsigned)ls_pairs_bound(sep, 3, sep + LS_FAN, 3, seps, p->key, after);
  ls_keycols k = {.schema = l->schema, .tx = p->tx};
  for (unsigned c = 0; c < p->n; c++) {
    k.cells[c] = sep + (size_t)c * LS_FAN;
    k.width[c] = 3;
  }
  return (unsigned)ls_keycols_bound(&k, 0, seps, 0, p->key, p->n, after);
}

unsigned ls_leaf_slot(const ls_list *l, const ls_probe *p, const ls_node *leaf) {
  const void *a = ls_leaf_cells(l, leaf, 0);
  unsigned wa = ls_shape_width(l->shape, 0);
  if (p->kind == LS_PROBE_ONE)
    return (unsigned)ls_cells_bound(a, wa, 0, leaf->n, p->key[0].i, p->after);
  if (p->kind == LS_PROBE_TWO)
    return (unsigned)ls_pairs_bound(a, wa, ls_leaf_cells(l, leaf, 1), ls_shape_width(l->shape, 1),
                                    leaf->n, p->key, p->after);
  ls_keycols k = {.schema = l->schema, .tx = p->tx};
  for (unsigned c = 0; c < p->n; c++) {
    k.cells[c] = ls_leaf_cells(l, leaf, c);
    k.width[c] = (uint8_t)ls_shape_width(l->shape, c);
  }
  return (unsigned)ls_keycols_bound(&k, 0, leaf->n, 0, p->key, p->n, p->after);
}

void ls_path_find(const ls_list *l, const ls_probe *p, ls_path *path) {
  ls_node *node = l->u.tree.root;
  path->height = l->u.tree.height;
  for (unsigned i = 0; i < path->height; i++) {
    ls_inner *in = (ls_inner *)node;
    path->node[i] = in;
    path->at[i] = child_of(l, p, in);
    node = in->child[path->at[i]];
    if (i + 1 < path->height)
      inner_prefetch(node);
    else
      leaf_prefetch(l, node);
  }
  path->leaf = node;
  path->slot = ls_leaf_slot(l, p, node);
}

void ls_path_to_row(const ls_list *l, ls_row h, ls_path *path) {
  if (ls_finger_way(l, ls_leaf_of(h), path)) {
    path->slot = ls_slot_of(h);
    return;
  }
  ls_val key[LS_MAX_KEYS];
  ls_leaf_key(l, ls_leaf_of(h), ls_slot_of(h), key);
  ls_probe p = ls_probe_make(l, l->texts, key, l->schema->nkeys, false);
  ls_path_find(l, &p, path);
}

/* The first row at or below child `at` of the inner node at level i, or a later child. */
static uint64_t first_row(const ls_path *path, unsigned i, unsigned at) {
  const ls_inner *in = path->node[i];
  while (at < in->head.n && in->rows[at] == 0)
    at++;
  if (at == in->head.n)
    return 0;
  const ls_node *node = in->child[at];
  for (i++; i < path->height; i++) {
    const ls_inner *below = (const ls_inner *)node;
    for (at = 0; below->rows[at] == 0;)
      at++;
    node = below->child[at];
  }
  return ls_leaf_row(node, 0);
}

uint64_t ls_path_normal(const ls_path *path) {
  if (path->slot < path->leaf->n)
    return ls_leaf_row(path->leaf, path->slot);
  for (unsigned i = path->height; i-- > 0;) {
    uint64_t row = first_row(path, i, path->at[i] + 1);
    if (row != 0)
      return row;
  }
  return 0;
}

ls_status ls_path_own(ls_list *l, ls_path *path) {
  ls_node **link = &l->u.tree.root;
  for (unsigned i = 0; i < path->height; i++) {
    ls_status st = ls_node_own(l, link, path->height - i);
    if (st != LS_OK)
      return st;
    path->node[i] = (ls_inner *)*link;
    link = &path->node[i]->child[path->at[i]];
  }
  ls_status st = ls_node_own(l, link, 0);
  path->leaf = *link;
  return st;
}
