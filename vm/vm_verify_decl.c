/* vm/vm_verify_decl.c - declarations: lists, constants, host functions, headers of functions. */
#include "vm/vm_verify_int.h"

#include <string.h>

#include "vm/vm_text.h"

#define REAL_NAN UINT64_C(0x7ff8000000000000) /* the only NaN a constant may be */

static bool check_name(vm_check *v, const char *name, const char *what) {
  if (name && vm_name_valid(name, strlen(name)))
    return true;
  return vm_check_fail(v, "the name of %s is not an identifier of at most %d bytes", what,
                       VM_MAX_NAME);
}

static bool check_type(vm_check *v, unsigned type, const char *what) {
  return type < LS_NTYPES ||
         vm_check_fail(v, "%s has type number %u, which there is not", what, type);
}

static bool check_columns(vm_check *v, const ls_schema *s) {
  const char *names[LS_MAX_COLS];
  bool seen[LS_MAX_COLS] = {false};
  for (unsigned c = 0; c < s->ncols; c++) {
    const ls_column *col = &s->cols[c];
    if (!check_name(v, col->name, "a column") || !check_type(v, col->type, col->name))
      return false;
    if (col->declared >= s->ncols || seen[col->declared])
      return vm_check_fail(v, "list %s: columns are not declared in an order 0 .. %u", s->name,
                           s->ncols - 1u);
    seen[col->declared] = true;
    names[c] = col->name;
  }
  const char *twice = vm_names_repeated(names, s->ncols);
  return !twice || vm_check_fail(v, "list %.60s has two columns named %s", s->name, twice);
}

static bool check_schema(vm_check *v, const ls_schema *s) {
  if (!check_name(v, s->name, "a list"))
    return false;
  if (s->ncols < 1 || s->ncols > LS_MAX_COLS)
    return vm_check_fail(v, "list %s has %u columns; 1 to %d are possible", s->name, s->ncols,
                         LS_MAX_COLS);
  if (s->nkeys > s->ncols || s->nkeys > LS_MAX_KEYS)
    return vm_check_fail(v, "list %s has %u key columns of %u; at most %d are possible", s->name,
                         s->nkeys, s->ncols, LS_MAX_KEYS);
  return check_columns(v, s);
}

static bool check_lists(vm_check *v, const char **names) {
  const vm_module *m = v->m;
  if (m->nlists > UINT16_MAX || m->nstored > m->nlists)
    return vm_check_fail(v, "%u lists, %u of them stored; at most %u are possible", m->nlists,
                         m->nstored, m->nlists > UINT16_MAX ? (unsigned)UINT16_MAX : m->nlists);
  for (uint32_t i = 0; i < m->nlists; i++) {
    if (m->lists[i].stored != (i < m->nstored))
      return vm_check_fail(v, "list %u: stored lists come first", i);
    if (!check_schema(v, &m->lists[i].schema))
      return false;
    names[i] = m->lists[i].schema.name;
  }
  const char *twice = vm_names_repeated(names, m->nstored);
  return !twice || vm_check_fail(v, "two stored lists are named %s", twice);
}

static bool const_valid(const vm_const *k) {
  switch (k->type) {
  case LS_BOOL:
    return k->value.u <= 1;
  case LS_DATE:
    return k->value.u <= LS_DATE_MAX;
  case LS_REAL:
    return k->value.r == k->value.r || k->value.u == REAL_NAN;
  case LS_TEXT:
    return vm_text_valid(k->text, k->text_len, NULL);
  default:
    return true;
  }
}

static bool check_consts(vm_check *v) {
  const vm_module *m = v->m;
  if (m->nconsts > UINT16_MAX + 1u)
    return vm_check_fail(v, "%u constants; at most 65536 are possible", m->nconsts);
  for (uint32_t i = 0; i < m->nconsts; i++) {
    if (!check_type(v, m->consts[i].type, "a constant"))
      return false;
    if (!const_valid(&m->consts[i]))
      return vm_check_fail(v, "constant %u is no valid %s", i, vm_type_name(m->consts[i].type));
  }
  return true;
}

/* Parameters, or the columns of a result. */
static bool check_params(vm_check *v, const char *owner, const vm_param *p, unsigned n,
                         unsigned max) {
  const char *names[LS_MAX_COLS];
  if (n > max)
    return vm_check_fail(v, "%s has %u parameters or columns; at most %u are possible", owner, n,
                         max);
  for (unsigned i = 0; i < n; i++) {
    if (!check_name(v, p[i].name, "a parameter") || !check_type(v, p[i].type, p[i].name))
      return false;
    names[i] = p[i].name;
  }
  const char *twice = vm_names_repeated(names, n);
  return !twice || vm_check_fail(v, "%.60s has two parameters or columns named %s", owner, twice);
}

