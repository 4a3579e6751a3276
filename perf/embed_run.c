/* What it costs to embed: columns of the host into a list, and calls of a host function.
 *
 * Columns: three of int64, into a list without keys, by pure_fill_ints and as Arrow; beside them C
 * that copies the columns and narrows the copies as far as their values allow.
 * Calls: a loop over a function of two ints; beside it the same loop in C, by a pointer. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <pure/arrow.h>
#include <pure/pure.h>

#include "perf/support/args.h"

static const char tool[] = "embed-run";
static const char usage[] =
    "usage: embed-run [OPTION]...\n"
    "  --rows N     of the columns (10000000)\n"
    "  --calls N    of the function (2000000)\n"
    "  --rounds N   timed (15)\n"
    "  --clock wall|cpu\n"
    "  --json       a line for each of both, its ratio to the first of its own\n"
    "  --help\n"
    "Exit status: 0 fine, 1 wrong answer, 2 usage, 3 cannot run.\n";

static const char text[] = "list l (a: int, b: int, c: int)\n"
                           "pure extern fn plus(a: int, b: int): int\n"
                           "query hot(n: int): int {\n"
                           "  var s = 0\n"
                           "  for i in 1..n { s = plus(s, i) }\n"
                           "  return s\n"
                           "}\n"
                           "query sum: int {\n"
                           "  var s = 0\n"
                           "  for r in l { s += r.a + r.b + r.c }\n"
                           "  return s\n"
                           "}\n";

enum { COLUMNS = 3 };

typedef struct {
  uint64_t rows, calls, rounds;
  sample_clock clock;
  bool json;
  int64_t *column[COLUMNS];
  int64_t sum; /* of all cells */
} options;

typedef struct {
  const options *o;
  pure_engine *engine;
  pure_program *program;
  pure_store *store;
  pure_session *session;
} side;

static race_status check(const racer *r, int64_t sum, int64_t expected) {
  if (sum == expected)
    return RACE_OK;
  fprintf(stderr, "%s: wrong answer: %s has %" PRId64 ", should be %" PRId64 "\n", tool, r->name,
          sum, expected);
  return RACE_WRONG;
}

static race_status complain(const pure_error *e) {
  fprintf(stderr, "%s: %s\n", tool, e->message);
  return RACE_CANNOT;
}

static __attribute__((noinline)) int64_t plus(pure_call *call, int64_t a, int64_t b) {
  (void)call;
  return a + b;
}

static race_status side_open(side *s, const options *o, pure_jit jit) {
  pure_error e = {0};
  pure_jit_options tiers = {.size = sizeof tiers, .threshold = 1};
  pure_engine_options engine = {
      .size = sizeof engine, .jit = jit, .environment = true, .jit_sync = true, .tiers = &tiers};
  const pure_binding b = {"pure plus(int, int): int", (pure_function)plus, NULL};
  s->o = o;
  if (pure_engine_new(&engine, &s->engine, &e) != PURE_OK ||
      pure_program_compile(s->engine, tool, text, sizeof text - 1, NULL, NULL, &s->program, &e) !=
          PURE_OK ||
      pure_bind(s->program, &b, 1, &e) != PURE_OK ||
      pure_store_new(s->program, &s->store, &e) != PURE_OK ||
      pure_session_new(s->store, &s->session, &e) != PURE_OK)
    return complain(&e);
  return RACE_OK;
}

static void side_close(side *s) {
  pure_session_release(s->session);
  pure_store_release(s->store);
  pure_program_release(s->program);
  pure_engine_release(s->engine);
}

/* Columns */

static uint64_t bits_of(const int64_t *v, uint64_t n) {
  uint64_t any = 0;
  for (uint64_t i = 0; i < n; i++)
    any |= (uint64_t)v[i];
  return any;
}

static void *narrowed(const int64_t *v, uint64_t n, unsigned *bytes) {
  uint64_t any = bits_of(v, n);
  *bytes = any < 256 ? 1 : any < 65536 ? 2 : 4;
  void *to = malloc(n * *bytes);
  if (!to)
    return NULL;
  for (uint64_t i = 0; *bytes == 1 && i < n; i++)
    ((uint8_t *)to)[i] = (uint8_t)v[i];
  for (uint64_t i = 0; *bytes == 2 && i < n; i++)
    ((uint16_t *)to)[i] = (uint16_t)v[i];
  for (uint64_t i = 0; *bytes == 4 && i < n; i++)
    ((uint32_t *)to)[i] = (uint32_t)v[i];
  return to;
}

static int64_t sum_of(const void *cells, unsigned bytes, uint64_t n) {
  int64_t sum = 0;
  for (uint64_t i = 0; i < n; i++)
    sum += bytes == 1   ? ((const uint8_t *)cells)[i]
           : bytes == 2 ? ((const uint16_t *)cells)[i]
                        : ((const uint32_t *)cells)[i];
  return sum;
}

