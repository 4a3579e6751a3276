#include "perf/support/sample.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Requests to valgrind do nothing outside of it. */
#if defined(__has_include)
#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#endif
#endif
#if !defined(CALLGRIND_START_INSTRUMENTATION)
#define CALLGRIND_START_INSTRUMENTATION ((void)0)
#define CALLGRIND_STOP_INSTRUMENTATION ((void)0)
#define CALLGRIND_DUMP_STATS_AT(name) ((void)0)
#endif

double sample_now_ms(sample_clock clock) {
  struct timespec t;
  clock_gettime(clock == SAMPLE_CPU ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

double sample_load(void) {
  double load;
  return getloadavg(&load, 1) == 1 ? load : 0;
}

const char *sample_clock_name(sample_clock clock) { return clock == SAMPLE_CPU ? "cpu" : "wall"; }

void sample_start(sample_watch *w) {
  CALLGRIND_START_INSTRUMENTATION;
  w->from = sample_now_ms(w->clock);
}

void sample_stop(sample_watch *w) {
  w->ms += sample_now_ms(w->clock) - w->from;
  CALLGRIND_STOP_INSTRUMENTATION;
}

void sample_dump_counts(const char *name) {
  (void)name;
  CALLGRIND_DUMP_STATS_AT(name);
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

double sample_median(const double *v, size_t n) {
  double *sorted = malloc(n * sizeof *sorted);
  if (!sorted)
    return v[n / 2];
  memcpy(sorted, v, n * sizeof *sorted);
  qsort(sorted, n, sizeof *sorted, by_value);
  double m = n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
  free(sorted);
  return m;
}

double sample_min(const double *v, size_t n) {
  double m = v[0];
  for (size_t i = 1; i < n; i++)
    m = v[i] < m ? v[i] : m;
  return m;
}

double sample_max(const double *v, size_t n) {
  double m = v[0];
  for (size_t i = 1; i < n; i++)
    m = v[i] > m ? v[i] : m;
  return m;
}
