/* Files that have no name until they are whole.  By itself because O_TMPFILE wants _GNU_SOURCE,
 * which changes what other functions mean. */
#define _GNU_SOURCE
#include "host/lib/host_int.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

enum { FD_NAME = 40 };

/* Where it can be seen, to be linked. */
static void name_of_fd(int fd, char out[FD_NAME]) {
  snprintf(out, FD_NAME, "/proc/self/fd/%d", fd);
}

int host_unnamed_open(const char *folder, unsigned mode) {
#ifdef O_TMPFILE
  char seen[FD_NAME];
  int fd = open(folder, O_WRONLY | O_TMPFILE | O_CLOEXEC, (mode_t)mode);
  if (fd < 0)
    return -1;
  name_of_fd(fd, seen);
  if (access(seen, F_OK) == 0)
    return fd;
  close(fd);
#else
  (void)folder, (void)mode;
#endif
  return -1;
}

bool host_unnamed_link(int fd, const char *path) {
  char seen[FD_NAME];
  name_of_fd(fd, seen);
  return linkat(AT_FDCWD, seen, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0;
}
