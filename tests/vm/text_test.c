/* Numbers, dates and UTF-8 as bytes. */
#include <check.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vm/vm_sem.h"
#include "vm/vm_text.h"

static uint64_t state = UINT64_C(0x9e3779b97f4a7c15);
static uint64_t next_random(void) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}

static double real_of_bits(uint64_t bits) {
  double v;
  memcpy(&v, &bits, sizeof v);
  return v;
}

static void real_is(double v, const char *expected) {
  char out[VM_TEXT_NUMBER];
  size_t n = vm_text_from_real(v, out);
  ck_assert_msg(n == strlen(expected) && memcmp(out, expected, n) == 0, "%.*s, expected %s", (int)n,
                out, expected);
}

START_TEST(reals_look) {
  real_is(0, "0.0");
  real_is(-0.0, "-0.0");
  real_is(1, "1.0");
  real_is(-1.5, "-1.5");
  real_is(0.1, "0.1");
  real_is(0.1 + 0.2, "0.30000000000000004");
  real_is(100, "100.0");
  real_is(123456.75, "123456.75");
  real_is(1e-5, "0.00001");
  real_is(1.25e-6, "1.25e-6");
  real_is(9999999999999998, "9999999999999998.0");
  real_is(1e16, "10000000000000000.0");
  real_is(1e17, "1e17");
  real_is(1e21, "1e21");
  real_is(1e23, "1e23");
  real_is(123456789012345678.0, "1.2345678901234568e17");
  real_is(5e-324, "5e-324");
  real_is(2.2250738585072014e-308, "2.2250738585072014e-308");
  real_is(2.225073858507201e-308, "2.225073858507201e-308");
  real_is(1.7976931348623157e308, "1.7976931348623157e308");
  real_is(9007199254740992.0, "9007199254740992.0");
  real_is(2251799813685248.5, "2251799813685248.5");
  real_is(INFINITY, "inf");
  real_is(-INFINITY, "-inf");
  real_is(NAN, "nan");
  real_is(-NAN, "nan");
}
END_TEST

/* Digits of a formatted real without leading and trailing zeros. */
static int digits_of(const char *s) {
  int n = 0, zeros = 0;
  for (; *s && *s != 'e'; s++) {
    if (*s < '0' || *s > '9' || (n == 0 && *s == '0'))
      continue;
    n++;
    zeros = *s == '0' ? zeros + 1 : 0;
  }
  return n - zeros;
}

static int fewest_digits(double v) {
  char s[64];
  int n = 1;
  for (; n < 17; n++) {
    snprintf(s, sizeof s, "%.*e", n - 1, v);
    if (strtod(s, NULL) == v)
      break;
  }
  return n;
}

static void check_real(double v, bool count) {
  char s[VM_TEXT_NUMBER + 1];
  double back;
  if (v != v)
    return;
  size_t n = vm_text_from_real(v, s);
  s[n] = 0;
  if (!vm_text_to_real(s, n, &back) || back != v || signbit(back) != signbit(v) ||
      strtod(s, NULL) != v)
    ck_abort_msg("%a became %s", v, s);
  if (count && v != 0 && !isinf(v) && digits_of(s) > fewest_digits(v))
    ck_abort_msg("%a: %s has more digits than it needs", v, s);
}

START_TEST(reals_come_back) {
  for (int i = 0; i < 200000; i++) {
    uint64_t r = next_random();
    bool count = i % 20 == 0;
    check_real(real_of_bits(r), count);
    check_real((double)(int64_t)(r >> 16) / (double)(1 + (r & 0xffff)), count);
    check_real((double)(r % 1000000) / pow(10, (double)(r >> 60)), count);
    check_real((double)(int64_t)r, count);
  }
}
END_TEST

/* Powers of two, where the gap below is half the gap above, and their neighbours. */
START_TEST(reals_at_powers) {
  for (int e = -1074; e <= 1023; e++) {
    double v = ldexp(1, e);
    check_real(v, true);
    check_real(nextafter(v, 0), true);
    check_real(-nextafter(v, INFINITY), true);
  }
}
END_TEST

static void parses(const char *text) {
  double v = -1;
  ck_assert_msg(vm_text_to_real(text, strlen(text), &v), "%s", text);
  double expected = strtod(text, NULL);
  ck_assert_msg(v == expected || (v != v && expected != expected), "%s: %a", text, v);
}

START_TEST(reals_parse) {
  char s[128];
  for (int i = 0; i < 200000; i++) {
    int n = 0, whole = 1 + (int)(next_random() % 30), part = (int)(next_random() % 20);
    double v;
    while (whole--)
      s[n++] = (char)('0' + next_random() % 10);
    if (part)
      s[n++] = '.';
    while (part--)
      s[n++] = (char)('0' + next_random() % 10);
    if (next_random() & 1)
      n += snprintf(s + n, 16, "e%d", (int)(next_random() % 700) - 350);
    s[n] = 0;
    double expected = strtod(s, NULL);
    bool fits = vm_text_to_real(s, (size_t)n, &v);
    if (fits ? v != expected : !isinf(expected))
      ck_abort_msg("%s: %a, not %a", s, v, expected);
  }
}
END_TEST

