/* Anything that verifies: code grown one instruction at a time, each kept only if the verifier
 * accepts what there is so far, then run (run_module.h says what must hold).
 *
 * Registers are few and blocks overlap at will, so that whatever the verifier lets pass by mistake
 * is found: one list's rows read as another's, stale rows, ends of cursors that are no more.
 * The first quarter of the input, or 200 bytes of it, are for the run.  Guesses of what registers
 * hold make most tries good ones; nothing depends on them.
 */
#include <string.h>

#include "tests/fuzz/support/run_module.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NREGS 28
#define NLISTS 6
#define NPARAMS 10
#define MOST_CODE 70
#define MOST_TRIES 180

/* Operand kinds by the first letters of their names in vm_ops.def. */
typedef struct {
  const char *a, *b, *c;
} operands;
static const operands kinds[VM_NOPS] = {
#define OP(id, name, a, b, c, cost, effects, meaning) {#a, #b, #c},
#include "vm/vm_ops.def"
#undef OP
};

typedef struct {
  fuzz_input in;
  vm_module *m;
  vm_fn *fn;
  vm_ins code[MOST_CODE + 1];
  char guess[NREGS]; /* type letter of a value last written there, H a block, 0 nothing */
  uint16_t slice[NREGS], block[NREGS];         /* of the block, and its list */
  bool cursor[NREGS];                          /* does it seem to have one */
  uint32_t open[MOST_CODE], header[MOST_CODE]; /* jumps that lead to the end; loops */
  unsigned nopen, nheaders;
  uint32_t next[MOST_CODE]; /* the next of loops over cursors not closed yet */
  unsigned nnext;
} grower;

static unsigned near_register(grower *g, char wanted) {
  unsigned r = fuzz_take(&g->in, NREGS);
  if (fuzz_take(&g->in, 8) == 0)
    return r;
  for (unsigned k = 0; k < NREGS; k++, r = (r + 1) % NREGS)
    if (g->guess[r] == wanted || (wanted == 'A' && g->guess[r] && g->guess[r] != 'H'))
      return r;
  return r;
}

static const ls_schema *schema(const grower *g, unsigned list) {
  return &g->m->lists[g->fn->lists[list % NLISTS]].schema;
}

/* A register from which on the columns' types seem to lie, or any. */
static unsigned near_row(grower *g, const ls_column *cols, unsigned n) {
  static const char letters[] = "IRBTD";
  unsigned r = fuzz_take(&g->in, NREGS);
  for (unsigned k = 0; k < NREGS; k++, r = (r + 1) % NREGS) {
    unsigned c = 0;
    while (c < n && r + c < NREGS && g->guess[r + c] == letters[cols[c].type])
      c++;
    if (c == n)
      return r;
  }
  return r;
}

static unsigned choose_slice(grower *g, unsigned list) {
  unsigned nkeys = schema(g, list)->nkeys, np = fuzz_take(&g->in, nkeys + 1);
  unsigned more = np < nkeys ? fuzz_take(&g->in, 4) << 5 : 0;
  return list << 8 | np | more | fuzz_take(&g->in, 2) << 7;
}

/* The list, slice or column that the instruction is about. */
static void choose_list(grower *g, vm_ins *i, unsigned list) {
  const operands *k = &kinds[i->op];
  const char *const kind[3] = {k->a, k->b, k->c};
  uint16_t *field[3] = {&i->a, &i->b, &i->c};
  for (unsigned n = 0; n < 3; n++) {
    if (strcmp(kind[n], "L") == 0)
      *field[n] = (uint16_t)list;
    else if (strcmp(kind[n], "LC") == 0)
      *field[n] = (uint16_t)(list << 8 | fuzz_take(&g->in, schema(g, list)->ncols));
    else if (strcmp(kind[n], "SL") == 0)
      *field[n] = (uint16_t)choose_slice(g, list);
  }
}

