/* tests/jit/support/planted.h - a plug-in between the core and the real one, whose compiled code
 * does what a test wants: wrong, slow, or never for long.
 */
#ifndef PURE_TESTS_JIT_PLANTED_H
#define PURE_TESTS_JIT_PLANTED_H

#include "vm/vm_tier_int.h"

/* Stands for the code of one entry of function 0, compiled several times perhaps; other entries
 * are refused. */
typedef struct {
  const vm_jit_plugin *real;
  vm_jit_plugin table;
  uint32_t (*enter)(vm_frame *f, vm_context *cx);
  const vm_jit_code *inner; /* what the real plug-in made last; NULL: nothing yet */
  uint32_t pc;              /* of the entry, once there is one */
  vm_jit_status says;       /* what compile says instead; VM_JIT_OK: nothing */
  unsigned most, compiles;  /* so many regions are compiled at most */
} planted;

/* The tier, with its plug-in loaded, calls `enter` instead of its code; see planted_now. */
void planted_set(vm_tier *t, uint32_t (*enter)(vm_frame *f, vm_context *cx));
/* The one that there is. */
planted *planted_now(void);

#endif
