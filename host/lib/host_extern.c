/* Host functions: what the host binds to the `extern fn` of a program.
 *
 * A binding says its own types.  Those of the program must be the same, so that a program from
 * anywhere cannot have a function called with what it does not take.  Bindings are made before the
 * program's first store and never change after it: calls read them without a lock. */
#include "host/lib/host_extern_int.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* Declarations */

typedef struct {
  const char *at, *end;
  char token; /* 'n': a name; 0: the end; else itself */
  const char *word;
  size_t length;
} scanner;

static bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c >= '0' && c <= '9');
}

static void scan(scanner *s) {
  while (s->at < s->end && *s->at == ' ')
    s->at++;
  s->word = s->at;
  s->token = s->at < s->end ? *s->at : 0;
  if (s->token && !is_letter(s->token)) {
    s->at++;
  } else if (s->token) {
    while (s->at < s->end && is_letter(*s->at))
      s->at++;
    s->token = 'n';
  }
  s->length = (size_t)(s->at - s->word);
}

static bool takes(scanner *s, char token) {
  if (s->token != token)
    return false;
  scan(s);
  return true;
}

static bool takes_word(scanner *s, const char *word) {
  if (s->token != 'n' || s->length != strlen(word) || memcmp(s->word, word, s->length) != 0)
    return false;
  scan(s);
  return true;
}

static bool takes_type(scanner *s, uint8_t *type) {
  for (ls_type t = LS_INT; t < LS_NTYPES; t++)
    if (takes_word(s, vm_type_name(t))) {
      *type = (uint8_t)t;
      return true;
    }
  return false;
}

/* (type, ...) or (name: type, ...) */
static bool takes_parameters(scanner *s, host_declaration *out) {
  if (!takes(s, '('))
    return false;
  if (takes(s, ')'))
    return true;
  do {
    scanner before = *s;
    if (s->token == 'n' && (scan(s), takes(s, ':')))
      before = *s;
    *s = before;
    if (out->nparams == VM_MAX_PARAMS || !takes_type(s, &out->param[out->nparams++]))
      return false;
  } while (takes(s, ','));
  return takes(s, ')');
}

bool host_declaration_read(const char *text, host_declaration *out) {
  scanner s = {.at = text, .end = text + strlen(text)};
  memset(out, 0, sizeof *out);
  scan(&s);
  out->pure = takes_word(&s, "pure");
  if (takes_word(&s, "extern") && !takes_word(&s, "fn"))
    return false;
  out->name = s.word;
  out->name_length = s.length;
  if (!takes(&s, 'n') || !takes_parameters(&s, out))
    return false;
  out->result = HOST_NO_RESULT;
  if (takes(&s, ':') && !takes_type(&s, &out->result))
    return false;
  return s.token == 0;
}

/* Binding */

static int find_extern(const vm_module *m, const host_declaration *d) {
  for (uint32_t i = 0; i < m->nexterns; i++)
    if (strlen(m->externs[i].name) == d->name_length &&
        memcmp(m->externs[i].name, d->name, d->name_length) == 0)
      return (int)i;
  return -1;
}

/* As the program declares it, cut short where there is no room. */
static const char *spell(const vm_extern *x, char *out, size_t n) {
  size_t at = (size_t)snprintf(out, n, "%s(", x->name);
  for (unsigned i = 0; i < x->nparams && at < n; i++)
    at +=
        (size_t)snprintf(out + at, n - at, "%s%s", i ? ", " : "", vm_type_name(x->params[i].type));
  if (at < n)
    at += (size_t)snprintf(out + at, n - at, ")");
  if (at < n && x->result == VM_RESULT_SCALAR)
    snprintf(out + at, n - at, ": %s", vm_type_name(x->result_type));
  return out;
}

static bool same_types(const vm_extern *x, const host_declaration *d) {
  uint8_t result = x->result == VM_RESULT_SCALAR ? (uint8_t)x->result_type : HOST_NO_RESULT;
  bool same = x->nparams == d->nparams && result == d->result;
  for (unsigned i = 0; i < x->nparams && same; i++)
    same = (uint8_t)x->params[i].type == d->param[i];
  return same;
}

static pure_status check_binding(const pure_program *program, const pure_binding *b, int *number,
                                 pure_error *e) {
  host_declaration d;
  if (!b->declaration || !b->function)
    return host_fail(e, PURE_MISUSE, "pure_bind: a binding needs a declaration and a function");
  if (!host_declaration_read(b->declaration, &d))
    return host_fail(e, PURE_BAD_ARGUMENT,
                     "`%s` declares no host function; expected something like"
                     " `pure extern fn distance(real, real): real`, of the types int, real, bool,"
                     " text and date",
                     b->declaration);
  *number = find_extern(program->module, &d);
  if (*number < 0)
    return PURE_OK;
  const vm_extern *x = &program->module->externs[*number];
  const char *source = program->module->source_name;
  char declared[300];
  if (!same_types(x, &d))
    return host_fail_at(e, PURE_BAD_ARGUMENT, source, 0, 0,
                        "extern fn `%s` has other types than the host's `%s`",
                        spell(x, declared, sizeof declared), b->declaration);
  if (x->pure && !d.pure)
    return host_fail_at(e, PURE_BAD_ARGUMENT, source, 0, 0,
                        "extern fn `%s` is declared pure, but the host's `%s` is not", x->name,
                        b->declaration);
  return PURE_OK;
}

