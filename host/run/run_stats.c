/* --stats: times, work, memory, lists, loops; on standard error, so that answers can be piped. */
#include "run.h"

#include <string.h>
#include <sys/resource.h>

/* The tier names are what pure_engine_jit can say. */
static const char *tier_name(pure_jit jit) {
  static const char *const names[] = {"auto", "interpreter", "1", "2", "3"};
  return names[jit];
}

static double median(const run_timing *t) {
  return t->n % 2 ? t->seconds[t->n / 2] : (t->seconds[t->n / 2 - 1] + t->seconds[t->n / 2]) / 2;
}

void run_times_print(const run_timing *t) {
  fprintf(stderr, "%s: min %.3f ms, median %.3f ms, max %.3f ms, %u calls\n", t->name,
          t->seconds[0] * 1e3, median(t) * 1e3, t->seconds[t->n - 1] * 1e3, t->n);
}

static void print_times(const run *r) {
  FILE *out = stderr;
  fprintf(out, "time\n  compile  %12.3f ms\n", r->compile_seconds * 1e3);
  for (size_t i = 0; i < r->nloaded; i++) {
    const run_loaded *l = &r->loaded[i];
    fprintf(out, "  load     %12.3f ms  ", l->seconds * 1e3);
    if (l->list)
      fprintf(out, "%s: %llu rows, %.1f MB from %s\n", l->list, (unsigned long long)l->rows,
              (double)l->bytes / 1e6, l->path);
    else
      fprintf(out, "%.1f MB from %s\n", (double)l->bytes / 1e6, l->path);
  }
  for (size_t i = 0; i < r->ntimings; i++) {
    const run_timing *t = &r->timings[i];
    fprintf(out, "  run      %12.3f ms  %s", median(t) * 1e3, t->name);
    if (t->n > 1)
      fprintf(out, ": median of %u, min %.3f, max %.3f", t->n, t->seconds[0] * 1e3,
              t->seconds[t->n - 1] * 1e3);
    fputc('\n', out);
  }
}

static void print_work(const run *r) {
  if (r->ntimings)
    fputs("work\n", stderr);
  for (size_t i = 0; i < r->ntimings; i++)
    fprintf(stderr, "  %20llu  %s\n", (unsigned long long)r->timings[i].work, r->timings[i].name);
}

static void print_memory(const run *r) {
  struct rusage usage;
  pure_memory_stats memory;
  pure_engine_memory(r->engine, &memory);
  fputs("memory\n", stderr);
  if (getrusage(RUSAGE_SELF, &usage) == 0)
    fprintf(stderr, "  %12.3f MB  peak of the process\n", (double)usage.ru_maxrss / 1024);
  fprintf(stderr, "  %12.3f MB  peak of the engine\n", (double)memory.peak_bytes / 1048576);
  fprintf(stderr, "  %12.3f MB  held by the engine now\n", (double)memory.live_bytes / 1048576);
  if (r->o.limits.memory)
    fprintf(stderr, "  %12.3f MB  limit of a call\n", (double)r->o.limits.memory / 1048576);
  pure_memory_counter c;
  for (uint32_t i = 0; pure_engine_memory_counter(r->engine, i, &c) == PURE_OK; i++)
    if (c.value)
      fprintf(stderr, "  %12llu     %s\n", (unsigned long long)c.value, c.meaning);
}

void run_lists_print(run *r, FILE *out) {
  pure_list_stats s = {.size = sizeof s};
  size_t name = 4;
  uint32_t i;
  for (i = 0; pure_store_list_stats(r->store, i, &s) == PURE_OK; i++)
    if (strlen(s.name) > name)
      name = strlen(s.name);
  if (i == 0)
    return;
  fprintf(out, "%-*s  %12s  %-6s  %14s  %14s  %s\n", (int)name, "list", "rows", "layout", "bytes",
          "narrow bytes", "widths");
  for (i = 0; pure_store_list_stats(r->store, i, &s) == PURE_OK; i++)
    fprintf(out, "%-*s  %12llu  %-6s  %14llu  %14llu  %s\n", (int)name, s.name,
            (unsigned long long)s.rows, s.layout, (unsigned long long)s.bytes,
            (unsigned long long)s.narrow_bytes, s.widths);
}

