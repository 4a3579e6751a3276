/* vm/vm_int.h - what the files that execute bytecode share.  Not for other folders.
 *
 * Who does what
 *   vm_sem.h     meaning of scalar instructions and builtins
 *   vm_text.h    numbers, dates and UTF-8 as bytes
 *   vm_code.c    verified bytecode -> predecoded instructions, fused (vm_fuse.c), metered
 *   vm_interp.c  direct-threaded execution of predecoded instructions
 *   vm_step.c    one bytecode instruction at a time, without any of that
 *   vm_listops.c list instructions out of line: both of the above call them
 *   vm_textops.c text builtins and comparisons on text ids, likewise
 *   vm_frame.c   register stack, frames, local lists
 *   vm_call.c    a call from outside, from checks of its arguments to its result or fault
 *   vm_link.c vm_context.c vm_profile.c
 *
 * State of an execution between instructions: the frames (each with pc, registers, lists) and
 * `work`.  Nothing else, so that a tier can begin and end anywhere.
 */
#ifndef PURE_VM_INT_H
#define PURE_VM_INT_H

#include "vm/vm.h"
#include "vm/vm_profile.h"
#include "vm/vm_sem.h"

/* Predecoded code */

/* One slot for each bytecode instruction, at the same index.  A fused instruction reads the
 * operands of its later parts from their own slots, which stay valid: anyone may jump there. */
typedef struct {
  union {
    const void *go; /* handler */
    uintptr_t op;   /* VM_X_ number (builds without computed goto) */
  };
  uint16_t a, b;
  union {
    struct {
      uint16_t c, d;
    };
    int32_t w;
  };
} vm_xins;
_Static_assert(sizeof(vm_xins) == 16, "four to a cache line");

#define VM_NO_LOOP UINT16_MAX
typedef struct {
  uint32_t pc;     /* of the LOOP */
  uint32_t end;    /* behind the last jump to it */
  uint32_t nlists; /* lists that instructions from pc to end name */
  const uint8_t *lists;
  uint16_t parent; /* the innermost loop around it, or VM_NO_LOOP */
} vm_code_loop;

/* A function made ready to run. */
typedef struct {
  const vm_fn *fn;
  vm_xins *ins;
  /* before[pc]: fixed costs of all instructions in front of pc, in the order of the code.  Along
   * a straight run the work done is a difference of two of these, so running charges nothing
   * until a jump is taken. */
  uint32_t *before;
  vm_code_loop *loops;
  uint8_t *locals; /* the function's local lists */
  uint32_t nlocals;
  uint32_t charge; /* logical bytes of a frame: what a call inside another takes from the budget */
} vm_code;

/* Called by the verifier for a module found good; m->code is its result. */
ls_status vm_code_build(vm_module *m);
void vm_code_drop(vm_module *m); /* nothing built: fine */
/* Handler of each VM_X_ number; NULL for builds that dispatch by number. */
const void *const *vm_interp_handlers(void);

typedef enum {
#define XOP(id) VM_X_##id,
#include "vm/vm_xops.def"
#undef XOP
  VM_NXOPS
} vm_xop;
/* xop: the handler chosen for each instruction by itself.  out: a fused one where it begins a
 * pattern, else the same. */
void vm_fuse(const vm_code *code, const uint16_t *xop, uint16_t *out);

/* Cost of an instruction where it does not depend on data. */
unsigned vm_ins_cost(const vm_ins *i);

static inline const vm_code *vm_code_of(const vm_module *m, unsigned fn) {
  return (const vm_code *)m->code + fn;
}

/* Frames */

/* The lists of one activation; those of the store are the same in each.  Pooled by function. */
typedef struct vm_lists {
  struct vm_lists *next;
  ls_list *list[]; /* a local one may be NULL in the pool, never in a frame */
} vm_lists;

typedef struct vm_frame {
  struct vm_frame *up; /* the caller's, NULL for the outermost */
  const vm_code *code;
  vm_lists *lists;
  vm_fn_profile *profile;
  uint32_t pc; /* next instruction; of a caller: its CALL */
  uint32_t fn : 31;
  uint32_t back : 1; /* `step` jumped back to pc: no new entry of the loop for the profile */
  ls_val regs[];
} vm_frame;

typedef struct vm_chunk {
  struct vm_chunk *prev, *next;
  size_t bytes, used; /* after this header */
} vm_chunk;

