/* vm/vm_verify_regs.c - asking abstract registers, and changing them. */
#include "vm/vm_verify_int.h"

#include <stdio.h>

const ls_schema *vm_reg_schema_of(const vm_flow *f, unsigned list) {
  return vm_fn_schema(f->v->m, f->fn, list);
}

bool vm_reg_is_local(const vm_flow *f, unsigned list) {
  return !f->v->m->lists[f->fn->lists[list]].stored;
}

/* What a register holds, in words. */
static const char *describe(const vm_flow *f, vm_abs x, char *out, size_t n) {
  static const char *const state[] = {"", "stale ", "not yet valid "};
  unsigned kind = vm_abs_kind(x);
  if (kind == ABS_NOTHING)
    return "may be unset";
  if (kind == ABS_VALUE)
    snprintf(out, n, "holds %s", vm_type_name((ls_type)vm_abs_detail(x)));
  else if (kind == ABS_UNSET)
    snprintf(out, n, "is a key that may not be set yet");
  else if (kind == ABS_HANDLE)
    snprintf(out, n, "holds a %shandle of %.60s", state[vm_abs_detail(x)],
             vm_reg_schema_of(f, vm_abs_list(x))->name);
  else
    snprintf(out, n, "belongs to a block of %.60s", vm_reg_schema_of(f, vm_abs_list(x))->name);
  return out;
}

bool vm_reg_refuse(vm_flow *f, unsigned r, const char *needed) {
  char text[120];
  return vm_check_fail(f->v, "r%u %s; %s is needed", r, describe(f, f->now[r], text, sizeof text),
                       needed);
}

bool vm_reg_need_value(vm_flow *f, unsigned r, ls_type type) {
  vm_abs x = f->now[r];
  return (vm_abs_kind(x) == ABS_VALUE && vm_abs_detail(x) == type) ||
         vm_reg_refuse(f, r, vm_type_name(type));
}

bool vm_reg_need_columns(vm_flow *f, unsigned r, const ls_column *cols, unsigned n) {
  for (unsigned c = 0; c < n; c++)
    if (!vm_reg_need_value(f, r + c, cols[c].type))
      return false;
  return true;
}

/* int, date or bool, both alike. */
bool vm_reg_need_alike(vm_flow *f, unsigned r, unsigned s) {
  vm_abs x = f->now[r];
  unsigned type = vm_abs_detail(x);
  if (vm_abs_kind(x) != ABS_VALUE || (type != LS_INT && type != LS_DATE && type != LS_BOOL))
    return vm_reg_refuse(f, r, "int, date or bool");
  return vm_reg_need_value(f, s, (ls_type)type);
}

/* A handle that leads to a row, or to a position that is checked at use. */
bool vm_reg_need_handle(vm_flow *f, unsigned r, unsigned list) {
  if (f->now[r] == vm_abs_make(ABS_HANDLE, ABS_FRESH, list, 0, 0))
    return true;
  char needed[100];
  snprintf(needed, sizeof needed, "a fresh handle of %.60s", vm_reg_schema_of(f, list)->name);
  return vm_reg_refuse(f, r, needed);
}

bool vm_reg_need_list(vm_flow *f, unsigned list) {
  return f->now[f->fn->nregs + list] != ABS_NOTHING ||
         vm_check_fail(f->v, "the local list %s may be used before its new",
                       vm_reg_schema_of(f, list)->name);
}

/* The bounds of a slice from r on; owner 0: whoever wrote them. */
bool vm_reg_need_bounds(vm_flow *f, unsigned r, unsigned list, vm_spec spec, unsigned owner) {
  const ls_column *cols = vm_reg_schema_of(f, list)->cols;
  for (unsigned k = 0; k < vm_spec_bounds(spec); k++) {
    unsigned col = k < spec.np ? k : spec.np;
    if (!vm_reg_need_value(f, r + k, cols[col].type))
      return false;
    if (owner && vm_abs_owner(f->now[r + k]) != owner)
      return vm_check_fail(f->v, "bound r%u may have been written since the seek", r + k);
  }
  return true;
}

/* Handle (any state up to `worst`) and version of a block. */
bool vm_reg_need_block(vm_flow *f, unsigned base, unsigned list, unsigned worst) {
  vm_abs h = f->now[base];
  char needed[100];
  if (vm_abs_with_detail(h, 0) != vm_abs_make(ABS_HANDLE, 0, list, 0, 0) ||
      vm_abs_detail(h) > worst) {
    snprintf(needed, sizeof needed, "a row of %.60s", vm_reg_schema_of(f, list)->name);
    return vm_reg_refuse(f, base, needed);
  }
  if (f->now[base + 1] == vm_abs_make(ABS_VERSION, 0, list, 0, 0))
    return true;
  snprintf(needed, sizeof needed, "the version of %.60s", vm_reg_schema_of(f, list)->name);
  return vm_reg_refuse(f, base + 1, needed);
}

