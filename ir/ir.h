/* ir/ir.h - the door of ir/: one hot piece of a function as typed SSA, ready to be compiled.
 *
 *   verified bytecode + facts of the lists ── ir_build ──▶ region ── ir_optimise ──▶ region
 *
 * A *region* is everything reachable from one entry of a function without leaving its loop: the
 * entry is a LOOP instruction (a hot loop, nested loops included) or pc 0 (a hot function).
 * Compiled it is
 *
 *   uint32_t region(vm_frame *frame, vm_context *cx);   returns the number of an exit
 *
 * entered with the frame's pc at the region's pc, before that instruction is executed, its
 * registers in the frame and cx->work exact.  After exit e, with x = exits[e]:
 *
 *   x.raised   a call inside has faulted: everything is as the interpreter leaves it after that
 *              fault.  Nothing is to be stored.
 *   else       registers x.slots are stored to the frame (B1 as 0 or 1, F64 as its bits),
 *              cx->work := value of x.work + x.more, and the interpreter goes on *before*
 *              x.pc.  What it then does - fault, leave a loop, grow a list - is its own affair:
 *              an exit says only where.  Registers not in x.slots are dead there, or already in
 *              the frame.
 *
 * docs/ir.md has an example, the text form and the tables.
 *
 * An exit may lie at the region's own entry (a guard failed).  Then the interpreter executes at
 * least that one instruction itself before the region may be entered again.
 *
 * Glossary
 *   node      one operation, numbered; its value, if it has one, is used by that number
 *   block     nodes in order: phis, then others, then one terminator.  A block may be left in its
 *             middle through an exit, and only through one
 *   kill      what a step may change: afterwards nothing that was read of a killed list is known
 *   landing   of a loop's pre-header: an exit at the LOOP with the state there; a check that holds
 *             for the whole loop can be put into the pre-header with this exit
 *   facts     what the caller assumes of each list; ir/ does not know how they were found
 *
 * Memory classes (ir_ops.def: READS, WRITES)
 *   HDR    of a list: every header field but count; the words of an array's directory.
 *          Inline code never writes it: only steps do
 *   COUNT  of a list: the field count
 *   CELLS  of a list and column
 *   BITS   of a list: presence words
 *   LIST   everything of a list
 *   FRAME  registers in the frame: written by a step (its operands, then what it writes)
 *   CX     the context's work, limit and cancel flag
 * Classes, lists and columns never overlap: a function does not name one list twice (the verifier
 * sees to it), blocks of memory belong to one list and one column.  The one exception is a list
 * whose blocks a snapshot shares; nobody writes those in place.
 *
 * Invariants (ir_verify checks them)
 *   values dominate their uses; a phi's argument k dominates the end of predecessor k; values in
 *   an exit dominate every node that has it; every block is reachable, block 0 has no predecessor;
 *   types, attributes and numbers of arguments are as ir_ops.def says
 *
 * Work.  One I64 runs through the region: cx->work as it would be.  An exit has it as value +
 * constant.  A metered step writes it to the context before and `work` reads it back after.
 *
 * Threads: a region belongs to one thread.  It keeps no pointer to lists or contexts, so it may be
 * built and compiled while the program runs; module and facts must live until ir_build returns.
 */
#ifndef PURE_IR_H
#define PURE_IR_H

#include "lists/lists.h"
#include "vm/vm_module.h"

typedef uint32_t ir_id; /* of a node; 0: none */

typedef enum { IR_NONE, IR_I64, IR_F64, IR_B1, IR_PTR } ir_type;

typedef enum {
#define IR(id, name, args, type, attributes, reads, writes, effects, meaning) IR_OP_##id,
#include "ir/ir_ops.def"
#undef IR
  IR_NOPS
} ir_op;

typedef enum {
#define EXIT(id, name, meaning) IR_EXIT_##id,
#include "ir/ir_exits.def"
#undef EXIT
  IR_NEXITS
} ir_reason;

typedef enum {
#define REFUSAL(id, name, meaning) IR_REFUSED_##id,
#include "ir/ir_refusals.def"
#undef REFUSAL
  IR_NREFUSALS
} ir_refusal;

