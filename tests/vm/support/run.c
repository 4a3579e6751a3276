#include "tests/vm/support/run.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/vm/support/assemble.h"
#include "vm/vm_text.h"

void run_open_policy(run *r, const char *assembly, const ls_policy *policy) {
  memset(r, 0, sizeof *r);
  r->mem = ls_mem_new(NULL);
  r->m = assemble(r->mem, assembly);
  for (int i = 0; i < 2; i++) {
    r->link[i] = vm_link_new(r->m, r->mem, policy);
    ck_assert_ptr_nonnull(r->link[i]);
    r->cx[i] = vm_context_new(r->link[i]);
    ck_assert_ptr_nonnull(r->cx[i]);
  }
  r->cx[1]->execute = vm_step_run;
}

void run_open(run *r, const char *assembly) { run_open_policy(r, assembly, NULL); }

void run_close(run *r) {
  ls_mem_stats stats;
  for (int i = 0; i < 2; i++) {
    vm_result_release(&r->out[i]);
    vm_context_delete(r->cx[i]);
    vm_link_delete(r->link[i]);
  }
  vm_module_release(r->m);
  ls_mem_read_stats(r->mem, &stats);
  ck_assert_uint_eq(stats.live_bytes, 0);
  ls_mem_delete(r->mem);
}

void run_limit(run *r, uint64_t work, uint64_t memory, uint32_t depth) {
  for (int i = 0; i < 2; i++)
    vm_context_limit(r->cx[i], &(vm_limits){work, memory, depth});
}

ls_val run_text(run *r, const char *text) {
  uint32_t id[2];
  for (int i = 0; i < 2; i++)
    ck_assert_int_eq(ls_texts_intern(vm_context_texts(r->cx[i]), text, strlen(text), &id[i]),
                     LS_OK);
  ck_assert_uint_eq(id[0], id[1]);
  return (ls_val){.u = id[0]};
}

static void same_faults(const run *r) {
  const vm_fault *x = vm_context_fault(r->cx[0]), *y = vm_context_fault(r->cx[1]);
  ck_assert_int_eq(x->kind, y->kind);
  ck_assert_str_eq(x->message, y->message);
  ck_assert_int_eq(x->fn, y->fn);
  ck_assert_uint_eq(x->pc, y->pc);
  ck_assert_uint_eq(x->pos.line, y->pos.line);
  ck_assert_uint_eq(x->pos.column, y->pos.column);
}

static void same_results(const run *r) {
  const vm_result *x = &r->out[0], *y = &r->out[1];
  ck_assert_int_eq(x->kind, y->kind);
  if (x->kind == VM_RESULT_SCALAR)
    ck_assert_uint_eq(x->value.u, y->value.u);
  if (x->kind == VM_RESULT_ROWS) {
    ck_assert_uint_eq(ls_list_digest(x->rows, 1), ls_list_digest(y->rows, 1));
    ck_assert(ls_list_check(x->rows, (char[80]){0}, 80));
  }
}

static void same_profiles(const run *r) {
  const vm_profile *x = vm_context_profile(r->cx[0]), *y = vm_context_profile(r->cx[1]);
  for (uint32_t f = 0; f < x->nfns; f++) {
    ck_assert_uint_eq(x->fns[f].calls, y->fns[f].calls);
    for (unsigned i = 0; x->fns[f].loops && i < r->m->fns[f].nloops; i++) {
      const vm_loop_profile *p = &x->fns[f].loops[i], *q = &y->fns[f].loops[i];
      ck_assert_uint_eq(p->headers, q->headers);
      ck_assert_uint_eq(p->entries, q->entries);
      ck_assert_uint_eq(p->longest, q->longest);
    }
  }
}

vm_status run_call(run *r, const char *name, const ls_val *args) {
  vm_status status[2];
  int fn = vm_module_find(r->m, name, true);
  ck_assert_msg(fn >= 0, "no function %s", name);
  for (int i = 0; i < 2; i++) {
    vm_result_release(&r->out[i]);
    r->out[i] = (vm_result){0};
    status[i] = vm_call(r->cx[i], (unsigned)fn, args, &r->out[i]);
    ck_assert_ptr_null(r->cx[i]->top);
    ck_assert_uint_eq(r->cx[i]->depth, 0);
  }
  ck_assert_int_eq(status[0], status[1]);
  ck_assert_uint_eq(vm_context_work(r->cx[0]), vm_context_work(r->cx[1]));
  if (status[0] == VM_OK)
    same_results(r);
  if (status[0] == VM_FAULTED)
    same_faults(r);
  same_profiles(r);
  ck_assert_uint_eq(ls_store_digest(vm_link_store(r->link[0])),
                    ls_store_digest(vm_link_store(r->link[1])));
  return status[0];
}

