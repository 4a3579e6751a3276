/* perf/tpcc/tpcc.h - TPC-C beside SQLite: what the files of this folder share.
 *
 *   tpcc_random.c   the specification's random numbers and texts
 *   tpcc_tables.c   the tables: names, columns, keys
 *   tpcc_load.c     the rows at the start, one after another, to whoever takes them
 *   tpcc_fill.c     the same into a store
 *   tpcc_input.c    what the terminals ask for
 *   tpcc_arguments.c   that, as arguments of a call
 *   tpcc_answer.c   what is compared of the answers
 *   tpcc_pure.c     a side: host/examples/tpcc.pure at one level
 *   tpcc_sqlite.c tpcc_sqlite_run.c   a side: SQLite in memory, prepared statements
 *   tpcc_report.c   what is printed
 *   tpcc.c          the command line, the race
 *
 * Requests are made apart from how they are sent: a request is plain numbers and a name.
 */
#ifndef PURE_PERF_TPCC_H
#define PURE_PERF_TPCC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pure/pure.h>

#include "perf/support/args.h"
#include "perf/support/race.h"

extern const char tpcc_tool[];

enum {
  TPCC_DISTRICTS = 10, /* of a warehouse */
  TPCC_NAMES = 1000,   /* last names */
  TPCC_LINES = 15,     /* of an order, at most */
  TPCC_MOST_ARGUMENTS = 5 + 3 * TPCC_LINES,
  TPCC_MAX_COLUMNS = 21,
  TPCC_TEXT = 512 /* bytes of the longest text, and some */
};

/* 3000 and 100000 by the specification. */
typedef struct {
  uint64_t warehouses, customers, items, seed;
} tpcc_scale;

/* Random numbers: clause 2.1.6 and 4.3.2 */

typedef struct {
  uint64_t state;
  uint32_t c_last, c_id, c_item; /* the constants C of NURand */
} tpcc_random;

/* From lo to hi, both included. */
int64_t tpcc_uniform(tpcc_random *r, int64_t lo, int64_t hi);
int64_t tpcc_nurand(tpcc_random *r, uint32_t a, uint32_t c, int64_t lo, int64_t hi);
/* The constant for last names while running, after the one while loading (clause 2.1.6.1). */
uint32_t tpcc_c_for_run(tpcc_random *r, uint32_t c_load);
/* Texts are 0-terminated; lengths are returned. */
size_t tpcc_letters(tpcc_random *r, unsigned least, unsigned most, char *out);
size_t tpcc_digits(tpcc_random *r, unsigned n, char *out);
size_t tpcc_last_name(uint32_t number, char *out);

/* Tables */

typedef struct {
  const char *name;
  uint32_t ncolumns, nkeys; /* keys: the first columns */
  const char *columns;      /* "w int, name text, ..": int and text mean the same everywhere */
} tpcc_table;

typedef enum {
  TPCC_WAREHOUSES,
  TPCC_DISTRICT,
  TPCC_CUSTOMERS,
  TPCC_BY_NAME,
  TPCC_HISTORY,
  TPCC_ORDERS,
  TPCC_ORDERS_OF,
  TPCC_NEW_ORDERS,
  TPCC_ORDER_LINES,
  TPCC_ITEMS,
  TPCC_STOCK,
  TPCC_NTABLES
} tpcc_table_id;

extern const tpcc_table tpcc_tables[TPCC_NTABLES];

/* Loading */

typedef struct {
  void *user;
  /* A row in the order of the columns; false stops. */
  bool (*row)(void *user, tpcc_table_id table, const pure_value *cells);
} tpcc_sink;

/* Every row of every table, the same for the same scale. */
bool tpcc_load(const tpcc_scale *scale, const tpcc_sink *sink);
/* The same into the lists of a store of tpcc.pure. */
bool tpcc_fill(pure_store *store, const tpcc_scale *scale, pure_error *error);

/* Requests */

typedef enum {
  TPCC_NEW_ORDER,
  TPCC_PAYMENT,
  TPCC_ORDER_STATUS,
  TPCC_DELIVERY,
  TPCC_STOCK_LEVEL,
  TPCC_NKINDS
} tpcc_kind;

extern const char *const tpcc_kind_names[TPCC_NKINDS]; /* as in tpcc.pure */

typedef struct {
  int64_t item, supply, pieces;
} tpcc_line;

typedef struct {
  tpcc_kind kind;
  int64_t w, d, c;  /* c 0: by name */
  int64_t c_w, c_d; /* payment: of the customer */
  int64_t at;       /* time */
  int64_t n;        /* new order: lines */
  int64_t value;    /* amount, carrier, or least stock */
  char name[20];    /* of the customer, or "" */
  tpcc_line line[TPCC_LINES];
} tpcc_request;

typedef struct {
  tpcc_scale scale;
  uint32_t terminals, next;
  int64_t at;
  tpcc_random *terminal;
} tpcc_terminals;

/* false: no memory. */
bool tpcc_terminals_open(tpcc_terminals *t, const tpcc_scale *scale, uint32_t terminals);
void tpcc_terminals_close(tpcc_terminals *t);
/* Of the terminals in turn. */
void tpcc_terminals_next(tpcc_terminals *t, tpcc_request *out);
/* How many arguments; texts are those of the request. */
uint32_t tpcc_arguments(const tpcc_request *q, pure_value *v);

/* Answers */

/* Of all answers of a side so far, as a client reads them; sides that agree have equal ones. */
typedef struct {
  uint64_t hash;
  uint64_t done[TPCC_NKINDS];
  uint64_t undone; /* new orders taken back */
} tpcc_answers;

static inline void tpcc_answer_int(tpcc_answers *a, int64_t v) {
  a->hash = (a->hash ^ (uint64_t)v) * UINT64_C(0x9e3779b97f4a7c15);
}
void tpcc_answer_text(tpcc_answers *a, const char *bytes, size_t n);

/* Sides */

typedef struct tpcc_side tpcc_side;
struct tpcc_side {
  char name[24];
  tpcc_answers answers;
  void *data;
  bool (*open)(tpcc_side *s, const tpcc_scale *scale);
  void (*close)(tpcc_side *s);
  bool (*run)(tpcc_side *s, const tpcc_request *q);
  /* All rows of a table in the order of its key (of their coming, where it has none): their hash.
   */
  bool (*hash)(tpcc_side *s, tpcc_table_id table, uint64_t *out);
  /* Work charged so far, and the store's digest; 0 where there is none. */
  uint64_t (*work)(tpcc_side *s);
  uint64_t (*digest)(tpcc_side *s);
  /* Rows that breach a condition, 1 to 12; NULL: does not tell. */
  bool (*breaches)(tpcc_side *s, uint32_t condition, uint64_t *out);
  /* Which tiers its handlers are at, to standard output; or NULL. */
  void (*tell)(tpcc_side *s);
};

tpcc_side tpcc_pure_side(pure_jit jit);
tpcc_side tpcc_sqlite_side(void);

/* Says so on standard error; always false. */
bool tpcc_complain(const tpcc_side *s, const char *what);

#endif
