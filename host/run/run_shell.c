/* -i: a shell over one store.  A line is a call, or a command that begins with a dot.
 *
 * On a terminal libedit gives editing, history (~/.pure_history) and completion of names.  From a
 * pipe lines are simply read, without a prompt; an error is told with its line number, the rest
 * goes on, and the exit status is that of the first error. */
#include "run.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <editline/readline.h>

enum { MAX_WORDS = 256 };

static const char shell_help[] = "NAME ARG...            call a query or event; \"quote a text\"\n"
                                 ".queries               queries and events\n"
                                 ".lists                 lists, their rows and layouts\n"
                                 ".load LIST=FILE        fill a list; .load SNAPSHOT: all\n"
                                 ".save FILE             write all lists to a snapshot file\n"
                                 ".format table|csv|tsv|json\n"
                                 ".time on|off           tell how long each call takes\n"
                                 ".work on|off           tell the work of each call\n"
                                 ".stats                 times, work, memory, lists, loops\n"
                                 ".help .quit\n";

typedef struct {
  run *r;
  bool terminal, time, quit;
  unsigned long line;
} shell;

/* Cuts the line into words, in place; quotes hold a word together, \ takes the next character as
 * it is.  Returns how many, or -1. */
static int split(char *line, const char *words[MAX_WORDS]) {
  int n = 0;
  char *p = line, *out;
  for (;;) {
    p += strspn(p, " \t\r\n");
    if (!*p)
      return n;
    if (n == MAX_WORDS)
      return -1;
    words[n++] = out = p;
    bool quoted = false;
    for (; *p && (quoted || !strchr(" \t\r\n", *p)); p++) {
      if (*p == '"') {
        quoted = !quoted;
        continue;
      }
      if (*p == '\\' && p[1])
        p++;
      *out++ = *p;
    }
    if (quoted)
      return -1;
    bool end = !*p;
    *out = 0;
    if (end)
      return n;
    p++;
  }
}

/* Commands */

static int do_help(shell *s, const char *argument) {
  (void)s, (void)argument;
  fputs(shell_help, stdout);
  return RUN_FINE;
}

static int do_lists(shell *s, const char *argument) {
  (void)argument;
  run_lists_print(s->r, stdout);
  return RUN_FINE;
}

static int do_queries(shell *s, const char *argument) {
  pure_function_info info;
  (void)argument;
  for (uint32_t f = 0; pure_program_function(s->r->program, f, &info) == PURE_OK; f++) {
    char *signature = run_signature(s->r, f);
    puts(signature);
    free(signature);
  }
  return RUN_FINE;
}

static int do_load(shell *s, const char *argument) {
  run_source source;
  int status = run_source_read(s->r, argument, &source);
  if (status == RUN_FINE && strcmp(source.path, "-") == 0)
    status = run_usage("the shell reads standard input itself");
  if (status == RUN_FINE)
    status = run_load(s->r, &source);
  if (status == RUN_FINE && source.list) {
    const run_loaded *l = &s->r->loaded[s->r->nloaded - 1];
    printf("%llu rows\n", (unsigned long long)l->rows);
  }
  run_source_free(&source);
  return status;
}

static int do_save(shell *s, const char *argument) {
  pure_error e;
  return pure_store_save(s->r->store, argument, &e) == PURE_OK ? RUN_FINE : run_complain(&e);
}

static int do_format(shell *s, const char *argument) {
  static const char *const names[] = {"table", "csv", "tsv", "json"};
  for (int i = 0; i < 4; i++) {
    if (strcmp(argument, names[i]) != 0)
      continue;
    s->r->o.format = (run_format)(i + 1);
    return RUN_FINE;
  }
  return run_usage("formats are table, csv, tsv and json, not %s", argument);
}

static int set_switch(bool *is_on, const char *name, const char *argument) {
  bool on = strcmp(argument, "on") == 0;
  if (!on && strcmp(argument, "off") != 0)
    return run_usage("%s is on or off, not %s", name, argument);
  *is_on = on;
  return RUN_FINE;
}

static int do_time(shell *s, const char *argument) {
  return set_switch(&s->time, ".time", argument);
}

static int do_work(shell *s, const char *argument) {
  return set_switch(&s->r->o.work, ".work", argument);
}

static int do_stats(shell *s, const char *argument) {
  (void)argument;
  run_stats_print(s->r);
  return RUN_FINE;
}

static int do_quit(shell *s, const char *argument) {
  (void)argument;
  s->quit = true;
  return RUN_FINE;
}

