/* Queues, and the threads that run queries on snapshots.
 *
 * A long answer is not made as a whole: a worker writes its beginning, and libmicrohttpd's thread
 * the rest, a piece whenever the caller has room.  So a slow caller keeps a snapshot, but no
 * thread. */
#define _GNU_SOURCE /* pthread_setname_np */
#include "serve.h"

#include <stdlib.h>

enum { PIECE = 1 << 16, LOOK_NS = 100000000 };

bool serve_queue_open(serve_queue *q) {
  q->last = &q->first;
  return pthread_mutex_init(&q->lock, NULL) == 0 && pthread_cond_init(&q->filled, NULL) == 0;
}

bool serve_queue_push(serve_queue *q, serve_request *r) {
  pthread_mutex_lock(&q->lock);
  bool open = !q->closed;
  if (open) {
    r->next = NULL;
    *q->last = r;
    q->last = &r->next;
    q->length++;
    pthread_cond_signal(&q->filled);
  }
  pthread_mutex_unlock(&q->lock);
  return open;
}

void serve_queue_close(serve_queue *q) {
  pthread_mutex_lock(&q->lock);
  q->closed = true;
  pthread_cond_broadcast(&q->filled);
  pthread_mutex_unlock(&q->lock);
}

/* Waits; NULL: closed and empty. */
static serve_request *pop(serve_queue *q) {
  pthread_mutex_lock(&q->lock);
  while (!q->first && !q->closed)
    pthread_cond_wait(&q->filled, &q->lock);
  serve_request *r = q->first;
  if (r) {
    q->first = r->next;
    if (!q->first)
      q->last = &q->first;
    q->length--;
  }
  pthread_mutex_unlock(&q->lock);
  return r;
}

typedef struct {
  serve_request *r;
  uint64_t looked; /* clock */
} watch;

/* Looks at the connection, but not too often: it is a system call. */
static bool go_on(void *user, uint64_t work) {
  watch *w = user;
  uint64_t now = serve_clock();
  (void)work;
  if (now - w->looked < LOOK_NS)
    return true;
  w->looked = now;
  return !w->r->peer || !serve_peer_gone(w->r->peer);
}

void serve_query_release(serve_request *r) {
  if (r->result)
    pure_result_release(r->result);
  r->result = NULL;
  if (r->reader)
    serve_reader_put(r->s, r->reader);
  r->reader = NULL;
}

bool serve_query_more(serve_request *r) {
  pure_error e;
  if (pure_result_write_part(r->result, r->format, PIECE, serve_buffer_write, &r->answer, &r->more,
                             &e) != PURE_OK)
    return false;
  if (!r->more)
    serve_query_release(r);
  return true;
}

static pure_status call(serve_request *r, pure_session *session, pure_error *e) {
  watch w = {r, serve_clock()}; /* the session's next call has its own */
  pure_status status = pure_session_limit(session, &r->limits, e);
  if (status == PURE_OK)
    status = pure_session_progress(session, 0, go_on, &w, e);
  if (status == PURE_OK && r->task == SERVE_LIST)
    status = pure_session_list(session, r->name, &r->result, e);
  else if (status == PURE_OK)
    status = pure_session_call(session, r->name, r->arguments, r->narguments, &r->result, e);
  r->work = r->task == SERVE_LIST ? 0 : pure_session_work(session);
  return status;
}

static void write_answer(serve_request *r) {
  r->type = r->format == PURE_FORMAT_CSV ? "text/csv; charset=utf-8" : "application/json";
  r->rows = pure_result_rows(r->result);
  if (r->rows > r->rows_wanted)
    r->rows = r->rows_wanted;
  pure_result_limit(r->result, r->rows_wanted);
  r->answer.most = 0; /* a piece ends with a whole row, however long */
  if (!serve_query_more(r))
    serve_refuse(r, MHD_HTTP_SERVICE_UNAVAILABLE, "no_memory", "not enough memory just now");
}

static void run(serve_request *r) {
  serve *s = r->s;
  pure_error e;
  r->reader = serve_reader_get(r);
  if (!r->reader) {
    serve_refuse(r, MHD_HTTP_SERVICE_UNAVAILABLE, "no_memory", "not enough memory just now");
    return;
  }
  uint64_t start = serve_clock();
  pure_status status = call(r, serve_reader_session(r->reader), &e);
  r->run_ns = serve_clock() - start;
  if (status != PURE_OK)
    serve_fail(r, &e);
  else if (!s->durable || durable_wait(s->durable, serve_reader_position(r->reader)))
    write_answer(r);
  else
    serve_refuse(r, MHD_HTTP_SERVICE_UNAVAILABLE, "store_failed", "the store cannot be written");
  if (!r->more)
    serve_query_release(r);
}

static void *worker_main(void *user) {
  serve *s = user;
  serve_request *r;
  pthread_setname_np(pthread_self(), "query");
  while ((r = pop(&s->queries))) {
    atomic_fetch_add(&s->counts.running, 1);
    if (r->peer && serve_clock() - r->start_ns > LOOK_NS && serve_peer_gone(r->peer))
      serve_refuse(r, 499, "caller_gone", "the caller was gone before the query began");
    else
      run(r);
    serve_count_call(s, r);
    atomic_fetch_sub(&s->counts.running, 1);
    serve_request_done(r);
  }
  return NULL;
}

bool serve_workers_start(serve *s) {
  s->workers = calloc(s->o.threads, sizeof *s->workers);
  while (s->workers && s->nworkers < s->o.threads &&
         pthread_create(&s->workers[s->nworkers], NULL, worker_main, s) == 0)
    s->nworkers++;
  return s->nworkers == s->o.threads;
}

void serve_workers_stop(serve *s) {
  serve_queue_close(&s->queries);
  for (uint32_t i = 0; i < s->nworkers; i++)
    pthread_join(s->workers[i], NULL);
  s->nworkers = 0;
  free(s->workers);
  s->workers = NULL;
}

bool serve_query_submit(serve_request *r) {
  serve_queue *q = &r->s->queries;
  pthread_mutex_lock(&q->lock);
  bool room = q->length < r->s->o.queue;
  pthread_mutex_unlock(&q->lock);
  if (!room)
    return serve_refuse(r, MHD_HTTP_SERVICE_UNAVAILABLE, "busy", "too many queries are waiting");
  return serve_queue_push(q, r) ||
         serve_refuse(r, MHD_HTTP_SERVICE_UNAVAILABLE, "draining", "the server is stopping");
}
