#include "tests/jit/support/planted.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

static planted now;

planted *planted_now(void) { return &now; }

typedef struct {
  vm_jit_code code; /* first */
  const vm_jit_code *inner;
} planted_code;

static vm_jit_status compile(vm_jit_engine *e, const vm_jit_request *q, const vm_jit_code **out,
                             char *why) {
  bool other = q->fn != 0 || (now.compiles && q->pc != now.pc);
  if (now.says != VM_JIT_OK || other || now.compiles == now.most) {
    snprintf(why, VM_JIT_WHY, "planted");
    return now.says != VM_JIT_OK ? now.says : VM_JIT_REFUSED;
  }
  vm_jit_status status = now.real->compile(e, q, &now.inner, why);
  if (status != VM_JIT_OK)
    return status;
  planted_code *p = malloc(sizeof *p);
  ck_assert_ptr_nonnull(p);
  *p = (planted_code){*now.inner, now.inner};
  p->code.enter = now.enter;
  now.pc = q->pc;
  now.compiles++;
  *out = &p->code;
  return VM_JIT_OK;
}

static void drop(vm_jit_engine *e, const vm_jit_code *code) {
  planted_code *p = (planted_code *)(uintptr_t)code;
  now.real->drop(e, p->inner);
  free(p);
}

void planted_set(vm_tier *t, uint32_t (*enter)(vm_frame *f, vm_context *cx)) {
  ck_assert(vm_tier_load(t));
  now = (planted){.real = t->plugin, .table = *t->plugin, .enter = enter, .most = 1000};
  now.table.compile = compile;
  now.table.drop = drop;
  t->plugin = &now.table;
}
