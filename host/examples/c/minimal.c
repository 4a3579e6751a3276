/* The least that does something: a program, a list filled from arrays, a query, its rows. */
#include <pure/pure.h>
#include <stdio.h>
#include <string.h>

int main(void) {
  static const char text[] =
      "list edges (from: int, to: int) key (from, to)\n"
      "query next(n: int): (to: int) { for e in edges[n] { emit (e.to) } }\n";
  static const int64_t from[] = {1, 1, 2, 2}, to[] = {2, 3, 3, 4};
  pure_error error = {.status = PURE_OK};
  pure_engine *engine = NULL;
  pure_program *program = NULL;
  pure_store *store = NULL;
  pure_fill *edges = NULL;
  pure_session *session = NULL;
  pure_result *result = NULL;
  pure_value start = pure_int(1);
  if (pure_engine_new(NULL, &engine, &error) == PURE_OK &&
      pure_program_compile(engine, "next.pure", text, strlen(text), NULL, NULL, &program, &error) ==
          PURE_OK &&
      pure_store_new(program, &store, &error) == PURE_OK &&
      pure_fill_new(store, "edges", &edges, &error) == PURE_OK &&
      pure_fill_ints(edges, 0, from, 4, &error) == PURE_OK &&
      pure_fill_ints(edges, 1, to, 4, &error) == PURE_OK &&
      pure_fill_finish(edges, PURE_DUPLICATE_ERROR, &error) == PURE_OK &&
      pure_session_new(store, &session, &error) == PURE_OK &&
      pure_session_call(session, "next", &start, 1, &result, &error) == PURE_OK)
    while (pure_result_next(result))
      printf("%lld\n", (long long)pure_result_get(result, 0).as.i);
  if (error.status != PURE_OK)
    fprintf(stderr, "%s\n", error.message);
  pure_result_release(result);
  pure_session_release(session);
  pure_fill_release(edges);
  pure_store_release(store);
  pure_program_release(program);
  pure_engine_release(engine);
  return error.status != PURE_OK;
}
