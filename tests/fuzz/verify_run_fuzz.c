/* Random modules that nearly always verify, and are run (run_module.h says what must hold).
 *
 * The input is read as a sequence of choices: lists, functions, statements, then a few numbers of
 * the code changed at will.
 *
 * Registers have fixed parts: 24 scalars, set at entry, whose type never changes; 16 to build rows
 * and arguments in; then slots of 24 for blocks, one for each loop or row in scope.
 */
#include <stdint.h>
#include <string.h>

#include "tests/fuzz/support/run_module.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SCALARS 24
#define BUILD 24 /* first register of 16 */
#define SLOT_REGS 24
#define SLOTS 6
#define NREGS (BUILD + 16 + SLOTS * SLOT_REGS)
#define MOST_CODE 400
#define MOST_LISTS 12
#define MOST_FNS 5
#define MOST_CONSTS 14

typedef struct {
  fuzz_input in;
  vm_module *m;
  vm_ins code[MOST_CODE + 64];
  unsigned ncode, nloops, slots, depth;
  vm_fn *fn;
  uint16_t lists[MOST_LISTS];
  unsigned nlists;
  bool may_write; /* stored lists, and call what does */
  bool careful;   /* refind before each use, track every cursor */
} maker;

static ls_type scalar_type(unsigned r) {
  return r < 8 ? LS_INT : r < 12 ? LS_REAL : r < 16 ? LS_BOOL : r < 20 ? LS_TEXT : LS_DATE;
}

static unsigned scalar(maker *g, ls_type type) {
  static const unsigned first[LS_NTYPES] = {0, 8, 12, 16, 20};
  return first[type] + fuzz_take(&g->in, type == LS_INT ? 8 : 4);
}

static uint32_t op(maker *g, vm_op o, unsigned a, unsigned b, unsigned c) {
  if (g->ncode < MOST_CODE + 64)
    g->code[g->ncode++] = (vm_ins){(uint16_t)o, (uint16_t)a, (uint16_t)b, (uint16_t)c};
  return g->ncode - 1;
}

static uint16_t *offset(vm_ins *i) {
  return i->op == VM_OP_JMP ? &i->a : i->op == VM_OP_JT || i->op == VM_OP_JF ? &i->b : &i->c;
}

static void land(maker *g, uint32_t pc) { *offset(&g->code[pc]) = (uint16_t)(g->ncode - pc - 1); }

static void jump_to(maker *g, vm_op o, unsigned reg, uint32_t target) {
  uint32_t pc = op(g, o, o == VM_OP_JMP ? 0 : reg, 0, 0);
  *offset(&g->code[pc]) = (uint16_t)(target - pc - 1);
}

static const ls_schema *schema(const maker *g, unsigned list) {
  return &g->m->lists[g->lists[list]].schema;
}

static bool is_local(const maker *g, unsigned list) { return !g->m->lists[g->lists[list]].stored; }

/* Moves scalars of the columns' types to r and on. */
static void fill(maker *g, unsigned r, const ls_column *cols, unsigned n) {
  for (unsigned c = 0; c < n; c++)
    op(g, VM_OP_MOV, r + c, scalar(g, cols[c].type), 0);
}

static void add_param(vm_param *p, unsigned k, ls_type type) {
  static const char *const names[SCALARS] = {"a", "b", "c", "d", "e", "f", "g", "h",
                                             "i", "j", "k", "l", "m", "n", "o", "p",
                                             "q", "r", "s", "t", "u", "v", "w", "x"};
  p[k] = (vm_param){names[k], type};
}

static void make_lists(maker *g, unsigned nstored, unsigned n) {
  static const char *const names[MOST_LISTS] = {"l0", "l1", "l2", "l3", "l4",  "l5",
                                                "l6", "l7", "l8", "l9", "l10", "l11"};
  static const char *const cols[4] = {"c0", "c1", "c2", "c3"};
  vm_listdef *defs = vm_module_alloc(g->m, n * sizeof *defs);
  for (unsigned l = 0; l < n; l++) {
    unsigned ncols = 1 + fuzz_take(&g->in, 4), nkeys = fuzz_take(&g->in, ncols + 1);
    ls_column *c = vm_module_alloc(g->m, ncols * sizeof *c);
    for (unsigned k = 0; k < ncols; k++) {
      unsigned type = fuzz_take(&g->in, 8);
      c[k] = (ls_column){cols[k], type < LS_NTYPES ? (ls_type)type : LS_INT, (uint16_t)k};
    }
    defs[l] = (vm_listdef){l < nstored, {names[l], (uint16_t)ncols, (uint16_t)nkeys, c}};
  }
  g->m->lists = defs;
  g->m->nlists = n;
  g->m->nstored = nstored;
}

