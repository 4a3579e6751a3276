/* perf/support/graph.h - random directed graphs and the plain C searches over them. */
#ifndef PURE_PERF_GRAPH_H
#define PURE_PERF_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Distinct edges, ordered by (from, to), as keys from << 32 | to; and as compressed sparse rows:
 * the targets of node v are target[offset[v]] .. target[offset[v + 1] - 1]. */
typedef struct {
  uint32_t nodes;
  uint32_t edges;
  uint64_t *key;
  uint32_t *offset; /* nodes + 1 */
  uint32_t *target; /* edges */
} graph;

/* Uniform: every (from, to) with from != to is equally likely.  False: no memory, or more edges
 * asked for than half of all pairs.  The same numbers give the same graph on every machine. */
bool graph_make(graph *g, uint32_t nodes, uint32_t edges, uint64_t seed);
void graph_free(graph *g);

/* Breadth-first search as one writes it in C: int depth, array queue, no prefetch.  The two
 * arrays are made and the queue is freed inside.  -1: not reached.  Free the result; NULL: no
 * memory. */
int32_t *graph_bfs_c(const graph *g, uint32_t start, uint32_t *reached);

#endif
