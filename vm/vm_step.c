/* vm/vm_step.c - one bytecode instruction at a time, plainly, from the module's own code.
 *
 * What other tiers fall back to in the middle of anything, and what the interpreter is tested
 * against: it shares the meanings (vm_sem.h, vm_listops.c, vm_textops.c) but neither predecoding,
 * fusion, inline list code nor the way work is summed.
 */
#include "vm/vm_int.h"
#include "vm/vm_tables.h"

typedef struct {
  vm_context *cx;
  vm_frame *f;
  const vm_ins *i;
  ls_val *a; /* the register of the first field */
} step_state;

static ls_val *step_reg(const step_state *s, unsigned n) { return &s->f->regs[n]; }
static ls_list *step_list(const step_state *s, unsigned n) { return s->f->lists->list[n]; }

static int step_int(const step_state *s) {
  int64_t b = step_reg(s, s->i->b)->i, *a = &s->a->i;
  int64_t c = s->i->op == VM_OP_INEG || s->i->op == VM_OP_IADDK ? 0 : step_reg(s, s->i->c)->i;
  switch ((int)s->i->op) {
  case VM_OP_IADD:
    return vm_sem_iadd(b, c, a);
  case VM_OP_ISUB:
    return vm_sem_isub(b, c, a);
  case VM_OP_IMUL:
    return vm_sem_imul(b, c, a);
  case VM_OP_IDIV:
    return vm_sem_idiv(b, c, a);
  case VM_OP_IMOD:
    return vm_sem_imod(b, c, a);
  case VM_OP_INEG:
    return vm_sem_ineg(b, a);
  case VM_OP_IADDK:
    return vm_sem_iadd(b, (int16_t)s->i->c, a);
  case VM_OP_DADD:
    return vm_sem_dadd(b, c, a);
  case VM_OP_DDIFF:
    *a = vm_sem_ddiff(b, c);
    break;
  case VM_OP_IEQ:
    *a = b == c;
    break;
  case VM_OP_INE:
    *a = b != c;
    break;
  case VM_OP_ILT:
    *a = b < c;
    break;
  default: /* ILE */
    *a = b <= c;
  }
  return VM_FINE;
}

static int step_real(const step_state *s) {
  double b = step_reg(s, s->i->b)->r;
  double c = s->i->op == VM_OP_RNEG ? 0 : step_reg(s, s->i->c)->r;
  ls_val *a = s->a;
  switch ((int)s->i->op) {
  case VM_OP_RADD:
    a->r = vm_sem_radd(b, c);
    break;
  case VM_OP_RSUB:
    a->r = vm_sem_rsub(b, c);
    break;
  case VM_OP_RMUL:
    a->r = vm_sem_rmul(b, c);
    break;
  case VM_OP_RDIV:
    a->r = vm_sem_rdiv(b, c);
    break;
  case VM_OP_RNEG:
    a->r = vm_sem_rneg(b);
    break;
  case VM_OP_REQ:
    a->i = b == c;
    break;
  case VM_OP_RNE:
    a->i = b != c;
    break;
  case VM_OP_RLT:
    a->i = b < c;
    break;
  default: /* RLE */
    a->i = b <= c;
  }
  return VM_FINE;
}

static int step_text(const step_state *s) {
  ls_val b = *step_reg(s, s->i->b), c = *step_reg(s, s->i->c);
  switch ((int)s->i->op) {
  case VM_OP_TEQ:
    s->a->i = vm_text_same(s->cx, b, c);
    break;
  case VM_OP_TNE:
    s->a->i = !vm_text_same(s->cx, b, c);
    break;
  case VM_OP_TLT:
    s->a->i = vm_text_order(s->cx, b, c) < 0;
    break;
  default: /* TLE */
    s->a->i = vm_text_order(s->cx, b, c) <= 0;
  }
  return VM_FINE;
}

