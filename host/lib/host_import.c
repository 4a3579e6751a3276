/* Imports: text in, rows out.  See host_import_int.h. */
#include "host/lib/host_import_int.h"

#include <string.h>

bool import_flush(pure_import *m) {
  ls_status status = LS_OK;
  for (unsigned c = 0; c < m->schema->ncols && status == LS_OK; c++)
    status = ls_builder_append(host_fill_builder(m->fill), c, m->cells[c], m->pending);
  m->pending = 0;
  return status == LS_OK || import_fail_list(m, status);
}

/* Lines and rows go in step but for comments, empty lines and quoted line breaks. */
static bool mark(pure_import *m, uint64_t delta) {
  size_t room = m->marks_bytes / sizeof *m->marks;
  if (m->nmarks == room) {
    size_t bytes = (room * 2 + 16) * sizeof *m->marks;
    import_mark *grown = ls_mem_resize(m->engine->mem, m->marks, m->marks_bytes, bytes);
    if (!grown)
      return import_no_memory(m);
    m->marks = grown;
    m->marks_bytes = bytes;
  }
  m->marks[m->nmarks++] = (import_mark){m->rows, delta};
  return true;
}

static uint64_t line_of(const pure_import *m, uint64_t row) {
  size_t lo = 0, hi = m->nmarks;
  while (hi - lo > 1) {
    size_t mid = lo + (hi - lo) / 2;
    if (m->marks[mid].row <= row)
      lo = mid;
    else
      hi = mid;
  }
  return m->nmarks ? row + m->marks[lo].delta : 0;
}

/* delta may wrap around: an adjacency list has more rows than lines. */
bool import_row(pure_import *m) {
  uint64_t delta = m->line - m->rows;
  if ((m->nmarks == 0 || m->marks[m->nmarks - 1].delta != delta) && !mark(m, delta))
    return false;
  m->rows++;
  if (++m->pending < IMPORT_BLOCK)
    return true;
  return import_flush(m);
}

static pure_status check_options(const pure_import_options *o, pure_error *e) {
  if (o->size != sizeof *o)
    return host_fail(e, PURE_MISUSE,
                     "pure_import_new: options->size is not sizeof(pure_import_options)");
  if ((unsigned)o->format > PURE_FORMAT_ADJACENCY || (unsigned)o->header > PURE_HEADER_NO ||
      (unsigned)o->duplicates > PURE_DUPLICATE_LAST)
    return host_fail(e, PURE_MISUSE,
                     "pure_import_new: options: an unknown format, header or duplicates");
  if (o->header == PURE_HEADER_YES && o->format >= PURE_FORMAT_EDGES)
    return host_fail(e, PURE_BAD_ARGUMENT, "edge lists have no header");
  return PURE_OK;
}

static pure_status check_schema(const pure_import *m, pure_error *e) {
  const ls_schema *s = m->schema;
  if (m->format != PURE_FORMAT_ADJACENCY)
    return PURE_OK;
  if (s->ncols == 2)
    return PURE_OK;
  return host_fail(e, PURE_BAD_ARGUMENT, "an adjacency list needs a list of two columns; %s has %u",
                   s->name, s->ncols);
}

static bool allocate(pure_import *m, const char *name) {
  m->name_bytes = strlen(name) + 1;
  m->name = host_alloc(m->engine, m->name_bytes);
  size_t column_bytes = sizeof(int64_t) * IMPORT_BLOCK + sizeof *m->cells + sizeof *m->fields;
  m->block_bytes = column_bytes * m->schema->ncols;
  m->block = host_alloc(m->engine, m->block_bytes);
  if (!m->name || !m->block)
    return false;
  memcpy(m->name, name, m->name_bytes);
  int64_t *cells = m->block;
  m->cells = (int64_t **)(void *)(cells + (size_t)IMPORT_BLOCK * m->schema->ncols);
  m->fields = (import_field *)(void *)(m->cells + m->schema->ncols);
  for (unsigned c = 0; c < m->schema->ncols; c++) {
    const ls_column *column = &m->schema->cols[c];
    m->cells[c] = cells + (size_t)IMPORT_BLOCK * c;
    m->fields[column->declared] = (import_field){column->name, column->type, c};
  }
  m->nfields = m->schema->ncols;
  return true;
}

pure_status pure_import_new(pure_store *store, const char *list, const pure_import_options *options,
                            pure_import **out, pure_error *error) {
  if (out)
    *out = NULL;
  if (!host_is(store, HOST_STORE) || !list || !out)
    return HOST_MISUSE(error, __func__, {"store", store, HOST_STORE}, {"list", list, HOST_POINTER},
                       {"out", out, HOST_POINTER});
  static const pure_import_options defaults = {.size = sizeof defaults};
  options = options ? options : &defaults;
  pure_status status = check_options(options, error);
  pure_fill *fill = NULL;
  if (status == PURE_OK)
    status = pure_fill_new(store, list, &fill, error);
  if (status != PURE_OK)
    return status;
  pure_engine *engine = store->program->engine;
  pure_import *m = host_handle_new(engine, HOST_IMPORT, sizeof *m);
  if (!m) {
    pure_fill_release(fill);
    return host_no_memory(error);
  }
  m->fill = fill;
  m->engine = engine;
  m->schema = host_fill_schema(fill);
  m->format = options->format;
  m->header = m->format < PURE_FORMAT_EDGES ? options->header : PURE_HEADER_NO;
  m->duplicates = options->duplicates;
  m->separator = m->format == PURE_FORMAT_TSV ? '\t' : ',';
  m->line = 1;
  status = check_schema(m, error);
  if (status == PURE_OK && !allocate(m, options->name ? options->name : m->schema->name))
    status = host_no_memory(error);
  if (status == PURE_OK)
    *out = m;
  else
    pure_import_release(m);
  return status;
}

