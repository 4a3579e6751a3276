/* What the verifier refuses along paths: types, blocks, stale handles, calls; and, beside each
 * refusal, the nearest thing that it accepts. */
#include <check.h>
#include <string.h>

#include "tests/vm/support/assemble.h"

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

static const char decls[] = "const word text \"x\"\n"
                            "const one int 1\n"
                            "const by int 0xffffffffffffff00\n"
                            "list keyed (k: int, n: int, t: text) key (k)\n"
                            "list pairs (a: int, b: int, t: text) key (a, b)\n"
                            "list rows (n: int, t: text)\n"
                            "local mine (k: int, n: int) key (k)\n"
                            "local pile (n: int)\n"
                            "local words (t: text) key (t)\n"
                            "pure extern look(a: int): int\n"
                            "pure extern name(a: int): text\n"
                            "extern tell(a: int)\n";

/* An event with these lists: body after them. */
static void text_of(text_buffer *t, const char *head, const char *body) {
  text_add(t, "%s", decls);
  text_add(t, "%s {\n", head);
  text_add(t, "  regs 24 %s\n}\n", body);
}

static void accepts(const char *head, const char *body) {
  text_buffer t = {NULL, 0};
  text_of(&t, head, body);
  vm_module_release(assemble(mem, t.bytes));
  text_free(&t);
}

static void refuses(const char *head, const char *body, const char *message) {
  text_buffer t = {NULL, 0};
  text_of(&t, head, body);
  assemble_refused(mem, t.bytes, message);
  text_free(&t);
}

START_TEST(registers_must_be_set) {
  accepts("query q(a: int)", "iadd r1, r0, r0 ret");
  refuses("query q()", "iadd r1, r0, r0 ret", "r0 may be unset; int is needed");
  refuses("query q(a: bool)", "jf r0, on ldi r1, 1 on: mov r2, r1 ret", "r1 may be unset");
  accepts("query q(a: bool)", "jf r0, off ldi r1, 1 jmp on off: ldi r1, 2 on: mov r2, r1 ret");
  refuses("query q(a: int)", "mov r1, r2 ret", "r2 may be unset; a value is needed");
}
END_TEST

START_TEST(operands_have_types) {
  accepts("query q(a: int, b: real, c: text, d: date)", "radd r4, r1, r1 dadd r5, r3, r0 ret");
  refuses("query q(a: int, b: real)", "iadd r2, r0, r1 ret", "r1 holds real; int is needed");
  refuses("query q(a: int)", "radd r2, r0, r0 ret", "r0 holds int; real is needed");
  refuses("query q(a: int)", "tlt r2, r0, r0 ret", "r0 holds int; text is needed");
  refuses("query q(a: int)", "ddiff r2, r0, r0 ret", "r0 holds int; date is needed");
  refuses("query q(a: int)", "not r2, r0 ret", "r0 holds int; bool is needed");
  refuses("query q(a: int)", "jt r0, on on: ret", "r0 holds int; bool is needed");
  refuses("query q(a: int)", "fail r0", "r0 holds int; text is needed");
  accepts("query q(a: text)", "fail r0");
  refuses("query q(a: text)", "bif r1, abs_i, r0 ret", "r0 holds text; int is needed");
  accepts("query q(a: int)", "bif r1, abs_i, r0 iadd r1, r1, r0 ret");
  accepts("query q(a: text, b: int)", "bif r2, length, r0 bif r2, slice, r0 fail r2");
  refuses("query q(a: text, b: int)", "bif r2, bytes, r1 ret", "r1 holds int; text is needed");
  refuses("query q(a: text, b: int)", "bif r3, slice, r0 ret", "r2 may be unset; int is needed");
}
END_TEST

START_TEST(results_have_types) {
  accepts("query q(a: int, b: real, d: date)",
          "rneg r0, r1 radd r0, r0, r1 ddiff r1, r2, r2 dadd r3, r2, r1 ddiff r2, r3, r3 ret");
  refuses("query q(a: int, b: real)", "rneg r0, r1 ineg r0, r0 ret", "r0 holds real");
  refuses("query q(a: int, d: date)", "dadd r0, r1, r0 ineg r0, r0 ret", "r0 holds date");
  refuses("query q(a: date)", "ddiff r0, r0, r0 ddiff r0, r0, r0 ret", "r0 holds int");
  refuses("query q(a: real)", "req r0, r0, r0 rneg r0, r0 ret", "r0 holds bool");
}
END_TEST

START_TEST(comparisons_are_of_like_things) {
  accepts("query q(a: int, b: int)", "ilt r2, r0, r1 not r3, r2 ieq r4, r2, r3 ret");
  accepts("query q(a: date, b: date)", "ile r2, r0, r1 ret");
  refuses("query q(a: int, b: date)", "ilt r2, r0, r1 ret", "r1 holds date; int is needed");
  refuses("query q(a: text, b: text)", "ieq r2, r0, r1 ret", "int, date or bool is needed");
  refuses("query q(a: real, b: real)", "ieq r2, r0, r1 ret", "int, date or bool is needed");
}
END_TEST

