/* vm/lang/lang_lex.c - text to tokens, one at a time. */
#include "vm/lang/lang_int.h"
#include "vm/lang/lang_number.h"

#include <stdio.h>
#include <string.h>

#define MAX_NAME 100u

static const char *const spellings[LANG_NTOKENS] = {
#define MARK(id, spelling) [TOK_##id] = spelling,
#define WORD(id, spelling) [TOK_##id] = spelling,
#include "vm/lang/lang_tokens.def"
#undef MARK
#undef WORD
};

static const uint8_t marks[] = {
#define MARK(id, spelling) TOK_##id,
#define WORD(id, spelling)
#include "vm/lang/lang_tokens.def"
#undef MARK
#undef WORD
};

static const uint8_t words[] = {
#define MARK(id, spelling)
#define WORD(id, spelling) TOK_##id,
#include "vm/lang/lang_tokens.def"
#undef MARK
#undef WORD
};

const char *lang_token_spelling(lang_token_kind kind) { return spellings[kind]; }

const char *lang_token_text(const lang_token *t, char *buf, size_t n) {
  switch (t->kind) {
  case TOK_END:
    return "the end of the text";
  case TOK_LIT_INT:
  case TOK_LIT_REAL:
    return "a number";
  case TOK_LIT_TEXT:
    return "a text";
  case TOK_BAD:
    return "something else";
  case TOK_NAME:
    snprintf(buf, n, "`%s`", t->name->text);
    return buf;
  default:
    snprintf(buf, n, "`%s`", spellings[t->kind]);
    return buf;
  }
}

static uint8_t peek(const lang_lexer *x, size_t ahead) {
  size_t at = x->at + ahead;
  return at < x->cx->len ? (uint8_t)x->cx->text[at] : 0;
}

static bool at_end(const lang_lexer *x) { return x->at >= x->cx->len; }

/* Over one character; the text is known to be UTF-8. */
static void skip(lang_lexer *x) {
  if (at_end(x))
    return;
  if (peek(x, 0) == '\n') {
    x->line++;
    x->column = 0;
  }
  x->at++;
  while ((peek(x, 0) & 0xc0) == 0x80 && !at_end(x))
    x->at++;
  x->column++;
}

static void skip_ascii(lang_lexer *x, size_t n) {
  x->at += n;
  x->column += (uint32_t)n;
}

/* Blanks, line ends and comments.  Returns whether a line ended. */
static bool skip_blanks(lang_lexer *x) {
  bool first = x->at == 0;
  for (;;) {
    uint8_t c = peek(x, 0);
    if (c == '\n')
      first = true;
    if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
      skip(x);
    } else if (c == '-' && peek(x, 1) == '-') {
      while (!at_end(x) && peek(x, 0) != '\n')
        skip(x);
    } else {
      return first;
    }
  }
}

