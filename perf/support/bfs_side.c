#include "perf/support/bfs_side.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "perf/support/text.h"

static const char plain_text[] = "list edges (from: int, to: int) key (from, to)\n"
                                 "query bfs(start: int): (node: int, depth: int) {\n"
                                 "  local seen (node: int, depth: int) key (node)\n"
                                 "  local queue (node: int)\n"
                                 "  put seen (start, 0)\n"
                                 "  add queue (start)\n"
                                 "  for q in queue {\n"
                                 "    let d = seen[q.node].depth + 1\n"
                                 "    for e in edges[q.node] {\n"
                                 "      if not (e.to in seen) {\n"
                                 "        put seen (e.to, d)\n"
                                 "        add queue (e.to)\n"
                                 "      }\n"
                                 "    }\n"
                                 "  }\n"
                                 "  return seen\n"
                                 "}\n";

race_status bfs_task_make(bfs_task *t, uint32_t nodes, uint32_t edges, uint64_t seed) {
  race_progress(t->tool, "making the graph");
  if (graph_make(&t->g, nodes, edges, seed))
    t->depth = graph_bfs_c(&t->g, 0, &t->reached);
  race_progress(t->tool, NULL);
  if (t->depth)
    return RACE_OK;
  fprintf(stderr, "%s: no memory, or more edges than half of all pairs of nodes\n", t->tool);
  return RACE_CANNOT;
}

void bfs_task_free(bfs_task *t) {
  graph_free(&t->g);
  free(t->depth);
  t->depth = NULL;
}

static bool spoiled(const bfs_task *t, const racer *r) {
  return t->spoil && strcmp(t->spoil, r->name) == 0;
}

static race_status wrong_count(const bfs_task *t, const racer *r, uint64_t reached) {
  fprintf(stderr, "%s: wrong answer: %s reaches %" PRIu64 " nodes, should be %u\n", t->tool,
          r->name, reached, t->reached);
  return RACE_WRONG;
}

static race_status wrong_node(const bfs_task *t, const racer *r, int64_t node, int64_t depth) {
  fprintf(stderr, "%s: wrong answer: %s has node %" PRId64 " at %" PRId64 "\n", t->tool, r->name,
          node, depth);
  return RACE_WRONG;
}

/* By hand */

static race_status check_floor(const bfs_task *t, const racer *r, const floor_answer *a) {
  if (a->reached != t->reached)
    return wrong_count(t, r, a->reached);
  for (uint32_t v = 0; v < t->g.nodes; v++) {
    int64_t depth = floor_answer_depth(a, v) + (v == 0 && spoiled(t, r));
    if (depth != t->depth[v])
      return wrong_node(t, r, v, depth);
  }
  return RACE_OK;
}

static race_status run_floor(racer *self, sample_watch *watch) {
  bfs_floor *f = self->user;
  floor_answer a;
  sample_start(watch);
  bool ok = floor_run(&f->search, 0, &a);
  sample_stop(watch);
  if (!ok) {
    fprintf(stderr, "%s: no memory\n", f->task->tool);
    return RACE_CANNOT;
  }
  race_status status = check_floor(f->task, self, &a);
  sample_start(watch);
  floor_answer_free(&a);
  sample_stop(watch);
  return status;
}

race_status bfs_floor_open(bfs_floor *f, const bfs_task *t, floor_form form, racer *out) {
  f->task = t;
  *out = (racer){.run = run_floor, .user = f};
  snprintf(out->name, sizeof out->name, "%s", form == FLOOR_C ? "plain C" : floor_names[form]);
  if (floor_open(&f->search, &t->g, form))
    return RACE_OK;
  fprintf(stderr, "%s: no memory\n", t->tool);
  return RACE_CANNOT;
}

void bfs_floor_close(bfs_floor *f) { floor_close(&f->search); }

/* In Pure */

static bool fill_list(bfs_pure *p, const char *list) {
  enum { BLOCK = 4096 };
  const graph *g = &p->task->g;
  pure_error error;
  pure_fill *fill;
  if (pure_fill_new(p->side.store, list, &fill, &error) != PURE_OK)
    return pure_side_report(&p->side, &error);
  int64_t from[BLOCK], to[BLOCK];
  bool ok = true;
  for (size_t i = 0; ok && i < g->edges;) {
    size_t n = 0;
    for (; n < BLOCK && i < g->edges; n++, i++) {
      from[n] = (int64_t)(g->key[i] >> 32);
      to[n] = (int64_t)(uint32_t)g->key[i];
    }
    ok = pure_fill_ints(fill, 0, from, n, &error) == PURE_OK &&
         pure_fill_ints(fill, 1, to, n, &error) == PURE_OK;
  }
  ok = ok && pure_fill_finish(fill, PURE_DUPLICATE_ERROR, &error) == PURE_OK;
  pure_fill_release(fill);
  return ok || pure_side_report(&p->side, &error);
}

