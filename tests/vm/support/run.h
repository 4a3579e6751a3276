/* tests/vm/support/run.h - runs assembled programs on the interpreter and by `step` at once.
 *
 * Each program gets two stores.  Every call is made on both, one run by each, and everything that
 * can be seen afterwards must be the same: status, result, rows, fault with its place and words,
 * work, what the profile counted, and the digest of the store.
 */
#ifndef PURE_TESTS_VM_RUN_H
#define PURE_TESTS_VM_RUN_H

#include "vm/vm_int.h"

typedef struct {
  ls_mem *mem;
  vm_module *m;
  vm_link *link[2];
  vm_context *cx[2]; /* 0: interpreter, 1: step */
  vm_result out[2];
} run;

#define INT(v) ((ls_val){.i = (v)})
#define REAL(v) ((ls_val){.r = (v)})
#define ARGS(...) ((const ls_val[]){__VA_ARGS__})
#define NO_ARGS NULL

void run_open(run *r, const char *assembly);
void run_open_policy(run *r, const char *assembly, const ls_policy *policy);
void run_close(run *r); /* nothing may have leaked */
void run_limit(run *r, uint64_t work, uint64_t memory, uint32_t depth);

/* The id of a text argument, for the next call. */
ls_val run_text(run *r, const char *text);
vm_status run_call(run *r, const char *fn, const ls_val *args);

/* Calls that must succeed, and their results. */
void run_do(run *r, const char *fn, const ls_val *args);
int64_t run_int(run *r, const char *fn, const ls_val *args);
double run_real(run *r, const char *fn, const ls_val *args);
void run_is_text(run *r, const char *fn, const ls_val *args, const char *expected);
/* As "1 2; 3 4": rows in order, columns in the order of the schema. */
void run_is_rows(run *r, const char *fn, const ls_val *args, const char *expected);
/* A call that must fault: kind, line of the source (0: any), work (UINT64_MAX: any). */
void run_faults(run *r, const char *fn, const ls_val *args, vm_fault_kind kind, uint32_t line,
                uint64_t work);
uint64_t run_work(const run *r); /* of the last call */
uint64_t run_digest(const run *r);
/* The rows of a stored list, likewise. */
void run_stored_is(run *r, unsigned list, const char *expected);

#endif
