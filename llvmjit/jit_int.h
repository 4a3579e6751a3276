/* llvmjit/jit_int.h - what the files of llvmjit/ share.
 *
 *   vm_jit_request ──▶ ir_build, ir_optimise ──▶ jit_lower ──▶ jit_passes ──▶ object ──▶ code
 *
 * Who does what
 *   jit_plugin.c    the table the core sees
 *   jit_compile.c   a request through all stages
 *   jit_lower*.c    a region as an LLVM function: one function an operation of ir_ops.def
 *   jit_quick.c     values at level 1
 *   jit_scan.c      loops that only read
 *   jit_fit.c       sums written back to narrow cells
 *   jit_memo.c      the last answers of look-ups
 *   jit_direct.c    calls of host functions
 *   jit_exit.c      leaving: registers, pc and work put in order
 *   jit_alias.c     which accesses never meet, as metadata
 *   jit_debug.c     source lines
 *   jit_types.c     LLVM types and declarations
 *   jit_passes.c    the pipelines, and machine code as an object file
 *   jit_target.c    machines to compile for: one a compile at a time, kept for the next
 *   jit_symbols.c   what objects may refer to outside themselves
 *   jit_engine.c    ORC: objects into memory and out again
 *   jit_object.c    an object looked into
 *   jit_perf.c      where code lies, for perf
 *   jit_dump.c      stages as text
 *   jit_error.c     LLVM's errors
 *   jit_fatal.c     those with which LLVM would end the process
 *   jit_forever.c   LLVM's static objects, which outlive `exit`
 *   jit_memory.c    what LLVM holds
 *
 * A compile has an LLVMContext of its own, so nothing of LLVM is shared between threads but the
 * ORC session, which locks for itself.
 */
#ifndef PURE_JIT_INT_H
#define PURE_JIT_INT_H

#include <stdatomic.h>

#include <llvm-c/Core.h>
#include <llvm-c/DebugInfo.h>
#include <llvm-c/Error.h>
#include <llvm-c/TargetMachine.h>
#include <llvm/Config/llvm-config.h>

#include "ir/ir.h"
#include "vm/vm_jit.h"
#include "vm/vm_sem.h"

#define JIT_LLVM_VERSION LLVM_VERSION_STRING

/* ---- errors */

/* Takes the error (not NULL) and puts its message into why. */
void jit_error_take(LLVMErrorRef error, char *why);
/* Takes an LLVM message (may be NULL). */
void jit_message_take(char *message, char *why);
void jit_say(char *why, const char *text);

/* jit_fatal.c.  begin: once an engine. */
void jit_fatal_begin(void);
/* Does that part.  False: LLVM gave up in it, see why; all that it made and held is lost. */
bool jit_guarded(void (*part)(void *user), void *user, char *why);

/* jit_memory.c: bytes of the heap that others than mem have taken; 0: nobody knows. */
uint64_t jit_heap_of_others(ls_mem *mem);

/* ---- lowering */

typedef enum {
  JIT_HELPER_NONE = -1,
#define HELPER(id, name, result, parameters, r, p, meaning) JIT_HELPER_##id,
#include "vm/vm_jit_helpers.def"
#undef HELPER
  JIT_NHELPERS
} jit_helper;

typedef struct {
  LLVMTypeRef i1, i8, i16, i32, i64, f64, ptr, none;
} jit_types;

/* Metadata of one memory class: its scope, as a set alone, and the set of all others. */
typedef struct {
  LLVMMetadataRef scope, own, others;
} jit_scope;

#define JIT_MAX_SCOPES 96u /* more: no alias metadata for that region */

