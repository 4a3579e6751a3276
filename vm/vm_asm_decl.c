/* vm/vm_asm_decl.c - the assembler's first pass: declarations; bodies are only found. */
#include "vm/vm_asm_int.h"

#include <stdio.h>
#include <string.h>

#include "vm/vm_text.h"

/* NAME: type.  Each adds to its own kind of array. */
static bool read_typed(vm_asm_state *s, const char **name, ls_type *type) {
  vm_token t;
  if (!vm_asm_need_name(s, &t) || !vm_asm_need(s, ":") || !vm_asm_need_type(s, type))
    return false;
  *name = vm_asm_copy_name(s, &t);
  return *name != NULL;
}

static bool read_params(vm_asm_state *s, const vm_param **out, uint16_t *n) {
  vm_param list[LS_MAX_COLS];
  unsigned count = 0;
  if (!vm_asm_need(s, "("))
    return false;
  while (!vm_asm_is(s, ")")) {
    if (count == LS_MAX_COLS)
      return vm_asm_fail(s, &s->tok, "more than %d parameters or columns", LS_MAX_COLS);
    if ((count > 0 && !vm_asm_need(s, ",")) || !read_typed(s, &list[count].name, &list[count].type))
      return false;
    count++;
  }
  vm_param *copy = vm_module_alloc(s->m, count * sizeof *copy);
  if (!copy)
    return vm_asm_memory(s);
  memcpy(copy, list, count * sizeof *copy);
  *out = copy;
  *n = (uint16_t)count;
  return vm_asm_need(s, ")");
}

/* (name, name): positions in the declaration go to order[*n...]. */
static bool read_order(vm_asm_state *s, const vm_param *cols, unsigned ncols, uint8_t *order,
                       unsigned *n) {
  if (!vm_asm_need(s, "("))
    return false;
  do {
    vm_token t;
    unsigned c = 0;
    if (!vm_asm_need_name(s, &t))
      return false;
    while (c < ncols && !vm_token_is(&t, cols[c].name))
      c++;
    if (c == ncols)
      return vm_asm_fail(s, &t, "there is no column `%.*s`", VM_TOKEN_SHOWN(t));
    if (*n == ncols)
      return vm_asm_fail(s, &t, "more key columns than columns");
    order[(*n)++] = (uint8_t)c;
  } while (vm_asm_take(s, ","));
  return vm_asm_need(s, ")");
}

/* The columns that are not in order[0..n) yet, as declared. */
static void add_others(unsigned ncols, uint8_t *order, unsigned n) {
  bool there[LS_MAX_COLS] = {false};
  for (unsigned k = 0; k < n; k++)
    there[order[k]] = true;
  for (unsigned c = 0; c < ncols && n < ncols; c++)
    if (!there[c])
      order[n++] = (uint8_t)c;
}

/* list NAME (columns) [key (names)] [rest (names)] */
static bool read_list(vm_asm_state *s, bool stored) {
  vm_token name;
  const vm_param *cols;
  uint16_t ncols;
  uint8_t order[LS_MAX_COLS];
  unsigned n = 0;
  if (!vm_asm_need_name(s, &name) || !read_params(s, &cols, &ncols))
    return false;
  if (vm_asm_take(s, "key") && !read_order(s, cols, ncols, order, &n))
    return false;
  unsigned nkeys = n;
  if (vm_asm_take(s, "rest") && !read_order(s, cols, ncols, order, &n))
    return false;
  if (s->status != LS_OK)
    return false;
  add_others(ncols, order, n);
  ls_column *made = vm_module_alloc(s->m, ncols * sizeof *made);
  vm_listdef *def = made ? vm_vec_add(s, &s->lists) : NULL;
  if (!def)
    return vm_asm_memory(s);
  for (unsigned c = 0; c < ncols; c++)
    made[c] = (ls_column){cols[order[c]].name, cols[order[c]].type, order[c]};
  def->stored = stored;
  def->schema = (ls_schema){vm_asm_copy_name(s, &name), ncols, (uint16_t)nkeys, made};
  return def->schema.name &&
         vm_asm_define(s, VM_SPACE_LIST, &name, (uint32_t)s->lists.count - 1, !stored);
}

static bool read_real(vm_asm_state *s, ls_val *v) {
  vm_token t = s->tok;
  int64_t bits;
  if (t.len > 2 && t.bytes[0] == '0' && t.bytes[1] == 'x') {
    if (!vm_asm_need_int(s, INT64_MIN, INT64_MAX, &bits))
      return false;
    v->i = bits;
    return true;
  }
  if ((t.kind != VM_TOK_NUMBER && t.kind != VM_TOK_NAME) || !vm_text_to_real(t.bytes, t.len, &v->r))
    return vm_asm_fail(s, &t, "`%.*s` is no real", VM_TOKEN_SHOWN(t));
  if (v->r != v->r)
    v->u = UINT64_C(0x7ff8000000000000);
  return vm_asm_next(s);
}

