/* lists/ls_lanes.c - key columns as numbers that order as their values do.
 *
 * An int is taken from the least one of its column, a real by its bits, a text by its rank
 * among the texts that occur.  What is left needs few bits, so that mostly a whole key fits
 * into one word, and sorting keys is sorting words.
 */
#include "lists/ls_builder.h"

#include <string.h>

#include "lists/ls_radix.h"

#define BLOCK 256u
#define TOP (UINT64_C(1) << 63)

static uint64_t real_number(uint64_t bits) { return bits & TOP ? ~bits : bits | TOP; }
static uint64_t real_bits(uint64_t number) { return number & TOP ? number & ~TOP : ~number; }

static uint64_t slot_of(const ls_ranks *r, uint64_t id) {
  return id < LS_TEXT_OVERLAY ? id : r->base_ids + (id - LS_TEXT_OVERLAY);
}

/* Numbers of rows from .. from + n - 1, or of the rows that order names; nothing taken off. */
LS_INLINE void ints_numbers(const void *cells, unsigned width, uint64_t from, const uint32_t *order,
                            unsigned n, uint64_t *out) {
  for (unsigned i = 0; i < n; i++)
    out[i] = ls_cell_load(cells, width, order != NULL ? order[from + i] : from + i) ^ TOP;
}

static void lane_cells(const ls_lane *a, uint64_t from, const uint32_t *order, unsigned n,
                       uint64_t *out) {
  switch (a->width) {
  case 0:
    ints_numbers(a->cells, 0, from, order, n, out);
    break;
  case 1:
    ints_numbers(a->cells, 1, from, order, n, out);
    break;
  case 2:
    ints_numbers(a->cells, 2, from, order, n, out);
    break;
  default:
    ints_numbers(a->cells, 3, from, order, n, out);
    break;
  }
}

static void lane_numbers(const ls_lane *a, const ls_ranks *r, uint64_t from, const uint32_t *order,
                         unsigned n, uint64_t *out) {
  lane_cells(a, from, order, n, out);
  if (a->type == LS_REAL)
    for (unsigned i = 0; i < n; i++)
      out[i] = real_number(out[i] ^ TOP);
  if (a->type == LS_TEXT)
    for (unsigned i = 0; i < n; i++)
      out[i] = r->rank[slot_of(r, out[i] ^ TOP)];
}

static ls_lane lane_of(const ls_builder *b, unsigned c) {
  return (ls_lane){b->col[c].cells, b->col[c].width, b->schema->cols[c].type, 0, 0};
}

static unsigned block_rows(uint64_t from, uint64_t n) {
  return n - from < BLOCK ? (unsigned)(n - from) : BLOCK;
}

/* same[i]: rows i and i + 1 of the block agree so far.  False: out of order. */
static bool texts_in_order(const ls_builder *b, const uint64_t *v, unsigned n, uint8_t *same) {
  for (unsigned i = 0; i < n; i++) {
    if (!same[i])
      continue;
    int order = ls_texts_compare(b->texts, (uint32_t)(v[i] ^ TOP), (uint32_t)(v[i + 1] ^ TOP));
    if (order > 0)
      return false;
    same[i] = order == 0;
  }
  return true;
}

static bool numbers_in_order(const uint64_t *v, unsigned n, uint8_t *same) {
  uint8_t bad = 0;
  for (unsigned i = 0; i < n; i++) {
    bad |= same[i] & (v[i] > v[i + 1]);
    same[i] &= v[i] == v[i + 1];
  }
  return !bad;
}

/* Rows from .. from + n are in order, each key once. */
static bool block_sorted(const ls_builder *b, uint64_t from, unsigned n) {
  uint8_t same[BLOCK];
  uint64_t v[BLOCK + 1];
  memset(same, 1, sizeof same);
  for (unsigned c = 0; c < b->schema->nkeys; c++) {
    ls_lane a = lane_of(b, c);
    bool ok;
    if (a.type == LS_TEXT) {
      lane_cells(&a, from, NULL, n + 1, v);
      ok = texts_in_order(b, v, n, same);
    } else {
      lane_numbers(&a, NULL, from, NULL, n + 1, v);
      ok = numbers_in_order(v, n, same);
    }
    if (!ok)
      return false;
  }
  for (unsigned i = 0; i < n; i++)
    if (same[i])
      return false;
  return true;
}

