/* Sessions: arguments in, a call, a result out. */
#include "host/lib/host_int.h"

#include <stdio.h>
#include <string.h>

/* NULL: entered.  Else what somebody else is using. */
static const char *session_enter(pure_session *session) {
  int idle = 0;
  if (!atomic_compare_exchange_strong(&session->busy, &idle, 1))
    return "session";
  if (session->snapshot || host_store_enter(session->store))
    return NULL;
  atomic_store(&session->busy, 0);
  return "store";
}

static void session_leave(pure_session *session) {
  if (!session->snapshot)
    host_store_leave(session->store);
  atomic_store(&session->busy, 0);
}

static void set_limits(pure_session *session, const pure_limits *limits) {
  vm_limits vm = {limits->work, limits->memory, limits->depth};
  session->limits = *limits;
  vm_context_limit(session->cx, &vm);
}

/* Takes over the caller's new holds on store and snapshot. */
static pure_status session_make(pure_store *store, pure_snapshot *snapshot, pure_session **out,
                                pure_error *error) {
  pure_engine *engine = store->program->engine;
  pure_session *session = host_handle_new(engine, HOST_SESSION, sizeof *session);
  if (!host_is(session, HOST_SESSION))
    return host_no_memory(error);
  session->cx =
      snapshot ? vm_context_on(store->link, snapshot->lists) : vm_context_new(store->link);
  if (!session->cx) {
    host_free(engine, session, sizeof *session);
    return host_no_memory(error);
  }
  session->store = store;
  if (!host_externs_join(session)) {
    vm_context_delete(session->cx);
    host_free(engine, session, sizeof *session);
    return host_no_memory(error);
  }
  host_hold(store);
  session->snapshot = snapshot ? host_hold(snapshot) : NULL;
  set_limits(session, &engine->limits);
  vm_context_cancel_flag(session->cx, &session->cancel);
  *out = session;
  return PURE_OK;
}

pure_status pure_session_new(pure_store *store, pure_session **out, pure_error *error) {
  if (out)
    *out = NULL;
  if (!host_is(store, HOST_STORE) || !out)
    return HOST_MISUSE(error, __func__, {"store", store, HOST_STORE}, {"out", out, HOST_POINTER});
  if (!host_store_enter(store))
    return host_busy(error, __func__, "store");
  pure_status status = session_make(store, NULL, out, error);
  host_store_leave(store);
  return status;
}

pure_status pure_session_on(pure_snapshot *snapshot, pure_session **out, pure_error *error) {
  if (out)
    *out = NULL;
  if (!host_is(snapshot, HOST_SNAPSHOT) || !out)
    return HOST_MISUSE(error, __func__, {"snapshot", snapshot, HOST_SNAPSHOT},
                       {"out", out, HOST_POINTER});
  return session_make(snapshot->store, snapshot, out, error);
}

void host_session_drop(pure_session *session) {
  if (!host_let_go(session))
    return;
  pure_store *store = session->store;
  pure_snapshot *snapshot = session->snapshot;
  vm_context_delete(session->cx);
  host_externs_leave(session);
  host_bury(store->program->engine, session);
  host_snapshot_drop(snapshot);
  host_store_drop(store);
}

void pure_session_release(pure_session *session) {
  if (host_close(session, HOST_SESSION))
    host_session_drop(session);
}

pure_status pure_session_limit(pure_session *session, const pure_limits *limits,
                               pure_error *error) {
  if (!host_is(session, HOST_SESSION) || !limits)
    return HOST_MISUSE(error, __func__, {"session", session, HOST_SESSION},
                       {"limits", limits, HOST_POINTER});
  int idle = 0;
  if (!atomic_compare_exchange_strong(&session->busy, &idle, 1))
    return host_busy(error, __func__, "session");
  set_limits(session, limits);
  atomic_store(&session->busy, 0);
  return PURE_OK;
}

void pure_session_cancel(pure_session *session) {
  if (!host_is(session, HOST_SESSION))
    return;
  atomic_store(&session->cancel, 1);
  host_externs_note(session, true);
}

void pure_session_resume(pure_session *session) {
  if (host_is(session, HOST_SESSION))
    atomic_store(&session->cancel, 0);
}

uint64_t pure_session_work(const pure_session *session) {
  return host_is(session, HOST_SESSION) ? vm_context_work(session->cx) : 0;
}

