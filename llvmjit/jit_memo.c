/* llvmjit/jit_memo.c - look-ups in hash lists by narrow keys, as grouping by small columns makes
 * them: the last answers are kept on the stack, by key.
 *
 *   memo[hash of key] = key << 32 | row      all ones: nothing is known
 *
 * All parts of the key together are one number of at most 31 bits, so that one word says whether
 * an entry is the right one.  An answer holds while the list's version is what it was: a row moves,
 * or goes away, only when that grows.  That a key is *not* there is never kept.  (Measured: a scan
 * that groups by two columns of bytes takes a third less time.)
 */
#include <stddef.h>

#include "llvmjit/jit_int.h"

#define MEMO_SHIFT 8u /* log2 of entries; 2 KiB a memo */
#define MEMO_MOST 4u  /* a region: they lie on the stack */
#define MEMO_FACTOR UINT32_C(0x9e3779b1)
#define KEY_BITS 31u

/* How many bits the value has; more than KEY_BITS: not known. */
static unsigned bits_of(const ir_region *r, ir_id id) {
  const ir_node *n = ir_at(r, id);
  if (n->type == IR_B1 || n->op == IR_OP_BTOI)
    return 1;
  if (n->op == IR_OP_CELL && n->width < 2)
    return 8u << n->width;
  if (n->op == IR_OP_INT && n->imm >= 0 && n->imm < 256)
    return 8;
  return KEY_BITS + 1;
}

static bool is_in_loop(const jit_lower *j, uint32_t block) {
  for (uint32_t h = 0; h < j->r->nblocks; h++) {
    const ir_block *b = &j->r->blocks[h];
    if (b->gone || j->place[h] > j->place[block])
      continue;
    for (uint32_t k = 0; k < b->npreds; k++)
      if (j->place[b->preds[k]] >= j->place[block])
        return true;
  }
  return false;
}

bool jit_memo_fits(const jit_lower *j, const ir_node *n) {
  unsigned bits = 0;
  for (unsigned k = 0; k < n->nargs; k++)
    bits += bits_of(j->r, n->arg[k]);
  return !j->quick && j->nmemos < MEMO_MOST && bits <= KEY_BITS && is_in_loop(j, n->block);
}

static LLVMValueRef make_key(jit_lower *j, const ir_node *n) {
  LLVMValueRef key = jit_i64(j, 0);
  for (unsigned k = 0; k < n->nargs; k++) {
    LLVMValueRef v = jit_arg(j, n, k);
    if (ir_at(j->r, n->arg[k])->type == IR_B1)
      v = LLVMBuildZExt(j->b, v, j->t.i64, "");
    LLVMValueRef shift = jit_i64(j, bits_of(j->r, n->arg[k]));
    key = LLVMBuildOr(j->b, LLVMBuildShl(j->b, key, shift, ""), v, "");
  }
  return key;
}

/* At the function's start, where room on the stack is made once. */
static void make_room(jit_lower *j, jit_memo *m) {
  LLVMBasicBlockRef here = LLVMGetInsertBlock(j->b);
  LLVMPositionBuilderBefore(j->b, LLVMGetFirstInstruction(j->entry));
  m->entries = LLVMBuildArrayAlloca(j->b, j->t.i64, jit_i32(j, 1u << MEMO_SHIFT), "memo");
  m->version = LLVMBuildAlloca(j->b, j->t.i64, "");
  LLVMBuildStore(j->b, jit_i64(j, UINT64_MAX), m->version);
  LLVMPositionBuilderAtEnd(j->b, here);
}

static LLVMValueRef entry_at(jit_lower *j, const jit_memo *m, LLVMValueRef index) {
  return LLVMBuildInBoundsGEP2(j->b, j->t.i64, m->entries, &index, 1, "");
}

/* All entries forgotten; the present block becomes the one behind that. */
static void forget(jit_lower *j, const jit_memo *m, LLVMValueRef version) {
  LLVMBasicBlockRef from = LLVMGetInsertBlock(j->b), loop = jit_block(j, "forget"),
                    done = jit_block(j, "");
  LLVMBuildStore(j->b, version, m->version);
  LLVMBuildBr(j->b, loop);
  LLVMPositionBuilderAtEnd(j->b, loop);
  LLVMValueRef i = LLVMBuildPhi(j->b, j->t.i64, "");
  LLVMBuildStore(j->b, jit_i64(j, UINT64_MAX), entry_at(j, m, i));
  LLVMValueRef next = LLVMBuildAdd(j->b, i, jit_i64(j, 1), "");
  LLVMAddIncoming(i, (LLVMValueRef[]){jit_i64(j, 0), next}, (LLVMBasicBlockRef[]){from, loop}, 2);
  LLVMValueRef more = jit_compare(j, LLVMIntULT, next, jit_i64(j, 1u << MEMO_SHIFT));
  LLVMBuildCondBr(j->b, more, loop, done);
  LLVMPositionBuilderAtEnd(j->b, done);
}

static LLVMValueRef load_version(jit_lower *j, const ir_node *n) {
  LLVMValueRef at = jit_at(j, j->list[n->list], offsetof(ls_list, version));
  LLVMValueRef version = LLVMBuildLoad2(j->b, j->t.i64, at, "");
  jit_alias_mark(j, version, IR_MEM_HDR, n->list, 0);
  return version;
}

LLVMValueRef jit_memo_ask(jit_lower *j, const ir_node *n, jit_memo *m, LLVMBasicBlockRef known) {
  LLVMBasicBlockRef old = jit_block(j, "memo"), look = jit_block(j, ""), miss = jit_block(j, "");
  j->nmemos++;
  make_room(j, m);
  m->key = make_key(j, n);
  LLVMValueRef version = load_version(j, n);
  LLVMValueRef seen = LLVMBuildLoad2(j->b, j->t.i64, m->version, "");
  jit_branch_likely(j, jit_compare(j, LLVMIntEQ, seen, version), look, old);
  LLVMPositionBuilderAtEnd(j->b, old);
  forget(j, m, version);
  LLVMBuildBr(j->b, look);
  LLVMPositionBuilderAtEnd(j->b, look);
  LLVMValueRef low = LLVMBuildTrunc(j->b, m->key, j->t.i32, "");
  LLVMValueRef hash = LLVMBuildMul(j->b, low, jit_i32(j, MEMO_FACTOR), "");
  LLVMValueRef slot = LLVMBuildLShr(j->b, hash, jit_i32(j, 32 - MEMO_SHIFT), "");
  m->at = entry_at(j, m, LLVMBuildZExt(j->b, slot, j->t.i64, ""));
  LLVMValueRef entry = LLVMBuildLoad2(j->b, j->t.i64, m->at, "");
  LLVMValueRef has = LLVMBuildLShr(j->b, entry, jit_i64(j, 32), "");
  LLVMValueRef row = LLVMBuildAnd(j->b, entry, jit_i64(j, UINT32_MAX), "");
  jit_branch_likely(j, jit_compare(j, LLVMIntEQ, has, m->key), known, miss);
  LLVMPositionBuilderAtEnd(j->b, miss);
  m->asked = look;
  return row;
}

void jit_memo_keep(jit_lower *j, const jit_memo *m, LLVMValueRef row) {
  LLVMValueRef high = LLVMBuildShl(j->b, m->key, jit_i64(j, 32), "");
  LLVMBuildStore(j->b, LLVMBuildOr(j->b, high, row, ""), m->at);
}
