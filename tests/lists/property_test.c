/* tests/lists/property_test.c - every layout against a naive model, at random.
 *
 *   property_test [--ops N] [--seed S]      many worlds, at least N operations in all
 *   property_test --world S [--trace]       one world again, as a failure named it
 *   property_test --world S --shrink        and the fewest steps that still fail
 *
 * PURE_PROPERTY_OPS in the environment stands for --ops.  The work is done in a child
 * process, so that a crash can be reported and made smaller like any other failure. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include "tests/lists/support/world.h"

#define DEFAULT_OPS 300000u
#define ENOUGH_OPS 200000u /* from here on everything must have happened */
#define SHRINK_SECONDS 120
#define TRIAL_SECONDS 30u
#define MOST_STEPS (1u << 16) /* more than any world has */

typedef struct {
  uint64_t ops, seed, world;
  bool one, trace, shrink;
} options;

static bool world_go(uint64_t seed, const bool *skip, bool strict, bool trace, bool quiet,
                     world_cover *cover) {
  world *w = world_new(seed, cover);
  if (!w)
    return false;
  w->strict = strict;
  w->trace = trace;
  if (!w->failed && world_run(w, skip))
    return true;
  if (!quiet) {
    printf("FAILED world %" PRIu64 " step %" PRIu64 " %s%s\n  %s\n", seed, w->step,
           world_ops[w->op].name, w->in_event ? " in an event" : "", w->why);
    view_print(w);
    fflush(stdout);
  }
  return false; /* what failed is not tidied up: the process ends */
}

/* Whether that world fails, with these steps left out.  In a process of its own. */
static bool trial_fails(uint64_t seed, const bool *skip, world_cover *cover) {
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    int null = open("/dev/null", O_WRONLY);
    if (null >= 0) {
      dup2(null, STDOUT_FILENO);
      dup2(null, STDERR_FILENO);
    }
    alarm(TRIAL_SECONDS);
    bool good = world_go(seed, skip, true, false, true, cover);
    _exit(good ? 0 : 1);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child)
    return false;
  bool slow = WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM;
  return status != 0 && !slow;
}

/* Leaves out ever smaller pieces as long as it still fails. */
static uint64_t shrink_steps(uint64_t seed, bool *skip, uint64_t n, world_cover *cover) {
  time_t end = time(NULL) + SHRINK_SECONDS;
  for (uint64_t piece = n / 2; piece > 0; piece /= 2) {
    for (uint64_t at = 0; at < n && time(NULL) < end; at += piece) {
      bool *trial = malloc(MOST_STEPS);
      if (!trial)
        return n;
      memcpy(trial, skip, MOST_STEPS);
      memset(trial + at, true, n - at < piece ? n - at : piece);
      if (memcmp(trial, skip, n) != 0 && trial_fails(seed, trial, cover))
        memcpy(skip, trial, MOST_STEPS);
      free(trial);
    }
  }
  uint64_t kept = 0;
  for (uint64_t i = 0; i < n; i++)
    kept += !skip[i];
  return kept;
}

static void shrink(uint64_t seed, uint64_t failed_at, world_cover *cover) {
  bool *skip = calloc(MOST_STEPS, sizeof *skip);
  if (!skip)
    return;
  for (uint64_t i = failed_at + 1; i < MOST_STEPS; i++)
    skip[i] = true;
  printf("smaller:\n");
  if (!trial_fails(seed, skip, cover)) {
    printf("  it does not fail again by itself\n");
  } else {
    for (uint64_t i = cover->step + 1; i < MOST_STEPS; i++)
      skip[i] = true;
    uint64_t kept = shrink_steps(seed, skip, cover->step + 1, cover);
    printf("  %" PRIu64 " steps still fail:\n", kept);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
      alarm(TRIAL_SECONDS);
      _exit(world_go(seed, skip, true, true, false, cover) ? 0 : 1);
    }
    if (child > 0)
      waitpid(child, NULL, 0);
  }
  free(skip);
}

/* The layouts that an operation can meet. */
static unsigned op_layouts_possible(unsigned op) {
  unsigned at = world_ops[op].at, all = (1u << LS_NLAYOUTS) - 1;
  if (at & AT_FLAT)
    return 1u << LS_FLAT;
  if (at & (AT_KEYED | AT_LOOPING))
    all &= ~(1u << LS_FLAT);
  if (at & (AT_STORED | AT_EVENT))
    all &= ~(1u << LS_HASH);
  return all;
}

static bool missing(const char *kind, const char *what, const char *of) {
  printf("never: %s %s %s\n", kind, what, of);
  return false;
}

static bool cover_complete(const world_cover *v) {
  static const unsigned widths[LS_NTYPES] = {0xf, 0x8, 0x1, 0x7, 0x7};
  bool all = true;
  for (unsigned op = 0; op < WORLD_NOPS; op++) {
    for (unsigned l = 0; l < LS_NLAYOUTS; l++) {
      if (!(op_layouts_possible(op) >> l & 1) || v->op[op][l])
        continue;
      all = missing("operation", world_ops[op].name, ls_layout_name((ls_layout)l));
    }
  }
  for (unsigned i = 0; i < WORLD_NSTATUS; i++) {
    if (!v->status[i])
      all = missing("status", world_statuses[i], "");
  }
  for (unsigned x = LS_DENSE; x < LS_NLAYOUTS; x++) {
    for (unsigned y = LS_DENSE; y < LS_NLAYOUTS; y++) {
      if (x == y || v->changed[x][y])
        continue;
      all = missing("change", ls_layout_name((ls_layout)x), ls_layout_name((ls_layout)y));
    }
  }
  for (unsigned t = 0; t < LS_NTYPES; t++) {
    for (unsigned i = 0; i < 4; i++) {
      char said[2] = {(char)('0' + i), 0};
      if ((widths[t] >> i & 1) && !v->width[t][i])
        all = missing("width", world_types[t], said);
    }
  }
  if (!v->rolled_back || !v->snapshots_checked || !v->loops_reseated || !v->big_worlds ||
      !v->deep_worlds) {
    all = missing("rollback, snapshot, loop or big world", "", "");
  }
  return all;
}

