/* ir/ir_text_parse.c - text to region; docs/ir.md describes the form.
 *
 * Tests are written in it, so it must not trust its input; what is well formed here may still
 * break invariants, which is ir_verify's to say.  A use of vN stands as N with the top bit set
 * until all nodes are known.
 */
#include "ir/ir_int.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define PENDING UINT32_C(0x80000000)
#define MAX_NUMBER (1u << 20) /* values, blocks, exits of a text */
#define MAX_WORD 256

typedef struct {
  const char *at, *end;
  uint32_t line;
  ir_region *r;
  char word[MAX_WORD];
  ir_id *value; /* node of vN */
  uint32_t nvalues;
  uint32_t block; /* the present one */
  uint32_t pc;
  uint8_t *defined; /* blocks met */
  uint32_t ndefined;
  char *why;
  size_t n;
} parser;

__attribute__((format(printf, 2, 3))) static bool wrong(parser *p, const char *format, ...) {
  va_list args;
  va_start(args, format);
  if (p->n && p->why[0] == 0)
    vsnprintf(p->why, p->n, format, args);
  va_end(args);
  return false;
}

static void skip_space(parser *p) {
  while (p->at < p->end && (*p->at == ' ' || *p->at == '\t' || *p->at == '\r'))
    p->at++;
  if (p->at < p->end && *p->at == ';')
    while (p->at < p->end && *p->at != '\n')
      p->at++;
}

/* The next word of the line, or an empty one at its end. */
static const char *peek(parser *p) {
  skip_space(p);
  size_t n = 0;
  for (const char *at = p->at; at < p->end && !strchr(" \t\r\n;", *at); at++)
    if (n + 1 < MAX_WORD)
      p->word[n++] = *at;
  p->word[n] = 0;
  return p->word;
}

static const char *take(parser *p) {
  peek(p);
  while (p->at < p->end && !strchr(" \t\r\n;", *p->at))
    p->at++;
  return p->word;
}

static bool take_if(parser *p, const char *word) {
  if (strcmp(peek(p), word) != 0)
    return false;
  take(p);
  return true;
}

static bool need(parser *p, const char *word) {
  return take_if(p, word) || wrong(p, "`%s` is expected, not `%.60s`", word, peek(p));
}

static bool digits(const char *text, uint64_t base, uint64_t *out) {
  uint64_t n = 0;
  if (*text == 0)
    return false;
  for (; *text; text++) {
    unsigned c = (unsigned char)*text;
    unsigned d = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10u : 99u;
    if (d >= base || n > (UINT64_MAX - d) / base)
      return false;
    n = n * base + d;
  }
  *out = n;
  return true;
}

/* Decimal with an optional sign, or 0x and hexadecimal digits. */
static bool number(const char *text, int64_t *out) {
  uint64_t n;
  bool minus = *text == '-';
  if (strncmp(text, "0x", 2) == 0)
    return digits(text + 2, 16, (uint64_t *)out);
  if (*text == '-' || *text == '+')
    text++;
  if (!digits(text, 10, &n) || n > (uint64_t)INT64_MAX + minus)
    return false;
  *out = (int64_t)(minus ? 0 - n : n);
  return true;
}

static bool take_number(parser *p, int64_t *out) {
  return number(take(p), out) || wrong(p, "a number is expected, not `%.60s`", p->word);
}

/* A number below `limit` behind a prefix: v7, b3, r12, L4. */
static bool numbered(parser *p, const char *text, char prefix, uint32_t limit, uint32_t *out) {
  uint64_t n;
  if (text[0] != prefix || !digits(text + 1, 10, &n) || n >= limit)
    return wrong(p, "`%c` and a number are expected, not `%.60s`", prefix, text);
  *out = (uint32_t)n;
  return true;
}

static bool take_below(parser *p, uint32_t limit, uint32_t *out) {
  int64_t n;
  if (!take_number(p, &n))
    return false;
  if (n < 0 || n >= limit)
    return wrong(p, "%lld is too large", (long long)n);
  *out = (uint32_t)n;
  return true;
}

/* ---- tables that grow with the numbers met */

static bool know_block(parser *p, uint32_t block) {
  while (!p->r->failed && p->r->nblocks <= block) {
    uint32_t b = ir_block_new(p->r);
    p->r->blocks[b].gone = true;
  }
  return !p->r->failed;
}

static bool know_exit(parser *p, uint32_t exit) {
  while (!p->r->failed && p->r->nexits <= exit) {
    uint32_t x = ir_exit_new(p->r);
    p->r->exits[x].pc = IR_NO_PC; /* not described yet */
  }
  return !p->r->failed;
}

