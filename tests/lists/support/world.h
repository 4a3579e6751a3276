/* tests/lists/support/world.h - the stage of the property test.
 *
 * A world has a few tables (a schema and its model) and a few sides.  Every side holds all
 * the tables as real lists, each side in another layout, with its own memory, dictionary and
 * budget.  A *local* world keeps them as the lists of one call, a *stored* one in a store.
 * One step picks one operation and applies it to the model and on every side.
 *
 * Everything follows from the world's seed; step n draws from (seed, n) alone, so that steps
 * can be left out when a failure is made smaller.
 */
#ifndef PURE_TESTS_WORLD_H
#define PURE_TESTS_WORLD_H

#include "lists/lists.h"
#include "tests/lists/support/chance.h"
#include "tests/lists/support/model.h"

#define WORLD_COLS 40u
#define WORLD_TABLES 3u
#define WORLD_SIDES 6u
#define WORLD_LOOPS 3u
#define WORLD_KEPT 4u
#define WORLD_MARKS 6u
#define WORLD_DIGESTS 64u
#define WORLD_NSTATUS 7u /* no world is told to stop: stop_test.c */

/* Sides that keep no layout. */
#define SIDE_AUTO LS_NLAYOUTS         /* automatic policy, often settled */
#define SIDE_STRESS (LS_NLAYOUTS + 1) /* layouts change at random */
#define SIDE_KINDS (LS_NLAYOUTS + 2)

/* name, weight, where it may happen */
#define WORLD_OPS(X)                                                                               \
  X(INSERT, 12, AT_ANY)                                                                            \
  X(PUT, 8, AT_KEYED)                                                                              \
  X(ENSURE, 8, AT_KEYED)                                                                           \
  X(SET, 8, AT_ANY)                                                                                \
  X(ERASE, 9, AT_KEYED)                                                                            \
  X(SWEEP, 1, AT_KEYED)                                                                            \
  X(FILL, 1, AT_KEYED)                                                                             \
  X(CLEAR, 1, AT_RARE)                                                                             \
  X(SORT, 4, AT_FLAT)                                                                              \
  X(FIND, 6, AT_KEYED)                                                                             \
  X(HAS, 4, AT_KEYED)                                                                              \
  X(SCAN, 5, AT_ANY)                                                                               \
  X(COUNT, 4, AT_ANY)                                                                              \
  X(FIRST, 4, AT_ANY)                                                                              \
  X(LAST, 4, AT_ANY)                                                                               \
  X(AFTER, 4, AT_KEYED)                                                                            \
  X(LOOP, 3, AT_KEYED)                                                                             \
  X(NEXT, 12, AT_LOOPING)                                                                          \
  X(RELAYOUT, 2, AT_ANY)                                                                           \
  X(SETTLE, 2, AT_OUTSIDE)                                                                         \
  X(DIGEST, 3, AT_ANY)                                                                             \
  X(BUILD, 2, AT_ANY)                                                                              \
  X(RESTART, 1, AT_LOCAL | AT_RARE)                                                                \
  X(RENEW, 1, AT_LOCAL | AT_RARE)                                                                  \
  X(BEGIN, 6, AT_STORED | AT_OUTSIDE)                                                              \
  X(COMMIT, 1, AT_STORED | AT_EVENT)                                                               \
  X(ROLLBACK, 1, AT_STORED | AT_EVENT)                                                             \
  X(TAKE, 3, AT_STORED | AT_OUTSIDE)                                                               \
  X(HOLD, 1, AT_STORED)                                                                            \
  X(RELEASE, 2, AT_STORED)                                                                         \
  X(PEEK, 2, AT_STORED)                                                                            \
  X(FREEZE, 2, AT_STORED)                                                                          \
  X(THAW, 1, AT_STORED)                                                                            \
  X(REFUSE, 2, AT_STORED)                                                                          \
  X(SWAP, 1, AT_STORED | AT_OUTSIDE)

enum {
  AT_ANY = 0,
  AT_KEYED = 1,
  AT_FLAT = 2,
  AT_LOCAL = 4,
  AT_STORED = 8,
  AT_OUTSIDE = 16, /* of an event */
  AT_EVENT = 32,
  AT_LOOPING = 64,
  AT_RARE = 128 /* hardly ever in a world of big lists */
};

typedef enum {
#define X(name, weight, at) OP_##name,
  WORLD_OPS(X)
#undef X
      WORLD_NOPS
} world_op;

typedef struct {
  const char *name;
  unsigned weight, at;
} world_op_info;
extern const world_op_info world_ops[WORLD_NOPS];
extern const char *const world_statuses[WORLD_NSTATUS];
extern const char *const world_types[LS_NTYPES];

