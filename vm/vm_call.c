/* vm/vm_call.c - one call from outside: checks, the event around it, its result or its fault. */
#include <string.h>

#include "vm/vm_int.h"

static bool call_value_valid(const vm_context *cx, ls_type type, ls_val v) {
  switch (type) {
  case LS_TEXT:
    return v.u < UINT32_MAX && ls_texts_valid(cx->texts, (uint32_t)v.u);
  case LS_BOOL:
    return v.u < 2;
  case LS_DATE:
    return v.u <= LS_DATE_MAX;
  case LS_INT:
  case LS_REAL:
    break;
  }
  return true;
}

/* A helper function may write stored lists: from outside it is called like an event. */
static bool call_is_event(const vm_fn *fn) { return fn->kind != VM_QUERY; }

static bool call_allowed(const vm_context *cx, unsigned fn, const ls_val *args) {
  const vm_module *m = cx->link->module;
  if (fn >= m->nfns || (cx->snap && call_is_event(&m->fns[fn])))
    return false;
  for (unsigned i = 0; i < m->fns[fn].nparams; i++)
    if (!call_value_valid(cx, m->fns[fn].params[i].type, args[i]))
      return false;
  return true;
}

static void call_note_fault(vm_context *cx, int kind) {
  vm_fault *f = &cx->fault;
  f->kind = (vm_fault_kind)kind;
  if (f->message[0] == 0) /* else the program's or the host's own words */
    vm_fault_describe(cx, (vm_fault_kind)kind);
  f->fn = (int)cx->top->fn;
  f->pc = cx->top->pc;
  const vm_pos *pos = cx->top->code->fn->pos;
  f->pos = pos ? pos[f->pc] : (vm_pos){0, 0};
}

/* A result list outlives the call: it no longer counts against the call's memory, and the
 * context may be gone when it is deleted. */
static void call_detach(ls_list *rows) { rows->budget = NULL; }

static void call_take_result(vm_context *cx, const vm_fn *fn, vm_result *out) {
  *out = (vm_result){.kind = fn->result, .type = fn->result_type, .value = cx->value};
  if (fn->result == VM_RESULT_ROWS) {
    out->rows = cx->rows;
    call_detach(out->rows);
  } else if (fn->result == VM_RESULT_SCALAR && fn->result_type == LS_REAL) {
    out->value.r = vm_sem_canonical(out->value.r);
  }
  cx->rows = NULL;
}

/* Lets the layouts of stored lists follow what earlier calls did with them. */
static void call_settle(vm_context *cx) {
  if (cx->snap)
    return;
  for (unsigned i = 0; i < cx->link->module->nstored; i++)
    ls_list_settle(ls_store_list(cx->link->store, i)); /* where it cannot, the list stays */
}

/* With the frame entered. */
static int call_run(vm_context *cx) {
  int fault = vm_check_limits(cx, cx->work);
  if (fault == VM_FINE)
    fault = cx->execute(cx);
  if (fault != VM_FINE) {
    call_note_fault(cx, fault);
    while (cx->top)
      vm_frame_leave(cx);
  }
  return fault;
}

static vm_status call_in_event(vm_context *cx, unsigned fn, const ls_val *args) {
  bool event = call_is_event(&cx->link->module->fns[fn]);
  ls_store *store = cx->link->store;
  if (event && ls_store_begin(store, &cx->budget) != LS_OK)
    return VM_NO_MEMORY;
  int fault = vm_frame_enter(cx, fn, args);
  vm_status status = VM_NO_MEMORY;
  if (fault == VM_FINE)
    status = call_run(cx) == VM_FINE ? VM_OK : VM_FAULTED;
  if (event && status == VM_OK)
    ls_store_commit(store);
  else if (event)
    ls_store_rollback(store);
  return status;
}

vm_status vm_call(vm_context *cx, unsigned fn, const ls_val *args, vm_result *out) {
  if (cx->running)
    return VM_MISUSE;
  if (!cx->texts_kept)
    ls_texts_reset(cx->texts);
  cx->texts_kept = false;
  cx->work = 0;
  cx->fault = (vm_fault){.fn = -1};
  if (!call_allowed(cx, fn, args))
    return VM_MISUSE;
  call_settle(cx);
  cx->budget.left = cx->memory_limit;
  cx->running = true;
  vm_tier_begin(cx);
  vm_status status = call_in_event(cx, fn, args);
  cx->running = false;
  vm_tier_end(cx, fn);
  vm_frames_trim(cx);
  if (status != VM_OK)
    vm_context_trim(cx);
  cx->texts_kept = false; /* a host function may have asked for them */
  if (status == VM_OK)
    call_take_result(cx, &cx->link->module->fns[fn], out);
  return status;
}

void vm_result_release(vm_result *r) {
  if (r->kind == VM_RESULT_ROWS)
    ls_list_delete(r->rows);
  r->rows = NULL;
}
