/* The log done again: every event has to end as it ended then, and to cost what it cost then. */
#include "durable_int.h"

#include <string.h>

enum { TELL_NS = 1000000000 };

pure_status durable_load(pure_store *store, const char *list, const char *bytes, size_t length,
                         pure_duplicates duplicates, uint64_t *rows, pure_error *e) {
  pure_import *import;
  pure_import_options options = {.size = sizeof options,
                                 .format = PURE_FORMAT_CSV,
                                 .header = PURE_HEADER_YES,
                                 .duplicates = duplicates};
  *rows = 0;
  pure_status status = pure_import_new(store, list, &options, &import, e);
  if (status != PURE_OK)
    return status;
  status = pure_import_feed(import, length ? bytes : "", length, e);
  if (status == PURE_OK)
    status = pure_import_finish(import, e);
  if (status == PURE_OK)
    *rows = pure_import_rows(import);
  pure_import_release(import);
  return status;
}

static bool differs(durable_error *e, uint64_t position, const char *name, const char *what) {
  return durable_fail(e,
                      "replay of record %llu, %s: %s; the store was written by a version that does "
                      "this otherwise: stop here and use that version",
                      (unsigned long long)position, name, what);
}

static bool redo(const durable_replayer *r, pure_session *session, const durable_record *record,
                 uint64_t position, durable_error *e) {
  pure_error why;
  uint64_t rows;
  if (record->kind == DURABLE_LOAD) {
    if (durable_load(r->store, record->name, record->bytes, record->length, record->duplicates,
                     &rows, &why) == PURE_OK)
      return true;
    return differs(e, position, record->name, why.message);
  }
  if (pure_session_call(session, record->name, record->arguments, record->narguments, NULL, &why) !=
      PURE_OK)
    return differs(e, position, record->name, why.message);
  if (pure_session_work(session) != record->work)
    return differs(e, position, record->name, "it was charged other work");
  return true;
}

static bool next_record(MDB_cursor *cursor, bool first, uint64_t position, MDB_val *value,
                        durable_error *e) {
  uint8_t bytes[8];
  durable_key(position, bytes);
  MDB_val key = {sizeof bytes, bytes};
  int rc = mdb_cursor_get(cursor, &key, value, first ? MDB_SET_KEY : MDB_NEXT);
  if (rc == 0 && key.mv_size == 8 && durable_unkey(key.mv_data) == position)
    return true;
  return durable_fail(e, "the log is damaged: record %llu is missing",
                      (unsigned long long)position);
}

static bool replay(const durable_replayer *r, pure_session *session, MDB_cursor *cursor,
                   uint64_t from, uint64_t to, durable_error *e) {
  pure_value arguments[UINT8_MAX + 1];
  char name[256];
  uint64_t told = durable_clock();
  for (uint64_t p = from + 1; p <= to; p++) {
    MDB_val value;
    durable_record record = {.arguments = arguments};
    if (!next_record(cursor, p == from + 1, p, &value, e) ||
        !durable_record_read(value.mv_data, value.mv_size, p, &record, name, e) ||
        !redo(r, session, &record, p, e))
      return false;
    if (p % 1024 || durable_clock() - told < TELL_NS)
      continue;
    told = durable_clock();
    durable_tell(r->say, r->user, "replayed %llu of %llu", (unsigned long long)(p - from),
                 (unsigned long long)(to - from));
  }
  return true;
}

bool durable_replay(const durable_replayer *r, uint64_t from, uint64_t to, durable_error *e) {
  MDB_cursor *cursor;
  pure_session *session;
  pure_error why;
  if (from == to)
    return true;
  /* What was within its limits then is within none now. */
  pure_limits unlimited = {.depth = UINT32_MAX};
  if (pure_session_new(r->store, &session, &why) != PURE_OK)
    return durable_fail(e, "%s", why.message);
  bool fine = pure_session_limit(session, &unlimited, &why) == PURE_OK ||
              durable_fail(e, "%s", why.message);
  int rc = fine ? mdb_cursor_open(r->txn, r->env->log, &cursor) : 0;
  if (rc)
    fine = durable_fail(e, "the log cannot be read: %s", mdb_strerror(rc));
  if (fine) {
    fine = replay(r, session, cursor, from, to, e);
    mdb_cursor_close(cursor);
  }
  pure_session_release(session);
  return fine;
}

bool durable_point_load(const char *dir, pure_store *store, uint64_t position,
                        const uint64_t *digest, durable_error *e) {
  char path[DURABLE_PATH];
  pure_error why;
  uint64_t found;
  durable_point_path(path, dir, position);
  if (pure_store_load(store, path, &why) != PURE_OK ||
      pure_store_digest(store, &found, &why) != PURE_OK) {
    bool named = strncmp(why.message, path, strlen(path)) == 0;
    return durable_fail(e, "%s%s%s", named ? "" : path, named ? "" : ": ", why.message);
  }
  if (digest && found != *digest)
    return durable_fail(e, "%s: the checkpoint is damaged, or another one: its digest is wrong",
                        path);
  return true;
}
