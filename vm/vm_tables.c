/* vm/vm_tables.c - the tables as data, and small questions about them. */
#include "vm/vm_tables.h"

#include <string.h>

static const vm_op_facts op_table[VM_NOPS] = {
#define OP(id, name, a, b, c, cost, effects, meaning)                                              \
  {#id, name, #effects, meaning, {VM_OPD_##a, VM_OPD_##b, VM_OPD_##c}, cost},
#include "vm/vm_ops.def"
#undef OP
};

static const vm_builtin_facts builtin_table[VM_NBUILTINS] = {
#define BUILTIN(id, name, result, args, cost, effects, meaning)                                    \
  {#id, name, #effects, meaning, result, args, cost},
#include "vm/vm_builtins.def"
#undef BUILTIN
};

static const struct {
  const char *id, *name, *message;
} fault_table[VM_NFAULTS] = {
#define FAULT(id, name, message) {#id, name, message},
#include "vm/vm_faults.def"
#undef FAULT
};

const vm_op_facts *vm_op_read(vm_op op) { return &op_table[op]; }
const vm_builtin_facts *vm_builtin_read(vm_builtin b) { return &builtin_table[b]; }
const char *vm_fault_id(vm_fault_kind kind) { return fault_table[kind].id; }

const char *vm_op_name(vm_op op) { return (unsigned)op < VM_NOPS ? op_table[op].name : "?"; }
unsigned vm_op_cost(vm_op op) { return (unsigned)op < VM_NOPS ? op_table[op].cost : 0; }

const char *vm_fault_name(vm_fault_kind kind) {
  return (unsigned)kind < VM_NFAULTS ? fault_table[kind].name : "?";
}

const char *vm_fault_message(vm_fault_kind kind) {
  return (unsigned)kind < VM_NFAULTS ? fault_table[kind].message : "?";
}

const char *vm_type_name(ls_type type) {
  static const char *const names[LS_NTYPES] = {"int", "real", "bool", "text", "date"};
  return (unsigned)type < LS_NTYPES ? names[type] : "?";
}

void vm_id_lower(const char *id, char *out, size_t n) {
  size_t k = 0;
  for (; id[k] && k + 1 < n; k++)
    out[k] = id[k] >= 'A' && id[k] <= 'Z' ? (char)(id[k] + 'a' - 'A') : id[k];
  out[k] = 0;
}

unsigned vm_effects(const char *letters) {
  static const char all[] = "PFRWJEC"; /* in the order of the VM_EFFECT_ bits */
  unsigned bits = 0;
  for (; *letters; letters++) {
    const char *at = strchr(all, *letters);
    if (at)
      bits |= 1u << (at - all);
  }
  return bits;
}

ls_type vm_type_of_letter(char letter) {
  switch (letter) {
  case 'R':
    return LS_REAL;
  case 'B':
    return LS_BOOL;
  case 'T':
    return LS_TEXT;
  case 'D':
    return LS_DATE;
  default:
    return LS_INT;
  }
}

int vm_op_field(const vm_op_facts *f, vm_operand kind) {
  for (int n = 0; n < 3; n++)
    if (f->operand[n] == kind)
      return n;
  return -1;
}

int vm_ins_list(const vm_ins *i) {
  const vm_op_facts *f = vm_op_read((vm_op)i->op);
  for (unsigned n = 0; n < 3; n++) {
    uint16_t v = vm_ins_field(i, n);
    if (f->operand[n] == VM_OPD_L)
      return v;
    if (f->operand[n] == VM_OPD_LC || f->operand[n] == VM_OPD_SL)
      return v >> 8;
  }
  return -1;
}

int64_t vm_ins_target(const vm_ins *i, uint32_t pc) {
  int n = vm_op_field(vm_op_read((vm_op)i->op), VM_OPD_OFF);
  if (n < 0)
    return -1;
  int64_t target = (int64_t)pc + 1 + (int16_t)vm_ins_field(i, (unsigned)n);
  return target < 0 ? INT64_MAX : target; /* out of range either way */
}

vm_list_rule vm_op_list_rule(vm_op op) {
  switch (op) {
  case VM_OP_FIND:
  case VM_OP_FINDJ:
  case VM_OP_REFIND:
  case VM_OP_HAS:
  case VM_OP_PUT:
  case VM_OP_ENSURE:
  case VM_OP_ERASE:
  case VM_OP_SCOUNT:
    return VM_KEYED_LIST;
  case VM_OP_SORT:
  case VM_OP_ROW:
    return VM_POSITIONAL_LIST;
  default:
    return VM_ANY_LIST;
  }
}
