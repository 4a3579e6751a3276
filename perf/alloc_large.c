/* alloc-large: the list memory of Pure beside malloc and mimalloc.
 *
 * Every sample is a process of its own (this program again, as a worker), so that no allocator
 * works in what another has left behind; the contestants take turns in every round.  mimalloc is
 * loaded when a worker runs it, with its settings in the environment.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lists/mem/mem.h"
#include "perf/support/alloc_load.h"
#include "perf/support/sample.h"

enum { MAX_ROUNDS = 99, MAX_THREADS = 8, CONTESTANTS = 5, EXIT_USAGE = 2, EXIT_CANNOT = 3 };
enum { PURE, MIMALLOC, MIMALLOC_KEEP, GLIBC, FLOOR };

static const char *const contestant_name[CONTESTANTS] = {"pure", "mimalloc", "mimalloc-keep",
                                                         "glibc", "floor"};

/* want: how many times the operations of mimalloc, of mimalloc that never gives pages back, and of
 * glibc; 0: no aim. */
static const struct {
  alloc_load load;
  double want[CONTESTANTS];
} loads[] = {
    {{"local-first", 65536, 1048576, 256, false, TOUCH_FIRST}, {0, 2.5, 1.8, 10}},
    {{"local-pages", 65536, 1048576, 256, false, TOUCH_PAGES}, {0, 1.2, 1.05, 5}},
    {{"local-all", 65536, 1048576, 256, false, TOUCH_ALL}, {0, 0.95, 0.9, 1.5}},
    {{"remote-first", 65536, 1048576, 256, true, TOUCH_FIRST}, {0, 2.0, 1.6, 10}},
    {{"remote-pages", 65536, 1048576, 256, true, TOUCH_PAGES}, {0, 1.4, 1.2, 5}},
    {{"remote-all", 65536, 1048576, 256, true, TOUCH_ALL}, {0, 1.05, 0.95, 1.4}},
    {{"leaves-local", 1024, 4096, 4096, false, TOUCH_FIRST}, {0, 0.9, 0, 1.8}},
    {{"leaves-remote", 1024, 4096, 4096, true, TOUCH_FIRST}, {0, 1.1, 0, 5}},
    {{"mix-local", 1024, 204800, 1024, false, TOUCH_PAGES}, {0, 0, 0, 0}},
    {{"mix-remote", 1024, 204800, 1024, true, TOUCH_PAGES}, {0, 0, 0, 0}},
};
enum { LOADS = sizeof loads / sizeof loads[0] };

typedef struct {
  const char *self, *mimalloc, *only;
  unsigned rounds, nthreads, thread[MAX_THREADS];
  double seconds;
  bool settle;
} options;

static const char usage[] =
    "usage: alloc-large [--loads NAME,...] [--threads T,...] [--rounds R] [--seconds S]\n"
    "                   [--settle] [--mimalloc FILE]\n"
    "\n"
    "List memory of Pure beside mimalloc (as it comes, and told never to give pages back) and\n"
    "glibc: threads free and allocate blocks at random. Operations a second, and resident memory.\n"
    "The floor has slots of the largest size, and gives a thread the one that it freed last: what\n"
    "the load itself takes. No allocator can be faster by much.\n"
    "\n"
    "  --loads NAMES    words that the names of loads contain (default: all loads)\n"
    "  --threads T      numbers of threads (default 1,2,4)\n"
    "  --rounds R       rounds, in which every contestant has one turn (default 3)\n"
    "  --seconds S      of each turn (default 3)\n"
    "  --settle         measure memory after the load as well: 2 s more for each turn\n"
    "  --mimalloc FILE  the library (default libmimalloc.so.2)\n"
    "\n"
    "Exit status: 0, 2 usage, 3 could not run\n";

/* The contestants */

static void *pure_alloc(void *user, size_t bytes) { return ls_mem_alloc(user, bytes); }
static void pure_free(void *user, void *p, size_t bytes) { ls_mem_free(user, p, bytes); }
static void pure_park(void *user) { ls_mem_park(user); }

/* Slots as large as the largest block, in huge pages as Pure's memory is: each thread takes the
 * slot that it freed last.  There is nothing left to be quicker in but the touching of what is
 * given. */
enum { MAX_SLOTS = 65536 };
static size_t slot_bytes;
static _Thread_local char *slot[MAX_SLOTS];
static _Thread_local unsigned nslots;

static void *floor_alloc(void *user, size_t bytes) {
  (void)user, (void)bytes;
  if (nslots)
    return slot[--nslots];
  char *p = mmap(NULL, slot_bytes * 64, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED)
    return NULL;
  madvise(p, slot_bytes * 64, MADV_HUGEPAGE);
  while (nslots < 63)
    slot[nslots++] = p += slot_bytes;
  return p - 63 * slot_bytes;
}
static void floor_free(void *user, void *p, size_t bytes) {
  (void)user, (void)bytes;
  if (nslots < MAX_SLOTS)
    slot[nslots++] = p;
}
static void floor_park(void *user) { (void)user; }