START_TEST(reals_parse_edges) {
  /* exactly between two reals, and a hair off it */
  parses("9007199254740993");
  parses("9007199254740993.0000000000000000000000000000000001");
  parses("9007199254740992.9999999999999999999999999999999999");
  parses("1.7976931348623157e308");
  parses("1.797693134862315807e308");
  parses("4.9406564584124654e-324");
  parses("2.4703282292062327e-324");
  parses("2.4703282292062328e-324");
  parses("2.4703282292062327208299636e-324");
  parses("2.2250738585072011e-308");
  parses("0e999999999999999999999");
  parses("0.00000000000000000000000000000000000000000000000000000000000000000000001e71");
  parses("1e-9999999999999999999");
  parses("10E+2");
  parses("inf");
  parses("-inf");
  parses("nan");
  char halfway[900] = "2.";
  /* many digits beyond those kept decide: half of the smallest real, and just above it */
  memset(halfway + 2, '0', 850);
  memcpy(halfway + 852, "1e0", 4);
  parses(halfway);
  double v;
  static const char *const wrong[] = {"",     "-",     "+1",   ".5",    "5.",  "1e",  "1e+",
                                      " 1",   "1 ",    "1,5",  "0x10",  "1_0", "NaN", "infinity",
                                      "-nan", "1e400", "1.e5", "1e1.5", "--1", "1-",  "1e-"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    ck_assert_msg(!vm_text_to_real(wrong[i], strlen(wrong[i]), &v), "%s", wrong[i]);
}
END_TEST

START_TEST(locale_does_not_matter) {
  double v;
  const char *names[] = {"de_DE.UTF-8", "de_DE", "fr_FR.UTF-8", NULL};
  for (int i = 0; names[i] && !setlocale(LC_ALL, names[i]); i++)
    ;
  real_is(1.5, "1.5");
  ck_assert(vm_text_to_real("1.5", 3, &v) && v == 1.5);
  ck_assert(!vm_text_to_real("1,5", 3, &v));
  setlocale(LC_ALL, "C");
}
END_TEST

START_TEST(ints_both_ways) {
  static const struct {
    int64_t v;
    const char *s;
  } same[] = {{0, "0"},
              {-1, "-1"},
              {1234567890, "1234567890"},
              {INT64_MAX, "9223372036854775807"},
              {INT64_MIN, "-9223372036854775808"}};
  char out[VM_TEXT_NUMBER];
  int64_t v;
  for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
    size_t n = vm_text_from_int(same[i].v, out);
    ck_assert_uint_eq(n, strlen(same[i].s));
    ck_assert_mem_eq(out, same[i].s, n);
    ck_assert(vm_text_to_int(out, n, &v) && v == same[i].v);
  }
  ck_assert(vm_text_to_int("-007", 4, &v) && v == -7);
  static const char *const wrong[] = {"",
                                      "-",
                                      "+1",
                                      "1 ",
                                      " 1",
                                      "1.0",
                                      "0x1",
                                      "1e2",
                                      "--1",
                                      "a",
                                      "9223372036854775808",
                                      "-9223372036854775809",
                                      "99999999999999999999999"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    ck_assert_msg(!vm_text_to_int(wrong[i], strlen(wrong[i]), &v), "%s", wrong[i]);
}
END_TEST

START_TEST(dates_both_ways) {
  char out[VM_TEXT_NUMBER], last[11] = "";
  int64_t v;
  for (int64_t date = 0; date <= LS_DATE_MAX; date++) {
    size_t n = vm_text_from_date(date, out);
    out[n] = 0;
    if (n != 10 || strcmp(last, out) >= 0 || !vm_text_to_date(out, n, &v) || v != date)
      ck_abort_msg("%d: %s", (int)date, out);
    memcpy(last, out, 11);
  }
  ck_assert_str_eq(last, "9999-12-31");
  vm_text_from_date(0, out);
  ck_assert_mem_eq(out, "0001-01-01", 10);
  static const char *const wrong[] = {"1998-9-2",
                                      "1998-09-31",
                                      "1998-02-29",
                                      "1900-02-29",
                                      "0000-01-01",
                                      "1998/09/02",
                                      "1998-09-0x",
                                      "98-09-02",
                                      "1998-09-02 ",
                                      "-998-09-02",
                                      ""};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    ck_assert_msg(!vm_text_to_date(wrong[i], strlen(wrong[i]), &v), "%s", wrong[i]);
  ck_assert(vm_text_to_date("2000-02-29", 10, &v));
}
END_TEST

static size_t first_bad(const char *s) {
  size_t bad = SIZE_MAX;
  return vm_text_valid(s, strlen(s), &bad) ? SIZE_MAX : bad;
}

START_TEST(utf8_is_checked) {
  ck_assert_uint_eq(first_bad(""), SIZE_MAX);
  ck_assert_uint_eq(first_bad("plain ascii, longer than eight"), SIZE_MAX);
  ck_assert_uint_eq(first_bad("h\xc3\xa9llo \xe2\x82\xac \xf0\x9f\x98\x80"), SIZE_MAX);
  ck_assert_uint_eq(first_bad("\xef\xbf\xbf\xf4\x8f\xbf\xbf\xed\x9f\xbf\xee\x80\x80"), SIZE_MAX);
  ck_assert_uint_eq(first_bad("12345678\x80"), 8);      /* stray continuation */
  ck_assert_uint_eq(first_bad("a\xc0\x80"), 1);         /* overlong */
  ck_assert_uint_eq(first_bad("a\xe0\x9f\xbf"), 1);     /* overlong */
  ck_assert_uint_eq(first_bad("a\xf0\x8f\xbf\xbf"), 1); /* overlong */
  ck_assert_uint_eq(first_bad("a\xed\xa0\x80"), 1);     /* surrogate */
  ck_assert_uint_eq(first_bad("a\xf4\x90\x80\x80"), 1); /* past the end */
  ck_assert_uint_eq(first_bad("a\xf5\x80\x80\x80"), 1);
  ck_assert_uint_eq(first_bad("ab\xe2\x82"), 2); /* cut */
  ck_assert_uint_eq(first_bad("ab\xe2\x82z"), 2);
  for (size_t nul = 0; nul < 20; nul++) { /* in the part that is read eight at a time, and after */
    char text[20];
    size_t bad = SIZE_MAX;
    memset(text, nul % 2 ? 'a' : 0x7f, sizeof text);
    ck_assert(vm_text_valid(text, sizeof text, NULL));
    text[nul] = 0;
    ck_assert(!vm_text_valid(text, sizeof text, &bad));
    ck_assert_uint_eq(bad, nul);
  }
}
END_TEST

START_TEST(utf8_is_counted) {
  const char *s = "h\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z"; /* h é € 😀 z */
  size_t len = strlen(s), start, bytes;
  ck_assert_uint_eq(vm_text_count(s, len), 5);
  ck_assert_uint_eq(vm_text_offset(s, len, 0), 0);
  ck_assert_uint_eq(vm_text_offset(s, len, 2), 3);
  ck_assert_uint_eq(vm_text_offset(s, len, 4), 10);
  ck_assert_uint_eq(vm_text_offset(s, len, 5), len);
  ck_assert_uint_eq(vm_text_offset(s, len, UINT64_MAX), len);
  vm_text_slice(s, len, 1, 2, &start, &bytes);
  ck_assert_uint_eq(start, 1);
  ck_assert_uint_eq(bytes, 5);
  vm_text_slice(s, len, 3, 100, &start, &bytes);
  ck_assert_uint_eq(start, 6);
  ck_assert_uint_eq(bytes, 5);
  vm_text_slice(s, len, 9, 1, &start, &bytes);
  ck_assert_uint_eq(bytes, 0);
  static const size_t cut[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11};
  for (size_t n = 0; n <= len; n++)
    ck_assert_uint_eq(vm_text_cut(s, n), cut[n]);
}
END_TEST

START_TEST(texts_contain) {
  static const struct {
    const char *text, *needle;
    bool in;
  } cases[] = {{"", "", true},          {"abc", "", true},      {"", "a", false},
               {"abc", "abc", true},    {"abc", "abcd", false}, {"aaab", "aab", true},
               {"xyz", "z", true},      {"abab", "ba", true},   {"aaaa", "b", false},
               {"a needle", "e", true}, {"nee", "ned", false}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    ck_assert(vm_text_contains(cases[i].text, strlen(cases[i].text), cases[i].needle,
                               strlen(cases[i].needle)) == cases[i].in);
}
END_TEST

int main(void) {
  Suite *s = suite_create("text");
  TCase *t = tcase_create("text");
  tcase_add_test(t, reals_look);
  tcase_add_test(t, reals_come_back);
  tcase_add_test(t, reals_at_powers);
  tcase_add_test(t, reals_parse);
  tcase_add_test(t, reals_parse_edges);
  tcase_add_test(t, locale_does_not_matter);
  tcase_add_test(t, ints_both_ways);
  tcase_add_test(t, dates_both_ways);
  tcase_add_test(t, utf8_is_checked);
  tcase_add_test(t, utf8_is_counted);
  tcase_add_test(t, texts_contain);
  suite_add_tcase(s, t);
  SRunner *r = srunner_create(s);
  srunner_run_all(r, CK_ENV);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
