/* ir/ir_code.c - a function's bytecode as blocks: the region, what is live, types of registers.
 *
 * Liveness covers the whole function, because an exit leads anywhere; registers that the
 * interpreter would never read again need not be given to it.
 */
#include "ir/ir_code.h"

#include <string.h>

#define MAX_CELLS ((uint64_t)1 << 20) /* blocks times registers */
#define MAX_REGION 2048u              /* instructions */

/* ---- blocks */

static bool ends_block(const vm_ins *i) {
  return (vm_effects(vm_op_read((vm_op)i->op)->effects) & (VM_EFFECT_JUMP | VM_EFFECT_END)) != 0;
}

static void mark_leaders(const vm_fn *fn, uint8_t *leader) {
  leader[0] = 1;
  for (uint32_t pc = 0; pc < fn->ncode; pc++) {
    const vm_ins *i = &fn->code[pc];
    int64_t target = vm_ins_target(i, pc);
    if (target >= 0)
      leader[target] = 1;
    if (i->op == VM_OP_LOOP)
      leader[pc] = 1;
    if (ends_block(i) && pc + 1 < fn->ncode)
      leader[pc + 1] = 1;
  }
}

static void find_blocks(ir_code *c, const uint8_t *leader) {
  const vm_fn *fn = c->fn;
  for (uint32_t pc = 0; pc < fn->ncode; pc++) {
    if (leader[pc])
      c->blocks[c->n++].first = pc;
    c->block_of[pc] = c->n - 1;
  }
  for (uint32_t b = 0; b < c->n; b++) {
    ir_code_block *k = &c->blocks[b];
    k->end = b + 1 < c->n ? c->blocks[b + 1].first : fn->ncode;
    const vm_ins *last = &fn->code[k->end - 1];
    int64_t target = vm_ins_target(last, k->end - 1);
    bool falls = !(vm_effects(vm_op_read((vm_op)last->op)->effects) & VM_EFFECT_END);
    k->succ[0] = falls && k->end < fn->ncode ? b + 1 : IR_NO_BLOCK;
    k->succ[1] = target >= 0 ? c->block_of[target] : IR_NO_BLOCK;
  }
}

/* ---- the region */

/* Blocks reachable from the entry among those at or after it, not cold.  A loop's region has only
 * those that come back to its header. */
static void find_reached(const ir_code *c, const uint8_t *cold, uint8_t *reached, uint32_t *stack) {
  uint32_t n = 0;
  stack[n++] = c->entry;
  reached[c->entry] = 1;
  while (n) {
    const ir_code_block *k = &c->blocks[stack[--n]];
    for (unsigned s = 0; s < 2; s++) {
      uint32_t to = k->succ[s];
      if (to == IR_NO_BLOCK || to < c->entry || reached[to])
        continue;
      if (cold && cold[c->blocks[to].first])
        continue;
      reached[to] = 1;
      stack[n++] = to;
    }
  }
}

static bool comes_back(const ir_code *c, uint32_t b, const uint8_t *back) {
  for (unsigned s = 0; s < 2; s++) {
    uint32_t to = c->blocks[b].succ[s];
    if (to != IR_NO_BLOCK && (to == c->entry || (to > c->entry && back[to])))
      return true;
  }
  return false;
}

static void find_region(ir_code *c, const uint8_t *reached, uint8_t *back, bool loop) {
  bool changed = true;
  while (changed) {
    changed = false;
    for (uint32_t b = c->n; b-- > c->entry;) {
      if (!reached[b] || back[b] || (loop && !comes_back(c, b, back)))
        continue;
      back[b] = 1;
      changed = true;
    }
  }
  for (uint32_t b = c->entry; b < c->n; b++)
    c->blocks[b].in = back[b];
  c->blocks[c->entry].in = true;
}

/* ---- what is live */

static bool list_counts(const ir_code *c, uint32_t pc) { return c->blocks[c->block_of[pc]].in; }

void ir_live_before(const ir_code *c, uint32_t pc, uint64_t *set) {
  const vm_ins *i = &c->fn->code[pc];
  ir_regs regs;
  ir_ins_regs(c->m, c->fn, pc, &regs);
  for (unsigned w = 0; w < regs.nwrites; w++)
    for (uint32_t k = 0; k < regs.write[w].n; k++)
      ir_set_drop(set, regs.write[w].first + k);
  for (unsigned w = 0; w < regs.nreads; w++)
    for (uint32_t k = 0; k < regs.read[w].n; k++)
      ir_set_add(set, regs.read[w].first + k);
  int list = vm_ins_list(i);
  if (list < 0 || !list_counts(c, pc))
    return;
  if (i->op == VM_OP_NEW)
    ir_set_drop(set, c->fn->nregs + (uint32_t)list);
  else
    ir_set_add(set, c->fn->nregs + (uint32_t)list);
}

