/* llvmjit/jit_lower_search.c - operations that are small loops: the next bit, sorted cells, and
 * looking a key up out of line. */
#include <stddef.h>

#include "llvmjit/jit_int.h"

typedef struct {
  LLVMBasicBlockRef from[6];
  LLVMValueRef value[6];
  unsigned n;
  const jit_memo *memo; /* of what is looked up, or NULL */
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
  LLVMTypeRef type = jit_cell_type(j, n->width);
  LLVMValueRef address = LLVMBuildInBoundsGEP2(j->b, type, jit_arg(j, n, 0), &at, 1, "");
  LLVMValueRef load = LLVMBuildLoad2(j->b, type, address, "");
  jit_alias_mark(j, load, IR_MEM_CELLS, n->list, n->col);
  return n->width < 3 ? LLVMBuildZExt(j->b, load, j->t.i64, "") : load;
}

/* Halves [low, high) until it is empty: what lies below low is before the place, what lies from
 * high on is not. */
static LLVMValueRef lower_search(jit_lower *j, const ir_node *n, LLVMIntPredicate before) {
  LLVMValueRef first = jit_arg(j, n, 1), last = jit_arg(j, n, 2), key = jit_arg(j, n, 3);
  LLVMBasicBlockRef from = LLVMGetInsertBlock(j->b), loop = jit_block(j, "search"),
                    look = jit_block(j, ""), done = jit_block(j, "");
  LLVMBuildBr(j->b, loop);
  LLVMPositionBuilderAtEnd(j->b, loop);
  LLVMValueRef low = LLVMBuildPhi(j->b, j->t.i64, ""), high = LLVMBuildPhi(j->b, j->t.i64, "");
  LLVMBuildCondBr(j->b, jit_compare(j, LLVMIntULT, low, high), look, done);
  LLVMPositionBuilderAtEnd(j->b, look);
  LLVMValueRef rest = LLVMBuildSub(j->b, high, low, "");
  LLVMValueRef middle = LLVMBuildAdd(j->b, low, LLVMBuildLShr(j->b, rest, jit_i64(j, 1), ""), "");
  LLVMValueRef yes = jit_compare(j, before, sorted_cell(j, n, middle), key);
  LLVMValueRef above = LLVMBuildAdd(j->b, middle, jit_i64(j, 1), "");
  LLVMValueRef next_low = LLVMBuildSelect(j->b, yes, above, low, "");
  LLVMValueRef next_high = LLVMBuildSelect(j->b, yes, high, middle, "");
  LLVMBuildBr(j->b, loop);
  LLVMBasicBlockRef blocks[2] = {from, look};
  LLVMAddIncoming(low, (LLVMValueRef[]){first, next_low}, blocks, 2);
  LLVMAddIncoming(high, (LLVMValueRef[]){last, next_high}, blocks, 2);
  LLVMPositionBuilderAtEnd(j->b, done);
  return low;
}

/* Where the key would be if keys had no gaps, or came as many of each; any place that is not the
 * last or the first where it cannot be told.  lists/ guesses likewise (ls_cells_bound). */
static LLVMValueRef guess(jit_lower *j, const ir_node *n, LLVMValueRef size) {
  LLVMValueRef first = jit_arg(j, n, 1), last = jit_arg(j, n, 2), one = jit_i64(j, 1);
  LLVMValueRef a = sorted_cell(j, n, first);
  LLVMValueRef z = sorted_cell(j, n, LLVMBuildSub(j->b, last, one, ""));
  LLVMValueRef span = LLVMBuildSub(j->b, z, a, ""),
               off = LLVMBuildSub(j->b, jit_arg(j, n, 3), a, "");
  LLVMValueRef small = jit_compare(j, LLVMIntULT, span, jit_i64(j, UINT64_C(1) << 31));
  LLVMValueRef inside = jit_compare(j, LLVMIntULE, off, span);
  LLVMValueRef told = LLVMBuildAnd(j->b, small, inside, "");
  LLVMValueRef scaled = LLVMBuildMul(j->b, LLVMBuildSelect(j->b, told, off, one, ""), size, "");
  LLVMValueRef parts = LLVMBuildSelect(j->b, told, LLVMBuildAdd(j->b, span, one, ""), size, "");
  LLVMValueRef step = LLVMBuildUDiv(j->b, scaled, parts, "");
  LLVMValueRef zero = jit_compare(j, LLVMIntEQ, step, jit_i64(j, 0));
  return LLVMBuildAdd(j->b, first, LLVMBuildSelect(j->b, zero, one, step, ""), "");
}

#define GUESS_LEAST 64u /* cells: in fewer a search takes few steps */

