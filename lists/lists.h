/* lists/lists.h - the door of lists/: typed lists in several layouts.
 *
 * A list is a table of typed columns.  Without key columns it is *positional*: rows
 * in append order, named by position.  With key columns (always the first `nkeys`
 * columns of the schema) it is *keyed*: rows unique by key, ordered by the key
 * columns left to right, named by key.  What a list means never depends on the
 * layout it is stored in:
 *
 *   flat   positional     columns[position]
 *   dense  one int key    presence bit and columns, indexed by key - base; the key column
 *                         itself has no cells (col[0] is NULL, its width reads as 3)
 *   hash   local, keyed   open addressing table of row numbers; sorted when asked
 *   tree   changing       counted B+ tree of leaves with columns, copy on write
 *   array  much read      sorted columns and a bucket directory over the first key
 *
 * Glossary
 *   row handle  ls_row: where a row is just now.  Position (flat, array), key - base
 *               (dense), row number (hash), leaf address | slot (tree).  Valid while
 *               the list's `version` is what it was when the handle was made.
 *               Positions of a positional list stay valid while < count.
 *   shape word  layout, dense base class and the width of every column in 64 bits:
 *               code compiled for a shape needs one compare to trust all of it.
 *   budget      logical bytes that a call may still use.  Charged by row count and
 *               column count alone, so that "memory exhausted" falls on the same
 *               row in every layout, on every tier and every machine.  With it comes
 *               the question whether the call is to go on.
 *
 * Invariants
 *   shape.layout == FLAT  <=>  nkeys == 0, or the list is keyed and fresh (count == 0)
 *   count <= room         room: rows it may hold before the slow path must be asked;
 *                         count < room says that a row can be added in place: not frozen,
 *                         no undo to note, no budget to ask, no cell shared, cells there
 *   version grows whenever a handle made before may no longer lead to its row
 *
 * Threads: a list belongs to one thread, except a frozen one (of a snapshot), which
 * any number of threads may read at once.  Nothing here prints, exits or aborts.
 */
#ifndef PURE_LISTS_H
#define PURE_LISTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lists/mem/mem.h"

/* ---- values ------------------------------------------------------------------ */

typedef enum { LS_INT, LS_REAL, LS_BOOL, LS_TEXT, LS_DATE } ls_type;
#define LS_NTYPES 5

/* int: i.  real: r.  bool: i is 0 or 1.  text: i is a text id.  date: i is the number
 * of days since 0001-01-01 (proleptic Gregorian), 0 .. LS_DATE_MAX. */
typedef union {
  int64_t i;
  double r;
  uint64_t u;
} ls_val;

#define LS_DATE_MAX 3652058 /* 9999-12-31 */

typedef enum {
  LS_OK,
  LS_MISSING,    /* no such row */
  LS_DUPLICATE,  /* key already there */
  LS_NOMEM,      /* the allocator said no */
  LS_LIMIT,      /* budget used up, or more than LS_MAX_ROWS rows */
  LS_UNSUITABLE, /* that layout cannot hold this list */
  LS_FROZEN,     /* write to a list of a snapshot */
  LS_STOPPED     /* the budget's stop said so; the list has the rows it had */
} ls_status;

#define LS_MAX_COLS 255
#define LS_MAX_KEYS 16
#define LS_MAX_ROWS UINT32_C(0xfffffffe)

/* ---- texts ------------------------------------------------------------------- */

/* Immutable UTF-8 texts, each stored once: equal texts have equal ids.  Id 0 is "".
 *
 * A *base* dictionary belongs to a store, and only grows.  An *overlay* belongs to
 * one call: it sees the first `base_count` texts of its base and adds texts of its own,
 * ids from LS_TEXT_OVERLAY up, which die with it.  Within one overlay equal texts
 * still have equal ids.  Interning into a base locks; reading never does. */
typedef struct ls_texts ls_texts;
#define LS_TEXT_OVERLAY UINT32_C(0x80000000)

