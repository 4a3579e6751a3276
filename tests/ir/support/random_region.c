#include "tests/ir/support/random_region.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_VALUES 200

typedef enum { INT, REAL, BOOL } type;

typedef struct {
  uint64_t state;
  char *text, *exits;
  size_t len, exits_len;
  unsigned next, block, nexits, depth;
  struct {
    unsigned number;
    type type;
  } value[MAX_VALUES]; /* that are there at this point */
  unsigned n;
  unsigned work; /* value */
} maker;

static uint64_t chance(maker *m, uint64_t n) {
  m->state ^= m->state << 13;
  m->state ^= m->state >> 7;
  m->state ^= m->state << 17;
  return (m->state >> 11) % n;
}

__attribute__((format(printf, 2, 3))) static void say(maker *m, const char *format, ...) {
  va_list args;
  va_start(args, format);
  m->len += (size_t)vsprintf(m->text + m->len, format, args);
  va_end(args);
}

static void literal(maker *m, type t, char *out) {
  static const char *const ints[] = {"0",    "1",   "-1",  "7",
                                     "10",   "255", "256", "9223372036854775807",
                                     "4096", "-8",  "3",   "-9223372036854775808"};
  static const char *const reals[] = {"f#3ff0000000000000", "f#bff8000000000000",
                                      "f#0000000000000000", "f#8000000000000000",
                                      "f#7ff8000000000000", "f#43e0000000000000"};
  if (t == INT)
    strcpy(out, ints[chance(m, 12)]);
  else if (t == REAL)
    strcpy(out, reals[chance(m, 6)]);
  else
    strcpy(out, chance(m, 2) ? "true" : "false");
}

/* A value of that type: one that is there, or a literal. */
static void some(maker *m, type t, char *out) {
  unsigned from = (unsigned)chance(m, m->n + 1);
  if (chance(m, 4))
    for (unsigned k = 0; k < m->n; k++) {
      unsigned i = (from + k) % m->n;
      if (m->value[i].type != t)
        continue;
      sprintf(out, "v%u", m->value[i].number);
      return;
    }
  literal(m, t, out);
}

static unsigned made(maker *m, type t) {
  unsigned number = m->next++;
  if (m->n < MAX_VALUES) {
    m->value[m->n].number = number;
    m->value[m->n++].type = t;
  }
  return number;
}

/* An exit of what is there. */
static unsigned leave(maker *m, const char *reason) {
  char value[40];
  unsigned number = m->nexits++;
  m->exits_len += (size_t)sprintf(m->exits + m->exits_len, "exit %u: pc %u %s work v%u%+d", number,
                                  number, reason, m->work, (int)chance(m, 9) - 4);
  for (unsigned r = 8; r < 16; r++) {
    if (chance(m, 2))
      continue;
    some(m, (type)chance(m, 3), value);
    m->exits_len += (size_t)sprintf(m->exits + m->exits_len, " r%u=%s", r, value);
  }
  m->exits_len += (size_t)sprintf(m->exits + m->exits_len, "\n");
  return number;
}

typedef struct {
  const char *name, *args; /* i f b, or c: a shift */
  type type;
  bool exits;
} operation;

static const operation operations[] = {
    {"add", "ii", INT, false},
    {"sub", "ii", INT, false},
    {"mul", "ii", INT, false},
    {"add.x", "ii", INT, true},
    {"sub.x", "ii", INT, true},
    {"mul.x", "ii", INT, true},
    {"div.x", "ii", INT, true},
    {"rem.x", "ii", INT, true},
    {"min", "ii", INT, false},
    {"max", "ii", INT, false},
    {"umin", "ii", INT, false},
    {"band", "ii", INT, false},
    {"bor", "ii", INT, false},
    {"shl", "ic", INT, false},
    {"shr", "ic", INT, false},
    {"dadd.x", "ii", INT, true},
    {"fadd", "ff", REAL, false},
    {"fsub", "ff", REAL, false},
    {"fmul", "ff", REAL, false},
    {"fdiv", "ff", REAL, false},
    {"fneg", "f", REAL, false},
    {"fabs", "f", REAL, false},
    {"fmin", "ff", REAL, false},
    {"fmax", "ff", REAL, false},
    {"fsqrt", "f", REAL, false},
    {"ffloor", "f", REAL, false},
    {"fceil", "f", REAL, false},
    {"fround", "f", REAL, false},
    {"ftrunc", "f", REAL, false},
    {"canon", "f", REAL, false},
    {"eq", "ii", BOOL, false},
    {"ne", "ii", BOOL, false},
    {"lt", "ii", BOOL, false},
    {"le", "ii", BOOL, false},
    {"ult", "ii", BOOL, false},
    {"ule", "ii", BOOL, false},
    {"feq", "ff", BOOL, false},
    {"fne", "ff", BOOL, false},
    {"flt", "ff", BOOL, false},
    {"fle", "ff", BOOL, false},
    {"not", "b", BOOL, false},
    {"and", "bb", BOOL, false},
    {"or", "bb", BOOL, false},
    {"itof", "i", REAL, false},
    {"ftoi.x", "f", INT, true},
    {"btoi", "b", INT, false},
    {"itob", "i", BOOL, false},
    {"ftobits", "f", INT, false},
    {"bitstof", "i", REAL, false},
    {"select:i64", "bii", INT, false},
    {"select:f64", "bff", REAL, false},
    {"select:b1", "bbb", BOOL, false},
    {"bif.x:i64 DATE_YMD", "iii", INT, true},
};

