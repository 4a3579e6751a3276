/* Arrow arrays that are wrong in any way that a consumer can see: formats, counts, offsets, missing
 * buffers, nulls, dictionaries.
 *
 * Buffers are as large as the counts say, since the interface leaves their sizes to trust.  Besides
 * not crashing: what is refused leaves the store as it was; what is taken comes out again as an
 * array that is taken by another store, which then is the same. */
#include <pure/arrow.h>
#include <pure/pure.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char text[] = "list a (i: int, r: real, b: bool, d: date, t: text)\n"
                           "query all: (i: int, r: real, b: bool, d: date, t: text) { return a }\n";

enum { MOST_ROWS = 40, COLUMNS = 7 };

typedef struct {
  const uint8_t *at, *end;
  void *blocks[64];
  unsigned nblocks;
} input;

static unsigned byte(input *in) { return in->at < in->end ? *in->at++ : 0; }

/* A block of exactly so many bytes, filled from the input. */
static void *block(input *in, size_t bytes) {
  uint8_t *b = malloc(bytes ? bytes : 1);
  if (!b || in->nblocks == 64)
    abort();
  for (size_t i = 0; i < bytes; i++)
    b[i] = (uint8_t)byte(in);
  return in->blocks[in->nblocks++] = b;
}

static void schema_done(struct ArrowSchema *s) { s->release = NULL; }
static void array_done(struct ArrowArray *a) { a->release = NULL; }

/* Sometimes another count: a smaller one, or one that no array can have. */
static int64_t odd_count(input *in, int64_t usual) {
  static const int64_t odd[] = {-1, 0, 1, 2, INT64_MAX / 16 + 1, INT64_MAX, INT64_MIN, -2};
  unsigned how = byte(in);
  if (how < 240 || (odd[how % 8] > usual && odd[how % 8] <= INT64_MAX / 16))
    return usual;
  return odd[how % 8];
}

/* Offsets of texts within `bytes`; sometimes one that goes down. */
static void *text_offsets(input *in, size_t n, size_t bytes, bool large) {
  char *offsets = block(in, (n + 1) * (large ? 8 : 4));
  size_t at = 0;
  for (size_t i = 0; i <= n; i++) {
    int64_t v = (int64_t)at;
    unsigned step = byte(in);
    if (step > 250)
      v = -1;
    int32_t small = (int32_t)v;
    memcpy(offsets + i * (large ? 8 : 4), large ? (void *)&v : (void *)&small, large ? 8 : 4);
    at = at + step % 4 > bytes ? bytes : at + step % 4;
  }
  return offsets;
}

static size_t width(char format) {
  static const char formats[] = "lLgiIfsScC";
  static const uint8_t bytes[] = {8, 8, 8, 4, 4, 4, 2, 2, 1, 1};
  const char *found = format ? strchr(formats, format) : NULL;
  return found ? bytes[found - formats] : 8;
}

/* n values of the format, with all their buffers. */
static void make_array(input *in, const char *format, size_t n, struct ArrowArray *a) {
  const void **buffers = block(in, 3 * sizeof *buffers);
  bool texts = format[0] == 'u' || format[0] == 'U';
  memset(buffers, 0, 3 * sizeof *buffers);
  *a = (struct ArrowArray){.n_buffers = texts ? 3 : 2, .buffers = buffers, .release = array_done};
  a->offset = byte(in) % 3;
  a->length = (int64_t)n;
  n += (size_t)a->offset;
  if (byte(in) % 4 == 0)
    buffers[0] = block(in, (n + 7) / 8);
  a->null_count = byte(in) % 4 ? 0 : (int64_t)(byte(in) % 3) - 1;
  if (texts) {
    buffers[2] = block(in, 60);
    buffers[1] = text_offsets(in, n, 60, format[0] == 'U');
  } else if (format[0] == 'b') {
    buffers[1] = block(in, (n + 7) / 8);
  } else {
    buffers[1] =
        block(in, n * (format[0] == 't' ? (format[2] == 'D' ? 4u : 8u) : width(format[0])));
  }
  a->length = odd_count(in, a->length);
  a->offset = odd_count(in, a->offset);
  a->n_buffers = odd_count(in, a->n_buffers);
  if (byte(in) == 255)
    buffers[1] = NULL;
}

typedef struct {
  struct ArrowSchema schema, child[COLUMNS], dictionary;
  struct ArrowArray array, column[COLUMNS], values;
  struct ArrowSchema *children[COLUMNS];
  struct ArrowArray *columns[COLUMNS];
  const void *none[1];
} table;

