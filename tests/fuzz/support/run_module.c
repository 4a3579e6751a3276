#include "tests/fuzz/support/run_module.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_FNS 8

unsigned fuzz_take(fuzz_input *in, unsigned n) { return in->at < in->end ? *in->at++ % n : 0; }

void fuzz_require(bool fine) {
  if (!fine)
    abort();
}

/* One store with its context. */
typedef struct {
  vm_link *link;
  vm_context *cx;
} world;

/* What a call gave, in a form that can be compared across stores. */
typedef struct {
  vm_status status;
  uint64_t work, rows, digest, value;
  int fault, fn;
  uint32_t pc;
} outcome;

static const char *host(void *user, vm_context *cx, unsigned number, const ls_val *args,
                        ls_val *result) {
  (void)user;
  (void)cx;
  if (number == 0)
    result->u = args[0].u * 3 + 1;
  return number == 0 && args[0].i == 13 ? "thirteen" : NULL;
}

static void limit(vm_context *cx) {
  vm_limits limits = {.work = 10000, .memory = 100000, .depth = 20};
  vm_context_limit(cx, &limits);
  vm_context_host(cx, host, NULL);
}

/* Every list may change its layout at any time here. */
static const ls_policy restless = {.dense_min_span = 4,
                                   .dense_max_sparsity = 2,
                                   .array_after_lookups = 1,
                                   .array_min_rows = 1,
                                   .tree_after_sorts = 1,
                                   .bucket_rows = 2,
                                   .bucket_max_span = 2,
                                   .share_copy_bytes = 64};

static void world_begin(world *w, vm_module *m, ls_mem *mem, const ls_policy *policy) {
  w->link = vm_link_new(m, mem, policy);
  w->cx = w->link ? vm_context_new(w->link) : NULL;
  fuzz_require(w->cx != NULL);
  limit(w->cx);
}

static void world_end(world *w) {
  vm_context_delete(w->cx);
  vm_link_delete(w->link);
}

static ls_val choose(fuzz_input *in, ls_type type, ls_texts *texts) {
  static const char *const words[] = {"",   "a",          "b",         "zz",
                                      "12", "1998-09-02", "h\xc3\xa9", "-1.5e3"};
  ls_val v = {0};
  unsigned x = fuzz_take(in, 256);
  uint32_t id = 0;
  switch (type) {
  case LS_INT:
    v.i = x < 250 ? (int64_t)(x % 50) - 10 : x < 253 ? INT64_MAX - (int64_t)x : -(int64_t)x * 70000;
    break;
  case LS_REAL:
    v.r = x < 250 ? (x % 20 - 5) * 0.5 : x < 253 ? 0.0 / 0.0 : -0.0;
    break;
  case LS_BOOL:
    v.u = x & 1;
    break;
  case LS_TEXT:
    fuzz_require(ls_texts_intern(texts, words[x & 7], strlen(words[x & 7]), &id) == LS_OK);
    v.u = id;
    break;
  case LS_DATE:
    v.i = x < 250 ? 730000 + x % 10 : LS_DATE_MAX;
    break;
  }
  return v;
}

static void fill_list(ls_list *l, ls_texts *texts, ls_mem *mem, fuzz_input *in) {
  ls_builder *b = ls_builder_new(l->schema, mem, texts);
  uint64_t twice, first;
  fuzz_require(b != NULL);
  for (unsigned n = fuzz_take(in, 4) ? fuzz_take(in, 40) : 0; n > 0; n--)
    for (unsigned c = 0; c < l->schema->ncols; c++) {
      int64_t v = choose(in, l->schema->cols[c].type, texts).i;
      fuzz_require(ls_builder_append(b, c, &v, 1) == LS_OK);
    }
  fuzz_require(ls_builder_finish(b, l, LS_DUP_FIRST, &twice, &first) == LS_OK);
  ls_builder_delete(b);
}

static void fill_store(world *w, ls_mem *mem, fuzz_input in) {
  ls_store *s = vm_link_store(w->link);
  for (unsigned l = 0; l < ls_store_count(s); l++)
    fill_list(ls_store_list(s, l), ls_store_texts(s), mem, &in);
}

static void check_list(const ls_list *l) {
  char why[200];
  if (!ls_list_check(l, why, sizeof why)) {
    fprintf(stderr, "%s\n", why);
    abort();
  }
}

static void check_store(world *w) {
  ls_store *s = vm_link_store(w->link);
  for (unsigned l = 0; l < ls_store_count(s); l++)
    check_list(ls_store_list(s, l));
}

static void take_result(vm_context *cx, vm_result *r, outcome *out) {
  if (r->kind == VM_RESULT_ROWS) {
    check_list(r->rows);
    out->rows = r->rows->count;
    out->digest = ls_list_digest(r->rows, 7);
  } else if (r->kind == VM_RESULT_SCALAR && r->type == LS_TEXT) {
    size_t len;
    const char *bytes = ls_texts_get(vm_context_texts(cx), (uint32_t)r->value.u, &len);
    for (size_t k = 0; k < len; k++)
      out->value = out->value * 31 + (unsigned char)bytes[k];
  } else if (r->kind == VM_RESULT_SCALAR) {
    out->value = r->value.u;
  }
  vm_result_release(r);
}

