/* lists/ls_undo.h - the undo log and sharing of lists, for ls_undo.c and ls_store.c. */
#ifndef PURE_LISTS_UNDO_H
#define PURE_LISTS_UNDO_H

#include "lists/lists_int.h"

ls_undo *ls_undo_new(ls_mem *m);
void ls_undo_delete(ls_undo *u); /* NULL is fine; must be empty */
/* Undoes what was noted, the last first.  l->undo of every list must still be set. */
void ls_undo_play(ls_undo *u);
/* Tidies trees whose rows were erased: by the event, or by playing it backwards (`played`).
 * l->undo of every list must be NULL by now. */
void ls_undo_tidy(ls_undo *u, bool played);
void ls_undo_forget(ls_undo *u); /* the log is empty again */
/* Playing may have left ids of the event's texts in separators of a tree. */
bool ls_undo_keeps_texts(const ls_undo *u);

/* A header of its own that holds l's blocks; frozen, no budget, no undo.  l shall copy before
 * it writes.  A frozen l is not written to.  NULL: no memory. */
ls_list *ls_list_share(ls_list *l);

#endif
