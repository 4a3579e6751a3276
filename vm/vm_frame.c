/* vm/vm_frame.c - the register stack and what an activation owns.
 *
 * Frames lie one after another in chunks that are never moved and are kept for the next call, so
 * that addresses of registers hold while a frame lives.  Calls use no stack of C.
 */
#include <string.h>

#include "vm/vm_int.h"

#define CHUNK_BYTES (64u * 1024u - sizeof(vm_chunk))

static size_t frame_bytes(const vm_fn *fn) { return sizeof(vm_frame) + sizeof(ls_val) * fn->nregs; }

static char *chunk_data(vm_chunk *c) { return (char *)(c + 1); }

/* The chunk for a frame of so many bytes, after the present one where that is full. */
static vm_chunk *chunk_for(vm_context *cx, size_t bytes) {
  vm_chunk *c = cx->chunk;
  if (c && c->bytes - c->used >= bytes)
    return c;
  vm_chunk *next = c ? c->next : NULL;
  if (next && next->bytes >= bytes)
    return next;
  size_t want = bytes > CHUNK_BYTES ? bytes : CHUNK_BYTES;
  vm_chunk *made = ls_mem_alloc(cx->mem, sizeof(vm_chunk) + want);
  if (made == NULL)
    return NULL;
  *made = (vm_chunk){.prev = c, .next = next, .bytes = want};
  if (c)
    c->next = made;
  else
    cx->chunk = made;
  if (next)
    next->prev = made;
  return made;
}

static ls_list *stored_list(vm_context *cx, unsigned number) {
  return cx->snap ? ls_snapshot_list(cx->snap, number) : ls_store_list(cx->link->store, number);
}

static size_t lists_bytes(const vm_fn *fn) {
  return sizeof(vm_lists) + sizeof(ls_list *) * fn->nlists;
}

static vm_lists *lists_new(vm_context *cx, const vm_fn *fn) {
  vm_lists *set = ls_mem_zalloc(cx->mem, lists_bytes(fn));
  if (set == NULL)
    return NULL;
  for (unsigned i = 0; i < fn->nlists; i++)
    if (cx->link->module->lists[fn->lists[i]].stored)
      set->list[i] = stored_list(cx, fn->lists[i]);
  return set;
}

/* Makes the local lists that are not there: all of a new set, or one that a result took. */
static bool lists_complete(vm_context *cx, const vm_code *code, vm_lists *set) {
  const vm_module *m = cx->link->module;
  for (unsigned i = 0; i < code->nlocals; i++) {
    unsigned at = code->locals[i];
    if (set->list[at])
      continue;
    set->list[at] = ls_list_new(&m->lists[code->fn->lists[at]].schema, cx->mem, cx->texts,
                                &cx->link->policy, &cx->budget);
    if (set->list[at] == NULL)
      return false;
  }
  return true;
}

static vm_lists *lists_take(vm_context *cx, const vm_code *code, unsigned fn) {
  vm_lists *set = cx->pools[fn];
  if (set)
    cx->pools[fn] = set->next;
  else
    set = lists_new(cx, code->fn);
  if (set && !lists_complete(cx, code, set)) {
    set->next = cx->pools[fn];
    cx->pools[fn] = set;
    return NULL;
  }
  return set;
}

int vm_frame_enter(vm_context *cx, unsigned fn, const ls_val *args) {
  const vm_code *code = vm_code_of(cx->link->module, fn);
  size_t bytes = frame_bytes(code->fn);
  if (cx->depth >= cx->depth_limit)
    return VM_FAULT_DEPTH;
  vm_fn_profile *profile = vm_profile_fn(cx, fn);
  vm_chunk *chunk = chunk_for(cx, bytes);
  vm_lists *lists = NULL;
  if (profile == NULL || chunk == NULL)
    return VM_FAULT_MEMORY;
  if (code->fn->nlists && (lists = lists_take(cx, code, fn)) == NULL)
    return VM_FAULT_MEMORY;
  vm_frame *f = (vm_frame *)(chunk_data(chunk) + chunk->used);
  chunk->used += bytes;
  cx->chunk = chunk;
  *f = (vm_frame){.up = cx->top, .code = code, .lists = lists, .profile = profile, .fn = fn};
  for (unsigned i = 0; i < code->fn->nparams; i++)
    f->regs[i] = args[i];
  profile->calls++;
  cx->top = f;
  cx->depth++;
  return VM_FINE;
}

static void lists_give(vm_context *cx, vm_frame *f) {
  vm_lists *set = f->lists;
  for (unsigned i = 0; i < f->code->nlocals; i++) {
    unsigned at = f->code->locals[i];
    ls_list *l = set->list[at];
    /* One that was cleared may be as new and still hold what it was charged. */
    if (l == NULL || (l->fresh && l->charged == 0))
      continue;
    if (!l->fresh)
      ls_list_take_hint(l, &f->profile->ended[at]);
    ls_list_restart(l, NULL);
  }
  set->next = cx->pools[f->fn];
  cx->pools[f->fn] = set;
}

void vm_frame_leave(vm_context *cx) {
  vm_frame *f = cx->top;
  vm_chunk *chunk = cx->chunk;
  if (f->lists)
    lists_give(cx, f);
  cx->top = f->up;
  cx->depth--;
  chunk->used = (size_t)((char *)f - chunk_data(chunk));
  if (chunk->used == 0 && chunk->prev)
    cx->chunk = chunk->prev;
}

static void pool_free(vm_context *cx, unsigned fn) {
  const vm_code *code = vm_code_of(cx->link->module, fn);
  for (vm_lists *set = cx->pools[fn]; set;) {
    vm_lists *next = set->next;
    for (unsigned i = 0; i < code->nlocals; i++)
      ls_list_delete(set->list[code->locals[i]]);
    ls_mem_free(cx->mem, set, lists_bytes(code->fn));
    set = next;
  }
  cx->pools[fn] = NULL;
}

void vm_frames_free(vm_context *cx) {
  vm_chunk *c = cx->chunk;
  while (c && c->prev)
    c = c->prev;
  while (c) {
    vm_chunk *next = c->next;
    ls_mem_free(cx->mem, c, sizeof(vm_chunk) + c->bytes);
    c = next;
  }
  cx->chunk = NULL;
  if (cx->pools)
    for (unsigned fn = 0; fn < cx->link->module->nfns; fn++)
      pool_free(cx, fn);
}
