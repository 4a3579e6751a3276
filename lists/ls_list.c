/* lists/ls_list.c - the life of a list header, its charge and its room. */
#include "lists/ls_cols.h"

#include <string.h>

#define PARKED_ROWS 1024u /* of a list that keeps its blocks between calls */
#define LOGICAL_MIN 64u   /* rows: the smallest logical capacity that is not 0 */

const ls_layout_ops *ls_ops(const ls_list *l) {
  static const ls_layout_ops *const ops[LS_NLAYOUTS] = {
      [LS_FLAT] = &ls_flat_ops, [LS_DENSE] = &ls_dense_ops, [LS_HASH] = &ls_hash_ops,
      [LS_TREE] = &ls_tree_ops, [LS_ARRAY] = &ls_array_ops,
  };
  return ops[ls_shape_layout(l->shape)];
}

static size_t header_bytes(const ls_schema *s) {
  return sizeof(ls_list) + (size_t)s->ncols * sizeof(void *);
}

static void note_types(ls_list *l) {
  l->plain = true;
  for (unsigned c = 0; c < l->schema->nkeys; c++)
    l->plain = l->plain && ls_type_is_int(l->schema->cols[c].type);
  for (unsigned c = 0; c < l->schema->ncols; c++) {
    if (l->schema->cols[c].type == LS_REAL)
      l->reals |= UINT64_C(1) << (c < 63 ? c : 63);
    if (l->schema->cols[c].type == LS_TEXT)
      l->texty = true;
  }
}

ls_list *ls_list_new(const ls_schema *schema, ls_mem *mem, ls_texts *texts, const ls_policy *policy,
                     ls_budget *budget) {
  ls_list *l = ls_mem_zalloc(mem, header_bytes(schema));
  if (l == NULL)
    return NULL;
  l->version = 1;
  l->schema = schema;
  l->mem = mem;
  l->texts = texts;
  l->policy = policy != NULL ? policy : &ls_policy_default;
  l->shape = ls_policy_shape(l->policy, schema, LS_FLAT);
  l->budget = budget;
  l->fresh = true;
  l->stress = l->policy->stress_seed;
  note_types(l);
  return l;
}

static void give_charge_back(ls_list *l) {
  if (l->budget != NULL && !l->stored && !l->frozen)
    l->budget->left += (int64_t)l->charged;
  l->charged = 0;
}

void ls_list_delete(ls_list *l) {
  if (l == NULL)
    return;
  give_charge_back(l);
  ls_ops(l)->drop(l);
  ls_mem_free(l->mem, l, header_bytes(l->schema));
}

uint64_t ls_list_logical_bytes(const ls_list *l, uint64_t count) {
  if (count == 0)
    return 0;
  uint64_t cap = LOGICAL_MIN;
  if (count > LOGICAL_MIN)
    cap = UINT64_C(1) << (64 - __builtin_clzll(count - 1));
  return cap * (16u + 8u * (uint64_t)l->schema->ncols);
}

void ls_list_start_charge(ls_list *l, ls_budget *budget) {
  l->budget = budget;
  l->charged = ls_list_logical_bytes(l, l->count);
  ls_list_update_room(l);
}

/* Rows that blocks which are ours have cells for. */
static uint64_t rows_in_place(const ls_list *l) {
  switch (ls_shape_layout(l->shape)) {
  case LS_FLAT:
    for (unsigned c = 0; l->shared && c < l->schema->ncols; c++)
      if (l->count < ls_block_pinned(l->col[c]))
        return 0;
    return l->u.flat.cap;
  case LS_DENSE:
    return l->shared ? 0 : l->u.dense.cap;
  case LS_HASH:
    return l->shared ? 0 : l->u.hash.cap;
  case LS_TREE:
    return LS_MAX_ROWS; /* copies shared nodes itself */
  case LS_ARRAY:
    break;
  }
  return 0;
}

void ls_list_update_room(ls_list *l) {
  uint64_t room = 0;
  if (!l->frozen && l->undo == NULL && l->policy->stress_seed == 0)
    room = rows_in_place(l);
  if (l->budget != NULL) {
    uint64_t charged = l->charged / (16u + 8u * (uint64_t)l->schema->ncols);
    if (charged < room)
      room = charged;
  }
  if (room > LS_MAX_ROWS)
    room = LS_MAX_ROWS;
  l->room = room > l->count ? room : l->count;
}

ls_list *ls_list_twin(const ls_list *l) {
  ls_list *t = ls_list_new(l->schema, l->mem, l->texts, l->policy, NULL);
  if (t != NULL)
    t->stored = l->stored;
  return t;
}

/* The state of a new list, without its blocks. */
static void forget_blocks(ls_list *l) {
  memset(&l->u, 0, sizeof l->u);
  memset(l->col, 0, l->schema->ncols * sizeof l->col[0]);
  l->shape = ls_policy_shape(l->policy, l->schema, LS_FLAT);
  l->count = 0;
  l->lookups = 0;
  l->reorders = 0;
  l->shared = false;
  l->fresh = true;
  l->version++;
  ls_list_update_room(l);
}

void ls_list_empty(ls_list *l) {
  ls_ops(l)->drop(l);
  forget_blocks(l);
}

void ls_list_take_blocks(ls_list *l, ls_list *from) {
  ls_ops(l)->drop(l);
  l->shape = from->shape;
  l->u = from->u;
  memcpy(l->col, from->col, l->schema->ncols * sizeof l->col[0]);
  l->count = from->count;
  l->shared = from->shared;
  l->fresh = from->fresh;
  l->lookups = 0;
  l->reorders = 0;
  l->version++;
  ls_list_update_room(l);
  forget_blocks(from);
}

