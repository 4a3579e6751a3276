/* vm/vm_names.h - what names in a module must be. */
#ifndef PURE_VM_NAMES_H
#define PURE_VM_NAMES_H

#include "vm/vm_module.h"

/* [A-Za-z_][A-Za-z0-9_]*, at most VM_MAX_NAME bytes. */
bool vm_name_valid(const char *name, size_t len);
/* Sorts names; returns one that occurs twice, or NULL.  n log n whatever the names. */
const char *vm_names_repeated(const char **names, size_t n);

#endif
