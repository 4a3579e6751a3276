/* llvmjit/jit_forever.c - LLVM's static objects are never destroyed.
 *
 * `exit` destroys static objects while other threads go on: a compile under way would use what is
 * gone, and crash.  No handler of `exit` can wait for it first.  Handlers run newest first, and
 * LLVM registers its destructors while it is loaded and then, for what it makes at first use, in
 * the middle of compiles.
 *
 * So LLVM registers nothing: its reference to __cxa_atexit is led here.  Its objects live as long
 * as the process, and a compile that `exit` overtakes ends with it, unharmed.  A library's
 * reference is a word that the dynamic linker fills in, which a relocation names; those of other
 * libraries stay as they are.  The plug-in is linked with -z initfirst: when the constructor below
 * runs, LLVM is in memory and has not yet begun.
 *
 * Rejected: a definition of our own does not reach LLVM, which looks at libc first, and
 * RTLD_DEEPBIND would part it from the host's malloc; LLVM linked statically would make the plug-in
 * as large as it is; destructors of thread-local storage run early enough, but in the thread that
 * exits only.
 *
 * Limits: ELF with Rela relocations, glibc for initfirst.  What a host that uses the same libLLVM
 * itself has loaded before is destroyed as ever.
 */
#define _GNU_SOURCE /* dladdr1 */
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "llvmjit/jit_int.h"

#if defined(__x86_64__)
#define IS_WORD(type) ((type) == R_X86_64_JUMP_SLOT || (type) == R_X86_64_GLOB_DAT)
#elif defined(__aarch64__)
#define IS_WORD(type) ((type) == R_AARCH64_JUMP_SLOT || (type) == R_AARCH64_GLOB_DAT)
#else
#define IS_WORD(type) 0
#endif

typedef struct {
  uintptr_t base;
  const ElfW(Sym) * symbols;
  const char *names;
  const ElfW(Rela) * tables[2];
  size_t bytes[2];
  uintptr_t fixed, fixed_end; /* made read-only once linked */
} library;

static int register_nothing(void (*destroy)(void *), void *object, void *dso) {
  (void)destroy, (void)object, (void)dso;
  return 0;
}

static void read_dynamic(library *l, const ElfW(Dyn) * d) {
  for (; d->d_tag != DT_NULL; d++)
    switch (d->d_tag) {
    case DT_SYMTAB:
      l->symbols = (const void *)d->d_un.d_ptr;
      break;
    case DT_STRTAB:
      l->names = (const void *)d->d_un.d_ptr;
      break;
    case DT_JMPREL:
      l->tables[0] = (const void *)d->d_un.d_ptr;
      break;
    case DT_PLTRELSZ:
      l->bytes[0] = d->d_un.d_val;
      break;
    case DT_RELA:
      l->tables[1] = (const void *)d->d_un.d_ptr;
      break;
    case DT_RELASZ:
      l->bytes[1] = d->d_un.d_val;
      break;
    default:
      break;
    }
}

static int find_fixed(struct dl_phdr_info *info, size_t size, void *user) {
  library *l = user;
  (void)size;
  if (info->dlpi_addr != l->base)
    return 0;
  for (unsigned i = 0; i < info->dlpi_phnum; i++)
    if (info->dlpi_phdr[i].p_type == PT_GNU_RELRO) {
      l->fixed = l->base + info->dlpi_phdr[i].p_vaddr;
      l->fixed_end = l->fixed + info->dlpi_phdr[i].p_memsz;
    }
  return 1;
}

static void lead_here(const library *l, void **word) {
  uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), at = (uintptr_t)word & ~(page - 1);
  bool fixed = (uintptr_t)word >= l->fixed && (uintptr_t)word < l->fixed_end;
  if (fixed && mprotect((void *)at, page, PROT_READ | PROT_WRITE) != 0)
    return;
  *word = (void *)(uintptr_t)register_nothing;
  if (fixed)
    (void)mprotect((void *)at, page, PROT_READ); /* else it stays writable */
}

__attribute__((constructor)) static void lead_library(void) {
  Dl_info info;
  struct link_map *map = NULL;
  if (dladdr1((void *)(uintptr_t)&LLVMContextCreate, &info, (void **)&map, RTLD_DL_LINKMAP) == 0)
    return;
  library l = {.base = map->l_addr};
  read_dynamic(&l, map->l_ld);
  dl_iterate_phdr(find_fixed, &l);
  if (l.symbols == NULL || l.names == NULL)
    return;
  for (unsigned t = 0; t < 2; t++)
    for (size_t i = 0; l.tables[t] && i < l.bytes[t] / sizeof(ElfW(Rela)); i++) {
      const ElfW(Rela) *r = &l.tables[t][i];
      const char *name = l.names + l.symbols[ELF64_R_SYM(r->r_info)].st_name;
      if (IS_WORD(ELF64_R_TYPE(r->r_info)) && strcmp(name, "__cxa_atexit") == 0)
        lead_here(&l, (void **)(l.base + r->r_offset));
    }
}
