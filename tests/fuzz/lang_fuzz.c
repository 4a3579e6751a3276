/* Any bytes as a program: the compiler ends, with errors in order or with a module.
 *
 * What compiles must pass the verifier, come back unchanged from its own bytes, and be callable:
 * every query and event is called once with small arguments under tight limits.
 */
#include "vm/vm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  const char *text;
  size_t len;
  unsigned n;
  uint32_t line, column;
} seen;

static void fail(const char *why, const char *detail) {
  fprintf(stderr, "%s%s\n", why, detail);
  abort();
}

/* Errors come in the order of the text, lie in it and can be shown in little room. */
static void check_error(void *user, const lang_error *e) {
  seen *s = user;
  char small[40], large[1024];
  if (++s->n > LANG_MAX_ERRORS)
    fail("too many errors", "");
  if (e->line < s->line || (e->line == s->line && e->column < s->column))
    fail("errors out of order: ", e->message);
  if (e->line == 0 || e->column == 0 || e->width == 0 || !e->message[0])
    fail("incomplete error: ", e->message);
  if (strncmp(e->message, "this cannot be run", 18) == 0)
    fail("refused: ", e->message);
  s->line = e->line;
  s->column = e->column;
  size_t n = lang_format_error("f", s->text, s->len, e, large, sizeof large);
  if (n != lang_format_error("f", s->text, s->len, e, small, sizeof small))
    fail("the length of a message depends on the room: ", e->message);
}

static void check_bytes(ls_mem *mem, const vm_module *m) {
  uint8_t *bytes, *again;
  size_t len, cap, again_len, again_cap;
  vm_module *copy;
  vm_error error;
  if (vm_save(m, mem, &bytes, &len, &cap) != LS_OK)
    fail("cannot be saved", "");
  if (vm_load(mem, "f", bytes, len, &copy, &error) != LS_OK)
    fail("not loaded: ", error.message);
  if (vm_save(copy, mem, &again, &again_len, &again_cap) != LS_OK)
    fail("cannot be saved", "");
  if (len != again_len || memcmp(bytes, again, len) != 0)
    fail("its bytes changed", "");
  vm_module_release(copy);
  ls_mem_free(mem, bytes, cap);
  ls_mem_free(mem, again, again_cap);
}

static void call_all(ls_mem *mem, vm_module *m) {
  vm_link *link = vm_link_new(m, mem, NULL);
  vm_context *cx = link ? vm_context_new(link) : NULL;
  vm_limits limits = {.work = 20000, .memory = 1 << 20, .depth = 50};
  ls_val args[VM_MAX_PARAMS];
  if (!cx)
    fail("no context", "");
  vm_context_limit(cx, &limits);
  for (uint32_t i = 0; i < m->nfns; i++) {
    const vm_fn *fn = &m->fns[i];
    vm_result result;
    for (unsigned k = 0; k < fn->nparams; k++) {
      args[k].i = k % 2;
      if (fn->params[k].type == LS_REAL)
        args[k].r = 0.5 * k;
      if (fn->params[k].type == LS_TEXT)
        args[k].i = 0;
    }
    if (fn->kind != VM_FN && vm_call(cx, i, args, &result) == VM_OK)
      vm_result_release(&result);
  }
  vm_context_delete(cx);
  vm_link_delete(link);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const char *text = (const char *)data;
  ls_mem *mem = ls_mem_new(NULL);
  ls_mem_stats stats;
  seen s = {.text = text, .len = size};
  vm_module *m = NULL;
  if (!mem)
    return 0;
  ls_status status = lang_compile(mem, "f", text, size, &m, check_error, &s);
  if (status == LS_OK) {
    if (s.n)
      fail("an error, and yet a module", "");
    check_bytes(mem, m);
    call_all(mem, m);
    vm_module_release(m);
  } else if (status != LS_UNSUITABLE || !s.n || m) {
    fail("neither a module nor an error", "");
  }
  ls_mem_read_stats(mem, &stats);
  if (stats.live_bytes)
    fail("memory leaked", "");
  ls_mem_delete(mem);
  return 0;
}
