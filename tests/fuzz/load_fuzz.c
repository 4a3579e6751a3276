/* Data files: CSV, TSV, edge lists, adjacency lists in pieces, and snapshot files.
 *
 * The first byte says which format and which list, the second how large the pieces are; the rest
 * is the file.  Besides not crashing: a refused file leaves the store as it was; one that was
 * taken, written as CSV or as a snapshot and read again, gives the same store; and the pieces it
 * came in do not matter. */
#include <pure/pure.h>

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char program_text[] =
    "list edges (from: int, to: int) key (from, to)\n"
    "list things (t: text, i: int, d: date, b: bool, r: real) key (i, t)\n"
    "list words (w: text)\n"
    "query all_edges(): (from: int, to: int) { return edges }\n"
    "query all_things(): (t: text, i: int, d: date, b: bool, r: real) { return things }\n"
    "query all_words(): (w: text) { return words }\n";

enum { NLISTS = 3 };
static const char *const lists[] = {"edges", "things", "words"};
static const char *const queries[] = {"all_edges", "all_things", "all_words"};

typedef struct {
  pure_engine *engine;
  pure_program *program;
} fixture;

static fixture *fixture_get(void) {
  static fixture f;
  if (!f.engine) {
    if (pure_engine_new(NULL, &f.engine, NULL) != PURE_OK ||
        pure_program_compile(f.engine, "fuzz", program_text, sizeof program_text - 1, NULL, NULL,
                             &f.program, NULL) != PURE_OK)
      abort();
  }
  return &f;
}

static pure_store *store_new(void) {
  pure_store *store;
  if (pure_store_new(fixture_get()->program, &store, NULL) != PURE_OK)
    abort();
  return store;
}

static uint64_t digest_of(pure_store *store) {
  uint64_t digest;
  if (pure_store_digest(store, &digest, NULL) != PURE_OK)
    abort();
  return digest;
}

static pure_status import_text(pure_store *store, const char *list, pure_format format,
                               pure_header header, const uint8_t *bytes, size_t n, size_t piece,
                               pure_error *error) {
  if (format >= PURE_FORMAT_EDGES)
    header = PURE_HEADER_NO;
  pure_import_options options = {.size = sizeof options, .format = format, .header = header};
  pure_import *import;
  pure_status status = pure_import_new(store, list, &options, &import, error);
  for (size_t at = 0; at < n && status == PURE_OK; at += piece)
    status = pure_import_feed(import, bytes + at, n - at < piece ? n - at : piece, error);
  if (status == PURE_OK)
    status = pure_import_finish(import, error);
  pure_import_release(import);
  return status;
}

typedef struct {
  uint8_t *bytes;
  size_t n;
} text;

static bool collect(void *user, const void *bytes, size_t n) {
  text *t = user;
  uint8_t *grown = realloc(t->bytes, t->n + n + 1);
  if (!grown)
    abort();
  memcpy(grown + t->n, bytes, n);
  t->bytes = grown;
  t->n += n;
  return true;
}

/* What was loaded, as CSV and loaded again, is the same. */
static void check_csv(pure_store *store, int list) {
  pure_session *session;
  pure_result *result;
  text t = {0};
  if (pure_session_new(store, &session, NULL) != PURE_OK ||
      pure_session_call(session, queries[list], NULL, 0, &result, NULL) != PURE_OK ||
      pure_result_write(result, PURE_FORMAT_CSV, collect, &t, NULL) != PURE_OK)
    abort();
  pure_store *again = store_new();
  pure_error error = {0};
  pure_status status =
      import_text(again, lists[list], PURE_FORMAT_CSV, PURE_HEADER_YES, t.bytes, t.n, t.n, &error);
  if (status != PURE_OK || digest_of(again) != digest_of(store)) {
    fprintf(stderr, "CSV does not read back: %s\n", error.message);
    abort();
  }
  free(t.bytes);
  pure_result_release(result);
  pure_session_release(session);
  pure_store_release(again);
}

static void fuzz_text(pure_format format, int list, pure_header header, size_t piece,
                      const uint8_t *bytes, size_t n) {
  pure_store *whole = store_new(), *cut = store_new();
  pure_error one = {0}, two = {0};
  uint64_t empty = digest_of(whole);
  pure_status status = import_text(whole, lists[list], format, header, bytes, n, n ? n : 1, &one);
  pure_status again = import_text(cut, lists[list], format, header, bytes, n, piece, &two);
  assert(status == again);
  if (status == PURE_OK) {
    assert(digest_of(whole) == digest_of(cut));
    check_csv(whole, list);
  } else {
    assert(one.message[0] && one.line == two.line && one.column == two.column);
    assert(strcmp(one.message, two.message) == 0);
    assert(digest_of(whole) == empty && digest_of(cut) == empty);
  }
  pure_store_release(whole);
  pure_store_release(cut);
}

static void load_snapshot(const uint8_t *bytes, size_t n) {
  pure_store *store = store_new();
  pure_error error = {0};
  uint64_t empty = digest_of(store);
  if (pure_store_load_bytes(store, "fuzz", bytes, n, &error) == PURE_OK) {
    pure_session *session;
    if (pure_session_new(store, &session, NULL) != PURE_OK)
      abort();
    for (int list = 0; list < NLISTS; list++) {
      pure_result *result;
      text t = {0};
      if (pure_session_call(session, queries[list], NULL, 0, &result, NULL) != PURE_OK ||
          pure_result_write(result, PURE_FORMAT_JSON, collect, &t, NULL) != PURE_OK)
        abort();
      free(t.bytes);
      pure_result_release(result);
    }
    pure_session_release(session);
    if (pure_store_save(store, "/dev/null", NULL) != PURE_OK)
      abort();
  } else {
    assert(error.message[0]);
    assert(digest_of(store) == empty);
  }
  pure_store_release(store);
}

static uint8_t *put_number(uint8_t *to, uint64_t v) {
  for (int i = 0; i < 8; i++)
    *to++ = (uint8_t)(v >> (8 * i));
  return to;
}

/* No mutation would ever hit a checksum: the input has sections as a length of two bytes and a
 * payload, and gets frames and right checksums here. */
static void fuzz_sections(const uint8_t *bytes, size_t n) {
  static const uint8_t start[16] = "PURESNAP\1";
  uint8_t *file = malloc(sizeof start + n * 8 + 16), *at = file;
  if (!file)
    abort();
  memcpy(at, start, sizeof start);
  at += sizeof start;
  for (uint64_t section = 0; n >= 2; section++) {
    size_t length = bytes[0] | (size_t)bytes[1] << 8;
    bytes += 2;
    n -= 2;
    if (length > n)
      length = n;
    at = put_number(at, length);
    memcpy(at, bytes, length);
    at = put_number(at + length, XXH3_64bits_withSeed(bytes, length, section));
    bytes += length;
    n -= length;
  }
  load_snapshot(file, (size_t)(at - file));
  free(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const size_t pieces[] = {1, 2, 3, 5, 7, 16, 31, 4096};
  if (size < 2)
    return 0;
  unsigned how = data[0], cut = data[1];
  if (how % 8 == 6)
    fuzz_sections(data + 2, size - 2);
  else if (how % 8 == 7)
    load_snapshot(data + 2, size - 2);
  else
    fuzz_text((pure_format)(how % 4), (int)(how / 8 % NLISTS), (pure_header)(cut / 8 % 3),
              pieces[cut % 8], data + 2, size - 2);
  return 0;
}
