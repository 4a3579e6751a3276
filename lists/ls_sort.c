/* lists/ls_sort.c - stable sorting of rows by several columns.
 *
 * Each row becomes an item: its number and an image, a 64-bit number that orders like its key.
 * Neighbouring key columns share an image while their bits fit (narrow columns make that
 * common).  Without texts the items are radix sorted, last group of columns first, and a byte
 * that is the same in every image costs no pass.  With texts, or few rows, they are merge
 * sorted: the image of the first group decides nearly always, else whole keys are compared.
 */
#include "lists/ls_cols.h"

#include <string.h>

#define RADIX_MIN 96u /* fewer rows are merge sorted: histograms would cost more */

typedef struct {
  uint64_t image;
  uint32_t row;
} sort_item;

typedef struct {
  const ls_list *list;
  const ls_texts *tx;
  const uint16_t *keys;
  unsigned nkeys;
  sort_item *items, *spare; /* n each, one block */
  uint64_t n;
} sort_job;

static unsigned key_col(uint16_t key) { return key >> 1; }
static bool key_desc(uint16_t key) { return key & 1; }

static unsigned key_bits(const sort_job *j, unsigned k) {
  unsigned c = key_col(j->keys[k]);
  ls_type type = j->list->schema->cols[c].type;
  return type == LS_TEXT ? 64 : 8u << ls_shape_width(j->list->shape, c);
}

static uint64_t text_image(const ls_texts *tx, uint32_t id) {
  size_t len;
  const char *bytes = ls_texts_get(tx, id, &len);
  uint64_t image = 0;
  for (size_t i = 0; i < 8; i++)
    image = image << 8 | (i < len ? (unsigned char)bytes[i] : 0u);
  return image;
}

/* Ascending image in the column's bits; -0.0 and 0.0 alike, NaN last. */
static uint64_t cell_image(const sort_job *j, unsigned c, uint64_t row) {
  const uint64_t sign = UINT64_C(1) << 63;
  unsigned w = ls_shape_width(j->list->shape, c);
  ls_type type = j->list->schema->cols[c].type;
  ls_val v = {.u = ls_cell_load(j->list->col[c], w, row)};
  if (type == LS_TEXT)
    return text_image(j->tx, (uint32_t)v.u);
  if (type == LS_REAL) {
    if (v.r == 0.0)
      v.r = 0.0;
    return v.u & sign ? ~v.u : v.u | sign;
  }
  return w == 3 ? v.u ^ sign : v.u;
}

/* Asked between strides: few rows are sorted without it. */
static bool is_stopped(const sort_job *j, uint64_t at) {
  return at != 0 && ls_is_stopped(j->list->budget);
}

static void add_images(const sort_job *j, unsigned k, uint64_t lo, uint64_t hi) {
  unsigned bits = key_bits(j, k), c = key_col(j->keys[k]);
  uint64_t mask = bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
  uint64_t flip = key_desc(j->keys[k]) ? mask : 0;
  for (uint64_t i = lo; i < hi; i++) {
    uint64_t image = cell_image(j, c, j->items[i].row) ^ flip;
    j->items[i].image = bits == 64 ? image : j->items[i].image << bits | image;
  }
}

/* The images of keys [from, to) of every item, as one number of at most 64 bits.  False: stopped.
 */
static bool make_images(const sort_job *j, unsigned from, unsigned to) {
  for (uint64_t lo = 0, hi; lo < j->n; lo = hi) {
    if (is_stopped(j, lo))
      return false;
    hi = ls_stride_end(lo, j->n);
    for (uint64_t i = lo; i < hi; i++)
      j->items[i].image = 0;
    for (unsigned k = from; k < to; k++)
      add_images(j, k, lo, hi);
  }
  return true;
}

/* The first key of the widest group that ends before `to` and fits into 64 bits. */
static unsigned group_start(const sort_job *j, unsigned to) {
  unsigned from = to, bits = 0;
  while (from > 0 && bits + key_bits(j, from - 1) <= 64)
    bits += key_bits(j, --from);
  return from;
}

static bool radix_pass(sort_job *j, unsigned shift) {
  uint64_t at[256] = {0}, sum = 0;
  for (uint64_t i = 0; i < j->n; i++)
    at[j->items[i].image >> shift & 255]++;
  for (unsigned b = 0; b < 256; b++) {
    uint64_t n = at[b];
    at[b] = sum;
    sum += n;
  }
  for (uint64_t lo = 0, hi; lo < j->n; lo = hi) {
    if (is_stopped(j, lo))
      return false;
    hi = ls_stride_end(lo, j->n);
    for (uint64_t i = lo; i < hi; i++)
      j->spare[at[j->items[i].image >> shift & 255]++] = j->items[i];
  }
  sort_item *items = j->items;
  j->items = j->spare;
  j->spare = items;
  return true;
}

static bool radix_sort(sort_job *j) {
  for (unsigned to = j->nkeys; to > 0;) {
    unsigned from = group_start(j, to);
    if (!make_images(j, from, to))
      return false;
    uint64_t all = j->items[0].image, any = all;
    for (uint64_t i = 1; i < j->n; i++) {
      all &= j->items[i].image;
      any |= j->items[i].image;
    }
    for (unsigned shift = 0; shift < 64; shift += 8)
      if (((all ^ any) >> shift & 255) && !radix_pass(j, shift))
        return false;
    to = from;
  }
  return true;
}

