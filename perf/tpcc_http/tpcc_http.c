/* TPC-C over HTTP: pure-serve on loopback, started here, and terminals that ask it.  Conditions are
 * checked and the rows of all lists hashed before and after; an answer that should not have come
 * ends the run before a time is printed. */
#define _GNU_SOURCE /* mkdtemp, nftw */
#include "perf/tpcc_http/tpcc_http.h"

#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "perf/support/text.h"

const char tpcc_tool[] = "tpcc-http";

static const char usage[] =
    "usage: tpcc-http [OPTION]...\n"
    "The transactions of TPC-C over HTTP, without think time, from a pure-serve started for it.\n"
    "  --seconds N       timed (20)\n"
    "  --requests N      at most, timed\n"
    "  --warm N          seconds before the clock starts (3)\n"
    "  --terminals N     that each wait for their answer, on a connection of their own (64)\n"
    "  --warehouses N    (1)\n"
    "  --customers N     of a district (3000)\n"
    "  --items N         (100000)\n"
    "  --level L         auto, 0, 1, 2, 3 (auto)\n"
    "  --store DIR       with a durable store; one that is there goes on, a new one is loaded.\n"
    "                    It is replayed at levels 0 and 3 at the end\n"
    "  --kill            the server at the end, and replay nothing: the next start has to\n"
    "  --seed N          (1)\n"
    "  --serve PROGRAM   another pure-serve\n"
    "  --json            one line\n"
    "  --help\n"
    "Exit status: 0 fine, 1 wrong answer, 2 usage, 3 cannot run.\n";

typedef struct {
  tpcc_scale scale;
  uint64_t seconds, requests, warm, terminals;
  const char *level, *binary, *store;
  bool kill, json;
} options;

typedef struct {
  const options *o;
  char folder[64], snapshot[96];
  server_options server_options;
  server server;
  load load;
  tally tally;
  server_cost cost;     /* of the timed seconds */
  double start_seconds; /* until it listened */
  double event_seconds; /* in events, in all */
  uint64_t rows_before, rows_after, digest;
} bench;

static race_status cannot(const char *what) {
  fprintf(stderr, "%s: %s\n", tpcc_tool, what);
  return RACE_CANNOT;
}

/* The rows at the start, as a snapshot that the server loads */

static race_status save_rows(bench *b, pure_program *program) {
  pure_store *store = NULL;
  pure_error error;
  bool fine = pure_store_new(program, &store, &error) == PURE_OK &&
              tpcc_fill(store, &b->o->scale, &error) &&
              pure_store_save(store, b->snapshot, &error) == PURE_OK;
  pure_store_release(store);
  return fine ? RACE_OK : cannot(error.message);
}

static race_status make_snapshot(bench *b) {
  pure_engine *engine = NULL;
  pure_program *program = NULL;
  pure_error error;
  size_t length = 0;
  char *text = text_read(TPCC_PROGRAM, &length);
  race_status status = RACE_CANNOT;
  if (!text)
    cannot("cannot read " TPCC_PROGRAM);
  else if (pure_engine_new(NULL, &engine, &error) != PURE_OK ||
           pure_program_compile(engine, "tpcc.pure", text, length, NULL, NULL, &program, &error) !=
               PURE_OK)
    cannot(error.message);
  else
    status = save_rows(b, program);
  pure_program_release(program);
  pure_engine_release(engine);
  free(text);
  return status;
}

/* Checks */

static race_status ask(http *c, const char *method, const char *path, const char *body) {
  if (!http_ask(c, method, path, body, strlen(body)))
    return cannot("the connection for checks broke");
  if (c->status == 200)
    return RACE_OK;
  fprintf(stderr, "%s: %s: %d\n", tpcc_tool, path, c->status);
  return RACE_WRONG;
}

static race_status check_condition(http *c, uint32_t number, const char *when) {
  char path[32];
  snprintf(path, sizeof path, "/call/condition_%u", number);
  race_status status = ask(c, "POST", path, "[]");
  if (status != RACE_OK || (http_body_length(c) == 3 && memcmp(http_body(c), "[]\n", 3) == 0))
    return status;
  fprintf(stderr, "%s: %s: condition %u does not hold: %.*s\n", tpcc_tool, when, number,
          (int)(http_body_length(c) < 200 ? http_body_length(c) : 200), http_body(c));
  return RACE_WRONG;
}

/* Conditions, and the hash of all rows. */
static race_status check(bench *b, const char *when, uint64_t *hash) {
  enum { CONDITIONS = 12 };
  tpcc_answers answers = {0};
  http c;
  race_status status = http_open(&c, b->server.port) ? RACE_OK : cannot("cannot connect");
  for (uint32_t i = 1; i <= CONDITIONS && status == RACE_OK; i++)
    status = check_condition(&c, i, when);
  for (int t = 0; t < TPCC_NTABLES && status == RACE_OK; t++) {
    char path[64];
    snprintf(path, sizeof path, "/lists/%s?format=csv", tpcc_tables[t].name);
    status = ask(&c, "GET", path, "");
    if (status == RACE_OK)
      tpcc_answer_text(&answers, http_body(&c), http_body_length(&c));
  }
  http_close(&c);
  *hash = answers.hash;
  return status;
}

