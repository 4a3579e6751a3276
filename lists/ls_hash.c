/* lists/ls_hash.c - local keyed lists whose keys are no small ints.
 *
 * Rows lie in columns in the order they came; a table of row + 1 (open addressing, linear
 * probing, at most half full) finds them by key.  Erasing moves the last row into the hole
 * and closes the probing chain by shifting back, so there are no gravestones.
 *
 * Order is made only when asked for: rows [0, sorted) are in key order, a sort of the rest and
 * a merge put all rows in order, and the table is built again.  A cursor can exist only while
 * changes == 0; the first insert after that bumps the version.
 *
 * Keys are compared by their bits: reals were normalised, texts have one id each.
 */
#include "lists/ls_cols.h"

#include <string.h>

#define HASH_MIN 32u /* rows; the table has twice as many slots */

static uint64_t hash_key(const ls_val *key, unsigned n) {
  uint64_t h = LS_HASH_SEED;
  for (unsigned c = 0; c < n; c++)
    h = ls_hash_mix(h, key[c].u);
  return h;
}

static uint64_t hash_row(const ls_list *l, uint64_t row) {
  uint64_t h = LS_HASH_SEED;
  for (unsigned c = 0; c < l->schema->nkeys; c++)
    h = ls_hash_mix(h, ls_cell_load(l->col[c], ls_shape_width(l->shape, c), row));
  return h;
}

static bool row_is(const ls_list *l, uint64_t row, const ls_val *key) {
  for (unsigned c = 0; c < l->schema->nkeys; c++)
    if (ls_cell_load(l->col[c], ls_shape_width(l->shape, c), row) != key[c].u)
      return false;
  return true;
}

static ls_status hash_find(ls_list *l, const ls_texts *tx, const ls_val *key, ls_row *h) {
  (void)tx;
  const uint32_t *table = l->u.hash.table;
  if (table == NULL)
    return LS_MISSING;
  uint64_t mask = l->u.hash.mask;
  for (uint64_t i = hash_key(key, l->schema->nkeys) & mask; table[i] != 0; i = (i + 1) & mask) {
    if (row_is(l, table[i] - 1, key)) {
      *h = table[i] - 1;
      return LS_OK;
    }
  }
  return LS_MISSING;
}

static void table_add(uint32_t *table, uint64_t mask, uint64_t hash, uint64_t row) {
  uint64_t i = hash & mask;
  while (table[i] != 0)
    i = (i + 1) & mask;
  table[i] = (uint32_t)(row + 1);
}

static bool table_fill(const ls_list *l, uint32_t *table, uint64_t mask) {
  for (uint64_t row = 0, end; row < l->count;) {
    if (row != 0 && ls_is_stopped(l->budget))
      return false;
    for (end = ls_stride_end(row, l->count); row < end; row++)
      table_add(table, mask, hash_row(l, row), row);
  }
  return true;
}

/* Another table of so many slots for the rows where they are now. */
static ls_status table_renew(ls_list *l, uint64_t slots) {
  uint32_t *table = ls_block_new(l->mem, slots * sizeof *table, true);
  if (table == NULL)
    return LS_NOMEM;
  if (!table_fill(l, table, slots - 1)) {
    ls_block_drop(table);
    return LS_STOPPED;
  }
  ls_block_drop(l->u.hash.table);
  l->u.hash.table = table;
  l->u.hash.mask = slots - 1;
  return LS_OK;
}

/* A table for so many rows. */
static ls_status table_reserve(ls_list *l, uint64_t rows) {
  uint64_t slots = l->u.hash.table != NULL ? l->u.hash.mask + 1 : 2 * HASH_MIN;
  if (l->u.hash.table != NULL && rows * 2 <= slots)
    return LS_OK;
  while (slots < rows * 2)
    slots *= 2;
  return table_renew(l, slots);
}

void ls_hash_key_range(const ls_list *l, int64_t *lo, int64_t *hi) {
  unsigned w = ls_shape_width(l->shape, 0);
  for (uint64_t row = 0; row < l->count; row++) {
    int64_t key = (int64_t)ls_cell_load(l->col[0], w, row);
    if (row == 0 || key < *lo)
      *lo = key;
    if (row == 0 || key > *hi)
      *hi = key;
  }
}

