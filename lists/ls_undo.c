/* lists/ls_undo.c - the undo log of an event.
 *
 * Notes lie one behind the other in words, each ending in the list and a tag, so that they
 * can be read backwards:
 *
 *   insert  [key values, or the position][list][tag]
 *   erase   [all values][list][tag]
 *   set     [key values, or the position][the old value][list][tag]
 *   set at  [the position in an array][the old value][list][tag]
 *   clear   [a frozen share of the list][list][tag]
 *
 * Playing is forgiving: a note whose write never came about (memory, budget) finds its row
 * missing or present already, and is passed over.
 */
#include "lists/ls_undo.h"

#include <string.h>

typedef struct {
  ls_note_kind kind;
  unsigned col;
  ls_list *list;
  const uint64_t *words;
  unsigned n;
} note;

#define FIRST_CAP 512u
#define KEPT_CAP ((size_t)1 << 16) /* words kept between events */

ls_undo *ls_undo_new(ls_mem *m) {
  ls_undo *u = ls_mem_zalloc(m, sizeof *u);
  if (u != NULL)
    u->mem = m;
  return u;
}

void ls_undo_delete(ls_undo *u) {
  if (u == NULL)
    return;
  ls_mem_free(u->mem, u->words, u->cap * sizeof *u->words);
  ls_mem_free(u->mem, u, sizeof *u);
}

static ls_status reserve(ls_undo *u, size_t n) {
  if (u->cap - u->n >= n)
    return LS_OK;
  size_t cap = u->cap < FIRST_CAP ? FIRST_CAP : u->cap * 2;
  while (cap - u->n < n)
    cap *= 2;
  uint64_t *words = ls_mem_resize(u->mem, u->words, u->cap * sizeof *words, cap * sizeof *words);
  if (words == NULL)
    return LS_NOMEM;
  u->words = words;
  u->cap = cap;
  return LS_OK;
}

/* Where a note of n words goes, its end written; NULL: no memory. */
static uint64_t *note_new(ls_list *l, ls_note_kind kind, unsigned col, unsigned n) {
  ls_undo *u = l->undo;
  if (reserve(u, n + 2) != LS_OK)
    return NULL;
  uint64_t *words = u->words + u->n;
  words[n] = (uint64_t)(uintptr_t)l;
  words[n + 1] = LS_NOTE_TAG(kind, col, n);
  u->n += n + 2;
  return words;
}

/* The note that ends at `end`. */
static note note_before(const ls_undo *u, size_t end) {
  uint64_t tag = u->words[end - 1];
  note v = {.kind = (ls_note_kind)(tag & 0xff), .col = (unsigned)(tag >> 8 & 0xffff)};
  v.n = (unsigned)(tag >> 32);
  v.list = (ls_list *)(uintptr_t)u->words[end - 2];
  v.words = u->words + end - 2 - v.n;
  return v;
}

static unsigned name_words(const ls_list *l) {
  return l->schema->nkeys != 0 ? l->schema->nkeys : 1;
}

ls_status ls_undo_note_insert(ls_list *l, const ls_val *row) {
  if (l->undo == NULL)
    return LS_OK;
  uint64_t *words = note_new(l, LS_NOTE_INSERT, 0, name_words(l));
  if (words == NULL)
    return LS_NOMEM;
  words[0] = l->count;
  for (unsigned c = 0; c < l->schema->nkeys; c++)
    words[c] = row[c].u;
  return LS_OK;
}

ls_status ls_undo_note_erase(ls_list *l, ls_row h) {
  if (l->undo == NULL)
    return LS_OK;
  uint64_t *words = note_new(l, LS_NOTE_ERASE, 0, l->schema->ncols);
  if (words == NULL)
    return LS_NOMEM;
  for (unsigned c = 0; c < l->schema->ncols; c++)
    words[c] = ls_list_get(l, h, c).u;
  return LS_OK;
}

ls_status ls_undo_note_set(ls_list *l, ls_row h, unsigned col) {
  if (l->undo == NULL)
    return LS_OK;
  unsigned n = name_words(l);
  uint64_t *words = note_new(l, LS_NOTE_SET, col, n + 1);
  if (words == NULL)
    return LS_NOMEM;
  words[0] = h;
  for (unsigned c = 0; c < l->schema->nkeys; c++)
    words[c] = ls_list_get(l, h, c).u;
  words[n] = ls_list_get(l, h, col).u;
  return LS_OK;
}

