/* vm/vm_disasm.c - module to assembly text, which assembles to the same bytes.
 *
 * Constants are named k0, k1 ..., labels L0, L1 ... in the order of the code.  A list is named
 * as it is; where lists share a name, `#` and its number follow.
 */
#include "vm/vm_format.h"
#include "vm/vm_names.h"
#include "vm/vm_tables.h"
#include "vm/vm_text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct {
  const vm_module *m;
  vm_write write;
  void *user;
  bool going; /* the reader wants more */
  const vm_fn *fn;
  const char **sorted; /* names of all lists */
  uint16_t *label;     /* by pc: number + 1 of the label there, or 0 */
} printer;

static void put(printer *p, const char *bytes, size_t n) {
  p->going = p->going && p->write(p->user, bytes, n);
}

static void print(printer *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void print(printer *p, const char *format, ...) {
  char text[VM_MAX_NAME + 64]; /* a name and some more at most, each time */
  va_list args;
  va_start(args, format);
  int n = vsnprintf(text, sizeof text, format, args);
  va_end(args);
  put(p, text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
}

static void print_text(printer *p, const char *bytes, size_t len) {
  put(p, "\"", 1);
  size_t from = 0;
  for (size_t at = 0; at < len; at++) {
    unsigned char c = (unsigned char)bytes[at];
    if (c >= 32 && c != '"' && c != '\\' && c != 127)
      continue;
    put(p, bytes + from, at - from);
    from = at + 1;
    if (c == '"' || c == '\\')
      print(p, "\\%c", c);
    else if (c == '\n')
      put(p, "\\n", 2);
    else
      print(p, "\\u{%x}", c);
  }
  put(p, bytes + from, len - from);
  put(p, "\"", 1);
}

static void print_real(printer *p, ls_val v) {
  char text[VM_TEXT_NUMBER];
  ls_val back = {0};
  size_t n = vm_text_from_real(v.r, text);
  if (v.r == v.r && vm_text_to_real(text, n, &back.r) && back.u == v.u)
    put(p, text, n);
  else
    print(p, "0x%016llx", (unsigned long long)v.u);
}

static void print_value(printer *p, const vm_const *k) {
  char text[VM_TEXT_NUMBER];
  switch (k->type) {
  case LS_INT:
    print(p, "%lld", (long long)k->value.i);
    break;
  case LS_REAL:
    print_real(p, k->value);
    break;
  case LS_BOOL:
    print(p, "%s", k->value.u ? "true" : "false");
    break;
  case LS_DATE:
    put(p, "\"", 1);
    put(p, text, vm_text_from_date(k->value.i, text));
    put(p, "\"", 1);
    break;
  case LS_TEXT:
    print_text(p, k->text, k->text_len);
    break;
  }
}

static void print_params(printer *p, const vm_param *list, unsigned n) {
  put(p, "(", 1);
  for (unsigned k = 0; k < n; k++) {
    print(p, "%s%s", k ? ", " : "", list[k].name);
    print(p, ": %s", vm_type_name(list[k].type));
  }
  put(p, ")", 1);
}

/* word (names of columns from..to): nothing where there are none. */
static void print_order(printer *p, const char *word, const ls_schema *s, unsigned from,
                        unsigned to) {
  for (unsigned c = from; c < to; c++)
    print(p, "%s%s", c == from ? word : ", ", s->cols[c].name);
  if (from < to)
    put(p, ")", 1);
}

static void print_list(printer *p, const vm_listdef *def) {
  const ls_schema *s = &def->schema;
  uint8_t at[LS_MAX_COLS] = {0};
  bool as_declared = true; /* the columns after the key */
  for (unsigned c = 0; c < s->ncols; c++) {
    at[s->cols[c].declared] = (uint8_t)c;
    if (c > s->nkeys && s->cols[c].declared < s->cols[c - 1].declared)
      as_declared = false;
  }
  print(p, "%s %s (", def->stored ? "list" : "local", s->name);
  for (unsigned d = 0; d < s->ncols; d++) {
    print(p, "%s%s", d ? ", " : "", s->cols[at[d]].name);
    print(p, ": %s", vm_type_name(s->cols[at[d]].type));
  }
  put(p, ")", 1);
  print_order(p, " key (", s, 0, s->nkeys);
  if (!as_declared)
    print_order(p, " rest (", s, s->nkeys, s->ncols);
  put(p, "\n", 1);
}

static void print_decls(printer *p) {
  const vm_module *m = p->m;
  print(p, "-- Pure bytecode, format %u, costs %u\nsource ", VM_FORMAT_VERSION, VM_COST_VERSION);
  print_text(p, m->source_name, strlen(m->source_name));
  put(p, "\n\n", 2);
  for (uint32_t k = 0; k < m->nconsts; k++) {
    print(p, "const k%u %s ", k, vm_type_name(m->consts[k].type));
    print_value(p, &m->consts[k]);
    put(p, "\n", 1);
  }
  for (uint32_t k = 0; k < m->nlists; k++)
    print_list(p, &m->lists[k]);
  for (uint32_t k = 0; k < m->nexterns; k++) {
    const vm_extern *x = &m->externs[k];
    print(p, "%sextern %s", x->pure ? "pure " : "", x->name);
    print_params(p, x->params, x->nparams);
    if (x->result == VM_RESULT_SCALAR)
      print(p, ": %s", vm_type_name(x->result_type));
    put(p, "\n", 1);
  }
}

/* Does more than one list of the module have that name?  sorted: all names. */
static bool is_shared(const printer *p, const char *name) {
  size_t low = 0, high = p->m->nlists;
  while (low < high) {
    size_t mid = low + (high - low) / 2;
    if (strcmp(p->sorted[mid], name) < 0)
      low = mid + 1;
    else
      high = mid;
  }
  return low + 1 < p->m->nlists && strcmp(p->sorted[low + 1], name) == 0;
}

static const ls_schema *schema_of(const printer *p, unsigned list) {
  return &p->m->lists[p->fn->lists[list]].schema;
}

static void print_fn_list(printer *p, unsigned list) {
  const char *name = schema_of(p, list)->name;
  bool shared = false;
  if (is_shared(p, name))
    for (unsigned l = 0; l < p->fn->nlists; l++)
      shared |= l != list && strcmp(schema_of(p, l)->name, name) == 0;
  print(p, "%s", name);
  if (shared)
    print(p, "#%u", list);
}

static void print_slice(printer *p, unsigned sl) {
  vm_spec spec = vm_spec_read(sl);
  print_fn_list(p, sl >> 8);
  print(p, "[%u%s%s%s]", spec.np, spec.lo ? " lo" : "", spec.hi ? " hi" : "",
        spec.tracked ? " tracked" : "");
}

static void print_id(printer *p, const char *id) {
  char name[64];
  vm_id_lower(id, name, sizeof name);
  print(p, "%s", name);
}

static void print_operand(printer *p, const vm_ins *i, uint32_t pc, unsigned n, vm_operand kind) {
  uint16_t x = vm_ins_field(i, n);
  switch (kind) {
  case VM_OPD_S16:
    print(p, "%d", (int16_t)x);
    break;
  case VM_OPD_S32:
    print(p, "%d", vm_ins_s32(i));
    break;
  case VM_OPD_U1:
  case VM_OPD_LP:
    print(p, "%u", x);
    break;
  case VM_OPD_K:
    print(p, "k%u", x);
    break;
  case VM_OPD_FK:
    print_id(p, vm_fault_id((vm_fault_kind)x));
    break;
  case VM_OPD_BF:
    print_id(p, vm_builtin_read((vm_builtin)x)->id);
    break;
  case VM_OPD_FN:
    print(p, "%s", p->m->fns[x].name);
    break;
  case VM_OPD_XF:
    print(p, "%s", p->m->externs[x].name);
    break;
  case VM_OPD_OFF:
    print(p, "L%u", p->label[vm_ins_target(i, pc)] - 1u);
    break;
  case VM_OPD_L:
    print_fn_list(p, x);
    break;
  case VM_OPD_LC:
    print_fn_list(p, x >> 8);
    print(p, ".%s", schema_of(p, x >> 8)->cols[x & 255u].name);
    break;
  case VM_OPD_SL:
    print_slice(p, x);
    break;
  default:
    print(p, "r%u", x);
  }
}

/* What a constant means where the instruction does not show it. */
static void print_remark(printer *p, const vm_ins *i) {
  const vm_const *k = &p->m->consts[i->b];
  if (i->op == VM_OP_LDK) {
    put(p, "  -- ", 5);
    print_value(p, k);
  }
  if (i->op != VM_OP_SORT)
    return;
  for (unsigned n = 0; n < 8; n++) {
    unsigned key = (unsigned)(k->value.u >> (8 * n)) & 255u;
    if (key == 255)
      break;
    print(p, "%s%s", n ? ", " : "  -- by ", schema_of(p, i->a)->cols[key >> 1].name);
    print(p, "%s", key & 1 ? " desc" : "");
  }
}

static void print_ins(printer *p, uint32_t pc) {
  const vm_ins *i = &p->fn->code[pc];
  const vm_op_facts *facts = vm_op_read((vm_op)i->op);
  if (p->label[pc])
    print(p, "L%u:\n", p->label[pc] - 1u);
  print(p, "  %s", facts->name);
  bool first = true;
  for (unsigned n = 0; n < 3; n++) {
    if (facts->operand[n] == VM_OPD__)
      continue;
    print(p, "%s", first ? " " : ", ");
    print_operand(p, i, pc, n, facts->operand[n]);
    first = false;
  }
  const vm_pos *pos = p->fn->pos;
  if (pos && (pc == 0 || pos[pc].line != pos[pc - 1].line || pos[pc].column != pos[pc - 1].column))
    print(p, " @%u:%u", pos[pc].line, pos[pc].column);
  print_remark(p, i);
  put(p, "\n", 1);
}

static void print_head(printer *p) {
  static const char *const kinds[] = {"fn", "query", "event"};
  const vm_fn *fn = p->fn;
  print(p, "\n%s %s", kinds[fn->kind], fn->name);
  print_params(p, fn->params, fn->nparams);
  if (fn->result == VM_RESULT_SCALAR)
    print(p, ": %s", vm_type_name(fn->result_type));
  if (fn->result == VM_RESULT_ROWS) {
    put(p, ": ", 2);
    print_params(p, fn->result_cols, fn->nresult);
  }
  print(p, " {\n  regs %u loops %u", fn->nregs, fn->nloops);
  for (unsigned l = 0; l < fn->nlists; l++) {
    print(p, "%s%s", l ? ", " : " lists ", schema_of(p, l)->name);
    if (is_shared(p, schema_of(p, l)->name))
      print(p, "#%u", fn->lists[l]);
  }
  put(p, "\n", 1);
}

static void print_function(printer *p) {
  const vm_fn *fn = p->fn;
  memset(p->label, 0, fn->ncode * sizeof *p->label);
  for (uint32_t pc = 0; pc < fn->ncode; pc++) {
    int64_t target = vm_ins_target(&fn->code[pc], pc);
    if (target >= 0)
      p->label[target] = 1;
  }
  uint16_t labels = 0;
  for (uint32_t pc = 0; pc < fn->ncode; pc++)
    if (p->label[pc])
      p->label[pc] = ++labels;
  print_head(p);
  for (uint32_t pc = 0; pc < fn->ncode && p->going; pc++)
    print_ins(p, pc);
  put(p, "}\n", 2);
}

bool vm_disasm(const vm_module *m, int only_fn, vm_write write, void *user) {
  size_t names = ((size_t)m->nlists + 1) * sizeof(char *), labels = VM_MAX_CODE * sizeof(uint16_t);
  printer p = {.m = m, .write = write, .user = user, .going = m->verified};
  p.sorted = ls_mem_alloc(m->mem, names);
  p.label = ls_mem_alloc(m->mem, labels);
  if (p.sorted && p.label && m->verified) {
    for (uint32_t l = 0; l < m->nlists; l++)
      p.sorted[l] = m->lists[l].schema.name;
    vm_names_repeated(p.sorted, m->nlists);
    if (only_fn < 0)
      print_decls(&p);
    for (uint32_t f = 0; f < m->nfns && p.going; f++) {
      p.fn = &m->fns[f];
      if (only_fn < 0 || f == (uint32_t)only_fn)
        print_function(&p);
    }
  }
  bool fine = p.sorted && p.label && p.going;
  ls_mem_free(m->mem, p.sorted, names);
  ls_mem_free(m->mem, p.label, labels);
  return fine;
}
