/* llvmjit/jit_error.c - LLVM's errors and messages become texts here, each consumed once. */
#include <stdio.h>

#include "llvmjit/jit_int.h"

void jit_say(char *why, const char *text) { snprintf(why, VM_JIT_WHY, "%s", text); }

void jit_error_take(LLVMErrorRef error, char *why) {
  char *message = LLVMGetErrorMessage(error);
  jit_say(why, message ? message : "an error of LLVM without a message");
  LLVMDisposeErrorMessage(message);
}

void jit_message_take(char *message, char *why) {
  jit_say(why, message && *message ? message : "an error of LLVM without a message");
  LLVMDisposeMessage(message);
}
