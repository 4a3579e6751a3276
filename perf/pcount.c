/* pcount: what the processor counts while a command runs, in user space, its children included. */
#define _GNU_SOURCE /* pipe2 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "host/lib/host_counters.h"
#include "perf/support/race.h"
#include "perf/support/sample.h"

static const char tool[] = "pcount";
static const char usage[] =
    "usage: pcount [--json] [--valgrind] [--] COMMAND [ARGUMENT...]\n"
    "\n"
    "Runs the command and tells, on standard error, what was counted while it and its children\n"
    "ran: of the processor in user space alone, of the system altogether.\n"
    "\n"
    "  --json      a line of JSON instead of the table\n"
    "  --valgrind  have valgrind count instructions, branches and cache misses of a simulated\n"
    "              processor: for machines that give no counters; about 50 times slower\n"
    "\n"
    "Exit status: that of the command (128 and the signal that ended it); 2 usage, 3 could not "
    "run\n";

typedef struct {
  pure_count count[PURE_NCOUNTERS];
  double wall_ms;
  int status;
} outcome;

typedef struct {
  bool json, valgrind;
  char **command;
} options;

/* False: the program ends with *status. */
static bool parse(int argc, char **argv, options *o, int *status) {
  int i = 1;
  *o = (options){0};
  *status = RACE_USAGE;
  for (; i < argc && argv[i][0] == '-'; i++) {
    if (strcmp(argv[i], "--help") == 0) {
      fputs(usage, stdout);
      *status = RACE_OK;
      return false;
    }
    if (strcmp(argv[i], "--") == 0) {
      i++;
      break;
    }
    if (strcmp(argv[i], "--json") == 0) {
      o->json = true;
    } else if (strcmp(argv[i], "--valgrind") == 0) {
      o->valgrind = true;
    } else {
      fprintf(stderr, "%s: bad option: %s\n\n%s", tool, argv[i], usage);
      return false;
    }
  }
  o->command = argv + i;
  if (i < argc)
    return true;
  fprintf(stderr, "%s: which command?\n\n%s", tool, usage);
  return false;
}

/* The child: waits until it is watched, then becomes the command; or says why not. */
static void become(char **command, int wait_fd, int tell_fd) {
  char go;
  while (read(wait_fd, &go, 1) < 0 && errno == EINTR)
    ;
  execvp(command[0], command);
  int error = errno;
  if (write(tell_fd, &error, sizeof error) != (ssize_t)sizeof error)
    _exit(126);
  _exit(127);
}

static void read_system(const struct rusage *u, outcome *out) {
  const uint64_t values[] = {(uint64_t)(u->ru_utime.tv_sec + u->ru_stime.tv_sec) * 1000000000u +
                                 (uint64_t)(u->ru_utime.tv_usec + u->ru_stime.tv_usec) * 1000u,
                             (uint64_t)(u->ru_minflt + u->ru_majflt),
                             (uint64_t)(u->ru_nvcsw + u->ru_nivcsw)};
  for (unsigned i = HOST_HARDWARE; i < PURE_NCOUNTERS; i++)
    out->count[i] = (pure_count){.name = host_counter_names[i],
                                 .counted = true,
                                 .share = 1,
                                 .value = values[i - HOST_HARDWARE]};
}

