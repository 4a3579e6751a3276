/* vm/vm_load.c - bytes to module.
 *
 * The bytes may be anyone's.  A reader never goes past its section, whatever the counts say; an
 * array is made only after as many bytes as its elements need at least are known to be there, so
 * memory stays within a small multiple of the input.  What the numbers mean is the verifier's
 * business, which runs at the end.
 */
#include "vm/vm_format.h"
#include "vm/vm_names.h"
#include "vm/vm_text.h"

#include <stdio.h>
#include <string.h>
#include <xxhash.h>

typedef struct {
  const uint8_t *bytes;
  size_t at, end;
  vm_module *m;
  vm_error *err;
  ls_status status; /* not LS_OK: reading has failed, and everything reads as 0 */
} reader;

static void fail(reader *r, size_t at, const char *message) {
  if (r->status != LS_OK)
    return;
  r->status = LS_UNSUITABLE;
  *r->err = (vm_error){0, at > UINT32_MAX ? UINT32_MAX : (uint32_t)at, ""};
  snprintf(r->err->message, sizeof r->err->message, "%s", message);
}

static void *make(reader *r, size_t count, size_t size) {
  void *array = r->status == LS_OK ? vm_module_alloc(r->m, count * size) : NULL;
  if (!array && r->status == LS_OK) {
    fail(r, r->at, "out of memory");
    r->status = LS_NOMEM;
  }
  return array;
}

static bool has(reader *r, uint64_t n) {
  if (r->status == LS_OK && r->end - r->at < n)
    fail(r, r->at, "the section ends too early");
  return r->status == LS_OK;
}

static uint64_t get_number(reader *r, unsigned bytes) {
  uint64_t v = 0;
  if (!has(r, bytes))
    return 0;
  for (unsigned k = 0; k < bytes; k++)
    v |= (uint64_t)r->bytes[r->at++] << (8 * k);
  return v;
}

/* A count of things that take `least` bytes each; 0 after a failure. */
static uint32_t get_count(reader *r, unsigned bytes, uint64_t least) {
  uint32_t n = (uint32_t)get_number(r, bytes);
  return has(r, n * least) ? n : 0;
}

/* 32 bits and a sign at most, in its shortest form. */
static uint64_t get_varint(reader *r) {
  uint64_t v = 0;
  for (unsigned shift = 0; shift < 35; shift += 7) {
    uint64_t byte = get_number(r, 1);
    v |= (byte & 127) << shift;
    if (byte < 128) {
      if (byte == 0 && shift > 0)
        fail(r, r->at, "a number is not in its shortest form");
      return v;
    }
  }
  fail(r, r->at, "a number is too long");
  return 0;
}

static const char *get_name(reader *r) {
  size_t len = get_number(r, 1);
  if (!has(r, len))
    return "";
  const char *bytes = (const char *)r->bytes + r->at;
  if (!vm_name_valid(bytes, len)) {
    fail(r, r->at, "a name is not an identifier");
    return "";
  }
  char *name = make(r, len + 1, 1);
  if (!name)
    return "";
  memcpy(name, bytes, len);
  r->at += len;
  return name;
}

static ls_type get_type(reader *r) {
  uint64_t type = get_number(r, 1);
  if (type >= LS_NTYPES)
    fail(r, r->at - 1, "there is no type of that number");
  return (ls_type)type;
}

static const vm_param *get_params(reader *r, uint16_t *n) {
  uint32_t count = get_count(r, 1, 3);
  vm_param *p = make(r, count, sizeof *p);
  for (uint32_t i = 0; p && i < count && r->status == LS_OK; i++) {
    p[i].name = get_name(r);
    p[i].type = get_type(r);
  }
  *n = (uint16_t)count;
  return p;
}

static void get_source(reader *r) {
  size_t len = r->end - r->at;
  const char *bytes = (const char *)r->bytes + r->at;
  if (!vm_text_valid(bytes, len, NULL)) {
    fail(r, r->at, "the source name is not valid text");
    return;
  }
  char *name = len ? make(r, len + 1, 1) : NULL; /* none: the file's own stays */
  if (!name)
    return;
  memcpy(name, bytes, len);
  r->m->source_name = name;
  r->at = r->end;
}

