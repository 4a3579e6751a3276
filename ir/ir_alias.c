/* ir/ir_alias.c - versions of memory classes.
 *
 * Walks the blocks in order.  Where ways with different versions meet, and at the header of a loop
 * in which a class is written, the class gets a new version.
 */
#include "ir/ir_alias.h"

#include <string.h>

enum { CLASS_HDR, CLASS_COUNT, CLASS_BITS, CLASS_FIND, CLASS_CELLS }; /* + column */

static uint32_t find_classes(ir_region *r, ir_memory *m) {
  uint32_t n = 0;
  for (uint32_t l = 0; l < r->nlists; l++) {
    m->class_of[l] = n;
    n += CLASS_CELLS + r->lists[l].ncols;
  }
  m->class_of[r->nlists] = n;
  return n;
}

static int kind_of(unsigned mem) {
  switch (mem) {
  case IR_MEM_HDR:
    return CLASS_HDR;
  case IR_MEM_COUNT:
    return CLASS_COUNT;
  case IR_MEM_BITS:
    return CLASS_BITS;
  case IR_MEM_CELLS:
    return CLASS_CELLS;
  default:
    return -1;
  }
}

uint32_t ir_class_of(const ir_region *r, const ir_memory *m, const ir_node *n) {
  const ir_facts_of_op *facts = ir_facts_of(n);
  (void)r;
  if (!(facts->attributes & IR_HAS_LIST))
    return IR_NO_CLASS;
  if (n->op == IR_OP_FIND)
    return m->class_of[n->list] + CLASS_FIND;
  int kind = kind_of(facts->writes != IR_MEM_NONE ? facts->writes : facts->reads);
  if (kind < 0)
    return IR_NO_CLASS;
  return m->class_of[n->list] + (uint32_t)kind + (kind == CLASS_CELLS ? n->col : 0u);
}

/* A look-up depends on everything but cells that are no keys. */
static bool find_depends(const ir_region *r, const ir_node *store) {
  return ir_facts_of(store)->writes != IR_MEM_CELLS || store->col < r->lists[store->list].nkeys;
}

bool ir_may_write(const ir_region *r, const ir_memory *m, const ir_node *n, uint32_t class) {
  if (n->op == IR_OP_STEP) {
    const ir_step *s = &r->steps[n->imm];
    for (uint32_t l = 0; l < r->nlists; l++)
      if (class >= m->class_of[l] && class < m->class_of[l + 1])
        return s->kills[l / 64] >> (l % 64) & 1;
    return false;
  }
  if (ir_facts_of(n)->writes == IR_MEM_NONE)
    return false;
  if (class == m->class_of[n->list] + CLASS_FIND)
    return find_depends(r, n);
  return ir_class_of(r, m, n) == class;
}

typedef struct {
  ir_region *r;
  const ir_cfg *c;
  ir_memory *m;
  uint32_t *out;    /* by block and class */
  uint8_t *written; /* by loop and class */
  uint32_t next;
} versions;

static void note_write(versions *v, uint32_t block, uint32_t class) {
  for (uint32_t l = v->c->loop[block]; l != IR_NO_LOOP; l = v->c->loops[l].parent)
    v->written[(size_t)l * v->m->nclasses + class] = 1;
}

/* Calls `write` for every class that the node may change. */
static void each_write(versions *v, const ir_node *n,
                       void (*write)(versions *, const ir_node *, uint32_t)) {
  if (n->op == IR_OP_STEP) {
    const ir_step *s = &v->r->steps[n->imm];
    for (uint32_t l = 0; l < v->r->nlists; l++) {
      if (!(s->kills[l / 64] >> (l % 64) & 1))
        continue;
      for (uint32_t c = v->m->class_of[l]; c < v->m->class_of[l + 1]; c++)
        write(v, n, c);
    }
  } else if (ir_facts_of(n)->writes != IR_MEM_NONE) {
    write(v, n, ir_class_of(v->r, v->m, n));
    if (find_depends(v->r, n))
      write(v, n, v->m->class_of[n->list] + CLASS_FIND);
  }
}

static void write_in_loop(versions *v, const ir_node *n, uint32_t class) {
  note_write(v, n->block, class);
}

static void write_here(versions *v, const ir_node *n, uint32_t class) {
  v->out[(size_t)n->block * v->m->nclasses + class] = ++v->next;
}

static void begin_block(versions *v, uint32_t block) {
  const ir_block *b = &v->r->blocks[block];
  const ir_cfg *c = v->c;
  uint32_t n = v->m->nclasses, l = c->loop[block];
  bool header = l != IR_NO_LOOP && c->loops[l].header == block;
  uint32_t *here = &v->out[(size_t)block * n];
  for (uint32_t k = 0; k < n; k++) {
    bool fresh = block == 0 || (header && v->written[(size_t)l * n + k]);
    for (uint32_t p = 0; p < b->npreds && !fresh; p++) {
      if (c->place[b->preds[p]] >= c->place[block]) { /* a latch that writes nothing of it */
        fresh = !header || !c->reducible;
        continue;
      }
      uint32_t there = v->out[(size_t)b->preds[p] * n + k];
      if (here[k] == 0)
        here[k] = there;
      fresh = here[k] != there;
    }
    if (fresh)
      here[k] = ++v->next;
  }
}

static void walk_block(versions *v, uint32_t block) {
  uint32_t n = v->m->nclasses;
  begin_block(v, block);
  for (ir_id id = v->r->blocks[block].first; id; id = ir_at(v->r, id)->next) {
    const ir_node *node = ir_at(v->r, id);
    each_write(v, node, write_here);
    uint32_t class = ir_class_of(v->r, v->m, node);
    if (class != IR_NO_CLASS)
      v->m->version[id] = v->out[(size_t)block * n + class];
  }
}

bool ir_find_memory(ir_region *r, const ir_cfg *c, ir_memory *m) {
  versions v = {.r = r, .c = c, .m = m};
  m->class_of = ir_alloc(r, r->nlists + 1u, sizeof *m->class_of);
  m->version = ir_alloc(r, r->nnodes, sizeof *m->version);
  if (r->failed)
    return false;
  m->nclasses = find_classes(r, m);
  v.out = ir_alloc(r, (size_t)r->nblocks * m->nclasses, sizeof *v.out);
  v.written = ir_alloc(r, (size_t)c->nloops * m->nclasses, 1);
  if (r->failed)
    return false;
  for (uint32_t i = 0; i < c->n; i++)
    for (ir_id id = r->blocks[c->order[i]].first; id; id = ir_at(r, id)->next)
      each_write(&v, ir_at(r, id), write_in_loop);
  for (uint32_t i = 0; i < c->n; i++)
    walk_block(&v, c->order[i]);
  return true;
}
