#include "tests/jit/support/tiers.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* What cannot be compiled must be for a listed reason: a broken region would be a bug. */
static void say(void *user, const char *line) {
  (void)user;
  if (getenv("PURE_JIT_STATS"))
    fprintf(stderr, "%s\n", line);
  ck_assert_msg(strstr(line, "broken") == NULL, "%s", line);
}

void tiers_open(tiers *t, const tiers_way *way) {
  *t = (tiers){.mem = ls_mem_new(NULL)};
  vm_tier_options o = {.level = way->level,
                       .sync = true,
                       .has_threshold = true,
                       .threshold = way->threshold,
                       .stress = way->stress,
                       .check = way->check,
                       .verify = true,
                       .log = say};
  t->tier = vm_tier_new(t->mem, &o);
  t->checks = way->check;
  ck_assert_ptr_nonnull(t->tier);
  if (vm_tier_load(t->tier))
    return;
  vm_tier_stats s;
  vm_tier_read(t->tier, &s);
  ck_abort_msg("no compiled tiers: %s", s.why ? s.why : "?");
}

void tiers_close(tiers *t, uint64_t least) {
  vm_tier_stats s;
  vm_tier_read(t->tier, &s);
  ck_assert_uint_ge(s.compiled, least);
  ck_assert_uint_eq(s.wrong, 0);
  if (t->checks)
    ck_assert_uint_ge(s.checked, least);
  ck_assert_uint_eq(s.code_bytes, 0); /* every link has gone */
  vm_tier_delete(t->tier);
  ls_mem_delete(t->mem);
}

void tiers_use(tiers *t, compare_options *o) {
  o->link_made = link_made;
  o->link_ends = link_ends;
  o->user = t;
}
