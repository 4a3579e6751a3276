/* Values to and from text. */
#include "host/lib/host_int.h"

#include <stdio.h>
#include <string.h>

#include "vm/vm_text.h"

_Static_assert((int)PURE_INT == (int)LS_INT + 1 && (int)PURE_REAL == (int)LS_REAL + 1 &&
                   (int)PURE_BOOL == (int)LS_BOOL + 1 && (int)PURE_TEXT == (int)LS_TEXT + 1 &&
                   (int)PURE_DATE == (int)LS_DATE + 1 && (int)PURE_NTYPES == LS_NTYPES + 1,
               "types differ");
_Static_assert(PURE_DATE_MAX == LS_DATE_MAX, "calendars differ");
_Static_assert(PURE_VALUE_CHARS >= VM_TEXT_NUMBER, "a value may not fit");

pure_value pure_int(int64_t i) {
  pure_value v = {.type = PURE_INT, .as.i = i};
  return v;
}

pure_value pure_real(double r) {
  pure_value v = {.type = PURE_REAL, .as.r = r};
  return v;
}

pure_value pure_bool(bool b) {
  pure_value v = {.type = PURE_BOOL, .as.i = b};
  return v;
}

pure_value pure_text(const char *bytes, size_t length) {
  pure_value v = {.type = PURE_TEXT, .length = length, .as.t = bytes};
  return v;
}

pure_value pure_date(int64_t days) {
  pure_value v = {.type = PURE_DATE, .as.i = days};
  return v;
}

const char *pure_type_name(pure_type type) {
  if (type == PURE_NOTHING || (unsigned)type >= PURE_NTYPES)
    return "nothing";
  return vm_type_name((ls_type)(type - 1));
}

size_t host_utf8_check(const char *bytes, size_t length) {
  size_t bad = 0;
  return vm_text_valid(bytes, length, &bad) ? length : bad;
}

static bool is(const char *bytes, size_t length, const char *word) {
  return length == strlen(word) && memcmp(bytes, word, length) == 0;
}

static host_parsed scan_bool(const char *bytes, size_t length, int64_t *out) {
  *out = is(bytes, length, "true") || is(bytes, length, "1");
  return *out || is(bytes, length, "false") || is(bytes, length, "0") ? HOST_PARSED
                                                                      : HOST_MALFORMED;
}

/* Whether a refused number is well spelled, and only too large. */
static bool is_number(ls_type type, const char *bytes, size_t length) {
  size_t at = length && bytes[0] == '-', digits = at;
  while (at < length && bytes[at] >= '0' && bytes[at] <= '9')
    at++;
  if (at == digits)
    return false;
  if (type == LS_INT || at == length)
    return at == length;
  if (bytes[at] == '.')
    for (at++; at < length && bytes[at] >= '0' && bytes[at] <= '9';)
      at++;
  if (bytes[at - 1] == '.')
    return false;
  if (at < length && (bytes[at] == 'e' || bytes[at] == 'E')) {
    if (++at < length && (bytes[at] == '-' || bytes[at] == '+'))
      at++;
    for (digits = at; at < length && bytes[at] >= '0' && bytes[at] <= '9';)
      at++;
    if (at == digits)
      return false;
  }
  return at == length;
}

host_parsed host_value_scan(ls_type type, const char *bytes, size_t length, ls_val *out) {
  bool fine = false;
  switch (type) {
  case LS_INT:
    fine = vm_text_to_int(bytes, length, &out->i);
    break;
  case LS_REAL:
    fine = vm_text_to_real(bytes, length, &out->r);
    break;
  case LS_DATE:
    fine = vm_text_to_date(bytes, length, &out->i);
    break;
  case LS_BOOL:
    return scan_bool(bytes, length, &out->i);
  case LS_TEXT:
    break;
  }
  if (fine)
    return HOST_PARSED;
  if (type == LS_INT || type == LS_REAL)
    return is_number(type, bytes, length) ? HOST_OUT_OF_RANGE : HOST_MALFORMED;
  return HOST_MALFORMED;
}

const char *host_value_form(ls_type type) {
  return type == LS_DATE   ? "date as 2010-06-01"
         : type == LS_BOOL ? "bool as true, false, 1 or 0"
                           : vm_type_name(type);
}

const char *host_value_no_day(int64_t days, char *out) {
  snprintf(out, HOST_NO_DAY_CHARS,
           "%lld is not a day of the calendar; days count from 0001-01-01 and go from 0 to %d",
           (long long)days, LS_DATE_MAX);
  return out;
}

size_t host_value_spell(ls_type type, ls_val value, char *out) {
  switch (type) {
  case LS_INT:
    return vm_text_from_int(value.i, out);
  case LS_REAL:
    return vm_text_from_real(value.r, out);
  case LS_DATE:
    return vm_text_from_date(value.i, out);
  case LS_BOOL:
    memcpy(out, value.i ? "true" : "false", value.i ? 4 : 5);
    return value.i ? 4 : 5;
  case LS_TEXT:
    break;
  }
  return 0;
}

pure_status pure_value_parse(pure_type type, const char *bytes, size_t length, pure_value *out,
                             pure_error *error) {
  if (!out || (!bytes && length) || type == PURE_NOTHING || (unsigned)type >= PURE_NTYPES)
    return host_fail(error, PURE_MISUSE, "pure_value_parse: %s",
                     !out               ? "out is NULL"
                     : !bytes && length ? "bytes is NULL"
                                        : "type is no pure_type of values");
  memset(out, 0, sizeof *out);
  if (!bytes)
    bytes = "";
  char found[HOST_QUOTE_CHARS];
  host_quote(bytes, length, found, sizeof found);
  if (host_utf8_check(bytes, length) != length)
    return host_fail(error, PURE_BAD_ARGUMENT,
                     "expected %s, found %s, which is not UTF-8 without NUL bytes",
                     pure_type_name(type), found);
  if (type == PURE_TEXT) {
    *out = pure_text(bytes, length);
    return PURE_OK;
  }
  ls_val value;
  host_parsed parsed = host_value_scan((ls_type)(type - 1), bytes, length, &value);
  if (parsed != HOST_PARSED)
    return host_fail(error, PURE_BAD_ARGUMENT, "expected %s, found %s%s",
                     host_value_form((ls_type)(type - 1)), found,
                     parsed == HOST_OUT_OF_RANGE ? ", which is too large" : "");
  out->type = type;
  if (type == PURE_REAL)
    out->as.r = value.r;
  else
    out->as.i = value.i;
  return PURE_OK;
}

static size_t copy_out(const char *bytes, size_t length, char *out, size_t n) {
  if (n) {
    size_t kept = length < n ? length : n - 1;
    memcpy(out, bytes, kept);
    out[kept] = 0;
  }
  return length;
}

size_t pure_value_format(const pure_value *value, char *out, size_t n) {
  char spelled[PURE_VALUE_CHARS];
  ls_val v;
  if (!value || (unsigned)value->type >= PURE_NTYPES || value->type == PURE_NOTHING)
    return copy_out("", 0, out, n);
  if (value->type == PURE_TEXT)
    return copy_out(value->length ? value->as.t : "", value->length, out, n);
  if (value->type == PURE_DATE && (value->as.i < 0 || value->as.i > PURE_DATE_MAX))
    return copy_out("no date", 7, out, n);
  if (value->type == PURE_REAL)
    v.r = value->as.r;
  else
    v.i = value->as.i;
  return copy_out(spelled, host_value_spell((ls_type)(value->type - 1), v, spelled), out, n);
}