START_TEST(joins_keep_what_both_paths_know) {
  accepts("query q(a: bool)", "jf r0, off ldi r1, 1 jmp on off: ldi r1, 2 on: iadd r2, r1, r1 ret");
  refuses("query q(a: bool)",
          "jf r0, off ldi r1, 1 jmp on off: ldk r1, word on: iadd r2, r1, r1 ret",
          "r1 may be unset");
  /* The second time round the loop r1 is a text. */
  refuses("query q(a: bool)",
          "loops 1 ldi r1, 1 again: loop 0 iadd r2, r1, r1 ldk r1, word "
          "jt r0, again ret",
          "r1 may be unset");
  accepts("query q(a: bool)", "loops 1 ldi r1, 1 again: loop 0 iadd r2, r1, r1 ldk r1, word "
                              "ldi r1, 2 jt r0, again ret");
}
END_TEST

START_TEST(inner_loops_settle) {
  const char *loops = "loops 2 ldi r1, 0 outer: loop 0 ldi r2, 0 inner: loop 1 iadd r2, r2, r1 "
                      "jt r0, inner iadd r1, r1, r2 jt r0, outer ret";
  accepts("query q(a: bool)", loops);
  refuses("query q(a: bool)",
          "loops 2 ldi r1, 0 outer: loop 0 inner: loop 1 iadd r2, r1, r1 "
          "jt r0, inner ldk r1, word jt r0, outer ret",
          "r1 may be unset");
}
END_TEST

START_TEST(results_have_kinds) {
  accepts("query q()", "ret");
  accepts("query q(a: int): int", "retv r0");
  refuses("query q(a: int): int", "ret", "returns nothing; the result is a value");
  refuses("query q(a: int)", "retv r0", "returns a value; the result is nothing");
  refuses("query q(a: text): int", "retv r0", "r0 holds text; int is needed");
  refuses("query q(a: int): (n: int)", "retv r0", "returns a value; the result is rows");
}
END_TEST

START_TEST(rows_have_the_types_of_the_result) {
  accepts("query q(): (n: int, t: text)", "lists rows retl rows");
  refuses("query q()", "lists rows retl rows", "returns rows; the result is nothing");
  refuses("query q(): (n: int)", "lists rows retl rows",
          "rows, which has 2 columns; the result has 1");
  refuses("query q(): (n: int, t: int)", "lists rows retl rows",
          "rows, whose column t is text; int is needed");
  accepts("query q(): (n: int)", "lists pile new pile retl pile");
  refuses("query q(): (n: int)", "lists pile retl pile", "may be used before its new");
}
END_TEST

START_TEST(result_columns_are_in_declared_order) {
  text_buffer t = {NULL, 0};
  text_add(&t, "list l (t: text, k: int) key (k)\nquery q(): (%s) { regs 0 lists l retl l }",
           "x: text, y: int");
  vm_module_release(assemble(mem, t.bytes));
  text_free(&t);
  text_add(&t, "list l (t: text, k: int) key (k)\nquery q(): (%s) { regs 0 lists l retl l }",
           "x: int, y: text");
  assemble_refused(mem, t.bytes, "whose column k is int; text is needed");
  text_free(&t);
}
END_TEST

START_TEST(local_lists_begin_with_new) {
  accepts("query q()", "lists pile new pile count r0, pile ret");
  refuses("query q()", "lists pile count r0, pile new pile ret", "pile may be used before its new");
  refuses("query q(a: bool)", "lists pile jf r0, on new pile on: count r1, pile ret",
          "pile may be used before its new");
  accepts("query q(a: bool)",
          "lists pile jf r0, off new pile jmp on off: new pile on: count r1, pile ret");
}
END_TEST

START_TEST(rows_are_whole) {
  accepts("event e(a: int, b: text)", "lists rows add r0, rows ret");
  refuses("event e(a: int, b: int)", "lists rows add r0, rows ret", "r1 holds int; text is needed");
  refuses("event e(a: int)", "lists rows add r0, rows ret", "r1 may be unset; text is needed");
  accepts("event e(a: int, b: int, c: text)", "lists keyed put r0, keyed ret");
  refuses("event e(a: int, b: int, c: int)", "lists keyed put r0, keyed ret", "r2 holds int");
  accepts("event e(a: int, b: int)", "lists pairs erase r0, pairs has r2, r0, pairs ret");
  refuses("event e(a: int, b: text)", "lists pairs erase r0, pairs ret", "r1 holds text");
  refuses("event e(a: int, b: text)", "lists pairs has r2, r0, pairs ret", "r1 holds text");
}
END_TEST

START_TEST(a_find_needs_its_key) {
  accepts("query q(a: int)", "lists keyed mov r4, r0 find r2, keyed get r5, r2, keyed.t ret");
  refuses("query q(a: int)", "lists keyed find r2, keyed ret", "r4 may be unset; int is needed");
  refuses("query q(a: text)", "lists keyed mov r4, r0 find r2, keyed ret", "r4 holds text");
  refuses("query q(a: int)",
          "lists keyed mov r4, r0 find r2, keyed get r5, r2, keyed.t "
          "iadd r6, r5, r0 ret",
          "r5 holds text; int is needed");
}
END_TEST

