/* Compiling programs in tests, and looking at what came out. */
#ifndef TESTS_LANG_COMPILE_H
#define TESTS_LANG_COMPILE_H

#include "vm/vm.h"

#define COMPILE_MAX_ERRORS 40

typedef struct {
  ls_status status;
  vm_module *m;
  unsigned nerrors;
  lang_error errors[COMPILE_MAX_ERRORS];
} compiled;

compiled compile(ls_mem *mem, const char *text);
compiled compile_bytes(ls_mem *mem, const char *text, size_t len);
/* One that must compile: fails the test with the first error otherwise. */
vm_module *compile_fine(ls_mem *mem, const char *text);

/* Instructions of the first function of that name. */
const vm_fn *find_fn(const vm_module *m, const char *name);
unsigned count_op(const vm_fn *fn, vm_op op);
/* Position of the n-th instruction of that kind, from 0; ncode: none. */
uint32_t find_op(const vm_fn *fn, vm_op op, unsigned n);
/* "new put seek loop next ..": the names of the instructions, one blank between two. */
void op_names(const vm_fn *fn, char *out, size_t n);

/* A text that grows. */
typedef struct {
  char *at;
  size_t len, cap;
} text_buffer;
void text_add(text_buffer *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_free(text_buffer *t);

#endif
