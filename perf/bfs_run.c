/* bfs-run: breadth-first search in Pure beside plain C, in one process, in turn.
 *
 * A uniform random directed graph is made in memory.  Each round runs the search in C and then in
 * Pure at every level asked for.  The clock covers the search itself with the making and freeing of
 * all that it needs beyond the graph: depths and queue in C, the local lists in Pure.  Distances
 * are compared node by node in every round, outside the clock, and a difference ends the program
 * before a time is printed.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pure/pure.h>

#include "perf/support/graph.h"
#include "perf/support/sample.h"

static const char program_text[] = "list edges (from: int, to: int) key (from, to)\n"
                                   "query bfs(start: int): (node: int, depth: int) {\n"
                                   "  local seen (node: int, depth: int) key (node)\n"
                                   "  local queue (node: int)\n"
                                   "  put seen (start, 0)\n"
                                   "  add queue (start)\n"
                                   "  for q in queue {\n"
                                   "    let d = seen[q.node].depth + 1\n"
                                   "    for e in edges[q.node] {\n"
                                   "      if not (e.to in seen) {\n"
                                   "        put seen (e.to, d)\n"
                                   "        add queue (e.to)\n"
                                   "      }\n"
                                   "    }\n"
                                   "  }\n"
                                   "  return seen\n"
                                   "}\n";

enum { MAX_LEVELS = 4, EXIT_WRONG = 1, EXIT_USAGE = 2, EXIT_CANNOT = 3 };

typedef struct {
  uint32_t nodes, edges, rounds, nlevels;
  uint32_t level[MAX_LEVELS];
  uint64_t seed;
  bool json;
} options;

/* Pure at one level. */
typedef struct {
  uint32_t level;
  pure_engine *engine;
  pure_program *program;
  pure_store *store;
  pure_session *session;
  double *ms;
  uint64_t work;
} contestant;

static const char usage[] =
    "usage: bfs-run [--nodes N] [--edges M] [--seed S] [--rounds R] [--levels L,L...] [--json]\n"
    "\n"
    "Breadth-first search from node 0 of a uniform random directed graph: plain C and Pure in\n"
    "turn, in this process, answers compared node by node before a time is printed.\n"
    "\n"
    "  --nodes N    nodes (default 100000)\n"
    "  --edges M    distinct edges (default 1000000)\n"
    "  --seed S     of the graph (default 1)\n"
    "  --rounds R   timed rounds, after one that is not timed (default 7)\n"
    "  --levels L   levels of Pure, such as 0 or 0,1,2,3 (default 0)\n"
    "  --json       a line of JSON for each level instead of the table\n"
    "\n"
    "Exit status: 0, 1 wrong answer, 2 usage, 3 could not run (memory, level not in this build)\n";

static bool parse_number(const char *text, uint64_t most, uint64_t *out) {
  char *end;
  errno = 0;
  uint64_t n = strtoull(text, &end, 10);
  if (*text < '0' || *text > '9' || *end || errno || n > most)
    return false;
  *out = n;
  return true;
}

static bool parse_levels(const char *text, options *o) {
  o->nlevels = 0;
  for (const char *p = text;; p += 2) {
    if (p[0] < '0' || p[0] > '3' || o->nlevels == MAX_LEVELS)
      return false;
    o->level[o->nlevels++] = (uint32_t)(p[0] - '0');
    if (p[1] == 0)
      return true;
    if (p[1] != ',')
      return false;
  }
}

static bool parse_option(const char *name, const char *value, options *o) {
  uint64_t n;
  if (!value)
    return false;
  if (!strcmp(name, "--levels"))
    return parse_levels(value, o);
  if (!strcmp(name, "--seed"))
    return parse_number(value, UINT64_MAX, &o->seed);
  if (!parse_number(value, UINT32_MAX - 2, &n) || n == 0)
    return false;
  if (!strcmp(name, "--nodes"))
    o->nodes = (uint32_t)n;
  else if (!strcmp(name, "--edges"))
    o->edges = (uint32_t)n;
  else if (!strcmp(name, "--rounds") && n <= 100000)
    o->rounds = (uint32_t)n;
  else
    return false;
  return true;
}

/* False: exit with *status. */
static bool parse_options(int argc, char **argv, options *o, int *status) {
  *o = (options){100000, 1000000, 7, 1, {0}, 1, false};
  for (int i = 1; i < argc; i++) {
    if (!strcmp(argv[i], "--help")) {
      fputs(usage, stdout);
      *status = 0;
      return false;
    }
    if (!strcmp(argv[i], "--json")) {
      o->json = true;
    } else if (parse_option(argv[i], i + 1 < argc ? argv[i + 1] : NULL, o)) {
      i++;
    } else {
      fprintf(stderr, "bfs-run: bad option or value: %s%s%s\n\n%s", argv[i],
              i + 1 < argc ? " " : "", i + 1 < argc ? argv[i + 1] : "", usage);
      *status = EXIT_USAGE;
      return false;
    }
  }
  return true;
}

