/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The slow and obvious reduction (reference.h).
 */
#include <math.h>
#include <string.h>

#include "type/reference.h"
#include "type/wide.h"

/* ---- 16-bit floats ---- */

struct reference_format {
    int bits, least, greatest; /* bits of the significand; the least and greatest exponent of normal
                                * numbers */
};
static const struct reference_format f16_format = {10, -14, 15}, bf16_format = {7, -126, 127};

static double decode(uint16_t half, struct reference_format f)
{
    int significand = half & ((1 << f.bits) - 1), biased = (half & 0x7fff) >> f.bits;
    double sign = half & 0x8000 ? -1 : 1;
    if (biased == f.greatest - f.least + 2) return significand ? (double)NAN : sign * INFINITY;
    if (biased == 0) return sign * ldexp(significand, f.least - f.bits);
    return sign * ldexp((1 << f.bits) + significand, f.least + biased - 1 - f.bits);
}

static uint16_t encode(double value, struct reference_format f)
{
    unsigned sign = signbit(value) ? 0x8000 : 0;
    unsigned infinite = (unsigned)(f.greatest - f.least + 2) << f.bits;
    if (isnan(value)) return (uint16_t)(sign | infinite | 1u << (f.bits - 1));
    value = fabs(value);
    int exponent = value > 0 && !isinf(value) ? ilogb(value) : f.least;
    if (exponent < f.least) exponent = f.least;
    /* The value in units of the last place. nearbyint rounds to nearest even, the processor's
     * default. */
    double units = nearbyint(ldexp(value, f.bits - exponent));
    if (isinf(value) || ldexp(units, exponent - f.bits) >= ldexp(1, f.greatest + 1)) {
        return (uint16_t)(sign | infinite);
    }
    /* the exponent field; for a normal number it is 1 too small, because the highest bit of `units`
     * adds 1 to the field */
    unsigned below = (unsigned)(exponent - f.least) << f.bits;
    return (uint16_t)(sign | (below + (unsigned)units));
}

double reference_f16_value(uint16_t half)
{
    return decode(half, f16_format);
}

double reference_bf16_value(uint16_t half)
{
    return decode(half, bf16_format);
}

uint16_t reference_f16(double value)
{
    return encode(value, f16_format);
}

uint16_t reference_bf16(double value)
{
    return encode(value, bf16_format);
}

/* ---- Integers, held in 128 bits ---- */

static bool is_signed(tutti_type type)
{
    return type <= TUTTI_I64 || type == TUTTI_I128;
}

static tt_u128 load_integer(const void *from, tutti_type type)
{
    size_t sz = tutti_type_size(type);
    tt_u128 value = 0;
    memcpy(&value, from, sz);
    bool negative = is_signed(type) && value >> (8 * sz - 1) & 1;
    return negative && sz < 16 ? value | ~(tt_u128)0 << 8 * sz : value;
}

static tt_u128 least(tt_u128 a, tt_u128 b, bool signedly)
{
    bool less = signedly ? (tt_i128)a < (tt_i128)b : a < b;
    return less ? a : b;
}

static tt_u128 fold_integer(tt_u128 a, tt_u128 b, tutti_type type, tutti_op op)
{
    switch (op) {
    case TUTTI_SUM: return a + b;
    case TUTTI_PROD: return a * b;
    case TUTTI_MIN: return least(a, b, is_signed(type));
    case TUTTI_MAX: return least(a, b, is_signed(type)) == a ? b : a;
    case TUTTI_LAND: return a && b;
    case TUTTI_LOR: return a || b;
    case TUTTI_LXOR: return !a != !b;
    case TUTTI_BAND: return a & b;
    case TUTTI_BOR: return a | b;
    case TUTTI_BXOR: return a ^ b;
    default: return 0xbad;
    }
}

/* ---- Floats ---- */

/* Returns whether min or max returns the second one of the operands; -0 counts as less than +0. */
static bool second_is_chosen(double a, double b, tutti_op op)
{
    if (isnan(a) || isnan(b)) return !isnan(a);
    if (a == b) return (op == TUTTI_MIN) == (signbit(b) != 0);
    return op == TUTTI_MIN ? b < a : b > a;
}

static float fold_f32(float a, float b, tutti_op op)
{
    if (op == TUTTI_SUM) return a + b;
    if (op == TUTTI_PROD) return a * b;
    return second_is_chosen((double)a, (double)b, op) ? b : a;
}

static double fold_f64(double a, double b, tutti_op op)
{
    if (op == TUTTI_SUM) return a + b;
    if (op == TUTTI_PROD) return a * b;
    return second_is_chosen(a, b, op) ? b : a;
}

