/* A process that ends with an engine open while a loop is loaded for, compiled or run: it ends with
 * the status it was given, soon, whoever calls exit. */
#define _GNU_SOURCE /* usleep */
#include "support/host_support.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { STATUS = 41, ROUNDS = 50, LAST_US = 60000, LINGER_US = 40000, LONG_S = 30, MOST_LONG = 3 };

static const char program[] = "query q(n: int): int {\n"
                              "  var s = 0\n"
                              "  for i in 1..n { s = (s * 31 + i) % 1000003 }\n"
                              "  return s\n"
                              "}\n";

/* Of the child: nothing is released. */
static void open_all(host_world *w) {
  pure_engine_options options = {.size = sizeof options};
  if (pure_engine_new(&options, &w->engine, NULL) ||
      pure_program_compile(w->engine, "q", program, strlen(program), NULL, NULL, &w->program,
                           NULL) ||
      pure_store_new(w->program, &w->store, NULL) || pure_session_new(w->store, &w->session, NULL))
    _exit(1);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Inside a call, once the interpreter has been at work for so long. */
static double exit_at;

static bool exit_inside(void *user, uint64_t work) {
  double *delay = user;
  (void)work;
  if (exit_at == 0)
    exit_at = now() + *delay;
  if (now() >= exit_at)
    exit(STATUS);
  return true;
}

static void *run(void *user) {
  const host_world *w = user;
  pure_value v = pure_int(INT64_C(1) << 40);
  (void)!pure_session_call(w->session, "q", &v, 1, NULL, NULL);
  _exit(2);
}

/* Registered first, so run last: what compiles goes on for a while after all is destroyed. */
static void linger(void) { usleep(LINGER_US); }

/* By the thread that calls, in its call; or by another, while that goes on. */
static void child(double delay, bool other) {
  static host_world w;
  pthread_t thread;
  if (atexit(linger) != 0)
    _exit(4);
  open_all(&w);
  if (!other) {
    if (pure_session_progress(w.session, 0, exit_inside, &delay, NULL) == PURE_OK)
      run(&w);
  } else if (pthread_create(&thread, NULL, run, &w) == 0) {
    usleep((useconds_t)(delay * 1e6));
    exit(STATUS);
  }
  _exit(3);
}

/* Delays from nothing to past the end of the first compiles.  A child that takes long may have been
 * stopped from outside; several have not. */
static void ends(bool other) {
  int longs = 0;
  for (unsigned i = 0; i < ROUNDS; i++) {
    double delay = i * 1e-6 * LAST_US / ROUNDS;
    double start = now();
    int status = 0;
    fflush(NULL);
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0)
      child(delay, other);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == STATUS, "exit after %f s: status %x",
                  delay, (unsigned)status);
    longs += now() - start > LONG_S;
    ck_assert_int_le(longs, MOST_LONG);
  }
}

START_TEST(by_the_caller) { ends(false); }
END_TEST

START_TEST(by_another_thread) { ends(true); }
END_TEST

int main(void) {
  const TTest *const tests[] = {by_the_caller, by_another_thread};
  return HOST_RUN("exit", tests);
}
