/* ir/ir_ops.c - the tables as data. */
#include "ir/ir_int.h"

/* The columns of ir_ops.def as numbers. */
enum { ATTR__ = 0, ATTR_n = IR_HAS_IMM, ATTR_x = IR_HAS_EXIT, ATTR_l = IR_HAS_LIST };
enum {
  ATTR_nx = ATTR_n | ATTR_x,
  ATTR_lc = ATTR_l | IR_HAS_COL,
  ATTR_lcw = ATTR_lc | IR_HAS_WIDTH,
  ATTR_lnx = ATTR_l | ATTR_nx
};
enum {
  EFFECT_P = IR_PURE,
  EFFECT_H = IR_HEADER,
  EFFECT_L = IR_LOAD,
  EFFECT_F = IR_FIXED,
  EFFECT_S = IR_STORE,
  EFFECT_X = IR_EXITS,
  EFFECT_T = IR_ENDS,
  EFFECT_XT = IR_EXITS | IR_ENDS,
  EFFECT_CX = IR_CALLS | IR_EXITS
};
enum {
  TYPE_SAME = -1,
  TYPE_NONE = IR_NONE,
  TYPE_I64 = IR_I64,
  TYPE_F64 = IR_F64,
  TYPE_B1 = IR_B1,
  TYPE_PTR = IR_PTR
};

#define ROW(id, name, args, meaning, result, attributes, effects, reads, writes)                   \
  {                                                                                                \
    id, name, args, meaning, (result) < 0 ? IR_NONE : (ir_type)(result), (result) < 0, attributes, \
        effects, reads, writes                                                                     \
  }

static const ir_facts_of_op ops[IR_NOPS] = {
#define IR(id, name, args, type, attributes, reads, writes, effects, meaning)                      \
  ROW(#id, name, args, meaning, TYPE_##type, ATTR_##attributes, EFFECT_##effects, IR_MEM_##reads,  \
      IR_MEM_##writes),
#include "ir/ir_ops.def"
#undef IR
};

static const struct {
  const char *name, *meaning;
} exits[IR_NEXITS] =
    {
#define EXIT(id, name, meaning) {name, meaning},
#include "ir/ir_exits.def"
#undef EXIT
},
  refusals[IR_NREFUSALS] = {
#define REFUSAL(id, name, meaning) {name, meaning},
#include "ir/ir_refusals.def"
#undef REFUSAL
};

const ir_facts_of_op *ir_op_read(ir_op op) { return &ops[op]; }

const char *ir_type_name(ir_type type) {
  static const char *const names[] = {"none", "i64", "f64", "b1", "ptr"};
  return (unsigned)type < sizeof names / sizeof names[0] ? names[type] : "?";
}

const char *ir_exit_name(ir_reason x) { return (unsigned)x < IR_NEXITS ? exits[x].name : "?"; }
const char *ir_exit_meaning(ir_reason x) {
  return (unsigned)x < IR_NEXITS ? exits[x].meaning : "?";
}
const char *ir_refusal_name(ir_refusal x) {
  return (unsigned)x < IR_NREFUSALS ? refusals[x].name : "?";
}
const char *ir_refusal_meaning(ir_refusal x) {
  return (unsigned)x < IR_NREFUSALS ? refusals[x].meaning : "?";
}

bool ir_same(const ir_node *x, const ir_node *y) {
  if (x->op != y->op || x->type != y->type || x->list != y->list || x->col != y->col ||
      x->width != y->width || x->imm != y->imm || x->nargs != y->nargs)
    return false;
  for (unsigned i = 0; i < x->nargs; i++)
    if (x->arg[i] != y->arg[i])
      return false;
  return true;
}

uint64_t ir_hash(const ir_node *n) {
  uint64_t h = (uint64_t)n->op | (uint64_t)n->type << 8 | (uint64_t)n->list << 16 |
               (uint64_t)n->col << 24 | (uint64_t)n->width << 32;
  h = (h ^ (uint64_t)n->imm) * UINT64_C(0x9e3779b97f4a7c15);
  for (unsigned i = 0; i < n->nargs; i++)
    h = (h ^ h >> 29 ^ n->arg[i]) * UINT64_C(0x9e3779b97f4a7c15);
  return h ^ h >> 32;
}
