/* Results as CSV, TSV and JSON.  Streams rows through one buffer. */
#include "host/lib/host_int.h"

#include <math.h>
#include <string.h>

enum { BUFFER = 1 << 16 };

typedef struct {
  pure_write write;
  void *user;
  pure_format format;
  bool failed;          /* write said no */
  bool unspellable;     /* TSV: a text with a tab or a line break */
  size_t most, written; /* of a piece: bytes before its last row; flushed so far */
  size_t used;
  char buffer[BUFFER];
} writer;

static void flush(writer *w) {
  if (w->used && !w->failed)
    w->failed = !w->write(w->user, w->buffer, w->used);
  w->written += w->used;
  w->used = 0;
}

static void put(writer *w, const char *bytes, size_t n) {
  while (n) {
    if (w->used == BUFFER)
      flush(w);
    size_t piece = n < BUFFER - w->used ? n : BUFFER - w->used;
    memcpy(w->buffer + w->used, bytes, piece);
    w->used += piece;
    bytes += piece;
    n -= piece;
  }
}

static void put_text(writer *w, const char *text) { put(w, text, strlen(text)); }

/* What needs no escape is copied in runs. */
static void put_json_string(writer *w, const char *text, size_t n) {
  static const char hex[] = "0123456789abcdef";
  size_t from = 0;
  put(w, "\"", 1);
  for (size_t i = 0; i < n; i++) {
    unsigned char c = (unsigned char)text[i];
    if (c >= 0x20 && c != '"' && c != '\\')
      continue;
    put(w, text + from, i - from);
    from = i + 1;
    char escape[6] = {'\\', (char)c, 0, 0, 0, 0};
    size_t length = 2;
    if (c == '\n' || c == '\r' || c == '\t') {
      escape[1] = c == '\n' ? 'n' : c == '\r' ? 'r' : 't';
    } else if (c < 0x20) {
      memcpy(escape + 1, "u00", 3);
      escape[4] = hex[c >> 4];
      escape[5] = hex[c & 15];
      length = 6;
    }
    put(w, escape, length);
  }
  put(w, text + from, n - from);
  put(w, "\"", 1);
}

static void put_csv_string(writer *w, const char *text, size_t n, bool alone) {
  bool plain = n > 0 || !alone;
  for (size_t i = 0; i < n && plain; i++)
    plain = text[i] != ',' && text[i] != '"' && text[i] != '\n' && text[i] != '\r';
  if (plain) {
    put(w, text, n);
    return;
  }
  put(w, "\"", 1);
  for (size_t from = 0; from < n;) {
    const char *quote = memchr(text + from, '"', n - from);
    size_t end = quote ? (size_t)(quote - text) + 1 : n;
    put(w, text + from, end - from);
    if (quote)
      put(w, "\"", 1);
    from = end;
  }
  put(w, "\"", 1);
}

/* alone: the only value of its line, which must not be an empty one. */
static void put_string(writer *w, const char *text, size_t n, bool alone) {
  switch (w->format) {
  case PURE_FORMAT_JSON:
    put_json_string(w, text, n);
    return;
  case PURE_FORMAT_CSV:
    put_csv_string(w, text, n, alone);
    return;
  case PURE_FORMAT_TSV:
  case PURE_FORMAT_EDGES:
  case PURE_FORMAT_ADJACENCY:
    break;
  }
  for (size_t i = 0; i < n; i++)
    if (text[i] == '\t' || text[i] == '\n' || text[i] == '\r')
      w->unspellable = true;
  put(w, text, n);
}

static void put_value(writer *w, const pure_value *v, bool alone) {
  if (v->type == PURE_TEXT) {
    put_string(w, v->as.t, v->length, alone);
    return;
  }
  char spelled[PURE_VALUE_CHARS];
  size_t n = pure_value_format(v, spelled, sizeof spelled);
  /* JSON has no names for these reals, and no dates. */
  bool quoted = v->type == PURE_DATE || (v->type == PURE_REAL && !isfinite(v->as.r));
  if (w->format == PURE_FORMAT_JSON && quoted)
    put_json_string(w, spelled, n);
  else
    put(w, spelled, n);
}

static void put_header(writer *w, const pure_result *r, uint32_t n) {
  pure_column_info c;
  for (uint32_t i = 0; i < n && pure_result_column_info(r, i, &c) == PURE_OK; i++) {
    if (i)
      put_text(w, w->format == PURE_FORMAT_CSV ? "," : "\t");
    put_text(w, c.name);
  }
  put_text(w, "\n");
}

