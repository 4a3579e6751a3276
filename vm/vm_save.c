/* vm/vm_save.c - module to bytes.
 *
 * Everything is written twice by the same code: first into nothing, to learn the length.
 */
#include "vm/vm_format.h"
#include "vm/vm_module.h"

#include <string.h>
#include <xxhash.h>

typedef struct {
  uint8_t *bytes; /* NULL: only count */
  size_t at;
} writer;

static void put_bytes(writer *w, const void *bytes, size_t n) {
  if (w->bytes && n)
    memcpy(w->bytes + w->at, bytes, n);
  w->at += n;
}

static void put_number(writer *w, uint64_t v, unsigned bytes) {
  for (unsigned k = 0; k < bytes; k++) {
    if (w->bytes)
      w->bytes[w->at] = (uint8_t)(v >> (8 * k));
    w->at++;
  }
}

/* Seven bits a byte from the lowest; the top bit says that more follow. */
static void put_varint(writer *w, uint64_t v) {
  for (; v > 127; v >>= 7)
    put_number(w, (v & 127) | 128, 1);
  put_number(w, v, 1);
}

static void put_name(writer *w, const char *name) {
  size_t len = strlen(name);
  put_number(w, len, 1);
  put_bytes(w, name, len);
}

static void put_params(writer *w, const vm_param *p, unsigned n) {
  put_number(w, n, 1);
  for (unsigned i = 0; i < n; i++) {
    put_name(w, p[i].name);
    put_number(w, p[i].type, 1);
  }
}

static void put_source(writer *w, const vm_module *m) {
  put_bytes(w, m->source_name, strlen(m->source_name));
}

static void put_consts(writer *w, const vm_module *m) {
  put_number(w, m->nconsts, 4);
  for (uint32_t i = 0; i < m->nconsts; i++) {
    const vm_const *k = &m->consts[i];
    put_number(w, k->type, 1);
    if (k->type == LS_TEXT) {
      put_number(w, k->text_len, 4);
      put_bytes(w, k->text, k->text_len);
    } else {
      put_number(w, k->value.u, 8);
    }
  }
}

static void put_lists(writer *w, const vm_module *m) {
  put_number(w, m->nlists, 2);
  put_number(w, m->nstored, 2);
  for (uint32_t i = 0; i < m->nlists; i++) {
    const ls_schema *s = &m->lists[i].schema;
    put_name(w, s->name);
    put_number(w, s->ncols, 1);
    put_number(w, s->nkeys, 1);
    for (unsigned c = 0; c < s->ncols; c++) {
      put_name(w, s->cols[c].name);
      put_number(w, s->cols[c].type, 1);
      put_number(w, s->cols[c].declared, 1);
    }
  }
}

static void put_externs(writer *w, const vm_module *m) {
  put_number(w, m->nexterns, 2);
  for (uint32_t i = 0; i < m->nexterns; i++) {
    const vm_extern *x = &m->externs[i];
    put_name(w, x->name);
    put_number(w, x->pure, 1);
    put_params(w, x->params, x->nparams);
    put_number(w, x->result, 1);
    if (x->result == VM_RESULT_SCALAR)
      put_number(w, x->result_type, 1);
  }
}

static void put_code(writer *w, const vm_fn *fn) {
  put_number(w, fn->ncode, 2);
  for (uint32_t pc = 0; pc < fn->ncode; pc++) {
    const vm_ins *i = &fn->code[pc];
    put_number(w, i->op | (uint64_t)i->a << 16 | (uint64_t)i->b << 32 | (uint64_t)i->c << 48, 8);
  }
}

static void put_functions(writer *w, const vm_module *m) {
  put_number(w, m->nfns, 2);
  for (uint32_t f = 0; f < m->nfns; f++) {
    const vm_fn *fn = &m->fns[f];
    put_name(w, fn->name);
    put_number(w, fn->kind, 1);
    put_params(w, fn->params, fn->nparams);
    put_number(w, fn->result, 1);
    if (fn->result == VM_RESULT_SCALAR)
      put_number(w, fn->result_type, 1);
    if (fn->result == VM_RESULT_ROWS)
      put_params(w, fn->result_cols, fn->nresult);
    put_number(w, fn->nregs, 2);
    put_number(w, fn->nlists, 1);
    for (unsigned l = 0; l < fn->nlists; l++)
      put_number(w, fn->lists[l], 2);
    put_number(w, fn->nloops, 2);
    put_code(w, fn);
  }
}

static void put_lines(writer *w, const vm_module *m) {
  for (uint32_t f = 0; f < m->nfns; f++) {
    const vm_fn *fn = &m->fns[f];
    put_number(w, fn->pos != NULL, 1);
    vm_pos last = {0, 0};
    for (uint32_t pc = 0; fn->pos && pc < fn->ncode; pc++) {
      put_varint(w, vm_format_fold((int64_t)fn->pos[pc].line - last.line));
      put_varint(w, vm_format_fold((int64_t)fn->pos[pc].column - last.column));
      last = fn->pos[pc];
    }
  }
}

static void put_module(writer *w, const vm_module *m, size_t length) {
  static const char tags[VM_NSECTIONS][5] = VM_SECTION_TAGS;
  static void (*const put[VM_NSECTIONS])(writer *, const vm_module *) = {
      put_source, put_consts, put_lists, put_externs, put_functions, put_lines};
  put_bytes(w, VM_FORMAT_MAGIC, 8);
  put_number(w, VM_FORMAT_VERSION, 2);
  put_number(w, VM_COST_VERSION, 2);
  put_number(w, VM_NSECTIONS, 4);
  put_number(w, length, 8);
  for (unsigned s = 0; s < VM_NSECTIONS; s++) {
    writer count = {NULL, 0};
    put[s](&count, m);
    put_bytes(w, tags[s], 4);
    put_number(w, count.at, 8);
    put[s](w, m);
  }
  put_number(w, w->bytes ? XXH3_64bits(w->bytes, w->at) : 0, 8);
}

ls_status vm_save(const vm_module *m, ls_mem *mem, uint8_t **out, size_t *len, size_t *cap) {
  if (!m->verified) /* counts might not fit their fields */
    return LS_UNSUITABLE;
  writer w = {NULL, 0};
  put_module(&w, m, 0);
  size_t length = w.at;
  w = (writer){ls_mem_alloc(mem, length), 0};
  if (!w.bytes)
    return LS_NOMEM;
  put_module(&w, m, length);
  *out = w.bytes;
  *len = *cap = length;
  return LS_OK;
}
