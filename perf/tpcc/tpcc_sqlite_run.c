/* The five transactions as a C program has them: statements prepared once, answers read by
 * column. */
#include <stdio.h>
#include <string.h>

#include "perf/tpcc/tpcc_sqlite.h"

#define STOCK(n) "select quantity, data, info_" n " from stock where w = ?1 and i = ?2"

const char *const sqlite_texts[SQLITE_NSTATEMENTS] = {
    [ST_BEGIN] = "begin",
    [ST_COMMIT] = "commit",
    [ST_ROLLBACK] = "rollback",
    [ST_WAREHOUSE_TAX] = "select tax from warehouses where w = ?1",
    [ST_DISTRICT_NEXT] = "select tax, next from districts where w = ?1 and d = ?2",
    [ST_DISTRICT_STEP] = "update districts set next = next + 1 where w = ?1 and d = ?2",
    [ST_CUSTOMER_TERMS] =
        "select last, credit, discount from customers where w = ?1 and d = ?2 and c = ?3",
    [ST_ADD_ORDER] = "insert into orders values (?1, ?2, ?3, ?4, ?5, 0, ?6, ?7)",
    [ST_ADD_ORDER_OF] = "insert into orders_of values (?1, ?2, ?3, ?4)",
    [ST_ADD_NEW_ORDER] = "insert into new_orders values (?1, ?2, ?3)",
    [ST_ITEM] = "select name, price, data from items where i = ?1",
    [ST_STOCK] = STOCK("01"),
    [ST_STOCK + 1] = STOCK("02"),
    [ST_STOCK + 2] = STOCK("03"),
    [ST_STOCK + 3] = STOCK("04"),
    [ST_STOCK + 4] = STOCK("05"),
    [ST_STOCK + 5] = STOCK("06"),
    [ST_STOCK + 6] = STOCK("07"),
    [ST_STOCK + 7] = STOCK("08"),
    [ST_STOCK + 8] = STOCK("09"),
    [ST_STOCK + 9] = STOCK("10"),
    [ST_STOCK_SET] = "update stock set quantity = ?3, ytd = ytd + ?4, orders = orders + 1, "
                     "remote = remote + ?5 where w = ?1 and i = ?2",
    [ST_ADD_LINE] = "insert into order_lines values (?1, ?2, ?3, ?4, ?5, ?6, 0, ?7, ?8, ?9)",
    [ST_WAREHOUSE_NAME] = "select name from warehouses where w = ?1",
    [ST_WAREHOUSE_PAID] = "update warehouses set ytd = ytd + ?2 where w = ?1",
    [ST_DISTRICT_NAME] = "select name from districts where w = ?1 and d = ?2",
    [ST_DISTRICT_PAID] = "update districts set ytd = ytd + ?3 where w = ?1 and d = ?2",
    [ST_NAME_COUNT] = "select count(*) from names where w = ?1 and d = ?2 and last = ?3",
    [ST_NAME_MIDDLE] = "select c from names where w = ?1 and d = ?2 and last = ?3 "
                       "order by first, c limit 1 offset ?4",
    [ST_PAYER] =
        "select first, middle, last, phone, since, credit, credit_limit, discount, balance "
        "from customers where w = ?1 and d = ?2 and c = ?3",
    [ST_PAYER_DATA] = "select data from customers where w = ?1 and d = ?2 and c = ?3",
    [ST_PAYER_SET] = "update customers set balance = balance - ?4, paid = paid + ?4, payments = "
                     "payments + 1 where w = ?1 and d = ?2 and c = ?3",
    [ST_PAYER_SET_DATA] = "update customers set balance = balance - ?4, paid = paid + ?4, payments "
                          "= payments + 1, data = ?5 where w = ?1 and d = ?2 and c = ?3",
    [ST_ADD_HISTORY] = "insert into history values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    [ST_BUYER] = "select first, middle, last, balance from customers where w = ?1 and d = ?2 and c "
                 "= ?3",
    [ST_LAST_ORDER] = "select o from orders_of where w = ?1 and d = ?2 and c = ?3 order by o desc "
                      "limit 1",
    [ST_ORDER] = "select at, carrier from orders where w = ?1 and d = ?2 and o = ?3",
    [ST_LINES] = "select item, supply, pieces, amount, delivered from order_lines where w = ?1 and "
                 "d = ?2 and o = ?3 order by line",
    [ST_OLDEST] = "select o from new_orders where w = ?1 and d = ?2 order by o limit 1",
    [ST_DELETE_NEW] = "delete from new_orders where w = ?1 and d = ?2 and o = ?3",
    [ST_ORDER_CUSTOMER] = "select c from orders where w = ?1 and d = ?2 and o = ?3",
    [ST_ORDER_CARRIER] = "update orders set carrier = ?4 where w = ?1 and d = ?2 and o = ?3",
    [ST_LINES_SUM] = "select sum(amount) from order_lines where w = ?1 and d = ?2 and o = ?3",
    [ST_LINES_DELIVERED] = "update order_lines set delivered = ?4 where w = ?1 and d = ?2 and o = "
                           "?3",
    [ST_BUYER_DELIVERED] = "update customers set balance = balance + ?4, deliveries = deliveries + "
                           "1 where w = ?1 and d = ?2 and c = ?3",
    [ST_DISTRICT_NOW] = "select next from districts where w = ?1 and d = ?2",
    [ST_SHORT] = "select count(distinct stock.i) from order_lines join stock on stock.w = ?1 and "
                 "stock.i = order_lines.item where order_lines.w = ?1 and d = ?2 and o between ?3 "
                 "and ?4 and quantity < ?5",
};

