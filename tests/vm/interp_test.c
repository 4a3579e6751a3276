/* Scalar instructions, control and builtins, on the interpreter and by `step`. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/vm/support/run.h"

static run r;

/* One function for each instruction of two or one operands. */
static const char scalars[] =
    "const half real 0.5\n"
    "const word text \"w\\u{f6}rd\"\n"
    "const flag bool true\n"
    "const day date \"1998-09-02\"\n"
    "const big int 1234567890123456789\n"
    "fn iadd(a: int, b: int): int { regs 3 iadd r2, r0, r1 @7:3 retv r2 @8:3 }\n"
    "fn isub(a: int, b: int): int { regs 3 isub r2, r0, r1 @7:3 retv r2 @8:3 }\n"
    "fn imul(a: int, b: int): int { regs 3 imul r2, r0, r1 @7:3 retv r2 @8:3 }\n"
    "fn idiv(a: int, b: int): int { regs 3 idiv r2, r0, r1 @7:3 retv r2 @8:3 }\n"
    "fn imod(a: int, b: int): int { regs 3 imod r2, r0, r1 @7:3 retv r2 @8:3 }\n"
    "fn ineg(a: int): int { regs 3 ineg r2, r0 @7:3 retv r2 @8:3 }\n"
    "fn iaddk(a: int): int { regs 3 iaddk r2, r0, -32768 @7:3 retv r2 @8:3 }\n"
    "fn same(a: int, b: int): int { regs 3 iadd r0, r0, r1 imul r0, r0, r0 retv r0 }\n"
    "fn radd(a: real, b: real): real { regs 3 radd r2, r0, r1 retv r2 }\n"
    "fn rsub(a: real, b: real): real { regs 3 rsub r2, r0, r1 retv r2 }\n"
    "fn rmul(a: real, b: real): real { regs 3 rmul r2, r0, r1 retv r2 }\n"
    "fn rdiv(a: real, b: real): real { regs 3 rdiv r2, r0, r1 retv r2 }\n"
    "fn rneg(a: real): real { regs 3 rneg r2, r0 retv r2 }\n"
    "fn rmuladd(a: real, b: real): real { regs 3 rmul r2, r0, r1 radd r2, r2, r1 retv r2 }\n"
    "fn dadd(a: date, b: int): date { regs 3 dadd r2, r0, r1 @7:3 retv r2 @8:3 }\n"
    "fn ddiff(a: date, b: date): int { regs 3 ddiff r2, r0, r1 retv r2 }\n"
    "fn not(a: bool): bool { regs 3 not r2, r0 retv r2 }\n"
    "fn mov(a: int): int { regs 3 mov r2, r0 retv r2 }\n"
    "fn ldi(): int { regs 1 ldi r0, -2000000000 retv r0 }\n"
    "fn ldb(): bool { regs 1 ldb r0, 1 retv r0 }\n"
    "fn ldk_real(): real { regs 1 ldk r0, half retv r0 }\n"
    "fn ldk_text(): text { regs 1 ldk r0, word retv r0 }\n"
    "fn ldk_bool(): bool { regs 1 ldk r0, flag retv r0 }\n"
    "fn ldk_date(): date { regs 1 ldk r0, day retv r0 }\n"
    "fn ldk_int(): int { regs 1 ldk r0, big retv r0 }\n";

static void int_op(const char *fn, int64_t a, int64_t b, int64_t expected, uint64_t cost) {
  ck_assert_int_eq(run_int(&r, fn, ARGS(INT(a), INT(b))), expected);
  ck_assert_uint_eq(run_work(&r), cost + 2);
}

