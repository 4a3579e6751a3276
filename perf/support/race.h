/* perf/support/race.h - several ways to do the same work, run in turn.
 *
 * Every round runs each racer once, beginning one further along each time, so that none always
 * follows the same neighbour.  A racer starts and stops the watch itself and checks its answer
 * outside of it; the first wrong answer ends the race before a time is printed.  Rounds that warm
 * up are checked too.
 */
#ifndef PURE_PERF_RACE_H
#define PURE_PERF_RACE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "perf/support/sample.h"

/* Also the exit statuses of every program here. */
typedef enum { RACE_OK, RACE_WRONG, RACE_USAGE, RACE_CANNOT } race_status;

enum { RACE_WARM = 2 }; /* rounds that are not timed */

typedef struct racer {
  char name[24];
  /* Does the work once; says why on standard error where it is not RACE_OK. */
  race_status (*run)(struct racer *self, sample_watch *watch);
  void *user;
  uint64_t work;  /* that run charged; 0: counts none */
  uint32_t group; /* all of a group that count work must agree, in every round */
  double *ms;     /* of each timed round; the race's */
} racer;

/* Says so on standard error where more runs on this machine than it has processors. */
void race_warn_of_load(const char *tool);

/* Timed rounds after those that warm up.  tool: for messages and for progress, which is shown on a
 * terminal only.  Call race_free in any case. */
race_status race_run(const char *tool, sample_clock clock, racer *r, uint32_t n, uint32_t rounds);
void race_free(racer *r, uint32_t n);

/* NULL: nobody has that name. */
const racer *race_find(const racer *r, uint32_t n, const char *name);
/* RACE_USAGE, with a message: nobody has that name.  NULL: nobody is meant. */
race_status race_check_name(const char *tool, const racer *r, uint32_t n, const char *name);
/* Of medians. */
double race_ratio(const racer *a, const racer *b, uint32_t rounds);

/* Times of each, and the ratio to each of nbases (NULL ones are left out). */
void race_print(const racer *r, uint32_t n, uint32_t rounds, const racer *const *bases,
                uint32_t nbases);
/* ,"ms":median,"min_ms":..,"samples":[..] */
void race_print_json(const racer *r, uint32_t rounds);

/* On a terminal: shows a line on standard error in place of the last; NULL: clears it. */
void race_progress(const char *tool, const char *text);

#endif
