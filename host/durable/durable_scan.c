/* Every page of the log read, and every checksum compared, in a child process.
 *
 * LMDB trusts its file: it is mapped, and a wrong page number in it, or a file that is shorter than
 * it says, can kill the process.  Then it is the child that dies.  What LMDB's own structure says
 * is compared too: the pages in use and the free ones must be all there are, and nothing in use may
 * be called free, for it would be overwritten. */
#define _POSIX_C_SOURCE 200809L
#include "durable_int.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct {
  durable_env env;
  MDB_txn *txn;
  const uint8_t *map;
  size_t page, pages; /* bytes; how many in use or free */
  uint8_t *free;      /* a byte each */
  uint64_t nfree, counted;
} scan;

static bool damaged(durable_error *e, const char *what) {
  return durable_fail(e, "the log is damaged: %s", what);
}

/* The free list: under each key a count, then page numbers. */
static bool read_free(scan *s, durable_error *e) {
  MDB_cursor *cursor;
  MDB_val key, value;
  int rc = mdb_cursor_open(s->txn, 0, &cursor);
  bool fine = true;
  while (fine && rc == 0 && (rc = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) == 0) {
    const size_t *ids = value.mv_data;
    fine = value.mv_size >= sizeof *ids && ids[0] <= value.mv_size / sizeof *ids - 1;
    for (size_t i = 1; fine && i <= ids[0]; i++) {
      fine = ids[i] > 1 && ids[i] < s->pages && !s->free[ids[i]];
      if (fine)
        s->free[ids[i]] = 1;
      s->nfree++;
    }
  }
  mdb_cursor_close(cursor);
  return (fine && rc == MDB_NOTFOUND) || damaged(e, "its list of free pages is wrong");
}

static bool count_pages(scan *s, MDB_dbi dbi, durable_error *e) {
  MDB_stat stat;
  if (mdb_stat(s->txn, dbi, &stat))
    return damaged(e, "a tree cannot be read");
  s->counted += stat.ms_branch_pages + stat.ms_leaf_pages + stat.ms_overflow_pages;
  return true;
}

/* A page begins with its number; so a page that is seen tells where page 0 is, and all have to tell
 * the same. */
static bool in_use(scan *s, const MDB_val *v, durable_error *e) {
  const uint8_t *at = v->mv_data;
  const uint8_t *page = at - (uintptr_t)at % s->page;
  size_t number;
  memcpy(&number, page, sizeof number);
  if (number >= s->pages || (s->map && s->map != page - number * s->page))
    return damaged(e, "a page has the number of another one");
  s->map = page - number * s->page;
  if (v->mv_size > s->pages * s->page - (size_t)(at - s->map))
    return damaged(e, "a record lies outside of it");
  for (size_t p = number; p <= (size_t)(at + v->mv_size - 1 - s->map) / s->page; p++)
    if (s->free[p])
      return damaged(e, "a page in use is called free");
  return true;
}

static bool scan_record(scan *s, const MDB_val *key, const MDB_val *value, uint64_t *expected,
                        durable_error *e) {
  if (key->mv_size != 8 || value->mv_size < 8)
    return damaged(e, "a record has no number");
  uint64_t position = durable_unkey(key->mv_data);
  if (*expected && position != *expected)
    return durable_fail(e, "the log is damaged: record %llu is missing",
                        (unsigned long long)*expected);
  *expected = position + 1;
  const uint8_t *bytes = value->mv_data;
  if (!in_use(s, value, e))
    return false;
  if (durable_checksum(bytes + 8, value->mv_size - 8, position) != durable_decode(bytes))
    return durable_fail(e, "the log is damaged: the checksum of record %llu is wrong",
                        (unsigned long long)position);
  return true;
}

static bool scan_log(scan *s, durable_error *e) {
  MDB_cursor *cursor;
  MDB_val key, value;
  MDB_stat stat;
  uint64_t expected = 0, n = 0, last;
  if (!durable_last_get(&s->env, s->txn, &last, e))
    return false;
  if (mdb_cursor_open(s->txn, s->env.log, &cursor) || mdb_stat(s->txn, s->env.log, &stat))
    return damaged(e, "its records cannot be read");
  bool fine = true;
  int rc = 0;
  for (; fine && (rc = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) == 0; n++)
    fine = n < stat.ms_entries && scan_record(s, &key, &value, &expected, e);
  mdb_cursor_close(cursor);
  if (fine && (rc != MDB_NOTFOUND || n != stat.ms_entries))
    return damaged(e, "its records are not as many as they should be");
  if (fine && n && expected != last + 1)
    return durable_fail(e, "the log is damaged: it ends with record %llu, not %llu",
                        (unsigned long long)(expected - 1), (unsigned long long)last);
  return fine;
}

