/* Builtins called by bytecode: values, faults, work by size; texts kept by ids; host functions. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/vm/support/run.h"
#include "vm/vm_tables.h"

static run r;

static const char *letter_name(char c) { return vm_type_name(vm_type_of_letter(c)); }

/* A function for each builtin, under its identifier in small letters. */
static void builtin_program(char *at) {
  for (unsigned f = 0; f < VM_NBUILTINS; f++) {
    const vm_builtin_facts *b = vm_builtin_read((vm_builtin)f);
    char id[32] = "";
    size_t n = strlen(b->args);
    for (size_t i = 0; b->id[i]; i++)
      id[i] = (char)(b->id[i] | (b->id[i] >= 'A' && b->id[i] <= 'Z' ? 0x20 : 0));
    at += sprintf(at, "fn %s(", id);
    for (size_t i = 0; i < n; i++)
      at += sprintf(at, "%sp%u: %s", i ? ", " : "", (unsigned)i, letter_name(b->args[i]));
    at += sprintf(at, "): %s { regs 4 bif r3, %s, r0 @5:5 retv r3 @6:6 }\n",
                  letter_name(b->result[0]), id);
  }
}

static void open_builtins(void) {
  char text[16384];
  builtin_program(text);
  run_open(&r, text);
}

#define TEXT(s) run_text(&r, s)

/* The work that the call must have cost: the builtin's, retv's, and some by size. */
static void cost(vm_builtin f, uint64_t by_size) {
  ck_assert_uint_eq(run_work(&r), vm_builtin_read(f)->cost + 2 + by_size);
}

START_TEST(numbers) {
  open_builtins();
  ck_assert_int_eq(run_int(&r, "abs_i", ARGS(INT(-4))), 4);
  cost(VM_BIF_ABS_I, 0);
  run_faults(&r, "abs_i", ARGS(INT(INT64_MIN)), VM_FAULT_OVERFLOW, 5, 1);
  ck_assert_double_eq(run_real(&r, "abs_r", ARGS(REAL(-4.5))), 4.5);
  ck_assert_int_eq(run_int(&r, "min_i", ARGS(INT(3), INT(-4))), -4);
  ck_assert_int_eq(run_int(&r, "max_i", ARGS(INT(3), INT(-4))), 3);
  ck_assert_int_eq(run_int(&r, "min_d", ARGS(INT(3), INT(4))), 3);
  ck_assert_int_eq(run_int(&r, "max_d", ARGS(INT(3), INT(4))), 4);
  ck_assert_double_eq(run_real(&r, "min_r", ARGS(REAL(3), REAL(-4))), -4);
  ck_assert(isnan(run_real(&r, "max_r", ARGS(REAL(3), REAL(NAN)))));
  ck_assert_double_eq(run_real(&r, "sqrt", ARGS(REAL(2))), sqrt(2));
  cost(VM_BIF_SQRT, 0);
  ck_assert_double_eq(run_real(&r, "floor", ARGS(REAL(-2.5))), -3);
  ck_assert_double_eq(run_real(&r, "ceil", ARGS(REAL(-2.5))), -2);
  ck_assert_double_eq(run_real(&r, "round", ARGS(REAL(-2.5))), -3);
  ck_assert_double_eq(run_real(&r, "trunc", ARGS(REAL(-2.5))), -2);
  ck_assert_double_eq(run_real(&r, "real_i", ARGS(INT(7))), 7);
  ck_assert_int_eq(run_int(&r, "int_r", ARGS(REAL(-7.9))), -7);
  run_faults(&r, "int_r", ARGS(REAL(NAN)), VM_FAULT_CONVERSION, 5, 1);
  ck_assert_int_eq(run_int(&r, "int_b", ARGS(INT(1))), 1);
  run_close(&r);
}
END_TEST

START_TEST(dates) {
  open_builtins();
  ck_assert_int_eq(run_int(&r, "date_ymd", ARGS(INT(1998), INT(9), INT(2))), 729633);
  run_faults(&r, "date_ymd", ARGS(INT(1998), INT(9), INT(31)), VM_FAULT_CONVERSION, 5, 4);
  ck_assert_int_eq(run_int(&r, "year", ARGS(INT(729633))), 1998);
  ck_assert_int_eq(run_int(&r, "month", ARGS(INT(729633))), 9);
  ck_assert_int_eq(run_int(&r, "day", ARGS(INT(729633))), 2);
  ck_assert_int_eq(run_int(&r, "weekday", ARGS(INT(729633))), 3);
  ck_assert_int_eq(run_int(&r, "date_t", ARGS(TEXT("1998-09-02"))), 729633);
  cost(VM_BIF_DATE_T, 1);
  run_faults(&r, "date_t", ARGS(TEXT("1998-09-2")), VM_FAULT_CONVERSION, 5, 8 + 1);
  run_is_text(&r, "text_d", ARGS(INT(729633)), "1998-09-02");
  cost(VM_BIF_TEXT_D, 1);
  run_close(&r);
}
END_TEST