void run_do(run *r, const char *fn, const ls_val *args) {
  vm_status s = run_call(r, fn, args);
  ck_assert_msg(s == VM_OK, "%s: status %d, %s", fn, s, vm_context_fault(r->cx[0])->message);
}

int64_t run_int(run *r, const char *fn, const ls_val *args) {
  run_do(r, fn, args);
  ck_assert_int_eq(r->out[0].kind, VM_RESULT_SCALAR);
  return r->out[0].value.i;
}

double run_real(run *r, const char *fn, const ls_val *args) {
  run_do(r, fn, args);
  ck_assert_int_eq(r->out[0].type, LS_REAL);
  return r->out[0].value.r;
}

void run_is_text(run *r, const char *fn, const ls_val *args, const char *expected) {
  run_do(r, fn, args);
  ck_assert_int_eq(r->out[0].type, LS_TEXT);
  size_t len;
  const char *bytes = ls_texts_get(r->cx[0]->texts, (uint32_t)r->out[0].value.u, &len);
  ck_assert_uint_eq(len, strlen(expected));
  ck_assert_mem_eq(bytes, expected, len);
}

static size_t put_value(char *out, const ls_texts *tx, ls_type type, ls_val v) {
  size_t len;
  const char *bytes;
  switch (type) {
  case LS_REAL:
    return vm_text_from_real(v.r, out);
  case LS_DATE:
    return vm_text_from_date(v.i, out);
  case LS_TEXT:
    bytes = ls_texts_get(tx, (uint32_t)v.u, &len);
    memcpy(out, bytes, len);
    return len;
  default:
    return vm_text_from_int(v.i, out);
  }
}

static void rows_are(ls_list *l, ls_texts *tx, const char *expected) {
  char text[4096];
  size_t len = 0;
  ls_cursor c;
  ls_row h;
  ck_assert_int_eq(ls_list_seek(l, tx, &LS_WHOLE, &c), LS_OK);
  while (ls_list_next(l, &c, &h)) {
    ck_assert_uint_lt(len, sizeof text - 256);
    if (len)
      len += (size_t)sprintf(text + len, "; ");
    for (unsigned i = 0; i < l->schema->ncols; i++) {
      if (i)
        text[len++] = ' ';
      len += put_value(text + len, tx, l->schema->cols[i].type, ls_list_get(l, h, i));
    }
  }
  text[len] = 0;
  ck_assert_str_eq(text, expected);
}

void run_is_rows(run *r, const char *fn, const ls_val *args, const char *expected) {
  run_do(r, fn, args);
  ck_assert_int_eq(r->out[0].kind, VM_RESULT_ROWS);
  for (int i = 0; i < 2; i++)
    rows_are(r->out[i].rows, r->cx[i]->texts, expected);
}

void run_stored_is(run *r, unsigned list, const char *expected) {
  for (int i = 0; i < 2; i++)
    rows_are(ls_store_list(vm_link_store(r->link[i]), list), r->cx[i]->texts, expected);
}

void run_faults(run *r, const char *fn, const ls_val *args, vm_fault_kind kind, uint32_t line,
                uint64_t work) {
  vm_status s = run_call(r, fn, args);
  const vm_fault *f = vm_context_fault(r->cx[0]);
  ck_assert_msg(s == VM_FAULTED, "%s: status %d", fn, s);
  ck_assert_msg(f->kind == kind, "%s: %s, expected %s", fn, f->message, vm_fault_name(kind));
  if (line)
    ck_assert_uint_eq(f->pos.line, line);
  if (work != UINT64_MAX)
    ck_assert_uint_eq(run_work(r), work);
}

uint64_t run_work(const run *r) { return vm_context_work(r->cx[0]); }
uint64_t run_digest(const run *r) { return ls_store_digest(vm_link_store(r->link[0])); }
