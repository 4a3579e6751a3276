/* tests/lists/support/world.c - a world is made, goes step by step, and ends. */
#include "tests/lists/support/world.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const world_op_info world_ops[WORLD_NOPS] = {
#define X(name, weight, at) {#name, weight, at},
    WORLD_OPS(X)
#undef X
};

const char *const world_statuses[WORLD_NSTATUS] = {"ok",    "missing",    "duplicate", "no memory",
                                                   "limit", "unsuitable", "frozen"};
const char *const world_types[LS_NTYPES] = {"int", "real", "bool", "text", "date"};

void world_say(const world *w, const char *format, ...) {
  if (!w->trace)
    return;
  va_list args;
  va_start(args, format);
  vprintf(format, args);
  va_end(args);
  fflush(stdout);
}

static ls_type choose_type(chance *c) {
  static const ls_type types[] = {LS_INT,  LS_INT,  LS_INT,  LS_TEXT,
                                  LS_TEXT, LS_REAL, LS_BOOL, LS_DATE};
  return types[chance_below(c, sizeof types / sizeof *types)];
}

static unsigned choose_nkeys(chance *c) {
  static const unsigned nkeys[] = {0, 1, 1, 1, 1, 2, 2, 3, 4};
  if (chance_one_in(c, 40))
    return 5 + (unsigned)chance_below(c, LS_MAX_KEYS - 4);
  return nkeys[chance_below(c, sizeof nkeys / sizeof *nkeys)];
}

static void table_make(world *w, world_table *t, chance *c) {
  static const size_t most[] = {3, 20, 70, 70, 150, 300};
  unsigned nkeys = choose_nkeys(c);
  unsigned ncols = nkeys + (unsigned)chance_below(c, 4) + (nkeys == 0);
  if (chance_one_in(c, 40) && nkeys < 5)
    ncols = LS_SHAPE_COLS - 1 + (unsigned)chance_below(c, 5);
  bool plain = nkeys == 1 && chance_one_in(c, 2);
  for (unsigned i = 0; i < ncols; i++) {
    ls_type type = (i == 0 && plain) || (i + 1 == nkeys && w->large) ? LS_INT : choose_type(c);
    snprintf(t->names[i], sizeof t->names[i], "c%u", i);
    t->cols[i] = (ls_column){.name = t->names[i], .type = type, .declared = (uint16_t)i};
  }
  t->schema =
      (ls_schema){.name = "t", .ncols = (uint16_t)ncols, .nkeys = (uint16_t)nkeys, .cols = t->cols};
  for (unsigned i = 0; i < ncols; i++)
    world_choose_column(w, c, t, i, i < nkeys);
  model_init(&t->now, &t->schema, &w->pool);
  model_init(&t->before, &t->schema, &w->pool);
  t->most = w->big ? 40000 : w->deep ? 12000 : most[chance_below(c, sizeof most / sizeof *most)];
}

static void choose_kinds(world *w, int *kinds) {
  bool keyed = false, dense = false;
  for (unsigned t = 0; t < w->ntables; t++) {
    const ls_schema *s = &w->table[t].schema;
    keyed = keyed || s->nkeys;
    dense = dense || (s->nkeys == 1 && s->cols[0].type != LS_REAL && s->cols[0].type != LS_TEXT);
  }
  if (!keyed)
    kinds[w->nsides++] = LS_FLAT;
  if (dense)
    kinds[w->nsides++] = LS_DENSE;
  if (keyed && !w->stored)
    kinds[w->nsides++] = LS_HASH;
  if (keyed)
    kinds[w->nsides++] = LS_TREE;
  if (keyed)
    kinds[w->nsides++] = LS_ARRAY;
  if (keyed)
    kinds[w->nsides++] = (int)SIDE_AUTO;
  if (!keyed || !w->deep) /* so many changes of so many rows would take too long */
    kinds[w->nsides++] = (int)SIDE_STRESS;
}

