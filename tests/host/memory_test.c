/* The n-th allocation fails, for every n, over compiling, loading, calling and saving: a clean
 * error, nothing lost, nothing changed, and everything works once there is memory again. */
#include "support/host_support.h"

#include <pure/arrow.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  long blocks;
} host_memory;

static void *counted_alloc(void *user, size_t bytes) {
  ((host_memory *)user)->blocks++;
  return aligned_alloc(64, (bytes + 63) / 64 * 64);
}

static void counted_free(void *user, void *block, size_t bytes) {
  (void)bytes;
  ((host_memory *)user)->blocks--;
  free(block);
}

static const char people[] = "id,name,born,member,score\n1,\"quo\"\"ted\",1998-09-02,true,1.5\n"
                             "2,b,2000-01-01,0,2\n3,c,2000-01-01,0,2\n";

static bool drop(void *user, const void *bytes, size_t n) {
  (void)user, (void)bytes, (void)n;
  return true;
}

static pure_status fill_some(host_world *w, pure_error *e) {
  static const int32_t from[] = {5, 1, 3, 2}, to[] = {1, 2, 3, 4};
  pure_fill *fill;
  pure_status status = pure_fill_new(w->store, "edges", &fill, e);
  if (status == PURE_OK)
    status = pure_fill_ints32(fill, 0, from, 4, e);
  if (status == PURE_OK)
    status = pure_fill_ints32(fill, 1, to, 4, e);
  if (status == PURE_OK)
    status = pure_fill_finish(fill, PURE_DUPLICATE_ERROR, e);
  pure_fill_release(fill);
  return status;
}

static pure_status ask(pure_session *session, const char *name, const char *argument,
                       pure_error *e) {
  pure_result *r;
  pure_column c;
  pure_status status = pure_session_call_texts(session, name, &argument, argument != NULL, &r, e);
  if (status == PURE_OK)
    status = pure_result_write(r, PURE_FORMAT_JSON, drop, NULL, e);
  if (status == PURE_OK && pure_result_columns(r))
    status = pure_result_column(r, 0, &c, e);
  pure_result_release(r);
  return status;
}

static pure_status use_snapshot(host_world *w, pure_error *e) {
  pure_snapshot *snapshot;
  pure_session *reader = NULL;
  pure_status status = pure_snapshot_take(w->store, &snapshot, e);
  if (status == PURE_OK)
    status = pure_session_on(snapshot, &reader, e);
  if (status == PURE_OK)
    status = ask(w->session, "note_many", "80", e);
  if (status == PURE_OK)
    status = ask(reader, "all_log", NULL, e);
  if (status == PURE_OK)
    status = ask(reader, "all_people", NULL, e);
  if (status == PURE_OK)
    status = pure_snapshot_save(snapshot, "/dev/null", e);
  pure_session_release(reader);
  pure_snapshot_release(snapshot);
  return status;
}

static pure_status open_world(host_world *w, pure_error *e) {
  pure_status status = pure_program_compile(w->engine, "t", host_program, strlen(host_program),
                                            NULL, NULL, &w->program, e);
  if (status == PURE_OK)
    status = pure_store_new(w->program, &w->store, e);
  if (status == PURE_OK)
    status = pure_session_new(w->store, &w->session, e);
  return status;
}

static pure_string said(pure_call *call, pure_string t) {
  (void)call;
  return t.length ? (pure_string){"something new", 13} : t;
}

static const char words[] = "list word (t: text, n: int)\n"
                            "pure extern fn said(t: text): text\n"
                            "event hear(t: text) { add word (said(t), length(t)) }\n"
                            "query all: (t: text, n: int) { return word }\n";

/* The rows of a result, by way of Arrow, once more. */
static pure_status exchange(pure_store *store, pure_session *session, pure_error *e) {
  struct ArrowArrayStream stream = {.release = NULL};
  pure_fill *fill = NULL;
  pure_result *r;
  pure_status status = pure_session_call(session, "all", NULL, 0, &r, e);
  if (status == PURE_OK)
    status = pure_result_arrow_stream(r, &stream, e);
  if (status == PURE_OK)
    status = pure_fill_new(store, "word", &fill, e);
  if (status == PURE_OK)
    status = pure_fill_arrow_stream(fill, &stream, e);
  if (status == PURE_IO && strstr(e->message, "out of memory")) /* said by the stream itself */
    status = PURE_NO_MEMORY;
  if (status == PURE_OK)
    status = pure_fill_finish(fill, PURE_DUPLICATE_ERROR, e);
  if (stream.release)
    stream.release(&stream);
  pure_result_release(r);
  pure_fill_release(fill);
  return status;
}

/* Host functions and Arrow, in a program of their own. */
static pure_status use_functions(host_world *w, pure_error *e) {
  const pure_binding b = {"pure extern fn said(text): text", (pure_function)said, NULL};
  pure_program *program;
  pure_store *store = NULL;
  pure_session *session = NULL;
  pure_status status =
      pure_program_compile(w->engine, "w", words, strlen(words), NULL, NULL, &program, e);
  if (status == PURE_OK)
    status = pure_bind(program, &b, 1, e);
  if (status == PURE_OK)
    status = pure_store_new(program, &store, e);
  if (status == PURE_OK)
    status = pure_session_new(store, &session, e);
  if (status == PURE_OK)
    status = ask(session, "hear", "what", e);
  if (status == PURE_OK)
    status = exchange(store, session, e);
  pure_session_release(session);
  pure_store_release(store);
  pure_program_release(program);
  return status;
}