/* An instruction on a block that seems to be there, of the same list or slice. */
static void reuse_block(grower *g, vm_ins *i, unsigned at) {
  unsigned n = 0;
  bool next = i->op == VM_OP_NEXT;
  if (!next && i->op != VM_OP_GET && i->op != VM_OP_SET && i->op != VM_OP_REFIND)
    return;
  while (n < NREGS && !(next ? g->cursor[at] : g->guess[at] == 'H')) {
    at = (at + 1) % NREGS;
    n++;
  }
  if (n == NREGS)
    return;
  if (next) {
    i->a = (uint16_t)at;
    i->b = g->slice[at];
  } else if (i->op == VM_OP_REFIND) {
    i->a = (uint16_t)at;
    i->b = g->block[at];
  } else {
    choose_list(g, i, g->block[at]);
    i->a = (uint16_t)(i->op == VM_OP_GET ? fuzz_take(&g->in, NREGS) : at);
    i->b = (uint16_t)(i->op == VM_OP_GET ? at : fuzz_take(&g->in, NREGS));
  }
}

static uint16_t choose_plain(grower *g, const char *kind) {
  static const struct {
    const char *kind;
    unsigned n;
  } ranges[] = {{"U1", 2}, {"K", 5},  {"FK", VM_NFAULTS},
                {"FN", 2}, {"XF", 2}, {"BF", VM_NBUILTINS}};
  for (unsigned k = 0; k < sizeof ranges / sizeof ranges[0]; k++)
    if (strcmp(kind, ranges[k].kind) == 0)
      return (uint16_t)fuzz_take(&g->in, ranges[k].n);
  return (uint16_t)fuzz_take(&g->in, 40);
}

static uint16_t choose_operand(grower *g, const vm_ins *i, const char *kind, unsigned list) {
  const ls_schema *s = schema(g, list);
  if (kind[0] == 'W' || strcmp(kind, "AV") == 0)
    return (uint16_t)fuzz_take(&g->in, NREGS);
  if (strcmp(kind, "RH") == 0 || strcmp(kind, "XH") == 0)
    return (uint16_t)near_register(g, 'H');
  if (strcmp(kind, "RN") == 0)
    return (uint16_t)near_register(g, "IBD"[i->op % 3]);
  if (strcmp(kind, "RV") == 0)
    return (uint16_t)near_row(g, s->cols + s->nkeys, s->ncols - s->nkeys);
  if (strcmp(kind, "PV") == 0 || strcmp(kind, "KV") == 0)
    return (uint16_t)near_row(g, s->cols, kind[0] == 'P' ? s->ncols : s->nkeys);
  if (kind[0] == 'R')
    return (uint16_t)near_register(g, kind[1]);
  if (strcmp(kind, "BK") == 0)
    return (uint16_t)(near_row(g, s->cols, s->nkeys) - 2u);
  if (strcmp(kind, "CB") == 0)
    return (uint16_t)(near_row(g, s->cols, (i->b & 31u)) - 4u - s->nkeys);
  return choose_plain(g, kind);
}

static void choose(grower *g, vm_ins *i, uint32_t pc) {
  const operands *k = &kinds[i->op];
  const char *const kind[3] = {k->a, k->b, k->c};
  uint16_t *field[3] = {&i->a, &i->b, &i->c};
  unsigned list = fuzz_take(&g->in, NLISTS), at = fuzz_take(&g->in, NREGS);
  choose_list(g, i, list);
  for (unsigned n = 0; n < 3; n++) {
    if (kind[n][0] == '_' || kind[n][0] == 'L' || strcmp(kind[n], "SL") == 0)
      continue;
    if (strcmp(kind[n], "OFF") != 0)
      *field[n] = choose_operand(g, i, kind[n], list);
    else if (g->nheaders && fuzz_take(&g->in, 4) == 0)
      *field[n] = (uint16_t)(g->header[fuzz_take(&g->in, g->nheaders)] - pc - 1);
  }
  if (fuzz_take(&g->in, 4))
    reuse_block(g, i, at);
}

