/* List instructions, on the interpreter and by `step`. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/vm/support/run.h"

static run r;

/* What a program answers does not depend on layouts: every test runs with several policies. */
#define POLICIES 5
static void open_with(const char *text, int n) {
  ls_policy p = ls_policy_default;
  if (n == 1) /* never dense */
    p.dense_min_span = p.dense_max_sparsity = 0;
  if (n == 2) { /* trees early */
    p.dense_min_span = p.dense_max_sparsity = 0;
    p.tree_after_sorts = 0;
  }
  if (n >= 3) /* any layout at any time */
    p.stress_seed = 77u + (unsigned)n;
  run_open_policy(&r, text, &p);
}

/* Positional. */
static const char queue[] =
    "const by_a int 0xffffffffffffff00\n"
    "const by_b_down_a int 0xffffffffffff0003\n"
    "local t (a: int, s: text, x: real, d: date, b: bool)\n"
    /* 1 .. 7, one for each function */
    "local q (a: int, b: int)\n"
    "local q (a: int, b: int)\n"
    "local q (a: int, b: int)\n"
    "local q (a: int, b: int)\n"
    "local q (a: int, b: int)\n"
    "local q (a: int, b: int)\n"
    "local q (a: int, b: int)\n"
    /* n rows (i, i * i) */
    "query fill(n: int): (a: int, b: int) {\n"
    "  regs 5 loops 1 lists q#1\n"
    "  new q @1:1\n"
    "  ldi r1, 0\n"
    "top:\n"
    "  loop 0\n"
    "  ilt r4, r1, r0\n"
    "  jf r4, out\n"
    "  imul r2, r1, r1\n"
    "  add r1, q @2:1\n"
    "  iaddk r1, r1, 1\n"
    "  jmp top\n"
    "out:\n"
    "  retl q\n"
    "}\n"
    /* sum of a * b, set b to b + 1 on the way, and rows are added while it runs */
    "query walk(n: int): int {\n"
    "  regs 20 loops 1 lists q#2\n"
    "  new q @1:1\n"
    "  ldi r1, 1\n"
    "  ldi r2, 10\n"
    "  add r1, q\n"
    "  ldi r6, 0\n"
    "  seek r10, q[0]\n"
    "top:\n"
    "  loop 0\n"
    "  next r10, q[0], out\n"
    "  get r3, r10, q.a\n"
    "  get r4, r10, q.b\n"
    "  imul r5, r3, r4\n"
    "  iadd r6, r6, r5\n"
    "  iaddk r4, r4, 1\n"
    "  set r10, r4, q.b\n"
    "  get r7, r10, q.b\n"
    "  iadd r6, r6, r7\n"
    "  count r7, q\n"
    "  ilt r8, r7, r0\n"
    "  jf r8, top\n"
    "  iaddk r1, r3, 1\n"
    "  mov r2, r4\n"
    "  add r1, q\n"
    "  jmp top\n"
    "out:\n"
    "  retv r6\n"
    "}\n"
    "query row(i: int): int {\n"
    "  regs 5 lists q#3\n"
    "  new q @1:1\n"
    "  ldi r1, 7\n"
    "  ldi r2, 8\n"
    "  add r1, q\n"
    "  row r3, r0, q @2:2\n"
    "  get r4, r3, q.b @3:3\n"
    "  retv r4\n"
    "}\n"
    "query gone(): int {\n"
    "  regs 5 lists q#4\n"
    "  new q @1:1\n"
    "  ldi r1, 7\n"
    "  ldi r2, 8\n"
    "  add r1, q\n"
    "  ldi r0, 0\n"
    "  row r3, r0, q\n"
    "  clear q\n"
    "  get r4, r3, q.b @3:3\n"
    "  retv r4\n"
    "}\n"
    "query gone_set(): int {\n"
    "  regs 5 lists q#5\n"
    "  new q @1:1\n"
    "  ldi r1, 7\n"
    "  ldi r2, 8\n"
    "  add r1, q\n"
    "  ldi r0, 0\n"
    "  row r3, r0, q\n"
    "  new q\n"
    "  set r3, r1, q.b @4:4\n"
    "  retv r1\n"
    "}\n"
    "query sorted(n: int): (a: int, b: int) {\n"
    "  regs 6 loops 1 lists q#6\n"
    "  new q @1:1\n"
    "  ldi r1, 0\n"
    "  ldi r5, 3\n"
    "top:\n"
    "  loop 0\n"
    "  ilt r4, r1, r0\n"
    "  jf r4, out\n"
    "  imod r2, r1, r5\n"
    "  add r1, q\n"
    "  iaddk r1, r1, 1\n"
    "  jmp top\n"
    "out:\n"
    "  sort q, by_b_down_a @5:1\n"
    "  retl q\n"
    "}\n"
    "query ends(n: int): int {\n"
    "  regs 12 loops 1 lists q#7\n"
    "  new q @1:1\n"
    "  ldi r1, 0\n"
    "  mov r2, r0\n"
    "top:\n"
    "  loop 0\n"
    "  ilt r3, r1, r0\n"
    "  jf r3, out\n"
    "  add r1, q\n"
    "  iaddk r1, r1, 1\n"
    "  jmp top\n"
    "out:\n"
    "  firstj r4, q[0], none\n"
    "  get r8, r4, q.a\n"
    "  lastj r4, q[0], none\n"
    "  get r9, r4, q.a\n"
    "  ldi r10, 100\n"
    "  imul r8, r8, r10\n"
    "  iadd r8, r8, r9\n"
    "  retv r8\n"
    "none:\n"
    "  ldi r8, -1\n"
    "  retv r8\n"
    "}\n"
    "const word text \"word\"\n"
    "const pi real 3.25\n"
    "query kinds(d: date): (a: int, s: text, x: real, d: date, b: bool) {\n"
    "  regs 8 lists t\n"
    "  new t @1:1\n"
    "  ldi r1, -5\n"
    "  ldk r2, word\n"
    "  ldk r3, pi\n"
    "  mov r4, r0\n"
    "  ldb r5, 1\n"
    "  add r1, t\n"
    "  retl t\n"
    "}\n";

