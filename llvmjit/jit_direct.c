/* llvmjit/jit_direct.c - calls of host functions straight from compiled code.
 *
 *   function bound? ── no ──▶ the helper, as for any call (built by jit_lower_STEP)
 *        │ yes
 *   function(first, arguments); the result into its register; work
 *        │
 *   note left in *first? ── yes ──▶ helper `settle`: charges, or a fault
 *
 * The address is read from the context, not built in: code of the cache serves other processes.
 * What is read there stays as it is for the context's life.
 */
#include "llvmjit/jit_int.h"
#include "vm/vm_tables.h"

typedef struct {
  const vm_extern *x;
  const vm_ins *ins;
  LLVMTypeRef types[VM_MAX_PARAMS + 1];
  LLVMValueRef args[VM_MAX_PARAMS + 1];
} direct_call;

/* As C passes it. */
static LLVMTypeRef c_type(const jit_lower *j, ls_type type) {
  return type == LS_REAL ? j->t.f64 : type == LS_BOOL ? j->t.i8 : j->t.i64;
}

static LLVMValueRef c_value(jit_lower *j, ls_type type, ir_id id) {
  LLVMValueRef v = jit_value(j, id);
  bool is_bit = ir_at(j->r, id)->type == IR_B1;
  switch (type) {
  case LS_REAL:
    return jit_canonical(j, v);
  case LS_BOOL:
    return is_bit ? LLVMBuildZExt(j->b, v, j->t.i8, "") : LLVMBuildTrunc(j->b, v, j->t.i8, "");
  case LS_INT:
  case LS_DATE:
  case LS_TEXT:
    break;
  }
  return is_bit ? LLVMBuildZExt(j->b, v, j->t.i64, "") : v;
}

static bool is_possible(const jit_lower *j, const ir_node *n, const ir_step *s, direct_call *d) {
  if (j->of == NULL || j->fn == NULL || !s->metered || s->pc >= j->fn->ncode)
    return false;
  d->ins = &j->fn->code[s->pc];
  if (d->ins->op != VM_OP_CALLX)
    return false;
  d->x = &j->of->externs[d->ins->b];
  if (!vm_extern_is_direct(d->x) || n->nargs != d->x->nparams + 1u)
    return false;
  for (unsigned i = 0; i < d->x->nparams; i++) {
    bool real = ir_at(j->r, n->arg[i + 1])->type == IR_F64;
    if (s->reg[i] != d->ins->a + i || real != (d->x->params[i].type == LS_REAL))
      return false;
  }
  return true;
}

/* Reads what is the same for the context's life. */
static LLVMValueRef load_fixed(jit_lower *j, LLVMValueRef base, uint64_t offset) {
  LLVMValueRef load = LLVMBuildLoad2(j->b, j->t.ptr, jit_at(j, base, offset), "");
  LLVMValueRef nothing = LLVMMDNodeInContext(j->llvm, NULL, 0);
  LLVMSetMetadata(load, j->invariant_kind, nothing);
  return load;
}

static void need(jit_lower *j, LLVMValueRef pointer, LLVMBasicBlockRef slow) {
  LLVMBasicBlockRef fine = jit_block_after(j, "");
  jit_branch_likely(j, LLVMBuildIsNotNull(j->b, pointer, ""), fine, slow);
  LLVMPositionBuilderAtEnd(j->b, fine);
}

static void extend_bytes(jit_lower *j, LLVMValueRef call, const direct_call *d) {
  unsigned kind = LLVMGetEnumAttributeKindForName("zeroext", 7);
  LLVMAttributeRef zeroext = LLVMCreateEnumAttribute(j->llvm, kind, 0);
  for (unsigned i = 0; i < d->x->nparams; i++)
    if (d->x->params[i].type == LS_BOOL)
      LLVMAddCallSiteAttribute(call, i + 2, zeroext);
  if (d->x->result == VM_RESULT_SCALAR && d->x->result_type == LS_BOOL)
    LLVMAddCallSiteAttribute(call, LLVMAttributeReturnIndex, zeroext);
  kind = LLVMGetEnumAttributeKindForName("nounwind", 8);
  LLVMAddCallSiteAttribute(call, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                           LLVMCreateEnumAttribute(j->llvm, kind, 0));
}

