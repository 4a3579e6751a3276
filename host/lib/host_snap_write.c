/* Writing snapshot files: a frozen store, section by section. */
#include <string.h>

#include <xxhash.h>

#include "host/lib/host_snap_int.h"

/* One section at a time lies in buffer.  ids: what number a text has in the file. */
typedef struct {
  host_file *file;
  pure_engine *engine;
  ls_snapshot *lists;
  ls_texts *texts;
  const vm_module *module;
  uint8_t *buffer;
  size_t used, capacity;
  uint64_t sections;
  bool no_memory;
  uint32_t *ids;
  uint32_t store_texts, file_texts;
} snap_writer;

static uint8_t *room(snap_writer *w, size_t n) {
  if (w->capacity - w->used < n) {
    size_t more = w->capacity * 2 + n + 4096;
    uint8_t *grown = ls_mem_resize(w->engine->mem, w->buffer, w->capacity, more);
    if (!grown) {
      w->no_memory = true;
      return NULL;
    }
    w->buffer = grown;
    w->capacity = more;
  }
  uint8_t *at = w->buffer + w->used;
  w->used += n;
  return at;
}

static void put(snap_writer *w, uint64_t v, unsigned bytes) {
  uint8_t *at = room(w, bytes);
  for (unsigned i = 0; at && i < bytes; i++)
    at[i] = (uint8_t)(v >> (8 * i));
}

static void put_bytes(snap_writer *w, const void *bytes, size_t n) {
  uint8_t *at = room(w, n);
  if (at && n)
    memcpy(at, bytes, n);
}

static void put_name(snap_writer *w, const char *name) {
  size_t n = strlen(name);
  put(w, n, 2);
  put_bytes(w, name, n);
}

static void encode(uint64_t v, uint8_t *out) {
  for (unsigned i = 0; i < 8; i++)
    out[i] = (uint8_t)(v >> (8 * i));
}

static bool failed(const snap_writer *w) { return w->no_memory || w->file->error; }

static void end_section(snap_writer *w) {
  uint8_t number[8];
  if (failed(w))
    return;
  encode(w->used, number);
  host_file_write(w->file, number, sizeof number);
  host_file_write(w->file, w->buffer, w->used);
  encode(XXH3_64bits_withSeed(w->buffer, w->used, w->sections++), number);
  host_file_write(w->file, number, sizeof number);
  w->used = 0;
}

static void write_schema(snap_writer *w) {
  put(w, w->file_texts, 4);
  put(w, w->module->nstored, 4);
  for (uint32_t i = 0; i < w->module->nstored; i++) {
    const ls_schema *s = &w->module->lists[i].schema;
    put_name(w, s->name);
    put(w, s->ncols, 2);
    put(w, s->nkeys, 2);
    put(w, ls_snapshot_list(w->lists, i)->count, 8);
    for (unsigned c = 0; c < s->ncols; c++) {
      put_name(w, s->cols[c].name);
      put(w, s->cols[c].type, 1);
      put(w, s->cols[c].declared, 2);
    }
  }
  end_section(w);
}

/* Numbers the texts that some row has, in the order of their ids; "" is always 0. */
static void number_texts(snap_writer *w) {
  for (uint32_t i = 0; i < w->module->nstored; i++) {
    ls_list *l = ls_snapshot_list(w->lists, i);
    for (unsigned c = 0; c < l->schema->ncols; c++) {
      if (l->schema->cols[c].type != LS_TEXT)
        continue;
      ls_cursor cursor;
      ls_row row;
      if (ls_list_seek(l, w->texts, &LS_WHOLE, &cursor) != LS_OK)
        w->no_memory = true;
      while (!w->no_memory && ls_list_next(l, &cursor, &row))
        w->ids[ls_list_get(l, row, c).u] = 1;
    }
  }
  w->ids[0] = 0;
  w->file_texts = 1;
  for (uint32_t id = 1; id < w->store_texts; id++)
    if (w->ids[id])
      w->ids[id] = w->file_texts++;
}

