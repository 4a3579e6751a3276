/* Random programs on the tiers and by `step`: large ones, each in every way, and many small ones,
 * each in one of them.
 *   PURE_RANDOM_PROGRAMS=N   so many large ones
 *   PURE_RANDOM_SMALL=N      so many small ones, a line of progress for each thousand
 *   PURE_RANDOM_SEED=S       the first of both */
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

static void compare(tiers *t, uint64_t seed, bool small) {
  char *text = small ? random_source_small(seed) : random_source(seed), name[40];
  snprintf(name, sizeof name, "%s program %llu", small ? "small" : "large",
           (unsigned long long)seed);
  compare_options o = {.seed = seed,
                       .rows = 40,
                       .calls = small ? 3 : 6,
                       .relayout = seed % 3 != 0,
                       .limits = seed % 4 == 0};
  tiers_use(t, &o);
  compare_program(name, text, strlen(text), &o, NULL);
  free(text);
}

static const tiers_way ways[] = {
    {.level = 1, .verify = true},
    {.level = 2, .verify = true},
    {.level = 3, .threshold = 100, .verify = true},
    {.level = 2, .deopt = 5, .verify = true},
    {.level = 3, .check = true, .verify = true},
    {.level = VM_TIER_AUTO, .threshold = 30, .verify = true},
    {.level = 3, .layout = 7, .verify = true},
    {.level = 2, .background = true, .verify = true},
};
enum { NWAYS = sizeof ways / sizeof *ways };

START_TEST(large) {
  uint64_t first = setting("PURE_RANDOM_SEED", 1), count = setting("PURE_RANDOM_PROGRAMS", 2);
  tiers t;
  if (count == 0)
    return;
  tiers_open(&t, &ways[_i]);
  for (uint64_t k = 0; k < count; k++)
    compare(&t, first + k, false);
  tiers_close(&t, count);
}
END_TEST

START_TEST(small) {
  uint64_t first = setting("PURE_RANDOM_SEED", 1), count = setting("PURE_RANDOM_SMALL", 2000);
  tiers t[NWAYS];
  for (unsigned i = 0; i < NWAYS; i++)
    tiers_open(&t[i], &ways[i]);
  for (uint64_t k = 0; k < count; k++) {
    compare(&t[(first + k) % NWAYS], first + k, true);
    if ((k + 1) % 1000 == 0) {
      printf("%llu small programs compared\n", (unsigned long long)(k + 1));
      fflush(stdout);
    }
  }
  for (unsigned i = 0; i < NWAYS; i++)
    tiers_close(&t[i], count / NWAYS);
}
END_TEST

int main(void) {
  Suite *s = suite_create("random");
  TCase *t = tcase_create("random");
  tcase_set_timeout(t, 100000);
  tcase_add_loop_test(t, large, 0, NWAYS);
  tcase_add_test(t, small);
  suite_add_tcase(s, t);
  SRunner *r = srunner_create(s);
  srunner_run_all(r, CK_ENV);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed != 0;
}
