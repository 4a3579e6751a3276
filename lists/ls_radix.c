/* lists/ls_radix.c - least significant digit first, counting every digit in one pass over the
 * input and leaving out digits in which all words agree. */
#include <string.h>

#include "lists/ls_cells.h"
#include "lists/ls_radix.h"

#define DIGIT_MAX 11u /* 2048 counters: more streams than this thrash the TLB */
#define DIGITS_MAX 8u
#define TINY 64u

typedef struct {
  unsigned n, bits, low; /* digits, bits of each, first bit of all */
  uint64_t n_words;
  uint32_t count[DIGITS_MAX][1u << DIGIT_MAX];
} digits;

/* Few words are not worth clearing 2048 counters. */
static void digits_plan(digits *d, uint64_t n, unsigned low, unsigned bits) {
  unsigned most = n < 4096 ? 8 : DIGIT_MAX;
  d->n = bits == 0 ? 0 : (bits + most - 1) / most;
  d->bits = bits == 0 ? 0 : (bits + d->n - 1) / d->n;
  d->low = low;
  d->n_words = n;
}

static inline unsigned digit_of(uint64_t word, unsigned shift, uint64_t mask) {
  return (unsigned)(word >> shift & mask);
}

LS_INLINE void digits_count(digits *d, const void *cells, unsigned width) {
  uint64_t mask = (UINT64_C(1) << d->bits) - 1;
  for (unsigned i = 0; i < d->n; i++)
    memset(d->count[i], 0, (mask + 1) * sizeof(uint32_t));
  for (uint64_t at = 0; at < d->n_words; at++) {
    uint64_t word = ls_cell_load(cells, width, at) >> d->low;
    for (unsigned i = 0; i < d->n; i++, word >>= d->bits)
      d->count[i][word & mask]++;
  }
}

/* Counts to first positions; false when all words agree in the digit. */
static bool digit_positions(digits *d, unsigned i) {
  uint32_t *count = d->count[i], sum = 0;
  for (uint64_t v = 0; v <= (UINT64_C(1) << d->bits) - 1; v++) {
    uint32_t here = count[v];
    if (here == d->n_words)
      return false;
    count[v] = sum;
    sum += here;
  }
  return true;
}

LS_INLINE void cells_insertion_sort(unsigned width, void *cells, uint64_t n, uint64_t mask) {
  for (uint64_t i = 1; i < n; i++) {
    uint64_t word = ls_cell_load(cells, width, i), at = i;
    for (; at > 0 && (ls_cell_load(cells, width, at - 1) & mask) > (word & mask); at--)
      ls_cell_store(cells, width, at, ls_cell_load(cells, width, at - 1));
    ls_cell_store(cells, width, at, word);
  }
}

LS_INLINE void *cells_sort(unsigned width, void *cells, void *tmp, uint64_t n, unsigned low,
                           unsigned bits) {
  if (n <= TINY) {
    uint64_t mask = bits + low >= 64 ? UINT64_MAX : (UINT64_C(1) << (bits + low)) - 1;
    cells_insertion_sort(width, cells, n, mask >> low << low);
    return cells;
  }
  digits d;
  digits_plan(&d, n, low, bits);
  digits_count(&d, cells, width);
  uint64_t mask = (UINT64_C(1) << d.bits) - 1;
  for (unsigned i = 0; i < d.n; i++) {
    if (!digit_positions(&d, i))
      continue;
    uint32_t *to = d.count[i];
    unsigned shift = low + i * d.bits;
    for (uint64_t at = 0; at < n; at++) {
      uint64_t word = ls_cell_load(cells, width, at);
      ls_cell_store(tmp, width, to[digit_of(word, shift, mask)]++, word);
    }
    void *other = cells;
    cells = tmp;
    tmp = other;
  }
  return cells;
}

void *ls_radix_cells(unsigned width, void *cells, void *tmp, uint64_t n, unsigned low,
                     unsigned bits) {
  return width == 2 ? cells_sort(2, cells, tmp, n, low, bits)
                    : cells_sort(3, cells, tmp, n, low, bits);
}

