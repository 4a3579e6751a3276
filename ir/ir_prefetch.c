/* ir/ir_prefetch.c - asks for what a loop will touch some rounds later.
 *
 * After Ainsworth and Jones (CGO 2017), on lists instead of addresses.  A loop
 * walks a list by position; a value it reads there (the stream) says where
 * another list is read:
 *
 *   cells, bits   of a dense list, or rows of a positional one: at distance D
 *   slices        of an array: the directory's word at distance 2 D; the first
 * and the last row that it leads to at distance D
 *
 * Loops inside slices have streams of their own, so the next level follows by
 * itself.  Reading ahead in the stream stays below the bound that the loop
 * tests.  All else is address arithmetic: nothing is read that a test has not
 * made safe.  Stores need no asking: nothing waits for them.
 *
 * Slices that follow one another but are left early (a search for the first
 * hit) are the exception: not rows of the loop inside are followed, but the
 * first rows of a slice that the loop around will come to.
 *
 * Only what is larger than a cache is worth it, and what is not should not cost
 * a test in every round.  So sizes are tested once, at the entry, and the
 * region is there twice: with prefetches, each kind behind the outcome of its
 * test, and without any.  Lists that the region changes are tested once a
 * slice, or not asked for: a test in each round took a tenth of a search's
 * time.  Cells and bits are compared with the second-level cache, whose latency
 * the processor hides; slices, where one read waits for another, with a part of
 * it.
 */
#include "ir/ir_cfg.h"

#define DEFAULT_DISTANCE 8
#define CELLS_SHIFT 5 /* cells and bits: worth it from 32 times the size given on */
#define LEAD_ROWS 4   /* of a slice that is left early */
#define MAX_STREAMS 32
#define MAX_TARGETS 8

typedef enum { TARGET_CELLS, TARGET_BITS, TARGET_SLICES } target_kind;

/* What a stream's value leads to. */
typedef struct {
  target_kind kind;
  ir_id access;  /* cell, bit, dir.at or a store */
  ir_id size;    /* cells, or buckets: what the index is tested against */
  ir_id large;   /* whether it is worth it; 0: always */
  bool leads;    /* slices left early: asked for where a slice begins */
  bool grows;    /* the region may change the list: its size is tested where it is asked for */
  ir_id rows[4]; /* slices: cells that are read in them */
  unsigned nrows;
} target;

typedef struct {
  uint32_t loop;
  ir_id load, phi, bound;
  bool in_order;        /* slices, one after another */
  ir_id start, buckets; /* of slices left early: the first dir.at, and what its index is below */
  target targets[MAX_TARGETS];
  unsigned ntargets;
} stream;

typedef struct {
  ir_region *r;
  ir_cfg cfg;
  stream *streams;
  unsigned nstreams;
  uint32_t block; /* where code is being made */
  uint32_t pc;
} prefetcher;

/* ---- finding streams */

static bool available(const prefetcher *p, ir_id id, uint32_t block) {
  return ir_dominates(&p->cfg, ir_at(p->r, id)->block, block);
}

static bool is_field(const ir_region *r, ir_id id) {
  const ir_node *n = ir_at(r, id);
  return ir_facts_of(n)->effects == IR_HEADER && n->nargs == 0;
}

/* Known in the block, or a header field, which can be loaded there as well. */
static bool can_have(const prefetcher *p, ir_id id, uint32_t block) {
  return is_field(p->r, id) || available(p, id, block);
}

/* A phi of the loop's header that grows by one in every round. */
static bool is_position(const prefetcher *p, ir_id id, uint32_t loop) {
  const ir_node *n = ir_at(p->r, id);
  if (n->op != IR_OP_PHI || n->block != p->cfg.loops[loop].header || n->type != IR_I64)
    return false;
  for (unsigned k = 0; k < n->nargs; k++) {
    if (!ir_in_loop(&p->cfg, p->r->blocks[n->block].preds[k], loop))
      continue;
    const ir_node *a = ir_at(p->r, n->arg[k]);
    bool sum = a->op == IR_OP_ADD || a->op == IR_OP_ADDN || a->op == IR_OP_ADDX;
    if (!sum || a->arg[0] != id || !ir_is_int(p->r, a->arg[1], 1))
      return false;
  }
  return true;
}

