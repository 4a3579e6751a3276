/* The code that comes out: no needless moves, constants folded, loops and rows as they should be.
 */
#include <check.h>
#include <string.h>

#include "tests/lang/support/compile.h"

static ls_mem *mem;
static vm_module *m;

static void setup(void) {
  mem = ls_mem_new(NULL);
  ck_assert_ptr_nonnull(mem);
  m = NULL;
}

static void teardown(void) {
  ls_mem_stats stats;
  vm_module_release(m);
  ls_mem_read_stats(mem, &stats);
  ck_assert_uint_eq(stats.live_bytes, 0);
  ls_mem_delete(mem);
}

/* The function f of a program consists of these instructions. */
static const vm_fn *expect(const char *text, const char *ops) {
  char names[4096];
  vm_module_release(m);
  m = compile_fine(mem, text);
  const vm_fn *fn = find_fn(m, "f");
  op_names(fn, names, sizeof names);
  ck_assert_str_eq(names, ops);
  return fn;
}

#define EDGES "list edges (from: int, to: int) key (from, to)\n"

START_TEST(breadth_first_search) {
  m = compile_fine(mem, EDGES "query f(start: int): (node: int, depth: int) {\n"
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
                              "}\n");
  char names[4096];
  op_names(find_fn(m, "f"), names, sizeof names);
  ck_assert_str_eq(names, "new new mov ldi put add "
                          "seek loop next get find get iaddk "
                          "get seek loop next get has jt get mov put get add jmp "
                          "retl");
}
END_TEST

START_TEST(arguments_are_made_in_place) {
  expect("fn g(a: int, b: int): int { return a }\n"
         "fn f(x: int): int { return g(x + 1, g(x * x, 3)) }\n",
         "iaddk imul ldi call call retv");
  expect("fn g(a: int): int { return a }\n"
         "fn f(x: int): int {\n  let y = g(x)\n  return y\n}\n",
         "mov call retv");
  expect("fn f(t: text): text { return t + \"a\" + t }\n", "mov ldk bif mov bif retv");
  expect("fn f(x: real): real { return sqrt(x) }\n", "bif retv");
  expect("list l (a: int, b: int) key (a)\n"
         "event f(x: int) {\n  put l (x + 1, x * 2)\n  add l (x, x)\n}\n",
         "iaddk ldi imul put mov mov add ret");
  expect("list l (a: int)\nevent f(x: int) { add l (x) }\n", "add ret");
}
END_TEST

START_TEST(values_are_permuted_into_schema_order) {
  const vm_fn *fn = expect("list l (v: int, k: int) key (k)\n"
                           "event f(x: int, y: int) { put l (x, y) }\n",
                           "mov mov put ret");
  ck_assert_uint_eq(fn->code[0].a, fn->code[2].a + 1); /* x is the value */
  ck_assert_uint_eq(fn->code[0].b, 0);
  ck_assert_uint_eq(fn->code[1].a, fn->code[2].a); /* y is the key */
  ck_assert_uint_eq(m->lists[0].schema.cols[0].declared, 1);
}
END_TEST

START_TEST(variables_change_in_place) {
  expect("fn f(x: int): int {\n  var s = 0\n  s += x\n  s = s * x + s\n  s -= 1\n  return s\n}\n",
         "ldi iadd imul iadd iaddk retv");
  expect("fn f(b: bool): bool {\n  var s = b\n  s = s and not s\n  return s\n}\n",
         "mov mov jf not mov retv");
}
END_TEST

START_TEST(constants_are_folded) {
  expect("fn f(): int { return (2 + 3) * 4 - 10 / 3 % 2 }\n", "ldi retv");
  expect("fn f(): int {\n  let a = 6\n  let b = a * 7\n  if b = 42 { return b }\n  return 0\n}\n",
         "ldi ldi retv");
  expect(
      "fn f(): bool { return \"a\" < \"b\" and date \"2000-01-01\" + 1 = date \"2000-01-02\" }\n",
      "ldb retv");
  expect("fn f(n: int): int {\n  if false { return 1 / 0 }\n  while false { f(n) }\n"
         "  for i in 2..1 { f(i) }\n  return if true then n else f(n)\n}\n",
         "retv");
  expect("fn f(n: int): int {\n  while true {\n    if n > 0 or true { return n }\n  }\n}\n",
         "ldi loop ilt jt retv");
}
END_TEST

