/* vm/vm_context.c - making, setting and asking a context. Running one is in vm_call.c. */
#include <stdatomic.h>

#include "vm/vm_int.h"

#define KEPT_BYTES (UINT64_C(1) << 20) /* of each kind, after a call that failed */

static bool context_init(vm_context *cx) {
  const vm_link *k = cx->link;
  ls_texts *base = cx->snap ? ls_snapshot_texts(cx->snap) : ls_store_texts(k->store);
  cx->texts = ls_texts_overlay(base);
  if (cx->texts == NULL || vm_profile_init(cx) != LS_OK)
    return false;
  if (k->module->nfns == 0)
    return true;
  cx->pools = ls_mem_zalloc(cx->mem, sizeof(vm_lists *) * k->module->nfns);
  return cx->pools != NULL;
}

/* Asked by what takes long in one instruction: the call is looked after as at a loop header. */
static bool context_stopped(void *user) {
  const vm_context *cx = user;
  if (cx->watch != NULL)
    cx->watch(cx->watch_user, cx->work);
  return atomic_load_explicit(cx->cancel, memory_order_relaxed) != 0;
}

vm_context *vm_context_on(vm_link *k, ls_snapshot *snap) {
  vm_context *cx = ls_mem_zalloc(k->mem, sizeof *cx);
  if (cx == NULL)
    return NULL;
  cx->link = k;
  cx->mem = k->mem;
  cx->consts = k->consts;
  cx->snap = snap ? ls_snapshot_hold(snap) : NULL;
  cx->cancel = &cx->never;
  cx->execute = vm_interp;
  cx->poll_work = VM_POLL_WORK;
  cx->budget = (ls_budget){.stop = context_stopped, .user = cx};
  vm_context_limit(cx, &(vm_limits){0});
  vm_entries_enter(cx);
  if (context_init(cx))
    return cx;
  vm_context_delete(cx);
  return NULL;
}

vm_context *vm_context_new(vm_link *k) { return vm_context_on(k, NULL); }

void vm_context_delete(vm_context *cx) {
  if (cx == NULL)
    return;
  vm_entries_leave(cx);
  vm_frames_free(cx);
  vm_profile_free(cx);
  if (cx->pools)
    ls_mem_free(cx->mem, cx->pools, sizeof(vm_lists *) * cx->link->module->nfns);
  ls_mem_free(cx->mem, cx->scratch, cx->scratch_bytes);
  if (cx->texts)
    ls_texts_delete(cx->texts);
  if (cx->snap)
    ls_snapshot_release(cx->snap);
  ls_mem_free(cx->mem, cx, sizeof *cx);
}

/* Texts that a call made are its own: one that failed leaves none behind. */
void vm_context_trim(vm_context *cx) {
  if (cx->scratch_bytes > KEPT_BYTES) {
    ls_mem_free(cx->mem, cx->scratch, cx->scratch_bytes);
    cx->scratch = NULL;
    cx->scratch_bytes = 0;
  }
  ls_texts_shrink(cx->texts, KEPT_BYTES);
  vm_frames_shrink(cx, KEPT_BYTES);
}

void vm_context_limit(vm_context *cx, const vm_limits *limits) {
  cx->work_limit = limits->work ? limits->work : UINT64_MAX;
  cx->memory_limit =
      limits->memory && limits->memory < (uint64_t)INT64_MAX ? (int64_t)limits->memory : INT64_MAX;
  cx->depth_limit = limits->depth ? limits->depth : VM_DEFAULT_DEPTH;
}

void vm_context_host(vm_context *cx, vm_host_call call, void *user) {
  cx->host = call;
  cx->host_user = user;
}

void vm_context_direct(vm_context *cx, const vm_direct *table, vm_host_settle settle) {
  cx->direct = table;
  cx->settle = settle;
}

void vm_context_charge(vm_context *cx, uint64_t work) {
  cx->extra = work < VM_MOST_EXTRA - cx->extra ? cx->extra + work : VM_MOST_EXTRA;
}

void vm_context_watch(vm_context *cx, vm_watch watch, void *user) {
  cx->watch = watch;
  cx->watch_user = user;
}

void vm_context_cancel_flag(vm_context *cx, const _Atomic int *flag) {
  cx->cancel = flag ? flag : &cx->never;
}

ls_texts *vm_context_texts(vm_context *cx) {
  cx->texts_kept = true;
  return cx->texts;
}

const ls_texts *vm_context_read_texts(const vm_context *cx) { return cx->texts; }

void vm_context_reset_texts(vm_context *cx) {
  if (cx->running)
    return; /* a host function's texts belong to the call it serves */
  ls_texts_reset(cx->texts);
  cx->texts_kept = true;
}

uint64_t vm_context_work(const vm_context *cx) { return cx->work; }
const vm_fault *vm_context_fault(const vm_context *cx) { return &cx->fault; }