static pure_status find_function(const pure_session *session, const char *name, unsigned *number,
                                 pure_error *e) {
  const vm_module *module = session->store->program->module;
  int found = vm_module_find(module, name, false);
  if (found >= 0) {
    *number = (unsigned)found;
    if (session->snapshot && module->fns[found].kind == VM_EVENT)
      return host_fail(
          e, PURE_MISUSE,
          "pure_session_call: function: `%s` is an event; a snapshot answers queries only", name);
    return PURE_OK;
  }
  uint32_t list;
  if (pure_program_find_list(session->store->program, name, &list) == PURE_OK)
    return host_fail(e, PURE_NOT_FOUND, "`%s` is a list, not a query or event", name);
  const char *near = NULL;
  for (uint32_t i = 0; i < module->nfns && !near; i++)
    if (module->fns[i].kind != VM_FN)
      near = host_suggest(name, strlen(name), &module->fns[i].name, 1);
  if (near)
    return host_fail(e, PURE_NOT_FOUND, "there is no query or event `%s`; did you mean `%s`?", name,
                     near);
  return host_fail(e, PURE_NOT_FOUND, "there is no query or event `%s`", name);
}

static const char *kind_name(const vm_fn *fn) { return fn->kind == VM_EVENT ? "event" : "query"; }

static pure_status argument_count(const vm_fn *fn, uint32_t n, pure_error *e) {
  if (n == fn->nparams)
    return PURE_OK;
  return host_fail(e, PURE_BAD_ARGUMENT, "%s `%s` takes %u argument%s, not %u", kind_name(fn),
                   fn->name, fn->nparams, fn->nparams == 1 ? "" : "s", n);
}

/* One argument as the VM has it; a text is interned into the context. */
static pure_status argument(pure_session *session, const vm_fn *fn, uint32_t i,
                            const pure_value *value, ls_val *out, pure_error *e) {
  const vm_param *p = &fn->params[i];
  char no_day[HOST_NO_DAY_CHARS];
  if (value->type != host_type(p->type))
    return host_fail(e, PURE_BAD_ARGUMENT, "argument %u of %s `%s`, %s: expected %s, got %s", i + 1,
                     kind_name(fn), fn->name, p->name, vm_type_name(p->type),
                     pure_type_name(value->type));
  out->i = value->as.i;
  switch (p->type) {
  case LS_INT:
    return PURE_OK;
  case LS_REAL:
    out->r = value->as.r;
    return PURE_OK;
  case LS_BOOL:
    out->i = value->as.i != 0;
    return PURE_OK;
  case LS_DATE:
    if (out->i >= 0 && out->i <= LS_DATE_MAX)
      return PURE_OK;
    return host_fail(e, PURE_BAD_ARGUMENT, "argument %u of %s `%s`, %s: %s", i + 1, kind_name(fn),
                     fn->name, p->name, host_value_no_day(out->i, no_day));
  case LS_TEXT:
    break;
  }
  if (value->length && !value->as.t)
    return host_fail(e, PURE_MISUSE, "argument %u of %s `%s`, %s: a text whose bytes are NULL",
                     i + 1, kind_name(fn), fn->name, p->name);
  if (host_utf8_check(value->as.t, value->length) != value->length)
    return host_fail(e, PURE_BAD_ARGUMENT,
                     "argument %u of %s `%s`, %s: not UTF-8 without NUL bytes", i + 1,
                     kind_name(fn), fn->name, p->name);
  uint32_t id = 0;
  const char *bytes = value->length ? value->as.t : "";
  ls_status status = ls_texts_intern(vm_context_texts(session->cx), bytes, value->length, &id);
  out->i = id;
  return status == LS_OK ? PURE_OK : host_fail_list(e, status);
}

/* What was exhausted, and how much of it there was.  Of two limits of memory the fault does not
 * tell which. */
