#include "tests/lists/support/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void model_init(model *m, const ls_schema *schema, const model_pool *pool) {
  *m = (model){.schema = schema, .pool = pool};
}

void model_free(model *m) {
  free(m->cells);
  m->cells = NULL;
  m->count = m->cap = 0;
}

static void model_reserve(model *m, size_t rows) {
  if (rows <= m->cap)
    return;
  size_t cap = rows * 2;
  m->cells = realloc(m->cells, cap * m->schema->ncols * sizeof(ls_val));
  if (!m->cells)
    abort();
  m->cap = cap;
}

void model_copy(model *to, const model *from) {
  model_reserve(to, from->count);
  to->count = from->count;
  if (from->count) {
    memcpy(to->cells, from->cells, from->count * from->schema->ncols * sizeof(ls_val));
  }
}

ls_val *model_row(const model *m, size_t at) { return m->cells + at * m->schema->ncols; }

ls_val model_normal(ls_type type, bool is_key, ls_val v) {
  if (type != LS_REAL)
    return v;
  if (isnan(v.r))
    v.u = MODEL_NAN;
  if (is_key && v.r == 0.0)
    v.u = 0;
  return v;
}

void model_normalise(const model *m, ls_val *row) {
  for (unsigned c = 0; c < m->schema->ncols; c++) {
    row[c] = model_normal(m->schema->cols[c].type, c < m->schema->nkeys, row[c]);
  }
}

static int model_compare_reals(double x, double y) {
  if (isnan(x) || isnan(y))
    return (isnan(x) ? 1 : 0) - (isnan(y) ? 1 : 0);
  return x < y ? -1 : x > y;
}

static int model_compare_texts(const model_text *x, const model_text *y) {
  size_t n = x->len < y->len ? x->len : y->len;
  int d = n ? memcmp(x->bytes, y->bytes, n) : 0;
  if (d)
    return d < 0 ? -1 : 1;
  return x->len < y->len ? -1 : x->len > y->len;
}

int model_compare(const model *m, ls_type type, ls_val x, ls_val y) {
  switch (type) {
  case LS_REAL:
    return model_compare_reals(x.r, y.r);
  case LS_TEXT:
    return model_compare_texts(&m->pool->at[x.i], &m->pool->at[y.i]);
  default:
    return x.i < y.i ? -1 : x.i > y.i;
  }
}

int model_compare_keys(const model *m, const ls_val *x, const ls_val *y, unsigned n) {
  for (unsigned c = 0; c < n; c++) {
    int d = model_compare(m, m->schema->cols[c].type, x[c], y[c]);
    if (d)
      return d;
  }
  return 0;
}

size_t model_bound(const model *m, const ls_val *key, unsigned n, bool after) {
  size_t lo = 0, hi = m->count;
  while (lo < hi) {
    size_t mid = lo + (hi - lo) / 2;
    int d = model_compare_keys(m, model_row(m, mid), key, n);
    if (d < 0 || (after && d == 0)) {
      lo = mid + 1;
    } else {
      hi = mid;
    }
  }
  return lo;
}

bool model_find(const model *m, const ls_val *key, size_t *at) {
  unsigned n = m->schema->nkeys;
  *at = model_bound(m, key, n, false);
  return *at < m->count && model_compare_keys(m, model_row(m, *at), key, n) == 0;
}

void model_select(const model *m, const model_slice *s, size_t *from, size_t *to) {
  ls_val key[LS_MAX_KEYS + 1];
  memcpy(key, s->prefix, s->np * sizeof(ls_val));
  key[s->np] = s->lo;
  *from = model_bound(m, key, s->np + s->has_lo, false);
  key[s->np] = s->hi;
  *to = model_bound(m, key, s->np + s->has_hi, true);
  if (*to < *from)
    *to = *from;
}

void model_insert(model *m, size_t at, const ls_val *row) {
  model_reserve(m, m->count + 1);
  size_t n = m->schema->ncols;
  memmove(model_row(m, at + 1), model_row(m, at), (m->count - at) * n * sizeof(ls_val));
  memcpy(model_row(m, at), row, n * sizeof(ls_val));
  m->count++;
}

void model_put(model *m, const ls_val *row) {
  size_t at = m->count;
  if (m->schema->nkeys && model_find(m, row, &at)) {
    memcpy(model_row(m, at), row, m->schema->ncols * sizeof(ls_val));
  } else {
    model_insert(m, at, row);
  }
}

void model_erase(model *m, size_t at) {
  size_t n = m->schema->ncols;
  m->count--;
  memmove(model_row(m, at), model_row(m, at + 1), (m->count - at) * n * sizeof(ls_val));
}

static int model_compare_by(const model *m, const ls_val *x, const ls_val *y, const uint16_t *keys,
                            unsigned nkeys) {
  for (unsigned i = 0; i < nkeys; i++) {
    unsigned c = keys[i] >> 1;
    int d = model_compare(m, m->schema->cols[c].type, x[c], y[c]);
    if (d)
      return keys[i] & 1 ? -d : d;
  }
  return 0;
}

/* Stable: merge of halves, the left one first where equal. */
static void model_merge_sort(const model *m, size_t *rows, size_t *spare, size_t n,
                             const uint16_t *keys, unsigned nkeys) {
  if (n < 2)
    return;
  size_t half = n / 2, i = 0, j = half;
  model_merge_sort(m, rows, spare, half, keys, nkeys);
  model_merge_sort(m, rows + half, spare, n - half, keys, nkeys);
  for (size_t k = 0; k < n; k++) {
    bool left = j == n || (i < half && model_compare_by(m, model_row(m, rows[i]),
                                                        model_row(m, rows[j]), keys, nkeys) <= 0);
    spare[k] = left ? rows[i++] : rows[j++];
  }
  memcpy(rows, spare, n * sizeof *rows);
}

void model_sort(model *m, const uint16_t *keys, unsigned nkeys) {
  size_t n = m->count, row_bytes = m->schema->ncols * sizeof(ls_val);
  if (n == 0)
    return;
  size_t *rows = malloc(2 * n * sizeof *rows);
  ls_val *cells = malloc(n * row_bytes);
  if (!rows || !cells)
    abort();
  for (size_t i = 0; i < n; i++)
    rows[i] = i;
  model_merge_sort(m, rows, rows + n, n, keys, nkeys);
  for (size_t i = 0; i < n; i++) {
    memcpy(cells + i * m->schema->ncols, model_row(m, rows[i]), row_bytes);
  }
  memcpy(m->cells, cells, n * row_bytes);
  free(cells);
  free(rows);
}

uint64_t model_hash(const model *m) {
  uint64_t h = UINT64_C(0xcbf29ce484222325) ^ m->count;
  size_t n = m->count * m->schema->ncols;
  for (size_t i = 0; i < n; i++) {
    h = (h ^ m->cells[i].u) * UINT64_C(0x9e3779b97f4a7c15);
    h ^= h >> 29;
  }
  return h;
}
