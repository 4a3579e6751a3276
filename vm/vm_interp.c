/* vm/vm_interp.c - runs predecoded code: one function, one label for each handler, and at the end
 * of each handler a jump to the next.
 *
 * Kept in locals: the next slot, the registers, the lists, the loop profiles, and
 * `work - before(pc)` (vm_code.c says why).  All else is in the frame and the context, and is put
 * in order where the outside may look: calls, returns, faults.
 *
 * With PURE_VM_SWITCH=1 the same handlers are cases of a switch, for compilers without computed
 * goto and to check one against the other.
 *
 * The macros below are the exception to the rule that macros hide no control flow: a handler is
 * a few instructions and the jump at its end, a hundred times over.
 *   X(ID)       begins the handler of VM_X_ID
 *   GO(n)       goes on n slots further
 *   TRY(k)      stops with the fault k, unless k is VM_FINE
 *   TAKE        takes the conditional jump
 *   BACK(field) jumps back to a LOOP by that field, and does the LOOP
 *   HEADER      does what a LOOP does besides counting
 *   A B C       the registers that the slot's operands name
 */
#include "vm/vm_int.h"

#ifndef PURE_VM_SWITCH
#define PURE_VM_SWITCH 0
#endif

#if defined(__GNUC__) && !defined(__clang__)
/* Keeps each handler's own jump at its end, and addresses of operands where they are used; loads
 * of two neighbours as one vector would wait for the two stores that made them. */
#define INTERP_ATTRIBUTES                                                                          \
  __attribute__((optimize("no-gcse", "no-crossjumping", "no-tree-slp-vectorize")))
#else
#define INTERP_ATTRIBUTES
#endif

#define LIKELY(x) __builtin_expect((x), 1)
#define UNLIKELY(x) __builtin_expect((x), 0)

#if PURE_VM_SWITCH
#define X(id) case VM_X_##id:
#define GO(n)                                                                                      \
  do {                                                                                             \
    pc += (n);                                                                                     \
    goto dispatch;                                                                                 \
  } while (0)
#else
#define X(id) x_##id:
#define GO(n)                                                                                      \
  do {                                                                                             \
    pc += (n);                                                                                     \
    goto * pc->go;                                                                                 \
  } while (0)
#endif

#define TRY(k)                                                                                     \
  do {                                                                                             \
    fault = (k);                                                                                   \
    if (UNLIKELY(fault != VM_FINE))                                                                \
      goto faulted;                                                                                \
  } while (0)
/* At a LOOP: its costs are done; time to look at the limits? */
#define HEADER                                                                                     \
  do {                                                                                             \
    total = work + (uint64_t)(int64_t)pc->w;                                                       \
    if (UNLIKELY(total > cx->poll_at))                                                             \
      TRY(interp_poll_loop(cx, pc, total));                                                        \
  } while (0)
/* Jumps back to a LOOP and does it. */
#define BACK(field)                                                                                \
  do {                                                                                             \
    work += (uint64_t)(int64_t)pc->w;                                                              \
    pc += (int16_t)pc->field;                                                                      \
    loops[pc->a].headers++;                                                                        \
    HEADER;                                                                                        \
  } while (0)
/* Jumps by a conditional jump's offset, forward or back to a LOOP. */
#define TAKE                                                                                       \
  do {                                                                                             \
    if ((int16_t)pc->b < 0) {                                                                      \
      BACK(b);                                                                                     \
      GO(1);                                                                                       \
    }                                                                                              \
    work += (uint64_t)(int64_t)pc->w;                                                              \
    GO((int16_t)pc->b);                                                                            \
  } while (0)
#define A regs[pc->a]
#define B regs[pc->b]
#define C regs[pc->c]

/* List operations on the layouts that loops meet most; the rest is called */

#define COLD __attribute__((noinline))

static COLD uint64_t interp_get_any(const ls_list *l, ls_row h, unsigned col) {
  return ls_list_get(l, h, col).u;
}

/* vm_code.c gives columns past LS_SHAPE_COLS to other handlers. */
static inline unsigned interp_width(const ls_list *l, unsigned col) {
  return (unsigned)(l->shape >> (8 + 2 * col)) & 3u;
}

/* Not in a tree, nor the key of a dense list. */
static inline uint64_t interp_cell(const ls_list *l, ls_row h, unsigned col) {
  unsigned w = interp_width(l, col);
  const void *cells = l->col[col];
  if (w == 2)
    return ((const uint32_t *)cells)[h];
  if (w == 1)
    return ((const uint16_t *)cells)[h];
  if (w == 0)
    return ((const uint8_t *)cells)[h];
  return ((const uint64_t *)cells)[h];
}