START_TEST(positional) {
  open_with(queue, _i);
  run_is_rows(&r, "fill", ARGS(INT(5)), "0 0; 1 1; 2 4; 3 9; 4 16");
  ck_assert_uint_eq(run_work(&r), 4 + 1 + 5 * 10 + 3 + 4);
  run_is_rows(&r, "fill", ARGS(INT(0)), "");
  run_do(&r, "fill", ARGS(INT(1000)));
  ck_assert_uint_eq(r.out[0].rows->count, 1000);
  run_do(&r, "fill", ARGS(INT(1000))); /* starts as it ended */
  ck_assert_uint_eq(r.out[0].rows->count, 1000);
  ck_assert_int_eq(run_int(&r, "walk", ARGS(INT(1))), 1 * 10 + 11);
  ck_assert_int_eq(run_int(&r, "walk", ARGS(INT(3))), 10 + 11 + 2 * 11 + 12 + 3 * 12 + 13);
  ck_assert_int_eq(run_int(&r, "row", ARGS(INT(0))), 8);
  run_faults(&r, "row", ARGS(INT(1)), VM_FAULT_MISSING, 2, 4 + 1 + 1 + 4 + 1);
  run_faults(&r, "row", ARGS(INT(-1)), VM_FAULT_MISSING, 2, UINT64_MAX);
  run_faults(&r, "gone", NO_ARGS, VM_FAULT_DELETED, 3, 4 + 1 + 1 + 4 + 1 + 1 + 4 + 1);
  run_faults(&r, "gone_set", NO_ARGS, VM_FAULT_DELETED, 4, UINT64_MAX);
  run_is_rows(&r, "sorted", ARGS(INT(7)), "2 2; 5 2; 1 1; 4 1; 0 0; 3 0; 6 0");
  ck_assert_uint_eq(run_work(&r), 4 + 2 + 7 * 11 + 3 + (8 + 7 * 3) + 4);
  run_is_rows(&r, "sorted", ARGS(INT(0)), "");
  ck_assert_int_eq(run_int(&r, "ends", ARGS(INT(5))), 4);
  ck_assert_int_eq(run_int(&r, "ends", ARGS(INT(0))), -1);
  run_is_rows(&r, "kinds", ARGS(INT(0)), "-5 word 3.25 0001-01-01 1");
  run_close(&r);
}
END_TEST

