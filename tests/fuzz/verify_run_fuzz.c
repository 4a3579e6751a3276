/* Random modules that nearly always verify, run on two stores of different layout policies.
 *
 * The input is read as a sequence of choices: lists, functions, statements, then a few numbers of
 * the code changed at will.  What the verifier accepts is called with tight limits.  Nothing may
 * crash; answers, faults, work and the stores' contents must be the same under both policies;
 * every list must hold together; a fault must leave the store as it was.
 *
 * Registers have fixed parts: 24 scalars, set at entry, whose type never changes; 16 to build rows
 * and arguments in; then slots of 24 for blocks, one for each loop or row in scope.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vm/vm.h"

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
  const uint8_t *at, *end;
} input;

static unsigned take(input *in, unsigned n) { return in->at < in->end ? *in->at++ % n : 0; }

static void require(bool fine) {
  if (!fine)
    abort();
}

typedef struct {
  input in;
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
  return first[type] + take(&g->in, type == LS_INT ? 8 : 4);
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
    unsigned ncols = 1 + take(&g->in, 4), nkeys = take(&g->in, ncols + 1);
    ls_column *c = vm_module_alloc(g->m, ncols * sizeof *c);
    for (unsigned k = 0; k < ncols; k++) {
      unsigned type = take(&g->in, 8);
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
  unsigned k = take(&g->in, sizeof ops / sizeof ops[0] + 6);
  if (k < sizeof ops / sizeof ops[0]) {
    unsigned to = scalar(g, (ls_type)ops[k].to), b = scalar(g, (ls_type)ops[k].from);
    op(g, (vm_op)ops[k].op, to, b, scalar(g, (ls_type)ops[k].from));
    return;
  }
  unsigned i = scalar(g, LS_INT), j = scalar(g, LS_INT);
  switch (k - sizeof ops / sizeof ops[0]) {
  case 0:
    op(g, VM_OP_IADDK, i, j, take(&g->in, 5) - 2);
    break;
  case 1:
    op(g, VM_OP_LDI, i, take(&g->in, 256), 0);
    break;
  case 2:
    op(g, VM_OP_DADD, scalar(g, LS_DATE), scalar(g, LS_DATE), i);
    break;
  case 3:
    op(g, VM_OP_NOT, scalar(g, LS_BOOL), scalar(g, LS_BOOL), 0);
    break;
  case 4:
    op(g, VM_OP_LDK, scalar(g, LS_TEXT), take(&g->in, 4), 0);
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
  unsigned b = take(&g->in, VM_NBUILTINS);
  for (unsigned k = 0; builtins[b].args[k]; k++)
    op(g, VM_OP_MOV, BUILD + k,
       scalar(g, (ls_type)(strchr(letters, builtins[b].args[k]) - letters)), 0);
  op(g, VM_OP_BIF, scalar(g, (ls_type)(strchr(letters, builtins[b].result[0]) - letters)), b,
     BUILD);
}

static void make_block(maker *g);

static void make_if(maker *g) {
  uint32_t no = op(g, take(&g->in, 2) ? VM_OP_JT : VM_OP_JF, scalar(g, LS_BOOL), 0, 0);
  make_block(g);
  uint32_t over = op(g, VM_OP_JMP, 0, 0, 0);
  land(g, no);
  make_block(g);
  land(g, over);
}

static void make_while(maker *g) {
  uint32_t header = op(g, VM_OP_LOOP, g->nloops++, 0, 0);
  make_block(g);
  jump_to(g, take(&g->in, 2) ? VM_OP_JT : VM_OP_JF, scalar(g, LS_BOOL), header);
}

static void make_call(maker *g) {
  unsigned k = take(&g->in, 4);
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
    op(g, VM_OP_CALL, BUILD, g->may_write ? take(&g->in, 2) : 0, 0);
    op(g, VM_OP_MOV, scalar(g, LS_INT), BUILD, 0);
  }
}

/* Writes to a whole list, or questions about one. */
static void make_whole(maker *g) {
  unsigned list = take(&g->in, g->nlists), k = take(&g->in, 8);
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
    op(g, VM_OP_SORT, list, 10 + take(&g->in, s->ncols > 1 ? 3 : 2), 0);
  } else if (k == 0 && writable && take(&g->in, 4) == 0) {
    op(g, is_local(g, list) ? VM_OP_NEW : VM_OP_CLEAR, list, 0, 0);
  } else {
    op(g, VM_OP_COUNT, scalar(g, LS_INT), list, 0);
  }
}

