/* Watching the compiled tiers: PURE_JIT_STATS, PURE_JIT_DUMP and --dump, on standard error. */
#include "run.h"

#include <stdatomic.h>
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

/* From the thread that compiles. */
static _Atomic unsigned long dumps_printed;

static void print_dump(void *user, const char *region, const char *kind, const char *text,
                       size_t length) {
  (void)user;
  atomic_fetch_add(&dumps_printed, 1);
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

const pure_jit_options *run_jit_tiers(run_options *o) {
  if (!o->dump)
    return NULL;
  o->tiers = (pure_jit_options){.size = sizeof o->tiers, .threshold = 1};
  return &o->tiers;
}

static const char *dump_reason(const run *r, const pure_jit_stats *s) {
  if (r->o.jit == PURE_JIT_0)
    return "with tier 0 nothing is compiled";
  if (s->reason)
    return s->reason;
  if (s->refused)
    return "what was hot was refused; PURE_JIT_STATS=1 tells why";
  if (s->cached)
    return "all of it came from the cache; set PURE_JIT_CACHE=off";
  if (getenv("PURE_JIT_THRESHOLD"))
    return "no loop or function got hot; set PURE_JIT_SYNC=1 PURE_JIT_THRESHOLD=1";
  return "the calls ran no loop, and no function often enough";
}

void run_jit_end(const run *r) {
  pure_jit_stats s = {.size = sizeof s};
  if (!r->o.dump || atomic_load(&dumps_printed))
    return;
  pure_engine_jit_stats(r->engine, &s);
  fprintf(stderr, "pure-run: --dump: nothing was compiled%s%s: %s\n",
          r->o.dump_function ? " of " : "", r->o.dump_function ? r->o.dump_function : "",
          dump_reason(r, &s));
}
