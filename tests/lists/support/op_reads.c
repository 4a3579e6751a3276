/* tests/lists/support/op_reads.c - operations that only read. */
#include "tests/lists/support/world.h"

#include <stdio.h>
#include <string.h>

static ls_status apply_find(world_call *k) {
  ls_status st = ls_list_find(k->list, k->tx, k->a.row, &k->h);
  k->has_row = st == LS_OK;
  return st;
}

static ls_status apply_has(world_call *k) {
  return ls_list_has(k->list, k->tx, k->a.row) ? LS_OK : LS_MISSING;
}

/* The fast path of a seek must give the very rows. */
static bool scan_fast(world_call *k, const model *m, size_t from, size_t to) {
  ls_type type = k->list->schema->cols[0].type;
  ls_cursor cursor;
  bool one = k->slice.np == 1 && !k->slice.has_lo && !k->slice.has_hi;
  if (!one || (type != LS_INT && type != LS_DATE))
    return true;
  if (!ls_array_seek_fast(k->list, k->slice.prefix[0].i, &cursor))
    return true;
  return view_slice(k->w, k->side, k->a.table, k->list, m, &cursor, from, to);
}

static ls_status apply_scan(world_call *k) {
  const model *m = &k->w->table[k->a.table].now;
  size_t from, to;
  ls_cursor cursor;
  model_select(m, &k->as_said->slice, &from, &to);
  ls_status st = ls_list_seek(k->list, k->tx, &k->slice, &cursor);
  if (st != LS_OK)
    return st;
  view_slice(k->w, k->side, k->a.table, k->list, m, &cursor, from, to);
  if (k->a.fast)
    scan_fast(k, m, from, to);
  return LS_OK;
}

static ls_status apply_after(world_call *k) {
  const model *m = &k->w->table[k->a.table].now;
  size_t from, to, after = model_bound(m, k->as_said->row, m->schema->nkeys, true);
  ls_cursor cursor;
  model_select(m, &k->as_said->slice, &from, &to);
  if (from < after)
    from = after;
  if (to < from)
    to = from;
  ls_status st = ls_list_seek_after(k->list, k->tx, &k->slice, k->a.row, &cursor);
  if (st == LS_OK)
    view_slice(k->w, k->side, k->a.table, k->list, m, &cursor, from, to);
  return st;
}

static ls_status apply_count(world_call *k) {
  return ls_list_slice_count(k->list, k->tx, &k->slice, &k->n);
}

static ls_status apply_first(world_call *k) {
  ls_status st = ls_list_first(k->list, k->tx, &k->slice, &k->h);
  k->has_row = st == LS_OK;
  return st;
}

static ls_status apply_last(world_call *k) {
  ls_status st = ls_list_last(k->list, k->tx, &k->slice, &k->h);
  k->has_row = st == LS_OK;
  return st;
}

static void slice_say(const world *w, const world_table *t, const model_slice *s) {
  char text[300], lo[80] = "", hi[80] = "";
  if (!w->trace)
    return;
  world_format_row(&t->now, s->prefix, s->np, text, sizeof text);
  if (s->has_lo)
    world_format(&t->now, t->cols[s->np].type, s->lo, lo, sizeof lo);
  if (s->has_hi)
    world_format(&t->now, t->cols[s->np].type, s->hi, hi, sizeof hi);
  world_say(w, "    [%s | %s .. %s]\n", text, lo, hi);
}

static void key_say(const world *w, const world_table *t, const ls_val *key) {
  char text[300];
  if (!w->trace)
    return;
  world_format_row(&t->now, key, t->schema.nkeys, text, sizeof text);
  world_say(w, "    (%s)\n", text);
}

static bool op_find(world *w, world_table *t, chance *c, world_args *a) {
  size_t at;
  ls_status got;
  world_key(w, c, t, a->row);
  key_say(w, t, a->row);
  world_want want = {.status = LS_MISSING};
  if (model_find(&t->now, a->row, &at)) {
    want.status = LS_OK;
    if (w->op == OP_FIND)
      want.row = model_row(&t->now, at);
  }
  return world_do(w, c, a, w->op == OP_FIND ? apply_find : apply_has, &want, &got);
}

