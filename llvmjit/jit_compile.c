/* llvmjit/jit_compile.c - a request through all stages. */
#include <llvm-c/Analysis.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "llvmjit/jit_int.h"

/* Regions whose object is larger are not kept: compiled code is to save time, not to cost
 * memory. */
#define MAX_OBJECT_BYTES (UINT64_C(1) << 20)

#define MAX_LINES 512u /* of a region, for perf */

typedef struct {
  vm_jit_code code; /* first: what the core holds */
  vm_jit_engine *engine;
  jit_linked linked;
  vm_jit_exit exits[];
} compiled;

typedef struct {
  vm_jit_engine *e;
  const vm_jit_request *q;
  const ir_region *r;
  char name[96];
  LLVMContextRef llvm;
  LLVMModuleRef module;
  LLVMTargetMachineRef machine;
  LLVMMemoryBufferRef object;
  compiled *out;
  vm_jit_status status;
  char *why;
  char said[VM_JIT_WHY]; /* by LLVM's diagnostics */
} compile;

/* Of this thread: what a compile costs, not how long others kept it waiting. */
static uint64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* LLVM would print errors and end the process. */
static void hear(LLVMDiagnosticInfoRef info, void *user) {
  compile *c = user;
  if (LLVMGetDiagInfoSeverity(info) != LLVMDSError)
    return;
  char *text = LLVMGetDiagInfoDescription(info);
  jit_message_take(text, c->said);
}

static void name_region(compile *c) {
  const vm_fn *fn = NULL;
  unsigned line = 0;
  if (c->q->module && c->r->fn < c->q->module->nfns)
    fn = &c->q->module->fns[c->r->fn];
  if (fn && fn->pos && c->r->pc < fn->ncode)
    line = fn->pos[c->r->pc].line;
  snprintf(c->name, sizeof c->name, "%.64s:%u", c->r->name ? c->r->name : "region", line);
}

static bool wants_lines(const compile *c) {
  return c->q->module && (c->e->core->perf & (VM_JIT_PERF_DUMP | VM_JIT_PERF_GDB));
}

static vm_jit_status lower(compile *c) {
  jit_lower j = {.core = c->e->core, .r = c->r, .stress = c->q->stress, .llvm = c->llvm};
  const char *features = jit_machines_features(c->e->machines);
  j.is_quick = c->q->level <= 1;
  j.wide = strstr(features, "+avx2") != NULL;
  j.masks = strstr(features, "+avx512bw") && strstr(features, "+avx512vl");
  if (c->q->module)
    j.fn = &c->q->module->fns[c->r->fn];
  j.of = c->q->module;
  if (wants_lines(c))
    j.source = c->q->module->source_name;
  j.module = c->module;
  if (!jit_lower_region(&j, c->name))
    return VM_JIT_NO_MEMORY;
  char *message = NULL;
  if (LLVMVerifyModule(c->module, LLVMReturnStatusAction, &message)) {
    jit_message_take(message, c->why);
    return VM_JIT_FAILED;
  }
  LLVMDisposeMessage(message);
  return VM_JIT_OK;
}

static void prepare_module(compile *c) {
  c->module = LLVMModuleCreateWithNameInContext(c->name, c->llvm);
  LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(c->machine);
  LLVMSetModuleDataLayout(c->module, layout);
  LLVMDisposeTargetData(layout);
  char *triple = LLVMGetTargetMachineTriple(c->machine);
  LLVMSetTarget(c->module, triple);
  LLVMDisposeMessage(triple);
}

/* From IR to an object in c->object. */
static vm_jit_status make_object(compile *c) {
  uint64_t from = now_ns();
  prepare_module(c);
  vm_jit_status status = lower(c);
  c->out->code.build_ns += now_ns() - from;
  if (status != VM_JIT_OK)
    return status;
  from = now_ns();
  if (!jit_passes_run(c->module, c->machine, c->q->level, c->why))
    return VM_JIT_FAILED;
  c->out->code.passes_ns = now_ns() - from;
  jit_dump_module(c->q, c->name, c->module);
  jit_dump_asm(c->q, c->name, c->module, c->machine);
  from = now_ns();
  if (!jit_emit(c->module, c->machine, LLVMObjectFile, &c->object, c->why))
    return VM_JIT_FAILED;
  c->out->code.emit_ns = now_ns() - from;
  if (c->said[0] == 0)
    return VM_JIT_OK;
  jit_say(c->why, c->said);
  return VM_JIT_FAILED;
}

static size_t compiled_bytes(const vm_jit_code *code) {
  size_t slots = 0;
  for (uint32_t i = 0; i < code->nexits; i++)
    slots += code->exits[i].nslots;
  return sizeof(compiled) + sizeof(vm_jit_exit) * code->nexits + sizeof(uint16_t) * slots;
}

/* Linking takes the object; the core wants it for its cache.  No memory: it does without. */
static void keep_object(compile *c, LLVMMemoryBufferRef object) {
  size_t bytes = LLVMGetBufferSize(object);
  uint8_t *copy = ls_mem_alloc(c->e->mem, bytes);
  if (copy == NULL)
    return;
  memcpy(copy, LLVMGetBufferStart(object), bytes);
  c->out->code.object = copy;
  c->out->code.object_bytes = bytes;
}

static void compiled_free(vm_jit_engine *e, compiled *c) {
  ls_mem_free(e->mem, (uint8_t *)(uintptr_t)c->code.object, c->code.object_bytes);
  ls_mem_free(e->mem, c, compiled_bytes(&c->code));
}

