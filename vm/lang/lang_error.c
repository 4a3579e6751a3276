/* vm/lang/lang_error.c - messages: collecting them, suggesting names, showing the place. */
#include "vm/lang/lang_int.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MAX_SHOWN 100u /* characters of a source line */

lang_error *lang_complain(lang_cx *cx, lang_span at, const char *format, ...) {
  if (cx->nerrors == LANG_MAX_ERRORS)
    return NULL;
  for (unsigned i = 0; i < cx->nerrors; i++) {
    if (cx->errors[i].line == at.line && cx->errors[i].column == at.column)
      return NULL;
  }
  lang_error *e = &cx->errors[cx->nerrors++];
  memset(e, 0, sizeof *e);
  e->line = at.line;
  e->column = at.column;
  e->width = at.width ? at.width : 1;
  va_list args;
  va_start(args, format);
  vsnprintf(e->message, sizeof e->message, format, args);
  va_end(args);
  return e;
}

void lang_hint(lang_error *e, const char *format, ...) {
  if (!e)
    return;
  va_list args;
  va_start(args, format);
  vsnprintf(e->hint, sizeof e->hint, format, args);
  va_end(args);
}

static bool comes_before(const lang_error *x, const lang_error *y) {
  return x->line != y->line ? x->line < y->line : x->column < y->column;
}

void lang_sort_errors(lang_cx *cx) {
  for (unsigned i = 1; i < cx->nerrors; i++) {
    lang_error e = cx->errors[i];
    unsigned j = i;
    for (; j > 0 && comes_before(&e, &cx->errors[j - 1]); j--)
      cx->errors[j] = cx->errors[j - 1];
    cx->errors[j] = e;
  }
}

/* ---- suggestions */

static unsigned least(unsigned x, unsigned y) { return x < y ? x : y; }

static char lower(char c) { return (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c); }

/* Insertions, deletions, changes and swaps of neighbours that lead from a to b; case counts
 * nothing.  Words longer than 63 are no misspellings of anything. */
static unsigned edit_distance(const char *a, const char *b) {
  size_t na = strlen(a), nb = strlen(b);
  if (na > 63 || nb > 63)
    return 64;
  unsigned rows[3][65];
  for (unsigned j = 0; j <= nb; j++)
    rows[1][j] = j;
  memcpy(rows[0], rows[1], sizeof rows[0]);
  for (size_t i = 1; i <= na; i++) {
    unsigned *before = rows[(i - 1) % 3], *prev = rows[i % 3], *row = rows[(i + 1) % 3];
    row[0] = (unsigned)i;
    for (size_t j = 1; j <= nb; j++) {
      bool same = lower(a[i - 1]) == lower(b[j - 1]);
      unsigned d = least(least(prev[j], row[j - 1]) + 1, prev[j - 1] + !same);
      if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
          lower(a[i - 2]) == lower(b[j - 1]))
        d = least(d, before[j - 2] + 1);
      row[j] = d;
    }
  }
  return rows[(na + 1) % 3][nb];
}

/* How far off a suggestion may be: a third, of long words less. */
static unsigned tolerance(const char *word) {
  unsigned n = (unsigned)strlen(word);
  return least(n / 3, 1 + n / 4);
}

void lang_hint_word(lang_error *e, const char *word, const char *const *words, unsigned n) {
  unsigned best = tolerance(word) + 1;
  const char *found = NULL;
  for (unsigned i = 0; e && i < n; i++) {
    unsigned d = edit_distance(word, words[i]);
    if (d >= best || d >= strlen(words[i]))
      continue;
    best = d;
    found = words[i];
  }
  if (found)
    lang_hint(e, "did you mean `%s`?", found);
}

void lang_hint_name(lang_cx *cx, lang_error *e, const lang_name *name,
                    bool (*fits)(const lang_sym *sym)) {
  unsigned best = tolerance(name->text) + 1;
  const lang_name *found = NULL;
  for (uint32_t i = 0; e && i < cx->nbuckets; i++) {
    for (const lang_name *n = cx->names[i]; n; n = n->chain) {
      if (n == name || !n->sym || n->sym->kind == SYM_BAD || !fits(n->sym))
        continue;
      unsigned d = edit_distance(name->text, n->text);
      if (d > best || d >= n->len)
        continue;
      if (d == best && (!found || strcmp(n->text, found->text) > 0))
        continue;
      best = d;
      found = n;
    }
  }
  if (found)
    lang_hint(e, "did you mean `%s`?", found->text);
}

