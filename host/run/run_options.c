/* The command line.  Options may stand anywhere before a lone --. */
#include "run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef enum {
  OPT_LOAD,
  OPT_EXTERN,
  OPT_SAVE,
  OPT_STORE,
  OPT_HEADER,
  OPT_ON_DUPLICATE,
  OPT_FORMAT,
  OPT_REPEAT,
  OPT_STATS,
  OPT_WORK,
  OPT_COUNTERS,
  OPT_LIMIT_WORK,
  OPT_LIMIT_MEMORY,
  OPT_LIMIT_DEPTH,
  OPT_LIMIT_TIME,
  OPT_JIT,
  OPT_SHELL,
  OPT_CHECK,
  OPT_DISASM,
  OPT_DUMP,
  OPT_COMPILE,
  OPT_VERSION,
  OPT_HELP,
  OPT_NONE
} option;

static const struct {
  const char *name;
  option id;
  bool value;
} table[] = {
    {"--load", OPT_LOAD, true},
    {"--extern", OPT_EXTERN, true},
    {"--save", OPT_SAVE, true},
    {"--store", OPT_STORE, true},
    {"--header", OPT_HEADER, true},
    {"--on-duplicate", OPT_ON_DUPLICATE, true},
    {"--format", OPT_FORMAT, true},
    {"--repeat", OPT_REPEAT, true},
    {"--stats", OPT_STATS, false},
    {"--work", OPT_WORK, false},
    {"--counters", OPT_COUNTERS, false},
    {"--limit-work", OPT_LIMIT_WORK, true},
    {"--limit-memory", OPT_LIMIT_MEMORY, true},
    {"--limit-depth", OPT_LIMIT_DEPTH, true},
    {"--limit-time", OPT_LIMIT_TIME, true},
    {"--jit", OPT_JIT, true},
    {"-i", OPT_SHELL, false},
    {"--check", OPT_CHECK, false},
    {"--disasm", OPT_DISASM, false},
    {"--dump", OPT_DUMP, true},
    {"--compile", OPT_COMPILE, true},
    {"--version", OPT_VERSION, false},
    {"--help", OPT_HELP, false},
    {"-h", OPT_HELP, false},
};
enum { NOPTIONS = sizeof table / sizeof table[0] };

static const char help[] =
    "usage: pure-run PROGRAM [OPTION]... [QUERY [ARG]... [+ QUERY [ARG]...]...]\n"
    "Runs queries and events of a Pure program over data from files.\n"
    "PROGRAM is source text or a compiled module; - is standard input.\n"
    "  --load LIST=FILE[:FORMAT]  fill a list from csv, tsv, edges or adj; - is stdin\n"
    "  --load SNAPSHOT            set all lists from a file that --save wrote\n"
    "  --save FILE                write all lists to a file, after the calls\n"
    "  --store DIR                read what pure-serve keeps there; for queries\n"
    "  --extern LIB.so            bind extern fns to the C functions of a library\n"
    "  --header yes|no|auto       has CSV or TSV a line of column names? (auto)\n"
    "  --on-duplicate error|first|last  which of the rows with one key stays (error)\n"
    "  --format table|csv|tsv|json  of answers (table on a terminal, else csv)\n"
    "  --repeat N                 call N times, tell min, median and max time\n"
    "  --stats, --work, --counters  tell times, memory, loops; work; cycles, misses\n"
    "  --limit-work N, --limit-depth N, --limit-time MS   limits of each call\n"
    "  --limit-memory BYTES[K|M|G]|none  likewise (four fifths of the machine's)\n"
    "  --jit auto|0|1|2|3         highest tier to compile for (PURE_JIT)\n"
    "  -i                         a shell: calls line by line; .help tells more\n"
    "  --check, --disasm          compile only; show the bytecode, of QUERY or of all\n"
    "  --dump bytecode|ir|llvm|asm  show one form of the program\n"
    "  --compile FILE             write the compiled module\n"
    "  --version, --help, --      version; this text; end of options\n"
    "Exit status: 0 fine, 1 fault, 2 usage, 3 bad program, 4 bad data or file.\n";

void run_print_help(void) { fputs(help, stdout); }

static size_t common_distance(const char *x, const char *y) {
  /* Letters that differ, after the common start and before the common end. */
  size_t nx = strlen(x), ny = strlen(y), start = 0, end = 0;
  while (start < nx && start < ny && x[start] == y[start])
    start++;
  while (end < nx - start && end < ny - start && x[nx - 1 - end] == y[ny - 1 - end])
    end++;
  size_t rest = nx > ny ? nx : ny;
  return rest - start - end;
}

