/* perf/tpcc/tpcc_sqlite.h - what the two files of SQLite's side share. */
#ifndef PURE_PERF_TPCC_SQLITE_H
#define PURE_PERF_TPCC_SQLITE_H

#include <sqlite3.h>

#include "perf/tpcc/tpcc.h"

typedef enum {
  ST_BEGIN,
  ST_COMMIT,
  ST_ROLLBACK,
  ST_WAREHOUSE_TAX,
  ST_DISTRICT_NEXT,
  ST_DISTRICT_STEP,
  ST_CUSTOMER_TERMS,
  ST_ADD_ORDER,
  ST_ADD_ORDER_OF,
  ST_ADD_NEW_ORDER,
  ST_ITEM,
  ST_STOCK, /* one for each district */
  ST_STOCK_SET = ST_STOCK + TPCC_DISTRICTS,
  ST_ADD_LINE,
  ST_WAREHOUSE_NAME,
  ST_WAREHOUSE_PAID,
  ST_DISTRICT_NAME,
  ST_DISTRICT_PAID,
  ST_NAME_COUNT,
  ST_NAME_MIDDLE,
  ST_PAYER,
  ST_PAYER_DATA,
  ST_PAYER_SET,
  ST_PAYER_SET_DATA,
  ST_ADD_HISTORY,
  ST_BUYER,
  ST_LAST_ORDER,
  ST_ORDER,
  ST_LINES,
  ST_OLDEST,
  ST_DELETE_NEW,
  ST_ORDER_CUSTOMER,
  ST_ORDER_CARRIER,
  ST_LINES_SUM,
  ST_LINES_DELIVERED,
  ST_BUYER_DELIVERED,
  ST_DISTRICT_NOW,
  ST_SHORT,
  SQLITE_NSTATEMENTS
} sqlite_statement;

extern const char *const sqlite_texts[SQLITE_NSTATEMENTS];

typedef struct {
  sqlite3 *db;
  sqlite3_stmt *st[SQLITE_NSTATEMENTS];
} sqlite_side;

/* Says what the connection has to say; always false. */
bool sqlite_report(tpcc_side *s);
/* Columns from `from` on of the present row. */
void sqlite_read(tpcc_answers *a, sqlite3_stmt *st, int from);
bool sqlite_run(tpcc_side *s, const tpcc_request *r);

#endif
