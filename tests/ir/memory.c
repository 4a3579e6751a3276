/* When memory runs out at the n-th allocation: a clean refusal, and nothing is lost. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "tests/ir/support/text.h"
#include "vm/vm.h"

static const char program[] = "list edges (from: int, to: int) key (from, to)\n"
                              "query bfs(start: int): (node: int, depth: int) {\n"
                              "  local seen (node: int, depth: int) key (node)\n"
                              "  local queue (node: int)\n"
                              "  put seen (start, 0)\n"
                              "  add queue (start)\n"
                              "  for q in queue {\n"
                              "    let d = seen[q.node].depth + 1\n"
                              "    for e in edges[q.node] {\n"
                              "      if not (e.to in seen) {\n"
                              "        put seen (e.to, d)\n"
                              "        add queue (e.to)\n"
                              "      }\n"
                              "    }\n"
                              "  }\n"
                              "  return seen\n"
                              "}\n";

static vm_module *compile(ls_mem *mem) {
  vm_module *m;
  ck_assert_int_eq(lang_compile(mem, "bfs", program, strlen(program), &m, NULL, NULL), LS_OK);
  return m;
}

static uint32_t first_loop(const vm_module *m) {
  uint32_t pc = 0;
  while (m->fns[0].code[pc].op != VM_OP_LOOP)
    pc++;
  return pc;
}

static const ir_list_facts lists[] = {{.trust = IR_GUARDED, .shape = 0x301},
                                      {.trust = IR_GUARDED, .shape = 0x200},
                                      {.trust = IR_GUARDED, .shape = 0xa04, .direct = true}};

/* Everything once; IR_OK only if all of it was. */
static ir_status all(ls_mem *mem, const vm_module *m) {
  ir_facts facts = {.lists = lists, .l2_bytes = 1 << 20};
  ir_region *r, *again = NULL;
  ir_refusal refusal;
  uint32_t line;
  char why[200];
  ir_status s = ir_build(m, 0, first_loop(m), &facts, mem, &r, &refusal);
  if (s != IR_OK)
    return s;
  s = ir_optimise(r, 3, true, NULL, NULL);
  char *text = s == IR_OK && !r->failed ? text_of(r) : NULL;
  if (text)
    s = ir_parse(mem, text, strlen(text), &again, &line, why, sizeof why);
  free(text);
  ir_region_delete(again);
  ir_region_delete(r);
  return s;
}

START_TEST(exhausted) {
  ls_mem *plenty = ls_mem_new(NULL), *mem = ls_mem_new(NULL);
  vm_module *m = compile(plenty);
  ls_mem_stats before, after;
  ls_mem_read_stats(mem, &before);
  ck_assert_int_eq(all(mem, m), IR_OK);
  ls_mem_read_stats(mem, &after);
  uint64_t allocations = after.allocs - before.allocs;
  ck_assert_uint_gt(allocations, 10);
  for (uint64_t n = 1; n <= allocations; n++) {
    ls_mem_fail_after(mem, n, 0);
    ir_status s = all(mem, m);
    ls_mem_fail_after(mem, 0, 0);
    ck_assert_msg(s == IR_NO_MEMORY || s == IR_OK, "allocation %llu: %d", (unsigned long long)n,
                  (int)s);
    ls_mem_read_stats(mem, &after);
    ck_assert_uint_eq(after.live_bytes, 0);
  }
  vm_module_release(m);
  ls_mem_delete(mem);
  ls_mem_delete(plenty);
}
END_TEST

int main(void) {
  Suite *s = suite_create("memory");
  TCase *t = tcase_create("memory");
  tcase_add_test(t, exhausted);
  suite_add_tcase(s, t);
  SRunner *r = srunner_create(s);
  srunner_run_all(r, CK_ENV);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed != 0;
}
