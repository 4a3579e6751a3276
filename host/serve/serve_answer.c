/* Answers: buffers, errors as JSON, statuses for what the library says. */
#include "serve.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool grow(serve_buffer *b, size_t n) {
  size_t room = b->room ? b->room : 256;
  while (room < n)
    room *= 2;
  char *grown = realloc(b->bytes, room);
  if (!grown) {
    b->full = true;
    return false;
  }
  b->bytes = grown;
  b->room = room;
  return true;
}

bool serve_buffer_add(serve_buffer *b, const void *bytes, size_t n) {
  if (b->most && n > b->most - b->length) {
    b->over = true;
    return false;
  }
  if (b->length + n > b->room && !grow(b, b->length + n))
    return false;
  if (n)
    memcpy(b->bytes + b->length, bytes, n);
  b->length += n;
  return true;
}

bool serve_buffer_write(void *buffer, const void *bytes, size_t n) {
  return serve_buffer_add(buffer, bytes, n);
}

void serve_buffer_free(serve_buffer *b) {
  free(b->bytes);
  memset(b, 0, sizeof *b);
}

void serve_answer_json(serve_request *r, void *json) {
  char *text = json ? json_dumps(json, JSON_PRESERVE_ORDER) : NULL;
  json_decref(json);
  serve_buffer_free(&r->answer);
  r->type = "application/json";
  if (text) {
    r->answer.bytes = text;
    r->answer.length = r->answer.room = strlen(text);
    text[r->answer.length++] = '\n'; /* in the place of the final 0 */
    return;
  }
  r->status = MHD_HTTP_INTERNAL_SERVER_ERROR;
  r->code = "no_memory";
}

/* The message may quote bytes that are no UTF-8; then those that are no ASCII go. */
static json_t *pack_error(const char *code, const char *message) {
  json_t *error = json_pack("{s:s, s:s}", "code", code, "message", message);
  if (error)
    return error;
  char plain[900];
  snprintf(plain, sizeof plain, "%s", message);
  for (char *p = plain; *p; p++)
    if ((unsigned char)*p >= 0x7f || (unsigned char)*p < ' ')
      *p = '?';
  return json_pack("{s:s, s:s}", "code", code, "message", plain);
}

static void answer_error(serve_request *r, unsigned status, const char *code, const char *message,
                         const pure_error *e) {
  r->status = status;
  r->code = code;
  r->more = false;
  json_t *error = pack_error(code, message);
  if (e && e->status == PURE_FAULT && error) {
    json_object_set_new(error, "fault", json_string(pure_fault_name(e->fault)));
    json_object_set_new(error, "line", json_integer(e->line));
    json_object_set_new(error, "column", json_integer(e->column));
  }
  if (e && e->status == PURE_BAD_DATA && e->line && error) {
    json_object_set_new(error, "line", json_integer(e->line));
    json_object_set_new(error, "column", json_integer(e->column));
  }
  serve_answer_json(r, json_pack("{s:o}", "error", error));
}

bool serve_refuse(serve_request *r, unsigned status, const char *code, const char *form, ...) {
  char message[900];
  va_list values;
  va_start(values, form);
  vsnprintf(message, sizeof message, form, values);
  va_end(values);
  answer_error(r, status, code, message, NULL);
  return false;
}

static void fail_fault(serve_request *r, const pure_error *e) {
  if (e->fault != PURE_FAULT_CANCELLED)
    answer_error(r, MHD_HTTP_UNPROCESSABLE_CONTENT, "fault", e->message, e);
  else if (r->peer && serve_peer_gone(r->peer))
    answer_error(r, 499, "caller_gone", "the caller is gone, the query was cancelled", e);
  else
    answer_error(r, MHD_HTTP_GATEWAY_TIMEOUT, "time_limit", e->message, e);
}

void serve_fail(serve_request *r, const pure_error *e) {
  switch (e->status) {
  case PURE_FAULT:
    fail_fault(r, e);
    return;
  case PURE_BAD_DATA:
    answer_error(r, MHD_HTTP_UNPROCESSABLE_CONTENT, "bad_data", e->message, e);
    return;
  case PURE_TOO_LARGE:
    answer_error(r, MHD_HTTP_UNPROCESSABLE_CONTENT, "too_large", e->message, e);
    return;
  case PURE_BAD_ARGUMENT:
    answer_error(r, MHD_HTTP_BAD_REQUEST, "bad_argument", e->message, e);
    return;
  case PURE_NOT_FOUND:
    answer_error(r, MHD_HTTP_NOT_FOUND, "not_found", e->message, e);
    return;
  case PURE_NO_MEMORY:
    answer_error(r, MHD_HTTP_SERVICE_UNAVAILABLE, "no_memory", "not enough memory just now", e);
    return;
  case PURE_OK:
  case PURE_BAD_PROGRAM:
  case PURE_IO:
  case PURE_MISUSE:
  case PURE_BUSY:
  case PURE_STALE:
  case PURE_UNSUPPORTED:
  case PURE_NSTATUS:
    break;
  }
  answer_error(r, MHD_HTTP_INTERNAL_SERVER_ERROR, "internal", e->message, e);
}
