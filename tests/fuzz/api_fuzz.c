/* Sequences of calls of the C API, valid and invalid: handles that are closed, of another kind or
 * NULL, calls from inside host functions, memory that runs out at any allocation.
 *
 * The bytes are a list of operations and their operands.  Besides not crashing: what is not an open
 * handle of the right kind is refused as misuse, and at the end, when everything was released in
 * some order, no block of memory is left. */
#include <pure/arrow.h>
#include <pure/pure.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char text[] =
    "list n (k: int, v: int) key (k)\n"
    "list t (t: text, r: real, d: date, b: bool)\n"
    "pure extern fn twice(x: int): int\n"
    "extern fn poke(x: int): int\n"
    "query all: (k: int, v: int) { return n }\n"
    "query texts: (t: text, r: real, d: date, b: bool) { return t }\n"
    "query made(c: int): (x: int, t: text) { for i in 1..c { emit (twice(i), text(i)) } }\n"
    "query spin: int {\n"
    "  var i = 0\n"
    "  while true { i = (i + 1) % 7 }\n"
    "  return i\n"
    "}\n"
    "event fill(a: int, c: int) { for i in a..a + c { put n (i, i * i) } }\n"
    "event note(x: text) { add t (x, 1.5, date \"2000-01-01\", true) }\n"
    "event poked(x: int): int {\n"
    "  put n (x, x)\n"
    "  let y = poke(x)\n"
    "  if y % 3 = 0 { fault \"enough\" }\n"
    "  add t (text(y), 0.0, date \"2000-01-01\", false)\n"
    "  return y\n"
    "}\n";

typedef enum { NONE, PROGRAM, STORE, SNAPSHOT, SESSION, RESULT, FILL, IMPORT, NKINDS } kind;

/* age: releases since it was closed; what was closed long ago is forgotten. */
typedef struct {
  kind kind;
  void *handle;
  bool open;
  unsigned age;
} slot;

enum { SLOTS = 12, FORGOTTEN = 25, DEPTH = 3 };

typedef struct {
  const uint8_t *at, *end;
  pure_engine *engine;
  slot slots[SLOTS];
  long blocks;
  unsigned depth;
} state;

static void require(bool fine, const char *what) {
  if (fine)
    return;
  fprintf(stderr, "%s\n", what);
  abort();
}

static void *give(void *user, size_t bytes) {
  state *s = user;
  void *block = aligned_alloc(64, (bytes + 63) / 64 * 64);
  s->blocks += block != NULL;
  return block;
}

static void take(void *user, void *block, size_t bytes) {
  state *s = user;
  (void)bytes;
  s->blocks--;
  free(block);
}

static unsigned byte(state *s) { return s->at < s->end ? *s->at++ : 0; }

static slot *pick(state *s) { return &s->slots[byte(s) % SLOTS]; }

/* An operation on the slot's handle as one of kind k came back so. */
static void check(const slot *at, kind k, pure_status status) {
  bool usable = at->open && at->kind == k;
  require((unsigned)status < PURE_NSTATUS, "no status");
  require(usable || status == PURE_MISUSE, "what is no open handle of that kind was taken");
}

static void release(slot *at) {
  switch (at->kind) {
  case PROGRAM:
    pure_program_release(at->handle);
    break;
  case STORE:
    pure_store_release(at->handle);
    break;
  case SNAPSHOT:
    pure_snapshot_release(at->handle);
    break;
  case SESSION:
    pure_session_release(at->handle);
    break;
  case RESULT:
    pure_result_release(at->handle);
    break;
  case FILL:
    pure_fill_release(at->handle);
    break;
  case IMPORT:
    pure_import_release(at->handle);
    break;
  case NONE:
  case NKINDS:
    break;
  }
}

static void close_slot(state *s, slot *at) {
  bool counts = at->open;
  release(at);
  at->open = false;
  for (int i = 0; i < SLOTS && counts; i++)
    if (!s->slots[i].open && s->slots[i].handle && ++s->slots[i].age > FORGOTTEN)
      s->slots[i] = (slot){.kind = NONE};
}

/* Puts a new handle into a slot; what was there is closed and lost. */
static void keep(state *s, kind k, void *handle) {
  slot *at = pick(s);
  if (!handle)
    return;
  if (at->open)
    close_slot(s, at);
  *at = (slot){.kind = k, .handle = handle, .open = true};
}

static bool one_step(state *s);

static int64_t twice(pure_call *call, int64_t x) {
  if (x == 13)
    pure_call_fault(call, "unlucky");
  pure_call_charge(call, 3);
  return x * 2;
}

/* Does to the API whatever comes next, inside a call. */
static int64_t poke(pure_call *call, int64_t x) {
  state *s = pure_call_user(call);
  if (s->depth >= DEPTH)
    return x;
  s->depth++;
  for (int i = 0; i < 4; i++)
    one_step(s);
  s->depth--;
  return x + 1;
}

