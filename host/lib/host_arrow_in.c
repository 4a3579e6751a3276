/* Arrow arrays into a fill.
 *
 * The interface gives no sizes of buffers, so those are trusted; everything that can be seen to be
 * wrong is refused: counts, missing buffers, offsets that go down, values out of range, nulls.
 * Cells go to the builder in blocks; int64 columns as they are. */
#include "host/lib/host_int.h"

#include <pure/arrow.h>

#include <stdio.h>
#include <string.h>

enum { BLOCK = 2048 };
#define MS_PER_DAY INT64_C(86400000)

/* How the values of an Arrow type are read. */
typedef struct {
  const char *format;
  ls_type type;
  uint8_t bytes; /* a value; 0: bits, or texts */
} arrow_kind;

static const arrow_kind kinds[] = {
    {"l", LS_INT, 8},    {"i", LS_INT, 4},  {"s", LS_INT, 2},  {"c", LS_INT, 1},
    {"L", LS_INT, 8},    {"I", LS_INT, 4},  {"S", LS_INT, 2},  {"C", LS_INT, 1},
    {"g", LS_REAL, 8},   {"f", LS_REAL, 4}, {"b", LS_BOOL, 0}, {"tdD", LS_DATE, 4},
    {"tdm", LS_DATE, 8}, {"u", LS_TEXT, 0}, {"U", LS_TEXT, 0},
};

static const arrow_kind *find_kind(const char *format) {
  for (size_t i = 0; format && i < sizeof kinds / sizeof *kinds; i++)
    if (strcmp(kinds[i].format, format) == 0)
      return &kinds[i];
  return NULL;
}

/* One column on its way. */
typedef struct {
  pure_fill *fill;
  unsigned column; /* of the schema */
  const char *name;
  const arrow_kind *kind;
  const struct ArrowArray *array;
  uint64_t from, n;   /* values of the array's buffers to take */
  const int64_t *ids; /* of the dictionary's texts, or NULL */
  uint64_t nids;
  pure_error *error;
} arrow_column;

static pure_status bad(const arrow_column *c, const char *what) {
  host_fill_fail(c->fill);
  return host_fail(c->error, PURE_BAD_DATA, "Arrow column `%s`: %s", c->name, what);
}

static pure_status bad_value(const arrow_column *c, uint64_t at, const char *what) {
  host_fill_fail(c->fill);
  return host_fail(c->error, PURE_BAD_DATA, "Arrow column `%s`, row %llu of the array: %s", c->name,
                   (unsigned long long)at, what);
}

static bool bit(const void *bits, uint64_t at) {
  return (((const uint8_t *)bits)[at / 8] >> (at % 8)) & 1;
}

/* The i-th value of integers of any kind; *fits: as int64_t. */
static int64_t load_int(const void *values, const arrow_kind *k, uint64_t at, bool *fits) {
  const char *p = (const char *)values + at * k->bytes;
  char f = k->format[0] == 't' ? (k->bytes == 4 ? 'i' : 'l') : k->format[0];
  union {
    int64_t l;
    uint64_t ul;
    int32_t i;
    uint32_t ui;
    int16_t s;
    uint16_t us;
    int8_t c;
    uint8_t uc;
  } v;
  memcpy(&v, p, k->bytes);
  *fits = true;
  switch (f) {
  case 'l':
    return v.l;
  case 'L':
    *fits = v.ul <= INT64_MAX;
    return (int64_t)v.ul;
  case 'i':
    return v.i;
  case 'I':
    return v.ui;
  case 's':
    return v.s;
  case 'S':
    return v.us;
  case 'c':
    return v.c;
  default:
    return v.uc;
  }
}

static pure_status take_ints(const arrow_column *c, uint64_t at, int64_t *block, size_t n) {
  for (size_t i = 0; i < n; i++) {
    bool fits;
    block[i] = load_int(c->array->buffers[1], c->kind, at + i, &fits);
    if (!fits)
      return bad_value(c, at + i, "too large for an int");
  }
  return PURE_OK;
}

