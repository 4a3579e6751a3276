/* vm/vm_jit.h - the only contract between the core and the plug-in that compiles regions.
 *
 *   core (vm_tier*.c)                          plug-in (llvmjit/)
 *   counts, decides, enters code        ──▶    vm_jit_plugin: open, compile, drop, close
 *   vm_jit_core: offsets and helpers    ──▶    used in the code that it makes
 *
 * The core links neither ir/ nor LLVM; the plug-in is found with dlopen and says by its one
 * symbol, pure_jit_plugin, what it has.  Both sides are built from the same tree: a plug-in with
 * another VM_JIT_ABI is not used.
 *
 * Compiled code is vm_jit_code.enter: entered with the frame on top of the context, its pc at
 * the region's, everything that the interpreter keeps in locals put in order (frame->pc,
 * cx->work).  It returns the number of an exit and has then put the same things in order: it
 * stored the live registers, frame->pc and cx->work, and the interpreter goes on *before*
 * frame->pc.  After an exit that is `raised` a call inside has faulted: frames, pc and work are
 * as after that fault, and cx->raised is its kind.
 *
 * Polling.  At a LOOP where work exceeds cx->poll_at the code calls `poll`, and leaves with reason
 * WORK where that says so.  poll_at is never above the work limit.
 *
 * Threads.  A region is compiled on any thread: vm_jit_request has copies of all that may
 * change.  compile and drop may be called from several threads at once.
 */
#ifndef PURE_VM_JIT_H
#define PURE_VM_JIT_H

#include "vm/vm.h"

#define VM_JIT_VERSION 4u

typedef struct vm_frame vm_frame;

/* What became of a step. */
typedef enum {
  VM_JIT_FELL,   /* done, on to the next instruction */
  VM_JIT_JUMPED, /* done, on to its target */
  VM_JIT_STOPPED /* a fault: an instruction has changed nothing, a call is as that fault left it */
} vm_jit_step;

/* ---- what the core gives */

enum { VM_JIT_PERF_MAP = 1, VM_JIT_PERF_DUMP = 2, VM_JIT_PERF_GDB = 4 };

typedef struct {
  uint32_t perf; /* VM_JIT_PERF_ bits: what is written for perf */
  /* Byte offsets. */
  uint32_t frame_pc, frame_lists, frame_regs;
  uint32_t lists_list; /* first list pointer, in what frame_lists points to */
  uint32_t context_work, context_work_limit, context_poll_at, context_consts, context_direct;
#define HELPER(id, name, result, parameters, r, p, meaning) result(*name) parameters;
#include "vm/vm_jit_helpers.def"
#undef HELPER
} vm_jit_core;

/* ---- requests */

/* How much is assumed of a list. */
typedef enum { VM_JIT_ANY, VM_JIT_CHECKED, VM_JIT_GUARDED } vm_jit_trust;

typedef struct {
  uint8_t trust;  /* vm_jit_trust */
  bool direct;    /* array: every value of the first key has a bucket of its own */
  uint64_t shape; /* with CHECKED, GUARDED */
  uint64_t rows;  /* about how many; 0: unknown */
} vm_jit_list;

/* Texts of a stage of compiling, for people.  kind: "ir", "llvm" or "asm". */
typedef void (*vm_jit_dump)(void *user, const char *region, const char *kind, const char *text,
                            size_t len);

typedef struct {
  const vm_module *module; /* borrowed until compile returns */
  uint32_t fn, pc;
  uint8_t level;            /* 1 .. 3 */
  bool stress;              /* leave at random */
  bool verify;              /* check the region after every pass */
  const vm_jit_list *lists; /* the function's nlists */
  const uint8_t *careful;   /* the function's nloops, 1: no checks ahead for that loop */
  uint64_t cache_bytes;     /* what fits is not prefetched */
  uint32_t distance;        /* of prefetches; 0: the default */
  vm_jit_dump dump;         /* NULL: none */
  void *dump_user;
  uint8_t dump_kinds; /* VM_JIT_DUMP_ bits */
  bool keep_object;   /* the result has it */
} vm_jit_request;

