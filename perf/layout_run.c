/* layout-run: what the thresholds of layouts cost and save, one engine for each setting, in turn.
 *
 *   array   a stored list is changed, which makes a tree of it, and then looked up in by eight
 *           queries; PURE_LIST_ARRAY_LOOKUPS says after how many look-ups it is an array again
 *   slices  the same with keys of two columns: the first row of each slice is asked for
 *   dense   a local list is filled in a random order and looked up in; PURE_LIST_DENSE_SPARSITY
 *           says whether it is dense or a hash list
 *
 * Sums and work are compared in every round, outside of the clock, before a time is printed.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "perf/support/args.h"
#include "perf/support/probe.h"
#include "perf/support/random.h"
#include "perf/support/sum_side.h"

static const char tool[] = "layout-run";
static const char usage[] =
    "usage: layout-run [--what W] [--rows N] [--lookups L] [--sparsity S] [--settings T,T...]\n"
    "                  [--level V] [--seed S] [--rounds R] [--clock C] [--json]\n"
    "\n"
    "What the thresholds of layouts cost and save: one engine for each setting, in turn, in this\n"
    "process; sums and work are compared before a time is printed.\n"
    "\n"
    "  --what array   a stored list is changed and then looked up in by eight queries; settings\n"
    "                 are of PURE_LIST_ARRAY_LOOKUPS, 0: it stays a tree (the default)\n"
    "  --what slices  the same, the first row of a slice each time\n"
    "  --what dense   a local list is filled in a random order and looked up in; settings are of\n"
    "                 PURE_LIST_DENSE_SPARSITY, 0: it is a hash list, whatever its keys\n"
    "  --rows N       of the list (default 100000)\n"
    "  --lookups L    all together (default 100000)\n"
    "  --sparsity S   numbers for each key (default 32)\n"
    "  --settings T   (default 0,1,2,4,8,16,32,64; of dense 0,1000000000)\n"
    "  --level V      of Pure (default 3)\n"
    "  --seed S       of the rows (default 1)\n"
    "  --rounds R     timed rounds, after two that are not timed (default 7)\n"
    "  --clock C      wall, or cpu: of the thread alone, for busy machines (default wall)\n"
    "  --json         a line of JSON for each setting instead of the table\n"
    "  --spoil WHO    change the answer of the racer of that name, to see it caught\n"
    "\n"
    "Ratios are of medians, to the first setting.\n"
    "Exit status: 0, 1 wrong answer, 2 usage, 3 could not run (memory, level not in this build)\n";

static const char array_text[] =
    "list rows (key: int, value: int) key key\n"
    "list probes (key: int)\n"
    "query look(start: int, after: int): int {\n"
    "  var total = 0\n"
    "  for i in start..after {\n"
    "    if let r = rows[probes[i].key] { total += r.value } else { total += 1 }\n"
    "  }\n"
    "  return total\n"
    "}\n"
    "event change(k: int) {\n"
    "  put rows (k, 0)\n"
    "  delete rows[k]\n"
    "}\n";
static const char slices_text[] =
    "list rows (key: int, place: int, value: int) key (key, place)\n"
    "list probes (key: int)\n"
    "query look(start: int, after: int): int {\n"
    "  var total = 0\n"
    "  for i in start..after {\n"
    "    if let r = first(rows[probes[i].key]) { total += r.value } else { total += 1 }\n"
    "  }\n"
    "  return total\n"
    "}\n"
    "event change(k: int) {\n"
    "  put rows (k, 0, 0)\n"
    "  delete rows[k, 0]\n"
    "}\n";
static const char dense_text[] =
    "list input (key: int, value: int)\n"
    "list probes (key: int)\n"
    "query look(): int {\n"
    "  local rows (key: int, value: int) key key\n"
    "  for r in input { put rows (r.key, r.value) }\n"
    "  var total = 0\n"
    "  for p in probes {\n"
    "    if let r = rows[p.key] { total += r.value } else { total += 1 }\n"
    "  }\n"
    "  return total\n"
    "}\n";

enum { ARRAY, SLICES, DENSE, WHATS, QUERIES = 8 };
static const char *const what_names[WHATS] = {"array", "slices", "dense"};

typedef struct {
  uint64_t rows, lookups, sparsity, rounds, seed;
  args_names what;
  args_levels level;
  args_numbers settings;
  sample_clock clock;
  const char *spoil;
  bool json;
} options;

typedef struct {
  sum_task task;
  probe_data data;
  uint32_t *key, *value; /* the rows in a random order */
  uint32_t what, n;
  sum_pure pure[ARGS_MAX_NUMBERS];
  racer racers[ARGS_MAX_NUMBERS];
} contest;

