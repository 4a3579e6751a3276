/* Whole programs by regions and by `step`: the examples and the golden programs. */
#include <check.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/ir/support/compare.h"

static const char *source(void) {
  const char *src = getenv("SRC");
  return src ? src : ".";
}

static void each(const char *pattern, const compare_options *o, machine_counts *total) {
  char path[4096];
  glob_t found;
  snprintf(path, sizeof path, "%s/%s", source(), pattern);
  ck_assert_int_eq(glob(path, 0, NULL, &found), 0);
  for (size_t i = 0; i < found.gl_pathc; i++)
    compare_file(found.gl_pathv[i], o, total);
  globfree(&found);
}

START_TEST(examples) {
  machine_counts n = {0};
  for (unsigned trust = 0; trust < 4; trust++)
    for (unsigned relayout = 0; relayout < 2; relayout++) {
      compare_options o = {.seed = 1 + trust, .rows = 150, .calls = 2, .relayout = relayout};
      o.machine = (machine_options){.level = (unsigned)_i, .trust = trust, .seed = 7};
      each("host/examples/*.pure", &o, &n);
    }
  ck_assert_uint_gt(n.entries, 800);
}
END_TEST

START_TEST(golden) {
  machine_counts n = {0};
  for (unsigned trust = 0; trust < 4; trust++) {
    compare_options o = {
        .seed = 11 + trust, .rows = 60, .calls = 2, .relayout = true, .limits = true};
    o.machine = (machine_options){.level = (unsigned)_i, .trust = trust, .seed = 3, .skip = trust};
    each("tests/golden/*.pure", &o, &n);
  }
  ck_assert_uint_gt(n.entries, 100);
}
END_TEST

int main(void) {
  /* Sanitized builds take the highest level alone. */
  const char *sanitized = getenv("PURE_SANITIZE");
  int first = sanitized && *sanitized ? 3 : 0;
  Suite *s = suite_create("programs");
  TCase *t = tcase_create("programs");
  tcase_set_timeout(t, 600);
  tcase_add_loop_test(t, examples, first, 4);
  tcase_add_loop_test(t, golden, first, 4);
  suite_add_tcase(s, t);
  SRunner *r = srunner_create(s);
  srunner_run_all(r, CK_ENV);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed != 0;
}
