#include "tests/vm/support/assemble.h"

#include <check.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char assemble_sample[] =
    "source \"sample.pure\"\n"
    "const greeting text \"h\\u{e9}llo \\\"you\\\"\\n\"\n"
    "const half real 0.5\n"
    "const minus_zero real -0.0\n"
    "const none real nan\n"
    "const huge real 1e300\n"
    "const day date \"1998-09-02\"\n"
    "const yes bool true\n"
    "const no bool false\n"
    "const least int -9223372036854775808\n"
    "const by int 0xffffffffffffff01\n"
    "list edges (from: int, to: int) key (from, to)\n"
    "list mixed (a: int, b: text, c: real, d: date, e: bool) key (d, b) rest (e, c, a)\n"
    "list log (what: text, n: int)\n"
    "local seen (node: int, depth: int) key (node)\n"
    "local queue (node: int)\n"
    "local queue (x: text, y: int)\n"
    "pure extern hash(a: text, b: real): int\n"
    "extern tell(a: text)\n"
    "query reach(start: int): (node: int, depth: int) {\n"
    "  regs 40 loops 2 lists edges, seen, queue#4, queue#5\n"
    "  new seen @3:1\n"
    "  new queue#2 @4:1\n"
    "  new queue#3\n"
    "  mov r1, r0\n"
    "  ldi r2, -70000\n"
    "  ldi r2, 0\n"
    "  add r1, seen\n"
    "  add r0, queue#2 @5:9\n"
    "  seek r3, queue#2[0]\n"
    "outer:\n"
    "  loop 0\n"
    "  next r3, queue#2[0], done\n"
    "  get r7, r3, queue#2.node\n"
    "  mov r10, r7\n"
    "  find r8, seen\n"
    "  get r1, r8, seen.depth\n"
    "  iaddk r2, r1, 1\n"
    "  mov r20, r7\n"
    "  mov r21, r7\n"
    "  seek r14, edges[1 lo tracked]\n"
    "inner:\n"
    "  loop 1\n"
    "  next r14, edges[1 lo tracked], outer\n"
    "  mov r1, r17\n"
    "  has r30, r1, seen\n"
    "  jt r30, inner\n"
    "  add r1, seen\n"
    "  add r1, queue#2\n"
    "  jmp inner\n"
    "done:\n"
    "  sort queue#2, by\n"
    "  retl seen\n"
    "}\n"
    "event note(a: text, n: int) {\n"
    "  regs 20 lists mixed, log\n"
    "  add r0, log\n"
    "  ldk r4, day\n"
    "  mov r5, r0\n"
    "  ldb r6, 1\n"
    "  ldk r7, half\n"
    "  mov r8, r1\n"
    "  ensure r2, r6, mixed\n"
    "  get r9, r2, mixed.a\n"
    "  imul r9, r9, r9\n"
    "  set r2, r9, mixed.a\n"
    "  ldi r10, 0\n"
    "  ilt r11, r9, r10\n"
    "  jf r11, fine\n"
    "  raise overflow\n"
    "fine:\n"
    "  mov r12, r0\n"
    "  callx r12, tell\n"
    "  ldk r12, greeting\n"
    "  mov r13, r0\n"
    "  bif r13, concat, r12\n"
    "  ret\n"
    "}\n"
    "fn half_of(x: real): real { regs 2 ldk r1, half rmul r0, r0, r1 retv r0 }\n";

vm_module *assemble(ls_mem *mem, const char *text) {
  vm_module *m = NULL;
  vm_error err;
  ls_status status = vm_asm(mem, "test", text, strlen(text), &m, &err);
  if (status != LS_OK)
    ck_abort_msg("%u:%u: %s\n%s", err.line, err.column, err.message, text);
  return m;
}

void assemble_refused(ls_mem *mem, const char *text, const char *message) {
  vm_module *m = NULL;
  vm_error err;
  ls_status status = vm_asm(mem, "test", text, strlen(text), &m, &err);
  if (status == LS_OK)
    ck_abort_msg("accepted, instead of: %s\n%s", message, text);
  ck_assert_int_eq(status, LS_UNSUITABLE);
  if (!strstr(err.message, message))
    ck_abort_msg("expected: %s\nbut it says: %u:%u: %s\n%s", message, err.line, err.column,
                 err.message, text);
}

/* Room kept for a text of that length. */
static size_t room(size_t len) {
  size_t n = 64;
  while (n < len + 1)
    n *= 2;
  return n;
}

bool text_write(void *text, const char *bytes, size_t len) {
  text_buffer *t = text;
  if (!t->bytes || room(t->len + len) != room(t->len))
    t->bytes = realloc(t->bytes, room(t->len + len));
  ck_assert_ptr_nonnull(t->bytes);
  memcpy(t->bytes + t->len, bytes, len);
  t->len += len;
  t->bytes[t->len] = 0;
  return true;
}

void text_add(text_buffer *t, const char *format, ...) {
  char some[4096];
  va_list args;
  va_start(args, format);
  int n = vsnprintf(some, sizeof some, format, args);
  va_end(args);
  ck_assert(n >= 0 && (size_t)n < sizeof some);
  text_write(t, some, (size_t)n);
}

void text_free(text_buffer *t) {
  free(t->bytes);
  *t = (text_buffer){NULL, 0};
}
