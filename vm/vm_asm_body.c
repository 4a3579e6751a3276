/* vm/vm_asm_body.c - the assembler's second pass: one function's instructions.
 *
 * Labels may be used before they are defined: every jump waits in a list until the end.
 */
#include "vm/vm_asm_int.h"

#include <stdio.h>
#include <string.h>

typedef struct {
  vm_token label;
  uint32_t pc;
  uint8_t field;
} fixup;

typedef struct {
  vm_asm_state *s;
  vm_fn *fn;
  vm_vec code, pos, fixups;
  vm_pos now;
  bool has_pos;
} body;

static uint16_t *field_of(vm_ins *i, unsigned n) { return n == 0 ? &i->a : n == 1 ? &i->b : &i->c; }

static uint64_t space_of(const body *b, unsigned kind) { return kind | (uint64_t)b->s->fn << 8; }

static bool read_register(vm_asm_state *s, uint16_t *out) {
  vm_token t = s->tok;
  uint32_t number = 0;
  bool fine = t.kind == VM_TOK_NAME && t.len > 1 && t.len < 7 && t.bytes[0] == 'r';
  for (size_t k = 1; fine && k < t.len; k++) {
    fine = t.bytes[k] >= '0' && t.bytes[k] <= '9' && (k == 1 || number > 0);
    number = number * 10 + (uint32_t)(t.bytes[k] - '0');
  }
  if (!fine || number >= VM_MAX_REGS)
    return vm_asm_fail(s, &t, "`%.*s`; a register r0 to r%d was expected", VM_TOKEN_SHOWN(t),
                       VM_MAX_REGS - 1);
  *out = (uint16_t)number;
  return vm_asm_next(s);
}

static const ls_schema *schema_of(const body *b, unsigned list) {
  const vm_listdef *lists = b->s->lists.data;
  return &lists[b->fn->lists[list]].schema;
}

static bool read_list(body *b, uint16_t *out) {
  vm_token t = b->s->tok;
  uint32_t list;
  if (!vm_asm_need_defined(b->s, space_of(b, VM_SPACE_FN_LIST), "list in this function", &list))
    return false;
  if (list >= b->fn->nlists)
    return vm_asm_fail(b->s, &t, "the function has only %u lists", b->fn->nlists);
  if (!vm_token_is(&t, schema_of(b, list)->name))
    return vm_asm_fail(b->s, &t, "list %u of the function has another name", list);
  *out = (uint16_t)list;
  return true;
}

/* list.column */
static bool read_column(body *b, uint16_t *out) {
  uint16_t list;
  vm_token t;
  if (!read_list(b, &list) || !vm_asm_need(b->s, ".") || !vm_asm_need_name(b->s, &t))
    return false;
  const ls_schema *schema = schema_of(b, list);
  for (unsigned c = 0; c < schema->ncols; c++)
    if (vm_token_is(&t, schema->cols[c].name)) {
      *out = (uint16_t)(list << 8 | c);
      return true;
    }
  return vm_asm_fail(b->s, &t, "%s has no column `%.*s`", schema->name, VM_TOKEN_SHOWN(t));
}

/* list[np lo hi tracked] */
static bool read_slice(body *b, uint16_t *out) {
  uint16_t list;
  int64_t np;
  if (!read_list(b, &list) || !vm_asm_need(b->s, "[") || !vm_asm_need_int(b->s, 0, 31, &np))
    return false;
  unsigned spec = (unsigned)np;
  if (vm_asm_take(b->s, "lo"))
    spec |= 32;
  if (vm_asm_take(b->s, "hi"))
    spec |= 64;
  if (vm_asm_take(b->s, "tracked"))
    spec |= 128;
  *out = (uint16_t)(list << 8 | spec);
  return vm_asm_need(b->s, "]");
}

/* One of the identifiers that id gives for 0 .. n-1, in small letters. */
static bool read_id(vm_asm_state *s, unsigned n, const char *(*id)(unsigned), const char *what,
                    uint16_t *out) {
  vm_token t;
  if (!vm_asm_need_name(s, &t))
    return false;
  for (unsigned k = 0; k < n; k++) {
    char name[64];
    vm_id_lower(id(k), name, sizeof name);
    if (vm_token_is(&t, name)) {
      *out = (uint16_t)k;
      return true;
    }
  }
  return vm_asm_fail(s, &t, "there is no %s `%.*s`", what, VM_TOKEN_SHOWN(t));
}

static const char *fault_id(unsigned k) { return vm_fault_id((vm_fault_kind)k); }
static const char *builtin_id(unsigned k) { return vm_builtin_read((vm_builtin)k)->id; }

