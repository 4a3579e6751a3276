/* /metrics, in the text format of Prometheus. */
#include "serve.h"

#include <stdarg.h>
#include <stdio.h>

static void say(serve_request *r, const char *form, ...) __attribute__((format(printf, 2, 3)));

static void say(serve_request *r, const char *form, ...) {
  char line[400];
  va_list values;
  va_start(values, form);
  int n = vsnprintf(line, sizeof line, form, values);
  va_end(values);
  if (n > 0)
    (void)serve_buffer_add(&r->answer, line, (size_t)n < sizeof line ? (size_t)n : sizeof line - 1);
}

static void metric(serve_request *r, const char *name, const char *type, const char *help,
                   double value) {
  say(r, "# HELP pure_%s %s\n# TYPE pure_%s %s\npure_%s %.17g\n", name, help, name, type, name,
      value);
}

static void count(serve_request *r, const char *name, const char *help, uint64_t value) {
  metric(r, name, "counter", help, (double)value);
}

static void gauge(serve_request *r, const char *name, const char *help, uint64_t value) {
  metric(r, name, "gauge", help, (double)value);
}

static void latency(serve_request *r) {
  const serve_counts *c = &r->s->counts;
  uint64_t sum = 0;
  say(r, "# HELP pure_request_seconds From the request's head to the end of its answer.\n"
         "# TYPE pure_request_seconds histogram\n");
  for (unsigned i = 0; i < 23; i++) {
    sum += atomic_load(&c->latency[i]);
    say(r, "pure_request_seconds_bucket{le=\"%g\"} %llu\n", 1e-6 * (double)(UINT64_C(1) << i),
        (unsigned long long)sum);
  }
  sum += atomic_load(&c->latency[23]);
  say(r, "pure_request_seconds_bucket{le=\"+Inf\"} %llu\n", (unsigned long long)sum);
  say(r, "pure_request_seconds_sum %.9f\npure_request_seconds_count %llu\n",
      (double)atomic_load(&c->latency_ns) / 1e9, (unsigned long long)sum);
}

static void functions(serve_request *r) {
  static const struct {
    const char *name, *help;
  } kinds[] = {{"calls", "Calls of a query or event."},
               {"call_faults", "Calls that ended with an error."},
               {"call_work", "Work charged to calls."},
               {"call_seconds", "Time of calls."}};
  pure_function_info info;
  for (unsigned k = 0; k < 4; k++) {
    say(r, "# HELP pure_%s_total %s\n# TYPE pure_%s_total counter\n", kinds[k].name, kinds[k].help,
        kinds[k].name);
    for (uint32_t i = 0; pure_program_function(r->s->program, i, &info) == PURE_OK; i++) {
      serve_function *f = &r->s->functions[i];
      uint64_t v = atomic_load(k == 0   ? &f->calls
                               : k == 1 ? &f->faults
                               : k == 2 ? &f->work
                                        : &f->ns);
      say(r, "pure_%s_total{function=\"%s\"} %.17g\n", kinds[k].name, info.name,
          k == 3 ? (double)v / 1e9 : (double)v);
    }
  }
}

static void store(serve_request *r) {
  durable_stats d;
  if (!r->s->durable)
    return;
  durable_stats_read(r->s->durable, &d);
  count(r, "log_position", "Events and loads done, ever.", d.position);
  count(r, "log_committed", "Of these, those that are on the disk.", d.committed);
  count(r, "log_commits_total", "Group commits.", d.commits);
  gauge(r, "checkpoint_position", "Position of the newest checkpoint.", d.checkpoint);
  gauge(r, "log_bytes", "Bytes of the log's file.", d.log_bytes);
}

void serve_metrics(serve_request *r) {
  const serve_counts *c = &r->s->counts;
  pure_memory_stats m;
  r->type = "text/plain; version=0.0.4; charset=utf-8";
  pure_engine_memory(r->s->engine, &m);
  count(r, "requests_total", "Requests begun.", atomic_load(&c->requests));
  count(r, "refused_total", "Answers with a status from 400 to 499.", atomic_load(&c->refused));
  count(r, "errors_total", "Answers with a status from 500 on.", atomic_load(&c->errors));
  count(r, "events_total", "Events run.", atomic_load(&c->events));
  count(r, "queries_total", "Queries run.", atomic_load(&c->queries));
  count(r, "loads_total", "Loads of rows.", atomic_load(&c->loads));
  count(r, "cancelled_total", "Calls stopped: time, or the caller gone.",
        atomic_load(&c->cancelled));
  count(r, "timeouts_total", "Connections closed for taking too long.", atomic_load(&c->timeouts));
  count(r, "snapshots_total", "Snapshots taken for queries.", atomic_load(&c->snapshots));
  count(r, "rows_total", "Rows answered.", atomic_load(&c->rows));
  count(r, "answer_bytes_total", "Bytes of answers.", atomic_load(&c->bytes));
  count(r, "work_total", "Work charged.", atomic_load(&c->work));
  metric(r, "owner_seconds_total", "counter", "Time in which the owner ran events.",
         (double)atomic_load(&c->event_ns) / 1e9);
  metric(r, "query_seconds_total", "counter", "Time in which workers ran queries.",
         (double)atomic_load(&c->query_ns) / 1e9);
  gauge(r, "connections", "Open connections.", atomic_load(&c->connections));
  gauge(r, "running_queries", "Queries running.", atomic_load(&c->running));
  gauge(r, "waiting_events", "Events let in and not answered.", atomic_load(&r->s->waiting));
  gauge(r, "memory_bytes", "Bytes held by lists, programs and calls.", m.live_bytes);
  latency(r);
  functions(r);
  store(r);
}
