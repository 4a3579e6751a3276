/* Programs that once went wrong on a tier, by what was wrong. */
#include <check.h>
#include <string.h>

#include "tests/jit/support/tiers.h"

/* Level 1 computed the first bounds of a binary search behind the jump into it. */
static const char bounds_of_a_search[] = "list s (k: int, v: int, z: bool) key k\n"
                                         "list e (a: int, b: int, w: real) key (a, b)\n"
                                         "list p (x: int, y: int, z: bool)\n"
                                         "list t (a: int, b: int, c: int, r: real) key (a, b, c)\n"
                                         "fn ask(n: int): int {\n"
                                         "  var out = 0\n"
                                         "  for r0 in s[..24] {\n"
                                         "    let r1 = e[2, count(p)] else { return 0 }\n"
                                         "    let u2 = 0\n"
                                         "  }\n"
                                         "  for r3 in e[11..36] {\n"
                                         "    let r4 = s[18] else { return 0 }\n"
                                         "    var v5 = 2\n"
                                         "    while v5 < 2 {\n"
                                         "      v5 += 2\n"
                                         "      if true {\n"
                                         "        let u6 = 0\n"
                                         "      }\n"
                                         "    }\n"
                                         "    let u7 = 0\n"
                                         "  }\n"
                                         "  return out\n"
                                         "}\n"
                                         "query question(n: int): int {\n"
                                         "  local d (k: int, v: int, r: real) key k\n"
                                         "  local h (a: int, b: int, n: int) key (a, b)\n"
                                         "  local f (x: int, r: real)\n"
                                         "  var out = 0\n"
                                         "  if let r8 = p[11] {\n"
                                         "    out += ((r8.x / r8.x) + 12)\n"
                                         "    for r9 in e[(r8.x / 5), 6..21] {\n"
                                         "      for r10 in f {\n"
                                         "        if ((n) not in d) { return count(s[5..24]) }\n"
                                         "        add f ((r10.x * r10.x), (r10.r / r9.w))\n"
                                         "        let u11 = 0\n"
                                         "      }\n"
                                         "      let u12 = 0\n"
                                         "    }\n"
                                         "    let u13 = 0\n"
                                         "  }\n"
                                         "  return out\n"
                                         "}\n";

/* PURE_JIT_CHECK replayed on a copy of a hash list that had forgotten how far it was in order. */
static const char order_of_a_copy[] =
    "list s (k: int, v: int, z: bool) key k\n"
    "list e (a: int, b: int, w: real) key (a, b)\n"
    "list p (x: int, y: int, z: bool)\n"
    "list t (a: int, b: int, c: int, r: real) key (a, b, c)\n"
    "fn ask(n: int): int {\n"
    "  var out = 0\n"
    "  if (5.19 <= real(out)) {\n"
    "    for r0 in e[4..0] {\n"
    "      var v1 = 2\n"
    "      while v1 < 10 {\n"
    "        v1 += 2\n"
    "        if true {\n"
    "          let r2 = s[count(t[count(t[7..30])])] else { return 0 }\n"
    "          out += 9\n"
    "          let u3 = 0\n"
    "        }\n"
    "      }\n"
    "      let u4 = 0\n"
    "    }\n"
    "    let u5 = 0\n"
    "  }\n"
    "  return out\n"
    "}\n"
    "event happens(n: int): int {\n"
    "  local d (k: int, v: int, r: real) key k\n"
    "  local h (a: int, b: int, n: int) key (a, b)\n"
    "  local f (x: int, r: real)\n"
    "  var out = 0\n"
    "  if ((out * 15) = min(18, out)) {\n"
    "    let r6 = h[10, 3] or (max(18, n))\n"
    "    for v7 in 3..4 {\n"
    "      for r8 in h {\n"
    "        add f ((r8.a + r6.a), round(3.21))\n"
    "        out -= (count(s) - 21)\n"
    "        put s (r8.n, min(v7, n), (n <= n))\n"
    "        let u9 = 0\n"
    "      }\n"
    "      let u10 = 0\n"
    "    }\n"
    "    let u11 = 0\n"
    "  }\n"
    "  return out\n"
    "}\n";

/* PURE_JIT_CHECK called again what reads a list to which the region had added since. */
static const char read_by_a_call[] = "list p (x: int, y: int)\n"
                                     "fn ask(n: int): int {\n"
                                     "  var out = 0\n"
                                     "  for i in 1..n {\n"
                                     "    for r in p { out += r.x }\n"
                                     "  }\n"
                                     "  return out\n"
                                     "}\n"
                                     "event happens(n: int): int {\n"
                                     "  var out = 0\n"
                                     "  var v = ask(8)\n"
                                     "  add p (v % 6, 36)\n"
                                     "  return out\n"
                                     "}\n";