/* Keyed by one int, and the fused forms around find and has. */
static const char keyed[] =
    /* one for each function */
    "local s (k: int, v: int, x: real, w: text) key (k)\n"
    "local s (k: int, v: int, x: real, w: text) key (k)\n"
    "local s (k: int, v: int, x: real, w: text) key (k)\n"
    "local s (k: int, v: int, x: real, w: text) key (k)\n"
    "local s (k: int, v: int, x: real, w: text) key (k)\n"
    "local s (k: int, v: int, x: real, w: text) key (k)\n"
    "const hello text \"hello\"\n"
    "const half real 0.5\n"
    /* puts (i * step, i) for i in 0 .. n-1, then looks everything up */
    "query table(n: int, step: int): int {\n"
    "  regs 20 loops 2 lists s#0\n"
    "  new s @1:1\n"
    "  ldi r2, 0\n"
    "  ldk r6, half\n"
    "  ldk r7, hello\n"
    "fill:\n"
    "  loop 0\n"
    "  ilt r3, r2, r0\n"
    "  jf r3, filled\n"
    "  imul r4, r2, r1\n"
    "  mov r5, r2\n"
    "  put r4, s @2:1\n"
    "  iaddk r2, r2, 1\n"
    "  jmp fill\n"
    "filled:\n"
    "  ldi r2, 0\n"
    "  ldi r15, 0\n"
    "look:\n"
    "  loop 1\n"
    "  ilt r3, r2, r0\n"
    "  jf r3, out\n"
    "  imul r10, r2, r1\n"
    "  find r8, s @3:1\n"
    "  get r11, r8, s.v\n"
    "  iadd r15, r15, r11\n"
    "  get r11, r8, s.k\n"
    "  has r12, r11, s\n"
    "  jf r12, wrong\n"
    "  iaddk r13, r11, 1\n"
    "  has r12, r13, s\n"
    "  jt r12, next\n"
    "  iaddk r15, r15, 1000\n"
    "next:\n"
    "  iaddk r2, r2, 1\n"
    "  jmp look\n"
    "out:\n"
    "  retv r15\n"
    "wrong:\n"
    "  raise missing @9:9\n"
    "}\n"
    "query missing(k: int): int {\n"
    "  regs 8 lists s#1\n"
    "  new s @1:1\n"
    "  mov r5, r0\n"
    "  find r3, s @2:2\n"
    "  get r0, r3, s.v\n"
    "  retv r0\n"
    "}\n"
    "query findj(a: int, k: int): int {\n"
    "  regs 16 lists s#2\n"
    "  new s @1:1\n"
    "  mov r2, r0\n"
    "  ldi r3, 5\n"
    "  ldk r4, half\n"
    "  ldk r5, hello\n"
    "  put r2, s\n"
    "  mov r8, r1\n"
    "  findj r6, s, none\n"
    "  get r9, r6, s.v\n"
    "  retv r9\n"
    "none:\n"
    "  ldi r9, -1\n"
    "  retv r9\n"
    "}\n"
    "query duplicate(a: int, b: int): int {\n"
    "  regs 8 lists s#3\n"
    "  new s @1:1\n"
    "  mov r2, r0\n"
    "  ldi r3, 5\n"
    "  ldk r4, half\n"
    "  ldk r5, hello\n"
    "  add r2, s\n"
    "  mov r2, r1\n"
    "  add r2, s @3:3\n"
    "  count r0, s\n"
    "  retv r0\n"
    "}\n"
    /* groups: ensure, then add to the group's row; erases one and finds another again */
    "query groups(n: int): (k: int, v: int, x: real, w: text) {\n"
    "  regs 24 loops 1 lists s#4\n"
    "  new s @1:1\n"
    "  ldi r1, 0\n"
    "  ldi r4, 3\n"
    "  ldi r5, 0\n"
    "  ldk r6, half\n"
    "  ldk r7, hello\n"
    "top:\n"
    "  loop 0\n"
    "  ilt r2, r1, r0\n"
    "  jf r2, out\n"
    "  imod r12, r1, r4\n"
    "  ensure r10, r5, s\n"
    "  get r13, r10, s.v\n"
    "  iadd r13, r13, r1\n"
    "  set r10, r13, s.v\n"
    "  get r14, r10, s.x\n"
    "  radd r14, r14, r14\n"
    "  set r10, r14, s.x\n"
    "  iaddk r1, r1, 1\n"
    "  jmp top\n"
    "out:\n"
    "  retl s\n"
    "}\n"
    /* row name across an insert and a delete */
    "query again(k: int, gone: int): int {\n"
    "  regs 24 lists s#5\n"
    "  new s @1:1\n"
    "  ldi r2, 1\n"
    "  ldi r3, 11\n"
    "  ldk r4, half\n"
    "  ldk r5, hello\n"
    "  put r2, s\n"
    "  ldi r2, 2\n"
    "  ldi r3, 22\n"
    "  put r2, s\n"
    "  mov r8, r0\n"
    "  find r6, s @2:2\n"
    "  ldi r2, -1000000\n"
    "  put r2, s\n"
    "  refind r6, s @3:3\n"
    "  get r10, r6, s.v\n"
    "  mov r2, r1\n"
    "  erase r2, s @4:4\n"
    "  refind r6, s @5:5\n"
    "  get r11, r6, s.v\n"
    "  iadd r10, r10, r11\n"
    "  retv r10\n"
    "}\n";

