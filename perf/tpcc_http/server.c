#define _GNU_SOURCE /* pipe2 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "perf/tpcc_http/tpcc_http.h"

enum { MOST_WORDS = 16, LINE = 512 };

static bool complain(const char *what, const char *more) {
  fprintf(stderr, "%s: pure-serve: %s%s\n", tpcc_tool, what, more);
  return false;
}

/* Its standard output is what *out reads; false: there was no process. */
static bool start(const char *const *words, pid_t *pid, int *out) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return complain("no pipe: ", strerror(errno));
  *pid = fork();
  if (*pid == 0) {
    dup2(ends[1], STDOUT_FILENO);
    execv(words[0], (char *const *)words);
    _exit(127);
  }
  close(ends[1]);
  *out = ends[0];
  if (*pid > 0)
    return true;
  close(ends[0]);
  return complain("cannot be started: ", strerror(errno));
}

/* One line, without its end. */
static bool read_line(int from, char *line) {
  size_t n = 0;
  char c;
  while (n < LINE - 1 && read(from, &c, 1) == 1 && c != '\n')
    line[n++] = c;
  line[n] = 0;
  return n > 0;
}

static bool wait_for(pid_t pid) {
  int status = -1;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
    continue;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool server_start(server *s, const server_options *o) {
  const char *words[MOST_WORDS] = {o->binary, o->program, "--listen",     "127.0.0.1:0",
                                   "--jit",   o->level,   "--exit-after", "1200"};
  int n = 8;
  char line[LINE];
  if (o->snapshot) {
    words[n++] = "--load";
    words[n++] = o->snapshot;
  }
  if (o->store) {
    words[n++] = "--store";
    words[n++] = o->store;
  }
  if (o->whole_log) {
    words[n++] = "--checkpoint-events=1000000000";
    words[n++] = "--checkpoint-bytes=1000G";
  }
  *s = (server){.pid = -1, .out = -1};
  if (!start(words, &s->pid, &s->out))
    return false;
  if (read_line(s->out, line) &&
      sscanf(line, "listening on http://127.0.0.1:%" SCNu16, &s->port) == 1)
    return true;
  server_end(s, false);
  return complain("did not listen", "");
}

bool server_end(server *s, bool at_once) {
  if (s->pid < 0)
    return true;
  kill(s->pid, at_once ? SIGKILL : SIGTERM);
  bool fine = wait_for(s->pid) || at_once;
  close(s->out);
  s->pid = -1;
  return fine || complain("did not end with status 0", "");
}

/* Of a thread: its name, and its seconds of processor time. */
static bool read_thread(pid_t pid, const char *thread, char *name, double *seconds) {
  char path[LINE], line[LINE];
  unsigned long user, system;
  snprintf(path, sizeof path, "/proc/%d/task/%s/stat", (int)pid, thread);
  FILE *f = fopen(path, "r");
  bool fine = f && fgets(line, sizeof line, f);
  if (f)
    fclose(f);
  char *begin = fine ? strchr(line, '(') : NULL, *end = fine ? strrchr(line, ')') : NULL;
  if (!begin || !end ||
      sscanf(end + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system) != 2)
    return false;
  *end = 0;
  snprintf(name, 32, "%.31s", begin + 1);
  *seconds = (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
  return true;
}

static double *part_of(server_cost *c, const char *name) {
  if (strcmp(name, "owner") == 0)
    return &c->owner;
  if (strcmp(name, "query") == 0)
    return &c->queries;
  return strcmp(name, "committer") == 0 ? &c->commits : &c->rest;
}

bool server_cost_now(const server *s, server_cost *out) {
  char path[LINE], name[32];
  double seconds;
  struct rusage used;
  *out = (server_cost){0};
  snprintf(path, sizeof path, "/proc/%d/task", (int)s->pid);
  DIR *threads = opendir(path);
  if (!threads)
    return complain("cannot be looked at: ", strerror(errno));
  for (struct dirent *d; (d = readdir(threads));)
    if (d->d_name[0] != '.' && read_thread(s->pid, d->d_name, name, &seconds))
      *part_of(out, name) += seconds;
  closedir(threads);
  getrusage(RUSAGE_SELF, &used);
  out->driver = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e-6;
  return true;
}

bool server_digest(const server_options *o, const char *level, uint64_t *digest) {
  const char *words[] = {o->binary, "--verify", o->store, "--jit", level, NULL};
  char line[LINE];
  pid_t pid;
  int out;
  if (!start(words, &pid, &out))
    return false;
  bool said = read_line(out, line);
  close(out);
  if (!wait_for(pid) || !said)
    return complain("the store does not verify at level ", level);
  const char *at = strstr(line, "digest ");
  return (at && sscanf(at, "digest %" SCNx64, digest) == 1) || complain("no digest: ", line);
}
