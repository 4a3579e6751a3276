/* vm/vm_real.c - reals to text and back, exactly, without locale or tables.
 *
 * Writing: the shortest decimal inside the interval that rounds to the real, and of those the
 * closest (Steele and White's method as Burger and Dybvig state it).  Reals between about 1e-20
 * and 2^53 fit in 128-bit fixed point; all others take big integers.
 * Reading: a short significand and exponent are one exact operation, or one 128-bit division;
 * all others take big integers.
 */
#include <math.h>
#include <string.h>

#include "vm/vm_text.h"

typedef unsigned __int128 real_wide;

/* Big natural numbers: 4352 bits, for 800 digits or 10^1130 */

#define BIG_WORDS 136

typedef struct {
  int n; /* words in use; the highest is not 0 */
  uint32_t w[BIG_WORDS];
} real_big;

static void big_set(real_big *b, uint64_t v) {
  b->n = 0;
  while (v) {
    b->w[b->n++] = (uint32_t)v;
    v >>= 32;
  }
}

/* b := b * m + add */
static void big_scale(real_big *b, uint32_t m, uint32_t add) {
  uint64_t carry = add;
  for (int i = 0; i < b->n; i++) {
    carry += (uint64_t)b->w[i] * m;
    b->w[i] = (uint32_t)carry;
    carry >>= 32;
  }
  if (carry)
    b->w[b->n++] = (uint32_t)carry;
}

static void big_scale_ten(real_big *b, int power) {
  for (; power >= 9; power -= 9)
    big_scale(b, 1000000000u, 0);
  for (; power > 0; power--)
    big_scale(b, 10, 0);
}

static void big_shift(real_big *b, int bits) {
  int words = bits / 32, part = bits % 32;
  if (b->n == 0)
    return;
  memmove(b->w + words, b->w, sizeof(uint32_t) * (size_t)b->n);
  memset(b->w, 0, sizeof(uint32_t) * (size_t)words);
  b->n += words;
  if (part) {
    uint32_t carry = 0;
    for (int i = words; i < b->n; i++) {
      uint32_t w = b->w[i];
      b->w[i] = w << part | carry;
      carry = w >> (32 - part);
    }
    if (carry)
      b->w[b->n++] = carry;
  }
}

static int big_bits(const real_big *b) {
  return b->n == 0 ? 0 : b->n * 32 - __builtin_clz(b->w[b->n - 1]);
}

static int big_compare(const real_big *x, const real_big *y) {
  if (x->n != y->n)
    return x->n < y->n ? -1 : 1;
  for (int i = x->n - 1; i >= 0; i--)
    if (x->w[i] != y->w[i])
      return x->w[i] < y->w[i] ? -1 : 1;
  return 0;
}

/* x := x - y, y <= x */
static void big_subtract(real_big *x, const real_big *y) {
  int64_t carry = 0;
  for (int i = 0; i < x->n; i++) {
    carry += (int64_t)x->w[i] - (i < y->n ? y->w[i] : 0);
    x->w[i] = (uint32_t)carry;
    carry >>= 32;
  }
  while (x->n && x->w[x->n - 1] == 0)
    x->n--;
}

static void big_add(real_big *x, const real_big *y) {
  uint64_t carry = 0;
  for (int i = 0; i < x->n || i < y->n || carry; i++) {
    if (i >= x->n)
      x->w[x->n++] = 0;
    carry += (uint64_t)x->w[i] + (i < y->n ? y->w[i] : 0);
    x->w[i] = (uint32_t)carry;
    carry >>= 32;
  }
}

/* Writing */

/* 0.d1 d2 d3 ... * 10^point */
typedef struct {
  int n, point;
  char digit[VM_TEXT_NUMBER];
} real_digits;

/* The last digit is d or d + 1, whichever is closer. */
static void digits_end(real_digits *out, unsigned d, bool up) {
  out->digit[out->n++] = (char)('0' + d + up);
}

/* v = f / 2^q, f < 2^53, 0 <= q <= 120.  Digits of the fraction come out by multiplying by ten,
 * in units of 2^-(q+2) so that the half-gaps to the neighbours are whole. */
