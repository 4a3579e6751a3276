/* The life of compiled code: pages, dropping, memory that runs out, executable memory denied. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "llvmjit/jit_int.h"
#include "tests/jit/support/region.h"

#ifndef PR_SET_MDWE
#define PR_SET_MDWE 65
#define PR_MDWE_REFUSE_EXEC_GAIN 1
#endif

/* The sum of the numbers from register 0 below register 1, to register 2. */
static const char sum[] = "region sum fn 0 pc 0 regs 8\n"
                          "b0:\n"
                          "  v1 = work\n"
                          "  v2 = reg:i64 0\n"
                          "  v3 = reg:i64 1\n"
                          "  jump b1\n"
                          "b1: b0 b2\n"
                          "  v4 = phi:i64 v2 v8\n"
                          "  v5 = phi:i64 0 v7\n"
                          "  v6 = lt v4 v3\n"
                          "  branch v6 b2 b3\n"
                          "b2: b1\n"
                          "  v7 = add.x v5 v4 exit 1\n"
                          "  v8 = add v4 1\n"
                          "  jump b1\n"
                          "b3: b1\n"
                          "  leave exit 0\n"
                          "exit 0: pc 7 leave work v1+5 r2=v5\n"
                          "exit 1: pc 3 fault work v1-2 r0=v4 r2=v5\n";

static int64_t run_sum(const vm_jit_code *code, int64_t from, int64_t to) {
  struct vm_frame f = {.pc = 0};
  struct vm_context cx = {.work = 40};
  f.regs[0].i = from;
  f.regs[1].i = to;
  ck_assert_uint_eq(code->enter(&f, &cx), 0);
  ck_assert_uint_eq(f.pc, 7);
  ck_assert_uint_eq(cx.work, 45);
  return f.regs[2].i;
}

/* How the page of an address may be used: "r-xp". */
static void page_rights(const void *address, char *rights) {
  unsigned long from, to;
  char line[400];
  FILE *maps = fopen("/proc/self/maps", "r");
  ck_assert_ptr_nonnull(maps);
  strcpy(rights, "none");
  while (fgets(line, sizeof line, maps)) {
    char r[8];
    if (sscanf(line, "%lx-%lx %7s", &from, &to, r) != 3)
      continue;
    ck_assert_msg(strncmp(r, "rwx", 3) != 0, "writable and executable: %s", line);
    if ((unsigned long)(uintptr_t)address - from < to - from)
      strcpy(rights, r);
  }
  fclose(maps);
}

START_TEST(pages) {
  bench b;
  char rights[8];
  bench_open(&b);
  ir_region *r = bench_parse(&b, sum);
  const vm_jit_code *code = bench_compile(&b, r, 2);
  page_rights((const void *)(uintptr_t)code->enter, rights);
  ck_assert_str_eq(rights, "r-xp");
  ck_assert_int_eq(run_sum(code, 0, 100), 4950);
  bench_drop(&b, code);
  ir_region_delete(r);
  bench_close(&b);
}
END_TEST

static void memory_now(long *kb, long *maps) {
  char line[400];
  FILE *f = fopen("/proc/self/status", "r");
  *kb = *maps = 0;
  while (f && fgets(line, sizeof line, f))
    sscanf(line, "VmRSS: %ld", kb);
  if (f)
    fclose(f);
  f = fopen("/proc/self/maps", "r");
  while (f && fgets(line, sizeof line, f))
    ++*maps;
  if (f)
    fclose(f);
}

/* PURE_JIT_ROUNDS=N: so many; memory may not grow from a twentieth of them on. */
START_TEST(rounds) {
  const char *text = getenv("PURE_JIT_ROUNDS");
  unsigned n = text ? (unsigned)atoi(text) : 400;
  long kb[2], maps[2];
  bench b;
  bench_open(&b);
  ir_region *r = bench_parse(&b, sum);
  for (unsigned i = 0; i < n; i++) {
    const vm_jit_code *code = bench_compile(&b, r, i % 8 ? 1 : 2);
    ck_assert_int_eq(run_sum(code, 0, 10), 45);
    bench_drop(&b, code);
    if (i == n / 20)
      memory_now(&kb[0], &maps[0]);
  }
  memory_now(&kb[1], &maps[1]);
  printf("resident %ld then %ld kB, mappings %ld then %ld\n", kb[0], kb[1], maps[0], maps[1]);
  const char *sanitized = getenv("PURE_SANITIZE"); /* those keep what was freed */
  if (sanitized == NULL || *sanitized == 0)
    ck_assert_int_le(kb[1] * 10, kb[0] * 11);
  ck_assert_int_le(maps[1] * 10, maps[0] * 11);
  ir_region_delete(r);
  bench_close(&b);
}
END_TEST

