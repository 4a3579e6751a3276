/* vm/lang/lang_emit_fresh.c - which row handles are still good.
 *
 * The clock ticks at each finding and each move.  A row is fresh when it was found after its
 * list last moved.  Both are facts of the code just before the next instruction, on every path
 * to it:
 *
 *   A region is code that not every path takes.  At its end the clock readings go back to what
 *   they were (the undo trail), and what moved in it counts as moved now.  A region that control
 *   never leaves at its end (return, continue, ..) has no say.
 *   At a loop's header everything that moves anywhere in the loop counts as moved, once more
 *   after the loop.  So `continue` and `break` bring no news.
 *
 * A row found on one path only is found again later: one cheap instruction too many, never one
 * too few.
 */
#include "vm/lang/lang_emit.h"

#include <string.h>

uint16_t lang_slot_of(lang_emitter *f, lang_list *list) {
  if (list->slot_fn == f->fn)
    return list->slot;
  if (f->nslots == VM_MAX_LISTS) {
    lang_too_large(f, "lists", VM_MAX_LISTS);
    return 0;
  }
  list->slot_fn = f->fn;
  list->slot = (uint16_t)f->nslots;
  f->slots[f->nslots] = (lang_slot){list, 0};
  return (uint16_t)f->nslots++;
}

lang_row *lang_new_row(lang_emitter *f, lang_list *list, uint16_t base) {
  lang_row *row = lang_alloc(f->cx, sizeof *row);
  if (!row) {
    f->failed = true;
    return NULL;
  }
  row->list = list;
  row->slot = lang_slot_of(f, list);
  row->base = base;
  return row;
}

/* Remembers the old reading, for the end of the region. */
static void set_clock(lang_emitter *f, uint64_t *where) {
  if (f->regions > 0) {
    if (f->nundo == f->undo_cap) {
      uint32_t cap = f->undo_cap ? f->undo_cap * 2 : 64;
      lang_undo *undo = lang_alloc(f->cx, cap * sizeof *undo);
      if (!undo) {
        f->failed = true;
        return;
      }
      if (f->nundo)
        memcpy(undo, f->undo, f->nundo * sizeof *undo);
      f->undo = undo;
      f->undo_cap = cap;
    }
    f->undo[f->nundo++] = (lang_undo){where, *where};
  }
  *where = ++f->clock;
}

void lang_found(lang_emitter *f, lang_row *row) { set_clock(f, &row->fresh_at); }

void lang_moved(lang_emitter *f, unsigned slot) {
  set_clock(f, &f->slots[slot].moved_at);
  f->moved.bits[slot / 64] |= UINT64_C(1) << (slot % 64);
}

void lang_called(lang_emitter *f, const lang_fn *callee) {
  for (unsigned i = 0; i < f->nslots; i++) {
    if (f->slots[i].list->stored && lang_effects_writes(callee, f->slots[i].list))
      lang_moved(f, i);
  }
}

bool lang_is_fresh(const lang_emitter *f, const lang_row *row) {
  return row->list->nkeys == 0 || row->fresh_at > f->slots[row->slot].moved_at;
}

void lang_region_begin(lang_emitter *f, lang_region *r) {
  r->mark = f->nundo;
  r->moved = f->moved;
  f->moved = (lang_slots){{0}};
  f->regions++;
}

void lang_region_end(lang_emitter *f, lang_region *r, lang_slots *moved) {
  for (unsigned i = 0; i < 4 && f->reachable; i++)
    moved->bits[i] |= f->moved.bits[i];
  while (f->nundo > r->mark) {
    f->nundo--;
    *f->undo[f->nundo].where = f->undo[f->nundo].old;
  }
  f->moved = r->moved;
  f->regions--;
}

void lang_all_moved(lang_emitter *f, const lang_slots *slots) {
  for (unsigned i = 0; i < f->nslots; i++) {
    if (lang_has_slot(slots, i))
      lang_moved(f, i);
  }
}

typedef struct {
  lang_emitter *f;
  lang_slots slots;
} loop_moves;

static void add_list(void *user, lang_list *list) {
  loop_moves *m = user;
  if (list->slot_fn == m->f->fn)
    m->slots.bits[list->slot / 64] |= UINT64_C(1) << (list->slot % 64);
}

static void add_call(void *user, lang_fn *fn) {
  loop_moves *m = user;
  for (unsigned i = 0; i < m->f->nslots; i++) {
    lang_list *list = m->f->slots[i].list;
    if (list->stored && lang_effects_writes(fn, list))
      add_list(user, list);
  }
}

/* Lists that have no slot yet have no rows that could move. */
lang_slots lang_loop_moves(lang_emitter *f, const lang_stmt *loop) {
  loop_moves m = {f, {{0}}};
  lang_moves moves = {add_list, add_call, &m};
  lang_find_moves(&moves, loop);
  return m.slots;
}