static pure_status take_dates(const arrow_column *c, uint64_t at, int64_t *block, size_t n) {
  for (size_t i = 0; i < n; i++) {
    bool fits;
    int64_t v = load_int(c->array->buffers[1], c->kind, at + i, &fits);
    if (c->kind->bytes == 8 && v % MS_PER_DAY != 0)
      return bad_value(c, at + i, "not a whole day");
    if (c->kind->bytes == 8)
      v /= MS_PER_DAY;
    if (v < -PURE_DATE_UNIX || v > PURE_DATE_MAX - PURE_DATE_UNIX) {
      char why[80];
      snprintf(why, sizeof why, "%lld days from 1970-01-01 is not a day of the calendar",
               (long long)v);
      return bad_value(c, at + i, why);
    }
    block[i] = v + PURE_DATE_UNIX;
  }
  return PURE_OK;
}

static void take_reals(const arrow_column *c, uint64_t at, int64_t *block, size_t n) {
  if (c->kind->bytes == 8) {
    memcpy(block, (const char *)c->array->buffers[1] + at * 8, n * 8);
    return;
  }
  for (size_t i = 0; i < n; i++) {
    float narrow;
    memcpy(&narrow, (const char *)c->array->buffers[1] + (at + i) * 4, 4);
    double wide = narrow;
    memcpy(&block[i], &wide, 8);
  }
}

static void take_bools(const arrow_column *c, uint64_t at, int64_t *block, size_t n) {
  for (size_t i = 0; i < n; i++)
    block[i] = bit(c->array->buffers[1], at + i);
}

/* Offsets of text number i and of its end. */
static bool text_offsets(const struct ArrowArray *a, const arrow_kind *k, uint64_t i,
                         uint64_t *from, uint64_t *to) {
  int64_t x, y;
  if (k->format[0] == 'U') {
    memcpy(&x, (const char *)a->buffers[1] + i * 8, 8);
    memcpy(&y, (const char *)a->buffers[1] + i * 8 + 8, 8);
  } else {
    int32_t narrow[2];
    memcpy(narrow, (const char *)a->buffers[1] + i * 4, 8);
    x = narrow[0], y = narrow[1];
  }
  *from = (uint64_t)x;
  *to = (uint64_t)y;
  return x >= 0 && y >= x;
}

static pure_status take_texts(const arrow_column *c, uint64_t at, int64_t *block, size_t n) {
  for (size_t i = 0; i < n; i++) {
    uint64_t from, to;
    if (!text_offsets(c->array, c->kind, at + i, &from, &to))
      return bad_value(c, at + i, "the offsets go down");
    if (to > from && !c->array->buffers[2])
      return bad_value(c, at + i, "no bytes");
    const char *text = to > from ? (const char *)c->array->buffers[2] + from : "";
    size_t length = (size_t)(to - from);
    if (host_utf8_check(text, length) != length)
      return bad_value(c, at + i, "not UTF-8 without NUL bytes");
    ls_status status = host_fill_intern(c->fill, text, length, &block[i]);
    if (status != LS_OK) {
      host_fill_fail(c->fill);
      return host_fail_list(c->error, status);
    }
  }
  return PURE_OK;
}

static pure_status take_indices(const arrow_column *c, uint64_t at, int64_t *block, size_t n) {
  pure_status status = take_ints(c, at, block, n);
  for (size_t i = 0; i < n && status == PURE_OK; i++) {
    if (block[i] < 0 || (uint64_t)block[i] >= c->nids)
      return bad_value(c, at + i, "no such entry of the dictionary");
    block[i] = c->ids[block[i]];
  }
  return status;
}

static pure_status take_block(const arrow_column *c, uint64_t at, int64_t *block, size_t n) {
  if (c->ids)
    return take_indices(c, at, block, n);
  switch (c->kind->type) {
  case LS_INT:
    return take_ints(c, at, block, n);
  case LS_DATE:
    return take_dates(c, at, block, n);
  case LS_TEXT:
    return take_texts(c, at, block, n);
  case LS_REAL:
    take_reals(c, at, block, n);
    return PURE_OK;
  case LS_BOOL:
    take_bools(c, at, block, n);
    return PURE_OK;
  }
  return PURE_OK;
}

static pure_status append(const arrow_column *c, const int64_t *cells, size_t n) {
  ls_status status = host_fill_append(c->fill, c->column, cells, n);
  if (status == LS_OK)
    return PURE_OK;
  host_fill_fail(c->fill);
  return host_fail_list(c->error, status);
}

