#include "perf/support/floor.h"

#include <stdlib.h>

const char *const floor_names[FLOOR_FORMS] = {"c",      "c_bits", "c_ahead", "c_direction",
                                              "packed", "narrow", "ahead",   "narrow_ahead"};

static bool has_lists(floor_form form) { return form >= FLOOR_PACKED; }

static uint32_t cell_of(floor_form form, uint32_t nodes) {
  if (form == FLOOR_PACKED || form == FLOOR_AHEAD)
    return 8;
  return nodes <= 1u << 8 ? 1 : nodes <= 1u << 16 ? 2 : 4;
}

static void copy_targets(floor_edges *e, const uint32_t *target) {
  for (uint64_t i = 0; i < e->rows; i++) {
    switch (e->cell) {
    case 1:
      ((uint8_t *)e->to)[i] = (uint8_t)target[i];
      break;
    case 2:
      ((uint16_t *)e->to)[i] = (uint16_t)target[i];
      break;
    case 4:
      ((uint32_t *)e->to)[i] = target[i];
      break;
    default:
      ((uint64_t *)e->to)[i] = target[i];
    }
  }
}

bool floor_open(floor_search *s, const graph *g, floor_form form) {
  *s = (floor_search){.form = form, .g = g, .distance = FLOOR_DISTANCE};
  if (form == FLOOR_C_DIRECTION)
    return floor_make_in_edges(&s->in, g);
  if (!has_lists(form))
    return true;
  floor_edges *e = &s->edges;
  e->cell = cell_of(form, g->nodes);
  e->rows = g->edges;
  e->buckets = g->nodes;
  e->dir = g->offset;
  e->to = malloc((size_t)(e->rows + 1) * e->cell);
  if (e->to)
    copy_targets(e, g->target);
  return e->to != NULL;
}

void floor_close(floor_search *s) {
  free(s->edges.to);
  free(s->in.offset);
  free(s->in.source);
  *s = (floor_search){0};
}

bool floor_run(floor_search *s, uint32_t start, floor_answer *out) {
  *out = (floor_answer){0};
  if (s->form == FLOOR_C_DIRECTION)
    return floor_run_direction(s, start, out);
  return has_lists(s->form) ? floor_run_lists(s, start, out) : floor_run_c(s, start, out);
}

void floor_answer_free(floor_answer *a) {
  free(a->present);
  free(a->depth);
  *a = (floor_answer){0};
}

int64_t floor_answer_depth(const floor_answer *a, uint32_t node) {
  if (node >= a->nodes || (a->present && !((a->present[node >> 6] >> (node & 63)) & 1)))
    return -1;
  switch (a->depth_cell) {
  case 1:
    return ((const uint8_t *)a->depth)[node];
  case 4:
    return ((const int32_t *)a->depth)[node];
  default:
    return ((const int64_t *)a->depth)[node];
  }
}