typedef struct {
  const vm_jit_core *core;
  const vm_fn *fn;     /* NULL: not known (tests) */
  const vm_module *of; /* that fn is of */
  const char *source;  /* file that the lines are of; NULL: none are wanted */
  const ir_region *r;
  bool stress, is_quick;
  bool wide, masks; /* the machine has wide vectors; and masked loads of narrow elements */
  LLVMContextRef llvm;
  LLVMModuleRef module;
  LLVMBuilderRef b;
  jit_types t;
  LLVMValueRef function, frame, cx;
  LLVMBasicBlockRef entry;
  LLVMValueRef helper[JIT_NHELPERS];
  LLVMTypeRef helper_type[JIT_NHELPERS];
  LLVMValueRef *value;            /* by node */
  struct jit_quick *quick;        /* at level 1, else NULL */
  LLVMBasicBlockRef *start, *end; /* by IR block: where it begins and where it ends */
  LLVMBasicBlockRef *latch;       /* by IR block: where several jumps back to it meet, or NULL */
  uint32_t *place;                /* by IR block: in the order of lowering */
  uint32_t *scan_of;              /* by IR block: header of the scan it is in + 1, or 0 */
  uint8_t *lanes;                 /* by header: rounds of a scan that are to be one, or 0 */
  LLVMBasicBlockRef *exit;        /* by exit; NULL: nobody leaves there yet */
  LLVMValueRef *list;             /* headers, by list */
  LLVMValueRef consts;
  unsigned nmemos;
  ir_id fit; /* the last sum made in a cell's width: its node, value, and where it is there */
  LLVMValueRef fit_value;
  uint32_t fit_block;
  ir_id *leaver;      /* by exit: the one node that leaves there; 0: none, or several */
  LLVMValueRef keys;  /* room for arguments of helpers */
  uint32_t *scope_of; /* by list: number of its first scope */
  jit_scope *scope;
  uint32_t nscopes;
  uint32_t cold_kind, scope_kind, noalias_kind, range_kind, align_kind, invariant_kind, loop_kind;
  LLVMMetadataRef likely, unlikely, always;
  LLVMDIBuilderRef debug; /* NULL: no source lines */
  LLVMMetadataRef program;
  bool failed; /* no memory */
} jit_lower;

/* The region as a function of that name in a new module of the context.  False: no memory. */
bool jit_lower_region(jit_lower *j, const char *name);

/* jit_types.c */
void jit_types_init(jit_types *t, LLVMContextRef c);
LLVMTypeRef jit_type(const jit_lower *j, ir_type type);
LLVMTypeRef jit_cell_type(const jit_lower *j, unsigned width); /* log2 of its bytes */
void jit_declare_helpers(jit_lower *j);
LLVMValueRef jit_call(jit_lower *j, jit_helper which, LLVMValueRef *args, const char *name);
/* An LLVM intrinsic; types: what it is overloaded on. */
LLVMValueRef jit_intrinsic(jit_lower *j, const char *name, LLVMTypeRef *types, unsigned ntypes,
                           LLVMValueRef *args, unsigned nargs);

/* jit_lower.c: small words for the functions of the table */
LLVMValueRef jit_value(jit_lower *j, ir_id id);
LLVMValueRef jit_arg(jit_lower *j, const ir_node *n, unsigned k);
LLVMValueRef jit_lower_node(jit_lower *j, const ir_node *n);
LLVMValueRef jit_i64(const jit_lower *j, uint64_t v);
LLVMValueRef jit_i32(const jit_lower *j, uint32_t v);
LLVMBasicBlockRef jit_block(jit_lower *j, const char *name);
LLVMBasicBlockRef jit_block_after(jit_lower *j, const char *name); /* behind the present one */
/* base + bytes */
LLVMValueRef jit_at(jit_lower *j, LLVMValueRef base, uint64_t bytes);
LLVMValueRef jit_compare(jit_lower *j, LLVMIntPredicate p, LLVMValueRef x, LLVMValueRef y);
/* Goes on where cond holds, else leaves through the exit. */
void jit_need(jit_lower *j, LLVMValueRef cond, uint32_t exit);
void jit_need_not(jit_lower *j, LLVMValueRef cond, uint32_t exit);
/* Branches; one of them is rare. */
void jit_branch_likely(jit_lower *j, LLVMValueRef cond, LLVMBasicBlockRef yes,
                       LLVMBasicBlockRef no);
