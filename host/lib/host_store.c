/* Stores and snapshots. */
#include "host/lib/host_int.h"

#include <stdio.h>
#include <string.h>

bool host_store_enter(pure_store *store) {
  int idle = 0;
  return atomic_compare_exchange_strong(&store->busy, &idle, 1);
}

void host_store_leave(pure_store *store) { atomic_store(&store->busy, 0); }

pure_status host_busy(pure_error *e, const char *function, const char *what) {
  return host_fail(e, PURE_BUSY, "%s: the %s is in use by another call just now", function, what);
}

ls_mem *host_store_mem(const pure_store *store) { return store->program->engine->mem; }

const ls_schema *host_store_schema(const pure_store *store, uint32_t list) {
  return &store->program->module->lists[list].schema;
}

void host_schema_places(const ls_schema *schema, uint8_t *place) {
  for (unsigned c = 0; c < schema->ncols; c++)
    place[schema->cols[c].declared] = (uint8_t)c;
}

pure_status pure_store_new(pure_program *program, pure_store **out, pure_error *error) {
  if (out)
    *out = NULL;
  if (!host_is(program, HOST_PROGRAM) || !out)
    return HOST_MISUSE(error, __func__, {"program", program, HOST_PROGRAM},
                       {"out", out, HOST_POINTER});
  if (!host_externs_seal(program))
    return host_busy(error, __func__, "program");
  pure_engine *engine = program->engine;
  pure_store *store = host_handle_new(engine, HOST_STORE, sizeof *store);
  if (!host_is(store, HOST_STORE))
    return host_no_memory(error);
  store->link = vm_link_new(program->module, engine->mem, &engine->policy);
  if (!store->link || !vm_link_use_tier(store->link, engine->tier)) {
    vm_link_delete(store->link);
    host_free(engine, store, sizeof *store);
    return host_no_memory(error);
  }
  store->program = host_hold(program);
  *out = store;
  return PURE_OK;
}

void host_store_drop(pure_store *store) {
  if (!host_let_go(store))
    return;
  pure_program *program = store->program;
  vm_link_delete(store->link);
  host_bury(program->engine, store);
  host_program_drop(program);
}

void pure_store_release(pure_store *store) {
  if (host_close(store, HOST_STORE))
    host_store_drop(store);
}

pure_status host_store_find(pure_store *store, const char *list, uint32_t *number, pure_error *e) {
  const vm_module *module = store->program->module;
  const char *near = NULL;
  for (uint32_t i = 0; i < module->nstored; i++) {
    *number = i;
    if (strcmp(module->lists[i].schema.name, list) == 0)
      return PURE_OK;
  }
  *number = 0;
  for (uint32_t i = 0; i < module->nstored && !near; i++)
    near = host_suggest(list, strlen(list), &module->lists[i].schema.name, 1);
  if (near)
    return host_fail(e, PURE_NOT_FOUND, "there is no list `%s`; did you mean `%s`?", list, near);
  return host_fail(e, PURE_NOT_FOUND, "there is no list `%s`", list);
}

pure_status pure_store_digest(pure_store *store, uint64_t *out, pure_error *error) {
  if (out)
    *out = 0;
  if (!host_is(store, HOST_STORE) || !out)
    return HOST_MISUSE(error, __func__, {"store", store, HOST_STORE}, {"out", out, HOST_POINTER});
  if (!host_store_enter(store))
    return host_busy(error, __func__, "store");
  *out = ls_store_digest(vm_link_store(store->link));
  host_store_leave(store);
  return PURE_OK;
}

/* Bytes a cell; a dense list has no key column. */
static unsigned cell_bytes(const ls_list *l, unsigned column) {
  if (column == 0 && ls_shape_layout(l->shape) == LS_DENSE)
    return 0;
  return 1u << ls_shape_width(l->shape, column);
}

static void format_widths(const ls_list *l, char *out, size_t n) {
  uint8_t place[LS_MAX_COLS];
  size_t at = 0;
  host_schema_places(l->schema, place);
  out[0] = 0;
  for (unsigned i = 0; i < l->schema->ncols; i++) {
    if (at + 6 > n) {
      snprintf(out + at, n - at, "..");
      return;
    }
    at += (size_t)snprintf(out + at, n - at, "%s%u", i ? "," : "", cell_bytes(l, place[i]));
  }
}

