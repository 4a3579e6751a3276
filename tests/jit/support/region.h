/* tests/jit/support/region.h - one region given as text, run as machine code and by eval.h.
 *
 * The core behind the code is made up here: a frame and a context of this file's own layout, and
 * helpers that note how they were called.
 */
#ifndef PURE_TESTS_JIT_REGION_H
#define PURE_TESTS_JIT_REGION_H

#include "ir/ir.h"
#include "vm/vm_jit.h"

#define REGION_REGS 32u
#define REGION_LISTS 4u

struct vm_frame {
  uint64_t before[3]; /* never written */
  uint32_t pc;
  struct {
    uint64_t next;
    ls_list *list[REGION_LISTS];
  } * lists;
  ls_val regs[REGION_REGS];
};

struct vm_context {
  uint64_t before;
  uint64_t work, work_limit, poll_at;
  const ls_val *consts;
  const void *direct; /* functions of the host: none */
  ls_texts *texts;
  /* What the helpers saw, and what they shall say. */
  unsigned steps, calls, polls;
  uint32_t step_pc;
  uint64_t step_work;
  ls_val step_regs[REGION_REGS];
  int step_says, poll_says;
  int64_t step_writes; /* to register 9 */
};

typedef struct {
  ls_mem *mem;
  vm_jit_core core;
  vm_jit_engine *engine;
} bench;

void bench_open(bench *b);
void bench_close(bench *b);
/* The text must parse and verify. */
ir_region *bench_parse(bench *b, const char *text);
const vm_jit_code *bench_compile(bench *b, ir_region *r, unsigned level);
void bench_drop(bench *b, const vm_jit_code *code);

#endif