/* ---- facts of the operations --------------------------------------------------- */

typedef enum {
  IR_MEM_NONE,
  IR_MEM_HDR,
  IR_MEM_COUNT,
  IR_MEM_CELLS,
  IR_MEM_BITS,
  IR_MEM_LIST,
  IR_MEM_FRAME,
  IR_MEM_CX
} ir_mem;

enum { /* effects */
       IR_PURE = 1,
       IR_HEADER = 2,
       IR_LOAD = 4,
       IR_FIXED = 8,
       IR_STORE = 16,
       IR_EXITS = 32,
       IR_CALLS = 64,
       IR_ENDS = 128
};

enum { /* attributes */
       IR_HAS_IMM = 1,
       IR_HAS_LIST = 2,
       IR_HAS_COL = 4,
       IR_HAS_WIDTH = 8,
       IR_HAS_EXIT = 16
};

typedef struct {
  const char *id, *name, *args, *meaning;
  ir_type type; /* IR_NONE with `same` set: the node's own */
  bool same;
  uint8_t attributes, effects;
  uint8_t reads, writes; /* ir_mem */
} ir_facts_of_op;

const ir_facts_of_op *ir_op_read(ir_op op); /* op < IR_NOPS */
const char *ir_type_name(ir_type type);     /* i64 f64 b1 ptr none */
const char *ir_exit_name(ir_reason reason);
const char *ir_exit_meaning(ir_reason reason);
const char *ir_refusal_name(ir_refusal refusal);
const char *ir_refusal_meaning(ir_refusal refusal);

/* ---- a region -------------------------------------------------------------------- */

#define IR_NO_PC UINT32_MAX
#define IR_NO_EXIT UINT32_MAX
#define IR_NO_BLOCK UINT32_MAX

typedef struct {
  uint8_t op, type;
  uint8_t list, col, width; /* where the table says so, else 0 */
  uint8_t gone;             /* was taken out */
  uint16_t nargs;
  ir_id *arg; /* nargs of them; in the region's arena */
  int64_t imm;
  uint32_t exit;    /* IR_NO_EXIT: none */
  uint32_t block;   /* that it is in */
  uint32_t pc;      /* bytecode it comes from, or IR_NO_PC; for people and for source lines */
  ir_id prev, next; /* in the block; 0: none */
} ir_node;

typedef struct {
  ir_id first, last; /* last: the terminator */
  uint32_t npreds, preds_cap;
  uint32_t *preds;  /* in the order of phi arguments; one entry an edge */
  uint32_t succ[2]; /* of the terminator; branch: 0 if true */
  uint32_t landing; /* exit, or IR_NO_EXIT */
  uint32_t poll;  /* of a loop's header that does not poll: the exit of a poll there; IR_NO_EXIT */
  uint32_t every; /* in how many rounds one is wanted */
  uint32_t pc;    /* bytecode where it begins, or IR_NO_PC */
  bool cold;      /* a slow path */
  bool gone;      /* was taken out */
} ir_block;

typedef struct {
  uint32_t reg;
  ir_id value;
} ir_slot;

typedef struct {
  uint32_t pc;
  uint8_t reason; /* ir_reason */
  bool raised;    /* see above: nothing below is set */
  ir_id work;
  int64_t more;
  uint32_t nslots;
  ir_slot *slots; /* by register, rising */
} ir_exit;

/* A bytecode instruction run out of line.  The compiled form stores argument k of the node to
 * frame register reg[k] (metered: argument 0 goes to cx->work, argument k to reg[k - 1]), sets
 * the frame's pc, and calls a helper that executes the instruction at pc as vm_step does.
 *   it is done         go on; the node's value is whether it jumped (0 for those that cannot)
 *   it faults          leave through the node's exit.  Unless that exit is raised, the faulting
 *                      instruction has changed nothing, and the interpreter executes it again
 * Metered: the helper adds the instruction's cost and what it charges by size (and all that a
 * call charges) to cx->work.  Else its cost is in the region's own sums, and the helper may
 * leave anything in cx->work. */
typedef struct {
  uint32_t pc;
  bool metered;
  bool calls;        /* CALL or CALLX: its exit is raised */
  uint64_t kills[4]; /* bit k: list k of the function may be changed */
  uint32_t nregs;
  uint16_t *reg;
} ir_step;

