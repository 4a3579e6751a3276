/* vm/vm_tier_load.c - an object of the cache into executable memory, without LLVM.
 *
 * A cached object is what the plug-in's compiler made: a relocatable ELF file with one function,
 * constants beside it, and references to the helpers.  Its sections are copied one after another
 * into fresh pages; behind them come a stub and a slot for each helper, because helpers may lie
 * out of reach of a near call.  Then the pages become read-only and executable: they are never
 * writable at the same time.
 *
 * Only the relocations that small position-independent code has are known.  With any other the
 * object is not used: it is compiled anew, which is always right.
 */
#include <elf.h>
#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "vm/vm_tier_int.h"

#define MAX_SECTIONS 32u
#define MAX_IMPORTS 32u
#define STUB_BYTES 16u /* a stub; its slot has 8 more */

typedef struct {
  const char *name;
  uint64_t address;
} known_symbol;

typedef struct {
  const vm_jit_core *core;
  const uint8_t *file;
  size_t bytes;
  const Elf64_Ehdr *head;
  const Elf64_Shdr *section;
  const Elf64_Sym *symbol;
  size_t nsymbols;
  const char *names;
  size_t names_bytes;
  uint64_t at[MAX_SECTIONS]; /* of each section in the image; UINT64_MAX: not in it */
  uint8_t *image;
  size_t image_bytes, stubs;    /* stubs: where they begin */
  uint32_t import[MAX_IMPORTS]; /* symbols with a stub */
  unsigned nimports;
} loader;

/* ---- reading, with every offset checked */

static const void *part(const loader *l, uint64_t offset, uint64_t bytes) {
  if (offset > l->bytes || bytes > l->bytes - offset)
    return NULL;
  return l->file + offset;
}

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#else
#define MACHINE EM_NONE
#endif

static bool read_head(loader *l) {
  const Elf64_Ehdr *h = part(l, 0, sizeof *h);
  if (h == NULL || memcmp(h->e_ident, ELFMAG, SELFMAG) != 0 || h->e_ident[EI_CLASS] != ELFCLASS64 ||
      h->e_type != ET_REL || h->e_machine != MACHINE || h->e_shentsize != sizeof(Elf64_Shdr) ||
      h->e_shnum > MAX_SECTIONS || h->e_shoff % 8)
    return false;
  l->head = h;
  l->section = part(l, h->e_shoff, sizeof(Elf64_Shdr) * h->e_shnum);
  return l->section != NULL;
}

static bool read_symbols(loader *l) {
  for (unsigned i = 0; i < l->head->e_shnum; i++) {
    const Elf64_Shdr *s = &l->section[i];
    if (s->sh_type != SHT_SYMTAB)
      continue;
    if (s->sh_link >= l->head->e_shnum || s->sh_entsize != sizeof(Elf64_Sym) || s->sh_offset % 8)
      return false;
    const Elf64_Shdr *names = &l->section[s->sh_link];
    l->symbol = part(l, s->sh_offset, s->sh_size);
    l->nsymbols = s->sh_size / sizeof(Elf64_Sym);
    l->names = part(l, names->sh_offset, names->sh_size);
    l->names_bytes = names->sh_size;
    return l->symbol && l->names && l->names_bytes && l->names[l->names_bytes - 1] == 0;
  }
  return false;
}

static const char *symbol_name(const loader *l, size_t n) {
  uint32_t at = l->symbol[n].st_name;
  return at < l->names_bytes ? l->names + at : "";
}

/* ---- laying out */

static size_t round_up(size_t n, size_t to) { return (n + to - 1) / to * to; }

static bool lay_out(loader *l) {
  size_t at = 0;
  for (unsigned i = 0; i < l->head->e_shnum; i++) {
    const Elf64_Shdr *s = &l->section[i];
    size_t align = s->sh_addralign ? s->sh_addralign : 1;
    l->at[i] = UINT64_MAX;
    if (!(s->sh_flags & SHF_ALLOC) || s->sh_size == 0)
      continue;
    /* Code is never written, so there is nothing that may be. */
    if ((s->sh_flags & SHF_WRITE) || align > 64 || s->sh_type != SHT_PROGBITS ||
        part(l, s->sh_offset, s->sh_size) == NULL)
      return false;
    l->at[i] = at = round_up(at, align);
    at += s->sh_size;
  }
  l->stubs = round_up(at, 16);
  l->image_bytes =
      round_up(l->stubs + MAX_IMPORTS * (STUB_BYTES + 8), (size_t)sysconf(_SC_PAGESIZE));
  return at > 0;
}

