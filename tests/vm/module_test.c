/* The module itself: its arena, its life, its names, the facts of the tables. */
#include <check.h>
#include <stdint.h>
#include <string.h>

#include "tests/vm/support/assemble.h"
#include "vm/vm_names.h"
#include "vm/vm_tables.h"

static ls_mem *mem;

static void setup(void) {
  mem = ls_mem_new(NULL);
  ck_assert_ptr_nonnull(mem);
}

static void teardown(void) {
  ls_mem_stats stats;
  ls_mem_read_stats(mem, &stats);
  ck_assert_uint_eq(stats.live_bytes, 0);
  ls_mem_delete(mem);
}

START_TEST(the_arena_gives_zeroed_aligned_pieces) {
  vm_module *m = vm_module_new(mem, "x");
  static const size_t sizes[] = {0, 1, 15, 16, 17, 2000, 2048, 5000, 300000, 3, 70000, 8};
  char *last = NULL;
  for (unsigned round = 0; round < 20; round++)
    for (unsigned k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
      char *p = vm_module_alloc(m, sizes[k]);
      ck_assert_ptr_nonnull(p);
      ck_assert_uint_eq((uintptr_t)p % 16, 0);
      size_t zeros = 0;
      while (zeros < sizes[k] && p[zeros] == 0)
        zeros++;
      ck_assert_uint_eq(zeros, sizes[k]);
      memset(p, 0x5a, sizes[k]);
      ck_assert(p != last || sizes[k] == 0);
      last = sizes[k] ? p : last;
    }
  ck_assert_ptr_null(vm_module_alloc(m, SIZE_MAX));
  ck_assert_ptr_null(vm_module_text(m, "x", SIZE_MAX));
  vm_module_release(m);
}
END_TEST

START_TEST(small_modules_are_small) {
  ls_mem_stats stats;
  vm_module *m = vm_module_new(mem, "x");
  ls_mem_read_stats(mem, &stats);
  ck_assert_uint_lt(stats.live_bytes, 4096);
  vm_module_release(m);
}
END_TEST

START_TEST(the_last_release_ends_it) {
  ls_mem_stats stats;
  vm_module *m = vm_module_new(mem, "x");
  ck_assert_ptr_eq(vm_module_hold(m), m);
  vm_module_release(m);
  ck_assert_str_eq(m->source_name, "x");
  vm_module_release(m);
  vm_module_release(NULL);
  ls_mem_read_stats(mem, &stats);
  ck_assert_uint_eq(stats.live_bytes, 0);
}
END_TEST

START_TEST(source_names_become_text) {
  vm_module *m = vm_module_new(mem, "a\xff/\xc3\xa9.pure");
  ck_assert_str_eq(m->source_name, "a?/\xc3\xa9.pure");
  vm_module_release(m);
  m = vm_module_new(mem, NULL);
  ck_assert_str_eq(m->source_name, "");
  vm_module_release(m);
}
END_TEST

START_TEST(functions_are_found_by_name) {
  vm_module *m = assemble(mem, assemble_sample);
  ck_assert_int_eq(vm_module_find(m, "reach", false), 0);
  ck_assert_int_eq(vm_module_find(m, "note", false), 1);
  ck_assert_int_eq(vm_module_find(m, "half_of", false), -1);
  ck_assert_int_eq(vm_module_find(m, "half_of", true), 2);
  ck_assert_int_eq(vm_module_find(m, "none", true), -1);
  vm_module_release(m);
}
END_TEST

START_TEST(no_memory_no_module) {
  for (uint64_t n = 1; n <= 2; n++) {
    ls_mem_fail_after(mem, n, 1);
    ck_assert_ptr_null(vm_module_new(mem, "x"));
    ls_mem_fail_after(mem, 0, 0);
  }
}
END_TEST

START_TEST(verifying_twice_is_once) {
  vm_error err;
  vm_module *m = assemble(mem, assemble_sample);
  ck_assert_int_eq(vm_verify(m, &err), LS_OK);
  vm_module_release(m);
}
END_TEST

START_TEST(unverified_modules_are_not_written) {
  uint8_t *bytes;
  size_t len, cap;
  text_buffer t = {NULL, 0};
  vm_module *m = vm_module_new(mem, "x");
  ck_assert_int_eq(vm_save(m, mem, &bytes, &len, &cap), LS_UNSUITABLE);
  ck_assert(!vm_disasm(m, -1, text_write, &t));
  ck_assert_ptr_null(t.bytes);
  vm_module_release(m);
}
END_TEST

