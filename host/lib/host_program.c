/* Programs: compiling, loading, writing, and what they declare. */
#include "host/lib/host_int.h"

#include <string.h>

/* What lang_compile reports, passed on with the formatted text. */
typedef struct {
  pure_engine *engine;
  const char *name, *text;
  size_t length;
  pure_report report;
  void *user;
  pure_error *error;
  unsigned count;
} reporter;

enum { FORMATTED_BYTES = 4096 };

static void report_one(void *user, const lang_error *e) {
  reporter *r = user;
  if (r->count++ == 0)
    host_fail_at(r->error, PURE_BAD_PROGRAM, r->name, e->line, e->column, "%s%s%s", e->message,
                 e->hint[0] ? "; " : "", e->hint);
  if (!r->report)
    return;
  char *formatted = host_alloc(r->engine, FORMATTED_BYTES);
  if (formatted)
    lang_format_error(r->name, r->text, r->length, e, formatted, FORMATTED_BYTES);
  pure_diagnostic d = {e->line,    e->column, e->width,
                       e->message, e->hint,   formatted ? formatted : e->message};
  r->report(r->user, &d);
  host_free(r->engine, formatted, FORMATTED_BYTES);
}

static pure_status wrap(pure_engine *engine, vm_module *module, pure_program **out,
                        pure_error *error) {
  pure_program *program = host_handle_new(engine, HOST_PROGRAM, sizeof *program);
  if (!program) {
    vm_module_release(module);
    return host_no_memory(error);
  }
  program->engine = host_hold(engine);
  program->module = module;
  *out = program;
  return PURE_OK;
}

pure_status pure_program_compile(pure_engine *engine, const char *name, const char *text,
                                 size_t length, pure_report report, void *user, pure_program **out,
                                 pure_error *error) {
  if (out)
    *out = NULL;
  if (!host_is(engine, HOST_ENGINE) || !name || (!text && length) || !out)
    return HOST_MISUSE(error, __func__, {"engine", engine, HOST_ENGINE},
                       {"name", name, HOST_POINTER}, {"text", length ? text : "", HOST_POINTER},
                       {"out", out, HOST_POINTER});
  reporter r = {engine, name, text ? text : "", length, report, user, error, 0};
  vm_module *module = NULL;
  ls_status status = lang_compile(engine->mem, name, r.text, length, &module, report_one, &r);
  if (status == LS_OK)
    return wrap(engine, module, out, error);
  if (status == LS_NOMEM)
    return host_no_memory(error);
  if (r.count == 0)
    host_fail_at(error, PURE_BAD_PROGRAM, name, 0, 0, "the program has errors");
  return PURE_BAD_PROGRAM;
}

/* 0x89 begins every module and no UTF-8 text. */
bool pure_program_is_module(const void *bytes, size_t length) {
  return bytes && length && *(const uint8_t *)bytes == 0x89;
}

pure_status pure_program_load(pure_engine *engine, const char *name, const void *bytes,
                              size_t length, pure_program **out, pure_error *error) {
  if (out)
    *out = NULL;
  if (!host_is(engine, HOST_ENGINE) || !name || (!bytes && length) || !out)
    return HOST_MISUSE(error, __func__, {"engine", engine, HOST_ENGINE},
                       {"name", name, HOST_POINTER}, {"bytes", length ? bytes : "", HOST_POINTER},
                       {"out", out, HOST_POINTER});
  vm_module *module = NULL;
  vm_error bad = {0};
  ls_status status = vm_load(engine->mem, name, bytes, length, &module, &bad);
  if (status == LS_OK)
    return wrap(engine, module, out, error);
  if (status == LS_NOMEM)
    return host_no_memory(error);
  if (bad.line) {
    return host_fail_at(error, PURE_BAD_PROGRAM, name, bad.line, bad.column, "%s", bad.message);
  }
  return host_fail_at(error, PURE_BAD_PROGRAM, name, 0, 0, "bad module, byte %u: %s", bad.column,
                      bad.message);
}

