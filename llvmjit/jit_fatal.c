/* llvmjit/jit_fatal.c - LLVM's fatal errors: where it would end the process, the compile ends.
 *
 * LLVM calls a handler and aborts when that returns.  This one leaves LLVM for where the compile
 * went in.  What LLVM held is lost then and may be locked, so the engine compiles nothing more; the
 * code that there is goes on working.  An error on a thread that compiles nothing of ours is not
 * ours: the handler returns.  LLVM's own lack of memory cannot be caught through its C API.
 *
 * The handler gets no word of whose it is, so the thread itself has to know what it is at.
 */
#include <llvm-c/ErrorHandling.h>
#include <setjmp.h>
#include <stdio.h>

#include "llvmjit/jit_int.h"

typedef struct guard {
  struct guard *outer;
  jmp_buf back;
  char *why;
} guard;

static _Thread_local guard *inside;

static void hear_fatal(const char *reason) {
  if (inside == NULL)
    return;
  snprintf(inside->why, VM_JIT_WHY, "LLVM gave up: %s", reason);
  longjmp(inside->back, 1);
}

void jit_fatal_begin(void) {
  LLVMResetFatalErrorHandler();
  LLVMInstallFatalErrorHandler(hear_fatal);
}

bool jit_guarded(void (*part)(void *user), void *user, char *why) {
  guard g = {.outer = inside, .why = why};
  if (setjmp(g.back) != 0) {
    inside = inside->outer;
    return false;
  }
  inside = &g;
  part(user);
  inside = g.outer;
  return true;
}