enum { VM_JIT_DUMP_IR = 1, VM_JIT_DUMP_LLVM = 2, VM_JIT_DUMP_ASM = 4 };

/* ---- results */

typedef enum {
  VM_JIT_EXIT_SHAPE,  /* a list is not in the shape that was assumed */
  VM_JIT_EXIT_FAULT,  /* the instruction faults, or cannot be told not to */
  VM_JIT_EXIT_WORK,   /* poll */
  VM_JIT_EXIT_LEAVE,  /* the code goes on outside the region */
  VM_JIT_EXIT_COLD,   /* code that was assumed never to run */
  VM_JIT_EXIT_RETURN, /* the function returns */
  VM_JIT_EXIT_BULK,   /* a check for a loop as a whole did not hold */
  VM_JIT_EXIT_RAISED  /* a call inside has faulted */
} vm_jit_exit_reason;

typedef struct {
  uint32_t pc;
  uint8_t reason; /* vm_jit_exit_reason */
  uint32_t nslots;
  const uint16_t *slots; /* registers that it stores */
} vm_jit_exit;

typedef struct vm_jit_engine vm_jit_engine; /* the plug-in's */

typedef struct vm_jit_code {
  uint32_t (*enter)(vm_frame *frame, vm_context *cx);
  const vm_jit_exit *exits;
  uint32_t nexits;
  uint64_t code_bytes;
  uint64_t build_ns, passes_ns, emit_ns, link_ns; /* what it took */
  bool cached;                                    /* the object came from the cache */
  const uint8_t *object;                          /* as a relocatable file, with keep_object */
  size_t object_bytes;
} vm_jit_code;

typedef enum {
  VM_JIT_OK,
  VM_JIT_NO_MEMORY,
  VM_JIT_REFUSED, /* this region cannot be compiled: why says so */
  VM_JIT_DENIED,  /* no executable memory here, or LLVM gave up: nothing can be compiled any more */
  VM_JIT_FAILED   /* a bug, or LLVM said no */
} vm_jit_status;

/* What the plug-in holds. */
typedef struct {
  uint64_t heap_bytes; /* LLVM's, about: what the heap grew by beside Pure; 0: not known */
  uint64_t debug_objects, debug_bytes; /* registered for gdb */
} vm_jit_memory;

#define VM_JIT_WHY 160 /* bytes for a reason, with the final 0 */

typedef struct {
  uint32_t abi;     /* VM_JIT_ABI */
  const char *llvm; /* its version */
  /* core is borrowed until close.  NULL: see why. */
  vm_jit_engine *(*open)(const vm_jit_core *core, ls_mem *mem, char *why);
  void (*close)(vm_jit_engine *e); /* every code dropped */
  vm_jit_status (*compile)(vm_jit_engine *e, const vm_jit_request *q, const vm_jit_code **out,
                           char *why);
  void (*drop)(vm_jit_engine *e, const vm_jit_code *code);
  void (*read)(vm_jit_engine *e, vm_jit_memory *out);
} vm_jit_plugin;

/* What both sides know of one another's structures, so that a plug-in that was built from another
 * state of this file is not used. */
#define VM_JIT_ABI                                                                                 \
  ((uint32_t)(VM_JIT_VERSION * 1000003u + sizeof(vm_jit_core) * 10007u +                           \
              sizeof(vm_jit_request) * 1009u + sizeof(vm_jit_code) * 101u +                        \
              sizeof(vm_jit_exit) * 11u + sizeof(vm_jit_list) + sizeof(ls_list) * 100003u))

/* The plug-in's one symbol. */
#define VM_JIT_SYMBOL "pure_jit_plugin"
typedef const vm_jit_plugin *(*vm_jit_entry)(void);

#endif
