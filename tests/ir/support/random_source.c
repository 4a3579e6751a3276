#include "tests/ir/support/random_source.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NAMES 24

typedef enum { T_INT, T_REAL, T_BOOL } type;

typedef struct {
  const char *name;
  bool stored, keyed;
  unsigned nkeys, ncols;
  const char *cols[4];
  type types[4];
} list;

static const list lists[] = {
    {"s", true, true, 1, 3, {"k", "v", "z"}, {T_INT, T_INT, T_BOOL}},
    {"e", true, true, 2, 3, {"a", "b", "w"}, {T_INT, T_INT, T_REAL}},
    {"p", true, false, 0, 3, {"x", "y", "z"}, {T_INT, T_INT, T_BOOL}},
    {"t", true, true, 3, 4, {"a", "b", "c", "r"}, {T_INT, T_INT, T_INT, T_REAL}},
    {"d", false, true, 1, 3, {"k", "v", "r"}, {T_INT, T_INT, T_REAL}},
    {"h", false, true, 2, 3, {"a", "b", "n"}, {T_INT, T_INT, T_INT}},
    {"f", false, false, 0, 2, {"x", "r"}, {T_INT, T_REAL}},
};
#define NLISTS 7

typedef struct {
  char name[12];
  type type;
  bool changes;
} variable;

typedef struct {
  char name[12];
  const list *list;
} row;

typedef struct {
  uint64_t state;
  char *text;
  size_t len, cap;
  unsigned indent, names, budget, depth, loops;
  variable vars[MAX_NAMES];
  row rows[MAX_NAMES];
  unsigned nvars, nrows;
  bool event, helper, small;
} maker;

static uint64_t chance(maker *m, uint64_t n) {
  m->state ^= m->state << 13;
  m->state ^= m->state >> 7;
  m->state ^= m->state << 17;
  return (m->state >> 11) % n;
}

__attribute__((format(printf, 2, 3))) static void put(maker *m, const char *format, ...) {
  va_list args;
  if (m->len + 400 > m->cap) {
    m->cap = m->cap * 2 + 4000;
    m->text = realloc(m->text, m->cap);
    if (m->text == NULL)
      abort();
  }
  va_start(args, format);
  m->len += (size_t)vsnprintf(m->text + m->len, m->cap - m->len, format, args);
  va_end(args);
}

static void line(maker *m) { put(m, "\n%*s", (int)m->indent * 2, ""); }

/* ---- expressions */

static void expr(maker *m, type t, unsigned depth);
static void bounds(maker *m, const list *l);

static void number(maker *m) {
  static const char *const odd[] = {"255",        "256",
                                    "65535",      "65536",
                                    "4294967296", "9223372036854775807",
                                    "-1",         "-9223372036854775808"};
  if (chance(m, 20) == 0)
    put(m, "%s", odd[chance(m, 8)]);
  else
    put(m, "%d", (int)chance(m, 24));
}

static void literal(maker *m, type t) {
  if (t == T_INT)
    number(m);
  else if (t == T_REAL)
    put(m, "%d.%d", (int)chance(m, 10), (int)chance(m, 100));
  else
    put(m, chance(m, 2) ? "true" : "false");
}

static bool some_variable(maker *m, type t) {
  unsigned at = (unsigned)chance(m, m->nvars + 1);
  for (unsigned k = 0; k < m->nvars; k++) {
    const variable *v = &m->vars[(at + k) % m->nvars];
    if (v->type == t)
      return put(m, "%s", v->name), true;
  }
  return false;
}

static bool some_column(maker *m, type t) {
  if (m->nrows == 0)
    return false;
  const row *r = &m->rows[chance(m, m->nrows)];
  unsigned at = (unsigned)chance(m, r->list->ncols);
  for (unsigned k = 0; k < r->list->ncols; k++) {
    unsigned c = (at + k) % r->list->ncols;
    if (r->list->types[c] == t)
      return put(m, "%s.%s", r->name, r->list->cols[c]), true;
  }
  return false;
}

