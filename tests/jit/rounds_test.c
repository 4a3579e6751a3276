/* Compiling and dropping, again and again: memory and mappings end where they soon were.
 * usage: rounds_test [--rounds N] [--from M]      default: 1000, measured from the 200th on
 * A round is a link with its lists and code, at one of the levels or with gdb told of it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vm/vm.h"
#include "vm/vm_tier.h"

static const char source[] = "list edges (from: int, to: int) key (from, to)\n"
                             "event fill(n: int) {\n"
                             "  for i in 0 .. n {\n"
                             "    put edges (i, (i * 7 + 131) % n)\n"
                             "    put edges (i, (i * 3 + 17) % n)\n"
                             "  }\n"
                             "}\n"
                             "query reach(start: int): int {\n"
                             "  local seen (node: int) key (node)\n"
                             "  local queue (node: int)\n"
                             "  put seen (start)\n"
                             "  add queue (start)\n"
                             "  for q in queue {\n"
                             "    for e in edges[q.node] {\n"
                             "      if e.to not in seen {\n"
                             "        put seen (e.to)\n"
                             "        add queue (e.to)\n"
                             "      }\n"
                             "    }\n"
                             "  }\n"
                             "  return count(queue)\n"
                             "}\n";

static const struct {
  unsigned level, perf;
  bool sync;
} ways[] = {{1, 0, true}, {1, VM_TIER_PERF_GDB, true}, {2, 0, true},  {1, 0, true},
            {1, 0, true}, {2, VM_TIER_PERF_GDB, true}, {1, 0, false}, {3, 0, true}};
enum { NWAYS = sizeof ways / sizeof *ways };

static void fail(const char *what) {
  fprintf(stderr, "rounds: %s\n", what);
  exit(1);
}

static int64_t call(vm_context *cx, vm_module *m, const char *name, int64_t n) {
  vm_result r;
  ls_val arg = {.i = n};
  if (vm_call(cx, (unsigned)vm_module_find(m, name, false), &arg, &r) != VM_OK)
    fail(name);
  vm_result_release(&r);
  return r.value.i;
}

/* Whether code was entered. */
static bool round_once(vm_module *m, ls_mem *mem, vm_tier *t, int64_t *answer) {
  vm_entry_stats s;
  bool entered = false;
  vm_link *k = vm_link_new(m, mem, NULL);
  if (k == NULL || !vm_link_use_tier(k, t))
    fail("no link");
  vm_context *cx = vm_context_new(k);
  call(cx, m, "fill", 40);
  *answer = call(cx, m, "reach", 1);
  for (unsigned fn = 0; fn < m->nfns; fn++)
    for (unsigned loop = 0; loop <= m->fns[fn].nloops; loop++)
      entered |= vm_link_read_entry(k, fn, loop, &s) && s.runs > 0;
  vm_context_delete(cx);
  vm_link_delete(k);
  return entered;
}

typedef struct {
  long kb, maps;
} memory;

static memory memory_now(void) {
  char line[400];
  memory now = {0, 0};
  FILE *f = fopen("/proc/self/status", "r");
  while (f && fgets(line, sizeof line, f))
    sscanf(line, "VmRSS: %ld", &now.kb);
  if (f)
    fclose(f);
  f = fopen("/proc/self/maps", "r");
  while (f && fgets(line, sizeof line, f))
    now.maps++;
  if (f)
    fclose(f);
  return now;
}

static void check_tier(vm_tier *t, unsigned way) {
  vm_tier_stats s;
  vm_tier_read(t, &s);
  if (s.compiled == 0 || s.code_bytes || s.debug_objects || s.debug_bytes)
    fail("code is left over");
  printf("level %u%s%s: %llu compiled, %llu dropped; heap beside Pure %.2f MB\n", ways[way].level,
         ways[way].perf ? " with gdb" : "", ways[way].sync ? "" : " in the background",
         (unsigned long long)s.compiled, (unsigned long long)s.dropped,
         (double)s.heap_bytes / 1048576);
}

static unsigned argument(int argc, char **argv, const char *name, unsigned otherwise) {
  for (int i = 1; i + 1 < argc; i++)
    if (strcmp(argv[i], name) == 0)
      return (unsigned)atoi(argv[i + 1]);
  return otherwise;
}

int main(int argc, char **argv) {
  const char *sanitized = getenv("PURE_SANITIZE"); /* those keep what was freed */
  bool few = sanitized && *sanitized;
  unsigned n = argument(argc, argv, "--rounds", few ? 60 : 1000);
  unsigned from = argument(argc, argv, "--from", n / 5), entered = 0;
  vm_tier *tier[NWAYS];
  vm_module *m;
  memory first = {0, 0}, last;
  int64_t answer, expected = 0;
  ls_mem *mem = ls_mem_new(NULL);
  if (lang_compile(mem, "rounds", source, sizeof source - 1, &m, NULL, NULL) != LS_OK)
    fail("the program does not compile");
  for (unsigned i = 0; i < NWAYS; i++) {
    vm_tier_options o = {
        .level = ways[i].level, .sync = ways[i].sync, .perf = ways[i].perf, .has_threshold = true};
    tier[i] = vm_tier_new(mem, &o);
    if (tier[i] == NULL || !vm_tier_load(tier[i]))
      fail("no compiled tiers");
  }
  round_once(m, mem, NULL, &expected);
  for (unsigned i = 0; i < n; i++) {
    bool sync = ways[i % NWAYS].sync, ran = round_once(m, mem, tier[i % NWAYS], &answer);
    entered += ran;
    if (answer != expected || (sync && !ran))
      fail("a wrong answer, or nothing was compiled");
    if (i + 1 == from)
      first = memory_now();
  }
  last = memory_now();
  for (unsigned i = 0; i < NWAYS; i++) {
    check_tier(tier[i], i);
    vm_tier_delete(tier[i]);
  }
  vm_module_release(m);
  ls_mem_delete(mem);
  printf("%u rounds, %u with compiled code entered; resident %ld kB after %u, %ld kB at the end; "
         "mappings %ld, then %ld\n",
         n, entered, first.kb, from, last.kb, first.maps, last.maps);
  if ((!few && last.kb * 10 > first.kb * 11) || last.maps * 10 > first.maps * 11)
    fail("memory grew by more than a tenth");
  return 0;
}
