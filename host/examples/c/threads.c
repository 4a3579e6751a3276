/* One thread moves money about; others look at snapshots.  Each snapshot is one moment: the sum of
 * all balances is always the same, however many transfers go on meanwhile. */
#include "example.h"

#include <pthread.h>

enum { ACCOUNTS = 1000, OPENING = 100, TRANSFERS = 20000, READERS = 4 };

static const char text[] =
    "list account (id: int, balance: int) key (id)\n"
    "event open(n: int, balance: int) { for i in 1..n { add account (i, balance) } }\n"
    "event move(from: int, to: int, amount: int) {\n"
    "  account[from].balance -= amount\n"
    "  account[to].balance += amount\n"
    "}\n"
    "query total: int {\n"
    "  var sum = 0\n"
    "  for a in account { sum += a.balance }\n"
    "  return sum\n"
    "}\n";

/* The newest snapshot, which readers hold while they use it: that is what references are for, and
 * here a lock makes sure that none is taken of a snapshot that is being replaced. */
static struct {
  pthread_mutex_t lock;
  pure_snapshot *newest;
  bool over;
} shared = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* A session on the newest snapshot, or NULL when there will be no more. */
static pure_session *look(void) {
  pure_session *session = NULL;
  pthread_mutex_lock(&shared.lock);
  if (!shared.over)
    must(pure_session_on(shared.newest, &session, NULL));
  pthread_mutex_unlock(&shared.lock);
  return session;
}

static void *read_totals(void *user) {
  long *looks = user;
  pure_session *session;
  while ((session = look())) {
    pure_result *result;
    must(pure_session_call(session, "total", NULL, 0, &result, NULL));
    if (pure_result_value(result).as.i != ACCOUNTS * OPENING) {
      fprintf(stderr, "a reader saw half a transfer\n");
      exit(1);
    }
    pure_result_release(result);
    pure_session_release(session);
    ++*looks;
  }
  return NULL;
}

static void publish(pure_store *store, bool over) {
  pure_snapshot *snapshot = NULL, *old;
  if (!over)
    must(pure_snapshot_take(store, &snapshot, &error));
  pthread_mutex_lock(&shared.lock);
  old = shared.newest;
  shared.newest = snapshot;
  shared.over = over;
  pthread_mutex_unlock(&shared.lock);
  pure_snapshot_release(old);
}

int main(void) {
  pure_engine *engine;
  pure_store *store;
  pure_session *writer;
  pthread_t thread[READERS];
  long looks[READERS] = {0}, all = 0;
  must(pure_engine_new(NULL, &engine, &error));
  pure_program *program = compile(engine, text);
  must(pure_store_new(program, &store, &error));
  must(pure_session_new(store, &writer, &error));
  pure_value opening[] = {pure_int(ACCOUNTS), pure_int(OPENING)};
  must(pure_session_call(writer, "open", opening, 2, NULL, &error));
  publish(store, false);
  for (int i = 0; i < READERS; i++)
    if (pthread_create(&thread[i], NULL, read_totals, &looks[i]) != 0)
      return 1;
  for (int i = 0; i < TRANSFERS; i++) {
    pure_value move[] = {pure_int(i % ACCOUNTS + 1), pure_int(i * 7 % ACCOUNTS + 1), pure_int(1)};
    must(pure_session_call(writer, "move", move, 3, NULL, &error));
    if (i % 100 == 99)
      publish(store, false);
  }
  publish(store, true);
  for (int i = 0; i < READERS; i++) {
    pthread_join(thread[i], NULL);
    all += looks[i];
  }
  printf("%d transfers; every look of the readers saw the same total\n", TRANSFERS);
  fprintf(stderr, "%ld looks\n", all);
  pure_session_release(writer);
  pure_store_release(store);
  pure_program_release(program);
  pure_engine_release(engine);
  return 0;
}
