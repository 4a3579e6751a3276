/* vm/vm_listops.c - list instructions as functions: what `step` calls, and the interpreter where
 * a list is not in a layout that it handles inline.
 *
 * A block is [handle, version, key 0 .. key nkeys-1]; a cursor block goes on with
 * [next, end, prefix values, lo?, hi?].
 */
#include "vm/vm_int.h"

int vm_fault_of(ls_status s) {
  switch (s) {
  case LS_OK:
    return VM_FINE;
  case LS_MISSING:
    return VM_FAULT_MISSING;
  case LS_DUPLICATE:
    return VM_FAULT_DUPLICATE;
  case LS_STOPPED:
    return VM_FAULT_CANCELLED;
  case LS_NOMEM:
  case LS_LIMIT:
  case LS_UNSUITABLE:
  case LS_FROZEN: /* the verifier keeps queries from writing stored lists */
    break;
  }
  return VM_FAULT_MEMORY;
}

int vm_do_new(vm_frame *f, unsigned list) {
  ls_list *l = f->lists->list[list];
  ls_hint *ended = &f->profile->ended[list];
  if (!ls_list_is_idle(l))
    ls_list_take_hint(l, ended);
  return vm_fault_of(ls_list_restart(l, ended));
}

int vm_do_sort(vm_context *cx, ls_list *l, int64_t keys) {
  uint16_t key[8];
  unsigned n = 0;
  for (uint64_t rest = (uint64_t)keys; n < 8 && (rest & 0xff) != 0xff; rest >>= 8)
    key[n++] = (uint16_t)(rest & 0xff);
  cx->extra = vm_sem_sort_work(l->count);
  return vm_fault_of(ls_list_sort(l, cx->texts, key, n));
}

int vm_do_row(const ls_list *l, int64_t number, ls_val *handle) {
  if ((uint64_t)number >= l->count)
    return VM_FAULT_MISSING;
  handle->i = number;
  return VM_FINE;
}

/* Rows of positional lists may have gone; handles of keyed lists are fresh. */
static bool row_gone(const ls_list *l, ls_row h) { return l->schema->nkeys == 0 && h >= l->count; }

int vm_do_get(const ls_list *l, ls_row h, unsigned col, ls_val *out) {
  if (row_gone(l, h))
    return VM_FAULT_DELETED;
  *out = ls_list_get(l, h, col);
  return VM_FINE;
}

int vm_do_set(vm_context *cx, ls_list *l, ls_val *handle, unsigned col, ls_val v) {
  ls_row h = handle->u;
  if (row_gone(l, h))
    return VM_FAULT_DELETED;
  int fault = vm_fault_of(ls_list_set(l, cx->texts, &h, col, v));
  handle->u = h;
  return fault;
}

static void block_set(const ls_list *l, ls_val *block, ls_row h) {
  block[0].u = h;
  block[1].u = l->version;
}

static void block_set_key(const ls_list *l, ls_val *block) {
  for (unsigned k = 0; k < l->schema->nkeys; k++)
    block[2 + k] = ls_list_get(l, block[0].u, k);
}

int vm_do_find(vm_context *cx, ls_list *l, ls_val *block) {
  ls_row h;
  ls_status s = ls_list_find(l, cx->texts, block + 2, &h);
  if (s == LS_OK)
    block_set(l, block, h);
  return vm_fault_of(s);
}

int vm_do_refind(vm_context *cx, ls_list *l, ls_val *block) {
  if ((block[1].u & ~VM_REFOUND) == l->version)
    return VM_FINE;
  int fault = vm_do_find(cx, l, block);
  block[1].u |= VM_REFOUND;
  return fault == VM_FAULT_MISSING ? VM_FAULT_DELETED : fault;
}

int vm_do_add(vm_context *cx, ls_list *l, const ls_val *row) {
  ls_row h;
  return vm_fault_of(ls_list_insert(l, cx->texts, row, &h));
}

int vm_do_put(vm_context *cx, ls_list *l, const ls_val *row) {
  ls_row h;
  return vm_fault_of(ls_list_put(l, cx->texts, row, &h));
}

int vm_do_ensure(vm_context *cx, ls_list *l, ls_val *block, const ls_val *rest) {
  ls_row h;
  ls_status s = ls_list_ensure(l, cx->texts, block + 2, rest, &h);
  if (s == LS_OK)
    block_set(l, block, h);
  return vm_fault_of(s);
}

