#include "lists/lists_int.h"

#define CANONICAL_NAN UINT64_C(0x7ff8000000000000)

ls_val ls_normal(ls_type type, bool is_key, ls_val v) {
  if (type != LS_REAL)
    return v;
  if (v.r != v.r)
    v.u = CANONICAL_NAN;
  if (is_key && v.r == 0.0)
    v.r = 0.0;
  return v;
}

static int compare_real(double x, double y) {
  bool x_nan = x != x, y_nan = y != y;
  if (x_nan || y_nan)
    return (int)x_nan - (int)y_nan;
  return (x > y) - (x < y);
}

int ls_val_compare(ls_type type, const ls_texts *tx, ls_val x, ls_val y) {
  switch (type) {
  case LS_REAL:
    return compare_real(x.r, y.r);
  case LS_TEXT:
    return ls_texts_compare(tx, (uint32_t)x.u, (uint32_t)y.u);
  case LS_INT:
  case LS_BOOL:
  case LS_DATE:
    break;
  }
  return (x.i > y.i) - (x.i < y.i);
}

int ls_key_compare(const ls_schema *s, const ls_texts *tx, const ls_val *x, const ls_val *y,
                   unsigned n) {
  for (unsigned c = 0; c < n; c++) {
    int d = ls_val_compare(s->cols[c].type, tx, x[c], y[c]);
    if (d != 0)
      return d;
  }
  return 0;
}
