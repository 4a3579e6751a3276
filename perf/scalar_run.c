/* scalar-run: a loop without lists, sum of i * i % 7, in Pure beside C -O2, in turn.
 *
 * The C is in a file of its own and n is known at run time only, so that it is neither folded nor
 * specialised.  It does not test for overflow, as C does not; Pure does.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "perf/support/args.h"
#include "perf/support/pure_side.h"
#include "perf/support/sample.h"
#include "perf/support/scalar_c.h"

static const char tool[] = "scalar-run";
static const char usage[] =
    "usage: scalar-run [--n N] [--rounds R] [--levels L,L...] [--clock C] [--json]\n"
    "\n"
    "The sum of i * i % 7 for i in 1 .. n in Pure beside C -O2, in turn, in this process; answers\n"
    "and work are compared before a time is printed.\n"
    "\n"
    "  --n N        turns of the loop (default 20000000)\n"
    "  --rounds R   timed rounds, after two that are not timed (default 7)\n"
    "  --levels L   levels of Pure (default 0,1,2,3)\n"
    "  --clock C    wall, or cpu: of the thread alone, for busy machines (default wall)\n"
    "  --json       a line of JSON for each level instead of the table\n"
    "  --spoil WHO  change one answer of the racer of that name, to see it caught\n"
    "\n"
    "Ratios are of medians.\n"
    "Exit status: 0, 1 wrong answer, 2 usage, 3 could not run (memory, level not in this build)\n";

static const char text[] = "query total(n: int): int {\n"
                           "  var s = 0\n"
                           "  for i in 1..n { s += i * i % 7 }\n"
                           "  return s\n"
                           "}\n";

typedef struct {
  uint64_t n, rounds;
  args_levels levels;
  sample_clock clock;
  const char *spoil;
  bool json;
} options;

/* What racers are given. */
typedef struct {
  const options *o;
  int64_t answer;
  pure_side side; /* of Pure */
} contestant;

static race_status check(const contestant *c, const racer *r, int64_t answer) {
  if (c->o->spoil && strcmp(c->o->spoil, r->name) == 0)
    answer++;
  if (answer == c->answer)
    return RACE_OK;
  fprintf(stderr, "%s: wrong answer: %s says %" PRId64 ", should be %" PRId64 "\n", tool, r->name,
          answer, c->answer);
  return RACE_WRONG;
}

static race_status run_c(racer *self, sample_watch *watch) {
  const contestant *c = self->user;
  sample_start(watch);
  int64_t answer = scalar_total((int64_t)c->o->n);
  sample_stop(watch);
  return check(c, self, answer);
}

static race_status run_pure(racer *self, sample_watch *watch) {
  contestant *c = self->user;
  pure_value n = pure_int((int64_t)c->o->n);
  pure_result *result;
  race_status status = pure_side_call(&c->side, "total", &n, 1, &result, watch);
  if (status != RACE_OK)
    return status;
  status = check(c, self, pure_result_value(result).as.i);
  self->work = pure_session_work(c->side.session);
  pure_side_release(result, watch);
  return status;
}

/* By another way than the loops: squares modulo 7 repeat every 7 turns. */
static int64_t expected(uint64_t n) {
  static const int64_t square[7] = {0, 1, 4, 2, 2, 4, 1};
  int64_t sum = (int64_t)(n / 7) * (1 + 4 + 2 + 2 + 4 + 1);
  for (uint64_t i = 1; i <= n % 7; i++)
    sum += square[i];
  return sum;
}

static void print_json(const racer *r, const racer *plain, const options *o, uint32_t level) {
  uint32_t rounds = (uint32_t)o->rounds;
  printf("{\"level\":%u,\"n\":%" PRIu64 ",\"rounds\":%u,\"compiler\":\"%s\",\"clock\":\"%s\""
         ",\"c_ms\":%.4f,\"ratio\":%.4f",
         level, o->n, rounds, scalar_compiler, sample_clock_name(o->clock),
         sample_median(plain->ms, rounds), race_ratio(r, plain, rounds));
  race_print_json(r, rounds);
  printf(",\"work\":%" PRIu64 "}\n", r->work);
}

static void print_all(const racer *r, uint32_t n, const options *o) {
  const racer *plain = &r[0];
  if (!o->json) {
    printf("sum of i * i %% 7, %" PRIu64 " turns, %" PRIu64 " rounds; answers and work equal\n",
           o->n, o->rounds);
    race_print(r, n, (uint32_t)o->rounds, &plain, 1);
  }
  for (uint32_t i = 1; o->json && i < n; i++)
    print_json(&r[i], plain, o, o->levels.level[i - 1]);
}

static race_status run_all(const options *o, contestant *c, racer *r, uint32_t n) {
  race_status status = RACE_OK;
  for (uint32_t i = 0; status == RACE_OK && i < n; i++) {
    c[i].o = o;
    c[i].answer = expected(o->n);
    r[i] = (racer){.run = i ? run_pure : run_c, .user = &c[i], .name = "C -O2"};
    if (i == 0)
      continue;
    snprintf(r[i].name, sizeof r[i].name, "Pure level %u", o->levels.level[i - 1]);
    status = pure_side_open(&c[i].side, tool, o->levels.level[i - 1], text, sizeof text - 1);
  }
  if (status == RACE_OK)
    status = race_check_name(tool, r, n, o->spoil);
  if (status == RACE_OK)
    status = race_run(tool, o->clock, r, n, (uint32_t)o->rounds);
  for (uint32_t i = 1; status == RACE_OK && i < n; i++)
    status = pure_side_ran_compiled(&c[i].side, "total");
  if (status == RACE_OK)
    print_all(r, n, o);
  return status;
}

int main(int argc, char **argv) {
  options o = {.n = 20000000, .rounds = 7, .levels = {.n = 4, .level = {0, 1, 2, 3}}};
  const args_option table[] = {
      {"--n", ARGS_NUMBER, &o.n, 1, UINT64_C(1) << 31},
      {"--rounds", ARGS_NUMBER, &o.rounds, 1, 100000},
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
  contestant c[1 + ARGS_MAX_LEVELS] = {{0}};
  racer r[1 + ARGS_MAX_LEVELS] = {{.user = NULL}};
  uint32_t n = 1 + o.levels.n;
  status = (int)run_all(&o, c, r, n);
  race_free(r, n);
  for (uint32_t i = 1; i < n; i++)
    pure_side_close(&c[i].side);
  return status;
}
