/* host/examples/tpcc.pure at one level.  For comparing, a query is added for each list that
 * returns its rows. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "perf/support/text.h"
#include "perf/tpcc/tpcc.h"

typedef struct {
  pure_jit jit;
  uint64_t work;
  pure_engine *engine;
  pure_program *program;
  pure_store *store;
  pure_session *session;
} side;

static bool report(const tpcc_side *s, const pure_error *error) {
  char text[1200];
  pure_error_format(error, text, sizeof text);
  return tpcc_complain(s, text);
}

/* Program text */

static size_t add_query(const tpcc_table *t, char *out, size_t n) {
  size_t at = (size_t)snprintf(out, n, "query rows_of_%s: (", t->name);
  for (const char *p = t->columns; *p && at + 1 < n; p++) {
    if (*p == ' ' && p[-1] != ',')
      out[at++] = ':';
    out[at++] = *p;
  }
  return at + (size_t)snprintf(out + at, n - at, ") { return %s }\n", t->name);
}

static char *program_text(size_t *length) {
  enum { MORE = 4096 };
  size_t had;
  char *text = text_read(TPCC_PROGRAM, &had);
  char *all = text ? realloc(text, had + MORE) : NULL;
  if (!all) {
    free(text);
    return NULL;
  }
  *length = had;
  for (int t = 0; t < TPCC_NTABLES; t++)
    *length += add_query(&tpcc_tables[t], all + *length, had + MORE - *length);
  return all;
}

/* Opening */

static bool open_engine(tpcc_side *s) {
  side *p = s->data;
  pure_engine_options o = {
      .size = sizeof o, .jit = p->jit, .jit_sync = p->jit != PURE_JIT_AUTO, .environment = true};
  pure_error error;
  if (pure_engine_new(&o, &p->engine, &error) != PURE_OK)
    return report(s, &error);
  if (p->jit != PURE_JIT_AUTO && pure_engine_jit(p->engine) != p->jit)
    return tpcc_complain(s, "this level is not in this build");
  size_t length = 0;
  char *text = program_text(&length);
  if (!text)
    return tpcc_complain(s, "cannot read " TPCC_PROGRAM);
  bool fine = pure_program_compile(p->engine, "tpcc.pure", text, length, NULL, NULL, &p->program,
                                   &error) == PURE_OK &&
              pure_store_new(p->program, &p->store, &error) == PURE_OK &&
              pure_session_new(p->store, &p->session, &error) == PURE_OK;
  free(text);
  return fine || report(s, &error);
}

static bool pure_open(tpcc_side *s, const tpcc_scale *scale) {
  side *p = calloc(1, sizeof *p);
  if (!p)
    return tpcc_complain(s, "no memory");
  p->jit = *(pure_jit *)s->data;
  s->data = p;
  pure_error error;
  return open_engine(s) && (tpcc_fill(p->store, scale, &error) || report(s, &error));
}

static void pure_close(tpcc_side *s) {
  side *p = s->data;
  pure_session_release(p->session);
  pure_store_release(p->store);
  pure_program_release(p->program);
  pure_engine_release(p->engine);
  free(p);
}

/* Answers */

static void read_value(tpcc_answers *a, const pure_value *v) {
  if (v->type == PURE_TEXT)
    tpcc_answer_text(a, v->as.t, v->length);
  else
    tpcc_answer_int(a, v->as.i);
}

static void read_result(tpcc_answers *a, pure_result *result) {
  if (pure_result_get_kind(result) == PURE_RESULT_VALUE) {
    pure_value v = pure_result_value(result);
    read_value(a, &v);
    return;
  }
  uint32_t n = pure_result_columns(result);
  while (pure_result_next(result))
    for (uint32_t c = 0; c < n; c++) {
      pure_value v = pure_result_get(result, c);
      read_value(a, &v);
    }
}

