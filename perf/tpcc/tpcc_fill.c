/* The rows at the start, into the lists of a store. */
#include "perf/tpcc/tpcc.h"

typedef struct {
  pure_fill *fill[TPCC_NTABLES];
  pure_error *error;
} filler;

static bool fill_row(void *user, tpcc_table_id table, const pure_value *cells) {
  filler *f = user;
  return pure_fill_row(f->fill[table], cells, tpcc_tables[table].ncolumns, f->error) == PURE_OK;
}

bool tpcc_fill(pure_store *store, const tpcc_scale *scale, pure_error *error) {
  *error = (pure_error){.status = PURE_NO_MEMORY, .message = "no memory"};
  filler f = {.error = error};
  bool fine = true;
  for (int t = 0; t < TPCC_NTABLES && fine; t++)
    fine = pure_fill_new(store, tpcc_tables[t].name, &f.fill[t], error) == PURE_OK;
  const tpcc_sink sink = {&f, fill_row};
  fine = fine && tpcc_load(scale, &sink);
  for (int t = 0; t < TPCC_NTABLES; t++) {
    fine = fine && pure_fill_finish(f.fill[t], PURE_DUPLICATE_ERROR, error) == PURE_OK;
    pure_fill_release(f.fill[t]);
  }
  return fine;
}