static race_status run_copy(racer *self, sample_watch *watch) {
  const options *o = self->user;
  void *cells[COLUMNS] = {NULL};
  unsigned bytes[COLUMNS] = {0};
  bool fine = true;
  sample_start(watch);
  for (int c = 0; c < COLUMNS && fine; c++) {
    int64_t *copy = malloc(o->rows * sizeof *copy);
    if (copy) {
      memcpy(copy, o->column[c], o->rows * sizeof *copy);
      cells[c] = narrowed(copy, o->rows, &bytes[c]);
    }
    free(copy);
    fine = cells[c] != NULL;
  }
  sample_stop(watch);
  int64_t sum = 0;
  for (int c = 0; c < COLUMNS; c++) {
    sum += fine ? sum_of(cells[c], bytes[c], o->rows) : 0;
    free(cells[c]);
  }
  return !fine ? RACE_CANNOT : sum == o->sum ? RACE_OK : RACE_WRONG;
}

static race_status check_sum(side *s, const options *o) {
  pure_error e = {0};
  pure_result *r;
  if (pure_session_call(s->session, "sum", NULL, 0, &r, &e) != PURE_OK)
    return complain(&e);
  race_status status = pure_result_value(r).as.i == o->sum ? RACE_OK : RACE_WRONG;
  pure_result_release(r);
  return status;
}

static pure_status fill_ints(pure_fill *fill, const options *o, pure_error *e) {
  pure_status status = PURE_OK;
  for (uint32_t c = 0; c < COLUMNS && status == PURE_OK; c++)
    status = pure_fill_ints(fill, c, o->column[c], o->rows, e);
  return status;
}

static void schema_done(struct ArrowSchema *s) { s->release = NULL; }
static void array_done(struct ArrowArray *a) { a->release = NULL; }

static pure_status fill_arrow(pure_fill *fill, const options *o, pure_error *e) {
  static const char *const names[COLUMNS] = {"a", "b", "c"};
  struct ArrowSchema schemas[COLUMNS], *schema_of[COLUMNS];
  struct ArrowArray arrays[COLUMNS], *array_of[COLUMNS];
  const void *buffers[COLUMNS][2], *none[1] = {NULL};
  for (int c = 0; c < COLUMNS; c++) {
    schemas[c] = (struct ArrowSchema){.format = "l", .name = names[c], .release = schema_done};
    buffers[c][0] = NULL, buffers[c][1] = o->column[c];
    arrays[c] = (struct ArrowArray){
        .length = (int64_t)o->rows, .n_buffers = 2, .buffers = buffers[c], .release = array_done};
    schema_of[c] = &schemas[c], array_of[c] = &arrays[c];
  }
  struct ArrowSchema schema = {
      .format = "+s", .n_children = COLUMNS, .children = schema_of, .release = schema_done};
  struct ArrowArray array = {.length = (int64_t)o->rows,
                             .n_buffers = 1,
                             .n_children = COLUMNS,
                             .buffers = none,
                             .children = array_of,
                             .release = array_done};
  return pure_fill_arrow(fill, &schema, &array, e);
}

static race_status run_fill(racer *self, sample_watch *watch, bool arrow) {
  const options *o = self->user;
  side s = {0};
  pure_error e = {0};
  pure_fill *fill = NULL;
  race_status status = side_open(&s, o, PURE_JIT_3);
  if (status == RACE_OK) {
    sample_start(watch);
    pure_status filled = pure_fill_new(s.store, "l", &fill, &e);
    if (filled == PURE_OK)
      filled = arrow ? fill_arrow(fill, o, &e) : fill_ints(fill, o, &e);
    if (filled == PURE_OK)
      filled = pure_fill_finish(fill, PURE_DUPLICATE_ERROR, &e);
    sample_stop(watch);
    status = filled == PURE_OK ? check_sum(&s, o) : complain(&e);
  }
  pure_fill_release(fill);
  side_close(&s);
  return status;
}

static race_status run_ints(racer *self, sample_watch *watch) {
  return run_fill(self, watch, false);
}
static race_status run_arrow(racer *self, sample_watch *watch) {
  return run_fill(self, watch, true);
}

/* Calls */

static race_status run_c(racer *self, sample_watch *watch) {
  const options *o = self->user;
  int64_t (*volatile hidden)(pure_call *, int64_t, int64_t) = plus;
  int64_t (*f)(pure_call *, int64_t, int64_t) = hidden, n = (int64_t)o->calls, s = 0;
  sample_start(watch);
  for (int64_t i = 1; i <= n; i++)
    s = f(NULL, s, i);
  sample_stop(watch);
  return check(self, s, n * (n + 1) / 2);
}

static race_status run_pure(racer *self, sample_watch *watch) {
  side *s = self->user;
  pure_error e = {0};
  pure_result *r;
  int64_t n = (int64_t)s->o->calls;
  pure_value argument = pure_int(n);
  sample_start(watch);
  pure_status status = pure_session_call(s->session, "hot", &argument, 1, &r, &e);
  sample_stop(watch);
  if (status != PURE_OK)
    return complain(&e);
  self->work = pure_session_work(s->session);
  int64_t answer = pure_result_value(r).as.i;
  pure_result_release(r);
  return check(self, answer, n * (n + 1) / 2);
}

