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
  if (!host_sized(options->size, sizeof *out))
    return host_fail(e, PURE_MISUSE,
                     "pure_engine_new: options.size is not sizeof(pure_engine_options)");
  memcpy(out, options, options->size);
  if ((unsigned)out->jit > PURE_JIT_3)
    return host_fail(e, PURE_MISUSE, "pure_engine_new: options.jit is no pure_jit");
  if (out->memory && (!out->memory->alloc || !out->memory->free))
    return host_fail(e, PURE_MISUSE, "pure_engine_new: options.memory needs both functions");
  if (out->tiers && !host_sized(out->tiers->size, sizeof *out->tiers))
    return host_fail(e, PURE_MISUSE,
                     "pure_engine_new: options.tiers->size is not sizeof(pure_jit_options)");
  return PURE_OK;
}

static void read_tiers(const pure_jit_options *given, vm_tier_options *t) {
  pure_jit_options o = {0};
  if (given)
    memcpy(&o, given, given->size);
  t->has_threshold = o.threshold != 0;
  t->threshold = o.threshold;
  t->distance = o.prefetch;
  t->plugin_dir = o.plugin_dir;
  t->cache_dir = o.cache_dir;
  t->verify = o.verify;
  t->check = o.check;
  t->stress = o.stress;
  t->perf = (o.perf_map ? VM_TIER_PERF_MAP : 0u) | (o.perf_dump ? VM_TIER_PERF_DUMP : 0u) |
            (o.gdb ? VM_TIER_PERF_GDB : 0u);
}

static vm_tier_options tier_options(const pure_engine_options *o) {
  static const uint32_t levels[] = {VM_TIER_AUTO, 0, 1, 2, 3};
  vm_tier_options t = {.level = levels[o->jit], .threads = o->threads, .sync = o->jit_sync};
  read_tiers(o->tiers, &t);
  if (o->watch) {
    t.log = o->watch->log;
    t.dump = o->watch->dump;
    t.dump_kinds = o->watch->dump_kinds;
    t.dump_fn = o->watch->dump_function;
    t.user = o->watch->user;
  }
  return t;
}

static pure_engine *engine_make(const pure_engine_options *o, const vm_tier_options *tier,
                                ls_mem_options *memory) {
  ls_mem_hooks hooks;
  if (o->memory) {
    hooks = (ls_mem_hooks){o->memory->alloc, o->memory->free, o->memory->user};
    memory->hooks = &hooks;
  }
  ls_mem *mem = ls_mem_new_with(memory);
  if (mem)
    ls_mem_limit(mem, o->max_memory);
  pure_engine *engine = mem ? ls_mem_zalloc(mem, sizeof *engine) : NULL;
  if (engine && tier->level)
    engine->tier = vm_tier_new(mem, tier);
  if (engine && (!tier->level || engine->tier)) {
    engine->mem = mem;
    return engine;
  }
  ls_mem_free(mem, engine, sizeof *engine);
  ls_mem_delete(mem);
  return NULL;
}

static pure_status read_memory_options(const pure_engine_options *o, ls_mem_options *out,
                                       pure_error *e) {
  const pure_memory_options *given = o->list_memory;
  pure_memory_options want = {0};
  *out = ls_mem_options_default;
  if (given && !host_sized(given->size, sizeof want))
    return host_fail(
        e, PURE_MISUSE,
        "pure_engine_new: options.list_memory->size is not sizeof(pure_memory_options)");
  if (given)
    memcpy(&want, given, given->size);
  pure_status status = o->environment ? host_environment_read_memory(out, e) : PURE_OK;
  if (status != PURE_OK)
    return status;
  if (want.buffer && o->jit != PURE_JIT_0)
    return host_fail(e, PURE_MISUSE,
                     "pure_engine_new: options.list_memory->buffer needs jit = PURE_JIT_0");
  if (want.outbox > 7 || want.inbox > 64)
    return host_fail(e, PURE_MISUSE,
                     "pure_engine_new: options.list_memory->outbox or inbox is out of range");
  out->buffer = want.buffer;
  out->buffer_bytes = want.buffer_bytes;
  out->runs = want.no_runs ? 0 : out->runs;
  out->huge_pages = want.no_huge_pages ? 0 : out->huge_pages;
  out->decay_ms = want.decay_ms ? want.decay_ms : out->decay_ms;
  out->lifo_bytes = want.lifo_bytes ? want.lifo_bytes : out->lifo_bytes;
  out->outbox = want.outbox ? want.outbox : out->outbox;
  out->inbox = want.inbox ? want.inbox : out->inbox;
  out->cache_bytes = want.cache_bytes ? want.cache_bytes : out->cache_bytes;
  out->sample = want.sample ? want.sample : out->sample;
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
  vm_tier_options tier = tier_options(&o);
  if (o.environment)
    status = host_environment_read(&policy, &tier, error);
  if (status != PURE_OK)
    return status;
  ls_mem_options memory;
  status = read_memory_options(&o, &memory, error);
  if (status != PURE_OK)
    return status;
  pure_engine *engine = engine_make(&o, &tier, &memory);
  if (!engine)
    return host_no_memory(error);
  host_handle_init(&engine->head, HOST_ENGINE, sizeof *engine);
  pthread_mutex_init(&engine->graves, NULL);
  engine->policy = policy;
  engine->limits = o.limits;
  engine->jit = o.jit;
  engine->max_memory = o.max_memory;
  *out = engine;
  return PURE_OK;
}

