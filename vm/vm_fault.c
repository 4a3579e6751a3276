/* vm/vm_fault.c - what a fault says: the list and the key, the operation and its operands.
 *
 * Read from the registers of the instruction that faulted.  Those are the same on every tier:
 * compiled code leaves faults to the interpreter, and an operation that faults writes nothing.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "vm/vm_int.h"
#include "vm/vm_tables.h"
#include "vm/vm_text.h"

#define SHOWN_BYTES 40u /* of a text */
#define KEY_BYTES 300u  /* of all values of a key */

typedef struct {
  vm_context *cx;
  const vm_fn *fn;
  const vm_ins *i;
  const ls_val *regs;
  ls_list *const *lists;
  uint32_t pc;
  char *out; /* cx->fault.message */
  size_t len, room;
} fault_state;

static void say(fault_state *s, const char *bytes, size_t len) {
  size_t left = s->room - 1 - s->len;
  if (len > left)
    len = vm_text_cut(bytes, left);
  memcpy(s->out + s->len, bytes, len);
  s->len += len;
  s->out[s->len] = 0;
}

__attribute__((format(printf, 2, 3))) static void sayf(fault_state *s, const char *form, ...) {
  char piece[200];
  va_list values;
  va_start(values, form);
  vsnprintf(piece, sizeof piece, form, values);
  va_end(values);
  say(s, piece, strlen(piece));
}

static void say_char(fault_state *s, char c) {
  if (c == '\n' || c == '\t')
    say(s, c == '\n' ? "\\n" : "\\t", 2);
  else if (c == '"' || c == '\\')
    sayf(s, "\\%c", c);
  else if ((unsigned char)c < 0x20 || c == 0x7f)
    sayf(s, "\\u{%x}", (unsigned)c);
  else
    say(s, &c, 1);
}

/* As the language writes it; the beginning of a long one. */
static void say_text(fault_state *s, ls_val id) {
  size_t len, at = 0;
  const char *bytes = ls_texts_get(s->cx->texts, (uint32_t)id.u, &len);
  size_t shown = len > SHOWN_BYTES ? vm_text_cut(bytes, SHOWN_BYTES) : len;
  say(s, "\"", 1);
  while (at < shown) {
    size_t plain = at;
    while (plain < shown && (unsigned char)bytes[plain] >= 0x80)
      plain++;
    if (plain > at)
      say(s, bytes + at, plain - at);
    else
      say_char(s, bytes[plain++]);
    at = plain;
  }
  say(s, "\"", 1);
  if (shown < len)
    say(s, "..", 2);
}

static void say_value(fault_state *s, ls_type type, ls_val v) {
  char text[VM_TEXT_NUMBER];
  switch (type) {
  case LS_INT:
    say(s, text, vm_text_from_int(v.i, text));
    break;
  case LS_REAL:
    say(s, text, vm_text_from_real(v.r, text));
    break;
  case LS_DATE:
    say(s, text, vm_text_from_date(v.i, text));
    break;
  case LS_BOOL:
    sayf(s, "%s", v.i ? "true" : "false");
    break;
  case LS_TEXT:
    say_text(s, v);
    break;
  }
}

static void say_key(fault_state *s, const ls_list *l, const ls_val *key) {
  size_t from = s->len;
  say(s, "(", 1);
  for (unsigned k = 0; k < l->schema->nkeys; k++) {
    if (k)
      say(s, ", ", 2);
    if (s->len - from > KEY_BYTES) {
      say(s, "..", 2);
      break;
    }
    say_value(s, l->schema->cols[k].type, key[k]);
  }
  say(s, ")", 1);
}

static void say_rows(fault_state *s, const ls_list *l) {
  sayf(s, "%" PRIu64 " row%s", l->count, l->count == 1 ? "" : "s");
}

/* Faults of scalar instructions */