/* The cursor of an empty range stood behind its end. */
static const char range_the_wrong_way[] = "list s (k: int, v: int, z: bool) key k\n"
                                          "list e (a: int, b: int, w: real) key (a, b)\n"
                                          "list p (x: int, y: int, z: bool)\n"
                                          "list t (a: int, b: int, c: int, r: real) key (a, b, c)\n"
                                          "\n"
                                          "fn ask(n: int): int {\n"
                                          "  var out = 0\n"
                                          "  var v0 = 2\n"
                                          "  while v0 < 7 and (out <= n) {\n"
                                          "    v0 += 2\n"
                                          "    if true {\n"
                                          "      let u1 = 0\n"
                                          "    }\n"
                                          "  }\n"
                                          "  out = (n % 6)\n"
                                          "  return out\n"
                                          "}\n"
                                          "\n"
                                          "query question(n: int): int {\n"
                                          "  local d (k: int, v: int, r: real) key k\n"
                                          "  local h (a: int, b: int, n: int) key (a, b)\n"
                                          "  local f (x: int, r: real)\n"
                                          "  var out = 0\n"
                                          "  for r2 in s[10..8] {\n"
                                          "    out -= n\n"
                                          "    let r3 = s[8] else { return 0 }\n"
                                          "    put h (17, int(true), r2.v)\n"
                                          "    add f ((r2.k + r3.k), (4.4 + 0.40))\n"
                                          "    let u4 = 0\n"
                                          "  }\n"
                                          "  for r5 in d {\n"
                                          "    let u6 = 0\n"
                                          "  }\n"
                                          "  return out\n"
                                          "}\n";

/* PURE_JIT_CHECK called again with the memory that the region had left. */
static const char memory_of_a_call[] = "list s (k: int, v: int, z: bool) key k\n"
                                       "list e (a: int, b: int, w: real) key (a, b)\n"
                                       "list p (x: int, y: int, z: bool)\n"
                                       "list t (a: int, b: int, c: int, r: real) key (a, b, c)\n"
                                       "\n"
                                       "fn ask(n: int): int {\n"
                                       "  var out = 0\n"
                                       "  for r0 in p {\n"
                                       "    for r1 in t[13] {\n"
                                       "      let u2 = 0\n"
                                       "    }\n"
                                       "    let u3 = 0\n"
                                       "  }\n"
                                       "  return out\n"
                                       "}\n"
                                       "\n"
                                       "query question(n: int): int {\n"
                                       "  local d (k: int, v: int, r: real) key k\n"
                                       "  local h (a: int, b: int, n: int) key (a, b)\n"
                                       "  local f (x: int, r: real)\n"
                                       "  var out = 0\n"
                                       "  var v4 = ask(9)\n"
                                       "  put h (20, 17, count(h[9..34]))\n"
                                       "  out = (count(s[..3]) - 1)\n"
                                       "  return out\n"
                                       "}\n";

/* A real sum was made in a vector's lanes, and so added up in another order. */
static const char order_of_a_sum[] = "list p (x: int, r: real)\n"
                                     "query question(n: int): real {\n"
                                     "  local t (x: int, r: real)\n"
                                     "  for i in 0..399 { add t (i % 7, 1.0 / real(i + 3)) }\n"
                                     "  var sum = 0.1\n"
                                     "  for y in t {\n"
                                     "    if y.x < 5 { sum += y.r }\n"
                                     "  }\n"
                                     "  return sum\n"
                                     "}\n";

static const struct {
  const char *name, *source;
  tiers_way way;
  uint64_t seed;
} found[] = {
    {"bounds of a search", bounds_of_a_search, {.level = 1}, 608},
    {"order of a copy", order_of_a_copy, {.level = 3, .check = true}, 340},
    {"read by a call", read_by_a_call, {.level = 3, .check = true}, 87572},
    {"range the wrong way", range_the_wrong_way, {.level = 3, .check = true}, 42772},
    {"memory of a call", memory_of_a_call, {.level = 3, .check = true}, 38508},
    {"order of a sum", order_of_a_sum, {.level = 2}, 1},
    {"order of a sum, left at random", order_of_a_sum, {.level = 3, .deopt = 3}, 1},
};

START_TEST(again) {
  tiers t;
  uint64_t seed = found[_i].seed;
  tiers_open(&t, &found[_i].way);
  compare_options o = {
      .seed = seed, .rows = 40, .calls = 4, .relayout = seed % 3 != 0, .limits = true};
  tiers_use(&t, &o);
  compare_program(found[_i].name, found[_i].source, strlen(found[_i].source), &o, NULL);
  tiers_close(&t, 1);
}
END_TEST

int main(void) {
  Suite *s = suite_create("found");
  TCase *t = tcase_create("found");
  tcase_set_timeout(t, 600);
  tcase_add_loop_test(t, again, 0, sizeof found / sizeof *found);
  suite_add_tcase(s, t);
  SRunner *r = srunner_create(s);
  srunner_run_all(r, CK_ENV);
  int failed = srunner_ntests_failed(r);
  srunner_free(r);
  return failed != 0;
}