const char *run_suggest(const char *word, const char *const *words) {
  const char *best = NULL;
  size_t limit = strlen(word) / 3; /* others are not alike */
  for (; *words; words++) {
    size_t d = common_distance(word, *words);
    if (d > limit || (best && d == limit))
      continue;
    best = *words;
    limit = d;
  }
  return best;
}

static int unknown_option(const char *word, size_t length) {
  const char *names[NOPTIONS + 1] = {0};
  char *name = run_copy(word, length);
  for (size_t i = 0; i < NOPTIONS; i++)
    names[i] = table[i].name;
  const char *near = run_suggest(name, names);
  int status = near ? run_usage("unknown option %s; did you mean %s?", name, near)
                    : run_usage("unknown option %s", name);
  free(name);
  return status;
}

/* The number of the word in `words` (0-terminated), or a complaint. */
static int choose(const char *name, const char *value, const char *const *words, int *out) {
  char list[80] = "";
  for (int i = 0; words[i]; i++) {
    if (strcmp(value, words[i]) == 0) {
      *out = i;
      return RUN_FINE;
    }
    size_t used = strlen(list);
    snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", words[i]);
  }
  return run_usage("%s %s: expected one of %s", name, value, list);
}

static int number(const char *name, const char *value, bool suffix, uint64_t most, uint64_t *out) {
  static const char suffixes[] = "KMG";
  char *end;
  errno = 0;
  unsigned long long v = strtoull(value, &end, 10);
  unsigned shift = 0;
  if (suffix && *end && strchr(suffixes, *end)) {
    shift = (unsigned)(strchr(suffixes, *end) - suffixes + 1) * 10;
    end++;
  }
  bool digits = value[0] >= '0' && value[0] <= '9' && *end == 0;
  if (!digits || v == 0)
    return run_usage("%s %s: expected a number from 1 on%s", name, value,
                     suffix ? ", which may end in K, M or G, or none" : "");
  if (errno || v > most >> shift)
    return run_usage("%s %s: too large", name, value);
  *out = (uint64_t)v << shift;
  return RUN_FINE;
}

static int set_jit(run_options *o, const char *name, const char *value) {
  static const char *const words[] = {"auto", "0", "1", "2", "3", NULL};
  int which = 0, status = choose(name, value, words, &which);
  o->jit = (pure_jit)which;
  return status;
}

static int set_dump(run_options *o, const char *value) {
  static const char *const words[] = {"bytecode", "ir", "llvm", "asm", NULL};
  int which = 0, status = choose("--dump", value, words, &which);
  if (status == RUN_FINE && which > 0)
    o->dump |= 1u << (which - 1);
  else
    o->disasm = true;
  return status;
}

static int set_format(run_options *o, const char *value) {
  static const char *const words[] = {"table", "csv", "tsv", "json", NULL};
  int which = 0, status = choose("--format", value, words, &which);
  o->format = (run_format)(which + 1);
  return status;
}

static int set_header(run_options *o, const char *value) {
  static const char *const words[] = {"auto", "yes", "no", NULL};
  int which = 0, status = choose("--header", value, words, &which);
  o->header = (pure_header)which;
  return status;
}

static int set_duplicates(run_options *o, const char *value) {
  static const char *const words[] = {"error", "first", "last", NULL};
  int which = 0, status = choose("--on-duplicate", value, words, &which);
  o->duplicates = (pure_duplicates)which;
  return status;
}

static int set_repeat(run_options *o, const char *value) {
  uint64_t n = 0;
  int status = number("--repeat", value, false, 1000000, &n);
  o->repeat = (uint32_t)n;
  return status;
}

/* What a program may take unless the user says otherwise: a machine that has run out of memory is
 * of no use to anybody.  0: unknown. */
static uint64_t usual_memory(void) {
  long pages = sysconf(_SC_PHYS_PAGES), bytes = sysconf(_SC_PAGESIZE);
  return pages > 0 && bytes > 0 ? (uint64_t)pages * (uint64_t)bytes / 5 * 4 : 0;
}

static int set_memory(run_options *o, const char *value) {
  if (strcmp(value, "none") != 0)
    return number("--limit-memory", value, true, INT64_MAX, &o->limits.memory);
  o->limits.memory = o->max_memory = 0;
  return RUN_FINE;
}

static int number32(const char *name, const char *value, uint32_t *out) {
  uint64_t n = 0;
  int status = number(name, value, false, UINT32_MAX, &n);
  *out = (uint32_t)n;
  return status;
}

