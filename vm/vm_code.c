/* vm/vm_code.c - from verified bytecode to what the interpreter runs.
 *
 * Each instruction becomes one slot with the address of its handler and operands in the form the
 * handler wants: lists and columns apart, jumps counted from the instruction itself together with
 * what the jump adds to the work.
 *
 * Work.  Let before(pc) be the summed cost of all instructions in front of pc.  The interpreter
 * keeps `work - before(pc)`, which a straight run leaves alone.  Only a taken jump from pc to t
 * changes it, by before(pc + 1) - before(t), a constant of the jump.
 */
#include <string.h>

#include "vm/vm_int.h"
#include "vm/vm_tables.h"

unsigned vm_ins_cost(const vm_ins *i) {
  return i->op == VM_OP_BIF ? vm_builtin_read((vm_builtin)i->b)->cost : vm_op_cost((vm_op)i->op);
}

static const ls_schema *code_schema(const vm_module *m, const vm_fn *fn, unsigned list) {
  return &m->lists[fn->lists[list]].schema;
}

/* Keyed by one column that is compared as an int. */
static bool schema_is_1(const ls_schema *s) {
  return s->nkeys == 1 && s->cols[0].type != LS_TEXT && s->cols[0].type != LS_REAL;
}

static bool schema_first_is_int(const ls_schema *s) {
  return s->nkeys > 1 && s->cols[0].type != LS_TEXT && s->cols[0].type != LS_REAL;
}

static uint16_t code_builtin(unsigned f) {
  switch (f) {
  case VM_BIF_MIN_I:
  case VM_BIF_MIN_D:
    return VM_X_BIF_MIN_I;
  case VM_BIF_MAX_I:
  case VM_BIF_MAX_D:
    return VM_X_BIF_MAX_I;
  case VM_BIF_REAL_I:
    return VM_X_BIF_REAL_I;
  case VM_BIF_SQRT:
    return VM_X_BIF_SQRT;
  default:
    return vm_sem_builtin_scalar((vm_builtin)f) ? VM_X_BIF_SCALAR : VM_X_BIF;
  }
}

static uint16_t code_set_xop(const ls_schema *s, unsigned col) {
  bool positional = s->nkeys == 0;
  switch (s->cols[col].type) {
  case LS_INT:
  case LS_BOOL:
  case LS_DATE:
    return positional ? VM_X_SET_INT_POS : VM_X_SET_INT;
  case LS_REAL:
    return positional ? VM_X_SET_REAL_POS : VM_X_SET_REAL;
  case LS_TEXT:
    break;
  }
  return VM_X_SET;
}

/* The handler for an instruction on a list of that kind. */
static uint16_t code_list_xop(const vm_ins *i, const ls_schema *s) {
  bool positional = s->nkeys == 0, one = schema_is_1(s);
  unsigned spec = i->b & 255u;
  switch (i->op) {
  case VM_OP_GET:
    return (i->c & 255u) >= LS_SHAPE_COLS ? VM_X_GET_FAR : positional ? VM_X_GET_POS : VM_X_GET;
  case VM_OP_SET:
    return code_set_xop(s, i->c & 255u);
  case VM_OP_ADD:
    return positional ? VM_X_ADD_POS : one ? VM_X_ADD_1 : VM_X_ADD;
  case VM_OP_PUT:
    return one ? VM_X_PUT_1 : VM_X_PUT;
  case VM_OP_FIND:
    return one ? VM_X_FIND_1 : VM_X_FIND;
  case VM_OP_FINDJ:
    return one ? VM_X_FINDJ_1 : VM_X_FINDJ;
  case VM_OP_HAS:
    return one ? VM_X_HAS_1 : VM_X_HAS;
  case VM_OP_ENSURE:
    return one ? VM_X_ENSURE_1 : VM_X_ENSURE;
  case VM_OP_SEEK:
    return positional                                                 ? VM_X_SEEK_POS
           : (spec & ~VM_SPEC_TRACKED) == 1 && schema_first_is_int(s) ? VM_X_SEEK_PREFIX
                                                                      : VM_X_SEEK;
  case VM_OP_NEXT:
    return positional ? VM_X_NEXT_POS : spec & VM_SPEC_TRACKED ? VM_X_NEXT_TRACKED : VM_X_NEXT;
  default:
    return i->op;
  }
}

