/* llvmjit/jit_lower_int.c - constants, joins, and operations on ints and bools. */
#include "llvmjit/jit_int.h"

/* ---- constants and joins */

LLVMValueRef jit_lower_INT(jit_lower *j, const ir_node *n) { return jit_i64(j, (uint64_t)n->imm); }

LLVMValueRef jit_lower_BOOL(jit_lower *j, const ir_node *n) {
  return LLVMConstInt(j->t.i1, n->imm != 0, false);
}

LLVMValueRef jit_lower_KONST(jit_lower *j, const ir_node *n) {
  LLVMValueRef at = jit_at(j, j->consts, (uint64_t)n->imm * sizeof(ls_val));
  LLVMValueRef load = LLVMBuildLoad2(j->b, j->t.i64, at, "konst");
  LLVMMetadataRef none = LLVMMDNodeInContext2(j->llvm, NULL, 0);
  LLVMSetMetadata(load, j->invariant_kind, LLVMMetadataAsValue(j->llvm, none));
  return load;
}

LLVMValueRef jit_lower_PHI(jit_lower *j, const ir_node *n) {
  return LLVMBuildPhi(j->b, jit_type(j, (ir_type)n->type), "");
}

LLVMValueRef jit_lower_REG(jit_lower *j, const ir_node *n) {
  LLVMTypeRef type = n->type == IR_F64 ? j->t.f64 : j->t.i64;
  LLVMValueRef load = LLVMBuildLoad2(j->b, type, jit_reg_address(j, (uint32_t)n->imm), "reg");
  jit_alias_mark(j, load, IR_MEM_FRAME, 0, 0);
  return n->type == IR_B1 ? jit_compare(j, LLVMIntNE, load, jit_i64(j, 0)) : load;
}

LLVMValueRef jit_lower_SELECT(jit_lower *j, const ir_node *n) {
  return LLVMBuildSelect(j->b, jit_arg(j, n, 0), jit_arg(j, n, 1), jit_arg(j, n, 2), "");
}

/* ---- arithmetic */

typedef LLVMValueRef (*binary)(LLVMBuilderRef b, LLVMValueRef x, LLVMValueRef y, const char *name);

static LLVMValueRef lower_binary(jit_lower *j, const ir_node *n, binary build) {
  return build(j->b, jit_arg(j, n, 0), jit_arg(j, n, 1), "");
}

LLVMValueRef jit_lower_ADD(jit_lower *j, const ir_node *n) {
  return lower_binary(j, n, LLVMBuildAdd);
}
LLVMValueRef jit_lower_SUB(jit_lower *j, const ir_node *n) {
  return lower_binary(j, n, LLVMBuildSub);
}
LLVMValueRef jit_lower_MUL(jit_lower *j, const ir_node *n) {
  return lower_binary(j, n, LLVMBuildMul);
}
LLVMValueRef jit_lower_ADDN(jit_lower *j, const ir_node *n) {
  return lower_binary(j, n, LLVMBuildNSWAdd);
}
LLVMValueRef jit_lower_SUBN(jit_lower *j, const ir_node *n) {
  return lower_binary(j, n, LLVMBuildNSWSub);
}
LLVMValueRef jit_lower_MULN(jit_lower *j, const ir_node *n) {
  return lower_binary(j, n, LLVMBuildNSWMul);
}

/* The result of an operation that leaves where it overflows. */
static LLVMValueRef lower_checked(jit_lower *j, const ir_node *n, const char *name) {
  LLVMValueRef args[2] = {jit_arg(j, n, 0), jit_arg(j, n, 1)};
  LLVMValueRef both = jit_intrinsic(j, name, &j->t.i64, 1, args, 2);
  LLVMValueRef over = LLVMBuildExtractValue(j->b, both, 1, "");
  LLVMValueRef value = LLVMBuildExtractValue(j->b, both, 0, "");
  jit_need_not(j, over, n->exit);
  return value;
}

