/* ir/ir_alias.h - which nodes see the same memory.
 *
 * Each class of memory (header, count, bits, look-up, cells of a column; of each list) has a
 * version wherever it is read.  Two reads with the same version see the same contents.  Valid until
 * nodes that store or call, or edges, change.
 */
#ifndef PURE_IR_ALIAS_H
#define PURE_IR_ALIAS_H

#include "ir/ir_cfg.h"

typedef struct {
  uint32_t nclasses;
  uint32_t *class_of; /* first class of each list */
  uint32_t *version;  /* by node: of what it reads, or 0; of a store: what it leaves */
} ir_memory;

bool ir_find_memory(ir_region *r, const ir_cfg *c, ir_memory *m); /* false: no memory */

/* Class that the node reads or stores to; IR_NO_CLASS: none of these. */
#define IR_NO_CLASS UINT32_MAX
uint32_t ir_class_of(const ir_region *r, const ir_memory *m, const ir_node *n);
/* Whether the node may change the class. */
bool ir_may_write(const ir_region *r, const ir_memory *m, const ir_node *n, uint32_t class);

#endif
