/* perf/support/scalar_c.h - the scalar loop in C, compiled with -O2 in a file of its own: its
 * caller's constants cannot reach it. */
#ifndef PURE_PERF_SCALAR_C_H
#define PURE_PERF_SCALAR_C_H

#include <stdint.h>

/* The sum of i * i % 7 for i in 1 .. n. */
int64_t scalar_total(int64_t n);

extern const char *const scalar_compiler;

#endif
