/* Counters over kernels that this machine need not have: ones that count, that let groups take
 * turns, that lack some events or forbid all; and what the real one counts, or why it does not. */
#define _GNU_SOURCE /* mmap's MAP_ANONYMOUS */
#include <check.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/lib/host_counters.h"

/* A kernel: descriptors are 100 and the number of the event; each enabled group counts a thousand
 * for its every event and switch off. */
typedef struct {
  int error[HOST_HARDWARE]; /* of open; 0: it can be counted */
  int leader[HOST_HARDWARE];
  uint64_t value[HOST_HARDWARE];
  uint64_t enabled, running; /* nanoseconds of every event */
  int open, on, read_error;
} fake;

enum { FIRST_FD = 100 };

static int fake_open(void *user, pure_counter which, pid_t thread, int leader, bool command) {
  fake *f = user;
  ck_assert(!command && thread == 0);
  if (f->error[which]) {
    errno = f->error[which];
    return -1;
  }
  f->leader[which] = leader;
  f->open++;
  return FIRST_FD + (int)which;
}

static int fake_enable(void *user, int leader, bool on) {
  fake *f = user;
  f->on += on ? 1 : -1;
  for (int i = 0; i < HOST_HARDWARE && !on; i++)
    if (FIRST_FD + i == leader || f->leader[i] == leader)
      f->value[i] += 1000;
  return 0;
}

static int fake_read(void *user, int fd, uint64_t out[3]) {
  fake *f = user;
  if (f->read_error) {
    errno = f->read_error;
    return -1;
  }
  out[0] = f->value[fd - FIRST_FD];
  out[1] = f->enabled;
  out[2] = f->running;
  return 0;
}

static void fake_close(void *user, int fd) {
  fake *f = user;
  ck_assert(fd >= FIRST_FD);
  f->open--;
}

static pure_engine *engine;
static fake kernel;

static void set_up(void) {
  pure_engine_options options = {.size = sizeof options, .jit = PURE_JIT_0};
  ck_assert_int_eq(pure_engine_new(&options, &engine, NULL), PURE_OK);
  kernel = (fake){.enabled = 400, .running = 400};
  for (int i = 0; i < HOST_HARDWARE; i++)
    kernel.leader[i] = -1;
}

static void tear_down(void) { pure_engine_release(engine); }

static pure_counters *make(void) {
  const host_counter_kernel k = {fake_open, fake_enable, fake_read, fake_close, &kernel};
  static host_counter_kernel kept;
  pure_counters *c;
  kept = k;
  ck_assert_int_eq(host_counters_new(engine, &kept, &c, NULL), PURE_OK);
  return c;
}

static pure_count count_of(const pure_counters *c, pure_counter which) {
  pure_count out = {.size = sizeof out};
  ck_assert_int_eq(pure_counters_read(c, which, &out), PURE_OK);
  ck_assert_uint_eq(out.size, sizeof out);
  ck_assert_str_eq(out.name, host_counter_names[which]);
  return out;
}

static void run_once(pure_counters *c) {
  pure_counters_start(c);
  pure_counters_stop(c);
}

START_TEST(counts) {
  pure_counters *c = make();
  ck_assert_int_eq(kernel.open, HOST_HARDWARE);
  pure_counters_start(c);
  ck_assert_int_eq(kernel.on, 2);
  pure_counters_start(c); /* is on already */
  ck_assert_int_eq(kernel.on, 2);
  pure_counters_stop(c);
  pure_counters_stop(c);
  run_once(c);
  ck_assert_int_eq(kernel.on, 0);
  for (int i = 0; i < HOST_HARDWARE; i++) {
    pure_count n = count_of(c, (pure_counter)i);
    ck_assert(n.counted && n.value == 2000 && n.share == 1 && n.reason[0] == 0);
  }
  pure_counters_release(c);
  ck_assert_int_eq(kernel.open, 0);
}
END_TEST