/* What is assumed of a list of the function. */
typedef enum {
  IR_ANY,     /* nothing: every operation out of line */
  IR_CHECKED, /* the shape below is likely: tested at each operation, else out of line */
  IR_GUARDED  /* the shape below: tested at the entry and after what may change it, else exit */
} ir_trust;

typedef struct {
  uint8_t trust;  /* ir_trust */
  bool direct;    /* array: every value of the first key has a bucket of its own */
  uint64_t shape; /* with IR_CHECKED, IR_GUARDED */
  uint64_t rows;  /* about how many, at present; 0: unknown.  Prefetch alone looks at it */
} ir_list_facts;

typedef struct {
  const ir_list_facts *lists; /* fn->nlists of them; NULL: nothing is assumed */
  const uint8_t *cold;        /* fn->ncode of them, 1: never reached; NULL: unknown */
  const uint8_t *careful;     /* fn->nloops of them, 1: no checks ahead for that loop as a whole (an
                                 exit of reason bulk was taken there before); NULL: none */
  uint64_t l2_bytes;          /* prefetch: slices of arrays larger than this are worth it, cells and
                                 bits of lists larger than 32 times this; 0: all are */
  uint32_t distance;          /* prefetch: loop rounds ahead; 0: the default */
  uint32_t strip;             /* work between polls of loops checked as a whole; 0: the default */
} ir_facts;

typedef struct {
  const char *name;
  uint16_t ncols, nkeys;
  uint8_t *types; /* ls_type of each column */
  bool stored;
  ir_list_facts facts;
} ir_list;

typedef struct ir_arena ir_arena;

typedef struct {
  const char *name; /* the function's */
  uint32_t fn, pc;  /* in the module; entry */
  uint32_t nregs;
  bool failed; /* memory ran out: useless, delete it */
  uint32_t nnodes, nblocks, nexits, nsteps, nlists;
  ir_node **chunk; /* nodes, by number: ir_at */
  ir_block *blocks;
  ir_exit *exits;
  ir_step *steps;
  ir_list *lists;
  uint64_t l2_bytes;
  uint32_t distance, strip;
  ir_arena *arena;
} ir_region;

#define IR_CHUNK 256u /* nodes a chunk; their addresses stay */

static inline ir_node *ir_at(const ir_region *r, ir_id id) {
  return &r->chunk[id / IR_CHUNK][id % IR_CHUNK];
}

/* ---- building and optimising ------------------------------------------------------- */

typedef enum {
  IR_OK,
  IR_NO_MEMORY,
  IR_REFUSED, /* *refusal says why */
  IR_BROKEN   /* ir_verify found the region broken; a bug, and the region must not be used */
} ir_status;

/* The region of function fn of a verified module that begins at pc.  facts may be NULL. */
ir_status ir_build(const vm_module *m, unsigned fn, uint32_t pc, const ir_facts *facts, ls_mem *mem,
                   ir_region **out, ir_refusal *refusal);
void ir_region_delete(ir_region *r); /* NULL is fine */

/* Level 1: what makes compiling quicker; 2: everything but prefetches; 3: everything.
 * seen (may be NULL) is called after each pass, with its name.  verify: check after each pass. */
typedef void (*ir_seen)(void *user, const char *pass, ir_region *r);
ir_status ir_optimise(ir_region *r, unsigned level, bool verify, ir_seen seen, void *user);
/* One pass by its name (ir_passes.def); IR_REFUSED: there is none of that name. */
ir_status ir_run_pass(ir_region *r, const char *name);

/* Whether the region keeps its invariants; a reason where not. */
bool ir_verify(ir_region *r, char *why, size_t n);

/* The text form: docs/ir.md.  write: gets pieces; false stops. */
typedef bool (*ir_write)(void *user, const char *bytes, size_t len);
bool ir_print(ir_region *r, ir_write write, void *user);
/* line, why: where it is wrong (IR_REFUSED). */
ir_status ir_parse(ls_mem *mem, const char *text, size_t len, ir_region **out, uint32_t *line,
                   char *why, size_t n);

#endif
