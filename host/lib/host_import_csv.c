/* Records of CSV and TSV, and their header. */
#include "host/lib/host_import_int.h"

#include <stdio.h>
#include <string.h>

/* Fields so far are right; one more begins at p. */
static const char *too_many(pure_import *m, const char *p) {
  import_span span;
  if (!import_span_separated(m, p, &span))
    return NULL;
  char found[HOST_QUOTE_CHARS];
  host_quote(span.bytes, span.length, found, sizeof found);
  import_fail(m, p, "expected %u field%s, found one more: %s", m->nfields,
              m->nfields == 1 ? "" : "s", found);
  return NULL;
}

static const char *too_few(pure_import *m, const char *p, unsigned found) {
  import_fail(m, p, "expected %u fields, found %u; column %s is missing", m->nfields, found,
              m->fields[found].name);
  return NULL;
}

/* Field f at p; returns what follows it: a separator or the end of the line. */
static inline const char *field(pure_import *m, const import_field *f, const char *p) {
  int64_t *cell = &m->cells[f->column][m->pending];
  const char *q = f->type == LS_INT    ? import_fast_int(p, cell)
                  : f->type == LS_REAL ? import_fast_real(p, cell)
                                       : NULL;
  if (q && (*q == m->separator || (*q == '\n' && q != m->end) ||
            (*q == '\r' && q[1] == '\n' && q + 1 < m->end)))
    return q;
  import_span span;
  if (!import_span_separated(m, p, &span) || !import_value(m, f, p, &span, cell))
    return NULL;
  return span.next;
}

/* The record at p, into the block; where the next one begins. */
static const char *record(pure_import *m, const char *p) {
  unsigned i = 0;
  for (;;) {
    if (i == m->nfields)
      return too_many(m, p);
    const char *q = field(m, &m->fields[i], p);
    if (!q)
      return NULL;
    i++;
    if (*q == m->separator) {
      p = q + 1;
      continue;
    }
    return i < m->nfields ? too_few(m, q, i) : import_line_end(m, q);
  }
}

/* Header */

static int column_named(const pure_import *m, const char *name, size_t length) {
  for (unsigned c = 0; c < m->schema->ncols; c++)
    if (strlen(m->schema->cols[c].name) == length &&
        memcmp(m->schema->cols[c].name, name, length) == 0)
      return (int)c;
  return -1;
}

static bool unknown_column(pure_import *m, const char *p, const import_span *span) {
  const char *names[LS_MAX_COLS];
  char found[HOST_QUOTE_CHARS];
  for (unsigned c = 0; c < m->schema->ncols; c++)
    names[c] = m->schema->cols[c].name;
  host_quote(span->bytes, span->length, found, sizeof found);
  if (memchr(span->bytes, '\r', span->length))
    return import_fail(m, p, "list %s has no column %s" IMPORT_LONE_RETURN, m->schema->name, found);
  const char *near = host_suggest(span->bytes, span->length, names, m->schema->ncols);
  if (near)
    return import_fail(m, p, "list %s has no column %s; did you mean %s?", m->schema->name, found,
                       near);
  return import_fail(m, p, "list %s has no column %s", m->schema->name, found);
}

/* One name of the header at p; any[0] says whether one was a column's. */
static bool header_field(pure_import *m, const char *p, import_span *span, bool take, bool *any) {
  if (!import_span_separated(m, p, span))
    return false;
  int c = column_named(m, span->bytes, span->length);
  *any |= c >= 0;
  if (!take)
    return true;
  if (c < 0)
    return unknown_column(m, p, span);
  const ls_column *column = &m->schema->cols[c];
  for (unsigned i = 0; i < m->nfields; i++)
    if (m->fields[i].column == (unsigned)c)
      return import_fail(m, p, "column %s is there twice", column->name);
  m->fields[m->nfields++] = (import_field){column->name, column->type, (unsigned)c};
  return true;
}

/* Goes over the header's names; take: sets the fields from them. */
static const char *header_fields(pure_import *m, const char *p, bool take, bool *any) {
  import_span span;
  for (;; p = span.next + 1) {
    if (!header_field(m, p, &span, take, any))
      return NULL;
    if (*span.next != m->separator)
      return import_line_end(m, span.next);
  }
}

static const char *header(pure_import *m, const char *p) {
  bool any = false;
  const char *next = header_fields(m, p, false, &any);
  if (!next)
    return NULL;
  if (m->header == PURE_HEADER_AUTO && !any) {
    m->header = PURE_HEADER_NO;
    m->guessed = true;
    return p;
  }
  unsigned wanted = m->nfields;
  m->nfields = 0;
  m->breaks = 0;
  next = header_fields(m, p, true, &any);
  if (!next)
    return NULL;
  for (unsigned declared = 0; m->nfields < wanted; declared++) {
    for (unsigned c = 0; c < m->schema->ncols; c++) {
      const ls_column *column = &m->schema->cols[c];
      bool there = column->declared != declared;
      for (unsigned i = 0; i < m->nfields && !there; i++)
        there = m->fields[i].column == c;
      if (there)
        continue;
      import_fail(m, p, "column %s of list %s is missing", column->name, m->schema->name);
      return NULL;
    }
  }
  m->header = PURE_HEADER_NO;
  return next;
}

const char *import_csv(pure_import *m, const char *p) {
  m->state = IMPORT_FINE;
  while (p < m->end) {
    m->record = p;
    m->breaks = 0;
    const char *next = import_line_end(m, p);
    bool row = false;
    if (next && next == m->end && !m->final && *p == '\r') {
      import_wait(m);
      return p;
    }
    if (!next) { /* not an empty line */
      row = m->header == PURE_HEADER_NO;
      next = row ? record(m, p) : header(m, p);
      if (!next)
        return p;
    }
    if (row && !import_row(m))
      return p;
    if (next > p)
      m->line += 1 + m->breaks; /* else it was no header */
    p = next;
  }
  return p;
}
