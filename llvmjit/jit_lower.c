/* llvmjit/jit_lower.c - a region as an LLVM function.
 *
 * Blocks are lowered dominators first, so that what a node uses is there; phis get their incoming
 * values at the end.  A node that may exit splits its LLVM block: `end` says where the IR block's
 * terminator landed.
 */
#include <stdlib.h>
#include <string.h>

#include "llvmjit/jit_int.h"

typedef LLVMValueRef (*lower_fn)(jit_lower *j, const ir_node *n);

static const lower_fn lower_table[IR_NOPS] = {
#define IR(id, name, args, type, attributes, reads, writes, effects, meaning) jit_lower_##id,
#include "ir/ir_ops.def"
#undef IR
};

/* ---- small words */

LLVMValueRef jit_value(jit_lower *j, ir_id id) {
  return j->quick ? jit_quick_value(j, id) : j->value[id];
}
LLVMValueRef jit_arg(jit_lower *j, const ir_node *n, unsigned k) { return jit_value(j, n->arg[k]); }
LLVMValueRef jit_lower_node(jit_lower *j, const ir_node *n) { return lower_table[n->op](j, n); }
LLVMValueRef jit_i64(const jit_lower *j, uint64_t v) { return LLVMConstInt(j->t.i64, v, false); }
LLVMValueRef jit_i32(const jit_lower *j, uint32_t v) { return LLVMConstInt(j->t.i32, v, false); }

LLVMBasicBlockRef jit_block(jit_lower *j, const char *name) {
  return LLVMAppendBasicBlockInContext(j->llvm, j->function, name);
}

LLVMBasicBlockRef jit_block_after(jit_lower *j, const char *name) {
  LLVMBasicBlockRef block = jit_block(j, name);
  LLVMMoveBasicBlockAfter(block, LLVMGetInsertBlock(j->b));
  return block;
}

LLVMValueRef jit_at(jit_lower *j, LLVMValueRef base, uint64_t bytes) {
  LLVMValueRef index = jit_i64(j, bytes);
  return bytes ? LLVMBuildInBoundsGEP2(j->b, j->t.i8, base, &index, 1, "") : base;
}

LLVMValueRef jit_compare(jit_lower *j, LLVMIntPredicate p, LLVMValueRef x, LLVMValueRef y) {
  return LLVMBuildICmp(j->b, p, x, y, "");
}

void jit_branch_likely(jit_lower *j, LLVMValueRef cond, LLVMBasicBlockRef yes,
                       LLVMBasicBlockRef no) {
  LLVMValueRef branch = LLVMBuildCondBr(j->b, cond, yes, no);
  LLVMSetMetadata(branch, j->cold_kind, LLVMMetadataAsValue(j->llvm, j->likely));
}

/* Under stress a check that holds may fail all the same: leaving is always right. */
static LLVMValueRef stressed(jit_lower *j, LLVMValueRef cond) {
  LLVMValueRef stay = jit_call(j, JIT_HELPER_STRESS, &j->cx, "");
  return LLVMBuildAnd(j->b, cond, jit_compare(j, LLVMIntEQ, stay, jit_i32(j, 0)), "");
}

void jit_need(jit_lower *j, LLVMValueRef cond, uint32_t exit) {
  LLVMBasicBlockRef fine = jit_block_after(j, "");
  if (j->stress)
    cond = stressed(j, cond);
  jit_branch_likely(j, cond, fine, jit_exit_block(j, exit));
  LLVMPositionBuilderAtEnd(j->b, fine);
}

/* Without an operation between an overflow flag and the branch, so that quick code branches on the
 * processor's own. */
void jit_need_not(jit_lower *j, LLVMValueRef cond, uint32_t exit) {
  if (j->stress) {
    jit_need(j, LLVMBuildNot(j->b, cond, ""), exit);
    return;
  }
  LLVMBasicBlockRef fine = jit_block_after(j, "");
  LLVMValueRef branch = LLVMBuildCondBr(j->b, cond, jit_exit_block(j, exit), fine);
  LLVMSetMetadata(branch, j->cold_kind, LLVMMetadataAsValue(j->llvm, j->unlikely));
  LLVMPositionBuilderAtEnd(j->b, fine);
}

LLVMValueRef jit_reg_address(jit_lower *j, uint32_t reg) {
  return jit_at(j, j->frame, j->core->frame_regs + (uint64_t)reg * sizeof(ls_val));
}