/* What was done; shared with the process that reports. */
typedef struct {
  uint64_t steps, worlds, lists, big_worlds, deep_worlds, checks;
  uint64_t op[WORLD_NOPS][LS_NLAYOUTS];
  uint64_t side[SIDE_KINDS];
  uint64_t status[WORLD_NSTATUS];
  uint64_t changed[LS_NLAYOUTS][LS_NLAYOUTS]; /* layout before and after a step */
  uint64_t width[LS_NTYPES][4];
  uint64_t rolled_back, snapshots_checked, loops_reseated;
  /* Where it is just now, for when it dies. */
  uint64_t seed, step;
  world_op now;
} world_cover;

/* How the values of a column are spread. */
typedef enum {
  SPREAD_DENSE,   /* a small span, perhaps at an edge of the range */
  SPREAD_SPARSE,  /* 0 .. 100000 */
  SPREAD_HUGE,    /* all 64 bits */
  SPREAD_CLUSTER, /* near one of four places far apart */
  SPREAD_UP,      /* ascending with the step */
  SPREAD_DOWN,
  SPREAD_FEW,   /* a handful: first columns of composite keys */
  SPREAD_WIDEN, /* narrow, and now and then the edges of every width */
  SPREAD_KINDS
} world_spread;

typedef struct {
  world_spread kind;
  int64_t base, span;
  int64_t centre[4];
  unsigned wild; /* SPREAD_WIDEN: one in this many values is wide */
} world_column;

typedef struct {
  ls_schema schema;
  ls_column cols[WORLD_COLS];
  char names[WORLD_COLS][12];
  world_column column[WORLD_COLS];
  model now, before; /* before: when the event began */
  size_t most;       /* rows it may grow to */
  struct {
    uint64_t contents, digest;
  } seen[WORLD_DIGESTS];
  unsigned nseen;
} world_table;

/* A handle that must lead to its row while the version stays. */
typedef struct {
  bool live;
  ls_row h;
  uint64_t version;
  size_t pos; /* positional */
  ls_val key[LS_MAX_KEYS];
} world_mark;

typedef struct {
  ls_list *list;
  uint64_t version; /* when last looked at */
  world_mark mark[WORLD_MARKS];
} world_copy;

typedef struct {
  int kind; /* the layout it keeps, or SIDE_AUTO, SIDE_STRESS */
  ls_mem *mem;
  ls_texts *base, *overlay;
  ls_store *store; /* NULL: local */
  ls_policy policy;
  ls_budget budget;
  uint64_t asked;                 /* texts interned */
  uint32_t *base_id, *overlay_id; /* of the pool's texts; UINT32_MAX: not asked yet */
  world_copy copy[WORLD_TABLES];
} world_side;

/* `for r in slice`, going on while everything changes. */
typedef struct {
  bool live, started;
  unsigned table;
  model_slice slice;
  ls_val key[LS_MAX_KEYS];
  bool seated[WORLD_SIDES];
  ls_cursor cursor[WORLD_SIDES];
  uint64_t version[WORLD_SIDES];
} world_loop;

typedef struct {
  unsigned holds; /* 0: none */
  ls_snapshot *of[WORLD_SIDES];
  model contents[WORLD_TABLES];
  uint64_t digest;
} world_snapshot;

typedef struct {
  bool live, in_event;
  unsigned table;
  ls_list *of[WORLD_SIDES];
  model contents;
} world_frozen;

typedef struct {
  uint64_t seed, step, steps;
  world_op op;
  bool stored, trace, strict;
  bool big, deep, large; /* loaded with many rows; grows to many rows; either */
  bool failed;
  char why[600];
  unsigned at_side, at_table; /* of the failure */
  world_cover *cover;

  model_pool pool;
  world_table table[WORLD_TABLES];
  unsigned ntables;
  world_side side[WORLD_SIDES];
  unsigned nsides;

  unsigned weight[WORLD_NOPS];
  bool hurt;      /* let allocations fail */
  bool by_cursor; /* look at rows in order after every step */
  unsigned keep;  /* one in so many steps a side goes back to its layout */
  bool limited;   /* budgets */
  int64_t budget; /* when the call or event began */
  bool in_event, event_limited;
  uint64_t event_digest;
  world_loop loop[WORLD_LOOPS];
  world_snapshot snapshot[WORLD_KEPT];
  world_frozen frozen[WORLD_KEPT];
} world;

/* NULL only where memory for the test itself is out.  A world that could not be made whole
 * has failed already. */
world *world_new(uint64_t seed, world_cover *cover);
/* Closes everything, which must give every block back: false where not.  Only for worlds
 * that have not failed. */
bool world_close(world *w);
/* Steps 0 .. steps - 1, leaving out those with skip[step].  False: failed. */
bool world_run(world *w, const bool *skip);
bool world_step(world *w);