static const char *limit_message(const pure_session *session, vm_fault_kind kind, char *out,
                                 size_t n) {
  const pure_limits *l = &session->limits;
  unsigned long long most = session->store->program->engine->max_memory;
  unsigned long long memory = l->memory, work = l->work;
  if (kind == VM_FAULT_WORK)
    snprintf(out, n, "the work limit of %llu is used up", work);
  else if (kind == VM_FAULT_DEPTH)
    snprintf(out, n, "%s, more than %u", vm_fault_message(kind),
             l->depth ? l->depth : VM_DEFAULT_DEPTH);
  else if (kind == VM_FAULT_CANCELLED && session->watch.late)
    snprintf(out, n, "the time limit of %u milliseconds is used up", l->milliseconds);
  else if (kind == VM_FAULT_MEMORY && memory && most)
    snprintf(
        out, n,
        "the memory limit of the call (%llu bytes) or max_memory of the engine (%llu) is used up",
        memory, most);
  else if (kind == VM_FAULT_MEMORY && memory)
    snprintf(out, n, "the memory limit of the call (%llu bytes) is used up", memory);
  else if (kind == VM_FAULT_MEMORY && most)
    snprintf(out, n, "max_memory of the engine (%llu bytes) is used up", most);
  else
    return vm_fault_message(kind);
  return out;
}

static pure_status fail_call(pure_session *session, vm_status status, pure_error *e) {
  if (status == VM_NO_MEMORY)
    return host_no_memory(e);
  if (status != VM_FAULTED)
    return host_fail(e, PURE_MISUSE, "the VM refuses the call");
  const vm_fault *f = vm_context_fault(session->cx);
  if (f->kind == VM_FAULT_CANCELLED)
    atomic_store(&session->cancel, 0);
  char limit[160];
  const char *message = f->message;
  if (!message[0] || strcmp(message, vm_fault_message(f->kind)) == 0)
    message = limit_message(session, f->kind, limit, sizeof limit);
  host_fail_at(e, PURE_FAULT, session->store->program->module->source_name, f->pos.line,
               f->pos.column, "%s", message);
  if (e)
    e->fault = (pure_fault)(f->kind + 1);
  return PURE_FAULT;
}

static void settle_store(pure_store *store) {
  ls_store *lists = vm_link_store(store->link);
  store->epoch++;
  /* A list that could not get memory for a better layout keeps the one it has. */
  for (unsigned i = 0; i < ls_store_count(lists); i++)
    (void)ls_list_settle(ls_store_list(lists, i));
}

/* Arguments are checked by now; result is empty and belongs to the call. */
static pure_status run(pure_session *session, unsigned number, const ls_val *args,
                       pure_result *result, pure_error *e) {
  vm_result value = {0};
  host_watch_begin(session);
  vm_status status = vm_call(session->cx, number, args, &value);
  if (status == VM_OK) {
    result->value = value;
    session->live = result;
  }
  /* The result first: it may share the lists' blocks. */
  if (!session->snapshot)
    settle_store(session->store);
  return status == VM_OK ? PURE_OK : fail_call(session, status, e);
}

static pure_result *result_make(pure_session *session, const vm_fn *fn) {
  pure_engine *engine = session->store->program->engine;
  pure_result *result = host_handle_new(engine, HOST_RESULT, sizeof *result + fn->nresult);
  if (!host_is(result, HOST_RESULT))
    return NULL;
  result->session = session;
  result->fn = fn;
  result->limit = UINT64_MAX;
  result->place = (uint8_t *)(result + 1);
  result->value.kind = VM_RESULT_NONE;
  return result;
}

static void expire_live(pure_session *session) {
  if (session->live)
    host_result_expire(session->live);
  session->live = NULL;
}

/* spelled or values: the arguments. */
static pure_status call_inside(pure_session *session, const char *name, const pure_value *values,
                               const char *const *spelled, uint32_t n, pure_result **out,
                               pure_error *e) {
  const vm_module *module = session->store->program->module;
  pure_engine *engine = session->store->program->engine;
  unsigned number = 0;
  ls_val args[VM_MAX_PARAMS];
  expire_live(session);
  pure_status status = find_function(session, name, &number, e);
  if (status != PURE_OK)
    return status;
  const vm_fn *fn = &module->fns[number];
  status = argument_count(fn, n, e);
  vm_context_reset_texts(session->cx);
  for (uint32_t i = 0; i < n && status == PURE_OK; i++) {
    pure_value value;
    if (values) {
      value = values[i];
    } else {
      pure_error why;
      status = pure_value_parse(host_type(fn->params[i].type), spelled[i], strlen(spelled[i]),
                                &value, &why);
      if (status != PURE_OK)
        return host_fail(e, status, "argument %u of %s `%s`, %s: %s", i + 1, kind_name(fn),
                         fn->name, fn->params[i].name, why.message);
    }
    status = argument(session, fn, i, &value, &args[i], e);
  }
  if (status != PURE_OK)
    return status;
  pure_result *result = result_make(session, fn);
  if (!host_is(result, HOST_RESULT))
    return host_no_memory(e);
  status = run(session, number, args, result, e);
  if (status == PURE_OK && out) {
    host_hold(session);
    *out = result;
    return PURE_OK;
  }
  expire_live(session);
  host_free(engine, result, sizeof *result + fn->nresult);
  return status;
}

