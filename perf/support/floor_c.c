/* The forms without lists.  c itself is graph.c:graph_bfs_c. */
#include <stdlib.h>

#include "perf/support/floor.h"

#if defined(__clang__)
const char *const floor_c_compiler = "clang " __clang_version__;
#else
const char *const floor_c_compiler = "gcc " __VERSION__;
#endif

/* Depths are written when a node is reached, and read only then. */
static uint32_t search_bits(const graph *g, uint32_t start, int32_t *depth, uint32_t *queue,
                            uint64_t *present) {
  uint32_t head = 0, tail = 0;
  depth[start] = 0;
  present[start >> 6] |= UINT64_C(1) << (start & 63);
  queue[tail++] = start;
  while (head < tail) {
    uint32_t v = queue[head++];
    int32_t next = depth[v] + 1;
    for (uint32_t i = g->offset[v]; i < g->offset[v + 1]; i++) {
      uint32_t w = g->target[i];
      uint64_t bit = UINT64_C(1) << (w & 63);
      if (present[w >> 6] & bit)
        continue;
      present[w >> 6] |= bit;
      depth[w] = next;
      queue[tail++] = w;
    }
  }
  return tail;
}

/* Asks for what the node three, two and one distance further along the queue leads to: its
 * offsets, its targets, and the depths of those. */
static inline void ask_ahead(const graph *g, const uint32_t *queue, uint32_t head, uint32_t tail,
                             uint32_t distance, const int32_t *depth) {
  if (head + 3 * distance < tail)
    __builtin_prefetch(&g->offset[queue[head + 3 * distance]]);
  if (head + 2 * distance < tail) {
    uint32_t v = queue[head + 2 * distance];
    __builtin_prefetch(&g->target[g->offset[v]]);
    __builtin_prefetch(&g->target[g->offset[v + 1]]);
  }
  if (head + distance < tail) {
    uint32_t v = queue[head + distance];
    for (uint32_t i = g->offset[v]; i < g->offset[v + 1]; i++)
      __builtin_prefetch(&depth[g->target[i]]);
  }
}

static uint32_t search_ahead(const graph *g, uint32_t start, int32_t *depth, uint32_t *queue,
                             uint32_t distance) {
  for (uint32_t v = 0; v < g->nodes; v++)
    depth[v] = -1;
  uint32_t head = 0, tail = 0;
  depth[start] = 0;
  queue[tail++] = start;
  while (head < tail) {
    ask_ahead(g, queue, head, tail, distance, depth);
    uint32_t v = queue[head++];
    int32_t next = depth[v] + 1;
    for (uint32_t i = g->offset[v]; i < g->offset[v + 1]; i++) {
      uint32_t w = g->target[i];
      if (depth[w] < 0) {
        depth[w] = next;
        queue[tail++] = w;
      }
    }
  }
  return tail;
}

static bool run_bits_or_ahead(const floor_search *s, uint32_t start, floor_answer *out) {
  const graph *g = s->g;
  uint32_t *queue = malloc((size_t)g->nodes * sizeof *queue);
  out->depth = malloc((size_t)g->nodes * sizeof(int32_t));
  bool ok = queue && out->depth;
  if (ok && s->form == FLOOR_C_BITS) {
    out->present = calloc(g->nodes / 64 + 1, sizeof *out->present);
    ok = out->present != NULL;
    if (ok)
      out->reached = search_bits(g, start, out->depth, queue, out->present);
  } else if (ok) {
    out->reached = search_ahead(g, start, out->depth, queue, s->distance);
  }
  free(queue);
  if (!ok)
    floor_answer_free(out);
  return ok;
}

bool floor_run_c(floor_search *s, uint32_t start, floor_answer *out) {
  bool ok;
  if (s->form == FLOOR_C) {
    uint32_t reached = 0;
    out->depth = graph_bfs_c(s->g, start, &reached);
    out->reached = reached;
    ok = out->depth != NULL;
  } else {
    ok = run_bits_or_ahead(s, start, out);
  }
  out->nodes = s->g->nodes;
  out->depth_cell = sizeof(int32_t);
  return ok;
}
