/* vm/lang/lang_emit_const.c - constants: the module's table, and those kept in registers. */
#include "vm/lang/lang_emit.h"

#include <string.h>

typedef struct {
  uint8_t type;
  uint32_t text_len;
  ls_val value;
  const char *text;
  uint32_t chain; /* the next with the same hash, + 1 */
} const_entry;

#define NBUCKETS 1024u

struct lang_consts {
  const_entry *at;
  uint32_t n, cap;
  uint32_t buckets[NBUCKETS]; /* number + 1 */
};

bool lang_consts_new(lang_builder *b) {
  b->consts = lang_alloc(b->cx, sizeof *b->consts);
  return b->consts != NULL;
}

static uint32_t hash_const(const const_entry *e) {
  uint64_t h = e->type * UINT64_C(0x9e3779b97f4a7c15);
  if (e->type != LS_TEXT)
    h = (h ^ e->value.u) * UINT64_C(0x9e3779b97f4a7c15);
  for (uint32_t i = 0; e->type == LS_TEXT && i < e->text_len; i++)
    h = (h ^ (uint8_t)e->text[i]) * UINT64_C(0x100000001b3);
  return (uint32_t)(h >> 32) % NBUCKETS;
}

static bool same_const(const const_entry *x, const const_entry *y) {
  if (x->type != y->type)
    return false;
  if (x->type != LS_TEXT)
    return x->value.u == y->value.u;
  return x->text_len == y->text_len &&
         (x->text_len == 0 || memcmp(x->text, y->text, x->text_len) == 0);
}

static bool grow_consts(lang_emitter *f) {
  lang_consts *c = f->b->consts;
  uint32_t cap = c->cap ? c->cap * 2 : 64;
  const_entry *at = lang_alloc(f->cx, cap * sizeof *at);
  if (!at)
    return false;
  if (c->n)
    memcpy(at, c->at, c->n * sizeof *at);
  c->at = at;
  c->cap = cap;
  return true;
}

static uint32_t add_const(lang_emitter *f, const_entry e) {
  lang_consts *c = f->b->consts;
  uint32_t h = hash_const(&e);
  for (uint32_t i = c->buckets[h]; i; i = c->at[i - 1].chain) {
    if (same_const(&c->at[i - 1], &e))
      return i - 1;
  }
  if (c->n == UINT16_MAX) {
    lang_too_large(f, "different constants in a program", UINT16_MAX);
    return 0;
  }
  if (c->n == c->cap && !grow_consts(f)) {
    f->failed = true;
    return 0;
  }
  e.chain = c->buckets[h];
  c->at[c->n] = e;
  c->buckets[h] = ++c->n;
  return c->n - 1;
}

uint32_t lang_const(lang_emitter *f, const lang_expr *e) {
  const_entry c = {.type = e->type};
  if (e->type == LS_TEXT) {
    c.text = e->text;
    c.text_len = e->text_len;
  } else {
    c.value = e->value;
  }
  return add_const(f, c);
}

uint32_t lang_const_int(lang_emitter *f, int64_t value) {
  return add_const(f, (const_entry){.type = LS_INT, .value.i = value});
}

bool lang_consts_finish(lang_builder *b) {
  const lang_consts *c = b->consts;
  vm_const *out = vm_module_alloc(b->m, (c->n + 1u) * sizeof *out);
  if (!out)
    return false;
  for (uint32_t i = 0; i < c->n; i++) {
    out[i].type = (ls_type)c->at[i].type;
    out[i].value = c->at[i].value;
    if (out[i].type != LS_TEXT)
      continue;
    out[i].text = vm_module_text(b->m, c->at[i].text, c->at[i].text_len);
    out[i].text_len = c->at[i].text_len;
    if (!out[i].text)
      return false;
  }
  b->m->consts = out;
  b->m->nconsts = c->n;
  return true;
}

void lang_load(lang_emitter *f, const lang_expr *e, uint16_t dst) {
  vm_pos pos = lang_pos(e->at);
  int64_t i = e->value.i;
  if (e->type == LS_BOOL)
    lang_ins(f, VM_OP_LDB, dst, i != 0, 0, pos);
  else if (e->type == LS_INT && i >= INT32_MIN && i <= INT32_MAX)
    lang_ins(f, VM_OP_LDI, dst, (uint32_t)i & 0xffff, (uint32_t)i >> 16, pos);
  else if (f->reachable)
    lang_ins(f, VM_OP_LDK, dst, lang_const(f, e), 0, pos);
}

/* ---- constants of loops */

static bool is_small(const lang_expr *e, int64_t least, int64_t most) {
  return e->konst && e->value.i >= least && e->value.i <= most;
}

/* x + k, k + x or x - k with a k that the instruction itself can hold. */
bool lang_adds_small(const lang_expr *e, const lang_expr **other, int64_t *k) {
  const lang_expr *l = e->left, *r = e->right;
  if (e->kind != EXPR_BINARY || e->type != LS_INT || l->type != LS_INT)
    return false;
  if (e->op == BIN_ADD && is_small(r, INT16_MIN, INT16_MAX)) {
    *other = l;
    *k = r->value.i;
  } else if (e->op == BIN_ADD && is_small(l, INT16_MIN, INT16_MAX)) {
    *other = r;
    *k = l->value.i;
  } else if (e->op == BIN_SUB && is_small(r, -INT16_MAX, -INT16_MIN)) {
    *other = l;
    *k = -r->value.i;
  } else {
    return false;
  }
  return true;
}

static bool same_value(const lang_expr *x, const lang_expr *y) {
  if (x->type != y->type)
    return false;
  if (x->type != LS_TEXT)
    return x->value.u == y->value.u;
  return x->text_len == y->text_len &&
         (x->text_len == 0 || memcmp(x->text, y->text, x->text_len) == 0);
}

uint16_t lang_kept_reg(lang_emitter *f, const lang_expr *e) {
  for (unsigned i = 0; i < f->nkept; i++) {
    if (same_value(f->kept[i].e, e))
      return f->kept[i].reg;
  }
  return LANG_NO_REG;
}

static void keep(lang_emitter *f, const lang_expr *e) {
  if (!e->konst || e->kind == EXPR_NAME || e->type == LS_BOOL || f->nkept == LANG_MAX_KEPT)
    return;
  if (lang_kept_reg(f, e) != LANG_NO_REG)
    return;
  uint16_t reg = lang_reg(f);
  lang_load(f, e, reg);
  f->kept[f->nkept++] = (lang_kept){e, reg};
}

static void keep_operands(void *user, const lang_expr *e) {
  lang_emitter *f = user;
  const lang_expr *other;
  int64_t k;
  if (e->kind != EXPR_BINARY || e->konst || lang_adds_small(e, &other, &k))
    return;
  if (e->op == BIN_ADD && e->type == LS_TEXT)
    return;
  if (e->op == BIN_SUB && e->left->type == LS_DATE && e->right->type == LS_INT)
    return;
  keep(f, e->left);
  keep(f, e->right);
}

/* x += k, r.col *= k */
static void keep_update(void *user, const lang_stmt *s) {
  if (s->kind != STMT_ASSIGN || s->set == SET_PLAIN || s->target->type == LS_TEXT)
    return;
  bool small = s->expr->type == LS_INT && s->set != SET_MUL;
  if (!small)
    keep(user, s->expr);
}

void lang_keep_consts(lang_emitter *f, const lang_stmt *loop) {
  lang_visitor v = {keep_operands, keep_update, f};
  if (loop->kind == STMT_WHILE)
    lang_visit_expr(&v, loop->expr);
  lang_visit_block(&v, &loop->block);
}
