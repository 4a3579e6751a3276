/* llvmjit/jit_exit.c - one block for each exit: what the interpreter will look at is stored, and
 * the exit's number returned.
 *
 * Values in an exit dominate all that leaves there, so the blocks need no phis.  They are filled
 * when every value is known.
 */
#include <stdio.h>

#include "llvmjit/jit_int.h"

LLVMBasicBlockRef jit_exit_block(jit_lower *j, uint32_t exit) {
  if (j->exit[exit] == NULL) {
    char name[24];
    snprintf(name, sizeof name, "exit%u.", exit);
    j->exit[exit] = jit_block(j, name);
  }
  return j->exit[exit];
}

static void store_work(jit_lower *j, const ir_exit *x) {
  LLVMValueRef work = jit_value(j, x->work);
  if (x->more)
    work = LLVMBuildAdd(j->b, work, jit_i64(j, (uint64_t)x->more), "");
  LLVMValueRef at = jit_at(j, j->cx, j->core->context_work);
  jit_alias_mark(j, LLVMBuildStore(j->b, work, at), IR_MEM_CX, 0, 0);
}

static void fill(jit_lower *j, uint32_t exit) {
  const ir_exit *x = &j->r->exits[exit];
  LLVMPositionBuilderAtEnd(j->b, j->exit[exit]);
  if (!x->raised) {
    for (uint32_t i = 0; i < x->nslots; i++)
      jit_store_reg(j, x->slots[i].reg, x->slots[i].value);
    store_work(j, x);
    LLVMValueRef at = jit_at(j, j->frame, j->core->frame_pc);
    jit_alias_mark(j, LLVMBuildStore(j->b, jit_i32(j, x->pc), at), IR_MEM_FRAME, 0, 0);
  }
  LLVMBuildRet(j->b, jit_i32(j, exit));
}

void jit_exits_finish(jit_lower *j) {
  for (uint32_t i = 0; i < j->r->nexits; i++)
    if (j->exit[i])
      fill(j, i);
}
