/* lists/ls_dense.c - one int key in a small span: cell `key - base` and a presence bit.
 *
 * Base and capacity are multiples of 64, so that moving the base moves presence words whole.
 * Growth leaves as much room again on the side where the new key fell; the policy is asked at
 * growth only, about the span that is really used.  base + cap never passes 2^63.
 *
 * Inside an event the cells that are there stay there: the undo of an erase must find its own.
 * A new layout (dense again, perhaps) leaves the old blocks to the undo log.
 */
#include "lists/ls_cols.h"

#include <string.h>

#define WORD 64u
#define KEPT_SPAN 256u /* cells that an event keeps in any case, times 4 */

static uint64_t cell_of(const ls_list *l, int64_t key) {
  return (uint64_t)key - (uint64_t)l->u.dense.base;
}

static bool is_present(const ls_list *l, uint64_t at) {
  return (l->u.dense.present[at / WORD] >> (at % WORD)) & 1;
}

static ls_status dense_find(ls_list *l, const ls_texts *tx, const ls_val *key, ls_row *h) {
  (void)tx;
  uint64_t at = cell_of(l, key->i);
  if (at >= l->u.dense.cap || !is_present(l, at))
    return LS_MISSING;
  *h = at;
  return LS_OK;
}

/* First present cell in [from, to), or `to`. */
static uint64_t scan_up(const ls_list *l, uint64_t from, uint64_t to) {
  if (from >= to)
    return to;
  const uint64_t *words = l->u.dense.present;
  uint64_t i = from / WORD, last = (to - 1) / WORD;
  uint64_t w = words[i] & (~UINT64_C(0) << (from % WORD));
  while (w == 0 && i < last)
    w = words[++i];
  if (w == 0)
    return to;
  uint64_t at = i * WORD + (unsigned)__builtin_ctzll(w);
  return at < to ? at : to;
}

/* Last present cell below pos; false: none. */
static bool scan_down(const ls_list *l, uint64_t pos, uint64_t *at) {
  if (pos > l->u.dense.cap)
    pos = l->u.dense.cap;
  if (pos == 0)
    return false;
  const uint64_t *words = l->u.dense.present;
  uint64_t i = (pos - 1) / WORD;
  uint64_t w = words[i] & (~UINT64_C(0) >> (WORD - 1 - (pos - 1) % WORD));
  while (w == 0 && i > 0)
    w = words[--i];
  if (w == 0)
    return false;
  *at = i * WORD + (WORD - 1) - (unsigned)__builtin_clzll(w);
  return true;
}

static void set_base(ls_list *l, int64_t base) {
  l->u.dense.base = base;
  l->shape = ls_shape_with_layout(l->shape, LS_DENSE, base == 0 ? LS_BASE_ZERO : LS_BASE_ANY);
}

static int64_t align_down(int64_t key) { return (int64_t)((uint64_t)key & ~(uint64_t)(WORD - 1)); }

typedef struct {
  int64_t base;
  uint64_t cap;
} window;

/* Cells for lo .. hi and as many again, above or below.  Lists that begin near zero begin at
 * zero: that spares compiled code the subtraction. */
static window window_around(int64_t lo, int64_t hi, bool below, bool spare) {
  uint64_t span = (uint64_t)hi - (uint64_t)lo;
  uint64_t extra = spare ? span + 1 : 0;
  int64_t base = lo;
  if (lo >= 0 && (uint64_t)lo <= span + 4 * WORD) {
    base = 0;
  } else if (below) {
    uint64_t reach = (uint64_t)lo - (uint64_t)INT64_MIN;
    base = (int64_t)((uint64_t)lo - (extra < reach ? extra : reach));
  }
  if (below)
    extra = 0;
  base = align_down(base);
  uint64_t most = UINT64_C(1) << 63, first = (uint64_t)base;
  most -= first; /* cells up to the largest key; wraps rightly for a negative base */
  uint64_t need = (uint64_t)hi - first + 1;
  uint64_t cap = extra < most - need ? need + extra : most;
  return (window){base, (cap + WORD - 1) & ~(uint64_t)(WORD - 1)};
}

/* New cells for the window, those in [from, to) of the present ones kept.  All or nothing. */
static ls_status move_window(ls_list *l, window w, uint64_t from, uint64_t to) {
  ls_list *t = ls_list_twin(l);
  if (t == NULL)
    return LS_NOMEM;
  t->shape = l->shape;
  ls_status st = ls_cols_new(t, 1, w.cap);
  uint64_t *present = st == LS_OK ? ls_block_new(l->mem, w.cap / 8, true) : NULL;
  if (present == NULL) {
    ls_cols_drop(t);
    ls_list_delete(t);
    return LS_NOMEM;
  }
  uint64_t shift = (uint64_t)l->u.dense.base - (uint64_t)w.base; /* may be "negative" */
  if (from < to) {
    memcpy(present + (from + shift) / WORD, l->u.dense.present + from / WORD, (to - from) / 8);
    for (unsigned c = 1; c < l->schema->ncols; c++) {
      unsigned width = ls_shape_width(l->shape, c);
      memcpy((char *)t->col[c] + ((from + shift) << width), (char *)l->col[c] + (from << width),
             (to - from) << width);
    }
  }
  for (unsigned c = 1; c < l->schema->ncols; c++) {
    void *old = l->col[c];
    l->col[c] = t->col[c];
    t->col[c] = old;
  }
  ls_cols_drop(t);
  ls_list_delete(t);
  ls_block_drop(l->u.dense.present);
  l->u.dense.present = present;
  l->u.dense.cap = w.cap;
  set_base(l, w.base);
  return LS_OK;
}

