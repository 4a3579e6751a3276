/* Connections: which are open, and how long they have been bringing a request or taking an answer.
 *
 * A connection that brings a whole request in time is no burden; one that dribbles is.  A thread
 * looks once a second and shuts down those that have been at it for too long; libmicrohttpd's own
 * time limit, which each byte renews, closes those that are silent. */
#define _GNU_SOURCE /* POLLRDHUP */
#include "serve.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

struct serve_peer {
  serve *s;
  int fd;
  bool reading;             /* it brings a request, or is between two */
  bool interim;             /* it understands interim answers */
  uint64_t since, limit_ns; /* 0: as long as it likes */
  serve_peer *next, *previous;
};

static void link_peer(serve *s, serve_peer *p) {
  pthread_mutex_lock(&s->peer_lock);
  p->next = s->peers;
  if (p->next)
    p->next->previous = p;
  s->peers = p;
  pthread_mutex_unlock(&s->peer_lock);
}

static void unlink_peer(serve *s, serve_peer *p) {
  pthread_mutex_lock(&s->peer_lock);
  if (p->next)
    p->next->previous = p->previous;
  *(p->previous ? &p->previous->next : &s->peers) = p->next;
  pthread_mutex_unlock(&s->peer_lock);
}

void serve_peer_notify(void *user, struct MHD_Connection *connection, void **socket,
                       enum MHD_ConnectionNotificationCode code) {
  serve *s = user;
  if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
    if (*socket)
      unlink_peer(s, *socket);
    free(*socket);
    *socket = NULL;
    atomic_fetch_sub(&s->counts.connections, 1);
    return;
  }
  atomic_fetch_add(&s->counts.connections, 1);
  const union MHD_ConnectionInfo *info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  serve_peer *p = calloc(1, sizeof *p);
  *socket = p;
  if (!p || !info)
    return;
  p->s = s;
  p->fd = info->connect_fd;
  p->reading = true;
  p->limit_ns = s->o.request_ms * UINT64_C(1000000);
  p->since = serve_clock();
  link_peer(s, p);
}

serve_peer *serve_peer_of(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
  return info ? info->socket_context : NULL;
}

void serve_peer_version(serve_peer *peer, const char *version) {
  if (peer)
    peer->interim = strcmp(version, "HTTP/1.1") == 0;
}

void serve_peer_limit(serve_peer *peer, bool reading, uint32_t ms) {
  if (!peer)
    return;
  pthread_mutex_lock(&peer->s->peer_lock);
  peer->reading = reading;
  peer->limit_ns = ms * UINT64_C(1000000);
  peer->since = serve_clock();
  pthread_mutex_unlock(&peer->s->peer_lock);
}

/* A caller who has closed its sending side may still listen, or may be gone altogether; only
 * sending something tells.  HTTP/1.1 has words for that which mean nothing: the answer has not
 * begun. */
static bool silent(const serve_peer *peer) {
  static const char interim[] = "HTTP/1.1 100 Continue\r\n\r\n";
  if (!peer->interim)
    return false;
  ssize_t sent = send(peer->fd, interim, sizeof interim - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
  return sent < 0 && errno != EAGAIN && errno != EINTR;
}

bool serve_peer_gone(const serve_peer *peer) {
  struct pollfd p = {.fd = peer->fd, .events = POLLRDHUP};
  if (poll(&p, 1, 0) <= 0)
    return false;
  return (p.revents & (POLLHUP | POLLERR | POLLNVAL)) || ((p.revents & POLLRDHUP) && silent(peer));
}

static void reap(serve *s) {
  uint64_t now = serve_clock();
  for (serve_peer *p = s->peers; p; p = p->next) {
    if (!p->limit_ns || now - p->since < p->limit_ns)
      continue;
    shutdown(p->fd, SHUT_RDWR);
    p->since = now;
    atomic_fetch_add(&s->counts.timeouts, 1);
  }
}

void serve_peers_hurry(serve *s) {
  pthread_mutex_lock(&s->peer_lock);
  for (serve_peer *p = s->peers; p; p = p->next)
    if (p->reading)
      shutdown(p->fd, SHUT_RDWR);
  pthread_mutex_unlock(&s->peer_lock);
}

static void *reaper_main(void *user) {
  serve *s = user;
  pthread_mutex_lock(&s->peer_lock);
  while (!s->stopping) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec++;
    pthread_cond_timedwait(&s->peer_stop, &s->peer_lock, &until);
    reap(s);
  }
  pthread_mutex_unlock(&s->peer_lock);
  return NULL;
}

bool serve_peers_start(serve *s) {
  s->reaper_runs = pthread_create(&s->reaper, NULL, reaper_main, s) == 0;
  return s->reaper_runs;
}

void serve_peers_stop(serve *s) {
  if (!s->reaper_runs)
    return;
  pthread_mutex_lock(&s->peer_lock);
  s->stopping = true;
  pthread_cond_signal(&s->peer_stop);
  pthread_mutex_unlock(&s->peer_lock);
  pthread_join(s->reaper, NULL);
}
