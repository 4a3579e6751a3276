/* vm/vm_profile.h - what a context saw while it ran: the later tiers' and people's evidence.
 *
 * Counted by the interpreter for one context; never part of an answer.
 */
#ifndef PURE_VM_PROFILE_H
#define PURE_VM_PROFILE_H

#include "vm/vm_module.h"

#define VM_PROFILE_SHAPES 4

/* Shapes one list of a function was seen in, by a loop whose instructions name it.  Sampled: at
 * the first header run of the first 16 entries and of every 16th, and at some header run in every
 * 16384 units of work. */
typedef struct {
  uint8_t nshapes;      /* up to VM_PROFILE_SHAPES */
  uint8_t many;         /* there were more */
  uint64_t shapes[VM_PROFILE_SHAPES];
} vm_list_profile;

typedef struct {
  uint64_t headers; /* times the header ran */
  uint64_t entries; /* times it was reached from outside (fallen into, not jumped back to) */
  uint64_t trips;   /* headers of all entries but the last one; headers / entries is the mean */
  uint64_t longest; /* most headers of one entry */
  vm_list_profile *lists; /* the function's nlists entries, or NULL: never sampled */
} vm_loop_profile;

typedef struct {
  uint64_t calls;
  /* NULL until the function is first called. */
  vm_loop_profile *loops; /* nloops entries */
  ls_hint *ended;         /* nlists entries: where each local list ended last time */
} vm_fn_profile;

struct vm_profile {
  uint32_t nfns;
  vm_fn_profile *fns;
};

#endif
