/* perf/support/seek.h - slices found by hand: for each node in a random order both bounds of its
 * edges and a field of the first one.
 *
 *   c         compressed sparse rows: the bounds are two neighbouring offsets
 *   c_ahead   the same with prefetches
 *   c_search  binary searches over the sorted edges
 *   c_tree    a tree over the sorted edges: leaves of 64, 16 children a node, searched from the
 * root
 */
#ifndef PURE_PERF_SEEK_H
#define PURE_PERF_SEEK_H

#include <stdbool.h>
#include <stdint.h>

#include "perf/support/graph.h"

typedef enum { SEEK_C, SEEK_C_AHEAD, SEEK_C_SEARCH, SEEK_C_TREE, SEEK_FORMS } seek_form;

extern const char *const seek_names[SEEK_FORMS];
extern const char *const seek_compiler;

enum { SEEK_LEAF = 64, SEEK_FANOUT = 16, SEEK_LEVELS = 8 };

/* Least keys of the groups of each level; the lowest has one for each leaf. */
typedef struct {
  uint32_t nlevels;
  uint32_t n[SEEK_LEVELS];
  uint64_t *key[SEEK_LEVELS];
} seek_tree;

typedef struct {
  graph g;
  uint32_t *order; /* every node once */
  seek_tree tree;
} seek_data;

/* False: no memory, or more edges than half of all pairs of nodes.  Call seek_data_free. */
bool seek_data_make(seek_data *d, uint32_t nodes, uint32_t edges, uint64_t seed);
void seek_data_free(seek_data *d);

/* Of the nodes that have edges: a million and three for each edge, and the first one's target. */
enum { SEEK_FACTOR = 1000003 };
int64_t seek_run(const seek_data *d, seek_form form);

#endif
