/* vm/vm_tier.c - options, life of a tier, its numbers. */
#include "vm/vm_tier.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "vm/vm_tier_int.h"

#define CACHE_DEFAULT (UINT64_C(32) << 10)
#define MOST_CODE (UINT64_C(64) << 20)

/* ---- the environment */

static bool read_number(const char *name, uint64_t most, uint64_t *out, const char **bad) {
  const char *text = getenv(name);
  char *end;
  if (text == NULL || *text == 0)
    return false;
  uint64_t n = strtoull(text, &end, 10);
  if (*end || *text == '-' || n > most) {
    *bad = name;
    return false;
  }
  *out = n;
  return true;
}

static bool read_flag(const char *name, const char **bad) {
  uint64_t n = 0;
  return read_number(name, 1, &n, bad) && n == 1;
}

static void read_stress(vm_tier_options *o, const char **bad) {
  const char *text = getenv("PURE_JIT_STRESS");
  if (text && !ls_read_stress(text, "deopt", &o->stress))
    *bad = "PURE_JIT_STRESS";
}

/* Some of map, jitdump, gdb with commas between. */
static void read_perf(vm_tier_options *o, const char **bad) {
  const char *text = getenv("PURE_JIT_PERF");
  while (text && *text) {
    size_t n = strcspn(text, ",");
    if (n == 3 && memcmp(text, "map", n) == 0)
      o->perf |= VM_TIER_PERF_MAP;
    else if (n == 7 && memcmp(text, "jitdump", n) == 0)
      o->perf |= VM_TIER_PERF_DUMP;
    else if (n == 3 && memcmp(text, "gdb", n) == 0)
      o->perf |= VM_TIER_PERF_GDB;
    else
      *bad = "PURE_JIT_PERF";
    text += n + (text[n] == ',');
  }
}

/* PURE_JIT_CACHE=DIR|off; else in the user's folder for caches. */
static void find_cache(vm_tier_options *o) {
  const char *set = getenv("PURE_JIT_CACHE"), *xdg = getenv("XDG_CACHE_HOME"),
             *home = getenv("HOME");
  o->cache_suffix = "";
  o->cache_dir = NULL;
  if (set && *set) {
    if (strcmp(set, "off") != 0)
      o->cache_dir = set;
  } else if (xdg && *xdg == '/') {
    o->cache_dir = xdg;
    o->cache_suffix = "/pure/jit";
  } else if (home && *home == '/') {
    o->cache_dir = home;
    o->cache_suffix = "/.cache/pure/jit";
  }
}

void vm_tier_options_from_env(vm_tier_options *o, const char **bad) {
  uint64_t n;
  *bad = NULL;
  const char *level = getenv("PURE_JIT");
  if (level && strcmp(level, "auto") == 0)
    o->level = VM_TIER_AUTO;
  else if (read_number("PURE_JIT", 3, &n, bad))
    o->level = (uint32_t)n;
  if (getenv("PURE_JIT_SYNC"))
    o->sync = read_flag("PURE_JIT_SYNC", bad);
  if (read_number("PURE_JIT_THREADS", 64, &n, bad))
    o->threads = (uint32_t)n;
  if (read_number("PURE_PREFETCH_DISTANCE", 1024, &n, bad))
    o->distance = (uint32_t)n;
  if (read_number("PURE_PREFETCH_CACHE", UINT64_MAX / 256, &n, bad)) {
    o->has_cache_bytes = true;
    o->cache_bytes = n;
  }
  if (read_number("PURE_JIT_THRESHOLD", UINT64_MAX / 8, &n, bad)) {
    o->has_threshold = true;
    o->threshold = n;
  }
  if (getenv("PURE_JIT_VERIFY"))
    o->verify = read_flag("PURE_JIT_VERIFY", bad);
  if (getenv("PURE_JIT_CHECK"))
    o->check = read_flag("PURE_JIT_CHECK", bad);
  const char *dir = getenv("PURE_PLUGIN_DIR");
  if (dir && *dir)
    o->plugin_dir = dir;
  read_stress(o, bad);
  read_perf(o, bad);
  find_cache(o);
}

/* ---- life */

/* Data that fits into the first cache need not be asked for ahead.  What fits into the second one
 * must: a breadth-first search over 20000 nodes, all of it in the second cache, takes 0.72 ms with
 * prefetches and 0.83 without. */
static uint64_t cache_bytes(void) {
  long n = 0;
#ifdef _SC_LEVEL1_DCACHE_SIZE
  n = sysconf(_SC_LEVEL1_DCACHE_SIZE);
#endif
  return n > 0 ? (uint64_t)n : CACHE_DEFAULT;
}