static void make_consts(maker *g) {
  static const char *const texts[4] = {"", "a", "abc", "h\xc3\xa9llo 12"};
  static const double reals[4] = {0.0, -0.0, 1.5, 1e300};
  vm_const *k = vm_module_alloc(g->m, MOST_CONSTS * sizeof *k);
  for (unsigned n = 0; n < 4; n++) {
    k[n] = (vm_const){LS_TEXT, {0}, texts[n], (uint32_t)strlen(texts[n])};
    k[4 + n] = (vm_const){.type = LS_REAL, .value.r = reals[n]};
  }
  k[8] = (vm_const){.type = LS_INT, .value.i = INT64_MIN};
  k[9] = (vm_const){.type = LS_DATE, .value.i = LS_DATE_MAX};
  k[10] = (vm_const){.type = LS_INT, .value.i = 0xff00};
  k[11] = (vm_const){.type = LS_INT, .value.i = 0xff01};
  k[12] = (vm_const){.type = LS_INT, .value.i = 0xff0003};
  k[13] = (vm_const){.type = LS_REAL, .value.u = UINT64_C(0x7ff8000000000000)};
  g->m->consts = k;
  g->m->nconsts = MOST_CONSTS;
}

static void make_externs(maker *g) {
  vm_extern *x = vm_module_alloc(g->m, 2 * sizeof *x);
  vm_param *p = vm_module_alloc(g->m, 2 * sizeof *p);
  add_param(p, 0, LS_INT);
  add_param(p, 1, LS_TEXT);
  x[0] = (vm_extern){"look", true, 1, p, VM_RESULT_SCALAR, LS_INT};
  x[1] = (vm_extern){"tell", false, 1, p + 1, VM_RESULT_NONE, LS_INT};
  g->m->externs = x;
  g->m->nexterns = 2;
}

static void make_scalar(maker *g) {
  static const struct {
    uint8_t op, to, from; /* both operands of type from */
  } ops[] = {{VM_OP_IADD, LS_INT, LS_INT},   {VM_OP_ISUB, LS_INT, LS_INT},
             {VM_OP_IMUL, LS_INT, LS_INT},   {VM_OP_IDIV, LS_INT, LS_INT},
             {VM_OP_IMOD, LS_INT, LS_INT},   {VM_OP_RADD, LS_REAL, LS_REAL},
             {VM_OP_RSUB, LS_REAL, LS_REAL}, {VM_OP_RMUL, LS_REAL, LS_REAL},
             {VM_OP_RDIV, LS_REAL, LS_REAL}, {VM_OP_DDIFF, LS_INT, LS_DATE},
             {VM_OP_IEQ, LS_BOOL, LS_INT},   {VM_OP_INE, LS_BOOL, LS_BOOL},
             {VM_OP_ILT, LS_BOOL, LS_INT},   {VM_OP_ILE, LS_BOOL, LS_DATE},
             {VM_OP_REQ, LS_BOOL, LS_REAL},  {VM_OP_RNE, LS_BOOL, LS_REAL},
             {VM_OP_RLT, LS_BOOL, LS_REAL},  {VM_OP_RLE, LS_BOOL, LS_REAL},
             {VM_OP_TEQ, LS_BOOL, LS_TEXT},  {VM_OP_TNE, LS_BOOL, LS_TEXT},
             {VM_OP_TLT, LS_BOOL, LS_TEXT},  {VM_OP_TLE, LS_BOOL, LS_TEXT}};
  unsigned k = fuzz_take(&g->in, sizeof ops / sizeof ops[0] + 6);
  if (k < sizeof ops / sizeof ops[0]) {
    unsigned to = scalar(g, (ls_type)ops[k].to), b = scalar(g, (ls_type)ops[k].from);
    op(g, (vm_op)ops[k].op, to, b, scalar(g, (ls_type)ops[k].from));
    return;
  }
  unsigned i = scalar(g, LS_INT), j = scalar(g, LS_INT);
  switch (k - sizeof ops / sizeof ops[0]) {
  case 0:
    op(g, VM_OP_IADDK, i, j, fuzz_take(&g->in, 5) - 2);
    break;
  case 1:
    op(g, VM_OP_LDI, i, fuzz_take(&g->in, 256), 0);
    break;
  case 2:
    op(g, VM_OP_DADD, scalar(g, LS_DATE), scalar(g, LS_DATE), i);
    break;
  case 3:
    op(g, VM_OP_NOT, scalar(g, LS_BOOL), scalar(g, LS_BOOL), 0);
    break;
  case 4:
    op(g, VM_OP_LDK, scalar(g, LS_TEXT), fuzz_take(&g->in, 4), 0);
    break;
  default:
    op(g, VM_OP_RNEG, scalar(g, LS_REAL), scalar(g, LS_REAL), 0);
  }
}

