/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Data for benchmarks. Every element of every rank's input is a function of its position, so each
 * rank computes the expected output without communication and compares it bit by bit.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench.h"
#include "type/type.h"
#include "type/wide.h"

enum {
    PIECE = 1024, /* the number of elements that are compared at once */
    ELEMENT = 32  /* the largest size of an element in bytes */
};

/* ---- Elements ---- */

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static uint64_t drawn(int from, int to, int64_t index)
{
    return mix(((uint64_t)from << 44 ^ (uint64_t)to << 24) +
               0x9e3779b97f4a7c15u * (uint64_t)(index + 1));
}

static void fill_bits(char *at, int from, int to, int64_t bytes)
{
    for (int64_t word = 0; 8 * word < bytes; word++) {
        uint64_t value = drawn(from, to, word);
        memcpy(at + 8 * word, &value, (size_t)tt_min(8, bytes - 8 * word));
    }
}

/* Returns a whole number so small that bf16 holds the sum of these numbers over all ranks exactly,
 * or their product if the operation is a product. */
static double small(const struct tt_call *call, int rank, uint64_t random)
{
    if (call->op == TUTTI_PROD)
        return rank < 7 ? (double)(random % 2 + 1) : 1 - 2 * (double)(random % 2);
    return rank < 36 ? (double)(random % 8) : 0;
}

static void put_f16(char *at, double value, bool brain)
{
    float f = (float)value;
    uint32_t bits;
    memcpy(&bits, &f, 4);
    uint32_t sign = bits >> 16 & 0x8000, exponent = bits >> 23 & 0xff;
    /* the upper half of a float is its bf16; this is exact for the numbers that `small` returns */
    uint16_t half = (uint16_t)(bits >> 16);
    if (!brain)
        half = (uint16_t)(value == 0 ? 0 : sign | (exponent - 112) << 10 | (bits >> 13 & 0x3ff));
    memcpy(at, &half, 2);
}

/* Writes the value as an f80 or f128 in 16 bytes; the padding of an f80 is 0. */
static void put_wide(char *at, tutti_type type, double value)
{
    memset(at, 0, 16);
#if TT_HAS_F80
    tt_f80 wide = (tt_f80)value;
    if (type == TUTTI_F80 || type == TUTTI_C160 || type == TUTTI_F80_I32) memcpy(at, &wide, 10);
#endif
#if TT_HAS_F128
    tt_f128 quad = (tt_f128)value;
    if (type == TUTTI_F128 || type == TUTTI_C256 || type == TUTTI_F128_I32) memcpy(at, &quad, 16);
#endif
}

/* Writes a pair or a complex number: `value` is its first component, and `second` is the second
 * component of a pair. The imaginary part of a complex number is 0. */
static void put_pair(char *at, tutti_type type, double value, uint64_t second)
{
    float f[2] = {(float)value, 0};
    double d[2] = {value, 0};
    int32_t i = (int32_t)value, index = (int32_t)second;
    int64_t l = (int64_t)value, long_index = (int64_t)second;
    int16_t s = (int16_t)value;
    memset(at, 0, tutti_type_size(type)); /* this also clears the padding */
    switch (type) {
    case TUTTI_I16_I32: memcpy(at, &s, 2), memcpy(at + 4, &index, 4); break;
    case TUTTI_I64_I32: memcpy(at, &l, 8), memcpy(at + 8, &index, 4); break;
    case TUTTI_F64_I32: memcpy(at, d, 8), memcpy(at + 8, &index, 4); break;
    case TUTTI_I32_I32: memcpy(at, &i, 4), memcpy(at + 4, &index, 4); break;
    case TUTTI_F32_I32: memcpy(at, f, 4), memcpy(at + 4, &index, 4); break;
    case TUTTI_I64_I64: memcpy(at, &l, 8), memcpy(at + 8, &long_index, 8); break;
    case TUTTI_F64_I64: memcpy(at, d, 8), memcpy(at + 8, &long_index, 8); break;
    case TUTTI_F32_F32: memcpy(at, f, 4), memcpy(at + 4, &(float){(float)second}, 4); break;
    case TUTTI_F64_F64: memcpy(at, d, 8), memcpy(at + 8, &(double){(double)second}, 8); break;
    case TUTTI_F80_I32:
    case TUTTI_F128_I32: put_wide(at, type, value), memcpy(at + 16, &index, 4); break;
    case TUTTI_C64: memcpy(at, f, 8); break;
    case TUTTI_C128: memcpy(at, d, 16); break;
    default: put_wide(at, type, value), put_wide(at + 16, type, 0); break;
    }
}