static const char *int_sign(const vm_ins *i) {
  switch ((int)i->op) {
  case VM_OP_ISUB:
    return "-";
  case VM_OP_IMUL:
    return "*";
  case VM_OP_IDIV:
    return "/";
  case VM_OP_IMOD:
    return "%";
  default:
    return "+";
  }
}

static void describe_int(fault_state *s) {
  const vm_ins *i = s->i;
  if (i->op == VM_OP_INEG) {
    sayf(s, "-(%" PRId64 ")", s->regs[i->b].i);
    return;
  }
  int64_t b = s->regs[i->b].i, c = i->op == VM_OP_IADDK ? (int16_t)i->c : s->regs[i->c].i;
  const char *sign = int_sign(i);
  if (i->op == VM_OP_IADDK && c < 0) { /* written as `x - number` */
    sign = "-";
    c = -c;
  }
  sayf(s, c < 0 ? "%" PRId64 " %s (%" PRId64 ")" : "%" PRId64 " %s %" PRId64, b, sign, c);
}

/* `date - n` is compiled as `date + -n`. */
static void describe_date(fault_state *s, int64_t days) {
  uint64_t size = days < 0 ? UINT64_C(0) - (uint64_t)days : (uint64_t)days;
  say_value(s, LS_DATE, s->regs[s->i->b]);
  sayf(s, " %c %" PRIu64 " day%s is outside the calendar", days < 0 ? '-' : '+', size,
       size == 1 ? "" : "s");
}

static bool describe_overflow(fault_state *s) {
  const vm_ins *i = s->i;
  switch ((int)i->op) {
  case VM_OP_IADD:
  case VM_OP_ISUB:
  case VM_OP_IMUL:
  case VM_OP_IDIV:
  case VM_OP_INEG:
  case VM_OP_IADDK:
    describe_int(s);
    break;
  case VM_OP_DADD:
    describe_date(s, s->regs[i->c].i);
    return true;
  case VM_OP_BIF:
    sayf(s, "abs(%" PRId64 ")", s->regs[i->c].i);
    break;
  default:
    return false;
  }
  sayf(s, " does not fit in 64 bits");
  return true;
}

static bool describe_conversion(fault_state *s) {
  if (s->i->op != VM_OP_BIF)
    return false;
  const ls_val *args = &s->regs[s->i->c];
  switch ((int)s->i->b) {
  case VM_BIF_INT_T:
  case VM_BIF_REAL_T:
  case VM_BIF_DATE_T:
    say_text(s, args[0]);
    sayf(s, " is no %s",
         s->i->b == VM_BIF_INT_T    ? "int"
         : s->i->b == VM_BIF_REAL_T ? "real"
                                    : "date");
    return true;
  case VM_BIF_INT_R:
    say_value(s, LS_REAL, args[0]);
    sayf(s, " does not fit in an int");
    return true;
  case VM_BIF_DATE_YMD:
    sayf(s, "date(%" PRId64 ", %" PRId64 ", %" PRId64 ") is no day of the calendar", args[0].i,
         args[1].i, args[2].i);
    return true;
  case VM_BIF_SLICE:
    sayf(s, "substring from %" PRId64 ", of %" PRId64 " characters: neither may be negative",
         args[1].i, args[2].i);
    return true;
  default:
    return false;
  }
}

/* Faults of list instructions */

static void describe_no_row(fault_state *s, const ls_list *l, const ls_val *key) {
  sayf(s, "no row with key ");
  say_key(s, l, key);
  sayf(s, " in %s", l->schema->name);
}

