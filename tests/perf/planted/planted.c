/* A compiler with a planted error, for tests alone: linked around ir_optimise into a plug-in of its
 * own, it makes each loop of level 2 stop one row early.
 *
 * Every program of perf/ that runs level 2 must find the wrong answer before it prints a time. */
#include "ir/ir_int.h"

enum { PLANTED_LEVEL = 2 };

ir_status __real_ir_optimise(ir_region *r, unsigned level, bool verify, ir_seen seen, void *user);
ir_status __wrap_ir_optimise(ir_region *r, unsigned level, bool verify, ir_seen seen, void *user);

/* Whether the block goes on while what it counts is below something. */
static bool counts(const ir_region *r, const ir_block *b, ir_id *test) {
  const ir_node *last = ir_at(r, b->last);
  if (b->gone || last->op != IR_OP_BRANCH)
    return false;
  *test = last->arg[0];
  const ir_node *t = ir_at(r, *test);
  bool below = t->op == IR_OP_LT || t->op == IR_OP_ULT;
  return below && ir_at(r, t->arg[0])->op == IR_OP_PHI;
}

/* `at < end` becomes `at + 1 < end`. */
static void stop_early(ir_region *r, uint32_t block, ir_id test) {
  ir_id last = r->blocks[block].last, at[] = {ir_at(r, test)->arg[0], ir_int(r, 1)};
  ir_id next = ir_node_new(r, IR_OP_ADD, IR_I64, 2, at);
  ir_id ends[] = {next, ir_at(r, test)->arg[1]};
  ir_id planted = ir_node_new(r, (ir_op)ir_at(r, test)->op, IR_B1, 2, ends);
  if (r->failed)
    return;
  ir_node_put_before(r, last, next);
  ir_node_put_before(r, last, planted);
  ir_at(r, last)->arg[0] = planted;
}

ir_status __wrap_ir_optimise(ir_region *r, unsigned level, bool verify, ir_seen seen, void *user) {
  ir_status status = __real_ir_optimise(r, level, verify, seen, user);
  ir_id test;
  if (status != IR_OK || level != PLANTED_LEVEL)
    return status;
  uint32_t n = r->nblocks;
  for (uint32_t b = 0; b < n; b++)
    if (counts(r, &r->blocks[b], &test))
      stop_early(r, b, test);
  return r->failed ? IR_NO_MEMORY : IR_OK;
}
