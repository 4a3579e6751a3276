/* The owner: one thread runs events and loads one after another, each whole or not at all.
 *
 * With a durable store what was done goes to its log, and the committer hands the request back once
 * it is on the disk; the owner does not wait for that. */
#define _GNU_SOURCE /* pthread_setname_np */
#include "serve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONG_NS = 2000000, SLOW_LOOK_NS = 100000000 };

/* Whether queries should get their snapshot before this, for it may take long. */
static bool may_take_long(const serve *s, const serve_request *r) {
  if (r->task != SERVE_CALL)
    return r->task == SERVE_LOAD;
  uint64_t last = atomic_load(&s->functions[r->function].last_ns);
  return last == 0 || last > LONG_NS;
}

static bool write_result(serve_request *r, pure_result *result) {
  pure_error e;
  r->type = r->format == PURE_FORMAT_CSV ? "text/csv; charset=utf-8" : "application/json";
  r->rows = pure_result_rows(result);
  if (r->rows > r->rows_wanted)
    r->rows = r->rows_wanted;
  pure_result_limit(result, r->rows_wanted);
  if (pure_result_write(result, r->format, serve_buffer_write, &r->answer, &e) == PURE_OK)
    return true;
  if (r->answer.over)
    return serve_refuse(r, MHD_HTTP_INTERNAL_SERVER_ERROR, "answer_too_large",
                        "the event was done, but its answer is larger than %zu bytes",
                        r->answer.most);
  return serve_refuse(r, MHD_HTTP_INTERNAL_SERVER_ERROR, "no_memory",
                      "the event was done, but there was no memory for its answer");
}

/* False: nothing was done. */
static bool run_event(serve *s, serve_request *r) {
  pure_error e;
  pure_result *result = NULL;
  pure_status status = pure_session_limit(s->session, &r->limits, &e);
  if (status == PURE_OK)
    status = pure_session_call(s->session, r->name, r->arguments, r->narguments, &result, &e);
  r->work = pure_session_work(s->session);
  if (status != PURE_OK) {
    serve_fail(r, &e);
    return false;
  }
  (void)write_result(r, result);
  pure_result_release(result);
  return true;
}

static bool run_load(serve *s, serve_request *r) {
  pure_error e;
  uint64_t rows = 0;
  pure_status status =
      durable_load(s->store, r->name, r->body.bytes, r->body.length, r->duplicates, &rows, &e);
  if (status != PURE_OK) {
    serve_fail(r, &e);
    return false;
  }
  r->rows = rows;
  r->type = "application/json";
  char text[48];
  int n = snprintf(text, sizeof text, "{\"rows\": %llu}\n", (unsigned long long)rows);
  (void)serve_buffer_add(&r->answer, text, (size_t)n);
  return true;
}

/* By the committer, or by the owner where nothing is kept. */
static void finish(serve_request *r) {
  atomic_fetch_sub(&r->s->waiting, 1);
  serve_request_done(r);
}

void serve_committed(void *user, void *token, bool fine) {
  serve_request *r = token;
  (void)user;
  if (!fine) {
    serve_buffer_free(&r->answer);
    serve_refuse(r, MHD_HTTP_INSUFFICIENT_STORAGE, "store_failed",
                 "the log could not be written; the event is not kept, and the server stops");
  }
  finish(r);
}

/* Hands it to the log; false: it went nowhere. */
static bool keep(serve *s, serve_request *r) {
  durable_record record = {.kind = r->task == SERVE_LOAD ? DURABLE_LOAD : DURABLE_EVENT,
                           .name = r->name,
                           .arguments = r->arguments,
                           .narguments = r->narguments,
                           .bytes = r->body.bytes,
                           .length = r->body.length,
                           .duplicates = r->duplicates,
                           .work = r->work};
  return durable_append(s->durable, &record, r);
}

static void run_change(serve *s, serve_request *r) {
  if (atomic_load(&s->snap_wanted) || may_take_long(s, r))
    serve_snapshot_publish(s);
  else
    serve_snapshot_retire(s);
  uint64_t start = serve_clock();
  bool done = r->task == SERVE_LOAD ? run_load(s, r) : run_event(s, r);
  r->run_ns = serve_clock() - start;
  if (done)
    serve_executed(s);
  serve_count_call(s, r);
  if (done && s->durable) {
    if (!keep(s, r))
      serve_committed(s, r, false);
    if (durable_checkpoint_due(s->durable))
      durable_checkpoint_begin(s->durable);
    return;
  }
  finish(r);
}

static void run(serve *s, serve_request *r) {
  if (r->task == SERVE_STATS) {
    serve_gather(s, s->session);
    serve_stats(r);
    finish(r);
  } else if (r->peer && serve_clock() - r->start_ns > SLOW_LOOK_NS && serve_peer_gone(r->peer)) {
    serve_refuse(r, 499, "caller_gone", "the caller was gone before the event began");
    finish(r);
  } else if (s->durable && !durable_room(s->durable)) {
    serve_refuse(r, MHD_HTTP_INSUFFICIENT_STORAGE, "no_space",
                 "there is no room for the log on the disk; queries go on");
    finish(r);
  } else {
    run_change(s, r);
  }
}

/* All that is waiting; NULL: a snapshot is wanted, or it is over. */
static serve_request *take_all(serve *s, bool *over) {
  serve_queue *q = &s->events;
  pthread_mutex_lock(&q->lock);
  while (!q->first && !q->closed && !atomic_load(&s->snap_wanted))
    pthread_cond_wait(&q->filled, &q->lock);
  serve_request *all = q->first;
  q->first = NULL;
  q->last = &q->first;
  q->length = 0;
  *over = !all && q->closed;
  pthread_mutex_unlock(&q->lock);
  return all;
}

static void *owner_main(void *user) {
  serve *s = user;
  pthread_setname_np(pthread_self(), "owner");
  bool over = false;
  while (!over) {
    serve_request *r = take_all(s, &over);
    while (r) {
      serve_request *next = r->next;
      run(s, r);
      r = next;
    }
    if (atomic_load(&s->snap_wanted))
      serve_snapshot_publish(s);
  }
  return NULL;
}

bool serve_owner_start(serve *s) {
  s->owner_runs = pthread_create(&s->owner, NULL, owner_main, s) == 0;
  return s->owner_runs;
}

void serve_owner_stop(serve *s) {
  if (!s->owner_runs)
    return;
  serve_queue_close(&s->events);
  pthread_join(s->owner, NULL);
  s->owner_runs = false;
}

void serve_owner_wake(serve *s) {
  pthread_mutex_lock(&s->events.lock);
  pthread_cond_signal(&s->events.filled);
  pthread_mutex_unlock(&s->events.lock);
}

bool serve_owner_submit(serve_request *r) {
  serve *s = r->s;
  if (atomic_fetch_add(&s->waiting, 1) >= s->o.queue) {
    atomic_fetch_sub(&s->waiting, 1);
    return serve_refuse(r, MHD_HTTP_SERVICE_UNAVAILABLE, "busy", "too many events are waiting");
  }
  if (serve_queue_push(&s->events, r))
    return true;
  atomic_fetch_sub(&s->waiting, 1);
  return serve_refuse(r, MHD_HTTP_SERVICE_UNAVAILABLE, "draining", "the server is stopping");
}