static void store_result(jit_lower *j, const direct_call *d, LLVMValueRef v) {
  if (d->x->result != VM_RESULT_SCALAR)
    return;
  if (d->x->result_type == LS_REAL)
    v = jit_canonical(j, v);
  if (d->x->result_type == LS_BOOL)
    v = LLVMBuildZExt(j->b, v, j->t.i64, "");
  LLVMValueRef store = LLVMBuildStore(j->b, v, jit_reg_address(j, d->ins->a));
  jit_alias_mark(j, store, IR_MEM_FRAME, 0, 0);
}

static void call_it(jit_lower *j, direct_call *d, LLVMValueRef function, LLVMValueRef first) {
  bool has = d->x->result == VM_RESULT_SCALAR;
  unsigned n = d->x->nparams + 1u;
  d->types[0] = j->t.ptr;
  d->args[0] = first;
  for (unsigned i = 1; i < n; i++)
    d->types[i] = c_type(j, d->x->params[i - 1].type);
  LLVMTypeRef result = has ? c_type(j, d->x->result_type) : j->t.none;
  LLVMTypeRef type = LLVMFunctionType(result, d->types, n, false);
  LLVMValueRef call = LLVMBuildCall2(j->b, type, function, d->args, n, "");
  extend_bytes(j, call, d);
  jit_alias_mark_foreign(j, call);
  store_result(j, d, call);
}

static void store_work(jit_lower *j, const direct_call *d, LLVMValueRef before) {
  LLVMValueRef work = LLVMBuildAdd(j->b, before, jit_i64(j, vm_op_cost((vm_op)d->ins->op)), "");
  LLVMValueRef store = LLVMBuildStore(j->b, work, jit_at(j, j->cx, j->core->context_work));
  jit_alias_mark(j, store, IR_MEM_CX, 0, 0);
}

/* The rare way on after the call. */
static void settle(jit_lower *j, const ir_node *n, const ir_step *s, LLVMValueRef first,
                   LLVMBasicBlockRef end) {
  LLVMBasicBlockRef ask = jit_block(j, "settle");
  LLVMValueRef note = LLVMBuildLoad2(j->b, j->t.i32, first, "");
  jit_branch_likely(j, jit_compare(j, LLVMIntEQ, note, jit_i32(j, 0)), end, ask);
  LLVMPositionBuilderAtEnd(j->b, ask);
  LLVMValueRef args[3] = {j->frame, j->cx, jit_i32(j, s->pc)};
  LLVMValueRef answer = jit_call(j, JIT_HELPER_SETTLE, args, "");
  LLVMValueRef fine = jit_compare(j, LLVMIntNE, answer, jit_i32(j, VM_JIT_STOPPED));
  jit_branch_likely(j, fine, end, jit_exit_block(j, n->exit));
}

bool jit_direct_begin(jit_lower *j, const ir_node *n, const ir_step *s, LLVMBasicBlockRef *end) {
  direct_call d;
  if (!is_possible(j, n, s, &d))
    return false;
  LLVMValueRef work = jit_arg(j, n, 0);
  for (unsigned i = 0; i < d.x->nparams; i++)
    d.args[i + 1] = c_value(j, d.x->params[i].type, n->arg[i + 1]);
  LLVMBasicBlockRef slow = jit_block(j, "unbound");
  LLVMValueRef table = load_fixed(j, j->cx, j->core->context_direct);
  need(j, table, slow);
  uint64_t at = (uint64_t)d.ins->b * sizeof(vm_direct);
  LLVMValueRef function = load_fixed(j, table, at + offsetof(vm_direct, function));
  need(j, function, slow);
  LLVMValueRef first = load_fixed(j, table, at + offsetof(vm_direct, first));
  call_it(j, &d, function, first);
  store_work(j, &d, work);
  *end = jit_block_after(j, "");
  settle(j, n, s, first, *end);
  LLVMPositionBuilderAtEnd(j->b, slow);
  return true;
}