static void put_binned(char *at, double value)
{
    tutti_binned sum = {{0}};
    (void)tutti_sum_local(&sum, 1, TUTTI_F64, &value, 1);
    memcpy(at, &sum, sizeof sum);
}

static void put_i128(char *at, const struct tt_call *call, uint64_t random)
{
    uint64_t word[2] = {random, mix(random)};
    if (call->op >= TUTTI_LAND && call->op <= TUTTI_LXOR && random % 3 == 0) word[0] = word[1] = 0;
    memcpy(at, word, sizeof word);
}

static void put_number(char *at, const struct tt_call *call, int rank, uint64_t random)
{
    double value = small(call, rank, random);
    float f = (float)value;
    switch (call->type) {
    case TUTTI_F16:
    case TUTTI_BF16: put_f16(at, value, call->type == TUTTI_BF16); break;
    case TUTTI_F32: memcpy(at, &f, 4); break;
    case TUTTI_F64: memcpy(at, &value, 8); break;
    case TUTTI_BINNED: put_binned(at, value + ldexp(value, (int)(random >> 40 & 127))); break;
    case TUTTI_F80:
    case TUTTI_F128: put_wide(at, call->type, value); break;
    case TUTTI_I128:
    case TUTTI_U128: put_i128(at, call, random); break;
    case TUTTI_BOOL: *at = (char)(random % 2); break;
    case TUTTI_C64:
    case TUTTI_C128:
    case TUTTI_C160:
    case TUTTI_C256:
    case TUTTI_F32_F32:
    case TUTTI_F64_F64:
    case TUTTI_F80_I32:
    case TUTTI_F128_I32:
    case TUTTI_I32_I32:
    case TUTTI_I64_I64:
    case TUTTI_F32_I32:
    case TUTTI_I16_I32:
    case TUTTI_I64_I32:
    case TUTTI_F64_I32:
    case TUTTI_F64_I64: put_pair(at, call->type, value, random >> 32 & 0xffff); break;
    /* Integers wrap around, so any value will do. For logical operations, some values are zero. */
    default:
        if (call->op >= TUTTI_LAND && call->op <= TUTTI_LXOR) random *= random % 3 != 0;
        memcpy(at, &random, (size_t)call->sz);
    }
}

/* Writes the elements first .. first+n-1 of the given rank's contribution to a reduction. */
static void fill_numbers(char *at, const struct tt_call *call, int rank, int64_t first, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        if (call->op < TUTTI_OPS)
            put_number(at + i * call->sz, call, rank, drawn(rank, 0, first + i));
        else
            fill_bits(at + i * call->sz, rank, (int)((first + i) % 997), call->sz);
    }
}

/* ---- The operation `user`: an element holds two halves (a, b) of h bits each, which stand for the
 * function x -> a x + b on the integers modulo 2^h. The operation composes two functions. In a half
 * of more than 64 bits it uses the first 64 bits and sets the other bits to 0. ---- */

static uint64_t half_of(const unsigned char *element, size_t sz, bool second)
{
    uint64_t value = 0;
    if (sz == 1) return second ? *element >> 4 : *element & 15;
    memcpy(&value, element + (second ? sz / 2 : 0), tt_min(sz / 2, sizeof value));
    return value;
}

static void put_halves(unsigned char *element, size_t sz, uint64_t a, uint64_t b)
{
    if (sz == 1) {
        *element = (unsigned char)((a & 15) | (b & 15) << 4);
        return;
    }
    memset(element, 0, sz);
    memcpy(element, &a, tt_min(sz / 2, sizeof a));
    memcpy(element + sz / 2, &b, tt_min(sz / 2, sizeof b));
}

