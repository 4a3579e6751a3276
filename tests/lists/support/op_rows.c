/* tests/lists/support/op_rows.c - operations that write rows. */
#include "tests/lists/support/world.h"

#include <stdio.h>
#include <string.h>

static ls_status apply_insert(world_call *k) {
  k->has_row = true;
  if (k->a.fast && ls_flat_append_fast(k->list, k->a.row, &k->h))
    return LS_OK;
  if (k->a.fast && ls_dense_put_fast(k->list, k->a.row, true, &k->h))
    return LS_OK;
  return ls_list_insert(k->list, k->tx, k->a.row, &k->h);
}

static ls_status apply_put(world_call *k) {
  k->has_row = true;
  if (k->a.fast && ls_dense_put_fast(k->list, k->a.row, false, &k->h))
    return LS_OK;
  return ls_list_put(k->list, k->tx, k->a.row, &k->h);
}

static ls_status apply_ensure(world_call *k) {
  k->has_row = true;
  return ls_list_ensure(k->list, k->tx, k->a.row, k->a.row + k->list->schema->nkeys, &k->h);
}

static bool type_is_plain(ls_type t) { return t == LS_INT || t == LS_BOOL || t == LS_DATE; }

static ls_status apply_set(world_call *k) {
  const ls_schema *schema = k->list->schema;
  k->h = k->a.pos;
  if (schema->nkeys) {
    ls_status st = ls_list_find(k->list, k->tx, k->a.row, &k->h);
    if (st != LS_OK)
      return st;
  }
  k->has_row = true;
  if (k->a.fast && type_is_plain(schema->cols[k->a.col].type) &&
      ls_list_set_fast(k->list, k->h, k->a.col, k->a.value)) {
    return LS_OK;
  }
  return ls_list_set(k->list, k->tx, &k->h, k->a.col, k->a.value);
}

static ls_status apply_erase(world_call *k) { return ls_list_erase(k->list, k->tx, k->a.row); }

static ls_status apply_clear(world_call *k) { return ls_list_clear(k->list); }

static ls_status apply_sort(world_call *k) {
  return ls_list_sort(k->list, k->tx, k->a.keys, k->a.nkeys);
}

static void rows_say(world *w, const world_table *t, const ls_val *row, unsigned n) {
  char text[400];
  if (!w->trace)
    return;
  world_format_row(&t->now, row, n, text, sizeof text);
  world_say(w, "    (%s)\n", text);
}

static bool op_add(world *w, world_table *t, chance *c, world_args *a) {
  unsigned nkeys = t->schema.nkeys;
  ls_val row[WORLD_COLS];
  size_t at = t->now.count;
  world_row(w, c, t, a->row);
  if (nkeys && chance_one_in(c, 3))
    world_key(w, c, t, a->row);
  memcpy(row, a->row, sizeof row);
  model_normalise(&t->now, row);
  rows_say(w, t, a->row, t->schema.ncols);
  bool there = nkeys && model_find(&t->now, row, &at);
  world_want want = {.row = row, .grows = !there};
  world_apply f = apply_insert;
  if (w->op == OP_INSERT && there)
    want.status = LS_DUPLICATE;
  if (w->op == OP_PUT)
    f = apply_put;
  if (w->op == OP_ENSURE)
    f = apply_ensure;
  if (w->op == OP_ENSURE && there)
    memcpy(row, model_row(&t->now, at), sizeof *row * t->schema.ncols);
  ls_status got;
  if (!world_do(w, c, a, f, &want, &got))
    return false;
  if (got == LS_OK)
    model_put(&t->now, row);
  return true;
}

static bool op_set(world *w, world_table *t, chance *c, world_args *a) {
  unsigned nkeys = t->schema.nkeys, free_cols = t->schema.ncols - nkeys;
  if (t->now.count == 0 || free_cols == 0)
    return true;
  a->pos = chance_below(c, t->now.count);
  a->col = nkeys + (unsigned)chance_below(c, free_cols);
  a->value = world_value(w, c, t, a->col);
  memcpy(a->row, model_row(&t->now, a->pos), t->schema.ncols * sizeof *a->row);
  ls_val row[WORLD_COLS];
  memcpy(row, a->row, sizeof row);
  row[a->col] = a->value;
  model_normalise(&t->now, row);
  rows_say(w, t, row, t->schema.ncols);
  world_say(w, "    column %u\n", a->col);
  ls_status got;
  if (!world_do(w, c, a, apply_set, &(world_want){.row = row}, &got))
    return false;
  memcpy(model_row(&t->now, a->pos), row, t->schema.ncols * sizeof *row);
  return true;
}

