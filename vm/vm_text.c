/* vm/vm_text.c - ints, dates and UTF-8 as bytes. Reals are in vm_real.c. */
#include "vm/vm_text.h"

#include <string.h>

#include "vm/vm_sem.h"

size_t vm_text_from_int(int64_t v, char *out) {
  char digits[20];
  size_t n = 0, len = 0;
  uint64_t rest = v < 0 ? UINT64_C(0) - (uint64_t)v : (uint64_t)v;
  do {
    digits[n++] = (char)('0' + rest % 10);
    rest /= 10;
  } while (rest);
  if (v < 0)
    out[len++] = '-';
  while (n)
    out[len++] = digits[--n];
  return len;
}

static void text_put_digits(char *out, int64_t v, int n) {
  while (n--) {
    out[n] = (char)('0' + v % 10);
    v /= 10;
  }
}

size_t vm_text_from_date(int64_t date, char *out) {
  int64_t y, m, d;
  vm_sem_civil(date, &y, &m, &d);
  memcpy(out, "0000-00-00", 10);
  text_put_digits(out, y, 4);
  text_put_digits(out + 5, m, 2);
  text_put_digits(out + 8, d, 2);
  return 10;
}

static bool text_is_digit(char c) { return c >= '0' && c <= '9'; }

bool vm_text_to_int(const char *text, size_t len, int64_t *out) {
  size_t at = len && text[0] == '-';
  bool negative = at == 1;
  int64_t v = 0;
  if (at == len)
    return false;
  for (; at < len; at++) {
    if (!text_is_digit(text[at]))
      return false;
    int digit = text[at] - '0';
    if (__builtin_mul_overflow(v, 10, &v) ||
        __builtin_add_overflow(v, negative ? -digit : digit, &v))
      return false;
  }
  *out = v;
  return true;
}

static bool text_take_digits(const char *text, size_t n, int64_t *out) {
  *out = 0;
  for (size_t i = 0; i < n; i++) {
    if (!text_is_digit(text[i]))
      return false;
    *out = *out * 10 + (text[i] - '0');
  }
  return true;
}

bool vm_text_to_date(const char *text, size_t len, int64_t *out) {
  int64_t y, m, d;
  return len == 10 && text[4] == '-' && text[7] == '-' && text_take_digits(text, 4, &y) &&
         text_take_digits(text + 5, 2, &m) && text_take_digits(text + 8, 2, &d) &&
         vm_sem_date_ymd(y, m, d, out) == VM_FINE;
}

/* Bytes of the character that starts here, 0 where it is malformed or NUL. */
static size_t utf8_char(const unsigned char *s, size_t left) {
  unsigned char c = s[0];
  size_t n = c == 0     ? 0
             : c < 0x80 ? 1
             : c < 0xc2 ? 0
             : c < 0xe0 ? 2
             : c < 0xf0 ? 3
             : c < 0xf5 ? 4
                        : 0;
  if (n == 0 || n > left)
    return 0;
  for (size_t i = 1; i < n; i++)
    if ((s[i] & 0xc0) != 0x80)
      return 0;
  if (c == 0xe0 && s[1] < 0xa0)
    return 0; /* overlong */
  if (c == 0xed && s[1] > 0x9f)
    return 0; /* surrogate */
  if (c == 0xf0 && s[1] < 0x90)
    return 0; /* overlong */
  if (c == 0xf4 && s[1] > 0x8f)
    return 0; /* past U+10FFFF */
  return n;
}

/* Eight bytes from 0x01 to 0x7f: without high bits, subtracting 1 makes one of a 0 alone. */
static bool ascii_eight(const char *text) {
  uint64_t eight;
  memcpy(&eight, text, 8);
  return ((eight | (eight - UINT64_C(0x0101010101010101))) & UINT64_C(0x8080808080808080)) == 0;
}

bool vm_text_valid(const char *text, size_t len, size_t *bad) {
  for (size_t at = 0; at < len;) {
    if (len - at >= 8 && ascii_eight(text + at)) {
      at += 8;
      continue;
    }
    size_t n = utf8_char((const unsigned char *)text + at, len - at);
    if (n == 0) {
      if (bad)
        *bad = at;
      return false;
    }
    at += n;
  }
  return true;
}

static bool utf8_starts(char c) { return ((unsigned char)c & 0xc0) != 0x80; }

uint64_t vm_text_count(const char *text, size_t len) {
  uint64_t n = 0;
  for (size_t i = 0; i < len; i++)
    n += utf8_starts(text[i]);
  return n;
}

size_t vm_text_offset(const char *text, size_t len, uint64_t n) {
  for (size_t i = 0; i < len; i++)
    if (utf8_starts(text[i]) && n-- == 0)
      return i;
  return len;
}

size_t vm_text_cut(const char *text, size_t len) {
  size_t start = len;
  while (start > 0 && len - start < 4 && !utf8_starts(text[start - 1]))
    start--;
  if (start == 0)
    return 0;
  start--;
  return utf8_char((const unsigned char *)text + start, len - start) == len - start ? len : start;
}

void vm_text_slice(const char *text, size_t len, uint64_t from, uint64_t n, size_t *start,
                   size_t *bytes) {
  *start = vm_text_offset(text, len, from);
  *bytes = vm_text_offset(text + *start, len - *start, n);
}

bool vm_text_contains(const char *text, size_t len, const char *needle, size_t n) {
  if (n == 0)
    return true;
  while (len >= n) {
    const char *hit = memchr(text, needle[0], len - n + 1);
    if (hit == NULL)
      return false;
    if (memcmp(hit, needle, n) == 0)
      return true;
    len -= (size_t)(hit - text) + 1;
    text = hit + 1;
  }
  return false;
}
