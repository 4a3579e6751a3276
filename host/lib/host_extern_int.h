/* host/lib/host_extern_int.h - host functions: bound (host_extern.c), called (host_extern_call.c).
 */
#ifndef PURE_HOST_EXTERN_INT_H
#define PURE_HOST_EXTERN_INT_H

#include "host/lib/host_int.h"

#include <ffi.h>

enum { HOST_BIND_OPEN, HOST_BIND_BUSY, HOST_BIND_SEALED };
#define HOST_NO_RESULT 255u

/* "pure extern fn name(type, type): type", read.  Types are of ls_type. */
typedef struct {
  const char *name; /* not 0-terminated */
  size_t name_length;
  bool pure;
  unsigned nparams;
  uint8_t param[VM_MAX_PARAMS];
  uint8_t result; /* or HOST_NO_RESULT */
} host_declaration;
bool host_declaration_read(const char *text, host_declaration *out);

/* An extern fn of a program and what is bound to it; function NULL: nothing.  libffi writes into
 * the types of structs, so each has its own. */
struct host_extern {
  pure_function function;
  void *user;
  ffi_cif cif;
  ffi_type string;
  ffi_type *string_parts[3];
  ffi_type *types[VM_MAX_PARAMS + 1];
};

struct host_library {
  struct host_library *next;
  void *handle;
};

enum { HOST_NOTE_LEFT = 1, HOST_NOTE_WATCHED };

/* The call as the function sees it.  note is first, and not 0 where there is something to settle:
 * a fault, work to charge, a call that was cancelled or whose time or progress is watched. */
struct pure_call {
  uint32_t note;
  bool failed;
  void *user;
  uint64_t work;
  char *message; /* of HOST_CALL_CHARS */
};

void host_extern_prepare(host_extern *x, const vm_extern *declared, const pure_binding *b);

#endif