/* Comparisons often are of the same two values, so that one tells about the other. */
static bool compare_again(maker *m, const operation *o) {
  if (o->type != BOOL || strcmp(o->args, "ii") != 0 || chance(m, 3) == 0)
    return false;
  unsigned x = 10 + (unsigned)chance(m, 2);
  say(m, "  v%u = %s v%u v%u\n", m->next, o->name, x, 21 - x);
  made(m, BOOL);
  return true;
}

static void compute(maker *m) {
  const operation *o = &operations[chance(m, sizeof operations / sizeof *operations)];
  char args[200] = "", value[40];
  if (compare_again(m, o))
    return;
  for (const char *a = o->args; *a; a++) {
    if (*a == 'c')
      sprintf(value, "%u", (unsigned)chance(m, 64));
    else
      some(m, *a == 'i' ? INT : *a == 'f' ? REAL : BOOL, value);
    strcat(args, " ");
    strcat(args, value);
  }
  if (o->exits)
    sprintf(args + strlen(args), " exit %u", leave(m, "fault"));
  say(m, "  v%u = %s%s\n", m->next, o->name, args);
  made(m, o->type);
}

/* A remainder, and a comparison with the largest that it can be. */
static void divide(maker *m) {
  char value[40];
  unsigned by = 2 + (unsigned)chance(m, 8), exit;
  some(m, INT, value);
  exit = leave(m, "fault");
  say(m, "  v%u = rem.x %s %s%u exit %u\n", m->next, value, chance(m, 4) ? "" : "-", by, exit);
  unsigned rest = made(m, INT);
  say(m, "  v%u = lt v%u %u\n", m->next, rest, by - 1);
  made(m, BOOL);
}

/* Small values, so that bounds mean something. */
static void narrow(maker *m) {
  char value[40];
  if (chance(m, 4) == 0) {
    divide(m);
    return;
  }
  some(m, INT, value);
  say(m, "  v%u = band %s %d\n", m->next, value, (1 << chance(m, 21)) - 1);
  unsigned small = made(m, INT);
  if (chance(m, 3) == 0) {
    static const char *const parts[] = {"YEAR", "MONTH", "DAY", "WEEKDAY"};
    say(m, "  v%u = bif:i64 %s v%u\n", m->next, parts[chance(m, 4)], small);
    made(m, INT);
  }
}

static void guard(maker *m) {
  char value[40];
  some(m, BOOL, value);
  unsigned exit = leave(m, "fault");
  say(m, "  guard %s exit %u\n", value, exit);
}

static void cost(maker *m) {
  say(m, "  v%u = add v%u %u\n", m->next, m->work, (unsigned)chance(m, 20));
  m->work = m->next++;
}

static void body(maker *m, unsigned n);

/* if (c) { .. } else { .. }, joined by phis. */
static void diamond(maker *m) {
  char value[40], one[3][40], other[3][40];
  unsigned yes = m->block, no = yes + 1, from, n = m->n, work = m->work, works[2];
  some(m, BOOL, value);
  m->block += 2;
  say(m, "  branch %s b%u b%u\n", value, yes, no);
  unsigned at = from = m->depth; /* the block that branches */
  say(m, "b%u: b%u\n", yes, at);
  m->depth = yes;
  body(m, 3);
  for (unsigned t = 0; t < 3; t++)
    some(m, (type)t, one[t]);
  works[0] = m->work;
  unsigned yes_end = m->depth, join = m->block++;
  say(m, "  jump b%u\n", join);
  m->n = n;
  m->work = work;
  say(m, "b%u: b%u\n", no, from);
  m->depth = no;
  body(m, 3);
  for (unsigned t = 0; t < 3; t++)
    some(m, (type)t, other[t]);
  works[1] = m->work;
  say(m, "  jump b%u\n", join);
  m->n = n;
  say(m, "b%u: b%u b%u\n", join, yes_end, m->depth);
  m->depth = join;
  static const char *const names[] = {"i64", "f64", "b1"};
  for (unsigned t = 0; t < 3; t++) {
    say(m, "  v%u = phi:%s %s %s\n", m->next, names[t], one[t], other[t]);
    made(m, (type)t);
  }
  say(m, "  v%u = phi:i64 v%u v%u\n", m->next, works[0], works[1]);
  m->work = m->next++;
}

