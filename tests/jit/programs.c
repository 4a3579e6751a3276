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

static const tiers_way ways[] = {{1, 0, 0},  {2, 0, 0},    {3, 0, 0},
                                 {2, 50, 0}, {3, 2000, 0}, {1, 0, 7},
                                 {2, 0, 11}, {3, 10, 13},  {VM_TIER_AUTO, 20, 0}};

START_TEST(examples) {
  tiers t;
  tiers_open(&t, &ways[_i]);
  for (unsigned relayout = 0; relayout < 2; relayout++) {
    compare_options o = {.seed = 1 + (unsigned)_i, .rows = 150, .calls = 3, .relayout = relayout};
    each("host/examples/*.pure", &o, &t);
  }
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
  Suite *s = suite_create("programs");
  TCase *t = tcase_create("programs");
  tcase_set_timeout(t, 600);
  tcase_add_loop_test(t, examples, 0, sizeof ways / sizeof *ways);
  tcase_add_loop_test(t, golden, 0, sizeof ways / sizeof *ways);
  suite_add_tcase(s, t);
  SRunner *r = srunner_create(s);
  srunner_run_all(r, CK_ENV);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed != 0;
}