LLVMValueRef jit_lower_ADDX(jit_lower *j, const ir_node *n) {
  return lower_checked(j, n, "llvm.sadd.with.overflow");
}
LLVMValueRef jit_lower_SUBX(jit_lower *j, const ir_node *n) {
  return lower_checked(j, n, "llvm.ssub.with.overflow");
}
LLVMValueRef jit_lower_MULX(jit_lower *j, const ir_node *n) {
  return lower_checked(j, n, "llvm.smul.with.overflow");
}

LLVMValueRef jit_lower_DIV(jit_lower *j, const ir_node *n) {
  return lower_binary(j, n, LLVMBuildSDiv);
}
LLVMValueRef jit_lower_REM(jit_lower *j, const ir_node *n) {
  return lower_binary(j, n, LLVMBuildSRem);
}

/* The divisor is 0: leave. The smallest int by -1 overflows. */
LLVMValueRef jit_lower_DIVX(jit_lower *j, const ir_node *n) {
  LLVMValueRef x = jit_arg(j, n, 0), y = jit_arg(j, n, 1);
  LLVMValueRef least = jit_compare(j, LLVMIntEQ, x, jit_i64(j, UINT64_C(1) << 63));
  LLVMValueRef minus = jit_compare(j, LLVMIntEQ, y, jit_i64(j, UINT64_MAX));
  LLVMValueRef zero = jit_compare(j, LLVMIntEQ, y, jit_i64(j, 0));
  LLVMValueRef bad = LLVMBuildOr(j->b, zero, LLVMBuildAnd(j->b, least, minus, ""), "");
  jit_need(j, LLVMBuildNot(j->b, bad, ""), n->exit);
  return LLVMBuildSDiv(j->b, x, y, "");
}

/* By -1 the remainder is 0, but the processor would trap on the smallest int. */
LLVMValueRef jit_lower_REMX(jit_lower *j, const ir_node *n) {
  LLVMValueRef x = jit_arg(j, n, 0), y = jit_arg(j, n, 1);
  jit_need(j, jit_compare(j, LLVMIntNE, y, jit_i64(j, 0)), n->exit);
  LLVMValueRef minus = jit_compare(j, LLVMIntEQ, y, jit_i64(j, UINT64_MAX));
  return LLVMBuildSRem(j->b, x, LLVMBuildSelect(j->b, minus, jit_i64(j, 1), y, ""), "");
}

LLVMValueRef jit_lower_DADDX(jit_lower *j, const ir_node *n) {
  LLVMValueRef sum = lower_checked(j, n, "llvm.sadd.with.overflow");
  jit_need(j, jit_compare(j, LLVMIntULE, sum, jit_i64(j, LS_DATE_MAX)), n->exit);
  return sum;
}

static LLVMValueRef lower_two(jit_lower *j, const ir_node *n, const char *name) {
  LLVMValueRef args[2] = {jit_arg(j, n, 0), jit_arg(j, n, 1)};
  return jit_intrinsic(j, name, &j->t.i64, 1, args, 2);
}

LLVMValueRef jit_lower_MIN(jit_lower *j, const ir_node *n) { return lower_two(j, n, "llvm.smin"); }
LLVMValueRef jit_lower_MAX(jit_lower *j, const ir_node *n) { return lower_two(j, n, "llvm.smax"); }
LLVMValueRef jit_lower_UMIN(jit_lower *j, const ir_node *n) { return lower_two(j, n, "llvm.umin"); }
LLVMValueRef jit_lower_BAND(jit_lower *j, const ir_node *n) {
  return lower_binary(j, n, LLVMBuildAnd);
}
LLVMValueRef jit_lower_BOR(jit_lower *j, const ir_node *n) {
  return lower_binary(j, n, LLVMBuildOr);
}
LLVMValueRef jit_lower_SHL(jit_lower *j, const ir_node *n) {
  return lower_binary(j, n, LLVMBuildShl);
}
LLVMValueRef jit_lower_SHR(jit_lower *j, const ir_node *n) {
  return lower_binary(j, n, LLVMBuildLShr);
}