START_TEST(keyed_by_int) {
  open_with(keyed, _i);
  /* with step 1 each key but the last has a successor */
  ck_assert_int_eq(run_int(&r, "table", ARGS(INT(10), INT(1))), 45 + 1000);
  ck_assert_uint_eq(run_work(&r), 7 + 10 * 11 + 3 + 2 + 10 * 22 + 1 + 3 + 2);
  ck_assert_int_eq(run_int(&r, "table", ARGS(INT(10), INT(-1))), 45 + 1000);
  ck_assert_int_eq(run_int(&r, "table", ARGS(INT(300), INT(1000003))), 300 * 299 / 2 + 300000);
  ck_assert_int_eq(run_int(&r, "table", ARGS(INT(2000), INT(2))), 2000 * 1999 / 2 + 2000000);
  run_faults(&r, "missing", ARGS(INT(1)), VM_FAULT_MISSING, 2, 4 + 1 + 4);
  ck_assert_int_eq(run_int(&r, "findj", ARGS(INT(-5), INT(-5))), 5);
  ck_assert_uint_eq(run_work(&r), 4 + 4 + 4 + 1 + 4 + 1 + 2);
  ck_assert_int_eq(run_int(&r, "findj", ARGS(INT(5), INT(6))), -1);
  ck_assert_int_eq(run_int(&r, "findj", ARGS(INT(INT64_MIN), INT(INT64_MIN))), 5);
  ck_assert_int_eq(run_int(&r, "duplicate", ARGS(INT(5), INT(6))), 2);
  run_faults(&r, "duplicate", ARGS(INT(5), INT(5)), VM_FAULT_DUPLICATE, 3, 4 + 4 + 4 + 1 + 4);
  run_is_rows(&r, "groups", ARGS(INT(7)), "0 9 4.0 hello; 1 5 2.0 hello; 2 7 2.0 hello");
  run_is_rows(&r, "groups", ARGS(INT(0)), "");
  ck_assert_int_eq(run_int(&r, "again", ARGS(INT(2), INT(1))), 44);
  run_faults(&r, "again", ARGS(INT(2), INT(2)), VM_FAULT_DELETED, 5, UINT64_MAX);
  run_faults(&r, "again", ARGS(INT(2), INT(3)), VM_FAULT_MISSING, 4, UINT64_MAX);
  run_faults(&r, "again", ARGS(INT(3), INT(2)), VM_FAULT_MISSING, 2, UINT64_MAX);
  run_close(&r);
}
END_TEST

/* A grid of (a, b) with a in 0 .. 3 and b in 0, 2, 4, 6; b is a date, keys of two types. */
#define GRID                                                                                       \
  "  new g @1:1\n"                                                                                 \
  "  ldi r30, 0\n"                                                                                 \
  "  ldi r33, 4\n"                                                                                 \
  "rows:\n"                                                                                        \
  "  loop 0\n"                                                                                     \
  "  ilt r34, r30, r33\n"                                                                          \
  "  jf r34, made\n"                                                                               \
  "  ldi r35, 0\n"                                                                                 \
  "cells:\n"                                                                                       \
  "  loop 1\n"                                                                                     \
  "  ilt r34, r35, r33\n"                                                                          \
  "  jf r34, row\n"                                                                                \
  "  ldi r36, 0\n"                                                                                 \
  "  iadd r37, r35, r35\n"                                                                         \
  "  dadd r31, r40, r37\n"                                                                         \
  "  imul r32, r30, r33\n"                                                                         \
  "  iadd r32, r32, r35\n"                                                                         \
  "  add r30, g\n"                                                                                 \
  "  iaddk r35, r35, 1\n"                                                                          \
  "  jmp cells\n"                                                                                  \
  "row:\n"                                                                                         \
  "  iaddk r30, r30, 1\n"                                                                          \
  "  jmp rows\n"                                                                                   \
  "made:\n"

