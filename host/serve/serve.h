/* host/serve/serve.h - pure-serve: events and queries over HTTP.  docs/serving.md says what it
 * does.
 *
 *   serve_main.c     the order of things, signals
 *   serve_options.c  the command line
 *   serve_load.c     the program; lists from files
 *   serve_http.c     libmicrohttpd: requests in, answers out
 *   serve_peer.c     connections, and those that take too long
 *   serve_route.c    what a request asks for, and whether it may
 *   serve_args.c     arguments from JSON
 *   serve_answer.c   answers and errors
 *   serve_owner.c    the one thread that runs events
 *   serve_reader.c   snapshots and the sessions on them
 *   serve_query.c    the threads that run queries
 *   serve_stats.c serve_metrics.c   what is going on
 *   serve_log.c      lines for standard error
 *
 * Threads: libmicrohttpd's read requests and write answers; the owner runs events one after
 * another; workers run queries on snapshots; with a durable store, a committer (host/durable).  A
 * request goes from one to the next: whoever has it alone may change it.  While it is away from its
 * connection the connection is suspended.
 */
#ifndef PURE_SERVE_H
#define PURE_SERVE_H

#include <pure/pure.h>

#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>

#include "host/durable/durable.h"

enum {
  SERVE_FINE = 0,
  SERVE_FAILED = 1,
  SERVE_USAGE = 2,
  SERVE_BAD_PROGRAM = 3,
  SERVE_BAD_DATA = 4
};

typedef enum { SERVE_LOG_OFF, SERVE_LOG_ERRORS, SERVE_LOG_REQUESTS } serve_log_level;

typedef struct {
  const char *program;
  const char *address; /* to listen on */
  uint16_t port;
  const char *token_file, *store, *verify;
  const char **loads; /* LIST=FILE or SNAPSHOT */
  size_t nloads;
  const char **externs;
  size_t nexterns;
  pure_jit jit;
  pure_limits limits; /* of a call, at most */
  uint64_t max_memory, max_body, max_load, max_answer;
  uint64_t checkpoint_events, checkpoint_bytes;
  uint32_t threads, queue, connections, request_ms, answer_ms, exit_after;
  serve_log_level log;
  bool adopt, jit_log, help, version;
  uint32_t dump; /* PURE_DUMP_ bits */
} serve_options;

typedef struct serve serve;
typedef struct serve_peer serve_peer;
typedef struct serve_reader serve_reader;

typedef enum { SERVE_CALL, SERVE_LOAD, SERVE_LIST, SERVE_STATS, SERVE_PLAIN } serve_task;

/* Bytes that grow up to a bound. */
typedef struct {
  char *bytes;
  size_t length, room;
  size_t most;     /* 0: unbounded */
  bool over, full; /* more than most; no memory */
} serve_buffer;

typedef struct serve_request {
  serve *s;
  struct MHD_Connection *connection;
  serve_peer *peer;
  _Atomic int holds;
  struct serve_request *next; /* in the queue it is in */
  serve_task task;
  bool event, waiting, answered;
  uint32_t function, list;
  const char *name; /* of it: the program's */
  pure_value *arguments;
  uint32_t narguments;
  void *json; /* what the texts among them live in */
  serve_buffer body;
  uint64_t counted; /* bytes of the body that count towards those of all */
  pure_format format;
  uint64_t rows_wanted;
  pure_duplicates duplicates;
  pure_limits limits;
  /* The answer: whole in `answer`, or its beginning, and the reader has the rest. */
  unsigned status;
  const char *type;
  serve_buffer answer;
  size_t sent; /* of answer */
  bool more;
  serve_reader *reader;
  pure_result *result;
  const char *code; /* of an error, or NULL */
  uint64_t work, rows, position;
  uint64_t start_ns, run_ns, answered_ns; /* clock; how long the call took; clock */
  char method[12], path[160];
} serve_request;

typedef struct {
  pthread_mutex_t lock;
  pthread_cond_t filled;
  serve_request *first, **last;
  uint32_t length;
  bool closed;
} serve_queue;

/* Counters for /stats and /metrics. */
typedef struct {
  _Atomic uint64_t requests, refused, errors, faults, cancelled, timeouts;
  _Atomic uint64_t events, queries, loads, snapshots, rows, bytes, work;
  _Atomic uint64_t event_ns, query_ns;
  _Atomic uint64_t latency[24]; /* answers that took at most 2^i us; the last: longer */
  _Atomic uint64_t latency_ns;
  _Atomic uint32_t connections, running;
} serve_counts;

/* Of each query and event. */
typedef struct {
  _Atomic uint64_t calls, faults, work, ns, last_ns;
} serve_function;

/* What was last seen of a loop or function that ran. */
typedef struct serve_loop {
  const char *function;
  uint32_t line;
  bool whole; /* the function, not a loop */
  pure_loop_stats last;
} serve_loop;