static bool scan_meta(scan *s, durable_error *e) {
  MDB_cursor *cursor;
  MDB_val key, value;
  char name[64];
  bool fine = true, found;
  const uint8_t *bytes;
  size_t n;
  int rc = mdb_cursor_open(s->txn, s->env.meta, &cursor);
  while (fine && rc == 0 && (rc = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) == 0) {
    snprintf(name, sizeof name, "%.*s", (int)key.mv_size, (const char *)key.mv_data);
    fine = in_use(s, &value, e) && durable_meta_get(&s->env, s->txn, name, &found, &bytes, &n, e);
  }
  mdb_cursor_close(cursor);
  return fine;
}

static bool scan_all(scan *s, durable_error *e) {
  MDB_envinfo info;
  MDB_stat stat;
  if (mdb_env_info(s->env.env, &info) || mdb_env_stat(s->env.env, &stat))
    return damaged(e, "it cannot be read");
  s->page = stat.ms_psize;
  s->pages = info.me_last_pgno + 1;
  s->free = s->pages < SIZE_MAX / 2 ? calloc(s->pages, 1) : NULL;
  if (!s->free)
    return damaged(e, "it says that it is larger than memory");
  if (!read_free(s, e) || !count_pages(s, 0, e) || !count_pages(s, 1, e) ||
      !count_pages(s, s->env.meta, e) || !count_pages(s, s->env.log, e))
    return false;
  if (s->counted + s->nfree + 2 != s->pages)
    return damaged(e, "pages are missing");
  return scan_meta(s, e) && scan_log(s, e);
}

static bool scan_file(const char *dir, durable_error *e) {
  scan s = {0};
  if (!durable_env_open(&s.env, dir, false, e))
    return false;
  int rc = mdb_txn_begin(s.env.env, NULL, MDB_RDONLY, &s.txn);
  if (rc)
    return durable_fail(e, "%s: the log cannot be read: %s", dir, mdb_strerror(rc));
  bool fine = scan_all(&s, e);
  mdb_txn_abort(s.txn);
  free(s.free);
  durable_env_close(&s.env);
  return fine;
}

/* The child says what is wrong through the pipe, or nothing. */
static void child(const char *dir, int out) {
  durable_error e = {""};
  struct rlimit none = {0, 0};
  (void)setrlimit(RLIMIT_CORE, &none);
  bool fine = scan_file(dir, &e);
  ssize_t told = fine ? 0 : write(out, e.message, strlen(e.message));
  _exit(fine ? 0 : told > 0 ? 1 : 2);
}

static bool listen_to(pid_t pid, int in, const char *dir, durable_error *e) {
  char said[sizeof e->message] = "";
  size_t n = 0;
  ssize_t got;
  int status;
  while (n < sizeof said - 1 &&
         ((got = read(in, said + n, sizeof said - 1 - n)) > 0 || (got < 0 && errno == EINTR)))
    n += got > 0 ? (size_t)got : 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
    ;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
    return true;
  if (n == 0)
    return durable_fail(e, "%s: the log is damaged: it cannot even be read", dir);
  bool named = strncmp(said, dir, strlen(dir)) == 0;
  return durable_fail(e, "%s%s%.900s", named ? "" : dir, named ? "" : ": ", said);
}

bool durable_scan(const char *dir, durable_error *e) {
  int ends[2];
  if (pipe(ends) != 0)
    return durable_fail(e, "%s: %s", dir, strerror(errno));
  pid_t pid = fork();
  if (pid == 0) {
    close(ends[0]);
    child(dir, ends[1]);
  }
  close(ends[1]);
  bool fine = pid > 0 ? listen_to(pid, ends[0], dir, e)
                      : durable_fail(e, "%s: no process can be made: %s", dir, strerror(errno));
  close(ends[0]);
  return fine;
}
