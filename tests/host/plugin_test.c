/* What is said of a plug-in that is not there or is none. */
#include "support/host_support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[] = "/tmp/pure-plugin-XXXXXX";
static char file[64];

static void open_with_plugin_dir(host_world *w) {
  pure_error e = {0};
  pure_jit_options tiers = {.size = sizeof tiers, .plugin_dir = folder};
  pure_engine_options o = {.size = sizeof o, .tiers = &tiers};
  static const char text[] = "query sum(n: int): int {\n"
                             "  var s = 0\n"
                             "  for i in 1..n { s += i % 7 }\n"
                             "  return s\n"
                             "}\n";
  host_fine(pure_engine_new(&o, &w->engine, &e), &e);
  host_fine(pure_program_compile(w->engine, "t", text, strlen(text), NULL, NULL, &w->program, &e),
            &e);
  host_fine(pure_store_new(w->program, &w->store, &e), &e);
  host_fine(pure_session_new(w->store, &w->session, &e), &e);
  ck_assert_int_eq(host_call(w, "sum", "7", NULL), 21);
}

/* The loop and the function say what the engine says, which names part. */
static void interprets(host_world *w, const char *part) {
  pure_jit_stats s = {.size = sizeof s};
  pure_loop_stats loop = {.size = sizeof loop}, fn = {.size = sizeof fn};
  ck_assert_int_eq(pure_engine_jit(w->engine), PURE_JIT_0);
  pure_engine_jit_stats(w->engine, &s);
  ck_assert_ptr_null(s.plugin);
  ck_assert_ptr_null(s.llvm);
  ck_assert_ptr_nonnull(s.reason);
  ck_assert_msg(strstr(s.reason, part) != NULL, "%s", s.reason);
  ck_assert_int_eq(pure_session_loop_stats(w->session, 0, &loop), PURE_OK);
  ck_assert_int_eq(pure_session_function_stats(w->session, 0, &fn), PURE_OK);
  ck_assert_int_eq(strncmp(loop.reason, s.reason, sizeof loop.reason - 1), 0);
  ck_assert_int_eq(strncmp(fn.reason, s.reason, sizeof fn.reason - 1), 0);
}

START_TEST(absent) {
  host_world w = {0};
  open_with_plugin_dir(&w);
  interprets(&w, folder);
  host_close(&w);
}
END_TEST

START_TEST(broken) {
  host_world w = {0};
  FILE *f = fopen(file, "w");
  ck_assert(f && fputs("no library\n", f) >= 0 && fclose(f) == 0);
  open_with_plugin_dir(&w);
  interprets(&w, file);
  host_close(&w);
  remove(file);
}
END_TEST

START_TEST(names) {
  ck_assert_str_eq(pure_jit_name(PURE_JIT_AUTO), "auto");
  ck_assert_str_eq(pure_jit_name(PURE_JIT_0), "interpreter");
  ck_assert_str_eq(pure_jit_name(PURE_JIT_3), "level 3");
  ck_assert_str_eq(pure_jit_name((pure_jit)9), "unknown level");
}
END_TEST

int main(void) {
  const TTest *const tests[] = {absent, broken, names};
  if (!mkdtemp(folder))
    return 1;
  snprintf(file, sizeof file, "%s/libpure-llvmjit.so", folder);
  int status = HOST_RUN("plugin", tests);
  rmdir(folder);
  return status;
}