static LLVMValueRef lower_bound(jit_lower *j, const ir_node *n, LLVMIntPredicate before) {
  LLVMBasicBlockRef many = jit_block(j, "guess"), few = jit_block(j, ""), done = jit_block(j, "");
  LLVMValueRef size = LLVMBuildSub(j->b, jit_arg(j, n, 2), jit_arg(j, n, 1), "");
  jit_branch_likely(j, jit_compare(j, LLVMIntULT, size, jit_i64(j, GUESS_LEAST)), few, many);
  LLVMPositionBuilderAtEnd(j->b, many);
  LLVMValueRef at = guess(j, n, size), key = jit_arg(j, n, 3);
  LLVMValueRef past = LLVMBuildNot(j->b, jit_compare(j, before, sorted_cell(j, n, at), key), "");
  LLVMValueRef prior = sorted_cell(j, n, LLVMBuildSub(j->b, at, jit_i64(j, 1), ""));
  LLVMValueRef right = LLVMBuildAnd(j->b, past, jit_compare(j, before, prior, key), "");
  LLVMBuildCondBr(j->b, right, done, few);
  LLVMPositionBuilderAtEnd(j->b, few);
  LLVMValueRef found = lower_search(j, n, before);
  LLVMBasicBlockRef from = LLVMGetInsertBlock(j->b);
  LLVMBuildBr(j->b, done);
  LLVMPositionBuilderAtEnd(j->b, done);
  LLVMValueRef place = LLVMBuildPhi(j->b, j->t.i64, "");
  LLVMAddIncoming(place, (LLVMValueRef[]){at, found}, (LLVMBasicBlockRef[]){many, from}, 2);
  return place;
}

LLVMValueRef jit_lower_LOWER(jit_lower *j, const ir_node *n) {
  return lower_bound(j, n, LLVMIntSLT);
}
LLVMValueRef jit_lower_UPPER(jit_lower *j, const ir_node *n) {
  return lower_bound(j, n, LLVMIntSLE);
}

/* ---- looking a key up */