static bool is_digit(uint8_t c) { return c >= '0' && c <= '9'; }
static bool is_letter(uint8_t c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static lang_span here(const lang_lexer *x, uint32_t width) {
  return (lang_span){x->line, x->column, width};
}

static void lex_name(lang_lexer *x, lang_token *t) {
  size_t n = 0;
  while (is_letter(peek(x, n)) || is_digit(peek(x, n)))
    n++;
  t->at.width = (uint32_t)n;
  t->kind = TOK_NAME;
  if (n > MAX_NAME) {
    lang_complain(x->cx, t->at, "a name has at most %u characters", MAX_NAME);
    t->kind = TOK_BAD;
  }
  t->name = lang_intern(x->cx, x->cx->text + x->at, (uint32_t)(n > MAX_NAME ? MAX_NAME : n));
  if (!t->name)
    t->kind = TOK_BAD;
  for (size_t i = 0; i < sizeof words && t->kind == TOK_NAME; i++) {
    if (lang_name_is(t->name, spellings[words[i]]))
      t->kind = words[i];
  }
  skip_ascii(x, n);
}

/* How far a number reaches, with whatever letters are glued to it. */
static size_t number_bytes(const lang_lexer *x, bool *real) {
  bool hex = peek(x, 0) == '0' && (peek(x, 1) | 32) == 'x';
  size_t n = hex ? 2 : 0;
  *real = false;
  for (;; n++) {
    uint8_t c = peek(x, n);
    if (is_digit(c) || is_letter(c)) {
      bool exponent = !hex && (c | 32) == 'e';
      *real = *real || exponent;
      if (exponent && (peek(x, n + 1) == '+' || peek(x, n + 1) == '-') && is_digit(peek(x, n + 2)))
        n++;
    } else if (c == '.' && is_digit(peek(x, n + 1)) && !hex && !*real) {
      *real = true;
    } else {
      return n;
    }
  }
}

static void lex_number(lang_lexer *x, lang_token *t) {
  bool real;
  size_t n = number_bytes(x, &real);
  const char *bytes = x->cx->text + x->at;
  t->at.width = (uint32_t)n;
  t->kind = real ? TOK_LIT_REAL : TOK_LIT_INT;
  lang_number_status s =
      real ? lang_read_real(bytes, n, &t->value.r) : lang_read_int(bytes, n, &t->value.i, &t->huge);
  skip_ascii(x, n);
  if (s == LANG_NUMBER_FINE)
    return;
  lang_complain(x->cx, t->at, "%s",
                s == LANG_NUMBER_BAD    ? "this is not a number"
                : s == LANG_NUMBER_LONG ? "a real has at most 1000 characters"
                : real                  ? "this number is too large for a real"
                                        : "this number does not fit in an int");
  t->kind = TOK_BAD;
}

static size_t put_utf8(char *out, uint32_t c) {
  if (c < 0x80) {
    out[0] = (char)c;
    return 1;
  }
  size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
  for (size_t i = n - 1; i > 0; i--, c >>= 6)
    out[i] = (char)(0x80 | (c & 0x3f));
  out[0] = (char)((0xf00u >> n & 0xffu) | c);
  return n;
}

/* \u{1F600}, at the u: the digits are read.  0: they, or the braces, are not there. */
static size_t code_point_digits(const lang_lexer *x, uint32_t *out) {
  size_t n = 2;
  *out = 0;
  if (peek(x, 1) != '{')
    return 0;
  for (; peek(x, n) != '}'; n++) {
    uint8_t d = peek(x, n);
    if (!is_digit(d) && ((d | 32) < 'a' || (d | 32) > 'f'))
      return 0;
    if (*out <= 0x10ffff)
      *out = *out * 16 + (uint32_t)(is_digit(d) ? d - '0' : (d | 32) - 'a' + 10);
  }
  return n;
}

/* 0 bytes: bad, and told where it is a number of no character. */
static size_t lex_code_point(lang_lexer *x, lang_span at, char *out) {
  uint32_t c;
  size_t n = code_point_digits(x, &c);
  if (n == 0)
    return 0;
  if (n > 2 && n <= 8 && c && c <= 0x10ffff && (c < 0xd800 || c >= 0xe000)) {
    skip_ascii(x, n);
    return put_utf8(out, c);
  }
  at.width = (uint32_t)n + 2;
  lang_error *e = lang_complain(x->cx, at, "no such character: \\%.*s", n < 60 ? (int)n + 1 : 60,
                                x->cx->text + x->at);
  lang_hint(e, n == 2   ? "write its code point in hexadecimal: \\u{1F600}"
               : c == 0 ? "texts hold no NUL"
                        : "code points go from 1 to 10FFFF, without D800 to DFFF");
  return 0;
}

/* What follows a backslash.  Leaves x at its last byte. */
static size_t lex_escape(lang_lexer *x, lang_span at, char *out) {
  switch (peek(x, 0)) {
  case 'n':
    *out = '\n';
    return 1;
  case 't':
    *out = '\t';
    return 1;
  case '"':
    *out = '"';
    return 1;
  case '\\':
    *out = '\\';
    return 1;
  case 'u':
    return lex_code_point(x, at, out);
  default:
    return 0;
  }
}

static size_t text_end(const lang_lexer *x) {
  size_t n = 1;
  for (; x->at + n < x->cx->len; n++) {
    uint8_t c = peek(x, n);
    if (c == '"' || c == '\n')
      break;
    if (c == '\\' && peek(x, n + 1) != '\n' && x->at + n + 1 < x->cx->len)
      n++;
  }
  return n;
}

static void lex_text(lang_lexer *x, lang_token *t) {
  size_t end = x->at + text_end(x), len = 0;
  char *out = lang_alloc(x->cx, end - x->at);
  bool closed = end < x->cx->len && x->cx->text[end] == '"';
  t->kind = out ? TOK_LIT_TEXT : TOK_BAD;
  if (!closed) {
    lang_complain(x->cx, t->at, "this text has no closing `\"` on its line");
    t->kind = TOK_BAD;
  }
  for (skip(x); x->at < end; skip(x)) {
    lang_span at = here(x, 2);
    size_t n = 1;
    if (!out)
      continue;
    if (peek(x, 0) == '\\') {
      skip(x);
      n = lex_escape(x, at, out + len);
      if (n == 0 && closed) {
        lang_error *e = lang_complain(x->cx, at, "unknown escape in a text");
        lang_hint(e, "the escapes are \\n, \\t, \\\", \\\\ and \\u{1F600}");
        t->kind = TOK_BAD;
      }
      len += n;
    } else {
      do
        out[len++] = (char)peek(x, n - 1);
      while ((peek(x, n++) & 0xc0) == 0x80);
    }
  }
  if (closed)
    skip(x);
  t->at.width = x->column - t->at.column;
  t->text = out;
  t->text_len = (uint32_t)len;
}

/* Signs of other languages, and what to write instead. */
static const struct {
  const char *sign, *instead;
} foreign[] = {
    {"&&", "use `and`"},
    {"||", "use `or`"},
    {"//", "comments begin with `--`"},
    {"/*", "comments begin with `--`"},
    {"#", "comments begin with `--`"},
    {"!", "use `not`"},
    {"<>", "use `!=`"},
    {"'", "texts are written \"like this\""},
    {"`", "texts are written \"like this\""},
    {";", "a statement ends at the end of its line"},
    {"**", "there is no power operator; multiply"},
    {"^", "there is no power operator; multiply"},
    {"?", "use `if c then a else b`"},
};

static bool starts(const lang_lexer *x, const char *sign) {
  size_t n = strlen(sign);
  return x->cx->len - x->at >= n && memcmp(x->cx->text + x->at, sign, n) == 0;
}

static bool lex_foreign(lang_lexer *x, lang_token *t) {
  for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
    if (!starts(x, foreign[i].sign) || starts(x, "!="))
      continue;
    t->kind = TOK_BAD;
    t->at.width = (uint32_t)strlen(foreign[i].sign);
    lang_error *e = lang_complain(x->cx, t->at, "`%s` means nothing here", foreign[i].sign);
    lang_hint(e, "%s", foreign[i].instead);
    skip_ascii(x, t->at.width);
    return true;
  }
  return false;
}

