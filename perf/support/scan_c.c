/* The scans in C, compiled with -O3 -march=native. */
#include <string.h>

#include "perf/support/lineitem.h"

#if defined(__clang__)
const char *const scan_compiler = "clang " __clang_version__ " -O3 -march=native";
#else
const char *const scan_compiler = "gcc " __VERSION__ " -O3 -march=native";
#endif

void scan_q1(const lineitem *l, uint16_t last, q1_group out[Q1_GROUPS]) {
  const uint8_t *quantity = l->quantity, *discount = l->discount, *tax = l->tax;
  const uint8_t *flag = l->flag, *status = l->status;
  const uint16_t *ship = l->ship;
  const uint32_t *price = l->price;
  q1_group group[Q1_GROUPS];
  memset(group, 0, sizeof group);
  for (size_t i = 0; i < l->rows; i++) {
    if (ship[i] > last)
      continue;
    q1_group *g = &group[flag[i] * Q1_STATUSES + status[i]];
    int64_t discounted = (int64_t)price[i] * (100 - discount[i]);
    g->quantity += quantity[i];
    g->base += price[i];
    g->discounted += discounted;
    g->charged += discounted * (100 + tax[i]);
    g->discount += discount[i];
    g->rows++;
  }
  memcpy(out, group, sizeof group);
}

int64_t scan_q6(const lineitem *l) {
  const uint8_t *quantity = l->quantity, *discount = l->discount;
  const uint16_t *ship = l->ship;
  const uint32_t *price = l->price;
  int64_t sum = 0;
  for (size_t i = 0; i < l->rows; i++)
    if (ship[i] >= Q6_FROM && ship[i] < Q6_TO && discount[i] >= Q6_DISCOUNT_LEAST &&
        discount[i] <= Q6_DISCOUNT_MOST && quantity[i] < Q6_QUANTITY)
      sum += (int64_t)price[i] * discount[i];
  return sum;
}
