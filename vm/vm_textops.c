/* vm/vm_textops.c - instructions and builtins on text ids.
 *
 * A text made in a call goes to the call's overlay.  Memory is charged for texts the overlay did
 * not know; work for the bytes read and made.
 */
#include <stdatomic.h>
#include <string.h>

#include "vm/vm_int.h"
#include "vm/vm_text.h"

#define TEXT_LONGEST ((uint64_t)INT32_MAX)

typedef struct {
  const char *bytes;
  size_t len;
} text_view;

static text_view view(const vm_context *cx, ls_val id) {
  text_view v;
  v.bytes = ls_texts_get(cx->texts, (uint32_t)id.u, &v.len);
  return v;
}

/* Two ids of one dictionary name two texts.  But a text of the overlay that was then written to
 * the store has an id there too. */
bool vm_text_same(const vm_context *cx, ls_val x, ls_val y) {
  if (x.u == y.u)
    return true;
  if ((x.u < LS_TEXT_OVERLAY) == (y.u < LS_TEXT_OVERLAY))
    return false;
  text_view s = view(cx, x), t = view(cx, y);
  return s.len == t.len && memcmp(s.bytes, t.bytes, s.len) == 0;
}

int vm_text_order(vm_context *cx, ls_val x, ls_val y) {
  text_view s = view(cx, x), t = view(cx, y);
  size_t n = s.len < t.len ? s.len : t.len;
  cx->extra = vm_sem_text_work(n);
  int order = n ? memcmp(s.bytes, t.bytes, n) : 0;
  return order ? order : (s.len > t.len) - (s.len < t.len);
}

static int text_make(vm_context *cx, const char *bytes, size_t len, ls_val *out) {
  uint32_t id;
  if (ls_texts_lookup(cx->texts, bytes, len, &id) != LS_OK) {
    int64_t charge = (int64_t)len + VM_TEXT_CHARGE;
    if (cx->budget.left < charge)
      return VM_FAULT_MEMORY;
    if (ls_texts_intern(cx->texts, bytes, len, &id) != LS_OK)
      return VM_FAULT_MEMORY;
    cx->budget.left -= charge;
  }
  cx->extra += vm_sem_text_work(len);
  out->u = id;
  return VM_FINE;
}

/* Room for a text under construction; NULL: no memory, or longer than any text may be. */
static char *text_scratch(vm_context *cx, uint64_t bytes) {
  if (bytes > TEXT_LONGEST)
    return NULL;
  if (bytes > cx->scratch_bytes || !cx->scratch) { /* none yet: also for an empty text */
    char *more = ls_mem_alloc(cx->mem, bytes + bytes / 2 + 64);
    if (more == NULL)
      return NULL;
    ls_mem_free(cx->mem, cx->scratch, cx->scratch_bytes);
    cx->scratch = more;
    cx->scratch_bytes = bytes + bytes / 2 + 64;
  }
  return cx->scratch;
}

static int text_concat(vm_context *cx, text_view s, text_view t, ls_val *out) {
  char *to = text_scratch(cx, (uint64_t)s.len + t.len);
  if (to == NULL)
    return VM_FAULT_MEMORY;
  memcpy(to, s.bytes, s.len);
  memcpy(to + s.len, t.bytes, t.len);
  return text_make(cx, to, s.len + t.len, out);
}

static int text_substring(vm_context *cx, text_view s, int64_t from, int64_t n, ls_val *out) {
  if (from < 0 || n < 0)
    return VM_FAULT_CONVERSION;
  size_t start, bytes;
  vm_text_slice(s.bytes, s.len, (uint64_t)from, (uint64_t)n, &start, &bytes);
  return text_make(cx, s.bytes + start, bytes, out);
}

static int text_case(vm_context *cx, text_view s, char first, ls_val *out) {
  char *to = text_scratch(cx, s.len);
  if (to == NULL)
    return VM_FAULT_MEMORY;
  for (size_t i = 0; i < s.len; i++) {
    bool letter = s.bytes[i] >= first && s.bytes[i] < first + 26;
    to[i] = letter ? (char)(s.bytes[i] ^ 0x20) : s.bytes[i];
  }
  return text_make(cx, to, s.len, out);
}

/* Numbers, bools and dates to text. */
static int text_format(vm_context *cx, vm_builtin f, ls_val v, ls_val *out) {
  char text[VM_TEXT_NUMBER];
  size_t len;
  if (f == VM_BIF_TEXT_I)
    len = vm_text_from_int(v.i, text);
  else if (f == VM_BIF_TEXT_R)
    len = vm_text_from_real(v.r, text);
  else if (f == VM_BIF_TEXT_D)
    len = vm_text_from_date(v.i, text);
  else
    memcpy(text, v.i ? "true" : "false", len = v.i ? 4 : 5);
  return text_make(cx, text, len, out);
}

static bool text_ends(text_view s, text_view t, bool start) {
  return t.len <= s.len && memcmp(s.bytes + (start ? 0 : s.len - t.len), t.bytes, t.len) == 0;
}

