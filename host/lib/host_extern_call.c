/* Calls of host functions, from the interpreter and on behalf of compiled code, by libffi.
 *
 *   int, date   int64_t
 *   real        double
 *   bool        bool, a byte
 *   text        pure_string, by value
 *
 * The first parameter is the pure_call. */
#include "host/lib/host_extern_int.h"

#include <stdio.h>
#include <string.h>

_Static_assert(sizeof(bool) == 1, "a bool is passed as a byte");

static ffi_type *type_of(host_extern *x, ls_type type) {
  switch (type) {
  case LS_INT:
  case LS_DATE:
    return &ffi_type_sint64;
  case LS_REAL:
    return &ffi_type_double;
  case LS_BOOL:
    return &ffi_type_uint8;
  case LS_TEXT:
    break;
  }
  return &x->string;
}

void host_extern_prepare(host_extern *x, const vm_extern *declared, const pure_binding *b) {
  _Static_assert(sizeof(size_t) == sizeof(uint64_t), "pure_string has a length of 64 bits");
  memset(x, 0, sizeof *x);
  x->string_parts[0] = &ffi_type_pointer;
  x->string_parts[1] = &ffi_type_uint64;
  x->string = (ffi_type){.type = FFI_TYPE_STRUCT, .elements = x->string_parts};
  x->types[0] = &ffi_type_pointer;
  for (unsigned i = 0; i < declared->nparams; i++)
    x->types[i + 1] = type_of(x, declared->params[i].type);
  ffi_type *result =
      declared->result == VM_RESULT_SCALAR ? type_of(x, declared->result_type) : &ffi_type_void;
  if (ffi_prep_cif(&x->cif, FFI_DEFAULT_ABI, declared->nparams + 1u, result, x->types) != FFI_OK)
    return; /* stays unbound: these types always go */
  x->function = b->function;
  x->user = b->user;
}

/* Arguments as C has them.  reads: of ls_val itself, where that is the same. */
typedef struct {
  void *at[VM_MAX_PARAMS + 1];
  union {
    uint8_t bit;
    pure_string string;
  } converted[VM_MAX_PARAMS];
} arguments;

static void convert(arguments *a, vm_context *cx, const vm_extern *declared, const ls_val *args) {
  for (unsigned i = 0; i < declared->nparams; i++) {
    a->at[i + 1] = &a->converted[i];
    switch (declared->params[i].type) {
    case LS_INT:
    case LS_DATE:
    case LS_REAL:
      a->at[i + 1] = (void *)(uintptr_t)&args[i]; /* libffi only reads it */
      break;
    case LS_BOOL:
      a->converted[i].bit = args[i].i != 0;
      break;
    case LS_TEXT: {
      pure_string *s = &a->converted[i].string;
      s->bytes = ls_texts_get(vm_context_read_texts(cx), (uint32_t)args[i].u, &s->length);
      break;
    }
    }
  }
}

/* What comes back; libffi widens small ints to an ffi_arg. */
typedef union {
  int64_t i;
  double r;
  ffi_arg small;
  pure_string string;
} returned;

/* A fault with the function's name; lives until the session's next. */
static const char *said(pure_session *session, const char *before, const vm_extern *declared,
                        const char *after) {
  snprintf(session->said, sizeof session->said, "%s `%.100s`%s", before, declared->name, after);
  return session->said;
}

static const char *take_text(pure_session *session, const vm_extern *declared, const pure_string *s,
                             ls_val *out) {
  const char *bytes = s->length ? s->bytes : "";
  if (!bytes)
    return said(session, "host function", declared, " returned a text without bytes");
  if (host_utf8_check(bytes, s->length) != s->length)
    return said(session, "host function", declared,
                " returned a text that is not UTF-8 without NUL bytes");
  return vm_context_make_text(session->cx, bytes, s->length, out) ? NULL : VM_HOST_MEMORY;
}

static const char *take(pure_session *session, const vm_extern *declared, const returned *r,
                        ls_val *out) {
  if (declared->result != VM_RESULT_SCALAR)
    return NULL;
  switch (declared->result_type) {
  case LS_TEXT:
    return take_text(session, declared, &r->string, out);
  case LS_BOOL:
    out->u = (uint8_t)r->small;
    break;
  case LS_REAL:
    out->r = r->r;
    break;
  case LS_INT:
  case LS_DATE:
    out->i = r->i;
    break;
  }
  return NULL;
}