START_TEST(conversions) {
  open_builtins();
  ck_assert_int_eq(run_int(&r, "int_t", ARGS(TEXT("-123456789"))), -123456789);
  cost(VM_BIF_INT_T, 1);
  run_faults(&r, "int_t", ARGS(TEXT("12 ")), VM_FAULT_CONVERSION, 5, 8);
  ck_assert_double_eq(run_real(&r, "real_t", ARGS(TEXT("1.5e3"))), 1500);
  run_faults(&r, "real_t", ARGS(TEXT("1e999")), VM_FAULT_CONVERSION, 5, 8);
  run_is_text(&r, "text_i", ARGS(INT(INT64_MIN)), "-9223372036854775808");
  cost(VM_BIF_TEXT_I, 20 / 8);
  run_is_text(&r, "text_r", ARGS(REAL(0.1)), "0.1");
  run_is_text(&r, "text_r", ARGS(REAL(NAN)), "nan");
  run_is_text(&r, "text_b", ARGS(INT(1)), "true");
  run_is_text(&r, "text_b", ARGS(INT(0)), "false");
  cost(VM_BIF_TEXT_B, 0);
  run_close(&r);
}
END_TEST

START_TEST(texts) {
  open_builtins();
  run_is_text(&r, "concat", ARGS(TEXT("h\u00e9llo, "), TEXT("world")), "h\u00e9llo, world");
  cost(VM_BIF_CONCAT, 8 / 8 + 5 / 8 + 13 / 8);
  run_is_text(&r, "concat", ARGS(TEXT(""), TEXT("")), "");
  cost(VM_BIF_CONCAT, 0);
  ck_assert_int_eq(run_int(&r, "length", ARGS(TEXT("h\u00e9llo \U0001f600!"))), 8);
  cost(VM_BIF_LENGTH, 12 / 8);
  ck_assert_int_eq(run_int(&r, "bytes", ARGS(TEXT("h\u00e9llo \U0001f600!"))), 12);
  cost(VM_BIF_BYTES, 0);
  run_is_text(&r, "slice", ARGS(TEXT("h\u00e9llo"), INT(1), INT(2)), "\u00e9l");
  run_is_text(&r, "slice", ARGS(TEXT("h\u00e9llo"), INT(3), INT(INT64_MAX)), "lo");
  run_is_text(&r, "slice", ARGS(TEXT("h\u00e9llo"), INT(5), INT(1)), "");
  run_is_text(&r, "slice", ARGS(TEXT("h\u00e9llo"), INT(INT64_MAX), INT(0)), "");
  run_faults(&r, "slice", ARGS(TEXT("abcdefgh"), INT(-1), INT(2)), VM_FAULT_CONVERSION, 5, 8 + 1);
  run_faults(&r, "slice", ARGS(TEXT("abcdefgh"), INT(1), INT(-2)), VM_FAULT_CONVERSION, 5, 8 + 1);
  ck_assert_int_eq(run_int(&r, "contains", ARGS(TEXT("abcabd"), TEXT("abd"))), 1);
  ck_assert_int_eq(run_int(&r, "contains", ARGS(TEXT("abcabd"), TEXT("abe"))), 0);
  ck_assert_int_eq(run_int(&r, "starts", ARGS(TEXT("abc"), TEXT("ab"))), 1);
  ck_assert_int_eq(run_int(&r, "starts", ARGS(TEXT("abc"), TEXT("bc"))), 0);
  ck_assert_int_eq(run_int(&r, "starts", ARGS(TEXT("ab"), TEXT("abc"))), 0);
  ck_assert_int_eq(run_int(&r, "ends", ARGS(TEXT("abc"), TEXT("bc"))), 1);
  ck_assert_int_eq(run_int(&r, "ends", ARGS(TEXT("abc"), TEXT(""))), 1);
  ck_assert_int_eq(run_int(&r, "ends", ARGS(TEXT("abc"), TEXT("ab"))), 0);
  run_is_text(&r, "lower", ARGS(TEXT("ABZ \u00c9 [az@")), "abz \u00c9 [az@");
  run_is_text(&r, "upper", ARGS(TEXT("abz \u00e9 {AZ`")), "ABZ \u00e9 {AZ`");
  cost(VM_BIF_UPPER, 10 / 8 * 2);
  run_close(&r);
}
END_TEST

