/* llvmjit/jit_fit.c - sums that are written back to narrow cells.
 *
 *   v = add.n (cell u32) b,  branch (ult v 2^32),  cell.set u32 v
 *
 * is what adding to a column is.  Added in the cell's width, the processor's carry is the test.
 */
#include "llvmjit/jit_int.h"

/* b has no more bits than the cell. */
static bool is_as_narrow(const ir_region *r, ir_id b, unsigned width) {
  const ir_node *n = ir_at(r, b);
  if (n->op == IR_OP_INT)
    return n->imm >= 0 && (uint64_t)n->imm >> (8u << width) == 0;
  return n->op == IR_OP_CELL && n->width <= width;
}

static bool is_narrow_sum(const jit_lower *j, const ir_node *test, unsigned *width) {
  if (j->quick || test->op != IR_OP_ULT)
    return false;
  const ir_node *sum = ir_at(j->r, test->arg[0]), *limit = ir_at(j->r, test->arg[1]);
  if (sum->op != IR_OP_ADDN || limit->op != IR_OP_INT)
    return false;
  const ir_node *cell = ir_at(j->r, sum->arg[0]);
  *width = cell->width;
  return cell->op == IR_OP_CELL && cell->width < 3 &&
         limit->imm == INT64_C(1) << (8u << cell->width) &&
         is_as_narrow(j->r, sum->arg[1], cell->width);
}

LLVMValueRef jit_fit_carry(jit_lower *j, const ir_node *branch) {
  const ir_node *n = ir_at(j->r, branch->arg[0]);
  unsigned width;
  if (!is_narrow_sum(j, n, &width))
    return NULL;
  const ir_node *sum = ir_at(j->r, n->arg[0]);
  LLVMTypeRef type = jit_cell_type(j, width);
  LLVMValueRef args[2];
  for (unsigned k = 0; k < 2; k++)
    args[k] = LLVMBuildTrunc(j->b, jit_arg(j, sum, k), type, "");
  LLVMValueRef both = jit_intrinsic(j, "llvm.uadd.with.overflow", &type, 1, args, 2);
  j->fit = n->arg[0];
  j->fit_block = j->r->blocks[branch->block].succ[0];
  j->fit_value = LLVMBuildExtractValue(j->b, both, 0, "");
  return LLVMBuildExtractValue(j->b, both, 1, "");
}

LLVMValueRef jit_fit_sum(const jit_lower *j, const ir_node *set) {
  bool here = j->fit && set->arg[2] == j->fit && set->block == j->fit_block;
  return here && jit_cell_type(j, set->width) == LLVMTypeOf(j->fit_value) ? j->fit_value : NULL;
}
