/* lists/ls_array.c - sorted columns and a bucket directory over the first key column.
 *
 * The directory cuts the range of the first key column (int or date) into buckets of 2^shift
 * values with an aligned origin.  With shift 0 each value has a bucket of its own: then the
 * directory is the offset array of a compressed sparse row matrix, and the rows of one value
 * are found by reading two neighbours.  Rows are found by position; rows cannot be added or
 * taken away (the caller makes a tree of the list), fields are written in place.
 */
#include <string.h>

#include "lists/ls_cells.h"
#include "lists/ls_cols.h"

typedef struct {
  uint64_t lo, hi; /* rows */
  unsigned from;   /* key columns already equal all over them */
} range;

static ls_keycols keycols_of(const ls_list *l, const ls_texts *tx) {
  ls_keycols k = {.schema = l->schema, .tx = tx};
  for (unsigned c = 0; c < l->schema->nkeys; c++) {
    k.cells[c] = l->col[c];
    k.width[c] = (uint8_t)ls_shape_width(l->shape, c);
  }
  return k;
}

/* The bucket of the first key value: every row before it is below, every one after above. */
static range range_of(const ls_list *l, int64_t key) {
  const uint32_t *dir = l->u.array.dir;
  if (dir == NULL)
    return (range){0, l->count, 0};
  if (key < l->u.array.origin)
    return (range){0, 0, 0};
  uint64_t b = ((uint64_t)key - (uint64_t)l->u.array.origin) >> l->u.array.shift;
  if (b >= l->u.array.nbuckets)
    return (range){l->count, l->count, 0};
  return (range){dir[b], dir[b + 1], l->u.array.shift == 0};
}

static uint64_t array_place(const ls_list *l, const ls_texts *tx, const ls_val *key, unsigned n,
                            bool after, range r) {
  if (r.lo == r.hi)
    return r.lo;
  if (r.from == n)
    return after ? r.hi : r.lo;
  if (r.from + 1 == n && ls_type_is_int(l->schema->cols[r.from].type))
    return ls_cells_bound(l->col[r.from], ls_shape_width(l->shape, r.from), r.lo, r.hi,
                          key[r.from].i, after);
  ls_keycols k = keycols_of(l, tx);
  return ls_keycols_bound(&k, r.lo, r.hi, r.from, key, n, after);
}

static ls_status array_find_plain(const ls_list *l, const ls_val *key, ls_row *h) {
  unsigned last = l->schema->nkeys - 1;
  range r = range_of(l, key[0].i);
  for (unsigned c = r.from; c < last; c++)
    ls_cells_narrow(l->col[c], ls_shape_width(l->shape, c), &r.lo, &r.hi, key[c].i);
  if (r.lo == r.hi)
    return LS_MISSING;
  if (r.from <= last) {
    unsigned w = ls_shape_width(l->shape, last);
    r.lo = ls_cells_bound(l->col[last], w, r.lo, r.hi, key[last].i, false);
    if (r.lo == r.hi || (int64_t)ls_cell_load(l->col[last], w, r.lo) != key[last].i)
      return LS_MISSING;
  }
  *h = r.lo;
  return LS_OK;
}

static ls_status array_find(ls_list *l, const ls_texts *tx, const ls_val *key, ls_row *h) {
  if (l->plain)
    return array_find_plain(l, key, h);
  const ls_schema *s = l->schema;
  range r = range_of(l, key[0].i);
  uint64_t at = array_place(l, tx, key, s->nkeys, false, r);
  if (at == r.hi)
    return LS_MISSING;
  for (unsigned c = r.from; c < s->nkeys; c++) {
    ls_val v = {.u = ls_cell_load(l->col[c], ls_shape_width(l->shape, c), at)};
    if (v.i != key[c].i &&
        (ls_type_is_int(s->cols[c].type) || ls_val_compare(s->cols[c].type, tx, v, key[c]) != 0))
      return LS_MISSING;
  }
  *h = at;
  return LS_OK;
}

