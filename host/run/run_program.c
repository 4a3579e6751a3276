/* The program: read, compiled or loaded, shown, written. */
#include "run.h"

#include <stdlib.h>
#include <string.h>

static void report(void *user, const pure_diagnostic *d) {
  (void)user;
  fputs(d->formatted, stderr);
  size_t n = strlen(d->formatted);
  if (n == 0 || d->formatted[n - 1] != '\n')
    fputc('\n', stderr);
}

/* A name without a slash is a file of this folder, as with the other options. */
static int bind_library(run *r, const char *path) {
  pure_error e;
  size_t length = strlen(path);
  char *file = run_alloc(length + 3);
  snprintf(file, length + 3, "%s%s", strchr(path, '/') ? "" : "./", path);
  int status = pure_bind_library(r->program, file, &e) == PURE_OK ? RUN_FINE : run_complain(&e);
  free(file);
  return status;
}

static int bind_externs(run *r) {
  int status = RUN_FINE;
  for (size_t i = 0; i < r->o.nexterns && status == RUN_FINE; i++)
    status = bind_library(r, r->o.externs[i]);
  return status;
}

int run_program_open(run *r) {
  const char *name = strcmp(r->o.program, "-") == 0 ? "<stdin>" : r->o.program;
  int status =
      run_read_file(r->o.program, &r->text, &r->text_length, &r->stdin_used, RUN_BAD_PROGRAM);
  if (status != RUN_FINE)
    return status;
  pure_error e = {0};
  double start = run_clock();
  if (pure_program_is_module(r->text, r->text_length)) {
    if (pure_program_load(r->engine, name, r->text, r->text_length, &r->program, &e) != PURE_OK)
      status = run_complain(&e);
    free(r->text);
    r->text = NULL;
  } else if (pure_program_compile(r->engine, name, r->text, r->text_length, report, NULL,
                                  &r->program, &e) != PURE_OK) {
    if (e.status != PURE_BAD_PROGRAM)
      return run_complain(&e);
    status = RUN_BAD_PROGRAM;
  }
  r->compile_seconds = run_clock() - start;
  return status == RUN_FINE ? bind_externs(r) : status;
}

static bool write_out(void *user, const void *bytes, size_t n) {
  return fwrite(bytes, 1, n, user) == n;
}

static int disasm(run *r) {
  pure_error e;
  size_t n = r->o.ncalls;
  for (size_t i = 0; i < (n ? n : 1); i++) {
    const char *function = n ? r->o.calls[i].words[0] : NULL;
    if (pure_program_disasm(r->program, function, write_out, stdout, &e) != PURE_OK)
      return e.status == PURE_IO ? run_output_end() : run_complain(&e);
  }
  return run_output_end();
}

static void print_count(unsigned n, const char *one, const char *many, const char *end) {
  printf("%u %s%s", n, n == 1 ? one : many, end);
}

static int check(run *r) {
  pure_list_info list;
  pure_function_info function;
  unsigned lists = 0, queries = 0, events = 0;
  while (pure_program_list(r->program, lists, &list) == PURE_OK)
    lists++;
  for (uint32_t f = 0; pure_program_function(r->program, f, &function) == PURE_OK; f++) {
    queries += function.kind == PURE_QUERY;
    events += function.kind == PURE_EVENT;
  }
  printf("%s: fine: ", r->o.program);
  print_count(lists, "list", "lists", ", ");
  print_count(queries, "query", "queries", ", ");
  print_count(events, "event", "events", "\n");
  return run_output_end();
}

int run_program_show(run *r) {
  pure_error e;
  if (r->o.compile && pure_program_save(r->program, r->o.compile, &e) != PURE_OK)
    return run_complain(&e);
  int status = RUN_FINE;
  if (r->o.check)
    status = check(r);
  if (status == RUN_FINE && r->o.disasm)
    status = disasm(r);
  return status;
}

/* The line of the source with a caret below the place. */
static void show_line(const run *r, uint32_t line, uint32_t column) {
  const char *p = r->text, *end = r->text + r->text_length;
  for (uint32_t i = 1; i < line && p; i++) {
    p = memchr(p, '\n', (size_t)(end - p));
    if (p)
      p++;
  }
  if (!p || p >= end)
    return;
  const char *stop = memchr(p, '\n', (size_t)(end - p));
  fprintf(stderr, "  %.*s\n  ", (int)((stop ? stop : end) - p), p);
  for (uint32_t i = 1; i < column && p < end && *p != '\n'; p++) {
    if (((unsigned char)*p & 0xc0) == 0x80)
      continue;
    fputc(*p == '\t' ? '\t' : ' ', stderr);
    i++;
  }
  fputs("^\n", stderr);
}

void run_fault_show(const run *r, const pure_error *e) {
  const char *kind = pure_fault_name(e->fault);
  run_origin_line();
  if (e->line)
    fprintf(stderr, "%s:%u:%u: fault: ", e->file, e->line, e->column);
  else
    fprintf(stderr, "%s: fault: ", e->file);
  if (strcmp(kind, e->message) == 0)
    fprintf(stderr, "%s\n", kind);
  else
    fprintf(stderr, "%s: %s\n", kind, e->message);
  if (r->text && e->line)
    show_line(r, e->line, e->column);
}

static void print_signature(const run *r, uint32_t function, FILE *out) {
  pure_function_info f;
  pure_column_info c;
  if (pure_program_function(r->program, function, &f) != PURE_OK)
    return;
  fprintf(out, "%s %s(", f.kind == PURE_EVENT ? "event" : "query", f.name);
  for (uint32_t i = 0; pure_program_parameter(r->program, function, i, &c) == PURE_OK; i++)
    fprintf(out, "%s%s: %s", i ? ", " : "", c.name, pure_type_name(c.type));
  fputc(')', out);
  if (f.result == PURE_RESULT_VALUE)
    fprintf(out, ": %s", pure_type_name(f.value));
  if (f.result != PURE_RESULT_ROWS)
    return;
  for (uint32_t i = 0; pure_program_result_column(r->program, function, i, &c) == PURE_OK; i++)
    fprintf(out, "%s%s: %s", i ? ", " : ": (", c.name, pure_type_name(c.type));
  fputc(')', out);
}

char *run_signature(const run *r, uint32_t function) {
  char *text = NULL;
  size_t length = 0;
  FILE *out = open_memstream(&text, &length);
  if (out) {
    print_signature(r, function, out);
    fclose(out);
  }
  return text ? text : run_copy("", 0);
}
