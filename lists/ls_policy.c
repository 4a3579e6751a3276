/* lists/ls_policy.c - which layout a list shall have, and the thresholds that say so. */
#include "lists/lists_int.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const ls_policy ls_policy_default = {
    .dense_min_span = 4096,
    .dense_max_sparsity = 8,
    .array_after_lookups = 4,
    .array_min_rows = 64,
    .tree_after_sorts = 4,
    .bucket_rows = 8,
    .bucket_max_span = 4,
    .share_copy_bytes = 1 << 16,
    .wide = 0,
    .stress_seed = 0,
};

static bool parse_number(const char *text, size_t len, uint64_t *out) {
  uint64_t n = 0;
  if (len == 0)
    return false;
  for (size_t i = 0; i < len; i++) {
    if (text[i] < '0' || text[i] > '9')
      return false;
    unsigned digit = (unsigned)(text[i] - '0');
    if (n > (UINT64_MAX - digit) / 10)
      return false;
    n = n * 10 + digit;
  }
  *out = n;
  return true;
}

bool ls_read_stress(const char *text, const char *word, uint64_t *seed) {
  static const char *const words[] = {"deopt", "layout"};
  bool waits = false; /* the word was there, without a seed so far */
  while (*text) {
    size_t item = strcspn(text, ","), len = strcspn(text, ":,");
    uint64_t n = 0;
    bool known = false;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
      known |= strlen(words[i]) == len && memcmp(text, words[i], len) == 0;
    waits |= strlen(word) == len && memcmp(text, word, len) == 0;
    if (!known || (len < item && (!parse_number(text + len + 1, item - len - 1, &n) || n == 0)))
      return false;
    if (waits && n)
      *seed = n;
    waits &= n == 0;
    text += item + (text[item] == ',');
  }
  if (waits)
    *seed = 1;
  return true;
}

static void read_narrow(ls_policy *p, const char **bad) {
  const char *text = getenv("PURE_LIST_NARROW");
  if (text == NULL)
    return;
  if (strcmp(text, "0") == 0 || strcmp(text, "1") == 0)
    p->wide = text[0] == '0';
  else
    *bad = "PURE_LIST_NARROW";
}

void ls_policy_from_env(ls_policy *p, const char **bad) {
  const struct {
    const char *name;
    uint64_t *value;
  } settings[] = {
      {"PURE_LIST_DENSE_MIN_SPAN", &p->dense_min_span},
      {"PURE_LIST_DENSE_SPARSITY", &p->dense_max_sparsity},
      {"PURE_LIST_ARRAY_LOOKUPS", &p->array_after_lookups},
      {"PURE_LIST_ARRAY_MIN_ROWS", &p->array_min_rows},
      {"PURE_LIST_TREE_SORTS", &p->tree_after_sorts},
      {"PURE_LIST_BUCKET_ROWS", &p->bucket_rows},
      {"PURE_LIST_BUCKET_SPAN", &p->bucket_max_span},
      {"PURE_LIST_SHARE_COPY", &p->share_copy_bytes},
  };
  *p = ls_policy_default;
  *bad = NULL;
  for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
    const char *text = getenv(settings[i].name);
    if (text != NULL && !parse_number(text, strlen(text), settings[i].value))
      *bad = settings[i].name;
  }
  read_narrow(p, bad);
  const char *stress = getenv("PURE_JIT_STRESS");
  if (stress != NULL && !ls_read_stress(stress, "layout", &p->stress_seed))
    *bad = "PURE_JIT_STRESS";
}

uint64_t ls_policy_shape(const ls_policy *p, const ls_schema *s, ls_layout layout) {
  uint64_t shape = ls_shape_make(s, layout, LS_BASE_ZERO);
  for (unsigned c = 0; p->wide && c < s->ncols; c++)
    shape = ls_shape_with_width(shape, c, 3);
  return shape;
}

bool ls_policy_can_dense(const ls_schema *s) {
  return s->nkeys == 1 && ls_type_is_int(s->cols[0].type);
}

static uint64_t times(uint64_t a, uint64_t b) {
  uint64_t r;
  return __builtin_mul_overflow(a, b, &r) ? UINT64_MAX : r;
}

ls_layout ls_policy_keyed(const ls_list *l, uint64_t count, int64_t lo, int64_t hi) {
  if (ls_policy_can_dense(l->schema)) {
    uint64_t last = (uint64_t)hi - (uint64_t)lo; /* span - 1 */
    if (last < l->policy->dense_min_span || last < times(l->policy->dense_max_sparsity, count + 1))
      return LS_DENSE;
  }
  return l->stored ? LS_TREE : LS_HASH;
}

void ls_policy_key_range(ls_list *l, int64_t *lo, int64_t *hi) {
  const ls_layout_ops *ops = ls_ops(l);
  ls_cursor all = {0, 0};
  ls_row first, last;
  *lo = *hi = 0;
  if (ls_shape_layout(l->shape) == LS_HASH) {
    ls_hash_key_range(l, lo, hi);
  } else if (ops->bound(l, l->texts, NULL, 0, false, &all.next) == LS_OK &&
             ops->bound(l, l->texts, NULL, 0, true, &all.end) == LS_OK &&
             ops->next(l, &all, &first) && ops->prev(l, all.end, &last)) {
    *lo = ls_list_get(l, first, 0).i;
    *hi = ls_list_get(l, last, 0).i;
  }
}
