/* lists/ls_texts.c - dictionaries of texts.
 *
 * Entries live in chunks that never move: chunk k holds FIRST << k of them, so an id is found
 * with one count of leading zeros.  A table of ids (open addressing, linear probing) finds a
 * text by its bytes; bytes lie in an arena.
 *
 * A base has one writer at a time (its lock) and any number of readers, who take no lock:
 * the writer fills the entry, then the table's slot (release), then the count (release).  A
 * reader who saw the count therefore sees every entry and slot below it.  A table that grew
 * stays allocated until the base dies, for readers still in it; sizes double, so that all old
 * ones together are no larger than the present one.
 *
 * Ids are handed out in order and taken back in order (truncate), so probing chains need no
 * gravestones: a text's chain never runs over the slot of a later text.
 *
 * An overlay has the same parts without readers, and numbers its texts from LS_TEXT_OVERLAY.
 */
#include "lists/lists_int.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <xxhash.h>

#define FIRST_BITS 6u
#define FIRST (1u << FIRST_BITS)
#define CHUNKS (31u - FIRST_BITS)
#define ARENA_MIN ((size_t)4096 - 256)
#define ARENA_MAX ((size_t)1 << 20)

typedef struct {
  const char *bytes;
  uint32_t len;
  uint32_t hash;
} text_entry;

typedef struct text_table {
  struct text_table *older;
  size_t bytes; /* of this block */
  uint32_t mask;
  _Atomic uint32_t slot[]; /* index + 1; 0: empty */
} text_table;

typedef struct text_arena {
  struct text_arena *older;
  size_t cap, used;
  char bytes[];
} text_arena;

struct ls_texts {
  ls_mem *mem;
  ls_texts *base;         /* of an overlay, else NULL */
  uint32_t base_count;    /* of an overlay: what it sees of the base */
  _Atomic uint32_t count; /* texts of its own */
  text_entry *_Atomic chunk[CHUNKS];
  text_table *_Atomic table; /* NULL while there is no text */
  text_arena *arena;         /* newest first */
  atomic_uint holders;       /* of a base */
  pthread_mutex_t lock;      /* of a base */
};

#define NONE UINT32_MAX

static uint32_t own_count(const ls_texts *t) {
  return atomic_load_explicit(&t->count, memory_order_acquire);
}

static unsigned chunk_of(uint32_t index, uint32_t *at) {
  uint32_t n = index + FIRST;
  unsigned k = 31u - (unsigned)__builtin_clz(n) - FIRST_BITS;
  *at = n - (FIRST << k);
  return k;
}

static text_entry *own_entry(const ls_texts *t, uint32_t index) {
  uint32_t at;
  unsigned k = chunk_of(index, &at);
  return atomic_load_explicit(&t->chunk[k], memory_order_acquire) + at;
}

static const text_entry *entry_of(const ls_texts *t, uint32_t id) {
  if (id >= LS_TEXT_OVERLAY)
    return own_entry(t, id - LS_TEXT_OVERLAY);
  return own_entry(t->base != NULL ? t->base : t, id);
}

static uint32_t hash_of(const char *bytes, size_t len) {
  uint64_t h = XXH3_64bits(bytes, len);
  return (uint32_t)(h ^ h >> 32);
}

/* The index of a text among the first `limit` of t's own, or NONE. */
static uint32_t find_own(const ls_texts *t, const char *bytes, size_t len, uint32_t hash,
                         uint32_t limit) {
  const text_table *table = atomic_load_explicit(&t->table, memory_order_acquire);
  if (table == NULL || limit == 0)
    return NONE;
  for (uint32_t i = hash & table->mask;; i = (i + 1) & table->mask) {
    uint32_t s = atomic_load_explicit(&table->slot[i], memory_order_acquire);
    if (s == 0)
      return NONE;
    if (s > limit)
      continue;
    const text_entry *e = own_entry(t, s - 1);
    if (e->hash == hash && e->len == len && memcmp(e->bytes, bytes, len) == 0)
      return s - 1;
  }
}

static void table_add(text_table *table, uint32_t hash, uint32_t index) {
  uint32_t i = hash & table->mask;
  while (atomic_load_explicit(&table->slot[i], memory_order_relaxed) != 0)
    i = (i + 1) & table->mask;
  atomic_store_explicit(&table->slot[i], index + 1, memory_order_release);
}