START_TEST(a_miss_leaves_no_row) {
  accepts("query q(a: int)", "lists keyed mov r4, r0 findj r2, keyed, off get r5, r2, keyed.n "
                             "off: ret");
  refuses("query q(a: int)",
          "lists keyed mov r4, r0 findj r2, keyed, off off: get r5, r2, keyed.n "
          "ret",
          "r2 may be unset; a fresh handle of keyed is needed");
  /* The key itself is still there. */
  accepts("query q(a: int)",
          "lists keyed mov r4, r0 findj r2, keyed, off off: iadd r5, r4, r4 ret");
}
END_TEST

START_TEST(rows_of_two_lists_are_no_row) {
  static const char body[] = "lists keyed, mine new mine mov r4, r0 jf r1, off find r2, keyed "
                             "jmp on off: find r2, %s on: get r5, r2, keyed.n ret";
  text_buffer t = {NULL, 0};
  text_add(&t, body, "keyed");
  accepts("query q(a: int, b: bool)", t.bytes);
  text_free(&t);
  text_add(&t, body, "mine");
  refuses("query q(a: int, b: bool)", t.bytes, "r2 may be unset; a fresh handle of keyed");
  text_free(&t);
}
END_TEST

START_TEST(an_empty_slice_leaves_nothing) {
  const char *body = "lists pairs firstj r2, pairs[0%s], off off: %s ret";
  text_buffer t = {NULL, 0};
  static const char *const gone[] = {"get r9, r2, pairs.t", "mov r9, r4", "mov r9, r5"};
  for (unsigned k = 0; k < 3; k++) {
    text_add(&t, body, " tracked", gone[k]);
    refuses("query q()", t.bytes, "may be unset");
    text_free(&t);
  }
  refuses("query q(a: int)",
          "lists pairs mov r4, r0 lastj r2, pairs[0 tracked], off off: mov r9, r4 ret",
          "r4 may be unset; a value is needed");
  accepts("query q()", "lists pairs firstj r2, pairs[0 tracked], off mov r9, r4 mov r9, r5 "
                       "get r9, r2, pairs.t off: ret");
  refuses("query q()",
          "lists keyed seek r2, keyed[0 tracked] next r2, keyed[0 tracked], off off: "
          "mov r9, r4 ret",
          "r4 may be unset; a value is needed");
}
END_TEST

START_TEST(a_key_that_is_set_on_one_path_is_not_set) {
  refuses("query q(b: bool)",
          "lists keyed seek r2, keyed[0 tracked] jf r0, on "
          "next r2, keyed[0 tracked], off on: mov r9, r4 off: ret",
          "r4 is a key that may not be set yet");
  refuses("query q(b: bool)",
          "lists keyed seek r2, keyed[0 tracked] jf r0, other "
          "next r2, keyed[0 tracked], off jmp on other: mov r10, r0 "
          "on: mov r9, r4 off: ret",
          "r4 is a key that may not be set yet");
}
END_TEST

START_TEST(handles_are_of_their_list) {
  refuses("query q(a: int)", "lists keyed, pairs mov r4, r0 find r2, keyed get r5, r2, pairs.t ret",
          "r2 holds a handle of keyed; a fresh handle of pairs is needed");
  refuses("query q(a: int)", "lists keyed get r5, r0, keyed.t ret", "r0 holds int");
  refuses("query q(a: int)", "lists keyed mov r4, r0 find r2, keyed iadd r5, r2, r0 ret",
          "r2 holds a handle of keyed; int is needed");
  refuses("query q(a: int)", "lists keyed mov r4, r0 find r2, keyed mov r5, r2 ret",
          "r2 holds a handle of keyed; a value is needed");
  refuses("query q(a: int)", "lists keyed mov r4, r0 find r2, keyed iadd r5, r3, r0 ret",
          "r3 belongs to a block of keyed; int is needed");
  refuses("query q(a: int)", "lists rows row r1, r0, rows refind r1, rows ret", "has no key");
  accepts("query q(a: int)", "lists rows row r1, r0, rows get r2, r1, rows.n ret");
}
END_TEST

START_TEST(writes_make_handles_stale) {
  const char *found = "lists keyed mov r4, r0 find r2, keyed ldi r7, 1 ldi r8, 1 ldk r9, word ";
  text_buffer t = {NULL, 0};
  static const char *const writes[] = {
      "add r7, keyed ",
      "put r7, keyed ",
      "erase r7, keyed ",
      "clear keyed ",
      "mov r12, r7 find r10, keyed set r10, r7, keyed.n ",
      "mov r12, r7 mov r13, r8 mov r14, r9 ensure r10, r13, keyed "};
  for (unsigned k = 0; k < sizeof writes / sizeof writes[0]; k++) {
    text_add(&t, "%s%sget r15, r2, keyed.n ret", found, writes[k]);
    refuses("event e(a: int)", t.bytes, "r2 holds a stale handle of keyed; a fresh handle");
    text_free(&t);
    text_add(&t, "%s%srefind r2, keyed get r15, r2, keyed.n ret", found, writes[k]);
    accepts("event e(a: int)", t.bytes);
    text_free(&t);
  }
  /* Lists that have nothing to do with it. */
  accepts("event e(a: int)", "lists keyed, pairs mov r4, r0 find r2, keyed ldi r7, 1 ldi r8, 1 "
                             "ldk r9, word put r7, pairs get r9, r2, keyed.n ret");
  accepts("event e(a: int)", "lists keyed, rows mov r4, r0 find r2, keyed ldi r7, 1 ldk r8, word "
                             "add r7, rows get r9, r2, keyed.n ret");
}
END_TEST

