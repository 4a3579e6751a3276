/* tests/ir/support/compare.h - one program, two contexts: `step` alone, and regions by a machine.
 *
 * Two stores are filled alike with rows made from a seed; every function is called on both with
 * arguments made from it.  Status, result, rows, fault with its place and words, work and the
 * store's digest must be the same after each call.  A difference ends the test.
 */
#ifndef PURE_TESTS_IR_COMPARE_H
#define PURE_TESTS_IR_COMPARE_H

#include "tests/ir/support/machine.h"

typedef struct {
  machine_options machine;
  uint64_t seed;  /* of rows, layouts and arguments */
  unsigned rows;  /* a stored list, at most */
  unsigned calls; /* of each function */
  bool relayout;  /* stored lists in layouts at random */
  bool limits;    /* some calls with little work or memory to spend */
  uint64_t
      stress; /* != 0: the second store's lists change layouts at random, and it has no limits */
  /* Instead of a machine: the second link is made ready for its contexts, and is about to go. */
  void (*link_made)(void *user, vm_link *k);
  void (*link_ends)(void *user, vm_link *k);
  void (*called)(void *user, vm_link *k); /* after each call; NULL: nothing */
  void *user;
} compare_options;

/* Adds what the machine counted to *total (may be NULL). */
void compare_program(const char *name, const char *text, size_t len, const compare_options *o,
                     machine_counts *total);
void compare_file(const char *path, const compare_options *o, machine_counts *total);

#endif