bool ls_lanes_sorted(const ls_builder *b, uint64_t n) {
  for (uint64_t from = 0; from + 1 < n; from += BLOCK)
    if (!block_sorted(b, from, block_rows(from, n - 1)))
      return false;
  return true;
}

/* How many ids of either kind there may be, going by the largest in the text keys. */
static void ids_bound(const ls_lanes *k, uint64_t *base, uint64_t *own) {
  uint64_t v[BLOCK];
  *base = *own = 0;
  for (unsigned c = 0; c < k->b->schema->nkeys; c++) {
    if (k->lane[c].type != LS_TEXT)
      continue;
    for (uint64_t from = 0; from < k->n; from += BLOCK) {
      unsigned n = block_rows(from, k->n);
      lane_cells(&k->lane[c], from, NULL, n, v);
      for (unsigned i = 0; i < n; i++) {
        uint64_t id = v[i] ^ TOP, *most = id < LS_TEXT_OVERLAY ? base : own;
        uint64_t end = (id < LS_TEXT_OVERLAY ? id : id - LS_TEXT_OVERLAY) + 1;
        if (end > *most)
          *most = end;
      }
    }
  }
}

/* Sets rank to 1 for every id that occurs; returns how many do. */
static uint64_t ids_mark(const ls_lanes *k, uint32_t *rank) {
  uint64_t v[BLOCK], distinct = 0;
  for (unsigned c = 0; c < k->b->schema->nkeys; c++) {
    if (k->lane[c].type != LS_TEXT)
      continue;
    for (uint64_t from = 0; from < k->n; from += BLOCK) {
      unsigned n = block_rows(from, k->n);
      lane_cells(&k->lane[c], from, NULL, n, v);
      for (unsigned i = 0; i < n; i++) {
        uint32_t *seen = &rank[slot_of(&k->ranks, v[i] ^ TOP)];
        distinct += *seen == 0;
        *seen = 1;
      }
    }
  }
  return distinct;
}

/* Ranks from the sorted ids: two ids of one text (a base's and an overlay's) share theirs. */
static void ranks_number(ls_ranks *r, const ls_texts *tx) {
  uint32_t ranks = 0;
  for (uint64_t i = 0; i < r->distinct; i++) {
    uint32_t id = r->id[i];
    if (ranks == 0 || ls_texts_compare(tx, r->id[ranks - 1], id) != 0)
      r->id[ranks++] = id;
    r->rank[slot_of(r, id)] = ranks - 1;
  }
}

static ls_status ranks_make(ls_lanes *k) {
  ls_ranks *r = &k->ranks;
  uint64_t base, own;
  ids_bound(k, &base, &own);
  if (base + own == 0)
    return LS_OK;
  r->base_ids = (uint32_t)base;
  r->slots = base + own;
  r->rank = ls_mem_zalloc(k->b->mem, r->slots * sizeof *r->rank);
  if (r->rank == NULL)
    return LS_NOMEM;
  r->distinct = ids_mark(k, r->rank);
  r->id = ls_mem_alloc(k->b->mem, r->distinct * sizeof *r->id);
  if (r->id == NULL)
    return LS_NOMEM;
  uint64_t n = 0;
  for (uint64_t slot = 0; slot < r->slots; slot++)
    if (r->rank[slot] != 0)
      r->id[n++] = (uint32_t)(slot < base ? slot : slot - base + LS_TEXT_OVERLAY);
  ls_status st = ls_radix_texts(k->b->mem, k->b->texts, r->id, n);
  if (st == LS_OK)
    ranks_number(r, k->b->texts);
  return st;
}

static void lane_measure(ls_lane *a, const ls_ranks *r, uint64_t rows) {
  uint64_t v[BLOCK], lo = UINT64_MAX, hi = 0;
  for (uint64_t from = 0; from < rows; from += BLOCK) {
    unsigned n = block_rows(from, rows);
    lane_numbers(a, r, from, NULL, n, v);
    for (unsigned i = 0; i < n; i++) {
      lo = v[i] < lo ? v[i] : lo;
      hi = v[i] > hi ? v[i] : hi;
    }
  }
  a->lo = lo;
  for (a->bits = 0; a->bits < 64 && (hi - lo) >> a->bits != 0;)
    a->bits++;
}

