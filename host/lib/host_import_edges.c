/* Edge lists and adjacency lists, as graph archives ship them: values between blanks, one record
 * a line, comments from # or % at the start of a line. */
#include "host/lib/host_import_int.h"

#include <string.h>

static const char *skip_blanks(const char *p) {
  while (*p == ' ' || *p == '\t')
    p++;
  return p;
}

static bool is_end(const pure_import *m, const char *p) {
  return *p == '\n' || (*p == '\r' && (p[1] == '\n' && p < m->end));
}

static void span_blank(const pure_import *m, const char *p, import_span *out) {
  const char *q = p;
  while (*q != ' ' && *q != '\t' && !is_end(m, q))
    q++;
  *out = (import_span){p, (size_t)(q - p), q};
}

/* Field f at p, into cell; returns what follows it. */
static inline const char *field(pure_import *m, const import_field *f, const char *p,
                                int64_t *cell) {
  const char *q = f->type == LS_INT    ? import_fast_int(p, cell)
                  : f->type == LS_REAL ? import_fast_real(p, cell)
                                       : NULL;
  if (q && (*q == ' ' || *q == '\t' || *q == '\n' || *q == '\r'))
    return q;
  import_span span;
  span_blank(m, p, &span);
  return import_value(m, f, p, &span, cell) ? span.next : NULL;
}

/* A line with one value for each column. */
static bool edge(pure_import *m, const char *p) {
  for (unsigned i = 0; i < m->nfields; i++) {
    if (is_end(m, p))
      return import_fail(m, p, "expected %u values, found %u; column %s is missing", m->nfields, i,
                         m->fields[i].name);
    const import_field *f = &m->fields[i];
    p = field(m, f, p, &m->cells[f->column][m->pending]);
    if (!p)
      return false;
    p = skip_blanks(p);
  }
  if (is_end(m, p))
    return import_row(m);
  import_span span;
  char found[HOST_QUOTE_CHARS];
  span_blank(m, p, &span);
  host_quote(span.bytes, span.length, found, sizeof found);
  return import_fail(m, p, "expected %u value%s, found one more: %s", m->nfields,
                     m->nfields == 1 ? "" : "s", found);
}

/* A line with a node and its neighbours: a row for each of those. */
static bool adjacency(pure_import *m, const char *p) {
  int64_t node, *first = m->cells[m->fields[0].column];
  p = field(m, &m->fields[0], p, &node);
  while (p && !is_end(m, p = skip_blanks(p))) {
    p = field(m, &m->fields[1], p, &m->cells[m->fields[1].column][m->pending]);
    first[m->pending] = node;
    if (p && !import_row(m))
      return false;
  }
  return p != NULL;
}

const char *import_edges(pure_import *m, const char *p) {
  m->state = IMPORT_FINE;
  while (p < m->end) {
    const char *next = memchr(p, '\n', (size_t)(m->end - p));
    if (!next && !m->final) {
      import_wait(m);
      return p;
    }
    m->record = p;
    const char *q = skip_blanks(p);
    if (!is_end(m, q) && *q != '#' && *q != '%' &&
        !(m->format == PURE_FORMAT_ADJACENCY ? adjacency(m, q) : edge(m, q)))
      return p;
    m->line++;
    p = next ? next + 1 : m->end;
  }
  return p;
}