#define GRID_FN(name, params, loops, g)                                                            \
  "query " name "(" params "): int {\n"                                                            \
  "  regs 60 loops " loops " lists g#" g "\n"                                                      \
  "  ldk r40, zero @1:1\n" GRID

/* Sum of 100 * v + 1 over a slice whose bounds are in r16 and on. */
#define GRID_SUM(slice)                                                                            \
  "  seek r10, g[" slice "] @2:1\n"                                                                \
  "  ldi r50, 0\n"                                                                                 \
  "  ldi r51, 100\n"                                                                               \
  "sum:\n"                                                                                         \
  "  loop 2\n"                                                                                     \
  "  next r10, g[" slice "], done\n"                                                               \
  "  get r52, r10, g.v\n"                                                                          \
  "  imul r52, r52, r51\n"                                                                         \
  "  iaddk r52, r52, 1\n"                                                                          \
  "  iadd r50, r50, r52\n"                                                                         \
  "  jmp sum\n"                                                                                    \
  "done:\n"                                                                                        \
  "  retv r50\n"                                                                                   \
  "}\n"

static const char grid[] = "const zero date \"0001-01-01\"\n"
                           /* one for each function */
                           "local g (a: int, b: date, v: int) key (a, b)\n"
                           "local g (a: int, b: date, v: int) key (a, b)\n"
                           "local g (a: int, b: date, v: int) key (a, b)\n"
                           "local g (a: int, b: date, v: int) key (a, b)\n"
                           "local g (a: int, b: date, v: int) key (a, b)\n"
                           "local g (a: int, b: date, v: int) key (a, b)\n"
                           "local g (a: int, b: date, v: int) key (a, b)\n"
                           "local g (a: int, b: date, v: int) key (a, b)\n"
                           "local g (a: int, b: date, v: int) key (a, b)\n"
                           "local g (a: int, b: date, v: int) key (a, b)\n"
                           "local g (a: int, b: date, v: int) key (a, b)\n"
    /* clang-format off */
    GRID_FN("all", "", "3", "0") GRID_SUM("0")
    GRID_FN("all_tracked", "", "3", "1") GRID_SUM("0 tracked")
    GRID_FN("of", "a: int", "3", "2") "  mov r16, r0\n" GRID_SUM("1")
    GRID_FN("of_tracked", "a: int", "3", "3") "  mov r16, r0\n" GRID_SUM("1 tracked")
    GRID_FN("firsts", "lo: int, hi: int", "3", "4") "  mov r16, r0\n  mov r17, r1\n"
    GRID_SUM("0 lo hi")
    GRID_FN("from", "lo: int", "3", "5") "  mov r16, r0\n" GRID_SUM("0 lo")
    GRID_FN("to", "hi: int", "3", "6") "  mov r16, r0\n" GRID_SUM("0 hi")
    GRID_FN("within", "a: int, lo: date, hi: date", "3", "7")
    "  mov r16, r0\n  mov r17, r1\n  mov r18, r2\n" GRID_SUM("1 lo hi")
    GRID_FN("one", "a: int, b: date", "3", "8") "  mov r16, r0\n  mov r17, r1\n" GRID_SUM("2")
    /* clang-format on */
    /* counts, first and last of a slice with prefix and bounds */
    GRID_FN("facts", "a: int, lo: date, hi: date", "2",
            "9") "  mov r16, r0\n"
                 "  mov r17, r1\n"
                 "  mov r18, r2\n"
                 "  scount r50, r16, g[1 lo hi] @2:1\n"
                 "  ldi r51, 10000\n"
                 "  imul r50, r50, r51\n"
                 "  firstj r10, g[1 lo hi tracked], none\n"
                 "  get r52, r10, g.v\n"
                 "  ldi r51, 100\n"
                 "  imul r52, r52, r51\n"
                 "  iadd r50, r50, r52\n"
                 "  lastj r10, g[1 lo hi], none\n"
                 "  get r52, r10, g.v\n"
                 "  iadd r50, r50, r52\n"
                 "none:\n"
                 "  retv r50\n"
                 "}\n"
    /* find by both keys; has; erase; count */
    GRID_FN("find", "a: int, b: date", "2", "10") "  mov r12, r0\n"
                                                  "  mov r13, r1\n"
                                                  "  find r10, g @2:1\n"
                                                  "  get r50, r10, g.v\n"
                                                  "  mov r20, r0\n"
                                                  "  mov r21, r1\n"
                                                  "  erase r20, g\n"
                                                  "  has r51, r20, g\n"
                                                  "  jt r51, wrong\n"
                                                  "  scount r52, r20, g[1]\n"
                                                  "  count r53, g\n"
                                                  "  ldi r51, 1000\n"
                                                  "  imul r50, r50, r51\n"
                                                  "  imul r52, r52, r51\n"
                                                  "  iadd r50, r50, r52\n"
                                                  "  iadd r50, r50, r53\n"
                                                  "  retv r50\n"
                                                  "wrong:\n"
                                                  "  raise missing\n"
                                                  "}\n";