static void get_const(reader *r, vm_const *k) {
  k->type = get_type(r);
  if (k->type != LS_TEXT) {
    k->value.u = get_number(r, 8);
    return;
  }
  uint32_t len = get_count(r, 4, 1);
  char *text = make(r, len, 1);
  if (!text)
    return;
  memcpy(text, r->bytes + r->at, len);
  k->text = text;
  k->text_len = len;
  r->at += len;
}

static void get_consts(reader *r) {
  uint32_t n = get_count(r, 4, 5);
  vm_const *k = make(r, n, sizeof *k);
  for (uint32_t i = 0; k && i < n && r->status == LS_OK; i++)
    get_const(r, &k[i]);
  r->m->consts = k;
  r->m->nconsts = n;
}

static void get_schema(reader *r, ls_schema *s) {
  s->name = get_name(r);
  uint32_t n = get_count(r, 1, 4);
  s->nkeys = (uint16_t)get_number(r, 1);
  ls_column *cols = make(r, n, sizeof *cols);
  for (uint32_t c = 0; cols && c < n && r->status == LS_OK; c++) {
    cols[c].name = get_name(r);
    cols[c].type = get_type(r);
    cols[c].declared = (uint16_t)get_number(r, 1);
  }
  s->cols = cols;
  s->ncols = (uint16_t)n;
}

static void get_lists(reader *r) {
  uint32_t n = get_count(r, 2, 4);
  r->m->nstored = (uint32_t)get_number(r, 2);
  vm_listdef *lists = make(r, n, sizeof *lists);
  for (uint32_t i = 0; lists && i < n && r->status == LS_OK; i++) {
    lists[i].stored = i < r->m->nstored;
    get_schema(r, &lists[i].schema);
  }
  r->m->lists = lists;
  r->m->nlists = n;
}

static vm_result_kind get_result(reader *r, unsigned kinds, ls_type *type) {
  uint64_t kind = get_number(r, 1);
  if (kind >= kinds)
    fail(r, r->at - 1, "there is no kind of result of that number");
  if (kind == VM_RESULT_SCALAR)
    *type = get_type(r);
  return (vm_result_kind)kind;
}

static void get_externs(reader *r) {
  uint32_t n = get_count(r, 2, 5);
  vm_extern *x = make(r, n, sizeof *x);
  for (uint32_t i = 0; x && i < n && r->status == LS_OK; i++) {
    x[i].name = get_name(r);
    uint64_t pure = get_number(r, 1);
    if (pure > 1)
      fail(r, r->at - 1, "a host function is pure (1) or not (0)");
    x[i].pure = pure == 1;
    x[i].params = get_params(r, &x[i].nparams);
    x[i].result = get_result(r, VM_RESULT_ROWS, &x[i].result_type);
  }
  r->m->externs = x;
  r->m->nexterns = n;
}

static void get_code(reader *r, vm_fn *fn) {
  uint32_t n = get_count(r, 2, 8);
  vm_ins *code = make(r, n, sizeof *code);
  for (uint32_t pc = 0; code && pc < n; pc++) {
    uint64_t word = get_number(r, 8);
    code[pc] = (vm_ins){(uint16_t)word, (uint16_t)(word >> 16), (uint16_t)(word >> 32),
                        (uint16_t)(word >> 48)};
  }
  fn->code = code;
  fn->ncode = n;
}

static void get_function(reader *r, vm_fn *fn) {
  fn->name = get_name(r);
  uint64_t kind = get_number(r, 1);
  if (kind > VM_EVENT)
    fail(r, r->at - 1, "there is no kind of function of that number");
  fn->kind = (vm_fn_kind)kind;
  fn->params = get_params(r, &fn->nparams);
  fn->result = get_result(r, VM_RESULT_ROWS + 1, &fn->result_type);
  if (fn->result == VM_RESULT_ROWS)
    fn->result_cols = get_params(r, &fn->nresult);
  fn->nregs = (uint16_t)get_number(r, 2);
  uint32_t n = get_count(r, 1, 2);
  uint16_t *lists = make(r, n, sizeof *lists);
  for (uint32_t l = 0; lists && l < n; l++)
    lists[l] = (uint16_t)get_number(r, 2);
  fn->lists = lists;
  fn->nlists = (uint16_t)n;
  fn->nloops = (uint16_t)get_number(r, 2);
  get_code(r, fn);
}

static void get_functions(reader *r) {
  uint32_t n = get_count(r, 2, 12);
  vm_fn *fns = make(r, n, sizeof *fns);
  for (uint32_t f = 0; fns && f < n && r->status == LS_OK; f++)
    get_function(r, &fns[f]);
  r->m->fns = fns;
  r->m->nfns = n;
}

