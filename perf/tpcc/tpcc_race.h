/* perf/tpcc/tpcc_race.h - the sides as they run against each other. */
#ifndef PURE_PERF_TPCC_RACE_H
#define PURE_PERF_TPCC_RACE_H

#include "perf/tpcc/tpcc.h"

enum { TPCC_MOST_SIDES = 6, TPCC_CONDITIONS = 12 };

typedef struct {
  tpcc_scale scale;
  uint64_t seconds, requests, warm, slice, terminals;
  args_names sides;
  sample_clock clock;
  bool by_kind, tiers, json;
  const char *spoil;
} tpcc_options;

typedef struct {
  tpcc_side side;
  bool spoilt;
  double load_ms;
  double *ms; /* of each timed slice */
  double kind_ms[TPCC_NKINDS];
  uint64_t kind_n[TPCC_NKINDS];
} tpcc_entrant;

typedef struct {
  const tpcc_options *o;
  tpcc_entrant entrants[TPCC_MOST_SIDES];
  uint32_t n;
  tpcc_terminals terminals;
  tpcc_request *requests; /* of the present slice */
  uint64_t rounds, slices, room;
  double spent; /* ms */
} tpcc_race;

/* Both: RACE_WRONG, with a message, where sides differ. */
race_status tpcc_same_answers(tpcc_race *r);
/* Tables, digests, work, conditions.  when: for messages. */
race_status tpcc_check_all(tpcc_race *r, const char *when);
void tpcc_print(tpcc_race *r);

#endif
