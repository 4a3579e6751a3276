/* Every operation on scalars that ir_ops.def has, on values where something happens, against
 * eval.h; at a level without LLVM's passes and one with them. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/ir/support/eval.h"
#include "tests/jit/support/region.h"
#include "vm/vm_sem.h"
#include "vm/vm_tables.h"

static const int64_t ints[] = {0,
                               1,
                               -1,
                               2,
                               7,
                               63,
                               64,
                               -7,
                               255,
                               256,
                               INT64_MAX,
                               INT64_MIN,
                               LS_DATE_MAX,
                               1 << 20,
                               INT64_C(3037000500),
                               INT64_MIN + 1,
                               INT64_C(0x7fffffffff)};
static const double reals[] = {0.0,
                               -0.0,
                               1.0,
                               -1.5,
                               2.5,
                               0.5,
                               -0.5,
                               1e300,
                               -1e300,
                               9.2e18,
                               -9223372036854775808.0,
                               9223372036854775808.0,
                               4e-320,
                               0.49999999999999994,
                               4503599627370497.5};
enum { NINTS = sizeof ints / sizeof *ints, NREALS = sizeof reals / sizeof *reals };

/* Letter of the argument: i f b. The k-th of its values as the bits of a register. */
static uint64_t operand(char type, unsigned k) {
  ls_val v;
  if (type == 'b')
    return k & 1;
  if (type == 'i')
    return (uint64_t)ints[k % NINTS];
  v.r = reals[k % NREALS];
  if (k % (NREALS + 3) == NREALS)
    v.u = UINT64_C(0x7ff8000000000000);
  if (k % (NREALS + 3) == NREALS + 1)
    v.u = UINT64_C(0x7ff0000000000000);
  if (k % (NREALS + 3) == NREALS + 2)
    v.u = UINT64_C(0xfff0000000000000);
  return v.u;
}

static const char *type_word(char letter) {
  return letter == 'f' ? "f64" : letter == 'b' ? "b1" : "i64";
}

/* The text of a region that does one operation on registers 0, 1, 2 and leaves the result in 3;
 * where the operation exits, in register 4 is what was there. */
static void make_text(char *out, size_t n, const char *op, const char *args, bool exits) {
  int at = snprintf(out, n, "region test fn 0 pc 0 regs 8\nb0:\n  v1 = work\n");
  for (unsigned k = 0; args[k]; k++)
    at += snprintf(out + at, n - (size_t)at, "  v%u = reg:%s %u\n", k + 2, type_word(args[k]), k);
  at += snprintf(out + at, n - (size_t)at, "  v9 = %s", op);
  for (unsigned k = 0; args[k]; k++)
    at += snprintf(out + at, n - (size_t)at, " v%u", k + 2);
  snprintf(out + at, n - (size_t)at, "%s\n  leave exit 0\nexit 0: pc 7 leave work v1+5 r3=v9\n%s",
           exits ? " exit 1" : "", exits ? "exit 1: pc 3 fault work v1-2 r4=v1\n" : "");
}

static bool same_value(uint64_t x, uint64_t y) {
  ls_val a = {.u = x}, b = {.u = y};
  bool nans = a.r != a.r && b.r != b.r;
  return x == y || nans;
}

static void run_both(const char *text, const ir_region *r, const vm_jit_code *code,
                     const uint64_t *args) {
  struct vm_frame f = {.pc = 99};
  struct vm_context cx = {.work = 40, .work_limit = 1000, .poll_at = 1000};
  ls_val regs[REGION_REGS] = {{0}};
  for (unsigned k = 0; k < 3; k++)
    f.regs[k].u = regs[k].u = args[k];
  eval_state e = {.regs = regs, .work = 40, .limit = 1000};
  uint32_t expected = eval_region(r, &e), exit = code->enter(&f, &cx);
  ck_assert_msg(exit == expected, "exit %u, not %u, with %llx %llx %llx\n%s", exit, expected,
                (unsigned long long)args[0], (unsigned long long)args[1],
                (unsigned long long)args[2], text);
  ck_assert_uint_eq(cx.work, e.work);
  ck_assert_uint_eq(f.pc, code->exits[exit].pc);
  for (unsigned k = 0; k < REGION_REGS; k++)
    ck_assert_msg(same_value(f.regs[k].u, regs[k].u), "r%u %llx, not %llx, with %llx %llx\n%s", k,
                  (unsigned long long)f.regs[k].u, (unsigned long long)regs[k].u,
                  (unsigned long long)args[0], (unsigned long long)args[1], text);
}

