/* Assembly text: round trips with modules and bytes, what it refuses and where. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/vm/support/assemble.h"
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

typedef struct {
  uint8_t *bytes;
  size_t len, cap;
} saved;

static saved save(const vm_module *m) {
  saved s;
  ck_assert_int_eq(vm_save(m, mem, &s.bytes, &s.len, &s.cap), LS_OK);
  return s;
}

static void drop(saved *s) { ls_mem_free(mem, s->bytes, s->cap); }

static bool same(const saved *x, const saved *y) {
  return x->len == y->len && memcmp(x->bytes, y->bytes, x->len) == 0;
}

/* text -> module -> text -> module: the same bytes; and bytes -> module -> text: the same text. */
static void round_trip(const char *text) {
  text_buffer first = {NULL, 0}, second = {NULL, 0};
  vm_error err;
  vm_module *loaded, *m = assemble(mem, text);
  ck_assert(vm_disasm(m, -1, text_write, &first));
  vm_module *again = assemble(mem, first.bytes);
  saved a = save(m), b = save(again);
  if (!same(&a, &b))
    ck_abort_msg("other bytes after:\n%s", first.bytes);
  ck_assert_int_eq(vm_load(mem, "file", a.bytes, a.len, &loaded, &err), LS_OK);
  ck_assert(vm_disasm(loaded, -1, text_write, &second));
  ck_assert_str_eq(first.bytes, second.bytes);
  drop(&a);
  drop(&b);
  vm_module_release(m);
  vm_module_release(again);
  vm_module_release(loaded);
  text_free(&first);
  text_free(&second);
}

START_TEST(the_sample_goes_round) { round_trip(assemble_sample); }
END_TEST

START_TEST(nothing_goes_round) { round_trip(""); }
END_TEST

START_TEST(all_constants_go_round) {
  round_trip("const a int -9223372036854775808\nconst b int 9223372036854775807\n"
             "const c int 0x8000000000000000\nconst d real 1e-310\nconst e real -0.0\n"
             "const f real inf\nconst g real -inf\nconst h real nan\nconst i real 0x1\n"
             "const j real 1.7976931348623157e308\nconst k date \"0001-01-01\"\n"
             "const l date \"9999-12-31\"\nconst m bool true\nconst n bool false\n"
             "const o text \"\"\nconst p text \"\\u{1}\\u{7f}\\t\\r\\n\\\\\\\"\\u{10ffff}\"\n"
             "const q real 0.1\nconst r real 123456789012345680000.0\n");
}
END_TEST

START_TEST(texts_are_what_they_say) {
  vm_module *m = assemble(mem, "const a text \"x\\u{e9}\\u{20ac}\\u{1f600}\\u{1}\\\\\\n\"");
  static const char bytes[] = "x\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\1\\\n";
  ck_assert_uint_eq(m->consts[0].text_len, sizeof bytes - 1);
  ck_assert_mem_eq(m->consts[0].text, bytes, sizeof bytes - 1);
  vm_module_release(m);
}
END_TEST

START_TEST(reals_are_what_they_say) {
  vm_module *m = assemble(mem, "const a real 0.1 const b real 0x3ff8000000000000 const c real nan");
  ck_assert(m->consts[0].value.r == 0.1);
  ck_assert(m->consts[1].value.r == 1.5);
  ck_assert_uint_eq(m->consts[2].value.u, UINT64_C(0x7ff8000000000000));
  vm_module_release(m);
}
END_TEST

/* Column orders: declared, key first, rest in another order. */
START_TEST(schemas_go_round) {
  round_trip("list a (x: int)\nlist b (x: int, y: real, z: text) key (z, x)\n"
             "list c (x: int, y: real, z: text) key (y) rest (z, x)\n"
             "list d (x: int, y: real, z: text) rest (z, y, x)\n"
             "list e (key: int, rest: int) key (key)\n");
  vm_module *m = assemble(mem, "list b (x: int, y: real, z: text) key (z, x)");
  const ls_schema *s = &m->lists[0].schema;
  ck_assert_uint_eq(s->nkeys, 2);
  ck_assert_str_eq(s->cols[0].name, "z");
  ck_assert_uint_eq(s->cols[0].declared, 2);
  ck_assert_str_eq(s->cols[2].name, "y");
  ck_assert_uint_eq(s->cols[2].declared, 1);
  vm_module_release(m);
}
END_TEST

/* An instruction for every row of the table, with operands that are right for its kinds; not
 * type-correct, hence behind a ret. */
