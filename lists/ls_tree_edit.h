/* lists/ls_tree_edit.h - tree operations that write; for ls_tree.c's table. */
#ifndef PURE_LISTS_TREE_EDIT_H
#define PURE_LISTS_TREE_EDIT_H

#include "lists/lists_int.h"

ls_status ls_tree_insert(ls_list *l, const ls_texts *tx, const ls_val *row, ls_row *h);
ls_status ls_tree_set(ls_list *l, ls_row *h, unsigned col, ls_val v);
ls_status ls_tree_erase(ls_list *l, ls_row h);
ls_status ls_tree_widen(ls_list *l, unsigned col, unsigned width);

#endif
