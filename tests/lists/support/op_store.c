/* tests/lists/support/op_store.c - events, snapshots and frozen lists of a store. */
#include "tests/lists/support/world.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void store_count(world *w) {
  for (unsigned s = 0; s < w->nsides; s++) {
    for (unsigned t = 0; t < w->ntables; t++) {
      w->cover->op[w->op][ls_shape_layout(side_list(w, s, t)->shape)]++;
    }
  }
}

/* What may fail for want of memory, once more when it did. */
static ls_status store_begin(world *w, unsigned s, bool budgeted, chance *c) {
  world_side *side = &w->side[s];
  ls_budget *budget = budgeted ? &side->budget : NULL;
  world_hurt(w, s, c);
  ls_status st = ls_store_begin(side->store, budget);
  world_heal(w, s);
  if (st != LS_NOMEM || !w->hurt)
    return st;
  w->cover->status[st]++;
  return ls_store_begin(side->store, budget);
}

static bool op_begin(world *w, chance *c) {
  w->event_limited = w->limited && chance_one_in(c, 2);
  int64_t left = INT64_MAX;
  if (w->event_limited)
    left = (int64_t)chance_below(c, chance_one_in(c, 2) ? 3000 : 40000);
  for (unsigned t = 0; t < w->ntables; t++)
    model_copy(&w->table[t].before, &w->table[t].now);
  store_count(w);
  bool budgeted = w->event_limited || chance_one_in(c, 2);
  for (unsigned s = 0; s < w->nsides; s++) {
    w->side[s].budget.left = left;
    uint64_t digest = ls_store_digest(w->side[s].store);
    if (s == 0)
      w->event_digest = digest;
    if (digest != w->event_digest)
      return world_fail_at(w, s, 0, "digest differs at begin");
    ls_status st = store_begin(w, s, budgeted, c);
    if (st != LS_OK)
      return world_fail_at(w, s, 0, "begin says %s", world_statuses[st]);
  }
  w->in_event = true;
  return true;
}

/* Neither may need memory. */
static void store_end(world *w, unsigned s, bool commit, chance *c) {
  world_side *side = &w->side[s];
  if (w->hurt && chance_one_in(c, 2))
    ls_mem_fail_after(side->mem, 1, 1);
  if (commit) {
    ls_store_commit(side->store);
  } else {
    ls_store_rollback(side->store);
  }
  world_heal(w, s);
}

static bool op_end(world *w, chance *c, bool commit) {
  store_count(w);
  if (!commit) {
    op_drop_frozen(w, true);
    for (unsigned t = 0; t < w->ntables; t++)
      model_copy(&w->table[t].now, &w->table[t].before);
    w->cover->rolled_back++;
  }
  for (unsigned i = 0; i < WORLD_KEPT; i++)
    w->frozen[i].in_event = false;
  for (unsigned s = 0; s < w->nsides; s++) {
    store_end(w, s, commit, c);
    if (!commit && ls_store_digest(w->side[s].store) != w->event_digest) {
      return world_fail_at(w, s, 0, "rolled back, and another digest than before");
    }
    if (chance_one_in(c, 2) || !commit) {
      ls_texts_reset(w->side[s].overlay);
      side_forget_texts(w, &w->side[s], !commit);
    }
  }
  w->in_event = w->event_limited = false;
  return true;
}

static bool op_take(world *w, chance *c) {
  world_snapshot *k = NULL;
  for (unsigned i = 0; i < WORLD_KEPT && !k; i++) {
    if (!w->snapshot[i].holds)
      k = &w->snapshot[i];
  }
  if (!k)
    return true;
  store_count(w);
  for (unsigned s = 0; s < w->nsides; s++) {
    world_hurt(w, s, c);
    k->of[s] = ls_snapshot_take(w->side[s].store);
    world_heal(w, s);
    if (!k->of[s] && w->hurt) {
      w->cover->status[LS_NOMEM]++;
      k->of[s] = ls_snapshot_take(w->side[s].store);
    }
    if (!k->of[s])
      return world_fail_at(w, s, 0, "no snapshot");
    uint64_t digest = ls_snapshot_digest(k->of[s]);
    if (s == 0)
      k->digest = digest;
    if (digest != k->digest || digest != ls_store_digest(w->side[s].store)) {
      return world_fail_at(w, s, 0, "the digest of the snapshot is not that of the store");
    }
  }
  for (unsigned t = 0; t < w->ntables; t++)
    model_copy(&k->contents[t], &w->table[t].now);
  k->holds = 1;
  return true;
}