void sqlite_read(tpcc_answers *a, sqlite3_stmt *st, int from) {
  int n = sqlite3_column_count(st);
  for (int c = from; c < n; c++) {
    if (sqlite3_column_type(st, c) == SQLITE_TEXT)
      tpcc_answer_text(a, (const char *)sqlite3_column_text(st, c),
                       (size_t)sqlite3_column_bytes(st, c));
    else
      tpcc_answer_int(a, sqlite3_column_int64(st, c));
  }
}

/* The statement with its first numbers bound. */
static sqlite3_stmt *bind(tpcc_side *s, unsigned which, int n, const int64_t *v) {
  sqlite3_stmt *st = ((sqlite_side *)s->data)->st[which];
  for (int i = 0; i < n; i++)
    sqlite3_bind_int64(st, i + 1, v[i]);
  return st;
}
#define BIND(s, which, ...)                                                                        \
  bind(s, which, (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)),                        \
       (const int64_t[]){__VA_ARGS__})

static bool done(tpcc_side *s, sqlite3_stmt *st) {
  int code = sqlite3_step(st);
  sqlite3_reset(st);
  return code == SQLITE_DONE || sqlite_report(s);
}

/* A row is there; the caller reads it and then resets. */
static bool row(sqlite3_stmt *st) { return sqlite3_step(st) == SQLITE_ROW; }

static bool number(tpcc_side *s, sqlite3_stmt *st, int64_t *out) {
  bool fine = row(st);
  *out = fine ? sqlite3_column_int64(st, 0) : 0;
  sqlite3_reset(st);
  return fine || sqlite_report(s);
}

static bool plain(tpcc_side *s, unsigned which) {
  return done(s, ((sqlite_side *)s->data)->st[which]);
}

/* New order */

typedef struct {
  int64_t o, tax_w, tax_d, discount, sum;
  char last[20], credit[4];
} order;

static void copy_text(char *out, size_t n, sqlite3_stmt *st, int column) {
  snprintf(out, n, "%s", (const char *)sqlite3_column_text(st, column));
}

