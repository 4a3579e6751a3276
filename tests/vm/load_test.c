/* Module bytes: every truncation, every damaged byte, with and without a checksum that fits. */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "tests/vm/support/assemble.h"

static ls_mem *mem;
static uint8_t *bytes;
static size_t len, cap;

static void setup(void) {
  mem = ls_mem_new(NULL);
  ck_assert_ptr_nonnull(mem);
  vm_module *m = assemble(mem, assemble_sample);
  ck_assert_int_eq(vm_save(m, mem, &bytes, &len, &cap), LS_OK);
  vm_module_release(m);
}

static void teardown(void) {
  ls_mem_stats stats;
  ls_mem_free(mem, bytes, cap);
  ls_mem_read_stats(mem, &stats);
  ck_assert_uint_eq(stats.live_bytes, 0);
  ls_mem_delete(mem);
}

static void put(uint8_t *to, uint64_t v, unsigned n) {
  for (unsigned k = 0; k < n; k++)
    to[k] = (uint8_t)(v >> (8 * k));
}

static uint8_t *section(const char *tag) {
  for (size_t at = 0; at + 4 <= len; at++)
    if (memcmp(bytes + at, tag, 4) == 0)
      return bytes + at;
  return NULL;
}

/* The length and the checksum that fit the rest. */
static void seal(uint8_t *b, size_t n) {
  put(b + 16, n, 8);
  put(b + n - 8, XXH3_64bits(b, n - 8), 8);
}

/* Loads a block of exactly that size.  True: the module is fine, and saves as the same bytes. */
static bool loads(const uint8_t *b, size_t n, vm_error *err) {
  vm_module *m = NULL;
  uint8_t *copy = malloc(n ? n : 1), *again;
  size_t len2, cap2;
  *err = (vm_error){0};
  memcpy(copy, b, n);
  ls_status status = vm_load(mem, "file", copy, n, &m, err);
  free(copy);
  if (status != LS_OK) {
    ck_assert_int_eq(status, LS_UNSUITABLE);
    ck_assert_ptr_null(m);
    ck_assert_str_ne(err->message, "");
    return false;
  }
  ck_assert(m->verified);
  ck_assert_int_eq(vm_save(m, mem, &again, &len2, &cap2), LS_OK);
  ck_assert_uint_eq(len2, n);
  ck_assert_mem_eq(again, b, n);
  ls_mem_free(mem, again, cap2);
  vm_module_release(m);
  return true;
}

static void refused(const char *message) {
  vm_error err;
  ck_assert(!loads(bytes, len, &err));
  if (!strstr(err.message, message))
    ck_abort_msg("expected: %s\nbut it says: %u: %s", message, err.column, err.message);
}

START_TEST(a_good_module_loads) {
  vm_error err;
  ck_assert(loads(bytes, len, &err));
}
END_TEST

START_TEST(every_truncation_is_refused) {
  vm_error err;
  for (size_t n = 0; n < len; n++)
    ck_assert(!loads(bytes, n, &err));
}
END_TEST

START_TEST(every_damaged_byte_is_refused) {
  vm_error err;
  for (size_t at = 0; at < len; at++)
    for (unsigned bit = 0; bit < 8; bit++) {
      bytes[at] ^= (uint8_t)(1u << bit);
      ck_assert(!loads(bytes, len, &err));
      bytes[at] ^= (uint8_t)(1u << bit);
    }
}
END_TEST

START_TEST(every_sealed_truncation_is_refused) {
  vm_error err;
  uint8_t *cut = malloc(len);
  for (size_t n = 32; n < len; n++) {
    memcpy(cut, bytes, n);
    seal(cut, n);
    ck_assert(!loads(cut, n, &err));
  }
  free(cut);
}
END_TEST

/* Each byte with one bit turned, one more, one less, none and all: sealed, it is verified or
 * refused; what loads saves as it was. */
START_TEST(every_sealed_change_is_verified_or_refused) {
  vm_error err;
  unsigned loaded = 0;
  for (size_t at = 0; at + 8 < len; at++) {
    uint8_t was = bytes[at];
    for (unsigned k = 0; k < 12; k++) {
      unsigned v = k < 8     ? was ^ 1u << k
                   : k == 8  ? was + 1u
                   : k == 9  ? was - 1u
                   : k == 10 ? 0
                             : 255;
      bytes[at] = (uint8_t)v;
      seal(bytes, len);
      loaded += bytes[at] != was && loads(bytes, len, &err);
    }
    bytes[at] = was;
    seal(bytes, len);
  }
  ck_assert_uint_gt(loaded, 500); /* letters of names, values of constants */
  ck_assert(loads(bytes, len, &err));
}
END_TEST