static bool check_externs(vm_check *v, const char **names) {
  const vm_module *m = v->m;
  if (m->nexterns > UINT16_MAX)
    return vm_check_fail(v, "%u host functions; at most 65535 are possible", m->nexterns);
  for (uint32_t i = 0; i < m->nexterns; i++) {
    const vm_extern *x = &m->externs[i];
    if (!check_name(v, x->name, "a host function") ||
        !check_params(v, x->name, x->params, x->nparams, VM_MAX_PARAMS))
      return false;
    if (x->result != VM_RESULT_NONE && x->result != VM_RESULT_SCALAR)
      return vm_check_fail(v, "host function %s: its result is neither nothing nor a value",
                           x->name);
    if (x->result == VM_RESULT_SCALAR && !check_type(v, x->result_type, x->name))
      return false;
    names[i] = x->name;
  }
  const char *twice = vm_names_repeated(names, m->nexterns);
  return !twice || vm_check_fail(v, "two host functions are named %s", twice);
}

static bool check_result(vm_check *v, const vm_fn *fn) {
  switch (fn->result) {
  case VM_RESULT_NONE:
    return true;
  case VM_RESULT_SCALAR:
    return check_type(v, fn->result_type, "the result");
  case VM_RESULT_ROWS:
    if (fn->kind == VM_FN)
      return vm_check_fail(v, "a fn cannot return rows");
    if (fn->nresult < 1)
      return vm_check_fail(v, "a result of rows needs a column");
    return check_params(v, "the result", fn->result_cols, fn->nresult, LS_MAX_COLS);
  }
  return vm_check_fail(v, "the kind of its result is number %u", (unsigned)fn->result);
}

/* uses: by module list, whether some function lists it already. */
static bool check_fn_lists(vm_check *v, const vm_fn *fn, uint8_t *uses) {
  if (fn->nlists > VM_MAX_LISTS)
    return vm_check_fail(v, "%u lists; at most %d are possible", fn->nlists, VM_MAX_LISTS);
  uint16_t sorted[VM_MAX_LISTS];
  for (unsigned i = 0; i < fn->nlists; i++) {
    uint16_t list = fn->lists[i];
    if (list >= v->m->nlists)
      return vm_check_fail(v, "its list %u is list %u of the module, which has %u", i, list,
                           v->m->nlists);
    unsigned at = i;
    for (; at > 0 && sorted[at - 1] > list; at--)
      sorted[at] = sorted[at - 1];
    if (at > 0 && sorted[at - 1] == list)
      return vm_check_fail(v, "it lists %s twice", v->m->lists[list].schema.name);
    sorted[at] = list;
    if (uses[list] && !v->m->lists[list].stored)
      return vm_check_fail(v, "the local list %s belongs to another function",
                           v->m->lists[list].schema.name);
    uses[list] = 1;
  }
  return true;
}

static bool check_fn(vm_check *v, const vm_fn *fn, uint8_t *uses) {
  if (fn->kind != VM_FN && fn->kind != VM_QUERY && fn->kind != VM_EVENT)
    return vm_check_fail(v, "its kind is number %u", (unsigned)fn->kind);
  if (!check_params(v, "it", fn->params, fn->nparams, VM_MAX_PARAMS) || !check_result(v, fn))
    return false;
  if (fn->nregs > VM_MAX_REGS || fn->nregs < fn->nparams)
    return vm_check_fail(v, "%u registers; %u parameters to %d are possible", fn->nregs,
                         fn->nparams, VM_MAX_REGS);
  if (fn->ncode < 1 || fn->ncode > VM_MAX_CODE)
    return vm_check_fail(v, "%u instructions; 1 to %d are possible", fn->ncode, VM_MAX_CODE);
  return check_fn_lists(v, fn, uses);
}

static bool check_fns(vm_check *v, const char **names, uint8_t *uses) {
  const vm_module *m = v->m;
  if (m->nfns > VM_MAX_FNS)
    return vm_check_fail(v, "%u functions; at most %d are possible", m->nfns, VM_MAX_FNS);
  for (uint32_t f = 0; f < m->nfns; f++) {
    if (!check_name(v, m->fns[f].name, "a function"))
      return false;
    names[f] = m->fns[f].name;
  }
  const char *twice = vm_names_repeated(names, m->nfns);
  if (twice)
    return vm_check_fail(v, "two functions are named %s", twice);
  for (uint32_t f = 0; f < m->nfns; f++) {
    v->fn = (int)f;
    if (!check_fn(v, &m->fns[f], uses))
      return false;
  }
  v->fn = -1;
  return true;
}

bool vm_check_decls(vm_check *v) {
  const vm_module *m = v->m;
  size_t most = m->nlists > m->nfns ? m->nlists : m->nfns;
  if (most < m->nexterns)
    most = m->nexterns;
  size_t bytes = (most + 1) * sizeof(char *), used = (size_t)m->nlists + 1;
  const char **names = ls_mem_alloc(m->mem, bytes);
  uint8_t *uses = ls_mem_zalloc(m->mem, used);
  bool fine = names && uses ? check_lists(v, names) && check_consts(v) && check_externs(v, names) &&
                                  check_fns(v, names, uses)
                            : vm_check_memory(v);
  ls_mem_free(m->mem, names, bytes);
  ls_mem_free(m->mem, uses, used);
  return fine;
}
