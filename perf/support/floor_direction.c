/* c_direction: top-down while the frontier is small, bottom-up while it is large (Beamer, Asanovic,
 * Patterson: SC 2012), with the frontier as a queue or as a bit a node. */
#include <stdlib.h>
#include <string.h>

#include "perf/support/floor.h"

enum { ALPHA = 15, BETA = 18 };

typedef struct {
  const graph *g;
  const floor_in_edges *in;
  int32_t *depth;
  uint32_t *queue; /* the frontier is queue[lo .. hi - 1] */
  uint64_t *front, *next;
  uint32_t lo, hi, tail, distance;
  int32_t at; /* depth of the frontier */
} state;

static bool has(const uint64_t *bits, uint32_t v) { return (bits[v >> 6] >> (v & 63)) & 1; }

static void mark(uint64_t *bits, uint32_t v) { bits[v >> 6] |= UINT64_C(1) << (v & 63); }

static size_t words(const graph *g) { return g->nodes / 64 + 1; }

static uint64_t frontier_edges(const state *s) {
  uint64_t n = 0;
  for (uint32_t i = s->lo; i < s->hi; i++) {
    if (i + s->distance < s->hi)
      __builtin_prefetch(&s->g->offset[s->queue[i + s->distance]]);
    n += s->g->offset[s->queue[i] + 1] - s->g->offset[s->queue[i]];
  }
  return n;
}

static void top_down(state *s) {
  const graph *g = s->g;
  for (uint32_t i = s->lo; i < s->hi; i++) {
    if (i + s->distance < s->hi)
      __builtin_prefetch(&g->target[g->offset[s->queue[i + s->distance]]]);
    uint32_t v = s->queue[i];
    for (uint32_t e = g->offset[v]; e < g->offset[v + 1]; e++) {
      uint32_t w = g->target[e];
      if (s->depth[w] < 0) {
        s->depth[w] = s->at + 1;
        s->queue[s->tail++] = w;
      }
    }
  }
}

static bool has_parent(const state *s, uint32_t v) {
  for (uint32_t e = s->in->offset[v]; e < s->in->offset[v + 1]; e++)
    if (has(s->front, s->in->source[e]))
      return true;
  return false;
}

static uint32_t bottom_up(state *s) {
  uint32_t awake = 0;
  memset(s->next, 0, words(s->g) * sizeof *s->next);
  for (uint32_t v = 0; v < s->g->nodes; v++) {
    if (s->depth[v] >= 0 || !has_parent(s, v))
      continue;
    s->depth[v] = s->at + 1;
    mark(s->next, v);
    awake++;
  }
  uint64_t *front = s->front;
  s->front = s->next;
  s->next = front;
  s->at++;
  return awake;
}

/* Bottom-up until the frontier is small again; it is a queue before and after. */
static void run_bottom_up(state *s) {
  uint32_t awake = s->hi - s->lo, before;
  memset(s->front, 0, words(s->g) * sizeof *s->front);
  for (uint32_t i = s->lo; i < s->hi; i++)
    mark(s->front, s->queue[i]);
  do {
    before = awake;
    awake = bottom_up(s);
  } while (awake > 0 && (awake >= before || awake > s->g->nodes / BETA));
  s->lo = s->tail = 0;
  for (uint32_t v = 0; v < s->g->nodes; v++)
    if (has(s->front, v))
      s->queue[s->tail++] = v;
  s->hi = s->tail;
}

static void search(state *s, uint32_t start) {
  uint64_t unexplored = s->g->edges;
  for (uint32_t v = 0; v < s->g->nodes; v++)
    s->depth[v] = -1;
  s->depth[start] = 0;
  s->queue[s->tail++] = start;
  s->hi = 1;
  while (s->lo < s->hi) {
    uint64_t n = frontier_edges(s);
    unexplored = unexplored > n ? unexplored - n : 0;
    if (n > unexplored / ALPHA) {
      run_bottom_up(s);
      unexplored = 0;
    }
    top_down(s);
    s->at++;
    s->lo = s->hi;
    s->hi = s->tail;
  }
}

bool floor_run_direction(floor_search *f, uint32_t start, floor_answer *out) {
  const graph *g = f->g;
  state s = {.g = g, .in = &f->in, .distance = f->distance};
  s.depth = malloc((size_t)g->nodes * sizeof *s.depth);
  s.queue = malloc((size_t)g->nodes * sizeof *s.queue);
  s.front = malloc(words(g) * sizeof *s.front);
  s.next = malloc(words(g) * sizeof *s.next);
  bool ok = s.depth && s.queue && s.front && s.next;
  if (ok)
    search(&s, start);
  free(s.queue);
  free(s.front);
  free(s.next);
  *out = (floor_answer){.nodes = g->nodes, .depth = s.depth, .depth_cell = sizeof *s.depth};
  for (uint32_t v = 0; ok && v < g->nodes; v++)
    out->reached += s.depth[v] >= 0;
  if (!ok)
    floor_answer_free(out);
  return ok;
}

/* Counting sort by target; sources stay in order. */
bool floor_make_in_edges(floor_in_edges *in, const graph *g) {
  uint32_t *at = calloc((size_t)g->nodes + 1, sizeof *at);
  in->offset = calloc((size_t)g->nodes + 1, sizeof *in->offset);
  in->source = malloc(((size_t)g->edges + 1) * sizeof *in->source);
  bool ok = at && in->offset && in->source;
  if (ok) {
    for (uint32_t e = 0; e < g->edges; e++)
      in->offset[g->target[e] + 1]++;
    for (uint32_t v = 0; v < g->nodes; v++)
      in->offset[v + 1] += in->offset[v];
    memcpy(at, in->offset, ((size_t)g->nodes + 1) * sizeof *at);
    for (uint32_t v = 0; v < g->nodes; v++)
      for (uint32_t e = g->offset[v]; e < g->offset[v + 1]; e++)
        in->source[at[g->target[e]]++] = v;
  }
  free(at);
  return ok;
}