START_TEST(every_missing_byte_is_refused_or_verified) {
  vm_error err;
  uint8_t *other = malloc(len + 1);
  for (size_t at = 24; at + 8 < len; at++) {
    memcpy(other, bytes, at);
    memcpy(other + at, bytes + at + 1, len - at - 1);
    seal(other, len - 1);
    loads(other, len - 1, &err);
    memcpy(other, bytes, at);
    other[at] = 0;
    memcpy(other + at + 1, bytes + at, len - at);
    seal(other, len + 1);
    loads(other, len + 1, &err);
  }
  free(other);
}
END_TEST

START_TEST(versions_are_checked) {
  put(bytes + 8, 2, 2);
  seal(bytes, len);
  refused("the module has a format of another version");
  put(bytes + 8, 1, 2);
  put(bytes + 10, VM_COST_VERSION + 1, 2);
  seal(bytes, len);
  refused("other costs of instructions");
  put(bytes + 10, VM_COST_VERSION, 2);
  put(bytes + 12, 7, 4);
  seal(bytes, len);
  refused("another number of sections");
}
END_TEST

START_TEST(the_envelope_is_checked) {
  vm_error err;
  bytes[len - 1] ^= 1;
  refused("the module is damaged: its checksum is wrong");
  ck_assert(!loads(bytes, len - 1, &err));
  ck_assert_str_eq(err.message, "the module is cut short");
  ck_assert(!loads(bytes, 20, &err));
  ck_assert_str_eq(err.message, "the module is cut short");
  ck_assert(!loads((const uint8_t *)"query q()", 9, &err));
  ck_assert_str_eq(err.message, "this is no compiled Pure module");
  bytes[0] = 'P';
  refused("this is no compiled Pure module");
}
END_TEST

/* A section that claims four thousand million things has not the bytes for them. */
START_TEST(counts_beyond_the_input_take_no_memory) {
  ls_mem_stats before, after;
  vm_error err;
  uint8_t *at = section("CONS");
  ck_assert_ptr_nonnull(at);
  put(at + 12, 0xffffffff, 4);
  seal(bytes, len);
  ls_mem_read_stats(mem, &before);
  ck_assert(!loads(bytes, len, &err));
  ck_assert_str_eq(err.message, "the section ends too early");
  ls_mem_read_stats(mem, &after);
  ck_assert_uint_lt(after.peak_bytes, before.live_bytes + before.peak_bytes + 64 * 1024);
}
END_TEST

START_TEST(positions_must_be_in_shortest_form_and_in_range) {
  uint8_t *at = section("LINE");
  ck_assert_ptr_nonnull(at);
  at += 12;
  ck_assert_uint_eq(*at, 1);
  at[1] = 0x80 | (at[1] & 127);
  at[2] = 0;
  seal(bytes, len);
  refused("a number is not in its shortest form");
  at[1] = 1; /* one line up from line 0 */
  seal(bytes, len);
  refused("a line or column number is out of range");
  memset(at + 1, 0xff, 5);
  seal(bytes, len);
  refused("a number is too long");
  at[0] = 2;
  seal(bytes, len);
  refused("positions are there (1) or not (0)");
}
END_TEST

START_TEST(memory_may_run_out) {
  vm_module *m = NULL;
  vm_error err;
  uint64_t n = 0;
  ls_status status = LS_NOMEM;
  while (status == LS_NOMEM) {
    ls_mem_fail_after(mem, ++n, 1);
    status = vm_load(mem, "test", bytes, len, &m, &err);
    ls_mem_fail_after(mem, 0, 0);
    if (status == LS_NOMEM)
      ck_assert_str_eq(err.message, "out of memory");
  }
  ck_assert_int_eq(status, LS_OK);
  ck_assert_uint_gt(n, 5);
  uint8_t *out;
  size_t n2, cap2;
  ls_mem_fail_after(mem, 1, 1);
  ck_assert_int_eq(vm_save(m, mem, &out, &n2, &cap2), LS_NOMEM);
  ls_mem_fail_after(mem, 0, 0);
  vm_module_release(m);
}
END_TEST

START_TEST(the_source_name_is_kept) {
  vm_module *m;
  vm_error err;
  ck_assert_int_eq(vm_load(mem, "file", bytes, len, &m, &err), LS_OK);
  ck_assert_str_eq(m->source_name, "sample.pure");
  vm_module_release(m);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {a_good_module_loads,
                                every_truncation_is_refused,
                                every_damaged_byte_is_refused,
                                every_sealed_truncation_is_refused,
                                every_sealed_change_is_verified_or_refused,
                                every_missing_byte_is_refused_or_verified,
                                versions_are_checked,
                                the_envelope_is_checked,
                                counts_beyond_the_input_take_no_memory,
                                positions_must_be_in_shortest_form_and_in_range,
                                memory_may_run_out,
                                the_source_name_is_kept};
  Suite *suite = suite_create("load");
  TCase *tcase = tcase_create("bytes");
  tcase_add_checked_fixture(tcase, setup, teardown);
  for (unsigned k = 0; k < sizeof tests / sizeof tests[0]; k++)
    tcase_add_test(tcase, tests[k]);
  suite_add_tcase(suite, tcase);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_ENV);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed != 0;
}