/* What the instruction seems to leave. */
static void learn(grower *g, const vm_ins *i) {
  const operands *k = &kinds[i->op];
  static const char letters[] = "IRBTD";
  if (k->a[0] == 'W' && k->a[1] == 'A') {
    g->guess[i->a] = i->op == VM_OP_GET   ? letters[schema(g, i->c >> 8)->cols[i->c & 255u].type]
                     : i->op == VM_OP_MOV ? g->guess[i->b]
                                          : 'I';
  } else if (k->a[0] == 'W') {
    g->guess[i->a] = k->a[1];
    g->block[i->a] = i->c;
  } else if (strcmp(k->a, "BK") == 0 || strcmp(k->a, "CB") == 0) {
    bool slice = k->a[0] == 'C';
    unsigned list = slice ? i->b >> 8 : i->op == VM_OP_ENSURE ? i->c : i->b;
    g->guess[i->a] = 'H';
    g->guess[i->a + 1] = 0;
    g->block[i->a] = (uint16_t)list;
    g->slice[i->a] = slice ? i->b : 0;
    g->cursor[i->a] = i->op == VM_OP_SEEK || (g->cursor[i->a] && !slice) || i->op == VM_OP_NEXT;
    for (unsigned c = 0; c < schema(g, list)->nkeys; c++)
      if (!slice || (i->b & 128))
        g->guess[i->a + 2 + c] = letters[schema(g, list)->cols[c].type];
  }
}

static bool verifies(grower *g) {
  vm_error err;
  g->m->verified = false;
  return vm_verify(g->m, &err) == LS_OK;
}

static uint16_t *offset(vm_ins *i) {
  return i->op == VM_OP_JMP ? &i->a : i->op == VM_OP_JT || i->op == VM_OP_JF ? &i->b : &i->c;
}

/* Jumps that are open lead to the final ret, wherever it moves. */
static void aim_open_jumps(grower *g) {
  for (unsigned k = 0; k < g->nopen; k++)
    *offset(&g->code[g->open[k]]) = (uint16_t)(g->fn->ncode - 1 - g->open[k] - 1);
}

/* Lets an open jump lead to the next instruction to come. */
static void land(grower *g) {
  if (g->nopen == 0)
    return;
  unsigned k = fuzz_take(&g->in, g->nopen);
  g->open[k] = g->open[--g->nopen];
}

/* Puts the instruction before the final ret; false: the verifier will not have it. */
static bool append(grower *g, vm_ins i) {
  uint32_t pc = g->fn->ncode - 1;
  bool jumps = strcmp(kinds[i.op].a, "OFF") == 0 || strcmp(kinds[i.op].b, "OFF") == 0 ||
               strcmp(kinds[i.op].c, "OFF") == 0;
  bool open = jumps && *offset(&i) == 0;
  g->code[pc] = i;
  g->code[pc + 1] = (vm_ins){VM_OP_RET, 0, 0, 0};
  g->fn->ncode++;
  if (open)
    g->open[g->nopen++] = pc;
  if (i.op == VM_OP_LOOP)
    g->fn->nloops++;
  aim_open_jumps(g);
  if (verifies(g)) {
    if (i.op == VM_OP_LOOP)
      g->header[g->nheaders++] = pc;
    learn(g, &i);
    return true;
  }
  g->nopen -= open;
  g->fn->nloops -= i.op == VM_OP_LOOP;
  g->code[pc] = (vm_ins){VM_OP_RET, 0, 0, 0};
  g->fn->ncode--;
  aim_open_jumps(g);
  return false;
}

static bool is_end(vm_op op) {
  return op == VM_OP_JMP || op == VM_OP_RET || op == VM_OP_RETV || op == VM_OP_RETL ||
         op == VM_OP_RAISE || op == VM_OP_FAIL;
}

/* seek, loop, next; the end of the slice is open. */
static void begin_loop(grower *g) {
  vm_ins i = {VM_OP_SEEK, 0, 0, 0};
  choose(g, &i, g->fn->ncode - 1);
  if (!append(g, i))
    return;
  append(g, (vm_ins){VM_OP_LOOP, g->fn->nloops, 0, 0});
  if (append(g, (vm_ins){VM_OP_NEXT, i.a, i.b, 0}))
    g->next[g->nnext++] = g->fn->ncode - 2;
}

/* Back to the loop of the innermost open cursor, whose end comes after that. */
static void end_loop(grower *g) {
  if (g->nnext == 0)
    return;
  uint32_t next = g->next[g->nnext - 1], pc = g->fn->ncode - 1;
  if (!append(g, (vm_ins){VM_OP_JMP, (uint16_t)(next - 1 - pc - 1), 0, 0}))
    return;
  g->nnext--;
  for (unsigned k = 0; k < g->nopen; k++)
    if (g->open[k] == next)
      g->open[k] = g->open[--g->nopen];
}