ls_status ls_lanes_make(ls_lanes *k, const ls_builder *b, uint64_t n) {
  memset(k, 0, sizeof *k);
  k->b = b;
  k->n = n;
  for (unsigned c = 0; c < b->schema->nkeys; c++)
    k->lane[c] = lane_of(b, c);
  if (ranks_make(k) != LS_OK) {
    ls_lanes_free(k);
    return LS_NOMEM;
  }
  for (unsigned c = 0; c < b->schema->nkeys; c++)
    lane_measure(&k->lane[c], &k->ranks, n);
  return LS_OK;
}

void ls_lanes_free(ls_lanes *k) {
  ls_mem_free(k->b->mem, k->ranks.rank, k->ranks.slots * sizeof *k->ranks.rank);
  ls_mem_free(k->b->mem, k->ranks.id, k->ranks.distinct * sizeof *k->ranks.id);
  k->ranks = (ls_ranks){0};
}

unsigned ls_lanes_bits(const ls_lanes *k, unsigned first, unsigned last) {
  unsigned bits = 0;
  for (unsigned i = first; i < last; i++)
    bits += k->lane[i].bits;
  return bits;
}

/* Words of one block.  Bits of a word never exceed 64, but a lane without bits may stand at
 * bit 64. */
static void block_pack(const ls_lanes *k, unsigned first, unsigned last, unsigned low,
                       uint64_t from, const uint32_t *order, unsigned n, uint64_t *words) {
  uint64_t v[BLOCK];
  memset(words, 0, n * sizeof *words);
  unsigned shift = low + ls_lanes_bits(k, first, last);
  for (unsigned i = first; i < last; i++) {
    const ls_lane *a = &k->lane[i];
    if (a->bits == 0)
      continue;
    shift -= a->bits;
    lane_numbers(a, &k->ranks, from, order, n, v);
    for (unsigned j = 0; j < n; j++)
      words[j] |= (v[j] - a->lo) << shift;
  }
}

void ls_lanes_pack(const ls_lanes *k, unsigned first, unsigned last, unsigned low, void *words,
                   unsigned width) {
  uint64_t block[BLOCK];
  for (uint64_t from = 0; from < k->n; from += BLOCK) {
    unsigned n = block_rows(from, k->n);
    block_pack(k, first, last, low, from, NULL, n, block);
    if (width == 3)
      memcpy((uint64_t *)words + from, block, n * sizeof *block);
    else
      for (unsigned i = 0; i < n; i++)
        ((uint32_t *)words)[from + i] = (uint32_t)block[i];
  }
}

void ls_lanes_pack_order(const ls_lanes *k, unsigned first, unsigned last, const uint32_t *order,
                         uint64_t *words) {
  for (uint64_t from = 0; from < k->n; from += BLOCK)
    block_pack(k, first, last, 0, from, order, block_rows(from, k->n), words + from);
}

uint64_t ls_lanes_word(const ls_lanes *k, unsigned first, unsigned last, uint64_t row) {
  uint64_t word;
  block_pack(k, first, last, 0, row, NULL, 1, &word);
  return word;
}

void ls_lanes_unpack(const ls_lanes *k, unsigned i, const void *words, unsigned width, uint64_t n,
                     void *cells) {
  const ls_lane *a = &k->lane[i];
  unsigned shift = ls_lanes_bits(k, i + 1, k->b->schema->nkeys);
  uint64_t mask = a->bits == 64 ? UINT64_MAX : (UINT64_C(1) << a->bits) - 1;
  for (uint64_t at = 0; at < n; at++) {
    uint64_t word = ls_cell_load(words, width, at);
    uint64_t number = (a->bits == 0 ? 0 : word >> shift & mask) + a->lo;
    uint64_t v = a->type == LS_REAL   ? real_bits(number)
                 : a->type == LS_TEXT ? k->ranks.id[number]
                                      : number ^ TOP;
    ls_cell_store(cells, a->width, at, v);
  }
}

bool ls_lanes_equal(const ls_lanes *k, uint64_t row, uint64_t other) {
  for (unsigned i = 0; i < k->b->schema->nkeys; i++) {
    uint64_t x, y;
    lane_numbers(&k->lane[i], &k->ranks, row, NULL, 1, &x);
    lane_numbers(&k->lane[i], &k->ranks, other, NULL, 1, &y);
    if (x != y)
      return false;
  }
  return true;
}
