/* scan-run: scans shaped like TPC-H's Q1 and Q6 in Pure beside C over the same narrow columns, and
 * other forms by hand.
 *
 * Q1 groups by two small columns with eight aggregates, Q6 has three range filters and one sum of
 * products.  q1_one_key is Q1 with the two columns made one key.  Rows are generated in memory;
 * the C is compiled with -O3 -march=native.  Answers are compared in every round, outside of the
 * clock, before a time is printed.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "perf/support/args.h"
#include "perf/support/lineitem.h"
#include "perf/support/pure_side.h"
#include "perf/support/sample.h"

static const char tool[] = "scan-run";
static const char usage[] =
    "usage: scan-run [--rows N] [--seed S] [--rounds R] [--levels L,L...] [--queries Q,Q...]\n"
    "                [--floors F,F...] [--clock C] [--json]\n"
    "\n"
    "Scans of generated rows like those of TPC-H's lineitem, in Pure beside C -O3 -march=native\n"
    "over the same narrow columns, in turn, in this process; answers and work are compared before\n"
    "a time is printed.\n"
    "\n"
    "  --rows N     rows (default 6000000)\n"
    "  --seed S     of the rows (default 1)\n"
    "  --rounds R   timed rounds, after two that are not timed (default 7)\n"
    "  --levels L   levels of Pure (default 0,1,2,3)\n"
    "  --queries Q  of q1 (two small columns group, eight aggregates), q1_one_key (the same,\n"
    "               grouped by one column made of both) and q6 (three ranges, a sum of products);\n"
    "               default all\n"
    "  --floors F   more by hand, all or none (default none); there are:\n"
    "                 wide       cells of 8 bytes\n"
    "                 mask       narrow, with masks instead of jumps\n"
    "                 wide_mask  both\n"
    "  --clock C    wall, or cpu: of the thread alone, for busy machines (default wall)\n"
    "  --json       a line of JSON for each query and level instead of tables\n"
    "  --spoil WHO  change one answer of the racer of that name, to see it caught\n"
    "\n"
    "Ratios are of medians.\n"
    "Exit status: 0, 1 wrong answer, 2 usage, 3 could not run (memory, level not in this build)\n";

enum { Q1, Q1_ONE_KEY, Q6, QUERIES, COLUMNS = 7, BLOCK = 1024, Q1_COLUMNS = 10 };
static const char *const query_names[QUERIES] = {"q1", "q1_one_key", "q6"};

static const char text[] =
    "list lineitem (quantity: int, price: int, discount: int, tax: int, flag: int, status: int,\n"
    "  ship: int)\n"
    "\n"
    "query q1(until: int): (flag: int, status: int, quantity: int, base: int, discounted: int,\n"
    "  charged: int, avg_quantity: real, avg_price: real, avg_discount: real, rows: int) {\n"
    "  local groups (flag: int, status: int, quantity: int, base: int, discounted: int,\n"
    "    charged: int, discount: int, rows: int) key (flag, status)\n"
    "  for l in lineitem {\n"
    "    if l.ship <= until {\n"
    "      let g = groups[l.flag, l.status] or (0, 0, 0, 0, 0, 0)\n"
    "      let discounted = l.price * (100 - l.discount)\n"
    "      g.quantity += l.quantity\n"
    "      g.base += l.price\n"
    "      g.discounted += discounted\n"
    "      g.charged += discounted * (100 + l.tax)\n"
    "      g.discount += l.discount\n"
    "      g.rows += 1\n"
    "    }\n"
    "  }\n"
    "  for g in groups {\n"
    "    let n = real(g.rows)\n"
    "    emit (g.flag, g.status, g.quantity, g.base, g.discounted, g.charged,\n"
    "          real(g.quantity) / n, real(g.base) / n, real(g.discount) / n, g.rows)\n"
    "  }\n"
    "}\n"
    "\n"
    "query q1_one_key(until: int): (flag: int, status: int, quantity: int, base: int,\n"
    "  discounted: int, charged: int, avg_quantity: real, avg_price: real, avg_discount: real,\n"
    "  rows: int) {\n"
    "  local groups (both: int, quantity: int, base: int, discounted: int, charged: int,\n"
    "    discount: int, rows: int) key (both)\n"
    "  for l in lineitem {\n"
    "    if l.ship <= until {\n"
    "      let g = groups[l.flag * 2 + l.status] or (0, 0, 0, 0, 0, 0)\n"
    "      let discounted = l.price * (100 - l.discount)\n"
    "      g.quantity += l.quantity\n"
    "      g.base += l.price\n"
    "      g.discounted += discounted\n"
    "      g.charged += discounted * (100 + l.tax)\n"
    "      g.discount += l.discount\n"
    "      g.rows += 1\n"
    "    }\n"
    "  }\n"
    "  for g in groups {\n"
    "    let n = real(g.rows)\n"
    "    emit (g.both / 2, g.both % 2, g.quantity, g.base, g.discounted, g.charged,\n"
    "          real(g.quantity) / n, real(g.base) / n, real(g.discount) / n, g.rows)\n"
    "  }\n"
    "}\n"
    "\n"
    "query q6(start: int, after: int, least: int, most: int, below: int): int {\n"
    "  var revenue = 0\n"
    "  for l in lineitem {\n"
    "    if l.ship >= start and l.ship < after and\n"
    "       l.discount >= least and l.discount <= most and l.quantity < below {\n"
    "      revenue += l.price * l.discount\n"
    "    }\n"
    "  }\n"
    "  return revenue\n"
    "}\n";

typedef struct {
  uint64_t rows, rounds, seed;
  args_levels levels;
  args_names queries, floors;
  sample_clock clock;
  const char *spoil;
  bool json;
} options;

typedef struct {
  const options *o;
  lineitem rows;
  lineitem_wide wide;
  q1_group q1[Q1_GROUPS]; /* what must come out */
  int64_t q6;
} task;

