/* vm/vm_asm.c - assembly text to module. */
#include "vm/vm_asm_int.h"

#include <string.h>

#include "vm/vm_verify.h"

/* Moves an array into the module. */
static const void *keep(vm_asm_state *s, const vm_vec *v, uint32_t *n) {
  void *copy = vm_module_alloc(s->m, v->count * v->size);
  if (!copy) {
    vm_asm_memory(s);
    return NULL;
  }
  if (v->count)
    memcpy(copy, v->data, v->count * v->size);
  *n = (uint32_t)v->count;
  return copy;
}

static bool assemble(vm_asm_state *s) {
  vm_module *m = s->m;
  if (!vm_asm_decls(s))
    return false;
  for (s->fn = 0; s->fn < s->fns.count; s->fn++)
    if (!vm_asm_body(s))
      return false;
  m->consts = keep(s, &s->consts, &m->nconsts);
  m->lists = keep(s, &s->lists, &m->nlists);
  m->externs = keep(s, &s->externs, &m->nexterns);
  m->fns = keep(s, &s->fns, &m->nfns);
  if (s->status != LS_OK)
    return false;
  while (m->nstored < m->nlists && m->lists[m->nstored].stored)
    m->nstored++;
  return true;
}

/* Places are those of the assembly, whatever positions the code carries. */
static ls_status verify(const vm_asm_state *s) {
  int fn;
  int64_t pc;
  ls_status status = vm_verify_at(s->m, s->err, &fn, &pc);
  if (status == LS_OK)
    return status;
  s->err->line = s->err->column = 0;
  if (fn < 0)
    return status;
  const vm_body *body = (const vm_body *)s->bodies.data + fn;
  const uint32_t *lines = (const uint32_t *)s->lines.data + body->first_line;
  s->err->line = pc < 0 ? body->start.line : lines[pc];
  return status;
}

ls_status vm_asm(ls_mem *mem, const char *name, const char *text, size_t len, vm_module **out,
                 vm_error *err) {
  vm_asm_state s = {.mem = mem,
                    .m = vm_module_new(mem, name),
                    .err = err,
                    .status = LS_OK,
                    .text = text,
                    .end = text + len,
                    .at = text,
                    .line = 1,
                    .line_start = text,
                    .consts.size = sizeof(vm_const),
                    .lists.size = sizeof(vm_listdef),
                    .externs.size = sizeof(vm_extern),
                    .fns.size = sizeof(vm_fn),
                    .bodies.size = sizeof(vm_body),
                    .lines.size = sizeof(uint32_t)};
  if (!s.m)
    vm_asm_memory(&s);
  else if (assemble(&s))
    s.status = verify(&s);
  vm_vec *const vecs[] = {&s.consts, &s.lists, &s.externs, &s.fns, &s.bodies, &s.lines};
  for (size_t k = 0; k < sizeof vecs / sizeof vecs[0]; k++)
    vm_vec_free(&s, vecs[k]);
  ls_mem_free(mem, s.slots, s.nslots * sizeof *s.slots);
  if (s.status == LS_OK)
    *out = s.m;
  else
    vm_module_release(s.m);
  return s.status;
}