static bool read_named(vm_asm_state *s, unsigned space, const char *what, uint16_t *out) {
  uint32_t value;
  if (!vm_asm_need_defined(s, space, what, &value))
    return false;
  *out = (uint16_t)value;
  return true;
}

static bool read_number(vm_asm_state *s, int64_t low, int64_t high, uint16_t *out) {
  int64_t v;
  if (!vm_asm_need_int(s, low, high, &v))
    return false;
  *out = (uint16_t)v;
  return true;
}

static bool read_s32(vm_asm_state *s, vm_ins *i) {
  int64_t v;
  if (!vm_asm_need_int(s, INT32_MIN, INT32_MAX, &v))
    return false;
  i->b = (uint16_t)v;
  i->c = (uint16_t)((uint64_t)v >> 16);
  return true;
}

static bool read_label(body *b, unsigned n) {
  fixup *f = vm_vec_add(b->s, &b->fixups);
  if (!f)
    return false;
  f->pc = (uint32_t)b->code.count;
  f->field = (uint8_t)n;
  return vm_asm_need_name(b->s, &f->label);
}

static bool read_operand(body *b, vm_ins *i, unsigned n, vm_operand kind) {
  vm_asm_state *s = b->s;
  uint16_t *field = field_of(i, n);
  switch (kind) {
  case VM_OPD_S16:
    return read_number(s, INT16_MIN, INT16_MAX, field);
  case VM_OPD_S32:
    return read_s32(s, i);
  case VM_OPD_U1:
    return read_number(s, 0, 1, field);
  case VM_OPD_LP:
    return read_number(s, 0, UINT16_MAX, field);
  case VM_OPD_K:
    return read_named(s, VM_SPACE_CONST, "constant", field);
  case VM_OPD_FN:
    return read_named(s, VM_SPACE_FN, "function", field);
  case VM_OPD_XF:
    return read_named(s, VM_SPACE_EXTERN, "host function", field);
  case VM_OPD_FK:
    return read_id(s, VM_NFAULTS, fault_id, "fault", field);
  case VM_OPD_BF:
    return read_id(s, VM_NBUILTINS, builtin_id, "builtin", field);
  case VM_OPD_OFF:
    return read_label(b, n);
  case VM_OPD_L:
    return read_list(b, field);
  case VM_OPD_LC:
    return read_column(b, field);
  case VM_OPD_SL:
    return read_slice(b, field);
  default:
    return read_register(s, field);
  }
}

/* @line:column; holds on until the next one. */
static bool read_pos(body *b, const vm_token *op) {
  int64_t line = b->now.line, column = b->now.column;
  if (vm_asm_take(b->s, "@")) {
    if (!b->has_pos && b->code.count > 0)
      return vm_asm_fail(b->s, op, "the first instruction needs a position too");
    b->has_pos = true;
    if (!vm_asm_need_int(b->s, 0, UINT32_MAX, &line) || !vm_asm_need(b->s, ":") ||
        !vm_asm_need_int(b->s, 0, UINT32_MAX, &column))
      return false;
  }
  b->now = (vm_pos){(uint32_t)line, (uint32_t)column};
  vm_pos *pos = vm_vec_add(b->s, &b->pos);
  uint32_t *at = pos ? vm_vec_add(b->s, &b->s->lines) : NULL;
  if (!at)
    return false;
  *pos = b->now;
  *at = op->line;
  return true;
}

static bool read_instruction(body *b, const vm_token *name) {
  unsigned op = 0;
  while (op < VM_NOPS && !vm_token_is(name, vm_op_name((vm_op)op)))
    op++;
  if (op == VM_NOPS)
    return vm_asm_fail(b->s, name, "there is no instruction `%.*s`", VM_TOKEN_SHOWN(*name));
  vm_ins i = {.op = (uint16_t)op};
  const vm_op_facts *facts = vm_op_read((vm_op)op);
  bool first = true;
  for (unsigned n = 0; n < 3; n++) {
    if (facts->operand[n] == VM_OPD__)
      continue;
    if ((!first && !vm_asm_need(b->s, ",")) || !read_operand(b, &i, n, facts->operand[n]))
      return false;
    first = false;
  }
  if (b->code.count == VM_MAX_CODE)
    return vm_asm_fail(b->s, name, "more than %d instructions", VM_MAX_CODE);
  if (!read_pos(b, name))
    return false;
  vm_ins *added = vm_vec_add(b->s, &b->code);
  if (added)
    *added = i;
  return added != NULL;
}

