/* vm/lang/lang_number.h - what numbers look like in a program. */
#ifndef PURE_VM_LANG_NUMBER_H
#define PURE_VM_LANG_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum {
  LANG_NUMBER_FINE,
  LANG_NUMBER_BAD,
  LANG_NUMBER_LARGE,
  LANG_NUMBER_LONG /* too many characters */
} lang_number_status;

/* 12, 1_000, 0xff.  huge: it is 2^63, which fits only once it is negated; *out is the smallest
 * int then. */
lang_number_status lang_read_int(const char *bytes, size_t len, int64_t *out, bool *huge);
/* 1.5, 1e9, 2.5e-3, with _ between digits; 1000 characters at most. */
lang_number_status lang_read_real(const char *bytes, size_t len, double *out);

#endif
