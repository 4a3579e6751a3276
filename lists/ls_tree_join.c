/* lists/ls_tree_join.c - joining nodes that erasing has left nearly empty.
 *
 * A node below LS_NODE_MIN entries joins its neighbour where both fit well into one node;
 * else the two share their entries evenly.  All of it may be left undone, so that lack of
 * memory (to copy a shared neighbour) only leaves the tree a little larger.
 *
 * In what follows sep is what separates two neighbours, before and after.
 */
#include "lists/ls_tree.h"

/* The first k rows of right go behind those of left. */
static void leaves_shift_left(const ls_list *l, ls_node *left, ls_node *right, unsigned k,
                              ls_val *sep) {
  ls_leaf_copy(l, left, left->n, right, 0, k);
  ls_leaf_copy(l, right, 0, right, k, right->n - k);
  left->n += k;
  right->n -= k;
  if (right->n > 0)
    ls_leaf_key(l, right, 0, sep);
}

static void leaves_shift_right(const ls_list *l, ls_node *left, ls_node *right, unsigned k,
                               ls_val *sep) {
  ls_leaf_copy(l, right, k, right, 0, right->n);
  ls_leaf_copy(l, right, 0, left, left->n - k, k);
  left->n -= k;
  right->n += k;
  ls_leaf_key(l, right, 0, sep);
}

static void inners_shift_left(const ls_list *l, ls_inner *left, ls_inner *right, unsigned k,
                              ls_val *sep) {
  unsigned n = left->head.n, rest = right->head.n - k;
  ls_inner_copy(l, left, n, right, 0, k);
  ls_sep_set(l, left, n - 1, sep);
  if (rest > 0) {
    ls_sep_get(l, right, k - 1, sep);
    ls_inner_copy(l, right, 0, right, k, rest);
  }
  left->head.n = n + k;
  right->head.n = rest;
}

static void inners_shift_right(const ls_list *l, ls_inner *left, ls_inner *right, unsigned k,
                               ls_val *sep) {
  unsigned rest = left->head.n - k;
  ls_inner_copy(l, right, k, right, 0, right->head.n);
  ls_inner_copy(l, right, 0, left, rest, k);
  ls_sep_set(l, right, k - 1, sep);
  ls_sep_get(l, left, rest - 1, sep);
  left->head.n = rest;
  right->head.n += k;
}

/* Left ends up with `want` entries. */
static void neighbours_share(const ls_list *l, ls_node *left, ls_node *right, unsigned height,
                             unsigned want, ls_val *sep) {
  ls_inner *a = (ls_inner *)left, *b = (ls_inner *)right;
  if (want > left->n && height == 0)
    leaves_shift_left(l, left, right, want - left->n, sep);
  else if (want > left->n)
    inners_shift_left(l, a, b, want - left->n, sep);
  else if (want < left->n && height == 0)
    leaves_shift_right(l, left, right, left->n - want, sep);
  else if (want < left->n)
    inners_shift_right(l, a, b, left->n - want, sep);
}

/* Mends child `at` of a writable node, whose children have this height. */
static void child_mend(ls_list *l, ls_inner *in, unsigned at, unsigned height) {
  if (in->child[at]->n >= LS_NODE_MIN || in->head.n == 1)
    return;
  unsigned a = at + 1 < in->head.n ? at : at - 1;
  if (ls_node_own(l, &in->child[a], height) != LS_OK ||
      ls_node_own(l, &in->child[a + 1], height) != LS_OK)
    return;
  ls_node *left = in->child[a], *right = in->child[a + 1];
  unsigned total = left->n + right->n;
  ls_val sep[LS_MAX_KEYS];
  ls_sep_get(l, in, a, sep);
  neighbours_share(l, left, right, height, total <= LS_NODE_JOIN ? total : total / 2, sep);
  l->version++;
  in->rows[a] = (uint32_t)ls_node_rows(left, height);
  in->rows[a + 1] = (uint32_t)ls_node_rows(right, height);
  ls_sep_set(l, in, a, sep);
  if (right->n > 0)
    return;
  ls_node_free(l, right, height == 0);
  ls_inner_close(l, in, a + 1);
}

void ls_path_tidy(ls_list *l, ls_path *path) {
  ls_finger_lift(l);
  for (unsigned i = path->height; i-- > 0;)
    child_mend(l, path->node[i], path->at[i], path->height - 1 - i);
  while (l->u.tree.height > 0 && l->u.tree.root->n == 1) {
    ls_node *root = l->u.tree.root, *child = ((ls_inner *)root)->child[0];
    atomic_fetch_add_explicit(&child->refs, 1, memory_order_relaxed);
    ls_node_release(l, root, l->u.tree.height--);
    l->u.tree.root = child;
  }
}

static bool needs_tidy(const ls_path *path) {
  bool needs = path->leaf->n < LS_NODE_MIN || path->node[0]->head.n == 1;
  for (unsigned i = 1; i < path->height; i++)
    if (path->node[i]->head.n < LS_NODE_MIN)
      needs = true;
  return needs;
}

void ls_tree_tidy(ls_list *l, const ls_val *key) {
  if (l->u.tree.root == NULL || l->u.tree.height == 0)
    return;
  ls_probe p = ls_probe_make(l, l->texts, key, l->schema->nkeys, false);
  ls_path path;
  ls_path_find(l, &p, &path);
  if (needs_tidy(&path) && ls_path_own(l, &path) == LS_OK)
    ls_path_tidy(l, &path);
}
