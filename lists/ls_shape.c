#include "lists/lists_int.h"

#include <stdio.h>
#include <string.h>

static uint64_t word(ls_layout layout, unsigned base_class) {
  return (uint64_t)layout | (uint64_t)(layout == LS_DENSE ? base_class : 0) << 4;
}

uint64_t ls_shape_with_width(uint64_t shape, unsigned col, unsigned width) {
  if (col >= LS_SHAPE_COLS)
    return shape;
  unsigned at = 8u + 2u * col;
  return (shape & ~(UINT64_C(3) << at)) | (uint64_t)width << at;
}

uint64_t ls_shape_with_layout(uint64_t shape, ls_layout layout, unsigned base_class) {
  shape = (shape & ~UINT64_C(0xff)) | word(layout, base_class);
  return layout == LS_DENSE ? ls_shape_with_width(shape, 0, 3) : shape;
}

uint64_t ls_shape_make(const ls_schema *s, ls_layout layout, unsigned base_class) {
  uint64_t shape = 0;
  for (unsigned c = 0; c < s->ncols; c++)
    if (s->cols[c].type == LS_REAL)
      shape = ls_shape_with_width(shape, c, 3);
  return ls_shape_with_layout(shape, layout, base_class);
}

const char *ls_layout_name(ls_layout layout) {
  switch (layout) {
  case LS_FLAT:
    return "flat";
  case LS_DENSE:
    return "dense";
  case LS_HASH:
    return "hash";
  case LS_TREE:
    return "tree";
  case LS_ARRAY:
    return "array";
  }
  return "?";
}

static const char *cell_name(uint64_t shape, const ls_schema *s, unsigned c) {
  static const char *const names[] = {"u8", "u16", "u32", "i64"};
  if (ls_shape_layout(shape) == LS_DENSE && c == 0)
    return "index";
  if (s->cols[c].type == LS_REAL)
    return "real";
  return names[ls_shape_width(shape, c)];
}

void ls_shape_format(uint64_t shape, const ls_schema *schema, char *out, size_t n) {
  size_t used = 0;
  for (unsigned c = 0; c <= schema->ncols && used < n; c++) {
    int k = c == 0 ? snprintf(out, n, "%s", ls_layout_name(ls_shape_layout(shape)))
                   : snprintf(out + used, n - used, "%c%s", c == 1 ? ' ' : ',',
                              cell_name(shape, schema, c - 1));
    if (k < 0)
      return;
    used += (size_t)k;
  }
}
