/* llvmjit/jit_lower_search.c - operations that are small loops: the next bit, sorted cells, and
 * looking a key up out of line. */
#include "llvmjit/jit_int.h"

typedef struct {
  LLVMBasicBlockRef from[4];
  LLVMValueRef value[4];
  unsigned n;
} incoming;

static void add_incoming(incoming *in, LLVMBasicBlockRef from, LLVMValueRef value) {
  in->from[in->n] = from;
  in->value[in->n++] = value;
}

static LLVMValueRef join(jit_lower *j, LLVMBasicBlockRef done, incoming *in) {
  LLVMPositionBuilderAtEnd(j->b, done);
  LLVMValueRef phi = LLVMBuildPhi(j->b, j->t.i64, "");
  LLVMAddIncoming(phi, in->value, in->from, in->n);
  return phi;
}

static LLVMValueRef load_word(jit_lower *j, const ir_node *n, LLVMValueRef word) {
  LLVMValueRef at = LLVMBuildGEP2(j->b, j->t.i64, jit_arg(j, n, 0), &word, 1, "");
  LLVMValueRef load = LLVMBuildLoad2(j->b, j->t.i64, at, "");
  jit_alias_mark(j, load, IR_MEM_BITS, n->list, 0);
  return load;
}

/* at + zeros below the lowest bit of `bits`, which is not 0; no more than the end. */
static LLVMValueRef first_bit(jit_lower *j, LLVMValueRef at, LLVMValueRef bits, LLVMValueRef end) {
  LLVMValueRef args[2] = {bits, LLVMConstInt(j->t.i1, 1, false)};
  LLVMValueRef zeros = jit_intrinsic(j, "llvm.cttz", &j->t.i64, 1, args, 2);
  LLVMValueRef two[2] = {LLVMBuildAdd(j->b, at, zeros, ""), end};
  return jit_intrinsic(j, "llvm.umin", &j->t.i64, 1, two, 2);
}

/*   if at >= end: end
 *   bits = word[at / 64] >> at % 64; if bits: first_bit
 *   loop: at = (at | 63) + 1; if at >= end: end; if word[at / 64]: first_bit */
LLVMValueRef jit_lower_NEXTBIT(jit_lower *j, const ir_node *n) {
  LLVMValueRef at = jit_arg(j, n, 1), end = jit_arg(j, n, 2);
  LLVMBasicBlockRef first = jit_block(j, "bits"), hit = jit_block(j, ""), loop = jit_block(j, ""),
                    look = jit_block(j, ""), found = jit_block(j, ""), done = jit_block(j, "");
  incoming in = {.n = 0};
  add_incoming(&in, LLVMGetInsertBlock(j->b), end);
  LLVMBuildCondBr(j->b, jit_compare(j, LLVMIntULT, at, end), first, done);

  LLVMPositionBuilderAtEnd(j->b, first);
  LLVMValueRef word = load_word(j, n, LLVMBuildLShr(j->b, at, jit_i64(j, 6), ""));
  LLVMValueRef low = LLVMBuildAnd(j->b, at, jit_i64(j, 63), "");
  LLVMValueRef bits = LLVMBuildLShr(j->b, word, low, "");
  LLVMBuildCondBr(j->b, jit_compare(j, LLVMIntNE, bits, jit_i64(j, 0)), hit, loop);
  LLVMPositionBuilderAtEnd(j->b, hit);
  add_incoming(&in, hit, first_bit(j, at, bits, end));
  LLVMBuildBr(j->b, done);

  LLVMPositionBuilderAtEnd(j->b, loop);
  LLVMValueRef phi = LLVMBuildPhi(j->b, j->t.i64, "");
  LLVMValueRef next = LLVMBuildOr(j->b, phi, jit_i64(j, 63), "");
  next = LLVMBuildAdd(j->b, next, jit_i64(j, 1), "");
  add_incoming(&in, loop, end);
  LLVMBuildCondBr(j->b, jit_compare(j, LLVMIntULT, next, end), look, done);
  LLVMPositionBuilderAtEnd(j->b, look);
  word = load_word(j, n, LLVMBuildLShr(j->b, next, jit_i64(j, 6), ""));
  LLVMBuildCondBr(j->b, jit_compare(j, LLVMIntNE, word, jit_i64(j, 0)), found, loop);
  LLVMAddIncoming(phi, (LLVMValueRef[]){at, next}, (LLVMBasicBlockRef[]){first, look}, 2);
  LLVMPositionBuilderAtEnd(j->b, found);
  add_incoming(&in, found, first_bit(j, next, word, end));
  LLVMBuildBr(j->b, done);
  return join(j, done, &in);
}

