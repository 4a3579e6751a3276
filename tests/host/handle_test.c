/* Handles: released in any order, twice, used when closed, or as another kind. */
#include "support/host_support.h"

#include <pure/arrow.h>
#include <string.h>

typedef struct {
  host_world w;
  pure_snapshot *snapshot;
  pure_session *reader;
  pure_fill *fill;
  pure_import *import;
  pure_result *result, *read;
} everything;

enum { HANDLES = 10 };

static void open_everything(everything *x) {
  pure_error e = {0};
  pure_import_options o = {.size = sizeof o};
  host_open(&x->w, NULL);
  host_call(&x->w, "connect", "1", "2", NULL);
  host_fine(pure_snapshot_take(x->w.store, &x->snapshot, &e), &e);
  host_fine(pure_session_on(x->snapshot, &x->reader, &e), &e);
  host_fine(pure_fill_new(x->w.store, "log", &x->fill, &e), &e);
  host_fine(pure_import_new(x->w.store, "log", &o, &x->import, &e), &e);
  host_fine(pure_session_call(x->w.session, "all_edges", NULL, 0, &x->result, &e), &e);
  host_fine(pure_session_call(x->reader, "all_edges", NULL, 0, &x->read, &e), &e);
}

static void release(everything *x, int which) {
  switch (which) {
  case 0:
    pure_engine_release(x->w.engine);
    break;
  case 1:
    pure_program_release(x->w.program);
    break;
  case 2:
    pure_store_release(x->w.store);
    break;
  case 3:
    pure_session_release(x->w.session);
    break;
  case 4:
    pure_snapshot_release(x->snapshot);
    break;
  case 5:
    pure_session_release(x->reader);
    break;
  case 6:
    pure_fill_release(x->fill);
    break;
  case 7:
    pure_import_release(x->import);
    break;
  case 8:
    pure_result_release(x->result);
    break;
  case 9:
    pure_result_release(x->read);
    break;
  }
}

/* What is left works as before, whatever has gone. */
static void use_the_rest(everything *x, const bool *gone) {
  pure_error e = {0};
  if (!gone[8]) {
    pure_result_rewind(x->result);
    ck_assert(pure_result_next(x->result));
    ck_assert_int_eq(pure_result_get(x->result, 1).as.i, 2);
  }
  if (!gone[5] && gone[9])
    host_fine(pure_session_call(x->reader, "size", NULL, 0, NULL, &e), &e);
  if (!gone[3] && gone[8])
    host_fine(pure_session_call(x->w.session, "size", NULL, 0, NULL, &e), &e);
  if (!gone[1]) {
    pure_list_info info;
    ck_assert_int_eq(pure_program_list(x->w.program, 0, &info), PURE_OK);
  }
}

START_TEST(any_order) {
  uint32_t seed = 12345;
  for (int round = 0; round < 300; round++) {
    everything x;
    int order[HANDLES];
    bool gone[HANDLES] = {false};
    for (int i = 0; i < HANDLES; i++)
      order[i] = i;
    for (int i = HANDLES - 1; i > 0; i--) {
      seed = seed * 1664525u + 1013904223u;
      int j = (int)((seed >> 8) % (uint32_t)(i + 1)), swap = order[i];
      order[i] = order[j];
      order[j] = swap;
    }
    open_everything(&x);
    for (int i = 0; i < HANDLES; i++) {
      release(&x, order[i]);
      if (i < HANDLES - 1) /* after the last one the memory has gone */
        release(&x, order[i]);
      gone[order[i]] = true;
      use_the_rest(&x, gone);
    }
  }
}
END_TEST

#define MISUSED(call) ck_assert_int_eq(call, PURE_MISUSE)