int vm_do_erase(vm_context *cx, ls_list *l, const ls_val *key) {
  return vm_fault_of(ls_list_erase(l, cx->texts, key));
}

int vm_do_clear(ls_list *l) { return vm_fault_of(ls_list_clear(l)); }

/* Slices */

static ls_slice slice_at(const ls_val *bounds, unsigned spec) {
  ls_slice s = {.prefix = bounds, .np = VM_SPEC_NP(spec)};
  bounds += s.np;
  s.has_lo = (spec & VM_SPEC_LO) != 0;
  s.has_hi = (spec & VM_SPEC_HI) != 0;
  if (s.has_lo)
    s.lo = *bounds++;
  if (s.has_hi)
    s.hi = *bounds;
  return s;
}

static ls_slice slice_of(const ls_list *l, const ls_val *block, unsigned spec) {
  return slice_at(block + 4 + l->schema->nkeys, spec);
}

static void cursor_set(const ls_list *l, ls_val *block, const ls_cursor *c) {
  block[2 + l->schema->nkeys].u = c->next;
  block[3 + l->schema->nkeys].u = c->end;
}

int vm_do_seek(vm_context *cx, ls_list *l, ls_val *block, unsigned spec) {
  ls_slice s = slice_of(l, block, spec);
  ls_cursor c = {0, 0};
  if (l->schema->nkeys) {
    ls_status status = ls_list_seek(l, cx->texts, &s, &c);
    if (status != LS_OK)
      return vm_fault_of(status);
  }
  cursor_set(l, block, &c);
  block_set(l, block, LS_NO_ROW);
  return VM_FINE;
}

static int next_positional(const ls_list *l, ls_val *block) {
  if (block[2].u >= l->count)
    return VM_JUMP;
  block[0].u = block[2].u++;
  return VM_FINE;
}

int vm_do_next(vm_context *cx, ls_list *l, ls_val *block, unsigned spec) {
  unsigned nkeys = l->schema->nkeys;
  if (nkeys == 0)
    return next_positional(l, block);
  ls_cursor c = {block[2 + nkeys].u, block[3 + nkeys].u};
  bool tracked = (spec & VM_SPEC_TRACKED) != 0;
  if (tracked && block[1].u != l->version) {
    ls_slice s = slice_of(l, block, spec);
    bool started = block[0].u != LS_NO_ROW;
    ls_status status = started ? ls_list_seek_after(l, cx->texts, &s, block + 2, &c)
                               : ls_list_seek(l, cx->texts, &s, &c);
    if (status != LS_OK)
      return vm_fault_of(status);
    block[1].u = l->version;
  }
  ls_row h;
  bool more = ls_list_next(l, &c, &h);
  cursor_set(l, block, &c);
  if (!more)
    return VM_JUMP;
  block[0].u = h;
  if (tracked)
    block_set_key(l, block);
  return VM_FINE;
}

int vm_do_scount(vm_context *cx, ls_list *l, const ls_val *bounds, unsigned spec, ls_val *out) {
  ls_slice s = slice_at(bounds, spec);
  uint64_t n;
  int fault = vm_fault_of(ls_list_slice_count(l, cx->texts, &s, &n));
  if (fault == VM_FINE)
    out->u = n;
  return fault;
}

int vm_do_edge(vm_context *cx, ls_list *l, ls_val *block, unsigned spec, bool last) {
  ls_slice s = slice_of(l, block, spec);
  ls_row h;
  ls_status status =
      last ? ls_list_last(l, cx->texts, &s, &h) : ls_list_first(l, cx->texts, &s, &h);
  if (status == LS_MISSING)
    return VM_JUMP;
  if (status != LS_OK)
    return vm_fault_of(status);
  block_set(l, block, h);
  if (spec & VM_SPEC_TRACKED)
    block_set_key(l, block);
  return VM_FINE;
}

int vm_do_retl(vm_context *cx, unsigned list) {
  vm_frame *f = cx->top;
  ls_list *l = f->lists->list[list];
  if (l->stored) {
    cx->rows = ls_list_freeze(l);
    return cx->rows ? VM_FINE : VM_FAULT_MEMORY;
  }
  ls_list_take_hint(l, &f->profile->ended[list]);
  cx->rows = l;
  f->lists->list[list] = NULL; /* the pool makes another */
  return VM_FINE;
}
