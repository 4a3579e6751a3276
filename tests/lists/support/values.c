/* tests/lists/support/values.c - which values, keys and slices a world meets. */
#include "tests/lists/support/world.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POOL_TEXTS 60u
#define POOL_LONGEST 32u
#define POOL_HUGE 20000u

static const char *const pool_letters[] = {
    "a",    "b",           "z", "A", " ", "\xc3\xa9", "\xe6\x97\xa5", "\xf0\x9f\x98\x80",
    "\x7f", "\xef\xbf\xbd"};
#define POOL_LETTERS (sizeof pool_letters / sizeof *pool_letters)

static size_t pool_text_make(chance *c, char *out) {
  size_t len = 0;
  uint64_t letters = chance_below(c, chance_one_in(c, 4) ? 8 : 4);
  for (uint64_t i = 0; i < letters; i++) {
    if (chance_one_in(c, 24)) {
      out[len++] = '\0';
      continue;
    }
    const char *letter = pool_letters[chance_below(c, POOL_LETTERS)];
    size_t n = strlen(letter);
    memcpy(out + len, letter, n);
    len += n;
  }
  return len;
}

static bool pool_has(const model_pool *p, const char *bytes, size_t len) {
  for (uint32_t i = 0; i < p->count; i++) {
    if (p->at[i].len == len && memcmp(p->at[i].bytes, bytes, len) == 0)
      return true;
  }
  return false;
}

bool world_pool_make(world *w, chance *c) {
  model_pool *p = &w->pool;
  char *bytes = calloc(POOL_TEXTS * POOL_LONGEST + POOL_HUGE, 1);
  p->at = calloc(POOL_TEXTS, sizeof *p->at);
  if (!bytes || !p->at) {
    free(bytes);
    return false;
  }
  p->at[0] = (model_text){bytes, 0};
  p->count = 1;
  while (p->count < POOL_TEXTS) {
    char *out = bytes + p->count * POOL_LONGEST;
    size_t len = pool_text_make(c, out);
    if (p->count == 7) { /* one that is longer than any buffer; after the few of FEW columns */
      out = bytes + POOL_TEXTS * POOL_LONGEST;
      len = POOL_HUGE;
      memset(out, 'h', len);
    }
    if (!pool_has(p, out, len))
      p->at[p->count++] = (model_text){out, len};
  }
  return true;
}

static int64_t edge_value(chance *c) {
  static const int64_t edges[] = {0,           1,          -1,         127,        128,
                                  255,         256,        -256,       65535,      65536,
                                  -65536,      2147483647, 2147483648, 4294967295, 4294967296,
                                  -4294967296, INT64_MAX,  INT64_MIN,  1000000,    INT64_MIN + 1};
  return edges[chance_below(c, sizeof edges / sizeof *edges)];
}

static int64_t wrapping_add(int64_t x, uint64_t y) { return (int64_t)((uint64_t)x + y); }

/* Where a narrow span of keys may begin, the edges of the range among them. */
static int64_t span_base(chance *c, int64_t span) {
  switch (chance_below(c, 8)) {
  case 0:
    return INT64_MIN;
  case 1:
    return INT64_MAX - span;
  case 2:
    return -(span / 2);
  case 3:
    return 4294967296 - span / 2;
  case 4:
    return (int64_t)chance_next(c) / 4;
  case 5:
    return 256 - span / 2;
  default:
    return 0;
  }
}