static bool report(const pure_error *error) {
  char text[1200];
  pure_error_format(error, text, sizeof text);
  fprintf(stderr, "bfs-run: %s\n", text);
  return false;
}

static bool fill_edges(contestant *p, const graph *g) {
  enum { BLOCK = 4096 };
  pure_error error;
  pure_fill *fill;
  if (pure_fill_new(p->store, "edges", &fill, &error) != PURE_OK)
    return report(&error);
  int64_t from[BLOCK], to[BLOCK];
  bool ok = true;
  for (size_t i = 0; ok && i < g->edges;) {
    size_t n = 0;
    for (; n < BLOCK && i < g->edges; n++, i++) {
      from[n] = (int64_t)(g->key[i] >> 32);
      to[n] = (int64_t)(uint32_t)g->key[i];
    }
    ok = pure_fill_ints(fill, 0, from, n, &error) == PURE_OK &&
         pure_fill_ints(fill, 1, to, n, &error) == PURE_OK;
  }
  ok = ok && pure_fill_finish(fill, PURE_DUPLICATE_ERROR, &error) == PURE_OK;
  pure_fill_release(fill);
  return ok || report(&error);
}

static bool contestant_open(contestant *p, const graph *g, uint32_t level, uint32_t rounds) {
  static const pure_jit jit[MAX_LEVELS] = {PURE_JIT_0, PURE_JIT_1, PURE_JIT_2, PURE_JIT_3};
  pure_engine_options wanted = {
      .size = sizeof wanted, .jit = jit[level], .jit_sync = true, .environment = true};
  pure_error error;
  p->level = level;
  p->ms = calloc(rounds, sizeof *p->ms);
  if (!p->ms)
    return false;
  if (pure_engine_new(&wanted, &p->engine, &error) != PURE_OK)
    return report(&error);
  if (pure_engine_jit(p->engine) != jit[level]) {
    fprintf(stderr, "bfs-run: level %u is not in this build\n", level);
    return false;
  }
  if (pure_program_compile(p->engine, "bfs", program_text, sizeof program_text - 1, NULL, NULL,
                           &p->program, &error) != PURE_OK ||
      pure_store_new(p->program, &p->store, &error) != PURE_OK ||
      pure_session_new(p->store, &p->session, &error) != PURE_OK) {
    return report(&error);
  }
  return fill_edges(p, g);
}

static void contestant_close(contestant *p) {
  pure_session_release(p->session);
  pure_store_release(p->store);
  pure_program_release(p->program);
  pure_engine_release(p->engine);
  free(p->ms);
}

/* The result has exactly the nodes that C reached, with C's depths. */
static bool same_answer(pure_result *result, const int32_t *depth, const graph *g,
                        uint32_t reached) {
  enum { BLOCK = 4096 };
  int64_t node[BLOCK], steps[BLOCK], last = -1;
  uint64_t rows = pure_result_rows(result);
  if (rows != reached) {
    fprintf(stderr, "bfs-run: wrong answer: %" PRIu64 " nodes reached, C reaches %u\n", rows,
            reached);
    return false;
  }
  for (uint64_t at = 0; at < rows; at += BLOCK) {
    size_t n = rows - at < BLOCK ? (size_t)(rows - at) : BLOCK;
    pure_error error;
    if (pure_result_copy_ints(result, 0, at, n, node, &error) != PURE_OK ||
        pure_result_copy_ints(result, 1, at, n, steps, &error) != PURE_OK) {
      return report(&error);
    }
    for (size_t i = 0; i < n; last = node[i++]) {
      if (node[i] <= last || node[i] >= (int64_t)g->nodes || depth[node[i]] != steps[i]) {
        fprintf(stderr, "bfs-run: wrong answer: node %" PRId64 " at %" PRId64 "\n", node[i],
                steps[i]);
        return false;
      }
    }
  }
  return true;
}

static bool run_pure(contestant *p, const graph *g, const int32_t *depth, uint32_t reached,
                     double *ms) {
  pure_error error;
  pure_result *result;
  pure_value start = pure_int(0);
  double from = sample_now_ms();
  pure_status status = pure_session_call(p->session, "bfs", &start, 1, &result, &error);
  *ms = sample_now_ms() - from;
  if (status != PURE_OK)
    return report(&error);
  bool same = same_answer(result, depth, g, reached);
  uint64_t work = pure_session_work(p->session);
  if (p->work && p->work != work) {
    fprintf(stderr, "bfs-run: work differs between rounds\n");
    same = false;
  }
  p->work = work;
  from = sample_now_ms();
  pure_result_release(result);
  *ms += sample_now_ms() - from;
  return same;
}

