/* vm/vm_sem.h - what each instruction means, once.
 *
 * Interpreter, step, constant folding and compiled code call these functions or are tested
 * against them.  Those that may fault return a fault kind and leave the result alone (it may be an
 * operand, which the message of the fault tells), or VM_FINE with the result set.
 * Operands and results are values of registers: an int, a date (days), a bool (0 or 1) as int64,
 * a real as double.  Texts are in vm_text.h.
 */
#ifndef PURE_VM_SEM_H
#define PURE_VM_SEM_H

#include <math.h>
#include <string.h>

#include "vm/vm_module.h"

#define VM_FINE (-1)

/* Ints */

static inline int vm_sem_iadd(int64_t b, int64_t c, int64_t *a) {
  int64_t sum;
  if (__builtin_add_overflow(b, c, &sum))
    return VM_FAULT_OVERFLOW;
  *a = sum;
  return VM_FINE;
}

static inline int vm_sem_isub(int64_t b, int64_t c, int64_t *a) {
  int64_t difference;
  if (__builtin_sub_overflow(b, c, &difference))
    return VM_FAULT_OVERFLOW;
  *a = difference;
  return VM_FINE;
}

static inline int vm_sem_imul(int64_t b, int64_t c, int64_t *a) {
  int64_t product;
  if (__builtin_mul_overflow(b, c, &product))
    return VM_FAULT_OVERFLOW;
  *a = product;
  return VM_FINE;
}

/* Truncates towards zero. */
static inline int vm_sem_idiv(int64_t b, int64_t c, int64_t *a) {
  if (c == 0)
    return VM_FAULT_DIV_ZERO;
  if (c == -1)
    return vm_sem_isub(0, b, a);
  *a = b / c;
  return VM_FINE;
}

/* Has the sign of b; b % -1 is 0 for every b, also the smallest, which the processor traps. */
static inline int vm_sem_imod(int64_t b, int64_t c, int64_t *a) {
  if (c == 0)
    return VM_FAULT_DIV_ZERO;
  *a = c == -1 ? 0 : b % c;
  return VM_FINE;
}

static inline int vm_sem_ineg(int64_t b, int64_t *a) { return vm_sem_isub(0, b, a); }

static inline int vm_sem_iabs(int64_t b, int64_t *a) {
  if (b < 0)
    return vm_sem_isub(0, b, a);
  *a = b;
  return VM_FINE;
}

/* Reals: IEEE double, each operation rounded once */

static inline double vm_sem_radd(double b, double c) { return b + c; }
static inline double vm_sem_rsub(double b, double c) { return b - c; }
static inline double vm_sem_rmul(double b, double c) { return b * c; }
static inline double vm_sem_rdiv(double b, double c) { return b / c; }
static inline double vm_sem_rneg(double b) { return -b; }
static inline double vm_sem_rabs(double b) { return fabs(b); }
static inline double vm_sem_sqrt(double b) { return sqrt(b); }
static inline double vm_sem_floor(double b) { return floor(b); }
static inline double vm_sem_ceil(double b) { return ceil(b); }
static inline double vm_sem_round(double b) { return round(b); } /* halves away from zero */
static inline double vm_sem_trunc(double b) { return trunc(b); }

static inline double vm_sem_rmin(double b, double c) {
  if (b != b || c != c)
    return b + c;
  if (b == c)
    return signbit(b) ? b : c;
  return b < c ? b : c;
}

static inline double vm_sem_rmax(double b, double c) {
  if (b != b || c != c)
    return b + c;
  if (b == c)
    return signbit(b) ? c : b;
  return b > c ? b : c;
}

/* Processors make NaNs of different sign and payload.  No instruction tells them apart; where a
 * real leaves the VM (results, host arguments, stored cells) it is this one. */
static inline double vm_sem_canonical(double b) {
  const uint64_t nan_bits = UINT64_C(0x7ff8000000000000);
  if (b != b)
    memcpy(&b, &nan_bits, sizeof b);
  return b;
}

