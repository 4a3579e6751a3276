/* vm/lang/lang_emit.h - what the parts of the emitter share.
 *
 *   lang_emit.c        instructions, labels, registers
 *   lang_emit_fresh.c  which row handles are still good
 *   lang_emit_const.c  the module's constants; those of a loop kept in registers
 *   lang_emit_expr.c   values and conditions
 *   lang_emit_row.c    rows, slices, keys
 *   lang_emit_stmt.c   statements
 *   lang_emit_loop.c   loops
 *   lang_emit_tidy.c   jumps to jumps, dead code
 *   lang_emit_fn.c     functions
 *
 * Registers: parameters first, then a stack: names take theirs where they are declared and give
 * them back at the end of their block; temporaries lie above.  Values are made in the register
 * where they are needed: arguments and row values straight in their consecutive places.
 *
 * Freshness.  A row handle may be read while its list has not moved since it was found.  The
 * emitter follows this along the code with a clock: fresh means found later than the list last
 * moved.  What happens only on some paths is undone where paths join (findings) or kept
 * (moves); a loop starts with all the moves that it contains.  See lang_emit_fresh.c.
 */
#ifndef PURE_VM_LANG_EMIT_H
#define PURE_VM_LANG_EMIT_H

#include "vm/lang/lang_effects.h"

#define LANG_NO_PC UINT32_MAX
#define LANG_NO_REG UINT16_MAX

typedef struct {
  uint32_t uses; /* the last jump to it, whose offset field holds the one before */
  uint32_t at;   /* where it is, or LANG_NO_PC */
} lang_label;
#define LANG_LABEL ((lang_label){LANG_NO_PC, LANG_NO_PC})

typedef struct {
  uint64_t bits[4];
} lang_slots; /* a set of lists of the function */

/* A row that has a name, or is in use. */
typedef struct lang_row {
  lang_list *list;
  uint16_t slot;
  uint16_t base;     /* handle; keyed: version and key after it */
  bool keys;         /* the key registers hold the key */
  bool exact;        /* and real keys as the list has them: not -0.0 */
  uint64_t fresh_at; /* 0: never found */
} lang_row;

typedef struct {
  lang_list *list;
  uint64_t moved_at;
} lang_slot;

typedef struct {
  uint64_t *where, old;
} lang_undo;

typedef struct {
  uint32_t mark;
  lang_slots moved;
} lang_region;

typedef struct lang_loop {
  struct lang_loop *outer;
  lang_label *again, *out; /* of continue and break */
} lang_loop;

/* Code that is written after the function's end. */
typedef struct lang_late {
  struct lang_late *next;
  lang_label from;
  const lang_block *block; /* NULL: fault of a missing key */
  vm_pos pos;
  uint16_t top;
} lang_late;

/* A constant that the outermost loop keeps in a register. */
typedef struct {
  const lang_expr *e;
  uint16_t reg;
} lang_kept;
#define LANG_MAX_KEPT 32

typedef struct lang_consts lang_consts;

/* The module as it grows. */
typedef struct {
  lang_cx *cx;
  vm_module *m;
  lang_consts *consts;
  lang_list **locals; /* number - nstored -> list */
  uint32_t nlocals, local_cap;
  vm_ins *code; /* of the function being emitted */
  vm_pos *pos;
  uint32_t code_cap;
} lang_builder;

typedef struct {
  lang_builder *b;
  lang_cx *cx;
  lang_fn *fn;
  vm_ins *code;
  vm_pos *pos;
  uint32_t ncode;
  bool failed;    /* too large; complained of */
  bool reachable; /* can control come to the next instruction */
  uint32_t top, nregs, nloops;
  lang_slot slots[VM_MAX_LISTS];
  unsigned nslots;
  lang_list *result; /* where emitted rows go, or NULL */
  lang_loop *loop;
  unsigned loop_depth;
  lang_kept kept[LANG_MAX_KEPT];
  unsigned nkept;
  lang_late *late, **last_late;
  uint64_t clock;
  lang_slots moved; /* since the innermost region began */
  unsigned regions;
  lang_undo *undo;
  uint32_t nundo, undo_cap;
} lang_emitter;

/* lang_emit.c */
uint32_t lang_ins(lang_emitter *f, vm_op op, unsigned a, unsigned b, unsigned c, vm_pos pos);
/* A jumping instruction; its offset operand is ignored. */
void lang_jump(lang_emitter *f, vm_op op, unsigned a, unsigned b, lang_label *to, vm_pos pos);
void lang_bind(lang_emitter *f, lang_label *label); /* here */
void lang_set_target(lang_emitter *f, uint32_t pc, uint32_t target);
uint16_t lang_reg(lang_emitter *f);              /* the next of the stack */
uint16_t lang_regs(lang_emitter *f, unsigned n); /* n in a row, the first */
void lang_too_large(lang_emitter *f, const char *what, unsigned most);
static inline vm_pos lang_pos(lang_span at) { return (vm_pos){at.line, at.column}; }

