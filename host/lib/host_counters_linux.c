/* Hardware events by perf_event_open. */
#define _GNU_SOURCE /* syscall */
#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "host/lib/host_counters.h"

#define CACHE(level, result)                                                                       \
  (PERF_COUNT_HW_CACHE_##level | PERF_COUNT_HW_CACHE_OP_READ << 8 |                                \
   PERF_COUNT_HW_CACHE_RESULT_##result << 16)

static const struct {
  uint32_t type;
  uint64_t config;
} events[HOST_HARDWARE] = {
    [PURE_COUNTER_CYCLES] = {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
    [PURE_COUNTER_INSTRUCTIONS] = {PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
    [PURE_COUNTER_BRANCHES] = {PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS},
    [PURE_COUNTER_BRANCH_MISSES] = {PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},
    [PURE_COUNTER_L1D_LOADS] = {PERF_TYPE_HW_CACHE, CACHE(L1D, ACCESS)},
    [PURE_COUNTER_L1D_MISSES] = {PERF_TYPE_HW_CACHE, CACHE(L1D, MISS)},
    [PURE_COUNTER_LLC_LOADS] = {PERF_TYPE_HW_CACHE, CACHE(LL, ACCESS)},
    [PURE_COUNTER_LLC_MISSES] = {PERF_TYPE_HW_CACHE, CACHE(LL, MISS)},
};

/* The rest of a group follows its leader on and off. */
static int open_event(void *user, pure_counter which, pid_t thread, int leader, bool command) {
  (void)user;
  struct perf_event_attr a;
  memset(&a, 0, sizeof a);
  a.size = sizeof a;
  a.type = events[which].type;
  a.config = events[which].config;
  a.exclude_kernel = 1;
  a.exclude_hv = 1;
  a.disabled = leader < 0;
  a.inherit = command;
  a.enable_on_exec = command && leader < 0;
  a.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  return (int)syscall(SYS_perf_event_open, &a, thread, -1, leader, PERF_FLAG_FD_CLOEXEC);
}

static int enable_group(void *user, int leader, bool on) {
  (void)user;
  return ioctl(leader, on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP);
}

static int read_event(void *user, int fd, uint64_t out[3]) {
  (void)user;
  uint64_t got[3];
  ssize_t n = read(fd, got, sizeof got);
  if (n != (ssize_t)sizeof got) {
    if (n >= 0)
      errno = EIO;
    return -1;
  }
  memcpy(out, got, sizeof got);
  return 0;
}

static void close_event(void *user, int fd) {
  (void)user;
  close(fd);
}

const host_counter_kernel host_counter_linux = {open_event, enable_group, read_event, close_event,
                                                NULL};
