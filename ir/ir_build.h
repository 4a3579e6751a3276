/* ir/ir_build.h - what the files that turn bytecode into a region share.
 *
 * Variables.  While the region is built, values are looked up by variable and block (ir_var.c):
 * the function's registers, the work, and the header fields of each list.  A header field is
 * loaded where it was last killed (the entry, a step) and lives in a variable from there on, so
 * that inside a loop bases and counts are plain values, and only a slow path loads them again.
 *
 * Work.  At the start of a block, and after a metered step, the fixed costs of what follows are
 * added at once; `owed` says how much of that has not been done yet, and exits subtract it.
 *
 * Fast and slow.  An instruction on a list has a fast form where the list's shape is assumed.
 * Each condition of it (ir_fast_need) leads to one slow block when it fails, where the
 * instruction is run as a step; both then meet.  Registers are written last, so that every exit
 * of an instruction has the registers before it.
 */
#ifndef PURE_IR_BUILD_H
#define PURE_IR_BUILD_H

#include "ir/ir_code.h"

/* ---- variables */

typedef enum {
  IR_F_SHAPE,
  IR_F_COUNT,
  IR_F_ROOM,
  IR_F_VERSION,
  IR_F_WRITABLE,
  IR_F_DIRECT,
  IR_F_BASE,
  IR_F_CAP,
  IR_F_PRESENT,
  IR_F_DIR,
  IR_F_ORIGIN,
  IR_F_BUCKETS,
  IR_F_COL,               /* + column */
  IR_F_OFFSET = 12 + 256, /* + column */
  IR_NFIELDS = 12 + 512
} ir_field;

typedef struct {
  uint64_t key; /* block << 32 | variable, + 1; 0: free */
  ir_id value;
  uint32_t kills; /* of a header field: holds while the list has been killed so often in the block;
                     of ir_var_kill: how often it was */
} ir_def;

typedef struct {
  ir_id phi;
  uint32_t block, var;
} ir_open_phi;

typedef struct {
  ir_region *r;
  uint32_t nregs;
  ir_def *defs;
  uint32_t ndefs, defs_cap;
  ir_open_phi *open; /* phis of unsealed blocks, without arguments yet */
  uint32_t nopen, open_cap;
  uint8_t *unsealed; /* by block, while nblocks <= unsealed_cap */
  uint32_t unsealed_cap;
  ir_id anchor;    /* in block 0: registers are loaded behind it */
  ir_id *at_entry; /* by register: what it was loaded as, or the constant it is; or 0 */
  /* Type of a register or of the work where a block of the bytecode begins, or block 0. */
  ir_type (*type_at)(void *user, uint32_t block, uint32_t var);
  void *user;
} ir_vars;

static inline uint32_t ir_var_work(const ir_vars *v) { return v->nregs; }
static inline uint32_t ir_var_field(const ir_vars *v, unsigned list, unsigned field) {
  return v->nregs + 1 + 256 + list * IR_NFIELDS + field;
}
/* Not a value: the node behind which the list's fields are loaded anew. */
static inline uint32_t ir_var_kill(const ir_vars *v, unsigned list) { return v->nregs + 1 + list; }
void ir_var_write(ir_vars *v, uint32_t block, uint32_t var, ir_id value);
ir_id ir_var_read(ir_vars *v, uint32_t block, uint32_t var);
/* All that was known of the list's header is forgotten; it is loaded again after `place`. */
void ir_var_kill_list(ir_vars *v, uint32_t block, unsigned list, ir_id place);
/* What is still to be loaded is loaded after `place`. */
void ir_var_load_after(ir_vars *v, uint32_t block, unsigned list, ir_id place);
void ir_var_unseal(ir_vars *v, uint32_t block); /* it will get more predecessors */
void ir_var_seal_all(ir_vars *v);               /* they have come */

/* ---- the builder */

typedef struct {
  ir_region *r;
  ir_code code;
  const ir_facts *facts;
  ir_vars vars;
  uint32_t *start, *before; /* IR block of each bytecode block, and its pre-header */
  uint32_t *begin_of;       /* bytecode block of each IR block in `start`, by IR block */
  uint32_t begin_cap;
  uint32_t cur; /* IR block being filled; IR_NO_BLOCK: its end was reached */
  uint32_t pc;  /* the instruction, and: */
  const vm_ins *ins;
  int64_t owed;   /* work added already, but not done before pc */
  uint32_t exit;  /* before pc, or IR_NO_EXIT: none made yet */
  uint64_t *live; /* sets before each instruction of the block, from its first pc */
  uint32_t live_first, live_cap;
  uint8_t *writes;  /* by list: fields of it are written inline */
  uint8_t *stepped; /* by register: some step may store to it */
} ir_builder;

