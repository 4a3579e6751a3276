/* vm/vm_tier_cache.c - compiled objects kept between processes.
 *
 * A file an object, named by a hash of all that it depends on: the module, the entry, the level,
 * what is assumed of lists, the layout of frames and contexts, the plug-in's file, the processor.
 * An object that is found is loaded without LLVM (vm_tier_load.c), so a process that finds all it
 * needs never loads the plug-in.
 *
 *   head       cache_head, with a hash of everything behind it
 *   exits      cache_exit for each, its slots as 16-bit numbers behind them all
 *   object     from a multiple of 8 on
 *
 * Files are made under another name and renamed, so that other processes see them whole or not at
 * all.  Whatever is not exactly as expected is as if it were not there.  Code is run only from
 * files of this user, in a folder of this user, that nobody else may write.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#if defined(__x86_64__)
#include <cpuid.h>
#else
#include <sys/auxv.h>
#endif

#include "vm/vm_tier_int.h"

#define CACHE_MAGIC UINT64_C(0x31656863614a5550) /* "PUJache1" */
#define CACHE_BYTES (UINT64_C(64) << 20)         /* kept at most; the oldest go first */
#define CACHE_FILE_BYTES (UINT64_C(8) << 20)
#define PRUNE_EVERY 32u /* files made by this process */

typedef struct {
  uint64_t magic, hash;
  vm_cache_key key;
  uint32_t nexits, nslots;
  uint64_t object_bytes;
} cache_head;

typedef struct {
  uint32_t pc, nslots, reason;
} cache_exit;

/* ---- keys */

static void feed(XXH3_state_t *h, const void *bytes, size_t n) { XXH3_128bits_update(h, bytes, n); }
static void feed64(XXH3_state_t *h, uint64_t n) { feed(h, &n, sizeof n); }

/* All that decides which instructions there are. */
static void feed_processor(XXH3_state_t *h) {
#if defined(__x86_64__)
  static const unsigned leaf[][2] = {{0, 0}, {1, 0}, {7, 0}, {7, 1}};
  for (size_t i = 0; i < sizeof leaf / sizeof *leaf; i++) {
    unsigned r[4] = {0};
    __cpuid_count(leaf[i][0], leaf[i][1], r[0], r[1], r[2], r[3]);
    if (leaf[i][0] == 1)
      r[1] = 0; /* has the number of the processor that asks */
    feed(h, r, sizeof r);
  }
#else
  feed64(h, getauxval(AT_HWCAP));
  feed64(h, getauxval(AT_HWCAP2));
#endif
}

static void feed_plugin(XXH3_state_t *h, const char *path) {
  struct stat s;
  memset(&s, 0, sizeof s);
  if (stat(path, &s) != 0)
    return;
  feed64(h, (uint64_t)s.st_size);
  feed64(h, (uint64_t)s.st_mtim.tv_sec);
  feed64(h, (uint64_t)s.st_mtim.tv_nsec);
}

/* What is the same for all of a tier's keys. */
static void hash_place(vm_tier *t, XXH3_state_t *h) {
  const vm_jit_core *c = &t->core;
  const uint32_t offsets[] = {VM_JIT_ABI,        VM_COST_VERSION,       c->frame_pc,
                              c->frame_lists,    c->frame_regs,         c->lists_list,
                              c->context_work,   c->context_work_limit, c->context_poll_at,
                              c->context_consts, c->context_direct};
  XXH3_128bits_reset(h);
  feed(h, offsets, sizeof offsets);
  feed_processor(h);
  feed_plugin(h, t->plugin_path);
}

static bool hash_module(const vm_entries *e, vm_cache_key *out) {
  uint8_t *bytes;
  size_t len, cap;
  if (vm_save(e->link->module, e->tier->mem, &bytes, &len, &cap) != LS_OK)
    return false;
  XXH128_hash_t h = XXH3_128bits(bytes, len);
  *out = (vm_cache_key){h.low64, h.high64};
  ls_mem_free(e->tier->mem, bytes, cap);
  return true;
}

