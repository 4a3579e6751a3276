/* Reading snapshot files.  The bytes may be anything: every number is checked before it is used,
 * and the store changes only after the last one was. */
#include <stdio.h>
#include <string.h>

#include <xxhash.h>

#include "host/lib/host_snap_int.h"

/* One list of the file: the program's list of that name, and its new contents. */
typedef struct {
  uint32_t list;
  uint64_t rows;
  ls_list *made;
} snap_list;

typedef struct {
  pure_store *store;
  const char *name; /* of the file */
  pure_error *error;
  const uint8_t *bytes;
  size_t length, at;
  uint64_t sections;
  const uint8_t *p, *end; /* what is left of the section */
  bool overrun;           /* more was taken than the section has */
  uint32_t *ids;          /* file's text number -> store's text id */
  uint32_t ntexts;
  snap_list *lists;
  uint32_t nlists;
} snap_reader;

static pure_status bad(snap_reader *r, const char *what) {
  return host_fail_at(r->error, PURE_BAD_DATA, r->name, 0, 0, "bad snapshot file: %s", what);
}

static uint64_t decode(const uint8_t *p, unsigned bytes) {
  uint64_t v = 0;
  for (unsigned i = 0; i < bytes; i++)
    v |= (uint64_t)p[i] << (8 * i);
  return v;
}

static const uint8_t *take_bytes(snap_reader *r, uint64_t n) {
  if (n > (uint64_t)(r->end - r->p)) {
    r->overrun = true;
    return NULL;
  }
  const uint8_t *at = r->p;
  r->p += n;
  return at;
}

static uint64_t take(snap_reader *r, unsigned bytes) {
  const uint8_t *at = take_bytes(r, bytes);
  return at ? decode(at, bytes) : 0;
}

static pure_status next_section(snap_reader *r) {
  if (r->length - r->at < 16)
    return bad(r, "it is cut short");
  uint64_t n = decode(r->bytes + r->at, 8);
  if (n > r->length - r->at - 16)
    return bad(r, "it is cut short");
  r->p = r->bytes + r->at + 8;
  r->end = r->p + n;
  r->at += (size_t)n + 16;
  if (XXH3_64bits_withSeed(r->p, (size_t)n, r->sections++) != decode(r->end, 8))
    return bad(r, "a checksum is wrong, the file is damaged");
  return PURE_OK;
}

static pure_status end_section(snap_reader *r) {
  if (r->overrun || r->p != r->end)
    return bad(r, "a section has not the length it should have");
  return PURE_OK;
}

/* Copies a name of the section, 0-terminated; "" where it is no name. */
static void take_name(snap_reader *r, char out[256]) {
  uint64_t n = take(r, 2);
  const uint8_t *at = take_bytes(r, n);
  out[0] = 0;
  if (!at || n > 255 || host_utf8_check((const char *)at, (size_t)n) != n)
    return;
  memcpy(out, at, (size_t)n);
  out[n] = 0;
}

/* A column as the file has it must be the program's. */
static pure_status match_column(snap_reader *r, const ls_schema *s, unsigned c) {
  char name[256];
  take_name(r, name);
  uint64_t type = take(r, 1), declared = take(r, 2);
  if (r->overrun || type >= LS_NTYPES)
    return bad(r, "its schema is damaged");
  const ls_column *want = &s->cols[c];
  if (strcmp(name, want->name) == 0 && type == want->type && declared == want->declared)
    return PURE_OK;
  return host_fail_at(r->error, PURE_BAD_DATA, r->name, 0, 0,
                      "the snapshot is of another program: list `%s` has a column %s: %s there; "
                      "in this program it is %s: %s",
                      s->name, name, vm_type_name((ls_type)type), want->name,
                      vm_type_name(want->type));
}

static pure_status match_list(snap_reader *r, snap_list *l) {
  char name[256];
  take_name(r, name);
  uint64_t ncols = take(r, 2), nkeys = take(r, 2);
  l->rows = take(r, 8);
  if (r->overrun)
    return bad(r, "its schema is damaged");
  if (pure_program_find_list(r->store->program, name, &l->list) != PURE_OK)
    return host_fail_at(r->error, PURE_BAD_DATA, r->name, 0, 0,
                        "the snapshot is of another program: this one has no list `%s`", name);
  for (snap_list *other = r->lists; other < l; other++)
    if (other->list == l->list)
      return bad(r, "a list is there twice");
  const ls_schema *s = host_store_schema(r->store, l->list);
  if (ncols != s->ncols || nkeys != s->nkeys)
    return host_fail_at(r->error, PURE_BAD_DATA, r->name, 0, 0,
                        "the snapshot is of another program: list `%s` has %u columns there, %u of "
                        "them keys; in this program %u, %u of them keys",
                        name, (unsigned)ncols, (unsigned)nkeys, s->ncols, s->nkeys);
  pure_status status = PURE_OK;
  for (unsigned c = 0; c < s->ncols && status == PURE_OK; c++)
    status = match_column(r, s, c);
  return status;
}