START_TEST(scalar_ints) {
  run_open(&r, scalars);
  int_op("iadd", 2, 3, 5, 1);
  int_op("isub", 2, 3, -1, 1);
  int_op("imul", -2, 3, -6, 1);
  int_op("idiv", -7, 2, -3, 2);
  int_op("imod", -7, 2, -1, 2);
  int_op("imod", INT64_MIN, -1, 0, 2);
  int_op("ineg", 5, 0, -5, 1);
  int_op("iaddk", 32768, 0, 0, 1);
  int_op("same", 2, 3, 25, 2);
  run_faults(&r, "iadd", ARGS(INT(INT64_MAX), INT(1)), VM_FAULT_OVERFLOW, 7, 1);
  run_faults(&r, "isub", ARGS(INT(INT64_MIN), INT(1)), VM_FAULT_OVERFLOW, 7, 1);
  run_faults(&r, "imul", ARGS(INT(INT64_MIN), INT(-1)), VM_FAULT_OVERFLOW, 7, 1);
  run_faults(&r, "idiv", ARGS(INT(INT64_MIN), INT(-1)), VM_FAULT_OVERFLOW, 7, 2);
  run_faults(&r, "idiv", ARGS(INT(1), INT(0)), VM_FAULT_DIV_ZERO, 7, 2);
  run_faults(&r, "imod", ARGS(INT(1), INT(0)), VM_FAULT_DIV_ZERO, 7, 2);
  run_faults(&r, "ineg", ARGS(INT(INT64_MIN)), VM_FAULT_OVERFLOW, 7, 1);
  run_faults(&r, "iaddk", ARGS(INT(INT64_MIN)), VM_FAULT_OVERFLOW, 7, 1);
  const vm_fault *f = vm_context_fault(r.cx[0]);
  ck_assert_int_eq(f->fn, vm_module_find(r.m, "iaddk", true));
  ck_assert_uint_eq(f->pc, 0);
  ck_assert_uint_eq(f->pos.column, 3);
  ck_assert_str_eq(f->message, "-9223372036854775808 - 32768 does not fit in 64 bits");
  run_close(&r);
}
END_TEST

START_TEST(scalar_reals) {
  run_open(&r, scalars);
  ck_assert_double_eq(run_real(&r, "radd", ARGS(REAL(0.1), REAL(0.2))), 0.1 + 0.2);
  ck_assert_uint_eq(run_work(&r), 3);
  ck_assert_double_eq(run_real(&r, "rsub", ARGS(REAL(1), REAL(0.9))), 1 - 0.9);
  ck_assert_double_eq(run_real(&r, "rmul", ARGS(REAL(3), REAL(0.1))), 3 * 0.1);
  ck_assert_double_eq(run_real(&r, "rdiv", ARGS(REAL(1), REAL(3))), 1.0 / 3);
  ck_assert_uint_eq(run_work(&r), 4);
  ck_assert(isinf(run_real(&r, "rdiv", ARGS(REAL(1), REAL(0)))));
  ck_assert(signbit(run_real(&r, "rneg", ARGS(REAL(0)))));
  /* two roundings, never one */
  double x = 1 + ldexp(1, -30), y = 1 - ldexp(1, -30);
  volatile double product = x * y;
  ck_assert_double_eq(run_real(&r, "rmuladd", ARGS(REAL(x), REAL(y))), product + y);
  /* whatever NaN the processor makes, one comes out */
  double nan = run_real(&r, "rdiv", ARGS(REAL(0), REAL(0)));
  ck_assert(nan != nan);
  ck_assert_uint_eq(r.out[0].value.u, UINT64_C(0x7ff8000000000000));
  run_close(&r);
}
END_TEST

START_TEST(scalar_others) {
  run_open(&r, scalars);
  ck_assert_int_eq(run_int(&r, "dadd", ARGS(INT(10), INT(-10))), 0);
  ck_assert_int_eq(r.out[0].type, LS_DATE);
  run_faults(&r, "dadd", ARGS(INT(10), INT(-11)), VM_FAULT_OVERFLOW, 7, 1);
  run_faults(&r, "dadd", ARGS(INT(10), INT(INT64_MAX)), VM_FAULT_OVERFLOW, 7, 1);
  ck_assert_int_eq(run_int(&r, "ddiff", ARGS(INT(3), INT(10))), -7);
  ck_assert_int_eq(run_int(&r, "not", ARGS(INT(0))), 1);
  ck_assert_int_eq(run_int(&r, "not", ARGS(INT(1))), 0);
  ck_assert_int_eq(run_int(&r, "mov", ARGS(INT(-9))), -9);
  ck_assert_int_eq(run_int(&r, "ldi", NO_ARGS), -2000000000);
  ck_assert_int_eq(run_int(&r, "ldb", NO_ARGS), 1);
  ck_assert_double_eq(run_real(&r, "ldk_real", NO_ARGS), 0.5);
  ck_assert_int_eq(run_int(&r, "ldk_bool", NO_ARGS), 1);
  ck_assert_int_eq(run_int(&r, "ldk_date", NO_ARGS), 729633);
  ck_assert_int_eq(run_int(&r, "ldk_int", NO_ARGS), INT64_C(1234567890123456789));
  run_is_text(&r, "ldk_text", NO_ARGS, "w\u00f6rd");
  run_close(&r);
}
END_TEST

