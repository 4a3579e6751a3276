#define _GNU_SOURCE /* memmem */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "perf/tpcc_http/tpcc_http.h"

enum { MOST_BODY = 2048, PATIENCE_MS = 30000 };

struct terminal {
  http connection;
  uint32_t number;
  tpcc_kind kind;
  double sent;
};

static bool complain(const char *what) {
  fprintf(stderr, "%s: %s\n", tpcc_tool, what);
  return false;
}

static bool open_terminal(load *l, uint32_t i, uint16_t port) {
  terminal *t = &l->terminals[i];
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = t};
  t->number = i;
  return http_open(&t->connection, port) &&
         epoll_ctl(l->poll, EPOLL_CTL_ADD, t->connection.socket, &event) == 0;
}

bool load_open(load *l, const tpcc_scale *scale, uint32_t terminals, uint16_t port) {
  *l = (load){.poll = epoll_create1(EPOLL_CLOEXEC)};
  l->terminals = calloc(terminals, sizeof *l->terminals);
  if (l->poll < 0 || !l->terminals || !tpcc_terminals_open(&l->source, scale, terminals))
    return complain("no memory, or no epoll");
  l->n = terminals;
  for (uint32_t i = 0; i < terminals; i++)
    l->terminals[i].connection.socket = -1;
  for (uint32_t i = 0; i < terminals; i++)
    if (!open_terminal(l, i, port))
      return complain("cannot connect");
  return true;
}

void load_close(load *l) {
  for (uint32_t i = 0; i < l->n; i++)
    http_close(&l->terminals[i].connection);
  free(l->terminals);
  tpcc_terminals_close(&l->source);
  if (l->poll >= 0)
    close(l->poll);
  *l = (load){.poll = -1};
}

/* Names of customers have nothing in them that JSON would have to quote. */
static size_t write_arguments(const pure_value *v, uint32_t n, char *out) {
  size_t at = 0;
  for (uint32_t i = 0; i < n; i++) {
    char before = i ? ',' : '[';
    int more =
        v[i].type == PURE_TEXT
            ? snprintf(out + at, MOST_BODY - at, "%c\"%.*s\"", before, (int)v[i].length, v[i].as.t)
            : snprintf(out + at, MOST_BODY - at, "%c%lld", before, (long long)v[i].as.i);
    at += (size_t)more;
    if (at + 2 > MOST_BODY)
      return 0;
  }
  out[at++] = ']';
  return at;
}

static bool ask(load *l, terminal *t) {
  tpcc_request q;
  pure_value v[TPCC_MOST_ARGUMENTS];
  char path[64], body[MOST_BODY];
  l->source.next = t->number;
  tpcc_terminals_next(&l->source, &q);
  size_t n = write_arguments(v, tpcc_arguments(&q, v), body);
  snprintf(path, sizeof path, "/call/%s", tpcc_kind_names[q.kind]);
  t->kind = q.kind;
  t->sent = sample_now_ms(SAMPLE_WALL);
  return (n && http_send(&t->connection, "POST", path, body, n)) || complain("cannot be sent");
}

static bool note(latencies *l, double ms) {
  if (l->n == l->room) {
    size_t room = l->room ? l->room * 2 : 4096;
    float *more = realloc(l->ms, room * sizeof *more);
    if (!more)
      return complain("no memory");
    l->ms = more;
    l->room = room;
  }
  l->ms[l->n++] = (float)ms;
  return true;
}

/* A new order of an item that is not there is taken back; everything else is done. */
static bool is_taken_back(const terminal *t) {
  static const char why[] = "item number is not valid";
  const http *c = &t->connection;
  return c->status == 422 && t->kind == TPCC_NEW_ORDER &&
         memmem(http_body(c), http_body_length(c), why, sizeof why - 1);
}

static bool take_answer(terminal *t, tally *out) {
  const http *c = &t->connection;
  bool undone = is_taken_back(t);
  if (c->status != 200 && !undone) {
    fprintf(stderr, "%s: %s: %d %.*s\n", tpcc_tool, tpcc_kind_names[t->kind], c->status,
            (int)http_body_length(c), http_body(c));
    return false;
  }
  tpcc_answers answers = {.hash = out->hash};
  tpcc_answer_text(&answers, http_body(c), http_body_length(c));
  out->hash = answers.hash;
  out->undone += undone;
  return note(&out->of[t->kind], sample_now_ms(SAMPLE_WALL) - t->sent);
}

typedef struct {
  double from, until;
  uint64_t sent, most;
  uint32_t waiting;
} run;

static bool may_ask(const run *r) {
  return (!r->most || r->sent < r->most) && sample_now_ms(SAMPLE_WALL) < r->until;
}

static bool begin_one(load *l, terminal *t, run *r) {
  if (!may_ask(r))
    return true;
  r->sent++;
  r->waiting++;
  return ask(l, t);
}

static bool look_at(load *l, terminal *t, run *r, tally *out) {
  http_progress found = http_receive(&t->connection, false);
  if (found == HTTP_MORE)
    return true;
  if (found == HTTP_BROKEN)
    return complain("a connection broke");
  r->waiting--;
  return take_answer(t, out) && begin_one(l, t, r);
}

bool load_run(load *l, double seconds, uint64_t requests, tally *out) {
  enum { AT_ONCE = 64 };
  struct epoll_event events[AT_ONCE];
  run r = {.from = sample_now_ms(SAMPLE_WALL), .most = requests};
  r.until = r.from + seconds * 1e3;
  bool fine = true;
  for (uint32_t i = 0; i < l->n && fine; i++)
    fine = begin_one(l, &l->terminals[i], &r);
  while (fine && r.waiting) {
    int n = epoll_wait(l->poll, events, AT_ONCE, PATIENCE_MS);
    if (n == 0)
      fine = complain("no answer for half a minute");
    for (int i = 0; i < n && fine; i++)
      fine = look_at(l, events[i].data.ptr, &r, out);
  }
  out->seconds = (sample_now_ms(SAMPLE_WALL) - r.from) * 1e-3;
  return fine;
}

/* Figures */

void tally_free(tally *t) {
  for (int k = 0; k < TPCC_NKINDS; k++)
    free(t->of[k].ms);
  *t = (tally){0};
}

uint64_t tally_requests(const tally *t) {
  uint64_t n = 0;
  for (int k = 0; k < TPCC_NKINDS; k++)
    n += t->of[k].n;
  return n;
}

static int by_size(const void *a, const void *b) {
  float x = *(const float *)a, y = *(const float *)b;
  return (x > y) - (x < y);
}

double latencies_at(latencies *l, double share) {
  qsort(l->ms, l->n, sizeof *l->ms, by_size);
  size_t at = (size_t)(share * (double)l->n);
  return (double)l->ms[at < l->n ? at : l->n - 1];
}
