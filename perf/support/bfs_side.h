/* perf/support/bfs_side.h - breadth-first searches as racers, answers compared node by node. */
#ifndef PURE_PERF_BFS_SIDE_H
#define PURE_PERF_BFS_SIDE_H

#include "perf/support/floor.h"
#include "perf/support/pure_side.h"
#include "perf/support/race.h"

/* The graph, and what every search from node 0 must find. */
typedef struct {
  const char *tool;
  graph g;
  int32_t *depth; /* -1: not reached */
  uint32_t reached;
  const char *spoil; /* the racer of this name has one answer changed before it is compared */
} bfs_task;

/* Makes the graph.  Call bfs_task_free in any case. */
race_status bfs_task_make(bfs_task *t, uint32_t nodes, uint32_t edges, uint64_t seed);
void bfs_task_free(bfs_task *t);

/* A search by hand. */
typedef struct {
  const bfs_task *task;
  floor_search search;
} bfs_floor;

race_status bfs_floor_open(bfs_floor *f, const bfs_task *t, floor_form form, racer *out);
void bfs_floor_close(bfs_floor *f);

typedef enum { BFS_PLAIN, BFS_DIRECTION } bfs_kind;

/* distance: of prefetches, in rows; 0: the default.  cache: bytes from which on they are worth it.
 */
typedef struct {
  uint32_t level;
  bfs_kind kind;
  uint32_t distance;
  bool has_cache;
  uint64_t cache;
} bfs_how;

/* A search in Pure. */
typedef struct {
  const bfs_task *task;
  pure_side side;
  bfs_how how;
} bfs_pure;

race_status bfs_pure_open(bfs_pure *p, const bfs_task *t, bfs_how how, racer *out);
void bfs_pure_close(bfs_pure *p);

#endif