static void leaf(maker *m, type t) {
  if (chance(m, 3) && some_column(m, t))
    return;
  if (chance(m, 4) && some_variable(m, t))
    return;
  literal(m, t);
}

static const list *some_list(maker *m, bool keyed) {
  for (;;) {
    const list *l = &lists[chance(m, NLISTS)];
    if (l->keyed == keyed && (!m->helper || l->stored))
      return l;
  }
}

static void keys(maker *m, unsigned n, unsigned depth) {
  for (unsigned k = 0; k < n; k++) {
    if (k)
      put(m, ", ");
    expr(m, T_INT, depth);
  }
}

static void int_expr(maker *m, unsigned depth) {
  static const char *const ops[] = {"+", "-", "*", "+", "-", "%", "/"};
  const list *l;
  switch (chance(m, 10)) {
  case 0:
    put(m, "count(%s)", some_list(m, chance(m, 2))->name);
    return;
  case 1:
    l = some_list(m, true);
    put(m, "count(%s[", l->name);
    bounds(m, l);
    put(m, "])");
    return;
  case 2:
    put(m, "%s(", chance(m, 2) ? "min" : "max");
    keys(m, 2, depth - 1);
    put(m, ")");
    return;
  case 3:
    put(m, "int(");
    expr(m, chance(m, 2) ? T_BOOL : T_REAL, depth - 1);
    put(m, ")");
    return;
  case 4:
    put(m, "abs(");
    expr(m, T_INT, depth - 1);
    put(m, ")");
    return;
  default:
    put(m, "(");
    expr(m, T_INT, depth - 1);
    put(m, " %s ", ops[chance(m, 7)]);
    if (chance(m, 3))
      literal(m, T_INT);
    else
      expr(m, T_INT, depth - 1);
    put(m, ")");
  }
}

static void bool_expr(maker *m, unsigned depth) {
  static const char *const ops[] = {"<", "<=", ">", ">=", "=", "!="};
  const list *l;
  type t;
  switch (chance(m, 6)) {
  case 0:
    l = some_list(m, true);
    put(m, "((");
    keys(m, l->nkeys, depth - 1);
    put(m, ") %s %s)", chance(m, 2) ? "in" : "not in", l->name);
    return;
  case 1:
    put(m, "(not ");
    expr(m, T_BOOL, depth - 1);
    put(m, ")");
    return;
  case 2:
    put(m, "(");
    expr(m, T_BOOL, depth - 1);
    put(m, chance(m, 2) ? " and " : " or ");
    expr(m, T_BOOL, depth - 1);
    put(m, ")");
    return;
  default:
    t = chance(m, 4) ? T_INT : T_REAL;
    put(m, "(");
    expr(m, t, depth - 1);
    put(m, " %s ", ops[chance(m, 6)]);
    expr(m, t, depth - 1);
    put(m, ")");
  }
}

static void real_expr(maker *m, unsigned depth) {
  static const char *const ops[] = {"+", "-", "*", "/"};
  static const char *const calls[] = {"abs", "floor", "round", "trunc", "ceil"};
  switch (chance(m, 5)) {
  case 0:
    put(m, "real(");
    expr(m, T_INT, depth - 1);
    put(m, ")");
    return;
  case 1:
    put(m, "%s(", calls[chance(m, 5)]);
    expr(m, T_REAL, depth - 1);
    put(m, ")");
    return;
  default:
    put(m, "(");
    expr(m, T_REAL, depth - 1);
    put(m, " %s ", ops[chance(m, 4)]);
    expr(m, T_REAL, depth - 1);
    put(m, ")");
  }
}

static void expr(maker *m, type t, unsigned depth) {
  if (depth == 0 || chance(m, 3) == 0)
    leaf(m, t);
  else if (t == T_INT)
    int_expr(m, depth);
  else if (t == T_REAL)
    real_expr(m, depth);
  else
    bool_expr(m, depth);
}

