/* vm/vm_verify.h - the verifier, for those who want to know where it stopped. */
#ifndef PURE_VM_VERIFY_H
#define PURE_VM_VERIFY_H

#include "vm/vm_module.h"

/* As vm_verify; also where the fault is: function and instruction, -1 where there is none. */
ls_status vm_verify_at(vm_module *m, vm_error *err, int *fn, int64_t *pc);

#endif
