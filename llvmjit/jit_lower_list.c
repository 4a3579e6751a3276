/* llvmjit/jit_lower_list.c - list headers, cells, bits, directories. */
#include <stddef.h>

#include "llvmjit/jit_int.h"

/* ---- headers */

static LLVMValueRef load_field(jit_lower *j, const ir_node *n, LLVMTypeRef type, size_t offset,
                               ir_mem class) {
  LLVMValueRef load = LLVMBuildLoad2(j->b, type, jit_at(j, j->list[n->list], offset), "");
  jit_alias_mark(j, load, class, n->list, 0);
  return load;
}

static LLVMValueRef load_hdr(jit_lower *j, const ir_node *n, LLVMTypeRef type, size_t offset) {
  return load_field(j, n, type, offset, IR_MEM_HDR);
}

static void set_range(jit_lower *j, LLVMValueRef load, uint64_t end) {
  LLVMMetadataRef parts[2] = {LLVMValueAsMetadata(jit_i64(j, 0)),
                              LLVMValueAsMetadata(jit_i64(j, end))};
  LLVMMetadataRef range = LLVMMDNodeInContext2(j->llvm, parts, 2);
  LLVMSetMetadata(load, j->range_kind, LLVMMetadataAsValue(j->llvm, range));
}

/* Where the list has no cells the pointer is NULL, which is aligned too. */
static LLVMValueRef load_cells(jit_lower *j, const ir_node *n, size_t offset) {
  LLVMValueRef load = load_hdr(j, n, j->t.ptr, offset);
  LLVMMetadataRef align = LLVMValueAsMetadata(jit_i64(j, LS_MEM_ALIGN));
  LLVMSetMetadata(load, j->align_kind,
                  LLVMMetadataAsValue(j->llvm, LLVMMDNodeInContext2(j->llvm, &align, 1)));
  return load;
}

LLVMValueRef jit_lower_SHAPE(jit_lower *j, const ir_node *n) {
  return load_hdr(j, n, j->t.i64, offsetof(ls_list, shape));
}

LLVMValueRef jit_lower_GSHAPE(jit_lower *j, const ir_node *n) {
  LLVMValueRef shape = load_hdr(j, n, j->t.i64, offsetof(ls_list, shape));
  jit_need(j, jit_compare(j, LLVMIntEQ, shape, jit_i64(j, (uint64_t)n->imm)), n->exit);
  return NULL;
}

LLVMValueRef jit_lower_COUNT(jit_lower *j, const ir_node *n) {
  LLVMValueRef count = load_field(j, n, j->t.i64, offsetof(ls_list, count), IR_MEM_COUNT);
  set_range(j, count, (uint64_t)LS_MAX_ROWS + 1);
  return count;
}

LLVMValueRef jit_lower_ROOM(jit_lower *j, const ir_node *n) {
  return load_hdr(j, n, j->t.i64, offsetof(ls_list, room));
}
LLVMValueRef jit_lower_VERSION(jit_lower *j, const ir_node *n) {
  return load_hdr(j, n, j->t.i64, offsetof(ls_list, version));
}

static LLVMValueRef load_flag(jit_lower *j, const ir_node *n, size_t offset) {
  return jit_compare(j, LLVMIntNE, load_hdr(j, n, j->t.i8, offset),
                     LLVMConstInt(j->t.i8, 0, false));
}

static LLVMValueRef is_null(jit_lower *j, LLVMValueRef pointer) {
  return LLVMBuildIsNull(j->b, pointer, "");
}

LLVMValueRef jit_lower_WRITABLE(jit_lower *j, const ir_node *n) {
  LLVMValueRef frozen = load_flag(j, n, offsetof(ls_list, frozen));
  LLVMValueRef shared = load_flag(j, n, offsetof(ls_list, shared));
  LLVMValueRef free = is_null(j, load_hdr(j, n, j->t.ptr, offsetof(ls_list, undo)));
  LLVMValueRef held = LLVMBuildOr(j->b, frozen, shared, "");
  return LLVMBuildAnd(j->b, free, LLVMBuildNot(j->b, held, ""), "");
}

