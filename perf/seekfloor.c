/* seekfloor: for each node of a graph, in a random order, both bounds of its edges and the first
 * one's target: by hand, and in Pure over a stored list that is a tree and one that is an array.
 *
 * The graph is the one of bfs-run.  What a query has to find is one sum over all nodes; all sums
 * are compared in every round, outside of the clock, before a time is printed.
 */
#include <inttypes.h>
#include <stdio.h>

#include "perf/support/args.h"
#include "perf/support/seek.h"
#include "perf/support/sum_side.h"

static const char tool[] = "seekfloor";
static const char usage[] =
    "usage: seekfloor [--nodes N] [--edges M] [--seed S] [--rounds R] [--levels L,L...]\n"
    "                 [--clock C] [--json]\n"
    "\n"
    "For each node, in a random order: both bounds of its edges and the target of the first one.\n"
    "By hand and in Pure, in turn, in this process; sums and work are compared before a time is\n"
    "printed. Times are of all nodes.\n"
    "\n"
    "  plain C   compressed sparse rows: the bounds are two neighbouring offsets\n"
    "  c_ahead   the same with prefetches\n"
    "  c_search  binary searches over the sorted edges\n"
    "  c_tree    a tree over the sorted edges, leaves of 64, 16 children a node\n"
    "  tree L    a stored list of Pure that has changed, at level L\n"
    "  array L   a stored list of Pure that is only read\n"
    "\n"
    "  --nodes N, --edges M   of the graph (default 100000, 1000000)\n"
    "  --seed S     of the graph (default 1)\n"
    "  --rounds R   timed rounds, after two that are not timed (default 7)\n"
    "  --levels L   levels of Pure, such as 0 or 0,1,2,3, or none (default 3)\n"
    "  --clock C    wall, or cpu: of the thread alone, for busy machines (default wall)\n"
    "  --json       a line of JSON for each form instead of the table\n"
    "  --spoil WHO  change the answer of the racer of that name, to see it caught\n"
    "\n"
    "Ratios are of medians.\n"
    "Exit status: 0, 1 wrong answer, 2 usage, 3 could not run (memory, level not in this build)\n";

static const char text[] = "list edges (from: int, to: int) key (from, to)\n"
                           "list nodes (node: int)\n"
                           "query seek(): int {\n"
                           "  var total = 0\n"
                           "  for n in nodes {\n"
                           "    if let e = first(edges[n.node]) {\n"
                           "      total += count(edges[n.node]) * 1000003 + e.to\n"
                           "    }\n"
                           "  }\n"
                           "  return total\n"
                           "}\n"
                           "event change(from: int, to: int) {\n"
                           "  put edges (from, to)\n"
                           "  delete edges[from, to]\n"
                           "}\n";

/* A tree stays a tree however often it is read. */
static const char *const stay_tree[] = {"PURE_LIST_ARRAY_MIN_ROWS", "1000000000000", NULL};
enum { LAYOUTS = 2, MOST = SEEK_FORMS + LAYOUTS * ARGS_MAX_LEVELS };

typedef struct {
  uint64_t nodes, edges, rounds, seed;
  args_levels levels;
  sample_clock clock;
  const char *spoil;
  bool json;
} options;

typedef struct {
  sum_task task;
  seek_data data;
  uint32_t npure, n;
  sum_floor floors[SEEK_FORMS];
  sum_pure pure[LAYOUTS * ARGS_MAX_LEVELS];
  racer racers[MOST];
} contest;

static int64_t run_form(const void *data, uint32_t form) { return seek_run(data, (seek_form)form); }

static bool fill_edges(const graph *g, pure_side *side) {
  enum { BLOCK = 4096 };
  uint32_t from[BLOCK], to[BLOCK];
  pure_fill *fill;
  pure_error error;
  if (pure_fill_new(side->store, "edges", &fill, &error) != PURE_OK)
    return pure_side_report(side, &error);
  bool ok = true;
  for (size_t at = 0; ok && at < g->edges; at += BLOCK) {
    size_t n = g->edges - at < BLOCK ? g->edges - at : BLOCK;
    for (size_t i = 0; i < n; i++) {
      from[i] = (uint32_t)(g->key[at + i] >> 32);
      to[i] = (uint32_t)g->key[at + i];
    }
    ok = sum_fill_column(side, fill, 0, from, n) && sum_fill_column(side, fill, 1, to, n);
  }
  if (ok && pure_fill_finish(fill, PURE_DUPLICATE_ERROR, &error) != PURE_OK)
    ok = pure_side_report(side, &error);
  pure_fill_release(fill);
  return ok;
}

static bool fill_array(const void *data, pure_side *side) {
  const seek_data *d = data;
  const uint32_t *const order = d->order;
  return fill_edges(&d->g, side) && sum_fill_list(side, "nodes", &order, 1, d->g.nodes) &&
         sum_has_layout(side, 0, "array");
}

