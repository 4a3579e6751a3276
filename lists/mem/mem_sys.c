/* lists/mem/mem_sys.c - blocks from the host's hooks or from malloc.
 *
 * From malloc: blocks below MAP_MIN are shifted to the alignment (aligned_alloc splits and joins
 * chunks each time: several times as slow, and slower the longer it is used); larger ones are
 * mappings, grown by moving page tables instead of bytes.  Under AddressSanitizer every block comes
 * from aligned_alloc, so that it sees overruns on both sides.
 */
#include "lists/mem/mem_int.h"

#include <stdlib.h>
#include <string.h>

#define MAP_MIN (2 * MEM_HUGE)

/* What to ask for, padding included; 0: too much. */
static size_t rounded(size_t bytes, size_t step) {
  return bytes > SIZE_MAX / 2 ? 0 : (bytes + LS_MEM_PAD + step - 1) & ~(step - 1);
}

static bool is_mapped(const ls_mem *m, size_t bytes) {
  return MEM_MAPS && !MEM_UNDER_ASAN && m->source == MEM_FROM_SYSTEM && bytes >= MAP_MIN;
}

#if MEM_UNDER_ASAN
static void *heap_new(size_t size) { return aligned_alloc(LS_MEM_ALIGN, size); }
static void heap_free(void *block) { free(block); }
#else
_Static_assert(_Alignof(max_align_t) >= sizeof(void *), "room for a pointer before each block");

/* malloc's own address is kept in the word before the block. */
static void *heap_new(size_t size) {
  char *p = malloc(size + LS_MEM_ALIGN);
  if (p == NULL)
    return NULL;
  char *block = p + (LS_MEM_ALIGN - ((uintptr_t)p & (LS_MEM_ALIGN - 1)));
  ((void **)(void *)block)[-1] = p;
  return block;
}
static void heap_free(void *block) { free(((void **)block)[-1]); }
#endif

void *mem_sys_alloc(ls_mem *m, size_t bytes, bool *zero) {
  *zero = is_mapped(m, bytes);
  size_t size = rounded(bytes, *zero ? MEM_HUGE : LS_MEM_ALIGN);
  if (size == 0)
    return NULL;
  if (m->source == MEM_FROM_HOOKS)
    return m->hooks.alloc(m->hooks.user, size);
  if (!*zero)
    return heap_new(size);
  void *p = mem_map_reserve(size, MEM_HUGE);
  if (p != NULL)
    mem_map_advise(p, size, true);
  return p;
}

void mem_sys_free(ls_mem *m, void *block, size_t bytes) {
  if (is_mapped(m, bytes))
    mem_map_free(block, rounded(bytes, MEM_HUGE));
  else if (m->source == MEM_FROM_HOOKS)
    m->hooks.free(m->hooks.user, block, rounded(bytes, LS_MEM_ALIGN));
  else
    heap_free(block);
}

bool mem_sys_same(const ls_mem *m, size_t old, size_t bytes) {
  return !is_mapped(m, old) && !is_mapped(m, bytes) &&
         rounded(old, LS_MEM_ALIGN) == rounded(bytes, LS_MEM_ALIGN);
}

void *mem_sys_remap(ls_mem *m, void *block, size_t old, size_t bytes) {
  size_t size = rounded(bytes, MEM_HUGE);
  if (!is_mapped(m, old) || !is_mapped(m, bytes) || size == 0)
    return NULL;
  return mem_map_resize(block, rounded(old, MEM_HUGE), size);
}
