/* perf/tpcc_http/tpcc_http.h - TPC-C over HTTP: what the files of this folder share.
 *
 *   http.c             requests and answers over a kept connection
 *   server.c           pure-serve started, stopped, and asked what its threads cost
 *   terminals.c        the load: each terminal asks again as soon as it is answered
 *   tpcc_http.c        the command line, the checks, what is printed
 */
#ifndef PURE_PERF_TPCC_HTTP_H
#define PURE_PERF_TPCC_HTTP_H

#include <sys/types.h>

#include "perf/tpcc/tpcc.h"
#include "perf/tpcc_http/http.h"

/* Server */

typedef struct {
  const char *program, *level;
  const char *snapshot; /* NULL: the store has its rows */
  const char *store;    /* NULL: memory alone */
  const char *binary;
  bool whole_log; /* no checkpoint takes anything off it */
} server_options;

typedef struct {
  pid_t pid;
  int out;
  uint16_t port;
} server;

/* Seconds of processor time. */
typedef struct {
  double owner, queries, commits, rest, driver;
} server_cost;

/* All say what is wrong on standard error. */
bool server_start(server *s, const server_options *o);
/* With SIGTERM, or killed at once; false: its status was not 0. */
bool server_end(server *s, bool at_once);
bool server_cost_now(const server *s, server_cost *out);
/* Replays a store that nobody serves, at a level. */
bool server_digest(const server_options *o, const char *level, uint64_t *digest);

/* Terminals */

typedef struct {
  float *ms;
  size_t n, room;
} latencies;

typedef struct {
  latencies of[TPCC_NKINDS];
  uint64_t undone; /* new orders taken back; their times count */
  uint64_t hash;   /* of all answers in their order: tells something for one terminal alone */
  double seconds;
} tally;

typedef struct terminal terminal;
typedef struct {
  tpcc_terminals source;
  terminal *terminals;
  uint32_t n;
  int poll;
} load;

bool load_open(load *l, const tpcc_scale *scale, uint32_t terminals, uint16_t port);
void load_close(load *l);
/* Until so many seconds have gone, or requests been sent (0: no matter how many).  False, with a
 * message: an answer that should not have come, or none. */
bool load_run(load *l, double seconds, uint64_t requests, tally *out);
void tally_free(tally *t);
/* Sorts.  share: 0.5 is the median; n > 0. */
double latencies_at(latencies *l, double share);
uint64_t tally_requests(const tally *t);

#endif
