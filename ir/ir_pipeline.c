/* ir/ir_pipeline.c - the passes in their order, by level. */
#include "ir/ir_int.h"

#include <string.h>

typedef struct {
  const char *name;
  void (*run)(ir_region *r);
  unsigned levels;
} pass;

static const pass passes[] = {
#define PASS(name, levels, meaning) {#name, ir_opt_##name, levels},
#include "ir/ir_passes.def"
#undef PASS
};

/* What runs, in order; a pass may come several times. */
static const char *const order[] = {"fold",   "gvn",      "mem",   "guard", "fuse",    "loop",
                                    "fold",   "gvn",      "mem",   "guard", "uncheck", "fuse",
                                    "loop",   "bulk",     "fold",  "gvn",   "uncheck", "fuse",
                                    "reload", "prefetch", "strip", "exit",  "dce"};

static const pass *find_pass(const char *name) {
  for (size_t i = 0; i < sizeof passes / sizeof passes[0]; i++)
    if (strcmp(passes[i].name, name) == 0)
      return &passes[i];
  return NULL;
}

ir_status ir_run_pass(ir_region *r, const char *name) {
  const pass *p = find_pass(name);
  if (p == NULL)
    return IR_REFUSED;
  p->run(r);
  return r->failed ? IR_NO_MEMORY : IR_OK;
}

ir_status ir_optimise(ir_region *r, unsigned level, bool verify, ir_seen seen, void *user) {
  char why[200];
  for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
    const pass *p = find_pass(order[i]);
    if (p == NULL || !(p->levels >> level & 1))
      continue;
    p->run(r);
    if (r->failed)
      return IR_NO_MEMORY;
    if (seen)
      seen(user, p->name, r);
    if (verify && !ir_verify(r, why, sizeof why))
      return r->failed ? IR_NO_MEMORY : IR_BROKEN;
  }
  return IR_OK;
}
