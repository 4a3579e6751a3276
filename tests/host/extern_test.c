/* Host functions: bound, called with every type, faulting, refused. */
#include "support/host_support.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static const char program[] =
    "list log (line: text)\n"
    "pure extern fn plus(a: int, b: int): int\n"
    "pure extern fn half(x: real): real\n"
    "pure extern fn flip(b: bool): bool\n"
    "pure extern fn shout(t: text): text\n"
    "pure extern fn next_day(d: date): date\n"
    "pure extern fn mixed(a: int, t: text, b: bool, x: real, d: date, u: text, y: real): text\n"
    "pure extern fn sum9(a: int, b: int, c: int, d: int, e: int, f: int, g: int, h: int, i: int,\n"
    "  x: real, y: real): real\n"
    "pure extern fn refuse(n: int): int\n"
    "pure extern fn lies(n: int): text\n"
    "pure extern fn wild(n: int): date\n"
    "pure extern fn missing(n: int): int\n"
    "extern fn tell(t: text)\n"
    "extern fn ticket(): int\n"
    "query q_add(a: int, b: int): int { return plus(a, b) }\n"
    "query q_half(x: real): real { return half(x) }\n"
    "query q_flip(b: bool): bool { return flip(b) }\n"
    "query q_shout(t: text): text { return shout(t) }\n"
    "query q_day(d: date): date { return next_day(d) }\n"
    "query q_mixed(t: text): text {\n"
    "  return mixed(-7, t, true, 2.5, date \"2000-01-01\", t + \"!\", 0.25)\n"
    "}\n"
    "query q_sum: real { return sum9(1, 2, 3, 4, 5, 6, 7, 8, 9, 0.5, 0.25) }\n"
    "query q_refuse(n: int): int {\n"
    "  return 1 +\n"
    "    refuse(n)\n"
    "}\n"
    "query q_lies(n: int): text { return lies(n) }\n"
    "query q_wild(n: int): date { return wild(n) }\n"
    "query q_missing(n: int): int { return missing(n) }\n"
    "query hot(n: int): int {\n"
    "  var s = 0\n"
    "  for i in 1..n { s = plus(s, i) }\n"
    "  return s\n"
    "}\n"
    "query texts(n: int): int {\n"
    "  var s = 0\n"
    "  for i in 1..n { s += length(shout(\"n\" + text(i))) }\n"
    "  return s\n"
    "}\n"
    "event e_tell(t: text): int {\n"
    "  tell(t)\n"
    "  add log (t)\n"
    "  return ticket()\n"
    "}\n"
    "event e_undone(t: text) {\n"
    "  add log (t)\n"
    "  refuse(5)\n"
    "}\n"
    "query lines: int { return count(log) }\n";

typedef struct {
  host_world w;
  char told[64];
  int64_t tickets;
  pure_status inner; /* of using the call's own session inside */
} world;

static int64_t f_add(pure_call *call, int64_t a, int64_t b) {
  (void)call;
  return a + b;
}

static double f_half(pure_call *call, double x) {
  (void)call;
  return x / 2;
}

static bool f_flip(pure_call *call, bool b) {
  (void)call;
  return !b;
}

/* Answers from memory of its own, which the library must copy. */
static pure_string f_shout(pure_call *call, pure_string t) {
  static _Thread_local char room[256];
  size_t n = t.length < sizeof room ? t.length : sizeof room;
  for (size_t i = 0; i < n; i++)
    room[i] = t.bytes[i] >= 'a' && t.bytes[i] <= 'z' ? (char)(t.bytes[i] - 32) : t.bytes[i];
  pure_call_charge(call, n);
  return (pure_string){room, n};
}

static int64_t f_next_day(pure_call *call, int64_t d) {
  (void)call;
  return d + 1;
}

static pure_string f_mixed(pure_call *call, int64_t a, pure_string t, bool b, double x, int64_t d,
                           pure_string u, double y) {
  static _Thread_local char room[128];
  (void)call;
  int n = snprintf(room, sizeof room, "%lld|%.*s|%d|%g|%lld|%.*s|%g", (long long)a, (int)t.length,
                   t.bytes, b, x, (long long)d, (int)u.length, u.bytes, y);
  return (pure_string){room, (size_t)n};
}

