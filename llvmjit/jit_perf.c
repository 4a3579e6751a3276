/* llvmjit/jit_perf.c - telling `perf` where code lies: PURE_JIT_PERF=map,jitdump.
 *
 * map      /tmp/perf-PID.map, where perf looks by itself: a line "ADDRESS SIZE NAME" for each
 *          region, numbers in bare hex.
 * jitdump  jit-PID.dump in the present folder, with the bytes of the code: `perf record -k mono`,
 *          then `perf inject --jit`.  perf learns of the file by a page of it that is mapped
 *          executable (and never written through that mapping).
 *
 * gdb      is told by ORC itself (jit_engine.c).
 *
 * Both files only grow: what was dropped stays listed, and perf goes by time.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "llvmjit/jit_int.h"

#if defined(__x86_64__)
#define ELF_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define ELF_MACHINE EM_AARCH64
#else
#define ELF_MACHINE EM_NONE
#endif

struct jit_perf {
  ls_mem *mem;
  pthread_mutex_t lock;
  FILE *map, *dump;
  void *marker;
  size_t marker_bytes;
  uint64_t codes;
};

typedef struct {
  uint32_t magic, version, size, machine, pad, pid;
  uint64_t time, flags;
} dump_header;

typedef struct {
  uint32_t id, size;
  uint64_t time;
  uint32_t pid, tid;
  uint64_t vma, address, bytes, index;
} dump_load;

static uint64_t perf_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* A file of our own: nobody else's link or file is written to. */
static FILE *create(const char *path) {
  unlink(path);
  int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  return fd < 0 ? NULL : fdopen(fd, "w");
}

static void open_map(jit_perf *p) {
  char path[64];
  snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
  p->map = create(path);
}

static void open_dump(jit_perf *p) {
  char path[64];
  snprintf(path, sizeof path, "jit-%d.dump", (int)getpid());
  p->dump = create(path);
  if (p->dump == NULL)
    return;
  dump_header h = {0x4a695444, 1, sizeof h, ELF_MACHINE, 0, (uint32_t)getpid(), perf_now(), 0};
  fwrite(&h, sizeof h, 1, p->dump);
  fflush(p->dump);
  p->marker_bytes = (size_t)sysconf(_SC_PAGESIZE);
  p->marker = mmap(NULL, p->marker_bytes, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(p->dump), 0);
}

jit_perf *jit_perf_new(ls_mem *mem, unsigned kinds) {
  jit_perf *p = kinds ? ls_mem_zalloc(mem, sizeof *p) : NULL;
  if (p == NULL)
    return NULL;
  p->mem = mem;
  pthread_mutex_init(&p->lock, NULL);
  if (kinds & VM_JIT_PERF_MAP)
    open_map(p);
  if (kinds & VM_JIT_PERF_DUMP)
    open_dump(p);
  return p;
}

void jit_perf_delete(jit_perf *p) {
  if (p == NULL)
    return;
  if (p->marker && p->marker != MAP_FAILED)
    munmap(p->marker, p->marker_bytes);
  if (p->map)
    fclose(p->map);
  if (p->dump)
    fclose(p->dump);
  pthread_mutex_destroy(&p->lock);
  ls_mem_free(p->mem, p, sizeof *p);
}

static void dump_code(jit_perf *p, const char *name, uint64_t address, uint64_t bytes) {
  size_t len = strlen(name) + 1;
  dump_load r = {0,
                 (uint32_t)(sizeof r + len + bytes),
                 perf_now(),
                 (uint32_t)getpid(),
                 (uint32_t)syscall(SYS_gettid),
                 address,
                 address,
                 bytes,
                 p->codes};
  fwrite(&r, sizeof r, 1, p->dump);
  fwrite(name, 1, len, p->dump);
  fwrite((const void *)(uintptr_t)address, 1, bytes, p->dump);
  fflush(p->dump);
}

/* Goes before the record of the code itself. */
static void dump_lines(jit_perf *p, uint64_t address, const char *file, const jit_line *lines,
                       unsigned n) {
  size_t len = strlen(file) + 1;
  struct {
    uint32_t id, size;
    uint64_t time, address, n;
  } r = {2, (uint32_t)(sizeof r + n * (16 + len)), perf_now(), address, n};
  fwrite(&r, sizeof r, 1, p->dump);
  for (unsigned i = 0; i < n; i++) {
    struct {
      uint64_t address;
      uint32_t line, discriminator;
    } entry = {address + lines[i].offset, lines[i].line, 0};
    fwrite(&entry, sizeof entry, 1, p->dump);
    fwrite(file, 1, len, p->dump);
  }
}

void jit_perf_code(jit_perf *p, const char *name, uint64_t address, uint64_t bytes,
                   const char *file, const jit_line *lines, unsigned n) {
  if (p == NULL || bytes == 0)
    return;
  pthread_mutex_lock(&p->lock);
  p->codes++;
  if (p->map) {
    fprintf(p->map, "%llx %llx %s\n", (unsigned long long)address, (unsigned long long)bytes, name);
    fflush(p->map);
  }
  if (p->dump && n)
    dump_lines(p, address, file, lines, n);
  if (p->dump)
    dump_code(p, name, address, bytes);
  pthread_mutex_unlock(&p->lock);
}
