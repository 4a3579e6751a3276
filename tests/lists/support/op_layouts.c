/* tests/lists/support/op_layouts.c - what changes how a list is stored, or all of it. */
#include "tests/lists/support/world.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool type_is_whole(ls_type t) { return t == LS_INT || t == LS_BOOL || t == LS_DATE; }

/* Whether the contract leaves no choice: *must, or *never. */
static void relayout_judge(const world *w, unsigned s, const world_table *t, ls_layout to,
                           bool *must, bool *never) {
  const model *m = &t->now;
  bool keyed = t->schema.nkeys > 0;
  *must = *never = false;
  if (to == LS_FLAT) {
    *must = !keyed;
    *never = keyed && m->count;
  } else if (!keyed) {
    *never = true;
  } else if (to == LS_HASH) {
    *never = w->stored;
    *must = !w->stored && m->count;
  } else if (to != LS_DENSE) {
    *must = m->count > 0;
  } else if (t->schema.nkeys != 1 || !type_is_whole(t->cols[0].type)) {
    *never = true;
  } else if (t->cols[0].type == LS_INT && m->count) {
    const ls_policy *p = &w->side[s].policy;
    uint64_t span = model_row(m, m->count - 1)->u - model_row(m, 0)->u;
    *must = span < UINT64_MAX && span + 1 <= p->dense_min_span;
  }
}

bool op_relayout(world *w, unsigned s, unsigned t, ls_layout to) {
  bool must, never;
  ls_list *l = side_list(w, s, t);
  ls_layout before = ls_shape_layout(l->shape);
  relayout_judge(w, s, &w->table[t], to, &must, &never);
  ls_status st = ls_list_relayout(l, to);
  ls_layout after = ls_shape_layout(l->shape);
  if (st == LS_NOMEM) {
    w->cover->status[st]++;
    if (!w->hurt)
      return world_fail_at(w, s, t, "no memory, without a cause");
    return after == before || world_fail_at(w, s, t, "no memory, yet another layout");
  }
  w->cover->status[st]++;
  w->cover->changed[before][after]++;
  if (st == LS_OK ? never : must || st != LS_UNSUITABLE) {
    return world_fail_at(w, s, t, "relayout from %s to %s says %s", ls_layout_name(before),
                         ls_layout_name(to), world_statuses[st]);
  }
  if (st == LS_OK && l->count && after != to) {
    return world_fail_at(w, s, t, "relayout to %s gives %s", ls_layout_name(to),
                         ls_layout_name(after));
  }
  if (st != LS_OK && after != before) {
    return world_fail_at(w, s, t, "relayout refused, yet another layout");
  }
  return true;
}

bool op_keep(world *w, unsigned s, unsigned t) {
  int kind = w->side[s].kind;
  if (kind >= (int)LS_NLAYOUTS || w->table[t].schema.nkeys == 0)
    return true;
  if (w->table[t].now.count == 0)
    return true;
  if (ls_shape_layout(side_list(w, s, t)->shape) == (ls_layout)kind)
    return true;
  return op_relayout(w, s, t, (ls_layout)kind);
}

static bool op_relayout_one(world *w, unsigned t, chance *c) {
  unsigned s = (unsigned)chance_below(c, w->nsides);
  ls_layout to = (ls_layout)chance_below(c, LS_NLAYOUTS);
  world_say(w, "    side %u to %s\n", s, ls_layout_name(to));
  w->cover->op[OP_RELAYOUT][ls_shape_layout(side_list(w, s, t)->shape)]++;
  world_hurt(w, s, c);
  bool good = op_relayout(w, s, t, to);
  world_heal(w, s);
  return good;
}

static ls_status apply_settle(world_call *k) { return ls_list_settle(k->list); }

static void hint_say(const world *w, const ls_hint *h) {
  if (!h)
    return;
  world_say(w, "    hint %s, count %" PRIu64 ", cap %" PRIu64 ", base %" PRId64 "\n",
            ls_layout_name(ls_shape_layout(h->shape)), h->count, h->cap, h->base);
}

/* No memory leaves a list empty and usable, here. */
static bool restart_one(world *w, unsigned s, unsigned t, const ls_hint *hint, chance *c) {
  ls_list *l = side_list(w, s, t);
  w->cover->op[w->op][ls_shape_layout(l->shape)]++;
  world_hurt(w, s, c);
  ls_status st = ls_list_restart(l, hint);
  world_heal(w, s);
  w->cover->status[st]++;
  if (l->count || l->charged) {
    return world_fail_at(w, s, t, "restarted: %" PRIu64 " rows, charge %" PRIu64, l->count,
                         l->charged);
  }
  if (st == LS_NOMEM && w->hurt)
    return true;
  return st == LS_OK || world_fail_at(w, s, t, "restart says %s", world_statuses[st]);
}

