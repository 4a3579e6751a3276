/* ir/ir_build_step.c - any instruction, out of line. */
#include "ir/ir_build.h"
#include "vm/vm_sem.h"

/* Whether what it charges depends on data. */
bool ir_is_metered(const vm_ins *i) {
  switch ((int)i->op) {
  case VM_OP_TLT:
  case VM_OP_TLE:
  case VM_OP_SORT:
  case VM_OP_CALL:
  case VM_OP_CALLX:
    return true;
  case VM_OP_BIF:
    return !vm_sem_builtin_scalar((vm_builtin)i->b);
  default:
    return false;
  }
}

static bool is_call(const vm_ins *i) { return i->op == VM_OP_CALL || i->op == VM_OP_CALLX; }

static void find_kills(const ir_builder *b, ir_step *s) {
  const vm_fn *fn = b->code.fn;
  const vm_module *m = b->code.m;
  for (unsigned l = 0; l < fn->nlists; l++) {
    bool killed = b->ins->op == VM_OP_CALL
                      ? m->lists[fn->lists[l]].stored && vm_fn_writes(m, b->ins->b, fn->lists[l])
                      : vm_ins_list(b->ins) == (int)l && ir_ins_kills(m, fn, b->ins);
    if (killed)
      s->kills[l / 64] |= UINT64_C(1) << (l % 64);
  }
}

static uint32_t raised_exit(ir_builder *b) {
  uint32_t exit = ir_exit_new(b->r);
  b->r->exits[exit] = (ir_exit){.pc = b->pc, .reason = IR_EXIT_RAISED, .raised = true};
  return exit;
}

/* The exact work before the instruction. */
static ir_id work_now(ir_builder *b) {
  ir_id work = ir_var_read(&b->vars, b->cur, ir_var_work(&b->vars));
  return b->owed ? ir_b2(b, IR_OP_ADD, work, ir_int(b->r, -b->owed)) : work;
}

static ir_id make_step(ir_builder *b, const ir_regs *regs) {
  ir_step s = {.pc = b->pc, .metered = ir_is_metered(b->ins), .calls = is_call(b->ins)};
  uint32_t n = 0, k = 0;
  for (unsigned w = 0; w < regs->nreads; w++)
    n += regs->read[w].n;
  ir_id *args = ir_alloc(b->r, n + 1, sizeof *args);
  s.reg = ir_alloc(b->r, n, sizeof *s.reg);
  if (b->r->failed)
    return 0;
  if (s.metered)
    args[k++] = work_now(b);
  for (unsigned w = 0; w < regs->nreads; w++)
    for (uint32_t i = 0; i < regs->read[w].n; i++) {
      s.reg[s.nregs++] = (uint16_t)(regs->read[w].first + i);
      args[k++] = ir_b_reg(b, regs->read[w].first + i);
    }
  find_kills(b, &s);
  uint32_t number = ir_step_new(b->r), exit = s.calls ? raised_exit(b) : ir_b_exit_here(b);
  ir_id id = ir_b(b, IR_OP_STEP, k, args);
  ir_at(b->r, id)->imm = number;
  ir_at(b->r, id)->exit = exit;
  b->r->steps[number] = s;
  return id;
}

static void write_results(ir_builder *b, const ir_regs *regs) {
  for (unsigned w = 0; w < regs->nwrites; w++)
    for (uint32_t i = 0; i < regs->write[w].n; i++) {
      uint32_t reg = regs->write[w].first + i;
      ir_type type = ir_ins_type(b->code.m, b->code.fn, b->pc, reg);
      ir_id id = ir_node_new(b->r, IR_OP_REG, type, 0, NULL);
      ir_at(b->r, id)->imm = reg;
      ir_at(b->r, id)->pc = b->pc;
      ir_node_append(b->r, b->cur, id);
      ir_b_set(b, reg, id);
    }
}

static void note_stores(ir_builder *b, const ir_regs *regs) {
  for (unsigned w = 0; w < regs->nreads; w++)
    for (uint32_t i = 0; i < regs->read[w].n; i++)
      b->stepped[regs->read[w].first + i] = 1;
  for (unsigned w = 0; w < regs->nwrites; w++)
    for (uint32_t i = 0; i < regs->write[w].n; i++)
      b->stepped[regs->write[w].first + i] = 1;
}

ir_id ir_step_run(ir_builder *b) {
  ir_regs regs;
  ir_ins_regs(b->code.m, b->code.fn, b->pc, &regs);
  note_stores(b, &regs);
  ir_id id = make_step(b, &regs);
  if (id == 0)
    return 0;
  const ir_step *s = &b->r->steps[ir_at(b->r, id)->imm];
  if (s->metered)
    ir_var_write(&b->vars, b->cur, ir_var_work(&b->vars), ir_b(b, IR_OP_WORK, 0, NULL));
  write_results(b, &regs);
  for (unsigned l = 0; l < b->code.fn->nlists; l++)
    if (s->kills[l / 64] >> (l % 64) & 1)
      ir_var_kill_list(&b->vars, b->cur, l, b->r->blocks[b->cur].last);
  return id;
}

static bool is_used_at(const ir_builder *b, unsigned list, uint32_t pc) {
  const ir_code *c = &b->code;
  uint32_t block = c->block_of[pc];
  if (!c->blocks[block].in)
    return false;
  const uint64_t *live = c->blocks[block].first == pc
                             ? &c->live[(size_t)block * c->words]
                             : &b->live[(size_t)(pc - b->live_first) * c->words];
  return ir_set_has(live, c->fn->nregs + list);
}

/* Whether the instruction may have changed the list. */
static bool is_killed(const ir_builder *b, unsigned list) {
  ir_step s = {.pc = b->pc};
  find_kills(b, &s);
  return s.kills[list / 64] >> (list % 64) & 1;
}

void ir_step_guards(ir_builder *b, uint32_t pc) {
  uint32_t exit = IR_NO_EXIT;
  for (unsigned l = 0; l < b->code.fn->nlists; l++) {
    if (!is_killed(b, l) || !is_used_at(b, l, pc))
      continue;
    if (b->r->lists[l].facts.trust != IR_GUARDED)
      continue;
    if (exit == IR_NO_EXIT)
      exit = ir_b_exit_at(b, pc, IR_EXIT_SHAPE, ir_ins_cost(b->ins));
    ir_b_assume(b, l, exit);
  }
}

void ir_build_step(ir_builder *b) {
  if (vm_op_field(vm_op_read((vm_op)b->ins->op), VM_OPD_OFF) >= 0) {
    ir_fast f = {.slow = b->cur};
    ir_fast_end_jump(b, &f, IR_NO_BLOCK, IR_NO_BLOCK);
    return;
  }
  ir_step_run(b);
  if (ir_is_metered(b->ins))
    b->owed = ir_ins_cost(b->ins); /* the work is exact after it */
  ir_step_guards(b, ir_b_next_pc(b));
  if (ir_is_metered(b->ins))
    ir_b_owe(b, ir_b_next_pc(b), b->owed);
}