/* Room for one more text than there are. */
static ls_status table_reserve(ls_texts *t) {
  text_table *old = atomic_load_explicit(&t->table, memory_order_relaxed);
  uint32_t count = own_count(t);
  if (old != NULL && count < old->mask / 2)
    return LS_OK;
  size_t slots = old != NULL ? ((size_t)old->mask + 1) * 2 : 2 * FIRST;
  size_t bytes = sizeof(text_table) + slots * sizeof(uint32_t);
  text_table *table = ls_mem_zalloc(t->mem, bytes);
  if (table == NULL)
    return LS_NOMEM;
  table->bytes = bytes;
  table->mask = (uint32_t)(slots - 1);
  for (uint32_t i = 0; i < count; i++)
    table_add(table, own_entry(t, i)->hash, i);
  if (t->base != NULL && old != NULL)
    ls_mem_free(t->mem, old, old->bytes); /* an overlay has no other readers */
  else
    table->older = old;
  atomic_store_explicit(&t->table, table, memory_order_release);
  return LS_OK;
}

static ls_status chunk_reserve(ls_texts *t, uint32_t index) {
  uint32_t at;
  unsigned k = chunk_of(index, &at);
  if (k >= CHUNKS)
    return LS_LIMIT;
  if (atomic_load_explicit(&t->chunk[k], memory_order_relaxed) != NULL)
    return LS_OK;
  text_entry *chunk = ls_mem_alloc(t->mem, ((size_t)FIRST << k) * sizeof *chunk);
  if (chunk == NULL)
    return LS_NOMEM;
  atomic_store_explicit(&t->chunk[k], chunk, memory_order_release);
  return LS_OK;
}

static char *arena_reserve(ls_texts *t, size_t len) {
  text_arena *a = t->arena;
  if (a != NULL && a->cap - a->used >= len)
    return a->bytes + a->used;
  size_t cap = a == NULL ? ARENA_MIN : a->cap * 2 <= ARENA_MAX ? a->cap * 2 : ARENA_MAX;
  if (cap < len)
    cap = len;
  text_arena *fresh = ls_mem_alloc(t->mem, sizeof *fresh + cap);
  if (fresh == NULL)
    return NULL;
  *fresh = (text_arena){.older = a, .cap = cap};
  t->arena = fresh;
  return fresh->bytes;
}

/* A text known to be new.  Fails without a trace but spare room. */
static ls_status add_own(ls_texts *t, const char *bytes, size_t len, uint32_t hash,
                         uint32_t *index) {
  uint32_t n = own_count(t);
  if (len > UINT32_MAX || n >= LS_TEXT_OVERLAY - 1)
    return LS_LIMIT;
  ls_status st = chunk_reserve(t, n);
  if (st == LS_OK)
    st = table_reserve(t);
  if (st != LS_OK)
    return st;
  char *copy = arena_reserve(t, len);
  if (copy == NULL)
    return LS_NOMEM;
  if (len != 0)
    memcpy(copy, bytes, len);
  t->arena->used += len;
  *own_entry(t, n) = (text_entry){.bytes = copy, .len = (uint32_t)len, .hash = hash};
  table_add(atomic_load_explicit(&t->table, memory_order_relaxed), hash, n);
  atomic_store_explicit(&t->count, n + 1, memory_order_release);
  *index = n;
  return LS_OK;
}

static void arena_pop(ls_texts *t) {
  text_arena *a = t->arena;
  t->arena = a->older;
  ls_mem_free(t->mem, a, sizeof *a + a->cap);
}

static void free_texts(ls_texts *t) {
  while (t->arena != NULL)
    arena_pop(t);
  text_table *table = atomic_load_explicit(&t->table, memory_order_relaxed);
  while (table != NULL) {
    text_table *older = table->older;
    ls_mem_free(t->mem, table, table->bytes);
    table = older;
  }
  for (unsigned k = 0; k < CHUNKS; k++)
    ls_mem_free(t->mem, atomic_load_explicit(&t->chunk[k], memory_order_relaxed),
                ((size_t)FIRST << k) * sizeof(text_entry));
}

static void delete_parts(ls_texts *t) {
  free_texts(t);
  ls_mem_free(t->mem, t, sizeof *t);
}