static void make_column(input *in, table *t, int i, size_t rows) {
  static const char *const names[] = {"i", "r", "b", "d", "t", "i", "x"};
  static const char *const usual[] = {"l", "g", "b", "tdD", "u", "c", "l"};
  static const char *const others[] = {"i", "L", "S", "C", "f", "tdm", "U", "I"};
  unsigned how = byte(in);
  const char *format = how < 128 ? usual[i] : others[how % 8];
  t->child[i] = (struct ArrowSchema){.format = format, .name = names[i], .release = schema_done};
  make_array(in, format, rows, &t->column[i]);
  t->children[i] = byte(in) == 255 ? NULL : &t->child[i];
  t->columns[i] = byte(in) == 255 ? NULL : &t->column[i];
  if (i == 4 && byte(in) % 4 == 0) {
    static const char *const index[] = {"c", "s", "i", "l"};
    make_array(in, "u", 5, &t->values);
    t->dictionary = (struct ArrowSchema){.format = "u", .release = schema_done};
    t->child[i].format = index[byte(in) % 4];
    make_array(in, t->child[i].format, rows, &t->column[i]);
    t->child[i].dictionary = &t->dictionary;
    t->column[i].dictionary = byte(in) == 255 ? NULL : &t->values;
  }
}

static void make_table(input *in, table *t) {
  size_t rows = byte(in) % MOST_ROWS;
  int64_t n = 5 + byte(in) % 3;
  memset(t, 0, sizeof *t);
  for (int i = 0; i < n; i++)
    make_column(in, t, i, rows);
  if (n > 5 && byte(in) % 2) /* else the column i is there twice */
    t->child[5].name = "y";
  t->schema = (struct ArrowSchema){
      .format = "+s", .n_children = n, .children = t->children, .release = schema_done};
  t->array = (struct ArrowArray){.length = odd_count(in, (int64_t)rows),
                                 .n_buffers = 1,
                                 .n_children = n,
                                 .buffers = t->none,
                                 .children = t->columns,
                                 .release = array_done};
  if (byte(in) % 8 == 0 && t->array.length > 0 && t->array.length <= MOST_ROWS) {
    t->array.offset = 1;
    t->array.length--;
  }
}

static void require(bool fine, const char *what) {
  if (fine)
    return;
  fprintf(stderr, "%s\n", what);
  abort();
}

static pure_store *make_store(pure_program *program) {
  pure_store *store;
  require(pure_store_new(program, &store, NULL) == PURE_OK, "no store");
  return store;
}

static pure_status fill(pure_store *store, const struct ArrowSchema *schema,
                        const struct ArrowArray *array) {
  pure_fill *f;
  require(pure_fill_new(store, "a", &f, NULL) == PURE_OK, "no fill");
  pure_status status = pure_fill_arrow(f, schema, array, NULL);
  if (status == PURE_OK)
    status = pure_fill_finish(f, PURE_DUPLICATE_ERROR, NULL);
  pure_fill_release(f);
  return status;
}

/* The store's rows out and into another one. */
static void round_trip(pure_program *program, pure_store *store) {
  pure_session *session = NULL;
  pure_result *result = NULL;
  struct ArrowSchema schema;
  struct ArrowArray array;
  uint64_t before, after;
  pure_store *other = make_store(program);
  require(pure_session_new(store, &session, NULL) == PURE_OK &&
              pure_session_call(session, "all", NULL, 0, &result, NULL) == PURE_OK &&
              pure_result_arrow(result, &schema, &array, NULL) == PURE_OK,
          "no rows");
  pure_result_release(result);
  pure_session_release(session);
  require(fill(other, &schema, &array) == PURE_OK, "its own array is refused");
  array.release(&array);
  schema.release(&schema);
  require(pure_store_digest(store, &before, NULL) == PURE_OK &&
              pure_store_digest(other, &after, NULL) == PURE_OK && before == after,
          "a round trip changed something");
  pure_store_release(other);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  input in = {.at = data, .end = data + size};
  pure_engine_options o = {.size = sizeof o, .jit = PURE_JIT_0};
  pure_engine *engine = NULL;
  pure_program *program = NULL;
  table t;
  uint64_t empty, now;
  make_table(&in, &t);
  require(pure_engine_new(&o, &engine, NULL) == PURE_OK &&
              pure_program_compile(engine, "f", text, strlen(text), NULL, NULL, &program, NULL) ==
                  PURE_OK,
          "no program");
  pure_store *store = make_store(program);
  require(pure_store_digest(store, &empty, NULL) == PURE_OK, "no digest");
  pure_status status = fill(store, &t.schema, &t.array);
  require(pure_store_digest(store, &now, NULL) == PURE_OK, "no digest");
  if (status == PURE_OK)
    round_trip(program, store);
  else
    require(now == empty && (status == PURE_BAD_DATA || status == PURE_TOO_LARGE),
            "a refused array changed the store");
  pure_store_release(store);
  pure_program_release(program);
  pure_engine_release(engine);
  for (unsigned i = 0; i < in.nblocks; i++)
    free(in.blocks[i]);
  return 0;
}
