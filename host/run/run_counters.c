/* --counters: what the processor and the system counted while each query or event ran. */
#include "run.h"

#include <string.h>

int run_counters_open(const run *r, pure_counters **out) {
  pure_error e;
  *out = NULL;
  if (!r->o.counters || pure_counters_new(r->engine, out, &e) == PURE_OK)
    return RUN_FINE;
  return run_complain(&e);
}

void run_counters_close(pure_counters *counters, run_timing *t) {
  if (!counters)
    return;
  t->counts = run_alloc(PURE_NCOUNTERS * sizeof *t->counts);
  for (int i = 0; i < PURE_NCOUNTERS; i++) {
    t->counts[i].size = sizeof t->counts[i];
    if (pure_counters_read(counters, (pure_counter)i, &t->counts[i]) != PURE_OK)
      t->counts[i].name = "?";
  }
  pure_counters_release(counters);
}

/* As "1.43 instructions a cycle", where both were counted. */
static void print_ratio(const run_timing *t, pure_counter of, pure_counter to, double scale,
                        const char *what) {
  const pure_count *a = &t->counts[of], *b = &t->counts[to];
  if (a->counted && b->counted && b->value)
    fprintf(stderr, "  %17.2f  %s\n", scale * (double)a->value / (double)b->value, what);
}

static void print_one(const run_timing *t, pure_counter which) {
  const pure_count *c = &t->counts[which];
  double value = (double)c->value / t->n;
  if (!c->counted)
    return;
  if (which == PURE_COUNTER_TASK_CLOCK)
    fprintf(stderr, "  %17.3f  %s, ms", value / 1e6, c->name);
  else
    fprintf(stderr, "  %17.*f  %s", t->n > 1 && value < 1e6 ? 1 : 0, value, c->name);
  if (c->share < 1)
    fprintf(stderr, "  (estimated: on the processor for %.0f %% of the time)", c->share * 100);
  fputc('\n', stderr);
}

static bool same_reason(const pure_count *a, const pure_count *b) {
  return !a->counted && !b->counted && strcmp(a->reason, b->reason) == 0;
}

/* Those that share a reason are named in one line. */
static void print_missing(const run_timing *t, int first) {
  const pure_count *c = t->counts;
  for (int i = 0; i < first; i++)
    if (same_reason(&c[i], &c[first]))
      return;
  fprintf(stderr, "  not counted: %s", c[first].name);
  for (int i = first + 1; i < PURE_NCOUNTERS; i++)
    if (same_reason(&c[i], &c[first]))
      fprintf(stderr, ", %s", c[i].name);
  fprintf(stderr, ": %s\n", c[first].reason);
}

void run_counters_print(const run_timing *t) {
  if (!t->counts)
    return;
  fprintf(stderr, "counters of %s", t->name);
  if (t->n > 1)
    fprintf(stderr, ", mean of %u calls", t->n);
  fputs(": this thread, the processor's in user space alone\n", stderr);
  for (int i = 0; i < PURE_NCOUNTERS; i++)
    print_one(t, (pure_counter)i);
  print_ratio(t, PURE_COUNTER_INSTRUCTIONS, PURE_COUNTER_CYCLES, 1, "instructions a cycle");
  print_ratio(t, PURE_COUNTER_BRANCH_MISSES, PURE_COUNTER_BRANCHES, 100, "% of branches missed");
  print_ratio(t, PURE_COUNTER_L1D_MISSES, PURE_COUNTER_L1D_LOADS, 100, "% of L1D loads missed");
  print_ratio(t, PURE_COUNTER_LLC_MISSES, PURE_COUNTER_LLC_LOADS, 100, "% of LLC loads missed");
  for (int i = 0; i < PURE_NCOUNTERS; i++)
    if (!t->counts[i].counted)
      print_missing(t, i);
}
