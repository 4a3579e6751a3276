/* What the verifier refuses of single instructions and of declarations, whoever wrote the module:
 * a good module is assembled, one number in it is changed, and it is verified again. */
#include <check.h>
#include <string.h>

#include "tests/vm/support/assemble.h"

static ls_mem *mem;
static vm_module *m;

static void setup(void) {
  mem = ls_mem_new(NULL);
  ck_assert_ptr_nonnull(mem);
  m = assemble(mem, assemble_sample);
}

static void teardown(void) {
  ls_mem_stats stats;
  vm_module_release(m);
  ls_mem_read_stats(mem, &stats);
  ck_assert_uint_eq(stats.live_bytes, 0);
  ls_mem_delete(mem);
}

/* The module is ours alone, and so are its parts. */
static vm_fn *fn_at(unsigned f) { return (vm_fn *)&m->fns[f]; }
static vm_ins *ins_of(vm_op op) {
  for (unsigned f = 0; f < m->nfns; f++)
    for (uint32_t pc = 0; pc < m->fns[f].ncode; pc++)
      if (m->fns[f].code[pc].op == op)
        return (vm_ins *)&m->fns[f].code[pc];
  ck_abort_msg("the sample has no %s", vm_op_name(op));
}
static ls_schema *schema_at(unsigned l) { return (ls_schema *)&m->lists[l].schema; }
static ls_column *column_at(unsigned l, unsigned c) { return (ls_column *)&schema_at(l)->cols[c]; }

static void refused(const char *message) {
  vm_error err = {0};
  m->verified = false;
  ck_assert_int_eq(vm_verify(m, &err), LS_UNSUITABLE);
  if (!strstr(err.message, message))
    ck_abort_msg("expected: %s\nbut it says: %s", message, err.message);
}

static void accepted(void) {
  vm_error err = {0};
  m->verified = false;
  ls_status status = vm_verify(m, &err);
  if (status != LS_OK)
    ck_abort_msg("%s", err.message);
}

/* Sets a number, expects a refusal, and puts it back: what was there is accepted. */
#define WITH(place, value, message)                                                                \
  do {                                                                                             \
    __typeof__(place) *at = &(place), was = *at;                                                   \
    *at = (value);                                                                                 \
    refused(message);                                                                              \
    *at = was;                                                                                     \
    accepted();                                                                                    \
  } while (0)

START_TEST(operands_are_in_range) {
  WITH(ins_of(VM_OP_MOV)->op, VM_NOPS, "instruction number");
  WITH(ins_of(VM_OP_MOV)->c, 1, "an unused operand is 1; it must be 0");
  WITH(ins_of(VM_OP_MOV)->a, 40, "r40; the function has 40 registers");
  WITH(ins_of(VM_OP_MOV)->b, 65535, "r65535; the function has 40 registers");
  WITH(ins_of(VM_OP_LDI)->a, 40, "r40; the function has 40 registers");
  WITH(ins_of(VM_OP_ILT)->b, 20, "r20; the function has 20 registers");
  WITH(ins_of(VM_OP_ILT)->c, 20, "r20; the function has 20 registers");
  WITH(ins_of(VM_OP_LDB)->b, 2, "the number is 2; it must be 0 or 1");
  WITH(ins_of(VM_OP_LDK)->b, 10, "constant 10; there are 10");
  WITH(ins_of(VM_OP_RAISE)->a, VM_NFAULTS, "fault 12; there are 12");
  WITH(ins_of(VM_OP_BIF)->b, VM_NBUILTINS, "builtin ");
  WITH(ins_of(VM_OP_CALLX)->b, 2, "host function 2; there are 2");
  WITH(ins_of(VM_OP_LOOP)->a, 2, "loop 2; there are 2");
  WITH(ins_of(VM_OP_NEW)->a, 4, "list 4; the function has 4");
  WITH(ins_of(VM_OP_GET)->c, 4 << 8, "list 4; the function has 4");
  WITH(ins_of(VM_OP_GET)->c, 2 << 8 | 1, "column 1; queue has 1");
  WITH(ins_of(VM_OP_NEXT)->b, 255 << 8, "list 255; the function has 4");
}
END_TEST

START_TEST(blocks_end_within_the_registers) {
  WITH(ins_of(VM_OP_FIND)->a, 38, "3 registers from r38 on; the function has 40");
  WITH(ins_of(VM_OP_SEEK)->a, 37, "4 registers from r37 on; the function has 40");
  WITH(ins_of(VM_OP_NEXT)->a, 65533, "4 registers from r65533 on");
  WITH(ins_of(VM_OP_ADD)->a, 39, "2 registers from r39 on; the function has 40");
  WITH(ins_of(VM_OP_ENSURE)->a, 17, "4 registers from r17 on; the function has 20");
  WITH(ins_of(VM_OP_ENSURE)->b, 18, "3 registers from r18 on; the function has 20");
  WITH(ins_of(VM_OP_BIF)->c, 19, "2 registers from r19 on; the function has 20");
  WITH(ins_of(VM_OP_HAS)->b, 40, "r40; the function has 40");
  WITH(ins_of(VM_OP_CALLX)->a, 20, "r20; the function has 20");
}
END_TEST

