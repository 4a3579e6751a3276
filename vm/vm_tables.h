/* vm/vm_tables.h - the facts of vm_ops.def, vm_builtins.def and vm_faults.def as data.
 *
 * Read by the verifier, the assembler, the disassembler, the predecoder and whoever prints the
 * tables.  All of it is constant.
 */
#ifndef PURE_VM_TABLES_H
#define PURE_VM_TABLES_H

#include "vm/vm_module.h"

/* Operand kinds as vm_ops.def describes them; VM_OPD__ is "unused". */
typedef enum {
  VM_OPD__,
  VM_OPD_WI,
  VM_OPD_WR,
  VM_OPD_WB,
  VM_OPD_WT,
  VM_OPD_WD,
  VM_OPD_WA,
  VM_OPD_RI,
  VM_OPD_RR,
  VM_OPD_RB,
  VM_OPD_RT,
  VM_OPD_RD,
  VM_OPD_RA,
  VM_OPD_RN,
  VM_OPD_S16,
  VM_OPD_S32,
  VM_OPD_U1,
  VM_OPD_K,
  VM_OPD_FK,
  VM_OPD_OFF,
  VM_OPD_L,
  VM_OPD_LC,
  VM_OPD_SL,
  VM_OPD_FN,
  VM_OPD_XF,
  VM_OPD_BF,
  VM_OPD_LP,
  VM_OPD_AV,
  VM_OPD_PV,
  VM_OPD_RV,
  VM_OPD_KV,
  VM_OPD_WH,
  VM_OPD_RH,
  VM_OPD_XH,
  VM_OPD_BK,
  VM_OPD_CB,
  VM_NOPERANDS
} vm_operand;

enum {
  VM_EFFECT_PURE = 1,
  VM_EFFECT_FAULT = 2,
  VM_EFFECT_READ = 4,
  VM_EFFECT_WRITE = 8,
  VM_EFFECT_JUMP = 16,
  VM_EFFECT_END = 32,
  VM_EFFECT_CALL = 64
};

typedef struct {
  const char *id, *name, *effects, *meaning;
  vm_operand operand[3];
  uint8_t cost;
} vm_op_facts;

#define VM_MAX_BUILTIN_ARGS 4

typedef struct {
  const char *id, *name, *effects, *meaning;
  const char *result, *args; /* letters, as in vm_builtins.def */
  uint8_t cost;
} vm_builtin_facts;

/* The op must be < VM_NOPS, the builtin < VM_NBUILTINS, the fault < VM_NFAULTS. */
const vm_op_facts *vm_op_read(vm_op op);
const vm_builtin_facts *vm_builtin_read(vm_builtin b);
const char *vm_fault_id(vm_fault_kind kind);
/* An id of the tables in small letters, as assembly has it; at most n - 1 of them. */
void vm_id_lower(const char *id, char *out, size_t n);
unsigned vm_effects(const char *letters); /* "R F" to VM_EFFECT_ bits */
ls_type vm_type_of_letter(char letter);   /* I R B T D */

/* The numbers in the fields of an instruction. */
static inline uint16_t vm_ins_field(const vm_ins *i, unsigned n) {
  return n == 0 ? i->a : n == 1 ? i->b : i->c;
}
static inline int32_t vm_ins_s32(const vm_ins *i) {
  return (int32_t)((uint32_t)i->b | (uint32_t)i->c << 16);
}

/* Which of the three fields holds an operand of that kind, or -1. */
int vm_op_field(const vm_op_facts *f, vm_operand kind);
/* The list of the function that the instruction is about, or -1. */
int vm_ins_list(const vm_ins *i);
/* Where its jump leads from pc, or -1: it has none.  Not checked against the code's end. */
int64_t vm_ins_target(const vm_ins *i, uint32_t pc);

/* The low byte of an SL operand. */
typedef struct {
  unsigned np;
  bool lo, hi, tracked;
} vm_spec;
static inline vm_spec vm_spec_read(unsigned sl) {
  return (vm_spec){sl & 31u, (sl >> 5) & 1u, (sl >> 6) & 1u, (sl >> 7) & 1u};
}
static inline unsigned vm_spec_bounds(vm_spec s) { return s.np + s.lo + s.hi; }

/* Whether a list instruction is for keyed lists, positional lists or both. */
typedef enum { VM_ANY_LIST, VM_KEYED_LIST, VM_POSITIONAL_LIST } vm_list_rule;
vm_list_rule vm_op_list_rule(vm_op op);

#endif
