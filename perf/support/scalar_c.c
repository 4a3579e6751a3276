#include "perf/support/scalar_c.h"

#if defined(__clang__)
const char *const scalar_compiler = "clang " __clang_version__ " -O2";
#else
const char *const scalar_compiler = "gcc " __VERSION__ " -O2";
#endif

int64_t scalar_total(int64_t n) {
  int64_t sum = 0;
  for (int64_t i = 1; i <= n; i++)
    sum += i * i % 7;
  return sum;
}
