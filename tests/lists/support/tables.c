#include "tests/lists/support/tables.h"

#include <stdio.h>
#include <string.h>

static const ls_column int_cols[] = {{"a", LS_INT, 0}, {"v", LS_INT, 1}, {"r", LS_REAL, 2}};
static const ls_column pair_cols[] = {{"a", LS_INT, 0}, {"b", LS_INT, 1}, {"v", LS_INT, 2}};
static const ls_column triple_cols[] = {
    {"a", LS_INT, 0}, {"d", LS_DATE, 1}, {"f", LS_BOOL, 2}, {"v", LS_INT, 3}};
static const ls_column real_cols[] = {{"r", LS_REAL, 0}, {"v", LS_INT, 1}};
static const ls_column text_cols[] = {{"t", LS_TEXT, 0}, {"a", LS_INT, 1}, {"v", LS_TEXT, 2}};
static const ls_column word_cols[] = {{"f", LS_BOOL, 0}, {"t", LS_TEXT, 1}};
static const ls_column log_cols[] = {{"a", LS_INT, 0}, {"r", LS_REAL, 1}, {"t", LS_TEXT, 2}};

static const ls_schema int_schema = {"ints", 3, 1, int_cols};
static const ls_schema pair_schema = {"pairs", 3, 2, pair_cols};
static const ls_schema edge_schema = {"edges", 2, 2, pair_cols};
static const ls_schema triple_schema = {"triples", 4, 3, triple_cols};
static const ls_schema real_schema = {"reals", 2, 1, real_cols};
static const ls_schema text_schema = {"texts", 3, 2, text_cols};
static const ls_schema reals_schema = {"reals only", 1, 1, real_cols};
static const ls_schema word_schema = {"words", 2, 2, word_cols};
static const ls_schema log_schema = {"log", 3, 0, log_cols};

const ls_schema *const table_schemas[TABLE_KINDS] = {
    [TABLE_INT] = &int_schema,       [TABLE_PAIR] = &pair_schema,  [TABLE_EDGE] = &edge_schema,
    [TABLE_TRIPLE] = &triple_schema, [TABLE_REAL] = &real_schema,  [TABLE_TEXT] = &text_schema,
    [TABLE_REALS] = &reals_schema,   [TABLE_WORDS] = &word_schema, [TABLE_LOG] = &log_schema};

const model_pool *table_pool(void) {
  static char bytes[TABLE_TEXTS][24];
  static model_text texts[TABLE_TEXTS];
  static model_pool pool;
  if (pool.at != NULL)
    return &pool;
  for (unsigned i = 1; i < TABLE_TEXTS; i++) {
    /* many share their first eight bytes, some are the start of others */
    int n = snprintf(bytes[i], sizeof bytes[i], i % 3 ? "%.*s%u" : "%.*s-%u", (int)(i % 11),
                     "prefix-long", i * 2654435761u % 1000u * TABLE_TEXTS + i);
    texts[i] = (model_text){bytes[i], (size_t)n};
  }
  texts[0] = (model_text){"", 0};
  pool = (model_pool){texts, TABLE_TEXTS};
  return &pool;
}

void table_pool_intern(ls_texts *base) {
  const model_pool *pool = table_pool();
  for (uint32_t i = 1; i < pool->count; i++) {
    uint32_t id = 0;
    (void)ls_texts_intern(base, pool->at[i].bytes, pool->at[i].len, &id);
  }
}

static int64_t any_width(chance *c) {
  static const unsigned bits[] = {4, 8, 9, 16, 17, 32, 33, 64};
  unsigned n = bits[chance_below(c, sizeof bits / sizeof bits[0])];
  return (int64_t)(chance_next(c) >> (64 - n));
}

static ls_val any_value(ls_type type, chance *c, bool is_key, uint64_t span) {
  static const double odd[] = {0.0, -0.0, 1.5, -1.5, 1e300, -1e300};
  ls_val v;
  switch (type) {
  case LS_REAL:
    if (!chance_one_in(c, 8)) {
      v.r = (double)chance_between(c, -(int64_t)span, (int64_t)span) / 4;
    } else if (chance_one_in(c, 4)) {
      v.u = UINT64_C(0xfff8000000000123);
    } else {
      v.r = odd[chance_below(c, sizeof odd / sizeof odd[0])];
    }
    break;
  case LS_BOOL:
    v.i = (int64_t)chance_below(c, 2);
    break;
  case LS_TEXT:
    v.i = (int64_t)chance_below(c, TABLE_TEXTS);
    break;
  case LS_DATE:
    v.i = (int64_t)chance_below(c, span < LS_DATE_MAX ? span : LS_DATE_MAX);
    break;
  default: {
    int64_t from = span % 2 ? -(int64_t)(span / 2) : 0;
    v.i = is_key ? from + (int64_t)chance_below(c, span) : any_width(c);
  }
  }
  return v;
}

void table_row(table_kind kind, chance *c, uint64_t span, ls_val *row) {
  const ls_schema *s = table_schemas[kind];
  for (unsigned i = 0; i < s->ncols; i++)
    row[i] = any_value(s->cols[i].type, c, i < s->nkeys, span);
}

