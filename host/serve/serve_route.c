/* What a request asks for, whether it may, and the limits it wants. */
#define _POSIX_C_SOURCE 200809L /* strtok_r, strncasecmp */
#include "serve.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *header(const serve_request *r, const char *name) {
  return MHD_lookup_connection_value(r->connection, MHD_HEADER_KIND, name);
}

static const char *parameter(const serve_request *r, const char *name) {
  return MHD_lookup_connection_value(r->connection, MHD_GET_ARGUMENT_KIND, name);
}

/* How long it takes tells the length of the token that was sent, and nothing else. */
static bool same_token(const char *want, const char *got) {
  size_t nwant = strlen(want), ngot = strlen(got);
  volatile unsigned differ = nwant != ngot;
  for (size_t i = 0; i < ngot; i++)
    differ |= (unsigned char)got[i] ^ (unsigned char)want[nwant ? i % nwant : 0];
  return differ == 0;
}

/* A name that only this machine has: a page from elsewhere cannot have got here by a name of its
 * own that it made point at us. */
static bool is_local_name(const char *host) {
  static const char *const names[] = {"127.0.0.1", "localhost", "[::1]", NULL};
  for (size_t i = 0; names[i]; i++) {
    size_t n = strlen(names[i]);
    if (strncasecmp(host, names[i], n) == 0 && (host[n] == 0 || host[n] == ':'))
      return true;
  }
  return false;
}

bool serve_allowed(serve_request *r) {
  const char *origin = header(r, "Origin"), *host = header(r, "Host");
  const char *token = header(r, "Authorization");
  const char *at = origin ? strstr(origin, "://") : NULL;
  if (origin && (!at || !host || strcasecmp(at + 3, host) != 0))
    return serve_refuse(r, MHD_HTTP_FORBIDDEN, "foreign_origin",
                        "pages of another origin may not call this server");
  if (!r->s->token)
    return !host || is_local_name(host) ||
           serve_refuse(r, MHD_HTTP_FORBIDDEN, "foreign_host",
                        "without a token this server answers to the names 127.0.0.1, localhost "
                        "and [::1] only");
  if (token && strncmp(token, "Bearer ", 7) == 0 && same_token(r->s->token, token + 7))
    return true;
  return serve_refuse(r, MHD_HTTP_UNAUTHORIZED, "unauthorized",
                      "send the server's token: Authorization: Bearer TOKEN");
}

static bool read_number(serve_request *r, const char *what, const char *text, uint64_t most,
                        uint64_t *out) {
  char *end;
  errno = 0;
  unsigned long long v = strtoull(text, &end, 10);
  if (text[0] < '0' || text[0] > '9' || *end || errno || v == 0)
    return serve_refuse(r, MHD_HTTP_BAD_REQUEST, "bad_request", "%s: expected a number from 1 on",
                        what);
  if (!most || v < most)
    *out = v;
  return true;
}

/* Up to the server's: a larger one is the server's. */
static bool read_limits(serve_request *r) {
  r->limits = r->s->o.limits;
  uint64_t ms = r->limits.milliseconds;
  const struct {
    const char *name;
    uint64_t *limit;
  } wanted[] = {{"Pure-Limit-Work", &r->limits.work},
                {"Pure-Limit-Memory", &r->limits.memory},
                {"Pure-Limit-Time", &ms}};
  for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
    const char *text = header(r, wanted[i].name);
    if (text && !read_number(r, wanted[i].name, text, *wanted[i].limit, wanted[i].limit))
      return false;
  }
  r->limits.milliseconds = ms > UINT32_MAX ? UINT32_MAX : (uint32_t)ms;
  return true;
}

static bool read_format(serve_request *r) {
  const char *format = parameter(r, "format"), *accept = header(r, "Accept");
  const char *rows = parameter(r, "rows");
  r->format = PURE_FORMAT_JSON;
  r->rows_wanted = UINT64_MAX;
  if (format && strcmp(format, "csv") != 0 && strcmp(format, "json") != 0)
    return serve_refuse(r, MHD_HTTP_BAD_REQUEST, "bad_request", "format: there are json and csv");
  if (format ? format[0] == 'c' : accept && strstr(accept, "text/csv"))
    r->format = PURE_FORMAT_CSV;
  else if (!format && accept && !strstr(accept, "json") && !strstr(accept, "*/*") &&
           !strstr(accept, "application/*"))
    return serve_refuse(r, MHD_HTTP_NOT_ACCEPTABLE, "not_acceptable",
                        "answers are application/json or text/csv");
  return !rows || read_number(r, "rows", rows, 0, &r->rows_wanted);
}