/* Some worlds mostly grow, some mostly shrink, some hardly ever do this or that. */
static void choose_weights(world *w, chance *c) {
  static const unsigned factors[] = {0, 1, 2, 2, 4};
  for (unsigned i = 0; i < WORLD_NOPS; i++) {
    unsigned factor = factors[chance_below(c, sizeof factors / sizeof *factors)];
    bool needed = i == OP_INSERT || i == OP_COMMIT || i == OP_ROLLBACK;
    if (w->deep && (i == OP_FILL || i == OP_SWEEP))
      factor = 30;
    w->weight[i] = world_ops[i].weight * (needed && !factor ? 1 : factor);
  }
}

static void choose_manner(world *w, chance *c) {
  static const unsigned keeps[] = {1, 1, 1, 3, 10};
  w->stored = chance_one_in(c, 2);
  w->big = chance_one_in(c, 100);
  w->deep = chance_one_in(c, 100) && !w->big;
  w->large = w->big || w->deep;
  w->hurt = chance_one_in(c, 3);
  w->by_cursor = !chance_one_in(c, 4);
  w->limited = chance_one_in(c, 4) && !w->large;
  w->keep = w->big ? 100 : w->deep ? 8 : keeps[chance_below(c, sizeof keeps / sizeof *keeps)];
  w->budget = INT64_MAX;
  if (w->limited)
    w->budget = (int64_t)chance_below(c, 60000);
  w->ntables = 1 + (unsigned)chance_below(c, w->large ? 1 : w->stored ? WORLD_TABLES : 2);
  w->steps = 60 + chance_below(c, w->big ? 900 : w->deep ? 240 : 1000);
}

world *world_new(uint64_t seed, world_cover *cover) {
  world *w = calloc(1, sizeof *w);
  chance c = chance_make(seed, UINT64_MAX);
  int kinds[WORLD_SIDES + 2];
  if (!w)
    return NULL;
  w->seed = seed;
  w->cover = cover;
  choose_manner(w, &c);
  choose_weights(w, &c);
  if (!world_pool_make(w, &c)) {
    free(w);
    return NULL;
  }
  for (unsigned t = 0; t < w->ntables; t++)
    table_make(w, &w->table[t], &c);
  choose_kinds(w, kinds);
  for (unsigned i = 0; i < WORLD_KEPT; i++) {
    for (unsigned t = 0; t < w->ntables; t++) {
      model_init(&w->snapshot[i].contents[t], &w->table[t].schema, &w->pool);
    }
  }
  for (unsigned s = 0; s < w->nsides; s++) {
    if (!side_open(w, s, kinds[s], &c))
      world_fail(w, "no memory for a side");
  }
  cover->worlds++;
  cover->big_worlds += w->big;
  cover->deep_worlds += w->deep;
  return w;
}

static void world_free(world *w) {
  for (unsigned t = 0; t < w->ntables; t++) {
    model_free(&w->table[t].now);
    model_free(&w->table[t].before);
    for (unsigned i = 0; i < WORLD_KEPT; i++)
      model_free(&w->snapshot[i].contents[t]);
  }
  for (unsigned s = 0; s < w->nsides; s++) {
    free(w->side[s].base_id);
    free(w->side[s].overlay_id);
  }
  free((void *)(uintptr_t)w->pool.at[0].bytes);
  free(w->pool.at);
  free(w);
}

/* The stores have gone; what was taken of them is still what it was. */
static bool world_outlived(world *w) {
  for (unsigned i = 0; i < WORLD_KEPT; i++) {
    world_snapshot *k = &w->snapshot[i];
    for (unsigned s = 0; k->holds && s < w->nsides; s++) {
      for (unsigned t = 0; t < w->ntables; t++) {
        ls_list *l = ls_snapshot_list(k->of[s], t);
        if (!view_contents(w, s, t, l, &k->contents[t], true))
          return false;
      }
      if (ls_snapshot_digest(k->of[s]) != k->digest) {
        return world_fail(w, "the digest of a snapshot changed after its store had gone");
      }
    }
  }
  return true;
}

