/* llvmjit/jit_plugin.c - what the core sees: from a request to a region to code. */
#include <stdio.h>
#include <stdlib.h>

#include "llvmjit/jit_int.h"

#define STRESSED_STRIP 50 /* work: so that every loop has several strips */

static void engine_close(vm_jit_engine *e) {
  jit_perf_delete(e->perf);
  if (!atomic_load(&e->given_up)) {
    jit_orc_delete(e->orc);
    jit_machines_delete(e->machines);
  }
  ls_mem_free(e->mem, e, sizeof *e);
}

static vm_jit_engine *engine_open(const vm_jit_core *core, ls_mem *mem, char *why) {
  vm_jit_engine *e = ls_mem_zalloc(mem, sizeof *e);
  if (e == NULL) {
    jit_say(why, "no memory");
    return NULL;
  }
  e->core = core;
  e->mem = mem;
  e->heap = jit_heap_of_others(mem);
  jit_fatal_begin();
  e->machines = jit_machines_new(mem, why);
  if (e->machines)
    e->orc = jit_orc_new(core, mem, why);
  e->perf = jit_perf_new(mem, core->perf);
  if (e->orc)
    return e;
  engine_close(e);
  return NULL;
}

static ir_trust trust_of(uint8_t trust) {
  return trust == VM_JIT_GUARDED ? IR_GUARDED : trust == VM_JIT_CHECKED ? IR_CHECKED : IR_ANY;
}

static vm_jit_status status_of(ir_status status, ir_refusal refusal, char *why) {
  switch (status) {
  case IR_OK:
    return VM_JIT_OK;
  case IR_NO_MEMORY:
    jit_say(why, "no memory");
    return VM_JIT_NO_MEMORY;
  case IR_REFUSED:
    jit_say(why, ir_refusal_meaning(refusal));
    return VM_JIT_REFUSED;
  case IR_BROKEN:
    break;
  }
  jit_say(why, "the region is broken");
  return VM_JIT_FAILED;
}

static vm_jit_status build(vm_jit_engine *e, const vm_jit_request *q, ir_region **out, char *why) {
  unsigned n = q->module->fns[q->fn].nlists;
  ir_list_facts *lists = calloc(n + 1u, sizeof *lists);
  if (lists == NULL)
    return status_of(IR_NO_MEMORY, IR_REFUSED_NONE, why);
  for (unsigned i = 0; i < n && q->lists; i++)
    lists[i] = (ir_list_facts){trust_of(q->lists[i].trust), q->lists[i].direct, q->lists[i].shape,
                               q->lists[i].rows};
  ir_facts facts = {.lists = lists,
                    .careful = q->careful,
                    .l2_bytes = q->cache_bytes,
                    .distance = q->distance,
                    .strip = q->stress ? STRESSED_STRIP : 0};
  ir_refusal refusal = IR_REFUSED_NONE;
  ir_status status = ir_build(q->module, q->fn, q->pc, &facts, e->mem, out, &refusal);
  free(lists);
  if (status == IR_OK)
    status = ir_optimise(*out, q->level, q->verify, NULL, NULL);
  if (status != IR_OK)
    ir_region_delete(*out);
  return status_of(status, refusal, why);
}

static vm_jit_status engine_compile(vm_jit_engine *e, const vm_jit_request *q,
                                    const vm_jit_code **out, char *why) {
  ir_region *r = NULL;
  vm_jit_status status = build(e, q, &r, why);
  if (status != VM_JIT_OK)
    return status;
  status = jit_compile_region(e, q, r, out, why);
  ir_region_delete(r);
  return status;
}

static void engine_read(vm_jit_engine *e, vm_jit_memory *out) {
  uint64_t heap = jit_heap_of_others(e->mem);
  *out = (vm_jit_memory){.heap_bytes = heap > e->heap ? heap - e->heap : 0};
  jit_orc_read(e->orc, out);
}

static const vm_jit_plugin plugin = {
    .abi = VM_JIT_ABI,
    .llvm = JIT_LLVM_VERSION,
    .open = engine_open,
    .close = engine_close,
    .compile = engine_compile,
    .drop = jit_drop_code,
    .read = engine_read,
};

__attribute__((visibility("default"))) const vm_jit_plugin *pure_jit_plugin(void) {
  return &plugin;
}
