/* The program, and lists from files. */
#include "serve.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int serve_complain(const pure_error *e) {
  char text[sizeof e->file + sizeof e->message + 32];
  pure_error_format(e, text, sizeof text);
  fprintf(stderr, "pure-serve: %s\n", text);
  return e->status == PURE_BAD_PROGRAM ? SERVE_BAD_PROGRAM : SERVE_BAD_DATA;
}

static int file_fail(const char *path, int number) {
  fprintf(stderr, "pure-serve: %s: cannot be read: %s\n", path, strerror(number));
  return SERVE_BAD_DATA;
}

int serve_read_file(const char *path, char **bytes, size_t *length) {
  enum { BLOCK = 1 << 16 };
  serve_buffer b = {0};
  char *block = malloc(BLOCK);
  FILE *in = block ? fopen(path, "rb") : NULL;
  int failed = in ? 0 : errno;
  while (in && !failed) {
    size_t n = fread(block, 1, BLOCK, in);
    if (n && !serve_buffer_add(&b, block, n))
      failed = ENOMEM;
    if (n < BLOCK && ferror(in))
      failed = errno ? errno : EIO;
    if (n < BLOCK)
      break;
  }
  if (in)
    fclose(in);
  free(block);
  if (failed) {
    serve_buffer_free(&b);
    return file_fail(path, failed);
  }
  *bytes = b.bytes;
  *length = b.length;
  return SERVE_FINE;
}

static void report(void *user, const pure_diagnostic *d) {
  (void)user;
  size_t n = strlen(d->formatted);
  fprintf(stderr, "%s%s", d->formatted, n && d->formatted[n - 1] == '\n' ? "" : "\n");
}

static int bind_externs(serve *s) {
  pure_error e;
  pure_extern_info info;
  for (size_t i = 0; i < s->o.nexterns; i++)
    if (pure_bind_library(s->program, s->o.externs[i], &e) != PURE_OK)
      return serve_complain(&e);
  for (uint32_t i = 0; s->o.store && pure_program_extern(s->program, i, &info) == PURE_OK; i++)
    if (!info.pure)
      return serve_usage("--store: extern fn %s is not pure; what it answers could not be repeated "
                         "from the log",
                         info.name);
  return SERVE_FINE;
}

int serve_program_open(serve *s) {
  char *text;
  size_t length;
  pure_error e;
  int status = serve_read_file(s->o.program, &text, &length);
  if (status != SERVE_FINE)
    return status;
  pure_status made = pure_program_is_module(text, length)
                         ? pure_program_load(s->engine, s->o.program, text, length, &s->program, &e)
                         : pure_program_compile(s->engine, s->o.program, text, length, report, NULL,
                                                &s->program, &e);
  free(text);
  if (made == PURE_BAD_PROGRAM)
    return SERVE_BAD_PROGRAM;
  return made == PURE_OK ? bind_externs(s) : serve_complain(&e);
}

static bool ends(const char *text, const char *end) {
  size_t n = strlen(text), m = strlen(end);
  return n >= m && strcmp(text + n - m, end) == 0;
}

static pure_format format_of(const char *path) {
  if (ends(path, ".csv"))
    return PURE_FORMAT_CSV;
  if (ends(path, ".tsv") || ends(path, ".tab"))
    return PURE_FORMAT_TSV;
  return ends(path, ".adj") ? PURE_FORMAT_ADJACENCY : PURE_FORMAT_EDGES;
}

static int load_list(serve *s, const char *list, const char *path) {
  char *bytes;
  size_t length;
  pure_error e;
  pure_import *import;
  int status = serve_read_file(path, &bytes, &length);
  if (status != SERVE_FINE)
    return status;
  pure_import_options options = {.size = sizeof options, .name = path, .format = format_of(path)};
  pure_status made = pure_import_new(s->store, list, &options, &import, &e);
  if (made == PURE_OK)
    made = pure_import_feed(import, bytes, length, &e);
  if (made == PURE_OK)
    made = pure_import_finish(import, &e);
  pure_import_release(import);
  free(bytes);
  return made == PURE_OK ? SERVE_FINE : serve_complain(&e);
}

static int load(serve *s, const char *given) {
  pure_error e;
  const char *equals = strchr(given, '=');
  if (!equals)
    return pure_store_load(s->store, given, &e) == PURE_OK ? SERVE_FINE : serve_complain(&e);
  size_t n = (size_t)(equals - given);
  char *list = malloc(n + 1);
  if (!list)
    return SERVE_FAILED;
  memcpy(list, given, n);
  list[n] = 0;
  int status = load_list(s, list, equals + 1);
  free(list);
  return status;
}

int serve_load_all(serve *s) {
  int status = SERVE_FINE;
  for (size_t i = 0; i < s->o.nloads && status == SERVE_FINE; i++)
    status = load(s, s->o.loads[i]);
  return status;
}
