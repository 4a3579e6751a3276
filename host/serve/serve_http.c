/* Requests from libmicrohttpd, and answers to it.
 *
 * A request that is refused before its body has come is answered at once only where the caller
 * waits for leave to send it; else the body is read and thrown away, for a caller who is still
 * sending does not read. */
#define _POSIX_C_SOURCE 200809L
#include "serve.h"

#include <arpa/inet.h>
#include <errno.h>
#include <jansson.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { PIECE = 1 << 16, CONNECTION_BYTES = 1 << 15 };

static const char *const console_policy =
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src "
    "'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

static serve_request *request_new(serve *s, struct MHD_Connection *c, const char *method,
                                  const char *path) {
  serve_request *r = calloc(1, sizeof *r);
  if (!r)
    return NULL;
  r->s = s;
  r->connection = c;
  r->peer = serve_peer_of(c);
  atomic_init(&r->holds, 1);
  r->start_ns = serve_clock();
  r->status = MHD_HTTP_OK;
  r->answer.most = s->o.max_answer;
  snprintf(r->method, sizeof r->method, "%s", method);
  snprintf(r->path, sizeof r->path, "%s", path);
  return r;
}

void serve_request_drop(serve_request *r) {
  if (atomic_fetch_sub(&r->holds, 1) != 1)
    return;
  serve_query_release(r);
  json_decref(r->json);
  free(r->arguments);
  atomic_fetch_sub(&r->s->body_bytes, r->counted);
  serve_buffer_free(&r->body);
  serve_buffer_free(&r->answer);
  free(r);
}

void serve_request_done(serve_request *r) {
  r->waiting = false;
  r->answered_ns = serve_clock();
  MHD_resume_connection(r->connection);
}

/* The rest of a long answer, by and by: on libmicrohttpd's thread, when the caller has room. */
static ssize_t read_answer(void *user, uint64_t at, char *out, size_t room) {
  serve_request *r = user;
  (void)at;
  if (r->sent == r->answer.length) {
    if (!r->more)
      return MHD_CONTENT_READER_END_OF_STREAM;
    r->sent = r->answer.length = 0;
    if (!serve_query_more(r))
      return MHD_CONTENT_READER_END_WITH_ERROR;
    if (r->answer.length == 0)
      return MHD_CONTENT_READER_END_OF_STREAM;
  }
  size_t n = r->answer.length - r->sent;
  if (n > room)
    n = room;
  memcpy(out, r->answer.bytes + r->sent, n);
  r->sent += n;
  atomic_fetch_add(&r->s->counts.bytes, n);
  return (ssize_t)n;
}

static void drop_answer(void *user) { serve_request_drop(user); }

static void add_number(struct MHD_Response *response, const char *name, uint64_t v) {
  char text[24];
  snprintf(text, sizeof text, "%llu", (unsigned long long)v);
  (void)MHD_add_response_header(response, name, text);
}

static void add_headers(const serve_request *r, struct MHD_Response *response) {
  if (r->type)
    (void)MHD_add_response_header(response, "Content-Type", r->type);
  (void)MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
  (void)MHD_add_response_header(response, "Cache-Control", "no-store");
  if (strcmp(r->path, "/") == 0)
    (void)MHD_add_response_header(response, "Content-Security-Policy", console_policy);
  if (r->status == MHD_HTTP_SERVICE_UNAVAILABLE)
    (void)MHD_add_response_header(response, "Retry-After", "1");
  if (r->status == MHD_HTTP_UNAUTHORIZED)
    (void)MHD_add_response_header(response, "WWW-Authenticate", "Bearer");
  if (r->status == MHD_HTTP_METHOD_NOT_ALLOWED)
    (void)MHD_add_response_header(response, "Allow",
                                  strncmp(r->path, "/call/", 6) == 0    ? "POST"
                                  : strncmp(r->path, "/lists/", 7) == 0 ? "GET, HEAD, POST"
                                                                        : "GET, HEAD");
  if (r->task != SERVE_CALL && r->task != SERVE_LIST && r->task != SERVE_LOAD)
    return;
  add_number(response, "Pure-Work", r->work);
  add_number(response, "Pure-Time", r->run_ns);
  if (r->status == MHD_HTTP_OK)
    add_number(response, "Pure-Rows", r->rows);
}