ls_texts *ls_texts_new(ls_mem *m) {
  ls_texts *t = ls_mem_zalloc(m, sizeof *t);
  if (t == NULL)
    return NULL;
  t->mem = m;
  atomic_init(&t->holders, 1);
  uint32_t id;
  if (pthread_mutex_init(&t->lock, NULL) != 0) {
    ls_mem_free(m, t, sizeof *t);
    return NULL;
  }
  if (add_own(t, "", 0, hash_of("", 0), &id) != LS_OK) {
    ls_texts_release(t);
    return NULL;
  }
  return t;
}

ls_texts *ls_texts_overlay(ls_texts *base) {
  ls_texts *t = ls_mem_zalloc(base->mem, sizeof *t);
  if (t == NULL)
    return NULL;
  ls_texts_hold(base);
  t->mem = base->mem;
  t->base = base;
  t->base_count = own_count(base);
  return t;
}

void ls_texts_hold(ls_texts *base) {
  atomic_fetch_add_explicit(&base->holders, 1, memory_order_relaxed);
}

void ls_texts_release(ls_texts *base) {
  if (atomic_fetch_sub_explicit(&base->holders, 1, memory_order_acq_rel) != 1)
    return;
  pthread_mutex_destroy(&base->lock);
  delete_parts(base);
}

void ls_texts_delete(ls_texts *t) {
  if (t == NULL)
    return;
  ls_texts *base = t->base;
  if (base != NULL)
    delete_parts(t);
  ls_texts_release(base != NULL ? base : t);
}

/* Takes back the texts from index `count` on. */
static void truncate_own(ls_texts *t, uint32_t count) {
  uint32_t n = own_count(t);
  if (count >= n)
    return;
  text_table *table = atomic_load_explicit(&t->table, memory_order_relaxed);
  atomic_store_explicit(&t->count, count, memory_order_release);
  for (uint32_t index = n; index-- > count;) {
    uint32_t i = own_entry(t, index)->hash & table->mask;
    while (atomic_load_explicit(&table->slot[i], memory_order_relaxed) != index + 1)
      i = (i + 1) & table->mask;
    atomic_store_explicit(&table->slot[i], 0, memory_order_release);
  }
  for (uint32_t index = count; index < n; index++) {
    const text_entry *e = own_entry(t, index);
    if (e->len == 0)
      continue; /* may lie at the end of an arena: any later one tells */
    uintptr_t at = (uintptr_t)e->bytes;
    while (at < (uintptr_t)t->arena->bytes || at >= (uintptr_t)t->arena->bytes + t->arena->cap)
      arena_pop(t);
    t->arena->used = at - (uintptr_t)t->arena->bytes;
    break;
  }
}

void ls_texts_reset(ls_texts *overlay) {
  truncate_own(overlay, 0);
  overlay->base_count = own_count(overlay->base);
}

static size_t own_bytes(const ls_texts *t) {
  size_t bytes = 0;
  for (const text_arena *a = t->arena; a; a = a->older)
    bytes += sizeof *a + a->cap;
  for (const text_table *table = atomic_load_explicit(&t->table, memory_order_relaxed); table;
       table = table->older)
    bytes += table->bytes;
  for (unsigned k = 0; k < CHUNKS; k++)
    if (atomic_load_explicit(&t->chunk[k], memory_order_relaxed))
      bytes += ((size_t)FIRST << k) * sizeof(text_entry);
  return bytes;
}

void ls_texts_shrink(ls_texts *overlay, size_t kept) {
  ls_texts_reset(overlay);
  if (own_bytes(overlay) <= kept)
    return;
  free_texts(overlay);
  *overlay =
      (ls_texts){.mem = overlay->mem, .base = overlay->base, .base_count = overlay->base_count};
}

void ls_texts_truncate(ls_texts *base, uint32_t count) {
  pthread_mutex_lock(&base->lock);
  truncate_own(base, count != 0 ? count : 1);
  pthread_mutex_unlock(&base->lock);
}

static ls_status intern_base(ls_texts *base, const char *bytes, size_t len, uint32_t hash,
                             uint32_t *id) {
  *id = find_own(base, bytes, len, hash, own_count(base));
  if (*id != NONE)
    return LS_OK;
  pthread_mutex_lock(&base->lock);
  ls_status st = LS_OK;
  *id = find_own(base, bytes, len, hash, own_count(base)); /* another writer's, meanwhile */
  if (*id == NONE)
    st = add_own(base, bytes, len, hash, id);
  pthread_mutex_unlock(&base->lock);
  return st;
}