/* Reads and writes of the row whose block is at base. */
static void use_row(maker *g, unsigned base, unsigned list, bool refindable) {
  const ls_schema *s = schema(g, list);
  for (unsigned n = take(&g->in, 4); n > 0; n--) {
    unsigned c = take(&g->in, s->ncols);
    if (s->nkeys && refindable && (g->careful || take(&g->in, 2)))
      op(g, VM_OP_REFIND, base, list, 0);
    if (c >= s->nkeys && (is_local(g, list) || g->may_write) && take(&g->in, 2))
      op(g, VM_OP_SET, base, scalar(g, s->cols[c].type), list << 8 | c);
    else
      op(g, VM_OP_GET, scalar(g, s->cols[c].type), base, list << 8 | c);
    if (take(&g->in, 3) == 0)
      make_block(g);
  }
}

static unsigned slot(maker *g) { return BUILD + 16 + g->slots++ * SLOT_REGS; }

static void make_row(maker *g) {
  unsigned list = take(&g->in, g->nlists), base = slot(g), k = take(&g->in, 3);
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
  unsigned np = take(&g->in, s->nkeys + 1u), at = base + 4 + s->nkeys;
  unsigned spec = np | (np < s->nkeys ? take(&g->in, 4) << 5 : 0);
  fill(g, at, s->cols, np);
  for (unsigned k = 0; k < ((spec >> 5) & 1u) + ((spec >> 6) & 1u); k++)
    op(g, VM_OP_MOV, at + np + k, scalar(g, s->cols[np].type), 0);
  if (g->careful || take(&g->in, 2))
    spec |= 128;
  return list << 8 | spec;
}

static void make_for(maker *g) {
  unsigned list = take(&g->in, g->nlists), base = slot(g);
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
  unsigned list = take(&g->in, g->nlists), base = slot(g), k = take(&g->in, 3);
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
  unsigned k = take(&g->in, 4);
  if (k == 0)
    op(g, VM_OP_FAIL, scalar(g, LS_TEXT), 0, 0);
  else if (k == 1)
    op(g, VM_OP_RAISE, take(&g->in, VM_NFAULTS), 0, 0);
  else
    make_return(g);
  land(g, over);
}