LLVMValueRef jit_reg_address(jit_lower *j, uint32_t reg);
void jit_store_reg(jit_lower *j, uint32_t reg, ir_id value);

/* Where the jump of an IR block to one of its successors goes. */
LLVMBasicBlockRef jit_target(jit_lower *j, uint32_t from, unsigned succ);

/* jit_quick.c: phis are variables */
bool jit_quick_begin(jit_lower *j); /* in the entry; false: no memory */
/* Nothing is made where the node stands: it is computed at its uses. */
bool jit_quick_is_late(jit_lower *j, ir_id id);
LLVMValueRef jit_quick_value(jit_lower *j, ir_id id);
/* The successor's phis get their values for this jump: here; or in a block of its own. */
void jit_quick_write(jit_lower *j, uint32_t from, unsigned succ);
LLVMBasicBlockRef jit_quick_edge(jit_lower *j, uint32_t from, unsigned succ);

/* jit_scan.c */
/* Finds them, blocks in their order: j->scan_of, j->lanes.  False: no memory. */
bool jit_scan_find(jit_lower *j, const uint32_t *order, uint32_t count);
/* A comparison as narrow as the cell that is compared, or NULL. */
LLVMValueRef jit_scan_compare(jit_lower *j, const ir_node *n, LLVMIntPredicate p);
void jit_scan_mark(jit_lower *j, LLVMValueRef back, unsigned lanes);
/* In the latch: a phi of the bytes that are added to the header's phi on the ways back, or NULL. */
LLVMValueRef jit_scan_bytes(jit_lower *j, ir_id phi);

/* jit_fit.c */
/* Of a branch on whether a sum fits a cell: whether it does not, in the cell's width; or NULL. */
LLVMValueRef jit_fit_carry(jit_lower *j, const ir_node *branch);
/* What is stored by a cell.set behind that branch; or NULL. */
LLVMValueRef jit_fit_sum(const jit_lower *j, const ir_node *set);

/* jit_memo.c */
typedef struct {
  LLVMValueRef entries, version; /* on the stack */
  LLVMValueRef key, at;          /* what is looked for, and where it would be */
  LLVMBasicBlockRef asked;       /* that goes to `known` */
} jit_memo;
bool jit_memo_fits(const jit_lower *j, const ir_node *find);
/* Goes to `known` with the row that it returns, or on with what has to be looked up. */
LLVMValueRef jit_memo_ask(jit_lower *j, const ir_node *find, jit_memo *m, LLVMBasicBlockRef known);
void jit_memo_keep(jit_lower *j, const jit_memo *m, LLVMValueRef row);

/* jit_direct.c: a call of a host function without helpers, where its types allow it.  begin: false:
 * not possible, nothing was built; else what is built next runs where the function is not bound,
 * and end is where both ways meet. */
bool jit_direct_begin(jit_lower *j, const ir_node *n, const ir_step *s, LLVMBasicBlockRef *end);
LLVMValueRef jit_canonical(jit_lower *j, LLVMValueRef real);

/* jit_exit.c */
LLVMBasicBlockRef jit_exit_block(jit_lower *j, uint32_t exit);
bool jit_exits_begin(jit_lower *j); /* false: no memory */
void jit_exits_finish(jit_lower *j);

/* jit_debug.c.  begin: with j->function and j->fn->pos there. */
void jit_debug_begin(jit_lower *j, const char *source, const char *name);
void jit_debug_at(jit_lower *j, uint32_t pc); /* what is built next comes from there */
void jit_debug_end(jit_lower *j);
typedef struct {
  uint64_t offset; /* in the function */
  uint32_t line;
} jit_line;
/* Where lines begin in the object's function; how many. */
unsigned jit_debug_lines(LLVMMemoryBufferRef object, jit_line *out, unsigned most);

/* jit_alias.c */
bool jit_alias_init(jit_lower *j);
/* The access (load, store or call) touches only that class. */
void jit_alias_mark(jit_lower *j, LLVMValueRef access, ir_mem class, unsigned list, unsigned col);
/* The call touches neither lists nor frame nor context. */
void jit_alias_mark_foreign(jit_lower *j, LLVMValueRef call);
/* The call touches of all lists only that one, and the frame and context. */
void jit_alias_mark_list(jit_lower *j, LLVMValueRef call, unsigned list);

