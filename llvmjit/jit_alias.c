/* llvmjit/jit_alias.c - the memory classes of ir.h as alias scopes.
 *
 * Each class of each list is a scope; an access is in its own and away from all others.  Scopes
 * are numbered: FRAME, CX, then for each list HDR, COUNT, BITS and one a column.
 */
#include <stdio.h>
#include <stdlib.h>

#include "llvmjit/jit_int.h"

enum { SCOPE_FRAME, SCOPE_CX, SCOPE_LISTS };
enum { OF_HDR, OF_COUNT, OF_BITS, OF_COLS };

static uint32_t number_scopes(jit_lower *j) {
  uint32_t n = SCOPE_LISTS;
  for (uint32_t i = 0; i < j->r->nlists; i++) {
    j->scope_of[i] = n;
    n += OF_COLS + j->r->lists[i].ncols;
  }
  j->scope_of[j->r->nlists] = n;
  return n;
}

static LLVMMetadataRef make_scope(jit_lower *j, LLVMMetadataRef domain, uint32_t number) {
  char name[16];
  int len = snprintf(name, sizeof name, "s%u", number);
  LLVMMetadataRef parts[2] = {LLVMMDStringInContext2(j->llvm, name, (size_t)len), domain};
  return LLVMMDNodeInContext2(j->llvm, parts, 2);
}

bool jit_alias_init(jit_lower *j) {
  LLVMMetadataRef others[JIT_MAX_SCOPES];
  LLVMMetadataRef text = LLVMMDStringInContext2(j->llvm, "pure", 4);
  LLVMMetadataRef domain = LLVMMDNodeInContext2(j->llvm, &text, 1);
  j->scope_of = calloc(j->r->nlists + 1, sizeof *j->scope_of);
  if (j->scope_of == NULL)
    return false;
  uint32_t n = number_scopes(j);
  if (n > JIT_MAX_SCOPES)
    return true;
  j->scope = calloc(n, sizeof *j->scope);
  if (j->scope == NULL)
    return false;
  j->nscopes = n;
  for (uint32_t i = 0; i < n; i++)
    j->scope[i].scope = make_scope(j, domain, i);
  for (uint32_t i = 0; i < n; i++) {
    uint32_t k = 0;
    for (uint32_t o = 0; o < n; o++)
      if (o != i)
        others[k++] = j->scope[o].scope;
    j->scope[i].own = LLVMMDNodeInContext2(j->llvm, &j->scope[i].scope, 1);
    j->scope[i].others = LLVMMDNodeInContext2(j->llvm, others, k);
  }
  return true;
}

static void attach(jit_lower *j, LLVMValueRef access, uint32_t kind, LLVMMetadataRef node) {
  LLVMSetMetadata(access, kind, LLVMMetadataAsValue(j->llvm, node));
}

static uint32_t scope_number(const jit_lower *j, ir_mem class, unsigned list, unsigned col) {
  switch (class) {
  case IR_MEM_HDR:
    return j->scope_of[list] + OF_HDR;
  case IR_MEM_COUNT:
    return j->scope_of[list] + OF_COUNT;
  case IR_MEM_BITS:
    return j->scope_of[list] + OF_BITS;
  case IR_MEM_CELLS:
    return j->scope_of[list] + OF_COLS + col;
  case IR_MEM_CX:
    return SCOPE_CX;
  case IR_MEM_FRAME:
  case IR_MEM_NONE:
  case IR_MEM_LIST:
    break;
  }
  return SCOPE_FRAME;
}

void jit_alias_mark(jit_lower *j, LLVMValueRef access, ir_mem class, unsigned list, unsigned col) {
  if (j->nscopes == 0 || class == IR_MEM_NONE || class == IR_MEM_LIST)
    return;
  const jit_scope *s = &j->scope[scope_number(j, class, list, col)];
  attach(j, access, j->scope_kind, s->own);
  attach(j, access, j->noalias_kind, s->others);
}

void jit_alias_mark_foreign(jit_lower *j, LLVMValueRef call) {
  LLVMMetadataRef all[JIT_MAX_SCOPES];
  for (uint32_t i = 0; i < j->nscopes; i++)
    all[i] = j->scope[i].scope;
  if (j->nscopes)
    attach(j, call, j->noalias_kind, LLVMMDNodeInContext2(j->llvm, all, j->nscopes));
}

void jit_alias_mark_list(jit_lower *j, LLVMValueRef call, unsigned list) {
  LLVMMetadataRef away[JIT_MAX_SCOPES];
  uint32_t n = 0;
  for (uint32_t i = SCOPE_LISTS; i < j->nscopes; i++)
    if (i < j->scope_of[list] || i >= j->scope_of[list + 1])
      away[n++] = j->scope[i].scope;
  if (n)
    attach(j, call, j->noalias_kind, LLVMMDNodeInContext2(j->llvm, away, n));
}