/* Once a tier, and once a link, under the tier's `loading`. */
static bool prepare(vm_entries *e) {
  vm_tier *t = e->tier;
  XXH3_state_t *h = XXH3_createState();
  bool fine = h && vm_tier_find_plugin(t);
  if (fine && t->place.high == 0 && t->place.low == 0) {
    hash_place(t, h);
    XXH128_hash_t sum = XXH3_128bits_digest(h);
    t->place = (vm_cache_key){sum.low64, sum.high64};
  }
  if (fine && e->module_key.high == 0 && e->module_key.low == 0)
    fine = hash_module(e, &e->module_key);
  XXH3_freeState(h);
  return fine;
}

bool vm_cache_find_key(vm_entries *e, const vm_jit_request *q, vm_cache_key *out) {
  vm_tier *t = e->tier;
  const vm_fn *fn = &q->module->fns[q->fn];
  bool fine = atomic_load(&e->keyed);
  if (!fine && pthread_mutex_trylock(&t->loading) == 0) { /* else the plug-in is being loaded */
    fine = prepare(e);
    atomic_store(&e->keyed, fine);
    pthread_mutex_unlock(&t->loading);
  }
  XXH3_state_t *h = fine ? XXH3_createState() : NULL;
  if (h == NULL)
    return false;
  XXH3_128bits_reset(h);
  feed(h, &t->place, sizeof t->place);
  feed(h, &e->module_key, sizeof e->module_key);
  const uint64_t what[] = {q->fn, q->pc, q->level, q->stress, q->cache_bytes, q->distance};
  feed(h, what, sizeof what);
  for (unsigned i = 0; i < fn->nlists; i++) {
    feed64(h, q->lists[i].trust | (uint64_t)q->lists[i].direct << 8);
    feed64(h, q->lists[i].trust == VM_JIT_ANY ? 0 : q->lists[i].shape);
  }
  if (fn->nloops)
    feed(h, q->careful, fn->nloops);
  XXH128_hash_t sum = XXH3_128bits_digest(h);
  XXH3_freeState(h);
  *out = (vm_cache_key){sum.low64, sum.high64};
  return true;
}

/* ---- files */

/* The folder is there and nobody else's; made where it is missing. */
static bool open_folder(const vm_tier *t, char *path, size_t n) {
  struct stat s;
  if (snprintf(path, n, "%s", t->cache_dir) >= (int)n)
    return false;
  for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
    *slash = 0;
    if (mkdir(path, 0700) != 0 && errno != EEXIST)
      return false;
    *slash = '/';
  }
  if (mkdir(path, 0700) != 0 && errno != EEXIST)
    return false;
  return lstat(path, &s) == 0 && S_ISDIR(s.st_mode) && s.st_uid == geteuid() &&
         (s.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

static bool file_path(const vm_tier *t, const vm_cache_key *key, char *path, size_t n) {
  int len = snprintf(path, n, "%s/%016llx%016llx", t->cache_dir, (unsigned long long)key->high,
                     (unsigned long long)key->low);
  return len > 0 && (size_t)len < n;
}

static uint8_t *read_all(vm_tier *t, int fd, size_t bytes) {
  uint8_t *buffer = ls_mem_alloc(t->mem, bytes);
  size_t at = 0;
  while (buffer && at < bytes) {
    ssize_t n = read(fd, buffer + at, bytes - at);
    if (n <= 0) {
      ls_mem_free(t->mem, buffer, bytes);
      return NULL;
    }
    at += (size_t)n;
  }
  return buffer;
}

static uint8_t *read_file(vm_tier *t, const char *path, size_t *bytes) {
  struct stat s;
  uint8_t *buffer = NULL;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0)
    return NULL;
  bool ours = fstat(fd, &s) == 0 && S_ISREG(s.st_mode) && s.st_uid == geteuid() &&
              (s.st_mode & (S_IWGRP | S_IWOTH)) == 0;
  if (ours && (uint64_t)s.st_size >= sizeof(cache_head) && (uint64_t)s.st_size <= CACHE_FILE_BYTES)
    buffer = read_all(t, fd, *bytes = (size_t)s.st_size);
  close(fd);
  return buffer;
}

/* ---- one cached region */

