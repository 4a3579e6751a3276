/* The other scans in C, compiled like the ones of scan_c.c. */
#include <stdlib.h>
#include <string.h>

#include "perf/support/lineitem.h"

const char *const scan_names[SCAN_FORMS] = {"C -O3 native", "wide", "mask", "wide_mask"};

void scan_q1_wide(const lineitem_wide *l, int64_t last, q1_group out[Q1_GROUPS]) {
  const int64_t *quantity = l->quantity, *discount = l->discount, *tax = l->tax;
  const int64_t *flag = l->flag, *status = l->status, *ship = l->ship, *price = l->price;
  q1_group group[Q1_GROUPS];
  memset(group, 0, sizeof group);
  for (size_t i = 0; i < l->rows; i++) {
    if (ship[i] > last)
      continue;
    q1_group *g = &group[flag[i] * Q1_STATUSES + status[i]];
    int64_t discounted = price[i] * (100 - discount[i]);
    g->quantity += quantity[i];
    g->base += price[i];
    g->discounted += discounted;
    g->charged += discounted * (100 + tax[i]);
    g->discount += discount[i];
    g->rows++;
  }
  memcpy(out, group, sizeof group);
}

int64_t scan_q6_wide(const lineitem_wide *l) {
  const int64_t *quantity = l->quantity, *discount = l->discount;
  const int64_t *ship = l->ship, *price = l->price;
  int64_t sum = 0;
  for (size_t i = 0; i < l->rows; i++)
    if (ship[i] >= Q6_FROM && ship[i] < Q6_TO && discount[i] >= Q6_DISCOUNT_LEAST &&
        discount[i] <= Q6_DISCOUNT_MOST && quantity[i] < Q6_QUANTITY)
      sum += price[i] * discount[i];
  return sum;
}

void scan_q1_mask(const lineitem *l, uint16_t last, q1_group out[Q1_GROUPS]) {
  const uint8_t *quantity = l->quantity, *discount = l->discount, *tax = l->tax;
  const uint8_t *flag = l->flag, *status = l->status;
  const uint16_t *ship = l->ship;
  const uint32_t *price = l->price;
  q1_group group[Q1_GROUPS];
  memset(group, 0, sizeof group);
  for (size_t i = 0; i < l->rows; i++) {
    int64_t mask = -(int64_t)(ship[i] <= last);
    q1_group *g = &group[flag[i] * Q1_STATUSES + status[i]];
    int64_t discounted = ((int64_t)price[i] * (100 - discount[i])) & mask;
    g->quantity += quantity[i] & mask;
    g->base += price[i] & mask;
    g->discounted += discounted;
    g->charged += discounted * (100 + tax[i]);
    g->discount += discount[i] & mask;
    g->rows -= mask;
  }
  memcpy(out, group, sizeof group);
}

int64_t scan_q6_mask(const lineitem *l) {
  const uint8_t *quantity = l->quantity, *discount = l->discount;
  const uint16_t *ship = l->ship;
  const uint32_t *price = l->price;
  int64_t sum = 0;
  for (size_t i = 0; i < l->rows; i++) {
    int in = (ship[i] >= Q6_FROM) & (ship[i] < Q6_TO) & (discount[i] >= Q6_DISCOUNT_LEAST) &
             (discount[i] <= Q6_DISCOUNT_MOST) & (quantity[i] < Q6_QUANTITY);
    sum += (int64_t)price[i] * discount[i] * in;
  }
  return sum;
}

void scan_q1_wide_mask(const lineitem_wide *l, int64_t last, q1_group out[Q1_GROUPS]) {
  const int64_t *quantity = l->quantity, *discount = l->discount, *tax = l->tax;
  const int64_t *flag = l->flag, *status = l->status, *ship = l->ship, *price = l->price;
  q1_group group[Q1_GROUPS];
  memset(group, 0, sizeof group);
  for (size_t i = 0; i < l->rows; i++) {
    int64_t mask = -(int64_t)(ship[i] <= last);
    q1_group *g = &group[flag[i] * Q1_STATUSES + status[i]];
    int64_t discounted = (price[i] * (100 - discount[i])) & mask;
    g->quantity += quantity[i] & mask;
    g->base += price[i] & mask;
    g->discounted += discounted;
    g->charged += discounted * (100 + tax[i]);
    g->discount += discount[i] & mask;
    g->rows -= mask;
  }
  memcpy(out, group, sizeof group);
}

int64_t scan_q6_wide_mask(const lineitem_wide *l) {
  const int64_t *quantity = l->quantity, *discount = l->discount;
  const int64_t *ship = l->ship, *price = l->price;
  int64_t sum = 0;
  for (size_t i = 0; i < l->rows; i++) {
    int in = (ship[i] >= Q6_FROM) & (ship[i] < Q6_TO) & (discount[i] >= Q6_DISCOUNT_LEAST) &
             (discount[i] <= Q6_DISCOUNT_MOST) & (quantity[i] < Q6_QUANTITY);
    sum += price[i] * discount[i] * in;
  }
  return sum;
}
