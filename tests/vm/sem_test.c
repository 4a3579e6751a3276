/* Meanings of scalar instructions at the edges. */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "vm/vm_sem.h"

#define LEAST INT64_MIN
#define MOST INT64_MAX

/* got is read after end was computed. */
static void check_int(int end, const int64_t *got, int64_t expected) {
  ck_assert_int_eq(end, VM_FINE);
  ck_assert_int_eq(*got, expected);
}

START_TEST(ints_overflow) {
  int64_t a;
  check_int(vm_sem_iadd(MOST, LEAST, &a), &a, -1);
  check_int(vm_sem_iadd(MOST - 1, 1, &a), &a, MOST);
  ck_assert_int_eq(vm_sem_iadd(MOST, 1, &a), VM_FAULT_OVERFLOW);
  ck_assert_int_eq(vm_sem_iadd(LEAST, -1, &a), VM_FAULT_OVERFLOW);
  check_int(vm_sem_isub(-1, MOST, &a), &a, LEAST);
  ck_assert_int_eq(vm_sem_isub(0, LEAST, &a), VM_FAULT_OVERFLOW);
  ck_assert_int_eq(vm_sem_isub(-2, MOST, &a), VM_FAULT_OVERFLOW);
  check_int(vm_sem_imul(INT64_C(3037000499), INT64_C(3037000499), &a), &a,
            INT64_C(9223372030926249001));
  ck_assert_int_eq(vm_sem_imul(INT64_C(3037000500), INT64_C(3037000500), &a), VM_FAULT_OVERFLOW);
  ck_assert_int_eq(vm_sem_imul(LEAST, -1, &a), VM_FAULT_OVERFLOW);
  check_int(vm_sem_imul(LEAST, 1, &a), &a, LEAST);
  ck_assert_int_eq(vm_sem_ineg(LEAST, &a), VM_FAULT_OVERFLOW);
  check_int(vm_sem_ineg(MOST, &a), &a, -MOST);
  ck_assert_int_eq(vm_sem_iabs(LEAST, &a), VM_FAULT_OVERFLOW);
  check_int(vm_sem_iabs(-5, &a), &a, 5);
  check_int(vm_sem_iabs(5, &a), &a, 5);
}
END_TEST

START_TEST(ints_divide) {
  int64_t a;
  check_int(vm_sem_idiv(7, 2, &a), &a, 3);
  check_int(vm_sem_idiv(-7, 2, &a), &a, -3);
  check_int(vm_sem_idiv(7, -2, &a), &a, -3);
  check_int(vm_sem_idiv(-7, -2, &a), &a, 3);
  check_int(vm_sem_idiv(5, -1, &a), &a, -5);
  check_int(vm_sem_imod(7, 2, &a), &a, 1);
  check_int(vm_sem_imod(-7, 2, &a), &a, -1);
  check_int(vm_sem_imod(7, -2, &a), &a, 1);
  check_int(vm_sem_imod(-7, -2, &a), &a, -1);
  check_int(vm_sem_imod(LEAST, -1, &a), &a, 0);
  ck_assert_int_eq(vm_sem_idiv(LEAST, -1, &a), VM_FAULT_OVERFLOW);
  ck_assert_int_eq(vm_sem_idiv(1, 0, &a), VM_FAULT_DIV_ZERO);
  ck_assert_int_eq(vm_sem_imod(0, 0, &a), VM_FAULT_DIV_ZERO);
  check_int(vm_sem_idiv(LEAST, MOST, &a), &a, -1);
  check_int(vm_sem_imod(LEAST, MOST, &a), &a, -1);
}
END_TEST

START_TEST(reals_order) {
  ck_assert(isnan(vm_sem_rmin(NAN, 1)) && isnan(vm_sem_rmin(1, NAN)));
  ck_assert(isnan(vm_sem_rmax(NAN, 1)) && isnan(vm_sem_rmax(1, NAN)));
  ck_assert(signbit(vm_sem_rmin(0.0, -0.0)) && signbit(vm_sem_rmin(-0.0, 0.0)));
  ck_assert(!signbit(vm_sem_rmax(0.0, -0.0)) && !signbit(vm_sem_rmax(-0.0, 0.0)));
  ck_assert_double_eq(vm_sem_rmin(-INFINITY, 3), -INFINITY);
  ck_assert_double_eq(vm_sem_rmax(2, 3), 3);
  ck_assert_double_eq(vm_sem_rmin(2, 3), 2);
  ck_assert_double_eq(vm_sem_round(2.5), 3);
  ck_assert_double_eq(vm_sem_round(-2.5), -3);
  ck_assert_double_eq(vm_sem_round(0.49999999999999994), 0);
  ck_assert_double_eq(vm_sem_floor(-0.5), -1);
  ck_assert_double_eq(vm_sem_ceil(-1.5), -1);
  ck_assert_double_eq(vm_sem_trunc(-1.9), -1);
  ck_assert(isnan(vm_sem_sqrt(-1)));
  uint64_t bits;
  double nan = vm_sem_canonical(-NAN);
  memcpy(&bits, &nan, 8);
  ck_assert_uint_eq(bits, UINT64_C(0x7ff8000000000000));
  ck_assert_double_eq(vm_sem_canonical(-1.5), -1.5);
}
END_TEST