static void all_refuse(everything *x, pure_store *store, pure_session *session, pure_fill *fill) {
  pure_error e = {0};
  pure_session *s;
  pure_snapshot *snapshot;
  pure_fill *f;
  pure_limits limits = {0};
  pure_list_stats stats = {.size = sizeof stats};
  uint64_t digest;
  int64_t one = 1;
  host_refused(pure_session_new(store, &s, &e), &e, PURE_MISUSE, "pure_session_new");
  MISUSED(pure_snapshot_take(store, &snapshot, NULL));
  MISUSED(pure_fill_new(store, "log", &f, NULL));
  MISUSED(pure_store_digest(store, &digest, NULL));
  MISUSED(pure_store_list_stats(store, 0, &stats));
  MISUSED(pure_store_load_bytes(store, "x", "x", 1, NULL));
  MISUSED(pure_store_save(store, "/dev/null", NULL));
  MISUSED(pure_session_call(session, "size", NULL, 0, NULL, NULL));
  MISUSED(pure_session_limit(session, &limits, NULL));
  MISUSED(pure_session_progress(session, 0, NULL, NULL, NULL));
  ck_assert_uint_eq(pure_session_work(session), 0);
  pure_session_cancel(session);
  pure_session_resume(session);
  MISUSED(pure_fill_ints(fill, 1, &one, 1, NULL));
  MISUSED(pure_fill_finish(fill, PURE_DUPLICATE_ERROR, NULL));
  ck_assert_uint_eq(pure_fill_rows(fill), 0);
  (void)x;
}

START_TEST(closed_ones) {
  everything x;
  pure_engine *engine;
  pure_program *p;
  pure_column c;
  struct ArrowArrayStream stream;
  open_everything(&x);
  engine = x.w.engine;
  for (int i = 1; i < HANDLES; i++)
    release(&x, i);
  all_refuse(&x, x.w.store, x.w.session, x.fill);
  MISUSED(pure_session_on(x.snapshot, &x.reader, NULL));
  MISUSED(pure_import_feed(x.import, "x", 1, NULL));
  MISUSED(pure_import_finish(x.import, NULL));
  MISUSED(pure_result_column(x.result, 0, &c, NULL));
  MISUSED(pure_result_arrow_stream(x.result, &stream, NULL));
  ck_assert(!pure_result_next(x.result));
  ck_assert_uint_eq(pure_result_rows(x.result), 0);
  ck_assert_int_eq(pure_result_get(x.result, 0).type, PURE_NOTHING);
  ck_assert_int_eq(pure_result_get_kind(x.result), PURE_RESULT_NOTHING);
  MISUSED(pure_store_new(x.w.program, &x.w.store, NULL));
  MISUSED(pure_bind(x.w.program, NULL, 0, NULL));
  /* The engine is open still: what was closed is known as that until 64 others were. */
  for (int i = 0; i < 60; i++) {
    pure_error e = {0};
    host_fine(pure_program_compile(engine, "x", "", 0, NULL, NULL, &p, &e), &e);
    pure_program_release(p);
  }
  MISUSED(pure_store_new(p, &x.w.store, NULL));
  pure_engine_release(engine);
}
END_TEST

START_TEST(other_kinds) {
  everything x;
  open_everything(&x);
  void *store = x.w.store, *session = x.w.session, *fill = x.fill;
  all_refuse(&x, session, fill, store);
  pure_result_release(session); /* of another kind: not released */
  pure_engine_release(store);
  for (int i = 0; i < HANDLES; i++)
    release(&x, i);
}
END_TEST

START_TEST(sizes_of_structs) {
  pure_error e = {0};
  pure_engine *engine;
  pure_engine_options o = {.size = sizeof o + 8};
  host_refused(pure_engine_new(&o, &engine, &e), &e, PURE_MISUSE, "size");
  o.size = offsetof(pure_engine_options, watch); /* of an older header */
  host_fine(pure_engine_new(&o, &engine, &e), &e);
  pure_jit_stats stats = {.size = offsetof(pure_jit_stats, cached), .cached = 77};
  pure_engine_jit_stats(engine, &stats);
  ck_assert_uint_eq(stats.cached, 77); /* behind the end of what the caller knows */
  ck_assert_uint_eq(stats.size, offsetof(pure_jit_stats, cached));
  pure_engine_release(engine);
  pure_jit_options tiers = {.size = 1};
  o = (pure_engine_options){.size = sizeof o, .tiers = &tiers};
  host_refused(pure_engine_new(&o, &engine, &e), &e, PURE_MISUSE, "options.tiers->size");
}
END_TEST

int main(void) {
  const TTest *const tests[] = {any_order, closed_ones, other_kinds, sizes_of_structs};
  return HOST_RUN("handle", tests);
}
