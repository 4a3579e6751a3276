#include "tests/jit/support/tiers.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void link_made(void *user, vm_link *k) {
  tiers *t = user;
  ck_assert(vm_link_use_tier(k, t->tier));
}

/* Reasons for which a region may stay with the interpreter (docs/tiers.md). */
static bool is_listed(const char *why) {
  static const char *const listed[] = {
      "too much code", "the loop never goes round", "too much machine code",
      "its code is slower than the interpreter", "its code never fitted for long"};
  for (size_t i = 0; i < sizeof listed / sizeof *listed; i++)
    if (strncmp(why, listed[i], strlen(listed[i])) == 0)
      return true;
  return false;
}

/* Code of one of its entries has run, or there is a reason why not. */
static void check_function(tiers *t, vm_link *k, unsigned fn) {
  const vm_fn *f = &vm_link_module(k)->fns[fn];
  vm_entry_stats s;
  bool entered = false, refused = false;
  for (unsigned loop = 0; loop <= f->nloops; loop++) {
    ck_assert(vm_link_read_entry(k, fn, loop, &s));
    entered |= s.compiles > 0 && s.runs > 0;
    refused |= is_listed(s.why);
  }
  ck_assert_msg(entered || refused, "%s was not run as compiled code: %s", f->name, s.why);
  t->entered += entered;
  t->refused += !entered;
}

static void link_ends(void *user, vm_link *k) {
  const vm_module *m = vm_link_module(k);
  for (unsigned fn = 0; fn < m->nfns; fn++)
    check_function(user, k, fn);
}

/* Until all that was asked for has been compiled. */
static void called(void *user, vm_link *k) {
  tiers *t = user;
  vm_tier_stats s;
  struct timespec moment = {0, 200000};
  (void)k;
  if (!t->way.background)
    return;
  for (vm_tier_read(t->tier, &s); s.waiting; vm_tier_read(t->tier, &s))
    nanosleep(&moment, NULL);
}

/* What cannot be compiled must be for a listed reason: a broken region would be a bug. */
static void say(void *user, const char *line) {
  (void)user;
  if (getenv("PURE_JIT_STATS"))
    fprintf(stderr, "%s\n", line);
  ck_assert_msg(strstr(line, "broken") == NULL, "%s", line);
}

void tiers_open(tiers *t, const tiers_way *way) {
  *t = (tiers){.mem = ls_mem_new(NULL), .way = *way};
  vm_tier_options o = {.level = way->level,
                       .sync = !way->background,
                       .has_threshold = true,
                       .threshold = way->threshold,
                       .stress = way->deopt,
                       .check = way->check,
                       .verify = way->verify,
                       .log = say};
  t->tier = vm_tier_new(t->mem, &o);
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
  ck_assert_uint_ge(t->entered, t->refused * 20); /* refusals are rare */
  ck_assert_uint_eq(s.wrong, 0);
  if (t->way.check)
    ck_assert_uint_ge(s.checked, least);
  ck_assert_uint_eq(s.code_bytes, 0); /* every link has gone */
  vm_tier_delete(t->tier);
  ls_mem_delete(t->mem);
}

void tiers_use(tiers *t, compare_options *o) {
  o->link_made = link_made;
  o->link_ends = link_ends;
  o->called = called;
  o->stress = t->way.layout;
  o->user = t;
  if (t->way.layout)
    o->limits = false; /* memory that is spent differs */
}
