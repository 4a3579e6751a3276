/* lists/mem/mem_bits.h - runs of set bits in a word. */
#ifndef PURE_LISTS_MEM_BITS_H
#define PURE_LISTS_MEM_BITS_H

#include <stdint.h>

static inline unsigned mem_bits_step(uint64_t *m, unsigned left, unsigned step) {
  unsigned k = left < step ? left : step;
  *m &= *m >> k;
  return left - k;
}

/* Where runs of n set bits begin; 1 <= n <= 32.  No branches: sizes come at random. */
static inline uint64_t mem_bits_runs(uint64_t m, unsigned n) {
  unsigned left = n - 1;
  left = mem_bits_step(&m, left, 1);
  left = mem_bits_step(&m, left, 2);
  left = mem_bits_step(&m, left, 4);
  left = mem_bits_step(&m, left, 8);
  (void)mem_bits_step(&m, left, 16);
  return m;
}

/* Looks for runs that are `step` longer than *length, which begin at `from` where *at says so. */
static inline void mem_bits_longer(uint64_t *at, unsigned *length, uint64_t from, unsigned step) {
  uint64_t next = *at & (from >> *length);
  *length += next != 0 ? step : 0;
  *at = next != 0 ? next : *at;
}

/* Length of the longest run of set bits. */
static inline unsigned mem_bits_longest(uint64_t m) {
  if (m + 1 == 0)
    return 64;
  uint64_t m2 = m & (m >> 1), m4 = m2 & (m2 >> 2); /* where runs of 2, 4 ... begin */
  uint64_t m8 = m4 & (m4 >> 4), m16 = m8 & (m8 >> 8), m32 = m16 & (m16 >> 16);
  unsigned length = 0;
  uint64_t at = ~UINT64_C(0);
  mem_bits_longer(&at, &length, m32, 32);
  mem_bits_longer(&at, &length, m16, 16);
  mem_bits_longer(&at, &length, m8, 8);
  mem_bits_longer(&at, &length, m4, 4);
  mem_bits_longer(&at, &length, m2, 2);
  mem_bits_longer(&at, &length, m, 1);
  return length;
}

#endif
