/* tests/lists/support/view.c - looking at a side and at the model: do they agree? */
#include "tests/lists/support/world.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool world_fail_at(world *w, unsigned side, unsigned table, const char *format, ...) {
  if (w->failed)
    return false;
  w->failed = true;
  w->at_side = side;
  w->at_table = table;
  const ls_list *l = side_list(w, side, table);
  int n = snprintf(w->why, sizeof w->why, "side %u (%s), table %u: ", side,
                   l ? ls_layout_name(ls_shape_layout(l->shape)) : "none", table);
  va_list args;
  va_start(args, format);
  vsnprintf(w->why + n, sizeof w->why - (size_t)n, format, args);
  va_end(args);
  return false;
}

bool world_fail(world *w, const char *format, ...) {
  if (w->failed)
    return false;
  w->failed = true;
  va_list args;
  va_start(args, format);
  vsnprintf(w->why, sizeof w->why, format, args);
  va_end(args);
  return false;
}

static bool view_equal(const world *w, const ls_texts *tx, ls_type type, ls_val got, ls_val want) {
  if (type != LS_TEXT)
    return got.u == want.u;
  size_t len;
  if (got.u > UINT32_MAX || !ls_texts_valid(tx, (uint32_t)got.u))
    return false;
  const char *bytes = ls_texts_get(tx, (uint32_t)got.u, &len);
  const model_text *t = &w->pool.at[want.i];
  return len == t->len && (len == 0 || memcmp(bytes, t->bytes, len) == 0);
}

bool view_row(world *w, unsigned side, unsigned table, ls_list *l, ls_row h, const ls_val *row) {
  const world_table *t = &w->table[table];
  if (h == LS_NO_ROW)
    return world_fail_at(w, side, table, "a handle was promised");
  for (unsigned c = 0; c < t->schema.ncols; c++) {
    ls_val got = ls_list_get(l, h, c);
    if (view_equal(w, l->texts, t->cols[c].type, got, row[c]))
      continue;
    char want[200], said[64];
    world_format_row(&t->now, row, t->schema.ncols, want, sizeof want);
    snprintf(said, sizeof said, "%" PRId64 " = %.17g", got.i, got.r);
    return world_fail_at(w, side, table, "column %u is %s in the row that is (%s)", c, said, want);
  }
  return true;
}

bool view_slice(world *w, unsigned side, unsigned table, ls_list *l, const model *m,
                ls_cursor *cursor, size_t from, size_t to) {
  ls_row h;
  size_t at = from;
  while (ls_list_next(l, cursor, &h)) {
    if (at >= to) {
      return world_fail_at(w, side, table, "the cursor gives more than %zu rows", to - from);
    }
    if (!view_row(w, side, table, l, h, model_row(m, at)))
      return false;
    at++;
  }
  if (at == to)
    return true;
  return world_fail_at(w, side, table, "the cursor ends after %zu of %zu rows", at - from,
                       to - from);
}

static bool view_in_order(world *w, unsigned side, unsigned table, ls_list *l, const model *m) {
  ls_cursor cursor;
  ls_slice whole = LS_WHOLE;
  if (ls_list_seek(l, NULL, &whole, &cursor) != LS_OK) {
    return world_fail_at(w, side, table, "seek failed");
  }
  return view_slice(w, side, table, l, m, &cursor, 0, m->count);
}

/* The key of a row of the model with the list's own text numbers, adding none. */
static bool view_own_key(world *w, const ls_list *l, const ls_val *row, ls_val *key) {
  for (unsigned c = 0; c < l->schema->nkeys; c++) {
    key[c] = row[c];
    if (l->schema->cols[c].type != LS_TEXT)
      continue;
    const model_text *t = &w->pool.at[row[c].i];
    uint32_t id;
    if (ls_texts_lookup(l->texts, t->bytes, t->len, &id) != LS_OK)
      return false;
    key[c].i = id;
  }
  return true;
}

