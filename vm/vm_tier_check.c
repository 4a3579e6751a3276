/* vm/vm_tier_check.c - PURE_JIT_CHECK: what a region did is done again by `step`, and compared.
 *
 * Before the region runs, the registers and every list that it might change are copied.  When it
 * has left, the same instructions run on the copies until they come to the exit's place with the
 * exit's work; then the registers that the exit stored and the contents of the lists must be
 * equal.  Calls are made again where they change nothing that is stored.  Regions that may change a
 * tree (whose handles are addresses), or call what writes to stored lists or to the host, are let
 * pass, and counted.
 */
#include <stdio.h>
#include <string.h>

#include "vm/vm_tables.h"
#include "vm/vm_tier_int.h"

/* ---- copies of lists */

static bool copy_rows(const ls_list *l, ls_list *copy) {
  ls_val row[LS_MAX_COLS];
  bool dense = ls_shape_layout(l->shape) == LS_DENSE;
  uint64_t end = dense ? l->u.dense.cap : l->count;
  for (uint64_t h = 0; h < end; h++) {
    if (dense && !(l->u.dense.present[h >> 6] >> (h & 63) & 1))
      continue;
    for (unsigned c = 0; c < l->schema->ncols; c++)
      row[c] = ls_list_get(l, h, c);
    ls_row made;
    if (ls_list_insert(copy, NULL, row, &made) != LS_OK || made != h)
      return false;
  }
  return true;
}

/* What decides whether and when the rows are put in order, which shows in handles. */
static void copy_order(const ls_list *l, ls_list *copy) {
  copy->version = l->version;
  copy->lookups = l->lookups;
  copy->reorders = l->reorders;
  if (ls_shape_layout(l->shape) != LS_HASH)
    return;
  copy->u.hash.sorted = l->u.hash.sorted;
  copy->u.hash.changes = l->u.hash.changes;
}

/* With the same handles, or NULL. */
static ls_list *copy_list(vm_context *cx, const ls_list *l) {
  ls_layout layout = ls_shape_layout(l->shape);
  ls_hint hint;
  if (layout == LS_TREE || layout == LS_ARRAY)
    return NULL;
  ls_list *copy = ls_list_new(l->schema, cx->mem, l->texts, l->policy, NULL);
  if (copy == NULL)
    return NULL;
  ls_list_take_hint(l, &hint);
  bool fine = ls_list_is_idle(l) || (ls_list_restart(copy, &hint) == LS_OK && copy_rows(l, copy));
  if (fine && copy->shape == l->shape) {
    copy_order(l, copy);
    copy->stored = l->stored; /* its texts are the store's, not the call's */
    return copy;
  }
  ls_list_delete(copy);
  return NULL;
}

/* seek and its like may sort or convert a local keyed list. */
static bool may_change(const vm_fn *fn, unsigned list, const ls_list *l) {
  for (uint32_t pc = 0; pc < fn->ncode; pc++) {
    const vm_ins *i = &fn->code[pc];
    unsigned effects = vm_effects(vm_op_read((vm_op)i->op)->effects);
    bool slice = i->op == VM_OP_SEEK || i->op == VM_OP_SCOUNT || i->op == VM_OP_FIRSTJ ||
                 i->op == VM_OP_LASTJ || i->op == VM_OP_NEXT;
    if (vm_ins_list(i) == (int)list &&
        ((effects & VM_EFFECT_WRITE) || (slice && !l->stored && l->schema->nkeys)))
      return true;
  }
  return false;
}

static bool leaves_store_alone(const vm_module *m, unsigned fn) {
  for (unsigned i = 0; i < m->nstored; i++)
    if (vm_fn_writes(m, fn, i))
      return false;
  return m->nexterns == 0; /* what the host does cannot be done twice */
}

static bool can_call_again(const vm_module *m, const vm_fn *fn) {
  for (uint32_t pc = 0; pc < fn->ncode; pc++) {
    const vm_ins *i = &fn->code[pc];
    if (i->op == VM_OP_CALLX || (i->op == VM_OP_CALL && !leaves_store_alone(m, i->b)))
      return false;
  }
  return true;
}

/* ---- before and after a run */

struct vm_check {
  vm_frame *f;
  uint64_t work;
  int64_t left; /* of the call's memory */
  uint32_t pc;
  size_t bytes;
  ls_list **list; /* copies, NULL where none is needed */
  ls_val regs[];
};

static void check_free(vm_context *cx, vm_check *k) {
  unsigned n = k->f->code->fn->nlists;
  for (unsigned i = 0; i < n && k->list; i++)
    ls_list_delete(k->list[i]);
  ls_mem_free(cx->mem, k->list, sizeof *k->list * n);
  ls_mem_free(cx->mem, k, k->bytes);
}

vm_check *vm_check_begin(vm_context *cx) {
  vm_frame *f = cx->top;
  const vm_fn *fn = f->code->fn;
  size_t bytes = sizeof(vm_check) + sizeof(ls_val) * fn->nregs;
  if (!can_call_again(cx->link->module, fn))
    return NULL;
  vm_check *k = ls_mem_zalloc(cx->mem, bytes);
  if (k == NULL)
    return NULL;
  *k = (vm_check){.f = f, .work = cx->work, .left = cx->budget.left, .pc = f->pc, .bytes = bytes};
  memcpy(k->regs, f->regs, sizeof(ls_val) * fn->nregs);
  bool fine =
      fn->nlists == 0 || (k->list = ls_mem_zalloc(cx->mem, sizeof *k->list * fn->nlists)) != NULL;
  for (unsigned i = 0; fine && i < fn->nlists; i++) {
    const ls_list *l = f->lists->list[i];
    if (may_change(fn, i, l))
      fine = (k->list[i] = copy_list(cx, l)) != NULL;
  }
  if (fine)
    return k;
  check_free(cx, k);
  return NULL;
}

