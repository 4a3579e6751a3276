#define _GNU_SOURCE /* memmem */
#include "perf/tpcc_http/http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

enum { HEAD = 512, LEAST_ROOM = 16384 };

bool http_open(http *c, uint16_t port) {
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
  int yes = 1;
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  *c = (http){.socket = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  return c->socket >= 0 && connect(c->socket, (struct sockaddr *)&to, sizeof to) == 0 &&
         setsockopt(c->socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes) == 0;
}

void http_close(http *c) {
  if (c->socket >= 0)
    close(c->socket);
  free(c->in);
  *c = (http){.socket = -1};
}

bool http_send(http *c, const char *method, const char *path, const char *body, size_t n) {
  char request[HEAD + 4096];
  int head = snprintf(request, HEAD,
                      "%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
                      "Content-Length: %zu\r\n\r\n",
                      method, path, n);
  if (head < 0 || head >= HEAD || n > sizeof request - HEAD)
    return false;
  if (n)
    memcpy(request + head, body, n);
  c->used = c->seen = c->head = c->body_end = 0;
  c->in_body = c->chunked = c->last_chunk = false;
  c->status = 0;
  size_t all = (size_t)head + n, sent = 0;
  while (sent < all) {
    ssize_t some = send(c->socket, request + sent, all - sent, MSG_NOSIGNAL);
    if (some < 0 && errno != EINTR)
      return false;
    sent += some > 0 ? (size_t)some : 0;
  }
  return true;
}

/* The value of a field of the head, or NULL. */
static const char *field(const char *head, const char *name) {
  size_t n = strlen(name);
  for (const char *line = strstr(head, "\r\n"); line; line = strstr(line + 2, "\r\n"))
    if (strncasecmp(line + 2, name, n) == 0 && line[2 + n] == ':')
      return line + 3 + n + strspn(line + 3 + n, " ");
  return NULL;
}

static http_progress read_head(http *c) {
  static const char start[] = "HTTP/1.1 ";
  char *end = memmem(c->in, c->used, "\r\n\r\n", 4);
  if (!end)
    return c->used < LEAST_ROOM ? HTTP_MORE : HTTP_BROKEN;
  end[2] = 0;
  c->seen = c->head = c->body_end = (size_t)(end - c->in) + 4;
  if (strncmp(c->in, start, sizeof start - 1) != 0)
    return HTTP_BROKEN;
  c->status = atoi(c->in + sizeof start - 1);
  const char *length = field(c->in, "Content-Length");
  const char *coding = field(c->in, "Transfer-Encoding");
  c->chunked = coding && strncasecmp(coding, "chunked", 7) == 0;
  c->left = length ? strtoull(length, NULL, 10) : 0;
  c->in_body = true;
  return length || c->chunked ? HTTP_DONE : HTTP_BROKEN;
}

/* Bytes of the body move up to those before; the last ones of a chunk, its line end, do not. */
static void take_bytes(http *c, size_t line_end) {
  size_t there = c->used - c->seen, n = there < c->left ? there : (size_t)c->left;
  size_t body = c->left > line_end ? (size_t)c->left - line_end : 0;
  if (body > n)
    body = n;
  if (c->body_end != c->seen)
    memmove(c->in + c->body_end, c->in + c->seen, body);
  c->body_end += body;
  c->seen += n;
  c->left -= n;
}

/* A chunk's size, and what ends the last one. */
static http_progress read_size(http *c) {
  char *line = c->in + c->seen, *end = memmem(line, c->used - c->seen, "\r\n", 2), *digits;
  if (!end)
    return HTTP_MORE;
  unsigned long long size = strtoull(line, &digits, 16);
  if (digits == line)
    return HTTP_BROKEN;
  c->seen += (size_t)(end - line) + 2;
  c->last_chunk = size == 0;
  c->left = size + 2;
  return HTTP_DONE;
}

static http_progress read_body(http *c) {
  if (!c->chunked) {
    take_bytes(c, 0);
    return c->left ? HTTP_MORE : HTTP_DONE;
  }
  for (;;) {
    take_bytes(c, 2);
    if (c->left)
      return HTTP_MORE;
    if (c->last_chunk)
      return HTTP_DONE;
    http_progress found = read_size(c);
    if (found != HTTP_DONE)
      return found;
  }
}

static http_progress go_on(http *c) {
  if (!c->in_body) {
    http_progress found = read_head(c);
    if (found != HTTP_DONE)
      return found;
  }
  return read_body(c);
}

http_progress http_receive(http *c, bool wait) {
  for (;;) {
    if (c->room - c->used < LEAST_ROOM) {
      size_t room = c->room ? c->room * 2 : 2 * LEAST_ROOM;
      char *more = realloc(c->in, room);
      if (!more)
        return HTTP_BROKEN;
      c->in = more;
      c->room = room;
    }
    ssize_t n = recv(c->socket, c->in + c->used, c->room - c->used, wait ? 0 : MSG_DONTWAIT);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
      return HTTP_MORE;
    if (n <= 0)
      return HTTP_BROKEN;
    c->used += (size_t)n;
    http_progress found = go_on(c);
    if (found != HTTP_MORE)
      return found;
  }
}

bool http_ask(http *c, const char *method, const char *path, const char *body, size_t n) {
  return http_send(c, method, path, body, n) && http_receive(c, true) == HTTP_DONE;
}
