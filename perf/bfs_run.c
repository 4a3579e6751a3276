/* bfs-run: breadth-first search in Pure beside plain C and other floors, in one process, in turn.
 *
 * A uniform random directed graph is made in memory.  Each round runs the search in every form and
 * at every level asked for.  The clock covers the search itself with the making and freeing of all
 * that it needs beyond the graph: depths and queue in C, the local lists in Pure.  Distances are
 * compared node by node in every round, outside the clock, and a difference ends the program before
 * a time is printed.
 */
#include <inttypes.h>
#include <stdio.h>

#include "perf/support/args.h"
#include "perf/support/bfs_side.h"
#include "perf/support/sample.h"

enum { MAX_PURE = 2 * (ARGS_MAX_LEVELS + ARGS_MAX_NUMBERS), MAX_RACERS = FLOOR_FORMS + MAX_PURE };

static const char tool[] = "bfs-run";
static const char usage[] =
    "usage: bfs-run [--nodes N] [--edges M] [--seed S] [--rounds R] [--levels L,L...]\n"
    "               [--floors F,F...] [--direction] [--distances D,D...]\n"
    "               [--caches B,B...] [--clock C] [--json]\n"
    "\n"
    "Breadth-first search from node 0 of a uniform random directed graph: plain C, floors and\n"
    "Pure in turn, in this process, answers compared node by node before a time is printed.\n"
    "\n"
    "  --nodes N    nodes (default 100000)\n"
    "  --edges M    distinct edges (default 1000000)\n"
    "  --seed S     of the graph (default 1)\n"
    "  --rounds R   timed rounds, after two that are not timed (default 7)\n"
    "  --levels L   levels of Pure, such as 0 or 0,1,2,3, or none (default 0)\n"
    "  --floors F   beside plain C, all or none (default c_ahead,narrow_ahead); there are:\n"
    "                 c_bits        plain C with a bit a node for what was reached\n"
    "                 c_ahead       plain C with prefetches\n"
    "                 c_direction   plain C, bottom-up while the frontier is large\n"
    "                 packed        compiled Pure's shape by hand: guards, work, bounds, growth\n"
    "                 narrow        the same with cells as narrow as the values allow\n"
    "                 ahead         packed with prefetches\n"
    "                 narrow_ahead  narrow with prefetches: what level 3 should come to\n"
    "  --direction  the direction-optimising search of the examples too, at the same levels\n"
    "  --distances D,D...  level 3 too with each of these PURE_PREFETCH_DISTANCEs\n"
    "  --caches B,B...     level 3 too with each of these PURE_PREFETCH_CACHEs\n"
    "  --clock C    wall, or cpu: of the thread alone, for busy machines (default wall)\n"
    "  --json       a line of JSON for each level and floor instead of the table\n"
    "  --spoil WHO  change one answer of the racer of that name, to see it caught\n"
    "\n"
    "Ratios are of medians.\n"
    "Exit status: 0, 1 wrong answer, 2 usage, 3 could not run (memory, level not in this build)\n";

typedef struct {
  uint64_t nodes, edges, rounds, seed;
  args_levels levels;
  args_names floors;
  args_numbers distances, caches;
  const char *spoil;
  sample_clock clock;
  bool direction, json;
} options;

typedef struct {
  bfs_task task;
  uint32_t nfloors, npure, nracers;
  bfs_floor floors[FLOOR_FORMS];
  bfs_pure pure[MAX_PURE];
  racer racers[MAX_RACERS];
} contest;

static bool parse(int argc, char **argv, options *o, int *status) {
  *o = (options){.nodes = 100000, .edges = 1000000, .rounds = 7, .seed = 1, .levels = {.n = 1}};
  o->floors = (args_names){.known = floor_names, .nknown = FLOOR_FORMS};
  o->floors.on[FLOOR_C_AHEAD] = o->floors.on[FLOOR_NARROW_AHEAD] = true;
  const args_option table[] = {
      {"--nodes", ARGS_NUMBER, &o->nodes, 1, UINT32_MAX - 2},
      {"--edges", ARGS_NUMBER, &o->edges, 1, UINT32_MAX - 2},
      {"--rounds", ARGS_NUMBER, &o->rounds, 1, 100000},
      {"--seed", ARGS_NUMBER, &o->seed, 0, UINT64_MAX},
      {"--levels", ARGS_LEVELS, &o->levels, 0, 0},
      {"--floors", ARGS_NAMES, &o->floors, 0, 0},
      {"--direction", ARGS_FLAG, &o->direction, 0, 0},
      {"--distances", ARGS_NUMBERS, &o->distances, 1, 1024},
      {"--caches", ARGS_NUMBERS, &o->caches, 0, UINT64_MAX / 256},
      {"--clock", ARGS_CLOCK, &o->clock, 0, 0},
      {"--json", ARGS_FLAG, &o->json, 0, 0},
      {"--spoil", ARGS_TEXT, &o->spoil, 0, 0},
      {0},
  };
  return args_parse(argc, argv, tool, usage, table, status);
}

/* Plain C is always there, and first. */
static race_status open_floors(contest *c, const options *o) {
  race_status status = RACE_OK;
  for (uint32_t form = 0; status == RACE_OK && form < FLOOR_FORMS; form++)
    if (form == FLOOR_C || o->floors.on[form])
      status = bfs_floor_open(&c->floors[c->nfloors++], &c->task, (floor_form)form,
                              &c->racers[c->nracers++]);
  return status;
}