/* The keys of the block at base as its instruction left them. */
bool vm_reg_need_own_keys(vm_flow *f, unsigned base, unsigned list, bool may_be_unset) {
  const ls_schema *s = vm_reg_schema_of(f, list);
  for (unsigned k = 0; k < s->nkeys; k++) {
    unsigned r = base + 2 + k;
    vm_abs x = f->now[r];
    vm_abs own = vm_abs_make(ABS_VALUE, s->cols[k].type, 0, 0, base + 1);
    vm_abs unset = vm_abs_make(ABS_UNSET, s->cols[k].type, 0, 0, base + 1);
    if (x == own || (may_be_unset && x == unset))
      continue;
    if (vm_abs_kind(x) == ABS_VALUE)
      return vm_check_fail(f->v, "key r%u may have been written since the row was found", r);
    return vm_reg_refuse(f, r, "a key of the row");
  }
  return true;
}

bool vm_reg_need_cursor(vm_flow *f, unsigned base, unsigned sl) {
  unsigned list = sl >> 8, owner = base + 1, nkeys = vm_reg_schema_of(f, list)->nkeys;
  vm_spec spec = vm_spec_read(sl);
  unsigned at = base + 2 + nkeys;
  if (!vm_reg_need_block(f, base, list, ABS_AT_SEEK))
    return false;
  vm_abs next = vm_abs_make(ABS_NEXT, 0, list, sl & 255u, owner);
  vm_abs end = vm_abs_make(ABS_END, 0, list, sl & 255u, owner);
  if (vm_abs_with_detail(f->now[at], 0) != next || f->now[at + 1] != end)
    return vm_check_fail(f->v, "r%u is not the cursor of a seek of the same slice", at);
  if (nkeys == 0)
    return true;
  if (!spec.tracked)
    return f->now[at] == next ||
           vm_check_fail(f->v, "%s may have changed since the seek, and the slice is not tracked",
                         vm_reg_schema_of(f, list)->name);
  return vm_reg_need_own_keys(f, base, list, true) &&
         vm_reg_need_bounds(f, at + 2, list, spec, owner);
}

bool vm_reg_make_stale(vm_flow *f, unsigned list) {
  if (vm_reg_schema_of(f, list)->nkeys == 0)
    return true;
  for (unsigned w = 0; w < f->nwatch; w++) {
    vm_abs *x = &f->now[f->watch[w]];
    unsigned kind = vm_abs_kind(*x);
    if ((kind == ABS_HANDLE || kind == ABS_NEXT) && vm_abs_list(*x) == list &&
        vm_abs_detail(*x) == ABS_FRESH)
      *x = vm_abs_with_detail(*x, ABS_STALE);
  }
  return vm_flow_spend(f, f->nwatch);
}

/* seek and its like may sort a local keyed list. */
bool vm_reg_make_stale_by_order(vm_flow *f, unsigned list) {
  return !vm_reg_is_local(f, list) || vm_reg_make_stale(f, list);
}

void vm_reg_write_value(vm_flow *f, unsigned r, ls_type type) { f->now[r] = vm_abs_value(type); }

/* The cursor of the block at base is no more. */
void vm_reg_end_cursor(vm_flow *f, unsigned base, unsigned list) {
  unsigned at = base + 2 + vm_reg_schema_of(f, list)->nkeys;
  for (unsigned r = at; r < at + 2 && r < f->fn->nregs; r++) {
    unsigned kind = vm_abs_kind(f->now[r]);
    if ((kind == ABS_NEXT || kind == ABS_END) && vm_abs_list(f->now[r]) == list)
      f->now[r] = ABS_NOTHING;
  }
}

void vm_reg_end_block(vm_flow *f, unsigned base, unsigned list) {
  f->now[base] = f->now[base + 1] = ABS_NOTHING;
  vm_reg_end_cursor(f, base, list);
}

void vm_reg_write_block(vm_flow *f, unsigned base, unsigned list, unsigned state) {
  f->now[base] = vm_abs_make(ABS_HANDLE, state, list, 0, 0);
  f->now[base + 1] = vm_abs_make(ABS_VERSION, 0, list, 0, 0);
}

/* kind: what the keys are now, all claimed for base; ABS_NOTHING: claims on them are dropped. */
void vm_reg_claim_keys(vm_flow *f, unsigned base, unsigned list, unsigned kind) {
  const ls_schema *s = vm_reg_schema_of(f, list);
  for (unsigned k = 0; k < s->nkeys; k++) {
    vm_abs *x = &f->now[base + 2 + k];
    if (kind != ABS_NOTHING)
      *x = vm_abs_make(kind, s->cols[k].type, 0, 0, base + 1);
    else if (vm_abs_kind(*x) == ABS_VALUE)
      *x = vm_abs_disown(*x);
    else if (vm_abs_kind(*x) == ABS_UNSET)
      *x = ABS_NOTHING;
  }
}

void vm_reg_drop_keys(vm_flow *f, unsigned base, unsigned list) {
  for (unsigned k = 0; k < vm_reg_schema_of(f, list)->nkeys; k++)
    f->now[base + 2 + k] = ABS_NOTHING;
}
