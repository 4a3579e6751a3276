/* tests/jit/support/tiers.h - compare.h with the real tiers on its second side: every loop and
 * function compiled as soon as it is warm, in the calling thread or behind its back. */
#ifndef PURE_TESTS_JIT_TIERS_H
#define PURE_TESTS_JIT_TIERS_H

#include "tests/ir/support/compare.h"
#include "vm/vm_tier.h"

typedef struct {
  unsigned level;
  uint64_t threshold;
  uint64_t deopt, layout; /* seeds of stress; 0: none */
  bool check;             /* every run again by `step` */
  bool background;        /* compiled between calls */
  bool verify;            /* regions after every pass */
} tiers_way;

typedef struct {
  ls_mem *mem;
  vm_tier *tier;
  tiers_way way;
  uint64_t entered, refused; /* functions, when their link ended */
} tiers;

/* Fails the test where there are no compiled tiers. */
void tiers_open(tiers *t, const tiers_way *way);
/* All code has been given back, and at least so much was compiled. */
void tiers_close(tiers *t, uint64_t least);
/* With these options each function of a program must have been compiled and entered by the time
 * its link ends, or have been refused for a reason that is listed. */
void tiers_use(tiers *t, compare_options *o);

#endif