void tt_bench_op(const void *left, const void *right, void *out, size_t n, tutti_type type,
                 void *arg)
{
    (void)arg;
    size_t sz = tutti_type_size(type);
    for (size_t i = 0; i < n; i++) {
        const unsigned char *l = (const unsigned char *)left + i * sz;
        const unsigned char *r = (const unsigned char *)right + i * sz;
        uint64_t a = half_of(l, sz, false) * half_of(r, sz, false);
        uint64_t b = half_of(r, sz, false) * half_of(l, sz, true) + half_of(r, sz, true);
        put_halves((unsigned char *)out + i * sz, sz, a, b);
    }
}

/* ---- Expectations ---- */

static bool reduces(const struct tt_bench *b)
{
    return tt_coll_has_op(b->call.coll);
}

/* Returns the number of elements that each rank contributes to a reduction. */
static int64_t vector(const struct tt_bench *b)
{
    return tt_call_scatters(&b->call) ? tt_call_block_at(&b->call, b->p) / b->call.sz : b->call.n;
}

/* Returns the number of elements of the result that this rank gets, and sets *first to the index of
 * the first of them in the whole result. */
static int64_t result(const struct tt_bench *b, int64_t *first)
{
    bool scatters = tt_call_scatters(&b->call);
    *first = scatters ? tt_call_block_at(&b->call, b->me) / b->call.sz : 0;
    return tt_call_result_bytes(&b->call, b->p, b->me) / b->call.sz;
}

static void expect_reduced(const struct tt_bench *b, char *out, int64_t first, int64_t n)
{
    char next[PIECE * ELEMENT];
    fill_numbers(out, &b->call, 0, first, n);
    for (int rank = 1; rank < tt_call_reduces(&b->call, b->p, b->me); rank++) {
        fill_numbers(next, &b->call, rank, first, n);
        if (b->call.op < TUTTI_OPS)
            tt_reduce(out, (const void *const[]){out, next}, 2, (size_t)n, b->call.type,
                      b->call.op);
        else
            tt_bench_op(out, next, out, (size_t)n, b->call.type, NULL);
    }
}

static bool wrong(const struct tt_bench *b, const char *what, int64_t at)
{
    char problem[TT_PROBLEM_TEXT];
    fprintf(stderr, "tutti bench: %s: rank %d: %s is wrong at byte %" PRId64 "\n",
            tt_problem_print(&b->c->problem, problem), b->me, what, at);
    return false;
}

static bool same(const struct tt_bench *b, const char *what, int64_t at, const char *found,
                 const char *expected, int64_t bytes)
{
    if (bytes == 0 || memcmp(found, expected, (size_t)bytes) == 0) return true;
    int64_t i = 0;
    while (found[i] == expected[i]) i++;
    return wrong(b, what, at + i);
}

static bool has_padding(tutti_type type)
{
    return type == TUTTI_F80 || type == TUTTI_C160 || type == TUTTI_F80_I32;
}

/* Returns the bytes of each of the two parts of a complex number; or, for an f80, its bytes with
 * the padding; or 0 for types that `normalise` leaves as they are. */
static int part_bytes(tutti_type type)
{
    if (type == TUTTI_C64) return 4;
    if (type == TUTTI_C128) return 8;
    return has_padding(type) || type == TUTTI_C256 ? 16 : 0;
}

/* Gives equal values equal bytes: clears the padding of an f80, and the sign of a zero in a complex
 * number, which depends on the order in which operands were combined. */
static void normalise(char *at, tutti_type type, int64_t n)
{
    static const char zero[16];
    int bytes = part_bytes(type), sign = (has_padding(type) ? 10 : bytes) - 1;
    const char *end = at + n * (int64_t)tutti_type_size(type);
    for (; bytes > 0 && at < end; at += bytes) {
        if (has_padding(type)) memset(at + 10, 0, 6);
        bool complex = type != TUTTI_F80 && type != TUTTI_F80_I32;
        if (complex && (at[sign] & 0x7f) == 0 && memcmp(at, zero, (size_t)sign) == 0) at[sign] = 0;
    }
}

