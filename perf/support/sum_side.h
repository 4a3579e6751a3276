/* perf/support/sum_side.h - races whose answer is one sum: by hand, or of a query that returns it.
 */
#ifndef PURE_PERF_SUM_SIDE_H
#define PURE_PERF_SUM_SIDE_H

#include "perf/support/pure_side.h"
#include "perf/support/race.h"

typedef struct {
  const char *tool;
  int64_t sum;       /* what must come out */
  const char *spoil; /* the racer of this name has its answer changed before it is compared */
} sum_task;

/* RACE_WRONG, with a message, where the racer's sum is another. */
race_status sum_check(const sum_task *t, const racer *r, int64_t sum);

/* By hand. */
typedef struct {
  const sum_task *task;
  int64_t (*run)(const void *data, uint32_t form);
  const void *data;
  uint32_t form;
} sum_floor;

void sum_floor_open(sum_floor *f, const char *name, racer *out);

/* In Pure: `function` takes nothing and returns the sum.  The lists of text are filled by `fill`,
 * with environment variables NAME=VALUE set while the engine is made (NULL: none). */
typedef struct {
  const sum_task *task;
  pure_side side;
  const char *function;
} sum_pure;

typedef struct {
  const char *name; /* of the racer, before the level */
  const char *text;
  const char *function;
  const char *const *variables;                    /* NAME, VALUE, NAME, VALUE, NULL; or NULL */
  bool (*fill)(const void *data, pure_side *side); /* says what went wrong */
  const void *data;
} sum_how;

race_status sum_pure_open(sum_pure *p, const sum_task *t, const sum_how *how, uint32_t level,
                          racer *out);
void sum_pure_close(sum_pure *p);

/* False, with a message: a list has another layout than it should have. */
bool sum_has_layout(pure_side *side, uint32_t list, const char *layout);
/* n cells for a column; says what went wrong. */
bool sum_fill_column(pure_side *side, pure_fill *fill, uint32_t column, const uint32_t *cells,
                     size_t n);
/* A whole list. */
bool sum_fill_list(pure_side *side, const char *list, const uint32_t *const *columns,
                   uint32_t ncolumns, size_t n);

#endif