/* ---- comparisons and bools */

static LLVMValueRef lower_compare(jit_lower *j, const ir_node *n, LLVMIntPredicate p) {
  bool is_signed = p != LLVMIntULT && p != LLVMIntULE;
  LLVMValueRef narrow = is_signed ? jit_scan_compare(j, n, p) : NULL;
  return narrow ? narrow : jit_compare(j, p, jit_arg(j, n, 0), jit_arg(j, n, 1));
}

LLVMValueRef jit_lower_EQ(jit_lower *j, const ir_node *n) { return lower_compare(j, n, LLVMIntEQ); }
LLVMValueRef jit_lower_NE(jit_lower *j, const ir_node *n) { return lower_compare(j, n, LLVMIntNE); }
LLVMValueRef jit_lower_LT(jit_lower *j, const ir_node *n) {
  return lower_compare(j, n, LLVMIntSLT);
}
LLVMValueRef jit_lower_LE(jit_lower *j, const ir_node *n) {
  return lower_compare(j, n, LLVMIntSLE);
}
LLVMValueRef jit_lower_ULT(jit_lower *j, const ir_node *n) {
  return lower_compare(j, n, LLVMIntULT);
}
LLVMValueRef jit_lower_ULE(jit_lower *j, const ir_node *n) {
  return lower_compare(j, n, LLVMIntULE);
}
LLVMValueRef jit_lower_NOT(jit_lower *j, const ir_node *n) {
  return LLVMBuildNot(j->b, jit_arg(j, n, 0), "");
}
LLVMValueRef jit_lower_AND(jit_lower *j, const ir_node *n) {
  return lower_binary(j, n, LLVMBuildAnd);
}
LLVMValueRef jit_lower_OR(jit_lower *j, const ir_node *n) {
  return lower_binary(j, n, LLVMBuildOr);
}

/* Different ids are different texts unless one is of an overlay. */
LLVMValueRef jit_lower_TEXTEQ(jit_lower *j, const ir_node *n) {
  LLVMValueRef x = jit_arg(j, n, 0), y = jit_arg(j, n, 1);
  LLVMValueRef same = jit_compare(j, LLVMIntEQ, x, y);
  LLVMValueRef either = LLVMBuildOr(j->b, x, y, "");
  LLVMValueRef young = jit_compare(j, LLVMIntUGE, either, jit_i64(j, LS_TEXT_OVERLAY));
  LLVMValueRef ask = LLVMBuildAnd(j->b, young, LLVMBuildNot(j->b, same, ""), "");
  LLVMBasicBlockRef before = LLVMGetInsertBlock(j->b);
  LLVMBasicBlockRef slow = jit_block(j, "text"), done = jit_block(j, "");
  jit_branch_likely(j, LLVMBuildNot(j->b, ask, ""), done, slow);
  LLVMPositionBuilderAtEnd(j->b, slow);
  LLVMValueRef args[3] = {j->cx, x, y};
  LLVMValueRef said = jit_call(j, JIT_HELPER_TEXT_SAME, args, "");
  said = jit_compare(j, LLVMIntNE, said, jit_i32(j, 0));
  LLVMBuildBr(j->b, done);
  LLVMPositionBuilderAtEnd(j->b, done);
  LLVMValueRef phi = LLVMBuildPhi(j->b, j->t.i1, "");
  LLVMAddIncoming(phi, (LLVMValueRef[]){same, said}, (LLVMBasicBlockRef[]){before, slow}, 2);
  return phi;
}

LLVMValueRef jit_lower_BTOI(jit_lower *j, const ir_node *n) {
  return LLVMBuildZExt(j->b, jit_arg(j, n, 0), j->t.i64, "");
}
LLVMValueRef jit_lower_ITOB(jit_lower *j, const ir_node *n) {
  return jit_compare(j, LLVMIntNE, jit_arg(j, n, 0), jit_i64(j, 0));
}