/* A column of a keyed list's row.  Dense and tree are the layouts with odd numbers. */
static inline uint64_t interp_get(const ls_list *l, ls_row h, unsigned col) {
  _Static_assert(LS_DENSE % 2 && LS_TREE % 2 && LS_ARRAY % 2 == 0 && LS_HASH % 2 == 0, "parity");
  if (l->shape & 1) {
    if (UNLIKELY(ls_shape_layout(l->shape) == LS_TREE))
      return interp_get_any(l, h, col);
    if (col == 0)
      return (uint64_t)l->u.dense.base + h;
  }
  return interp_cell(l, h, col);
}

static COLD bool interp_has_any(const vm_context *cx, ls_list *l, ls_val key) {
  return ls_list_has(l, cx->texts, &key);
}

static inline bool interp_has_1(const vm_context *cx, ls_list *l, ls_val key) {
  if (LIKELY(ls_shape_layout(l->shape) == LS_DENSE))
    return ls_dense_has(l, key.i);
  return interp_has_any(cx, l, key);
}

static COLD ls_row interp_find_any(const vm_context *cx, ls_list *l, ls_val key) {
  ls_row h;
  return ls_list_find(l, cx->texts, &key, &h) == LS_OK ? h : LS_NO_ROW;
}

/* The handle of a row by its one int key; LS_NO_ROW: absent.  Dense and width-1 arrays. */
static inline ls_row interp_find_1(const vm_context *cx, ls_list *l, ls_val key) {
  ls_cursor c;
  if (LIKELY(ls_shape_layout(l->shape) == LS_DENSE))
    return ls_dense_has(l, key.i) ? (uint64_t)key.i - (uint64_t)l->u.dense.base : LS_NO_ROW;
  if (ls_array_seek_fast(l, key.i, &c))
    return c.next < c.end ? c.next : LS_NO_ROW;
  return interp_find_any(cx, l, key);
}

/* ls_list_next of dense and tree; LS_NO_ROW: the end. */
static COLD ls_row interp_next_scan(const ls_list *l, ls_val *cursor) {
  ls_cursor c = {cursor[0].u, cursor[1].u};
  ls_row h;
  bool more = ls_list_next_slow(l, &c, &h);
  cursor[0].u = c.next;
  cursor[1].u = c.end;
  return more ? h : LS_NO_ROW;
}

/* ls_list_next of a keyed list. */
static inline ls_row interp_next(const ls_list *l, ls_val *cursor) {
  uint64_t next = cursor[0].u, end = cursor[1].u;
  if (l->shape & 1) {
    if (ls_shape_layout(l->shape) != LS_DENSE || next >= end || next >= l->u.dense.cap)
      return interp_next_scan(l, cursor);
    uint64_t bits = l->u.dense.present[next >> 6] >> (next & 63);
    if (bits == 0)
      return interp_next_scan(l, cursor);
    next += (uint64_t)__builtin_ctzll(bits);
  }
  if (UNLIKELY(next >= end))
    return LS_NO_ROW;
  cursor[0].u = next + 1;
  return next;
}

/* next of a tracked cursor of the function's list that code[pc] names. */
static COLD int interp_next_tracked(vm_context *cx, const vm_xins *pc) {
  vm_frame *f = cx->top;
  const vm_ins *i = &f->code->fn->code[pc - f->code->ins];
  return vm_do_next(cx, f->lists->list[pc->b], &f->regs[pc->a], i->b & 255u);
}

static inline bool interp_append(ls_list *l, const ls_val *row) {
  ls_row h;
  return ls_flat_append_fast(l, row, &h);
}

static inline bool interp_put_1(ls_list *l, const ls_val *row, bool only_new) {
  ls_row h;
  return ls_dense_put_fast(l, row, only_new, &h);
}

/* Limits.  The work limit is exact; the cancel flag, which another thread sets at no certain
 * time anyway, is looked at once in so much work, and the lists of the loop are sampled then. */

static COLD int interp_poll(vm_context *cx, uint64_t total) {
  uint64_t at = total + cx->poll_work;
  cx->poll_at = at < cx->work_limit ? at : cx->work_limit;
  return vm_check_limits(cx, total);
}

/* At a LOOP: is there code for it?  While that is being looked for, every header is polled. */
static COLD int interp_at_loop(vm_context *cx, const vm_xins *loop, uint64_t total) {
  vm_frame *f = cx->top;
  f->pc = (uint32_t)(loop - f->code->ins);
  cx->work = total - (f->code->before[f->pc + 1] - f->code->before[f->pc]);
  int fault = vm_tier_at_loop(cx, loop->a);
  if (cx->eager) {
    cx->eager--;
    cx->poll_at = 0;
  }
  return fault;
}