static bool view_by_key(world *w, unsigned side, unsigned table, ls_list *l, const model *m) {
  for (size_t i = 0; i < m->count; i++) {
    const ls_val *row = model_row(m, i);
    ls_val key[LS_MAX_KEYS];
    ls_row h = LS_NO_ROW;
    if (!view_own_key(w, l, row, key)) {
      return world_fail_at(w, side, table, "the text of a key is not in the dictionary");
    }
    ls_status st = ls_list_find(l, NULL, key, &h);
    if (st != LS_OK) {
      char said[200];
      world_format_row(m, row, m->schema->nkeys, said, sizeof said);
      return world_fail_at(w, side, table, "key (%s) is %s", said, world_statuses[st]);
    }
    if (!view_row(w, side, table, l, h, row))
      return false;
  }
  return true;
}

bool view_contents(world *w, unsigned side, unsigned table, ls_list *l, const model *m,
                   bool by_cursor) {
  char why[160] = "";
  w->cover->checks++;
  if (!ls_list_check(l, why, sizeof why)) {
    return world_fail_at(w, side, table, "the structure is broken: %s", why);
  }
  if (l->count != m->count) {
    return world_fail_at(w, side, table, "%" PRIu64 " rows, not %zu", l->count, m->count);
  }
  if (by_cursor || l->schema->nkeys == 0)
    return view_in_order(w, side, table, l, m);
  return view_by_key(w, side, table, l, m);
}

void view_mark(world *w, unsigned side, unsigned table, ls_row h, size_t pos, const ls_val *key,
               chance *c) {
  world_copy *copy = &w->side[side].copy[table];
  world_mark *mark = &copy->mark[chance_below(c, WORLD_MARKS)];
  unsigned nkeys = copy->list->schema->nkeys;
  *mark = (world_mark){.live = true, .h = h, .version = copy->list->version, .pos = pos};
  memcpy(mark->key, key, nkeys * sizeof *key);
}

static bool view_marks(world *w, unsigned side, unsigned table) {
  world_copy *copy = &w->side[side].copy[table];
  const model *m = &w->table[table].now;
  for (unsigned i = 0; i < WORLD_MARKS; i++) {
    world_mark *mark = &copy->mark[i];
    if (!mark->live)
      continue;
    if (mark->version != copy->list->version) {
      mark->live = false;
      continue;
    }
    size_t at = mark->pos;
    bool there = m->schema->nkeys ? model_find(m, mark->key, &at) : at < m->count;
    if (!there) {
      return world_fail_at(w, side, table, "a row is gone and the version stayed");
    }
    if (!view_row(w, side, table, copy->list, mark->h, model_row(m, at))) {
      char why[sizeof w->why];
      memcpy(why, w->why, sizeof why);
      snprintf(w->why, sizeof w->why, "old handle, version stayed: %.500s", why);
      return false;
    }
  }
  return true;
}

/* The text of a shape stays within what it was given. */
static bool view_shape_text(world *w, unsigned side, unsigned table) {
  const ls_list *l = side_list(w, side, table);
  char text[40];
  memset(text, 'x', sizeof text);
  ls_shape_format(l->shape, l->schema, text, 20);
  if (text[20] != 'x' || strnlen(text, 20) == 20) {
    return world_fail_at(w, side, table, "the shape's text is too long");
  }
  return true;
}

static bool view_shape(world *w, unsigned side, unsigned table) {
  world_copy *copy = &w->side[side].copy[table];
  const ls_list *l = copy->list;
  const ls_schema *schema = l->schema;
  ls_layout layout = ls_shape_layout(l->shape);
  if (l->count > l->room)
    return world_fail_at(w, side, table, "count > room");
  bool flat = schema->nkeys == 0 || l->fresh;
  if ((layout == LS_FLAT) != flat)
    return world_fail_at(w, side, table, "flat, or not?");
  if (l->fresh && l->count)
    return world_fail_at(w, side, table, "fresh with rows");
  if (layout == LS_HASH && w->stored)
    return world_fail_at(w, side, table, "stored and hash");
  if (l->version < copy->version)
    return world_fail_at(w, side, table, "the version shrank");
  copy->version = l->version;
  if (l->frozen)
    return world_fail_at(w, side, table, "frozen");
  if (l->count && ls_list_bytes(l) == 0)
    return world_fail_at(w, side, table, "no bytes");
  for (unsigned c = 0; c < schema->ncols; c++) {
    unsigned width = ls_shape_width(l->shape, c);
    w->cover->width[schema->cols[c].type][width]++;
    if (schema->cols[c].type == LS_REAL && width != 3) {
      return world_fail_at(w, side, table, "narrow real");
    }
  }
  return true;
}

