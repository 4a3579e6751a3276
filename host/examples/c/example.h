/* example.h - what the examples share: opening a program, and giving up. */
#ifndef PURE_EXAMPLE_H
#define PURE_EXAMPLE_H

#include <pure/pure.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pure_error error;

/* Goes on if all is well, else tells why not. */
static inline void must(pure_status status) {
  char text[1200];
  if (status == PURE_OK)
    return;
  pure_error_format(&error, text, sizeof text);
  fprintf(stderr, "%s: %s\n", pure_status_name(status), text);
  exit(1);
}

static inline pure_program *compile(pure_engine *engine, const char *text) {
  pure_program *program;
  must(pure_program_compile(engine, "example.pure", text, strlen(text), NULL, NULL, &program,
                            &error));
  return program;
}

#endif
