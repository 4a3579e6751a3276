/* tests/ir/support/text.h - regions as text in tests. */
#ifndef PURE_TESTS_IR_TEXT_H
#define PURE_TESTS_IR_TEXT_H

#include "ir/ir.h"

/* The region's text, from malloc. */
char *text_of(ir_region *r);
/* Parses a region that must be well formed; where names the test. */
ir_region *text_region(ls_mem *mem, const char *where, const char *text, size_t len);
char *
text_file(const char *path); /* 0-terminated, from malloc; the test ends where there is none */

/* A file of two parts, with a line of ===== between them: given, wanted. */
typedef struct {
  char *all, *given, *wanted;
} text_case;
text_case text_case_read(const char *path);
void text_case_free(text_case *c);
/* Compares; where they differ, prints what was got and ends the test. */
void text_case_check(const char *path, const char *got, const char *wanted);

/* Calls `each` for every file that matches, below $SRC; returns how many. */
unsigned text_each_file(const char *pattern, void (*each)(const char *path));

#endif