static bool is_dense_now(const ls_list *l, int64_t key) {
  int64_t lo = key, hi = key;
  if (l->count == 0 || !ls_policy_can_dense(l->schema))
    return false;
  ls_hash_key_range(l, &lo, &hi);
  if (key < lo)
    lo = key;
  if (key > hi)
    hi = key;
  return ls_policy_keyed(l, l->count + 1, lo, hi) == LS_DENSE;
}

static ls_status hash_grow(ls_list *l, const ls_val *row) {
  if (is_dense_now(l, row->i))
    return LS_UNSUITABLE;
  uint64_t cap = l->u.hash.cap * 2;
  if (cap < HASH_MIN)
    cap = HASH_MIN;
  ls_status st = table_reserve(l, cap);
  if (st == LS_OK)
    st = ls_cols_grow(l, 0, l->count, cap);
  if (st == LS_OK)
    l->u.hash.cap = cap;
  return st;
}

static ls_status hash_insert(ls_list *l, const ls_texts *tx, const ls_val *row, ls_row *h) {
  (void)tx;
  if (l->count == l->u.hash.cap) {
    ls_status st = hash_grow(l, row);
    if (st != LS_OK)
      return st;
  }
  table_add(l->u.hash.table, l->u.hash.mask, hash_key(row, l->schema->nkeys), l->count);
  ls_cols_store(l, 0, l->count, row);
  *h = l->count++;
  if (l->u.hash.changes++ == 0)
    l->version++;
  return LS_OK;
}

static ls_status hash_set(ls_list *l, ls_row *h, unsigned col, ls_val v) {
  ls_cell_store(l->col[col], ls_shape_width(l->shape, col), *h, v.u);
  return LS_OK;
}

static uint64_t slot_of(const ls_list *l, uint64_t row) {
  uint64_t i = hash_row(l, row) & l->u.hash.mask;
  while (l->u.hash.table[i] != row + 1)
    i = (i + 1) & l->u.hash.mask;
  return i;
}

/* Empties a slot and moves later entries of its chain back, each as far as its own start. */
static void table_remove(ls_list *l, uint64_t hole) {
  uint32_t *table = l->u.hash.table;
  uint64_t mask = l->u.hash.mask;
  for (uint64_t i = (hole + 1) & mask; table[i] != 0; i = (i + 1) & mask) {
    uint64_t start = hash_row(l, table[i] - 1) & mask;
    if (((i - start) & mask) < ((i - hole) & mask))
      continue;
    table[hole] = table[i];
    hole = i;
  }
  table[hole] = 0;
}

static ls_status hash_erase(ls_list *l, ls_row h) {
  uint64_t last = l->count - 1;
  table_remove(l, slot_of(l, h));
  if (h != last) {
    l->u.hash.table[slot_of(l, last)] = (uint32_t)(h + 1);
    ls_cols_move(l, h, last);
  }
  l->count = last;
  if (l->u.hash.sorted > h)
    l->u.hash.sorted = h;
  l->u.hash.changes++;
  l->version++;
  return LS_OK;
}

static ls_status hash_widen(ls_list *l, unsigned col, unsigned width) {
  return ls_cols_widen(l, col, width, l->count, l->u.hash.cap);
}

static void load_key(const ls_list *l, uint64_t row, ls_val *key) {
  for (unsigned c = 0; c < l->schema->nkeys; c++)
    key[c].u = ls_cell_load(l->col[c], ls_shape_width(l->shape, c), row);
}