static LLVMValueRef sorted_cell(jit_lower *j, const ir_node *n, LLVMValueRef at) {
  LLVMTypeRef type = n->width == 0   ? j->t.i8
                     : n->width == 1 ? j->t.i16
                     : n->width == 2 ? j->t.i32
                                     : j->t.i64;
  LLVMValueRef address = LLVMBuildInBoundsGEP2(j->b, type, jit_arg(j, n, 0), &at, 1, "");
  LLVMValueRef load = LLVMBuildLoad2(j->b, type, address, "");
  jit_alias_mark(j, load, IR_MEM_CELLS, n->list, n->col);
  return n->width < 3 ? LLVMBuildZExt(j->b, load, j->t.i64, "") : load;
}

/* Halves [low, high) until it is empty: what lies below low is before the place, what lies from
 * high on is not. */
static LLVMValueRef lower_search(jit_lower *j, const ir_node *n, LLVMIntPredicate before) {
  LLVMBasicBlockRef from = LLVMGetInsertBlock(j->b), loop = jit_block(j, "search"),
                    look = jit_block(j, ""), done = jit_block(j, "");
  LLVMBuildBr(j->b, loop);
  LLVMPositionBuilderAtEnd(j->b, loop);
  LLVMValueRef low = LLVMBuildPhi(j->b, j->t.i64, ""), high = LLVMBuildPhi(j->b, j->t.i64, "");
  LLVMBuildCondBr(j->b, jit_compare(j, LLVMIntULT, low, high), look, done);
  LLVMPositionBuilderAtEnd(j->b, look);
  LLVMValueRef rest = LLVMBuildSub(j->b, high, low, "");
  LLVMValueRef middle = LLVMBuildAdd(j->b, low, LLVMBuildLShr(j->b, rest, jit_i64(j, 1), ""), "");
  LLVMValueRef yes = jit_compare(j, before, sorted_cell(j, n, middle), jit_arg(j, n, 3));
  LLVMValueRef above = LLVMBuildAdd(j->b, middle, jit_i64(j, 1), "");
  LLVMValueRef next_low = LLVMBuildSelect(j->b, yes, above, low, "");
  LLVMValueRef next_high = LLVMBuildSelect(j->b, yes, high, middle, "");
  LLVMBuildBr(j->b, loop);
  LLVMBasicBlockRef blocks[2] = {from, look};
  LLVMAddIncoming(low, (LLVMValueRef[]){jit_arg(j, n, 1), next_low}, blocks, 2);
  LLVMAddIncoming(high, (LLVMValueRef[]){jit_arg(j, n, 2), next_high}, blocks, 2);
  LLVMPositionBuilderAtEnd(j->b, done);
  return low;
}

LLVMValueRef jit_lower_LOWER(jit_lower *j, const ir_node *n) {
  return lower_search(j, n, LLVMIntSLT);
}
LLVMValueRef jit_lower_UPPER(jit_lower *j, const ir_node *n) {
  return lower_search(j, n, LLVMIntSLE);
}

LLVMValueRef jit_lower_FIND(jit_lower *j, const ir_node *n) {
  for (unsigned k = 0; k < n->nargs; k++) {
    LLVMValueRef v = jit_arg(j, n, k);
    if (ir_at(j->r, n->arg[k])->type == IR_B1)
      v = LLVMBuildZExt(j->b, v, j->t.i64, "");
    LLVMBuildStore(j->b, v, jit_at(j, j->keys, k * sizeof(ls_val)));
  }
  LLVMValueRef args[3] = {j->cx, j->list[n->list], j->keys};
  LLVMValueRef row = jit_call(j, JIT_HELPER_FIND, args, "row");
  jit_alias_mark_list(j, row, n->list);
  return row;
}