static pure_status take_column(const arrow_column *c) {
  int64_t block[BLOCK];
  pure_status status = PURE_OK;
  const void *values = c->n ? c->array->buffers[1] : NULL;
  bool as_they_are = !c->ids && c->kind->format[0] == 'l' && (uintptr_t)values % 8 == 0;
  if (values && as_they_are)
    return append(c, (const int64_t *)values + c->from, c->n);
  for (uint64_t done = 0; done < c->n && status == PURE_OK; done += BLOCK) {
    size_t n = c->n - done < BLOCK ? (size_t)(c->n - done) : BLOCK;
    status = take_block(c, c->from + done, block, n);
    if (status == PURE_OK)
      status = append(c, block, n);
  }
  return status;
}

/* A list has no nulls. */
static pure_status check_nulls(const arrow_column *c, const struct ArrowArray *a, uint64_t from,
                               uint64_t n) {
  if (a->null_count == 0 || n == 0 || a->n_buffers < 1)
    return PURE_OK;
  if (!a->buffers || (a->null_count > 0 && !a->buffers[0]))
    return bad(c, "nulls without a validity buffer");
  for (uint64_t i = 0; a->buffers[0] && i < n; i++)
    if (!bit(a->buffers[0], from + i))
      return bad_value(c, from + i, "null, which no list can hold");
  return PURE_OK;
}

static bool counts_fit(const struct ArrowArray *a) {
  return a->length >= 0 && a->offset >= 0 && a->length <= INT64_MAX / 16 &&
         a->offset <= INT64_MAX / 16 && a->null_count >= -1 && a->n_buffers >= 0 &&
         a->n_children >= 0;
}

/* Values skip .. skip + n - 1 of array a, which must be of kind k. */
static pure_status check_array(const arrow_column *c, const struct ArrowArray *a,
                               const arrow_kind *k, uint64_t skip, uint64_t n) {
  if (!a || !a->release || !counts_fit(a))
    return bad(c, "a released array, or impossible counts");
  if (skip + n > (uint64_t)a->length)
    return bad(c, "shorter than its parent");
  if (a->n_buffers != (k->type == LS_TEXT ? 3 : 2) || !a->buffers || (n && !a->buffers[1]))
    return bad(c, "buffers are missing");
  return check_nulls(c, a, (uint64_t)a->offset + skip, n);
}

static pure_status read_dictionary(arrow_column *c, const struct ArrowSchema *schema,
                                   int64_t *ids) {
  arrow_column d = *c;
  d.kind = find_kind(schema->dictionary->format);
  d.array = c->array->dictionary;
  d.ids = NULL;
  pure_status status = check_array(&d, d.array, d.kind, 0, c->nids);
  for (uint64_t at = 0; at < c->nids && status == PURE_OK; at += BLOCK) {
    size_t n = c->nids - at < BLOCK ? (size_t)(c->nids - at) : BLOCK;
    status = take_texts(&d, (uint64_t)d.array->offset + at, ids + at, n);
  }
  return status;
}

/* Texts by number: their ids first, then the numbers. */
static pure_status take_dictionary(arrow_column *c, const struct ArrowSchema *schema) {
  const struct ArrowArray *d = c->array->dictionary;
  if (!d || !counts_fit(d))
    return bad(c, "the dictionary is missing");
  pure_engine *engine = host_fill_engine(c->fill);
  size_t bytes = ((size_t)d->length + 1) * sizeof(int64_t);
  int64_t *ids = host_alloc(engine, bytes);
  if (!ids)
    return host_no_memory(c->error);
  c->nids = (uint64_t)d->length;
  pure_status status = read_dictionary(c, schema, ids);
  c->ids = ids;
  if (status == PURE_OK)
    status = take_column(c);
  host_free(engine, ids, bytes);
  return status;
}

static ls_type type_of(const struct ArrowSchema *s, const arrow_kind **kind) {
  *kind = find_kind(s->format);
  const arrow_kind *texts = s->dictionary ? find_kind(s->dictionary->format) : NULL;
  if (s->dictionary && (!*kind || (*kind)->type != LS_INT || !texts || texts->type != LS_TEXT))
    *kind = NULL;
  return s->dictionary ? LS_TEXT : *kind ? (*kind)->type : LS_INT;
}

static pure_status take_child(pure_fill *fill, unsigned column, const struct ArrowSchema *schema,
                              const struct ArrowArray *array, uint64_t skip, uint64_t n,
                              pure_error *e) {
  const ls_column *to = &host_fill_schema(fill)->cols[column];
  arrow_column c = {.fill = fill, .column = column, .name = to->name, .array = array, .error = e};
  ls_type type = type_of(schema, &c.kind);
  if (!c.kind || type != to->type) {
    host_fill_fail(fill);
    return host_fail(e, PURE_BAD_DATA, "Arrow column `%s` of format `%.20s`: expected %s", to->name,
                     schema->format ? schema->format : "", vm_type_name(to->type));
  }
  pure_status status = check_array(&c, array, c.kind, skip, n);
  if (status != PURE_OK)
    return status;
  c.from = (uint64_t)array->offset + skip;
  c.n = n;
  return schema->dictionary ? take_dictionary(&c, schema) : take_column(&c);
}