bool tt_bench_same(const struct tt_bench *b, const char *what, const char *found,
                   const char *expected, int64_t bytes)
{
    char x[PIECE * ELEMENT], y[PIECE * ELEMENT];
    int64_t sz = b->call.sz;
    for (int64_t at = 0; at < bytes; at += PIECE * sz) {
        int64_t len = tt_min(PIECE * sz, bytes - at);
        memcpy(x, found + at, (size_t)len);
        memcpy(y, expected + at, (size_t)len);
        if (tt_coll_has_op(b->call.coll) && b->call.op < TUTTI_OPS)
            normalise(x, b->call.type, len / sz), normalise(y, b->call.type, len / sz);
        if (!same(b, what, at, x, y, len)) return false;
    }
    return true;
}

static bool verify_reduced(const struct tt_bench *b, const char *out)
{
    char expected[PIECE * ELEMENT], found[PIECE * ELEMENT];
    bool builtin = b->call.op < TUTTI_OPS;
    int64_t begin, all = result(b, &begin), sz = b->call.sz;
    for (int64_t first = 0; first < all; first += PIECE) {
        int64_t n = tt_min(PIECE, all - first);
        expect_reduced(b, expected, begin + first, n);
        memcpy(found, out + first * sz, (size_t)(n * sz));
        if (builtin) normalise(found, b->call.type, n), normalise(expected, b->call.type, n);
        if (!same(b, "the result", first * sz, found, expected, n * sz)) return false;
    }
    return true;
}

/* Returns whether the `bytes` bytes at buffer + at are the data that rank `from` made for rank
 * `to`. */
static bool verify_bits(const struct tt_bench *b, const char *what, const char *buffer, int64_t at,
                        int from, int to, int64_t bytes)
{
    for (int64_t word = 0; 8 * word < bytes; word++) {
        uint64_t value = drawn(from, to, word);
        if (!same(b, what, at + 8 * word, buffer + at + 8 * word, (const char *)&value,
                  tt_min(8, bytes - 8 * word)))
            return false;
    }
    return true;
}

/* A segment of a buffer: the bytes that rank `from` made for rank `to`. */
struct segment {
    int64_t at, bytes;
    int from, to;
};

/* Returns where the data of rank r must be in this rank's OUT after the call. */
static struct segment out_segment(const struct tt_bench *b, int r)
{
    const struct tt_call *c = &b->call;
    int64_t bytes = tt_call_bytes(c);
    switch (c->coll) {
    case TT_COLL_bcast: return (struct segment){0, r == c->root ? bytes : 0, c->root, 0};
    case TT_COLL_gather: return (struct segment){r * bytes, b->me == c->root ? bytes : 0, r, 0};
    case TT_COLL_allgather: return (struct segment){r * bytes, bytes, r, 0};
    case TT_COLL_allgatherv:
        return (struct segment){c->out_displs[r] * c->sz, c->out_counts[r] * c->sz, r, 0};
    case TT_COLL_alltoall: return (struct segment){r * bytes, bytes, r, b->me};
    case TT_COLL_scatter:
        return (struct segment){c->in_place && b->me == c->root ? b->me * bytes : 0,
                                r == c->root ? bytes : 0, c->root, b->me};
    case TT_COLL_alltoallv:
    case TT_COLL_gatherv:
    case TT_COLL_scatterv:
        return (struct segment){c->out_displs[r] * c->sz, c->out_counts[r] * c->sz, r, b->me};
    default: return (struct segment){0};
    }
}

/* Returns the part of this rank's IN that is for rank r. A collective that sends the same data to
 * all ranks has one segment, which is returned for r = 0. */
static struct segment in_segment(const struct tt_bench *b, int r)
{
    const struct tt_call *c = &b->call;
    int64_t bytes = tt_call_bytes(c);
    switch (c->coll) {
    case TT_COLL_gather:
    case TT_COLL_allgather: return (struct segment){0, r == 0 ? bytes : 0, b->me, 0};
    case TT_COLL_allgatherv:
        return (struct segment){0, r == 0 ? c->out_counts[b->me] * c->sz : 0, b->me, 0};
    case TT_COLL_alltoall: return (struct segment){r * bytes, bytes, b->me, r};
    case TT_COLL_scatter:
        return b->me == c->root ? (struct segment){r * bytes, bytes, b->me, r}
                                : (struct segment){0};
    case TT_COLL_alltoallv:
    case TT_COLL_gatherv:
    case TT_COLL_scatterv:
        return (struct segment){c->in_displs[r] * c->sz, c->in_counts[r] * c->sz, b->me, r};
    default: return (struct segment){0};
    }
}