static bool op_erase(world *w, world_table *t, chance *c, world_args *a) {
  size_t at;
  world_key(w, c, t, a->row);
  if (t->now.count >= t->most) {
    const ls_val *row = model_row(&t->now, chance_below(c, t->now.count));
    memcpy(a->row, row, t->schema.nkeys * sizeof *row);
  }
  bool there = model_find(&t->now, a->row, &at);
  rows_say(w, t, a->row, t->schema.nkeys);
  ls_status got;
  world_want want = {.status = there ? LS_OK : LS_MISSING};
  if (!world_do(w, c, a, apply_erase, &want, &got))
    return false;
  if (there)
    model_erase(&t->now, at);
  return true;
}

static size_t run_most(const world *w) { return w->deep ? 2000 : 60; }

/* Rows that lie side by side go one after the other, from either end. */
static bool op_sweep(world *w, world_table *t, chance *c, world_args *a) {
  size_t n = t->now.count, most = run_most(w);
  size_t run = chance_below(c, n < most ? n + 1 : most);
  size_t from = chance_below(c, n - run + 1);
  bool up = chance_one_in(c, 2);
  world_say(w, "    %zu rows from row %zu\n", run, from);
  for (size_t i = 0; i < run; i++) {
    ls_status got;
    size_t at = up ? from : from + run - 1 - i;
    memcpy(a->row, model_row(&t->now, at), t->schema.nkeys * sizeof *a->row);
    if (!world_do(w, c, a, apply_erase, &(world_want){.status = LS_OK}, &got))
      return false;
    model_erase(&t->now, at);
  }
  return true;
}

/* Rows whose last key column goes up or down by one, where it is an int; or any rows. */
static bool op_fill(world *w, world_table *t, chance *c, world_args *a) {
  size_t run = t->now.count < t->most ? chance_below(c, t->most - t->now.count) : 0;
  if (run > run_most(w))
    run = run_most(w);
  unsigned last = t->schema.nkeys - 1;
  uint64_t step = chance_below(c, 3) - 1;
  ls_val key[LS_MAX_KEYS];
  world_key(w, c, t, key);
  for (size_t i = 0; i < run; i++) {
    ls_status got;
    size_t at;
    ls_val row[WORLD_COLS];
    world_row(w, c, t, a->row);
    if (step && t->cols[last].type == LS_INT) {
      memcpy(a->row, key, t->schema.nkeys * sizeof *key);
      a->row[last].u = key[last].u + i * step;
    }
    memcpy(row, a->row, sizeof row);
    model_normalise(&t->now, row);
    world_want want = {.row = row, .grows = !model_find(&t->now, row, &at)};
    if (!world_do(w, c, a, apply_put, &want, &got))
      return false;
    if (got == LS_OK)
      model_put(&t->now, row);
  }
  return true;
}

static bool op_clear(world *w, world_table *t, chance *c, world_args *a) {
  ls_status got;
  if (!world_do(w, c, a, apply_clear, &(world_want){.status = LS_OK}, &got))
    return false;
  t->now.count = 0;
  return true;
}

static bool op_sort(world *w, world_table *t, chance *c, world_args *a) {
  ls_status got;
  a->nkeys = 1 + (unsigned)chance_below(c, 3);
  for (unsigned i = 0; i < a->nkeys; i++) {
    a->keys[i] = (uint16_t)(chance_below(c, t->schema.ncols) << 1 | chance_below(c, 2));
    world_say(w, "    by column %d%s\n", a->keys[i] >> 1, a->keys[i] & 1 ? " desc" : "");
  }
  if (!world_do(w, c, a, apply_sort, &(world_want){.status = LS_OK}, &got))
    return false;
  model_sort(&t->now, a->keys, a->nkeys);
  return true;
}

bool op_rows(world *w, world_table *t, chance *c) {
  world_args a = {.table = (unsigned)(t - w->table)};
  a.texts = (unsigned)chance_below(c, TX_KINDS);
  a.fast = chance_one_in(c, 2);
  switch (w->op) {
  case OP_SET:
    return op_set(w, t, c, &a);
  case OP_ERASE:
    return op_erase(w, t, c, &a);
  case OP_SWEEP:
    return op_sweep(w, t, c, &a);
  case OP_FILL:
    return op_fill(w, t, c, &a);
  case OP_CLEAR:
    return op_clear(w, t, c, &a);
  case OP_SORT:
    return op_sort(w, t, c, &a);
  default:
    return op_add(w, t, c, &a);
  }
}