/* For the calls that the region makes: their sets of lists were kept when it made them. */
static void rename_kept(vm_context *cx, const ls_list *from, ls_list *to) {
  const vm_module *m = cx->link->module;
  for (unsigned fn = 0; fn < m->nfns; fn++)
    for (vm_lists *set = cx->pools[fn]; set; set = set->next)
      for (unsigned i = 0; i < m->fns[fn].nlists; i++)
        if (set->list[i] == from)
          set->list[i] = to;
}

/* The frame's lists and their copies change places. */
static void exchange(vm_context *cx, vm_check *k) {
  for (unsigned i = 0; i < k->f->code->fn->nlists; i++)
    if (k->list[i]) {
      ls_list *l = k->f->lists->list[i];
      k->f->lists->list[i] = k->list[i];
      k->list[i] = l;
      if (l->stored)
        rename_kept(cx, l, k->f->lists->list[i]);
    }
}

static bool same_value(ls_val x, ls_val y) { return x.u == y.u || (x.r != x.r && y.r != y.r); }

/* By handle: a digest would put the rows in order, and the program goes on with its handles. */
static bool same_rows(const ls_list *l, const ls_list *copy) {
  if (ls_shape_layout(copy->shape) != LS_HASH || l->count != copy->count)
    return false;
  for (uint64_t h = 0; h < l->count; h++)
    for (unsigned c = 0; c < l->schema->ncols; c++)
      if (!same_value(ls_list_get(l, h, c), ls_list_get(copy, h, c)))
        return false;
  return true;
}

static bool same_list(const ls_list *l, const ls_list *copy) {
  if (ls_shape_layout(l->shape) == LS_HASH)
    return same_rows(l, copy);
  return ls_list_digest(l, 1) == ls_list_digest(copy, 1);
}

static bool same_lists(const vm_check *k) {
  for (unsigned i = 0; i < k->f->code->fn->nlists; i++)
    if (k->list[i] && !same_list(k->list[i], k->f->lists->list[i]))
      return false;
  return true;
}

/* said: VM_CHECK_SAID bytes; stays empty where all is the same. */
static void compare(const vm_check *k, const vm_jit_exit *x, const ls_val *after, char *said) {
  for (uint32_t i = 0; i < x->nslots; i++) {
    unsigned r = x->slots[i];
    if (same_value(after[r], k->f->regs[r]))
      continue;
    snprintf(said, VM_CHECK_SAID, "register %u is %lld, not %lld", r, (long long)after[r].i,
             (long long)k->f->regs[r].i);
    return;
  }
  if (!same_lists(k))
    snprintf(said, VM_CHECK_SAID, "a list differs");
}

static bool is_return(unsigned op) {
  return op == VM_OP_RET || op == VM_OP_RETV || op == VM_OP_RETL;
}

/* Runs from the region's entry to its exit by `step`. */
static bool replay(vm_context *cx, const vm_check *k, uint64_t work, uint32_t pc) {
  vm_frame *f = k->f;
  bool fine = true;
  int64_t left = cx->budget.left;
  f->pc = k->pc;
  cx->work = k->work;
  cx->budget.left = k->left;
  while (fine && !(cx->top == f && f->pc == pc && cx->work == work)) {
    bool ends = cx->top == f && is_return(f->code->fn->code[f->pc].op);
    fine = !ends && cx->work <= work && vm_step(cx) == VM_FINE;
  }
  while (cx->top != f) /* it went wrong in a call */
    vm_frame_leave(cx);
  cx->budget.left = left;
  f->back = false;
  return fine;
}

/* A list became a tree: the handles of rows in registers are addresses now. */
static bool grew_tree(const vm_check *k) {
  for (unsigned i = 0; i < k->f->code->fn->nlists; i++)
    if (k->list[i] && ls_shape_layout(k->f->lists->list[i]->shape) == LS_TREE)
      return true;
  return false;
}

void vm_check_end(vm_context *cx, vm_check *k, const vm_jit_exit *x, char *said) {
  vm_frame *f = k->f;
  unsigned nregs = f->code->fn->nregs;
  uint64_t work = cx->work;
  size_t bytes = sizeof(ls_val) * nregs;
  bool skip = x->reason == VM_JIT_EXIT_RAISED || grew_tree(k);
  ls_val *after = skip ? NULL : ls_mem_alloc(cx->mem, bytes + 1);
  *said = 0;
  if (after) {
    memcpy(after, f->regs, bytes);
    memcpy(f->regs, k->regs, bytes);
    exchange(cx, k);
    if (replay(cx, k, work, x->pc))
      compare(k, x, after, said);
    else
      snprintf(said, VM_CHECK_SAID, "it went another way");
    exchange(cx, k);
    memcpy(f->regs, after, bytes);
    f->pc = x->pc;
    cx->work = work;
    ls_mem_free(cx->mem, after, bytes + 1);
  }
  check_free(cx, k);
}