static uint16_t code_xop(const vm_module *m, const vm_fn *fn, uint32_t pc) {
  const vm_ins *i = &fn->code[pc];
  int64_t target = vm_ins_target(i, pc);
  int list = vm_ins_list(i);
  if (list >= 0)
    return code_list_xop(i, code_schema(m, fn, (unsigned)list));
  switch (i->op) {
  case VM_OP_LDB:
    return VM_X_LDI;
  case VM_OP_BIF:
    return code_builtin(i->b);
  case VM_OP_JMP:
    return target <= (int64_t)pc ? VM_X_JMP_BACK : VM_X_JMP;
  default:
    return i->op;
  }
}

static uint16_t code_jump(unsigned offset) { return (uint16_t)((int16_t)offset + 1); }

/* Operands of list instructions: the list in b (get, set, has, ensure, scount: c). */
static void code_list_operands(const vm_ins *i, const ls_schema *s, vm_xins *x) {
  switch (i->op) {
  case VM_OP_GET:
  case VM_OP_SET:
    x->c = i->c >> 8;
    x->d = i->c & 255u;
    break;
  case VM_OP_FINDJ:
    x->c = code_jump(i->c);
    break;
  case VM_OP_SEEK:
    x->b = i->b >> 8;
    x->c = i->b & 255u;
    x->d = (uint16_t)(i->a + 2 + s->nkeys); /* the cursor in the block */
    break;
  case VM_OP_NEXT:
    x->b = i->b >> 8;
    x->c = code_jump(i->c);
    x->d = (uint16_t)(i->a + 2 + s->nkeys);
    break;
  case VM_OP_FIRSTJ:
  case VM_OP_LASTJ:
    x->b = i->b >> 8;
    x->c = code_jump(i->c);
    x->d = i->b & 255u;
    break;
  case VM_OP_SCOUNT:
    x->c = i->c >> 8;
    x->d = i->c & 255u;
    break;
  default:
    break;
  }
}

static void code_operands(const vm_module *m, const vm_code *code, uint32_t pc) {
  const vm_ins *i = &code->fn->code[pc];
  vm_xins *x = &code->ins[pc];
  int64_t target = vm_ins_target(i, pc);
  int list = vm_ins_list(i);
  *x = (vm_xins){.a = i->a, .b = i->b, .c = i->c};
  if (list >= 0)
    code_list_operands(i, code_schema(m, code->fn, (unsigned)list), x);
  switch (i->op) {
  case VM_OP_LDI:
    x->w = vm_ins_s32(i);
    break;
  case VM_OP_LDB:
    x->w = i->b;
    break;
  case VM_OP_IADDK:
    x->w = (int16_t)i->c;
    break;
  case VM_OP_JMP:
    x->a = code_jump(i->a);
    x->w = (int32_t)(code->before[pc + 1] - code->before[target]);
    break;
  case VM_OP_JT:
  case VM_OP_JF:
    x->b = code_jump(i->b);
    x->w = (int32_t)(code->before[pc + 1] - code->before[target]);
    break;
  case VM_OP_LOOP:
  case VM_OP_CALL:
  case VM_OP_RET:
  case VM_OP_RETV:
  case VM_OP_RETL:
    x->w = (int32_t)code->before[pc + 1];
    break;
  default:
    break;
  }
}

/* What a loop names */

/* Per function: looking at bodies of loops within loops costs their depth, so no more than so
 * many instructions for each one there is.  Loops left over name nothing. */
#define LOOP_LOOKS 64u

/* Lists named by instructions in from .. end-1, each once; returns how many. */
static uint32_t loop_lists(const vm_fn *fn, uint32_t from, uint32_t end, uint8_t *out) {
  bool named[VM_MAX_LISTS + 1] = {false};
  uint32_t n = 0;
  for (uint32_t pc = from; pc < end; pc++) {
    int list = vm_ins_list(&fn->code[pc]);
    if (list < 0 || named[list])
      continue;
    named[list] = true;
    out[n++] = (uint8_t)list;
  }
  return n;
}

/* Where each loop's header is, and where its last jump back ends. */
static void loops_place(const vm_code *code) {
  const vm_fn *fn = code->fn;
  for (uint32_t pc = 0; pc < fn->ncode; pc++) {
    if (fn->code[pc].op == VM_OP_LOOP)
      code->loops[fn->code[pc].a] = (vm_code_loop){.pc = pc, .end = pc + 1};
    int64_t target = vm_ins_target(&fn->code[pc], pc);
    if (target >= 0 && target <= (int64_t)pc && fn->code[target].op == VM_OP_LOOP)
      code->loops[fn->code[target].a].end = pc + 1;
  }
}

