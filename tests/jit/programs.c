/* Whole programs on the tiers and by `step`: the examples and the golden programs.
 * PURE_STRESS_SEEDS=N: every level, compiled at once and in the background, and N seeds each of
 * random exits and of random layouts; else a few of those. */
#include <check.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/jit/support/tiers.h"

enum { MOST_WAYS = 200 };

static tiers_way ways[MOST_WAYS] = {
    {.level = 1, .verify = true},
    {.level = 3, .threshold = 50, .verify = true},
    {.level = 2, .deopt = 11, .verify = true},
    {.level = 2, .check = true, .verify = true},
    {.level = 3, .background = true},
    {.level = VM_TIER_AUTO, .threshold = 20, .layout = 5},
};
static unsigned nways = 6;

static void find_ways(void) {
  static const unsigned levels[] = {1, 2, 3, VM_TIER_AUTO};
  const char *text = getenv("PURE_STRESS_SEEDS");
  unsigned seeds = text ? (unsigned)atoi(text) : 0, n = 0;
  if (seeds == 0 || seeds > 80)
    return;
  for (unsigned i = 0; i < 4; i++)
    for (unsigned k = 0; k < 2; k++)
      ways[n++] = (tiers_way){.level = levels[i], .background = k == 1};
  for (unsigned seed = 1; seed <= seeds; seed++) {
    ways[n++] = (tiers_way){.level = levels[seed % 4], .deopt = seed};
    ways[n++] = (tiers_way){.level = levels[(seed + 1) % 4], .layout = seed};
  }
  nways = n;
}

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

static void end(tiers *t, const char *what) {
  printf("%s: level %u%s, deopt %u, layout %u: %u functions entered, %u refused\n", what,
         t->way.level, t->way.background ? " in the background" : "", (unsigned)t->way.deopt,
         (unsigned)t->way.layout, (unsigned)t->entered, (unsigned)t->refused);
  fflush(stdout);
  tiers_close(t, 10);
}

START_TEST(examples) {
  tiers t;
  tiers_open(&t, &ways[_i]);
  compare_options o = {.seed = 1 + (unsigned)_i, .rows = 150, .calls = 3, .relayout = _i % 2};
  each("host/examples/*.pure", &o, &t);
  end(&t, "examples");
}
END_TEST

START_TEST(golden) {
  tiers t;
  tiers_open(&t, &ways[_i]);
  compare_options o = {
      .seed = 11 + (unsigned)_i, .rows = 60, .calls = 3, .relayout = true, .limits = true};
  each("tests/golden/*.pure", &o, &t);
  end(&t, "golden");
}
END_TEST

int main(void) {
  /* Sanitized builds, several times slower, take two of the ways alone. */
  const char *sanitized = getenv("PURE_SANITIZE");
  bool few = sanitized && *sanitized;
  find_ways();
  int first = few ? 1 : 0, n = few ? 3 : (int)nways;
  Suite *s = suite_create("programs");
  TCase *t = tcase_create("programs");
  tcase_set_timeout(t, 3600);
  tcase_add_loop_test(t, examples, first, n);
  tcase_add_loop_test(t, golden, first, n);
  suite_add_tcase(s, t);
  SRunner *r = srunner_create(s);
  srunner_run_all(r, CK_ENV);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed != 0;
}
