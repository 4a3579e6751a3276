/* vm/lang/lang_compile.c - from text to a verified module. */
#include "vm/lang/lang_emit.h"
#include "vm/vm_text.h"
#include "vm/vm_verify.h"

#include <string.h>

/* Begins the message where the verifier refuses what was compiled. */
#define LANG_REFUSED "this cannot be run: "

/* ---- the module */

static bool build_list(lang_builder *b, const lang_list *list, vm_listdef *out) {
  ls_column *cols = vm_module_alloc(b->m, list->ncols * sizeof *cols);
  if (!cols)
    return false;
  for (unsigned i = 0; i < list->ncols; i++) {
    const lang_column *col = list->schema[i];
    cols[i].name = vm_module_text(b->m, col->name->text, col->name->len);
    cols[i].type = (ls_type)col->type;
    if (!cols[i].name)
      return false;
  }
  for (unsigned d = 0; d < list->ncols; d++)
    cols[list->places[d]].declared = (uint16_t)d;
  out->stored = list->stored;
  out->schema.name = vm_module_text(b->m, list->name->text, list->name->len);
  out->schema.ncols = list->ncols;
  out->schema.nkeys = list->nkeys;
  out->schema.cols = cols;
  return out->schema.name != NULL;
}

static bool build_lists(lang_builder *b) {
  uint32_t n = b->cx->nlists + b->nlocals, i = 0;
  vm_listdef *out = vm_module_alloc(b->m, (n + 1u) * sizeof *out);
  if (!out)
    return false;
  for (const lang_list *l = b->cx->lists; l; l = l->next) {
    if (!build_list(b, l, &out[i++]))
      return false;
  }
  for (uint32_t k = 0; k < b->nlocals; k++) {
    if (!build_list(b, b->locals[k], &out[i++]))
      return false;
  }
  b->m->lists = out;
  b->m->nlists = n;
  b->m->nstored = b->cx->nlists;
  return true;
}

static bool build_externs(lang_builder *b) {
  vm_extern *out = vm_module_alloc(b->m, (b->cx->nexterns + 1u) * sizeof *out);
  uint32_t i = 0;
  for (const lang_fn *fn = b->cx->externs; fn && out; fn = fn->next, i++) {
    vm_fn header = {0};
    if (!lang_copy_header(b, fn, &header))
      return false;
    out[i] = (vm_extern){header.name,   fn->pure,      header.nparams,
                         header.params, header.result, header.result_type};
  }
  b->m->externs = out;
  b->m->nexterns = b->cx->nexterns;
  return out != NULL;
}

static bool build_fns(lang_builder *b) {
  vm_fn *out = vm_module_alloc(b->m, (b->cx->nfns + 1u) * sizeof *out);
  bool fine = true;
  uint32_t i = 0;
  for (lang_fn *fn = b->cx->fns; fn && out; fn = fn->next) {
    fine = lang_emit_fn(b, fn, &out[i++]) && fine;
    if (b->cx->nomem)
      return false;
  }
  b->m->fns = out;
  b->m->nfns = b->cx->nfns;
  return fine && out != NULL;
}

/* What the verifier refuses although it was compiled: too large for it, or a mistake of ours. */
static ls_status verify(lang_cx *cx, vm_module *m) {
  vm_error error;
  int number;
  int64_t pc;
  ls_status s = vm_verify_at(m, &error, &number, &pc);
  if (s != LS_UNSUITABLE)
    return s;
  const lang_fn *fn = cx->fns;
  while (fn && (int)fn->number != number)
    fn = fn->next;
  lang_span start = {1, 1, 1};
  if (fn && strstr(error.message, "too complex"))
    lang_hint(lang_complain(cx, fn->at, "`%s` is too large: too many names over too many branches",
                            fn->name->text),
              "divide it into several functions");
  else
    lang_complain(cx, fn ? fn->at : start, LANG_REFUSED "%.200s", error.message);
  return s;
}

static ls_status build(lang_cx *cx, const char *source_name, vm_module **out) {
  lang_builder b = {.cx = cx};
  b.m = vm_module_new(cx->mem, source_name);
  if (!b.m)
    return LS_NOMEM;
  bool fine = lang_consts_new(&b) && build_externs(&b) && build_fns(&b) && build_lists(&b) &&
              lang_consts_finish(&b);
  ls_status s = fine ? verify(cx, b.m) : cx->nerrors ? LS_UNSUITABLE : LS_NOMEM;
  if (s == LS_OK)
    *out = b.m;
  else
    vm_module_release(b.m);
  return s;
}

/* ---- the compilation */

static lang_span place_of(const lang_cx *cx, size_t offset) {
  lang_span at = {1, 1, 1};
  for (size_t i = 0; i < offset; i++) {
    if (cx->text[i] == '\n') {
      at.line++;
      at.column = 1;
    } else if (((uint8_t)cx->text[i] & 0xc0) != 0x80) {
      at.column++;
    }
  }
  return at;
}

/* Offset of the first carriage return that is no part of a line end; len: there is none. */
static size_t lone_return(const char *text, size_t len) {
  for (const char *at = text; (at = memchr(at, '\r', len - (size_t)(at - text))) != NULL; at++)
    if (at + 1 == text + len || at[1] != '\n')
      return (size_t)(at - text);
  return len;
}

/* Whether the text is one at all. */
static bool check_text(lang_cx *cx) {
  size_t bad = 0;
  if (cx->len == 0)
    return true;
  if (cx->len > LANG_MAX_TEXT) {
    lang_complain(cx, (lang_span){1, 1, 1}, "the program is larger than %u bytes", LANG_MAX_TEXT);
    return false;
  }
  if (!vm_text_valid(cx->text, cx->len, &bad)) {
    uint8_t byte = (uint8_t)cx->text[bad];
    lang_complain(cx, place_of(cx, bad),
                  byte ? "this is not UTF-8 (byte 0x%02x)" : "a NUL byte (0x%02x)", byte);
    return false;
  }
  bad = lone_return(cx->text, cx->len);
  if (bad == cx->len)
    return true;
  lang_error *e = lang_complain(cx, place_of(cx, bad), "a line ends with a carriage return alone");
  lang_hint(e, "lines end with LF, or with CR LF");
  return false;
}

/* Only a text with no errors of one kind is searched for those of the next. */
static ls_status compile(lang_cx *cx, const char *name, vm_module **out) {
  if (check_text(cx))
    lang_parse(cx);
  if (!cx->nerrors && !cx->nomem)
    lang_check(cx);
  if (cx->nomem)
    return LS_NOMEM;
  return cx->nerrors ? LS_UNSUITABLE : build(cx, name, out);
}

ls_status lang_compile(ls_mem *mem, const char *name, const char *text, size_t len, vm_module **out,
                       lang_report report, void *user) {
  lang_cx *cx = ls_mem_zalloc(mem, sizeof *cx);
  *out = NULL;
  if (!cx)
    return LS_NOMEM;
  cx->mem = mem;
  cx->text = text;
  cx->len = len;
  ls_status s = compile(cx, name, out);
  lang_sort_errors(cx);
  for (unsigned i = 0; i < cx->nerrors && s == LS_UNSUITABLE && report; i++)
    report(user, &cx->errors[i]);
  lang_free_all(cx);
  ls_mem_free(mem, cx, sizeof *cx);
  return s;
}
