/* ir/ir_build.c - verified bytecode to a region.
 *
 * Blocks are taken in the order of the code.  Every backward jump leads to a LOOP, so that all
 * predecessors of any other block have been built before it; a LOOP gets a pre-header for those
 * from above, and its own predecessors are known when all is built.
 */
#include "ir/ir_build.h"

#include <string.h>

/* Instructions that end their block whatever comes after them. */
static bool is_control(vm_op op) {
  switch (op) {
  case VM_OP_JMP:
  case VM_OP_JT:
  case VM_OP_JF:
  case VM_OP_LOOP:
  case VM_OP_RET:
  case VM_OP_RETV:
  case VM_OP_RETL:
  case VM_OP_RAISE:
  case VM_OP_FAIL:
    return true;
  default:
    return false;
  }
}

static bool build_list_op(ir_builder *b) {
  switch ((int)b->ins->op) {
  case VM_OP_GET:
  case VM_OP_ROW:
  case VM_OP_COUNT:
    return ir_build_read(b);
  case VM_OP_FIND:
  case VM_OP_FINDJ:
  case VM_OP_REFIND:
  case VM_OP_HAS:
    return ir_build_find(b);
  case VM_OP_ADD:
  case VM_OP_PUT:
  case VM_OP_SET:
    return ir_build_write(b);
  case VM_OP_ENSURE:
    return ir_build_ensure(b);
  case VM_OP_SEEK:
  case VM_OP_SCOUNT:
    return ir_build_slice(b);
  case VM_OP_NEXT:
    return ir_build_next(b);
  default: /* new clear sort erase firstj lastj */
    return false;
  }
}

static void build_ins(ir_builder *b) {
  vm_op op = (vm_op)b->ins->op;
  bool built = true;
  b->exit = IR_NO_EXIT;
  if (is_control(op))
    ir_build_control(b);
  else if (vm_ins_list(b->ins) >= 0)
    built = build_list_op(b);
  else if (op == VM_OP_BIF)
    built = ir_build_builtin(b);
  else if (op == VM_OP_TLT || op == VM_OP_TLE || op == VM_OP_CALL || op == VM_OP_CALLX)
    built = false;
  else
    ir_build_scalar(b);
  if (!built)
    ir_build_step(b);
}

/* ---- blocks */

static bool find_block_live(ir_builder *b, uint32_t block) {
  const ir_code_block *k = &b->code.blocks[block];
  uint32_t words = b->code.words, n = k->end - k->first;
  if (n > b->live_cap) {
    b->live = ir_alloc(b->r, (size_t)n * words, sizeof *b->live);
    if (b->live == NULL)
      return false;
    b->live_cap = n;
  }
  b->live_first = k->first;
  uint64_t *last = &b->live[(size_t)(n - 1) * words];
  ir_live_after_block(&b->code, block, last);
  for (uint32_t pc = k->end; pc-- > k->first;) {
    uint64_t *set = &b->live[(size_t)(pc - k->first) * words];
    if (set != last)
      memcpy(set, set + words, words * sizeof *set);
    ir_live_before(&b->code, pc, set);
  }
  return true;
}

/* Ends the pre-header of a loop; false: nothing leads to it. */
static bool begin_loop(ir_builder *b, uint32_t block) {
  uint32_t before = b->before[block];
  if (before != 0 && b->r->blocks[before].npreds == 0)
    return false;
  b->cur = before;
  b->owed = 0;
  if (!(b->facts && b->facts->careful && b->facts->careful[b->ins->a])) {
    uint32_t landing = ir_b_exit_at(b, b->pc, IR_EXIT_BULK, 0);
    b->r->blocks[before].landing = landing;
  }
  ir_end_jump(b->r, before, b->start[block]);
  ir_var_unseal(&b->vars, b->start[block]);
  return true;
}