START_TEST(reads_leave_handles_fresh) {
  accepts("event e(a: int)",
          "lists keyed mov r4, r0 find r2, keyed has r7, r0, keyed "
          "count r8, keyed mov r12, r0 find r10, keyed get r15, r2, keyed.n ret");
  /* The row that was set stays, whatever set does to the others. */
  accepts("event e(a: int)", "lists keyed mov r4, r0 find r2, keyed set r2, r0, keyed.n "
                             "get r5, r2, keyed.n ret");
}
END_TEST

START_TEST(positions_never_go_stale) {
  accepts("event e(a: int, t: text)", "lists rows row r2, r0, rows add r0, rows clear rows "
                                      "sort rows, by get r3, r2, rows.n set r2, r0, rows.n ret");
}
END_TEST

START_TEST(stale_on_one_path_is_stale) {
  refuses("event e(a: int, b: bool)",
          "lists keyed mov r4, r0 find r2, keyed jf r1, on clear keyed "
          "on: get r5, r2, keyed.n ret",
          "r2 holds a stale handle of keyed");
  accepts("event e(a: int, b: bool)", "lists keyed mov r4, r0 find r2, keyed jf r1, on clear keyed "
                                      "on: refind r2, keyed get r5, r2, keyed.n ret");
}
END_TEST

START_TEST(order_may_move_rows_of_local_lists) {
  static const char *const orders[] = {"seek r7, mine[0] ", "firstj r7, mine[0], off ",
                                       "lastj r7, mine[0], off ", "scount r7, r0, mine[0] "};
  text_buffer t = {NULL, 0};
  for (unsigned k = 0; k < 4; k++) {
    text_add(&t, "lists mine new mine mov r4, r0 find r2, mine %sget r15, r2, mine.n off: ret",
             orders[k]);
    refuses("event e(a: int)", t.bytes, "r2 holds a stale handle of mine");
    text_free(&t);
  }
  /* Stored lists are always in order. */
  accepts("event e(a: int)", "lists keyed mov r4, r0 find r2, keyed seek r7, keyed[0] "
                             "scount r14, r0, keyed[0] get r15, r2, keyed.n ret");
}
END_TEST

START_TEST(a_tracked_next_may_move_rows_of_local_lists) {
  const char *loop =
      "lists mine loops 1 new mine seek r7, mine[0%s] mov r4, r0 findj r2, mine, off "
      "again: loop 0 next r7, mine[0%s], off %sget r15, r2, mine.n jmp again off: ret";
  text_buffer t = {NULL, 0};
  text_add(&t, loop, "", "", "");
  accepts("event e(a: int)", t.bytes);
  text_free(&t);
  text_add(&t, loop, " tracked", " tracked", "");
  refuses("event e(a: int)", t.bytes, "r2 holds a stale handle of mine");
  text_free(&t);
  text_add(&t, loop, " tracked", " tracked", "refind r2, mine ");
  accepts("event e(a: int)", t.bytes);
  text_free(&t);
}
END_TEST

START_TEST(calls_make_handles_stale) {
  const char *callees = "fn direct(a: int) { regs 1 lists keyed clear keyed ret }\n"
                        "fn through(a: int) { regs 1 call r0, direct ret }\n"
                        "fn reads(a: int): int { regs 1 lists keyed count r0, keyed retv r0 }\n"
                        "fn other(a: int) { regs 1 lists rows clear rows ret }\n"
                        "fn even(a: int) { regs 1 call r0, odd ret }\n"
                        "fn odd(a: int) { regs 1 call r0, even call r0, through ret }\n";
  static const struct {
    const char *name;
    bool writes;
  } calls[] = {{"direct", true}, {"through", true}, {"reads", false},
               {"other", false}, {"even", true},    {"odd", true}};
  text_buffer t = {NULL, 0};
  for (unsigned k = 0; k < sizeof calls / sizeof calls[0]; k++) {
    text_add(&t, "%s%s", decls, callees);
    text_add(&t,
             "event e(a: int) { regs 9 lists keyed mov r4, r0 find r2, keyed mov r5, r0 "
             "call r5, %s get r6, r2, keyed.n ret }\n",
             calls[k].name);
    if (calls[k].writes)
      assemble_refused(mem, t.bytes, "r2 holds a stale handle of keyed");
    else
      vm_module_release(assemble(mem, t.bytes));
    text_free(&t);
  }
}
END_TEST

