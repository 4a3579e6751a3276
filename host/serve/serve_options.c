/* The command line.  Options may stand anywhere before a lone --. */
#define _DEFAULT_SOURCE
#include "serve.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef enum { FLAG, TEXT, TEXTS, COUNT, BYTES, MILLISECONDS, WORK, JIT, DUMP, LISTEN, LOG } kind;

typedef struct {
  const char *name;
  kind kind;
  size_t offset; /* of the field in serve_options */
} option;

#define AT(field) offsetof(serve_options, field)
static const option table[] = {
    {"--listen", LISTEN, 0},
    {"--token-file", TEXT, AT(token_file)},
    {"--load", TEXTS, AT(loads)},
    {"--extern", TEXTS, AT(externs)},
    {"--store", TEXT, AT(store)},
    {"--verify", TEXT, AT(verify)},
    {"--adopt", FLAG, AT(adopt)},
    {"--checkpoint-events", WORK, AT(checkpoint_events)},
    {"--checkpoint-bytes", BYTES, AT(checkpoint_bytes)},
    {"--jit", JIT, 0},
    {"--dump", DUMP, 0},
    {"--limit-work", WORK, AT(limits.work)},
    {"--limit-memory", BYTES, AT(limits.memory)},
    {"--limit-depth", COUNT, AT(limits.depth)},
    {"--limit-time", MILLISECONDS, AT(limits.milliseconds)},
    {"--max-memory", BYTES, AT(max_memory)},
    {"--max-body", BYTES, AT(max_body)},
    {"--max-load", BYTES, AT(max_load)},
    {"--max-answer", BYTES, AT(max_answer)},
    {"--threads", COUNT, AT(threads)},
    {"--queue", COUNT, AT(queue)},
    {"--connections", COUNT, AT(connections)},
    {"--request-time", MILLISECONDS, AT(request_ms)},
    {"--answer-time", MILLISECONDS, AT(answer_ms)},
    {"--exit-after", COUNT, AT(exit_after)},
    {"--log", LOG, 0},
    {"--version", FLAG, AT(version)},
    {"--help", FLAG, AT(help)},
    {"-h", FLAG, AT(help)},
};
enum { NOPTIONS = sizeof table / sizeof table[0] };

static const char help[] =
    "usage: pure-serve PROGRAM [OPTION]...\n"
    "       pure-serve --verify DIR\n"
    "Serves the queries and events of a Pure program over HTTP.\n"
    "  --listen ADDRESS:PORT    (127.0.0.1:8080; port 0: a free one, which is printed)\n"
    "  --token-file FILE        demand the token in it; a must where others can reach us\n"
    "  --load LIST=FILE         fill a list from csv, tsv or edges; --load SNAPSHOT: all\n"
    "  --store DIR              keep what events do in DIR (else in memory alone)\n"
    "  --adopt                  let this program take over the store of another one\n"
    "  --checkpoint-events N, --checkpoint-bytes BYTES   of log, between two checkpoints\n"
    "  --verify DIR             check a store: checksums, replay, digests\n"
    "  --extern LIB.so          bind extern fns to the C functions of a library\n"
    "  --jit auto|0|1|2|3       highest tier to compile for (PURE_JIT)\n"
    "  --dump ir|llvm|asm       show what is compiled, on standard error\n"
    "  --limit-work N, --limit-memory BYTES, --limit-depth N, --limit-time MS   of a call\n"
    "  --max-memory BYTES       of all lists and calls together\n"
    "  --max-body, --max-load, --max-answer BYTES   of a call, of rows, of an event's answer\n"
    "  --threads N              that run queries (one for each processor)\n"
    "  --queue N                events, and queries, that may wait (1024); then 503\n"
    "  --connections N          open at once (4096)\n"
    "  --request-time MS, --answer-time MS   to bring a request, to take an answer\n"
    "  --log off|errors|requests   which answers get a line on standard error (errors)\n"
    "  --exit-after SECONDS     stop by itself\n"
    "BYTES may end in K, M or G.  docs/serving.md has the rest.\n";