static void make_program(state *s) {
  pure_program *p = NULL;
  const pure_binding b[] = {{"pure twice(int): int", (pure_function)twice, NULL},
                            {"poke(int): int", (pure_function)poke, s}};
  pure_status status =
      pure_program_compile(s->engine, "f", text, strlen(text), NULL, NULL, &p, NULL);
  require((status == PURE_OK) == (p != NULL), "a program without a status");
  if (p && byte(s) % 4 && pure_bind(p, b, 2, NULL) != PURE_OK) {
    pure_program_release(p);
    p = NULL;
  }
  keep(s, PROGRAM, p);
}

static void make_store(state *s) {
  slot *from = pick(s);
  pure_store *store = NULL;
  check(from, PROGRAM, pure_store_new(from->handle, &store, NULL));
  keep(s, STORE, store);
}

static void make_session(state *s) {
  slot *from = pick(s);
  pure_session *session = NULL;
  if (byte(s) % 2)
    check(from, STORE, pure_session_new(from->handle, &session, NULL));
  else
    check(from, SNAPSHOT, pure_session_on(from->handle, &session, NULL));
  if (session) {
    pure_limits limits = {.work = 50000, .memory = 1 << 20, .depth = 20};
    (void)!pure_session_limit(session, &limits, NULL);
  }
  keep(s, SESSION, session);
}

static void make_snapshot(state *s) {
  slot *from = pick(s);
  pure_snapshot *snapshot = NULL;
  check(from, STORE, pure_snapshot_take(from->handle, &snapshot, NULL));
  keep(s, SNAPSHOT, snapshot);
}

static void make_filler(state *s) {
  slot *from = pick(s);
  pure_fill *fill = NULL;
  pure_import *import = NULL;
  pure_import_options o = {.size = sizeof o, .format = (pure_format)(byte(s) % 5)};
  const char *list = byte(s) % 3 ? "n" : "t";
  if (byte(s) % 2) {
    check(from, STORE, pure_fill_new(from->handle, list, &fill, NULL));
    keep(s, FILL, fill);
  } else if (o.format <= PURE_FORMAT_ADJACENCY) {
    check(from, STORE, pure_import_new(from->handle, list, &o, &import, NULL));
    keep(s, IMPORT, import);
  }
}

static void fill(state *s) {
  slot *at = pick(s);
  int64_t ints[5] = {(int8_t)byte(s), 1, 2, -3, INT64_MAX};
  double reals[5] = {0, -0.0, 1e300, 5, 6};
  int32_t days[5] = {0, (int8_t)byte(s), 2, 3, 4};
  uint8_t bools[5] = {0, 1, 1, (uint8_t)(byte(s) % 3), 0};
  uint64_t offsets[6] = {0, 1, 3, 3, 4, 4};
  uint32_t column = byte(s) % 5;
  size_t n = byte(s) % 6;
  pure_value row[2] = {pure_int(ints[0]), pure_int(7)};
  pure_status status;
  switch (byte(s) % 6) {
  case 0:
    status = pure_fill_ints(at->handle, column, ints, n, NULL);
    break;
  case 1:
    status = pure_fill_reals(at->handle, column, reals, n, NULL);
    break;
  case 2:
    status = pure_fill_dates(at->handle, column, days, n, NULL);
    break;
  case 3:
    status = pure_fill_bools(at->handle, column, bools, n, NULL);
    break;
  case 4:
    status = pure_fill_texts(at->handle, column, "abcd", offsets, n, NULL);
    break;
  default:
    status = pure_fill_row(at->handle, row, 2, NULL);
  }
  check(at, FILL, status);
  (void)pure_fill_rows(at->handle);
}

static void feed(state *s) {
  slot *at = pick(s);
  size_t n = byte(s) % 40;
  if ((size_t)(s->end - s->at) < n)
    n = (size_t)(s->end - s->at);
  check(at, IMPORT, pure_import_feed(at->handle, s->at, n, NULL));
  s->at += n;
  (void)pure_import_rows(at->handle);
}

static void finish(state *s) {
  slot *at = pick(s);
  if (byte(s) % 2)
    check(at, FILL, pure_fill_finish(at->handle, (pure_duplicates)(byte(s) % 4), NULL));
  else
    check(at, IMPORT, pure_import_finish(at->handle, NULL));
}

static void call(state *s) {
  static const char *const names[] = {"all",  "texts", "made",  "spin",
                                      "fill", "note",  "poked", "nothing"};
  const slot before = *pick(s), *at = &before; /* a host function may change the slot */
  pure_result *result = NULL;
  unsigned which = byte(s) % 8;
  pure_value ints[2] = {pure_int((int8_t)byte(s)), pure_int(byte(s))};
  pure_value word = pure_text("w\xc3\xb6rd", byte(s) % 6);
  bool wants = byte(s) % 4;
  static const uint8_t counts[] = {0, 0, 1, 0, 2, 1, 1, 0};
  pure_error e = {0};
  pure_status status = pure_session_call(at->handle, names[which], which == 5 ? &word : ints,
                                         counts[which], wants ? &result : NULL, &e);
  check(at, SESSION, status);
  require(status == PURE_OK || (e.status == status && !result), "an error without its text");
  if (result)
    keep(s, RESULT, result);
}

