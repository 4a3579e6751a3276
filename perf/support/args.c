#include "perf/support/args.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A number that ends at `end`. */
static bool parse_digits(const char *text, const char *end, const args_option *o, uint64_t *out) {
  char *stopped;
  errno = 0;
  *out = strtoull(text, &stopped, 10);
  return *text >= '0' && *text <= '9' && stopped == end && errno == 0 && *out >= o->least &&
         *out <= o->most;
}

static bool parse_number(const char *text, const args_option *o) {
  return parse_digits(text, text + strlen(text), o, o->out);
}

static bool parse_numbers(const char *text, const args_option *o) {
  args_numbers *numbers = o->out;
  for (numbers->n = 0; numbers->n < ARGS_MAX_NUMBERS;) {
    const char *end = text + strcspn(text, ",");
    if (!parse_digits(text, end, o, &numbers->number[numbers->n++]))
      return false;
    if (*end == 0)
      return true;
    text = end + 1;
  }
  return false;
}

static bool parse_levels(const char *text, args_levels *l) {
  l->n = 0;
  if (strcmp(text, "none") == 0)
    return true;
  for (const char *p = text;; p += 2) {
    if (p[0] < '0' || p[0] > '3' || l->n == ARGS_MAX_LEVELS)
      return false;
    l->level[l->n++] = (uint32_t)(p[0] - '0');
    if (p[1] == 0)
      return true;
    if (p[1] != ',')
      return false;
  }
}

static bool turn_on(args_names *names, const char *text, size_t length) {
  for (uint32_t i = 0; i < names->nknown; i++) {
    if (strlen(names->known[i]) == length && memcmp(names->known[i], text, length) == 0) {
      names->on[i] = true;
      return true;
    }
  }
  return false;
}

static bool parse_names(const char *text, args_names *names) {
  bool all = strcmp(text, "all") == 0;
  for (uint32_t i = 0; i < names->nknown; i++)
    names->on[i] = all;
  if (all || strcmp(text, "none") == 0)
    return true;
  for (;;) {
    size_t length = strcspn(text, ",");
    if (!turn_on(names, text, length))
      return false;
    if (text[length] == 0)
      return true;
    text += length + 1;
  }
}

static bool parse_value(const args_option *o, const char *value) {
  switch (o->kind) {
  case ARGS_NUMBER:
    return parse_number(value, o);
  case ARGS_LEVELS:
    return parse_levels(value, o->out);
  case ARGS_NAMES:
    return parse_names(value, o->out);
  case ARGS_NUMBERS:
    return parse_numbers(value, o);
  case ARGS_TEXT:
    *(const char **)o->out = value;
    return true;
  case ARGS_CLOCK:
    *(sample_clock *)o->out = strcmp(value, "cpu") == 0 ? SAMPLE_CPU : SAMPLE_WALL;
    return strcmp(value, "cpu") == 0 || strcmp(value, "wall") == 0;
  case ARGS_FLAG:
    break;
  }
  return false;
}

static const args_option *find(const args_option *options, const char *name) {
  for (; options->name; options++)
    if (strcmp(options->name, name) == 0)
      return options;
  return NULL;
}

/* How many words it took; 0: wrong. */
static int parse_one(const args_option *o, const char *value) {
  if (o == NULL)
    return 0;
  if (o->kind == ARGS_FLAG) {
    *(bool *)o->out = true;
    return 1;
  }
  return value && parse_value(o, value) ? 2 : 0;
}

bool args_parse(int argc, char **argv, const char *tool, const char *usage,
                const args_option *options, int *status) {
  for (int i = 1; i < argc;) {
    if (strcmp(argv[i], "--help") == 0) {
      fputs(usage, stdout);
      *status = RACE_OK;
      return false;
    }
    const char *value = i + 1 < argc ? argv[i + 1] : NULL;
    int taken = parse_one(find(options, argv[i]), value);
    if (taken == 0) {
      fprintf(stderr, "%s: bad option or value: %s%s%s\n\n%s", tool, argv[i], value ? " " : "",
              value ? value : "", usage);
      *status = RACE_USAGE;
      return false;
    }
    i += taken;
  }
  return true;
}
