/* Statuses, messages, suggestions. */
#include "host/lib/host_int.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define ERROR(id, name, kind, exit, meaning) HOST_ERROR_##id,
enum {
#include "host/lib/errors.def"
  HOST_NERRORS
};
#undef ERROR
#define ERROR(id, name, kind, exit, meaning)                                                       \
  _Static_assert((int)HOST_ERROR_##id == (int)PURE_##id, "errors.def and pure.h differ at " #id);
#include "host/lib/errors.def"
#undef ERROR
_Static_assert((int)HOST_NERRORS == (int)PURE_NSTATUS, "errors.def and pure.h differ");

static const char *const status_names[] = {
#define ERROR(id, name, kind, exit, meaning) name,
#include "host/lib/errors.def"
#undef ERROR
};

#define SAME(id)                                                                                   \
  _Static_assert((int)PURE_FAULT_##id == (int)VM_FAULT_##id + 1, "faults differ at " #id)
SAME(OVERFLOW);
SAME(DIV_ZERO);
SAME(MISSING);
SAME(DUPLICATE);
SAME(CONVERSION);
SAME(DELETED);
SAME(WORK);
SAME(MEMORY);
SAME(DEPTH);
SAME(HOST);
SAME(RAISED);
SAME(CANCELLED);
_Static_assert((int)PURE_NFAULTS == (int)VM_NFAULTS + 1, "faults differ");

const char *pure_version(void) { return PURE_VERSION; }

const char *pure_status_name(pure_status status) {
  return (unsigned)status < PURE_NSTATUS ? status_names[status] : "unknown status";
}

const char *pure_fault_name(pure_fault fault) {
  if (fault == PURE_FAULT_NONE)
    return "none";
  if ((unsigned)fault >= PURE_NFAULTS)
    return "unknown fault";
  return vm_fault_name((vm_fault_kind)(fault - 1));
}

static size_t append(char *out, size_t n, size_t at, const char *text) {
  size_t length = strlen(text);
  if (at + 1 < n) {
    size_t room = n - 1 - at;
    memcpy(out + at, text, length < room ? length : room);
  }
  return at + length;
}

size_t pure_error_format(const pure_error *error, char *out, size_t n) {
  size_t at = 0;
  char place[40];
  if (n)
    memset(out, 0, n);
  if (!error)
    return 0;
  if (error->file[0])
    at = append(out, n, at, error->file);
  if (error->file[0] && error->line) {
    snprintf(place, sizeof place, error->column ? ":%u:%u" : ":%u", error->line, error->column);
    at = append(out, n, at, place);
  }
  if (error->file[0])
    at = append(out, n, at, ": ");
  return append(out, n, at, error->message[0] ? error->message : pure_status_name(error->status));
}

/* A text cut in the middle of a character loses what is left of it. */
static void trim(char *text) {
  size_t length = strlen(text), good = host_utf8_check(text, length);
  if (length - good < 4)
    text[good] = 0;
}

static void set(pure_error *e, pure_status status, const char *file, uint32_t line, uint32_t column,
                const char *form, va_list values) {
  memset(e, 0, sizeof *e);
  e->status = status;
  e->line = line;
  e->column = column;
  snprintf(e->file, sizeof e->file, "%s", file);
  trim(e->file);
  vsnprintf(e->message, sizeof e->message, form, values);
  trim(e->message);
}

pure_status host_fail(pure_error *e, pure_status status, const char *form, ...) {
  if (!e)
    return status;
  va_list values;
  va_start(values, form);
  set(e, status, "", 0, 0, form, values);
  va_end(values);
  return status;
}

pure_status host_fail_at(pure_error *e, pure_status status, const char *file, uint32_t line,
                         uint32_t column, const char *form, ...) {
  if (!e)
    return status;
  va_list values;
  va_start(values, form);
  set(e, status, file, line, column, form, values);
  va_end(values);
  return status;
}

pure_status host_no_memory(pure_error *e) { return host_fail(e, PURE_NO_MEMORY, "out of memory"); }

pure_status host_no_memory_of(const pure_engine *engine, pure_error *e) {
  if (!engine->max_memory)
    return host_no_memory(e);
  return host_fail(e, PURE_NO_MEMORY, "out of memory (max_memory of the engine: %llu bytes)",
                   (unsigned long long)engine->max_memory);
}

pure_status host_fail_list(pure_error *e, ls_status status) {
  switch (status) {
  case LS_NOMEM:
    return host_no_memory(e);
  case LS_LIMIT:
    return host_fail(e, PURE_TOO_LARGE, "a list holds at most %lu rows",
                     (unsigned long)LS_MAX_ROWS);
  case LS_DUPLICATE:
    return host_fail(e, PURE_BAD_DATA, "duplicate key");
  case LS_OK:
  case LS_MISSING:
  case LS_UNSUITABLE:
  case LS_FROZEN:
  case LS_STOPPED:
    break;
  }
  return host_fail(e, PURE_MISUSE, "the list refuses the operation (status %d)", (int)status);
}

static size_t quote_byte(unsigned char c, char *out) {
  static const char hex[] = "0123456789abcdef";
  char *p = out;
  *p++ = '\\';
  if (c == '\n' || c == '\r' || c == '\t') {
    *p++ = c == '\n' ? 'n' : c == '\r' ? 'r' : 't';
  } else if (c == '"' || c == '\\') {
    *p++ = (char)c;
  } else {
    *p++ = 'x';
    *p++ = hex[c >> 4];
    *p++ = hex[c & 15];
  }
  return (size_t)(p - out);
}

void host_quote(const char *bytes, size_t length, char *out, size_t n) {
  size_t at = 0, i = 0;
  out[at++] = '"';
  while (i < length && at + 10 < n) {
    size_t step = 1;
    unsigned char c = (unsigned char)bytes[i];
    if (c >= 0x80) {
      while (step < 4 && i + step < length && ((unsigned char)bytes[i + step] & 0xc0) == 0x80)
        step++;
      if (host_utf8_check(bytes + i, step) == step) {
        memcpy(out + at, bytes + i, step);
        at += step;
      } else {
        step = 1;
        at += quote_byte(c, out + at);
      }
    } else if (c < 0x20 || c == 0x7f || c == '"' || c == '\\') {
      at += quote_byte(c, out + at);
    } else {
      out[at++] = (char)c;
    }
    i += step;
  }
  memcpy(out + at, i < length ? "...\"" : "\"", i < length ? 5 : 2);
}

/* Edit distance of two short names, swaps of neighbours counting as one. */
static unsigned distance(const char *x, size_t nx, const char *y, size_t ny) {
  enum { MAX = 40 };
  unsigned rows[3][MAX + 1];
  if (nx > MAX || ny > MAX)
    return MAX;
  for (size_t j = 0; j <= ny; j++)
    rows[0][j] = (unsigned)j;
  for (size_t i = 1; i <= nx; i++) {
    unsigned *now = rows[i % 3], *before = rows[(i + 2) % 3], *older = rows[(i + 1) % 3];
    now[0] = (unsigned)i;
    for (size_t j = 1; j <= ny; j++) {
      unsigned best = before[j - 1] + (x[i - 1] != y[j - 1]);
      if (before[j] + 1 < best)
        best = before[j] + 1;
      if (now[j - 1] + 1 < best)
        best = now[j - 1] + 1;
      if (i > 1 && j > 1 && x[i - 1] == y[j - 2] && x[i - 2] == y[j - 1] && older[j - 2] + 1 < best)
        best = older[j - 2] + 1;
      now[j] = best;
    }
  }
  return rows[nx % 3][ny];
}

const char *host_suggest(const char *name, size_t length, const char *const *names, size_t count) {
  const char *best = NULL;
  unsigned limit = (unsigned)(length / 3); /* others are not alike */
  for (size_t i = 0; i < count; i++) {
    unsigned d = distance(name, length, names[i], strlen(names[i]));
    if (d <= limit && (!best || d < limit)) {
      best = names[i];
      limit = d;
    }
  }
  return best;
}
