/* pure-run: what happens in which order. */
#include "run.h"

#include "host/durable/durable.h"

#include <locale.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

double run_clock(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* The shell's line, for messages; 0 outside of it. */
static unsigned long shell_line;

void run_in_shell(unsigned long line) { shell_line = line; }

static void print_origin(void) {
  if (!shell_line)
    fputs("pure-run: ", stderr);
  else if (shell_line != RUN_UNNUMBERED)
    fprintf(stderr, "line %lu: ", shell_line);
}

void run_origin_line(void) {
  if (shell_line)
    print_origin();
}

int run_usage(const char *form, ...) {
  va_list values;
  va_start(values, form);
  print_origin();
  vfprintf(stderr, form, values);
  fputs(shell_line ? "\n" : "\npure-run --help tells more.\n", stderr);
  va_end(values);
  return RUN_USAGE;
}

void *run_alloc(size_t bytes) {
  void *block = calloc(1, bytes ? bytes : 1);
  if (!block) {
    fputs("pure-run: out of memory\n", stderr);
    exit(RUN_BAD_DATA);
  }
  return block;
}

char *run_copy(const char *text, size_t length) {
  char *copy = run_alloc(length + 1);
  memcpy(copy, text, length);
  return copy;
}

static int exit_status(pure_status status) {
  switch (status) {
  case PURE_OK:
    return RUN_FINE;
  case PURE_FAULT:
    return RUN_FAULT;
  case PURE_BAD_PROGRAM:
    return RUN_BAD_PROGRAM;
  case PURE_BAD_DATA:
  case PURE_TOO_LARGE:
  case PURE_NO_MEMORY:
  case PURE_IO:
    return RUN_BAD_DATA;
  case PURE_BAD_ARGUMENT:
  case PURE_NOT_FOUND:
  case PURE_MISUSE:
  case PURE_BUSY:
  case PURE_STALE:
  case PURE_UNSUPPORTED:
  case PURE_NSTATUS:
    break;
  }
  return RUN_USAGE;
}

int run_complain(const pure_error *e) {
  char text[sizeof e->file + sizeof e->message + 32];
  pure_error_format(e, text, sizeof text);
  if (!e->file[0])
    print_origin();
  fprintf(stderr, "%s\n", text);
  return exit_status(e->status);
}

static int open_engine(run *r) {
  pure_error e;
  pure_jit_watch watch = run_jit_watch(&r->o);
  pure_engine_options options = {.size = sizeof options,
                                 .limits = r->o.limits,
                                 .jit = r->o.jit,
                                 .environment = true,
                                 .jit_sync = r->o.dump != 0,
                                 .tiers = run_jit_tiers(&r->o),
                                 .max_memory = r->o.max_memory,
                                 .watch = &watch};
  return pure_engine_new(&options, &r->engine, &e) == PURE_OK ? RUN_FINE : run_complain(&e);
}

static void tell(void *user, const char *line) {
  (void)user;
  if (isatty(STDERR_FILENO))
    fprintf(stderr, "%s\n", line);
}

static int read_store(run *r) {
  durable_error e;
  if (!r->o.store || durable_read(r->o.store, r->program, r->store, tell, NULL, &e))
    return RUN_FINE;
  fprintf(stderr, "pure-run: %s\n", e.message);
  return RUN_BAD_DATA;
}

static int open_store(run *r) {
  pure_error e;
  if (pure_store_new(r->program, &r->store, &e) != PURE_OK)
    return run_complain(&e);
  int status = read_store(r);
  if (status != RUN_FINE)
    return status;
  if (pure_session_new(r->store, &r->session, &e) != PURE_OK)
    return run_complain(&e);
  return RUN_FINE;
}

/* Before anything is read. */
static int check_stdin(const run *r, const run_source *sources) {
  unsigned uses = r->stdin_used;
  for (size_t i = 0; i < r->o.nloads; i++)
    uses += strcmp(sources[i].path, "-") == 0;
  if (uses > 1)
    return run_usage("standard input can be read only once");
  return RUN_FINE;
}

static int load_all(run *r) {
  run_source *sources = run_alloc(r->o.nloads * sizeof *sources);
  int status = RUN_FINE;
  r->loaded = run_alloc((r->o.nloads + 1) * sizeof *r->loaded);
  for (size_t i = 0; i < r->o.nloads && status == RUN_FINE; i++)
    status = run_source_read(r, r->o.loads[i], &sources[i]);
  if (status == RUN_FINE)
    status = check_stdin(r, sources);
  for (size_t i = 0; i < r->o.nloads && status == RUN_FINE; i++)
    status = run_load(r, &sources[i]);
  for (size_t i = 0; i < r->o.nloads; i++)
    run_source_free(&sources[i]);
  free(sources);
  return status;
}

static int nothing_to_do(const run *r) {
  pure_function_info info;
  fprintf(stderr, "pure-run: which query or event? %s has:\n", r->o.program);
  for (uint32_t f = 0; pure_program_function(r->program, f, &info) == PURE_OK; f++) {
    char *signature = run_signature(r, f);
    fprintf(stderr, "  %s\n", signature);
    free(signature);
  }
  return RUN_USAGE;
}

/* Everything that can be wrong with the calls, before the data are read. */
static int check_calls(const run *r) {
  int status = RUN_FINE;
  for (size_t i = 0; i < r->o.ncalls && status == RUN_FINE; i++)
    status = run_call_check(r, &r->o.calls[i]);
  return status;
}

static int do_calls(run *r) {
  int status = RUN_FINE;
  uint32_t times = r->o.repeat ? r->o.repeat : 1;
  r->timings = run_alloc((r->o.ncalls + 1) * sizeof *r->timings);
  run_interruptible(r, true);
  for (size_t i = 0; i < r->o.ncalls && status == RUN_FINE; i++)
    status = run_call(r, &r->o.calls[i], times);
  run_interruptible(r, false);
  return status;
}

static int save(const run *r) {
  pure_error e;
  if (!r->o.save)
    return RUN_FINE;
  return pure_store_save(r->store, r->o.save, &e) == PURE_OK ? RUN_FINE : run_complain(&e);
}

static int with_store(run *r) {
  int status = open_store(r);
  if (status == RUN_FINE)
    status = load_all(r);
  if (status == RUN_FINE)
    status = do_calls(r);
  if (status == RUN_FINE && r->o.shell)
    status = run_shell(r);
  if (status == RUN_FINE)
    status = run_output_end();
  if (status == RUN_FINE)
    status = save(r);
  for (size_t i = 0; i < r->ntimings && r->o.repeat && !r->o.stats; i++)
    run_times_print(&r->timings[i]);
  if (r->o.stats)
    run_stats_print(r);
  for (size_t i = 0; i < r->ntimings; i++)
    run_counters_print(&r->timings[i]);
  run_jit_end(r);
  return status;
}

static int with_program(run *r) {
  bool shows = r->o.check || r->o.disasm || r->o.compile;
  int status = run_program_show(r);
  if (status != RUN_FINE || r->o.check || r->o.disasm)
    return status;
  if (r->o.ncalls || r->o.shell || r->o.save || (r->o.stats && (r->o.nloads || r->o.store))) {
    status = check_calls(r);
    return status == RUN_FINE ? with_store(r) : status;
  }
  return shows ? run_output_end() : nothing_to_do(r);
}

static void close_all(run *r) {
  pure_session_release(r->session);
  pure_store_release(r->store);
  pure_program_release(r->program);
  pure_engine_release(r->engine);
  for (size_t i = 0; i < r->ntimings; i++)
    run_timing_free(&r->timings[i]);
  for (size_t i = 0; i < r->nloaded; i++)
    free(r->loaded[i].path);
  free(r->timings);
  free(r->loaded);
  free(r->text);
  run_options_free(&r->o);
}

/* Closing the engine would wait for compiles whose code nobody will run. */
static void leave_compiling(const run *r, int status) {
  pure_jit_stats s = {.size = sizeof s};
  pure_engine_jit_stats(r->engine, &s);
  if (s.waiting == 0)
    return;
  fflush(NULL);
  _exit(status);
}

int main(int argc, char **argv) {
  run r = {0};
  setlocale(LC_CTYPE, "");
  int status = run_options_read(&r.o, argc, argv);
  if (status == RUN_FINE && r.o.help) {
    run_print_help();
    status = run_output_end();
  } else if (status == RUN_FINE && r.o.version) {
    printf("pure-run %s\n", pure_version());
    status = run_output_end();
  } else if (status == RUN_FINE) {
    status = open_engine(&r);
    if (status == RUN_FINE)
      status = run_program_open(&r);
    if (status == RUN_FINE)
      status = with_program(&r);
  }
  leave_compiling(&r, status);
  close_all(&r);
  return status;
}