/* What cond says the value is below; 0: nothing. */
static ir_id bound_by(const ir_region *r, ir_id cond, ir_id value) {
  const ir_node *n = ir_at(r, cond);
  return n->op == IR_OP_ULT && n->arg[0] == value ? n->arg[1] : 0;
}

/* What the value was tested to be below on every way to the block. */
static ir_id find_bound(const prefetcher *p, ir_id value, uint32_t block) {
  for (uint32_t b = block;; b = p->cfg.idom[b]) {
    const ir_block *k = &p->r->blocks[b];
    ir_id bound;
    for (ir_id id = k->first; id && b != block; id = ir_at(p->r, id)->next)
      if (ir_at(p->r, id)->op == IR_OP_GUARD &&
          (bound = bound_by(p->r, ir_at(p->r, id)->arg[0], value)) != 0)
        return bound;
    if (k->npreds == 1) {
      const ir_block *up = &p->r->blocks[k->preds[0]];
      const ir_node *last = ir_at(p->r, up->last);
      if (last->op == IR_OP_BRANCH && up->succ[0] == b && up->succ[1] != b &&
          (bound = bound_by(p->r, last->arg[0], value)) != 0)
        return bound;
    }
    if (b == 0 || b == ir_at(p->r, value)->block)
      return 0;
  }
}

static ir_id guard_before(const prefetcher *p, ir_id value, ir_id load) {
  const ir_block *b = &p->r->blocks[ir_at(p->r, load)->block];
  for (ir_id id = b->first; id != load; id = ir_at(p->r, id)->next) {
    const ir_node *n = ir_at(p->r, id);
    ir_id bound = n->op == IR_OP_GUARD ? bound_by(p->r, n->arg[0], value) : 0;
    if (bound)
      return bound;
  }
  return 0;
}

/* value, or value plus or minus something known at the stream's load. */
static bool leads_to(const prefetcher *p, const stream *s, ir_id index) {
  const ir_node *n = ir_at(p->r, index);
  if (index == s->load)
    return true;
  if (n->op != IR_OP_ADD && n->op != IR_OP_ADDN && n->op != IR_OP_SUB && n->op != IR_OP_SUBN)
    return false;
  return n->arg[0] == s->load && available(p, n->arg[1], ir_at(p->r, s->load)->block);
}

static bool target_kind_of(const ir_node *n, target_kind *kind) {
  switch ((int)n->op) {
  case IR_OP_CELL:
  case IR_OP_CELLF:
    *kind = TARGET_CELLS;
    return true;
  case IR_OP_BIT:
    *kind = TARGET_BITS;
    return true;
  case IR_OP_DIRAT:
    *kind = TARGET_SLICES;
    return true;
  default:
    return false;
  }
}

/* Whether the list is the same all over the region. */
static bool is_never_killed(const ir_region *r, unsigned list) {
  for (uint32_t s = 0; s < r->nsteps; s++)
    if (r->steps[s].kills[list / 64] >> (list % 64) & 1)
      return false;
  return true;
}

static bool is_known_target(const prefetcher *p, const stream *s, target_kind kind,
                            const ir_node *n) {
  for (unsigned k = 0; k < s->ntargets; k++) {
    const ir_node *m = ir_at(p->r, s->targets[k].access);
    if (s->targets[k].kind == kind && m->list == n->list && m->col == n->col)
      return true;
  }
  return false;
}

