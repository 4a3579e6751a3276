/* lists/ls_tree.h - the counted B+ tree's nodes.  For ls_tree*.c alone.
 *
 *   leaf   [refs n epoch, 64 bytes][column 0: 64 cells][column 1: 64 cells] ...
 *   inner  [refs n epoch, 64 bytes][rows of each child][children][separators, by key column]
 *
 * Separator i of an inner node is above every row of child i and not above any row of child
 * i + 1; it need not be the key of a row.  Rows of a leaf: 0 .. n-1.  Cells narrower than 8
 * bytes hold non-negative values, as in every layout; separators are whole values.
 *
 * Alternatives rejected: links between leaves (a copied leaf would have to copy its
 * neighbours too); parent pointers (a shared node has many parents).  So the way to the next
 * leaf is a descent from the root by key, once in 64 rows.
 *
 * Copy on write: a node whose epoch is the list's was made or claimed by this list since its
 * root was last shared, and so were all nodes above it: it may be written.  Any other node is
 * claimed by a descent: with one holder it is stamped, else it is copied (ls_path_own).
 *
 * Sizes: only nodes on the right edge, and those that erasing inside an event has left so,
 * have fewer than LS_NODE_MIN entries.  Nodes may hold no row; an inner node always has a
 * child.
 */
#ifndef PURE_LISTS_TREE_H
#define PURE_LISTS_TREE_H

#include <stdatomic.h>

#include "lists/ls_cells.h"

#define LS_FAN 64u       /* children of an inner node */
#define LS_NODE_MIN 16u  /* below this a node looks for a neighbour */
#define LS_NODE_JOIN 48u /* two nodes become one when they have no more entries together */
#define LS_NODE_FILL 56u /* of a node built in bulk */
#define LS_TREE_DEPTH 16u

struct ls_node {
  _Atomic uint32_t refs;
  uint32_t n; /* rows, or children */
  uint64_t epoch;
  uint8_t pad[48];
};

typedef struct {
  ls_node head;
  uint32_t rows[LS_FAN];
  ls_node *child[LS_FAN];
  ls_val sep[]; /* nkeys times LS_FAN */
} ls_inner;

_Static_assert(sizeof(ls_node) == 64, "columns of a leaf start at a cache line");
_Static_assert(LS_FAN >= LS_LEAF_ROWS && LS_NODE_JOIN < LS_LEAF_ROWS, "sizes of both kinds");

/* The way to a place: node[0] is the root, node[height - 1] the leaf's parent. */
typedef struct {
  unsigned height;
  ls_inner *node[LS_TREE_DEPTH];
  unsigned at[LS_TREE_DEPTH];
  ls_node *leaf;
  unsigned slot; /* may be leaf->n */
} ls_path;

/* What a descent looks for: the first row >= the first n columns of key (after: >). */
typedef enum { LS_PROBE_ONE, LS_PROBE_TWO, LS_PROBE_ANY } ls_probe_kind;
typedef struct {
  const ls_texts *tx;
  const ls_val *key;
  unsigned n;
  bool after;
  ls_probe_kind kind;
} ls_probe;

static inline void *ls_leaf_cells(const ls_list *l, const ls_node *leaf, unsigned c) {
  return (char *)(uintptr_t)leaf + l->u.tree.col_offset[c];
}
static inline ls_node *ls_leaf_of(ls_row h) {
  return (ls_node *)(uintptr_t)(h & ~(uint64_t)(LS_LEAF_ROWS - 1));
}
static inline unsigned ls_slot_of(ls_row h) { return (unsigned)(h & (LS_LEAF_ROWS - 1)); }
static inline ls_row ls_leaf_row(const ls_node *leaf, unsigned slot) {
  return (uint64_t)(uintptr_t)leaf | slot;
}
static inline uint32_t ls_inner_bytes(const ls_schema *s) {
  return (uint32_t)(sizeof(ls_inner) + (size_t)s->nkeys * LS_FAN * sizeof(ls_val));
}

/* ls_tree_node.c */
ls_node *ls_leaf_new(const ls_list *l);
ls_inner *ls_inner_new(const ls_list *l);
void ls_node_free(const ls_list *l, ls_node *node, bool leaf); /* the node alone */
void ls_node_release(const ls_list *l, ls_node *node, unsigned height);
/* Makes *link a node that l may write; LS_NOMEM leaves it. */
ls_status ls_node_own(ls_list *l, ls_node **link, unsigned height);
/* A copy of the tree under node, column c of a leaf at the widths of `to`, or NULL. */
ls_node *ls_node_clone(const ls_list *l, const ls_node *node, unsigned height, const ls_list *to);
void ls_leaf_key(const ls_list *l, const ls_node *leaf, unsigned slot, ls_val *key);
/* Cells [from, from + n) of src become cells [at, at + n) of dst; may overlap in one leaf. */
void ls_leaf_copy(const ls_list *l, ls_node *dst, unsigned at, const ls_node *src, unsigned from,
                  unsigned n);
uint64_t ls_node_rows(const ls_node *node, unsigned height);
/* Separators and children: child `at` becomes free to be written, with separator `at` - 1. */
void ls_inner_open(const ls_list *l, ls_inner *in, unsigned at);
void ls_inner_close(const ls_list *l, ls_inner *in, unsigned at);
void ls_sep_get(const ls_list *l, const ls_inner *in, unsigned i, ls_val *key);
void ls_sep_set(const ls_list *l, ls_inner *in, unsigned i, const ls_val *key);
/* Entries [from, from + n) of src: children, rows, and the n - 1 separators between them. */
void ls_inner_copy(const ls_list *l, ls_inner *dst, unsigned at, const ls_inner *src, unsigned from,
                   unsigned n);
/* Offsets and leaf size for the widths of shape; NULL: no memory. */
uint32_t *ls_leaf_offsets(const ls_list *l, uint64_t shape, uint32_t *leaf_bytes);

/* ls_tree_path.c */
ls_probe ls_probe_make(const ls_list *l, const ls_texts *tx, const ls_val *key, unsigned n,
                       bool after);
/* The root must not be NULL. */
void ls_path_find(const ls_list *l, const ls_probe *p, ls_path *path);
void ls_path_to_row(const ls_list *l, ls_row h, ls_path *path);
/* The position as a cursor has it: at a row, or 0 past the end. */
uint64_t ls_path_normal(const ls_path *path);
/* Makes every node of the path writable; on LS_NOMEM the list is as it was, but handles may
 * have moved. */
ls_status ls_path_own(ls_list *l, ls_path *path);

/* The slot of the row looked for in a leaf that it is in, or that ends before it. */
unsigned ls_leaf_slot(const ls_list *l, const ls_probe *p, const ls_node *leaf);
static inline void ls_path_copy(ls_path *to, const ls_path *from) {
  to->height = from->height;
  for (unsigned i = 0; i < from->height; i++) {
    to->node[i] = from->node[i];
    to->at[i] = from->at[i];
  }
  to->leaf = from->leaf;
  to->slot = from->slot;
}

/* ls_tree_finger.c */
/* ls_path_find, which begins where the last one ended. */
void ls_path_near(ls_list *l, const ls_probe *p, ls_path *path);
/* The way to that leaf, where the last descent ended there. */
bool ls_finger_way(const ls_list *l, const ls_node *leaf, ls_path *path);
void ls_finger_lift(ls_list *l); /* its way holds no more */
void ls_finger_drop(ls_list *l);

/* ls_tree_join.c */
void ls_path_tidy(ls_list *l, ls_path *path);

/* ls_tree_check.c */
bool ls_tree_check(const ls_list *l, char *why, size_t n);

#endif
