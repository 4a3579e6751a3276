/* perf/support/pure_side.h - a program of Pure at one level: engine, program, store, session. */
#ifndef PURE_PERF_PURE_SIDE_H
#define PURE_PERF_PURE_SIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <pure/pure.h>

#include "perf/support/args.h"
#include "perf/support/race.h"
#include "perf/support/sample.h"

typedef struct {
  const char *tool; /* for messages */
  uint32_t level;
  pure_engine *engine;
  pure_program *program;
  pure_store *store;
  pure_session *session;
} pure_side;

/* Compiles the text; lists are empty.  Call pure_side_close in any case. */
race_status pure_side_open(pure_side *p, const char *tool, uint32_t level, const char *text,
                           size_t length);
void pure_side_close(pure_side *p);

/* Says what went wrong; always false. */
bool pure_side_report(const pure_side *p, const pure_error *error);

/* A call, timed.  The caller releases *out, also on the watch: pure_side_release. */
race_status pure_side_call(pure_side *p, const char *function, const pure_value *arguments,
                           uint32_t n, pure_result **out, sample_watch *watch);
void pure_side_release(pure_result *result, sample_watch *watch);

/* RACE_CANNOT, with a message, where no loop of the function ran at the level that was wanted: one
 * that quietly ran on the interpreter has not been measured. */
race_status pure_side_ran_compiled(const pure_side *p, const char *function);

#endif
