/* perf/support/text.h - whole files. */
#ifndef PURE_PERF_TEXT_H
#define PURE_PERF_TEXT_H

#include <stddef.h>

/* NULL: cannot be read.  Free it. */
char *text_read(const char *path, size_t *length);

#endif
