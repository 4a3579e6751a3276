/* Engine: memory, limits and policy that everything else hangs on. */
#include "host/lib/host_int.h"

#include <string.h>

void *host_alloc(pure_engine *engine, size_t bytes) { return ls_mem_zalloc(engine->mem, bytes); }

void host_free(pure_engine *engine, void *block, size_t bytes) {
  ls_mem_free(engine->mem, block, bytes);
}

/* Reads what the caller's header knew: a shorter struct of an older one is filled up with 0. */
static pure_status read_options(const pure_engine_options *options, pure_engine_options *out,
                                pure_error *e) {
  memset(out, 0, sizeof *out);
  if (!options)
    return PURE_OK;
  if (options->size < sizeof options->size || options->size > sizeof *out)
    return host_fail(e, PURE_MISUSE, "pure_engine_options.size is not its size");
  memcpy(out, options, options->size);
  if ((unsigned)out->jit > PURE_JIT_3)
    return host_fail(e, PURE_MISUSE, "pure_engine_options.jit is no pure_jit");
  if (out->memory && (!out->memory->alloc || !out->memory->free))
    return host_fail(e, PURE_MISUSE, "pure_memory_hooks needs both functions");
  return PURE_OK;
}

pure_status pure_engine_new(const pure_engine_options *options, pure_engine **out,
                            pure_error *error) {
  if (!out)
    return host_fail(error, PURE_MISUSE, "pure_engine_new: out is NULL");
  *out = NULL;
  pure_engine_options o;
  pure_status status = read_options(options, &o, error);
  if (status != PURE_OK)
    return status;
  ls_policy policy = ls_policy_default;
  static const uint32_t levels[] = {VM_TIER_AUTO, 0, 1, 2, 3};
  vm_tier_options tier = {.level = levels[o.jit], .threads = o.threads, .sync = o.jit_sync};
  if (o.watch) {
    tier.log = o.watch->log;
    tier.dump = o.watch->dump;
    tier.dump_kinds = o.watch->dump_kinds;
    tier.dump_fn = o.watch->dump_function;
    tier.user = o.watch->user;
  }
  if (o.environment) {
    const char *bad = NULL;
    ls_policy_from_env(&policy, &bad);
    if (bad)
      return host_fail(error, PURE_BAD_ARGUMENT, "environment: %s is not a number", bad);
    vm_tier_options_from_env(&tier, &bad);
    if (bad)
      return host_fail(error, PURE_BAD_ARGUMENT, "environment: %s cannot be that", bad);
  }
  ls_mem_hooks hooks;
  if (o.memory)
    hooks = (ls_mem_hooks){o.memory->alloc, o.memory->free, o.memory->user};
  ls_mem *mem = ls_mem_new(o.memory ? &hooks : NULL);
  pure_engine *engine = mem ? ls_mem_zalloc(mem, sizeof *engine) : NULL;
  if (engine && tier.level)
    engine->tier = vm_tier_new(mem, &tier);
  if (!engine || (tier.level && !engine->tier)) {
    ls_mem_free(mem, engine, sizeof *engine);
    ls_mem_delete(mem);
    return host_no_memory(error);
  }
  atomic_init(&engine->refs, 1);
  engine->mem = mem;
  engine->policy = policy;
  engine->limits = o.limits;
  engine->jit = o.jit;
  *out = engine;
  return PURE_OK;
}

pure_engine *host_engine_hold(pure_engine *engine) {
  atomic_fetch_add(&engine->refs, 1);
  return engine;
}

void pure_engine_release(pure_engine *engine) {
  if (!engine || atomic_fetch_sub(&engine->refs, 1) != 1)
    return;
  ls_mem *mem = engine->mem;
  vm_tier_delete(engine->tier);
  ls_mem_free(mem, engine, sizeof *engine);
  ls_mem_delete(mem);
}

pure_jit pure_engine_jit(const pure_engine *engine) {
  if (!engine || !engine->tier || !vm_tier_load(engine->tier))
    return PURE_JIT_0;
  return engine->jit == PURE_JIT_AUTO ? PURE_JIT_3 : engine->jit;
}

void pure_engine_jit_stats(const pure_engine *engine, pure_jit_stats *out) {
  if (!out || out->size != sizeof *out)
    return;
  *out = (pure_jit_stats){.size = sizeof *out};
  if (!engine || !engine->tier)
    return;
  vm_tier_stats s;
  vm_tier_read(engine->tier, &s);
  *out = (pure_jit_stats){.size = sizeof *out,
                          .plugin = s.plugin,
                          .llvm = s.llvm,
                          .reason = s.why,
                          .waiting = s.waiting,
                          .compiled = s.compiled,
                          .cached = s.cached,
                          .refused = s.refused,
                          .dropped = s.dropped,
                          .code_bytes = s.code_bytes,
                          .compile_ns = s.compile_ns,
                          .heap_bytes = s.heap_bytes,
                          .debug_objects = s.debug_objects,
                          .debug_bytes = s.debug_bytes};
}

void pure_engine_memory(const pure_engine *engine, pure_memory_stats *out) {
  if (!out)
    return;
  memset(out, 0, sizeof *out);
  if (!engine)
    return;
  ls_mem_stats stats;
  ls_mem_read_stats(engine->mem, &stats);
  out->live_bytes = stats.live_bytes;
  out->peak_bytes = stats.peak_bytes;
  out->allocations = stats.allocs;
  out->frees = stats.frees;
}

void pure_engine_fail_after(pure_engine *engine, uint64_t n, bool sticky) {
  if (engine)
    ls_mem_fail_after(engine->mem, n, sticky);
}