static bool op_slice(world *w, world_table *t, chance *c, world_args *a) {
  static const world_apply applies[] = {[OP_SCAN] = apply_scan,
                                        [OP_COUNT] = apply_count,
                                        [OP_FIRST] = apply_first,
                                        [OP_LAST] = apply_last,
                                        [OP_AFTER] = apply_after};
  size_t from, to;
  ls_status got;
  world_slice(w, c, t, &a->slice);
  slice_say(w, t, &a->slice);
  model_select(&t->now, &a->slice, &from, &to);
  world_want want = {.status = LS_OK, .n = to - from, .counted = w->op == OP_COUNT};
  if (w->op == OP_AFTER) {
    world_key(w, c, t, a->row);
    key_say(w, t, a->row);
  }
  if (w->op == OP_FIRST || w->op == OP_LAST) {
    want.status = from == to ? LS_MISSING : LS_OK;
    if (from < to)
      want.row = model_row(&t->now, w->op == OP_FIRST ? from : to - 1);
  }
  return world_do(w, c, a, applies[w->op], &want, &got);
}

/* What a `for` over a keyed list does at its next turn. */
static ls_status apply_next(world_call *k) {
  world_loop *loop = &k->w->loop[k->as_said->pos];
  unsigned s = k->side;
  if (!loop->seated[s] || loop->version[s] != k->list->version) {
    ls_status st = loop->started
                       ? ls_list_seek_after(k->list, k->tx, &k->slice, k->a.row, &loop->cursor[s])
                       : ls_list_seek(k->list, k->tx, &k->slice, &loop->cursor[s]);
    if (st != LS_OK)
      return st;
    if (loop->seated[s])
      k->w->cover->loops_reseated++;
    loop->seated[s] = true;
    loop->version[s] = k->list->version;
  }
  k->has_row = ls_list_next(k->list, &loop->cursor[s], &k->h);
  return k->has_row ? LS_OK : LS_MISSING;
}

static bool op_next(world *w, chance *c) {
  unsigned i = (unsigned)chance_below(c, WORLD_LOOPS);
  while (!w->loop[i].live)
    i = (i + 1) % WORLD_LOOPS;
  world_loop *loop = &w->loop[i];
  world_table *t = &w->table[loop->table];
  world_args a = {.table = loop->table, .slice = loop->slice, .pos = i};
  a.texts = (unsigned)chance_below(c, TX_KINDS);
  size_t from, to;
  model_select(&t->now, &loop->slice, &from, &to);
  if (loop->started) {
    memcpy(a.row, loop->key, t->schema.nkeys * sizeof *a.row);
    size_t after = model_bound(&t->now, loop->key, t->schema.nkeys, true);
    if (from < after)
      from = after;
  }
  world_want want = {.status = LS_MISSING};
  if (from < to) {
    want.status = LS_OK;
    want.row = model_row(&t->now, from);
    key_say(w, t, want.row);
  }
  slice_say(w, t, &loop->slice);
  ls_status got;
  if (!world_do(w, c, &a, apply_next, &want, &got))
    return false;
  loop->started = true;
  loop->live = got == LS_OK;
  if (loop->live)
    memcpy(loop->key, want.row, t->schema.nkeys * sizeof *loop->key);
  return true;
}

static bool op_loop(world *w, world_table *t, chance *c) {
  world_loop *loop = &w->loop[chance_below(c, WORLD_LOOPS)];
  *loop = (world_loop){.live = true, .table = (unsigned)(t - w->table)};
  world_slice(w, c, t, &loop->slice);
  slice_say(w, t, &loop->slice);
  for (unsigned s = 0; s < w->nsides; s++) {
    w->cover->op[OP_LOOP][ls_shape_layout(side_list(w, s, loop->table)->shape)]++;
  }
  return true;
}

static bool op_digest(world *w, world_table *t) {
  for (unsigned s = 0; s < w->nsides; s++) {
    w->cover->op[OP_DIGEST][ls_shape_layout(side_list(w, s, (unsigned)(t - w->table))->shape)]++;
    if (!w->stored)
      continue;
    if (ls_store_digest(w->side[s].store) != ls_store_digest(w->side[0].store)) {
      return world_fail_at(w, s, 0, "the digest of the store differs from side 0");
    }
  }
  return view_digest(w, (unsigned)(t - w->table));
}

bool op_reads(world *w, world_table *t, chance *c) {
  world_args a = {.table = (unsigned)(t - w->table)};
  a.texts = (unsigned)chance_below(c, TX_KINDS);
  a.fast = chance_one_in(c, 2);
  switch (w->op) {
  case OP_FIND:
  case OP_HAS:
    return op_find(w, t, c, &a);
  case OP_LOOP:
    return op_loop(w, t, c);
  case OP_NEXT:
    return op_next(w, c);
  case OP_DIGEST:
    return op_digest(w, t);
  default:
    return op_slice(w, t, c, &a);
  }
}