static race_status open_pure(contest *c, bfs_how how) {
  return bfs_pure_open(&c->pure[c->npure++], &c->task, how, &c->racers[c->nracers++]);
}

static race_status open_levels(contest *c, const options *o) {
  race_status status = RACE_OK;
  for (uint32_t i = 0; status == RACE_OK && i < o->levels.n; i++)
    status = open_pure(c, (bfs_how){.level = o->levels.level[i], .kind = BFS_PLAIN});
  for (uint32_t i = 0; o->direction && status == RACE_OK && i < o->levels.n; i++)
    status = open_pure(c, (bfs_how){.level = o->levels.level[i], .kind = BFS_DIRECTION});
  for (uint32_t i = 0; status == RACE_OK && i < o->distances.n; i++)
    status = open_pure(c, (bfs_how){.level = 3, .distance = (uint32_t)o->distances.number[i]});
  for (uint32_t i = 0; status == RACE_OK && i < o->caches.n; i++)
    status = open_pure(c, (bfs_how){.level = 3, .has_cache = true, .cache = o->caches.number[i]});
  return status;
}

static race_status open_all(contest *c, const options *o) {
  race_status status = bfs_task_make(&c->task, (uint32_t)o->nodes, (uint32_t)o->edges, o->seed);
  if (status == RACE_OK)
    status = open_floors(c, o);
  if (status == RACE_OK)
    status = open_levels(c, o);
  if (status == RACE_OK)
    status = race_check_name(tool, c->racers, c->nracers, o->spoil);
  return status;
}

static void close_all(contest *c) {
  race_free(c->racers, c->nracers);
  for (uint32_t i = 0; i < c->nfloors; i++)
    bfs_floor_close(&c->floors[i]);
  for (uint32_t i = 0; i < c->npure; i++)
    bfs_pure_close(&c->pure[i]);
  bfs_task_free(&c->task);
}

static void print_table(const contest *c, const options *o) {
  uint32_t rounds = (uint32_t)o->rounds;
  const racer *bases[] = {&c->racers[0], race_find(c->racers, c->nracers, "narrow_ahead")};
  printf("%" PRIu64 " nodes, %" PRIu64 " edges, %u reached, %u rounds; distances equal node by "
         "node\n",
         o->nodes, o->edges, c->task.reached, rounds);
  race_print(c->racers, c->nracers, rounds, bases, 2);
}

static void print_pairs(const racer *a, const racer *b, uint32_t rounds) {
  printf(",\"samples\":[");
  for (uint32_t i = 0; i < rounds; i++)
    printf("%s[%.4f,%.4f]", i ? "," : "", a->ms[i], b->ms[i]);
  putchar(']');
}

/* samples: pairs of plain C and this one. */
static void print_json(const contest *c, const options *o, uint32_t i) {
  uint32_t rounds = (uint32_t)o->rounds;
  const racer *plain = &c->racers[0], *r = &c->racers[i];
  const racer *ahead = race_find(c->racers, c->nracers, "narrow_ahead");
  bool is_pure = i >= c->nfloors;
  const bfs_pure *p = &c->pure[is_pure ? i - c->nfloors : 0];
  if (is_pure)
    printf("{\"level\":%u,\"search\":\"%s\",\"distance\":%u", p->how.level,
           p->how.kind == BFS_PLAIN ? "plain" : "direction", p->how.distance);
  else
    printf("{\"floor\":\"%s\",\"compiler\":\"%s\"", r->name,
           c->floors[i].search.form < FLOOR_PACKED ? floor_c_compiler : floor_list_compiler);
  printf(",\"nodes\":%" PRIu64 ",\"edges\":%" PRIu64 ",\"seed\":%" PRIu64
         ",\"rounds\":%u,\"clock\":\"%s\",\"c_ms\":%.4f,\"%s_ms\":%.4f,\"ratio\":%.4f",
         o->nodes, o->edges, o->seed, rounds, sample_clock_name(o->clock),
         sample_median(plain->ms, rounds), is_pure ? "pure" : "floor", sample_median(r->ms, rounds),
         race_ratio(r, plain, rounds));
  if (is_pure && p->how.has_cache)
    printf(",\"cache\":%" PRIu64, p->how.cache);
  if (ahead)
    printf(",\"ratio_narrow_ahead\":%.4f", race_ratio(r, ahead, rounds));
  print_pairs(plain, r, rounds);
  printf(",\"work\":%" PRIu64 ",\"reached\":%u}\n", r->work, c->task.reached);
}

static race_status run_all(contest *c, const options *o) {
  race_status status = open_all(c, o);
  if (status == RACE_OK)
    status = race_run(tool, o->clock, c->racers, c->nracers, (uint32_t)o->rounds);
  for (uint32_t i = 0; status == RACE_OK && i < c->npure; i++)
    status = pure_side_ran_compiled(&c->pure[i].side, "bfs");
  if (status != RACE_OK)
    return status;
  if (!o->json)
    print_table(c, o);
  for (uint32_t i = 1; o->json && i < c->nracers; i++)
    print_json(c, o, i);
  return RACE_OK;
}

int main(int argc, char **argv) {
  options o;
  int status = 0;
  if (!parse(argc, argv, &o, &status))
    return status;
  race_warn_of_load(tool);
  contest c = {.task = {.tool = tool, .spoil = o.spoil}};
  status = (int)run_all(&c, &o);
  close_all(&c);
  return status;
}
