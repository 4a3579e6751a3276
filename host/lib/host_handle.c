/* Handles: what every kind of them begins with.
 *
 * The caller has one reference to a handle from its making to its release; handles made from it
 * have the others.  A release closes the handle whoever else still needs it, so that using it
 * again, or releasing it twice, is seen for what it is.
 *
 * A handle that nobody needs any more is not freed at once, for its closed state could not be read
 * then.  It is buried: freed when HOST_BURIED others have been buried after it, or with its engine.
 */
#include "host/lib/host_int.h"

#include <stdio.h>

enum { HOST_BURIED = 64 };

#define CLOSED UINT32_C(0x43720000)

void host_handle_init(host_handle *h, host_kind kind, size_t bytes) {
  atomic_init(&h->state, HOST_OPEN | (uint32_t)kind);
  atomic_init(&h->refs, 1);
  h->next = NULL;
  h->bytes = bytes;
}

void *host_handle_new(pure_engine *engine, host_kind kind, size_t bytes) {
  host_handle *h = host_alloc(engine, bytes);
  if (h)
    host_handle_init(h, kind, bytes);
  return h;
}

bool host_close(void *handle, host_kind kind) {
  host_handle *h = handle;
  uint32_t open = HOST_OPEN | (uint32_t)kind;
  return h && atomic_compare_exchange_strong(&h->state, &open, CLOSED | (uint32_t)kind);
}

void *host_hold(void *handle) {
  host_handle *h = handle;
  atomic_fetch_add(&h->refs, 1);
  return h;
}

bool host_let_go(void *handle) {
  host_handle *h = handle;
  return h && atomic_fetch_sub(&h->refs, 1) == 1;
}

void host_bury(pure_engine *engine, void *handle) {
  host_handle *h = handle, *oldest = NULL;
  pthread_mutex_lock(&engine->graves);
  h->next = NULL;
  *(engine->last_grave ? &engine->last_grave->next : &engine->first_grave) = h;
  engine->last_grave = h;
  if (++engine->buried > HOST_BURIED) {
    oldest = engine->first_grave;
    engine->first_grave = oldest->next;
    engine->buried--;
  }
  pthread_mutex_unlock(&engine->graves);
  if (oldest)
    host_free(engine, oldest, oldest->bytes);
}

void host_clear_graves(pure_engine *engine) {
  while (engine->first_grave) {
    host_handle *h = engine->first_grave;
    engine->first_grave = h->next;
    host_free(engine, h, h->bytes);
  }
}

static const char *kind_text(host_kind kind) {
  static const char *const names[] = {"pointer",       "pure_engine",  "pure_program", "pure_store",
                                      "pure_snapshot", "pure_session", "pure_result",  "pure_fill",
                                      "pure_import",   "pure_counters"};
  return names[kind];
}

/* False: nothing is wrong with it. */
static bool describe(const host_param *p, char *out, size_t n) {
  const host_handle *h = p->value;
  if (!h)
    return snprintf(out, n, "is NULL"), true;
  if (p->kind == HOST_POINTER || host_is(h, p->kind))
    return false;
  uint32_t state = atomic_load(&((host_handle *)(uintptr_t)h)->state), kind = state & 0xffffu;
  uint32_t life = state & ~0xffffu;
  bool known = kind >= HOST_ENGINE && kind <= HOST_COUNTERS;
  if (life == CLOSED && kind == (uint32_t)p->kind)
    snprintf(out, n, "has been released");
  else if (known && (life == HOST_OPEN || life == CLOSED))
    snprintf(out, n, "is a %s, not a %s", kind_text((host_kind)kind), kind_text(p->kind));
  else
    snprintf(out, n, "is no %s", kind_text(p->kind));
  return true;
}

pure_status host_misuse(pure_error *e, const char *function, const host_param *params, size_t n) {
  char wrong[80];
  for (size_t i = 0; i < n; i++)
    if (describe(&params[i], wrong, sizeof wrong))
      return host_fail(e, PURE_MISUSE, "%s: %s %s", function, params[i].name, wrong);
  return host_fail(e, PURE_MISUSE, "%s: a parameter is wrong", function);
}
