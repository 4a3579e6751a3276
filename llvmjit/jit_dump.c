/* llvmjit/jit_dump.c - the stages of a compile as text, for people. */
#include <stdlib.h>
#include <string.h>

#include "llvmjit/jit_int.h"

typedef struct {
  char *text;
  size_t len, cap;
} collected;

static bool collect(void *user, const char *bytes, size_t len) {
  collected *c = user;
  if (c->len + len > c->cap) {
    size_t cap = (c->len + len) * 2;
    char *more = realloc(c->text, cap);
    if (more == NULL)
      return false;
    c->text = more;
    c->cap = cap;
  }
  memcpy(c->text + c->len, bytes, len);
  c->len += len;
  return true;
}

static bool wanted(const vm_jit_request *q, unsigned kind) {
  return q->dump && (q->dump_kinds & kind);
}

void jit_dump_region(const vm_jit_request *q, const char *name, ir_region *r) {
  collected c = {0};
  if (!wanted(q, VM_JIT_DUMP_IR))
    return;
  if (ir_print(r, collect, &c))
    q->dump(q->dump_user, name, "ir", c.text, c.len);
  free(c.text);
}

void jit_dump_module(const vm_jit_request *q, const char *name, LLVMModuleRef module) {
  if (!wanted(q, VM_JIT_DUMP_LLVM))
    return;
  char *text = LLVMPrintModuleToString(module);
  q->dump(q->dump_user, name, "llvm", text, strlen(text));
  LLVMDisposeMessage(text);
}

void jit_dump_asm(const vm_jit_request *q, const char *name, LLVMModuleRef module,
                  LLVMTargetMachineRef machine) {
  char why[VM_JIT_WHY];
  LLVMMemoryBufferRef text;
  if (!wanted(q, VM_JIT_DUMP_ASM))
    return;
  /* Emitting changes the module. */
  LLVMModuleRef copy = LLVMCloneModule(module);
  if (jit_emit(copy, machine, LLVMAssemblyFile, &text, why)) {
    q->dump(q->dump_user, name, "asm", LLVMGetBufferStart(text), LLVMGetBufferSize(text));
    LLVMDisposeMemoryBuffer(text);
  }
  LLVMDisposeModule(copy);
}
