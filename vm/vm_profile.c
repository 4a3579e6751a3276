/* vm/vm_profile.c - counting what ran.  A function's part is made when it is first called. */
#include "vm/vm_int.h"

/* Entries of a loop that are sampled: the first ones, then one in so many, as inner loops may be
 * entered more often than they go round. */
#define ENTRY_ALWAYS 16u
#define ENTRY_EVERY 16u

ls_status vm_profile_init(vm_context *cx) {
  uint32_t n = cx->link->module->nfns;
  cx->profile.nfns = n;
  if (n == 0)
    return LS_OK;
  cx->profile.fns = ls_mem_zalloc(cx->mem, sizeof(vm_fn_profile) * n);
  return cx->profile.fns ? LS_OK : LS_NOMEM;
}

static void fn_free(vm_context *cx, unsigned fn) {
  vm_fn_profile *p = &cx->profile.fns[fn];
  const vm_fn *f = &cx->link->module->fns[fn];
  if (p->loops)
    for (unsigned i = 0; i < f->nloops; i++)
      ls_mem_free(cx->mem, p->loops[i].lists, sizeof(vm_list_profile) * f->nlists);
  ls_mem_free(cx->mem, p->loops, sizeof(vm_loop_profile) * f->nloops);
  ls_mem_free(cx->mem, p->ended, sizeof(ls_hint) * f->nlists);
}

void vm_profile_free(vm_context *cx) {
  if (cx->profile.fns == NULL)
    return;
  for (unsigned fn = 0; fn < cx->profile.nfns; fn++)
    fn_free(cx, fn);
  ls_mem_free(cx->mem, cx->profile.fns, sizeof(vm_fn_profile) * cx->profile.nfns);
}

static bool fn_init(vm_context *cx, vm_fn_profile *p, const vm_fn *f) {
  if (f->nloops && p->loops == NULL) {
    p->loops = ls_mem_zalloc(cx->mem, sizeof(vm_loop_profile) * f->nloops);
    if (p->loops == NULL)
      return false;
  }
  for (unsigned i = 0; i < f->nloops; i++)
    p->loops[i].hot_headers = UINT64_MAX;
  p->hot_calls = cx->entries ? 1 : UINT64_MAX;
  if (f->nlists && p->ended == NULL) {
    p->ended = ls_mem_zalloc(cx->mem, sizeof(ls_hint) * f->nlists);
    if (p->ended == NULL)
      return false;
  }
  return true;
}

vm_fn_profile *vm_profile_fn(vm_context *cx, unsigned fn) {
  vm_fn_profile *p = &cx->profile.fns[fn];
  if (p->calls == 0 && !fn_init(cx, p, &cx->link->module->fns[fn]))
    return NULL;
  return p;
}

static void list_saw(vm_list_profile *p, uint64_t shape) {
  for (unsigned i = 0; i < p->nshapes; i++)
    if (p->shapes[i] == shape)
      return;
  if (p->nshapes < VM_PROFILE_SHAPES)
    p->shapes[p->nshapes++] = shape;
  else
    p->many = 1;
}

void vm_profile_sample(const vm_context *cx, const vm_frame *f, unsigned loop) {
  vm_loop_profile *p = &f->profile->loops[loop];
  const vm_code_loop *l = &f->code->loops[loop];
  if (l->nlists == 0)
    return;
  if (p->lists == NULL) {
    p->lists = ls_mem_zalloc(cx->mem, sizeof(vm_list_profile) * f->code->fn->nlists);
    if (p->lists == NULL)
      return; /* no evidence, no harm */
  }
  for (unsigned i = 0; i < l->nlists; i++) {
    vm_list_profile *seen = &p->lists[l->lists[i]];
    uint64_t shape = f->lists->list[l->lists[i]]->shape;
    if (seen->nshapes == 0 || seen->shapes[0] != shape)
      list_saw(seen, shape);
  }
}

void vm_profile_enter(const vm_context *cx, const vm_frame *f, unsigned loop) {
  vm_loop_profile *p = &f->profile->loops[loop];
  uint64_t last = p->headers - p->trips;
  if (last > p->longest)
    p->longest = last;
  p->trips = p->headers;
  p->headers++;
  p->entries++;
  if (p->entries <= ENTRY_ALWAYS || p->entries % ENTRY_EVERY == 0)
    vm_profile_sample(cx, f, loop);
}

/* The last entry of each loop has not been compared with the longest yet. */
const vm_profile *vm_context_profile(const vm_context *cx) {
  for (uint32_t fn = 0; fn < cx->profile.nfns; fn++) {
    const vm_fn_profile *p = &cx->profile.fns[fn];
    for (unsigned i = 0; p->loops && i < cx->link->module->fns[fn].nloops; i++) {
      uint64_t last = p->loops[i].headers - p->loops[i].trips;
      if (last > p->loops[i].longest)
        p->loops[i].longest = last;
    }
  }
  return &cx->profile;
}