/* A key that is often there. */
static void near_key(maker *m) {
  if (chance(m, 3))
    put(m, "%d", (int)chance(m, 24));
  else
    expr(m, T_INT, 1);
}

static void near_keys(maker *m, unsigned n) {
  for (unsigned k = 0; k < n; k++) {
    if (k)
      put(m, ", ");
    near_key(m);
  }
}

/* ---- statements */

static void block(maker *m);

static void name_variable(maker *m, type t, bool changes, const char *word) {
  variable *v = &m->vars[m->nvars];
  snprintf(v->name, sizeof v->name, "v%u", m->names++);
  v->type = t;
  v->changes = changes;
  put(m, "%s %s = ", word, v->name);
}

static void stmt_variable(maker *m) {
  type t = (type)chance(m, 3);
  bool changes = chance(m, 2);
  if (m->nvars == MAX_NAMES)
    return;
  line(m);
  name_variable(m, t, changes, changes ? "var" : "let");
  expr(m, t, 2);
  m->nvars++;
}

static void stmt_assign(maker *m) {
  unsigned at = (unsigned)chance(m, m->nvars + 1);
  for (unsigned k = 0; k < m->nvars; k++) {
    const variable *v = &m->vars[(at + k) % m->nvars];
    if (!v->changes)
      continue;
    line(m);
    if (v->type == T_INT && chance(m, 2))
      put(m, "%s %s ", v->name, chance(m, 2) ? "+=" : "-=");
    else
      put(m, "%s = ", v->name);
    expr(m, v->type, 2);
    return;
  }
}

/* A list that may be written here, or NULL: there is none. */
static const list *writable(maker *m) {
  if (m->helper && !m->event)
    return NULL;
  for (;;) {
    const list *l = &lists[chance(m, NLISTS)];
    if (m->helper ? l->stored && m->event : !l->stored || m->event)
      return l;
  }
}

static void values(maker *m, const list *l, unsigned from) {
  for (unsigned c = from; c < l->ncols; c++) {
    if (c > from)
      put(m, ", ");
    if (c < l->nkeys)
      near_key(m);
    else
      expr(m, l->types[c], 1);
  }
}

static void stmt_add(maker *m) {
  const list *l = writable(m);
  if (l == NULL)
    return;
  line(m);
  put(m, "%s %s (", l->keyed && chance(m, 8) ? "put" : "add", l->name);
  values(m, l, 0);
  put(m, ")");
}

static void stmt_remove(maker *m) {
  const list *l = writable(m);
  if (l == NULL)
    return;
  line(m);
  if (!l->keyed && chance(m, 2)) {
    put(m, "sort %s by %s%s", l->name, l->cols[chance(m, l->ncols)], chance(m, 2) ? " desc" : "");
  } else if (!l->keyed || chance(m, 6) == 0) {
    put(m, "clear %s", l->name);
  } else {
    char key[60] = "";
    for (unsigned k = 0; k < l->nkeys; k++)
      sprintf(key + strlen(key), k ? ", %u" : "%u", (unsigned)chance(m, 24));
    put(m, "if (%s) in %s { delete %s[%s] }", key, l->name, l->name, key);
  }
}

static void stmt_field(maker *m) {
  if (m->nrows == 0)
    return;
  const row *r = &m->rows[chance(m, m->nrows)];
  if (r->list->stored && !m->event)
    return;
  unsigned c = r->list->nkeys + (unsigned)chance(m, r->list->ncols - r->list->nkeys);
  line(m);
  put(m, "%s.%s %s ", r->name, r->list->cols[c],
      r->list->types[c] != T_BOOL && chance(m, 2) ? "+=" : "=");
  expr(m, r->list->types[c], 1);
}

static void name_row(maker *m, const list *l) {
  row *r = &m->rows[m->nrows];
  snprintf(r->name, sizeof r->name, "r%u", m->names++);
  r->list = l;
}

