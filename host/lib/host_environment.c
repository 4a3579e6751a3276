/* The environment variables of the library: reading them, and what is said of a wrong one. */
#include "host/lib/host_int.h"

#include <stdlib.h>
#include <string.h>

#define NUMBER "a number"
#define SOME "a number from 1 on"
#define FLAG "0 or 1"
#define SEEDED "deopt or layout or both with a comma between, each with :SEED (from 1 on) or not"

static const struct {
  const char *name, *allowed;
} variables[] = {
    {"PURE_JIT", "auto, 0, 1, 2 or 3"},
    {"PURE_JIT_SYNC", FLAG},
    {"PURE_JIT_VERIFY", FLAG},
    {"PURE_JIT_CHECK", FLAG},
    {"PURE_JIT_THREADS", "a number from 1 to 64"},
    {"PURE_JIT_THRESHOLD", NUMBER},
    {"PURE_PREFETCH_DISTANCE", "a number from 1 to 1024"},
    {"PURE_PREFETCH_CACHE", NUMBER},
    {"PURE_JIT_STRESS", SEEDED},
    {"PURE_JIT_PERF", "some of map, jitdump and gdb with commas between"},
    {"PURE_LIST_DENSE_MIN_SPAN", NUMBER},
    {"PURE_LIST_DENSE_SPARSITY", NUMBER},
    {"PURE_LIST_ARRAY_LOOKUPS", NUMBER},
    {"PURE_LIST_ARRAY_MIN_ROWS", NUMBER},
    {"PURE_LIST_TREE_SORTS", NUMBER},
    {"PURE_LIST_BUCKET_ROWS", SOME},
    {"PURE_LIST_BUCKET_SPAN", NUMBER},
    {"PURE_LIST_SHARE_COPY", NUMBER},
    {"PURE_LIST_NARROW", FLAG},
    {"PURE_MEM_RUNS", FLAG},
    {"PURE_MEM_HUGEPAGES", FLAG},
    {"PURE_MEM_DECAY_MS", "a number below 1073741825"},
    {"PURE_MEM_LIFO_BYTES", "a number below 1073741825"},
    {"PURE_MEM_OUTBOX", "a number from 1 to 7"},
    {"PURE_MEM_INBOX", "a number from 1 to 64"},
    {"PURE_MEM_CACHE_BYTES", NUMBER},
    {"PURE_MEM_SAMPLE", NUMBER},
};

static pure_status refuse(const char *name, pure_error *e) {
  const char *value = getenv(name), *allowed = "something else";
  char found[HOST_QUOTE_CHARS];
  for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
    if (strcmp(variables[i].name, name) == 0)
      allowed = variables[i].allowed;
  host_quote(value ? value : "", value ? strlen(value) : 0, found, sizeof found);
  return host_fail(e, PURE_BAD_ARGUMENT, "environment: %s is %s; expected %s", name, found,
                   allowed);
}

/* Numbers for which the readers take 0, where it means nothing.  NULL: fine. */
static const char *find_zero(void) {
  static const char *const names[] = {"PURE_JIT_THREADS", "PURE_PREFETCH_DISTANCE",
                                      "PURE_LIST_BUCKET_ROWS"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const char *value = getenv(names[i]);
    if (value && *value && value[strspn(value, "0")] == 0)
      return names[i];
  }
  return NULL;
}

pure_status host_environment_read_memory(ls_mem_options *memory, pure_error *e) {
  const char *bad = NULL;
  ls_mem_options_from_env(memory, &bad);
  return bad ? refuse(bad, e) : PURE_OK;
}

pure_status host_environment_read(ls_policy *policy, vm_tier_options *tier, pure_error *e) {
  const char *bad = NULL;
  ls_policy_from_env(policy, &bad);
  if (!bad)
    vm_tier_options_from_env(tier, &bad);
  if (!bad)
    bad = find_zero();
  return bad ? refuse(bad, e) : PURE_OK;
}
