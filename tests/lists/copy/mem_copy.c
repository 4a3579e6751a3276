/* A library with a copy of lists/ of its own, as the plug-in has one. */
#include "lists/mem/mem.h"

void *copy_alloc(ls_mem *m, size_t bytes);
void copy_free(ls_mem *m, void *block, size_t bytes);

void *copy_alloc(ls_mem *m, size_t bytes) { return ls_mem_alloc(m, bytes); }
void copy_free(ls_mem *m, void *block, size_t bytes) { ls_mem_free(m, block, bytes); }