/* A text made in a call, written to the store and read back is the same text, and a key. */
static const char store_texts[] =
    "list names (name: text, n: int) key (name)\n"
    "event remember(a: text, b: text): int {\n"
    "  regs 12 lists names\n"
    "  mov r3, r0 @1:1\n"
    "  mov r4, r1\n"
    "  bif r2, concat, r3\n"
    "  ldi r3, 1\n"
    "  ldi r10, 0\n"
    "  put r2, names\n"
    "  mov r7, r2\n"
    "  find r5, names @2:1\n"
    "  get r8, r5, names.name\n"
    "  teq r9, r8, r2\n"
    "  jf r9, wrong\n"
    "  tne r9, r2, r8\n"
    "  jt r9, wrong\n"
    "  bif r9, bytes, r8\n"
    "  count r10, names\n"
    "  iadd r10, r10, r9\n"
    "wrong:\n"
    "  retv r10\n"
    "}\n"
    "query known(a: text): bool { regs 2 lists names has r1, r0, names @1:1 retv r1 }\n"
    "query all(): (name: text, n: int) { regs 0 lists names retl names @1:1 }\n";

START_TEST(texts_in_the_store) {
  run_open(&r, store_texts);
  ck_assert_int_eq(run_int(&r, "remember", ARGS(TEXT("foo"), TEXT("bar"))), 1 + 6);
  ck_assert_int_eq(run_int(&r, "remember", ARGS(TEXT("fo"), TEXT("obar"))), 1 + 6);
  ck_assert_int_eq(run_int(&r, "remember", ARGS(TEXT("x"), TEXT(""))), 2 + 1);
  ck_assert_int_eq(run_int(&r, "known", ARGS(TEXT("foobar"))), 1);
  ck_assert_int_eq(run_int(&r, "known", ARGS(TEXT("fooba"))), 0);
  run_is_rows(&r, "all", NO_ARGS, "foobar 1; x 1");
  run_close(&r);
}
END_TEST

static const char hosts[] =
    "pure extern add(a: int, b: real): real\n"
    "extern say(a: text): text\n"
    "extern flag(): bool\n"
    "extern day(): date\n"
    "extern none(a: int)\n"
    "event call_add(): real { regs 3 ldi r0, 3 @3:4 bif r1, real_i, r0 callx r0, add retv r0 }\n"
    "event call_say(a: text): text { regs 1 callx r0, say @3:4 retv r0 }\n"
    "event call_flag(): bool { regs 1 callx r0, flag @3:4 retv r0 }\n"
    "event call_day(): date { regs 1 callx r0, day @3:4 retv r0 }\n"
    "event call_none(): int { regs 1 ldi r0, 5 @3:4 callx r0, none retv r0 }\n";

typedef struct {
  run *r;
  const char *complaint;
  uint64_t answer;
  unsigned calls;
} host_state;

static const char *host(void *user, vm_context *cx, unsigned number, const ls_val *args,
                        ls_val *result) {
  host_state *h = user;
  uint32_t id;
  vm_result out;
  h->calls++;
  ck_assert_int_eq(vm_call(cx, 0, NULL, &out), VM_MISUSE); /* it is busy */
  if (h->complaint)
    return h->complaint;
  switch (number) {
  case 0:
    ck_assert_int_eq(args[0].i, 3);
    result->r = (double)args[0].i + args[1].r;
    return NULL;
  case 1:
    ck_assert_int_eq(ls_texts_intern(vm_context_texts(cx), "said", 4, &id), LS_OK);
    result->u = h->answer ? h->answer : id;
    return NULL;
  default:
    result->u = h->answer;
    return NULL;
  }
}