static int compare_rows(const sort_job *j, uint64_t x, uint64_t y) {
  for (unsigned k = 0; k < j->nkeys; k++) {
    unsigned c = key_col(j->keys[k]), w = ls_shape_width(j->list->shape, c);
    ls_val a = {.u = ls_cell_load(j->list->col[c], w, x)};
    ls_val b = {.u = ls_cell_load(j->list->col[c], w, y)};
    int d = ls_val_compare(j->list->schema->cols[c].type, j->tx, a, b);
    if (d != 0)
      return key_desc(j->keys[k]) ? -d : d;
  }
  return 0;
}

static bool is_after(const sort_job *j, const sort_item *x, const sort_item *y) {
  if (x->image != y->image)
    return x->image > y->image;
  return compare_rows(j, x->row, y->row) > 0;
}

static bool merge(sort_job *j, uint64_t lo, uint64_t mid, uint64_t hi) {
  const sort_item *in = j->items;
  uint64_t a = lo, b = mid, to = lo;
  while (a < mid && b < hi) {
    if (to % LS_STRIDE == 0 && is_stopped(j, to))
      return false;
    j->spare[to++] = is_after(j, &in[a], &in[b]) ? in[b++] : in[a++];
  }
  while (a < mid)
    j->spare[to++] = in[a++];
  while (b < hi)
    j->spare[to++] = in[b++];
  return true;
}

static bool merge_sort(sort_job *j) {
  unsigned first = 1, bits = key_bits(j, 0);
  while (first < j->nkeys && bits + key_bits(j, first) <= 64)
    bits += key_bits(j, first++);
  if (!make_images(j, 0, first))
    return false;
  for (uint64_t run = 1; run < j->n; run *= 2) {
    for (uint64_t lo = 0; lo < j->n; lo += 2 * run) {
      uint64_t mid = lo + run < j->n ? lo + run : j->n;
      uint64_t hi = mid + run < j->n ? mid + run : j->n;
      if (!merge(j, lo, mid, hi))
        return false;
    }
    sort_item *items = j->items;
    j->items = j->spare;
    j->spare = items;
  }
  return true;
}

static bool has_text(const sort_job *j) {
  for (unsigned k = 0; k < j->nkeys; k++)
    if (j->list->schema->cols[key_col(j->keys[k])].type == LS_TEXT)
      return true;
  return false;
}

/* Memory that is touched for the first time may take longer than all the rest. */
static bool number_rows(const sort_job *j, uint64_t first) {
  for (uint64_t lo = 0, hi; lo < j->n; lo = hi) {
    if (is_stopped(j, lo))
      return false;
    hi = ls_stride_end(lo, j->n);
    for (uint64_t i = lo; i < hi; i++)
      j->items[i].row = (uint32_t)(first + i);
  }
  return true;
}

static bool take_order(const sort_job *j, uint32_t *order) {
  for (uint64_t lo = 0, hi; lo < j->n; lo = hi) {
    if (is_stopped(j, lo))
      return false;
    hi = ls_stride_end(lo, j->n);
    for (uint64_t i = lo; i < hi; i++)
      order[i] = j->items[i].row;
  }
  return true;
}

ls_status ls_sort_order(const ls_list *l, const ls_texts *tx, const uint16_t *keys, unsigned nkeys,
                        uint64_t lo, uint64_t hi, uint32_t *order) {
  sort_job j = {.list = l, .tx = tx, .keys = keys, .nkeys = nkeys, .n = hi - lo};
  if (j.n == 0)
    return LS_OK;
  size_t bytes = (size_t)j.n * 2 * sizeof(sort_item);
  sort_item *block = ls_mem_alloc(l->mem, bytes);
  if (block == NULL)
    return LS_NOMEM;
  j.items = block;
  j.spare = block + j.n;
  bool done = number_rows(&j, lo);
  if (done && nkeys != 0)
    done = j.n < RADIX_MIN || has_text(&j) ? merge_sort(&j) : radix_sort(&j);
  done = done && take_order(&j, order);
  ls_mem_free(l->mem, block, bytes);
  return done ? LS_OK : LS_STOPPED;
}

static ls_status sort_flat(ls_list *l, const ls_texts *tx, const uint16_t *keys, unsigned nkeys) {
  size_t bytes = (size_t)l->count * sizeof(uint32_t);
  uint32_t *order = ls_mem_alloc(l->mem, bytes);
  if (order == NULL)
    return LS_NOMEM;
  void *cols[LS_MAX_COLS];
  ls_status st = ls_sort_order(l, tx, keys, nkeys, 0, l->count, order);
  if (st == LS_OK)
    st = ls_cols_gather(l, order, l->u.flat.cap, cols);
  ls_mem_free(l->mem, order, bytes);
  if (st != LS_OK)
    return st;
  ls_cols_swap(l, cols);
  for (unsigned c = 0; c < l->schema->ncols; c++)
    ls_block_drop(cols[c]);
  l->shared = false;
  l->version++;
  return LS_OK;
}

/* The order of texts is that of the list's rows: stored lists hold ids of the base. */
ls_status ls_list_sort(ls_list *l, ls_texts *tx, const uint16_t *keys, unsigned nkeys) {
  if (l->frozen)
    return LS_FROZEN;
  if (l->schema->nkeys != 0)
    return LS_UNSUITABLE;
  if (l->count < 2 || nkeys == 0)
    return LS_OK;
  ls_status st = ls_undo_note_clear(l);
  if (st == LS_OK)
    st = sort_flat(l, tx != NULL ? tx : l->texts, keys, nkeys);
  ls_list_update_room(l);
  return st;
}