/* tail: the rows from `sorted` on, in order, in the upper part of order[0 .. count). */
static bool merge_order(const ls_list *l, const ls_texts *tx, uint32_t *order) {
  uint64_t n = l->count, a = 0, a_end = l->u.hash.sorted, b = a_end, to = 0;
  ls_val x[LS_MAX_KEYS], y[LS_MAX_KEYS];
  uint32_t *out = order + n;
  if (a < a_end)
    load_key(l, a, x);
  if (b < n)
    load_key(l, order[b], y);
  while (a < a_end && b < n) {
    if (to % LS_STRIDE == LS_STRIDE - 1 && ls_is_stopped(l->budget))
      return false;
    if (ls_key_compare(l->schema, tx, x, y, l->schema->nkeys) < 0) {
      out[to++] = (uint32_t)a++;
      if (a < a_end)
        load_key(l, a, x);
    } else {
      out[to++] = order[b++];
      if (b < n)
        load_key(l, order[b], y);
    }
  }
  while (a < a_end)
    out[to++] = (uint32_t)a++;
  while (b < n)
    out[to++] = order[b++];
  return true;
}

/* The table anew for the same rows in other places; in its old memory where nobody would stop it.
 */
static ls_status table_refill(ls_list *l) {
  uint64_t slots = l->u.hash.mask + 1;
  if (l->count > LS_STRIDE || ls_block_shared(l->u.hash.table))
    return table_renew(l, slots);
  memset(l->u.hash.table, 0, slots * sizeof *l->u.hash.table);
  table_fill(l, l->u.hash.table, slots - 1);
  return LS_OK;
}

/* Rows as `order` says, found by a table of their own. */
static ls_status hash_reorder(ls_list *l, const uint32_t *order) {
  void *cols[LS_MAX_COLS];
  ls_status st = ls_cols_gather(l, order, l->u.hash.cap, cols);
  if (st != LS_OK)
    return st;
  ls_cols_swap(l, cols);
  st = table_refill(l);
  if (st != LS_OK)
    ls_cols_swap(l, cols);
  for (unsigned c = 0; c < l->schema->ncols; c++)
    ls_block_drop(cols[c]);
  return st;
}

ls_status ls_hash_sort(ls_list *l, const ls_texts *tx) {
  uint64_t n = l->count, sorted = l->u.hash.sorted;
  if (sorted == n) {
    l->u.hash.changes = 0;
    return LS_OK;
  }
  uint16_t keys[LS_MAX_KEYS];
  for (unsigned c = 0; c < l->schema->nkeys; c++)
    keys[c] = (uint16_t)(c << 1);
  size_t bytes = (size_t)n * 2 * sizeof(uint32_t);
  uint32_t *order = ls_mem_alloc(l->mem, bytes);
  if (order == NULL)
    return LS_NOMEM;
  ls_status st = ls_sort_order(l, tx, keys, l->schema->nkeys, sorted, n, order + sorted);
  if (st == LS_OK && sorted != 0 && !merge_order(l, tx, order))
    st = LS_STOPPED;
  if (st == LS_OK)
    st = hash_reorder(l, sorted != 0 ? order + n : order);
  ls_mem_free(l->mem, order, bytes);
  if (st != LS_OK)
    return st;
  l->u.hash.changes = 0;
  l->u.hash.sorted = n;
  l->shared = false;
  l->version++;
  ls_list_update_room(l);
  return LS_OK;
}

/* First row of the sorted list whose first n key columns are >= key (after: >). */
static ls_status hash_bound(ls_list *l, const ls_texts *tx, const ls_val *key, unsigned n,
                            bool after, uint64_t *pos) {
  ls_status st = l->frozen ? LS_OK : ls_hash_sort(l, tx);
  if (st != LS_OK)
    return st;
  uint64_t lo = 0, hi = l->count;
  if (n == 0) {
    *pos = after ? hi : 0;
    return LS_OK;
  }
  while (lo < hi) {
    uint64_t mid = lo + (hi - lo) / 2;
    ls_val at[LS_MAX_KEYS];
    load_key(l, mid, at);
    int d = ls_key_compare(l->schema, tx, at, key, n);
    if (d < 0 || (after && d == 0))
      lo = mid + 1;
    else
      hi = mid;
  }
  *pos = lo;
  return LS_OK;
}

static ls_status hash_start(ls_list *l, const ls_hint *hint) {
  uint64_t cap = hint != NULL ? hint->cap : 0;
  if (cap > LS_MAX_ROWS)
    cap = LS_MAX_ROWS;
  if (cap == 0)
    return LS_OK;
  ls_status st = ls_cols_new(l, 0, cap);
  if (st == LS_OK)
    st = table_reserve(l, cap);
  if (st != LS_OK) {
    ls_cols_drop(l);
    return st;
  }
  l->u.hash.cap = cap;
  return LS_OK;
}

