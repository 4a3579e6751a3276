/* llvmjit/jit_lower_real.c - operations on reals, and builtins.
 *
 * Instructions carry no fast-math flag: each operation is rounded once, in the order written.
 */
#include "llvmjit/jit_int.h"

static LLVMValueRef canonical_nan(jit_lower *j) {
  return LLVMConstBitCast(jit_i64(j, UINT64_C(0x7ff8000000000000)), j->t.f64);
}

LLVMValueRef jit_lower_REAL(jit_lower *j, const ir_node *n) {
  return LLVMConstBitCast(jit_i64(j, (uint64_t)n->imm), j->t.f64);
}

LLVMValueRef jit_lower_FADD(jit_lower *j, const ir_node *n) {
  return LLVMBuildFAdd(j->b, jit_arg(j, n, 0), jit_arg(j, n, 1), "");
}
LLVMValueRef jit_lower_FSUB(jit_lower *j, const ir_node *n) {
  return LLVMBuildFSub(j->b, jit_arg(j, n, 0), jit_arg(j, n, 1), "");
}
LLVMValueRef jit_lower_FMUL(jit_lower *j, const ir_node *n) {
  return LLVMBuildFMul(j->b, jit_arg(j, n, 0), jit_arg(j, n, 1), "");
}
LLVMValueRef jit_lower_FDIV(jit_lower *j, const ir_node *n) {
  return LLVMBuildFDiv(j->b, jit_arg(j, n, 0), jit_arg(j, n, 1), "");
}
LLVMValueRef jit_lower_FNEG(jit_lower *j, const ir_node *n) {
  return LLVMBuildFNeg(j->b, jit_arg(j, n, 0), "");
}

static LLVMValueRef lower_one(jit_lower *j, const ir_node *n, const char *name) {
  LLVMValueRef x = jit_arg(j, n, 0);
  return jit_intrinsic(j, name, &j->t.f64, 1, &x, 1);
}

LLVMValueRef jit_lower_FABS(jit_lower *j, const ir_node *n) { return lower_one(j, n, "llvm.fabs"); }
LLVMValueRef jit_lower_FSQRT(jit_lower *j, const ir_node *n) {
  return lower_one(j, n, "llvm.sqrt");
}
LLVMValueRef jit_lower_FFLOOR(jit_lower *j, const ir_node *n) {
  return lower_one(j, n, "llvm.floor");
}
LLVMValueRef jit_lower_FCEIL(jit_lower *j, const ir_node *n) {
  return lower_one(j, n, "llvm.ceil");
}
LLVMValueRef jit_lower_FROUND(jit_lower *j, const ir_node *n) {
  return lower_one(j, n, "llvm.round");
}
LLVMValueRef jit_lower_FTRUNC(jit_lower *j, const ir_node *n) {
  return lower_one(j, n, "llvm.trunc");
}

static LLVMValueRef compare(jit_lower *j, const ir_node *n, LLVMRealPredicate p) {
  return LLVMBuildFCmp(j->b, p, jit_arg(j, n, 0), jit_arg(j, n, 1), "");
}

/* vm_sem_rmin and vm_sem_rmax: the sum where one is NaN; of equal ones, zeros that differ in
 * sign, by the bits; else by order. */
static LLVMValueRef lower_extreme(jit_lower *j, const ir_node *n, bool least) {
  LLVMValueRef x = jit_arg(j, n, 0), y = jit_arg(j, n, 1);
  LLVMValueRef xbits = LLVMBuildBitCast(j->b, x, j->t.i64, "");
  LLVMValueRef negative = jit_compare(j, LLVMIntSLT, xbits, jit_i64(j, 0));
  LLVMValueRef equal = compare(j, n, LLVMRealOEQ), nan = compare(j, n, LLVMRealUNO);
  LLVMValueRef less = compare(j, n, least ? LLVMRealOLT : LLVMRealOGT);
  LLVMValueRef first = least ? negative : LLVMBuildNot(j->b, negative, "");
  LLVMValueRef take = LLVMBuildSelect(j->b, equal, first, less, "");
  LLVMValueRef value = LLVMBuildSelect(j->b, take, x, y, "");
  return LLVMBuildSelect(j->b, nan, LLVMBuildFAdd(j->b, x, y, ""), value, "");
}