/* Comparisons: as a value, and deciding jt and jf, forward and back. */
static void compare_program(char *out, size_t n, const char *op, const char *type) {
  snprintf(out, n,
           "fn value(a: %s, b: %s): bool { regs 3 %s r2, r0, r1 retv r2 }\n"
           "fn jt(a: %s, b: %s): int { regs 4 %s r2, r0, r1 jt r2, yes ldi r3, 0 retv r3 "
           "yes: ldi r3, 1 retv r3 }\n"
           "fn jf(a: %s, b: %s): int { regs 4 %s r2, r0, r1 jf r2, no ldi r3, 1 retv r3 "
           "no: ldi r3, 0 retv r3 }\n"
           /* the register that is tested is not the one that was compared */
           "fn other(a: %s, b: %s): int { regs 5 ldb r4, 1 %s r2, r0, r1 jf r4, no ldi r3, 1 "
           "retv r3 no: ldi r3, 0 retv r3 }\n",
           type, type, op, type, type, op, type, type, op, type, type, op);
}

static void compare(const char *op, const char *type, ls_val a, ls_val b, int expected,
                    unsigned cost) {
  char text[1024];
  compare_program(text, sizeof text, op, type);
  run_open(&r, text);
  ck_assert_msg(run_int(&r, "value", ARGS(a, b)) == expected, "%s", op);
  ck_assert_uint_eq(run_work(&r), cost + 2);
  ck_assert_msg(run_int(&r, "jt", ARGS(a, b)) == expected, "%s and jt", op);
  ck_assert_uint_eq(run_work(&r), cost + 1 + 1 + 2);
  ck_assert_msg(run_int(&r, "jf", ARGS(a, b)) == expected, "%s and jf", op);
  ck_assert_uint_eq(run_work(&r), cost + 1 + 1 + 2);
  ck_assert_int_eq(run_int(&r, "other", ARGS(a, b)), 1);
  run_close(&r);
}

START_TEST(comparisons) {
  static const int64_t ints[] = {INT64_MIN, -1, 0, 1, INT64_MAX};
  for (int i = 0; i < 5; i++)
    for (int j = 0; j < 5; j++) {
      ls_val a = INT(ints[i]), b = INT(ints[j]);
      compare("ieq", "int", a, b, i == j, 1);
      compare("ine", "int", a, b, i != j, 1);
      compare("ilt", "int", a, b, i < j, 1);
      compare("ile", "int", a, b, i <= j, 1);
    }
  const double reals[] = {-INFINITY, -0.0, 0.0, 1, NAN};
  for (int i = 0; i < 5; i++)
    for (int j = 0; j < 5; j++) {
      double x = reals[i], y = reals[j];
      compare("req", "real", REAL(x), REAL(y), x == y, 1);
      compare("rne", "real", REAL(x), REAL(y), x != y, 1);
      compare("rlt", "real", REAL(x), REAL(y), x < y, 1);
      compare("rle", "real", REAL(x), REAL(y), x <= y, 1);
    }
  compare("ieq", "date", INT(3), INT(3), 1, 1);
  compare("ilt", "bool", INT(0), INT(1), 1, 1);
}
END_TEST

