/* vm/vm_tier_entry.c - places where code may be entered, jobs for them, and the life of code. */
#include <stdio.h>
#include <string.h>

#include "vm/vm_tier_int.h"

/* ---- making and ending */

static void entry_free(vm_entries *e, vm_entry *y) {
  ls_mem_free(e->tier->mem, y->changes, e->link->module->fns[y->fn].nlists);
}

static size_t region_bytes(uint32_t nlists) {
  return sizeof(vm_region) + sizeof(vm_jit_list) * nlists;
}

static uint32_t count_entries(const vm_module *m) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < m->nfns; i++)
    n += m->fns[i].nloops + 1u;
  return n;
}

static void number_entries(vm_entries *e, const vm_module *m) {
  uint32_t at = 0;
  for (uint32_t i = 0; i < m->nfns; i++) {
    const vm_code *code = vm_code_of(m, i);
    e->first[i] = at;
    for (uint32_t loop = 0; loop <= m->fns[i].nloops; loop++) {
      vm_entry *y = &e->entry[at++];
      y->fn = i;
      y->loop = loop;
      y->pc = loop < m->fns[i].nloops ? code->loops[loop].pc : 0;
    }
  }
}

bool vm_link_use_tier(vm_link *k, vm_tier *t) {
  const vm_module *m = k->module;
  if (t == NULL || t->o.level == 0 || m->nfns == 0)
    return true;
  vm_entries *e = ls_mem_zalloc(t->mem, sizeof *e);
  if (e == NULL)
    return false;
  *e = (vm_entries){.tier = t, .link = k, .n = count_entries(m)};
  atomic_init(&e->epoch, 1);
  e->first = ls_mem_zalloc(t->mem, sizeof *e->first * m->nfns);
  e->entry = ls_mem_zalloc(t->mem, sizeof *e->entry * e->n);
  if (e->first == NULL || e->entry == NULL) {
    ls_mem_free(t->mem, e->first, sizeof *e->first * m->nfns);
    ls_mem_free(t->mem, e->entry, sizeof *e->entry * e->n);
    ls_mem_free(t->mem, e, sizeof *e);
    return false;
  }
  number_entries(e, m);
  k->entries = e;
  return true;
}

static void drop_region(vm_tier *t, vm_region *g) {
  pthread_mutex_lock(&t->lock);
  t->code_bytes -= g->code->code_bytes;
  t->dropped++;
  pthread_mutex_unlock(&t->lock);
  if (g->code->cached)
    vm_cache_unload(t, g->code);
  else
    t->plugin->drop(t->engine, g->code);
  ls_mem_free(t->mem, g, region_bytes(g->nlists));
}

static void say_entry(const vm_entries *e, const vm_entry *y) {
  char name[140];
  unsigned long long x[VM_JIT_EXIT_RAISED + 1];
  if (e->tier->o.log == NULL || y->stats.compiles == 0)
    return;
  for (unsigned i = 0; i <= VM_JIT_EXIT_RAISED; i++)
    x[i] = y->past_exits[i] + atomic_load(&y->exits[i]);
  vm_entry_name(e, y, name, sizeof name);
  vm_tier_say(
      e->tier,
      "%s: level %u, compiled %llu times, %llu runs; exits: shape %llu fault %llu work %llu "
      "leave %llu cold %llu return %llu bulk %llu raised %llu",
      name, y->stats.level, (unsigned long long)y->stats.compiles,
      (unsigned long long)(y->stats.runs + atomic_load(&y->runs)), x[VM_JIT_EXIT_SHAPE],
      x[VM_JIT_EXIT_FAULT], x[VM_JIT_EXIT_WORK], x[VM_JIT_EXIT_LEAVE], x[VM_JIT_EXIT_COLD],
      x[VM_JIT_EXIT_RETURN], x[VM_JIT_EXIT_BULK], x[VM_JIT_EXIT_RAISED]);
}

void vm_entries_delete(vm_entries *e) {
  if (e == NULL)
    return;
  vm_tier *t = e->tier;
  vm_tier_forget(t, e);
  vm_entries_sweep(e); /* no context is left: everything retired goes */
  for (uint32_t i = 0; i < e->n; i++) {
    say_entry(e, &e->entry[i]);
    vm_region *g = atomic_load(&e->entry[i].region);
    if (g)
      drop_region(t, g);
    entry_free(e, &e->entry[i]);
  }
  ls_mem_free(t->mem, e->first, sizeof *e->first * e->link->module->nfns);
  ls_mem_free(t->mem, e->entry, sizeof *e->entry * e->n);
  ls_mem_free(t->mem, e, sizeof *e);
}

const char *vm_entry_name(const vm_entries *e, const vm_entry *y, char *out, size_t n) {
  const vm_fn *fn = &e->link->module->fns[y->fn];
  unsigned line = fn->pos ? fn->pos[y->pc].line : 0;
  snprintf(out, n, "%.100s:%u%s", fn->name, line, y->loop == fn->nloops ? " (start)" : "");
  return out;
}