/* The same base, more cells: columns may grow where they are. */
static ls_status extend_window(ls_list *l, uint64_t cap) {
  uint64_t old = l->u.dense.cap;
  uint64_t *present = ls_block_new(l->mem, cap / 8, true);
  if (present == NULL)
    return LS_NOMEM;
  if (ls_cols_grow(l, 1, old, cap) != LS_OK) {
    ls_block_drop(present);
    return LS_NOMEM;
  }
  if (old != 0)
    memcpy(present, l->u.dense.present, old / 8);
  ls_block_drop(l->u.dense.present);
  l->u.dense.present = present;
  l->u.dense.cap = cap;
  return LS_OK;
}

static ls_status dense_start(ls_list *l, const ls_hint *hint) {
  uint64_t cap = hint != NULL ? hint->cap & ~(uint64_t)(WORD - 1) : 0;
  int64_t base = cap != 0 ? align_down(hint->base) : 0;
  if (cap == 0 || (base > 0 && cap > (UINT64_C(1) << 63) - (uint64_t)base)) {
    set_base(l, 0);
    return LS_OK;
  }
  ls_status st = ls_cols_new(l, 1, cap);
  if (st != LS_OK)
    return st;
  l->u.dense.present = ls_block_new(l->mem, cap / 8, true);
  if (l->u.dense.present == NULL) {
    ls_cols_drop(l);
    return LS_NOMEM;
  }
  l->u.dense.cap = cap;
  set_base(l, base);
  return LS_OK;
}

/* An empty list keeps its cells and only moves to where the keys are. */
static bool reposition(ls_list *l, int64_t key) {
  uint64_t cap = l->u.dense.cap;
  if (l->count != 0 || cap == 0 || l->undo != NULL || l->shared)
    return false;
  window w = window_around(key, key, false, false);
  if (w.cap > cap || (w.base > 0 && cap > (UINT64_C(1) << 63) - (uint64_t)w.base))
    return false;
  set_base(l, w.base);
  return true;
}

/* The least and the greatest of key and the keys at cells [from, to). */
static void range_with(const ls_list *l, uint64_t from, uint64_t to, int64_t *lo, int64_t *hi) {
  if (from >= to)
    return;
  int64_t first = (int64_t)((uint64_t)l->u.dense.base + from);
  int64_t last = (int64_t)((uint64_t)l->u.dense.base + (to - 1));
  if (first < *lo)
    *lo = first;
  if (last > *hi)
    *hi = last;
}

static ls_status dense_grow(ls_list *l, int64_t key) {
  int64_t lo = key, hi = key;
  uint64_t cap = l->u.dense.cap, from = scan_up(l, 0, cap), to = 0;
  if (scan_down(l, cap, &to))
    to++;
  range_with(l, from, to, &lo, &hi);
  if (ls_policy_keyed(l, l->count + 1, lo, hi) != LS_DENSE)
    return LS_UNSUITABLE;
  if (l->undo != NULL) {
    /* All cells stay, unless they are far away: then better a dense list anew. */
    uint64_t used = (uint64_t)hi - (uint64_t)lo;
    from = 0;
    to = cap;
    range_with(l, from, to, &lo, &hi);
    if (((uint64_t)hi - (uint64_t)lo) / 4 > used + KEPT_SPAN)
      return LS_UNSUITABLE;
  }
  l->version++;
  if (cap == 0) {
    window fresh = window_around(key, key, false, false);
    return dense_start(l, &(ls_hint){.cap = fresh.cap, .base = fresh.base});
  }
  if (reposition(l, key))
    return LS_OK;
  window w = window_around(lo, hi, key < l->u.dense.base, l->count != 0);
  if (w.base == l->u.dense.base && w.cap >= cap)
    return extend_window(l, w.cap);
  from &= ~(uint64_t)(WORD - 1);
  to = (to + WORD - 1) & ~(uint64_t)(WORD - 1);
  return move_window(l, w, from, to);
}

static ls_status dense_insert(ls_list *l, const ls_texts *tx, const ls_val *row, ls_row *h) {
  (void)tx;
  uint64_t at = cell_of(l, row->i);
  if (at >= l->u.dense.cap) {
    ls_status st = dense_grow(l, row->i);
    if (st != LS_OK)
      return st;
    at = cell_of(l, row->i);
  }
  l->u.dense.present[at / WORD] |= UINT64_C(1) << (at % WORD);
  ls_cols_store(l, 1, at, row);
  l->count++;
  *h = at;
  return LS_OK;
}