static void digits_fixed(uint64_t f, int q, real_digits *out) {
  bool even = (f & 1) == 0;
  real_wide one = (real_wide)1 << (q + 2), rest = ((real_wide)f << 2) & (one - 1);
  real_wide above = 2, below = f == UINT64_C(1) << 52 ? 1 : 2;
  uint64_t whole = q < 64 ? f >> q : 0;
  out->n = whole ? (int)vm_text_from_int((int64_t)whole, out->digit) : 0;
  out->point = out->n;
  if (rest == 0)
    return;
  for (;;) {
    rest *= 10, above *= 10, below *= 10;
    unsigned d = (unsigned)(rest >> (q + 2));
    rest &= one - 1;
    bool low = even ? rest <= below : rest < below;
    bool high = even ? rest + above >= one : rest + above > one;
    if (low || high) {
      digits_end(out, d, high && (!low || rest * 2 > one || (rest * 2 == one && (d & 1))));
      return;
    }
    if (out->n || d)
      out->digit[out->n++] = (char)('0' + d);
    else
      out->point--;
  }
}

/* v = r / s scaled so that the first digit is r * 10 / s. */
typedef struct {
  real_big r, s, above, below;
} real_ratio;

static void ratio_start(real_ratio *t, uint64_t f, int e, bool uneven) {
  big_set(&t->r, f);
  big_set(&t->s, 1);
  big_set(&t->below, 1);
  if (e >= 0) {
    big_shift(&t->r, e);
    big_shift(&t->below, e);
  } else {
    big_shift(&t->s, -e);
  }
  t->above = t->below;
  big_shift(&t->r, 1 + uneven);
  big_shift(&t->s, 1 + uneven);
  big_shift(&t->above, uneven);
}

/* Whether r + above reaches s. */
static bool ratio_high(const real_ratio *t, bool even) {
  real_big sum = t->r;
  big_add(&sum, &t->above);
  int order = big_compare(&sum, &t->s);
  return even ? order >= 0 : order > 0;
}

static bool ratio_low(const real_ratio *t, bool even) {
  int order = big_compare(&t->r, &t->below);
  return even ? order <= 0 : order < 0;
}

static unsigned ratio_digit(real_ratio *t) {
  unsigned d = 0;
  while (big_compare(&t->r, &t->s) >= 0) {
    big_subtract(&t->r, &t->s);
    d++;
  }
  return d;
}

static void digits_big(double v, uint64_t f, int e, bool uneven, real_digits *out) {
  real_ratio t;
  bool even = (f & 1) == 0;
  ratio_start(&t, f, e, uneven);
  int k = (int)ceil(log10(v) - 1e-10); /* right or one too small */
  if (k >= 0) {
    big_scale_ten(&t.s, k);
  } else {
    big_scale_ten(&t.r, -k);
    big_scale_ten(&t.above, -k);
    big_scale_ten(&t.below, -k);
  }
  if (ratio_high(&t, even)) {
    big_scale(&t.s, 10, 0);
    k++;
  }
  out->n = 0;
  out->point = k;
  for (;;) {
    big_scale(&t.r, 10, 0);
    big_scale(&t.above, 10, 0);
    big_scale(&t.below, 10, 0);
    unsigned d = ratio_digit(&t);
    bool low = ratio_low(&t, even), high = ratio_high(&t, even);
    if (low || high) {
      big_shift(&t.r, 1);
      int half = big_compare(&t.r, &t.s);
      digits_end(out, d, high && (!low || half > 0 || (half == 0 && (d & 1))));
      return;
    }
    out->digit[out->n++] = (char)('0' + d);
  }
}

/* The last digit may have become ten; zeros at the end say nothing. */
static void digits_tidy(real_digits *d) {
  for (int i = d->n - 1; i >= 0 && d->digit[i] > '9'; i--) {
    d->digit[i] = '0';
    if (i > 0) {
      d->digit[i - 1]++;
    } else {
      d->digit[0] = '1';
      d->point++;
      d->n = 1;
    }
  }
  while (d->n > 1 && d->digit[d->n - 1] == '0')
    d->n--;
}