LLVMValueRef jit_lower_FMIN(jit_lower *j, const ir_node *n) { return lower_extreme(j, n, true); }
LLVMValueRef jit_lower_FMAX(jit_lower *j, const ir_node *n) { return lower_extreme(j, n, false); }

LLVMValueRef jit_canonical(jit_lower *j, LLVMValueRef real) {
  LLVMValueRef nan = LLVMBuildFCmp(j->b, LLVMRealUNO, real, real, "");
  return LLVMBuildSelect(j->b, nan, canonical_nan(j), real, "");
}

LLVMValueRef jit_lower_CANON(jit_lower *j, const ir_node *n) {
  return jit_canonical(j, jit_arg(j, n, 0));
}

LLVMValueRef jit_lower_FEQ(jit_lower *j, const ir_node *n) { return compare(j, n, LLVMRealOEQ); }
LLVMValueRef jit_lower_FNE(jit_lower *j, const ir_node *n) { return compare(j, n, LLVMRealUNE); }
LLVMValueRef jit_lower_FLT(jit_lower *j, const ir_node *n) { return compare(j, n, LLVMRealOLT); }
LLVMValueRef jit_lower_FLE(jit_lower *j, const ir_node *n) { return compare(j, n, LLVMRealOLE); }

LLVMValueRef jit_lower_ITOF(jit_lower *j, const ir_node *n) {
  return LLVMBuildSIToFP(j->b, jit_arg(j, n, 0), j->t.f64, "");
}

LLVMValueRef jit_lower_FTOIX(jit_lower *j, const ir_node *n) {
  LLVMValueRef x = jit_arg(j, n, 0);
  LLVMValueRef least = LLVMConstReal(j->t.f64, -9223372036854775808.0);
  LLVMValueRef past = LLVMConstReal(j->t.f64, 9223372036854775808.0);
  LLVMValueRef low = LLVMBuildFCmp(j->b, LLVMRealOGE, x, least, "");
  LLVMValueRef high = LLVMBuildFCmp(j->b, LLVMRealOLT, x, past, "");
  jit_need(j, LLVMBuildAnd(j->b, low, high, ""), n->exit);
  return LLVMBuildFPToSI(j->b, x, j->t.i64, "");
}

LLVMValueRef jit_lower_FTOBITS(jit_lower *j, const ir_node *n) {
  return LLVMBuildBitCast(j->b, jit_arg(j, n, 0), j->t.i64, "");
}
LLVMValueRef jit_lower_BITSTOF(jit_lower *j, const ir_node *n) {
  return LLVMBuildBitCast(j->b, jit_arg(j, n, 0), j->t.f64, "");
}

/* ---- builtins out of line */

/* Calls it; the status, and where the result is. */
static LLVMValueRef call_builtin(jit_lower *j, const ir_node *n, LLVMValueRef *out) {
  for (unsigned k = 0; k < n->nargs; k++) {
    LLVMValueRef v = jit_arg(j, n, k);
    if (ir_at(j->r, n->arg[k])->type == IR_B1)
      v = LLVMBuildZExt(j->b, v, j->t.i64, "");
    LLVMBuildStore(j->b, v, jit_at(j, j->keys, k * sizeof(ls_val)));
  }
  *out = jit_at(j, j->keys, n->nargs * sizeof(ls_val));
  LLVMValueRef args[3] = {jit_i32(j, (uint32_t)n->imm), j->keys, *out};
  return jit_call(j, JIT_HELPER_BUILTIN, args, "");
}

static LLVMValueRef builtin_result(jit_lower *j, const ir_node *n, LLVMValueRef out) {
  LLVMTypeRef type = n->type == IR_F64 ? j->t.f64 : j->t.i64;
  LLVMValueRef v = LLVMBuildLoad2(j->b, type, out, "");
  return n->type == IR_B1 ? jit_compare(j, LLVMIntNE, v, jit_i64(j, 0)) : v;
}

LLVMValueRef jit_lower_BIF(jit_lower *j, const ir_node *n) {
  LLVMValueRef out;
  call_builtin(j, n, &out);
  return builtin_result(j, n, out);
}

LLVMValueRef jit_lower_BIFX(jit_lower *j, const ir_node *n) {
  LLVMValueRef out, status = call_builtin(j, n, &out);
  jit_need(j, jit_compare(j, LLVMIntEQ, status, jit_i32(j, (uint32_t)VM_FINE)), n->exit);
  return builtin_result(j, n, out);
}
