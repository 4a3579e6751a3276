/* tests/lists/support/sides.c - one side of a world: its memory, texts, store and lists. */
#include "tests/lists/support/world.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Any number may be set by whoever runs a program: 0, the greatest, or something between. */
static uint64_t any_threshold(chance *c, uint64_t most) {
  if (chance_one_in(c, 10))
    return chance_one_in(c, 2) ? 0 : UINT64_MAX;
  return chance_below(c, most + 1);
}

static ls_policy side_policy(int kind, chance *c) {
  ls_policy p = ls_policy_default;
  if (chance_one_in(c, 2)) { /* the first two and bucket_max_span say how much memory to use */
    p.dense_min_span = chance_one_in(c, 2) ? 0 : 4096;
    p.dense_max_sparsity = chance_below(c, 16);
    p.bucket_max_span = chance_below(c, 64);
    p.array_after_lookups = any_threshold(c, 20);
    p.array_min_rows = any_threshold(c, 64);
    p.tree_after_sorts = any_threshold(c, 4);
    p.bucket_rows = any_threshold(c, 8);
    p.share_copy_bytes = any_threshold(c, 100000);
  }
  p.stress_seed = kind == (int)SIDE_STRESS ? chance_next(c) | 1 : 0;
  return p;
}

static bool texts_fill(ls_texts *tx, const char *word, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) {
    char name[32];
    uint32_t id;
    int len = snprintf(name, sizeof name, "%s %" PRIu32, word, i);
    if (ls_texts_intern(tx, name, (size_t)len, &id) != LS_OK)
      return false;
  }
  return true;
}

/* Some texts are in the dictionary before the lists, in no useful order. */
static bool side_fill_texts(world *w, world_side *s, chance *c) {
  static const uint32_t fillers[] = {0, 0, 0, 0, 250, 300, 300};
  uint32_t filler = fillers[chance_below(c, sizeof fillers / sizeof *fillers)];
  if (chance_one_in(c, 60))
    filler = 65530;
  if (!texts_fill(s->base, "filler", filler))
    return false;
  uint64_t some = chance_below(c, w->pool.count);
  for (uint64_t i = 0; i < some; i++) {
    uint32_t id;
    if (!side_text(w, s, (uint32_t)chance_below(c, w->pool.count), false, &id))
      return false;
  }
  return true;
}

/* The store and the lists of a side may need memory twice. */
static bool side_open_store(world *w, world_side *s, chance *c) {
  const ls_schema *schemas[WORLD_TABLES];
  for (unsigned t = 0; t < w->ntables; t++)
    schemas[t] = &w->table[t].schema;
  world_hurt(w, (unsigned)(s - w->side), c);
  s->store = ls_store_new(schemas, w->ntables, s->mem, &s->policy);
  world_heal(w, (unsigned)(s - w->side));
  if (!s->store)
    s->store = ls_store_new(schemas, w->ntables, s->mem, &s->policy);
  if (!s->store)
    return false;
  s->base = ls_store_texts(s->store);
  for (unsigned t = 0; t < w->ntables; t++)
    s->copy[t].list = ls_store_list(s->store, t);
  return ls_store_count(s->store) == w->ntables;
}

ls_list *side_list_new(world *w, unsigned at, unsigned t, chance *c) {
  world_side *s = &w->side[at];
  const ls_schema *schema = &w->table[t].schema;
  world_hurt(w, at, c);
  ls_list *l = ls_list_new(schema, s->mem, s->overlay, &s->policy, &s->budget);
  world_heal(w, at);
  return l ? l : ls_list_new(schema, s->mem, s->overlay, &s->policy, &s->budget);
}

static bool side_open_overlay(world *w, unsigned at, chance *c) {
  world_side *s = &w->side[at];
  world_hurt(w, at, c);
  s->overlay = ls_texts_overlay(s->base);
  world_heal(w, at);
  if (!s->overlay)
    s->overlay = ls_texts_overlay(s->base);
  return s->overlay && texts_fill(s->overlay, "own", chance_one_in(c, 4) ? 300 : 0);
}

static bool side_open_lists(world *w, unsigned at, chance *c) {
  for (unsigned t = 0; t < w->ntables; t++) {
    w->side[at].copy[t].list = side_list_new(w, at, t, c);
    if (!w->side[at].copy[t].list)
      return false;
  }
  return true;
}

