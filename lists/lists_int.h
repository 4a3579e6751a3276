/* lists/lists_int.h - what the files of lists/ share.  Not for other folders.
 *
 * Who does what
 *   mem/mem.c          blocks
 *   ls_texts.c         dictionary, overlays
 *   ls_shape.c         shape words, widths, names
 *   ls_block.c         counted blocks: column arrays, presence bits, directories, tables
 *   ls_key.c           comparing keys, normalising values
 *   ls_list.c          the life of a list header, its charge and its room
 *   ls_read.c ls_write.c   the public operations: checks, widening, undo, budget, policy,
 *                      then the layout's own function through its ls_layout_ops
 *   ls_cols.c          columns as blocks of cells: what flat, dense, hash and array share
 *   ls_flat.c ls_dense.c ls_hash.c ls_tree*.c ls_array.c   one layout each
 *   ls_policy.c        thresholds, environment, which layout next
 *   ls_relayout.c      from any layout to any other
 *   ls_sort.c          stable sort of positional lists
 *   ls_cells.c         searching sorted cells
 *   ls_builder.c ls_bulk.c ls_radix.c   bulk building
 *   ls_undo.c ls_store.c ls_digest.c
 */
#ifndef PURE_LISTS_INT_H
#define PURE_LISTS_INT_H

#include "lists/lists.h"

/* A block other lists may hold too: [ls_block header, 64 bytes][cells].  Freed with its last
 * holder, on whatever thread.  Lists keep pointers to the cells. */
void *ls_block_new(ls_mem *m, size_t bytes, bool zero); /* NULL: no memory */
void *ls_block_grow(void *cells, size_t bytes);         /* unshared only; NULL: unchanged */
void ls_block_hold(void *cells);                        /* NULL is fine */
void ls_block_drop(void *cells);                        /* NULL is fine */
bool ls_block_shared(const void *cells);
size_t ls_block_bytes(const void *cells);

/* A snapshot sees the first n cells.  Whoever shares a block and only ever adds cells past
 * the pinned ones (flat) need not copy it.  Called and read by the owner's thread alone. */
void ls_block_pin(void *cells, uint64_t n);
uint64_t ls_block_pinned(const void *cells);
/* The same bytes in a block of its own; NULL: no memory. */
void *ls_block_copy(const void *cells);
/* n cells of width `from` copied into wider cells. */
void ls_cells_widen(void *to_cells, unsigned to, const void *cells, unsigned from, uint64_t n);

/* A base lives as long as its last holder (store, snapshots, overlays). ls_texts_delete gives
 * back the hold that ls_texts_new made. */
void ls_texts_hold(ls_texts *base);
void ls_texts_release(ls_texts *base);
/* The id under which an overlay's own lists know a text: its own id where it has one.
 * Only base ids younger than the overlay's view are looked up. */
uint32_t ls_texts_canonical(const ls_texts *t, uint32_t id);
/* The same, but gives the text an id of the overlay where it has none. */
ls_status ls_texts_adopt(ls_texts *t, uint32_t id, uint32_t *own);

/* Rows gone through between two looks at whether to stop: a millisecond or so. */
#define LS_STRIDE 32768u
static inline bool ls_is_stopped(const ls_budget *b) {
  return b != NULL && b->stop != NULL && b->stop(b->user);
}
/* Where a loop over n rows that has come to `at` looks next. */
static inline uint64_t ls_stride_end(uint64_t at, uint64_t n) {
  return n - at > LS_STRIDE ? at + LS_STRIDE : n;
}

static inline bool ls_type_is_int(ls_type t) { return t == LS_INT || t == LS_BOOL || t == LS_DATE; }

/* Narrowest width (log2 bytes) that holds v of that type. */
static inline unsigned ls_width_of(ls_type type, ls_val v) {
  if (type == LS_REAL)
    return 3;
  return v.u <= 0xff ? 0 : v.u <= 0xffff ? 1 : v.u <= 0xffffffff ? 2 : 3;
}
uint64_t ls_shape_make(const ls_schema *s, ls_layout layout, unsigned base_class);
uint64_t ls_shape_with_width(uint64_t shape, unsigned col, unsigned width);
uint64_t ls_shape_with_layout(uint64_t shape, ls_layout layout, unsigned base_class);

