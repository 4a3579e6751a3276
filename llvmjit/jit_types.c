/* llvmjit/jit_types.c - LLVM types of a region's values, and the functions it calls. */
#include <stdio.h>
#include <string.h>

#include "llvmjit/jit_int.h"

void jit_types_init(jit_types *t, LLVMContextRef c) {
  *t = (jit_types){
      .i1 = LLVMInt1TypeInContext(c),
      .i8 = LLVMInt8TypeInContext(c),
      .i16 = LLVMInt16TypeInContext(c),
      .i32 = LLVMInt32TypeInContext(c),
      .i64 = LLVMInt64TypeInContext(c),
      .f64 = LLVMDoubleTypeInContext(c),
      .ptr = LLVMPointerTypeInContext(c, 0),
      .none = LLVMVoidTypeInContext(c),
  };
}

LLVMTypeRef jit_type(const jit_lower *j, ir_type type) {
  switch (type) {
  case IR_I64:
    return j->t.i64;
  case IR_F64:
    return j->t.f64;
  case IR_B1:
    return j->t.i1;
  case IR_PTR:
    return j->t.ptr;
  case IR_NONE:
    break;
  }
  return j->t.none;
}

static LLVMTypeRef letter_type(const jit_lower *j, char letter) {
  return letter == 'i' ? j->t.i32 : letter == 'l' ? j->t.i64 : j->t.ptr;
}

static void declare(jit_lower *j, jit_helper which, const char *name, char result,
                    const char *params) {
  LLVMTypeRef types[8];
  char symbol[64];
  unsigned n = (unsigned)strlen(params);
  for (unsigned i = 0; i < n; i++)
    types[i] = letter_type(j, params[i]);
  snprintf(symbol, sizeof symbol, "pure_%s", name);
  j->helper_type[which] = LLVMFunctionType(letter_type(j, result), types, n, false);
  LLVMValueRef f = LLVMAddFunction(j->module, symbol, j->helper_type[which]);
  const char *kinds[] = {"nounwind", "cold"};
  for (unsigned i = 0; i < 2; i++) {
    unsigned kind = LLVMGetEnumAttributeKindForName(kinds[i], strlen(kinds[i]));
    if (i == 1 && which != JIT_HELPER_STRESS)
      continue;
    LLVMAddAttributeAtIndex(f, LLVMAttributeFunctionIndex,
                            LLVMCreateEnumAttribute(j->llvm, kind, 0));
  }
  j->helper[which] = f;
}

void jit_declare_helpers(jit_lower *j) {
#define HELPER(id, name, result, parameters, r, p, meaning)                                        \
  declare(j, JIT_HELPER_##id, #name, r[0], p);
#include "vm/vm_jit_helpers.def"
#undef HELPER
}

LLVMValueRef jit_call(jit_lower *j, jit_helper which, LLVMValueRef *args, const char *name) {
  unsigned n = LLVMCountParamTypes(j->helper_type[which]);
  return LLVMBuildCall2(j->b, j->helper_type[which], j->helper[which], args, n, name);
}

LLVMValueRef jit_intrinsic(jit_lower *j, const char *name, LLVMTypeRef *types, unsigned ntypes,
                           LLVMValueRef *args, unsigned nargs) {
  unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
  LLVMValueRef f = LLVMGetIntrinsicDeclaration(j->module, id, types, ntypes);
  LLVMTypeRef type = LLVMIntrinsicGetType(j->llvm, id, types, ntypes);
  return LLVMBuildCall2(j->b, type, f, args, nargs, "");
}
