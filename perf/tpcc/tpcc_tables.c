#include "perf/tpcc/tpcc.h"

const tpcc_table tpcc_tables[TPCC_NTABLES] = {
    [TPCC_WAREHOUSES] = {"warehouses", 9, 1,
                         "w int, name text, street_1 text, street_2 text, city text, state text, "
                         "zip text, tax int, ytd int"},
    [TPCC_DISTRICT] = {"districts", 11, 2,
                       "w int, d int, name text, street_1 text, street_2 text, city text, state "
                       "text, zip text, tax int, ytd int, next int"},
    [TPCC_CUSTOMERS] = {"customers", 21, 3,
                        "w int, d int, c int, first text, middle text, last text, street_1 text, "
                        "street_2 text, city text, state text, zip text, phone text, since int, "
                        "credit text, credit_limit int, discount int, balance int, paid int, "
                        "payments int, deliveries int, data text"},
    [TPCC_BY_NAME] = {"names", 5, 5, "w int, d int, last text, first text, c int"},
    [TPCC_HISTORY] = {"history", 8, 0,
                      "c int, c_d int, c_w int, d int, w int, at int, amount int, data text"},
    [TPCC_ORDERS] = {"orders", 8, 3,
                     "w int, d int, o int, c int, at int, carrier int, lines int, all_local int"},
    [TPCC_ORDERS_OF] = {"orders_of", 4, 4, "w int, d int, c int, o int"},
    [TPCC_NEW_ORDERS] = {"new_orders", 3, 3, "w int, d int, o int"},
    [TPCC_ORDER_LINES] = {"order_lines", 10, 4,
                          "w int, d int, o int, line int, item int, supply int, delivered int, "
                          "pieces int, amount int, info text"},
    [TPCC_ITEMS] = {"items", 5, 1, "i int, image int, name text, price int, data text"},
    [TPCC_STOCK] = {"stock", 17, 2,
                    "w int, i int, quantity int, info_01 text, info_02 text, info_03 text, "
                    "info_04 text, info_05 text, info_06 text, info_07 text, info_08 text, "
                    "info_09 text, info_10 text, ytd int, orders int, remote int, data text"},
};
