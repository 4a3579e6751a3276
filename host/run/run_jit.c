/* Watching the compiled tiers: PURE_JIT_STATS, PURE_JIT_DUMP and --dump, on standard error. */
#include "run.h"

#include <stdlib.h>
#include <string.h>

/* KIND,KIND...[:FUNCTION] */
static int read_dump(run_options *o, const char *text) {
  static const char *const kinds[] = {"ir", "llvm", "asm"};
  size_t length = strcspn(text, ":");
  if (text[length])
    o->dump_function = text + length + 1;
  while (length) {
    size_t n = strcspn(text, ",:"), kind = 0;
    if (n == 8 && memcmp(text, "bytecode", n) == 0) {
      o->disasm = true;
    } else {
      while (kind < 3 && (strlen(kinds[kind]) != n || memcmp(text, kinds[kind], n) != 0))
        kind++;
      if (kind == 3)
        return run_usage("PURE_JIT_DUMP: expected some of bytecode, ir, llvm, asm");
      o->dump |= 1u << kind;
    }
    length -= n < length ? n + 1 : n;
    text += n + (text[n] == ',');
  }
  return RUN_FINE;
}

int run_jit_environment(run_options *o) {
  const char *stats = getenv("PURE_JIT_STATS"), *dump = getenv("PURE_JIT_DUMP");
  o->jit_log = stats && strcmp(stats, "1") == 0;
  return dump && *dump ? read_dump(o, dump) : RUN_FINE;
}

static void print_line(void *user, const char *line) {
  (void)user;
  fprintf(stderr, "jit: %s\n", line);
}

static void print_dump(void *user, const char *region, const char *kind, const char *text,
                       size_t length) {
  (void)user;
  fprintf(stderr, "---- %s of %s\n", kind, region);
  fwrite(text, 1, length, stderr);
  fputc('\n', stderr);
}

pure_jit_watch run_jit_watch(const run_options *o) {
  return (pure_jit_watch){
      .log = o->jit_log ? print_line : NULL,
      .dump = o->dump ? print_dump : NULL,
      .dump_kinds = o->dump,
      .dump_function = o->dump_function,
  };
}
