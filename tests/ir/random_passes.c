/* Passes on regions made at random: run before and after each pass, on registers at random, a
 * region takes the same exit with the same registers and the same work. PURE_RANDOM_REGIONS=N runs
 * N of them, PURE_RANDOM_SEED=S begins elsewhere. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/ir/support/eval.h"
#include "tests/ir/support/random_region.h"
#include "tests/ir/support/text.h"

enum { REGS = 16, RUNS = 12 };

typedef struct {
  ls_val regs[REGS];
  uint64_t work;
  uint32_t pc;
  bool bulk; /* left before a loop: the interpreter would run that */
} outcome;

static unsigned compared, bulk;

static uint64_t chance(uint64_t *state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state;
}

static uint64_t some_bits(uint64_t *state, unsigned reg) {
  static const uint64_t odd[] = {0, 1, UINT64_MAX, INT64_MAX, UINT64_C(1) << 63, 255, 256, 3652058};
  uint64_t n = chance(state);
  if (reg == 6 || reg == 7)
    return n & 1;
  if (reg == 4 || reg == 5) {
    double d = n % 5 == 0 ? (double)(int64_t)chance(state) : (double)(int64_t)(n / 8 % 100) / 4 - 9;
    uint64_t bits;
    memcpy(&bits, &d, sizeof bits);
    return n % 7 == 0 ? chance(state) : bits;
  }
  return n % 3 == 0 ? odd[n / 8 % 8] : n % 3 == 1 ? n >> (n / 8 % 64) : n / 8 % 30;
}

static outcome run(const ir_region *r, uint64_t seed) {
  outcome o = {.pc = 0};
  uint64_t state = seed * UINT64_C(0x9e3779b97f4a7c15) | 1;
  for (unsigned k = 0; k < 8; k++)
    o.regs[k].u = some_bits(&state, k);
  eval_state e = {.regs = o.regs, .work = 1000, .limit = 1000 + chance(&state) % 3000};
  const ir_exit *x = &r->exits[eval_region(r, &e)];
  o.pc = x->pc;
  o.bulk = x->reason == IR_EXIT_BULK;
  o.work = e.work;
  return o;
}

/* NaNs are one NaN: no operation tells them apart, but two ways of folding may. */
static bool same(const outcome *a, const outcome *b) {
  if (a->pc != b->pc || a->work != b->work)
    return false;
  for (unsigned k = 0; k < REGS; k++)
    if (a->regs[k].u != b->regs[k].u &&
        !(a->regs[k].r != a->regs[k].r && b->regs[k].r != b->regs[k].r))
      return false;
  return true;
}

static const char *const passes[] = {"fold", "gvn", "guard",   "fuse", "loop",    "uncheck",
                                     "bulk", "mem", "reload",  "exit", "dce",     "phi",
                                     "fold", "gvn", "uncheck", "fuse", "prefetch"};
#define NPASSES (sizeof passes / sizeof *passes)

static void check_pass(ir_region *r, const char *pass, const outcome *wanted, uint64_t seed) {
  char why[200];
  ck_assert_int_eq(ir_run_pass(r, pass), IR_OK);
  ck_assert_msg(ir_verify(r, why, sizeof why), "seed %llu, %s: %s", (unsigned long long)seed, pass,
                why);
  for (unsigned k = 0; k < RUNS; k++) {
    outcome got = run(r, seed * 100 + k);
    compared++;
    bulk += got.bulk;
    if (got.bulk)
      continue;
    ck_assert_msg(same(&got, &wanted[k]), "seed %llu, %s, run %u: pc %u work %llu, not %u %llu",
                  (unsigned long long)seed, pass, k, got.pc, (unsigned long long)got.work,
                  wanted[k].pc, (unsigned long long)wanted[k].work);
  }
}

/* Passes in an order made from the seed. */
static void check_region(uint64_t seed) {
  ls_mem *mem = ls_mem_new(NULL);
  char *text = random_region(seed), name[40];
  outcome wanted[RUNS];
  uint64_t state = seed | 1;
  sprintf(name, "region %llu", (unsigned long long)seed);
  ir_region *r = text_region(mem, name, text, strlen(text));
  for (unsigned k = 0; k < RUNS; k++)
    wanted[k] = run(r, seed * 100 + k);
  for (unsigned k = 0; k < NPASSES; k++)
    check_pass(r, passes[seed % 2 ? k : chance(&state) % NPASSES], wanted, seed);
  ir_region_delete(r);
  free(text);
  ls_mem_delete(mem);
}

static uint64_t setting(const char *name, uint64_t otherwise) {
  const char *text = getenv(name);
  return text ? strtoull(text, NULL, 10) : otherwise;
}

START_TEST(regions) {
  uint64_t first = setting("PURE_RANDOM_SEED", 1), count = setting("PURE_RANDOM_REGIONS", 3000);
  for (uint64_t k = 0; k < count; k++)
    check_region(first + k);
  ck_assert_uint_lt(bulk, compared / 10);
}
END_TEST

int main(void) {
  Suite *s = suite_create("random_passes");
  TCase *t = tcase_create("random_passes");
  tcase_set_timeout(t, 100000);
  tcase_add_test(t, regions);
  suite_add_tcase(s, t);
  SRunner *r = srunner_create(s);
  srunner_run_all(r, CK_ENV);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed != 0;
}