static void build_block(ir_builder *b, uint32_t block) {
  const ir_code_block *k = &b->code.blocks[block];
  b->pc = k->first;
  b->ins = &b->code.fn->code[k->first];
  if (!find_block_live(b, block))
    return;
  if (b->before[block] != IR_NO_BLOCK && !begin_loop(b, block))
    return;
  if (b->before[block] == IR_NO_BLOCK && b->r->blocks[b->start[block]].npreds == 0)
    return;
  b->cur = b->start[block];
  ir_b_owe(b, k->first, 0);
  for (uint32_t pc = k->first; pc < k->end && !b->r->failed && b->cur != IR_NO_BLOCK; pc++) {
    b->pc = pc;
    b->ins = &b->code.fn->code[pc];
    build_ins(b);
    b->owed -= ir_ins_cost(b->ins);
  }
  if (b->cur != IR_NO_BLOCK)
    ir_b_go(b, k->end);
}

static bool make_blocks(ir_builder *b) {
  const ir_code *c = &b->code;
  b->start = ir_alloc(b->r, c->n, sizeof *b->start);
  b->before = ir_alloc(b->r, c->n, sizeof *b->before);
  b->begin_of = ir_alloc(b->r, c->n * 2 + 1, sizeof *b->begin_of);
  if (b->r->failed)
    return false;
  b->begin_cap = c->n * 2 + 1;
  for (uint32_t k = 0; k < b->begin_cap; k++)
    b->begin_of[k] = IR_NO_BLOCK;
  b->begin_of[0] = c->entry;
  for (uint32_t k = 0; k < c->n; k++) {
    b->start[k] = b->before[k] = IR_NO_BLOCK;
    if (!c->blocks[k].in)
      continue;
    b->pc = c->blocks[k].first;
    if (c->fn->code[b->pc].op == VM_OP_LOOP) {
      b->before[k] = k == c->entry ? 0 : ir_b_block(b, false);
      b->begin_of[b->before[k]] = k;
    }
    b->start[k] = ir_b_block(b, false);
    b->begin_of[b->start[k]] = k;
  }
  return !b->r->failed;
}

/* Types of registers and of the work where a bytecode block begins. */
static ir_type type_at(void *user, uint32_t block, uint32_t var) {
  const ir_builder *b = user;
  if (var >= b->vars.nregs || block >= b->begin_cap || b->begin_of[block] == IR_NO_BLOCK)
    return IR_I64;
  uint8_t type = b->code.types[(size_t)b->begin_of[block] * b->vars.nregs + var];
  return type == IR_NONE ? IR_I64 : (ir_type)type;
}

/* ---- lists */

static bool copy_lists(ir_builder *b) {
  const vm_fn *fn = b->code.fn;
  ir_region *r = b->r;
  r->nlists = fn->nlists;
  r->lists = ir_alloc(r, fn->nlists, sizeof *r->lists);
  b->writes = ir_alloc(r, fn->nlists, 1);
  b->stepped = ir_alloc(r, fn->nregs, 1);
  b->vars.at_entry = ir_alloc(r, fn->nregs, sizeof *b->vars.at_entry);
  if (r->failed)
    return false;
  for (unsigned l = 0; l < fn->nlists; l++) {
    const ls_schema *s = ir_schema_of(b->code.m, fn, l);
    ir_list *to = &r->lists[l];
    *to = (ir_list){.name = ir_copy_name(r, s->name, strlen(s->name)),
                    .ncols = s->ncols,
                    .nkeys = s->nkeys,
                    .stored = b->code.m->lists[fn->lists[l]].stored};
    if (b->facts && b->facts->lists)
      to->facts = b->facts->lists[l];
    to->types = ir_alloc(r, s->ncols, 1);
    for (unsigned c = 0; to->types && c < s->ncols; c++)
      to->types[c] = (uint8_t)s->cols[c].type;
  }
  return !r->failed;
}

static void find_writes(ir_builder *b) {
  const ir_code *c = &b->code;
  for (uint32_t k = 0; k < c->n; k++) {
    if (!c->blocks[k].in)
      continue;
    for (uint32_t pc = c->blocks[k].first; pc < c->blocks[k].end; pc++) {
      unsigned list = c->fn->code[pc].c >> 8;
      if (c->fn->code[pc].op == VM_OP_SET && !b->r->lists[list].stored)
        b->writes[list] = 1;
    }
  }
}