static void lex_mark(lang_lexer *x, lang_token *t) {
  if (lex_foreign(x, t))
    return;
  for (size_t i = 0; i < sizeof marks; i++) {
    if (!starts(x, spellings[marks[i]]))
      continue;
    t->kind = marks[i];
    t->at.width = (uint32_t)strlen(spellings[marks[i]]);
    skip_ascii(x, t->at.width);
    return;
  }
  uint8_t c = peek(x, 0);
  t->kind = TOK_BAD;
  if (c < 0x20 || c == 0x7f) {
    lang_complain(x->cx, t->at, "unexpected control character (code %u)", c);
  } else {
    size_t n = 1;
    while ((peek(x, n) & 0xc0) == 0x80 && n < 4)
      n++;
    lang_complain(x->cx, t->at, "unexpected character `%.*s`", (int)n, x->cx->text + x->at);
  }
  skip(x);
}

void lang_lex_start(lang_lexer *x, lang_cx *cx) {
  *x = (lang_lexer){cx, 0, 1, 1};
  if (cx->len >= 3 && memcmp(cx->text, "\xef\xbb\xbf", 3) == 0)
    x->at = 3;
}

void lang_lex(lang_lexer *x, lang_token *t) {
  *t = (lang_token){.kind = TOK_END};
  t->first = skip_blanks(x);
  t->at = here(x, 1);
  uint8_t c = peek(x, 0);
  if (at_end(x))
    return;
  if (is_letter(c))
    lex_name(x, t);
  else if (is_digit(c))
    lex_number(x, t);
  else if (c == '"')
    lex_text(x, t);
  else
    lex_mark(x, t);
}
