#include "perf/support/pure_side.h"

#include <stdio.h>
#include <string.h>

bool pure_side_report(const pure_side *p, const pure_error *error) {
  char text[1200];
  pure_error_format(error, text, sizeof text);
  fprintf(stderr, "%s: level %u: %s\n", p->tool, p->level, text);
  return false;
}

race_status pure_side_open(pure_side *p, const char *tool, uint32_t level, const char *text,
                           size_t length) {
  static const pure_jit jit[ARGS_MAX_LEVELS] = {PURE_JIT_0, PURE_JIT_1, PURE_JIT_2, PURE_JIT_3};
  pure_engine_options wanted = {
      .size = sizeof wanted, .jit = jit[level], .jit_sync = true, .environment = true};
  pure_error error;
  *p = (pure_side){.tool = tool, .level = level};
  if (pure_engine_new(&wanted, &p->engine, &error) != PURE_OK) {
    pure_side_report(p, &error);
    return RACE_CANNOT;
  }
  if (pure_engine_jit(p->engine) != jit[level]) {
    fprintf(stderr, "%s: level %u is not in this build\n", tool, level);
    return RACE_CANNOT;
  }
  if (pure_program_compile(p->engine, tool, text, length, NULL, NULL, &p->program, &error) !=
          PURE_OK ||
      pure_store_new(p->program, &p->store, &error) != PURE_OK ||
      pure_session_new(p->store, &p->session, &error) != PURE_OK) {
    pure_side_report(p, &error);
    return RACE_CANNOT;
  }
  return RACE_OK;
}

void pure_side_close(pure_side *p) {
  pure_session_release(p->session);
  pure_store_release(p->store);
  pure_program_release(p->program);
  pure_engine_release(p->engine);
}

race_status pure_side_call(pure_side *p, const char *function, const pure_value *arguments,
                           uint32_t n, pure_result **out, sample_watch *watch) {
  pure_error error;
  sample_start(watch);
  pure_status status = pure_session_call(p->session, function, arguments, n, out, &error);
  sample_stop(watch);
  if (status == PURE_OK)
    return RACE_OK;
  pure_side_report(p, &error);
  return RACE_CANNOT;
}

void pure_side_release(pure_result *result, sample_watch *watch) {
  sample_start(watch);
  pure_result_release(result);
  sample_stop(watch);
}

/* Whether it was compiled as a whole: then no loop of it ever ran on the interpreter. */
static bool is_compiled_whole(const pure_side *p, uint32_t loops) {
  pure_jit_stats s = {.size = sizeof s};
  pure_engine_jit_stats(p->engine, &s);
  return loops == 0 && s.compiled + s.cached > 0;
}

race_status pure_side_ran_compiled(const pure_side *p, const char *function) {
  char tier[] = "level 0", reason[sizeof((pure_loop_stats *)NULL)->reason] = "it was never hot";
  pure_loop_stats s = {.size = sizeof s};
  uint32_t loops = 0;
  tier[6] = (char)('0' + p->level);
  if (p->level == 0)
    return RACE_OK;
  for (uint32_t i = 0; pure_session_loop_stats(p->session, i, &s) == PURE_OK; i++) {
    if (strcmp(s.function, function) != 0)
      continue;
    if (strcmp(s.tier, tier) == 0)
      return RACE_OK;
    if (s.reason[0])
      memcpy(reason, s.reason, sizeof reason);
    loops++;
  }
  if (is_compiled_whole(p, loops))
    return RACE_OK;
  fprintf(stderr, "%s: nothing of %s ran on level %u: %s\n", p->tool, function, p->level, reason);
  return RACE_CANNOT;
}
