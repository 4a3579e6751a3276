#include <stdio.h>
#include <string.h>

#include "perf/tpcc/tpcc.h"

/* Eight bytes at a time: what a client does with a text that it only passes on. */
void tpcc_answer_text(tpcc_answers *a, const char *bytes, size_t n) {
  int64_t word;
  for (; n >= sizeof word; n -= sizeof word, bytes += sizeof word) {
    memcpy(&word, bytes, sizeof word);
    tpcc_answer_int(a, word);
  }
  word = (int64_t)n << 56;
  for (size_t i = 0; i < n; i++)
    word |= (int64_t)((uint64_t)(unsigned char)bytes[i] << (8 * i));
  tpcc_answer_int(a, word);
}

bool tpcc_complain(const tpcc_side *s, const char *what) {
  fprintf(stderr, "%s: %s: %s\n", tpcc_tool, s->name, what);
  return false;
}