void host_program_drop(pure_program *program) {
  if (!host_let_go(program))
    return;
  pure_engine *engine = program->engine;
  host_externs_free(program);
  vm_module_release(program->module);
  host_bury(engine, program);
  host_engine_drop(engine);
}

void pure_program_release(pure_program *program) {
  if (host_close(program, HOST_PROGRAM))
    host_program_drop(program);
}

pure_status pure_program_write(const pure_program *program, pure_write write, void *user,
                               pure_error *error) {
  if (!host_is(program, HOST_PROGRAM) || !write)
    return HOST_MISUSE(error, __func__, {"program", program, HOST_PROGRAM},
                       {"write", host_pointer((void (*)(void))write), HOST_POINTER});
  ls_mem *mem = program->engine->mem;
  uint8_t *bytes = NULL;
  size_t length = 0, capacity = 0;
  ls_status status = vm_save(program->module, mem, &bytes, &length, &capacity);
  if (status != LS_OK)
    return host_fail_list(error, status);
  bool written = write(user, bytes, length);
  ls_mem_free(mem, bytes, capacity);
  return written ? PURE_OK : host_fail(error, PURE_IO, "the module could not be written");
}

static bool write_file(void *user, const void *bytes, size_t n) {
  return host_file_write(user, bytes, n);
}

pure_status pure_program_save(const pure_program *program, const char *path, pure_error *error) {
  if (!host_is(program, HOST_PROGRAM) || !path)
    return HOST_MISUSE(error, __func__, {"program", program, HOST_PROGRAM},
                       {"path", path, HOST_POINTER});
  host_file f;
  pure_status status = host_file_open(&f, program->engine, path, error);
  if (status != PURE_OK)
    return status;
  status = pure_program_write(program, write_file, &f, error);
  if (status == PURE_OK || f.error)
    return host_file_commit(&f, error);
  host_file_abandon(&f);
  return status;
}

typedef struct {
  pure_write write;
  void *user;
} disasm_writer;

static bool write_text(void *user, const char *bytes, size_t n) {
  disasm_writer *w = user;
  return w->write(w->user, bytes, n);
}

pure_status pure_program_disasm(const pure_program *program, const char *function, pure_write write,
                                void *user, pure_error *error) {
  if (!host_is(program, HOST_PROGRAM) || !write)
    return HOST_MISUSE(error, __func__, {"program", program, HOST_PROGRAM},
                       {"write", host_pointer((void (*)(void))write), HOST_POINTER});
  int only = -1;
  if (function && (only = vm_module_find(program->module, function, true)) < 0)
    return host_fail(error, PURE_NOT_FOUND, "there is no function `%s`", function);
  disasm_writer w = {write, user};
  if (!vm_disasm(program->module, only, write_text, &w))
    return host_fail(error, PURE_IO, "the disassembly could not be written");
  return PURE_OK;
}

/* The schema column that was declared as number `declared`. */
static const ls_column *declared_column(const ls_schema *schema, uint32_t declared) {
  for (unsigned c = 0; c < schema->ncols; c++)
    if (schema->cols[c].declared == declared)
      return &schema->cols[c];
  return NULL;
}

static const ls_schema *stored_list(const pure_program *program, uint32_t list) {
  if (!host_is(program, HOST_PROGRAM) || list >= program->module->nstored)
    return NULL;
  return &program->module->lists[list].schema;
}

pure_status pure_program_list(const pure_program *program, uint32_t list, pure_list_info *out) {
  if (!host_is(program, HOST_PROGRAM) || !out)
    return PURE_MISUSE;
  const ls_schema *schema = stored_list(program, list);
  if (!schema)
    return PURE_NOT_FOUND;
  *out = (pure_list_info){schema->name, schema->ncols, schema->nkeys};
  return PURE_OK;
}