/* Cells that loops inside the stream's read of the array. */
static void find_rows(const prefetcher *p, const stream *s, target *t) {
  uint32_t at = ir_at(p->r, s->load)->block;
  unsigned list = ir_at(p->r, t->access)->list;
  for (uint32_t i = 0; i < p->cfg.n; i++) {
    uint32_t b = p->cfg.order[i];
    if (p->cfg.loop[b] == s->loop || !ir_in_loop(&p->cfg, b, s->loop))
      continue;
    for (ir_id id = p->r->blocks[b].first; id; id = ir_at(p->r, id)->next) {
      const ir_node *n = ir_at(p->r, id);
      if (n->op != IR_OP_CELL && n->op != IR_OP_CELLF)
        continue;
      if (n->list != list || !can_have(p, n->arg[0], at) || t->nrows == 4)
        continue;
      bool known = false;
      for (unsigned k = 0; k < t->nrows; k++)
        known |= ir_at(p->r, t->rows[k])->col == n->col;
      if (!known)
        t->rows[t->nrows++] = id;
    }
  }
}

static void find_targets(const prefetcher *p, stream *s) {
  uint32_t at = ir_at(p->r, s->load)->block;
  for (uint32_t i = 0; i < p->cfg.n; i++) {
    uint32_t b = p->cfg.order[i];
    if (!ir_in_loop(&p->cfg, b, s->loop) || !ir_dominates(&p->cfg, at, b))
      continue;
    if (p->r->blocks[b].cold)
      continue;
    for (ir_id id = p->r->blocks[b].first; id; id = ir_at(p->r, id)->next) {
      const ir_node *n = ir_at(p->r, id);
      target t = {.access = id};
      if (!target_kind_of(n, &t.kind) || s->ntargets == MAX_TARGETS)
        continue;
      if (!leads_to(p, s, n->arg[1]) || !can_have(p, n->arg[0], at))
        continue;
      if (is_known_target(p, s, t.kind, n))
        continue;
      t.size = find_bound(p, n->arg[1], b);
      if (t.size == 0 || !can_have(p, t.size, at))
        continue;
      if (t.kind == TARGET_SLICES)
        find_rows(p, s, &t);
      s->targets[s->ntargets++] = t;
    }
  }
}

/* The value that a phi joins with 0: a slice's start where there may be no bucket. */
static ir_id or_zero(const prefetcher *p, ir_id id) {
  const ir_node *n = ir_at(p->r, id);
  if (n->op != IR_OP_PHI || n->nargs != 2)
    return id;
  if (ir_is_int(p->r, n->arg[0], 0))
    return n->arg[1];
  return ir_is_int(p->r, n->arg[1], 0) ? n->arg[0] : id;
}

/* Where the position starts when the loop is entered. */
static ir_id start_of(const prefetcher *p, ir_id phi, uint32_t loop) {
  const ir_node *n = ir_at(p->r, phi);
  ir_id start = 0;
  for (unsigned k = 0; k < n->nargs; k++)
    if (!ir_in_loop(&p->cfg, p->r->blocks[n->block].preds[k], loop))
      start = start ? phi : n->arg[k];
  return start;
}

/* Whether the loop walks the slices of its list one after another: the bucket that it starts with
 * is counted up by the loop around it. */
static bool is_in_order(const prefetcher *p, const stream *s) {
  uint32_t outer = p->cfg.loops[s->loop].parent;
  const ir_node *start = ir_at(p->r, or_zero(p, start_of(p, s->phi, s->loop)));
  if (outer == IR_NO_LOOP || start->op != IR_OP_DIRAT || start->list != ir_at(p->r, s->load)->list)
    return false;
  const ir_node *bucket = ir_at(p->r, start->arg[1]);
  bool shifted = bucket->op == IR_OP_ADD || bucket->op == IR_OP_ADDN || bucket->op == IR_OP_SUB ||
                 bucket->op == IR_OP_SUBN;
  return is_position(p, shifted ? bucket->arg[0] : start->arg[1], outer);
}

