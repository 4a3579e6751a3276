/* Compiled objects kept between processes: found again, and not used where anything is odd. */
#define _GNU_SOURCE
#include <check.h>
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <utime.h>

#include "vm/vm.h"
#include "vm/vm_tier.h"

/* Reals and a builtin out of line, so that the object has constants and calls. */
static const char source[] =
    "list points (x: real, y: real, day: date)\n"
    "event fill(n: int) {\n"
    "  for i in 1 .. n {\n"
    "    add points (real(i) * 1.5, real(i % 7) / 3.25, date(2020, 1 + i % 12, 3))\n"
    "  }\n"
    "}\n"
    "query sum(): real {\n"
    "  var s = 0.0\n"
    "  for p in points {\n"
    "    s += sqrt(p.x * p.x + p.y) * 0.125 + real(year(p.day))\n"
    "  }\n"
    "  return s\n"
    "}\n";

static char folder[64];

static void make_folder(void) {
  strcpy(folder, P_tmpdir "/pure-cache-test-XXXXXX");
  ck_assert_ptr_nonnull(mkdtemp(folder));
  strcat(folder, "/jit");
}

/* The n-th file of the folder; how many there are. */
static unsigned find_file(unsigned n, char *path, size_t bytes) {
  unsigned count = 0;
  DIR *d = opendir(folder);
  for (struct dirent *f; d && (f = readdir(d)) != NULL;) {
    if (f->d_name[0] == '.')
      continue;
    if (count++ == n)
      snprintf(path, bytes, "%s/%s", folder, f->d_name);
  }
  if (d)
    closedir(d);
  return count;
}

static void remove_folder(void) {
  char path[400];
  while (find_file(0, path, sizeof path) > 0)
    unlink(path);
  rmdir(folder);
  *strrchr(folder, '/') = 0;
  rmdir(folder);
}

static ls_val run(vm_link *k, const char *name, ls_val arg) {
  vm_context *cx = vm_context_new(k);
  vm_result r;
  int fn = vm_module_find(vm_link_module(k), name, false);
  ck_assert_int_eq(vm_call(cx, (unsigned)fn, &arg, &r), VM_OK);
  vm_context_delete(cx);
  return r.value;
}

/* Like a process of its own. */
static vm_tier_stats process(const char *text, unsigned level, ls_val *answer) {
  ls_mem *mem = ls_mem_new(NULL);
  vm_module *m;
  vm_tier_options o = {.level = level,
                       .sync = true,
                       .has_threshold = true,
                       .threshold = 100,
                       .cache_dir = folder,
                       .cache_suffix = ""};
  vm_tier *t = vm_tier_new(mem, &o);
  ck_assert_int_eq(lang_compile(mem, "cache", text, strlen(text), &m, NULL, NULL), LS_OK);
  vm_link *k = vm_link_new(m, mem, NULL);
  ck_assert(vm_link_use_tier(k, t));
  run(k, "fill", (ls_val){.i = 3000});
  *answer = run(k, "sum", (ls_val){.i = 0});
  vm_tier_stats s;
  vm_tier_read(t, &s);
  vm_link_delete(k);
  vm_module_release(m);
  vm_tier_delete(t);
  ls_mem_delete(mem);
  return s;
}

START_TEST(found) {
  ls_val x, y;
  make_folder();
  vm_tier_stats s = process(source, 2, &x);
  ck_assert_uint_ge(s.compiled, 2);
  ck_assert_uint_eq(s.cached, 0);
  s = process(source, 2, &y);
  ck_assert_uint_eq(s.compiled, 0);
  ck_assert_uint_ge(s.cached, 2);
  ck_assert_ptr_null(s.llvm); /* the plug-in was not even loaded */
  ck_assert_uint_eq(x.u, y.u);
  /* Another level, another program: nothing fits. */
  ck_assert_uint_eq(process(source, 1, &y).cached, 0);
  ck_assert_uint_eq(x.u, y.u);
  char other[sizeof source + 40];
  snprintf(other, sizeof other, "%squery more(): int { return 1 }\n", source);
  ck_assert_uint_eq(process(other, 2, &y).cached, 0);
  ck_assert_uint_eq(x.u, y.u);
  remove_folder();
}
END_TEST

static void change_file(const char *path, long at, int how) {
  FILE *f = fopen(path, "r+b");
  ck_assert_ptr_nonnull(f);
  fseek(f, at, SEEK_SET);
  int c = fgetc(f);
  fseek(f, at, SEEK_SET);
  fputc(c ^ how, f);
  fclose(f);
}