static pure_status script(host_world *w, pure_error *e) {
  pure_status status = open_world(w, e);
  if (status == PURE_OK)
    status = fill_some(w, e);
  if (status == PURE_OK)
    status = host_import(w->store, "people", PURE_FORMAT_CSV, people, strlen(people), 50, e);
  if (status == PURE_OK)
    status = ask(w->session, "note_many", "70", e);
  if (status == PURE_OK)
    status = ask(w->session, "seen", "300", e);
  if (status == PURE_OK)
    status = ask(w->session, "twice", "tea", e);
  if (status == PURE_OK)
    status = ask(w->session, "swapped", NULL, e);
  if (status == PURE_OK)
    status = use_snapshot(w, e);
  if (status == PURE_OK)
    status = use_functions(w, e);
  if (status == PURE_OK) {
    status = ask(w->session, "half", "20", e);
    status = status == PURE_FAULT ? PURE_OK : status == PURE_OK ? PURE_UNSUPPORTED : status;
  }
  return status;
}

/* A system without memory may show as that, or as the program's fault of that kind. */
static bool is_no_memory(pure_status status, const pure_error *e) {
  return status == PURE_NO_MEMORY || (status == PURE_FAULT && e->fault == PURE_FAULT_MEMORY);
}

static pure_status run_with_failure(uint64_t n, bool sticky, pure_error *e) {
  host_memory memory = {0};
  pure_memory_hooks hooks = {counted_alloc, counted_free, &memory};
  pure_engine_options options = {.size = sizeof options, .memory = &hooks};
  host_world w = {0};
  host_fine(pure_engine_new(&options, &w.engine, e), e);
  pure_engine_fail_after(w.engine, n, sticky);
  pure_status status = script(&w, e);
  pure_engine_fail_after(w.engine, 0, false);
  if (w.session) { /* all of it still works */
    pure_error after = {0};
    host_fine(ask(w.session, "all_log", NULL, &after), &after);
    host_fine(ask(w.session, "note_many", "5", &after), &after);
    host_fine(ask(w.session, "all_people", NULL, &after), &after);
  }
  host_close(&w);
  ck_assert_msg(memory.blocks == 0, "allocation %llu: %ld blocks were not freed",
                (unsigned long long)n, memory.blocks);
  return status;
}

static void every_failure(bool sticky) {
  pure_error e = {0};
  uint64_t n = 1;
  for (;; n++) {
    pure_status status = run_with_failure(n, sticky, &e);
    if (status == PURE_OK)
      break;
    ck_assert_msg(is_no_memory(status, &e), "allocation %llu: %s: %s", (unsigned long long)n,
                  pure_status_name(status), e.message);
  }
  ck_assert_uint_gt(n, 100);
}

START_TEST(one_failure) { every_failure(false); }
END_TEST

START_TEST(no_memory_from_then_on) { every_failure(true); }
END_TEST

/* Allocations of one run with compiled code; n: which fails, 0: none. */
static uint64_t run_compiled(uint64_t n, bool sticky) {
  host_memory memory = {0};
  pure_memory_hooks hooks = {counted_alloc, counted_free, &memory};
  pure_jit_options tiers = {.size = sizeof tiers, .threshold = 1};
  pure_engine_options options = {.size = sizeof options,
                                 .memory = &hooks,
                                 .jit = PURE_JIT_1,
                                 .jit_sync = true,
                                 .tiers = &tiers};
  host_world w = {0};
  pure_error e = {0};
  pure_memory_stats stats;
  host_fine(pure_engine_new(&options, &w.engine, &e), &e);
  pure_engine_fail_after(w.engine, n, sticky);
  pure_status status = open_world(&w, &e);
  if (status == PURE_OK)
    status = ask(w.session, "seen", "2000", &e);
  ck_assert_msg(status == PURE_OK || is_no_memory(status, &e), "allocation %llu: %s: %s",
                (unsigned long long)n, pure_status_name(status), e.message);
  pure_engine_fail_after(w.engine, 0, false);
  if (w.session) /* what could not be compiled is interpreted */
    host_fine(ask(w.session, "seen", "2000", &e), &e);
  pure_engine_memory(w.engine, &stats);
  host_close(&w);
  ck_assert_msg(memory.blocks == 0, "allocation %llu: %ld blocks were not freed",
                (unsigned long long)n, memory.blocks);
  return stats.allocations;
}

/* Of the first 400 every one, then some: LLVM is slow. */
START_TEST(compiled_code) {
  uint64_t all = run_compiled(0, false);
  ck_assert_uint_gt(all, 100);
  for (uint64_t n = 1; n <= all; n += n < 400 ? 1 : 37)
    run_compiled(n, n % 2 != 0);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {one_failure, no_memory_from_then_on, compiled_code};
  return HOST_RUN("memory", tests);
}
