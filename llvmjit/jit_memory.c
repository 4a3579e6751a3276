/* llvmjit/jit_memory.c - what LLVM holds of the heap.
 *
 * LLVM does not tell, so the heap is read before and after it was at work, and the differences are
 * added up.  What other threads take and give back in between is counted with it.
 */
#include <stdlib.h>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include "llvmjit/jit_int.h"

uint64_t jit_heap_now(void) {
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
  struct mallinfo2 m = mallinfo2();
  return (uint64_t)m.uordblks + (uint64_t)m.hblkhd;
#else
  return 0;
#endif
}