/* One row more and one less: what was an array is a tree. */
static bool fill_tree(const void *data, pure_side *side) {
  const seek_data *d = data;
  pure_value row[] = {pure_int(d->g.nodes), pure_int(0)};
  pure_error error;
  if (!fill_array(data, side))
    return false;
  if (pure_session_call(side->session, "change", row, 2, NULL, &error) != PURE_OK)
    return pure_side_report(side, &error);
  return sum_has_layout(side, 0, "tree");
}

static race_status open_all(contest *c, const options *o) {
  const sum_how how[LAYOUTS] = {
      {"tree level", text, "seek", stay_tree, fill_tree, &c->data},
      {"array level", text, "seek", NULL, fill_array, &c->data},
  };
  race_progress(tool, "making the graph");
  bool made = seek_data_make(&c->data, (uint32_t)o->nodes, (uint32_t)o->edges, o->seed);
  race_progress(tool, NULL);
  if (!made) {
    fprintf(stderr, "%s: no memory, or more edges than half of all pairs of nodes\n", tool);
    return RACE_CANNOT;
  }
  c->task.sum = seek_run(&c->data, SEEK_C);
  for (uint32_t form = 0; form < SEEK_FORMS; form++) {
    c->floors[form] = (sum_floor){&c->task, run_form, &c->data, form};
    sum_floor_open(&c->floors[form], seek_names[form], &c->racers[c->n++]);
  }
  race_status status = RACE_OK;
  for (uint32_t layout = 0; layout < LAYOUTS; layout++)
    for (uint32_t i = 0; status == RACE_OK && i < o->levels.n; i++)
      status = sum_pure_open(&c->pure[c->npure++], &c->task, &how[layout], o->levels.level[i],
                             &c->racers[c->n++]);
  return status;
}

static void print_json(const contest *c, const options *o) {
  for (uint32_t i = 0; i < c->n; i++) {
    const racer *r = &c->racers[i];
    printf("{\"form\":\"%s\",\"compiler\":\"%s\",\"nodes\":%" PRIu64 ",\"edges\":%" PRIu64
           ",\"seed\":%" PRIu64 ",\"rounds\":%" PRIu64 ",\"clock\":\"%s\",\"ratio\":%.4f",
           r->name, seek_compiler, o->nodes, o->edges, o->seed, o->rounds,
           sample_clock_name(o->clock), race_ratio(r, &c->racers[0], (uint32_t)o->rounds));
    race_print_json(r, (uint32_t)o->rounds);
    printf(",\"sum\":%" PRId64 ",\"work\":%" PRIu64 "}\n", c->task.sum, r->work);
  }
}

static race_status run_all(contest *c, const options *o) {
  uint32_t rounds = (uint32_t)o->rounds;
  race_status status = open_all(c, o);
  if (status == RACE_OK)
    status = race_check_name(tool, c->racers, c->n, o->spoil);
  if (status == RACE_OK)
    status = race_run(tool, o->clock, c->racers, c->n, rounds);
  for (uint32_t i = 0; status == RACE_OK && i < c->npure; i++)
    status = pure_side_ran_compiled(&c->pure[i].side, "seek");
  if (status != RACE_OK)
    return status;
  const racer *bases[] = {&c->racers[SEEK_C], &c->racers[SEEK_C_TREE]};
  if (o->json) {
    print_json(c, o);
  } else {
    printf("%" PRIu64 " nodes, %" PRIu64 " edges, %u rounds; sums equal\n", o->nodes, o->edges,
           rounds);
    race_print(c->racers, c->n, rounds, bases, 2);
  }
  return RACE_OK;
}

int main(int argc, char **argv) {
  options o = {.nodes = 100000, .edges = 1000000, .rounds = 7, .seed = 1, .levels = {1, {3}}};
  const args_option table[] = {
      {"--nodes", ARGS_NUMBER, &o.nodes, 1, UINT32_MAX - 2},
      {"--edges", ARGS_NUMBER, &o.edges, 1, UINT32_MAX - 2},
      {"--rounds", ARGS_NUMBER, &o.rounds, 1, 100000},
      {"--seed", ARGS_NUMBER, &o.seed, 0, UINT64_MAX},
      {"--levels", ARGS_LEVELS, &o.levels, 0, 0},
      {"--clock", ARGS_CLOCK, &o.clock, 0, 0},
      {"--json", ARGS_FLAG, &o.json, 0, 0},
      {"--spoil", ARGS_TEXT, &o.spoil, 0, 0},
      {0},
  };
  int status = 0;
  if (!args_parse(argc, argv, tool, usage, table, &status))
    return status;
  race_warn_of_load(tool);
  contest c = {.task = {.tool = tool, .spoil = o.spoil}};
  status = (int)run_all(&c, &o);
  race_free(c.racers, c.n);
  for (uint32_t i = 0; i < c.npure; i++)
    sum_pure_close(&c.pure[i]);
  seek_data_free(&c.data);
  return status;
}