typedef struct {
  vm_jit_code code; /* first */
  vm_loaded loaded;
  size_t bytes; /* of this block */
} cached;

static size_t tail_bytes(uint32_t nexits, uint32_t nslots) {
  return ((sizeof(cache_exit) * nexits + sizeof(uint16_t) * nslots) + 7) / 8 * 8;
}

static bool read_exits(cached *c, const uint8_t *tail, uint32_t nexits, uint32_t nslots,
                       const vm_fn *fn) {
  vm_jit_exit *exits = (vm_jit_exit *)(c + 1);
  uint16_t *slots = (uint16_t *)(exits + nexits);
  uint32_t used = 0;
  memcpy(slots, tail + sizeof(cache_exit) * nexits, sizeof *slots * nslots);
  for (uint32_t i = 0; i < nexits; i++) {
    cache_exit x;
    memcpy(&x, tail + sizeof x * i, sizeof x);
    if (x.nslots > nslots - used || x.pc >= fn->ncode || x.reason > VM_JIT_EXIT_RAISED)
      return false;
    exits[i] = (vm_jit_exit){x.pc, (uint8_t)x.reason, x.nslots, slots + used};
    used += x.nslots;
  }
  c->code.exits = exits;
  c->code.nexits = nexits;
  return true;
}

static cached *use_file(vm_tier *t, const vm_jit_request *q, const vm_cache_key *key,
                        const uint8_t *file, size_t bytes) {
  cache_head h;
  memcpy(&h, file, sizeof h);
  uint64_t after = bytes - sizeof h;
  if (h.magic != CACHE_MAGIC || h.key.low != key->low || h.key.high != key->high ||
      h.nexits > CACHE_FILE_BYTES || h.nslots > CACHE_FILE_BYTES ||
      tail_bytes(h.nexits, h.nslots) > after ||
      h.object_bytes != after - tail_bytes(h.nexits, h.nslots) ||
      h.hash != XXH3_64bits(file + offsetof(cache_head, key), bytes - offsetof(cache_head, key)))
    return NULL;
  size_t need = sizeof(cached) + sizeof(vm_jit_exit) * h.nexits + sizeof(uint16_t) * h.nslots;
  cached *c = ls_mem_zalloc(t->mem, need);
  if (c == NULL)
    return NULL;
  c->bytes = need;
  const uint8_t *object = file + bytes - h.object_bytes;
  if (read_exits(c, file + sizeof h, h.nexits, h.nslots, &q->module->fns[q->fn]) &&
      vm_object_load(&t->core, object, h.object_bytes, &c->loaded)) {
    c->code.enter = (uint32_t(*)(vm_frame *, vm_context *))(uintptr_t)c->loaded.entry;
    c->code.code_bytes = c->loaded.code_bytes;
    c->code.cached = true;
    return c;
  }
  ls_mem_free(t->mem, c, need);
  return NULL;
}

const vm_jit_code *vm_cache_load(vm_tier *t, const vm_jit_request *q, const vm_cache_key *key) {
  char path[512];
  size_t bytes = 0;
  if (!file_path(t, key, path, sizeof path))
    return NULL;
  uint64_t from = vm_clock_ns();
  uint8_t *file = read_file(t, path, &bytes);
  if (file == NULL)
    return NULL;
  cached *c = use_file(t, q, key, file, bytes);
  ls_mem_free(t->mem, file, bytes);
  if (c == NULL)
    return NULL;
  c->code.link_ns = vm_clock_ns() - from;
  return &c->code;
}

void vm_cache_unload(vm_tier *t, const vm_jit_code *code) {
  cached *c = (cached *)(uintptr_t)code;
  vm_object_unload(&c->loaded);
  ls_mem_free(t->mem, c, c->bytes);
}

/* ---- making files */

static bool write_all(int fd, const void *bytes, size_t n) {
  const uint8_t *at = bytes;
  while (n) {
    ssize_t done = write(fd, at, n);
    if (done < 0 && errno == EINTR)
      continue;
    if (done <= 0)
      return false;
    at += done;
    n -= (size_t)done;
  }
  return true;
}

