/* perf/support/probe.h - rows looked up by key, by hand, over sorted columns of distinct keys.
 *
 *   plain C       a binary search over all keys
 *   c_hash        open addressing, at most half full
 *   aligned_N     a directory of buckets that are a power of two wide, about N keys each, the first
 *                 one beginning at a multiple of that width; then a search in the bucket
 *   unaligned_N   the same, the first bucket beginning at the least key
 */
#ifndef PURE_PERF_PROBE_H
#define PURE_PERF_PROBE_H

#include <stdbool.h>
#include <stdint.h>

enum { PROBE_WIDTHS = 3 };
extern const uint32_t probe_widths[PROBE_WIDTHS]; /* keys a bucket */

typedef enum {
  PROBE_C,
  PROBE_C_HASH,
  PROBE_ALIGNED,
  PROBE_UNALIGNED = PROBE_ALIGNED + PROBE_WIDTHS,
  PROBE_FORMS = PROBE_UNALIGNED + PROBE_WIDTHS
} probe_form;

extern const char *const probe_names[PROBE_FORMS];
extern const char *const probe_compiler;

/* Rows with first[b] <= row < first[b + 1] have keys of bucket b. */
typedef struct {
  uint32_t origin, shift, buckets;
  uint32_t *first;
} probe_directory;

typedef struct {
  uint32_t rows, probes;
  uint32_t *key;   /* sorted */
  uint32_t *value; /* of the same row */
  uint32_t *probe; /* keys to look up: seven of eight are there */
  uint32_t mask;   /* slots of the hash table, less one */
  uint32_t *slot;  /* row + 1; 0: empty */
  probe_directory aligned[PROBE_WIDTHS], unaligned[PROBE_WIDTHS];
} probe_data;

/* Keys are spread over `sparsity` times as many numbers as there are rows; rows * sparsity is below
 * 2^31.  False: no memory.  Call probe_data_free. */
bool probe_data_make(probe_data *d, uint32_t rows, uint32_t probes, uint32_t sparsity,
                     uint64_t seed);
void probe_data_free(probe_data *d);

/* The sum of the values found; a key that is not there counts 1. */
int64_t probe_run(const probe_data *d, probe_form form);

#endif