static void add_operand(text_buffer *t, vm_operand kind, const char *list, const char *column) {
  switch (kind) {
  case VM_OPD__:
    break;
  case VM_OPD_S16:
    text_add(t, "-32768");
    break;
  case VM_OPD_S32:
    text_add(t, "-2147483648");
    break;
  case VM_OPD_U1:
    text_add(t, "1");
    break;
  case VM_OPD_K:
    text_add(t, "by");
    break;
  case VM_OPD_FK:
    text_add(t, "div_zero");
    break;
  case VM_OPD_OFF:
    text_add(t, "end");
    break;
  case VM_OPD_L:
    text_add(t, "%s", list);
    break;
  case VM_OPD_LC:
    text_add(t, "%s.%s", list, column);
    break;
  case VM_OPD_SL:
    text_add(t, "%s[0]", list);
    break;
  case VM_OPD_FN:
    text_add(t, "f");
    break;
  case VM_OPD_XF:
    text_add(t, "x");
    break;
  case VM_OPD_BF:
    text_add(t, "slice");
    break;
  case VM_OPD_LP:
    text_add(t, "0");
    break;
  default:
    text_add(t, "r7");
  }
}

START_TEST(every_instruction_goes_round) {
  for (unsigned op = 0; op < VM_NOPS; op++) {
    const vm_op_facts *facts = vm_op_read((vm_op)op);
    bool keyed = vm_op_list_rule((vm_op)op) == VM_KEYED_LIST;
    const char *list = keyed ? "k" : "p";
    text_buffer t = {NULL, 0};
    text_add(&t,
             "const by int 0xff00\nlocal k (a: int, b: int) key (a)\nlocal p (b: int)\n"
             "pure extern x()\nfn f() { regs 0 ret }\nevent e() { regs 20 lists k, p loops %u "
             "ret %s ",
             op == VM_OP_LOOP, facts->name);
    for (unsigned n = 0, some = 0; n < 3; n++) {
      if (facts->operand[n] != VM_OPD__ && some++)
        text_add(&t, ", ");
      add_operand(&t, facts->operand[n], list, "b");
    }
    text_add(&t, " end: ret }");
    round_trip(t.bytes);
    text_free(&t);
  }
}
END_TEST

START_TEST(every_builtin_and_fault_goes_round) {
  text_buffer t = {NULL, 0};
  char id[64];
  text_add(&t, "event e() { regs 9 ret\n");
  for (unsigned b = 0; b < VM_NBUILTINS; b++) {
    vm_id_lower(vm_builtin_read((vm_builtin)b)->id, id, sizeof id);
    text_add(&t, "bif r1, %s, r2\n", id);
  }
  for (unsigned f = 0; f < VM_NFAULTS; f++) {
    vm_id_lower(vm_fault_id((vm_fault_kind)f), id, sizeof id);
    text_add(&t, "raise %s\n", id);
  }
  text_add(&t, "}");
  round_trip(t.bytes);
  text_free(&t);
}
END_TEST

START_TEST(slices_go_round) {
  text_buffer t = {NULL, 0};
  text_add(&t, "list l (a: int, b: int, c: int) key (a, b, c)\nquery q() { regs 30 lists l ret\n");
  static const char *const specs[] = {"0", "0 lo", "0 hi tracked", "1 lo hi", "2 hi", "3 tracked"};
  for (unsigned k = 0; k < sizeof specs / sizeof specs[0]; k++)
    text_add(&t, "seek r1, l[%s]\n", specs[k]);
  text_add(&t, "ret }");
  round_trip(t.bytes);
  text_free(&t);
}
END_TEST

START_TEST(positions_go_round) {
  round_trip("query q() { regs 2 ldi r1, 1 @0:0 ldi r1, 2 ret }");
  round_trip("query q() { regs 2 ldi r1, 1 @4294967295:4294967295 ldi r1, 2 @1:1 ret @1:2 }");
  vm_module *m = assemble(mem, "query q() { regs 2 ldi r1, 1 @3:4 ldi r1, 2 ret @5:6 }"
                               "query p() { regs 0 ret }");
  const vm_pos *pos = m->fns[0].pos;
  ck_assert_uint_eq(pos[0].line, 3);
  ck_assert_uint_eq(pos[1].column, 4);
  ck_assert_uint_eq(pos[2].line, 5);
  ck_assert_ptr_null(m->fns[1].pos);
  vm_module_release(m);
  assemble_refused(mem, "query q() { regs 2 ldi r1, 1 ret @5:6 }",
                   "the first instruction needs a position too");
}
END_TEST

