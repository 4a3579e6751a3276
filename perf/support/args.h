/* perf/support/args.h - the command lines of the programs here: --name value, --flag, --help. */
#ifndef PURE_PERF_ARGS_H
#define PURE_PERF_ARGS_H

#include <stdbool.h>
#include <stdint.h>

#include "perf/support/race.h"
#include "perf/support/sample.h"

enum { ARGS_MAX_LEVELS = 4, ARGS_MAX_NAMES = 16, ARGS_MAX_NUMBERS = 16 };

/* Levels of Pure, as in 0,1,2,3 or none. */
typedef struct {
  uint32_t n;
  uint32_t level[ARGS_MAX_LEVELS];
} args_levels;

/* As in 4,8,16. */
typedef struct {
  uint32_t n;
  uint64_t number[ARGS_MAX_NUMBERS];
} args_numbers;

/* Which of some known names are meant, as in c,narrow_ahead, all or none. */
typedef struct {
  const char *const *known;
  uint32_t nknown;
  bool on[ARGS_MAX_NAMES];
} args_names;

typedef enum {
  ARGS_FLAG,
  ARGS_NUMBER,
  ARGS_LEVELS,
  ARGS_NAMES,
  ARGS_NUMBERS,
  ARGS_TEXT,
  ARGS_CLOCK
} args_kind;

typedef struct {
  const char *name; /* with the dashes; NULL ends a table */
  args_kind kind;
  void *out; /* bool, uint64_t, args_levels, args_names, args_numbers, const char *, sample_clock */
  uint64_t least, most;
} args_option;

/* False: the program ends with *status, which is RACE_OK after --help. */
bool args_parse(int argc, char **argv, const char *tool, const char *usage,
                const args_option *options, int *status);

#endif
