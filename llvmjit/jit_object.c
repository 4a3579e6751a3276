/* llvmjit/jit_object.c - looking into an object before it is linked. */
#include <llvm-c/Object.h>
#include <string.h>

#include "llvmjit/jit_int.h"

uint64_t jit_object_code_bytes(LLVMMemoryBufferRef object, const char *name) {
  char *message = NULL;
  uint64_t bytes = 0;
  LLVMBinaryRef binary = LLVMCreateBinary(object, NULL, &message);
  if (binary == NULL) {
    LLVMDisposeMessage(message);
    return 0;
  }
  LLVMSymbolIteratorRef at = LLVMObjectFileCopySymbolIterator(binary);
  for (; bytes == 0 && !LLVMObjectFileIsSymbolIteratorAtEnd(binary, at); LLVMMoveToNextSymbol(at)) {
    const char *found = LLVMGetSymbolName(at);
    if (found && strcmp(found, name) == 0)
      bytes = LLVMGetSymbolSize(at);
  }
  LLVMDisposeSymbolIterator(at);
  LLVMDisposeBinary(binary);
  return bytes;
}