/* Loops are numbered in no order; looking for parents costs no more than the code and the nest. */
static void loops_nest(const vm_code *code) {
  const vm_fn *fn = code->fn;
  uint16_t around = VM_NO_LOOP;
  for (uint32_t pc = 0; pc < fn->ncode; pc++) {
    while (around != VM_NO_LOOP && code->loops[around].end <= pc)
      around = code->loops[around].parent;
    if (fn->code[pc].op != VM_OP_LOOP)
      continue;
    code->loops[fn->code[pc].a].parent = around;
    around = fn->code[pc].a;
  }
}

static bool code_loops(vm_module *m, vm_code *code) {
  const vm_fn *fn = code->fn;
  uint64_t looks = (uint64_t)fn->ncode * LOOP_LOOKS;
  code->loops = vm_module_alloc(m, sizeof(vm_code_loop) * fn->nloops);
  if (code->loops == NULL)
    return false;
  loops_place(code);
  loops_nest(code);
  for (unsigned i = 0; i < fn->nloops; i++) {
    vm_code_loop *l = &code->loops[i];
    uint8_t named[VM_MAX_LISTS + 1];
    if (l->end - l->pc > looks)
      continue;
    looks -= l->end - l->pc;
    uint32_t n = loop_lists(fn, l->pc, l->end, named);
    uint8_t *lists = n ? vm_module_alloc(m, n) : NULL;
    if (n && lists == NULL)
      return false;
    if (n)
      memcpy(lists, named, n);
    l->lists = lists;
    l->nlists = n;
  }
  return true;
}

/* Building */

static bool code_locals(vm_module *m, vm_code *code) {
  const vm_fn *fn = code->fn;
  if (fn->nlists == 0)
    return true;
  code->locals = vm_module_alloc(m, fn->nlists);
  if (code->locals == NULL)
    return false;
  for (unsigned i = 0; i < fn->nlists; i++)
    if (!m->lists[fn->lists[i]].stored)
      code->locals[code->nlocals++] = (uint8_t)i;
  return true;
}

/* The same on every machine: no sizes of C. */
static uint32_t code_charge(const vm_module *m, const vm_code *code) {
  const vm_fn *fn = code->fn;
  uint32_t bytes = VM_FRAME_CHARGE + 8u * (fn->nregs + (uint32_t)fn->nlists);
  for (unsigned i = 0; i < code->nlocals; i++)
    bytes += VM_LIST_CHARGE + 8u * m->lists[fn->lists[code->locals[i]]].schema.ncols;
  return bytes;
}

static void code_handlers(const vm_fn *fn, vm_xins *ins, const uint16_t *xop) {
  const void *const *handlers = vm_interp_handlers();
  for (uint32_t pc = 0; pc < fn->ncode; pc++) {
    if (handlers)
      ins[pc].go = handlers[xop[pc]];
    else
      ins[pc].op = xop[pc];
  }
}

static bool code_build(vm_module *m, const vm_fn *fn, vm_code *code) {
  size_t bytes = sizeof(uint16_t) * 2 * (fn->ncode + 1);
  uint16_t *xop = ls_mem_alloc(m->mem, bytes), *fused = xop ? xop + fn->ncode : NULL;
  code->fn = fn;
  code->ins = vm_module_alloc(m, sizeof(vm_xins) * (fn->ncode + 1));
  code->before = vm_module_alloc(m, sizeof(uint32_t) * (fn->ncode + 1));
  bool ok = xop && code->ins && code->before && code_locals(m, code) &&
            (fn->nloops == 0 || code_loops(m, code));
  if (ok) {
    for (uint32_t pc = 0; pc < fn->ncode; pc++)
      code->before[pc + 1] = code->before[pc] + vm_ins_cost(&fn->code[pc]);
    for (uint32_t pc = 0; pc < fn->ncode; pc++) {
      code_operands(m, code, pc);
      xop[pc] = code_xop(m, fn, pc);
    }
    code->charge = code_charge(m, code);
    vm_fuse(code, xop, fused);
    code_handlers(fn, code->ins, fused);
  }
  ls_mem_free(m->mem, xop, bytes);
  return ok;
}

ls_status vm_code_build(vm_module *m) {
  vm_code *codes = vm_module_alloc(m, sizeof(vm_code) * (m->nfns + 1));
  if (codes == NULL)
    return LS_NOMEM;
  for (uint32_t i = 0; i < m->nfns; i++)
    if (!code_build(m, &m->fns[i], &codes[i]))
      return LS_NOMEM;
  m->code = codes;
  return LS_OK;
}

/* All of it lies in the module's arena. */
void vm_code_drop(vm_module *m) { m->code = NULL; }
