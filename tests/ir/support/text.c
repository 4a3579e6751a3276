#include "tests/ir/support/text.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  char *bytes;
  size_t len, cap;
} buffer;

static bool put(void *user, const char *bytes, size_t len) {
  buffer *b = user;
  if (b->len + len + 1 > b->cap) {
    b->cap = (b->len + len) * 2 + 1000;
    b->bytes = realloc(b->bytes, b->cap);
    if (b->bytes == NULL)
      abort();
  }
  memcpy(b->bytes + b->len, bytes, len);
  b->len += len;
  b->bytes[b->len] = 0;
  return true;
}

char *text_of(ir_region *r) {
  buffer b = {NULL, 0, 0};
  if (!ir_print(r, put, &b))
    abort();
  return b.bytes;
}

ir_region *text_region(ls_mem *mem, const char *where, const char *text, size_t len) {
  ir_region *r;
  uint32_t line;
  char why[200];
  if (ir_parse(mem, text, len, &r, &line, why, sizeof why) != IR_OK) {
    fprintf(stderr, "%s: line %u: %s\n", where, line, why);
    abort();
  }
  if (!ir_verify(r, why, sizeof why)) {
    fprintf(stderr, "%s: broken: %s\n", where, why);
    abort();
  }
  return r;
}

char *text_file(const char *path) {
  FILE *f = fopen(path, "rb");
  char *text = calloc(1, 1 << 20);
  if (f == NULL || text == NULL || fread(text, 1, (1 << 20) - 1, f) == 0) {
    fprintf(stderr, "%s: cannot be read\n", path);
    abort();
  }
  fclose(f);
  return text;
}

text_case text_case_read(const char *path) {
  text_case c = {.all = text_file(path)};
  char *line = strstr(c.all, "\n=====\n");
  if (line == NULL) {
    fprintf(stderr, "%s: there is no line of =====\n", path);
    abort();
  }
  line[1] = 0;
  c.given = c.all;
  c.wanted = line + 7;
  return c;
}

void text_case_free(text_case *c) { free(c->all); }

void text_case_check(const char *path, const char *got, const char *wanted) {
  if (strcmp(got, wanted) == 0)
    return;
  fprintf(stderr, "%s: got\n%s", path, got);
  abort();
}

unsigned text_each_file(const char *pattern, void (*each)(const char *path)) {
  const char *src = getenv("SRC");
  char path[4096];
  glob_t found;
  snprintf(path, sizeof path, "%s/%s", src ? src : ".", pattern);
  if (glob(path, 0, NULL, &found) != 0)
    return 0;
  unsigned n = (unsigned)found.gl_pathc;
  for (unsigned i = 0; i < n; i++)
    each(found.gl_pathv[i]);
  globfree(&found);
  return n;
}