static bool begin_order(tpcc_side *s, const tpcc_request *r, order *k) {
  int64_t all_local = 1;
  for (int64_t i = 0; i < r->n; i++)
    all_local &= r->line[i].supply == r->w;
  sqlite3_stmt *st = BIND(s, ST_DISTRICT_NEXT, r->w, r->d);
  if (!number(s, BIND(s, ST_WAREHOUSE_TAX, r->w), &k->tax_w) || !row(st))
    return sqlite_report(s);
  k->tax_d = sqlite3_column_int64(st, 0);
  k->o = sqlite3_column_int64(st, 1);
  sqlite3_reset(st);
  st = BIND(s, ST_CUSTOMER_TERMS, r->w, r->d, r->c);
  if (!done(s, BIND(s, ST_DISTRICT_STEP, r->w, r->d)) || !row(st))
    return sqlite_report(s);
  copy_text(k->last, sizeof k->last, st, 0);
  copy_text(k->credit, sizeof k->credit, st, 1);
  k->discount = sqlite3_column_int64(st, 2);
  sqlite3_reset(st);
  return done(s, BIND(s, ST_ADD_ORDER, r->w, r->d, k->o, r->c, r->at, r->n, all_local)) &&
         done(s, BIND(s, ST_ADD_ORDER_OF, r->w, r->d, r->c, k->o)) &&
         done(s, BIND(s, ST_ADD_NEW_ORDER, r->w, r->d, k->o));
}

typedef struct {
  int64_t quantity, price, amount;
  bool both;
  sqlite3_stmt *item, *stock; /* at their rows */
} line_state;

static bool write_line(tpcc_side *s, const tpcc_request *r, const order *k, int64_t i,
                       const line_state *v) {
  const tpcc_line *l = &r->line[i];
  sqlite3_stmt *st =
      BIND(s, ST_ADD_LINE, r->w, r->d, k->o, i + 1, l->item, l->supply, l->pieces, v->amount);
  sqlite3_bind_text(st, 9, (const char *)sqlite3_column_text(v->stock, 2),
                    sqlite3_column_bytes(v->stock, 2), SQLITE_STATIC);
  return done(s, st) && done(s, BIND(s, ST_STOCK_SET, l->supply, l->item, v->quantity, l->pieces,
                                     l->supply != r->w));
}

static void answer_line(tpcc_side *s, const order *k, int64_t i, const line_state *v) {
  tpcc_answers *a = &s->answers;
  tpcc_answer_int(a, k->o);
  tpcc_answer_int(a, i + 1);
  tpcc_answer_text(a, (const char *)sqlite3_column_text(v->item, 0),
                   (size_t)sqlite3_column_bytes(v->item, 0));
  tpcc_answer_int(a, v->quantity);
  tpcc_answer_text(a, v->both ? "B" : "G", 1);
  tpcc_answer_int(a, v->price);
  tpcc_answer_int(a, v->amount);
  tpcc_answer_int(a, k->sum * ((10000 - k->discount) * (10000 + k->tax_w + k->tax_d)) / 100000000);
  tpcc_answer_text(a, k->last, strlen(k->last));
  tpcc_answer_text(a, k->credit, strlen(k->credit));
  tpcc_answer_int(a, k->discount);
  tpcc_answer_int(a, k->tax_w);
  tpcc_answer_int(a, k->tax_d);
}

static bool has_original(sqlite3_stmt *st, int column) {
  return strstr((const char *)sqlite3_column_text(st, column), "ORIGINAL") != NULL;
}

/* *found: the item is there. */
static bool order_line(tpcc_side *s, const tpcc_request *r, order *k, int64_t i, bool *found) {
  const tpcc_line *l = &r->line[i];
  line_state v = {.item = BIND(s, ST_ITEM, l->item)};
  *found = row(v.item);
  if (!*found) {
    sqlite3_reset(v.item);
    return true;
  }
  v.stock = BIND(s, ST_STOCK + (unsigned)r->d - 1, l->supply, l->item);
  bool fine = row(v.stock) || sqlite_report(s);
  if (fine) {
    int64_t rest = sqlite3_column_int64(v.stock, 0) - l->pieces;
    v.quantity = rest < 10 ? rest + 91 : rest;
    v.price = sqlite3_column_int64(v.item, 1);
    v.amount = l->pieces * v.price;
    v.both = has_original(v.item, 2) && has_original(v.stock, 1);
    k->sum += v.amount;
    fine = write_line(s, r, k, i, &v);
    answer_line(s, k, i, &v);
  }
  sqlite3_reset(v.stock);
  sqlite3_reset(v.item);
  return fine;
}

