/* lists/mem/mem_options.c - settings, and the names of what is counted. */
#include "lists/mem/mem_int.h"

#include <stdlib.h>

/* docs/memory.md has the experiment that chose each. */
const ls_mem_options ls_mem_options_default = {
    .runs = !MEM_UNDER_ASAN && MEM_MAPS,
    .huge_pages = 1,
    .decay_ms = 100,
    .lifo_bytes = 16 << 20,
    .outbox = MEM_OUTBOX,
    .inbox = MEM_INBOX,
    .cache_bytes = 32 << 20,
    .sample = 0,
};

static bool parse(const char *text, uint64_t least, uint64_t most, uint64_t *out) {
  uint64_t n = 0;
  if (*text == 0)
    return false;
  for (; *text != 0; text++) {
    if (*text < '0' || *text > '9' || n > UINT64_MAX / 10 - 1)
      return false;
    n = n * 10 + (uint64_t)(*text - '0');
  }
  if (n < least || n > most)
    return false;
  *out = n;
  return true;
}

void ls_mem_options_from_env(ls_mem_options *o, const char **bad) {
  const struct {
    const char *name;
    uint64_t least, most, *value;
  } settings[] = {
      {"PURE_MEM_RUNS", 0, 1, &o->runs},
      {"PURE_MEM_HUGEPAGES", 0, 1, &o->huge_pages},
      {"PURE_MEM_DECAY_MS", 0, 1u << 30, &o->decay_ms},
      {"PURE_MEM_LIFO_BYTES", 0, 1u << 30, &o->lifo_bytes},
      {"PURE_MEM_OUTBOX", 1, MEM_OUTBOX, &o->outbox},
      {"PURE_MEM_INBOX", 1, MEM_INBOX, &o->inbox},
      {"PURE_MEM_CACHE_BYTES", 0, UINT64_C(1) << 40, &o->cache_bytes},
      {"PURE_MEM_SAMPLE", 0, UINT64_C(1) << 40, &o->sample},
  };
  *bad = NULL;
  for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
    const char *text = getenv(settings[i].name);
    if (text != NULL && !parse(text, settings[i].least, settings[i].most, settings[i].value))
      *bad = settings[i].name;
  }
}

const char *ls_mem_bug_name(ls_mem_bug bug) {
  static const char *const name[LS_MEM_NBUGS] = {"none", "foreign pointer", "misaligned pointer",
                                                 "double free", "wrong size"};
  return (unsigned)bug < LS_MEM_NBUGS ? name[bug] : "";
}

#define MEANING(name, meaning) meaning,
const char *ls_mem_counter_meaning(ls_mem_counter counter) {
  static const char *const text[LS_MEM_NCOUNTERS] = {LS_MEM_COUNTERS(MEANING)};
  return (unsigned)counter < LS_MEM_NCOUNTERS ? text[counter] : "";
}
