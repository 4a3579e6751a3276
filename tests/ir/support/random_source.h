/* tests/ir/support/random_source.h - small programs at random, to be compared on every level. */
#ifndef PURE_TESTS_IR_RANDOM_SOURCE_H
#define PURE_TESTS_IR_RANDOM_SOURCE_H

#include <stddef.h>
#include <stdint.h>

/* Source text that compiles, 0-terminated, from malloc; the same for the same seed.  Its calls may
 * fault, but end after few steps. */
char *random_source(uint64_t seed);
/* Likewise, with one helper and one query or event, each of a few statements. */
char *random_source_small(uint64_t seed);

#endif
