#include "tests/lang/support/compile.h"

#include <check.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void note(void *user, const lang_error *e) {
  compiled *c = user;
  ck_assert_uint_lt(c->nerrors, COMPILE_MAX_ERRORS);
  c->errors[c->nerrors++] = *e;
}

compiled compile_bytes(ls_mem *mem, const char *text, size_t len) {
  compiled c = {0};
  char *copy = malloc(len ? len : 1); /* exactly as long: reading past the end shows */
  memcpy(copy, text, len);
  c.status = lang_compile(mem, "test", copy, len, &c.m, note, &c);
  free(copy);
  ck_assert_int_eq(c.status == LS_OK, c.m != NULL);
  ck_assert_int_eq(c.status == LS_UNSUITABLE, c.nerrors > 0);
  return c;
}

compiled compile(ls_mem *mem, const char *text) { return compile_bytes(mem, text, strlen(text)); }

vm_module *compile_fine(ls_mem *mem, const char *text) {
  compiled c = compile(mem, text);
  if (c.nerrors)
    ck_abort_msg("%u:%u: %s", c.errors[0].line, c.errors[0].column, c.errors[0].message);
  ck_assert_int_eq(c.status, LS_OK);
  ck_assert(c.m->verified);
  return c.m;
}

const vm_fn *find_fn(const vm_module *m, const char *name) {
  int n = vm_module_find(m, name, true);
  ck_assert_int_ge(n, 0);
  return &m->fns[n];
}

unsigned count_op(const vm_fn *fn, vm_op op) {
  unsigned n = 0;
  for (uint32_t pc = 0; pc < fn->ncode; pc++)
    n += fn->code[pc].op == op;
  return n;
}

uint32_t find_op(const vm_fn *fn, vm_op op, unsigned n) {
  for (uint32_t pc = 0; pc < fn->ncode; pc++)
    if (fn->code[pc].op == op && n-- == 0)
      return pc;
  return fn->ncode;
}

void op_names(const vm_fn *fn, char *out, size_t n) {
  size_t len = 0;
  out[0] = 0;
  for (uint32_t pc = 0; pc < fn->ncode; pc++)
    len += (size_t)snprintf(out + len, n - len, "%s%s", pc ? " " : "",
                            vm_op_name((vm_op)fn->code[pc].op));
  ck_assert_uint_lt(len, n);
}

void text_add(text_buffer *t, const char *format, ...) {
  va_list args, again;
  va_start(args, format);
  va_copy(again, args);
  size_t need = (size_t)vsnprintf(NULL, 0, format, args);
  if (t->len + need + 1 > t->cap) {
    t->cap = (t->len + need + 1) * 2;
    t->at = realloc(t->at, t->cap);
    ck_assert_ptr_nonnull(t->at);
  }
  vsnprintf(t->at + t->len, need + 1, format, again);
  t->len += need;
  va_end(again);
  va_end(args);
}

void text_free(text_buffer *t) {
  free(t->at);
  *t = (text_buffer){0};
}