static race_status read_event_time(bench *b) {
  static const char name[] = "\npure_owner_seconds_total ";
  http c;
  race_status status =
      http_open(&c, b->server.port) ? ask(&c, "GET", "/metrics", "") : cannot("cannot connect");
  const char *at =
      status == RACE_OK ? memmem(http_body(&c), http_body_length(&c), name, sizeof name - 1) : NULL;
  if (at)
    b->event_seconds = strtod(at + sizeof name - 1, NULL);
  else if (status == RACE_OK)
    status = cannot("/metrics does not tell the time in events");
  http_close(&c);
  return status;
}

/* Running */

static race_status run_load(bench *b) {
  const options *o = b->o;
  tally warm = {0};
  server_cost from, to;
  bool fine = load_open(&b->load, &o->scale, (uint32_t)o->terminals, b->server.port);
  fine = fine && (!o->warm || load_run(&b->load, (double)o->warm, 0, &warm));
  fine = fine && server_cost_now(&b->server, &from) &&
         load_run(&b->load, (double)o->seconds, o->requests, &b->tally) &&
         server_cost_now(&b->server, &to);
  tally_free(&warm);
  if (!fine)
    return RACE_WRONG;
  b->cost = (server_cost){to.owner - from.owner, to.queries - from.queries,
                          to.commits - from.commits, to.rest - from.rest, to.driver - from.driver};
  return RACE_OK;
}

static race_status check_digests(bench *b) {
  uint64_t other = 0;
  if (!server_digest(&b->server_options, "0", &b->digest) ||
      !server_digest(&b->server_options, "3", &other))
    return RACE_WRONG;
  if (other == b->digest)
    return RACE_OK;
  fprintf(stderr, "%s: replays at level 0 and 3 end in %016" PRIx64 " and %016" PRIx64 "\n",
          tpcc_tool, b->digest, other);
  return RACE_WRONG;
}

static race_status serve_and_run(bench *b) {
  double from = sample_now_ms(SAMPLE_WALL);
  if (!server_start(&b->server, &b->server_options))
    return RACE_CANNOT;
  b->start_seconds = (sample_now_ms(SAMPLE_WALL) - from) * 1e-3;
  race_status status = check(b, "before", &b->rows_before);
  race_progress(tpcc_tool, "running");
  if (status == RACE_OK)
    status = run_load(b);
  load_close(&b->load);
  race_progress(tpcc_tool, "checking");
  if (status == RACE_OK)
    status = check(b, "after", &b->rows_after);
  if (status == RACE_OK)
    status = read_event_time(b);
  if (!server_end(&b->server, b->o->kill) && status == RACE_OK)
    status = RACE_WRONG;
  if (status == RACE_OK && b->o->store && !b->o->kill)
    status = check_digests(b);
  race_progress(tpcc_tool, NULL);
  return status;
}

/* Printing */

static void print_json(bench *b) {
  const options *o = b->o;
  double s = b->tally.seconds;
  printf("{\"terminals\":%" PRIu64 ",\"warehouses\":%" PRIu64 ",\"level\":\"%s\",\"store\":%s,"
         "\"seconds\":%.3f,\"start_seconds\":%.3f,\"event_seconds\":%.3f,\"requests\":%" PRIu64
         ",\"rate\":%.1f,\"taken_back\":%" PRIu64 ",\"errors\":0,\"rows_before\":\"%016" PRIx64
         "\",\"rows_after\":\"%016" PRIx64 "\",\"answers\":\"%016" PRIx64
         "\",\"digest\":\"%016" PRIx64 "\",\"cores\":{\"owner\":%.3f,"
         "\"queries\":%.3f,\"commits\":%.3f,\"rest\":%.3f,\"driver\":%.3f},\"kinds\":{",
         o->terminals, o->scale.warehouses, o->level, o->store ? "true" : "false", s,
         b->start_seconds, b->event_seconds, tally_requests(&b->tally),
         (double)tally_requests(&b->tally) / s, b->tally.undone, b->rows_before, b->rows_after,
         b->tally.hash, b->digest, b->cost.owner / s, b->cost.queries / s, b->cost.commits / s,
         b->cost.rest / s, b->cost.driver / s);
  const char *between = "";
  for (int k = 0; k < TPCC_NKINDS; k++) {
    latencies *l = &b->tally.of[k];
    if (l->n == 0)
      continue;
    printf("%s\"%s\":{\"n\":%zu,\"p50\":%.4f,\"p99\":%.4f,\"p999\":%.4f,\"max\":%.4f}", between,
           tpcc_kind_names[k], l->n, latencies_at(l, 0.5), latencies_at(l, 0.99),
           latencies_at(l, 0.999), latencies_at(l, 1));
    between = ",";
  }
  printf("}}\n");
}

