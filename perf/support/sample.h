/* perf/support/sample.h - clocks and what is said of many samples. */
#ifndef PURE_PERF_SAMPLE_H
#define PURE_PERF_SAMPLE_H

#include <stddef.h>

/* Wall: what people wait for.  Cpu: of this thread alone, which other work on the machine disturbs
 * less. */
typedef enum { SAMPLE_WALL, SAMPLE_CPU } sample_clock;

double sample_now_ms(sample_clock clock);
/* Of the last minute; 0: not known. */
double sample_load(void);

/* n > 0.  The mean of the middle two where n is even. */
double sample_median(const double *v, size_t n);
double sample_min(const double *v, size_t n);
double sample_max(const double *v, size_t n);

#endif
