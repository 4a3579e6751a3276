/* perf/support/sample.h - clocks and what is said of many samples. */
#ifndef PURE_PERF_SAMPLE_H
#define PURE_PERF_SAMPLE_H

#include <stddef.h>

double sample_now_ms(void); /* CLOCK_MONOTONIC */
/* n > 0.  The mean of the middle two where n is even. */
double sample_median(const double *v, size_t n);
double sample_min(const double *v, size_t n);
double sample_max(const double *v, size_t n);

#endif