static int builtin_text(vm_context *cx, vm_builtin f, const ls_val *args, ls_val *out) {
  bool two = f == VM_BIF_CONCAT || f == VM_BIF_CONTAINS || f == VM_BIF_STARTS || f == VM_BIF_ENDS;
  text_view s = view(cx, args[0]), t = two ? view(cx, args[1]) : (text_view){NULL, 0};
  bool known = true;
  cx->extra = f == VM_BIF_BYTES ? 0 : vm_sem_text_work(s.len) + vm_sem_text_work(t.len);
  switch ((int)f) {
  case VM_BIF_REAL_T:
    known = vm_text_to_real(s.bytes, s.len, &out->r);
    break;
  case VM_BIF_INT_T:
    known = vm_text_to_int(s.bytes, s.len, &out->i);
    break;
  case VM_BIF_DATE_T:
    known = vm_text_to_date(s.bytes, s.len, &out->i);
    break;
  case VM_BIF_CONCAT:
    return text_concat(cx, s, t, out);
  case VM_BIF_LENGTH:
    out->u = vm_text_count(s.bytes, s.len);
    break;
  case VM_BIF_BYTES:
    out->u = s.len;
    break;
  case VM_BIF_SLICE:
    return text_substring(cx, s, args[1].i, args[2].i, out);
  case VM_BIF_CONTAINS:
    out->i = vm_text_contains(s.bytes, s.len, t.bytes, t.len);
    break;
  case VM_BIF_LOWER:
    return text_case(cx, s, 'A', out);
  case VM_BIF_UPPER:
    return text_case(cx, s, 'a', out);
  default:
    out->i = text_ends(s, t, f == VM_BIF_STARTS);
  }
  return known ? VM_FINE : VM_FAULT_CONVERSION;
}

int vm_do_builtin(vm_context *cx, vm_builtin f, const ls_val *args, ls_val *out) {
  cx->extra = 0;
  if (vm_sem_builtin_scalar(f))
    return vm_sem_builtin(f, args, out);
  if (f == VM_BIF_TEXT_I || f == VM_BIF_TEXT_R || f == VM_BIF_TEXT_B || f == VM_BIF_TEXT_D)
    return text_format(cx, f, args[0], out);
  return builtin_text(cx, f, args, out);
}

static void fault_say(vm_context *cx, const char *bytes, size_t len) {
  char *to = cx->fault.message;
  if (len >= sizeof cx->fault.message)
    len = vm_text_cut(bytes, sizeof cx->fault.message - 1);
  if (len)
    memcpy(to, bytes, len);
  to[len] = 0;
}

int vm_do_fail(vm_context *cx, ls_val text) {
  text_view s = view(cx, text);
  fault_say(cx, s.bytes, s.len);
  return VM_FAULT_RAISED;
}

/* What a host may have answered wrongly would break the VM's own rules. */
static const char *host_value(vm_context *cx, ls_type type, ls_val *v) {
  switch (type) {
  case LS_TEXT:
    return v->u < UINT32_MAX && ls_texts_valid(cx->texts, (uint32_t)v->u) ? NULL
                                                                          : "unknown text id";
  case LS_BOOL:
    return v->u < 2 ? NULL : "a bool is 0 or 1";
  case LS_DATE:
    return v->u <= LS_DATE_MAX ? NULL : "a date is outside the calendar";
  case LS_REAL:
    v->r = vm_sem_canonical(v->r);
    break;
  case LS_INT:
    break;
  }
  return NULL;
}

bool vm_context_make_text(vm_context *cx, const char *bytes, size_t len, ls_val *out) {
  return len <= TEXT_LONGEST && text_make(cx, bytes, len, out) == VM_FINE;
}

static int host_fault(vm_context *cx, const char *wrong) {
  if (wrong[0] == 0)
    return VM_FAULT_MEMORY;
  fault_say(cx, wrong, strlen(wrong));
  return VM_FAULT_HOST;
}

/* A host function may take long, and charges little: the flag is looked at after each.  The host
 * itself looks at the clock. */
static int host_returned(const vm_context *cx) {
  return atomic_load(cx->cancel) ? VM_FAULT_CANCELLED : VM_FINE;
}

int vm_do_settle(vm_context *cx, unsigned number) {
  cx->extra = 0;
  const char *wrong = cx->settle(cx->host_user, cx, number);
  return wrong ? host_fault(cx, wrong) : host_returned(cx);
}

int vm_do_callx(vm_context *cx, unsigned number, ls_val *args) {
  const vm_extern *x = &cx->link->module->externs[number];
  ls_val result = {0};
  const char *wrong = "no host function is installed";
  cx->extra = 0;
  if (cx->host) {
    for (unsigned i = 0; i < x->nparams; i++)
      if (x->params[i].type == LS_REAL)
        args[i].r = vm_sem_canonical(args[i].r);
    wrong = cx->host(cx->host_user, cx, number, args, &result);
    if (wrong == NULL && x->result == VM_RESULT_SCALAR)
      wrong = host_value(cx, x->result_type, &result);
  }
  if (wrong)
    return host_fault(cx, wrong);
  if (x->result == VM_RESULT_SCALAR)
    args[0] = result;
  return host_returned(cx);
}
