/* vm/vm_tier_plugin.c - finding and loading libpure-llvmjit.so.
 *
 * Loading LLVM takes tens of milliseconds and as many megabytes, so it happens on the thread that
 * compiles, when there is something to compile.  The plug-in stays in the process: LLVM does not
 * like to be unloaded.
 */
#define _GNU_SOURCE /* dladdr, dl_iterate_phdr */
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vm/vm_tier_int.h"

#define PLUGIN_NAME "libpure-llvmjit.so"

/* Where it may lie, seen from the library or the program that this code is in: beside it, where
 * it is installed, and in the tree of a build. */
static const char *const places[] = {
    "",
    "pure/",
    "../lib/pure/",
    "../llvmjit/",
    "../../llvmjit/",
#ifdef PURE_MULTIARCH
    "../lib/" PURE_MULTIARCH "/pure/",
#endif
};

/* Where it is installed, for a program elsewhere that has the library in itself: by what the build
 * was told, and by the packages. */
static const char *const installed[] = {PURE_INSTALLED, PURE_PACKAGED};

static void say_why(vm_tier *t, const char *text) { snprintf(t->why, sizeof t->why, "%s", text); }

static bool try_file(vm_tier *t, const char *dir, size_t len, const char *place) {
  int n =
      snprintf(t->plugin_path, sizeof t->plugin_path, "%.*s%s" PLUGIN_NAME, (int)len, dir, place);
  if (n < 0 || (size_t)n >= sizeof t->plugin_path)
    return false;
  FILE *there = fopen(t->plugin_path, "rb");
  if (there == NULL)
    t->plugin_path[0] = 0;
  if (there == NULL)
    return false;
  fclose(there);
  return true;
}

/* The absolute path of the library or program that this code is in, for free(); NULL: unknown.  Of
 * a program that was found through PATH the loader knows the bare name alone: that names no file
 * here, or a stranger's in the present folder. */
static char *own_file(void) {
  Dl_info self;
  bool known = dladdr((void *)(uintptr_t)&vm_tier_plugin, &self) != 0 && self.dli_fname != NULL;
  char *path = known && strchr(self.dli_fname, '/') ? realpath(self.dli_fname, NULL) : NULL;
  return path ? path : realpath("/proc/self/exe", NULL);
}

static bool find_installed(vm_tier *t) {
  char *path = own_file();
  size_t len = path ? (size_t)(strrchr(path, '/') - path) + 1 : 0;
  bool found = false;
  for (size_t i = 0; path && i < sizeof places / sizeof *places && !found; i++)
    found = try_file(t, path, len, places[i]);
  free(path);
  for (size_t i = 0; i < sizeof installed / sizeof *installed && !found; i++)
    found = try_file(t, installed[i], strlen(installed[i]), "");
  return found;
}

/* The program itself comes first; one that no loader started has libc in itself, and a second libc,
 * which the plug-in needs, crashes beside that. */
static int is_started_by_loader(struct dl_phdr_info *program, size_t size, void *answer) {
  (void)size;
  for (unsigned i = 0; i < program->dlpi_phnum; i++)
    if (program->dlpi_phdr[i].p_type == PT_INTERP)
      *(bool *)answer = true;
  return 1;
}

bool vm_tier_find_plugin(vm_tier *t) {
  bool dynamic = false;
  if (t->plugin_path[0])
    return true;
  dl_iterate_phdr(is_started_by_loader, &dynamic);
  if (!dynamic) {
    snprintf(t->absent, sizeof t->absent,
             "a program linked with -static cannot load " PLUGIN_NAME "; link libc dynamically");
    return false;
  }
  const char *dir = t->plugin_dir;
  if (dir ? try_file(t, dir, strlen(dir), "/") : find_installed(t))
    return true;
  if (t->absent[0])
    return false;
  if (dir)
    snprintf(t->absent, sizeof t->absent, "there is no " PLUGIN_NAME " in %s", dir);
  else
    snprintf(t->absent, sizeof t->absent,
             "there is no " PLUGIN_NAME " beside the library or program, in ../lib/pure, nor in %s;"
             " plugin_dir (or PURE_PLUGIN_DIR) can say where it is",
             PURE_INSTALLED);
  return false;
}

const char *vm_tier_absent(vm_tier *t) {
  bool found = true;
  if (pthread_mutex_trylock(&t->loading) == 0) { /* else somebody is at it */
    found = vm_tier_find_plugin(t);
    pthread_mutex_unlock(&t->loading);
  }
  return found ? NULL : t->absent;
}

static bool open_plugin(vm_tier *t) {
  t->handle = dlopen(t->plugin_path, RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
  void *symbol = t->handle ? dlsym(t->handle, VM_JIT_SYMBOL) : NULL;
  if (symbol == NULL) {
    const char *said = dlerror();
    say_why(t, said ? said : "the plug-in has no door");
    return false;
  }
  vm_jit_entry entry = (vm_jit_entry)(uintptr_t)symbol;
  t->plugin = entry();
  if (t->plugin == NULL || t->plugin->abi != VM_JIT_ABI) {
    say_why(t, "the plug-in is of another version");
    return false;
  }
  t->engine = t->plugin->open(&t->core, t->mem, t->why);
  return t->engine != NULL;
}

static bool load(vm_tier *t) { return vm_tier_find_plugin(t) && open_plugin(t); }

bool vm_tier_plugin(vm_tier *t) {
  if (atomic_load(&t->loaded) == 0) {
    pthread_mutex_lock(&t->loading);
    if (atomic_load(&t->loaded) == 0)
      atomic_store(&t->loaded, load(t) ? 1 : -1);
    pthread_mutex_unlock(&t->loading);
  }
  return atomic_load(&t->loaded) > 0;
}

void vm_tier_unload(vm_tier *t) {
  if (t->engine)
    t->plugin->close(t->engine);
  t->engine = NULL;
  if (t->handle)
    dlclose(t->handle);
  t->handle = NULL;
}
