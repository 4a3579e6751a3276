/* perf/tpcc_http/http.h - HTTP/1.1 over one kept connection to this machine: as little of it as a
 * load of small requests needs, so that the caller costs less than who is called.
 */
#ifndef PURE_PERF_HTTP_H
#define PURE_PERF_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum { HTTP_MORE, HTTP_DONE, HTTP_BROKEN } http_progress;

/* Of an answer so far: in[0..seen) is taken in, and of that in[head..body_end) is its body. */
typedef struct {
  int socket;
  char *in;
  size_t used, room, seen, head, body_end;
  uint64_t left; /* of the body, or of its present chunk with the line end */
  bool in_body, chunked, last_chunk;
  int status;
} http;

/* The socket is -1 where it is not open.  Close it in any case. */
bool http_open(http *c, uint16_t port);
void http_close(http *c);
/* The answer to the request before must have been taken. */
bool http_send(http *c, const char *method, const char *path, const char *body, size_t n);
/* What has come; waits for it or not.  After HTTP_DONE: status and body, until the next one is
 * sent. */
http_progress http_receive(http *c, bool wait);
/* Both, waiting. */
bool http_ask(http *c, const char *method, const char *path, const char *body, size_t n);

static inline const char *http_body(const http *c) { return c->in + c->head; }
static inline size_t http_body_length(const http *c) { return c->body_end - c->head; }

#endif
