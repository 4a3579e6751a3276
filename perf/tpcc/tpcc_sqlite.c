/* SQLite in memory: tables, loading, checks.  One connection, keys without a rowid, nothing
 * synchronised, every statement prepared once. */
#include "perf/tpcc/tpcc_sqlite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool sqlite_report(tpcc_side *s) {
  sqlite_side *q = s->data;
  return tpcc_complain(s, q && q->db ? sqlite3_errmsg(q->db) : "no memory");
}

static bool execute(tpcc_side *s, const char *text) {
  sqlite_side *q = s->data;
  return sqlite3_exec(q->db, text, NULL, NULL, NULL) == SQLITE_OK || sqlite_report(s);
}

static size_t column_names(const tpcc_table *t, uint32_t n, char *out) {
  size_t at = 0;
  const char *p = t->columns;
  for (uint32_t c = 0; c < n; c++) {
    const char *end = strchr(p, ' ');
    if (c)
      out[at++] = ',';
    out[at++] = '"';
    memcpy(out + at, p, (size_t)(end - p));
    at += (size_t)(end - p);
    out[at++] = '"';
    p = strchr(end + 1, ' ');
    if (!p)
      break;
    p++;
  }
  out[at] = 0;
  return at;
}

/* Keys as in tpcc.pure. */
static bool create(tpcc_side *s, const tpcc_table *t) {
  char text[2048], columns[1024], keys[256];
  column_names(t, t->ncolumns, columns);
  column_names(t, t->nkeys ? t->nkeys : 1, keys);
  size_t at = (size_t)snprintf(text, sizeof text, "create table %s (", t->name);
  const char *p = t->columns;
  for (uint32_t c = 0; c < t->ncolumns; c++) {
    const char *space = strchr(p, ' '), *end = strchr(space + 1, ',');
    int type = end ? (int)(end - space - 1) : (int)strlen(space + 1);
    at += (size_t)snprintf(text + at, sizeof text - at, "%s\"%.*s\" %s not null", c ? ", " : "",
                           (int)(space - p), p,
                           strncmp(space + 1, "int", (size_t)type) == 0 ? "integer" : "text");
    p = end ? end + 2 : NULL;
  }
  if (t->nkeys)
    snprintf(text + at, sizeof text - at, ", primary key (%s)) without rowid", keys);
  else
    snprintf(text + at, sizeof text - at, ")");
  return execute(s, text);
}

/* Loading */

typedef struct {
  tpcc_side *s;
  sqlite3_stmt *insert[TPCC_NTABLES];
} filler;

static bool prepare_insert(filler *f, tpcc_table_id table) {
  sqlite_side *q = f->s->data;
  char text[256];
  const tpcc_table *t = &tpcc_tables[table];
  size_t at = (size_t)snprintf(text, sizeof text, "insert into %s values (", t->name);
  for (uint32_t c = 0; c < t->ncolumns; c++)
    at += (size_t)snprintf(text + at, sizeof text - at, c ? ",?" : "?");
  snprintf(text + at, sizeof text - at, ")");
  return sqlite3_prepare_v2(q->db, text, -1, &f->insert[table], NULL) == SQLITE_OK ||
         sqlite_report(f->s);
}

static bool insert_row(void *user, tpcc_table_id table, const pure_value *cells) {
  filler *f = user;
  sqlite3_stmt *st = f->insert[table];
  for (uint32_t c = 0; c < tpcc_tables[table].ncolumns; c++) {
    const pure_value *v = &cells[c];
    if (v->type == PURE_TEXT)
      sqlite3_bind_text(st, (int)c + 1, v->as.t, (int)v->length, SQLITE_STATIC);
    else
      sqlite3_bind_int64(st, (int)c + 1, v->as.i);
  }
  bool fine = sqlite3_step(st) == SQLITE_DONE;
  sqlite3_reset(st);
  return fine || sqlite_report(f->s);
}

static bool load(tpcc_side *s, const tpcc_scale *scale) {
  filler f = {.s = s};
  bool fine = execute(s, "begin");
  for (int t = 0; t < TPCC_NTABLES && fine; t++)
    fine = create(s, &tpcc_tables[t]) && prepare_insert(&f, (tpcc_table_id)t);
  const tpcc_sink sink = {&f, insert_row};
  fine = fine && tpcc_load(scale, &sink);
  for (int t = 0; t < TPCC_NTABLES; t++)
    sqlite3_finalize(f.insert[t]);
  return fine && execute(s, "commit");
}

static bool prepare_all(tpcc_side *s) {
  sqlite_side *q = s->data;
  for (int i = 0; i < SQLITE_NSTATEMENTS; i++)
    if (sqlite3_prepare_v3(q->db, sqlite_texts[i], -1, SQLITE_PREPARE_PERSISTENT, &q->st[i],
                           NULL) != SQLITE_OK)
      return sqlite_report(s);
  return true;
}

static bool sqlite_open(tpcc_side *s, const tpcc_scale *scale) {
  sqlite_side *q = calloc(1, sizeof *q);
  s->data = q;
  if (!q || sqlite3_open_v2(":memory:", &q->db,
                            SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                            NULL) != SQLITE_OK)
    return sqlite_report(s);
  return execute(s, "pragma synchronous = off; pragma temp_store = memory; "
                    "pragma locking_mode = exclusive; pragma foreign_keys = off") &&
         load(s, scale) && prepare_all(s);
}

static void sqlite_close(tpcc_side *s) {
  sqlite_side *q = s->data;
  if (!q)
    return;
  for (int i = 0; i < SQLITE_NSTATEMENTS; i++)
    sqlite3_finalize(q->st[i]);
  sqlite3_close(q->db);
  free(q);
}

/* Checks */

static bool sqlite_hash(tpcc_side *s, tpcc_table_id table, uint64_t *out) {
  sqlite_side *q = s->data;
  const tpcc_table *t = &tpcc_tables[table];
  char text[512], keys[256] = "rowid";
  sqlite3_stmt *st;
  tpcc_answers answers = {0};
  if (t->nkeys)
    column_names(t, t->nkeys, keys);
  snprintf(text, sizeof text, "select * from %s order by %s", t->name, keys);
  if (sqlite3_prepare_v2(q->db, text, -1, &st, NULL) != SQLITE_OK)
    return sqlite_report(s);
  int code;
  while ((code = sqlite3_step(st)) == SQLITE_ROW)
    sqlite_read(&answers, st, 0);
  sqlite3_finalize(st);
  *out = answers.hash;
  return code == SQLITE_DONE || sqlite_report(s);
}

tpcc_side tpcc_sqlite_side(void) {
  return (tpcc_side){.name = "SQLite in memory",
                     .open = sqlite_open,
                     .close = sqlite_close,
                     .run = sqlite_run,
                     .hash = sqlite_hash};
}