/* All of a group have the same leader: the first that can be counted. */
START_TEST(groups) {
  kernel.error[PURE_COUNTER_CYCLES] = ENOENT;
  kernel.error[PURE_COUNTER_LLC_LOADS] = ENOENT;
  pure_counters *c = make();
  ck_assert_int_eq(kernel.leader[PURE_COUNTER_INSTRUCTIONS], -1);
  ck_assert_int_eq(kernel.leader[PURE_COUNTER_BRANCHES], FIRST_FD + PURE_COUNTER_INSTRUCTIONS);
  ck_assert_int_eq(kernel.leader[PURE_COUNTER_BRANCH_MISSES], FIRST_FD + PURE_COUNTER_INSTRUCTIONS);
  ck_assert_int_eq(kernel.leader[PURE_COUNTER_L1D_LOADS], -1);
  ck_assert_int_eq(kernel.leader[PURE_COUNTER_LLC_MISSES], FIRST_FD + PURE_COUNTER_L1D_LOADS);
  run_once(c);
  ck_assert(!count_of(c, PURE_COUNTER_CYCLES).counted);
  ck_assert(count_of(c, PURE_COUNTER_INSTRUCTIONS).counted);
  ck_assert_uint_eq(count_of(c, PURE_COUNTER_LLC_MISSES).value, 1000);
  pure_counters_release(c);
  ck_assert_int_eq(kernel.open, 0);
}
END_TEST

START_TEST(turns_are_scaled_and_told) {
  pure_counters *c = make();
  kernel.running = 100;
  run_once(c);
  pure_count n = count_of(c, PURE_COUNTER_BRANCHES);
  ck_assert(n.counted && n.value == 4000 && n.share == 0.25);
  kernel.running = 0;
  n = count_of(c, PURE_COUNTER_BRANCHES);
  ck_assert(!n.counted && strstr(n.reason, "never had a place"));
  kernel.read_error = EIO;
  n = count_of(c, PURE_COUNTER_BRANCHES);
  ck_assert(!n.counted && strstr(n.reason, "error 5"));
  pure_counters_release(c);
}
END_TEST

static const struct {
  int error;
  const char *name, *words;
} refusals[] = {
    {ENOENT, "ENOENT", "offers no such counter"},
    {EOPNOTSUPP, "EOPNOTSUPP", "virtual machines"},
    {ENODEV, "ENODEV", "offers no such counter"},
    {EACCES, "EACCES", "perf_event_paranoid"},
    {EPERM, "EPERM", "sandbox"},
    {ENOSYS, "ENOSYS", "has no perf_event_open"},
    {EMFILE, "EMFILE", "too many files"},
    {EBUSY, "EBUSY", "somebody else"},
    {EINVAL, "EINVAL", "group"},
    {EIO, "error 5", "refused"},
};
enum { REFUSALS = sizeof refusals / sizeof *refusals };

START_TEST(refused) {
  for (int i = 0; i < HOST_HARDWARE; i++)
    kernel.error[i] = refusals[_i].error;
  pure_counters *c = make();
  run_once(c);
  ck_assert_int_eq(kernel.open, 0);
  for (int i = 0; i < HOST_HARDWARE; i++) {
    pure_count n = count_of(c, (pure_counter)i);
    ck_assert(!n.counted);
    ck_assert_msg(strstr(n.reason, refusals[_i].name) != NULL, "%s", n.reason);
    ck_assert_msg(strstr(n.reason, refusals[_i].words) != NULL, "%s", n.reason);
  }
  ck_assert(count_of(c, PURE_COUNTER_TASK_CLOCK).counted);
  pure_counters_release(c);
}
END_TEST

static void touch_pages(size_t pages) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  volatile char *p =
      mmap(NULL, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ck_assert(p != MAP_FAILED);
  ck_assert_int_eq(madvise((void *)p, pages * page, MADV_NOHUGEPAGE), 0);
  for (size_t i = 0; i < pages; i++)
    p[i * page] = 1;
  munmap((void *)p, pages * page);
}

START_TEST(system_counts_between_start_and_stop) {
  pure_counters *c;
  ck_assert_int_eq(pure_counters_new(engine, &c, NULL), PURE_OK);
  touch_pages(500);
  for (int i = 0; i < 2; i++) {
    pure_counters_start(c);
    touch_pages(50);
    usleep(1000);
    pure_counters_stop(c);
    touch_pages(500);
  }
  pure_count faults = count_of(c, PURE_COUNTER_PAGE_FAULTS);
  ck_assert(faults.counted && faults.value >= 100 && faults.value < 400);
  ck_assert_uint_ge(count_of(c, PURE_COUNTER_CONTEXT_SWITCHES).value, 2);
  uint64_t ns = count_of(c, PURE_COUNTER_TASK_CLOCK).value;
  ck_assert(ns > 1000 && ns < UINT64_C(1000000000));
  pure_counters_release(c);
}
END_TEST

