/* A request as the arguments of its event or query. */
#include <string.h>

#include "perf/tpcc/tpcc.h"

static uint32_t new_order_arguments(const tpcc_request *q, pure_value *v) {
  uint32_t n = 0;
  v[n++] = pure_int(q->w);
  v[n++] = pure_int(q->d);
  v[n++] = pure_int(q->c);
  v[n++] = pure_int(q->at);
  v[n++] = pure_int(q->n);
  for (int i = 0; i < TPCC_LINES; i++) {
    v[n++] = pure_int(q->line[i].item);
    v[n++] = pure_int(q->line[i].supply);
    v[n++] = pure_int(q->line[i].pieces);
  }
  return n;
}

static uint32_t payment_arguments(const tpcc_request *q, pure_value *v) {
  v[0] = pure_int(q->w);
  v[1] = pure_int(q->d);
  v[2] = pure_int(q->c_w);
  v[3] = pure_int(q->c_d);
  v[4] = pure_int(q->c);
  v[5] = pure_text(q->name, strlen(q->name));
  v[6] = pure_int(q->value);
  v[7] = pure_int(q->at);
  return 8;
}

uint32_t tpcc_arguments(const tpcc_request *q, pure_value *v) {
  switch (q->kind) {
  case TPCC_NEW_ORDER:
    return new_order_arguments(q, v);
  case TPCC_PAYMENT:
    return payment_arguments(q, v);
  case TPCC_ORDER_STATUS:
    v[0] = pure_int(q->w);
    v[1] = pure_int(q->d);
    v[2] = pure_int(q->c);
    v[3] = pure_text(q->name, strlen(q->name));
    return 4;
  case TPCC_DELIVERY:
    v[0] = pure_int(q->w);
    v[1] = pure_int(q->value);
    v[2] = pure_int(q->at);
    return 3;
  case TPCC_STOCK_LEVEL:
  case TPCC_NKINDS:
    break;
  }
  v[0] = pure_int(q->w);
  v[1] = pure_int(q->d);
  v[2] = pure_int(q->value);
  return 3;
}