START_TEST(a_refind_needs_its_own_block) {
  accepts("query q(a: int)", "lists keyed mov r4, r0 find r2, keyed refind r2, keyed ret");
  refuses("query q(a: int)", "lists keyed mov r4, r0 refind r2, keyed ret",
          "r2 may be unset; a row of keyed is needed");
  refuses("query q(a: int)",
          "lists keyed mov r4, r0 find r2, keyed mov r4, r0 refind r2, keyed ret",
          "key r4 may have been written since the row was found");
  refuses("query q(a: int)",
          "lists keyed mov r4, r0 find r2, keyed mov r3, r0 refind r2, keyed ret",
          "r3 holds int; the version of keyed is needed");
  refuses("query q(a: int)",
          "lists keyed mov r4, r0 find r2, keyed ldk r4, word refind r2, keyed ret",
          "key r4 may have been written");
  /* Another block of the same list over part of this one. */
  refuses("query q(a: int)",
          "lists keyed mov r4, r0 mov r5, r0 find r2, keyed find r3, keyed "
          "refind r2, keyed ret",
          "the version of keyed is needed");
}
END_TEST

START_TEST(keys_of_another_block_are_not_this_ones) {
  /* r12, r13 are keys of the block at r10; a first without its key leaves them claimed by none. */
  const char *body = "lists pairs mov r12, r0 mov r13, r0 find r10, pairs "
                     "firstj r10, pairs[0%s], off refind r10, pairs off: ret";
  text_buffer t = {NULL, 0};
  text_add(&t, body, " tracked");
  accepts("query q(a: int)", t.bytes);
  text_free(&t);
  text_add(&t, body, "");
  refuses("query q(a: int)", t.bytes, "key r12 may have been written since the row was found");
  text_free(&t);
}
END_TEST

START_TEST(a_next_needs_its_seek) {
  const char *loop = "lists pairs loops 1 mov r14, r0 %sagain: loop 0 next r8, pairs[1], off "
                     "jmp again off: ret";
  text_buffer t = {NULL, 0};
  text_add(&t, loop, "seek r8, pairs[1] ");
  accepts("query q(a: int)", t.bytes);
  text_free(&t);
  text_add(&t, loop, "");
  refuses("query q(a: int)", t.bytes, "r8 may be unset; a row of pairs is needed");
  text_free(&t);
  text_add(&t, loop, "seek r8, pairs[0] ");
  refuses("query q(a: int)", t.bytes, "is not the cursor of a seek of the same slice");
  text_free(&t);
  text_add(&t, loop, "seek r8, pairs[1 tracked] ");
  refuses("query q(a: int)", t.bytes, "is not the cursor of a seek of the same slice");
  text_free(&t);
  text_add(&t, loop, "seek r8, pairs[1] mov r12, r0 ");
  refuses("query q(a: int)", t.bytes, "is not the cursor of a seek of the same slice");
  text_free(&t);
  text_add(&t, loop, "seek r8, pairs[1] mov r13, r0 ");
  refuses("query q(a: int)", t.bytes, "is not the cursor of a seek of the same slice");
  text_free(&t);
}
END_TEST

START_TEST(the_end_of_a_cursor_is_its_end) {
  refuses("query q(a: int)",
          "lists keyed seek r2, keyed[0] next r2, keyed[0], off off: "
          "next r2, keyed[0], over over: ret",
          "r2 may be unset; a row of keyed is needed");
}
END_TEST

START_TEST(a_seek_has_no_row_yet) {
  refuses("query q(a: int)", "lists keyed seek r2, keyed[0] get r9, r2, keyed.n ret",
          "r2 holds a not yet valid handle of keyed");
  refuses("query q(a: int)", "lists keyed seek r2, keyed[0 tracked] refind r2, keyed ret",
          "r2 holds a not yet valid handle of keyed; a row of keyed is needed");
  refuses("query q(a: int)", "lists keyed seek r2, keyed[0 tracked] mov r9, r4 ret",
          "r4 is a key that may not be set yet; a value is needed");
  refuses("query q(a: int)",
          "lists keyed seek r2, keyed[0 tracked] seek r2, keyed[0] mov r9, r4 ret",
          "r4 may be unset; a value is needed");
  refuses("query q(a: int)", "lists rows seek r2, rows[0] get r9, r2, rows.n ret",
          "r2 holds a not yet valid handle of rows");
  accepts("query q(a: int)", "lists keyed seek r2, keyed[0 tracked] next r2, keyed[0 tracked], off "
                             "mov r9, r4 get r10, r2, keyed.n off: ret");
}
END_TEST

START_TEST(an_untracked_cursor_wants_an_unchanged_list) {
  const char *loop = "lists keyed loops 1 ldi r10, 7 seek r2, keyed[0%s] again: loop 0 "
                     "next r2, keyed[0%s], off %sjmp again off: ret";
  static const char *const inside[] = {"erase r10, keyed ", "set r2, r10, keyed.n "};
  text_buffer t = {NULL, 0};
  text_add(&t, loop, "", "", "");
  accepts("event e()", t.bytes);
  text_free(&t);
  for (unsigned k = 0; k < 2; k++) {
    text_add(&t, loop, "", "", inside[k]);
    refuses("event e()", t.bytes,
            "keyed may have changed since the seek, and the slice is not tracked");
    text_free(&t);
    text_add(&t, loop, " tracked", " tracked", inside[k]);
    accepts("event e()", t.bytes);
    text_free(&t);
  }
}
END_TEST

