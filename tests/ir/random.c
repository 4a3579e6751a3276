/* Random programs by regions and by `step`, at every level, list by list trusted or not.
 * PURE_RANDOM_PROGRAMS=N runs N of them, PURE_RANDOM_SEED=S begins elsewhere. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/ir/support/compare.h"
#include "tests/ir/support/random_source.h"

static uint64_t setting(const char *name, uint64_t otherwise) {
  const char *text = getenv(name);
  return text ? strtoull(text, NULL, 10) : otherwise;
}

static void compare(uint64_t seed, unsigned level, machine_counts *n) {
  char *text = random_source(seed), name[40];
  snprintf(name, sizeof name, "program %llu", (unsigned long long)seed);
  compare_options o = {
      .seed = seed, .rows = 40, .calls = 6, .relayout = seed % 3 != 0, .limits = seed % 4 == 0};
  o.machine = (machine_options){.level = level,
                                .trust = seed % 2 ? IR_GUARDED : 3,
                                .seed = seed + 5,
                                .skip = (unsigned)(seed % 5),
                                .careful = seed % 7 == 0,
                                .l2_bytes = seed % 3};
  compare_program(name, text, strlen(text), &o, n);
  free(text);
}

START_TEST(programs) {
  uint64_t first = setting("PURE_RANDOM_SEED", 1), count = setting("PURE_RANDOM_PROGRAMS", 100);
  machine_counts n = {0};
  for (uint64_t k = 0; k < count; k++)
    compare(first + k, (unsigned)_i, &n);
  if (count >= 100)
    ck_assert_uint_gt(n.entries, count * 10);
}
END_TEST

int main(void) {
  Suite *s = suite_create("random");
  TCase *t = tcase_create("random");
  tcase_set_timeout(t, 100000);
  tcase_add_loop_test(t, programs, 0, 4);
  suite_add_tcase(s, t);
  SRunner *r = srunner_create(s);
  srunner_run_all(r, CK_ENV);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed != 0;
}