pure_status pure_program_list_column(const pure_program *program, uint32_t list, uint32_t column,
                                     pure_column_info *out) {
  if (!host_is(program, HOST_PROGRAM) || !out)
    return PURE_MISUSE;
  const ls_schema *schema = stored_list(program, list);
  const ls_column *c = schema ? declared_column(schema, column) : NULL;
  if (!c)
    return PURE_NOT_FOUND;
  *out = (pure_column_info){c->name, host_type(c->type)};
  return PURE_OK;
}

pure_status pure_program_list_key(const pure_program *program, uint32_t list, uint32_t key,
                                  uint32_t *column) {
  if (!host_is(program, HOST_PROGRAM) || !column)
    return PURE_MISUSE;
  const ls_schema *schema = stored_list(program, list);
  if (!schema || key >= schema->nkeys)
    return PURE_NOT_FOUND;
  *column = schema->cols[key].declared;
  return PURE_OK;
}

/* Function number i of those the host may call. */
static const vm_fn *callable(const pure_program *program, uint32_t i) {
  if (!host_is(program, HOST_PROGRAM))
    return NULL;
  for (uint32_t f = 0; f < program->module->nfns; f++) {
    const vm_fn *fn = &program->module->fns[f];
    if (fn->kind != VM_FN && i-- == 0)
      return fn;
  }
  return NULL;
}

pure_status pure_program_function(const pure_program *program, uint32_t function,
                                  pure_function_info *out) {
  if (!host_is(program, HOST_PROGRAM) || !out)
    return PURE_MISUSE;
  const vm_fn *fn = callable(program, function);
  if (!fn)
    return PURE_NOT_FOUND;
  memset(out, 0, sizeof *out);
  out->name = fn->name;
  out->kind = fn->kind == VM_EVENT ? PURE_EVENT : PURE_QUERY;
  out->nparameters = fn->nparams;
  out->result = (pure_result_kind)fn->result;
  if (fn->result == VM_RESULT_SCALAR)
    out->value = host_type(fn->result_type);
  if (fn->result == VM_RESULT_ROWS)
    out->ncolumns = fn->nresult;
  return PURE_OK;
}

static pure_status one_of(const vm_param *params, uint32_t count, uint32_t i,
                          pure_column_info *out) {
  if (i >= count)
    return PURE_NOT_FOUND;
  *out = (pure_column_info){params[i].name, host_type(params[i].type)};
  return PURE_OK;
}

pure_status pure_program_parameter(const pure_program *program, uint32_t function,
                                   uint32_t parameter, pure_column_info *out) {
  if (!host_is(program, HOST_PROGRAM) || !out)
    return PURE_MISUSE;
  const vm_fn *fn = callable(program, function);
  return fn ? one_of(fn->params, fn->nparams, parameter, out) : PURE_NOT_FOUND;
}

pure_status pure_program_result_column(const pure_program *program, uint32_t function,
                                       uint32_t column, pure_column_info *out) {
  if (!host_is(program, HOST_PROGRAM) || !out)
    return PURE_MISUSE;
  const vm_fn *fn = callable(program, function);
  if (!fn || fn->result != VM_RESULT_ROWS)
    return PURE_NOT_FOUND;
  return one_of(fn->result_cols, fn->nresult, column, out);
}

pure_status pure_program_find_list(const pure_program *program, const char *name, uint32_t *list) {
  if (list)
    *list = 0;
  if (!host_is(program, HOST_PROGRAM) || !name || !list)
    return PURE_MISUSE;
  for (uint32_t i = 0; i < program->module->nstored; i++) {
    if (strcmp(program->module->lists[i].schema.name, name) == 0) {
      *list = i;
      return PURE_OK;
    }
  }
  return PURE_NOT_FOUND;
}

pure_status pure_program_find_function(const pure_program *program, const char *name,
                                       uint32_t *function) {
  const vm_fn *fn;
  if (function)
    *function = 0;
  if (!host_is(program, HOST_PROGRAM) || !name || !function)
    return PURE_MISUSE;
  for (uint32_t i = 0; (fn = callable(program, i)); i++) {
    if (strcmp(fn->name, name) == 0) {
      *function = i;
      return PURE_OK;
    }
  }
  return PURE_NOT_FOUND;
}
