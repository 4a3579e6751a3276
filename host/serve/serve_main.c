/* pure-serve: what happens in which order. */
#define _GNU_SOURCE
#include "serve.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static void log_jit(void *user, const char *line) {
  (void)user;
  serve_log("jit", "%s", line);
}

/* Not a line of JSON: it is read by people, and as long as it is. */
static void print_dump(void *user, const char *region, const char *kind, const char *text,
                       size_t length) {
  (void)user;
  flockfile(stderr);
  fprintf(stderr, "---- %s of %s\n", kind, region);
  fwrite(text, 1, length, stderr);
  fputc('\n', stderr);
  funlockfile(stderr);
}

static void log_store(void *user, const char *line) {
  (void)user;
  serve_log("store", "%s", line);
}

/* The signals that end it are waited for, by this thread alone; a pipe that breaks and a file that
 * may not grow show as errors. */
static void take_signals(sigset_t *ends) {
  sigemptyset(ends);
  sigaddset(ends, SIGTERM);
  sigaddset(ends, SIGINT);
  sigaddset(ends, SIGHUP);
  pthread_sigmask(SIG_BLOCK, ends, NULL);
  struct sigaction ignore = {.sa_handler = SIG_IGN};
  sigaction(SIGPIPE, &ignore, NULL);
  sigaction(SIGXFSZ, &ignore, NULL);
}

static void raise_files(const serve *s) {
  struct rlimit limit;
  rlim_t wanted = s->o.connections + 256u;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted)
    return;
  limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
  (void)setrlimit(RLIMIT_NOFILE, &limit);
}

static int read_token(serve *s) {
  size_t length;
  if (!s->o.token_file)
    return SERVE_FINE;
  int status = serve_read_file(s->o.token_file, &s->token, &length);
  if (status != SERVE_FINE)
    return status;
  while (length && (s->token[length - 1] == '\n' || s->token[length - 1] == '\r'))
    length--;
  char *ended = realloc(s->token, length + 1);
  if (!ended)
    return SERVE_FAILED;
  s->token = ended;
  s->token[length] = 0;
  if (length < 16 || strlen(s->token) != length)
    return serve_usage("%s: a token of 16 characters or more is expected", s->o.token_file);
  return SERVE_FINE;
}

static int open_engine(serve *s) {
  pure_error e;
  pure_jit_watch watch = {.log = s->o.jit_log ? log_jit : NULL,
                          .dump = s->o.dump ? print_dump : NULL,
                          .dump_kinds = s->o.dump};
  pure_engine_options options = {.size = sizeof options,
                                 .limits = s->o.limits,
                                 .jit = s->o.jit,
                                 .environment = true,
                                 .max_memory = s->o.max_memory,
                                 .watch = &watch};
  return pure_engine_new(&options, &s->engine, &e) == PURE_OK ? SERVE_FINE : serve_complain(&e);
}

static bool open_parts(serve *s) {
  pure_function_info info;
  while (pure_program_function(s->program, s->nfunctions, &info) == PURE_OK)
    s->nfunctions++;
  s->functions = calloc(s->nfunctions + 1, sizeof *s->functions);
  return s->functions && serve_queue_open(&s->events) && serve_queue_open(&s->queries) &&
         pthread_mutex_init(&s->snap_lock, NULL) == 0 &&
         pthread_cond_init(&s->snap_made, NULL) == 0 &&
         pthread_mutex_init(&s->peer_lock, NULL) == 0 &&
         pthread_cond_init(&s->peer_stop, NULL) == 0;
}

static int open_durable(serve *s) {
  durable_error e;
  durable_options options = {.dir = s->o.store,
                             .program = s->program,
                             .store = s->store,
                             .adopt = s->o.adopt,
                             .checkpoint_events = s->o.checkpoint_events,
                             .checkpoint_bytes = s->o.checkpoint_bytes,
                             .done = serve_committed,
                             .say = log_store,
                             .user = s};
  if (!s->o.store)
    return SERVE_FINE;
  s->durable = durable_open(&options, &e);
  if (s->durable) {
    s->executed = durable_position(s->durable);
    return SERVE_FINE;
  }
  fprintf(stderr, "pure-serve: %s\n", e.message);
  return SERVE_BAD_DATA;
}

/* Rows from files are for a store that has none: they are not in the log but in its first
 * checkpoint. */
static int fill_store(serve *s) {
  if (s->o.nloads == 0)
    return SERVE_FINE;
  if (s->durable && !durable_is_new(s->durable))
    return serve_usage("--load: %s has data already; POST /lists/NAME adds rows", s->o.store);
  int status = serve_load_all(s);
  if (status == SERVE_FINE && s->durable && !durable_checkpoint_now(s->durable)) {
    fprintf(stderr, "pure-serve: %s: the first checkpoint cannot be written\n", s->o.store);
    status = SERVE_FAILED;
  }
  return status;
}

