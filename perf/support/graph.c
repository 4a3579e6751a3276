#include "perf/support/graph.h"

#include <stdlib.h>
#include <string.h>

#include "perf/support/random.h"

/* Least significant digit radix sort, 11 bits a pass.  Returns whichever array holds the result. */
static uint64_t *sort_keys(uint64_t *from, uint64_t *to, size_t n) {
  for (unsigned shift = 0; shift < 64; shift += 11) {
    size_t place[2048] = {0};
    for (size_t i = 0; i < n; i++)
      place[(from[i] >> shift) & 2047]++;
    if (n && place[(from[0] >> shift) & 2047] == n)
      continue;
    size_t sum = 0;
    for (unsigned d = 0; d < 2048; d++) {
      size_t here = place[d];
      place[d] = sum;
      sum += here;
    }
    for (size_t i = 0; i < n; i++)
      to[place[(from[i] >> shift) & 2047]++] = from[i];
    uint64_t *swap = from;
    from = to;
    to = swap;
  }
  return from;
}

static size_t drop_doubles(uint64_t *key, size_t n) {
  size_t kept = 0;
  for (size_t i = 0; i < n; i++) {
    if (kept == 0 || key[kept - 1] != key[i])
      key[kept++] = key[i];
  }
  return kept;
}

static void make_rows(graph *g) {
  memset(g->offset, 0, ((size_t)g->nodes + 1) * sizeof *g->offset);
  for (size_t i = 0; i < g->edges; i++) {
    g->offset[(g->key[i] >> 32) + 1]++;
    g->target[i] = (uint32_t)g->key[i];
  }
  for (uint32_t v = 0; v < g->nodes; v++)
    g->offset[v + 1] += g->offset[v];
}

bool graph_make(graph *g, uint32_t nodes, uint32_t edges, uint64_t seed) {
  *g = (graph){.nodes = nodes, .edges = edges};
  if (nodes < 2 || edges > (uint64_t)nodes * (nodes - 1) / 2)
    return false;
  uint64_t *a = malloc(((size_t)edges + 1) * sizeof *a);
  uint64_t *b = malloc(((size_t)edges + 1) * sizeof *b);
  g->offset = malloc(((size_t)nodes + 1) * sizeof *g->offset);
  g->target = malloc(((size_t)edges + 1) * sizeof *g->target);
  if (!a || !b || !g->offset || !g->target) {
    free(a);
    free(b);
    graph_free(g);
    return false;
  }
  size_t n = 0;
  while (n < edges) {
    while (n < edges) {
      uint64_t from = random_below(&seed, nodes), to = random_below(&seed, nodes);
      if (from != to)
        a[n++] = from << 32 | to;
    }
    uint64_t *sorted = sort_keys(a, b, n);
    if (sorted != a) {
      b = a;
      a = sorted;
    }
    n = drop_doubles(a, n);
  }
  free(b);
  g->key = a;
  make_rows(g);
  return true;
}

void graph_free(graph *g) {
  free(g->key);
  free(g->offset);
  free(g->target);
  *g = (graph){0};
}

int32_t *graph_bfs_c(const graph *g, uint32_t start, uint32_t *reached) {
  int32_t *depth = malloc((size_t)g->nodes * sizeof *depth);
  uint32_t *queue = malloc((size_t)g->nodes * sizeof *queue);
  if (!depth || !queue) {
    free(depth);
    free(queue);
    return NULL;
  }
  for (uint32_t v = 0; v < g->nodes; v++)
    depth[v] = -1;
  uint32_t head = 0, tail = 0;
  depth[start] = 0;
  queue[tail++] = start;
  while (head < tail) {
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
  *reached = tail;
  free(queue);
  return depth;
}
