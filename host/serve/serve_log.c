/* One JSON object a line on standard error. */
#define _POSIX_C_SOURCE 200809L
#include "serve.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

uint64_t serve_clock(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void stamp(char *out, size_t n) {
  struct timespec now;
  struct tm parts;
  clock_gettime(CLOCK_REALTIME, &now);
  gmtime_r(&now.tv_sec, &parts);
  size_t used = strftime(out, n, "%Y-%m-%dT%H:%M:%S", &parts);
  snprintf(out + used, n - used, ".%03ldZ", now.tv_nsec / 1000000);
}

/* Takes it.  One write, so that lines of several threads stay whole. */
static void print_line(json_t *line) {
  char *text = line ? json_dumps(line, JSON_COMPACT | JSON_REAL_PRECISION(6)) : NULL;
  if (text)
    fprintf(stderr, "%s\n", text);
  free(text);
  json_decref(line);
}

void serve_log(const char *event, const char *form, ...) {
  char time[48], text[1200];
  va_list values;
  va_start(values, form);
  vsnprintf(text, sizeof text, form, values);
  va_end(values);
  stamp(time, sizeof time);
  print_line(json_pack("{s:s, s:s, s:s?}", "time", time, "event", event, "text", text));
}

void serve_log_request(const serve_request *r) {
  serve_log_level level = r->s->o.log;
  if (level == SERVE_LOG_OFF || (level == SERVE_LOG_ERRORS && r->status < 500))
    return;
  char time[48];
  stamp(time, sizeof time);
  uint64_t ns = serve_clock() - r->start_ns;
  print_line(json_pack("{s:s, s:s, s:s, s:s?, s:i, s:f, s:f, s:I, s:I, s:s*}", "time", time,
                       "event", "request", "method", r->method, "path", r->path, "status",
                       (int)r->status, "ms", (double)ns / 1e6, "run_ms", (double)r->run_ns / 1e6,
                       "work", (json_int_t)r->work, "rows", (json_int_t)r->rows, "error", r->code));
}