/* The type of a body that forms cannot send: so no page can post without asking first. */
static bool check_type(serve_request *r, const char *want) {
  const char *type = header(r, "Content-Type");
  size_t n = strlen(want);
  if (type && strncasecmp(type, want, n) == 0 && (!type[n] || type[n] == ';' || type[n] == ' '))
    return true;
  return serve_refuse(r, MHD_HTTP_UNSUPPORTED_MEDIA_TYPE, "bad_type",
                      "send the body with Content-Type: %s", want);
}

static bool route_call(serve_request *r, const char *name) {
  pure_function_info info;
  if (pure_program_find_function(r->s->program, name, &r->function) != PURE_OK ||
      pure_program_function(r->s->program, r->function, &info) != PURE_OK)
    return serve_refuse(r, MHD_HTTP_NOT_FOUND, "not_found", "there is no query or event %.60s",
                        name);
  r->task = SERVE_CALL;
  r->name = info.name;
  r->event = info.kind == PURE_EVENT;
  r->narguments = info.nparameters;
  r->body.most = r->s->o.max_body;
  const char *length = header(r, "Content-Length");
  bool empty = length && strcmp(length, "0") == 0;
  return (empty || check_type(r, "application/json")) && read_limits(r) && read_format(r);
}

static bool read_duplicates(serve_request *r) {
  const char *duplicate = parameter(r, "duplicate");
  static const char *const words[] = {"error", "first", "last"};
  for (unsigned i = 0; i < 3; i++) {
    if (duplicate && strcmp(duplicate, words[i]) != 0)
      continue;
    r->duplicates = (pure_duplicates)i;
    return true;
  }
  return serve_refuse(r, MHD_HTTP_BAD_REQUEST, "bad_request",
                      "duplicate: there are error, first and last");
}

static bool route_list(serve_request *r, const char *name, bool load) {
  pure_list_info info;
  if (pure_program_find_list(r->s->program, name, &r->list) != PURE_OK ||
      pure_program_list(r->s->program, r->list, &info) != PURE_OK)
    return serve_refuse(r, MHD_HTTP_NOT_FOUND, "not_found", "there is no list %.60s", name);
  r->name = info.name;
  r->task = load ? SERVE_LOAD : SERVE_LIST;
  if (!load)
    return read_limits(r) && read_format(r);
  r->body.most = r->s->o.max_load;
  return check_type(r, "text/csv") && read_limits(r) && read_duplicates(r);
}

/* allowed: the methods there are, for the Allow header and the message. */
static bool wrong_method(serve_request *r, const char *allowed) {
  return serve_refuse(r, MHD_HTTP_METHOD_NOT_ALLOWED, "bad_method", "%s takes %s here", r->path,
                      allowed);
}

bool serve_route(serve_request *r, const char *method, const char *path) {
  bool get = strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
  bool post = strcmp(method, "POST") == 0;
  r->task = SERVE_PLAIN;
  r->body.most = r->s->o.max_body;
  if (strcmp(path, "/") == 0 || strcmp(path, "/healthz") == 0)
    return get || wrong_method(r, "GET");
  if (!serve_allowed(r))
    return false;
  if (strncmp(path, "/call/", 6) == 0)
    return post ? route_call(r, path + 6) : wrong_method(r, "POST");
  if (strncmp(path, "/lists/", 7) == 0)
    return get || post ? route_list(r, path + 7, post) : wrong_method(r, "GET and POST");
  if (strcmp(path, "/stats") == 0)
    r->task = SERVE_STATS;
  else if (strcmp(path, "/metrics") != 0 && strcmp(path, "/program") != 0)
    return serve_refuse(r, MHD_HTTP_NOT_FOUND, "not_found",
                        "there are /, /call/NAME, /lists/NAME, /program, /stats, /metrics and "
                        "/healthz");
  return get || wrong_method(r, "GET");
}
