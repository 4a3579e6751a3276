/* vm/lang/lang_arena.c - the memory of one compilation, and its table of names. */
#include "vm/lang/lang_int.h"

#include <string.h>

#define CHUNK_BYTES 65536u
#define ALIGN 16u

struct lang_chunk {
  lang_chunk *next;
  size_t bytes, used;
};

static lang_chunk *add_chunk(lang_cx *cx, size_t need) {
  size_t bytes = need > CHUNK_BYTES - ALIGN ? need + sizeof(lang_chunk) + ALIGN : CHUNK_BYTES;
  lang_chunk *c = ls_mem_zalloc(cx->mem, bytes);
  if (!c)
    return NULL;
  c->bytes = bytes;
  c->used = (sizeof(lang_chunk) + ALIGN - 1) / ALIGN * ALIGN;
  c->next = cx->chunks;
  cx->chunks = c;
  return c;
}

void *lang_alloc(lang_cx *cx, size_t bytes) {
  lang_chunk *c = cx->chunks;
  size_t need = (bytes + ALIGN - 1) / ALIGN * ALIGN;
  if (!c || c->bytes - c->used < need)
    c = add_chunk(cx, need + ALIGN * 2);
  if (!c) {
    cx->nomem = true;
    return NULL;
  }
  void *p = (char *)c + c->used;
  c->used += need;
  return p;
}

void lang_free_all(lang_cx *cx) {
  while (cx->chunks) {
    lang_chunk *next = cx->chunks->next;
    ls_mem_free(cx->mem, cx->chunks, cx->chunks->bytes);
    cx->chunks = next;
  }
  ls_mem_free(cx->mem, cx->names, cx->nbuckets * sizeof *cx->names);
  cx->names = NULL;
}

static bool grow_names(lang_cx *cx) {
  uint32_t n = cx->nbuckets ? cx->nbuckets * 2 : 256;
  lang_name **names = ls_mem_zalloc(cx->mem, n * sizeof *names);
  if (!names) {
    cx->nomem = true;
    return false;
  }
  for (uint32_t i = 0; i < cx->nbuckets; i++) {
    while (cx->names[i]) {
      lang_name *name = cx->names[i];
      cx->names[i] = name->chain;
      name->chain = names[name->hash & (n - 1)];
      names[name->hash & (n - 1)] = name;
    }
  }
  ls_mem_free(cx->mem, cx->names, cx->nbuckets * sizeof *names);
  cx->names = names;
  cx->nbuckets = n;
  return true;
}

static uint32_t hash_bytes(const char *bytes, uint32_t len) {
  uint32_t h = 2166136261u;
  for (uint32_t i = 0; i < len; i++)
    h = (h ^ (uint8_t)bytes[i]) * 16777619u;
  return h ^ h >> 15;
}

lang_name *lang_intern(lang_cx *cx, const char *bytes, uint32_t len) {
  uint32_t h = hash_bytes(bytes, len);
  if (cx->nbuckets) {
    lang_name *name = cx->names[h & (cx->nbuckets - 1)];
    for (; name; name = name->chain) {
      if (name->hash == h && name->len == len && memcmp(name->text, bytes, len) == 0)
        return name;
    }
  }
  if (cx->nnames >= cx->nbuckets && !grow_names(cx))
    return NULL;
  lang_name *name = lang_alloc(cx, sizeof *name);
  char *text = lang_alloc(cx, (size_t)len + 1);
  if (!name || !text)
    return NULL;
  memcpy(text, bytes, len);
  name->text = text;
  name->len = len;
  name->hash = h;
  name->chain = cx->names[h & (cx->nbuckets - 1)];
  cx->names[h & (cx->nbuckets - 1)] = name;
  cx->nnames++;
  return name;
}

bool lang_name_is(const lang_name *name, const char *text) { return strcmp(name->text, text) == 0; }
