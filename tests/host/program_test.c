/* Engines and programs: options, compiling, modules, what a program declares. */
#include "support/host_support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

START_TEST(versions) {
  ck_assert_str_eq(pure_version(), PURE_VERSION);
  char numbers[32];
  snprintf(numbers, sizeof numbers, "%d.%d.%d", PURE_VERSION_MAJOR, PURE_VERSION_MINOR,
           PURE_VERSION_PATCH);
  ck_assert_str_eq(numbers, PURE_VERSION);
}
END_TEST

START_TEST(names_of_everything) {
  for (int i = 0; i < PURE_NSTATUS; i++)
    ck_assert_str_ne(pure_status_name((pure_status)i), "unknown status");
  for (int i = 1; i < PURE_NFAULTS; i++)
    ck_assert_str_ne(pure_fault_name((pure_fault)i), "unknown fault");
  ck_assert_str_eq(pure_status_name((pure_status)99), "unknown status");
  ck_assert_str_eq(pure_fault_name((pure_fault)-1), "unknown fault");
  ck_assert_str_eq(pure_fault_name(PURE_FAULT_DIV_ZERO), "division by zero");
  ck_assert_str_eq(pure_type_name(PURE_DATE), "date");
  ck_assert_str_eq(pure_type_name((pure_type)77), "nothing");
}
END_TEST

START_TEST(options_are_checked) {
  pure_engine *engine = (pure_engine *)1;
  pure_error e = {0};
  pure_engine_options options = {.size = 3};
  host_refused(pure_engine_new(&options, &engine, &e), &e, PURE_MISUSE, "size");
  ck_assert_ptr_null(engine);
  options = (pure_engine_options){.size = sizeof options, .jit = (pure_jit)9};
  host_refused(pure_engine_new(&options, &engine, &e), &e, PURE_MISUSE, "jit");
  pure_memory_hooks half = {0};
  options = (pure_engine_options){.size = sizeof options, .memory = &half};
  host_refused(pure_engine_new(&options, &engine, &e), &e, PURE_MISUSE, "both functions");
  host_refused(pure_engine_new(NULL, NULL, &e), &e, PURE_MISUSE, "out");
  ck_assert_int_eq(pure_engine_new(NULL, NULL, NULL), PURE_MISUSE);
  options = (pure_engine_options){.size = sizeof(size_t)}; /* of an older header */
  host_fine(pure_engine_new(&options, &engine, &e), &e);
  pure_engine_release(engine);
  options = (pure_engine_options){.size = sizeof options, .jit = PURE_JIT_0};
  host_fine(pure_engine_new(&options, &engine, &e), &e);
  ck_assert_int_eq(pure_engine_jit(engine), PURE_JIT_0);
  pure_engine_release(engine);
  pure_engine_release(NULL);
}
END_TEST

typedef struct {
  long blocks;
  size_t bytes;
} host_memory;

static void *counted_alloc(void *user, size_t bytes) {
  host_memory *m = user;
  m->blocks++;
  m->bytes += bytes;
  return aligned_alloc(64, (bytes + 63) / 64 * 64);
}

static void counted_free(void *user, void *block, size_t bytes) {
  host_memory *m = user;
  m->blocks--;
  m->bytes -= bytes;
  free(block);
}

START_TEST(memory_hooks_get_everything_back) {
  host_memory memory = {0, 0};
  pure_memory_hooks hooks = {counted_alloc, counted_free, &memory};
  pure_engine_options options = {.size = sizeof options, .memory = &hooks};
  host_world w = {0};
  pure_error e = {0};
  host_fine(pure_engine_new(&options, &w.engine, &e), &e);
  host_fine(pure_program_compile(w.engine, "t", host_program, strlen(host_program), NULL, NULL,
                                 &w.program, &e),
            &e);
  host_fine(pure_store_new(w.program, &w.store, &e), &e);
  host_fine(pure_session_new(w.store, &w.session, &e), &e);
  host_call(&w, "note_many", "1000", NULL);
  ck_assert_int_gt(memory.blocks, 0);
  pure_memory_stats stats;
  pure_engine_memory(w.engine, &stats);
  ck_assert_uint_gt(stats.live_bytes, 1000);
  ck_assert_uint_ge(stats.peak_bytes, stats.live_bytes);
  ck_assert_uint_gt(stats.allocations, stats.frees);
  host_close(&w);
  ck_assert_int_eq(memory.blocks, 0);
  ck_assert_uint_eq(memory.bytes, 0);
}
END_TEST