/* lists name, name ... */
static bool read_lists(body *b) {
  uint16_t lists[VM_MAX_LISTS];
  const vm_listdef *defs = b->s->lists.data;
  do {
    vm_token t = b->s->tok;
    uint32_t list;
    if (!vm_asm_need_defined(b->s, VM_SPACE_LIST, "list", &list))
      return false;
    if (b->fn->nlists == VM_MAX_LISTS || list >= b->s->lists.count ||
        !vm_token_is(&t, defs[list].schema.name))
      return vm_asm_fail(b->s, &t,
                         b->fn->nlists == VM_MAX_LISTS
                             ? "more than 255 lists"
                             : "the list of that number has another name");
    if (!vm_asm_define(b->s, space_of(b, VM_SPACE_FN_LIST), &t, b->fn->nlists, true))
      return false;
    lists[b->fn->nlists++] = (uint16_t)list;
  } while (vm_asm_take(b->s, ","));
  uint16_t *copy = vm_module_alloc(b->s->m, b->fn->nlists * sizeof *copy);
  if (!copy)
    return vm_asm_memory(b->s);
  memcpy(copy, lists, b->fn->nlists * sizeof *copy);
  b->fn->lists = copy;
  return true;
}

/* regs N, loops N, lists ...: in any order, regs always. */
static bool read_head(body *b) {
  vm_asm_state *s = b->s;
  bool regs = false, loops = false, lists = false;
  for (;;) {
    if (!regs && vm_asm_take(s, "regs")) {
      regs = read_number(s, 0, VM_MAX_REGS, &b->fn->nregs);
    } else if (!loops && vm_asm_take(s, "loops")) {
      loops = read_number(s, 0, UINT16_MAX, &b->fn->nloops);
    } else if (!lists && vm_asm_take(s, "lists")) {
      lists = read_lists(b);
    } else {
      return regs ? s->status == LS_OK : vm_asm_need(s, "regs");
    }
    if (s->status != LS_OK)
      return false;
  }
}

static bool read_code(body *b) {
  while (!vm_asm_is(b->s, "}")) {
    vm_token name;
    if (!vm_asm_need_name(b->s, &name))
      return false;
    if (!vm_asm_take(b->s, ":")) {
      if (!read_instruction(b, &name))
        return false;
    } else if (!vm_asm_define(b->s, space_of(b, VM_SPACE_LABEL), &name, (uint32_t)b->code.count,
                              false)) {
      return false;
    }
  }
  return true;
}

static bool fix_jumps(body *b) {
  vm_ins *code = b->code.data;
  const fixup *fixups = b->fixups.data;
  for (size_t k = 0; k < b->fixups.count; k++) {
    const fixup *f = &fixups[k];
    uint32_t target = vm_asm_find(b->s, space_of(b, VM_SPACE_LABEL), f->label.bytes, f->label.len);
    if (target == VM_NAME_NONE)
      return vm_asm_fail(b->s, &f->label, "there is no label `%.*s`", VM_TOKEN_SHOWN(f->label));
    *field_of(&code[f->pc], f->field) = (uint16_t)(target - f->pc - 1);
  }
  return true;
}

static bool keep(body *b) {
  size_t code_bytes = b->code.count * sizeof(vm_ins), pos_bytes = b->pos.count * sizeof(vm_pos);
  vm_ins *code = vm_module_alloc(b->s->m, code_bytes);
  vm_pos *pos = b->has_pos ? vm_module_alloc(b->s->m, pos_bytes) : NULL;
  if (!code || (b->has_pos && !pos))
    return vm_asm_memory(b->s);
  if (code_bytes)
    memcpy(code, b->code.data, code_bytes);
  if (pos)
    memcpy(pos, b->pos.data, pos_bytes);
  b->fn->code = code;
  b->fn->ncode = (uint32_t)b->code.count;
  b->fn->pos = pos;
  return true;
}

bool vm_asm_body(vm_asm_state *s) {
  vm_body *where = (vm_body *)s->bodies.data + s->fn;
  body b = {.s = s,
            .fn = (vm_fn *)s->fns.data + s->fn,
            .code.size = sizeof(vm_ins),
            .pos.size = sizeof(vm_pos),
            .fixups.size = sizeof(fixup)};
  s->tok = where->start;
  s->at = where->at;
  s->line = s->tok.line;
  s->line_start = s->tok.line_start;
  where->first_line = s->lines.count;
  bool fine = read_head(&b) && read_code(&b) && fix_jumps(&b) && keep(&b);
  vm_vec_free(s, &b.code);
  vm_vec_free(s, &b.pos);
  vm_vec_free(s, &b.fixups);
  return fine;
}