static LLVMValueRef find_out_of_line(jit_lower *j, const ir_node *n) {
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

/* A hash list in a known shape, whose key columns are compared as ints. */
static bool is_plain_hash(const jit_lower *j, const ir_node *n) {
  const ir_list *l = &j->r->lists[n->list];
  if (l->facts.trust == IR_ANY || ls_shape_layout(l->facts.shape) != LS_HASH)
    return false;
  for (unsigned k = 0; k < l->nkeys; k++)
    if (l->types[k] == LS_TEXT || l->types[k] == LS_REAL || k >= LS_SHAPE_COLS)
      return false;
  return true;
}

static LLVMValueRef load_hdr(jit_lower *j, const ir_node *n, LLVMTypeRef type, size_t offset) {
  LLVMValueRef load = LLVMBuildLoad2(j->b, type, jit_at(j, j->list[n->list], offset), "");
  jit_alias_mark(j, load, IR_MEM_HDR, n->list, 0);
  return load;
}

/* ls_hash_mix */
static LLVMValueRef mix(jit_lower *j, LLVMValueRef h, LLVMValueRef v) {
  LLVMTypeRef wide = LLVMIntTypeInContext(j->llvm, 128);
  LLVMValueRef x = LLVMBuildZExt(j->b, LLVMBuildXor(j->b, h, v, ""), wide, "");
  LLVMValueRef p = LLVMBuildMul(j->b, x, LLVMConstInt(wide, LS_HASH_FACTOR, false), "");
  LLVMValueRef high = LLVMBuildLShr(j->b, p, LLVMConstInt(wide, 64, false), "");
  return LLVMBuildXor(j->b, LLVMBuildTrunc(j->b, p, j->t.i64, ""),
                      LLVMBuildTrunc(j->b, high, j->t.i64, ""), "");
}

static LLVMValueRef key_arg(jit_lower *j, const ir_node *n, unsigned k) {
  LLVMValueRef v = jit_arg(j, n, k);
  return ir_at(j->r, n->arg[k])->type == IR_B1 ? LLVMBuildZExt(j->b, v, j->t.i64, "") : v;
}

/* Whether the row's key is the one that is looked for. */
static LLVMValueRef same_key(jit_lower *j, const ir_node *n, LLVMValueRef row) {
  uint64_t shape = j->r->lists[n->list].facts.shape;
  LLVMValueRef same = LLVMConstInt(j->t.i1, 1, false);
  for (unsigned k = 0; k < n->nargs; k++) {
    unsigned width = ls_shape_width(shape, k);
    LLVMTypeRef type = jit_cell_type(j, width);
    LLVMValueRef cells = load_hdr(j, n, j->t.ptr, offsetof(ls_list, col) + k * sizeof(void *));
    LLVMValueRef at = LLVMBuildInBoundsGEP2(j->b, type, cells, &row, 1, "");
    LLVMValueRef cell = LLVMBuildLoad2(j->b, type, at, "");
    jit_alias_mark(j, cell, IR_MEM_CELLS, n->list, k);
    if (width < 3)
      cell = LLVMBuildZExt(j->b, cell, j->t.i64, "");
    same = LLVMBuildAnd(j->b, same, jit_compare(j, LLVMIntEQ, cell, key_arg(j, n, k)), "");
  }
  return same;
}

/* The slots from the hash on, until one is free or its row has the key; goes on in `done`. */
static void probe(jit_lower *j, const ir_node *n, LLVMValueRef table, LLVMBasicBlockRef done,
                  incoming *in) {
  LLVMValueRef h = jit_i64(j, LS_HASH_SEED), none = jit_i64(j, LS_NO_ROW);
  for (unsigned k = 0; k < n->nargs; k++)
    h = mix(j, h, key_arg(j, n, k));
  LLVMValueRef mask = load_hdr(j, n, j->t.i64, offsetof(ls_list, u.hash.mask));
  LLVMBasicBlockRef from = LLVMGetInsertBlock(j->b), loop = jit_block(j, "probe"),
                    look = jit_block(j, ""), next = jit_block(j, "");
  LLVMBuildBr(j->b, loop);
  LLVMPositionBuilderAtEnd(j->b, loop);
  LLVMValueRef i = LLVMBuildPhi(j->b, j->t.i64, ""), slot = LLVMBuildAnd(j->b, i, mask, "");
  LLVMValueRef at = LLVMBuildInBoundsGEP2(j->b, j->t.i32, table, &slot, 1, "");
  LLVMValueRef entry = LLVMBuildLoad2(j->b, j->t.i32, at, "");
  jit_alias_mark(j, entry, IR_MEM_HDR, n->list, 0);
  add_incoming(in, loop, none);
  LLVMBuildCondBr(j->b, jit_compare(j, LLVMIntNE, entry, jit_i32(j, 0)), look, done);
  LLVMPositionBuilderAtEnd(j->b, look);
  LLVMValueRef row =
      LLVMBuildZExt(j->b, LLVMBuildSub(j->b, entry, jit_i32(j, 1), ""), j->t.i64, "");
  LLVMBasicBlockRef hit = in->memo ? jit_block(j, "") : done;
  add_incoming(in, in->memo ? hit : look, row);
  jit_branch_likely(j, same_key(j, n, row), hit, next);
  if (in->memo) {
    LLVMPositionBuilderAtEnd(j->b, hit);
    jit_memo_keep(j, in->memo, row);
    LLVMBuildBr(j->b, done);
  }
  LLVMPositionBuilderAtEnd(j->b, next);
  LLVMValueRef more = LLVMBuildAdd(j->b, slot, jit_i64(j, 1), "");
  LLVMBuildBr(j->b, loop);
  LLVMAddIncoming(i, (LLVMValueRef[]){h, more}, (LLVMBasicBlockRef[]){from, next}, 2);
}

/* The look-up may have been moved before the test of the shape, so it has one of its own. */
static LLVMValueRef find_in_hash(jit_lower *j, const ir_node *n) {
  LLVMBasicBlockRef slow = jit_block(j, "find"), hash = jit_block(j, ""), full = jit_block(j, ""),
                    done = jit_block(j, "");
  incoming in = {.n = 0};
  jit_memo memo;
  if (jit_memo_fits(j, n)) {
    LLVMValueRef known = jit_memo_ask(j, n, &memo, done);
    add_incoming(&in, memo.asked, known);
    in.memo = &memo;
  }
  LLVMValueRef shape = load_hdr(j, n, j->t.i64, offsetof(ls_list, shape));
  LLVMValueRef expected = jit_i64(j, j->r->lists[n->list].facts.shape);
  jit_branch_likely(j, jit_compare(j, LLVMIntEQ, shape, expected), hash, slow);
  LLVMPositionBuilderAtEnd(j->b, hash);
  LLVMValueRef table = load_hdr(j, n, j->t.ptr, offsetof(ls_list, u.hash.table));
  add_incoming(&in, hash, jit_i64(j, LS_NO_ROW));
  LLVMBuildCondBr(j->b, LLVMBuildIsNull(j->b, table, ""), done, full);
  LLVMPositionBuilderAtEnd(j->b, full);
  probe(j, n, table, done, &in);
  LLVMPositionBuilderAtEnd(j->b, slow);
  LLVMValueRef row = find_out_of_line(j, n);
  add_incoming(&in, LLVMGetInsertBlock(j->b), row);
  LLVMBuildBr(j->b, done);
  return join(j, done, &in);
}

LLVMValueRef jit_lower_FIND(jit_lower *j, const ir_node *n) {
  return is_plain_hash(j, n) ? find_in_hash(j, n) : find_out_of_line(j, n);
}