static bool know_value(parser *p, uint32_t v) {
  if (v < p->nvalues)
    return true;
  uint32_t n = v * 2 + 64;
  ir_id *grown = ir_alloc(p->r, n, sizeof *grown);
  if (grown == NULL)
    return false;
  if (p->nvalues)
    memcpy(grown, p->value, p->nvalues * sizeof *grown);
  p->value = grown;
  p->nvalues = n;
  return true;
}

/* ---- values */

static bool value(parser *p, const char *text, ir_id *out) {
  int64_t n;
  uint32_t v;
  if (text[0] == 'v') {
    if (!numbered(p, text, 'v', MAX_NUMBER, &v))
      return false;
    *out = v | PENDING;
    return true;
  }
  if (strncmp(text, "f#", 2) == 0 && digits(text + 2, 16, (uint64_t *)&n))
    *out = ir_real(p->r, (uint64_t)n);
  else if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0)
    *out = ir_bool(p->r, text[0] == 't');
  else if (number(text, &n))
    *out = ir_int(p->r, n);
  else
    return wrong(p, "a value is expected, not `%.60s`", text);
  return true;
}

/* rN=value */
static bool slot(parser *p, char *text, uint32_t *reg, ir_id *out) {
  char *equals = strchr(text, '=');
  if (equals == NULL)
    return wrong(p, "rN=value is expected, not `%.60s`", text);
  *equals = 0;
  return numbered(p, text, 'r', VM_MAX_REGS, reg) && value(p, equals + 1, out);
}

static bool take_exit(parser *p, uint32_t *exit) {
  return take_below(p, MAX_NUMBER, exit) && know_exit(p, *exit);
}

/* ---- nodes */

static bool find_op(parser *p, char *name, ir_op *op, ir_type *type) {
  char *colon = strchr(name, ':');
  if (colon)
    *colon = 0;
  *type = IR_NONE;
  for (unsigned t = IR_I64; colon && t <= IR_PTR; t++)
    if (strcmp(colon + 1, ir_type_name((ir_type)t)) == 0)
      *type = (ir_type)t;
  for (unsigned o = 0; o < IR_NOPS; o++) {
    if (strcmp(name, ir_op_read((ir_op)o)->name) != 0)
      continue;
    *op = (ir_op)o;
    if (ir_op_read(*op)->same != (*type != IR_NONE))
      return wrong(p, "%s: bad type", name);
    return true;
  }
  return wrong(p, "there is no operation `%.60s`", name);
}

static bool take_list(parser *p, ir_node *n, bool with_col) {
  char *text = (char *)(uintptr_t)take(p), *dot = strchr(text, '.');
  uint32_t list, col = 0;
  if (with_col != (dot != NULL))
    return wrong(p, "L and a list%s are expected", with_col ? ".column" : "");
  if (dot)
    *dot = 'c';
  bool fine = !dot || numbered(p, dot, 'c', LS_MAX_COLS, &col);
  if (dot)
    *dot = 0;
  if (!fine || !numbered(p, text, 'L', VM_MAX_LISTS, &list))
    return false;
  n->list = (uint8_t)list;
  n->col = (uint8_t)col;
  return true;
}

static bool take_width(parser *p, ir_node *n) {
  static const char *const names[] = {"u8", "u16", "u32", "u64"};
  take(p);
  for (unsigned w = 0; w < 4; w++) {
    if (strcmp(p->word, names[w]) != 0)
      continue;
    n->width = (uint8_t)w;
    return true;
  }
  return wrong(p, "a width is expected, not `%.60s`", p->word);
}

static bool take_builtin(parser *p, ir_node *n) {
  take(p);
  for (unsigned b = 0; b < VM_NBUILTINS; b++) {
    if (strcmp(p->word, vm_builtin_read((vm_builtin)b)->id) != 0)
      continue;
    n->imm = b;
    return true;
  }
  return wrong(p, "there is no builtin `%.60s`", p->word);
}

static bool take_attributes(parser *p, ir_node *n) {
  uint8_t has = ir_facts_of(n)->attributes;
  if ((has & IR_HAS_LIST) && !take_list(p, n, (has & IR_HAS_COL) != 0))
    return false;
  if ((has & IR_HAS_WIDTH) && !take_width(p, n))
    return false;
  if (n->op == IR_OP_BIF || n->op == IR_OP_BIFX)
    return take_builtin(p, n);
  return !(has & IR_HAS_IMM) || take_number(p, &n->imm);
}