/* Whatever this machine has: a count, or a reason. */
START_TEST(this_machine) {
  pure_counters *c;
  ck_assert_int_eq(pure_counters_new(engine, &c, NULL), PURE_OK);
  volatile uint64_t sum = 0;
  pure_counters_start(c);
  for (int i = 0; i < 1000000; i++)
    sum += (uint64_t)i;
  pure_counters_stop(c);
  ck_assert_uint_eq(sum, UINT64_C(499999500000));
  for (int i = 0; i < HOST_HARDWARE; i++) {
    pure_count n = count_of(c, (pure_counter)i);
    ck_assert(n.counted == (n.reason[0] == 0));
  }
  pure_count n = count_of(c, PURE_COUNTER_INSTRUCTIONS);
  ck_assert(!n.counted || n.value > 3000000);
  pure_counters_release(c);
}
END_TEST

START_TEST(misuse) {
  pure_counters *c = make(), *other = c;
  pure_count n = {.size = sizeof n}, old = {.size = offsetof(pure_count, reason)};
  strcpy(old.reason, "untouched");
  ck_assert_int_eq(pure_counters_read(c, PURE_NCOUNTERS, &n), PURE_NOT_FOUND);
  ck_assert_int_eq(pure_counters_read(c, PURE_COUNTER_CYCLES, &old), PURE_OK);
  ck_assert_str_eq(old.reason, "untouched");
  n.size = 3;
  ck_assert_int_eq(pure_counters_read(c, PURE_COUNTER_CYCLES, &n), PURE_MISUSE);
  ck_assert_int_eq(pure_counters_read(c, PURE_COUNTER_CYCLES, NULL), PURE_MISUSE);
  ck_assert_int_eq(pure_counters_new(NULL, &other, NULL), PURE_MISUSE);
  ck_assert_ptr_null(other);
  pure_counters_release(c);
  pure_counters_release(c);
  run_once(c);
  run_once(NULL);
  n.size = sizeof n;
  ck_assert_int_eq(pure_counters_read(c, PURE_COUNTER_CYCLES, &n), PURE_MISUSE);
}
END_TEST

START_TEST(no_memory) {
  pure_counters *c;
  pure_error e;
  pure_engine_fail_after(engine, 1, true);
  ck_assert_int_eq(pure_counters_new(engine, &c, &e), PURE_NO_MEMORY);
  ck_assert_ptr_null(c);
  pure_engine_fail_after(engine, 0, false);
}
END_TEST

/* From now on perf_event_open fails with that error in this process, as in a container. */
static bool forbid(int error) {
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {.len = sizeof filter / sizeof *filter, .filter = filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

enum { FORBIDDEN_OK = 0, FORBIDDEN_WRONG, FORBIDDEN_CANNOT };

static int count_forbidden(int error, const char *name) {
  pure_counters *c;
  pure_count n = {.size = sizeof n};
  if (!forbid(error))
    return FORBIDDEN_CANNOT;
  if (pure_counters_new(engine, &c, NULL) != PURE_OK)
    return FORBIDDEN_WRONG;
  run_once(c);
  bool ok = pure_counters_read(c, PURE_COUNTER_CYCLES, &n) == PURE_OK && !n.counted &&
            strstr(n.reason, name) != NULL;
  pure_counters_release(c);
  return ok ? FORBIDDEN_OK : FORBIDDEN_WRONG;
}

START_TEST(forbidden) {
  static const struct {
    int error;
    const char *name;
  } as[] = {{EPERM, "EPERM"}, {ENOSYS, "ENOSYS"}, {EACCES, "EACCES"}};
  pid_t child = fork();
  ck_assert_int_ge(child, 0);
  if (child == 0)
    _exit(count_forbidden(as[_i].error, as[_i].name));
  int status;
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  ck_assert(WIFEXITED(status));
  ck_assert_int_ne(WEXITSTATUS(status), FORBIDDEN_WRONG);
}
END_TEST

int main(void) {
  Suite *suite = suite_create("counters");
  TCase *all = tcase_create("counters");
  tcase_add_checked_fixture(all, set_up, tear_down);
  tcase_add_test(all, counts);
  tcase_add_test(all, groups);
  tcase_add_test(all, turns_are_scaled_and_told);
  tcase_add_loop_test(all, refused, 0, REFUSALS);
  tcase_add_test(all, system_counts_between_start_and_stop);
  tcase_add_test(all, this_machine);
  tcase_add_test(all, misuse);
  tcase_add_test(all, no_memory);
  tcase_add_loop_test(all, forbidden, 0, 3);
  suite_add_tcase(suite, all);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed != 0;
}
