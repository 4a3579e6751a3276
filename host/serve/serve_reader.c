/* Snapshots, and the sessions on them that answer queries.
 *
 * One snapshot is published at a time; a query gets it where no event has ended since it was taken,
 * else it asks the owner for a new one.  So a query sees every event that was answered before it
 * was sent, and many queries share one snapshot.  The owner publishes before whatever may take
 * long, so that queries need not wait for it; and it lets go of a snapshot that nobody uses before
 * it runs an event, for what is shared must be copied when it is written. */
#include "serve.h"

#include <stdlib.h>
#include <string.h>

typedef struct serve_snapshot {
  pure_snapshot *snapshot;
  uint64_t position;
  unsigned users;
  serve_reader *idle;
} serve_snapshot;

struct serve_reader {
  serve_snapshot *of;
  pure_session *session;
  serve_reader *next;
};

pure_session *serve_reader_session(serve_reader *reader) { return reader->session; }
uint64_t serve_reader_position(const serve_reader *reader) { return reader->of->position; }

static void snapshot_free(serve_snapshot *p) {
  while (p->idle) {
    serve_reader *reader = p->idle;
    p->idle = reader->next;
    pure_session_release(reader->session);
    free(reader);
  }
  pure_snapshot_release(p->snapshot);
  free(p);
}

static serve_snapshot *snapshot_take(serve *s) {
  serve_snapshot *made = calloc(1, sizeof *made);
  if (!made)
    return NULL;
  if (pure_snapshot_take(s->store, &made->snapshot, NULL) != PURE_OK) {
    free(made);
    return NULL;
  }
  made->position = s->executed;
  atomic_fetch_add(&s->counts.snapshots, 1);
  return made;
}

void serve_snapshot_publish(serve *s) {
  pthread_mutex_lock(&s->snap_lock);
  serve_snapshot *old = s->published;
  bool fresh = old && old->position == s->executed;
  pthread_mutex_unlock(&s->snap_lock);
  serve_snapshot *made = fresh ? NULL : snapshot_take(s);
  pthread_mutex_lock(&s->snap_lock);
  old = NULL;
  if (made) {
    old = s->published;
    s->published = made;
  }
  s->snap_failed = !fresh && !made;
  atomic_store(&s->snap_wanted, false);
  if (old && old->users)
    old = NULL; /* the last user frees it */
  pthread_cond_broadcast(&s->snap_made);
  pthread_mutex_unlock(&s->snap_lock);
  if (old)
    snapshot_free(old);
}

void serve_snapshot_retire(serve *s) {
  pthread_mutex_lock(&s->snap_lock);
  serve_snapshot *old = s->published;
  if (old && old->users)
    old = NULL;
  else
    s->published = NULL;
  pthread_mutex_unlock(&s->snap_lock);
  if (old)
    snapshot_free(old);
}

void serve_executed(serve *s) {
  pthread_mutex_lock(&s->snap_lock);
  s->executed++;
  pthread_mutex_unlock(&s->snap_lock);
}

/* The published snapshot, used once more; NULL: there is no memory for one. */
static serve_snapshot *snapshot_use(serve *s) {
  pthread_mutex_lock(&s->snap_lock);
  uint64_t needed = s->executed;
  s->snap_failed = false;
  while (!s->snap_failed && !(s->published && s->published->position >= needed)) {
    atomic_store(&s->snap_wanted, true);
    pthread_mutex_unlock(&s->snap_lock);
    serve_owner_wake(s);
    pthread_mutex_lock(&s->snap_lock);
    if (atomic_load(&s->snap_wanted))
      pthread_cond_wait(&s->snap_made, &s->snap_lock);
  }
  serve_snapshot *p = s->published;
  if (p && p->position >= needed)
    p->users++;
  else
    p = NULL;
  pthread_mutex_unlock(&s->snap_lock);
  return p;
}

static void snapshot_leave(serve *s, serve_snapshot *p, serve_reader *reader) {
  pthread_mutex_lock(&s->snap_lock);
  if (reader) {
    reader->next = p->idle;
    p->idle = reader;
  }
  bool last = --p->users == 0 && p != s->published;
  pthread_mutex_unlock(&s->snap_lock);
  if (last)
    snapshot_free(p);
}

static serve_reader *reader_make(serve_snapshot *p) {
  serve_reader *made = calloc(1, sizeof *made);
  if (!made)
    return NULL;
  made->of = p;
  if (pure_session_on(p->snapshot, &made->session, NULL) == PURE_OK)
    return made;
  free(made);
  return NULL;
}

serve_reader *serve_reader_get(serve_request *r) {
  serve *s = r->s;
  serve_snapshot *p = snapshot_use(s);
  if (!p)
    return NULL;
  pthread_mutex_lock(&s->snap_lock);
  serve_reader *reader = p->idle;
  if (reader)
    p->idle = reader->next;
  pthread_mutex_unlock(&s->snap_lock);
  if (!reader)
    reader = reader_make(p);
  if (!reader)
    snapshot_leave(s, p, NULL);
  return reader;
}

void serve_reader_put(serve *s, serve_reader *reader) {
  serve_gather(s, reader->session);
  snapshot_leave(s, reader->of, reader);
}

void serve_readers_close(serve *s) {
  serve_snapshot_retire(s);
  free(s->loops);
}

/* Loops */

static serve_loop *find_loop(serve *s, const pure_loop_stats *seen, bool whole) {
  for (size_t i = 0; i < s->nloops; i++) {
    serve_loop *l = &s->loops[i];
    if (l->function == seen->function && l->line == seen->line && l->whole == whole)
      return l;
  }
  serve_loop *grown = realloc(s->loops, (s->nloops + 1) * sizeof *grown);
  if (!grown)
    return NULL;
  s->loops = grown;
  serve_loop *l = &grown[s->nloops++];
  *l = (serve_loop){.function = seen->function, .line = seen->line, .whole = whole};
  return l;
}

static void gather(serve *s, pure_session *session, bool whole) {
  pure_loop_stats seen = {.size = sizeof seen};
  for (uint32_t i = 0;; i++) {
    pure_status status = whole ? pure_session_function_stats(session, i, &seen)
                               : pure_session_loop_stats(session, i, &seen);
    serve_loop *l = status == PURE_OK ? find_loop(s, &seen, whole) : NULL;
    if (!l)
      return;
    l->last = seen;
  }
}

void serve_gather(serve *s, pure_session *session) {
  enum { EVERY_NS = 200000000 };
  uint64_t now = serve_clock();
  pthread_mutex_lock(&s->snap_lock);
  if (now - s->gathered_ns >= EVERY_NS) {
    gather(s, session, false);
    gather(s, session, true);
    s->gathered_ns = serve_clock();
  }
  pthread_mutex_unlock(&s->snap_lock);
}