/* lang_emit_fresh.c */
uint16_t lang_slot_of(lang_emitter *f, lang_list *list);
lang_row *lang_new_row(lang_emitter *f, lang_list *list, uint16_t base);
void lang_found(lang_emitter *f, lang_row *row);
void lang_moved(lang_emitter *f, unsigned slot);
void lang_called(lang_emitter *f, const lang_fn *callee);
bool lang_is_fresh(const lang_emitter *f, const lang_row *row);
/* Code that runs only on some paths. */
void lang_region_begin(lang_emitter *f, lang_region *r);
/* Forgets what was found in it; adds what moved in it to *moved unless control does not come out.
 */
void lang_region_end(lang_emitter *f, lang_region *r, lang_slots *moved);
void lang_all_moved(lang_emitter *f, const lang_slots *slots);
/* What moves while the loop runs. */
lang_slots lang_loop_moves(lang_emitter *f, const lang_stmt *loop);
static inline bool lang_has_slot(const lang_slots *s, unsigned slot) {
  return s->bits[slot / 64] >> (slot % 64) & 1;
}

/* lang_emit_const.c */
bool lang_consts_new(lang_builder *b);
uint32_t lang_const(lang_emitter *f, const lang_expr *e); /* its number */
uint32_t lang_const_int(lang_emitter *f, int64_t value);
bool lang_consts_finish(lang_builder *b); /* into the module */
void lang_load(lang_emitter *f, const lang_expr *e, uint16_t dst);
/* Loads the constants that the loop's operators need again and again. */
void lang_keep_consts(lang_emitter *f, const lang_stmt *loop);
uint16_t lang_kept_reg(lang_emitter *f, const lang_expr *e); /* or LANG_NO_REG */
bool lang_adds_small(const lang_expr *e, const lang_expr **other, int64_t *k);

/* lang_emit_expr.c */
/* Into dst.  scratch: nobody else can see dst, which may hold intermediate values. */
void lang_emit_to(lang_emitter *f, const lang_expr *e, uint16_t dst, bool scratch);
/* Wherever it is, or into `hint`, or (LANG_NO_REG) into a new temporary. */
uint16_t lang_emit_any(lang_emitter *f, const lang_expr *e, uint16_t hint);
/* The register of a value that is there already and never changes, or LANG_NO_REG. */
uint16_t lang_lasting_reg(lang_emitter *f, const lang_expr *e);
/* Into the next register of the stack. */
uint16_t lang_emit_next(lang_emitter *f, const lang_expr *e);
void lang_emit_branch(lang_emitter *f, const lang_expr *e, bool when, lang_label *to);
void lang_emit_call(lang_emitter *f, const lang_expr *e, uint16_t dst, bool in_place);
void lang_emit_operator(lang_emitter *f, lang_binary op, unsigned type, uint16_t dst, uint16_t l,
                        uint16_t r, vm_pos pos);

/* lang_emit_row.c */
/* A row ready to be read.  New blocks stay on the stack. */
lang_row *lang_emit_row(lang_emitter *f, const lang_expr *e);
/* The same, but a missing row jumps. */
lang_row *lang_emit_row_or(lang_emitter *f, const lang_expr *e, lang_label *missing);
/* Finds a named row again if it may have moved. */
void lang_emit_refind(lang_emitter *f, lang_row *row, vm_pos pos);
void lang_emit_field(lang_emitter *f, const lang_expr *e, uint16_t dst);
void lang_emit_count(lang_emitter *f, const lang_expr *e, uint16_t dst);
void lang_emit_has(lang_emitter *f, const lang_expr *e, uint16_t dst);
/* The key of L[k], in consecutive registers. */
uint16_t lang_emit_key(lang_emitter *f, const lang_expr *args, unsigned n);
/* Values for all columns (or those after the key) in schema order. */
uint16_t lang_emit_values(lang_emitter *f, const lang_list *list, const lang_expr *args, bool rest);
/* Bounds of a slice onto the stack.  Returns the operand SL without `tracked`. */
uint16_t lang_emit_bounds(lang_emitter *f, const lang_expr *slice, uint16_t slot);
#define LANG_TRACKED 0x80u

/* lang_emit_stmt.c */
void lang_emit_block(lang_emitter *f, const lang_block *b);
/* lang_emit_loop.c */
void lang_emit_loop(lang_emitter *f, const lang_stmt *s);
/* lang_emit_tidy.c: shorter jumps, no dead code. */
void lang_tidy(lang_emitter *f);
/* lang_emit_fn.c: fills *out. */
bool lang_emit_fn(lang_builder *b, lang_fn *fn, vm_fn *out);
bool lang_copy_header(lang_builder *b, const lang_fn *fn, vm_fn *out);

#endif
