/* What ran where: the profile of a session, by loop. */
#include "host/lib/host_int.h"

#include <string.h>

#include "vm/vm_profile.h"

static uint32_t loop_line(const vm_fn *fn, uint32_t loop) {
  if (!fn->pos)
    return 0;
  for (uint32_t pc = 0; pc < fn->ncode; pc++)
    if (fn->code[pc].op == VM_OP_LOOP && fn->code[pc].a == loop)
      return fn->pos[pc].line;
  return 0;
}

static void describe_tier(pure_session *session, uint32_t fn, uint32_t loop, pure_loop_stats *out) {
  static const char *const names[] = {"interpreter", "level 1", "level 2", "level 3"};
  vm_entry_stats s;
  out->tier = names[0];
  if (!vm_link_read_entry(session->store->link, fn, loop, &s))
    return;
  out->tier = names[s.level];
  out->compiles = s.compiles;
  out->deopts = s.deopts;
  out->compile_ns = s.compile_ns;
  out->code_bytes = s.level ? s.code_bytes : 0;
  memcpy(out->reason, s.why, sizeof out->reason);
}

static void describe(const vm_fn *fn, uint32_t loop, const vm_loop_profile *seen,
                     pure_loop_stats *out) {
  memset(out, 0, sizeof *out);
  out->function = fn->name;
  out->line = loop_line(fn, loop);
  out->tier = "interpreter";
  out->entries = seen->entries;
  out->headers = seen->headers;
  out->longest = seen->longest;
}

/* Number *wanted of the loops that ran; counts it down by those passed over. */
static bool find_loop(pure_session *session, uint32_t *wanted, pure_loop_stats *out) {
  const vm_module *module = session->store->program->module;
  const vm_profile *profile = vm_context_profile(session->cx);
  for (uint32_t f = 0; profile && f < profile->nfns; f++) {
    const vm_fn *fn = &module->fns[f];
    const vm_loop_profile *loops = profile->fns[f].loops;
    for (uint32_t i = 0; loops && i < fn->nloops; i++) {
      describe(fn, i, &loops[i], out);
      describe_tier(session, f, i, out);
      /* the interpreter need not have been there */
      bool seen = loops[i].headers || out->tier[0] == 'l';
      if (seen && (*wanted)-- == 0)
        return true;
    }
  }
  return false;
}

static bool find_function(pure_session *session, uint32_t *wanted, pure_loop_stats *out) {
  const vm_module *module = session->store->program->module;
  const vm_profile *profile = vm_context_profile(session->cx);
  for (uint32_t f = 0; profile && f < profile->nfns; f++) {
    const vm_fn *fn = &module->fns[f];
    if (profile->fns[f].calls == 0 || (*wanted)-- > 0)
      continue;
    memset(out, 0, sizeof *out);
    out->function = fn->name;
    out->line = fn->pos ? fn->pos[0].line : 0;
    out->entries = profile->fns[f].calls;
    describe_tier(session, f, fn->nloops, out);
    return true;
  }
  return false;
}

static pure_status read_stats(pure_session *session, uint32_t wanted, pure_loop_stats *out,
                              bool (*find)(pure_session *, uint32_t *, pure_loop_stats *)) {
  pure_loop_stats full;
  if (!host_is(session, HOST_SESSION) || !out || !host_sized(out->size, sizeof full))
    return PURE_MISUSE;
  int idle = 0;
  if (!atomic_compare_exchange_strong(&session->busy, &idle, 1))
    return PURE_BUSY;
  pure_status status = PURE_NOT_FOUND;
  if (find(session, &wanted, &full)) {
    full.size = out->size;
    memcpy(out, &full, out->size);
    status = PURE_OK;
  }
  atomic_store(&session->busy, 0);
  return status;
}

pure_status pure_session_loop_stats(pure_session *session, uint32_t loop, pure_loop_stats *out) {
  return read_stats(session, loop, out, find_loop);
}

pure_status pure_session_function_stats(pure_session *session, uint32_t function,
                                        pure_loop_stats *out) {
  return read_stats(session, function, out, find_function);
}
