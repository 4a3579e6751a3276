/* lists/ls_store.c - lists that last, events on them, and snapshots of them.
 *
 * A snapshot is one frozen header for each list; headers hold the blocks and tree nodes.  The
 * owner copies before it writes to what it shares, readers write nothing but counts of holders,
 * and those are atomic.  What lists borrow from their store (policy) lives in a core that
 * snapshots hold too, so that they may outlive it.
 */
#include <stdatomic.h>
#include <string.h>

#include "lists/ls_undo.h"

typedef struct {
  atomic_uint holders;
  ls_mem *mem;
  ls_texts *texts;
  ls_policy policy;
} core;

struct ls_store {
  core *core;
  ls_undo *undo;
  uint32_t texts_before; /* texts when the event began */
  bool in_event;
  unsigned n;
  ls_list *list[];
};

struct ls_snapshot {
  atomic_uint holders;
  core *core;
  unsigned n;
  ls_list *list[];
};

static core *core_new(ls_mem *mem, const ls_policy *policy) {
  core *c = ls_mem_alloc(mem, sizeof *c);
  if (c == NULL)
    return NULL;
  atomic_init(&c->holders, 1);
  c->mem = mem;
  c->policy = policy != NULL ? *policy : ls_policy_default;
  c->texts = ls_texts_new(mem);
  if (c->texts != NULL)
    return c;
  ls_mem_free(mem, c, sizeof *c);
  return NULL;
}

static void core_drop(core *c) {
  if (c == NULL || atomic_fetch_sub_explicit(&c->holders, 1, memory_order_acq_rel) != 1)
    return;
  ls_texts_delete(c->texts);
  ls_mem_free(c->mem, c, sizeof *c);
}

static size_t store_bytes(unsigned n) { return sizeof(ls_store) + n * sizeof(ls_list *); }
static size_t snapshot_bytes(unsigned n) { return sizeof(ls_snapshot) + n * sizeof(ls_list *); }

static bool store_fill(ls_store *s, const ls_schema *const *schemas, ls_mem *mem,
                       const ls_policy *policy) {
  s->core = core_new(mem, policy);
  s->undo = ls_undo_new(mem);
  if (s->core == NULL || s->undo == NULL)
    return false;
  for (unsigned i = 0; i < s->n; i++) {
    ls_list *l = ls_list_new(schemas[i], mem, s->core->texts, &s->core->policy, NULL);
    if (l == NULL)
      return false;
    l->stored = true;
    s->list[i] = l;
  }
  return true;
}

ls_store *ls_store_new(const ls_schema *const *schemas, unsigned n, ls_mem *mem,
                       const ls_policy *policy) {
  ls_store *s = ls_mem_zalloc(mem, store_bytes(n));
  if (s == NULL)
    return NULL;
  s->n = n;
  if (store_fill(s, schemas, mem, policy))
    return s;
  for (unsigned i = 0; i < n; i++)
    ls_list_delete(s->list[i]);
  ls_undo_delete(s->undo);
  core_drop(s->core);
  ls_mem_free(mem, s, store_bytes(n));
  return NULL;
}

void ls_store_delete(ls_store *s) {
  if (s == NULL)
    return;
  if (s->in_event)
    ls_store_rollback(s);
  ls_mem *mem = s->core->mem;
  for (unsigned i = 0; i < s->n; i++)
    ls_list_delete(s->list[i]);
  ls_undo_delete(s->undo);
  core_drop(s->core);
  ls_mem_free(mem, s, store_bytes(s->n));
}

unsigned ls_store_count(const ls_store *s) { return s->n; }
ls_list *ls_store_list(ls_store *s, unsigned i) { return s->list[i]; }
ls_texts *ls_store_texts(ls_store *s) { return s->core->texts; }

ls_status ls_store_begin(ls_store *s, ls_budget *budget) {
  if (s->in_event)
    return LS_UNSUITABLE;
  s->in_event = true;
  s->texts_before = ls_texts_count(s->core->texts);
  for (unsigned i = 0; i < s->n; i++) {
    s->list[i]->undo = s->undo;
    ls_list_start_charge(s->list[i], budget);
  }
  return LS_OK;
}

static void event_end(ls_store *s) {
  for (unsigned i = 0; i < s->n; i++) {
    s->list[i]->undo = NULL;
    ls_list_start_charge(s->list[i], NULL);
  }
  s->in_event = false;
}

void ls_store_commit(ls_store *s) {
  if (!s->in_event)
    return;
  event_end(s);
  ls_undo_tidy(s->undo, false);
  ls_undo_forget(s->undo);
}

/* The event's texts go as well, where nobody can have met one: readers of snapshots on other
 * threads may have made overlays while it ran. */