START_TEST(jumps_lead_to_instructions_and_loops) {
  const vm_ins *jmp = ins_of(VM_OP_JMP);
  uint16_t there = (uint16_t)(m->fns[0].ncode - (uint32_t)(jmp - m->fns[0].code) - 1);
  WITH(ins_of(VM_OP_JMP)->a, there, "jumps out of the code");
  WITH(ins_of(VM_OP_JMP)->a, 32767, "jumps out of the code");
  WITH(ins_of(VM_OP_JMP)->a, (uint16_t)-32768, "jumps out of the code");
  WITH(ins_of(VM_OP_NEXT)->c, 30000, "jumps out of the code");
  WITH(ins_of(VM_OP_JT)->b, (uint16_t)-2, "which is no loop");
  WITH(ins_of(VM_OP_JMP)->a, (uint16_t)-1, "which is no loop");
  WITH(ins_of(VM_OP_NEXT)->c, (uint16_t)-3, "which is no loop");
}
END_TEST

START_TEST(loops_are_numbered_once) {
  WITH(ins_of(VM_OP_LOOP)->a, 1, "loop 1 a second time");
  WITH(fn_at(0)->nloops, 3, "3 loops declared, 2 in the code");
  WITH(fn_at(0)->nloops, 65535, "65535 loops declared; the code has");
  WITH(fn_at(1)->nloops, 1, "1 loops declared, 0 in the code");
}
END_TEST

START_TEST(code_ends_with_an_end) {
  WITH(fn_at(0)->ncode, m->fns[0].ncode - 1, "control falls off the end of the code");
  WITH(fn_at(1)->ncode, 0, "0 instructions; 1 to 32000 are possible");
  WITH(fn_at(1)->ncode, VM_MAX_CODE + 1, "32001 instructions; 1 to 32000 are possible");
}
END_TEST

START_TEST(lists_are_of_the_kind_that_is_needed) {
  WITH(ins_of(VM_OP_FIND)->b, 2, "queue has no key; a keyed list is needed");
  WITH(ins_of(VM_OP_HAS)->c, 2, "queue has no key; a keyed list is needed");
  WITH(ins_of(VM_OP_ENSURE)->c, 1, "log has no key; a keyed list is needed");
  WITH(ins_of(VM_OP_SORT)->a, 1, "seen has a key; a positional list is needed");
  WITH(ins_of(VM_OP_NEW)->a, 0, "edges is stored; a local list is needed");
  *ins_of(VM_OP_SORT) = (vm_ins){VM_OP_ROW, 5, 0, 1};
  refused("seen has a key; a positional list is needed");
}
END_TEST

START_TEST(positional_lists_are_neither_found_nor_counted_by_slice) {
  static const vm_op ops[] = {VM_OP_FIND, VM_OP_FINDJ, VM_OP_REFIND, VM_OP_PUT, VM_OP_ERASE};
  vm_ins *i = (vm_ins *)&m->fns[1].code[0];
  for (unsigned k = 0; k < sizeof ops / sizeof ops[0]; k++) {
    *i = (vm_ins){(uint16_t)ops[k], 0, 1, 0};
    refused("log has no key; a keyed list is needed");
  }
  *i = (vm_ins){VM_OP_SCOUNT, 0, 0, 1 << 8};
  refused("log has no key; a keyed list is needed");
}
END_TEST

START_TEST(slices_are_within_the_key) {
  WITH(ins_of(VM_OP_SEEK)->b, 2 << 8 | 1, "a slice by 1 key columns; queue has 0");
  WITH(ins_of(VM_OP_SEEK)->b, 2 << 8 | 32, "a slice by 1 key columns; queue has 0");
  WITH(ins_of(VM_OP_SEEK)->b, 0 << 8 | 3, "a slice by 3 key columns; edges has 2");
  WITH(ins_of(VM_OP_SEEK)->b, 1 << 8 | 1 | 64, "a slice by 2 key columns; seen has 1");
}
END_TEST

START_TEST(counts_are_not_tracked) {
  vm_ins *i = ins_of(VM_OP_SORT);
  *i = (vm_ins){VM_OP_SCOUNT, 30, 0, 0};
  accepted();
  i->c = 128;
  refused("a count cannot be tracked");
  i->c = 3;
  refused("a slice by 3 key columns; edges has 2");
  i->c = 2 | 64;
  refused("a slice by 3 key columns; edges has 2");
}
END_TEST

