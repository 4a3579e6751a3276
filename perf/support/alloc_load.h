/* perf/support/alloc_load.h - a load for allocators: threads that free and allocate blocks. */
#ifndef PURE_PERF_ALLOC_LOAD_H
#define PURE_PERF_ALLOC_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
  void *user;
  void *(*alloc)(void *user, size_t bytes);
  void (*free)(void *user, void *block, size_t bytes);
  void (*park)(void *user); /* gives back what can be given back; called by each thread */
} alloc_api;

typedef enum { TOUCH_FIRST, TOUCH_PAGES, TOUCH_ALL } alloc_touch;

typedef struct {
  const char *name;
  size_t least, most; /* bytes of a block, multiples of 64, log-uniform */
  unsigned live;      /* blocks a thread */
  bool remote;        /* half of the blocks go to another thread's mailbox, which frees them */
  alloc_touch touch;
} alloc_load;

enum { ALLOC_MAX_THREADS = 64 };

typedef struct {
  double ops;        /* a second: one free and one allocation, over all threads */
  double live, peak; /* MB at its highest: live blocks (looked at each ms); resident memory */
  double settled;    /* MB resident 2 s after all but 1 in 16 blocks are freed */
  double parked;     /* MB resident after all is freed and every thread has parked */
} alloc_outcome;

/* settle: measure settled and parked too.  False: no memory, or threads cannot be had. */
bool alloc_load_run(const alloc_load *load, const alloc_api *api, unsigned threads, double seconds,
                    bool settle, alloc_outcome *out);

#endif
