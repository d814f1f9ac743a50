/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Every kernel of every instruction set that the processor supports, compared with the reference:
 * all types and operations, 1 to 17 operands and more, awkward lengths, unaligned, with the result
 * in its own memory or in place of each operand. Nothing outside the result may be written, no
 * other operand changed, and all instruction sets must give the same bits.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "brief.h"
#include "type/kernels.h"
#include "type/reference.h"
#include "type/wide.h"

enum { K = 40, N = 1000, SZ = 32, CANARY = 64, ROOM = CANARY + N * SZ + CANARY };

static const char *const isas[] = {"base", "avx2", "avx512"};
static const size_t lengths[] = {0, 1, 3, 7, 8, 15, 16, 31, 33, 100, 1000};
static const int counts[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 23, K};

/* The operands before and during a kernel: work[] equals input[] whenever no kernel runs. Buffer K
 * of each array is no operand; a result that replaces no operand goes there. */
static unsigned char input[K + 1][ROOM], work[K + 1][ROOM], expected[N * SZ];

/* Returns the bits of a special value of a float format (zero, denormal, infinity, NaN, ...).
 * Special values have to be rare: in long sums and products one of them would decide the result. */
static uint64_t special_bits(struct tt_random *random, int significand_bits, int bits)
{
    uint64_t infinity = ((UINT64_C(1) << (bits - 1 - significand_bits)) - 1) << significand_bits;
    uint64_t some[] = {0, 1, infinity, infinity | 1, infinity - 1, UINT64_C(1) << significand_bits};
    uint64_t sign = tt_random_next(random) & UINT64_C(1) << (bits - 1);
    return some[tt_random_below(random, 6)] | sign;
}

/* Returns a number between -2 and 2, a multiple of 1/64. */
static double plain_value(struct tt_random *random)
{
    return ((double)tt_random_below(random, 256) - 128) / 64;
}

static void put_f32(void *to, struct tt_random *random)
{
    uint32_t bits = (uint32_t)special_bits(random, 23, 32);
    float value = (float)plain_value(random) * 1.1f;
    memcpy(to, tt_random_below(random, 20) ? (void *)&value : (void *)&bits, 4);
}

static void put_f64(void *to, struct tt_random *random)
{
    uint64_t bits = special_bits(random, 52, 64);
    double value = plain_value(random) * 1.1;
    memcpy(to, tt_random_below(random, 20) ? (void *)&value : (void *)&bits, 8);
}

#if TT_HAS_F80
/* Writes a random f80. This format, unlike the others, stores the first bit of a significand, which
 * is 0 only for zero and denormal numbers (here the first two values of some[]). */
static void put_f80(void *to, struct tt_random *random)
{
    static const struct {
        uint64_t significand;
        uint16_t exponent;
    } some[] = {{0, 0},
                {1, 0},
                {UINT64_C(1) << 63, 1},
                {UINT64_C(1) << 63, 0x7fff},
                {UINT64_C(3) << 62, 0x7fff},
                {~UINT64_C(0), 0x7ffe}};
    tt_f80 value = (tt_f80)plain_value(random) * 1.1L;
    memcpy(to, &value, sizeof value);
    if (tt_random_below(random, 20)) return;
    size_t which = tt_random_below(random, 6);
    uint16_t sign = tt_random_next(random) & 0x8000, upper = some[which].exponent | sign;
    memcpy(to, &some[which].significand, 8);
    memcpy((char *)to + 8, &upper, 2);
}
#endif

#if TT_HAS_F128
static void put_f128(void *to, struct tt_random *random)
{
    tt_f128 value = (tt_f128)plain_value(random) / 3;
    memcpy(to, &value, sizeof value);
    if (tt_random_below(random, 20)) return;
    uint64_t words[2] = {0, special_bits(random, 48, 64)};
    memcpy(to, words, sizeof words);
}
#endif

static void put_half(void *to, struct tt_random *random, bool f16)
{
    uint16_t bits = (uint16_t)special_bits(random, f16 ? 10 : 7, 16);
    double value = plain_value(random) * 1.1;
    if (tt_random_below(random, 20)) bits = f16 ? reference_f16(value) : reference_bf16(value);
    memcpy(to, &bits, 2);
}

/* Writes either a small number, so that logical operations and comparisons meet equal numbers and
 * zeros, or random bits. */
static void put_integer(void *to, struct tt_random *random, size_t sz)
{
    uint64_t value = tt_random_next(random);
    if (tt_random_below(random, 2)) value = tt_random_below(random, 3) - 1;
    memcpy(to, &value, sz);
}

