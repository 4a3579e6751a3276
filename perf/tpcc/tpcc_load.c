/* The rows at the start: clause 4.3.3.1.  Scaled down, what is said there of 3000 customers holds
 * of as many as there are: 7 of 10 orders are delivered. */
#include <stdlib.h>
#include <string.h>

#include "perf/support/random.h"
#include "perf/tpcc/tpcc.h"

typedef struct {
  const tpcc_scale *scale;
  const tpcc_sink *sink;
  tpcc_random random;
  uint32_t ncells;
  char text[TPCC_MAX_COLUMNS][TPCC_TEXT];
  pure_value cells[TPCC_MAX_COLUMNS];
  uint32_t *order; /* customers of a district, shuffled */
} loader;

static void put_int(loader *l, int64_t v) { l->cells[l->ncells++] = pure_int(v); }

/* Where the next text goes; put_text puts it. */
static char *room(loader *l) { return l->text[l->ncells]; }

static void put_text(loader *l, size_t n) {
  l->cells[l->ncells] = pure_text(l->text[l->ncells], n);
  l->ncells++;
}

static void put_copy(loader *l, const char *text) {
  strcpy(room(l), text);
  put_text(l, strlen(text));
}

static void put_letters(loader *l, unsigned least, unsigned most) {
  put_text(l, tpcc_letters(&l->random, least, most, room(l)));
}

static bool send(loader *l, tpcc_table_id table) {
  bool fine =
      l->ncells == tpcc_tables[table].ncolumns && l->sink->row(l->sink->user, table, l->cells);
  l->ncells = 0;
  return fine;
}

static void put_address(loader *l) {
  put_letters(l, 10, 20);
  put_letters(l, 10, 20);
  put_letters(l, 10, 20);
  put_letters(l, 2, 2);
  char *zip = room(l);
  strcpy(zip + tpcc_digits(&l->random, 4, zip), "11111");
  put_text(l, 9);
}

/* 26 to 50 characters, one time in ten with ORIGINAL in them. */
static void put_data(loader *l) {
  char *data = room(l);
  size_t n = tpcc_letters(&l->random, 26, 50, data);
  if (tpcc_uniform(&l->random, 1, 10) == 1)
    memcpy(data + tpcc_uniform(&l->random, 0, (int64_t)n - 8), "ORIGINAL", 8);
  put_text(l, n);
}

static bool load_items(loader *l) {
  bool fine = true;
  for (int64_t i = 1; i <= (int64_t)l->scale->items && fine; i++) {
    put_int(l, i);
    put_int(l, tpcc_uniform(&l->random, 1, 10000));
    put_letters(l, 14, 24);
    put_int(l, tpcc_uniform(&l->random, 100, 10000));
    put_data(l);
    fine = send(l, TPCC_ITEMS);
  }
  return fine;
}

static bool load_stock(loader *l, int64_t w) {
  bool fine = true;
  for (int64_t i = 1; i <= (int64_t)l->scale->items && fine; i++) {
    put_int(l, w);
    put_int(l, i);
    put_int(l, tpcc_uniform(&l->random, 10, 100));
    for (int d = 0; d < TPCC_DISTRICTS; d++)
      put_letters(l, 24, 24);
    put_int(l, 0);
    put_int(l, 0);
    put_int(l, 0);
    put_data(l);
    fine = send(l, TPCC_STOCK);
  }
  return fine;
}

static bool load_customer(loader *l, int64_t w, int64_t d, int64_t c) {
  char first[20], last[20];
  tpcc_letters(&l->random, 8, 16, first);
  int64_t number =
      c <= TPCC_NAMES ? c - 1 : tpcc_nurand(&l->random, 255, l->random.c_last, 0, TPCC_NAMES - 1);
  tpcc_last_name((uint32_t)number, last);
  put_int(l, w);
  put_int(l, d);
  put_int(l, c);
  put_copy(l, first);
  put_copy(l, "OE");
  put_copy(l, last);
  put_address(l);
  put_text(l, tpcc_digits(&l->random, 16, room(l)));
  put_int(l, 0);
  put_copy(l, tpcc_uniform(&l->random, 1, 10) == 1 ? "BC" : "GC");
  put_int(l, 5000000);
  put_int(l, tpcc_uniform(&l->random, 0, 5000));
  put_int(l, -1000);
  put_int(l, 1000);
  put_int(l, 1);
  put_int(l, 0);
  put_letters(l, 300, 500);
  if (!send(l, TPCC_CUSTOMERS))
    return false;
  put_int(l, w);
  put_int(l, d);
  put_copy(l, last);
  put_copy(l, first);
  put_int(l, c);
  return send(l, TPCC_BY_NAME);
}