START_TEST(one_function_can_be_shown_alone) {
  text_buffer t = {NULL, 0};
  vm_module *m = assemble(mem, assemble_sample);
  ck_assert(vm_disasm(m, 2, text_write, &t));
  ck_assert_str_eq(t.bytes, "\nfn half_of(x: real): real {\n"
                            "  regs 2 loops 0\n"
                            "  ldk r1, k1  -- 0.5\n"
                            "  rmul r0, r0, r1\n"
                            "  retv r0\n"
                            "}\n");
  text_free(&t);
  vm_module_release(m);
}
END_TEST

static bool stop(void *left, const char *bytes, size_t len) {
  (void)bytes;
  (void)len;
  return (*(int *)left)-- > 0;
}

START_TEST(a_writer_may_stop) {
  vm_module *m = assemble(mem, assemble_sample);
  for (int left = 0; left < 200; left += 7) {
    int n = left;
    ck_assert(!vm_disasm(m, -1, stop, &n));
    ck_assert_int_eq(n, -1);
  }
  vm_module_release(m);
}
END_TEST

START_TEST(wrong_text_is_refused) {
  static const struct {
    const char *text, *message;
  } cases[] = {
      {"lists a", "`lists`; source, const, list, local, extern, fn, query or event was expected"},
      {"pure fn f() {}", "`fn`; `extern` was expected"},
      {"list l (a int)", "`int`; `:` was expected"},
      {"list l (a: number)", "`number`; int, real, bool, text or date was expected"},
      {"list l (a: int", "the text ends; `,` was expected"},
      {"list 7 (a: int)", "`7`; a name was expected"},
      {"list l (a: int) key (b)", "there is no column `b`"},
      {"list l (a: int) key (a, a)", "more key columns than columns"},
      {"list l (a: int, b: int) key (a, a)", "columns are not declared in an order"},
      {"list l (a: int) list l (a: int)", "`l` is there twice"},
      {"local l (a: int) list m (a: int)", "list 1: stored lists come first"},
      {"const a int 9223372036854775808", "is no number of 64 bits"},
      {"const a int 0x10000000000000000", "is no number of 64 bits"},
      {"const a int x", "`x`; a number was expected"},
      {"const a real 1.5.2", "`1.5.2` is no real"},
      {"const a real \"x\"", "`x` is no real"},
      {"const a bool maybe", "`maybe`; `false` was expected"},
      {"const a date 1998", "a date such as \"1998-09-02\" was expected"},
      {"const a date \"1999-02-29\"", "a date such as"},
      {"const a text hello", "`hello`; a text in quotes was expected"},
      {"const a text \"hello", "the text does not end on its line"},
      {"const a text \"\\q\"", "are the escapes there are"},
      {"const a text \"\\u{110000}\"", "are the escapes there are"},
      {"const a text \"\\u{}\"", "are the escapes there are"},
      {"const a text \"\\u{d800}\"", "not UTF-8 without NUL"},
      {"const a text \"\xff\"", "not UTF-8 without NUL"},
      {"source \"a\\u{0}b\"", "not UTF-8 without NUL"},
      {"query q() { ret }", "`ret`; `regs` was expected"},
      {"query q() { regs 4097 ret }", "4097; 0 to 4096 are possible"},
      {"query q() { regs 0 ret", "`q` has no closing `}`"},
      {"query q() { regs 0 go }", "there is no instruction `go`"},
      {"query q() { regs 1 mov r0 }", "`}`; `,` was expected"},
      {"query q() { regs 1 mov r0, r01 }", "`r01`; a register r0 to r4095 was expected"},
      {"query q() { regs 1 mov r0, r4096 }", "a register r0 to r4095 was expected"},
      {"query q() { regs 1 mov r0, x }", "`x`; a register r0 to r4095 was expected"},
      {"query q() { regs 1 ldi r0, 2147483648 ret }", "2147483648; -2147483648 to 2147483647"},
      {"query q() { regs 1 ldb r0, 2 ret }", "2; 0 to 1 are possible"},
      {"query q() { regs 1 ldk r0, nothing ret }", "there is no constant `nothing`"},
      {"query q() { regs 1 call r0, nothing ret }", "there is no function `nothing`"},
      {"query q() { regs 1 callx r0, nothing ret }", "there is no host function `nothing`"},
      {"query q() { regs 1 bif r0, nothing, r0 ret }", "there is no builtin `nothing`"},
      {"query q() { raise nothing }", "regs"},
      {"query q() { regs 0 raise nothing }", "there is no fault `nothing`"},
      {"query q() { regs 0 jmp nowhere }", "there is no label `nowhere`"},
      {"query q() { regs 0 a: a: ret }", "`a` is there twice"},
      {"query q() { regs 0 lists l ret }", "there is no list `l`"},
      {"query q() { regs 0 count r0, l ret }", "there is no list in this function `l`"},
      {"list l (a: int) query q() { regs 1 lists l get r0, r0, l.b ret }", "l has no column `b`"},
      {"list l (a: int) query q() { regs 1 lists l seek r0, l[x] ret }", "`x`; a number was"},
      {"local l (a: int) local l (a: int) query q() { regs 0 lists l ret }",
       "there are several lists `l`: write `l#number`"},
      {"local l (a: int) local k (a: int) query q() { regs 0 lists l#1 ret }",
       "the list of that number has another name"},
      {"local l (a: int) local k (a: int) query q() { regs 0 lists l, k new l#1 ret }",
       "list 1 of the function has another name"},
      {"query q() { regs 0 ret } query q() { regs 0 ret }", "`q` is there twice"},
      {"query q() { regs 0 ret } ?", "`?`; source, const"},
  };
  for (unsigned k = 0; k < sizeof cases / sizeof cases[0]; k++)
    assemble_refused(mem, cases[k].text, cases[k].message);
}
END_TEST

