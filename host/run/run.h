/* host/run/run.h - pure-run: a program, data from files, calls, answers.
 *
 *   run_main.c     the order of things
 *   run_options.c  the command line
 *   run_program.c  the program: read, compiled, shown, written
 *   run_load.c     lists from files, with a progress bar
 *   run_call.c     calls and their times
 *   run_output.c   results as tables, CSV, JSON
 *   run_stats.c    what --stats prints
 *   run_counters.c what --counters prints
 *   run_shell.c    -i
 *
 * Sees nothing of Pure but pure.h.  Answers go to standard output, everything else to standard
 * error.  Functions that can fail return an exit status after printing what is wrong.
 */
#ifndef PURE_RUN_H
#define PURE_RUN_H

#include <pure/pure.h>

#include <stdio.h>

enum { RUN_FINE = 0, RUN_FAULT = 1, RUN_USAGE = 2, RUN_BAD_PROGRAM = 3, RUN_BAD_DATA = 4 };

typedef enum {
  RUN_FORMAT_AUTO,
  RUN_FORMAT_TABLE,
  RUN_FORMAT_CSV,
  RUN_FORMAT_TSV,
  RUN_FORMAT_JSON
} run_format;

/* --load: a file for a list, or a snapshot file for all (list NULL). */
typedef struct {
  char *list;
  char *path;
  pure_format format;
} run_source;

/* Words of one call: name, arguments. */
typedef struct {
  const char *const *words;
  uint32_t nwords; /* at least 1 */
} run_words;

typedef struct {
  const char *program; /* NULL: not given */
  const char **words;  /* after the program */
  size_t nwords;
  run_words *calls; /* the words cut at + */
  size_t ncalls;
  const char **loads; /* as given */
  size_t nloads;
  const char **externs; /* libraries of host functions */
  size_t nexterns;
  run_format format;
  bool stats, work, counters, shell, check, disasm, help, version;
  const char *compile, *save;
  const char *store; /* folder of a durable store, to read */
  uint32_t repeat;   /* 0: not given */
  pure_limits limits;
  uint64_t max_memory; /* of everything; 0: unlimited */
  pure_header header;
  pure_duplicates duplicates;
  pure_jit jit;
  uint32_t dump; /* PURE_DUMP_ bits */
  const char *dump_function;
  bool jit_log;
  pure_jit_options tiers;
} run_options;

/* Times of one call of the command line, in seconds, least first once it is over. */
typedef struct {
  const char *name;
  double *seconds;
  uint32_t n;
  uint64_t work;
  bool event;
  pure_count *counts; /* of all n; NULL: not asked for */
} run_timing;

typedef struct {
  char *path;
  const char *list;
  double seconds;
  uint64_t bytes, rows;
} run_loaded;

typedef struct {
  run_options o;
  pure_engine *engine;
  pure_program *program;
  pure_store *store;
  pure_session *session;
  bool answered; /* something was printed */
  char *text;    /* the program's source, or NULL: it came as a module */
  size_t text_length;
  bool stdin_used;
  double compile_seconds;
  run_loaded *loaded;
  size_t nloaded;
  run_timing *timings;
  size_t ntimings;
} run;

/* run_options.c */
int run_options_read(run_options *o, int argc, char **argv);
void run_options_free(run_options *o);
void run_print_help(void);
/* run_jit.c */
int run_jit_environment(run_options *o);
pure_jit_watch run_jit_watch(const run_options *o);
/* How the tiers are to work for what is watched; NULL: as usual. */
const pure_jit_options *run_jit_tiers(run_options *o);
/* Where a dump was asked for and there was nothing to print, says why. */
void run_jit_end(const run *r);
const char *run_suggest(const char *word, const char *const *words);

/* run_main.c */
double run_clock(void); /* seconds, monotonic */
int run_usage(const char *form, ...) __attribute__((format(printf, 1, 2)));
/* Messages name this line of the shell's input from now on; 0: it is no shell. */
#define RUN_UNNUMBERED (~0ul)
void run_in_shell(unsigned long line);
void run_origin_line(void); /* prints "line 3: " in a shell that reads a pipe */
/* Prints an error of the library; the exit status for it. */
int run_complain(const pure_error *e);
void *run_alloc(size_t bytes); /* zeroed; ends the program where there is no memory */
char *run_copy(const char *text, size_t length);

/* run_program.c */
int run_program_open(run *r);
int run_program_show(run *r);
void run_fault_show(const run *r, const pure_error *e);
/* "query f(x: int): int", for free(). */
char *run_signature(const run *r, uint32_t function);

/* run_load.c */
int run_source_read(const run *r, const char *given, run_source *out);
void run_source_free(run_source *s);
int run_load(run *r, const run_source *s);
int run_read_file(const char *path, char **bytes, size_t *length, bool *stdin_used, int bad);

/* run_call.c */
int run_call_check(const run *r, const run_words *words);
int run_call(run *r, const run_words *words, uint32_t times);
void run_timing_free(run_timing *t);
void run_interruptible(run *r, bool on);

/* run_output.c */
/* *answered: whether an answer was printed before. */
int run_output(pure_result *result, run_format format, bool *answered);
int run_output_end(void);

/* run_stats.c */
void run_stats_print(run *r);
void run_times_print(const run_timing *t);
void run_lists_print(run *r, FILE *out);

/* run_counters.c */
/* *out NULL where nobody asked for them. */
int run_counters_open(const run *r, pure_counters **out);
void run_counters_close(pure_counters *counters, run_timing *t);
void run_counters_print(const run_timing *t);

/* run_shell.c */
int run_shell(run *r);

#endif