/* The loop is left in its middle, and not for a slow path or for good. */
static bool has_break(const prefetcher *p, uint32_t loop) {
  for (uint32_t i = 0; i < p->cfg.n; i++) {
    uint32_t b = p->cfg.order[i];
    if (b == p->cfg.loops[loop].header || !ir_in_loop(&p->cfg, b, loop) || p->r->blocks[b].cold)
      continue;
    for (unsigned k = 0; k < ir_block_nsucc(p->r, &p->r->blocks[b]); k++) {
      uint32_t to = p->r->blocks[b].succ[k];
      bool stays = ir_in_loop(&p->cfg, to, loop) || p->r->blocks[to].cold;
      if (!stays && ir_at(p->r, p->r->blocks[to].last)->op != IR_OP_LEAVE)
        return true;
    }
  }
  return false;
}

/* What the target's index adds to the value is known where the slice begins. */
static bool can_lead(const prefetcher *p, const stream *s, const target *t, uint32_t block) {
  const ir_node *access = ir_at(p->r, t->access);
  if (t->kind == TARGET_SLICES || !available(p, ir_at(p->r, s->load)->arg[0], block))
    return false;
  if (access->arg[1] != s->load && !available(p, ir_at(p->r, access->arg[1])->arg[1], block))
    return false;
  return can_have(p, access->arg[0], block);
}

/* Of slices in order that their loop leaves early: where they begin, and which targets the first
 * rows of later ones lead to. */
static void find_lead(const prefetcher *p, stream *s) {
  if (!s->in_order || !has_break(p, s->loop))
    return;
  s->start = or_zero(p, start_of(p, s->phi, s->loop));
  uint32_t block = ir_at(p->r, s->start)->block;
  s->buckets = find_bound(p, ir_at(p->r, s->start)->arg[1], block);
  for (unsigned k = 0; k < s->ntargets; k++)
    s->targets[k].leads =
        s->buckets && available(p, s->buckets, block) && can_lead(p, s, &s->targets[k], block);
}

/* Lists that the region changes have to be tested where they are asked for: once a slice may be
 * worth it, once a round is not. */
static void drop_growing(const prefetcher *p, stream *s) {
  unsigned n = 0;
  for (unsigned k = 0; k < s->ntargets; k++) {
    target t = s->targets[k];
    t.grows = p->r->l2_bytes && !is_never_killed(p->r, ir_at(p->r, t.access)->list);
    if (!t.grows || t.leads)
      s->targets[n++] = t;
  }
  s->ntargets = n;
}

static void find_stream(prefetcher *p, ir_id id) {
  const ir_node *n = ir_at(p->r, id);
  uint32_t loop = p->cfg.loop[n->block];
  if (n->op != IR_OP_CELL || loop == IR_NO_LOOP || p->r->blocks[n->block].cold)
    return;
  if (p->nstreams == MAX_STREAMS || !is_position(p, n->arg[1], loop))
    return;
  stream s = {.loop = loop, .load = id, .phi = n->arg[1]};
  s.bound = guard_before(p, s.phi, id);
  if (s.bound == 0)
    s.bound = find_bound(p, s.phi, n->block);
  if (s.bound == 0)
    return;
  s.in_order = is_in_order(p, &s);
  find_targets(p, &s);
  find_lead(p, &s);
  drop_growing(p, &s);
  if (s.ntargets)
    p->streams[p->nstreams++] = s;
}

/* ---- making code at the end of the present block */

static ir_id make(prefetcher *p, ir_op op, unsigned n, const ir_id *args) {
  ir_type type = op == IR_OP_SELECT ? (ir_type)ir_at(p->r, args[1])->type : IR_NONE;
  ir_id id = ir_node_new(p->r, op, type, n, args);
  ir_at(p->r, id)->pc = p->pc;
  ir_node_append(p->r, p->block, id);
  return id;
}

static ir_id make2(prefetcher *p, ir_op op, ir_id x, ir_id y) {
  return make(p, op, 2, (ir_id[]){x, y});
}

/* The value here: a header field that is loaded after the entry is loaded anew. */
static ir_id have(prefetcher *p, ir_id id) {
  if (ir_at(p->r, id)->block == 0 || !is_field(p->r, id))
    return id;
  ir_id copy = ir_node_copy(p->r, id);
  ir_at(p->r, copy)->pc = p->pc;
  ir_node_append(p->r, p->block, copy);
  return copy;
}

