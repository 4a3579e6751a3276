/* lists/ls_tree_edit.c - writing rows of a tree.
 *
 * An insert takes all the memory it needs before it moves anything: first the nodes of its
 * path are made writable, then the nodes that splits will need are allocated, and from there
 * on nothing can fail.  On the right edge of the tree a full node is not halved: a new one
 * is started, so that rows inserted in order fill their leaves.
 */
#include <string.h>

#include "lists/ls_tree.h"
#include "lists/ls_tree_edit.h"

/* New nodes for splits: [0] a leaf, then inner nodes. */
typedef struct {
  unsigned n, used;
  ls_node *node[LS_TREE_DEPTH + 2];
} spares;

static void spares_free(const ls_list *l, spares *s) {
  for (unsigned i = s->used; i < s->n; i++)
    ls_node_free(l, s->node[i], i == 0);
}

/* One node for the leaf and for every full node right above it; one more for a new root. */
static ls_status spares_get(const ls_list *l, const ls_path *path, spares *s) {
  unsigned inner = 0;
  while (inner < path->height && path->node[path->height - 1 - inner]->head.n == LS_FAN)
    inner++;
  if (inner == path->height)
    inner++;
  s->used = 0;
  for (s->n = 0; s->n <= inner; s->n++) {
    ls_inner *in = NULL;
    if (s->n > 0)
      in = ls_inner_new(l);
    s->node[s->n] = in != NULL ? &in->head : s->n == 0 ? ls_leaf_new(l) : NULL;
    if (s->node[s->n] == NULL) {
      spares_free(l, s);
      return LS_NOMEM;
    }
  }
  return LS_OK;
}

static bool on_right_edge(const ls_path *path) {
  for (unsigned i = 0; i < path->height; i++)
    if (path->at[i] + 1 < path->node[i]->head.n)
      return false;
  return true;
}

static void leaf_put(const ls_list *l, ls_node *leaf, unsigned slot, const ls_val *row) {
  ls_leaf_copy(l, leaf, slot + 1, leaf, slot, leaf->n - slot);
  leaf->n++;
  for (unsigned c = 0; c < l->schema->ncols; c++)
    ls_cell_store(ls_leaf_cells(l, leaf, c), ls_shape_width(l->shape, c), slot, row[c].u);
}

/* Child `at` of an inner node with room, which was part of child at - 1 so far. */
static void inner_put(const ls_list *l, ls_inner *in, unsigned at, ls_node *child,
                      const ls_val *sep, unsigned height) {
  ls_inner_open(l, in, at);
  in->child[at] = child;
  in->rows[at] = (uint32_t)ls_node_rows(child, height);
  ls_sep_set(l, in, at - 1, sep);
}

/* The right part of a full inner node: children from m on.  sep: what separates them. */
static void inner_split(const ls_list *l, ls_inner *in, unsigned m, ls_inner *right, ls_val *sep) {
  ls_sep_get(l, in, m - 1, sep);
  ls_inner_copy(l, right, 0, in, m, in->head.n - m);
  right->head.n = in->head.n - m;
  in->head.n = m;
}

/* Puts (sep, child) behind entry `at` of a full node, using `right`; sep becomes what
 * separates the two. */
static void inner_split_put(const ls_list *l, ls_inner *in, unsigned at, ls_node *child,
                            ls_val *sep, unsigned height, bool edge, ls_inner *right) {
  if (edge) {
    right->child[0] = child;
    right->rows[0] = (uint32_t)ls_node_rows(child, height);
    right->head.n = 1;
    return;
  }
  unsigned m = LS_FAN / 2;
  ls_val mid[LS_MAX_KEYS];
  inner_split(l, in, m, right, mid);
  if (at < m)
    inner_put(l, in, at + 1, child, sep, height);
  else
    inner_put(l, right, at + 1 - m, child, sep, height);
  memcpy(sep, mid, l->schema->nkeys * sizeof *sep);
}

static void root_grow(ls_list *l, ls_inner *root, ls_node *right, const ls_val *sep) {
  unsigned height = l->u.tree.height++;
  root->child[0] = l->u.tree.root;
  root->rows[0] = (uint32_t)ls_node_rows(root->child[0], height);
  root->head.n = 1;
  inner_put(l, root, 1, right, sep, height);
  l->u.tree.root = &root->head;
}

/* The leaf of the path has got a right neighbour: links it in, level by level.  Counts of
 * the rows are made right on the way. */
static void link_right(ls_list *l, ls_path *path, ls_node *right, ls_val *sep, bool edge,
                       spares *s) {
  for (unsigned i = path->height; i-- > 0;) {
    ls_inner *in = path->node[i];
    unsigned at = path->at[i], height = path->height - 1 - i;
    in->rows[at] = (uint32_t)ls_node_rows(in->child[at], height);
    if (right == NULL)
      continue;
    if (in->head.n < LS_FAN) {
      inner_put(l, in, at + 1, right, sep, height);
      right = NULL;
    } else {
      ls_inner *more = (ls_inner *)s->node[s->used++];
      inner_split_put(l, in, at, right, sep, height, edge, more);
      right = &more->head;
    }
  }
  if (right != NULL)
    root_grow(l, (ls_inner *)s->node[s->used++], right, sep);
}