/* NaN canonical; key reals: -0.0 to 0.0. */
ls_val ls_normal(ls_type type, bool is_key, ls_val v);
/* <0, 0, >0 over the first n key columns; both normal. */
int ls_val_compare(ls_type type, const ls_texts *tx, ls_val x, ls_val y);
int ls_key_compare(const ls_schema *s, const ls_texts *tx, const ls_val *x, const ls_val *y,
                   unsigned n);

/* One layout.  The caller (ls_list.c) has already checked frozen, made every width fit,
 * published texts, asked the budget, noted undo and made the list unshared for writes.
 * Every function that moves rows adds 1 to l->version. */
typedef struct {
  ls_status (*find)(ls_list *l, const ls_texts *tx, const ls_val *key, ls_row *h);
  /* Key known to be absent.  LS_UNSUITABLE: this layout cannot take it (dense: span); the
   * list is unchanged and the caller changes layout and tries again. */
  ls_status (*insert)(ls_list *l, const ls_texts *tx, const ls_val *row, ls_row *h);
  ls_status (*set)(ls_list *l, ls_row *h, unsigned col, ls_val v);
  ls_status (*erase)(ls_list *l, ls_row h);
  ls_status (*widen)(ls_list *l, unsigned col, unsigned width);
  /* Cursor position of the first row whose first n key columns are >= key (after: > key);
   * past the end: the end position.  n = 0: first row (after: end). */
  ls_status (*bound)(ls_list *l, const ls_texts *tx, const ls_val *key, unsigned n, bool after,
                     uint64_t *pos);
  bool (*next)(const ls_list *l, ls_cursor *c, ls_row *h);
  /* The row before a cursor position; false at the start. */
  bool (*prev)(const ls_list *l, uint64_t pos, ls_row *h);
  uint64_t (*rank)(const ls_list *l, uint64_t pos); /* rows before a cursor position */
  /* Rows come in order (as many as hint_rows says, if known): reserve, then insert each.
   * A layout with a faster way from sorted cells offers it here; may be NULL. */
  ls_status (*start)(ls_list *l, const ls_hint *hint); /* empty list of this layout */
  void (*drop)(ls_list *l);                            /* give every block back; fields zero */
  void (*share)(const ls_list *l, ls_list *copy); /* copy: header already copied; hold blocks */
  ls_status (*unshare)(ls_list *l);               /* own copies of shared blocks (tree: nothing) */
  uint64_t (*bytes)(const ls_list *l);
  bool (*check)(const ls_list *l, char *why, size_t n);
} ls_layout_ops;

extern const ls_layout_ops ls_flat_ops, ls_dense_ops, ls_hash_ops, ls_tree_ops, ls_array_ops;
const ls_layout_ops *ls_ops(const ls_list *l);
/* `start` finds l->shape as it shall be (layout, widths) and l->u, l->col zero; on failure it
 * leaves them so.  `drop` leaves l->u and l->col zero.  erase, like insert, may say
 * LS_UNSUITABLE before it changed anything; set may not fail on a row that the last successful
 * set wrote (so that a put of several columns is whole). */

/* Sets l->room from the cells it has, its charge, and whether it is frozen, shared or has an
 * undo log (then room = count).  To be called after any of these changed. */
void ls_list_update_room(ls_list *l);
/* Logical bytes of a list of so many rows: what a budget is charged. */
uint64_t ls_list_logical_bytes(const ls_list *l, uint64_t count);
/* Starts the charge anew, as if its present rows had cost nothing; updates room. */
void ls_list_start_charge(ls_list *l, ls_budget *budget);
/* An empty list of l's schema and settings, to build in; not charged, not noted, not stopped. */
ls_list *ls_list_twin(const ls_list *l);
/* l's contents become those of from, which is left empty (as new). Version grows; charge,
 * undo, texts, budget stay l's own. */