void ir_live_after_block(const ir_code *c, uint32_t block, uint64_t *set) {
  memset(set, 0, c->words * sizeof *set);
  for (unsigned s = 0; s < 2; s++) {
    uint32_t to = c->blocks[block].succ[s];
    for (uint32_t w = 0; to != IR_NO_BLOCK && w < c->words; w++)
      set[w] |= c->live[(size_t)to * c->words + w];
  }
}

static void find_live(ir_code *c, uint64_t *set) {
  bool changed = true;
  while (changed) {
    changed = false;
    for (uint32_t b = c->n; b-- > 0;) {
      uint64_t *in = &c->live[(size_t)b * c->words];
      ir_live_after_block(c, b, set);
      for (uint32_t pc = c->blocks[b].end; pc-- > c->blocks[b].first;)
        ir_live_before(c, pc, set);
      if (memcmp(in, set, c->words * sizeof *set) == 0)
        continue;
      memcpy(in, set, c->words * sizeof *set);
      changed = true;
    }
  }
}

/* ---- types of registers: of those that are live, the verifier has seen to it that every path
 * brings the same.  Keys that a tracked cursor has not set yet are the exception: they may be
 * anything on some path, and are taken as the bits that they are. */

static void type_ins(const ir_code *c, uint32_t pc, uint8_t *types) {
  const vm_ins *i = &c->fn->code[pc];
  ir_regs regs;
  ir_ins_regs(c->m, c->fn, pc, &regs);
  for (unsigned w = 0; w < regs.nwrites; w++)
    for (uint32_t k = 0; k < regs.write[w].n; k++) {
      uint32_t reg = regs.write[w].first + k;
      ir_type t = ir_ins_type(c->m, c->fn, pc, reg);
      types[reg] = (uint8_t)(t == IR_NONE ? types[i->b] : t);
    }
}

static bool flow_types(ir_code *c, uint32_t to, const uint8_t *types) {
  uint8_t *in = &c->types[(size_t)to * c->fn->nregs];
  const uint64_t *live = &c->live[(size_t)to * c->words];
  bool changed = false;
  for (uint32_t reg = 0; reg < c->fn->nregs; reg++) {
    uint8_t type = types[reg] == IR_NONE || types[reg] == in[reg] ? in[reg]
                   : in[reg] == IR_NONE                           ? types[reg]
                                                                  : IR_I64;
    if (in[reg] == type || !ir_set_has(live, reg))
      continue;
    in[reg] = type;
    changed = true;
  }
  return changed;
}

static void find_types(ir_code *c, uint8_t *types) {
  const vm_fn *fn = c->fn;
  for (unsigned p = 0; p < fn->nparams; p++)
    c->types[p] = (uint8_t)ir_type_of(fn->params[p].type);
  bool changed = true;
  while (changed) {
    changed = false;
    for (uint32_t b = 0; b < c->n; b++) {
      if (fn->nregs)
        memcpy(types, &c->types[(size_t)b * fn->nregs], fn->nregs);
      for (uint32_t pc = c->blocks[b].first; pc < c->blocks[b].end; pc++)
        type_ins(c, pc, types);
      for (unsigned s = 0; s < 2; s++)
        if (c->blocks[b].succ[s] != IR_NO_BLOCK)
          changed |= flow_types(c, c->blocks[b].succ[s], types);
    }
  }
}

/* ---- constants: what a loop uses was often loaded before it */

#define VARIES UINT32_MAX

static bool is_const_ins(const vm_ins *i) {
  return i->op == VM_OP_LDI || i->op == VM_OP_LDB || i->op == VM_OP_LDK;
}

static void const_ins(const ir_code *c, uint32_t pc, uint32_t *now) {
  const vm_ins *i = &c->fn->code[pc];
  ir_regs regs;
  ir_ins_regs(c->m, c->fn, pc, &regs);
  uint32_t value = is_const_ins(i) ? pc + 1 : i->op == VM_OP_MOV ? now[i->b] : VARIES;
  for (unsigned w = 0; w < regs.nwrites; w++)
    for (uint32_t k = 0; k < regs.write[w].n; k++)
      now[regs.write[w].first + k] = value;
}

