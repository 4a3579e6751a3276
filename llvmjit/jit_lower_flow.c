/* llvmjit/jit_lower_flow.c - control, guards, and bytecode out of line. */
#include "llvmjit/jit_int.h"
#include "vm/vm_tables.h"

static uint32_t block_of(const jit_lower *j, const ir_node *n, unsigned succ) {
  return j->r->blocks[n->block].succ[succ];
}

LLVMValueRef jit_lower_JUMP(jit_lower *j, const ir_node *n) {
  if (j->quick) {
    jit_quick_write(j, n->block, 0);
    LLVMBuildBr(j->b, j->start[block_of(j, n, 0)]);
  } else {
    LLVMBuildBr(j->b, jit_target(j, n->block, 0));
  }
  return NULL;
}

LLVMValueRef jit_lower_BRANCH(jit_lower *j, const ir_node *n) {
  uint32_t yes = block_of(j, n, 0), no = block_of(j, n, 1);
  bool yes_cold = j->r->blocks[yes].cold, no_cold = j->r->blocks[no].cold;
  LLVMValueRef carry = jit_fit_carry(j, n), cond = carry ? carry : jit_arg(j, n, 0);
  LLVMBasicBlockRef to_no = jit_target(j, n->block, 1), to_yes = jit_target(j, n->block, 0);
  if (carry) {
    jit_branch_likely(j, LLVMBuildNot(j->b, carry, ""), to_yes, to_no);
    return NULL;
  }
  LLVMValueRef branch = LLVMBuildCondBr(j->b, cond, to_yes, to_no);
  if (yes_cold != no_cold)
    LLVMSetMetadata(branch, j->cold_kind,
                    LLVMMetadataAsValue(j->llvm, yes_cold ? j->unlikely : j->likely));
  return NULL;
}

LLVMValueRef jit_lower_LEAVE(jit_lower *j, const ir_node *n) {
  LLVMBuildBr(j->b, jit_exit_block(j, n->exit));
  return NULL;
}

LLVMValueRef jit_lower_GUARD(jit_lower *j, const ir_node *n) {
  jit_need(j, jit_arg(j, n, 0), n->exit);
  return NULL;
}

static LLVMValueRef load_cx(jit_lower *j, uint32_t offset) {
  LLVMValueRef load = LLVMBuildLoad2(j->b, j->t.i64, jit_at(j, j->cx, offset), "");
  jit_alias_mark(j, load, IR_MEM_CX, 0, 0);
  return load;
}

/* poll_at is never above the work limit, and so near that a cancelled call ends soon: past it
 * the core is asked.  A check for a whole loop asks for the limit itself. */
LLVMValueRef jit_lower_POLL(jit_lower *j, const ir_node *n) {
  LLVMValueRef work = jit_arg(j, n, 0);
  if (j->r->exits[n->exit].reason == IR_EXIT_BULK) {
    LLVMValueRef limit = load_cx(j, j->core->context_work_limit);
    jit_need(j, jit_compare(j, LLVMIntULE, work, limit), n->exit);
    return NULL;
  }
  LLVMBasicBlockRef ask = jit_block(j, "poll"), fine = jit_block_after(j, "");
  LLVMValueRef at = load_cx(j, j->core->context_poll_at);
  jit_branch_likely(j, jit_compare(j, LLVMIntULE, work, at), fine, ask);
  LLVMPositionBuilderAtEnd(j->b, ask);
  LLVMValueRef args[2] = {j->cx, work};
  LLVMValueRef leave = jit_call(j, JIT_HELPER_POLL, args, "");
  jit_alias_mark(j, leave, IR_MEM_CX, 0, 0);
  jit_need(j, jit_compare(j, LLVMIntEQ, leave, jit_i32(j, 0)), n->exit);
  LLVMBuildBr(j->b, fine);
  LLVMPositionBuilderAtEnd(j->b, fine);
  return NULL;
}

LLVMValueRef jit_lower_WORK(jit_lower *j, const ir_node *n) {
  (void)n;
  return load_cx(j, j->core->context_work);
}

/* ---- steps */

/* The list that the instruction names and touches alone, or -1: not known. */
static int step_list(const jit_lower *j, const ir_step *s) {
  if (j->fn == NULL || s->calls || s->pc >= j->fn->ncode)
    return -1;
  return vm_ins_list(&j->fn->code[s->pc]);
}

static void store_args(jit_lower *j, const ir_node *n, const ir_step *s) {
  unsigned first = s->metered;
  if (s->metered) {
    LLVMValueRef at = jit_at(j, j->cx, j->core->context_work);
    jit_alias_mark(j, LLVMBuildStore(j->b, jit_arg(j, n, 0), at), IR_MEM_CX, 0, 0);
  }
  for (unsigned k = first; k < n->nargs; k++)
    jit_store_reg(j, s->reg[k - first], n->arg[k]);
}

LLVMValueRef jit_lower_STEP(jit_lower *j, const ir_node *n) {
  const ir_step *s = &j->r->steps[n->imm];
  LLVMBasicBlockRef together;
  bool direct = s->calls && jit_direct_begin(j, n, s, &together);
  store_args(j, n, s);
  LLVMValueRef args[3] = {j->frame, j->cx, jit_i32(j, s->pc)};
  LLVMValueRef end = jit_call(j, s->calls ? JIT_HELPER_CALL : JIT_HELPER_STEP, args, "");
  int list = step_list(j, s);
  if (list >= 0 && (uint32_t)list < j->r->nlists)
    jit_alias_mark_list(j, end, (unsigned)list);
  LLVMBasicBlockRef fine = jit_block_after(j, "");
  LLVMValueRef done = jit_compare(j, LLVMIntNE, end, jit_i32(j, VM_JIT_STOPPED));
  jit_branch_likely(j, done, fine, jit_exit_block(j, n->exit));
  LLVMPositionBuilderAtEnd(j->b, fine);
  if (direct) {
    LLVMBuildBr(j->b, together);
    LLVMPositionBuilderAtEnd(j->b, together);
    return LLVMConstInt(j->t.i1, 0, false);
  }
  return jit_compare(j, LLVMIntEQ, end, jit_i32(j, VM_JIT_JUMPED));
}
