/* tests/host/support/host_support.h - what the tests of the C API share. */
#ifndef PURE_TESTS_HOST_SUPPORT_H
#define PURE_TESTS_HOST_SUPPORT_H

#include <pure/pure.h>

#include <check.h>

/* Every handle a test usually needs; NULL where it was not made. */
typedef struct {
  pure_engine *engine;
  pure_program *program;
  pure_store *store;
  pure_session *session;
} host_world;

extern const char host_program[];

/* Of host_program when text is NULL. */
void host_open(host_world *w, const char *text);
void host_close(host_world *w);

/* The call must do what it says; message tells why it did not. */
void host_fine(pure_status status, const pure_error *error);
/* The status, and a part of its message. */
void host_refused(pure_status got, const pure_error *error, pure_status want, const char *part);

/* Calls with arguments as texts, up to a NULL; must be fine.  The value of an int result, or 0. */
int64_t host_call(host_world *w, const char *name, ...);
uint64_t host_digest(pure_store *store);

/* Imports a whole text in pieces of `piece` bytes (0: at once). */
pure_status host_import(pure_store *store, const char *list, pure_format format, const char *text,
                        size_t length, size_t piece, pure_error *error);

/* Runs the cases as one suite; exit status of the program. */
int host_run(const char *name, const TTest *const *tests, size_t n);
#define HOST_RUN(name, tests) host_run(name, tests, sizeof(tests) / sizeof *(tests))

#endif
