/* ir/ir_build_slice.c - seek, scount: where a slice begins and ends.
 *
 * array with a bucket a value: a bucket, or part of it by a search in the next key column; dense:
 * cells (seek alone); positional: nothing but the start.  All else out of line.
 */
#include "ir/ir_build.h"

typedef struct {
  unsigned list;
  vm_spec spec;
  uint32_t bounds; /* register */
} slice;

typedef struct {
  ir_id next, end;
} ends;

static ir_id bound_reg(ir_builder *b, const slice *s, unsigned k) {
  return ir_b_as(b, ir_b_reg(b, s->bounds + k), IR_I64);
}

static bool has_array(const ir_builder *b, const slice *s) {
  const ir_list *l = &b->r->lists[s->list];
  bool bounded = s->spec.lo || s->spec.hi;
  if (!l->facts.direct || !ir_b_int_key(b, s->list, 0))
    return false;
  if (s->spec.np == 0)
    return !bounded;
  if (s->spec.np == 1 && !bounded)
    return true;
  return s->spec.np + bounded == 2 && l->nkeys >= 2 && ir_b_int_key(b, s->list, 1);
}

static bool has_dense(const slice *s) { return s->spec.np + (s->spec.lo || s->spec.hi) <= 1; }

/* lo and hi of the bucket; 0 and 0 where there is none.  Its two words are read only if it is. */
static ends array_bucket(ir_builder *b, const slice *s) {
  ir_place p = ir_place_bucket(b, s->list, bound_reg(b, s, 0));
  ir_id zero = ir_int(b->r, 0);
  uint32_t in = ir_b_block(b, false), both = ir_b_block(b, false), out = b->cur;
  ir_end_branch(b->r, b->cur, p.inside, in, both);
  b->cur = in;
  ir_id lo = ir_b_dir(b, s->list, p.at);
  ir_id hi = ir_b_dir(b, s->list, ir_b2(b, IR_OP_ADD, p.at, ir_int(b->r, 1)));
  ir_end_jump(b->r, b->cur, both);
  b->cur = both;
  bool out_first = b->r->blocks[both].preds[0] == out;
  ends e;
  for (unsigned k = 0; k < 2; k++) {
    ir_id inside = k ? hi : lo, args[2] = {out_first ? zero : inside, out_first ? inside : zero};
    ir_id phi = ir_node_new(b->r, IR_OP_PHI, IR_I64, 2, args);
    ir_node_append(b->r, both, phi);
    *(k ? &e.end : &e.next) = phi;
  }
  return e;
}

static ends array_ends(ir_builder *b, const slice *s) {
  if (s->spec.np == 0)
    return (ends){ir_int(b->r, 0), ir_b_field(b, s->list, IR_F_COUNT)};
  ends e = array_bucket(b, s), part = e;
  if (s->spec.np == 2) {
    ir_id key = bound_reg(b, s, 1);
    part.next = ir_b_bound(b, s->list, 1, false, e.next, e.end, key);
    part.end = ir_b_bound(b, s->list, 1, true, part.next, e.end, key);
    return part;
  }
  if (s->spec.lo)
    part.next = ir_b_bound(b, s->list, 1, false, e.next, e.end, bound_reg(b, s, 1));
  if (s->spec.hi)
    part.end = ir_b_bound(b, s->list, 1, true, e.next, e.end, bound_reg(b, s, 1u + s->spec.lo));
  return part;
}

/* Cell of the first row whose key is at least `key` (after: above it). */
static ir_id dense_bound(ir_builder *b, unsigned list, ir_id key, bool after) {
  ir_place p = ir_place_dense(b, list, key);
  ir_id cap = ir_b_field(b, list, IR_F_CAP), base = ir_b_field(b, list, IR_F_BASE);
  ir_id at = after ? ir_b2(b, IR_OP_ADD, p.at, ir_int(b->r, 1)) : p.at;
  ir_id below = ir_b2(b, IR_OP_LT, key, base);
  ir_id outside = ir_b_select(b, below, ir_int(b->r, 0), cap);
  return ir_b_select(b, p.inside, at, outside);
}

static ends dense_ends(ir_builder *b, const slice *s) {
  ends e = {ir_int(b->r, 0), 0};
  bool one = s->spec.np == 1;
  if (one || s->spec.lo)
    e.next = dense_bound(b, s->list, bound_reg(b, s, 0), false);
  if (one || s->spec.hi)
    e.end = dense_bound(b, s->list, bound_reg(b, s, s->spec.lo), true);
  else
    e.end = ir_b_field(b, s->list, IR_F_CAP);
  return e;
}

static void write_cursor(ir_builder *b, unsigned list, ends e) {
  uint32_t cursor = b->ins->a + 2u + b->r->lists[list].nkeys;
  ir_b_set(b, b->ins->a, ir_int(b->r, (int64_t)LS_NO_ROW));
  ir_b_set(b, b->ins->a + 1u, ir_b_field(b, list, IR_F_VERSION));
  ir_b_set(b, cursor, e.next);
  ir_b_set(b, cursor + 1, e.end);
}

static bool build_seek(ir_builder *b) {
  unsigned list = b->ins->b >> 8, nkeys = b->r->lists[list].nkeys;
  slice s = {list, vm_spec_read(b->ins->b), b->ins->a + 4u + nkeys};
  ir_fast f;
  if (nkeys == 0) {
    write_cursor(b, list, (ends){ir_int(b->r, 0), ir_int(b->r, 0)});
    return true;
  }
  unsigned layouts =
      (has_array(b, &s) ? IR_L(LS_ARRAY) : 0u) | (has_dense(&s) ? IR_L(LS_DENSE) : 0u);
  if (!ir_fast_begin(b, &f, list, layouts))
    return false;
  if (ir_b_layout(b, list) == LS_ARRAY && b->r->lists[list].facts.trust == IR_CHECKED)
    ir_fast_need(b, &f, ir_b_field(b, list, IR_F_DIRECT));
  ends e = ir_b_layout(b, list) == LS_ARRAY ? array_ends(b, &s) : dense_ends(b, &s);
  if (s.spec.lo && s.spec.hi) /* of a range the wrong way round, the cursor stands at its end */
    e.next = ir_b2(b, IR_OP_UMIN, e.next, e.end);
  write_cursor(b, list, e);
  ir_fast_end(b, &f);
  return true;
}

static bool build_scount(ir_builder *b) {
  unsigned list = b->ins->c >> 8;
  slice s = {list, vm_spec_read(b->ins->c), b->ins->b};
  ir_fast f;
  if (s.spec.np == 0 && !s.spec.lo && !s.spec.hi) {
    ir_b_set(b, b->ins->a, ir_b_field(b, list, IR_F_COUNT));
    return true;
  }
  if (!ir_fast_begin(b, &f, list, has_array(b, &s) ? IR_L(LS_ARRAY) : 0))
    return false;
  if (b->r->lists[list].facts.trust == IR_CHECKED)
    ir_fast_need(b, &f, ir_b_field(b, list, IR_F_DIRECT));
  ends e = array_ends(b, &s);
  /* A range may be empty the wrong way round. */
  ir_id some = ir_b2(b, IR_OP_LT, e.next, e.end), diff = ir_b2(b, IR_OP_SUB, e.end, e.next);
  ir_b_set(b, b->ins->a, ir_b_select(b, some, diff, ir_int(b->r, 0)));
  ir_fast_end(b, &f);
  return true;
}

bool ir_build_slice(ir_builder *b) {
  return b->ins->op == VM_OP_SEEK ? build_seek(b) : build_scount(b);
}
