/* lists/ls_tree_check.c - whether a tree holds together. */
#include "lists/ls_tree.h"
#include "lists/ls_cols.h"

typedef struct {
  const ls_list *l;
  const char *why; /* NULL so far */
} checker;

static bool says(checker *k, const char *why) {
  if (k->why == NULL)
    k->why = why;
  return false;
}

/* Keys of a leaf grow, from at least lo to below hi (NULL: no bound). */
static bool leaf_check(checker *k, const ls_node *leaf, const ls_val *lo, const ls_val *hi) {
  const ls_list *l = k->l;
  const ls_schema *s = l->schema;
  ls_val key[LS_MAX_KEYS], last[LS_MAX_KEYS];
  if (leaf->n > LS_LEAF_ROWS)
    return says(k, "a leaf has too many rows");
  for (unsigned i = 0; i < leaf->n; i++) {
    ls_leaf_key(l, leaf, i, key);
    if (i == 0 && lo != NULL && ls_key_compare(s, l->texts, lo, key, s->nkeys) > 0)
      return says(k, "a row is below its separator");
    if (i > 0 && ls_key_compare(s, l->texts, last, key, s->nkeys) >= 0)
      return says(k, "rows of a leaf are out of order");
    if (i + 1 == leaf->n && hi != NULL && ls_key_compare(s, l->texts, key, hi, s->nkeys) >= 0)
      return says(k, "a row is not below the next separator");
    for (unsigned c = 0; c < s->nkeys; c++)
      last[c] = key[c];
  }
  return true;
}

static bool node_check(checker *k, const ls_node *node, unsigned height, const ls_val *lo,
                       const ls_val *hi) {
  const ls_list *l = k->l;
  if (atomic_load_explicit(&node->refs, memory_order_relaxed) == 0)
    return says(k, "a node has no holder");
  if (height == 0)
    return leaf_check(k, node, lo, hi);
  const ls_inner *in = (const ls_inner *)node;
  if (node->n == 0 || node->n > LS_FAN)
    return says(k, "an inner node's size is wrong");
  ls_val below[LS_MAX_KEYS], above[LS_MAX_KEYS];
  for (unsigned i = 0; i < node->n; i++) {
    bool first = i == 0, last = i + 1 == node->n;
    if (!first)
      ls_sep_get(l, in, i - 1, below);
    if (!last)
      ls_sep_get(l, in, i, above);
    if (!node_check(k, in->child[i], height - 1, first ? lo : below, last ? hi : above))
      return false;
    if (in->rows[i] != ls_node_rows(in->child[i], height - 1))
      return says(k, "a node's count of rows is wrong");
    bool ours = in->child[i]->epoch == l->u.tree.epoch;
    if (!l->frozen && ours && node->epoch != l->u.tree.epoch)
      return says(k, "a node is claimed under one that is not");
  }
  return true;
}

bool ls_tree_check(const ls_list *l, char *why, size_t n) {
  checker k = {l, NULL};
  if (l->u.tree.col_offset == NULL)
    return ls_check_says(why, n, "a tree has no offsets");
  if (l->u.tree.root == NULL)
    return l->count == 0 || ls_check_says(why, n, "a tree without root has rows");
  if (l->u.tree.height > LS_TREE_DEPTH)
    return ls_check_says(why, n, "a tree is too high");
  if (!node_check(&k, l->u.tree.root, l->u.tree.height, NULL, NULL))
    return ls_check_says(why, n, k.why);
  if (ls_node_rows(l->u.tree.root, l->u.tree.height) != l->count)
    return ls_check_says(why, n, "a tree's count of rows is wrong");
  return true;
}
