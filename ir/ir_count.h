/* ir/ir_count.h - loops whose number of rounds is known before them. */
#ifndef PURE_IR_COUNT_H
#define PURE_IR_COUNT_H

#include "ir/ir_range.h"

/* The loop goes on while from + (0, 1, 2, ...) or more is below `to`: its header is reached at most
 * to - from times and once more, or once where from is not below to. */
typedef struct {
  ir_id from, to; /* both known before the loop */
  ir_id phi;      /* the value that counts, at the header */
  ir_id tested;   /* what is compared with `to`: the phi, or what was found from it on */
  uint32_t test;  /* the block that ends with the test */
  bool is_signed; /* how they are compared */
  bool or_equal;  /* goes on at `to` as well */
  bool by_one;    /* the phi itself is tested and grows by 1: it never is above `to`, unless it
                     already was */
} ir_count;

bool ir_find_count(const ir_region *r, const ir_cfg *c, uint32_t loop, ir_count *out);

#endif