/* ---- showing the place */

typedef struct {
  char *out;
  size_t n, len; /* len: of the whole, whether it fits or not */
} sink;

static void write_bytes(sink *s, const char *bytes, size_t len) {
  for (size_t i = 0; i < len; i++, s->len++) {
    if (s->len + 1 < s->n)
      s->out[s->len] = bytes[i];
  }
}

static void write_text(sink *s, const char *text) { write_bytes(s, text, strlen(text)); }

static void write_times(sink *s, char c, uint32_t times) {
  while (times-- > 0)
    write_bytes(s, &c, 1);
}

/* Bytes of the character at text[at]; 1 for what is none. */
static size_t char_bytes(const char *text, size_t len, size_t at) {
  uint8_t c = (uint8_t)text[at];
  size_t n = c < 0xc2 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf5 ? 4 : 1;
  if (at + n > len)
    return 1;
  for (size_t i = 1; i < n; i++) {
    if (((uint8_t)text[at + i] & 0xc0) != 0x80)
      return 1;
  }
  return n;
}

static void write_char(sink *s, const char *text, size_t at, size_t bytes) {
  uint8_t c = (uint8_t)text[at];
  if (c == '\t')
    write_text(s, " ");
  else if (bytes == 1 && (c < 0x20 || c >= 0x7f))
    write_text(s, "?");
  else
    write_bytes(s, text + at, bytes);
}

static size_t find_line(const char *text, size_t len, uint32_t line) {
  size_t at = 0;
  while (line > 1 && at < len) {
    if (text[at++] == '\n')
      line--;
  }
  return at;
}

static bool ends_line(const char *text, size_t len, size_t at) {
  return at >= len || text[at] == '\n' ||
         (text[at] == '\r' && at + 1 < len && text[at + 1] == '\n');
}

/* Writes the line; of a long one the characters around the column.  Returns how many columns
 * further left the place stands now, less what was written for the part left out. */
static int64_t write_line(sink *s, const char *text, size_t len, const lang_error *e) {
  size_t at = find_line(text, len, e->line);
  uint32_t from = e->column > MAX_SHOWN - 20 ? e->column - MAX_SHOWN / 2 : 1;
  uint32_t column = 1;
  while (column < from && !ends_line(text, len, at)) {
    at += char_bytes(text, len, at);
    column++;
  }
  if (from > 1)
    write_text(s, "...");
  for (uint32_t shown = 0; shown < MAX_SHOWN && !ends_line(text, len, at); shown++) {
    size_t bytes = char_bytes(text, len, at);
    write_char(s, text, at, bytes);
    at += bytes;
  }
  if (!ends_line(text, len, at))
    write_text(s, "...");
  write_text(s, "\n");
  return from > 1 ? (int64_t)from - 4 : 0;
}

static void write_caret(sink *s, const lang_error *e, int64_t shift) {
  uint32_t column = (uint32_t)(e->column - shift);
  uint32_t width = e->width ? e->width : 1;
  uint32_t room = column < MAX_SHOWN ? MAX_SHOWN + 1 - column : 1;
  write_times(s, ' ', column - 1);
  write_text(s, "^");
  write_times(s, '~', least(width, room) - 1);
  write_text(s, "\n");
}

size_t lang_format_error(const char *name, const char *text, size_t len, const lang_error *e,
                         char *out, size_t n) {
  sink s = {out, n, 0};
  char place[64];
  snprintf(place, sizeof place, ":%u:%u: ", (unsigned)e->line, (unsigned)e->column);
  write_text(&s, name);
  write_text(&s, place);
  write_text(&s, e->message);
  write_text(&s, "\n");
  if (e->line > 0 && e->column > 0) {
    write_text(&s, "  ");
    int64_t shift = write_line(&s, text, len, e);
    write_text(&s, "  ");
    write_caret(&s, e, shift);
  }
  if (e->hint[0]) {
    write_text(&s, "  ");
    write_text(&s, e->hint);
    write_text(&s, "\n");
  }
  if (n > 0)
    out[s.len < n ? s.len : n - 1] = 0;
  return s.len;
}