static const struct {
  const char *name;
  bool argument;
  int (*run)(shell *s, const char *argument);
} commands[] = {
    {".help", false, do_help}, {".lists", false, do_lists}, {".queries", false, do_queries},
    {".load", true, do_load},  {".save", true, do_save},    {".format", true, do_format},
    {".time", true, do_time},  {".work", true, do_work},    {".stats", false, do_stats},
    {".quit", false, do_quit},
};
enum { NCOMMANDS = sizeof commands / sizeof commands[0] };

static int command(shell *s, const char *const *words, int n) {
  for (int i = 0; i < NCOMMANDS; i++) {
    if (strcmp(words[0], commands[i].name) != 0)
      continue;
    if (n != 1 + commands[i].argument)
      return run_usage("%s takes %s argument", words[0], commands[i].argument ? "one" : "no");
    return commands[i].run(s, n > 1 ? words[1] : "");
  }
  return run_usage("no such command: %s; .help lists them", words[0]);
}

static int call(shell *s, const char *const *words, int n) {
  run_words call_words = {words, (uint32_t)n};
  size_t before = s->r->ntimings;
  run_interruptible(s->r, true);
  int status = run_call(s->r, &call_words, 1);
  run_interruptible(s->r, false);
  if (s->time && s->r->ntimings > before)
    fprintf(stderr, "%.3f ms\n", s->r->timings[s->r->ntimings - 1].seconds[0] * 1e3);
  return status;
}

static int do_line(shell *s, char *line) {
  const char *words[MAX_WORDS];
  s->line++;
  run_in_shell(s->terminal ? RUN_UNNUMBERED : s->line);
  int n = split(line, words);
  if (n < 0)
    return run_usage("a quote is never closed, or there are too many words");
  if (n == 0 || strncmp(words[0], "--", 2) == 0)
    return RUN_FINE;
  int status = words[0][0] == '.' ? command(s, words, n) : call(s, words, n);
  fflush(stdout);
  return status;
}

/* Completion: the one thing of libedit that takes no user pointer. */
static run *completing;

static char *next_name(const char *text, int state) {
  static uint32_t list, function;
  static int at;
  pure_list_info l;
  pure_function_info f;
  size_t n = strlen(text);
  if (state == 0)
    list = function = 0, at = 0;
  for (; at < NCOMMANDS;) {
    const char *name = commands[at++].name;
    if (n && strncmp(name, text, n) == 0)
      return strdup(name);
  }
  while (pure_program_function(completing->program, function++, &f) == PURE_OK)
    if (strncmp(f.name, text, n) == 0)
      return strdup(f.name);
  while (pure_program_list(completing->program, list++, &l) == PURE_OK)
    if (n && strncmp(l.name, text, n) == 0)
      return strdup(l.name);
  return NULL;
}

static char **complete(const char *text, int start, int end) {
  (void)start, (void)end;
  return rl_completion_matches(text, next_name);
}

static char *history_path(void) {
  const char *given = getenv("PURE_HISTORY"), *home = getenv("HOME");
  if (given)
    return *given ? run_copy(given, strlen(given)) : NULL;
  if (!home || !*home)
    return NULL;
  size_t n = strlen(home) + sizeof "/.pure_history";
  char *path = run_alloc(n);
  snprintf(path, n, "%s/.pure_history", home);
  return path;
}

static void shell_terminal(shell *s) {
  char *line, *path = history_path();
  completing = s->r;
  rl_readline_name = "pure-run";
  rl_attempted_completion_function = complete;
  using_history();
  if (path)
    read_history(path);
  puts("Pure shell; .help lists the commands");
  while (!s->quit && (line = readline("pure> "))) {
    if (line[strspn(line, " \t")])
      add_history(line);
    (void)do_line(s, line);
    free(line);
  }
  if (!s->quit)
    putchar('\n');
  stifle_history(1000);
  if (path)
    write_history(path);
  free(path);
}

static int shell_pipe(shell *s) {
  char *line = NULL;
  size_t room = 0;
  int first = RUN_FINE;
  while (!s->quit && getline(&line, &room, stdin) >= 0) {
    int status = do_line(s, line);
    if (first == RUN_FINE)
      first = status;
  }
  free(line);
  return first;
}

int run_shell(run *r) {
  shell s = {.r = r, .terminal = isatty(STDIN_FILENO) != 0};
  if (r->stdin_used)
    return run_usage("-i: standard input was read already");
  int status = RUN_FINE;
  if (s.terminal)
    shell_terminal(&s);
  else
    status = shell_pipe(&s);
  run_in_shell(0);
  return status;
}