/* Writes either a small number or random bits, in the low half of 128 bits. The high half repeats
 * the sign bit of the low half, or is random. */
static void put_i128(void *to, struct tt_random *random)
{
    uint64_t value[2];
    put_integer(&value[0], random, 8);
    value[1] = tt_random_below(random, 2) ? tt_random_next(random) : (uint64_t)0 - (value[0] >> 63);
    memcpy(to, value, sizeof value);
}

/* Writes one or two values of a wide type, or one value and an index with padding. Returns false
 * for any other type. */
static bool put_wide(unsigned char *to, struct tt_random *random, tutti_type type)
{
    (void)to, (void)random;
#if TT_HAS_F80
    if (type == TUTTI_F80 || type == TUTTI_C160 || type == TUTTI_F80_I32) put_f80(to, random);
    if (type == TUTTI_C160) put_f80(to + 16, random);
#endif
#if TT_HAS_F128
    if (type == TUTTI_F128 || type == TUTTI_C256 || type == TUTTI_F128_I32) put_f128(to, random);
    if (type == TUTTI_C256) put_f128(to + 16, random);
#endif
    if (type == TUTTI_F80_I32 || type == TUTTI_F128_I32)
        for (int at = 16; at < 32; at += 4) put_integer(to + at, random, 4);
    return type == TUTTI_F80 || type == TUTTI_F128 || tutti_type_size(type) == 32;
}

/* Writes a reproducible sum of two numbers. Most of these sums have the same window. */
static void put_binned(void *to, struct tt_random *random)
{
    tutti_binned sum = {{0}};
    double values[2];
    put_f64(&values[0], random);
    values[1] = ldexp(plain_value(random), tt_random_below(random, 50) ? 0 : 100);
    (void)tutti_sum_local(&sum, 1, TUTTI_F64, values, 2);
    memcpy(to, &sum, sizeof sum);
}

static void put_element(unsigned char *to, struct tt_random *random, tutti_type type)
{
    size_t sz = tutti_type_size(type);
    if (put_wide(to, random, type)) return;
    switch (type) {
    case TUTTI_F16:
    case TUTTI_BF16: put_half(to, random, type == TUTTI_F16); break;
    case TUTTI_F32: put_f32(to, random); break;
    case TUTTI_F64: put_f64(to, random); break;
    case TUTTI_C64:
        put_f32(to, random);
        put_f32(to + 4, random);
        break;
    case TUTTI_C128:
        put_f64(to, random);
        put_f64(to + 8, random);
        break;
    case TUTTI_BINNED: put_binned(to, random); break;
    case TUTTI_F32_I32:
        put_f32(to, random);
        put_integer(to + 4, random, 4);
        break;
    case TUTTI_F64_I64:
        put_f64(to, random);
        put_integer(to + 8, random, 8);
        break;
    case TUTTI_F64_I32:
        put_f64(to, random);
        put_integer(to + 8, random, 4);
        put_integer(to + 12, random, 4); /* padding, of any value */
        break;
    case TUTTI_I16_I32:
        put_integer(to, random, 2);
        put_integer(to + 2, random, 2); /* padding */
        put_integer(to + 4, random, 4);
        break;
    case TUTTI_I64_I32:
        put_integer(to, random, 8);
        put_integer(to + 8, random, 4);
        put_integer(to + 12, random, 4); /* padding */
        break;
    case TUTTI_I128:
    case TUTTI_U128: put_i128(to, random); break;
    case TUTTI_F32_F32: /* the index is a float, but never a NaN */
        put_f32(to, random);
        memcpy(to + 4, &(float){(float)plain_value(random)}, 4);
        break;
    case TUTTI_F64_F64:
        put_f64(to, random);
        memcpy(to + 8, &(double){plain_value(random)}, 8);
        break;
    case TUTTI_I32_I32:
    case TUTTI_I64_I64:
        put_integer(to, random, sz / 2);
        put_integer(to + sz / 2, random, sz / 2);
        break;
    default: put_integer(to, random, sz);
    }
}

/* Returns the number of elements of the vectors with which check_pair tries kernels that work in
 * blocks: as many as fit into 9001 bytes, which are several blocks, but at least N. */
static size_t elements(tutti_type type)
{
    size_t in_blocks = 9001 / tutti_type_size(type);
    return in_blocks > N ? in_blocks : N;
}