static int64_t sum_of(int from, int to) {
  int64_t sum = 0;
  for (int v = from; v <= to; v++)
    sum += 100 * v + 1;
  return sum;
}

START_TEST(slices) {
  open_with(grid, _i);
  ck_assert_int_eq(run_int(&r, "all", NO_ARGS), sum_of(0, 15));
  uint64_t work = run_work(&r);
  ck_assert_int_eq(run_int(&r, "all_tracked", NO_ARGS), sum_of(0, 15));
  ck_assert_uint_eq(run_work(&r), work);
  ck_assert_int_eq(run_int(&r, "of", ARGS(INT(2))), sum_of(8, 11));
  ck_assert_int_eq(run_int(&r, "of", ARGS(INT(4))), 0);
  ck_assert_int_eq(run_int(&r, "of", ARGS(INT(-1))), 0);
  ck_assert_int_eq(run_int(&r, "of_tracked", ARGS(INT(0))), sum_of(0, 3));
  ck_assert_int_eq(run_int(&r, "firsts", ARGS(INT(1), INT(2))), sum_of(4, 11));
  ck_assert_int_eq(run_int(&r, "firsts", ARGS(INT(2), INT(1))), 0);
  ck_assert_int_eq(run_int(&r, "firsts", ARGS(INT(INT64_MIN), INT(INT64_MAX))), sum_of(0, 15));
  ck_assert_int_eq(run_int(&r, "from", ARGS(INT(3))), sum_of(12, 15));
  ck_assert_int_eq(run_int(&r, "to", ARGS(INT(1))), sum_of(0, 7));
  ck_assert_int_eq(run_int(&r, "within", ARGS(INT(1), INT(1), INT(4))), sum_of(5, 6));
  ck_assert_int_eq(run_int(&r, "within", ARGS(INT(1), INT(3), INT(3))), 0);
  ck_assert_int_eq(run_int(&r, "one", ARGS(INT(3), INT(6))), sum_of(15, 15));
  ck_assert_int_eq(run_int(&r, "one", ARGS(INT(3), INT(5))), 0);
  ck_assert_int_eq(run_int(&r, "facts", ARGS(INT(1), INT(2), INT(6))), 30000 + 500 + 7);
  ck_assert_int_eq(run_int(&r, "facts", ARGS(INT(1), INT(3), INT(3))), 0);
  ck_assert_int_eq(run_int(&r, "find", ARGS(INT(1), INT(2))), 5000 + 3000 + 15);
  run_faults(&r, "find", ARGS(INT(1), INT(3)), VM_FAULT_MISSING, 2, UINT64_MAX);
  run_close(&r);
}
END_TEST

/* Lists that change under a tracked cursor: the next row is the smallest key greater than the
 * present one, whatever happened meanwhile. */