/* Defines the fold of complex numbers, by the sum and the product of C. */
#define COMPLEX_FOLD(NAME, COMPLEX)                                                                \
    static void NAME(void *acc, const void *operand, tutti_op op)                                  \
    {                                                                                              \
        COMPLEX a, b;                                                                              \
        memcpy(&a, acc, sizeof a);                                                                 \
        memcpy(&b, operand, sizeof b);                                                             \
        a = op == TUTTI_SUM ? a + b : a * b;                                                       \
        memcpy(acc, &a, sizeof a);                                                                 \
    }
COMPLEX_FOLD(fold_c64, float _Complex)
COMPLEX_FOLD(fold_c128, double _Complex)
#if TT_HAS_F80
COMPLEX_FOLD(fold_c160, long double _Complex)
#endif
#if TT_HAS_F128 && defined(__clang__)
COMPLEX_FOLD(fold_c256, __float128 _Complex)
#elif TT_HAS_F128
COMPLEX_FOLD(fold_c256, _Float128 _Complex)
#endif

/* Floats wider than a double are computed in their own format. */
#define WIDE_FOLDS(F)                                                                              \
    static bool sign_##F(tt_##F value)                                                             \
    {                                                                                              \
        return __builtin_signbit(value) != 0;                                                      \
    }                                                                                              \
    static bool second_##F(tt_##F a, tt_##F b, tutti_op op)                                        \
    {                                                                                              \
        if (a != a || b != b) return a == a;                                                       \
        if (a == b) return (op == TUTTI_MIN) == sign_##F(b);                                       \
        return op == TUTTI_MIN ? b < a : b > a;                                                    \
    }                                                                                              \
    static void fold_##F(void *acc, const void *operand, tutti_op op)                              \
    {                                                                                              \
        tt_##F a, b;                                                                               \
        memcpy(&a, acc, sizeof a);                                                                 \
        memcpy(&b, operand, sizeof b);                                                             \
        tt_##F c = op == TUTTI_SUM        ? a + b                                                  \
                   : op == TUTTI_PROD     ? a * b                                                  \
                   : second_##F(a, b, op) ? b                                                      \
                                          : a;                                                     \
        memcpy(acc, &c, sizeof c);                                                                 \
    }                                                                                              \
    static bool is_nan_##F(const void *at)                                                         \
    {                                                                                              \
        tt_##F value;                                                                              \
        memcpy(&value, at, sizeof value);                                                          \
        return value != value;                                                                     \
    }                                                                                              \
    /* Compares values of the wide type F, as compare_values does for other types. */              \
    static int compare_##F(const void *a, const void *b)                                           \
    {                                                                                              \
        tt_##F x, y;                                                                               \
        memcpy(&x, a, sizeof x);                                                                   \
        memcpy(&y, b, sizeof y);                                                                   \
        if (x != x || y != y) return 2 * ((y != y) - (x != x));                                    \
        return x < y ? -1 : x > y;                                                                 \
    }
#if TT_HAS_F80
WIDE_FOLDS(f80)
#endif
#if TT_HAS_F128
WIDE_FOLDS(f128)
#endif

static void fold_wide(void *acc, const void *operand, tutti_type type, tutti_op op)
{
#if TT_HAS_F80
    if (type == TUTTI_F80) fold_f80(acc, operand, op);
    if (type == TUTTI_C160) fold_c160(acc, operand, op);
#endif
#if TT_HAS_F128
    if (type == TUTTI_F128) fold_f128(acc, operand, op);
    if (type == TUTTI_C256) fold_c256(acc, operand, op);
#endif
}

/* ---- Pairs of a value and an index: values are compared as numbers ---- */

/* The parts of a pair: the types of the value and of the index, and the bytes before the index. */
struct pair_parts {
    tutti_type value, index;
    size_t at;
};

static struct pair_parts parts_of(tutti_type type)
{
    switch (type) {
    case TUTTI_I32_I32: return (struct pair_parts){TUTTI_I32, TUTTI_I32, 4};
    case TUTTI_I64_I64: return (struct pair_parts){TUTTI_I64, TUTTI_I64, 8};
    case TUTTI_F32_I32: return (struct pair_parts){TUTTI_F32, TUTTI_I32, 4};
    case TUTTI_F64_I64: return (struct pair_parts){TUTTI_F64, TUTTI_I64, 8};
    case TUTTI_I16_I32: return (struct pair_parts){TUTTI_I16, TUTTI_I32, 4};
    case TUTTI_I64_I32: return (struct pair_parts){TUTTI_I64, TUTTI_I32, 8};
    case TUTTI_F64_I32: return (struct pair_parts){TUTTI_F64, TUTTI_I32, 8};
    case TUTTI_F32_F32: return (struct pair_parts){TUTTI_F32, TUTTI_F32, 4};
    case TUTTI_F64_F64: return (struct pair_parts){TUTTI_F64, TUTTI_F64, 8};
    case TUTTI_F80_I32: return (struct pair_parts){TUTTI_F80, TUTTI_I32, 16};
    case TUTTI_F128_I32: return (struct pair_parts){TUTTI_F128, TUTTI_I32, 16};
    default: return (struct pair_parts){TUTTI_TYPES, TUTTI_TYPES, 0};
    }
}