/* The entry around this one whose code does what is asked about, or NULL. */
static const vm_entry *covering(const vm_entries *e, const vm_entry *y) {
  const vm_code *code = vm_code_of(e->link->module, y->fn);
  unsigned nloops = e->link->module->fns[y->fn].nloops, at = y->loop;
  while (at < nloops) {
    at = code->loops[at].parent;
    const vm_entry *around = vm_entry_of(e, y->fn, at < nloops ? at : nloops);
    if (atomic_load(&around->region))
      return around;
  }
  return NULL;
}

/* Why there is no code of its own. */
static void explain(const vm_entries *e, const vm_entry *y, vm_entry_stats *out) {
  char name[140];
  const vm_entry *around = covering(e, y);
  out->level = around ? around->stats.level : 0;
  if (around)
    snprintf(out->why, sizeof out->why, "in the code of %s",
             vm_entry_name(e, around, name, sizeof name));
  else if (out->why[0] == 0) {
    const char *never = vm_tier_why(e->tier);
    snprintf(out->why, sizeof out->why, "%s",
             never                                    ? never
             : atomic_load(&y->state) == ENTRY_QUEUED ? "it is being compiled"
                                                      : "not enough work was done there yet");
  }
}

bool vm_link_read_entry(vm_link *k, unsigned fn, unsigned loop, vm_entry_stats *out) {
  vm_entries *e = k->entries;
  *out = (vm_entry_stats){0};
  if (e == NULL)
    return false;
  const vm_entry *y = vm_entry_of(e, fn, loop);
  pthread_mutex_lock(&e->tier->lock);
  *out = y->stats;
  out->runs += atomic_load(&y->runs);
  if (atomic_load(&y->region) == NULL)
    explain(e, y, out);
  pthread_mutex_unlock(&e->tier->lock);
  return true;
}

/* ---- contexts */

void vm_entries_enter(vm_context *cx) {
  vm_entries *e = cx->link->entries;
  cx->entries = e;
  atomic_init(&cx->seen, UINT64_MAX);
  if (e == NULL)
    return;
  cx->stress = e->tier->o.stress;
  if (e->tier->o.has_threshold && e->tier->o.threshold / 8 < VM_POLL_WORK)
    cx->poll_work = e->tier->o.threshold / 8;
  pthread_mutex_lock(&e->tier->lock);
  cx->next = e->contexts;
  e->contexts = cx;
  pthread_mutex_unlock(&e->tier->lock);
}

void vm_entries_leave(vm_context *cx) {
  vm_entries *e = cx->entries;
  if (e == NULL)
    return;
  pthread_mutex_lock(&e->tier->lock);
  for (vm_context **at = &e->contexts; *at; at = &(*at)->next)
    if (*at == cx) {
      *at = cx->next;
      break;
    }
  pthread_mutex_unlock(&e->tier->lock);
}

/* ---- code that is no longer used */

void vm_entry_retire(vm_entries *e, vm_entry *y) {
  vm_region *g = atomic_exchange(&y->region, NULL);
  if (g == NULL)
    return;
  g->epoch = atomic_fetch_add(&e->epoch, 1);
  g->next = e->retired;
  e->retired = g;
}

/* Every context that is in a call has been at rest after that epoch. */
static bool nobody_in(const vm_entries *e, uint64_t epoch) {
  for (const vm_context *cx = e->contexts; cx; cx = cx->next)
    if (atomic_load(&cx->seen) <= epoch)
      return false;
  return true;
}

void vm_entries_sweep(vm_entries *e) {
  vm_region *gone = NULL;
  pthread_mutex_lock(&e->tier->lock);
  for (vm_region **at = &e->retired; *at;) {
    vm_region *g = *at;
    if (!nobody_in(e, g->epoch)) {
      at = &g->next;
      continue;
    }
    *at = g->next;
    g->next = gone;
    gone = g;
  }
  pthread_mutex_unlock(&e->tier->lock);
  while (gone) {
    vm_region *next = gone->next;
    drop_region(e->tier, gone);
    gone = next;
  }
}

/* ---- jobs */

void vm_job_free(vm_tier *t, vm_job *job) {
  const vm_fn *fn = &job->request.module->fns[job->request.fn];
  ls_mem_free(t->mem, job->lists, sizeof *job->lists * fn->nlists);
  ls_mem_free(t->mem, job->careful, fn->nloops);
  ls_mem_free(t->mem, job, sizeof *job);
}

static uint64_t code_ns(const vm_jit_code *c) {
  return c->build_ns + c->passes_ns + c->emit_ns + c->link_ns;
}

static vm_region *region_new(vm_tier *t, const vm_job *job, const vm_jit_code *code) {
  uint32_t n = job->request.module->fns[job->request.fn].nlists;
  vm_region *g = ls_mem_zalloc(t->mem, region_bytes(n));
  if (g == NULL)
    return NULL;
  g->code = code;
  g->level = job->request.level;
  g->nlists = n;
  for (uint32_t i = 0; i < n; i++) {
    g->facts[i] = job->lists[i];
    g->checked |= job->lists[i].trust == VM_JIT_CHECKED;
  }
  return g;
}

