/* The floors of seeks and look-ups agree where they take their rare paths: trees of one leaf and of
 * several levels, nodes without edges, buckets that are empty, keys before and after all others. */
#include <check.h>
#include <stdlib.h>

#include "perf/support/probe.h"
#include "perf/support/seek.h"

START_TEST(seeks) {
  static const uint32_t size[][2] = {{2, 1},       {10, 20},     {100, 64},     {100, 65},
                                     {1000, 1024}, {1000, 1025}, {3000, 20000}, {70000, 70000}};
  uint32_t nodes = size[_i][0], edges = size[_i][1];
  seek_data d;
  ck_assert(seek_data_make(&d, nodes, edges, 7));
  int64_t expected = (int64_t)edges * SEEK_FACTOR;
  for (uint32_t i = 0; i < edges; i++)
    if (i == 0 || d.g.key[i] >> 32 != d.g.key[i - 1] >> 32)
      expected += (uint32_t)d.g.key[i];
  for (int form = 0; form < SEEK_FORMS; form++)
    ck_assert_int_eq(seek_run(&d, (seek_form)form), expected);
  seek_data_free(&d);
}
END_TEST

static int64_t slow_sum(const probe_data *d) {
  int64_t sum = 0;
  for (uint32_t i = 0; i < d->probes; i++) {
    uint32_t row = 0;
    while (row < d->rows && d->key[row] != d->probe[i])
      row++;
    sum += row < d->rows ? d->value[row] : 1;
  }
  return sum;
}

START_TEST(probes) {
  static const uint32_t size[][2] = {{1, 1}, {2, 4096}, {31, 2}, {33, 1}, {1000, 3}, {4000, 32}};
  probe_data d;
  ck_assert(probe_data_make(&d, size[_i][0], 2000, size[_i][1], 7));
  d.probe[0] = 0;
  d.probe[1] = UINT32_MAX;
  d.probe[2] = d.key[0] - 1;
  d.probe[3] = d.key[d.rows - 1] + 1;
  int64_t expected = slow_sum(&d);
  for (int form = 0; form < PROBE_FORMS; form++)
    ck_assert_int_eq(probe_run(&d, (probe_form)form), expected);
  probe_data_free(&d);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("floor_seek");
  TCase *all = tcase_create("sums");
  tcase_add_loop_test(all, seeks, 0, 8);
  tcase_add_loop_test(all, probes, 0, 6);
  suite_add_tcase(suite, all);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed != 0;
}