static void cover_print(const world_cover *v, double seconds) {
  uint64_t per_layout[LS_NLAYOUTS] = {0};
  for (unsigned op = 0; op < WORLD_NOPS; op++) {
    for (unsigned l = 0; l < LS_NLAYOUTS; l++)
      per_layout[l] += v->op[op][l];
  }
  printf("%" PRIu64 " operations, %" PRIu64 " worlds (%" PRIu64 " big, %" PRIu64 " deep), %" PRIu64
         " lists, %" PRIu64 " checks, %.1f s; applied:",
         v->steps, v->worlds, v->big_worlds, v->deep_worlds, v->lists, v->checks, seconds);
  for (unsigned l = 0; l < LS_NLAYOUTS; l++) {
    printf(" %s %" PRIu64, ls_layout_name((ls_layout)l), per_layout[l]);
  }
  printf("; statuses:");
  for (unsigned i = 0; i < WORLD_NSTATUS; i++) {
    printf(" %s %" PRIu64, world_statuses[i], v->status[i]);
  }
  printf("; rollbacks %" PRIu64 ", snapshot checks %" PRIu64 ", loops found again %" PRIu64
         "; flat/dense/hash/tree/array:",
         v->rolled_back, v->snapshots_checked, v->loops_reseated);
  for (unsigned op = 0; op < WORLD_NOPS; op++) {
    printf(" %s", world_ops[op].name);
    for (unsigned l = 0; l < LS_NLAYOUTS; l++)
      printf("%c%" PRIu64, l ? '/' : ' ', v->op[op][l]);
  }
  printf("\n");
}

/* The worlds one after the other; the exit status of the child. */
static int run_worlds(const options *o, world_cover *cover) {
  chance c = chance_make(o->seed, 0);
  if (o->one)
    return !world_go(o->world, NULL, false, o->trace, false, cover);
  while (cover->steps < o->ops) {
    uint64_t seed = chance_next(&c) >> 32;
    if (!world_go(seed, NULL, false, false, false, cover))
      return 1;
  }
  return 0;
}

static int run(const options *o, world_cover *cover) {
  struct timespec from, to;
  clock_gettime(CLOCK_MONOTONIC, &from);
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    int status = run_worlds(o, cover);
    if (status)
      _exit(status);
    exit(0); /* so that a leak checker runs */
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) {
    perror("property_test");
    return 1;
  }
  clock_gettime(CLOCK_MONOTONIC, &to);
  if (status != 0) {
    printf("seed %" PRIu64 ", world %" PRIu64 ", step %" PRIu64 ", %s: failed", o->seed,
           cover->seed, cover->step, world_ops[cover->now].name);
    if (WIFSIGNALED(status))
      printf(" with signal %d", WTERMSIG(status));
    printf("\n");
    if (!o->one || o->shrink)
      shrink(cover->seed, cover->step, cover);
    return 1;
  }
  if (o->one)
    return 0;
  double seconds = (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) / 1e9;
  cover_print(cover, seconds);
  return o->ops >= ENOUGH_OPS && !cover_complete(cover);
}

static bool number(const char *text, uint64_t *out) {
  char *end;
  if (!text || *text < '0' || *text > '9')
    return false;
  *out = strtoull(text, &end, 10);
  return *end == '\0';
}

static bool options_read(int argc, char **argv, options *o) {
  const char *ops = getenv("PURE_PROPERTY_OPS");
  *o = (options){.ops = DEFAULT_OPS, .seed = 1};
  if (ops && !number(ops, &o->ops))
    return false;
  for (int i = 1; i < argc; i++) {
    const char *value = i + 1 < argc ? argv[i + 1] : NULL;
    if (strcmp(argv[i], "--trace") == 0) {
      o->trace = true;
    } else if (strcmp(argv[i], "--shrink") == 0) {
      o->shrink = true;
    } else if (strcmp(argv[i], "--ops") == 0 && number(value, &o->ops)) {
      i++;
    } else if (strcmp(argv[i], "--seed") == 0 && number(value, &o->seed)) {
      i++;
    } else if (strcmp(argv[i], "--world") == 0 && number(value, &o->world)) {
      o->one = true;
      i++;
    } else {
      return false;
    }
  }
  return true;
}

int main(int argc, char **argv) {
  options o;
  if (!options_read(argc, argv, &o)) {
    fprintf(stderr, "usage: property_test [--ops N] [--seed S] [--world W] [--trace] [--shrink]\n");
    return 2;
  }
  world_cover *cover =
      mmap(NULL, sizeof *cover, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (cover == MAP_FAILED) {
    perror("property_test");
    return 1;
  }
  return run(&o, cover);
}