bool side_open(world *w, unsigned at, int kind, chance *c) {
  world_side *s = &w->side[at];
  s->kind = kind;
  s->policy = side_policy(kind, c);
  s->budget.left = w->budget;
  s->mem = ls_mem_new(NULL);
  s->base_id = malloc(w->pool.count * sizeof *s->base_id);
  s->overlay_id = malloc(w->pool.count * sizeof *s->overlay_id);
  if (!s->mem || !s->base_id || !s->overlay_id)
    return false;
  side_forget_texts(w, s, true);
  if (w->stored && !side_open_store(w, s, c))
    return false;
  if (!w->stored && !(s->base = ls_texts_new(s->mem)))
    return false;
  if (!side_fill_texts(w, s, c))
    return false;
  if (!side_open_overlay(w, at, c))
    return false;
  if (!w->stored && !side_open_lists(w, at, c))
    return false;
  w->cover->lists += w->ntables;
  w->cover->side[kind] += w->ntables;
  return true;
}

void side_close(world *w, unsigned at) {
  world_side *s = &w->side[at];
  if (!w->stored) {
    for (unsigned t = 0; t < w->ntables; t++)
      ls_list_delete(s->copy[t].list);
  }
  if (s->overlay)
    ls_texts_delete(s->overlay);
  if (s->store)
    ls_store_delete(s->store);
  if (!w->stored && s->base)
    ls_texts_delete(s->base);
  s->overlay = s->base = NULL;
  s->store = NULL;
  memset(s->copy, 0, sizeof s->copy);
}

void side_forget_texts(world *w, world_side *s, bool base_too) {
  memset(s->overlay_id, 0xff, w->pool.count * sizeof *s->overlay_id);
  if (base_too)
    memset(s->base_id, 0xff, w->pool.count * sizeof *s->base_id);
}

/* What every dictionary promises of a text just asked for. */
static bool side_check_text(world *w, world_side *s, ls_texts *tx, uint32_t text, uint32_t id) {
  unsigned at = (unsigned)(s - w->side);
  const model_text *t = &w->pool.at[text];
  uint32_t again = UINT32_MAX;
  size_t len;
  if (!ls_texts_valid(tx, id))
    return world_fail_at(w, at, 0, "text id %u not valid", id);
  const char *bytes = ls_texts_get(tx, id, &len);
  if (len != t->len || (len && memcmp(bytes, t->bytes, len) != 0)) {
    return world_fail_at(w, at, 0, "text id %u has other bytes", id);
  }
  if ((len == 0) != (id == 0))
    return world_fail_at(w, at, 0, "empty text has id %u", id);
  if (ls_texts_lookup(tx, t->bytes, t->len, &again) != LS_OK || again != id) {
    return world_fail_at(w, at, 0, "text id %u looked up gives %u", id, again);
  }
  return true;
}

bool side_text(world *w, world_side *s, uint32_t text, bool overlay, uint32_t *id) {
  uint32_t *known = overlay ? &s->overlay_id[text] : &s->base_id[text];
  if (*known == UINT32_MAX) {
    ls_texts *tx = overlay ? s->overlay : s->base;
    const model_text *t = &w->pool.at[text];
    if (w->hurt)
      ls_mem_fail_after(s->mem, 1 + s->asked++ % 5, 0);
    ls_status st = ls_texts_intern(tx, t->bytes, t->len, known);
    ls_mem_fail_after(s->mem, 0, 0);
    if (st == LS_NOMEM && w->hurt)
      st = ls_texts_intern(tx, t->bytes, t->len, known);
    if (st != LS_OK) {
      return world_fail_at(w, (unsigned)(s - w->side), 0, "interning failed");
    }
    if (!side_check_text(w, s, tx, text, *known))
      return false;
  }
  *id = *known;
  return true;
}

ls_val side_value(world *w, world_side *s, ls_type type, bool overlay, ls_val v) {
  uint32_t id = 0;
  if (type != LS_TEXT)
    return v;
  side_text(w, s, (uint32_t)v.i, overlay, &id);
  return (ls_val){.i = id};
}