LLVMValueRef jit_lower_DIRECT(jit_lower *j, const ir_node *n) {
  LLVMValueRef shape = load_hdr(j, n, j->t.i64, offsetof(ls_list, shape));
  LLVMValueRef layout = LLVMBuildAnd(j->b, shape, jit_i64(j, 15), "");
  LLVMValueRef array = jit_compare(j, LLVMIntEQ, layout, jit_i64(j, LS_ARRAY));
  LLVMValueRef dir = load_hdr(j, n, j->t.ptr, offsetof(ls_list, u.array.dir));
  LLVMValueRef shift = load_hdr(j, n, j->t.i32, offsetof(ls_list, u.array.shift));
  LLVMValueRef narrow = jit_compare(j, LLVMIntEQ, shift, jit_i32(j, 0));
  LLVMValueRef there = LLVMBuildNot(j->b, is_null(j, dir), "");
  return LLVMBuildAnd(j->b, array, LLVMBuildAnd(j->b, there, narrow, ""), "");
}

LLVMValueRef jit_lower_COL(jit_lower *j, const ir_node *n) {
  return load_cells(j, n, offsetof(ls_list, col) + n->col * sizeof(void *));
}
LLVMValueRef jit_lower_BASE(jit_lower *j, const ir_node *n) {
  return load_hdr(j, n, j->t.i64, offsetof(ls_list, u.dense.base));
}
LLVMValueRef jit_lower_CAP(jit_lower *j, const ir_node *n) {
  return load_hdr(j, n, j->t.i64, offsetof(ls_list, u.dense.cap));
}
LLVMValueRef jit_lower_PRESENT(jit_lower *j, const ir_node *n) {
  return load_hdr(j, n, j->t.ptr, offsetof(ls_list, u.dense.present));
}
LLVMValueRef jit_lower_DIR(jit_lower *j, const ir_node *n) {
  return load_hdr(j, n, j->t.ptr, offsetof(ls_list, u.array.dir));
}
LLVMValueRef jit_lower_ORIGIN(jit_lower *j, const ir_node *n) {
  return load_hdr(j, n, j->t.i64, offsetof(ls_list, u.array.origin));
}
LLVMValueRef jit_lower_BUCKETS(jit_lower *j, const ir_node *n) {
  return load_hdr(j, n, j->t.i64, offsetof(ls_list, u.array.nbuckets));
}

LLVMValueRef jit_lower_OFFSET(jit_lower *j, const ir_node *n) {
  LLVMValueRef offsets = load_hdr(j, n, j->t.ptr, offsetof(ls_list, u.tree.col_offset));
  LLVMValueRef load =
      LLVMBuildLoad2(j->b, j->t.i32, jit_at(j, offsets, n->col * sizeof(uint32_t)), "");
  jit_alias_mark(j, load, IR_MEM_HDR, n->list, 0);
  return LLVMBuildZExt(j->b, load, j->t.i64, "");
}

/* ---- cells */

LLVMTypeRef jit_cell_type(const jit_lower *j, unsigned width) {
  return width == 0 ? j->t.i8 : width == 1 ? j->t.i16 : width == 2 ? j->t.i32 : j->t.i64;
}

static LLVMValueRef cell_address(jit_lower *j, const ir_node *n, LLVMTypeRef type) {
  LLVMValueRef at = jit_arg(j, n, 1);
  return LLVMBuildInBoundsGEP2(j->b, type, jit_arg(j, n, 0), &at, 1, "");
}

LLVMValueRef jit_lower_CELL(jit_lower *j, const ir_node *n) {
  LLVMTypeRef type = jit_cell_type(j, n->width);
  LLVMValueRef load = LLVMBuildLoad2(j->b, type, cell_address(j, n, type), "");
  jit_alias_mark(j, load, IR_MEM_CELLS, n->list, n->col);
  return n->width < 3 ? LLVMBuildZExt(j->b, load, j->t.i64, "") : load;
}

LLVMValueRef jit_lower_CELLF(jit_lower *j, const ir_node *n) {
  LLVMValueRef load = LLVMBuildLoad2(j->b, j->t.f64, cell_address(j, n, j->t.f64), "");
  jit_alias_mark(j, load, IR_MEM_CELLS, n->list, n->col);
  return load;
}

LLVMValueRef jit_lower_CELLSET(jit_lower *j, const ir_node *n) {
  LLVMTypeRef type = jit_cell_type(j, n->width);
  LLVMValueRef v = jit_fit_sum(j, n);
  if (v == NULL)
    v = jit_arg(j, n, 2);
  if (LLVMTypeOf(v) != type)
    v = LLVMBuildTrunc(j->b, v, type, "");
  LLVMValueRef store = LLVMBuildStore(j->b, v, cell_address(j, n, type));
  jit_alias_mark(j, store, IR_MEM_CELLS, n->list, n->col);
  return NULL;
}