static int step_row(const step_state *s) {
  const vm_ins *i = s->i;
  vm_context *cx = s->cx;
  switch ((int)i->op) {
  case VM_OP_GET:
    return vm_do_get(step_list(s, i->c >> 8), step_reg(s, i->b)->u, i->c & 255u, s->a);
  case VM_OP_SET:
    return vm_do_set(cx, step_list(s, i->c >> 8), s->a, i->c & 255u, *step_reg(s, i->b));
  case VM_OP_ROW:
    return vm_do_row(step_list(s, i->c), step_reg(s, i->b)->i, s->a);
  case VM_OP_FIND:
    return vm_do_find(cx, step_list(s, i->b), s->a);
  case VM_OP_FINDJ: {
    int end = vm_do_find(cx, step_list(s, i->b), s->a);
    return end == VM_FAULT_MISSING ? VM_JUMP : end;
  }
  case VM_OP_REFIND:
    return vm_do_refind(cx, step_list(s, i->b), s->a);
  case VM_OP_HAS:
    s->a->i = ls_list_has(step_list(s, i->c), cx->texts, step_reg(s, i->b));
    return VM_FINE;
  case VM_OP_ADD:
    return vm_do_add(cx, step_list(s, i->b), s->a);
  case VM_OP_PUT:
    return vm_do_put(cx, step_list(s, i->b), s->a);
  case VM_OP_ENSURE:
    return vm_do_ensure(cx, step_list(s, i->c), s->a, step_reg(s, i->b));
  default: /* ERASE */
    return vm_do_erase(cx, step_list(s, i->b), s->a);
  }
}

static int step_slice(const step_state *s) {
  const vm_ins *i = s->i;
  unsigned sl = i->op == VM_OP_SCOUNT ? i->c : i->b;
  ls_list *l = step_list(s, sl >> 8);
  switch ((int)i->op) {
  case VM_OP_SEEK:
    return vm_do_seek(s->cx, l, s->a, sl & 255u);
  case VM_OP_NEXT:
    return vm_do_next(s->cx, l, s->a, sl & 255u);
  case VM_OP_SCOUNT:
    return vm_do_scount(s->cx, l, step_reg(s, i->b), sl & 255u, s->a);
  default: /* FIRSTJ LASTJ */
    return vm_do_edge(s->cx, l, s->a, sl & 255u, i->op == VM_OP_LASTJ);
  }
}

static int step_list_op(const step_state *s) {
  const vm_ins *i = s->i;
  switch ((int)i->op) {
  case VM_OP_NEW:
    return vm_do_new(s->f, i->a);
  case VM_OP_COUNT:
    s->a->u = step_list(s, i->b)->count;
    return VM_FINE;
  case VM_OP_CLEAR:
    return vm_do_clear(step_list(s, i->a));
  default: /* SORT */
    return vm_do_sort(s->cx, step_list(s, i->a), s->cx->consts[i->b].i);
  }
}

static int step_return(const step_state *s) {
  vm_context *cx = s->cx;
  bool has_value = s->i->op == VM_OP_RETV;
  ls_val value = has_value ? *s->a : (ls_val){0};
  if (s->i->op == VM_OP_RETL) {
    int fault = vm_do_retl(cx, s->i->a);
    if (fault != VM_FINE)
      return fault;
  }
  vm_frame_leave(cx);
  if (cx->top == NULL) {
    cx->value = value;
    return VM_FINE;
  }
  vm_frame *caller = cx->top;
  if (has_value)
    caller->regs[caller->code->fn->code[caller->pc].a] = value;
  caller->pc++;
  return VM_FINE;
}

static int step_call(const step_state *s) {
  int fault = vm_check_limits(s->cx, s->cx->work);
  return fault == VM_FINE ? vm_frame_enter(s->cx, s->i->b, s->a) : fault;
}

/* A loop is entered where the last instruction was not a jump back to it. */
static int step_loop(const step_state *s, bool from_body) {
  if (from_body)
    s->f->profile->loops[s->i->a].headers++;
  else
    vm_profile_enter(s->cx, s->f, s->i->a);
  return vm_check_limits(s->cx, s->cx->work);
}

static int step_move(const step_state *s) {
  const vm_ins *i = s->i;
  switch ((int)i->op) {
  case VM_OP_MOV:
    *s->a = *step_reg(s, i->b);
    break;
  case VM_OP_LDI:
    s->a->i = vm_ins_s32(i);
    break;
  case VM_OP_LDB:
    s->a->i = i->b;
    break;
  case VM_OP_LDK:
    *s->a = s->cx->consts[i->b];
    break;
  default: /* NOT */
    s->a->i = !step_reg(s, i->b)->i;
  }
  return VM_FINE;
}

