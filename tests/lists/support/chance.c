#include "tests/lists/support/chance.h"

static uint64_t chance_mix(uint64_t x) {
  x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
  return x ^ (x >> 31);
}

chance chance_make(uint64_t a, uint64_t b) {
  return (chance){chance_mix(a + UINT64_C(0x9e3779b97f4a7c15)) ^ chance_mix(~b)};
}

uint64_t chance_next(chance *c) {
  c->state += UINT64_C(0x9e3779b97f4a7c15);
  return chance_mix(c->state);
}

uint64_t chance_below(chance *c, uint64_t n) { return n ? chance_next(c) % n : 0; }

bool chance_one_in(chance *c, uint64_t n) { return chance_below(c, n) == 0; }

int64_t chance_between(chance *c, int64_t lo, int64_t hi) {
  uint64_t span = (uint64_t)hi - (uint64_t)lo;
  uint64_t r = chance_next(c);
  return (int64_t)((uint64_t)lo + (span == UINT64_MAX ? r : r % (span + 1)));
}
