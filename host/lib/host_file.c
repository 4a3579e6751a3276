/* Files that are replaced as a whole.
 *
 * The new contents go to a file without a name in the same folder, which gets one and takes the
 * old one's place (fsync, link, rename, fsync of the folder) only when all of it is on the disk.  A
 * process that is killed meanwhile leaves nothing behind.  File systems that know no such files
 * (and machines without /proc, through which one is named) get a temporary file with a name.
 * Devices and pipes cannot be replaced; they are written in place. */
#include "host/lib/host_int.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAMES = 100 };

static pure_status io_fail(pure_error *e, const char *path, const char *what, int number) {
  char why[128];
  if (strerror_r(number, why, sizeof why) != 0)
    snprintf(why, sizeof why, "error %d", number);
  return host_fail_at(e, PURE_IO, path, 0, 0, "%s: %s", what, why);
}

static void forget(host_file *f) {
  host_free(f->engine, f->path, f->path_bytes);
  host_free(f->engine, f->temporary, f->temporary_bytes);
  f->path = f->temporary = NULL;
  f->fd = -1;
}

static char *join(pure_engine *engine, const char *a, const char *b, size_t *bytes) {
  *bytes = strlen(a) + strlen(b) + 1;
  char *out = host_alloc(engine, *bytes);
  if (out)
    snprintf(out, *bytes, "%s%s", a, b);
  return out;
}

/* A link stays a link: what it leads to is replaced. */
static bool resolve(host_file *f, const char *path) {
  char *real = realpath(path, NULL);
  f->path = join(f->engine, real ? real : path, "", &f->path_bytes);
  free(real);
  return f->path != NULL;
}

/* The i-th name beside the file's own.  false: no memory. */
static bool name_temporary(host_file *f, unsigned i) {
  char suffix[48];
  snprintf(suffix, sizeof suffix, ".new-%ld-%u", (long)getpid(), i);
  host_free(f->engine, f->temporary, f->temporary_bytes);
  f->temporary = join(f->engine, f->path, suffix, &f->temporary_bytes);
  return f->temporary != NULL;
}

static void open_named(host_file *f, mode_t mode) {
  for (unsigned i = 0; i < NAMES; i++) {
    if (!name_temporary(f, i)) {
      errno = 0;
      return;
    }
    f->fd = open(f->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (f->fd >= 0 || errno != EEXIST)
      return;
  }
}

static bool open_unnamed(host_file *f, mode_t mode) {
  char *slash = strrchr(f->path, '/');
  bool inside = slash && slash != f->path;
  if (inside)
    *slash = 0;
  f->fd = host_unnamed_open(inside ? f->path : slash ? "/" : ".", mode);
  if (inside)
    *slash = '/';
  f->unnamed = f->fd >= 0;
  return f->unnamed;
}

static void open_temporary(host_file *f, mode_t mode) {
  if (!open_unnamed(f, mode))
    open_named(f, mode);
}

/* Its own name where that is free, else one beside it.  0, or what is wrong. */
static int link_unnamed(host_file *f) {
  if (host_unnamed_link(f->fd, f->path))
    return 0;
  for (unsigned i = 0; i < NAMES && errno == EEXIST; i++) {
    if (!name_temporary(f, i))
      return ENOMEM;
    if (host_unnamed_link(f->fd, f->temporary))
      return 0;
  }
  int number = errno;
  host_free(f->engine, f->temporary, f->temporary_bytes); /* the name is another's */
  f->temporary = NULL;
  return number;
}

pure_status host_file_open(host_file *f, pure_engine *engine, const char *path, pure_error *e) {
  struct stat old;
  memset(f, 0, sizeof *f);
  f->engine = engine;
  f->name = path;
  f->fd = -1;
  if (!resolve(f, path))
    return host_no_memory(e);
  bool there = stat(f->path, &old) == 0;
  if (there && S_ISDIR(old.st_mode)) {
    forget(f);
    return host_fail_at(e, PURE_IO, path, 0, 0, "is a directory");
  }
  f->direct = there && !S_ISREG(old.st_mode);
  errno = 0;
  if (f->direct) {
    f->fd = open(f->path, O_WRONLY | O_CLOEXEC);
  } else if (!there || access(f->path, W_OK) == 0) {
    open_temporary(f, there ? (old.st_mode & 0777) : 0666);
    /* What the umask took away; where it stays away the file is stricter than it was. */
    if (there && f->fd >= 0)
      (void)!fchmod(f->fd, old.st_mode & 0777);
  }
  if (f->fd >= 0)
    return PURE_OK;
  int number = errno; /* 0: no memory for a name */
  forget(f);
  return number ? io_fail(e, path, "cannot be written", number) : host_no_memory(e);
}

bool host_file_write(host_file *f, const void *bytes, size_t n) {
  const char *p = bytes;
  while (n && !f->error) {
    size_t piece = n < (size_t)1 << 20 ? n : (size_t)1 << 20;
    ssize_t written = write(f->fd, p, piece);
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0) {
      f->error = errno;
      break;
    }
    p += written;
    n -= (size_t)written;
  }
  return f->error == 0;
}

