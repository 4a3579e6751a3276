/* TPC-C in turns: every side runs the same requests, slice after slice, each slice beginning with
 * another side.  Answers, tables and conditions are compared before a rate is printed. */
#include "perf/tpcc/tpcc.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "perf/tpcc/tpcc_race.h"

const char tpcc_tool[] = "tpcc";

static const char usage[] =
    "usage: tpcc [OPTION]...\n"
    "The transactions of TPC-C, without think time: Pure by level and SQLite in memory.\n"
    "  --seconds N       of all sides together, timed (20)\n"
    "  --requests N      of each side, timed, instead of seconds\n"
    "  --warm N          requests of each side before the clock starts (30000)\n"
    "  --slice N         requests of a side before it is the next one's turn (1000)\n"
    "  --warehouses N    (1)\n"
    "  --customers N     of a district (3000)\n"
    "  --items N         (100000)\n"
    "  --terminals N     that ask in turn (64)\n"
    "  --sides LIST      of sqlite,level_0,level_1,level_2,level_3,auto (all)\n"
    "  --seed N          (1)\n"
    "  --by-kind         microseconds of each kind of transaction too: a clock around each\n"
    "  --tiers           what of the program was compiled, too\n"
    "  --clock wall|cpu\n"
    "  --json            a line for each side\n"
    "  --spoil SIDE      changes an answer of that side, to show that it is caught\n"
    "  --help\n"
    "Exit status: 0 fine, 1 wrong answer, 2 usage, 3 cannot run.\n";

static const char *const side_names[TPCC_MOST_SIDES] = {"sqlite",  "level_0", "level_1",
                                                        "level_2", "level_3", "auto"};

static tpcc_side side_of(uint32_t i) {
  static const pure_jit level[] = {PURE_JIT_0, PURE_JIT_1, PURE_JIT_2, PURE_JIT_3, PURE_JIT_AUTO};
  return i == 0 ? tpcc_sqlite_side() : tpcc_pure_side(level[i - 1]);
}

/* One side after the other: its answers of one slice, on the watch. */
static bool run_slice(tpcc_race *r, tpcc_entrant *e, bool timed) {
  sample_watch watch = {.clock = r->o->clock};
  if (timed)
    sample_start(&watch);
  for (uint64_t i = 0; i < r->o->slice; i++) {
    double from = r->o->by_kind && timed ? sample_now_ms(r->o->clock) : 0;
    if (!e->side.run(&e->side, &r->requests[i]))
      return false;
    if (r->o->by_kind && timed) {
      e->kind_ms[r->requests[i].kind] += sample_now_ms(r->o->clock) - from;
      e->kind_n[r->requests[i].kind]++;
    }
  }
  if (timed) {
    sample_stop(&watch);
    e->ms[r->slices] = watch.ms;
    r->spent += watch.ms;
  }
  return true;
}

static bool grow(tpcc_race *r) {
  if (r->slices < r->room)
    return true;
  r->room = r->room ? r->room * 2 : 256;
  for (uint32_t i = 0; i < r->n; i++) {
    double *more = realloc(r->entrants[i].ms, r->room * sizeof *more);
    if (!more)
      return tpcc_complain(&r->entrants[i].side, "no memory");
    r->entrants[i].ms = more;
  }
  return true;
}

static race_status run_round(tpcc_race *r, bool timed) {
  for (uint64_t i = 0; i < r->o->slice; i++)
    tpcc_terminals_next(&r->terminals, &r->requests[i]);
  if (!grow(r))
    return RACE_CANNOT;
  for (uint32_t i = 0; i < r->n; i++)
    if (!run_slice(r, &r->entrants[(i + r->rounds) % r->n], timed))
      return RACE_CANNOT;
  r->rounds++;
  r->slices += timed;
  return tpcc_same_answers(r);
}

static bool goes_on(const tpcc_race *r) {
  if (r->slices < 3)
    return true;
  if (r->o->requests)
    return r->slices * r->o->slice < r->o->requests;
  return r->spent < (double)r->o->seconds * 1e3;
}