static void make_builtin(maker *g) {
  static const struct {
    const char *result, *args;
  } builtins[] = {
#define BUILTIN(id, name, result, args, cost, effects, meaning) {result, args},
#include "vm/vm_builtins.def"
#undef BUILTIN
  };
  static const char letters[] = "IRBTD";
  unsigned b = fuzz_take(&g->in, VM_NBUILTINS);
  for (unsigned k = 0; builtins[b].args[k]; k++)
    op(g, VM_OP_MOV, BUILD + k,
       scalar(g, (ls_type)(strchr(letters, builtins[b].args[k]) - letters)), 0);
  op(g, VM_OP_BIF, scalar(g, (ls_type)(strchr(letters, builtins[b].result[0]) - letters)), b,
     BUILD);
}

static void make_block(maker *g);

static void make_if(maker *g) {
  uint32_t no = op(g, fuzz_take(&g->in, 2) ? VM_OP_JT : VM_OP_JF, scalar(g, LS_BOOL), 0, 0);
  make_block(g);
  uint32_t over = op(g, VM_OP_JMP, 0, 0, 0);
  land(g, no);
  make_block(g);
  land(g, over);
}

static void make_while(maker *g) {
  uint32_t header = op(g, VM_OP_LOOP, g->nloops++, 0, 0);
  make_block(g);
  jump_to(g, fuzz_take(&g->in, 2) ? VM_OP_JT : VM_OP_JF, scalar(g, LS_BOOL), header);
}

static void make_call(maker *g) {
  unsigned k = fuzz_take(&g->in, 4);
  if (k == 0) {
    op(g, VM_OP_MOV, BUILD, scalar(g, LS_INT), 0);
    op(g, VM_OP_CALLX, BUILD, 0, 0);
    op(g, VM_OP_MOV, scalar(g, LS_INT), BUILD, 0);
  } else if (k == 1 && g->may_write) {
    op(g, VM_OP_MOV, BUILD, scalar(g, LS_TEXT), 0);
    op(g, VM_OP_CALLX, BUILD, 1, 0);
  } else { /* function 0 only reads, function 1 may write: (int, real): int */
    op(g, VM_OP_MOV, BUILD, scalar(g, LS_INT), 0);
    op(g, VM_OP_MOV, BUILD + 1, scalar(g, LS_REAL), 0);
    op(g, VM_OP_CALL, BUILD, g->may_write ? fuzz_take(&g->in, 2) : 0, 0);
    op(g, VM_OP_MOV, scalar(g, LS_INT), BUILD, 0);
  }
}