static bool swallow(void *user, const void *bytes, size_t n) {
  (void)bytes;
  return (*(size_t *)user += n) < 5000;
}

static void read_result(state *s) {
  slot *at = pick(s);
  bool usable = at->open && at->kind == RESULT;
  uint32_t column = byte(s) % 5;
  int64_t ints[4];
  double reals[4];
  size_t written = 0;
  pure_column c;
  pure_column_info info;
  require(usable || (pure_result_rows(at->handle) == 0 && !pure_result_next(at->handle)),
          "rows of no result");
  for (int i = 0; i < 3 && pure_result_next(at->handle); i++)
    (void)pure_result_get(at->handle, column);
  check(at, RESULT, pure_result_column(at->handle, column, &c, NULL));
  check(at, RESULT, pure_result_copy_ints(at->handle, column, byte(s) % 3, 4, ints, NULL));
  check(at, RESULT, pure_result_copy_reals(at->handle, column, 0, byte(s) % 5, reals, NULL));
  check(at, RESULT,
        pure_result_write(at->handle, (pure_format)(byte(s) % 6), swallow, &written, NULL));
  (void)!pure_result_column_info(at->handle, column, &info);
  (void)pure_result_text(at->handle, byte(s));
  (void)pure_result_value(at->handle);
}

/* A result as Arrow, and from there into a fill. */
static void exchange(state *s) {
  slot *from = pick(s), *to = pick(s);
  struct ArrowSchema schema;
  struct ArrowArray array;
  pure_status status = pure_result_arrow(from->handle, &schema, &array, NULL);
  check(from, RESULT, status);
  if (status != PURE_OK)
    return;
  if (byte(s) % 3 == 0)
    close_slot(s, from);
  check(to, FILL, pure_fill_arrow(to->handle, &schema, &array, NULL));
  array.release(&array);
  schema.release(&schema);
}

static bool go_on(void *user, uint64_t work) {
  (void)user;
  return work < 30000;
}

static void steer(state *s) {
  slot *at = pick(s);
  pure_limits limits = {.work = 1000u * (byte(s) + 1u), .memory = 1 << 20, .depth = 30};
  pure_loop_stats stats = {.size = sizeof stats};
  switch (byte(s) % 5) {
  case 0:
    check(at, SESSION, pure_session_limit(at->handle, &limits, NULL));
    break;
  case 1:
    pure_session_cancel(at->handle);
    break;
  case 2:
    pure_session_resume(at->handle);
    break;
  case 3:
    check(at, SESSION, pure_session_progress(at->handle, 1000, go_on, NULL, NULL));
    break;
  default:
    check(at, SESSION, pure_session_loop_stats(at->handle, byte(s) % 3, &stats));
    (void)pure_session_work(at->handle);
  }
}

static void ask(state *s) {
  slot *at = pick(s);
  uint64_t digest;
  pure_list_stats stats = {.size = sizeof stats};
  pure_extern_info info;
  switch (byte(s) % 4) {
  case 0:
    check(at, STORE, pure_store_digest(at->handle, &digest, NULL));
    break;
  case 1:
    check(at, SNAPSHOT, pure_snapshot_digest(at->handle, &digest, NULL));
    break;
  case 2:
    check(at, STORE, pure_store_list_stats(at->handle, byte(s) % 3, &stats));
    break;
  default:
    check(at, PROGRAM, pure_program_extern(at->handle, byte(s) % 3, &info));
  }
}

static void load(state *s) {
  slot *at = pick(s);
  size_t n = byte(s) % 64;
  if ((size_t)(s->end - s->at) < n)
    n = (size_t)(s->end - s->at);
  check(at, STORE, pure_store_load_bytes(at->handle, "f", s->at, n, NULL));
  s->at += n;
}

static bool one_step(state *s) {
  static void (*const steps[])(state *) = {
      make_program, make_store, make_session, make_snapshot, make_filler, fill,  fill, feed, finish,
      call,         call,       call,         read_result,   exchange,    steer, ask,  load};
  if (s->at >= s->end)
    return false;
  unsigned op = byte(s) % (sizeof steps / sizeof *steps + 3);
  if (op < sizeof steps / sizeof *steps)
    steps[op](s);
  else if (op == sizeof steps / sizeof *steps)
    pure_engine_fail_after(s->engine, byte(s), byte(s) % 2);
  else
    close_slot(s, pick(s)); /* also again, and what is not there */
  return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  state s = {.at = data, .end = data + size};
  pure_memory_hooks hooks = {give, take, &s};
  pure_engine_options o = {.size = sizeof o, .memory = &hooks, .jit = PURE_JIT_0};
  if (pure_engine_new(&o, &s.engine, NULL) != PURE_OK)
    return 0;
  while (one_step(&s)) {
  }
  bool early = size && data[size - 1] % 2; /* the engine may go first */
  pure_engine *engine = s.engine;
  if (early)
    pure_engine_release(engine);
  for (int i = 0; i < SLOTS; i++)
    if (s.slots[i].open)
      release(&s.slots[i]);
  if (!early)
    pure_engine_release(engine);
  require(s.blocks == 0, "blocks were not freed");
  return 0;
}