ls_texts *ls_texts_new(ls_mem *m);                    /* a base; NULL: no memory */
ls_texts *ls_texts_overlay(ls_texts *base);           /* sees what base holds now */
void ls_texts_delete(ls_texts *t);                    /* overlays before their base */
void ls_texts_reset(ls_texts *overlay);               /* forget its own; see base anew */
void ls_texts_shrink(ls_texts *overlay, size_t kept); /* likewise; holds no more than that */
ls_status ls_texts_intern(ls_texts *t, const char *bytes, size_t len, uint32_t *id);
/* LS_MISSING when the text is unknown; adds nothing. */
ls_status ls_texts_lookup(const ls_texts *t, const char *bytes, size_t len, uint32_t *id);
/* Bytes, not 0-terminated, valid as long as the dictionary; id must be valid. */
const char *ls_texts_get(const ls_texts *t, uint32_t id, size_t *len);
bool ls_texts_valid(const ls_texts *t, uint32_t id);
/* Bytewise: <0, 0, >0. */
int ls_texts_compare(const ls_texts *t, uint32_t x, uint32_t y);
/* Equal bytes.  Ids alone do not tell in one case: an event published a text of its
 * overlay and then read it back from a stored list, under the base's new id. */
bool ls_texts_equal(const ls_texts *t, uint32_t x, uint32_t y);
uint32_t ls_texts_count(const ls_texts *t); /* of a base: texts, "" included */
/* The base's id of a text of an overlay, added to the base where it is new. */
ls_status ls_texts_publish(ls_texts *overlay, uint32_t id, uint32_t *base_id);
/* Base only, and only while no reader can know a text >= count. */
void ls_texts_truncate(ls_texts *base, uint32_t count);
ls_mem *ls_texts_mem(const ls_texts *t);

/* ---- schema and shape -------------------------------------------------------- */

typedef struct {
  const char *name; /* borrowed: as long as the schema */
  ls_type type;
  uint16_t declared; /* position in the declaration: what people see */
} ls_column;

/* Immutable while any list of it lives.  Key columns come first, in key order. */
typedef struct {
  const char *name;
  uint16_t ncols; /* 1 .. LS_MAX_COLS */
  uint16_t nkeys; /* 0 .. LS_MAX_KEYS */
  const ls_column *cols;
} ls_schema;

typedef enum { LS_FLAT, LS_DENSE, LS_HASH, LS_TREE, LS_ARRAY } ls_layout;
#define LS_NLAYOUTS 5

/* Shape word:   63 ............ 8 | 7 6 | 5 4        | 3 .. 0
 *               2 bits a column   |  0  | base class | layout
 * A column's bits are log2 of its cell's bytes; columns from LS_SHAPE_COLS on always
 * have 8-byte cells.  Cells are unsigned when narrower than 8 bytes.  bool and text
 * use 1 .. 4 bytes like ints; real is always 8. */
#define LS_SHAPE_COLS 28
#define LS_BASE_ZERO 0u /* dense: base == 0 */
#define LS_BASE_ANY 1u

static inline ls_layout ls_shape_layout(uint64_t shape) { return (ls_layout)(shape & 15u); }
static inline unsigned ls_shape_width(uint64_t shape, unsigned col) {
  return col < LS_SHAPE_COLS ? (unsigned)(shape >> (8u + 2u * col)) & 3u : 3u;
}
static inline unsigned ls_shape_base(uint64_t shape) { return (unsigned)(shape >> 4) & 3u; }
const char *ls_layout_name(ls_layout layout);
/* "array u32,u32" - for statistics; writes at most n bytes with the final 0. */
void ls_shape_format(uint64_t shape, const ls_schema *schema, char *out, size_t n);

/* ---- the list header --------------------------------------------------------- */

typedef uint64_t ls_row;
#define LS_NO_ROW UINT64_MAX
#define LS_LEAF_ROWS 64u /* tree: rows a leaf; a leaf's address has 6 zero bits */

/* stop (or NULL) is asked now and then by what takes long for one operation (sorts, changes of
 * layout); where it says true, the operation ends with LS_STOPPED. */
typedef struct {
  int64_t left; /* logical bytes still to be had; may be INT64_MAX */
  bool (*stop)(void *user);
  void *user;
} ls_budget;