pure_status pure_store_list_stats(pure_store *store, uint32_t list, pure_list_stats *out) {
  pure_list_stats full = {0};
  if (!host_is(store, HOST_STORE) || !out || !host_sized(out->size, sizeof full))
    return PURE_MISUSE;
  if (list >= store->program->module->nstored)
    return PURE_NOT_FOUND;
  if (!host_store_enter(store))
    return PURE_BUSY;
  const ls_list *l = ls_store_list(vm_link_store(store->link), list);
  full.size = out->size;
  full.name = l->schema->name;
  full.layout = ls_layout_name(ls_shape_layout(l->shape));
  full.rows = l->count;
  full.bytes = ls_list_bytes(l);
  for (unsigned c = 0; c < l->schema->ncols; c++)
    full.narrow_bytes += l->count * cell_bytes(l, c);
  format_widths(l, full.widths, sizeof full.widths);
  memcpy(out, &full, out->size);
  host_store_leave(store);
  return PURE_OK;
}

pure_status pure_snapshot_take(pure_store *store, pure_snapshot **out, pure_error *error) {
  if (out)
    *out = NULL;
  if (!host_is(store, HOST_STORE) || !out)
    return HOST_MISUSE(error, __func__, {"store", store, HOST_STORE}, {"out", out, HOST_POINTER});
  pure_engine *engine = store->program->engine;
  pure_snapshot *snapshot = host_handle_new(engine, HOST_SNAPSHOT, sizeof *snapshot);
  if (!host_is(snapshot, HOST_SNAPSHOT))
    return host_no_memory(error);
  if (!host_store_enter(store)) {
    host_free(engine, snapshot, sizeof *snapshot);
    return host_busy(error, __func__, "store");
  }
  snapshot->lists = ls_snapshot_take(vm_link_store(store->link));
  if (snapshot->lists)
    atomic_fetch_add(&store->snapshots, 1);
  store->epoch++;
  host_store_leave(store);
  if (!snapshot->lists) {
    host_free(engine, snapshot, sizeof *snapshot);
    return host_no_memory(error);
  }
  snapshot->store = host_hold(store);
  *out = snapshot;
  return PURE_OK;
}

void host_snapshot_drop(pure_snapshot *snapshot) {
  if (!host_let_go(snapshot))
    return;
  pure_store *store = snapshot->store;
  ls_snapshot_release(snapshot->lists);
  atomic_fetch_sub(&store->snapshots, 1);
  host_bury(store->program->engine, snapshot);
  host_store_drop(store);
}

void pure_snapshot_release(pure_snapshot *snapshot) {
  if (host_close(snapshot, HOST_SNAPSHOT))
    host_snapshot_drop(snapshot);
}

pure_status pure_snapshot_digest(const pure_snapshot *snapshot, uint64_t *out, pure_error *error) {
  if (out)
    *out = 0;
  if (!host_is(snapshot, HOST_SNAPSHOT) || !out)
    return HOST_MISUSE(error, __func__, {"snapshot", snapshot, HOST_SNAPSHOT},
                       {"out", out, HOST_POINTER});
  *out = ls_snapshot_digest(snapshot->lists);
  return PURE_OK;
}

pure_status pure_snapshot_save(const pure_snapshot *snapshot, const char *path, pure_error *error) {
  if (!host_is(snapshot, HOST_SNAPSHOT) || !path)
    return HOST_MISUSE(error, __func__, {"snapshot", snapshot, HOST_SNAPSHOT},
                       {"path", path, HOST_POINTER});
  return host_snap_write(snapshot->store, snapshot->lists, path, error);
}

pure_status pure_store_save(pure_store *store, const char *path, pure_error *error) {
  if (!host_is(store, HOST_STORE) || !path)
    return HOST_MISUSE(error, __func__, {"store", store, HOST_STORE}, {"path", path, HOST_POINTER});
  pure_snapshot *snapshot;
  pure_status status = pure_snapshot_take(store, &snapshot, error);
  if (status != PURE_OK)
    return status;
  status = pure_snapshot_save(snapshot, path, error);
  pure_snapshot_release(snapshot);
  return status;
}