void ls_store_rollback(ls_store *s) {
  if (!s->in_event)
    return;
  ls_undo_play(s->undo);
  event_end(s);
  ls_undo_tidy(s->undo, true);
  ls_undo_forget(s->undo);
  if (atomic_load_explicit(&s->core->holders, memory_order_acquire) == 1 &&
      !ls_undo_keeps_texts(s->undo))
    ls_texts_truncate(s->core->texts, s->texts_before);
}

ls_status ls_store_swap(ls_store *s, unsigned i, ls_list *l) {
  if (s->in_event || l->frozen)
    return LS_UNSUITABLE;
  if (ls_shape_layout(l->shape) == LS_HASH) {
    ls_status st = ls_list_relayout(l, LS_TREE);
    if (st != LS_OK)
      return st;
  }
  ls_list_take_blocks(s->list[i], l);
  return LS_OK;
}

uint64_t ls_store_digest(const ls_store *s) {
  uint64_t digest = 0;
  for (unsigned i = 0; i < s->n; i++)
    digest = ls_list_digest(s->list[i], digest);
  return digest;
}

ls_list *ls_list_share(ls_list *l) {
  ls_list *copy = ls_list_new(l->schema, l->mem, l->texts, l->policy, NULL);
  if (copy == NULL)
    return NULL;
  copy->shape = l->shape;
  copy->version = l->version;
  copy->count = l->count;
  copy->u = l->u;
  memcpy(copy->col, l->col, l->schema->ncols * sizeof l->col[0]);
  copy->stored = l->stored;
  copy->fresh = l->fresh;
  copy->shared = l->shared;
  copy->frozen = true;
  ls_ops(l)->share(l, copy);
  ls_list_update_room(copy);
  if (l->frozen || l->fresh)
    return copy;
  l->shared = true;
  if (ls_shape_layout(l->shape) == LS_TREE)
    l->u.tree.epoch++;
  ls_list_update_room(l);
  return copy;
}

/* Own copies of what a share holds. */
static ls_status share_part(ls_list *copy) {
  return ls_shape_layout(copy->shape) == LS_TREE ? ls_tree_own_all(copy)
                                                 : ls_ops(copy)->unshare(copy);
}

ls_list *ls_list_freeze(ls_list *l) {
  bool was_shared = l->shared;
  ls_list *copy = ls_list_share(l);
  if (copy == NULL || l->undo == NULL)
    return copy;
  ls_status st = share_part(copy);
  if (st != LS_OK) {
    ls_list_delete(copy);
    copy = NULL;
  }
  l->shared = was_shared;
  if (ls_shape_layout(l->shape) == LS_TREE && !l->fresh)
    l->u.tree.epoch--;
  return copy;
}

static ls_snapshot *snapshot_of(ls_store *s) {
  ls_snapshot *p = ls_mem_zalloc(s->core->mem, snapshot_bytes(s->n));
  if (p == NULL)
    return NULL;
  atomic_init(&p->holders, 1);
  p->core = s->core;
  atomic_fetch_add_explicit(&s->core->holders, 1, memory_order_relaxed);
  p->n = s->n;
  return p;
}

ls_snapshot *ls_snapshot_take(ls_store *s) {
  if (s->in_event)
    return NULL;
  ls_snapshot *p = snapshot_of(s);
  for (unsigned i = 0; p != NULL && i < s->n; i++) {
    p->list[i] = ls_list_share(s->list[i]);
    if (p->list[i] != NULL)
      continue;
    ls_snapshot_release(p);
    p = NULL;
  }
  return p;
}

ls_snapshot *ls_snapshot_hold(ls_snapshot *s) {
  atomic_fetch_add_explicit(&s->holders, 1, memory_order_relaxed);
  return s;
}

void ls_snapshot_release(ls_snapshot *s) {
  if (s == NULL || atomic_fetch_sub_explicit(&s->holders, 1, memory_order_acq_rel) != 1)
    return;
  core *c = s->core;
  for (unsigned i = 0; i < s->n; i++)
    ls_list_delete(s->list[i]);
  ls_mem_free(c->mem, s, snapshot_bytes(s->n));
  core_drop(c);
}

ls_list *ls_snapshot_list(ls_snapshot *s, unsigned i) { return s->list[i]; }
ls_texts *ls_snapshot_texts(ls_snapshot *s) { return s->core->texts; }

uint64_t ls_snapshot_digest(const ls_snapshot *s) {
  uint64_t digest = 0;
  for (unsigned i = 0; i < s->n; i++)
    digest = ls_list_digest(s->list[i], digest);
  return digest;
}