void host_file_abandon(host_file *f) {
  if (f->fd >= 0)
    close(f->fd);
  if (f->temporary)
    unlink(f->temporary);
  forget(f);
}

/* The name of the file is safe only when its folder is.  Some file systems cannot do this; the
 * data are there all the same. */
static void sync_folder(host_file *f) {
  char *slash = strrchr(f->path, '/');
  if (slash)
    slash[slash == f->path] = 0;
  int fd = open(slash ? f->path : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0)
    return;
  (void)fsync(fd);
  close(fd);
}

pure_status host_file_commit(host_file *f, pure_error *e) {
  int number = f->error;
  if (!number && !f->direct && fsync(f->fd) != 0)
    number = errno;
  if (!number && f->unnamed)
    number = link_unnamed(f);
  int closed = close(f->fd);
  f->fd = -1;
  if (!number && closed != 0)
    number = errno;
  if (!number && f->temporary && rename(f->temporary, f->path) != 0)
    number = errno;
  if (number) {
    pure_status status = io_fail(e, f->name, "cannot be written", number);
    host_file_abandon(f);
    return status;
  }
  if (!f->direct)
    sync_folder(f);
  forget(f);
  return PURE_OK;
}

/* Until the end, in an array that doubles; a file may be longer than it says, or a pipe. */
static pure_status read_all(pure_engine *engine, int fd, const char *path, uint8_t **bytes,
                            size_t *length, size_t *capacity, pure_error *e) {
  for (;;) {
    if (*length == *capacity) {
      size_t more = *capacity * 2;
      uint8_t *grown = ls_mem_resize(engine->mem, *bytes, *capacity, more);
      if (!grown)
        return host_no_memory(e);
      *bytes = grown;
      *capacity = more;
    }
    size_t want = *capacity - *length;
    if (want > (size_t)1 << 20)
      want = (size_t)1 << 20;
    ssize_t n = read(fd, *bytes + *length, want);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return io_fail(e, path, "cannot be read", errno);
    if (n == 0)
      return PURE_OK;
    *length += (size_t)n;
  }
}

pure_status host_file_read(pure_engine *engine, const char *path, uint8_t **bytes, size_t *length,
                           size_t *capacity, pure_error *e) {
  *bytes = NULL;
  *length = *capacity = 0;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return io_fail(e, path, "cannot be read", errno);
  struct stat about;
  bool known = fstat(fd, &about) == 0;
  if (known && S_ISDIR(about.st_mode)) {
    close(fd);
    return host_fail_at(e, PURE_IO, path, 0, 0, "is a directory");
  }
  *capacity = known && about.st_size > 0 ? (size_t)about.st_size + 1 : 4096;
  *bytes = ls_mem_alloc(engine->mem, *capacity);
  pure_status status =
      *bytes ? read_all(engine, fd, path, bytes, length, capacity, e) : host_no_memory(e);
  close(fd);
  if (status != PURE_OK) {
    ls_mem_free(engine->mem, *bytes, *capacity);
    *bytes = NULL;
    *length = *capacity = 0;
  }
  return status;
}