/* Named thresholds of the layout policy.  Defaults: ls_policy_default. */
typedef struct {
  uint64_t dense_min_span;      /* PURE_LIST_DENSE_MIN_SPAN: a span up to this is always dense */
  uint64_t dense_max_sparsity;  /* PURE_LIST_DENSE_SPARSITY: span <= this * (count + 1) */
  uint64_t array_after_lookups; /* PURE_LIST_ARRAY_LOOKUPS: tree -> array when look-ups since
                                   the last change * this >= count */
  uint64_t array_min_rows;      /* PURE_LIST_ARRAY_MIN_ROWS */
  uint64_t tree_after_sorts;    /* PURE_LIST_TREE_SORTS: hash -> tree when order was asked for
                                   this often between changes */
  uint64_t bucket_rows;         /* PURE_LIST_BUCKET_ROWS: rows a bucket aimed at where width 1
                                   would cost too much */
  uint64_t bucket_max_span;     /* PURE_LIST_BUCKET_SPAN: width 1 while span <= this * count */
  uint64_t share_copy_bytes;    /* PURE_LIST_SHARE_COPY: a shared dense or array list up to this
                                   size is copied on write; a bigger one becomes a tree */
  uint64_t wide;                /* PURE_LIST_NARROW=0: every cell takes 8 bytes */
  uint64_t stress_seed;         /* PURE_JIT_STRESS=layout: != 0 changes layouts at random */
} ls_policy;
extern const ls_policy ls_policy_default;
/* Reads the environment; a value that is no number is left at its default and named in
 * `bad` (a static string), else *bad = NULL. */
void ls_policy_from_env(ls_policy *p, const char **bad);
/* PURE_JIT_STRESS: words `deopt` and `layout` with commas between, :SEED behind any; a word without
 * one has that of the next, or 1.  *seed is set where the word is there.  false: something else. */
bool ls_read_stress(const char *text, const char *word, uint64_t *seed);

/* The undo log of an event: notes in words one behind the other, each [what][list][tag].  For
 * ls_undo.c, and for those who write a cell in place and note it themselves (ls_set_noted_fast). */
typedef struct {
  ls_mem *mem;
  uint64_t *words;
  size_t n, cap;
  bool keeps_texts;
} ls_undo;
typedef enum {
  LS_NOTE_INSERT,
  LS_NOTE_ERASE,
  LS_NOTE_SET,
  LS_NOTE_SET_AT, /* of an array: the row by position */
  LS_NOTE_CLEAR
} ls_note_kind;
#define LS_NOTE_TAG(kind, col, n) ((uint64_t)(kind) | (uint64_t)(col) << 8 | (uint64_t)(n) << 32)

typedef struct ls_node ls_node; /* tree node, lists/ only */
typedef struct ls_finger ls_finger;

/* Compiled code and the interpreter read this directly; only lists/ writes it. */
typedef struct ls_list {
  uint64_t shape;
  uint64_t version;
  uint64_t count; /* rows */
  uint64_t room;  /* see Invariants */
  union {
    struct {
      uint64_t cap; /* cells a column */
    } flat;
    struct {
      uint64_t cap;      /* cells a column; multiple of 64 */
      int64_t base;      /* key of cell 0; multiple of 64 */
      uint64_t *present; /* cap / 64 words */
    } dense;
    struct {
      uint64_t cap;     /* cells a column */
      uint64_t mask;    /* table size - 1 */
      uint32_t *table;  /* row + 1, 0: empty */
      uint64_t sorted;  /* rows [0, sorted) are in key order */
      uint64_t changes; /* inserts and erases since it was last put in order */
    } hash;
    struct {
      ls_node *root;
      uint32_t height;      /* 0: the root is a leaf */
      uint32_t leaf_bytes;  /* of a leaf at the present widths */
      uint32_t *col_offset; /* byte offset of column c in a leaf; ncols entries */
      uint64_t epoch;       /* a node stamped with it is reachable from this list alone;
                               grows when the root is shared */
      ls_finger *finger;    /* where the last descent ended, or NULL */
    } tree;
    struct {
      uint64_t cap;
      uint32_t *dir;  /* nbuckets + 1 positions, or NULL (first key no int, or empty) */
      int64_t origin; /* multiple of the bucket width */
      uint64_t nbuckets;
      uint32_t shift; /* bucket width 2^shift: dir[b] = first position with
                         key >= origin + (b << shift); dir[nbuckets] = count */
    } array;
  } u;
  const ls_schema *schema;
  ls_mem *mem;
  ls_texts *texts; /* order of text keys; for a local list the call's overlay */
  const ls_policy *policy;
  ls_budget *budget; /* NULL: unlimited */
  ls_undo *undo;     /* NULL: writes are not undone */
  uint64_t charged;  /* logical bytes taken from the budget */
  uint64_t lookups;  /* since the last change (tree) */
  uint64_t reals;    /* bit c: column c is real; bit 63 for all from 63 on */
  uint32_t reorders; /* hash: order asked for after few changes */
  bool stored;       /* of a store: never hash */
  bool frozen;       /* of a snapshot */
  bool shared;       /* some block is held by a snapshot too: copy before a write */
  bool fresh;        /* flat and without a block: as new, or cleared */
  bool texty;        /* some column is text */
  bool parked;       /* empty, with blocks for the next restart; its owner ended */
  bool plain;        /* every key column is int, bool or date */
  uint64_t stress;   /* state of the stress generator */
  void *col[];       /* ncols cell arrays (not tree) */
} ls_list;