void ls_list_take_hint(const ls_list *l, ls_hint *out) {
  *out = (ls_hint){0};
  if (ls_list_is_idle(l))
    return;
  out->shape = l->shape;
  out->count = out->cap = l->count;
  switch (ls_shape_layout(l->shape)) {
  case LS_FLAT:
    out->cap = l->u.flat.cap;
    break;
  case LS_HASH:
    out->cap = l->u.hash.cap;
    break;
  case LS_DENSE:
    out->cap = l->u.dense.cap;
    out->base = l->u.dense.base;
    break;
  case LS_TREE:
  case LS_ARRAY:
    break;
  }
}

/* Whether a list can begin as the hint says. */
static bool hint_suits(const ls_list *l, const ls_hint *hint) {
  if (hint == NULL || (hint->count == 0 && hint->cap == 0))
    return false;
  switch (ls_shape_layout(hint->shape)) {
  case LS_FLAT:
    return l->schema->nkeys == 0;
  case LS_DENSE:
    return ls_policy_can_dense(l->schema);
  case LS_HASH:
    return l->schema->nkeys != 0 && !l->stored;
  case LS_TREE:
    return l->schema->nkeys != 0;
  case LS_ARRAY:
    break;
  }
  return false;
}

/* The blocks it has serve as they are; rows are forgotten. */
static bool reuse(ls_list *l, const ls_hint *hint) {
  if (l->shared || l->shape != hint->shape)
    return false;
  switch (ls_shape_layout(l->shape)) {
  case LS_FLAT:
    if (l->u.flat.cap != hint->cap)
      return false;
    break;
  case LS_DENSE:
    if (l->u.dense.cap != hint->cap || l->u.dense.base != hint->base)
      return false;
    memset(l->u.dense.present, 0, l->u.dense.cap / 8);
    break;
  case LS_HASH:
    if (l->u.hash.cap != hint->cap || l->u.hash.table == NULL)
      return false;
    memset(l->u.hash.table, 0, (l->u.hash.mask + 1) * sizeof l->u.hash.table[0]);
    l->u.hash.sorted = l->u.hash.changes = 0;
    break;
  case LS_TREE:
  case LS_ARRAY:
    return false;
  }
  l->count = 0;
  l->reorders = 0;
  l->version++;
  return true;
}

ls_status ls_list_restart(ls_list *l, const ls_hint *hint) {
  ls_status st = LS_OK;
  l->parked = false;
  give_charge_back(l);
  bool suits = hint_suits(l, hint);
  if (!suits || !reuse(l, hint)) {
    ls_list_empty(l);
    if (suits) {
      uint64_t flat = l->shape;
      l->shape = hint->shape;
      for (unsigned c = 0; c < l->schema->ncols; c++)
        if (l->schema->cols[c].type == LS_REAL)
          l->shape = ls_shape_with_width(l->shape, c, 3);
      st = ls_ops(l)->start(l, hint);
      if (st == LS_OK)
        l->fresh = false;
      if (st != LS_OK)
        l->shape = flat;
    }
  }
  ls_list_update_room(l);
  return st;
}

static bool keeps_blocks(const ls_list *l) {
  if (l->shared || l->frozen || l->fresh || l->policy->stress_seed != 0)
    return false;
  switch (ls_shape_layout(l->shape)) {
  case LS_FLAT:
    return l->u.flat.cap <= PARKED_ROWS;
  case LS_DENSE:
    return l->u.dense.cap <= PARKED_ROWS && l->u.dense.present != NULL;
  case LS_HASH:
    return l->u.hash.cap <= PARKED_ROWS && l->u.hash.table != NULL;
  case LS_TREE:
  case LS_ARRAY:
    break;
  }
  return false;
}

void ls_list_park(ls_list *l) {
  if (!keeps_blocks(l)) {
    (void)ls_list_restart(l, NULL); /* without a hint it needs no memory */
    return;
  }
  give_charge_back(l);
  if (ls_shape_layout(l->shape) == LS_DENSE)
    memset(l->u.dense.present, 0, l->u.dense.cap / 8);
  else if (ls_shape_layout(l->shape) == LS_HASH) {
    memset(l->u.hash.table, 0, (l->u.hash.mask + 1) * sizeof l->u.hash.table[0]);
    l->u.hash.sorted = l->u.hash.changes = 0;
  }
  l->count = 0;
  l->reorders = 0;
  l->version++;
  l->parked = true;
  ls_list_update_room(l);
}

uint64_t ls_list_bytes(const ls_list *l) { return header_bytes(l->schema) + ls_ops(l)->bytes(l); }

static bool check_header(const ls_list *l, char *why, size_t n) {
  ls_layout layout = ls_shape_layout(l->shape);
  if ((unsigned)layout >= LS_NLAYOUTS)
    return ls_check_says(why, n, "no such layout");
  if (l->count > l->room || l->room > LS_MAX_ROWS)
    return ls_check_says(why, n, "count and room do not fit");
  if (l->fresh && (layout != LS_FLAT || l->count != 0 || l->col[0] != NULL))
    return ls_check_says(why, n, "a fresh list is not empty");
  if (layout != LS_FLAT && l->schema->nkeys == 0)
    return ls_check_says(why, n, "a positional list is not flat");
  if (l->room > l->count && (l->frozen || l->undo != NULL))
    return ls_check_says(why, n, "a list that must ask has room");
  return true;
}

bool ls_list_check(const ls_list *l, char *why, size_t n) {
  return check_header(l, why, n) && ls_ops(l)->check(l, why, n);
}