/* What the operation says its operands are, where it is undefined on others. */
static bool is_allowed(const char *name, const uint64_t *v) {
  int64_t x = (int64_t)v[0], y = (int64_t)v[1], sum;
  if (strcmp(name, "div") == 0 || strcmp(name, "rem") == 0)
    return y != 0 && y != -1;
  if (strcmp(name, "shl") == 0 || strcmp(name, "shr") == 0)
    return v[1] < 64;
  if (strcmp(name, "add.n") == 0)
    return !__builtin_add_overflow(x, y, &sum);
  if (strcmp(name, "sub.n") == 0)
    return !__builtin_sub_overflow(x, y, &sum);
  if (strcmp(name, "mul.n") == 0)
    return !__builtin_mul_overflow(x, y, &sum);
  if (strcmp(name, "dadd.x") == 0)
    return x >= 0 && x <= LS_DATE_MAX;
  return true;
}

static void try_all(const char *text, const char *name, const char *args, const ir_region *r,
                    const vm_jit_code *code) {
  unsigned n = NREALS + 3;
  for (unsigned x = 0; x < n; x++)
    for (unsigned y = 0; y < (args[1] ? n : 1u); y++)
      for (unsigned z = 0; z < (args[0] && args[1] && args[2] ? 4u : 1u); z++) {
        uint64_t v[3] = {operand(args[0], x), args[1] ? operand(args[1], y) : 0,
                         args[0] && args[1] ? operand(args[2] ? args[2] : 'i', z) : 0};
        if (is_allowed(name, v))
          run_both(text, r, code, v);
      }
}

static void test_op(bench *b, const char *op, const char *args, bool exits, unsigned level) {
  char text[1000];
  make_text(text, sizeof text, op, args, exits);
  ir_region *r = bench_parse(b, text);
  const vm_jit_code *code = bench_compile(b, r, level);
  try_all(text, op, args, r, code);
  bench_drop(b, code);
  ir_region_delete(r);
}

/* Operations with a value that take ints, reals and bools and nothing else. */
static bool is_scalar(const ir_facts_of_op *f) {
  return (f->type == IR_I64 || f->type == IR_F64 || f->type == IR_B1) && f->args[0] &&
         f->args[strspn(f->args, "ifb")] == 0 && (f->attributes & ~IR_HAS_EXIT) == 0 &&
         f->reads == IR_MEM_NONE && strcmp(f->name, "text.eq") != 0;
}

START_TEST(table) {
  bench b;
  unsigned tested = 0;
  bench_open(&b);
  for (unsigned op = 0; op < IR_NOPS; op++) {
    const ir_facts_of_op *f = ir_op_read((ir_op)op);
    if (!is_scalar(f))
      continue;
    test_op(&b, f->name, f->args, (f->attributes & IR_HAS_EXIT) != 0, _i ? 2 : 1);
    tested++;
  }
  ck_assert_uint_ge(tested, 50);
  test_op(&b, "select:i64", "bii", false, _i ? 2 : 1);
  test_op(&b, "select:f64", "bff", false, _i ? 2 : 1);
  bench_close(&b);
}
END_TEST

static void test_builtin(bench *b, vm_builtin which, unsigned level) {
  const vm_builtin_facts *f = vm_builtin_read(which);
  char op[60], args[8] = "";
  unsigned n = (unsigned)strlen(f->args);
  for (unsigned k = 0; k < n; k++)
    args[k] = f->args[k] == 'R' ? 'f' : f->args[k] == 'B' ? 'b' : 'i';
  args[n] = 0;
  bool exits = strchr(f->effects, 'F') != NULL;
  snprintf(op, sizeof op, "%s:%s %s", exits ? "bif.x" : "bif",
           type_word(*f->result == 'R'   ? 'f'
                     : *f->result == 'B' ? 'b'
                                         : 'i'),
           f->id);
  test_op(b, op, args, exits, level);
}

/* Those on dates want dates. */
START_TEST(builtins) {
  bench b;
  bench_open(&b);
  for (unsigned f = 0; f < VM_NBUILTINS; f++)
    if (vm_sem_builtin_scalar((vm_builtin)f) &&
        strchr(vm_builtin_read((vm_builtin)f)->args, 'D') == NULL)
      test_builtin(&b, (vm_builtin)f, _i ? 2 : 1);
  bench_close(&b);
}
END_TEST

int main(void) {
  Suite *s = suite_create("scalar");
  TCase *t = tcase_create("scalar");
  tcase_set_timeout(t, 600);
  tcase_add_loop_test(t, table, 0, 2);
  tcase_add_loop_test(t, builtins, 0, 2);
  suite_add_tcase(s, t);
  SRunner *r = srunner_create(s);
  srunner_run_all(r, CK_ENV);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed != 0;
}