static size_t digits_plain(const real_digits *d, char *out) {
  size_t len = 0;
  if (d->point <= 0) {
    out[len++] = '0';
    out[len++] = '.';
    for (int i = d->point; i < 0; i++)
      out[len++] = '0';
    memcpy(out + len, d->digit, (size_t)d->n);
    return len + (size_t)d->n;
  }
  for (int i = 0; i < d->point || i < d->n; i++) {
    if (i == d->point)
      out[len++] = '.';
    out[len++] = i < d->n ? d->digit[i] : '0';
  }
  if (d->n <= d->point) {
    out[len++] = '.';
    out[len++] = '0';
  }
  return len;
}

static size_t digits_exponent(const real_digits *d, char *out) {
  size_t len = 0;
  out[len++] = d->digit[0];
  if (d->n > 1) {
    out[len++] = '.';
    memcpy(out + len, d->digit + 1, (size_t)d->n - 1);
    len += (size_t)d->n - 1;
  }
  out[len++] = 'e';
  return len + vm_text_from_int(d->point - 1, out + len);
}

size_t vm_text_from_real(double v, char *out) {
  size_t sign = v == v && signbit(v) != 0;
  if (v != v || isinf(v)) {
    const char *name = v != v ? "nan" : sign ? "-inf" : "inf";
    memcpy(out, name, strlen(name));
    return strlen(name);
  }
  out[0] = '-';
  v = fabs(v);
  if (v == 0) {
    memcpy(out + sign, "0.0", 3);
    return sign + 3;
  }
  uint64_t bits;
  memcpy(&bits, &v, sizeof bits);
  int field = (int)(bits >> 52), e = (field ? field : 1) - 1075;
  uint64_t f = (bits & ((UINT64_C(1) << 52) - 1)) | (uint64_t)(field != 0) << 52;
  real_digits d;
  if (e <= 0 && e >= -120)
    digits_fixed(f, -e, &d);
  else
    digits_big(v, f, e, f == UINT64_C(1) << 52 && field > 1, &d);
  digits_tidy(&d);
  return sign + (d.point > -5 && d.point <= 17 ? digits_plain(&d, out + sign)
                                               : digits_exponent(&d, out + sign));
}

/* Reading */

#define REAL_KEPT 800 /* digits; the exact halfway cases have at most 768 */

/* digits[0 .. n) * 10^exponent, and whether more digits, not all 0, follow. */
typedef struct {
  const char *text; /* the digits, perhaps with a point among them */
  int n;            /* significant digits, from the first that is not 0 */
  bool more;
  int64_t exponent;
  uint64_t first; /* value of the first 19 digits or fewer */
} real_decimal;

static bool real_digit(char c) { return c >= '0' && c <= '9'; }

static void decimal_digit(real_decimal *d, const char *at, bool fraction) {
  if (d->n == 0 && *at == '0') {
    d->exponent -= fraction;
    return;
  }
  if (d->n == 0)
    d->text = at;
  if (d->n < REAL_KEPT) {
    if (d->n < 19)
      d->first = d->first * 10 + (uint64_t)(*at - '0');
    d->n++;
    d->exponent -= fraction;
  } else {
    d->more |= *at != '0';
    d->exponent += !fraction;
  }
}

/* The exponent after `e`, kept within what can matter. */
static bool decimal_exponent(const char *at, const char *end, int64_t *exponent) {
  bool negative = at < end && *at == '-';
  if (at < end && (*at == '-' || *at == '+'))
    at++;
  if (at == end)
    return false;
  int64_t v = 0;
  for (; at < end; at++) {
    if (!real_digit(*at))
      return false;
    if (v < INT64_C(1000000000000))
      v = v * 10 + (*at - '0');
  }
  *exponent += negative ? -v : v;
  return true;
}

static bool decimal_parse(const char *at, const char *end, real_decimal *d) {
  memset(d, 0, sizeof *d);
  d->text = at;
  if (at == end || !real_digit(*at))
    return false;
  for (; at < end && real_digit(*at); at++)
    decimal_digit(d, at, false);
  if (at < end && *at == '.') {
    if (++at == end || !real_digit(*at))
      return false;
    for (; at < end && real_digit(*at); at++)
      decimal_digit(d, at, true);
  }
  if (at == end)
    return true;
  return (*at == 'e' || *at == 'E') && decimal_exponent(at + 1, end, &d->exponent);
}

