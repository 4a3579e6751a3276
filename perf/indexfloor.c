/* indexfloor: rows looked up by key, in a random order: directories of buckets by hand with 1, 8
 * and 32 keys a bucket, and Pure with directories planned for as many rows.
 *
 * Keys are spread so thin that no layout gives each number a place of its own.  What has to be
 * found is one sum; all sums are compared in every round, outside of the clock, before a time is
 * printed.
 */
#include <inttypes.h>
#include <stdio.h>

#include "perf/support/args.h"
#include "perf/support/probe.h"
#include "perf/support/sum_side.h"

static const char tool[] = "indexfloor";
static const char usage[] =
    "usage: indexfloor [--rows N] [--probes P] [--sparsity S] [--seed S] [--rounds R]\n"
    "                  [--levels L,L...] [--clock C] [--json]\n"
    "\n"
    "Rows looked up by key, in a random order, seven of eight found: by hand and in Pure, in\n"
    "turn, in this process; sums and work are compared before a time is printed. Times are of all\n"
    "look-ups.\n"
    "\n"
    "  plain C        a binary search over all keys\n"
    "  c_hash         open addressing, at most half full\n"
    "  aligned_N      a directory of buckets of about N keys, the first one beginning at a\n"
    "                 multiple of their width; N is 1, 8, 32\n"
    "  unaligned_N    the same, the first one beginning at the least key\n"
    "  array_N L      Pure at level L, its directory planned for N rows a bucket\n"
    "\n"
    "  --rows N     (default 1000000)\n"
    "  --probes P   look-ups (default 1000000)\n"
    "  --sparsity S numbers for each key (default 32)\n"
    "  --seed S     of the rows (default 1)\n"
    "  --rounds R   timed rounds, after two that are not timed (default 7)\n"
    "  --levels L   levels of Pure, such as 0 or 0,1,2,3, or none (default 3)\n"
    "  --clock C    wall, or cpu: of the thread alone, for busy machines (default wall)\n"
    "  --json       a line of JSON for each form instead of the table\n"
    "  --spoil WHO  change the answer of the racer of that name, to see it caught\n"
    "\n"
    "Ratios are of medians.\n"
    "Exit status: 0, 1 wrong answer, 2 usage, 3 could not run (memory, level not in this build)\n";

static const char text[] = "list rows (key: int, value: int) key key\n"
                           "list probes (key: int)\n"
                           "query look(): int {\n"
                           "  var total = 0\n"
                           "  for p in probes {\n"
                           "    if let r = rows[p.key] { total += r.value } else { total += 1 }\n"
                           "  }\n"
                           "  return total\n"
                           "}\n";

/* A directory of buckets, not one a key, at every sparsity. */
static const char *const one_row[] = {"PURE_LIST_BUCKET_ROWS", "1", "PURE_LIST_BUCKET_SPAN", "0",
                                      NULL};
static const char *const eight_rows[] = {"PURE_LIST_BUCKET_ROWS", "8", "PURE_LIST_BUCKET_SPAN", "0",
                                         NULL};
static const char *const many_rows[] = {"PURE_LIST_BUCKET_ROWS", "32", "PURE_LIST_BUCKET_SPAN", "0",
                                        NULL};
enum { MOST = PROBE_FORMS + PROBE_WIDTHS * ARGS_MAX_LEVELS };

typedef struct {
  uint64_t rows, probes, sparsity, rounds, seed;
  args_levels levels;
  sample_clock clock;
  const char *spoil;
  bool json;
} options;

typedef struct {
  sum_task task;
  probe_data data;
  uint32_t npure, n;
  sum_floor floors[PROBE_FORMS];
  sum_pure pure[PROBE_WIDTHS * ARGS_MAX_LEVELS];
  racer racers[MOST];
} contest;

static int64_t run_form(const void *data, uint32_t form) {
  return probe_run(data, (probe_form)form);
}

static bool fill_lists(const void *data, pure_side *side) {
  const probe_data *d = data;
  const uint32_t *const columns[] = {d->key, d->value};
  const uint32_t *const probes = d->probe;
  return sum_fill_list(side, "rows", columns, 2, d->rows) &&
         sum_fill_list(side, "probes", &probes, 1, d->probes) && sum_has_layout(side, 0, "array");
}

static race_status open_all(contest *c, const options *o) {
  const sum_how how[PROBE_WIDTHS] = {
      {"array_1 level", text, "look", one_row, fill_lists, &c->data},
      {"array_8 level", text, "look", eight_rows, fill_lists, &c->data},
      {"array_32 level", text, "look", many_rows, fill_lists, &c->data},
  };
  race_progress(tool, "making the rows");
  bool made = o->rows * o->sparsity < UINT32_MAX / 2 &&
              probe_data_make(&c->data, (uint32_t)o->rows, (uint32_t)o->probes,
                              (uint32_t)o->sparsity, o->seed);
  race_progress(tool, NULL);
  if (!made) {
    fprintf(stderr, "%s: no memory, or rows times sparsity is 2^31 or more\n", tool);
    return RACE_CANNOT;
  }
  c->task.sum = probe_run(&c->data, PROBE_C);
  for (uint32_t form = 0; form < PROBE_FORMS; form++) {
    c->floors[form] = (sum_floor){&c->task, run_form, &c->data, form};
    sum_floor_open(&c->floors[form], probe_names[form], &c->racers[c->n++]);
  }
  race_status status = RACE_OK;
  for (uint32_t width = 0; width < PROBE_WIDTHS; width++)
    for (uint32_t i = 0; status == RACE_OK && i < o->levels.n; i++)
      status = sum_pure_open(&c->pure[c->npure++], &c->task, &how[width], o->levels.level[i],
                             &c->racers[c->n++]);
  return status;
}

static void print_json(const contest *c, const options *o) {
  for (uint32_t i = 0; i < c->n; i++) {
    const racer *r = &c->racers[i];
    printf("{\"form\":\"%s\",\"compiler\":\"%s\",\"rows\":%" PRIu64 ",\"probes\":%" PRIu64
           ",\"sparsity\":%" PRIu64 ",\"seed\":%" PRIu64 ",\"rounds\":%" PRIu64
           ",\"clock\":\"%s\",\"ratio\":%.4f",
           r->name, probe_compiler, o->rows, o->probes, o->sparsity, o->seed, o->rounds,
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
    status = pure_side_ran_compiled(&c->pure[i].side, "look");
  if (status != RACE_OK)
    return status;
  const racer *bases[] = {&c->racers[PROBE_C], race_find(c->racers, c->n, "aligned_8")};
  if (o->json) {
    print_json(c, o);
  } else {
    printf("%" PRIu64 " rows, %" PRIu64 " look-ups, %" PRIu64 " numbers a key, %u rounds; sums "
           "equal\n",
           o->rows, o->probes, o->sparsity, rounds);
    race_print(c->racers, c->n, rounds, bases, 2);
  }
  return RACE_OK;
}

int main(int argc, char **argv) {
  options o = {.rows = 1000000,
               .probes = 1000000,
               .sparsity = 32,
               .rounds = 7,
               .seed = 1,
               .levels = {1, {3}}};
  const args_option table[] = {
      {"--rows", ARGS_NUMBER, &o.rows, 1, UINT32_MAX / 4},
      {"--probes", ARGS_NUMBER, &o.probes, 1, UINT32_MAX / 4},
      {"--sparsity", ARGS_NUMBER, &o.sparsity, 1, 4096},
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
  probe_data_free(&c.data);
  return status;
}
