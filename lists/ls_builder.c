/* lists/ls_builder.c - collecting columns for bulk building.
 *
 * Cells are as narrow as the values so far.  A run of values is looked at once for the width
 * that it needs and then copied; both loops run in steps of a fixed number of values, which
 * compilers turn into vector code at any level of optimisation.
 */
#include "lists/ls_builder.h"

#include <string.h>

#define STEP 32u
#define FIRST_CAP 64u
#define CALM_CAP (UINT64_C(1) << 20) /* from here on columns grow by a half, not to double */

ls_builder *ls_builder_new(const ls_schema *schema, ls_mem *mem, ls_texts *texts) {
  size_t bytes = sizeof(ls_builder) + schema->ncols * sizeof(ls_bcol);
  ls_builder *b = ls_mem_zalloc(mem, bytes);
  if (b == NULL)
    return NULL;
  b->schema = schema;
  b->mem = mem;
  b->texts = texts;
  for (unsigned c = 0; c < schema->ncols; c++)
    b->col[c].width = schema->cols[c].type == LS_REAL || c >= LS_SHAPE_COLS ? 3 : 0;
  return b;
}

void ls_builder_delete(ls_builder *b) {
  if (b == NULL)
    return;
  for (unsigned c = 0; c < b->schema->ncols; c++)
    ls_block_drop(b->col[c].cells);
  ls_mem_free(b->mem, b, sizeof(ls_builder) + b->schema->ncols * sizeof(ls_bcol));
}

uint64_t ls_builder_rows(const ls_builder *b) {
  uint64_t rows = UINT64_MAX;
  for (unsigned c = 0; c < b->schema->ncols; c++)
    if (b->col[c].n < rows)
      rows = b->col[c].n;
  return rows;
}

ls_status ls_builder_widen(ls_builder *b, ls_bcol *col, unsigned width) {
  if (col->cells != NULL) {
    void *to = ls_block_new(b->mem, (size_t)col->cap << width, false);
    if (to == NULL)
      return LS_NOMEM;
    ls_cells_widen(to, width, col->cells, col->width, col->n);
    ls_block_drop(col->cells);
    col->cells = to;
  }
  col->width = width;
  return LS_OK;
}

static ls_status column_reserve(ls_builder *b, ls_bcol *col, uint64_t n) {
  if (n <= col->cap)
    return LS_OK;
  uint64_t cap = col->cap < CALM_CAP ? col->cap * 2 : col->cap + col->cap / 2;
  if (cap < FIRST_CAP)
    cap = FIRST_CAP;
  if (cap < n)
    cap = n;
  size_t bytes = (size_t)cap << col->width;
  void *to =
      col->cells == NULL ? ls_block_new(b->mem, bytes, false) : ls_block_grow(col->cells, bytes);
  if (to == NULL)
    return LS_NOMEM;
  col->cells = to;
  col->cap = cap;
  return LS_OK;
}

static unsigned width_needed(const int64_t *v, size_t n) {
  uint64_t any = 0, part[STEP] = {0};
  size_t i = 0;
  for (; i + STEP <= n; i += STEP)
    for (unsigned j = 0; j < STEP; j++)
      part[j] |= (uint64_t)v[i + j];
  for (; i < n; i++)
    any |= (uint64_t)v[i];
  for (unsigned j = 0; j < STEP; j++)
    any |= part[j];
  return ls_width_of(LS_INT, (ls_val){.u = any});
}

LS_INLINE void narrow(void *restrict cells, unsigned width, uint64_t at, const int64_t *restrict v,
                      size_t n) {
  size_t i = 0;
  for (; i + STEP <= n; i += STEP)
    for (unsigned j = 0; j < STEP; j++)
      ls_cell_store(cells, width, at + i + j, (uint64_t)v[i + j]);
  for (; i < n; i++)
    ls_cell_store(cells, width, at + i, (uint64_t)v[i]);
}

static void reals_store(uint64_t *cells, bool is_key, const int64_t *v, size_t n) {
  for (size_t i = 0; i < n; i++)
    cells[i] = ls_normal(LS_REAL, is_key, (ls_val){.i = v[i]}).u;
}

ls_status ls_builder_append(ls_builder *b, unsigned col, const int64_t *v, size_t n) {
  ls_bcol *to = &b->col[col];
  bool real = b->schema->cols[col].type == LS_REAL;
  if (n == 0)
    return LS_OK;
  if (n > LS_MAX_ROWS - to->n)
    return LS_LIMIT;
  unsigned width = real ? 3 : width_needed(v, n);
  if (width > to->width && ls_builder_widen(b, to, width) != LS_OK)
    return LS_NOMEM;
  if (column_reserve(b, to, to->n + n) != LS_OK)
    return LS_NOMEM;
  if (real) {
    reals_store((uint64_t *)to->cells + to->n, col < b->schema->nkeys, v, n);
  } else {
    switch (to->width) {
    case 0:
      narrow(to->cells, 0, to->n, v, n);
      break;
    case 1:
      narrow(to->cells, 1, to->n, v, n);
      break;
    case 2:
      narrow(to->cells, 2, to->n, v, n);
      break;
    default:
      narrow(to->cells, 3, to->n, v, n);
      break;
    }
  }
  to->n += n;
  return LS_OK;
}
