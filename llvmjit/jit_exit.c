/* llvmjit/jit_exit.c - one block for each exit: what the interpreter will look at is stored, and
 * the exit's number returned.
 *
 * Values in an exit dominate all that leaves there, so the blocks need no phis.  They are filled
 * when every value is known.
 */
#include <stdio.h>
#include <stdlib.h>

#include "llvmjit/jit_int.h"

LLVMBasicBlockRef jit_exit_block(jit_lower *j, uint32_t exit) {
  if (j->exit[exit] == NULL) {
    char name[24];
    snprintf(name, sizeof name, "exit%u.", exit);
    j->exit[exit] = jit_block(j, name);
  }
  return j->exit[exit];
}

/* An exit that one node alone leaves through has it here. */
bool jit_exits_begin(jit_lower *j) {
  const ir_region *r = j->r;
  j->leaver = calloc(r->nexits + 1, sizeof *j->leaver);
  bool *seen = calloc(r->nexits + 1, sizeof *seen);
  for (uint32_t b = 0; j->leaver && seen && b < r->nblocks; b++)
    for (ir_id id = r->blocks[b].gone ? 0 : r->blocks[b].first; id; id = ir_at(r, id)->next) {
      uint32_t exit = ir_at(r, id)->exit;
      if (exit == IR_NO_EXIT)
        continue;
      j->leaver[exit] = seen[exit] ? 0 : id;
      seen[exit] = true;
    }
  free(seen);
  return j->leaver && seen;
}

/* What the one sum that leaves here overflowed from is what came out, taken back: so the sum itself
 * need not be kept apart from it. */
static LLVMValueRef taken_back(jit_lower *j, uint32_t exit, ir_id value) {
  ir_id id = j->quick ? 0 : j->leaver[exit];
  const ir_node *n = ir_at(j->r, id);
  bool sum = id && (n->op == IR_OP_ADDX || n->op == IR_OP_SUBX);
  if (!sum || n->arg[0] != value || n->arg[1] == value)
    return NULL;
  LLVMValueRef out = j->value[id], other = jit_arg(j, n, 1);
  return n->op == IR_OP_ADDX ? LLVMBuildSub(j->b, out, other, "")
                             : LLVMBuildAdd(j->b, out, other, "");
}

static void store_slot(jit_lower *j, uint32_t exit, ir_slot slot) {
  LLVMValueRef old = taken_back(j, exit, slot.value);
  if (old == NULL) {
    jit_store_reg(j, slot.reg, slot.value);
    return;
  }
  LLVMValueRef store = LLVMBuildStore(j->b, old, jit_reg_address(j, slot.reg));
  jit_alias_mark(j, store, IR_MEM_FRAME, 0, 0);
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
      store_slot(j, exit, x->slots[i]);
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
