/* lists/ls_digest.c - a hash of a list's contents, the same in every layout.
 *
 * Hashed are the number of rows and then, row by row in order, 8 bytes for each value, least
 * significant byte first; of a text its length and its bytes.  They are hashed in pieces, each
 * with the hash so far as its seed: where a piece ends depends on the contents alone, and no
 * state of the hash function needs memory.
 */
#include <string.h>

#include <xxhash.h>

#include "lists/lists_int.h"

#define BUFFER 4096u

typedef struct {
  uint64_t hash; /* of the pieces before */
  size_t n;
  unsigned char buffer[BUFFER];
} hasher;

static void hash_flush(hasher *x) {
  x->hash = XXH3_64bits_withSeed(x->buffer, x->n, x->hash);
  x->n = 0;
}

static void hash_word(hasher *x, uint64_t v) {
  if (x->n + 8 > BUFFER)
    hash_flush(x);
  unsigned char *p = x->buffer + x->n; /* eight stores that compilers make one of */
  p[0] = (unsigned char)v;
  p[1] = (unsigned char)(v >> 8);
  p[2] = (unsigned char)(v >> 16);
  p[3] = (unsigned char)(v >> 24);
  p[4] = (unsigned char)(v >> 32);
  p[5] = (unsigned char)(v >> 40);
  p[6] = (unsigned char)(v >> 48);
  p[7] = (unsigned char)(v >> 56);
  x->n += 8;
}

static void hash_text(hasher *x, const ls_texts *tx, uint32_t id) {
  size_t len;
  const char *bytes = ls_texts_get(tx, id, &len);
  hash_word(x, len);
  if (len > BUFFER - x->n)
    hash_flush(x);
  if (len > BUFFER) {
    x->hash = XXH3_64bits_withSeed(bytes, len, x->hash);
  } else {
    memcpy(x->buffer + x->n, bytes, len);
    x->n += len;
  }
}

static void hash_row(hasher *x, const ls_list *l, ls_row h) {
  for (unsigned c = 0; c < l->schema->ncols; c++) {
    ls_val v = ls_list_get(l, h, c);
    if (l->schema->cols[c].type == LS_TEXT)
      hash_text(x, l->texts, (uint32_t)v.u);
    else
      hash_word(x, v.u);
  }
}

/* Row of the least key after that of `last` (NULL: of all), by looking at every row. */
static bool next_by_scan(const ls_list *l, const ls_val *last, ls_row *h, ls_val *key) {
  unsigned n = l->schema->nkeys;
  bool found = false;
  for (ls_row at = 0; at < l->count; at++) {
    ls_val here[LS_MAX_KEYS];
    for (unsigned c = 0; c < n; c++)
      here[c] = ls_list_get(l, at, c);
    if (last != NULL && ls_key_compare(l->schema, l->texts, here, last, n) <= 0)
      continue;
    if (found && ls_key_compare(l->schema, l->texts, here, key, n) >= 0)
      continue;
    memcpy(key, here, n * sizeof *key);
    *h = at;
    found = true;
  }
  return found;
}

/* A hash list for whose order there is no memory: slow, but the same digest. */
static void hash_by_scan(hasher *x, const ls_list *l) {
  ls_val last[LS_MAX_KEYS], key[LS_MAX_KEYS];
  ls_row h;
  bool more = next_by_scan(l, NULL, &h, key);
  while (more) {
    hash_row(x, l, h);
    memcpy(last, key, sizeof last);
    more = next_by_scan(l, last, &h, key);
  }
}

/* Only a hash list has no order yet, and then seeking puts its rows in order: they stay the
 * same rows, and such a list belongs to this thread alone. */
static bool hash_in_order(hasher *x, const ls_list *l) {
  ls_cursor c;
  ls_row h;
  bool unsorted = ls_shape_layout(l->shape) == LS_HASH;
  ls_list *own = (ls_list *)(uintptr_t)l;
  ls_status st;
  if (unsorted) {
    st = ls_list_seek(own, NULL, &LS_WHOLE, &c);
  } else {
    st = ls_ops(l)->bound(own, l->texts, NULL, 0, false, &c.next);
    if (st == LS_OK)
      st = ls_ops(l)->bound(own, l->texts, NULL, 0, true, &c.end);
  }
  if (st != LS_OK)
    return false;
  while (ls_ops(l)->next(l, &c, &h))
    hash_row(x, l, h);
  return true;
}

uint64_t ls_list_digest(const ls_list *l, uint64_t seed) {
  hasher x;
  x.hash = seed;
  x.n = 0;
  hash_word(&x, l->count);
  if (!hash_in_order(&x, l))
    hash_by_scan(&x, l);
  hash_flush(&x);
  return x.hash;
}
