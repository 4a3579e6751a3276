/* lists/ls_tree_finger.c - where the last descent of a tree ended, as the next one often ends
 * there too: rows that come in order, the lines of one order, a row looked up and then written.
 *
 * A finger is a way to a leaf and the separator after it.  It holds while no node of the way is
 * replaced, split or joined: whoever does that lifts it.  Rows may come and go in the leaf.
 * Frozen lists have none, as many threads read them. */
#include "lists/ls_tree.h"

struct ls_finger {
  bool valid, last; /* last: no leaf comes after it */
  uint64_t epoch;
  ls_path path;
  ls_val sep[LS_MAX_KEYS]; /* not above any row of the next leaf */
};

void ls_finger_lift(ls_list *l) {
  if (l->u.tree.finger != NULL)
    l->u.tree.finger->valid = false;
}

void ls_finger_drop(ls_list *l) {
  if (l->u.tree.finger != NULL)
    ls_mem_free(l->mem, l->u.tree.finger, sizeof *l->u.tree.finger);
  l->u.tree.finger = NULL;
}

bool ls_finger_way(const ls_list *l, const ls_node *leaf, ls_path *path) {
  const ls_finger *f = l->u.tree.finger;
  if (f == NULL || !f->valid || f->epoch != l->u.tree.epoch || f->path.leaf != leaf)
    return false;
  ls_path_copy(path, &f->path);
  return true;
}

/* The first n columns of a row against those of the key. */
static int compare_row(const ls_list *l, const ls_node *leaf, unsigned slot, const ls_probe *p) {
  if (l->plain) {
    for (unsigned c = 0; c < p->n; c++) {
      int64_t v = ls_cell_int(ls_leaf_cells(l, leaf, c), ls_shape_width(l->shape, c), slot);
      if (v != p->key[c].i)
        return v < p->key[c].i ? -1 : 1;
    }
    return 0;
  }
  for (unsigned c = 0; c < p->n; c++) {
    ls_val v = {.u = ls_cell_load(ls_leaf_cells(l, leaf, c), ls_shape_width(l->shape, c), slot)};
    int order = ls_val_compare(l->schema->cols[c].type, p->tx, v, p->key[c]);
    if (order != 0)
      return order;
  }
  return 0;
}

/* Whether the row lies before the place looked for. */
static bool is_below(const ls_list *l, const ls_node *leaf, unsigned slot, const ls_probe *p) {
  return compare_row(l, leaf, slot, p) < (int)p->after;
}

/* Where the last place was, or right after it. */
static bool is_next(const ls_list *l, const ls_node *leaf, const ls_probe *p, unsigned *slot) {
  unsigned at = *slot;
  if (at == 0 || at >= leaf->n || !is_below(l, leaf, at - 1, p))
    return false;
  if (is_below(l, leaf, at, p) && (++at == leaf->n || is_below(l, leaf, at, p)))
    return false;
  *slot = at;
  return true;
}

/* Whether the place looked for is in the finger's leaf, and then its slot. */
static bool is_near(const ls_list *l, const ls_finger *f, const ls_probe *p, unsigned *slot) {
  const ls_node *leaf = f->path.leaf;
  if (!f->valid || f->epoch != l->u.tree.epoch || leaf->n == 0)
    return false;
  *slot = f->path.slot;
  if (is_next(l, leaf, p, slot))
    return true;
  if (is_below(l, leaf, leaf->n - 1, p)) {
    *slot = leaf->n;
    return f->last || ls_key_compare(l->schema, p->tx, f->sep, p->key, p->n) > 0;
  }
  if (is_below(l, leaf, 0, p)) {
    *slot = ls_leaf_slot(l, p, leaf);
    return true;
  }
  *slot = 0;
  return p->n == l->schema->nkeys && compare_row(l, leaf, 0, p) == 0;
}

static void put_finger(ls_list *l, const ls_path *path) {
  ls_finger *f = l->u.tree.finger;
  if (f == NULL) {
    l->u.tree.finger = f = ls_mem_zalloc(l->mem, sizeof *f);
    if (f == NULL)
      return; /* it does without */
  }
  f->valid = true;
  f->last = true;
  f->epoch = l->u.tree.epoch;
  ls_path_copy(&f->path, path);
  for (unsigned i = path->height; i-- > 0 && f->last;)
    if (path->at[i] + 1 < path->node[i]->head.n) {
      ls_sep_get(l, path->node[i], path->at[i], f->sep);
      f->last = false;
    }
}

void ls_path_near(ls_list *l, const ls_probe *p, ls_path *path) {
  ls_finger *f = l->u.tree.finger;
  unsigned slot;
  if (f != NULL && is_near(l, f, p, &slot)) {
    f->path.slot = slot;
    ls_path_copy(path, &f->path);
    return;
  }
  ls_path_find(l, p, path);
  if (!l->frozen)
    put_finger(l, path);
}