START_TEST(reals_convert) {
  int64_t a;
  check_int(vm_sem_int_real(-1.9, &a), &a, -1);
  check_int(vm_sem_int_real(-9223372036854775808.0, &a), &a, LEAST);
  check_int(vm_sem_int_real(9223372036854774784.0, &a), &a, INT64_C(9223372036854774784));
  ck_assert_int_eq(vm_sem_int_real(9223372036854775808.0, &a), VM_FAULT_CONVERSION);
  ck_assert_int_eq(vm_sem_int_real(-9223372036854777856.0, &a), VM_FAULT_CONVERSION);
  ck_assert_int_eq(vm_sem_int_real(NAN, &a), VM_FAULT_CONVERSION);
  ck_assert_int_eq(vm_sem_int_real(-INFINITY, &a), VM_FAULT_CONVERSION);
  ck_assert_double_eq(vm_sem_real_int(MOST), 9223372036854775808.0);
}
END_TEST

START_TEST(dates_add) {
  int64_t a;
  check_int(vm_sem_dadd(0, LS_DATE_MAX, &a), &a, LS_DATE_MAX);
  check_int(vm_sem_dadd(LS_DATE_MAX, -LS_DATE_MAX, &a), &a, 0);
  ck_assert_int_eq(vm_sem_dadd(0, -1, &a), VM_FAULT_OVERFLOW);
  ck_assert_int_eq(vm_sem_dadd(1, LS_DATE_MAX, &a), VM_FAULT_OVERFLOW);
  ck_assert_int_eq(vm_sem_dadd(1, MOST, &a), VM_FAULT_OVERFLOW);
  ck_assert_int_eq(vm_sem_dadd(1, LEAST, &a), VM_FAULT_OVERFLOW);
}
END_TEST

/* Day by day through the whole calendar, with the months' lengths counted another way. */
START_TEST(dates_calendar) {
  static const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  int64_t date = 0, back, y, m, d;
  for (int64_t year = 1; year <= 9999; year++) {
    bool leap = year % 400 == 0 || (year % 4 == 0 && year % 100 != 0);
    for (int month = 1; month <= 12; month++) {
      int length = lengths[month - 1] + (month == 2 && leap);
      for (int day = 1; day <= length; day++, date++) {
        vm_sem_civil(date, &y, &m, &d);
        if (y != year || m != month || d != day || vm_sem_date_ymd(y, m, d, &back) != VM_FINE ||
            back != date || vm_sem_weekday(date) != date % 7 + 1)
          ck_abort_msg("day %d of the calendar", (int)date);
      }
      ck_assert_int_eq(vm_sem_date_ymd(year, month, length + 1, &back), VM_FAULT_CONVERSION);
    }
  }
  ck_assert_int_eq(date - 1, LS_DATE_MAX);
  ck_assert_int_eq(vm_sem_date_ymd(0, 1, 1, &back), VM_FAULT_CONVERSION);
  ck_assert_int_eq(vm_sem_date_ymd(10000, 1, 1, &back), VM_FAULT_CONVERSION);
  ck_assert_int_eq(vm_sem_date_ymd(2000, 0, 1, &back), VM_FAULT_CONVERSION);
  ck_assert_int_eq(vm_sem_date_ymd(2000, 13, 1, &back), VM_FAULT_CONVERSION);
  ck_assert_int_eq(vm_sem_date_ymd(2000, 1, 0, &back), VM_FAULT_CONVERSION);
  ck_assert_int_eq(vm_sem_date_ymd(2000, 1, LEAST, &back), VM_FAULT_CONVERSION);
  /* a day whose weekday is known */
  ck_assert_int_eq(vm_sem_date_ymd(1998, 9, 2, &back), VM_FINE);
  ck_assert_int_eq(vm_sem_weekday(back), 3);
}
END_TEST

