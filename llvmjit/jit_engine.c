/* llvmjit/jit_engine.c - objects into executable memory and out again, by ORC.
 *
 * Each region is an object of its own in a JITDylib of its own under a ResourceTracker of its
 * own: names of regions need not differ, and removing one frees its pages.  A dylib cannot be
 * deleted, so one whose region is gone serves the next.  Dylibs see the helpers that
 * jit_symbols.c lists and nothing of the process.
 *
 * ORC's linker writes an object into pages that are not executable and makes the code executable
 * and read-only before it runs: no page is ever both.
 */
#define _GNU_SOURCE /* dladdr */
#include <dlfcn.h>
#include <llvm-c/LLJIT.h>
#include <llvm-c/LLJITUtils.h>
#include <llvm-c/Orc.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "llvmjit/jit_int.h"

typedef struct orc_place {
  struct orc_place *next; /* in the list of free ones */
  struct orc_place *all;
  LLVMOrcJITDylibRef dylib;
  LLVMOrcResourceTrackerRef tracker;
} orc_place;

struct jit_orc {
  const vm_jit_core *core;
  ls_mem *mem;
  LLVMOrcLLJITRef jit;
  LLVMOrcExecutionSessionRef session;
  pthread_mutex_t lock;
  orc_place *free, *all;
  unsigned made;
  bool gdb; /* objects are registered */
  uint64_t debug_objects, debug_bytes;
  char reported[VM_JIT_WHY]; /* last; under the lock */
};

/* The call that began it is told that something failed, the session's reporter what. */
static void hear_report(void *user, LLVMErrorRef error) {
  jit_orc *o = user;
  char text[VM_JIT_WHY];
  jit_error_take(error, text);
  pthread_mutex_lock(&o->lock);
  jit_say(o->reported, text);
  pthread_mutex_unlock(&o->lock);
}

/* ORC looks for its own registration function among the symbols that all of the process sees,
 * where LLVM is not: it was loaded for the plug-in alone. */
static void tell_gdb(jit_orc *o) {
  Dl_info llvm;
  if (dladdr((void *)(uintptr_t)&LLVMOrcCreateLLJIT, &llvm) == 0 ||
      dlopen(llvm.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_GLOBAL) == NULL)
    return;
  LLVMErrorRef error = LLVMOrcLLJITEnableDebugSupport(o->jit);
  o->gdb = error == NULL;
  if (error)
    LLVMConsumeError(error); /* code runs all the same */
}

static bool start(jit_orc *o, char *why) {
  LLVMErrorRef error = LLVMOrcCreateLLJIT(&o->jit, NULL);
  if (error) {
    jit_error_take(error, why);
    return false;
  }
  o->session = LLVMOrcLLJITGetExecutionSession(o->jit);
  LLVMOrcExecutionSessionSetErrorReporter(o->session, hear_report, o);
  if (o->core->perf & VM_JIT_PERF_GDB)
    tell_gdb(o);
  return true;
}

jit_orc *jit_orc_new(const vm_jit_core *core, ls_mem *mem, char *why) {
  jit_orc *o = ls_mem_zalloc(mem, sizeof *o);
  if (o == NULL) {
    jit_say(why, "no memory");
    return NULL;
  }
  o->core = core;
  o->mem = mem;
  pthread_mutex_init(&o->lock, NULL);
  if (start(o, why))
    return o;
  jit_orc_delete(o);
  return NULL;
}

void jit_orc_delete(jit_orc *o) {
  if (o == NULL)
    return;
  if (o->jit) {
    LLVMErrorRef error = LLVMOrcDisposeLLJIT(o->jit);
    if (error)
      LLVMConsumeError(error);
  }
  while (o->all) {
    orc_place *next = o->all->all;
    ls_mem_free(o->mem, o->all, sizeof *o->all);
    o->all = next;
  }
  pthread_mutex_destroy(&o->lock);
  ls_mem_free(o->mem, o, sizeof *o);
}

/* ---- dylibs */

static bool define_symbols(jit_orc *o, LLVMOrcJITDylibRef dylib, char *why) {
  jit_symbol symbols[JIT_MAX_SYMBOLS];
  LLVMOrcCSymbolMapPair pairs[JIT_MAX_SYMBOLS];
  unsigned n = jit_symbols(o->core, symbols);
  for (unsigned i = 0; i < n; i++) {
    LLVMJITSymbolFlags flags = {
        LLVMJITSymbolGenericFlagsExported | LLVMJITSymbolGenericFlagsCallable, 0};
    pairs[i].Name = LLVMOrcLLJITMangleAndIntern(o->jit, symbols[i].name);
    pairs[i].Sym = (LLVMJITEvaluatedSymbol){(uint64_t)(uintptr_t)symbols[i].address, flags};
  }
  LLVMOrcMaterializationUnitRef unit = LLVMOrcAbsoluteSymbols(pairs, n);
  LLVMErrorRef error = LLVMOrcJITDylibDefine(dylib, unit);
  if (error == NULL)
    return true;
  LLVMOrcDisposeMaterializationUnit(unit);
  jit_error_take(error, why);
  return false;
}