static void *glibc_alloc(void *user, size_t bytes) { return (void)user, malloc(bytes); }
static void glibc_free(void *user, void *p, size_t bytes) { (void)user, (void)bytes, free(p); }
static void glibc_park(void *user) { (void)user, malloc_trim(0); }

typedef struct {
  void *(*malloc)(size_t bytes);
  void (*free)(void *p);
  void (*collect)(bool force);
} mimalloc_api;

static void *mi_alloc(void *user, size_t bytes) { return ((mimalloc_api *)user)->malloc(bytes); }
static void mi_give(void *user, void *p, size_t bytes) {
  (void)bytes;
  ((mimalloc_api *)user)->free(p);
}
static void mi_park(void *user) { ((mimalloc_api *)user)->collect(true); }

static bool load_mimalloc(const char *file, mimalloc_api *mi, alloc_api *api) {
  void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    fprintf(stderr, "alloc-large: %s\n", dlerror());
    return false;
  }
  *(void **)&mi->malloc = dlsym(library, "mi_malloc");
  *(void **)&mi->free = dlsym(library, "mi_free");
  *(void **)&mi->collect = dlsym(library, "mi_collect");
  *api = (alloc_api){mi, mi_alloc, mi_give, mi_park};
  return mi->malloc != NULL && mi->free != NULL && mi->collect != NULL;
}

static bool open_contestant(unsigned contestant, const alloc_load *load, const char *file,
                            alloc_api *api) {
  static mimalloc_api mi;
  if (contestant == FLOOR) {
    slot_bytes = load->most;
    *api = (alloc_api){NULL, floor_alloc, floor_free, floor_park};
    return true;
  }
  if (contestant == GLIBC) {
    *api = (alloc_api){NULL, glibc_alloc, glibc_free, glibc_park};
    return true;
  }
  if (contestant == PURE) {
    ls_mem_options o = ls_mem_options_default;
    const char *bad;
    ls_mem_options_from_env(&o, &bad);
    *api = (alloc_api){ls_mem_new_with(&o), pure_alloc, pure_free, pure_park};
    return bad == NULL && api->user != NULL;
  }
  return load_mimalloc(file, &mi, api);
}

/* A worker: alloc-large --worker CONTESTANT LOAD THREADS SECONDS SETTLE FILE */
static int worker_main(char **argv) {
  alloc_api api;
  alloc_outcome r;
  unsigned contestant = (unsigned)atoi(argv[2]), load = (unsigned)atoi(argv[3]);
  if (contestant >= CONTESTANTS || load >= LOADS ||
      !open_contestant(contestant, &loads[load].load, argv[7], &api) ||
      !alloc_load_run(&loads[load].load, &api, (unsigned)atoi(argv[4]), atof(argv[5]),
                      atoi(argv[6]) != 0, &r))
    return EXIT_CANNOT;
  printf("%f %f %f %f %f\n", r.ops, r.live, r.peak, r.settled, r.parked);
  return 0;
}

static void become_worker(const options *o, unsigned contestant, unsigned load, unsigned threads) {
  char text[5][32];
  snprintf(text[0], 32, "%u", contestant);
  snprintf(text[1], 32, "%u", load);
  snprintf(text[2], 32, "%u", threads);
  snprintf(text[3], 32, "%f", o->seconds);
  snprintf(text[4], 32, "%d", o->settle);
  if (contestant == MIMALLOC_KEEP) { /* the first two: up to 2.0; the third: since 2.1 */
    setenv("MIMALLOC_ALLOW_DECOMMIT", "0", 1);
    setenv("MIMALLOC_PAGE_RESET", "0", 1);
    setenv("MIMALLOC_PURGE_DELAY", "-1", 1);
  }
  execl(o->self, o->self, "--worker", text[0], text[1], text[2], text[3], text[4], o->mimalloc,
        (char *)NULL);
  _exit(EXIT_CANNOT);
}

static bool run_worker(const options *o, unsigned contestant, unsigned load, unsigned threads,
                       alloc_outcome *r) {
  int pipe_end[2], status = 0;
  if (pipe(pipe_end) != 0)
    return false;
  pid_t child = fork();
  if (child == 0) {
    dup2(pipe_end[1], STDOUT_FILENO);
    close(pipe_end[0]);
    become_worker(o, contestant, load, threads);
  }
  close(pipe_end[1]);
  FILE *in = fdopen(pipe_end[0], "r");
  bool ok =
      in != NULL && child > 0 &&
      fscanf(in, "%lf %lf %lf %lf %lf", &r->ops, &r->live, &r->peak, &r->settled, &r->parked) == 5;
  if (in != NULL)
    fclose(in);
  return child > 0 && waitpid(child, &status, 0) == child && status == 0 && ok;
}