/* What may move or remove a row of the block's list, then a use of the block. */
static void attack(grower *g) {
  static const uint8_t moves[] = {VM_OP_CLEAR, VM_OP_NEW, VM_OP_PUT, VM_OP_ENSURE, VM_OP_SEEK};
  static const uint8_t uses[] = {VM_OP_GET, VM_OP_SET, VM_OP_GET, VM_OP_REFIND, VM_OP_NEXT};
  unsigned at = fuzz_take(&g->in, NREGS), n = 0;
  for (; n < NREGS && g->guess[at] != 'H'; n++)
    at = (at + 1) % NREGS;
  if (n == NREGS)
    return;
  unsigned list = g->block[at];
  vm_ins i = {moves[fuzz_take(&g->in, sizeof moves)], 0, 0, 0};
  choose(g, &i, g->fn->ncode - 1);
  choose_list(g, &i, list);
  append(g, i);
  n = fuzz_take(&g->in, 6);
  if (n == 0) /* another row in the same block */
    append(g, (vm_ins){VM_OP_FIND, (uint16_t)at, (uint16_t)list, 0});
  if (n == 1) /* another key, or a bound, or the version */
    append(g, (vm_ins){VM_OP_MOV, (uint16_t)(at + 1 + fuzz_take(&g->in, 6)),
                       (uint16_t)fuzz_take(&g->in, NREGS), 0});
  i = (vm_ins){uses[fuzz_take(&g->in, sizeof uses)], 0, 0, 0};
  reuse_block(g, &i, at);
  append(g, i);
}

static void grow(grower *g) {
  static const uint8_t often[] = {VM_OP_SEEK, VM_OP_NEXT,   VM_OP_FIND, VM_OP_REFIND, VM_OP_GET,
                                  VM_OP_SET,  VM_OP_ENSURE, VM_OP_PUT,  VM_OP_FIRSTJ, VM_OP_LOOP,
                                  VM_OP_MOV,  VM_OP_FINDJ,  VM_OP_NEXT, VM_OP_ERASE,  VM_OP_ADD,
                                  VM_OP_JT,   VM_OP_CALL,   VM_OP_MOV,  VM_OP_GET,    VM_OP_SCOUNT};
  for (unsigned n = 0; n < MOST_TRIES && g->fn->ncode < MOST_CODE - 4 && g->in.at < g->in.end;
       n++) {
    unsigned k = fuzz_take(&g->in, sizeof often + VM_NOPS + 12);
    if (k >= sizeof often + VM_NOPS) {
      static void (*const other[])(grower *) = {land, begin_loop, end_loop, attack};
      other[k % 4](g);
      continue;
    }
    vm_ins i = {(uint16_t)(k < sizeof often ? often[k] : k - sizeof often), 0, 0, 0};
    bool ends = is_end((vm_op)i.op);
    if (ends && (g->nopen == 0 || fuzz_take(&g->in, 4)))
      continue;
    if (i.op == VM_OP_LOOP)
      i.a = g->fn->nloops;
    else
      choose(g, &i, g->fn->ncode - 1);
    unsigned nopen = g->nopen;
    if (append(g, i) && ends) /* what follows must be reached by another jump */
      g->open[fuzz_take(&g->in, nopen)] = g->open[--g->nopen];
  }
}

static const vm_param params[NPARAMS] = {
    {"a", LS_INT},  {"b", LS_INT},  {"c", LS_INT},  {"d", LS_INT},  {"e", LS_TEXT},
    {"f", LS_TEXT}, {"g", LS_BOOL}, {"h", LS_BOOL}, {"i", LS_REAL}, {"j", LS_DATE}};

