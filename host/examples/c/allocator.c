/* Memory of the host: counted, and never more than a megabyte and a half. */
#include "example.h"

#include <stdatomic.h>

enum { MOST = 3 << 19 };

static _Atomic size_t used;

/* Pure asks for blocks aligned to 64 bytes, from any of its threads. */
static void *give(void *user, size_t bytes) {
  (void)user;
  if (atomic_fetch_add(&used, bytes) + bytes > MOST) {
    atomic_fetch_sub(&used, bytes);
    return NULL;
  }
  void *block = aligned_alloc(64, (bytes + 63) / 64 * 64);
  if (!block)
    atomic_fetch_sub(&used, bytes);
  return block;
}

static void take(void *user, void *block, size_t bytes) {
  (void)user;
  free(block);
  atomic_fetch_sub(&used, bytes);
}

int main(void) {
  static const char text[] = "list n (n: int) key (n)\n"
                             "event grow(to: int) { for i in 1..to { put n (i * 100000) } }\n"
                             "query size: int { return count(n) }\n";
  const pure_memory_hooks hooks = {give, take, NULL};
  const pure_engine_options options = {.size = sizeof options, .memory = &hooks};
  pure_engine *engine;
  pure_store *store;
  pure_session *session;
  pure_result *result;
  must(pure_engine_new(&options, &engine, &error));
  pure_program *program = compile(engine, text);
  must(pure_store_new(program, &store, &error));
  must(pure_session_new(store, &session, &error));
  pure_value some = pure_int(1000), many = pure_int(10000000);
  must(pure_session_call(session, "grow", &some, 1, NULL, &error));
  /* The event that asks for too much is undone, and everything goes on. */
  pure_status status = pure_session_call(session, "grow", &many, 1, NULL, &error);
  printf("%s: %s\n", pure_status_name(status), error.message);
  must(pure_session_call(session, "size", NULL, 0, &result, &error));
  printf("%lld rows\n", (long long)pure_result_value(result).as.i);
  pure_result_release(result);
  pure_session_release(session);
  pure_store_release(store);
  pure_program_release(program);
  pure_engine_release(engine);
  printf("%zu bytes not given back\n", atomic_load(&used));
  return 0;
}