void jit_store_reg(jit_lower *j, uint32_t reg, ir_id value) {
  LLVMValueRef v = jit_value(j, value);
  if (ir_at(j->r, value)->type == IR_B1)
    v = LLVMBuildZExt(j->b, v, j->t.i64, "");
  jit_alias_mark(j, LLVMBuildStore(j->b, v, jit_reg_address(j, reg)), IR_MEM_FRAME, 0, 0);
}

/* ---- the function */

static LLVMMetadataRef weights(jit_lower *j, uint32_t yes, uint32_t no) {
  LLVMMetadataRef parts[3] = {
      LLVMMDStringInContext2(j->llvm, "branch_weights", 14),
      LLVMValueAsMetadata(jit_i32(j, yes)),
      LLVMValueAsMetadata(jit_i32(j, no)),
  };
  return LLVMMDNodeInContext2(j->llvm, parts, 3);
}

static uint32_t kind_of(jit_lower *j, const char *name) {
  return LLVMGetMDKindIDInContext(j->llvm, name, (unsigned)strlen(name));
}

static void init_metadata(jit_lower *j) {
  j->cold_kind = kind_of(j, "prof");
  j->scope_kind = kind_of(j, "alias.scope");
  j->noalias_kind = kind_of(j, "noalias");
  j->range_kind = kind_of(j, "range");
  j->align_kind = kind_of(j, "align");
  j->invariant_kind = kind_of(j, "invariant.load");
  j->loop_kind = kind_of(j, "llvm.loop");
  j->likely = weights(j, 1u << 20, 1);
  j->unlikely = weights(j, 1, 1u << 20);
}

static void add_attribute(jit_lower *j, const char *name) {
  unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
  LLVMAddAttributeAtIndex(j->function, LLVMAttributeFunctionIndex,
                          LLVMCreateEnumAttribute(j->llvm, kind, 0));
}

static void begin_function(jit_lower *j, const char *name) {
  LLVMTypeRef params[2] = {j->t.ptr, j->t.ptr};
  LLVMTypeRef type = LLVMFunctionType(j->t.i32, params, 2, false);
  j->function = LLVMAddFunction(j->module, name, type);
  add_attribute(j, "nounwind");
  j->frame = LLVMGetParam(j->function, 0);
  j->cx = LLVMGetParam(j->function, 1);
  LLVMSetValueName2(j->frame, "frame", 5);
  LLVMSetValueName2(j->cx, "cx", 2);
  j->entry = jit_block(j, "entry");
}

static LLVMValueRef load_invariant(jit_lower *j, LLVMValueRef at, const char *name) {
  LLVMValueRef load = LLVMBuildLoad2(j->b, j->t.ptr, at, name);
  LLVMMetadataRef none = LLVMMDNodeInContext2(j->llvm, NULL, 0);
  LLVMSetMetadata(load, j->invariant_kind, LLVMMetadataAsValue(j->llvm, none));
  return load;
}

static bool is_used(const ir_region *r, uint32_t list) {
  for (uint32_t b = 0; b < r->nblocks; b++)
    for (ir_id id = r->blocks[b].gone ? 0 : r->blocks[b].first; id; id = ir_at(r, id)->next) {
      const ir_node *n = ir_at(r, id);
      if ((ir_op_read((ir_op)n->op)->attributes & IR_HAS_LIST) && n->list == list)
        return true;
    }
  return false;
}

/* Headers stay where they are while the frame lives. */
static void load_lists(jit_lower *j) {
  LLVMValueRef set = NULL;
  for (uint32_t i = 0; i < j->r->nlists; i++) {
    if (!is_used(j->r, i))
      continue;
    if (set == NULL)
      set = load_invariant(j, jit_at(j, j->frame, j->core->frame_lists), "lists");
    uint64_t at = j->core->lists_list + (uint64_t)i * sizeof(ls_list *);
    j->list[i] = load_invariant(j, jit_at(j, set, at), j->r->lists[i].name);
  }
  j->consts = load_invariant(j, jit_at(j, j->cx, j->core->context_consts), "consts");
}

/* Room for the arguments of the helpers that want them in memory, and for a result. */
static void make_keys(jit_lower *j) {
  uint32_t most = 0;
  for (uint32_t b = 0; b < j->r->nblocks; b++)
    for (ir_id id = j->r->blocks[b].gone ? 0 : j->r->blocks[b].first; id;
         id = ir_at(j->r, id)->next) {
      const ir_node *n = ir_at(j->r, id);
      bool wants = n->op == IR_OP_FIND || n->op == IR_OP_BIF || n->op == IR_OP_BIFX;
      if (wants && n->nargs + 1u > most)
        most = n->nargs + 1u;
    }
  if (most)
    j->keys = LLVMBuildArrayAlloca(j->b, j->t.i64, jit_i32(j, most), "keys");
}