static bool read_date(vm_asm_state *s, ls_val *v) {
  vm_token t = s->tok;
  if (t.kind != VM_TOK_STRING || !vm_text_to_date(t.bytes, t.len, &v->i))
    return vm_asm_fail(s, &t, "a date such as \"1998-09-02\" was expected");
  return vm_asm_next(s);
}

static bool read_value(vm_asm_state *s, vm_const *k) {
  size_t len;
  switch (k->type) {
  case LS_INT:
    return vm_asm_need_int(s, INT64_MIN, INT64_MAX, &k->value.i);
  case LS_REAL:
    return read_real(s, &k->value);
  case LS_BOOL:
    k->value.i = vm_asm_is(s, "true");
    return k->value.i ? vm_asm_next(s) : vm_asm_need(s, "false");
  case LS_DATE:
    return read_date(s, &k->value);
  case LS_TEXT:
    if (!vm_asm_need_string(s, &k->text, &len))
      return false;
    k->text_len = (uint32_t)len;
    return len <= UINT32_MAX || vm_asm_fail(s, &s->tok, "the text is too long");
  }
  return false;
}

/* const NAME type value */
static bool read_const(vm_asm_state *s) {
  vm_token name;
  vm_const k = {.type = LS_INT};
  if (!vm_asm_need_name(s, &name) || !vm_asm_need_type(s, &k.type) || !read_value(s, &k))
    return false;
  vm_const *added = vm_vec_add(s, &s->consts);
  if (!added)
    return false;
  *added = k;
  return vm_asm_define(s, VM_SPACE_CONST, &name, (uint32_t)s->consts.count - 1, false);
}

/* extern NAME (parameters) [: type] */
static bool read_extern(vm_asm_state *s, bool pure) {
  vm_token name;
  vm_extern *x = vm_vec_add(s, &s->externs);
  if (!x || !vm_asm_need_name(s, &name) || !read_params(s, &x->params, &x->nparams))
    return false;
  x->pure = pure;
  x->name = vm_asm_copy_name(s, &name);
  if (vm_asm_take(s, ":")) {
    x->result = VM_RESULT_SCALAR;
    if (!vm_asm_need_type(s, &x->result_type))
      return false;
  }
  return x->name && vm_asm_define(s, VM_SPACE_EXTERN, &name, (uint32_t)s->externs.count - 1, false);
}

static bool read_result(vm_asm_state *s, vm_fn *fn) {
  if (!vm_asm_take(s, ":"))
    return s->status == LS_OK;
  if (vm_asm_is(s, "(")) {
    fn->result = VM_RESULT_ROWS;
    return read_params(s, &fn->result_cols, &fn->nresult);
  }
  fn->result = VM_RESULT_SCALAR;
  return vm_asm_need_type(s, &fn->result_type);
}

/* NAME (parameters) [: result] { ... } */
static bool read_function(vm_asm_state *s, vm_fn_kind kind) {
  vm_token name;
  vm_fn *fn = vm_vec_add(s, &s->fns);
  vm_body *body = fn ? vm_vec_add(s, &s->bodies) : NULL;
  if (!body || !vm_asm_need_name(s, &name) || !read_params(s, &fn->params, &fn->nparams) ||
      !read_result(s, fn))
    return false;
  fn->kind = kind;
  fn->name = vm_asm_copy_name(s, &name);
  if (!fn->name || !vm_asm_define(s, VM_SPACE_FN, &name, (uint32_t)s->fns.count - 1, false) ||
      !vm_asm_need(s, "{"))
    return false;
  body->start = s->tok;
  body->at = s->at;
  while (!vm_asm_is(s, "}")) {
    if (s->tok.kind == VM_TOK_END)
      return vm_asm_fail(s, &name, "`%.*s` has no closing `}`", VM_TOKEN_SHOWN(name));
    if (!vm_asm_next(s))
      return false;
  }
  return vm_asm_next(s);
}

static bool read_source(vm_asm_state *s) {
  size_t len;
  return vm_asm_need_string(s, &s->m->source_name, &len);
}

static bool read_decl(vm_asm_state *s) {
  if (vm_asm_take(s, "source"))
    return read_source(s);
  if (vm_asm_take(s, "const"))
    return read_const(s);
  if (vm_asm_take(s, "list"))
    return read_list(s, true);
  if (vm_asm_take(s, "local"))
    return read_list(s, false);
  if (vm_asm_take(s, "pure"))
    return vm_asm_need(s, "extern") && read_extern(s, true);
  if (vm_asm_take(s, "extern"))
    return read_extern(s, false);
  if (vm_asm_take(s, "fn"))
    return read_function(s, VM_FN);
  if (vm_asm_take(s, "query"))
    return read_function(s, VM_QUERY);
  if (vm_asm_take(s, "event"))
    return read_function(s, VM_EVENT);
  return vm_asm_fail(s, &s->tok,
                     "`%.*s`; source, const, list, local, extern, fn, query or event "
                     "was expected",
                     VM_TOKEN_SHOWN(s->tok));
}

bool vm_asm_decls(vm_asm_state *s) {
  if (!vm_asm_next(s))
    return false;
  while (s->tok.kind != VM_TOK_END)
    if (!read_decl(s))
      return false;
  return true;
}