static struct MHD_Response *make_response(serve_request *r) {
  if (r->more) {
    atomic_fetch_add(&r->holds, 1);
    struct MHD_Response *response =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, PIECE, read_answer, r, drop_answer);
    if (!response)
      serve_request_drop(r);
    return response;
  }
  if (strcmp(r->path, "/") == 0 && r->status == MHD_HTTP_OK)
    return MHD_create_response_from_buffer(serve_console_length, (void *)serve_console,
                                           MHD_RESPMEM_PERSISTENT);
  struct MHD_Response *response =
      MHD_create_response_from_buffer(r->answer.length, r->answer.bytes, MHD_RESPMEM_MUST_FREE);
  if (response) {
    atomic_fetch_add(&r->s->counts.bytes, r->answer.length);
    memset(&r->answer, 0, sizeof r->answer); /* the response has them */
  }
  return response;
}

static enum MHD_Result answer(serve_request *r) {
  r->answered = true;
  serve_peer_limit(r->peer, false, r->s->o.answer_ms);
  struct MHD_Response *response = make_response(r);
  if (!response)
    return MHD_NO;
  add_headers(r, response);
  enum MHD_Result queued = MHD_queue_response(r->connection, r->status, response);
  MHD_destroy_response(response);
  return queued;
}

static enum MHD_Result take_body(serve_request *r, const char *bytes, size_t *n) {
  serve *s = r->s;
  size_t length = *n;
  *n = 0;
  if (r->code)
    return MHD_YES; /* refused: thrown away */
  if (atomic_fetch_add(&s->body_bytes, length) + length > 4 * s->o.max_load) {
    atomic_fetch_sub(&s->body_bytes, length);
    serve_refuse(r, MHD_HTTP_SERVICE_UNAVAILABLE, "busy", "too many large bodies just now");
    return MHD_YES;
  }
  r->counted += length;
  if (serve_buffer_add(&r->body, bytes, length))
    return MHD_YES;
  if (r->body.over)
    serve_refuse(r, MHD_HTTP_CONTENT_TOO_LARGE, "body_too_large",
                 "the body is larger than %zu bytes", r->body.most);
  else
    serve_refuse(r, MHD_HTTP_SERVICE_UNAVAILABLE, "no_memory", "not enough memory");
  serve_buffer_free(&r->body);
  return MHD_YES;
}

static void answer_plain(serve_request *r) {
  if (strcmp(r->path, "/metrics") == 0) {
    serve_metrics(r);
  } else if (strcmp(r->path, "/program") == 0) {
    serve_program_describe(r);
  } else if (strcmp(r->path, "/healthz") == 0) {
    bool draining = atomic_load(&r->s->draining);
    if (draining)
      r->status = MHD_HTTP_SERVICE_UNAVAILABLE;
    serve_answer_json(r, json_pack("{s:s}", "status", draining ? "draining" : "ok"));
  } else {
    r->type = "text/html; charset=utf-8";
  }
}

/* Sends a whole request on its way.  It comes back through serve_request_done, maybe at once. */
static bool submit(serve_request *r) {
  if (r->task == SERVE_CALL && !serve_arguments_read(r))
    return false;
  if (atomic_load(&r->s->draining))
    return serve_refuse(r, MHD_HTTP_SERVICE_UNAVAILABLE, "draining", "the server is stopping");
  r->waiting = true;
  MHD_suspend_connection(r->connection);
  bool query = r->task == SERVE_LIST || (r->task == SERVE_CALL && !r->event);
  if (query ? serve_query_submit(r) : serve_owner_submit(r))
    return true;
  serve_request_done(r);
  return true;
}

/* An early refusal is for those who asked whether they may send. */
static bool asked_first(const serve_request *r) {
  const char *expect = MHD_lookup_connection_value(r->connection, MHD_HEADER_KIND, "Expect");
  return expect && strcasecmp(expect, "100-continue") == 0;
}

static bool declared_too_large(serve_request *r) {
  const char *length =
      MHD_lookup_connection_value(r->connection, MHD_HEADER_KIND, "Content-Length");
  if (!length || strtoull(length, NULL, 10) <= r->body.most)
    return false;
  serve_refuse(r, MHD_HTTP_CONTENT_TOO_LARGE, "body_too_large", "the body is larger than %zu bytes",
               r->body.most);
  return true;
}