/* The result has exactly the nodes of the task, with their depths. */
static race_status check_result(const bfs_task *t, const racer *r, pure_side *side,
                                pure_result *result) {
  enum { BLOCK = 4096 };
  int64_t node[BLOCK], steps[BLOCK], last = -1;
  uint64_t rows = pure_result_rows(result);
  if (rows != t->reached)
    return wrong_count(t, r, rows);
  for (uint64_t at = 0; at < rows; at += BLOCK) {
    size_t n = rows - at < BLOCK ? (size_t)(rows - at) : BLOCK;
    pure_error error;
    if (pure_result_copy_ints(result, 0, at, n, node, &error) != PURE_OK ||
        pure_result_copy_ints(result, 1, at, n, steps, &error) != PURE_OK) {
      pure_side_report(side, &error);
      return RACE_CANNOT;
    }
    steps[0] += spoiled(t, r);
    for (size_t i = 0; i < n; last = node[i++])
      if (node[i] <= last || node[i] >= (int64_t)t->g.nodes || t->depth[node[i]] != steps[i])
        return wrong_node(t, r, node[i], steps[i]);
  }
  return RACE_OK;
}

static race_status run_pure(racer *self, sample_watch *watch) {
  bfs_pure *p = self->user;
  pure_value arguments[2] = {pure_int(0), pure_int(p->task->g.nodes)};
  pure_result *result;
  race_status status =
      pure_side_call(&p->side, "bfs", arguments, p->how.kind == BFS_PLAIN ? 1 : 2, &result, watch);
  if (status != RACE_OK)
    return status;
  status = check_result(p->task, self, &p->side, result);
  self->work = pure_session_work(p->side.session);
  pure_side_release(result, watch);
  return status;
}

static race_status open_program(bfs_pure *p) {
  const char *tool = p->task->tool;
  if (p->how.kind == BFS_PLAIN)
    return pure_side_open(&p->side, tool, p->how.level, plain_text, sizeof plain_text - 1);
  size_t length;
  char *text = text_read(PERF_EXAMPLES "/bfs_direction.pure", &length);
  if (!text) {
    fprintf(stderr, "%s: cannot read " PERF_EXAMPLES "/bfs_direction.pure\n", tool);
    return RACE_CANNOT;
  }
  race_status status = pure_side_open(&p->side, tool, p->how.level, text, length);
  free(text);
  return status;
}

/* Settings of prefetches reach an engine by its environment alone. */
static race_status open_with(bfs_pure *p, const char *variable, uint64_t value) {
  char text[24];
  snprintf(text, sizeof text, "%" PRIu64, value);
  if (setenv(variable, text, 1) != 0)
    return RACE_CANNOT;
  race_status status = open_program(p);
  unsetenv(variable);
  return status;
}

static race_status open_as_told(bfs_pure *p) {
  if (p->how.has_cache)
    return open_with(p, "PURE_PREFETCH_CACHE", p->how.cache);
  if (p->how.distance)
    return open_with(p, "PURE_PREFETCH_DISTANCE", p->how.distance);
  return open_program(p);
}

static void name_pure(const bfs_how *how, racer *out) {
  if (how->has_cache)
    snprintf(out->name, sizeof out->name, "cache %" PRIu64, how->cache);
  else if (how->distance)
    snprintf(out->name, sizeof out->name, "distance %u", how->distance);
  else
    snprintf(out->name, sizeof out->name, "%s %u",
             how->kind == BFS_PLAIN ? "Pure level" : "direction", how->level);
}

race_status bfs_pure_open(bfs_pure *p, const bfs_task *t, bfs_how how, racer *out) {
  p->task = t;
  p->how = how;
  *out = (racer){.run = run_pure, .user = p, .group = how.kind};
  name_pure(&how, out);
  race_progress(t->tool, "filling lists");
  race_status status = open_as_told(p);
  if (status == RACE_OK && !fill_list(p, "edges"))
    status = RACE_CANNOT;
  if (status == RACE_OK && how.kind == BFS_DIRECTION && !fill_list(p, "in_edges"))
    status = RACE_CANNOT;
  race_progress(t->tool, NULL);
  return status;
}

void bfs_pure_close(bfs_pure *p) { pure_side_close(&p->side); }