static pure_status call(pure_session *session, const char *name, const pure_value *values,
                        const char *const *spelled, uint32_t n, pure_result **out,
                        const char *function, pure_error *e) {
  if (out)
    *out = NULL;
  if (!host_is(session, HOST_SESSION) || !name || (n && !values && !spelled))
    return HOST_MISUSE(e, function, {"session", session, HOST_SESSION},
                       {"function", name, HOST_POINTER}, {"arguments", NULL, HOST_POINTER});
  for (uint32_t i = 0; spelled && i < n; i++)
    if (!spelled[i])
      return host_fail(e, PURE_MISUSE, "%s: arguments[%u] is NULL", function, i);
  const char *busy = session_enter(session);
  if (busy)
    return host_busy(e, function, busy);
  host_hold(session); /* a host function may release it */
  pure_status status = call_inside(session, name, values, spelled, n, out, e);
  session_leave(session);
  host_session_drop(session);
  return status;
}

pure_status pure_session_call(pure_session *session, const char *function,
                              const pure_value *arguments, uint32_t n, pure_result **out,
                              pure_error *error) {
  return call(session, function, arguments, NULL, n, out, __func__, error);
}

pure_status pure_session_call_texts(pure_session *session, const char *function,
                                    const char *const *arguments, uint32_t n, pure_result **out,
                                    pure_error *error) {
  return call(session, function, NULL, arguments, n, out, __func__, error);
}

/* What a query that returns the list would be; it lies behind the result, and with it the places of
 * the columns. */
typedef struct {
  pure_result result;
  vm_fn fn;
  vm_param columns[];
} list_result;

static pure_result *list_result_make(pure_session *session, const ls_schema *schema) {
  size_t n = schema->ncols;
  list_result *made = host_handle_new(session->store->program->engine, HOST_RESULT,
                                      sizeof *made + n * (sizeof(vm_param) + sizeof(uint8_t)));
  if (!host_is(made, HOST_RESULT))
    return NULL;
  for (size_t c = 0; c < n; c++)
    made->columns[schema->cols[c].declared] =
        (vm_param){schema->cols[c].name, schema->cols[c].type};
  made->fn = (vm_fn){.name = schema->name,
                     .kind = VM_QUERY,
                     .result = VM_RESULT_ROWS,
                     .nresult = (uint16_t)n,
                     .result_cols = made->columns};
  made->result.session = session;
  made->result.fn = &made->fn;
  made->result.limit = UINT64_MAX;
  made->result.place = (uint8_t *)(made->columns + n);
  return &made->result;
}

static pure_status list_inside(pure_session *session, const char *name, pure_result **out,
                               pure_error *e) {
  uint32_t number;
  expire_live(session);
  pure_status status = host_store_find(session->store, name, &number, e);
  if (status != PURE_OK)
    return status;
  pure_result *result = list_result_make(session, host_store_schema(session->store, number));
  if (!host_is(result, HOST_RESULT))
    return host_no_memory(e);
  ls_list *list = session->snapshot ? ls_snapshot_list(session->snapshot->lists, number)
                                    : ls_store_list(vm_link_store(session->store->link), number);
  result->value.rows = ls_list_freeze(list);
  if (!result->value.rows) {
    host_free(session->store->program->engine, result, result->head.bytes);
    return host_no_memory(e);
  }
  result->value.kind = VM_RESULT_ROWS;
  session->live = result;
  if (!session->snapshot)
    session->store->epoch++;
  host_hold(session);
  *out = result;
  return PURE_OK;
}

pure_status pure_session_list(pure_session *session, const char *list, pure_result **out,
                              pure_error *error) {
  if (out)
    *out = NULL;
  if (!host_is(session, HOST_SESSION) || !list || !out)
    return HOST_MISUSE(error, __func__, {"session", session, HOST_SESSION},
                       {"list", list, HOST_POINTER}, {"out", out, HOST_POINTER});
  const char *busy = session_enter(session);
  if (busy)
    return host_busy(error, __func__, busy);
  pure_status status = list_inside(session, list, out, error);
  session_leave(session);
  return status;
}