static pure_status read_schema(snap_reader *r) {
  pure_status status = next_section(r);
  if (status != PURE_OK)
    return status;
  r->ntexts = (uint32_t)take(r, 4);
  uint64_t nlists = take(r, 4);
  if (r->overrun || r->ntexts == 0)
    return bad(r, "its schema is damaged");
  if (nlists > r->store->program->module->nstored)
    return host_fail_at(r->error, PURE_BAD_DATA, r->name, 0, 0,
                        "the snapshot is of another program: it has %u lists, this one has %u",
                        (unsigned)nlists, r->store->program->module->nstored);
  for (; r->nlists < nlists && status == PURE_OK; r->nlists++)
    status = match_list(r, &r->lists[r->nlists]);
  return status == PURE_OK ? end_section(r) : status;
}

static pure_status read_group(snap_reader *r, uint32_t *done) {
  uint64_t count = take(r, 4);
  const uint8_t *lengths = take_bytes(r, count * 4);
  if (!lengths || count == 0 || count > r->ntexts - *done)
    return bad(r, "its texts are damaged");
  for (uint64_t i = 0; i < count; i++) {
    uint64_t n = decode(lengths + 4 * i, 4);
    const char *text = (const char *)take_bytes(r, n);
    if (!text || host_utf8_check(text, (size_t)n) != n)
      return bad(r, "its texts are damaged");
    ls_status status = ls_texts_intern(ls_store_texts(vm_link_store(r->store->link)), text,
                                       (size_t)n, &r->ids[(*done)++]);
    if (status != LS_OK)
      return host_fail_list(r->error, status);
  }
  return end_section(r);
}

static pure_status read_texts(snap_reader *r) {
  uint32_t done = 1; /* 0 is "" here and there */
  pure_status status = PURE_OK;
  while (done < r->ntexts && status == PURE_OK) {
    status = next_section(r);
    if (status == PURE_OK)
      status = read_group(r, &done);
  }
  return status;
}

static void widen(const uint8_t *from, unsigned width, uint64_t *to, size_t n) {
  for (size_t i = 0; i < n; i++)
    to[i] = decode(from + (i << width), 1u << width);
}

/* False: no value of the type. */
static bool check_cells(const snap_reader *r, ls_type type, uint64_t *cells, size_t n) {
  uint64_t most = type == LS_BOOL   ? 1
                  : type == LS_DATE ? LS_DATE_MAX
                  : type == LS_TEXT ? r->ntexts - 1
                                    : UINT64_MAX;
  for (size_t i = 0; i < n; i++) {
    if (cells[i] > most)
      return false;
    if (type == LS_TEXT)
      cells[i] = r->ids[cells[i]];
  }
  return true;
}

static pure_status read_chunk(snap_reader *r, const ls_schema *s, ls_builder *builder,
                              uint64_t *cells, size_t n) {
  pure_status section = next_section(r);
  if (section != PURE_OK)
    return section;
  for (unsigned c = 0; c < s->ncols; c++) {
    uint64_t width = take(r, 1);
    const uint8_t *from = width <= 3 ? take_bytes(r, (uint64_t)n << width) : NULL;
    if (!from)
      return bad(r, "its rows are damaged");
    widen(from, (unsigned)width, cells, n);
    if (!check_cells(r, s->cols[c].type, cells, n))
      return bad(r, "its rows are damaged");
    ls_status status = ls_builder_append(builder, c, (const int64_t *)cells, n);
    if (status != LS_OK)
      return host_fail_list(r->error, status);
  }
  return end_section(r);
}

static pure_status read_rows(snap_reader *r, snap_list *l, ls_builder *builder) {
  const ls_schema *s = host_store_schema(r->store, l->list);
  uint64_t most = snap_chunk_rows(s->ncols);
  size_t bytes = (size_t)most * sizeof(uint64_t);
  uint64_t *cells = host_alloc(r->store->program->engine, bytes);
  pure_status status = cells ? PURE_OK : host_no_memory(r->error);
  for (uint64_t left = l->rows; left && status == PURE_OK;) {
    uint64_t n = left < most ? left : most;
    status = read_chunk(r, s, builder, cells, (size_t)n);
    left -= n;
  }
  host_free(r->store->program->engine, cells, bytes);
  if (status != PURE_OK)
    return status;
  uint64_t later, first;
  ls_status built = ls_builder_finish(builder, l->made, LS_DUP_ERROR, &later, &first);
  if (built == LS_DUPLICATE)
    return bad(r, "two rows have the same key");
  return built == LS_OK ? PURE_OK : host_fail_list(r->error, built);
}

static ls_list *empty_list(const pure_store *store, uint32_t list) {
  return ls_list_new(host_store_schema(store, list), host_store_mem(store),
                     ls_store_texts(vm_link_store(store->link)), &store->program->engine->policy,
                     NULL);
}

static pure_status read_list(snap_reader *r, snap_list *l) {
  const ls_schema *s = host_store_schema(r->store, l->list);
  l->made = empty_list(r->store, l->list);
  ls_builder *builder = l->made ? ls_builder_new(s, host_store_mem(r->store),
                                                 ls_store_texts(vm_link_store(r->store->link)))
                                : NULL;
  pure_status status = builder ? read_rows(r, l, builder) : host_no_memory(r->error);
  ls_builder_delete(builder);
  return status;
}