/* The same operation on other arguments. */
static ir_id remake(prefetcher *p, ir_id like, ir_op op, ir_id x, ir_id y) {
  const ir_node *from = ir_at(p->r, like);
  ir_id id = make2(p, op, x, y);
  ir_node *n = ir_at(p->r, id);
  n->list = from->list;
  n->col = from->col;
  n->width = op == IR_OP_CELL || op == IR_OP_PFCELL ? from->width : 0;
  if (op == IR_OP_PFCELL && from->op == IR_OP_CELLF)
    n->width = 3;
  return id;
}

/* x where it is below the bound, else y. */
static ir_id below_or(prefetcher *p, ir_id x, ir_id bound, ir_id y) {
  ir_id fine = make2(p, IR_OP_ULT, x, bound);
  return make(p, IR_OP_SELECT, 3, (ir_id[]){fine, x, y});
}

/* The index that the access has where the stream is at a position. */
static ir_id index_of(prefetcher *p, const stream *s, const target *t, ir_id at) {
  ir_id value = remake(p, s->load, IR_OP_CELL, ir_at(p->r, s->load)->arg[0], at);
  const ir_node *index = ir_at(p->r, ir_at(p->r, t->access)->arg[1]);
  if (ir_at(p->r, t->access)->arg[1] == s->load)
    return value;
  bool plus = index->op == IR_OP_ADD || index->op == IR_OP_ADDN;
  return make2(p, plus ? IR_OP_ADD : IR_OP_SUB, value, index->arg[1]);
}

/* The index that it will have so many rounds later. */
static ir_id index_ahead(prefetcher *p, const stream *s, const target *t, uint32_t rounds) {
  ir_id ahead = make2(p, IR_OP_ADD, s->phi, ir_int(p->r, rounds));
  ir_id at = below_or(p, ahead, s->bound, s->phi);
  return index_of(p, s, t, at);
}

static void make_rows(prefetcher *p, const target *t, ir_id row) {
  for (unsigned k = 0; k < t->nrows; k++) {
    ir_id base = have(p, ir_at(p->r, t->rows[k])->arg[0]);
    remake(p, t->rows[k], IR_OP_PFCELL, base, row);
  }
}

static void make_target(prefetcher *p, const stream *s, const target *t) {
  uint32_t d = p->r->distance ? p->r->distance : DEFAULT_DISTANCE;
  ir_id base = have(p, ir_at(p->r, t->access)->arg[0]);
  if (t->kind != TARGET_SLICES) {
    ir_op op = t->kind == TARGET_BITS ? IR_OP_PFBIT : IR_OP_PFCELL;
    remake(p, t->access, op, base, index_ahead(p, s, t, d));
    return;
  }
  remake(p, t->access, IR_OP_PFDIR, base, index_ahead(p, s, t, 2 * d));
  if (t->nrows == 0)
    return;
  ir_id bucket = below_or(p, index_ahead(p, s, t, d), have(p, t->size), ir_int(p->r, 0));
  ir_id next = make2(p, IR_OP_ADD, bucket, ir_int(p->r, 1));
  make_rows(p, t, remake(p, t->access, IR_OP_DIRAT, base, bucket));
  ir_id end = remake(p, t->access, IR_OP_DIRAT, base, next);
  make_rows(p, t, make2(p, IR_OP_ADD, end, ir_int(p->r, -1)));
}

/* ---- sizes, at the entry; of lists that grow, where they are asked for */

/* A header field of a list that the entry makes sure of; 0: it does not. */
static ir_id entry_field(prefetcher *p, ir_op op, unsigned list) {
  bool known = false;
  for (ir_id id = p->r->blocks[0].first; id; id = ir_at(p->r, id)->next) {
    const ir_node *n = ir_at(p->r, id);
    known |= n->op == IR_OP_GSHAPE && n->list == list;
    if (n->op == op && n->list == list)
      return id;
  }
  if (!known)
    return 0;
  ir_id id = ir_node_new(p->r, op, IR_NONE, 0, NULL);
  ir_at(p->r, id)->list = (uint8_t)list;
  ir_node_append(p->r, 0, id);
  return id;
}

