#include "tests/ir/support/compare.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  const char *name;
  const compare_options *o;
  vm_module *m;
  vm_link *link[2];
  vm_context *cx[2]; /* 0: step, 1: machine */
  machine *machine;
  uint64_t state;
} pair;

static uint64_t chance(uint64_t *state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state;
}

static void say_row(const ls_list *l, ls_row h) {
  for (unsigned c = 0; c < l->schema->ncols; c++) {
    ls_val v = ls_list_get(l, h, c);
    if (l->schema->cols[c].type == LS_REAL)
      fprintf(stderr, " %g", v.r);
    else
      fprintf(stderr, " %lld", (long long)v.i);
  }
}

/* The first row in which a stored list differs. */
static void say_difference(const pair *p, unsigned i) {
  ls_list *l[2];
  ls_cursor c[2];
  ls_row h[2];
  bool more[2];
  for (unsigned s = 0; s < 2; s++) {
    l[s] = ls_store_list(vm_link_store(p->link[s]), i);
    if (ls_list_seek(l[s], NULL, &LS_WHOLE, &c[s]) != LS_OK)
      return;
  }
  for (uint64_t row = 0;; row++) {
    bool same = true;
    for (unsigned s = 0; s < 2; s++)
      more[s] = ls_list_next(l[s], &c[s], &h[s]);
    if (!more[0] && !more[1])
      return;
    for (unsigned k = 0; more[0] && more[1] && k < l[0]->schema->ncols; k++)
      same &= ls_list_get(l[0], h[0], k).u == ls_list_get(l[1], h[1], k).u;
    if (more[0] && more[1] && same)
      continue;
    fprintf(stderr, "%s, row %llu:", l[0]->schema->name, (unsigned long long)row);
    for (unsigned s = 0; s < 2; s++) {
      if (more[s])
        say_row(l[s], h[s]);
      fprintf(stderr, s ? "\n" : " /");
    }
    return;
  }
}

static void fail(const pair *p, const char *fn, const char *what) {
  for (unsigned i = 0; i < p->m->nstored; i++)
    say_difference(p, i);
  for (unsigned s = 0; s < 2; s++) {
    const vm_fault *f = vm_context_fault(p->cx[s]);
    fprintf(stderr, "%s: work %llu fault %d at %d:%u %s\n", s ? "machine" : "step",
            (unsigned long long)vm_context_work(p->cx[s]), f->kind, f->fn, f->pc, f->message);
  }
  fprintf(stderr, "compare: %s: %s: different %s (level %u, trust %u, seed %llu)\n", p->name, fn,
          what, p->o->machine.level, p->o->machine.trust, (unsigned long long)p->o->seed);
  abort();
}

/* ---- values */

static const char *const texts[] = {"", "a", "b", "ab", "widget", "seven words of no importance"};

/* Mostly small numbers, so that keys meet. */
static int64_t some_int(uint64_t *state) {
  static const int64_t odd[] = {-1, 255, 256, 65535, 65536, INT64_C(1) << 32, INT64_MAX, INT64_MIN};
  uint64_t n = chance(state);
  if (n % 64 == 0)
    return odd[n / 64 % 8];
  if (n % 16 == 0)
    return (int64_t)(n / 64 % 100000);
  return (int64_t)(n / 64 % 40);
}

static ls_val some_value(ls_type type, uint64_t *state, ls_texts *tx, bool tame) {
  uint64_t n = chance(state);
  uint32_t id = 0;
  const char *text = texts[n / 8 % 6];
  switch (type) {
  case LS_INT:
    return (ls_val){.i = tame ? (int64_t)(n / 8 % 40) : some_int(state)};
  case LS_REAL:
    return n % 32 ? (ls_val){.r = (double)(int64_t)(n / 32 % 64) / 4 - 4}
                  : (ls_val){.r = 0.0 / 0.0};
  case LS_BOOL:
    return (ls_val){.i = (int64_t)(n & 1)};
  case LS_DATE:
    return (ls_val){.i = (int64_t)(720000 + n / 8 % 1000)};
  default:
    if (ls_texts_intern(tx, text, strlen(text), &id) != LS_OK)
      abort();
    return (ls_val){.i = id};
  }
}

static void fill_list(pair *p, unsigned side, unsigned i, uint64_t state) {
  ls_list *l = ls_store_list(vm_link_store(p->link[side]), i);
  ls_texts *tx = ls_store_texts(vm_link_store(p->link[side]));
  uint64_t n = p->o->rows ? chance(&state) % p->o->rows : 0;
  bool tame = chance(&state) % 2; /* keys side by side: arrays have a bucket for each */
  ls_val row[LS_MAX_COLS];
  ls_row h;
  for (uint64_t k = 0; k < n; k++) {
    for (unsigned c = 0; c < l->schema->ncols; c++)
      row[c] = some_value(l->schema->cols[c].type, &state, tx, tame);
    ls_status s =
        l->schema->nkeys ? ls_list_put(l, NULL, row, &h) : ls_list_insert(l, NULL, row, &h);
    if (s != LS_OK)
      abort();
  }
  if (p->o->relayout && chance(&state) % 4)
    (void)ls_list_relayout(l, chance(&state) % 2 ? LS_ARRAY
                                                 : (ls_layout)(chance(&state) % LS_NLAYOUTS));
}

static void report(void *user, const lang_error *e) {
  (void)user;
  fprintf(stderr, "compare: line %u: %s\n", e->line, e->message);
}

