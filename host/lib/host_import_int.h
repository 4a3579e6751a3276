/* host/lib/host_import_int.h - what the files of the import share.
 *
 *   host_import.c         the buffer, blocks of rows, line numbers, the public functions
 *   host_import_field.c   one field: its bytes, its value, its errors
 *   host_import_csv.c     records of CSV and TSV, the header
 *   host_import_edges.c   records of edge lists and adjacency lists
 *
 * Text waits in `buffer` until it makes whole records; the buffer always begins at a record.  One
 * '\n' is kept behind its end, so that every scan for a separator stops by itself; a scan that
 * stopped there has found the end of the text if `final`, else it must wait for more.
 *
 * Why not libcsv: 10 million lines of two ints took it 0.60 s with a callback that only adds the
 * digits up; this decoder checks and converts them in a third of that (docs/formats.md).  And a
 * callback is not told where in the file its field was, which every message here says.
 */
#ifndef PURE_HOST_IMPORT_INT_H
#define PURE_HOST_IMPORT_INT_H

#include "host/lib/host_int.h"

enum { IMPORT_BLOCK = 4096 };

/* A field of every record, in the order of the file. */
typedef struct {
  const char *name; /* of the column */
  ls_type type;
  unsigned column; /* of the schema */
} import_field;

/* From this row on, line = row + delta. */
typedef struct {
  uint64_t row, delta;
} import_mark;

typedef enum { IMPORT_FINE, IMPORT_WAITS, IMPORT_FAILED } import_state;

struct pure_import {
  host_handle head;
  pure_fill *fill;
  pure_engine *engine;
  char *name;
  size_t name_bytes;
  pure_format format;
  pure_header header; /* becomes NO once it was read */
  bool guessed;       /* there is no header, it seems */
  pure_duplicates duplicates;
  char separator;
  bool over;
  const ls_schema *schema;
  import_field *fields; /* one for each column of the schema */
  unsigned nfields;

  char *buffer, *end; /* end: of the text in the buffer; *end is '\n' */
  size_t capacity;
  size_t wanted;   /* bytes in the buffer before it is worth trying again */
  uint64_t offset; /* of the buffer in the file */
  bool final;

  const char *record; /* start of the record at work */
  uint64_t line;      /* its line, from 1 */
  uint64_t breaks;    /* line breaks inside its quotes */
  import_state state; /* why a decoder returned NULL */
  pure_error *error;

  int64_t **cells; /* IMPORT_BLOCK cells for each column of the schema */
  void *block;     /* the cells, then the two arrays */
  size_t block_bytes;
  unsigned pending; /* rows in the block */
  uint64_t rows;
  import_mark *marks;
  size_t nmarks, marks_bytes;
  char *scratch; /* a quoted field without its quotes */
  size_t scratch_bytes;
};

/* A field's bytes: in the buffer, or in scratch where quotes were taken off. */
typedef struct {
  const char *bytes;
  size_t length;
  const char *next; /* behind it */
} import_span;

/* All of these return false or NULL after setting state (and error). */
bool import_wait(pure_import *m);
/* Said of a field with a carriage return in it. */
#define IMPORT_LONE_RETURN "; lines end with LF or CR LF, and not with a carriage return alone"
bool import_fail(pure_import *m, const char *at, const char *form, ...)
    __attribute__((format(printf, 3, 4)));
bool import_fail_list(pure_import *m, ls_status status);
bool import_no_memory(pure_import *m);

/* A field of CSV or TSV that begins at p. */
bool import_span_separated(pure_import *m, const char *p, import_span *out);
/* The value of a field that began at p. */
bool import_value(pure_import *m, const import_field *f, const char *p, const import_span *span,
                  int64_t *cell);
/* The record whose fields are in the cells at m->pending is a row. */
bool import_row(pure_import *m);
bool import_flush(pure_import *m);

/* The usual ints and reals, at once; NULL where it takes a closer look.  Stops at what is neither a
 * digit nor part of the number, which the caller must check. */
static inline const char *import_fast_int(const char *p, int64_t *cell) {
  bool negative = *p == '-';
  p += negative;
  const char *start = p;
  uint64_t v = 0;
  unsigned digit;
  while ((digit = (unsigned)(unsigned char)*p - '0') <= 9) {
    v = v * 10 + digit;
    p++;
  }
  if (p == start || p - start > 18)
    return NULL;
  *cell = negative ? -(int64_t)v : (int64_t)v;
  return p;
}
const char *import_fast_real(const char *p, int64_t *cell);

/* Where the next record begins if q ends this one, else NULL.  q may be the end of the text. */
static inline const char *import_line_end(const pure_import *m, const char *q) {
  if (*q == '\r' && q < m->end)
    q++;
  if (*q != '\n')
    return NULL;
  return q < m->end ? q + 1 : m->end;
}

/* As many records as are whole.  Returns where the rest begins; state says why it stopped
 * (IMPORT_FINE: at the end). */
const char *import_csv(pure_import *m, const char *p);
const char *import_edges(pure_import *m, const char *p);

#endif