static uint32_t get_moved(reader *r, uint32_t from) {
  int64_t v = (int64_t)from + vm_format_unfold(get_varint(r));
  if (v < 0 || v > UINT32_MAX)
    fail(r, r->at, "a line or column number is out of range");
  return (uint32_t)v;
}

static void get_pos(reader *r, vm_fn *fn) {
  if (!has(r, (uint64_t)fn->ncode * 2))
    return;
  vm_pos *pos = make(r, fn->ncode, sizeof *pos), last = {0, 0};
  for (uint32_t pc = 0; pos && pc < fn->ncode; pc++) {
    last.line = get_moved(r, last.line);
    last.column = get_moved(r, last.column);
    pos[pc] = last;
  }
  fn->pos = pos;
}

static void get_lines(reader *r) {
  vm_fn *fns = (vm_fn *)r->m->fns; /* made by get_functions, not yet anyone else's */
  for (uint32_t f = 0; f < r->m->nfns && r->status == LS_OK; f++) {
    uint64_t there = get_number(r, 1);
    if (there > 1)
      fail(r, r->at - 1, "positions are there (1) or not (0)");
    if (there)
      get_pos(r, &fns[f]);
  }
}

static void get_section(reader *r, const char *tag, void (*get)(reader *)) {
  size_t end = r->end;
  if (!has(r, 12))
    return;
  if (memcmp(r->bytes + r->at, tag, 4) != 0) {
    fail(r, r->at, "another section was expected here");
    return;
  }
  r->at += 4;
  uint64_t size = get_number(r, 8);
  if (!has(r, size))
    return;
  r->end = r->at + size;
  get(r);
  if (r->at != r->end)
    fail(r, r->at, "the section is longer than what it holds");
  r->end = end;
}

/* The header and the checksum; then r->at .. r->end are the sections. */
static void get_envelope(reader *r, size_t len) {
  if (len < 8 || memcmp(r->bytes, VM_FORMAT_MAGIC, 8) != 0) {
    fail(r, 0, "this is no compiled Pure module");
    return;
  }
  if (len < VM_FORMAT_HEAD + VM_FORMAT_TAIL) {
    fail(r, len, "the module is cut short");
    return;
  }
  r->at = 8;
  if (get_number(r, 2) != VM_FORMAT_VERSION)
    fail(r, 8, "the module has a format of another version");
  if (get_number(r, 2) != VM_COST_VERSION)
    fail(r, 10, "the module was made for other costs of instructions: compile it again");
  if (get_number(r, 4) != VM_NSECTIONS)
    fail(r, 12, "the module has another number of sections");
  uint64_t length = get_number(r, 8);
  if (length != len)
    fail(r, 16, length > len ? "the module is cut short" : "there are bytes after the module");
  size_t at = r->at;
  r->at = len - VM_FORMAT_TAIL;
  if (get_number(r, 8) != XXH3_64bits(r->bytes, len - VM_FORMAT_TAIL))
    fail(r, len - VM_FORMAT_TAIL, "the module is damaged: its checksum is wrong");
  r->at = at;
  r->end = len - VM_FORMAT_TAIL;
}

static void get_module(reader *r, size_t len) {
  static const char tags[VM_NSECTIONS][5] = VM_SECTION_TAGS;
  static void (*const get[VM_NSECTIONS])(reader *) = {get_source,  get_consts,    get_lists,
                                                      get_externs, get_functions, get_lines};
  get_envelope(r, len);
  for (unsigned s = 0; s < VM_NSECTIONS && r->status == LS_OK; s++)
    get_section(r, tags[s], get[s]);
  if (r->at != r->end)
    fail(r, r->at, "there are bytes after the last section");
}

ls_status vm_load(ls_mem *mem, const char *name, const uint8_t *bytes, size_t len, vm_module **out,
                  vm_error *err) {
  vm_module *m = vm_module_new(mem, name);
  if (!m) {
    *err = (vm_error){0, 0, "out of memory"};
    return LS_NOMEM;
  }
  reader r = {bytes, 0, len, m, err, LS_OK};
  get_module(&r, len);
  ls_status status = r.status == LS_OK ? vm_verify(m, err) : r.status;
  if (status == LS_OK)
    *out = m;
  else
    vm_module_release(m);
  return status;
}