/* The note may be left by pure_session_cancel too, from another thread: once it is taken, the
 * cancel flag is looked at. */
static void set_note(pure_call *call, uint32_t note) {
  __atomic_store_n(&call->note, note, __ATOMIC_SEQ_CST);
}

/* What the function left to be done. */
static const char *settle(pure_call *call, vm_context *cx) {
  bool failed = call->failed;
  vm_context_charge(cx, call->work);
  call->failed = false;
  call->work = 0;
  return failed ? call->message : NULL;
}

static size_t extern_count(const pure_session *session) {
  return session->store->program->module->nexterns;
}

static pure_call *direct_calls(const pure_session *session) {
  return (pure_call *)(void *)(session->direct + extern_count(session));
}

static const char *host_extern_call(void *user, vm_context *cx, unsigned number, const ls_val *args,
                                    ls_val *result) {
  pure_session *session = user;
  const pure_program *program = session->store->program;
  const vm_extern *declared = &program->module->externs[number];
  host_extern *x = program->externs ? &program->externs[number] : NULL;
  if (!x || !x->function)
    return said(session, "no host function is bound to", declared, "");
  pure_call call = {.user = x->user, .message = session->said};
  pure_call *first = &call;
  arguments a;
  returned r;
  memset(&r, 0, sizeof r);
  a.at[0] = &first;
  convert(&a, cx, declared, args);
  ffi_call(&x->cif, x->function, &r, a.at);
  const char *wrong = call.note ? settle(&call, cx) : NULL;
  host_watch_returned(session);
  return wrong ? wrong : take(session, declared, &r, result);
}

/* Of a function that compiled code has called. */
static const char *settle_direct(void *user, vm_context *cx, unsigned number) {
  pure_session *session = user;
  pure_call *call = &direct_calls(session)[number];
  const char *wrong = settle(call, cx);
  set_note(call, host_watch_is_on(session) ? HOST_NOTE_WATCHED : 0);
  host_watch_returned(session);
  return wrong;
}

void host_externs_note(pure_session *session, bool watched) {
  for (size_t i = 0; session->direct && i < extern_count(session); i++)
    set_note(&direct_calls(session)[i], watched ? HOST_NOTE_WATCHED : 0);
}

static size_t direct_bytes(const pure_session *session) {
  return extern_count(session) * (sizeof(vm_direct) + sizeof(pure_call));
}

bool host_externs_join(pure_session *session) {
  const pure_program *program = session->store->program;
  size_t n = extern_count(session);
  vm_context_host(session->cx, host_extern_call, session);
  if (n == 0 || !program->externs)
    return true;
  session->direct = host_alloc(program->engine, direct_bytes(session));
  if (!session->direct)
    return false;
  pure_call *calls = direct_calls(session);
  for (size_t i = 0; i < n; i++) {
    calls[i] = (pure_call){.user = program->externs[i].user, .message = session->said};
    if (vm_extern_is_direct(&program->module->externs[i]))
      session->direct[i] = (vm_direct){program->externs[i].function, &calls[i]};
  }
  vm_context_direct(session->cx, session->direct, settle_direct);
  return true;
}

void host_externs_leave(pure_session *session) {
  if (session->direct)
    host_free(session->store->program->engine, session->direct, direct_bytes(session));
}

void *pure_call_user(const pure_call *call) { return call ? call->user : NULL; }

void pure_call_fault(pure_call *call, const char *message) {
  if (!call || call->failed)
    return;
  if (!message || !message[0])
    message = "the host function failed";
  size_t length = strlen(message), good;
  if (length >= HOST_CALL_CHARS)
    length = HOST_CALL_CHARS - 1;
  good = host_utf8_check(message, length);
  memcpy(call->message, message, good);
  call->message[good] = 0;
  if (good == 0)
    memcpy(call->message, "?", 2);
  call->failed = true;
  call->note = HOST_NOTE_LEFT;
}

void pure_call_charge(pure_call *call, uint64_t work) {
  if (!call)
    return;
  call->work = work < UINT64_MAX - call->work ? call->work + work : UINT64_MAX;
  call->note = HOST_NOTE_LEFT;
}