bool world_close(world *w) {
  op_drop_frozen(w, false);
  if (chance_make(w->seed, 1).state & 1)
    op_drop_kept(w);
  for (unsigned s = 0; s < w->nsides; s++)
    side_close(w, s);
  bool good = world_outlived(w);
  op_drop_kept(w);
  for (unsigned s = 0; s < w->nsides; s++) {
    ls_mem_stats stats;
    ls_mem_read_stats(w->side[s].mem, &stats);
    if (good && (stats.live_bytes || stats.allocs != stats.frees)) {
      good = world_fail(w, "side %u kept %" PRIu64 " bytes in %" PRIu64 " blocks", s,
                        stats.live_bytes, stats.allocs - stats.frees);
    }
    if (good)
      ls_mem_delete(w->side[s].mem);
  }
  if (good)
    world_free(w);
  return good;
}

static bool op_may(const world *w, unsigned op, const world_table *t) {
  unsigned at = world_ops[op].at;
  if ((at & AT_KEYED) && t->schema.nkeys == 0)
    return false;
  if ((at & AT_FLAT) && t->schema.nkeys)
    return false;
  if ((at & AT_LOCAL) && w->stored)
    return false;
  if ((at & AT_STORED) && !w->stored)
    return false;
  if ((at & AT_OUTSIDE) && w->in_event)
    return false;
  if ((at & AT_EVENT) && !w->in_event)
    return false;
  if (!(at & AT_LOOPING))
    return true;
  for (unsigned i = 0; i < WORLD_LOOPS; i++) {
    if (w->loop[i].live)
      return true;
  }
  return false;
}

static world_op op_choose(const world *w, const world_table *t, chance *c) {
  uint64_t sum = 0;
  bool rare = !w->large || chance_one_in(c, 40);
  unsigned weight[WORLD_NOPS];
  for (unsigned i = 0; i < WORLD_NOPS; i++) {
    weight[i] = op_may(w, i, t) ? w->weight[i] : 0;
    if ((world_ops[i].at & AT_RARE) && !rare)
      weight[i] = 0;
    sum += weight[i];
  }
  uint64_t at = chance_below(c, sum);
  unsigned op = 0;
  while (at >= weight[op])
    at -= weight[op++];
  bool adds = op == OP_INSERT || op == OP_PUT || op == OP_ENSURE || op == OP_BUILD;
  if (!adds || t->now.count < t->most)
    return (world_op)op;
  if (t->schema.nkeys)
    return OP_ERASE;
  return chance_one_in(c, 6) ? OP_CLEAR : OP_SET;
}

static bool op_run(world *w, world_table *t, chance *c) {
  if (w->op <= OP_SORT)
    return op_rows(w, t, c);
  if (w->op <= OP_NEXT || w->op == OP_DIGEST)
    return op_reads(w, t, c);
  if (w->op <= OP_RENEW)
    return op_layouts(w, t, c);
  return op_store(w, t, c);
}

bool world_step(world *w) {
  chance c = chance_make(w->seed, w->step);
  unsigned at = (unsigned)chance_below(&c, w->ntables);
  world_table *t = &w->table[at];
  bool fill = w->big && w->step == 0;
  w->op = fill ? OP_BUILD : op_choose(w, t, &c);
  w->cover->step = w->step;
  w->cover->now = w->op;
  w->cover->steps++;
  world_say(w, "%" PRIu64 " %s, table %u of %zu rows%s\n", w->step, world_ops[w->op].name, at,
            t->now.count, w->in_event ? ", in an event" : "");
  for (unsigned s = 0; s < w->nsides; s++) {
    if (chance_one_in(&c, w->keep) && !op_keep(w, s, at))
      return false;
  }
  if (!op_run(w, t, &c) || w->failed)
    return false;
  return view_after_step(w, at, &c);
}

bool world_run(world *w, const bool *skip) {
  w->cover->seed = w->seed;
  for (w->step = 0; w->step < w->steps && !w->failed; w->step++) {
    if (skip && skip[w->step])
      continue;
    if (!world_step(w))
      return false;
  }
  chance c = chance_make(w->seed, UINT64_MAX - 1);
  if (w->in_event && !chance_one_in(&c, 3)) { /* else it ends with the store */
    w->op = chance_one_in(&c, 2) ? OP_COMMIT : OP_ROLLBACK;
    if (!op_store(w, &w->table[0], &c))
      return false;
  }
  return !w->failed && view_all(w, &c) && world_close(w);
}