static const char changing[] =
    "local s (k: int, v: int) key (k)\n"
    "local p (a: int, k: int, v: int) key (a, k)\n"
    /* keys 0, 10, .. 90; at each row deletes key + drop and puts key + add if below 200 */
    "query go(drop: int, add: int): int {\n"
    "  regs 40 loops 2 lists s\n"
    "  new s @1:1\n"
    "  ldi r2, 0\n"
    "  ldi r3, 1\n"
    "  ldi r4, 100\n"
    "fill:\n"
    "  loop 0\n"
    "  ilt r5, r2, r4\n"
    "  jf r5, filled\n"
    "  put r2, s\n"
    "  iaddk r2, r2, 10\n"
    "  jmp fill\n"
    "filled:\n"
    "  ldi r20, 0\n"
    "  ldi r21, 200\n"
    "  ldi r22, 7\n"
    "  ldi r23, 1000003\n"
    "  seek r10, s[0 tracked] @2:1\n"
    "top:\n"
    "  loop 1\n"
    "  next r10, s[0 tracked], out @3:1\n"
    "  imul r20, r20, r22\n"
    "  iadd r20, r20, r12\n"
    "  imod r20, r20, r23\n"
    "  iadd r24, r12, r0\n"
    "  has r5, r24, s\n"
    "  jf r5, kept\n"
    "  erase r24, s\n"
    "kept:\n"
    "  iadd r2, r12, r1\n"
    "  ilt r5, r2, r21\n"
    "  jf r5, top\n"
    "  put r2, s\n"
    "  jmp top\n"
    "out:\n"
    "  count r24, s\n"
    "  iadd r20, r20, r24\n"
    "  retv r20\n"
    "}\n"
    /* the row at hand is read again after each change: refind between next and next */
    "query again(n: int): int {\n"
    "  regs 40 loops 2 lists p\n"
    "  new p @1:1\n"
    "  ldi r2, 5\n"
    "  ldi r3, 0\n"
    "  ldi r4, 0\n"
    "fill:\n"
    "  loop 0\n"
    "  ilt r5, r3, r0\n"
    "  jf r5, filled\n"
    "  put r2, p\n"
    "  iaddk r3, r3, 3\n"
    "  jmp fill\n"
    "filled:\n"
    "  ldi r20, 0\n"
    "  ldi r16, 5\n"
    "  ldi r22, 3\n"
    "  ldi r23, 2\n"
    "  seek r10, p[1 tracked] @2:1\n"
    "top:\n"
    "  loop 1\n"
    "  next r10, p[1 tracked], out @3:1\n"
    "  mov r2, r12\n"
    "  iaddk r3, r13, 1\n"
    "  imod r5, r3, r22\n"
    "  ieq r6, r5, r23\n"
    "  jt r6, skip\n"
    "  put r2, p\n"
    "skip:\n"
    "  refind r10, p @4:1\n"
    "  get r24, r10, p.k\n"
    "  iadd r20, r20, r24\n"
    "  jmp top\n"
    "out:\n"
    "  count r24, p\n"
    "  iadd r20, r20, r24\n"
    "  retv r20\n"
    "}\n";

static int64_t model_go(int drop, int add) {
  bool in[400] = {false};
  int64_t sum = 0, count = 0;
  for (int k = 0; k < 100; k += 10)
    in[k + 100] = true;
  for (int k = -100; k < 300; k++) {
    if (!in[k + 100])
      continue;
    sum = (sum * 7 + k) % 1000003;
    if (k + drop >= -100 && k + drop < 300)
      in[k + drop + 100] = false;
    if (k + add < 200)
      in[k + add + 100] = true;
  }
  for (int k = 0; k < 400; k++)
    count += in[k];
  return sum + count;
}

START_TEST(lists_that_change) {
  open_with(changing, _i);
  static const int moves[][2] = {{10, 5}, {0, 0},  {-10, 1}, {20, 30},   {0, 3},
                                 {5, 5},  {10, 0}, {0, -5},  {-20, 150}, {1000, 110}};
  for (size_t i = 0; i < sizeof moves / sizeof *moves; i++)
    ck_assert_int_eq(run_int(&r, "go", ARGS(INT(moves[i][0]), INT(moves[i][1]))),
                     model_go(moves[i][0], moves[i][1]));
  /* 0 3 6 .. each followed by k + 1 while that is no multiple of 3 less one */
  ck_assert_int_eq(run_int(&r, "again", ARGS(INT(9))), (0 + 1 + 3 + 4 + 6 + 7) + 6);
  run_close(&r);
}
END_TEST

/* More columns than the shape word has room for. */
START_TEST(wide_lists) {
  char text[8192], *at = text;
  at += sprintf(at, "local w (c0: int");
  for (int i = 1; i < 40; i++)
    at += sprintf(at, ", c%d: int", i);
  at += sprintf(at, ")\nlocal k (c0: int");
  for (int i = 1; i < 40; i++)
    at += sprintf(at, ", c%d: int", i);
  at +=
      sprintf(at, ") key (c0)\nquery go(n: int): int {\n  regs 90 lists w, k\n  new w\n  new k\n");
  for (int i = 0; i < 40; i++)
    at += sprintf(at, "  ldi r%d, %d\n", 10 + i, i * 100000);
  sprintf(at, "  add r10, w\n  put r10, k\n  ldi r1, 0\n  row r2, r1, w\n  get r3, r2, w.c30\n"
              "  get r4, r2, w.c27\n  set r2, r0, w.c35\n  get r5, r2, w.c35\n  iadd r3, r3, r4\n"
              "  iadd r3, r3, r5\n  ldi r62, 0\n  find r60, k\n  set r60, r0, k.c39\n"
              "  get r4, r60, k.c39\n  get r5, r60, k.c29\n  iadd r3, r3, r4\n  iadd r3, r3, r5\n"
              "  retv r3\n}\n");
  open_with(text, _i);
  ck_assert_int_eq(run_int(&r, "go", ARGS(INT(7))), 3000000 + 2700000 + 7 + 7 + 2900000);
  run_close(&r);
}
END_TEST