static outcome call(vm_context *cx, const vm_module *m, unsigned fn, fuzz_input in) {
  ls_val args[VM_MAX_PARAMS] = {{0}};
  vm_result r = {.kind = VM_RESULT_NONE};
  vm_context_reset_texts(cx);
  for (unsigned k = 0; k < m->fns[fn].nparams; k++)
    args[k] = choose(&in, m->fns[fn].params[k].type, vm_context_texts(cx));
  outcome out = {.status = vm_call(cx, fn, args, &r)};
  out.work = vm_context_work(cx);
  if (out.status == VM_OK) {
    take_result(cx, &r, &out);
  } else if (out.status == VM_FAULTED) {
    const vm_fault *f = vm_context_fault(cx);
    out.fault = f->kind;
    out.fn = f->fn;
    out.pc = f->pc;
  }
  return out;
}

static void same(const vm_module *m, unsigned fn, outcome a, outcome b) {
  if (a.status == b.status && a.work == b.work && a.rows == b.rows && a.digest == b.digest &&
      a.value == b.value && a.fault == b.fault && a.fn == b.fn && a.pc == b.pc)
    return;
  fprintf(stderr, "function %s differs\n", m->fns[fn].name);
  for (unsigned k = 0; k < 2; k++) {
    const outcome *o = k ? &b : &a;
    fprintf(stderr, "  status %d work %llu rows %llu digest %llx value %llx fault %d at %d:%u\n",
            o->status, (unsigned long long)o->work, (unsigned long long)o->rows,
            (unsigned long long)o->digest, (unsigned long long)o->value, o->fault, o->fn, o->pc);
  }
  abort();
}

/* The same call on both stores. */
static void call_both(world *w, const vm_module *m, unsigned fn, fuzz_input in) {
  uint64_t before = ls_store_digest(vm_link_store(w[0].link));
  outcome a = call(w[0].cx, m, fn, in), b = call(w[1].cx, m, fn, in);
  uint64_t after = ls_store_digest(vm_link_store(w[0].link));
  same(m, fn, a, b);
  fuzz_require(a.status == VM_OK || a.status == VM_FAULTED);
  fuzz_require(after == ls_store_digest(vm_link_store(w[1].link)));
  if (a.status == VM_FAULTED || m->fns[fn].kind == VM_QUERY)
    fuzz_require(before == after);
  check_store(&w[0]);
  check_store(&w[1]);
}

/* Queries on a snapshot and on its store; and the snapshot stays what it was. */
static void call_snapshot(world *w, const vm_module *m, fuzz_input *in) {
  ls_snapshot *snap = ls_snapshot_take(vm_link_store(w->link));
  fuzz_require(snap != NULL);
  uint64_t digest = ls_snapshot_digest(snap);
  vm_context *cx = vm_context_on(w->link, snap);
  fuzz_require(cx != NULL && digest == ls_store_digest(vm_link_store(w->link)));
  limit(cx);
  outcome early[MOST_FNS];
  for (unsigned fn = 0; fn < m->nfns; fn++)
    if (m->fns[fn].kind == VM_QUERY)
      same(m, fn, early[fn] = call(cx, m, fn, *in), call(w->cx, m, fn, *in));
  for (unsigned fn = 0; fn < m->nfns; fn++)
    if (m->fns[fn].kind != VM_QUERY)
      call(w->cx, m, fn, *in);
  for (unsigned fn = 0; fn < m->nfns; fn++)
    if (m->fns[fn].kind == VM_QUERY)
      same(m, fn, early[fn], call(cx, m, fn, *in));
  fuzz_require(ls_snapshot_digest(snap) == digest);
  vm_context_delete(cx);
  ls_snapshot_release(snap);
}

static bool print_piece(void *user, const char *bytes, size_t len) {
  (void)user;
  return fwrite(bytes, 1, len, stderr) == len;
}

static void run(vm_module *m, ls_mem *mem, fuzz_input *in) {
  world w[2];
  ls_policy policy = restless;
  policy.stress_seed = fuzz_take(in, 4) ? fuzz_take(in, 256) : 0;
  world_begin(&w[0], m, mem, NULL);
  world_begin(&w[1], m, mem, &policy);
  if (getenv("FUZZ_SHOW"))
    vm_disasm(m, -1, print_piece, NULL);
  fill_store(&w[0], mem, *in);
  fill_store(&w[1], mem, *in);
  for (unsigned n = 0; n < 6; n++) {
    unsigned fn = fuzz_take(in, 16) % m->nfns;
    call_both(w, m, n < m->nfns ? n : fn, *in);
    for (unsigned k = fuzz_take(in, 8); k > 0; k--)
      fuzz_take(in, 2);
    if (n == 2)
      call_snapshot(&w[fuzz_take(in, 2)], m, in);
    if (n == 2 &&
        ls_store_digest(vm_link_store(w[0].link)) != ls_store_digest(vm_link_store(w[1].link)))
      break; /* the snapshot's calls changed one of them */
  }
  world_end(&w[0]);
  world_end(&w[1]);
}

void fuzz_take_module(vm_module *m, ls_mem *mem, fuzz_input *in) {
  vm_error err = {0};
  ls_mem_stats stats;
  ls_status status = vm_verify(m, &err);
  fuzz_require(status == LS_OK || (status == LS_UNSUITABLE && err.message[0]));
  if (status == LS_OK)
    run(m, mem, in);
  else if (getenv("FUZZ_SHOW"))
    fprintf(stderr, "refused: %s\n", err.message);
  vm_module_release(m);
  ls_mem_read_stats(mem, &stats);
  fuzz_require(stats.live_bytes == 0);
  ls_mem_delete(mem);
}