static pure_status read_start(snap_reader *r) {
  if (!pure_store_is_snapshot(r->bytes, r->length))
    return bad(r, "it does not begin like one");
  if (r->length < SNAP_START_BYTES)
    return bad(r, "it is cut short");
  uint64_t version = decode(r->bytes + SNAP_MAGIC_BYTES, 4);
  if (version != SNAP_VERSION)
    return host_fail_at(r->error, PURE_BAD_DATA, r->name, 0, 0,
                        "snapshot format %u; this build reads format %u", (unsigned)version,
                        (unsigned)SNAP_VERSION);
  if (decode(r->bytes + SNAP_MAGIC_BYTES + 4, 4) != 0)
    return bad(r, "the four bytes behind its version must be 0");
  r->at = SNAP_START_BYTES;
  return PURE_OK;
}

static pure_status read_file(snap_reader *r) {
  pure_engine *engine = r->store->program->engine;
  pure_status status = read_start(r);
  if (status == PURE_OK)
    status = read_schema(r);
  if (status != PURE_OK)
    return status;
  /* Each text takes 4 bytes at least, so that a lie cannot ask for much memory. */
  if (r->ntexts / 4 > r->length)
    return bad(r, "its schema is damaged");
  size_t bytes = sizeof *r->ids * r->ntexts;
  r->ids = host_alloc(engine, bytes);
  status = r->ids ? read_texts(r) : host_no_memory(r->error);
  for (uint32_t i = 0; i < r->nlists && status == PURE_OK; i++)
    status = read_list(r, &r->lists[i]);
  if (status == PURE_OK && r->at != r->length)
    status = bad(r, "something follows its end");
  host_free(engine, r->ids, bytes);
  return status;
}

/* Every list of the program that the file does not have gets an empty one. */
static pure_status complete(snap_reader *r) {
  uint32_t nstored = r->store->program->module->nstored;
  for (uint32_t list = 0; list < nstored; list++) {
    bool there = false;
    for (uint32_t i = 0; i < r->nlists && !there; i++)
      there = r->lists[i].list == list;
    if (there)
      continue;
    snap_list *l = &r->lists[r->nlists++];
    l->list = list;
    l->made = empty_list(r->store, list);
    if (!l->made)
      return host_no_memory(r->error);
  }
  return PURE_OK;
}

static pure_status load_inside(pure_store *store, const char *name, const void *bytes,
                               size_t length, pure_error *error) {
  uint32_t nstored = store->program->module->nstored;
  size_t list_bytes = sizeof(snap_list) * (nstored + 1);
  snap_reader r = {.store = store, .name = name, .error = error, .bytes = bytes, .length = length};
  r.lists = host_alloc(store->program->engine, list_bytes);
  if (!r.lists)
    return host_no_memory(error);
  ls_store *lists = vm_link_store(store->link);
  uint32_t texts_before = ls_texts_count(ls_store_texts(lists));
  pure_status status = read_file(&r);
  if (status == PURE_OK)
    status = complete(&r);
  for (uint32_t i = 0; i < nstored; i++) {
    if (status == PURE_OK)
      ls_store_swap(lists, r.lists[i].list, r.lists[i].made);
    ls_list_delete(r.lists[i].made);
  }
  if (status == PURE_OK)
    store->epoch++;
  else if (atomic_load(&store->fills) == 0 && atomic_load(&store->snapshots) == 0)
    ls_texts_truncate(ls_store_texts(lists), texts_before);
  host_free(store->program->engine, r.lists, list_bytes);
  return status;
}

bool pure_store_is_snapshot(const void *bytes, size_t length) {
  return bytes && length >= SNAP_MAGIC_BYTES && memcmp(bytes, SNAP_MAGIC, SNAP_MAGIC_BYTES) == 0;
}

pure_status pure_store_load_bytes(pure_store *store, const char *name, const void *bytes,
                                  size_t length, pure_error *error) {
  if (!host_is(store, HOST_STORE) || !name || (!bytes && length))
    return HOST_MISUSE(error, __func__, {"store", store, HOST_STORE}, {"name", name, HOST_POINTER},
                       {"bytes", bytes, HOST_POINTER});
  if (!host_store_enter(store))
    return host_busy(error, __func__, "store");
  pure_status status = load_inside(store, name, bytes, length, error);
  host_store_leave(store);
  return status;
}

pure_status pure_store_load(pure_store *store, const char *path, pure_error *error) {
  if (!host_is(store, HOST_STORE) || !path)
    return HOST_MISUSE(error, __func__, {"store", store, HOST_STORE}, {"path", path, HOST_POINTER});
  pure_engine *engine = store->program->engine;
  uint8_t *bytes;
  size_t length, capacity;
  pure_status status = host_file_read(engine, path, &bytes, &length, &capacity, error);
  if (status != PURE_OK)
    return status;
  status = pure_store_load_bytes(store, path, bytes, length, error);
  host_free(engine, bytes, capacity);
  return status;
}
