#include "perf/support/probe.h"

#include <stdlib.h>
#include <string.h>

#include "perf/support/random.h"

#if defined(__clang__)
const char *const probe_compiler = "clang " __clang_version__;
#else
const char *const probe_compiler = "gcc " __VERSION__;
#endif

const uint32_t probe_widths[PROBE_WIDTHS] = {1, 8, 32};
const char *const probe_names[PROBE_FORMS] = {"plain C",     "c_hash",      "aligned_1",
                                              "aligned_8",   "aligned_32",  "unaligned_1",
                                              "unaligned_8", "unaligned_32"};

enum { LEAST_KEY = 1000003 }; /* no multiple of any width */

/* One key from each stretch of `sparsity` numbers: sorted and distinct as they are made. */
static void make_rows(probe_data *d, uint32_t sparsity, uint64_t *seed) {
  for (uint32_t i = 0; i < d->rows; i++) {
    d->key[i] = LEAST_KEY + i * sparsity + random_below(seed, sparsity);
    d->value[i] = random_below(seed, 60000);
  }
}

static void make_probes(probe_data *d, uint64_t *seed) {
  for (uint32_t i = 0; i < d->probes; i++) {
    uint32_t row = random_below(seed, d->rows);
    bool last = row + 1 == d->rows;
    bool misses = random_below(seed, 8) == 0 && (last || d->key[row + 1] > d->key[row] + 1);
    d->probe[i] = d->key[row] + misses;
  }
}

static uint32_t hash(uint32_t key) { return (uint32_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 32); }

static void fill_hash(probe_data *d) {
  for (uint32_t i = 0; i < d->rows; i++) {
    uint32_t at = hash(d->key[i]) & d->mask;
    while (d->slot[at])
      at = (at + 1) & d->mask;
    d->slot[at] = i + 1;
  }
}

/* The least width, a power of two, that leaves at most one bucket for every `width` rows. */
static bool make_directory(probe_directory *p, const probe_data *d, uint32_t width, bool aligned) {
  uint32_t lo = d->key[0], hi = d->key[d->rows - 1], most = d->rows / width + 1;
  while ((hi - lo) >> p->shift >= most)
    p->shift++;
  p->origin = aligned ? lo >> p->shift << p->shift : lo;
  p->buckets = ((hi - p->origin) >> p->shift) + 1;
  p->first = malloc(((size_t)p->buckets + 1) * sizeof *p->first);
  if (!p->first)
    return false;
  uint32_t next = 0;
  for (uint32_t i = 0; i < d->rows; i++)
    while (next <= (d->key[i] - p->origin) >> p->shift)
      p->first[next++] = i;
  p->first[next] = d->rows;
  return true;
}

bool probe_data_make(probe_data *d, uint32_t rows, uint32_t probes, uint32_t sparsity,
                     uint64_t seed) {
  *d = (probe_data){.rows = rows, .probes = probes, .mask = 1};
  while (d->mask < 2 * (uint64_t)rows)
    d->mask = d->mask * 2 + 1;
  d->key = malloc(rows * sizeof *d->key);
  d->value = malloc(rows * sizeof *d->value);
  d->probe = malloc(probes * sizeof *d->probe);
  d->slot = calloc((size_t)d->mask + 1, sizeof *d->slot);
  if (!d->key || !d->value || !d->probe || !d->slot)
    return false;
  make_rows(d, sparsity, &seed);
  make_probes(d, &seed);
  fill_hash(d);
  for (uint32_t i = 0; i < PROBE_WIDTHS; i++)
    if (!make_directory(&d->aligned[i], d, probe_widths[i], true) ||
        !make_directory(&d->unaligned[i], d, probe_widths[i], false))
      return false;
  return true;
}

void probe_data_free(probe_data *d) {
  free(d->key);
  free(d->value);
  free(d->probe);
  free(d->slot);
  for (uint32_t i = 0; i < PROBE_WIDTHS; i++) {
    free(d->aligned[i].first);
    free(d->unaligned[i].first);
  }
  *d = (probe_data){0};
}

/* The value of the key among rows lo .. hi - 1, or 1. */
static int64_t search(const probe_data *d, uint32_t lo, uint32_t hi, uint32_t key) {
  uint32_t end = hi;
  while (lo < hi) {
    uint32_t middle = lo + (hi - lo) / 2;
    if (d->key[middle] < key)
      lo = middle + 1;
    else
      hi = middle;
  }
  return lo < end && d->key[lo] == key ? d->value[lo] : 1;
}

static int64_t run_search(const probe_data *d) {
  int64_t total = 0;
  for (uint32_t i = 0; i < d->probes; i++)
    total += search(d, 0, d->rows, d->probe[i]);
  return total;
}

static int64_t run_hash(const probe_data *d) {
  int64_t total = 0;
  for (uint32_t i = 0; i < d->probes; i++) {
    uint32_t key = d->probe[i], at = hash(key) & d->mask;
    while (d->slot[at] && d->key[d->slot[at] - 1] != key)
      at = (at + 1) & d->mask;
    total += d->slot[at] ? d->value[d->slot[at] - 1] : 1;
  }
  return total;
}

/* What an aligned origin is good for: whole bucket numbers can be subtracted. */
static int64_t run_aligned(const probe_data *d, const probe_directory *p) {
  int64_t total = 0;
  uint32_t least = p->origin >> p->shift;
  for (uint32_t i = 0; i < d->probes; i++) {
    uint32_t b = (d->probe[i] >> p->shift) - least;
    total += b < p->buckets ? search(d, p->first[b], p->first[b + 1], d->probe[i]) : 1;
  }
  return total;
}

static int64_t run_unaligned(const probe_data *d, const probe_directory *p) {
  int64_t total = 0;
  for (uint32_t i = 0; i < d->probes; i++) {
    uint32_t b = (d->probe[i] - p->origin) >> p->shift;
    total += b < p->buckets ? search(d, p->first[b], p->first[b + 1], d->probe[i]) : 1;
  }
  return total;
}

int64_t probe_run(const probe_data *d, probe_form form) {
  if (form == PROBE_C)
    return run_search(d);
  if (form == PROBE_C_HASH)
    return run_hash(d);
  if (form < PROBE_UNALIGNED)
    return run_aligned(d, &d->aligned[form - PROBE_ALIGNED]);
  return run_unaligned(d, &d->unaligned[form - PROBE_UNALIGNED]);
}