/* Writes to a whole list, or questions about one. */
static void make_whole(maker *g) {
  unsigned list = fuzz_take(&g->in, g->nlists), k = fuzz_take(&g->in, 8);
  const ls_schema *s = schema(g, list);
  bool writable = is_local(g, list) || g->may_write;
  if (k >= 4 && writable) {
    fill(g, BUILD, s->cols, s->ncols);
    op(g, s->nkeys && k > 4 ? VM_OP_PUT : VM_OP_ADD, BUILD, list, 0);
  } else if (k == 3 && s->nkeys && writable) {
    fill(g, BUILD, s->cols, s->nkeys);
    op(g, VM_OP_ERASE, BUILD, list, 0);
  } else if (k == 2 && s->nkeys) {
    fill(g, BUILD, s->cols, s->nkeys);
    op(g, VM_OP_HAS, scalar(g, LS_BOOL), BUILD, list);
  } else if (k == 1 && s->nkeys == 0 && writable) {
    op(g, VM_OP_SORT, list, 10 + fuzz_take(&g->in, s->ncols > 1 ? 3 : 2), 0);
  } else if (k == 0 && writable && fuzz_take(&g->in, 4) == 0) {
    op(g, is_local(g, list) ? VM_OP_NEW : VM_OP_CLEAR, list, 0, 0);
  } else {
    op(g, VM_OP_COUNT, scalar(g, LS_INT), list, 0);
  }
}

/* Reads and writes of the row whose block is at base. */
static void use_row(maker *g, unsigned base, unsigned list, bool refindable) {
  const ls_schema *s = schema(g, list);
  for (unsigned n = fuzz_take(&g->in, 4); n > 0; n--) {
    unsigned c = fuzz_take(&g->in, s->ncols);
    if (s->nkeys && refindable && (g->careful || fuzz_take(&g->in, 2)))
      op(g, VM_OP_REFIND, base, list, 0);
    if (c >= s->nkeys && (is_local(g, list) || g->may_write) && fuzz_take(&g->in, 2))
      op(g, VM_OP_SET, base, scalar(g, s->cols[c].type), list << 8 | c);
    else
      op(g, VM_OP_GET, scalar(g, s->cols[c].type), base, list << 8 | c);
    if (fuzz_take(&g->in, 3) == 0)
      make_block(g);
  }
}

static unsigned slot(maker *g) { return BUILD + 16 + g->slots++ * SLOT_REGS; }

static void make_row(maker *g) {
  unsigned list = fuzz_take(&g->in, g->nlists), base = slot(g), k = fuzz_take(&g->in, 3);
  const ls_schema *s = schema(g, list);
  uint32_t miss = 0;
  if (s->nkeys == 0) {
    op(g, VM_OP_ROW, base, scalar(g, LS_INT), list);
    use_row(g, base, list, false);
    return;
  }
  fill(g, base + 2, s->cols, s->nkeys);
  if (k == 0 && (is_local(g, list) || g->may_write)) {
    fill(g, BUILD, s->cols + s->nkeys, s->ncols - s->nkeys);
    op(g, VM_OP_ENSURE, base, BUILD, list);
  } else {
    miss = op(g, k == 1 ? VM_OP_FIND : VM_OP_FINDJ, base, list, 0);
  }
  use_row(g, base, list, true);
  if (miss && k != 1)
    land(g, miss);
}

/* A slice: its number, its bounds in the cursor block at base. */
static unsigned make_bounds(maker *g, unsigned base, unsigned list) {
  const ls_schema *s = schema(g, list);
  unsigned np = fuzz_take(&g->in, s->nkeys + 1u), at = base + 4 + s->nkeys;
  unsigned spec = np | (np < s->nkeys ? fuzz_take(&g->in, 4) << 5 : 0);
  fill(g, at, s->cols, np);
  for (unsigned k = 0; k < ((spec >> 5) & 1u) + ((spec >> 6) & 1u); k++)
    op(g, VM_OP_MOV, at + np + k, scalar(g, s->cols[np].type), 0);
  if (g->careful || fuzz_take(&g->in, 2))
    spec |= 128;
  return list << 8 | spec;
}

static void make_for(maker *g) {
  unsigned list = fuzz_take(&g->in, g->nlists), base = slot(g);
  unsigned sl = make_bounds(g, base, list);
  op(g, VM_OP_SEEK, base, sl, 0);
  uint32_t header = op(g, VM_OP_LOOP, g->nloops++, 0, 0);
  uint32_t end = op(g, VM_OP_NEXT, base, sl, 0);
  use_row(g, base, list, sl & 128);
  make_block(g);
  jump_to(g, VM_OP_JMP, 0, header);
  land(g, end);
}