static int compare_values(const void *a, const void *b, tutti_type value)
{
    if (is_signed(value)) {
        tt_i128 x = (tt_i128)load_integer(a, value), y = (tt_i128)load_integer(b, value);
        return x < y ? -1 : x > y;
    }
#if TT_HAS_F80
    if (value == TUTTI_F80) return compare_f80(a, b);
#endif
#if TT_HAS_F128
    if (value == TUTTI_F128) return compare_f128(a, b);
#endif
    double x, y;
    if (value == TUTTI_F32) {
        float values[2];
        memcpy(&values[0], a, sizeof(float));
        memcpy(&values[1], b, sizeof(float));
        x = (double)values[0];
        y = (double)values[1];
    } else {
        memcpy(&x, a, sizeof x);
        memcpy(&y, b, sizeof y);
    }
    /* A NaN counts as neither smaller nor larger: returns -2 if only a is NaN, 2 if only b is, and
     * 0 if both are. */
    if (isnan(x) || isnan(y)) return 2 * (isnan(y) - isnan(x));
    return x < y ? -1 : x > y;
}

static bool second_pair_is_chosen(const void *a, const void *b, tutti_type type, tutti_op op)
{
    struct pair_parts p = parts_of(type);
    int order = compare_values(a, b, p.value);
    if (order == 2 || order == -2) return order == 2;
    if (order != 0) return op == TUTTI_MINLOC ? order > 0 : order < 0;
    return compare_values((const char *)b + p.at, (const char *)a + p.at, p.index) == -1;
}

/* ---- One element, combined over all operands ---- */

/* A reproducible sum, divided into the parts of its definition (type/binned.h). */
struct binned {
    int window; /* window numbers from 509 on mean infinities and NaN */
    int64_t bin[3];
};

static struct binned load_binned(const char *from)
{
    struct binned sum = {0};
    int64_t word[3];
    memcpy(word, from, sizeof word);
    for (int k = 0; k < 3; k++) {
        int part = (int)(word[k] & 7);
        sum.window += part << 3 * k;
        sum.bin[k] = (word[k] - part) / 8;
    }
    return sum;
}

static void store_binned(char *to, const struct binned *sum)
{
    for (int k = 0; k < 3; k++) {
        int64_t word = sum->bin[k] * 8 + (sum->window >> 3 * k & 7);
        memcpy(to + 8 * k, &word, 8);
    }
}

/* Returns the content of bin number `bin` of the sum; 0 if this is not one of the three bins in the
 * sum's window. */
static int64_t binned_at(const struct binned *sum, int bin)
{
    int k = bin - sum->window;
    return k >= 0 && k < 3 ? sum->bin[k] : 0;
}

static void fold_binned(char *acc, const char *operand)
{
    struct binned a = load_binned(acc), b = load_binned(operand), sum = {0};
    sum.window = a.window > b.window ? a.window : b.window;
    if (a.window != b.window && a.window >= 509 && b.window >= 509) sum.window = 511;
    for (int k = 0; k < 3 && sum.window < 509; k++)
        sum.bin[k] = binned_at(&a, sum.window + k) + binned_at(&b, sum.window + k);
    store_binned(acc, &sum);
}

/* Computes acc = acc op operand. For 16-bit floats acc holds a float. */
static void fold(void *acc, const void *operand, tutti_type type, tutti_op op)
{
    float f, x;
    double d, y;
    tt_u128 i;
    switch (type) {
    case TUTTI_F16:
    case TUTTI_BF16: {
        uint16_t half;
        memcpy(&half, operand, 2);
        memcpy(&f, acc, 4);
        x = (float)(type == TUTTI_F16 ? reference_f16_value(half) : reference_bf16_value(half));
        f = fold_f32(f, x, op);
        memcpy(acc, &f, 4);
        break;
    }
    case TUTTI_F32:
        memcpy(&f, acc, 4);
        memcpy(&x, operand, 4);
        f = fold_f32(f, x, op);
        memcpy(acc, &f, 4);
        break;
    case TUTTI_F64:
        memcpy(&d, acc, 8);
        memcpy(&y, operand, 8);
        d = fold_f64(d, y, op);
        memcpy(acc, &d, 8);
        break;
    case TUTTI_C64: fold_c64(acc, operand, op); break;
    case TUTTI_C128: fold_c128(acc, operand, op); break;
    case TUTTI_I32_I32:
    case TUTTI_I64_I64:
    case TUTTI_F32_I32:
    case TUTTI_F64_I64:
    case TUTTI_I16_I32:
    case TUTTI_I64_I32:
    case TUTTI_F64_I32:
    case TUTTI_F32_F32:
    case TUTTI_F64_F64:
    case TUTTI_F80_I32:
    case TUTTI_F128_I32:
        if (second_pair_is_chosen(acc, operand, type, op))
            memcpy(acc, operand, tutti_type_size(type));
        break;
    case TUTTI_BINNED: fold_binned(acc, operand); break;
    case TUTTI_F80:
    case TUTTI_F128:
    case TUTTI_C160:
    case TUTTI_C256: fold_wide(acc, operand, type, op); break;
    default:
        i = fold_integer(load_integer(acc, type), load_integer(operand, type), type, op);
        memcpy(acc, &i, tutti_type_size(type));
    }
}