static bool call(tpcc_side *s, const char *name, const pure_value *v, uint32_t n,
                 tpcc_answers *answers, uint64_t *rows) {
  side *p = s->data;
  pure_error error;
  pure_result *result;
  if (pure_session_call(p->session, name, v, n, &result, &error) != PURE_OK)
    return report(s, &error);
  if (rows)
    *rows = pure_result_rows(result);
  read_result(answers, result);
  pure_result_release(result);
  return true;
}

/* Requests */

static bool pure_run(tpcc_side *s, const tpcc_request *q) {
  side *p = s->data;
  pure_value v[TPCC_MOST_ARGUMENTS];
  uint32_t n = tpcc_arguments(q, v);
  pure_error error;
  pure_result *result;
  pure_status status =
      pure_session_call(p->session, tpcc_kind_names[q->kind], v, n, &result, &error);
  p->work += pure_session_work(p->session);
  if (status == PURE_FAULT && error.fault == PURE_FAULT_RAISED && q->kind == TPCC_NEW_ORDER) {
    s->answers.undone++;
    return true;
  }
  if (status != PURE_OK)
    return report(s, &error);
  s->answers.done[q->kind]++;
  read_result(&s->answers, result);
  pure_result_release(result);
  return true;
}

/* Checks */

static bool pure_hash(tpcc_side *s, tpcc_table_id table, uint64_t *out) {
  char name[64];
  tpcc_answers answers = {0};
  snprintf(name, sizeof name, "rows_of_%s", tpcc_tables[table].name);
  bool fine = call(s, name, NULL, 0, &answers, NULL);
  *out = answers.hash;
  return fine;
}

static uint64_t pure_work(tpcc_side *s) { return ((side *)s->data)->work; }

static uint64_t pure_digest(tpcc_side *s) {
  uint64_t digest = 0;
  pure_error error;
  if (pure_store_digest(((side *)s->data)->store, &digest, &error) != PURE_OK)
    report(s, &error);
  return digest;
}

static bool pure_breaches(tpcc_side *s, uint32_t condition, uint64_t *out) {
  char name[32];
  tpcc_answers answers = {0};
  snprintf(name, sizeof name, "condition_%u", condition);
  return call(s, name, NULL, 0, &answers, out);
}

static bool is_handler(const char *function) {
  for (int k = 0; k < TPCC_NKINDS; k++)
    if (strcmp(function, tpcc_kind_names[k]) == 0)
      return true;
  return strcmp(function, "by_name") == 0;
}

static void tell_one(const char *what, const pure_loop_stats *l) {
  if (!is_handler(l->function))
    return;
  printf("  %s %s:%u  %s  %llu entries  %llu deopts  %llu bytes  %s\n", what, l->function, l->line,
         l->tier, (unsigned long long)l->entries, (unsigned long long)l->deopts,
         (unsigned long long)l->code_bytes, l->reason);
}

static void pure_tell(tpcc_side *s) {
  side *p = s->data;
  pure_loop_stats l = {.size = sizeof l};
  printf("%s\n", s->name);
  for (uint32_t i = 0; pure_session_function_stats(p->session, i, &l) == PURE_OK; i++)
    tell_one("function", &l);
  for (uint32_t i = 0; pure_session_loop_stats(p->session, i, &l) == PURE_OK; i++)
    tell_one("loop", &l);
}

tpcc_side tpcc_pure_side(pure_jit jit) {
  static pure_jit levels[] = {PURE_JIT_AUTO, PURE_JIT_0, PURE_JIT_1, PURE_JIT_2, PURE_JIT_3};
  tpcc_side s = {.data = &levels[jit],
                 .open = pure_open,
                 .close = pure_close,
                 .run = pure_run,
                 .hash = pure_hash,
                 .work = pure_work,
                 .digest = pure_digest,
                 .breaches = pure_breaches,
                 .tell = pure_tell};
  snprintf(s.name, sizeof s.name, jit == PURE_JIT_AUTO ? "Pure auto" : "Pure level %d",
           (int)jit - 1);
  return s;
}
