/* vm/vm_tier.h - the tiers above the interpreter, as a host sees them.
 *
 * A vm_tier compiles hot loops and functions of any number of links, on threads of its own or
 * at once in the thread that runs.  What the code does is exactly what the interpreter does; a
 * tier changes when answers come, never what they are.
 *
 * The compiler is a plug-in, libpure-llvmjit.so, loaded when the first loop turns hot.  Where it
 * is not there, or cannot work, everything runs on the interpreter and vm_tier_read says why.
 */
#ifndef PURE_VM_TIER_H
#define PURE_VM_TIER_H

#include "vm/vm.h"

#define VM_TIER_AUTO 4u /* 1 first, then 3 */

typedef enum { VM_TIER_DUMP_IR = 1, VM_TIER_DUMP_LLVM = 2, VM_TIER_DUMP_ASM = 4 } vm_tier_dump_kind;
enum { VM_TIER_PERF_MAP = 1, VM_TIER_PERF_DUMP = 2, VM_TIER_PERF_GDB = 4 };
/* kind: "ir", "llvm", "asm". */
typedef void (*vm_tier_dump)(void *user, const char *region, const char *kind, const char *text,
                             size_t len);
/* One line about a decision, without the newline. From any thread, one at a time. */
typedef void (*vm_tier_log)(void *user, const char *line);

/* Zero is the default of each. */
typedef struct {
  uint32_t level;   /* 1, 2, 3 or VM_TIER_AUTO; 0: nothing is compiled */
  bool sync;        /* compile in the thread that runs, which waits */
  uint32_t threads; /* that compile; 0: one */
  bool has_threshold;
  uint64_t threshold; /* work a loop or function does before it is compiled */
  uint64_t stress;    /* != 0: leave compiled code at random, by this seed */
  bool verify;        /* check regions after every pass */
  bool check;         /* replay what regions did on the interpreter and compare */
  uint32_t perf;      /* VM_TIER_PERF_ bits: what is written for the profiler perf */
  uint32_t distance;  /* of prefetches; 0: the default */
  bool has_cache_bytes;
  uint64_t cache_bytes; /* prefetches are for what is larger; 0: for all.  Default: by machine */
  uint64_t most_code;   /* bytes of compiled code, all together; 0: the default */
  /* Folder for compiled objects, made where it is missing: the two texts together.  NULL: none.
   * Copied. */
  const char *cache_dir, *cache_suffix;
  const char *plugin_dir; /* looked at first; NULL: none.  Copied */
  vm_tier_dump dump;      /* NULL: none.  Called on the thread that compiles */
  unsigned dump_kinds;
  const char *dump_fn; /* of that function alone; NULL: all.  Copied */
  vm_tier_log log;     /* NULL: none */
  void *user;          /* of dump and log */
} vm_tier_options;

/* What the environment says (docs/environment.md).  bad: a variable with a value that cannot be,
 * or NULL. */
void vm_tier_options_from_env(vm_tier_options *o, const char **bad);

typedef struct vm_tier vm_tier;
/* NULL: no memory. */
vm_tier *vm_tier_new(ls_mem *mem, const vm_tier_options *o);
void vm_tier_delete(vm_tier *t); /* NULL is fine; its links first */
/* Before the link's first context.  false: no memory, the link stays as it is. */
bool vm_link_use_tier(vm_link *k, vm_tier *t);

/* Whether compiled code can be had: loads the plug-in where that has not been tried. */
bool vm_tier_load(vm_tier *t);

typedef struct {
  const char *plugin; /* file loaded, or NULL */
  const char *llvm;   /* version, or NULL */
  const char *why;    /* nothing is compiled, or NULL */
  uint64_t compiled, cached, refused, dropped, waiting;
  uint64_t code_bytes;                 /* held now */
  uint64_t compile_ns;                 /* all together */
  uint64_t heap_bytes;                 /* LLVM's, about */
  uint64_t debug_objects, debug_bytes; /* registered for gdb */
  /* With `check`: runs compared, those of them that differed (bugs), and those not compared. */
  uint64_t checked, wrong, unchecked;
} vm_tier_stats;
void vm_tier_read(vm_tier *t, vm_tier_stats *out); /* texts live as long as t */

/* Of one place of a function where compiled code may be entered. */
typedef struct {
  uint32_t level; /* of the code there is; 0: none */
  bool cached;
  uint64_t compiles, deopts, runs;
  uint64_t compile_ns; /* of the last one */
  uint64_t code_bytes;
  /* Why it has no code, or not of a higher level, or whose code it is in (`level` is that code's);
   * "". */
  char why[160];
} vm_entry_stats;
/* loop: of the function; nloops: its start.  false: no tier. */
bool vm_link_read_entry(vm_link *k, unsigned fn, unsigned loop, vm_entry_stats *out);

#endif
