#include "perf/support/seek.h"

#include <stdlib.h>
#include <string.h>

#include "perf/support/random.h"

#if defined(__clang__)
const char *const seek_compiler = "clang " __clang_version__;
#else
const char *const seek_compiler = "gcc " __VERSION__;
#endif

const char *const seek_names[SEEK_FORMS] = {"plain C", "c_ahead", "c_search", "c_tree"};

enum { DISTANCE = 8 };

static bool make_order(seek_data *d, uint64_t *seed) {
  d->order = malloc((size_t)d->g.nodes * sizeof *d->order);
  if (!d->order)
    return false;
  for (uint32_t i = 0; i < d->g.nodes; i++) {
    uint32_t j = random_below(seed, i + 1);
    d->order[i] = d->order[j];
    d->order[j] = i;
  }
  return true;
}

/* The least key of every `step` of the n. */
static uint64_t *pick(const uint64_t *key, uint32_t n, uint32_t step, uint32_t *picked) {
  *picked = (n + step - 1) / step;
  uint64_t *out = malloc((size_t)*picked * sizeof *out);
  for (uint32_t i = 0; out && i < *picked; i++)
    out[i] = key[(size_t)i * step];
  return out;
}

static bool make_tree(seek_tree *t, const graph *g) {
  const uint64_t *below = g->key;
  uint32_t n = g->edges, step = SEEK_LEAF;
  do {
    uint32_t at = t->nlevels++;
    t->key[at] = pick(below, n, step, &t->n[at]);
    if (!t->key[at])
      return false;
    below = t->key[at];
    n = t->n[at];
    step = SEEK_FANOUT;
  } while (n > SEEK_FANOUT && t->nlevels < SEEK_LEVELS);
  return true;
}

bool seek_data_make(seek_data *d, uint32_t nodes, uint32_t edges, uint64_t seed) {
  uint64_t shuffle = seed + 1;
  memset(d, 0, sizeof *d);
  return graph_make(&d->g, nodes, edges, seed) && make_order(d, &shuffle) &&
         make_tree(&d->tree, &d->g);
}

void seek_data_free(seek_data *d) {
  graph_free(&d->g);
  free(d->order);
  for (uint32_t i = 0; i < d->tree.nlevels; i++)
    free(d->tree.key[i]);
  memset(d, 0, sizeof *d);
}

static int64_t of_slice(const graph *g, uint32_t lo, uint32_t hi) {
  return lo < hi ? (int64_t)(hi - lo) * SEEK_FACTOR + g->target[lo] : 0;
}

static int64_t seek_c(const seek_data *d) {
  const graph *g = &d->g;
  int64_t total = 0;
  for (uint32_t i = 0; i < g->nodes; i++) {
    uint32_t v = d->order[i];
    total += of_slice(g, g->offset[v], g->offset[v + 1]);
  }
  return total;
}

/* Asks for the offsets of the node two distances on, and the first edge of the one nearer. */
static int64_t seek_c_ahead(const seek_data *d) {
  const graph *g = &d->g;
  int64_t total = 0;
  for (uint32_t i = 0; i < g->nodes; i++) {
    if (i + 2 * DISTANCE < g->nodes)
      __builtin_prefetch(&g->offset[d->order[i + 2 * DISTANCE]]);
    if (i + DISTANCE < g->nodes)
      __builtin_prefetch(&g->target[g->offset[d->order[i + DISTANCE]]]);
    uint32_t v = d->order[i];
    total += of_slice(g, g->offset[v], g->offset[v + 1]);
  }
  return total;
}

/* How many of the n sorted keys are below the given one. */
static uint32_t search(const uint64_t *key, uint32_t n, uint64_t wanted) {
  uint32_t lo = 0;
  while (n > 0) {
    uint32_t half = n / 2;
    if (key[lo + half] < wanted) {
      lo += half + 1;
      n -= half + 1;
    } else {
      n = half;
    }
  }
  return lo;
}

static int64_t seek_c_search(const seek_data *d) {
  const graph *g = &d->g;
  int64_t total = 0;
  for (uint32_t i = 0; i < g->nodes; i++) {
    uint64_t v = d->order[i];
    uint32_t lo = search(g->key, g->edges, v << 32);
    total += of_slice(g, lo, search(g->key, g->edges, (v + 1) << 32));
  }
  return total;
}

/* Which of the children from first on the key belongs to: the last that begins at or below it. */
static uint32_t child(const uint64_t *key, uint32_t n, uint32_t first, uint32_t most,
                      uint64_t wanted) {
  uint32_t room = n - first < most ? n - first : most, below = 0;
  for (uint32_t i = 1; i < room; i++)
    below += key[first + i] <= wanted;
  return first + below;
}

static uint32_t descend(const seek_data *d, uint64_t wanted) {
  const seek_tree *t = &d->tree;
  uint32_t at = 0;
  for (uint32_t level = t->nlevels; level-- > 0; at *= level ? SEEK_FANOUT : SEEK_LEAF) {
    bool root = level + 1 == t->nlevels;
    at = child(t->key[level], t->n[level], at, root ? t->n[level] : SEEK_FANOUT, wanted);
  }
  uint32_t room = d->g.edges - at < SEEK_LEAF ? d->g.edges - at : SEEK_LEAF;
  return at + search(d->g.key + at, room, wanted);
}

static int64_t seek_c_tree(const seek_data *d) {
  int64_t total = 0;
  for (uint32_t i = 0; i < d->g.nodes; i++) {
    uint64_t v = d->order[i];
    uint32_t lo = descend(d, v << 32);
    total += of_slice(&d->g, lo, descend(d, (v + 1) << 32));
  }
  return total;
}

int64_t seek_run(const seek_data *d, seek_form form) {
  static int64_t (*const run[SEEK_FORMS])(const seek_data *) = {seek_c, seek_c_ahead, seek_c_search,
                                                                seek_c_tree};
  return run[form](d);
}
