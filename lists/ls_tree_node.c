/* lists/ls_tree_node.c - making, copying and giving back tree nodes. */
#include <string.h>

#include "lists/ls_tree.h"

static void node_start(ls_node *node, const ls_list *l) {
  atomic_init(&node->refs, 1);
  node->n = 0;
  node->epoch = l->u.tree.epoch;
}

ls_node *ls_leaf_new(const ls_list *l) {
  ls_node *leaf = ls_mem_alloc(l->mem, l->u.tree.leaf_bytes);
  if (leaf != NULL)
    node_start(leaf, l);
  return leaf;
}

ls_inner *ls_inner_new(const ls_list *l) {
  ls_inner *in = ls_mem_alloc(l->mem, ls_inner_bytes(l->schema));
  if (in != NULL)
    node_start(&in->head, l);
  return in;
}

void ls_node_free(const ls_list *l, ls_node *node, bool leaf) {
  ls_mem_free(l->mem, node, leaf ? l->u.tree.leaf_bytes : ls_inner_bytes(l->schema));
}

void ls_node_release(const ls_list *l, ls_node *node, unsigned height) {
  if (atomic_fetch_sub_explicit(&node->refs, 1, memory_order_acq_rel) != 1)
    return;
  if (height > 0) {
    ls_inner *in = (ls_inner *)node;
    for (unsigned i = 0; i < node->n; i++)
      ls_node_release(l, in->child[i], height - 1);
  }
  ls_node_free(l, node, height == 0);
}

static ls_node *leaf_twin(const ls_list *l, const ls_node *leaf) {
  ls_node *copy = ls_leaf_new(l);
  if (copy == NULL)
    return NULL;
  ls_leaf_copy(l, copy, 0, leaf, 0, leaf->n);
  copy->n = leaf->n;
  return copy;
}

static ls_node *inner_twin(const ls_list *l, const ls_inner *in) {
  ls_inner *copy = ls_inner_new(l);
  if (copy == NULL)
    return NULL;
  ls_inner_copy(l, copy, 0, in, 0, in->head.n);
  copy->head.n = in->head.n;
  for (unsigned i = 0; i < in->head.n; i++)
    atomic_fetch_add_explicit(&in->child[i]->refs, 1, memory_order_relaxed);
  return &copy->head;
}

ls_status ls_node_own(ls_list *l, ls_node **link, unsigned height) {
  ls_node *node = *link;
  if (node->epoch == l->u.tree.epoch)
    return LS_OK;
  if (atomic_load_explicit(&node->refs, memory_order_acquire) == 1) {
    node->epoch = l->u.tree.epoch;
    return LS_OK;
  }
  ls_node *copy = height == 0 ? leaf_twin(l, node) : inner_twin(l, (const ls_inner *)node);
  if (copy == NULL)
    return LS_NOMEM;
  *link = copy;
  ls_finger_lift(l);
  ls_node_release(l, node, height);
  l->version++;
  return LS_OK;
}

static ls_node *leaf_clone(const ls_list *l, const ls_node *leaf, const ls_list *to) {
  ls_node *copy = ls_leaf_new(to);
  if (copy == NULL)
    return NULL;
  for (unsigned c = 0; c < l->schema->ncols; c++)
    ls_cells_widen(ls_leaf_cells(to, copy, c), ls_shape_width(to->shape, c),
                   ls_leaf_cells(l, leaf, c), ls_shape_width(l->shape, c), leaf->n);
  copy->n = leaf->n;
  return copy;
}

ls_node *ls_node_clone(const ls_list *l, const ls_node *node, unsigned height, const ls_list *to) {
  if (height == 0)
    return leaf_clone(l, node, to);
  const ls_inner *in = (const ls_inner *)node;
  ls_inner *copy = ls_inner_new(to);
  if (copy == NULL)
    return NULL;
  ls_inner_copy(l, copy, 0, in, 0, node->n);
  for (unsigned i = 0; i < node->n; i++) {
    copy->child[i] = ls_node_clone(l, in->child[i], height - 1, to);
    if (copy->child[i] == NULL) {
      ls_node_release(to, &copy->head, height); /* the i children made so far with it */
      return NULL;
    }
    copy->head.n = i + 1;
  }
  return &copy->head;
}