void pure_import_release(pure_import *m) {
  if (!host_close(m, HOST_IMPORT))
    return;
  pure_engine *engine = m->engine;
  pure_fill *fill = m->fill;
  host_free(engine, m->name, m->name_bytes);
  host_free(engine, m->block, m->block_bytes);
  host_free(engine, m->buffer, m->capacity);
  host_free(engine, m->marks, m->marks_bytes);
  host_free(engine, m->scratch, m->scratch_bytes);
  host_bury(engine, m);
  pure_fill_release(fill);
}

uint64_t pure_import_rows(const pure_import *m) { return host_is(m, HOST_IMPORT) ? m->rows : 0; }

static size_t buffered(const pure_import *m) {
  return m->buffer ? (size_t)(m->end - m->buffer) : 0;
}

/* With one byte to spare for the '\n' behind the end. */
static bool buffer_append(pure_import *m, const void *bytes, size_t n) {
  size_t used = buffered(m);
  if (n >= SIZE_MAX / 4 - used)
    return import_no_memory(m);
  if (used + n + 1 > m->capacity) {
    size_t capacity = (used + n) * 5 / 4 + 64;
    char *grown = ls_mem_resize(m->engine->mem, m->buffer, m->capacity, capacity);
    if (!grown)
      return import_no_memory(m);
    m->buffer = grown;
    m->capacity = capacity;
  }
  if (n)
    memcpy(m->buffer + used, bytes, n);
  m->end = m->buffer + used + n;
  *m->end = '\n';
  return true;
}

/* A byte order mark at the very start is no text. */
static const char *skip_mark(const pure_import *m) {
  bool there =
      m->offset == 0 && m->end - m->buffer >= 3 && memcmp(m->buffer, "\xef\xbb\xbf", 3) == 0;
  return m->buffer + (there ? 3 : 0);
}

/* Decodes what is whole and moves the rest to the front. */
static bool decode(pure_import *m) {
  const char *p = skip_mark(m);
  p = m->format < PURE_FORMAT_EDGES ? import_csv(m, p) : import_edges(m, p);
  if (m->state == IMPORT_FAILED)
    return false;
  size_t left = (size_t)(m->end - p);
  m->offset += (uint64_t)(p - m->buffer);
  memmove(m->buffer, p, left);
  m->end = m->buffer + left;
  *m->end = '\n';
  /* A record that spans pieces is tried again only when twice as much is there, so that a long
   * one is not read over and over. */
  m->wanted = left * 2;
  return true;
}

static pure_status usable(const pure_import *m, const char *function, pure_error *e) {
  if (!host_is(m, HOST_IMPORT))
    return HOST_MISUSE(e, function, {"import", m, HOST_IMPORT});
  return m->over ? host_fail(e, PURE_MISUSE, "%s: the import is over", function) : PURE_OK;
}

pure_status pure_import_feed(pure_import *m, const void *bytes, size_t n, pure_error *error) {
  pure_status status = usable(m, __func__, error);
  if (status != PURE_OK)
    return status;
  if (!bytes && n)
    return HOST_MISUSE(error, __func__, {"bytes", bytes, HOST_POINTER});
  pure_error local;
  m->error = error ? error : &local;
  if (n == 0)
    return PURE_OK;
  bool fine = buffer_append(m, bytes, n);
  size_t used = buffered(m);
  bool tiny = m->offset == 0 && used < 3; /* half a byte order mark */
  if (fine && used >= m->wanted && !tiny)
    fine = decode(m);
  if (fine)
    return PURE_OK;
  m->over = true;
  return m->error->status;
}

static pure_status fail_duplicate(pure_import *m, uint64_t later, uint64_t first) {
  uint64_t line = line_of(m, later);
  uint32_t at = line > UINT32_MAX ? UINT32_MAX : (uint32_t)line;
  if (first == UINT64_MAX)
    return host_fail_at(m->error, PURE_BAD_DATA, m->name, at, 0,
                        "duplicate key: list %s has a row with this key already", m->schema->name);
  return host_fail_at(m->error, PURE_BAD_DATA, m->name, at, 0,
                      "duplicate key: the row on line %llu has the same",
                      (unsigned long long)line_of(m, first));
}

pure_status pure_import_finish(pure_import *m, pure_error *error) {
  pure_status status = usable(m, __func__, error);
  if (status != PURE_OK)
    return status;
  pure_error local;
  m->error = error ? error : &local;
  m->final = true;
  m->over = true;
  /* Not even an empty line, nor the beginning of one, behind the byte order mark. */
  if (m->line == 1 && (!m->buffer || skip_mark(m) == m->end))
    return host_fail_at(error, PURE_BAD_DATA, m->name, 0, 0, "the file is empty");
  if (!decode(m) || !import_flush(m))
    return m->error->status;
  uint64_t later = 0, first = UINT64_MAX;
  status = host_fill_finish(m->fill, "pure_import_finish", m->duplicates, &later, &first, m->error);
  return status == PURE_BAD_DATA ? fail_duplicate(m, later, first) : status;
}