static double f_sum9(pure_call *call, int64_t a, int64_t b, int64_t c, int64_t d, int64_t e,
                     int64_t f, int64_t g, int64_t h, int64_t i, double x, double y) {
  (void)call;
  return (double)(a + b * 10 + c + d + e + f + g + h * 100 + i * 1000) + x + y;
}

static int64_t f_refuse(pure_call *call, int64_t n) {
  char message[64];
  snprintf(message, sizeof message, "I do not like %lld", (long long)n);
  pure_call_fault(call, message);
  pure_call_fault(call, "the second message does not count");
  return n;
}

static pure_string f_lies(pure_call *call, int64_t n) {
  (void)call;
  return n == 0 ? (pure_string){"\xff\xfe", 2} : (pure_string){NULL, (size_t)n};
}

static int64_t f_wild(pure_call *call, int64_t n) {
  (void)call;
  return n;
}

static void f_tell(pure_call *call, pure_string t) {
  world *o = pure_call_user(call);
  snprintf(o->told, sizeof o->told, "%.*s", (int)t.length, t.bytes);
  o->inner = pure_session_call(o->w.session, "lines", NULL, 0, NULL, NULL);
}

static int64_t f_ticket(pure_call *call) {
  world *o = pure_call_user(call);
  return ++o->tickets;
}

#define FN(f) ((pure_function)(f))

static void open_world(world *o) {
  pure_error e = {0};
  memset(o, 0, sizeof *o);
  host_fine(pure_engine_new(NULL, &o->w.engine, &e), &e);
  host_fine(pure_program_compile(o->w.engine, "x.pure", program, strlen(program), NULL, NULL,
                                 &o->w.program, &e),
            &e);
  const pure_binding all[] = {
      {"pure extern fn plus(a: int, b: int): int", FN(f_add), NULL},
      {"pure half(real): real", FN(f_half), NULL},
      {"pure flip(bool): bool", FN(f_flip), NULL},
      {"pure shout(t: text): text", FN(f_shout), NULL},
      {"pure extern fn next_day(date): date", FN(f_next_day), NULL},
      {"pure mixed(int, text, bool, real, date, text, real): text", FN(f_mixed), NULL},
      {"pure sum9(int,int,int,int,int,int,int,int,int,real,real):real", FN(f_sum9), NULL},
      {"pure refuse(int): int", FN(f_refuse), NULL},
      {"pure lies(int): text", FN(f_lies), NULL},
      {"pure wild(int): date", FN(f_wild), NULL},
      {"pure not_in_the_program(int): date", FN(f_wild), NULL},
      {"tell(text)", FN(f_tell), o},
      {"ticket(): int", FN(f_ticket), o},
  };
  host_fine(pure_bind(o->w.program, all, sizeof all / sizeof *all, &e), &e);
  host_fine(pure_store_new(o->w.program, &o->w.store, &e), &e);
  host_fine(pure_session_new(o->w.store, &o->w.session, &e), &e);
}

static pure_value ask(world *o, const char *name, const pure_value *v, uint32_t n,
                      pure_result **r) {
  pure_error e = {0};
  host_fine(pure_session_call(o->w.session, name, v, n, r, &e), &e);
  return pure_result_value(*r);
}

START_TEST(every_type) {
  static const char mixed[] = "-7|caf\xc3\xa9|1|2.5|730119|caf\xc3\xa9!|0.25";
  world o;
  pure_result *r;
  open_world(&o);
  pure_value v[] = {pure_int(INT64_C(1) << 40), pure_int(-3)};
  ck_assert_int_eq(ask(&o, "q_add", v, 2, &r).as.i, (INT64_C(1) << 40) - 3);
  pure_result_release(r);
  v[0] = pure_real(0.3);
  ck_assert_double_eq(ask(&o, "q_half", v, 1, &r).as.r, 0.15);
  pure_result_release(r);
  v[0] = pure_bool(true);
  ck_assert_int_eq(ask(&o, "q_flip", v, 1, &r).as.i, 0);
  pure_result_release(r);
  v[0] = pure_bool(false);
  ck_assert_int_eq(ask(&o, "q_flip", v, 1, &r).as.i, 1);
  pure_result_release(r);
  v[0] = pure_date(100);
  pure_value day = ask(&o, "q_day", v, 1, &r);
  ck_assert_int_eq(day.type, PURE_DATE);
  ck_assert_int_eq(day.as.i, 101);
  pure_result_release(r);
  v[0] = pure_text("caf\xc3\xa9", 5);
  pure_value t = ask(&o, "q_shout", v, 1, &r);
  ck_assert_uint_eq(t.length, 5);
  ck_assert_int_eq(memcmp(t.as.t, "CAF\xc3\xa9", 5), 0);
  pure_result_release(r);
  t = ask(&o, "q_mixed", v, 1, &r);
  ck_assert_msg(t.length == 33 && memcmp(t.as.t, mixed, 33) == 0, "%.*s (%zu)", (int)t.length,
                t.as.t, t.length);
  pure_result_release(r);
  ck_assert_double_eq(ask(&o, "q_sum", NULL, 0, &r).as.r,
                      1 + 20 + 3 + 4 + 5 + 6 + 7 + 800 + 9000.75);
  pure_result_release(r);
  host_close(&o.w);
}
END_TEST

