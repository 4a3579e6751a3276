/* perf/support/sample.h - clocks and what is said of many samples. */
#ifndef PURE_PERF_SAMPLE_H
#define PURE_PERF_SAMPLE_H

#include <stddef.h>

/* Wall: what people wait for.  Cpu: of this thread alone, which other work on the machine disturbs
 * less. */
typedef enum { SAMPLE_WALL, SAMPLE_CPU } sample_clock;

double sample_now_ms(sample_clock clock);
const char *sample_clock_name(sample_clock clock);

/* Adds up the pieces between starts and stops.  Under callgrind with --instr-atstart=no those
 * pieces are what is counted. */
typedef struct {
  sample_clock clock;
  double ms, from;
} sample_watch;

void sample_start(sample_watch *w);
void sample_stop(sample_watch *w);
/* Under callgrind: what was counted since the last such call goes to a file, under that name. */
void sample_dump_counts(const char *name);
/* Of the last minute; 0: not known. */
double sample_load(void);

/* n > 0.  The mean of the middle two where n is even. */
double sample_median(const double *v, size_t n);
double sample_min(const double *v, size_t n);
double sample_max(const double *v, size_t n);

#endif