static ls_status insert_split(ls_list *l, ls_path *path, const ls_val *row, ls_row *h) {
  spares s;
  if (spares_get(l, path, &s) != LS_OK)
    return LS_NOMEM;
  ls_finger_lift(l);
  ls_node *leaf = path->leaf, *right = s.node[s.used++];
  bool edge = path->slot == leaf->n && on_right_edge(path);
  unsigned m = edge ? LS_LEAF_ROWS : LS_LEAF_ROWS / 2;
  ls_leaf_copy(l, right, 0, leaf, m, LS_LEAF_ROWS - m);
  right->n = LS_LEAF_ROWS - m;
  leaf->n = m;
  bool goes_right = edge || path->slot > m;
  ls_node *to = goes_right ? right : leaf;
  unsigned slot = goes_right ? path->slot - m : path->slot;
  leaf_put(l, to, slot, row);
  ls_val sep[LS_MAX_KEYS];
  ls_leaf_key(l, right, 0, sep);
  link_right(l, path, right, sep, edge, &s);
  spares_free(l, &s);
  *h = ls_leaf_row(to, slot);
  return LS_OK;
}

static ls_status insert_first(ls_list *l, const ls_val *row, ls_row *h) {
  ls_node *leaf = ls_leaf_new(l);
  if (leaf == NULL)
    return LS_NOMEM;
  l->u.tree.root = leaf;
  l->u.tree.height = 0;
  leaf_put(l, leaf, 0, row);
  *h = ls_leaf_row(leaf, 0);
  return LS_OK;
}

static ls_status insert_into(ls_list *l, const ls_texts *tx, const ls_val *row, ls_row *h) {
  if (l->u.tree.root == NULL)
    return insert_first(l, row, h);
  ls_probe p = ls_probe_make(l, tx, row, l->schema->nkeys, false);
  ls_path path;
  ls_path_near(l, &p, &path);
  if (ls_path_own(l, &path) != LS_OK)
    return LS_NOMEM;
  if (path.leaf->n == LS_LEAF_ROWS)
    return insert_split(l, &path, row, h);
  leaf_put(l, path.leaf, path.slot, row);
  for (unsigned i = 0; i < path.height; i++)
    path.node[i]->rows[path.at[i]]++;
  *h = ls_leaf_row(path.leaf, path.slot);
  return LS_OK;
}

ls_status ls_tree_insert(ls_list *l, const ls_texts *tx, const ls_val *row, ls_row *h) {
  ls_row at;
  ls_status st = insert_into(l, tx, row, &at);
  if (st != LS_OK)
    return st;
  l->version++;
  l->count++;
  if (h != NULL)
    *h = at;
  return LS_OK;
}

bool ls_tree_is_own(const ls_list *l, ls_row h) { return ls_leaf_of(h)->epoch == l->u.tree.epoch; }

ls_status ls_tree_set(ls_list *l, ls_row *h, unsigned col, ls_val v) {
  ls_node *leaf = ls_leaf_of(*h);
  if (leaf->epoch != l->u.tree.epoch) {
    ls_path path;
    ls_path_to_row(l, *h, &path);
    if (ls_path_own(l, &path) != LS_OK)
      return LS_NOMEM;
    leaf = path.leaf;
    *h = ls_leaf_row(leaf, path.slot);
  }
  ls_cell_store(ls_leaf_cells(l, leaf, col), ls_shape_width(l->shape, col), ls_slot_of(*h), v.u);
  return LS_OK;
}

ls_status ls_tree_erase(ls_list *l, ls_row h) {
  ls_path path;
  ls_path_to_row(l, h, &path);
  if (ls_path_own(l, &path) != LS_OK)
    return LS_NOMEM;
  ls_node *leaf = path.leaf;
  ls_leaf_copy(l, leaf, path.slot, leaf, path.slot + 1, leaf->n - path.slot - 1);
  leaf->n--;
  for (unsigned i = 0; i < path.height; i++)
    path.node[i]->rows[path.at[i]]--;
  l->version++;
  l->count--;
  if (l->undo == NULL)
    ls_path_tidy(l, &path);
  return LS_OK;
}

/* Rebuilds every node at the widths of shape. */
static ls_status rebuild(ls_list *l, uint64_t shape) {
  ls_list to = *l;
  to.shape = shape;
  to.u.tree.col_offset = ls_leaf_offsets(l, shape, &to.u.tree.leaf_bytes);
  if (to.u.tree.col_offset == NULL)
    return LS_NOMEM;
  if (l->u.tree.root != NULL) {
    to.u.tree.root = ls_node_clone(l, l->u.tree.root, l->u.tree.height, &to);
    if (to.u.tree.root == NULL) {
      ls_block_drop(to.u.tree.col_offset);
      return LS_NOMEM;
    }
    ls_node_release(l, l->u.tree.root, l->u.tree.height);
  }
  ls_block_drop(l->u.tree.col_offset);
  ls_finger_lift(l);
  l->u = to.u;
  l->shape = shape;
  l->version++;
  return LS_OK;
}

ls_status ls_tree_widen(ls_list *l, unsigned col, unsigned width) {
  return rebuild(l, ls_shape_with_width(l->shape, col, width));
}

ls_status ls_tree_own_all(ls_list *l) { return rebuild(l, l->shape); }
