/* tests/lists/support/apply.c - one operation on every side, and what may come of it. */
#include "tests/lists/support/world.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void world_hurt(world *w, unsigned side, chance *c) {
  if (!w->hurt || !chance_one_in(c, 6))
    return;
  uint64_t nth = 1 + chance_below(c, chance_one_in(c, 4) ? 300 : 6);
  ls_mem_fail_after(w->side[side].mem, nth, chance_one_in(c, 2));
}

void world_heal(world *w, unsigned side) { ls_mem_fail_after(w->side[side].mem, 0, 0); }

ls_slice world_side_slice(const model_slice *s) {
  return (ls_slice){.prefix = s->prefix,
                    .np = s->np,
                    .has_lo = s->has_lo,
                    .has_hi = s->has_hi,
                    .lo = s->lo,
                    .hi = s->hi};
}

static void call_translate(world_call *k) {
  const world_table *t = &k->w->table[k->a.table];
  world_side *s = &k->w->side[k->side];
  bool overlay = s->store ? k->a.texts == TX_OVERLAY : k->a.texts != TX_MIXED;
  k->tx = k->a.texts == TX_OWN ? NULL : s->overlay;
  for (unsigned c = 0; c < t->schema.ncols; c++) {
    k->a.row[c] = side_value(k->w, s, t->cols[c].type, overlay, k->a.row[c]);
  }
  ls_type type = t->cols[k->a.col].type;
  k->a.value = side_value(k->w, s, type, overlay, k->a.value);
  model_slice *slice = &k->a.slice;
  for (unsigned c = 0; c < slice->np; c++) {
    slice->prefix[c] = side_value(k->w, s, t->cols[c].type, overlay, slice->prefix[c]);
  }
  if (slice->has_lo || slice->has_hi) {
    type = t->cols[slice->np].type;
    slice->lo = side_value(k->w, s, type, overlay, slice->lo);
    slice->hi = side_value(k->w, s, type, overlay, slice->hi);
  }
  k->slice = world_side_slice(slice);
}

static bool call_make(world_call *k, world *w, unsigned side, const world_args *a) {
  *k = (world_call){.w = w, .side = side, .a = *a, .as_said = a, .h = LS_NO_ROW};
  k->list = side_list(w, side, a->table);
  call_translate(k);
  return !w->failed;
}

/* With failing allocations; whatever failed must have changed nothing, and must go well
 * afterwards. */
static bool call_run(world_call *k, chance *c, world_apply f, ls_status *got) {
  world *w = k->w;
  unsigned t = k->a.table;
  ls_layout before = ls_shape_layout(k->list->shape);
  w->cover->op[w->op][before]++;
  world_hurt(w, k->side, c);
  *got = f(k);
  world_heal(w, k->side);
  if (*got == LS_NOMEM && !w->failed) {
    w->cover->status[LS_NOMEM]++;
    if (!w->hurt)
      return world_fail_at(w, k->side, t, "no memory, without a cause");
    bool by_cursor = chance_one_in(c, 2);
    if (!view_contents(w, k->side, t, k->list, &w->table[t].now, by_cursor))
      return false;
    *got = f(k);
    if (*got == LS_NOMEM)
      return world_fail_at(w, k->side, t, "no memory, twice");
  }
  w->cover->status[*got]++;
  w->cover->changed[before][ls_shape_layout(k->list->shape)]++;
  return !w->failed;
}

static bool call_judge(world_call *k, const world_want *want, ls_status got, ls_status first) {
  world *w = k->w;
  unsigned t = k->a.table;
  bool limited = w->stored ? w->in_event && w->event_limited : w->limited;
  bool limit = got == LS_LIMIT && want->grows && limited;
  if (got != want->status && !limit) {
    return world_fail_at(w, k->side, t, "says %s, not %s", world_statuses[got],
                         world_statuses[want->status]);
  }
  if (got != first) {
    return world_fail_at(w, k->side, t, "says %s, side 0 says %s", world_statuses[got],
                         world_statuses[first]);
  }
  if (got != LS_OK)
    return true;
  if (want->counted && k->n != want->n) {
    return world_fail_at(w, k->side, t, "counts %" PRIu64 ", not %" PRIu64, k->n, want->n);
  }
  return !want->row || view_row(w, k->side, t, k->list, k->h, want->row);
}

bool world_do(world *w, chance *c, const world_args *a, world_apply f, const world_want *want,
              ls_status *got) {
  const world_table *t = &w->table[a->table];
  ls_status first = LS_OK, st;
  for (unsigned s = 0; s < w->nsides; s++) {
    world_call k;
    if (!call_make(&k, w, s, a) || !call_run(&k, c, f, &st))
      return false;
    if (s == 0)
      first = st;
    if (!call_judge(&k, want, st, first))
      return false;
    if (st == LS_OK && k.has_row && t->schema.nkeys && want->row) {
      view_mark(w, s, a->table, k.h, 0, want->row, c);
    } else if (st == LS_OK && k.has_row && want->row) {
      view_mark(w, s, a->table, k.h, (size_t)k.h, want->row, c);
    }
  }
  *got = first;
  world_say(w, "  -> %s\n", world_statuses[first]);
  return true;
}
