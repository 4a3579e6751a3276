/* vm/vm_verify.c - checks a module from the outside in.
 *
 * The promise: whatever the bytes, what passes here cannot make the interpreter, the lists or
 * compiled code read a register, a row or a text that is not there.  Declarations first, then
 * each instruction by itself, then who writes what, then types along every path.
 */
#include "vm/vm_verify_int.h"

#include <stdarg.h>
#include <stdio.h>

#include "vm/vm_int.h"

/* Cells of registers the flow analysis may look at: a constant, so that small modules may be odd,
 * and so many an instruction, so that large ones cannot be slow out of proportion. */
#define FLOW_BUDGET ((uint64_t)1 << 24)
#define FLOW_BUDGET_PER_INS 1024u

bool vm_check_fail(vm_check *v, const char *format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(v->message, sizeof v->message, format, args);
  va_end(args);
  v->status = LS_UNSUITABLE;
  return false;
}

bool vm_check_memory(vm_check *v) {
  snprintf(v->message, sizeof v->message, "out of memory");
  v->status = LS_NOMEM;
  return false;
}

static bool check_functions(vm_check *v) {
  const vm_module *m = v->m;
  for (uint32_t f = 0; f < m->nfns; f++) {
    v->fn = (int)f;
    if (!vm_check_code(v))
      return false;
    v->budget += (uint64_t)m->fns[f].ncode * FLOW_BUDGET_PER_INS;
  }
  if (!vm_check_calls(v))
    return false;
  for (uint32_t f = 0; f < m->nfns; f++) {
    v->fn = (int)f;
    if (!vm_check_flow(v))
      return false;
  }
  return true;
}

/* The place, then the message.  Names are as long as VM_MAX_NAME: they are cut short. */
static void write_error(const vm_check *v, vm_error *err) {
  *err = (vm_error){0};
  if (v->fn < 0 || v->status == LS_NOMEM) {
    snprintf(err->message, sizeof err->message, "%s", v->message);
    return;
  }
  const vm_fn *fn = vm_check_fn(v);
  if (v->pc < 0) {
    snprintf(err->message, sizeof err->message, "function %.60s: %s", fn->name, v->message);
    return;
  }
  snprintf(err->message, sizeof err->message, "function %.60s, instruction %d (%s): %s", fn->name,
           (int)v->pc, vm_op_name((vm_op)fn->code[v->pc].op), v->message);
  if (fn->pos) {
    err->line = fn->pos[v->pc].line;
    err->column = fn->pos[v->pc].column;
  }
}

ls_status vm_verify_at(vm_module *m, vm_error *err, int *fn, int64_t *pc) {
  if (m->verified)
    return LS_OK;
  vm_check v = {.m = m, .status = LS_OK, .fn = -1, .pc = -1, .budget = FLOW_BUDGET};
  if (vm_check_decls(&v) && check_functions(&v)) {
    v.fn = -1;
    v.status = vm_code_build(m);
    if (v.status != LS_OK)
      snprintf(v.message, sizeof v.message, "out of memory");
  }
  if (v.status != LS_OK) {
    write_error(&v, err);
    *fn = v.fn;
    *pc = v.pc;
    return v.status;
  }
  m->writes = v.writes;
  m->verified = true;
  return LS_OK;
}

ls_status vm_verify(vm_module *m, vm_error *err) {
  int fn;
  int64_t pc;
  return vm_verify_at(m, err, &fn, &pc);
}
