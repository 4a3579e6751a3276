/* tests/fuzz/support/run_module.h - runs a module on two stores of different layout policies.
 *
 * What the verifier accepts is called with tight limits.  Nothing may crash; answers, faults, work
 * and the stores' contents must be the same under both policies and on a snapshot; every list must
 * hold together; a fault must leave the store as it was.  With FUZZ_SHOW in the environment the
 * module, or why it was refused, is shown.
 */
#ifndef PURE_TESTS_FUZZ_RUN_MODULE_H
#define PURE_TESTS_FUZZ_RUN_MODULE_H

#include "vm/vm.h"

/* A fuzzer's input as a sequence of choices. */
typedef struct {
  const uint8_t *at, *end;
} fuzz_input;

/* A number below n; 0 when the input is used up. */
unsigned fuzz_take(fuzz_input *in, unsigned n);
void fuzz_require(bool fine); /* aborts unless */

/* Verifies the module, runs it as the rest of the input says, and releases it and mem, which
 * must then be all free.  At most 8 functions. */
void fuzz_take_module(vm_module *m, ls_mem *mem, fuzz_input *in);

#endif