static void copy_sections(loader *l) {
  for (unsigned i = 0; i < l->head->e_shnum; i++)
    if (l->at[i] != UINT64_MAX)
      memcpy(l->image + l->at[i], l->file + l->section[i].sh_offset, l->section[i].sh_size);
}

/* ---- symbols of others */

static uint64_t known_address(const vm_jit_core *core, const char *name) {
  const known_symbol known[] = {
#define HELPER(id, helper, result, parameters, r, p, meaning)                                      \
  {"pure_" #helper, (uint64_t)(uintptr_t)core->helper},
#include "vm/vm_jit_helpers.def"
#undef HELPER
      {"memcpy", (uint64_t)(uintptr_t)memcpy}, {"memmove", (uint64_t)(uintptr_t)memmove},
      {"memset", (uint64_t)(uintptr_t)memset}, {"floor", (uint64_t)(uintptr_t)floor},
      {"ceil", (uint64_t)(uintptr_t)ceil},     {"trunc", (uint64_t)(uintptr_t)trunc},
      {"round", (uint64_t)(uintptr_t)round},
  };
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (strcmp(known[i].name, name) == 0)
      return known[i].address;
  return 0;
}

static void write_stub(uint8_t *at, uint64_t address) {
#if defined(__x86_64__)
  static const uint8_t jump[6] = {0xff, 0x25, 2, 0, 0, 0}; /* jmp *2(%rip) */
#else
  static const uint8_t jump[8] = {0x50, 0, 0, 0x58, 0, 2, 0x1f, 0xd6}; /* ldr x16, #8; br x16 */
#endif
  memset(at, 0, STUB_BYTES);
  memcpy(at, jump, sizeof jump);
  memcpy(at + 8, &address, 8);
}

static size_t slot_at(const loader *l, unsigned import) {
  return l->stubs + MAX_IMPORTS * STUB_BYTES + import * 8;
}

/* The number of the symbol's stub; MAX_IMPORTS: there can be none. */
static unsigned import_symbol(loader *l, uint32_t symbol) {
  for (unsigned i = 0; i < l->nimports; i++)
    if (l->import[i] == symbol)
      return i;
  uint64_t address = known_address(l->core, symbol_name(l, symbol));
  if (address == 0 || l->nimports == MAX_IMPORTS)
    return MAX_IMPORTS;
  write_stub(l->image + l->stubs + l->nimports * STUB_BYTES, address);
  memcpy(l->image + slot_at(l, l->nimports), &address, 8);
  l->import[l->nimports] = symbol;
  return l->nimports++;
}

/* Where the symbol is in the image: itself, or its stub; UINT64_MAX: nowhere. */
static uint64_t symbol_at(loader *l, uint32_t n) {
  if (n >= l->nsymbols)
    return UINT64_MAX;
  const Elf64_Sym *s = &l->symbol[n];
  if (s->st_shndx == SHN_UNDEF) {
    unsigned import = import_symbol(l, n);
    return import < MAX_IMPORTS ? l->stubs + import * STUB_BYTES : UINT64_MAX;
  }
  if (s->st_shndx >= l->head->e_shnum || l->at[s->st_shndx] == UINT64_MAX ||
      s->st_value > l->section[s->st_shndx].sh_size)
    return UINT64_MAX;
  return l->at[s->st_shndx] + s->st_value;
}

/* ---- relocations.  Addresses are relative to the image: all that is known is PC-relative. */

static bool put32(uint8_t *at, int64_t value) {
  int32_t v = (int32_t)value;
  memcpy(at, &v, 4);
  return v == value;
}

#if defined(__x86_64__)
static bool relocate(loader *l, const Elf64_Rela *r, uint64_t place) {
  uint32_t symbol = ELF64_R_SYM(r->r_info);
  uint64_t to = symbol_at(l, symbol);
  uint8_t *at = l->image + place;
  if (to == UINT64_MAX)
    return false;
  switch (ELF64_R_TYPE(r->r_info)) {
  case R_X86_64_PC32:
  case R_X86_64_PLT32:
    return put32(at, (int64_t)to + r->r_addend - (int64_t)place);
  case R_X86_64_GOTPCREL:
  case R_X86_64_GOTPCRELX:
  case R_X86_64_REX_GOTPCRELX:
    if (l->symbol[symbol].st_shndx != SHN_UNDEF)
      return false;
    to = slot_at(l, import_symbol(l, symbol));
    return put32(at, (int64_t)to + r->r_addend - (int64_t)place);
  default:
    return false;
  }
}
#else
static void patch(uint8_t *at, uint32_t mask, uint32_t bits) {
  uint32_t word;
  memcpy(&word, at, 4);
  word = (word & ~mask) | (bits & mask);
  memcpy(at, &word, 4);
}

/* The low 12 bits of an address, in units of an access of 1 << shift bytes. */
static bool patch_low(uint8_t *at, uint64_t address, unsigned shift) {
  if (address & ((UINT64_C(1) << shift) - 1))
    return false;
  patch(at, 0xfffu << 10, (uint32_t)((address & 0xfff) >> shift) << 10);
  return true;
}

static bool relocate(loader *l, const Elf64_Rela *r, uint64_t place) {
  uint64_t base = (uint64_t)(uintptr_t)l->image, to = symbol_at(l, ELF64_R_SYM(r->r_info));
  uint8_t *at = l->image + place;
  if (to == UINT64_MAX)
    return false;
  int64_t value = (int64_t)(to + base) + r->r_addend, here = (int64_t)(place + base);
  int64_t pages = (value >> 12) - (here >> 12);
  switch (ELF64_R_TYPE(r->r_info)) {
  case R_AARCH64_CALL26:
  case R_AARCH64_JUMP26:
    patch(at, 0x3ffffff, (uint32_t)((value - here) >> 2));
    return true;
  case R_AARCH64_PREL32:
    return put32(at, value - here);
  case R_AARCH64_ADR_PREL_PG_HI21:
    patch(at, 3u << 29 | 0x7ffffu << 5, (uint32_t)(pages & 3) << 29 | (uint32_t)(pages >> 2) << 5);
    return true;
  case R_AARCH64_ADD_ABS_LO12_NC:
  case R_AARCH64_LDST8_ABS_LO12_NC:
    return patch_low(at, (uint64_t)value, 0);
  case R_AARCH64_LDST16_ABS_LO12_NC:
    return patch_low(at, (uint64_t)value, 1);
  case R_AARCH64_LDST32_ABS_LO12_NC:
    return patch_low(at, (uint64_t)value, 2);
  case R_AARCH64_LDST64_ABS_LO12_NC:
    return patch_low(at, (uint64_t)value, 3);
  case R_AARCH64_LDST128_ABS_LO12_NC:
    return patch_low(at, (uint64_t)value, 4);
  default:
    return false;
  }
}
#endif

static bool relocate_section(loader *l, const Elf64_Shdr *s) {
  if (s->sh_info >= l->head->e_shnum || l->at[s->sh_info] == UINT64_MAX)
    return true; /* of a section that is not loaded */
  const Elf64_Rela *r = part(l, s->sh_offset, s->sh_size);
  uint64_t size = l->section[s->sh_info].sh_size;
  if (r == NULL || s->sh_entsize != sizeof *r || s->sh_offset % 8)
    return false;
  for (size_t i = 0; i < s->sh_size / sizeof *r; i++)
    if (r[i].r_offset > size || size - r[i].r_offset < 4 ||
        !relocate(l, &r[i], l->at[s->sh_info] + r[i].r_offset))
      return false;
  return true;
}

static bool relocate_all(loader *l) {
  for (unsigned i = 0; i < l->head->e_shnum; i++)
    if (l->section[i].sh_type == SHT_REL ||
        (l->section[i].sh_type == SHT_RELA && !relocate_section(l, &l->section[i])))
      return false;
  return true;
}

/* The one function that the object shows. */
static bool find_entry(loader *l, vm_loaded *out) {
  for (uint32_t i = 0; i < l->nsymbols; i++) {
    const Elf64_Sym *s = &l->symbol[i];
    if (ELF64_ST_BIND(s->st_info) != STB_GLOBAL || s->st_shndx == SHN_UNDEF)
      continue;
    uint64_t at = symbol_at(l, i);
    if (at == UINT64_MAX)
      return false;
    out->entry = l->image + at;
    out->code_bytes = s->st_size;
    return true;
  }
  return false;
}

bool vm_object_load(const vm_jit_core *core, const uint8_t *object, size_t bytes, vm_loaded *out) {
  loader l = {.core = core, .file = object, .bytes = bytes};
  if ((uintptr_t)object % 8 || !read_head(&l) || !read_symbols(&l) || !lay_out(&l))
    return false;
  void *pages =
      mmap(NULL, l.image_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED)
    return false;
  l.image = pages;
  copy_sections(&l);
  bool fine = relocate_all(&l) && find_entry(&l, out) &&
              mprotect(pages, l.image_bytes, PROT_READ | PROT_EXEC) == 0;
  __builtin___clear_cache((char *)pages, (char *)pages + l.image_bytes);
  out->pages = pages;
  out->bytes = l.image_bytes;
  if (!fine)
    munmap(pages, l.image_bytes);
  return fine;
}

void vm_object_unload(const vm_loaded *loaded) { munmap(loaded->pages, loaded->bytes); }