typedef struct {
  ir_id arg[1024];
  uint16_t reg[1024];
  unsigned n;
} operands;

/* What follows pc: the record, and the arguments. */
static bool take_step(parser *p, ir_node *n, operands *o) {
  uint32_t number = ir_step_new(p->r), list, reg;
  ir_step s = {.pc = 0};
  n->imm = number;
  if (!need(p, "pc") || !take_below(p, VM_MAX_CODE, &s.pc))
    return false;
  s.metered = take_if(p, "metered");
  s.calls = take_if(p, "calls");
  if (take_if(p, "kills"))
    while (peek(p)[0] == 'L') {
      if (!numbered(p, take(p), 'L', VM_MAX_LISTS, &list))
        return false;
      s.kills[list / 64] |= UINT64_C(1) << (list % 64);
    }
  if (s.metered) {
    if (strncmp(take(p), "work=", 5) != 0 || !value(p, p->word + 5, &o->arg[o->n++]))
      return wrong(p, "work= is expected");
  }
  while (peek(p)[0] == 'r' && o->n < 1024) {
    take(p);
    if (!slot(p, p->word, &reg, &o->arg[o->n]))
      return false;
    o->reg[o->n++ - s.metered] = (uint16_t)reg;
  }
  s.nregs = o->n - s.metered;
  s.reg = ir_alloc(p->r, s.nregs, sizeof *s.reg);
  if (s.reg == NULL)
    return false;
  memcpy(s.reg, o->reg, s.nregs * sizeof *s.reg);
  p->r->steps[number] = s;
  return true;
}

static bool take_targets(parser *p, ir_node *n) {
  ir_block *b = &p->r->blocks[p->block];
  unsigned count = n->op == IR_OP_JUMP ? 1 : n->op == IR_OP_BRANCH ? 2 : 0;
  for (unsigned s = 0; s < count; s++) {
    uint32_t to;
    if (!numbered(p, take(p), 'b', MAX_NUMBER, &to) || !know_block(p, to))
      return false;
    b = &p->r->blocks[p->block];
    b->succ[s] = to;
  }
  return true;
}

static bool take_args(parser *p, ir_node *n, operands *o) {
  if (n->op == IR_OP_STEP) {
    if (!take_step(p, n, o))
      return false;
  } else {
    const char *w;
    while (*(w = peek(p)) && w[0] != 'b' && strcmp(w, "exit") != 0) {
      if (o->n == 1024)
        return wrong(p, "too many arguments");
      take(p);
      if (!value(p, p->word, &o->arg[o->n++]))
        return false;
    }
  }
  n->arg = ir_alloc(p->r, o->n, sizeof *n->arg);
  if (n->arg == NULL)
    return false;
  memcpy(n->arg, o->arg, o->n * sizeof *n->arg);
  n->nargs = (uint16_t)o->n;
  return true;
}

static bool parse_node(parser *p) {
  uint32_t v = 0;
  ir_op op = IR_OP_INT;
  ir_type type = IR_NONE;
  operands o;
  o.n = 0;
  if (peek(p)[0] == 'v') {
    if (!numbered(p, take(p), 'v', MAX_NUMBER, &v) || !need(p, "=") || !know_value(p, v))
      return false;
    if (p->value[v])
      return wrong(p, "v%u has a value already", v);
  }
  take(p);
  if (!find_op(p, p->word, &op, &type))
    return false;
  ir_id id = ir_node_new(p->r, op, type, 0, NULL);
  ir_node *n = ir_at(p->r, id);
  if (v)
    p->value[v] = id;
  n->pc = p->pc;
  if (op != IR_OP_STEP && !take_attributes(p, n))
    return false;
  if (!take_args(p, n, &o) || !take_targets(p, n))
    return false;
  if (take_if(p, "exit") && !take_exit(p, &n->exit))
    return false;
  ir_node_append(p->r, p->block, id);
  return true;
}

/* ---- blocks, exits, header */

static bool take_poll(parser *p, ir_block *b) {
  return take_exit(p, &b->poll) && need(p, "every") && take_below(p, MAX_NUMBER, &b->every);
}