/* Under the lock. */
static void install(vm_tier *t, vm_job *job, vm_region *g) {
  vm_entries *e = job->entries;
  vm_entry *y = job->entry;
  const vm_jit_code *code = g->code;
  vm_entry_retire(e, y);
  y->stats.level = g->level;
  atomic_store(&y->level, g->level);
  y->stats.cached = code->cached;
  y->stats.compile_ns = code_ns(code);
  y->stats.code_bytes = code->code_bytes;
  y->stats.compiles++;
  y->stats.why[0] = 0;
  if (code->cached)
    t->cached++;
  else
    t->compiled++;
  t->code_bytes += code->code_bytes;
  t->compile_ns += y->stats.compile_ns;
  atomic_store(&y->region, g);
  atomic_store(&y->state, ENTRY_READY);
  atomic_fetch_add(&e->news, 1);
}

static void refuse(vm_tier *t, vm_job *job, const char *why) {
  vm_entry *y = job->entry;
  snprintf(y->stats.why, sizeof y->stats.why, "%s", why);
  t->refused++;
  /* Code of a lower level may be there, and stays. */
  atomic_store(&y->state, ENTRY_CLOSED);
  atomic_fetch_add(&job->entries->news, 1);
}

static void say_result(vm_tier *t, vm_job *job, const vm_jit_code *code, const char *why) {
  char name[140];
  if (t->o.log == NULL)
    return;
  vm_entry_name(job->entries, job->entry, name, sizeof name);
  if (code)
    vm_tier_say(
        t, "%s: level %u, %.2f ms (ir %.2f, passes %.2f, code %.2f, link %.2f), %llu bytes%s", name,
        job->request.level, (double)code_ns(code) / 1e6, (double)code->build_ns / 1e6,
        (double)code->passes_ns / 1e6, (double)code->emit_ns / 1e6, (double)code->link_ns / 1e6,
        (unsigned long long)code->code_bytes, code->cached ? ", cached" : "");
  else
    vm_tier_say(t, "%s: level %u refused: %s", name, job->request.level, why);
}

void vm_job_refuse(vm_tier *t, vm_job *job, const char *why) {
  say_result(t, job, NULL, why);
  pthread_mutex_lock(&t->lock);
  refuse(t, job, why);
  pthread_mutex_unlock(&t->lock);
  vm_job_free(t, job);
}

/* Nothing can be made executable here. */
static void note_denied(vm_tier *t, const char *why) {
  pthread_mutex_lock(&t->loading);
  snprintf(t->why, sizeof t->why, "%s", why);
  atomic_store(&t->loaded, -1);
  pthread_mutex_unlock(&t->loading);
}

/* The end of a job: the entry has code, or stays with what it has. */
static void finish(vm_tier *t, vm_job *job, const vm_jit_code *code, const char *why) {
  vm_region *g = code ? region_new(t, job, code) : NULL;
  say_result(t, job, code, why);
  pthread_mutex_lock(&t->lock);
  if (g)
    install(t, job, g);
  else
    refuse(t, job, code ? "no memory" : why);
  pthread_mutex_unlock(&t->lock);
  if (code && g == NULL && code->cached)
    vm_cache_unload(t, code);
  else if (code && g == NULL)
    t->plugin->drop(t->engine, code);
  vm_entries_sweep(job->entries);
  vm_job_free(t, job);
}

bool vm_job_run_cached(vm_tier *t, vm_job *job) {
  /* Who wants to see how code is made, or where it lies, has it made. */
  if (t->cache_dir == NULL || job->request.stress || job->request.dump || t->o.verify || t->o.perf)
    return false;
  job->cacheable = vm_cache_find_key(job->entries, &job->request, &job->key);
  const vm_jit_code *code = job->cacheable ? vm_cache_load(t, &job->request, &job->key) : NULL;
  if (code == NULL)
    return false;
  finish(t, job, code, "");
  return true;
}

static bool is_full(vm_tier *t) {
  pthread_mutex_lock(&t->lock);
  bool full = t->code_bytes >= t->o.most_code;
  pthread_mutex_unlock(&t->lock);
  return full;
}

void vm_job_run(vm_tier *t, vm_job *job) {
  char why[VM_JIT_WHY] = "";
  const vm_jit_code *code = NULL;
  vm_jit_status status = VM_JIT_FAILED;
  job->request.keep_object = job->cacheable;
  if (is_full(t))
    snprintf(why, sizeof why, "all the memory that compiled code may take is taken");
  else if (vm_tier_plugin(t))
    status = t->plugin->compile(t->engine, &job->request, &code, why);
  else
    snprintf(why, sizeof why, "%s", t->why);
  if (status == VM_JIT_DENIED)
    note_denied(t, why);
  if (status == VM_JIT_OK && job->cacheable && code->object)
    vm_cache_store(t, &job->key, code);
  finish(t, job, status == VM_JIT_OK ? code : NULL, why);
}
