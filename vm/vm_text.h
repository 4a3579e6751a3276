/* vm/vm_text.h - texts as bytes: numbers and dates to text and back, UTF-8.
 *
 * No locale, no dictionary, no allocation.  Parsers take the whole text, without blanks around,
 * or refuse it.
 */
#ifndef PURE_VM_TEXT_H
#define PURE_VM_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VM_TEXT_NUMBER 32 /* bytes that any formatted number or date fits in */

/* Each writes VM_TEXT_NUMBER bytes at most and returns how many; no final 0. */
size_t vm_text_from_int(int64_t v, char *out);
size_t vm_text_from_date(int64_t date, char *out); /* YYYY-MM-DD */
/* Fewest digits that read back as the same real: 0.1, 1.0, 1e21, 2.5e-7, nan, inf, -inf.
 * Plain from 1e-5 up to 1e17, else with an exponent. */
size_t vm_text_from_real(double v, char *out);

/* -?[0-9]+ within 64 bits. */
bool vm_text_to_int(const char *text, size_t len, int64_t *out);
/* YYYY-MM-DD, a day of the calendar. */
bool vm_text_to_date(const char *text, size_t len, int64_t *out);
/* -?digits[.digits][e[+-]digits] rounded to nearest, ties to even; or nan, inf, -inf.  Digits
 * too large for a real are refused, those too small become zero. */
bool vm_text_to_real(const char *text, size_t len, double *out);

/* What every text is: UTF-8 without overlong forms, surrogates, anything past U+10FFFF, and
 * without NUL, which ends texts elsewhere.  *bad: the offset of the
 * first wrong byte (may be NULL). */
bool vm_text_valid(const char *text, size_t len, size_t *bad);
/* Code points of a well-formed text. */
uint64_t vm_text_count(const char *text, size_t len);
/* Byte offset of code point number n; len when there are not so many. */
size_t vm_text_offset(const char *text, size_t len, uint64_t n);
/* len cut down so that it does not end inside a character. */
size_t vm_text_cut(const char *text, size_t len);
/* Bytes of a text with the code points from `from` on, n at most. */
void vm_text_slice(const char *text, size_t len, uint64_t from, uint64_t n, size_t *start,
                   size_t *bytes);
/* Whether needle occurs in the text. */
bool vm_text_contains(const char *text, size_t len, const char *needle, size_t n);

#endif