static void stmt_row(maker *m) {
  const list *l = some_list(m, true);
  if (m->nrows == MAX_NAMES)
    return;
  bool or = chance(m, 2) && (m->helper ? m->event : !l->stored || m->event);
  name_row(m, l);
  line(m);
  put(m, "let %s = %s[", m->rows[m->nrows].name, l->name);
  near_keys(m, l->nkeys);
  if (or) {
    put(m, "] or (");
    values(m, l, l->nkeys);
    put(m, ")");
  } else {
    put(m, "] else { return 0 }");
  }
  m->nrows++;
}

static void stmt_if(maker *m) {
  line(m);
  put(m, "if ");
  expr(m, T_BOOL, 2);
  block(m);
  if (chance(m, 2)) {
    put(m, " else");
    block(m);
  }
}

static void stmt_if_let(maker *m) {
  const list *l = some_list(m, chance(m, 3) != 0);
  if (m->nrows == MAX_NAMES)
    return;
  name_row(m, l);
  line(m);
  unsigned how = (unsigned)chance(m, 4);
  put(m, "if let %s = ", m->rows[m->nrows].name);
  if (how < 2 || !l->keyed) {
    put(m, "%s[", l->name);
    near_keys(m, l->keyed ? l->nkeys : 1);
    put(m, "]");
  } else {
    put(m, "%s(%s)", how == 2 ? "first" : "last", l->name);
  }
  m->nrows++;
  block(m);
  m->nrows--;
}

/* Some key columns, and perhaps a range on the next. */
static void bounds(maker *m, const list *l) {
  unsigned n = (unsigned)chance(m, l->nkeys), k;
  for (k = 0; k < n; k++) {
    if (k)
      put(m, ", ");
    near_key(m);
  }
  if (n && chance(m, 2))
    return;
  if (k)
    put(m, ", ");
  if (chance(m, 3))
    put(m, "%d", (int)chance(m, 12));
  put(m, "..%d", (int)chance(m, 40));
}

static void slice(maker *m, const list *l) {
  put(m, "%s", l->name);
  if (!l->keyed || chance(m, 3) == 0)
    return;
  put(m, "[");
  bounds(m, l);
  put(m, "]");
}

static void stmt_rows(maker *m) {
  const list *l = some_list(m, chance(m, 3) != 0);
  if (m->nrows == MAX_NAMES || m->loops == 3)
    return;
  name_row(m, l);
  line(m);
  put(m, "for %s in ", m->rows[m->nrows].name);
  slice(m, l);
  m->nrows++;
  m->loops++;
  block(m);
  m->loops--;
  m->nrows--;
}

static void stmt_numbers(maker *m) {
  if (m->nvars == MAX_NAMES || m->loops == 3)
    return;
  line(m);
  variable *v = &m->vars[m->nvars];
  snprintf(v->name, sizeof v->name, "v%u", m->names++);
  v->type = T_INT;
  v->changes = false;
  put(m, "for %s in %d..", v->name, (int)chance(m, 6));
  if (chance(m, 4))
    put(m, "%d", (int)chance(m, 12));
  else
    put(m, "min(n, 12)");
  m->nvars++;
  m->loops++;
  block(m);
  m->loops--;
  m->nvars--;
}

static void stmt_while(maker *m) {
  if (m->nvars == MAX_NAMES || m->loops == 3)
    return;
  line(m);
  name_variable(m, T_INT, false, "var");
  const char *name = m->vars[m->nvars++].name;
  put(m, "%d", (int)chance(m, 4));
  line(m);
  put(m, "while %s < %d", name, (int)chance(m, 10) + 2);
  if (chance(m, 3) == 0) {
    put(m, " and ");
    expr(m, T_BOOL, 1);
  }
  put(m, " {");
  m->indent++;
  m->loops++;
  line(m);
  put(m, "%s += %d", name, 1 + (int)chance(m, 2));
  put(m, "\n%*sif true", (int)m->indent * 2, "");
  block(m);
  m->indent--;
  m->loops--;
  line(m);
  put(m, "}");
}