START_TEST(errors_have_a_place) {
  vm_module *m;
  vm_error err;
  const char *text = "-- a comment\n\nquery q() {\n  regs 1\n  ldk r0, none\n}\n";
  ck_assert_int_eq(vm_asm(mem, "x", text, strlen(text), &m, &err), LS_UNSUITABLE);
  ck_assert_uint_eq(err.line, 5);
  ck_assert_uint_eq(err.column, 11);
}
END_TEST

/* The module between the first line that begins like this and the next empty line. */
static char *page_example(const char *begin) {
  const char *root = getenv("SRC");
  char path[4096], *text = calloc(1, 1 << 16), *example = calloc(1, 1 << 16);
  snprintf(path, sizeof path, "%s/docs/bytecode.md", root ? root : ".");
  FILE *file = fopen(path, "r");
  ck_assert(text && example && file);
  size_t n = fread(text, 1, (1 << 16) - 1, file);
  fclose(file);
  char *at = strstr(text, begin);
  ck_assert(at && n > 0);
  char *end = strstr(at, "\n\n");
  memcpy(example, at, (size_t)(end - at));
  free(text);
  return example;
}

START_TEST(the_example_of_the_page_assembles) {
  char *example = page_example("    list items (");
  round_trip(example);
  free(example);
}
END_TEST

/* The text may be cut anywhere: refused or accepted, never read past its end. */
START_TEST(cut_texts_do_no_harm) {
  size_t len = strlen(assemble_sample);
  for (size_t n = 0; n < len; n++) {
    vm_module *m = NULL;
    vm_error err;
    char *cut = malloc(n ? n : 1);
    memcpy(cut, assemble_sample, n);
    if (vm_asm(mem, "cut", cut, n, &m, &err) == LS_OK)
      vm_module_release(m);
    free(cut);
  }
}
END_TEST

START_TEST(memory_may_run_out) {
  size_t len = strlen(assemble_sample);
  vm_module *m = NULL;
  vm_error err;
  uint64_t n = 0;
  ls_status status = LS_NOMEM;
  while (status == LS_NOMEM) {
    ls_mem_fail_after(mem, ++n, 1);
    status = vm_asm(mem, "test", assemble_sample, len, &m, &err);
    ls_mem_fail_after(mem, 0, 0);
    if (status == LS_NOMEM)
      ck_assert_str_eq(err.message, "out of memory");
  }
  ck_assert_int_eq(status, LS_OK);
  ck_assert_uint_gt(n, 10);
  for (uint64_t k = 1; k < 3; k++) {
    text_buffer t = {NULL, 0};
    ls_mem_fail_after(mem, k, 1);
    ck_assert(!vm_disasm(m, -1, text_write, &t));
    ls_mem_fail_after(mem, 0, 0);
    text_free(&t);
  }
  vm_module_release(m);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {the_sample_goes_round,
                                nothing_goes_round,
                                all_constants_go_round,
                                texts_are_what_they_say,
                                reals_are_what_they_say,
                                schemas_go_round,
                                every_instruction_goes_round,
                                every_builtin_and_fault_goes_round,
                                slices_go_round,
                                positions_go_round,
                                one_function_can_be_shown_alone,
                                a_writer_may_stop,
                                wrong_text_is_refused,
                                errors_have_a_place,
                                the_example_of_the_page_assembles,
                                cut_texts_do_no_harm,
                                memory_may_run_out};
  Suite *suite = suite_create("asm");
  TCase *tcase = tcase_create("text");
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