static void hash_drop(ls_list *l) {
  ls_cols_drop(l);
  ls_block_drop(l->u.hash.table);
  memset(&l->u, 0, sizeof l->u);
}

static void hash_share(const ls_list *l, ls_list *copy) {
  (void)copy;
  ls_cols_hold(l);
  ls_block_hold(l->u.hash.table);
}

static ls_status hash_unshare(ls_list *l) {
  if (ls_block_shared(l->u.hash.table)) {
    uint32_t *copy = ls_block_copy(l->u.hash.table);
    if (copy == NULL)
      return LS_NOMEM;
    ls_block_drop(l->u.hash.table);
    l->u.hash.table = copy;
  }
  return ls_cols_unshare(l);
}

static uint64_t hash_bytes(const ls_list *l) {
  return ls_cols_bytes(l) + ls_block_bytes(l->u.hash.table);
}

static bool check_table(const ls_list *l, char *why, size_t n) {
  uint64_t mask = l->u.hash.mask, used = 0;
  if ((mask & (mask + 1)) != 0 || ls_block_bytes(l->u.hash.table) < (mask + 1) * sizeof(uint32_t))
    return ls_check_says(why, n, "table size is no power of two or too small");
  if (l->count * 2 > mask + 1)
    return ls_check_says(why, n, "table is too full");
  for (uint64_t i = 0; i <= mask; i++) {
    uint32_t s = l->u.hash.table[i];
    if (s > l->count)
      return ls_check_says(why, n, "table names a row that is not there");
    if (s == 0)
      continue;
    used++;
    for (uint64_t j = hash_row(l, s - 1) & mask; j != i; j = (j + 1) & mask)
      if (l->u.hash.table[j] == 0 || l->u.hash.table[j] == s)
        return ls_check_says(why, n, "a row cannot be found from its hash");
  }
  if (used != l->count)
    return ls_check_says(why, n, "rows in the table do not add up to count");
  return true;
}

static bool hash_check(const ls_list *l, char *why, size_t n) {
  if (l->schema->nkeys == 0 || l->stored)
    return ls_check_says(why, n, "only local keyed lists are hashed");
  if (l->count > l->u.hash.cap)
    return ls_check_says(why, n, "more rows than cells");
  if (l->u.hash.sorted > l->count)
    return ls_check_says(why, n, "more sorted rows than rows");
  for (uint64_t row = 1; row < l->u.hash.sorted; row++) {
    ls_val x[LS_MAX_KEYS], y[LS_MAX_KEYS];
    load_key(l, row - 1, x);
    load_key(l, row, y);
    if (ls_key_compare(l->schema, l->texts, x, y, l->schema->nkeys) >= 0)
      return ls_check_says(why, n, "rows called sorted are not in order");
  }
  if (l->u.hash.table != NULL && !check_table(l, why, n))
    return false;
  return ls_cols_check(l, 0, l->u.hash.cap, why, n);
}

static bool hash_next(const ls_list *l, ls_cursor *c, ls_row *h) {
  (void)l;
  if (c->next >= c->end)
    return false;
  *h = c->next++;
  return true;
}

static bool hash_prev(const ls_list *l, uint64_t pos, ls_row *h) {
  (void)l;
  if (pos == 0)
    return false;
  *h = pos - 1;
  return true;
}

static uint64_t hash_rank(const ls_list *l, uint64_t pos) { return (void)l, pos; }

const ls_layout_ops ls_hash_ops = {
    .find = hash_find,
    .insert = hash_insert,
    .set = hash_set,
    .erase = hash_erase,
    .widen = hash_widen,
    .bound = hash_bound,
    .next = hash_next,
    .prev = hash_prev,
    .rank = hash_rank,
    .start = hash_start,
    .drop = hash_drop,
    .share = hash_share,
    .unshare = hash_unshare,
    .bytes = hash_bytes,
    .check = hash_check,
};