/* Bools and ints of every width, and reals that are NaN or -0. */
static const char widths[] = "local s (k: int, v: int, b: bool, x: real) key (k)\n"
                             "local q (v: int, b: bool, x: real)\n"
                             "query go(v: int, b: bool, x: real): int {\n"
                             "  regs 40 lists s, q\n"
                             "  new s\n"
                             "  new q\n"
                             "  ldi r10, 3\n"
                             "  ldi r11, 0\n"
                             "  ldb r12, 0\n"
                             "  bif r13, real_i, r11\n"
                             "  put r10, s\n"
                             "  add r11, q\n"
                             "  ldi r22, 3\n"
                             "  find r20, s\n"
                             "  set r20, r0, s.v\n"
                             "  set r20, r1, s.b\n"
                             "  set r20, r2, s.x\n"
                             "  ldi r14, 0\n"
                             "  row r15, r14, q\n"
                             "  set r15, r0, q.v\n"
                             "  set r15, r1, q.b\n"
                             "  set r15, r2, q.x\n"
                             "  find r20, s\n"
                             "  get r30, r20, s.v\n"
                             "  get r31, r15, q.v\n"
                             "  ieq r32, r30, r31\n"
                             "  jf r32, wrong\n"
                             "  ieq r32, r30, r0\n"
                             "  jf r32, wrong\n"
                             "  get r30, r20, s.b\n"
                             "  get r31, r15, q.b\n"
                             "  ieq r32, r30, r31\n"
                             "  jf r32, wrong\n"
                             "  ieq r32, r30, r1\n"
                             "  jf r32, wrong\n"
                             "  get r30, r20, s.x\n"
                             "  get r31, r15, q.x\n"
                             "  req r33, r30, r31\n"
                             "  req r34, r30, r2\n"
                             "  ieq r32, r33, r34\n"
                             "  jf r32, wrong\n"
                             "  ldi r35, 0\n"
                             "  jf r33, no\n"
                             "  ldi r35, 1\n"
                             "no:\n"
                             "  retv r35\n"
                             "wrong:\n"
                             "  raise conversion\n"
                             "}\n";

START_TEST(values_of_all_widths) {
  open_with(widths, _i);
  static const int64_t ints[] = {0,          255,      256,       65535,     65536,
                                 UINT32_MAX, 1L << 32, INT64_MAX, INT64_MIN, -1};
  const double reals[] = {0.0, -0.0, 1.5, -1e300, 5e-324};
  for (size_t i = 0; i < sizeof ints / sizeof *ints; i++)
    for (size_t k = 0; k < sizeof reals / sizeof *reals; k++)
      ck_assert_int_eq(run_int(&r, "go", ARGS(INT(ints[i]), INT(i % 2), REAL(reals[k]))), 1);
  ck_assert_int_eq(run_int(&r, "go", ARGS(INT(1), INT(1), REAL(-NAN))), 0);
  run_close(&r);
}
END_TEST

int main(void) {
  Suite *s = suite_create("interp_list");
  TCase *t = tcase_create("lists");
  tcase_add_loop_test(t, positional, 0, POLICIES);
  tcase_add_loop_test(t, keyed_by_int, 0, POLICIES);
  tcase_add_loop_test(t, slices, 0, POLICIES);
  tcase_add_loop_test(t, lists_that_change, 0, POLICIES);
  tcase_add_loop_test(t, wide_lists, 0, POLICIES);
  tcase_add_loop_test(t, values_of_all_widths, 0, POLICIES);
  suite_add_tcase(s, t);
  SRunner *sr = srunner_create(s);
  srunner_run_all(sr, CK_ENV);
  int failed = srunner_ntests_failed(sr);
  srunner_free(sr);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
