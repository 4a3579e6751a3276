/* llvmjit/jit_target.c - machines to compile for: this processor with all it can do.
 *
 * Making one takes longer than a small compile, and one serves one thread at a time, so those
 * given back are kept.
 */
#include <llvm-c/Target.h>
#include <pthread.h>
#include <string.h>

#include "llvmjit/jit_int.h"

#define MACHINES_KEPT 4u /* of each kind */

struct jit_machines {
  ls_mem *mem;
  LLVMTargetRef target;
  char *triple, *cpu, *features;
  pthread_mutex_t lock;
  unsigned kept[2];
  LLVMTargetMachineRef machine[2][MACHINES_KEPT];
};

static bool find_target(jit_machines *m, char *why) {
  char *message = NULL;
  if (LLVMInitializeNativeTarget() || LLVMInitializeNativeAsmPrinter() ||
      LLVMInitializeNativeAsmParser()) {
    jit_say(why, "LLVM was built without this processor");
    return false;
  }
  m->triple = LLVMGetDefaultTargetTriple();
  m->cpu = LLVMGetHostCPUName();
  m->features = LLVMGetHostCPUFeatures();
  if (LLVMGetTargetFromTriple(m->triple, &m->target, &message)) {
    jit_message_take(message, why);
    return false;
  }
  return true;
}

jit_machines *jit_machines_new(ls_mem *mem, char *why) {
  jit_machines *m = ls_mem_zalloc(mem, sizeof *m);
  if (m == NULL) {
    jit_say(why, "no memory");
    return NULL;
  }
  m->mem = mem;
  pthread_mutex_init(&m->lock, NULL);
  if (find_target(m, why))
    return m;
  jit_machines_delete(m);
  return NULL;
}

void jit_machines_delete(jit_machines *m) {
  if (m == NULL)
    return;
  for (unsigned kind = 0; kind < 2; kind++)
    while (m->kept[kind])
      LLVMDisposeTargetMachine(m->machine[kind][--m->kept[kind]]);
  LLVMDisposeMessage(m->triple);
  LLVMDisposeMessage(m->cpu);
  LLVMDisposeMessage(m->features);
  pthread_mutex_destroy(&m->lock);
  ls_mem_free(m->mem, m, sizeof *m);
}

const char *jit_machines_cpu(const jit_machines *m) { return m->cpu; }
const char *jit_machines_features(const jit_machines *m) { return m->features; }

LLVMTargetMachineRef jit_machine_take(jit_machines *m, bool quick, char *why) {
  LLVMTargetMachineRef machine = NULL;
  pthread_mutex_lock(&m->lock);
  if (m->kept[quick])
    machine = m->machine[quick][--m->kept[quick]];
  pthread_mutex_unlock(&m->lock);
  if (machine)
    return machine;
  machine = LLVMCreateTargetMachine(m->target, m->triple, m->cpu, m->features,
                                    quick ? LLVMCodeGenLevelNone : LLVMCodeGenLevelDefault,
                                    LLVMRelocPIC, LLVMCodeModelSmall);
  if (machine == NULL)
    jit_say(why, "LLVM made no machine for this processor");
  return machine;
}

void jit_machine_give(jit_machines *m, bool quick, LLVMTargetMachineRef machine) {
  pthread_mutex_lock(&m->lock);
  if (m->kept[quick] < MACHINES_KEPT) {
    m->machine[quick][m->kept[quick]++] = machine;
    machine = NULL;
  }
  pthread_mutex_unlock(&m->lock);
  if (machine)
    LLVMDisposeTargetMachine(machine);
}
