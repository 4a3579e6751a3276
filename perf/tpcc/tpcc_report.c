/* What is compared, and what is printed when all was equal. */
#include "perf/tpcc/tpcc_race.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static race_status differ(const tpcc_race *r, uint32_t i, const char *when, const char *what) {
  fprintf(stderr, "%s: %s: %s differ: %s, %s\n", tpcc_tool, when, what, r->entrants[0].side.name,
          r->entrants[i].side.name);
  return RACE_WRONG;
}

race_status tpcc_same_answers(tpcc_race *r) {
  for (uint32_t i = 0; i < r->n; i++)
    r->entrants[i].side.answers.hash += r->entrants[i].spoilt;
  for (uint32_t i = 1; i < r->n; i++)
    if (memcmp(&r->entrants[i].side.answers, &r->entrants[0].side.answers, sizeof(tpcc_answers)))
      return differ(r, i, "while running", "answers");
  return RACE_OK;
}

static race_status same_tables(tpcc_race *r, const char *when) {
  for (int t = 0; t < TPCC_NTABLES; t++) {
    uint64_t first = 0, hash = 0;
    for (uint32_t i = 0; i < r->n; i++) {
      tpcc_side *s = &r->entrants[i].side;
      if (!s->hash(s, (tpcc_table_id)t, i ? &hash : &first))
        return RACE_CANNOT;
      if (i && hash != first)
        return differ(r, i, when, tpcc_tables[t].name);
    }
  }
  return RACE_OK;
}

/* Of those that tell a digest: it and the work are the same. */
static race_status same_digests(tpcc_race *r, const char *when) {
  const tpcc_side *known = NULL;
  uint64_t digest = 0, work = 0;
  for (uint32_t i = 0; i < r->n; i++) {
    tpcc_side *s = &r->entrants[i].side;
    if (!s->digest)
      continue;
    uint64_t d = s->digest(s), w = s->work(s);
    if (known && (d != digest || w != work)) {
      fprintf(stderr, "%s: %s: %s differ: %s, %s\n", tpcc_tool, when,
              d != digest ? "digests" : "units of work", known->name, s->name);
      return RACE_WRONG;
    }
    known = s;
    digest = d;
    work = w;
  }
  return RACE_OK;
}

static race_status conditions_hold(tpcc_race *r, const char *when) {
  for (uint32_t i = 0; i < r->n; i++) {
    tpcc_side *s = &r->entrants[i].side;
    for (uint32_t c = 1; s->breaches && c <= TPCC_CONDITIONS; c++) {
      uint64_t n = 0;
      if (!s->breaches(s, c, &n))
        return RACE_CANNOT;
      if (n == 0)
        continue;
      fprintf(stderr, "%s: %s: %s: condition %u is broken by %" PRIu64 " rows\n", tpcc_tool, when,
              s->name, c, n);
      return RACE_WRONG;
    }
  }
  return RACE_OK;
}

race_status tpcc_check_all(tpcc_race *r, const char *when) {
  race_status status = same_tables(r, when);
  if (status == RACE_OK)
    status = same_digests(r, when);
  return status == RACE_OK ? conditions_hold(r, when) : status;
}

/* Printing */

static double rate(const tpcc_race *r, double ms) { return (double)r->o->slice / ms * 1e3; }

static const tpcc_entrant *named(const tpcc_race *r, const char *name) {
  for (uint32_t i = 0; i < r->n; i++)
    if (strcmp(r->entrants[i].side.name, name) == 0)
      return &r->entrants[i];
  return NULL;
}

/* Of the rates. */
static double ratio(const tpcc_race *r, const tpcc_entrant *a, const tpcc_entrant *b) {
  return sample_median(b->ms, r->slices) / sample_median(a->ms, r->slices);
}

static void print_kinds(const tpcc_race *r) {
  printf("\nmicroseconds, mean     ");
  for (int k = 0; k < TPCC_NKINDS; k++)
    printf("  %12s", tpcc_kind_names[k]);
  for (uint32_t i = 0; i < r->n; i++) {
    const tpcc_entrant *e = &r->entrants[i];
    printf("\n%-22s", e->side.name);
    for (int k = 0; k < TPCC_NKINDS; k++)
      printf("  %12.2f", e->kind_n[k] ? e->kind_ms[k] * 1e3 / (double)e->kind_n[k] : 0);
  }
  putchar('\n');
}

static void print_json(const tpcc_race *r, const tpcc_entrant *e) {
  const tpcc_options *o = r->o;
  printf("{\"side\":\"%s\",\"warehouses\":%" PRIu64 ",\"customers\":%" PRIu64 ",\"items\":%" PRIu64
         ",\"seed\":%" PRIu64 ",\"slice\":%" PRIu64 ",\"clock\":\"%s\",\"rate\":%.1f,\"ms\":[",
         e->side.name, o->scale.warehouses, o->scale.customers, o->scale.items, o->scale.seed,
         o->slice, sample_clock_name(o->clock), rate(r, sample_median(e->ms, r->slices)));
  for (uint64_t i = 0; i < r->slices; i++)
    printf("%s%.4f", i ? "," : "", e->ms[i]);
  printf("]}\n");
}

static void print_table(const tpcc_race *r) {
  const tpcc_options *o = r->o;
  const tpcc_answers *a = &r->entrants[0].side.answers;
  const tpcc_entrant *sqlite = named(r, "SQLite in memory"), *plain = named(r, "Pure level 0");
  printf("TPC-C: %" PRIu64 " warehouses, %" PRIu64 " customers a district, %" PRIu64
         " items; %" PRIu64 " terminals in turn, no think time\n"
         "%" PRIu64 " slices of %" PRIu64 " requests a side after %" PRIu64
         " to warm up; answers, tables, digests and work equal,\n"
         "conditions hold before and after\n",
         o->scale.warehouses, o->scale.customers, o->scale.items, o->terminals, r->slices, o->slice,
         (r->rounds - r->slices) * o->slice);
  for (int k = 0; k < TPCC_NKINDS; k++)
    printf("%s%s %" PRIu64, k ? ", " : "", tpcc_kind_names[k], a->done[k]);
  printf(", taken back %" PRIu64 "\n", a->undone);
  printf("%-18s  %8s  %10s  %10s  %10s  %9s  %9s\n", "", "load s", "median/s", "min/s", "max/s",
         "/ SQLite", "/ level 0");
  for (uint32_t i = 0; i < r->n; i++) {
    const tpcc_entrant *e = &r->entrants[i];
    printf("%-18s  %8.2f  %10.0f  %10.0f  %10.0f", e->side.name, e->load_ms / 1e3,
           rate(r, sample_median(e->ms, r->slices)), rate(r, sample_max(e->ms, r->slices)),
           rate(r, sample_min(e->ms, r->slices)));
    printf("  %9.2f", sqlite ? ratio(r, e, sqlite) : 0);
    printf("  %9.2f\n", plain ? ratio(r, e, plain) : 0);
  }
}

void tpcc_print(tpcc_race *r) {
  for (uint32_t i = 0; r->o->json && i < r->n; i++)
    print_json(r, &r->entrants[i]);
  if (!r->o->json)
    print_table(r);
  if (r->o->by_kind && !r->o->json)
    print_kinds(r);
  for (uint32_t i = 0; r->o->tiers && i < r->n; i++)
    if (r->entrants[i].side.tell)
      r->entrants[i].side.tell(&r->entrants[i].side);
}