static bool parse_block(parser *p) {
  uint32_t block;
  char *text = (char *)(uintptr_t)take(p);
  text[strlen(text) - 1] = 0; /* the colon */
  if (!numbered(p, text, 'b', MAX_NUMBER, &block) || !know_block(p, block))
    return false;
  if (block != 0 && !p->r->blocks[block].gone)
    return wrong(p, "b%u is there already", block);
  p->block = block;
  p->r->blocks[block].gone = false;
  while (peek(p)[0] == 'b') {
    uint32_t pred;
    if (!numbered(p, take(p), 'b', MAX_NUMBER, &pred))
      return false;
    ir_block_add_pred(p->r, block, pred);
  }
  ir_block *b = &p->r->blocks[block];
  b->cold = take_if(p, "cold");
  if (take_if(p, "landing") && !take_exit(p, &b->landing))
    return false;
  if (take_if(p, "poll") && !take_poll(p, b))
    return false;
  if (take_if(p, "pc") && !take_below(p, VM_MAX_CODE, &b->pc))
    return false;
  p->pc = b->pc;
  return true;
}

static bool take_reason(parser *p, ir_exit *x) {
  take(p);
  for (unsigned e = 0; e < IR_NEXITS; e++) {
    if (strcmp(p->word, ir_exit_name((ir_reason)e)) != 0)
      continue;
    x->reason = (uint8_t)e;
    x->raised = e == IR_EXIT_RAISED;
    return true;
  }
  return wrong(p, "there is no reason `%.60s`", p->word);
}

static bool parse_exit(parser *p) {
  static const ir_slot none;
  ir_slot slots[1024];
  ir_exit x = {.pc = 0};
  uint32_t exit;
  char *text = (char *)(uintptr_t)take(p);
  size_t len = strlen(text);
  uint64_t n;
  if (len)
    text[len - 1] = 0;
  if (!digits(text, 10, &n) || n >= MAX_NUMBER)
    return wrong(p, "exit N: is expected");
  exit = (uint32_t)n;
  if (!know_exit(p, exit) || !need(p, "pc") || !take_below(p, VM_MAX_CODE, &x.pc) ||
      !take_reason(p, &x))
    return false;
  if (!x.raised) {
    if (!need(p, "work"))
      return false;
    char *work = (char *)(uintptr_t)take(p), *plus = strpbrk(work + (*work != 0), "+-");
    char more[32] = "0";
    if (plus)
      snprintf(more, sizeof more, "%s", plus);
    if (plus)
      *plus = 0;
    if (!value(p, work, &x.work) || !number(more, &x.more))
      return wrong(p, "bad work");
  }
  while (*peek(p) && x.nslots < 1024) {
    slots[x.nslots] = none;
    take(p);
    if (!slot(p, p->word, &slots[x.nslots].reg, &slots[x.nslots].value))
      return false;
    x.nslots++;
  }
  x.slots = ir_alloc(p->r, x.nslots, sizeof *x.slots);
  if (x.slots == NULL)
    return false;
  memcpy(x.slots, slots, x.nslots * sizeof *slots);
  p->r->exits[exit] = x;
  return true;
}

static bool take_types(parser *p, ir_list *l) {
  const char *text = take(p);
  l->types = ir_alloc(p->r, LS_MAX_COLS, 1);
  if (l->types == NULL)
    return false;
  while (*text) {
    size_t len = strcspn(text, ",");
    unsigned t = 0;
    while (t < LS_NTYPES && (strlen(vm_type_name((ls_type)t)) != len ||
                             strncmp(text, vm_type_name((ls_type)t), len) != 0))
      t++;
    if (t == LS_NTYPES || l->ncols == LS_MAX_COLS)
      return wrong(p, "bad columns");
    l->types[l->ncols++] = (uint8_t)t;
    text += len + (text[len] == ',');
  }
  return true;
}

static bool parse_list(parser *p) {
  ir_region *r = p->r;
  uint32_t number, keys;
  int64_t n;
  if (r->lists == NULL)
    r->lists = ir_alloc(r, VM_MAX_LISTS, sizeof *r->lists);
  if (r->lists == NULL || !take_below(p, VM_MAX_LISTS, &number))
    return false;
  if (number != r->nlists)
    return wrong(p, "list %u is expected", r->nlists);
  ir_list *l = &r->lists[r->nlists++];
  take(p);
  l->name = ir_copy_name(r, p->word, strlen(p->word));
  l->stored = take_if(p, "stored");
  if (!need(p, "keys") || !take_below(p, LS_MAX_KEYS + 1, &keys) || !need(p, "cols") ||
      !take_types(p, l))
    return false;
  l->nkeys = (uint16_t)keys;
  if (take_if(p, "checked"))
    l->facts.trust = IR_CHECKED;
  else if (take_if(p, "guarded"))
    l->facts.trust = IR_GUARDED;
  else if (!need(p, "any"))
    return false;
  if (l->facts.trust != IR_ANY && !take_number(p, (int64_t *)&l->facts.shape))
    return false;
  l->facts.direct = take_if(p, "direct");
  if (take_if(p, "rows")) {
    if (!take_number(p, &n))
      return false;
    l->facts.rows = (uint64_t)n;
  }
  return true;
}