/* Whether another row belongs to this piece. */
static bool next_row(writer *w, pure_result *r, bool *more) {
  *more = !w->failed && !w->unspellable && w->written + w->used >= w->most;
  return !*more && !w->failed && !w->unspellable && pure_result_next(r);
}

static void put_rows(writer *w, pure_result *r, uint32_t n, bool *more) {
  if (!r->headed)
    put_header(w, r, n);
  r->headed = true;
  while (next_row(w, r, more)) {
    for (uint32_t i = 0; i < n; i++) {
      pure_value v = pure_result_get(r, i);
      if (i)
        put_text(w, w->format == PURE_FORMAT_CSV ? "," : "\t");
      put_value(w, &v, n == 1);
    }
    put_text(w, "\n");
  }
}

static void put_objects(writer *w, pure_result *r, uint32_t n, bool *more) {
  pure_column_info c;
  while (next_row(w, r, more)) {
    put_text(w, r->separated ? ", " : "[");
    r->separated = true;
    for (uint32_t i = 0; i < n && pure_result_column_info(r, i, &c) == PURE_OK; i++) {
      pure_value v = pure_result_get(r, i);
      put_text(w, i ? ", " : "{");
      put_json_string(w, c.name, strlen(c.name));
      put_text(w, ": ");
      put_value(w, &v, false);
    }
    put_text(w, "}");
  }
  if (!*more)
    put_text(w, r->separated ? "]\n" : "[]\n");
}

static void put_result(writer *w, pure_result *r, bool *more) {
  pure_value v = pure_result_value(r);
  uint32_t n = pure_result_columns(r);
  bool json = w->format == PURE_FORMAT_JSON;
  switch (pure_result_get_kind(r)) {
  case PURE_RESULT_NOTHING:
    if (json)
      put_text(w, "null\n");
    return;
  case PURE_RESULT_VALUE:
    put_value(w, &v, true);
    put_text(w, "\n");
    return;
  case PURE_RESULT_ROWS:
    break;
  }
  if (json)
    put_objects(w, r, n, more);
  else
    put_rows(w, r, n, more);
}

static pure_status write_piece(pure_result *result, pure_format format, size_t most,
                               pure_write write, void *user, bool *more, const char *function,
                               pure_error *error) {
  if (!host_is(result, HOST_RESULT) || !write)
    return HOST_MISUSE(error, function, {"result", result, HOST_RESULT},
                       {"write", host_pointer((void (*)(void))write), HOST_POINTER});
  if (result->stale)
    return host_fail(error, PURE_STALE, "the session was called again since");
  if (format != PURE_FORMAT_CSV && format != PURE_FORMAT_TSV && format != PURE_FORMAT_JSON)
    return host_fail(error, PURE_MISUSE, "%s: format: results are written as CSV, TSV or JSON",
                     function);
  pure_engine *engine = result->session->store->program->engine;
  writer *w = host_alloc(engine, sizeof *w);
  if (!w)
    return host_no_memory(error);
  w->write = write;
  w->user = user;
  w->format = format;
  w->most = most;
  put_result(w, result, more);
  if (!w->unspellable)
    flush(w);
  bool failed = w->failed, unspellable = w->unspellable;
  *more = *more && !failed;
  host_free(engine, w, sizeof *w);
  if (unspellable)
    return host_fail(error, PURE_BAD_DATA,
                     "a text with a tab or a line break cannot be written as TSV");
  return failed ? host_fail(error, PURE_IO, "the result could not be written") : PURE_OK;
}

pure_status pure_result_write(pure_result *result, pure_format format, pure_write write, void *user,
                              pure_error *error) {
  bool more = false;
  pure_result_rewind(result);
  pure_status status = write_piece(result, format, SIZE_MAX, write, user, &more, __func__, error);
  pure_result_rewind(result);
  return status;
}

pure_status pure_result_write_part(pure_result *result, pure_format format, size_t n,
                                   pure_write write, void *user, bool *more, pure_error *error) {
  if (more)
    *more = false;
  if (!more)
    return HOST_MISUSE(error, __func__, {"result", result, HOST_RESULT},
                       {"more", more, HOST_POINTER});
  if (!n)
    return host_fail(error, PURE_MISUSE, "%s: n is 0", __func__);
  return write_piece(result, format, n, write, user, more, __func__, error);
}
