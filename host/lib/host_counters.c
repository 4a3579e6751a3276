/* Counters of a thread: the handle, what the system counts, and how counts are read. */
#define _GNU_SOURCE /* RUSAGE_THREAD */
#include "host/lib/host_counters.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "host/lib/host_int.h"

enum { HOST_SYSTEM = PURE_NCOUNTERS - HOST_HARDWARE };

const char *const host_counter_names[PURE_NCOUNTERS] = {
    [PURE_COUNTER_CYCLES] = "cycles",
    [PURE_COUNTER_INSTRUCTIONS] = "instructions",
    [PURE_COUNTER_BRANCHES] = "branches",
    [PURE_COUNTER_BRANCH_MISSES] = "branch misses",
    [PURE_COUNTER_L1D_LOADS] = "L1D loads",
    [PURE_COUNTER_L1D_MISSES] = "L1D misses",
    [PURE_COUNTER_LLC_LOADS] = "LLC loads",
    [PURE_COUNTER_LLC_MISSES] = "LLC misses",
    [PURE_COUNTER_TASK_CLOCK] = "task clock",
    [PURE_COUNTER_PAGE_FAULTS] = "page faults",
    [PURE_COUNTER_CONTEXT_SWITCHES] = "context switches",
};

struct pure_counters {
  host_handle head;
  pure_engine *engine;
  host_counter_set set;
  bool running;
  uint64_t from[HOST_SYSTEM], sum[HOST_SYSTEM];
};

/* The first of the group that an event belongs to. */
static unsigned group_of(unsigned which) {
  return which < PURE_COUNTER_L1D_LOADS ? PURE_COUNTER_CYCLES : PURE_COUNTER_L1D_LOADS;
}

/* The descriptor that stands for the group: of its first event that could be opened. */
static int leader_of(const host_counter_set *s, unsigned group) {
  for (unsigned i = group; i < HOST_HARDWARE && group_of(i) == group; i++)
    if (s->fd[i] >= 0)
      return s->fd[i];
  return -1;
}

void host_counter_open(host_counter_set *s, const host_counter_kernel *kernel, pid_t thread,
                       bool command) {
  s->kernel = kernel;
  for (unsigned i = 0; i < HOST_HARDWARE; i++)
    s->fd[i] = -1;
  for (unsigned i = 0; i < HOST_HARDWARE; i++) {
    errno = 0;
    s->fd[i] =
        kernel->open(kernel->user, (pure_counter)i, thread, leader_of(s, group_of(i)), command);
    s->error[i] = s->fd[i] < 0 ? errno : 0;
  }
}

void host_counter_close(host_counter_set *s) {
  for (unsigned i = HOST_HARDWARE; i-- > 0;) {
    if (s->fd[i] >= 0)
      s->kernel->close(s->kernel->user, s->fd[i]);
    s->fd[i] = -1;
  }
}

void host_counter_enable(const host_counter_set *s, bool on) {
  static const unsigned groups[] = {PURE_COUNTER_CYCLES, PURE_COUNTER_L1D_LOADS};
  for (unsigned g = 0; g < sizeof groups / sizeof groups[0]; g++) {
    int leader = leader_of(s, groups[g]);
    if (leader >= 0)
      s->kernel->enable(s->kernel->user, leader, on);
  }
}

static const char *meaning(int error) {
  switch (error) {
  case ENOENT:
  case EOPNOTSUPP:
  case ENODEV:
  case ENXIO:
    return "the processor offers no such counter, as in many virtual machines";
  case EACCES:
  case EPERM:
    return "the kernel does not allow it: kernel.perf_event_paranoid is above 2, or a sandbox "
           "forbids it";
  case ENOSYS:
    return "the system has no perf_event_open";
  case EMFILE:
  case ENFILE:
    return "too many files are open";
  case EBUSY:
    return "somebody else has the counters for themselves";
  case EINVAL:
    return "the processor cannot count it together with the others of its group";
  default:
    return "the kernel refused it";
  }
}

static const char *error_name(int error) {
  switch (error) {
  case ENOENT:
    return "ENOENT";
  case EOPNOTSUPP:
    return "EOPNOTSUPP";
  case ENODEV:
    return "ENODEV";
  case EACCES:
    return "EACCES";
  case EPERM:
    return "EPERM";
  case ENOSYS:
    return "ENOSYS";
  case EMFILE:
    return "EMFILE";
  case EBUSY:
    return "EBUSY";
  case EINVAL:
    return "EINVAL";
  default:
    return NULL;
  }
}