static uint8_t *make_file(vm_tier *t, const vm_cache_key *key, const vm_jit_code *code,
                          size_t *bytes) {
  uint32_t nslots = 0;
  for (uint32_t i = 0; i < code->nexits; i++)
    nslots += code->exits[i].nslots;
  size_t tail = tail_bytes(code->nexits, nslots);
  *bytes = sizeof(cache_head) + tail + code->object_bytes;
  uint8_t *file = ls_mem_zalloc(t->mem, *bytes);
  if (file == NULL)
    return NULL;
  uint8_t *at = file + sizeof(cache_head), *slot = at + sizeof(cache_exit) * code->nexits;
  for (uint32_t i = 0; i < code->nexits; i++) {
    const vm_jit_exit *x = &code->exits[i];
    cache_exit c = {x->pc, x->nslots, x->reason};
    memcpy(at + sizeof c * i, &c, sizeof c);
    memcpy(slot, x->slots, sizeof(uint16_t) * x->nslots);
    slot += sizeof(uint16_t) * x->nslots;
  }
  memcpy(at + tail, code->object, code->object_bytes);
  cache_head h = {.magic = CACHE_MAGIC,
                  .key = *key,
                  .nexits = code->nexits,
                  .nslots = nslots,
                  .object_bytes = code->object_bytes};
  memcpy(file, &h, sizeof h);
  h.hash = XXH3_64bits(file + offsetof(cache_head, key), *bytes - offsetof(cache_head, key));
  memcpy(file, &h, sizeof h);
  return file;
}

/* Removes the oldest file; what it held. */
static uint64_t remove_oldest(const char *folder) {
  char path[1024], oldest[1024] = "";
  struct timespec when = {0};
  struct stat s;
  uint64_t bytes = 0;
  DIR *d = opendir(folder);
  for (struct dirent *f; d && (f = readdir(d)) != NULL;) {
    snprintf(path, sizeof path, "%.500s/%.255s", folder, f->d_name);
    if (f->d_name[0] == '.' || lstat(path, &s) != 0 || !S_ISREG(s.st_mode))
      continue;
    bool older = s.st_mtim.tv_sec < when.tv_sec ||
                 (s.st_mtim.tv_sec == when.tv_sec && s.st_mtim.tv_nsec < when.tv_nsec);
    if (oldest[0] && !older)
      continue;
    memcpy(oldest, path, sizeof oldest);
    when = s.st_mtim;
    bytes = (uint64_t)s.st_size;
  }
  if (d)
    closedir(d);
  return oldest[0] && unlink(oldest) == 0 ? bytes : 0;
}

static uint64_t folder_bytes(const char *folder) {
  char path[1024];
  struct stat s;
  uint64_t sum = 0;
  DIR *d = opendir(folder);
  for (struct dirent *f; d && (f = readdir(d)) != NULL;) {
    snprintf(path, sizeof path, "%.500s/%.255s", folder, f->d_name);
    if (lstat(path, &s) == 0 && S_ISREG(s.st_mode))
      sum += (uint64_t)s.st_size;
  }
  if (d)
    closedir(d);
  return sum;
}

static void prune(const char *folder) {
  uint64_t sum = folder_bytes(folder), gone;
  for (; sum > CACHE_BYTES; sum -= gone)
    if ((gone = remove_oldest(folder)) == 0)
      return;
}

void vm_cache_store(vm_tier *t, const vm_cache_key *key, const vm_jit_code *code) {
  char folder[512], path[512], temporary[560];
  size_t bytes;
  if (!open_folder(t, folder, sizeof folder) || !file_path(t, key, path, sizeof path))
    return;
  uint8_t *file = make_file(t, key, code, &bytes);
  if (file == NULL)
    return;
  snprintf(temporary, sizeof temporary, "%s.XXXXXX", path);
  int fd = mkstemp(temporary);
  if (fd >= 0) {
    bool fine = write_all(fd, file, bytes);
    if (close(fd) != 0 || !fine || rename(temporary, path) != 0)
      unlink(temporary);
  }
  ls_mem_free(t->mem, file, bytes);
  if (atomic_fetch_add(&t->stored, 1) % PRUNE_EVERY == 0)
    prune(folder);
}
