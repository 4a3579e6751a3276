/* vm/vm_link.c - a module bound to a store. */
#include "vm/vm_int.h"

static bool link_store(vm_link *k) {
  vm_module *m = k->module;
  if (m->nstored) {
    k->schemas = ls_mem_zalloc(k->mem, sizeof(ls_schema *) * m->nstored);
    if (k->schemas == NULL)
      return false;
    for (uint32_t i = 0; i < m->nstored; i++)
      k->schemas[i] = &m->lists[i].schema;
  }
  k->store = ls_store_new(k->schemas, m->nstored, k->mem, &k->policy);
  return k->store != NULL;
}

static bool link_consts(vm_link *k) {
  vm_module *m = k->module;
  if (m->nconsts == 0)
    return true;
  k->consts = ls_mem_zalloc(k->mem, sizeof(ls_val) * m->nconsts);
  if (k->consts == NULL)
    return false;
  for (uint32_t i = 0; i < m->nconsts; i++) {
    const vm_const *c = &m->consts[i];
    uint32_t id = 0;
    if (c->type == LS_TEXT &&
        ls_texts_intern(ls_store_texts(k->store), c->text, c->text_len, &id) != LS_OK)
      return false;
    k->consts[i] = c->type == LS_TEXT ? (ls_val){.u = id} : c->value;
  }
  return true;
}

vm_link *vm_link_new(vm_module *m, ls_mem *mem, const ls_policy *policy) {
  if (!m->verified)
    return NULL;
  vm_link *k = ls_mem_zalloc(mem, sizeof *k);
  if (k == NULL)
    return NULL;
  k->module = vm_module_hold(m);
  k->mem = mem;
  k->policy = policy ? *policy : ls_policy_default;
  if (link_store(k) && link_consts(k))
    return k;
  vm_link_delete(k);
  return NULL;
}

void vm_link_delete(vm_link *k) {
  if (k == NULL)
    return;
  vm_entries_delete(k->entries);
  if (k->store)
    ls_store_delete(k->store);
  if (k->schemas)
    ls_mem_free(k->mem, k->schemas, sizeof(ls_schema *) * k->module->nstored);
  if (k->consts)
    ls_mem_free(k->mem, k->consts, sizeof(ls_val) * k->module->nconsts);
  vm_module_release(k->module);
  ls_mem_free(k->mem, k, sizeof *k);
}

ls_store *vm_link_store(vm_link *k) { return k->store; }
vm_module *vm_link_module(vm_link *k) { return k->module; }