/* Dates: days from 0001-01-01, a Monday */

static inline int vm_sem_dadd(int64_t b, int64_t c, int64_t *a) {
  int64_t sum;
  if (__builtin_add_overflow(b, c, &sum) || sum < 0 || sum > LS_DATE_MAX)
    return VM_FAULT_OVERFLOW;
  *a = sum;
  return VM_FINE;
}

static inline int64_t vm_sem_ddiff(int64_t b, int64_t c) { return b - c; }
static inline int64_t vm_sem_weekday(int64_t date) { return date % 7 + 1; }

static inline bool vm_sem_leap(int64_t y) { return y % 4 == 0 && (y % 100 != 0 || y % 400 == 0); }

/* Days before the first of a month in a year that is no leap year. */
static inline int64_t vm_sem_days_before(int64_t month) {
  static const int16_t days[13] = {0, 0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
  return days[month];
}

static inline int vm_sem_date_ymd(int64_t y, int64_t m, int64_t d, int64_t *a) {
  if (y < 1 || y > 9999 || m < 1 || m > 12 || d < 1 || d > 31)
    return VM_FAULT_CONVERSION;
  int64_t leap = vm_sem_leap(y);
  int64_t first = vm_sem_days_before(m) + (m > 2 ? leap : 0);
  int64_t next = m == 12 ? first + 31 : vm_sem_days_before(m + 1) + (m >= 2 ? leap : 0);
  if (first + d > next)
    return VM_FAULT_CONVERSION;
  int64_t before = y - 1;
  *a = before * 365 + before / 4 - before / 100 + before / 400 + first + d - 1;
  return VM_FINE;
}

/* The calendar day of a date in 0 .. LS_DATE_MAX. */
static inline void vm_sem_civil(int64_t date, int64_t *y, int64_t *m, int64_t *d) {
  /* Whole cycles of 400, 100, 4 and 1 years; the last day of a cycle that ends in a leap year
   * would count as a fifth century or a fifth year, hence the two corrections. */
  int64_t n400 = date / 146097, rest = date % 146097;
  int64_t n100 = rest / 36524 - rest / 146096;
  rest -= n100 * 36524;
  int64_t n4 = rest / 1461;
  rest %= 1461;
  int64_t n1 = rest / 365 - rest / 1460;
  rest -= n1 * 365;
  *y = n400 * 400 + n100 * 100 + n4 * 4 + n1 + 1;
  int64_t leap = vm_sem_leap(*y);
  int64_t month = 12;
  while (rest < vm_sem_days_before(month) + (month > 2 ? leap : 0))
    month--;
  *m = month;
  *d = rest - vm_sem_days_before(month) - (month > 2 ? leap : 0) + 1;
}

/* Conversions */

static inline double vm_sem_real_int(int64_t b) { return (double)b; }

static inline int vm_sem_int_real(double b, int64_t *a) {
  /* Both bounds are exact doubles; NaN fails both tests. */
  if (!(b >= -9223372036854775808.0 && b < 9223372036854775808.0))
    return VM_FAULT_CONVERSION;
  *a = (int64_t)b;
  return VM_FINE;
}

/* Work charged by size, on top of an instruction's fixed cost */

static inline uint64_t vm_sem_text_work(uint64_t bytes) { return bytes / 8; }

static inline uint64_t vm_sem_sort_work(uint64_t count) {
  return count == 0 ? 0 : count * (uint64_t)(64 - __builtin_clzll(count));
}

#define VM_TEXT_CHARGE 16u  /* memory charged for a new text, besides its bytes */
#define VM_FRAME_CHARGE 64u /* for a call inside another, besides 8 bytes a register and list */
#define VM_LIST_CHARGE 256u /* for each local list of such a call, besides 8 bytes a column */

/* A builtin whose arguments and result are no texts: VM_FINE or a fault kind. */
int vm_sem_builtin(vm_builtin f, const ls_val *args, ls_val *out);
/* Whether it is one. */
bool vm_sem_builtin_scalar(vm_builtin f);

#endif