static long file_bytes(const char *path) {
  struct stat s;
  ck_assert_int_eq(stat(path, &s), 0);
  return (long)s.st_size;
}

/* A bit of every file is turned somewhere, or its end is missing: compiled anew, same answer. */
START_TEST(damaged) {
  ls_val x, y;
  char path[400];
  make_folder();
  unsigned made = (unsigned)process(source, 2, &x).compiled;
  for (unsigned round = 0; round < 12; round++) {
    unsigned n = find_file(0, path, sizeof path);
    ck_assert_uint_ge(n, made);
    for (unsigned i = 0; i < n; i++) {
      find_file(i, path, sizeof path);
      long bytes = file_bytes(path), at = (long)round * bytes / 12 + (long)i;
      if (round % 4 == 3)
        ck_assert_int_eq(truncate(path, at), 0);
      else
        change_file(path, at < bytes ? at : 0, 1 << round % 8);
    }
    vm_tier_stats s = process(source, 2, &y);
    ck_assert_uint_eq(s.cached, 0);
    ck_assert_uint_eq(s.compiled, made);
    ck_assert_uint_eq(x.u, y.u);
    ck_assert_uint_eq(process(source, 2, &y).cached, made); /* and kept again */
  }
  remove_folder();
}
END_TEST

/* Files and folders that others may write are not trusted. */
START_TEST(foreign) {
  ls_val x, y;
  char path[400];
  make_folder();
  process(source, 2, &x);
  for (unsigned i = 0; i < find_file(i, path, sizeof path); i++)
    ck_assert_int_eq(chmod(path, 0666), 0);
  ck_assert_uint_eq(process(source, 2, &y).cached, 0);
  while (find_file(0, path, sizeof path) > 0)
    unlink(path);
  ck_assert_int_eq(chmod(folder, 0777), 0);
  process(source, 2, &y);
  ck_assert_uint_eq(find_file(0, path, sizeof path), 0);
  ck_assert_uint_eq(x.u, y.u);
  remove_folder();
}
END_TEST

/* Another version's file under the right name: everything else about it is right. */
START_TEST(version) {
  ls_val x, y;
  char path[400];
  make_folder();
  unsigned made = (unsigned)process(source, 2, &x).compiled;
  for (unsigned i = 0; i < made; i++) {
    uint64_t magic = UINT64_C(0x30656863614a5550);
    find_file(i, path, sizeof path);
    FILE *f = fopen(path, "r+b");
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(&magic, sizeof magic, 1, f), 1);
    fclose(f);
  }
  vm_tier_stats s = process(source, 2, &y);
  ck_assert_uint_eq(s.cached, 0);
  ck_assert_uint_eq(s.compiled, made);
  ck_assert_uint_eq(x.u, y.u);
  remove_folder();
}
END_TEST

/* Files that somebody else owns are not run, even where all may read them. */
START_TEST(owner) {
  ls_val x, y;
  char path[400];
  make_folder();
  process(source, 2, &x);
  for (unsigned i = 0; i < find_file(i, path, sizeof path); i++)
    if (chown(path, 12345, 12345) != 0) {
      printf("owner: only root can give files away\n");
      remove_folder();
      return;
    }
  ck_assert_uint_eq(process(source, 2, &y).cached, 0);
  ck_assert_uint_eq(x.u, y.u);
  remove_folder();
}
END_TEST

/* A symbolic link in a file's place is not followed. */
START_TEST(linked) {
  ls_val x, y;
  char path[400], other[420];
  make_folder();
  unsigned made = (unsigned)process(source, 2, &x).compiled;
  for (unsigned i = 0; i < made; i++) {
    find_file(0, path, sizeof path);
    snprintf(other, sizeof other, "%s/.moved", folder);
    ck_assert_int_eq(rename(path, other), 0);
    ck_assert_int_eq(symlink(other, path), 0);
    ck_assert_uint_lt(process(source, 2, &y).cached, made);
    unlink(other);
  }
  ck_assert_uint_eq(x.u, y.u);
  remove_folder();
}
END_TEST