#define IR(id, name, args, type, attributes, reads, writes, effects, meaning)                      \
  LLVMValueRef jit_lower_##id(jit_lower *j, const ir_node *n);
#include "ir/ir_ops.def"
#undef IR

/* ---- machines and passes */

typedef struct jit_machines jit_machines;
jit_machines *jit_machines_new(ls_mem *mem, char *why);
void jit_machines_delete(jit_machines *m);
const char *jit_machines_cpu(const jit_machines *m);
const char *jit_machines_features(const jit_machines *m);
/* quick: no optimising in code generation.  NULL: see why. */
LLVMTargetMachineRef jit_machine_take(jit_machines *m, bool quick, char *why);
void jit_machine_give(jit_machines *m, bool quick, LLVMTargetMachineRef machine);

/* False: see why. */
bool jit_passes_run(LLVMModuleRef module, LLVMTargetMachineRef machine, unsigned level, char *why);
bool jit_emit(LLVMModuleRef module, LLVMTargetMachineRef machine, LLVMCodeGenFileType kind,
              LLVMMemoryBufferRef *out, char *why);

/* ---- memory of code */

typedef struct jit_orc jit_orc;
typedef struct {
  void *own;
  uint64_t address;
  uint64_t debug_bytes; /* registered for gdb */
} jit_linked;
jit_orc *jit_orc_new(const vm_jit_core *core, ls_mem *mem, char *why);
void jit_orc_delete(jit_orc *o);
/* Takes the object. VM_JIT_OK with *out. */
vm_jit_status jit_orc_link(jit_orc *o, LLVMMemoryBufferRef object, const char *name,
                           jit_linked *out, char *why);
void jit_orc_unlink(jit_orc *o, jit_linked *code);
void jit_orc_read(jit_orc *o, vm_jit_memory *out); /* the debug registration */

/* ---- symbols */

typedef struct {
  const char *name;
  void *address;
} jit_symbol;
#define JIT_MAX_SYMBOLS 24u
unsigned jit_symbols(const vm_jit_core *core, jit_symbol *out);

/* jit_object.c: of the function of that name; 0: not found. */
uint64_t jit_object_code_bytes(LLVMMemoryBufferRef object, const char *name);

/* jit_perf.c.  kinds: VM_JIT_PERF_ bits; NULL: nothing is to be told, or it cannot be. */
typedef struct jit_perf jit_perf;
jit_perf *jit_perf_new(ls_mem *mem, unsigned kinds);
void jit_perf_delete(jit_perf *p); /* NULL is fine, here and below */
/* lines: n of them, of a file. */
void jit_perf_code(jit_perf *p, const char *name, uint64_t address, uint64_t bytes,
                   const char *file, const jit_line *lines, unsigned n);

/* ---- dumps */

void jit_dump_region(const vm_jit_request *q, const char *name, ir_region *r);
void jit_dump_module(const vm_jit_request *q, const char *name, LLVMModuleRef module);
void jit_dump_asm(const vm_jit_request *q, const char *name, LLVMModuleRef module,
                  LLVMTargetMachineRef machine);

/* ---- compiling */

/* The region of a parsed or built IR as code: what compile does after ir_optimise. */
vm_jit_status jit_compile_region(vm_jit_engine *e, const vm_jit_request *q, ir_region *r,
                                 const vm_jit_code **out, char *why);

void jit_drop_code(vm_jit_engine *e, const vm_jit_code *code);
/* The plug-in's table. */
const vm_jit_plugin *pure_jit_plugin(void);

struct vm_jit_engine {
  const vm_jit_core *core;
  ls_mem *mem;
  jit_machines *machines;
  jit_orc *orc;
  jit_perf *perf;
  uint64_t heap;         /* jit_heap_of_others when it was opened */
  _Atomic bool given_up; /* LLVM broke off a compile: it is not called again */
};

#endif
