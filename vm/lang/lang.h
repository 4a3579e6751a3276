/* vm/lang/lang.h - the door of vm/lang/: source text to a verified module.
 *
 * Pure of side effects and of globals: any number of threads may compile at once.
 */
#ifndef PURE_VM_LANG_H
#define PURE_VM_LANG_H

#include "vm/vm_module.h"

typedef struct {
  uint32_t line, column; /* from 1; the column counts characters, not bytes */
  uint32_t width;        /* characters to underline, at least 1 */
  char message[256];     /* what is wrong and what was expected */
  char hint[128];        /* "did you mean `edges`?", or "" */
} lang_error;

/* Called for each error in the order of the text, at most LANG_MAX_ERRORS times. */
typedef void (*lang_report)(void *user, const lang_error *e);
#define LANG_MAX_ERRORS 20

/* text: UTF-8, not 0-terminated.  LS_OK with *out verified; LS_UNSUITABLE: there were errors,
 * all reported; LS_NOMEM. */
ls_status lang_compile(ls_mem *mem, const char *name, const char *text, size_t len, vm_module **out,
                       lang_report report, void *user);

/* The message people see: file:line:column, the line itself, a caret under the place, the hint.
 * Writes at most n bytes with the final 0; returns the full length. */
size_t lang_format_error(const char *name, const char *text, size_t len, const lang_error *e,
                         char *out, size_t n);

#endif