/* Several processes fill one folder at once. */
START_TEST(together) {
  enum { N = 4 };
  ls_val x, y;
  make_folder();
  pid_t child[N];
  for (unsigned i = 0; i < N; i++)
    if ((child[i] = fork()) == 0) {
      for (unsigned round = 0; round < 3; round++)
        process(source, 1 + (i + round) % 3, &x);
      _exit(0);
    }
  for (unsigned i = 0; i < N; i++) {
    int status;
    ck_assert_int_eq(waitpid(child[i], &status, 0), child[i]);
    ck_assert_int_eq(status, 0);
  }
  ls_val z;
  process(source, 0, &x);
  for (unsigned level = 1; level <= 3; level++) {
    vm_tier_stats s = process(source, level, level == 3 ? &z : &y);
    ck_assert_uint_eq(s.compiled, 0);
    ck_assert_uint_ge(s.cached, 2);
    ck_assert_uint_eq(x.u, (level == 3 ? z : y).u);
  }
  remove_folder();
}
END_TEST

/* The disk is full: no file may have more than some bytes. */
START_TEST(full_disk) {
  ls_val x, y;
  char path[400];
  struct rlimit was, little = {700, 700};
  int status;
  make_folder();
  pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    if (getrlimit(RLIMIT_FSIZE, &was) != 0 || setrlimit(RLIMIT_FSIZE, &little) != 0)
      _exit(2);
    _exit(process(source, 2, &x).compiled >= 2 ? 0 : 1);
  }
  ck_assert_int_eq(waitpid(child, &status, 0), child);
  ck_assert_int_eq(status, 0);
  ck_assert_uint_eq(find_file(0, path, sizeof path), 0); /* nothing half written is left */
  process(source, 2, &x);
  ck_assert_uint_ge(process(source, 2, &y).cached, 2);
  ck_assert_uint_eq(x.u, y.u);
  remove_folder();
}
END_TEST

/* A folder that cannot be made or written: as if there were no cache. */
START_TEST(no_folder) {
  static const char *const places[] = {"/proc/self/pure", "/dev/null/pure", "/dev/null"};
  ls_val x, y;
  make_folder();
  process(source, 0, &x);
  for (unsigned i = 0; i < sizeof places / sizeof *places; i++) {
    char kept[sizeof folder];
    strcpy(kept, folder);
    strcpy(folder, places[i]);
    vm_tier_stats s = process(source, 2, &y);
    strcpy(folder, kept);
    ck_assert_uint_ge(s.compiled, 2);
    ck_assert_uint_eq(s.cached, 0);
    ck_assert_uint_eq(x.u, y.u);
  }
  remove_folder();
}
END_TEST

static void make_old_file(const char *name, long bytes, time_t when) {
  char path[400];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *f = fopen(path, "wb");
  ck_assert_ptr_nonnull(f);
  fclose(f);
  ck_assert_int_eq(truncate(path, bytes), 0);
  ck_assert_int_eq(utime(path, &(struct utimbuf){when, when}), 0);
}

/* Past 64 MB the oldest files go, those of processes that were killed among them. */
START_TEST(bounded) {
  ls_val x, y;
  char path[400];
  make_folder();
  ck_assert_int_eq(mkdir(folder, 0700), 0);
  for (int i = 0; i < 10; i++) {
    char name[40];
    snprintf(name, sizeof name, "%032d%s", i, i % 2 ? ".aBcDeF" : "");
    make_old_file(name, 8 << 20, 1000000 + i);
  }
  process(source, 2, &x);
  unsigned n = find_file(0, path, sizeof path);
  long sum = 0;
  for (unsigned i = 0; i < n; i++) {
    find_file(i, path, sizeof path);
    ck_assert_ptr_null(strstr(path, "/00000000000000000000000000000000"));
    sum += file_bytes(path);
  }
  ck_assert_int_le(sum, 64 << 20);
  ck_assert_uint_ge(n, 7); /* and no more than had to */
  ck_assert_uint_ge(process(source, 2, &y).cached, 2);
  ck_assert_uint_eq(x.u, y.u);
  remove_folder();
}
END_TEST

int main(void) {
  Suite *s = suite_create("cache");
  TCase *t = tcase_create("cache");
  tcase_set_timeout(t, 600);
  tcase_add_test(t, found);
  tcase_add_test(t, damaged);
  tcase_add_test(t, foreign);
  tcase_add_test(t, version);
  tcase_add_test(t, owner);
  tcase_add_test(t, linked);
  tcase_add_test(t, together);
  tcase_add_test(t, full_disk);
  tcase_add_test(t, no_folder);
  tcase_add_test(t, bounded);
  suite_add_tcase(s, t);
  SRunner *r = srunner_create(s);
  srunner_run_all(r, CK_ENV);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed != 0;
}