static bool load_history(loader *l, int64_t w, int64_t d, int64_t c) {
  put_int(l, c);
  put_int(l, d);
  put_int(l, w);
  put_int(l, d);
  put_int(l, w);
  put_int(l, 0);
  put_int(l, 1000);
  put_letters(l, 12, 24);
  return send(l, TPCC_HISTORY);
}

static bool load_lines(loader *l, int64_t w, int64_t d, int64_t o, int64_t n, bool delivered) {
  bool fine = true;
  for (int64_t line = 1; line <= n && fine; line++) {
    put_int(l, w);
    put_int(l, d);
    put_int(l, o);
    put_int(l, line);
    put_int(l, tpcc_uniform(&l->random, 1, (int64_t)l->scale->items));
    put_int(l, w);
    put_int(l, delivered);
    put_int(l, 5);
    put_int(l, delivered ? 0 : tpcc_uniform(&l->random, 1, 999999));
    put_letters(l, 24, 24);
    fine = send(l, TPCC_ORDER_LINES);
  }
  return fine;
}

static bool load_order(loader *l, int64_t w, int64_t d, int64_t o, int64_t c) {
  bool delivered = o <= (int64_t)l->scale->customers * 7 / 10;
  int64_t n = tpcc_uniform(&l->random, 5, TPCC_LINES);
  put_int(l, w);
  put_int(l, d);
  put_int(l, o);
  put_int(l, c);
  put_int(l, 1);
  put_int(l, delivered ? tpcc_uniform(&l->random, 1, 10) : 0);
  put_int(l, n);
  put_int(l, 1);
  if (!send(l, TPCC_ORDERS) || !load_lines(l, w, d, o, n, delivered))
    return false;
  put_int(l, w);
  put_int(l, d);
  put_int(l, c);
  put_int(l, o);
  if (!send(l, TPCC_ORDERS_OF))
    return false;
  if (delivered)
    return true;
  put_int(l, w);
  put_int(l, d);
  put_int(l, o);
  return send(l, TPCC_NEW_ORDERS);
}

static void shuffle(loader *l) {
  uint32_t n = (uint32_t)l->scale->customers;
  for (uint32_t i = 0; i < n; i++)
    l->order[i] = i + 1;
  for (uint32_t i = n; i > 1; i--) {
    uint32_t at = random_below(&l->random.state, i), was = l->order[i - 1];
    l->order[i - 1] = l->order[at];
    l->order[at] = was;
  }
}

static bool load_district(loader *l, int64_t w, int64_t d) {
  int64_t n = (int64_t)l->scale->customers;
  put_int(l, w);
  put_int(l, d);
  put_letters(l, 6, 10);
  put_address(l);
  put_int(l, tpcc_uniform(&l->random, 0, 2000));
  put_int(l, 1000 * n);
  put_int(l, n + 1);
  bool fine = send(l, TPCC_DISTRICT);
  for (int64_t c = 1; c <= n && fine; c++)
    fine = load_customer(l, w, d, c) && load_history(l, w, d, c);
  shuffle(l);
  for (int64_t o = 1; o <= n && fine; o++)
    fine = load_order(l, w, d, o, l->order[o - 1]);
  return fine;
}

static bool load_warehouse(loader *l, int64_t w) {
  put_int(l, w);
  put_letters(l, 6, 10);
  put_address(l);
  put_int(l, tpcc_uniform(&l->random, 0, 2000));
  put_int(l, 1000 * TPCC_DISTRICTS * (int64_t)l->scale->customers);
  bool fine = send(l, TPCC_WAREHOUSES) && load_stock(l, w);
  for (int64_t d = 1; d <= TPCC_DISTRICTS && fine; d++)
    fine = load_district(l, w, d);
  return fine;
}

bool tpcc_load(const tpcc_scale *scale, const tpcc_sink *sink) {
  loader *l = calloc(1, sizeof *l);
  uint32_t *order = calloc(scale->customers, sizeof *order);
  bool fine = l && order;
  if (fine) {
    *l = (loader){.scale = scale, .sink = sink, .order = order};
    l->random.state = scale->seed;
    l->random.c_last = (uint32_t)tpcc_uniform(&l->random, 0, 255);
    fine = load_items(l);
    for (int64_t w = 1; w <= (int64_t)scale->warehouses && fine; w++)
      fine = load_warehouse(l, w);
  }
  free(order);
  free(l);
  return fine;
}