START_TEST(faulting_constants_stay_code) {
  expect("fn f(): int { return 1 / 0 }\n", "ldi ldi idiv retv");
  expect("fn f(): int { return 9223372036854775807 + 1 }\n", "ldk iaddk retv");
  expect("fn f(): real { return 0.0 / 0.0 }\n", "ldk ldk rdiv retv");
  expect("fn f(): int { return int(1e30) }\n", "ldk bif retv");
}
END_TEST

START_TEST(small_numbers_are_added_at_once) {
  const vm_fn *fn = expect("fn f(x: int): int { return x - 32768 }\n", "iaddk retv");
  ck_assert_int_eq((int16_t)fn->code[0].c, -32768);
  fn = expect("fn f(x: int): int { return 32767 + x }\n", "iaddk retv");
  ck_assert_int_eq((int16_t)fn->code[0].c, 32767);
  expect("fn f(x: int): int { return x + 32768 }\n", "ldi iadd retv");
  expect("fn f(x: int): int { return x - -32768 }\n", "ldi isub retv");
  expect("fn f(x: int): int { return 5 - x }\n", "ldi isub retv");
}
END_TEST

START_TEST(conditions_branch_directly) {
  expect("fn f(a: int, b: int): int {\n  if a < b and b < 9 or a = 3 { return 1 }\n  return 2\n}\n",
         "ilt jf ldi ilt jt ldi ieq jf ldi retv ldi retv");
  expect("fn f(a: bool): int {\n  if not a { return 1 }\n  return 2\n}\n", "jt ldi retv ldi retv");
  expect(EDGES
         "query f(a: int): bool {\n  if (a, a) not in edges { return true }\n  return false\n}\n",
         "mov mov has jt ldb retv ldb retv");
}
END_TEST

START_TEST(loops_have_their_forms) {
  expect("fn f(n: int): int {\n  var s = 0\n  while s < n { s += 1 }\n  return s\n}\n",
         "ldi loop ilt jf iaddk jmp retv");
  expect("fn f(n: int): int {\n  var s = 0\n  for i in 1..n { s += i }\n  return s\n}\n",
         "ldi ldi ile jf loop iadd ilt jf iaddk jmp retv");
  expect("fn f(): int {\n  var s = 0\n  for i in 1..9 { s += i }\n  return s\n}\n",
         "ldi ldi ldi loop iadd ilt jf iaddk jmp retv"); /* not empty: no test before */
  expect("fn f(n: int): int {\n  var m = n\n  for i in 1..m { m += 1 }\n  return m\n}\n",
         "mov ldi mov ile jf loop iaddk ilt jf iaddk jmp retv"); /* the end is kept */
}
END_TEST

START_TEST(constants_of_loops_stay_in_registers) {
  expect("fn f(n: int): int {\n  var s = 0\n  for i in 1..n { s += i * i % 7 }\n  return s\n}\n",
         "ldi ldi ldi ile jf loop imul imod iadd ilt jf iaddk jmp retv");
  expect("fn f(n: int): int {\n  var s = 0\n  while s * 3 < n * 3 {\n    for i in 1..n { s += 3 * "
         "i }\n"
         "    s *= 5\n  }\n  return s\n}\n",
         "ldi ldi ldi loop imul imul ilt jf "
         "ldi ile jf loop imul iadd ilt jf iaddk jmp imul jmp retv");
}
END_TEST

/* ---- rows */

#define ACC "list acc (id: int, n: int, m: int) key (id)\n"

static unsigned spec_of(const vm_fn *fn, vm_op op) {
  return fn->code[find_op(fn, op, 0)].b & 0xffu;
}

START_TEST(quiet_loops_are_untracked) {
  const vm_fn *fn = expect(ACC "query f: int {\n  var s = 0\n  for a in acc { s += a.n * a.id }\n"
                               "  return s\n}\n",
                           "ldi seek loop next get get imul iadd jmp retv");
  ck_assert_uint_eq(spec_of(fn, VM_OP_NEXT) & 0x80, 0);
  ck_assert_uint_eq(spec_of(fn, VM_OP_SEEK) & 0x80, 0);
  ck_assert_uint_eq(count_op(fn, VM_OP_REFIND), 0);
}
END_TEST

