/* lists/mem/mem_map.c - pages of the system, and what AddressSanitizer wants to know of them. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "lists/mem/mem_int.h"

#include <time.h>

#if MEM_UNDER_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/lsan_interface.h>
#endif

uint64_t mem_now_ms(void) {
  struct timespec t;
#ifdef CLOCK_MONOTONIC_COARSE
  clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
#else
  clock_gettime(CLOCK_MONOTONIC, &t);
#endif
  return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

#if MEM_MAPS
#include <sys/mman.h>

void *mem_map_reserve(size_t size, size_t align) {
  char *p = mmap(NULL, size + align, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED)
    return NULL;
  size_t head = (align - ((uintptr_t)p & (align - 1))) & (align - 1);
  if (head != 0)
    munmap(p, head);
  if (head != align)
    munmap(p + head + size, align - head);
  return p + head;
}

void mem_map_free(void *at, size_t size) {
  mem_map_unpoison(at, size);
  munmap(at, size);
}

/* Only advice: may be refused. */
void mem_map_advise(void *at, size_t size, bool huge) {
  (void)madvise(at, size, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
}

void mem_map_purge(void *at, size_t size) { (void)madvise(at, size, MADV_DONTNEED); }

void *mem_map_resize(void *at, size_t old, size_t size) {
  if (old == size)
    return at;
  if (size < old) {
    munmap((char *)at + size, old - size);
    return at;
  }
  if (mremap(at, old, size, 0) != MAP_FAILED)
    return at;
  void *to = mem_map_reserve(size, MEM_HUGE);
  if (to == NULL)
    return NULL;
  if (mremap(at, old, size, MREMAP_MAYMOVE | MREMAP_FIXED, to) != MAP_FAILED)
    return to;
  munmap(to, size);
  return NULL;
}
#else
void *mem_map_reserve(size_t size, size_t align) { return (void)size, (void)align, NULL; }
void mem_map_free(void *at, size_t size) { (void)at, (void)size; }
void mem_map_advise(void *at, size_t size, bool huge) { (void)at, (void)size, (void)huge; }
void mem_map_purge(void *at, size_t size) { (void)at, (void)size; }
void *mem_map_resize(void *at, size_t old, size_t size) {
  return (void)at, (void)old, (void)size, NULL;
}
#endif

#if MEM_UNDER_ASAN
void mem_map_poison(const void *at, size_t size) { __asan_poison_memory_region(at, size); }
void mem_map_unpoison(const void *at, size_t size) { __asan_unpoison_memory_region(at, size); }
void mem_map_rooted(const void *at, size_t size, bool rooted) {
  if (rooted)
    __lsan_register_root_region(at, size);
  else
    __lsan_unregister_root_region(at, size);
}
#endif