static orc_place *make_place(jit_orc *o, char *why) {
  orc_place *p = ls_mem_zalloc(o->mem, sizeof *p);
  char name[32];
  if (p == NULL) {
    jit_say(why, "no memory");
    return NULL;
  }
  pthread_mutex_lock(&o->lock);
  snprintf(name, sizeof name, "region%u", o->made++);
  p->all = o->all;
  o->all = p;
  pthread_mutex_unlock(&o->lock);
  p->dylib = LLVMOrcExecutionSessionCreateBareJITDylib(o->session, name);
  return define_symbols(o, p->dylib, why) ? p : NULL;
}

static orc_place *take_place(jit_orc *o, char *why) {
  pthread_mutex_lock(&o->lock);
  orc_place *p = o->free;
  if (p)
    o->free = p->next;
  pthread_mutex_unlock(&o->lock);
  if (p == NULL)
    p = make_place(o, why);
  if (p)
    p->tracker = LLVMOrcJITDylibCreateResourceTracker(p->dylib);
  return p;
}

static void give_place(jit_orc *o, orc_place *p) {
  LLVMErrorRef error = LLVMOrcResourceTrackerRemove(p->tracker);
  if (error)
    LLVMConsumeError(error);
  LLVMOrcReleaseResourceTracker(p->tracker);
  LLVMOrcSymbolStringPoolClearDeadEntries(LLVMOrcExecutionSessionGetSymbolStringPool(o->session));
  pthread_mutex_lock(&o->lock);
  p->next = o->free;
  o->free = p;
  pthread_mutex_unlock(&o->lock);
}

/* ---- linking */

/* Of a look-up, which may end on another thread. */
typedef struct {
  pthread_mutex_t lock;
  pthread_cond_t ended;
  bool done;
  LLVMErrorRef error;
  uint64_t address;
} found;

static void look_up_ended(LLVMErrorRef error, LLVMOrcCSymbolMapPairs pairs, size_t n, void *user) {
  found *f = user;
  pthread_mutex_lock(&f->lock);
  f->error = error;
  if (error == NULL && n == 1)
    f->address = pairs[0].Sym.Address;
  f->done = true;
  pthread_cond_signal(&f->ended);
  pthread_mutex_unlock(&f->lock);
}

static LLVMErrorRef look_up(jit_orc *o, orc_place *p, const char *name, uint64_t *address) {
  found f = {.done = false};
  pthread_mutex_init(&f.lock, NULL);
  pthread_cond_init(&f.ended, NULL);
  LLVMOrcCJITDylibSearchOrderElement order = {p->dylib,
                                              LLVMOrcJITDylibLookupFlagsMatchExportedSymbolsOnly};
  LLVMOrcCLookupSetElement symbol = {LLVMOrcLLJITMangleAndIntern(o->jit, name),
                                     LLVMOrcSymbolLookupFlagsRequiredSymbol};
  LLVMOrcExecutionSessionLookup(o->session, LLVMOrcLookupKindStatic, &order, 1, &symbol, 1,
                                look_up_ended, &f);
  pthread_mutex_lock(&f.lock);
  while (!f.done)
    pthread_cond_wait(&f.ended, &f.lock);
  pthread_mutex_unlock(&f.lock);
  pthread_cond_destroy(&f.ended);
  pthread_mutex_destroy(&f.lock);
  *address = f.address;
  return f.error;
}

/* Where the system refuses to make pages executable, ORC hands on its words for EACCES or EPERM. */
static vm_jit_status link_failed(jit_orc *o, LLVMErrorRef error, char *why) {
  jit_error_take(error, why);
  pthread_mutex_lock(&o->lock);
  if (o->reported[0])
    jit_say(why, o->reported);
  o->reported[0] = 0;
  pthread_mutex_unlock(&o->lock);
  bool denied = strstr(why, "ermission denied") || strstr(why, "not permitted");
  return denied ? VM_JIT_DENIED : VM_JIT_FAILED;
}

static void count_debug(jit_orc *o, uint64_t bytes, int sign) {
  if (bytes == 0)
    return;
  pthread_mutex_lock(&o->lock);
  o->debug_objects += (uint64_t)(int64_t)sign;
  o->debug_bytes += sign > 0 ? bytes : -bytes;
  pthread_mutex_unlock(&o->lock);
}

vm_jit_status jit_orc_link(jit_orc *o, LLVMMemoryBufferRef object, const char *name,
                           jit_linked *out, char *why) {
  orc_place *p = take_place(o, why);
  if (p == NULL) {
    LLVMDisposeMemoryBuffer(object);
    return VM_JIT_FAILED;
  }
  uint64_t bytes = LLVMGetBufferSize(object);
  LLVMErrorRef error = LLVMOrcLLJITAddObjectFileWithRT(o->jit, p->tracker, object);
  if (error == NULL)
    error = look_up(o, p, name, &out->address);
  if (error) {
    vm_jit_status status = link_failed(o, error, why);
    give_place(o, p);
    return status;
  }
  out->own = p;
  out->debug_bytes = o->gdb ? bytes : 0;
  count_debug(o, out->debug_bytes, 1);
  return VM_JIT_OK;
}

void jit_orc_unlink(jit_orc *o, jit_linked *code) {
  count_debug(o, code->debug_bytes, -1);
  give_place(o, code->own);
}

void jit_orc_read(jit_orc *o, vm_jit_memory *out) {
  pthread_mutex_lock(&o->lock);
  out->debug_objects = o->debug_objects;
  out->debug_bytes = o->debug_bytes;
  pthread_mutex_unlock(&o->lock);
}