static void pair_open(pair *p, ls_mem *mem) {
  ls_policy moving = ls_policy_default;
  moving.stress_seed = p->o->stress;
  for (unsigned side = 0; side < 2; side++) {
    p->link[side] = vm_link_new(p->m, mem, side && p->o->stress ? &moving : NULL);
    for (unsigned i = 0; i < p->m->nstored; i++)
      fill_list(p, side, i, p->o->seed * 31 + i + 1);
    if (side == 1 && p->o->link_made)
      p->o->link_made(p->o->user, p->link[side]);
    p->cx[side] = vm_context_new(p->link[side]);
  }
  if (p->o->link_made == NULL)
    p->machine = machine_new(p->cx[1], &p->o->machine);
}

static void pair_close(pair *p, machine_counts *total) {
  machine_counts n = {0};
  if (p->machine)
    n = machine_read(p->machine);
  if (p->o->link_ends)
    p->o->link_ends(p->o->user, p->link[1]);
  if (total) {
    uint64_t *to = (uint64_t *)total, *from = (uint64_t *)&n;
    for (size_t k = 0; k < sizeof n / sizeof *to; k++)
      to[k] += from[k];
  }
  if (p->machine)
    machine_delete(p->machine);
  for (unsigned side = 0; side < 2; side++) {
    vm_context_delete(p->cx[side]);
    vm_link_delete(p->link[side]);
  }
  vm_module_release(p->m);
}

/* ---- calls */

static void compare_results(const pair *p, const vm_fn *fn, vm_result *out) {
  if (fn->result == VM_RESULT_SCALAR && fn->result_type != LS_TEXT &&
      out[0].value.u != out[1].value.u)
    fail(p, fn->name, "result");
  if (fn->result == VM_RESULT_SCALAR && fn->result_type == LS_TEXT) {
    size_t len[2];
    const char *text[2];
    for (unsigned s = 0; s < 2; s++)
      text[s] = ls_texts_get(vm_context_texts(p->cx[s]), (uint32_t)out[s].value.u, &len[s]);
    if (len[0] != len[1] || memcmp(text[0], text[1], len[0]))
      fail(p, fn->name, "text");
  }
  if (fn->result != VM_RESULT_ROWS)
    return;
  char why[200];
  if (!ls_list_check(out[1].rows, why, sizeof why))
    fail(p, fn->name, why);
  if (out[0].rows->count != out[1].rows->count ||
      ls_list_digest(out[0].rows, 1) != ls_list_digest(out[1].rows, 1))
    fail(p, fn->name, "rows");
}

static void compare_faults(const pair *p, const vm_fn *fn) {
  const vm_fault *x = vm_context_fault(p->cx[0]), *y = vm_context_fault(p->cx[1]);
  if (x->kind != y->kind)
    fail(p, fn->name, "fault");
  if (x->fn != y->fn || x->pc != y->pc)
    fail(p, fn->name, "place of the fault");
  if (strcmp(x->message, y->message) != 0)
    fail(p, fn->name, "words of the fault");
}

static void call(pair *p, unsigned number) {
  const vm_fn *fn = &p->m->fns[number];
  uint64_t state = p->state, work = chance(&p->state);
  vm_limits limits = {.work = 2000000};
  if (p->o->limits && work % 4 == 0)
    limits.work = work / 4 % 4096 + 1;
  if (p->o->limits && work % 4 == 1)
    limits.memory = work / 4 % 8192 + 1;
  vm_status status[2];
  vm_result out[2];
  for (unsigned s = 0; s < 2; s++) {
    ls_val args[VM_MAX_PARAMS];
    uint64_t same = state;
    vm_context_limit(p->cx[s], &limits);
    vm_context_reset_texts(p->cx[s]);
    for (unsigned k = 0; k < fn->nparams; k++)
      args[k] = some_value(fn->params[k].type, &same, vm_context_texts(p->cx[s]), false);
    status[s] = vm_call(p->cx[s], number, args, &out[s]);
  }
  if (status[0] != status[1])
    fail(p, fn->name, status[1] == VM_OK ? "status (no fault)" : "status");
  if (vm_context_work(p->cx[0]) != vm_context_work(p->cx[1]))
    fail(p, fn->name, "work");
  if (status[0] == VM_FAULTED)
    compare_faults(p, fn);
  if (status[0] == VM_OK)
    compare_results(p, fn, out);
  for (unsigned s = 0; s < 2 && status[s] == VM_OK; s++)
    vm_result_release(&out[s]);
  if (p->o->called)
    p->o->called(p->o->user, p->link[1]);
  if (ls_store_digest(vm_link_store(p->link[0])) != ls_store_digest(vm_link_store(p->link[1])))
    fail(p, fn->name, "store");
}

void compare_program(const char *name, const char *text, size_t len, const compare_options *o,
                     machine_counts *total) {
  pair p = {.name = name, .o = o, .state = o->seed * 2 + 1};
  ls_mem *mem = ls_mem_new(NULL);
  if (lang_compile(mem, name, text, len, &p.m, report, NULL) != LS_OK) {
    fprintf(stderr, "compare: %s does not compile\n%.*s\n", name, (int)len, text);
    abort();
  }
  pair_open(&p, mem);
  machine_run_by_step(p.cx[0]);
  for (unsigned round = 0; round < o->calls; round++)
    for (unsigned fn = 0; fn < p.m->nfns; fn++)
      call(&p, fn);
  pair_close(&p, total);
  ls_mem_delete(mem);
}

void compare_file(const char *path, const compare_options *o, machine_counts *total) {
  FILE *f = fopen(path, "rb");
  char *text = malloc(1 << 20);
  if (f == NULL || text == NULL)
    abort();
  size_t len = fread(text, 1, 1 << 20, f);
  fclose(f);
  compare_program(path, text, len, o, total);
  free(text);
}