void world_choose_column(world *w, chance *c, world_table *t, unsigned col, bool is_key) {
  world_column *g = &t->column[col];
  unsigned nkeys = t->schema.nkeys;
  g->span = w->large ? chance_between(c, 20000, 60000) : chance_between(c, 8, 400);
  if (!is_key) {
    static const unsigned wild[] = {1000000, 1000000, 400, 40, 2};
    g->kind = SPREAD_WIDEN;
    g->wild = wild[chance_below(c, sizeof wild / sizeof *wild)];
    g->span = chance_one_in(c, 3) ? 65536 : 256;
    return;
  }
  bool last = col + 1 == nkeys;
  g->kind = last || chance_one_in(c, 4) ? (world_spread)chance_below(c, SPREAD_FEW) : SPREAD_FEW;
  if (nkeys == 1 && chance_one_in(c, 3))
    g->kind = SPREAD_DENSE;
  if (g->kind == SPREAD_FEW)
    g->span = w->large ? 60 : 6;
  g->base = span_base(c, g->span);
  if (g->kind == SPREAD_FEW && !chance_one_in(c, 4))
    g->base = 0;
  for (unsigned i = 0; i < 4; i++) {
    g->centre[i] = chance_one_in(c, 3) ? edge_value(c) : (int64_t)chance_next(c);
  }
}

static int64_t int_value(world *w, chance *c, const world_column *g) {
  uint64_t r;
  switch (g->kind) {
  case SPREAD_DENSE:
  case SPREAD_FEW:
    return wrapping_add(g->base, chance_below(c, (uint64_t)g->span + 1));
  case SPREAD_SPARSE:
    return chance_between(c, 0, 100000);
  case SPREAD_HUGE:
    return chance_one_in(c, 8) ? edge_value(c) : (int64_t)chance_next(c);
  case SPREAD_CLUSTER: {
    int64_t centre = g->centre[chance_below(c, 4)];
    int64_t near = w->large ? 6000 : 30;
    return wrapping_add(centre, (uint64_t)chance_between(c, -near, near));
  }
  case SPREAD_UP:
    return wrapping_add(0, w->step * 3 + chance_below(c, w->large ? 60000 : 3));
  case SPREAD_DOWN:
    return wrapping_add(100, 0 - (w->step * 3 + chance_below(c, 3)));
  default:
    r = chance_below(c, (uint64_t)g->span);
    return chance_one_in(c, g->wild) ? edge_value(c) : (int64_t)r;
  }
}

static double real_value(chance *c) {
  static const uint64_t bits[] = {
      UINT64_C(0x7ff8000000000000), UINT64_C(0x7ff0000000000001), UINT64_C(0xfff8000000000000),
      UINT64_C(0xffffffffffffffff), UINT64_C(0x8000000000000000), UINT64_C(0x0000000000000000),
      UINT64_C(0x7ff0000000000000), UINT64_C(0xfff0000000000000), UINT64_C(0x0000000000000001),
      UINT64_C(0x8000000000000001), UINT64_C(0x7fefffffffffffff), UINT64_C(0x3ff0000000000000)};
  ls_val v;
  if (chance_one_in(c, 3)) {
    v.u = bits[chance_below(c, sizeof bits / sizeof *bits)];
  } else if (chance_one_in(c, 3)) {
    v.r = (double)chance_between(c, -1000000, 1000000) / 7.0;
  } else {
    v.r = (double)chance_between(c, -8, 8);
  }
  return v.r;
}

static int64_t date_value(world *w, chance *c, const world_column *g) {
  static const int64_t edges[] = {0, 255, 256, 65535, 65536, LS_DATE_MAX};
  if (g->kind == SPREAD_WIDEN && chance_one_in(c, g->wild)) {
    return edges[chance_below(c, sizeof edges / sizeof *edges)];
  }
  uint64_t v = (uint64_t)int_value(w, c, g);
  return (int64_t)(v % (g->kind == SPREAD_WIDEN ? 65536u : LS_DATE_MAX + 1u));
}

ls_val world_value(world *w, chance *c, const world_table *t, unsigned col) {
  const world_column *g = &t->column[col];
  ls_val v = {.i = 0};
  switch (t->cols[col].type) {
  case LS_INT:
    v.i = int_value(w, c, g);
    break;
  case LS_REAL:
    v.r = real_value(c);
    break;
  case LS_BOOL:
    v.i = (int64_t)chance_below(c, 2);
    break;
  case LS_TEXT:
    v.i = (int64_t)chance_below(c, g->kind == SPREAD_FEW ? 7 : w->pool.count);
    break;
  case LS_DATE:
    v.i = date_value(w, c, g);
    break;
  }
  return v;
}