START_TEST(sorts_are_by_columns) {
  vm_ins *i = ins_of(VM_OP_SORT);
  vm_const *by = (vm_const *)&m->consts[i->b];
  WITH(i->b, 0, "sorts by constant 0, a text; an int is needed");
  WITH(by->value.u, UINT64_MAX, "sorts by no column");
  WITH(by->value.u, 0xff02, "sorts by column 1; queue has 1");
  WITH(by->value.u, 0xff7e00, "sorts by column 63; queue has 1");
}
END_TEST

START_TEST(a_sort_may_have_eight_keys) {
  vm_const *by = (vm_const *)&m->consts[ins_of(VM_OP_SORT)->b];
  by->value.u = UINT64_C(0x0100010001000100);
  accepted();
  by->value.u = UINT64_C(0x0200010001000100);
  refused("sorts by column 1; queue has 1");
}
END_TEST

START_TEST(key_columns_are_not_set) {
  WITH(ins_of(VM_OP_SET)->c, 0, "d is a key column of mixed, and those are never set");
  WITH(ins_of(VM_OP_SET)->c, 1, "b is a key column of mixed, and those are never set");
}
END_TEST

START_TEST(only_fns_are_called) {
  vm_ins *i = (vm_ins *)&m->fns[1].code[0];
  *i = (vm_ins){VM_OP_CALL, 0, 0, 0};
  refused("calls reach, which is no fn");
  i->b = 1;
  refused("calls note, which is no fn");
  i->b = 3;
  refused("function 3; there are 3");
}
END_TEST

START_TEST(results_have_a_register) {
  static const char *const calls[] = {"call r0, f", "callx r0, x"};
  text_buffer t = {NULL, 0};
  for (unsigned regs = 0; regs < 2; regs++)
    for (unsigned k = 0; k < 2; k++) {
      text_add(&t, "pure extern x(): int\nfn f(): int { regs 1 ldi r0, 1 retv r0 }\n");
      text_add(&t, "query q() { regs %u %s ret }", regs, calls[k]);
      if (regs)
        vm_module_release(assemble(mem, t.bytes));
      else
        assemble_refused(mem, t.bytes, "r0; the function has 0 registers");
      text_free(&t);
    }
  text_add(
      &t,
      "pure extern x()\nfn f() { regs 0 ret }\nquery q() { regs 0 call r0, f callx r0, x ret }");
  vm_module_release(assemble(mem, t.bytes));
  text_free(&t);
}
END_TEST

START_TEST(names_are_identifiers) {
  static const char *const bad[] = {"", "1a", "a b", "a-b", "\xc3\xa9", NULL};
  for (unsigned k = 0; k < sizeof bad / sizeof bad[0]; k++) {
    WITH(schema_at(0)->name, bad[k], "the name of a list is not an identifier");
    WITH(column_at(1, 2)->name, bad[k], "the name of a column is not an identifier");
    WITH(fn_at(1)->name, bad[k], "the name of a function is not an identifier");
    WITH(((vm_param *)fn_at(0)->params)->name, bad[k], "the name of a parameter");
    WITH(((vm_param *)fn_at(0)->result_cols)->name, bad[k], "the name of a parameter");
    WITH(((vm_extern *)m->externs)->name, bad[k], "the name of a host function");
  }
  char name[VM_MAX_NAME + 2];
  memset(name, 'n', sizeof name);
  name[VM_MAX_NAME + 1] = 0;
  WITH(schema_at(0)->name, name, "the name of a list is not an identifier of at most 255 bytes");
  name[VM_MAX_NAME] = 0;
  schema_at(0)->name = name;
  accepted();
}
END_TEST

START_TEST(names_are_unique) {
  WITH(schema_at(1)->name, "edges", "two stored lists are named edges");
  WITH(column_at(0, 1)->name, "from", "list edges has two columns named from");
  WITH(fn_at(2)->name, "reach", "two functions are named reach");
  WITH(((vm_extern *)m->externs)->name, "tell", "two host functions are named tell");
  WITH(((vm_param *)fn_at(1)->params)->name, "n", "it has two parameters or columns named n");
  WITH(((vm_param *)fn_at(0)->result_cols)->name, "depth", "the result has two parameters or");
}
END_TEST

START_TEST(types_are_types) {
  WITH(column_at(0, 0)->type, (ls_type)LS_NTYPES, "from has type number 5, which there is not");
  WITH(((vm_param *)fn_at(0)->params)->type, (ls_type)77, "start has type number 77");
  WITH(((vm_const *)m->consts)->type, (ls_type)5, "a constant has type number 5");
  WITH(fn_at(2)->result_type, (ls_type)5, "the result has type number 5");
  WITH(((vm_extern *)m->externs)->result_type, (ls_type)9, "hash has type number 9");
}
END_TEST