/* first, last, count of a slice */
static void make_edge(maker *g) {
  unsigned list = fuzz_take(&g->in, g->nlists), base = slot(g), k = fuzz_take(&g->in, 3);
  unsigned sl = make_bounds(g, base, list);
  if (k == 2 && schema(g, list)->nkeys) {
    op(g, VM_OP_SCOUNT, scalar(g, LS_INT), base + 4 + schema(g, list)->nkeys, sl & 0xff7f);
    return;
  }
  uint32_t none = op(g, k ? VM_OP_FIRSTJ : VM_OP_LASTJ, base, sl, 0);
  use_row(g, base, list, sl & 128);
  land(g, none);
}

static void make_return(maker *g) {
  if (g->fn->result == VM_RESULT_NONE)
    op(g, VM_OP_RET, 0, 0, 0);
  else if (g->fn->result == VM_RESULT_SCALAR)
    op(g, VM_OP_RETV, scalar(g, g->fn->result_type), 0, 0);
  else
    op(g, VM_OP_RETL, g->nlists - 1, 0, 0);
}

static void make_end(maker *g) {
  uint32_t over = op(g, VM_OP_JT, scalar(g, LS_BOOL), 0, 0);
  unsigned k = fuzz_take(&g->in, 4);
  if (k == 0)
    op(g, VM_OP_FAIL, scalar(g, LS_TEXT), 0, 0);
  else if (k == 1)
    op(g, VM_OP_RAISE, fuzz_take(&g->in, VM_NFAULTS), 0, 0);
  else
    make_return(g);
  land(g, over);
}

static void make_statement(maker *g) {
  unsigned slots = g->slots, k = fuzz_take(&g->in, 16);
  bool deep = g->depth >= 5 || g->slots + 1 >= SLOTS;
  if (k < 3 || (deep && k > 5))
    make_scalar(g);
  else if (k == 3)
    make_builtin(g);
  else if (k < 6)
    make_whole(g);
  else if (k == 6)
    make_if(g);
  else if (k == 7)
    make_while(g);
  else if (k < 10)
    make_for(g);
  else if (k < 12)
    make_row(g);
  else if (k == 12)
    make_edge(g);
  else if (k == 13)
    make_call(g);
  else if (k == 14)
    make_end(g);
  else
    make_whole(g);
  g->slots = slots;
}

static void make_block(maker *g) {
  g->depth++;
  for (unsigned n = fuzz_take(&g->in, 4); n > 0 && g->ncode < MOST_CODE; n--)
    make_statement(g);
  g->depth--;
}

/* Scalars that are no arguments get values; local lists begin. */
static void make_entry(maker *g) {
  for (unsigned r = g->fn->nparams; r < SCALARS; r++) {
    ls_type type = scalar_type(r);
    if (type == LS_INT)
      op(g, VM_OP_LDI, r, r, 0);
    else if (type == LS_BOOL)
      op(g, VM_OP_LDB, r, r & 1, 0);
    else
      op(g, VM_OP_LDK, r, type == LS_TEXT ? r & 3 : type == LS_REAL ? 4 + (r & 3) : 9, 0);
  }
  for (unsigned l = 0; l < g->nlists; l++)
    if (is_local(g, l))
      op(g, VM_OP_NEW, l, 0, 0);
}

static void damage(maker *g) {
  for (unsigned n = fuzz_take(&g->in, 8) == 1 ? 1 + fuzz_take(&g->in, 3) : 0; n > 0; n--) {
    vm_ins *i = &g->code[(fuzz_take(&g->in, 256) * 256u + fuzz_take(&g->in, 256)) % g->ncode];
    uint16_t *field[4] = {&i->op, &i->a, &i->b, &i->c};
    unsigned k = fuzz_take(&g->in, 4);
    *field[k] = (uint16_t)(fuzz_take(&g->in, 2) ? *field[k] + fuzz_take(&g->in, 7) - 3u
                                                : fuzz_take(&g->in, 256));
  }
}

static void use_lists(maker *g, unsigned f) {
  g->nlists = 0;
  for (unsigned l = 0; l < g->m->nstored; l++)
    g->lists[g->nlists++] = (uint16_t)l;
  for (unsigned l = g->m->nstored + 2 * f; l < g->m->nstored + 2 * f + 2 && l < g->m->nlists; l++)
    g->lists[g->nlists++] = (uint16_t)l;
  uint16_t *lists = vm_module_alloc(g->m, sizeof g->lists);
  memcpy(lists, g->lists, g->nlists * sizeof *lists);
  g->fn->lists = lists;
  g->fn->nlists = (uint16_t)g->nlists;
}