/* What is said of the samples */

typedef struct {
  double ops[MAX_ROUNDS], live[MAX_ROUNDS], peak[MAX_ROUNDS], settled[MAX_ROUNDS],
      parked[MAX_ROUNDS];
} series;

static void print_row(const options *o, unsigned load, const series *s, unsigned who) {
  double ops = sample_median(s[who].ops, o->rounds), own = sample_median(s[PURE].ops, o->rounds);
  double peak = sample_median(s[who].peak, o->rounds);
  printf("  %-14s %12.0f", contestant_name[who], ops);
  if (who == PURE)
    printf("  %8s  %-12s", "", "");
  else if (loads[load].want[who] == 0)
    printf("  %8.2f  %-12s", own / ops, "");
  else
    printf("  %8.2f  %s %-6.2f", own / ops,
           own / ops >= loads[load].want[who] ? "   >=" : "not >=", loads[load].want[who]);
  printf(" %9.1f %9.2f", peak, peak / sample_median(s[who].live, o->rounds));
  if (o->settle)
    printf(" %9.3f %9.1f", sample_median(s[who].settled, o->rounds) / peak,
           sample_median(s[who].parked, o->rounds));
  putchar('\n');
}

static bool measure(const options *o, unsigned load, unsigned threads) {
  static series s[CONTESTANTS];
  alloc_outcome r;
  for (unsigned round = 0; round < o->rounds; round++)
    for (unsigned who = 0; who < CONTESTANTS; who++) {
      if (!run_worker(o, who, load, threads, &r)) {
        fprintf(stderr, "alloc-large: %s could not run\n", contestant_name[who]);
        return false;
      }
      s[who].ops[round] = r.ops;
      s[who].peak[round] = r.peak;
      s[who].settled[round] = r.settled;
      s[who].parked[round] = r.parked;
      s[who].live[round] = r.live;
    }
  printf("%s, %u thread%s\n", loads[load].load.name, threads, threads > 1 ? "s" : "");
  printf("  %-14s %12s  %8s  %-12s  %9s %9s", "", "ops/s", "pure is", "aim", "peak MB", "of live");
  printf(o->settle ? " %9s %9s\n" : "\n", "settled", "parked MB");
  for (unsigned who = 0; who < CONTESTANTS; who++)
    print_row(o, load, s, who);
  fflush(stdout);
  return true;
}

static bool is_wanted(const options *o, const char *name) {
  if (o->only == NULL)
    return true;
  char words[256];
  snprintf(words, sizeof words, "%s", o->only);
  for (char *save, *word = strtok_r(words, ",", &save); word; word = strtok_r(NULL, ",", &save))
    if (strstr(name, word) != NULL)
      return true;
  return false;
}

static bool parse_threads(const char *text, options *o) {
  o->nthreads = 0;
  for (char *end; o->nthreads < MAX_THREADS; text = end + 1) {
    unsigned long n = strtoul(text, &end, 10);
    if (end == text || n == 0 || n > ALLOC_MAX_THREADS)
      return false;
    o->thread[o->nthreads++] = (unsigned)n;
    if (*end == 0)
      return true;
    if (*end != ',')
      return false;
  }
  return false;
}

static bool parse_option(const char *name, const char *value, options *o) {
  if (value == NULL)
    return false;
  if (strcmp(name, "--loads") == 0)
    o->only = value;
  else if (strcmp(name, "--mimalloc") == 0)
    o->mimalloc = value;
  else if (strcmp(name, "--threads") == 0)
    return parse_threads(value, o);
  else if (strcmp(name, "--rounds") == 0)
    return (o->rounds = (unsigned)atoi(value)) >= 1 && o->rounds <= MAX_ROUNDS;
  else if (strcmp(name, "--seconds") == 0)
    return (o->seconds = atof(value)) > 0;
  else
    return false;
  return true;
}

int main(int argc, char **argv) {
  if (argc == 8 && strcmp(argv[1], "--worker") == 0)
    return worker_main(argv);
  options o = {"/proc/self/exe", "libmimalloc.so.2", NULL, 3, 3, {1, 2, 4}, 3, false};
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--help") == 0)
      return fputs(usage, stdout) < 0;
    if (strcmp(argv[i], "--settle") == 0) {
      o.settle = true;
    } else if (parse_option(argv[i], argv[i + 1], &o)) {
      i++;
    } else {
      fprintf(stderr, "alloc-large: bad option or value: %s\n\n%s", argv[i], usage);
      return EXIT_USAGE;
    }
  }
  for (unsigned load = 0; load < LOADS; load++)
    for (unsigned t = 0; is_wanted(&o, loads[load].load.name) && t < o.nthreads; t++)
      if (!measure(&o, load, o.thread[t]))
        return EXIT_CANNOT;
  return 0;
}
