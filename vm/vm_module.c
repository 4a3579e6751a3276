/* vm/vm_module.c - a module's arena, its life, its names.
 *
 * The arena is a chain of blocks, each twice the last up to a cap, so that a small module costs
 * little and a large one few blocks; a request too large for a block gets one of its own.
 */
#include "vm/vm_module.h"

#include <string.h>

#include "vm/vm_int.h"
#include "vm/vm_text.h"

#define ARENA_FIRST 2048u
#define ARENA_LARGEST (256u * 1024)

typedef struct arena_block {
  struct arena_block *next;
  size_t size, used; /* bytes, this header included */
} arena_block;

#define ARENA_HEAD ((sizeof(arena_block) + 15) & ~(size_t)15)

static arena_block *arena_add(vm_module *m, size_t need) {
  arena_block *top = m->arena;
  size_t size = top ? top->size * 2 : ARENA_FIRST;
  if (size > ARENA_LARGEST)
    size = ARENA_LARGEST;
  bool own = need > size - ARENA_HEAD;
  if (own)
    size = ARENA_HEAD + need;
  arena_block *b = ls_mem_zalloc(m->mem, size);
  if (!b)
    return NULL;
  *b = (arena_block){NULL, size, ARENA_HEAD};
  if (own && top) { /* the room left in the top block stays in use */
    b->next = top->next;
    top->next = b;
  } else {
    b->next = top;
    m->arena = b;
  }
  return b;
}

void *vm_module_alloc(vm_module *m, size_t bytes) {
  if (bytes > SIZE_MAX / 2)
    return NULL;
  size_t need = (bytes + 15) & ~(size_t)15;
  arena_block *b = m->arena;
  if (!b || b->size - b->used < need)
    b = arena_add(m, need);
  if (!b)
    return NULL;
  char *at = (char *)b + b->used;
  b->used += need;
  return at;
}

char *vm_module_text(vm_module *m, const char *bytes, size_t len) {
  char *copy = len < SIZE_MAX ? vm_module_alloc(m, len + 1) : NULL;
  if (copy && len)
    memcpy(copy, bytes, len);
  return copy;
}

/* A file's name may be any bytes; those of a module are text. */
static const char *clean_text(vm_module *m, const char *name) {
  size_t len = strlen(name), bad;
  char *copy = vm_module_text(m, name, len);
  while (copy && !vm_text_valid(copy, len, &bad))
    copy[bad] = '?';
  return copy;
}

vm_module *vm_module_new(ls_mem *mem, const char *source_name) {
  vm_module *m = ls_mem_zalloc(mem, sizeof *m);
  if (!m)
    return NULL;
  m->mem = mem;
  m->refs = 1;
  m->source_name = clean_text(m, source_name ? source_name : "");
  if (!m->source_name) {
    vm_module_release(m);
    return NULL;
  }
  return m;
}

vm_module *vm_module_hold(vm_module *m) {
  __atomic_add_fetch(&m->refs, 1, __ATOMIC_RELAXED);
  return m;
}

void vm_module_release(vm_module *m) {
  if (!m || __atomic_sub_fetch(&m->refs, 1, __ATOMIC_ACQ_REL) != 0)
    return;
  vm_code_drop(m);
  for (arena_block *b = m->arena, *next; b; b = next) {
    next = b->next;
    ls_mem_free(m->mem, b, b->size);
  }
  ls_mem_free(m->mem, m, sizeof *m);
}

bool vm_extern_is_direct(const vm_extern *x) {
  bool direct =
      x->result != VM_RESULT_SCALAR || (x->result_type != LS_TEXT && x->result_type != LS_DATE);
  for (unsigned i = 0; i < x->nparams; i++)
    direct = direct && x->params[i].type != LS_TEXT;
  return direct;
}

int vm_module_find(const vm_module *m, const char *name, bool any_kind) {
  for (uint32_t f = 0; f < m->nfns; f++)
    if ((any_kind || m->fns[f].kind != VM_FN) && strcmp(m->fns[f].name, name) == 0)
      return (int)f;
  return -1;
}
