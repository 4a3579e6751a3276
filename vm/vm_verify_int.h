/* vm/vm_verify_int.h - what the files of the verifier share.
 *
 *   vm_verify.c        the order of the checks, messages
 *   vm_verify_decl.c   lists, constants, host functions, headers of functions
 *   vm_verify_code.c   one instruction at a time: operands in range, jumps, loops
 *   vm_verify_calls.c  which function may write which stored list; queries only read
 *   vm_verify_flow.c   types of registers along every path
 *   vm_verify_regs.c   asking and changing what is known of registers
 *   vm_verify_ops.c    what one instruction needs of the registers and leaves in them
 *
 * Each part may rely on what the parts before it have checked.  A check returns false when it
 * failed; the reason is in the vm_check.
 */
#ifndef PURE_VM_VERIFY_INT_H
#define PURE_VM_VERIFY_INT_H

#include "vm/vm_names.h"
#include "vm/vm_tables.h"
#include "vm/vm_verify.h"

typedef struct {
  vm_module *m;
  ls_status status; /* LS_NOMEM or LS_UNSUITABLE after a failure */
  char message[400];
  int fn; /* the place at fault; -1: none */
  int64_t pc;
  uint64_t *writes; /* row per function, `words` each: stored lists, then "calls impure" */
  unsigned words;
  uint64_t budget; /* register cells that may still be looked at */
} vm_check;

bool vm_check_fail(vm_check *v, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool vm_check_memory(vm_check *v); /* out of memory; false */

static inline const vm_fn *vm_check_fn(const vm_check *v) { return &v->m->fns[v->fn]; }
static inline const ls_schema *vm_fn_schema(const vm_module *m, const vm_fn *fn, unsigned list) {
  return &m->lists[fn->lists[list]].schema;
}

bool vm_check_decls(vm_check *v);
bool vm_check_code(vm_check *v);  /* of function v->fn */
bool vm_check_calls(vm_check *v); /* fills `writes` */
bool vm_check_flow(vm_check *v);  /* of function v->fn */

/* ---- abstract registers -------------------------------------------------------
 *
 * What is known of a register: kind, detail, list, spec and owner in one word, 0 for nothing.
 *
 *   VALUE    a value of type `detail`.  Owner base: a key or bound of the block at base that
 *            nothing has written since the block's instruction (owner 0: none)
 *   UNSET    the same, or not written yet since the block's seek: only next may read it
 *   HANDLE   row handle of `list`: FRESH, STALE or AT_SEEK (may be LS_NO_ROW)
 *   VERSION  second register of a block of `list`
 *   NEXT END the cursor words of a block of `list`, made with `spec`: FRESH or STALE
 *   LIST     not a register: a list that exists
 *
 * Why owners suffice: every instruction that writes the handle of the block at base claims all
 * of its key registers for base, or takes the claims away; anything else that writes a register
 * drops the claim on it.  So keys all claimed for base were claimed by the instruction that
 * wrote the handle, and are as it left them. */
typedef uint64_t vm_abs;
enum { ABS_NOTHING, ABS_VALUE, ABS_UNSET, ABS_HANDLE, ABS_VERSION, ABS_NEXT, ABS_END, ABS_LIST };
enum { ABS_FRESH, ABS_STALE, ABS_AT_SEEK };

static inline vm_abs vm_abs_make(unsigned kind, unsigned detail, unsigned list, unsigned spec,
                                 unsigned owner) {
  return kind | detail << 8 | list << 16 | (uint64_t)spec << 24 | (uint64_t)owner << 32;
}
static inline vm_abs vm_abs_value(ls_type type) { return vm_abs_make(ABS_VALUE, type, 0, 0, 0); }
static inline unsigned vm_abs_kind(vm_abs x) { return x & 255u; }
static inline unsigned vm_abs_detail(vm_abs x) { return x >> 8 & 255u; }
static inline unsigned vm_abs_list(vm_abs x) { return x >> 16 & 255u; }
static inline unsigned vm_abs_spec(vm_abs x) { return x >> 24 & 255u; }
static inline unsigned vm_abs_owner(vm_abs x) { return (unsigned)(x >> 32); }
static inline vm_abs vm_abs_with_detail(vm_abs x, unsigned detail) {
  return (x & ~(vm_abs)0xff00) | detail << 8;
}
static inline vm_abs vm_abs_disown(vm_abs x) { return x & 0xffffffffu; }

typedef struct {
  vm_check *v;
  const vm_fn *fn;
  unsigned ncells; /* nregs, then a cell a list */
  vm_abs *now;
  vm_abs **in;     /* by pc: the state at a jump target, NULL: not reached yet */
  uint8_t *target; /* by pc: is it one */
  uint8_t *dirty;  /* by pc: its state changed since it was last followed */
  uint32_t lowest; /* no pc below is dirty */
  uint16_t *watch; /* registers that may hold handles or cursors */
  unsigned nwatch;
  uint64_t stored; /* cells of all states kept */
} vm_flow;

/* Follows the instruction at v->pc over `now`.  Jumps call vm_flow_join themselves. */
bool vm_flow_step(vm_flow *f, const vm_ins *i);
const ls_schema *vm_reg_schema_of(const vm_flow *f, unsigned list);
bool vm_reg_is_local(const vm_flow *f, unsigned list);
/* "r5 may be unset; int is needed" */
bool vm_reg_refuse(vm_flow *f, unsigned r, const char *needed);
bool vm_reg_need_value(vm_flow *f, unsigned r, ls_type type);
bool vm_reg_need_columns(vm_flow *f, unsigned r, const ls_column *cols, unsigned n);
bool vm_reg_need_alike(vm_flow *f, unsigned r, unsigned s);
bool vm_reg_need_handle(vm_flow *f, unsigned r, unsigned list);
bool vm_reg_need_list(vm_flow *f, unsigned list);
bool vm_reg_need_bounds(vm_flow *f, unsigned r, unsigned list, vm_spec spec, unsigned owner);
bool vm_reg_need_block(vm_flow *f, unsigned base, unsigned list, unsigned worst);
bool vm_reg_need_own_keys(vm_flow *f, unsigned base, unsigned list, bool may_be_unset);
bool vm_reg_need_cursor(vm_flow *f, unsigned base, unsigned sl);

bool vm_reg_make_stale(vm_flow *f, unsigned list);
bool vm_reg_make_stale_by_order(vm_flow *f, unsigned list);
void vm_reg_write_value(vm_flow *f, unsigned r, ls_type type);
void vm_reg_write_block(vm_flow *f, unsigned base, unsigned list, unsigned state);
void vm_reg_claim_keys(vm_flow *f, unsigned base, unsigned list, unsigned kind);
void vm_reg_drop_keys(vm_flow *f, unsigned base, unsigned list);
void vm_reg_end_cursor(vm_flow *f, unsigned base, unsigned list);
void vm_reg_end_block(vm_flow *f, unsigned base, unsigned list);

/* Takes cells from the budget; fails where it is used up. */
bool vm_flow_spend(vm_flow *f, uint64_t cells);
/* Joins `now` into the state at target. */
bool vm_flow_join(vm_flow *f, uint32_t target);

#endif
