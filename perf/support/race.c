#include "perf/support/race.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void race_progress(const char *tool, const char *text) {
  if (!isatty(STDERR_FILENO))
    return;
  if (text)
    fprintf(stderr, "\r\033[K%s: %s", tool, text);
  else
    fputs("\r\033[K", stderr);
  fflush(stderr);
}

static void show_round(const char *tool, uint32_t round, uint32_t rounds) {
  char text[64];
  if (round < RACE_WARM)
    snprintf(text, sizeof text, "warming up");
  else
    snprintf(text, sizeof text, "round %u of %u", round - RACE_WARM + 1, rounds);
  race_progress(tool, text);
}

/* Those of a group that count work have charged the same. */
static race_status same_work(const char *tool, const racer *r, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) {
    for (uint32_t j = 0; j < i; j++) {
      if (r[i].group == r[j].group && r[i].work && r[j].work && r[i].work != r[j].work) {
        fprintf(stderr, "%s: work differs: %s %" PRIu64 ", %s %" PRIu64 "\n", tool, r[j].name,
                r[j].work, r[i].name, r[i].work);
        return RACE_WRONG;
      }
    }
  }
  return RACE_OK;
}

static race_status run_one(const char *tool, sample_clock clock, racer *r, uint32_t round) {
  sample_watch watch = {.clock = clock};
  uint64_t before = r->work;
  race_status status = r->run(r, &watch);
  if (status != RACE_OK)
    return status;
  if (before && before != r->work) {
    fprintf(stderr, "%s: work differs between rounds of %s\n", tool, r->name);
    return RACE_WRONG;
  }
  sample_dump_counts(round >= RACE_WARM ? r->name : "warming up");
  if (round >= RACE_WARM)
    r->ms[round - RACE_WARM] = watch.ms;
  return RACE_OK;
}

void race_warn_of_load(const char *tool) {
  long processors = sysconf(_SC_NPROCESSORS_ONLN);
  double load = sample_load();
  if (load > (double)processors)
    fprintf(stderr, "%s: other work runs here (load %.1f on %ld processors): times are unsteady\n",
            tool, load, processors);
}

race_status race_run(const char *tool, sample_clock clock, racer *r, uint32_t n, uint32_t rounds) {
  race_status status = RACE_OK;
  for (uint32_t i = 0; i < n; i++) {
    r[i].ms = calloc(rounds, sizeof *r[i].ms);
    if (!r[i].ms) {
      fprintf(stderr, "%s: no memory\n", tool);
      return RACE_CANNOT;
    }
  }
  for (uint32_t round = 0; status == RACE_OK && round < rounds + RACE_WARM; round++) {
    show_round(tool, round, rounds);
    for (uint32_t i = 0; status == RACE_OK && i < n; i++)
      status = run_one(tool, clock, &r[(i + round) % n], round);
    if (status == RACE_OK)
      status = same_work(tool, r, n);
  }
  race_progress(tool, NULL);
  return status;
}

void race_free(racer *r, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) {
    free(r[i].ms);
    r[i].ms = NULL;
  }
}

const racer *race_find(const racer *r, uint32_t n, const char *name) {
  for (uint32_t i = 0; i < n; i++)
    if (strcmp(r[i].name, name) == 0)
      return &r[i];
  return NULL;
}

race_status race_check_name(const char *tool, const racer *r, uint32_t n, const char *name) {
  if (!name || race_find(r, n, name))
    return RACE_OK;
  fprintf(stderr, "%s: nobody is called %s\n", tool, name);
  return RACE_USAGE;
}

double race_ratio(const racer *a, const racer *b, uint32_t rounds) {
  return sample_median(a->ms, rounds) / sample_median(b->ms, rounds);
}

void race_print(const racer *r, uint32_t n, uint32_t rounds, const racer *const *bases,
                uint32_t nbases) {
  int width = 14;
  for (uint32_t i = 0; i < n; i++)
    if ((int)strlen(r[i].name) > width)
      width = (int)strlen(r[i].name);
  printf("%-*s  %10s  %10s  %10s", width, "", "min ms", "median ms", "max ms");
  for (uint32_t b = 0; b < nbases; b++)
    if (bases[b])
      printf("  / %-12s", bases[b]->name);
  putchar('\n');
  for (uint32_t i = 0; i < n; i++) {
    printf("%-*s  %10.3f  %10.3f  %10.3f", width, r[i].name, sample_min(r[i].ms, rounds),
           sample_median(r[i].ms, rounds), sample_max(r[i].ms, rounds));
    for (uint32_t b = 0; b < nbases; b++)
      if (bases[b])
        printf("  %14.2f", race_ratio(&r[i], bases[b], rounds));
    putchar('\n');
  }
}

void race_print_json(const racer *r, uint32_t rounds) {
  printf(",\"ms\":%.4f,\"min_ms\":%.4f,\"samples\":[", sample_median(r->ms, rounds),
         sample_min(r->ms, rounds));
  for (uint32_t i = 0; i < rounds; i++)
    printf("%s%.4f", i ? "," : "", r->ms[i]);
  putchar(']');
}