START_TEST(comparisons_of_texts) {
  static const char *const texts[] = {
      "", "a", "ab", "b", "\u00e9", "abcdefghijklmnop", "abcdefghijklmnoq"};
  static const char *const ops[] = {"teq", "tne", "tlt", "tle"};
  char text[1024];
  for (int op = 0; op < 4; op++) {
    compare_program(text, sizeof text, ops[op], "text");
    run_open(&r, text);
    for (int i = 0; i < 7; i++)
      for (int j = 0; j < 7; j++) {
        int order = strcmp(texts[i], texts[j]);
        int expected = op == 0   ? order == 0
                       : op == 1 ? order != 0
                       : op == 2 ? order < 0
                                 : order <= 0;
        size_t shorter = strlen(texts[i]) < strlen(texts[j]) ? strlen(texts[i]) : strlen(texts[j]);
        ls_val a = run_text(&r, texts[i]), b = run_text(&r, texts[j]);
        ck_assert_int_eq(run_int(&r, "value", ARGS(a, b)), expected);
        ck_assert_uint_eq(run_work(&r), op < 2 ? 3 : 6 + shorter / 8);
        a = run_text(&r, texts[i]), b = run_text(&r, texts[j]);
        ck_assert_int_eq(run_int(&r, "jt", ARGS(a, b)), expected);
        a = run_text(&r, texts[i]), b = run_text(&r, texts[j]);
        ck_assert_int_eq(run_int(&r, "jf", ARGS(a, b)), expected);
      }
    run_close(&r);
  }
}
END_TEST

static const char control[] =
    /* sum of i * i % 7 for i in 1 .. n, as a counted loop */
    "fn squares(n: int): int {\n"
    "  regs 6 loops 1\n"
    "  ldi r1, 0 @1:1\n"
    "  ldi r2, 1\n"
    "  ldi r4, 7\n"
    "top:\n"
    "  loop 0 @2:1\n"
    "  ile r3, r2, r0\n"
    "  jf r3, out\n"
    "  imul r5, r2, r2 @3:1\n"
    "  imod r5, r5, r4\n"
    "  iadd r1, r1, r5\n"
    "  iaddk r2, r2, 1 @4:1\n"
    "  jmp top\n"
    "out:\n"
    "  retv r1 @5:1\n"
    "}\n"
    /* the same test with ilt and at the end, jumping back by jt and jf */
    "fn countdown(n: int): int {\n"
    "  regs 4 loops 2\n"
    "  ldi r1, 0\n"
    "  ldi r2, 0\n"
    "a:\n"
    "  loop 0\n"
    "  iaddk r1, r1, 3\n"
    "  iaddk r0, r0, -1\n"
    "  ilt r3, r2, r0\n"
    "  jt r3, a\n"
    "  ldi r0, 4\n"
    "b:\n"
    "  loop 1\n"
    "  iaddk r1, r1, 100\n"
    "  iaddk r0, r0, -1\n"
    "  ieq r3, r0, r2\n"
    "  jf r3, b\n"
    "  retv r1\n"
    "}\n"
    "fn while_less(n: int): int {\n"
    "  regs 3 loops 1\n"
    "  ldi r1, 0\n"
    "top:\n"
    "  loop 0\n"
    "  ilt r2, r1, r0\n"
    "  jf r2, out\n"
    "  iadd r1, r1, r1\n"
    "  iaddk r1, r1, 1\n"
    "  jmp top\n"
    "out:\n"
    "  retv r1\n"
    "}\n"
    /* a loop that begins with something else, and a jump into its middle */
    "fn odd(n: int): int {\n"
    "  regs 4 loops 1\n"
    "  ldi r1, 0\n"
    "  ldi r2, 2\n"
    "  jmp middle\n"
    "top:\n"
    "  loop 0\n"
    "  imul r3, r1, r2\n"
    "middle:\n"
    "  iaddk r1, r1, 1\n"
    "  ile r3, r0, r1\n"
    "  jf r3, top\n"
    "  retv r1\n"
    "}\n"
    "fn fib(n: int): int {\n"
    "  regs 6\n"
    "  ldi r1, 2 @9:1\n"
    "  ilt r2, r0, r1\n"
    "  jf r2, more\n"
    "  retv r0\n"
    "more:\n"
    "  iaddk r3, r0, -1\n"
    "  call r3, fib\n"
    "  iaddk r4, r0, -2\n"
    "  call r4, fib @9:9\n"
    "  iadd r3, r3, r4\n"
    "  retv r3\n"
    "}\n"
    "fn nothing() { regs 0 ret }\n"
    "fn calls_nothing(n: int): int { regs 1 call r0, nothing iaddk r0, r0, 1 retv r0 }\n"
    "fn args(a: int, b: real, c: bool): real { regs 3 retv r1 }\n"
    "fn passes(): real {\n"
    "  regs 8 ldi r4, 1 ldi r7, 5 bif r5, real_i, r7 ldb r6, 0 call r4, args retv r4 }\n"
    "fn raises() { regs 0 raise deleted @4:2 }\n"
    "fn deep() { regs 0 call r0, deep @6:6 ret }\n"
    "const why text \"because\"\n"
    "fn fails() { regs 1 ldk r0, why @8:1 fail r0 }\n"
    "fn fails_deeper() { regs 0 call r0, fails @1:1 ret }\n";