struct serve {
  serve_options o;
  pure_engine *engine;
  pure_program *program;
  pure_store *store;
  pure_session *session; /* the owner's */
  durable *durable;      /* or NULL */
  struct MHD_Daemon *daemon;
  char *token;
  uint16_t port;
  uint64_t start_ns;
  uint32_t nfunctions, nlists;
  serve_function *functions;
  serve_queue events, queries;
  pthread_t owner, reaper, *workers;
  uint32_t nworkers;
  bool owner_runs, reaper_runs;
  _Atomic uint32_t waiting; /* events and loads that were let in and not answered */
  _Atomic uint64_t body_bytes;
  _Atomic bool draining;
  serve_counts counts;
  /* serve_reader.c */
  pthread_mutex_t snap_lock;
  pthread_cond_t snap_made;
  struct serve_snapshot *published;
  uint64_t executed; /* events and loads, since the start */
  _Atomic bool snap_wanted;
  bool snap_failed;
  serve_loop *loops;
  size_t nloops;
  uint64_t gathered_ns; /* clock */
  /* serve_peer.c */
  pthread_mutex_t peer_lock;
  pthread_cond_t peer_stop;
  serve_peer *peers;
  bool stopping;
};

/* serve_options.c */
int serve_options_read(serve_options *o, int argc, char **argv);
void serve_options_free(serve_options *o);
void serve_print_help(void);
int serve_usage(const char *form, ...) __attribute__((format(printf, 1, 2)));

/* serve_load.c */
int serve_read_file(const char *path, char **bytes, size_t *length);
int serve_program_open(serve *s);
int serve_load_all(serve *s);
int serve_complain(const pure_error *e);

/* serve_http.c */
int serve_http_start(serve *s);
void serve_http_quiet(serve *s); /* no new connections */
void serve_http_stop(serve *s);
/* The request goes back to its connection with its answer. */
void serve_request_done(serve_request *r);
void serve_request_drop(serve_request *r);

/* serve_peer.c */
bool serve_peers_start(serve *s);
void serve_peers_stop(serve *s);
void serve_peer_notify(void *user, struct MHD_Connection *connection, void **socket,
                       enum MHD_ConnectionNotificationCode code);
serve_peer *serve_peer_of(struct MHD_Connection *connection);
/* From now on it has so much time for what it is doing, which may be to bring a request; 0: for
 * ever. */
void serve_peer_limit(serve_peer *peer, bool reading, uint32_t ms);
void serve_peers_hurry(serve *s); /* closes those that bring no answerable request any more */
void serve_peer_version(serve_peer *peer, const char *version); /* of HTTP */
/* Whether nobody is there any more; its request is waiting, and nothing of the answer was sent. */
bool serve_peer_gone(const serve_peer *peer);

/* serve_route.c.  False: the request has an error for its answer. */
bool serve_route(serve_request *r, const char *method, const char *path);
bool serve_allowed(serve_request *r);

/* serve_args.c */
bool serve_arguments_read(serve_request *r);

/* serve_answer.c */
bool serve_buffer_add(serve_buffer *b, const void *bytes, size_t n);
bool serve_buffer_write(void *buffer, const void *bytes, size_t n); /* as pure_write */
void serve_buffer_free(serve_buffer *b);
bool serve_refuse(serve_request *r, unsigned status, const char *code, const char *form, ...)
    __attribute__((format(printf, 4, 5))); /* returns false */
void serve_fail(serve_request *r, const pure_error *e);
/* A JSON value of jansson's becomes the answer; takes it. */
void serve_answer_json(serve_request *r, void *json);

/* serve_owner.c */
bool serve_owner_start(serve *s);
void serve_owner_stop(serve *s); /* after all that was let in */
/* Takes the request or refuses it. */
bool serve_owner_submit(serve_request *r);
void serve_owner_wake(serve *s);
/* As durable_done: the request that is the token goes back with its answer. */
void serve_committed(void *user, void *token, bool fine);

/* serve_reader.c */
/* NULL: no memory. */
serve_reader *serve_reader_get(serve_request *r);
void serve_reader_put(serve *s, serve_reader *reader);
pure_session *serve_reader_session(serve_reader *reader);
uint64_t serve_reader_position(const serve_reader *reader);
void serve_snapshot_publish(serve *s); /* owner: a new one, where the last is old */
void serve_snapshot_retire(serve *s);  /* owner: nobody uses the last one, events come */
void serve_executed(serve *s);         /* owner: the store is another now */
void serve_gather(serve *s, pure_session *session); /* what it knows of loops; now and then */
void serve_readers_close(serve *s);

/* serve_query.c */
bool serve_workers_start(serve *s);
void serve_workers_stop(serve *s);
bool serve_query_submit(serve_request *r);
/* More of the answer into r->answer; false: it cannot go on. */
bool serve_query_more(serve_request *r);
void serve_query_release(serve_request *r);

bool serve_queue_open(serve_queue *q);
bool serve_queue_push(serve_queue *q, serve_request *r); /* false: closed */
void serve_queue_close(serve_queue *q);

/* serve_stats.c, serve_metrics.c */
void serve_stats(serve_request *r); /* on the owner */
void serve_metrics(serve_request *r);
void serve_program_describe(serve_request *r);
void serve_count_answer(serve_request *r);
void serve_count_call(serve *s, const serve_request *r);

/* serve_log.c */
uint64_t serve_clock(void); /* ns, monotonic */
void serve_log(const char *event, const char *form, ...) __attribute__((format(printf, 2, 3)));
void serve_log_request(const serve_request *r);

/* The page; made of console/ when this is built. */
extern const unsigned char serve_console[];
extern const size_t serve_console_length;

#endif
