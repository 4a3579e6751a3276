/* host/lib/host_counters.h - events that the processor counts: pure_counters stands on it, and
 * perf/pcount for whole commands.
 *
 * Hardware events come from perf_event_open, in user space alone, in two groups: all of a group are
 * on the processor together, so that their ratios are of one interval.  Where the processor has
 * fewer places than events, the kernel lets groups take turns; a value is then what was counted,
 * over the share of the time in which it was.  Events of the system come from the resource usage of
 * the thread, which is there on every machine.
 *
 * What the kernel does is behind host_counter_kernel, so that tests can put other kernels there.
 */
#ifndef PURE_HOST_COUNTERS_H
#define PURE_HOST_COUNTERS_H

#include <pure/pure.h>

#include <sys/types.h>

enum { HOST_HARDWARE = PURE_COUNTER_TASK_CLOCK }; /* the first that is not of the processor */

extern const char *const host_counter_names[PURE_NCOUNTERS];

/* Functions like the system's: -1 with errno. */
typedef struct {
  /* thread 0: the caller's. A counter of a command starts with its exec and sees its children. */
  int (*open)(void *user, pure_counter which, pid_t thread, int leader, bool command);
  int (*enable)(void *user, int leader, bool on); /* the whole group */
  /* value, nanoseconds enabled, nanoseconds on the processor */
  int (*read)(void *user, int fd, uint64_t out[3]);
  void (*close)(void *user, int fd);
  void *user;
} host_counter_kernel;

extern const host_counter_kernel host_counter_linux;

/* fd -1: cannot be counted, because of error. */
typedef struct {
  const host_counter_kernel *kernel;
  int fd[HOST_HARDWARE];
  int error[HOST_HARDWARE];
} host_counter_set;

/* Opens what can be opened; has to be closed. */
void host_counter_open(host_counter_set *s, const host_counter_kernel *kernel, pid_t thread,
                       bool command);
void host_counter_close(host_counter_set *s);
void host_counter_enable(const host_counter_set *s, bool on);
/* Hardware only; fills all but size. */
void host_counter_read(const host_counter_set *s, pure_counter which, pure_count *out);

/* As pure_counters_new. */
pure_status host_counters_new(pure_engine *engine, const host_counter_kernel *kernel,
                              pure_counters **out, pure_error *error);

#endif
