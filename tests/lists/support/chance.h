/* tests/lists/support/chance.h - repeatable randomness: the same seed, the same numbers. */
#ifndef PURE_TESTS_CHANCE_H
#define PURE_TESTS_CHANCE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
  uint64_t state;
} chance;

/* A generator for part `b` of what seed `a` stands for. */
chance chance_make(uint64_t a, uint64_t b);
uint64_t chance_next(chance *c);
uint64_t chance_below(chance *c, uint64_t n); /* 0 .. n - 1; 0 when n is 0 */
bool chance_one_in(chance *c, uint64_t n);
int64_t chance_between(chance *c, int64_t lo, int64_t hi); /* both included */

#endif
