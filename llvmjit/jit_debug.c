/* llvmjit/jit_debug.c - source lines of compiled code, for perf and gdb: only where they were asked
 * for, as they cost compile time.
 *
 * Out: each LLVM instruction gets the line and column of the bytecode it comes from, and LLVM
 * writes a line table (DWARF 4) into the object.  In: for jitdump the table is read back, which is
 * a small program over address and line.
 */
#include <llvm-c/DebugInfo.h>
#include <llvm-c/Object.h>
#include <string.h>

#include "llvmjit/jit_int.h"

/* ---- out */

static void add_flag(jit_lower *j, const char *name, unsigned value) {
  LLVMAddModuleFlag(j->module, LLVMModuleFlagBehaviorWarning, name, strlen(name),
                    LLVMValueAsMetadata(jit_i32(j, value)));
}

void jit_debug_begin(jit_lower *j, const char *source, const char *name) {
  unsigned line = j->fn->pos[0].line;
  add_flag(j, "Debug Info Version", LLVMDebugMetadataVersion());
  add_flag(j, "Dwarf Version", 4);
  j->debug = LLVMCreateDIBuilder(j->module);
  LLVMMetadataRef file = LLVMDIBuilderCreateFile(j->debug, source, strlen(source), ".", 1);
  LLVMDIBuilderCreateCompileUnit(j->debug, LLVMDWARFSourceLanguageC99, file, "pure", 4, true, "", 0,
                                 0, "", 0, LLVMDWARFEmissionLineTablesOnly, 0, false, false, "", 0,
                                 "", 0);
  LLVMMetadataRef type = LLVMDIBuilderCreateSubroutineType(j->debug, file, NULL, 0, LLVMDIFlagZero);
  j->program =
      LLVMDIBuilderCreateFunction(j->debug, file, name, strlen(name), name, strlen(name), file,
                                  line, type, true, true, line, LLVMDIFlagZero, true);
  LLVMSetSubprogram(j->function, j->program);
  jit_debug_at(j, 0);
}

void jit_debug_at(jit_lower *j, uint32_t pc) {
  if (j->debug == NULL || pc >= j->fn->ncode)
    return;
  vm_pos pos = j->fn->pos[pc];
  LLVMSetCurrentDebugLocation2(
      j->b, LLVMDIBuilderCreateDebugLocation(j->llvm, pos.line, pos.column, j->program, NULL));
}

void jit_debug_end(jit_lower *j) {
  if (j->debug == NULL)
    return;
  LLVMDIBuilderFinalize(j->debug);
  LLVMDisposeDIBuilder(j->debug);
}

/* ---- in */

typedef struct {
  const uint8_t *at, *end;
  bool broken;
} reader;

static uint64_t take(reader *r, unsigned bytes) {
  uint64_t n = 0;
  if ((size_t)(r->end - r->at) < bytes) {
    r->broken = true;
    return 0;
  }
  memcpy(&n, r->at, bytes);
  r->at += bytes;
  return n;
}

static uint64_t take_leb(reader *r, bool is_signed) {
  uint64_t n = 0, byte;
  unsigned shift = 0;
  do {
    byte = take(r, 1);
    if (shift < 64)
      n |= (byte & 0x7f) << shift;
    shift += 7;
  } while ((byte & 0x80) && !r->broken);
  if (is_signed && (byte & 0x40) && shift < 64)
    n |= UINT64_MAX << shift;
  return n;
}

typedef struct {
  uint8_t step, range, first; /* of special opcodes */
  int8_t base;
  uint8_t nargs[256];
  uint64_t address;
  uint64_t line;
  jit_line *out;
  unsigned n, most;
} table;

static void emit(table *t) {
  if (t->n < t->most && (t->n == 0 || t->out[t->n - 1].line != t->line))
    t->out[t->n++] = (jit_line){t->address, (uint32_t)t->line};
}

static bool read_table_head(reader *r, table *t) {
  uint64_t length = take(r, 4);
  if (length < (uint64_t)(r->end - r->at))
    r->end = r->at + length;
  if (take(r, 2) != 4) /* the version that jit_debug_begin asked for */
    return false;
  uint64_t rest = take(r, 4);
  const uint8_t *program = r->at + rest;
  if (rest > (uint64_t)(r->end - r->at))
    return false;
  t->step = (uint8_t)take(r, 1);
  take(r, 2); /* operations an instruction; is_stmt */
  t->base = (int8_t)take(r, 1);
  t->range = (uint8_t)take(r, 1);
  t->first = (uint8_t)take(r, 1);
  for (unsigned op = 1; op < t->first; op++)
    t->nargs[op] = (uint8_t)take(r, 1);
  r->at = program;
  return !r->broken && t->range > 0;
}

/* Begins with 0; false at the end of the sequence. */
static bool run_extended(reader *r, table *t) {
  uint64_t length = take_leb(r, false);
  const uint8_t *next = r->at + length;
  if (length == 0 || length > (uint64_t)(r->end - r->at))
    return false;
  uint64_t op = take(r, 1);
  if (op == 2 && length == 9)
    t->address = take(r, 8);
  r->at = next;
  return op != 1;
}

static void run_standard(reader *r, table *t, unsigned op) {
  switch (op) {
  case 1: /* copy */
    emit(t);
    break;
  case 2: /* advance the address */
    t->address += take_leb(r, false) * t->step;
    break;
  case 3: /* advance the line */
    t->line += take_leb(r, true);
    break;
  case 8: /* as the special opcode 255, without a row */
    t->address += (uint64_t)((255u - t->first) / t->range) * t->step;
    break;
  case 9:
    t->address += take(r, 2);
    break;
  default:
    for (unsigned i = 0; i < t->nargs[op]; i++)
      take_leb(r, false);
  }
}

static void run_table(reader *r, table *t) {
  while (r->at < r->end && !r->broken) {
    unsigned op = (unsigned)take(r, 1);
    if (op == 0 && !run_extended(r, t))
      return;
    if (op == 0)
      continue;
    if (op < t->first) {
      run_standard(r, t, op);
      continue;
    }
    t->address += (uint64_t)((op - t->first) / t->range) * t->step;
    t->line += (uint64_t)(int64_t)(t->base + (int)((op - t->first) % t->range));
    emit(t);
  }
}

unsigned jit_debug_lines(LLVMMemoryBufferRef object, jit_line *out, unsigned most) {
  char *message = NULL;
  table t = {.line = 1, .out = out, .most = most};
  LLVMBinaryRef binary = LLVMCreateBinary(object, NULL, &message);
  if (binary == NULL) {
    LLVMDisposeMessage(message);
    return 0;
  }
  LLVMSectionIteratorRef s = LLVMObjectFileCopySectionIterator(binary);
  for (; !LLVMObjectFileIsSectionIteratorAtEnd(binary, s); LLVMMoveToNextSection(s)) {
    const char *name = LLVMGetSectionName(s);
    if (name == NULL || strcmp(name, ".debug_line") != 0)
      continue;
    const uint8_t *bytes = (const uint8_t *)LLVMGetSectionContents(s);
    reader r = {bytes, bytes + LLVMGetSectionSize(s), false};
    if (read_table_head(&r, &t))
      run_table(&r, &t);
    break;
  }
  LLVMDisposeSectionIterator(s);
  LLVMDisposeBinary(binary);
  return t.n;
}
