/* Two copies of the allocator's code in one process work on the same ls_mem: a thread has one heap
 * whichever copy it comes by, and threads never share one. */
#include <check.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "lists/mem/mem.h"

enum { MANY = 300, THREADS = 4 };
static const size_t some_sizes[] = {100, 2000, 30000, 100000, 700000};

typedef struct {
  void *(*alloc)(ls_mem *m, size_t bytes);
  void (*free)(ls_mem *m, void *block, size_t bytes);
} entrance;

static entrance entrances[2] = {{ls_mem_alloc, ls_mem_free}, {NULL, NULL}};
static ls_mem *mem;

static void open_copy(void) {
  void *library = dlopen(MEM_COPY, RTLD_NOW | RTLD_LOCAL);
  ck_assert_msg(library != NULL, "%s", dlerror());
  *(void **)&entrances[1].alloc = dlsym(library, "copy_alloc");
  *(void **)&entrances[1].free = dlsym(library, "copy_free");
  ck_assert(entrances[1].alloc != NULL && entrances[1].alloc != ls_mem_alloc);
  ls_mem_options o = ls_mem_options_default;
  o.runs = 1; /* under AddressSanitizer too */
  mem = ls_mem_new_with(&o);
  ck_assert_ptr_nonnull(mem);
}

/* first: by which copy the thread comes first.  Each block is freed by the other copy. */
static void *use_both(void *first) {
  unsigned char *block[MANY] = {0};
  for (unsigned round = 0; round < 20; round++)
    for (unsigned i = 0; i < MANY; i++) {
      size_t bytes = some_sizes[(i + round) % 5], old = some_sizes[(i + round + 4) % 5];
      unsigned by = (i + round + (first != NULL)) % 2;
      if (block[i] != NULL) {
        if (block[i][0] != (unsigned char)i || block[i][old - 1] != (unsigned char)i)
          abort();
        entrances[by].free(mem, block[i], old);
      }
      block[i] = entrances[by].alloc(mem, bytes);
      if (block[i] == NULL)
        abort();
      block[i][0] = block[i][bytes - 1] = (unsigned char)i;
    }
  for (unsigned i = 0; i < MANY; i++)
    entrances[i % 2].free(mem, block[i], some_sizes[(i + 19) % 5]);
  return NULL;
}

static void expect_all_home(void) {
  ls_mem_counters c;
  ls_mem_stats stats;
  char why[200];
  ck_assert_msg(ls_mem_check(mem, why, sizeof why), "%s", why);
  ls_mem_read_counters(mem, &c);
  ls_mem_read_stats(mem, &stats);
  ck_assert_uint_eq(c.bugs, 0);
  ck_assert_uint_eq(c.n[LS_MEM_COUNT_remote], 0);
  ck_assert_uint_eq(stats.live_bytes, 0);
}

START_TEST(a_thread_has_one_heap) {
  open_copy();
  use_both(NULL);
  expect_all_home();
  ls_mem_delete(mem);
}
END_TEST

static void *free_by_copy(void *block) {
  entrances[1].free(mem, block, 5000);
  return NULL;
}

/* The first that comes by the one copy is not the first that came by the other. */
START_TEST(threads_are_told_apart) {
  pthread_t t;
  ls_mem_counters c;
  open_copy();
  void *block = entrances[0].alloc(mem, 5000);
  ck_assert_int_eq(pthread_create(&t, NULL, free_by_copy, block), 0);
  pthread_join(t, NULL);
  ls_mem_read_counters(mem, &c);
  ck_assert_uint_eq(c.n[LS_MEM_COUNT_remote], 1);
  entrances[1].free(mem, entrances[0].alloc(mem, 5000), 5000);
  ls_mem_read_counters(mem, &c);
  ck_assert_uint_eq(c.n[LS_MEM_COUNT_remote], 1);
  ck_assert_uint_eq(c.bugs, 0);
  ls_mem_delete(mem);
}
END_TEST

/* The heaps of threads that ended are used by the next ones, and not by the ended any more. */
START_TEST(threads_have_their_own) {
  open_copy();
  for (unsigned round = 0; round < 3; round++) {
    pthread_t t[THREADS];
    for (unsigned i = 0; i < THREADS; i++)
      ck_assert_int_eq(pthread_create(&t[i], NULL, use_both, i % 2 ? mem : NULL), 0);
    use_both(mem);
    for (unsigned i = 0; i < THREADS; i++)
      pthread_join(t[i], NULL);
  }
  ls_mem_park(mem);
  expect_all_home();
  ls_mem_delete(mem);
}
END_TEST

/* The next ls_mem lies where the last one lay, perhaps; nobody takes it for that. */
START_TEST(one_after_the_other) {
  for (unsigned round = 0; round < 10; round++) {
    open_copy();
    entrance e = entrances[round % 2];
    for (unsigned i = 0; i < 5; i++)
      e.free(mem, e.alloc(mem, some_sizes[i]), some_sizes[i]);
    expect_all_home();
    ls_mem_delete(mem);
  }
}
END_TEST

int main(void) {
  Suite *s = suite_create("mem_copies");
  TCase *t = tcase_create("copies");
  tcase_set_timeout(t, 300);
  tcase_add_test(t, a_thread_has_one_heap);
  tcase_add_test(t, threads_are_told_apart);
  tcase_add_test(t, threads_have_their_own);
  tcase_add_test(t, one_after_the_other);
  suite_add_tcase(s, t);
  SRunner *r = srunner_create(s);
  srunner_run_all(r, CK_ENV);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed != 0;
}
