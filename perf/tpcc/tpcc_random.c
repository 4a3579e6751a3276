#include <string.h>

#include "perf/support/random.h"
#include "perf/tpcc/tpcc.h"

int64_t tpcc_uniform(tpcc_random *r, int64_t lo, int64_t hi) {
  return lo + random_below(&r->state, (uint32_t)(hi - lo + 1));
}

int64_t tpcc_nurand(tpcc_random *r, uint32_t a, uint32_t c, int64_t lo, int64_t hi) {
  int64_t some = tpcc_uniform(r, 0, a), any = tpcc_uniform(r, lo, hi);
  return ((some | any) + c) % (hi - lo + 1) + lo;
}

uint32_t tpcc_c_for_run(tpcc_random *r, uint32_t c_load) {
  for (;;) {
    uint32_t c = (uint32_t)tpcc_uniform(r, 0, 255);
    uint32_t delta = c > c_load ? c - c_load : c_load - c;
    if (delta >= 65 && delta <= 119 && delta != 96 && delta != 112)
      return c;
  }
}

size_t tpcc_letters(tpcc_random *r, unsigned least, unsigned most, char *out) {
  static const char all[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  size_t n = (size_t)tpcc_uniform(r, least, most);
  for (size_t i = 0; i < n; i++)
    out[i] = all[random_below(&r->state, sizeof all - 1)];
  out[n] = 0;
  return n;
}

size_t tpcc_digits(tpcc_random *r, unsigned n, char *out) {
  for (unsigned i = 0; i < n; i++)
    out[i] = (char)('0' + random_below(&r->state, 10));
  out[n] = 0;
  return n;
}

size_t tpcc_last_name(uint32_t number, char *out) {
  static const char *const part[] = {"BAR", "OUGHT", "ABLE",  "PRI",   "PRES",
                                     "ESE", "ANTI",  "CALLY", "ATION", "EING"};
  strcpy(out, part[number / 100 % 10]);
  strcat(out, part[number / 10 % 10]);
  strcat(out, part[number % 10]);
  return strlen(out);
}
