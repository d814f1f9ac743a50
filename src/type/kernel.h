/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The kernels of all built-in reductions, as plain loops that the compiler vectorises. One file for
 * each instruction set (kernel-base.c ...) includes this file and names the table in KERNELS.
 *
 * A *sweep* folds up to SWEEP operands in registers and stores once. More operands take several
 * sweeps over a block that stays in the first-level cache, so that each byte is still read from
 * memory only once. With SWEEP = 4:
 *
 *     acc = in0 + in1 + in2 + in3     SWEEP operands
 *     acc = acc + in4 + in5 + in6     SWEEP - 1 more operands, for each further sweep
 *     out = acc + in7                 the remaining operands; only the last sweep writes the result
 *
 * An element of `out` is written only after the same element of every input was read, except
 * perhaps in the same iteration of the same loop. So `out` may be any one of the inputs.
 */
#include <string.h>

#include "type/wide.h"

enum { SWEEP = 5, BLOCK_BYTES = 4096, FEW_BYTES = 16 };

/* INDEPENDENT precedes a loop whose iterations do not depend on each other. clang would warn of
 * such loops that it does not vectorise, so that warning is disabled. */
#ifdef __clang__
#pragma clang diagnostic ignored "-Wpass-failed"
#define INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define INDEPENDENT _Pragma("GCC ivdep")
#endif
#define EACH(i, n) INDEPENDENT for (size_t i = 0; i < (n); i++)

/* ALONE marks a function that is to occur once in the code, neither inlined nor cloned for an
 * argument, because there are hundreds of these functions. */
#ifdef __clang__
#define ALONE __attribute__((noinline))
#else
#define ALONE __attribute__((noinline, noclone))
#endif

#define ANYWHERE __attribute__((aligned(1), may_alias))
typedef int8_t ANYWHERE i8;
typedef int16_t ANYWHERE i16;
typedef int32_t ANYWHERE i32;
typedef int64_t ANYWHERE i64;
typedef uint8_t ANYWHERE u8;
typedef uint16_t ANYWHERE u16;
typedef uint32_t ANYWHERE u32;
typedef uint64_t ANYWHERE u64;
typedef float ANYWHERE f32;
typedef double ANYWHERE f64;
typedef tt_i128 ANYWHERE i128;
typedef tt_u128 ANYWHERE u128;
#if TT_HAS_F80
typedef tt_f80 ANYWHERE f80;
#endif
#if TT_HAS_F128
typedef tt_f128 ANYWHERE f128;
#endif

/* Returns the address of the element at a byte offset in an input. */
static inline const void *at(const void *input, size_t offset)
{
    return (const char *)input + offset;
}

/* out[0..n-1] = first op rest[0] op ... op rest[k-2], where the operands in `rest` begin at the
 * byte offset; 2 <= k <= SWEEP. The offset saves the caller an array of operand addresses for each
 * block; for a few elements, filling that array would take longer than folding them. */
typedef void sweep_fn(void *out, const void *first, const void *const *rest, int k, size_t offset,
                      size_t n);

/* Folds one block of m elements of more than SWEEP operands, in several sweeps. */
static inline __attribute__((always_inline)) void
fold_block(char *out, const void *const *in, int k, size_t offset, size_t m, sweep_fn *sweep)
{
    _Alignas(TT_LINE) char acc[BLOCK_BYTES];
    sweep(acc, at(in[0], offset), in + 1, SWEEP, offset, m);
    int j = SWEEP;
    for (; k - j >= SWEEP; j += SWEEP - 1) sweep(acc, acc, in + j, SWEEP, offset, m);
    sweep(out + offset, acc, in + j, k - j + 1, offset, m);
}

/* Folds more than SWEEP operands, block by block. */
static inline __attribute__((always_inline)) void
fold_blocks(void *out, const void *const *in, int k, size_t n, size_t sz, sweep_fn *sweep)
{
    size_t block = BLOCK_BYTES / sz;
    for (size_t i = 0; i < n; i += block) {
        size_t m = n - i < block ? n - i : block;
        fold_block(out, in, k, i * sz, m, sweep);
    }
}