static bool new_order(tpcc_side *s, const tpcc_request *r) {
  order k = {0};
  bool found = true;
  uint64_t before = s->answers.hash;
  bool fine = begin_order(s, r, &k);
  for (int64_t i = 0; i < r->n && fine && found; i++)
    fine = order_line(s, r, &k, i, &found);
  if (!fine || found)
    return fine && plain(s, ST_COMMIT);
  s->answers.hash = before;
  s->answers.done[TPCC_NEW_ORDER]--;
  s->answers.undone++;
  return plain(s, ST_ROLLBACK);
}

/* Payment, order status */

static bool by_name(tpcc_side *s, int64_t w, int64_t d, const char *name, int64_t *c) {
  int64_t n;
  sqlite3_stmt *st = BIND(s, ST_NAME_COUNT, w, d);
  sqlite3_bind_text(st, 3, name, -1, SQLITE_STATIC);
  if (!number(s, st, &n))
    return false;
  st = BIND(s, ST_NAME_MIDDLE, w, d);
  sqlite3_bind_text(st, 3, name, -1, SQLITE_STATIC);
  sqlite3_bind_int64(st, 4, (n + 1) / 2 - 1);
  return number(s, st, c);
}

static bool copy_name(tpcc_side *s, sqlite3_stmt *st, char *out, size_t n) {
  bool fine = row(st);
  if (fine)
    copy_text(out, n, st, 0);
  sqlite3_reset(st);
  return fine || sqlite_report(s);
}

static bool new_data(tpcc_side *s, const tpcc_request *r, int64_t c, char *data, size_t room) {
  sqlite3_stmt *st = BIND(s, ST_PAYER_DATA, r->c_w, r->c_d, c);
  bool fine = row(st);
  if (fine)
    snprintf(data, room, "%lld %lld %lld %lld %lld %lld|%s", (long long)c, (long long)r->c_d,
             (long long)r->c_w, (long long)r->d, (long long)r->w, (long long)r->value,
             (const char *)sqlite3_column_text(st, 0));
  sqlite3_reset(st);
  return fine || sqlite_report(s);
}

static bool pay(tpcc_side *s, const tpcc_request *r, int64_t c) {
  sqlite3_stmt *st = BIND(s, ST_PAYER, r->c_w, r->c_d, c);
  if (!row(st))
    return sqlite_report(s);
  bool bad = strcmp((const char *)sqlite3_column_text(st, 5), "BC") == 0;
  char data[501] = "", shown[201];
  tpcc_answers *a = &s->answers;
  tpcc_answer_int(a, c);
  for (int column = 0; column < 8; column++)
    if (column == 4 || column > 5)
      tpcc_answer_int(a, sqlite3_column_int64(st, column));
    else
      tpcc_answer_text(a, (const char *)sqlite3_column_text(st, column),
                       (size_t)sqlite3_column_bytes(st, column));
  tpcc_answer_int(a, sqlite3_column_int64(st, 8) - r->value);
  sqlite3_reset(st);
  if (bad && !new_data(s, r, c, data, sizeof data))
    return false;
  snprintf(shown, sizeof shown, "%.200s", data);
  tpcc_answer_text(a, shown, strlen(shown));
  st = BIND(s, bad ? ST_PAYER_SET_DATA : ST_PAYER_SET, r->c_w, r->c_d, c, r->value);
  if (bad)
    sqlite3_bind_text(st, 5, data, -1, SQLITE_STATIC);
  return done(s, st);
}

static bool payment(tpcc_side *s, const tpcc_request *r) {
  int64_t c = r->c;
  char home[16], area[16], data[40];
  if (!done(s, BIND(s, ST_WAREHOUSE_PAID, r->w, r->value)) ||
      !done(s, BIND(s, ST_DISTRICT_PAID, r->w, r->d, r->value)) ||
      !copy_name(s, BIND(s, ST_WAREHOUSE_NAME, r->w), home, sizeof home) ||
      !copy_name(s, BIND(s, ST_DISTRICT_NAME, r->w, r->d), area, sizeof area) ||
      (c == 0 && !by_name(s, r->c_w, r->c_d, r->name, &c)) || !pay(s, r, c))
    return false;
  snprintf(data, sizeof data, "%s    %s", home, area);
  sqlite3_stmt *st = BIND(s, ST_ADD_HISTORY, c, r->c_d, r->c_w, r->d, r->w, r->at, r->value);
  sqlite3_bind_text(st, 8, data, -1, SQLITE_STATIC);
  return done(s, st) && plain(s, ST_COMMIT);
}

