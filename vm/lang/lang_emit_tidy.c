/* vm/lang/lang_emit_tidy.c - after a function is written: jumps to jumps, dead code. */
#include "vm/lang/lang_emit.h"
#include "vm/vm_tables.h"

#define MAX_HOPS 16u

/* A jump to a jump goes on to where that one leads, which is a loop header if it is backwards. */
static void shorten_jumps(lang_emitter *f) {
  for (uint32_t pc = 0; pc < f->ncode; pc++) {
    int64_t to = vm_ins_target(&f->code[pc], pc), next = to;
    for (unsigned hops = 0; next >= 0 && hops < MAX_HOPS; hops++) {
      to = next;
      if (to >= f->ncode || f->code[to].op != VM_OP_JMP)
        break;
      next = vm_ins_target(&f->code[to], (uint32_t)to);
    }
    if (to >= 0)
      lang_set_target(f, pc, (uint32_t)to);
  }
}

static bool falls_through(const vm_ins *i) {
  return !(vm_effects(vm_op_read((vm_op)i->op)->effects) & VM_EFFECT_END);
}

typedef struct {
  uint32_t *pcs, n;
  uint32_t *place; /* 0: not reached; later the new pc */
} walk;

static void reach(walk *w, int64_t pc, uint32_t ncode) {
  if (pc < 0 || pc >= ncode || w->place[pc])
    return;
  w->place[pc] = 1;
  w->pcs[w->n++] = (uint32_t)pc;
}

static void find_reached(lang_emitter *f, walk *w) {
  reach(w, 0, f->ncode);
  while (w->n > 0) {
    uint32_t pc = w->pcs[--w->n];
    reach(w, vm_ins_target(&f->code[pc], pc), f->ncode);
    if (falls_through(&f->code[pc]))
      reach(w, (int64_t)pc + 1, f->ncode);
  }
}

/* Over what is dropped the next instruction that is kept answers for its place. */
static void drop_dead(lang_emitter *f, uint32_t *place) {
  uint32_t n = 0;
  for (uint32_t pc = 0; pc < f->ncode; pc++) {
    bool alive = place[pc] != 0;
    int64_t to = vm_ins_target(&f->code[pc], pc);
    if (f->code[pc].op == VM_OP_JMP && to > pc) {
      uint32_t between = pc + 1;
      while (between < to && !place[between])
        between++;
      if (between == to)
        alive = false;
    }
    place[pc] = alive ? n++ : n | 1u << 31;
  }
  for (uint32_t pc = 0; pc < f->ncode; pc++) {
    if (place[pc] >> 31)
      continue;
    int64_t to = vm_ins_target(&f->code[pc], pc);
    uint32_t at = place[pc];
    f->code[at] = f->code[pc];
    f->pos[at] = f->pos[pc];
    if (to >= 0)
      lang_set_target(f, at, place[to] & 0x7fffffffu);
  }
  f->ncode = n;
}

void lang_tidy(lang_emitter *f) {
  if (f->failed || f->ncode == 0)
    return;
  walk w = {lang_alloc(f->cx, f->ncode * sizeof *w.pcs), 0,
            lang_alloc(f->cx, f->ncode * sizeof *w.place)};
  if (!w.pcs || !w.place) {
    f->failed = true;
    return;
  }
  shorten_jumps(f);
  find_reached(f, &w);
  drop_dead(f, w.place);
}
