/* vm/lang/lang_effects.h - which functions change which stored lists, and which statements make
 * the rows of a list move. */
#ifndef PURE_VM_LANG_EFFECTS_H
#define PURE_VM_LANG_EFFECTS_H

#include "vm/lang/lang_int.h"

size_t lang_effects_bytes(const lang_cx *cx); /* of lang_fn.writes */
void lang_effects_note(lang_cx *cx, lang_fn *fn, lang_list *list, lang_span at);
/* From callees to callers, to the end. */
void lang_effects_spread(lang_cx *cx);
bool lang_effects_writes(const lang_fn *fn, const lang_list *stored);
/* A stored list that it changes, itself if possible, or NULL. */
const lang_list *lang_effects_list(const lang_cx *cx, const lang_fn *fn);

/* Every expression and statement of a block, inner ones included. */
typedef struct {
  void (*expr)(void *user, const lang_expr *e);
  void (*stmt)(void *user, const lang_stmt *s); /* before what it contains */
  void *user;
} lang_visitor;
void lang_visit_block(const lang_visitor *v, const lang_block *b);
void lang_visit_expr(const lang_visitor *v, const lang_expr *e);

/* Calls back with each list whose rows may move, some more than once, and with each function
 * called. */
typedef struct {
  void (*list)(void *user, lang_list *list);
  void (*call)(void *user, lang_fn *fn);
  void *user;
} lang_moves;
/* In what a loop does again and again: its block and, of a while, its condition. */
void lang_find_moves(const lang_moves *m, const lang_stmt *loop);

#endif