START_TEST(loops) {
  run_open(&r, control);
  ck_assert_int_eq(run_int(&r, "squares", ARGS(INT(10))), 1 + 4 + 2 + 2 + 4 + 1 + 0 + 1 + 4 + 2);
  ck_assert_uint_eq(run_work(&r), 3 + 10 * 9 + 3 + 2);
  ck_assert_int_eq(run_int(&r, "squares", ARGS(INT(0))), 0);
  ck_assert_uint_eq(run_work(&r), 3 + 3 + 2);
  ck_assert_int_eq(run_int(&r, "countdown", ARGS(INT(5))), 5 * 3 + 400);
  ck_assert_uint_eq(run_work(&r), 2 + 5 * 5 + 1 + 4 * 5 + 2);
  ck_assert_int_eq(run_int(&r, "while_less", ARGS(INT(100))), 127);
  ck_assert_uint_eq(run_work(&r), 1 + 7 * 6 + 3 + 2);
  ck_assert_int_eq(run_int(&r, "odd", ARGS(INT(7))), 7);
  ck_assert_uint_eq(run_work(&r), 3 + 3 + 6 * 5 + 2);
  run_close(&r);
}
END_TEST

START_TEST(calls) {
  run_open(&r, control);
  ck_assert_int_eq(run_int(&r, "fib", ARGS(INT(20))), 6765);
  /* leaf: 3 + 2; node: 3, two iaddk, two calls of 8, iadd, retv */
  ck_assert_uint_eq(run_work(&r), 10946 * 5 + 10945 * (3 + 2 + 16 + 1 + 2));
  ck_assert_int_eq(run_int(&r, "calls_nothing", ARGS(INT(41))), 42);
  ck_assert_uint_eq(run_work(&r), 8 + 2 + 1 + 2);
  ck_assert_double_eq(run_real(&r, "passes", NO_ARGS), 5);
  run_faults(&r, "raises", NO_ARGS, VM_FAULT_DELETED, 4, 1);
  run_faults(&r, "deep", NO_ARGS, VM_FAULT_DEPTH, 6, 8 * VM_DEFAULT_DEPTH);
  run_faults(&r, "fails_deeper", NO_ARGS, VM_FAULT_RAISED, 8, 10);
  ck_assert_str_eq(vm_context_fault(r.cx[0])->message, "because");
  ck_assert_int_eq(vm_context_fault(r.cx[0])->fn, vm_module_find(r.m, "fails", true));
  /* and all is well afterwards */
  ck_assert_int_eq(run_int(&r, "fib", ARGS(INT(10))), 55);
  run_close(&r);
}
END_TEST

/* Faults in each part of fused instructions: the place and the work are the part's. */
static const char fused[] = "local s (k: int, v: int) key (k)\n"
                            "local q (v: int)\n"
                            "fn products(a: int, b: int): int {\n"
                            "  regs 4\n"
                            "  imul r2, r0, r0 @1:1\n"
                            "  imod r2, r2, r1 @2:1\n"
                            "  iadd r2, r2, r0 @3:1\n"
                            "  retv r2\n"
                            "}\n"
                            "fn count_up(a: int): int {\n"
                            "  regs 4 loops 1\n"
                            "top:\n"
                            "  loop 0 @1:1\n"
                            "  iaddk r0, r0, 1 @2:1\n"
                            "  jmp top @3:1\n"
                            "}\n"
                            "fn count_to(a: int, n: int): int {\n"
                            "  regs 4 loops 1\n"
                            "top:\n"
                            "  loop 0 @1:1\n"
                            "  ilt r2, r0, r1 @2:1\n"
                            "  jf r2, out @3:1\n"
                            "  iaddk r0, r0, 1000 @4:1\n"
                            "  jmp top @5:1\n"
                            "out:\n"
                            "  retv r0\n"
                            "}\n"
                            "fn even(a: int, b: int): int {\n"
                            "  regs 4\n"
                            "  ldi r3, 0 @1:1\n"
                            "  imod r2, r0, r1 @2:1\n"
                            "  ieq r2, r2, r3 @3:1\n"
                            "  jf r2, no @4:1\n"
                            "  ldi r3, 1\n"
                            "no:\n"
                            "  retv r3\n"
                            "}\n"
                            /* s[v of the row of q] grows by n, by a constant */
                            "query grow(v: int, n: int): int {\n"
                            "  regs 20 loops 1 lists s, q\n"
                            "  new s @1:1\n"
                            "  new q\n"
                            "  add r0, q\n"
                            "  ldi r2, 5\n"
                            "  mov r3, r1\n"
                            "  put r2, s @2:1\n"
                            "  seek r4, q[0]\n"
                            "top:\n"
                            "  loop 0\n"
                            "  next r4, q[0], out\n"
                            "  get r12, r4, q.v @3:1\n"
                            "  find r10, s @4:1\n"
                            "  get r13, r10, s.v @5:1\n"
                            "  iaddk r13, r13, 1 @6:1\n"
                            "  set r10, r13, s.v @7:1\n"
                            "  get r13, r10, s.v\n"
                            "  iadd r14, r13, r1 @8:1\n"
                            "  set r10, r14, s.v\n"
                            "  jmp top\n"
                            "out:\n"
                            "  retv r1\n"
                            "}\n";

