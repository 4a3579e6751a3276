/* vm/vm_tier_rate.c - how fast the interpreter is at a loop, and how fast its code.
 *
 * Speed is time a unit of work, taken over windows of some work each, and the best window counts:
 * whatever else the machine does makes some windows worse, but none better.  The time of code is
 * taken around entering and leaving, so that code that leaves at once is seen to be slow.
 */
#include <time.h>

#include "vm/vm_tier_int.h"

#define WINDOW_WORK 8192u
#define ENOUGH 6u   /* windows before anything is said */
#define MARGIN 1.05 /* so much slower is slower */

uint64_t vm_clock_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void vm_rate_add(vm_rate *r, uint64_t ns, uint64_t work) {
  r->ns += ns;
  r->work += work;
  if (r->work < WINDOW_WORK)
    return;
  double rate = (double)r->ns / (double)r->work;
  if (r->windows == 0 || rate < r->best)
    r->best = rate;
  r->windows++;
  r->ns = r->work = 0;
}

bool vm_rate_loses(const vm_rate *fast, const vm_rate *slow) {
  return fast->windows >= ENOUGH && slow->windows >= ENOUGH && fast->best > slow->best * MARGIN;
}