void world_row(world *w, chance *c, const world_table *t, ls_val *row) {
  for (unsigned i = 0; i < t->schema.ncols; i++)
    row[i] = world_value(w, c, t, i);
}

void world_key(world *w, chance *c, const world_table *t, ls_val *key) {
  const model *m = &t->now;
  unsigned n = t->schema.nkeys;
  if (m->count == 0 || chance_one_in(c, 3)) {
    for (unsigned i = 0; i < n; i++)
      key[i] = world_value(w, c, t, i);
    return;
  }
  memcpy(key, model_row(m, chance_below(c, m->count)), n * sizeof *key);
  if (!chance_one_in(c, 4))
    return;
  unsigned last = n - 1;
  if (t->cols[last].type == LS_INT) {
    key[last].i = wrapping_add(key[last].i, chance_one_in(c, 2) ? 1 : UINT64_MAX);
  } else {
    key[last] = world_value(w, c, t, last);
  }
}

static ls_val slice_value(world *w, chance *c, const world_table *t, unsigned col) {
  if (t->now.count && chance_one_in(c, 2)) {
    return model_row(&t->now, chance_below(c, t->now.count))[col];
  }
  return world_value(w, c, t, col);
}

void world_slice(world *w, chance *c, const world_table *t, model_slice *s) {
  unsigned n = t->schema.nkeys;
  *s = (model_slice){0};
  if (n == 0 || chance_one_in(c, 6))
    return;
  ls_val key[LS_MAX_KEYS];
  world_key(w, c, t, key);
  s->np = (unsigned)chance_below(c, n + 1u);
  memcpy(s->prefix, key, s->np * sizeof *key);
  if (s->np == n)
    return;
  s->has_lo = chance_one_in(c, 2);
  s->has_hi = chance_one_in(c, 2);
  if (s->has_lo)
    s->lo = slice_value(w, c, t, s->np);
  if (s->has_hi)
    s->hi = slice_value(w, c, t, s->np);
  ls_type type = t->cols[s->np].type;
  bool turned = s->has_lo && s->has_hi && model_compare(&t->now, type, s->lo, s->hi) > 0;
  if (turned && !chance_one_in(c, 8)) {
    ls_val lo = s->hi;
    s->hi = s->lo;
    s->lo = lo;
  }
}

static void format_text(const model_text *t, char *out, size_t n) {
  size_t at = 0;
  if (n > 1)
    out[at++] = '"';
  for (size_t i = 0; i < t->len && at + 6 < n; i++) {
    unsigned char b = (unsigned char)t->bytes[i];
    at += (size_t)snprintf(out + at, n - at, b >= 32 && b < 127 ? "%c" : "\\x%02x", b);
  }
  snprintf(out + at, n - at, "\"");
}

void world_format(const model *m, ls_type type, ls_val v, char *out, size_t n) {
  switch (type) {
  case LS_INT:
    snprintf(out, n, "%" PRId64, v.i);
    break;
  case LS_REAL:
    if (isnan(v.r)) {
      snprintf(out, n, "nan %" PRIx64, v.u);
    } else {
      snprintf(out, n, "%.17g", v.r);
    }
    break;
  case LS_BOOL:
    snprintf(out, n, "%s", v.i ? "true" : "false");
    break;
  case LS_TEXT:
    if (v.u < m->pool->count) {
      format_text(&m->pool->at[v.i], out, n);
    } else {
      snprintf(out, n, "text %" PRId64, v.i);
    }
    break;
  case LS_DATE:
    snprintf(out, n, "day %" PRId64, v.i);
    break;
  }
}

void world_format_row(const model *m, const ls_val *row, unsigned n, char *out, size_t size) {
  size_t at = 0;
  out[0] = '\0';
  for (unsigned i = 0; i < n && at + 2 < size; i++) {
    if (i)
      at += (size_t)snprintf(out + at, size - at, ", ");
    world_format(m, m->schema->cols[i].type, row[i], out + at, size - at);
    at += strlen(out + at);
  }
}