/* Many at once, dropped in another order than made. */
START_TEST(many) {
  enum { N = 60 };
  const vm_jit_code *code[N];
  bench b;
  bench_open(&b);
  ir_region *r = bench_parse(&b, sum);
  for (unsigned i = 0; i < N; i++)
    code[i] = bench_compile(&b, r, 1);
  for (unsigned i = 0; i < N; i += 2)
    bench_drop(&b, code[i]);
  for (unsigned i = 1; i < N; i += 2)
    ck_assert_int_eq(run_sum(code[i], 0, (int64_t)i), (int64_t)i * (i - 1) / 2);
  for (unsigned i = 0; i < N; i += 2)
    code[i] = bench_compile(&b, r, 1);
  for (unsigned i = 0; i < N; i++)
    bench_drop(&b, code[i]);
  ir_region_delete(r);
  bench_close(&b);
}
END_TEST

/* The n-th allocation fails, for every n that there is. */
START_TEST(no_memory) {
  bench b;
  bench_open(&b);
  ir_region *r = bench_parse(&b, sum);
  bool fine = false;
  for (unsigned n = 1; !fine; n++) {
    const vm_jit_code *code = NULL;
    char why[VM_JIT_WHY] = "";
    vm_jit_request q = {.level = 1};
    ls_mem_fail_after(b.mem, n, 1);
    fine = jit_compile_region(b.engine, &q, r, &code, why) == VM_JIT_OK;
    ls_mem_fail_after(b.mem, 0, 0);
    if (fine)
      bench_drop(&b, code);
    else
      ck_assert_str_ne(why, "");
    ck_assert_uint_lt(n, 100);
  }
  ir_region_delete(r);
  bench_close(&b);
}
END_TEST

/* In a process that may not make pages executable the plug-in says so. */
static int compile_denied(void) {
  bench b;
  char why[VM_JIT_WHY] = "";
  const vm_jit_code *code = NULL;
  vm_jit_request q = {.level = 1};
  bench_open(&b);
  ir_region *r = bench_parse(&b, sum);
  if (prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0) != 0)
    return 77;
  vm_jit_status status = jit_compile_region(b.engine, &q, r, &code, why);
  if (status != VM_JIT_DENIED)
    fprintf(stderr, "denied: status %d: %s\n", status, why);
  return status == VM_JIT_DENIED && why[0] ? 0 : 1;
}

START_TEST(denied) {
  int status;
  pid_t child = fork();
  if (child == 0)
    _exit(compile_denied());
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  ck_assert(WIFEXITED(status));
  if (WEXITSTATUS(status) == 77)
    printf("denied: this kernel cannot forbid it\n");
  else
    ck_assert_int_eq(WEXITSTATUS(status), 0);
}
END_TEST

/* A region of a great many instructions, more than the core ever asks for. */
static char *long_region(void) {
  enum { N = 30000 };
  char *text = malloc(N * 40 + 400), *at = text;
  ck_assert_ptr_nonnull(text);
  at += sprintf(at, "region long fn 0 pc 0 regs 8\nb0:\n  v1 = work\n  v2 = reg:i64 0\n");
  for (unsigned i = 3; i < N; i++)
    at += sprintf(at, "  v%u = add.x v%u v2 exit 0\n", i, i - 1);
  sprintf(at, "  leave exit 0\nexit 0: pc 7 leave work v1+5 r2=v2\n");
  return text;
}