static int exit_status(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* What the parent does: counts, lets the command go, waits for it. */
static bool watch(pid_t child, int go_fd, int told_fd, outcome *out) {
  host_counter_set set;
  struct rusage usage = {0};
  int error = 0, status = 0;
  host_counter_open(&set, &host_counter_linux, child, true);
  double from = sample_now_ms(SAMPLE_WALL);
  bool ok = write(go_fd, "g", 1) == 1;
  while (wait4(child, &status, 0, &usage) < 0 && errno == EINTR)
    ;
  out->wall_ms = sample_now_ms(SAMPLE_WALL) - from;
  out->status = exit_status(status);
  for (unsigned i = 0; i < HOST_HARDWARE; i++)
    host_counter_read(&set, (pure_counter)i, &out->count[i]);
  host_counter_close(&set);
  read_system(&usage, out);
  return ok && read(told_fd, &error, sizeof error) == 0 ? true : (errno = error, false);
}

static bool run_command(char **command, outcome *out) {
  int go[2], told[2];
  if (pipe2(go, O_CLOEXEC) != 0 || pipe2(told, O_CLOEXEC) != 0)
    return false;
  pid_t child = fork();
  if (child < 0)
    return false;
  if (child == 0)
    become(command, go[0], told[1]);
  close(go[0]);
  close(told[1]);
  bool ok = watch(child, go[1], told[0], out);
  close(go[1]);
  close(told[0]);
  return ok;
}

static void print_missing(const outcome *o, unsigned first) {
  const pure_count *c = o->count;
  for (unsigned i = 0; i < first; i++)
    if (!c[i].counted && strcmp(c[i].reason, c[first].reason) == 0)
      return;
  fprintf(stderr, "  not counted: %s", c[first].name);
  for (unsigned i = first + 1; i < PURE_NCOUNTERS; i++)
    if (!c[i].counted && strcmp(c[i].reason, c[first].reason) == 0)
      fprintf(stderr, ", %s", c[i].name);
  fprintf(stderr, ": %s\n", c[first].reason);
}

static void print_ratio(const outcome *o, pure_counter of, pure_counter to, double scale,
                        const char *what) {
  const pure_count *a = &o->count[of], *b = &o->count[to];
  if (a->counted && b->counted && b->value)
    fprintf(stderr, "  %17.2f  %s\n", scale * (double)a->value / (double)b->value, what);
}

static void print_table(const outcome *o) {
  bool missing = false;
  fprintf(stderr, "  %17.3f  wall clock, ms\n", o->wall_ms);
  for (unsigned i = 0; i < PURE_NCOUNTERS; i++) {
    const pure_count *c = &o->count[i];
    missing |= !c->counted;
    if (!c->counted)
      continue;
    if (i == PURE_COUNTER_TASK_CLOCK)
      fprintf(stderr, "  %17.3f  %s, ms", (double)c->value / 1e6, c->name);
    else
      fprintf(stderr, "  %17" PRIu64 "  %s", c->value, c->name);
    if (c->share < 1)
      fprintf(stderr, "  (estimated: on the processor for %.0f %% of the time)", c->share * 100);
    fputc('\n', stderr);
  }
  print_ratio(o, PURE_COUNTER_INSTRUCTIONS, PURE_COUNTER_CYCLES, 1, "instructions a cycle");
  print_ratio(o, PURE_COUNTER_BRANCH_MISSES, PURE_COUNTER_BRANCHES, 100, "% of branches missed");
  print_ratio(o, PURE_COUNTER_L1D_MISSES, PURE_COUNTER_L1D_LOADS, 100, "% of L1D loads missed");
  print_ratio(o, PURE_COUNTER_LLC_MISSES, PURE_COUNTER_LLC_LOADS, 100, "% of LLC loads missed");
  for (unsigned i = 0; i < PURE_NCOUNTERS; i++)
    if (!o->count[i].counted)
      print_missing(o, i);
  if (missing)
    fputs("  pcount --valgrind counts on a simulated processor instead\n", stderr);
}

/* "branch misses" is branch_misses there. */
static void print_key(const char *name) {
  fputs(",\"", stderr);
  for (; *name; name++)
    fputc(*name == ' ' ? '_' : *name, stderr);
  fputs("\":", stderr);
}

static void print_json(const outcome *o) {
  fprintf(stderr, "{\"status\":%d,\"wall_ms\":%.4f", o->status, o->wall_ms);
  for (unsigned i = 0; i < PURE_NCOUNTERS; i++) {
    const pure_count *c = &o->count[i];
    print_key(c->name);
    if (c->counted)
      fprintf(stderr, "{\"value\":%" PRIu64 ",\"share\":%.4f}", c->value, c->share);
    else
      fprintf(stderr, "{\"reason\":\"%s\"}", c->reason);
  }
  fputs("}\n", stderr);
}

/* The code that Pure writes while it runs has to be read anew. */
static int with_valgrind(char **command) {
  static const char *const words[] = {"valgrind",
                                      "--tool=cachegrind",
                                      "--cache-sim=yes",
                                      "--branch-sim=yes",
                                      "--cachegrind-out-file=/dev/null",
                                      "--smc-check=all-non-file"};
  enum { NWORDS = sizeof words / sizeof *words };
  size_t n = 0;
  while (command[n])
    n++;
  const char **all = calloc(NWORDS + n + 1, sizeof *all);
  if (!all)
    return RACE_CANNOT;
  memcpy(all, words, sizeof words);
  memcpy(all + NWORDS, command, n * sizeof *command);
  execvp(all[0], (char **)all);
  fprintf(stderr, "%s: valgrind: %s\n", tool, strerror(errno));
  free(all);
  return RACE_CANNOT;
}

int main(int argc, char **argv) {
  options o;
  outcome out = {.status = 0};
  int status;
  if (!parse(argc, argv, &o, &status))
    return status;
  if (o.valgrind)
    return with_valgrind(o.command);
  if (!run_command(o.command, &out)) {
    fprintf(stderr, "%s: %s: %s\n", tool, o.command[0], strerror(errno));
    return RACE_CANNOT;
  }
  if (o.json)
    print_json(&out);
  else
    print_table(&out);
  return out.status;
}