static bool parse_region(parser *p) {
  ir_region *r = p->r;
  int64_t n;
  take(p);
  r->name = ir_copy_name(r, p->word, strlen(p->word));
  if (!need(p, "fn") || !take_below(p, VM_MAX_FNS, &r->fn) || !need(p, "pc") ||
      !take_below(p, VM_MAX_CODE, &r->pc) || !need(p, "regs") ||
      !take_below(p, VM_MAX_REGS + 1, &r->nregs))
    return false;
  if (take_if(p, "l2")) {
    if (!take_number(p, &n))
      return false;
    r->l2_bytes = (uint64_t)n;
  }
  if (take_if(p, "distance") && !take_below(p, 1u << 16, &r->distance))
    return false;
  return !take_if(p, "strip") || take_below(p, MAX_NUMBER, &r->strip);
}

static bool parse_line(parser *p) {
  const char *w = peek(p);
  size_t len = strlen(w);
  if (len == 0)
    return true;
  if (w[0] == 'b' && w[len - 1] == ':')
    return parse_block(p);
  if (strcmp(w, "region") == 0)
    return take(p), parse_region(p);
  if (strcmp(w, "list") == 0)
    return take(p), parse_list(p);
  if (strcmp(w, "exit") == 0)
    return take(p), parse_exit(p);
  if (w[0] == '@') {
    take(p);
    return numbered(p, p->word, '@', VM_MAX_CODE, &p->pc);
  }
  return parse_node(p);
}

/* ---- the end: uses get their nodes */

static bool resolve(parser *p, ir_id *use, uint32_t where) {
  if (!(*use & PENDING))
    return true;
  uint32_t v = *use & ~PENDING;
  if (v >= p->nvalues || p->value[v] == 0) {
    p->line = 0;
    return wrong(p, "v%u has no value (used in %s %u)", v, where & PENDING ? "exit" : "block",
                 where & ~PENDING);
  }
  *use = p->value[v];
  return true;
}

static bool is_described(parser *p, uint32_t exit) {
  if (exit == IR_NO_EXIT || p->r->exits[exit].pc != IR_NO_PC)
    return true;
  p->line = 0;
  return wrong(p, "exit %u is not described", exit);
}

static bool resolve_node(parser *p, ir_node *n, uint32_t block) {
  for (unsigned k = 0; k < n->nargs; k++)
    if (!resolve(p, &n->arg[k], block))
      return false;
  return is_described(p, n->exit);
}

static bool resolve_all(parser *p) {
  ir_region *r = p->r;
  for (uint32_t b = 0; b < r->nblocks; b++) {
    if (!is_described(p, r->blocks[b].landing) || !is_described(p, r->blocks[b].poll))
      return false;
    for (ir_id id = r->blocks[b].first; id; id = ir_at(r, id)->next)
      if (!resolve_node(p, ir_at(r, id), b))
        return false;
  }
  for (uint32_t e = 0; e < r->nexits; e++) {
    ir_exit *x = &r->exits[e];
    if (!resolve(p, &x->work, e | PENDING))
      return false;
    for (uint32_t s = 0; s < x->nslots; s++)
      if (!resolve(p, &x->slots[s].value, e | PENDING))
        return false;
  }
  return true;
}

static bool parse(parser *p) {
  while (p->at < p->end) {
    p->line++;
    if (!parse_line(p) || p->r->failed)
      return false;
    if (*peek(p))
      return wrong(p, "`%.60s` is too much", p->word);
    if (p->at < p->end)
      p->at++; /* the end of the line */
  }
  return resolve_all(p);
}

ir_status ir_parse(ls_mem *mem, const char *text, size_t len, ir_region **out, uint32_t *line,
                   char *why, size_t n) {
  parser p = {.at = text, .end = text + len, .pc = IR_NO_PC, .why = why, .n = n};
  *out = NULL;
  *line = 0;
  if (n)
    why[0] = 0;
  p.r = ir_region_new(mem);
  if (p.r == NULL)
    return IR_NO_MEMORY;
  bool fine = parse(&p);
  ir_status status = p.r->failed ? IR_NO_MEMORY : fine ? IR_OK : IR_REFUSED;
  if (status == IR_OK)
    *out = p.r;
  else
    ir_region_delete(p.r);
  *line = p.line;
  return status;
}
