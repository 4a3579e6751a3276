/* tests/ir/support/eval.h - runs a region as it is written, operation by operation, on real lists.
 *
 * The reference for what each operation of ir_ops.def means.  It also checks what no result would
 * show: that a cell that is read or written lies in the block its list has now, that a value has
 * been computed before it is used.  A breach ends the test.
 */
#ifndef PURE_TESTS_IR_EVAL_H
#define PURE_TESTS_IR_EVAL_H

#include "ir/ir.h"

typedef enum { EVAL_DONE, EVAL_JUMPED, EVAL_STOPPED, EVAL_RAISED } eval_end;

typedef struct eval_state {
  ls_val *regs;
  ls_list **lists;
  ls_texts *texts;
  const ls_val *consts;
  uint64_t work, limit;
  const _Atomic int *cancel; /* may be NULL */
  /* Runs the instruction at s->pc on regs; metered: e->work is exact and will be. */
  eval_end (*step)(struct eval_state *e, const ir_step *s);
  void *user;
  uint64_t steps, nodes; /* counted */
} eval_state;

/* The number of the exit that was taken.  Unless it is raised, its registers and its work have
 * been stored. */
uint32_t eval_region(const ir_region *r, eval_state *e);

#endif