static void print_compiles(const pure_loop_stats *s) {
  if (s->compiles)
    fprintf(stderr, "  compiled %llu times, last in %.3f ms, %llu bytes; %llu deopts\n",
            (unsigned long long)s->compiles, (double)s->compile_ns / 1e6,
            (unsigned long long)s->code_bytes, (unsigned long long)s->deopts);
  if (s->reason[0])
    fprintf(stderr, "  %s\n", s->reason);
}

static void print_loops(const run *r) {
  pure_loop_stats s = {.size = sizeof s};
  size_t width = 4;
  uint32_t i;
  for (i = 0; pure_session_loop_stats(r->session, i, &s) == PURE_OK; i++) {
    size_t n = (size_t)snprintf(NULL, 0, "%s:%u", s.function, s.line);
    if (n > width)
      width = n;
  }
  if (i == 0)
    return;
  fprintf(stderr, "%-*s  %12s  %14s  %12s  %s\n", (int)width, "loop", "entries", "headers",
          "longest", "tier");
  for (i = 0; pure_session_loop_stats(r->session, i, &s) == PURE_OK; i++) {
    int n = fprintf(stderr, "%s:%u", s.function, s.line);
    fprintf(stderr, "%*s  %12llu  %14llu  %12llu  %s\n", (int)width - n, "",
            (unsigned long long)s.entries, (unsigned long long)s.headers,
            (unsigned long long)s.longest, s.tier);
    print_compiles(&s);
  }
}

static void print_functions(const run *r) {
  pure_loop_stats s = {.size = sizeof s};
  size_t width = 8;
  uint32_t i;
  for (i = 0; pure_session_function_stats(r->session, i, &s) == PURE_OK; i++)
    if (strlen(s.function) > width)
      width = strlen(s.function);
  if (i == 0)
    return;
  fprintf(stderr, "%-*s  %12s  %s\n", (int)width, "function", "calls", "tier");
  for (i = 0; pure_session_function_stats(r->session, i, &s) == PURE_OK; i++) {
    fprintf(stderr, "%-*s  %12llu  %s\n", (int)width, s.function, (unsigned long long)s.entries,
            s.tier);
    print_compiles(&s);
  }
}

static void print_tiers(const run *r) {
  pure_jit_stats s = {.size = sizeof s};
  pure_engine_jit_stats(r->engine, &s);
  fprintf(stderr, "tiers\n  asked for %s", tier_name(r->o.jit));
  if (s.llvm)
    fprintf(stderr, ", LLVM %s", s.llvm);
  if (s.reason && r->o.jit != PURE_JIT_0 && s.compiled + s.cached == 0)
    fprintf(stderr, "; everything ran on the interpreter: %s", s.reason);
  else if (r->o.jit != PURE_JIT_0)
    fprintf(
        stderr,
        "; %llu compiled, %llu from the cache, in %.3f ms, %llu bytes, %llu dropped, %llu refused",
        (unsigned long long)s.compiled, (unsigned long long)s.cached, (double)s.compile_ns / 1e6,
        (unsigned long long)s.code_bytes, (unsigned long long)s.dropped,
        (unsigned long long)s.refused);
  fputc('\n', stderr);
  if (s.reason && s.compiled + s.cached)
    fprintf(stderr, "  nothing more is compiled: %s\n", s.reason);
  if (s.heap_bytes)
    fprintf(stderr, "  %12.3f MB  of LLVM's heap, about\n", (double)s.heap_bytes / 1048576);
  if (s.debug_objects)
    fprintf(stderr, "  %12.3f MB  registered for gdb, %llu objects\n",
            (double)s.debug_bytes / 1048576, (unsigned long long)s.debug_objects);
}

void run_stats_print(run *r) {
  print_times(r);
  print_work(r);
  print_memory(r);
  print_tiers(r);
  run_lists_print(r, stderr);
  print_loops(r);
  print_functions(r);
}