/* Where a local list ended; the next one like it starts there. */
typedef struct {
  uint64_t shape; /* 0 count and 0 cap: nothing known */
  uint64_t count;
  uint64_t cap; /* dense: span; else rows */
  int64_t base; /* dense */
} ls_hint;

/* An empty list.  schema, mem, texts, policy, budget are borrowed for its life; texts may
 * be NULL when no column is text, policy NULL: the default.  hint may be NULL. */
ls_list *ls_list_new(const ls_schema *schema, ls_mem *mem, ls_texts *texts, const ls_policy *policy,
                     ls_budget *budget);
void ls_list_delete(ls_list *l); /* NULL is fine */
/* Empty again, as if new, starting as hint says (NULL: no hint).  Gives its charge back.
 * LS_NOMEM leaves it empty and usable.  Not undone, not for stored lists. */
ls_status ls_list_restart(ls_list *l, const ls_hint *hint);
void ls_list_take_hint(const ls_list *l, ls_hint *out);
/* What owns the list has ended: empty, its charge given back.  Small blocks are kept for the
 * restart that has to come before it is used again. */
void ls_list_park(ls_list *l);
static inline bool ls_list_is_idle(const ls_list *l) { return l->fresh || l->parked; }

/* ---- reading ----------------------------------------------------------------- */

static inline uint64_t ls_cell_load(const void *base, unsigned width, uint64_t at) {
  switch (width) {
  case 0:
    return ((const uint8_t *)base)[at];
  case 1:
    return ((const uint16_t *)base)[at];
  case 2:
    return ((const uint32_t *)base)[at];
  default:
    return ((const uint64_t *)base)[at];
  }
}

static inline bool ls_dense_has(const ls_list *l, int64_t key) {
  uint64_t at = (uint64_t)key - (uint64_t)l->u.dense.base;
  return at < l->u.dense.cap && (l->u.dense.present[at >> 6] >> (at & 63)) & 1;
}

/* The hash of a key: from the seed on, mixed with each of its values.  A row's slot in a hash
 * list's table is the first free one from hash & mask on, at that time. */
#define LS_HASH_SEED UINT64_C(0x2545f4914f6cdd1d)
#define LS_HASH_FACTOR UINT64_C(0x9e3779b97f4a7c15)
static inline uint64_t ls_hash_mix(uint64_t h, uint64_t v) {
  __extension__ typedef unsigned __int128 ls_wide;
  ls_wide p = (ls_wide)(h ^ v) * LS_HASH_FACTOR;
  return (uint64_t)p ^ (uint64_t)(p >> 64);
}

/* The value of column c of the row at h.  h must be valid. */
static inline ls_val ls_list_get(const ls_list *l, ls_row h, unsigned c) {
  ls_val v;
  ls_layout layout = ls_shape_layout(l->shape);
  if (layout == LS_DENSE && c == 0) {
    v.u = (uint64_t)l->u.dense.base + h;
  } else if (layout == LS_TREE) {
    const char *leaf = (const char *)(uintptr_t)(h & ~(uint64_t)(LS_LEAF_ROWS - 1));
    v.u = ls_cell_load(leaf + l->u.tree.col_offset[c], ls_shape_width(l->shape, c),
                       h & (LS_LEAF_ROWS - 1));
  } else {
    v.u = ls_cell_load(l->col[c], ls_shape_width(l->shape, c), h);
  }
  return v;
}

/* Keyed lists.  key: nkeys values.  tx orders text keys and may be an overlay over the
 * list's own dictionary (NULL: the list's own).  LS_OK with *h, or LS_MISSING.  A real
 * key is compared with -0.0 == 0.0 and NaN equal to itself, after everything. */
