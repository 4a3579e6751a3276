/* tests/jit/support/tiers.h - compare.h with the real tiers on its second side: every loop and
 * function compiled in the calling thread as soon as it is warm. */
#ifndef PURE_TESTS_JIT_TIERS_H
#define PURE_TESTS_JIT_TIERS_H

#include "tests/ir/support/compare.h"
#include "vm/vm_tier.h"

typedef struct {
  unsigned level;
  uint64_t threshold, stress;
  bool check; /* every run again by `step` */
} tiers_way;

typedef struct {
  ls_mem *mem;
  vm_tier *tier;
  bool checks;
  uint64_t compiled; /* entries with code when their link ended */
} tiers;

/* Fails the test where there are no compiled tiers. */
void tiers_open(tiers *t, const tiers_way *way);
/* All code has been given back, and at least so much was compiled. */
void tiers_close(tiers *t, uint64_t least);
void tiers_use(tiers *t, compare_options *o);

#endif
