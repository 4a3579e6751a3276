/* Records as bytes: checksum u64 (seeded with the position), kind u8, duplicates u8, length of the
 * name u16, name, work u64; an event's arguments: count u16, then type u8 and 8 bytes, or for a
 * text its length u32 and bytes; a load's text.  Little-endian. */
#include "durable_int.h"

#include <string.h>

enum { HEAD = 8 + 1 + 1 + 2, MOST_ARGUMENTS = 255 };

size_t durable_record_size(const durable_record *r) {
  size_t n = HEAD + strlen(r->name) + 8;
  if (r->kind == DURABLE_LOAD)
    return n + r->length;
  n += 2;
  for (uint32_t i = 0; i < r->narguments; i++)
    n += r->arguments[i].type == PURE_TEXT ? 5 + r->arguments[i].length : 9;
  return n;
}

static uint8_t *put(uint8_t *at, uint64_t v, unsigned bytes) {
  for (unsigned i = 0; i < bytes; i++)
    *at++ = (uint8_t)(v >> (8 * i));
  return at;
}

static uint8_t *put_bytes(uint8_t *at, const void *bytes, size_t n) {
  if (n)
    memcpy(at, bytes, n);
  return at + n;
}

static uint8_t *put_value(uint8_t *at, const pure_value *v) {
  *at++ = (uint8_t)v->type;
  if (v->type == PURE_TEXT)
    return put_bytes(put(at, v->length, 4), v->as.t, v->length);
  uint64_t bits = (uint64_t)v->as.i;
  if (v->type == PURE_REAL)
    memcpy(&bits, &v->as.r, sizeof bits);
  return put(at, bits, 8);
}

void durable_record_write(const durable_record *r, uint64_t position, uint8_t *out) {
  uint8_t *at = out + 8;
  size_t name = strlen(r->name);
  *at++ = (uint8_t)r->kind;
  *at++ = (uint8_t)r->duplicates;
  at = put_bytes(put(at, name, 2), r->name, name);
  at = put(at, r->work, 8);
  if (r->kind == DURABLE_LOAD) {
    at = put_bytes(at, r->bytes, r->length);
  } else {
    at = put(at, r->narguments, 2);
    for (uint32_t i = 0; i < r->narguments; i++)
      at = put_value(at, &r->arguments[i]);
  }
  size_t length = (size_t)(at - out) - 8;
  durable_encode(durable_checksum(out + 8, length, position), out);
}

/* What is left of a record; a take past its end fails and all after it. */
typedef struct {
  const uint8_t *at, *end;
  bool short_of;
} reader;

static const uint8_t *take_bytes(reader *r, size_t n) {
  if (r->short_of || n > (size_t)(r->end - r->at)) {
    r->short_of = true;
    return NULL;
  }
  r->at += n;
  return r->at - n;
}

static uint64_t take(reader *r, unsigned bytes) {
  const uint8_t *at = take_bytes(r, bytes);
  uint64_t v = 0;
  for (unsigned i = 0; at && i < bytes; i++)
    v |= (uint64_t)at[i] << (8 * i);
  return v;
}

static void take_value(reader *r, pure_value *out) {
  uint64_t type = take(r, 1);
  if (type == PURE_TEXT) {
    size_t n = (size_t)take(r, 4);
    *out = pure_text((const char *)take_bytes(r, n), n);
    return;
  }
  uint64_t bits = take(r, 8);
  *out = pure_int((int64_t)bits);
  if (type == PURE_REAL)
    memcpy(&out->as.r, &bits, sizeof bits);
  out->type = type < PURE_NTYPES ? (pure_type)type : PURE_NOTHING;
}

static void take_body(reader *r, durable_record *out) {
  if (out->kind == DURABLE_LOAD) {
    out->length = (size_t)(r->end - r->at);
    out->bytes = (const char *)take_bytes(r, out->length);
    return;
  }
  out->narguments = (uint32_t)take(r, 2);
  if (out->narguments > MOST_ARGUMENTS)
    r->short_of = true;
  for (uint32_t i = 0; i < out->narguments && !r->short_of; i++)
    take_value(r, &out->arguments[i]);
}

bool durable_record_read(const uint8_t *bytes, size_t n, uint64_t position, durable_record *out,
                         char name[256], durable_error *e) {
  if (n < HEAD || durable_checksum(bytes + 8, n - 8, position) != durable_decode(bytes))
    return durable_fail(e, "the log is damaged: the checksum of record %llu is wrong",
                        (unsigned long long)position);
  reader r = {bytes + 8, bytes + n, false};
  out->kind = (durable_kind)take(&r, 1);
  out->duplicates = (pure_duplicates)take(&r, 1);
  size_t length = (size_t)take(&r, 2);
  const uint8_t *at = take_bytes(&r, length);
  out->work = take(&r, 8);
  out->name = name;
  if (at && length < 256) {
    memcpy(name, at, length);
    name[length] = 0;
    take_body(&r, out);
  }
  if (!at || length >= 256 || r.short_of || r.at != r.end ||
      (out->kind != DURABLE_EVENT && out->kind != DURABLE_LOAD))
    return durable_fail(e, "record %llu of the log is of a form that this version does not know",
                        (unsigned long long)position);
  return true;
}
