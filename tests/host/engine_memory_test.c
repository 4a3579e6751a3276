/* Where an engine's memory comes from: one buffer, options, parking, what is counted. */
#include "support/host_support.h"

#include <string.h>

/* What a small device may run. */
static const char program[] = "list edges (from: int, to: int) key (from, to)\n"
                              "list log (n: int)\n"
                              "query bfs(start: int): (node: int, depth: int) {\n"
                              "  local seen (node: int, depth: int) key (node)\n"
                              "  local queue (node: int)\n"
                              "  put seen (start, 0)\n"
                              "  add queue (start)\n"
                              "  for q in queue {\n"
                              "    let d = seen[q.node].depth + 1\n"
                              "    for e in edges[q.node] {\n"
                              "      if not (e.to in seen) {\n"
                              "        put seen (e.to, d)\n"
                              "        add queue (e.to)\n"
                              "      }\n"
                              "    }\n"
                              "  }\n"
                              "  return seen\n"
                              "}\n"
                              "event link(from: int, to: int) { put edges (from, to) }\n"
                              "event note(n: int) { for i in 1 .. n { add log (i) } }\n";

#ifdef __SANITIZE_ADDRESS__
enum { SMALL = 160 << 10 }; /* room between the blocks */
#else
enum { SMALL = 96 << 10 };
#endif
static _Alignas(64) char buffer[SMALL];

static void open_in(host_world *w, pure_memory_options *memory, pure_error *e) {
  pure_engine_options o = {.size = sizeof o, .jit = PURE_JIT_0, .list_memory = memory};
  memory->size = sizeof *memory;
  host_fine(pure_engine_new(&o, &w->engine, e), e);
  host_fine(
      pure_program_compile(w->engine, "t", program, strlen(program), NULL, NULL, &w->program, e),
      e);
  host_fine(pure_store_new(w->program, &w->store, e), e);
  host_fine(pure_session_new(w->store, &w->session, e), e);
}

static uint64_t rows_of(host_world *w, pure_error *e) {
  pure_value start = pure_int(1);
  pure_result *r;
  host_fine(pure_session_call(w->session, "bfs", &start, 1, &r, e), e);
  uint64_t rows = pure_result_rows(r);
  pure_result_release(r);
  return rows;
}

static void link_nodes(host_world *w, int64_t n, pure_error *e) {
  for (int64_t i = 1; i < n; i++) {
    pure_value v[] = {pure_int(i), pure_int(i + 1)};
    pure_result *r;
    host_fine(pure_session_call(w->session, "link", v, 2, &r, e), e);
    pure_result_release(r);
  }
}

/* Everything in one buffer; when that is full, the call faults, and all is as it was. */
START_TEST(one_buffer) {
  pure_error e = {0};
  host_world w = {0};
  pure_memory_options memory = {.buffer = buffer, .buffer_bytes = sizeof buffer};
  memset(buffer, 0x77, sizeof buffer);
  open_in(&w, &memory, &e);
  ck_assert((char *)w.engine >= buffer && (char *)w.engine < buffer + SMALL);
  link_nodes(&w, 40, &e);
  ck_assert_uint_eq(rows_of(&w, &e), 40);
  pure_value many = pure_int(1000000);
  pure_result *r;
  ck_assert_int_eq(pure_session_call(w.session, "note", &many, 1, &r, &e), PURE_FAULT);
  ck_assert_int_eq(e.fault, PURE_FAULT_MEMORY);
  ck_assert_uint_eq(rows_of(&w, &e), 40);
  host_close(&w);
}
END_TEST

START_TEST(buffers_too_small) {
  for (size_t bytes = 0; bytes < SMALL; bytes += 512) {
    pure_error e = {0};
    host_world w = {0};
    pure_memory_options memory = {.size = sizeof memory, .buffer = buffer, .buffer_bytes = bytes};
    pure_engine_options o = {.size = sizeof o, .jit = PURE_JIT_0, .list_memory = &memory};
    pure_status status = pure_engine_new(&o, &w.engine, &e);
    if (status == PURE_OK)
      status =
          pure_program_compile(w.engine, "t", program, strlen(program), NULL, NULL, &w.program, &e);
    if (status == PURE_OK)
      status = pure_store_new(w.program, &w.store, &e);
    ck_assert(status == PURE_OK || status == PURE_NO_MEMORY);
    host_close(&w);
  }
}
END_TEST

START_TEST(options_are_checked) {
  pure_error e = {0};
  pure_engine *engine;
  pure_memory_options memory = {.size = 3};
  pure_engine_options o = {.size = sizeof o, .jit = PURE_JIT_0, .list_memory = &memory};
  host_refused(pure_engine_new(&o, &engine, &e), &e, PURE_MISUSE, "size");
  memory = (pure_memory_options){.size = sizeof memory, .outbox = 8};
  host_refused(pure_engine_new(&o, &engine, &e), &e, PURE_MISUSE, "out of range");
  memory =
      (pure_memory_options){.size = sizeof memory, .buffer = buffer, .buffer_bytes = sizeof buffer};
  o.jit = PURE_JIT_AUTO;
  host_refused(pure_engine_new(&o, &engine, &e), &e, PURE_MISUSE, "jit");
}
END_TEST

START_TEST(parked_and_counted) {
  pure_error e = {0};
  host_world w = {0};
  pure_memory_options memory = {.decay_ms = 5, .no_huge_pages = true, .lifo_bytes = 1, .inbox = 1};
  open_in(&w, &memory, &e);
  link_nodes(&w, 500, &e);
  ck_assert_uint_eq(rows_of(&w, &e), 500);
  pure_engine_park(w.engine);
  ck_assert_uint_eq(rows_of(&w, &e), 500);
  pure_memory_counter c;
  uint32_t n = 0;
  uint64_t all = 0;
  for (; pure_engine_memory_counter(w.engine, n, &c) == PURE_OK; n++) {
    ck_assert_str_ne(c.meaning, "");
    all += c.value;
  }
  ck_assert_uint_gt(n, 10);
  ck_assert_uint_eq(c.value, 0);
#ifndef __SANITIZE_ADDRESS__ /* there malloc is the default */
  ck_assert_uint_gt(all, 0);
#endif
  host_close(&w);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {one_buffer, buffers_too_small, options_are_checked,
                                parked_and_counted};
  return HOST_RUN("engine_memory", tests);
}