START_TEST(an_untracked_cursor_over_positions_does_not_care) {
  accepts("event e(a: int, t: text)", "lists rows loops 1 seek r2, rows[0] again: loop 0 "
                                      "next r2, rows[0], off add r0, rows jmp again off: ret");
}
END_TEST

START_TEST(loops_over_one_local_list_in_one_another) {
  const char *loops = "lists mine loops 2 new mine seek r0, mine[0%s] outer: loop 0 "
                      "next r0, mine[0%s], off seek r10, mine[0] inner: loop 1 "
                      "next r10, mine[0], outer jmp inner off: ret";
  text_buffer t = {NULL, 0};
  text_add(&t, loops, "", "");
  refuses("query q()", t.bytes, "mine may have changed since the seek");
  text_free(&t);
  text_add(&t, loops, " tracked", " tracked");
  accepts("query q()", t.bytes);
  text_free(&t);
}
END_TEST

START_TEST(bounds_have_the_types_of_their_columns) {
  accepts("query q(a: int, b: int)", "lists pairs scount r5, r0, pairs[2] ret");
  accepts("query q(a: int, b: int, c: int)", "lists pairs scount r5, r0, pairs[1 lo hi] ret");
  refuses("query q(a: int, b: text)", "lists pairs scount r5, r0, pairs[2] ret", "r1 holds text");
  refuses("query q(a: int, b: int, c: text)", "lists pairs scount r5, r0, pairs[1 lo hi] ret",
          "r2 holds text; int is needed");
  refuses("query q(a: int)", "lists pairs mov r14, r0 seek r8, pairs[1 hi] ret",
          "r15 may be unset; int is needed");
  refuses("query q(a: text)", "lists keyed mov r9, r0 firstj r2, keyed[0 lo], off off: ret",
          "r7 may be unset; int is needed");
}
END_TEST

START_TEST(bounds_of_a_tracked_cursor_stay) {
  const char *loop = "lists pairs loops 1 mov r14, r0 seek r8, pairs[1%s] again: loop 0 "
                     "next r8, pairs[1%s], off mov r14, r0 jmp again off: ret";
  text_buffer t = {NULL, 0};
  text_add(&t, loop, "", "");
  accepts("query q(a: int)", t.bytes);
  text_free(&t);
  text_add(&t, loop, " tracked", " tracked");
  refuses("query q(a: int)", t.bytes, "bound r14 may have been written since the seek");
  text_free(&t);
}
END_TEST

START_TEST(keys_of_a_tracked_cursor_stay) {
  refuses("query q(a: int)",
          "lists keyed loops 1 seek r2, keyed[0 tracked] again: loop 0 "
          "next r2, keyed[0 tracked], off mov r4, r0 jmp again off: ret",
          "r4 may be unset; a key of the row is needed");
  refuses("query q(a: int)",
          "lists keyed seek r2, keyed[0 tracked] next r2, keyed[0 tracked], off "
          "mov r4, r0 next r2, keyed[0 tracked], off off: ret",
          "key r4 may have been written since the row was found");
}
END_TEST

START_TEST(a_find_ends_a_cursor_in_its_block) {
  static const char *const ends[] = {"find r2, keyed ", "findj r2, keyed, off ",
                                     "ensure r2, r10, keyed ", "firstj r2, keyed[0 tracked], off ",
                                     "lastj r2, keyed[0 tracked], off "};
  const char *body = "lists keyed ldi r10, 1 ldk r11, word seek r2, keyed[0 tracked] "
                     "next r2, keyed[0 tracked], off %snext r2, keyed[0 tracked], off off: ret";
  text_buffer t = {NULL, 0};
  for (unsigned k = 0; k < sizeof ends / sizeof ends[0]; k++) {
    text_add(&t, body, ends[k]);
    refuses("event e()", t.bytes, "is not the cursor of a seek of the same slice");
    text_free(&t);
  }
  text_add(&t, body, "clear keyed refind r2, keyed ");
  accepts("event e()", t.bytes);
  text_free(&t);
}
END_TEST

START_TEST(set_writes_what_the_column_holds) {
  accepts("event e(a: int, t: text)",
          "lists keyed mov r6, r0 find r4, keyed set r4, r1, keyed.t ret");
  refuses("event e(a: int, t: text)",
          "lists keyed mov r6, r0 find r4, keyed set r4, r0, keyed.t ret",
          "r0 holds int; text is needed");
  refuses("event e(a: int)", "lists keyed mov r6, r0 find r4, keyed set r4, r0, keyed.k ret",
          "k is a key column of keyed, and those are never set");
}
END_TEST