ls_status ls_list_find(ls_list *l, ls_texts *tx, const ls_val *key, ls_row *h);
bool ls_list_has(ls_list *l, ls_texts *tx, const ls_val *key);

/* The rows whose first `np` key columns equal prefix, and whose next key column lies in
 * lo .. hi (both included) where has_lo, has_hi.  np = 0 without bounds: all rows, also of
 * a positional list. */
typedef struct {
  const ls_val *prefix;
  unsigned np;
  bool has_lo, has_hi;
  ls_val lo, hi;
} ls_slice;
#define LS_WHOLE ((ls_slice){0})

/* Two words a frame can keep: the next row and the end.  Valid for the version it was
 * made at.  Keyed and positional. */
typedef struct {
  uint64_t next, end;
} ls_cursor;

/* May sort or change the layout of a *local* keyed list (then version grows). LS_OK or
 * LS_NOMEM. */
ls_status ls_list_seek(ls_list *l, ls_texts *tx, const ls_slice *s, ls_cursor *c);
/* Like ls_list_seek, but starts after `key` (nkeys values), whether it is there or not. */
ls_status ls_list_seek_after(ls_list *l, ls_texts *tx, const ls_slice *s, const ls_val *key,
                             ls_cursor *c);
/* False at the end. */
bool ls_list_next_slow(const ls_list *l, ls_cursor *c, ls_row *h);
static inline bool ls_list_next(const ls_list *l, ls_cursor *c, ls_row *h) {
  ls_layout layout = ls_shape_layout(l->shape);
  if (layout == LS_TREE || layout == LS_DENSE)
    return ls_list_next_slow(l, c, h);
  if (c->next >= c->end)
    return false;
  *h = c->next++;
  return true;
}
ls_status ls_list_slice_count(ls_list *l, ls_texts *tx, const ls_slice *s, uint64_t *n);
/* LS_MISSING when the slice is empty.  Like seek, may sort a local list. */
ls_status ls_list_first(ls_list *l, ls_texts *tx, const ls_slice *s, ls_row *h);
ls_status ls_list_last(ls_list *l, ls_texts *tx, const ls_slice *s, ls_row *h);

/* ---- writing ----------------------------------------------------------------- */

/* row: ncols values in schema order.  Text ids of an overlay are published first when
 * the list is stored (tx: the overlay they come from).  Reals are stored with NaN made
 * canonical, key reals with -0.0 made 0.0.  On any status but LS_OK nothing has changed.
 * h (may be NULL) receives the row's handle. */
ls_status ls_list_insert(ls_list *l, ls_texts *tx, const ls_val *row, ls_row *h); /* append */
ls_status ls_list_put(ls_list *l, ls_texts *tx, const ls_val *row, ls_row *h);
/* Finds key, else inserts key with rest (ncols - nkeys values). */
ls_status ls_list_ensure(ls_list *l, ls_texts *tx, const ls_val *key, const ls_val *rest,
                         ls_row *h);
/* Writes a column that is no key column.  *h stays valid (it may move). */
ls_status ls_list_set(ls_list *l, ls_texts *tx, ls_row *h, unsigned col, ls_val v);
ls_status ls_list_erase(ls_list *l, ls_texts *tx, const ls_val *key); /* LS_MISSING */
ls_status ls_list_clear(ls_list *l);

/* Fast paths.  True: done, exactly as the function they stand for does it.  False: nothing
 * was done, call that function. */

/* Whether columns from..ncols-1 of the row go into the list's cells as they are. */
static inline bool ls_row_fits(const ls_list *l, const ls_val *row, unsigned from) {
  unsigned n = l->schema->ncols;
  uint64_t widths = l->shape >> (8u + 2u * from);
  if (n > LS_SHAPE_COLS || (l->texty && l->stored))
    return false;
  for (unsigned c = from; c < n; c++, widths >>= 2) {
    unsigned w = (unsigned)widths & 3u;
    if (w < 3u && row[c].u >> (8u << w))
      return false;
    if ((l->reals >> c & 1) && row[c].r != row[c].r)
      return false;
  }
  return true;
}
static inline void ls_cell_store(void *base, unsigned width, uint64_t at, uint64_t v) {
  switch (width) {
  case 0:
    ((uint8_t *)base)[at] = (uint8_t)v;
    break;
  case 1:
    ((uint16_t *)base)[at] = (uint16_t)v;
    break;
  case 2:
    ((uint32_t *)base)[at] = (uint32_t)v;
    break;
  default:
    ((uint64_t *)base)[at] = v;
  }
}