START_TEST(host_functions) {
  run_open(&r, hosts);
  host_state h = {.r = &r};
  run_faults(&r, "call_add", NO_ARGS, VM_FAULT_HOST, 3, 2 + 16);
  ck_assert_ptr_nonnull(strstr(vm_context_fault(r.cx[0])->message, "no host function"));
  for (int i = 0; i < 2; i++)
    vm_context_host(r.cx[i], host, &h);
  ck_assert_double_eq(run_real(&r, "call_add", NO_ARGS), 6);
  ck_assert_uint_eq(run_work(&r), 2 + 16 + 2);
  run_is_text(&r, "call_say", ARGS(TEXT("x")), "said");
  h.answer = 1;
  ck_assert_int_eq(run_int(&r, "call_flag", NO_ARGS), 1);
  ck_assert_int_eq(run_int(&r, "call_day", NO_ARGS), 1);
  ck_assert_int_eq(run_int(&r, "call_none", NO_ARGS), 5);
  ck_assert_uint_eq(h.calls, 2 * 5);
  /* answers that are no values of their type */
  h.answer = UINT32_MAX;
  run_faults(&r, "call_say", ARGS(TEXT("x")), VM_FAULT_HOST, 3, UINT64_MAX);
  h.answer = UINT64_C(1) << 40;
  run_faults(&r, "call_say", ARGS(TEXT("x")), VM_FAULT_HOST, 3, UINT64_MAX);
  h.answer = 2;
  run_faults(&r, "call_flag", NO_ARGS, VM_FAULT_HOST, 3, UINT64_MAX);
  h.answer = LS_DATE_MAX + 1;
  run_faults(&r, "call_day", NO_ARGS, VM_FAULT_HOST, 3, UINT64_MAX);
  h.complaint = "the printer is on fire";
  run_faults(&r, "call_none", NO_ARGS, VM_FAULT_HOST, 3, UINT64_MAX);
  ck_assert_str_eq(vm_context_fault(r.cx[0])->message, "the printer is on fire");
  run_close(&r);
}
END_TEST

/* A long message is cut between characters. */
START_TEST(messages_are_cut) {
  run_open(&r, "fn fails(a: text) { regs 1 fail r0 }\n");
  char text[700] = "";
  for (int i = 0; i < 200; i++)
    strcat(text, "\u20ac"); /* 3 bytes */
  run_faults(&r, "fails", ARGS(TEXT(text)), VM_FAULT_RAISED, 0, 1);
  const char *message = vm_context_fault(r.cx[0])->message;
  ck_assert_uint_eq(strlen(message), 510);
  ck_assert_mem_eq(message, text, 510);
  run_faults(&r, "fails", ARGS(TEXT("")), VM_FAULT_RAISED, 0, 1);
  ck_assert_str_eq(vm_context_fault(r.cx[0])->message, vm_fault_message(VM_FAULT_RAISED));
  run_close(&r);
}
END_TEST

/* Wrong arguments never get in. */
START_TEST(misuse) {
  run_open(&r, "query f(a: text, b: bool, c: date): int { regs 3 ldi r0, 1 retv r0 }\n");
  ck_assert_int_eq(run_call(&r, "f", ARGS(INT(0), INT(1), INT(0))), VM_OK);
  ck_assert_int_eq(run_call(&r, "f", ARGS(INT(99), INT(1), INT(0))), VM_MISUSE);
  ck_assert_int_eq(run_call(&r, "f", ARGS(INT(-1), INT(1), INT(0))), VM_MISUSE);
  ck_assert_int_eq(run_call(&r, "f", ARGS(INT(0), INT(2), INT(0))), VM_MISUSE);
  ck_assert_int_eq(run_call(&r, "f", ARGS(INT(0), INT(1), INT(-1))), VM_MISUSE);
  ck_assert_int_eq(run_call(&r, "f", ARGS(INT(0), INT(1), INT(LS_DATE_MAX + 1))), VM_MISUSE);
  vm_result out;
  ck_assert_int_eq(vm_call(r.cx[0], 1, NULL, &out), VM_MISUSE);
  /* a text of the call before is gone, unless it was interned for this one */
  ls_val t = TEXT("here");
  ck_assert_int_eq(run_call(&r, "f", ARGS(t, INT(1), INT(0))), VM_OK);
  ck_assert_int_eq(run_call(&r, "f", ARGS(t, INT(1), INT(0))), VM_MISUSE);
  run_close(&r);
}
END_TEST

int main(void) {
  Suite *s = suite_create("builtin");
  TCase *t = tcase_create("builtin");
  tcase_add_test(t, numbers);
  tcase_add_test(t, dates);
  tcase_add_test(t, conversions);
  tcase_add_test(t, texts);
  tcase_add_test(t, texts_in_the_store);
  tcase_add_test(t, host_functions);
  tcase_add_test(t, messages_are_cut);
  tcase_add_test(t, misuse);
  suite_add_tcase(s, t);
  SRunner *sr = srunner_create(s);
  srunner_run_all(sr, CK_ENV);
  int failed = srunner_ntests_failed(sr);
  srunner_free(sr);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