START_TEST(set_needs_a_fresh_row) {
  refuses("event e(a: int)",
          "lists keyed mov r6, r0 find r4, keyed clear keyed "
          "set r4, r0, keyed.n ret",
          "r4 holds a stale handle of keyed");
  refuses("event e(a: int)", "lists keyed set r0, r0, keyed.n ret", "r0 holds int; a fresh handle");
  refuses("event e(a: int)", "lists rows set r1, r0, rows.n ret",
          "r1 may be unset; a fresh handle");
}
END_TEST

START_TEST(ensure_takes_the_values_after_the_key) {
  accepts("event e(a: int, t: text)",
          "lists keyed mov r4, r0 ensure r2, r0, keyed get r6, r2, keyed.t ret");
  refuses("event e(a: int, t: int)", "lists keyed mov r4, r0 ensure r2, r0, keyed ret",
          "r1 holds int; text is needed");
  refuses("event e(a: int, t: text)", "lists keyed ensure r2, r0, keyed ret", "r4 may be unset");
  accepts("query q(t: text)",
          "lists words new words mov r4, r0 ensure r2, r0, words refind r2, words ret");
}
END_TEST

START_TEST(arguments_have_the_types_of_the_parameters) {
  static const char fns[] =
      "fn f(a: int, b: text): real { regs 3 ldk r2, x retv r2 }\nconst x real 1.5\n";
  text_buffer t = {NULL, 0};
  text_add(&t, "%s%squery q(a: int, b: text): real { regs 2 call r0, f retv r0 }", decls, fns);
  vm_module_release(assemble(mem, t.bytes));
  text_free(&t);
  text_add(&t, "%s%squery q(a: int, b: int): real { regs 2 call r0, f retv r0 }", decls, fns);
  assemble_refused(mem, t.bytes, "r1 holds int; text is needed");
  text_free(&t);
  text_add(&t, "%s%squery q(a: int, b: text): int { regs 2 call r0, f retv r0 }", decls, fns);
  assemble_refused(mem, t.bytes, "r0 holds real; int is needed");
  text_free(&t);
  accepts("query q(a: int)", "callx r0, look iadd r0, r0, r0 ret");
  refuses("query q(a: text)", "callx r0, look ret", "r0 holds text; int is needed");
}
END_TEST

START_TEST(results_of_host_functions_have_types) {
  accepts("query q(a: int)", "callx r0, name fail r0");
  refuses("query q(a: int)", "callx r0, name iadd r0, r0, r0 ret", "r0 holds text; int is needed");
  accepts("event e(a: int)", "callx r0, tell iadd r0, r0, r0 ret");
  refuses("event e(a: int)", "callx r1, tell ret", "r1 may be unset; int is needed");
}
END_TEST

START_TEST(queries_only_read) {
  accepts("event e()", "lists keyed clear keyed ret");
  refuses("query q()", "lists keyed clear keyed ret", "a query writes the stored list keyed");
  accepts("query q()", "lists pile new pile clear pile ret");
  refuses("query q(a: int)", "callx r0, tell ret",
          "a query calls a host function that is not pure");
  accepts("event e(a: int)", "callx r0, tell ret");
  /* Unreachable, but there. */
  refuses("query q()", "lists keyed ret clear keyed ret", "a query writes the stored list keyed");
}
END_TEST

START_TEST(queries_only_call_what_reads) {
  static const char fns[] = "fn writes() { regs 0 lists rows clear rows ret }\n"
                            "fn deep() { regs 0 call r0, round ret }\n"
                            "fn round() { regs 0 call r0, deep call r0, writes ret }\n"
                            "fn one() { regs 0 lists pairs call r0, two clear pairs ret }\n"
                            "fn two() { regs 0 call r0, three ret }\n"
                            "fn three() { regs 0 call r0, one ret }\n"
                            "fn tells(a: int) { regs 1 callx r0, tell ret }\n"
                            "fn reads() { regs 1 lists rows count r0, rows call r0, reads ret }\n";
  static const struct {
    const char *call, *message;
  } calls[] = {{"writes", "a query calls writes, which writes the stored list rows"},
               {"deep", "a query calls deep, which writes the stored list rows"},
               {"round", "a query calls round, which writes the stored list rows"},
               {"two", "a query calls two, which writes the stored list pairs"},
               {"three", "a query calls three, which writes the stored list pairs"},
               {"tells", "a query calls tells, which calls a host function that is not pure"},
               {"reads", NULL}};
  text_buffer t = {NULL, 0};
  for (unsigned k = 0; k < sizeof calls / sizeof calls[0]; k++) {
    text_add(&t, "%s%squery q(a: int) { regs 1 call r0, %s ret }\n", decls, fns, calls[k].call);
    if (calls[k].message)
      assemble_refused(mem, t.bytes, calls[k].message);
    else
      vm_module_release(assemble(mem, t.bytes));
    text_free(&t);
  }
}
END_TEST