static race_status run_all(tpcc_race *r) {
  race_status status = RACE_OK;
  race_progress(tpcc_tool, "warming up");
  while (status == RACE_OK && r->rounds * r->o->slice < r->o->warm)
    status = run_round(r, false);
  race_progress(tpcc_tool, "running");
  while (status == RACE_OK && goes_on(r))
    status = run_round(r, true);
  return status;
}

static race_status open_all(tpcc_race *r) {
  const tpcc_options *o = r->o;
  for (uint32_t i = 0; i < TPCC_MOST_SIDES; i++) {
    if (!o->sides.on[i])
      continue;
    tpcc_entrant *e = &r->entrants[r->n++];
    e->side = side_of(i);
    e->spoilt = o->spoil && strcmp(o->spoil, side_names[i]) == 0;
    race_progress(tpcc_tool, "loading");
    double from = sample_now_ms(o->clock);
    if (!e->side.open(&e->side, &o->scale))
      return RACE_CANNOT;
    e->load_ms = sample_now_ms(o->clock) - from;
  }
  r->requests = calloc(o->slice, sizeof *r->requests);
  if (!r->requests || !tpcc_terminals_open(&r->terminals, &o->scale, (uint32_t)o->terminals)) {
    fprintf(stderr, "%s: no memory\n", tpcc_tool);
    return RACE_CANNOT;
  }
  return r->n ? RACE_OK : RACE_USAGE;
}

static race_status race(tpcc_race *r) {
  race_status status = open_all(r);
  if (status == RACE_OK)
    status = tpcc_check_all(r, "before");
  if (status == RACE_OK)
    status = run_all(r);
  race_progress(tpcc_tool, "checking");
  if (status == RACE_OK)
    status = tpcc_check_all(r, "after");
  race_progress(tpcc_tool, NULL);
  if (status == RACE_OK)
    tpcc_print(r);
  return status;
}

static void close_all(tpcc_race *r) {
  for (uint32_t i = 0; i < r->n; i++) {
    r->entrants[i].side.close(&r->entrants[i].side);
    free(r->entrants[i].ms);
  }
  tpcc_terminals_close(&r->terminals);
  free(r->requests);
}

int main(int argc, char **argv) {
  tpcc_options o = {.scale = {1, 3000, 100000, 1}, .seconds = 20, .warm = 30000, .slice = 1000};
  o.terminals = 64;
  o.sides = (args_names){
      .known = side_names, .nknown = TPCC_MOST_SIDES, .on = {true, true, true, true, true, true}};
  const args_option table[] = {
      {"--seconds", ARGS_NUMBER, &o.seconds, 1, 100000},
      {"--requests", ARGS_NUMBER, &o.requests, 1, UINT32_MAX},
      {"--warm", ARGS_NUMBER, &o.warm, 0, UINT32_MAX},
      {"--slice", ARGS_NUMBER, &o.slice, 1, 1000000},
      {"--warehouses", ARGS_NUMBER, &o.scale.warehouses, 1, 1000},
      {"--customers", ARGS_NUMBER, &o.scale.customers, 30, 100000},
      {"--items", ARGS_NUMBER, &o.scale.items, 20, 1000000},
      {"--terminals", ARGS_NUMBER, &o.terminals, 1, 100000},
      {"--sides", ARGS_NAMES, &o.sides, 0, 0},
      {"--seed", ARGS_NUMBER, &o.scale.seed, 0, UINT64_MAX},
      {"--by-kind", ARGS_FLAG, &o.by_kind, 0, 0},
      {"--tiers", ARGS_FLAG, &o.tiers, 0, 0},
      {"--clock", ARGS_CLOCK, &o.clock, 0, 0},
      {"--json", ARGS_FLAG, &o.json, 0, 0},
      {"--spoil", ARGS_TEXT, &o.spoil, 0, 0},
      {0},
  };
  int status = 0;
  if (!args_parse(argc, argv, tpcc_tool, usage, table, &status))
    return status;
  race_warn_of_load(tpcc_tool);
  tpcc_race r = {.o = &o};
  status = (int)race(&r);
  close_all(&r);
  return status;
}