START_TEST(names_that_occur_twice_are_found) {
  const char *names[] = {"pear", "apple", "fig", "plum", "fig", "date"};
  ck_assert_str_eq(vm_names_repeated(names, 6), "fig");
  const char *unique[] = {"b", "a", "ab", "c", "ba"};
  ck_assert_ptr_null(vm_names_repeated(unique, 5));
  static const char *const sorted[] = {"a", "ab", "b", "ba", "c"};
  for (unsigned k = 0; k < 5; k++)
    ck_assert_str_eq(unique[k], sorted[k]);
  ck_assert_ptr_null(vm_names_repeated(names, 0));
  ck_assert_ptr_null(vm_names_repeated(names, 1));
}
END_TEST

/* Every row of the table is complete and holds together. */
START_TEST(the_tables_hold_together) {
  for (unsigned op = 0; op < VM_NOPS; op++) {
    const vm_op_facts *f = vm_op_read((vm_op)op);
    unsigned effects = vm_effects(f->effects), lists = 0;
    ck_assert_str_eq(f->name, vm_op_name((vm_op)op));
    ck_assert_uint_ne(effects, 0);
    ck_assert_int_eq((effects & VM_EFFECT_JUMP) != 0, vm_op_field(f, VM_OPD_OFF) >= 0);
    for (unsigned n = 0; n < 3; n++) {
      vm_operand o = f->operand[n];
      lists += o == VM_OPD_L || o == VM_OPD_LC || o == VM_OPD_SL;
      ck_assert_int_lt(o, VM_NOPERANDS);
    }
    ck_assert_uint_le(lists, 1);
    if (effects & (VM_EFFECT_READ | VM_EFFECT_WRITE))
      ck_assert_uint_eq(lists, 1);
    if (effects & VM_EFFECT_PURE)
      ck_assert_uint_eq(effects, VM_EFFECT_PURE);
  }
  for (unsigned a = 0; a < VM_NOPS; a++)
    for (unsigned b = 0; b < a; b++)
      ck_assert_str_ne(vm_op_name((vm_op)a), vm_op_name((vm_op)b));
}
END_TEST

START_TEST(builtins_have_arguments_and_a_result) {
  for (unsigned b = 0; b < VM_NBUILTINS; b++) {
    const vm_builtin_facts *f = vm_builtin_read((vm_builtin)b);
    ck_assert_uint_eq(strlen(f->result), 1);
    ck_assert_uint_le(strlen(f->args), VM_MAX_BUILTIN_ARGS);
    ck_assert_uint_eq(strspn(f->result, "IRBTD"), 1);
    ck_assert_uint_eq(strspn(f->args, "IRBTD"), strlen(f->args));
    ck_assert_uint_gt(f->cost, 0);
    for (unsigned c = 0; c < b; c++) {
      const vm_builtin_facts *g = vm_builtin_read((vm_builtin)c);
      ck_assert(strcmp(f->name, g->name) != 0 || strcmp(f->args, g->args) != 0);
    }
  }
}
END_TEST

START_TEST(numbers_outside_the_tables_have_no_name) {
  ck_assert_str_eq(vm_op_name(VM_NOPS), "?");
  ck_assert_uint_eq(vm_op_cost(VM_NOPS), 0);
  ck_assert_str_eq(vm_fault_name(VM_NFAULTS), "?");
  ck_assert_str_eq(vm_fault_message(VM_NFAULTS), "?");
  ck_assert_str_eq(vm_type_name((ls_type)LS_NTYPES), "?");
}
END_TEST

int main(void) {
  const TTest *const tests[] = {the_arena_gives_zeroed_aligned_pieces,
                                small_modules_are_small,
                                the_last_release_ends_it,
                                source_names_become_text,
                                functions_are_found_by_name,
                                no_memory_no_module,
                                verifying_twice_is_once,
                                unverified_modules_are_not_written,
                                names_that_occur_twice_are_found,
                                the_tables_hold_together,
                                builtins_have_arguments_and_a_result,
                                numbers_outside_the_tables_have_no_name};
  Suite *suite = suite_create("module");
  TCase *tcase = tcase_create("module");
  tcase_add_checked_fixture(tcase, setup, teardown);
  for (unsigned k = 0; k < sizeof tests / sizeof tests[0]; k++)
    tcase_add_test(tcase, tests[k]);
  suite_add_tcase(suite, tcase);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_ENV);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed != 0;
}