START_TEST(impure_ones) {
  world o;
  pure_result *r;
  open_world(&o);
  pure_value v = pure_text("one", 3);
  ck_assert_int_eq(ask(&o, "e_tell", &v, 1, &r).as.i, 1);
  pure_result_release(r);
  ck_assert_int_eq(ask(&o, "e_tell", &v, 1, &r).as.i, 2);
  pure_result_release(r);
  ck_assert_str_eq(o.told, "one");
  ck_assert_int_eq(o.inner, PURE_BUSY);
  ck_assert_int_eq(host_call(&o.w, "lines", NULL), 2);
  host_close(&o.w);
}
END_TEST

static void fails(world *o, const char *name, pure_value v, pure_fault fault, const char *part,
                  uint32_t line, uint32_t column) {
  pure_error e = {0};
  host_refused(pure_session_call(o->w.session, name, &v, 1, NULL, &e), &e, PURE_FAULT, part);
  ck_assert_int_eq(e.fault, fault);
  ck_assert_str_eq(e.file, "x.pure");
  if (line) {
    ck_assert_uint_eq(e.line, line);
    ck_assert_uint_eq(e.column, column);
  }
}

START_TEST(faults) {
  world o;
  open_world(&o);
  fails(&o, "q_refuse", pure_int(13), PURE_FAULT_HOST, "I do not like 13", 27, 5);
  fails(&o, "q_lies", pure_int(0), PURE_FAULT_HOST, "`lies` returned a text that is not UTF-8", 0,
        0);
  fails(&o, "q_lies", pure_int(4), PURE_FAULT_HOST, "`lies` returned a text without bytes", 0, 0);
  fails(&o, "q_wild", pure_int(-1), PURE_FAULT_HOST, "calendar", 0, 0);
  fails(&o, "q_wild", pure_int(PURE_DATE_MAX + 1), PURE_FAULT_HOST, "calendar", 0, 0);
  fails(&o, "q_missing", pure_int(0), PURE_FAULT_HOST, "no host function is bound to `missing`", 0,
        0);
  uint64_t before = host_digest(o.w.store);
  fails(&o, "e_undone", pure_text("gone", 4), PURE_FAULT_HOST, "I do not like 5", 0, 0);
  ck_assert_uint_eq(host_digest(o.w.store), before);
  host_close(&o.w);
}
END_TEST

/* What a function returns and charges counts against the limits of the call. */
START_TEST(metered) {
  world o;
  pure_error e = {0};
  pure_value n = pure_int(2000);
  open_world(&o);
  host_fine(pure_session_call(o.w.session, "texts", &n, 1, NULL, &e), &e);
  uint64_t work = pure_session_work(o.w.session);
  pure_limits limits = {.memory = 20000};
  host_fine(pure_session_limit(o.w.session, &limits, &e), &e);
  host_refused(pure_session_call(o.w.session, "texts", &n, 1, NULL, &e), &e, PURE_FAULT, "memory");
  ck_assert_int_eq(e.fault, PURE_FAULT_MEMORY);
  limits = (pure_limits){.work = work / 2};
  host_fine(pure_session_limit(o.w.session, &limits, &e), &e);
  host_refused(pure_session_call(o.w.session, "texts", &n, 1, NULL, &e), &e, PURE_FAULT, "work");
  host_close(&o.w);
}
END_TEST

