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

pure_status host_misuse(pure_error *e, const char *function) {
  return host_fail(e, PURE_MISUSE, "%s: a parameter is NULL, closed or of another kind", function);
}