START_TEST(schemas_hold_together) {
  WITH(column_at(1, 4)->declared, 5, "list mixed: columns are not declared in an order 0 .. 4");
  WITH(column_at(1, 4)->declared, 1, "list mixed: columns are not declared in an order 0 .. 4");
  WITH(schema_at(0)->nkeys, 3, "list edges has 3 key columns of 2");
  WITH(schema_at(0)->ncols, 0, "list edges has 0 columns; 1 to 255 are possible");
  WITH(schema_at(0)->ncols, 256, "list edges has 256 columns; 1 to 255 are possible");
  WITH(((vm_listdef *)m->lists)[0].stored, false, "list 0: stored lists come first");
  WITH(((vm_listdef *)m->lists)[3].stored, true, "list 3: stored lists come first");
  WITH(m->nstored, 7, "6 lists, 7 of them stored");
}
END_TEST

START_TEST(constants_are_values) {
  vm_const *k = (vm_const *)m->consts;
  WITH(k[0].text,
       "\xff"
       "b\xc0\x80"
       "defghijklmnop",
       "constant 0 is no valid text");
  WITH(k[3].value.u, UINT64_C(0x7ff8000000000001), "constant 3 is no valid real");
  WITH(k[3].value.u, UINT64_C(0xfff8000000000000), "constant 3 is no valid real");
  WITH(k[5].value.i, LS_DATE_MAX + 1, "constant 5 is no valid date");
  WITH(k[5].value.i, -1, "constant 5 is no valid date");
  WITH(k[6].value.u, 2, "constant 6 is no valid bool");
  WITH(m->nconsts, 65537, "65537 constants; at most 65536 are possible");
}
END_TEST

START_TEST(functions_have_what_they_use) {
  WITH(fn_at(0)->kind, (vm_fn_kind)3, "its kind is number 3");
  WITH(fn_at(0)->result, (vm_result_kind)3, "the kind of its result is number 3");
  WITH(fn_at(0)->kind, VM_FN, "a fn cannot return rows");
  WITH(fn_at(0)->nresult, 0, "a result of rows needs a column");
  WITH(fn_at(0)->nresult, 256, "the result has 256 parameters or columns; at most 255");
  WITH(fn_at(0)->nparams, 65, "it has 65 parameters or columns; at most 64 are possible");
  WITH(fn_at(0)->nregs, 4097, "4097 registers; 1 parameters to 4096 are possible");
  WITH(fn_at(1)->nregs, 1, "1 registers; 2 parameters to 4096 are possible");
  WITH(fn_at(0)->nlists, 256, "256 lists; at most 255 are possible");
  WITH(((uint16_t *)fn_at(0)->lists)[0], 6, "its list 0 is list 6 of the module, which has 6");
  WITH(((uint16_t *)fn_at(1)->lists)[0], 2, "it lists log twice");
  WITH(((uint16_t *)fn_at(1)->lists)[0], 3, "the local list seen belongs to another function");
  WITH(((vm_extern *)m->externs)->result, VM_RESULT_ROWS, "hash: its result is neither nothing");
  WITH(m->nfns, 65536, "65536 functions; at most 65535 are possible");
  WITH(m->nexterns, 65536, "65536 host functions; at most 65535 are possible");
}
END_TEST

START_TEST(keys_are_sixteen_at_most) {
  text_buffer t = {NULL, 0};
  for (unsigned n = 16; n <= 17; n++) {
    text_add(&t, "list l (c0: int");
    for (unsigned c = 1; c < n; c++)
      text_add(&t, ", c%u: int", c);
    text_add(&t, ") key (c0");
    for (unsigned c = 1; c < n; c++)
      text_add(&t, ", c%u", c);
    text_add(&t, ")\n");
    if (n == 16)
      vm_module_release(assemble(mem, t.bytes));
    else
      assemble_refused(mem, t.bytes, "list l has 17 key columns of 17; at most 16 are possible");
    text_free(&t);
  }
}
END_TEST

int main(void) {
  const TTest *const tests[] = {operands_are_in_range,
                                blocks_end_within_the_registers,
                                jumps_lead_to_instructions_and_loops,
                                loops_are_numbered_once,
                                code_ends_with_an_end,
                                lists_are_of_the_kind_that_is_needed,
                                positional_lists_are_neither_found_nor_counted_by_slice,
                                slices_are_within_the_key,
                                counts_are_not_tracked,
                                sorts_are_by_columns,
                                a_sort_may_have_eight_keys,
                                key_columns_are_not_set,
                                only_fns_are_called,
                                names_are_identifiers,
                                names_are_unique,
                                types_are_types,
                                schemas_hold_together,
                                constants_are_values,
                                functions_have_what_they_use,
                                keys_are_sixteen_at_most,
                                results_have_a_register};
  Suite *suite = suite_create("verify_code");
  TCase *tcase = tcase_create("numbers");
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