/* The entry: what is assumed of the lists that are used before they are made anew. */
static void begin_region(ir_builder *b) {
  const ir_code *c = &b->code;
  const uint64_t *live = &c->live[(size_t)c->entry * c->words];
  uint32_t exit = IR_NO_EXIT;
  b->cur = 0;
  b->pc = c->blocks[c->entry].first;
  b->ins = &c->fn->code[b->pc];
  b->r->blocks[0].pc = b->pc;
  b->vars.anchor = ir_b(b, IR_OP_WORK, 0, NULL);
  ir_var_write(&b->vars, 0, ir_var_work(&b->vars), b->vars.anchor);
  for (uint32_t reg = 0; reg < c->fn->nregs; reg++) {
    if (c->consts[reg] == 0)
      continue;
    ir_id value = ir_b_constant(b, &c->fn->code[c->consts[reg] - 1]);
    ir_b_set(b, reg, value);
    b->vars.at_entry[reg] = value;
  }
  for (unsigned l = 0; l < c->fn->nlists; l++)
    ir_var_kill_list(&b->vars, 0, l, b->vars.anchor);
  for (unsigned l = 0; l < c->fn->nlists; l++) {
    if (b->r->lists[l].facts.trust != IR_GUARDED || !ir_set_has(live, c->fn->nregs + l))
      continue;
    if (exit == IR_NO_EXIT)
      exit = ir_b_exit_at(b, b->pc, IR_EXIT_SHAPE, 0);
    ir_b_assume(b, l, exit);
  }
}

/* A register that no step reads or writes keeps in the frame what it had at the entry: exits need
 * not store that. */
static void drop_kept_slots(ir_builder *b) {
  ir_region *r = b->r;
  for (uint32_t e = 0; e < r->nexits; e++) {
    ir_exit *x = &r->exits[e];
    uint32_t n = 0;
    for (uint32_t s = 0; s < x->nslots; s++) {
      ir_slot slot = x->slots[s];
      bool kept = !b->stepped[slot.reg] && b->vars.at_entry[slot.reg] == slot.value;
      if (!kept)
        x->slots[n++] = slot;
    }
    x->nslots = n;
  }
}

static void build_all(ir_builder *b) {
  const ir_code *c = &b->code;
  begin_region(b);
  if (b->before[c->entry] != 0)
    ir_end_jump(b->r, 0, b->start[c->entry]);
  for (uint32_t k = 0; k < c->n && !b->r->failed; k++)
    if (c->blocks[k].in)
      build_block(b, k);
  ir_var_seal_all(&b->vars);
  if (b->r->failed)
    return;
  ir_blocks_sweep(b->r);
  ir_opt_phi(b->r);
  drop_kept_slots(b);
  ir_opt_dce(b->r);
}

ir_status ir_build(const vm_module *m, unsigned fn, uint32_t pc, const ir_facts *facts, ls_mem *mem,
                   ir_region **out, ir_refusal *refusal) {
  ir_builder b = {.facts = facts};
  *out = NULL;
  *refusal = IR_REFUSED_NONE;
  b.r = ir_region_new(mem);
  if (b.r == NULL)
    return IR_NO_MEMORY;
  ir_status status = ir_find_code(b.r, m, fn, pc, facts ? facts->cold : NULL, &b.code, refusal);
  if (status == IR_OK) {
    b.r->name = ir_copy_name(b.r, m->fns[fn].name, strlen(m->fns[fn].name));
    b.r->fn = fn;
    b.r->pc = pc;
    b.r->nregs = m->fns[fn].nregs;
    b.r->l2_bytes = facts ? facts->l2_bytes : 0;
    b.r->distance = facts ? facts->distance : 0;
    b.r->strip = facts ? facts->strip : 0;
    b.vars = (ir_vars){.r = b.r, .nregs = b.r->nregs, .type_at = type_at, .user = &b};
    if (make_blocks(&b) && copy_lists(&b)) {
      find_writes(&b);
      build_all(&b);
    }
    status = b.r->failed ? IR_NO_MEMORY : IR_OK;
  }
  if (status == IR_OK)
    *out = b.r;
  else
    ir_region_delete(b.r);
  return status;
}