/* Slices in order: up to the list's count instead of the slice's end. */
static void widen_bound(prefetcher *p, stream *s) {
  unsigned list = ir_at(p->r, s->load)->list;
  bool wide = s->in_order && is_never_killed(p->r, list);
  ir_id count = wide ? entry_field(p, IR_OP_COUNT, list) : 0;
  if (count)
    s->bound = count;
}

static ir_id larger(prefetcher *p, ir_id size, uint64_t than) {
  return size ? make2(p, IR_OP_ULT, ir_int(p->r, (int64_t)than), size) : 0;
}

static unsigned width_of(const prefetcher *p, ir_id cell) {
  const ir_node *n = ir_at(p->r, cell);
  return n->op == IR_OP_CELLF ? 3 : n->width;
}

/* The field as it is at the end of the present block. */
static ir_id load_field(prefetcher *p, ir_op op, unsigned list) {
  ir_id id = make(p, op, 0, NULL);
  ir_at(p->r, id)->list = (uint8_t)list;
  return id;
}

/* Whether what the target touches is larger than it should be; at the end of the present block. */
static ir_id test_size(prefetcher *p, const target *t) {
  unsigned list = ir_at(p->r, t->access)->list;
  uint64_t l1 = p->r->l2_bytes, l2 = l1 << CELLS_SHIFT;
  bool flat = ls_shape_layout(p->r->lists[list].facts.shape) == LS_FLAT;
  ir_op size = flat || t->kind == TARGET_SLICES ? IR_OP_COUNT : IR_OP_CAP;
  ir_id field = t->grows ? load_field(p, size, list) : entry_field(p, size, list);
  if (t->kind == TARGET_BITS)
    return larger(p, field, l2 * 8);
  if (t->kind == TARGET_CELLS)
    return larger(p, field, l2 >> width_of(p, t->access));
  return larger(p, field, l1 >> (t->nrows ? width_of(p, t->rows[0]) : 2));
}

/* True: every target has a test, and *any says whether one of them holds. */
static bool test_sizes(prefetcher *p, ir_id *any) {
  bool all = true;
  *any = 0;
  for (unsigned s = 0; s < p->nstreams; s++)
    for (unsigned k = 0; k < p->streams[s].ntargets; k++) {
      target *t = &p->streams[s].targets[k];
      if (t->grows)
        continue;
      t->large = test_size(p, t);
      all &= t->large != 0;
      if (t->large)
        *any = *any ? make2(p, IR_OP_OR, *any, t->large) : t->large;
    }
  return all && *any != 0;
}

/* The entry's jump becomes a choice between the region as it is and a copy,
 * where a test of sizes can make it. */
static void choose(prefetcher *p) {
  ir_region *r = p->r;
  ir_block *entry = &r->blocks[0];
  uint32_t first = entry->succ[0];
  ir_id any;
  if (ir_at(r, entry->last)->op != IR_OP_JUMP)
    return;
  p->pc = entry->pc;
  uint32_t landing = entry->landing;
  ir_node_remove(r, entry->last); /* the edge stays until the end */
  p->block = 0;
  for (unsigned k = 0; k < p->nstreams; k++)
    widen_bound(p, &p->streams[k]);
  bool all = r->l2_bytes && test_sizes(p, &any);
  uint32_t copy = all ? ir_copy_blocks(r, first) : 0;
  entry = &r->blocks[0];
  entry->landing = landing;
  if (copy == 0) {
    ir_node_append(r, 0, ir_node_new(r, IR_OP_JUMP, IR_NONE, 0, NULL));
    return;
  }
  ir_node_append(r, 0, ir_node_new(r, IR_OP_BRANCH, IR_NONE, 1, &any));
  entry->succ[1] = copy;
}