/* Budgets run out at the same row everywhere. */
static bool view_budgets(world *w, unsigned table) {
  int64_t left = w->side[0].budget.left;
  uint64_t charged = side_list(w, 0, table)->charged;
  for (unsigned s = 0; s < w->nsides; s++) {
    uint64_t all = 0;
    for (unsigned t = 0; t < w->ntables; t++)
      all += side_list(w, s, t)->charged;
    if (w->side[s].budget.left != left) {
      return world_fail_at(w, s, table, "budget left %" PRId64 ", on side 0 %" PRId64,
                           w->side[s].budget.left, left);
    }
    if (side_list(w, s, table)->charged != charged) {
      return world_fail_at(w, s, table, "charged %" PRIu64 ", on side 0 %" PRIu64,
                           side_list(w, s, table)->charged, charged);
    }
    if (!w->stored && left + (int64_t)all != w->budget) {
      return world_fail_at(w, s, table, "left and charged do not add up");
    }
  }
  return true;
}

bool view_digest(world *w, unsigned table) {
  world_table *t = &w->table[table];
  uint64_t contents = model_hash(&t->now), digest = 0;
  for (unsigned s = 0; s < w->nsides; s++) {
    if (w->hurt && !w->large) /* a digest must not depend on memory, though it may take longer */
      ls_mem_fail_after(w->side[s].mem, 1, 1);
    uint64_t d = ls_list_digest(side_list(w, s, table), w->seed);
    world_heal(w, s);
    if (s == 0)
      digest = d;
    if (d != digest)
      return world_fail_at(w, s, table, "the digest differs from side 0");
  }
  for (unsigned i = 0; i < t->nseen && i < WORLD_DIGESTS; i++) {
    if ((t->seen[i].contents == contents) == (t->seen[i].digest == digest))
      continue;
    return world_fail_at(w, 0, table,
                         t->seen[i].contents == contents
                             ? "the digest is not what it was for the same contents"
                             : "the digest is that of other contents");
  }
  unsigned i = t->nseen++ % WORLD_DIGESTS;
  t->seen[i].contents = contents;
  t->seen[i].digest = digest;
  return true;
}

static bool view_snapshot(world *w, world_snapshot *k, unsigned s, bool digest, chance *c) {
  unsigned t = (unsigned)chance_below(c, w->ntables);
  ls_list *l = ls_snapshot_list(k->of[s], t);
  w->cover->snapshots_checked++;
  if (!l->frozen)
    return world_fail_at(w, s, t, "the list of a snapshot is not frozen");
  if (!view_contents(w, s, t, l, &k->contents[t], chance_one_in(c, 2)))
    return false;
  if (digest && ls_snapshot_digest(k->of[s]) != k->digest) {
    return world_fail_at(w, s, t, "the digest of a snapshot changed");
  }
  return true;
}

/* One thing that was kept, on one side: it must be what it was. */
static bool view_kept(world *w, chance *c) {
  unsigned s = (unsigned)chance_below(c, w->nsides);
  world_snapshot *k = &w->snapshot[chance_below(c, WORLD_KEPT)];
  if (k->holds && !view_snapshot(w, k, s, chance_one_in(c, 8), c))
    return false;
  world_frozen *f = &w->frozen[chance_below(c, WORLD_KEPT)];
  if (!f->live)
    return true;
  return view_contents(w, s, f->table, f->of[s], &f->contents, chance_one_in(c, 2));
}

