/* vm/vm_verify_calls.c - who may write what, through calls.
 *
 * A row of bits per function: the stored lists it may write, and whether it calls an impure host
 * function.  Functions that call one another in a circle have the same row.  One depth-first walk
 * (Tarjan's strongly connected components, with its own stack) fills all rows: time is linear in
 * the code plus calls times the length of a row.
 */
#include "vm/vm_verify_int.h"

#include <string.h>

#define MAX_ROW_BITS ((uint64_t)1 << 27)
#define NOT_SEEN 0
#define NO_FN UINT32_MAX

typedef struct {
  uint32_t number; /* order of discovery from 1 */
  uint32_t low;    /* least number reachable among those on the stack */
  uint32_t pc;     /* next instruction to look at */
  uint32_t caller; /* whom to go back to */
  uint32_t below;  /* next on the component stack */
  bool on_stack;
} call_node;

typedef struct {
  vm_check *v;
  call_node *node;
  uint32_t stack; /* top of the component stack */
  uint32_t numbers;
} call_walk;

static uint64_t *row_of(const vm_check *v, uint32_t fn) {
  return v->writes + (size_t)fn * v->words;
}
static bool row_has(const vm_check *v, uint32_t fn, unsigned bit) {
  return row_of(v, fn)[bit / 64] >> (bit % 64) & 1;
}
static void row_add(const vm_check *v, uint32_t to, uint32_t from) {
  uint64_t *a = row_of(v, to), *b = row_of(v, from);
  for (unsigned w = 0; w < v->words; w++)
    a[w] |= b[w];
}

/* What the instruction itself writes: a bit of a row, or -1. */
static int own_bit(const vm_check *v, const vm_fn *fn, const vm_ins *i) {
  const vm_module *m = v->m;
  if (i->op == VM_OP_CALLX)
    return m->externs[i->b].pure ? -1 : (int)m->nstored;
  int list = vm_ins_list(i);
  if (list < 0 || !m->lists[fn->lists[list]].stored)
    return -1;
  return vm_effects(vm_op_read((vm_op)i->op)->effects) & VM_EFFECT_WRITE ? fn->lists[list] : -1;
}

static void enter(call_walk *w, uint32_t fn, uint32_t caller) {
  call_node *n = &w->node[fn];
  n->number = n->low = ++w->numbers;
  n->caller = caller;
  n->below = w->stack;
  n->on_stack = true;
  w->stack = fn;
}

/* The function's code is done: if its component is complete, it leaves the stack. */
static void leave(call_walk *w, uint32_t fn) {
  call_node *n = &w->node[fn];
  if (n->low == n->number) {
    uint32_t member;
    do {
      member = w->stack;
      w->stack = w->node[member].below;
      w->node[member].on_stack = false;
      if (member != fn)
        memcpy(row_of(w->v, member), row_of(w->v, fn), w->v->words * sizeof(uint64_t));
    } while (member != fn);
  }
  if (n->caller == NO_FN)
    return;
  row_add(w->v, n->caller, fn);
  call_node *c = &w->node[n->caller];
  if (n->low < c->low)
    c->low = n->low;
}

static void walk_from(call_walk *w, uint32_t root) {
  const vm_module *m = w->v->m;
  enter(w, root, NO_FN);
  for (uint32_t at = root; at != NO_FN;) {
    call_node *n = &w->node[at];
    const vm_fn *fn = &m->fns[at];
    if (n->pc == fn->ncode) {
      leave(w, at);
      at = n->caller;
      continue;
    }
    const vm_ins *i = &fn->code[n->pc++];
    int bit = own_bit(w->v, fn, i);
    if (bit >= 0)
      row_of(w->v, at)[bit / 64] |= (uint64_t)1 << (bit % 64);
    if (i->op != VM_OP_CALL)
      continue;
    call_node *g = &w->node[i->b];
    if (g->number == NOT_SEEN) {
      enter(w, i->b, at);
      at = i->b;
    } else if (!g->on_stack) {
      row_add(w->v, at, i->b);
    } else if (g->number < n->low) {
      n->low = g->number;
    }
  }
}

/* The first instruction that gives the current function (a query) that bit. */
static bool refuse(vm_check *v, unsigned bit) {
  const vm_module *m = v->m;
  const vm_fn *fn = vm_check_fn(v);
  const char *what =
      bit == m->nstored ? "calls a host function that is not pure" : "writes the stored list ";
  const char *name = bit == m->nstored ? "" : m->lists[bit].schema.name;
  for (v->pc = 0; v->pc < fn->ncode; v->pc++) {
    const vm_ins *i = &fn->code[v->pc];
    if (own_bit(v, fn, i) == (int)bit)
      return vm_check_fail(v, "a query %s%s", what, name);
    if (i->op == VM_OP_CALL && row_has(v, i->b, bit))
      return vm_check_fail(v, "a query calls %.60s, which %s%s", m->fns[i->b].name, what, name);
  }
  v->pc = -1;
  return vm_check_fail(v, "a query %s%s", what, name);
}

static bool check_queries(vm_check *v) {
  for (uint32_t f = 0; f < v->m->nfns; f++) {
    if (v->m->fns[f].kind != VM_QUERY)
      continue;
    v->fn = (int)f;
    for (unsigned w = 0; w < v->words; w++)
      if (row_of(v, f)[w])
        return refuse(v, w * 64 + (unsigned)__builtin_ctzll(row_of(v, f)[w]));
  }
  return true;
}

bool vm_check_calls(vm_check *v) {
  vm_module *m = v->m;
  v->fn = -1;
  v->pc = -1;
  v->words = m->nstored / 64 + 1;
  if ((uint64_t)m->nfns * v->words * 64 > MAX_ROW_BITS)
    return vm_check_fail(v, "%u functions and %u stored lists are more than can be checked",
                         m->nfns, m->nstored);
  v->writes = vm_module_alloc(m, (size_t)m->nfns * v->words * sizeof(uint64_t));
  size_t bytes = ((size_t)m->nfns + 1) * sizeof(call_node);
  call_walk w = {v, ls_mem_zalloc(m->mem, bytes), NO_FN, 0};
  if (v->writes && w.node)
    for (uint32_t f = 0; f < m->nfns; f++)
      if (w.node[f].number == NOT_SEEN)
        walk_from(&w, f);
  bool fine = v->writes && w.node ? check_queries(v) : vm_check_memory(v);
  ls_mem_free(m->mem, w.node, bytes);
  return fine;
}

bool vm_fn_writes(const vm_module *m, unsigned fn, unsigned stored_list) {
  unsigned words = m->nstored / 64 + 1;
  return m->writes[(size_t)fn * words + stored_list / 64] >> (stored_list % 64) & 1;
}