static vm_jit_status link_object(compile *c) {
  jit_line lines[MAX_LINES];
  uint64_t from = now_ns();
  LLVMMemoryBufferRef object = c->object;
  c->object = NULL; /* taken below, or freed */
  c->out->code.code_bytes = jit_object_code_bytes(object, c->name);
  if (LLVMGetBufferSize(object) > MAX_OBJECT_BYTES) {
    LLVMDisposeMemoryBuffer(object);
    jit_say(c->why, "too much machine code");
    return VM_JIT_REFUSED;
  }
  if (c->q->keep_object)
    keep_object(c, object);
  unsigned nlines = wants_lines(c) ? jit_debug_lines(object, lines, MAX_LINES) : 0;
  vm_jit_status status = jit_orc_link(c->e->orc, object, c->name, &c->out->linked, c->why);
  if (status != VM_JIT_OK)
    return status;
  c->out->code.enter = (uint32_t(*)(vm_frame *, vm_context *))(uintptr_t)c->out->linked.address;
  c->out->code.link_ns = now_ns() - from;
  jit_perf_code(c->e->perf, c->name, c->out->linked.address, c->out->code.code_bytes,
                wants_lines(c) ? c->q->module->source_name : "", lines, nlines);
  return VM_JIT_OK;
}

static vm_jit_exit_reason reason_of(ir_reason reason) {
  switch (reason) {
  case IR_EXIT_SHAPE:
    return VM_JIT_EXIT_SHAPE;
  case IR_EXIT_FAULT:
    return VM_JIT_EXIT_FAULT;
  case IR_EXIT_WORK:
    return VM_JIT_EXIT_WORK;
  case IR_EXIT_LEAVE:
    return VM_JIT_EXIT_LEAVE;
  case IR_EXIT_COLD:
    return VM_JIT_EXIT_COLD;
  case IR_EXIT_RETURN:
    return VM_JIT_EXIT_RETURN;
  case IR_EXIT_BULK:
    return VM_JIT_EXIT_BULK;
  case IR_EXIT_RAISED:
  case IR_NEXITS:
    break;
  }
  return VM_JIT_EXIT_RAISED;
}

static size_t bytes_for(const ir_region *r) {
  size_t slots = 0;
  for (uint32_t i = 0; i < r->nexits; i++)
    slots += r->exits[i].raised ? 0 : r->exits[i].nslots;
  return sizeof(compiled) + sizeof(vm_jit_exit) * r->nexits + sizeof(uint16_t) * slots;
}

static compiled *compiled_new(vm_jit_engine *e, const ir_region *r) {
  compiled *out = ls_mem_zalloc(e->mem, bytes_for(r));
  if (out == NULL)
    return NULL;
  uint16_t *slot = (uint16_t *)(out->exits + r->nexits);
  out->engine = e;
  out->code.exits = out->exits;
  out->code.nexits = r->nexits;
  for (uint32_t i = 0; i < r->nexits; i++) {
    const ir_exit *x = &r->exits[i];
    uint32_t n = x->raised ? 0 : x->nslots;
    out->exits[i] = (vm_jit_exit){x->pc, (uint8_t)reason_of((ir_reason)x->reason), n, slot};
    for (uint32_t k = 0; k < n; k++)
      *slot++ = (uint16_t)x->slots[k].reg;
  }
  return out;
}

static void compile_end(compile *c) {
  bool quick = c->q->level <= 1;
  if (c->object)
    LLVMDisposeMemoryBuffer(c->object);
  if (c->module)
    LLVMDisposeModule(c->module);
  if (c->llvm)
    LLVMContextDispose(c->llvm);
  if (c->machine)
    jit_machine_give(c->e->machines, quick, c->machine);
}

/* All that calls LLVM; what it makes is freed here too. */
static void compile_part(void *user) {
  compile *c = user;
  c->status = VM_JIT_FAILED;
  c->machine = jit_machine_take(c->e->machines, c->q->level <= 1, c->why);
  if (c->machine == NULL)
    return;
  c->llvm = LLVMContextCreate();
  LLVMContextSetDiagnosticHandler(c->llvm, hear, c);
  c->status = c->out ? make_object(c) : VM_JIT_NO_MEMORY;
  if (c->status == VM_JIT_OK)
    c->status = link_object(c);
  if (c->status == VM_JIT_NO_MEMORY)
    jit_say(c->why, "no memory");
  compile_end(c);
}

vm_jit_status jit_compile_region(vm_jit_engine *e, const vm_jit_request *q, ir_region *r,
                                 const vm_jit_code **out, char *why) {
  compile c = {.e = e, .q = q, .r = r, .why = why};
  name_region(&c);
  jit_dump_region(q, c.name, r);
  if (atomic_load(&e->given_up)) {
    jit_say(why, "LLVM gave up before");
    return VM_JIT_DENIED;
  }
  c.out = compiled_new(e, r);
  if (!jit_guarded(compile_part, &c, why)) {
    atomic_store(&e->given_up, true);
    c.status = VM_JIT_DENIED;
  }
  if (c.status == VM_JIT_OK)
    *out = &c.out->code;
  else if (c.out)
    compiled_free(e, c.out);
  return c.status;
}

void jit_drop_code(vm_jit_engine *e, const vm_jit_code *code) {
  /* The core was given a pointer to the first member. */
  compiled *c = (compiled *)(uintptr_t)code;
  if (!atomic_load(&e->given_up)) /* else ORC may be locked for ever */
    jit_orc_unlink(e->orc, &c->linked);
  compiled_free(e, c);
}
