/* perf/support/floor.h - breadth-first search by hand, in the forms that bound what Pure can reach.
 *
 *   c             as one writes it: compressed sparse rows, int depth, array queue
 *   c_bits        the same, with a bit a node for what was reached
 *   c_ahead       the same as c, with prefetches
 *   c_direction   the same as c, bottom-up while the frontier is large
 *   packed        the shape of compiled Pure: guards before the loop, work counted by block and
 *                 tested at loop headers, bounds and presence tested, growth out of line, presence
 *                 bits; every cell takes 8 bytes
 *   narrow        the same with cells as narrow as the values allow
 *   ahead         packed with prefetches
 *   narrow_ahead  narrow with prefetches: what level 3 should come to
 *
 * All make and free, on the clock, whatever they need beyond the graph; the last four start with
 * lists of the size that the last search ended with, as Pure does.
 */
#ifndef PURE_PERF_FLOOR_H
#define PURE_PERF_FLOOR_H

#include <stdbool.h>
#include <stdint.h>

#include "perf/support/graph.h"

typedef enum {
  FLOOR_C,
  FLOOR_C_BITS,
  FLOOR_C_AHEAD,
  FLOOR_C_DIRECTION,
  FLOOR_PACKED,
  FLOOR_NARROW,
  FLOOR_AHEAD,
  FLOOR_NARROW_AHEAD,
  FLOOR_FORMS
} floor_form;

extern const char *const floor_names[FLOOR_FORMS];
/* The compilers of the forms without and with lists, with their versions. */
extern const char *const floor_c_compiler;
extern const char *const floor_list_compiler;

enum { FLOOR_DISTANCE = 8 }; /* rows ahead, of the forms that prefetch */

/* Edges sorted by (from, to), as the array layout of a list has them. */
typedef struct {
  uint32_t cell;       /* bytes of a node: 1, 2, 4, 8 */
  uint64_t rows;       /* edges */
  uint64_t buckets;    /* nodes */
  const uint32_t *dir; /* of the graph: buckets + 1 */
  void *to;            /* rows cells */
} floor_edges;

/* Edges by their target: those into v come from source[offset[v]] .. source[offset[v + 1] - 1]. */
typedef struct {
  uint32_t *offset; /* nodes + 1 */
  uint32_t *source; /* edges */
} floor_in_edges;

/* One form over one graph. */
typedef struct {
  floor_form form;
  const graph *g;
  floor_edges edges;     /* of the forms with lists */
  floor_in_edges in;     /* of c_direction */
  uint64_t seen, queued; /* capacities that the last search ended with; 0: none yet */
  uint32_t depth_cell;   /* likewise */
  uint32_t distance;     /* rows ahead */
} floor_search;

/* What a search found. */
typedef struct {
  uint64_t reached;
  uint64_t nodes;    /* that depth has cells for */
  uint64_t *present; /* a bit a node; NULL: a negative depth says that it was not reached */
  void *depth;
  uint32_t depth_cell; /* bytes: 1, 4, 8; 4 is signed */
  uint64_t work;       /* of the forms with lists; in their own units */
} floor_answer;

/* The graph is borrowed.  False: no memory. */
bool floor_open(floor_search *s, const graph *g, floor_form form);
void floor_close(floor_search *s);

/* False: no memory. */
bool floor_run(floor_search *s, uint32_t start, floor_answer *out);
void floor_answer_free(floor_answer *a);
/* -1: not reached. */
int64_t floor_answer_depth(const floor_answer *a, uint32_t node);

/* The families, each in a file of its own. */
bool floor_run_c(floor_search *s, uint32_t start, floor_answer *out);
bool floor_run_direction(floor_search *s, uint32_t start, floor_answer *out);
bool floor_run_lists(floor_search *s, uint32_t start, floor_answer *out);

/* False: no memory. */
bool floor_make_in_edges(floor_in_edges *in, const graph *g);

#endif