/* Notes the failure, the first one only; always false. */
bool world_fail(world *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same, naming a side and a table. */
bool world_fail_at(world *w, unsigned side, unsigned table, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void world_say(const world *w, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- values (values.c) */
void world_choose_column(world *w, chance *c, world_table *t, unsigned col, bool is_key);
ls_val world_value(world *w, chance *c, const world_table *t, unsigned col);
void world_row(world *w, chance *c, const world_table *t, ls_val *row);
/* A key that is there, one near it, or any. */
void world_key(world *w, chance *c, const world_table *t, ls_val *key);
void world_slice(world *w, chance *c, const world_table *t, model_slice *s);
void world_format(const model *m, ls_type type, ls_val v, char *out, size_t n);
void world_format_row(const model *m, const ls_val *row, unsigned n, char *out, size_t size);
bool world_pool_make(world *w, chance *c);

/* ---- sides (sides.c) */
bool side_open(world *w, unsigned s, int kind, chance *c);
/* Store, lists and texts go; snapshots may be left, and then `mem` is in use. */
void side_close(world *w, unsigned s);
ls_list *side_list_new(world *w, unsigned s, unsigned t, chance *c);
/* The number of a text of the pool on this side. */
bool side_text(world *w, world_side *s, uint32_t text, bool overlay, uint32_t *id);
void side_forget_texts(world *w, world_side *s, bool base_too);
ls_val side_value(world *w, world_side *s, ls_type type, bool overlay, ls_val v);
static inline ls_list *side_list(const world *w, unsigned s, unsigned t) {
  return w->side[s].copy[t].list;
}

/* ---- looking (view.c) */
bool view_row(world *w, unsigned side, unsigned table, ls_list *l, ls_row h, const ls_val *row);
/* All of l against m, in order or by look-up; works for frozen lists too. */
bool view_contents(world *w, unsigned side, unsigned table, ls_list *l, const model *m,
                   bool by_cursor);
bool view_slice(world *w, unsigned side, unsigned table, ls_list *l, const model *m,
                ls_cursor *cursor, size_t from, size_t to);
void view_mark(world *w, unsigned side, unsigned table, ls_row h, size_t pos, const ls_val *key,
               chance *c);
/* Everything that must hold after a step; `touched` is the table of the step. */
bool view_after_step(world *w, unsigned touched, chance *c);
bool view_all(world *w, chance *c);
bool view_digest(world *w, unsigned table);
void view_print(world *w);

/* ---- operations */
#define TX_OWN 0u     /* no overlay named, the list's own numbers */
#define TX_OVERLAY 1u /* the overlay and its numbers */
#define TX_MIXED 2u   /* the overlay, but numbers of the base, which may be younger than it */
#define TX_KINDS 3u

typedef struct {
  unsigned table;
  ls_val row[WORLD_COLS]; /* key: its first columns */
  ls_val value;
  unsigned col;
  size_t pos;
  model_slice slice;
  uint16_t keys[8];
  unsigned nkeys;
  ls_layout to;
  unsigned texts;
  bool fast;           /* try the fast path first */
  const ls_val *batch; /* rows to build from, the pool's texts */
  size_t nbatch;
  ls_dup dup;
} world_args;

typedef struct {
  world *w;
  unsigned side;
  ls_list *list;
  ls_texts *tx;
  world_args a; /* with this side's text numbers */
  const world_args *as_said;
  ls_row h;
  bool has_row;
  uint64_t n;
  ls_slice slice;
} world_call;
typedef ls_status (*world_apply)(world_call *c);

typedef struct {
  ls_status status;
  const ls_val *row; /* what the row at the handle must be; NULL: not looked at */
  bool counted;
  uint64_t n;
  bool grows; /* may use up the budget */
} world_want;

/* Between these the side's allocations may fail. */
void world_hurt(world *w, unsigned side, chance *c);
void world_heal(world *w, unsigned side);
/* Does it on every side, with failing allocations now and then; *got is what all said. */
bool world_do(world *w, chance *c, const world_args *a, world_apply f, const world_want *want,
              ls_status *got);
ls_slice world_side_slice(const model_slice *s);

bool op_rows(world *w, world_table *t, chance *c);    /* INSERT .. SORT */
bool op_reads(world *w, world_table *t, chance *c);   /* FIND .. NEXT, DIGEST */
bool op_layouts(world *w, world_table *t, chance *c); /* RELAYOUT .. RENEW */
bool op_store(world *w, world_table *t, chance *c);   /* BEGIN .. SWAP */
/* Brings side s back to its layout where it can hold the list. */
bool op_keep(world *w, unsigned s, unsigned t);
bool op_relayout(world *w, unsigned s, unsigned t, ls_layout to);
void op_drop_kept(world *w); /* snapshots */
void op_drop_frozen(world *w, bool of_event);

#endif