/* The compiler lets firstj and lastj jump to a `raise` of their own. */
static bool describe_edge(fault_state *s) {
  const vm_ins *from = NULL;
  for (uint32_t pc = 0; pc < s->fn->ncode; pc++) {
    if (vm_ins_target(&s->fn->code[pc], pc) != (int64_t)s->pc)
      continue;
    if (from)
      return false;
    from = &s->fn->code[pc];
  }
  if (!from || (from->op != VM_OP_FIRSTJ && from->op != VM_OP_LASTJ))
    return false;
  const ls_list *l = s->lists[from->b >> 8];
  unsigned bounded = VM_SPEC_NP(from->b) | (from->b & (VM_SPEC_LO | VM_SPEC_HI));
  sayf(s, "no %s row in %s%s", from->op == VM_OP_FIRSTJ ? "first" : "last",
       bounded ? "that slice of " : "", l->schema->name);
  return true;
}

static bool describe_missing(fault_state *s) {
  const vm_ins *i = s->i;
  const ls_list *l;
  switch ((int)i->op) {
  case VM_OP_FIND:
    describe_no_row(s, s->lists[i->b], &s->regs[i->a + 2]);
    return true;
  case VM_OP_ERASE:
    describe_no_row(s, s->lists[i->b], &s->regs[i->a]);
    return true;
  case VM_OP_ROW:
    l = s->lists[i->c];
    sayf(s, "no row %" PRId64 " in %s, which has ", s->regs[i->b].i, l->schema->name);
    say_rows(s, l);
    return true;
  case VM_OP_RAISE:
    return describe_edge(s);
  default:
    return false;
  }
}

static bool describe_duplicate(fault_state *s) {
  if (s->i->op != VM_OP_ADD)
    return false;
  const ls_list *l = s->lists[s->i->b];
  sayf(s, "a row with key ");
  say_key(s, l, &s->regs[s->i->a]);
  sayf(s, " is already in %s", l->schema->name);
  return true;
}

static bool describe_deleted(fault_state *s) {
  const vm_ins *i = s->i;
  if (i->op == VM_OP_REFIND) {
    const ls_list *l = s->lists[i->b];
    sayf(s, "the row with key ");
    say_key(s, l, &s->regs[i->a + 2]);
    sayf(s, " was deleted from %s", l->schema->name);
    return true;
  }
  if (i->op != VM_OP_GET && i->op != VM_OP_SET)
    return false;
  const ls_list *l = s->lists[i->c >> 8];
  uint64_t row = s->regs[i->op == VM_OP_GET ? i->b : i->a].u;
  sayf(s, "row %" PRIu64 " is gone from %s, which has ", row, l->schema->name);
  say_rows(s, l);
  return true;
}

static bool describe(fault_state *s, vm_fault_kind kind) {
  switch (kind) {
  case VM_FAULT_OVERFLOW:
    return describe_overflow(s);
  case VM_FAULT_DIV_ZERO:
    if (s->i->op == VM_OP_IDIV || s->i->op == VM_OP_IMOD)
      describe_int(s);
    return s->len > 0;
  case VM_FAULT_MISSING:
    return describe_missing(s);
  case VM_FAULT_DUPLICATE:
    return describe_duplicate(s);
  case VM_FAULT_CONVERSION:
    return describe_conversion(s);
  case VM_FAULT_DELETED:
    return describe_deleted(s);
  case VM_FAULT_WORK:
  case VM_FAULT_MEMORY:
  case VM_FAULT_DEPTH:
  case VM_FAULT_HOST:
  case VM_FAULT_RAISED:
  case VM_FAULT_CANCELLED:
  case VM_NFAULTS:
    break;
  }
  return false;
}

void vm_fault_describe(vm_context *cx, vm_fault_kind kind) {
  const vm_frame *f = cx->top;
  const vm_fn *fn = f->code->fn;
  fault_state s = {.cx = cx,
                   .fn = fn,
                   .i = &fn->code[f->pc],
                   .regs = f->regs,
                   .lists = f->lists ? f->lists->list : NULL,
                   .pc = f->pc,
                   .out = cx->fault.message,
                   .room = sizeof cx->fault.message};
  if (!describe(&s, kind)) {
    const char *plain = vm_fault_message(kind);
    say(&s, plain, strlen(plain));
  }
}
