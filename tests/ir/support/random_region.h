/* tests/ir/support/random_region.h - regions at random, of everything that needs no list. */
#ifndef PURE_TESTS_IR_RANDOM_REGION_H
#define PURE_TESTS_IR_RANDOM_REGION_H

#include <stdint.h>

/* The text of a region, from malloc; the same for the same seed.  It reads ints from r0 .. r3,
 * reals from r4 and r5, bools from r6 and r7, and its loops end after few rounds.  Each exit has a
 * pc of its own. */
char *random_region(uint64_t seed);

#endif