static ls_status array_bound(ls_list *l, const ls_texts *tx, const ls_val *key, unsigned n,
                             bool after, uint64_t *pos) {
  if (n == 0)
    *pos = after ? l->count : 0;
  else
    *pos = array_place(l, tx, key, n, after, range_of(l, key[0].i));
  return LS_OK;
}

static ls_status array_insert(ls_list *l, const ls_texts *tx, const ls_val *row, ls_row *h) {
  (void)l, (void)tx, (void)row, (void)h;
  return LS_UNSUITABLE;
}

static ls_status array_erase(ls_list *l, ls_row h) {
  (void)l, (void)h;
  return LS_UNSUITABLE;
}

static ls_status array_set(ls_list *l, ls_row *h, unsigned col, ls_val v) {
  ls_cell_store(l->col[col], ls_shape_width(l->shape, col), *h, v.u);
  return LS_OK;
}

static ls_status array_widen(ls_list *l, unsigned col, unsigned width) {
  return ls_cols_widen(l, col, width, l->count, l->u.array.cap);
}

static bool array_next(const ls_list *l, ls_cursor *c, ls_row *h) {
  (void)l;
  if (c->next >= c->end)
    return false;
  *h = c->next++;
  return true;
}

static bool array_prev(const ls_list *l, uint64_t pos, ls_row *h) {
  (void)l;
  if (pos == 0)
    return false;
  *h = pos - 1;
  return true;
}

static uint64_t array_rank(const ls_list *l, uint64_t pos) {
  (void)l;
  return pos;
}

static ls_status array_start(ls_list *l, const ls_hint *hint) {
  (void)l, (void)hint; /* rows come with ls_array_adopt, blocks and all */
  return LS_OK;
}

static void array_drop(ls_list *l) {
  ls_cols_drop(l);
  ls_block_drop(l->u.array.dir);
  memset(&l->u, 0, sizeof l->u);
}

static void array_share(const ls_list *l, ls_list *copy) {
  (void)copy;
  ls_cols_hold(l);
  ls_block_hold(l->u.array.dir);
}

/* The directory may stay shared: nobody ever writes to it. */
static ls_status array_unshare(ls_list *l) { return ls_cols_unshare(l); }

static uint64_t array_bytes(const ls_list *l) {
  return ls_cols_bytes(l) + ls_block_bytes(l->u.array.dir);
}

/* Buckets of the least width that policy allows. */
static void directory_plan(ls_list *l, int64_t lo, int64_t hi) {
  uint64_t span = (uint64_t)hi - (uint64_t)lo, count = l->count; /* span: one less */
  uint64_t most = l->policy->bucket_max_span * count;
  uint32_t shift = 0;
  int64_t origin = lo;
  if (span >= most) {
    most = count / (l->policy->bucket_rows != 0 ? l->policy->bucket_rows : 1) + 1;
    while (shift < 62 && (((uint64_t)hi - (uint64_t)origin) >> shift) >= most) {
      shift++;
      origin = (int64_t)((uint64_t)lo & ~((UINT64_C(1) << shift) - 1));
    }
  }
  l->u.array.origin = origin;
  l->u.array.shift = shift;
  l->u.array.nbuckets = (((uint64_t)hi - (uint64_t)origin) >> shift) + 1;
}

LS_INLINE void directory_fill(uint32_t *dir, const void *cells, unsigned width, uint64_t count,
                              uint64_t origin, uint32_t shift) {
  uint64_t next = 0;
  for (uint64_t i = 0; i < count; i++) {
    uint64_t b = (ls_cell_load(cells, width, i) - origin) >> shift;
    while (next <= b)
      dir[next++] = (uint32_t)i;
  }
  dir[next] = (uint32_t)count;
}

