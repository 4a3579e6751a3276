/* The forms with lists: what the compiled tiers make of the search, written by hand.
 *
 * `search` is one function with the widths and the prefetch as constants; its callers are the
 * forms. It leaves with its state stored, as compiled code does, wherever something rare is to be
 * done; `run` does it and enters again, at the row of the queue where it was.
 */
#include <stdlib.h>
#include <string.h>

#include "perf/support/floor.h"

#if defined(__clang__)
const char *const floor_list_compiler = "clang " __clang_version__;
#else
const char *const floor_list_compiler = "gcc " __VERSION__;
#endif

#define INLINE static inline __attribute__((always_inline))
#define SMALL 1000000 /* bytes that are not worth asking for: a second-level cache has them */
#define LIKELY(c) __builtin_expect((c), 1)

/* Work by block; any numbers do. */
enum { WORK_ROW = 6, WORK_EDGE = 4, WORK_NEW = 5 };

typedef enum {
  DONE,
  GROW_SEEN,
  GROW_QUEUE,
  WIDEN_DEPTH,
  WRONG_SHAPE,
  OUT_OF_WORK,
  MISSING
} outcome;

typedef struct {
  uint64_t shape;
  uint64_t count, cap;
  uint64_t *present;
  void *depth;
} seen_list;

typedef struct {
  uint64_t shape;
  uint64_t count, cap;
  void *node;
} queue_list;

/* The frame: all that is alive between two entries. */
typedef struct {
  floor_edges edges;
  seen_list seen;
  queue_list queue;
  uint64_t at; /* row of the queue */
  uint64_t work, poll;
  uint64_t distance;
  uint64_t grow_to; /* GROW_SEEN: a node that has to have a cell */
} frame;

INLINE uint64_t load(const void *base, unsigned cell, uint64_t at) {
  switch (cell) {
  case 1:
    return ((const uint8_t *)base)[at];
  case 2:
    return ((const uint16_t *)base)[at];
  case 4:
    return ((const uint32_t *)base)[at];
  default:
    return ((const uint64_t *)base)[at];
  }
}

INLINE void store(void *base, unsigned cell, uint64_t at, uint64_t value) {
  switch (cell) {
  case 1:
    ((uint8_t *)base)[at] = (uint8_t)value;
    break;
  case 2:
    ((uint16_t *)base)[at] = (uint16_t)value;
    break;
  case 4:
    ((uint32_t *)base)[at] = (uint32_t)value;
    break;
  default:
    ((uint64_t *)base)[at] = value;
  }
}

INLINE bool has(const uint64_t *present, uint64_t at) {
  return (present[at >> 6] >> (at & 63)) & 1;
}

/* Asks for what rows further along the queue lead to. */
INLINE void ask_ahead(const frame *f, const void *node, unsigned cell, uint64_t at, uint64_t count,
                      const void *depth, unsigned depth_cell) {
  const uint32_t *dir = f->edges.dir;
  uint64_t near = at + f->distance, far = near + f->distance;
  if (LIKELY(far < count)) {
    uint64_t v = load(node, cell, far);
    __builtin_prefetch(&dir[v]);
    v = load(node, cell, near);
    if (v < f->edges.buckets) {
      __builtin_prefetch((const char *)f->edges.to + dir[v] * (uint64_t)cell);
      __builtin_prefetch((const char *)f->edges.to + dir[v + 1] * (uint64_t)cell);
    }
    if (f->seen.cap * depth_cell > SMALL)
      __builtin_prefetch((const char *)depth + v * depth_cell);
  }
}

INLINE outcome search(frame *f, unsigned cell, unsigned depth_cell, bool ahead) {
  if (f->edges.cell != cell || f->queue.shape != cell || f->seen.shape != depth_cell)
    return WRONG_SHAPE;
  const uint32_t *restrict dir = f->edges.dir;
  const void *restrict to = f->edges.to;
  uint64_t *restrict present = f->seen.present;
  void *restrict depth = f->seen.depth;
  void *restrict node = f->queue.node;
  const uint64_t buckets = f->edges.buckets, seen_cap = f->seen.cap, queue_cap = f->queue.cap;
  const uint64_t poll = f->poll;
  uint64_t seen_count = f->seen.count, queue_count = f->queue.count, at = f->at, work = f->work;
  outcome left = DONE;
  for (; at < queue_count; at++) {
    work += WORK_ROW;
    if (!LIKELY(work < poll)) {
      left = OUT_OF_WORK;
      goto leave;
    }
    if (ahead)
      ask_ahead(f, node, cell, at, queue_count, depth, depth_cell);
    uint64_t v = load(node, cell, at);
    if (!LIKELY(v < seen_cap && has(present, v))) {
      left = MISSING;
      goto leave;
    }
    uint64_t d = load(depth, depth_cell, v) + 1, i = 0, end = 0;
    if (LIKELY(v < buckets)) {
      i = dir[v];
      end = dir[v + 1];
    }
    for (; i < end; i++) {
      work += WORK_EDGE;
      if (!LIKELY(work < poll)) {
        left = OUT_OF_WORK;
        goto leave;
      }
      uint64_t w = load(to, cell, i);
      if (!LIKELY(w < seen_cap)) {
        f->grow_to = w;
        left = GROW_SEEN;
        goto leave;
      }
      if (has(present, w))
        continue;
      if (depth_cell == 1 && !LIKELY(d < 256)) {
        left = WIDEN_DEPTH;
        goto leave;
      }
      if (!LIKELY(queue_count < queue_cap)) {
        left = GROW_QUEUE;
        goto leave;
      }
      work += WORK_NEW;
      present[w >> 6] |= UINT64_C(1) << (w & 63);
      store(depth, depth_cell, w, d);
      seen_count++;
      store(node, cell, queue_count++, w);
    }
  }
leave:
  f->seen.count = seen_count;
  f->queue.count = queue_count;
  f->at = at;
  f->work = work;
  return left;
}

