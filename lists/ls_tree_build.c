/* lists/ls_tree_build.c - a tree from sorted columns, level by level from the leaves up. */
#include <string.h>

#include "lists/ls_tree.h"

#define LEAF_STRIDE (LS_STRIDE / LS_NODE_FILL) /* leaves built between two looks */

/* The nodes of one level and the number of the first row of each. */
typedef struct {
  uint64_t n;
  ls_node **node;
  uint64_t *first; /* n + 1: the last one is the number of rows */
} level;

/* Nodes needed so that each has about LS_NODE_FILL of so many entries. */
static uint64_t nodes_for(uint64_t entries) { return (entries + LS_NODE_FILL - 1) / LS_NODE_FILL; }

/* Where part i of n starts when `entries` are dealt out evenly. */
static uint64_t part_start(uint64_t entries, uint64_t n, uint64_t i) {
  return entries / n * i + (i < entries % n ? i : entries % n);
}

static bool level_new(const ls_list *l, level *v, uint64_t n) {
  v->n = 0;
  v->node = ls_mem_alloc(l->mem, n * sizeof *v->node);
  v->first = ls_mem_alloc(l->mem, (n + 1) * sizeof *v->first);
  if (v->node != NULL && v->first != NULL)
    return true;
  ls_mem_free(l->mem, v->node, n * sizeof *v->node);
  ls_mem_free(l->mem, v->first, (n + 1) * sizeof *v->first);
  return false;
}

static void level_free(const ls_list *l, level *v, uint64_t room) {
  ls_mem_free(l->mem, v->node, room * sizeof *v->node);
  ls_mem_free(l->mem, v->first, (room + 1) * sizeof *v->first);
}

static void nodes_release(const ls_list *l, level *v, uint64_t from, unsigned height) {
  for (uint64_t i = from; i < v->n; i++)
    ls_node_release(l, v->node[i], height);
}

static ls_status leaves_build(const ls_list *l, const void *const *cols, uint64_t count, level *v,
                              uint64_t nodes) {
  for (uint64_t i = 0; i < nodes; i++) {
    uint64_t lo = part_start(count, nodes, i), hi = part_start(count, nodes, i + 1);
    bool stopped = i % LEAF_STRIDE == LEAF_STRIDE - 1 && ls_is_stopped(l->budget);
    ls_node *leaf = stopped ? NULL : ls_leaf_new(l);
    if (leaf == NULL) {
      nodes_release(l, v, 0, 0);
      return stopped ? LS_STOPPED : LS_NOMEM;
    }
    for (unsigned c = 0; c < l->schema->ncols; c++) {
      unsigned w = ls_shape_width(l->shape, c);
      memcpy(ls_leaf_cells(l, leaf, c), (const char *)cols[c] + (lo << w), (hi - lo) << w);
    }
    leaf->n = (uint32_t)(hi - lo);
    v->node[i] = leaf;
    v->first[i] = lo;
    v->n = i + 1;
  }
  v->first[nodes] = count;
  return LS_OK;
}

static void sep_from_columns(const ls_list *l, const void *const *cols, uint64_t at, ls_inner *in,
                             unsigned i) {
  ls_val key[LS_MAX_KEYS];
  for (unsigned k = 0; k < l->schema->nkeys; k++)
    key[k].u = ls_cell_load(cols[k], ls_shape_width(l->shape, k), at);
  ls_sep_set(l, in, i, key);
}

static ls_inner *inner_build(const ls_list *l, const void *const *cols, const level *v, uint64_t lo,
                             uint64_t hi) {
  ls_inner *in = ls_inner_new(l);
  if (in == NULL)
    return NULL;
  for (uint64_t i = lo; i < hi; i++) {
    unsigned at = (unsigned)(i - lo);
    in->child[at] = v->node[i];
    in->rows[at] = (uint32_t)(v->first[i + 1] - v->first[i]);
    if (at > 0)
      sep_from_columns(l, cols, v->first[i], in, at - 1);
  }
  in->head.n = (uint32_t)(hi - lo);
  return in;
}

/* Nodes of `height` over those of v, in place: node i lands before what it is made of. */
static ls_status level_up(const ls_list *l, const void *const *cols, level *v, unsigned height) {
  uint64_t below = v->n, nodes = nodes_for(below);
  for (uint64_t i = 0; i < nodes; i++) {
    uint64_t lo = part_start(below, nodes, i), hi = part_start(below, nodes, i + 1);
    ls_inner *in = inner_build(l, cols, v, lo, hi);
    if (in == NULL) {
      nodes_release(l, v, lo, height - 1); /* not yet under any node */
      v->n = i;
      nodes_release(l, v, 0, height);
      return LS_NOMEM;
    }
    v->node[i] = &in->head;
    v->first[i] = v->first[lo];
  }
  v->first[nodes] = v->first[below];
  v->n = nodes;
  return LS_OK;
}

static ls_status nodes_build(ls_list *l, const void *const *cols, uint64_t count) {
  uint64_t leaves = nodes_for(count);
  level v;
  if (!level_new(l, &v, leaves))
    return LS_NOMEM;
  ls_status st = leaves_build(l, cols, count, &v, leaves);
  unsigned height = 0;
  while (st == LS_OK && v.n > 1)
    st = level_up(l, cols, &v, ++height);
  if (st == LS_OK) {
    l->u.tree.root = v.node[0];
    l->u.tree.height = height;
  }
  level_free(l, &v, leaves);
  return st;
}

ls_status ls_tree_adopt(ls_list *l, uint64_t shape, const void *const *cols, uint64_t count) {
  uint64_t before = l->shape;
  l->shape = ls_shape_with_layout(shape, LS_TREE, 0);
  ls_status st = ls_tree_ops.start(l, NULL);
  if (st == LS_OK && count > 0)
    st = nodes_build(l, cols, count);
  if (st != LS_OK) {
    ls_tree_ops.drop(l);
    l->shape = before;
    return st;
  }
  l->count = count;
  l->room = count;
  l->fresh = false;
  l->version++;
  return LS_OK;
}
