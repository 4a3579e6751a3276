/* ir/ir_int.h - what the files of ir/ share.  Not for other folders.
 *
 * Who does what
 *   ir_region.c     memory, nodes, blocks, exits: making, inserting, removing
 *   ir_rewrite.c    replacing values by others everywhere
 *   ir_copy.c       copies of all blocks
 *   ir_ops.c        the tables as data
 *   ir_text_print.c ir_text_parse.c   the text form
 *   ir_verify.c     invariants
 *   ir_regs.c       registers that a bytecode instruction reads and writes
 *   ir_code.c       the bytecode's blocks, what is live where, types of registers, the region
 *   ir_build*.c     bytecode to SSA; ir_var.c: variables to values on the way
 *   ir_cfg.c        order, dominators, loops            ir_use.c    who uses what
 *   ir_alias.c      may two nodes meet in memory        ir_range.c  bounds of ints
 *   ir_fold.c ir_gvn.c ir_mem.c ir_guard.c ir_loop.c ir_bulk.c ir_strip.c ir_fuse.c
 *   ir_dce.c ir_prefetch.c ir_exit.c   rewrites, each one ir_opt_ function
 *   ir_pipeline.c   the passes in order
 *
 * Memory.  Everything of a region, what passes note for themselves included, comes from its
 * arena.  When memory runs out, r->failed is set and makers return number 0, which is always
 * there to be written to: code goes on harmlessly and the caller of the pass looks at r->failed.
 * ir_alloc alone returns NULL.
 */
#ifndef PURE_IR_INT_H
#define PURE_IR_INT_H

#include "ir/ir.h"
#include "vm/vm_tables.h"

/* ---- regions --------------------------------------------------------------------- */

ir_region *ir_region_new(ls_mem *mem); /* with block 0; NULL: no memory */
/* Zeroed; NULL: no memory, r->failed is set. */
void *ir_alloc(ir_region *r, size_t count, size_t size);
const char *ir_copy_name(ir_region *r, const char *name, size_t len);

static inline const ir_facts_of_op *ir_facts_of(const ir_node *n) {
  return ir_op_read((ir_op)n->op);
}
static inline bool ir_has_effect(const ir_node *n, unsigned effects) {
  return (ir_facts_of(n)->effects & effects) != 0;
}

/* A node that is in no block yet.  type: for operations of type SAME, else IR_NONE. */
ir_id ir_node_new(ir_region *r, ir_op op, ir_type type, unsigned nargs, const ir_id *args);
ir_id ir_node_copy(ir_region *r, ir_id id); /* of everything but the place */
void ir_node_append(ir_region *r, uint32_t block, ir_id id);
void ir_node_prepend(ir_region *r, uint32_t block, ir_id id); /* first of all: phis */
void ir_node_put_before(ir_region *r, ir_id place, ir_id id);
void ir_node_put_after(ir_region *r, ir_id place, ir_id id);
void ir_node_take(ir_region *r, ir_id id);   /* out of its block, to be put elsewhere */
void ir_node_remove(ir_region *r, ir_id id); /* for good */

/* The node of a constant; one a value. */
ir_id ir_int(ir_region *r, int64_t value);
ir_id ir_real(ir_region *r, uint64_t bits);
ir_id ir_bool(ir_region *r, bool value);
static inline bool ir_is_const(const ir_node *n) {
  return n->op == IR_OP_INT || n->op == IR_OP_REAL || n->op == IR_OP_BOOL;
}
static inline bool ir_is_int(const ir_region *r, ir_id id, int64_t value) {
  const ir_node *n = ir_at(r, id);
  return n->op == IR_OP_INT && n->imm == value;
}

uint32_t ir_block_new(ir_region *r);
void ir_block_add_pred(ir_region *r, uint32_t block, uint32_t pred);
/* Edge from -> to goes; phis lose the argument. */
void ir_block_drop_pred(ir_region *r, uint32_t block, uint32_t pred);
static inline unsigned ir_block_nsucc(const ir_region *r, const ir_block *b) {
  ir_op op = b->last ? (ir_op)ir_at(r, b->last)->op : IR_OP_LEAVE;
  return op == IR_OP_JUMP ? 1 : op == IR_OP_BRANCH ? 2 : 0;
}
void ir_end_jump(ir_region *r, uint32_t block, uint32_t to); /* adds the edge */
void ir_end_branch(ir_region *r, uint32_t block, ir_id cond, uint32_t yes, uint32_t no);
void ir_end_leave(ir_region *r, uint32_t block, uint32_t exit);
/* Takes the terminator out, with its edges. */
void ir_block_open(ir_region *r, uint32_t block);
/* What comes after a node becomes a block of its own, which is returned; the first is open. */
uint32_t ir_block_split(ir_region *r, ir_id after);
/* Empties and removes blocks that cannot be reached. */
void ir_blocks_sweep(ir_region *r);

/* Copies every block but block 0, with exits of their own; first: the only one that block 0 leads
 * to.  Returns its copy, which has block 0 as a predecessor where first has it; the caller makes
 * the edge. 0: no memory. */
uint32_t ir_copy_blocks(ir_region *r, uint32_t first);

uint32_t ir_exit_new(ir_region *r);
uint32_t ir_step_new(ir_region *r);

/* ---- replacing values ------------------------------------------------------------- */

typedef struct {
  ir_region *r;
  ir_id *to;
  uint32_t n;
} ir_rewrite;
bool ir_rewrite_begin(ir_rewrite *w, ir_region *r); /* false: no memory */
void ir_rewrite_set(ir_rewrite *w, ir_id from, ir_id to);
ir_id ir_rewrite_find(ir_rewrite *w, ir_id id);
void ir_rewrite_args(ir_rewrite *w, ir_node *n);
/* Rewrites every use, in exits too. */
void ir_rewrite_end(ir_rewrite *w);

/* ---- rewrites: one a file; r->failed when memory ran out ------------------------------ */

#define PASS(name, levels, meaning) void ir_opt_##name(ir_region *r);
#include "ir/ir_passes.def"
#undef PASS

/* ---- the table's columns as small questions ---------------------------------------- */

/* Whether the same arguments and attributes give the same value (memory aside). */
bool ir_same(const ir_node *x, const ir_node *y);
uint64_t ir_hash(const ir_node *n);

#endif
