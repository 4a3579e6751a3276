/* llvmjit/jit_memory.c - what LLVM holds of the heap.
 *
 * LLVM does not tell, so the heap is read when an engine opens and when somebody asks, without what
 * Pure itself holds then.  What the host took in between is counted with it.  (Adding up what the
 * heap grows by during each compile drifts: chunks that malloc keeps for a thread are taken in
 * one place and given back in another.)
 */
#include <stdlib.h>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include "llvmjit/jit_int.h"

static uint64_t heap_now(void) {
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
  struct mallinfo2 m = mallinfo2();
  return (uint64_t)m.uordblks + (uint64_t)m.hblkhd;
#else
  return 0;
#endif
}

uint64_t jit_heap_of_others(ls_mem *mem) {
  ls_mem_stats s;
  ls_mem_read_stats(mem, &s);
  uint64_t heap = heap_now();
  return heap > s.live_bytes ? heap - s.live_bytes : 0;
}
