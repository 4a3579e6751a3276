/* vm/vm_asm_names.c - growing arrays, and the assembler's table of names.
 *
 * Open addressing, at most half full.  Names point into the text.
 */
#include "vm/vm_asm_int.h"

#include <string.h>
#include <xxhash.h>

void *vm_vec_add(vm_asm_state *s, vm_vec *v) {
  if (v->count == v->cap) {
    size_t cap = v->cap ? v->cap * 2 : 16;
    void *data = ls_mem_resize(s->mem, v->data, v->cap * v->size, cap * v->size);
    if (!data) {
      vm_asm_memory(s);
      return NULL;
    }
    v->data = data;
    v->cap = cap;
  }
  void *added = (char *)v->data + v->count++ * v->size;
  memset(added, 0, v->size);
  return added;
}

void vm_vec_free(vm_asm_state *s, vm_vec *v) {
  ls_mem_free(s->mem, v->data, v->cap * v->size);
  *v = (vm_vec){NULL, 0, 0, v->size};
}

/* The slot of the name, or the free one where it belongs. */
static vm_name_slot *slot_of(vm_name_slot *slots, size_t n, uint64_t space, const char *name,
                             size_t len) {
  size_t at = XXH3_64bits_withSeed(name, len, space) & (n - 1);
  while (slots[at].name && !(slots[at].space == space && slots[at].len == len &&
                             memcmp(slots[at].name, name, len) == 0))
    at = (at + 1) & (n - 1);
  return &slots[at];
}

static bool grow(vm_asm_state *s) {
  size_t n = s->nslots ? s->nslots * 2 : 256;
  vm_name_slot *slots = ls_mem_zalloc(s->mem, n * sizeof *slots);
  if (!slots)
    return vm_asm_memory(s);
  for (size_t k = 0; k < s->nslots; k++) {
    const vm_name_slot *old = &s->slots[k];
    if (old->name)
      *slot_of(slots, n, old->space, old->name, old->len) = *old;
  }
  ls_mem_free(s->mem, s->slots, s->nslots * sizeof *slots);
  s->slots = slots;
  s->nslots = n;
  return true;
}

bool vm_asm_define(vm_asm_state *s, uint64_t space, const vm_token *name, uint32_t value,
                   bool many) {
  if (s->nnames * 2 >= s->nslots && !grow(s))
    return false;
  vm_name_slot *slot = slot_of(s->slots, s->nslots, space, name->bytes, name->len);
  if (!slot->name) {
    *slot = (vm_name_slot){name->bytes, name->len, space, value};
    s->nnames++;
    return true;
  }
  if (!many)
    return vm_asm_fail(s, name, "`%.*s` is there twice", VM_TOKEN_SHOWN(*name));
  slot->value = VM_NAME_MANY;
  return true;
}

uint32_t vm_asm_find(const vm_asm_state *s, uint64_t space, const char *name, size_t len) {
  if (!s->slots)
    return VM_NAME_NONE;
  const vm_name_slot *slot = slot_of(s->slots, s->nslots, space, name, len);
  return slot->name ? slot->value : VM_NAME_NONE;
}

bool vm_asm_need_defined(vm_asm_state *s, uint64_t space, const char *what, uint32_t *value) {
  vm_token name;
  int64_t number;
  if (!vm_asm_need_name(s, &name))
    return false;
  *value = vm_asm_find(s, space, name.bytes, name.len);
  if (*value == VM_NAME_NONE)
    return vm_asm_fail(s, &name, "there is no %s `%.*s`", what, VM_TOKEN_SHOWN(name));
  if (vm_asm_take(s, "#")) {
    if (!vm_asm_need_int(s, 0, UINT16_MAX, &number))
      return false;
    *value = (uint32_t)number;
  }
  if (*value == VM_NAME_MANY)
    return vm_asm_fail(s, &name, "there are several %ss `%.*s`: write `%.*s#number`", what,
                       VM_TOKEN_SHOWN(name), VM_TOKEN_SHOWN(name));
  return true;
}