void serve_print_help(void) { fputs(help, stdout); }

int serve_usage(const char *form, ...) {
  va_list values;
  va_start(values, form);
  fputs("pure-serve: ", stderr);
  vfprintf(stderr, form, values);
  fputs("\npure-serve --help tells more.\n", stderr);
  va_end(values);
  return SERVE_USAGE;
}

static int read_number(const char *name, const char *value, kind kind, uint64_t *out) {
  static const char suffixes[] = "KMG";
  uint64_t most = kind == COUNT || kind == MILLISECONDS ? INT32_MAX : INT64_MAX;
  char *end;
  errno = 0;
  unsigned long long v = strtoull(value, &end, 10);
  unsigned shift = 0;
  if (kind == BYTES && *end && strchr(suffixes, *end)) {
    shift = (unsigned)(strchr(suffixes, *end) - suffixes + 1) * 10;
    end++;
  }
  if (value[0] < '0' || value[0] > '9' || *end || v == 0)
    return serve_usage("%s %s: expected a number from 1 on", name, value);
  if (errno || v > most >> shift)
    return serve_usage("%s %s: too large", name, value);
  *out = (uint64_t)v << shift;
  return SERVE_FINE;
}

static int choose(const char *name, const char *value, const char *const *words, int *out) {
  char all[80] = "";
  for (int i = 0; words[i]; i++) {
    if (strcmp(value, words[i]) == 0) {
      *out = i;
      return SERVE_FINE;
    }
    size_t used = strlen(all);
    snprintf(all + used, sizeof all - used, "%s%s", i ? ", " : "", words[i]);
  }
  return serve_usage("%s %s: expected one of %s", name, value, all);
}

static int set_jit(serve_options *o, const char *name, const char *value) {
  static const char *const words[] = {"auto", "0", "1", "2", "3", NULL};
  int which = 0, status = choose(name, value, words, &which);
  o->jit = (pure_jit)which;
  return status;
}

static int set_dump(serve_options *o, const char *value) {
  static const char *const words[] = {"ir", "llvm", "asm", NULL};
  static const uint32_t bits[] = {PURE_DUMP_IR, PURE_DUMP_LLVM, PURE_DUMP_ASM};
  int which = 0, status = choose("--dump", value, words, &which);
  o->dump |= bits[which];
  return status;
}

static int set_log(serve_options *o, const char *value) {
  static const char *const words[] = {"off", "errors", "requests", NULL};
  int which = 0, status = choose("--log", value, words, &which);
  o->log = (serve_log_level)which;
  return status;
}

/* ADDRESS:PORT, [ADDRESS]:PORT; the address is cut out of the argument in place. */
static int set_listen(serve_options *o, char *value) {
  char *colon = strrchr(value, ':'), *end;
  unsigned long port = colon ? strtoul(colon + 1, &end, 10) : 0;
  if (!colon || colon == value || colon[1] < '0' || colon[1] > '9' || *end || port > 65535)
    return serve_usage("--listen %s: expected ADDRESS:PORT", value);
  *colon = 0;
  if (value[0] == '[' && colon[-1] == ']') {
    colon[-1] = 0;
    value++;
  }
  o->address = value;
  o->port = (uint16_t)port;
  return SERVE_FINE;
}