void host_engine_drop(pure_engine *engine) {
  if (!host_let_go(engine))
    return;
  ls_mem *mem = engine->mem;
  vm_tier_delete(engine->tier);
  host_clear_graves(engine);
  pthread_mutex_destroy(&engine->graves);
  ls_mem_free(mem, engine, sizeof *engine);
  ls_mem_delete(mem);
}

void pure_engine_release(pure_engine *engine) {
  if (host_close(engine, HOST_ENGINE))
    host_engine_drop(engine);
}

const char *pure_jit_name(pure_jit jit) {
  static const char *const names[] = {"auto", "interpreter", "level 1", "level 2", "level 3"};
  return (unsigned)jit <= PURE_JIT_3 ? names[jit] : "unknown level";
}

pure_jit pure_engine_jit(const pure_engine *engine) {
  if (!host_is(engine, HOST_ENGINE) || !engine->tier || !vm_tier_load(engine->tier))
    return PURE_JIT_0;
  return engine->jit == PURE_JIT_AUTO ? PURE_JIT_3 : engine->jit;
}

void pure_engine_jit_stats(const pure_engine *engine, pure_jit_stats *out) {
  pure_jit_stats full = {0};
  if (!out || !host_sized(out->size, sizeof full))
    return;
  vm_tier_stats s = {.why = "the engine was made to interpret only (PURE_JIT_0)"};
  if (!host_is(engine, HOST_ENGINE))
    s.why = "there is no engine";
  else if (engine->tier)
    vm_tier_read(engine->tier, &s);
  full = (pure_jit_stats){.size = out->size,
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
  memcpy(out, &full, out->size);
}

void pure_engine_memory(const pure_engine *engine, pure_memory_stats *out) {
  if (!out)
    return;
  memset(out, 0, sizeof *out);
  if (!host_is(engine, HOST_ENGINE))
    return;
  ls_mem_stats stats;
  ls_mem_read_stats(engine->mem, &stats);
  out->live_bytes = stats.live_bytes;
  out->peak_bytes = stats.peak_bytes;
  out->allocations = stats.allocs;
  out->frees = stats.frees;
}

pure_status pure_engine_memory_counter(const pure_engine *engine, uint32_t counter,
                                       pure_memory_counter *out) {
  if (!host_is(engine, HOST_ENGINE) || !out)
    return PURE_MISUSE;
  *out = (pure_memory_counter){"", 0};
  if (counter > LS_MEM_NCOUNTERS)
    return PURE_NOT_FOUND;
  ls_mem_counters c;
  ls_mem_read_counters(engine->mem, &c);
  if (counter == LS_MEM_NCOUNTERS)
    *out = (pure_memory_counter){"wrong frees, not carried out", c.bugs};
  else
    *out = (pure_memory_counter){ls_mem_counter_meaning((ls_mem_counter)counter), c.n[counter]};
  return PURE_OK;
}

void pure_engine_park(pure_engine *engine) {
  if (host_is(engine, HOST_ENGINE))
    ls_mem_park(engine->mem);
}

void pure_engine_fail_after(pure_engine *engine, uint64_t n, bool sticky) {
  if (host_is(engine, HOST_ENGINE))
    ls_mem_fail_after(engine->mem, n, sticky);
}