/* Functions 0 and 1 are fns, (int, real): int; then queries and events with all sorts of arguments
 * and results. */
static void choose_head(maker *g, unsigned f) {
  static const char *const names[MOST_FNS] = {"reads", "writes", "third", "fourth", "fifth"};
  vm_param *p = vm_module_alloc(g->m, SCALARS * sizeof *p);
  vm_fn *fn = g->fn;
  fn->name = names[f];
  fn->kind = f < 2 ? VM_FN : fuzz_take(&g->in, 2) ? VM_EVENT : VM_QUERY;
  fn->result = f < 2 ? VM_RESULT_SCALAR : (vm_result_kind)fuzz_take(&g->in, 3);
  fn->result_type = f < 2 ? LS_INT : (ls_type)fuzz_take(&g->in, LS_NTYPES);
  fn->nparams = f < 2 ? 2 : (uint16_t)fuzz_take(&g->in, SCALARS + 1);
  for (unsigned k = 0; k < fn->nparams; k++)
    add_param(p, k, f < 2 ? (k ? LS_REAL : LS_INT) : scalar_type(k));
  fn->params = p;
  g->may_write = f == 1 || fn->kind == VM_EVENT;
  g->careful = fuzz_take(&g->in, 4) != 0;
}

static void make_result(maker *g) {
  const ls_schema *s = schema(g, g->nlists - 1);
  vm_param *p = vm_module_alloc(g->m, s->ncols * sizeof *p);
  for (unsigned c = 0; c < s->ncols; c++)
    add_param(p, c, s->cols[c].type);
  g->fn->result_cols = p;
  g->fn->nresult = s->ncols;
}

static void make_fn(maker *g, unsigned f) {
  g->ncode = g->nloops = g->slots = g->depth = 0;
  choose_head(g, f);
  use_lists(g, f);
  if (g->fn->result == VM_RESULT_ROWS)
    make_result(g);
  if (f < 2) /* the real argument goes where reals are; r1 is set again below */
    op(g, VM_OP_MOV, 8, 1, 0);
  unsigned nparams = g->fn->nparams;
  g->fn->nparams = f < 2 ? 1 : (uint16_t)nparams;
  make_entry(g);
  g->fn->nparams = (uint16_t)nparams;
  for (unsigned n = 1 + fuzz_take(&g->in, 12); n > 0 && g->ncode < MOST_CODE; n--)
    make_statement(g);
  make_return(g);
  damage(g);
  vm_ins *code = vm_module_alloc(g->m, g->ncode * sizeof *code);
  vm_pos *pos = vm_module_alloc(g->m, g->ncode * sizeof *pos);
  memcpy(code, g->code, g->ncode * sizeof *code);
  for (unsigned pc = 0; pc < g->ncode; pc++)
    pos[pc] = (vm_pos){f + 1, pc + 1};
  g->fn->code = code;
  g->fn->pos = pos;
  g->fn->ncode = g->ncode;
  g->fn->nregs = NREGS;
  g->fn->nloops = (uint16_t)g->nloops;
}

static vm_module *make_module(maker *g, ls_mem *mem) {
  g->m = vm_module_new(mem, "made");
  unsigned nstored = 1 + fuzz_take(&g->in, 3), nfns = 3 + fuzz_take(&g->in, MOST_FNS - 2);
  make_lists(g, nstored, nstored + 2 * nfns > MOST_LISTS ? MOST_LISTS : nstored + 2 * nfns);
  make_consts(g);
  make_externs(g);
  vm_fn *fns = vm_module_alloc(g->m, nfns * sizeof *fns);
  for (unsigned f = 0; f < nfns; f++) {
    g->fn = &fns[f];
    make_fn(g, f);
  }
  g->m->fns = fns;
  g->m->nfns = nfns;
  return g->m;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static maker g; /* large */
  ls_mem *mem = ls_mem_new(NULL);
  fuzz_require(mem != NULL);
  memset(&g, 0, sizeof g);
  g.in = (fuzz_input){data, data + size};
  fuzz_take_module(make_module(&g, mem), mem, &g.in);
  return 0;
}