/* The same on every tier: answers, work, and where the fault falls. */
START_TEST(same_on_every_tier) {
  static const pure_jit levels[] = {PURE_JIT_0, PURE_JIT_1, PURE_JIT_2, PURE_JIT_3};
  int64_t answer = 0;
  uint64_t work = 0, texts_work = 0, half_work = 0;
  for (size_t i = 0; i < 4; i++) {
    pure_error e = {0};
    pure_jit_options tiers = {.size = sizeof tiers, .threshold = 1};
    pure_engine_options options = {
        .size = sizeof options, .jit = levels[i], .jit_sync = true, .tiers = &tiers};
    host_world w = {0};
    const pure_binding b[] = {{"pure plus(int, int): int", FN(f_add), NULL},
                              {"pure shout(text): text", FN(f_shout), NULL}};
    host_fine(pure_engine_new(&options, &w.engine, &e), &e);
    host_fine(pure_program_compile(w.engine, "x.pure", program, strlen(program), NULL, NULL,
                                   &w.program, &e),
              &e);
    host_fine(pure_bind(w.program, b, 2, &e), &e);
    host_fine(pure_store_new(w.program, &w.store, &e), &e);
    host_fine(pure_session_new(w.store, &w.session, &e), &e);
    int64_t got = host_call(&w, "hot", "3000", NULL);
    uint64_t did = pure_session_work(w.session);
    int64_t shouted = host_call(&w, "texts", "500", NULL);
    uint64_t shouted_work = pure_session_work(w.session);
    pure_limits limits = {.work = did / 2};
    pure_value n = pure_int(3000);
    host_fine(pure_session_limit(w.session, &limits, &e), &e);
    host_refused(pure_session_call(w.session, "hot", &n, 1, NULL, &e), &e, PURE_FAULT, "work");
    uint64_t half = pure_session_work(w.session);
    if (i == 0) {
      answer = got, work = did, texts_work = shouted_work, half_work = half;
      ck_assert_int_eq(answer, 3000 * 3001 / 2);
      ck_assert_int_eq(shouted, 9 * 2 + 90 * 3 + 401 * 4);
    }
    ck_assert_int_eq(got, answer);
    ck_assert_uint_eq(did, work);
    ck_assert_uint_eq(shouted_work, texts_work);
    ck_assert_uint_eq(half, half_work);
    host_close(&w);
  }
}
END_TEST

/* Loops over calls of every kind that compiled code makes by itself, with faults and charges. */
static const char loops[] =
    "pure extern fn mix(a: int, x: real, b: bool, d: date, y: real): real\n"
    "pure extern fn odd(a: int): bool\n"
    "pure extern fn worth(a: int): int\n"
    "pure extern fn nan(x: real): real\n"
    "extern fn hear(a: int)\n"
    "pure extern fn unbound(a: int): int\n"
    "query mixed(n: int): real {\n"
    "  var s = 0.0\n"
    "  for i in 1..n { s += mix(i, s, odd(i), date \"2000-01-01\" + i, 0.5) }\n"
    "  return s\n"
    "}\n"
    "query paid(n: int): int {\n"
    "  var s = 0\n"
    "  for i in 1..n { s += worth(i) }\n"
    "  return s\n"
    "}\n"
    "query nans(n: int): text {\n"
    "  var s = 0.0\n"
    "  for i in 1..n { s = nan(s) }\n"
    "  return text(s)\n"
    "}\n"
    "query late(n: int): int {\n"
    "  var s = 0\n"
    "  for i in 1..n { if i = n { s += unbound(i) } }\n"
    "  return s\n"
    "}\n"
    "event heard(n: int) { for i in 1..n { hear(i) } }\n";

static double f_mix(pure_call *call, int64_t a, double x, bool b, int64_t d, double y) {
  (void)call;
  return (b ? 1 : -1) * (double)a + x / 1024 + (double)(d % 7) + y;
}

static bool f_odd(pure_call *call, int64_t a) {
  (void)call;
  return a % 2 != 0;
}

static int64_t f_worth(pure_call *call, int64_t a) {
  if (a % 100 == 0)
    pure_call_charge(call, (uint64_t)a);
  if (a == 2500)
    pure_call_fault(call, "2500 is too much");
  return a;
}

static double f_nan(pure_call *call, double x) {
  uint64_t bits = UINT64_C(0xfff8000000000123);
  double nan;
  (void)call, (void)x;
  memcpy(&nan, &bits, sizeof nan);
  return nan;
}

static void f_hear(pure_call *call, int64_t a) { *(int64_t *)pure_call_user(call) += a; }

typedef struct {
  double mixed;
  int64_t paid, heard;
  uint64_t work[6];
  uint32_t place;
} outcome;

