/* ir/ir_range.h - bounds of ints.  Valid until anything but ir_uncheck.c changes the region. */
#ifndef PURE_IR_RANGE_H
#define PURE_IR_RANGE_H

#include "ir/ir_cfg.h"

typedef struct {
  int64_t lo, hi; /* both included; lo > hi: no value gets here */
} ir_bounds;

/* What a branch edge or a guard says about a value: the condition is true (or not) in the blocks
 * that `block` dominates, in that block itself after `place`. */
typedef struct {
  ir_id cond;
  bool truth;
  uint32_t block, place;
  uint32_t next; /* of the same value, + 1 */
} ir_range_fact;

typedef struct {
  ir_region *r;
  const ir_cfg *cfg;
  ir_bounds *of;   /* by node, wherever it is used */
  uint32_t *place; /* of each node in its block */
  ir_range_fact *facts;
  uint32_t nfacts, cap;
  uint32_t *head; /* by value */
} ir_ranges;

bool ir_find_ranges(ir_region *r, const ir_cfg *c, ir_ranges *g); /* false: no memory */
/* Of a value where it is used: with what has been tested on the way to the node. */
ir_bounds ir_bounds_at(const ir_ranges *g, ir_id value, ir_id node);
/* Likewise at the end of a block. */
ir_bounds ir_bounds_after(const ir_ranges *g, ir_id value, uint32_t block);
static inline bool ir_bounds_within(ir_bounds b, int64_t lo, int64_t hi) {
  return b.lo >= lo && b.hi <= hi;
}
static inline bool ir_bounds_have(ir_bounds b, int64_t v) { return b.lo <= v && v <= b.hi; }

#endif
