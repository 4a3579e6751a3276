/* The searches by hand agree with one another where they take their rare paths: lists that grow,
 * depths that no byte holds, nodes of one, two and four bytes, and a second search that starts with
 * what the first one learned. */
#include <check.h>
#include <stdlib.h>

#include "perf/support/floor.h"

/* Every node leads to the next, and each tenth one back to the beginning as well. */
static void make_path(graph *g, uint32_t nodes) {
  *g = (graph){.nodes = nodes};
  g->offset = calloc(nodes + 1, sizeof *g->offset);
  g->target = calloc((size_t)nodes * 2, sizeof *g->target);
  ck_assert(g->offset && g->target);
  for (uint32_t v = 0; v < nodes; v++) {
    if (v % 10 == 0)
      g->target[g->edges++] = 0;
    if (v + 1 < nodes)
      g->target[g->edges++] = v + 1;
    g->offset[v + 1] = g->edges;
  }
}

static void check_form(const graph *g, floor_form form, const int32_t *expected, uint32_t reached,
                       uint32_t start) {
  floor_search s;
  uint64_t work = 0;
  ck_assert(floor_open(&s, g, form));
  for (int round = 0; round < 3; round++) {
    floor_answer a;
    ck_assert(floor_run(&s, start, &a));
    ck_assert_uint_eq(a.reached, reached);
    uint32_t wrong = 0;
    for (uint32_t v = 0; v < g->nodes; v++)
      wrong += floor_answer_depth(&a, v) != expected[v];
    ck_assert_uint_eq(wrong, 0);
    ck_assert_int_eq(floor_answer_depth(&a, g->nodes + 1000), -1);
    /* Only the first search grows its lists. */
    if (round > 1)
      ck_assert_uint_eq(a.work, work);
    work = a.work;
    floor_answer_free(&a);
  }
  floor_close(&s);
}

static void check_all(const graph *g, uint32_t start) {
  uint32_t reached;
  int32_t *expected = graph_bfs_c(g, start, &reached);
  ck_assert(expected);
  for (int form = 0; form < FLOOR_FORMS; form++)
    check_form(g, (floor_form)form, expected, reached, start);
  free(expected);
}

START_TEST(deep) {
  static const uint32_t nodes[] = {2, 200, 256, 257, 700, 65536, 70000};
  graph g;
  make_path(&g, nodes[_i]);
  check_all(&g, 0);
  check_all(&g, nodes[_i] / 2);
  graph_free(&g);
}
END_TEST

START_TEST(random_graphs) {
  static const uint32_t edges[] = {1, 30, 100, 300, 3000};
  graph g;
  ck_assert(graph_make(&g, 100, edges[_i], 7));
  check_all(&g, 0);
  check_all(&g, 99);
  graph_free(&g);
  ck_assert(graph_make(&g, 100000, edges[_i] * 100, 8));
  check_all(&g, 1);
  graph_free(&g);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("floor");
  TCase *all = tcase_create("searches");
  tcase_add_loop_test(all, deep, 0, 7);
  tcase_add_loop_test(all, random_graphs, 0, 4);
  suite_add_tcase(suite, all);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed != 0;
}