static bool make_table(pure_program *program) {
  if (program->externs)
    return true;
  size_t bytes = sizeof *program->externs * program->module->nexterns;
  program->externs = host_alloc(program->engine, bytes);
  return program->externs != NULL;
}

static pure_status bind_all(pure_program *program, const pure_binding *bindings, size_t n,
                            pure_error *e) {
  int number;
  for (size_t i = 0; i < n; i++) {
    pure_status status = check_binding(program, &bindings[i], &number, e);
    if (status != PURE_OK)
      return status;
  }
  if (program->module->nexterns == 0)
    return PURE_OK;
  if (!make_table(program))
    return host_no_memory(e);
  for (size_t i = 0; i < n; i++) {
    (void)check_binding(program, &bindings[i], &number, NULL); /* was fine */
    if (number >= 0)
      host_extern_prepare(&program->externs[number], &program->module->externs[number],
                          &bindings[i]);
  }
  return PURE_OK;
}

static pure_status enter(pure_program *program, pure_error *e) {
  int open = HOST_BIND_OPEN;
  if (atomic_compare_exchange_strong(&program->binding, &open, HOST_BIND_BUSY))
    return PURE_OK;
  if (open == HOST_BIND_BUSY)
    return host_fail(e, PURE_BUSY, "another call binds functions just now");
  return host_fail(e, PURE_MISUSE,
                   "pure_bind: functions are bound before the program's first store is made");
}

pure_status pure_bind(pure_program *program, const pure_binding *bindings, size_t n,
                      pure_error *error) {
  if (!host_is(program, HOST_PROGRAM) || (!bindings && n))
    return HOST_MISUSE(error, __func__, {"program", program, HOST_PROGRAM},
                       {"bindings", bindings, HOST_POINTER});
  pure_status status = enter(program, error);
  if (status != PURE_OK)
    return status;
  status = bind_all(program, bindings, n, error);
  atomic_store(&program->binding, HOST_BIND_OPEN);
  return status;
}

bool host_externs_seal(pure_program *program) {
  int open = HOST_BIND_OPEN;
  return atomic_compare_exchange_strong(&program->binding, &open, HOST_BIND_SEALED) ||
         open == HOST_BIND_SEALED;
}

/* Libraries of functions */

typedef const pure_binding *(*library_door)(size_t *n);

static pure_status bind_library(pure_program *program, void *library, const char *path,
                                pure_error *e) {
  void *symbol = dlsym(library, PURE_BINDINGS_SYMBOL);
  if (!symbol)
    return host_fail_at(e, PURE_BAD_DATA, path, 0, 0,
                        "no library of host functions: it has no " PURE_BINDINGS_SYMBOL);
  library_door door;
  memcpy(&door, &symbol, sizeof door);
  size_t n = 0;
  const pure_binding *bindings = door(&n);
  if (!bindings && n)
    return host_fail_at(e, PURE_BAD_DATA, path, 0, 0, PURE_BINDINGS_SYMBOL " returned NULL");
  return bind_all(program, bindings, n, e);
}

static bool keep_library(pure_program *program, void *library) {
  host_library *l = host_alloc(program->engine, sizeof *l);
  if (!l)
    return false;
  *l = (host_library){program->libraries, library};
  program->libraries = l;
  return true;
}

pure_status pure_bind_library(pure_program *program, const char *path, pure_error *error) {
  if (!host_is(program, HOST_PROGRAM) || !path)
    return HOST_MISUSE(error, __func__, {"program", program, HOST_PROGRAM},
                       {"path", path, HOST_POINTER});
  pure_status status = enter(program, error);
  if (status != PURE_OK)
    return status;
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *said = dlerror();
    status = host_fail(error, PURE_IO, "%s", said ? said : path);
  } else if (!keep_library(program, library)) {
    dlclose(library);
    status = host_no_memory(error);
  } else {
    status = bind_library(program, library, path, error);
  }
  atomic_store(&program->binding, HOST_BIND_OPEN);
  return status;
}

void host_externs_free(pure_program *program) {
  pure_engine *engine = program->engine;
  host_free(engine, program->externs, sizeof *program->externs * program->module->nexterns);
  while (program->libraries) {
    host_library *l = program->libraries;
    program->libraries = l->next;
    dlclose(l->handle);
    host_free(engine, l, sizeof *l);
  }
}

/* What a program declares */

pure_status pure_program_extern(const pure_program *program, uint32_t number,
                                pure_extern_info *out) {
  if (!host_is(program, HOST_PROGRAM) || !out)
    return PURE_MISUSE;
  if (number >= program->module->nexterns)
    return PURE_NOT_FOUND;
  const vm_extern *x = &program->module->externs[number];
  *out = (pure_extern_info){
      .name = x->name,
      .pure = x->pure,
      .bound = program->externs && program->externs[number].function,
      .nparameters = x->nparams,
      .result = x->result == VM_RESULT_SCALAR ? host_type(x->result_type) : PURE_NOTHING,
  };
  return PURE_OK;
}

pure_status pure_program_extern_parameter(const pure_program *program, uint32_t number,
                                          uint32_t parameter, pure_column_info *out) {
  if (!host_is(program, HOST_PROGRAM) || !out)
    return PURE_MISUSE;
  if (number >= program->module->nexterns || parameter >= program->module->externs[number].nparams)
    return PURE_NOT_FOUND;
  const vm_param *p = &program->module->externs[number].params[parameter];
  *out = (pure_column_info){p->name, host_type(p->type)};
  return PURE_OK;
}