/* Keeps what was reported. */
typedef struct {
  unsigned count;
  char text[2048];
} reports;

static void keep(void *user, const pure_diagnostic *d) {
  reports *r = user;
  r->count++;
  ck_assert_uint_gt(d->line, 0);
  ck_assert_uint_gt(d->width, 0);
  ck_assert_str_ne(d->message, "");
  snprintf(r->text + strlen(r->text), sizeof r->text - strlen(r->text), "%s\n", d->formatted);
}

START_TEST(errors_of_a_program) {
  static const char text[] = "list edges (from: int, to: int) key (from, to)\n"
                             "query a(): int { return count(edgse) }\n"
                             "query b(): int { return 1 + true }\n";
  host_world w;
  reports r = {0};
  pure_error e = {0};
  pure_program *program = NULL;
  host_open(&w, NULL);
  pure_status status =
      pure_program_compile(w.engine, "bad.pure", text, strlen(text), keep, &r, &program, &e);
  host_refused(status, &e, PURE_BAD_PROGRAM, "edgse");
  ck_assert_str_eq(e.file, "bad.pure");
  ck_assert_uint_eq(e.line, 2);
  ck_assert_uint_eq(e.column, 31);
  ck_assert_uint_eq(r.count, 2);
  ck_assert_ptr_nonnull(strstr(r.text, "bad.pure:3:"));
  ck_assert_ptr_nonnull(strstr(r.text, "^"));
  ck_assert_ptr_null(program);
  char line[64], small[8];
  size_t full = pure_error_format(&e, line, sizeof line);
  ck_assert_uint_gt(full, 18);
  ck_assert_int_eq(strncmp(line, "bad.pure:2:31: ", 15), 0);
  ck_assert_uint_eq(pure_error_format(&e, small, sizeof small), full);
  ck_assert_str_eq(small, "bad.pur");
  ck_assert_uint_eq(pure_error_format(&e, NULL, 0), full);
  host_close(&w);
}
END_TEST

typedef struct {
  char bytes[1 << 16];
  size_t n, most;
} sink;

static bool collect(void *user, const void *bytes, size_t n) {
  sink *s = user;
  if (s->n + n > s->most)
    return false;
  memcpy(s->bytes + s->n, bytes, n);
  s->n += n;
  return true;
}

START_TEST(modules_go_out_and_in) {
  static sink one, two, small;
  host_world w;
  pure_error e = {0};
  pure_program *again;
  one.most = two.most = sizeof one.bytes;
  small.most = 10;
  host_open(&w, NULL);
  host_fine(pure_program_write(w.program, collect, &one, &e), &e);
  ck_assert(pure_program_is_module(one.bytes, one.n));
  ck_assert(!pure_program_is_module(host_program, strlen(host_program)));
  ck_assert(!pure_program_is_module("", 0));
  host_fine(pure_program_load(w.engine, "test.pbc", one.bytes, one.n, &again, &e), &e);
  host_fine(pure_program_write(again, collect, &two, &e), &e);
  ck_assert_uint_eq(one.n, two.n);
  pure_program_release(again);
  host_refused(pure_program_write(w.program, collect, &small, &e), &e, PURE_IO, "written");
  for (size_t n = 0; n < one.n; n += 1 + one.n / 97) { /* cut short anywhere */
    pure_status status = pure_program_load(w.engine, "cut", one.bytes, n, &again, &e);
    ck_assert_int_eq(status, PURE_BAD_PROGRAM);
    ck_assert_ptr_null(again);
  }
  one.bytes[one.n / 2] ^= 4;
  host_refused(pure_program_load(w.engine, "bent", one.bytes, one.n, &again, &e), &e,
               PURE_BAD_PROGRAM, "module");
  host_close(&w);
}
END_TEST