/* ir_build_make.c: nodes at the end of the present block */
ir_id ir_b(ir_builder *b, ir_op op, unsigned nargs, const ir_id *args);
ir_id ir_b1(ir_builder *b, ir_op op, ir_id x);
ir_id ir_b2(ir_builder *b, ir_op op, ir_id x, ir_id y);
ir_id ir_b3(ir_builder *b, ir_op op, ir_id x, ir_id y, ir_id z);
ir_id ir_b_exit(ir_builder *b, ir_id id); /* gives it the exit before pc, reason fault */
ir_id ir_b_select(ir_builder *b, ir_id cond, ir_id yes, ir_id no);
ir_id ir_b_field(ir_builder *b, unsigned list, unsigned field);
ir_id ir_b_cell(ir_builder *b, unsigned list, unsigned col, ir_id base, ir_id at);
ir_id ir_b_as(ir_builder *b, ir_id value, ir_type type); /* converted as a register is */
ir_id ir_b_reg(ir_builder *b, uint32_t reg);
void ir_b_set(ir_builder *b, uint32_t reg, ir_id value);
uint32_t ir_b_block(ir_builder *b, bool cold);
/* An exit before a pc, with the present registers; done: work done by the instruction at b->pc. */
uint32_t ir_b_exit_at(ir_builder *b, uint32_t pc, ir_reason reason, int64_t done);
uint32_t ir_b_exit_here(ir_builder *b);
void ir_b_guard(ir_builder *b, ir_id cond, uint32_t exit);
/* Ends the present block on the way to a bytecode pc: a jump, or leaving. */
void ir_b_go(ir_builder *b, uint32_t pc);
/* Adds the fixed costs from pc to the block's end, or to the next metered step. */
void ir_b_owe(ir_builder *b, uint32_t pc, int64_t already);
int64_t ir_ins_cost(const vm_ins *i);
/* Guards for what is assumed of the list; its fields are loaded behind them. */
void ir_b_assume(ir_builder *b, unsigned list, uint32_t exit);
uint32_t ir_b_next_pc(const ir_builder *b);
uint32_t ir_b_jump_pc(const ir_builder *b);

/* ir_build_step.c */
bool ir_is_metered(const vm_ins *i); /* what it charges depends on data */
/* The instruction as a step in the present block, registers written; returns the node. */
ir_id ir_step_run(ir_builder *b);
/* Its guards, for going on at pc. */
void ir_step_guards(ir_builder *b, uint32_t pc);
void ir_build_step(ir_builder *b); /* the whole instruction as a step, with where it goes */

/* ir_build_fast.c */
typedef struct {
  uint32_t slow; /* block, or IR_NO_BLOCK */
} ir_fast;
/* False: nothing is assumed of the list, or it is in none of the layouts (a set of bits). */
bool ir_fast_begin(ir_builder *b, ir_fast *f, unsigned list, unsigned layouts);
void ir_fast_need(ir_builder *b, ir_fast *f, ir_id cond);
/* The fast form is done, registers written: both ways meet in the present block. */
void ir_fast_end(ir_builder *b, ir_fast *f);
/* Of an instruction that may jump: the fast form ends in two blocks, both open, registers
 * written. Afterwards nothing is left to be done. */
void ir_fast_end_jump(ir_builder *b, ir_fast *f, uint32_t falls, uint32_t jumps);
ls_layout ir_b_layout(const ir_builder *b, unsigned list);
unsigned ir_b_width(const ir_builder *b, unsigned list, unsigned col);
#define IR_L(layout) (1u << (layout))

/* One a group of instructions; true: built.  False: nothing was made, it is to be a step. */
void ir_build_scalar(ir_builder *b);                 /* ir_build_scalar.c */
ir_id ir_b_constant(ir_builder *b, const vm_ins *i); /* of ldi ldb ldk */
bool ir_build_builtin(ir_builder *b);                /* ir_build_builtin.c */
void ir_build_control(ir_builder *b);                /* ir_build_control.c */
bool ir_build_read(ir_builder *b);                   /* ir_build_read.c: get row count */
bool ir_build_find(ir_builder *b);                   /* ir_build_find.c: find findj has refind */
bool ir_build_write(ir_builder *b);                  /* ir_build_write.c: add put set */
bool ir_build_ensure(ir_builder *b);                 /* ir_build_ensure.c */
bool ir_build_slice(ir_builder *b);                  /* ir_build_slice.c: seek scount */
bool ir_build_next(ir_builder *b);                   /* ir_build_next.c */

/* A column of the row at a handle, as the shape assumed has it; as a register's value. */
ir_id ir_b_column(ir_builder *b, unsigned list, ir_id handle, unsigned col);
ir_id ir_b_bit(ir_builder *b, unsigned list, ir_id at); /* dense: whether cell `at` is there */
ir_id ir_b_dir(ir_builder *b, unsigned list, ir_id at); /* array: word of the directory */
/* array: first position in [lo, hi) whose cell is >= key (after: >). */
ir_id ir_b_bound(ir_builder *b, unsigned list, unsigned col, bool after, ir_id lo, ir_id hi,
                 ir_id key);
bool ir_b_int_key(const ir_builder *b, unsigned list, unsigned k); /* int, date or bool */
/* Writing cells (ir_build_write.c): whether the value, made ready, fits column col of the width
 * assumed; then storing it. */
ir_id ir_b_ready(ir_builder *b, unsigned list, unsigned col, uint32_t reg);
void ir_b_need_fit(ir_builder *b, ir_fast *f, unsigned list, unsigned col, ir_id value);
void ir_b_store(ir_builder *b, unsigned list, unsigned col, ir_id at, ir_id value);
bool ir_b_storable(const ir_builder *b, unsigned list); /* rows may be added inline */
void ir_b_need_room(ir_builder *b, ir_fast *f, unsigned list);
void ir_b_set_count(ir_builder *b, unsigned list, ir_id count);
void ir_b_set_bit(ir_builder *b, unsigned list, ir_id at);

/* Of a key in a list of the given layout, what look-ups share (ir_build_find.c). */
typedef struct {
  ir_id at, inside; /* cell or bucket, and whether there is one */
} ir_place;
ir_place ir_place_dense(ir_builder *b, unsigned list, ir_id key);
ir_place ir_place_bucket(ir_builder *b, unsigned list, ir_id key);

#endif
