/* llvmjit/jit_passes.c - LLVM's passes for each level, and machine code as an object file.
 *
 * ir/ has already removed checks, hoisted header loads and counted work; what is left for LLVM is
 * what it knows better: addresses, instruction choice, loop shapes, vectors.  Level 1 runs no
 * pass at all.
 */
#include <llvm-c/Transforms/PassBuilder.h>

#include "llvmjit/jit_int.h"

static const char *const pipeline[4] = {
    NULL,
    NULL,
    "function(sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg,"
    "loop-mssa(loop-rotate,licm),simplifycfg,gvn,instcombine<no-verify-fixpoint>,"
    "loop(indvars),loop-vectorize,dse,instcombine<no-verify-fixpoint>,simplifycfg)",
    "function(sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg,"
    "loop-mssa(loop-rotate,licm),simplifycfg,gvn,instcombine<no-verify-fixpoint>,"
    "loop(indvars),loop-vectorize,dse,instcombine<no-verify-fixpoint>,simplifycfg)",
};

bool jit_passes_run(LLVMModuleRef module, LLVMTargetMachineRef machine, unsigned level, char *why) {
  if (pipeline[level] == NULL)
    return true;
  LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
  LLVMPassBuilderOptionsSetLoopVectorization(options, true);
  LLVMPassBuilderOptionsSetLoopInterleaving(options, true);
  LLVMErrorRef error = LLVMRunPasses(module, pipeline[level], machine, options);
  LLVMDisposePassBuilderOptions(options);
  if (error == NULL)
    return true;
  jit_error_take(error, why);
  return false;
}

bool jit_emit(LLVMModuleRef module, LLVMTargetMachineRef machine, LLVMCodeGenFileType kind,
              LLVMMemoryBufferRef *out, char *why) {
  char *message = NULL;
  if (LLVMTargetMachineEmitToMemoryBuffer(machine, module, kind, &message, out) == 0)
    return true;
  jit_message_take(message, why);
  return false;
}