static bool op_restart(world *w, unsigned t, chance *c) {
  ls_hint hints[WORLD_SIDES] = {0};
  uint64_t which = chance_below(c, 4);
  for (unsigned s = 0; s < w->nsides; s++)
    ls_list_take_hint(side_list(w, s, t), &hints[s]);
  uint64_t turn = which == 3 ? 1 + chance_below(c, 5) : 0; /* the hint of another side */
  w->table[t].now.count = 0;
  for (unsigned s = 0; s < w->nsides; s++) {
    const ls_hint *hint = which == 0 ? NULL : &hints[(s + turn) % w->nsides];
    if (which == 1)
      hints[s] = (ls_hint){0};
    hint_say(w, hint);
    if (!restart_one(w, s, t, hint, c))
      return false;
  }
  return true;
}

static bool renew_list(world *w, unsigned s, unsigned t, bool anew, chance *c) {
  world_side *side = &w->side[s];
  world_copy *copy = &side->copy[t];
  ls_hint hint;
  ls_list_take_hint(copy->list, &hint);
  if (anew) {
    ls_list_delete(copy->list);
    memset(copy, 0, sizeof *copy);
    copy->list = side_list_new(w, s, t, c);
    if (!copy->list)
      return world_fail(w, "no memory for a list");
    w->cover->lists++;
  }
  return restart_one(w, s, t, &hint, c);
}

/* A call ends and the next one begins: hints taken, texts forgotten, budget new. */
static bool op_renew(world *w, chance *c) {
  bool anew = chance_one_in(c, 2);
  for (unsigned t = 0; t < w->ntables; t++)
    w->table[t].now.count = 0;
  for (unsigned i = 0; i < WORLD_LOOPS; i++)
    w->loop[i].live = false;
  int64_t old = w->budget;
  if (w->limited)
    w->budget = (int64_t)chance_below(c, chance_one_in(c, 2) ? 4000 : 60000);
  for (unsigned s = 0; s < w->nsides; s++) {
    for (unsigned t = 0; t < w->ntables; t++) {
      if (!renew_list(w, s, t, anew, c))
        return false;
    }
    if (w->side[s].budget.left != old) {
      return world_fail_at(w, s, 0, "not all was given back to the budget");
    }
    w->side[s].budget.left = w->budget;
    ls_texts_reset(w->side[s].overlay);
    side_forget_texts(w, &w->side[s], false);
  }
  return true;
}

static void batch_column(const world_call *k, unsigned col, int64_t *out) {
  const world_table *t = &k->w->table[k->a.table];
  world_side *s = &k->w->side[k->side];
  for (size_t i = 0; i < k->a.nbatch; i++) {
    ls_val v = k->a.batch[i * t->schema.ncols + col];
    out[i] = side_value(k->w, s, t->cols[col].type, !s->store, v).i;
  }
}

/* Column after column in pieces of many sizes. */
static ls_status batch_append(const world_call *k, ls_builder *b) {
  int64_t *cells = malloc((k->a.nbatch + 1) * sizeof *cells);
  ls_status st = cells ? LS_OK : LS_NOMEM;
  unsigned ncols = k->list->schema->ncols;
  for (unsigned i = 0; st == LS_OK && i < ncols; i++) {
    unsigned col = k->a.fast ? i : ncols - 1 - i;
    size_t done = 0, step = 1 + k->a.nbatch / 3;
    batch_column(k, col, cells);
    for (; st == LS_OK && done < k->a.nbatch; done += step) {
      size_t n = k->a.nbatch - done < step ? k->a.nbatch - done : step;
      st = ls_builder_append(b, col, cells + done, n);
    }
  }
  free(cells);
  return st;
}

/* The two rows named must be equal by key, in that order. */
static void batch_judge(const world_call *k, uint64_t later, uint64_t first) {
  const model *m = &k->w->table[k->a.table].now;
  size_t at, ncols = m->schema->ncols;
  if (later < k->a.nbatch) {
    ls_val key[WORLD_COLS], other[WORLD_COLS];
    memcpy(key, k->a.batch + later * ncols, ncols * sizeof *key);
    model_normalise(m, key);
    if (first == UINT64_MAX && model_find(m, key, &at))
      return;
    if (first < later) {
      memcpy(other, k->a.batch + first * ncols, ncols * sizeof *key);
      model_normalise(m, other);
      if (model_compare_keys(m, key, other, m->schema->nkeys) == 0)
        return;
    }
  }
  world_fail_at(k->w, k->side, k->a.table, "rows %" PRIu64 " and %" PRIu64 " are no duplicates",
                later, first);
}