static bool view_table(world *w, unsigned s, unsigned t, bool full, chance *c) {
  if (!view_shape(w, s, t) || !view_marks(w, s, t))
    return false;
  if (chance_one_in(c, 32) && !view_shape_text(w, s, t))
    return false;
  ls_list *l = side_list(w, s, t);
  const model *m = &w->table[t].now;
  if (l->count != m->count) {
    return world_fail_at(w, s, t, "%" PRIu64 " rows, not %zu", l->count, m->count);
  }
  if (!full)
    return true;
  bool by_cursor = w->by_cursor || chance_one_in(c, 8);
  return view_contents(w, s, t, l, m, by_cursor);
}

bool view_after_step(world *w, unsigned touched, chance *c) {
  bool full = !w->large || chance_one_in(c, w->big ? 300 : 20);
  for (unsigned t = 0; t < w->ntables; t++) {
    bool look = t == touched || w->strict || chance_one_in(c, 16);
    for (unsigned s = 0; s < w->nsides; s++) {
      if (!view_table(w, s, t, full && look, c))
        return false;
    }
    if (!view_budgets(w, t))
      return false;
  }
  if (full && chance_one_in(c, 4)) {
    if (!view_digest(w, touched))
      return false;
  }
  return full ? view_kept(w, c) : true;
}

bool view_all(world *w, chance *c) {
  for (unsigned t = 0; t < w->ntables; t++) {
    for (unsigned s = 0; s < w->nsides; s++) {
      if (!view_table(w, s, t, true, c))
        return false;
      if (!view_contents(w, s, t, side_list(w, s, t), &w->table[t].now, true))
        return false;
    }
    if (!view_digest(w, t))
      return false;
  }
  for (unsigned i = 0; i < WORLD_KEPT; i++) {
    for (unsigned s = 0; s < w->nsides; s++) {
      world_snapshot *k = &w->snapshot[i];
      world_frozen *f = &w->frozen[i];
      if (k->holds && !view_snapshot(w, k, s, true, c))
        return false;
      if (f->live && !view_contents(w, s, f->table, f->of[s], &f->contents, true))
        return false;
    }
  }
  return true;
}

static void view_print_row(const world *w, unsigned table, ls_list *l, ls_row h) {
  const world_table *t = &w->table[table];
  printf("    ");
  for (unsigned c = 0; c < t->schema.ncols; c++) {
    ls_val v = ls_list_get(l, h, c);
    char said[80];
    if (t->cols[c].type == LS_TEXT) {
      size_t len = 0;
      bool valid = v.u <= UINT32_MAX && ls_texts_valid(l->texts, (uint32_t)v.u);
      const char *bytes = valid ? ls_texts_get(l->texts, (uint32_t)v.u, &len) : "?";
      snprintf(said, sizeof said, "#%" PRId64 " \"%.*s\"", v.i, (int)len, bytes);
    } else {
      world_format(&t->now, t->cols[c].type, v, said, sizeof said);
    }
    printf("%s%s", c ? ", " : "", said);
  }
  printf("\n");
}

void view_print(world *w) {
  world_table *t = &w->table[w->at_table];
  ls_list *l = side_list(w, w->at_side, w->at_table);
  char text[400];
  printf("  table %u: %u key columns of:", w->at_table, t->schema.nkeys);
  for (unsigned c = 0; c < t->schema.ncols; c++) {
    printf(" %s", world_types[t->cols[c].type]);
  }
  printf("\n  the model, %zu rows:\n", t->now.count);
  for (size_t i = 0; i < t->now.count && i < 40; i++) {
    world_format_row(&t->now, model_row(&t->now, i), t->schema.ncols, text, sizeof text);
    printf("    %s\n", text);
  }
  if (!l)
    return;
  ls_shape_format(l->shape, l->schema, text, sizeof text);
  printf("  the list, %" PRIu64 " rows, %s:\n", l->count, text);
  ls_cursor cursor;
  ls_slice whole = LS_WHOLE;
  ls_row h;
  if (ls_list_seek(l, NULL, &whole, &cursor) != LS_OK)
    return;
  for (int i = 0; i < 40 && ls_list_next(l, &cursor, &h); i++) {
    view_print_row(w, w->at_table, l, h);
  }
}