static void make_statement(maker *g) {
  unsigned slots = g->slots, k = take(&g->in, 16);
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
  for (unsigned n = take(&g->in, 4); n > 0 && g->ncode < MOST_CODE; n--)
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
  for (unsigned n = take(&g->in, 8) == 1 ? 1 + take(&g->in, 3) : 0; n > 0; n--) {
    vm_ins *i = &g->code[(take(&g->in, 256) * 256u + take(&g->in, 256)) % g->ncode];
    uint16_t *field[4] = {&i->op, &i->a, &i->b, &i->c};
    unsigned k = take(&g->in, 4);
    *field[k] = (uint16_t)(take(&g->in, 2) ? *field[k] + take(&g->in, 7) - 3u : take(&g->in, 256));
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
  fn->kind = f < 2 ? VM_FN : take(&g->in, 2) ? VM_EVENT : VM_QUERY;
  fn->result = f < 2 ? VM_RESULT_SCALAR : (vm_result_kind)take(&g->in, 3);
  fn->result_type = f < 2 ? LS_INT : (ls_type)take(&g->in, LS_NTYPES);
  fn->nparams = f < 2 ? 2 : (uint16_t)take(&g->in, SCALARS + 1);
  for (unsigned k = 0; k < fn->nparams; k++)
    add_param(p, k, f < 2 ? (k ? LS_REAL : LS_INT) : scalar_type(k));
  fn->params = p;
  g->may_write = f == 1 || fn->kind == VM_EVENT;
  g->careful = take(&g->in, 4) != 0;
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
  for (unsigned n = 1 + take(&g->in, 12); n > 0 && g->ncode < MOST_CODE; n--)
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
  unsigned nstored = 1 + take(&g->in, 3), nfns = 3 + take(&g->in, MOST_FNS - 2);
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

/* One store with its context. */
typedef struct {
  vm_link *link;
  vm_context *cx;
} world;

/* What a call gave, in a form that can be compared across stores. */
typedef struct {
  vm_status status;
  uint64_t work, rows, digest, value;
  int fault, fn;
  uint32_t pc;
} outcome;

static const char *host(void *user, vm_context *cx, unsigned number, const ls_val *args,
                        ls_val *result) {
  (void)user;
  (void)cx;
  if (number == 0)
    result->u = args[0].u * 3 + 1;
  return number == 0 && args[0].i == 13 ? "thirteen" : NULL;
}

static void limit(vm_context *cx) {
  vm_limits limits = {.work = 10000, .memory = 100000, .depth = 20};
  vm_context_limit(cx, &limits);
  vm_context_host(cx, host, NULL);
}

/* Every list may change its layout at any time here. */
static const ls_policy restless = {.dense_min_span = 4,
                                   .dense_max_sparsity = 2,
                                   .array_after_lookups = 1,
                                   .array_min_rows = 1,
                                   .tree_after_sorts = 1,
                                   .bucket_rows = 2,
                                   .bucket_max_span = 2,
                                   .share_copy_bytes = 64};

static void world_begin(world *w, vm_module *m, ls_mem *mem, const ls_policy *policy) {
  w->link = vm_link_new(m, mem, policy);
  w->cx = w->link ? vm_context_new(w->link) : NULL;
  require(w->cx != NULL);
  limit(w->cx);
}

static void world_end(world *w) {
  vm_context_delete(w->cx);
  vm_link_delete(w->link);
}

static ls_val choose(input *in, ls_type type, ls_texts *texts) {
  static const char *const words[] = {"",   "a",          "b",         "zz",
                                      "12", "1998-09-02", "h\xc3\xa9", "-1.5e3"};
  ls_val v = {0};
  unsigned x = take(in, 256);
  uint32_t id = 0;
  switch (type) {
  case LS_INT:
    v.i = x < 250 ? (int64_t)(x % 50) - 10 : x < 253 ? INT64_MAX - (int64_t)x : -(int64_t)x * 70000;
    break;
  case LS_REAL:
    v.r = x < 250 ? (x % 20 - 5) * 0.5 : x < 253 ? 0.0 / 0.0 : -0.0;
    break;
  case LS_BOOL:
    v.u = x & 1;
    break;
  case LS_TEXT:
    require(ls_texts_intern(texts, words[x & 7], strlen(words[x & 7]), &id) == LS_OK);
    v.u = id;
    break;
  case LS_DATE:
    v.i = x < 250 ? 730000 + x % 10 : LS_DATE_MAX;
    break;
  }
  return v;
}

static void fill_list(ls_list *l, ls_texts *texts, ls_mem *mem, input *in) {
  ls_builder *b = ls_builder_new(l->schema, mem, texts);
  uint64_t twice, first;
  require(b != NULL);
  for (unsigned n = take(in, 4) ? take(in, 40) : 0; n > 0; n--)
    for (unsigned c = 0; c < l->schema->ncols; c++) {
      int64_t v = choose(in, l->schema->cols[c].type, texts).i;
      require(ls_builder_append(b, c, &v, 1) == LS_OK);
    }
  require(ls_builder_finish(b, l, LS_DUP_FIRST, &twice, &first) == LS_OK);
  ls_builder_delete(b);
}

static void fill_store(world *w, ls_mem *mem, input in) {
  ls_store *s = vm_link_store(w->link);
  for (unsigned l = 0; l < ls_store_count(s); l++)
    fill_list(ls_store_list(s, l), ls_store_texts(s), mem, &in);
}

static void check_list(const ls_list *l) {
  char why[200];
  if (!ls_list_check(l, why, sizeof why)) {
    fprintf(stderr, "%s\n", why);
    abort();
  }
}

static void check_store(world *w) {
  ls_store *s = vm_link_store(w->link);
  for (unsigned l = 0; l < ls_store_count(s); l++)
    check_list(ls_store_list(s, l));
}

static void take_result(vm_context *cx, vm_result *r, outcome *out) {
  if (r->kind == VM_RESULT_ROWS) {
    check_list(r->rows);
    out->rows = r->rows->count;
    out->digest = ls_list_digest(r->rows, 7);
  } else if (r->kind == VM_RESULT_SCALAR && r->type == LS_TEXT) {
    size_t len;
    const char *bytes = ls_texts_get(vm_context_texts(cx), (uint32_t)r->value.u, &len);
    for (size_t k = 0; k < len; k++)
      out->value = out->value * 31 + (unsigned char)bytes[k];
  } else if (r->kind == VM_RESULT_SCALAR) {
    out->value = r->value.u;
  }
  vm_result_release(r);
}

static outcome call(vm_context *cx, const vm_module *m, unsigned fn, input in) {
  ls_val args[SCALARS] = {{0}};
  vm_result r = {.kind = VM_RESULT_NONE};
  vm_context_reset_texts(cx);
  for (unsigned k = 0; k < m->fns[fn].nparams; k++)
    args[k] = choose(&in, m->fns[fn].params[k].type, vm_context_texts(cx));
  outcome out = {.status = vm_call(cx, fn, args, &r)};
  out.work = vm_context_work(cx);
  if (out.status == VM_OK) {
    take_result(cx, &r, &out);
  } else if (out.status == VM_FAULTED) {
    const vm_fault *f = vm_context_fault(cx);
    out.fault = f->kind;
    out.fn = f->fn;
    out.pc = f->pc;
  }
  return out;
}

static void same(const vm_module *m, unsigned fn, outcome a, outcome b) {
  if (a.status == b.status && a.work == b.work && a.rows == b.rows && a.digest == b.digest &&
      a.value == b.value && a.fault == b.fault && a.fn == b.fn && a.pc == b.pc)
    return;
  fprintf(stderr, "function %s differs\n", m->fns[fn].name);
  for (unsigned k = 0; k < 2; k++) {
    const outcome *o = k ? &b : &a;
    fprintf(stderr, "  status %d work %llu rows %llu digest %llx value %llx fault %d at %d:%u\n",
            o->status, (unsigned long long)o->work, (unsigned long long)o->rows,
            (unsigned long long)o->digest, (unsigned long long)o->value, o->fault, o->fn, o->pc);
  }
  abort();
}

/* The same call on both stores. */
static void call_both(world *w, const vm_module *m, unsigned fn, input in) {
  uint64_t before = ls_store_digest(vm_link_store(w[0].link));
  outcome a = call(w[0].cx, m, fn, in), b = call(w[1].cx, m, fn, in);
  uint64_t after = ls_store_digest(vm_link_store(w[0].link));
  same(m, fn, a, b);
  require(a.status == VM_OK || a.status == VM_FAULTED);
  require(after == ls_store_digest(vm_link_store(w[1].link)));
  if (a.status == VM_FAULTED || m->fns[fn].kind == VM_QUERY)
    require(before == after);
  check_store(&w[0]);
  check_store(&w[1]);
}

/* Queries on a snapshot and on its store; and the snapshot stays what it was. */
static void call_snapshot(world *w, const vm_module *m, input *in) {
  ls_snapshot *snap = ls_snapshot_take(vm_link_store(w->link));
  require(snap != NULL);
  uint64_t digest = ls_snapshot_digest(snap);
  vm_context *cx = vm_context_on(w->link, snap);
  require(cx != NULL && digest == ls_store_digest(vm_link_store(w->link)));
  limit(cx);
  outcome early[MOST_FNS];
  for (unsigned fn = 0; fn < m->nfns; fn++)
    if (m->fns[fn].kind == VM_QUERY)
      same(m, fn, early[fn] = call(cx, m, fn, *in), call(w->cx, m, fn, *in));
  for (unsigned fn = 0; fn < m->nfns; fn++)
    if (m->fns[fn].kind != VM_QUERY)
      call(w->cx, m, fn, *in);
  for (unsigned fn = 0; fn < m->nfns; fn++)
    if (m->fns[fn].kind == VM_QUERY)
      same(m, fn, early[fn], call(cx, m, fn, *in));
  require(ls_snapshot_digest(snap) == digest);
  vm_context_delete(cx);
  ls_snapshot_release(snap);
}

static bool print_piece(void *user, const char *bytes, size_t len) {
  (void)user;
  return fwrite(bytes, 1, len, stderr) == len;
}

static void run(vm_module *m, ls_mem *mem, input *in) {
  world w[2];
  ls_policy policy = restless;
  policy.stress_seed = take(in, 4) ? take(in, 256) : 0;
  world_begin(&w[0], m, mem, NULL);
  world_begin(&w[1], m, mem, &policy);
  if (getenv("FUZZ_SHOW"))
    vm_disasm(m, -1, print_piece, NULL);
  fill_store(&w[0], mem, *in);
  fill_store(&w[1], mem, *in);
  for (unsigned n = 0; n < 6; n++) {
    unsigned fn = take(in, 16) % m->nfns;
    call_both(w, m, n < m->nfns ? n : fn, *in);
    for (unsigned k = take(in, 8); k > 0; k--)
      take(in, 2);
    if (n == 2)
      call_snapshot(&w[take(in, 2)], m, in);
    if (n == 2 &&
        ls_store_digest(vm_link_store(w[0].link)) != ls_store_digest(vm_link_store(w[1].link)))
      break; /* the snapshot's calls changed one of them */
  }
  world_end(&w[0]);
  world_end(&w[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static maker g; /* large */
  ls_mem *mem = ls_mem_new(NULL);
  ls_mem_stats stats;
  vm_error err = {0};
  require(mem != NULL);
  memset(&g, 0, sizeof g);
  g.in = (input){data, data + size};
  vm_module *m = make_module(&g, mem);
  ls_status status = vm_verify(m, &err);
  require(status == LS_OK || (status == LS_UNSUITABLE && err.message[0]));
  if (status == LS_OK)
    run(m, mem, &g.in);
  else if (getenv("FUZZ_SHOW"))
    fprintf(stderr, "refused: %s\n", err.message);
  vm_module_release(m);
  ls_mem_read_stats(mem, &stats);
  require(stats.live_bytes == 0);
  ls_mem_delete(mem);
  return 0;
}