static void print_kinds(tally *t) {
  printf("%-14s %9s %9s %9s %9s %9s\n", "milliseconds", "requests", "p50", "p99", "p99.9", "most");
  for (int k = 0; k < TPCC_NKINDS; k++) {
    latencies *l = &t->of[k];
    if (l->n)
      printf("%-14s %9zu %9.3f %9.3f %9.3f %9.3f\n", tpcc_kind_names[k], l->n, latencies_at(l, 0.5),
             latencies_at(l, 0.99), latencies_at(l, 0.999), latencies_at(l, 1));
  }
}

static void print_table(bench *b) {
  const options *o = b->o;
  double s = b->tally.seconds;
  uint64_t n = tally_requests(&b->tally);
  printf("TPC-C over HTTP: %" PRIu64 " warehouses, %" PRIu64 " customers a district, %" PRIu64
         " items; level %s; %s\n"
         "%" PRIu64 " terminals on kept connections, no think time\n"
         "%" PRIu64 " requests in %.2f s: %.0f a second; %" PRIu64 " taken back; no errors\n"
         "conditions hold before and after; rows %016" PRIx64 ", then %016" PRIx64 "\n",
         o->scale.warehouses, o->scale.customers, o->scale.items, o->level,
         o->store ? "durable store" : "in memory", o->terminals, n, s, (double)n / s,
         b->tally.undone, b->rows_before, b->rows_after);
  if (o->store && !o->kill)
    printf("replays at levels 0 and 3 end in digest %016" PRIx64 "\n", b->digest);
  printf(
      "cores: owner %.2f, queries %.2f, commits %.2f, connections and the rest %.2f; driver %.2f\n",
      b->cost.owner / s, b->cost.queries / s, b->cost.commits / s, b->cost.rest / s,
      b->cost.driver / s);
  print_kinds(&b->tally);
}

/* The folder */

static bool open_folder(bench *b) {
  const char *where = getenv("TMPDIR");
  int n = snprintf(b->folder, sizeof b->folder, "%s/tpcc-XXXXXX", where && *where ? where : "/tmp");
  if (n < 0 || (size_t)n >= sizeof b->folder || !mkdtemp(b->folder)) {
    b->folder[0] = 0;
    return false;
  }
  snprintf(b->snapshot, sizeof b->snapshot, "%s/rows.snapshot", b->folder);
  return true;
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *at) {
  (void)status, (void)kind, (void)at;
  return remove(path);
}

static race_status measure(bench *b) {
  const options *o = b->o;
  bool loads = !o->store || access(o->store, F_OK) != 0;
  if (!open_folder(b))
    return cannot("there is no folder for temporary files");
  b->server_options = (server_options){.binary = o->binary,
                                       .program = TPCC_PROGRAM,
                                       .snapshot = loads ? b->snapshot : NULL,
                                       .store = o->store,
                                       .whole_log = o->kill,
                                       .level = o->level};
  race_progress(tpcc_tool, "loading");
  race_status status = loads ? make_snapshot(b) : RACE_OK;
  if (status == RACE_OK)
    status = serve_and_run(b);
  if (status == RACE_OK && o->json)
    print_json(b);
  else if (status == RACE_OK)
    print_table(b);
  tally_free(&b->tally);
  nftw(b->folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
  return status;
}

int main(int argc, char **argv) {
  options o = {.scale = {1, 3000, 100000, 1}, .seconds = 20, .warm = 3, .terminals = 64};
  o.level = "auto";
  o.binary = TPCC_SERVE;
  const args_option table[] = {
      {"--seconds", ARGS_NUMBER, &o.seconds, 1, 1000},
      {"--requests", ARGS_NUMBER, &o.requests, 1, UINT32_MAX},
      {"--warm", ARGS_NUMBER, &o.warm, 0, 100},
      {"--terminals", ARGS_NUMBER, &o.terminals, 1, 1000},
      {"--warehouses", ARGS_NUMBER, &o.scale.warehouses, 1, 1000},
      {"--customers", ARGS_NUMBER, &o.scale.customers, 30, 100000},
      {"--items", ARGS_NUMBER, &o.scale.items, 20, 1000000},
      {"--level", ARGS_TEXT, &o.level, 0, 0},
      {"--store", ARGS_TEXT, &o.store, 0, 0},
      {"--kill", ARGS_FLAG, &o.kill, 0, 0},
      {"--seed", ARGS_NUMBER, &o.scale.seed, 0, UINT64_MAX},
      {"--serve", ARGS_TEXT, &o.binary, 0, 0},
      {"--json", ARGS_FLAG, &o.json, 0, 0},
      {0},
  };
  int status = 0;
  if (!args_parse(argc, argv, tpcc_tool, usage, table, &status))
    return status;
  race_warn_of_load(tpcc_tool);
  bench b = {.o = &o, .load = {.poll = -1}};
  return (int)measure(&b);
}
