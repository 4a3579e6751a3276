/* Columns of another producer by the Arrow C data interface, and an answer back the same way.
 *
 * The producer here is forty lines of C; a column store or a data frame would do as well. */
#include "example.h"

#include <pure/arrow.h>

static const char text[] = "list sale (city: text, amount: real)\n"
                           "query by_city: (city: text, sales: int, sum: real) {\n"
                           "  local t (city: text, sales: int, sum: real) key (city)\n"
                           "  for s in sale {\n"
                           "    if let row = t[s.city] {\n"
                           "      row.sales += 1\n"
                           "      row.sum += s.amount\n"
                           "    } else {\n"
                           "      put t (s.city, 1, s.amount)\n"
                           "    }\n"
                           "  }\n"
                           "  return t\n"
                           "}\n";

static void schema_done(struct ArrowSchema *s) { s->release = NULL; }
static void array_done(struct ArrowArray *a) { a->release = NULL; }

/* A table whose columns lie in constant memory: releasing has nothing to do. */
static void produce(struct ArrowSchema *schema, struct ArrowArray *array) {
  static const int32_t ends[] = {0, 4, 8, 12};
  static const char names[] = "OsloRomeOslo";
  static const double amounts[] = {10.5, 20, 30.25};
  static const void *city[3], *amount[2], *table[1];
  static struct ArrowSchema columns[2], *column[2];
  static struct ArrowArray cells[2], *cell[2];
  city[1] = ends, city[2] = names, amount[1] = amounts;
  columns[0] = (struct ArrowSchema){.format = "u", .name = "city", .release = schema_done};
  columns[1] = (struct ArrowSchema){.format = "g", .name = "amount", .release = schema_done};
  cells[0] =
      (struct ArrowArray){.length = 3, .n_buffers = 3, .buffers = city, .release = array_done};
  cells[1] =
      (struct ArrowArray){.length = 3, .n_buffers = 2, .buffers = amount, .release = array_done};
  for (int i = 0; i < 2; i++)
    column[i] = &columns[i], cell[i] = &cells[i];
  *schema = (struct ArrowSchema){
      .format = "+s", .n_children = 2, .children = column, .release = schema_done};
  *array = (struct ArrowArray){.length = 3,
                               .n_buffers = 1,
                               .n_children = 2,
                               .buffers = table,
                               .children = cell,
                               .release = array_done};
}

int main(void) {
  struct ArrowSchema schema;
  struct ArrowArray array;
  pure_engine *engine;
  pure_store *store;
  pure_fill *fill;
  pure_session *session;
  pure_result *result;
  must(pure_engine_new(NULL, &engine, &error));
  pure_program *program = compile(engine, text);
  must(pure_store_new(program, &store, &error));
  produce(&schema, &array);
  must(pure_fill_new(store, "sale", &fill, &error));
  must(pure_fill_arrow(fill, &schema, &array, &error));
  must(pure_fill_finish(fill, PURE_DUPLICATE_ERROR, &error));
  array.release(&array);
  schema.release(&schema);
  must(pure_session_new(store, &session, &error));
  must(pure_session_call(session, "by_city", NULL, 0, &result, &error));
  must(pure_result_arrow(result, &schema, &array, &error));
  pure_result_release(result);
  pure_fill_release(fill);
  pure_session_release(session);
  pure_store_release(store);
  pure_program_release(program);
  pure_engine_release(engine);
  /* The answer outlives everything that made it. */
  const int64_t *ends = array.children[0]->buffers[1], *sales = array.children[1]->buffers[1];
  const char *names = array.children[0]->buffers[2];
  const double *sums = array.children[2]->buffers[1];
  for (int64_t i = 0; i < array.length; i++)
    printf("%.*s %lld %g\n", (int)(ends[i + 1] - ends[i]), names + ends[i], (long long)sales[i],
           sums[i]);
  array.release(&array);
  schema.release(&schema);
  return 0;
}