START_TEST(work_by_size) {
  ck_assert_uint_eq(vm_sem_text_work(7), 0);
  ck_assert_uint_eq(vm_sem_text_work(8), 1);
  ck_assert_uint_eq(vm_sem_sort_work(0), 0);
  ck_assert_uint_eq(vm_sem_sort_work(1), 1);
  ck_assert_uint_eq(vm_sem_sort_work(4), 12);
  ck_assert_uint_eq(vm_sem_sort_work(1000), 10000);
}
END_TEST

static int64_t builtin_int(vm_builtin f, int64_t x, int64_t y, int64_t z) {
  ls_val out, args[3] = {{.i = x}, {.i = y}, {.i = z}};
  ck_assert(vm_sem_builtin_scalar(f));
  ck_assert_int_eq(vm_sem_builtin(f, args, &out), VM_FINE);
  return out.i;
}

static double builtin_real(vm_builtin f, double x, double y) {
  ls_val out, args[2] = {{.r = x}, {.r = y}};
  ck_assert(vm_sem_builtin_scalar(f));
  ck_assert_int_eq(vm_sem_builtin(f, args, &out), VM_FINE);
  return out.r;
}

START_TEST(builtins_by_number) {
  ls_val out, least = {.i = LEAST};
  ck_assert_int_eq(builtin_int(VM_BIF_ABS_I, -3, 0, 0), 3);
  ck_assert_int_eq(vm_sem_builtin(VM_BIF_ABS_I, &least, &out), VM_FAULT_OVERFLOW);
  ck_assert_int_eq(builtin_int(VM_BIF_MIN_I, -3, 2, 0), -3);
  ck_assert_int_eq(builtin_int(VM_BIF_MAX_I, -3, 2, 0), 2);
  ck_assert_int_eq(builtin_int(VM_BIF_MIN_D, 3, 2, 0), 2);
  ck_assert_int_eq(builtin_int(VM_BIF_MAX_D, 3, 2, 0), 3);
  ck_assert_int_eq(builtin_int(VM_BIF_INT_B, 1, 0, 0), 1);
  ck_assert_int_eq(builtin_int(VM_BIF_DATE_YMD, 1, 1, 2), 1);
  ck_assert_int_eq(builtin_int(VM_BIF_YEAR, LS_DATE_MAX, 0, 0), 9999);
  ck_assert_int_eq(builtin_int(VM_BIF_MONTH, LS_DATE_MAX, 0, 0), 12);
  ck_assert_int_eq(builtin_int(VM_BIF_DAY, LS_DATE_MAX, 0, 0), 31);
  ck_assert_int_eq(builtin_int(VM_BIF_WEEKDAY, 6, 0, 0), 7);
  ck_assert_double_eq(builtin_real(VM_BIF_ABS_R, -2.5, 0), 2.5);
  ck_assert_double_eq(builtin_real(VM_BIF_MIN_R, 2, 1), 1);
  ck_assert_double_eq(builtin_real(VM_BIF_MAX_R, 2, 1), 2);
  ck_assert_double_eq(builtin_real(VM_BIF_SQRT, 9, 0), 3);
  ck_assert_double_eq(builtin_real(VM_BIF_FLOOR, 1.5, 0), 1);
  ck_assert_double_eq(builtin_real(VM_BIF_CEIL, 1.5, 0), 2);
  ck_assert_double_eq(builtin_real(VM_BIF_ROUND, 1.5, 0), 2);
  ck_assert_double_eq(builtin_real(VM_BIF_TRUNC, 1.5, 0), 1);
  ck_assert(!vm_sem_builtin_scalar(VM_BIF_TEXT_I));
  ck_assert(!vm_sem_builtin_scalar(VM_BIF_BYTES));
}
END_TEST

int main(void) {
  Suite *s = suite_create("sem");
  TCase *t = tcase_create("sem");
  tcase_add_test(t, ints_overflow);
  tcase_add_test(t, ints_divide);
  tcase_add_test(t, reals_order);
  tcase_add_test(t, reals_convert);
  tcase_add_test(t, dates_add);
  tcase_add_test(t, dates_calendar);
  tcase_add_test(t, work_by_size);
  tcase_add_test(t, builtins_by_number);
  suite_add_tcase(s, t);
  SRunner *r = srunner_create(s);
  srunner_run_all(r, CK_ENV);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
