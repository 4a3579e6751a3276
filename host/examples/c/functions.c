/* Functions of the host: a pure one, one that fails, one that acts on the world. */
#include "example.h"

#include <ctype.h>

static const char text[] = "list word (text: text, length: int) key (text)\n"
                           "pure extern fn reversed(t: text): text\n"
                           "pure extern fn checked(n: int): int\n"
                           "extern fn tell(t: text)\n"
                           "event learn(t: text) {\n"
                           "  put word (reversed(t), checked(length(t)))\n"
                           "  tell(t)\n"
                           "}\n"
                           "query words: (text: text, length: int) { return word }\n";

/* Answers are copied at once: they may lie in memory that is used again. */
static pure_string reversed(pure_call *call, pure_string t) {
  static _Thread_local char room[64];
  if (t.length > sizeof room) {
    pure_call_fault(call, "the word is too long");
    return (pure_string){"", 0};
  }
  for (size_t i = 0; i < t.length; i++) {
    if (!isascii((unsigned char)t.bytes[i]))
      pure_call_fault(call, "only ASCII letters can be turned round");
    room[i] = t.bytes[t.length - 1 - i];
  }
  pure_call_charge(call, t.length); /* counts against the work limit of the call */
  return (pure_string){room, t.length};
}

static int64_t checked(pure_call *call, int64_t n) {
  if (n < 2)
    pure_call_fault(call, "a word has two letters at least");
  return n;
}

static void tell(pure_call *call, pure_string t) {
  FILE *out = pure_call_user(call);
  fprintf(out, "learnt %.*s\n", (int)t.length, t.bytes);
}

int main(void) {
  pure_engine *engine;
  pure_store *store;
  pure_session *session;
  pure_result *result;
  must(pure_engine_new(NULL, &engine, &error));
  pure_program *program = compile(engine, text);
  const pure_binding bindings[] = {
      {"pure extern fn reversed(t: text): text", (pure_function)reversed, NULL},
      {"pure extern fn checked(n: int): int", (pure_function)checked, NULL},
      {"extern fn tell(t: text)", (pure_function)tell, stdout},
  };
  must(pure_bind(program, bindings, 3, &error));
  must(pure_store_new(program, &store, &error));
  must(pure_session_new(store, &session, &error));
  static const char *const words[] = {"stressed", "x", "loop"};
  for (int i = 0; i < 3; i++)
    if (pure_session_call_texts(session, "learn", &words[i], 1, NULL, &error) == PURE_FAULT) {
      char line[1200];
      pure_error_format(&error, line, sizeof line);
      printf("%s\n", line);
    }
  must(pure_session_call(session, "words", NULL, 0, &result, &error));
  while (pure_result_next(result)) {
    pure_value word = pure_result_get(result, 0);
    printf("%.*s %lld\n", (int)word.length, word.as.t, (long long)pure_result_get(result, 1).as.i);
  }
  pure_result_release(result);
  pure_session_release(session);
  pure_store_release(store);
  pure_program_release(program);
  pure_engine_release(engine);
  return 0;
}
