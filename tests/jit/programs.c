/* Whole programs on the tiers and by `step`: the examples and the golden programs. */
#include <check.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/jit/support/tiers.h"

static void each(const char *pattern, compare_options *o, tiers *t) {
  const char *src = getenv("SRC");
  char path[4096];
  glob_t found;
  tiers_use(t, o);
  snprintf(path, sizeof path, "%s/%s", src ? src : ".", pattern);
  ck_assert_int_eq(glob(path, 0, NULL, &found), 0);
  for (size_t i = 0; i < found.gl_pathc; i++)
    compare_file(found.gl_pathv[i], o, NULL);
  globfree(&found);
}

static const tiers_way ways[] = {{1, 0, 0, false},  {2, 0, 0, false}, {3, 50, 0, false},
                                 {2, 0, 11, false}, {2, 0, 0, true},  {VM_TIER_AUTO, 20, 0, false}};

START_TEST(examples) {
  tiers t;
  tiers_open(&t, &ways[_i]);
  compare_options o = {.seed = 1 + (unsigned)_i, .rows = 150, .calls = 3, .relayout = _i % 2};
  each("host/examples/*.pure", &o, &t);
  tiers_close(&t, 10);
}
END_TEST

START_TEST(golden) {
  tiers t;
  tiers_open(&t, &ways[_i]);
  compare_options o = {
      .seed = 11 + (unsigned)_i, .rows = 60, .calls = 3, .relayout = true, .limits = true};
  each("tests/golden/*.pure", &o, &t);
  tiers_close(&t, 10);
}
END_TEST

int main(void) {
  /* Sanitized builds, several times slower, take two of the ways alone. */
  const char *sanitized = getenv("PURE_SANITIZE");
  bool few = sanitized && *sanitized;
  int first = few ? 2 : 0, n = few ? 4 : (int)(sizeof ways / sizeof *ways);
  Suite *s = suite_create("programs");
  TCase *t = tcase_create("programs");
  tcase_set_timeout(t, 600);
  tcase_add_loop_test(t, examples, first, n);
  tcase_add_loop_test(t, golden, first, n);
  suite_add_tcase(s, t);
  SRunner *r = srunner_create(s);
  srunner_run_all(r, CK_ENV);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed != 0;
}