START_TEST(what_a_function_writes_is_known) {
  text_buffer t = {NULL, 0};
  text_add(&t, "%s", decls);
  text_add(&t, "event e() { regs 0 call r0, f ret }\n"
               "fn f() { regs 0 lists rows call r0, f clear rows ret }\n"
               "fn g() { regs 0 lists pairs clear pairs ret }\n"
               "fn h() { regs 0 call r0, f call r0, g ret }\n");
  vm_module *m = assemble(mem, t.bytes);
  static const bool writes[4][3] = {
      {false, false, true}, {false, false, true}, {false, true, false}, {false, true, true}};
  for (unsigned f = 0; f < 4; f++)
    for (unsigned l = 0; l < 3; l++)
      ck_assert_int_eq(vm_fn_writes(m, f, l), writes[f][l]);
  vm_module_release(m);
  text_free(&t);
}
END_TEST

START_TEST(odd_functions_are_refused_in_bounded_time) {
  text_buffer t = {NULL, 0};
  text_add(&t, "query q(a: bool) { regs 4096\n");
  for (unsigned k = 0; k < 3000; k++)
    text_add(&t, "jf r0, l%u ldi r%u, 1 l%u:\n", k, k % 4000 + 1, k);
  text_add(&t, "ret }");
  assemble_refused(mem, t.bytes, "the function is too complex to verify");
  text_free(&t);
  /* One join, of very many paths. */
  text_add(&t, "query q(a: bool) { regs 4096\n");
  for (unsigned k = 0; k < 12000; k++)
    text_add(&t, "jf r0, end\n");
  text_add(&t, "end: ret }");
  assemble_refused(mem, t.bytes, "the function is too complex to verify");
  text_free(&t);
  /* As many joins, fewer registers. */
  text_add(&t, "query q(a: bool) { regs 300\n");
  for (unsigned k = 0; k < 3000; k++)
    text_add(&t, "jf r0, l%u ldi r%u, 1 l%u:\n", k, k % 299 + 1, k);
  text_add(&t, "ret }");
  vm_module_release(assemble(mem, t.bytes));
  text_free(&t);
}
END_TEST

START_TEST(very_many_functions_and_lists_are_refused) {
  text_buffer t = {NULL, 0};
  for (unsigned l = 0; l < 4096; l++)
    text_add(&t, "list l%u (a: int)\n", l);
  for (unsigned f = 0; f < 33000; f++)
    text_add(&t, "fn f%u() { regs 0 ret }\n", f);
  assemble_refused(mem, t.bytes, "33000 functions and 4096 stored lists are more than can be");
  text_free(&t);
}
END_TEST

START_TEST(errors_name_the_place) {
  vm_module *m;
  vm_error err;
  const char *text = "query first() { regs 1 ret }\n"
                     "query second(a: int) {\n"
                     "  regs 3\n"
                     "  mov r1, r0 @7:8\n"
                     "  mov r1, r2\n"
                     "  ret\n"
                     "}\n";
  ck_assert_int_eq(vm_asm(mem, "test", text, strlen(text), &m, &err), LS_UNSUITABLE);
  ck_assert_str_eq(err.message,
                   "function second, instruction 1 (mov): r2 may be unset; a value is needed");
  ck_assert_uint_eq(err.line, 5);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {registers_must_be_set,
                                operands_have_types,
                                comparisons_are_of_like_things,
                                joins_keep_what_both_paths_know,
                                inner_loops_settle,
                                results_have_kinds,
                                rows_have_the_types_of_the_result,
                                result_columns_are_in_declared_order,
                                local_lists_begin_with_new,
                                rows_are_whole,
                                a_find_needs_its_key,
                                a_miss_leaves_no_row,
                                handles_are_of_their_list,
                                writes_make_handles_stale,
                                reads_leave_handles_fresh,
                                positions_never_go_stale,
                                stale_on_one_path_is_stale,
                                order_may_move_rows_of_local_lists,
                                a_tracked_next_may_move_rows_of_local_lists,
                                calls_make_handles_stale,
                                a_refind_needs_its_own_block,
                                keys_of_another_block_are_not_this_ones,
                                a_next_needs_its_seek,
                                the_end_of_a_cursor_is_its_end,
                                a_seek_has_no_row_yet,
                                an_untracked_cursor_wants_an_unchanged_list,
                                an_untracked_cursor_over_positions_does_not_care,
                                loops_over_one_local_list_in_one_another,
                                bounds_have_the_types_of_their_columns,
                                bounds_of_a_tracked_cursor_stay,
                                keys_of_a_tracked_cursor_stay,
                                a_find_ends_a_cursor_in_its_block,
                                set_writes_what_the_column_holds,
                                ensure_takes_the_values_after_the_key,
                                arguments_have_the_types_of_the_parameters,
                                queries_only_read,
                                queries_only_call_what_reads,
                                what_a_function_writes_is_known,
                                odd_functions_are_refused_in_bounded_time,
                                results_of_host_functions_have_types,
                                results_have_types,
                                rows_of_two_lists_are_no_row,
                                an_empty_slice_leaves_nothing,
                                a_key_that_is_set_on_one_path_is_not_set,
                                set_needs_a_fresh_row,
                                very_many_functions_and_lists_are_refused,
                                errors_name_the_place};
  Suite *suite = suite_create("verify");
  TCase *tcase = tcase_create("paths");
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