static bool row_is(const ls_list *l, ls_row h, const ls_val *row) {
  for (unsigned c = 0; c < l->schema->ncols; c++)
    if (ls_list_get(l, h, c).u != row[c].u)
      return false;
  return true;
}

static bool rows_are(const ls_list *l, ls_cursor at, const model *m, size_t from, size_t to) {
  ls_row h;
  for (size_t i = from; i < to; i++)
    if (!ls_list_next(l, &at, &h) || !row_is(l, h, model_row(m, i)))
      return false;
  return !ls_list_next(l, &at, &h);
}

static void any_slice(const model *m, chance *c, uint64_t span, model_slice *s) {
  const ls_schema *schema = m->schema;
  ls_val key[LS_MAX_KEYS];
  memset(s, 0, sizeof *s);
  for (unsigned i = 0; i < schema->nkeys; i++)
    key[i] =
        model_normal(schema->cols[i].type, true, any_value(schema->cols[i].type, c, true, span));
  if (m->count > 0 && !chance_one_in(c, 3))
    memcpy(key, model_row(m, chance_below(c, m->count)), schema->nkeys * sizeof *key);
  s->np = (unsigned)chance_below(c, schema->nkeys + 1);
  memcpy(s->prefix, key, s->np * sizeof *key);
  if (s->np == schema->nkeys)
    return;
  ls_type type = schema->cols[s->np].type;
  s->has_lo = chance_one_in(c, 2);
  s->has_hi = chance_one_in(c, 2);
  s->lo = key[s->np];
  s->hi = model_normal(type, true, any_value(type, c, true, span));
}

static const char *slice_differs(ls_list *l, const model *m, const model_slice *s) {
  ls_slice in = {s->prefix, s->np, s->has_lo, s->has_hi, s->lo, s->hi};
  size_t from, to;
  uint64_t n = 0;
  ls_cursor at;
  ls_row h;
  model_select(m, s, &from, &to);
  if (from > to)
    to = from;
  if (ls_list_seek(l, NULL, &in, &at) != LS_OK)
    return "seek fails";
  if (!rows_are(l, at, m, from, to))
    return "rows of a slice differ";
  if (ls_list_slice_count(l, NULL, &in, &n) != LS_OK || n != to - from)
    return "count of a slice differs";
  ls_status st = ls_list_first(l, NULL, &in, &h);
  if (st != (from == to ? LS_MISSING : LS_OK) || (from != to && !row_is(l, h, model_row(m, from))))
    return "first of a slice differs";
  st = ls_list_last(l, NULL, &in, &h);
  if (st != (from == to ? LS_MISSING : LS_OK) ||
      (from != to && !row_is(l, h, model_row(m, to - 1))))
    return "last of a slice differs";
  return NULL;
}

static const char *key_differs(ls_list *l, const model *m, chance *c, uint64_t span) {
  const ls_schema *s = m->schema;
  ls_val key[LS_MAX_KEYS];
  size_t at, next = 0;
  ls_row h;
  ls_cursor cursor;
  for (unsigned i = 0; i < s->nkeys; i++)
    key[i] = any_value(s->cols[i].type, c, true, span);
  if (m->count > 0 && chance_one_in(c, 2))
    memcpy(key, model_row(m, chance_below(c, m->count)), s->nkeys * sizeof *key);
  ls_val normal[LS_MAX_KEYS];
  for (unsigned i = 0; i < s->nkeys; i++)
    normal[i] = model_normal(s->cols[i].type, true, key[i]);
  bool there = model_find(m, normal, &at);
  ls_status st = ls_list_find(l, NULL, key, &h);
  if (st != (there ? LS_OK : LS_MISSING))
    return "find says otherwise";
  if (there && !row_is(l, h, model_row(m, at)))
    return "find leads to another row";
  next = model_bound(m, normal, s->nkeys, true);
  if (ls_list_seek_after(l, NULL, &LS_WHOLE, key, &cursor) != LS_OK)
    return "seek_after fails";
  bool more = ls_list_next(l, &cursor, &h);
  if (more != (next < m->count) || (more && !row_is(l, h, model_row(m, next))))
    return "seek_after leads to another row";
  return NULL;
}

const char *table_differs(ls_list *l, const model *m, chance *c, uint64_t span, unsigned looks) {
  static char why[100];
  ls_cursor at;
  if (!ls_list_check(l, why, sizeof why))
    return why;
  if (l->count != m->count)
    return "count differs";
  if (ls_list_seek(l, NULL, &LS_WHOLE, &at) != LS_OK)
    return "seek fails";
  if (!rows_are(l, at, m, 0, m->count))
    return "rows differ";
  if (m->schema->nkeys == 0)
    return NULL;
  for (unsigned i = 0; i < looks; i++) {
    model_slice s;
    any_slice(m, c, span, &s);
    const char *differs = slice_differs(l, m, &s);
    if (differs == NULL)
      differs = key_differs(l, m, c, span);
    if (differs != NULL)
      return differs;
  }
  return NULL;
}
