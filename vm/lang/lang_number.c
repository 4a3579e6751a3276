/* vm/lang/lang_number.c - see lang_number.h. */
#include "vm/lang/lang_number.h"
#include "vm/vm_text.h"

static int digit_value(char c) {
  if (c >= '0' && c <= '9')
    return c - '0';
  if ((c | 32) >= 'a' && (c | 32) <= 'f')
    return (c | 32) - 'a' + 10;
  return 99;
}

/* A `_` stands between two digits. */
static bool fits_underscore(const char *bytes, size_t len, size_t at, int base) {
  return at > 0 && at + 1 < len && digit_value(bytes[at - 1]) < base &&
         digit_value(bytes[at + 1]) < base;
}

lang_number_status lang_read_int(const char *bytes, size_t len, int64_t *out, bool *huge) {
  bool hex = len > 1 && bytes[0] == '0' && (bytes[1] | 32) == 'x';
  int base = hex ? 16 : 10;
  uint64_t n = 0;
  bool large = false;
  *huge = false;
  if (hex && (len == 2 || bytes[2] == '_'))
    return LANG_NUMBER_BAD;
  for (size_t i = hex ? 2 : 0; i < len; i++) {
    int d = digit_value(bytes[i]);
    if (bytes[i] == '_' && fits_underscore(bytes, len, i, base))
      continue;
    if (d >= base)
      return LANG_NUMBER_BAD;
    large = large || __builtin_mul_overflow(n, (uint64_t)base, &n) ||
            __builtin_add_overflow(n, (uint64_t)d, &n);
  }
  if (large || n > (uint64_t)INT64_MAX + (hex ? 0 : 1))
    return LANG_NUMBER_LARGE;
  *huge = n > (uint64_t)INT64_MAX;
  *out = *huge ? INT64_MIN : (int64_t)n;
  return LANG_NUMBER_FINE;
}

#define MAX_REAL 1000 /* characters of a literal */

static size_t skip_digits(const char *text, size_t len, size_t at) {
  while (at < len && digit_value(text[at]) < 10)
    at++;
  return at;
}

/* digits [. digits] [e [+-] digits] */
static bool is_real(const char *text, size_t len) {
  size_t at = skip_digits(text, len, 0), from;
  if (at == 0)
    return false;
  if (at < len && text[at] == '.') {
    at = skip_digits(text, len, from = at + 1);
    if (at == from)
      return false;
  }
  if (at < len && text[at] == 'e') {
    at++;
    if (at < len && (text[at] == '+' || text[at] == '-'))
      at++;
    from = at;
    at = skip_digits(text, len, from);
    if (at == from)
      return false;
  }
  return at == len;
}

lang_number_status lang_read_real(const char *bytes, size_t len, double *out) {
  char plain[MAX_REAL] = {0};
  size_t n = 0;
  if (len > MAX_REAL)
    return LANG_NUMBER_LONG;
  for (size_t i = 0; i < len; i++) {
    if (bytes[i] == '_' && fits_underscore(bytes, len, i, 10))
      continue;
    plain[n++] = (char)(bytes[i] == 'E' ? 'e' : bytes[i]);
  }
  if (!is_real(plain, n))
    return LANG_NUMBER_BAD;
  return vm_text_to_real(plain, n, out) ? LANG_NUMBER_FINE : LANG_NUMBER_LARGE;
}