/* Behind the node: if (large) { ... }, left open in p->block; what comes after, or 0: no memory. */
static uint32_t begin_insert(prefetcher *p, ir_id node, const target *t, ir_id and_if) {
  p->pc = ir_at(p->r, node)->pc;
  uint32_t rest = ir_block_split(p->r, node);
  if (rest == 0)
    return 0;
  p->block = ir_at(p->r, node)->block;
  ir_id large = t->grows ? test_size(p, t) : t->large;
  if (and_if)
    large = large ? make2(p, IR_OP_AND, large, and_if) : and_if;
  if (large) {
    uint32_t ahead = ir_block_new(p->r);
    ir_end_branch(p->r, p->block, large, ahead, rest);
    p->block = ahead;
  }
  return rest;
}

static void insert(prefetcher *p, const stream *s, const target *t) {
  uint32_t rest = begin_insert(p, s->load, t, 0);
  if (rest == 0)
    return;
  make_target(p, s, t);
  ir_end_jump(p->r, p->block, rest);
}

/* ---- slices that are left early */

/* Where the slice begins that the loop around the stream's comes to so many rounds later. */
static ir_id slice_ahead(prefetcher *p, const stream *s, uint32_t rounds) {
  ir_id bucket = ir_at(p->r, s->start)->arg[1];
  ir_id ahead = make2(p, IR_OP_ADD, bucket, ir_int(p->r, rounds));
  return remake(p, s->start, IR_OP_DIRAT, ir_at(p->r, s->start)->arg[0],
                below_or(p, ahead, s->buckets, bucket));
}

static void make_lead(prefetcher *p, const stream *s, const target *t) {
  uint32_t d = p->r->distance ? p->r->distance : DEFAULT_DISTANCE;
  ir_id row = slice_ahead(p, s, d), base = have(p, ir_at(p->r, t->access)->arg[0]);
  ir_op op = t->kind == TARGET_BITS ? IR_OP_PFBIT : IR_OP_PFCELL;
  for (unsigned k = 0; k < LEAD_ROWS; k++) {
    ir_id at = k ? make2(p, IR_OP_ADD, row, ir_int(p->r, k)) : row;
    at = below_or(p, at, s->bound, ir_int(p->r, 0));
    remake(p, t->access, op, base, index_of(p, s, t, at));
  }
  row = slice_ahead(p, s, 4 * d);
  remake(p, s->load, IR_OP_PFCELL, ir_at(p->r, s->load)->arg[0], row);
}

/* Of slices in order that a loop leaves early, most rows are never come to: what the first rows of
 * later slices lead to is asked for instead, once a slice. */
static void insert_lead(prefetcher *p, const stream *s, const target *t) {
  ir_id some = ir_node_new(p->r, IR_OP_ULT, IR_NONE, 2, (ir_id[]){ir_int(p->r, 0), s->bound});
  ir_node_put_after(p->r, s->start, some);
  uint32_t rest = begin_insert(p, some, t, some);
  if (rest == 0)
    return;
  make_lead(p, s, t);
  ir_end_jump(p->r, p->block, rest);
}

static void insert_target(prefetcher *p, const stream *s, const target *t) {
  if (t->leads && ir_at(p->r, s->bound)->op == IR_OP_COUNT)
    insert_lead(p, s, t);
  else if (!t->grows)
    insert(p, s, t);
}

void ir_opt_prefetch(ir_region *r) {
  prefetcher p = {.r = r};
  if (!ir_find_cfg(r, &p.cfg))
    return;
  p.streams = ir_alloc(r, MAX_STREAMS, sizeof *p.streams);
  if (p.streams == NULL)
    return;
  for (uint32_t i = 0; i < p.cfg.n; i++)
    for (ir_id id = r->blocks[p.cfg.order[i]].first; id; id = ir_at(r, id)->next)
      find_stream(&p, id);
  if (p.nstreams == 0)
    return;
  choose(&p);
  for (unsigned s = 0; s < p.nstreams; s++)
    for (unsigned t = 0; t < p.streams[s].ntargets && !r->failed; t++)
      insert_target(&p, &p.streams[s], &p.streams[s].targets[t]);
}