static ls_status apply_build(world_call *k) {
  const world_side *side = &k->w->side[k->side];
  uint64_t later = 12345, first = 12345;
  ls_builder *b = ls_builder_new(k->list->schema, side->mem, k->list->texts);
  if (!b)
    return LS_NOMEM;
  ls_status st = batch_append(k, b);
  if (st == LS_OK && ls_builder_rows(b) != k->a.nbatch) {
    world_fail_at(k->w, k->side, k->a.table, "the builder has %" PRIu64 " of %zu rows",
                  ls_builder_rows(b), k->a.nbatch);
  }
  if (st == LS_OK)
    st = ls_builder_finish(b, k->list, k->a.dup, &later, &first);
  if (st == LS_DUPLICATE)
    batch_judge(k, later, first);
  if (st == LS_OK && ls_builder_rows(b) != 0) {
    world_fail_at(k->w, k->side, k->a.table, "the builder is not empty afterwards");
  }
  ls_builder_delete(b);
  return st;
}

/* m as it shall be afterwards; LS_DUPLICATE: as it is. */
static ls_status batch_model(model *m, const ls_val *batch, size_t n, ls_dup dup) {
  unsigned ncols = m->schema->ncols;
  for (size_t i = 0; i < n; i++) {
    ls_val row[WORLD_COLS];
    size_t at;
    memcpy(row, batch + i * ncols, ncols * sizeof *row);
    model_normalise(m, row);
    bool there = m->schema->nkeys && model_find(m, row, &at);
    if (there && dup == LS_DUP_ERROR)
      return LS_DUPLICATE;
    if (!there || dup == LS_DUP_LAST)
      model_put(m, row);
  }
  return LS_OK;
}

static size_t batch_size(const world *w, const world_table *t, chance *c) {
  if (w->big && w->step == 0)
    return 22000 + chance_below(c, 16000);
  size_t n = chance_below(c, w->big ? 5000 : 1 + t->most / 4);
  return chance_one_in(c, 8) ? 0 : n;
}

static ls_val *batch_make(world *w, world_table *t, chance *c, size_t n, bool unlike) {
  unsigned ncols = t->schema.ncols;
  ls_val *batch = malloc((n + 1) * ncols * sizeof *batch);
  if (!batch)
    abort();
  for (size_t i = 0; i < n; i++) {
    ls_val *row = batch + i * ncols;
    size_t at;
    for (int again = 0; again < 4; again++) {
      world_row(w, c, t, row);
      if (!unlike || t->schema.nkeys == 0 || !model_find(&t->now, row, &at))
        break;
    }
  }
  return batch;
}

static bool op_build(world *w, world_table *t, chance *c) {
  world_args a = {.table = (unsigned)(t - w->table), .dup = (ls_dup)chance_below(c, 3)};
  a.fast = chance_one_in(c, 2);
  a.nbatch = batch_size(w, t, c);
  ls_val *batch = batch_make(w, t, c, a.nbatch, a.dup == LS_DUP_ERROR);
  a.batch = batch;
  for (unsigned s = 0; s < w->nsides; s++) { /* no interning where allocations may fail */
    for (size_t i = 0; i < a.nbatch * t->schema.ncols; i++) {
      ls_type type = t->cols[i % t->schema.ncols].type;
      side_value(w, &w->side[s], type, !w->stored, batch[i]);
    }
  }
  world_say(w, "    %zu rows, duplicates %d\n", a.nbatch, (int)a.dup);
  model after;
  model_init(&after, &t->schema, &w->pool);
  model_copy(&after, &t->now);
  world_want want = {.grows = true};
  want.status = batch_model(&after, batch, a.nbatch, a.dup);
  ls_status got;
  bool good = !w->failed && world_do(w, c, &a, apply_build, &want, &got);
  if (good && got == LS_OK)
    model_copy(&t->now, &after);
  model_free(&after);
  free(batch);
  return good;
}

bool op_layouts(world *w, world_table *t, chance *c) {
  unsigned at = (unsigned)(t - w->table);
  ls_status got;
  world_args a = {.table = at};
  switch (w->op) {
  case OP_RELAYOUT:
    return op_relayout_one(w, at, c);
  case OP_SETTLE:
    return world_do(w, c, &a, apply_settle, &(world_want){.status = LS_OK}, &got);
  case OP_BUILD:
    return op_build(w, t, c);
  case OP_RESTART:
    return op_restart(w, at, c);
  default:
    return op_renew(w, c);
  }
}
