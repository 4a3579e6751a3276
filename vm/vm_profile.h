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
  uint8_t nshapes; /* up to VM_PROFILE_SHAPES */
  uint8_t many;    /* there were more */
  uint64_t shapes[VM_PROFILE_SHAPES];
} vm_list_profile;

/* Speed, as the best of windows of work. */
typedef struct {
  uint64_t ns, work; /* of the window that is open */
  uint64_t windows;
  double best; /* ns a unit of work */
} vm_rate;

typedef struct {
  uint64_t headers;     /* times the header ran */
  uint64_t entries;     /* times it was reached from outside (fallen into, not jumped back to) */
  uint64_t trips;       /* headers of all entries but the last one; headers / entries is the mean */
  uint64_t longest;     /* most headers of one entry */
  uint64_t heat;        /* work done in it, as polls and compiled code saw it */
  uint64_t stuck;       /* of that, in the interpreter while a loop around it had code */
  uint64_t hot_headers; /* entered at so many headers: the tiers are asked */
  vm_rate slow, fast;   /* in the interpreter; in the code there is */
  vm_list_profile *lists; /* the function's nlists entries, or NULL: never sampled */
} vm_loop_profile;

typedef struct {
  uint64_t calls;
  uint64_t heat;
  uint64_t hot_calls; /* after so many calls the tiers are asked */
  vm_rate slow, fast; /* of calls from outside */
  /* NULL until the function is first called. */
  vm_loop_profile *loops; /* nloops entries */
  ls_hint *ended;         /* nlists entries: where each local list ended last time */
} vm_fn_profile;

struct vm_profile {
  uint32_t nfns;
  vm_fn_profile *fns;
};

#endif
