/* vm/vm_module.h - a compiled program: lists, constants, functions, code.
 *
 * Made by vm/lang (source text), vm_asm (assembly text) or vm_load (bytes), checked by
 * vm_verify, then immutable and shared by any number of threads.  All that it points to lives in
 * its own arena and dies with it.
 */
#ifndef PURE_VM_MODULE_H
#define PURE_VM_MODULE_H

#include "lists/lists.h"

typedef enum {
#define OP(id, name, a, b, c, cost, effects, meaning) VM_OP_##id,
#include "vm/vm_ops.def"
#undef OP
  VM_NOPS
} vm_op;

typedef enum {
#define BUILTIN(id, name, result, args, cost, effects, meaning) VM_BIF_##id,
#include "vm/vm_builtins.def"
#undef BUILTIN
  VM_NBUILTINS
} vm_builtin;

typedef enum {
#define FAULT(id, name, message) VM_FAULT_##id,
#include "vm/vm_faults.def"
#undef FAULT
  VM_NFAULTS
} vm_fault_kind;

#define VM_COST_VERSION 1
#define VM_MAX_REGS 4096  /* a function */
#define VM_MAX_CODE 32000 /* instructions a function: every jump fits in 16 bits */
#define VM_MAX_PARAMS 64
#define VM_MAX_LISTS 255 /* a function; a module has up to 65535 */
#define VM_MAX_FNS 65535
#define VM_MAX_NAME 255 /* bytes; names are [A-Za-z_][A-Za-z0-9_]* */

typedef struct {
  uint16_t op, a, b, c;
} vm_ins;

typedef struct {
  uint32_t line; /* from 1; 0: unknown */
  uint32_t column;
} vm_pos;

typedef struct {
  const char *name;
  ls_type type;
} vm_param;

typedef struct {
  ls_type type;
  ls_val value;     /* not text */
  const char *text; /* text: bytes, not 0-terminated */
  uint32_t text_len;
} vm_const;

/* stored: in the store, under its name.  Else local to the function that lists it. */
typedef struct {
  bool stored;
  ls_schema schema; /* key columns first; cols[].declared says the order people see */
} vm_listdef;

typedef enum { VM_FN, VM_QUERY, VM_EVENT } vm_fn_kind;
typedef enum { VM_RESULT_NONE, VM_RESULT_SCALAR, VM_RESULT_ROWS } vm_result_kind;

typedef struct {
  const char *name;
  vm_fn_kind kind;
  uint16_t nparams; /* registers 0 .. nparams-1 hold the arguments at entry */
  const vm_param *params;
  vm_result_kind result;
  ls_type result_type; /* VM_RESULT_SCALAR */
  uint16_t nresult;    /* VM_RESULT_ROWS: columns, in declared order */
  const vm_param *result_cols;
  uint16_t nregs;
  uint16_t nlists;
  const uint16_t *lists; /* module list numbers: what operands L, LC, SL count */
  uint16_t nloops;
  uint32_t ncode;
  const vm_ins *code;
  const vm_pos *pos; /* ncode entries, or NULL */
} vm_fn;

/* A host function. */
typedef struct {
  const char *name;
  bool pure;
  uint16_t nparams;
  const vm_param *params;
  vm_result_kind result; /* NONE or SCALAR */
  ls_type result_type;
} vm_extern;

typedef struct vm_module {
  ls_mem *mem;
  const char *source_name; /* for messages; never NULL */
  uint32_t nconsts;
  const vm_const *consts;
  uint32_t nlists;
  const vm_listdef *lists; /* stored ones first */
  uint32_t nstored;
  uint32_t nexterns;
  const vm_extern *externs;
  uint32_t nfns;
  const vm_fn *fns;
  bool verified;
  const uint64_t *writes; /* vm_verify's: vm_fn_writes reads it */
  void *code;             /* vm_interp's own: predecoded functions */
  void *arena;            /* vm_module.c's own */
  long refs;              /* atomic; vm_module_hold, vm_module_release */
} vm_module;

/* Where a text is bad: source, assembly, module bytes.  message is 0-terminated. */
typedef struct {
  uint32_t line, column; /* from 1; 0: unknown (module bytes: line 0, column = byte offset) */
  char message[512];
} vm_error;

vm_module *vm_module_new(ls_mem *mem, const char *source_name); /* NULL: no memory */
/* From the module's arena, zeroed, 16-byte aligned; NULL: no memory. */
void *vm_module_alloc(vm_module *m, size_t bytes);
char *vm_module_text(vm_module *m, const char *bytes, size_t len); /* copy + final 0 */
vm_module *vm_module_hold(vm_module *m);
void vm_module_release(vm_module *m); /* NULL is fine */
/* Function by name (queries and events; fn too when any_kind). -1: none. */
int vm_module_find(const vm_module *m, const char *name, bool any_kind);

/* Checks everything the interpreter relies on, builds the predecoded code, sets `verified`. */
ls_status vm_verify(vm_module *m, vm_error *err); /* LS_OK, LS_NOMEM, LS_UNSUITABLE: see err */

/* Of a verified module: whether calling the function may change that stored list, itself or
 * through what it calls. */
bool vm_fn_writes(const vm_module *m, unsigned fn, unsigned stored_list);

/* Bytes <-> module.  vm_load verifies too.  vm_save: *out from ls_mem_alloc(mem), *cap its size
 * for ls_mem_free, *len the bytes used. */
ls_status vm_load(ls_mem *mem, const char *name, const uint8_t *bytes, size_t len, vm_module **out,
                  vm_error *err);
ls_status vm_save(const vm_module *m, ls_mem *mem, uint8_t **out, size_t *len, size_t *cap);

/* Assembly text <-> module; docs/bytecode.md has the form.  vm_disasm's text assembles to the
 * same bytes.  write: gets pieces of the text; returns false to stop. */
ls_status vm_asm(ls_mem *mem, const char *name, const char *text, size_t len, vm_module **out,
                 vm_error *err);
typedef bool (*vm_write)(void *user, const char *bytes, size_t len);
bool vm_disasm(const vm_module *m, int only_fn, vm_write write, void *user); /* -1: all */

/* Facts of the tables. */
const char *vm_op_name(vm_op op);
unsigned vm_op_cost(vm_op op);
const char *vm_fault_name(vm_fault_kind kind);
const char *vm_fault_message(vm_fault_kind kind);
const char *vm_type_name(ls_type type);

#endif