static void stmt_leave(maker *m) {
  line(m);
  put(m, "if ");
  expr(m, T_BOOL, 1);
  if (m->loops && chance(m, 2))
    put(m, " { %s }", chance(m, 2) ? "break" : "continue");
  else {
    put(m, " { return ");
    expr(m, T_INT, 1);
    put(m, " }");
  }
}

static void stmt_call(maker *m) {
  if (m->helper || m->nvars == MAX_NAMES)
    return;
  line(m);
  name_variable(m, T_INT, true, "var");
  put(m, "%s(", m->event && !m->small && chance(m, 2) ? "change" : "ask");
  near_key(m);
  put(m, ")");
  m->nvars++;
}

static void statement(maker *m) {
  static void (*const kinds[])(maker *) = {
      stmt_variable, stmt_assign, stmt_assign, stmt_assign, stmt_add,  stmt_add,
      stmt_add,      stmt_add,    stmt_field,  stmt_field,  stmt_row,  stmt_if,
      stmt_if,       stmt_if_let, stmt_rows,   stmt_rows,   stmt_rows, stmt_rows,
      stmt_numbers,  stmt_while,  stmt_remove, stmt_leave,  stmt_call};
  if (m->budget == 0)
    return;
  m->budget--;
  kinds[chance(m, sizeof kinds / sizeof *kinds)](m);
}

static void block(maker *m) {
  unsigned vars = m->nvars, rows = m->nrows;
  put(m, " {");
  m->indent++;
  m->depth++;
  for (unsigned n = 1 + (unsigned)chance(m, 4); n-- && m->depth < 6;)
    statement(m);
  line(m);
  put(m, "let u%u = 0", m->names++); /* a block is never empty */
  m->depth--;
  m->indent--;
  line(m);
  put(m, "}");
  m->nvars = vars;
  m->nrows = rows;
}

static void function(maker *m, const char *word, const char *name, bool event, bool helper) {
  m->nvars = m->nrows = m->depth = m->loops = 0;
  m->event = event;
  m->helper = helper;
  m->budget = m->small ? 7 : 30;
  m->indent = 1;
  m->vars[m->nvars++] = (variable){"n", T_INT, false};
  put(m, "%s %s(n: int): int {", word, name);
  if (!helper)
    put(m,
        "\n  local d (k: int, v: int, r: real) key k\n  local h (a: int, b: int, n: int) key (a, b)"
        "\n  local f (x: int, r: real)\n  var out = 0");
  else
    put(m, "\n  var out = 0");
  m->vars[m->nvars++] = (variable){"out", T_INT, true};
  for (unsigned n = m->small ? 3 : 4 + (unsigned)chance(m, 6); n--;)
    statement(m);
  put(m, "\n  return out\n}\n\n");
}

static void begin(maker *m, uint64_t seed, bool small) {
  *m = (maker){.state = seed * UINT64_C(0x9e3779b97f4a7c15) | 1, .small = small};
  for (unsigned k = 0; k < 8; k++)
    chance(m, 2);
  put(m, "list s (k: int, v: int, z: bool) key k\n"
         "list e (a: int, b: int, w: real) key (a, b)\n"
         "list p (x: int, y: int, z: bool)\n"
         "list t (a: int, b: int, c: int, r: real) key (a, b, c)\n\n");
}

char *random_source(uint64_t seed) {
  maker m;
  begin(&m, seed, false);
  function(&m, "fn", "ask", false, true);
  function(&m, "fn", "change", true, true);
  function(&m, "query", "question", false, false);
  function(&m, "event", "happens", true, false);
  return m.text;
}

char *random_source_small(uint64_t seed) {
  maker m;
  begin(&m, seed, true);
  function(&m, "fn", "ask", false, true);
  if (chance(&m, 2))
    function(&m, "query", "question", false, false);
  else
    function(&m, "event", "happens", true, false);
  return m.text;
}