static void snapshot_release(world *w, world_snapshot *k) {
  for (unsigned s = 0; s < w->nsides; s++)
    ls_snapshot_release(k->of[s]);
  k->holds--;
}

static bool op_hold(world *w, chance *c, bool hold) {
  world_snapshot *k = &w->snapshot[chance_below(c, WORLD_KEPT)];
  if (!k->holds)
    return true;
  store_count(w);
  if (!hold) {
    snapshot_release(w, k);
    return true;
  }
  for (unsigned s = 0; s < w->nsides; s++) {
    if (ls_snapshot_hold(k->of[s]) != k->of[s]) {
      return world_fail_at(w, s, 0, "hold gives another snapshot");
    }
  }
  k->holds++;
  return true;
}

static bool op_freeze(world *w, world_table *t, chance *c) {
  world_frozen *f = NULL;
  unsigned at = (unsigned)(t - w->table);
  for (unsigned i = 0; i < WORLD_KEPT && !f; i++) {
    if (!w->frozen[i].live)
      f = &w->frozen[i];
  }
  if (!f)
    return true;
  store_count(w);
  for (unsigned s = 0; s < w->nsides; s++) {
    world_hurt(w, s, c);
    f->of[s] = ls_list_freeze(side_list(w, s, at));
    world_heal(w, s);
    if (!f->of[s] && w->hurt) {
      w->cover->status[LS_NOMEM]++;
      f->of[s] = ls_list_freeze(side_list(w, s, at));
    }
    if (!f->of[s])
      return world_fail_at(w, s, at, "no frozen list");
    if (!f->of[s]->frozen)
      return world_fail_at(w, s, at, "a frozen list that is not");
  }
  f->live = true;
  f->in_event = w->in_event;
  f->table = at;
  model_init(&f->contents, &t->schema, &w->pool);
  model_copy(&f->contents, &t->now);
  return true;
}

static void frozen_drop(world *w, world_frozen *f) {
  if (!f->live)
    return;
  for (unsigned s = 0; s < w->nsides; s++)
    ls_list_delete(f->of[s]);
  model_free(&f->contents);
  f->live = false;
}

void op_drop_frozen(world *w, bool of_event) {
  for (unsigned i = 0; i < WORLD_KEPT; i++) {
    if (!of_event || w->frozen[i].in_event)
      frozen_drop(w, &w->frozen[i]);
  }
}

void op_drop_kept(world *w) {
  for (unsigned i = 0; i < WORLD_KEPT; i++) {
    while (w->snapshot[i].holds)
      snapshot_release(w, &w->snapshot[i]);
  }
}

static bool op_thaw(world *w, chance *c) {
  world_frozen *f = &w->frozen[chance_below(c, WORLD_KEPT)];
  if (f->live)
    store_count(w);
  frozen_drop(w, f);
  return true;
}

static bool refused(world *w, unsigned s, unsigned t, const char *what, ls_status st) {
  w->cover->status[st]++;
  return st == LS_FROZEN ||
         world_fail_at(w, s, t, "%s of a frozen list says %s", what, world_statuses[st]);
}

