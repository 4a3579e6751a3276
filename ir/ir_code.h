/* ir/ir_code.h - what ir_code.c and ir_regs.c find out about a function's bytecode. */
#ifndef PURE_IR_CODE_H
#define PURE_IR_CODE_H

#include "ir/ir_int.h"

/* Registers that an instruction reads and writes, as runs of them.  Written counts on both ways
 * out of an instruction that may jump: where it jumps, its block is gone. */
typedef struct {
  uint32_t first, n;
} ir_span;
typedef struct {
  ir_span read[3], write[3];
  unsigned nreads, nwrites;
} ir_regs;

void ir_ins_regs(const vm_module *m, const vm_fn *fn, uint32_t pc, ir_regs *out);
/* Type of a register that the instruction writes; IR_NONE: mov, that of its operand b. */
ir_type ir_ins_type(const vm_module *m, const vm_fn *fn, uint32_t pc, uint32_t reg);
ir_type ir_type_of(ls_type type);
const ls_schema *ir_schema_of(const vm_module *m, const vm_fn *fn, unsigned list);
/* Whether it may change the list, or its order or layout.  Not for calls. */
bool ir_ins_kills(const vm_module *m, const vm_fn *fn, const vm_ins *i);

typedef struct {
  uint32_t first, end; /* pcs */
  uint32_t succ[2];    /* blocks: the next one, the jump's; IR_NO_BLOCK */
  bool in;             /* belongs to the region */
} ir_code_block;

typedef struct {
  const vm_module *m;
  const vm_fn *fn;
  unsigned number;
  uint32_t entry; /* block */
  uint32_t n;
  ir_code_block *blocks;
  uint32_t *block_of; /* by pc */
  uint32_t words;     /* of a set of registers, then of lists that the region still reads */
  uint64_t *live;     /* at the start of each block */
  uint8_t *types;     /* ir_type of each register at the start of each block, where it is live */
  uint32_t *consts;   /* by register: pc + 1 of an ldi, ldb or ldk that alone has written what is
                         there at the entry, or 0 */
} ir_code;

ir_status ir_find_code(ir_region *r, const vm_module *m, unsigned fn, uint32_t pc,
                       const uint8_t *cold, ir_code *c, ir_refusal *refusal);
/* From the set after an instruction to the one before it. */
void ir_live_before(const ir_code *c, uint32_t pc, uint64_t *set);
/* The set after a block: of all it may go on to. */
void ir_live_after_block(const ir_code *c, uint32_t block, uint64_t *set);

static inline bool ir_set_has(const uint64_t *set, uint32_t n) {
  return set[n / 64] >> (n % 64) & 1;
}
static inline void ir_set_add(uint64_t *set, uint32_t n) { set[n / 64] |= UINT64_C(1) << (n % 64); }
static inline void ir_set_drop(uint64_t *set, uint32_t n) {
  set[n / 64] &= ~(UINT64_C(1) << (n % 64));
}

#endif
