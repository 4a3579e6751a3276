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

/* Length of the longest run of set bits. */
static inline unsigned mem_bits_longest(uint64_t m) {
  if (m + 1 == 0)
    return 64;
  uint64_t run[6]; /* where runs of 1, 2, 4 ... 32 begin */
  run[0] = m;
  for (unsigned k = 1; k < 6; k++)
    run[k] = run[k - 1] & (run[k - 1] >> (1u << (k - 1)));
  unsigned length = 0;
  uint64_t at = ~UINT64_C(0);
  for (unsigned k = 6; k-- > 0;) {
    uint64_t next = at & (run[k] >> length);
    length += next != 0 ? 1u << k : 0;
    at = next != 0 ? next : at;
  }
  return length;
}

#endif