static int find_child(const struct ArrowSchema *schema, const char *name, bool *twice) {
  int found = -1;
  for (int64_t i = 0; i < schema->n_children; i++) {
    const struct ArrowSchema *child = schema->children[i];
    if (!child || !child->name || strcmp(child->name, name) != 0)
      continue;
    *twice = found >= 0;
    found = (int)i;
  }
  return found;
}

static pure_status check_table(pure_fill *fill, const struct ArrowSchema *schema,
                               const struct ArrowArray *array, pure_error *e) {
  arrow_column c = {.fill = fill, .name = "", .error = e};
  if (!schema->release || !array->release)
    return host_fail(e, PURE_MISUSE, "pure_fill_arrow: schema or array was released");
  if (!schema->format || strcmp(schema->format, "+s") != 0)
    return bad(&c, "a struct of columns is expected");
  if (schema->n_children < 0 || schema->n_children > INT32_MAX ||
      array->n_children != schema->n_children ||
      (schema->n_children && (!schema->children || !array->children)) || !counts_fit(array))
    return bad(&c, "impossible counts");
  return check_nulls(&c, array, (uint64_t)array->offset, (uint64_t)array->length);
}

pure_status pure_fill_arrow(pure_fill *fill, const struct ArrowSchema *schema,
                            const struct ArrowArray *array, pure_error *error) {
  if (!host_is(fill, HOST_FILL) || !schema || !array)
    return HOST_MISUSE(error, __func__, {"fill", fill, HOST_FILL}, {"schema", schema, HOST_POINTER},
                       {"array", array, HOST_POINTER});
  pure_status status = host_fill_usable(fill, __func__, error);
  if (status == PURE_OK)
    status = check_table(fill, schema, array, error);
  const ls_schema *list = host_fill_schema(fill);
  for (unsigned column = 0; column < list->ncols && status == PURE_OK; column++) {
    bool twice = false;
    int child = find_child(schema, list->cols[column].name, &twice);
    if (child < 0 || twice) {
      host_fill_fail(fill);
      return host_fail(error, PURE_BAD_DATA, "the Arrow array has %s column `%s` of list `%s`",
                       twice ? "two of" : "no", list->cols[column].name, list->name);
    }
    status = take_child(fill, column, schema->children[child], array->children[child],
                        (uint64_t)array->offset, (uint64_t)array->length, error);
  }
  return status;
}

static pure_status stream_failed(struct ArrowArrayStream *stream, pure_fill *fill, pure_error *e) {
  const char *said = stream->get_last_error ? stream->get_last_error(stream) : NULL;
  host_fill_fail(fill);
  return host_fail(e, PURE_IO, "the Arrow stream failed: %s", said ? said : "it does not say why");
}

pure_status pure_fill_arrow_stream(pure_fill *fill, struct ArrowArrayStream *stream,
                                   pure_error *error) {
  if (!host_is(fill, HOST_FILL) || !stream)
    return HOST_MISUSE(error, __func__, {"fill", fill, HOST_FILL},
                       {"stream", stream, HOST_POINTER});
  if (!stream->release || !stream->get_schema || !stream->get_next)
    return host_fail(error, PURE_MISUSE, "%s: stream was released or lacks functions", __func__);
  pure_status status = host_fill_usable(fill, __func__, error);
  if (status != PURE_OK)
    return status;
  struct ArrowSchema schema = {.release = NULL};
  if (stream->get_schema(stream, &schema) != 0)
    return stream_failed(stream, fill, error);
  bool more = true;
  while (more && status == PURE_OK) {
    struct ArrowArray array = {.release = NULL};
    if (stream->get_next(stream, &array) != 0)
      status = stream_failed(stream, fill, error);
    more = array.release != NULL;
    if (more && status == PURE_OK)
      status = pure_fill_arrow(fill, &schema, &array, error);
    if (array.release)
      array.release(&array);
  }
  if (schema.release)
    schema.release(&schema);
  return status;
}