START_TEST(disassembly) {
  static sink all, one;
  host_world w;
  pure_error e = {0};
  host_open(&w, NULL);
  all.most = one.most = sizeof all.bytes - 1;
  host_fine(pure_program_disasm(w.program, NULL, collect, &all, &e), &e);
  host_fine(pure_program_disasm(w.program, "down", collect, &one, &e), &e);
  ck_assert_ptr_nonnull(strstr(all.bytes, "event half"));
  ck_assert_ptr_nonnull(strstr(one.bytes, "fn down"));
  ck_assert_ptr_null(strstr(one.bytes, "event half"));
  host_refused(pure_program_disasm(w.program, "nowhere", collect, &one, &e), &e, PURE_NOT_FOUND,
               "nowhere");
  host_close(&w);
}
END_TEST

START_TEST(declarations) {
  host_world w;
  host_open(&w, NULL);
  pure_list_info list;
  pure_column_info column;
  pure_function_info f;
  uint32_t n = 9, key = 9;
  ck_assert_int_eq(pure_program_find_list(w.program, "people", &n), PURE_OK);
  ck_assert_int_eq(pure_program_list(w.program, n, &list), PURE_OK);
  ck_assert_str_eq(list.name, "people");
  ck_assert_uint_eq(list.ncolumns, 5);
  ck_assert_uint_eq(list.nkeys, 1);
  ck_assert_int_eq(pure_program_list_key(w.program, n, 0, &key), PURE_OK);
  ck_assert_uint_eq(key, 1); /* declared second */
  ck_assert_int_eq(pure_program_list_key(w.program, n, 1, &key), PURE_NOT_FOUND);
  ck_assert_int_eq(pure_program_list_column(w.program, n, 2, &column), PURE_OK);
  ck_assert_str_eq(column.name, "born");
  ck_assert_int_eq(column.type, PURE_DATE);
  ck_assert_int_eq(pure_program_list_column(w.program, n, 5, &column), PURE_NOT_FOUND);
  ck_assert_int_eq(pure_program_list(w.program, 3, &list), PURE_NOT_FOUND);
  ck_assert_int_eq(pure_program_find_list(w.program, "peple", &n), PURE_NOT_FOUND);
  ck_assert_int_eq(pure_program_find_function(w.program, "seen", &n), PURE_OK);
  ck_assert_int_eq(pure_program_function(w.program, n, &f), PURE_OK);
  ck_assert_int_eq(f.kind, PURE_QUERY);
  ck_assert_int_eq(f.result, PURE_RESULT_ROWS);
  ck_assert_uint_eq(f.ncolumns, 2);
  ck_assert_int_eq(pure_program_result_column(w.program, n, 1, &column), PURE_OK);
  ck_assert_str_eq(column.name, "twice");
  ck_assert_int_eq(pure_program_find_function(w.program, "half", &n), PURE_OK);
  ck_assert_int_eq(pure_program_function(w.program, n, &f), PURE_OK);
  ck_assert_int_eq(f.kind, PURE_EVENT);
  ck_assert_int_eq(f.result, PURE_RESULT_NOTHING);
  ck_assert_int_eq(pure_program_parameter(w.program, n, 0, &column), PURE_OK);
  ck_assert_str_eq(column.name, "n");
  ck_assert_int_eq(pure_program_parameter(w.program, n, 1, &column), PURE_NOT_FOUND);
  ck_assert_int_eq(pure_program_find_function(w.program, "down", &n), PURE_NOT_FOUND);
  ck_assert_int_eq(pure_program_function(NULL, 0, &f), PURE_MISUSE);
  host_close(&w);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {versions,
                                names_of_everything,
                                options_are_checked,
                                memory_hooks_get_everything_back,
                                errors_of_a_program,
                                modules_go_out_and_in,
                                disassembly,
                                declarations};
  return HOST_RUN("program", tests);
}
