#include "perf/support/lineitem.h"

#include <stdlib.h>

#include "perf/support/random.h"

#define DAY_FIRST_ORDER 8035 /* 1992-01-01 */
#define DAY_LAST_ORDER 10440 /* 1998-08-02 */
#define DAY_CURRENT 9298     /* 1995-06-17 */

static void make_row(lineitem *l, size_t i, uint64_t *seed) {
  uint32_t quantity = 1 + random_below(seed, 50);
  uint32_t piece = 90000 + random_below(seed, 20001) + 100 * random_below(seed, 1000);
  uint32_t ordered = DAY_FIRST_ORDER + random_below(seed, DAY_LAST_ORDER - DAY_FIRST_ORDER + 1);
  uint32_t shipped = ordered + 1 + random_below(seed, 121);
  uint32_t received = shipped + 1 + random_below(seed, 30);
  bool returned = random_below(seed, 2);
  l->quantity[i] = (uint8_t)quantity;
  l->price[i] = quantity * piece;
  l->discount[i] = (uint8_t)random_below(seed, 11);
  l->tax[i] = (uint8_t)random_below(seed, 9);
  l->flag[i] = received > DAY_CURRENT ? 1 : returned ? 2 : 0;
  l->status[i] = shipped > DAY_CURRENT;
  l->ship[i] = (uint16_t)shipped;
}

bool lineitem_make(lineitem *l, size_t rows, uint64_t seed) {
  *l = (lineitem){.rows = rows};
  l->quantity = malloc(rows);
  l->price = malloc(rows * sizeof *l->price);
  l->discount = malloc(rows);
  l->tax = malloc(rows);
  l->flag = malloc(rows);
  l->status = malloc(rows);
  l->ship = malloc(rows * sizeof *l->ship);
  if (!l->quantity || !l->price || !l->discount || !l->tax || !l->flag || !l->status || !l->ship) {
    lineitem_free(l);
    return false;
  }
  for (size_t i = 0; i < rows; i++)
    make_row(l, i, &seed);
  return true;
}

void lineitem_free(lineitem *l) {
  free(l->quantity);
  free(l->price);
  free(l->discount);
  free(l->tax);
  free(l->flag);
  free(l->status);
  free(l->ship);
  *l = (lineitem){0};
}

bool lineitem_widen(lineitem_wide *w, const lineitem *l) {
  int64_t **const column[] = {&w->quantity, &w->price,  &w->discount, &w->tax,
                              &w->flag,     &w->status, &w->ship};
  *w = (lineitem_wide){.rows = l->rows};
  for (size_t c = 0; c < sizeof column / sizeof *column; c++) {
    *column[c] = malloc(l->rows * sizeof **column[c]);
    if (!*column[c]) {
      lineitem_wide_free(w);
      return false;
    }
  }
  for (size_t i = 0; i < l->rows; i++) {
    w->quantity[i] = l->quantity[i];
    w->price[i] = l->price[i];
    w->discount[i] = l->discount[i];
    w->tax[i] = l->tax[i];
    w->flag[i] = l->flag[i];
    w->status[i] = l->status[i];
    w->ship[i] = l->ship[i];
  }
  return true;
}

void lineitem_wide_free(lineitem_wide *w) {
  free(w->quantity);
  free(w->price);
  free(w->discount);
  free(w->tax);
  free(w->flag);
  free(w->status);
  free(w->ship);
  *w = (lineitem_wide){0};
}