ls_status ls_undo_note_clear(ls_list *l) {
  if (l->undo == NULL)
    return LS_OK;
  if (reserve(l->undo, 3) != LS_OK)
    return LS_NOMEM;
  ls_list *share = ls_list_share(l);
  if (share == NULL)
    return LS_NOMEM;
  note_new(l, LS_NOTE_CLEAR, 0, 1)[0] = (uint64_t)(uintptr_t)share;
  return LS_OK;
}

static bool find(ls_list *l, const note *v, ls_row *h) {
  ls_val key[LS_MAX_KEYS];
  memcpy(key, v->words, l->schema->nkeys * sizeof *key);
  return ls_ops(l)->find(l, l->texts, key, h) == LS_OK;
}

static bool has_text_key(const ls_list *l) {
  for (unsigned c = 0; c < l->schema->nkeys; c++)
    if (l->schema->cols[c].type == LS_TEXT)
      return true;
  return false;
}

static void play_insert(ls_undo *u, const note *v) {
  ls_list *l = v->list;
  ls_row h;
  if (l->schema->nkeys == 0) {
    if (l->count <= v->words[0])
      return;
    l->count = v->words[0];
    l->version++;
  } else if (find(l, v, &h)) {
    (void)ls_ops(l)->erase(l, h);
    if (ls_shape_layout(l->shape) == LS_TREE && has_text_key(l))
      u->keeps_texts = true;
  }
}

static void play_erase(const note *v) {
  ls_list *l = v->list;
  ls_val row[LS_MAX_COLS];
  ls_row h;
  if (find(l, v, &h))
    return;
  memcpy(row, v->words, l->schema->ncols * sizeof *row);
  (void)ls_ops(l)->insert(l, l->texts, row, &h);
}

static void play_set(const note *v) {
  ls_list *l = v->list;
  ls_row h = v->words[0];
  if (l->schema->nkeys == 0 ? h >= l->count : !find(l, v, &h))
    return;
  (void)ls_ops(l)->set(l, &h, v->col, (ls_val){.u = v->words[v->n - 1]});
}

static void play_set_at(const note *v) {
  ls_row h = v->words[0];
  (void)ls_ops(v->list)->set(v->list, &h, v->col, (ls_val){.u = v->words[1]});
}

/* The share keeps in `shared` what the list was when it was made: alone again, the list is as
 * shared as then. */
static void play_clear(const note *v) {
  ls_list *share = (ls_list *)(uintptr_t)v->words[0];
  ls_list_take_blocks(v->list, share);
  ls_list_delete(share);
}

void ls_undo_play(ls_undo *u) {
  u->keeps_texts = false;
  for (size_t end = u->n; end > 0;) {
    note v = note_before(u, end);
    end -= v.n + 2;
    switch (v.kind) {
    case LS_NOTE_INSERT:
      play_insert(u, &v);
      break;
    case LS_NOTE_ERASE:
      play_erase(&v);
      break;
    case LS_NOTE_SET:
      play_set(&v);
      break;
    case LS_NOTE_SET_AT:
      play_set_at(&v);
      break;
    case LS_NOTE_CLEAR:
      play_clear(&v);
      u->words[end] = 0;
      break;
    }
  }
}

void ls_undo_tidy(ls_undo *u, bool played) {
  ls_note_kind erased = played ? LS_NOTE_INSERT : LS_NOTE_ERASE;
  for (size_t end = u->n; end > 0;) {
    note v = note_before(u, end);
    end -= v.n + 2;
    if (v.kind != erased || ls_shape_layout(v.list->shape) != LS_TREE)
      continue;
    ls_val key[LS_MAX_KEYS];
    memcpy(key, v.words, v.list->schema->nkeys * sizeof *key);
    ls_tree_tidy(v.list, key);
  }
}

void ls_undo_forget(ls_undo *u) {
  for (size_t end = u->n; end > 0;) {
    note v = note_before(u, end);
    end -= v.n + 2;
    if (v.kind == LS_NOTE_CLEAR)
      ls_list_delete((ls_list *)(uintptr_t)v.words[0]);
  }
  u->n = 0;
  if (u->cap <= KEPT_CAP)
    return;
  ls_mem_free(u->mem, u->words, u->cap * sizeof *u->words);
  u->words = NULL;
  u->cap = 0;
}

bool ls_undo_keeps_texts(const ls_undo *u) { return u->keeps_texts; }
