/* vm/vm_fuse.c - several instructions in one handler.
 *
 * A fused handler saves the dispatches between its parts and passes values on in processor
 * registers.  It does all that its parts do, results of each included, and faults at the part
 * that faults, so only time can tell.  The parts' own slots stay as they are: jumps may lead there.
 *
 * Which patterns: those that measured best on loops over slices, counted loops, and breadth-first
 * search; docs/vm.md has the numbers.
 */
#include "vm/vm_int.h"

/* How a part's operands must agree with the part before it; handlers rely on it. */
enum {
  ANY,
  TESTS, /* its a is the result just made */
  READS, /* its b is the result just made */
  ROW    /* get of the row whose handle was just made */
};

#define PARTS 4

typedef struct {
  uint16_t xop;
  uint16_t part[PARTS]; /* handlers; 0, which is mov and never follows, ends them */
  uint8_t link[PARTS];
} fuse_pattern;

#define COMPARE(id)                                                                                \
  {VM_X_##id##_JT, {VM_X_##id, VM_X_JT}, {ANY, TESTS}},                                            \
      {VM_X_##id##_JF, {VM_X_##id, VM_X_JF}, {ANY, TESTS}},

/* The first that matches is taken: longer ones first. */
static const fuse_pattern patterns[] = {
    {VM_X_IADDK_JMP_BACK_ILE_JF,
     {VM_X_IADDK, VM_X_JMP_BACK, VM_X_ILE, VM_X_JF},
     {ANY, ANY, ANY, TESTS}},
    {VM_X_IADDK_JMP_BACK_ILT_JF,
     {VM_X_IADDK, VM_X_JMP_BACK, VM_X_ILT, VM_X_JF},
     {ANY, ANY, ANY, TESTS}},
    {VM_X_JMP_BACK_ILE_JF, {VM_X_JMP_BACK, VM_X_ILE, VM_X_JF}, {ANY, ANY, TESTS}},
    {VM_X_JMP_BACK_ILT_JF, {VM_X_JMP_BACK, VM_X_ILT, VM_X_JF}, {ANY, ANY, TESTS}},
    {VM_X_IADDK_JMP_BACK, {VM_X_IADDK, VM_X_JMP_BACK}, {ANY, ANY}},
    {VM_X_JMP_BACK_NEXT_GET, {VM_X_JMP_BACK, VM_X_NEXT, VM_X_GET}, {ANY, ANY, ROW}},
    {VM_X_JMP_BACK_NEXT_POS_GET, {VM_X_JMP_BACK, VM_X_NEXT_POS, VM_X_GET_POS}, {ANY, ANY, ROW}},
    {VM_X_JMP_BACK_NEXT, {VM_X_JMP_BACK, VM_X_NEXT}, {ANY, ANY}},
    {VM_X_JMP_BACK_NEXT_POS, {VM_X_JMP_BACK, VM_X_NEXT_POS}, {ANY, ANY}},
    {VM_X_NEXT_GET, {VM_X_NEXT, VM_X_GET}, {ANY, ROW}},
    {VM_X_NEXT_POS_GET, {VM_X_NEXT_POS, VM_X_GET_POS}, {ANY, ROW}},
    {VM_X_GET_HAS_1_JT, {VM_X_GET, VM_X_HAS_1, VM_X_JT}, {ANY, READS, TESTS}},
    {VM_X_GET_HAS_1_JF, {VM_X_GET, VM_X_HAS_1, VM_X_JF}, {ANY, READS, TESTS}},
    {VM_X_GET_GET, {VM_X_GET, VM_X_GET}, {ANY, ANY}},
    {VM_X_FIND_1_GET, {VM_X_FIND_1, VM_X_GET}, {ANY, ROW}},
    COMPARE(HAS_1) COMPARE(IEQ) COMPARE(INE) COMPARE(ILT) COMPARE(ILE) COMPARE(REQ) COMPARE(RNE)
        COMPARE(RLT) COMPARE(RLE) COMPARE(TEQ) COMPARE(TNE){
            VM_X_IMUL_IMOD_IADD, {VM_X_IMUL, VM_X_IMOD, VM_X_IADD}, {ANY, ANY, ANY}},
    {VM_X_IMUL_IMOD, {VM_X_IMUL, VM_X_IMOD}, {ANY, ANY}},
    {VM_X_IMUL_IADD, {VM_X_IMUL, VM_X_IADD}, {ANY, ANY}},
    {VM_X_IMOD_IADD, {VM_X_IMOD, VM_X_IADD}, {ANY, ANY}},
    {VM_X_IADD_IADD, {VM_X_IADD, VM_X_IADD}, {ANY, ANY}},
    {VM_X_RMUL_RADD, {VM_X_RMUL, VM_X_RADD}, {ANY, ANY}},
};
/* Begins with mov, which the table cannot say. */
static const fuse_pattern mov_pattern = {
    VM_X_MOV_FIND_1_GET, {VM_X_MOV, VM_X_FIND_1, VM_X_GET}, {ANY, ANY, ROW}};

static bool fuse_linked(const vm_xins *last, const vm_xins *i, unsigned link) {
  switch (link) {
  case TESTS:
    return i->a == last->a;
  case READS:
    return i->b == last->a;
  case ROW: /* the list of next and find is in b, that of get in c */
    return i->b == last->a && i->c == last->b;
  default:
    return true;
  }
}

static bool fuse_matches(const vm_code *code, const uint16_t *xop, uint32_t pc,
                         const fuse_pattern *p) {
  const vm_xins *last = NULL;
  for (unsigned n = 0; n < PARTS && (n == 0 || p->part[n]); n++) {
    if (pc >= code->fn->ncode || xop[pc] != p->part[n]) return false;
    const vm_xins *i = &code->ins[pc];
    if (last && !fuse_linked(last, i, p->link[n])) return false;
    last = i;
    pc = xop[pc] == VM_X_JMP_BACK ? (uint32_t)((int32_t)pc + (int16_t)i->a + 1) : pc + 1;
  }
  return true;
}

void vm_fuse(const vm_code *code, const uint16_t *xop, uint16_t *out) {
  const unsigned npatterns = sizeof patterns / sizeof *patterns;
  for (uint32_t pc = 0; pc < code->fn->ncode; pc++) {
    unsigned k = 0;
    out[pc] = xop[pc];
    while (k < npatterns && !fuse_matches(code, xop, pc, &patterns[k])) k++;
    if (k < npatterns) out[pc] = patterns[k].xop;
    if (fuse_matches(code, xop, pc, &mov_pattern)) out[pc] = mov_pattern.xop;
  }
}