static void open_loops(host_world *w, pure_jit jit, outcome *o) {
  pure_error e = {0};
  pure_jit_options tiers = {.size = sizeof tiers, .threshold = 1};
  pure_engine_options options = {
      .size = sizeof options, .jit = jit, .jit_sync = true, .tiers = &tiers};
  const pure_binding b[] = {
      {"pure mix(int, real, bool, date, real): real", FN(f_mix), NULL},
      {"pure odd(int): bool", FN(f_odd), NULL},
      {"pure worth(int): int", FN(f_worth), NULL},
      {"pure nan(real): real", FN(f_nan), NULL},
      {"hear(int)", FN(f_hear), &o->heard},
  };
  host_fine(pure_engine_new(&options, &w->engine, &e), &e);
  host_fine(pure_program_compile(w->engine, "l", loops, strlen(loops), NULL, NULL, &w->program, &e),
            &e);
  host_fine(pure_bind(w->program, b, 5, &e), &e);
  host_fine(pure_store_new(w->program, &w->store, &e), &e);
  host_fine(pure_session_new(w->store, &w->session, &e), &e);
}

static void run_loops(pure_jit jit, outcome *o) {
  host_world w = {0};
  pure_error e = {0};
  pure_result *r;
  pure_value n = pure_int(2000);
  memset(o, 0, sizeof *o);
  open_loops(&w, jit, o);
  host_fine(pure_session_call(w.session, "mixed", &n, 1, &r, &e), &e);
  o->mixed = pure_result_value(r).as.r;
  o->work[0] = pure_session_work(w.session);
  pure_result_release(r);
  o->paid = host_call(&w, "paid", "2000", NULL);
  o->work[1] = pure_session_work(w.session);
  n = pure_int(5000);
  host_refused(pure_session_call(w.session, "paid", &n, 1, NULL, &e), &e, PURE_FAULT,
               "2500 is too much");
  ck_assert_int_eq(e.fault, PURE_FAULT_HOST);
  o->place = e.line * 100 + e.column;
  o->work[2] = pure_session_work(w.session);
  host_fine(pure_session_call(w.session, "nans", &n, 1, &r, &e), &e);
  ck_assert_int_eq(memcmp(pure_result_value(r).as.t, "nan", 3), 0);
  o->work[3] = pure_session_work(w.session);
  pure_result_release(r);
  host_refused(pure_session_call(w.session, "late", &n, 1, NULL, &e), &e, PURE_FAULT, "no host");
  o->work[4] = pure_session_work(w.session);
  host_fine(pure_session_call(w.session, "heard", &n, 1, NULL, &e), &e);
  o->work[5] = pure_session_work(w.session);
  host_close(&w);
}

START_TEST(called_from_compiled_code) {
  outcome want, got;
  run_loops(PURE_JIT_0, &want);
  ck_assert_int_eq(want.paid, 2000 * 2001 / 2);
  ck_assert_int_eq(want.heard, 5000 * 5001 / 2);
  for (pure_jit jit = PURE_JIT_AUTO; jit <= PURE_JIT_3; jit++) {
    run_loops(jit, &got);
    ck_assert_double_eq(got.mixed, want.mixed);
    ck_assert_int_eq(got.paid, want.paid);
    ck_assert_int_eq(got.heard, want.heard);
    ck_assert_uint_eq(got.place, want.place);
    for (int i = 0; i < 6; i++)
      ck_assert_msg(got.work[i] == want.work[i], "level %d, call %d: work %llu, not %llu",
                    (int)jit - 1, i, (unsigned long long)got.work[i],
                    (unsigned long long)want.work[i]);
  }
}
END_TEST

static void refused(pure_program *p, const char *declaration, pure_status status,
                    const char *part) {
  pure_error e = {0};
  pure_binding b = {declaration, FN(f_add), NULL};
  host_refused(pure_bind(p, &b, 1, &e), &e, status, part);
}