static bool refuse_keyed(world *w, unsigned s, unsigned t, ls_list *l, const model *m,
                         const ls_val *row) {
  ls_val own[WORLD_COLS];
  unsigned nkeys = l->schema->nkeys, ncols = l->schema->ncols;
  for (unsigned c = 0; c < ncols; c++) {
    own[c] = side_value(w, &w->side[s], l->schema->cols[c].type, false, row[c]);
  }
  size_t at;
  bool there = model_find(m, row, &at);
  if (!refused(w, s, t, "put", ls_list_put(l, NULL, own, NULL)))
    return false;
  if (there && !refused(w, s, t, "erase", ls_list_erase(l, NULL, own)))
    return false;
  ls_row h;
  if (there && nkeys < ncols && ls_list_find(l, NULL, own, &h) == LS_OK) {
    ls_status st = ls_list_set(l, NULL, &h, nkeys, own[nkeys]);
    if (!refused(w, s, t, "set", st))
      return false;
  }
  if (there)
    return true;
  if (!refused(w, s, t, "ensure", ls_list_ensure(l, NULL, own, own + nkeys, &h)))
    return false;
  return refused(w, s, t, "insert", ls_list_insert(l, NULL, own, NULL));
}

/* Every write to what is frozen is refused; nothing changes, which is looked at as ever. */
static bool op_refuse(world *w, chance *c) {
  world_frozen *f = &w->frozen[chance_below(c, WORLD_KEPT)];
  if (!f->live)
    return true;
  store_count(w);
  const world_table *t = &w->table[f->table];
  ls_val row[WORLD_COLS];
  world_row(w, c, t, row);
  if (t->schema.nkeys)
    world_key(w, c, t, row);
  model_normalise(&t->now, row);
  for (unsigned s = 0; s < w->nsides; s++) {
    ls_list *l = f->of[s];
    uint16_t by = 1;
    if (!refused(w, s, f->table, "clear", ls_list_clear(l)))
      return false;
    if (t->schema.nkeys == 0) {
      ls_status st = ls_list_sort(l, NULL, &by, 1);
      if (!refused(w, s, f->table, "sort", st))
        return false;
    } else if (!refuse_keyed(w, s, f->table, l, &f->contents, row)) {
      return false;
    }
    if (!view_contents(w, s, f->table, l, &f->contents, true))
      return false;
  }
  return true;
}

static bool peek_one(world *w, unsigned s, unsigned t, ls_list *l, ls_texts *tx, const model *m,
                     const ls_val *key) {
  ls_val own[LS_MAX_KEYS];
  size_t at, from, to;
  ls_row h;
  uint64_t n = 0;
  for (unsigned i = 0; i < l->schema->nkeys; i++) {
    uint32_t id = 0;
    own[i] = key[i];
    if (l->schema->cols[i].type != LS_TEXT)
      continue;
    const model_text *text = &w->pool.at[key[i].i];
    if (ls_texts_intern(tx, text->bytes, text->len, &id) != LS_OK)
      return false;
    own[i].i = id;
  }
  bool there = model_find(m, key, &at);
  ls_status st = ls_list_find(l, tx, own, &h);
  if (st != (there ? LS_OK : LS_MISSING)) {
    return world_fail_at(w, s, t, "find in a snapshot says %s", world_statuses[st]);
  }
  if (there && !view_row(w, s, t, l, h, model_row(m, at)))
    return false;
  model_slice slice = {.np = 1, .prefix = {key[0]}};
  model_select(m, &slice, &from, &to);
  slice.prefix[0] = own[0];
  ls_slice mine = world_side_slice(&slice);
  if (ls_list_slice_count(l, tx, &mine, &n) != LS_OK || n != to - from) {
    return world_fail_at(w, s, t, "a slice of a snapshot has %" PRIu64 " rows", n);
  }
  return true;
}

/* A query over a snapshot, with texts of its own. */
static bool op_peek(world *w, world_table *t, chance *c) {
  world_snapshot *k = &w->snapshot[chance_below(c, WORLD_KEPT)];
  unsigned at = (unsigned)(t - w->table);
  if (!k->holds || t->schema.nkeys == 0)
    return true;
  store_count(w);
  ls_val key[LS_MAX_KEYS];
  world_key(w, c, t, key);
  for (unsigned s = 0; s < w->nsides; s++) {
    ls_texts *tx = ls_texts_overlay(ls_snapshot_texts(k->of[s]));
    if (!tx)
      return world_fail(w, "no overlay");
    ls_list *l = ls_snapshot_list(k->of[s], at);
    bool good = peek_one(w, s, at, l, tx, &k->contents[at], key);
    ls_texts_delete(tx);
    if (!good)
      return false;
  }
  return true;
}

