/* vm/vm_asm_lex.c - assembly text to tokens. */
#include "vm/vm_asm_int.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "vm/vm_text.h"

bool vm_asm_fail(vm_asm_state *s, const vm_token *where, const char *format, ...) {
  va_list args;
  if (s->status != LS_OK)
    return false;
  s->status = LS_UNSUITABLE;
  s->err->line = where->line;
  s->err->column = (uint32_t)(where->bytes - where->line_start) + 1;
  va_start(args, format);
  vsnprintf(s->err->message, sizeof s->err->message, format, args);
  va_end(args);
  return false;
}

bool vm_asm_memory(vm_asm_state *s) {
  *s->err = (vm_error){0, 0, "out of memory"};
  s->status = LS_NOMEM;
  return false;
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_word(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* Blanks, line ends and comments, which go from -- to the end of the line. */
static void skip_blanks(vm_asm_state *s) {
  for (; s->at < s->end; s->at++) {
    if (*s->at == '\n') {
      s->line++;
      s->line_start = s->at + 1;
    } else if (s->end - s->at >= 2 && s->at[0] == '-' && s->at[1] == '-') {
      while (s->at + 1 < s->end && s->at[1] != '\n')
        s->at++;
    } else if (*s->at != ' ' && *s->at != '\t' && *s->at != '\r') {
      return;
    }
  }
}

/* The end of a number: digits, letters, a point before a digit, and a sign after e. */
static const char *number_end(const char *at, const char *end) {
  at++;
  while (at < end && (is_word(*at) || (*at == '.' && at + 1 < end && is_digit(at[1])) ||
                      ((*at == '-' || *at == '+') && (at[-1] == 'e' || at[-1] == 'E'))))
    at++;
  return at;
}

static bool lex_string(vm_asm_state *s) {
  const char *at = s->at + 1;
  while (at < s->end && *at != '"' && *at != '\n')
    at += *at == '\\' && at + 1 < s->end && at[1] != '\n' ? 2 : 1;
  if (at >= s->end || *at != '"')
    return vm_asm_fail(s, &s->tok, "the text does not end on its line");
  s->tok.kind = VM_TOK_STRING;
  s->tok.bytes++;
  s->tok.len = (size_t)(at - s->tok.bytes);
  s->at = at + 1;
  return true;
}

bool vm_asm_next(vm_asm_state *s) {
  if (s->status != LS_OK)
    return false;
  skip_blanks(s);
  const char *at = s->at;
  s->tok = (vm_token){VM_TOK_END, at, 0, s->line, s->line_start};
  if (at == s->end)
    return true;
  if (*at == '"')
    return lex_string(s);
  if (is_digit(*at) || (*at == '-' && at + 1 < s->end && is_word(at[1]))) {
    s->tok.kind = VM_TOK_NUMBER;
    at = number_end(at, s->end);
  } else if (is_word(*at)) {
    s->tok.kind = VM_TOK_NAME;
    while (at < s->end && is_word(*at))
      at++;
  } else {
    s->tok.kind = VM_TOK_PUNCT;
    at++;
  }
  s->tok.len = (size_t)(at - s->tok.bytes);
  s->at = at;
  return true;
}

bool vm_token_is(const vm_token *t, const char *text) {
  return (t->kind == VM_TOK_NAME || t->kind == VM_TOK_PUNCT) && strlen(text) == t->len &&
         memcmp(t->bytes, text, t->len) == 0;
}

bool vm_asm_is(const vm_asm_state *s, const char *text) {
  return s->status == LS_OK && vm_token_is(&s->tok, text);
}

bool vm_asm_take(vm_asm_state *s, const char *text) { return vm_asm_is(s, text) && vm_asm_next(s); }

/* What was wanted instead of the token at hand. */
static bool fail_expected(vm_asm_state *s, const char *wanted) {
  if (s->tok.kind == VM_TOK_END)
    return vm_asm_fail(s, &s->tok, "the text ends; %s was expected", wanted);
  return vm_asm_fail(s, &s->tok, "`%.*s`; %s was expected", VM_TOKEN_SHOWN(s->tok), wanted);
}

bool vm_asm_need(vm_asm_state *s, const char *text) {
  char wanted[40];
  if (vm_asm_is(s, text))
    return vm_asm_next(s);
  snprintf(wanted, sizeof wanted, "`%s`", text);
  return fail_expected(s, wanted);
}

bool vm_asm_need_name(vm_asm_state *s, vm_token *name) {
  *name = s->tok;
  if (s->tok.kind != VM_TOK_NAME)
    return fail_expected(s, "a name");
  if (!vm_name_valid(name->bytes, name->len))
    return vm_asm_fail(s, name, "a name is an identifier of at most %d bytes", VM_MAX_NAME);
  return vm_asm_next(s);
}

static bool read_hex(const char *bytes, size_t len, uint64_t *out) {
  uint64_t v = 0;
  for (size_t k = 0; k < len; k++) {
    char c = bytes[k];
    unsigned digit = is_digit(c)              ? (unsigned)(c - '0')
                     : (c >= 'a' && c <= 'f') ? (unsigned)(c - 'a') + 10
                     : (c >= 'A' && c <= 'F') ? (unsigned)(c - 'A') + 10
                                              : 16;
    if (digit == 16 || v >> 60)
      return false;
    v = v << 4 | digit;
  }
  *out = v;
  return len > 0;
}

bool vm_asm_need_int(vm_asm_state *s, int64_t low, int64_t high, int64_t *out) {
  vm_token t = s->tok;
  uint64_t bits;
  if (t.kind != VM_TOK_NUMBER)
    return fail_expected(s, "a number");
  if (t.len > 2 && t.bytes[0] == '0' && t.bytes[1] == 'x') {
    if (!read_hex(t.bytes + 2, t.len - 2, &bits))
      return vm_asm_fail(s, &t, "`%.*s` is no number of 64 bits", VM_TOKEN_SHOWN(t));
    *out = (int64_t)bits;
  } else if (!vm_text_to_int(t.bytes, t.len, out)) {
    return vm_asm_fail(s, &t, "`%.*s` is no number of 64 bits", VM_TOKEN_SHOWN(t));
  }
  if (*out < low || *out > high)
    return vm_asm_fail(s, &t, "%.*s; %lld to %lld are possible", VM_TOKEN_SHOWN(t), (long long)low,
                       (long long)high);
  return vm_asm_next(s);
}

bool vm_asm_need_type(vm_asm_state *s, ls_type *type) {
  for (int t = 0; t < LS_NTYPES; t++)
    if (vm_asm_is(s, vm_type_name((ls_type)t))) {
      *type = (ls_type)t;
      return vm_asm_next(s);
    }
  return fail_expected(s, "int, real, bool, text or date");
}

static size_t put_utf8(uint64_t c, char *out) {
  if (c < 0x80) {
    out[0] = (char)c;
    return 1;
  }
  size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
  static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
  for (size_t k = n; k-- > 0; c >>= 6)
    out[k] = (char)(k ? 0x80 | (c & 63) : lead[n] | c);
  return n;
}

/* One escape at in[0] = '\\'.  Returns how many bytes it takes, 0: it is none. */
static size_t read_escape(const char *in, size_t left, char *out, size_t *written) {
  static const char from[] = "ntr\"\\", to[] = "\n\t\r\"\\";
  const char *plain = left > 1 && in[1] ? strchr(from, in[1]) : NULL;
  if (plain) {
    *out = to[plain - from];
    *written = 1;
    return 2;
  }
  const char *close = left > 3 && in[1] == 'u' && in[2] == '{' ? memchr(in, '}', left) : NULL;
  uint64_t c;
  if (!close || !read_hex(in + 3, (size_t)(close - in) - 3, &c) || c > 0x10ffff)
    return 0;
  *written = put_utf8(c, out); /* surrogates: refused with the whole text */
  return (size_t)(close - in) + 1;
}

bool vm_asm_need_string(vm_asm_state *s, const char **bytes, size_t *len) {
  vm_token t = s->tok;
  if (t.kind != VM_TOK_STRING)
    return fail_expected(s, "a text in quotes");
  char *out = vm_module_alloc(s->m, t.len + 4);
  if (!out)
    return vm_asm_memory(s);
  size_t n = 0;
  for (size_t at = 0; at < t.len;) {
    size_t written = 1, taken = 1;
    if (t.bytes[at] == '\\')
      taken = read_escape(t.bytes + at, t.len - at, out + n, &written);
    else
      out[n] = t.bytes[at];
    if (taken == 0)
      return vm_asm_fail(s, &t, "\\n \\t \\r \\\" \\\\ and \\u{...} are the escapes there are");
    at += taken;
    n += written;
  }
  if (!vm_text_valid(out, n, NULL))
    return vm_asm_fail(s, &t, "the text is not UTF-8 without NUL");
  out[n] = 0;
  *bytes = out;
  *len = n;
  return vm_asm_next(s);
}

const char *vm_asm_copy_name(vm_asm_state *s, const vm_token *name) {
  const char *copy = vm_module_text(s->m, name->bytes, name->len);
  if (!copy)
    vm_asm_memory(s);
  return copy;
}
