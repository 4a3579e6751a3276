/* llvmjit/jit_symbols.c - all that an object may refer to: the core's helpers, and the few
 * functions of C that LLVM itself puts in. */
#include <math.h>
#include <string.h>

#include "llvmjit/jit_int.h"

#define SYMBOL(text, f)                                                                            \
  *out++ = (jit_symbol) { text, (void *)(uintptr_t)(f) }

unsigned jit_symbols(const vm_jit_core *core, jit_symbol *out) {
  jit_symbol *first = out;
#define HELPER(id, name, result, parameters, r, p, meaning) SYMBOL("pure_" #name, core->name);
#include "vm/vm_jit_helpers.def"
#undef HELPER
  SYMBOL("memcpy", memcpy);
  SYMBOL("memmove", memmove);
  SYMBOL("memset", memset);
  SYMBOL("floor", floor);
  SYMBOL("ceil", ceil);
  SYMBOL("trunc", trunc);
  SYMBOL("round", round);
  return (unsigned)(out - first);
}