LLVMValueRef jit_lower_CELLFSET(jit_lower *j, const ir_node *n) {
  LLVMValueRef at = cell_address(j, n, j->t.f64);
  LLVMValueRef store = LLVMBuildStore(j->b, jit_arg(j, n, 2), at);
  jit_alias_mark(j, store, IR_MEM_CELLS, n->list, n->col);
  return NULL;
}

LLVMValueRef jit_lower_COUNTSET(jit_lower *j, const ir_node *n) {
  LLVMValueRef at = jit_at(j, j->list[n->list], offsetof(ls_list, count));
  jit_alias_mark(j, LLVMBuildStore(j->b, jit_arg(j, n, 0), at), IR_MEM_COUNT, n->list, 0);
  return NULL;
}

LLVMValueRef jit_lower_DIRAT(jit_lower *j, const ir_node *n) {
  LLVMValueRef load = LLVMBuildLoad2(j->b, j->t.i32, cell_address(j, n, j->t.i32), "");
  jit_alias_mark(j, load, IR_MEM_HDR, n->list, 0);
  return LLVMBuildZExt(j->b, load, j->t.i64, "");
}

LLVMValueRef jit_lower_LEAF(jit_lower *j, const ir_node *n) {
  LLVMValueRef at =
      LLVMBuildAnd(j->b, jit_arg(j, n, 0), jit_i64(j, ~(uint64_t)(LS_LEAF_ROWS - 1)), "");
  return LLVMBuildIntToPtr(j->b, at, j->t.ptr, "");
}

LLVMValueRef jit_lower_PADD(jit_lower *j, const ir_node *n) {
  LLVMValueRef bytes = jit_arg(j, n, 1);
  return LLVMBuildGEP2(j->b, j->t.i8, jit_arg(j, n, 0), &bytes, 1, "");
}

/* ---- presence bits */

static LLVMValueRef word_address(jit_lower *j, const ir_node *n) {
  LLVMValueRef word = LLVMBuildLShr(j->b, jit_arg(j, n, 1), jit_i64(j, 6), "");
  return LLVMBuildGEP2(j->b, j->t.i64, jit_arg(j, n, 0), &word, 1, "");
}

static LLVMValueRef load_word(jit_lower *j, const ir_node *n, LLVMValueRef at) {
  LLVMValueRef word = LLVMBuildLoad2(j->b, j->t.i64, at, "");
  jit_alias_mark(j, word, IR_MEM_BITS, n->list, 0);
  return word;
}

static LLVMValueRef bit_number(jit_lower *j, const ir_node *n) {
  return LLVMBuildAnd(j->b, jit_arg(j, n, 1), jit_i64(j, 63), "");
}

LLVMValueRef jit_lower_BIT(jit_lower *j, const ir_node *n) {
  LLVMValueRef word = load_word(j, n, word_address(j, n));
  LLVMValueRef low = LLVMBuildLShr(j->b, word, bit_number(j, n), "");
  return LLVMBuildTrunc(j->b, low, j->t.i1, "");
}

LLVMValueRef jit_lower_BITSET(jit_lower *j, const ir_node *n) {
  LLVMValueRef at = word_address(j, n), word = load_word(j, n, at);
  LLVMValueRef bit = LLVMBuildShl(j->b, jit_i64(j, 1), bit_number(j, n), "");
  LLVMValueRef store = LLVMBuildStore(j->b, LLVMBuildOr(j->b, word, bit, ""), at);
  jit_alias_mark(j, store, IR_MEM_BITS, n->list, 0);
  return NULL;
}

/* ---- prefetches */

static LLVMValueRef prefetch(jit_lower *j, LLVMValueRef at) {
  LLVMValueRef args[4] = {at, jit_i32(j, 0), jit_i32(j, 3), jit_i32(j, 1)};
  jit_intrinsic(j, "llvm.prefetch", &j->t.ptr, 1, args, 4);
  return NULL;
}

/* The address may lie anywhere: no "in bounds". */
static LLVMValueRef prefetch_index(jit_lower *j, const ir_node *n, LLVMTypeRef type) {
  LLVMValueRef at = jit_arg(j, n, 1);
  return prefetch(j, LLVMBuildGEP2(j->b, type, jit_arg(j, n, 0), &at, 1, ""));
}

LLVMValueRef jit_lower_PFCELL(jit_lower *j, const ir_node *n) {
  return prefetch_index(j, n, jit_cell_type(j, n->width));
}
LLVMValueRef jit_lower_PFDIR(jit_lower *j, const ir_node *n) {
  return prefetch_index(j, n, j->t.i32);
}
LLVMValueRef jit_lower_PFBIT(jit_lower *j, const ir_node *n) {
  return prefetch(j, word_address(j, n));
}