/* Lists 0 and 1 stored and keyed, 2 stored and positional, 3 and 4 local and keyed, 5 local. */
static void make_lists(grower *g) {
  static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
  vm_listdef *defs = vm_module_alloc(g->m, NLISTS * sizeof *defs);
  for (unsigned l = 0; l < NLISTS; l++) {
    bool keyed = l != 2 && l != 5;
    unsigned ncols = 1 + fuzz_take(&g->in, 3);
    ls_column *cols = vm_module_alloc(g->m, ncols * sizeof *cols);
    for (unsigned c = 0; c < ncols; c++) {
      unsigned type = fuzz_take(&g->in, 8);
      cols[c] = (ls_column){names[c], type < LS_NTYPES ? (ls_type)type : LS_INT, (uint16_t)c};
    }
    unsigned nkeys = keyed ? 1 + fuzz_take(&g->in, ncols) : 0;
    defs[l] = (vm_listdef){l < 3, {names[l], (uint16_t)ncols, (uint16_t)nkeys, cols}};
  }
  g->m->lists = defs;
  g->m->nlists = NLISTS;
  g->m->nstored = 3;
}

static void make_consts(grower *g) {
  vm_const *k = vm_module_alloc(g->m, 5 * sizeof *k);
  k[0] = (vm_const){LS_TEXT, {0}, "zz", 2};
  k[1] = (vm_const){.type = LS_INT, .value.i = 0xff00};
  k[2] = (vm_const){.type = LS_INT, .value.i = 0xff01};
  k[3] = (vm_const){.type = LS_REAL, .value.r = 1.5};
  k[4] = (vm_const){.type = LS_DATE, .value.i = 730001};
  g->m->consts = k;
  g->m->nconsts = 5;
}

static void make_externs(grower *g) {
  vm_extern *x = vm_module_alloc(g->m, 2 * sizeof *x);
  x[0] = (vm_extern){"look", true, 1, params, VM_RESULT_SCALAR, LS_INT};
  x[1] = (vm_extern){"tell", false, 1, params + 4, VM_RESULT_NONE, LS_INT};
  g->m->externs = x;
  g->m->nexterns = 2;
}

static const uint16_t lists[NLISTS] = {0, 1, 2, 3, 4, 5};
static const vm_ins clears[] = {{VM_OP_CLEAR, 0, 0, 0}, {VM_OP_RET, 0, 0, 0}};
static const vm_ins counts[] = {{VM_OP_COUNT, 0, 1, 0}, {VM_OP_RETV, 0, 0, 0}};

/* 0: clears list 0.  1: counts list 1, (int): int.  2: grown, an event or a query. */
static void make_fns(grower *g) {
  vm_fn *fns = vm_module_alloc(g->m, 3 * sizeof *fns);
  fns[0] = (vm_fn){.name = "clears",
                   .kind = VM_FN,
                   .nregs = 1,
                   .nlists = 1,
                   .lists = lists,
                   .ncode = 2,
                   .code = clears};
  fns[1] = (vm_fn){.name = "counts",
                   .kind = VM_FN,
                   .nparams = 1,
                   .params = params,
                   .result = VM_RESULT_SCALAR,
                   .nregs = 1,
                   .nlists = 2,
                   .lists = lists,
                   .ncode = 2,
                   .code = counts};
  fns[2] = (vm_fn){.name = "grown",
                   .kind = fuzz_take(&g->in, 3) ? VM_EVENT : VM_QUERY,
                   .nparams = NPARAMS,
                   .params = params,
                   .nregs = NREGS,
                   .nlists = NLISTS,
                   .lists = lists,
                   .ncode = 1,
                   .code = g->code};
  g->m->fns = fns;
  g->m->nfns = 3;
  g->fn = &fns[2];
  g->code[0] = (vm_ins){VM_OP_RET, 0, 0, 0};
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static grower g; /* large */
  ls_mem *mem = ls_mem_new(NULL);
  fuzz_require(mem != NULL);
  memset(&g, 0, sizeof g);
  fuzz_input rest = {data, data + (size < 800 ? size / 4 : 200)};
  g.in = (fuzz_input){rest.end, data + size};
  g.m = vm_module_new(mem, "grown");
  make_lists(&g);
  make_consts(&g);
  make_externs(&g);
  make_fns(&g);
  memcpy(g.guess, "IIIITTBBRD", NPARAMS);
  for (uint16_t l = 3; l < NLISTS; l++)
    append(&g, (vm_ins){VM_OP_NEW, l, 0, 0});
  grow(&g);
  g.m->verified = false;
  fuzz_take_module(g.m, mem, &rest);
  return 0;
}
