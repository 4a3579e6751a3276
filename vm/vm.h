/* vm/vm.h - the door of vm/: modules, links, contexts, calls.
 *
 *   module   verified code, immutable, shared                     vm_module.h
 *   link     a module bound to one store: its literal texts have ids there
 *   context  one thread's execution: registers, local lists, work, fault, profile
 *
 * A context runs on a store (the owner: queries and events) or on a snapshot (any thread:
 * queries only).  Nothing here prints, exits, aborts or installs signal handlers.
 */
#ifndef PURE_VM_H
#define PURE_VM_H

#include "vm/lang/lang.h"
#include "vm/vm_module.h"

/* Store with the module's stored lists, literals interned.  Owner thread. */
typedef struct vm_link vm_link;
vm_link *vm_link_new(vm_module *m, ls_mem *mem, const ls_policy *policy); /* holds m */
void vm_link_delete(vm_link *k); /* contexts and snapshots first */
ls_store *vm_link_store(vm_link *k);
vm_module *vm_link_module(vm_link *k);

typedef struct {
  uint64_t work;   /* units; 0: unlimited */
  uint64_t memory; /* logical bytes: local lists, growth of stored ones, texts, inner frames; 0:
                      unlimited */
  uint32_t depth;  /* calls inside one another; 0: VM_DEFAULT_DEPTH */
} vm_limits;
#define VM_DEFAULT_DEPTH 1000

/* Where and why a call stopped. */
typedef struct {
  vm_fault_kind kind;
  char message[512]; /* the kind's, or the program's own text for RAISED, or the host's */
  int fn;            /* in the module */
  uint32_t pc;
  vm_pos pos;
} vm_fault;

typedef enum {
  VM_OK,
  VM_FAULTED,   /* vm_context_fault says how; the store is as it was */
  VM_NO_MEMORY, /* of the system, before anything ran */
  VM_MISUSE     /* no such function, an event on a snapshot, a wrong text id */
} vm_status;

/* rows: a list of the function's result columns, taken by the caller, who releases it before the
 * link; the context may go first, and the texts with it. Text ids belong to
 * vm_context_texts until the context's next call; scalars likewise. */
typedef struct {
  vm_result_kind kind;
  ls_type type;
  ls_val value;
  ls_list *rows; /* schema columns in key-first order; cols[].declared is the result's order */
} vm_result;

typedef struct vm_context vm_context;

/* Host functions: called for CALLX.  args: nparams values.  Returns NULL for success with
 * *result set, or a message (borrowed until the next call) for a host fault; VM_HOST_MEMORY where
 * memory was exhausted. */
#define VM_HOST_MEMORY ""
typedef const char *(*vm_host_call)(void *user, vm_context *cx, unsigned extern_number,
                                    const ls_val *args, ls_val *result);

vm_context *vm_context_new(vm_link *k); /* on the link's store */
/* On a snapshot of the link's store (held). */
vm_context *vm_context_on(vm_link *k, ls_snapshot *snap);
void vm_context_delete(vm_context *cx);
void vm_context_limit(vm_context *cx, const vm_limits *limits);
void vm_context_host(vm_context *cx, vm_host_call call, void *user);
/* While a host function runs: a text for its result, paid for from the call's memory (false: there
 * is not enough), and work that the call is charged besides. */
bool vm_context_make_text(vm_context *cx, const char *bytes, size_t len, ls_val *out);
void vm_context_charge(vm_context *cx, uint64_t work);
/* Called now and then while a call runs, at the latest every million units of work or so and in the
 * midst of long list operations, before the cancel flag is looked at.  work: as known there, which
 * may be less than was told before. */
typedef void (*vm_watch)(void *user, uint64_t work);
void vm_context_watch(vm_context *cx, vm_watch watch, void *user); /* NULL: nobody */
/* What compiled code calls without the way through vm_host_call: a function whose parameters are
 * int, date, real and bool, as C has them (int64_t, double, a byte), and its result likewise, but
 * no date.  Its first argument is `first`, which begins with a uint32_t that is 0; where the
 * function left another there, settle makes it 0 again, charges, and says the fault or NULL. */
typedef struct {
  void (*function)(void); /* NULL: called by vm_host_call */
  void *first;
} vm_direct;
typedef const char *(*vm_host_settle)(void *user, vm_context *cx, unsigned extern_number);
/* table: one for each extern of the module; borrowed.  user: of vm_context_host. */
void vm_context_direct(vm_context *cx, const vm_direct *table, vm_host_settle settle);
bool vm_extern_is_direct(const vm_extern *x); /* by its types */
/* Polled at loop headers, function entries and in the midst of long list operations; set from any
 * thread (atomic store of != 0). */
void vm_context_cancel_flag(vm_context *cx, const _Atomic int *flag);
/* Overlay: intern text arguments here.  Asking for it keeps its texts through the next call's
 * beginning; where they are many, begin with vm_context_reset_texts. */
ls_texts *vm_context_texts(vm_context *cx);
const ls_texts *vm_context_read_texts(const vm_context *cx); /* keeps nothing */

/* args: nparams values.  Texts of earlier calls' results die here, except those interned with
 * vm_context_texts since.  *out is set for VM_OK only. */
vm_status vm_call(vm_context *cx, unsigned fn, const ls_val *args, vm_result *out);
/* Begins a new call's texts: call before interning arguments. */
void vm_context_reset_texts(vm_context *cx);
void vm_result_release(vm_result *r);
/* Likewise of a result of that function in that context, where its next call finds the memory. */
void vm_result_recycle(vm_context *cx, unsigned fn, vm_result *r);
uint64_t vm_context_work(const vm_context *cx); /* of the last call, also when it faulted */
const vm_fault *vm_context_fault(const vm_context *cx);

/* What ran where: vm/vm_profile.h has the types. */
typedef struct vm_profile vm_profile;
const vm_profile *vm_context_profile(const vm_context *cx);

#endif