static enum MHD_Result begin(serve *s, struct MHD_Connection *c, const char *method,
                             const char *path, void **state) {
  serve_request *r = request_new(s, c, method, path);
  if (!r)
    return MHD_NO;
  *state = r;
  atomic_fetch_add(&s->counts.requests, 1);
  bool fine = serve_route(r, method, path) && !declared_too_large(r);
  return !fine && asked_first(r) ? answer(r) : MHD_YES;
}

static enum MHD_Result handle(void *user, struct MHD_Connection *c, const char *path,
                              const char *method, const char *version, const char *bytes, size_t *n,
                              void **state) {
  serve_request *r = *state;
  if (!r) {
    serve_peer_version(serve_peer_of(c), version);
    return begin(user, c, method, path, state);
  }
  if (*n)
    return take_body(r, bytes, n);
  if (r->answered_ns || r->code)
    return answer(r);
  serve_peer_limit(r->peer, false, 0);
  if (r->task == SERVE_PLAIN) {
    answer_plain(r);
    return answer(r);
  }
  return submit(r) ? MHD_YES : answer(r);
}

static void completed(void *user, struct MHD_Connection *c, void **state,
                      enum MHD_RequestTerminationCode code) {
  serve_request *r = *state;
  (void)user;
  (void)c;
  (void)code;
  if (!r)
    return;
  *state = NULL;
  serve_peer_limit(r->peer, true, r->s->o.request_ms);
  serve_count_answer(r);
  serve_log_request(r);
  serve_request_drop(r);
}

static void complain(void *user, const char *form, va_list values) {
  char text[400];
  (void)user;
  vsnprintf(text, sizeof text, form, values);
  text[strcspn(text, "\n")] = 0;
  serve_log("http", "%s", text);
}

static int refuse_address(const char *address) {
  return serve_usage("--listen %s: expected an address in numbers and a port, as 127.0.0.1:8080 or "
                     "[::1]:8080",
                     address);
}

/* port is in the options; loopback needs no token. */
static int find_address(const serve *s, struct sockaddr_storage *out, socklen_t *length) {
  struct sockaddr_in *v4 = (struct sockaddr_in *)out;
  struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)out;
  bool local;
  memset(out, 0, sizeof *out);
  if (inet_pton(AF_INET, s->o.address, &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(s->o.port);
    *length = sizeof *v4;
    local = (ntohl(v4->sin_addr.s_addr) >> 24) == 127;
  } else if (inet_pton(AF_INET6, s->o.address, &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(s->o.port);
    *length = sizeof *v6;
    local = IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
  } else {
    return refuse_address(s->o.address);
  }
  if (!local && !s->token)
    return serve_usage("--listen %s: others can reach that address; it needs a --token-file",
                       s->o.address);
  return SERVE_FINE;
}

int serve_http_start(serve *s) {
  struct sockaddr_storage address;
  socklen_t length;
  int status = find_address(s, &address, &length);
  if (status != SERVE_FINE)
    return status;
  unsigned flags =
      MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ITC | MHD_USE_ERROR_LOG;
  if (address.ss_family == AF_INET6)
    flags |= MHD_USE_IPv6;
  s->daemon = MHD_start_daemon(
      flags, s->o.port, NULL, NULL, handle, s, MHD_OPTION_EXTERNAL_LOGGER, complain, s,
      MHD_OPTION_SOCK_ADDR, &address, MHD_OPTION_CONNECTION_LIMIT, s->o.connections,
      MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES, MHD_OPTION_CONNECTION_TIMEOUT,
      (s->o.answer_ms + 999) / 1000, MHD_OPTION_NOTIFY_COMPLETED, completed, s,
      MHD_OPTION_NOTIFY_CONNECTION, serve_peer_notify, s, MHD_OPTION_LISTEN_BACKLOG_SIZE, 1024u,
      MHD_OPTION_END);
  if (!s->daemon) {
    fprintf(stderr, "pure-serve: cannot listen on %s port %u: %s\n", s->o.address, s->o.port,
            strerror(errno));
    return SERVE_FAILED;
  }
  const union MHD_DaemonInfo *info = MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_BIND_PORT);
  s->port = info ? info->port : s->o.port;
  return SERVE_FINE;
}

void serve_http_quiet(serve *s) {
  MHD_socket listening = MHD_quiesce_daemon(s->daemon);
  if (listening != MHD_INVALID_SOCKET)
    close(listening);
}

void serve_http_stop(serve *s) {
  if (s->daemon)
    MHD_stop_daemon(s->daemon);
  s->daemon = NULL;
}