static ls_list *swap_list(world *w, unsigned s, unsigned t, const model *m, ls_layout to) {
  world_side *side = &w->side[s];
  ls_list *l = ls_list_new(&w->table[t].schema, side->mem, side->base, &side->policy, NULL);
  for (size_t i = 0; l && i < m->count; i++) {
    ls_val row[WORLD_COLS];
    for (unsigned c = 0; c < m->schema->ncols; c++) {
      row[c] = side_value(w, side, m->schema->cols[c].type, false, model_row(m, i)[c]);
    }
    if (ls_list_put(l, NULL, row, NULL) != LS_OK)
      world_fail_at(w, s, t, "put before swap failed");
  }
  if (l)
    ls_list_relayout(l, to);
  return l;
}

static bool swap_one(world *w, unsigned s, unsigned t, const model *m, ls_layout to, chance *c) {
  ls_list *l = swap_list(w, s, t, m, to);
  if (!l || w->failed)
    return world_fail(w, "no list to swap");
  world_hurt(w, s, c);
  ls_status st = ls_store_swap(w->side[s].store, t, l);
  world_heal(w, s);
  if (st == LS_NOMEM && w->hurt) {
    w->cover->status[st]++;
    if (!view_contents(w, s, t, side_list(w, s, t), &w->table[t].now, true))
      return false;
    if (!view_contents(w, s, t, l, m, true))
      return false;
    st = ls_store_swap(w->side[s].store, t, l);
  }
  if (st != LS_OK)
    return world_fail_at(w, s, t, "swap says %s", world_statuses[st]);
  if (l->count)
    return world_fail_at(w, s, t, "swapped, and rows left");
  ls_list_delete(l);
  if (ls_store_list(w->side[s].store, t) != side_list(w, s, t)) {
    return world_fail_at(w, s, t, "swapped, and the list has moved");
  }
  return true;
}

static bool op_swap(world *w, world_table *t, chance *c) {
  unsigned at = (unsigned)(t - w->table);
  ls_layout to = (ls_layout)chance_below(c, LS_NLAYOUTS);
  model m;
  model_init(&m, &t->schema, &w->pool);
  size_t rows = chance_below(c, t->most + 1);
  if (w->big && !chance_one_in(c, 4))
    rows = rows % 500;
  for (size_t i = 0; i < rows; i++) {
    ls_val row[WORLD_COLS];
    world_row(w, c, t, row);
    model_normalise(&m, row);
    model_put(&m, row);
  }
  world_say(w, "    %zu rows, %s\n", m.count, ls_layout_name(to));
  bool good = true;
  for (unsigned s = 0; s < w->nsides && good; s++) {
    w->cover->op[OP_SWAP][ls_shape_layout(side_list(w, s, at)->shape)]++;
    good = swap_one(w, s, at, &m, to, c);
  }
  model_copy(&t->now, &m);
  model_free(&m);
  return good;
}

bool op_store(world *w, world_table *t, chance *c) {
  switch (w->op) {
  case OP_BEGIN:
    return op_begin(w, c);
  case OP_COMMIT:
    return op_end(w, c, true);
  case OP_ROLLBACK:
    return op_end(w, c, false);
  case OP_TAKE:
    return op_take(w, c);
  case OP_HOLD:
    return op_hold(w, c, true);
  case OP_RELEASE:
    return op_hold(w, c, false);
  case OP_PEEK:
    return op_peek(w, t, c);
  case OP_FREEZE:
    return op_freeze(w, t, c);
  case OP_THAW:
    return op_thaw(w, c);
  case OP_REFUSE:
    return op_refuse(w, c);
  default:
    return op_swap(w, t, c);
  }
}