/* Round 0 warms up and is not kept. */
static bool run_round(const graph *g, contestant *p, const options *o, uint32_t round, double *c_ms,
                      uint32_t *reached) {
  double from = sample_now_ms(), ms;
  int32_t *depth = graph_bfs_c(g, 0, reached);
  double c = sample_now_ms() - from;
  if (!depth)
    return false;
  bool ok = true;
  for (uint32_t i = 0; ok && i < o->nlevels; i++) {
    ok = run_pure(&p[i], g, depth, *reached, &ms);
    if (ok && round)
      p[i].ms[round - 1] = ms;
    if (ok && p[i].work != p[0].work) {
      fprintf(stderr, "bfs-run: work differs between levels %u and %u\n", p[0].level, p[i].level);
      ok = false;
    }
  }
  from = sample_now_ms();
  free(depth);
  if (round)
    c_ms[round - 1] = c + sample_now_ms() - from;
  return ok;
}

static void print_json(const contestant *p, const options *o, const double *c_ms,
                       const double *ratio, uint32_t reached) {
  printf("{\"level\":%u,\"nodes\":%u,\"edges\":%u,\"seed\":%" PRIu64
         ",\"rounds\":%u,\"c_ms\":%.4f,\"pure_ms\":%.4f,\"ratio\":%.4f,\"samples\":[",
         p->level, o->nodes, o->edges, o->seed, o->rounds, sample_median(c_ms, o->rounds),
         sample_median(p->ms, o->rounds), sample_median(ratio, o->rounds));
  for (uint32_t i = 0; i < o->rounds; i++) {
    printf("%s[%.4f,%.4f]", i ? "," : "", c_ms[i], p->ms[i]);
  }
  printf("],\"work\":%" PRIu64 ",\"reached\":%u}\n", p->work, reached);
}

static void print_row(const contestant *p, const options *o, const double *ratio) {
  printf("Pure level %u  %10.3f  %10.3f  %10.3f  %9.2f\n", p->level, sample_min(p->ms, o->rounds),
         sample_median(p->ms, o->rounds), sample_max(p->ms, o->rounds),
         sample_median(ratio, o->rounds));
}

static bool print_all(const contestant *p, const options *o, const double *c_ms, uint32_t reached) {
  double *ratio = malloc(o->rounds * sizeof *ratio);
  if (!ratio)
    return false;
  if (!o->json) {
    printf("%u nodes, %u edges, %u reached, %u rounds; distances equal node by node\n", o->nodes,
           o->edges, reached, o->rounds);
    printf("%-12s  %10s  %10s  %10s  %9s\n", "", "min ms", "median ms", "max ms", "ratio");
    printf("%-12s  %10.3f  %10.3f  %10.3f  %9.2f\n", "plain C", sample_min(c_ms, o->rounds),
           sample_median(c_ms, o->rounds), sample_max(c_ms, o->rounds), 1.0);
  }
  for (uint32_t i = 0; i < o->nlevels; i++) {
    for (uint32_t r = 0; r < o->rounds; r++)
      ratio[r] = p[i].ms[r] / c_ms[r];
    if (o->json)
      print_json(&p[i], o, c_ms, ratio, reached);
    else
      print_row(&p[i], o, ratio);
  }
  free(ratio);
  return true;
}

/* A level that quietly ran on the interpreter has not been measured. */
static bool ran_compiled(const contestant *p) {
  char tier[] = "level 0";
  pure_loop_stats s = {.size = sizeof s};
  tier[6] = (char)('0' + p->level);
  if (p->level == 0)
    return true;
  for (uint32_t i = 0; pure_session_loop_stats(p->session, i, &s) == PURE_OK; i++)
    if (strcmp(s.tier, tier) == 0)
      return true;
  fprintf(stderr, "bfs-run: nothing ran on level %u: %s\n", p->level, s.reason);
  return false;
}

static int run_all(const graph *g, contestant *p, const options *o, double *c_ms) {
  uint32_t reached = 0;
  for (uint32_t i = 0; i < o->nlevels; i++) {
    if (!contestant_open(&p[i], g, o->level[i], o->rounds))
      return EXIT_CANNOT;
  }
  for (uint32_t round = 0; round <= o->rounds; round++) {
    if (!run_round(g, p, o, round, c_ms, &reached))
      return EXIT_WRONG;
  }
  for (uint32_t i = 0; i < o->nlevels; i++)
    if (!ran_compiled(&p[i]))
      return EXIT_CANNOT;
  return print_all(p, o, c_ms, reached) ? 0 : EXIT_CANNOT;
}

int main(int argc, char **argv) {
  options o;
  int status = 0;
  if (!parse_options(argc, argv, &o, &status))
    return status;
  graph g;
  contestant p[MAX_LEVELS] = {{0}};
  double *c_ms = calloc(o.rounds, sizeof *c_ms);
  if (!c_ms || !graph_make(&g, o.nodes, o.edges, o.seed)) {
    fprintf(stderr, "bfs-run: no memory, or more edges than half of all pairs of nodes\n");
    free(c_ms);
    return EXIT_CANNOT;
  }
  status = run_all(&g, p, &o, c_ms);
  for (uint32_t i = 0; i < o.nlevels; i++)
    contestant_close(&p[i]);
  graph_free(&g);
  free(c_ms);
  return status;
}