static int set_option(serve_options *o, const option *p, char *value) {
  char *field = (char *)o + p->offset;
  uint64_t n = 0;
  int status;
  switch (p->kind) {
  case FLAG:
    *(bool *)field = true;
    return SERVE_FINE;
  case TEXT:
    *(const char **)field = value;
    return SERVE_FINE;
  case TEXTS: {
    bool load = p->offset == AT(loads);
    size_t *count = load ? &o->nloads : &o->nexterns;
    (load ? o->loads : o->externs)[(*count)++] = value;
    return SERVE_FINE;
  }
  case JIT:
    return set_jit(o, p->name, value);
  case DUMP:
    return set_dump(o, value);
  case LISTEN:
    return set_listen(o, value);
  case LOG:
    return set_log(o, value);
  case COUNT:
  case MILLISECONDS:
    status = read_number(p->name, value, p->kind, &n);
    *(uint32_t *)field = (uint32_t)n;
    return status;
  case BYTES:
  case WORK:
    return read_number(p->name, value, p->kind, (uint64_t *)field);
  }
  return SERVE_FINE;
}

static int read_option(serve_options *o, int argc, char **argv, int *at) {
  char *word = argv[*at];
  size_t length = strcspn(word, "=");
  for (size_t i = 0; i < NOPTIONS; i++) {
    if (strlen(table[i].name) != length || memcmp(table[i].name, word, length) != 0)
      continue;
    char *value = word[length] ? word + length + 1 : NULL;
    if (table[i].kind == FLAG && value)
      return serve_usage("%s takes no value", table[i].name);
    if (table[i].kind != FLAG && !value) {
      if (*at + 1 == argc)
        return serve_usage("%s needs a value", table[i].name);
      value = argv[++*at];
    }
    return set_option(o, &table[i], value);
  }
  return serve_usage("unknown option %s", word);
}

/* Four fifths of the machine's memory: one that has run out of it is of no use. */
static uint64_t usual_memory(void) {
  long pages = sysconf(_SC_PHYS_PAGES), bytes = sysconf(_SC_PAGESIZE);
  return pages > 0 && bytes > 0 ? (uint64_t)pages * (uint64_t)bytes / 5 * 4 : 0;
}

static int set_defaults(serve_options *o, int argc) {
  size_t most = (size_t)argc + 1;
  long processors = sysconf(_SC_NPROCESSORS_ONLN);
  memset(o, 0, sizeof *o);
  o->address = "127.0.0.1";
  o->port = 8080;
  o->threads = processors > 1 ? (uint32_t)processors : 1;
  o->queue = 1024;
  o->connections = 4096;
  o->request_ms = 30000;
  o->answer_ms = 300000;
  o->max_body = UINT64_C(1) << 20;
  o->max_load = o->max_answer = UINT64_C(64) << 20;
  o->max_memory = o->limits.memory = usual_memory();
  o->limits.milliseconds = 60000;
  o->limits.work = 20000000000;
  o->checkpoint_events = 1000000;
  o->checkpoint_bytes = UINT64_C(256) << 20;
  o->log = SERVE_LOG_ERRORS;
  o->loads = calloc(most, sizeof *o->loads);
  o->externs = calloc(most, sizeof *o->externs);
  const char *jit = getenv("PURE_JIT"), *watch = getenv("PURE_JIT_STATS");
  o->jit_log = watch && strcmp(watch, "1") == 0;
  if (!o->loads || !o->externs)
    return serve_usage("out of memory");
  return jit && *jit ? set_jit(o, "PURE_JIT", jit) : SERVE_FINE;
}

int serve_options_read(serve_options *o, int argc, char **argv) {
  int status = set_defaults(o, argc);
  bool options = true;
  for (int i = 1; i < argc && status == SERVE_FINE; i++) {
    if (options && strcmp(argv[i], "--") == 0)
      options = false;
    else if (options && argv[i][0] == '-')
      status = read_option(o, argc, argv, &i);
    else if (!o->program)
      o->program = argv[i];
    else
      status = serve_usage("one program is expected, not %s too", argv[i]);
  }
  if (status != SERVE_FINE || o->help || o->version)
    return status;
  if (!o->program && !o->verify)
    return serve_usage("a program is expected");
  return SERVE_FINE;
}

void serve_options_free(serve_options *o) {
  free(o->loads);
  free(o->externs);
}