/* ls_list_insert into a positional list. */
static inline bool ls_flat_append_fast(ls_list *l, const ls_val *row, ls_row *h) {
  if (ls_shape_layout(l->shape) != LS_FLAT || l->count >= l->room || !ls_row_fits(l, row, 0))
    return false;
  for (unsigned c = 0; c < l->schema->ncols; c++)
    ls_cell_store(l->col[c], ls_shape_width(l->shape, c), l->count, row[c].u);
  *h = l->count++;
  return true;
}

/* ls_list_put, and ls_list_insert where `only_new`, into a dense list. */
static inline bool ls_dense_put_fast(ls_list *l, const ls_val *row, bool only_new, ls_row *h) {
  uint64_t at = row[0].u - (uint64_t)l->u.dense.base, bit = UINT64_C(1) << (at & 63);
  if (ls_shape_layout(l->shape) != LS_DENSE || l->count >= l->room || at >= l->u.dense.cap ||
      !ls_row_fits(l, row, 1))
    return false;
  uint64_t *word = &l->u.dense.present[at >> 6];
  if (only_new && (*word & bit))
    return false;
  l->count += !(*word & bit);
  *word |= bit;
  for (unsigned c = 1; c < l->schema->ncols; c++)
    ls_cell_store(l->col[c], ls_shape_width(l->shape, c), at, row[c].u);
  *h = at;
  return true;
}

/* ls_list_set of an int, bool or date, of a real that is no NaN, of a text in a local list. */
static inline bool ls_list_set_fast(ls_list *l, ls_row h, unsigned col, ls_val v) {
  ls_layout layout = ls_shape_layout(l->shape);
  unsigned w = ls_shape_width(l->shape, col);
  if ((layout != LS_FLAT && layout != LS_DENSE && layout != LS_HASH) || l->frozen || l->shared ||
      l->undo != NULL || (w < 3u && v.u >> (8u << w)))
    return false;
  ls_cell_store(l->col[col], w, h, v.u);
  return true;
}

/* ls_list_set inside an event, of a value that is stored as it is: an int, bool or date, or a text
 * of the store's dictionary. */
static inline bool ls_set_noted_fast(ls_list *l, ls_row h, unsigned col, ls_val v) {
  ls_layout layout = ls_shape_layout(l->shape);
  unsigned w = ls_shape_width(l->shape, col);
  ls_undo *u = l->undo;
  if (u == NULL || u->cap - u->n < 4 || layout == LS_HASH || layout == LS_TREE || l->frozen ||
      l->shared || (w < 3u && v.u >> (8u << w)) || l->policy->stress_seed != 0)
    return false;
  uint64_t *words = u->words + u->n;
  words[0] = layout == LS_DENSE ? (uint64_t)l->u.dense.base + h : h;
  words[1] = ls_cell_load(l->col[col], w, h);
  words[2] = (uint64_t)(uintptr_t)l;
  words[3] = LS_NOTE_TAG(layout == LS_ARRAY ? LS_NOTE_SET_AT : LS_NOTE_SET, col, 2);
  u->n += 4;
  ls_cell_store(l->col[col], w, h, v.u);
  return true;
}

/* ls_list_seek of the rows whose first key column is the int or date `key`. */
static inline bool ls_array_seek_fast(const ls_list *l, int64_t key, ls_cursor *c) {
  if (ls_shape_layout(l->shape) != LS_ARRAY || l->u.array.dir == NULL || l->u.array.shift != 0)
    return false;
  uint64_t at = (uint64_t)key - (uint64_t)l->u.array.origin;
  bool in = at < l->u.array.nbuckets;
  c->next = in ? l->u.array.dir[at] : 0;
  c->end = in ? l->u.array.dir[at + 1] : 0;
  return true;
}

/* Positional lists: stable sort.  keys[i]: column << 1 | descending.  Other lists may hold the
 * cells there were; these are new. */
ls_status ls_list_sort(ls_list *l, ls_texts *tx, const uint16_t *keys, unsigned nkeys);

