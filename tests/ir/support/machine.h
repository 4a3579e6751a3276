/* tests/ir/support/machine.h - a context that runs regions by eval.h wherever it can enter one, and
 * `step` elsewhere: what a tier does, with nothing compiled. */
#ifndef PURE_TESTS_IR_MACHINE_H
#define PURE_TESTS_IR_MACHINE_H

#include "ir/ir.h"
#include "vm/vm.h"

typedef struct {
  unsigned level; /* of ir_optimise; 0: as built */
  unsigned trust; /* ir_trust of every list; 3: at random */
  uint64_t seed;  /* of that, and of when a region is entered */
  unsigned skip;  /* of 8 chances to enter a region, so many are let go */
  bool careful;   /* no checks for whole loops */
  uint64_t l2_bytes;
  const char *passes; /* instead of level's: names with blanks between */
} machine_options;

typedef struct {
  uint64_t entries, exits[IR_NEXITS], steps, nodes, built, refused;
} machine_counts;

/* Calls on this context run that way until it is deleted.  Regions are built from the lists'
 * shapes at the first entry, and again after an exit for a shape. */
typedef struct machine machine;
machine *machine_new(vm_context *cx, const machine_options *o);
void machine_delete(machine *m);          /* before its context */
void machine_run_by_step(vm_context *cx); /* no regions: what the others are compared with */
machine_counts machine_read(const machine *m);

#endif