START_TEST(loops_that_change_their_list_are_tracked) {
  static const char *const changes[] = {"put acc (1, 2, 3)",
                                        "a.n = 1",
                                        "delete acc[5]",
                                        "clear acc",
                                        "let b = acc[7] or (0, 0)",
                                        "change()",
                                        "indirect()",
                                        "let x = value()",
                                        "if a.n > 0 and value() > 1 { }",
                                        "acc[3].m += 1"};
  for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
    text_buffer t = {0};
    text_add(&t,
             ACC "fn change() { delete acc[1] }\nfn indirect() { change() }\n"
                 "fn value(): int {\n  indirect()\n  return 1\n}\n"
                 "event f {\n  for a in acc {\n    %s\n    let y = a.n\n  }\n}\n",
             changes[i]);
    vm_module_release(m);
    m = compile_fine(mem, t.at);
    const vm_fn *fn = find_fn(m, "f");
    ck_assert_msg(spec_of(fn, VM_OP_NEXT) & 0x80, "%s", changes[i]);
    text_free(&t);
  }
}
END_TEST

START_TEST(loops_that_change_other_lists_are_untracked) {
  const vm_fn *fn =
      expect(ACC "list log (n: int) key n\nfn note(n: int) { put log (n) }\n"
                 "event f {\n  for a in acc {\n    put log (a.n)\n    note(a.m)\n  }\n}\n",
             "seek loop next get put get call jmp ret");
  ck_assert_uint_eq(spec_of(fn, VM_OP_NEXT) & 0x80, 0);
}
END_TEST

START_TEST(rows_are_found_again_only_after_changes) {
  expect(ACC "event f: int {\n  let a = acc[1]\n  let x = a.n + a.m\n  return x + a.n\n}\n",
         "ldi find get get iadd get iadd retv");
  expect(ACC "event f: int {\n  let a = acc[1]\n  put acc (2, 3, 4)\n  return a.n + a.m\n}\n",
         "ldi find ldi ldi ldi put refind get get iadd retv");
  /* its own change leaves a row where it is */
  expect(ACC "event f: int {\n  let a = acc[1]\n  a.n = 5\n  a.m += 1\n  return a.n\n}\n",
         "ldi find ldi set get iaddk set get retv");
  /* but not another row of the same list */
  expect(ACC "event f: int {\n  let a = acc[1]\n  let b = acc[2]\n  a.n = 5\n  return b.n\n}\n",
         "ldi find ldi find ldi set refind get retv");
}
END_TEST

START_TEST(what_happens_on_one_path_counts_on_both) {
  expect(
      ACC
      "event f(b: bool): int {\n  let a = acc[1]\n  if b { put acc (2, 3, 4) }\n  return a.n\n}\n",
      "ldi find jf ldi ldi ldi put refind get retv");
  /* a path that leaves does not */
  expect(
      ACC
      "event f(b: bool): int {\n  let a = acc[1]\n  if b {\n    put acc (2, 3, 4)\n    return 1\n"
      "  }\n  return a.n\n}\n",
      "ldi find jf ldi ldi ldi put ldi retv get retv");
  /* found again on one path only */
  expect(ACC "event f(b: bool): int {\n  let a = acc[1]\n  clear acc\n  if b { emit_n(a.n) }\n"
             "  return a.n\n}\nfn emit_n(n: int) { }\n",
         "ldi find clear jf refind get call refind get retv");
  /* changed later in a loop */
  expect(ACC
         "event f {\n  let a = acc[1]\n  for i in 1..3 {\n    let x = a.n\n    put acc (i, i, i)\n"
         "  }\n}\n",
         "ldi find ldi ldi loop refind get mov mov mov put ilt jf iaddk jmp ret");
}
END_TEST

START_TEST(local_lists_may_be_sorted_by_reading) {
  expect("query f: int {\n  local l (k: int, v: int) key k\n  let r = l[1]\n"
         "  let n = count(l[..3])\n  return r.v + n\n}\n",
         "new ldi find ldi scount refind get iadd retv");
  expect("query f: int {\n  local l (k: int, v: int) key k\n  let r = l[1]\n"
         "  let n = count(l)\n  return r.v + n\n}\n",
         "new ldi find count get iadd retv");
  const vm_fn *fn = expect("query f {\n  local l (k: int) key k\n  for r in l {\n"
                           "    for s in l { let x = r.k }\n  }\n}\n",
                           "new seek loop next seek loop next refind jmp ret");
  ck_assert_uint_ne(fn->code[find_op(fn, VM_OP_NEXT, 0)].b & 0x80, 0);
  ck_assert_uint_eq(fn->code[find_op(fn, VM_OP_NEXT, 1)].b & 0x80, 0);
}
END_TEST