/* Returns whether this rank is a root that scatters in place, so that its OUT holds the pieces of
 * all ranks. */
static bool keeps_pieces(const struct tt_bench *b)
{
    bool scatters = b->call.coll == TT_COLL_scatter || b->call.coll == TT_COLL_scatterv;
    return scatters && b->call.in_place && b->me == b->call.root;
}

void tt_bench_sizes(struct tt_bench *b)
{
    int64_t in = 0, out = 0;
    if (reduces(b)) in = out = vector(b) * b->call.sz;
    if (tt_call_scatters(&b->call) && !b->call.in_place) out = tt_call_block_bytes(&b->call, b->me);
    if (b->call.coll == TT_COLL_scatter) out = tt_call_out_bytes(&b->call, b->p, b->me);
    for (int r = 0; r < b->p; r++) {
        struct segment i = in_segment(b, r), o = out_segment(b, r);
        in = tt_max(in, i.at + i.bytes);
        out = tt_max(out, o.at + o.bytes);
    }
    if (keeps_pieces(b)) out = tt_max(out, in);
    b->in_bytes = in;
    b->out_bytes = out;
}

static void fill_canaries(const struct tt_bench *b, char *in, char *out)
{
    memset(in + b->in_bytes, 0x5a, TT_BENCH_CANARY);
    memset(out + b->out_bytes, 0x5a, TT_BENCH_CANARY);
}

static bool verify_canaries(const struct tt_bench *b, const char *in, const char *out)
{
    for (int i = 0; i < TT_BENCH_CANARY; i++) {
        if (in[b->in_bytes + i] != 0x5a) return wrong(b, "memory after the input", i);
        if (out[b->out_bytes + i] != 0x5a) return wrong(b, "memory after the output", i);
    }
    return true;
}

/* If the call reads its input from OUT (in place, or at the root of a bcast), writes the input
 * there. */
static void fill_in_place(const struct tt_bench *b, const char *in, char *out)
{
    struct segment own = out_segment(b, b->me);
    bool bcast = b->call.coll == TT_COLL_bcast;
    if (keeps_pieces(b) || (b->call.in_place && reduces(b)))
        memcpy(out, in, (size_t)b->in_bytes);
    else if (bcast ? b->me == b->call.root : b->call.in_place)
        fill_bits(out + own.at, b->me, 0, own.bytes);
}

void tt_bench_fill(const struct tt_bench *b, char *in, char *out)
{
    memset(out, 0x33, (size_t)b->out_bytes);
    fill_canaries(b, in, out);
    if (reduces(b)) fill_numbers(in, &b->call, b->me, 0, vector(b));
    for (int r = 0; r < b->p; r++) {
        struct segment s = in_segment(b, r);
        if (s.bytes > 0) fill_bits(in + s.at, s.from, s.to, s.bytes);
    }
    fill_in_place(b, in, out);
}

static bool verify_input(const struct tt_bench *b, const char *in)
{
    char expected[PIECE * ELEMENT];
    int64_t all = reduces(b) ? vector(b) : 0;
    for (int64_t first = 0; first < all; first += PIECE) {
        int64_t n = tt_min(PIECE, all - first), at = first * b->call.sz;
        fill_numbers(expected, &b->call, b->me, first, n);
        if (!same(b, "the input", at, in + at, expected, n * b->call.sz)) return false;
    }
    for (int r = 0; r < b->p; r++) {
        struct segment s = in_segment(b, r);
        if (!verify_bits(b, "the input", in, s.at, s.from, s.to, s.bytes)) return false;
    }
    return true;
}

bool tt_bench_verify(const struct tt_bench *b, const char *in, const char *out)
{
    if (!verify_canaries(b, in, out) || !verify_input(b, in)) return false;
    if (reduces(b)) return verify_reduced(b, out);
    for (int r = 0; r < b->p; r++) {
        struct segment s = out_segment(b, r);
        if (!verify_bits(b, "the result", out, s.at, s.from, s.to, s.bytes)) return false;
    }
    return true;
}
