/* Answers: an aligned table for people; CSV, TSV and JSON come from the library. */
#define _XOPEN_SOURCE 700
#include "run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

/* Whatever could not be written shows here; exit status 4. */
int run_output_end(void) {
  if (fflush(stdout) == 0 && !ferror(stdout))
    return RUN_FINE;
  fprintf(stderr, "standard output: cannot be written: %s\n", strerror(errno ? errno : EIO));
  clearerr(stdout);
  return RUN_BAD_DATA;
}

static bool write_out(void *user, const void *bytes, size_t n) {
  (void)user;
  return fwrite(bytes, 1, n, stdout) == n;
}

/* A value as a table shows it: line breaks and the like would break the table up. */
typedef struct {
  char *text;
  size_t room, length, width;
} shown;

static void add(shown *s, const char *bytes, size_t n, size_t width) {
  if (s->length + n + 1 > s->room) {
    size_t room = (s->length + n + 1) * 2;
    char *grown = run_alloc(room);
    if (s->length)
      memcpy(grown, s->text, s->length);
    free(s->text);
    s->text = grown;
    s->room = room;
  }
  memcpy(s->text + s->length, bytes, n);
  s->length += n;
  s->text[s->length] = 0;
  s->width += width;
}

static void add_control(shown *s, unsigned char c) {
  char escape[8];
  const char *known = c == '\n' ? "\\n" : c == '\t' ? "\\t" : c == '\r' ? "\\r" : NULL;
  int n = known ? snprintf(escape, sizeof escape, "%s", known)
                : snprintf(escape, sizeof escape, "\\x%02x", c);
  add(s, escape, (size_t)n, (size_t)n);
}

/* Texts are well-formed UTF-8. */
static void show_text(shown *s, const char *text, size_t length) {
  for (size_t i = 0; i < length;) {
    unsigned char c = (unsigned char)text[i];
    size_t n = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
    if (c < 0x20 || c == 0x7f) {
      add_control(s, c);
    } else {
      wchar_t wide = c < 0x80 ? c : (wchar_t)(c & (0xff >> (n + 1)));
      for (size_t k = 1; k < n; k++)
        wide = (wchar_t)((wide << 6) | (text[i + k] & 0x3f));
      int width = wcwidth(wide);
      add(s, text + i, n, width < 0 ? 1 : (size_t)width);
    }
    i += n;
  }
}

static void show(shown *s, const pure_value *v) {
  s->length = s->width = 0;
  if (v->type == PURE_TEXT) {
    add(s, "", 0, 0);
    show_text(s, v->as.t, v->length);
    return;
  }
  char spelled[PURE_VALUE_CHARS];
  size_t n = pure_value_format(v, spelled, sizeof spelled);
  add(s, spelled, n, n);
}

static bool right_aligned(pure_type type) { return type == PURE_INT || type == PURE_REAL; }

/* The last column gets no blanks behind it. */
static void print_cell(const shown *s, size_t width, bool right, bool last) {
  int blanks = (int)(width - s->width);
  if (right)
    printf("%*s%s", blanks, "", s->text);
  else
    printf("%s%*s", s->text, last ? 0 : blanks, "");
  if (!last)
    fputs("  ", stdout);
}

static void print_header(const pure_result *result, uint32_t n, const size_t *widths, shown *s) {
  pure_column_info c;
  for (uint32_t i = 0; i < n && pure_result_column_info(result, i, &c) == PURE_OK; i++) {
    s->length = s->width = 0;
    add(s, c.name, strlen(c.name), strlen(c.name));
    print_cell(s, widths[i], right_aligned(c.type), i + 1 == n);
  }
  putchar('\n');
  for (uint32_t i = 0; i < n; i++) {
    for (size_t k = 0; k < widths[i]; k++)
      putchar('-');
    fputs(i + 1 == n ? "\n" : "  ", stdout);
  }
}

static void measure(pure_result *result, uint32_t n, size_t *widths, shown *s) {
  pure_column_info c;
  for (uint32_t i = 0; i < n && pure_result_column_info(result, i, &c) == PURE_OK; i++)
    widths[i] = strlen(c.name);
  pure_result_rewind(result);
  while (pure_result_next(result)) {
    for (uint32_t i = 0; i < n; i++) {
      pure_value v = pure_result_get(result, i);
      show(s, &v);
      if (s->width > widths[i])
        widths[i] = s->width;
    }
  }
  pure_result_rewind(result);
}

static void print_table(pure_result *result) {
  uint32_t n = pure_result_columns(result);
  size_t *widths = run_alloc(n * sizeof *widths);
  shown s = {0};
  measure(result, n, widths, &s);
  print_header(result, n, widths, &s);
  while (pure_result_next(result)) {
    for (uint32_t i = 0; i < n; i++) {
      pure_value v = pure_result_get(result, i);
      show(&s, &v);
      print_cell(&s, widths[i], right_aligned(v.type), i + 1 == n);
    }
    putchar('\n');
  }
  unsigned long long rows = (unsigned long long)pure_result_rows(result);
  printf("(%llu row%s)\n", rows, rows == 1 ? "" : "s");
  free(s.text);
  free(widths);
}

static void print_value(const pure_result *result) {
  pure_value v = pure_result_value(result);
  shown s = {0};
  show(&s, &v);
  puts(s.text);
  free(s.text);
}

/* Several answers stay apart: tables end with a line of their own, JSON values are a line each. */
static void separate(const pure_result *result, run_format format, bool *answered) {
  if (pure_result_get_kind(result) == PURE_RESULT_NOTHING)
    return;
  if (*answered && (format == RUN_FORMAT_CSV || format == RUN_FORMAT_TSV))
    putchar('\n');
  *answered = true;
}

int run_output(pure_result *result, run_format format, bool *answered) {
  static const pure_format formats[] = {
      [RUN_FORMAT_CSV] = PURE_FORMAT_CSV,
      [RUN_FORMAT_TSV] = PURE_FORMAT_TSV,
      [RUN_FORMAT_JSON] = PURE_FORMAT_JSON,
  };
  pure_error e;
  if (format == RUN_FORMAT_AUTO)
    format = isatty(STDOUT_FILENO) ? RUN_FORMAT_TABLE : RUN_FORMAT_CSV;
  errno = 0;
  separate(result, format, answered);
  if (format == RUN_FORMAT_TABLE) {
    if (pure_result_get_kind(result) == PURE_RESULT_ROWS)
      print_table(result);
    if (pure_result_get_kind(result) == PURE_RESULT_VALUE)
      print_value(result);
  } else if (pure_result_write(result, formats[format], write_out, NULL, &e) != PURE_OK &&
             e.status != PURE_IO) {
    return run_complain(&e);
  }
  return run_output_end();
}
