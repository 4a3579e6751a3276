/* Calls from the command line or the shell: checked, timed, shown. */
#include "run.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* The one thing a signal handler can reach. */
static _Atomic(pure_session *) interrupted_session;

static void interrupt(int number) {
  (void)number;
  pure_session_cancel(atomic_load(&interrupted_session));
}

/* While on, Ctrl-C makes the running call fault as cancelled; a second one ends pure-run. */
void run_interruptible(run *r, bool on) {
  struct sigaction action = {0};
  action.sa_handler = on ? interrupt : SIG_DFL;
  action.sa_flags = (int)SA_RESETHAND;
  atomic_store(&interrupted_session, on ? r->session : NULL);
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, NULL);
  if (!on)
    pure_session_resume(r->session);
}

static int no_such_function(const run *r, const char *name) {
  const char *words[64] = {0};
  pure_function_info info;
  uint32_t list;
  if (pure_program_find_list(r->program, name, &list) == PURE_OK)
    return run_usage("%s is a list, not a query or event", name);
  for (uint32_t i = 0; i < 63 && pure_program_function(r->program, i, &info) == PURE_OK; i++)
    words[i] = info.name;
  const char *near = run_suggest(name, words);
  if (near)
    return run_usage("there is no query or event %s; did you mean %s?", name, near);
  return run_usage("there is no query or event %s", name);
}

/* Parses the arguments; values has room for them. */
static int read_arguments(const run *r, const run_words *words, uint32_t function,
                          pure_value *values) {
  pure_column_info p;
  pure_error e;
  for (uint32_t i = 0; pure_program_parameter(r->program, function, i, &p) == PURE_OK; i++) {
    const char *word = words->words[i + 1];
    if (pure_value_parse(p.type, word, strlen(word), &values[i], &e) != PURE_OK)
      return run_usage("%s, argument %u, %s: %s", words->words[0], i + 1, p.name, e.message);
  }
  return RUN_FINE;
}

/* *values is for free(). */
static int prepare(const run *r, const run_words *words, pure_function_info *info,
                   pure_value **values) {
  uint32_t function;
  *values = NULL;
  if (pure_program_find_function(r->program, words->words[0], &function) != PURE_OK ||
      pure_program_function(r->program, function, info) != PURE_OK)
    return no_such_function(r, words->words[0]);
  if (info->kind == PURE_EVENT && r->o.store)
    return run_usage("--store is for queries; %s is an event, which pure-serve runs", info->name);
  if (words->nwords - 1 != info->nparameters) {
    char *signature = run_signature(r, function);
    int status = run_usage("%s takes %u argument%s, not %u: %s", info->name, info->nparameters,
                           info->nparameters == 1 ? "" : "s", words->nwords - 1, signature);
    free(signature);
    return status;
  }
  *values = run_alloc(info->nparameters * sizeof **values);
  return read_arguments(r, words, function, *values);
}

int run_call_check(const run *r, const run_words *words) {
  pure_function_info info;
  pure_value *values;
  int status = prepare(r, words, &info, &values);
  free(values);
  if (status == RUN_FINE && info.kind == PURE_EVENT && r->o.repeat > 1)
    return run_usage("--repeat is for queries; %s is an event", info.name);
  return status;
}

static int compare(const void *x, const void *y) {
  double a = *(const double *)x, b = *(const double *)y;
  return (a > b) - (a < b);
}

void run_timing_free(run_timing *t) {
  free(t->seconds);
  free(t->counts);
}

static void keep_timing(run *r, run_timing *t) {
  qsort(t->seconds, t->n, sizeof *t->seconds, compare);
  run_timing *grown = realloc(r->timings, (r->ntimings + 1) * sizeof *grown);
  if (!grown) {
    run_timing_free(t);
    return;
  }
  r->timings = grown;
  r->timings[r->ntimings++] = *t;
}

int run_call(run *r, const run_words *words, uint32_t times) {
  pure_function_info info;
  pure_value *values;
  pure_error e;
  pure_result *result = NULL;
  pure_counters *counters;
  int status = prepare(r, words, &info, &values);
  if (status != RUN_FINE) {
    free(values);
    return status;
  }
  run_timing t = {.name = info.name, .event = info.kind == PURE_EVENT};
  t.seconds = run_alloc(times * sizeof *t.seconds);
  status = run_counters_open(r, &counters);
  while (t.n < times && status == RUN_FINE) {
    pure_result_release(result);
    pure_counters_start(counters);
    double start = run_clock();
    pure_status called =
        pure_session_call(r->session, info.name, values, info.nparameters, &result, &e);
    t.seconds[t.n++] = run_clock() - start;
    pure_counters_stop(counters);
    if (called == PURE_FAULT) {
      run_fault_show(r, &e);
      status = RUN_FAULT;
    } else if (called != PURE_OK) {
      status = run_complain(&e);
    }
  }
  t.work = pure_session_work(r->session);
  run_counters_close(counters, &t);
  if (status == RUN_FINE)
    status = run_output(result, r->o.format, &r->answered);
  pure_result_release(result);
  free(values);
  if (r->o.work)
    fprintf(stderr, "work %s %llu\n", info.name, (unsigned long long)t.work);
  if (t.n)
    keep_timing(r, &t);
  else
    run_timing_free(&t);
  return status;
}
