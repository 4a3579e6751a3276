/* tests/vm/support/assemble.h - modules from assembly text, and what the verifier says of them. */
#ifndef PURE_TESTS_VM_ASSEMBLE_H
#define PURE_TESTS_VM_ASSEMBLE_H

#include "vm/vm_module.h"

/* Assembles the text; fails the test where that is refused. */
vm_module *assemble(ls_mem *mem, const char *text);
/* Fails the test unless the text is refused with a message that contains `message`. */
void assemble_refused(ls_mem *mem, const char *text, const char *message);

/* A text that grows: vm_disasm's and the tests' own.  All zero: empty. */
typedef struct {
  char *bytes; /* 0-terminated, or NULL while empty */
  size_t len;
} text_buffer;
void text_add(text_buffer *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool text_write(void *text, const char *bytes, size_t len); /* a vm_write */
void text_free(text_buffer *t);

/* A small module with every kind of declaration and operand. */
extern const char assemble_sample[];

#endif
