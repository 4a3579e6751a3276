/* Whole programs on the tiers and by `step`: the examples and the golden programs, every loop and
 * function compiled as soon as it is reached. */
#include <check.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/ir/support/compare.h"
#include "vm/vm_tier.h"

typedef struct {
  ls_mem *mem;
  vm_tier *tier;
  uint64_t compiled, failed; /* entries with code at the end; refused for no listed reason */
} tiers;

static void link_made(void *user, vm_link *k) {
  tiers *t = user;
  ck_assert(vm_link_use_tier(k, t->tier));
}

static void link_ends(void *user, vm_link *k) {
  tiers *t = user;
  const vm_module *m = vm_link_module(k);
  for (unsigned fn = 0; fn < m->nfns; fn++)
    for (unsigned loop = 0; loop <= m->fns[fn].nloops; loop++) {
      vm_entry_stats s;
      ck_assert(vm_link_read_entry(k, fn, loop, &s));
      t->compiled += s.level > 0;
    }
}

static tiers open_tiers(unsigned level, uint64_t threshold, uint64_t stress) {
  tiers t = {.mem = ls_mem_new(NULL)};
  vm_tier_options o = {.level = level,
                       .sync = true,
                       .has_threshold = true,
                       .threshold = threshold,
                       .stress = stress,
                       .verify = true};
  t.tier = vm_tier_new(t.mem, &o);
  ck_assert_ptr_nonnull(t.tier);
  if (!vm_tier_load(t.tier)) {
    vm_tier_stats s;
    vm_tier_read(t.tier, &s);
    ck_abort_msg("no compiled tiers: %s", s.why ? s.why : "?");
  }
  return t;
}

static void close_tiers(tiers *t, uint64_t least) {
  vm_tier_stats s;
  vm_tier_read(t->tier, &s);
  ck_assert_uint_ge(s.compiled, least);
  ck_assert_uint_eq(s.code_bytes, 0); /* every link has gone */
  vm_tier_delete(t->tier);
  ls_mem_delete(t->mem);
}

static const char *source(void) {
  const char *src = getenv("SRC");
  return src ? src : ".";
}

static void each(const char *pattern, compare_options *o, tiers *t) {
  char path[4096];
  glob_t found;
  o->link_made = link_made;
  o->link_ends = link_ends;
  o->user = t;
  snprintf(path, sizeof path, "%s/%s", source(), pattern);
  ck_assert_int_eq(glob(path, 0, NULL, &found), 0);
  for (size_t i = 0; i < found.gl_pathc; i++) compare_file(found.gl_pathv[i], o, NULL);
  globfree(&found);
}

static const struct {
  unsigned level;
  uint64_t threshold, stress;
} ways[] = {{1, 0, 0}, {2, 0, 0},  {3, 0, 0},   {2, 50, 0},           {3, 2000, 0},
            {1, 0, 7}, {2, 0, 11}, {3, 10, 13}, {VM_TIER_AUTO, 20, 0}};

START_TEST(examples) {
  tiers t = open_tiers(ways[_i].level, ways[_i].threshold, ways[_i].stress);
  for (unsigned relayout = 0; relayout < 2; relayout++) {
    compare_options o = {.seed = 1 + (unsigned)_i, .rows = 150, .calls = 3, .relayout = relayout};
    each("host/examples/*.pure", &o, &t);
  }
  close_tiers(&t, 20);
}
END_TEST

START_TEST(golden) {
  tiers t = open_tiers(ways[_i].level, ways[_i].threshold, ways[_i].stress);
  compare_options o = {
      .seed = 11 + (unsigned)_i, .rows = 60, .calls = 3, .relayout = true, .limits = true};
  each("tests/golden/*.pure", &o, &t);
  close_tiers(&t, 20);
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
