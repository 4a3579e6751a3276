#include "perf/support/sum_side.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

race_status sum_check(const sum_task *t, const racer *r, int64_t sum) {
  if (t->spoil && strcmp(t->spoil, r->name) == 0)
    sum++;
  if (sum == t->sum)
    return RACE_OK;
  fprintf(stderr, "%s: wrong answer: %s has the sum %" PRId64 ", should be %" PRId64 "\n", t->tool,
          r->name, sum, t->sum);
  return RACE_WRONG;
}

static race_status run_floor(racer *self, sample_watch *watch) {
  const sum_floor *f = self->user;
  sample_start(watch);
  int64_t sum = f->run(f->data, f->form);
  sample_stop(watch);
  return sum_check(f->task, self, sum);
}

void sum_floor_open(sum_floor *f, const char *name, racer *out) {
  *out = (racer){.run = run_floor, .user = f};
  snprintf(out->name, sizeof out->name, "%s", name);
}

static race_status run_pure(racer *self, sample_watch *watch) {
  sum_pure *p = self->user;
  pure_result *result;
  race_status status = pure_side_call(&p->side, p->function, NULL, 0, &result, watch);
  if (status != RACE_OK)
    return status;
  status = sum_check(p->task, self, pure_result_value(result).as.i);
  self->work = pure_session_work(p->side.session);
  pure_side_release(result, watch);
  return status;
}

static bool set_variables(const char *const *v, bool on) {
  bool ok = true;
  for (; v && v[0]; v += 2)
    ok = (on ? setenv(v[0], v[1], 1) : unsetenv(v[0])) == 0 && ok;
  return ok;
}

/* Settings of lists reach an engine by its environment alone. */
race_status sum_pure_open(sum_pure *p, const sum_task *t, const sum_how *how, uint32_t level,
                          racer *out) {
  *p = (sum_pure){.task = t, .function = how->function};
  *out = (racer){.run = run_pure, .user = p};
  snprintf(out->name, sizeof out->name, "%s %u", how->name, level);
  if (!set_variables(how->variables, true))
    return RACE_CANNOT;
  race_progress(t->tool, "filling lists");
  race_status status = pure_side_open(&p->side, t->tool, level, how->text, strlen(how->text));
  if (status == RACE_OK && !how->fill(how->data, &p->side))
    status = RACE_CANNOT;
  race_progress(t->tool, NULL);
  set_variables(how->variables, false);
  return status;
}

void sum_pure_close(sum_pure *p) { pure_side_close(&p->side); }

bool sum_has_layout(pure_side *side, uint32_t list, const char *layout) {
  pure_list_stats s = {.size = sizeof s};
  if (pure_store_list_stats(side->store, list, &s) == PURE_OK && strcmp(s.layout, layout) == 0)
    return true;
  fprintf(stderr, "%s: level %u: list %u is %s, should be %s\n", side->tool, side->level, list,
          s.layout ? s.layout : "not there", layout);
  return false;
}

bool sum_fill_column(pure_side *side, pure_fill *fill, uint32_t column, const uint32_t *cells,
                     size_t n) {
  enum { BLOCK = 4096 };
  int64_t wide[BLOCK];
  pure_error error;
  for (size_t at = 0; at < n; at += BLOCK) {
    size_t most = n - at < BLOCK ? n - at : BLOCK;
    for (size_t i = 0; i < most; i++)
      wide[i] = cells[at + i];
    if (pure_fill_ints(fill, column, wide, most, &error) != PURE_OK)
      return pure_side_report(side, &error);
  }
  return true;
}

bool sum_fill_list(pure_side *side, const char *list, const uint32_t *const *columns,
                   uint32_t ncolumns, size_t n) {
  pure_fill *fill;
  pure_error error;
  if (pure_fill_new(side->store, list, &fill, &error) != PURE_OK)
    return pure_side_report(side, &error);
  bool ok = true;
  for (uint32_t i = 0; ok && i < ncolumns; i++)
    ok = sum_fill_column(side, fill, i, columns[i], n);
  if (ok && pure_fill_finish(fill, PURE_DUPLICATE_ERROR, &error) != PURE_OK)
    ok = pure_side_report(side, &error);
  pure_fill_release(fill);
  return ok;
}
