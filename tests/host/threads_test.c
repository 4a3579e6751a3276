/* One writer runs events while readers query snapshots, compiled and not: every answer is of one
 * moment.  PURE_THREADS_SECONDS: how long (a second or so by default); it also tells the rates. */
#include "support/host_support.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ACCOUNTS = 500, OPENING = 1000, READERS = 8 };

static const char program[] =
    "list account (id: int, balance: int, moves: int) key (id)\n"
    "list log (from: int, to: int)\n"
    "event open(n: int, balance: int) { for i in 0..n - 1 { add account (i, balance, 0) } }\n"
    "event move(seed: int, times: int) {\n"
    "  var s = seed\n"
    "  for i in 1..times {\n"
    "    s = (s * 48271) % 2147483647\n"
    "    let a = account[s % 500]\n"
    "    a.balance -= 1\n"
    "    a.moves += 1\n"
    "    let b = account[(s / 500) % 500]\n"
    "    b.balance += 1\n"
    "    add log (s % 500, (s / 500) % 500)\n"
    "  }\n"
    "  if count(log) > 20000 { clear log }\n"
    "}\n"
    "event wrong(seed: int) {\n"
    "  account[seed % 500].balance += 1\n"
    "  fault \"undone\"\n"
    "}\n"
    "query total: int {\n"
    "  var sum = 0\n"
    "  for a in account { sum += a.balance }\n"
    "  return sum\n"
    "}\n"
    "query moves: int {\n"
    "  var sum = 0\n"
    "  for a in account { sum += a.moves }\n"
    "  return sum\n"
    "}\n";

typedef struct {
  pthread_mutex_t lock;
  pure_snapshot *newest;
  atomic_bool over;
  atomic_int wrong;
  atomic_long looks;
} shared_state;

static pure_session *look(shared_state *s) {
  pure_session *session = NULL;
  pthread_mutex_lock(&s->lock);
  if (pure_session_on(s->newest, &session, NULL) != PURE_OK)
    session = NULL;
  pthread_mutex_unlock(&s->lock);
  return session;
}

static int64_t ask(pure_session *session, const char *name) {
  pure_result *r;
  if (pure_session_call(session, name, NULL, 0, &r, NULL) != PURE_OK)
    return -1;
  int64_t answer = pure_result_value(r).as.i;
  pure_result_release(r);
  return answer;
}

/* The same moment however often it is asked, and never an earlier one than before. */
static void *read_moments(void *user) {
  shared_state *s = user;
  int64_t last = 0;
  while (!atomic_load(&s->over)) {
    pure_session *session = look(s);
    if (!session) {
      atomic_fetch_add(&s->wrong, 1);
      break;
    }
    int64_t moves = ask(session, "moves");
    bool fine = ask(session, "total") == ACCOUNTS * OPENING && moves >= last &&
                ask(session, "moves") == moves;
    atomic_fetch_add(&s->wrong, !fine);
    atomic_fetch_add(&s->looks, 1);
    last = moves;
    pure_session_release(session);
  }
  return NULL;
}

static void publish(shared_state *s, pure_store *store) {
  pure_snapshot *snapshot, *old;
  pure_error e = {0};
  host_fine(pure_snapshot_take(store, &snapshot, &e), &e);
  pthread_mutex_lock(&s->lock);
  old = s->newest;
  s->newest = snapshot;
  pthread_mutex_unlock(&s->lock);
  pure_snapshot_release(old);
}

static double now(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Events until the time is over; how many a second of this thread's processor time. */
static double write_events(host_world *w, shared_state *s, double seconds) {
  long events = 0;
  double end = now(CLOCK_MONOTONIC) + seconds, from = now(CLOCK_THREAD_CPUTIME_ID);
  pure_error e = {0};
  while (now(CLOCK_MONOTONIC) < end) {
    pure_value arguments[] = {pure_int(events + 1), pure_int(50)};
    host_fine(pure_session_call(w->session, "move", arguments, 2, NULL, &e), &e);
    if (events % 16 == 0)
      ck_assert_int_eq(pure_session_call(w->session, "wrong", arguments, 1, NULL, &e), PURE_FAULT);
    if (events++ % 64 == 0)
      publish(s, w->store);
  }
  return (double)events / (now(CLOCK_THREAD_CPUTIME_ID) - from);
}

static double run_with(int readers, double seconds) {
  host_world w = {0};
  pthread_t thread[READERS];
  shared_state s = {.lock = PTHREAD_MUTEX_INITIALIZER};
  pure_error e = {0};
  pure_jit_options tiers = {.size = sizeof tiers, .threshold = 100000};
  pure_engine_options options = {.size = sizeof options, .tiers = &tiers};
  pure_value opening[] = {pure_int(ACCOUNTS), pure_int(OPENING)};
  host_fine(pure_engine_new(&options, &w.engine, &e), &e);
  host_fine(
      pure_program_compile(w.engine, "t", program, sizeof program - 1, NULL, NULL, &w.program, &e),
      &e);
  host_fine(pure_store_new(w.program, &w.store, &e), &e);
  host_fine(pure_session_new(w.store, &w.session, &e), &e);
  host_fine(pure_session_call(w.session, "open", opening, 2, NULL, &e), &e);
  publish(&s, w.store);
  for (int i = 0; i < readers; i++)
    ck_assert_int_eq(pthread_create(&thread[i], NULL, read_moments, &s), 0);
  double rate = write_events(&w, &s, seconds);
  atomic_store(&s.over, true);
  for (int i = 0; i < readers; i++)
    pthread_join(thread[i], NULL);
  pure_snapshot_release(s.newest);
  ck_assert_int_eq(atomic_load(&s.wrong), 0);
  if (readers)
    ck_assert_int_gt(atomic_load(&s.looks), 0);
  printf("%d readers: %.0f events a second of the writer's processor time, %ld looks\n", readers,
         rate, atomic_load(&s.looks));
  host_close(&w);
  return rate;
}

START_TEST(readers_beside_a_writer) {
  const char *given = getenv("PURE_THREADS_SECONDS");
  double seconds = given ? atof(given) : 0.5;
  double alone = run_with(0, given ? seconds / 4 : seconds), beside = run_with(READERS, seconds);
  printf("writer beside %d readers: %.2f of alone\n", READERS, beside / alone);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {readers_beside_a_writer};
  return HOST_RUN("threads", tests);
}