START_TEST(keys_at_hand_are_not_read_again) {
  expect("query f: int {\n  local pq (d: int, n: int) key (d, n)\n  let r = first(pq)\n"
         "  let x = r.d + r.n\n  delete r\n  return x\n}\n",
         "new firstj iadd erase retv raise");
  /* a real key may have been written as -0.0 */
  expect("list l (k: real) key k\nquery f(x: real): real {\n  let r = l[x]\n  return r.k\n}\n",
         "mov find get retv");
}
END_TEST

START_TEST(positional_rows_are_never_found_again) {
  expect("list l (v: int)\nevent f: int {\n  let r = l[0]\n  add l (1)\n  r.v = 2\n  clear l\n"
         "  return r.v\n}\n",
         "ldi row ldi add ldi set clear get retv");
}
END_TEST

START_TEST(else_of_let_is_out_of_the_way) {
  expect(ACC "query f(k: int): int {\n  let a = acc[k] else { return 0 }\n  return a.n\n}\n",
         "mov findj get retv ldi retv");
  expect(ACC "query f(k: int): int {\n  var s = 0\n  for i in 1..k {\n"
             "    let a = acc[i] else { continue }\n    let b = acc[s] else { break }\n"
             "    s += b.n + a.m\n  }\n  return s\n}\n",
         "ldi ldi ile jf loop mov findj mov findj get get iadd iadd ilt jf iaddk jmp retv");
}
END_TEST

START_TEST(faults_have_their_places) {
  m = compile_fine(mem, ACC "query f(k: int): int {\n"
                            "  let a = acc[k]\n"
                            "  return a.n *\n"
                            "    (a.m / k)\n"
                            "}\n");
  const vm_fn *fn = find_fn(m, "f");
  uint32_t find = find_op(fn, VM_OP_FIND, 0), mul = find_op(fn, VM_OP_IMUL, 0);
  uint32_t div = find_op(fn, VM_OP_IDIV, 0);
  ck_assert_uint_eq(fn->pos[find].line, 3);
  ck_assert_uint_eq(fn->pos[find].column, 11);
  ck_assert_uint_eq(fn->pos[mul].line, 4);
  ck_assert_uint_eq(fn->pos[mul].column, 14);
  ck_assert_uint_eq(fn->pos[div].line, 5);
  ck_assert_uint_eq(fn->pos[div].column, 10);
}
END_TEST

START_TEST(no_dead_code_is_left) {
  expect("fn f(n: int): int {\n  return n\n  let x = n + 1\n  f(x)\n}\n", "retv");
  expect(
      "fn f(n: int): int {\n  while true {\n    if n > 1 { return 1 } else { return 2 }\n  }\n}\n",
      "ldi loop ilt jf retv ldi retv");
  expect("fn f(n: int) {\n  if n > 1 { } else { }\n}\n", "ldi ilt jf ret");
}
END_TEST

int main(void) {
  const TTest *const tests[] = {breadth_first_search,
                                arguments_are_made_in_place,
                                values_are_permuted_into_schema_order,
                                variables_change_in_place,
                                constants_are_folded,
                                faulting_constants_stay_code,
                                small_numbers_are_added_at_once,
                                conditions_branch_directly,
                                loops_have_their_forms,
                                constants_of_loops_stay_in_registers,
                                quiet_loops_are_untracked,
                                loops_that_change_their_list_are_tracked,
                                loops_that_change_other_lists_are_untracked,
                                rows_are_found_again_only_after_changes,
                                what_happens_on_one_path_counts_on_both,
                                local_lists_may_be_sorted_by_reading,
                                keys_at_hand_are_not_read_again,
                                positional_rows_are_never_found_again,
                                else_of_let_is_out_of_the_way,
                                faults_have_their_places,
                                no_dead_code_is_left};
  Suite *suite = suite_create("code");
  TCase *tcase = tcase_create("code");
  tcase_add_checked_fixture(tcase, setup, teardown);
  for (size_t k = 0; k < sizeof tests / sizeof tests[0]; k++)
    tcase_add_test(tcase, tests[k]);
  suite_add_tcase(suite, tcase);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_ENV);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed != 0;
}
