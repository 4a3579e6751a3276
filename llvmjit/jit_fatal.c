/* llvmjit/jit_fatal.c - LLVM's fatal errors: where it would end the process, the compile ends.
 *
 * LLVM calls a handler and aborts when that returns.  This one leaves LLVM for where the compile
 * went in.  What LLVM held is lost then and may be locked, so the engine compiles nothing more; the
 * code that there is goes on working.  An error on a thread that compiles nothing of ours is not
 * ours: the handler returns.  LLVM's own lack of memory cannot be caught through its C API.
 *
 * The handler gets no word of whose it is, so the parts under way are in one list of the process,
 * by thread.
 */
#include <llvm-c/ErrorHandling.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>

#include "llvmjit/jit_int.h"

typedef struct guard {
  struct guard *next;
  pthread_t thread;
  jmp_buf back;
  char *why;
} guard;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static guard *under_way; /* the newest first */

static void enter(guard *g) {
  pthread_mutex_lock(&lock);
  g->next = under_way;
  under_way = g;
  pthread_mutex_unlock(&lock);
}

static void leave(const guard *g) {
  pthread_mutex_lock(&lock);
  guard **at = &under_way;
  while (*at != g)
    at = &(*at)->next;
  *at = g->next;
  pthread_mutex_unlock(&lock);
}

static guard *of_this_thread(void) {
  pthread_mutex_lock(&lock);
  guard *g = under_way;
  while (g && !pthread_equal(g->thread, pthread_self()))
    g = g->next;
  pthread_mutex_unlock(&lock);
  return g;
}

static void hear_fatal(const char *reason) {
  guard *g = of_this_thread();
  if (g == NULL)
    return;
  snprintf(g->why, VM_JIT_WHY, "LLVM gave up: %s", reason);
  longjmp(g->back, 1);
}

void jit_fatal_begin(void) {
  LLVMResetFatalErrorHandler();
  LLVMInstallFatalErrorHandler(hear_fatal);
}

bool jit_guarded(void (*part)(void *user), void *user, char *why) {
  guard g = {.thread = pthread_self(), .why = why};
  bool fine = setjmp(g.back) == 0;
  if (fine) {
    enter(&g);
    part(user);
  }
  leave(&g);
  return fine;
}