static bool make_columns(options *o) {
  for (int c = 0; c < COLUMNS; c++) {
    o->column[c] = malloc(o->rows * sizeof(int64_t));
    for (uint64_t i = 0; o->column[c] && i < o->rows; i++) {
      o->column[c][i] = (int64_t)(i * UINT64_C(2654435761) % (c == 2 ? 200 : 60000));
      o->sum += o->column[c][i];
    }
    if (!o->column[c])
      return false;
  }
  return true;
}

enum { FILLS = 3, LEVELS = 4, CALLERS = LEVELS + 1 };

static race_status race_columns(options *o, racer r[FILLS]) {
  r[0] = (racer){.name = "memcpy and narrow", .run = run_copy, .user = o};
  r[1] = (racer){.name = "pure_fill_ints", .run = run_ints, .user = o};
  r[2] = (racer){.name = "pure_fill_arrow", .run = run_arrow, .user = o};
  return race_run(tool, o->clock, r, FILLS, (uint32_t)o->rounds);
}

static race_status race_calls(options *o, side sides[LEVELS], racer r[CALLERS]) {
  static const pure_jit levels[LEVELS] = {PURE_JIT_0, PURE_JIT_1, PURE_JIT_2, PURE_JIT_3};
  race_status status = RACE_OK;
  r[0] = (racer){.name = "C", .run = run_c, .user = o};
  for (int i = 0; i < LEVELS && status == RACE_OK; i++) {
    r[i + 1] = (racer){.run = run_pure, .user = &sides[i], .group = 1};
    snprintf(r[i + 1].name, sizeof r[i + 1].name, "Pure level %d", i);
    status = side_open(&sides[i], o, levels[i]);
  }
  if (status == RACE_OK)
    status = race_run(tool, o->clock, r, CALLERS, (uint32_t)o->rounds);
  return status;
}

static void print_all(const options *o, const racer fills[FILLS], const racer callers[CALLERS]) {
  const racer *bases[] = {&fills[0], &fills[1]}, *base = &callers[0];
  uint32_t rounds = (uint32_t)o->rounds;
  printf("%" PRIu64 " rows of 3 ints, %u rounds; sums equal\n", o->rows, rounds);
  race_print(fills, FILLS, rounds, bases, 2);
  printf("%" PRIu64 " calls, %u rounds; answers and work equal\n", o->calls, rounds);
  race_print(callers, CALLERS, rounds, &base, 1);
}

static void print_json(const options *o, const char *what, uint64_t n, const racer *r, int racers) {
  uint32_t rounds = (uint32_t)o->rounds;
  for (int i = 0; i < racers; i++) {
    printf("{\"race\":\"%s\",\"name\":\"%s\",\"n\":%" PRIu64
           ",\"rounds\":%u,\"clock\":\"%s\",\"base_ms\":%.4f,\"ratio\":%.4f",
           what, r[i].name, n, rounds, sample_clock_name(o->clock), sample_median(r->ms, rounds),
           race_ratio(&r[i], r, rounds));
    race_print_json(&r[i], rounds);
    printf(",\"work\":%" PRIu64 "}\n", r[i].work);
  }
}

/* No time is printed before both races are over. */
static race_status run_all(options *o) {
  side sides[LEVELS] = {{0}};
  racer fills[FILLS] = {{.user = NULL}}, callers[CALLERS] = {{.user = NULL}};
  race_status status = make_columns(o) ? race_columns(o, fills) : RACE_CANNOT;
  if (status == RACE_OK)
    status = race_calls(o, sides, callers);
  if (status == RACE_OK && o->json) {
    print_json(o, "columns", o->rows, fills, FILLS);
    print_json(o, "calls", o->calls, callers, CALLERS);
  } else if (status == RACE_OK) {
    print_all(o, fills, callers);
  }
  race_free(fills, FILLS);
  race_free(callers, CALLERS);
  for (int i = 0; i < LEVELS; i++)
    side_close(&sides[i]);
  return status;
}

int main(int argc, char **argv) {
  options o = {.rows = 10000000, .calls = 2000000, .rounds = 15};
  const args_option table[] = {{"--rows", ARGS_NUMBER, &o.rows, 1, UINT64_C(1) << 31},
                               {"--calls", ARGS_NUMBER, &o.calls, 1, UINT64_C(1) << 31},
                               {"--rounds", ARGS_NUMBER, &o.rounds, 1, 100000},
                               {"--clock", ARGS_CLOCK, &o.clock, 0, 0},
                               {"--json", ARGS_FLAG, &o.json, 0, 0},
                               {0}};
  int status = 0;
  if (!args_parse(argc, argv, tool, usage, table, &status))
    return status;
  race_warn_of_load(tool);
  status = (int)run_all(&o);
  for (int c = 0; c < COLUMNS; c++)
    free(o.column[c]);
  return status;
}
