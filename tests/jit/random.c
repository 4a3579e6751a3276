/* Random programs on the tiers and by `step`.  PURE_RANDOM_PROGRAMS=N runs N of them,
 * PURE_RANDOM_SEED=S begins elsewhere. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/ir/support/random_source.h"
#include "tests/jit/support/tiers.h"

static uint64_t setting(const char *name, uint64_t otherwise) {
  const char *text = getenv(name);
  return text ? strtoull(text, NULL, 10) : otherwise;
}

static void compare(tiers *t, uint64_t seed) {
  char *text = random_source(seed), name[40];
  snprintf(name, sizeof name, "program %llu", (unsigned long long)seed);
  compare_options o = {
      .seed = seed, .rows = 40, .calls = 6, .relayout = seed % 3 != 0, .limits = seed % 4 == 0};
  tiers_use(t, &o);
  compare_program(name, text, strlen(text), &o, NULL);
  free(text);
}

static const tiers_way ways[] = {{1, 0, 0, false}, {2, 0, 0, false}, {3, 100, 0, false},
                                 {2, 0, 5, false}, {3, 0, 0, true},  {VM_TIER_AUTO, 30, 0, false}};

START_TEST(programs) {
  uint64_t first = setting("PURE_RANDOM_SEED", 1), count = setting("PURE_RANDOM_PROGRAMS", 10);
  tiers t;
  tiers_open(&t, &ways[_i]);
  for (uint64_t k = 0; k < count; k++)
    compare(&t, first + k);
  tiers_close(&t, count);
}
END_TEST

int main(void) {
  Suite *s = suite_create("random");
  TCase *t = tcase_create("random");
  tcase_set_timeout(t, 100000);
  tcase_add_loop_test(t, programs, 0, sizeof ways / sizeof *ways);
  suite_add_tcase(s, t);
  SRunner *r = srunner_create(s);
  srunner_run_all(r, CK_ENV);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed != 0;
}