/* Groups: count u32, a length u32 for each, the bytes. */
static void write_texts(snap_writer *w) {
  for (uint32_t id = 1; id < w->store_texts && !failed(w);) {
    uint32_t count = 0, end = id;
    size_t bytes = 0, length;
    for (; end < w->store_texts && bytes < SNAP_GROUP_BYTES; end++) {
      if (!w->ids[end])
        continue;
      ls_texts_get(w->texts, end, &length);
      bytes += length + 4;
      count++;
    }
    if (!count)
      return;
    put(w, count, 4);
    for (uint32_t i = id; i < end; i++) {
      if (!w->ids[i])
        continue;
      ls_texts_get(w->texts, i, &length);
      put(w, length, 4);
    }
    for (uint32_t i = id; i < end; i++) {
      if (!w->ids[i])
        continue;
      const char *text = ls_texts_get(w->texts, i, &length);
      put_bytes(w, text, length);
    }
    end_section(w);
    id = end;
  }
}

static unsigned width_of(const uint64_t *cells, size_t n) {
  uint64_t all = 0;
  for (size_t i = 0; i < n; i++)
    all |= cells[i];
  return all <= 0xff ? 0 : all <= 0xffff ? 1 : all <= 0xffffffff ? 2 : 3;
}

/* A column of a chunk: log2 of the cells' width, then the cells. */
static void write_cells(snap_writer *w, const uint64_t *cells, size_t n) {
  unsigned width = width_of(cells, n);
  put(w, width, 1);
  uint8_t *at = room(w, n << width);
  if (!at)
    return;
  for (size_t i = 0; i < n; i++)
    for (unsigned b = 0; b < 1u << width; b++)
      *at++ = (uint8_t)(cells[i] >> (8 * b));
}

static void write_chunk(snap_writer *w, const ls_list *l, const ls_row *rows, uint64_t *cells,
                        size_t n) {
  for (unsigned c = 0; c < l->schema->ncols; c++) {
    bool text = l->schema->cols[c].type == LS_TEXT;
    for (size_t i = 0; i < n; i++) {
      uint64_t v = ls_list_get(l, rows[i], c).u;
      cells[i] = text ? w->ids[v] : v;
    }
    write_cells(w, cells, n);
  }
  end_section(w);
}

static void write_list(snap_writer *w, ls_list *l) {
  ls_cursor cursor;
  size_t most = (size_t)snap_chunk_rows(l->schema->ncols), n = 0;
  size_t bytes = most * sizeof(uint64_t);
  ls_row *rows = ls_mem_alloc(w->engine->mem, bytes);
  uint64_t *cells = ls_mem_alloc(w->engine->mem, bytes);
  if (!rows || !cells || ls_list_seek(l, w->texts, &LS_WHOLE, &cursor) != LS_OK) {
    w->no_memory = true;
  } else {
    while (!failed(w) && ls_list_next(l, &cursor, &rows[n])) {
      if (++n < most)
        continue;
      write_chunk(w, l, rows, cells, n);
      n = 0;
    }
    if (n && !failed(w))
      write_chunk(w, l, rows, cells, n);
  }
  ls_mem_free(w->engine->mem, rows, bytes);
  ls_mem_free(w->engine->mem, cells, bytes);
}

static void write_all(snap_writer *w) {
  uint8_t start[SNAP_START_BYTES] = SNAP_MAGIC;
  start[SNAP_MAGIC_BYTES] = SNAP_VERSION;
  host_file_write(w->file, start, sizeof start);
  number_texts(w);
  write_schema(w);
  write_texts(w);
  for (uint32_t i = 0; i < w->module->nstored && !failed(w); i++)
    write_list(w, ls_snapshot_list(w->lists, i));
}

pure_status host_snap_write(pure_store *store, ls_snapshot *lists, const char *path,
                            pure_error *e) {
  host_file file;
  pure_engine *engine = store->program->engine;
  pure_status status = host_file_open(&file, engine, path, e);
  if (status != PURE_OK)
    return status;
  snap_writer w = {.file = &file,
                   .engine = engine,
                   .lists = lists,
                   .texts = ls_snapshot_texts(lists),
                   .module = store->program->module};
  w.store_texts = ls_texts_count(w.texts);
  size_t bytes = sizeof *w.ids * (w.store_texts + 1);
  w.ids = host_alloc(engine, bytes);
  if (w.ids)
    write_all(&w);
  else
    w.no_memory = true;
  host_free(engine, w.ids, bytes);
  ls_mem_free(engine->mem, w.buffer, w.capacity);
  if (!w.no_memory)
    return host_file_commit(&file, e);
  host_file_abandon(&file);
  return host_no_memory(e);
}
