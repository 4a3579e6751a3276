#include "tests/ir/support/machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/ir/support/eval.h"
#include "vm/vm_int.h"

typedef struct {
  ir_region *r;
  unsigned bad; /* exits at its entry in a row */
} place;

struct machine {
  vm_context *cx;
  machine_options o;
  machine_counts n;
  ls_mem *mem;
  place **places; /* by function, by pc */
  uint64_t state;
  int fault; /* of a call inside a region */
  machine *next;
};

/* The contexts that run this way: `execute` is given nothing else. */
static machine *machines;

static uint64_t chance(machine *m) {
  m->state ^= m->state << 13;
  m->state ^= m->state >> 7;
  m->state ^= m->state << 17;
  return m->state;
}

static int run(machine *m, const vm_frame *until);

/* ---- a step */

static eval_end step(eval_state *e, const ir_step *s) {
  machine *m = e->user;
  vm_context *cx = m->cx;
  vm_frame *f = cx->top;
  const vm_ins *i = &f->code->fn->code[s->pc];
  f->pc = s->pc;
  cx->work = s->metered ? e->work : 0;
  int fault = vm_step(cx);
  if (fault == VM_FINE && i->op == VM_OP_CALL)
    fault = run(m, f);
  if (s->metered)
    e->work = cx->work;
  if (fault != VM_FINE && s->calls) {
    m->fault = fault;
    return EVAL_RAISED;
  }
  if (fault != VM_FINE)
    return EVAL_STOPPED;
  return f->pc == s->pc + 1 ? EVAL_DONE : EVAL_JUMPED;
}

/* ---- regions */

static ir_trust choose_trust(machine *m) {
  return m->o.trust < 3 ? (ir_trust)m->o.trust : (ir_trust)(chance(m) % 3);
}

static void note_lists(machine *m, const vm_frame *f, ir_list_facts *facts) {
  for (unsigned l = 0; l < f->code->fn->nlists; l++) {
    const ls_list *list = f->lists->list[l];
    bool array = ls_shape_layout(list->shape) == LS_ARRAY;
    facts[l] = (ir_list_facts){.trust = (uint8_t)choose_trust(m),
                               .shape = list->shape,
                               .rows = list->count,
                               .direct = array && list->u.array.dir && !list->u.array.shift};
  }
}

static void broken(const char *what, const char *why) {
  fprintf(stderr, "machine: %s: %s\n", what, why);
  abort();
}

static void run_passes(const machine *m, ir_region *r) {
  char names[400], text[300];
  snprintf(names, sizeof names, "%s", m->o.passes);
  for (char *name = strtok(names, " "); name; name = strtok(NULL, " "))
    if (ir_run_pass(r, name) != IR_OK || !ir_verify(r, text, sizeof text))
      broken(name, text);
}

static ir_region *build(machine *m, const vm_frame *f) {
  ir_list_facts lists[VM_MAX_LISTS];
  ir_facts facts = {.lists = lists, .l2_bytes = m->o.l2_bytes};
  ir_region *r;
  ir_refusal why;
  char text[300];
  uint8_t *careful = malloc(f->code->fn->nloops + 1u);
  memset(careful, m->o.careful, f->code->fn->nloops + 1u);
  facts.careful = careful;
  note_lists(m, f, lists);
  ir_status s = ir_build(m->cx->link->module, f->fn, f->pc, &facts, m->mem, &r, &why);
  free(careful);
  if (s != IR_OK) {
    m->n.refused++;
    return NULL;
  }
  m->n.built++;
  if (!ir_verify(r, text, sizeof text))
    broken("built", text);
  if (m->o.passes)
    run_passes(m, r);
  else if (m->o.level && ir_optimise(r, m->o.level, true, NULL, NULL) != IR_OK)
    broken("optimised", ir_verify(r, text, sizeof text) ? "failed" : text);
  return r;
}

static place *place_of(machine *m, const vm_frame *f) {
  place **p = &m->places[f->fn];
  if (*p == NULL)
    *p = calloc(f->code->fn->ncode, sizeof **p);
  return &(*p)[f->pc];
}

static int enter(machine *m, vm_frame *f, place *p) {
  vm_context *cx = m->cx;
  uint32_t pc = f->pc;
  ir_region *r = p->r;
  eval_state e = {.regs = f->regs,
                  .lists = f->lists ? f->lists->list : NULL,
                  .texts = cx->texts,
                  .consts = cx->consts,
                  .work = cx->work,
                  .limit = cx->work_limit,
                  .cancel = cx->cancel,
                  .step = step,
                  .user = m};
  m->n.entries++;
  const ir_exit *x = &r->exits[eval_region(r, &e)];
  m->n.exits[x->reason]++;
  m->n.steps += e.steps;
  m->n.nodes += e.nodes;
  if (x->raised)
    return m->fault;
  cx->work = e.work;
  f->pc = x->pc;
  p->bad = x->pc == pc ? p->bad + 1 : 0;
  if (x->reason == IR_EXIT_SHAPE || p->bad > 3) { /* build it again from what there is then */
    ir_region_delete(r);
    p->r = NULL;
    p->bad = 0;
  }
  return VM_FINE;
}

static bool may_enter(const vm_frame *f) {
  return f->pc == 0 || f->code->fn->code[f->pc].op == VM_OP_LOOP;
}

static int enter_or_not(machine *m, vm_frame *f) {
  place *p = place_of(m, f);
  if (chance(m) % 8 < m->o.skip)
    return VM_FINE;
  if (p->r == NULL)
    p->r = build(m, f);
  return p->r ? enter(m, f, p) : VM_FINE;
}

/* Runs until the frame is on top again, or (NULL) all have gone. */
static int run(machine *m, const vm_frame *until) {
  vm_context *cx = m->cx;
  int fault = VM_FINE;
  while (fault == VM_FINE && cx->top && cx->top != until) {
    if (may_enter(cx->top))
      fault = enter_or_not(m, cx->top);
    if (fault == VM_FINE)
      fault = vm_step(cx); /* at least one instruction after a region */
  }
  return fault;
}

static int execute(vm_context *cx) {
  machine *m = machines;
  while (m && m->cx != cx)
    m = m->next;
  return run(m, NULL);
}

machine *machine_new(vm_context *cx, const machine_options *o) {
  machine *m = calloc(1, sizeof *m);
  *m =
      (machine){.cx = cx, .o = *o, .state = o->seed | 1, .mem = ls_mem_new(NULL), .next = machines};
  m->places = calloc(cx->link->module->nfns + 1u, sizeof *m->places);
  machines = m;
  cx->execute = execute;
  return m;
}

void machine_delete(machine *m) {
  machine **at = &machines;
  while (*at != m)
    at = &(*at)->next;
  *at = m->next;
  const vm_module *module = m->cx->link->module;
  for (unsigned fn = 0; fn < module->nfns; fn++) {
    for (uint32_t pc = 0; m->places[fn] && pc < module->fns[fn].ncode; pc++)
      ir_region_delete(m->places[fn][pc].r);
    free(m->places[fn]);
  }
  free(m->places);
  m->cx->execute = vm_interp;
  ls_mem_delete(m->mem);
  free(m);
}

void machine_run_by_step(vm_context *cx) { cx->execute = vm_step_run; }

machine_counts machine_read(const machine *m) { return m->n; }
