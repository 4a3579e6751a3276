/* lists/ls_tree.c - tree layout: reading, sharing, and the table of its operations. */
#include <string.h>

#include "lists/ls_tree.h"
#include "lists/ls_tree_edit.h"

static ls_status tree_find(ls_list *l, const ls_texts *tx, const ls_val *key, ls_row *h) {
  if (l->u.tree.root == NULL)
    return LS_MISSING;
  const ls_schema *s = l->schema;
  ls_probe p = ls_probe_make(l, tx, key, s->nkeys, false);
  ls_path path;
  ls_path_near(l, &p, &path);
  if (path.slot == path.leaf->n)
    return LS_MISSING;
  for (unsigned c = 0; c < s->nkeys; c++) {
    ls_val v = {
        .u = ls_cell_load(ls_leaf_cells(l, path.leaf, c), ls_shape_width(l->shape, c), path.slot)};
    if (v.i != key[c].i &&
        (ls_type_is_int(s->cols[c].type) || ls_val_compare(s->cols[c].type, tx, v, key[c]) != 0))
      return LS_MISSING;
  }
  *h = ls_leaf_row(path.leaf, path.slot);
  return LS_OK;
}

static ls_status tree_bound(ls_list *l, const ls_texts *tx, const ls_val *key, unsigned n,
                            bool after, uint64_t *pos) {
  *pos = 0;
  if (l->count == 0 || (n == 0 && after))
    return LS_OK;
  ls_probe p = ls_probe_make(l, tx, key, n, after);
  ls_path path;
  ls_path_near(l, &p, &path);
  *pos = ls_path_normal(&path);
  return LS_OK;
}

static bool tree_next(const ls_list *l, ls_cursor *c, ls_row *h) {
  ls_row row = c->next;
  if (row == c->end || row == 0)
    return false;
  *h = row;
  if (ls_slot_of(row) + 1 < ls_leaf_of(row)->n) {
    c->next = row + 1;
  } else {
    ls_path path;
    ls_path_to_row(l, row, &path);
    path.slot++;
    c->next = ls_path_normal(&path);
  }
  return true;
}

/* The last row below `node`, which has one. */
static ls_row last_row(const ls_node *node, unsigned height) {
  for (; height > 0; height--) {
    const ls_inner *in = (const ls_inner *)node;
    unsigned at = node->n - 1;
    while (in->rows[at] == 0)
      at--;
    node = in->child[at];
  }
  return ls_leaf_row(node, node->n - 1);
}

static bool tree_prev(const ls_list *l, uint64_t pos, ls_row *h) {
  if (l->count == 0)
    return false;
  if (pos == 0) {
    *h = last_row(l->u.tree.root, l->u.tree.height);
    return true;
  }
  if (ls_slot_of(pos) > 0) {
    *h = pos - 1;
    return true;
  }
  ls_path path;
  ls_path_to_row(l, pos, &path);
  for (unsigned i = path.height; i-- > 0;) {
    const ls_inner *in = path.node[i];
    for (unsigned at = path.at[i]; at-- > 0;) {
      if (in->rows[at] == 0)
        continue;
      *h = last_row(in->child[at], path.height - i - 1);
      return true;
    }
  }
  return false;
}

static uint64_t tree_rank(const ls_list *l, uint64_t pos) {
  if (pos == 0)
    return l->count;
  ls_path path;
  ls_path_to_row(l, pos, &path);
  uint64_t before = path.slot;
  for (unsigned i = 0; i < path.height; i++)
    for (unsigned at = 0; at < path.at[i]; at++)
      before += path.node[i]->rows[at];
  return before;
}

static ls_status tree_start(ls_list *l, const ls_hint *hint) {
  (void)hint;
  uint32_t bytes;
  uint32_t *offset = ls_leaf_offsets(l, l->shape, &bytes);
  if (offset == NULL)
    return LS_NOMEM;
  l->u.tree.col_offset = offset;
  l->u.tree.leaf_bytes = bytes;
  l->u.tree.epoch = 1;
  return LS_OK;
}

static void tree_drop(ls_list *l) {
  if (l->u.tree.root != NULL)
    ls_node_release(l, l->u.tree.root, l->u.tree.height);
  ls_block_drop(l->u.tree.col_offset);
  ls_finger_drop(l);
  memset(&l->u, 0, sizeof l->u);
}

static void tree_share(const ls_list *l, ls_list *copy) {
  copy->u.tree.finger = NULL;
  ls_block_hold(l->u.tree.col_offset);
  if (l->u.tree.root != NULL)
    atomic_fetch_add_explicit(&l->u.tree.root->refs, 1, memory_order_relaxed);
}

static ls_status tree_unshare(ls_list *l) {
  (void)l; /* writes copy the nodes on their way */
  return LS_OK;
}

static uint64_t node_bytes(const ls_list *l, const ls_node *node, unsigned height) {
  if (height == 0)
    return l->u.tree.leaf_bytes;
  const ls_inner *in = (const ls_inner *)node;
  uint64_t bytes = ls_inner_bytes(l->schema);
  for (unsigned i = 0; i < node->n; i++)
    bytes += node_bytes(l, in->child[i], height - 1);
  return bytes;
}

static uint64_t tree_bytes(const ls_list *l) {
  uint64_t bytes = ls_block_bytes(l->u.tree.col_offset);
  if (l->u.tree.root != NULL)
    bytes += node_bytes(l, l->u.tree.root, l->u.tree.height);
  return bytes;
}

const ls_layout_ops ls_tree_ops = {
    .find = tree_find,
    .insert = ls_tree_insert,
    .set = ls_tree_set,
    .erase = ls_tree_erase,
    .widen = ls_tree_widen,
    .bound = tree_bound,
    .next = tree_next,
    .prev = tree_prev,
    .rank = tree_rank,
    .start = tree_start,
    .drop = tree_drop,
    .share = tree_share,
    .unshare = tree_unshare,
    .bytes = tree_bytes,
    .check = ls_tree_check,
};