void ls_leaf_key(const ls_list *l, const ls_node *leaf, unsigned slot, ls_val *key) {
  for (unsigned c = 0; c < l->schema->nkeys; c++)
    key[c].u = ls_cell_load(ls_leaf_cells(l, leaf, c), ls_shape_width(l->shape, c), slot);
}

void ls_leaf_copy(const ls_list *l, ls_node *dst, unsigned at, const ls_node *src, unsigned from,
                  unsigned n) {
  for (unsigned c = 0; c < l->schema->ncols; c++) {
    unsigned w = ls_shape_width(l->shape, c);
    memmove((char *)ls_leaf_cells(l, dst, c) + ((size_t)at << w),
            (const char *)ls_leaf_cells(l, src, c) + ((size_t)from << w), (size_t)n << w);
  }
}

uint64_t ls_node_rows(const ls_node *node, unsigned height) {
  if (height == 0)
    return node->n;
  const ls_inner *in = (const ls_inner *)node;
  uint64_t rows = 0;
  for (unsigned i = 0; i < node->n; i++)
    rows += in->rows[i];
  return rows;
}

/* Moves the entries from `from` on, with the separators before them, to `to`; both > 0. */
static void inner_shift(const ls_list *l, ls_inner *in, unsigned to, unsigned from) {
  unsigned n = in->head.n - from;
  memmove(in->child + to, in->child + from, n * sizeof in->child[0]);
  memmove(in->rows + to, in->rows + from, n * sizeof in->rows[0]);
  for (unsigned k = 0; k < l->schema->nkeys; k++) {
    ls_val *sep = in->sep + (size_t)k * LS_FAN;
    memmove(sep + to - 1, sep + from - 1, n * sizeof *sep);
  }
}

void ls_inner_open(const ls_list *l, ls_inner *in, unsigned at) {
  inner_shift(l, in, at + 1, at);
  in->head.n++;
}

void ls_inner_close(const ls_list *l, ls_inner *in, unsigned at) {
  inner_shift(l, in, at, at + 1);
  in->head.n--;
}

void ls_sep_get(const ls_list *l, const ls_inner *in, unsigned i, ls_val *key) {
  for (unsigned k = 0; k < l->schema->nkeys; k++)
    key[k] = in->sep[k * LS_FAN + i];
}

void ls_sep_set(const ls_list *l, ls_inner *in, unsigned i, const ls_val *key) {
  for (unsigned k = 0; k < l->schema->nkeys; k++)
    in->sep[k * LS_FAN + i] = key[k];
}

void ls_inner_copy(const ls_list *l, ls_inner *dst, unsigned at, const ls_inner *src, unsigned from,
                   unsigned n) {
  if (n == 0)
    return;
  memmove(dst->child + at, src->child + from, n * sizeof src->child[0]);
  memmove(dst->rows + at, src->rows + from, n * sizeof src->rows[0]);
  for (unsigned k = 0; k < l->schema->nkeys; k++)
    memmove(dst->sep + k * LS_FAN + at, src->sep + k * LS_FAN + from, (n - 1) * sizeof src->sep[0]);
}

uint32_t *ls_leaf_offsets(const ls_list *l, uint64_t shape, uint32_t *leaf_bytes) {
  uint32_t *offset = ls_block_new(l->mem, l->schema->ncols * sizeof *offset, false);
  if (offset == NULL)
    return NULL;
  uint32_t at = sizeof(ls_node);
  for (unsigned c = 0; c < l->schema->ncols; c++) {
    offset[c] = at;
    at += LS_LEAF_ROWS << ls_shape_width(shape, c);
  }
  *leaf_bytes = at;
  return offset;
}
