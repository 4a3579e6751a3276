/* What happens to a call while it runs: progress is told, and the clock is looked at.
 *
 * Both stop a call by its own cancel flag, which is looked at right after. */
#define _GNU_SOURCE /* CLOCK_MONOTONIC_COARSE */
#include "host/lib/host_int.h"

#include <time.h>

/* Progress is told as often where little work is charged: slow functions of the host, sorts. */
#define TOLD_NS UINT64_C(100000000)

static uint64_t clock_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* slow: the call is where much time passes beside little work. */
static void tell(pure_session *session, uint64_t work, bool slow) {
  host_watch *w = &session->watch;
  uint64_t now = clock_ns();
  w->told = work;
  if (w->deadline_ns && now >= w->deadline_ns) {
    w->late = true;
    atomic_store(&session->cancel, 1);
  }
  if (!w->progress || (work < w->next && !(slow && now >= w->next_ns)))
    return;
  w->next_ns = now + TOLD_NS;
  w->next = work + w->every < work ? UINT64_MAX : work + w->every;
  if (!w->progress(w->user, work))
    atomic_store(&session->cancel, 1);
}

/* Where work stands still, it is within one long instruction. */
static void look(void *user, uint64_t work) {
  pure_session *session = user;
  uint64_t told = session->watch.told;
  tell(session, work > told ? work : told, work <= told);
}

bool host_watch_is_on(const pure_session *session) {
  return session->watch.progress || session->watch.deadline_ns;
}

/* A clock that moves every few milliseconds costs little to read; the rest is done when it has. */
static uint64_t coarse_ns(void) {
#ifdef CLOCK_MONOTONIC_COARSE
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
#else
  return clock_ns();
#endif
}

/* The interpreter's work is known at its polls only: what was told last may be more. */
void host_watch_returned(pure_session *session) {
  host_watch *w = &session->watch;
  if (!host_watch_is_on(session))
    return;
  uint64_t tick = coarse_ns(), work = vm_context_work(session->cx);
  if (tick == w->tick_ns)
    return;
  w->tick_ns = tick;
  tell(session, work > w->told ? work : w->told, true);
}

void host_watch_begin(pure_session *session) {
  host_watch *w = &session->watch;
  uint64_t limit = session->limits.milliseconds;
  w->late = false;
  w->next = w->every;
  w->next_ns = w->progress ? clock_ns() + TOLD_NS : 0;
  w->deadline_ns = limit ? clock_ns() + limit * 1000000u : 0;
  w->told = 0;
  w->tick_ns = 0;
  host_externs_note(session, host_watch_is_on(session));
  vm_context_watch(session->cx, w->progress || limit ? look : NULL, session);
}

pure_status pure_session_progress(pure_session *session, uint64_t every, pure_progress progress,
                                  void *user, pure_error *error) {
  if (!host_is(session, HOST_SESSION))
    return HOST_MISUSE(error, __func__, {"session", session, HOST_SESSION});
  int idle = 0;
  if (!atomic_compare_exchange_strong(&session->busy, &idle, 1))
    return host_busy(error, __func__, "session");
  session->watch = (host_watch){.progress = progress, .user = user, .every = every};
  atomic_store(&session->busy, 0);
  return PURE_OK;
}