static ls_status directory_build(ls_list *l, const void *cells) {
  if (l->count == 0 || !ls_type_is_int(l->schema->cols[0].type))
    return LS_OK;
  unsigned w = ls_shape_width(l->shape, 0);
  directory_plan(l, ls_cell_int(cells, w, 0), ls_cell_int(cells, w, l->count - 1));
  uint32_t *dir = ls_block_new(l->mem, (l->u.array.nbuckets + 1) * sizeof *dir, false);
  if (dir == NULL)
    return LS_NOMEM;
  uint64_t origin = (uint64_t)l->u.array.origin;
  uint32_t shift = l->u.array.shift;
  switch (w) {
  case 0:
    directory_fill(dir, cells, 0, l->count, origin, shift);
    break;
  case 1:
    directory_fill(dir, cells, 1, l->count, origin, shift);
    break;
  case 2:
    directory_fill(dir, cells, 2, l->count, origin, shift);
    break;
  default:
    directory_fill(dir, cells, 3, l->count, origin, shift);
    break;
  }
  l->u.array.dir = dir;
  return LS_OK;
}

ls_status ls_array_adopt(ls_list *l, uint64_t shape, void *const *cols, uint64_t count,
                         uint64_t cap) {
  uint64_t old_shape = l->shape, old_count = l->count;
  memset(&l->u, 0, sizeof l->u);
  l->shape = ls_shape_with_layout(shape, LS_ARRAY, 0);
  l->count = count;
  if (directory_build(l, cols[0]) != LS_OK) {
    memset(&l->u, 0, sizeof l->u);
    l->shape = old_shape;
    l->count = old_count;
    return LS_NOMEM;
  }
  l->u.array.cap = cap;
  for (unsigned c = 0; c < l->schema->ncols; c++)
    l->col[c] = cols[c];
  l->room = count;
  l->fresh = false;
  l->version++;
  return LS_OK;
}

static bool rows_check(const ls_list *l, char *why, size_t n) {
  const ls_schema *s = l->schema;
  ls_val key[2][LS_MAX_KEYS];
  for (uint64_t i = 0; i < l->count; i++) {
    ls_val *now = key[i & 1], *last = key[(i + 1) & 1];
    for (unsigned c = 0; c < s->nkeys; c++)
      now[c] = ls_list_get(l, i, c);
    if (i > 0 && ls_key_compare(s, l->texts, last, now, s->nkeys) >= 0)
      return ls_check_says(why, n, "rows of an array are out of order");
  }
  return true;
}

static bool directory_check(const ls_list *l, char *why, size_t n) {
  const uint32_t *dir = l->u.array.dir;
  bool wanted = l->count > 0 && ls_type_is_int(l->schema->cols[0].type);
  if ((dir != NULL) != wanted)
    return ls_check_says(why, n, "an array's directory is missing or too many");
  if (dir == NULL)
    return true;
  uint64_t width = UINT64_C(1) << l->u.array.shift, buckets = l->u.array.nbuckets;
  if ((uint64_t)l->u.array.origin & (width - 1))
    return ls_check_says(why, n, "an array's origin is not aligned");
  if (dir[0] != 0 || dir[buckets] != l->count)
    return ls_check_says(why, n, "an array's directory does not cover its rows");
  for (uint64_t b = 0; b < buckets; b++) {
    if (dir[b] > dir[b + 1])
      return ls_check_says(why, n, "an array's directory shrinks");
    for (uint64_t i = dir[b]; i < dir[b + 1]; i++)
      if ((ls_list_get(l, i, 0).u - (uint64_t)l->u.array.origin) >> l->u.array.shift != b)
        return ls_check_says(why, n, "a row is in the wrong bucket");
  }
  return true;
}

static bool array_check(const ls_list *l, char *why, size_t n) {
  if (l->u.array.cap < l->count)
    return ls_check_says(why, n, "an array's capacity is too small");
  return ls_cols_check(l, 0, l->u.array.cap, why, n) && rows_check(l, why, n) &&
         directory_check(l, why, n);
}

const ls_layout_ops ls_array_ops = {
    .find = array_find,
    .insert = array_insert,
    .set = array_set,
    .erase = array_erase,
    .widen = array_widen,
    .bound = array_bound,
    .next = array_next,
    .prev = array_prev,
    .rank = array_rank,
    .start = array_start,
    .drop = array_drop,
    .share = array_share,
    .unshare = array_unshare,
    .bytes = array_bytes,
    .check = array_check,
};