struct vm_link {
  vm_module *module;
  ls_mem *mem;
  ls_policy policy;
  ls_store *store;
  const ls_schema **schemas;
  ls_val *consts;             /* the module's constants; texts as the store's ids */
  struct vm_entries *entries; /* NULL: interpreter only */
};

struct vm_context {
  vm_link *link;
  ls_mem *mem;
  const ls_val *consts;
  ls_texts *texts; /* overlay */
  ls_snapshot *snap;
  ls_budget budget;
  uint64_t work;       /* exact between instructions of `step`, and when the interpreter stops */
  uint64_t work_limit; /* UINT64_MAX: none */
  uint64_t extra;      /* charged by size by the operation just called */
  uint64_t poll_at;    /* the interpreter looks at limits when work is past it */
  const _Atomic int *cancel; /* never NULL */
  vm_watch watch;            /* or NULL */
  void *watch_user;
  vm_frame *top;
  vm_chunk *chunk;         /* the one that top is in */
  uint32_t nchunks, nsets; /* chunks there are; sets of lists in the pools */
  uint32_t depth, depth_limit;
  int64_t memory_limit;                /* INT64_MAX: none */
  vm_lists **pools;                    /* by function */
  int (*execute)(struct vm_context *); /* vm_interp; tests also run by vm_step_run */
  vm_host_call host;
  void *host_user;
  const vm_direct *direct; /* by extern, or NULL */
  vm_host_settle settle;
  /* Tiers (vm_tier_int.h); entries NULL: there are none. */
  struct vm_entries *entries;
  struct vm_context *next;       /* of the link's contexts */
  vm_frame *base;                /* execute returns when this frame is on top; NULL: when none is */
  int raised;                    /* kind of the fault after VM_STOPPED */
  uint32_t native;               /* activations of compiled code */
  uint32_t eager;                /* polls to be made at once, to find the way into new code */
  uint64_t poll_work;            /* between polls of the interpreter */
  uint64_t heat_from;            /* work up to here has been counted as heat */
  uint64_t news;                 /* of entries, that were taken */
  uint64_t stress;               /* state of the generator */
  const struct vm_region *in;    /* the compiled code that runs, innermost */
  uint64_t clock_ns, clock_work; /* when the interpreter was last seen at work; ns 0: not since */
  uint64_t call_ns;              /* when the call began */
  bool went_native;              /* the call ran compiled code */
  _Atomic uint64_t seen;         /* epoch when last at rest */
  bool running;
  bool texts_kept; /* texts were interned for the next call */
  ls_val value;    /* result of the call */
  ls_list *rows;
  char *scratch; /* text under construction */
  size_t scratch_bytes;
  vm_fault fault;
  vm_profile profile;
  _Atomic int never;
};

/* Pushes a frame with the arguments in its first registers.  VM_FINE, or a fault: depth, memory. */
int vm_frame_enter(vm_context *cx, unsigned fn, const ls_val *args);
void vm_frame_leave(vm_context *cx); /* pops it; its local lists end */
/* No frame is left: frees what frames used; of that, what is more than a usual call needs. */
void vm_frames_free(vm_context *cx);
void vm_frames_trim(vm_context *cx);
/* Local lists kept for the next call go, where they hold more than that together. */
void vm_frames_shrink(vm_context *cx, uint64_t kept);
/* A call has failed: what it used is given back, but for a modest part. */
void vm_context_trim(vm_context *cx);

/* Execution: VM_FINE when the outermost frame has returned, else the fault's kind, with the
 * frame that faulted on top, its pc at the instruction, and work exact. */
int vm_interp(vm_context *cx);
int vm_step_run(vm_context *cx);
/* One instruction of the top frame.  VM_FINE: go on (or finished, when no frame is left). */
int vm_step(vm_context *cx);

/* Test made after the costs up to and including a LOOP or CALL are in `work`. */
static inline int vm_check_limits(const vm_context *cx, uint64_t work) {
  if (__builtin_expect(work > cx->work_limit, 0))
    return VM_FAULT_WORK;
  if (__builtin_expect(cx->watch != NULL, 0))
    cx->watch(cx->watch_user, work);
  if (__builtin_expect(__atomic_load_n((const int *)cx->cancel, __ATOMIC_RELAXED) != 0, 0))
    return VM_FAULT_CANCELLED;
  return VM_FINE;
}

/* Tiers, where cx->entries is there.  Everything is in the frame and the context:
 * frame->pc at the LOOP (or 0), cx->work before it. */