static void pairs_insertion_sort(ls_pairs p, uint64_t n) {
  for (uint64_t i = 1; i < n; i++) {
    uint64_t word = p.word[i], at = i;
    uint32_t mate = p.mate[i];
    for (; at > 0 && p.word[at - 1] > word; at--) {
      p.word[at] = p.word[at - 1];
      p.mate[at] = p.mate[at - 1];
    }
    p.word[at] = word;
    p.mate[at] = mate;
  }
}

ls_pairs ls_radix_pairs(ls_pairs p, ls_pairs tmp, uint64_t n, unsigned bits) {
  if (n <= TINY) {
    pairs_insertion_sort(p, n);
    return p;
  }
  digits d;
  digits_plan(&d, n, 0, bits);
  digits_count(&d, p.word, 3);
  uint64_t mask = (UINT64_C(1) << d.bits) - 1;
  for (unsigned i = 0; i < d.n; i++) {
    if (!digit_positions(&d, i))
      continue;
    uint32_t *to = d.count[i];
    for (uint64_t at = 0; at < n; at++) {
      uint64_t word = p.word[at];
      uint32_t place = to[digit_of(word, i * d.bits, mask)]++;
      tmp.word[place] = word;
      tmp.mate[place] = p.mate[at];
    }
    ls_pairs other = p;
    p = tmp;
    tmp = other;
  }
  return p;
}

/* ids[0 .. n) by all their bytes; tmp has room for half of them. */
static void texts_merge_sort(const ls_texts *tx, uint32_t *ids, uint32_t *tmp, uint64_t n) {
  if (n < 2)
    return;
  uint64_t half = n / 2, i = 0, j = half, to = 0;
  texts_merge_sort(tx, ids, tmp, half);
  texts_merge_sort(tx, ids + half, tmp, n - half);
  memcpy(tmp, ids, half * sizeof *ids);
  while (i < half && j < n)
    ids[to++] = ls_texts_compare(tx, tmp[i], ids[j]) <= 0 ? tmp[i++] : ids[j++];
  memcpy(ids + to, tmp + i, (half - i) * sizeof *ids);
}

/* The first bytes as a number that orders as they do. */
static uint64_t text_head(const ls_texts *tx, uint32_t id) {
  size_t len;
  const unsigned char *bytes = (const unsigned char *)ls_texts_get(tx, id, &len);
  uint64_t head = 0;
  for (unsigned i = 0; i < 8; i++)
    head = head << 8 | (i < len ? bytes[i] : 0);
  return head;
}

static void texts_sort_with(const ls_texts *tx, uint32_t *ids, uint64_t n, uint64_t *words,
                            uint32_t *mates) {
  ls_pairs p = {words, ids}, tmp = {words + n, mates};
  for (uint64_t i = 0; i < n; i++)
    words[i] = text_head(tx, ids[i]);
  p = ls_radix_pairs(p, tmp, n, 64);
  if (p.mate != ids) {
    memcpy(ids, p.mate, n * sizeof *ids);
    p.mate = ids;
  }
  for (uint64_t lo = 0, hi; lo < n; lo = hi) {
    for (hi = lo + 1; hi < n && p.word[hi] == p.word[lo];)
      hi++;
    texts_merge_sort(tx, ids + lo, mates, hi - lo);
  }
}

ls_status ls_radix_texts(ls_mem *m, const ls_texts *tx, uint32_t *ids, uint64_t n) {
  if (n < 2)
    return LS_OK;
  uint64_t *words = ls_mem_alloc(m, 2 * n * sizeof *words);
  uint32_t *mates = ls_mem_alloc(m, n * sizeof *mates);
  bool ok = words != NULL && mates != NULL;
  if (ok)
    texts_sort_with(tx, ids, n, words, mates);
  ls_mem_free(m, words, 2 * n * sizeof *words);
  ls_mem_free(m, mates, n * sizeof *mates);
  return ok ? LS_OK : LS_NOMEM;
}
