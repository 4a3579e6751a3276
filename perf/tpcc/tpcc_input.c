/* What the terminals ask for: clauses 2.4.1, 2.5.1, 2.6.1, 2.7.1, 2.8.1 and 5.2.3. */
#include <stdlib.h>
#include <string.h>

#include "perf/tpcc/tpcc.h"

const char *const tpcc_kind_names[TPCC_NKINDS] = {"new_order", "payment", "order_status",
                                                  "delivery", "stock_level"};

bool tpcc_terminals_open(tpcc_terminals *t, const tpcc_scale *scale, uint32_t terminals) {
  *t = (tpcc_terminals){.scale = *scale, .terminals = terminals, .at = 1};
  t->terminal = calloc(terminals, sizeof *t->terminal);
  if (!t->terminal)
    return false;
  tpcc_random first = {.state = scale->seed};
  uint32_t c_load = (uint32_t)tpcc_uniform(&first, 0, 255); /* as the loader drew it */
  first.state = scale->seed + 1;
  first.c_last = tpcc_c_for_run(&first, c_load);
  first.c_id = (uint32_t)tpcc_uniform(&first, 0, 1023);
  first.c_item = (uint32_t)tpcc_uniform(&first, 0, 8191);
  for (uint32_t i = 0; i < terminals; i++) {
    t->terminal[i] = first;
    t->terminal[i].state += (i + 1) * UINT64_C(0x632be59bd9b4e019);
  }
  return true;
}

void tpcc_terminals_close(tpcc_terminals *t) {
  free(t->terminal);
  t->terminal = NULL;
}

static int64_t customer(const tpcc_scale *s, tpcc_random *r) {
  return tpcc_nurand(r, 1023, r->c_id, 1, (int64_t)s->customers);
}

/* By name in six cases of ten. */
static void pick_customer(const tpcc_scale *s, tpcc_random *r, tpcc_request *q) {
  q->name[0] = 0;
  if (tpcc_uniform(r, 1, 100) > 60) {
    q->c = customer(s, r);
    return;
  }
  int64_t names = s->customers < TPCC_NAMES ? (int64_t)s->customers : TPCC_NAMES;
  q->c = 0;
  tpcc_last_name((uint32_t)tpcc_nurand(r, 255, r->c_last, 0, names - 1), q->name);
}

static int64_t other_warehouse(const tpcc_scale *s, tpcc_random *r, int64_t w) {
  int64_t other = tpcc_uniform(r, 1, (int64_t)s->warehouses - 1);
  return other >= w ? other + 1 : other;
}

static void make_new_order(const tpcc_scale *s, tpcc_random *r, tpcc_request *q) {
  q->d = tpcc_uniform(r, 1, TPCC_DISTRICTS);
  q->c = customer(s, r);
  q->n = tpcc_uniform(r, 5, TPCC_LINES);
  bool wrong = tpcc_uniform(r, 1, 100) == 1;
  for (int64_t i = 0; i < q->n; i++) {
    tpcc_line *l = &q->line[i];
    l->item = tpcc_nurand(r, 8191, r->c_item, 1, (int64_t)s->items);
    bool remote = tpcc_uniform(r, 1, 100) == 1 && s->warehouses > 1;
    l->supply = remote ? other_warehouse(s, r, q->w) : q->w;
    l->pieces = tpcc_uniform(r, 1, 10);
  }
  if (wrong)
    q->line[q->n - 1].item = (int64_t)s->items + 1;
}

static void make_payment(const tpcc_scale *s, tpcc_random *r, tpcc_request *q) {
  q->d = q->c_d = tpcc_uniform(r, 1, TPCC_DISTRICTS);
  q->c_w = q->w;
  if (tpcc_uniform(r, 1, 100) > 85 && s->warehouses > 1) {
    q->c_w = other_warehouse(s, r, q->w);
    q->c_d = tpcc_uniform(r, 1, TPCC_DISTRICTS);
  }
  pick_customer(s, r, q);
  q->value = tpcc_uniform(r, 100, 500000);
}

void tpcc_terminals_next(tpcc_terminals *t, tpcc_request *q) {
  tpcc_random *r = &t->terminal[t->next];
  const tpcc_scale *s = &t->scale;
  int64_t card = tpcc_uniform(r, 1, 100);
  memset(q, 0, sizeof *q);
  q->w = t->next % (int64_t)s->warehouses + 1;
  q->at = ++t->at;
  if (card <= 45) {
    q->kind = TPCC_NEW_ORDER;
    make_new_order(s, r, q);
  } else if (card <= 88) {
    q->kind = TPCC_PAYMENT;
    make_payment(s, r, q);
  } else if (card <= 92) {
    q->kind = TPCC_ORDER_STATUS;
    q->d = tpcc_uniform(r, 1, TPCC_DISTRICTS);
    pick_customer(s, r, q);
  } else if (card <= 96) {
    q->kind = TPCC_DELIVERY;
    q->value = tpcc_uniform(r, 1, 10);
  } else {
    q->kind = TPCC_STOCK_LEVEL;
    q->d = t->next / (int64_t)s->warehouses % TPCC_DISTRICTS + 1;
    q->value = tpcc_uniform(r, 10, 20);
  }
  t->next = (t->next + 1) % t->terminals;
}