static bool fill_stored(const void *data, pure_side *side) {
  const contest *c = data;
  const uint32_t *const columns[] = {c->data.key, c->data.value};
  const uint32_t *const slices[] = {c->data.key, c->value, c->data.value}; /* any places */
  const uint32_t *const probes = c->data.probe;
  bool ok = c->what == ARRAY ? sum_fill_list(side, "rows", columns, 2, c->data.rows)
                             : sum_fill_list(side, "rows", slices, 3, c->data.rows);
  return ok && sum_fill_list(side, "probes", &probes, 1, c->data.probes);
}

static bool fill_input(const void *data, pure_side *side) {
  const contest *c = data;
  const uint32_t *const columns[] = {c->key, c->value};
  const uint32_t *const probes = c->data.probe;
  return sum_fill_list(side, "input", columns, 2, c->data.rows) &&
         sum_fill_list(side, "probes", &probes, 1, c->data.probes);
}

static race_status call(sum_pure *p, const char *function, const pure_value *arguments, uint32_t n,
                        int64_t *sum, uint64_t *work, sample_watch *watch) {
  pure_result *result;
  race_status status = pure_side_call(&p->side, function, arguments, n, &result, watch);
  if (status != RACE_OK)
    return status;
  *work += pure_session_work(p->side.session);
  if (pure_result_get_kind(result) == PURE_RESULT_VALUE)
    *sum += pure_result_value(result).as.i;
  pure_side_release(result, watch);
  return RACE_OK;
}

/* A change, and all look-ups in eight calls: a list changes its layout between calls alone. */
static race_status run_array(racer *self, sample_watch *watch) {
  sum_pure *p = self->user;
  const contest *c = (const contest *)p->task; /* its first member */
  int64_t probes = c->data.probes, sum = 0;
  pure_value key = pure_int(1);
  uint64_t work = 0;
  race_status status = call(p, "change", &key, 1, &sum, &work, watch);
  for (int64_t q = 0; status == RACE_OK && q < QUERIES; q++) {
    pure_value part[] = {pure_int(probes * q / QUERIES), pure_int(probes * (q + 1) / QUERIES - 1)};
    status = call(p, "look", part, 2, &sum, &work, watch);
  }
  self->work = work;
  return status == RACE_OK ? sum_check(p->task, self, sum) : status;
}

static race_status open_one(contest *c, const options *o, uint64_t setting) {
  char number[24];
  snprintf(number, sizeof number, "%" PRIu64, setting);
  const char *const array[] = {"PURE_LIST_ARRAY_LOOKUPS", number, NULL};
  const char *const dense[] = {"PURE_LIST_DENSE_SPARSITY", number, "PURE_LIST_DENSE_MIN_SPAN", "0",
                               NULL};
  static const char *const texts[WHATS] = {array_text, slices_text, dense_text};
  bool stored = c->what != DENSE;
  const sum_how how = {.name = "setting",
                       .text = texts[c->what],
                       .function = "look",
                       .variables = stored ? array : dense,
                       .fill = stored ? fill_stored : fill_input,
                       .data = c};
  racer *r = &c->racers[c->n];
  race_status status = sum_pure_open(&c->pure[c->n++], &c->task, &how, o->level.level[0], r);
  snprintf(r->name, sizeof r->name, "%s", number);
  if (stored)
    r->run = run_array;
  return status;
}

static bool shuffle_rows(contest *c, uint64_t seed) {
  const probe_data *d = &c->data;
  c->key = malloc(d->rows * sizeof *c->key);
  c->value = malloc(d->rows * sizeof *c->value);
  if (!c->key || !c->value)
    return false;
  for (uint32_t i = 0; i < d->rows; i++) {
    uint32_t j = random_below(&seed, i + 1);
    c->key[i] = c->key[j];
    c->value[i] = c->value[j];
    c->key[j] = d->key[i];
    c->value[j] = d->value[i];
  }
  return true;
}

static race_status open_all(contest *c, const options *o) {
  c->what = o->what.on[DENSE] ? DENSE : o->what.on[SLICES] ? SLICES : ARRAY;
  bool made = o->rows * o->sparsity < UINT32_MAX / 2 &&
              probe_data_make(&c->data, (uint32_t)o->rows, (uint32_t)o->lookups,
                              (uint32_t)o->sparsity, o->seed) &&
              shuffle_rows(c, o->seed);
  if (!made) {
    fprintf(stderr, "%s: no memory, or rows times sparsity is 2^31 or more\n", tool);
    return RACE_CANNOT;
  }
  c->task.sum = probe_run(&c->data, PROBE_C_HASH);
  race_status status = RACE_OK;
  for (uint32_t i = 0; status == RACE_OK && i < o->settings.n; i++)
    status = open_one(c, o, o->settings.number[i]);
  return status;
}