/* ---- blocks */

static bool begin_blocks(jit_lower *j) {
  uint32_t n = j->r->nblocks;
  j->value = calloc(j->r->nnodes + 1, sizeof *j->value);
  j->start = calloc(n + 1, sizeof *j->start);
  j->end = calloc(n + 1, sizeof *j->end);
  j->latch = calloc(n + 1, sizeof *j->latch);
  j->place = calloc(n + 1, sizeof *j->place);
  j->exit = calloc(j->r->nexits + 1, sizeof *j->exit);
  j->list = calloc(j->r->nlists + 1, sizeof *j->list);
  return j->value && j->start && j->end && j->latch && j->place && j->exit && j->list;
}

static void lower_block(jit_lower *j, uint32_t block) {
  const ir_block *b = &j->r->blocks[block];
  LLVMPositionBuilderAtEnd(j->b, j->start[block]);
  for (ir_id id = b->first; id; id = ir_at(j->r, id)->next) {
    const ir_node *n = ir_at(j->r, id);
    if (id == b->last)
      j->end[block] = LLVMGetInsertBlock(j->b);
    if (j->quick && jit_quick_is_late(j, id))
      continue;
    jit_debug_at(j, n->pc);
    j->value[id] = jit_lower_node(j, n);
  }
}

typedef struct {
  uint32_t block;
  unsigned next;
} visit;

/* Blocks in reverse postorder; returns how many. */
static uint32_t order_blocks(const ir_region *r, uint32_t *order, visit *stack, bool *seen) {
  uint32_t depth = 1, at = r->nblocks;
  stack[0] = (visit){0, 0};
  seen[0] = true;
  while (depth) {
    visit *v = &stack[depth - 1];
    const ir_node *last = ir_at(r, r->blocks[v->block].last);
    unsigned nsucc = last->op == IR_OP_BRANCH ? 2 : last->op == IR_OP_JUMP;
    if (v->next == nsucc) {
      order[--at] = v->block;
      depth--;
      continue;
    }
    uint32_t to = r->blocks[v->block].succ[v->next++];
    if (seen[to])
      continue;
    seen[to] = true;
    stack[depth++] = (visit){to, 0};
  }
  memmove(order, order + at, sizeof *order * (r->nblocks - at));
  return r->nblocks - at;
}

static bool is_back(const jit_lower *j, uint32_t from, uint32_t to) {
  return j->place[from] >= j->place[to];
}

LLVMBasicBlockRef jit_target(jit_lower *j, uint32_t from, unsigned succ) {
  uint32_t to = j->r->blocks[from].succ[succ];
  if (j->quick)
    return jit_quick_edge(j, from, succ);
  return j->latch[to] && is_back(j, from, to) ? j->latch[to] : j->start[to];
}

/* LLVM makes two loops of one whose header several blocks jump back to, and then vectorises
 * neither: they meet in a block of their own. */
static void make_latch(jit_lower *j, uint32_t block) {
  const ir_block *b = &j->r->blocks[block];
  unsigned back = 0;
  for (uint32_t k = 0; k < b->npreds; k++)
    back += is_back(j, b->preds[k], block);
  if (back > 1)
    j->latch[block] = jit_block(j, "latch");
}

/* Phis come first in a block. */
static void begin_phi(jit_lower *j, LLVMBasicBlockRef block) {
  LLVMValueRef first = LLVMGetFirstInstruction(block);
  if (first)
    LLVMPositionBuilderBefore(j->b, first);
  else
    LLVMPositionBuilderAtEnd(j->b, block);
}

/* What the phi is on jumping back: a phi of the latch, or a sum with one. */
static LLVMValueRef latch_value(jit_lower *j, ir_id id, unsigned lanes) {
  const ir_node *n = ir_at(j->r, id);
  const ir_block *b = &j->r->blocks[n->block];
  begin_phi(j, j->latch[n->block]);
  LLVMValueRef bytes = lanes ? jit_scan_bytes(j, id) : NULL;
  if (bytes) {
    LLVMPositionBuilderAtEnd(j->b, j->latch[n->block]);
    LLVMValueRef more = LLVMBuildZExt(j->b, bytes, j->t.i64, "");
    return LLVMBuildAdd(j->b, j->value[id], more, "");
  }
  LLVMValueRef phi = LLVMBuildPhi(j->b, jit_type(j, (ir_type)n->type), "");
  for (unsigned k = 0; k < n->nargs; k++)
    if (is_back(j, b->preds[k], n->block))
      LLVMAddIncoming(phi, &j->value[n->arg[k]], &j->end[b->preds[k]], 1);
  return phi;
}