static bool copy_two(ls_mem *mem, const char *x, const char *y, char **out) {
  if (x == NULL)
    return true;
  size_t n = strlen(x) + (y ? strlen(y) : 0) + 1;
  *out = ls_mem_alloc(mem, n);
  if (*out)
    snprintf(*out, n, "%s%s", x, y ? y : "");
  return *out != NULL;
}

static bool copy_text(ls_mem *mem, const char *text, char **out) {
  if (text == NULL)
    return true;
  size_t n = strlen(text) + 1;
  *out = ls_mem_alloc(mem, n);
  if (*out)
    memcpy(*out, text, n);
  return *out != NULL;
}

static void free_text(ls_mem *mem, char *text) {
  if (text)
    ls_mem_free(mem, text, strlen(text) + 1);
}

vm_tier *vm_tier_new(ls_mem *mem, const vm_tier_options *o) {
  vm_tier *t = ls_mem_zalloc(mem, sizeof *t);
  if (t == NULL)
    return NULL;
  t->mem = mem;
  t->o = *o;
  if (t->o.threads == 0)
    t->o.threads = 1;
  if (t->o.most_code == 0)
    t->o.most_code = MOST_CODE;
  t->last = &t->first;
  t->cache_bytes = o->has_cache_bytes ? o->cache_bytes : cache_bytes();
  pthread_mutex_init(&t->lock, NULL);
  pthread_mutex_init(&t->loading, NULL);
  pthread_cond_init(&t->work, NULL);
  pthread_cond_init(&t->idle, NULL);
  vm_jit_core_fill(&t->core);
  t->core.perf = t->o.perf;
  if (copy_text(mem, o->plugin_dir, &t->plugin_dir) && copy_text(mem, o->dump_fn, &t->dump_fn) &&
      copy_two(mem, o->cache_dir, o->cache_suffix, &t->cache_dir))
    return t;
  vm_tier_delete(t);
  return NULL;
}

void vm_tier_delete(vm_tier *t) {
  if (t == NULL)
    return;
  vm_tier_stop(t);
  if (t->o.check)
    vm_tier_say(t, "%llu runs of compiled code checked, %llu differed, %llu could not be checked",
                (unsigned long long)atomic_load(&t->checked),
                (unsigned long long)atomic_load(&t->wrong),
                (unsigned long long)atomic_load(&t->unchecked));
  vm_tier_unload(t);
  pthread_cond_destroy(&t->idle);
  pthread_cond_destroy(&t->work);
  pthread_mutex_destroy(&t->loading);
  pthread_mutex_destroy(&t->lock);
  free_text(t->mem, t->plugin_dir);
  free_text(t->mem, t->dump_fn);
  free_text(t->mem, t->cache_dir);
  ls_mem_free(t->mem, t, sizeof *t);
}

bool vm_tier_load(vm_tier *t) { return t->o.level > 0 && vm_tier_plugin(t); }

const char *vm_tier_why(vm_tier *t) {
  int loaded = atomic_load(&t->loaded);
  return loaded < 0 && t->why[0] ? t->why : loaded <= 0 ? vm_tier_absent(t) : NULL;
}

void vm_tier_read(vm_tier *t, vm_tier_stats *out) {
  int loaded = atomic_load(&t->loaded);
  *out = (vm_tier_stats){.why = vm_tier_why(t)};
  if (loaded > 0 && t->plugin_path[0])
    out->plugin = t->plugin_path;
  if (loaded > 0 && t->plugin)
    out->llvm = t->plugin->llvm;
  if (loaded != 0 && t->engine) {
    vm_jit_memory m;
    t->plugin->read(t->engine, &m);
    out->heap_bytes = m.heap_bytes;
    out->debug_objects = m.debug_objects;
    out->debug_bytes = m.debug_bytes;
  }
  pthread_mutex_lock(&t->lock);
  for (const vm_job *job = t->first; job; job = job->next)
    out->waiting++;
  for (uint32_t i = 0; i < t->nthreads; i++)
    out->waiting += t->at_work[i] != NULL;
  out->compiled = t->compiled;
  out->cached = t->cached;
  out->refused = t->refused;
  out->dropped = t->dropped;
  out->code_bytes = t->code_bytes;
  out->compile_ns = t->compile_ns;
  out->checked = atomic_load(&t->checked);
  out->wrong = atomic_load(&t->wrong);
  out->unchecked = atomic_load(&t->unchecked);
  pthread_mutex_unlock(&t->lock);
}