static void print_json(const contest *c, const options *o) {
  for (uint32_t i = 0; i < c->n; i++) {
    const racer *r = &c->racers[i];
    pure_memory_stats memory;
    pure_engine_memory(c->pure[i].side.engine, &memory);
    printf("{\"what\":\"%s\",\"setting\":%" PRIu64 ",\"level\":%u,\"rows\":%" PRIu64
           ",\"lookups\":%" PRIu64 ",\"sparsity\":%" PRIu64 ",\"seed\":%" PRIu64
           ",\"rounds\":%" PRIu64 ",\"clock\":\"%s\",\"ratio\":%.4f,\"peak_bytes\":%" PRIu64,
           what_names[c->what], o->settings.number[i], o->level.level[0], o->rows, o->lookups,
           o->sparsity, o->seed, o->rounds, sample_clock_name(o->clock),
           race_ratio(r, &c->racers[0], (uint32_t)o->rounds), memory.peak_bytes);
    race_print_json(r, (uint32_t)o->rounds);
    printf(",\"sum\":%" PRId64 ",\"work\":%" PRIu64 "}\n", c->task.sum, r->work);
  }
}

/* Code comes and goes with the layouts: that there was some is all that can be asked for. */
static race_status ran_compiled(const sum_pure *p, uint32_t level) {
  pure_jit_stats s = {.size = sizeof s};
  pure_engine_jit_stats(p->side.engine, &s);
  if (level == 0 || s.compiled + s.cached > 0)
    return RACE_OK;
  fprintf(stderr, "%s: nothing was compiled for level %u\n", tool, level);
  return RACE_CANNOT;
}

static race_status run_all(contest *c, const options *o) {
  uint32_t rounds = (uint32_t)o->rounds;
  race_status status = open_all(c, o);
  if (status == RACE_OK)
    status = race_check_name(tool, c->racers, c->n, o->spoil);
  if (status == RACE_OK)
    status = race_run(tool, o->clock, c->racers, c->n, rounds);
  for (uint32_t i = 0; status == RACE_OK && i < c->n; i++)
    status = ran_compiled(&c->pure[i], o->level.level[0]);
  if (status != RACE_OK)
    return status;
  const racer *first = &c->racers[0];
  if (o->json) {
    print_json(c, o);
  } else {
    printf("%s: %" PRIu64 " rows, %" PRIu64 " look-ups, %" PRIu64 " numbers a key, %u rounds; sums "
           "and work equal\n",
           what_names[c->what], o->rows, o->lookups, o->sparsity, rounds);
    race_print(c->racers, c->n, rounds, &first, 1);
  }
  return RACE_OK;
}

int main(int argc, char **argv) {
  options o = {.rows = 100000, .lookups = 100000, .sparsity = 32, .rounds = 7, .seed = 1};
  o.what = (args_names){.known = what_names, .nknown = WHATS};
  o.level = (args_levels){1, {3}};
  const args_option table[] = {
      {"--what", ARGS_NAMES, &o.what, 0, 0},
      {"--rows", ARGS_NUMBER, &o.rows, 1, UINT32_MAX / 4},
      {"--lookups", ARGS_NUMBER, &o.lookups, QUERIES, UINT32_MAX / 4},
      {"--sparsity", ARGS_NUMBER, &o.sparsity, 1, 4096},
      {"--settings", ARGS_NUMBERS, &o.settings, 0, UINT64_MAX},
      {"--level", ARGS_LEVELS, &o.level, 0, 0},
      {"--rounds", ARGS_NUMBER, &o.rounds, 1, 100000},
      {"--seed", ARGS_NUMBER, &o.seed, 0, UINT64_MAX},
      {"--clock", ARGS_CLOCK, &o.clock, 0, 0},
      {"--json", ARGS_FLAG, &o.json, 0, 0},
      {"--spoil", ARGS_TEXT, &o.spoil, 0, 0},
      {0},
  };
  int status = 0;
  if (!args_parse(argc, argv, tool, usage, table, &status))
    return status;
  if (o.settings.n == 0)
    o.settings = o.what.on[DENSE] ? (args_numbers){2, {0, 1000000000}}
                                  : (args_numbers){8, {0, 1, 2, 4, 8, 16, 32, 64}};
  race_warn_of_load(tool);
  contest c = {.task = {.tool = tool, .spoil = o.spoil}};
  status = (int)run_all(&c, &o);
  race_free(c.racers, c.n);
  for (uint32_t i = 0; i < c.n; i++)
    sum_pure_close(&c.pure[i]);
  probe_data_free(&c.data);
  free(c.key);
  free(c.value);
  return status;
}
