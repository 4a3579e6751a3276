/* What is going on, for the page and for people: /stats, /program; and the counting. */
#include "serve.h"

#include <jansson.h>

static json_t *number(uint64_t v) { return json_integer((json_int_t)v); }

void serve_count_call(serve *s, const serve_request *r) {
  bool query = r->task == SERVE_LIST || (r->task == SERVE_CALL && !r->event);
  atomic_fetch_add(query                   ? &s->counts.queries
                   : r->task == SERVE_LOAD ? &s->counts.loads
                                           : &s->counts.events,
                   1);
  atomic_fetch_add(query ? &s->counts.query_ns : &s->counts.event_ns, r->run_ns);
  atomic_fetch_add(&s->counts.work, r->work);
  atomic_fetch_add(&s->counts.rows, r->rows);
  if (r->code)
    atomic_fetch_add(&s->counts.faults, r->status == MHD_HTTP_UNPROCESSABLE_CONTENT);
  atomic_fetch_add(&s->counts.cancelled, r->status == 499 || r->status == 504);
  if (r->task != SERVE_CALL)
    return;
  serve_function *f = &s->functions[r->function];
  atomic_fetch_add(&f->calls, 1);
  atomic_fetch_add(&f->faults, r->code != NULL);
  atomic_fetch_add(&f->work, r->work);
  atomic_fetch_add(&f->ns, r->run_ns);
  atomic_store(&f->last_ns, r->run_ns ? r->run_ns : 1);
}

void serve_count_answer(serve_request *r) {
  serve_counts *c = &r->s->counts;
  uint64_t ns = serve_clock() - r->start_ns;
  unsigned i = 0;
  while (i < 23 && ns > UINT64_C(1000) << i)
    i++;
  atomic_fetch_add(&c->latency[i], 1);
  atomic_fetch_add(&c->latency_ns, ns);
  atomic_fetch_add(&c->refused, r->status >= 400 && r->status < 500);
  atomic_fetch_add(&c->errors, r->status >= 500);
}

static json_t *describe_lists(const serve *s) {
  json_t *lists = json_array();
  pure_list_stats l = {.size = sizeof l};
  for (uint32_t i = 0; pure_store_list_stats(s->store, i, &l) == PURE_OK; i++)
    json_array_append_new(lists, json_pack("{s:s, s:s, s:I, s:I, s:I, s:s}", "name", l.name,
                                           "layout", l.layout, "rows", (json_int_t)l.rows, "bytes",
                                           (json_int_t)l.bytes, "narrow_bytes",
                                           (json_int_t)l.narrow_bytes, "widths", l.widths));
  return lists;
}

static json_t *describe_functions(const serve *s) {
  json_t *functions = json_array();
  pure_function_info info;
  for (uint32_t i = 0; pure_program_function(s->program, i, &info) == PURE_OK; i++) {
    serve_function *f = &s->functions[i];
    json_array_append_new(functions, json_pack("{s:s, s:s, s:I, s:I, s:I, s:I}", "name", info.name,
                                               "kind", info.kind == PURE_EVENT ? "event" : "query",
                                               "calls", (json_int_t)atomic_load(&f->calls),
                                               "faults", (json_int_t)atomic_load(&f->faults),
                                               "work", (json_int_t)atomic_load(&f->work), "ns",
                                               (json_int_t)atomic_load(&f->ns)));
  }
  return functions;
}

static json_t *describe_loops(serve *s) {
  json_t *loops = json_array();
  pthread_mutex_lock(&s->snap_lock);
  for (size_t i = 0; i < s->nloops; i++) {
    const serve_loop *l = &s->loops[i];
    json_array_append_new(loops,
                          json_pack("{s:s, s:I, s:b, s:s, s:I, s:I, s:I, s:s}", "function",
                                    l->function, "line", (json_int_t)l->line, "whole", l->whole,
                                    "tier", l->last.tier, "compiles", (json_int_t)l->last.compiles,
                                    "deopts", (json_int_t)l->last.deopts, "code_bytes",
                                    (json_int_t)l->last.code_bytes, "reason", l->last.reason));
  }
  pthread_mutex_unlock(&s->snap_lock);
  return loops;
}

static json_t *describe_memory(const serve *s) {
  pure_memory_stats m;
  pure_engine_memory(s->engine, &m);
  return json_pack("{s:I, s:I}", "live_bytes", (json_int_t)m.live_bytes, "peak_bytes",
                   (json_int_t)m.peak_bytes);
}

static json_t *describe_jit(const serve *s) {
  pure_jit_stats j = {.size = sizeof j};
  pure_engine_jit_stats(s->engine, &j);
  return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:s?}", "compiled", (json_int_t)j.compiled,
                   "refused", (json_int_t)j.refused, "cached", (json_int_t)j.cached, "waiting",
                   (json_int_t)j.waiting, "code_bytes", (json_int_t)j.code_bytes, "compile_ns",
                   (json_int_t)j.compile_ns, "reason", j.reason);
}

