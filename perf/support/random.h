/* perf/support/random.h - numbers that are the same on every machine. */
#ifndef PURE_PERF_RANDOM_H
#define PURE_PERF_RANDOM_H

#include <stdint.h>

/* splitmix64 (Steele, Lea, Flood: OOPSLA 2014). */
static inline uint64_t random_next(uint64_t *state) {
  uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

/* Multiply-shift instead of modulo: no bias worth naming below 2^32. */
static inline uint32_t random_below(uint64_t *state, uint32_t n) {
  return (uint32_t)(((random_next(state) >> 32) * n) >> 32);
}

#endif