#define FORM(name, cell, depth_cell, ahead)                                                        \
  static __attribute__((noinline)) outcome name(frame *f) {                                        \
    return search(f, cell, depth_cell, ahead);                                                     \
  }
FORM(search_8_8, 8, 8, false)
FORM(search_1_1, 1, 1, false)
FORM(search_1_4, 1, 4, false)
FORM(search_2_1, 2, 1, false)
FORM(search_2_4, 2, 4, false)
FORM(search_4_1, 4, 1, false)
FORM(search_4_4, 4, 4, false)
FORM(ahead_8_8, 8, 8, true)
FORM(ahead_1_1, 1, 1, true)
FORM(ahead_1_4, 1, 4, true)
FORM(ahead_2_1, 2, 1, true)
FORM(ahead_2_4, 2, 4, true)
FORM(ahead_4_1, 4, 1, true)
FORM(ahead_4_4, 4, 4, true)

typedef outcome (*form)(frame *);

static form choose(uint32_t cell, uint32_t depth_cell, bool ahead) {
  static const form narrow[2][3][2] = {
      {{search_1_1, search_1_4}, {search_2_1, search_2_4}, {search_4_1, search_4_4}},
      {{ahead_1_1, ahead_1_4}, {ahead_2_1, ahead_2_4}, {ahead_4_1, ahead_4_4}}};
  if (cell == 8)
    return ahead ? ahead_8_8 : search_8_8;
  return narrow[ahead][cell >> 1][depth_cell == 4];
}

static bool grow_seen(frame *f) {
  seen_list *l = &f->seen;
  uint64_t cap = l->cap * 2 > f->grow_to ? l->cap * 2 : (f->grow_to | 63) + 1;
  uint64_t *present = realloc(l->present, cap / 8);
  if (!present)
    return false;
  l->present = present;
  memset(present + l->cap / 64, 0, (cap - l->cap) / 8);
  void *depth = realloc(l->depth, cap * l->shape);
  if (!depth)
    return false;
  l->depth = depth;
  l->cap = cap;
  return true;
}

static bool grow_queue(frame *f) {
  void *node = realloc(f->queue.node, f->queue.cap * 2 * f->queue.shape);
  if (!node)
    return false;
  f->queue.node = node;
  f->queue.cap *= 2;
  return true;
}

static bool widen_depth(frame *f) {
  uint32_t *wide = malloc(f->seen.cap * sizeof *wide);
  if (!wide)
    return false;
  for (uint64_t i = 0; i < f->seen.cap; i++)
    wide[i] = ((const uint8_t *)f->seen.depth)[i];
  free(f->seen.depth);
  f->seen.depth = wide;
  f->seen.shape = sizeof *wide;
  return true;
}

/* What made the search leave. */
static bool mend(frame *f, outcome left) {
  switch (left) {
  case GROW_SEEN:
    return grow_seen(f);
  case GROW_QUEUE:
    return grow_queue(f);
  case WIDEN_DEPTH:
    return widen_depth(f);
  case DONE:
  case WRONG_SHAPE:
  case OUT_OF_WORK:
  case MISSING:
    break;
  }
  return false;
}

static bool open_lists(frame *f, const floor_search *s, uint32_t start) {
  uint64_t cap = s->seen ? s->seen : 64;
  seen_list *seen = &f->seen;
  queue_list *queue = &f->queue;
  cap = start < cap ? cap : ((uint64_t)start | 63) + 1;
  seen->cap = cap;
  seen->shape = s->depth_cell ? s->depth_cell : s->edges.cell == 8 ? 8 : 1;
  seen->present = calloc(cap / 64, sizeof *seen->present);
  seen->depth = malloc(cap * seen->shape);
  queue->cap = s->queued ? s->queued : 64;
  queue->shape = s->edges.cell;
  queue->node = malloc(queue->cap * queue->shape);
  if (!seen->present || !seen->depth || !queue->node)
    return false;
  seen->present[start >> 6] |= UINT64_C(1) << (start & 63);
  store(seen->depth, (unsigned)seen->shape, start, 0);
  seen->count = 1;
  store(queue->node, (unsigned)queue->shape, 0, start);
  queue->count = 1;
  return true;
}

static bool run(frame *f, bool ahead) {
  for (;;) {
    outcome left = choose((uint32_t)f->queue.shape, (uint32_t)f->seen.shape, ahead)(f);
    if (left == DONE)
      return true;
    if (!mend(f, left))
      return false;
  }
}

bool floor_run_lists(floor_search *s, uint32_t start, floor_answer *out) {
  frame f = {.edges = s->edges, .poll = UINT64_MAX, .distance = s->distance};
  bool ok =
      open_lists(&f, s, start) && run(&f, s->form == FLOOR_AHEAD || s->form == FLOOR_NARROW_AHEAD);
  free(f.queue.node);
  *out = (floor_answer){.reached = f.seen.count,
                        .nodes = f.seen.cap,
                        .present = f.seen.present,
                        .depth = f.seen.depth,
                        .depth_cell = (uint32_t)f.seen.shape,
                        .work = f.work};
  if (!ok) {
    floor_answer_free(out);
    return false;
  }
  s->seen = f.seen.cap;
  s->queued = f.queue.cap;
  s->depth_cell = (uint32_t)f.seen.shape;
  return true;
}
