/* One field of a record: where it ends, what it means, what is wrong with it. */
#include "host/lib/host_import_int.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool import_wait(pure_import *m) {
  m->state = IMPORT_WAITS;
  return false;
}

bool import_no_memory(pure_import *m) {
  m->state = IMPORT_FAILED;
  host_no_memory(m->error);
  return false;
}

bool import_fail_list(pure_import *m, ls_status status) {
  m->state = IMPORT_FAILED;
  host_fail_list(m->error, status);
  return false;
}

static uint32_t narrow(uint64_t v) { return v > UINT32_MAX ? UINT32_MAX : (uint32_t)v; }

/* at is in the record at work, perhaps on a later line of it. */
bool import_fail(pure_import *m, const char *at, const char *form, ...) {
  uint64_t line = m->line, column = 1;
  for (const char *p = m->record; p < at; p++) {
    if (*p == '\n') {
      line++;
      column = 1;
    } else {
      column += ((unsigned char)*p & 0xc0) != 0x80;
    }
  }
  char message[512];
  va_list values;
  va_start(values, form);
  vsnprintf(message, sizeof message, form, values);
  va_end(values);
  m->state = IMPORT_FAILED;
  host_fail_at(m->error, PURE_BAD_DATA, m->name, narrow(line), narrow(column), "%s", message);
  return false;
}

static bool scratch_room(pure_import *m, size_t n) {
  if (n <= m->scratch_bytes)
    return true;
  size_t bytes = n * 2;
  char *grown = ls_mem_resize(m->engine->mem, m->scratch, m->scratch_bytes, bytes);
  if (!grown)
    return import_no_memory(m);
  m->scratch = grown;
  m->scratch_bytes = bytes;
  return true;
}

static uint64_t count_breaks(const char *p, size_t n) {
  uint64_t breaks = 0;
  const char *end = p + n;
  while ((p = memchr(p, '\n', (size_t)(end - p)))) {
    breaks++;
    p++;
  }
  return breaks;
}

/* p is behind the opening quote.  Copies runs between quotes; "" stands for one. */
static bool span_quoted(pure_import *m, const char *p, import_span *out) {
  const char *open = p - 1;
  size_t length = 0;
  for (;;) {
    const char *quote = memchr(p, '"', (size_t)(m->end - p));
    if (!quote && !m->final)
      return import_wait(m);
    if (!quote)
      return import_fail(m, open, "this quote is never closed");
    if (quote + 1 == m->end && !m->final)
      return import_wait(m);
    size_t run = (size_t)(quote - p);
    if (!scratch_room(m, length + run + 1))
      return false;
    memcpy(m->scratch + length, p, run);
    length += run;
    p = quote + 1;
    if (p == m->end || *p != '"')
      break;
    m->scratch[length++] = '"';
    p++;
  }
  *out = (import_span){m->scratch, length, p};
  m->breaks += count_breaks(m->scratch, length);
  if (*p == m->separator)
    return true;
  if (p < m->end && *p == '\r' && p + 1 == m->end && !m->final)
    return import_wait(m);
  if (import_line_end(m, p))
    return true;
  return import_fail(m, p, "expected %s or the end of the line after the closing quote",
                     m->separator == ',' ? "a comma" : "a tab");
}

bool import_span_separated(pure_import *m, const char *p, import_span *out) {
  if (*p == '"' && m->format == PURE_FORMAT_CSV)
    return span_quoted(m, p + 1, out);
  const char *q = p;
  while (*q != m->separator && *q != '\n')
    q++;
  if (q == m->end && !m->final)
    return import_wait(m);
  if (*q == '\n' && q > p && q[-1] == '\r')
    q--;
  *out = (import_span){p, (size_t)(q - p), q};
  return true;
}

static bool fail_utf8(pure_import *m, const import_field *f, const char *p,
                      const import_span *span) {
  /* In the file's own bytes: quotes that were taken off shift the ones in scratch. */
  const char *from = span->bytes == m->scratch ? p : span->bytes;
  size_t bad = host_utf8_check(from, (size_t)(span->next - from));
  if (from[bad] == 0)
    return import_fail(m, p, "column %s: a NUL byte", f->name);
  return import_fail(m, p, "column %s: not UTF-8 at byte offset %llu of the file", f->name,
                     (unsigned long long)(m->offset + (uint64_t)(from + bad - m->buffer)));
}

static bool fail_value(pure_import *m, const import_field *f, const char *p,
                       const import_span *span, const char *why) {
  char found[HOST_QUOTE_CHARS];
  if (host_utf8_check(span->bytes, span->length) != span->length)
    return fail_utf8(m, f, p, span);
  host_quote(span->bytes, span->length, found, sizeof found);
  if (memchr(span->bytes, '\r', span->length))
    why = IMPORT_LONE_RETURN;
  if (m->guessed && m->rows == 0 && !*why)
    why = "; the first line is no header, for it has none of the list's column names";
  return import_fail(m, p, "column %s: expected %s, found %s%s", f->name, host_value_form(f->type),
                     span->length ? found : "nothing", why);
}

bool import_value(pure_import *m, const import_field *f, const char *p, const import_span *span,
                  int64_t *cell) {
  if (f->type == LS_TEXT) {
    if (host_utf8_check(span->bytes, span->length) != span->length)
      return fail_utf8(m, f, p, span);
    ls_status status = host_fill_intern(m->fill, span->bytes, span->length, cell);
    return status == LS_OK || import_fail_list(m, status);
  }
  ls_val value;
  switch (host_value_scan(f->type, span->bytes, span->length, &value)) {
  case HOST_PARSED:
    *cell = value.i;
    return true;
  case HOST_MALFORMED:
    return fail_value(m, f, p, span, "");
  case HOST_OUT_OF_RANGE:
    return fail_value(m, f, p, span,
                      f->type == LS_INT ? ", which does not fit in 64 bits"
                                        : ", which is too large");
  }
  return false;
}

/* digits[.digits], 15 digits at most: both the digits and the power of ten are exact as reals, so
 * that the one division rounds as it should. */
const char *import_fast_real(const char *p, int64_t *cell) {
  static const double tens[] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
  int64_t whole;
  bool negative = *p == '-';
  const char *start = p + negative;
  if (*start == '-')
    return NULL;
  const char *q = import_fast_int(start, &whole);
  if (!q || *q == 'e' || *q == 'E')
    return NULL;
  ptrdiff_t digits = q - start, fraction = 0;
  if (*q == '.') {
    const char *point = q++;
    unsigned digit;
    while (digits + fraction <= 15 && (digit = (unsigned)(unsigned char)*q - '0') <= 9) {
      whole = whole * 10 + digit;
      q++;
      fraction = q - point - 1;
    }
    if (fraction == 0 || *q == 'e' || *q == 'E')
      return NULL;
  }
  if (digits + fraction > 15)
    return NULL;
  ls_val v = {.r = (double)whole / tens[fraction]};
  if (negative)
    v.r = -v.r;
  *cell = v.i;
  return q;
}