static COLD int interp_poll_loop(vm_context *cx, const vm_xins *loop, uint64_t total) {
  vm_profile_sample(cx, cx->top, loop->a);
  int fault = interp_poll(cx, total);
  return fault == VM_FINE && cx->entries ? interp_at_loop(cx, loop, total) : fault;
}

/* A function begins: likewise. */
static COLD int interp_at_start(vm_context *cx, uint64_t total) {
  cx->work = total;
  return cx->entries ? vm_tier_at_start(cx) : VM_FINE;
}

/* The loop */

static int interp_run(vm_context *cx, const void *const **handlers);

const void *const *vm_interp_handlers(void) {
  const void *const *handlers;
  interp_run(NULL, &handlers);
  return handlers;
}

int vm_interp(vm_context *cx) {
  if (cx->top->back) { /* `step` has just come back to this loop, which is not entered anew */
    int fault = vm_step(cx);
    if (fault != VM_FINE)
      return fault;
  }
  return interp_run(cx, NULL);
}

/* handlers: not to run, but to tell the addresses. */
INTERP_ATTRIBUTES
static int interp_run(vm_context *cx, const void *const **handlers) {
#if PURE_VM_SWITCH
  static const void *const *const labels = NULL;
#else
  static const void *const labels[VM_NXOPS] = {
#define XOP(id) &&x_##id,
#include "vm/vm_xops.def"
#undef XOP
  };
#endif
  if (handlers) {
    *handlers = labels;
    return VM_FINE;
  }
  const vm_xins *pc;
  ls_val *regs;
  ls_list **lists;
  vm_loop_profile *loops;
  uint64_t work;
  vm_frame *frame = cx->top; /* not kept: processor registers are few */
  ls_list *l;
  ls_row h;
  int fault;
  ls_val value = {0};
  uint64_t total = cx->work; /* work itself, where it is known */
  bool yes;
  ls_cursor cursor;

  if (cx->base == NULL || cx->poll_at > total + cx->poll_work)
    cx->poll_at = total;
  pc = frame->code->ins + frame->pc;
  if (frame->pc == 0 && frame->profile->calls >= frame->profile->hot_calls)
    TRY(interp_at_start(cx, total));
  work = total - frame->code->before[frame->pc];
  goto enter;

#if PURE_VM_SWITCH
dispatch:
  switch ((vm_xop)pc->op) {
#endif

    /* Moves and constants */

#define DO_MOV A = B
#define DO_LDI A.i = pc->w
    X(MOV) {
      DO_MOV;
      GO(1);
    }
    X(LDI) X(LDB) {
      DO_LDI;
      GO(1);
    }
    X(LDK) {
      A = cx->consts[pc->b];
      GO(1);
    }

    /* Arithmetic */

#define DO_IADD TRY(vm_sem_iadd(B.i, C.i, &A.i))
#define DO_ISUB TRY(vm_sem_isub(B.i, C.i, &A.i))
#define DO_IMUL TRY(vm_sem_imul(B.i, C.i, &A.i))
#define DO_IMOD TRY(vm_sem_imod(B.i, C.i, &A.i))
#define DO_IADDK TRY(vm_sem_iadd(B.i, pc->w, &A.i))
    X(IADD) {
      DO_IADD;
      GO(1);
    }
    X(ISUB) {
      DO_ISUB;
      GO(1);
    }
    X(IMUL) {
      DO_IMUL;
      GO(1);
    }
    X(IDIV) {
      TRY(vm_sem_idiv(B.i, C.i, &A.i));
      GO(1);
    }
    X(IMOD) {
      DO_IMOD;
      GO(1);
    }
    X(INEG) {
      TRY(vm_sem_ineg(B.i, &A.i));
      GO(1);
    }
    X(IADDK) {
      DO_IADDK;
      GO(1);
    }
    X(RADD) {
      A.r = vm_sem_radd(B.r, C.r);
      GO(1);
    }
    X(RSUB) {
      A.r = vm_sem_rsub(B.r, C.r);
      GO(1);
    }
    X(RMUL) {
      A.r = vm_sem_rmul(B.r, C.r);
      GO(1);
    }
    X(RDIV) {
      A.r = vm_sem_rdiv(B.r, C.r);
      GO(1);
    }
    X(RNEG) {
      A.r = vm_sem_rneg(B.r);
      GO(1);
    }
    X(DADD) {
      TRY(vm_sem_dadd(B.i, C.i, &A.i));
      GO(1);
    }
    X(DDIFF) {
      A.i = vm_sem_ddiff(B.i, C.i);
      GO(1);
    }
    X(IMUL_IMOD) {
      DO_IMUL;
      pc++;
      DO_IMOD;
      GO(1);
    }
    X(IMUL_IADD) {
      DO_IMUL;
      pc++;
      DO_IADD;
      GO(1);
    }
    X(IMOD_IADD) {
      DO_IMOD;
      pc++;
      DO_IADD;
      GO(1);
    }
    X(IMUL_IMOD_IADD) {
      DO_IMUL;
      pc++;
      DO_IMOD;
      pc++;
      DO_IADD;
      GO(1);
    }
    X(IMOD_IEQ_JF) {
      DO_IMOD;
      pc++;
      yes = B.i == C.i;
      A.i = yes;
      pc++;
      if (!yes)
        TAKE;
      GO(1);
    }
    X(IADD_IADD) {
      DO_IADD;
      pc++;
      DO_IADD;
      GO(1);
    }
    X(RMUL_RADD) {
      A.r = vm_sem_rmul(B.r, C.r);
      pc++;
      A.r = vm_sem_radd(B.r, C.r);
      GO(1);
    }

    /* Comparisons, alone and with the jump that they decide */

#define COMPARE(id, test)                                                                          \
  X(id) {                                                                                          \
    A.i = (test);                                                                                  \
    GO(1);                                                                                         \
  }                                                                                                \
  X(id##_JT) {                                                                                     \
    yes = (test);                                                                                  \
    A.i = yes;                                                                                     \
    pc++;                                                                                          \
    if (yes)                                                                                       \
      TAKE;                                                                                        \
    GO(1);                                                                                         \
  }                                                                                                \
  X(id##_JF) {                                                                                     \
    yes = (test);                                                                                  \
    A.i = yes;                                                                                     \
    pc++;                                                                                          \
    if (!yes)                                                                                      \
      TAKE;                                                                                        \
    GO(1);                                                                                         \
  }
    COMPARE(IEQ, B.i == C.i)
    COMPARE(INE, B.i != C.i)
    COMPARE(ILT, B.i < C.i)
    COMPARE(ILE, B.i <= C.i)
    COMPARE(REQ, B.r == C.r)
    COMPARE(RNE, B.r != C.r)
    COMPARE(RLT, B.r < C.r)
    COMPARE(RLE, B.r <= C.r)
    COMPARE(TEQ, vm_text_same(cx, B, C))
    COMPARE(TNE, !vm_text_same(cx, B, C))
    X(TLT) {
      A.i = vm_text_order(cx, B, C) < 0;
      work += cx->extra;
      GO(1);
    }
    X(TLE) {
      A.i = vm_text_order(cx, B, C) <= 0;
      work += cx->extra;
      GO(1);
    }
    X(NOT) {
      A.i = !B.i;
      GO(1);
    }

    /* Control */

    X(JMP) {
      work += (uint64_t)(int64_t)pc->w;
      GO((int16_t)pc->a);
    }
    X(JT) {
      if (A.i)
        TAKE;
      GO(1);
    }
    X(JF) {
      if (!A.i)
        TAKE;
      GO(1);
    }
    X(JMP_BACK) {
      BACK(a);
      GO(1);
    }
    X(IADDK_JMP_BACK) {
      DO_IADDK;
      pc++;
      BACK(a);
      GO(1);
    }
    X(ILT_JF_IADDK_JMP_BACK) {
      yes = B.i < C.i;
      A.i = yes;
      pc++;
      if (UNLIKELY(!yes))
        TAKE;
      pc++;
      DO_IADDK;
      pc++;
      BACK(a);
      GO(1);
    }
    X(LOOP) {
      vm_profile_enter(cx, cx->top, pc->a);
      if (UNLIKELY(loops[pc->a].headers >= loops[pc->a].hot_headers))
        cx->poll_at = 0;
      HEADER;
      GO(1);
    }

    /* Calls */

    X(CALL) {
      total = work + (uint64_t)(int64_t)pc->w;
      if (UNLIKELY(total > cx->poll_at))
        TRY(interp_poll(cx, total));
      frame = cx->top;
      frame->pc = (uint32_t)(pc - frame->code->ins);
      TRY(vm_frame_enter(cx, pc->b, &A));
      frame = cx->top;
      pc = frame->code->ins;
      if (UNLIKELY(frame->profile->calls >= frame->profile->hot_calls))
        TRY(interp_at_start(cx, total));
      work = total;
      goto enter;
    }
    X(RETV) {
      value = A;
      total = work + (uint64_t)(int64_t)pc->w;
      vm_frame_leave(cx);
      frame = cx->top;
      if (frame == cx->base)
        goto finished;
      frame->regs[frame->code->ins[frame->pc].a] = value;
      goto resume;
    }
    X(RETL) {
      TRY(vm_do_retl(cx, pc->a));
      goto leave;
    }
    X(RET) {
    leave:
      total = work + (uint64_t)(int64_t)pc->w;
      vm_frame_leave(cx);
      frame = cx->top;
      if (frame == cx->base)
        goto finished;
      goto resume;
    }
    X(CALLX) {
      fault = vm_do_callx(cx, pc->b, &A);
      work += cx->extra;
      TRY(fault);
      GO(1);
    }
    X(RAISE) {
      fault = pc->a;
      goto faulted;
    }
    X(FAIL) {
      fault = vm_do_fail(cx, A);
      goto faulted;
    }

    /* Builtins */

    X(BIF) {
      fault = vm_do_builtin(cx, (vm_builtin)pc->b, &C, &A);
      work += cx->extra;
      TRY(fault);
      GO(1);
    }
    X(BIF_SCALAR) {
      TRY(vm_sem_builtin((vm_builtin)pc->b, &C, &A));
      GO(1);
    }
    X(BIF_MIN_I) {
      A.i = C.i < regs[pc->c + 1].i ? C.i : regs[pc->c + 1].i;
      GO(1);
    }
    X(BIF_MAX_I) {
      A.i = C.i > regs[pc->c + 1].i ? C.i : regs[pc->c + 1].i;
      GO(1);
    }
    X(BIF_REAL_I) {
      A.r = vm_sem_real_int(C.i);
      GO(1);
    }
    X(BIF_SQRT) {
      A.r = vm_sem_sqrt(C.r);
      GO(1);
    }

    /* Whole lists */

    X(NEW) {
      TRY(vm_do_new(cx->top, pc->a));
      GO(1);
    }
    X(COUNT) {
      A.u = lists[pc->b]->count;
      GO(1);
    }
    X(CLEAR) {
      TRY(vm_do_clear(lists[pc->a]));
      GO(1);
    }
    X(SORT) {
      fault = vm_do_sort(cx, lists[pc->a], cx->consts[pc->b].i);
      work += cx->extra;
      TRY(fault);
      GO(1);
    }

    /* Rows */

#define DO_GET A.u = interp_get(lists[pc->c], B.u, pc->d)
#define DO_GET_POS                                                                                 \
  l = lists[pc->c];                                                                                \
  h = B.u;                                                                                         \
  if (UNLIKELY(h >= l->count))                                                                     \
    goto deleted;                                                                                  \
  A.u = interp_cell(l, h, pc->d)
#define DO_FIND_1                                                                                  \
  l = lists[pc->b];                                                                                \
  h = interp_find_1(cx, l, (&A)[2]);                                                               \
  if (UNLIKELY(h == LS_NO_ROW))                                                                    \
    goto missing;                                                                                  \
  A.u = h;                                                                                         \
  (&A)[1].u = l->version
    X(GET) {
      DO_GET;
      GO(1);
    }
    X(GET_GET) {
      DO_GET;
      pc++;
      DO_GET;
      GO(1);
    }
    X(GET_GET_ILT_JF) {
      DO_GET;
      pc++;
      DO_GET;
      pc++;
      yes = B.i < C.i;
      A.i = yes;
      pc++;
      if (!yes)
        TAKE;
      GO(1);
    }
    X(GET_ILT_JF) {
      DO_GET;
      pc++;
      yes = B.i < C.i;
      A.i = yes;
      pc++;
      if (!yes)
        TAKE;
      GO(1);
    }
    X(GET_POS) {
      DO_GET_POS;
      GO(1);
    }
    X(GET_FAR) {
      TRY(vm_do_get(lists[pc->c], B.u, pc->d, &A));
      GO(1);
    }
    X(SET) {
      TRY(vm_do_set(cx, lists[pc->c], &A, pc->d, B));
      GO(1);
    }
#define DO_SET(v)                                                                                  \
  if (UNLIKELY(!ls_list_set_fast(l, A.u, pc->d, (v))))                                             \
  TRY(vm_do_set(cx, l, &A, pc->d, B))
    X(SET_INT_POS) {
      l = lists[pc->c];
      if (UNLIKELY(A.u >= l->count))
        goto deleted;
      DO_SET(B);
      GO(1);
    }
    X(SET_INT) {
      l = lists[pc->c];
      DO_SET(B);
      GO(1);
    }
    X(SET_REAL_POS) {
      l = lists[pc->c];
      if (UNLIKELY(A.u >= l->count))
        goto deleted;
      ls_val real = {.r = vm_sem_canonical(B.r)};
      DO_SET(real);
      GO(1);
    }
    X(SET_REAL) {
      l = lists[pc->c];
      ls_val real = {.r = vm_sem_canonical(B.r)};
      DO_SET(real);
      GO(1);
    }
    X(ROW) {
      TRY(vm_do_row(lists[pc->c], B.i, &A));
      GO(1);
    }
    X(FIND) {
      TRY(vm_do_find(cx, lists[pc->b], &A));
      GO(1);
    }
    X(FIND_1) {
      DO_FIND_1;
      GO(1);
    }
    X(FIND_1_GET) {
      DO_FIND_1;
      pc++;
      A.u = interp_get(l, h, pc->d);
      GO(1);
    }
    X(GET_FIND_1) {
      DO_GET;
      pc++;
      DO_FIND_1;
      GO(1);
    }
    X(GET_FIND_1_GET) {
      DO_GET;
      pc++;
      DO_FIND_1;
      pc++;
      A.u = interp_get(l, h, pc->d);
      GO(1);
    }
/* a column of a row changed by a number: get, sum, set */
#define DO_GET_ADD_SET(add)                                                                        \
  l = lists[pc->c];                                                                                \
  h = B.u;                                                                                         \
  ls_val sum = {.u = interp_get(l, h, pc->d)};                                                     \
  A = sum;                                                                                         \
  pc++;                                                                                            \
  add;                                                                                             \
  A = sum;                                                                                         \
  pc++
    X(GET_IADDK_SET) {
      DO_GET_ADD_SET(TRY(vm_sem_iadd(sum.i, pc->w, &sum.i)));
      DO_SET(sum);
      GO(1);
    }
    X(GET_IADD_SET) {
      DO_GET_ADD_SET(TRY(vm_sem_iadd(sum.i, C.i, &sum.i)));
      DO_SET(sum);
      GO(1);
    }
    X(GET_RADD_SET) {
      DO_GET_ADD_SET(sum.r = vm_sem_radd(sum.r, C.r));
      sum.r = vm_sem_canonical(sum.r);
      DO_SET(sum);
      GO(1);
    }
    X(FINDJ) {
      fault = vm_do_find(cx, lists[pc->b], &A);
      if (fault == VM_FAULT_MISSING)
        goto jump_c;
      TRY(fault);
      GO(1);
    }
    X(FINDJ_1) {
      l = lists[pc->b];
      h = interp_find_1(cx, l, (&A)[2]);
      if (h == LS_NO_ROW)
        goto jump_c;
      A.u = h;
      (&A)[1].u = l->version;
      GO(1);
    }
    X(REFIND) {
      l = lists[pc->b];
      if (LIKELY(((&A)[1].u & ~VM_REFOUND) == l->version))
        GO(1);
      TRY(vm_do_refind(cx, l, &A));
      GO(1);
    }
    X(HAS) {
      A.i = ls_list_has(lists[pc->c], cx->texts, &B);
      GO(1);
    }
    X(HAS_1) {
      A.i = interp_has_1(cx, lists[pc->c], B);
      GO(1);
    }
#define DO_HAS_1                                                                                   \
  yes = interp_has_1(cx, lists[pc->c], B);                                                         \
  A.i = yes
/* has of the key that get has just made */
#define DO_GET_HAS_1                                                                               \
  ls_val key = {.u = interp_get(lists[pc->c], B.u, pc->d)};                                        \
  A = key;                                                                                         \
  pc++;                                                                                            \
  yes = interp_has_1(cx, lists[pc->c], key);                                                       \
  A.i = yes
    X(HAS_1_JT) {
      DO_HAS_1;
      pc++;
      if (yes)
        TAKE;
      GO(1);
    }
    X(HAS_1_JF) {
      DO_HAS_1;
      pc++;
      if (!yes)
        TAKE;
      GO(1);
    }
    X(GET_HAS_1_JT) {
      DO_GET_HAS_1;
      pc++;
      if (yes)
        TAKE;
      GO(1);
    }
    X(GET_HAS_1_JF) {
      DO_GET_HAS_1;
      pc++;
      if (!yes)
        TAKE;
      GO(1);
    }
    X(ADD_1) {
      if (LIKELY(interp_put_1(lists[pc->b], &A, true)))
        GO(1);
      TRY(vm_do_add(cx, lists[pc->b], &A));
      GO(1);
    }
    X(ADD) {
      TRY(vm_do_add(cx, lists[pc->b], &A));
      GO(1);
    }
    X(PUT) {
      TRY(vm_do_put(cx, lists[pc->b], &A));
      GO(1);
    }
    X(ENSURE) {
      TRY(vm_do_ensure(cx, lists[pc->c], &A, &B));
      GO(1);
    }
    X(LDI_ENSURE_1) {
      DO_LDI;
      pc++;
      l = lists[pc->c];
      h = interp_find_1(cx, l, (&A)[2]);
      if (LIKELY(h != LS_NO_ROW)) {
        A.u = h;
        (&A)[1].u = l->version;
        GO(1);
      }
      TRY(vm_do_ensure(cx, l, &A, &B));
      GO(1);
    }
    X(ENSURE_1) {
      l = lists[pc->c];
      h = interp_find_1(cx, l, (&A)[2]);
      if (LIKELY(h != LS_NO_ROW)) {
        A.u = h;
        (&A)[1].u = l->version;
        GO(1);
      }
      TRY(vm_do_ensure(cx, l, &A, &B));
      GO(1);
    }
    X(MOV_PUT_1) {
      DO_MOV;
      pc++;
      if (LIKELY(interp_put_1(lists[pc->b], &A, false)))
        GO(1);
      TRY(vm_do_put(cx, lists[pc->b], &A));
      GO(1);
    }
    X(PUT_1) {
      if (LIKELY(interp_put_1(lists[pc->b], &A, false)))
        GO(1);
      TRY(vm_do_put(cx, lists[pc->b], &A));
      GO(1);
    }
    X(GET_ADD_POS) {
      DO_GET;
      pc++;
      if (LIKELY(interp_append(lists[pc->b], &A)))
        GO(1);
      TRY(vm_do_add(cx, lists[pc->b], &A));
      GO(1);
    }
    X(ADD_POS) {
      if (LIKELY(interp_append(lists[pc->b], &A)))
        GO(1);
      TRY(vm_do_add(cx, lists[pc->b], &A));
      GO(1);
    }
    X(ERASE) {
      TRY(vm_do_erase(cx, lists[pc->b], &A));
      GO(1);
    }

    /* Slices.  Handles: an untracked cursor of a keyed list is used only while the list's
     * version stays, and nothing asks for the version of a position. */

#define DO_NEXT                                                                                    \
  l = lists[pc->b];                                                                                \
  h = interp_next(l, &regs[pc->d]);                                                                \
  if (UNLIKELY(h == LS_NO_ROW))                                                                    \
    goto jump_c;                                                                                   \
  A.u = h
/* In array and hash the cursor is a position, and a row has every column in a cell. */
#define DO_NEXT_GET                                                                                \
  l = lists[pc->b];                                                                                \
  h = regs[pc->d].u;                                                                               \
  if (LIKELY((l->shape & 1) == 0 && h < regs[pc->d + 1].u)) {                                      \
    regs[pc->d].u = h + 1;                                                                         \
    A.u = h;                                                                                       \
    pc++;                                                                                          \
    A.u = interp_cell(l, h, pc->d);                                                                \
  } else {                                                                                         \
    DO_NEXT;                                                                                       \
    pc++;                                                                                          \
    A.u = interp_get(l, h, pc->d);                                                                 \
  }
#define DO_NEXT_POS                                                                                \
  l = lists[pc->b];                                                                                \
  h = regs[pc->d].u;                                                                               \
  if (UNLIKELY(h >= l->count))                                                                     \
    goto jump_c;                                                                                   \
  A.u = h;                                                                                         \
  regs[pc->d].u = h + 1
    X(SEEK_POS) {
      regs[pc->d].u = 0;
      regs[pc->d + 1].u = 0;
      A.u = LS_NO_ROW;
      (&A)[1].u = lists[pc->b]->version;
      GO(1);
    }
    X(SEEK_PREFIX) {
      l = lists[pc->b];
      if (LIKELY(ls_array_seek_fast(l, regs[pc->d + 2].i, &cursor))) {
        A.u = LS_NO_ROW;
        (&A)[1].u = l->version;
        regs[pc->d].u = cursor.next;
        regs[pc->d + 1].u = cursor.end;
        GO(1);
      }
      TRY(vm_do_seek(cx, l, &A, pc->c));
      GO(1);
    }
    X(SEEK) {
      TRY(vm_do_seek(cx, lists[pc->b], &A, pc->c));
      GO(1);
    }
    X(JMP_BACK_NEXT) {
      BACK(a);
      pc++;
      DO_NEXT;
      GO(1);
    }
    X(NEXT) {
      DO_NEXT;
      GO(1);
    }
    X(JMP_BACK_NEXT_GET) {
      BACK(a);
      pc++;
      DO_NEXT_GET;
      GO(1);
    }
    X(NEXT_GET) {
      DO_NEXT_GET;
      GO(1);
    }
    X(JMP_BACK_NEXT_GET_HAS_1_JT) {
      BACK(a);
      pc++;
      DO_NEXT_GET;
      ls_val key = A;
      pc++;
      yes = interp_has_1(cx, lists[pc->c], key);
      A.i = yes;
      pc++;
      if (yes)
        TAKE;
      GO(1);
    }
    X(NEXT_GET_HAS_1_JT) {
      DO_NEXT_GET;
      ls_val key = A;
      pc++;
      yes = interp_has_1(cx, lists[pc->c], key);
      A.i = yes;
      pc++;
      if (yes)
        TAKE;
      GO(1);
    }
    X(JMP_BACK_NEXT_POS) {
      BACK(a);
      pc++;
      DO_NEXT_POS;
      GO(1);
    }
    X(NEXT_POS) {
      DO_NEXT_POS;
      GO(1);
    }
    X(JMP_BACK_NEXT_POS_GET) {
      BACK(a);
      pc++;
      DO_NEXT_POS;
      pc++;
      A.u = interp_cell(l, h, pc->d);
      GO(1);
    }
    X(NEXT_POS_GET) {
      DO_NEXT_POS;
      pc++;
      A.u = interp_cell(l, h, pc->d);
      GO(1);
    }
    X(JMP_BACK_NEXT_TRACKED) {
      BACK(a);
      pc++;
      l = lists[pc->b];
      if (UNLIKELY((&A)[1].u != l->version)) {
        fault = interp_next_tracked(cx, pc);
        if (fault == VM_JUMP)
          goto jump_c;
        TRY(fault);
        GO(1);
      }
      DO_NEXT;
      for (unsigned key = 0; key + pc->a + 2 < pc->d; key++)
        (&A)[2 + key].u = interp_get(l, h, key);
      GO(1);
    }
    X(NEXT_TRACKED) {
      l = lists[pc->b];
      if (UNLIKELY((&A)[1].u != l->version)) {
        fault = interp_next_tracked(cx, pc);
        if (fault == VM_JUMP)
          goto jump_c;
        TRY(fault);
        GO(1);
      }
      DO_NEXT;
      for (unsigned key = 0; key + pc->a + 2 < pc->d; key++)
        (&A)[2 + key].u = interp_get(l, h, key);
      GO(1);
    }
    X(SCOUNT) {
      TRY(vm_do_scount(cx, lists[pc->c], &B, pc->d, &A));
      GO(1);
    }
    X(FIRSTJ) {
      fault = vm_do_edge(cx, lists[pc->b], &A, pc->d, false);
      if (fault == VM_JUMP)
        goto jump_c;
      TRY(fault);
      GO(1);
    }
    X(LASTJ) {
      fault = vm_do_edge(cx, lists[pc->b], &A, pc->d, true);
      if (fault == VM_JUMP)
        goto jump_c;
      TRY(fault);
      GO(1);
    }

  resume: /* frame goes on after the call that it made */
    pc = frame->code->ins + frame->pc;
    work = total - (uint64_t)(int64_t)pc->w;
    pc++;
  enter: /* frame is another one now */
    regs = frame->regs;
    lists = frame->lists ? frame->lists->list : NULL;
    loops = frame->profile->loops;
    GO(0);

  jump_c : { /* a list instruction jumps */
    const vm_code *code = cx->top->code;
    const uint32_t *before = code->before + (pc - code->ins);
    int offset = (int16_t)pc->c;
    work += (uint64_t)before[1] - before[offset];
    pc += offset;
    if (UNLIKELY(offset <= 0)) {
      loops[pc->a].headers++;
      HEADER;
      GO(1);
    }
    GO(0);
  }
#if PURE_VM_SWITCH
  case VM_NXOPS:
    break;
  }
#endif

missing:
  fault = VM_FAULT_MISSING;
  goto faulted;
deleted:
  fault = VM_FAULT_DELETED;
faulted: /* at the instruction that faults; what it costs is done */
  if (fault <= VM_RESUME)
    goto outside;
  frame = cx->top;
  frame->pc = (uint32_t)(pc - frame->code->ins);
  cx->work = work + frame->code->before[frame->pc + 1];
  return fault;

outside: /* compiled code has run, and put everything in order */
  if (fault == VM_STOPPED)
    return cx->raised;
  frame = cx->top;
  pc = frame->code->ins + frame->pc;
  work = cx->work - frame->code->before[frame->pc];
  goto enter;

finished:
  cx->work = total;
  cx->value = value;
  return VM_FINE;
}