static void fill_inputs(tutti_type type, size_t shift)
{
    struct tt_random random;
    tt_random_seed(&random, (uint64_t)type);
    size_t sz = tutti_type_size(type);
    memset(input, 0xa5, sizeof input);
    for (int j = 0; j < K; j++) {
        for (size_t i = 0; i < N; i++)
            put_element(input[j] + CANARY + shift + i * sz, &random, type);
    }
    memcpy(work, input, sizeof work);
}

struct situation {
    tutti_type type;
    tutti_op op;
    int k;
    size_t n, shift;
};

static void check_elements(const struct situation *s, const char *isa, int alias,
                           const unsigned char *got)
{
    size_t sz = tutti_type_size(s->type);
    if (memcmp(got, expected, s->n * sz) == 0) return;
    for (size_t i = 0; i < s->n; i++) {
        if (reference_same(got + i * sz, expected + i * sz, s->type)) continue;
        fail_msg("%s %s, k=%d n=%zu shift=%zu, %s, out is in[%d]: element %zu is wrong",
                 tt_type_name(s->type), tt_op_name(s->op), s->k, s->n, s->shift, isa, alias, i);
    }
}

/* Checks a kernel whose result replaces operand `alias`, or, if `alias` is -1, goes to its own
 * memory, with another alignment than the operands. */
static void check_alias(const struct situation *s, const char *isa, tt_reduce_fn *kernel, int alias)
{
    const void *in[K];
    for (int j = 0; j < s->k; j++) in[j] = work[j] + CANARY + s->shift;
    int place = alias < 0 ? K : alias;
    size_t start = CANARY + s->shift + (alias < 0 ? 3 : 0), bytes = s->n * tutti_type_size(s->type);
    kernel(work[place] + start, in, s->k, s->n);
    check_elements(s, isa, alias, work[place] + start);
    memcpy(work[place] + start, input[place] + start, bytes);
    for (int j = 0; j < s->k; j++) {
        assert_memory_equal(work[j], input[j], start + bytes + CANARY / 2);
    }
    assert_memory_equal(work[K], input[K], start + bytes + CANARY / 2);
}

static void check_situation(const struct situation *s)
{
    const void *in[K];
    for (int j = 0; j < s->k; j++) in[j] = input[j] + CANARY + s->shift;
    reference_reduce(expected, in, s->k, s->n, s->type, s->op);
    for (size_t i = 0; i < sizeof isas / sizeof isas[0]; i++) {
        const struct tt_kernels *kernels = tt_kernels_find(isas[i]);
        if (!kernels) continue;
        /* the result replaces each operand in turn; if the operands are long, only every fifth */
        int step = s->n <= 100 ? 1 : 5;
        for (int alias = -1; alias < s->k; alias += step) {
            check_alias(s, isas[i], kernels->fn[s->type][s->op], alias);
        }
    }
}

/* Tries each number of operands in counts[] with each length in lengths[]. In half of these cases
 * the operands are aligned. Under sanitizers, which look for accesses outside the operands, one in
 * seven of the cases is tried: each loop of a kernel depends on the number of operands or on the
 * length, and the sample has each number and each length. At last tries operands that are longer
 * than the blocks in which a kernel folds many operands. */
static void check_pair(tutti_type type, tutti_op op)
{
    enum {
        COUNTS = sizeof counts / sizeof counts[0],
        LENGTHS = sizeof lengths / sizeof lengths[0]
    };
    int cases = (int)type + (int)op; /* start the sample at another case for each operation */
    for (size_t shift = 0; shift < 2; shift++) {
        fill_inputs(type, shift);
        for (size_t i = shift; i < COUNTS * LENGTHS; i += 2) {
            if (!sampled(&cases, 7)) continue;
            int k = counts[i % COUNTS];
            check_situation(&(struct situation){type, op, k, lengths[i / COUNTS], shift});
        }
        check_situation(&(struct situation){type, op, 12, elements(type), shift});
    }
}

static void check_type(void **state)
{
    tutti_type type = *(const tutti_type *)*state;
    for (int op = 0; op < TUTTI_OPS; op++) {
        if (tt_kernels_base.fn[type][op]) check_pair(type, (tutti_op)op);
    }
}

int main(void)
{
    static tutti_type types[TUTTI_TYPES];
    struct CMUnitTest tests[TUTTI_TYPES] = {0};
    for (int i = 0; i < TUTTI_TYPES; i++) {
        types[i] = (tutti_type)i;
        tests[i] = (struct CMUnitTest){tt_type_name(types[i]), check_type, NULL, NULL, &types[i]};
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
