/* Lists from files: reading in large blocks, a progress bar when it takes more than a second. */
#include "run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BLOCK = 1 << 20 };

static int file_fail(const char *path, const char *what, int number, int bad) {
  fprintf(stderr, "%s: %s: %s\n", path, what, strerror(number));
  return bad;
}

/* *fd on a file to read, - being standard input, which can be read only once. */
static int open_file(const char *path, bool *stdin_used, int bad, int *fd) {
  struct stat about;
  *fd = -1;
  if (strcmp(path, "-") == 0) {
    if (*stdin_used)
      return run_usage("standard input can be read only once");
    *stdin_used = true;
    *fd = STDIN_FILENO;
    return RUN_FINE;
  }
  *fd = open(path, O_RDONLY | O_CLOEXEC);
  if (*fd < 0)
    return file_fail(path, "cannot be read", errno, bad);
  if (fstat(*fd, &about) == 0 && S_ISDIR(about.st_mode)) {
    close(*fd);
    *fd = -1;
    fprintf(stderr, "%s: is a directory\n", path);
    return bad;
  }
  return RUN_FINE;
}

static void close_file(int fd) {
  if (fd > STDIN_FILENO)
    close(fd);
}

static ssize_t read_block(int fd, char *out, size_t n) {
  ssize_t got;
  do
    got = read(fd, out, n);
  while (got < 0 && errno == EINTR);
  return got;
}

int run_read_file(const char *path, char **bytes, size_t *length, bool *stdin_used, int bad) {
  int fd, status = open_file(path, stdin_used, bad, &fd);
  *bytes = NULL;
  *length = 0;
  size_t room = 0;
  while (status == RUN_FINE) {
    if (room - *length < BLOCK / 16) {
      room = room * 2 + BLOCK;
      char *grown = realloc(*bytes, room);
      if (!grown) {
        status = file_fail(path, "cannot be read", ENOMEM, bad);
        break;
      }
      *bytes = grown;
    }
    ssize_t n = read_block(fd, *bytes + *length, room - *length);
    if (n < 0)
      status = file_fail(path, "cannot be read", errno, bad);
    if (n <= 0)
      break;
    *length += (size_t)n;
  }
  close_file(fd);
  return status;
}

/* Which format */

static const struct {
  const char *name;
  pure_format format;
} names[] = {
    {"csv", PURE_FORMAT_CSV},           {"tsv", PURE_FORMAT_TSV},
    {"tab", PURE_FORMAT_TSV},           {"edges", PURE_FORMAT_EDGES},
    {"el", PURE_FORMAT_EDGES},          {"edgelist", PURE_FORMAT_EDGES},
    {"e", PURE_FORMAT_EDGES},           {"v", PURE_FORMAT_EDGES},
    {"txt", PURE_FORMAT_EDGES},         {"adj", PURE_FORMAT_ADJACENCY},
    {"adjlist", PURE_FORMAT_ADJACENCY},
};

static bool format_named(const char *name, pure_format *out) {
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    if (strcmp(name, names[i].name) != 0)
      continue;
    *out = names[i].format;
    return true;
  }
  return false;
}

static int format_unknown(const char *path, const char *extension) {
  const char *colon = strrchr(path, ':');
  if (colon && !strchr(colon, '/'))
    return run_usage("unknown format %s; there are csv, tsv, edges and adj", colon + 1);
  static const char *const packed[] = {"gz", "xz", "zst", "bz2", NULL};
  for (size_t i = 0; extension && packed[i]; i++)
    if (strcmp(extension, packed[i]) == 0)
      return run_usage("%s is compressed; unpack it into a pipe and --load LIST=-:csv", path);
  return run_usage("%s: which format? say LIST=%s:csv, :tsv, :edges or :adj", path, path);
}

/* path may end in :FORMAT, which is cut off; else its extension says. */
static int find_format(char *path, pure_format *out) {
  char *colon = strrchr(path, ':');
  if (colon && format_named(colon + 1, out)) {
    *colon = 0;
    return RUN_FINE;
  }
  const char *slash = strrchr(path, '/');
  const char *dot = strrchr(slash ? slash : path, '.');
  if (dot && format_named(dot + 1, out))
    return RUN_FINE;
  if (strcmp(path, "-") == 0)
    return run_usage("standard input: which format? say LIST=-:csv");
  return format_unknown(path, dot ? dot + 1 : NULL);
}

static int no_such_list(const run *r, const char *given) {
  const char *words[64] = {0};
  pure_list_info info;
  for (uint32_t i = 0; i < 63 && pure_program_list(r->program, i, &info) == PURE_OK; i++)
    words[i] = info.name;
  if (!words[0])
    return run_usage("--load %s: the program has no lists", given);
  const char *near = run_suggest(given, words);
  if (near)
    return run_usage("--load: there is no list %s; did you mean %s?", given, near);
  char names[200] = "";
  for (size_t i = 0, n = 0; words[i] && n < sizeof names; i++)
    n += (size_t)snprintf(names + n, sizeof names - n, "%s%s", i ? ", " : "", words[i]);
  return run_usage("--load: there is no list %s; the program has %s", given, names);
}

