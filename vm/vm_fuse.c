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

#ifndef PURE_VM_FUSE
#define PURE_VM_FUSE 1 /* 0: nothing is fused, to measure what it brings */
#endif

/* How a part's operands must agree with the part before it; handlers rely on it. */
enum {
  ANY,
  TESTS,  /* its a is the result just made */
  READS,  /* its b is the result just made */
  ROW,    /* get of the row whose handle next or find has just made */
  STORES, /* set to the result just made, in the column and row of the get two before it */
};

#define PARTS 5
#define END VM_NXOPS

typedef struct {
  uint16_t xop;
  uint16_t part[PARTS]; /* handlers, then END */
  uint8_t link[PARTS];
} fuse_pattern;

#define PAIR(x, y, link)                                                                           \
  {                                                                                                \
    VM_X_##x##_##y, {VM_X_##x, VM_X_##y, END}, { ANY, link }                                       \
  }
#define TRIPLE(x, y, z, link2, link3)                                                              \
  {                                                                                                \
    VM_X_##x##_##y##_##z, {VM_X_##x, VM_X_##y, VM_X_##z, END}, { ANY, link2, link3 }               \
  }
#define DECIDES(x) PAIR(x, JT, TESTS), PAIR(x, JF, TESTS)

/* The first that matches is taken: longer ones first. */
static const fuse_pattern patterns[] = {
    {VM_X_JMP_BACK_NEXT_GET_HAS_1_JT,
     {VM_X_JMP_BACK, VM_X_NEXT, VM_X_GET, VM_X_HAS_1, VM_X_JT},
     {ANY, ANY, ROW, READS, TESTS}},
    {VM_X_NEXT_GET_HAS_1_JT,
     {VM_X_NEXT, VM_X_GET, VM_X_HAS_1, VM_X_JT, END},
     {ANY, ROW, READS, TESTS}},
    {VM_X_ILT_JF_IADDK_JMP_BACK,
     {VM_X_ILT, VM_X_JF, VM_X_IADDK, VM_X_JMP_BACK, END},
     {ANY, TESTS, ANY, ANY}},
    {VM_X_GET_GET_ILT_JF, {VM_X_GET, VM_X_GET, VM_X_ILT, VM_X_JF, END}, {ANY, ANY, ANY, TESTS}},
    {VM_X_GET_IADDK_SET, {VM_X_GET, VM_X_IADDK, VM_X_SET_INT, END}, {ANY, READS, STORES}},
    {VM_X_GET_IADD_SET, {VM_X_GET, VM_X_IADD, VM_X_SET_INT, END}, {ANY, READS, STORES}},
    {VM_X_GET_RADD_SET, {VM_X_GET, VM_X_RADD, VM_X_SET_REAL, END}, {ANY, READS, STORES}},
    TRIPLE(JMP_BACK, NEXT, GET, ANY, ROW),
    {VM_X_JMP_BACK_NEXT_POS_GET,
     {VM_X_JMP_BACK, VM_X_NEXT_POS, VM_X_GET_POS, END},
     {ANY, ANY, ROW}},
    TRIPLE(GET, HAS_1, JT, READS, TESTS),
    TRIPLE(GET, HAS_1, JF, READS, TESTS),
    TRIPLE(GET, FIND_1, GET, ANY, ROW),
    TRIPLE(GET, ILT, JF, ANY, TESTS),
    TRIPLE(IMUL, IMOD, IADD, ANY, ANY),
    TRIPLE(IMOD, IEQ, JF, ANY, TESTS),
    {VM_X_NEXT_POS_GET, {VM_X_NEXT_POS, VM_X_GET_POS, END}, {ANY, ROW}},
    PAIR(NEXT, GET, ROW),
    PAIR(JMP_BACK, NEXT, ANY),
    PAIR(JMP_BACK, NEXT_POS, ANY),
    PAIR(JMP_BACK, NEXT_TRACKED, ANY),
    PAIR(IADDK, JMP_BACK, ANY),
    PAIR(GET, FIND_1, ANY),
    PAIR(GET, ADD_POS, ANY),
    PAIR(GET, GET, ANY),
    PAIR(FIND_1, GET, ROW),
    PAIR(MOV, PUT_1, ANY),
    PAIR(LDI, ENSURE_1, ANY),
    DECIDES(HAS_1),
    DECIDES(IEQ),
    DECIDES(INE),
    DECIDES(ILT),
    DECIDES(ILE),
    DECIDES(REQ),
    DECIDES(RNE),
    DECIDES(RLT),
    DECIDES(RLE),
    DECIDES(TEQ),
    DECIDES(TNE),
    PAIR(IMUL, IMOD, ANY),
    PAIR(IMUL, IADD, ANY),
    PAIR(IMOD, IADD, ANY),
    PAIR(IADD, IADD, ANY),
    PAIR(RMUL, RADD, ANY),
};

static bool fuse_linked(const vm_xins *i, const vm_xins *last, const vm_xins *first,
                        unsigned link) {
  switch (link) {
  case TESTS:
    return i->a == last->a;
  case READS:
    return i->b == last->a;
  case ROW: /* the list of next and find is in b, that of get in c */
    return i->b == last->a && i->c == last->b;
  case STORES: /* and the register that get made is no part of the row's name */
    return i->b == last->a && i->a == first->b && i->c == first->c && i->d == first->d &&
           first->a != first->b && last->a != first->b;
  default:
    return true;
  }
}

static bool fuse_matches(const vm_code *code, const uint16_t *xop, uint32_t pc,
                         const fuse_pattern *p) {
  const vm_xins *first = &code->ins[pc], *last = NULL;
  for (unsigned n = 0; n < PARTS && p->part[n] != END; n++) {
    if (pc >= code->fn->ncode || xop[pc] != p->part[n])
      return false;
    const vm_xins *i = &code->ins[pc];
    if (last && !fuse_linked(i, last, first, p->link[n]))
      return false;
    last = i;
    pc = xop[pc] == VM_X_JMP_BACK ? (uint32_t)((int32_t)pc + (int16_t)i->a + 1) : pc + 1;
  }
  return true;
}

void vm_fuse(const vm_code *code, const uint16_t *xop, uint16_t *out) {
  const unsigned npatterns = sizeof patterns / sizeof *patterns;
  for (uint32_t pc = 0; pc < code->fn->ncode; pc++) {
    unsigned k = PURE_VM_FUSE ? 0 : npatterns;
    while (k < npatterns && !fuse_matches(code, xop, pc, &patterns[k]))
      k++;
    out[pc] = k < npatterns ? patterns[k].xop : xop[pc];
  }
}
