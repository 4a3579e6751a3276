#include "tests/jit/support/region.h"

#include <check.h>
#include <stddef.h>
#include <string.h>

#include "llvmjit/jit_int.h"

/* ---- the core */

static int bench_step(vm_frame *f, vm_context *cx, uint32_t pc) {
  cx->steps++;
  cx->step_pc = pc;
  cx->step_work = cx->work;
  memcpy(cx->step_regs, f->regs, sizeof f->regs);
  f->regs[9].i = cx->step_writes;
  cx->work += 1000;
  return cx->step_says;
}

static int bench_call(vm_frame *f, vm_context *cx, uint32_t pc) {
  cx->calls++;
  return bench_step(f, cx, pc);
}

static int bench_poll(vm_context *cx, uint64_t work) {
  cx->polls++;
  cx->step_work = work;
  cx->poll_at = work + 100;
  return cx->poll_says;
}

static uint64_t bench_find(vm_context *cx, ls_list *l, const ls_val *key) {
  ls_row h;
  return ls_list_find(l, cx->texts, key, &h) == LS_OK ? h : LS_NO_ROW;
}

static int bench_builtin(uint32_t f, const ls_val *args, ls_val *out) {
  return vm_sem_builtin((vm_builtin)f, args, out);
}

static int bench_text_same(vm_context *cx, uint64_t x, uint64_t y) {
  return ls_texts_equal(cx->texts, (uint32_t)x, (uint32_t)y);
}

/* No function of the host is there to be called directly. */
static int bench_settle(vm_frame *f, vm_context *cx, uint32_t pc) {
  (void)f, (void)cx, (void)pc;
  return VM_JIT_STOPPED;
}

static int bench_stress(vm_context *cx) { return cx->polls++ % 3 == 0; }

void bench_open(bench *b) {
  char why[VM_JIT_WHY] = "";
  *b = (bench){.mem = ls_mem_new(NULL)};
  b->core = (vm_jit_core){
      .frame_pc = offsetof(struct vm_frame, pc),
      .frame_lists = offsetof(struct vm_frame, lists),
      .frame_regs = offsetof(struct vm_frame, regs),
      .lists_list = sizeof(uint64_t),
      .context_work = offsetof(struct vm_context, work),
      .context_work_limit = offsetof(struct vm_context, work_limit),
      .context_poll_at = offsetof(struct vm_context, poll_at),
      .context_consts = offsetof(struct vm_context, consts),
      .context_direct = offsetof(struct vm_context, direct),
#define HELPER(id, name, result, parameters, r, p, meaning) .name = bench_##name,
#include "vm/vm_jit_helpers.def"
#undef HELPER
  };
  b->engine = pure_jit_plugin()->open(&b->core, b->mem, why);
  ck_assert_msg(b->engine != NULL, "%s", why);
}

void bench_close(bench *b) {
  ls_mem_stats s;
  pure_jit_plugin()->close(b->engine);
  ls_mem_read_stats(b->mem, &s);
  ck_assert_uint_eq(s.live_bytes, 0);
  ls_mem_delete(b->mem);
}

ir_region *bench_parse(bench *b, const char *text) {
  ir_region *r;
  uint32_t line;
  char why[200];
  ir_status s = ir_parse(b->mem, text, strlen(text), &r, &line, why, sizeof why);
  ck_assert_msg(s == IR_OK, "line %u: %s in\n%s", line, why, text);
  ck_assert_msg(ir_verify(r, why, sizeof why), "%s in\n%s", why, text);
  return r;
}

const vm_jit_code *bench_compile(bench *b, ir_region *r, unsigned level) {
  const vm_jit_code *code = NULL;
  char why[VM_JIT_WHY] = "";
  vm_jit_request q = {.level = (uint8_t)level};
  ck_assert_msg(jit_compile_region(b->engine, &q, r, &code, why) == VM_JIT_OK, "%s", why);
  return code;
}

void bench_drop(bench *b, const vm_jit_code *code) { pure_jit_plugin()->drop(b->engine, code); }