void ls_list_take_blocks(ls_list *l, ls_list *from);
/* A fresh list: gives all blocks back, layout flat, count 0, version grows. */
void ls_list_empty(ls_list *l);
/* Before a write in place: own copies of shared blocks, or a tree where they are too big for
 * that (then handles die). */
ls_status ls_list_unshare(ls_list *l);
/* Another layout (it must be suitable), the same rows; noted for undo. */
ls_status ls_relayout(ls_list *l, ls_layout to);
/* Stress: now and then another layout, so that nobody comes to rely on one. */
void ls_relayout_stress(ls_list *l);
/* Key values as stored lists compare them: reals normal, and in a hash list the one id of each
 * text.  key itself where nothing is to be done, else buf. */
const ls_val *ls_key_import(const ls_list *l, const ls_texts *tx, const ls_val *key, unsigned n,
                            ls_val *buf);
/* A permutation that sorts rows [lo, hi) of l: order[i] (hi - lo of them) = row.  Stable.
 * keys[i] = column << 1 | descending.  Not for trees.  LS_NOMEM, LS_STOPPED. */
ls_status ls_sort_order(const ls_list *l, const ls_texts *tx, const uint16_t *keys, unsigned nkeys,
                        uint64_t lo, uint64_t hi, uint32_t *order);

/* Array from columns already sorted and unique: takes the blocks in cols (widths as in
 * shape), builds the directory.  On failure the caller still owns them. */
ls_status ls_array_adopt(ls_list *l, uint64_t shape, void *const *cols, uint64_t count,
                         uint64_t cap);

/* Policy: the layout for a keyed list with these numbers. */
ls_layout ls_policy_keyed(const ls_list *l, uint64_t count, int64_t lo, int64_t hi);

/* Of a list without rows. */
uint64_t ls_policy_shape(const ls_policy *p, const ls_schema *s, ls_layout layout);
bool ls_policy_can_dense(const ls_schema *s); /* one int, date or bool key */
/* Smallest and largest first key of a list with rows (ls_policy_can_dense). */
void ls_policy_key_range(ls_list *l, int64_t *lo, int64_t *hi);
void ls_hash_key_range(const ls_list *l, int64_t *lo, int64_t *hi);
/* Puts the rows of a hash list in key order. */
ls_status ls_hash_sort(ls_list *l, const ls_texts *tx);

/* Tree from columns already sorted and unique, widths as in shape; copies the cells.  l: an
 * empty list that holds no blocks.  LS_NOMEM and LS_STOPPED leave it so. */
ls_status ls_tree_adopt(ls_list *l, uint64_t shape, const void *const *cols, uint64_t count);
/* Whether the row's leaf may be written as it is. */
bool ls_tree_is_own(const ls_list *l, ls_row h);
/* Own copies of every node, whether shared or not. */
ls_status ls_tree_own_all(ls_list *l);
/* Merges nodes near key that erasing has left nearly empty.  Inside events erasing does not
 * merge (see below); commit and rollback call this afterwards. */
void ls_tree_tidy(ls_list *l, const ls_val *key);

/* Undo log of a store's event.  l->undo is set exactly while an event is open; without it
 * these do nothing.  Call them before the write; a note whose write then failed does no
 * harm.  Rollback needs no memory because
 *   - trees do not merge nodes inside an event: the leaf that covers an erased key never
 *     gets more rows than it had, so that the row finds its place again without a split;
 *   - dense lists and flat lists never give up cells inside an event;
 *   - whatever rebuilds a list (change of layout, clear, sort) calls ls_undo_note_clear
 *     first, so that earlier notes meet the very blocks that they were made for.  Widening
 *     a column in place need not. */
ls_status ls_undo_note_insert(ls_list *l, const ls_val *row);   /* inverse: erase */
ls_status ls_undo_note_erase(ls_list *l, ls_row h);             /* inverse: insert */
ls_status ls_undo_note_set(ls_list *l, ls_row h, unsigned col); /* inverse: set */
ls_status ls_undo_note_clear(ls_list *l); /* keeps a frozen share; inverse: swap it back */

#endif