START_TEST(too_large) {
  bench b;
  char why[VM_JIT_WHY] = "";
  const vm_jit_code *code = NULL;
  vm_jit_request q = {.level = 1};
  char *text = long_region();
  bench_open(&b);
  ir_region *r = bench_parse(&b, text);
  ck_assert_int_eq(jit_compile_region(b.engine, &q, r, &code, why), VM_JIT_REFUSED);
  ck_assert_str_eq(why, "too much machine code");
  ir_region_delete(r);
  bench_close(&b);
  free(text);
}
END_TEST

typedef struct {
  vm_jit_engine *e;
  bool came_back;
} wrong_module;

/* What no machine has instructions for: LLVM would print that and end the process. */
static void emit_wrong(void *user) {
  wrong_module *w = user;
  char why[VM_JIT_WHY];
  LLVMMemoryBufferRef object;
  LLVMTargetMachineRef machine = jit_machine_take(w->e->machines, true, why);
  LLVMContextRef c = LLVMContextCreate();
  LLVMModuleRef m = LLVMModuleCreateWithNameInContext("wrong", c);
  LLVMBuilderRef b = LLVMCreateBuilderInContext(c);
  char *triple = LLVMGetTargetMachineTriple(machine);
  LLVMSetTarget(m, triple);
  LLVMDisposeMessage(triple);
  LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(c), NULL, 0, false);
  LLVMValueRef f = LLVMAddFunction(m, "f", type);
  LLVMPositionBuilderAtEnd(b, LLVMAppendBasicBlockInContext(c, f, "entry"));
  unsigned id = LLVMLookupIntrinsicID("llvm.r600.group.barrier", 23);
  ck_assert_uint_ne(id, 0);
  LLVMBuildCall2(b, type, LLVMGetIntrinsicDeclaration(m, id, NULL, 0), NULL, 0, "");
  LLVMBuildRetVoid(b);
  LLVMDisposeBuilder(b);
  jit_emit(m, machine, LLVMObjectFile, &object, why);
  w->came_back = true;
}

/* In a process of its own, because what LLVM held is lost. */
static int give_up(void) {
  bench b;
  char why[VM_JIT_WHY] = "";
  bench_open(&b);
  wrong_module w = {b.engine, false};
  bool fine = jit_guarded(emit_wrong, &w, why);
  fprintf(stderr, "%s\n", why);
  return !fine && !w.came_back && strncmp(why, "LLVM gave up: Cannot select", 27) == 0 ? 0 : 1;
}

/* A fatal error of LLVM ends the part in which it happens, and nothing else. */
START_TEST(gave_up) {
  int status;
  pid_t child = fork();
  if (child == 0)
    _exit(give_up());
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  ck_assert(WIFEXITED(status));
  ck_assert_int_eq(WEXITSTATUS(status), 0);
}
END_TEST

/* After that what there is runs on, and nothing more is compiled. */
START_TEST(after_that) {
  bench b;
  char why[VM_JIT_WHY] = "";
  bench_open(&b);
  ir_region *r = bench_parse(&b, sum);
  const vm_jit_code *code = bench_compile(&b, r, 2), *more = NULL;
  atomic_store(&b.engine->given_up, true);
  vm_jit_request q = {.level = 1};
  ck_assert_int_eq(jit_compile_region(b.engine, &q, r, &more, why), VM_JIT_DENIED);
  ck_assert_str_eq(why, "LLVM gave up before");
  ck_assert_int_eq(run_sum(code, 0, 100), 4950);
  atomic_store(&b.engine->given_up, false); /* it had not, really */
  bench_drop(&b, code);
  ir_region_delete(r);
  bench_close(&b);
}
END_TEST

int main(void) {
  Suite *s = suite_create("engine");
  TCase *t = tcase_create("engine");
  tcase_set_timeout(t, 3600);
  tcase_add_test(t, pages);
  tcase_add_test(t, rounds);
  tcase_add_test(t, many);
  tcase_add_test(t, no_memory);
  tcase_add_test(t, denied);
  tcase_add_test(t, too_large);
  tcase_add_test(t, gave_up);
  tcase_add_test(t, after_that);
  suite_add_tcase(s, t);
  SRunner *r = srunner_create(s);
  srunner_run_all(r, CK_ENV);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed != 0;
}