static bool flow_consts(const ir_code *c, uint32_t *in, const uint32_t *now) {
  bool changed = false;
  for (uint32_t reg = 0; reg < c->fn->nregs; reg++) {
    uint32_t both = in[reg] == 0                           ? now[reg]
                    : in[reg] == now[reg] || now[reg] == 0 ? in[reg]
                                                           : VARIES;
    if (both == in[reg])
      continue;
    in[reg] = both;
    changed = true;
  }
  return changed;
}

/* all: a state a block; reached: blocks that have one. */
static void find_consts(ir_code *c, uint32_t *all, uint32_t *now, uint8_t *reached) {
  uint32_t n = c->fn->nregs;
  bool changed = true;
  for (uint32_t reg = 0; reg < n; reg++)
    all[reg] = VARIES; /* what is not set is not known either: exits rely on the frame having it */
  reached[0] = 1;
  while (changed) {
    changed = false;
    for (uint32_t b = 0; b < c->n; b++) {
      if (!reached[b])
        continue;
      if (n)
        memcpy(now, &all[(size_t)b * n], n * sizeof *now);
      for (uint32_t pc = c->blocks[b].first; pc < c->blocks[b].end; pc++)
        const_ins(c, pc, now);
      for (unsigned s = 0; s < 2; s++) {
        uint32_t to = c->blocks[b].succ[s];
        if (to == IR_NO_BLOCK)
          continue;
        changed |= flow_consts(c, &all[(size_t)to * n], now) || !reached[to];
        reached[to] = 1;
      }
    }
  }
  c->consts = &all[(size_t)c->entry * n];
  for (uint32_t reg = 0; reg < n; reg++)
    if (c->consts[reg] == VARIES)
      c->consts[reg] = 0;
}

static ir_status refuse(ir_refusal *refusal, ir_refusal why) {
  *refusal = why;
  return IR_REFUSED;
}

static uint32_t region_size(const ir_code *c) {
  uint32_t n = 0;
  for (uint32_t b = 0; b < c->n; b++)
    if (c->blocks[b].in)
      n += c->blocks[b].end - c->blocks[b].first;
  return n;
}

ir_status ir_find_code(ir_region *r, const vm_module *m, unsigned number, uint32_t pc,
                       const uint8_t *cold, ir_code *c, ir_refusal *refusal) {
  const vm_fn *fn = &m->fns[number];
  *c = (ir_code){.m = m, .fn = fn, .number = number};
  if (pc >= fn->ncode || (pc != 0 && fn->code[pc].op != VM_OP_LOOP))
    return refuse(refusal, IR_REFUSED_ENTRY);
  c->words = (fn->nregs + fn->nlists + 63u) / 64u + 1;
  c->blocks = ir_alloc(r, fn->ncode, sizeof *c->blocks);
  c->block_of = ir_alloc(r, fn->ncode, sizeof *c->block_of);
  uint8_t *marks = ir_alloc(r, fn->ncode, 3), *types = ir_alloc(r, fn->nregs, 1);
  uint32_t *stack = ir_alloc(r, fn->ncode, sizeof *stack);
  uint64_t *set = ir_alloc(r, c->words, sizeof *set);
  if (r->failed)
    return IR_NO_MEMORY;
  mark_leaders(fn, marks);
  find_blocks(c, marks);
  c->entry = c->block_of[pc];
  find_reached(c, cold, marks + fn->ncode, stack);
  find_region(c, marks + fn->ncode, marks + 2 * (size_t)fn->ncode, fn->code[pc].op == VM_OP_LOOP);
  bool loop = fn->code[pc].op == VM_OP_LOOP;
  if (loop && !comes_back(c, c->entry, marks + 2 * (size_t)fn->ncode))
    return refuse(refusal, IR_REFUSED_EMPTY);
  if ((uint64_t)c->n * (fn->nregs + 1u) > MAX_CELLS || region_size(c) > MAX_REGION)
    return refuse(refusal, IR_REFUSED_SIZE);
  c->live = ir_alloc(r, (size_t)c->n * c->words, sizeof *c->live);
  c->types = ir_alloc(r, (size_t)c->n * fn->nregs, 1);
  if (r->failed)
    return IR_NO_MEMORY;
  uint32_t *consts = ir_alloc(r, ((size_t)c->n + 1) * fn->nregs, sizeof *consts);
  uint8_t *reached = ir_alloc(r, c->n, 1);
  if (r->failed)
    return IR_NO_MEMORY;
  find_live(c, set);
  find_types(c, types);
  find_consts(c, consts, consts + (size_t)c->n * fn->nregs, reached);
  return IR_OK;
}