static void explain(int error, pure_count *out) {
  const char *name = error_name(error);
  if (name)
    snprintf(out->reason, sizeof out->reason, "%s (%s)", meaning(error), name);
  else
    snprintf(out->reason, sizeof out->reason, "%s (error %d)", meaning(error), error);
}

void host_counter_read(const host_counter_set *s, pure_counter which, pure_count *out) {
  uint64_t got[3] = {0};
  size_t size = out->size;
  memset(out, 0, sizeof *out);
  out->size = size;
  out->name = host_counter_names[which];
  if (s->fd[which] < 0) {
    explain(s->error[which], out);
    return;
  }
  errno = 0;
  if (s->kernel->read(s->kernel->user, s->fd[which], got) != 0) {
    explain(errno, out);
    return;
  }
  if (got[1] > 0 && got[2] == 0) {
    snprintf(out->reason, sizeof out->reason,
             "it never had a place on the processor: others had all of them, or the time was too "
             "short");
    return;
  }
  out->counted = true;
  out->share = got[2] < got[1] ? (double)got[2] / (double)got[1] : 1;
  out->value = got[2] < got[1] ? (uint64_t)((double)got[0] / out->share) : got[0];
}

static void read_system(uint64_t out[HOST_SYSTEM]) {
  struct timespec now = {0};
  struct rusage usage = {0};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  getrusage(RUSAGE_THREAD, &usage);
  out[PURE_COUNTER_TASK_CLOCK - HOST_HARDWARE] =
      (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
  out[PURE_COUNTER_PAGE_FAULTS - HOST_HARDWARE] = (uint64_t)(usage.ru_minflt + usage.ru_majflt);
  out[PURE_COUNTER_CONTEXT_SWITCHES - HOST_HARDWARE] = (uint64_t)(usage.ru_nvcsw + usage.ru_nivcsw);
}

pure_status host_counters_new(pure_engine *engine, const host_counter_kernel *kernel,
                              pure_counters **out, pure_error *error) {
  if (out)
    *out = NULL;
  if (!host_is(engine, HOST_ENGINE) || !out)
    return HOST_MISUSE(error, "pure_counters_new", {"engine", engine, HOST_ENGINE},
                       {"out", out, HOST_POINTER});
  pure_counters *c = host_handle_new(engine, HOST_COUNTERS, sizeof *c);
  if (!c)
    return host_no_memory(error);
  c->engine = host_hold(engine);
  host_counter_open(&c->set, kernel, 0, false);
  *out = c;
  return PURE_OK;
}

pure_status pure_counters_new(pure_engine *engine, pure_counters **out, pure_error *error) {
  return host_counters_new(engine, &host_counter_linux, out, error);
}

void pure_counters_release(pure_counters *counters) {
  if (!host_close(counters, HOST_COUNTERS))
    return;
  pure_engine *engine = counters->engine;
  host_counter_close(&counters->set);
  host_bury(engine, counters);
  host_engine_drop(engine);
}

/* What is asked of the kernel for the one kind is not to be seen in the other: hardware counters
 * are on last and off first. */
void pure_counters_start(pure_counters *counters) {
  if (!host_is(counters, HOST_COUNTERS) || counters->running)
    return;
  counters->running = true;
  read_system(counters->from);
  host_counter_enable(&counters->set, true);
}

void pure_counters_stop(pure_counters *counters) {
  uint64_t now[HOST_SYSTEM];
  if (!host_is(counters, HOST_COUNTERS) || !counters->running)
    return;
  host_counter_enable(&counters->set, false);
  read_system(now);
  counters->running = false;
  for (unsigned i = 0; i < HOST_SYSTEM; i++)
    counters->sum[i] += now[i] - counters->from[i];
}

pure_status pure_counters_read(const pure_counters *counters, pure_counter which, pure_count *out) {
  pure_count full = {0};
  if (!host_is(counters, HOST_COUNTERS) || !out || !host_sized(out->size, sizeof full))
    return PURE_MISUSE;
  if ((unsigned)which >= PURE_NCOUNTERS)
    return PURE_NOT_FOUND;
  if ((unsigned)which < HOST_HARDWARE)
    host_counter_read(&counters->set, which, &full);
  else
    full = (pure_count){.name = host_counter_names[which],
                        .counted = true,
                        .share = 1,
                        .value = counters->sum[which - HOST_HARDWARE]};
  full.size = out->size;
  memcpy(out, &full, out->size);
  return PURE_OK;
}