/* What racers are given.  form: of those by hand. */
typedef struct {
  const task *t;
  uint32_t query;
  bool by_hand;
  scan_form form;
  pure_side side; /* of Pure */
} contestant;

static race_status wrong(const racer *r, const char *what) {
  fprintf(stderr, "%s: wrong answer: %s, %s\n", tool, r->name, what);
  return RACE_WRONG;
}

static bool spoiled(const contestant *c, const racer *r) {
  return c->t->o->spoil && strcmp(c->t->o->spoil, r->name) == 0;
}

static race_status check_q6(const contestant *c, const racer *r, int64_t answer) {
  return answer + spoiled(c, r) == c->t->q6 ? RACE_OK : wrong(r, "revenue");
}

static int64_t run_q6(const task *t, scan_form form) {
  switch (form) {
  case SCAN_WIDE:
    return scan_q6_wide(&t->wide);
  case SCAN_NARROW_MASK:
    return scan_q6_mask(&t->rows);
  case SCAN_WIDE_MASK:
    return scan_q6_wide_mask(&t->wide);
  case SCAN_NARROW:
  case SCAN_FORMS:
    break;
  }
  return scan_q6(&t->rows);
}

static void run_q1(const task *t, scan_form form, q1_group *out) {
  switch (form) {
  case SCAN_WIDE:
    scan_q1_wide(&t->wide, Q1_LAST, out);
    return;
  case SCAN_NARROW_MASK:
    scan_q1_mask(&t->rows, Q1_LAST, out);
    return;
  case SCAN_WIDE_MASK:
    scan_q1_wide_mask(&t->wide, Q1_LAST, out);
    return;
  case SCAN_NARROW:
  case SCAN_FORMS:
    break;
  }
  scan_q1(&t->rows, Q1_LAST, out);
}

static race_status run_c(racer *self, sample_watch *watch) {
  const contestant *c = self->user;
  q1_group group[Q1_GROUPS] = {{0}};
  int64_t revenue = 0;
  sample_start(watch);
  if (c->query == Q6)
    revenue = run_q6(c->t, c->form);
  else
    run_q1(c->t, c->form, group);
  sample_stop(watch);
  if (c->query == Q6)
    return check_q6(c, self, revenue);
  group[0].rows += spoiled(c, self);
  return memcmp(group, c->t->q1, sizeof group) == 0 ? RACE_OK : wrong(self, "sums");
}

/* Averages are the same divisions of the same numbers: equal to the last bit. */
static bool same_group(const pure_value *v, uint32_t at, const q1_group *g) {
  double n = (double)g->rows;
  const int64_t sums[] = {at / Q1_STATUSES, at % Q1_STATUSES, g->quantity,
                          g->base,          g->discounted,    g->charged};
  for (uint32_t i = 0; i < sizeof sums / sizeof *sums; i++)
    if (v[i].as.i != sums[i])
      return false;
  return v[6].as.r == (double)g->quantity / n && v[7].as.r == (double)g->base / n &&
         v[8].as.r == (double)g->discount / n && v[9].as.i == g->rows;
}

