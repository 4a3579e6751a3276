/* Module bytes, with a length and a checksum that fit: loading verifies or refuses.  What loads is
 * saved as the same bytes, and its assembly text makes the same bytes again.
 *
 * With libFuzzer, half of the mutations change the inside of one section and mend its length.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "vm/vm.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max) __attribute__((weak));

#define HEAD 24
#define TAIL 8

static void require(bool fine) {
  if (!fine)
    abort();
}

static void put(uint8_t *to, uint64_t v, unsigned n) {
  for (unsigned k = 0; k < n; k++)
    to[k] = (uint8_t)(v >> (8 * k));
}

static uint64_t get(const uint8_t *from, unsigned n) {
  uint64_t v = 0;
  for (unsigned k = 0; k < n; k++)
    v |= (uint64_t)from[k] << (8 * k);
  return v;
}

static void seal(uint8_t *b, size_t n) {
  memcpy(b, "\x89PURE\r\n\x1a", 8);
  put(b + 8, 1, 2);
  put(b + 10, VM_COST_VERSION, 2);
  put(b + 12, 6, 4);
  put(b + 16, n, 8);
  put(b + n - TAIL, XXH3_64bits(b, n - TAIL), 8);
}

typedef struct {
  char *bytes;
  size_t len, cap;
} text;

static bool add(void *user, const char *bytes, size_t len) {
  text *t = user;
  if (t->len + len > t->cap) {
    t->cap = (t->len + len) * 2;
    t->bytes = realloc(t->bytes, t->cap);
    require(t->bytes != NULL);
  }
  memcpy(t->bytes + t->len, bytes, len);
  t->len += len;
  return true;
}

static void same_bytes(const vm_module *m, ls_mem *mem, const uint8_t *bytes, size_t n) {
  uint8_t *saved;
  size_t len, cap;
  require(vm_save(m, mem, &saved, &len, &cap) == LS_OK);
  require(len == n && memcmp(saved, bytes, n) == 0);
  ls_mem_free(mem, saved, cap);
}

static void check(const vm_module *m, ls_mem *mem, const uint8_t *bytes, size_t n) {
  text t = {NULL, 0, 0};
  vm_module *again;
  vm_error err;
  require(m->verified);
  same_bytes(m, mem, bytes, n);
  require(vm_disasm(m, -1, add, &t));
  require(vm_asm(mem, "again", t.bytes, t.len, &again, &err) == LS_OK);
  same_bytes(again, mem, bytes, n);
  vm_module_release(again);
  free(t.bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  ls_mem *mem = ls_mem_new(NULL);
  size_t n = size < HEAD + TAIL ? HEAD + TAIL : size;
  uint8_t *bytes = calloc(1, n);
  vm_module *m = NULL;
  vm_error err;
  require(mem && bytes);
  if (size)
    memcpy(bytes, data, size);
  seal(bytes, n);
  ls_status status = vm_load(mem, "", bytes, n, &m, &err);
  if (status == LS_OK) {
    /* A module without a name of its own takes that of its file, here none. */
    check(m, mem, bytes, n);
    vm_module_release(m);
  } else {
    require(status == LS_UNSUITABLE && err.message[0]);
  }
  ls_mem_stats stats;
  ls_mem_read_stats(mem, &stats);
  require(stats.live_bytes == 0);
  ls_mem_delete(mem);
  free(bytes);
  return 0;
}

/* Where section number k begins, or 0: the sections do not fit. */
static size_t section_at(const uint8_t *b, size_t n, unsigned k) {
  size_t at = HEAD;
  for (;; k--) {
    if (n - at < 12 + TAIL || get(b + at + 4, 8) > n - at - 12 - TAIL)
      return 0;
    if (k == 0)
      return at;
    at += 12 + get(b + at + 4, 8);
  }
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed) {
  size_t at = seed % 8 < 4 && size > HEAD + TAIL ? section_at(data, size, seed / 8 % 6) : 0;
  if (at == 0 || !LLVMFuzzerMutate)
    return LLVMFuzzerMutate ? LLVMFuzzerMutate(data, size, max) : size;
  size_t begin = at + 12, len = get(data + at + 4, 8), rest = size - begin - len;
  if (max <= begin + rest)
    return size;
  uint8_t *after = malloc(rest);
  if (!after)
    return size;
  memcpy(after, data + begin + len, rest);
  len = LLVMFuzzerMutate(data + begin, len, max - begin - rest);
  put(data + at + 4, len, 8);
  memcpy(data + begin + len, after, rest);
  free(after);
  return begin + len + rest;
}