/* Expressions that fold element i of the first 1 to 5 operands of a sweep. */
#define FOLD1(op, i) a[0][i]
#define FOLD2(op, i) op(FOLD1(op, i), a[1][i])
#define FOLD3(op, i) op(FOLD2(op, i), a[2][i])
#define FOLD4(op, i) op(FOLD3(op, i), a[3][i])
#define FOLD5(op, i) op(FOLD4(op, i), a[4][i])
#define FOLD_ALL(NAME, T, K)                                                                       \
    do {                                                                                           \
        const T *a[K] = {first};                                                                   \
        for (int j = 1; j < K; j++) a[j] = at(rest[j - 1], offset);                                \
        EACH(i, n) o[i] = FOLD##K(NAME##_op, i);                                                   \
    } while (0)

/* Defines the kernel NAME, which folds elements of type T by op(a, b) = VALUE. The kernel consists
 * of: the operation (_op); the fold of a few elements one by one (_few); the fold of two operands
 * (_two), in a function of its own because it needs no saved registers; the sweep (_sweep); and the
 * choice among them. */
#define KERNEL(NAME, T, VALUE)                                                                     \
    static inline T NAME##_op(T a, T b)                                                            \
    {                                                                                              \
        return VALUE;                                                                              \
    }                                                                                              \
    static inline void NAME##_few(T *out, const void *const *in, int k, size_t n)                  \
    {                                                                                              \
        for (size_t i = 0; i < n; i++) {                                                           \
            T acc = ((const T *)in[0])[i];                                                         \
            for (int j = 1; j < k; j++) acc = NAME##_op(acc, ((const T *)in[j])[i]);               \
            out[i] = acc;                                                                          \
        }                                                                                          \
    }                                                                                              \
    static ALONE void NAME##_two(T *o, const T *a, const T *b, size_t n)                           \
    {                                                                                              \
        EACH(i, n) o[i] = NAME##_op(a[i], b[i]);                                                   \
    }                                                                                              \
    static ALONE void NAME##_sweep(void *out, const void *first, const void *const *rest, int k,   \
                                   size_t offset, size_t n)                                        \
    {                                                                                              \
        T *o = out;                                                                                \
        switch (k) {                                                                               \
        case 2: NAME##_two(o, first, at(rest[0], offset), n); break;                               \
        case 3: FOLD_ALL(NAME, T, 3); break;                                                       \
        case 4: FOLD_ALL(NAME, T, 4); break;                                                       \
        default: FOLD_ALL(NAME, T, 5);                                                             \
        }                                                                                          \
    }                                                                                              \
    static ALONE void NAME##_many(void *out, const void *const *in, int k, size_t n)               \
    {                                                                                              \
        fold_blocks(out, in, k, n, sizeof(T), NAME##_sweep);                                       \
    }                                                                                              \
    static void NAME(void *out, const void *const *in, int k, size_t n)                            \
    {                                                                                              \
        if (n * sizeof(T) <= FEW_BYTES)                                                            \
            NAME##_few(out, in, k, n);                                                             \
        else if (k == 2)                                                                           \
            NAME##_two(out, in[0], in[1], n);                                                      \
        else if (k > SWEEP)                                                                        \
            NAME##_many(out, in, k, n);                                                            \
        else if (k > 1)                                                                            \
            NAME##_sweep(out, in[0], in + 1, k, 0, n);                                             \
        else                                                                                       \
            memmove(out, in[0], n * sizeof(T));                                                    \
    }

/* ---- Integers: sums, products and bit operations of signed types are those of unsigned types
 * ---- */

#define UNSIGNED_KERNELS(T)                                                                        \
    KERNEL(sum_##T, T, (T)(a + b))                                                                 \
    KERNEL(prod_##T, T, (T)(1u * a * b))                                                           \
    KERNEL(land_##T, T, (a != 0) & (b != 0))                                                       \
    KERNEL(lor_##T, T, (a | b) != 0)                                                               \
    KERNEL(lxor_##T, T, (a != 0) ^ (b != 0))                                                       \
    KERNEL(band_##T, T, a &b)                                                                      \
    KERNEL(bor_##T, T, a | b)                                                                      \
    KERNEL(bxor_##T, T, a ^ b)
UNSIGNED_KERNELS(u8)
UNSIGNED_KERNELS(u16)
UNSIGNED_KERNELS(u32)
UNSIGNED_KERNELS(u64)
UNSIGNED_KERNELS(u128)

#define INTEGER_ORDER_KERNELS(T)                                                                   \
    KERNEL(min_##T, T, b < a ? b : a)                                                              \
    KERNEL(max_##T, T, b > a ? b : a)
INTEGER_ORDER_KERNELS(i8)
INTEGER_ORDER_KERNELS(i16)
INTEGER_ORDER_KERNELS(i32)
INTEGER_ORDER_KERNELS(i64)
INTEGER_ORDER_KERNELS(i128)
INTEGER_ORDER_KERNELS(u8)
INTEGER_ORDER_KERNELS(u16)
INTEGER_ORDER_KERNELS(u32)
INTEGER_ORDER_KERNELS(u64)
INTEGER_ORDER_KERNELS(u128)

/* ---- Floats ---- */

/* min and max are minimum and maximum of IEEE 754-2019: the result is a NaN if an operand is a NaN,
 * and -0 is below +0. So the result does not depend on the order of the operands. lesser_T and
 * greater_T below select the operand twice, with the operands in both orders. The two selections,
 * `one` and `other`, differ in two cases only. For zeros of different sign, | of their bits gives
 * -0 and & gives +0. If one operand is a NaN, the selections are the two operands, and | of their
 * bits is a NaN. */
#define FLOAT_BITS(T, BITS)                                                                        \
    static inline BITS bits_##T(T value)                                                           \
    {                                                                                              \
        BITS bits;                                                                                 \
        memcpy(&bits, &value, sizeof bits);                                                        \
        return bits;                                                                               \
    }                                                                                              \
    static inline T of_bits_##T(BITS bits)                                                         \
    {                                                                                              \
        T value;                                                                                   \
        memcpy(&value, &bits, sizeof value);                                                       \
        return value;                                                                              \
    }
FLOAT_BITS(f32, uint32_t)
FLOAT_BITS(f64, uint64_t)
#if TT_HAS_F128
FLOAT_BITS(f128, tt_u128)
#endif
#if TT_HAS_F80
/* The bits of an f80 are moved to the upper end of the 128-bit word, so that the sign is the first
 * bit, and the padding does not count. */
enum { F80_BYTES = 10, F80_PADDING = 48 };
static inline tt_u128 bits_f80(f80 value)
{
    tt_u128 bits = 0;
    memcpy(&bits, &value, F80_BYTES);
    return bits << F80_PADDING;
}
static inline f80 of_bits_f80(tt_u128 bits)
{
    f80 value;
    bits >>= F80_PADDING;
    memcpy(&value, &bits, sizeof value);
    return value;
}
#endif

#define FLOAT_ORDER_OPS(T, BITS)                                                                   \
    static inline T lesser_##T(T a, T b)                                                           \
    {                                                                                              \
        T one = a < b ? a : b, other = b < a ? b : a;                                              \
        return of_bits_##T(bits_##T(one) | bits_##T(other));                                       \
    }                                                                                              \
    static inline T greater_##T(T a, T b)                                                          \
    {                                                                                              \
        T one = a > b ? a : b, other = b > a ? b : a;                                              \
        BITS either = bits_##T(one) | bits_##T(other), both = bits_##T(one) & bits_##T(other);     \
        return of_bits_##T(__builtin_isunordered(a, b) ? either : both);                           \
    }

#define FLOAT_KERNELS(T, BITS)                                                                     \
    FLOAT_ORDER_OPS(T, BITS)                                                                       \
    KERNEL(sum_##T, T, a + b)                                                                      \
    KERNEL(prod_##T, T, a *b)                                                                      \
    KERNEL(min_##T, T, lesser_##T(a, b))                                                           \
    KERNEL(max_##T, T, greater_##T(a, b))
FLOAT_KERNELS(f32, uint32_t)
FLOAT_KERNELS(f64, uint64_t)
#if TT_HAS_F80
FLOAT_KERNELS(f80, tt_u128)
#endif
#if TT_HAS_F128
FLOAT_KERNELS(f128, tt_u128)
#endif

/* Kernels of 16-bit floats: operands are converted to f32 block by block into the cache, folded by
 * the f32 kernel, and rounded once. */
enum { HALF_BLOCK = 512, FEW_HALVES = 3 };
typedef void widen_fn(float *to, const half_bits *from, size_t n);
typedef void narrow_fn(half_bits *to, const float *from, size_t n);

static inline __attribute__((always_inline)) void fold_half_block(float *acc, const void *const *in,
                                                                  int k, size_t i, size_t m,
                                                                  tt_reduce_fn *fold,
                                                                  widen_fn *widen)
{
    _Alignas(TT_LINE) float wide[SWEEP][HALF_BLOCK];
    const void *operand[SWEEP];
    for (int j = 0; j < k;) {
        int operands = 0;
        if (j > 0) operand[operands++] = acc;
        for (; operands < SWEEP && j < k; operands++, j++) {
            widen(wide[operands], (const half_bits *)in[j] + i, m);
            operand[operands] = wide[operands];
        }
        fold(acc, operand, operands, m);
    }
}

#define HALF_KERNEL(NAME, T, FOLD)                                                                 \
    static inline void NAME##_few(half_bits *out, const void *const *in, int k, size_t n)          \
    {                                                                                              \
        for (size_t i = 0; i < n; i++) {                                                           \
            float acc = tt_##T##_to_f32(((const half_bits *)in[0])[i]);                            \
            for (int j = 1; j < k; j++)                                                            \
                acc = FOLD##_op(acc, tt_##T##_to_f32(((const half_bits *)in[j])[i]));              \
            out[i] = tt_f32_to_##T(acc);                                                           \
        }                                                                                          \
    }                                                                                              \
    static ALONE void NAME##_many(half_bits *out, const void *const *in, int k, size_t n)          \
    {                                                                                              \
        _Alignas(TT_LINE) float acc[HALF_BLOCK];                                                   \
        for (size_t i = 0; i < n; i += HALF_BLOCK) {                                               \
            size_t m = n - i < HALF_BLOCK ? n - i : HALF_BLOCK;                                    \
            fold_half_block(acc, in, k, i, m, FOLD, widen_##T);                                    \
            narrow_##T(out + i, acc, m);                                                           \
        }                                                                                          \
    }                                                                                              \
    static void NAME(void *out, const void *const *in, int k, size_t n)                            \
    {                                                                                              \
        if (k == 1)                                                                                \
            memmove(out, in[0], n * sizeof(half_bits));                                            \
        else if (n <= FEW_HALVES)                                                                  \
            NAME##_few(out, in, k, n);                                                             \
        else                                                                                       \
            NAME##_many(out, in, k, n);                                                            \
    }
HALF_KERNEL(sum_f16, f16, sum_f32)
HALF_KERNEL(prod_f16, f16, prod_f32)
HALF_KERNEL(min_f16, f16, min_f32)
HALF_KERNEL(max_f16, f16, max_f32)
HALF_KERNEL(sum_bf16, bf16, sum_f32)
HALF_KERNEL(prod_bf16, bf16, prod_f32)
HALF_KERNEL(min_bf16, bf16, min_f32)
HALF_KERNEL(max_bf16, bf16, max_f32)

/* ---- Complex numbers ---- */

/* Returns a product that is rounded before it is added to anything: it keeps the compiler from
 * making a fused multiply-add of the product and the addition. gcc 12 makes one even under
 * -ffp-contract=off, except where it may not reassociate the operands. */
#ifdef __clang__
#define ROUNDED(product) (product)
#else
#define ROUNDED(product) __builtin_assoc_barrier(product)
#endif

/* Defines the product of complex numbers C with parts of type F, as C defines it (C11, annex
 * G.5.1): if both parts of the textbook formula are NaN although a factor, or a product of two
 * parts, is infinite, the result is infinite. It is then infinity times the textbook product of two
 * simpler factors: in a factor with an infinite part, infinite parts become 1 and a part that is
 * not infinite becomes 0; in any other factor, a NaN becomes 0. All parts keep their signs. */
#define COMPLEX_PRODUCT(C, F)                                                                      \
    static inline bool infinite_##C(F x)                                                           \
    {                                                                                              \
        return x == x && x - x != 0;                                                               \
    }                                                                                              \
    static inline F signed_##C(F magnitude, F sign)                                                \
    {                                                                                              \
        return __builtin_signbit(sign) ? -magnitude : magnitude;                                   \
    }                                                                                              \
    static inline C direction_##C(C a)                                                             \
    {                                                                                              \
        return (C){signed_##C(infinite_##C(a.re), a.re), signed_##C(infinite_##C(a.im), a.im)};    \
    }                                                                                              \
    static inline C without_nan_##C(C a)                                                           \
    {                                                                                              \
        return (C){a.re == a.re ? a.re : signed_##C(0, a.re),                                      \
                   a.im == a.im ? a.im : signed_##C(0, a.im)};                                     \
    }                                                                                              \
    static inline C textbook_##C(C a, C b)                                                         \
    {                                                                                              \
        return (C){ROUNDED(a.re * b.re) - ROUNDED(a.im * b.im),                                    \
                   ROUNDED(a.re * b.im) + ROUNDED(a.im * b.re)};                                   \
    }                                                                                              \
    static ALONE C recovered_##C(C a, C b)                                                         \
    {                                                                                              \
        bool of_a = infinite_##C(a.re) || infinite_##C(a.im);                                      \
        bool of_b = infinite_##C(b.re) || infinite_##C(b.im);                                      \
        if (!of_a && !of_b && !infinite_##C(a.re * b.re) && !infinite_##C(a.im * b.im) &&          \
            !infinite_##C(a.re * b.im) && !infinite_##C(a.im * b.re))                              \
            return textbook_##C(a, b);                                                             \
        a = without_nan_##C(of_a ? direction_##C(a) : a);                                          \
        b = without_nan_##C(of_b ? direction_##C(b) : b);                                          \
        C way = textbook_##C(a, b);                                                                \
        return (C){(F)__builtin_inf() * way.re, (F)__builtin_inf() * way.im};                      \
    }                                                                                              \
    static inline C product_##C(C a, C b)                                                          \
    {                                                                                              \
        C c = textbook_##C(a, b);                                                                  \
        return __builtin_expect(c.re == c.re || c.im == c.im, 1) ? c : recovered_##C(a, b);        \
    }

#define COMPLEX_KERNELS(C, F)                                                                      \
    typedef struct ANYWHERE {                                                                      \
        F re, im;                                                                                  \
    } C;                                                                                           \
    COMPLEX_PRODUCT(C, F)                                                                          \
    KERNEL(prod_##C, C, product_##C(a, b))                                                         \
    static void sum_##C(void *out, const void *const *in, int k, size_t n)                         \
    {                                                                                              \
        sum_##F(out, in, k, 2 * n);                                                                \
    }
COMPLEX_KERNELS(c64, f32)
COMPLEX_KERNELS(c128, f64)
#if TT_HAS_F80
COMPLEX_KERNELS(c160, f80)
#endif
#if TT_HAS_F128
COMPLEX_KERNELS(c256, f128)
#endif

/* ---- Pairs ---- */

/* Maps a value to an integer, so that the kernel can compare integers: it picks the value with the
 * lower integer. All zeros are equal. All NaNs are equal and come before every other value. */
#define INTEGER_PREFERENCE(T)                                                                      \
    static inline T prefer_min_##T(T value)                                                        \
    {                                                                                              \
        return value;                                                                              \
    }                                                                                              \
    static inline T prefer_max_##T(T value)                                                        \
    {                                                                                              \
        return (T)~value;                                                                          \
    }
INTEGER_PREFERENCE(i16)
INTEGER_PREFERENCE(i32)
INTEGER_PREFERENCE(i64)

#define FLOAT_PREFERENCE(F, I, LOWEST, INFINITE)                                                   \
    static inline I prefer_##F(F value, bool max)                                                  \
    {                                                                                              \
        I bits = (I)bits_##F(value), magnitude = bits & ~LOWEST;                                   \
        I order = (bits < 0) != max ? -magnitude : magnitude;                                      \
        return magnitude > INFINITE ? LOWEST : order;                                              \
    }                                                                                              \
    static inline I prefer_min_##F(F value)                                                        \
    {                                                                                              \
        return prefer_##F(value, false);                                                           \
    }                                                                                              \
    static inline I prefer_max_##F(F value)                                                        \
    {                                                                                              \
        return prefer_##F(value, true);                                                            \
    }
FLOAT_PREFERENCE(f32, i32, INT32_MIN, 0x7f800000)
FLOAT_PREFERENCE(f64, i64, INT64_MIN, 0x7ff0000000000000)
#define I128_LEAST ((i128)((u128)1 << 127))
#define I128_UPPER(bits) ((i128)(bits) << 64) /* the 128-bit number with these upper 64 bits */
#if TT_HAS_F80
FLOAT_PREFERENCE(f80, i128, I128_LEAST, I128_UPPER(0x7fff800000000000))
#endif
#if TT_HAS_F128
FLOAT_PREFERENCE(f128, i128, I128_LEAST, I128_UPPER(0x7fff000000000000))
#endif

/* Defines the kernel that picks one of two pairs of type P, which contain values of type V. ORDER
 * is the integer type to which prefer_... maps such values. */
#define PAIR_KERNEL(WHICH, P, V, ORDER)                                                            \
    static inline P pick_##WHICH##_##P(P a, P b)                                                   \
    {                                                                                              \
        ORDER x = prefer_##WHICH##_##V(a.value), y = prefer_##WHICH##_##V(b.value);                \
        return (y < x) | ((y == x) & (b.index < a.index)) ? b : a;                                 \
    }                                                                                              \
    KERNEL(WHICH##loc_##P, P, pick_##WHICH##_##P(a, b))

/* Defines the kernels of a type of pairs. The members of the struct have no alignment, so MEMBERS
 * contains the padding that the same struct has in C. An operand is picked whole, with its
 * padding. */
#define PAIR_KERNELS(P, V, ORDER, MEMBERS)                                                         \
    typedef struct ANYWHERE {                                                                      \
        MEMBERS                                                                                    \
    } P;                                                                                           \
    PAIR_KERNEL(min, P, V, ORDER)                                                                  \
    PAIR_KERNEL(max, P, V, ORDER)
PAIR_KERNELS(i32_i32, i32, i32, i32 value; i32 index;)
PAIR_KERNELS(i64_i64, i64, i64, i64 value; i64 index;)
PAIR_KERNELS(f32_i32, f32, i32, f32 value; i32 index;)
PAIR_KERNELS(f64_i64, f64, i64, f64 value; i64 index;)
PAIR_KERNELS(i16_i32, i16, i16, i16 value; i16 padding; i32 index;)
PAIR_KERNELS(i64_i32, i64, i64, i64 value; i32 index; i32 padding;)
PAIR_KERNELS(f64_i32, f64, i64, f64 value; i32 index; i32 padding;)
PAIR_KERNELS(f32_f32, f32, i32, f32 value; f32 index;)
PAIR_KERNELS(f64_f64, f64, i64, f64 value; f64 index;)
#if TT_HAS_F80
PAIR_KERNELS(f80_i32, f80, i128, f80 value; i32 index; i32 padding[3];)
#endif
#if TT_HAS_F128
PAIR_KERNELS(f128_i32, f128, i128, f128 value; i32 index; i32 padding[3];)
#endif

/* ---- Reproducible sums ---- */

#include "type/kernel-binned.h"

/* ---- The table ---- */

#define ARITHMETIC(T) [TUTTI_SUM] = sum_##T, [TUTTI_PROD] = prod_##T
#define ORDER(T) [TUTTI_MIN] = min_##T, [TUTTI_MAX] = max_##T
#define LOGIC(T) [TUTTI_LAND] = land_##T, [TUTTI_LOR] = lor_##T, [TUTTI_LXOR] = lxor_##T
#define BITWISE(T) [TUTTI_BAND] = band_##T, [TUTTI_BOR] = bor_##T, [TUTTI_BXOR] = bxor_##T
#define INTEGER(T, U)                                                                              \
    {                                                                                              \
        ARITHMETIC(U), ORDER(T), LOGIC(U), BITWISE(U)                                              \
    }
#define REAL(T)                                                                                    \
    {                                                                                              \
        ARITHMETIC(T), ORDER(T)                                                                    \
    }
#define PAIR(T)                                                                                    \
    {                                                                                              \
        [TUTTI_MINLOC] = minloc_##T, [TUTTI_MAXLOC] = maxloc_##T                                   \
    }

const struct tt_kernels KERNELS = {{
    [TUTTI_I8] = INTEGER(i8, u8),
    [TUTTI_I16] = INTEGER(i16, u16),
    [TUTTI_I32] = INTEGER(i32, u32),
    [TUTTI_I64] = INTEGER(i64, u64),
    [TUTTI_U8] = INTEGER(u8, u8),
    [TUTTI_U16] = INTEGER(u16, u16),
    [TUTTI_U32] = INTEGER(u32, u32),
    [TUTTI_U64] = INTEGER(u64, u64),
    [TUTTI_F16] = REAL(f16),
    [TUTTI_BF16] = REAL(bf16),
    [TUTTI_F32] = REAL(f32),
    [TUTTI_F64] = REAL(f64),
    [TUTTI_C64] = {ARITHMETIC(c64)},
    [TUTTI_C128] = {ARITHMETIC(c128)},
    [TUTTI_BOOL] = {LOGIC(u8)},
    [TUTTI_I32_I32] = PAIR(i32_i32),
    [TUTTI_I64_I64] = PAIR(i64_i64),
    [TUTTI_F32_I32] = PAIR(f32_i32),
    [TUTTI_F64_I64] = PAIR(f64_i64),
    [TUTTI_I16_I32] = PAIR(i16_i32),
    [TUTTI_I64_I32] = PAIR(i64_i32),
    [TUTTI_F64_I32] = PAIR(f64_i32),
    [TUTTI_BINNED] = {[TUTTI_SUM] = sum_binned},
    [TUTTI_I128] = INTEGER(i128, u128),
    [TUTTI_U128] = INTEGER(u128, u128),
    [TUTTI_F32_F32] = PAIR(f32_f32),
    [TUTTI_F64_F64] = PAIR(f64_f64),
#if TT_HAS_F80
    [TUTTI_F80] = REAL(f80),
    [TUTTI_C160] = {ARITHMETIC(c160)},
    [TUTTI_F80_I32] = PAIR(f80_i32),
#endif
#if TT_HAS_F128
    [TUTTI_F128] = REAL(f128),
    [TUTTI_C256] = {ARITHMETIC(c256)},
    [TUTTI_F128_I32] = PAIR(f128_i32),
#endif
}};