static race_status check_q1(const contestant *c, const racer *r, pure_result *result) {
  for (uint32_t at = 0; at < Q1_GROUPS; at++) {
    pure_value v[Q1_COLUMNS];
    if (c->t->q1[at].rows == 0)
      continue;
    if (!pure_result_next(result))
      return wrong(r, "too few groups");
    for (uint32_t i = 0; i < Q1_COLUMNS; i++)
      v[i] = pure_result_get(result, i);
    v[2].as.i += spoiled(c, r);
    if (!same_group(v, at, &c->t->q1[at]))
      return wrong(r, "sums");
  }
  return pure_result_next(result) ? wrong(r, "too many groups") : RACE_OK;
}

static race_status run_pure(racer *self, sample_watch *watch) {
  contestant *c = self->user;
  pure_value q1[] = {pure_int(Q1_LAST)};
  pure_value q6[] = {pure_int(Q6_FROM), pure_int(Q6_TO), pure_int(Q6_DISCOUNT_LEAST),
                     pure_int(Q6_DISCOUNT_MOST), pure_int(Q6_QUANTITY)};
  bool is_q6 = c->query == Q6;
  pure_result *result;
  race_status status = pure_side_call(&c->side, query_names[c->query], is_q6 ? q6 : q1,
                                      is_q6 ? 5 : 1, &result, watch);
  if (status != RACE_OK)
    return status;
  status = is_q6 ? check_q6(c, self, pure_result_value(result).as.i) : check_q1(c, self, result);
  self->work = pure_session_work(c->side.session);
  pure_side_release(result, watch);
  return status;
}

static void widen(const lineitem *l, size_t at, size_t n, int64_t cells[COLUMNS][BLOCK]) {
  for (size_t i = 0; i < n; i++) {
    cells[0][i] = l->quantity[at + i];
    cells[1][i] = l->price[at + i];
    cells[2][i] = l->discount[at + i];
    cells[3][i] = l->tax[at + i];
    cells[4][i] = l->flag[at + i];
    cells[5][i] = l->status[at + i];
    cells[6][i] = l->ship[at + i];
  }
}

static race_status fill(contestant *c) {
  int64_t cells[COLUMNS][BLOCK];
  const lineitem *l = &c->t->rows;
  pure_error error;
  pure_fill *fill;
  bool ok = pure_fill_new(c->side.store, "lineitem", &fill, &error) == PURE_OK;
  for (size_t at = 0; ok && at < l->rows; at += BLOCK) {
    size_t n = l->rows - at < BLOCK ? l->rows - at : BLOCK;
    widen(l, at, n, cells);
    for (uint32_t column = 0; ok && column < COLUMNS; column++)
      ok = pure_fill_ints(fill, column, cells[column], n, &error) == PURE_OK;
  }
  ok = ok && pure_fill_finish(fill, PURE_DUPLICATE_ERROR, &error) == PURE_OK;
  pure_fill_release(fill);
  if (!ok)
    pure_side_report(&c->side, &error);
  return ok ? RACE_OK : RACE_CANNOT;
}

static void print_json(const contestant *c, const racer *r, const racer *plain) {
  const options *o = c->t->o;
  uint32_t rounds = (uint32_t)o->rounds;
  printf("{\"query\":\"%s\"", query_names[c->query]);
  if (c->by_hand)
    printf(",\"floor\":\"%s\"", r->name);
  else
    printf(",\"level\":%u", c->side.level);
  printf(",\"rows\":%" PRIu64 ",\"seed\":%" PRIu64
         ",\"rounds\":%u,\"compiler\":\"%s\",\"clock\":\"%s\",\"c_ms\":%.4f,\"ratio\":%.4f",
         o->rows, o->seed, rounds, scan_compiler, sample_clock_name(o->clock),
         sample_median(plain->ms, rounds), race_ratio(r, plain, rounds));
  race_print_json(r, rounds);
  printf(",\"work\":%" PRIu64 "}\n", r->work);
}

static void print_all(const contestant *c, const racer *r, uint32_t n) {
  const options *o = c->t->o;
  const racer *plain = &r[0];
  if (!o->json) {
    printf("%s: %" PRIu64 " rows, %" PRIu64 " rounds; answers and work equal\n",
           query_names[c->query], o->rows, o->rounds);
    race_print(r, n, (uint32_t)o->rounds, &plain, 1);
  }
  for (uint32_t i = 1; o->json && i < n; i++)
    print_json(&c[i], &r[i], plain);
}