#define VM_MOST_EXTRA (UINT64_C(1) << 40) /* an instruction charges by size; sums stay in range */
#define VM_RESUME (-3)  /* compiled code has run: go on where the top frame's pc says */
#define VM_STOPPED (-4) /* a fault, cx->raised, with everything in order */
#define VM_EAGER_POLLS 64u
#define VM_POLL_WORK 16384u /* between polls of the interpreter */
/* VM_FINE: nothing has run, go on; else one of the two. */
int vm_tier_at_loop(vm_context *cx, unsigned loop);
int vm_tier_at_start(vm_context *cx);
/* A context is made, is deleted; a call from outside begins, ends. */
void vm_entries_enter(vm_context *cx);
void vm_entries_leave(vm_context *cx);
void vm_tier_begin(vm_context *cx);
void vm_tier_end(vm_context *cx, unsigned fn);
void vm_entries_delete(struct vm_entries *e); /* of a link without contexts */
/* For compiled code: helper `poll`. */
int vm_tier_poll(vm_context *cx, uint64_t work);

/* List instructions: VM_FINE, VM_JUMP (findj, next, firstj, lastj) or a fault kind */

#define VM_JUMP (-2)
/* In the version of a block: refind looked the row up, so a cursor beside it is older. */
#define VM_REFOUND (UINT64_C(1) << 63)
#define VM_SPEC_NP(spec) ((spec)&31u)
#define VM_SPEC_LO 32u
#define VM_SPEC_HI 64u
#define VM_SPEC_TRACKED 128u

int vm_fault_of(ls_status s);
int vm_do_new(vm_frame *f, unsigned list);
int vm_do_sort(vm_context *cx, ls_list *l, int64_t keys);
int vm_do_row(const ls_list *l, int64_t number, ls_val *handle);
int vm_do_get(const ls_list *l, ls_row h, unsigned col, ls_val *out);
int vm_do_set(vm_context *cx, ls_list *l, ls_val *handle, unsigned col, ls_val v);
int vm_do_find(vm_context *cx, ls_list *l, ls_val *block);
int vm_do_refind(vm_context *cx, ls_list *l, ls_val *block);
int vm_do_add(vm_context *cx, ls_list *l, const ls_val *row);
int vm_do_put(vm_context *cx, ls_list *l, const ls_val *row);
int vm_do_ensure(vm_context *cx, ls_list *l, ls_val *block, const ls_val *rest);
int vm_do_erase(vm_context *cx, ls_list *l, const ls_val *key);
int vm_do_clear(ls_list *l);
int vm_do_seek(vm_context *cx, ls_list *l, ls_val *block, unsigned spec);
int vm_do_next(vm_context *cx, ls_list *l, ls_val *block, unsigned spec);
int vm_do_scount(vm_context *cx, ls_list *l, const ls_val *bounds, unsigned spec, ls_val *out);
int vm_do_edge(vm_context *cx, ls_list *l, ls_val *block, unsigned spec, bool last);
/* Takes the rows of the top frame's list as the call's result. */
int vm_do_retl(vm_context *cx, unsigned list);

/* Texts and calls; work by size goes to cx->extra */

bool vm_text_same(const vm_context *cx, ls_val x, ls_val y);
int vm_text_order(vm_context *cx, ls_val x, ls_val y); /* <0, 0, >0 */
int vm_do_builtin(vm_context *cx, vm_builtin f, const ls_val *args, ls_val *out);
int vm_do_fail(vm_context *cx, ls_val text);
/* args: also where the result goes.  What the host charges goes to cx->extra. */
int vm_do_callx(vm_context *cx, unsigned number, ls_val *args);
/* After a direct call that left something to be settled. */
int vm_do_settle(vm_context *cx, unsigned number);

/* Writes cx->fault.message: what the instruction of the top frame had before it when it faulted. */
void vm_fault_describe(vm_context *cx, vm_fault_kind kind);

/* Profile */

ls_status vm_profile_init(vm_context *cx);
void vm_profile_free(vm_context *cx);
vm_fn_profile *vm_profile_fn(vm_context *cx, unsigned fn); /* NULL: no memory */
/* A LOOP was reached from outside. */
void vm_profile_enter(const vm_context *cx, const vm_frame *f, unsigned loop);
/* Notes the shapes of the loop's lists. */
void vm_profile_sample(const vm_context *cx, const vm_frame *f, unsigned loop);

#endif