START_TEST(faults_inside_fused) {
  run_open(&r, fused);
  ck_assert_int_eq(run_int(&r, "products", ARGS(INT(5), INT(7))), 25 % 7 + 5);
  run_faults(&r, "products", ARGS(INT(INT64_C(1) << 40), INT(7)), VM_FAULT_OVERFLOW, 1, 1);
  run_faults(&r, "products", ARGS(INT(5), INT(0)), VM_FAULT_DIV_ZERO, 2, 3);
  run_faults(&r, "count_up", ARGS(INT(INT64_MAX - 2)), VM_FAULT_OVERFLOW, 2, 2 * 3 + 2);
  run_limit(&r, 50, 0, 0);
  run_faults(&r, "count_up", ARGS(INT(0)), VM_FAULT_WORK, 1, 52);
  run_faults(&r, "count_to", ARGS(INT(0), INT(INT64_MAX)), VM_FAULT_WORK, 1, 51);
  run_limit(&r, 0, 0, 0);
  run_faults(&r, "count_to", ARGS(INT(INT64_MAX - 1500), INT(INT64_MAX)), VM_FAULT_OVERFLOW, 4,
             5 + 4);
  ck_assert_int_eq(run_int(&r, "count_to", ARGS(INT(3), INT(2500))), 3003);
  ck_assert_int_eq(run_int(&r, "even", ARGS(INT(4), INT(2))), 1);
  ck_assert_int_eq(run_int(&r, "even", ARGS(INT(5), INT(2))), 0);
  run_faults(&r, "even", ARGS(INT(5), INT(0)), VM_FAULT_DIV_ZERO, 2, 3);
  ck_assert_int_eq(run_int(&r, "grow", ARGS(INT(5), INT(20))), 20);
  run_faults(&r, "grow", ARGS(INT(6), INT(20)), VM_FAULT_MISSING, 4, UINT64_MAX);
  run_faults(&r, "grow", ARGS(INT(5), INT(INT64_MAX)), VM_FAULT_OVERFLOW, 6, UINT64_MAX);
  run_faults(&r, "grow", ARGS(INT(5), INT(INT64_MAX / 2 + 1)), VM_FAULT_OVERFLOW, 8, UINT64_MAX);
  run_close(&r);
}
END_TEST

int main(void) {
  Suite *s = suite_create("interp");
  TCase *t = tcase_create("interp");
  tcase_add_test(t, scalar_ints);
  tcase_add_test(t, scalar_reals);
  tcase_add_test(t, scalar_others);
  tcase_add_test(t, comparisons);
  tcase_add_test(t, comparisons_of_texts);
  tcase_add_test(t, loops);
  tcase_add_test(t, calls);
  tcase_add_test(t, faults_inside_fused);
  suite_add_tcase(s, t);
  SRunner *sr = srunner_create(s);
  srunner_run_all(sr, CK_ENV);
  int failed = srunner_ntests_failed(sr);
  srunner_free(sr);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