/* Rows of a line: customer and order stay at theirs meanwhile. */
static bool order_status(tpcc_side *s, const tpcc_request *r) {
  int64_t c = r->c, o;
  if ((c == 0 && !by_name(s, r->w, r->d, r->name, &c)) ||
      !number(s, BIND(s, ST_LAST_ORDER, r->w, r->d, c), &o))
    return false;
  sqlite3_stmt *buyer = BIND(s, ST_BUYER, r->w, r->d, c);
  sqlite3_stmt *order = BIND(s, ST_ORDER, r->w, r->d, o);
  sqlite3_stmt *lines = BIND(s, ST_LINES, r->w, r->d, o);
  bool fine = row(buyer) && row(order);
  while (fine && row(lines)) {
    tpcc_answer_int(&s->answers, c);
    sqlite_read(&s->answers, buyer, 0);
    tpcc_answer_int(&s->answers, o);
    sqlite_read(&s->answers, order, 0);
    sqlite_read(&s->answers, lines, 0);
  }
  sqlite3_reset(lines);
  sqlite3_reset(order);
  sqlite3_reset(buyer);
  return fine ? plain(s, ST_COMMIT) : sqlite_report(s);
}

/* Delivery, stock level */

static bool deliver(tpcc_side *s, const tpcc_request *r, int64_t d) {
  sqlite3_stmt *oldest = BIND(s, ST_OLDEST, r->w, d);
  bool found = row(oldest);
  int64_t o = found ? sqlite3_column_int64(oldest, 0) : 0, c, sum;
  sqlite3_reset(oldest);
  if (!found)
    return true;
  tpcc_answer_int(&s->answers, d);
  tpcc_answer_int(&s->answers, o);
  return done(s, BIND(s, ST_DELETE_NEW, r->w, d, o)) &&
         number(s, BIND(s, ST_ORDER_CUSTOMER, r->w, d, o), &c) &&
         done(s, BIND(s, ST_ORDER_CARRIER, r->w, d, o, r->value)) &&
         number(s, BIND(s, ST_LINES_SUM, r->w, d, o), &sum) &&
         done(s, BIND(s, ST_LINES_DELIVERED, r->w, d, o, r->at)) &&
         done(s, BIND(s, ST_BUYER_DELIVERED, r->w, d, c, sum));
}

static bool delivery(tpcc_side *s, const tpcc_request *r) {
  for (int64_t d = 1; d <= TPCC_DISTRICTS; d++)
    if (!deliver(s, r, d))
      return false;
  return plain(s, ST_COMMIT);
}

static bool stock_level(tpcc_side *s, const tpcc_request *r) {
  int64_t next, n;
  if (!number(s, BIND(s, ST_DISTRICT_NOW, r->w, r->d), &next) ||
      !number(s, BIND(s, ST_SHORT, r->w, r->d, next - 20, next - 1, r->value), &n))
    return false;
  tpcc_answer_int(&s->answers, n);
  return plain(s, ST_COMMIT);
}

bool sqlite_run(tpcc_side *s, const tpcc_request *r) {
  if (!plain(s, ST_BEGIN))
    return false;
  s->answers.done[r->kind]++;
  switch (r->kind) {
  case TPCC_NEW_ORDER:
    return new_order(s, r);
  case TPCC_PAYMENT:
    return payment(s, r);
  case TPCC_ORDER_STATUS:
    return order_status(s, r);
  case TPCC_DELIVERY:
    return delivery(s, r);
  case TPCC_STOCK_LEVEL:
  case TPCC_NKINDS:
    break;
  }
  return stock_level(s, r);
}