/* The one jump back, or NULL. */
static LLVMValueRef back_jump(jit_lower *j, uint32_t block) {
  const ir_block *b = &j->r->blocks[block];
  if (j->latch[block])
    return LLVMGetBasicBlockTerminator(j->latch[block]);
  for (uint32_t k = 0; k < b->npreds; k++)
    if (is_back(j, b->preds[k], block))
      return LLVMGetBasicBlockTerminator(j->end[b->preds[k]]);
  return NULL;
}

static void finish_phis(jit_lower *j, uint32_t block) {
  const ir_block *b = &j->r->blocks[block];
  LLVMBasicBlockRef latch = j->latch[block];
  unsigned lanes = j->lanes[block];
  for (ir_id id = b->first; id; id = ir_at(j->r, id)->next) {
    const ir_node *n = ir_at(j->r, id);
    if (n->op != IR_OP_PHI)
      continue;
    for (unsigned k = 0; k < n->nargs; k++)
      if (latch == NULL || !is_back(j, b->preds[k], block))
        LLVMAddIncoming(j->value[id], &j->value[n->arg[k]], &j->end[b->preds[k]], 1);
    if (latch) {
      LLVMValueRef value = latch_value(j, id, lanes);
      LLVMAddIncoming(j->value[id], &value, &latch, 1);
    }
  }
  if (latch) {
    LLVMPositionBuilderAtEnd(j->b, latch);
    LLVMBuildBr(j->b, j->start[block]);
  }
  if (lanes)
    jit_scan_mark(j, back_jump(j, block), lanes);
}

/* Slow paths last. */
static void make_starts(jit_lower *j, const uint32_t *order, uint32_t count) {
  for (unsigned cold = 0; cold < 2; cold++)
    for (uint32_t i = 0; i < count; i++)
      if (j->r->blocks[order[i]].cold == cold)
        j->start[order[i]] = jit_block(j, "b");
  for (uint32_t i = 0; i < count; i++)
    j->place[order[i]] = i;
}

static bool lower_blocks(jit_lower *j) {
  uint32_t n = j->r->nblocks;
  uint32_t *order = calloc(n, sizeof *order);
  visit *stack = calloc(n, sizeof *stack);
  bool *seen = calloc(n, sizeof *seen);
  bool ok = order && stack && seen;
  if (ok) {
    uint32_t count = order_blocks(j->r, order, stack, seen);
    make_starts(j, order, count);
    for (uint32_t i = 0; i < count && !j->quick; i++)
      make_latch(j, order[i]);
    LLVMBuildBr(j->b, j->start[0]);
    ok = j->quick || jit_scan_find(j, order, count);
    for (uint32_t i = 0; ok && i < count; i++)
      lower_block(j, order[i]);
    for (uint32_t i = 0; ok && i < count && !j->quick; i++)
      finish_phis(j, order[i]);
  }
  free(order);
  free(stack);
  free(seen);
  return ok;
}

static void free_all(jit_lower *j) {
  free(j->value);
  free(j->quick);
  free(j->scan_of);
  free(j->lanes);
  free(j->start);
  free(j->end);
  free(j->latch);
  free(j->place);
  free(j->exit);
  free(j->leaver);
  free(j->list);
  free(j->scope_of);
  free(j->scope);
}

bool jit_lower_region(jit_lower *j, const char *name) {
  jit_types_init(&j->t, j->llvm);
  j->b = LLVMCreateBuilderInContext(j->llvm);
  jit_declare_helpers(j);
  init_metadata(j);
  begin_function(j, name);
  bool ok = begin_blocks(j) && jit_alias_init(j) && jit_exits_begin(j);
  if (ok) {
    LLVMPositionBuilderAtEnd(j->b, j->entry);
    if (j->source && j->fn && j->fn->pos)
      jit_debug_begin(j, j->source, name);
    load_lists(j);
    make_keys(j);
    ok = (!j->is_quick || jit_quick_begin(j)) && lower_blocks(j) && !j->failed;
    if (ok)
      jit_exits_finish(j);
  }
  jit_debug_end(j);
  LLVMDisposeBuilder(j->b);
  free_all(j);
  return ok;
}