int run_source_read(const run *r, const char *given, run_source *out) {
  memset(out, 0, sizeof *out);
  const char *equal = strchr(given, '=');
  if (!equal) {
    out->path = run_copy(given, strlen(given));
    return RUN_FINE;
  }
  uint32_t list;
  out->list = run_copy(given, (size_t)(equal - given));
  if (pure_program_find_list(r->program, out->list, &list) != PURE_OK)
    return no_such_list(r, out->list);
  if (!equal[1])
    return run_usage("--load %s: a file is expected after =", given);
  out->path = run_copy(equal + 1, strlen(equal + 1));
  return find_format(out->path, &out->format);
}

void run_source_free(run_source *s) {
  free(s->list);
  free(s->path);
}

/* Progress */

typedef struct {
  const char *path;
  double start, shown;
  uint64_t done, size; /* bytes; size 0: unknown */
  bool terminal;
} progress;

static void progress_start(progress *p, const char *path, int fd) {
  struct stat about;
  memset(p, 0, sizeof *p);
  p->path = path;
  p->start = p->shown = run_clock();
  p->terminal = isatty(STDERR_FILENO);
  if (fstat(fd, &about) == 0 && S_ISREG(about.st_mode))
    p->size = (uint64_t)about.st_size;
}

static void progress_step(progress *p, size_t n) {
  static const char bar[] = "##############################";
  p->done += n;
  if (!p->terminal)
    return;
  double now = run_clock();
  if (now - p->start < 1 || now - p->shown < 0.1)
    return;
  p->shown = now;
  double speed = (double)p->done / (now - p->start) / 1e6;
  if (p->size) {
    double part = p->done < p->size ? (double)p->done / (double)p->size : 1;
    int full = (int)(part * (double)(sizeof bar - 1));
    fprintf(stderr, "\r%s [%-30.*s] %3.0f %% %4.0f MB/s\033[K", p->path, full, bar, part * 100,
            speed);
  } else {
    fprintf(stderr, "\r%s %.0f MB %4.0f MB/s\033[K", p->path, (double)p->done / 1e6, speed);
  }
}

static void progress_end(const progress *p) {
  if (p->shown > p->start)
    fputs("\r\033[K", stderr);
}

/* Loading */

static int feed(pure_import *import, int fd, progress *p, const char *path) {
  pure_error e;
  int status = RUN_FINE;
  char *block = run_alloc(BLOCK);
  for (;;) {
    ssize_t n = read_block(fd, block, BLOCK);
    if (n < 0)
      status = file_fail(path, "cannot be read", errno, RUN_BAD_DATA);
    if (n <= 0)
      break;
    if (pure_import_feed(import, block, (size_t)n, &e) != PURE_OK) {
      progress_end(p);
      status = run_complain(&e);
      break;
    }
    progress_step(p, (size_t)n);
  }
  free(block);
  return status;
}

static int load_list(run *r, const run_source *s, run_loaded *loaded) {
  pure_import *import;
  pure_error e;
  progress p;
  int fd, status = open_file(s->path, &r->stdin_used, RUN_BAD_DATA, &fd);
  if (status != RUN_FINE)
    return status;
  pure_import_options options = {.size = sizeof options,
                                 .name = strcmp(s->path, "-") == 0 ? "<stdin>" : s->path,
                                 .format = s->format,
                                 .duplicates = r->o.duplicates};
  bool headed = s->format == PURE_FORMAT_CSV || s->format == PURE_FORMAT_TSV;
  if (headed)
    options.header = r->o.header;
  if (pure_import_new(r->store, s->list, &options, &import, &e) != PURE_OK) {
    close_file(fd);
    return run_complain(&e);
  }
  progress_start(&p, options.name, fd);
  status = feed(import, fd, &p, options.name);
  if (status == RUN_FINE && pure_import_finish(import, &e) != PURE_OK) {
    progress_end(&p);
    status = run_complain(&e);
  } else {
    progress_end(&p);
  }
  loaded->rows = pure_import_rows(import);
  loaded->bytes = p.done;
  pure_import_release(import);
  close_file(fd);
  return status;
}

static int load_snapshot(run *r, const run_source *s, run_loaded *loaded) {
  char *bytes;
  size_t length;
  pure_error e;
  int status = run_read_file(s->path, &bytes, &length, &r->stdin_used, RUN_BAD_DATA);
  if (status == RUN_FINE && !pure_store_is_snapshot(bytes, length)) {
    fprintf(stderr, "%s: is no snapshot file; to fill a list say --load LIST=%s\n", s->path,
            s->path);
    status = RUN_BAD_DATA;
  }
  if (status == RUN_FINE && pure_store_load_bytes(r->store, s->path, bytes, length, &e) != PURE_OK)
    status = run_complain(&e);
  loaded->bytes = length;
  free(bytes);
  return status;
}

int run_load(run *r, const run_source *s) {
  run_loaded loaded = {0};
  double start = run_clock();
  int status = s->list ? load_list(r, s, &loaded) : load_snapshot(r, s, &loaded);
  if (status != RUN_FINE)
    return status;
  loaded.seconds = run_clock() - start;
  loaded.path = run_copy(s->path, strlen(s->path));
  pure_list_info info;
  uint32_t list;
  if (s->list && pure_program_find_list(r->program, s->list, &list) == PURE_OK &&
      pure_program_list(r->program, list, &info) == PURE_OK)
    loaded.list = info.name;
  r->loaded = realloc(r->loaded, (r->nloaded + 2) * sizeof *r->loaded);
  if (!r->loaded) {
    fputs("pure-run: out of memory\n", stderr);
    exit(RUN_BAD_DATA);
  }
  r->loaded[r->nloaded++] = loaded;
  return RUN_FINE;
}