static void reduce_one(void *out, const void *const *in, int k, size_t offset, tutti_type type,
                       tutti_op op)
{
    _Alignas(16) char acc[32];
    bool is_half = type == TUTTI_F16 || type == TUTTI_BF16;
    const char *first = (const char *)in[0] + offset;
    memcpy(acc, first, tutti_type_size(type));
    if (k > 1 && is_half) {
        uint16_t half;
        memcpy(&half, first, 2);
        float wide =
            (float)(type == TUTTI_F16 ? reference_f16_value(half) : reference_bf16_value(half));
        memcpy(acc, &wide, 4);
    }
    for (int j = 1; j < k; j++) fold(acc, (const char *)in[j] + offset, type, op);
    if (k > 1 && is_half) {
        float wide;
        memcpy(&wide, acc, 4);
        uint16_t half =
            type == TUTTI_F16 ? reference_f16((double)wide) : reference_bf16((double)wide);
        memcpy(acc, &half, 2);
    }
    memcpy((char *)out + offset, acc, tutti_type_size(type));
}

void reference_reduce(void *out, const void *const *in, int k, size_t n, tutti_type type,
                      tutti_op op)
{
    size_t sz = tutti_type_size(type);
    for (size_t i = 0; i < n; i++) reduce_one(out, in, k, i * sz, type, op);
}

static bool both_nan(const char *a, const char *b, tutti_type type)
{
    float f, g;
    double d, e;
    uint16_t h, j;
    switch (type) {
    case TUTTI_F16:
    case TUTTI_BF16:
        memcpy(&h, a, 2);
        memcpy(&j, b, 2);
        if (type == TUTTI_F16)
            return isnan(reference_f16_value(h)) && isnan(reference_f16_value(j));
        return isnan(reference_bf16_value(h)) && isnan(reference_bf16_value(j));
    case TUTTI_F32:
        memcpy(&f, a, 4);
        memcpy(&g, b, 4);
        return isnan(f) && isnan(g);
    case TUTTI_F64:
        memcpy(&d, a, 8);
        memcpy(&e, b, 8);
        return isnan(d) && isnan(e);
#if TT_HAS_F80
    case TUTTI_F80: return is_nan_f80(a) && is_nan_f80(b);
#endif
#if TT_HAS_F128
    case TUTTI_F128: return is_nan_f128(a) && is_nan_f128(b);
#endif
    default: return false;
    }
}

/* Returns the number of bytes of a value without its padding. */
static size_t significant(tutti_type type)
{
    return type == TUTTI_F80 ? 10 : tutti_type_size(type);
}

/* Returns the type of both parts of a complex number; TUTTI_TYPES for other types. */
static tutti_type part_of(tutti_type type)
{
    switch (type) {
    case TUTTI_C64: return TUTTI_F32;
    case TUTTI_C128: return TUTTI_F64;
    case TUTTI_C160: return TUTTI_F80;
    case TUTTI_C256: return TUTTI_F128;
    default: return TUTTI_TYPES;
    }
}

bool reference_same(const void *a, const void *b, tutti_type type)
{
    if (memcmp(a, b, significant(type)) == 0) return true;
    struct pair_parts p = parts_of(type);
    if (p.at > 0) /* the bytes between the parts and after them are padding */
        return memcmp(a, b, significant(p.value)) == 0 &&
               memcmp((const char *)a + p.at, (const char *)b + p.at, significant(p.index)) == 0;
    tutti_type part = part_of(type);
    if (part == TUTTI_TYPES) return both_nan(a, b, type);
    size_t half = tutti_type_size(part);
    return reference_same(a, b, part) &&
           reference_same((const char *)a + half, (const char *)b + half, part);
}
