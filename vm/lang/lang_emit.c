/* vm/lang/lang_emit.c - instructions, labels, registers. */
#include "vm/lang/lang_emit.h"

#include <string.h>

#define CHAIN_END 0xffffu /* no pc: VM_MAX_CODE is smaller */

void lang_too_large(lang_emitter *f, const char *what, unsigned most) {
  if (!f->failed)
    lang_complain(f->cx, f->fn->at, "`%s` is too large: at most %u %s", f->fn->name->text, most,
                  what);
  f->failed = true;
}

static bool grow_code(lang_emitter *f) {
  lang_builder *b = f->b;
  uint32_t cap = b->code_cap ? b->code_cap * 2 : 256;
  vm_ins *code = lang_alloc(f->cx, cap * sizeof *code);
  vm_pos *pos = lang_alloc(f->cx, cap * sizeof *pos);
  if (!code || !pos)
    return false;
  if (f->ncode) {
    memcpy(code, f->code, f->ncode * sizeof *code);
    memcpy(pos, f->pos, f->ncode * sizeof *pos);
  }
  f->code = b->code = code;
  f->pos = b->pos = pos;
  b->code_cap = cap;
  return true;
}

/* Nothing is written where control cannot come. */
uint32_t lang_ins(lang_emitter *f, vm_op op, unsigned a, unsigned b, unsigned c, vm_pos pos) {
  if (!f->reachable || f->failed)
    return LANG_NO_PC;
  if (f->ncode == VM_MAX_CODE) {
    lang_too_large(f, "instructions", VM_MAX_CODE);
    return LANG_NO_PC;
  }
  if (f->ncode == f->b->code_cap && !grow_code(f)) {
    f->failed = true;
    return LANG_NO_PC;
  }
  f->code[f->ncode] = (vm_ins){(uint16_t)op, (uint16_t)a, (uint16_t)b, (uint16_t)c};
  f->pos[f->ncode] = pos;
  if (op == VM_OP_JMP || op == VM_OP_RET || op == VM_OP_RETV || op == VM_OP_RETL ||
      op == VM_OP_RAISE || op == VM_OP_FAIL)
    f->reachable = false;
  return f->ncode++;
}

static uint16_t *offset_field(vm_ins *i) {
  switch ((int)i->op) {
  case VM_OP_JMP:
    return &i->a;
  case VM_OP_JT:
  case VM_OP_JF:
    return &i->b;
  default:
    return &i->c;
  }
}

void lang_set_target(lang_emitter *f, uint32_t pc, uint32_t target) {
  *offset_field(&f->code[pc]) = (uint16_t)(int16_t)((int32_t)target - (int32_t)pc - 1);
}

void lang_jump(lang_emitter *f, vm_op op, unsigned a, unsigned b, lang_label *to, vm_pos pos) {
  uint32_t pc = lang_ins(f, op, a, b, 0, pos);
  if (pc == LANG_NO_PC)
    return;
  if (to->at != LANG_NO_PC) {
    lang_set_target(f, pc, to->at);
    return;
  }
  *offset_field(&f->code[pc]) = (uint16_t)(to->uses == LANG_NO_PC ? CHAIN_END : to->uses);
  to->uses = pc;
}

void lang_bind(lang_emitter *f, lang_label *label) {
  uint32_t pc = label->uses;
  label->at = f->ncode;
  if (pc == LANG_NO_PC)
    return;
  f->reachable = true;
  while (pc != CHAIN_END) {
    uint32_t before = *offset_field(&f->code[pc]);
    lang_set_target(f, pc, f->ncode);
    pc = before;
  }
}

uint16_t lang_regs(lang_emitter *f, unsigned n) {
  uint32_t first = f->top;
  if (first + n > VM_MAX_REGS) {
    lang_too_large(f, "registers: fewer names, smaller expressions", VM_MAX_REGS);
    return 0;
  }
  f->top += n;
  if (f->top > f->nregs)
    f->nregs = f->top;
  return (uint16_t)first;
}

uint16_t lang_reg(lang_emitter *f) { return lang_regs(f, 1); }