/* Changes the layout by hand (tests, experiments, stress).  LS_UNSUITABLE leaves it. */
ls_status ls_list_relayout(ls_list *l, ls_layout to);
/* Lets the policy act on what was read since the last change.  Handles die.  The caller
 * calls it between calls of the VM, never inside one. */
ls_status ls_list_settle(ls_list *l);
/* Whether the structure holds together; a short reason where not.  Debug and tests. */
bool ls_list_check(const ls_list *l, char *why, size_t n);
uint64_t ls_list_bytes(const ls_list *l);                 /* memory held */
uint64_t ls_list_digest(const ls_list *l, uint64_t seed); /* rows in order, texts by bytes */

/* ---- bulk building ----------------------------------------------------------- */

/* Collects columns narrow from the start; then becomes a list at once. */
typedef struct ls_builder ls_builder;
ls_builder *ls_builder_new(const ls_schema *schema, ls_mem *mem, ls_texts *texts);
void ls_builder_delete(ls_builder *b);
/* Appends n values to a column.  Ints, dates, bools and text ids as int64, reals as their
 * bits.  LS_LIMIT past LS_MAX_ROWS, LS_NOMEM. */
ls_status ls_builder_append(ls_builder *b, unsigned col, const int64_t *v, size_t n);
uint64_t ls_builder_rows(const ls_builder *b); /* of the shortest column */
typedef enum { LS_DUP_ERROR, LS_DUP_FIRST, LS_DUP_LAST } ls_dup;
/* Adds the builder's rows to l (array layout for keyed lists, dense where the policy says
 * so, flat for positional).  Keyed rows are sorted; duplicates (within, or with rows
 * already there) as `dup` says: LS_DUPLICATE with dup_row = the later row's number, and
 * first_row = the earlier one's or UINT64_MAX where that was already in l.
 * On LS_OK the builder is empty; on an error l is unchanged and the builder useless. */
ls_status ls_builder_finish(ls_builder *b, ls_list *l, ls_dup dup, uint64_t *dup_row,
                            uint64_t *first_row);

/* ---- store ------------------------------------------------------------------- */

typedef struct ls_store ls_store;
typedef struct ls_snapshot ls_snapshot;

/* Copies nothing: schemas (n of them) and mem are borrowed for the life of the store and of
 * its snapshots; policy is copied, NULL: the default.  NULL: no memory. */
ls_store *ls_store_new(const ls_schema *const *schemas, unsigned n, ls_mem *mem,
                       const ls_policy *policy);
void ls_store_delete(ls_store *s); /* snapshots may outlive it */
unsigned ls_store_count(const ls_store *s);
ls_list *ls_store_list(ls_store *s, unsigned i);
ls_texts *ls_store_texts(ls_store *s);
/* An event: between begin and commit or rollback every write is undone by rollback, which
 * cannot fail.  budget may be NULL.  One event at a time: LS_UNSUITABLE in an open one. */
ls_status ls_store_begin(ls_store *s, ls_budget *budget);
void ls_store_commit(ls_store *s);
void ls_store_rollback(ls_store *s);
/* Replaces the contents of list i by those of l, a list of the same schema, memory and
 * dictionary (taken: l is left empty).  Outside events.  LS_NOMEM: both unchanged; only a
 * hash list, which has to become a tree first, can need memory. */
ls_status ls_store_swap(ls_store *s, unsigned i, ls_list *l);
/* All lists in key order, texts by bytes: equal contents, equal digest, whatever the
 * layouts and the history. */
uint64_t ls_store_digest(const ls_store *s);

/* The store as it is now, outside events, owner thread.  O(number of lists).  Any thread
 * may read it; hold and release from any thread. */
ls_snapshot *ls_snapshot_take(ls_store *s);
ls_snapshot *ls_snapshot_hold(ls_snapshot *s);
void ls_snapshot_release(ls_snapshot *s);
ls_list *ls_snapshot_list(ls_snapshot *s, unsigned i); /* frozen; reads only */
ls_texts *ls_snapshot_texts(ls_snapshot *s);           /* base: make an overlay of it */
uint64_t ls_snapshot_digest(const ls_snapshot *s);
/* A list that shares l's blocks, frozen: what `return L` of a stored list gives.  Inside an
 * event it is a copy, because rollback must not need memory to undo writes to shared blocks.
 * Uses the dictionary of l.  NULL: no memory. */
ls_list *ls_list_freeze(ls_list *l);

#endif