/* Near the ends of what an int can hold, where sums may overflow. */
static void extreme(maker *m, char *out) {
  int64_t far = INT64_MAX - (int64_t)chance(m, 2000);
  sprintf(out, "%lld", (long long)(chance(m, 2) ? far : -far));
}

/* What the counting value and something else make. */
static void of_count(maker *m, unsigned phi) {
  static const char *const ops[] = {"mul.x", "add.x", "sub.x"};
  static const char *const far[] = {"2305843009213693952", "9223372036854775800", "-300",
                                    "-9223372036854775800"};
  unsigned op = (unsigned)chance(m, 3), exit = leave(m, "fault");
  say(m, "  v%u = %s v%u %s exit %u\n", m->next, ops[op], phi, far[chance(m, 4)], exit);
  made(m, INT);
}

/* for i from 0 below something small, with a sum and a landing. */
static void loop(maker *m) {
  static const char *const tests[] = {"lt", "ult", "le"};
  char start[40], bound[40], sum[40];
  unsigned head = m->block, in = head + 1, out = head + 2, before = head + 3;
  m->block += 4;
  some(m, INT, sum);
  say(m, "  v%u = band %s %d\n", m->next, sum, (1 << chance(m, 5)) - 1);
  sprintf(bound, "v%u", made(m, INT));
  sprintf(start, "%u", (unsigned)chance(m, 5));
  if (chance(m, 3) == 0)
    extreme(m, sum);
  unsigned phi = m->next, acc = phi + 1, work = phi + 2, next = phi + 3, more = phi + 4,
           cost_of = phi + 5, entry_work = m->work;
  m->next += 6;
  say(m, "  jump b%u\nb%u: b%u landing %u\n", before, before, m->depth, leave(m, "bulk"));
  say(m, "  jump b%u\nb%u: b%u b%u\n", head, head, before, in);
  say(m, "  v%u = phi:i64 %s v%u\n  v%u = phi:i64 %s v%u\n", phi, start, next, acc, sum, more);
  say(m, "  v%u = phi:i64 v%u v%u\n", work, entry_work, cost_of);
  m->value[m->n].number = phi;
  m->value[m->n++].type = INT;
  m->value[m->n].number = acc;
  m->value[m->n++].type = INT;
  m->work = work;
  m->depth = head;
  unsigned n = m->n, exit = leave(m, "work");
  say(m, "  poll v%u exit %u\n", work, exit);
  say(m, "  v%u = %s v%u %s\n", m->next, tests[chance(m, 3)], phi, bound);
  say(m, "  branch v%u b%u b%u\nb%u: b%u\n", m->next++, in, out, in, head);
  m->depth = in;
  for (unsigned k = (unsigned)chance(m, 4); k--;)
    chance(m, 5) ? compute(m) : narrow(m);
  if (chance(m, 3) == 0)
    of_count(m, phi);
  char term[40];
  some(m, INT, term);
  unsigned over = leave(m, "fault"), part = acc;
  if (chance(m, 2)) {
    part = m->next++;
    say(m, "  v%u = add.x v%u %u exit %u\n", part, acc, (unsigned)chance(m, 500),
        leave(m, "fault"));
  }
  say(m, "  v%u = %s v%u %s exit %u\n", more, chance(m, 2) ? "add.x" : "sub.x", part, term, over);
  say(m, "  v%u = add v%u %u\n", cost_of, work, 1 + (unsigned)chance(m, 9));
  say(m, "  v%u = add v%u 1\n  jump b%u\nb%u: b%u\n", next, phi, head, out, head);
  m->depth = out;
  m->n = n;
}

static void body(maker *m, unsigned n) {
  while (n--) {
    uint64_t kind = chance(m, 12);
    if (m->n > MAX_VALUES - 20)
      return;
    if (kind == 0)
      guard(m);
    else if (kind == 1)
      narrow(m);
    else if (kind == 2)
      cost(m);
    else
      compute(m);
  }
}

char *random_region(uint64_t seed) {
  maker m = {.state = seed * UINT64_C(0x9e3779b97f4a7c15) | 1, .next = 10, .block = 1, .work = 1};
  m.text = calloc(1, 1 << 17);
  m.exits = calloc(1, 1 << 16);
  if (m.text == NULL || m.exits == NULL)
    abort();
  say(&m, "region random fn 0 pc 0 regs 16\nb0:\n  v1 = work\n");
  for (unsigned r = 0; r < 8; r++) {
    say(&m, "  v%u = reg:%s %u\n", m.next, r < 4 ? "i64" : r < 6 ? "f64" : "b1", r);
    made(&m, r < 4 ? INT : r < 6 ? REAL : BOOL);
  }
  for (unsigned k = 3 + (unsigned)chance(&m, 5); k--;) {
    body(&m, (unsigned)chance(&m, 6));
    if (chance(&m, 2))
      diamond(&m);
    else
      loop(&m);
  }
  body(&m, 4);
  unsigned exit = leave(&m, "leave");
  say(&m, "  leave exit %u\n%s", exit, m.exits);
  free(m.exits);
  return m.text;
}