/* q * 2^e with q's lowest bit also standing for anything below it; rounded to nearest even.
 * q has 55 bits or more, or is exact. */
static double real_round(uint64_t q, int e) {
  int top = 64 - __builtin_clzll(q) + e; /* value < 2^top */
  int unit = top - 53;
  if (unit < -1074)
    unit = -1074; /* subnormal */
  int drop = unit - e;
  if (drop > 0) {
    if (drop > 63)
      return drop == 64 && q > UINT64_C(1) << 63 ? ldexp(1, -1074) : 0;
    uint64_t half = UINT64_C(1) << (drop - 1), cut = q & (2 * half - 1);
    q >>= drop;
    q += cut > half || (cut == half && (q & 1));
    e = unit;
  }
  return ldexp((double)q, e); /* exact, or infinite */
}

static const double real_tens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                   1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                   1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* Significand below 2^64 and a power of ten up to 19: exact in 128 bits. */
static double real_medium(uint64_t w, int exponent) {
  uint64_t ten = 1;
  for (int i = exponent < 0 ? -exponent : exponent; i > 0; i--)
    ten *= 10;
  real_wide q;
  int e = 0;
  bool rest = false;
  if (exponent >= 0) {
    q = (real_wide)w * ten;
  } else {
    int up = 64 + __builtin_clzll(w);
    real_wide scaled = (real_wide)w << up;
    q = scaled / ten;
    rest = scaled != q * ten;
    e = -up;
  }
  int bits = (uint64_t)(q >> 64) ? 128 - __builtin_clzll((uint64_t)(q >> 64)) : 64;
  int drop = bits - 64;
  rest |= drop && (q & (((real_wide)1 << drop) - 1)) != 0;
  return real_round((uint64_t)(q >> drop) | rest, e + drop);
}

/* num / den, by long division to a quotient in 2^62 .. 2^64 and whether something remains. */
static double real_divide(real_big *num, real_big *den, bool more) {
  int shift = 63 - (big_bits(num) - big_bits(den));
  if (shift > 0)
    big_shift(num, shift);
  else
    big_shift(den, -shift);
  big_shift(den, 63);
  uint64_t q = 0;
  for (int i = 0; i < 64; i++) {
    q <<= 1;
    if (big_compare(num, den) >= 0) {
      big_subtract(num, den);
      q |= 1;
    }
    big_shift(num, 1);
  }
  return real_round(q | (num->n != 0 || more), -shift);
}

static double real_slow(const real_decimal *d) {
  real_big num, den;
  int exponent = (int)d->exponent;
  big_set(&num, 0);
  big_set(&den, 1);
  const char *at = d->text;
  for (int i = 0; i < d->n; at++) {
    if (*at == '.')
      continue;
    if (num.n == 0)
      big_set(&num, (uint64_t)(*at - '0'));
    else
      big_scale(&num, 10, (uint32_t)(*at - '0'));
    i++;
  }
  if (exponent >= 0)
    big_scale_ten(&num, exponent);
  else
    big_scale_ten(&den, -exponent);
  return real_divide(&num, &den, d->more);
}

static double real_value(const real_decimal *d) {
  if (d->n == 0)
    return 0;
  if (d->n + d->exponent > 310)
    return HUGE_VAL;
  if (d->n + d->exponent < -330)
    return 0;
  int e = (int)d->exponent;
  if (d->n <= 15 && e >= -22 && e <= 22) {
    double w = (double)d->first;
    return e < 0 ? w / real_tens[-e] : w * real_tens[e];
  }
  if (d->n <= 19 && e >= -19 && e <= 19)
    return real_medium(d->first, e);
  return real_slow(d);
}

static bool real_is(const char *text, size_t len, const char *name) {
  return len == strlen(name) && memcmp(text, name, len) == 0;
}

bool vm_text_to_real(const char *text, size_t len, double *out) {
  size_t sign = len && text[0] == '-';
  real_decimal d;
  double v;
  if (real_is(text, len, "nan"))
    v = (double)NAN;
  else if (real_is(text + sign, len - sign, "inf"))
    v = HUGE_VAL;
  else if (!decimal_parse(text + sign, text + len, &d) || isinf(v = real_value(&d)))
    return false;
  *out = sign ? -v : v;
  return true;
}