START_TEST(what_is_refused) {
  host_world w;
  pure_error e = {0};
  pure_program *p;
  world o;
  host_open(&w, NULL);
  host_fine(pure_program_compile(w.engine, "x.pure", program, strlen(program), NULL, NULL, &p, &e),
            &e);
  refused(p, "pure plus(int): int", PURE_BAD_ARGUMENT,
          "`plus(int, int): int` has other types than the host's `pure plus(int): int`");
  refused(p, "pure plus(int, real): int", PURE_BAD_ARGUMENT, "other types");
  refused(p, "pure plus(int, int)", PURE_BAD_ARGUMENT, "other types");
  refused(p, "plus(int, int): int", PURE_BAD_ARGUMENT, "not");
  static const char *const wrong[] = {"",
                                      "plus",
                                      "plus(",
                                      "plus(int",
                                      "plus(int,)",
                                      "plus(int) int",
                                      "plus(int): ",
                                      "plus(integer)",
                                      "plus(int) x",
                                      "extern plus()",
                                      "pure (int)",
                                      "plus(a b: int)"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    refused(p, wrong[i], PURE_BAD_ARGUMENT, "declares no host function");
  refused(p, "plus(integer)", PURE_BAD_ARGUMENT, "types int, real, bool, text and date");
  pure_binding b[2] = {{"pure plus(int, int): int", FN(f_add), NULL}, {NULL, FN(f_add), NULL}};
  host_refused(pure_bind(p, b, 2, &e), &e, PURE_MISUSE, "declaration");
  b[1] = (pure_binding){"pure half(real): real", NULL, NULL};
  host_refused(pure_bind(p, b, 2, &e), &e, PURE_MISUSE, "function");
  host_refused(pure_bind(p, NULL, 2, &e), &e, PURE_MISUSE, "NULL");
  host_refused(pure_bind(NULL, b, 1, &e), &e, PURE_MISUSE, "NULL");
  host_refused(pure_bind_library(p, "./no such file.so", &e), &e, PURE_IO, "no such file");
  pure_extern_info info;
  ck_assert_int_eq(pure_program_extern(p, 0, &info), PURE_OK);
  ck_assert_str_eq(info.name, "plus");
  ck_assert(info.pure && !info.bound);
  ck_assert_uint_eq(info.nparameters, 2);
  ck_assert_int_eq(info.result, PURE_INT);
  host_fine(pure_bind(p, b, 1, &e), &e);
  ck_assert_int_eq(pure_program_extern(p, 0, &info), PURE_OK);
  ck_assert(info.bound);
  pure_column_info c;
  ck_assert_int_eq(pure_program_extern_parameter(p, 3, 0, &c), PURE_OK);
  ck_assert_str_eq(c.name, "t");
  ck_assert_int_eq(c.type, PURE_TEXT);
  ck_assert_int_eq(pure_program_extern_parameter(p, 3, 1, &c), PURE_NOT_FOUND);
  ck_assert_int_eq(pure_program_extern(p, 99, &info), PURE_NOT_FOUND);
  pure_program_release(p);
  host_close(&w);
  open_world(&o); /* it has a store */
  host_refused(pure_bind(o.w.program, b, 1, &e), &e, PURE_MISUSE, "first store");
  host_close(&o.w);
}
END_TEST

typedef struct {
  pure_snapshot *snapshot;
  int64_t sum;
} reader;

static void *read_much(void *user) {
  reader *r = user;
  pure_session *s;
  pure_result *result;
  pure_value n = pure_int(20000);
  if (pure_session_on(r->snapshot, &s, NULL) != PURE_OK)
    return NULL;
  for (int i = 0; i < 5; i++)
    if (pure_session_call(s, "hot", &n, 1, &result, NULL) == PURE_OK) {
      r->sum += pure_result_value(result).as.i;
      pure_result_release(result);
    }
  pure_session_release(s);
  return NULL;
}

START_TEST(pure_ones_on_many_threads) {
  world o;
  pure_error e = {0};
  pthread_t thread[4];
  reader r[4] = {{0}};
  open_world(&o);
  for (int i = 0; i < 4; i++) {
    host_fine(pure_snapshot_take(o.w.store, &r[i].snapshot, &e), &e);
    ck_assert_int_eq(pthread_create(&thread[i], NULL, read_much, &r[i]), 0);
  }
  for (int i = 0; i < 4; i++) {
    pthread_join(thread[i], NULL);
    pure_snapshot_release(r[i].snapshot);
    ck_assert_int_eq(r[i].sum, INT64_C(5) * 20000 * 20001 / 2);
  }
  host_close(&o.w);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {every_type,
                                impure_ones,
                                faults,
                                metered,
                                same_on_every_tier,
                                called_from_compiled_code,
                                what_is_refused,
                                pure_ones_on_many_threads};
  return HOST_RUN("extern", tests);
}