static int set_option(run_options *o, option id, const char *value) {
  switch (id) {
  case OPT_LOAD:
    o->loads[o->nloads++] = value;
    break;
  case OPT_EXTERN:
    o->externs[o->nexterns++] = value;
    break;
  case OPT_SAVE:
    o->save = value;
    break;
  case OPT_STORE:
    o->store = value;
    break;
  case OPT_HEADER:
    return set_header(o, value);
  case OPT_ON_DUPLICATE:
    return set_duplicates(o, value);
  case OPT_FORMAT:
    return set_format(o, value);
  case OPT_REPEAT:
    return set_repeat(o, value);
  case OPT_STATS:
    o->stats = true;
    break;
  case OPT_WORK:
    o->work = true;
    break;
  case OPT_COUNTERS:
    o->counters = true;
    break;
  case OPT_LIMIT_WORK:
    return number("--limit-work", value, false, UINT64_MAX, &o->limits.work);
  case OPT_LIMIT_MEMORY:
    return set_memory(o, value);
  case OPT_LIMIT_DEPTH:
    return number32("--limit-depth", value, &o->limits.depth);
  case OPT_LIMIT_TIME:
    return number32("--limit-time", value, &o->limits.milliseconds);
  case OPT_JIT:
    return set_jit(o, "--jit", value);
  case OPT_SHELL:
    o->shell = true;
    break;
  case OPT_CHECK:
    o->check = true;
    break;
  case OPT_DISASM:
    o->disasm = true;
    break;
  case OPT_DUMP:
    return set_dump(o, value);
  case OPT_COMPILE:
    o->compile = value;
    break;
  case OPT_VERSION:
    o->version = true;
    break;
  case OPT_HELP:
    o->help = true;
    break;
  case OPT_NONE:
    break;
  }
  return RUN_FINE;
}

/* argv[*at] is an option; steps over its value too. */
static int read_option(run_options *o, int argc, char **argv, int *at) {
  const char *word = argv[*at];
  size_t length = strcspn(word, "=");
  for (size_t i = 0; i < NOPTIONS; i++) {
    if (strlen(table[i].name) != length || memcmp(table[i].name, word, length) != 0)
      continue;
    const char *value = word[length] ? word + length + 1 : NULL;
    if (!table[i].value && value)
      return run_usage("%s takes no value", table[i].name);
    if (table[i].value && !value) {
      if (*at + 1 == argc)
        return run_usage("%s needs a value", table[i].name);
      value = argv[++*at];
    }
    return set_option(o, table[i].id, value);
  }
  return unknown_option(word, length);
}

/* -5 and -.5 are arguments; so is a lone -. */
static bool is_option(const char *word) {
  return word[0] == '-' && word[1] && !(word[1] >= '0' && word[1] <= '9') && word[1] != '.';
}

/* Cuts the words at each +; \+ is an argument that is a plus sign. */
static int cut_calls(run_options *o) {
  size_t from = 0;
  for (size_t i = 0; i <= o->nwords; i++) {
    if (i < o->nwords && strcmp(o->words[i], "+") != 0)
      continue;
    if (i == from && o->nwords)
      return run_usage("a query or event is expected on both sides of +");
    if (i > from)
      o->calls[o->ncalls++] = (run_words){&o->words[from], (uint32_t)(i - from)};
    from = i + 1;
  }
  for (size_t i = 0; i < o->nwords; i++)
    if (strcmp(o->words[i], "\\+") == 0)
      o->words[i]++;
  return RUN_FINE;
}

static int read_environment(run_options *o) {
  const char *jit = getenv("PURE_JIT");
  int status = jit && *jit ? set_jit(o, "PURE_JIT", jit) : RUN_FINE;
  return status == RUN_FINE ? run_jit_environment(o) : status;
}

int run_options_read(run_options *o, int argc, char **argv) {
  size_t most = (size_t)argc + 1;
  memset(o, 0, sizeof *o);
  o->words = run_alloc(most * sizeof *o->words);
  o->loads = run_alloc(most * sizeof *o->loads);
  o->externs = run_alloc(most * sizeof *o->externs);
  o->calls = run_alloc(most * sizeof *o->calls);
  o->limits.memory = o->max_memory = usual_memory();
  bool options = true;
  int status = read_environment(o);
  for (int i = 1; i < argc && status == RUN_FINE; i++) {
    if (options && strcmp(argv[i], "--") == 0)
      options = false;
    else if (options && is_option(argv[i]))
      status = read_option(o, argc, argv, &i);
    else if (!o->program)
      o->program = argv[i];
    else
      o->words[o->nwords++] = argv[i];
  }
  if (status != RUN_FINE)
    return status;
  if (o->help || o->version)
    return RUN_FINE;
  if (!o->program)
    return run_usage("a program is expected");
  return cut_calls(o);
}

void run_options_free(run_options *o) {
  free(o->words);
  free(o->loads);
  free(o->externs);
  free(o->calls);
}
