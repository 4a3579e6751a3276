/* Two ways to stop a call that takes too long: another thread cancels it, or it has a limit. */
#include "example.h"

#include <pthread.h>
#include <time.h>

static void *cancel_soon(void *session) {
  const struct timespec wait = {.tv_nsec = 50000000};
  nanosleep(&wait, NULL);
  pure_session_cancel(session);
  return NULL;
}

static void spin(pure_session *session) {
  pure_status status = pure_session_call(session, "spin", NULL, 0, NULL, &error);
  printf("%s, %s: %s\n", pure_status_name(status), pure_fault_name(error.fault), error.message);
}

int main(void) {
  static const char text[] = "query spin: int {\n"
                             "  var i = 0\n"
                             "  while true { i = (i + 1) % 1000 }\n"
                             "  return i\n"
                             "}\n";
  pure_engine *engine;
  pure_store *store;
  pure_session *session;
  pthread_t timer;
  must(pure_engine_new(NULL, &engine, &error));
  pure_program *program = compile(engine, text);
  must(pure_store_new(program, &store, &error));
  must(pure_session_new(store, &session, &error));

  if (pthread_create(&timer, NULL, cancel_soon, session) != 0)
    return 1;
  spin(session);
  pthread_join(timer, NULL);

  const pure_limits brief = {.milliseconds = 50};
  must(pure_session_limit(session, &brief, &error));
  spin(session);

  const pure_limits little = {.work = 1000000}; /* the only one that is the same everywhere */
  must(pure_session_limit(session, &little, &error));
  spin(session);

  pure_session_release(session);
  pure_store_release(store);
  pure_program_release(program);
  pure_engine_release(engine);
  return 0;
}
