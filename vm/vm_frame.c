/* vm/vm_frame.c - the register stack and what an activation owns.
 *
 * Frames lie one after another in chunks that are never moved, so that addresses of registers hold
 * while a frame lives.  Calls use no stack of C.  A few chunks and sets of lists are kept for the
 * next call.
 *
 * A frame inside another takes its charge from the call's memory, and gives it back when it ends;
 * else recursion would get round the limit.
 */
#include <string.h>

#include "vm/vm_int.h"

#define CHUNK_BYTES (64u * 1024u - sizeof(vm_chunk))
#define CHUNKS_KEPT 8u  /* between calls: half a megabyte where no frame is larger than a chunk */
#define PARKED_SETS 64u /* beyond so many in the pools their lists keep no rows' memory */
#define SETS_KEPT 1024u /* as many as the default depth */

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
  cx->nchunks++;
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

static void pool_put(vm_context *cx, unsigned fn, vm_lists *set) {
  set->next = cx->pools[fn];
  cx->pools[fn] = set;
  cx->nsets++;
}

static vm_lists *lists_take(vm_context *cx, const vm_code *code, unsigned fn) {
  vm_lists *set = cx->pools[fn];
  if (set) {
    cx->pools[fn] = set->next;
    cx->nsets--;
  } else {
    set = lists_new(cx, code->fn);
  }
  if (set && !lists_complete(cx, code, set)) {
    pool_put(cx, fn, set);
    return NULL;
  }
  return set;
}

/* Of a frame of the function on top of the present one. */
static int64_t frame_charge(const vm_context *cx, const vm_code *code) {
  return cx->top ? (int64_t)code->charge : 0;
}

int vm_frame_enter(vm_context *cx, unsigned fn, const ls_val *args) {
  const vm_code *code = vm_code_of(cx->link->module, fn);
  size_t bytes = frame_bytes(code->fn);
  if (cx->depth >= cx->depth_limit)
    return VM_FAULT_DEPTH;
  int64_t charge = frame_charge(cx, code);
  if (charge > cx->budget.left)
    return VM_FAULT_MEMORY;
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
  cx->budget.left -= charge;
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
    if (l == NULL || (ls_list_is_idle(l) && l->charged == 0))
      continue;
    if (!ls_list_is_idle(l))
      ls_list_take_hint(l, &f->profile->ended[at]);
    if (cx->nsets < PARKED_SETS)
      ls_list_park(l);
    else
      ls_list_restart(l, NULL);
  }
  pool_put(cx, f->fn, set);
}

void vm_frame_leave(vm_context *cx) {
  vm_frame *f = cx->top;
  vm_chunk *chunk = cx->chunk;
  if (f->lists)
    lists_give(cx, f);
  cx->top = f->up;
  cx->depth--;
  cx->budget.left += frame_charge(cx, f->code);
  chunk->used = (size_t)((char *)f - chunk_data(chunk));
  if (chunk->used == 0 && chunk->prev)
    cx->chunk = chunk->prev;
}

void vm_result_recycle(vm_context *cx, unsigned fn, vm_result *r) {
  const vm_code *code = vm_code_of(cx->link->module, fn);
  ls_list *rows = r->kind == VM_RESULT_ROWS ? r->rows : NULL;
  vm_lists *set = rows && !rows->frozen && !cx->running ? cx->pools[fn] : NULL;
  for (unsigned i = 0; set && i < code->nlocals; i++) {
    unsigned at = code->locals[i];
    if (set->list[at] || &cx->link->module->lists[code->fn->lists[at]].schema != rows->schema)
      continue;
    rows->charged = 0;
    rows->budget = &cx->budget;
    ls_list_park(rows);
    set->list[at] = rows;
    r->rows = NULL;
    return;
  }
  vm_result_release(r);
}

static void pool_free(vm_context *cx, unsigned fn) {
  const vm_code *code = vm_code_of(cx->link->module, fn);
  for (vm_lists *set = cx->pools[fn]; set;) {
    vm_lists *next = set->next;
    for (unsigned i = 0; i < code->nlocals; i++)
      ls_list_delete(set->list[code->locals[i]]);
    ls_mem_free(cx->mem, set, lists_bytes(code->fn));
    cx->nsets--;
    set = next;
  }
  cx->pools[fn] = NULL;
}

static void pools_free(vm_context *cx) {
  for (unsigned fn = 0; cx->pools && fn < cx->link->module->nfns; fn++)
    pool_free(cx, fn);
}

/* The chunk and those after it. */
static void chunks_free(vm_context *cx, vm_chunk *c) {
  while (c) {
    vm_chunk *next = c->next;
    ls_mem_free(cx->mem, c, sizeof(vm_chunk) + c->bytes);
    cx->nchunks--;
    c = next;
  }
}

/* With no frame left the context's chunk is the first. */
void vm_frames_free(vm_context *cx) {
  chunks_free(cx, cx->chunk);
  cx->chunk = NULL;
  pools_free(cx);
}

void vm_frames_trim(vm_context *cx) {
  if (cx->nsets > SETS_KEPT)
    pools_free(cx);
  if (cx->nchunks <= CHUNKS_KEPT)
    return;
  vm_chunk *last = cx->chunk;
  for (unsigned i = 1; i < CHUNKS_KEPT; i++)
    last = last->next;
  chunks_free(cx, last->next);
  last->next = NULL;
}

static uint64_t pool_bytes(const vm_context *cx, unsigned fn) {
  const vm_code *code = vm_code_of(cx->link->module, fn);
  uint64_t bytes = 0;
  for (const vm_lists *set = cx->pools[fn]; set; set = set->next)
    for (unsigned i = 0; i < code->nlocals; i++)
      if (set->list[code->locals[i]])
        bytes += ls_list_bytes(set->list[code->locals[i]]);
  return bytes;
}

void vm_frames_shrink(vm_context *cx, uint64_t kept) {
  uint64_t bytes = 0;
  for (unsigned fn = 0; cx->pools && fn < cx->link->module->nfns; fn++)
    bytes += pool_bytes(cx, fn);
  if (bytes > kept)
    pools_free(cx);
}