static int step_scalar(const step_state *s) {
  vm_context *cx = s->cx;
  switch ((vm_op)s->i->op) {
  case VM_OP_IADD:
  case VM_OP_ISUB:
  case VM_OP_IMUL:
  case VM_OP_IDIV:
  case VM_OP_IMOD:
  case VM_OP_INEG:
  case VM_OP_IADDK:
  case VM_OP_DADD:
  case VM_OP_DDIFF:
  case VM_OP_IEQ:
  case VM_OP_INE:
  case VM_OP_ILT:
  case VM_OP_ILE:
    return step_int(s);
  case VM_OP_RADD:
  case VM_OP_RSUB:
  case VM_OP_RMUL:
  case VM_OP_RDIV:
  case VM_OP_RNEG:
  case VM_OP_REQ:
  case VM_OP_RNE:
  case VM_OP_RLT:
  case VM_OP_RLE:
    return step_real(s);
  case VM_OP_TEQ:
  case VM_OP_TNE:
  case VM_OP_TLT:
  case VM_OP_TLE:
    return step_text(s);
  case VM_OP_BIF:
    return vm_do_builtin(cx, (vm_builtin)s->i->b, step_reg(s, s->i->c), s->a);
  default:
    return step_move(s);
  }
}

/* What the instruction does, besides going on to the next. */
static int step_do(const step_state *s, bool back) {
  switch ((vm_op)s->i->op) {
  case VM_OP_JMP:
    return VM_JUMP;
  case VM_OP_JT:
    return s->a->i ? VM_JUMP : VM_FINE;
  case VM_OP_JF:
    return s->a->i ? VM_FINE : VM_JUMP;
  case VM_OP_LOOP:
    return step_loop(s, back);
  case VM_OP_CALLX:
    return vm_do_callx(s->cx, s->i->b, s->a);
  case VM_OP_RAISE:
    return s->i->a;
  case VM_OP_FAIL:
    return vm_do_fail(s->cx, *s->a);
  case VM_OP_NEW:
  case VM_OP_COUNT:
  case VM_OP_CLEAR:
  case VM_OP_SORT:
    return step_list_op(s);
  case VM_OP_GET:
  case VM_OP_SET:
  case VM_OP_ROW:
  case VM_OP_FIND:
  case VM_OP_FINDJ:
  case VM_OP_REFIND:
  case VM_OP_HAS:
  case VM_OP_ADD:
  case VM_OP_PUT:
  case VM_OP_ENSURE:
  case VM_OP_ERASE:
    return step_row(s);
  case VM_OP_SEEK:
  case VM_OP_NEXT:
  case VM_OP_SCOUNT:
  case VM_OP_FIRSTJ:
  case VM_OP_LASTJ:
    return step_slice(s);
  default:
    return step_scalar(s);
  }
}

int vm_step(vm_context *cx) {
  vm_frame *f = cx->top;
  const vm_ins *i = &f->code->fn->code[f->pc];
  step_state s = {cx, f, i, &f->regs[i->a]};
  bool back = f->back;
  f->back = false;
  cx->work += vm_ins_cost(i);
  cx->extra = 0;
  if (i->op == VM_OP_CALL)
    return step_call(&s);
  if (i->op == VM_OP_RET || i->op == VM_OP_RETV || i->op == VM_OP_RETL)
    return step_return(&s);
  int end = step_do(&s, back);
  cx->work += cx->extra;
  if (end == VM_JUMP) {
    int64_t target = vm_ins_target(i, f->pc);
    f->back = target <= (int64_t)f->pc;
    f->pc = (uint32_t)target;
    return VM_FINE;
  }
  if (end == VM_FINE)
    f->pc++;
  return end;
}

int vm_step_run(vm_context *cx) {
  int fault = VM_FINE;
  while (cx->top && fault == VM_FINE)
    fault = vm_step(cx);
  return fault;
}