/* Among what an overlay sees. */
static uint32_t find_overlay(const ls_texts *t, const char *bytes, size_t len, uint32_t hash) {
  uint32_t i = find_own(t->base, bytes, len, hash, t->base_count);
  if (i != NONE)
    return i;
  i = find_own(t, bytes, len, hash, own_count(t));
  return i != NONE ? i + LS_TEXT_OVERLAY : NONE;
}

ls_status ls_texts_intern(ls_texts *t, const char *bytes, size_t len, uint32_t *id) {
  uint32_t hash = hash_of(bytes, len);
  if (t->base == NULL)
    return intern_base(t, bytes, len, hash, id);
  uint32_t found = find_overlay(t, bytes, len, hash);
  if (found == NONE) {
    ls_status st = add_own(t, bytes, len, hash, &found);
    if (st != LS_OK)
      return st;
    found += LS_TEXT_OVERLAY;
  }
  *id = found;
  return LS_OK;
}

ls_status ls_texts_lookup(const ls_texts *t, const char *bytes, size_t len, uint32_t *id) {
  uint32_t hash = hash_of(bytes, len);
  uint32_t found = t->base != NULL ? find_overlay(t, bytes, len, hash)
                                   : find_own(t, bytes, len, hash, own_count(t));
  if (found == NONE)
    return LS_MISSING;
  *id = found;
  return LS_OK;
}

const char *ls_texts_get(const ls_texts *t, uint32_t id, size_t *len) {
  const text_entry *e = entry_of(t, id);
  *len = e->len;
  return e->bytes;
}

bool ls_texts_valid(const ls_texts *t, uint32_t id) {
  if (id < LS_TEXT_OVERLAY)
    return id < own_count(t->base != NULL ? t->base : t);
  return t->base != NULL && id - LS_TEXT_OVERLAY < own_count(t);
}

int ls_texts_compare(const ls_texts *t, uint32_t x, uint32_t y) {
  if (x == y)
    return 0;
  const text_entry *a = entry_of(t, x), *b = entry_of(t, y);
  int c = memcmp(a->bytes, b->bytes, a->len < b->len ? a->len : b->len);
  return c != 0 ? c : (a->len > b->len) - (a->len < b->len);
}

/* Whether the text of a base id may also have an id of the overlay. */
static bool is_young(const ls_texts *t, uint32_t id) {
  return t->base != NULL && id >= t->base_count && id < LS_TEXT_OVERLAY;
}

bool ls_texts_equal(const ls_texts *t, uint32_t x, uint32_t y) {
  if (x == y)
    return true;
  if (x < LS_TEXT_OVERLAY && y < LS_TEXT_OVERLAY)
    return false;
  return (is_young(t, x) || is_young(t, y)) && ls_texts_compare(t, x, y) == 0;
}

uint32_t ls_texts_canonical(const ls_texts *t, uint32_t id) {
  if (!is_young(t, id))
    return id;
  const text_entry *e = entry_of(t, id);
  uint32_t own = find_own(t, e->bytes, e->len, e->hash, own_count(t));
  return own != NONE ? own + LS_TEXT_OVERLAY : id;
}

ls_status ls_texts_adopt(ls_texts *t, uint32_t id, uint32_t *own) {
  *own = ls_texts_canonical(t, id);
  if (!is_young(t, *own))
    return LS_OK;
  const text_entry *e = entry_of(t, id);
  ls_status st = add_own(t, e->bytes, e->len, e->hash, own);
  *own += LS_TEXT_OVERLAY;
  return st;
}

uint32_t ls_texts_count(const ls_texts *t) { return own_count(t); }

ls_status ls_texts_publish(ls_texts *overlay, uint32_t id, uint32_t *base_id) {
  *base_id = id;
  if (id < LS_TEXT_OVERLAY)
    return LS_OK;
  const text_entry *e = entry_of(overlay, id);
  return intern_base(overlay->base, e->bytes, e->len, e->hash, base_id);
}

ls_mem *ls_texts_mem(const ls_texts *t) { return t->mem; }