static json_t *describe_store(const serve *s) {
  durable_stats d;
  if (!s->durable)
    return json_null();
  durable_stats_read(s->durable, &d);
  return json_pack("{s:I, s:I, s:I, s:I, s:I, s:b}", "position", (json_int_t)d.position, "durable",
                   (json_int_t)d.committed, "commits", (json_int_t)d.commits, "checkpoint",
                   (json_int_t)d.checkpoint, "log_bytes", (json_int_t)d.log_bytes, "checkpointing",
                   d.checkpointing);
}

static json_t *describe_counts(serve *s) {
  const serve_counts *c = &s->counts;
  json_t *o = json_object();
  json_object_set_new(o, "requests", number(atomic_load(&c->requests)));
  json_object_set_new(o, "refused", number(atomic_load(&c->refused)));
  json_object_set_new(o, "errors", number(atomic_load(&c->errors)));
  json_object_set_new(o, "events", number(atomic_load(&c->events)));
  json_object_set_new(o, "queries", number(atomic_load(&c->queries)));
  json_object_set_new(o, "loads", number(atomic_load(&c->loads)));
  json_object_set_new(o, "faults", number(atomic_load(&c->faults)));
  json_object_set_new(o, "cancelled", number(atomic_load(&c->cancelled)));
  json_object_set_new(o, "timeouts", number(atomic_load(&c->timeouts)));
  json_object_set_new(o, "snapshots", number(atomic_load(&c->snapshots)));
  json_object_set_new(o, "rows", number(atomic_load(&c->rows)));
  json_object_set_new(o, "bytes", number(atomic_load(&c->bytes)));
  json_object_set_new(o, "work", number(atomic_load(&c->work)));
  json_object_set_new(o, "event_ns", number(atomic_load(&c->event_ns)));
  json_object_set_new(o, "query_ns", number(atomic_load(&c->query_ns)));
  json_object_set_new(o, "connections", number(atomic_load(&c->connections)));
  json_object_set_new(o, "running_queries", number(atomic_load(&c->running)));
  json_object_set_new(o, "waiting_events", number(atomic_load(&s->waiting)));
  return o;
}

void serve_stats(serve_request *r) {
  serve *s = r->s;
  json_t *o = json_object();
  json_object_set_new(o, "version", json_string(pure_version()));
  json_object_set_new(o, "program", json_string(s->o.program));
  json_object_set_new(o, "uptime_ns", number(serve_clock() - s->start_ns));
  json_object_set_new(o, "counts", describe_counts(s));
  json_object_set_new(o, "lists", describe_lists(s));
  json_object_set_new(o, "functions", describe_functions(s));
  json_object_set_new(o, "loops", describe_loops(s));
  json_object_set_new(o, "memory", describe_memory(s));
  json_object_set_new(o, "jit", describe_jit(s));
  json_object_set_new(o, "store", describe_store(s));
  serve_answer_json(r, o);
}

/* /program */

typedef pure_status (*describe)(const pure_program *, uint32_t, uint32_t, pure_column_info *);

static json_t *describe_columns(const serve *s, uint32_t of, describe describe) {
  json_t *columns = json_array();
  pure_column_info c;
  for (uint32_t i = 0; describe(s->program, of, i, &c) == PURE_OK; i++)
    json_array_append_new(columns,
                          json_pack("{s:s, s:s}", "name", c.name, "type", pure_type_name(c.type)));
  return columns;
}

static json_t *program_lists(const serve *s) {
  json_t *lists = json_array();
  pure_list_info info;
  for (uint32_t i = 0; pure_program_list(s->program, i, &info) == PURE_OK; i++) {
    json_t *key = json_array();
    uint32_t column;
    for (uint32_t k = 0; pure_program_list_key(s->program, i, k, &column) == PURE_OK; k++)
      json_array_append_new(key, number(column));
    json_array_append_new(lists,
                          json_pack("{s:s, s:o, s:o}", "name", info.name, "columns",
                                    describe_columns(s, i, pure_program_list_column), "key", key));
  }
  return lists;
}

static json_t *program_functions(const serve *s) {
  static const char *const results[] = {"nothing", "value", "rows"};
  json_t *functions = json_array();
  pure_function_info info;
  for (uint32_t i = 0; pure_program_function(s->program, i, &info) == PURE_OK; i++)
    json_array_append_new(functions,
                          json_pack("{s:s, s:s, s:s, s:o, s:o}", "name", info.name, "kind",
                                    info.kind == PURE_EVENT ? "event" : "query", "result",
                                    results[info.result], "parameters",
                                    describe_columns(s, i, pure_program_parameter), "columns",
                                    describe_columns(s, i, pure_program_result_column)));
  return functions;
}

void serve_program_describe(serve_request *r) {
  serve_answer_json(r, json_pack("{s:s, s:s, s:o, s:o}", "version", pure_version(), "program",
                                 r->s->o.program, "lists", program_lists(r->s), "functions",
                                 program_functions(r->s)));
}