static ls_status dense_set(ls_list *l, ls_row *h, unsigned col, ls_val v) {
  ls_cell_store(l->col[col], ls_shape_width(l->shape, col), *h, v.u);
  return LS_OK;
}

static ls_status dense_erase(ls_list *l, ls_row h) {
  l->u.dense.present[h / WORD] &= ~(UINT64_C(1) << (h % WORD));
  l->count--;
  l->version++;
  return LS_OK;
}

/* Word by word, so that the untouched pages of a sparse list stay untouched. */
static ls_status dense_widen(ls_list *l, unsigned col, unsigned width) {
  uint64_t cap = l->u.dense.cap;
  unsigned from = ls_shape_width(l->shape, col);
  if (cap != 0) {
    char *to = ls_block_new(l->mem, (size_t)cap << width, false);
    if (to == NULL)
      return LS_NOMEM;
    for (uint64_t at = 0; at < cap; at += WORD)
      if (l->u.dense.present[at / WORD] != 0)
        ls_cells_widen(to + (at << width), width, (char *)l->col[col] + (at << from), from, WORD);
    ls_block_drop(l->col[col]);
    l->col[col] = to;
  }
  l->shape = ls_shape_with_width(l->shape, col, width);
  return LS_OK;
}

static ls_status dense_bound(ls_list *l, const ls_texts *tx, const ls_val *key, unsigned n,
                             bool after, uint64_t *pos) {
  (void)tx;
  uint64_t cap = l->u.dense.cap;
  if (n == 0) {
    *pos = after ? cap : 0;
  } else if (key->i < l->u.dense.base) {
    *pos = 0;
  } else {
    uint64_t at = cell_of(l, key->i);
    *pos = at >= cap ? cap : at + after;
  }
  return LS_OK;
}

static bool dense_next(const ls_list *l, ls_cursor *c, ls_row *h) {
  uint64_t end = c->end < l->u.dense.cap ? c->end : l->u.dense.cap;
  uint64_t at = scan_up(l, c->next, end);
  if (at >= end)
    return false;
  c->next = at + 1;
  *h = at;
  return true;
}

static uint64_t dense_rank(const ls_list *l, uint64_t pos) {
  const uint64_t *words = l->u.dense.present;
  uint64_t sum = 0, whole = pos / WORD;
  for (uint64_t i = 0; i < whole; i++)
    sum += (unsigned)__builtin_popcountll(words[i]);
  if (pos % WORD != 0)
    sum += (unsigned)__builtin_popcountll(words[whole] & ((UINT64_C(1) << (pos % WORD)) - 1));
  return sum;
}

static void dense_drop(ls_list *l) {
  ls_cols_drop(l);
  ls_block_drop(l->u.dense.present);
  memset(&l->u, 0, sizeof l->u);
}

static void dense_share(const ls_list *l, ls_list *copy) {
  (void)copy;
  ls_cols_hold(l);
  ls_block_hold(l->u.dense.present);
}

static ls_status dense_unshare(ls_list *l) {
  if (ls_block_shared(l->u.dense.present)) {
    uint64_t *copy = ls_block_copy(l->u.dense.present);
    if (copy == NULL)
      return LS_NOMEM;
    ls_block_drop(l->u.dense.present);
    l->u.dense.present = copy;
  }
  return ls_cols_unshare(l);
}

static uint64_t dense_bytes(const ls_list *l) {
  return ls_cols_bytes(l) + ls_block_bytes(l->u.dense.present);
}

static bool dense_check(const ls_list *l, char *why, size_t n) {
  uint64_t cap = l->u.dense.cap;
  int64_t base = l->u.dense.base;
  if (!ls_policy_can_dense(l->schema))
    return ls_check_says(why, n, "dense without one int key");
  if (cap % WORD != 0 || base % (int64_t)WORD != 0)
    return ls_check_says(why, n, "base or capacity is no multiple of 64");
  if (base > 0 && cap > (UINT64_C(1) << 63) - (uint64_t)base)
    return ls_check_says(why, n, "cells past the largest key");
  if ((ls_shape_base(l->shape) == LS_BASE_ZERO) != (base == 0))
    return ls_check_says(why, n, "base class is wrong");
  if (ls_shape_width(l->shape, 0) != 3)
    return ls_check_says(why, n, "width of a dense key");
  if (ls_block_bytes(l->u.dense.present) < cap / 8)
    return ls_check_says(why, n, "too few presence bits");
  if (cap != 0 && dense_rank(l, cap) != l->count)
    return ls_check_says(why, n, "presence bits do not add up to count");
  return ls_cols_check(l, 1, cap, why, n);
}

const ls_layout_ops ls_dense_ops = {
    .find = dense_find,
    .insert = dense_insert,
    .set = dense_set,
    .erase = dense_erase,
    .widen = dense_widen,
    .bound = dense_bound,
    .next = dense_next,
    .prev = scan_down,
    .rank = dense_rank,
    .start = dense_start,
    .drop = dense_drop,
    .share = dense_share,
    .unshare = dense_unshare,
    .bytes = dense_bytes,
    .check = dense_check,
};
