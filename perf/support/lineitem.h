/* perf/support/lineitem.h - generated rows like those of TPC-H's lineitem, in narrow columns, and
 * the scans over them in C.
 *
 * Money in cents, discounts and taxes in hundredths, days since 1970-01-01; flag 0 A, 1 N, 2 R;
 * status 0 F, 1 O.  The values follow the benchmark's rules as far as the two queries see them.
 */
#ifndef PURE_PERF_LINEITEM_H
#define PURE_PERF_LINEITEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
  size_t rows;
  uint8_t *quantity; /* 1 .. 50 */
  uint32_t *price;
  uint8_t *discount; /* 0 .. 10 */
  uint8_t *tax;      /* 0 .. 8 */
  uint8_t *flag;
  uint8_t *status;
  uint16_t *ship;
} lineitem;

/* The same rows for the same numbers on every machine.  False: no memory. */
bool lineitem_make(lineitem *l, size_t rows, uint64_t seed);
void lineitem_free(lineitem *l);

enum { Q1_FLAGS = 3, Q1_STATUSES = 2, Q1_GROUPS = Q1_FLAGS * Q1_STATUSES };
#define Q1_LAST 10471       /* 1998-09-02 */
#define Q6_FROM 8766        /* 1994-01-01 */
#define Q6_TO 9131          /* 1995-01-01, not included */
#define Q6_DISCOUNT_LEAST 5 /* both included */
#define Q6_DISCOUNT_MOST 7
#define Q6_QUANTITY 24 /* not included */

/* Sums of one group; the averages are made of them. */
typedef struct {
  int64_t quantity, base, discounted, charged, discount, rows;
} q1_group;

/* out: flag * Q1_STATUSES + status. */
void scan_q1(const lineitem *l, uint16_t last, q1_group out[Q1_GROUPS]);
int64_t scan_q6(const lineitem *l);

/* The same rows with every cell 8 bytes wide, as one has them who never thinks of widths. */
typedef struct {
  size_t rows;
  int64_t *quantity, *price, *discount, *tax, *flag, *status, *ship;
} lineitem_wide;

/* False: no memory. */
bool lineitem_widen(lineitem_wide *w, const lineitem *l);
void lineitem_wide_free(lineitem_wide *w);

/* The scans by hand, over narrow or wide columns, with a jump or with a mask for each row that does
 * not count. */
typedef enum { SCAN_NARROW, SCAN_WIDE, SCAN_NARROW_MASK, SCAN_WIDE_MASK, SCAN_FORMS } scan_form;
extern const char *const scan_names[SCAN_FORMS];
void scan_q1_wide(const lineitem_wide *l, int64_t last, q1_group out[Q1_GROUPS]);
int64_t scan_q6_wide(const lineitem_wide *l);
void scan_q1_mask(const lineitem *l, uint16_t last, q1_group out[Q1_GROUPS]);
int64_t scan_q6_mask(const lineitem *l);
void scan_q1_wide_mask(const lineitem_wide *l, int64_t last, q1_group out[Q1_GROUPS]);
int64_t scan_q6_wide_mask(const lineitem_wide *l);

/* The compiler of all, and what it was told. */
extern const char *const scan_compiler;

#endif