static int open_store(serve *s) {
  pure_error e;
  if (pure_store_new(s->program, &s->store, &e) != PURE_OK)
    return serve_complain(&e);
  int status = open_durable(s);
  if (status == SERVE_FINE)
    status = fill_store(s);
  if (status == SERVE_FINE && pure_session_new(s->store, &s->session, &e) != PURE_OK)
    status = serve_complain(&e);
  return status;
}

static void say_where(const serve *s) {
  bool v6 = strchr(s->o.address, ':') != NULL;
  printf("listening on http://%s%s%s:%u/\n", v6 ? "[" : "", s->o.address, v6 ? "]" : "", s->port);
  fflush(stdout);
  serve_log("start", "pure-serve %s, %s, port %u", pure_version(), s->o.program, s->port);
}

/* Until a signal, --exit-after, or a store that failed. */
static const char *wait_for_end(const serve *s, const sigset_t *ends) {
  uint64_t until = s->o.exit_after ? s->start_ns + s->o.exit_after * UINT64_C(1000000000) : 0;
  struct timespec tick = {.tv_nsec = 200000000};
  for (;;) {
    int number = sigtimedwait(ends, NULL, &tick);
    if (number > 0)
      return strsignal(number);
    if (s->durable && durable_failed(s->durable))
      return "the store cannot be written";
    if (until && serve_clock() >= until)
      return "--exit-after";
  }
}

/* Nobody new gets in; what was let in is answered. */
static void drain(serve *s) {
  atomic_store(&s->draining, true);
  serve_http_quiet(s);
  serve_workers_stop(s);
  serve_owner_stop(s);
  if (s->durable)
    durable_flush(s->durable);
  struct timespec tick = {.tv_nsec = 10000000};
  for (int i = 0; i < 500 && atomic_load(&s->counts.connections); i++) {
    serve_peers_hurry(s); /* the others are taking their answers */
    nanosleep(&tick, NULL);
  }
  serve_http_stop(s);
  serve_peers_stop(s);
}

static int run(serve *s, const sigset_t *ends) {
  raise_files(s);
  int status = serve_owner_start(s) && serve_workers_start(s) && serve_peers_start(s)
                   ? serve_http_start(s)
                   : SERVE_FAILED;
  if (status == SERVE_FINE) {
    say_where(s);
    const char *why = wait_for_end(s, ends);
    serve_log("stop", "%s", why);
    drain(s);
    if (s->durable && durable_failed(s->durable))
      status = SERVE_FAILED;
  } else {
    serve_workers_stop(s);
    serve_owner_stop(s);
    serve_peers_stop(s);
  }
  return status;
}

static void close_all(serve *s) {
  if (s->nfunctions)
    serve_readers_close(s);
  pure_session_release(s->session);
  if (s->durable)
    durable_close(s->durable);
  pure_store_release(s->store);
  pure_program_release(s->program);
  pure_engine_release(s->engine);
  free(s->functions);
  free(s->token);
  serve_options_free(&s->o);
}

/* The signals are blocked before the first thread is made, and so in all of them. */
static int serve_program(serve *s) {
  sigset_t ends;
  take_signals(&ends);
  int status = open_engine(s);
  if (status == SERVE_FINE)
    status = serve_program_open(s);
  if (status == SERVE_FINE && !open_parts(s))
    status = SERVE_FAILED;
  if (status == SERVE_FINE)
    status = open_store(s);
  return status == SERVE_FINE ? run(s, &ends) : status;
}

static int verify(serve *s) {
  durable_error e;
  durable_verified seen;
  if (!durable_verify(s->o.verify, s->engine, log_store, s, &seen, &e)) {
    fprintf(stderr, "pure-serve: %s\n", e.message);
    return SERVE_BAD_DATA;
  }
  printf("%s: fine: position %llu, digest %016llx, %llu replayed, %u checkpoint%s compared\n",
         s->o.verify, (unsigned long long)seen.position, (unsigned long long)seen.digest,
         (unsigned long long)seen.replayed, seen.checkpoints, seen.checkpoints == 1 ? "" : "s");
  return SERVE_FINE;
}

int main(int argc, char **argv) {
  serve *s = calloc(1, sizeof *s);
  if (!s)
    return SERVE_FAILED;
  s->start_ns = serve_clock();
  int status = serve_options_read(&s->o, argc, argv);
  if (status == SERVE_FINE && s->o.help) {
    serve_print_help();
  } else if (status == SERVE_FINE && s->o.version) {
    printf("pure-serve %s\n", pure_version());
  } else if (status == SERVE_FINE) {
    status = read_token(s);
    if (status == SERVE_FINE && s->o.verify)
      status = open_engine(s) == SERVE_FINE ? verify(s) : SERVE_FAILED;
    else if (status == SERVE_FINE)
      status = serve_program(s);
  }
  close_all(s);
  free(s);
  return status;
}
