/* Bytecode to regions: tests/ir/builds/NAME.ir has `; build: FUNCTION PC
 * LIST=TRUST:SHAPE[:direct]..`, assembly, =====, and the region that is built.  Also what is
 * refused. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/ir/support/text.h"

typedef struct {
  char fn[64];
  uint32_t pc;
  ir_list_facts lists[16];
  bool careful;
} plan;

static vm_module *assemble(ls_mem *mem, const char *path, const char *text) {
  vm_module *m;
  vm_error e;
  ck_assert_msg(vm_asm(mem, "test", text, strlen(text), &m, &e) == LS_OK, "%s: line %u: %s", path,
                e.line, e.message);
  return m;
}

static void read_list(plan *p, const vm_module *m, const vm_fn *fn, char *word) {
  char *equals = strchr(word, '=');
  ck_assert_ptr_nonnull(equals);
  *equals++ = 0;
  for (unsigned l = 0; l < fn->nlists; l++) {
    if (strcmp(m->lists[fn->lists[l]].schema.name, word) != 0)
      continue;
    ir_list_facts *f = &p->lists[l];
    f->trust = strncmp(equals, "guarded", 7) == 0 ? IR_GUARDED : IR_CHECKED;
    f->shape = strtoull(strchr(equals, ':') + 1, NULL, 16);
    f->direct = strstr(equals, ":direct") != NULL;
    return;
  }
  ck_abort_msg("there is no list %s", word);
}

static int read_plan(plan *p, const vm_module *m, const char *given) {
  char line[400];
  const char *at = strstr(given, "; build: ");
  ck_assert_ptr_nonnull(at);
  snprintf(line, sizeof line, "%.*s", (int)strcspn(at + 9, "\n"), at + 9);
  memset(p, 0, sizeof *p);
  char *word = strtok(line, " \n");
  snprintf(p->fn, sizeof p->fn, "%s", word);
  p->pc = (uint32_t)strtoul(strtok(NULL, " \n"), NULL, 10);
  int fn = vm_module_find(m, p->fn, true);
  ck_assert_int_ge(fn, 0);
  while ((word = strtok(NULL, " \n")) != NULL) {
    if (strcmp(word, "careful") == 0)
      p->careful = true;
    else
      read_list(p, m, &m->fns[fn], word);
  }
  return fn;
}

/* The assembly without the lines for this test. */
static char *without_comments(const char *given) {
  char *out = calloc(1, strlen(given) + 1);
  for (const char *at = given; *at;) {
    size_t len = strcspn(at, "\n") + 1;
    if (*at != ';')
      strncat(out, at, len);
    at += len;
  }
  return out;
}

static void check_file(const char *path) {
  static const uint8_t all[1000] = {1, 1, 1, 1, 1, 1, 1, 1};
  ls_mem *mem = ls_mem_new(NULL);
  text_case c = text_case_read(path);
  char *assembly = without_comments(c.given), why[200];
  vm_module *m = assemble(mem, path, assembly);
  plan p;
  ir_region *r;
  ir_refusal refusal;
  int fn = read_plan(&p, m, c.given);
  ir_facts facts = {.lists = p.lists, .careful = p.careful ? all : NULL};
  ck_assert_int_eq(ir_build(m, (unsigned)fn, p.pc, &facts, mem, &r, &refusal), IR_OK);
  vm_module_release(m);
  ck_assert_msg(ir_verify(r, why, sizeof why), "%s: %s", path, why);
  char *got = text_of(r);
  text_case_check(path, got, c.wanted);
  ir_region *again = text_region(mem, path, got, strlen(got));
  char *twice = text_of(again);
  ck_assert_str_eq(got, twice);
  free(twice);
  free(got);
  free(assembly);
  ir_region_delete(again);
  ir_region_delete(r);
  text_case_free(&c);
  ls_mem_delete(mem);
}

START_TEST(texts) { ck_assert_uint_ge(text_each_file("tests/ir/builds/*.ir", check_file), 10); }
END_TEST

START_TEST(refused) {
  ls_mem *mem = ls_mem_new(NULL);
  ir_region *r;
  ir_refusal why;
  vm_module *m = assemble(mem, "refused",
                          "query q(n: int): int {\n"
                          "  regs 2 loops 1\n"
                          "  ldi r1, 0\n"
                          "top:\n"
                          "  loop 0\n"
                          "  iaddk r1, r1, 1\n"
                          "  jmp top\n"
                          "}\n");
  ck_assert_int_eq(ir_build(m, 0, 2, NULL, mem, &r, &why), IR_REFUSED);
  ck_assert_str_eq(ir_refusal_name(why), "entry");
  ck_assert_int_eq(ir_build(m, 0, 999, NULL, mem, &r, &why), IR_REFUSED);
  ck_assert_int_eq(ir_build(m, 0, 1, NULL, mem, &r, &why), IR_OK);
  ck_assert_str_eq(ir_refusal_name(why), "none");
  ir_region_delete(r);
  vm_module_release(m);
  ls_mem_delete(mem);
}
END_TEST

START_TEST(never_round) {
  ls_mem *mem = ls_mem_new(NULL);
  ir_region *r;
  ir_refusal why;
  vm_module *m = assemble(mem, "never_round",
                          "query q(n: int): int {\n"
                          "  regs 2 loops 1\n"
                          "  loop 0\n"
                          "  iaddk r1, r0, 1\n"
                          "  retv r1\n"
                          "}\n");
  ck_assert_int_eq(ir_build(m, 0, 0, NULL, mem, &r, &why), IR_REFUSED);
  ck_assert_str_eq(ir_refusal_name(why), "empty");
  vm_module_release(m);
  ls_mem_delete(mem);
}
END_TEST

/* Thousands of instructions in one loop are left to the interpreter. */
START_TEST(too_large) {
  ls_mem *mem = ls_mem_new(NULL);
  ir_region *r;
  ir_refusal why;
  char *text = malloc(1 << 20);
  size_t len = (size_t)sprintf(text, "query q(n: int): int {\n  regs 2 loops 1\n  ldi r1, 0\ntop:\n"
                                     "  loop 0\n");
  for (unsigned k = 0; k < 3000; k++)
    len += (size_t)sprintf(text + len, "  iaddk r1, r1, 1\n");
  sprintf(text + len, "  jmp top\n}\n");
  vm_module *m = assemble(mem, "too_large", text);
  ck_assert_int_eq(ir_build(m, 0, 1, NULL, mem, &r, &why), IR_REFUSED);
  ck_assert_str_eq(ir_refusal_name(why), "size");
  vm_module_release(m);
  free(text);
  ls_mem_delete(mem);
}
END_TEST

int main(void) {
  Suite *s = suite_create("build");
  TCase *t = tcase_create("build");
  tcase_add_test(t, texts);
  tcase_add_test(t, refused);
  tcase_add_test(t, never_round);
  tcase_add_test(t, too_large);
  suite_add_tcase(s, t);
  SRunner *r = srunner_create(s);
  srunner_run_all(r, CK_ENV);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed != 0;
}