static race_status run_query(contestant *c, racer *r, uint32_t n, uint32_t query) {
  const options *o = c->t->o;
  for (uint32_t i = 0; i < n; i++) {
    c[i].query = query;
    r[i] = (racer){.run = c[i].by_hand ? run_c : run_pure, .user = &c[i]};
    if (c[i].by_hand)
      snprintf(r[i].name, sizeof r[i].name, "%s", scan_names[c[i].form]);
    else
      snprintf(r[i].name, sizeof r[i].name, "Pure level %u", c[i].side.level);
  }
  race_status status = race_check_name(tool, r, n, o->spoil);
  if (status == RACE_OK)
    status = race_run(tool, o->clock, r, n, (uint32_t)o->rounds);
  for (uint32_t i = 0; status == RACE_OK && i < n; i++)
    if (!c[i].by_hand)
      status = pure_side_ran_compiled(&c[i].side, query_names[query]);
  if (status == RACE_OK)
    print_all(c, r, n);
  race_free(r, n);
  return status;
}

static race_status make_rows(task *t) {
  bool wide = t->o->floors.on[SCAN_WIDE] || t->o->floors.on[SCAN_WIDE_MASK];
  race_progress(tool, "making the rows");
  bool ok = lineitem_make(&t->rows, (size_t)t->o->rows, t->o->seed) &&
            (!wide || lineitem_widen(&t->wide, &t->rows));
  race_progress(tool, NULL);
  if (!ok) {
    fprintf(stderr, "%s: no memory\n", tool);
    return RACE_CANNOT;
  }
  scan_q1(&t->rows, Q1_LAST, t->q1);
  t->q6 = scan_q6(&t->rows);
  return RACE_OK;
}

/* Those by hand first; the first of all is what the others are compared to. */
static race_status open_all(task *t, contestant *c, uint32_t *n) {
  race_status status = make_rows(t);
  for (uint32_t form = 0; status == RACE_OK && form < SCAN_FORMS; form++)
    if (form == SCAN_NARROW || t->o->floors.on[form])
      c[(*n)++] = (contestant){.t = t, .by_hand = true, .form = (scan_form)form};
  for (uint32_t i = 0; status == RACE_OK && i < t->o->levels.n; i++) {
    contestant *pure = &c[(*n)++];
    pure->t = t;
    race_progress(tool, "filling lists");
    status = pure_side_open(&pure->side, tool, t->o->levels.level[i], text, sizeof text - 1);
    if (status == RACE_OK)
      status = fill(pure);
    race_progress(tool, NULL);
  }
  return status;
}

int main(int argc, char **argv) {
  options o = {.rows = 6000000, .rounds = 7, .seed = 1, .levels = {4, {0, 1, 2, 3}}};
  o.queries = (args_names){.known = query_names, .nknown = QUERIES, .on = {true, true, true}};
  o.floors = (args_names){.known = scan_names, .nknown = SCAN_FORMS};
  const args_option table[] = {
      {"--rows", ARGS_NUMBER, &o.rows, 1, UINT32_MAX / 2},
      {"--rounds", ARGS_NUMBER, &o.rounds, 1, 100000},
      {"--seed", ARGS_NUMBER, &o.seed, 0, UINT64_MAX},
      {"--levels", ARGS_LEVELS, &o.levels, 0, 0},
      {"--queries", ARGS_NAMES, &o.queries, 0, 0},
      {"--floors", ARGS_NAMES, &o.floors, 0, 0},
      {"--clock", ARGS_CLOCK, &o.clock, 0, 0},
      {"--json", ARGS_FLAG, &o.json, 0, 0},
      {"--spoil", ARGS_TEXT, &o.spoil, 0, 0},
      {0},
  };
  int status = 0;
  if (!args_parse(argc, argv, tool, usage, table, &status))
    return status;
  race_warn_of_load(tool);
  task t = {.o = &o};
  contestant c[SCAN_FORMS + ARGS_MAX_LEVELS] = {{0}};
  racer r[SCAN_FORMS + ARGS_MAX_LEVELS] = {{.user = NULL}};
  uint32_t n = 0;
  status = (int)open_all(&t, c, &n);
  for (uint32_t q = 0; status == RACE_OK && q < QUERIES; q++)
    if (o.queries.on[q])
      status = (int)run_query(c, r, n, q);
  for (uint32_t i = 0; i < n; i++)
    if (!c[i].by_hand)
      pure_side_close(&c[i].side);
  lineitem_free(&t.rows);
  lineitem_wide_free(&t.wide);
  return status;
}
